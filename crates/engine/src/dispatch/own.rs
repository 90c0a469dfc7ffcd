//! Calls that are not the model's: what the person types after `!`, and the pieces of Markdown commands.

use super::permit::{blocked, leave, surroundings};
use super::{
    Dispatched, Prepared, ReadCall, commit, dispatch, never_ran, read_call, refuse, run_in_turn,
};
use crate::log::LogError;
use crate::tool::{Tool, Typed as _};
use crate::tools::{self, Held, bash::Bash};
use ostler_guard::{Gate, Verdict};
use ostler_state::SessionState;
use ostler_state::checkpoints;
use ostler_state::hooks::Permission;
use ostler_state::inbox::{Inbox, Stopped};
use ostler_state::permissions::Leave;
use ostler_wire::{
    Ask, AskKind, Body, Caller, Choice, Json, PermissionChoice, Silence, ToolUse, Word,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// The person's own command. Nobody is asked about it, but what a rule denies is denied, and the sandbox is around it.
pub async fn own(
    state: &mut SessionState,
    inbox: &mut Inbox,
    command: &str,
    cancel: &CancellationToken,
) -> Result<(), LogError> {
    // What was changed before it is not its doing.
    let settled = checkpoints::after(state, inbox).await;
    if !settled.is_empty() {
        state.commit(settled)?;
    }
    let call = call(state, command, Caller::Person)?;
    state
        .services
        .checkpoints
        .begin(&format!("!{command}"), state.feed.redactor());
    let mut done = Dispatched::default();
    let ReadCall { call, .. } = call;
    let args = call.input.to_value();
    // The person may run commands where the model may not.
    let read = Bash.read(&args).and_then(|typed| {
        let accesses = typed.access(&state.scope)?;
        Ok((typed, accesses))
    });
    let (typed, accesses) = match read {
        Ok(read) => read,
        Err(error) => return refuse(state, &call, error, &mut done),
    };
    let prepared = Prepared {
        call,
        tool: Held::Ours(&Bash),
        args,
        typed,
        accesses,
        permission: Permission::AsEver,
        leave: Leave::default(),
        remark: None,
    };
    let deciding = state.decide(prepared.tool.about(), &prepared.accesses, Gate::Open);
    let decision = match inbox.attend(deciding).await {
        Ok(decision) => decision,
        Err(Stopped) => return refuse(state, &prepared.call, never_ran(), &mut done),
    };
    if decision.verdict == Verdict::Deny && decision.rule.is_some() {
        let error = blocked(&prepared, &decision, surroundings(state));
        return refuse(state, &prepared.call, error, &mut done);
    }
    let leave = leave(&prepared);
    let cx = state.context(&prepared.call.id, &Bash::ABOUT, &leave, cancel.clone());
    let own = (prepared.call.id.as_str(), Bash::NAME);
    if let Err(Stopped) = checkpoints::before(state, inbox, own, &prepared.accesses).await? {
        return refuse(state, &prepared.call, never_ran(), &mut done);
    }
    // It is the person's tree: they wait for nobody.
    let (result, took) = run_in_turn(state, inbox, &prepared, cx, None).await;
    commit(state, &prepared.call, result, took, &mut done)?;
    let settled = checkpoints::after(state, inbox).await;
    match settled.is_empty() {
        true => Ok(()),
        false => state.commit(settled),
    }
}

/// The output of a piece of a Markdown command, which needs the same leave as a call of the model. The inner error says
/// why there is none.
pub async fn piece(
    state: &mut SessionState,
    inbox: &mut Inbox,
    command: &str,
    cancel: &CancellationToken,
) -> Result<Result<String, String>, LogError> {
    let call = call(state, command, Caller::Template)?;
    let done = Box::pin(dispatch(state, inbox, vec![call], cancel)).await?;
    let output = done.calls.last().map_or("{}", |ran| ran.output.as_str());
    let output: Json = serde_json::from_str(output).unwrap_or_else(|_| Json::of(&json!({})));
    let value = output.to_value();
    Ok(match value.pointer("/error/message") {
        Some(why) => Err(why.as_str().unwrap_or_default().to_owned()),
        None => Ok(tools::render(Bash::NAME, &output, false).text),
    })
}

/// Whether the person says yes to something that they began themselves.
pub async fn confirmed(inbox: &mut Inbox, subject: String, yes: &str, no: &str) -> bool {
    let ask = Ask {
        kind: AskKind::Permission,
        subject,
        title: inbox.children.language.say(Word::OwnQuestion).to_owned(),
        options: vec![
            Choice::permission(PermissionChoice::Once, yes),
            Choice::permission(PermissionChoice::Deny, no),
        ],
        silence: Silence::refuses(PermissionChoice::Deny.id()),
        ..Ask::default()
    };
    let answer = inbox.ask(ask).await;
    answer.is_ok_and(|answer| answer.choice == PermissionChoice::Once.id())
}

/// Writes the call down.
fn call(state: &mut SessionState, command: &str, by: Caller) -> Result<ReadCall, LogError> {
    let free = (state.used_ids.len()..).map(|n| format!("own_{n}"));
    let mut free = free.filter(|id| !state.used_ids.contains(id));
    let call = ToolUse {
        id: free.next().unwrap_or_default(),
        name: Bash::NAME.into(),
        input: Json::of(&json!({"command": command})),
        repair: None,
        by: Some(by),
        via: None,
        title: None,
    };
    let read = read_call(&state.tools, call);
    state.commit(vec![Body::ToolUse(read.call.clone())])?;
    Ok(read)
}
