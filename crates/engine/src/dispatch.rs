//! Calls of one answer: prepared in order, permission asked here and nowhere else, readers together, writers alone,
//! results committed in call order.

mod afford;
mod changed;
pub mod child_reports;
mod delegate;
mod offer;
pub mod own;
mod permit;
mod preview;
mod question;
mod read;
mod regrant;
mod rejudge;
mod subject;
mod trust;
mod twice;

use delegate::{by_role, delegate, delegates, followed, is_only_read, sends};

pub use afford::{Afforded, afford};
pub use offer::{Offered, Sending, ask_to_send, offer};
pub use read::{ReadCall, read_call};

use crate::cut::clip;
use crate::log::LogError;
use crate::tool::{Call, Context, Done, ToolError};
use crate::tools::{self, Held};
use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};
use ostler_context::clients::feed::Feed;
use ostler_guard::{Gate, Verdict};
use ostler_state::checkpoints;
use ostler_state::hooks::{self, Moment, Permission, Said};
use ostler_state::inbox::{Inbox, Stopped};
use ostler_state::permissions::Leave;
use ostler_state::{SessionState, attend};
use ostler_wire::{
    Access, Body, Delta, Json, Message, ToolKind, ToolMark, ToolResult, ToolUse, Word,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

/// Readers of one answer that run at the same time.
const MAX_TOGETHER: usize = 16;

const MAX_ERROR_CHARS: usize = 8_000;

/// A call that may run.
pub(crate) struct Prepared {
    pub call: ToolUse,
    pub tool: Held,
    /// As JSON, for hooks and questions.
    pub args: Value,
    /// The same, read: what is judged and run.
    pub typed: Arc<dyn Call>,
    pub accesses: Vec<Access>,
    /// What hooks said of it.
    pub permission: Permission,
    /// What a call that runs beside others was given.
    pub leave: Leave,
    /// What the person reads with the question.
    pub remark: Option<String>,
}

/// What happened to the calls, for the turn's breaker.
#[derive(Default)]
pub struct Dispatched {
    /// In order.
    pub calls: Vec<Ran>,
    /// What hooks have for the model, which comes after all results.
    notes: Vec<String>,
    /// Why a hook wants the turn ended.
    pub halt: Option<String>,
    /// What was changed already.
    made: twice::MadeCalls,
}

impl Dispatched {
    fn hear(&mut self, said: Said) {
        self.notes.extend(hooks::note(&said));
        self.halt = self.halt.take().or(said.halt);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub name: String,
    pub input: String,
    pub output: String,
    /// It may have changed something.
    pub wrote: bool,
}

/// Runs the calls. Every one of them has a committed result afterwards, whatever happened.
pub async fn dispatch(
    state: &mut SessionState,
    inbox: &mut Inbox,
    calls: Vec<ReadCall>,
    cancel: &CancellationToken,
) -> Result<Dispatched, LogError> {
    let mut done = Dispatched::default();
    let mut together: Vec<Prepared> = Vec::new();
    let mut calls = calls.into_iter();
    while let Some(call) = calls.next() {
        if cancel.is_cancelled() || done.halt.is_some() {
            run_together(state, inbox, &mut together, cancel, &mut done).await?;
            let why = done.halt.as_deref().map_or_else(never_ran, by_hook);
            refuse(state, &call.call, why, &mut done)?;
            continue;
        }
        let mut prepared = match prepare_once(state, call, &mut done) {
            Ok(prepared) => prepared,
            Err(refused) => {
                decline(state, inbox, *refused, &mut together, (cancel, &mut done)).await?;
                continue;
            }
        };
        attend::answer_commands(state, inbox);
        if !fits_in(&together, &prepared) {
            run_together(state, inbox, &mut together, cancel, &mut done).await?;
        }
        let heard = match Box::pin(changed::hear(state, inbox, prepared, cancel)).await? {
            Ok(heard) => heard,
            Err(refused) => {
                decline(state, inbox, *refused, &mut together, (cancel, &mut done)).await?;
                continue;
            }
        };
        let mut said = heard.said;
        prepared = heard.prepared;
        if heard.changed {
            // It may be of another kind than the one that fitted in.
            run_together(state, inbox, &mut together, cancel, &mut done).await?;
        }
        let reader = is_reader(&prepared);
        if let Some(why) = said.refusal() {
            run_together(state, inbox, &mut together, cancel, &mut done).await?;
            refuse(state, &prepared.call, by_hook(&why), &mut done)?;
            done.hear(said);
            continue;
        }
        prepared.permission = said.permission;
        done.hear(said);
        if delegates(&prepared) {
            let batch = (prepared, calls.as_slice());
            delegate(state, inbox, batch, &mut together, cancel, &mut done).await?;
            continue;
        }
        if reader && let Some(leave) = allowed_quietly(state, inbox, &prepared).await {
            together.push(Prepared { leave, ..prepared });
            if together.len() >= MAX_TOGETHER {
                run_together(state, inbox, &mut together, cancel, &mut done).await?;
            }
            continue;
        }
        run_together(state, inbox, &mut together, cancel, &mut done).await?;
        // The person may have stopped the readers before it; then it must not even start.
        if cancel.is_cancelled() {
            refuse(state, &prepared.call, never_ran(), &mut done)?;
            continue;
        }
        run_alone(state, inbox, prepared, cancel, &mut done).await?;
    }
    run_together(state, inbox, &mut together, cancel, &mut done).await?;
    child_reports::commit(state, inbox)?;
    if !done.notes.is_empty() {
        let notes = format!("[Hooks say: {}]", done.notes.join("\n"));
        state.commit(vec![Body::Message(Message::note(notes))])?;
    }
    Ok(done)
}

/// Whether it may wait for the same run as those before it.
fn fits_in(together: &[Prepared], prepared: &Prepared) -> bool {
    match together.iter().any(delegates) {
        true => sends(prepared),
        false => is_reader(prepared) || (sends(prepared) && together.iter().all(sends)),
    }
}

/// A call that cannot be made has its result after those of the calls before it.
async fn decline(
    state: &mut SessionState,
    inbox: &mut Inbox,
    (call, error): (ToolUse, ToolError),
    together: &mut Vec<Prepared>,
    (cancel, done): (&CancellationToken, &mut Dispatched),
) -> Result<(), LogError> {
    run_together(state, inbox, together, cancel, done).await?;
    refuse(state, &call, error, done)
}

/// Whether it may run beside others of its kind.
fn is_reader(prepared: &Prepared) -> bool {
    prepared.accesses.iter().all(Access::is_read_only)
        && prepared.typed.question().is_none()
        && !prepared.tool.about().has(ToolMark::Alone)
}

fn by_hook(why: &str) -> ToolError {
    ToolError::new("blocked", format!("Blocked by a hook: {why}"))
}

/// Stores a result, and lets hooks look at it.
async fn conclude(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prepared: &Prepared,
    (result, took): Finished,
    (cancel, done): (&CancellationToken, &mut Dispatched),
) -> Result<(), LogError> {
    let data = match &result {
        Ok(ended) if state.settings.hooks.has(Moment::PostTool) => Some(ended.data.clone()),
        Ok(_) | Err(_) => None,
    };
    let followed = match &result {
        Ok(_) => followed(&state.extensions.definitions.skills, prepared),
        Err(_) => None,
    };
    commit(state, &prepared.call, result, took, done)?;
    if let Some(skill) = followed {
        state.lend_skill(&skill)?;
    }
    if let Some(data) = data {
        let said = Box::pin(changed::after_call(state, inbox, prepared, data, cancel)).await?;
        done.hear(said);
    }
    Ok(())
}

fn prepare(state: &SessionState, read: ReadCall) -> Result<Prepared, Box<(ToolUse, ToolError)>> {
    let ReadCall { call, typed } = read;
    let judged = typed.and_then(|(tool, typed)| {
        let accesses = typed.access(&state.scope)?;
        Ok((tool, typed, accesses))
    });
    let (tool, typed, accesses) = match judged {
        Ok(judged) => judged,
        Err(error) => return Err(Box::new((call, error))),
    };
    let args = call.input.to_value();
    Ok(Prepared {
        accesses: match is_only_read(&state.extensions.definitions.skills, tool.name(), &args) {
            true => Vec::new(),
            false => by_role(&state.extensions.definitions.roles, tool.name(), accesses),
        },
        call,
        tool,
        args,
        typed,
        permission: Permission::AsEver,
        leave: Leave::default(),
        remark: None,
    })
}

/// The same for a call that does not repeat an earlier one.
fn prepare_once(
    state: &SessionState,
    read: ReadCall,
    done: &mut Dispatched,
) -> Result<Prepared, Box<(ToolUse, ToolError)>> {
    let prepared = prepare(state, read)?;
    match done.made.note(&prepared) {
        Ok(()) => Ok(prepared),
        Err(error) => Err(Box::new((prepared.call, error))),
    }
}

/// Whether a reader may run beside others: nobody has to be asked. A stop while that is found out is a no.
async fn allowed_quietly(
    state: &SessionState,
    inbox: &mut Inbox,
    prepared: &Prepared,
) -> Option<Leave> {
    let gate = state.gate(&*prepared.tool, &prepared.accesses);
    let deciding = state.decide(prepared.tool.about(), &prepared.accesses, gate);
    let decision = inbox.attend(deciding).await.ok()?;
    let asks = prepared.permission == Permission::Ask;
    let quiet = !asks && gate == Gate::Open && decision.verdict == Verdict::Allow;
    quiet.then(|| Leave::unasked(&prepared.accesses, &decision))
}

async fn run_together(
    state: &mut SessionState,
    inbox: &mut Inbox,
    batch: &mut Vec<Prepared>,
    cancel: &CancellationToken,
    done: &mut Dispatched,
) -> Result<(), LogError> {
    let mut calls = Vec::with_capacity(batch.len());
    let mut running = FuturesOrdered::new();
    for prepared in batch.drain(..) {
        let (id, tool) = (&prepared.call.id, prepared.tool.about());
        let cx = state.context(id, tool, &prepared.leave, cancel.clone());
        started(&state.feed, &prepared);
        running.push_back(timed(prepared.tool.clone(), prepared.typed.clone(), cx));
        calls.push(prepared);
    }
    let mut stopped = false;
    for prepared in calls {
        // Who has waited for one of them after a stop has waited for all.
        let next = match stopped {
            true => Ok(running.next().now_or_never().flatten()),
            false => attend::attend(state, inbox, running.next()).await,
        };
        stopped |= next.is_err();
        let finished = match next {
            Ok(Some(finished)) => finished,
            Ok(None) | Err(Stopped) => (Err(interrupted()), Duration::ZERO),
        };
        let ended = Box::pin(rejudge::judge_again(
            state, inbox, &prepared, finished, cancel,
        ))
        .await?;
        let (result, took) = ended.finished;
        let wrote = ended.wrote || result.is_ok() && prepared.accesses.iter().any(changes);
        conclude(state, inbox, &prepared, (result, took), (cancel, done)).await?;
        if let Some(goal) = state.permissions.goal.as_mut().filter(|_| wrote) {
            goal.changed();
        }
    }
    Ok(())
}

async fn run_alone(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prepared: Prepared,
    cancel: &CancellationToken,
    done: &mut Dispatched,
) -> Result<(), LogError> {
    let leave = match Box::pin(permit::permit(state, inbox, &prepared)).await? {
        Ok(leave) => leave,
        Err(error) => return refuse(state, &prepared.call, error, done),
    };
    let name = prepared.tool.name();
    let mut cx = state.context(
        &prepared.call.id,
        prepared.tool.about(),
        &leave,
        cancel.clone(),
    );
    if let Some(question) = prepared.typed.question() {
        let about = (prepared.call.id.as_str(), name);
        match question::put(state, inbox, about, question).await {
            Ok(answer) => cx.answer = answer,
            Err(error) => return refuse(state, &prepared.call, error, done),
        }
    }
    let answer = cx.answer.clone();
    let turn = match turn_to_write(state, inbox, &prepared, cancel).await {
        Ok(turn) => turn,
        Err(Stopped) => return refuse(state, &prepared.call, never_ran(), done),
    };
    let call = (prepared.call.id.as_str(), name);
    if let Err(Stopped) = checkpoints::before(state, inbox, call, &prepared.accesses).await? {
        return refuse(state, &prepared.call, never_ran(), done);
    }
    let finished = run_in_turn(state, inbox, &prepared, cx, turn).await;
    let prepared = Prepared { leave, ..prepared };
    let name = prepared.tool.name();
    let ended = Box::pin(rejudge::judge_again(
        state, inbox, &prepared, finished, cancel,
    ))
    .await?;
    let (mut result, took) = ended.finished;
    if let Ok(ended) = &mut result {
        question::settle(
            (&mut state.permissions, &state.policy),
            name,
            answer.as_ref(),
            ended,
        );
    }
    let wrote = ended.wrote || result.is_ok() && prepared.accesses.iter().any(changes);
    conclude(state, inbox, &prepared, (result, took), (cancel, done)).await?;
    if let Some(ran) = done.calls.last_mut() {
        ran.wrote = wrote;
    }
    if let Some(goal) = state.permissions.goal.as_mut().filter(|_| wrote) {
        goal.changed();
    }
    Ok(())
}

/// Waits until no other session changes the tree, in the order of asking. A call that changes nothing waits for nobody.
async fn turn_to_write(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prepared: &Prepared,
    cancel: &CancellationToken,
) -> Result<Option<OwnedSemaphorePermit>, Stopped> {
    // A delegate's own calls take their turns.
    let takes = |access: &Access| changes(access) && !matches!(access, Access::Delegate { .. });
    if !prepared.accesses.iter().any(takes) {
        return Ok(None);
    }
    let writing = state.services.writing.clone();
    if let Ok(turn) = writing.clone().try_acquire_owned() {
        return Ok(Some(turn));
    }
    state.feed.delta(Delta::Progress {
        id: prepared.call.id.clone(),
        name: prepared.tool.name().into(),
        text: state.settings.language.say(Word::WaitsToWrite).into(),
    });
    let waiting = async {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Stopped),
            turn = writing.acquire_owned() => turn.map(Some).map_err(|_| Stopped),
        }
    };
    attend::attend(state, inbox, waiting).await?
}

/// Runs a call that may run, and gives its turn back.
async fn run_in_turn(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prepared: &Prepared,
    cx: Context,
    turn: Option<OwnedSemaphorePermit>,
) -> Finished {
    started(&state.feed, prepared);
    let running = timed(prepared.tool.clone(), prepared.typed.clone(), cx);
    let finished = match attend::attend(state, inbox, running).await {
        Ok(finished) => finished,
        Err(Stopped) => (Err(interrupted()), Duration::ZERO),
    };
    if finished.0.is_ok() {
        accept_edit(state, prepared).await;
    }
    drop(turn);
    finished
}

/// What a file tool was allowed to write is not put back, although a program in the sandbox could have written it.
async fn accept_edit(state: &SessionState, prepared: &Prepared) {
    let about = tools::declaration(prepared.tool.name());
    if about.is_none_or(|about| about.kind != ToolKind::Edit) {
        return;
    }
    let written = prepared.accesses.iter().filter_map(|access| match access {
        Access::Write(path) => Some(path.clone()),
        Access::Read(_)
        | Access::Net(_)
        | Access::Job(_)
        | Access::History
        | Access::Run(_)
        | Access::Mcp { .. }
        | Access::Delegate { .. }
        | Access::Memory => None,
    });
    state.services.sandbox.share.accept(written.collect()).await;
}

fn started(feed: &Feed, prepared: &Prepared) {
    feed.delta(Delta::ToolStarted {
        id: prepared.call.id.clone(),
        name: prepared.tool.name().into(),
    });
}

/// Whether something may be different afterwards.
fn changes(access: &Access) -> bool {
    match access {
        Access::Read(_) | Access::Net(_) | Access::Job(_) | Access::History => false,
        Access::Run(_) => !access.is_read_only(),
        Access::Mcp { read_only, .. } | Access::Delegate { read_only, .. } => !read_only,
        Access::Write(_) | Access::Memory => true,
    }
}

/// How a run ended, and how long it took.
type Finished = (Result<Done, ToolError>, Duration);

async fn timed(tool: Held, call: Arc<dyn Call>, cx: Context) -> Finished {
    let start = Instant::now();
    let scope = cx.scope.clone();
    let running = std::panic::AssertUnwindSafe(call.run(cx));
    // A fault in a tool costs its call, not the session.
    let result = running.catch_unwind().await.unwrap_or_else(|_| {
        Err(ToolError::new(
            "internal_error",
            format!(
                "{} failed for a reason of its own. Do it another way.",
                tool.name()
            ),
        ))
    });
    let result = result.map_err(|error| ToolError {
        message: scope.name_temp(&error.message),
        ..error
    });
    (result, start.elapsed())
}

fn never_ran() -> ToolError {
    ToolError::new(
        "interrupted",
        "The person stopped the work before this call started; it did not run.",
    )
}

fn interrupted() -> ToolError {
    ToolError::new(
        "interrupted",
        "The person interrupted this call. It may have run in part.",
    )
}

fn refuse(
    state: &mut SessionState,
    call: &ToolUse,
    error: ToolError,
    done: &mut Dispatched,
) -> Result<(), LogError> {
    let is_repeat = error.code == twice::CODE;
    commit(state, call, Err(error), Duration::ZERO, done)?;
    // It is no sign of a circle beside the call that it repeats, and must not hide one.
    if is_repeat {
        done.calls.pop();
    }
    Ok(())
}

/// What would be too long for a sentence is cut: names and patterns of any length are quoted in errors.
fn told(message: &str) -> String {
    clip(message, MAX_ERROR_CHARS)
}

/// What tells a result from the one before it. No two sessions are the same, so of a sub-agent's it is how it ended.
fn compared(tool: &str, envelope: &Value, output: &Json) -> String {
    let ended = envelope["error"]["code"].as_str();
    let ended = ended.or(envelope["data"]["session"].as_str().map(|_| "done"));
    let delegates = tools::declaration(tool).is_some_and(|about| about.kind == ToolKind::Delegate);
    match ended.filter(|_| delegates) {
        Some(ended) => ended.to_owned(),
        None => output.get().to_owned(),
    }
}

fn commit(
    state: &mut SessionState,
    call: &ToolUse,
    result: Result<Done, ToolError>,
    took: Duration,
    done: &mut Dispatched,
) -> Result<(), LogError> {
    let ok = result.is_ok();
    let (envelope, also) = match result {
        Ok(Done { data, also }) => (json!({"ok": true, "data": data}), also),
        Err(e) => (
            json!({"ok": false, "error": {"code": e.code, "message": told(&e.message)}}),
            Vec::new(),
        ),
    };
    let output = Json::of(&envelope);
    done.calls.push(Ran {
        name: call.name.clone(),
        input: call.input.get().to_owned(),
        output: compared(&call.name, &envelope, &output),
        wrote: false,
    });
    let mut bodies = vec![Body::ToolResult(ToolResult {
        tool_use_id: call.id.clone(),
        output,
        ok,
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    })];
    bodies.extend(also);
    bodies.extend(state.settings.side_requests.costs());
    state.commit(bodies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{Rendered, Scope, Tool as _, Typed};
    use ostler_tools::testing::Bench;
    use ostler_wire::ToolDeclaration;

    #[derive(Clone)]
    struct Faulty;

    #[derive(Clone, serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}

    impl Typed for Faulty {
        type Args = Nothing;
        type Uses = ();
        const NAME: &'static str = "faulty";
        const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Other);
        const PROSE: &'static str = "";

        fn access(&self, _: &Nothing, _: &Scope) -> Result<Vec<Access>, ToolError> {
            Ok(Vec::new())
        }

        async fn run(&self, _: Nothing, _: Context<()>) -> Result<Done, ToolError> {
            panic!("a tool's own fault");
        }

        fn render(_: &Value) -> Rendered {
            Rendered::default()
        }
    }

    #[tokio::test]
    async fn a_fault_in_a_tool_is_a_result() {
        let cx = Bench::new().context("faulty");
        let (result, _) = timed(Held::Ours(&Faulty), Faulty.read(&json!({})).unwrap(), cx).await;
        assert_eq!(result.err().map(|e| e.code), Some("internal_error"));
    }

    #[test]
    fn errors_are_sentences_not_books() {
        assert_eq!(told("short"), "short");
        let long = told(&"ž".repeat(MAX_ERROR_CHARS + 1));
        assert_eq!(long.chars().count(), MAX_ERROR_CHARS + 1);
        assert!(long.ends_with("ž…"));
    }
}
