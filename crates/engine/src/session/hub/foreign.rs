//! Opens the session of another agent: its log, its feed, its account, and the sandbox of its programs.

use super::{LocalHub, OPS, RENDERING, scope_of};
use crate::agents::children::ChildSettings;
use crate::agents::foreign::{ForeignLauncher, ForeignOrder};
use crate::artifacts::Artifacts;
use crate::budget;
use crate::clients::backlog::Backlog;
use crate::clients::feed::Feed;
use crate::clients::live::LiveSession;
use crate::confine::{self, HistoryGround};
use crate::context::account::Account;
use crate::ledger::Ledger;
use crate::session::foreign::{ForeignSession, OwnSession, Parts, Permits, Recorder, Rights};
use crate::state::settings::HubSettings;
use ostler_guard::{Headless, Posture, Stance};
use ostler_wire::{Body, ChildOf, Client, HubError, Meta, Origin, SCHEMA_VERSION, Settings, Word};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

impl LocalHub {
    pub(crate) fn open_foreign(
        &self,
        child: ChildSettings,
        order: ForeignOrder,
    ) -> Result<(Client, JoinHandle<()>), HubError> {
        let hub = self.serving(child.assigned_role.as_ref());
        let options = &hub.options;
        let language = options.run.language;
        let Some(agents) = options.agents.foreign.clone() else {
            return Err(HubError(language.say(Word::ForeignNone).into()));
        };
        let past = hub.fresh(None, Vec::new());
        let agent = order.task.role.agent.clone();
        let origin = Origin {
            provider: agent
                .as_ref()
                .map_or_else(String::new, |a| a.backend.clone()),
            model: agent.map_or_else(String::new, |agent| agent.model),
        };
        let feed = Feed::redacting(options.run.redactor.clone());
        let model = match origin.model.as_str() {
            "" => origin.provider.clone(),
            model => format!("{}/{model}", origin.provider),
        };
        feed.update_snapshot(|snapshot| snapshot.model.clone_from(&model));
        let opening = opening(options, &past.id, (&child, &model));
        let cancel = CancellationToken::new();
        let launcher = Arc::new(hub.launcher(&past.folder, &child, &order));
        let source = past.log.source();
        let head = past.log.head();
        let recorder = Arc::new(Recorder::new(Parts {
            account: hub.account(&past.id, &child),
            rights: rights(options, &child, &order),
            log: past.log,
            feed: feed.clone(),
            origin,
            cancel: cancel.clone(),
            language,
            root: order.task.root.clone(),
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
        let client = live.attach(head, Vec::new());
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
        };
        let running = hub.live.run(live, Box::pin(session.run()));
        Ok((client, running))
    }

    fn account(&self, id: &str, child: &ChildSettings) -> Account {
        let options = &self.options;
        let role = child.assigned_role.as_ref().map(|role| role.role.clone());
        let role = role.filter(|role| options.model.budget.has_role(role));
        Account {
            ledger: options.run.save.then(|| Ledger::new(&options.paths.home)),
            session: id.to_owned(),
            project: self.store().project().to_owned(),
            role: role.unwrap_or_else(|| budget::TASK.into()),
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
        let services = confine::Services {
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

/// What the log begins with.
fn opening(options: &HubSettings, id: &str, (child, model): (&ChildSettings, &str)) -> Vec<Body> {
    let child_of = child.assigned_role.as_ref().map(|role| ChildOf {
        session: child.parent.clone(),
        call: role.call.clone(),
        role: role.role.clone(),
    });
    let meta = Meta {
        schema_version: SCHEMA_VERSION,
        session_id: id.to_owned(),
        root: options.paths.root.display().to_string(),
        host: "local".into(),
        prefix: String::new(),
        rendering: RENDERING,
        version: options.run.version.clone(),
        forked_from: None,
        child_of,
    };
    let settings = Settings {
        model: Some(model.to_owned()),
        title: Some(child.title.clone()),
        ..Settings::default()
    };
    vec![Body::Meta(meta), Body::Settings(settings)]
}

/// What an agent that asks may do: no more than its role, and what of that is asked.
fn rights(options: &HubSettings, child: &ChildSettings, order: &ForeignOrder) -> Rights {
    let caps = &order.task.role.capabilities;
    let stance = &child.permissions.stance;
    let attended = child
        .assigned_role
        .as_ref()
        .is_some_and(|role| role.attended);
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
