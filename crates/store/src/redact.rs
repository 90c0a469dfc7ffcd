//! Takes known secrets out of text: the exact values and their JSON escapes, nothing that only looks like one. It finds
//! them on the way into the log, in streams across the borders of chunks, and knows nothing of where they come from.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use ostler_wire::{Entry, REDACTED, Secret};
use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};

#[cfg(test)]
mod tests;

/// Shorter values are too likely to be ordinary words.
const MIN_CHARS: usize = 8;
/// Longer ones are no keys.
const MAX_BYTES: usize = 64 * 1024;

/// Most values that are known at once; of more, those that came first are forgotten.
const MAX_VALUES: usize = 1024;

/// Cheap to clone, and all clones learn together: a token may come while a session runs.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Arc<RwLock<Known>>,
}

#[derive(Default)]
struct Known {
    values: Vec<String>,
    finder: Option<Arc<Finder>>,
}

struct Finder {
    automaton: AhoCorasick,
    patterns: Vec<String>,
    /// Bytes of the longest pattern.
    longest: usize,
}

/// Text that comes in pieces. What may be the beginning of a secret is held back until more is known.
#[derive(Default)]
pub struct Stream {
    redactor: Redactor,
    held: Vec<u8>,
}

/// Whether strings that are one plain word are left as they are: the log's own language is made of those.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    Redact,
    Spare,
}

/// Shows none of the values.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl Redactor {
    pub fn new(secrets: &[Secret]) -> Self {
        let redactor = Self::default();
        redactor.learn(secrets.iter().map(Secret::reveal));
        redactor
    }

    /// From here on these are secrets, too.
    pub fn learn<'a>(&self, values: impl IntoIterator<Item = &'a str>) {
        let is_new = |known: &Known, value: &str| {
            value.chars().count() >= MIN_CHARS
                && value.len() <= MAX_BYTES
                && !known.values.iter().any(|v| v == value)
        };
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let values: Vec<&str> = values
            .into_iter()
            .map(str::trim)
            .filter(|value| is_new(&known, value))
            .collect();
        drop(known);
        if values.is_empty() {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for value in values {
            if is_new(&known, value) {
                known.values.push(value.to_owned());
            }
        }
        let surplus = known.values.len().saturating_sub(MAX_VALUES);
        known.values.drain(..surplus);
        known.finder = Finder::new(&known.values).map(Arc::new);
    }

    fn finder(&self) -> Option<Arc<Finder>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.finder.clone()
    }

    /// The text without secrets; itself when there are none in it.
    pub fn text(&self, text: String) -> String {
        match self.replaced(&text) {
            Some(clean) => clean,
            None => text,
        }
    }

    pub fn has_secret(&self, text: &str) -> bool {
        self.finder()
            .is_some_and(|finder| finder.automaton.is_match(text))
    }

    /// JSON text without secrets, if there were any. Numbers, spaces and strings without a secret stay byte for byte.
    pub fn json(&self, json: &str) -> Option<String> {
        self.json_sparing(json, Words::Redact)
    }

    /// The entry and its line without secrets, if there were any in that line.
    pub fn entry(&self, line: &str, number: u64) -> Option<(Entry, String)> {
        if !self.has_secret(line) {
            return None;
        }
        // A secret that is a word of our own, like a role, is left where only that word can stand.
        [Words::Redact, Words::Spare].into_iter().find_map(|words| {
            let clean = self.json_sparing(line, words)?;
            let entry = Entry::from_line(&clean, number).ok()?;
            Some((entry, clean))
        })
    }

    pub fn stream(&self) -> Stream {
        Stream {
            redactor: self.clone(),
            held: Vec::new(),
        }
    }

    fn replaced(&self, text: &str) -> Option<String> {
        let finder = self.finder()?;
        finder.automaton.is_match(text).then(|| {
            let mut out = String::with_capacity(text.len());
            let keep = |_: &_, _: &str, out: &mut String| {
                out.push_str(REDACTED);
                true
            };
            finder.automaton.replace_all_with(text, &mut out, keep);
            out
        })
    }

    fn json_sparing(&self, json: &str, words: Words) -> Option<String> {
        if !self.has_secret(json) {
            return None;
        }
        let mut out = String::with_capacity(json.len());
        let mut rest = json;
        let mut changed = false;
        while let Some((before, string, after)) = next_string(rest) {
            out.push_str(before);
            let is_key = after.trim_ascii_start().starts_with(':');
            let spared = (is_key || words == Words::Spare) && is_plain_word(string);
            match self.string(string).filter(|_| !spared) {
                Some(clean) => {
                    out.push_str(&clean);
                    changed = true;
                }
                None => out.push_str(string),
            }
            rest = after;
        }
        // What a damaged text ends with is no string any more.
        let end = self.text(rest.to_owned());
        changed |= end != rest;
        out.push_str(&end);
        changed.then_some(out)
    }

    /// A string with its quotes, if there was a secret in it.
    fn string(&self, quoted: &str) -> Option<String> {
        match serde_json::from_str::<String>(quoted) {
            Ok(text) => serde_json::to_string(&self.replaced(&text)?).ok(),
            // Half a surrogate pair cannot be read, only passed on.
            Err(_) => self.replaced(quoted),
        }
    }
}

impl Stream {
    /// What can be passed on of the text so far.
    pub fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(finder) = self.redactor.finder() else {
            return Cow::Borrowed(bytes);
        };
        if self.held.is_empty() {
            let (clean, held) = finder.split(bytes);
            self.held.extend_from_slice(held);
            return clean;
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let (clean, held) = finder.split(&all);
        self.held = held.to_vec();
        Cow::Owned(clean.into_owned())
    }

    pub fn push_text<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        match self.push(text.as_bytes()) {
            Cow::Borrowed(clean) => String::from_utf8_lossy(clean),
            Cow::Owned(clean) => Cow::Owned(as_text(clean)),
        }
    }

    /// What was held back, now that nothing follows it. It is no whole secret.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    pub fn finish_text(&mut self) -> String {
        as_text(self.finish())
    }
}

impl Finder {
    fn new(values: &[String]) -> Option<Self> {
        let mut patterns: Vec<String> = values.iter().flat_map(|v| spellings(v)).collect();
        patterns.sort_unstable();
        patterns.dedup();
        let longest = patterns.iter().map(String::len).max()?;
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            // Quick to build; a search almost never gets beyond its prefilter.
            .kind(Some(AhoCorasickKind::NoncontiguousNFA))
            .build(&patterns);
        Some(Self {
            // Fails only beyond two thousand million states, which no number of keys has.
            automaton: automaton.ok()?,
            patterns,
            longest,
        })
    }

    /// The text without secrets up to what may be the beginning of one, and that beginning.
    fn split<'a>(&self, bytes: &'a [u8]) -> (Cow<'a, [u8]>, &'a [u8]) {
        let mut hold = self.hold_from(bytes, 0);
        let mut out = Vec::new();
        let mut at = 0;
        for found in self.automaton.find_iter(bytes) {
            // What begins at or after that point is decided when more is known.
            if found.start() >= hold {
                break;
            }
            out.extend_from_slice(bytes.get(at..found.start()).unwrap_or_default());
            out.extend_from_slice(REDACTED.as_bytes());
            at = found.end();
            if hold < at {
                hold = self.hold_from(bytes, at);
            }
        }
        let rest = bytes.get(at..hold).unwrap_or_default();
        let held = bytes.get(hold..).unwrap_or_default();
        if at == 0 {
            return (Cow::Borrowed(rest), held);
        }
        out.extend_from_slice(rest);
        (Cow::Owned(out), held)
    }

    /// Where, from `from` on, the end of the text is the beginning of a pattern.
    fn hold_from(&self, bytes: &[u8], from: usize) -> usize {
        let first = bytes.len().saturating_sub(self.longest - 1).max(from);
        (first..bytes.len())
            .find(|at| {
                let end = bytes.get(*at..).unwrap_or_default();
                self.patterns
                    .iter()
                    .any(|p| p.len() > end.len() && p.as_bytes().starts_with(end))
            })
            .unwrap_or(bytes.len())
    }
}

/// The value as it stands in text, in JSON, and in JSON that is a string in JSON; some writers escape slashes too.
fn spellings(value: &str) -> Vec<String> {
    let escaped = |text: &str| {
        let quoted = serde_json::to_string(text).unwrap_or_default();
        let inner = quoted.strip_prefix('"').and_then(|q| q.strip_suffix('"'));
        inner.unwrap_or_default().to_owned()
    };
    let once = escaped(value);
    let slashes = once.replace('/', "\\/");
    vec![
        escaped(&once),
        escaped(&slashes),
        value.to_owned(),
        slashes,
        once,
    ]
}

/// What comes before the next string of a JSON text, the string with its quotes, and what follows.
fn next_string(json: &str) -> Option<(&str, &str, &str)> {
    let start = memchr::memchr(b'"', json.as_bytes())?;
    let mut at = start + 1;
    loop {
        let rest = json.as_bytes().get(at..)?;
        at += memchr::memchr2(b'"', b'\\', rest)?;
        if json.as_bytes().get(at) == Some(&b'"') {
            break;
        }
        at += 2;
    }
    let (string, after) = json.split_at_checked(at + 1)?;
    let (before, string) = string.split_at_checked(start)?;
    Some((before, string, after))
}

fn is_plain_word(quoted: &str) -> bool {
    quoted
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b == b'_' || b == b'"')
}

/// Pieces of text stay text: secrets begin and end between characters.
fn as_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}
