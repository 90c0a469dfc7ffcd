//! The configuration in effect, key by key, with origins, for `config show` and `config get`.
//! Secrets are covered.

use crate::text::phrase;
use ostler_wire::{Why, Word};
use serde::Serialize;

use crate::check::written;
use crate::de;
use crate::diagnose::nearest;
use crate::env::split_key;
use crate::layers::Loaded;
use crate::schema::Config;
use crate::tree::{At, Layer, Node, Place, Sources, Step, Table, Value, push_key, schema_path};
use crate::values::{covered, from_json, to_json, toml_text};

/// One key in effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    pub key: String,
    pub value: serde_json::Value,
    /// `file:line:column`, a variable, a flag, or "default".
    pub origin: String,
    pub layer: &'static str,
}

impl Setting {
    /// As a line of TOML, with the origin as a comment if wanted.
    pub fn line(&self, origins: Origins) -> String {
        let line = format!("{} = {}", self.key, toml_text(&self.value));
        match origins {
            Origins::Shown => format!("{line}  # {}", self.origin),
            Origins::Hidden => line,
        }
    }

    /// The bare value for scripts: a string without quotes, anything else as TOML.
    pub fn bare(&self) -> String {
        match &self.value {
            serde_json::Value::String(text) => text.clone(),
            other => toml_text(other),
        }
    }
}

/// Whether `show` prints where each value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origins {
    Shown,
    Hidden,
}

/// Why `get` has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GetError {
    Syntax(Why),
    Unknown { key: String, near: Option<String> },
    Unset(String),
}

impl From<&GetError> for Why {
    fn from(error: &GetError) -> Self {
        match error {
            GetError::Syntax(why) => why.clone(),
            GetError::Unknown { key, near } => {
                let hint = match near {
                    Some(near) => phrase(Word::OrNear, &[near]),
                    None => "".into(),
                };
                phrase(Word::CfgNoKey, &[key, &hint])
            }
            GetError::Unset(key) => phrase(Word::CfgNotSet, &[key]),
        }
    }
}

ostler_wire::told_by_why!(GetError);

/// Every key in effect, sorted by name, defaults included.
pub fn settings(loaded: &Loaded) -> Vec<Setting> {
    let mut out = Vec::new();
    flatten(&loaded.tree, &mut Vec::new(), loaded, &mut out);
    let mut defaults = Vec::new();
    flatten(&default_tree(), &mut Vec::new(), loaded, &mut defaults);
    defaults.retain(|setting| !out.iter().any(|set| set.key == setting.key));
    out.append(&mut defaults);
    out.sort_by(|a, b| a.key.cmp(&b.key));
    out
}

/// The settings as text, one a line.
pub fn render(settings: &[Setting], origins: Origins) -> String {
    settings
        .iter()
        .map(|setting| setting.line(origins) + "\n")
        .collect()
}

/// One key, or all keys of a table.
pub fn get(loaded: &Loaded, key: &str, tools: &[&str]) -> Result<Vec<Setting>, GetError> {
    let path = split_key(key).map_err(GetError::Syntax)?;
    let mut wanted = String::new();
    path.iter().for_each(|part| push_key(&mut wanted, part));
    let below = format!("{wanted}.");
    let all = settings(loaded);
    let found: Vec<Setting> = all
        .iter()
        .filter(|setting| setting.key == wanted || setting.key.starts_with(&below))
        .cloned()
        .collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let is_tool = matches!(path.as_slice(), [section, tool] if section == "tools" && tools.contains(&tool.as_str()));
    if is_tool || is_known(&path) {
        return Err(GetError::Unset(wanted));
    }
    let near = nearest(&wanted, all.iter().map(|setting| setting.key.as_str()));
    Err(GetError::Unknown {
        near: near.map(str::to_owned),
        key: wanted,
    })
}

/// Whether the schema has this key. Providers and servers go by their names.
fn is_known(path: &[String]) -> bool {
    let steps = schema_path(path);
    // A list has no key of a name that nothing in it has.
    !matches!(steps.last(), Some(Step::Index(_)))
        && (0..steps.len()).all(|depth| {
            let (parents, step) = (&steps[..depth], &steps[depth]);
            match (de::fields_at::<Config>(parents), step) {
                (Some(fields), Step::Key(key)) => fields.contains(&key.as_str()),
                (Some(_) | None, Step::Index(_)) | (None, Step::Key(_)) => true,
            }
        })
}

/// The defaults as a tree. Made only for showing.
fn default_tree() -> Node {
    let value = serde_json::to_value(Config::default()).unwrap_or_default();
    from_json(value)
        .unwrap_or_else(|| Node::new(Value::Table(Table::new()), At::whole(Sources::BUILT_IN)))
}

fn flatten(node: &Node, path: &mut Vec<Step>, loaded: &Loaded, out: &mut Vec<Setting>) {
    match &node.value {
        Value::Table(table) => {
            for (key, child) in table {
                path.push(Step::Key(key.clone()));
                flatten(child, path, loaded, out);
                path.pop();
            }
        }
        Value::Array(items) if items.iter().any(|item| item.name().is_some()) => {
            for (index, child) in items.iter().enumerate() {
                path.push(Step::Index(index));
                flatten(child, path, loaded, out);
                path.pop();
            }
        }
        Value::Array(items) if items.is_empty() && path.len() == 1 => {}
        Value::String(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime(_)
        | Value::Array(_) => out.push(setting(node, path, loaded)),
    }
}

fn setting(node: &Node, path: &[Step], loaded: &Loaded) -> Setting {
    let name = match path.last() {
        Some(Step::Key(name)) => name.as_str(),
        Some(Step::Index(_)) | None => "",
    };
    Setting {
        key: written(&loaded.tree, path),
        value: covered(name, to_json(node)),
        origin: origin(node, loaded),
        layer: highest(node, loaded).name(),
    }
}

fn items(node: &Node) -> &[Node] {
    node.as_array().unwrap_or(&[])
}

/// A list that several layers added to has several origins: the first place in each.
fn origin(node: &Node, loaded: &Loaded) -> String {
    let whole = std::iter::once(node).filter(|node| items(node).is_empty());
    let mut places: Vec<Place> = Vec::new();
    for part in whole.chain(items(node)) {
        let place = loaded.sources.place(part.at);
        if !places.iter().any(|seen| seen.name == place.name) {
            places.push(place);
        }
    }
    let places: Vec<String> = places.iter().map(Place::to_string).collect();
    places.join(", ")
}

fn highest(node: &Node, loaded: &Loaded) -> Layer {
    let own = loaded.sources.layer(node.at);
    let parts = items(node).iter().map(|item| loaded.sources.layer(item.at));
    parts.max().unwrap_or(own)
}
