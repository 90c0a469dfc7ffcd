//! Rules in configuration files: found, taken out and added so that comments, order and layout stay. What a rule means
//! is not known here beyond whether two of them are the same.

use crate::config::files::{self, Access};
use crate::config::tree::Layer;
use anyhow::{Context as _, anyhow};
use ostler_engine::policy::Rule;
use std::path::{Path, PathBuf};
use toml_edit::{Array, DocumentMut, Item, Table, Value};

pub const LISTS: [&str; 3] = ["allow", "ask", "deny"];

/// A file that may hold rules.
#[derive(Clone)]
pub struct RuleFile {
    pub path: PathBuf,
    pub layer: Layer,
    /// As people read it.
    pub name: String,
}

impl RuleFile {
    /// Takes the rule out of every list. The lists that held it.
    pub fn remove(&self, rule: &str) -> anyhow::Result<Vec<&'static str>> {
        let Some((text, mut document)) = self.read()? else {
            return Ok(Vec::new());
        };
        let mut held = Vec::new();
        for list in LISTS {
            if let Some(array) = rules_in(&mut document, list)
                && take(array, rule)
            {
                held.push(list);
            }
        }
        if !held.is_empty() {
            self.write(&text, &document)?;
        }
        Ok(held)
    }

    /// Adds allow rules at the end, without those that are there.
    pub fn allow(&self, rules: &[String]) -> anyhow::Result<()> {
        let (text, mut document) = match self.read()? {
            Some(read) => read,
            None => (String::new(), DocumentMut::new()),
        };
        let table = document
            .entry("permissions")
            .or_insert(Item::Table(Table::new()))
            .as_table_like_mut()
            .ok_or_else(|| anyhow!("`permissions` in {} is not a table", self.name))?;
        let array = table
            .entry("allow")
            .or_insert(toml_edit::value(Array::new()))
            .as_array_mut()
            .ok_or_else(|| anyhow!("`permissions.allow` in {} is not a list", self.name))?;
        for rule in rules {
            let is_there = |v: &Value| v.as_str().is_some_and(|text| same(text, rule));
            if !array.iter().any(is_there) {
                push(array, rule);
            }
        }
        self.write(&text, &document)
    }

    /// Every rule of the file, broken ones and those that are not in force included.
    pub fn rules(&self) -> anyhow::Result<Vec<String>> {
        let Some((_, mut document)) = self.read()? else {
            return Ok(Vec::new());
        };
        let mut rules = Vec::new();
        for list in LISTS {
            if let Some(array) = rules_in(&mut document, list) {
                rules.extend(array.iter().filter_map(Value::as_str).map(str::to_owned));
            }
        }
        Ok(rules)
    }

    fn read(&self) -> anyhow::Result<Option<(String, DocumentMut)>> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("{} cannot be read", self.name));
            }
        };
        let plain = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let document = plain
            .parse()
            .map_err(|e| anyhow!("{} is no TOML, so that nothing was changed: {e}", self.name))?;
        Ok(Some((text, document)))
    }

    fn write(&self, old: &str, document: &DocumentMut) -> anyhow::Result<()> {
        let mut text = document.to_string();
        if old.contains("\r\n") {
            text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        if old.starts_with('\u{feff}') {
            text.insert(0, '\u{feff}');
        }
        save(&self.path, &text).with_context(|| format!("{} cannot be written", self.name))
    }
}

fn save(path: &Path, text: &str) -> std::io::Result<()> {
    files::write(path, text.as_bytes(), Access::AsBefore)
}

/// Two spellings of one rule.
pub fn same(a: &str, b: &str) -> bool {
    let canonical = |text: &str| Rule::parse(text, "").map(|rule| rule.canonical());
    a.trim() == b.trim() || matches!((canonical(a), canonical(b)), (Ok(a), Ok(b)) if a == b)
}

fn rules_in<'d>(document: &'d mut DocumentMut, list: &str) -> Option<&'d mut Array> {
    document
        .get_mut("permissions")?
        .get_mut(list)?
        .as_array_mut()
}

/// Takes a rule out; the comments around it stay.
fn take(array: &mut Array, rule: &str) -> bool {
    let is_it = |v: &Value| v.as_str().is_some_and(|text| same(text, rule));
    let before = array.len();
    loop {
        let found = array.iter().position(is_it);
        let Some(at) = found else { break };
        let gone = array.remove(at);
        let around = |raw: Option<&toml_edit::RawString>| {
            let text = raw.and_then(|r| r.as_str()).unwrap_or_default();
            text.to_owned()
        };
        let own = around(gone.decor().prefix()) + around(gone.decor().suffix()).trim_end();
        if !own.contains('#') {
            // The new first one stands where the old first one stood.
            if let Some(next) = array.get_mut(at).filter(|_| at == 0)
                && !around(next.decor().prefix()).contains(['#', '\n'])
            {
                next.decor_mut().set_prefix(own);
            }
            continue;
        }
        let own = own.trim_end_matches([' ', '\t']).trim_end_matches('\n');
        match array.get_mut(at) {
            Some(next) => {
                let rest = around(next.decor().prefix());
                next.decor_mut().set_prefix(format!("{own}{rest}"));
            }
            None => {
                let rest = array.trailing().as_str().unwrap_or_default().to_owned();
                let rest = if rest.contains('\n') {
                    rest
                } else {
                    "\n".into()
                };
                array.set_trailing(format!("{own}{rest}"));
            }
        }
    }
    array.len() < before
}

/// Adds a rule in the layout that the others have.
fn push(array: &mut Array, rule: &str) {
    let prefix = array
        .iter()
        .last()
        .and_then(|v| v.decor().prefix()?.as_str())
        .map(|prefix| match prefix.rsplit_once('\n') {
            Some((_, indent)) => format!("\n{indent}"),
            None => " ".into(),
        });
    let own_lines = prefix.as_ref().is_some_and(|p| p.contains('\n'));
    let is_first = array.is_empty();
    let mut value = Value::from(rule);
    match prefix.filter(|_| !is_first) {
        Some(prefix) if own_lines => {
            // A comment behind the last rule belongs to that rule's line.
            let trailing = array.trailing().as_str().unwrap_or_default().to_owned();
            let comment = trailing.trim_end().to_owned();
            value.decor_mut().set_prefix(format!("{comment}{prefix}"));
            array.set_trailing("\n");
            array.set_trailing_comma(true);
        }
        Some(_) => value.decor_mut().set_prefix(" "),
        None => {}
    }
    array.push_formatted(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, change: impl FnOnce(&RuleFile), expect: &str) {
        let folder = tempfile::tempdir().unwrap();
        let file = RuleFile {
            path: folder.path().join("c.toml"),
            layer: Layer::User,
            name: "c.toml".into(),
        };
        std::fs::write(&file.path, text).unwrap();
        change(&file);
        assert_eq!(std::fs::read_to_string(&file.path).unwrap(), expect);
    }

    const MANY: &str = "# top\n[permissions]\nallow = [\n  # tests\n  \"Bash(go test:*)\", # often\n  \"Bash(make:*)\",\n]\ndeny = [\"Read(.env)\", \"Bash(rm:*)\"] # never\n";

    #[test]
    fn a_rule_goes_and_comments_stay() {
        let remove = |rule: &'static str, lists: &'static [&str]| {
            move |file: &RuleFile| assert_eq!(file.remove(rule).unwrap(), lists)
        };
        check(
            MANY,
            remove("Bash(go test *)", &["allow"]),
            "# top\n[permissions]\nallow = [\n  # tests # often\n  \"Bash(make:*)\",\n]\ndeny = [\"Read(.env)\", \"Bash(rm:*)\"] # never\n",
        );
        check(
            MANY,
            remove("Bash(make:*)", &["allow"]),
            "# top\n[permissions]\nallow = [\n  # tests\n  \"Bash(go test:*)\", # often\n]\ndeny = [\"Read(.env)\", \"Bash(rm:*)\"] # never\n",
        );
        check(
            MANY,
            remove("Read(.env)", &["deny"]),
            "# top\n[permissions]\nallow = [\n  # tests\n  \"Bash(go test:*)\", # often\n  \"Bash(make:*)\",\n]\ndeny = [\"Bash(rm:*)\"] # never\n",
        );
        check(MANY, remove("Bash(other)", &[]), MANY);
    }

    #[test]
    fn rules_are_added_in_the_layout_that_is_there() {
        let allow = |rules: &'static [&str]| {
            move |file: &RuleFile| {
                let rules: Vec<String> = rules.iter().map(|r| (*r).to_owned()).collect();
                file.allow(&rules).unwrap();
            }
        };
        check(
            "",
            allow(&["Bash(a)", "Net(b)"]),
            "[permissions]\nallow = [\"Bash(a)\", \"Net(b)\"]\n",
        );
        check(
            MANY,
            allow(&["Bash(make:*)", "Net(b)"]),
            "# top\n[permissions]\nallow = [\n  # tests\n  \"Bash(go test:*)\", # often\n  \"Bash(make:*)\",\n  \"Net(b)\",\n]\ndeny = [\"Read(.env)\", \"Bash(rm:*)\"] # never\n",
        );
        check(
            "a = 1\r\n\r\n[permissions]\r\nmode = \"ask\"\r\n",
            allow(&["Net(b)"]),
            "a = 1\r\n\r\n[permissions]\r\nmode = \"ask\"\r\nallow = [\"Net(b)\"]\r\n",
        );
    }
}
