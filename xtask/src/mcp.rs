//! `cargo xtask mcp`: servers and the conformance suite of others, installed by name into the ignored target folder, and
//! the suite run against the hidden driver. Nothing may fail: there is no baseline.

use crate::root;
use anyhow::{Context as _, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

const NODE: [&str; 5] = [
    "node@22",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/server-everything",
    "@modelcontextprotocol/server-filesystem",
    "@modelcontextprotocol/server-memory",
];
const PYTHON: [&str; 2] = ["mcp-server-git", "mcp-server-time"];
const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];

pub fn run(options: &[&str]) -> anyhow::Result<bool> {
    match options {
        ["install"] => install(),
        ["conformance"] => conformance(),
        _ => bail!("`cargo xtask mcp install` or `cargo xtask mcp conformance`"),
    }
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

fn folder() -> PathBuf {
    target().join("mcp-servers")
}

fn install() -> anyhow::Result<bool> {
    let folder = folder();
    std::fs::create_dir_all(&folder)?;
    let npm = |words: &[&str]| done("npm", words, &folder);
    let mut words = vec!["install", "--no-fund", "--no-audit"];
    words.extend(NODE);
    npm(&words)?;
    // Newer clients ask before a package may run something of its own.
    let _ = npm(&["install-scripts", "approve", "node"]);
    npm(&["rebuild", "node"])?;
    done("python3", &["-m", "venv", "py"], &folder)?;
    let mut words = vec!["install", "-q"];
    words.extend(PYTHON);
    done("py/bin/pip", &words, &folder)?;
    println!("installed into {}", folder.display());
    Ok(true)
}

fn conformance() -> anyhow::Result<bool> {
    let bin = folder().join("node_modules/.bin");
    if !bin.join("conformance").exists() {
        println!("skipped: the suite is not installed; run `cargo xtask mcp install`");
        return Ok(true);
    }
    done("cargo", &["build", "--package", "ostler"], &root())?;
    let driver = format!(
        "{} __mcp-conformance",
        target().join("debug/ostler").display()
    );
    let mut all = true;
    for revision in REVISIONS {
        let out = folder().join(format!("out-{revision}"));
        let path = std::env::var("PATH").unwrap_or_default();
        let status = Command::new(bin.join("conformance"))
            .args(["client", "--suite", "all", "--spec-version", revision])
            .args(["--command", &driver])
            .arg("-o")
            .arg(out)
            .env("PATH", format!("{}:{path}", bin.display()))
            .status()
            .context("the suite cannot be started")?;
        all &= status.success();
    }
    Ok(all)
}

fn done(program: &str, words: &[&str], folder: &Path) -> anyhow::Result<()> {
    let status = Command::new(program)
        .args(words)
        .current_dir(folder)
        .status();
    let status = status.with_context(|| format!("{program} cannot be started"))?;
    if !status.success() {
        bail!("{program} {} failed", words.join(" "));
    }
    Ok(())
}
