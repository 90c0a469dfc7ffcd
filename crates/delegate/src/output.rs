//! Reads what an agent prints, as it comes: lines into events by the rules of the catalogue, or all of it by a parser of
//! the configuration.

mod events;
mod lines;

pub use lines::{Line, Lines};

use crate::activity::NoticeSource;
use crate::record::{Recorder, plain};
use crate::setup::catalogue::{self, AgentRow, JsonPath, Rule};
use crate::setup::{OutputParser, Pick};
use events::follow;
use regex::Regex;
use serde_json::Value;

/// Bytes of output that is parsed as a whole.
const MAX_WHOLE: usize = 16 << 20;

/// Reads the stdout and stderr of one run.
pub struct Reader<'r> {
    recorder: &'r mut Recorder,
    out: Lines,
    err: Lines,
    rules: &'static [Rule],
    parser: Parser,
    stderr: StderrPatterns,
}

/// What is made of stdout beside its events.
enum Parser {
    Stream {
        session: JsonPath,
        message: JsonPath,
        pick: Pick,
        found: Option<String>,
        /// Events of another agent, where the path finds nothing.
        spare: Option<Box<Spare>>,
    },
    Whole {
        how: Whole,
        text: Vec<u8>,
        is_full: bool,
    },
}

/// The last message by the rules of another agent of the catalogue.
struct Spare {
    rules: &'static [Rule],
    recorder: Recorder,
}

enum Whole {
    Object {
        session: Option<JsonPath>,
        message: JsonPath,
    },
    Regex {
        pattern: Option<Regex>,
        group: usize,
    },
    Text,
}

#[derive(Default)]
struct StderrPatterns {
    failure: Vec<Regex>,
    retry: Vec<Regex>,
    noise: Vec<Regex>,
}

/// What the output gave in the end.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub message: Option<String>,
    /// `None` where there are no sessions.
    pub session: Option<String>,
    /// It said that nothing follows, or its output cannot say that.
    pub is_whole: bool,
    /// Why the output could not be read.
    pub problem: Option<String>,
}

impl<'r> Reader<'r> {
    /// Of an agent of the catalogue, with its own rules: `parser` is that of the row.
    pub fn of_row(row: &'static AgentRow, recorder: &'r mut Recorder) -> Self {
        let mut reader = Self::of_parser(&row.adapter.output_parser, recorder);
        reader.rules = &row.events;
        let compile = |patterns: &[String]| patterns.iter().flat_map(|p| Regex::new(p)).collect();
        reader.stderr = StderrPatterns {
            failure: compile(&row.failure),
            retry: compile(&row.retry),
            noise: compile(&row.noise),
        };
        reader
    }

    /// Of an adapter of the configuration.
    pub fn of_parser(parser: &OutputParser, recorder: &'r mut Recorder) -> Self {
        let whole = |how| Parser::Whole {
            how,
            text: Vec::new(),
            is_full: false,
        };
        let parser = match parser {
            OutputParser::JsonStream {
                session_id_path,
                message_path,
                pick,
                fallback,
            } => Parser::Stream {
                session: JsonPath::parse(session_id_path),
                message: JsonPath::parse(message_path),
                pick: *pick,
                found: None,
                spare: fallback.as_deref().and_then(catalogue::agent).map(|row| {
                    Box::new(Spare {
                        rules: &row.events,
                        recorder: Recorder::new(
                            std::sync::Arc::new(crate::activity::NoWatcher),
                            &[],
                        ),
                    })
                }),
            },
            OutputParser::JsonObject {
                message_path,
                session_id_path,
            } => {
                let session = session_id_path.as_deref().map(str::trim);
                whole(Whole::Object {
                    session: session.filter(|path| !path.is_empty()).map(JsonPath::parse),
                    message: JsonPath::parse(message_path),
                })
            }
            OutputParser::Regex {
                session_id_pattern,
                message_capture_group,
            } => whole(Whole::Regex {
                pattern: Regex::new(session_id_pattern).ok(),
                group: *message_capture_group,
            }),
            OutputParser::Text => whole(Whole::Text),
        };
        Self {
            recorder,
            out: Lines::default(),
            err: Lines::default(),
            rules: &[],
            parser,
            stderr: StderrPatterns::default(),
        }
    }

    /// Its vendor refuses, and another model can take over.
    pub fn gives_up(&self) -> bool {
        self.recorder.gives_up()
    }

    pub fn stdout(&mut self, bytes: &[u8]) {
        if let Parser::Whole { text, is_full, .. } = &mut self.parser {
            let room = MAX_WHOLE.saturating_sub(text.len());
            text.extend(bytes.iter().take(room));
            *is_full |= bytes.len() > room;
            return;
        }
        self.out.push(bytes);
        while let Some(line) = self.out.next() {
            self.out_line(line);
        }
    }

    pub fn stderr(&mut self, bytes: &[u8]) {
        self.err.push(bytes);
        while let Some(line) = self.err.next() {
            self.err_line(&line);
        }
    }

    /// Reads what is left, and says what came of it.
    pub fn end(mut self) -> Answer {
        if let Some(line) = self.out.rest() {
            self.out_line(line);
        }
        if let Some(line) = self.err.rest() {
            self.err_line(&line);
        }
        self.recorder.flush();
        let says_done = self
            .rules
            .iter()
            .any(|rule| rule.emit == catalogue::Emit::Done);
        let mut answer = Answer {
            message: self.recorder.last().map(str::to_owned),
            session: self.recorder.session_id().map(str::to_owned),
            is_whole: !says_done || self.recorder.is_done(),
            problem: None,
        };
        match self.parser {
            Parser::Stream { found, spare, .. } => {
                let spare = spare.and_then(|mut spare| {
                    spare.recorder.flush();
                    spare.recorder.last().map(str::to_owned)
                });
                if self.rules.is_empty() {
                    answer.message = found.or(spare);
                }
            }
            Parser::Whole { is_full: true, .. } => {
                answer.problem = Some(format!("it printed more than {} MiB", MAX_WHOLE >> 20));
            }
            Parser::Whole { how, text, .. } => how.read(&text, &mut answer),
        }
        if self.rules.is_empty()
            && let Some(message) = &answer.message
        {
            self.recorder.answer(message);
        }
        answer
    }

    fn out_line(&mut self, line: Line) {
        let line = match line {
            Line::Text(line) => line,
            Line::TooLong => {
                let text = "a line of its output is too long and was left out";
                return self.recorder.notice(NoticeSource::Ours, text);
            }
        };
        let text = line.trim();
        if text.is_empty() {
            return;
        }
        match serde_json::from_str::<Value>(text) {
            Ok(value @ Value::Object(_)) => self.event(&value, text),
            Ok(_) | Err(_) => self.recorder.notice(NoticeSource::Output, text),
        }
    }

    fn event(&mut self, value: &Value, line: &str) {
        for rule in self.rules {
            follow(rule, value, line, self.recorder);
        }
        let Parser::Stream {
            session,
            message,
            pick,
            found,
            spare,
        } = &mut self.parser
        else {
            return;
        };
        if let Some(spare) = spare {
            for rule in spare.rules {
                follow(rule, value, line, &mut spare.recorder);
            }
        }
        if self.rules.is_empty()
            && let Some(id) = session.find(value).and_then(Value::as_str)
        {
            self.recorder.session(id);
        }
        if let Some(text) = message.text(value)
            && (found.is_none() || *pick == Pick::Last)
        {
            *found = Some(text);
        }
    }

    fn err_line(&mut self, line: &Line) {
        let Line::Text(line) = line else {
            return;
        };
        let line = plain(line);
        let line = line.trim_end();
        if self.stderr.noise.iter().any(|noise| noise.is_match(line)) {
            return;
        }
        let retry = self.stderr.retry.iter().find_map(|p| p.captures(line));
        if let Some(found) = retry {
            let group = |n: usize| found.get(n).map_or("", |group| group.as_str());
            let retry = crate::activity::Retry {
                attempt: group(1).parse().ok(),
                message: group(2).to_owned(),
                ..Default::default()
            };
            // Nobody knows what of stdout came before it.
            return self.recorder.refused(retry, line);
        }
        let failure = self.stderr.failure.iter().find_map(|p| p.captures(line));
        if let Some(found) = failure {
            let reason = found.get(1).map_or(line, |group| group.as_str());
            self.recorder.failure(reason, line);
        }
        self.recorder.notice(NoticeSource::Stderr, line);
    }
}

impl Whole {
    fn read(&self, bytes: &[u8], answer: &mut Answer) {
        let text = String::from_utf8_lossy(bytes);
        match self {
            Self::Text => {
                answer.message = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
            }
            Self::Object { session, message } => match serde_json::from_str::<Value>(text.trim()) {
                Ok(value) => {
                    answer.message = message.text(&value);
                    answer.session = session.as_ref().and_then(|path| path.text(&value));
                }
                Err(error) => answer.problem = Some(format!("its output is not JSON: {error}")),
            },
            Self::Regex { pattern, group } => {
                let Some(found) = pattern.as_ref().and_then(|p| p.captures(&text)) else {
                    answer.problem = Some("its output does not match the pattern".to_owned());
                    return;
                };
                let text = |n: usize| found.get(n).map(|group| group.as_str().trim().to_owned());
                answer.message = text(*group).filter(|text| !text.is_empty());
                // The session is the first group that is not the message; a pattern without one matches it whole.
                let others = (1..found.len()).find(|n| n != group);
                answer.session = text(others.unwrap_or_default()).filter(|id| !id.is_empty());
            }
        }
    }
}
