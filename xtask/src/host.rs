//! `cargo xtask host`: the helper for other places, built without libraries of the system; and a docker of our own for the
//! tests that want a real one. What cannot be had here is skipped, and said.

use anyhow::{Context as _, bail};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The systems that the helper is built for, and what it is called there.
const TARGETS: [(&str, &str); 2] = [
    ("x86_64-unknown-linux-musl", "ostler-host-linux-x86_64"),
    ("aarch64-unknown-linux-musl", "ostler-host-linux-aarch64"),
];
/// Most bytes of a helper.
const MAX_SIZE: u64 = 5 << 20;
/// Begins a daemon of docker on a socket of its own, with an image of busybox.
const UP: &str = include_str!("host/up.sh");
const DOWN: &str = include_str!("host/down.sh");

pub fn run(words: &[&str]) -> anyhow::Result<bool> {
    match words {
        ["build"] => build(),
        ["up"] => shell(UP),
        ["down"] => shell(DOWN),
        _ => bail!("cargo xtask host build|up|down"),
    }
}

/// The folder of built helpers, for `[helper] folder`.
fn helpers() -> PathBuf {
    crate::root().join("target/helpers")
}

/// What tests get that want a real docker: nothing where there is none, or no helper that runs in its image. It is said why.
pub fn offer() -> Vec<(String, String)> {
    let folder = helpers();
    if !folder.join(TARGETS[0].1).is_file() {
        println!(
            "skipped: containers of a real docker, without a helper for musl: cargo xtask host build"
        );
        return Vec::new();
    }
    let out = Command::new("sh")
        .args(["-c", UP, "host"])
        .arg(crate::root().join("target/host"))
        .output();
    let said = out.map_or_else(
        |error| error.to_string(),
        |out| String::from_utf8_lossy(&out.stdout).into_owned(),
    );
    let Some(exports) = said.lines().find_map(|line| line.strip_prefix("export ")) else {
        println!("{}", said.trim());
        return Vec::new();
    };
    let pairs = exports
        .split_whitespace()
        .filter_map(|pair| pair.split_once('='));
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let helpers = (
        "OSTLER_TEST_HELPERS".to_owned(),
        folder.display().to_string(),
    );
    pairs.chain([helpers]).collect()
}

fn build() -> anyhow::Result<bool> {
    let folder = helpers();
    std::fs::create_dir_all(&folder)?;
    let mut is_fine = true;
    for (target, name) in TARGETS {
        if !is_known(target) {
            println!("skipped: {target} cannot be added with rustup here, so there is no {name}");
            continue;
        }
        // The linker that comes with Rust: the helper has no part in another language.
        let variable = target.to_uppercase().replace('-', "_");
        let status = Command::new("cargo")
            .current_dir(crate::root())
            .args([
                "build",
                "--release",
                "-p",
                "ostler-host",
                "--bin",
                "ostler-host",
                "--target",
                target,
            ])
            .env(format!("CARGO_TARGET_{variable}_LINKER"), "rust-lld")
            .env(
                format!("CARGO_TARGET_{variable}_RUSTFLAGS"),
                "-Clink-self-contained=yes -Cstrip=symbols",
            )
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "z")
            .env("CARGO_PROFILE_RELEASE_LTO", "fat")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
            .status()
            .context("cargo")?;
        if !status.success() {
            bail!("{target} does not build");
        }
        let built = crate::root().join(format!("target/{target}/release/ostler-host"));
        let path = folder.join(name);
        std::fs::copy(&built, &path).with_context(|| built.display().to_string())?;
        let size = std::fs::metadata(&path)?.len();
        println!("{} {:.1} MB", path.display(), size as f64 / 1e6);
        if size > MAX_SIZE {
            println!("{name} is larger than {} MB", MAX_SIZE >> 20);
            is_fine = false;
        }
    }
    println!("use them with: [helper] folder = \"{}\"", folder.display());
    Ok(is_fine)
}

/// Whether the target is there, or can be added.
fn is_known(target: &str) -> bool {
    let added = Command::new("rustup")
        .args(["target", "add", target])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    added.is_ok_and(|status| status.success())
}

fn shell(script: &str) -> anyhow::Result<bool> {
    let folder = crate::root().join("target/host");
    let status = Command::new("sh")
        .args(["-c", script, "host"])
        .arg(&folder)
        .status()
        .context("sh")?;
    Ok(status.success())
}
