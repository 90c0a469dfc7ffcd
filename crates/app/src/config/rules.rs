//! Adding rules to the lists of a configuration file and taking them out, so that comments, order and older forms stay.
//! A file that does not load is left alone. Which file it should be is decided elsewhere.

use std::path::Path;

use toml_edit::{Array, DocumentMut, Value};

use super::diagnose::{ConfigError, Report};
use super::edit::{BOM, put, save, starts_with_bom, with_old_endings};
use super::layers::{RuleList, inspect, read_text};
use super::paths::Places;
use super::tree::Layer;

/// What a project's file begins with when it is made for a rule.
const OPENING: &str =
    "# Settings of Ostler for this project. `ostler trust` shows what of them needs trust.\n";
const INDENT: &str = "    ";

/// A file with rules.
#[derive(Debug, Clone, Copy)]
pub struct RuleFile<'a> {
    pub path: &'a Path,
    /// Whose file it is: User, Local or Project.
    pub layer: Layer,
    pub places: &'a Places,
    pub tools: &'a [&'a str],
}

/// A file that was read and can be edited.
pub(super) struct Draft<'a> {
    file: RuleFile<'a>,
    old: String,
    pub(super) document: DocumentMut,
}

impl<'a> RuleFile<'a> {
    /// Adds those of the rules to the allow list that are not there in any form. What was added.
    pub fn add(
        self,
        rules: &[String],
        is_same: impl Fn(&str, &str) -> bool,
    ) -> Result<Vec<String>, ConfigError> {
        let mut draft = self.draft()?;
        let there = draft.list(RuleList::Allow);
        let new: Vec<String> = rules
            .iter()
            .filter(|rule| !there.iter().any(|old| is_same(old, rule)))
            .cloned()
            .collect();
        if new.is_empty() {
            return Ok(new);
        }
        for rule in &new {
            draft.push(rule)?;
        }
        draft.finish()?;
        Ok(new)
    }

    /// Takes out every rule that fits, from all three lists. What was taken out.
    pub fn remove(
        self,
        fits: impl Fn(&str) -> bool,
    ) -> Result<Vec<(RuleList, String)>, ConfigError> {
        let mut draft = self.draft()?;
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
            draft.finish()?;
        }
        out.reverse();
        Ok(out)
    }

    /// Every rule of the file, also those that are not in force.
    pub fn rules(self) -> Result<Vec<String>, ConfigError> {
        let mut draft = self.draft()?;
        let lists = RuleList::ALL.into_iter();
        Ok(lists.flat_map(|list| draft.list(list)).collect())
    }

    pub(super) fn draft(self) -> Result<Draft<'a>, ConfigError> {
        let name = self.places.shown(self.path);
        let old = read_text(self.path, &name).map_err(|report| ConfigError::new(vec![*report]))?;
        let old = match (old, self.layer) {
            (Some(old), _) => old,
            (None, Layer::Project) => OPENING.to_owned(),
            (
                None,
                Layer::Default | Layer::User | Layer::Local | Layer::Environment | Layer::Flag,
            ) => String::new(),
        };
        let context = (self.places, self.tools);
        let (errors, _) = inspect(old.clone(), self.path, self.layer, context);
        match old.parse::<DocumentMut>() {
            Ok(document) if errors.is_empty() => Ok(Draft {
                file: self,
                old,
                document,
            }),
            Ok(_) | Err(_) => Err(ConfigError::new(errors)),
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

    fn push(&mut self, rule: &str) -> Result<(), ConfigError> {
        if let Some(array) = self.array(RuleList::Allow) {
            push(array, rule);
            return Ok(());
        }
        let keys = ["permissions", RuleList::Allow.key()].map(str::to_owned);
        let list = Value::Array(Array::from_iter([rule]));
        put(&mut self.document, &keys, list)
            .map(|_| ())
            .map_err(|message| ConfigError::new(vec![Report::plain(message)]))
    }

    pub(super) fn finish(self) -> Result<(), ConfigError> {
        let RuleFile {
            path,
            layer,
            places,
            tools,
        } = self.file;
        let text = with_old_endings(&self.old, &self.document.to_string());
        let (errors, _) = inspect(text.clone(), path, layer, (places, tools));
        if !errors.is_empty() {
            return Err(ConfigError::new(errors));
        }
        let bom = if starts_with_bom(path) { BOM } else { "" };
        save(path, places, &format!("{bom}{text}"))
    }
}

/// Appends in the layout of the list: a line of its own where the others have one, and below their comments.
pub(super) fn push(array: &mut Array, rule: &str) {
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
pub(super) fn take_out(array: &mut Array, index: usize) {
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
