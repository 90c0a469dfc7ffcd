//! The one gate: the mode, then the rules, then the person. What they allow for longer is kept in the session's state.

use super::delegate;
use super::preview;
use super::subject::{Surroundings, subject, with_real_paths};
use super::trust;
use super::{Prepared, never_ran};
use crate::cut::clip;
use crate::log::LogError;
use crate::tool::{Context, Scope, ToolError};
use ostler_context::interfaces::{Keep, RuleStore};
use ostler_guard::{
    BUILT_IN, Call, Decision, Gate, Headless, Mode, Policy, Posture, Refusal, Remedy, Rule,
    Verdict, headless, needs_a_fresh_yes, propose, remedy,
};
use ostler_state::SessionState;
use ostler_state::attend;
use ostler_state::hooks::Permission;
use ostler_state::inbox::{Inbox, Stopped};
use ostler_state::permissions::{Leave, SESSION};
use ostler_tools::NoPrograms;
use ostler_wire::{
    Access, Approval, Ask, AskKind, Body, Choice, Language, Notice, PermissionChoice, Silence, Word,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Characters of a refused call that the person reads.
const MAX_SUBJECT: usize = 300;

/// What "for the session" and "always" would mean for a call.
struct Scopes {
    /// Rules that would allow the same call the next time; empty where there are none.
    rules: Vec<Rule>,
    /// These rules are the session's grant too.
    by_rules: bool,
    /// They allow more than this very call, which can be granted alone.
    is_wider: bool,
    /// What the session's grant covers, for people.
    session: String,
}

/// Asks where mode or rules say so. The inner error is for the model.
pub async fn permit(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prepared: &Prepared,
) -> Result<Result<Leave, ToolError>, LogError> {
    attend::answer_commands(state, inbox);
    let gate = state.gate(&*prepared.tool, &prepared.accesses);
    if let Gate::Shut(why) = gate {
        return Ok(Err(match state.permissions.mode {
            Mode::Plan => planning(prepared, why),
            Mode::Normal | Mode::Goal => reading(prepared, why),
        }));
    }
    let deciding = state.decide(prepared.tool.about(), &prepared.accesses, gate);
    let Ok(mut decision) = inbox.attend(deciding).await else {
        return Ok(Err(never_ran()));
    };
    if let Some(pattern) = prepared.args["pattern"].as_str() {
        let about = prepared.tool.about();
        let posture = state.permissions.posture(about, Instant::now());
        let policy = &state.policy;
        policy.heed_pattern((about, pattern), posture, &mut decision);
    }
    if gate == Gate::Open {
        hooked(prepared, &mut decision);
    }
    if gate == Gate::Trust
        && decision.verdict != Verdict::Deny
        && let Err(error) = trust::ask_trust(state, inbox, prepared).await?
    {
        return Ok(Err(error));
    }
    let fresh = needs_a_fresh_yes(&prepared.accesses);
    let refuses = state.permissions.stance.refuses_prompts(Instant::now());
    let paths = decision.touched.clone();
    let shown = headless::shown(&state.policy, call_of(prepared, &decision, &state.scope));
    let leave = match (decision.verdict, state.settings.interactive) {
        (Verdict::Allow, _) => Ok(Ok(Leave::unasked(&prepared.accesses, &decision))),
        // Whoever trusts the tool for planning was asked about this very call.
        (Verdict::Ask, _) if gate == Gate::Trust => Ok(Ok(Leave::default())),
        (Verdict::Ask, true) if !refuses => ask(state, inbox, prepared, decision).await,
        (Verdict::Ask, false) if !fresh && !refuses => {
            match unattended(prepared, &decision, (&state.policy, &state.scope)) {
                Ok(()) => {
                    let is_held = state.policy.headless == Headless::Sandbox;
                    Ok(Ok(Leave {
                        sees_as_reader: is_held,
                        is_unapproved: is_held,
                        ..Leave::default()
                    }))
                }
                Err(refusal) => {
                    record(state, prepared, &decision, Decided::no(), None)?;
                    refuse_unattended(state, prepared, &refusal).map(Err)
                }
            }
        }
        (Verdict::Deny | Verdict::Ask, _) => {
            record(state, prepared, &decision, Decided::no(), None)?;
            Ok(Err(blocked(prepared, &decision, surroundings(state))))
        }
    }?;
    Ok(leave.map(|leave| Leave {
        paths,
        shown,
        ..leave
    }))
}

/// What the setting for runs without a person says to a call that would be asked.
fn unattended(
    prepared: &Prepared,
    decision: &Decision,
    (policy, scope): (&Policy, &Scope),
) -> Result<(), Refusal> {
    remedy::answer(policy, call_of(prepared, decision, scope), decision)
}

fn call_of<'a>(prepared: &'a Prepared, decision: &'a Decision, scope: &'a Scope) -> Call<'a> {
    Call {
        tool: prepared.tool.about(),
        accesses: &prepared.accesses,
        scope,
        resolved: &decision.resolved,
    }
}

/// What the words of a question of this session are taken from.
pub fn surroundings(state: &SessionState) -> Surroundings<'_> {
    Surroundings {
        scope: &state.scope,
        memory: &state.settings.recall.memory,
        roles: &state.extensions.definitions.roles,
        language: state.settings.language,
    }
}

/// The person reads what would allow it, and so does the model.
fn refuse_unattended(
    state: &mut SessionState,
    prepared: &Prepared,
    refusal: &Refusal,
) -> Result<ToolError, LogError> {
    let language = state.settings.language;
    let subject = subject(prepared, surroundings(state));
    let (word, way, told) = match &refusal.remedy {
        Remedy::Flags(flags) => {
            let flags = flags.join(" ");
            let told = format!("the person can allow it with {flags}");
            (Word::HeadlessRefused, flags, told)
        }
        Remedy::Nothing(why) => {
            let told = format!(
                "no flag allows only this call: {}",
                Language::English.say(*why)
            );
            (Word::HeadlessNoFlag, language.say(*why).to_owned(), told)
        }
    };
    let shown = clip(&subject, MAX_SUBJECT);
    let text = language.fill(word, &[&shown, language.say(refusal.reason), &way]);
    state.commit(vec![Body::Notice(Notice { text })])?;
    let reason = Language::English.say(refusal.reason);
    Ok(ToolError::new(
        "blocked",
        format!(
            "Blocked, because nobody can be asked and {reason}: {subject}. Do it another way, or say in your answer what you need: {told}."
        ),
    ))
}

/// A hook answers for the person where no rule speaks, and may always want them asked. A deny is a deny.
fn hooked(prepared: &Prepared, decision: &mut Decision) {
    let fresh = needs_a_fresh_yes(&prepared.accesses) || decision.only_person;
    match (prepared.permission, decision.verdict) {
        (Permission::Allow, Verdict::Ask) if decision.rule.is_none() && !fresh => {
            decision.verdict = Verdict::Allow;
            decision.reason = Word::WhyHookAllowed;
        }
        (Permission::Ask, Verdict::Allow) => {
            decision.verdict = Verdict::Ask;
            decision.reason = Word::WhyHookAsks;
        }
        (Permission::AsEver | Permission::Allow | Permission::Ask, _) => {}
    }
}

pub fn planning(prepared: &Prepared, why: &str) -> ToolError {
    let name = prepared.tool.name();
    ToolError::new(
        "plan_mode",
        format!(
            "Not run: plan mode is on, and {name} is refused there: {why}. Go on by reading, and finish the plan."
        ),
    )
}

fn reading(prepared: &Prepared, why: &str) -> ToolError {
    let name = prepared.tool.name();
    ToolError::new(
        "read_only",
        format!(
            "Not run: you play a role that changes nothing, and {name} is refused in it: {why}. Go on by reading, and say in your answer what would have to be done."
        ),
    )
}

pub fn blocked(prepared: &Prepared, decision: &Decision, about: Surroundings<'_>) -> ToolError {
    if needs_a_fresh_yes(&prepared.accesses) && decision.verdict == Verdict::Ask {
        let name = prepared.tool.name();
        let message = format!(
            "Refused: {name} needs the person's yes each time, and nobody can be asked here. Nothing was changed; go on, and say in your answer what would be worth it."
        );
        return ToolError::new("blocked", message);
    }
    let subject = subject(prepared, about);
    let by = match (&decision.rule, decision.verdict) {
        (Some(rule), _) if decision.from.as_deref() == Some(BUILT_IN) => {
            format!(
                " by the built-in rule {rule}, because {}",
                Language::English.say(decision.reason)
            )
        }
        (Some(rule), _) => format!(" by the rule {rule}"),
        (None, Verdict::Ask) if decision.only_person || !decision.outside.is_empty() => format!(
            ", because {}, and nobody can be asked",
            Language::English.say(decision.reason)
        ),
        (None, Verdict::Ask) => ", because nobody can be asked".to_owned(),
        (None, Verdict::Allow | Verdict::Deny) => String::new(),
    };
    ToolError::new(
        "blocked",
        format!("Blocked{by}: {subject}. Do it another way, or say what you need."),
    )
}

async fn ask(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prepared: &Prepared,
    decision: Decision,
) -> Result<Result<Leave, ToolError>, LogError> {
    if let Some(answer) = delegate::answered(state, prepared) {
        let (choice, reason) = match &answer {
            Ok(()) => (PermissionChoice::Once, None),
            Err(reason) => (PermissionChoice::Deny, reason.clone()),
        };
        record(state, prepared, &decision, Decided { choice, reason }, None)?;
        return Ok(answer.map(|()| leave(prepared)).map_err(refused));
    }
    if let Some(error) = objection(state, inbox, prepared).await {
        return Ok(Err(error));
    }
    let mut scopes = (!needs_a_fresh_yes(&prepared.accesses)).then(|| {
        let rules = (&*state.policy, &*state.scope);
        scopes((prepared, &decision), rules, state.settings.language)
    });
    let ask = Ask {
        subject: with_real_paths(prepared, &decision, surroundings(state)),
        options: options(
            scopes.as_ref(),
            state.services.rules.as_ref(),
            state.settings.language,
        ),
        ..permission_ask(prepared, state.settings.language)
    };
    let ask = preview::with_preview(state, inbox, prepared, ask).await;
    let ask = delegate::with_others(state, prepared, ask);
    if ask.is_too_long() {
        record(state, prepared, &decision, Decided::no(), None)?;
        return preview::refuse_unshown(state, prepared).map(Err);
    }
    let answer = match attend::ask(state, inbox, ask).await {
        Ok(answer) => answer,
        Err(Stopped) => return Ok(Err(never_ran())),
    };
    let chosen = PermissionChoice::from_id(&answer.choice);
    delegate::settle(state, chosen, answer.reason.as_ref());
    let saved = match (&mut scopes, Keep::of(chosen)) {
        (Some(scopes), Some(keep)) => save(state, inbox, &mut scopes.rules, keep).await?,
        (Some(_) | None, _) => None,
    };
    let decided = Decided {
        choice: kept(chosen, saved.as_ref()),
        reason: answer.reason.clone(),
    };
    record(state, prepared, &decision, decided, saved)?;
    Ok(match (chosen, scopes) {
        (PermissionChoice::Once, _) => Ok(leave(prepared)),
        (PermissionChoice::Session, Some(scopes)) if scopes.by_rules => {
            state.allow(scopes.rules);
            Ok(leave(prepared))
        }
        (PermissionChoice::Session | PermissionChoice::SessionExact, Some(_)) => {
            state.permissions.grant(&prepared.accesses);
            if !prepared.accesses.iter().any(Access::needs_permission) {
                state.permissions.reads.extend(decision.touched);
            }
            Ok(leave(prepared))
        }
        // Also where saving failed: it holds for the session, and no wider than was read.
        (PermissionChoice::Always | PermissionChoice::AlwaysProject, Some(scopes)) => {
            state.allow(scopes.rules);
            Ok(leave(prepared))
        }
        (PermissionChoice::Deny, _)
        | (
            PermissionChoice::Session
            | PermissionChoice::SessionExact
            | PermissionChoice::Always
            | PermissionChoice::AlwaysProject,
            None,
        ) => Err(refused(answer.reason)),
    })
}

/// A question about a call, with all that is the same in each of them.
pub fn permission_ask(prepared: &Prepared, language: Language) -> Ask {
    let about = prepared.tool.about();
    Ask {
        kind: AskKind::Permission,
        title: match about.question {
            Some(question) => language.say(question).to_owned(),
            None => language.fill(Word::WantsTo, &[prepared.tool.name()]),
        },
        tool: Some(prepared.tool.name().to_owned()),
        call: Some(prepared.call.id.clone()),
        silence: Silence::refuses(PermissionChoice::Deny.id()),
        ..Ask::default()
    }
}

/// The choice of a permission that says no, with a reason.
pub fn deny(language: Language) -> Choice {
    Choice::permission(PermissionChoice::Deny, language.say(Word::Deny))
        .with_reason(language.say(Word::WhyNotHint))
}

/// What the log has of a choice: one that was to last and could not be saved holds for the session.
pub fn kept(choice: PermissionChoice, saved: Option<&String>) -> PermissionChoice {
    match (Keep::of(choice), saved) {
        (Some(_), Some(_)) => PermissionChoice::Always,
        (Some(_), None) => PermissionChoice::Session,
        (None, _) => choice,
    }
}

fn refused(reason: Option<String>) -> ToolError {
    ToolError::new(
        "denied",
        match reason.filter(|reason| !reason.trim().is_empty()) {
            Some(reason) => format!("The person refused this call: {reason}"),
            None => {
                "The person refused this call. Ask them what to do instead, or go on without it."
                    .into()
            }
        },
    )
}

/// The hosts that the person read in the call.
pub fn leave(prepared: &Prepared) -> Leave {
    let host = |access: &Access| match access {
        Access::Net(host) if !host.contains(['*', '?']) => Some(host.clone()),
        Access::Net(_)
        | Access::Read(_)
        | Access::Write(_)
        | Access::Run(_)
        | Access::Mcp { .. }
        | Access::Job(_)
        | Access::Delegate { .. }
        | Access::Memory
        | Access::History => None,
    };
    Leave {
        hosts: prepared.accesses.iter().filter_map(host).collect(),
        ..Leave::default()
    }
}

fn scopes(
    (prepared, decision): (&Prepared, &Decision),
    (policy, scope): (&Policy, &Scope),
    language: Language,
) -> Scopes {
    let proposed = propose(prepared.tool.about(), &prepared.accesses, scope);
    let rules: Result<Vec<Rule>, _> = proposed.iter().map(|r| Rule::parse(r, SESSION)).collect();
    let rules = rules.unwrap_or_default();
    let rules = match would_allow((prepared, decision), &rules, (policy, scope)) {
        true => rules,
        false => Vec::new(),
    };
    let has = |wanted: fn(&Access) -> bool| prepared.accesses.iter().any(wanted);
    let runs = has(|a| matches!(a, Access::Run(_)));
    let by_rules = (runs || has(|a| matches!(a, Access::Delegate { .. }))) && !rules.is_empty();
    let is_wider = by_rules && rules.iter().any(Rule::is_wide);
    let session = if by_rules {
        texts(&rules)
    } else if runs {
        language.say(Word::ScopeCommand).into()
    } else if has(|a| matches!(a, Access::Write(_))) {
        language.say(Word::MayEditAll).into()
    } else if let Some(Access::Net(host)) = prepared.accesses.first() {
        language.fill(Word::WholeHost, &[host])
    } else {
        language.say(Word::ScopeCall).into()
    };
    Scopes {
        rules,
        by_rules,
        is_wider,
        session,
    }
}

/// Whether these rules really allow the same call; a rule that the person saves must not be idle.
fn would_allow(
    (prepared, decision): (&Prepared, &Decision),
    rules: &[Rule],
    (policy, scope): (&Policy, &Scope),
) -> bool {
    let mut trial = Policy::clone(policy);
    trial.rules.allow.extend(rules.iter().cloned());
    let call = Call {
        tool: prepared.tool.about(),
        accesses: &prepared.accesses,
        scope,
        resolved: &decision.resolved,
    };
    !rules.is_empty() && trial.decide_in(Posture::Ask, call).verdict == Verdict::Allow
}

fn options(
    scopes: Option<&Scopes>,
    store: Option<&Arc<dyn RuleStore>>,
    language: Language,
) -> Vec<Choice> {
    let choice = |id: PermissionChoice, label: Word| Choice::permission(id, language.say(label));
    let mut options = vec![choice(PermissionChoice::Once, Word::AllowOnce)];
    if let Some(scopes) = scopes {
        let session = choice(PermissionChoice::Session, Word::AllowSession);
        options.push(session.with_detail(&scopes.session));
        if scopes.is_wider {
            let exact = choice(PermissionChoice::SessionExact, Word::AllowSession);
            options.push(exact.with_detail(language.say(Word::ScopeCommand)));
        }
        options.extend(lasting(&scopes.rules, store, language));
    }
    options.push(deny(language));
    options
}

/// The choices that outlive the session: one per file that a rule can be written to.
pub fn lasting(
    rules: &[Rule],
    store: Option<&Arc<dyn RuleStore>>,
    language: Language,
) -> Vec<Choice> {
    let (Some(store), false) = (store, rules.is_empty()) else {
        return Vec::new();
    };
    let mut what = texts(rules);
    if rules.iter().any(Rule::is_about_hosts) {
        what = language.fill(Word::WholeHost, &[&what]);
    }
    let choice = |keep: Keep| {
        let label = match keep {
            Keep::Person => Word::AllowAlways,
            Keep::Repository => Word::AllowRepository,
        };
        let place = language.fill(Word::InPlace, &[&what, &store.place(keep)?]);
        Some(Choice::permission(keep.choice(), language.say(label)).with_detail(place))
    };
    Keep::ALL.into_iter().filter_map(choice).collect()
}

pub fn texts(rules: &[Rule]) -> String {
    let texts: Vec<String> = rules.iter().map(Rule::canonical).collect();
    texts.join(", ")
}

/// What a call has that has not been judged yet: it can start no program.
pub fn unjudged(state: &SessionState, inbox: &Inbox, prepared: &Prepared) -> Context {
    let (id, tool) = (&prepared.call.id, prepared.tool.about());
    let mut cx = state.context(id, tool, &Leave::default(), inbox.turn());
    cx.services.programs = Arc::new(NoPrograms);
    cx
}

async fn objection(
    state: &SessionState,
    inbox: &mut Inbox,
    prepared: &Prepared,
) -> Option<ToolError> {
    let cx = unjudged(state, inbox, prepared);
    let checking = prepared.typed.objection(cx);
    inbox.attend(checking).await.ok()?
}

/// Writes the rules to where they hold for ever, and names them with the place. What fails is told, and holds for the
/// session.
pub async fn save(
    state: &mut SessionState,
    inbox: &mut Inbox,
    rules: &mut [Rule],
    keep: Keep,
) -> Result<Option<String>, LogError> {
    let Some(store) = state.services.rules.clone() else {
        return Ok(None);
    };
    let language = state.settings.language;
    let lines: Vec<String> = rules.iter().map(Rule::canonical).collect();
    let share = state.services.sandbox.share.clone();
    let records = state.services.sandbox.settings.records.clone();
    let held = language.say(Word::SaveWhileRunning);
    let saving = tokio::task::spawn_blocking(move || {
        // What a command could have written would be taken for the person's, or their rule be put back with it.
        let is_held = |file: PathBuf| share.may_put_back(&file, records.as_deref());
        match store.file(keep).is_some_and(is_held) {
            true => Err(held.to_owned()),
            false => save_all(&store, &lines, keep),
        }
    });
    let saved = match inbox.attend(saving).await {
        Ok(Ok(saved)) => saved,
        Ok(Err(_)) => Err(language.say(Word::SaveLost).into()),
        Err(Stopped) => Err(language.say(Word::SaveStopped).into()),
    };
    match saved {
        Ok(place) => {
            rules.iter_mut().for_each(|rule| rule.from = place.clone());
            Ok(Some(format!("{} in {place}", texts(rules))))
        }
        Err(why) => {
            state.commit(vec![Body::Notice(Notice {
                text: language.fill(Word::NotSaved, &[&why]),
            })])?;
            Ok(None)
        }
    }
}

fn save_all(store: &Arc<dyn RuleStore>, rules: &[String], keep: Keep) -> Result<String, String> {
    let mut place = String::new();
    for rule in rules {
        place = store.save(rule, keep)?;
    }
    Ok(place)
}

fn record(
    state: &mut SessionState,
    prepared: &Prepared,
    decision: &Decision,
    decided: Decided,
    saved: Option<String>,
) -> Result<(), LogError> {
    commit_approval(state, prepared, decided, (decision.rule.clone(), saved))
}

/// What was decided about a call, for the log.
pub struct Decided {
    pub choice: PermissionChoice,
    pub reason: Option<String>,
}

impl Decided {
    fn no() -> Self {
        Self {
            choice: PermissionChoice::Deny,
            reason: None,
        }
    }
}

pub fn commit_approval(
    state: &mut SessionState,
    prepared: &Prepared,
    decided: Decided,
    (rule, saved): (Option<String>, Option<String>),
) -> Result<(), LogError> {
    state.commit(vec![Body::Approval(Approval {
        tool_use_id: prepared.call.id.clone(),
        decision: decided.choice.into(),
        rule,
        reason: decided.reason,
        saved,
    })])
}
