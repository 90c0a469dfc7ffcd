//! Rules that are added to a file and taken out of it: everything else in it stays.

use std::fs;

use super::super::edit::EditableFile;
use super::super::layers::RuleList;
use super::super::tree::Layer;
use super::{Bench, TOOLS, read};
use insta::assert_snapshot;

fn is_same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// The project's file after adding these rules one by one.
fn added(before: Option<&str>, rules: &[&str]) -> String {
    let bench = match before {
        Some(text) => Bench::new().project(text),
        None => Bench::new(),
    };
    let path = bench.places().project_config();
    let file = EditableFile {
        path: &path,
        layer: Layer::Project,
        places: &bench.places(),
        tools: &TOOLS,
    };
    for rule in rules {
        if let Err(error) = file.add(&[(*rule).to_owned()], is_same) {
            return format!("{error}\n{}", read(&path));
        }
    }
    read(&path)
}

fn removed(before: &str, rule: &str) -> (String, Vec<(RuleList, String)>) {
    let bench = Bench::new().project(before);
    let path = bench.places().project_config();
    let file = EditableFile {
        path: &path,
        layer: Layer::Project,
        places: &bench.places(),
        tools: &TOOLS,
    };
    let taken = file.remove(|text| is_same(text, rule)).unwrap();
    (read(&path), taken)
}

#[test]
fn a_new_file_says_what_it_is() {
    assert_snapshot!(added(None, &["Bash(ls)", "Bash(make:*)"]), @r#"
    # Settings of Ostler for this project. `ostler trust` shows what of them needs trust.

    [permissions]
    allow = ["Bash(ls)", "Bash(make:*)"]
    "#);
}

#[test]
fn layouts_are_kept() {
    for (before, after) in [
        (
            "# top\n[agent] # a\neffort = 'low'\n",
            "# top\n[agent] # a\neffort = 'low'\n\n[permissions]\nallow = [\"B\"]\n",
        ),
        (
            "[permissions] # mine\ndeny = ['X'] # never\n",
            "[permissions] # mine\ndeny = ['X'] # never\nallow = [\"B\"]\n",
        ),
        (
            "permissions.allow = ['bash(go test*)'] # old\n",
            "permissions.allow = ['bash(go test*)', \"B\"] # old\n",
        ),
        (
            "permissions = { allow = [] }\n",
            "permissions = { allow = [\"B\"] }\n",
        ),
        (
            "[permissions]\nallow = [\n  # first\n  'A', # why a\n  # end\n]\n",
            "[permissions]\nallow = [\n  # first\n  'A', # why a\n  # end\n  \"B\",\n]\n",
        ),
        (
            "[permissions]\nallow = [\n  'A' # why a\n]\n",
            "[permissions]\nallow = [\n  'A', # why a\n  \"B\",\n]\n",
        ),
        (
            "[permissions]\nallow = [\n  'A'\n]\nmode = 'ask'\n",
            "[permissions]\nallow = [\n  'A',\n  \"B\",\n]\nmode = 'ask'\n",
        ),
        (
            "[permissions]\nallow = [\n]\n",
            "[permissions]\nallow = [\n    \"B\",\n]\n",
        ),
        (
            "[permissions]\r\nallow = [\r\n  'A',\r\n]\r\n",
            "[permissions]\r\nallow = [\r\n  'A',\r\n  \"B\",\r\n]\r\n",
        ),
        (
            "[permissions]\nallow = ['b', 'A']\n",
            "[permissions]\nallow = ['b', 'A']\n",
        ),
    ] {
        assert_eq!(added(Some(before), &["B"]), after, "{before}");
    }
}

#[test]
fn a_file_that_does_not_load_is_left_alone() {
    for broken in [
        "[permissions\nallow = []\n",
        "[permissions]\nallow = 'Bash'\n",
        "[permissions]\nallow = [1]\n",
        "permissions = 3\n",
        "[permissions]\nallow = []\n[agent]\neffort = 7\n",
    ] {
        let after = added(Some(broken), &["B"]);
        assert!(after.starts_with("error: "), "{after}");
        assert!(after.ends_with(&format!("\n{broken}")), "{after}");
    }
}

#[test]
fn rules_are_taken_out_of_all_lists_with_their_comments() {
    for (before, after) in [
        (
            "[permissions]\nallow = ['B', 'A']\ndeny = ['b']\n",
            "[permissions]\nallow = ['A']\ndeny = []\n",
        ),
        (
            "[permissions]\nallow = ['A', 'B']\n",
            "[permissions]\nallow = ['A']\n",
        ),
        (
            "[permissions]\nallow = [\n  'A', # why a\n  # about b\n  'B', # why b\n  # about c\n  'C', # why c\n]\n",
            "[permissions]\nallow = [\n  'A', # why a\n  # about c\n  'C', # why c\n]\n",
        ),
        (
            "[permissions]\nallow = [\n  'A', # why a\n  'B', # why b\n]\n",
            "[permissions]\nallow = [\n  'A', # why a\n]\n",
        ),
        (
            "[permissions]\nallow = [\n  'B', # why b\n  'A', # why a\n]\n",
            "[permissions]\nallow = [\n  'A', # why a\n]\n",
        ),
        (
            "[permissions]\nallow = ['A']\n",
            "[permissions]\nallow = ['A']\n",
        ),
    ] {
        assert_eq!(removed(before, "B").0, after, "{before}");
    }
    let (_, taken) = removed("permissions = { allow = ['B'], ask = ['b', 'C'] }\n", "B");
    let expect = [(RuleList::Ask, "b"), (RuleList::Allow, "B")];
    let mut taken: Vec<_> = taken
        .iter()
        .map(|(list, text)| (*list, text.as_str()))
        .collect();
    taken.sort_by_key(|(list, _)| *list == RuleList::Allow);
    assert_eq!(taken, expect);
}

#[test]
fn a_mark_at_the_start_of_a_file_stays() {
    let bench = Bench::new();
    let path = bench.places().project_config();
    fs::write(&path, "\u{feff}[permissions]\nallow = []\n").unwrap();
    let file = EditableFile {
        path: &path,
        layer: Layer::Project,
        places: &bench.places(),
        tools: &TOOLS,
    };
    file.add(&["B".to_owned()], is_same).unwrap();
    assert_eq!(read(&path), "\u{feff}[permissions]\nallow = [\"B\"]\n");
}
