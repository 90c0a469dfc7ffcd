//! How an endpoint differs from its protocol, as data. Rows of the data files and `quirks` in the config fill this.
//! The defaults are the protocol as its inventor serves it today.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

// tidy: plain data
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quirks {
    /// chat: the role of the system prompt.
    pub system_role: SystemRole,
    /// chat: the name of the output limit.
    pub max_tokens_field: MaxTokensField,
    /// chat: ask for token counts in the stream.
    pub stream_usage: bool,
    /// chat: write `cache_control` marks, as the messages protocol does. For gateways to models that want them.
    pub cache_marks: bool,
    /// chat: call ids must be nine letters or digits; others are hashed to that.
    pub short_call_ids: bool,
    /// chat: reasoning that stands in the text between tags.
    pub think_tags: ThinkTags,
    /// chat: how the reasoning of earlier answers goes back.
    pub reasoning_back: ReasoningBack,
    /// chat: an answer with calls is refused unless it carries a reasoning field, if only an empty one.
    pub reasoning_required: bool,
    /// chat: where the effort goes.
    pub effort_field: EffortField,
    /// The effort words the model takes. The nearest one is sent; empty means the protocol's usual ones.
    pub efforts: Vec<String>,
    /// responses: ask for summaries of the reasoning along with an effort.
    pub reasoning_summary: bool,
    /// messages, gemini: how thinking is asked for.
    pub thinking: Thinking,
    /// messages: what effort `none` sends.
    pub thinking_off: ThinkingOff,
    /// False where the endpoint refuses `tool_choice` (gemini: `toolConfig`); it is then not sent.
    pub tool_choice: bool,
    /// False where the model refuses `temperature` and `top_p`; they are then not sent.
    pub sampling: bool,
    /// responses, gemini: pictures stand inside a call's result. Otherwise they follow it.
    pub images_in_results: bool,
    /// gemini: tool schemas go into `parameters` (the OpenAPI subset) instead of `parametersJsonSchema`.
    pub openapi_schema: bool,
    /// gemini: calls that another model made get a stand-in signature, without which the model refuses them.
    pub fill_signatures: bool,
    /// Names this version does not know, for a warning.
    #[serde(flatten)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            system_role: SystemRole::default(),
            max_tokens_field: MaxTokensField::default(),
            stream_usage: true,
            cache_marks: false,
            short_call_ids: false,
            think_tags: ThinkTags::default(),
            reasoning_back: ReasoningBack::default(),
            reasoning_required: false,
            effort_field: EffortField::default(),
            efforts: Vec::new(),
            reasoning_summary: true,
            thinking: Thinking::default(),
            thinking_off: ThinkingOff::default(),
            tool_choice: true,
            sampling: true,
            images_in_results: true,
            openapi_schema: false,
            fill_signatures: true,
            unknown: BTreeMap::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemRole {
    #[default]
    System,
    Developer,
    User,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    #[default]
    MaxTokens,
    MaxCompletionTokens,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkTags {
    #[default]
    Off,
    /// `<think>` … `</think>`.
    Tagged,
    /// The answer begins inside the reasoning; only `</think>` is written.
    Implied,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningBack {
    /// In the field it came in, and `reasoning_details` verbatim.
    #[default]
    Same,
    ReasoningContent,
    Reasoning,
    Off,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffortField {
    /// `reasoning_effort: "…"`
    #[default]
    ReasoningEffort,
    /// `reasoning: {effort: "…"}`
    Reasoning,
    /// `thinking: {type: "enabled" | "disabled"}`, with `reasoning_effort` when it is enabled.
    Thinking,
    /// `thinking: {type: "enabled" | "disabled"}` alone.
    ThinkingSwitch,
    /// `enable_thinking: true | false`
    EnableThinking,
    /// `chat_template_kwargs: {enable_thinking: true | false}`
    ChatTemplate,
    Off,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// By an effort word: the model decides how much (messages: adaptive; gemini: a level).
    #[default]
    Effort,
    /// By a number of tokens, as models before that want it.
    Budget,
    Off,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingOff {
    /// No thinking field and the lowest effort: every model takes that.
    #[default]
    Omit,
    /// `thinking: {type: "disabled"}`
    Disabled,
    /// `thinking: {type: "between_tools"}`
    BetweenTools,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_unknown_ones_kept() {
        let quirks: Quirks = toml::from_str(
            r#"
            effort_field = "reasoning"
            efforts = ["low", "high", "max"]
            thinking_off = "between_tools"
            reasoning_back = "reasoning_content"
            max_tokens_field = "max_completion_tokens"
            sampling = false
            colour = "green"
            "#,
        )
        .unwrap();
        let expect = Quirks {
            effort_field: EffortField::Reasoning,
            efforts: vec!["low".into(), "high".into(), "max".into()],
            thinking_off: ThinkingOff::BetweenTools,
            reasoning_back: ReasoningBack::ReasoningContent,
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            sampling: false,
            unknown: BTreeMap::from([("colour".into(), "green".into())]),
            ..Quirks::default()
        };
        assert_eq!(quirks, expect);
    }

    #[test]
    fn an_empty_table_is_the_default_and_a_wrong_value_an_error() {
        assert_eq!(toml::from_str::<Quirks>("").unwrap(), Quirks::default());
        let error = toml::from_str::<Quirks>("thinking = \"loud\"").unwrap_err();
        assert!(error.to_string().contains("loud"), "{error}");
    }
}
