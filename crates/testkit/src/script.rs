//! What the mock model says: a `Step` is one answer, in protocol-neutral terms, with the faults
//! to show while saying it. Serialising it is the business of `server`.

use serde_json::Value;
use std::time::Duration;

/// One answer to one request. Built by chaining; every method returns the step.
#[derive(Clone, Debug, Default)]
pub struct Step {
    pub(crate) parts: Vec<Part>,
    pub(crate) usage: Option<Usage>,
    pub(crate) stop: Option<Stop>,
    pub(crate) noise: bool,
    pub(crate) pace: Duration,
    pub(crate) shred: usize,
    pub(crate) bad_utf8: bool,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) fault: Option<Fault>,
}

#[derive(Clone, Debug)]
pub(crate) enum Part {
    Reasoning(Reasoning),
    Text(Vec<String>),
    Call(Call),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Reasoning {
    pub chunks: Vec<String>,
    /// `None`: a blob that verifies itself when it comes back.
    pub blob: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub name: String,
    /// `None`: generated. Empty: the vendor sends none.
    pub id: Option<String>,
    /// The raw text of the arguments, JSON or not.
    pub args: String,
    /// Byte offsets where `args` is split into deltas; in half when empty.
    pub cuts: Vec<usize>,
}

/// Token counts. `input` is the whole prompt, cached and written parts included, as the chat
/// protocols count; the other shapes are derived from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub input: u64,
    pub cached: u64,
    pub cache_write: u64,
    /// Reasoning included.
    pub output: u64,
    pub reasoning: u64,
}

/// Why an answer ends, when it is not simply done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The output limit was reached.
    Length,
    /// A filter of the vendor cut the answer off.
    Filtered,
    /// The model declined; its text, if any, is sent as a refusal where the protocol has one.
    Refused,
    /// Any word, for reasons nobody knows yet.
    Other(String),
}

/// An error in the vendor's own shape and wording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// 429
    RateLimit,
    /// Out of credit: 429 or 400, and waiting does not help.
    Quota,
    /// 500
    Internal,
    /// 529 or 503
    Overloaded,
    /// 401 (or the vendor's odd way of saying it)
    BadKey,
    /// 404
    NoModel,
    /// 400: the prompt is longer than the window.
    Overflow,
    /// 400
    Invalid,
}

/// Where in a stream a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// After the headers, before the first frame.
    Start,
    /// After this many reasoning deltas.
    Reasoning(usize),
    /// After this many text deltas.
    Text(usize),
    /// Inside the first call's arguments.
    Call,
    /// When all content is out, before the frames that close the answer.
    Tail,
}

/// What strikes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// The connection closes inside the body.
    Cut,
    /// The body ends properly, but the answer does not.
    End,
    /// Half of the next frame, then the connection closes.
    HalfFrame,
    /// Nothing more until the client goes away; with an SSE comment every so often, if given.
    Stall(Option<Duration>),
    /// One line of this many bytes, then the connection closes without a newline.
    HugeLine(usize),
    /// The vendor's error, inside the stream.
    Error(Trouble),
}

#[derive(Clone, Debug)]
pub(crate) enum Fault {
    HangUp,
    StallHeaders,
    Refuse(Trouble),
    Reply {
        status: u16,
        content_type: String,
        body: Vec<u8>,
    },
    Stream(Place, Break),
}

/// Answers.
impl Step {
    /// An answer with nothing in it yet; left so, it is an empty answer.
    pub fn answer() -> Step {
        Step::default()
    }

    /// Text, one delta a word.
    pub fn text(self, text: &str) -> Step {
        self.chunks(split_words(text))
    }

    /// Text in `deltas` pieces of about the same length.
    pub fn text_in(self, deltas: usize, text: &str) -> Step {
        self.chunks(split_evenly(text, deltas))
    }

    /// Text in exactly these deltas.
    pub fn chunks<S: Into<String>>(mut self, chunks: impl IntoIterator<Item = S>) -> Step {
        let chunks = chunks.into_iter().map(Into::into).collect();
        self.parts.push(Part::Text(chunks));
        self
    }

    /// `n` numbered words, one delta each, sixteen to a line: the load of a streaming benchmark.
    pub fn words(self, n: usize) -> Step {
        self.chunks((0..n).map(|i| {
            let gap = if i % 16 == 15 { '\n' } else { ' ' };
            format!("w{i}{gap}")
        }))
    }

    /// Reasoning, one delta a word.
    pub fn reasoning(self, text: &str) -> Step {
        self.reasoning_chunks(split_words(text))
    }

    /// Reasoning in exactly these deltas. None at all is hidden reasoning: only its blob is sent.
    pub fn reasoning_chunks<S: Into<String>>(
        mut self,
        chunks: impl IntoIterator<Item = S>,
    ) -> Step {
        self.parts.push(Part::Reasoning(Reasoning {
            chunks: chunks.into_iter().map(Into::into).collect(),
            blob: None,
        }));
        self
    }

    /// The signature or encrypted content of the reasoning just added.
    #[track_caller]
    pub fn blob(mut self, blob: &str) -> Step {
        match self.parts.last_mut() {
            Some(Part::Reasoning(reasoning)) => reasoning.blob = Some(blob.into()),
            Some(Part::Text(_) | Part::Call(_)) | None => {
                panic!("blob() belongs right after reasoning()")
            }
        }
        self
    }

    /// A tool call.
    pub fn call(self, name: &str, args: Value) -> Step {
        self.raw_call(name, &args.to_string())
    }

    /// Several calls in one answer.
    pub fn calls<'a>(self, calls: impl IntoIterator<Item = (&'a str, Value)>) -> Step {
        calls
            .into_iter()
            .fold(self, |step, (name, args)| step.call(name, args))
    }

    /// A tool call whose arguments are this text, well formed or not.
    pub fn raw_call(mut self, name: &str, args: &str) -> Step {
        self.parts.push(Part::Call(Call {
            name: name.into(),
            id: None,
            args: args.into(),
            cuts: vec![],
        }));
        self
    }

    /// The id of the call just added; empty for a vendor that sends none.
    #[track_caller]
    pub fn id(mut self, id: &str) -> Step {
        self.last_call("id").id = Some(id.into());
        self
    }

    /// Splits the arguments of the call just added at these byte offsets.
    #[track_caller]
    pub fn split_at(mut self, offsets: &[usize]) -> Step {
        self.last_call("split_at").cuts = offsets.to_vec();
        self
    }

    /// Token counts to report, instead of the simulated ones.
    pub fn usage(mut self, usage: Usage) -> Step {
        self.usage = Some(usage);
        self
    }

    pub fn stop(mut self, stop: Stop) -> Step {
        self.stop = Some(stop);
        self
    }

    /// Sprinkles unknown fields, unknown events and SSE comments over the answer.
    pub fn noise(mut self) -> Step {
        self.noise = true;
        self
    }

    /// Waits this long after each frame.
    pub fn pace(mut self, pace: Duration) -> Step {
        self.pace = pace;
        self
    }

    /// Cuts the body into HTTP chunks of this many bytes, through frames and characters alike.
    pub fn shred(mut self, bytes: usize) -> Step {
        self.shred = bytes;
        self
    }

    /// Adds a response header.
    pub fn header(mut self, name: &str, value: &str) -> Step {
        self.headers.push((name.into(), value.into()));
        self
    }

    #[track_caller]
    fn last_call(&mut self, method: &str) -> &mut Call {
        match self.parts.last_mut() {
            Some(Part::Call(call)) => call,
            Some(Part::Text(_) | Part::Reasoning(_)) | None => {
                panic!("{method}() belongs right after call()")
            }
        }
    }
}

/// Faults instead of an answer.
impl Step {
    /// The vendor's error response.
    pub fn refuse(trouble: Trouble) -> Step {
        Step::faulty(Fault::Refuse(trouble))
    }

    /// 429 with `Retry-After`.
    pub fn rate_limited(after_seconds: u64) -> Step {
        Step::refuse(Trouble::RateLimit).header("retry-after", &after_seconds.to_string())
    }

    /// 400: the prompt is too long.
    pub fn overflow() -> Step {
        Step::refuse(Trouble::Overflow)
    }

    /// Any status with a JSON (or any other) body.
    pub fn status(status: u16, body: &str) -> Step {
        Step::faulty(Fault::Reply {
            status,
            content_type: "application/json".into(),
            body: body.into(),
        })
    }

    /// A web page where an API should be.
    pub fn html(status: u16) -> Step {
        Step::faulty(Fault::Reply {
            status,
            content_type: "text/html; charset=utf-8".into(),
            body: b"<!doctype html><html><head><title>Sign in</title></head>\
                <body><h1>Sign in to continue</h1></body></html>"
                .to_vec(),
        })
    }

    /// Closes the connection without a response.
    pub fn hang_up() -> Step {
        Step::faulty(Fault::HangUp)
    }

    /// No response at all until the client goes away.
    pub fn stall_headers() -> Step {
        Step::faulty(Fault::StallHeaders)
    }

    fn faulty(fault: Fault) -> Step {
        Step {
            fault: Some(fault),
            ..Step::default()
        }
    }
}

/// Faults inside an answer. A place that is never reached strikes at `Place::Tail`.
impl Step {
    pub fn broken(mut self, place: Place, how: Break) -> Step {
        self.fault = Some(Fault::Stream(place, how));
        self
    }

    pub fn cut(self, place: Place) -> Step {
        self.broken(place, Break::Cut)
    }

    pub fn stall(self, place: Place) -> Step {
        self.broken(place, Break::Stall(None))
    }

    pub fn error_at(self, place: Place, trouble: Trouble) -> Step {
        self.broken(place, Break::Error(trouble))
    }

    /// Every U+FFFD of the text goes out as the byte 0xFF; one is added when there is none.
    pub fn invalid_utf8(mut self) -> Step {
        self.bad_utf8 = true;
        let texts = || self.parts.iter().filter_map(Part::chunks);
        if !texts().flatten().any(|chunk| chunk.contains('\u{fffd}')) {
            match self.parts.iter_mut().rev().find_map(Part::chunks_mut) {
                Some(chunks) => chunks.push("\u{fffd}".into()),
                None => self.parts.push(Part::Text(vec!["\u{fffd}".into()])),
            }
        }
        self
    }
}

impl Part {
    fn chunks(&self) -> Option<&Vec<String>> {
        match self {
            Part::Text(chunks) => Some(chunks),
            Part::Reasoning(_) | Part::Call(_) => None,
        }
    }

    fn chunks_mut(&mut self) -> Option<&mut Vec<String>> {
        match self {
            Part::Text(chunks) => Some(chunks),
            Part::Reasoning(_) | Part::Call(_) => None,
        }
    }
}

impl Call {
    /// The deltas the arguments arrive in.
    pub(crate) fn pieces(&self) -> Vec<&str> {
        let cuts = match self.cuts[..] {
            [] => vec![self.args.len() / 2],
            _ => self.cuts.clone(),
        };
        let mut pieces = vec![];
        let mut from = 0;
        for cut in cuts {
            let mut at = cut.clamp(from, self.args.len());
            while !self.args.is_char_boundary(at) {
                at += 1;
            }
            pieces.push(&self.args[from..at]);
            from = at;
        }
        pieces.push(&self.args[from..]);
        pieces
    }
}

fn split_words(text: &str) -> Vec<String> {
    text.split_inclusive(char::is_whitespace)
        .map(String::from)
        .collect()
}

fn split_evenly(text: &str, pieces: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let size = chars.len().div_ceil(pieces.max(1)).max(1);
    chars.chunks(size).map(|c| c.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check_pieces(step: Step, expect: &[&str]) {
        match &step.parts[..] {
            [Part::Call(call)] => assert_eq!(call.pieces(), expect),
            other => panic!("not one call: {other:?}"),
        }
    }

    #[track_caller]
    fn check_text(step: Step, expect: &[&str]) {
        match &step.parts[..] {
            [Part::Text(chunks)] => assert_eq!(chunks, expect),
            other => panic!("not one text: {other:?}"),
        }
    }

    #[test]
    fn arguments_split() {
        let call = || Step::answer().call("bash", json!({"a": 1}));
        check_pieces(call(), &["{\"a", "\":1}"]);
        check_pieces(call().split_at(&[0, 1, 6]), &["", "{", "\"a\":1", "}"]);
        check_pieces(call().split_at(&[90]), &["{\"a\":1}", ""]);
        let wide = Step::answer().raw_call("bash", "\"é\"");
        check_pieces(wide.split_at(&[2]), &["\"é", "\""]);
    }

    #[test]
    fn text_splits() {
        check_text(Step::answer().text("a b\nc"), &["a ", "b\n", "c"]);
        check_text(Step::answer().text_in(2, "abcé"), &["ab", "cé"]);
        check_text(Step::answer().text_in(9, "ab"), &["a", "b"]);
        check_text(Step::answer().chunks(["", "x"]), &["", "x"]);
        check_text(Step::answer().words(2), &["w0 ", "w1 "]);
        check_text(
            Step::answer().text("a b").invalid_utf8(),
            &["a ", "b", "\u{fffd}"],
        );
        check_text(
            Step::answer().text("a\u{fffd} b").invalid_utf8(),
            &["a\u{fffd} ", "b"],
        );
    }
}
