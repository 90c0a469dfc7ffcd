//! `cargo xtask docs`: what documents speak of is there: links lead somewhere, tests exist, the schema is the program's
//! own, and the program knows every command and flag that is shown.

mod commands;
mod links;
mod markdown;
mod named_tests;
pub mod site;

use crate::ostler::{self, Profile};
use crate::{root, schema};
use markdown::Document;
use std::fs;
use std::path::Path;

pub fn run() -> anyhow::Result<bool> {
    let program = ostler::build(Profile::Debug)?;
    let documents = documents(&root())?;
    let mut wrong = links::check(&documents, &root());
    wrong.extend(named_tests::check(&documents, &root()));
    let mut ask = |words: &[&str]| ostler::ask(&program, &[words, &["--help"]].concat()).ok();
    wrong.extend(commands::check(&documents, &mut ask));
    let own = ostler::ask(&program, &["config", "schema"])?;
    if fs::read_to_string(schema::file()).unwrap_or_default() != own {
        wrong.push("docs/ostler.schema.json is not what `ostler config schema` prints; run `cargo xtask schema`".into());
    }
    for line in &wrong {
        println!("{line}");
    }
    println!(
        "docs: {} to mend in {} documents",
        wrong.len(),
        documents.len()
    );
    Ok(wrong.is_empty())
}

/// Markdown of the root and of `docs`.
fn documents(root: &Path) -> anyhow::Result<Vec<Document>> {
    let mut paths = Vec::new();
    for folder in [root.to_owned(), root.join("docs")] {
        for entry in fs::read_dir(folder)? {
            paths.push(entry?.path());
        }
    }
    paths.retain(|path| path.extension().is_some_and(|e| e == "md"));
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let below = path.strip_prefix(root).unwrap_or(path);
            let name = below.to_string_lossy().replace('\\', "/");
            Ok(Document::new(&name, &fs::read_to_string(path)?))
        })
        .collect()
}
