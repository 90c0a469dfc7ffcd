//! A plugin that offers models: a program that takes requests as lines of JSON and answers in lines, kept by the watchdog
//! like every command. It has one request at a time; whoever comes meanwhile gets another of it. It speaks no MCP.

use super::connect::{command, last_words, not_started};
use super::settings::{Program, Surroundings};
use super::stdio::{MAX_MESSAGE, Noise, ended};
use super::text;
use ostler_host::{Input, Output, Process};
use ostler_llm::{Error, Plugin, PluginFuture, PluginLines, Price};
use ostler_wire::{Why, Word};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Models of one program.
const MAX_MODELS: usize = 256;
const MAX_NAME: usize = 200;
/// Programs that wait for their next request.
const MAX_IDLE: usize = 2;
/// Lines that are no answer, until the list of models.
const MAX_NOISE_LINES: usize = 10_000;
/// How long a program that waited is listened to before its next request.
const SETTLING: Duration = Duration::from_millis(2);
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
    program: Program,
    around: Surroundings,
    idle: Arc<Mutex<Vec<Running>>>,
}

impl std::fmt::Debug for ModelPlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ModelPlugin({})", self.name)
    }
}

impl ModelPlugin {
    pub fn new(name: impl Into<String>, program: Program, around: Surroundings) -> Self {
        Self {
            name: name.into(),
            program,
            around,
            idle: Arc::default(),
        }
    }

    /// What it offers. The error is the end of a sentence.
    pub async fn models(&self) -> Result<Vec<PluginModel>, Why> {
        let limit = self.around.settings.start;
        let asking = async {
            let mut running = self.start().await?;
            if let Err(why) = running.write(b"{\"type\":\"models\"}\n").await {
                // How it ended says more.
                return Err(running.line().await.err().unwrap_or(why));
            }
            for _ in 0..MAX_NOISE_LINES {
                let line = running.line().await?;
                if let Some(models) = listed(&line)? {
                    self.idle
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(running);
                    return Ok(models);
                }
            }
            Err(Word::PluginNoList.into())
        };
        let asked = tokio::time::timeout(limit, asking).await;
        asked.unwrap_or_else(|_| {
            let seconds = limit.as_secs().to_string();
            Err(Why::ours(Word::PluginLate, [seconds.into()]))
        })
    }

    async fn start(&self) -> Result<Running, Why> {
        let command = command(&self.program, &self.around)?;
        let process = self.around.host.spawn(command).await;
        let mut process = process.map_err(|e| not_started(&self.program, &e))?;
        let input = process.take_input().ok_or(Word::PluginNoInput)?;
        Ok(Running {
            process,
            input,
            line: Vec::new(),
            lines: VecDeque::new(),
            noise: Noise::default(),
        })
    }

    async fn ready(&self) -> Result<Running, Why> {
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        if let Some(mut running) = idle
            && running.is_quiet().await
        {
            return Ok(running);
        }
        self.start().await
    }

    async fn request(&self, line: Vec<u8>) -> Result<Box<dyn PluginLines>, Error> {
        let fatal = |why: Why| {
            Error::fatal(Why::ours(
                Word::PluginNamed,
                [self.name.as_str().into(), why],
            ))
        };
        let mut running = self.ready().await.map_err(fatal)?;
        // One that waited may have ended meanwhile.
        if running.write(&line).await.is_err() {
            running = self.start().await.map_err(fatal)?;
            running.write(&line).await.map_err(fatal)?;
        }
        Ok(Box::new(Reply {
            name: self.name.clone(),
            running,
            idle: self.idle.clone(),
        }))
    }
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
    noise: Noise,
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

    /// Whether it still runs and has said nothing since its answer: that would be taken for the next one.
    async fn is_quiet(&mut self) -> bool {
        tokio::time::timeout(SETTLING, self.line()).await.is_err() && self.line.is_empty()
    }

    async fn line(&mut self) -> Result<String, Why> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Ok(line);
            }
            match self.process.next().await {
                Output::Stdout(bytes) => self.take(&bytes)?,
                Output::Stderr(bytes) => self.noise.log(&bytes),
                Output::Exited(exit) => {
                    return Err(last_words(ended(exit), &self.noise));
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
                    self.noise.log(&self.line);
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
}

impl PluginLines for Reply {
    fn next(&mut self) -> PluginFuture<'_, String> {
        Box::pin(async move {
            let line = self.running.line().await;
            // A program that has failed once fails again; what may be tried again it says itself.
            line.map_err(|why| {
                Error::fatal(Why::ours(
                    Word::PluginBroke,
                    [self.name.as_str().into(), why],
                ))
            })
        })
    }

    fn finish(self: Box<Self>) {
        let Self { running, idle, .. } = *self;
        let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.push(running);
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
}
