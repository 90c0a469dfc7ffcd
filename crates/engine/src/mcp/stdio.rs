//! A server that is a program: kept by the watchdog like every command, its lines carried to and fro. What is no message
//! counts as its log. A message without end ends the server, not us.

use super::text;
use ostler_host::{Command, Exit, Host, Input, Output, Process, Stdio};
use ostler_wire::{Why, Word};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio_util::sync::CancellationToken;

/// Bytes of one message.
pub const MAX_MESSAGE: usize = 16 * 1024 * 1024;
/// Between us and the library that reads the messages.
const BUFFER: usize = 256 * 1024;
/// Of what a server logs, the last of which is kept.
const MAX_LOG: usize = 16 * 1024;
/// How long a server may take to end when its input is closed.
const PATIENCE: Duration = Duration::from_millis(500);

/// What is known of a server beside its messages. Cheap to clone.
#[derive(Clone, Default)]
pub struct Noise(Arc<Mutex<Heard>>);

#[derive(Default)]
struct Heard {
    log: VecDeque<u8>,
    exit: Option<Exit>,
    /// Why we ended it.
    fault: Option<Why>,
}

impl Noise {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn log(&self, bytes: &[u8]) {
        let mut heard = self.heard();
        let tail = bytes
            .get(bytes.len().saturating_sub(MAX_LOG)..)
            .unwrap_or_default();
        let over = (heard.log.len() + tail.len()).saturating_sub(MAX_LOG);
        heard.log.drain(..over);
        heard.log.extend(tail);
    }

    pub fn exited(&self, exit: Exit) {
        self.heard().exit = Some(exit);
    }

    fn fail(&self, why: Why) {
        self.heard().fault.get_or_insert(why);
    }

    /// The end of its log, cleaned.
    pub fn last_words(&self, most: usize) -> String {
        let heard = self.heard();
        let bytes: Vec<u8> = heard.log.iter().copied().collect();
        let said = text::clean(&String::from_utf8_lossy(&bytes));
        let said = said.trim();
        let from = said
            .char_indices()
            .rev()
            .nth(most.saturating_sub(1))
            .map_or(0, |(at, _)| at);
        said.get(from..).unwrap_or_default().trim().to_owned()
    }

    /// How it ended, as the end of a sentence, if it has.
    pub fn ending(&self) -> Option<Why> {
        let heard = self.heard();
        if let Some(fault) = &heard.fault {
            return Some(fault.clone());
        }
        heard.exit.map(ended)
    }
}

pub(super) fn ended(exit: Exit) -> Why {
    match (exit.code, exit.signal) {
        (Some(code), _) => Why::ours(Word::McpExited, [code.to_string().into()]),
        (None, Some(signal)) => Why::ours(Word::McpSignal, [signal.to_string().into()]),
        (None, None) => Word::McpOrphan.into(),
    }
}

/// Starts the program. The stream carries messages and ends with the program. `cancel` ends both, and is cancelled when
/// they end by themselves.
pub async fn start(
    host: &dyn Host,
    command: Command,
    noise: &Noise,
    cancel: CancellationToken,
) -> Result<DuplexStream, ostler_host::Error> {
    let mut process = host
        .spawn(Command {
            stdio: Stdio::PipesWithStdin,
            ..command
        })
        .await?;
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    let (from_us, to_us) = tokio::io::split(theirs);
    if let Some(input) = process.take_input() {
        tokio::spawn(carry_in(from_us, input, cancel.clone()));
    }
    let noise = noise.clone();
    tokio::spawn(async move {
        carry_out(process, to_us, noise, cancel.clone()).await;
        cancel.cancel();
    });
    Ok(ours)
}

/// Ends when we close the stream, which closes the program's input.
async fn carry_in(mut from: ReadHalf<DuplexStream>, mut input: Input, cancel: CancellationToken) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            () = cancel.cancelled() => return,
        };
        let Ok(count @ 1..) = read else {
            return;
        };
        let bytes = buffer.get(..count).unwrap_or_default();
        let written = tokio::select! {
            written = input.write_all(bytes) => written,
            () = cancel.cancelled() => return,
        };
        if written.is_err() {
            return;
        }
    }
}

async fn carry_out(
    mut process: Process,
    mut to: WriteHalf<DuplexStream>,
    noise: Noise,
    cancel: CancellationToken,
) {
    let mut line = Vec::new();
    loop {
        let output = tokio::select! {
            output = process.next() => output,
            () = cancel.cancelled() => {
                // Its input is closed by now; whoever does not end then is ended.
                let over = async { while !matches!(process.next().await, Output::Exited(_)) {} };
                let _ = tokio::time::timeout(PATIENCE, over).await;
                return;
            }
        };
        match output {
            Output::Stdout(bytes) => {
                if !take(&mut line, &bytes, &mut to, &noise).await {
                    return;
                }
            }
            Output::Stderr(bytes) => noise.log(&bytes),
            Output::Exited(exit) => {
                noise.exited(exit);
                return;
            }
        }
    }
}

/// Passes whole messages on. Whether there is any use in going on.
async fn take(
    line: &mut Vec<u8>,
    bytes: &[u8],
    to: &mut WriteHalf<DuplexStream>,
    noise: &Noise,
) -> bool {
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        line.extend_from_slice(piece);
        if line.len() > MAX_MESSAGE {
            let most = (MAX_MESSAGE >> 20).to_string();
            noise.fail(Why::ours(Word::McpLong, [most.into()]));
            return false;
        }
        if !piece.ends_with(b"\n") {
            return true;
        }
        if !is_message(line) {
            noise.log(line);
        } else if to.write_all(line).await.is_err() {
            return false;
        }
        line.clear();
        line.shrink_to(BUFFER);
    }
    true
}

/// Programs print other things to stdout, too.
fn is_message(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    text.starts_with(b"{") && memchr::memmem::find(text, b"\"jsonrpc\"").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_pass_and_the_rest_is_a_log() {
        let (ours, theirs) = tokio::io::duplex(1024);
        let (mut read, _) = tokio::io::split(ours);
        let (_keep, mut to) = tokio::io::split(theirs);
        let (noise, mut line) = (Noise::default(), Vec::new());
        let pieces: [&[u8]; 4] = [
            b"starting\n{\"level\":\"info\"}\n{\"jsonrpc\":",
            b"\"2.0\"}",
            b"\nbye\x1b[0m\n",
            b"no end",
        ];
        for piece in pieces {
            assert!(take(&mut line, piece, &mut to, &noise).await);
        }
        let mut buffer = [0; 64];
        let count = read.read(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..count], b"{\"jsonrpc\":\"2.0\"}\n");
        assert_eq!(
            noise.last_words(1000),
            "starting\n{\"level\":\"info\"}\nbye[0m"
        );
        assert_eq!(noise.last_words(3), "[0m");
    }

    #[tokio::test]
    async fn a_message_without_end_is_the_end() {
        let (_ours, theirs) = tokio::io::duplex(1024);
        let (_keep, mut to) = tokio::io::split(theirs);
        let (noise, mut line) = (Noise::default(), Vec::new());
        let chunk = vec![b'x'; 1 << 20];
        let mut taken = 0;
        while take(&mut line, &chunk, &mut to, &noise).await {
            taken += 1;
        }
        assert_eq!(taken, MAX_MESSAGE >> 20);
        assert!(
            noise
                .ending()
                .is_some_and(|why| why.to_string().contains("16 MB"))
        );
    }

    #[test]
    fn of_a_log_the_end_is_kept() {
        let noise = Noise::default();
        for i in 0..10_000 {
            noise.log(format!("line {i}\n").as_bytes());
        }
        noise.log(&vec![b'x'; 3 * MAX_LOG]);
        noise.log(b"\nlast");
        assert!(noise.heard().log.len() <= MAX_LOG);
        assert!(noise.last_words(4).ends_with("last"));
    }
}
