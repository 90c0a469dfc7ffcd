//! One process from its start to its end: its input written, its output read as it comes, and nothing of it left behind.

use ostler_host::{Exit, Input, Output, Process, Signal};
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

/// What a program may print in all.
const MAX_TOTAL: usize = 512 << 20;
/// How long a program may take to end when it is asked to.
const GRACE: Duration = Duration::from_millis(1500);
/// The same when it is killed.
const LONGEST_END: Duration = Duration::from_secs(3);

/// Takes what a program prints.
pub trait Sink: Send {
    fn stdout(&mut self, bytes: &[u8]);
    fn stderr(&mut self, bytes: &[u8]);
    /// There is no use in going on.
    fn gives_up(&self) -> bool;
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exited(Exit),
    Timeout,
    Cancelled,
    Flood,
    /// The sink gave up.
    GaveUp,
}

/// Runs a program to its end. When this returns, all that it started has ended, too.
pub async fn run(
    mut process: Process,
    input: Option<&str>,
    sink: &mut dyn Sink,
    until: Instant,
    cancel: &CancellationToken,
) -> End {
    let stdin = process.take_input();
    let mut feeding = pin!(feed(stdin, input.unwrap_or_default()));
    let mut is_fed = false;
    let mut total = 0_usize;
    let end = loop {
        let output = tokio::select! {
            () = cancel.cancelled() => break End::Cancelled,
            () = sleep_until(until) => break End::Timeout,
            () = &mut feeding, if !is_fed => {
                is_fed = true;
                continue;
            }
            output = process.next() => output,
        };
        match output {
            Output::Stdout(bytes) => {
                total = total.saturating_add(bytes.len());
                sink.stdout(&bytes);
            }
            Output::Stderr(bytes) => {
                total = total.saturating_add(bytes.len());
                sink.stderr(&bytes);
            }
            Output::Exited(exit) => break End::Exited(exit),
        }
        if total > MAX_TOTAL {
            break End::Flood;
        }
        if sink.gives_up() {
            break End::GaveUp;
        }
    };
    match end {
        End::Exited(_) => {
            if let Some(leftovers) = process.take_leftovers() {
                leftovers.end().await;
            }
        }
        End::Timeout | End::Cancelled | End::Flood | End::GaveUp => stop(process, sink).await,
    }
    end
}

async fn feed(stdin: Option<Input>, text: &str) {
    if let Some(mut stdin) = stdin {
        // A program that does not read its input says so by how it ends.
        let _ = stdin.write_all(text.as_bytes()).await;
    }
}

/// Ends a program and all that it started: asked first, then killed.
pub async fn stop(mut process: Process, sink: &mut dyn Sink) {
    let mut tree = process.tree_end();
    process.signal(Signal::Term);
    if timeout(GRACE, drain(&mut process, sink)).await.is_err() {
        process.signal(Signal::Kill);
        let _late = timeout(LONGEST_END, drain(&mut process, sink)).await;
    }
    drop(process);
    let _late = timeout(LONGEST_END, tree.wait()).await;
}

/// Its last words, and how it ended.
pub async fn drain(process: &mut Process, sink: &mut dyn Sink) -> Exit {
    loop {
        match process.next().await {
            Output::Stdout(bytes) => sink.stdout(&bytes),
            Output::Stderr(bytes) => sink.stderr(&bytes),
            Output::Exited(exit) => return exit,
        }
    }
}

/// How it ended, as the end of a sentence.
pub fn describe(exit: Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "its end was lost".to_owned(),
    }
}
