//! Files of settings, TOML or JSON with comments, as one tree of values; and models and providers in it.

use crate::agents::{ModelAt, ProvidersAt};
use crate::item::{Item, Kind, Taken};
use ostler_wire::{Why, Word};
use serde_json::{Map, Value};
use std::path::Path;

/// Providers and their models of one file.
const MAX_PROVIDERS: usize = 64;
const MAX_MODELS: usize = 200;

/// The values of a file. The error says what is wrong with it.
pub fn parse(path: &Path, text: &str) -> Result<Value, Why> {
    let is_toml = path.extension().is_some_and(|e| e == "toml");
    match is_toml {
        true => toml::from_str::<Value>(text).map_err(|e| Why::from(e.message().to_owned())),
        false => {
            serde_json::from_str(&without_comments(text)).map_err(|e| Why::from(e.to_string()))
        }
    }
}

/// JSON as people write it: comments and commas before a closing bracket become blanks.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut in_string = false;
    while let Some(letter) = letters.next() {
        match (in_string, letter, letters.peek()) {
            (true, '\\', _) => {
                out.push(letter);
                out.extend(letters.next());
                continue;
            }
            (_, '"', _) => in_string = !in_string,
            (false, '/', Some('/')) => {
                while letters.next_if(|l| *l != '\n').is_some() {}
                continue;
            }
            (false, '/', Some('*')) => {
                letters.next();
                let mut before = ' ';
                for inner in letters.by_ref() {
                    if before == '*' && inner == '/' {
                        break;
                    }
                    before = inner;
                }
                continue;
            }
            (false, '}' | ']', _) => {
                let kept = out.trim_end().len();
                if out.get(..kept).is_some_and(|kept| kept.ends_with(',')) {
                    out.truncate(kept - 1);
                }
            }
            _ => {}
        }
        out.push(letter);
    }
    out
}

/// The value at a dotted path.
pub fn at<'a>(tree: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = tree;
    for key in path.split('.') {
        value = value.get(key)?;
    }
    (!value.is_null()).then_some(value)
}

pub fn text<'a>(tree: &'a Value, path: &str) -> Option<&'a str> {
    let text = at(tree, path)?.as_str()?.trim();
    (!text.is_empty()).then_some(text)
}

/// The model that the agent begins with.
pub fn model(tree: &Value, rows: &ModelAt, from: &Path) -> Option<Item> {
    let written = text(tree, &rows.at)?;
    let provider = text(tree, &rows.provider_at).unwrap_or(&rows.provider);
    let is_known = provider != rows.provider || written.starts_with(&rows.begins);
    let taken = match (provider, is_known) {
        (_, false) => Taken::Left(Word::ImportModelShort.into()),
        ("", true) if written.contains('/') => Taken::Model(written.to_owned()),
        ("", true) => Taken::Model(written.to_owned()),
        (provider, true) => Taken::Model(format!("{provider}/{written}")),
    };
    Some(Item::new(Kind::Model, written, from, taken))
}

/// Endpoints that the person added.
pub fn providers(tree: &Value, rows: &ProvidersAt, from: &Path) -> Vec<Item> {
    let Some(value) = at(tree, &rows.at) else {
        return Vec::new();
    };
    let named = named(value).into_iter().take(MAX_PROVIDERS);
    named
        .map(|(name, one)| provider(name, one, rows, from))
        .collect()
}

/// The entries of a list, which has them by name or as tables with one.
pub fn named(value: &Value) -> Vec<(&str, &Value)> {
    match value {
        Value::Object(all) => all.iter().map(|(name, one)| (name.as_str(), one)).collect(),
        Value::Array(all) => {
            let entry = |one| Some((text(one, "name")?, one));
            all.iter().filter_map(entry).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn provider(name: &str, one: &Value, rows: &ProvidersAt, from: &Path) -> Item {
    let mut entry = Map::new();
    let mut remarks = Vec::new();
    entry.insert("name".into(), name.into());
    for (theirs, ours) in &rows.fields {
        let Some(value) = at(one, theirs) else {
            continue;
        };
        match ours.as_str() {
            "kind" => {
                let kind = value.as_str().unwrap_or_default();
                let known = rows.kinds.get(kind).map_or(kind, String::as_str);
                match rows.kinds.is_empty() || rows.kinds.contains_key(kind) {
                    true => drop(entry.insert("kind".into(), known.into())),
                    false => {
                        let why = Why::ours(Word::ImportKind, [kind.into()]);
                        return Item::new(Kind::Provider, name, from, Taken::Left(why));
                    }
                }
            }
            "key" => key(value, &mut entry, &mut remarks),
            "models" => drop(entry.insert("models".into(), models(value))),
            "headers" => headers(value, &mut entry, &mut remarks),
            other => drop(entry.insert(other.to_owned(), value.clone())),
        }
    }
    if !entry.contains_key("kind") && !rows.kind.is_empty() {
        entry.insert("kind".into(), rows.kind.as_str().into());
    }
    let taken = match entry.contains_key("base_url") {
        true => Taken::Provider(entry),
        // Without an address it is one of those that are compiled in, with a setting or two.
        false => Taken::Left(Word::ImportNoAddress.into()),
    };
    Item {
        remarks,
        ..Item::new(Kind::Provider, name, from, taken)
    }
}

/// Where a key is, in whatever way it is named. The key itself is never taken.
fn key(value: &Value, entry: &mut Map<String, Value>, remarks: &mut Vec<Why>) {
    let written = value.as_str().unwrap_or_default().trim();
    if let Some(file) = written
        .strip_prefix("{file:")
        .and_then(|rest| rest.strip_suffix('}'))
    {
        entry.insert("api_key_file".into(), file.into());
        return;
    }
    match variable(written) {
        Some(name) => drop(entry.insert("api_key_env".into(), name.into())),
        None if written.is_empty() => {}
        None => remarks.push(Word::ImportKeyLeft.into()),
    }
}

/// The variable that a text stands for: `{env:X}`, `${X}`, `$X`, or a name in capitals.
pub fn variable(written: &str) -> Option<&str> {
    let inner = written
        .strip_prefix("{env:")
        .or_else(|| written.strip_prefix("${"))
        .and_then(|rest| rest.strip_suffix('}'))
        .or_else(|| written.strip_prefix('$'));
    let is_name = |name: &&str| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
    };
    let is_loud = |name: &&str| {
        is_name(name) && name.contains('_') && !name.contains(|c: char| c.is_ascii_lowercase())
    };
    inner
        .filter(is_name)
        .or_else(|| Some(written).filter(is_loud))
}

fn models(value: &Value) -> Value {
    let names: Vec<Value> = match value {
        Value::Object(all) => all.keys().map(|name| name.as_str().into()).collect(),
        Value::Array(all) => {
            let name = |one: &Value| {
                one.as_str()
                    .or_else(|| one.get("id")?.as_str())
                    .map(Value::from)
            };
            all.iter().filter_map(name).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    names.into_iter().take(MAX_MODELS).collect()
}

/// Headers that hold no secret.
fn headers(value: &Value, entry: &mut Map<String, Value>, remarks: &mut Vec<Why>) {
    let mut kept = Map::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        let written = value.as_str().unwrap_or_default();
        match is_secret(name) && !written.starts_with("${") {
            true => remarks.push(Why::ours(Word::ImportHeaderLeft, [name.as_str().into()])),
            false => drop(kept.insert(name.clone(), value.clone())),
        }
    }
    if !kept.is_empty() {
        entry.insert("headers".into(), kept.into());
    }
}

/// Whether what goes by this name is a secret.
pub fn is_secret(name: &str) -> bool {
    const PARTS: [&str; 9] = [
        "key",
        "token",
        "secret",
        "password",
        "passwd",
        "auth",
        "credential",
        "cookie",
        "bearer",
    ];
    let name = name.to_ascii_lowercase();
    PARTS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_with_comments_is_read() {
        let text = "{ // one\n \"a\": \"//no\", /* two\n */ \"b\": [1, 2,],\n \"c\\\"/*\": 3,\n}";
        let value = parse(Path::new("x.jsonc"), text).unwrap();
        assert_eq!(value, json!({"a": "//no", "b": [1, 2], "c\"/*": 3}));
    }

    #[test]
    fn deep_files_are_refused() {
        let deep = "[".repeat(100_000);
        assert!(parse(Path::new("x.json"), &deep).is_err());
        let deep = format!("a = {}", "[".repeat(100_000));
        assert!(parse(Path::new("x.toml"), &deep).is_err());
    }

    #[test]
    fn variables_are_told_from_keys() {
        for (written, expect) in [
            ("{env:ACME_KEY}", Some("ACME_KEY")),
            ("${ACME_KEY}", Some("ACME_KEY")),
            ("$acme", Some("acme")),
            ("ACME_KEY", Some("ACME_KEY")),
            ("sk-12345", None),
            ("ACMEKEY123", None),
            ("${A:-x}", None),
            ("", None),
        ] {
            assert_eq!(variable(written), expect, "{written}");
        }
    }
}
