//! A session as its owner task and its commands have it: the state, the inbox and the settings of the hub that opened it.
//! What a session begins its log with, and how it goes on with another model, is here, too.

use crate::SessionState;
use crate::agents::children::Opener;
use crate::inbox::Inbox;
use crate::settings::HubSettings;
use ostler_context::conversation::Conversation;
use ostler_context::cost::check_affordable;
use ostler_llm::{Effort, Model, Params, Target, Transport};
use ostler_store::log::LogError;
use ostler_store::sessions::Store;
use ostler_wire::{Body, Entry, Settings, View, Word};
use std::sync::Arc;
use tokio::sync::watch;

pub struct Session {
    pub state: SessionState,
    pub inbox: Inbox,
    pub options: Arc<HubSettings>,
    pub transport: Arc<Transport>,
    /// The log is to be thrown away when the session ends.
    pub discarded: bool,
    /// What goes before the first prompt of this process.
    pub opening: Opening,
    /// The facts that go with it.
    pub facts: Option<String>,
    pub moving: Moving,
}

/// The name of a place, and why the link to it is cut.
pub type Link = (String, watch::Receiver<Option<String>>);

/// Who has to know when the session goes on at another place.
pub struct Moving {
    /// How sub-agents are opened with these settings.
    pub opener: Box<dyn Fn(Arc<HubSettings>) -> Opener + Send + Sync>,
    /// The link that is watched.
    pub link: watch::Sender<Option<Link>>,
}

/// What goes into the log before the first prompt of a process, and the facts that ride in that prompt.
#[derive(Clone, Default)]
pub struct Opening {
    /// The beginning of a fork's log: copied, and not shown.
    pub past: Vec<Body>,
    pub entries: Vec<Body>,
    pub context: Option<String>,
}

impl Session {
    /// Begins the log, for what is written down before the first prompt. The facts for that prompt wait for it.
    pub fn begin(&mut self) -> Result<(), LogError> {
        if let Some(notice) = self.state.take_rule_news() {
            self.opening.entries.push(notice);
        }
        let Opening { past, entries, .. } = self.opening.clone();
        if past.is_empty() && entries.is_empty() {
            return Ok(());
        }
        if self.opening.context.is_some() {
            self.state.keep_prefix();
        }
        self.state.commit_after(past, entries)?;
        self.opening.past.clear();
        self.opening.entries.clear();
        Ok(())
    }

    /// A fork begins its log with what it takes over, so that there is something to work on and to go back in.
    pub fn take_over(&mut self) -> Result<(), LogError> {
        match self.opening.past.is_empty() {
            true => Ok(()),
            false => self.begin(),
        }
    }

    pub fn store(&self) -> Store {
        Store::new(&self.options.paths.sessions, &self.options.paths.project)
            .of_home(&self.options.paths.home)
            .speaking(self.options.run.language)
    }

    /// Goes on with another model: the log is folded anew for it, and the break in the prompt cache is recorded.
    pub fn switch_model(&mut self, reference: &str) -> View {
        let target = match self.options.model.models.resolve(Some(reference)) {
            Ok(target) => target,
            Err(why) => return View::Error(why),
        };
        let name = format!("{}/{}", target.origin.provider, target.origin.model);
        let settings = Settings {
            model: Some(name.clone()),
            ..Settings::default()
        };
        match self.go_on(Arc::new(target), "model", settings) {
            Ok(()) => View::Text(self.options.run.language.fill(Word::ModelIs, &[&name])),
            Err(why) => View::Error(why),
        }
    }

    pub fn switch_effort(&mut self, effort: Effort, name: &str) -> View {
        let target = self.state.conversation.model.target().clone();
        self.state.settings.effort = Some(effort);
        let settings = Settings {
            effort: Some(name.to_owned()),
            ..Settings::default()
        };
        match self.go_on(target, "effort", settings) {
            Ok(()) => View::Text(self.options.run.language.fill(Word::EffortIs, &[name])),
            Err(why) => View::Error(why),
        }
    }

    fn go_on(
        &mut self,
        target: Arc<Target>,
        cause: &'static str,
        settings: Settings,
    ) -> Result<(), String> {
        let model = Model::new(target, self.transport.clone())
            .map_err(|e| e.say(self.options.run.language))?;
        check_affordable(&self.options.model.budget, &model)
            .map_err(|why| why.say(self.options.run.language))?;
        let mut params = params_for(&self.options, &model);
        params.effort = self.state.settings.effort.or(params.effort);
        let old = &self.state.conversation;
        let envelope = self.state.services.settings.envelope;
        let mut new = Conversation::new(model, old.prefix.clone(), &params, envelope);
        new.read(&self.branch());
        new.replaces(old, cause);
        self.state.conversation = new;
        if self.state.log.is_empty() {
            let opening = &mut self.opening.entries;
            let own = opening.iter_mut().find_map(|body| {
                let Body::Settings(own) = body else {
                    return None;
                };
                Some(own)
            });
            match own {
                Some(own) => {
                    own.model = settings.model.or(own.model.take());
                    own.effort = settings.effort.or(own.effort.take());
                }
                None => opening.push(Body::Settings(settings)),
            }
            return Ok(());
        }
        let committed = self.state.commit(vec![Body::Settings(settings)]);
        committed.map_err(|e| e.say(self.options.run.language))
    }
}

/// The settings of a run, with what the reference of the model says itself.
pub fn params_for(settings: &HubSettings, model: &Model) -> Params {
    let own = model.target().effort;
    Params {
        effort: own.or(settings.model.params.effort),
        ..settings.model.params.clone()
    }
}

/// The model and prefix that the last settings of these entries speak of.
pub fn settings_of(past: &[Entry], opening: &[Body]) -> Settings {
    let mut out = Settings::default();
    for body in past.iter().map(|e| &e.body).chain(opening) {
        if let Body::Settings(s) = body {
            out.model = s.model.clone().or(out.model);
            out.prefix = s.prefix.clone().or(out.prefix);
        } else if let Body::Meta(m) = body {
            out.prefix = Some(m.prefix.clone());
        }
    }
    out
}
