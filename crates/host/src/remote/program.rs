//! A link over the streams of a program that runs the helper somewhere, such as ssh. The program is run again when the link
//! breaks, and ends with it.

use super::hello::Hello;
use super::line::LineSettings;
use super::link::{Remote, Unreached};
use crate::command::{Output, Signal};
use crate::process::{Input, Process};
use bytes::Bytes;
use ostler_files::Result;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::watch;

/// Bytes that wait between the program and the link.
const BUFFER: usize = 256 << 10;
/// Bytes of one write to the program.
const CHUNK: usize = 64 << 10;
/// Bytes of the last words of the program that are kept.
const MAX_SAID: usize = 2048;
/// How long a program may take to end when its input has ended; it is killed then.
const LONGEST_END: Duration = Duration::from_secs(5);
/// How long the last words of a program are waited for that gave up.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Runs the program: its streams are a connection to the helper.
pub type Dial = Arc<dyn Fn() -> Dialing + Send + Sync>;
pub type Dialing = Pin<Box<dyn Future<Output = Result<Dialed>> + Send>>;

/// How to greet the helper that a program runs.
pub struct OverProgram<'a> {
    /// As people call the place.
    pub place: &'a str,
    /// Ours.
    pub version: &'a str,
    /// How long one try may take, and how long the first one.
    pub patience: Duration,
    pub first_patience: Duration,
    /// How long the helper waits when the link breaks, and we try to make it again.
    pub grace: Duration,
    /// What nobody else knows: whoever has it may take the link over.
    pub key: [u8; 32],
    pub dial: Dial,
}

impl OverProgram<'_> {
    pub async fn connect(self) -> std::result::Result<Remote, Unreached> {
        let settings = LineSettings {
            dial: self.dial,
            hello: Hello {
                key: Bytes::copy_from_slice(&self.key),
                grace: self.grace,
                known: None,
            },
            patience: self.patience,
        };
        let (line, stream) = settings.open(self.first_patience).await?;
        let connecting = Remote::over(self.place, self.version, line, stream);
        let silent = Unreached::Silent {
            seconds: self.patience.as_secs(),
        };
        let connected = tokio::time::timeout(self.patience, connecting).await;
        connected.map_err(|_| silent)?
    }
}

/// A program that runs, as a connection.
pub struct Dialed {
    pub input: ReadHalf<DuplexStream>,
    pub output: WriteHalf<DuplexStream>,
    said: watch::Receiver<String>,
}

impl Dialed {
    /// The process has its stdin open. What it says on stderr is part of the error.
    pub fn new(mut process: Process) -> Self {
        let (ours, theirs) = tokio::io::duplex(BUFFER);
        let (input, output) = tokio::io::split(ours);
        let (from_link, to_link) = tokio::io::split(theirs);
        let (says, said) = watch::channel(String::new());
        let stdin = process.take_input();
        let fed = async move {
            if let Some(stdin) = stdin {
                feed(from_link, stdin).await;
            }
        };
        tokio::spawn(pump(process, fed, (to_link, says)));
        Self {
            input,
            output,
            said,
        }
    }

    /// The error with the last words of the program.
    pub async fn explain(self, error: Unreached) -> Unreached {
        let Self {
            input,
            output,
            mut said,
        } = self;
        if matches!(error, Unreached::Silent { .. }) {
            return error;
        }
        // The sender is gone when the program has ended.
        let ended = async { while said.changed().await.is_ok() {} };
        let _late = tokio::time::timeout(LAST_WORDS, ended).await;
        drop((input, output));
        let said = said.borrow().trim().to_owned();
        match error {
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
        }
    }
}

async fn feed(mut from_link: ReadHalf<DuplexStream>, mut stdin: Input) {
    let mut buffer = vec![0; CHUNK];
    while let Ok(count @ 1..) = from_link.read(&mut buffer).await {
        let piece = buffer.get(..count).unwrap_or_default();
        if stdin.write_all(piece).await.is_err() {
            return;
        }
    }
}

/// Passes on what the program prints, until it ends. It is killed when it does not end although nobody feeds it any more.
async fn pump(
    mut process: Process,
    fed: impl Future<Output = ()>,
    (mut to_link, says): (WriteHalf<DuplexStream>, watch::Sender<String>),
) {
    let mut ends = Box::pin(async move {
        fed.await;
        tokio::time::sleep(LONGEST_END).await;
    });
    let mut is_killed = false;
    loop {
        let output = tokio::select! {
            output = process.next() => output,
            () = &mut ends, if !is_killed => {
                is_killed = true;
                process.signal(Signal::Kill);
                continue;
            }
        };
        match output {
            // Nobody may read it any more; it ends soon.
            Output::Stdout(bytes) => drop(to_link.write_all(&bytes).await),
            Output::Stderr(bytes) => says.send_modify(|said| {
                if said.len() < MAX_SAID {
                    said.push_str(&String::from_utf8_lossy(&bytes));
                }
            }),
            Output::Exited(_) => break,
        }
    }
    // A helper that keeps what runs may be below it; that ends by itself.
    drop(process.take_leftovers());
    // The other half is held by whoever writes to the program: the reader would wait for it.
    let _closed = to_link.shutdown().await;
}
