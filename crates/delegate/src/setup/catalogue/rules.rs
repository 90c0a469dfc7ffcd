//! What a line of an agent's output means: conditions on it, and where in it the values are.

use crate::kind::ToolKind;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// Paths and the values that they must have.
pub type Conditions = BTreeMap<String, Value>;

/// For lines that it holds for: what they tell.
// tidy: plain data
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    #[serde(default)]
    pub when: Conditions,
    /// An array; the rule is followed for each element, and paths begin there.
    #[serde(default)]
    pub each: Option<JsonPath>,
    /// Conditions on the element.
    #[serde(default)]
    pub item: Conditions,
    pub emit: Emit,
    /// The first that is there.
    #[serde(default)]
    pub text: Vec<JsonPath>,
    #[serde(default)]
    pub id: Option<JsonPath>,
    #[serde(default)]
    pub title: Option<JsonPath>,
    #[serde(default)]
    pub input: Option<JsonPath>,
    #[serde(default)]
    pub kind: Option<ToolKind>,
    /// Conditions under which a call failed.
    #[serde(default)]
    pub failed: Conditions,
    /// Conditions under which a step of a plan is done.
    #[serde(default)]
    pub done_when: Conditions,
    /// A number that goes with an error.
    #[serde(default)]
    pub code: Option<JsonPath>,
    #[serde(default)]
    pub attempt: Option<JsonPath>,
    #[serde(default)]
    pub most: Option<JsonPath>,
    #[serde(default)]
    pub delay_ms: Option<JsonPath>,
    #[serde(default)]
    pub usd: Option<JsonPath>,
    #[serde(default)]
    pub input_tokens: Option<JsonPath>,
    /// Tokens of the prompt that `input_tokens` does not count.
    #[serde(default)]
    pub beside: Vec<JsonPath>,
    #[serde(default)]
    pub output_tokens: Option<JsonPath>,
    #[serde(default)]
    pub cached_tokens: Option<JsonPath>,
    /// Usage is that of one request, not of all.
    #[serde(default)]
    pub add: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Emit {
    Session,
    Piece,
    ReasoningPiece,
    Message,
    Reasoning,
    /// The last word, whatever was said before.
    Answer,
    ToolStarted,
    ToolFinished,
    PlanStep,
    Usage,
    Retry,
    Notice,
    /// It failed, unless it says something else afterwards.
    Failure,
    /// Nothing of weight follows.
    Done,
}

/// `a.b.0` or `a.b[0]`, with or without `$.` before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath(Vec<String>);

impl JsonPath {
    pub fn parse(text: &str) -> Self {
        let text = text.trim().trim_start_matches('$').replace(['[', ']'], ".");
        let steps = text.split('.').map(|step| step.trim_matches(['\'', '"']));
        Self(
            steps
                .filter(|step| !step.is_empty())
                .map(str::to_owned)
                .collect(),
        )
    }

    /// What lies there.
    pub fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, step| match value {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            Value::Object(fields) => fields.get(step),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })
    }

    /// The same as a text, if it is one that is not empty.
    pub fn text(&self, value: &Value) -> Option<String> {
        text_of(self.find(value)?)
    }

    pub fn number(&self, value: &Value) -> Option<f64> {
        self.find(value)?.as_f64()
    }

    /// A count; what is no whole number counts as none.
    pub fn count(&self, value: &Value) -> Option<u64> {
        self.find(value)?.as_u64()
    }
}

impl<'de> Deserialize<'de> for JsonPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::parse(&String::deserialize(deserializer)?))
    }
}

/// A value as a text: blocks of text one after the other, anything else as JSON. Nothing at all is `None`.
pub fn text_of(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(items) => {
            let blocks: Option<Vec<&str>> = items.iter().map(block).collect();
            blocks.map_or_else(|| value.to_string(), |blocks| blocks.concat())
        }
        Value::Object(_) => block(value).map_or_else(|| value.to_string(), str::to_owned),
    };
    Some(text).filter(|text| !text.is_empty())
}

fn block(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        value => value.get("text")?.as_str(),
    }
}

/// Whether all conditions hold for a value.
pub fn holds(conditions: &Conditions, value: &Value) -> bool {
    conditions.iter().all(|(path, wanted)| {
        let found = JsonPath::parse(path).find(value);
        match (wanted.as_str(), found) {
            (Some("*"), found) => found.is_some_and(is_something),
            (_, Some(found)) => found == wanted,
            (_, None) => false,
        }
    })
}

fn is_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::Array(_) | Value::Object(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_find_what_they_name() {
        let value = json!({"a": {"b": [{"c": "x"}, 2]}, "s": "", "t": [{"type": "text", "text": "one "}, {"text": "two"}]});
        for (path, text) in [
            ("a.b.0.c", Some("x")),
            ("$.a.b[0].c", Some("x")),
            ("a.b[1]", Some("2")),
            ("a.b.7", None),
            ("a.x.y", None),
            ("s", None),
            ("t", Some("one two")),
        ] {
            assert_eq!(
                JsonPath::parse(path).text(&value).as_deref(),
                text,
                "{path}"
            );
        }
    }

    #[test]
    fn conditions_are_on_values_and_presence() {
        let line = json!({"type": "x", "ok": false, "id": "1", "none": null});
        let check = |conditions: Value| {
            let conditions: Conditions = serde_json::from_value(conditions).unwrap();
            holds(&conditions, &line)
        };
        assert!(check(json!({})));
        assert!(check(json!({"type": "x", "ok": false})));
        assert!(check(json!({"id": "*"})));
        assert!(!check(json!({"type": "y"})));
        assert!(!check(json!({"ok": true})));
        assert!(!check(json!({"none": "*"})));
        assert!(!check(json!({"gone": "*"})));
    }
}
