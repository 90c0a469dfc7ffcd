//! Hooks: commands that a person, or a project they trust, wants to run at fixed moments of a session. What they are told
//! is in `facts`, what their answer means in `verdict`, how they run in `run`. Where none is set, nothing happens at all.

mod facts;
mod matcher;
mod run;
mod runner;
mod session;
mod verdict;

pub use matcher::{Matcher, MatcherError};
pub use runner::HookRunner;
pub use session::{HookSession, HookedCall, SessionFacts};
pub use verdict::{Permission, Said};

use ostler_sources::briefing;
use ostler_store::cut::clip;
use ostler_wire::{Body, Notice, Word};
use run::Ended;
pub use run::{CALL_ID, HookContext};
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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
    pub on: RunsOn,
}

/// Where a hook runs in a session at another place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunsOn {
    /// On the machine of the session, in the folder that stands for the project.
    #[default]
    Here,
    /// At the place, in the project there.
    Host,
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

    pub fn transcript(&self) -> Option<PathBuf> {
        self.transcript.clone()
    }

    pub fn all(&self) -> &[Hook] {
        &self.all
    }

    pub fn has(&self, moment: Moment) -> bool {
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

/// What one hook says. It answers for the person only if it says so, too, where nothing is that commands may change: they
/// could have written the answer.
async fn hear(hook: &Hook, facts: &str, cx: &HookContext) -> Said {
    let cx = &cx.placed(hook.on);
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

/// What hooks have for the person, as the log has it.
pub fn notices(texts: Vec<String>) -> Vec<Body> {
    let notice = |text| Body::Notice(Notice { text });
    texts.into_iter().map(notice).collect()
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

/// Whether a prompt is the first one of a process: then the session starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    New,
    Resumed,
    /// It goes on.
    Not,
}

/// What of a call's hooks the model is told once all results are there.
pub fn note(said: &Said) -> Option<String> {
    let mut lines = said.context.clone();
    lines.extend(said.block.clone());
    (!lines.is_empty()).then(|| lines.join("\n"))
}
