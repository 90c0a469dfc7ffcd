//! The folder of a long goal: what it is for, what was done, found and tried. It is made once; the model keeps it.

use super::Goal;
use jiff::Zoned;
use jiff::civil::DateTime;
use ostler_guard::Rule;
use ostler_host::{Host, Kind, Roots, WriteOptions};
use ostler_wire::{Language, Say, Word};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FOLDER: &str = ".ostler/autoresearch";
/// What lies there is the goal's own and in nobody's way in `git status`. It names the folders, not all that is in them, so
/// that tools which heed it still look into one that they are told of.
const IGNORE: (&str, &str) = (".gitignore", "/*\n");
/// Characters of the words in a folder's name.
const MAX_SLUG: usize = 40;
/// Folders of one second.
const MAX_TWINS: u32 = 100;

/// Makes the folder of a goal. Its path relative to the root; or why not.
pub async fn make(
    host: Arc<dyn Host>,
    root: &Path,
    objective: &str,
    language: Language,
) -> Result<String, String> {
    let name = name(Zoned::now().datetime(), objective);
    let mut folder = None;
    for n in 1..=MAX_TWINS {
        let twin = match n {
            1 => format!("{FOLDER}/{name}"),
            n => format!("{FOLDER}/{name}-{n}"),
        };
        let stat = host.stat(&root.join(&twin)).await;
        if stat.map_err(|e| e.say(language))?.kind == Kind::Missing {
            folder = Some(twin);
            break;
        }
    }
    let folder = folder.ok_or_else(|| language.fill(Word::GoalFolderFull, &[FOLDER]))?;
    let mut files: Vec<(String, String)> = files(objective)
        .into_iter()
        .map(|(file, text)| (format!("{folder}/{file}"), text))
        .collect();
    // Only once: whoever takes it away wants the rest in git.
    let first = host.stat(&root.join(FOLDER)).await;
    if first.map_err(|e| e.say(language))?.kind == Kind::Missing {
        files.push((format!("{FOLDER}/{}", IGNORE.0), IGNORE.1.into()));
    }
    for (file, text) in files {
        let options = WriteOptions {
            roots: Roots {
                writable: vec![root.to_owned()],
                ..Roots::default()
            },
            create_parents: true,
        };
        let path: PathBuf = root.join(file);
        let written = host.write(&path, text.into(), options).await;
        written.map_err(|e| e.say(language))?;
    }
    Ok(folder)
}

/// Lets the model change the folder of a goal without a question.
pub fn rule(folder: &str, from: &str) -> Option<Rule> {
    Rule::parse(&format!("Edit(./{folder}/**)"), from).ok()
}

fn name(now: DateTime, objective: &str) -> String {
    let mut slug = String::new();
    for c in objective.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => slug.push(c),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
        // One more, which shows whether the last word is whole.
        if slug.len() > MAX_SLUG {
            let whole = slug.rfind('-').filter(|at| *at > 0);
            slug.truncate(whole.unwrap_or(MAX_SLUG));
            break;
        }
    }
    let slug = match slug.trim_end_matches('-') {
        "" => "goal",
        slug => slug,
    };
    format!("{}-{slug}", now.strftime("%Y%m%d-%H%M%S"))
}

fn files(objective: &str) -> [(&'static str, String); 5] {
    [
        (
            "spec.md",
            format!("# Goal\n\n{}\n\n# Done when\n", objective.trim()),
        ),
        ("progress.md", "# Progress\n".into()),
        ("findings.md", "# Findings\n".into()),
        (
            "directions.md",
            "# Directions tried, and what came of them\n".into(),
        ),
        ("log.md", "# Log\n".into()),
    ]
}

/// What the model is told of it.
pub fn protocol(goal: &Goal) -> Option<String> {
    let folder = goal.folder.as_deref()?;
    Some(format!(
        "This goal is long. Its state is in {folder} and nowhere else: read it before you begin a turn, and keep it so that somebody who knows nothing else could go on. spec.md: what is to be reached and how it is measured; write the measure before you start. progress.md: where you are and what is next. findings.md: what is proven, with the command that shows it. directions.md: what was tried and why it was given up; try none of it twice. log.md: one line for each thing you did. Change these by edit_file and write_file; commands cannot write there."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_when_and_what() {
        let now: DateTime = "2026-11-15T19:05:09".parse().unwrap();
        for (objective, expect) in [
            (
                "Make the parser 2x faster!",
                "20261115-190509-make-the-parser-2x-faster",
            ),
            ("  ../../etc/passwd  ", "20261115-190509-etc-passwd"),
            ("优化解析器", "20261115-190509-goal"),
            ("", "20261115-190509-goal"),
            (
                "For 6 hours: make `cargo bench parse` faster",
                "20261115-190509-for-6-hours-make-cargo-bench-parse",
            ),
            (
                &"x".repeat(50),
                "20261115-190509-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            ),
            (
                &"word ".repeat(50),
                "20261115-190509-word-word-word-word-word-word-word-word",
            ),
        ] {
            let name = name(now, objective);
            assert_eq!(name, expect, "{objective}");
        }
    }
}
