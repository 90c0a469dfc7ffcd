//! A command that the sandbox stopped: what it lacked is offered to the person, and on a yes it runs once more.

use super::permit::{Decided, commit_approval, deny, kept, permission_ask, save, surroundings};
use super::{Finished, Prepared, run_in_turn, turn_to_write};
use crate::log::LogError;
use crate::tool::{Scope, Typed as _};
use crate::tools::bash::Bash;
use ostler_confine::Terms;
use ostler_context::interfaces::Keep;
use ostler_guard::{Call, Mode, Policy, Rule, Verdict};
use ostler_state::SessionState;
use ostler_state::attend;
use ostler_state::inbox::{Inbox, Stopped};
use ostler_state::permissions::merge;
use ostler_state::permissions::{Leave, SESSION};
use ostler_wire::{Access, Ask, Choice, Language, PermissionChoice, Word};
use serde::Deserialize as _;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// What became of the call in the end.
pub async fn offer(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prepared: &Prepared,
    leave: &Leave,
    first: Finished,
    cancel: &CancellationToken,
) -> Result<Finished, LogError> {
    let Some(wanted) = wanted(state, prepared, &first).filter(|_| !cancel.is_cancelled()) else {
        return Ok(first);
    };
    let mut rules = rules(&wanted);
    let ask = question(state, prepared, &wanted, &rules);
    if ask.is_too_long() {
        return Ok(first);
    }
    let answer = match attend::ask(state, inbox, ask).await {
        Ok(answer) => answer,
        Err(Stopped) => return Ok(first),
    };
    let chosen = PermissionChoice::from_id(&answer.choice);
    if chosen == PermissionChoice::Deny {
        let no = Decided {
            choice: chosen,
            reason: answer.reason.clone(),
        };
        commit_approval(state, prepared, no, (None, None))?;
        return Ok(told_no(first, answer.reason.as_deref()));
    }
    let saved = match Keep::of(chosen) {
        Some(keep) => save(state, inbox, &mut rules, keep).await?,
        None => None,
    };
    let lasting = chosen != PermissionChoice::Once;
    let yes = Decided {
        choice: kept(chosen, saved.as_ref()),
        reason: Some(format!(
            "sandbox: {}",
            describe(&wanted, &state.scope, Language::English)
        )),
    };
    commit_approval(state, prepared, yes, (None, saved.clone()))?;
    if saved.is_some() {
        state.allow(rules);
    } else if lasting {
        merge(&mut state.permissions.terms, &wanted);
    }
    let mut cx = state.context(
        &prepared.call.id,
        prepared.tool.about(),
        leave,
        cancel.clone(),
    );
    let mut terms = state.permissions.terms(&state.policy.rules, leave);
    merge(&mut terms, &wanted);
    cx.services.programs = Arc::new(state.sandbox_with(&prepared.call.id, terms, leave));
    let turn = match turn_to_write(state, inbox, prepared, cancel).await {
        Ok(turn) => turn,
        Err(Stopped) => return Ok(first),
    };
    let (mut result, took) = run_in_turn(state, inbox, prepared, cx, turn).await;
    if let Ok(done) = &mut result
        && let Some(data) = done.data.as_object_mut()
    {
        data.insert(
            "granted".into(),
            json!(describe(&wanted, &state.scope, Language::English)),
        );
    }
    Ok((result, first.1 + took))
}

/// What the command lacked, if that can be granted: somebody is there, no plan is being made, and no rule forbids it.
fn wanted(state: &SessionState, prepared: &Prepared, (result, _): &Finished) -> Option<Terms> {
    // Only a command meets the sandbox; whoever else speaks of it wants something.
    let runs = |access: &Access| matches!(access, Access::Run(_));
    prepared.accesses.iter().any(runs).then_some(())?;
    let grant = result.as_ref().ok()?.data.get("denied")?.get("grant")?;
    let wanted = Terms::deserialize(grant).ok()?;
    // Hosts were named by what ran, and a pattern is no host.
    wanted.hosts.iter().all(|h| is_host(h)).then_some(())?;
    let can_ask =
        state.settings.interactive && !state.permissions.stance.refuses_prompts(Instant::now());
    let plan = match state.permissions.mode {
        Mode::Plan => true,
        Mode::Normal | Mode::Goal => false,
    };
    let mut more = state
        .permissions
        .terms(&state.policy.rules, &Leave::default());
    let had = more.clone();
    merge(&mut more, &wanted);
    // What it has already cannot be what it lacked.
    (can_ask && !plan && more != had && !is_denied(&wanted, &state.policy, &state.scope)).then_some(
        Terms {
            read_only: false,
            ..wanted
        },
    )
}

fn is_host(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
    !text.is_empty() && text.chars().all(plain)
}

fn is_denied(wanted: &Terms, policy: &Policy, scope: &Scope) -> bool {
    let hosts = wanted.hosts.iter().cloned().map(Access::Net);
    let writable = wanted.writable.iter().cloned().map(Access::Write);
    let readable = wanted.readable.iter().cloned().map(Access::Read);
    let accesses: Vec<Access> = hosts.chain(writable).chain(readable).collect();
    let decision = policy.decide(Call {
        tool: &Bash::ABOUT,
        accesses: &accesses,
        scope,
        resolved: &[],
    });
    decision.verdict == Verdict::Deny && decision.rule.is_some()
}

/// Only hosts have rules that say the same.
fn rules(wanted: &Terms) -> Vec<Rule> {
    let only_hosts = Terms {
        hosts: wanted.hosts.clone(),
        ..Terms::default()
    };
    let rules = wanted
        .hosts
        .iter()
        .map(|host| Rule::parse(&format!("Net({host})"), SESSION));
    match *wanted == only_hosts {
        true => rules.collect::<Result<_, _>>().unwrap_or_default(),
        false => Vec::new(),
    }
}

fn question(state: &SessionState, prepared: &Prepared, wanted: &Terms, rules: &[Rule]) -> Ask {
    let language = state.settings.language;
    let what = describe(wanted, &state.scope, language);
    let choice = |id: PermissionChoice, label: Word| Choice::permission(id, language.say(label));
    let mut options = vec![
        choice(PermissionChoice::Once, Word::OnceAgain),
        choice(PermissionChoice::Session, Word::AllowSession)
            .with_detail(language.fill(Word::CommandsMay, &[&what])),
    ];
    options.extend(super::permit::lasting(
        rules,
        state.services.rules.as_ref(),
        language,
    ));
    options.push(deny(language));
    let call = super::subject::subject(prepared, surroundings(state));
    Ask {
        title: language.fill(Word::SandboxStopped, &[&what]),
        subject: call,
        options,
        ..permission_ask(prepared, language)
    }
}

/// What would be granted. The log and the model have it in English.
fn describe(wanted: &Terms, scope: &Scope, language: Language) -> String {
    let all = |word: Word<1>, what: Vec<String>| {
        (!what.is_empty()).then(|| language.fill(word, &[&what.join(", ")]))
    };
    let paths = |paths: &[std::path::PathBuf]| -> Vec<String> {
        paths.iter().map(|p| scope.shown(p)).collect()
    };
    let agent = wanted.ssh_agent.then(|| language.say(Word::MayUseAgent));
    let parts: Vec<String> = [
        all(Word::MayReach, wanted.hosts.clone()),
        all(Word::MayWrite, paths(&wanted.writable)),
        all(Word::MayRead, paths(&wanted.readable)),
        agent.map(str::to_owned),
    ]
    .into_iter()
    .flatten()
    .collect();
    parts.join("; ")
}

/// The model reads why.
fn told_no((mut result, took): Finished, reason: Option<&str>) -> Finished {
    if let Ok(done) = &mut result
        && let Some(hint) = done.data.pointer_mut("/denied/hint")
    {
        let said = hint.as_str().unwrap_or_default();
        let why = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        *hint = Value::from(format!("{said} The person did not grant it{why}"));
    }
    (result, took)
}
