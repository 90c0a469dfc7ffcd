//! Opens the session of another agent, for a call or for the person: its log, its feed, its account, and the sandbox of its programs.

use super::scope::scope_of;
use super::{LocalHub, OPS, Past, RENDERING};
use crate::artifacts::Artifacts;
use crate::budget::{self, spent};
use crate::ledger::Ledger;
use crate::points;
use crate::session::foreign::{
    ForeignSession, OwnSession, Parts, Permits, Prompts, Recorder, Rights,
};
use crate::tool::{AnswerContract, Conversation};
use ostler_confine::HistoryGround;
use ostler_context::account::Account;
use ostler_context::clients::backlog::Backlog;
use ostler_context::clients::feed::Feed;
use ostler_context::clients::live::LiveSession;
use ostler_guard::{Headless, Mode, Posture, Stance};
use ostler_sources::roles::Role;
use ostler_state::agents::children::ChildSettings;
use ostler_state::agents::foreign::{Approval, ForeignLauncher, ForeignOrder, ForeignTask};
use ostler_state::permissions::PermissionState;
use ostler_state::session::settings_of;
use ostler_state::settings::HubSettings;
use ostler_wire::{
    Body, ChildOf, Client, Entry, HubError, Meta, Origin, SCHEMA_VERSION, Settings, Word,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// What an agent in the place of a model works for, in the place of a call.
const IN_PLACE: &str = "prompt";
/// A prompt of the person takes as long as they let it.
const LONGEST_SECS: u64 = 7 * 24 * 60 * 60;

/// What the session of another agent is made of.
struct Start {
    past: Past,
    child: ChildSettings,
    order: ForeignOrder,
    prompts: Prompts,
    /// What the client is told.
    notes: Vec<String>,
}

impl LocalHub {
    pub(crate) fn open_foreign(
        &self,
        child: ChildSettings,
        order: ForeignOrder,
    ) -> Result<(Client, JoinHandle<()>), HubError> {
        let hub = self.serving(child.assigned_role.as_ref());
        let start = Start {
            past: hub.fresh(None, Vec::new()),
            child,
            order,
            prompts: Prompts::One,
            notes: Vec::new(),
        };
        hub.start_foreign(start)
    }

    /// A session of the person, with another agent in the place of a model.
    pub(super) fn open_in_place(&self, past: Past, role: Role) -> Result<Client, HubError> {
        let options = &self.options;
        let (definitions, mut notes) = self.definitions();
        notes.splice(0..0, past.notices.iter().cloned());
        let policy = Arc::new(options.permissions.policy.clone());
        let posture = policy.posture;
        let mut permissions = PermissionState::new(posture, options.permissions.plan_tools.clone());
        permissions.mode = options.permissions.mode.unwrap_or_default();
        let mut role = role;
        role.capabilities.read_only |= permissions.mode == Mode::Plan;
        let child = ChildSettings {
            entries: Vec::new(),
            parent: past.id.clone(),
            budget_session: past.id.clone(),
            prefix: None,
            model: String::new(),
            effort: None,
            policy,
            permissions,
            title: String::new(),
            assigned_role: None,
            definitions,
            foreign: None,
        };
        let order = ForeignOrder::new(ForeignTask {
            role,
            prompt: String::new(),
            root: options.paths.root.clone(),
            project: options.paths.root.clone(),
            parent: past.id.clone(),
            call: IN_PLACE.into(),
            conversation: Conversation::Last,
            contract: AnswerContract::default(),
            timeout_secs: Some(LONGEST_SECS),
            depth: 0,
            approval: match options.run.interactive || posture == Posture::Yolo {
                true => Approval::Given,
                false => Approval::Held,
            },
        });
        let prompts = Prompts::Many(VecDeque::new());
        let start = Start {
            past,
            child,
            order,
            prompts,
            notes,
        };
        self.start_foreign(start).map(|(client, _)| client)
    }

    fn start_foreign(&self, start: Start) -> Result<(Client, JoinHandle<()>), HubError> {
        let Start {
            past,
            child,
            order,
            prompts,
            notes,
        } = start;
        let options = &self.options;
        let language = options.run.language;
        let Some(agents) = options.agents.foreign.clone() else {
            return Err(HubError(language.say(Word::ForeignNone).into()));
        };
        let origin = origin(&order);
        let feed = Feed::redacting(options.run.redactor.clone());
        let model = shown(&origin);
        let mode = child.permissions.shown(&child.policy, Instant::now());
        feed.update_snapshot(|snapshot| {
            snapshot.model.clone_from(&model);
            snapshot.mode = mode;
        });
        let opening = opening(options, &past, (&child, &model));
        let cancel = CancellationToken::new();
        let launcher = Arc::new(self.launcher(&past.folder, &child, &order));
        let account = self.account(&past.id, &child);
        if !past.entries.is_empty() {
            account.budget.remember(&past.id, spent(&past.entries));
        }
        let is_call = |entry: &&Entry| matches!(entry.body, Body::ToolUse(_));
        let source = past.log.source();
        let head = past.log.head();
        let recorder = Arc::new(Recorder::new(Parts {
            account,
            rights: rights(options, &child, &order),
            log: past.log,
            feed: feed.clone(),
            origin,
            cancel: cancel.clone(),
            language,
            root: order.task.root.clone(),
            calls: past.entries.iter().filter(is_call).count(),
        }));
        feed.begin_after(head);
        let (ops, receiver) = mpsc::channel(OPS);
        let live = LiveSession {
            id: past.id,
            ops,
            source: Arc::new(Backlog {
                source,
                register: feed.register().clone(),
            }),
            feed: feed.clone(),
        };
        let client = live.attach(head, notes);
        let own = OwnSession {
            hub: self.clone(),
            role: order.task.role.clone(),
            above: client.session_id.clone(),
            recorder: recorder.clone(),
            child,
        };
        let session = ForeignSession {
            own: Arc::new(own),
            ops: receiver,
            feed,
            recorder,
            agents,
            launcher,
            order,
            opening,
            cancel,
            language,
            prompts,
        };
        let running = self.live.run(live, Box::pin(session.run()));
        Ok((client, running))
    }

    fn account(&self, id: &str, child: &ChildSettings) -> Account {
        let options = &self.options;
        let role = child.assigned_role.as_ref().map(|role| role.role.clone());
        let usual = match role {
            Some(_) => budget::TASK,
            None => budget::MAIN,
        };
        let role = role.filter(|role| options.model.budget.has_role(role));
        Account {
            ledger: options.run.save.then(|| Ledger::new(&options.paths.home)),
            session: id.to_owned(),
            project: self.store().project().to_owned(),
            role: role.unwrap_or_else(|| usual.into()),
            budget_session: child.budget_session.clone(),
            budget: options.model.budget.clone(),
            max_tokens: None,
            pace: None,
        }
    }

    fn launcher(
        &self,
        folder: &std::path::Path,
        child: &ChildSettings,
        order: &ForeignOrder,
    ) -> ForeignLauncher {
        let options = &self.options;
        let sandbox = options.toolbox.sandbox.clone();
        if let Some(temp) = &sandbox.temp {
            // What cannot be made is said by the program that wants it.
            let _ = temp.scratch.make();
        }
        let artifacts = Artifacts::new(folder.to_owned()).redacting(options.run.redactor.clone());
        // Nobody approves what it runs, so it takes nothing of the history.
        let history = HistoryGround {
            root: scope_of(options, folder).root,
            place: options.checkpoint_place().map(Arc::new),
        };
        let services = ostler_confine::Services {
            history: Some(history),
            host: options.toolbox.host.clone(),
            sandbox,
            share: Arc::default(),
            policy: child.policy.clone(),
            allow_private: options.tools.allow_private.clone(),
            served: options.tools.served,
            artifacts: Some(artifacts),
            call_id: order.task.call.clone(),
            root: Some(scope_of(options, folder).root),
            user_home: options.paths.user_home.clone(),
        };
        let granted = options.tools.writable.clone();
        ForeignLauncher::new(services, granted, order.task.approval)
    }
}

/// The agent, as what comes of it is signed.
fn origin(order: &ForeignOrder) -> Origin {
    let agent = order.task.role.agent.clone();
    Origin {
        provider: agent
            .as_ref()
            .map_or_else(String::new, |agent| agent.backend.clone()),
        model: agent.map_or_else(String::new, |agent| agent.model),
    }
}

fn shown(origin: &Origin) -> String {
    match origin.model.as_str() {
        "" => origin.provider.clone(),
        model => format!("{}/{model}", origin.provider),
    }
}

/// What goes before the first prompt: all that a new log begins with, and the agent where an old one had another.
fn opening(
    options: &HubSettings,
    past: &Past,
    (child, model): (&ChildSettings, &str),
) -> Vec<Body> {
    let known = settings_of(&past.entries, &[]).model;
    let settings = Settings {
        model: Some(model.to_owned()).filter(|model| known.as_ref() != Some(model)),
        title: Some(child.title.clone()).filter(|title| !title.is_empty()),
        ..Settings::default()
    };
    let settings = (settings != Settings::default()).then_some(Body::Settings(settings));
    if past.log.head().is_some() {
        return settings.into_iter().collect();
    }
    let child_of = child.assigned_role.as_ref().map(|role| ChildOf {
        session: child.parent.clone(),
        call: role.call.clone(),
        role: role.role.clone(),
    });
    let meta = Meta {
        schema_version: SCHEMA_VERSION,
        session_id: past.id.clone(),
        root: options.paths.root.display().to_string(),
        host: "local".into(),
        prefix: String::new(),
        rendering: RENDERING,
        version: options.run.version.clone(),
        forked_from: past.forked_from.clone(),
        child_of,
    };
    let copied = past.forked_from.is_some().then(|| past.entries.clone());
    let copied = ostler_context::digest::copied(copied.unwrap_or_default());
    let copied = copied.into_iter().map(points::copied);
    let meta = std::iter::once(Body::Meta(meta));
    meta.chain(copied).chain(settings).collect()
}

/// What an agent that asks may do: no more than its role, and what of that is asked.
fn rights(options: &HubSettings, child: &ChildSettings, order: &ForeignOrder) -> Rights {
    let caps = &order.task.role.capabilities;
    let stance = &child.permissions.stance;
    let attended = child
        .assigned_role
        .as_ref()
        .is_none_or(|role| role.attended);
    let is_free = matches!(stance, Stance::Posture(Posture::Yolo));
    let permits = match (options.run.interactive && attended, is_free) {
        (_, true) => Permits::Allow,
        (true, false) if !stance.refuses_prompts(Instant::now()) => Permits::Ask,
        (true, false) => Permits::Refuse,
        (false, false) => match child.policy.headless {
            Headless::Allow | Headless::Sandbox => Permits::Allow,
            Headless::Deny => Permits::Refuse,
        },
    };
    Rights {
        permits,
        edits: !caps.read_only,
        runs: caps.shell,
        reaches: caps.network,
    }
}
