//! Words of servers made safe to read: nothing that drives a terminal or hides, and never too much of it. Pure.

use ostler_wire::untricked;
use serde_json::{Map, Value};

/// Levels of a schema that models are given.
const MAX_DEPTH: usize = 24;
/// Bytes of a schema.
const MAX_SCHEMA: usize = 48 * 1024;

/// The text without what a person would not see.
pub fn clean(text: &str) -> String {
    untricked(text)
}

/// The same, at most so many bytes of it.
pub fn cut(text: &str, most: usize) -> String {
    let text = clean(text);
    if text.len() <= most {
        return text;
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end));
    let end = end.unwrap_or_default();
    format!("{}…", text.get(..end).unwrap_or_default().trim_end())
}

/// The same on one line.
pub fn line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    cut(&words.join(" "), most)
}

/// A schema of arguments that any model can be given; `None` when it is too large or too deep to be of use.
pub fn schema(given: &Map<String, Value>) -> Option<Map<String, Value>> {
    let Value::Object(mut out) = cleaned(&Value::Object(given.clone()), MAX_DEPTH)? else {
        return None;
    };
    out.insert("type".into(), "object".into());
    if !out.get("properties").is_some_and(Value::is_object) {
        out.insert("properties".into(), Value::Object(Map::new()));
    }
    let size = serde_json::to_string(&out).map_or(usize::MAX, |text| text.len());
    (size <= MAX_SCHEMA).then_some(out)
}

/// What stands in for a schema that cannot be used: the server judges the arguments itself.
pub fn any_object() -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("type".into(), "object".into());
    out.insert("properties".into(), Value::Object(Map::new()));
    out
}

fn cleaned(value: &Value, depth: usize) -> Option<Value> {
    if depth == 0 {
        return None;
    }
    Some(match value {
        Value::String(text) => Value::String(clean(text)),
        Value::Array(items) => Value::Array(
            items
                .iter()
                .map(|item| cleaned(item, depth - 1))
                .collect::<Option<_>>()?,
        ),
        Value::Object(fields) => {
            let mut out = Map::new();
            for (key, field) in fields {
                out.insert(clean(key), cleaned(field, depth - 1)?);
            }
            Value::Object(out)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_are_cleaned_and_cut() {
        assert_eq!(
            clean("a\u{1b}[31mb\r\nc\u{202e}\td"),
            "a[31mb\ncd".replace("cd", "c\td")
        );
        assert_eq!(cut("ééé", 3), "é…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(line(" a\n b\t c ", 100), "a b c");
    }

    #[test]
    fn schemas_become_usable_or_are_left_out() {
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        let nested = |levels: usize| {
            (0..levels).fold(
                json!({"type": "string"}),
                |inner, _| json!({"type": "object", "properties": {"a": inner}}),
            )
        };
        let given =
            object(json!({"$schema": "x", "properties": {"a": {"description": "x\u{7}y"}}}));
        let expect =
            json!({"$schema": "x", "properties": {"a": {"description": "xy"}}, "type": "object"});
        assert_eq!(schema(&given).map(Value::Object), Some(expect));
        assert_eq!(schema(&Map::new()), Some(any_object()));
        assert!(schema(&object(nested(10))).is_some());
        assert!(schema(&object(nested(100))).is_none());
        let large = json!({"properties": {"a": {"description": "x".repeat(MAX_SCHEMA)}}});
        assert!(schema(&object(large)).is_none());
    }
}
