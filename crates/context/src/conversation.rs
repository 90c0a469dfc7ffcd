//! What the model has been told so far: the fold of the log, serialised for one model, with the measure of each request.

use crate::cost;
use crate::digest::Plan;
use crate::fold::Fold;
use crate::transcript::{Measure, Transcript, prefix_text};
use bytes::Bytes;
use ostler_llm::{Calls, Model, Msg, Params, Prefix, TokenUsage};
use ostler_wire::{Body, Break, Compaction, Entry, Origin, Part, Role, Usage};
use std::borrow::Borrow;

#[cfg(test)]
mod tests;

pub struct Conversation {
    pub model: Model,
    pub prefix: Prefix,
    fold: Fold,
    transcript: Transcript,
    /// The request before, and how far this prompt is known to continue it.
    previous: Option<Before>,
    broke: Option<Break>,
    /// Where the request of the answer that was read in last stood in the prompt.
    replayed: Option<Measure>,
    /// The entry that came last.
    at: u64,
    scratch: Vec<Msg>,
    answer_is_empty: bool,
    /// What the model said last.
    last_answer: String,
    params: Params,
}

/// A request that went out earlier, and to whom: prompt caches are not shared between models.
#[derive(Clone, Debug)]
struct Before {
    origin: Origin,
    bytes: u64,
}

/// A request as it goes out, for its usage entry.
#[derive(Clone, Debug)]
pub struct Sent {
    pub measure: Measure,
    pub shared: u64,
    pub broke: Option<Break>,
}

impl Conversation {
    pub fn new(model: Model, prefix: Prefix, params: &Params, envelope: bool) -> Self {
        let target = model.target().clone();
        Self {
            fold: Fold::new(target.origin.clone(), envelope),
            transcript: Transcript::new(target, model.codec(), &prefix, params),
            model,
            prefix,
            previous: None,
            broke: None,
            replayed: None,
            at: 0,
            scratch: Vec::new(),
            answer_is_empty: true,
            last_answer: String::new(),
            params: params.clone(),
        }
    }

    /// An empty one for the same model, prefix and settings.
    pub fn anew(&self) -> Self {
        let (model, prefix) = (self.model.clone(), self.prefix.clone());
        Self {
            fold: self.fold.anew(),
            ..Self::new(model, prefix, &self.params, false)
        }
    }

    /// The answers from now on may call no tools, as far as the endpoint keeps to it.
    pub fn forbid_calls(&mut self) {
        // Without tools there is nothing to forbid, and saying so is refused.
        if !self.prefix.tools.is_empty() {
            self.params.calls = Calls::Forbidden;
            self.transcript.set(&self.params);
        }
    }

    /// Reads in a past, oldest first. What was folded costs next to nothing, and the prompts before the last fold are history.
    pub fn read<E: Borrow<Entry>>(&mut self, entries: &[E]) {
        let plan = Plan::of(entries);
        for kept in plan.kept(entries) {
            self.at = kept.entry;
            self.fold.kept(kept.text, kept.images, &mut self.scratch);
            self.settle();
        }
        for (place, entry) in entries.iter().enumerate().skip(plan.end) {
            let entry: &Entry = entry.borrow();
            if let Body::Compaction(compaction) = &entry.body
                && plan.last == Some(place)
            {
                let before = entries.get(..place).unwrap_or_default();
                let before = before.iter().rev().find_map(|e| prompt_of(e.borrow()));
                self.folded(compaction, before);
            }
            match plan.last.is_some_and(|last| place < last) {
                true => self.take(entry),
                false => self.replay(entry),
            }
        }
    }

    /// The prompt continues another one up to the digest; that is the one break that was planned.
    fn folded(&mut self, compaction: &Compaction, before: Option<&Usage>) {
        self.replayed = None;
        let Some(before) = before else {
            return;
        };
        let Origin { provider, model } = self.origin().clone();
        let own = provider == before.provider && model == before.model;
        let (at, cause) = match own {
            true => (
                compaction.shared_bytes.min(before.prompt_bytes),
                "compaction",
            ),
            false => (0, "model"),
        };
        self.broke = Some(self.transcript.break_at(at, before.prompt_bytes, cause));
        self.previous = Some(Before {
            origin: self.origin().clone(),
            bytes: at,
        });
    }

    /// Bytes at the start of this prompt that the last one sent of another conversation has, too.
    pub fn shared_with(&self, other: &Conversation) -> u64 {
        let shared = self.transcript.shared_with(&other.transcript);
        match &other.broke {
            Some(broke) => shared.min(broke.at),
            None => shared,
        }
    }

    /// The same told anew, without what only the model can read of its earlier answers. None if there is none of that.
    pub fn without_replays(&self, entries: &[Entry]) -> Option<Self> {
        let mut new = Self::new(self.model.clone(), self.prefix.clone(), &self.params, false);
        new.fold = self.fold.without_replays()?;
        new.read(entries);
        new.previous.clone_from(&self.previous);
        let before = new.previous.as_ref().map_or(0, |before| before.bytes);
        new.broke = Some(new.transcript.break_at(0, before, "replay"));
        Some(new)
    }

    /// The same model told these entries instead: an earlier part of what it knows. The break in the prompt is kept for the
    /// next request.
    pub fn taken_back(&self, entries: &[Entry]) -> Self {
        let mut new = self.anew();
        new.read(entries);
        if let Some(before) = self.previous.clone() {
            let shared = match before.origin == *self.origin() {
                true => new.shared_with(self).min(before.bytes),
                false => 0,
            };
            new.broke = Some(new.transcript.break_at(shared, before.bytes, "rewind"));
            new.previous = Some(before);
        }
        new
    }

    /// The same told anew with another prefix.
    pub fn with_prefix(&self, prefix: Prefix, entries: &[Entry], envelope: bool) -> Self {
        let mut new = Self::new(self.model.clone(), prefix, &self.params, envelope);
        new.read(entries);
        new.previous.clone_from(&self.previous);
        let (old, now) = (prefix_text(&self.prefix), prefix_text(&new.prefix));
        let same = old.bytes().zip(now.bytes()).take_while(|(a, b)| a == b);
        let at = same.count() as u64;
        let before = self.previous.as_ref();
        new.broke = before.map(|before| new.transcript.break_at(at, before.bytes, "tools"));
        new
    }

    /// Takes in an entry that was just committed.
    pub fn push(&mut self, entry: &Entry) {
        // A break is told once; a request of which the log knows nothing has told nobody.
        if prompt_of(entry).is_some() {
            self.broke = None;
        }
        self.take(entry);
    }

    fn take(&mut self, entry: &Entry) {
        if let Body::Message(message) = &entry.body
            && message.role == Role::Assistant
        {
            let has_call = message.parts.iter().any(|p| matches!(p, Part::Call { .. }));
            self.answer_is_empty = message.text.trim().is_empty() && !has_call;
            self.last_answer.clone_from(&message.text);
        }
        self.at = entry.entry;
        self.fold.push(&entry.body, &mut self.scratch);
        self.settle();
    }

    /// Takes in an entry of the past, checking that the prompts it belongs to come out as they were sent.
    fn replay(&mut self, entry: &Entry) {
        if let Body::Message(message) = &entry.body
            && message.role == Role::Assistant
        {
            self.replayed = Some(self.ready());
        } else if let Body::Message(_) | Body::Interrupted(_) | Body::Rewind(_) = &entry.body {
            self.replayed = None;
        } else if let Body::Usage(usage) = &entry.body
            // What was asked beside the conversation says nothing about it.
            && usage.role.is_none()
        {
            // An empty answer left no message: its request is the prompt as it stands.
            if self.replayed.is_none() && !self.fold.is_open() {
                self.replayed = Some(self.ready());
            }
            self.compare(usage);
        }
        self.take(entry);
    }

    /// The body of the next request and what it shares with the last.
    pub fn request(&mut self) -> (Vec<Bytes>, Sent) {
        let measure = self.ready();
        let broke = self.broke.clone();
        let shared = match (&broke, &self.previous) {
            (Some(broke), _) => broke.at,
            (None, Some(previous)) => previous.bytes,
            (None, None) => 0,
        };
        self.previous = Some(Before {
            origin: self.origin().clone(),
            bytes: measure.bytes,
        });
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
    /// The usage entry of a request that was sent.
    pub fn usage(&self, tokens: &TokenUsage, sent: &Sent) -> Usage {
        Usage {
            prompt_bytes: sent.measure.bytes,
            shared_bytes: sent.shared,
            prompt_hash: sent.measure.hash.clone(),
            broke: sent.broke.clone(),
            ..cost::usage_of(self.model.target(), tokens)
        }
    }

    /// Tokens of the model's window; 0 when nobody knows.
    pub fn window(&self) -> u64 {
        self.model.target().window
    }

    pub fn last_answer_is_empty(&self) -> bool {
        self.answer_is_empty
    }

    pub fn last_answer(&self) -> &str {
        &self.last_answer
    }

    /// Takes the place of another conversation over the same log, which it has read; the break in the prompt is kept for the
    /// next request. One of the same model finds its own breaks by reading.
    pub fn replaces(&mut self, old: &Conversation, cause: &str) {
        if let Some(before) = &old.previous
            && before.origin != *self.origin()
        {
            self.broke = Some(self.transcript.break_at(0, before.bytes, cause));
            self.previous = Some(before.clone());
        }
    }

    fn compare(&mut self, usage: &Usage) {
        let Some(now) = self
            .replayed
            .take()
            .filter(|_| !usage.prompt_hash.is_empty())
        else {
            return;
        };
        let origin = self.origin().clone();
        let own = usage.provider == origin.provider && usage.model == origin.model;
        if own && (now.bytes, &now.hash) == (usage.prompt_bytes, &usage.prompt_hash) {
            self.broke = None;
            self.previous = Some(Before {
                origin,
                bytes: now.bytes,
            });
        } else {
            // Everything up to the last request that still comes out the same is shared.
            let at = self.previous.as_ref().map_or(0, |before| before.bytes);
            let cause = if own { "rendering" } else { "model" };
            self.broke = Some(self.transcript.break_at(at, usage.prompt_bytes, cause));
        }
    }

    /// Ends what is open and measures the prompt.
    fn ready(&mut self) -> Measure {
        self.fold.ready(&mut self.scratch);
        self.settle();
        self.transcript.measure()
    }

    fn settle(&mut self) {
        for message in self.scratch.drain(..) {
            self.transcript.push(message, self.at);
        }
    }

    fn origin(&self) -> &Origin {
        &self.model.target().origin
    }
}

/// What the entry says about a prompt of the conversation.
fn prompt_of(entry: &Entry) -> Option<&Usage> {
    if let Body::Usage(usage) = &entry.body
        && usage.role.is_none()
        && !usage.prompt_hash.is_empty()
    {
        return Some(usage);
    }
    None
}
