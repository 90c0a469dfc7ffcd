//! The serialised conversation for one model: appended to, never rebuilt, and measured as it grows.
//! It knows how many bytes each request shares with the one before and where a break lies.

use bytes::Bytes;
use ostler_llm::{Codec, Mark, Msg, Params, Prefix, Rope, Target};
use ostler_wire::Break;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// A message that may still carry a cache mark, with its plain encoding.
struct Recent {
    message: Msg,
    plain: Vec<u8>,
}

pub struct Transcript {
    target: Arc<Target>,
    codec: &'static dyn Codec,
    open: Vec<u8>,
    close: Vec<u8>,
    opened_with_item: bool,
    /// Messages that are settled: plain, comma-separated.
    rope: Rope,
    /// The last message of the request before, and everything since.
    recent: VecDeque<Recent>,
    /// Which of `recent` ended the request before.
    previous_end: Option<usize>,
    prefix_bytes: u64,
    message_bytes: u64,
    hash: Sha256,
    /// Where each message starts in the prompt, and the entry it came from: what a break is named after.
    owners: Vec<(u64, u64)>,
}

/// A prompt's size and identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    pub bytes: u64,
    pub hash: String,
}

impl Transcript {
    pub fn new(
        target: Arc<Target>,
        codec: &'static dyn Codec,
        prefix: &Prefix,
        params: &Params,
    ) -> Self {
        let (mut open, mut close) = (Vec::new(), Vec::new());
        let opened_with_item = codec.open(&target, prefix, params, &mut open);
        codec.close(&target, params, &mut close);
        let prompt_prefix = prefix_text(prefix);
        let mut hash = Sha256::new();
        hash.update(prompt_prefix.as_bytes());
        Self {
            target,
            codec,
            open,
            close,
            opened_with_item,
            rope: Rope::default(),
            recent: VecDeque::new(),
            previous_end: None,
            prefix_bytes: prompt_prefix.len() as u64,
            message_bytes: 0,
            hash,
            owners: Vec::new(),
        }
    }

    /// Other settings from the next request on. They stand behind the messages, so that the prompt stays what it is.
    pub fn set(&mut self, params: &Params) {
        self.close.clear();
        self.codec.close(&self.target, params, &mut self.close);
    }

    /// Adds a message that comes from the given entry.
    pub fn push(&mut self, message: Msg, owner: u64) {
        let mut plain = Vec::new();
        self.codec
            .message(&self.target, &message, Mark::Plain, &mut plain);
        if plain.is_empty() {
            return;
        }
        self.owners.push((self.bytes(), owner));
        self.hash.update(&plain);
        self.message_bytes += plain.len() as u64;
        self.recent.push_back(Recent { message, plain });
    }

    pub fn measure(&self) -> Measure {
        let digest = self.hash.clone().finalize();
        Measure {
            bytes: self.bytes(),
            hash: ostler_wire::hex::short(&digest, 8),
        }
    }

    /// The body of the next request. Its last message, and the last one of the request before, carry cache marks.
    pub fn body(&mut self) -> Vec<Bytes> {
        // What lies before the end of the last request gets no mark any more.
        for _ in 0..self.previous_end.unwrap_or(0) {
            if let Some(settled) = self.recent.pop_front() {
                self.settle(&settled.plain);
            }
        }
        let had_previous = self.previous_end.is_some();
        let last = self.recent.len().saturating_sub(1);
        let mut tail = Vec::new();
        let mut needs_comma = self.opened_with_item || !self.rope.is_empty();
        for (i, recent) in self.recent.iter().enumerate() {
            if needs_comma {
                tail.push(b',');
            }
            needs_comma = true;
            if i == last || (i == 0 && had_previous) {
                self.codec
                    .message(&self.target, &recent.message, Mark::Cache, &mut tail);
            } else {
                tail.extend_from_slice(&recent.plain);
            }
        }
        tail.extend_from_slice(&self.close);
        self.previous_end = (!self.recent.is_empty()).then_some(last);
        let mut body = vec![Bytes::copy_from_slice(&self.open)];
        body.extend(self.rope.snapshot());
        body.push(tail.into());
        body
    }

    /// Describes a break at a byte of this prompt, when the prompt before had `old_bytes`.
    pub fn break_at(&self, at: u64, old_bytes: u64, cause: &str) -> Break {
        let lost_tokens = old_bytes.saturating_sub(at) / BYTES_PER_TOKEN;
        let owner = if at < self.prefix_bytes {
            "prefix".to_owned()
        } else {
            let i = self.owners.partition_point(|(start, _)| *start <= at);
            i.checked_sub(1)
                .and_then(|i| self.owners.get(i))
                .map_or_else(
                    || "messages".to_owned(),
                    |(_, entry)| format!("entry {entry}"),
                )
        };
        let cost = self.target.price.map(|price| {
            let cached = price.cached_input.unwrap_or(price.input);
            lost_tokens as f64 * (price.input - cached).max(0.0) / 1e6
        });
        Break {
            at,
            owner,
            cause: cause.to_owned(),
            lost_tokens,
            cost,
        }
    }

    /// How many bytes at the start of this prompt another one of the same model and prefix has, too: whole messages.
    pub fn shared_with(&self, other: &Transcript) -> u64 {
        let (own, others) = (self.joined(), other.joined());
        let same = own.iter().zip(&others).take_while(|(a, b)| a == b).count();
        // In the joined text each message has a comma before it, but the first.
        let start = |i: usize, at: u64| at - self.prefix_bytes + i as u64;
        let whole = |i: usize| match self.owners.get(i + 1) {
            Some((at, _)) => start(i, *at),
            None => own.len() as u64,
        };
        let count = self.owners.len();
        let first = (0..count).find(|i| whole(*i) > same as u64);
        match first.and_then(|i| self.owners.get(i)) {
            Some((at, _)) => *at,
            None => self.bytes(),
        }
    }

    /// All messages, comma-separated.
    fn joined(&self) -> Vec<u8> {
        let mut out = self.rope.snapshot().concat();
        if self.opened_with_item && !out.is_empty() {
            out.remove(0);
        }
        for recent in &self.recent {
            if !out.is_empty() {
                out.push(b',');
            }
            out.extend_from_slice(&recent.plain);
        }
        out
    }

    pub fn bytes(&self) -> u64 {
        self.prefix_bytes + self.message_bytes
    }

    fn settle(&mut self, plain: &[u8]) {
        if self.opened_with_item || !self.rope.is_empty() {
            self.rope.push(b",");
        }
        self.rope.push(plain);
    }
}

/// What tokens are estimated by until a vendor has counted them.
pub const BYTES_PER_TOKEN: u64 = 4;

/// The prefix as the bytes that count as prompt: system, then tools, in no vendor's words.
pub fn prefix_text(prefix: &Prefix) -> String {
    serde_json::to_string(prefix).unwrap_or_default()
}
