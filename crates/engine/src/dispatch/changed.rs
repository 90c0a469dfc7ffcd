//! What hooks say to a call before it runs, and after it. One that changes the arguments makes another call of it: that is prepared anew,
//! shown, and put to every hook again, so that rules, the person and all other hooks judge what will run.

use super::{Prepared, prepare, read_call};
use crate::cut::clip;
use crate::log::LogError;
use crate::tool::ToolError;
use ostler_state::SessionState;
use ostler_state::hooks::{HookedCall, Moment, Said};
use ostler_state::inbox::Inbox;
use ostler_wire::{Body, Json, Notice, ToolUse, Word};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Characters of changed arguments that the person, and the model, reads.
const MAX_SHOWN: usize = 600;
const MAX_TOLD: usize = 2_000;

/// A call as hooks left it, and what they said to that.
pub struct Heard {
    pub prepared: Prepared,
    pub said: Said,
    pub changed: bool,
}

impl Prepared {
    /// As hooks see it.
    pub(super) fn hooked(&self) -> HookedCall<'_> {
        HookedCall {
            id: &self.call.id,
            tool: self.tool.about(),
            input: &self.call.input,
            args: &self.args,
            accesses: &self.accesses,
            asks: self.typed.question().is_some(),
        }
    }
}

/// The inner error is a call that became one that cannot be made.
pub async fn hear(
    state: &mut SessionState,
    inbox: &mut Inbox,
    mut prepared: Prepared,
    cancel: &CancellationToken,
) -> Result<Result<Heard, Box<(ToolUse, ToolError)>>, LogError> {
    // Each hook has one change, so that this ends.
    let mut had: Vec<usize> = Vec::new();
    let mut carried = Said::default();
    loop {
        let about = (&prepared.hooked(), had.as_slice());
        let (mut said, change) = match state.hook_session(Moment::PreTool, cancel) {
            Some(mut session) => session.before_call(inbox, about, cancel).await,
            None => Default::default(),
        };
        state.tell_hook_notices(&mut said)?;
        let Some((hook, args)) = change else {
            said.add(carried);
            said.context.dedup();
            return Ok(Ok(Heard {
                prepared,
                said,
                changed: !had.is_empty(),
            }));
        };
        had.push(hook);
        let call = ToolUse {
            input: Json::of(&args),
            repair: None,
            ..prepared.call.clone()
        };
        let name = prepared.tool.name().to_owned();
        prepared = match prepare(state, read_call(&state.tools, call)) {
            Ok(again) => again,
            Err(refused) => {
                let (call, error) = *refused;
                let message = format!("A hook changed the arguments, and then: {}", error.message);
                let error = ToolError { message, ..error };
                return Ok(Err(Box::new((call, error))));
            }
        };
        let args = args.to_string();
        let text = state
            .settings
            .language
            .fill(Word::HookChanged, &[&name, &clip(&args, MAX_SHOWN)]);
        state.commit(vec![Body::Notice(Notice { text })])?;
        // Only the word of the last to change it is about this call.
        carried = Said {
            permission: said.permission,
            context: said.context,
            ..Said::default()
        };
        carried.context.push(format!(
            "A hook changed the arguments of this {name} call before it ran: {}",
            clip(&args, MAX_TOLD)
        ));
    }
}

/// What hooks say to a call that has given `data`.
pub async fn after_call(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prepared: &Prepared,
    data: Value,
    cancel: &CancellationToken,
) -> Result<Said, LogError> {
    let Some(mut session) = state.hook_session(Moment::PostTool, cancel) else {
        return Ok(Said::default());
    };
    let call = prepared.hooked();
    let mut said = session.after_call(inbox, &call, data, cancel).await;
    state.tell_hook_notices(&mut said)?;
    Ok(said)
}
