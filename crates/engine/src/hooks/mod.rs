//! Hooks: commands that a person, or a project they trust, wants to run at fixed moments of a session. What they are told
//! is in `facts`, what their answer means in `verdict`, how they run in `run`. Where none is set, nothing happens at all.

mod facts;
mod matcher;
mod run;
mod runner;
mod verdict;

pub use matcher::{Matcher, MatcherError};
pub use runner::HookRunner;
pub use verdict::{Permission, Said};

use crate::cut::clip;
use crate::dispatch::Prepared;
use crate::inbox::Inbox;
use crate::log::LogError;
use crate::sources::briefing;
use crate::state::SessionState;
use facts::Facts;
use ostler_guard::Call;
use ostler_guard::resolve;
use ostler_wire::{Body, Json, Message, Notice, Word};
use run::{Ended, HookContext};
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a hook may take when it does not say.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// How often a hook may send the model on in one turn.
pub const MAX_STOPS: u32 = 3;
/// A hook that takes longer is shown.
const QUIET: Duration = Duration::from_millis(400);
/// Troubles that are remembered, so that none is told twice.
const MAX_TOLD: usize = 256;
/// Characters of a command where it is named.
const MAX_COMMAND: usize = 60;

/// When a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    SessionStart,
    UserPrompt,
    PreTool,
    PostTool,
    PreCompact,
    Notification,
    Stop,
    SubagentStop,
}

impl Moment {
    pub const ALL: [Self; 8] = [
        Self::SessionStart,
        Self::UserPrompt,
        Self::PreTool,
        Self::PostTool,
        Self::PreCompact,
        Self::Notification,
        Self::Stop,
        Self::SubagentStop,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "session_start",
            Self::UserPrompt => "user_prompt",
            Self::PreTool => "pre_tool",
            Self::PostTool => "post_tool",
            Self::PreCompact => "pre_compact",
            Self::Notification => "notification",
            Self::Stop => "stop",
            Self::SubagentStop => "subagent_stop",
        }
    }

    /// The name that hooks written for others know it by.
    pub fn common_name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPrompt => "UserPromptSubmit",
            Self::PreTool => "PreToolUse",
            Self::PostTool => "PostToolUse",
            Self::PreCompact => "PreCompact",
            Self::Notification => "Notification",
            Self::Stop => "Stop",
            Self::SubagentStop => "SubagentStop",
        }
    }

    /// Its plain output is for the model.
    fn takes_text(self) -> bool {
        match self {
            Self::SessionStart | Self::UserPrompt => true,
            Self::PreTool
            | Self::PostTool
            | Self::PreCompact
            | Self::Notification
            | Self::Stop
            | Self::SubagentStop => false,
        }
    }

    /// Exit 2 says no to something.
    fn can_block(self) -> bool {
        match self {
            Self::UserPrompt | Self::PreTool | Self::PostTool | Self::Stop | Self::SubagentStop => {
                true
            }
            Self::SessionStart | Self::PreCompact | Self::Notification => false,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Hook {
    pub moment: Moment,
    pub matcher: Matcher,
    /// Of the calls that it matches, only these.
    pub only: Option<Matcher>,
    pub command: String,
    pub timeout: Duration,
    /// Variables beside those of commands.
    pub env: Vec<(OsString, OsString)>,
    /// Where it is written, for people.
    pub from: String,
}

impl Hook {
    fn shown(&self) -> String {
        let line = self.command.lines().next().unwrap_or_default();
        clip(line, MAX_COMMAND)
    }
}

/// The place of a hook that changes the arguments of a call, and what they become.
pub type Changed = (usize, Value);

/// The hooks of a session.
#[derive(Default)]
pub struct Hooks {
    all: Arc<[Hook]>,
    /// The session's log, for those who want to read it.
    transcript: Option<PathBuf>,
    told: Vec<String>,
}

impl Hooks {
    pub fn new(all: Arc<[Hook]>, transcript: Option<PathBuf>) -> Self {
        Self {
            all,
            transcript,
            told: Vec::new(),
        }
    }

    pub fn all(&self) -> &[Hook] {
        &self.all
    }

    fn has(&self, moment: Moment) -> bool {
        self.all.iter().any(|hook| hook.moment == moment)
    }

    fn of<'a>(&'a self, moment: Moment, subject: &'a str) -> impl Iterator<Item = &'a Hook> {
        let is_meant = move |hook: &&Hook| hook.moment == moment && hook.matcher.takes(subject);
        self.all.iter().filter(is_meant)
    }

    /// What the person has not been told yet.
    fn news(&mut self, notices: Vec<String>) -> Vec<String> {
        let told = &mut self.told;
        let is_new = |text: &String| {
            let new = !told.contains(text);
            if new && told.len() < MAX_TOLD {
                told.push(text.clone());
            }
            new
        };
        notices.into_iter().filter(is_new).collect()
    }
}

/// Whether a child works here: its prompts and its end are its parent's affair.
fn is_child(state: &SessionState) -> bool {
    state.account.budget_session != state.account.session
}

/// Runs hooks one after the other, until one says no. A stop of the turn ends them, too.
async fn fire(
    state: &mut SessionState,
    inbox: &mut Inbox,
    hooks: Vec<Hook>,
    facts: Facts,
    cancel: &CancellationToken,
) -> Said {
    let mut said = Said::default();
    let facts = facts.to_json(state);
    for hook in hooks {
        if cancel.is_cancelled() {
            break;
        }
        let cx = HookContext::new(state, cancel.clone());
        let language = state.settings.language;
        let running = async {
            let mut running = std::pin::pin!(hear(&hook, &facts, &cx));
            tokio::select! {
                biased;
                said = &mut running => return said,
                () = tokio::time::sleep(QUIET) => {}
            }
            state.progress("hook", &language.fill(Word::HookRuns, &[&hook.shown()]));
            let said = running.await;
            state.progress("hook", "");
            said
        };
        said.add(inbox.attend(running).await.unwrap_or_default());
        if said.block.is_some() || said.halt.is_some() {
            break;
        }
    }
    said.notices = state.settings.hooks.news(std::mem::take(&mut said.notices));
    said
}

/// What one hook says. It answers for the person only if it says so, too, where nothing is that commands may change: they
/// could have written the answer.
async fn hear(hook: &Hook, facts: &str, cx: &HookContext) -> Said {
    let language = cx.cx.language;
    let mut said = verdict::judge(hook, run::run(hook, facts, cx).await, language);
    if said.permission != Permission::Allow {
        return said;
    }
    let apart = run::run_apart(hook, facts, cx).await;
    if matches!(apart, Some(Ended::Cancelled)) {
        return Said::default();
    }
    let apart = apart.map(|ended| verdict::judge(hook, ended, language));
    if apart.is_none_or(|apart| apart.permission != Permission::Allow) {
        said.permission = Permission::AsEver;
        let notice = language.fill(Word::HookAllowsByProject, &[&hook.shown()]);
        said.notices.push(notice);
    }
    said
}

fn notices(texts: Vec<String>) -> Vec<Body> {
    let notice = |text| Body::Notice(Notice { text });
    texts.into_iter().map(notice).collect()
}

/// What the person has to know goes into the log.
fn tell(state: &mut SessionState, said: &mut Said) -> Result<(), LogError> {
    match std::mem::take(&mut said.notices) {
        texts if texts.is_empty() => Ok(()),
        texts => state.commit(notices(texts)),
    }
}

/// What hooks have to say before a prompt is taken in.
#[derive(Default)]
pub struct Greeting {
    /// For the prompt's context.
    pub context: Option<String>,
    /// For the log, beside the prompt.
    pub notices: Vec<Body>,
    /// Why the prompt is not taken in.
    pub block: Option<String>,
    /// It was stopped before every hook had been heard.
    pub unheard: bool,
}

impl Greeting {
    fn take(&mut self, moment: Moment, said: Said) {
        for text in &said.context {
            let block = format!("<hook event=\"{}\">\n{text}\n</hook>", moment.name());
            self.context = briefing::join(self.context.take(), Some(block));
        }
        self.notices.extend(notices(said.notices));
        self.block = self.block.take().or(said.halt).or(said.block);
    }
}

/// The first prompt of a process: the session starts.
pub enum Start {
    New,
    Resumed,
    /// It goes on.
    Not,
}

pub(crate) async fn greet(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prompt: &str,
    start: Start,
    cancel: &CancellationToken,
) -> Greeting {
    let mut greeting = Greeting::default();
    if is_child(state) {
        return greeting;
    }
    let source = match start {
        Start::New => Some("startup"),
        Start::Resumed => Some("resume"),
        Start::Not => None,
    };
    if let Some(source) = source {
        let hooks: Vec<Hook> = state
            .settings
            .hooks
            .of(Moment::SessionStart, source)
            .cloned()
            .collect();
        if !hooks.is_empty() {
            let facts = Facts::new(Moment::SessionStart).with("source", source);
            let mut said = fire(state, inbox, hooks, facts, cancel).await;
            said.block = None;
            greeting.unheard = cancel.is_cancelled();
            greeting.take(Moment::SessionStart, said);
        }
    }
    let hooks: Vec<Hook> = state
        .settings
        .hooks
        .of(Moment::UserPrompt, "")
        .cloned()
        .collect();
    if !hooks.is_empty() && greeting.block.is_none() {
        let facts = Facts::new(Moment::UserPrompt).with("prompt", prompt);
        let said = fire(state, inbox, hooks, facts, cancel).await;
        greeting.unheard = cancel.is_cancelled();
        greeting.take(Moment::UserPrompt, said);
    }
    greeting
}

/// The hooks that a call is for.
async fn meant(state: &SessionState, moment: Moment, prepared: &Prepared) -> Vec<(usize, Hook)> {
    let mut meant = Vec::new();
    let all = state.settings.hooks.all.iter().enumerate();
    for (place, hook) in all.filter(|(_, hook)| hook.moment == moment) {
        let mut takes = true;
        for matcher in std::iter::once(&hook.matcher).chain(&hook.only) {
            takes = takes && takes_call(state, matcher, prepared).await;
        }
        if takes {
            meant.push((place, hook.clone()));
        }
    }
    meant
}

async fn takes_call(state: &SessionState, matcher: &Matcher, prepared: &Prepared) -> bool {
    let resolved = match matcher.policy() {
        Some(policy) => {
            let host = state.services.host.as_ref();
            resolve::resolved(host, &prepared.accesses, policy, &state.scope).await
        }
        None => Vec::new(),
    };
    matcher.takes_call(Call {
        tool: prepared.tool.about(),
        accesses: &prepared.accesses,
        scope: &state.scope,
        resolved: &resolved,
    })
}

/// Before a call. What hooks want the model to know goes with the results.
pub(crate) async fn before_call(
    state: &mut SessionState,
    inbox: &mut Inbox,
    (prepared, heard): (&Prepared, &[usize]),
    cancel: &CancellationToken,
) -> Result<(Said, Option<Changed>), LogError> {
    if !state.settings.hooks.has(Moment::PreTool) {
        return Ok((Said::default(), None));
    }
    let facts = Facts::of_call(Moment::PreTool, prepared, &state.scope);
    let mut said = Said::default();
    for (place, hook) in meant(state, Moment::PreTool, prepared).await {
        let name = hook.shown();
        let mut one = fire(state, inbox, vec![hook], facts.clone(), cancel).await;
        if one.permission == Permission::Allow && speaks_as_hook(&prepared.call.input) {
            one.permission = Permission::AsEver;
            let language = state.settings.language;
            one.notices
                .push(language.fill(Word::HookAllowsEcho, &[&name]));
        }
        tell(state, &mut one)?;
        let changed = one.input.take().filter(|_| !heard.contains(&place));
        let changed = changed.and_then(|input| facts::taken_back(prepared, input, &state.scope));
        said.add(one);
        if said.block.is_some() || said.halt.is_some() {
            break;
        }
        if let Some(args) = changed {
            return Ok((said, Some((place, args))));
        }
    }
    Ok((said, None))
}

/// Whether the arguments of a call hold the words by which a hook allows one: a hook that prints what it is given, such as
/// one that keeps a log, would pass on the model's words as its own.
fn speaks_as_hook(input: &Json) -> bool {
    let text = input.get().to_ascii_lowercase();
    // Escapes of JSON can spell any letter.
    ["decision", "\\u"].iter().any(|word| text.contains(word))
}

/// Whether somebody looks at what calls give.
pub(crate) fn want_results(state: &SessionState) -> bool {
    state.settings.hooks.has(Moment::PostTool)
}

/// After a call that has given `data`.
pub(crate) async fn after_call(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prepared: &Prepared,
    data: Value,
    cancel: &CancellationToken,
) -> Result<Said, LogError> {
    let hooks = meant(state, Moment::PostTool, prepared).await;
    let hooks: Vec<Hook> = hooks.into_iter().map(|(_, hook)| hook).collect();
    if hooks.is_empty() || cancel.is_cancelled() {
        return Ok(Said::default());
    }
    let facts =
        Facts::of_call(Moment::PostTool, prepared, &state.scope).with_result(prepared, data);
    let mut said = fire(state, inbox, hooks, facts, cancel).await;
    tell(state, &mut said)?;
    Ok(said)
}

/// What of a call's hooks the model is told once all results are there.
pub(crate) fn note(said: &Said) -> Option<String> {
    let mut lines = said.context.clone();
    lines.extend(said.block.clone());
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Why the model shall go on although it has nothing more to do. `sent_on` counts how often it was told.
pub(crate) async fn before_stop(
    state: &mut SessionState,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
    sent_on: &mut u32,
) -> Result<Option<Message>, LogError> {
    let (moment, role) = match is_child(state) {
        false => (Moment::Stop, None),
        true => (Moment::SubagentStop, state.offers.agents.role.clone()),
    };
    // A prompt in the background plays no role, and ends without a word to hooks.
    if !state.settings.hooks.has(moment) || moment == Moment::SubagentStop && role.is_none() {
        return Ok(None);
    }
    let subject = role.clone().unwrap_or_default();
    let hooks: Vec<Hook> = state.settings.hooks.of(moment, &subject).cloned().collect();
    if hooks.is_empty() {
        return Ok(None);
    }
    let mut facts = Facts::new(moment)
        .with("stop_hook_active", *sent_on > 0)
        .with("last_assistant_message", state.conversation.last_answer());
    if let Some(role) = role {
        let transcript = state.settings.hooks.transcript.as_deref();
        let transcript = transcript.map_or_else(String::new, |path| path.display().to_string());
        facts = facts
            .with("session_id", state.account.budget_session.as_str())
            .with("agent_id", state.account.session.as_str())
            .with("agent_type", role)
            .with("agent_transcript_path", transcript);
    }
    let mut said = fire(state, inbox, hooks, facts, cancel).await;
    let language = state.settings.language;
    let why = said.block.take().filter(|_| said.halt.is_none());
    if why.is_some() && *sent_on == MAX_STOPS {
        let most = MAX_STOPS.to_string();
        said.notices.push(language.fill(Word::HookStops, &[&most]));
    }
    tell(state, &mut said)?;
    let Some(why) = why.filter(|_| *sent_on < MAX_STOPS) else {
        return Ok(None);
    };
    *sent_on += 1;
    Ok(Some(Message::note(format!(
        "[A hook says that you are not done: {why}]"
    ))))
}

/// Before older work is folded.
pub(crate) async fn before_fold(
    state: &mut SessionState,
    inbox: &mut Inbox,
    focus: Option<&str>,
    (trigger, cancel): (&str, &CancellationToken),
) -> Result<(), LogError> {
    let hooks: Vec<Hook> = state
        .settings
        .hooks
        .of(Moment::PreCompact, trigger)
        .cloned()
        .collect();
    if hooks.is_empty() {
        return Ok(());
    }
    let facts = Facts::new(Moment::PreCompact)
        .with("trigger", trigger)
        .with("custom_instructions", focus.unwrap_or_default());
    let mut said = fire(state, inbox, hooks, facts, cancel).await;
    tell(state, &mut said)
}
