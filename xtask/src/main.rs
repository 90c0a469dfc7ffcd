//! `cargo xtask`: what the project does to itself: checks, generated files, measurements. Nothing here ships.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for the terminal"
)]

mod bench;
mod ci;
mod dist;
mod docs;
mod host;
mod mcp;
mod ostler;
mod pictures;
mod schema;
mod tidy;
mod web;

use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask ci                        everything that has to pass: fmt, tidy, clippy, docs, doctests, servers of others, tests
cargo xtask tidy [--report]           the countable rules of the house; its figures
cargo xtask dist [--target T] [--all] build and pack what is shipped; stage and pack do one half each
cargo xtask dist order PROGRAM        which functions sessions call, for packaging/order.ld (needs valgrind, a program with symbols)
cargo xtask docs --site               build docs/ into a searchable site (needs mdbook)
cargo xtask docs                      links, the configuration schema and the commands that documents name
cargo xtask schema                    write docs/ostler.schema.json
cargo xtask mcp install|conformance   servers and the conformance suite of others
cargo xtask host build                the helper for other places, for musl, into target/helpers
cargo xtask host up|down              a docker of our own for tests (needs root)
cargo xtask pictures                  draw docs/images from real terminal output (needs chromium)
cargo xtask web install|build         packages of the client in the browser; its committed files, built anew
cargo xtask web test [--all]          the client in a browser against the real server; with its own mock, too
cargo xtask web pictures              photograph it for docs/images
cargo xtask bench [--quick] [--terminal] [--serve] [--bin PATH] [--kind KIND]
                                      speed and size beside a bare loop, on the mock server";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["ci"] => ci::run(),
        ["tidy"] => tidy::run(),
        ["tidy", "--report"] => tidy::report(),
        ["docs"] => docs::run(),
        ["docs", "--site"] => docs::site::run(),
        ["dist", options @ ..] => dist::run(options),
        ["schema"] => schema::run(),
        ["mcp", options @ ..] => mcp::run(options),
        ["host", options @ ..] => host::run(options),
        ["pictures"] => pictures::run(),
        ["web", options @ ..] => web::run(options),
        ["bench", options @ ..] => bench::run(options),
        [bench::BARE, url, prompt] => bench::bare(url, prompt),
        [bench::ECHO] => bench::echo(),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(true)
        }
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the checkout.
fn root() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.parent().map_or(own.clone(), PathBuf::from)
}
