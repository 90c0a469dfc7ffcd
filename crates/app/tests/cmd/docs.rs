//! docs/cli.md and the program know the same commands and flags.

use crate::support::*;
use ostler_testkit::TempWorkspace;
use std::collections::BTreeSet;

const DOC: &str = include_str!("../../../../docs/cli.md");

/// Every `--flag` of a text.
fn flags(text: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_lowercase() || c == '-';
    let starts = text
        .match_indices("--")
        .filter(|(at, _)| !text[..*at].ends_with(|c: char| word(c) || c.is_alphanumeric()));
    starts
        .map(|(at, _)| {
            text[at..]
                .chars()
                .take_while(|c| word(*c))
                .collect::<String>()
        })
        .filter(|flag| flag.len() > 3)
        .collect()
}

#[test]
fn the_documentation_is_complete_and_true() {
    let space = TempWorkspace::new();
    let page = space
        .ostler(["man"])
        .output()
        .ok()
        .stdout
        .replace("\\-", "-")
        .replace("\\fB", "")
        .replace("\\fR", "");
    assert_eq!(flags(DOC), flags(&page));
    let commands = page.lines().filter_map(|line| line.strip_prefix(".SS "));
    let names: Vec<String> = commands
        .map(|line| {
            let plain = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase());
            line.split_whitespace()
                .take_while(plain)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        assert!(DOC.contains(&name), "{name} is not in docs/cli.md");
    }
}

#[test]
fn help_works_as_a_word() {
    let space = TempWorkspace::new();
    let word = space.ostler(["help", "resume"]).output().ok();
    let flag = space.ostler(["resume", "--help"]).output().ok();
    assert!(word.stdout.contains("--last"), "{}", word.stdout);
    assert_eq!(word.stdout, flag.stdout);
    // A page of the documentation says more than the flags.
    let page = space.ostler(["help", "exec"]).output().ok();
    assert!(page.stdout.starts_with("# Scripts and CI"), "{page:?}");
}
