//! What the model has been told so far: the fold of the log, serialised for one model, with the measure of each request.

use crate::fold::Fold;
use crate::transcript::{Measure, Transcript};
use bytes::Bytes;
use ostler_llm::{Model, Msg, Params, Prefix};
use ostler_wire::{Body, Break, Entry, Part, Role, Usage};

pub struct Conversation {
    pub model: Model,
    pub prefix: Prefix,
    pub params: Params,
    fold: Fold,
    transcript: Transcript,
    /// The request before, and how far this prompt is known to continue it.
    previous: Option<Measure>,
    broke: Option<Break>,
    /// Where each request of the log stood in the prompt, while the log is read in.
    replayed: Option<Measure>,
    scratch: Vec<Msg>,
    answer_is_empty: bool,
}

/// A request as it goes out, for its usage entry.
#[derive(Clone, Debug)]
pub struct Sent {
    pub measure: Measure,
    pub shared: u64,
    pub broke: Option<Break>,
}

impl Conversation {
    pub fn new(model: Model, prefix: Prefix, params: Params, envelope: bool) -> Self {
        let target = model.target().clone();
        Self {
            fold: Fold::new(target.origin.clone(), envelope),
            transcript: Transcript::new(target, model.codec(), &prefix, &params),
            model,
            prefix,
            params,
            previous: None,
            broke: None,
            replayed: None,
            scratch: Vec::new(),
            answer_is_empty: true,
        }
    }

    pub fn push(&mut self, entry: &Entry) {
        if let Body::Message(message) = &entry.body
            && message.role == Role::Assistant
        {
            let has_call = message.parts.iter().any(|p| matches!(p, Part::Call { .. }));
            self.answer_is_empty = message.text.trim().is_empty() && !has_call;
        }
        self.fold.push(&entry.body, &mut self.scratch);
        self.settle(entry.entry);
    }

    /// Reads in an entry of the past, checking that the prompts it belongs to come out as they were sent.
    pub fn replay(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Message(message) if message.role == Role::Assistant => {
                self.fold.close(&mut self.scratch);
                self.settle(entry.entry);
                self.replayed = Some(self.transcript.measure());
            }
            Body::Usage(usage) => self.compare(usage),
            Body::Message(_)
            | Body::Meta(_)
            | Body::ToolUse(_)
            | Body::ToolResult(_)
            | Body::Settings(_)
            | Body::Mode(_)
            | Body::Approval(_)
            | Body::Todo(_)
            | Body::Notice(_)
            | Body::Error(_)
            | Body::Interrupted(_)
            | Body::TurnEnd(_) => {}
        }
        self.push(entry);
    }

    /// The body of the next request and what it shares with the last.
    pub fn request(&mut self) -> (Vec<Bytes>, Sent) {
        self.fold.close(&mut self.scratch);
        self.settle(u64::MAX);
        let measure = self.transcript.measure();
        let broke = self.broke.take();
        let shared = match (&broke, &self.previous) {
            (Some(broke), _) => broke.at,
            (None, Some(previous)) => previous.bytes,
            (None, None) => 0,
        };
        self.previous = Some(measure.clone());
        self.answer_is_empty = true;
        let sent = Sent {
            measure,
            shared,
            broke,
        };
        (self.transcript.body(), sent)
    }

    /// Calls that the log left without a result.
    pub fn dangling(&self) -> Vec<String> {
        self.fold.dangling().map(str::to_owned).collect()
    }

    /// Bytes of the prompt as it stands.
    pub fn bytes(&self) -> u64 {
        self.transcript.bytes()
    }

    /// Whether the last answer held no text and no call.
    pub fn last_answer_is_empty(&self) -> bool {
        self.answer_is_empty
    }

    /// Takes the place of another conversation over the same log; the break in the prompt is kept for the next request.
    pub fn replaces(&mut self, old: &Conversation, cause: &str) {
        self.broke = self.transcript.break_from(&old.transcript, cause);
        self.previous.clone_from(&old.previous);
        if let (Some(broke), Some(previous)) = (&mut self.broke, &old.previous) {
            broke.at = broke.at.min(previous.bytes);
        }
    }

    fn compare(&mut self, usage: &Usage) {
        let origin = &self.model.target().origin;
        if usage.prompt_hash.is_empty() {
            return;
        }
        let was = Measure {
            bytes: usage.prompt_bytes,
            hash: usage.prompt_hash.clone(),
        };
        let same = self.replayed.as_ref() == Some(&was);
        if same {
            self.broke = None;
            self.previous = Some(was);
        } else {
            // Everything up to the last request that still comes out the same is shared.
            let at = self.previous.as_ref().map_or(0, |p| p.bytes);
            let cause = match (
                usage.provider == origin.provider,
                usage.model == origin.model,
            ) {
                (true, true) => "rendering",
                (true, false) | (false, true) | (false, false) => "model",
            };
            let at = if self.broke.is_some() { 0 } else { at };
            self.broke = Some(self.transcript.break_at(at, was.bytes, cause));
        }
    }

    fn settle(&mut self, entry: u64) {
        for message in self.scratch.drain(..) {
            self.transcript.push(message, entry);
        }
    }
}
