//! A server that is a program: kept by the watchdog like every command, its lines carried to and fro. What is no message
//! counts as its log. A message without end ends the server, not us.

use crate::failure::{Failure, FailureCode};
use crate::text;
use ostler_host::{Exit, Input, Output, Process};
use ostler_wire::{Language, Why, Word};
use serde::de::IgnoredAny;
use serde_json::json;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Bytes of one message.
pub const MAX_MESSAGE: usize = 16 * 1024 * 1024;
/// Between us and the library that reads the messages.
pub(crate) const BUFFER: usize = 256 * 1024;
/// Of what a server logs, the last of which is kept.
const MAX_LOG: usize = 16 * 1024;
/// Of a server's log that stands in an error.
const MAX_LAST_WORDS: usize = 600;
/// How long a server may take to end when its input is closed.
const PATIENCE: Duration = Duration::from_millis(500);
/// Of a line, in which it must say which request it answers.
const MAX_START: usize = 200;
/// Levels of a message; the library passes over what has more, without a word.
pub(crate) const MAX_DEPTH: usize = 127;
const PARSE_ERROR: i32 = -32700;
/// Messages that a server may send while it does not read what we say.
const MAX_UNREAD: usize = 10_000;

/// What is known of a server beside its messages. Cheap to clone.
#[derive(Clone, Default)]
pub struct ServerLog(Arc<Mutex<LogState>>);

#[derive(Default)]
struct LogState {
    log: VecDeque<u8>,
    exit: Option<Exit>,
    /// Why we ended it.
    fault: Option<Failure>,
}

/// How far the program is behind with reading.
#[derive(Default)]
struct Backlog {
    /// Something lies before it that it does not take.
    waits: AtomicBool,
    /// Messages of its own meanwhile.
    sent: AtomicUsize,
}

impl Backlog {
    fn wait(&self) {
        self.sent.store(0, Ordering::Relaxed);
        self.waits.store(true, Ordering::Relaxed);
    }

    fn end(&self) {
        self.waits.store(false, Ordering::Relaxed);
    }

    /// Counts a message; whether that was one too many.
    fn is_over(&self) -> bool {
        let sent = self.sent.fetch_add(1, Ordering::Relaxed);
        self.waits.load(Ordering::Relaxed) && sent >= MAX_UNREAD
    }
}

impl ServerLog {
    fn state(&self) -> MutexGuard<'_, LogState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn append(&self, bytes: &[u8]) {
        let mut state = self.state();
        let tail = bytes
            .get(bytes.len().saturating_sub(MAX_LOG)..)
            .unwrap_or_default();
        let over = (state.log.len() + tail.len()).saturating_sub(MAX_LOG);
        state.log.drain(..over);
        state.log.extend(tail);
    }

    pub fn exited(&self, exit: Exit) {
        self.state().exit = Some(exit);
    }

    pub(crate) fn fail(&self, failure: Failure) {
        self.state().fault.get_or_insert(failure);
    }

    pub(crate) fn fault(&self) -> Option<Failure> {
        self.state().fault.clone()
    }

    /// The end of its log, cleaned.
    pub fn tail(&self, most: usize) -> String {
        let state = self.state();
        let bytes: Vec<u8> = state.log.iter().copied().collect();
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
        let state = self.state();
        if let Some(fault) = &state.fault {
            return Some(fault.why.clone());
        }
        state.exit.map(describe_exit)
    }
}

/// How a program ended, as the end of a sentence.
pub fn describe_exit(exit: Exit) -> Why {
    match (exit.code, exit.signal) {
        (Some(code), _) => Why::ours(Word::McpExited, [code.to_string().into()]),
        (None, Some(signal)) => Why::ours(Word::McpSignal, [signal.to_string().into()]),
        (None, None) => Word::McpOrphan.into(),
    }
}

/// Why something failed, with the end of what the program logged.
pub fn with_log_tail(why: Why, log: &ServerLog) -> Why {
    match log.tail(MAX_LAST_WORDS) {
        words if words.is_empty() => why,
        words => Why::ours(Word::McpLastWords, [why, words.into()]),
    }
}

/// Connects to a program that was just started. The stream carries messages and ends with the program. `cancel` ends both, and is
/// cancelled when they end by themselves.
pub fn connect(mut process: Process, log: &ServerLog, cancel: CancellationToken) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    let (from_us, to_us) = tokio::io::split(theirs);
    let deaf = CancellationToken::new();
    let backlog = Arc::new(Backlog::default());
    if let Some(input) = process.take_input() {
        let (deaf, cancel, backlog) = (deaf.clone(), cancel.clone(), backlog.clone());
        tokio::spawn(async move {
            if carry_in(from_us, input, (cancel, backlog)).await == Carried::Refused {
                deaf.cancel();
            }
        });
    }
    let lines = Lines {
        backlog,
        ..Lines::new(to_us, log.clone())
    };
    tokio::spawn(async move {
        carry_out(process, lines, (cancel.clone(), deaf)).await;
        cancel.cancel();
    });
    ours
}

#[derive(PartialEq, Eq)]
enum Carried {
    All,
    /// The program takes no more.
    Refused,
}

/// Ends when we close the stream, which closes the program's input.
async fn carry_in(
    mut from: ReadHalf<DuplexStream>,
    mut input: Input,
    (cancel, backlog): (CancellationToken, Arc<Backlog>),
) -> Carried {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            () = cancel.cancelled() => return Carried::All,
        };
        let Ok(count @ 1..) = read else {
            return Carried::All;
        };
        let bytes = buffer.get(..count).unwrap_or_default();
        backlog.wait();
        let written = tokio::select! {
            written = input.write_all(bytes) => written,
            () = cancel.cancelled() => return Carried::All,
        };
        backlog.end();
        if written.is_err() {
            return Carried::Refused;
        }
    }
}

async fn carry_out(
    mut process: Process,
    mut lines: Lines,
    (cancel, deaf): (CancellationToken, CancellationToken),
) {
    let log = lines.log.clone();
    let mut until = None;
    loop {
        let output = tokio::select! {
            output = process.next() => output,
            // One that is about to end closes its input, too.
            () = deaf.cancelled(), if until.is_none() => {
                until = Some(Instant::now() + PATIENCE);
                continue;
            }
            () = at(until) => {
                log.fail(Failure::new(FailureCode::Ended, Word::McpDeaf));
                return;
            }
            () = cancel.cancelled() => {
                // Its input is closed by now; a program that does not end then is ended.
                let over = async { while !matches!(process.next().await, Output::Exited(_)) {} };
                let _ = tokio::time::timeout(PATIENCE, over).await;
                return;
            }
        };
        match output {
            Output::Stdout(bytes) => {
                if !lines.take(&bytes).await {
                    return;
                }
            }
            Output::Stderr(bytes) => log.append(&bytes),
            Output::Exited(exit) => {
                log.exited(exit);
                return;
            }
        }
    }
}

async fn at(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
    }
}

/// What a server says, on its way to the library.
pub(crate) struct Lines {
    /// The beginning of the next one.
    line: Vec<u8>,
    to: WriteHalf<DuplexStream>,
    pub log: ServerLog,
    backlog: Arc<Backlog>,
}

impl Lines {
    pub fn new(to: WriteHalf<DuplexStream>, log: ServerLog) -> Self {
        Self {
            line: Vec::new(),
            to,
            log,
            backlog: Arc::default(),
        }
    }

    /// Passes whole messages on. Whether there is any use in going on.
    pub async fn take(&mut self, bytes: &[u8]) -> bool {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.len() > MAX_MESSAGE {
                let most = (MAX_MESSAGE >> 20).to_string();
                let why = Why::ours(Word::McpLong, [most.into()]);
                self.log.fail(Failure::new(FailureCode::TooLong, why));
                return false;
            }
            if !piece.ends_with(b"\n") {
                return true;
            }
            if !self.pass().await {
                return false;
            }
            self.line.clear();
            self.line.shrink_to(BUFFER);
        }
        true
    }

    async fn pass(&mut self) -> bool {
        let message = match read(&self.line) {
            Line::Message => Cow::Borrowed(self.line.as_slice()),
            Line::Broken(error) => {
                self.log.append(&self.line);
                Cow::Owned(error)
            }
            Line::Log => {
                self.log.append(&self.line);
                return true;
            }
        };
        if self.backlog.is_over() {
            self.log
                .fail(Failure::new(FailureCode::Ended, Word::McpUnread));
            return false;
        }
        self.to.write_all(&message).await.is_ok()
    }
}

enum Line {
    Message,
    /// An answer that nobody can read, and the error that goes to whoever waits for it.
    Broken(Vec<u8>),
    /// Programs print other things to stdout, too.
    Log,
}

fn read(line: &[u8]) -> Line {
    let text = line.trim_ascii_start();
    if !text.starts_with(b"{") || memchr::memmem::find(text, b"\"jsonrpc\"").is_none() {
        return Line::Log;
    }
    let fault = match serde_json::from_slice::<IgnoredAny>(text) {
        Err(error) => error.to_string(),
        Ok(_) if depth(text) > MAX_DEPTH => {
            Language::English.fill(Word::McpTooDeep, &[&MAX_DEPTH.to_string()])
        }
        Ok(_) => return Line::Message,
    };
    match answered(text) {
        Some(id) => {
            let said = Language::English.fill(Word::McpUnreadable, &[&fault]);
            let error = json!({"code": PARSE_ERROR, "message": said});
            let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
            Line::Broken(format!("{answer}\n").into_bytes())
        }
        None => Line::Log,
    }
}

/// How deep a value goes that is known to be one.
pub(crate) fn depth(text: &[u8]) -> usize {
    let (mut now, mut most, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                now += 1;
                most = most.max(now);
            }
            b'}' | b']' => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// The request that a broken line answers, if it says so before anything else.
fn answered(line: &[u8]) -> Option<u64> {
    let start = line.get(..MAX_START).unwrap_or(line);
    let start = String::from_utf8_lossy(start);
    let (before, after) = start.split_once("\"id\":")?;
    let is_first = !["\"result\"", "\"error\"", "\"params\"", "\"method\""]
        .iter()
        .any(|key| before.contains(key));
    let after = after.trim_start();
    let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (id, rest) = after.split_at_checked(digits)?;
    let rest = rest.trim_start().strip_prefix(',')?.trim_start();
    let answers = rest.starts_with("\"result\"") || rest.starts_with("\"error\"");
    id.parse().ok().filter(|_| is_first && answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(theirs: DuplexStream) -> (ReadHalf<DuplexStream>, Lines) {
        let (read, to) = tokio::io::split(theirs);
        (read, Lines::new(to, ServerLog::default()))
    }

    #[test]
    fn a_broken_answer_is_an_error_for_whoever_waits() {
        let deep = "[".repeat(200);
        for (line, expect) in [
            (
                format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"a":{deep}"#),
                Some(7),
            ),
            (
                r#"{"jsonrpc":"2.0", "id": 8 , "error": oops"#.into(),
                Some(8),
            ),
            (
                format!(
                    r#"{{"jsonrpc":"2.0","id":9,"result":{deep}{}}}"#,
                    "]".repeat(200)
                ),
                Some(9),
            ),
            // It asks, or says nothing of whom it answers, or hides it.
            (
                r#"{"jsonrpc":"2.0","id":9,"method":"ping","params":"#.into(),
                None,
            ),
            (
                r#"{"jsonrpc":"2.0","method":"x","params":{"id":9,"result":"#.into(),
                None,
            ),
            (r#"{"jsonrpc":"2.0","id":"a","result":"#.into(), None),
            (r#"{"jsonrpc":"2.0","id":"#.into(), None),
            (
                format!(
                    r#"{{"jsonrpc":"2.0","pad":"{}","id":1,"result":"#,
                    "é".repeat(150)
                ),
                None,
            ),
        ] {
            let broken = match read(line.as_bytes()) {
                Line::Broken(error) => serde_json::from_slice(&error).unwrap(),
                Line::Message => panic!("{line}"),
                Line::Log => serde_json::Value::Null,
            };
            assert_eq!(broken["id"].as_u64(), expect, "{line}");
        }
    }

    #[test]
    fn levels_are_counted_outside_of_words() {
        for (text, expect) in [
            ("{}", 1),
            (r#"{"a":[[1],{"b":2}]}"#, 3),
            (r#"{"a":"[[[{\"[[["}"#, 1),
            (r#"{"a":"\\","b":[1]}"#, 2),
        ] {
            assert_eq!(depth(text.as_bytes()), expect, "{text}");
        }
    }

    #[tokio::test]
    async fn whoever_sends_without_reading_is_ended() {
        let (mut ours, theirs) = tokio::io::duplex(1024);
        tokio::spawn(async move { tokio::io::copy(&mut ours, &mut tokio::io::sink()).await });
        let (_keep, mut lines) = lines(theirs);
        let message = b"{\"jsonrpc\":\"2.0\"}\n";
        for _ in 0..2 * MAX_UNREAD {
            assert!(lines.take(message).await);
        }
        lines.backlog.wait();
        for _ in 0..MAX_UNREAD {
            assert!(lines.take(message).await);
        }
        assert!(!lines.take(message).await);
        assert!(lines.log.fault().is_some());
    }

    #[tokio::test]
    async fn messages_pass_and_the_rest_is_a_log() {
        let (ours, theirs) = tokio::io::duplex(1024);
        let (mut read, _) = tokio::io::split(ours);
        let (_keep, mut lines) = lines(theirs);
        let log = lines.log.clone();
        let pieces: [&[u8]; 4] = [
            b"starting\n{\"level\":\"info\"}\n{\"jsonrpc\":",
            b"\"2.0\"}",
            b"\nbye\x1b[0m\n",
            b"no end",
        ];
        for piece in pieces {
            assert!(lines.take(piece).await);
        }
        let mut buffer = [0; 64];
        let count = read.read(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..count], b"{\"jsonrpc\":\"2.0\"}\n");
        assert_eq!(log.tail(1000), "starting\n{\"level\":\"info\"}\nbye[0m");
        assert_eq!(log.tail(3), "[0m");
    }

    #[tokio::test]
    async fn a_message_without_end_is_the_end() {
        let (_ours, theirs) = tokio::io::duplex(1024);
        let (_keep, mut lines) = lines(theirs);
        let log = lines.log.clone();
        let chunk = vec![b'x'; 1 << 20];
        let mut taken = 0;
        while lines.take(&chunk).await {
            taken += 1;
        }
        assert_eq!(taken, MAX_MESSAGE >> 20);
        assert!(
            log.ending()
                .is_some_and(|why| why.to_string().contains("16 MB"))
        );
    }

    #[test]
    fn of_a_log_the_end_is_kept() {
        let log = ServerLog::default();
        for i in 0..10_000 {
            log.append(format!("line {i}\n").as_bytes());
        }
        log.append(&vec![b'x'; 3 * MAX_LOG]);
        log.append(b"\nlast");
        assert!(log.state().log.len() <= MAX_LOG);
        assert!(log.tail(4).ends_with("last"));
    }
}
