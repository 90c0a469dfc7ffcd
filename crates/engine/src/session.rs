//! A session: one task that owns the desk and the inbox, and runs one turn after the other.

use crate::commands;
use crate::conversation::Conversation;
use crate::desk::Desk;
use crate::hub::{Options, affordable, params_for, reference as reference_of};
use crate::inbox::{Inbox, Next, Prompt};
use crate::log::branch;
use crate::prefixes;
use crate::turn::{Opening, turn};
use ostler_llm::{Model, Transport};
use ostler_wire::{Body, Notice, Settings, View};
use std::sync::Arc;

pub struct Session {
    pub(crate) desk: Desk,
    pub(crate) inbox: Inbox,
    pub(crate) options: Arc<Options>,
    pub(crate) transport: Arc<Transport>,
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

    /// Goes on with another model: the log is folded anew for it, and the break in the prompt cache is recorded.
    pub(crate) fn switch_model(&mut self, reference: &str) -> View {
        let target = match self.options.models.resolve(Some(reference)) {
            Ok(target) => target,
            Err(why) => return View::Error(why),
        };
        let model = match Model::new(Arc::new(target), self.transport.clone()) {
            Ok(model) => model,
            Err(error) => return View::Error(error.to_string()),
        };
        if let Err(why) = affordable(&self.options.budget, &model) {
            return View::Error(why);
        }
        let name = reference_of(&model);
        let params = params_for(&self.options, &model);
        let old = &self.desk.conversation;
        let mut new = Conversation::new(
            model,
            old.prefix.clone(),
            &params,
            self.desk.shop.settings.envelope,
        );
        let entries = self.desk.log.source().entries_after(None);
        let entries = branch(entries.into_iter().map(Arc::unwrap_or_clone).collect());
        entries.iter().for_each(|entry| new.push(entry));
        new.replaces(old, "model");
        self.desk.conversation = new;
        let settings = Body::Settings(Settings {
            model: Some(name.clone()),
            ..Settings::default()
        });
        if self.desk.log.is_empty() {
            let entries = &mut self.opening.entries;
            entries.retain(|b| !matches!(b, Body::Settings(_)));
            entries.push(settings);
        } else if let Err(error) = self.desk.commit(vec![settings]) {
            return View::Error(error.to_string());
        }
        View::Text(format!("Model: {name}"))
    }
}
