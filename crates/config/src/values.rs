//! Values of the configuration as text and JSON, with secrets covered.

use crate::diagnose::is_secret;
use crate::tree::{At, Node, Sources, Value, push_key};
use crate::variables;

pub const COVER: &str = "********";

/// A value of a JSON file; none for null.
pub fn from_json(value: serde_json::Value) -> Option<Node> {
    let value = match value {
        serde_json::Value::Null => return None,
        serde_json::Value::Bool(flag) => Value::Boolean(flag),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(number) => Value::Integer(number),
            None => Value::Float(number.as_f64()?),
        },
        serde_json::Value::String(text) => Value::String(text),
        serde_json::Value::Array(items) => {
            Value::Array(items.into_iter().filter_map(from_json).collect())
        }
        serde_json::Value::Object(fields) => Value::Table(
            fields
                .into_iter()
                .filter_map(|(key, value)| Some((key, from_json(value)?)))
                .collect(),
        ),
    };
    Some(Node::new(value, At::whole(Sources::BUILT_IN)))
}

/// The value without its secret, if it is one.
pub fn covered(name: &str, value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::String(text) if is_secret(name) => variables::cover(&text, COVER).into(),
        serde_json::Value::String(text) => without_password(&text).into(),
        other => other,
    }
}

/// `https://user:password@host?key=…` without the password and the key.
fn without_password(text: &str) -> String {
    let Ok(mut url) = url::Url::parse(text) else {
        return text.to_owned();
    };
    let asks = url.query_pairs().any(|(name, _)| is_secret(&name));
    if url.password().is_none() && !asks {
        return text.to_owned();
    }
    if url.password().is_some() {
        url.set_password(Some(COVER)).ok();
    }
    if asks {
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let shown = |(name, value): (String, String)| match is_secret(&name) {
            true => (name, variables::cover(&value, COVER)),
            false => (name, value),
        };
        url.query_pairs_mut()
            .clear()
            .extend_pairs(pairs.into_iter().map(shown));
    }
    // References stay readable.
    url.to_string().replace("%24%7B", "${").replace("%7D", "}")
}

/// The value of a key as TOML, secrets covered.
pub fn node_text(name: &str, node: &Node) -> String {
    toml_text(&covered(name, to_json(node)))
}

pub fn to_json(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::String(text) | Value::Datetime(text) => text.clone().into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(flag) => (*flag).into(),
        Value::Array(items) => items.iter().map(to_json).collect(),
        Value::Table(table) => serde_json::Value::Object(
            table
                .iter()
                .map(|(key, node)| (key.clone(), covered(key, to_json(node))))
                .collect(),
        ),
    }
}

pub fn toml_text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "\"\"".into(),
        serde_json::Value::String(text) => toml_edit::Value::from(text.as_str()).to_string(),
        serde_json::Value::Bool(_) | serde_json::Value::Number(_) => value.to_string(),
        serde_json::Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml_text).collect();
            format!("[{}]", items.join(", "))
        }
        serde_json::Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(key, value)| {
                    let mut line = String::new();
                    push_key(&mut line, key);
                    format!("{line} = {}", toml_text(value))
                })
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
    }
}
