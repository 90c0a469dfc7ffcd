//! A server that wants a model's word: its wish read and bounded, the answer in the protocol's words. Text alone, and no
//! tools. Pure; who is asked first and who pays is not decided here.
#![expect(
    deprecated,
    reason = "servers of the revisions before 2026-07-28 still use sampling"
)]

use crate::text;
use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, Role, SamplingMessage as WireMessage,
    SamplingMessageContentBlock,
};

const MAX_MESSAGES: usize = 100;
/// Bytes of all of them together, with the system prompt.
const MAX_BYTES: usize = 256 * 1024;
const MAX_HINTS: usize = 8;
const MAX_STOPS: usize = 8;
const MAX_WORD: usize = 200;

/// What a server wants a model to be asked, in nobody's words but the server's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SamplingRequest {
    pub system: String,
    /// No two of one role after each other.
    pub messages: Vec<SamplingMessage>,
    pub max_tokens: u64,
    pub temperature: Option<f64>,
    /// The answer ends before the first of them.
    pub stops: Vec<String>,
    /// Parts of models' names, the dearest first.
    pub hints: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplingMessage {
    pub role: SamplingRole,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplingRole {
    User,
    Assistant,
}

/// What the model said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplingAnswer {
    pub text: String,
    pub model: String,
    pub end: SamplingEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplingEnd {
    Turn,
    Tokens,
    Stop,
}

/// What the server wants, or why it cannot have it.
pub fn wanted(params: CreateMessageRequestParams) -> Result<SamplingRequest, String> {
    if params.tools.is_some_and(|tools| !tools.is_empty()) {
        return Err("tools are not offered to servers that want a model's word".into());
    }
    if params.messages.is_empty() || params.messages.len() > MAX_MESSAGES {
        return Err(format!("between 1 and {MAX_MESSAGES} messages are taken"));
    }
    let system = text::clean(&params.system_prompt.unwrap_or_default());
    let mut bytes = system.len();
    let mut messages: Vec<SamplingMessage> = Vec::new();
    for message in params.messages {
        let said = text_of(&message)?;
        bytes += said.len();
        if bytes > MAX_BYTES {
            return Err(format!("more than {} KiB are not taken", MAX_BYTES >> 10));
        }
        let role = match message.role {
            Role::Assistant => SamplingRole::Assistant,
            Role::User => SamplingRole::User,
        };
        match messages.last_mut().filter(|last| last.role == role) {
            Some(before) => {
                before.text.push_str("\n\n");
                before.text.push_str(&said);
            }
            None => messages.push(SamplingMessage { role, text: said }),
        }
    }
    let hints = params.model_preferences.and_then(|wish| wish.hints);
    let hints = hints.unwrap_or_default().into_iter().filter_map(|h| h.name);
    let stops = params.stop_sequences.unwrap_or_default().into_iter();
    let word = |words: String| text::cut(&words, MAX_WORD);
    Ok(SamplingRequest {
        system,
        messages,
        max_tokens: params.max_tokens.into(),
        temperature: params.temperature.map(|t| f64::from(t).clamp(0.0, 2.0)),
        stops: stops.take(MAX_STOPS).map(word).collect(),
        hints: hints.take(MAX_HINTS).map(word).collect(),
    })
}

fn text_of(message: &WireMessage) -> Result<String, String> {
    let mut out = String::new();
    for block in message.content.iter() {
        let SamplingMessageContentBlock::Text(block) = block else {
            return Err("only text is taken".into());
        };
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&text::clean(&block.text));
    }
    Ok(out)
}

impl SamplingRequest {
    /// The request as the person reads it before they say yes.
    pub fn preview(&self) -> String {
        let mut out = String::new();
        let mut add = |who: &str, text: &str| {
            if !text.is_empty() {
                out.push_str(&format!("[{who}]\n{text}\n\n"));
            }
        };
        add("system", &self.system);
        for message in &self.messages {
            match message.role {
                SamplingRole::User => add("user", &message.text),
                SamplingRole::Assistant => add("assistant", &message.text),
            }
        }
        out.trim_end().to_owned()
    }
}

pub fn result(said: SamplingAnswer) -> CreateMessageResult {
    let reason = match said.end {
        SamplingEnd::Turn => CreateMessageResult::STOP_REASON_END_TURN,
        SamplingEnd::Tokens => CreateMessageResult::STOP_REASON_END_MAX_TOKEN,
        SamplingEnd::Stop => CreateMessageResult::STOP_REASON_END_SEQUENCE,
    };
    let message = WireMessage::assistant_text(said.text);
    CreateMessageResult::new(message, said.model).with_stop_reason(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(params: Value) -> Result<SamplingRequest, String> {
        wanted(serde_json::from_value(params).unwrap())
    }

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": {"type": "text", "text": text}})
    }

    #[test]
    fn a_wish_is_read_and_shown() {
        let answer = json!({"role": "assistant", "content": [{"type": "text", "text": "yes"}]});
        let wanted = read(json!({
            "messages": [user("a\u{1b}[31m"), user("b"), answer, user("c")],
            "systemPrompt": "be brief", "maxTokens": 7, "temperature": 9.0,
            "stopSequences": ["END"], "modelPreferences": {"hints": [{"name": "tiny"}, {}]},
        }))
        .unwrap();
        insta::assert_snapshot!(wanted.preview(), @r"
        [system]
        be brief

        [user]
        a[31m

        b

        [assistant]
        yes

        [user]
        c
        ");
        assert_eq!(wanted.messages.len(), 3);
        assert_eq!((wanted.max_tokens, wanted.temperature), (7, Some(2.0)));
        assert_eq!(
            (wanted.stops, wanted.hints),
            (vec!["END".into()], vec!["tiny".into()])
        );
    }

    #[test]
    fn what_is_too_much_is_refused() {
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let tool = json!({"name": "t", "inputSchema": {"type": "object"}});
        for (params, why) in [
            (json!({"messages": [], "maxTokens": 1}), "messages"),
            (
                json!({"messages": vec![user("x"); 101], "maxTokens": 1}),
                "messages",
            ),
            (
                json!({"messages": [user(&"x".repeat(300 << 10))], "maxTokens": 1}),
                "256 KiB",
            ),
            (
                json!({"messages": [{"role": "user", "content": image}], "maxTokens": 1}),
                "only text",
            ),
            (
                json!({"messages": [user("x")], "maxTokens": 1, "tools": [tool]}),
                "tools",
            ),
        ] {
            let error = read(params).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
