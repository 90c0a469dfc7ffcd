//! Ends of a turn that are not those of its steps: a prompt that is not taken in, a stop before it was sent, a hook that
//! wants the model to go on, and calls that a crash left without results.

use super::intake::{Cause, Refused};
use super::{HOOK, fail, goal};
use crate::log::LogError;
use ostler_context::conversation::Conversation;
use ostler_state::SessionState;
use ostler_state::hooks::{self, Moment};
use ostler_state::inbox::Inbox;
use ostler_state::session::Opening;
use ostler_wire::{
    Body, Deed, ErrorEntry, Interrupted, Json, Message, Notice, Outcome, ReplyTo, ToolResult,
    TurnEnd, View, Word,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// A prompt that hooks do not let in, or had no time to: the model never reads it. The facts wait for the next one.
pub fn turn_away(
    state: &mut SessionState,
    refused: Refused,
    opening: Opening,
    reply_to: &ReplyTo,
) -> Opening {
    let mut ending = refused.notices;
    let (outcome, words) = match refused.cause {
        Cause::Unsent => {
            let outcome = Outcome::Interrupted;
            ending.push(Body::Interrupted(Interrupted::default()));
            ending.push(Body::TurnEnd(TurnEnd { outcome }));
            return end_unheard(state, opening, ending);
        }
        Cause::Hook(message) => {
            ending.push(Body::Error(ErrorEntry {
                kind: HOOK.into(),
                message,
                details: None,
            }));
            (Outcome::Error, String::new())
        }
        Cause::Stopped(prompt) => {
            let text = state.settings.language.say(Word::HookStopped).into();
            ending.push(Body::Notice(Notice { text }));
            ending.push(Body::Interrupted(Interrupted::default()));
            (Outcome::Interrupted, prompt.typed.unwrap_or(prompt.text))
        }
        Cause::TooLarge(prompt) => {
            ending.push(Body::Interrupted(Interrupted::default()));
            (Outcome::Interrupted, prompt.typed.unwrap_or(prompt.text))
        }
    };
    ending.extend(goal::conclude(
        (&mut state.permissions, &state.policy),
        outcome,
        state.settings.language,
    ));
    ending.push(Body::TurnEnd(TurnEnd { outcome }));
    let opening = end_unheard(state, opening, ending);
    // Nothing that was typed is lost.
    state
        .feed
        .reply(reply_to, "", View::Do(Deed::Compose(words)));
    opening
}

/// What of the opening waits for the next prompt.
fn end_unheard(state: &mut SessionState, opening: Opening, ending: Vec<Body>) -> Opening {
    if opening.context.is_some() {
        state.keep_prefix();
    }
    let mut entries = opening.entries.clone();
    entries.extend(close_dangling(&state.conversation));
    entries.extend(ending);
    match state.commit_after(opening.past.clone(), entries) {
        Ok(()) => Opening {
            context: opening.context,
            ..Opening::default()
        },
        Err(error) => {
            fail(&state.feed, state.settings.language, &error);
            opening
        }
    }
}

/// Why the model shall go on although it has nothing more to do, if a hook says so.
pub async fn before_stop(
    state: &mut SessionState,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
    sent_on: &mut u32,
) -> Result<Option<Message>, LogError> {
    let moment = match state.is_child() {
        true => Moment::SubagentStop,
        false => Moment::Stop,
    };
    let answer = state.conversation.last_answer().to_owned();
    let Some(mut session) = state.hook_session(moment, cancel) else {
        return Ok(None);
    };
    let (note, notices) = session.before_stop(inbox, answer, sent_on, cancel).await;
    if !notices.is_empty() {
        state.commit(hooks::notices(notices))?;
    }
    Ok(note)
}

/// A crash can leave calls without results; from now on the log says what became of them.
pub fn close_dangling(conversation: &Conversation) -> Vec<Body> {
    let dangling = conversation.dangling();
    dangling.into_iter().map(cut_result).collect()
}

/// The result of a call whose process ended before there was one.
pub fn cut_result(tool_use_id: String) -> Body {
    let output = Json::of(&json!({"ok": false, "error": {"code": "interrupted",
        "message": "Ostler ended before this call had a result. It may or may not have run."}}));
    Body::ToolResult(ToolResult {
        tool_use_id,
        output,
        ok: false,
        duration_ms: 0,
    })
}
