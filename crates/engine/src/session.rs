//! A session: one task that owns the desk and the inbox, and runs one turn after the other.

use crate::commands;
use crate::conversation::Conversation;
use crate::desk::Desk;
use crate::hub::{Options, params_for};
use crate::inbox::{Inbox, Next, Prompt};
use crate::log::branch;
use crate::prefixes;
use crate::store::Store;
use crate::turn::{Opening, turn};
use ostler_llm::{Effort, Model, Target, Transport};
use ostler_wire::{Body, Notice, Settings, View, Word};
use std::sync::Arc;

pub struct Session {
    pub(crate) desk: Desk,
    pub(crate) inbox: Inbox,
    pub(crate) options: Arc<Options>,
    pub(crate) transport: Arc<Transport>,
    /// As the person chose it in this session.
    pub(crate) effort: Option<Effort>,
    /// The log is to be thrown away when the session ends.
    pub(crate) discarded: bool,
    /// What goes before the first prompt of this process.
    pub(crate) opening: Opening,
}

impl Session {
    pub async fn run(mut self) {
        loop {
            match self.inbox.next().await {
                Next::Prompt(prompt) => self.prompt(prompt).await,
                Next::Command(line) => self.command(&line),
                Next::Over => break,
            }
        }
        self.desk.shop.jobs.close().await;
        if !self.options.save {
            // It lies in the system's temporary folder, which is cleared some day when this fails.
            let _ = std::fs::remove_dir_all(self.desk.shop.artifacts.dir());
        }
        self.desk.log.synced().await;
        if self.discarded && self.options.save {
            let _ = self.store().delete(&self.desk.account.session);
        }
    }

    async fn prompt(&mut self, prompt: Prompt) {
        let mut opening = std::mem::take(&mut self.opening);
        let watch = self.options.watch.as_ref();
        if let Some(news) = watch.and_then(|watch| watch.news()) {
            let text = news.notice.clone();
            opening.entries.push(Body::Notice(Notice { text }));
            self.desk.tighten(news);
        }
        if self.options.save && opening.context.is_some() {
            // A prefix that cannot be kept shows again when the log cannot be written.
            let _ = prefixes::keep(&self.options.home, &self.desk.conversation.prefix);
        }
        let kept = turn(&mut self.desk, &mut self.inbox, prompt, opening).await;
        // Nothing of the opening is on disk when the first write failed; it goes before the next prompt.
        if let Err(opening) = kept {
            self.opening = opening;
        }
    }

    fn command(&mut self, line: &str) {
        let view = commands::run(self, line);
        commands::show(&self.desk, line, view);
    }

    pub(crate) fn store(&self) -> Store {
        Store::new(&self.options.sessions, &self.options.root)
    }

    /// Goes on with another model: the log is folded anew for it, and the break in the prompt cache is recorded.
    pub(crate) fn switch_model(&mut self, reference: &str) -> View {
        let target = match self.options.models.resolve(Some(reference)) {
            Ok(target) => target,
            Err(why) => return View::Error(why),
        };
        let name = format!("{}/{}", target.origin.provider, target.origin.model);
        let settings = Settings {
            model: Some(name.clone()),
            ..Settings::default()
        };
        match self.go_on(Arc::new(target), "model", settings) {
            Ok(()) => View::Text(self.options.language.fill(Word::ModelIs, &[&name])),
            Err(why) => View::Error(why),
        }
    }

    pub(crate) fn switch_effort(&mut self, effort: Effort, name: &str) -> View {
        let target = self.desk.conversation.model.target().clone();
        self.effort = Some(effort);
        let settings = Settings {
            effort: Some(name.to_owned()),
            ..Settings::default()
        };
        match self.go_on(target, "effort", settings) {
            Ok(()) => View::Text(self.options.language.fill(Word::EffortIs, &[name])),
            Err(why) => View::Error(why),
        }
    }

    fn go_on(
        &mut self,
        target: Arc<Target>,
        cause: &'static str,
        settings: Settings,
    ) -> Result<(), String> {
        let model = Model::new(target, self.transport.clone()).map_err(|e| e.to_string())?;
        let mut params = params_for(&self.options, &model);
        params.effort = self.effort.or(params.effort);
        let old = &self.desk.conversation;
        let envelope = self.desk.shop.settings.envelope;
        let mut new = Conversation::new(model, old.prefix.clone(), &params, envelope);
        let entries = self.desk.log.source().entries_after(None);
        let entries = branch(entries.into_iter().map(Arc::unwrap_or_clone).collect());
        entries.iter().for_each(|entry| new.push(entry));
        new.replaces(old, cause);
        self.desk.conversation = new;
        if self.desk.log.is_empty() {
            let opening = &mut self.opening.entries;
            let own = opening.iter_mut().find_map(|body| match body {
                Body::Settings(own) => Some(own),
                _ => None,
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
        let committed = self.desk.commit(vec![Body::Settings(settings)]);
        committed.map_err(|e| e.to_string())
    }
}
