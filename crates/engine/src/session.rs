//! A session: one task that owns the state and the inbox, and runs one turn after the other.

mod foreign;
pub mod hub;

use crate::commands::{self, template};
use crate::confine::{self, Services};
use crate::context::digest::archive;
use crate::inbox::{CommandLine, Next, Prompt};
use crate::interfaces::extra::{Extra, Tell};
use crate::log::LogError;
use crate::servers;
use crate::sources::skills::Skill;
use crate::sources::templates::Template;
use crate::state::checkpoints;
use crate::state::session::Session;
use crate::turn::{goal, turn};
use ostler_mcp::{PromptInfo, ServerHandle};
use ostler_wire::{Body, Notice, View, Word};
use std::sync::Arc;

impl Session {
    pub async fn run(mut self) {
        self.state.show_budget();
        self.recover().await;
        loop {
            if let Some(prompt) = goal::next(&self.state.permissions)
                && self.inbox.is_quiet()
            {
                self.pursue(prompt).await;
                continue;
            }
            match self.inbox.next().await {
                Next::Prompt(prompt) => self.prompt(prompt).await,
                Next::Command(command) => self.command(&command).await,
                Next::Ended(ended) => commands::tasks::tell(&mut self.state, &ended),
                Next::Over => break,
            }
        }
        self.inbox.finish_completions().await;
        self.inbox.children.close().await;
        checkpoints::settle(&mut self.state).await;
        commands::answer_waiting(&mut self.state, &mut self.inbox);
        self.state.services.jobs.close().await;
        let put_back = self.state.services.sandbox.share.finish().await;
        // Another session in this folder may have been killed meanwhile.
        let left = Box::pin(confine::recover(self.recovery())).await;
        let put_back = put_back.into_iter().chain(left);
        let put_back = put_back.map(|text| Body::Notice(Notice { text }));
        let notices: Vec<Body> = match self.state.log.is_empty() {
            // The end of the process says what servers did.
            true => Vec::new(),
            false => put_back.chain(self.state.helper_notice()).collect(),
        };
        if !notices.is_empty() {
            // A log that cannot be written has said so before.
            let _ = self.state.commit(notices);
        }
        if !self.options.run.save {
            // It lies in the system's temporary folder, which is cleared some day when this fails.
            let _ = std::fs::remove_dir_all(self.state.services.artifacts.dir());
        }
        self.state.log.synced().await;
        if self.discarded && self.options.run.save {
            let _ = self.store().delete(&self.state.account.session);
            archive::forget(&self.options.paths.home, &self.state.account.session);
        }
    }

    /// Puts back what a session that was killed in this folder could not.
    async fn recover(&mut self) {
        if let Some(text) = Box::pin(confine::recover(self.recovery())).await {
            self.opening.entries.push(Body::Notice(Notice { text }));
        }
    }

    fn recovery(&self) -> Services {
        let services = &self.state.services;
        Services {
            share: services.sandbox.share.clone(),
            artifacts: Some(services.artifacts.clone()),
            call_id: "recover".into(),
            root: Some(self.state.scope.root.clone()),
            user_home: self.state.scope.user_home.clone(),
            ..Services::without_session(services.host.clone(), services.sandbox.settings())
        }
    }

    /// Goes on with a goal, unless the person has stopped it since the last turn.
    async fn pursue(&mut self, prompt: Prompt) {
        if !self.inbox.turn().is_cancelled() {
            return self.prompt(prompt).await;
        }
        // A log that cannot be written says so with the next turn; the goal waits all the same.
        let _ = goal::stop(&mut self.state);
    }

    async fn prompt(&mut self, prompt: Prompt) {
        checkpoints::settle(&mut self.state).await;
        let opening = std::mem::take(&mut self.opening);
        let kept = Box::pin(turn(&mut self.state, &mut self.inbox, prompt, opening)).await;
        // What of the opening is not on disk goes before the next prompt.
        if let Err(opening) = kept {
            self.opening = opening;
        }
    }

    async fn command(&mut self, command: &CommandLine) {
        let line = command.line.as_str();
        self.inbox.begin_turn();
        checkpoints::settle(&mut self.state).await;
        let carried_out =
            if let Some((skill, words)) = template::assigned_skill(&self.state.extensions, line) {
                self.template(command, &skill.template, &words).await
            } else if commands::said::is_said(line) {
                self.said(command).await
            } else if let Some(look) = commands::resume::look(self, line) {
                let stop = self.inbox.turn();
                let work = tokio::task::spawn_blocking(move || look.view(&|| stop.is_cancelled()));
                if let Ok(Ok(view)) = self.inbox.attend(work).await {
                    commands::reply(&self.state.feed, command, view);
                }
                Ok(())
            } else if commands::is_ours(line) {
                let view = commands::run(self, line).await;
                commands::reply(&self.state.feed, command, view);
                Ok(())
            } else if let Some((extra, words)) = self.extra_of(line) {
                let language = self.options.run.language;
                let tell = Tell::new(self.state.feed.clone(), line, command.reply_to.clone());
                let work = tokio::task::spawn_blocking(move || extra.run(&words, language, &tell));
                if let Ok(Ok(view)) = self.inbox.attend(work).await {
                    commands::reply(&self.state.feed, command, view);
                }
                Ok(())
            } else if let Some((handle, info, words)) = self.server_prompt_of(line) {
                self.server_prompt(command, &handle, (&info, words)).await;
                Ok(())
            } else if let Some(view) = self.lacks_words(line) {
                commands::reply(&self.state.feed, command, view);
                Ok(())
            } else if let Some((template, words)) =
                template::of(&self.state.extensions.definitions, line)
            {
                self.template(command, &template, &words).await
            } else if let Some((skill, words)) =
                template::skill(&self.state.extensions.definitions, line)
            {
                match self.forwarded(&skill, &words) {
                    Some(mut prompt) => {
                        prompt.reply_to = command.reply_to.clone();
                        self.prompt(prompt).await;
                        Ok(())
                    }
                    None => self.template(command, &skill.template, &words).await,
                }
            } else {
                let view = commands::run(self, line).await;
                commands::reply(&self.state.feed, command, view);
                Ok(())
            };
        if let Err(error) = carried_out {
            let fault = View::Error(error.say(self.options.run.language));
            commands::reply(&self.state.feed, command, fault);
        }
        self.state.feed.finish_op(&command.reply_to);
    }

    /// How a command of the person's or a skill is written, where it came without the words that it needs.
    fn lacks_words(&self, line: &str) -> Option<View> {
        let definitions = &self.state.extensions.definitions;
        let language = self.options.run.language;
        let (template, words) = template::of(definitions, line).or_else(|| {
            let (skill, words) = template::skill(definitions, line)?;
            Some((skill.template, words))
        })?;
        commands::lacks_words(&template.name, &template.argument_hint, &words, language)
    }

    async fn said(&mut self, said: &CommandLine) -> Result<(), LogError> {
        self.begin()?;
        commands::said::say(&mut self.state, &mut self.inbox, said).await
    }

    /// The prompt that has the model call a skill, where that is for a session of its own.
    fn forwarded(&self, skill: &Skill, words: &str) -> Option<Prompt> {
        let state = &self.state;
        let known = (&*state.extensions.definitions.roles, &state.tools);
        template::forward(skill, words, known, &state.permissions)
    }

    /// The command of the binary that a line calls, and what follows its name.
    fn extra_of(&self, line: &str) -> Option<(Arc<dyn Extra>, String)> {
        commands::extra(
            &self.state.extensions.extras,
            line,
            self.options.run.language,
        )
    }

    /// The prompt of a server that a line calls, and what follows its name.
    fn server_prompt_of<'a>(
        &self,
        line: &'a str,
    ) -> Option<(Arc<ServerHandle>, PromptInfo, &'a str)> {
        servers::prompt_of(self.state.services.servers.as_deref()?, line)
    }

    /// A prompt that a server has the words of.
    async fn server_prompt(
        &mut self,
        command: &CommandLine,
        handle: &ServerHandle,
        (info, words): (&PromptInfo, &str),
    ) {
        let cancel = self.inbox.turn();
        let fetching = async {
            tokio::select! {
                text = servers::prompt_text(handle, info, words) => text,
                () = cancel.cancelled() => Err(Word::McpStopped.into()),
            }
        };
        let fetched = self.inbox.attend(fetching).await;
        match fetched.unwrap_or_else(|_| Err(Word::McpStopped.into())) {
            Ok(text) => {
                let prompt = Prompt {
                    text,
                    own_words: Some(words.to_owned()),
                    typed: Some(format!("/{}", command.line)),
                    reply_to: command.reply_to.clone(),
                    ..Prompt::default()
                };
                self.prompt(prompt).await;
            }
            Err(why) => {
                let language = self.options.run.language;
                let text = language.fill(Word::McpPromptFailed, &[&info.name, &why.say(language)]);
                commands::reply(&self.state.feed, command, View::Error(text));
            }
        }
    }

    async fn template(
        &mut self,
        command: &CommandLine,
        template: &Template,
        words: &str,
    ) -> Result<(), LogError> {
        self.begin()?;
        self.state.allow_template(template)?;
        let back = self.lend_model(template)?;
        let expanded = template::expand(&mut self.state, &mut self.inbox, template, words).await;
        let sent = match expanded {
            Ok(Ok(mut prompt)) => {
                prompt.reply_to = command.reply_to.clone();
                self.prompt(prompt).await;
                Ok(())
            }
            Ok(Err(why)) => {
                let language = self.options.run.language;
                let text = language.fill(Word::TemplateNotSent, &[&template.name, &why]);
                commands::reply(&self.state.feed, command, View::Error(text));
                Ok(())
            }
            Err(error) => Err(error),
        };
        self.state.disallow_template(template);
        if let Some(back) = back {
            self.try_model(&back)?;
        }
        sent
    }

    /// Goes on with the model that a command wants, if it may. The one to go back to afterwards.
    fn lend_model(&mut self, template: &Template) -> Result<Option<String>, LogError> {
        let origin = &self.state.conversation.model.target().origin;
        let now = format!("{}/{}", origin.provider, origin.model);
        match template.model.as_ref().filter(|_| template.trusted) {
            Some(wanted) if *wanted != now => Ok(self.try_model(wanted)?.then_some(now)),
            Some(_) | None => Ok(None),
        }
    }

    /// Switches the model; what stands in the way is a notice. Whether it was done.
    fn try_model(&mut self, reference: &str) -> Result<bool, LogError> {
        match self.switch_model(reference) {
            View::Error(text) => {
                self.state.commit(vec![Body::Notice(Notice { text })])?;
                Ok(false)
            }
            View::Text(_)
            | View::Table(_)
            | View::Report(_)
            | View::Group(_)
            | View::List(_)
            | View::Diff(_)
            | View::Completion(_)
            | View::Do(_) => Ok(true),
        }
    }
}
