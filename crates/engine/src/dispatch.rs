//! Calls of one answer: prepared in order, permission asked here and nowhere else, readers together, writers alone,
//! results committed in call order.

use crate::desk::Desk;
use crate::inbox::{Inbox, Stopped};
use crate::log::LogError;
use crate::policy::{Headless, Verdict};
use crate::tool::{Context, Done, Tool, ToolError};
use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};
use ostler_wire::{Access, Approval, Ask, AskKind, Body, Choice, Delta, Json, ToolResult, ToolUse};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Readers of one answer that run at the same time.
const MAX_TOGETHER: usize = 16;

/// Of a tool's name that is none.
const MAX_NAME_SHOWN: usize = 100;
const MAX_ERROR_CHARS: usize = 8_000;

/// A call that may run.
struct Prepared {
    call: ToolUse,
    tool: &'static dyn Tool,
    args: Value,
    accesses: Vec<Access>,
}

/// What happened to the calls, for the turn's breaker.
#[derive(Default)]
pub struct Dispatched {
    /// In order.
    pub calls: Vec<Ran>,
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
    desk: &mut Desk,
    inbox: &mut Inbox,
    calls: Vec<ToolUse>,
    cancel: &CancellationToken,
) -> Result<Dispatched, LogError> {
    let mut done = Dispatched::default();
    let mut together: Vec<Prepared> = Vec::new();
    for call in calls {
        if cancel.is_cancelled() {
            run_together(desk, inbox, &mut together, cancel, &mut done).await?;
            refuse(desk, &call, never_ran(), &mut done)?;
            continue;
        }
        let prepared = match prepare(desk, call) {
            Ok(prepared) => prepared,
            Err(refused) => {
                let (call, error) = *refused;
                run_together(desk, inbox, &mut together, cancel, &mut done).await?;
                refuse(desk, &call, error, &mut done)?;
                continue;
            }
        };
        let reader = prepared.accesses.iter().all(Access::is_read_only)
            && prepared.tool.question(&prepared.args).is_none();
        if reader && allowed_quietly(desk, &prepared).await {
            together.push(prepared);
            if together.len() == MAX_TOGETHER {
                run_together(desk, inbox, &mut together, cancel, &mut done).await?;
            }
            continue;
        }
        run_together(desk, inbox, &mut together, cancel, &mut done).await?;
        // The person may have stopped the readers before it; then it must not even start.
        if cancel.is_cancelled() {
            refuse(desk, &prepared.call, never_ran(), &mut done)?;
            continue;
        }
        run_alone(desk, inbox, prepared, cancel, &mut done).await?;
    }
    run_together(desk, inbox, &mut together, cancel, &mut done).await?;
    Ok(done)
}

fn prepare(desk: &Desk, call: ToolUse) -> Result<Prepared, Box<(ToolUse, ToolError)>> {
    let Some(tool) = desk.tools.find(&call.name) else {
        let names: Vec<&str> = desk.tools.names().collect();
        let called: String = call.name.chars().take(MAX_NAME_SHOWN).collect();
        let message = format!("There is no tool `{called}`. Tools: {}.", names.join(", "));
        return Err(Box::new((call, ToolError::new("unknown_tool", message))));
    };
    if let Some(why) = call
        .repair
        .as_deref()
        .and_then(|r| r.strip_prefix("unreadable: "))
    {
        let error = ToolError::new("invalid_input", why);
        return Err(Box::new((call, error)));
    }
    let args = call.input.to_value();
    match tool.access(&args, &desk.scope) {
        Ok(accesses) => Ok(Prepared {
            call,
            tool,
            args,
            accesses,
        }),
        Err(error) => Err(Box::new((call, error))),
    }
}

async fn allowed_quietly(desk: &Desk, prepared: &Prepared) -> bool {
    let decision = desk.decide(prepared.tool.name(), &prepared.accesses).await;
    decision.verdict == Verdict::Allow
}

async fn run_together(
    desk: &mut Desk,
    inbox: &mut Inbox,
    batch: &mut Vec<Prepared>,
    cancel: &CancellationToken,
    done: &mut Dispatched,
) -> Result<(), LogError> {
    let mut calls = Vec::with_capacity(batch.len());
    let mut running = FuturesOrdered::new();
    for prepared in batch.drain(..) {
        let cx = desk.context(&prepared.call.id, prepared.tool.name(), cancel.clone());
        desk.feed.delta(Delta::ToolStarted {
            id: prepared.call.id.clone(),
            name: prepared.tool.name().into(),
        });
        running.push_back(timed(prepared.tool, prepared.args, cx));
        calls.push(prepared.call);
    }
    let mut stopped = false;
    for call in calls {
        // Who has waited for one of them after a stop has waited for all.
        let next = match stopped {
            true => Ok(running.next().now_or_never().flatten()),
            false => inbox.attend(running.next()).await,
        };
        stopped |= next.is_err();
        let (result, took) = match next {
            Ok(Some(finished)) => finished,
            Ok(None) | Err(Stopped) => (Err(interrupted()), Duration::ZERO),
        };
        commit(desk, &call, result, took, done)?;
    }
    Ok(())
}

async fn run_alone(
    desk: &mut Desk,
    inbox: &mut Inbox,
    prepared: Prepared,
    cancel: &CancellationToken,
    done: &mut Dispatched,
) -> Result<(), LogError> {
    if let Err(error) = permit(desk, inbox, &prepared).await? {
        return refuse(desk, &prepared.call, error, done);
    }
    let mut cx = desk.context(&prepared.call.id, prepared.tool.name(), cancel.clone());
    if let Some(question) = prepared.tool.question(&prepared.args)
        && desk.interactive
    {
        let ask = Ask {
            ask: String::new(),
            kind: AskKind::Question,
            subject: question.text,
            tool: Some(prepared.tool.name().into()),
            options: question
                .choices
                .into_iter()
                .map(|c| Choice::new(c.clone(), c))
                .collect(),
            multi: question.multi,
            free_text: true,
            ..Ask::default()
        };
        match inbox.ask(ask).await {
            // No words are no decision of the person.
            Ok(answer) => cx.answer = Some(answer.choice).filter(|c| !c.trim().is_empty()),
            Err(Stopped) => return refuse(desk, &prepared.call, never_ran(), done),
        }
    }
    desk.feed.delta(Delta::ToolStarted {
        id: prepared.call.id.clone(),
        name: prepared.tool.name().into(),
    });
    let (result, took) = match inbox.attend(timed(prepared.tool, prepared.args, cx)).await {
        Ok(finished) => finished,
        Err(Stopped) => (Err(interrupted()), Duration::ZERO),
    };
    let wrote = result.is_ok() && prepared.accesses.iter().any(changes);
    commit(desk, &prepared.call, result, took, done)?;
    if let Some(ran) = done.calls.last_mut() {
        ran.wrote = wrote;
    }
    Ok(())
}

/// Whether something may be different afterwards.
fn changes(access: &Access) -> bool {
    match access {
        Access::Read(_) | Access::Net(_) | Access::Job(_) => false,
        Access::Run(_) => !access.is_read_only(),
        Access::Write(_) | Access::Mcp { .. } | Access::Delegate(_) | Access::Memory => true,
    }
}

/// Asks where the policy says so. The inner error is for the model.
async fn permit(
    desk: &mut Desk,
    inbox: &mut Inbox,
    prepared: &Prepared,
) -> Result<Result<(), ToolError>, LogError> {
    let decision = desk.decide(prepared.tool.name(), &prepared.accesses).await;
    let subject = subject(desk, prepared);
    let blocked = |rule: &Option<String>| {
        let by = rule
            .as_ref()
            .map_or_else(String::new, |r| format!(" by the rule {r}"));
        ToolError::new(
            "blocked",
            format!("Blocked{by}: {subject}. Do it another way, or say what you need."),
        )
    };
    let (verdict, reason) = match (decision.verdict, desk.interactive, desk.policy.headless) {
        (Verdict::Allow, _, _) => return Ok(Ok(())),
        (Verdict::Deny, _, _) | (Verdict::Ask, false, Headless::Deny) => ("deny".to_owned(), None),
        (Verdict::Ask, false, Headless::Allow) => return Ok(Ok(())),
        (Verdict::Ask, true, _) => {
            let ask = permission_ask(prepared.tool.name(), &subject);
            match inbox.ask(ask).await {
                Ok(answer) => (answer.choice, answer.reason),
                Err(Stopped) => return Ok(Err(never_ran())),
            }
        }
    };
    desk.commit(vec![Body::Approval(Approval {
        tool_use_id: prepared.call.id.clone(),
        decision: verdict.clone(),
        rule: decision.rule.clone(),
        reason: reason.clone(),
        saved: None,
    })])?;
    Ok(match verdict.as_str() {
        "once" => Ok(()),
        "session" | "always" => {
            desk.grant(&prepared.accesses);
            Ok(())
        }
        _ => Err(match reason {
            Some(reason) => {
                ToolError::new("denied", format!("The person refused this call: {reason}"))
            }
            None if desk.interactive && decision.verdict == Verdict::Ask => ToolError::new(
                "denied",
                "The person refused this call. Ask them what to do instead, or go on without it.",
            ),
            None => blocked(&decision.rule),
        }),
    })
}

fn permission_ask(tool: &str, subject: &str) -> Ask {
    Ask {
        ask: String::new(),
        kind: AskKind::Permission,
        subject: subject.to_owned(),
        tool: Some(tool.to_owned()),
        options: vec![
            Choice::new("once", "allow once"),
            Choice::new("session", "allow for this session"),
            Choice::new("deny", "deny"),
        ],
        ..Ask::default()
    }
}

/// What a call is about, for people.
fn subject(desk: &Desk, prepared: &Prepared) -> String {
    let name = prepared.tool.name();
    let runs = |access: &Access| matches!(access, Access::Run(_));
    // A command is shown whole, as it will run: redirections and all.
    let written = ["command", "cmd", "script", "text"]
        .into_iter()
        .find_map(|key| prepared.args.get(key)?.as_str());
    if let (true, Some(command)) = (prepared.accesses.iter().any(runs), written) {
        return format!("{name}: {command}");
    }
    let parts: Vec<String> = prepared
        .accesses
        .iter()
        .map(|access| match access {
            Access::Read(path) | Access::Write(path) => desk.scope.shown(path),
            Access::Run(segments) => {
                let texts: Vec<&str> = segments.iter().map(|s| s.text.as_str()).collect();
                texts.join("; ")
            }
            Access::Net(host) => host.clone(),
            Access::Mcp { server, tool } => format!("{server} {tool}"),
            Access::Job(id) => id.clone(),
            Access::Delegate(role) => role.clone(),
            Access::Memory => "memory".into(),
        })
        .collect();
    match parts.is_empty() {
        true => name.to_owned(),
        false => format!("{name}: {}", parts.join(", ")),
    }
}

async fn timed(
    tool: &'static dyn Tool,
    args: Value,
    cx: Context,
) -> (Result<Done, ToolError>, Duration) {
    let start = Instant::now();
    let running = std::panic::AssertUnwindSafe(tool.run(args, cx));
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
    desk: &mut Desk,
    call: &ToolUse,
    error: ToolError,
    done: &mut Dispatched,
) -> Result<(), LogError> {
    commit(desk, call, Err(error), Duration::ZERO, done)
}

/// What would be too long for a sentence is cut: names and patterns of any length are quoted in errors.
fn told(message: String) -> String {
    match message.char_indices().nth(MAX_ERROR_CHARS) {
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()),
        None => message,
    }
}

fn commit(
    desk: &mut Desk,
    call: &ToolUse,
    result: Result<Done, ToolError>,
    took: Duration,
    done: &mut Dispatched,
) -> Result<(), LogError> {
    let ok = result.is_ok();
    let (envelope, also) = match result {
        Ok(Done { data, also }) => (json!({"ok": true, "data": data}), also),
        Err(e) => (
            json!({"ok": false, "error": {"code": e.code, "message": told(e.message)}}),
            Vec::new(),
        ),
    };
    let output = Json::of(&envelope);
    done.calls.push(Ran {
        name: call.name.clone(),
        input: call.input.get().to_owned(),
        output: output.get().to_owned(),
        wrote: false,
    });
    let mut bodies = vec![Body::ToolResult(ToolResult {
        tool_use_id: call.id.clone(),
        output,
        ok,
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    })];
    bodies.extend(also);
    desk.commit(bodies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{Rendered, Scope, Typed};
    use crate::tools::testing::Bench;

    struct Faulty;

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}

    impl Typed for Faulty {
        type Args = Nothing;
        const NAME: &'static str = "faulty";
        const PROSE: &'static str = "";

        fn access(&self, _: &Nothing, _: &Scope) -> Result<Vec<Access>, ToolError> {
            Ok(Vec::new())
        }

        async fn run(&self, _: Nothing, _: Context) -> Result<Done, ToolError> {
            panic!("a tool's own fault");
        }

        fn render(_: &Value) -> Rendered {
            Rendered::default()
        }
    }

    #[tokio::test]
    async fn a_fault_in_a_tool_is_a_result() {
        let cx = Bench::new().context("faulty");
        let (result, _) = timed(&Faulty, json!({}), cx).await;
        assert_eq!(result.err().map(|e| e.code), Some("internal_error"));
    }

    #[test]
    fn errors_are_sentences_not_books() {
        assert_eq!(told("short".into()), "short");
        let long = told("ž".repeat(MAX_ERROR_CHARS + 1));
        assert_eq!(long.chars().count(), MAX_ERROR_CHARS + 1);
        assert!(long.ends_with("ž…"));
    }
}
