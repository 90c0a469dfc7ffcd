//! Opens the sessions of a process, for the terminal UI, plain lines, `exec` and ops from stdin: the first with the
//! configuration of the start, each later one with the configuration as it is then.

use super::joined;
use super::switch::Switch;
use crate::boot::Boot;
use crate::cmd::answers::Answers;
use crate::errors::Told as _;
use crate::live::SessionHub;
use crate::remote::RemoteHub;
use crate::wiring;
use ostler_config::schema::PluginConfig;
use ostler_config::text::Speak as _;
use ostler_engine::tool::EditorTerminal;
use ostler_engine::{HubSettings, LiveSessions, PlaceSwitch, Voice};
use ostler_host::Host;
use ostler_wire::{
    Client, Completion, CompletionRequest, Hub, HubError, Open, Say, SessionInfo, View, Word,
};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Who is there while the sessions run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attendance {
    /// Somebody who answers questions: a person at the terminal, or a program that drives the session.
    Answers,
    Nobody,
    /// A program whose model writes the prompts, and that may pass questions on to a person.
    Program {
        answers: bool,
    },
}

impl Attendance {
    fn answers(self) -> bool {
        match self {
            Self::Answers => true,
            Self::Nobody => false,
            Self::Program { answers } => answers,
        }
    }

    /// Whose words the prompts are.
    fn voice(self) -> Voice {
        match self {
            Self::Answers | Self::Nobody => Voice::Person,
            Self::Program { .. } => Voice::Model,
        }
    }
}

pub struct ConversationHub {
    current: Mutex<Current>,
    attendance: Attendance,
    /// The sessions of all hubs of this process.
    live: LiveSessions,
}

/// What an editor brings for one session.
#[derive(Clone, Default)]
pub struct Guest {
    pub servers: Vec<PluginConfig>,
    /// Files as the editor has them, in place of those of this machine.
    pub host: Option<Arc<dyn Host>>,
    /// Where commands run, in place of the sandbox.
    pub terminal: Option<Arc<dyn EditorTerminal>>,
}

/// Where the sessions are.
#[derive(Clone)]
enum Sessions {
    /// In this process, or in others of this machine.
    Here(SessionHub),
    /// With an `ostler serve`.
    There(RemoteHub),
}

#[derive(Clone)]
struct Current {
    boot: Arc<Boot>,
    hub: Sessions,
    /// A session was opened with it.
    is_used: bool,
    /// What is odd about the configuration and was not before.
    notices: Vec<String>,
}

impl ConversationHub {
    /// What every start of the program does before it opens a session. `warn` says what is odd about the configuration,
    /// before anything can fail because of it.
    pub fn start(
        boot: Arc<Boot>,
        attendance: Attendance,
        warn: impl FnOnce(&Boot) -> io::Result<()>,
    ) -> anyhow::Result<Self> {
        warn(&boot)?;
        let live = LiveSessions::default();
        let (hub, notices) = hub_of(&boot, attendance, &live, Guest::default())?;
        Ok(Self {
            current: Mutex::new(Current {
                hub,
                boot,
                is_used: false,
                notices,
            }),
            attendance,
            live,
        })
    }

    /// The configuration of the session that was opened last.
    pub fn boot(&self) -> Arc<Boot> {
        self.lock().boot.clone()
    }

    /// The configuration has changed: the next session is opened with it as it is then.
    pub fn expire(&self) {
        self.lock().is_used = true;
    }

    /// Ends all sessions of this process. Clients in other processes take them over.
    pub async fn close(&self) {
        let hub = self.lock().hub.clone();
        match hub {
            Sessions::Here(hub) => hub.close().await,
            // They are not ours to end.
            Sessions::There(_) => {}
        }
    }

    /// What the next session is opened with.
    fn next(&self, guest: Guest) -> anyhow::Result<Current> {
        let old = self.lock().clone();
        let alone = guest.servers.is_empty() && guest.host.is_none() && guest.terminal.is_none();
        if !old.is_used && alone {
            return Ok(old);
        }
        let boot = Arc::new(old.boot.with_brought(&guest.servers)?);
        let known = &old.boot.loaded.notices;
        let new = boot.loaded.notices.iter();
        let new = new.filter(|notice| !known.contains(notice));
        let mut notices: Vec<String> = new.map(|notice| notice.say(boot.language)).collect();
        let (hub, more) = hub_of(&boot, self.attendance, &self.live, guest)?;
        notices.extend(more);
        Ok(Current {
            notices,
            hub,
            boot,
            is_used: true,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The hub, and what the person should know of its settings.
fn hub_of(
    boot: &Arc<Boot>,
    attendance: Attendance,
    live: &LiveSessions,
    guest: Guest,
) -> anyhow::Result<(Sessions, Vec<String>)> {
    if let Some(remote) = &boot.global.attach.remote {
        let hub = RemoteHub::new(boot, remote)?;
        return Ok((Sessions::There(hub), Vec::new()));
    }
    let is_alone = guest.host.is_none();
    let (mut options, notices) = settings_of(boot, attendance, guest)?;
    // Files that an editor has are those of this machine.
    options.commands.places = is_alone.then(|| -> Arc<dyn PlaceSwitch> {
        Arc::new(Switch {
            boot: boot.clone(),
            attendance,
        })
    });
    let hub = SessionHub::new(options, wiring::transport(boot), live.clone());
    Ok((Sessions::Here(hub), notices))
}

/// What sessions are opened with, and what the person should know of it.
pub(super) fn settings_of(
    boot: &Arc<Boot>,
    attendance: Attendance,
    guest: Guest,
) -> anyhow::Result<(HubSettings, Vec<String>)> {
    let mut options = wiring::options(boot, attendance.answers())?;
    options.run.voice = attendance.voice();
    if let Some(host) = guest.host {
        options.toolbox.host = host;
    }
    let mut notices = crate::place::apply(&mut options, boot)?;
    if let Some(terminal) = guest.terminal {
        notices.push(crate::place::use_terminal(
            &mut options,
            terminal,
            boot.language,
        ));
    }
    options.commands.extras = crate::extras::all(boot, crate::place::describe(boot));
    options.commands.hub = Some(Arc::new(Answers(boot.clone())));
    let uncovered = options.toolbox.sandbox.uncovered;
    let uncovered = uncovered.then(|| boot.language.say(Word::SandboxRulesUncovered).to_owned());
    notices.extend(uncovered);
    Ok((options, notices))
}

impl Hub for Sessions {
    async fn open(&self, which: Open) -> Result<Client, HubError> {
        match self {
            Self::Here(hub) => hub.open(which).await,
            Self::There(hub) => hub.open(which).await,
        }
    }

    async fn attach(&self, id: &str, after: Option<u64>) -> Result<Client, HubError> {
        match self {
            Self::Here(hub) => hub.attach(id, after).await,
            Self::There(hub) => hub.attach(id, after).await,
        }
    }

    fn list(&self) -> Result<Vec<SessionInfo>, HubError> {
        match self {
            Self::Here(hub) => hub.list(),
            Self::There(hub) => hub.list(),
        }
    }

    async fn command(&self, line: &str) -> Result<View, HubError> {
        match self {
            Self::Here(hub) => hub.command(line).await,
            Self::There(hub) => hub.command(line).await,
        }
    }

    async fn complete(&self, request: &CompletionRequest) -> Completion {
        match self {
            Self::Here(hub) => hub.complete(request).await,
            Self::There(hub) => hub.complete(request).await,
        }
    }
}

impl ConversationHub {
    /// Opens a session with what an editor brings for it.
    pub async fn open_for(&self, which: Open, guest: Guest) -> Result<Client, HubError> {
        let language = self.boot().language;
        let mut next = self
            .next(guest)
            .map_err(|error| HubError(language.told(&error)))?;
        let keeps_prompt = next.boot.global.system_prompt.is_some() && which != Open::New;
        let mut client = next.hub.open(which).await?;
        let mut notes = std::mem::take(&mut next.notices);
        notes.extend(keeps_prompt.then(|| language.say(Word::ExecSystemKept).to_owned()));
        notes.append(&mut client.notes);
        let idle = joined::idle_flags(&next.boot);
        if client.snapshot.clients.is_remote() && !idle.is_empty() {
            notes.push(language.filled(Word::JoinedFlags, &[&idle.join(", ")]));
        }
        client.notes = notes;
        next.is_used = true;
        *self.lock() = next;
        Ok(client)
    }
}

impl Hub for ConversationHub {
    async fn open(&self, which: Open) -> Result<Client, HubError> {
        self.open_for(which, Guest::default()).await
    }

    async fn attach(&self, id: &str, after: Option<u64>) -> Result<Client, HubError> {
        let hub = self.lock().hub.clone();
        hub.attach(id, after).await
    }

    fn list(&self) -> Result<Vec<SessionInfo>, HubError> {
        self.lock().hub.list()
    }

    async fn command(&self, line: &str) -> Result<View, HubError> {
        let hub = self.lock().hub.clone();
        hub.command(line).await
    }

    async fn complete(&self, request: &CompletionRequest) -> Completion {
        let hub = self.lock().hub.clone();
        hub.complete(request).await
    }
}
