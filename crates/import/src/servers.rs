//! MCP servers, however another agent writes them, as entries of our `mcp.json`. Secrets that stand in the open stay behind:
//! a variable takes their place.

use crate::item::{Item, Kind, Taken};
use crate::settings::{is_secret, named, text, variable};
use ostler_wire::{Why, Word};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Servers of one file.
const MAX_SERVERS: usize = 200;

/// The servers of a list, which has them by name or as tables with one.
pub fn servers(value: &Value, from: &Path) -> Vec<Item> {
    let named = named(value).into_iter().take(MAX_SERVERS);
    named.map(|(name, one)| server(name, one, from)).collect()
}

fn server(name: &str, one: &Value, from: &Path) -> Item {
    let mut remarks = Vec::new();
    let mut entry = Map::new();
    let first = |keys: &[&str]| keys.iter().find_map(|key| text(one, key));
    if let Some(url) = first(&["url", "httpUrl", "http_url", "uri"]) {
        let kind = match text(one, "type").or_else(|| text(one, "transport")) {
            Some("sse") => "sse",
            Some(_) | None => "http",
        };
        entry.insert("type".into(), kind.into());
        entry.insert("url".into(), url.into());
        let headers = headers(one, name, &mut remarks);
        if !headers.is_empty() {
            entry.insert("headers".into(), headers.into());
        }
    } else {
        let mut words = match one.get("command").or_else(|| one.get("cmd")) {
            Some(Value::String(word)) => vec![Value::from(word.trim())],
            Some(Value::Array(words)) => words.clone(),
            Some(_) | None => Vec::new(),
        };
        words.extend(
            one.get("args")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .cloned(),
        );
        words.retain(|word| word.is_string());
        let Some((command, args)) = words.split_first() else {
            let why = Word::ImportServerNothing.into();
            return Item::new(Kind::Server, name, from, Taken::Left(why));
        };
        entry.insert("command".into(), command.clone());
        entry.insert("args".into(), json!(args));
        let env = env(one, &mut remarks);
        if !env.is_empty() {
            entry.insert("env".into(), env.into());
        }
        if let Some(folder) = first(&["cwd"]) {
            entry.insert("cwd".into(), folder.into());
        }
    }
    let is_off = one.get("enabled") == Some(&Value::Bool(false))
        || one.get("disabled") == Some(&Value::Bool(true));
    if is_off {
        entry.insert("disabled".into(), true.into());
    }
    // Words of a command line and addresses may hold keys, too; nobody can tell. They are shown before a yes.
    Item {
        remarks,
        ..Item::new(Kind::Server, name, from, Taken::Server(entry.into()))
    }
}

fn env(one: &Value, remarks: &mut Vec<Why>) -> Map<String, Value> {
    let mut out = Map::new();
    for key in ["env", "environment", "envs"] {
        for (name, value) in one
            .get(key)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let written = plain(value);
            let value = match (variable(&written), is_secret(name)) {
                (Some(variable), _) => format!("${{{variable}}}"),
                (None, true) => {
                    remarks.push(Why::ours(Word::ImportSecretLeft, [name.as_str().into()]));
                    format!("${{{name}}}")
                }
                (None, false) => written,
            };
            out.insert(name.clone(), value.into());
        }
    }
    out
}

fn headers(one: &Value, server: &str, remarks: &mut Vec<Why>) -> Map<String, Value> {
    let mut out = Map::new();
    for key in ["headers", "http_headers"] {
        for (name, value) in one
            .get(key)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let written = plain(value);
            let is_named = written.contains("${") || written.contains("{env:");
            let value = match is_secret(name) && !is_named {
                true => {
                    let variable = variable_for(server, name);
                    remarks.push(Why::ours(
                        Word::ImportSecretLeft,
                        [variable.as_str().into()],
                    ));
                    format!("${{{variable}}}")
                }
                false => written.replace("{env:", "${"),
            };
            out.insert(name.clone(), value.into());
        }
    }
    for (name, value) in one
        .get("env_http_headers")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        out.insert(name.clone(), format!("${{{}}}", plain(value)).into());
    }
    if let Some(variable) = text(one, "bearer_token_env_var") {
        out.insert(
            "Authorization".into(),
            format!("Bearer ${{{variable}}}").into(),
        );
    }
    out
}

fn variable_for(server: &str, header: &str) -> String {
    let plain = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_uppercase(),
        false => '_',
    };
    let name: String = format!("{server}_{header}").chars().map(plain).collect();
    match name.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("_{name}"),
        false => name,
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(value: &Value) -> Vec<(String, Value, usize)> {
        let items = servers(value, Path::new("f")).into_iter();
        let entry = |item: Item| match item.taken {
            Taken::Server(entry) => Some((item.name, entry, item.remarks.len())),
            _ => None,
        };
        items.filter_map(entry).collect()
    }

    #[test]
    fn every_way_to_write_a_server_is_read() {
        let all = json!({
            "a": {"command": "npx", "args": ["-y", "x"], "env": {"DEBUG": "1", "API_TOKEN": "s3cret"}},
            "b": {"type": "local", "command": ["uvx", "y"], "environment": {"ACME_KEY": "{env:MINE}"}, "enabled": false},
            "c": {"httpUrl": "https://c/mcp", "headers": {"Authorization": "Bearer abc", "X-Team": "7"}},
            "d": {"url": "https://d/mcp", "bearer_token_env_var": "D_TOKEN"},
            "e": {"type": "sse", "url": "https://e"},
            "f": {"trust": true},
        });
        let expect = [
            (
                "a",
                json!({"command": "npx", "args": ["-y", "x"], "env": {"DEBUG": "1", "API_TOKEN": "${API_TOKEN}"}}),
                1,
            ),
            (
                "b",
                json!({"command": "uvx", "args": ["y"], "env": {"ACME_KEY": "${MINE}"}, "disabled": true}),
                0,
            ),
            (
                "c",
                json!({"type": "http", "url": "https://c/mcp", "headers": {"Authorization": "${C_AUTHORIZATION}", "X-Team": "7"}}),
                1,
            ),
            (
                "d",
                json!({"type": "http", "url": "https://d/mcp", "headers": {"Authorization": "Bearer ${D_TOKEN}"}}),
                0,
            ),
            ("e", json!({"type": "sse", "url": "https://e"}), 0),
        ];
        let expect: Vec<(String, Value, usize)> = expect
            .map(|(name, entry, n)| (name.to_owned(), entry, n))
            .to_vec();
        assert_eq!(entries(&all), expect);
        let list = json!([{"name": "z", "command": "zed"}, {"command": "nameless"}]);
        assert_eq!(entries(&list)[0].0, "z");
        assert_eq!(entries(&list).len(), 1);
    }
}
