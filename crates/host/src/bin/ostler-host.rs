//! The helper that Ostler puts on other machines and into containers: it serves one link on its standard streams and ends
//! with it, and with it everything that it started. It opens no port and keeps nothing.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of its own"
)]

use ostler_host::remote::{PlaceFacts, serve};
use std::process::ExitCode;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> ExitCode {
    // The process may have been started to look after the commands of another one.
    ostler_host::watchdog::run_if_asked();
    let mut words = std::env::args_os().skip(1);
    match words.next() {
        None => serve_link(),
        Some(word) if word == "--version" => {
            println!("ostler-host {VERSION}");
            ExitCode::SUCCESS
        }
        Some(_) => {
            eprintln!(
                "Usage: ostler-host [--version]\nIt is started by ostler, which speaks with it on its standard streams."
            );
            ExitCode::from(2)
        }
    }
}

fn serve_link() -> ExitCode {
    let cwd = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let facts = PlaceFacts::here(VERSION, cwd, std::env::vars_os().collect());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("ostler-host cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let served = serve(&facts, tokio::io::stdin(), tokio::io::stdout());
    let served = runtime.block_on(served);
    // A thread may still sit in a read of stdin; nothing is worth waiting for.
    runtime.shutdown_background();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ostler-host: {error}");
            ExitCode::FAILURE
        }
    }
}
