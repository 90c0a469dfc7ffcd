//! One turn: ask the model, run its calls, again, until it has nothing more to call.

mod auto_plan;
mod breaker;
mod ending;
pub mod goal;
mod ingest;
mod intake;
mod planner;
mod session_mention;

use crate::budget::{Breach, Hold};
use crate::commands;
use crate::compaction::{self, Room};
use crate::dispatch::{Afforded, ReadCall, afford, dispatch, read_call};
use crate::log::LogError;
use crate::redact::Redactor;
use breaker::Breaker;
pub use ending::cut_result;
use ending::{before_stop, close_dangling, turn_away};
use intake::Intake;
use ostler_context::accept::{Surroundings, accept, doubt_note};
use ostler_context::clients::feed::Feed;
use ostler_context::conversation::{Conversation, Sent};
use ostler_context::handoff;
use ostler_context::sample::{Sampled, sample, tries_of};
use ostler_llm::repair::Doubt;
use ostler_llm::{Answer, AnswerPart, Error, Model, TokenUsage};
use ostler_sources::briefing;
use ostler_state::checkpoints;
use ostler_state::hooks::Start;
use ostler_state::inbox::{Inbox, Prompt, Stopped};
use ostler_state::session::Opening;
use ostler_state::{SessionState, attend};
use ostler_wire::{
    Body, Delta, ErrorEntry, Interrupted, Json, Language, Message, Notice, Outcome, Stop, ToolSpec,
    TurnEnd, Usage, View, Word,
};
use serde_json::json;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

const CUT_NOTE: &str = "[The connection broke in the middle of your last answer; what arrived is above. Continue from there without repeating it.]";
const EMPTY_NOTE: &str =
    "[Your last answer was empty. Go on with the task, or say that it is done.]";

/// The kind of error when a hook ends a turn.
const HOOK: &str = "hook";

/// Why a turn could not go on.
enum Trouble {
    Log(LogError),
    Error {
        error: ErrorEntry,
        outcome: Outcome,
    },
    /// The person goes on in another session; what the front end does for that.
    HandedOver(Vec<View>),
}

impl From<LogError> for Trouble {
    fn from(error: LogError) -> Self {
        Trouble::Log(error)
    }
}

/// Runs a prompt to its end. The end is in the log, or, when the log cannot be written, told as a delta.
/// The opening comes back when it is not on disk.
pub async fn turn(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prompt: Prompt,
    opening: Opening,
) -> Result<(), Opening> {
    let cancel = inbox.begin_turn();
    let reply_to = prompt.reply_to.clone();
    let fresh = state.log.is_empty() && opening.past.is_empty();
    let start = match (&opening.context, fresh) {
        (None, _) => Start::Not,
        (Some(_), true) => Start::New,
        (Some(_), false) => Start::Resumed,
    };
    let mut taken = Intake::new(prompt, start, opening, &cancel);
    let refused = intake::take_in(state, inbox, &mut taken).await.err();
    let opening = std::mem::take(&mut taken.opening);
    if let Some(refused) = refused {
        return Err(turn_away(state, refused, opening, &reply_to));
    }
    let words = taken.message.text.clone();
    state
        .services
        .checkpoints
        .begin(&words, state.feed.redactor());
    if let Err(error) = open(state, taken, opening.clone()) {
        fail(&state.feed, state.settings.language, &error);
        return Err(opening);
    }
    let planned = Box::pin(planner::before_turn(state, inbox, &cancel, &words)).await;
    if let Err(error) = planned {
        fail(&state.feed, state.settings.language, &error);
        return Ok(());
    }
    let (mut ending, mut then) = (Vec::new(), Vec::new());
    let ended = Box::pin(steps(state, inbox, &cancel)).await;
    // What an approved plan may do it may do in its turn.
    state.permissions.turn.plan_approved = false;
    state.take_back_rules();
    let outcome = match ended {
        Ok(outcome) => outcome,
        Err(Trouble::Log(error)) => {
            fail(&state.feed, state.settings.language, &error);
            return Ok(());
        }
        Err(Trouble::Error { error, outcome }) => {
            ending.push(Body::Error(error));
            outcome
        }
        Err(Trouble::HandedOver(views)) => {
            then = views;
            Outcome::Done
        }
    };
    if outcome == Outcome::Interrupted {
        ending.push(Body::Interrupted(Interrupted::default()));
    }
    ending.extend(goal::conclude(
        (&mut state.permissions, &state.policy),
        outcome,
        state.settings.language,
    ));
    ending.extend(checkpoints::after(state, inbox).await);
    ending.extend(compaction::warning(state, outcome));
    ending.push(Body::TurnEnd(TurnEnd { outcome }));
    match state.commit(ending) {
        Ok(()) => state.log.sync_in_background(),
        Err(error) => fail(&state.feed, state.settings.language, &error),
    }
    for view in then {
        state.feed.reply(&reply_to, handoff::ROLE, view);
    }
    Ok(())
}

fn open(state: &mut SessionState, taken: Intake, opening: Opening) -> Result<(), LogError> {
    if opening.context.is_some() {
        state.keep_prefix();
    }
    let message = taken.message;
    let mut entries = opening.entries;
    entries.extend(close_dangling(&state.conversation));
    if state.permissions.unrecorded {
        entries.push(state.permissions.entry(&state.policy, Instant::now()));
    }
    entries.push(Body::Message(Message {
        context: briefing::join(
            briefing::join(opening.context, state.briefing()),
            message.context.clone(),
        ),
        ..message
    }));
    entries.extend(taken.notices);
    state.commit_after(opening.past, entries)
}

fn fail(feed: &Feed, language: Language, error: &LogError) {
    feed.delta(Delta::Unrecorded {
        message: error.say(language),
    });
}

async fn steps(
    state: &mut SessionState,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
) -> Result<Outcome, Trouble> {
    let language = state.settings.language;
    let mut breaker = Breaker::default();
    let (mut steps, mut empty, mut cuts, mut folds, mut sent_on) = (0, 0, 0, 0, 0);
    loop {
        steps += 1;
        if state.settings.max_steps > 0 && steps > state.settings.max_steps {
            let most = state.settings.max_steps;
            let text = language.many(Word::EndMaxSteps, most as usize, &[&most.to_string()]);
            return Err(trouble("max_steps", text, Outcome::MaxSteps));
        }
        attend::answer_commands(state, inbox);
        commands::said::heed(state, inbox).await?;
        Box::pin(make_room(state, inbox, cancel, steps)).await?;
        if cancel.is_cancelled() {
            return Ok(Outcome::Interrupted);
        }
        for more in inbox.steering() {
            intake::steer(state, inbox, more, cancel).await?;
        }
        if cancel.is_cancelled() {
            return Ok(Outcome::Interrupted);
        }
        let (answer, sent, hold) = match ask_model(state, inbox, cancel).await? {
            Asked::Answer(answer, sent, hold) => (*answer, sent, hold),
            Asked::Cut if cuts == 0 => {
                cuts += 1;
                state.commit(vec![Body::Message(Message::note(CUT_NOTE))])?;
                continue;
            }
            Asked::Cut => {
                return Err(trouble(
                    "retryable",
                    language.say(Word::EndCutTwice).into(),
                    Outcome::Error,
                ));
            }
            Asked::Again => continue,
            Asked::TooLong(error) => {
                folds += 1;
                let shorter = folds == 1 && compaction::on_overflow(state, inbox, cancel).await?;
                match shorter {
                    true => continue,
                    false => return Err(failed(&state.conversation.model, &error, language)),
                }
            }
            Asked::Interrupted => return Ok(Outcome::Interrupted),
        };
        (cuts, folds) = (0, 0);
        let stop = answer.stop.unwrap_or(Stop::End);
        let (calls, doubt) = commit_answer(state, answer, stop, Some(sent))?;
        // What it did cost is in the books now.
        drop(hold);
        if calls.is_empty() {
            let Some(outcome) = finish(state, inbox, (stop, doubt), &mut empty)? else {
                continue;
            };
            let Some(note) = before_stop(state, inbox, cancel, &mut sent_on).await? else {
                return Ok(outcome);
            };
            state.commit(vec![Body::Message(note)])?;
            continue;
        }
        empty = 0;
        let done = Box::pin(dispatch(state, inbox, calls, cancel)).await?;
        if cancel.is_cancelled() {
            return Ok(Outcome::Interrupted);
        }
        if let Some(why) = &done.halt {
            return Err(halted(why, language));
        }
        breaker.check(state, &done)?;
    }
}

/// Folds what fills the window, or ends the turn because another session goes on with it.
async fn make_room(
    state: &mut SessionState,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
    steps: u64,
) -> Result<(), Trouble> {
    let moment = match steps {
        1 => compaction::Moment::Turn,
        _ => compaction::Moment::Step,
    };
    match compaction::make_room(state, inbox, cancel, moment).await? {
        Room::Made => Ok(()),
        Room::Stopped => {
            cancel.cancel();
            Ok(())
        }
        Room::Handoff => match commands::handoff::hand_over(state, inbox).await? {
            Some(views) => Err(Trouble::HandedOver(views)),
            None => {
                cancel.cancel();
                Ok(())
            }
        },
    }
}

enum Asked {
    Answer(Box<Answer>, Sent, Box<Hold>),
    Cut,
    /// The prompt does not fit the model's window.
    TooLong(Error),
    /// Nothing came, and the next request is another one.
    Again,
    Interrupted,
}

async fn ask_model(
    state: &mut SessionState,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
) -> Result<Asked, Trouble> {
    let language = state.settings.language;
    let hold = match afford(state, inbox).await? {
        Afforded::Yes(hold) => hold,
        Afforded::No(breach) => return Err(too_dear(&breach, state.settings.language)),
        Afforded::Stopped => return Ok(Asked::Interrupted),
    };
    let (body, sent) = state.conversation.request();
    // The state is free for commands meanwhile.
    let (model, feed) = (state.conversation.model.clone(), state.feed.clone());
    let sampling = sample(&model, body, &feed, language, cancel);
    let sampled = attend::attend(state, inbox, sampling).await;
    Ok(match sampled {
        Ok(Sampled::Whole(answer)) => Asked::Answer(Box::new(answer), sent, hold),
        Ok(Sampled::Cut(partial, error)) => {
            commit_answer(state, partial, Stop::Cut, Some(sent))?;
            state.commit(vec![Body::Notice(Notice {
                text: language.fill(Word::CutAskAgain, &[&error.say(language)]),
            })])?;
            Asked::Cut
        }
        Ok(Sampled::Interrupted(partial)) => {
            keep_part(state, partial, Stop::Interrupted, sent)?;
            Asked::Interrupted
        }
        Ok(Sampled::Failed(partial, error @ Error::Replay { .. })) if partial.parts.is_empty() => {
            let entries = state.log.branch();
            let Some(plain) = state.conversation.without_replays(&entries) else {
                return Err(failed(&state.conversation.model, &error, language));
            };
            state.conversation = plain;
            let text = language.fill(Word::ReplayAgain, &[&error.say(language)]);
            state.commit(vec![Body::Notice(Notice { text })])?;
            Asked::Again
        }
        Ok(Sampled::Failed(partial, error)) => {
            keep_part(state, partial, Stop::Cut, sent)?;
            if let Error::Overflow { .. } = error {
                return Ok(Asked::TooLong(error));
            }
            return Err(failed(&state.conversation.model, &error, language));
        }
        Err(Stopped) => Asked::Interrupted,
    })
}

fn too_dear(breach: &Breach, language: Language) -> Trouble {
    Trouble::Error {
        error: ErrorEntry {
            kind: "budget".into(),
            message: breach.message(language),
            details: Some(Json::of(&breach.details())),
        },
        outcome: Outcome::Error,
    }
}

/// What was shown of an answer is kept, and what it cost as far as that is known, whatever became of the rest.
fn keep_part(
    state: &mut SessionState,
    mut partial: Answer,
    stop: Stop,
    sent: Sent,
) -> Result<(), LogError> {
    let spoke = |part: &AnswerPart| !matches!(part, AnswerPart::Call { .. });
    let none = TokenUsage::default();
    let is_counted = partial.usage != none || partial.wasted != none;
    let spoke = partial.parts.iter().any(spoke);
    if !spoke {
        partial.parts.clear();
    }
    if spoke || is_counted {
        commit_answer(state, partial, stop, is_counted.then_some(sent))?;
    }
    Ok(())
}

/// Stores an answer: its message, its calls and its usage in one write. Returns the calls, or why none was taken.
fn commit_answer(
    state: &mut SessionState,
    mut answer: Answer,
    stop: Stop,
    sent: Option<Sent>,
) -> Result<(Vec<ReadCall>, Option<Doubt>), LogError> {
    let usages = sent.map_or_else(Vec::new, |sent| usages(&state.conversation, &answer, &sent));
    if answer.usage == TokenUsage::default() && !answer.parts.is_empty() {
        state.spend_untold(&answer);
    }
    let origin = state.conversation.model.target().origin.clone();
    clean_calls(state.feed.redactor(), &mut answer);
    let listed = &state.conversation.prefix.tools;
    let tools: Vec<ToolSpec> = state
        .tools
        .unlisted()
        .iter()
        .chain(listed)
        .cloned()
        .collect();
    let source = state.log.source();
    let session = Surroundings {
        origin: &origin,
        tools: &tools,
        prefix: &state.conversation.prefix,
        past: &|| source.entries_after(None),
    };
    let accepted = accept(answer, stop, &session, &mut state.used_ids);
    let mut bodies = Vec::new();
    if !accepted.message.parts.is_empty() {
        bodies.push(Body::Message(accepted.message));
    }
    let calls = accepted.calls.into_iter();
    let calls: Vec<ReadCall> = calls.map(|call| read_call(&state.tools, call)).collect();
    bodies.extend(calls.iter().map(|read| Body::ToolUse(read.call.clone())));
    bodies.extend(usages.iter().cloned().map(Body::Usage));
    if !bodies.is_empty() {
        state.commit(bodies)?;
    }
    usages.iter().for_each(|usage| state.book(usage));
    Ok((calls, accepted.doubt))
}

/// What an answer has cost, after what the tries before it have.
fn usages(conversation: &Conversation, answer: &Answer, sent: &Sent) -> Vec<Usage> {
    let wasted = Some(answer.wasted).filter(|wasted| *wasted != TokenUsage::default());
    let wasted = wasted.iter().map(|wasted| conversation.usage(wasted, sent));
    wasted
        .chain([conversation.usage(&answer.usage, sent)])
        .collect()
}

/// What runs is what the log says, so secrets leave a call before it is either.
fn clean_calls(redactor: &Redactor, answer: &mut Answer) {
    for part in &mut answer.parts {
        if let AnswerPart::Call { id, arguments, .. } = part {
            // It gets one of our own.
            if redactor.has_secret(id) {
                id.clear();
            }
            if let Some(clean) = redactor.json(arguments) {
                *arguments = clean;
            }
        }
    }
}

/// An answer without calls ends the turn, unless it was empty, may have meant a call, or the person has said more meanwhile.
fn finish(
    state: &mut SessionState,
    inbox: &Inbox,
    (stop, doubt): (Stop, Option<Doubt>),
    empty: &mut u32,
) -> Result<Option<Outcome>, Trouble> {
    if inbox.has_steering() {
        return Ok(None);
    }
    let language = state.settings.language;
    if stop == Stop::Refusal {
        return Err(trouble(
            "refusal",
            language.say(Word::EndRefusal).into(),
            Outcome::Refusal,
        ));
    }
    if state.conversation.last_answer_is_empty() {
        *empty += 1;
        if *empty > 1 {
            return Err(trouble(
                "empty_response",
                language.say(Word::EndEmpty).into(),
                Outcome::EmptyResponse,
            ));
        }
        state.commit(vec![Body::Message(Message::note(EMPTY_NOTE))])?;
        return Ok(None);
    }
    if let Some(doubt) = doubt.filter(|_| *empty == 0) {
        *empty += 1;
        state.commit(vec![Body::Message(Message::note(doubt_note(doubt)))])?;
        return Ok(None);
    }
    if stop == Stop::Length {
        state.commit(vec![Body::Notice(Notice {
            text: language.say(Word::OutputLimit).into(),
        })])?;
    }
    Ok(Some(Outcome::Done))
}

fn failed(model: &Model, error: &Error, language: Language) -> Trouble {
    let target = model.target();
    let mut details = json!({
        "provider": target.origin.provider,
        "model": target.origin.model,
        "url": target.shown_url(),
    });
    if let Some(status) = error.status() {
        details["status"] = status.into();
    }
    if let Some(tries) = tries_of(error) {
        details["tries"] = tries.into();
    }
    Trouble::Error {
        error: ErrorEntry {
            kind: error.kind().into(),
            message: error.say(language),
            details: Some(Json::of(&details)),
        },
        outcome: Outcome::Error,
    }
}

fn halted(why: &str, language: Language) -> Trouble {
    let message = language.fill(Word::HookHalts, &[why]);
    trouble(HOOK, message, Outcome::Error)
}

fn trouble(kind: &'static str, message: String, outcome: Outcome) -> Trouble {
    let error = ErrorEntry {
        kind: kind.into(),
        message,
        details: None,
    };
    Trouble::Error { error, outcome }
}
