//! What the four protocol writers share: the answer being given, and the frames it becomes.

use crate::Kind;
use crate::captured::Captured;
use crate::script::{Call, Part, Reasoning, Step, Usage};
use crate::seal;
use serde_json::Value;
use std::ops::ControlFlow;

pub(super) const CREATED: u64 = 1_700_000_000;

/// One SSE frame before it is written.
pub(super) struct Frame {
    pub event: Option<String>,
    pub data: String,
    pub mark: Mark,
}

impl Frame {
    pub fn plain(mark: Mark, data: String) -> Frame {
        Frame {
            event: None,
            data,
            mark,
        }
    }
}

/// What a frame carries, so that faults can be placed without knowing the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Head,
    Reasoning,
    Text,
    /// A piece of a call's arguments.
    Args,
    /// A call that fits in one frame.
    WholeCall,
    Tail,
    /// An SSE comment: `data` is written as it is.
    Comment,
}

/// Where frames go; `Break` ends the answer early.
pub(super) type Emit<'a> = &'a mut dyn FnMut(Frame) -> Flow;
pub(super) type Flow = ControlFlow<()>;

/// An answer, together with the request it answers.
pub(super) struct Reply<'a> {
    pub kind: Kind,
    pub step: &'a Step,
    pub request: &'a Captured,
    pub usage: Usage,
    /// Position of the request among the server's requests.
    pub serial: usize,
    /// Calls already in the request: numbers the new ones, so that ids stay unique in a
    /// conversation even when another server started it.
    pub calls_before: usize,
}

impl Reply<'_> {
    /// A response id with the vendor's prefix.
    pub fn id(&self, prefix: &str) -> String {
        format!("{prefix}mock{:04}", self.serial)
    }

    pub fn model(&self) -> &str {
        self.request.model()
    }

    /// The parts, each call with its id and its position among the calls.
    pub fn parts(&self) -> Vec<Said<'_>> {
        let mut index = 0;
        let mut said = vec![];
        for part in &self.step.parts {
            said.push(match part {
                Part::Reasoning(reasoning) => Said::Reasoning(reasoning),
                Part::Text(chunks) => Said::Text(chunks),
                Part::Call(call) => {
                    index += 1;
                    Said::Call(SaidCall {
                        call,
                        index: index - 1,
                        id: self.call_id(call, index),
                    })
                }
            });
        }
        said
    }

    pub fn has_calls(&self) -> bool {
        self.step.parts.iter().any(|p| matches!(p, Part::Call(_)))
    }

    /// The blob that goes with a piece of reasoning.
    pub fn blob(&self, reasoning: &Reasoning) -> String {
        let own = || seal::seal(self.kind, self.model(), &reasoning.chunks.concat());
        reasoning.blob.clone().unwrap_or_else(own)
    }

    fn call_id(&self, call: &Call, number: usize) -> Option<String> {
        let prefix = match self.kind {
            Kind::Chat | Kind::Responses | Kind::Gemini => "call_",
            Kind::Messages => "toolu_",
        };
        match call.id.as_deref() {
            Some("") => None,
            Some(id) => Some(id.into()),
            None => Some(format!(
                "{prefix}mock{:04}x{}",
                self.serial,
                self.calls_before + number
            )),
        }
    }
}

pub(super) enum Said<'a> {
    Reasoning(&'a Reasoning),
    Text(&'a [String]),
    Call(SaidCall<'a>),
}

pub(super) struct SaidCall<'a> {
    pub call: &'a Call,
    pub index: usize,
    pub id: Option<String>,
}

/// A JSON text with holes, so that a stream of twenty thousand deltas is not built value by value.
/// A hole is the string `HOLE`; holes are filled in the order they appear.
pub(super) struct Template(Vec<String>);

pub(super) const HOLE: &str = "@hole@";

impl Template {
    pub fn new(value: &Value) -> Template {
        let hole = format!("\"{HOLE}\"");
        Template(value.to_string().split(&hole).map(String::from).collect())
    }

    /// `fills` are JSON texts.
    pub fn fill<const N: usize>(&self, fills: [&str; N]) -> String {
        let mut out = String::new();
        let mut fills = fills.into_iter();
        for piece in &self.0 {
            out.push_str(piece);
            out.push_str(fills.next().unwrap_or_default());
        }
        out
    }
}

/// One frame per chunk, the chunk in the template's only hole.
pub(super) fn deltas(
    emit: Emit,
    mark: Mark,
    event: Option<&str>,
    value: &Value,
    chunks: &[String],
) -> Flow {
    let line = Template::new(value);
    for text in chunks {
        emit(Frame {
            event: event.map(String::from),
            data: line.fill([&quoted(text)]),
            mark,
        })?;
    }
    ControlFlow::Continue(())
}

/// A string as JSON text.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
