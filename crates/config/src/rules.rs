//! The lists of configuration files that answers of the person change: rules, and the trusted tools of a server. Comments,
//! order and older forms stay, and a file that does not load is left alone. Which file it should be is decided elsewhere.

use std::path::Path;

use crate::text::phrase;
use ostler_wire::{Why, Word};
use toml_edit::{Array, Item, TableLike, Value};

use crate::diagnose::ConfigError;
use crate::edit::{Draft, EditableFile, plain_error, put};
use crate::files::{self, Access};
use crate::layers::RuleList;
use crate::plugins::ServerFile;
use crate::read::read_text;
use crate::tree::Layer;

/// What a project's file begins with when it is made for a rule.
const OPENING: &str =
    "# Settings of Ostler for this project. `ostler trust` shows what of them needs trust.\n";
const INDENT: &str = "    ";

/// Which tools of a server the person trusts, in the entry of the server.
const TRUSTED_TOOLS: &str = "trusted_read_only_tools";

/// What becomes of tools in the list of their server.
#[derive(Debug, Clone, Copy)]
pub struct ToolChange<'a> {
    pub server: &'a str,
    /// As the server calls them.
    pub tools: &'a [String],
    pub trusted: bool,
}

impl<'a> EditableFile<'a> {
    /// Adds those of the rules to the allow list that are not there in any form. What was added.
    pub fn add(
        self,
        rules: &[String],
        is_same: impl Fn(&str, &str) -> bool,
    ) -> Result<Vec<String>, ConfigError> {
        self.add_to(RuleList::Allow, rules, is_same)
    }

    /// The same for any of the lists.
    pub fn add_to(
        self,
        list: RuleList,
        rules: &[String],
        is_same: impl Fn(&str, &str) -> bool,
    ) -> Result<Vec<String>, ConfigError> {
        let mut draft = self.lists()?;
        let there = draft.list(list);
        let new: Vec<String> = rules
            .iter()
            .filter(|rule| !there.iter().any(|old| is_same(old, rule)))
            .cloned()
            .collect();
        if new.is_empty() {
            return Ok(new);
        }
        for rule in &new {
            draft.push(list, rule)?;
        }
        draft.save()?;
        Ok(new)
    }

    /// Takes out every rule that fits, from all three lists. What was taken out.
    pub fn remove(
        self,
        fits: impl Fn(&str) -> bool,
    ) -> Result<Vec<(RuleList, String)>, ConfigError> {
        let mut draft = self.lists()?;
        let mut out = Vec::new();
        for list in RuleList::ALL {
            let Some(array) = draft.array(list) else {
                continue;
            };
            // From the end, so that the places before stay.
            for i in (0..array.len()).rev() {
                let text = array.get(i).and_then(Value::as_str).map(str::to_owned);
                if let Some(text) = text.filter(|text| fits(text)) {
                    take_out(array, i);
                    out.push((list, text));
                }
            }
        }
        if !out.is_empty() {
            draft.save()?;
        }
        out.reverse();
        Ok(out)
    }

    /// Every rule of the file, also those that are not in force.
    pub fn rules(self) -> Result<Vec<String>, ConfigError> {
        let mut draft = self.lists()?;
        let lists = RuleList::ALL.into_iter();
        Ok(lists.flat_map(|list| draft.list(list)).collect())
    }

    /// Changes which tools of a server in `[[plugins]]` are trusted.
    pub fn trust_tools(self, change: ToolChange<'_>) -> Result<(), ConfigError> {
        let mut draft = self.lists()?;
        let plugins = draft.document.get_mut("plugins");
        let table = plugins.and_then(|plugins| table_named(plugins, change.server));
        let table = table.ok_or_else(|| {
            let text = phrase(Word::TrustNoServer, &[&change.server]);
            plain_error(text)
        })?;
        if table.get(TRUSTED_TOOLS).is_none() && change.trusted {
            table.insert(TRUSTED_TOOLS, Item::Value(Value::Array(Array::new())));
        }
        if let Some(list) = table.get_mut(TRUSTED_TOOLS).and_then(Item::as_array_mut) {
            change_tools(list, change);
        }
        draft.save().map(drop)
    }

    /// The file, if it loads.
    fn lists(self) -> Result<Draft<'a>, ConfigError> {
        let absent = match self.layer {
            Layer::Project => OPENING,
            Layer::Default | Layer::User | Layer::Local | Layer::Environment | Layer::Flag => "",
        };
        let draft = self.open(absent)?;
        match draft.errors.is_empty() {
            true => Ok(draft),
            false => Err(ConfigError::new(draft.errors)),
        }
    }
}

impl Draft<'_> {
    fn array(&mut self, list: RuleList) -> Option<&mut Array> {
        let permissions = self.document.get_mut("permissions")?.as_table_like_mut()?;
        permissions.get_mut(list.key())?.as_array_mut()
    }

    fn list(&mut self, list: RuleList) -> Vec<String> {
        let array = self.array(list);
        let texts = array.iter().flat_map(|array| array.iter());
        texts
            .filter_map(|value| value.as_str().map(str::to_owned))
            .collect()
    }

    fn push(&mut self, list: RuleList, rule: &str) -> Result<(), ConfigError> {
        if let Some(array) = self.array(list) {
            push(array, rule);
            return Ok(());
        }
        let keys = ["permissions", list.key()].map(str::to_owned);
        let list = Value::Array(Array::from_iter([rule]));
        put(&mut self.document, &keys, list)
            .map(drop)
            .map_err(plain_error)
    }
}

/// Appends in the layout of the list: a line of its own where the others have one, and below their comments.
fn push(array: &mut Array, rule: &str) {
    let mut value = Value::from(rule);
    let prefix_of = |value: &Value| {
        let prefix = value.decor().prefix().and_then(|p| p.as_str());
        prefix.unwrap_or_default().to_owned()
    };
    let last = array.iter().last().map(prefix_of).unwrap_or_default();
    let end = array.trailing().as_str().unwrap_or_default().to_owned();
    let lines = last.contains('\n') || end.contains('\n');
    if !lines {
        let space = if array.is_empty() { "" } else { " " };
        value.decor_mut().set_prefix(space);
        array.push_formatted(value);
        return;
    }
    let indent = match last.rfind('\n').and_then(|at| last.get(at..)) {
        Some(indent) => indent.to_owned(),
        None => format!("\n{INDENT}"),
    };
    if array.trailing_comma() || array.is_empty() {
        // Comments behind the last comma belong to what is above.
        let comments = end.trim_end_matches([' ', '\t', '\n', '\r']);
        value.decor_mut().set_prefix(format!("{comments}{indent}"));
        array.push_formatted(value);
    } else {
        // Without one they stand behind the last value, together with the end of its line.
        if let Some(old) = array.iter_mut().last() {
            let suffix = old.decor().suffix().and_then(|s| s.as_str());
            let suffix = suffix.unwrap_or_default();
            let kept = suffix.trim_end().to_owned();
            let comment = if kept.contains('#') {
                format!(" {}", kept.trim_start())
            } else {
                String::new()
            };
            old.decor_mut().set_suffix("");
            value.decor_mut().set_prefix(format!("{comment}{indent}"));
        }
        array.push_formatted(value);
    }
    array.set_trailing_comma(true);
    array.set_trailing("\n");
}

/// Takes out one element with the comments that belong to it: the lines above it, and what stands behind it on its line.
fn take_out(array: &mut Array, index: usize) {
    let removed = array.remove(index);
    let prefix = removed.decor().prefix().and_then(|p| p.as_str());
    let prefix = prefix.unwrap_or_default();
    // This much stands behind the element before.
    let behind = prefix.split('\n').next().unwrap_or_default();
    let joined = |next: &str| match next.split_once('\n') {
        Some((_, rest)) => format!("{behind}\n{rest}"),
        None if behind.contains('#') => format!("{behind}\n{INDENT}"),
        None if index == 0 => behind.to_owned(),
        None => next.to_owned(),
    };
    if let Some(next) = array.get_mut(index) {
        let own = next.decor().prefix().and_then(|p| p.as_str());
        let prefix = joined(own.unwrap_or_default());
        next.decor_mut().set_prefix(prefix);
    } else {
        let end = array.trailing().as_str().unwrap_or_default();
        let end = joined(end);
        array.set_trailing(end);
    }
}

fn change_tools(list: &mut Array, change: ToolChange<'_>) {
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

fn table_named<'a>(plugins: &'a mut Item, name: &str) -> Option<&'a mut dyn TableLike> {
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

/// Changes which tools of a server in a JSON list of servers are trusted. The error is the end of a sentence.
pub fn trust_tools_in_json(path: &Path, shown: &str, change: ToolChange<'_>) -> Result<(), Why> {
    let text = read_text(path, shown).map_err(|report| report.title)?;
    let text = text.ok_or_else(|| phrase(Word::TrustFileGone, &[&shown]))?;
    let mut file: ServerFile =
        serde_json::from_str(&text).map_err(|e| phrase(Word::TrustNoServers, &[&shown, &e]))?;
    let entry = file.servers.get_mut(change.server);
    let entry = entry.and_then(serde_json::Value::as_object_mut);
    let entry = entry.ok_or_else(|| phrase(Word::TrustNoServer, &[&change.server]))?;
    let list = entry
        .entry(TRUSTED_TOOLS)
        .or_insert_with(|| serde_json::json!([]));
    let list = list
        .as_array_mut()
        .ok_or_else(|| phrase(Word::TrustNoList, &[&TRUSTED_TOOLS]))?;
    list.retain(|tool| !change.tools.iter().any(|one| tool == one));
    if change.trusted {
        list.extend(change.tools.iter().map(|tool| tool.as_str().into()));
    }
    let text = serde_json::to_string_pretty(&file).map_err(|e| Why::from(e.to_string()))? + "\n";
    files::write(path, text.as_bytes(), Access::AsBefore)
        .map_err(|e| phrase(Word::CannotWrite, &[&shown, &e]))
}
