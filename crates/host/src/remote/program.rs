//! A link over the streams of a program that runs the helper somewhere, such as ssh. The program ends with the link.

use super::link::{Remote, Unreached};
use crate::command::Output;
use crate::process::Process;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::watch;

/// Bytes that wait between the program and the link.
const BUFFER: usize = 256 << 10;
/// Bytes of one write to the program.
const CHUNK: usize = 64 << 10;
/// Bytes of the last words of the program that are kept.
const MAX_SAID: usize = 2048;
/// How long the last words of a program are waited for that gave up.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How to greet the helper that a program runs.
pub struct OverProgram<'a> {
    /// As people call the place.
    pub place: &'a str,
    /// Ours.
    pub version: &'a str,
    pub patience: Duration,
}

impl OverProgram<'_> {
    /// The process has its stdin open. What it says on stderr is part of the error.
    pub async fn connect(&self, mut process: Process) -> Result<Remote, Unreached> {
        let Some(mut stdin) = process.take_input() else {
            return Err(Unreached::Broken("it has no input".into()));
        };
        let (ours, theirs) = tokio::io::duplex(BUFFER);
        let (input, output) = tokio::io::split(ours);
        let (from_link, to_link) = tokio::io::split(theirs);
        let (says, said) = watch::channel(String::new());
        tokio::spawn(async move {
            let mut from_link = from_link;
            let mut buffer = vec![0; CHUNK];
            while let Ok(count @ 1..) = from_link.read(&mut buffer).await {
                let piece = buffer.get(..count).unwrap_or_default();
                if stdin.write_all(piece).await.is_err() {
                    return;
                }
            }
        });
        tokio::spawn(pump(process, to_link, says));
        self.greet(input, output, said).await
    }

    async fn greet(
        &self,
        input: ReadHalf<DuplexStream>,
        output: WriteHalf<DuplexStream>,
        mut said: watch::Receiver<String>,
    ) -> Result<Remote, Unreached> {
        let connecting = Remote::connect(self.place, self.version, input, output);
        let silent = Unreached::Silent {
            seconds: self.patience.as_secs(),
        };
        let connected = tokio::time::timeout(self.patience, connecting).await;
        let error = match connected {
            Ok(Ok(remote)) => return Ok(remote),
            Ok(Err(error)) => error,
            Err(_) => return Err(silent),
        };
        // The sender is gone when the program has ended.
        let ended = async { while said.changed().await.is_ok() {} };
        let _late = tokio::time::timeout(LAST_WORDS, ended).await;
        let said = said.borrow().trim().to_owned();
        Err(match error {
            Unreached::NoHelper(printed) => {
                let parts = [printed, said].into_iter().filter(|part| !part.is_empty());
                Unreached::NoHelper(parts.collect::<Vec<_>>().join("\n"))
            }
            Unreached::Broken(why) if !said.is_empty() => {
                Unreached::Broken(format!("{why}: {said}"))
            }
            Unreached::Broken(_) | Unreached::OtherVersion { .. } | Unreached::Silent { .. } => {
                error
            }
        })
    }
}

/// Passes on what the program prints, until it ends or nobody reads it any more: it is killed then.
async fn pump(
    mut process: Process,
    mut to_link: WriteHalf<DuplexStream>,
    says: watch::Sender<String>,
) {
    loop {
        match process.next().await {
            Output::Stdout(bytes) => {
                if to_link.write_all(&bytes).await.is_err() {
                    break;
                }
            }
            Output::Stderr(bytes) => says.send_modify(|said| {
                if said.len() < MAX_SAID {
                    said.push_str(&String::from_utf8_lossy(&bytes));
                }
            }),
            Output::Exited(_) => break,
        }
    }
    // The other half is held by whoever writes to the program: the reader would wait for it.
    let _closed = to_link.shutdown().await;
}
