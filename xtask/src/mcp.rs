//! `cargo xtask mcp`: servers and the conformance suite of others, installed by name into the ignored target folder, and
//! the suite run against the hidden driver and against `ostler mcp-server`. Nothing may fail: there is no baseline.

use crate::root;
use anyhow::{Context as _, anyhow, bail};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const NODE: [&str; 5] = [
    "node@22",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/server-everything",
    "@modelcontextprotocol/server-filesystem",
    "@modelcontextprotocol/server-memory",
];
const PYTHON: [&str; 2] = ["mcp-server-git", "mcp-server-time"];
/// What each package brings.
const PROGRAMS: [&str; 6] = [
    "node_modules/.bin/conformance",
    "node_modules/.bin/mcp-server-everything",
    "node_modules/.bin/mcp-server-filesystem",
    "node_modules/.bin/mcp-server-memory",
    "py/bin/mcp-server-git",
    "py/bin/mcp-server-time",
];
/// By hand, and as a part of all checks.
const INSTALLING: Duration = Duration::from_secs(15 * 60);
const OFFERING: Duration = Duration::from_secs(3 * 60);
const LOOK: Duration = Duration::from_millis(50);
const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];
/// Scenarios for servers that need no tools, prompts or resources of the suite's own.
const SERVER: [&str; 8] = [
    "server-initialize",
    "server-session-lifecycle",
    "logging-set-level",
    "ping",
    "tools-list",
    "server-sse-polling",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
];

pub fn run(options: &[&str]) -> anyhow::Result<bool> {
    match options {
        ["install"] => install(INSTALLING).map(|()| true),
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

/// For `cargo xtask ci`: installs what is missing, if that can be had in time. Where it cannot, the tests that need it prove
/// nothing, and that is said here.
pub fn offer() -> anyhow::Result<bool> {
    let folder = folder();
    let missing: Vec<&str> = PROGRAMS
        .into_iter()
        .filter(|name| !folder.join(name).exists())
        .collect();
    if missing.is_empty() {
        println!("all there, in {}", folder.display());
        return Ok(true);
    }
    if let Err(error) = install(OFFERING) {
        println!(
            "SKIPPED: servers of others cannot be installed here ({error:#}); missing: {}",
            missing.join(", ")
        );
    }
    Ok(true)
}

fn install(limit: Duration) -> anyhow::Result<()> {
    let folder = folder();
    std::fs::create_dir_all(&folder)?;
    let until = Instant::now() + limit;
    let npm = |words: &[&str]| in_time("npm", words, &folder, until);
    let mut words = vec!["install", "--no-fund", "--no-audit"];
    words.extend(NODE);
    npm(&words)?;
    // Newer clients ask before a package may run something of its own.
    let _ = npm(&["install-scripts", "approve", "node"]);
    npm(&["rebuild", "node"])?;
    in_time("python3", &["-m", "venv", "py"], &folder, until)?;
    let mut words = vec!["install", "-q"];
    words.extend(PYTHON);
    let pip = folder.join("py/bin/pip");
    in_time(&pip.to_string_lossy(), &words, &folder, until)?;
    println!("installed into {}", folder.display());
    Ok(())
}

fn in_time(program: &str, words: &[&str], folder: &Path, until: Instant) -> anyhow::Result<()> {
    let child = Command::new(program)
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .spawn();
    let mut child = child.with_context(|| format!("{program} cannot be started"))?;
    loop {
        if let Some(status) = child.try_wait()? {
            return match status.success() {
                true => Ok(()),
                false => Err(anyhow!("{program} {} failed", words.join(" "))),
            };
        }
        if Instant::now() >= until {
            // What it started ends with its output, or goes on for nothing.
            let _ = child.kill();
            let _ = child.wait();
            bail!("{program} {} took too long", words.join(" "));
        }
        std::thread::sleep(LOOK);
    }
}

pub fn conformance() -> anyhow::Result<bool> {
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
    all &= server(&bin)?;
    Ok(all)
}

/// Our own server, which asks for no token here.
fn server(bin: &Path) -> anyhow::Result<bool> {
    let home = folder().join("server-home");
    std::fs::create_dir_all(&home)?;
    std::fs::write(home.join("config.toml"), "[serve]\nauth_mode = \"none\"\n")?;
    let mut child = Command::new(target().join("debug/ostler"))
        .args(["mcp-server", "--http", "0"])
        .current_dir(&home)
        .env("OSTLER_HOME", &home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("the server cannot be started")?;
    let mut url = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut url)?;
    }
    let tried = scenarios(bin, url.trim());
    let _ = child.kill();
    let _ = child.wait();
    tried
}

fn scenarios(bin: &Path, url: &str) -> anyhow::Result<bool> {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut all = true;
    for scenario in SERVER {
        let status = Command::new(bin.join("conformance"))
            .args(["server", "--url", url, "--scenario", scenario])
            .args(["--spec-version", "2025-11-25"])
            .current_dir(folder())
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
