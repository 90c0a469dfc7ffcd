//! `cargo xtask schema`: the JSON Schema of the configuration as a file that editors can point at.

use crate::ostler::{self, Profile};
use crate::root;
use anyhow::Context as _;
use std::path::PathBuf;

pub fn run() -> anyhow::Result<bool> {
    let program = ostler::build(Profile::Debug)?;
    let path = file();
    let text = ostler::ask(&program, &["config", "schema"])?;
    std::fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    println!("wrote docs/ostler.schema.json");
    Ok(true)
}

pub fn file() -> PathBuf {
    root().join("docs/ostler.schema.json")
}
