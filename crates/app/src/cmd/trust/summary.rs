//! What of a project's items is powerful, in few rows that stand next to the line to answer on: a long list of harmless
//! items must not push a hook out of sight. The most dangerous come last.

use super::items;
use ostler_config::digest::hash;
use ostler_config::project::SERVERS;
use ostler_config::text::Speak as _;
use ostler_config::trust::Item;
use ostler_wire::{Language, Word, clip};

/// Rows of items up to which the question can trust them. The scrollback of a terminal has room for that.
const MAX_ROWS: usize = 400;
/// Powerful items up to which the question can trust them.
const MAX_POWERFUL: usize = 40;
/// A list with fewer rows is read at a glance and needs no summary.
const SUMMARY_FROM: usize = 12;
/// Characters of an item in the summary. The whole of it stands above.
const MAX_CHARS: usize = 120;
/// What the head of a role or skill may say without granting anything.
const HARMLESS_KEYS: [&str; 6] = [
    "name",
    "description",
    "license",
    "version",
    "author",
    "metadata",
];

/// How much an item can do, the most last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Power {
    Setting,
    /// A role or skill that grants tools or runs commands.
    Role,
    /// Rules and the sandbox.
    Rules,
    Variable,
    Server,
    Hook,
}

/// The powerful items, a row each; nothing where the list itself is short.
pub fn summary(items: &[Item], rows: usize, language: Language) -> String {
    if rows < SUMMARY_FROM {
        return String::new();
    }
    let powerful = powerful(items, language);
    let count = format!("{}/{}", powerful.len(), items.len());
    let mut out = language.filled(Word::TrustSummary, &[&count]);
    let left_out = powerful.len().saturating_sub(MAX_POWERFUL);
    // Of too many the most dangerous are named; the question does not trust them anyway.
    for (_, item) in powerful.iter().skip(left_out) {
        let row = format!(
            "{} ({}): {}",
            items::one_row(&item.what),
            item.place,
            granted(item, language)
        );
        out.push_str(&format!("  {}\n", clip(&row, MAX_CHARS)));
    }
    out
}

/// Whether it is more than a person reads before a yes, item by item or in all.
pub fn is_too_much(items: &[Item], rows: usize, language: Language) -> bool {
    rows > MAX_ROWS || powerful(items, language).len() > MAX_POWERFUL
}

/// Whether a list of so many rows is printed before the question.
pub fn fits_window(rows: usize) -> bool {
    rows <= MAX_ROWS
}

/// Names all items as they are.
pub fn hash_of_all(items: &[Item]) -> String {
    let hashes: Vec<&[u8]> = items.iter().map(|item| item.hash.as_bytes()).collect();
    hash(&hashes)
}

fn powerful(items: &[Item], language: Language) -> Vec<(Power, &Item)> {
    let with_power = |item| Some((power_of(item, language)?, item));
    let mut powerful: Vec<(Power, &Item)> = items.iter().filter_map(with_power).collect();
    powerful.sort_by_key(|(power, _)| *power);
    powerful
}

/// None for a role or skill that the model only reads.
fn power_of(item: &Item, language: Language) -> Option<Power> {
    let what = item.what.as_str();
    let begins = |keys: &[&str]| keys.iter().any(|key| what.starts_with(key));
    let is_server = || {
        SERVERS
            .iter()
            .any(|key| what.starts_with(&format!("{key}.")))
    };
    if what.starts_with("hooks") || what.contains(".hooks.") {
        Some(Power::Hook)
    } else if what.contains(" ${") || what.ends_with(".env_pass") || what.ends_with("api_key_env") {
        Some(Power::Variable)
    } else if is_server() || begins(&["plugins.", "backend."]) || what.contains(".backend.") {
        Some(Power::Server)
    } else if begins(&["permissions.", "sandbox.", "tools.shell", "network"]) {
        Some(Power::Rules)
    } else if what.ends_with(".md") {
        grants(&item.text.say(language)).next().map(|_| Power::Role)
    } else {
        Some(Power::Setting)
    }
}

/// What an item grants, on one row.
fn granted(item: &Item, language: Language) -> String {
    let text = item.text.say(language);
    let rows: Vec<&str> = match item.what.ends_with(".md") {
        true => grants(&text).collect(),
        false => text.lines().collect(),
    };
    items::one_row(&rows.join("\n"))
}

/// The lines of the head of a role or skill that grant something, and the commands in its text. What is not known to be
/// harmless counts.
fn grants(text: &str) -> impl Iterator<Item = &str> {
    let mut below_known = false;
    text.lines().filter(move |line| {
        let key = line.split_once(':').map(|(key, _)| key);
        let is_known = key.is_some_and(|key| HARMLESS_KEYS.contains(&key));
        // What is indented belongs to the key above it.
        let is_rest = below_known && line.starts_with([' ', '\t']);
        let is_empty = line.trim().is_empty();
        below_known = is_known || is_rest || (below_known && is_empty);
        !(below_known || is_empty || line.trim_end() == "---")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_config::tree::Place;

    fn item(what: &str, text: &str) -> Item {
        let place = Place {
            name: "x".into(),
            position: None,
        };
        Item::new(what.into(), place, text, text)
    }

    #[test]
    fn the_most_dangerous_is_next_to_the_answer() {
        let mut items = vec![
            item("hooks.pre_tool", "evil"),
            item(
                ".agents/skills/a/SKILL.md",
                "---\nname: a\nallowed-tools: Bash\n---",
            ),
            item(".mcp.json.gh", "npx"),
            item("permissions.allow", "Bash(curl:*)"),
        ];
        for n in 0..20 {
            let what = format!(".claude/skills/doc-{n}/SKILL.md");
            items.push(item(
                &what,
                "---\nname: a\ndescription: >\n  how to\n  write: it\n---",
            ));
        }
        let english = Language::English;
        let summary = summary(&items, 100, english);
        let named: Vec<&str> = summary.lines().skip(1).map(str::trim).collect();
        assert_eq!(
            named,
            [
                ".agents/skills/a/SKILL.md (x): allowed-tools: Bash",
                "permissions.allow (x): Bash(curl:*)",
                ".mcp.json.gh (x): npx",
                "hooks.pre_tool (x): evil",
            ]
        );
        assert!(
            !is_too_much(&items, MAX_ROWS, english) && is_too_much(&items, MAX_ROWS + 1, english)
        );
    }

    #[test]
    fn a_head_that_is_not_plain_counts_as_powerful() {
        for (text, is_powerful) in [
            ("---\nname: a\n---", false),
            ("---\nname: a\nmetadata:\n  x: y\n---", false),
            ("---\n name: a\n allowed-tools: Bash\n---", true),
            ("---\n{allowed-tools: Bash}\n---", true),
            ("---\n\"allowed-tools\": Bash\n---", true),
            ("---\nname: a\n---\n!`date`", true),
            ("", false),
        ] {
            let item = item("skills/x/SKILL.md", text);
            assert_eq!(
                power_of(&item, Language::English).is_some(),
                is_powerful,
                "{text}"
            );
        }
    }
}
