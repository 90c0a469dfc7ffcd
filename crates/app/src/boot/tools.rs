//! Names of tools in flags, settings and rules that no tool goes by.

use crate::errors::UsageError;
use ostler_config::diagnose::{self, Notice};
use ostler_config::layers::{Loaded, RuleList};
use ostler_config::text::phrase;
use ostler_engine::budget::ROLES;
use ostler_engine::roles::built_in;
use ostler_engine::tools::unknown_tool;
use ostler_guard::Rule;
use ostler_wire::{Language, Why, Word};

pub fn no_tool(name: &str) -> Why {
    let names = ostler_engine::tools::all_names().chain(ostler_guard::FAMILIES);
    match diagnose::nearest(name, names) {
        Some(near) => phrase(Word::BootNoToolNear, &[&name, &near]),
        None => phrase(Word::BootNoTool, &[&name]),
    }
}

/// The name in an entry of a tool filter that no tool goes by. An empty entry selects nothing, which can be meant.
fn stray(entry: &str) -> Option<&str> {
    let name = entry.trim_start_matches(['!', '+']).trim();
    let known = name.is_empty()
        || ostler_wire::is_server_tool(name)
        || ostler_engine::tools::canonical_name(name).is_some();
    Some(name).filter(|_| !known)
}

pub fn check_tools(names: &[String], language: Language) -> Result<(), UsageError> {
    match names.iter().find_map(|name| stray(name)) {
        Some(name) => Err(UsageError(format!(
            "--allowed-tools: {}",
            no_tool(name).say(language)
        ))),
        None => Ok(()),
    }
}

/// What `[tools] enabled` and the rules name although it is no tool. Deny rules are looked at when a session starts.
pub fn stray_tools(loaded: &Loaded) -> Vec<Notice> {
    let mut notices = Vec::new();
    if let Some(place) = loaded.place(&["tools", "enabled"]) {
        let strays = loaded.config.tools.enabled.iter();
        notices.extend(strays.filter_map(|entry| stray(entry)).map(|name| {
            let text = Why::joined(["`tools.enabled`: ".into(), no_tool(name)]);
            Notice::warning(place.clone(), text)
        }));
    }
    for rule in loaded.rules() {
        let Ok(parsed) = Rule::parse(&rule.text, "") else {
            continue;
        };
        if let (RuleList::Allow | RuleList::Ask, Some(name)) = (rule.list, unknown_tool(&parsed)) {
            let text = phrase(Word::BootRuleNothing, &[&rule.text, &no_tool(name)]);
            notices.push(Notice::warning(rule.place, text));
        }
    }
    notices
}

/// Limits for roles that nothing is sent in.
pub fn stray_budgets(loaded: &Loaded) -> Vec<Notice> {
    let roles = loaded.config.budget.roles.keys();
    let is_known = |role: &str| {
        ROLES.contains(&role)
            || loaded.config.roles.contains_key(role)
            || built_in().any(|name| name == role)
    };
    let unknown = roles.filter(|role| !is_known(role));
    let notice = |role: &String| {
        let place = loaded.place(&["budget", "roles", role])?;
        let near = diagnose::nearest(role, ROLES);
        let hint = near.map_or_else(
            || phrase(Word::ThereAre, &[&ROLES.join(" and ")]),
            |near| phrase(Word::DidYouMean, &[&near]),
        );
        let text = phrase(Word::CfgNoRole, &[&role, &hint]);
        Some(Notice::warning(place, text))
    };
    unknown.filter_map(notice).collect()
}
