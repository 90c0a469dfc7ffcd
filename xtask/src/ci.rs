//! `cargo xtask ci`: every check in turn, with their output as it comes, and a summary at the end.

use crate::ostler::cargo;
use crate::{docs, host, mcp, tidy, web};
use anyhow::Context as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

type Check = fn() -> anyhow::Result<bool>;

/// The tests come last, so that the end of the output is theirs.
const STEPS: &[(&str, Check)] = &[
    ("fmt", || passes(&["fmt", "--all", "--check"])),
    ("tidy", tidy::run),
    ("clippy", clippy),
    ("docs", docs::run),
    ("doctests", || {
        passes(&["test", "--workspace", "--doc", "--locked"])
    }),
    ("servers", mcp::offer),
    ("mcp", mcp::conformance),
    ("web", web::offer),
    ("tests", tests),
];

/// Runs all of them whatever the outcome of each. True when every one passed.
pub fn run() -> anyhow::Result<bool> {
    let start = Instant::now();
    let mut summary = Vec::new();
    for (name, check) in STEPS {
        eprintln!("== {name}");
        let begun = Instant::now();
        let passed = check().unwrap_or_else(|error| {
            eprintln!("xtask: {error:#}");
            false
        });
        summary.push((*name, passed, begun.elapsed()));
    }
    let failed = summary.iter().filter(|(_, passed, _)| !passed).count();
    for (name, passed, took) in summary {
        println!("{} {name:8} {}", word(passed), shown(took));
    }
    println!("{} all      {}", word(failed == 0), shown(start.elapsed()));
    Ok(failed == 0)
}

fn clippy() -> anyhow::Result<bool> {
    let what = ["clippy", "--workspace", "--all-targets", "--locked"];
    passes(&[what.as_slice(), &["--", "-D", "warnings"]].concat())
}

/// With a docker of our own, where one is to be had.
fn tests() -> anyhow::Result<bool> {
    let docker = host::offer();
    let passed = run_tests(&docker);
    if !docker.is_empty() {
        host::run(&["down"])?;
    }
    passed
}

fn run_tests(variables: &[(String, String)]) -> anyhow::Result<bool> {
    let passes = |args: &[&str]| -> anyhow::Result<bool> {
        let mut command = cargo(args);
        command.envs(variables.iter().cloned());
        let status = command.status();
        Ok(status.context("cargo cannot be started")?.success())
    };
    let asked = cargo(&["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if asked.is_ok_and(|status| status.success()) {
        return passes(&[
            "nextest",
            "run",
            "--workspace",
            "--locked",
            "--no-fail-fast",
        ]);
    }
    // Doctests have had a step of their own.
    let what = ["test", "--workspace", "--all-targets", "--locked"];
    passes(&[what.as_slice(), &["--no-fail-fast"]].concat())
}

fn passes(args: &[&str]) -> anyhow::Result<bool> {
    let status = cargo(args).status();
    Ok(status.context("cargo cannot be started")?.success())
}

fn word(passed: bool) -> &'static str {
    if passed { "ok    " } else { "FAILED" }
}

fn shown(took: Duration) -> String {
    format!("{:7.1} s", took.as_secs_f64())
}
