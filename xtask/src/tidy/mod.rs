//! `cargo xtask tidy`: the countable rules of the house, each with the place where it is broken.
//! What it cannot count (names, comments, whether a test can fail) stays with the reader.

mod edges;
mod entry_kinds;
mod layers;
mod report;
mod rooms;
mod rules;
mod source;
mod spawns;
mod tool_names;
mod walk;

use crate::root;
use anyhow::Context as _;
use rooms::Rooms;
use source::Source;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A rule broken at a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    pub path: String,
    pub line: usize,
    pub message: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

pub fn run() -> anyhow::Result<bool> {
    let found = check()?;
    for violation in &found {
        println!("{violation}");
    }
    println!("tidy: {} to mend", found.len());
    Ok(found.is_empty())
}

/// Prints the figures of the house.
pub fn report() -> anyhow::Result<bool> {
    let (sources, _) = read()?;
    let production = rules::production(&sources);
    report::print(&production, &rooms(&production));
    Ok(true)
}

fn check() -> anyhow::Result<Vec<Violation>> {
    let (sources, mut found) = read()?;
    found.extend(edges::check()?);
    let rooms = rooms(&rules::production(&sources));
    found.extend(rooms::check(&rooms));
    found.extend(layers::check(&rooms));
    found.extend(rules::check(&sources));
    found.extend(tool_names::check(&rules::production(&sources)));
    found.extend(walk::check(&rules::production(&sources)));
    found.extend(entry_kinds::check(&rules::production(&sources)));
    found.sort();
    Ok(found)
}

fn rooms(production: &[&Source]) -> Vec<Rooms> {
    let paths = production
        .iter()
        .filter_map(|s| s.path.strip_prefix("crates/"));
    let names = paths.filter_map(|path| path.split_once("/src/"));
    let names: BTreeSet<&str> = names.map(|(name, _)| name).collect();
    let names = names.into_iter().filter(|name| *name != "testkit");
    names.map(|name| Rooms::of(name, production)).collect()
}

/// Every source, and the paths of this machine that stand in a file.
fn read() -> anyhow::Result<(Vec<Source>, Vec<Violation>)> {
    let root = root();
    let mut files = Vec::new();
    for folder in ["crates", "xtask", "docs", ".ci", ".cargo"] {
        collect(&root.join(folder), &mut files)?;
    }
    for name in ["README.md", "README.zh-CN.md", "CHANGELOG.md", "Cargo.toml"] {
        files.extend(Some(root.join(name)).filter(|path| path.exists()));
    }
    let mut sources = Vec::new();
    let mut found = Vec::new();
    let home = std::env::var("HOME").ok();
    for file in files {
        let path = file.strip_prefix(&root).unwrap_or(&file);
        let path = path.to_string_lossy().replace('\\', "/");
        // What is not text has no rules.
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        found.extend(rules::machine_paths(&path, &text, &root, home.as_deref()));
        if path.ends_with(".rs") {
            sources.push(Source::new(&path, &text));
        }
    }
    Ok((sources, found))
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) -> anyhow::Result<()> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry.with_context(|| format!("{} cannot be listed", folder.display()))?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if entry.file_name() != "target" {
                collect(&path, files)?;
            }
        } else {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_house_is_tidy() {
        let found = super::check().unwrap();
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "\n{}", lines.join("\n"));
    }
}
