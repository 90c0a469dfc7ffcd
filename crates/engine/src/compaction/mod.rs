//! Folding older work into a digest when the window fills up: when it is done, how, and what the person is told.
//! What a folded log means to a prompt is decided in `context/digest`.

mod first;
mod room;
mod summary;

pub(crate) use room::{Moment, Room, make_room, warning};
pub use summary::ROLE;

use crate::log::LogError;
use ostler_context::account::Account;
use ostler_context::conversation::Conversation;
use ostler_context::digest::{
    Digest, Facts, MAX_DIGEST, Parts, Plan, Prose, archive, boundary, context_parts,
};
use ostler_context::transcript::BYTES_PER_TOKEN;
use ostler_context::window::{Folding, MIN_SHARE_SAVED, Pointless, Strategy};
use ostler_state::hooks;
use ostler_state::inbox::Inbox;
use ostler_state::{SessionSettings, SessionState};
use ostler_wire::{
    Body, Compaction, DigestBy, Entry, Language, Notice, Role, Say, TodoItem, TodoState, View, Word,
};
use std::path::Path;
use summary::{Asked, Material, Summary, SummaryScope};
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
/// And the share of the window in the middle of a turn, so that a long one is not folded again and again.
const MIN_WINDOW_SAVED: u64 = 4;
/// Characters of a focus.
const MAX_FOCUS: usize = 1_000;

/// Why work is folded.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Occasion {
    /// The window is nearly full; the prompt of the new turn is in the log.
    Due,
    /// The same between two steps of a turn.
    Midway,
    /// The provider says that the prompt is too long.
    Overflow,
    /// The person wants it.
    Wish { focus: Option<String> },
}

impl Occasion {
    /// As hooks know it.
    fn trigger(&self) -> &'static str {
        match self {
            Occasion::Wish { .. } => "manual",
            Occasion::Due | Occasion::Midway | Occasion::Overflow => "auto",
        }
    }

    fn focus(&self) -> Option<String> {
        match self {
            Occasion::Wish { focus } => focus.clone(),
            Occasion::Due | Occasion::Midway | Occasion::Overflow => None,
        }
    }

    /// Whether the person's message came before, and brings nothing any more.
    fn is_within_turn(&self) -> bool {
        match self {
            Occasion::Midway | Occasion::Overflow => true,
            Occasion::Due | Occasion::Wish { .. } => false,
        }
    }
}

enum Folded {
    Done(Box<Compaction>),
    Not(Pointless),
    Interrupted,
}

async fn when_full(
    state: &mut SessionState,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
    occasion: Occasion,
) -> Result<(), LogError> {
    let (window, bytes) = (state.conversation.window(), state.conversation.bytes());
    if state.settings.folding.gauge.is_hopeless(window, bytes) {
        return Ok(());
    }
    if let Folded::Not(why) = fold(state, inbox, cancel, occasion).await? {
        let gauge = &mut state.settings.folding.gauge;
        gauge.tried = Some((window, bytes));
        if gauge.tells(why) {
            state.commit(vec![notice(reason(state, why))])?;
        }
    }
    Ok(())
}

/// Folds because the provider refused a prompt for its length. True when there is a shorter one to send.
pub(crate) async fn on_overflow(
    state: &mut SessionState,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
) -> Result<bool, LogError> {
    if first::is_unanswered(&state.log.branch()) {
        state.commit(vec![notice(first::describe(state))])?;
        return Ok(false);
    }
    if state.settings.folding.settings.strategy != Strategy::Compact {
        let text = state.settings.language.fill(
            Word::PromptTooLong,
            &[&handoff_command(&state.settings, &state.account)],
        );
        state.commit(vec![notice(text)])?;
        return Ok(false);
    }
    Ok(
        match fold(state, inbox, cancel, Occasion::Overflow).await? {
            Folded::Done(_) => true,
            Folded::Not(why) => {
                state.commit(vec![notice(reason(state, why))])?;
                false
            }
            // The turn sees for itself that it was stopped.
            Folded::Interrupted => true,
        },
    )
}

/// `/compact [focus]`.
pub(crate) async fn on_wish(state: &mut SessionState, inbox: &mut Inbox, focus: &str) -> View {
    let focus: String = focus.trim().chars().take(MAX_FOCUS).collect();
    let focus = Some(focus).filter(|focus| !focus.is_empty());
    let language = state.settings.language;
    let cancel = inbox.turn();
    match fold(state, inbox, &cancel, Occasion::Wish { focus }).await {
        Ok(Folded::Done(done)) => View::Text(match done.archive {
            Some(path) => language.fill(Word::FoldDone, &[&path]),
            None => language.say(Word::FoldDoneOnly).into(),
        }),
        Ok(Folded::Not(Pointless::Little)) => View::Text(language.say(Word::FoldNothing).into()),
        Ok(Folded::Not(why)) => View::Text(reason(state, why)),
        Ok(Folded::Interrupted) => View::Text(language.say(Word::FoldStopped).into()),
        Err(error) => View::Error(error.say(language)),
    }
}

/// What is to be folded: the branch, and how much of it.
struct Work {
    entries: Vec<Entry>,
    /// The model is shown so many.
    upto: usize,
    /// So many are folded, and the last of them has this number.
    place: usize,
    through: u64,
}

async fn fold(
    state: &mut SessionState,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
    occasion: Occasion,
) -> Result<Folded, LogError> {
    let work = match work(state.log.branch(), &state.conversation, &occasion) {
        Ok(work) => work,
        Err(why) => return Ok(Folded::Not(why)),
    };
    let (trigger, focus) = (occasion.trigger(), occasion.focus());
    if let Some(mut session) = state.hook_session(hooks::Moment::PreCompact, cancel) {
        let about = (trigger, focus.as_deref());
        let notices = session.before_fold(inbox, about, cancel).await;
        if !notices.is_empty() {
            state.commit(hooks::notices(notices))?;
        }
    }
    state.progress(ROLE, state.settings.language.say(Word::Folding));
    let folded = carry_out(state, inbox, cancel, occasion, work).await;
    state.progress(ROLE, "");
    folded
}

fn work(
    entries: Vec<Entry>,
    conversation: &Conversation,
    occasion: &Occasion,
) -> Result<Work, Pointless> {
    let upto = match occasion {
        Occasion::Due => last_prompt(&entries),
        Occasion::Midway | Occasion::Overflow | Occasion::Wish { .. } => entries.len(),
    };
    let mut place = boundary(&entries, upto, tail(conversation));
    if *occasion == Occasion::Midway {
        place = place.min(last_step(&entries)).max(Plan::of(&entries).end);
    }
    if let Some(why) = pointless(conversation, context_parts(&entries, place), occasion) {
        return Err(why);
    }
    let last = place.checked_sub(1).and_then(|i| entries.get(i));
    let through = last.map(|e| e.entry).ok_or(Pointless::Little)?;
    Ok(Work {
        entries,
        upto,
        place,
        through,
    })
}

async fn carry_out(
    state: &mut SessionState,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
    occasion: Occasion,
    work: Work,
) -> Result<Folded, LogError> {
    let Work {
        mut entries,
        upto,
        place,
        through,
    } = work;
    let language = state.settings.language;
    let focus = occasion.focus();
    let material = Material {
        entries: entries.get(..upto).unwrap_or_default(),
        too_long: occasion == Occasion::Overflow,
        focus: focus.as_deref(),
    };
    let from = SummaryScope {
        conversation: &state.conversation,
        account: &state.account,
        feed: &state.feed,
        language,
    };
    let Summary { held, prose, usage } = match summary::ask(from, inbox, cancel, material).await {
        Asked::Interrupted => return Ok(Folded::Interrupted),
        Asked::Answered(summary) => *summary,
    };
    let start = Plan::of(&entries).end;
    let folded = entries.get(start..place).unwrap_or_default();
    let mut bodies: Vec<Body> = usage.iter().cloned().map(Body::Usage).collect();
    let folding = &state.settings.folding;
    let archived = archived(folding, &state.account.session, folded, language);
    bodies.extend(archived.as_ref().err().cloned().map(notice));
    if let Err(why) = &prose {
        let text = language.fill(Word::FoldNoSummary, &[&why.say(language)]);
        bodies.push(notice(text));
    }
    let compaction = Compaction {
        through,
        ..compact(
            state,
            &occasion,
            folded,
            (prose.ok(), archived.unwrap_or_default()),
        )
    };
    let number = state.log.next() + bodies.len() as u64;
    let (compaction, conversation) = rebuilt(&state.conversation, &mut entries, compaction, number);
    bodies.push(Body::Compaction(compaction.clone()));
    let committed = state.commit_folded(bodies, conversation);
    // It is paid for all the same.
    usage.iter().for_each(|usage| state.book(usage));
    drop(held);
    committed?;
    Ok(Folded::Done(Box::new(compaction)))
}

/// The compaction that stands for folded entries, as far as it is known before the conversation is rebuilt.
fn compact(
    state: &SessionState,
    occasion: &Occasion,
    folded: &[Entry],
    (prose, archive): (Option<Prose>, Option<String>),
) -> Compaction {
    let by = match prose {
        Some(_) => DigestBy::Model,
        None => DigestBy::Mechanical,
    };
    let facts = facts_for(&state.services.todo, &state.scope.root, folded);
    let digest = Digest {
        focus: occasion.focus(),
        archive: archive.clone(),
        // In the middle of a turn no message of the person brings it.
        mode: state.briefing().filter(|_| occasion.is_within_turn()),
        ..Digest::new(prose, facts)
    };
    let text = digest.render(digest_room(state.conversation.window()));
    Compaction {
        digest: state.feed.redactor().text(text),
        by,
        focus: occasion.focus(),
        archive,
        answers: count(
            folded,
            |body| matches!(body, Body::Message(m) if m.role == Role::Assistant),
        ),
        calls: count(folded, |body| matches!(body, Body::ToolUse(_))),
        tokens_before: state.tokens(),
        ..Compaction::default()
    }
}

fn count(entries: &[Entry], wanted: impl Fn(&Body) -> bool) -> u64 {
    entries.iter().filter(|e| wanted(&e.body)).count() as u64
}

/// What is pinned of this branch, and what `/compact` would take out of the prompt.
pub(crate) fn outlook(conversation: &Conversation, entries: &[Entry]) -> Parts {
    context_parts(
        entries,
        boundary(entries, entries.len(), tail(conversation)),
    )
}

/// Why a fold would not be worth it.
fn pointless(conversation: &Conversation, parts: Parts, occasion: &Occasion) -> Option<Pointless> {
    let window = conversation.window();
    if window > 0 && parts.pinned > window / 2 {
        return Some(Pointless::Pinned {
            tokens: parts.pinned,
        });
    }
    let least = match occasion {
        Occasion::Wish { .. } => MIN_SAVED,
        Occasion::Due | Occasion::Overflow => {
            let prompt = conversation.bytes() / BYTES_PER_TOKEN;
            (prompt / MIN_SHARE_SAVED).max(MIN_SAVED)
        }
        Occasion::Midway => (window / MIN_WINDOW_SAVED).max(MIN_SAVED),
    };
    (parts.saves < least).then_some(Pointless::Little)
}

fn reason(state: &SessionState, why: Pointless) -> String {
    let (language, anew) = (
        state.settings.language,
        handoff_command(&state.settings, &state.account),
    );
    match why {
        Pointless::Little => language.fill(Word::FoldLittle, &[&anew]),
        Pointless::Pinned { tokens } => {
            let numbers = [tokens, state.conversation.window()].map(|n| n.to_string());
            let [tokens, window] = numbers.each_ref().map(String::as_str);
            language.fill(Word::FoldPinned, &[tokens, window, &anew])
        }
    }
}

/// The conversation as it is after this compaction, which then knows what it changed.
fn rebuilt(
    old: &Conversation,
    entries: &mut Vec<Entry>,
    compaction: Compaction,
    number: u64,
) -> (Compaction, Conversation) {
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
fn facts_for(todo: &[TodoItem], root: &Path, folded: &[Entry]) -> Facts {
    let open = |item: &&TodoItem| item.state != TodoState::Done;
    Facts {
        todos: todo.iter().filter(open).cloned().collect(),
        ..Facts::of(folded, &root.display().to_string())
    }
}

/// Keeps the originals. A disk that cannot take them costs the archive alone: the log has everything.
fn archived(
    folding: &Folding,
    session: &str,
    folded: &[Entry],
    language: Language,
) -> Result<Option<String>, String> {
    let Some(home) = &folding.archive else {
        return Ok(None);
    };
    let path = archive::path(home, session);
    match archive::write(&path, folded) {
        Ok(()) => {
            let quota = folding.settings.archive_quota;
            archive::trim(home, session, quota);
            Ok(Some(path.display().to_string()))
        }
        Err(error) => {
            let (path, why) = (path.display().to_string(), error.say(language));
            Err(language.fill(Word::FoldNoArchive, &[&path, &why]))
        }
    }
}

/// What the new turn begins with: the person's words, or the note by which a goal goes on.
fn last_prompt(entries: &[Entry]) -> usize {
    let is_prompt = |e: &Entry| matches!(&e.body, Body::Message(m) if m.role != Role::Assistant);
    entries.iter().rposition(is_prompt).unwrap_or(entries.len())
}

/// Where the answer begins whose results nobody has seen yet.
fn last_step(entries: &[Entry]) -> usize {
    let is_answer = |e: &Entry| matches!(&e.body, Body::Message(m) if m.role == Role::Assistant);
    entries.iter().rposition(is_answer).unwrap_or(entries.len())
}

fn tail(conversation: &Conversation) -> usize {
    let mut bytes = MAX_TAIL.min(conversation.bytes() / TAIL_OF_PROMPT);
    let window = conversation.window();
    if window > 0 {
        bytes = bytes.min(window * BYTES_PER_TOKEN / TAIL_OF_WINDOW);
    }
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// `window`: tokens.
fn digest_room(window: u64) -> usize {
    match window {
        0 => MAX_DIGEST,
        window => usize::try_from(window * BYTES_PER_TOKEN / DIGEST_OF_WINDOW)
            .unwrap_or(MAX_DIGEST)
            .min(MAX_DIGEST),
    }
}

/// How the person gets a handoff of this session.
fn handoff_command(settings: &SessionSettings, account: &Account) -> String {
    let command = if settings.interactive {
        "`/handoff …`".to_owned()
    } else {
        let id: String = account.session.chars().take(8).collect();
        format!("`ostler handoff --goal \"…\" --from-session {id}`")
    };
    settings.language.fill(Word::FullStop, &[&command])
}

fn notice(text: String) -> Body {
    Body::Notice(Notice { text })
}
