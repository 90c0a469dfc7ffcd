//! Whether the walk in docs/ARCHITECTURE.md is true: each module that it names exists, and the stops of a prompt are
//! functions of the files that they are said to be in, and few.

use super::Violation;
use super::source::Source;
use crate::root;
use std::fs;

const MAP: &str = "docs/ARCHITECTURE.md";
const WALK: &str = "## A turn, step by step";
const STOPS: &str = "### The stops of a prompt";
/// Files that a prompt passes, from the op to the answer.
const MOST_STOPS: usize = 18;

pub fn check(production: &[&Source]) -> Vec<Violation> {
    let text = fs::read_to_string(root().join(MAP)).unwrap_or_default();
    let found = check_text(&text, production);
    let violation = |message| Violation {
        path: MAP.into(),
        line: 1,
        message,
    };
    found.into_iter().map(violation).collect()
}

/// How many files a prompt passes.
pub fn stops() -> usize {
    let text = fs::read_to_string(root().join(MAP)).unwrap_or_default();
    rows(section(&text, STOPS)).count()
}

fn check_text(text: &str, production: &[&Source]) -> Vec<String> {
    let modules = quoted(section(text, WALK)).filter(|name| is_path(name));
    let lost = modules.filter(|name| !exists(name, production));
    let mut found: Vec<String> = lost
        .map(|name| format!("the walk names `{name}`, and there is no such module"))
        .collect();
    let rows: Vec<(&str, &str)> = rows(section(text, STOPS)).collect();
    for (file, function) in &rows {
        let source = production.iter().find(|source| source.path == *file);
        let has = |source: &&Source| {
            (0..source.tokens()).any(|token| source.reads(token, &["fn", function]))
        };
        if !source.is_some_and(has) {
            found.push(format!("`{file}` has no function `{function}`"));
        }
    }
    if rows.is_empty() || rows.len() > MOST_STOPS {
        let count = rows.len();
        found.push(format!(
            "a prompt has {count} stops and may have {MOST_STOPS}"
        ));
    }
    found
}

/// What stands below a heading, up to the next one of its rank.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let Some((_, below)) = text.split_once(&format!("{heading}\n")) else {
        return "";
    };
    let rank = heading.split(' ').next().unwrap_or_default();
    let end = below.find(&format!("\n{rank} ")).unwrap_or(below.len());
    &below[..end]
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// `engine/turn/intake`, and nothing that is a command, a flag or a route.
fn is_path(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let is_part =
        |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    parts.len() > 1 && parts.iter().all(is_part)
}

/// A module by its crate, or one whose crate is left out.
fn exists(name: &str, production: &[&Source]) -> bool {
    let whole = match name.split_once('/') {
        Some((crate_, rest)) => format!("crates/{crate_}/src/{rest}"),
        None => return false,
    };
    production.iter().any(|source| {
        let below = source.path.strip_prefix(&whole);
        let inner = source.path.split_once("/src/").map(|(_, inner)| inner);
        let inner = inner.and_then(|inner| inner.strip_prefix(name));
        let ends = |rest: &str| rest == ".rs" || rest.starts_with('/');
        below.is_some_and(ends) || inner.is_some_and(ends)
    })
}

/// The rows of the table of stops: a file and a function.
fn rows(section: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = section.lines().filter(|line| line.starts_with("| `"));
    lines.filter_map(|line| {
        let mut words = quoted(line);
        Some((words.next()?, words.next()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_that_is_not_true_is_found() {
        let inbox = Source::new("crates/engine/src/inbox.rs", "pub fn next() {}\n");
        let turn = Source::new("crates/engine/src/turn/intake.rs", "fn take() {}\n");
        let text = "## A turn, step by step\n\n`engine/inbox`, `turn/intake`, `engine/turn`, `/new`, `a b/c`\n\n\
                    ### The stops of a prompt\n\n| file | function |\n|---|---|\n\
                    | `crates/engine/src/inbox.rs` | `next` |\n\n## Next\n\n`engine/nothing`\n";
        let sources = [&inbox, &turn];
        assert!(check_text(text, &sources).is_empty());
        let lost = text.replace("`engine/turn`", "`engine/turns`");
        assert_eq!(check_text(&lost, &sources).len(), 1);
        let lost = text.replace("`next`", "`last`");
        assert_eq!(check_text(&lost, &sources).len(), 1);
        let row = "| `crates/engine/src/inbox.rs` | `next` |\n";
        let many = text.replace(row, &row.repeat(MOST_STOPS + 1));
        assert_eq!(check_text(&many, &sources).len(), 1);
    }
}
