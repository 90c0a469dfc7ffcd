//! The program of this checkout: built, found and run away from the person's own files.

use crate::root;
use anyhow::{Context as _, ensure};
use ostler_testkit::TempWorkspace;
use std::path::PathBuf;
use std::process::Command;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    Debug,
    /// What is shipped.
    Dist,
}

/// A cargo command in the root, with the cargo that runs us.
pub fn cargo(args: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(args).current_dir(root());
    // What cargo tells us about our own package would make build scripts run again.
    let own = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in own.filter(|n| n.starts_with("CARGO_PKG_") || n.starts_with("CARGO_MANIFEST_")) {
        command.env_remove(name);
    }
    command
}

/// Builds the program and says where it is.
pub fn build(profile: Profile) -> anyhow::Result<PathBuf> {
    let mut args = vec!["build", "--locked", "--package", "ostler"];
    if profile == Profile::Dist {
        args.extend(["--profile", "dist"]);
    }
    let status = cargo(&args).status().context("cargo cannot be started")?;
    ensure!(status.success(), "ostler does not build");
    let folder = match profile {
        Profile::Debug => "debug",
        Profile::Dist => "dist",
    };
    let name = format!("ostler{}", std::env::consts::EXE_SUFFIX);
    Ok(target()?.join(folder).join(name))
}

/// What the program prints for these arguments.
pub fn ask(program: &PathBuf, args: &[&str]) -> anyhow::Result<String> {
    let out = TempWorkspace::new().run(program).args(args).output();
    ensure!(
        out.code == Some(0),
        "`ostler {}` failed:\n{}",
        args.join(" "),
        out.stderr
    );
    Ok(out.stdout)
}

pub fn target() -> anyhow::Result<PathBuf> {
    let folder = metadata()?["target_directory"].as_str().map(PathBuf::from);
    folder.context("cargo metadata names no target directory")
}

/// What cargo knows of the workspace, without its dependencies.
pub fn metadata() -> anyhow::Result<serde_json::Value> {
    let args = ["metadata", "--format-version", "1", "--no-deps", "--locked"];
    let out = cargo(&args).output().context("cargo cannot be started")?;
    ensure!(
        out.status.success(),
        "cargo metadata failed:\n{}",
        String::from_utf8_lossy(&out.stderr)
    );
    Ok(serde_json::from_slice(&out.stdout)?)
}
