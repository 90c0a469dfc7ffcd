//! What an answer must hold when a contract is asked for: a patch, and where what it says stands.

use regex::Regex;
use std::sync::LazyLock;

/// Told to the agent with the task.
pub const INSTRUCTIONS: &str = "\
Answer in two parts.
PATCH: one unified diff against the current files in a ```diff block, with `--- a/path` and `+++ b/path` lines and whole \
hunks, so that `git apply` takes it.
CITATIONS: a list of the places that the patch rests on, one per line, as `path:line` or `path:first-last`.";

/// A place: a path with a line, or a range of them.
static CITATION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[\w./@+-]*[^\W\d][\w./@+-]*:L?\d+(?:\s*[-–]\s*L?\d+)?").ok());
static HUNK: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@").ok());

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatchFormat {
    #[default]
    None,
    Unified,
    /// `*** Begin Patch`: some agents write it; git does not read it.
    ApplyPatch,
}

impl PatchFormat {
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Unified => "unified_diff",
            Self::ApplyPatch => "apply_patch",
        }
    }
}

/// The patch of an answer, with a line break at its end; empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    pub format: PatchFormat,
    pub text: String,
}

/// Why an answer breaks the contract; nothing where it keeps it.
pub fn errors(answer: &str, patch: &Patch) -> Vec<String> {
    let mut errors = Vec::new();
    match patch.format {
        PatchFormat::None => errors
            .push("there is no patch: a unified diff in a ```diff block is expected".to_owned()),
        PatchFormat::Unified if !has_hunk(&patch.text) => {
            errors.push("the patch has no hunk (`@@ -1,2 +1,3 @@`)".to_owned());
        }
        PatchFormat::Unified | PatchFormat::ApplyPatch => {}
    }
    if !has_citations(answer) {
        errors.push(
            "there are no citations: a section CITATIONS with lines such as `path:12` is expected"
                .to_owned(),
        );
    }
    errors
}

fn has_hunk(text: &str) -> bool {
    HUNK.as_ref().is_some_and(|hunk| hunk.is_match(text))
        || text.contains("GIT binary patch")
        || text.contains("\nrename from ")
        || text.contains("\ndeleted file mode ")
}

/// A heading that says so, and a place after it.
fn has_citations(answer: &str) -> bool {
    let is_heading = |line: &str| {
        let line = line
            .trim_start_matches(['#', '*', ' ', '-', '_', '['])
            .to_lowercase();
        line.starts_with("citations") || line.starts_with("citation:")
    };
    let mut lines = answer.lines().skip_while(|line| !is_heading(line));
    let Some(citation) = CITATION.as_ref() else {
        return false;
    };
    lines.any(|line| citation.is_match(line))
}

/// Finds the patch: in blocks that say so, else in blocks that look so, else as it stands.
pub fn find_patch(answer: &str) -> Patch {
    let blocks = blocks(answer);
    let is_named = |(name, text): &&(String, String)| {
        matches!(name.as_str(), "diff" | "patch" | "udiff") && format(text) != PatchFormat::None
    };
    let named: Vec<&str> = blocks
        .iter()
        .filter(is_named)
        .map(|(_, text)| text.as_str())
        .collect();
    if !named.is_empty() {
        return patch(&named.concat());
    }
    let looks = blocks
        .iter()
        .find(|(_, text)| format(text) != PatchFormat::None);
    if let Some((_, text)) = looks {
        return patch(text);
    }
    patch(bare(answer))
}

fn patch(text: &str) -> Patch {
    let format = format(text);
    let text = match format {
        PatchFormat::None => String::new(),
        PatchFormat::Unified | PatchFormat::ApplyPatch => {
            format!("{}\n", text.trim_matches('\n').trim_end_matches('\r'))
        }
    };
    Patch { format, text }
}

fn format(text: &str) -> PatchFormat {
    let begins = |start: &str| text.lines().any(|line| line.starts_with(start));
    if begins("*** Begin Patch") {
        PatchFormat::ApplyPatch
    } else if begins("diff --git ") || (begins("--- ") && begins("+++ ")) {
        PatchFormat::Unified
    } else {
        PatchFormat::None
    }
}

/// The fenced blocks with the names of their languages.
fn blocks(answer: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String, String)> = None;
    for line in answer.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match &mut open {
            None if ticks >= 3 => {
                let name = line.trim_matches('`').trim().to_lowercase();
                open = Some((ticks, name, String::new()));
            }
            None => {}
            Some((fence, name, text))
                if ticks >= *fence && line.trim_matches('`').trim().is_empty() =>
            {
                found.push((std::mem::take(name), std::mem::take(text)));
                open = None;
            }
            Some((_, _, text)) => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    found
}

/// A diff that stands in no block: from its first line to the last that belongs to it.
fn bare(answer: &str) -> &str {
    let mut at = 0;
    let mut start = None;
    let mut end = 0;
    let mut in_hunk = false;
    for line in answer.split_inclusive('\n') {
        let is_head = [
            "diff --git ",
            "--- ",
            "+++ ",
            "@@ ",
            "index ",
            "*** Begin Patch",
        ]
        .iter()
        .chain(&[
            "new file mode ",
            "deleted file mode ",
            "old mode ",
            "new mode ",
        ])
        .chain(&["rename from ", "rename to ", "similarity index "])
        .any(|head| line.starts_with(head));
        let is_body = in_hunk && line.starts_with(['+', '-', ' ', '\\', '\n']);
        if is_head || is_body {
            start.get_or_insert(at);
            in_hunk |= line.starts_with("@@ ");
            end = at + line.len();
        } else {
            in_hunk = false;
            if start.is_some() {
                break;
            }
        }
        at += line.len();
    }
    start
        .and_then(|start| answer.get(start..end))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str =
        "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n";

    #[test]
    fn patches_are_found_wherever_they_stand() {
        let fenced = format!("Here:\n```diff\n{DIFF}```\nCITATIONS\n- a.txt:1\n");
        let bare = format!("PATCH\n{DIFF}\nThat is all.\nCITATIONS: a.txt:1\n");
        let other = format!("```\n{DIFF}```");
        for answer in [&fenced, &bare, &other] {
            let found = find_patch(answer);
            assert_eq!(found.format, PatchFormat::Unified, "{answer}");
            assert_eq!(found.text, DIFF, "{answer}");
        }
        let two = format!("```diff\n{DIFF}```\nand\n```diff\n{DIFF}```");
        assert_eq!(find_patch(&two).text, format!("{DIFF}{DIFF}"));
        let begin = "*** Begin Patch\n*** Update File: a.txt\n*** End Patch";
        assert_eq!(
            find_patch(&format!("```\n{begin}\n```")).format,
            PatchFormat::ApplyPatch
        );
        assert_eq!(find_patch("no patch --- at all"), Patch::default());
        assert_eq!(find_patch("- a list\n- of things\n"), Patch::default());
    }

    #[test]
    fn what_is_missing_is_said() {
        let check = |answer: &str, expect: &[&str]| {
            let errors = errors(answer, &find_patch(answer));
            assert_eq!(errors.len(), expect.len(), "{errors:?}");
            for (error, part) in errors.iter().zip(expect) {
                assert!(error.contains(part), "{error}");
            }
        };
        let fenced = format!("```diff\n{DIFF}```\n");
        check(&format!("{fenced}## CITATIONS\n- `src/a.rs:12-14`\n"), &[]);
        check(&format!("{fenced}**Citations**\n1. a.txt:3\n"), &[]);
        check(&fenced, &["no citations"]);
        check(
            &format!("{fenced}CITATIONS\nnone, it is 12:30\n"),
            &["no citations"],
        );
        check("CITATIONS\n- a.txt:1", &["no patch"]);
        check("nothing", &["no patch", "no citations"]);
        check(
            "```diff\n--- a/x\n+++ b/x\n```\nCITATIONS\na.txt:1",
            &["no hunk"],
        );
    }
}
