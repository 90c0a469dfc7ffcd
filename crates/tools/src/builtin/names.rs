//! Finds the tool that a foreign name means: one of ours in another spelling, or the tool of another agent that does the
//! same. What could be two tools is none.

use super::registry::{canonical_name, declarations};
use crate::arguments::plain;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static TABLE: LazyLock<Table> =
    LazyLock::new(|| toml::from_str(include_str!("names.toml")).unwrap_or_default());

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    names: BTreeMap<String, Vec<String>>,
    told: Vec<Told>,
}

/// Names of tools that do several things, told apart by a parameter.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    names: Vec<String>,
    by: String,
    #[serde(default)]
    values: BTreeMap<String, String>,
    #[serde(default)]
    tool: Option<String>,
}

/// The offered tool that a name means, if it is a foreign one. `offered` are the names of the tools of a session.
pub fn find_foreign_name(name: &str, arguments: &Value, offered: &[&str]) -> Option<String> {
    let wanted = plain(name);
    let is_same = |other: &str| plain(other) == wanted;
    let is_offered = |tool: &str| offered.contains(&tool);
    let mut spelt = offered.iter().filter(|own| is_same(own));
    if let Some(own) = spelt.next() {
        return spelt.next().is_none().then(|| (*own).to_owned());
    }
    let alias = declarations().find(|about| about.aliases.iter().any(|alias| is_same(alias)));
    let tool = match alias {
        Some(about) => about.name.as_ref(),
        None => find_row(&is_same, arguments)?,
    };
    is_offered(tool).then(|| tool.to_owned())
}

fn find_row(is_same: &dyn Fn(&str) -> bool, arguments: &Value) -> Option<&'static str> {
    let mut rows = TABLE.names.iter();
    let listed = rows.find(|(_, names)| names.iter().any(|name| is_same(name)));
    let tool = match listed {
        Some((tool, _)) => tool.as_str(),
        None => TABLE
            .told
            .iter()
            .filter(|told| told.names.iter().any(|name| is_same(name)))
            .find_map(|told| told.judge(arguments))?,
    };
    canonical_name(tool)
}

impl Told {
    fn judge(&self, arguments: &Value) -> Option<&str> {
        let value = arguments.get(&self.by)?.as_str()?.trim();
        match &self.tool {
            Some(tool) => Some(tool),
            None => self.values.get(value).map(String::as_str),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::registry::all_names;
    use super::*;
    use serde_json::json;

    #[test]
    fn every_row_is_about_a_tool_of_ours_and_stands_once() {
        let table: Table = toml::from_str(include_str!("names.toml")).unwrap();
        let mut seen = Vec::new();
        let told = table.told.iter().flat_map(|told| &told.names);
        for name in table.names.values().flatten().chain(told) {
            assert!(!seen.contains(&plain(name)), "{name} stands twice");
            assert!(canonical_name(name).is_none(), "{name} is a name of ours");
            seen.push(plain(name));
        }
        let tools = table
            .told
            .iter()
            .flat_map(|told| told.values.values().chain(&told.tool));
        for tool in table.names.keys().chain(tools) {
            assert_eq!(canonical_name(tool), Some(tool.as_str()));
        }
    }

    #[test]
    fn a_name_means_one_tool_that_is_offered() {
        let all: Vec<&str> = all_names().collect();
        let view = json!({"command": "view", "path": "a"});
        for (name, arguments, expect) in [
            ("ReadFile", &json!({}), Some("read_file")),
            ("Web-Fetch", &json!({}), Some("fetch_url")),
            ("run_shell_command", &json!({}), Some("bash")),
            ("str_replace_editor", &view, Some("read_file")),
            ("str_replace_editor", &json!({"command": "undo_edit"}), None),
            ("str_replace_editor", &json!({}), None),
            ("search_files", &json!({"regex": "x"}), Some("grep")),
            ("search_files", &json!({"pattern": "x"}), None),
            ("apply_patch", &json!({}), None),
            ("", &json!({}), None),
        ] {
            let found = find_foreign_name(name, arguments, &all);
            assert_eq!(found.as_deref(), expect, "{name}");
        }
        let theirs = ["mcp__files__read_file", "mcp__a_b__c", "mcp__a__b_c"];
        for (name, expect) in [
            ("mcp_files_readFile", Some("mcp__files__read_file")),
            // Two tools of servers.
            ("mcp_a_b_c", None),
            ("readFile", None),
        ] {
            let found = find_foreign_name(name, &json!({}), &theirs);
            assert_eq!(found.as_deref(), expect, "{name}");
        }
    }
}
