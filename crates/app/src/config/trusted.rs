//! Which tools of a server the person trusts, written where the server is configured: `[[plugins]]` of a TOML file, with
//! comments and layout kept, or a JSON list of servers. Whether a project stays trusted by it is decided elsewhere.

use std::path::Path;

use crate::speech::filled;
use ostler_wire::Word;
use toml_edit::{Array, Item, TableLike, Value};

use super::diagnose::{ConfigError, Report};
use super::files::{self, Access};
use super::layers::read_text;
use super::plugins::ServerFile;
use super::rules::{RuleFile, push, take_out};

const KEY: &str = "trusted_read_only_tools";

/// What becomes of tools in the list.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    pub server: &'a str,
    /// As the server calls them.
    pub tools: &'a [String],
    pub trusted: bool,
}

impl RuleFile<'_> {
    /// Changes the list in `[[plugins]]`.
    pub fn trust(self, change: Change<'_>) -> Result<(), ConfigError> {
        let mut draft = self.draft()?;
        let plugins = draft.document.get_mut("plugins");
        let table = plugins.and_then(|plugins| named(plugins, change.server));
        let Some(table) = table else {
            let text = filled(Word::TrustNoServer, &[&change.server]);
            return Err(ConfigError::new(vec![Report::plain(text)]));
        };
        if table.get(KEY).is_none() && change.trusted {
            table.insert(KEY, Item::Value(Value::Array(Array::new())));
        }
        if let Some(list) = table.get_mut(KEY).and_then(Item::as_array_mut) {
            edit(list, change);
        }
        draft.finish()
    }
}

fn edit(list: &mut Array, change: Change<'_>) {
    let is = |value: &Value, tool: &str| value.as_str() == Some(tool);
    for tool in change.tools {
        let there = list.iter().position(|value| is(value, tool));
        match (there, change.trusted) {
            (None, true) => push(list, tool),
            (Some(at), false) => take_out(list, at),
            (Some(_), true) | (None, false) => {}
        }
    }
}

fn named<'a>(plugins: &'a mut Item, name: &str) -> Option<&'a mut dyn TableLike> {
    let is_it = |table: &dyn TableLike| table.get("name").and_then(Item::as_str) == Some(name);
    match plugins {
        Item::ArrayOfTables(tables) => {
            let found = tables.iter_mut().find(|table| is_it(*table));
            found.map(|table| table as &mut dyn TableLike)
        }
        Item::Value(Value::Array(values)) => {
            let mut tables = values.iter_mut().filter_map(Value::as_inline_table_mut);
            let found = tables.find(|table| is_it(*table));
            found.map(|table| table as &mut dyn TableLike)
        }
        Item::None | Item::Value(_) | Item::Table(_) => None,
    }
}

/// The same in a JSON list of servers. The error is the end of a sentence.
pub fn trust_in_json(path: &Path, shown: &str, change: Change<'_>) -> Result<(), String> {
    let text = read_text(path, shown).map_err(|report| report.title)?;
    let text = text.ok_or_else(|| filled(Word::TrustFileGone, &[&shown]))?;
    let mut file: ServerFile =
        serde_json::from_str(&text).map_err(|e| filled(Word::TrustNoServers, &[&shown, &e]))?;
    let entry = file.servers.get_mut(change.server);
    let entry = entry.and_then(serde_json::Value::as_object_mut);
    let entry = entry.ok_or_else(|| filled(Word::TrustNoServer, &[&change.server]))?;
    let list = entry.entry(KEY).or_insert_with(|| serde_json::json!([]));
    let list = list
        .as_array_mut()
        .ok_or_else(|| filled(Word::TrustNoList, &[&KEY]))?;
    list.retain(|tool| !change.tools.iter().any(|one| tool == one));
    if change.trusted {
        list.extend(change.tools.iter().map(|tool| tool.as_str().into()));
    }
    let text = serde_json::to_string_pretty(&file).map_err(|e| e.to_string())? + "\n";
    files::write(path, text.as_bytes(), Access::AsBefore)
        .map_err(|e| filled(Word::CannotWrite, &[&shown, &e]))
}
