//! The environment and flags as layers: `OSTLER_SECTION__KEY=value` and dotted overrides become
//! the same kind of tree that a file gives.

use crate::de::is_text_at;
use crate::diagnose::{Notice, Report};
use crate::paths::Env;
use crate::schema::Config;
use crate::text::phrase;
use crate::tree::{
    At, Layer, Node, Source, SourceId, Sources, Table, Value, item_named, parse_value, schema_path,
};
use ostler_wire::{Why, Word};

const PREFIX: &str = "OSTLER_";
const SEPARATOR: &str = "__";
/// Keys in a name; files have the same limit.
const MAX_DEPTH: usize = 80;
/// Variables without a section: name after the prefix → key.
const SHORT: [(&str, &str); 2] = [
    ("MODEL", "default_model"),
    ("DEFAULT_MODEL", "default_model"),
];

/// A setting from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// How the person wrote it, for messages: `--max-steps`.
    pub flag: String,
    /// The key it sets: `agent.max_steps`.
    pub key: String,
    /// A TOML value, or a plain string.
    pub value: String,
}

/// The tree of all `OSTLER_` variables. Empty ones count as unset.
pub fn from_env(env: &Env, sources: &mut Sources, notices: &mut Vec<Notice>) -> Node {
    let mut root = Node::new(Value::Table(Table::new()), At::whole(Sources::BUILT_IN));
    for (name, value) in env.range(PREFIX.to_owned()..) {
        let Some(rest) = name.strip_prefix(PREFIX) else {
            break;
        };
        let key = match SHORT.iter().find(|(short, _)| *short == rest) {
            Some((_, key)) => (*key).to_owned(),
            None if rest.contains(SEPARATOR) => rest.to_ascii_lowercase(),
            None => continue,
        };
        if value.is_empty() {
            continue;
        }
        let source = sources.add(Source {
            layer: Layer::Environment,
            name: name.clone(),
            path: None,
            text: String::new(),
        });
        let path: Vec<&str> = key.split(SEPARATOR).collect();
        if insert(&mut root, &path, typed(&path, value, source)).is_err() {
            let place = sources.place(At::whole(source));
            notices.push(Notice::warning(place, Why::from(Word::CfgEnvIgnored)));
        }
    }
    root
}

/// The tree of all flags.
pub fn from_flags(overrides: &[Override], sources: &mut Sources) -> Result<Node, Box<Report>> {
    let mut root = Node::new(Value::Table(Table::new()), At::whole(Sources::BUILT_IN));
    for item in overrides {
        let source = sources.add(Source {
            layer: Layer::Flag,
            name: item.flag.clone(),
            path: None,
            text: String::new(),
        });
        let fail = |message: Why| {
            let title = Why::joined([format!("{}: ", item.flag).into(), message]);
            Box::new(Report::plain(title))
        };
        let keys = split_key(&item.key).map_err(fail)?;
        let path: Vec<&str> = keys.iter().map(String::as_str).collect();
        insert(&mut root, &path, typed(&path, &item.value, source))
            .map_err(|()| fail(phrase(Word::CfgEnvNoKey, &[&item.key])))?;
    }
    Ok(root)
}

/// What was typed for a key: a TOML value when it is one and the key wants more than a text, else the text itself.
fn typed(path: &[&str], text: &str, source: SourceId) -> Node {
    let value = match parse_value(text, source) {
        Some(value @ Value::String(_)) => value,
        Some(value) if path.len() > MAX_DEPTH || !is_text_at::<Config>(&schema_path(path)) => value,
        Some(_) | None => Value::String(text.to_owned()),
    };
    Node::new(value, At::whole(source))
}

/// Splits a dotted key as TOML does: `providers."my.host".base_url`.
pub fn split_key(dotted: &str) -> Result<Vec<String>, Why> {
    toml_edit::Key::parse(dotted)
        .map(|keys| keys.iter().map(|key| key.get().to_owned()).collect())
        .map_err(|_| phrase(Word::CfgEnvBadKey, &[&dotted]))
}

/// Puts a value under its keys, the last one given winning. Providers are found by name.
fn insert(root: &mut Node, path: &[&str], node: Node) -> Result<(), ()> {
    if path.is_empty() || path.len() > MAX_DEPTH || path.iter().any(|key| key.is_empty()) {
        return Err(());
    }
    if let ["providers", name, field @ ..] = path
        && !field.is_empty()
    {
        let item = item_named(root, "providers", name, node.at).ok_or(())?;
        return insert(item, field, node);
    }
    root.take(path);
    root.put_new(path, node).map_err(|_| ())
}
