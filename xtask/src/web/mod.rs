//! `cargo xtask web`: the client in the browser. Installs its pinned packages, builds it again, and drives it in a real
//! browser against the real server, with a scripted model behind that.

mod vendor;

use crate::ostler::{self, Profile};
use crate::root;
use anyhow::{Context as _, bail, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where a browser is, unless `CHROMIUM` says so.
const CHROMIUM: &str = "/usr/bin/chromium";
/// The Node that the committed files were built with.
const NODE: &str = ".node-version";

pub fn run(options: &[&str]) -> anyhow::Result<bool> {
    match options {
        ["install"] => install(),
        ["build"] => build(),
        ["test"] => test(&["tests/real/"]),
        ["test", "--all"] => test(&["tests/real/", "tests/browser/"]),
        ["pictures"] => pictures(),
        ["vendor"] => vendor::wait(),
        _ => bail!("`cargo xtask web install`, `build`, `test [--all]`, `pictures` or `vendor`"),
    }
}

/// For `cargo xtask ci`: what can be checked here. What cannot is said.
pub fn offer() -> anyhow::Result<bool> {
    if !folder().join("node_modules/vite").exists() {
        println!("SKIPPED: no packages of the client; run `cargo xtask web install`");
        return Ok(true);
    }
    let is_same = compare()?;
    if !chromium().exists() {
        println!(
            "SKIPPED: no browser at {}; the client was not driven",
            chromium().display()
        );
        return Ok(is_same);
    }
    Ok(test(&["tests/real/"])? && is_same)
}

fn folder() -> PathBuf {
    root().join("web")
}

fn chromium() -> PathBuf {
    std::env::var_os("CHROMIUM").map_or_else(|| CHROMIUM.into(), PathBuf::from)
}

fn install() -> anyhow::Result<bool> {
    done("npm", &["ci", "--no-audit", "--no-fund"])
}

/// Builds the committed files anew.
fn build() -> anyhow::Result<bool> {
    if let Some(other) = other_node()? {
        println!("built with {other}: commit what the Node of web/{NODE} builds");
    }
    done("npm", &["run", "build"])
}

/// The version of Node here, where it is another than the one of the committed files.
fn other_node() -> anyhow::Result<Option<String>> {
    let pinned = fs::read_to_string(folder().join(NODE)).context(NODE)?;
    let out = Command::new("node").arg("--version").output();
    let out = out.context("node cannot be started")?;
    let here = String::from_utf8_lossy(&out.stdout);
    let here = here.trim().trim_start_matches('v');
    Ok((here != pinned.trim()).then(|| here.to_owned()))
}

/// Whether the sources build to the committed files.
fn compare() -> anyhow::Result<bool> {
    if let Some(other) = other_node()? {
        println!(
            "SKIPPED: Node {other} is not that of web/{NODE}; the built files were not compared"
        );
        return Ok(true);
    }
    let built = ostler::target()?.join("web-dist");
    let place = built.to_string_lossy().into_owned();
    ensure!(done("npm", &["run", "check"])?, "the types do not fit");
    let words = [
        "run",
        "bundle",
        "--",
        "--logLevel",
        "warn",
        "--outDir",
        &place,
    ];
    ensure!(done("npm", &words)?, "the client does not build");
    let (new, kept) = (files(&built)?, files(&folder().join("dist"))?);
    for path in new.keys().chain(kept.keys()) {
        if new.get(path) != kept.get(path) {
            println!("web/dist is not what its sources build ({path}): `cargo xtask web build`");
            return Ok(false);
        }
    }
    println!("web/dist is what its sources build");
    Ok(true)
}

/// All files below a folder, by their paths in it.
fn files(folder: &Path) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for file in fs::read_dir(&next).with_context(|| next.display().to_string())? {
            let path = file?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder)?.to_string_lossy().into_owned();
            found.insert(name, fs::read(&path)?);
        }
    }
    Ok(found)
}

/// The rules of the client, then these suites in a browser.
fn test(suites: &[&str]) -> anyhow::Result<bool> {
    ensure!(
        chromium().exists(),
        "no browser at {}",
        chromium().display()
    );
    let mut all = done("npm", &["test"])?;
    for suite in suites {
        let mut words = vec!["--test".to_owned(), "--test-concurrency=2".to_owned()];
        let files = fs::read_dir(folder().join(suite)).context("no suite")?;
        let names = files.flatten().map(|file| file.file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        let tests = names.filter(|name| name.ends_with(".test.mjs"));
        words.extend(tests.map(|name| format!("{suite}{name}")));
        words.sort();
        all &= drive(&words)?;
    }
    Ok(all)
}

/// The pictures of the documents.
fn pictures() -> anyhow::Result<bool> {
    let to = root().join("docs/images").to_string_lossy().into_owned();
    drive(&["tests/real/pictures.mjs".to_owned(), to])
}

/// Runs a script of Node that starts the program of this checkout, with our model behind it.
fn drive(words: &[String]) -> anyhow::Result<bool> {
    let program = ostler::build(Profile::Debug)?;
    let vendor = vendor::start();
    let status = Command::new("node")
        .args(words)
        .current_dir(folder())
        .env("OSTLER_BIN", program)
        .env("VENDOR_URL", vendor.url())
        .env("CHROMIUM", chromium())
        .stdin(Stdio::null())
        .status();
    Ok(status.context("node cannot be started")?.success())
}

fn done(program: &str, words: &[&str]) -> anyhow::Result<bool> {
    let status = Command::new(program)
        .args(words)
        .current_dir(folder())
        .stdin(Stdio::null())
        .status();
    let status = status.with_context(|| format!("{program} cannot be started"))?;
    Ok(status.success())
}
