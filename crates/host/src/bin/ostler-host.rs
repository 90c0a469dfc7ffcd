//! The helper that Ostler puts on other machines and into containers. Started alone it passes its standard streams on to the
//! helper that keeps what runs, which it starts by itself; that one ends with its link, and with it everything that it
//! started. It opens no port and keeps nothing but checkpoints.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of its own"
)]

use std::process::ExitCode;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The word by which it is the one that keeps what runs.
const KEEP: &str = "keep";

fn main() -> ExitCode {
    // The process may have been started to look after the commands of another one.
    ostler_host::watchdog::run_if_asked();
    let mut words = std::env::args_os().skip(1);
    match words.next() {
        None => run(Part::Relay),
        Some(word) if word == KEEP => run(Part::Keeper),
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

enum Part {
    Relay,
    Keeper,
}

#[cfg(unix)]
fn run(part: Part) -> ExitCode {
    use ostler_host::remote::{PlaceFacts, Streams, keep, relay};

    let cwd = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let facts = || PlaceFacts::here(VERSION, cwd, std::env::vars_os().collect());
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
    let served = runtime.block_on(async {
        match part {
            Part::Keeper => {
                let streams = (tokio::io::stdin(), tokio::io::stdout());
                keep(&facts(), streams, let_go).await
            }
            Part::Relay => {
                let keeper = [std::env::current_exe()?.into(), KEEP.into()];
                let streams = Streams {
                    input: tokio::io::stdin(),
                    output: tokio::io::stdout(),
                    env: std::env::vars_os().collect(),
                };
                relay(streams, &keeper, facts).await
            }
        }
    });
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

/// Whoever started it waits for the end of these.
#[cfg(unix)]
fn let_go() -> std::io::Result<()> {
    let null = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}

#[cfg(not(unix))]
fn run(_part: Part) -> ExitCode {
    eprintln!("ostler-host runs on Unix systems only.");
    ExitCode::FAILURE
}
