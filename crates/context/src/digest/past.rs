//! Which part of a log is folded into digests, and what of it still gives messages. Pure: no model, no disk.

use crate::transcript::BYTES_PER_TOKEN;
use ostler_sources::references::FILE;
use ostler_store::memory::split_notes;
use ostler_wire::{Body, Compaction, Entry, Image, Message, Role, ShownEntry};
use std::borrow::Borrow;

/// Bytes of a person's message that stay word for word for ever: 2,000 tokens.
pub const MAX_PINNED: usize = 2_000 * BYTES_PER_TOKEN as usize;
/// How the model is told of a note that the person added to the instructions.
pub const NOTED: &str = "[The person added this to the instructions in ";
/// What a picture counts as among them.
const PICTURE: usize = 6_000;
/// Characters of a larger message that are still told.
const BEGINNING: usize = 200;

/// How the compactions of a branch divide it.
pub struct Plan<'a> {
    /// Entries at the start that are folded.
    pub end: usize,
    /// Where the last compaction lies.
    pub last: Option<usize>,
    /// Each digest with the place it stands before, oldest first.
    digests: Vec<Stand<'a>>,
    /// A message of the person whose turn was under way at the last compaction: it is whole whatever its size.
    whole: Option<usize>,
}

struct Stand<'a> {
    place: usize,
    entry: u64,
    compaction: &'a Compaction,
}

/// A message that the folded part still gives, and the entry it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    pub entry: u64,
    pub text: String,
    pub images: Vec<Image>,
    /// Whether it is a digest; the person said it otherwise.
    pub is_digest: bool,
}

impl<'a> Plan<'a> {
    pub fn of<E: Borrow<Entry>>(entries: &'a [E]) -> Self {
        let mut digests = Vec::new();
        let mut last = None;
        for (at, entry) in entries.iter().enumerate() {
            let entry: &Entry = entry.borrow();
            if let Body::Compaction(compaction) = &entry.body {
                last = Some(at);
                let before = entries.get(..at).unwrap_or_default();
                digests.push(Stand {
                    place: before.partition_point(|e| e.borrow().entry <= compaction.through),
                    entry: entry.entry,
                    compaction,
                });
            }
        }
        digests.sort_by_key(|stand| stand.place);
        Self {
            end: digests.last().map_or(0, |stand| stand.place),
            whole: last.and_then(|last| under_way(entries.get(..last).unwrap_or_default())),
            last,
            digests,
        }
    }

    /// What the folded part says, in order: the person's words and the digests.
    pub fn kept<E: Borrow<Entry>>(&self, entries: &[E]) -> Vec<Kept> {
        let mut out = Vec::new();
        let mut digests = self.digests.iter().peekable();
        let folded = entries.get(..self.end).unwrap_or_default();
        for (at, entry) in folded.iter().enumerate() {
            while let Some(stand) = digests.next_if(|stand| stand.place <= at) {
                out.push(stand.kept());
            }
            let entry: &Entry = entry.borrow();
            if let Body::Message(message) = &entry.body
                && is_persons(message)
            {
                // The first fold that took it has the original.
                let archive = digests.peek().and_then(|s| s.compaction.archive.as_deref());
                let whole = self.whole == Some(at);
                let kept = match whole {
                    true => Some((message.text.clone(), message.images.clone())),
                    false => pinned(message, archive),
                };
                let notes = if whole { Notes::Kept } else { Notes::Folded };
                out.extend(kept.map(|(text, images)| Kept {
                    entry: entry.entry,
                    text: with_context(message, text, notes),
                    images,
                    is_digest: false,
                }));
            }
        }
        out.extend(digests.map(Stand::kept));
        out
    }
}

impl Stand<'_> {
    fn kept(&self) -> Kept {
        Kept {
            entry: self.entry,
            text: self.compaction.digest.clone(),
            images: Vec::new(),
            is_digest: true,
        }
    }
}

/// The person's message that has no end of its turn after it.
fn under_way<E: Borrow<Entry>>(entries: &[E]) -> Option<usize> {
    for (at, entry) in entries.iter().enumerate().rev() {
        let body = &entry.borrow().body;
        if let Body::TurnEnd(_) = body {
            return None;
        }
        if body.message().is_some_and(|m| m.role == Role::User) {
            return Some(at);
        }
    }
    None
}

/// A folded message of the person: word for word, or what it was when it is too large for that.
fn pinned(message: &Message, archive: Option<&str>) -> Option<(String, Vec<Image>)> {
    let size = message.text.len();
    if size > MAX_PINNED {
        let first = message.text.lines().find(|line| !line.trim().is_empty());
        let beginning: String = first
            .unwrap_or_default()
            .trim()
            .chars()
            .take(BEGINNING)
            .collect();
        let place = archive.map_or_else(String::new, |path| format!(" The original is in {path}."));
        let text = format!(
            "[A message of {size} bytes by the person stood here; it was folded. It began: {beginning:?}.{place}]"
        );
        return Some((text, Vec::new()));
    }
    let pictures = message.images.len();
    if pictures > 0 && size + pictures * PICTURE > MAX_PINNED {
        let plural = if pictures == 1 { "" } else { "s" };
        let note = format!("[{pictures} picture{plural} of this message were folded.]");
        return Some((format!("{}\n\n{note}", message.text), Vec::new()));
    }
    Some((message.text.clone(), message.images.clone()))
}

/// Whether it says what the person said: a prompt, or a note for the instructions.
fn is_persons(message: &Message) -> bool {
    match message.role {
        Role::User => true,
        Role::System => message.text.starts_with(NOTED),
        Role::Assistant => false,
    }
}

/// What becomes of facts that were recalled with a message. They are not the person's words, and come back when they matter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Notes {
    Kept,
    Folded,
}

/// The facts that ride along stay; files that came with them stay when there is room.
fn with_context(message: &Message, text: String, notes: Notes) -> String {
    let context = message.context.as_deref().map(|context| match notes {
        Notes::Kept => context,
        Notes::Folded => split_notes(context).0,
    });
    let Some(context) = context.filter(|context| !context.is_empty()) else {
        return text;
    };
    if context.len() <= MAX_PINNED {
        return format!("{context}\n\n{text}");
    }
    match context.split_once(FILE) {
        Some((facts, _)) if facts.len() <= MAX_PINNED => {
            format!(
                "{facts}[Files that came with this message were folded; read again what you need.]\n\n{text}"
            )
        }
        Some(_) | None => text,
    }
}

/// Where a fold of the first `upto` entries ends: as much of what came last as fits `keep` bytes stays, from the start of a
/// step on, so that no result is left without its call.
pub fn boundary<E: Borrow<Entry>>(entries: &[E], upto: usize, keep: usize) -> usize {
    let folded = Plan::of(entries).end;
    let (mut place, mut weight) = (upto, 0);
    let open = entries.get(folded..upto).unwrap_or_default();
    for (at, entry) in open.iter().enumerate().rev() {
        let entry: &Entry = entry.borrow();
        weight += bytes_of(&entry.body);
        if weight > keep {
            break;
        }
        if let Body::Message(message) = &entry.body
            && message.role != Role::System
        {
            place = folded + at;
        }
    }
    place.max(folded)
}

/// About how many bytes of a prompt come from an entry.
pub fn bytes_of(body: &Body) -> usize {
    match body.shown() {
        Some(ShownEntry::Message(message)) => {
            let images: usize = message.images.iter().map(|i| i.data.len()).sum();
            let context = message.context.as_ref().map_or(0, String::len);
            let parts = message.parts.iter().map(|part| match part {
                ostler_wire::Part::Reasoning { text, replay } => {
                    text.len() + replay.as_ref().map_or(0, |r| r.data.get().len())
                }
                ostler_wire::Part::Text { .. } | ostler_wire::Part::Call { .. } => 0,
            });
            message.text.len() + context + images + parts.sum::<usize>()
        }
        Some(ShownEntry::Call(call)) => call.name.len() + call.input.get().len(),
        Some(ShownEntry::Result(result)) => result.output.get().len(),
        Some(
            ShownEntry::Notice(_)
            | ShownEntry::Error(_)
            | ShownEntry::Interrupted
            | ShownEntry::Digest(_),
        )
        | None => 0,
    }
}

/// What a prompt is made of, in tokens by bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Words of the person and digests, which no fold takes.
    pub pinned: u64,
    /// What a fold of everything else would save.
    pub saves: u64,
}

/// What of a branch is pinned, and what a fold of its first `upto` entries would save.
pub fn context_parts<E: Borrow<Entry>>(entries: &[E], upto: usize) -> Parts {
    let plan = Plan::of(entries);
    let kept = plan.kept(entries);
    let mut pinned: usize = kept.iter().map(weight_of).sum();
    let mut saves = 0;
    for (at, entry) in entries.iter().enumerate().skip(plan.end) {
        let body = &entry.borrow().body;
        let size = if at < upto { bytes_of(body) } else { 0 };
        let Some(message) = body.message().filter(|m| is_persons(m)) else {
            saves += size;
            continue;
        };
        let (text, images) = self::pinned(message, None).unwrap_or_default();
        let kept = weight_of(&Kept {
            entry: 0,
            text: with_context(message, text, Notes::Folded),
            images,
            is_digest: false,
        });
        pinned += kept;
        saves += size.saturating_sub(kept);
    }
    let tokens = |bytes: usize| bytes as u64 / BYTES_PER_TOKEN;
    Parts {
        pinned: tokens(pinned),
        saves: tokens(saves),
    }
}

fn weight_of(kept: &Kept) -> usize {
    let images: usize = kept.images.iter().map(|i| i.data.len()).sum();
    kept.text.len() + images
}

/// What a fork's log starts with: the entries of the other one without its first line, under their new numbers.
pub fn copied(entries: Vec<Entry>) -> Vec<Body> {
    let kept: Vec<Entry> = entries
        .into_iter()
        .filter(|e| !matches!(e.body, Body::Meta(_)))
        .collect();
    let numbers: Vec<u64> = kept.iter().map(|e| e.entry).collect();
    let mut bodies: Vec<Body> = kept.into_iter().map(|e| e.body).collect();
    for body in &mut bodies {
        if let Body::Compaction(compaction) = body {
            // The new first line is entry 0, so the n-th copy is entry n.
            compaction.through = numbers.partition_point(|n| *n <= compaction.through) as u64;
        }
    }
    bodies
}
