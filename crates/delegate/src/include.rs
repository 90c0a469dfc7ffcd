//! Folders outside of the working folder that a prompt names.

use std::path::{Path, PathBuf};

/// Folders that are passed on.
const MOST: usize = 8;
/// Words of a prompt that are looked at.
const MAX_WORDS: usize = 20_000;
/// Names of a path below the root that it must have at least: a prompt that says `/tmp` or `/usr` does not mean all of it.
const MIN_DEPTH: usize = 2;

/// The folders, and those of the files, that exist and lie outside of `workdir`.
pub fn folders(prompt: &str, workdir: &Path) -> Vec<PathBuf> {
    let workdir = ostler_host::real_path(workdir);
    let is_break = |c: char| c.is_whitespace() || "\"'`()[]{}<>,;|*".contains(c);
    let words = prompt.split(is_break).filter(|word| !word.is_empty());
    let mut found: Vec<PathBuf> = Vec::new();
    for word in words.take(MAX_WORDS) {
        let word = word.trim_end_matches(['.', ':', '!', '?']);
        let path = Path::new(word);
        let is_path = path.is_absolute() || word.starts_with("../");
        if !is_path || found.len() >= MOST {
            continue;
        }
        let Some(folder) = folder_of(&workdir.join(path)) else {
            continue;
        };
        // One that lies in another is reached through it.
        let is_known = found.iter().any(|known| folder.starts_with(known));
        if !folder.starts_with(&workdir) && !workdir.starts_with(&folder) && !is_known {
            found.retain(|known| !known.starts_with(&folder));
            found.push(folder);
        }
    }
    found
}

fn folder_of(path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    let folder = match real.is_dir() {
        true => real,
        false => real.parent()?.to_owned(),
    };
    // The root is one of the components.
    (folder.components().count() > MIN_DEPTH).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_outside_are_found_once() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for folder in ["work/src", "docs/deep", "lib"] {
            std::fs::create_dir_all(top.join(folder)).unwrap();
        }
        std::fs::write(top.join("lib/a.rs"), "").unwrap();
        let at = |name: &str| top.join(name).display().to_string();
        let check = |prompt: &str, expect: &[&str]| {
            let expect: Vec<PathBuf> = expect.iter().map(|name| top.join(name)).collect();
            assert_eq!(folders(prompt, &top.join("work")), expect, "{prompt}");
        };
        check("no paths here, / and /etc and ../", &[]);
        check(
            &format!("Read {} and `{}`.", at("docs"), at("lib/a.rs")),
            &["docs", "lib"],
        );
        check(
            &format!("{} then {}", at("docs/deep"), at("docs")),
            &["docs"],
        );
        check(&format!("see ../lib/a.rs, ({})", at("work/src")), &["lib"]);
        check(&at("gone"), &[]);
    }
}
