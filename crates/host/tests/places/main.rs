//! What holds on every place: the same cases on this machine, over a pair of streams in memory, and over the streams of a
//! helper process. And what only a link can do: be cut, be full of garbage, be slow.

#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::print_stdout,
        reason = "skipped cases and figures are for people"
    )
)]

#[cfg(target_os = "linux")]
#[path = "../common/mod.rs"]
mod common;
#[cfg(target_os = "linux")]
mod contract;
#[cfg(target_os = "linux")]
mod lines;
#[cfg(target_os = "linux")]
mod links;
#[cfg(target_os = "linux")]
mod measure;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    ostler_host::watchdog::run_if_asked();
    if std::env::args().nth(1).as_deref() == Some(links::HELPER) {
        return links::run_helper();
    }
    match std::env::args().nth(1).as_deref() {
        Some(lines::RELAY) => return lines::run_part(false),
        Some(lines::KEEPER) => return lines::run_part(true),
        Some(_) | None => {}
    }
    if std::env::args().any(|arg| arg == "--measure") {
        return measure::run();
    }
    let cases = contract::ALL.iter().chain(links::ALL).chain(lines::ALL);
    let cases: Vec<common::Case> = cases.copied().collect();
    common::run(&cases)
}

/// The scripts need programs that other systems lack.
#[cfg(not(target_os = "linux"))]
fn main() {}
