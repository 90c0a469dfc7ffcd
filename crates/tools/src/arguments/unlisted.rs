//! Parameters that the schema of a server's tool does not list. Whether they may be sent is up to that schema; nothing
//! is renamed or left out here.

use super::{find_nearest, invalid};
use crate::error::ToolError;
use serde_json::{Map, Value};

/// Deeper objects are for the server to judge.
const MAX_DEPTH: usize = 8;

/// Refuses what the schema says there must not be (`additionalProperties: false`), before the person is asked.
pub fn check_unlisted(
    tool: &str,
    schema: &Map<String, Value>,
    args: &Value,
) -> Result<(), ToolError> {
    match args {
        Value::Null | Value::Object(_) => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(invalid(format!(
                "Invalid arguments for {tool}: an object is wanted."
            )));
        }
    }
    match find_unlisted(schema, args, "", MAX_DEPTH) {
        Some((name, listed)) => {
            let last = name.rsplit('.').next().unwrap_or(&name);
            let pairs = listed.iter().map(|known| (known.as_str(), known.as_str()));
            let nearest = find_nearest(pairs, last);
            let nearest = nearest.map_or_else(String::new, |to| format!("; the nearest is `{to}`"));
            let listed = match listed.is_empty() {
                true => "no parameters".to_owned(),
                false => listed.join(", "),
            };
            Err(invalid(format!(
                "Nothing was run. {tool} has no parameter `{name}`{nearest}. It takes: {listed}."
            )))
        }
        None => Ok(()),
    }
}

/// The first name that may not be there, and those that may.
fn find_unlisted(
    schema: &Map<String, Value>,
    value: &Value,
    place: &str,
    depth: usize,
) -> Option<(String, Vec<String>)> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::Object(fields) => {
            let empty = Map::new();
            let listed = schema.get("properties").and_then(Value::as_object);
            let listed = listed.unwrap_or(&empty);
            let closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
                && !schema.contains_key("patternProperties");
            fields.iter().find_map(|(name, value)| {
                let place = match place.is_empty() {
                    true => name.clone(),
                    false => format!("{place}.{name}"),
                };
                match listed.get(name).and_then(Value::as_object) {
                    Some(schema) => find_unlisted(schema, value, &place, depth),
                    None if closed && !listed.contains_key(name) => {
                        Some((place, listed.keys().cloned().collect()))
                    }
                    None => None,
                }
            })
        }
        Value::Array(items) => {
            let schema = schema.get("items")?.as_object()?;
            items
                .iter()
                .enumerate()
                .find_map(|(n, item)| find_unlisted(schema, item, &format!("{place}[{n}]"), depth))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: Value, args: Value) -> Result<(), String> {
        let Value::Object(schema) = schema else {
            panic!("a schema is an object");
        };
        check_unlisted("mcp__s__t", &schema, &args).map_err(|error| error.message)
    }

    #[test]
    fn a_schema_says_whether_there_may_be_more() {
        let properties = json!({"path": {"type": "string"}, "opts": {"type": "array", "items": {
            "type": "object", "properties": {"deep": {}}, "additionalProperties": false}}});
        let closed = json!({"properties": properties, "additionalProperties": false});
        for (schema, args) in [
            (json!({}), json!({"x": 1})),
            (json!({"properties": properties}), json!({"file_path": "a"})),
            (
                json!({"properties": properties, "additionalProperties": {"type": "string"}}),
                json!({"x": "1"}),
            ),
            (
                json!({"patternProperties": {"^x": {}}, "additionalProperties": false}),
                json!({"x": 1}),
            ),
            (
                closed.clone(),
                json!({"path": "a", "opts": [{"deep": {"x": 1}}]}),
            ),
            (closed.clone(), json!(null)),
        ] {
            assert_eq!(check(schema, args.clone()), Ok(()), "{args}");
        }
        for (args, message) in [
            (
                json!({"file_path": "a"}),
                "Nothing was run. mcp__s__t has no parameter `file_path`. It takes: path, opts.",
            ),
            (
                json!({"Path": "a"}),
                "Nothing was run. mcp__s__t has no parameter `Path`; the nearest is `path`. It takes: path, opts.",
            ),
            (
                json!({"opts": [{"deep": 1}, {"depe": 1}]}),
                "Nothing was run. mcp__s__t has no parameter `opts[1].depe`; the nearest is `deep`. It takes: deep.",
            ),
            (
                json!(["a"]),
                "Invalid arguments for mcp__s__t: an object is wanted.",
            ),
        ] {
            assert_eq!(check(closed.clone(), args), Err(message.to_owned()));
        }
    }
}
