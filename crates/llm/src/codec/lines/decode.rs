//! Reads the lines of an answer. What is no line of ours is passed over: programs print other things, too.

use super::super::{Decoder, Frame, Kept, cut_off};
use crate::{Chunk, Error, TokenUsage};
use ostler_wire::{Json, Stop, Why, Word};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// Of what a program says goes wrong.
const MAX_SAID: usize = 2_000;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Text {
        text: String,
    },
    Reasoning {
        text: String,
    },
    EndText {
        replay: Option<Value>,
    },
    EndReasoning {
        replay: Option<Value>,
    },
    Call {
        #[serde(default)]
        id: String,
        name: String,
        #[serde(default)]
        arguments: Value,
        replay: Option<Value>,
    },
    Usage {
        #[serde(default)]
        input: u64,
        #[serde(default)]
        cached: u64,
        #[serde(default)]
        cache_write: u64,
        #[serde(default)]
        output: u64,
    },
    Stop {
        reason: Reason,
    },
    End,
    Error {
        #[serde(default)]
        message: String,
        #[serde(default)]
        kind: String,
        after_seconds: Option<u64>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reason {
    End,
    Calls,
    Length,
    Refusal,
    #[serde(other)]
    Other,
}

#[derive(Default)]
pub struct Reader {
    kept: Kept,
    done: bool,
    called: bool,
    stopped: bool,
}

impl Reader {
    fn part(&mut self, chunk: Chunk, bytes: usize, out: &mut Vec<Chunk>) -> Result<(), Error> {
        self.kept.bytes(bytes)?;
        out.push(chunk);
        Ok(())
    }

    fn line(&mut self, line: Line, bytes: usize, out: &mut Vec<Chunk>) -> Result<(), Error> {
        let blob = |value: Option<Value>| value.as_ref().map(Json::of);
        match line {
            Line::Text { text } => self.part(Chunk::Text(text), bytes, out),
            Line::Reasoning { text } => self.part(Chunk::Reasoning(text), bytes, out),
            Line::EndText { replay } => {
                self.kept.part()?;
                let replay = blob(replay);
                self.part(Chunk::EndText { replay }, bytes, out)
            }
            Line::EndReasoning { replay } => {
                self.kept.part()?;
                let replay = blob(replay);
                self.part(Chunk::EndReasoning { replay }, bytes, out)
            }
            Line::Call {
                id,
                name,
                arguments,
                replay,
            } => {
                self.kept.part()?;
                self.called = true;
                let call = Chunk::Call {
                    id,
                    name,
                    arguments: match arguments {
                        Value::String(text) => text,
                        Value::Null => "{}".into(),
                        other => other.to_string(),
                    },
                    replay: blob(replay),
                };
                self.part(call, bytes, out)
            }
            Line::Usage {
                input,
                cached,
                cache_write,
                output,
            } => {
                out.push(Chunk::Usage(TokenUsage {
                    input,
                    cached,
                    cache_write,
                    output,
                }));
                Ok(())
            }
            Line::Stop { reason } => {
                self.stopped = true;
                out.push(Chunk::Stop(match reason {
                    Reason::End | Reason::Other => Stop::End,
                    Reason::Calls => Stop::Calls,
                    Reason::Length => Stop::Length,
                    Reason::Refusal => Stop::Refusal,
                }));
                Ok(())
            }
            Line::End => {
                if !self.stopped {
                    out.push(Chunk::Stop(match self.called {
                        true => Stop::Calls,
                        false => Stop::End,
                    }));
                }
                self.done = true;
                Ok(())
            }
            Line::Error {
                message,
                kind,
                after_seconds,
            } => Err(fault(&message, &kind, after_seconds)),
            Line::Other => Ok(()),
        }
    }
}

fn fault(message: &str, kind: &str, after_seconds: Option<u64>) -> Error {
    let message: Why = match message.trim() {
        "" => Word::LlmPluginMute.into(),
        said => said.chars().take(MAX_SAID).collect::<String>().into(),
    };
    match kind {
        "retryable" => Error::Retryable {
            message,
            status: None,
            after: after_seconds.map(Duration::from_secs),
        },
        "overflow" => Error::Overflow { message },
        "auth" => Error::Auth { message },
        _ => Error::fatal(message),
    }
}

impl Decoder for Reader {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Chunk>) -> Result<(), Error> {
        if self.done {
            return Ok(());
        }
        match serde_json::from_str::<Line>(frame.data) {
            Ok(line) => self.line(line, frame.data.len(), out),
            Err(_) => Ok(()),
        }
    }

    fn whole(&mut self, body: &str, out: &mut Vec<Chunk>) -> Result<(), Error> {
        for data in body.lines() {
            self.frame(&Frame { event: "", data }, out)?;
        }
        self.end(out)
    }

    fn end(&mut self, _: &mut Vec<Chunk>) -> Result<(), Error> {
        match self.done {
            true => Ok(()),
            false => Err(cut_off()),
        }
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Assembler;

    fn read(lines: &[&str]) -> String {
        let (mut reader, mut out) = (Reader::default(), Vec::new());
        let mut failed = None;
        for data in lines {
            let read = reader.frame(&Frame { event: "", data }, &mut out);
            failed = failed.or(read.err());
        }
        let failed = failed.or(reader.end(&mut out).err());
        let mut assembler = Assembler::default();
        out.into_iter().for_each(|chunk| assembler.push(chunk));
        let answer = assembler.finish();
        let failed = failed.map(|error| (error.kind(), error.to_string()));
        format!("{:?} {:?} {failed:?}", answer.parts, answer.stop)
    }

    #[test]
    fn answers_and_what_is_none() {
        let table: [&[&str]; 6] = [
            &[
                "loading weights…",
                r#"{"type":"text","text":"Hel"}"#,
                r#"{"type":"tick"}"#,
                r#"{"type":"text","text":"lo"}"#,
                r#"{"type":"usage","input":3,"output":2}"#,
                r#"{"type":"end"}"#,
                r#"{"type":"text","text":"late"}"#,
            ],
            &[
                r#"{"type":"call","name":"ls","arguments":{"path":"."}}"#,
                r#"{"type":"end"}"#,
            ],
            &[r#"{"type":"stop","reason":"length"}"#, r#"{"type":"end"}"#],
            &[r#"{"type":"text","text":"half"}"#],
            &[r#"{"type":"error","message":"too long","kind":"overflow"}"#],
            &[r#"{"type":"error"}"#],
        ];
        insta::assert_snapshot!(table.map(read).join("\n"), @r#"
        [Text { text: "Hello", replay: None }] Some(End) None
        [Call { id: "", name: "ls", arguments: "{\"path\":\".\"}", replay: None }] Some(Calls) None
        [] Some(Length) None
        [Text { text: "half", replay: None }] None Some(("retryable", "the answer was cut off: the stream ended before the endpoint said it was complete"))
        [] None Some(("overflow", "too long"))
        [] None Some(("fatal", "the plugin failed without saying why"))
        "#);
    }
}
