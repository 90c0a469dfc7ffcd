//! What a call is about, in one line: as its title says, or its arguments where it has none.

use crate::rows;
use ostler_wire::CallTitle;
use serde_json::Value;

/// Bytes of a subject; a row shows less.
const MAX: usize = 1_000;
const MAX_NAME: usize = 100;

/// A tool's name as it is shown: those of servers are `server: tool`.
pub fn name(name: &str) -> String {
    let name = rows::head(name, MAX_NAME);
    let of_server = name.strip_prefix("mcp__").and_then(|n| n.split_once("__"));
    match of_server {
        Some((server, tool)) => format!("{server}: {tool}"),
        None => name.to_owned(),
    }
}

pub fn subject(title: Option<&CallTitle>, input: &Value) -> String {
    let mut out = match title {
        Some(title) => title.subject.clone(),
        None => arguments(input),
    };
    out.truncate(rows::head(&out, MAX).len());
    out
}

/// The argument that a subject shows the beginning of, or all arguments of a call without a title.
pub fn whole(title: Option<&CallTitle>, input: &Value) -> Option<String> {
    let Some(title) = title else {
        return serde_json::to_string_pretty(input).ok();
    };
    let text = input.get(title.body.as_deref()?)?.as_str()?;
    let shows_all = text.trim() == title.subject;
    (!shows_all && !text.trim().is_empty()).then(|| text.to_owned())
}

pub fn pick<'a>(input: &'a Value, names: &[&str]) -> Option<&'a str> {
    names
        .iter()
        .find_map(|name| input.get(name)?.as_str())
        .filter(|text| !text.is_empty())
}

/// `name: value, name: value`, each on one line.
fn arguments(input: &Value) -> String {
    let Value::Object(fields) = input else {
        return match input {
            Value::Null => String::new(),
            other => other.to_string(),
        };
    };
    let mut out = String::new();
    for (name, value) in fields {
        if out.len() > MAX {
            break;
        }
        if !out.is_empty() {
            out.push_str(", ");
        }
        out.push_str(name);
        out.push_str(": ");
        match value {
            Value::String(text) => out.push_str(rows::head(text, MAX)),
            other => out.push_str(&other.to_string()),
        }
    }
    out.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_wire::ToolKind;
    use serde_json::json;

    #[test]
    fn a_title_says_what_a_call_is_about() {
        let title = |subject: &str, body: Option<&'static str>| CallTitle {
            kind: ToolKind::Run,
            verb: None,
            subject: subject.into(),
            body: body.map(Into::into),
            result: Default::default(),
        };
        let input = json!({"command": "cargo test\n--all"});
        let bash = title("cargo test …", Some("command"));
        assert_eq!(subject(Some(&bash), &input), "cargo test …");
        assert_eq!(
            whole(Some(&bash), &input).as_deref(),
            Some("cargo test\n--all")
        );
        let short = title("ls", Some("command"));
        assert_eq!(whole(Some(&short), &json!({"command": "ls"})), None);
        assert_eq!(
            whole(Some(&title("a.rs", None)), &json!({"path": "a.rs"})),
            None
        );
        let long = title(&"é".repeat(9_999), None);
        assert!(subject(Some(&long), &json!({})).len() <= MAX);
    }

    #[test]
    fn a_call_without_a_title_shows_its_arguments() {
        for (input, expect) in [
            (
                json!({"sql": "select\n1", "limit": 5}),
                "sql: select 1, limit: 5",
            ),
            (json!(null), ""),
            (json!([1]), "[1]"),
        ] {
            assert_eq!(subject(None, &input), expect, "{input}");
        }
        assert_eq!(name("mcp__db__query"), "db: query");
        assert!(subject(None, &json!({"a": "é".repeat(9_999)})).len() <= MAX);
    }
}
