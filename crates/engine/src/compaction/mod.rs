//! Folding older work into a digest when the window fills up: when it is done, how, and what the person is told.
//! What a folded log means to a prompt is decided in `past`.

mod archive;
mod digest;
mod facts;
mod past;
mod summary;
#[cfg(test)]
mod tests;

pub use digest::{Digest, MAX_DIGEST, Prose};
pub(crate) use facts::cut;
pub use facts::{CommandFact, Facts, FileFact};
#[cfg(test)]
pub(crate) use past::boundary;
pub use past::{Kept, MAX_PINNED, Parts, Plan, context_parts};

use crate::desk::Desk;
use crate::inbox::Inbox;
use crate::log::{LogError, branch};
use crate::transcript::BYTES_PER_TOKEN;
use ostler_wire::{
    Body, Compaction, Delta, DigestBy, Entry, Notice, Role, TodoItem, TodoState, View,
};
use std::sync::Arc;
use summary::{Asked, Material, Summary};
use tokio_util::sync::CancellationToken;

/// Bytes of the latest steps that are not folded, at most.
const MAX_TAIL: u64 = 32_000;
/// The share of the window, and of the prompt, that they may take.
const TAIL_OF_WINDOW: u64 = 10;
const TAIL_OF_PROMPT: u64 = 8;
/// The share of the window that a digest may take.
const DIGEST_OF_WINDOW: u64 = 16;
/// Tokens that a fold must save to be worth a break of the prompt cache, when a person asked for it.
const MIN_SAVED: u64 = 250;
/// And the share of the prompt when nobody did.
const MIN_SHARE_SAVED: u64 = 10;
/// How full the window is when the person is told, and when nothing will fold it.
const WARN_AT: f64 = 0.7;
const WARN_LATE: f64 = 0.8;
/// The window that is assumed for a warning when nobody knows the real one.
const ASSUMED_WINDOW: u64 = 128_000;
/// Characters of a focus.
const MAX_FOCUS: usize = 1_000;

/// What is done when the window fills up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    #[default]
    Compact,
    /// A handoff is offered.
    Handoff,
    /// It is told, no more.
    Warn,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContextSettings {
    pub strategy: Strategy,
    /// How full the window is when work is folded.
    pub ratio: f64,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            strategy: Strategy::Compact,
            ratio: 0.8,
        }
    }
}

/// How full the window was at the last request, and what was said about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauge {
    tokens: Option<u64>,
    warned: bool,
    /// Why nothing was folded, as the person was told.
    told: Option<Pointless>,
}

impl Gauge {
    pub fn note(&mut self, body: &Body) {
        if let Body::Usage(usage) = body
            && usage.role.is_none()
        {
            self.tokens = Some(usage.input + usage.output).filter(|tokens| *tokens > 0);
        }
        if let Body::Compaction(_) = body {
            *self = Self::default();
        }
    }
}

/// Why work is folded.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Occasion {
    /// The window is nearly full; the prompt of the new turn is in the log.
    Due,
    /// The provider says that the prompt is too long.
    Overflow,
    /// The person wants it.
    Wish { focus: Option<String> },
}

impl Occasion {
    fn focus(&self) -> Option<String> {
        match self {
            Occasion::Wish { focus } => focus.clone(),
            Occasion::Due | Occasion::Overflow => None,
        }
    }
}

enum Folded {
    Done(Box<Compaction>),
    Not(Pointless),
    Interrupted,
}

/// Why a fold would be of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pointless {
    /// There is next to nothing to fold.
    Little,
    /// What no fold takes fills the window.
    Pinned,
}

/// Folds before the first request of a turn, when the one before it came near the end of the window.
pub(crate) async fn before_turn(
    desk: &mut Desk,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
) -> Result<(), LogError> {
    let ContextSettings { strategy, ratio } = desk.limits.context;
    let window = window(desk);
    let full = tokens(desk) as f64 >= ratio * window as f64;
    if strategy != Strategy::Compact || window == 0 || !full {
        return Ok(());
    }
    if let Folded::Not(why) = fold(desk, inbox, cancel, Occasion::Due).await?
        && desk.limits.gauge.told.replace(why) != Some(why)
    {
        desk.commit(vec![notice(reason(desk, why))])?;
    }
    Ok(())
}

/// Folds because the provider refused a prompt for its length. True when there is a shorter one to send.
pub(crate) async fn on_overflow(
    desk: &mut Desk,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
) -> Result<bool, LogError> {
    if desk.limits.context.strategy != Strategy::Compact {
        desk.commit(vec![notice(format!(
            "The prompt is too long for the model. Fold it with /compact, or begin anew: {}",
            handoff_command(desk)
        ))])?;
        return Ok(false);
    }
    Ok(match fold(desk, inbox, cancel, Occasion::Overflow).await? {
        Folded::Done(_) => true,
        Folded::Not(why) => {
            desk.commit(vec![notice(reason(desk, why))])?;
            false
        }
        // The turn sees for itself that it was stopped.
        Folded::Interrupted => true,
    })
}

/// `/compact [focus]`.
pub(crate) async fn on_wish(desk: &mut Desk, inbox: &mut Inbox, focus: &str) -> View {
    let focus: String = focus.trim().chars().take(MAX_FOCUS).collect();
    let focus = Some(focus).filter(|focus| !focus.is_empty());
    let cancel = inbox.begin_turn();
    match fold(desk, inbox, &cancel, Occasion::Wish { focus }).await {
        Ok(Folded::Done(done)) => {
            let place = done
                .archive
                .map_or_else(String::new, |path| format!(" The originals are in {path}."));
            View::Text(format!(
                "Folded: about {} tokens are {} now.{place}",
                done.tokens_before, done.tokens_after
            ))
        }
        Ok(Folded::Not(Pointless::Little)) => View::Text(NOTHING.into()),
        Ok(Folded::Not(why)) => View::Text(reason(desk, why)),
        Ok(Folded::Interrupted) => View::Text("Interrupted; nothing was folded.".into()),
        Err(error) => View::Error(error.to_string()),
    }
}

/// What the person should know about the window at the end of a turn, once.
pub(crate) fn warning(desk: &mut Desk) -> Option<Body> {
    let ContextSettings { strategy, ratio } = desk.limits.context;
    let (tokens, known) = (tokens(desk), window(desk));
    let folds = strategy == Strategy::Compact && known > 0;
    let window = if known > 0 { known } else { ASSUMED_WINDOW };
    let limit = match (folds, strategy) {
        (true, _) => WARN_AT,
        (false, Strategy::Handoff) if known > 0 => ratio,
        (false, Strategy::Handoff | Strategy::Compact | Strategy::Warn) => WARN_LATE,
    };
    let share = tokens as f64 / window as f64;
    if share < limit || desk.limits.gauge.warned {
        return None;
    }
    desk.limits.gauge.warned = true;
    let full = format!(
        "The context is {:.0} % full ({tokens} of {window} tokens).",
        share * 100.0
    );
    let anew = handoff_command(desk);
    Some(notice(match (known, strategy) {
        (0, _) => format!(
            "The prompt has about {tokens} tokens, and the window of this model is not known (context_window). Before it is full, fold it with /compact, or begin anew: {anew}"
        ),
        (_, Strategy::Compact) if share >= ratio => {
            format!("{full} Older work is folded before the next turn; /compact does it now.")
        }
        (_, Strategy::Compact) => format!(
            "{full} Older work is folded at {:.0} %; /compact does it now.",
            ratio * 100.0
        ),
        (_, Strategy::Handoff) => {
            format!("{full} Write a handoff and begin anew: {anew} Or fold it with /compact.")
        }
        (_, Strategy::Warn) => {
            format!("{full} Nothing folds it by itself: use /compact, or begin anew: {anew}")
        }
    }))
}

/// What a fork's log starts with: the entries of the other one without its first line, under their new numbers.
pub(crate) fn copied(entries: Vec<Entry>) -> Vec<Body> {
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

async fn fold(
    desk: &mut Desk,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
    occasion: Occasion,
) -> Result<Folded, LogError> {
    let entries = desk.log.source().entries_after(None);
    let mut entries = branch(entries.into_iter().map(Arc::unwrap_or_clone).collect());
    let upto = match occasion {
        Occasion::Due => last_prompt(&entries),
        Occasion::Overflow | Occasion::Wish { .. } => entries.len(),
    };
    let place = past::boundary(&entries, upto, tail(desk));
    if let Some(why) = pointless(desk, entries.get(..place).unwrap_or_default(), &occasion) {
        return Ok(Folded::Not(why));
    }
    let last = place.checked_sub(1).and_then(|i| entries.get(i));
    let Some(through) = last.map(|e| e.entry) else {
        return Ok(Folded::Not(Pointless::Little));
    };
    desk.feed.delta(Delta::Progress {
        id: String::new(),
        name: "compaction".into(),
        text: "Folding older work".into(),
    });
    let focus = occasion.focus();
    let material = Material {
        entries: entries.get(..upto).unwrap_or_default(),
        too_long: occasion == Occasion::Overflow,
        focus: focus.as_deref(),
    };
    let Summary { prose, usage } = match summary::ask(desk, inbox, cancel, material).await {
        Asked::Interrupted => return Ok(Folded::Interrupted),
        Asked::Answered(summary) => *summary,
    };
    let start = Plan::of(&entries).end;
    let folded = entries.get(start..place).unwrap_or_default();
    let mut bodies: Vec<Body> = usage.iter().cloned().map(Body::Usage).collect();
    let archive = match archived(desk, folded) {
        Ok(archive) => archive,
        Err(fault) => {
            bodies.push(notice(fault));
            None
        }
    };
    let by = match &prose {
        Ok(_) => DigestBy::Model,
        Err(why) => {
            bodies.push(notice(format!(
                "The model's summary could not be used ({why}); the digest was made from the log alone."
            )));
            DigestBy::Mechanical
        }
    };
    let digest = Digest {
        focus: focus.clone(),
        archive: archive.clone(),
        ..Digest::new(prose.ok(), facts_for(desk, folded))
    };
    let compaction = Compaction {
        through,
        digest: desk.feed.redactor().text(digest.render(digest_room(desk))),
        by,
        focus,
        archive,
        tokens_before: tokens(desk),
        tokens_after: 0,
        shared_bytes: 0,
    };
    let number = desk.log.next() + bodies.len() as u64;
    let (compaction, conversation) = rebuilt(desk, &mut entries, compaction, number);
    bodies.push(Body::Compaction(compaction.clone()));
    desk.commit_folded(bodies, conversation)?;
    if let Some(usage) = &usage {
        desk.book(usage);
    }
    Ok(Folded::Done(Box::new(compaction)))
}

const NOTHING: &str = "There is nothing to fold yet.";

/// Why a fold of these entries would not be worth it.
fn pointless(desk: &Desk, entries: &[Entry], occasion: &Occasion) -> Option<Pointless> {
    let parts = context_parts(entries);
    let window = window(desk);
    if window > 0 && parts.pinned > window / 2 {
        return Some(Pointless::Pinned);
    }
    let least = match occasion {
        Occasion::Wish { .. } => MIN_SAVED,
        Occasion::Due | Occasion::Overflow => {
            let prompt = desk.conversation.bytes() / BYTES_PER_TOKEN;
            (prompt / MIN_SHARE_SAVED).max(MIN_SAVED)
        }
    };
    (parts.saves < least).then_some(Pointless::Little)
}

fn reason(desk: &Desk, why: Pointless) -> String {
    let anew = handoff_command(desk);
    match why {
        Pointless::Little => format!(
            "The prompt takes most of the window, and folding older work would save too little. Begin anew: {anew}"
        ),
        Pointless::Pinned => format!(
            "Your own messages and the digests take more than half of the window ({} tokens); folding more would not help. Begin anew: {anew}",
            window(desk)
        ),
    }
}

/// The conversation as it is after this compaction, which then knows what it changed.
fn rebuilt(
    desk: &Desk,
    entries: &mut Vec<Entry>,
    compaction: Compaction,
    number: u64,
) -> (Compaction, crate::conversation::Conversation) {
    let old = &desk.conversation;
    let after = |entries: &[Entry]| {
        let mut new = old.anew();
        new.read(entries);
        new
    };
    let entry = |compaction: &Compaction| Entry {
        entry: number,
        parent: None,
        ts: String::new(),
        body: Body::Compaction(compaction.clone()),
    };
    entries.push(entry(&compaction));
    let draft = after(entries);
    let compaction = Compaction {
        tokens_after: draft.bytes() / BYTES_PER_TOKEN,
        shared_bytes: draft.shared_with(old),
        ..compaction
    };
    entries.pop();
    entries.push(entry(&compaction));
    (compaction, after(entries))
}

/// What the log knows of these entries, and the tasks as they stand now.
fn facts_for(desk: &Desk, folded: &[Entry]) -> Facts {
    let open = |item: &&TodoItem| item.state != TodoState::Done;
    Facts {
        todos: desk.shop.todo.iter().filter(open).cloned().collect(),
        ..Facts::of(folded, &desk.scope.root.display().to_string())
    }
}

/// Keeps the originals. A disk that cannot take them costs the archive alone: the log has everything.
fn archived(desk: &Desk, folded: &[Entry]) -> Result<Option<String>, String> {
    let Some(home) = &desk.limits.archive else {
        return Ok(None);
    };
    let path = archive::path(home, &desk.account.session);
    match archive::write(&path, folded) {
        Ok(()) => Ok(Some(path.display().to_string())),
        Err(error) => Err(format!(
            "The archive {} could not be written ({error}); the session log still has everything.",
            path.display()
        )),
    }
}

fn last_prompt(entries: &[Entry]) -> usize {
    let is_prompt = |e: &Entry| matches!(&e.body, Body::Message(m) if m.role == Role::User);
    entries.iter().rposition(is_prompt).unwrap_or(entries.len())
}

/// Tokens of the last request and its answer, as reported; by bytes when nobody has counted.
fn tokens(desk: &Desk) -> u64 {
    let counted = desk.limits.gauge.tokens;
    counted.unwrap_or_else(|| desk.conversation.bytes() / BYTES_PER_TOKEN)
}

fn window(desk: &Desk) -> u64 {
    desk.conversation.model.target().window
}

fn tail(desk: &Desk) -> usize {
    let mut bytes = MAX_TAIL.min(desk.conversation.bytes() / TAIL_OF_PROMPT);
    let window = window(desk);
    if window > 0 {
        bytes = bytes.min(window * BYTES_PER_TOKEN / TAIL_OF_WINDOW);
    }
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn digest_room(desk: &Desk) -> usize {
    match window(desk) {
        0 => MAX_DIGEST,
        window => usize::try_from(window * BYTES_PER_TOKEN / DIGEST_OF_WINDOW)
            .unwrap_or(MAX_DIGEST)
            .min(MAX_DIGEST),
    }
}

fn handoff_command(desk: &Desk) -> String {
    let id: String = desk.account.session.chars().take(8).collect();
    format!("`ostler handoff --goal \"…\" --from-session {id}`.")
}

fn notice(text: String) -> Body {
    Body::Notice(Notice { text })
}
