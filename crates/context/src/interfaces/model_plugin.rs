//! A plugin that offers models: a program that takes requests as lines of JSON and answers in lines, kept by the watchdog
//! like every command. It has one request at a time; whoever comes meanwhile gets another of it. Every request has an id: a
//! program that ends its answer with it has said all, and is kept. It speaks no MCP.

use ostler_host::{Input, Output, Process, Stdio};
use ostler_llm::{Error, Plugin, PluginFuture, PluginLines, Price};
use ostler_mcp::{Launcher, MAX_MESSAGE, Program, ServerLog, describe_exit, text, with_log_tail};
use ostler_wire::{Why, Word};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Models of one program.
const MAX_MODELS: usize = 256;
const MAX_NAME: usize = 200;
/// Programs that wait for their next request.
const MAX_IDLE: usize = 2;
/// Lines that are no answer, until the list of models.
const MAX_NOISE_LINES: usize = 10_000;
/// How long a program may take to read a request.
const READING: Duration = Duration::from_secs(60);

/// A model as its program lists it. What is not said is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PluginModel {
    pub name: String,
    /// Tokens.
    pub window: Option<u64>,
    pub max_output: Option<u64>,
    pub images: bool,
    pub reasoning: bool,
    /// USD per million tokens; a program on this machine costs nothing.
    pub price: Option<Price>,
}

/// The way to one program. Dropping it ends those that wait.
pub struct ModelPlugin {
    name: String,
    start: Arc<Start>,
    limit: Duration,
    /// Programs that ended their last answer by its id: whatever they still say has another than the next request.
    idle: Arc<Mutex<Vec<Running>>>,
    requests: AtomicU64,
}

impl std::fmt::Debug for ModelPlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ModelPlugin({})", self.name)
    }
}

impl ModelPlugin {
    /// `limit` is for the time until a program has listed its models.
    pub fn new(
        name: impl Into<String>,
        program: Program,
        launcher: Arc<dyn Launcher>,
        limit: Duration,
    ) -> Self {
        launcher.remember(&program);
        Self {
            name: name.into(),
            start: Arc::new(Start { program, launcher }),
            limit,
            idle: Arc::default(),
            requests: AtomicU64::new(0),
        }
    }

    /// What it offers. The error is the end of a sentence.
    pub async fn models(&self) -> Result<Vec<PluginModel>, Why> {
        let limit = self.limit;
        let asking = async {
            let mut running = self.start.one().await?;
            let id = self.next_id();
            let line = format!("{{\"type\":\"models\",\"id\":\"{id}\"}}\n");
            if let Err(why) = running.write(line.as_bytes()).await {
                // How it ended says more.
                return Err(running.line().await.err().unwrap_or(why));
            }
            for _ in 0..MAX_NOISE_LINES {
                let line = running.line().await?;
                if let Some(models) = listed(&line)? {
                    if marks(&line).id.as_deref() == Some(&id) {
                        keep(&self.idle, running);
                    }
                    return Ok(models);
                }
            }
            Err(Word::PluginNoList.into())
        };
        let asked = tokio::time::timeout(limit, asking).await;
        self.start.launcher.look().await;
        asked.unwrap_or_else(|_| {
            let seconds = limit.as_secs().to_string();
            Err(Why::ours(Word::PluginLate, [seconds.into()]))
        })
    }

    fn next_id(&self) -> String {
        format!("r{}", self.requests.fetch_add(1, Ordering::Relaxed))
    }

    async fn request(&self, line: Vec<u8>) -> Result<Box<dyn PluginLines>, Error> {
        let id = self.next_id();
        let line = named(&line, &id);
        let idle = self.idle.lock();
        let idle = idle.unwrap_or_else(PoisonError::into_inner).pop();
        let reply = async {
            // One that waited may have ended meanwhile.
            if let Some(mut running) = idle
                && running.write(&line).await.is_ok()
            {
                let again = Some((self.start.clone(), line));
                return Ok((running, again));
            }
            let mut running = self.start.one().await?;
            running.write(&line).await?;
            Ok((running, None))
        };
        let (running, again) = reply.await.map_err(|why: Why| {
            Error::fatal(Why::ours(
                Word::PluginNamed,
                [self.name.as_str().into(), why],
            ))
        })?;
        Ok(Box::new(Reply {
            name: self.name.clone(),
            running,
            idle: self.idle.clone(),
            id,
            uses_ids: again.is_some(),
            again,
        }))
    }
}

/// How one is started.
struct Start {
    program: Program,
    launcher: Arc<dyn Launcher>,
}

impl Start {
    async fn one(&self) -> Result<Running, Why> {
        let launched = self.launcher.launch(&self.program, Stdio::PipesWithStdin);
        let launched = launched.await;
        let mut process = launched.map_err(|error| error.failure(&self.program).why)?;
        let input = process.take_input().ok_or(Word::PluginNoInput)?;
        Ok(Running {
            process,
            input,
            line: Vec::new(),
            lines: VecDeque::new(),
            log: ServerLog::default(),
        })
    }
}

/// The same request with an id.
fn named(line: &[u8], id: &str) -> Vec<u8> {
    let rest = line.strip_prefix(b"{").unwrap_or(line);
    [format!("{{\"id\":\"{id}\",").as_bytes(), rest].concat()
}

fn keep(idle: &Mutex<Vec<Running>>, running: Running) {
    let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
    if idle.len() < MAX_IDLE {
        idle.push(running);
    }
}

/// What tells whose a line is.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Marks {
    id: Option<String>,
    #[serde(rename = "type")]
    kind: String,
}

fn marks(line: &str) -> Marks {
    serde_json::from_str(line).unwrap_or_default()
}

fn listed(line: &str) -> Result<Option<Vec<PluginModel>>, Why> {
    #[derive(Deserialize)]
    struct List {
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        models: Vec<PluginModel>,
    }
    let Ok(list) = serde_json::from_str::<List>(line) else {
        return Ok(None);
    };
    if list.kind != "models" {
        return Ok(None);
    }
    let named = list
        .models
        .into_iter()
        .take(MAX_MODELS)
        .map(|model| PluginModel {
            name: text::line(&model.name, MAX_NAME),
            ..model
        });
    let named: Vec<PluginModel> = named.filter(|model| !model.name.is_empty()).collect();
    match named.is_empty() {
        true => Err(Word::PluginNoModel.into()),
        false => Ok(Some(named)),
    }
}

impl Plugin for ModelPlugin {
    fn send(&self, line: Vec<u8>) -> PluginFuture<'_, Box<dyn PluginLines>> {
        Box::pin(self.request(line))
    }
}

/// A program and what it has said so far.
struct Running {
    process: Process,
    input: Input,
    line: Vec<u8>,
    lines: VecDeque<String>,
    log: ServerLog,
}

impl Running {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), Why> {
        let written = tokio::time::timeout(READING, self.input.write_all(bytes)).await;
        match written {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Why::ours(Word::PluginTakesNone, [(&error).into()])),
            Err(_) => Err(Word::PluginReadsNone.into()),
        }
    }

    async fn line(&mut self) -> Result<String, Why> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Ok(line);
            }
            match self.process.next().await {
                Output::Stdout(bytes) => self.take(&bytes)?,
                Output::Stderr(bytes) => self.log.append(&bytes),
                Output::Exited(exit) => {
                    return Err(with_log_tail(describe_exit(exit), &self.log));
                }
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Why> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.len() > MAX_MESSAGE {
                let most = (MAX_MESSAGE >> 20).to_string();
                return Err(Why::ours(Word::PluginLongLine, [most.into()]));
            }
            if piece.ends_with(b"\n") {
                let line = String::from_utf8_lossy(&self.line).into_owned();
                if !line.trim_start().starts_with('{') {
                    self.log.append(&self.line);
                }
                self.lines.push_back(line);
                self.line.clear();
            }
        }
        Ok(())
    }
}

/// An answer on its way.
struct Reply {
    name: String,
    running: Running,
    idle: Arc<Mutex<Vec<Running>>>,
    id: String,
    /// The program ends its answers by id, so that a line without it is none of ours.
    uses_ids: bool,
    /// Of one that waited and has said nothing yet: it may have ended before it was asked.
    again: Option<(Arc<Start>, Vec<u8>)>,
}

impl Reply {
    fn is_ours(&mut self, line: &str) -> bool {
        let Marks { id, kind } = marks(line);
        let named = id.as_deref() == Some(self.id.as_str());
        let ours = named || id.is_none() && !self.uses_ids;
        self.uses_ids |= named && kind == "end";
        ours
    }

    async fn line(&mut self) -> Result<String, Why> {
        loop {
            let line = match (self.running.line().await, &self.again) {
                (Ok(line), _) => line,
                (Err(_), Some((start, request))) => {
                    self.running = start.one().await?;
                    self.running.write(request).await?;
                    (self.again, self.uses_ids) = (None, false);
                    continue;
                }
                (Err(why), None) => return Err(why),
            };
            if self.is_ours(&line) {
                self.again = None;
                return Ok(line);
            }
            // Whoever talks without end is not to keep everybody else waiting.
            tokio::task::yield_now().await;
        }
    }
}

impl PluginLines for Reply {
    fn next(&mut self) -> PluginFuture<'_, String> {
        Box::pin(async move {
            // A program that has failed once fails again; what may be tried again it says itself.
            self.line().await.map_err(|why| {
                Error::fatal(Why::ours(
                    Word::PluginBroke,
                    [self.name.as_str().into(), why],
                ))
            })
        })
    }

    fn finish(self: Box<Self>) {
        let Self {
            running,
            idle,
            uses_ids,
            ..
        } = *self;
        if uses_ids {
            keep(&idle, running);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_the_rest_is_passed_over() {
        for (line, expect) in [
            ("loading", Ok(None)),
            (r#"{"type":"text","text":"x"}"#, Ok(None)),
            (r#"{"type":"models","models":[{"name":" "}]}"#, Err(())),
            (
                r#"{"type":"models","models":[{"name":"a","window":5},{"name":"b","new":1}]}"#,
                Ok(Some(vec!["a".to_owned(), "b".to_owned()])),
            ),
        ] {
            let found = listed(line).map_err(drop);
            let names = |models: Vec<PluginModel>| models.into_iter().map(|m| m.name).collect();
            assert_eq!(found.map(|list| list.map(names)), expect, "{line}");
        }
    }

    #[test]
    fn a_request_gets_an_id_of_its_own() {
        let line = named(b"{\"type\":\"request\"}\n", "r7");
        let Marks { id, kind } = marks(&String::from_utf8(line).unwrap());
        assert_eq!((id.as_deref(), kind.as_str()), (Some("r7"), "request"));
    }
}
