//! A session: one task that owns the state and the inbox, and runs one turn after the other.

mod foreign;
pub mod hub;

use crate::commands::{self, template};
use crate::log::LogError;
use crate::turn::{goal, turn};
use ostler_confine::Services;
use ostler_context::digest::archive;
use ostler_context::interfaces::extra::{Extra, Tell};
use ostler_mcp::{PromptInfo, ServerHandle};
use ostler_sources::skills::Skill;
use ostler_sources::templates::Template;
use ostler_state::checkpoints;
use ostler_state::inbox::{CommandLine, Next, Prompt};
use ostler_state::servers;
use ostler_state::session::Session;
use ostler_tools::SandboxReport;
use ostler_wire::{Body, Notice, View, Word};
use std::sync::Arc;

/// The task of a session.
pub struct SessionTask {
    pub session: Session,
}

impl SessionTask {
    pub async fn run(mut self) {
        self.session.state.show_budget();
        self.recover().await;
        loop {
            if let Some(prompt) = goal::next(&self.session.state.permissions)
                && self.session.inbox.is_quiet()
            {
                self.pursue(prompt).await;
                continue;
            }
            match self.session.inbox.next().await {
                Next::Prompt(prompt) => self.prompt(prompt).await,
                Next::Command(command) => self.command(&command).await,
                Next::Ended(ended) => commands::tasks::tell(&mut self.session.state, &ended),
                Next::Over => break,
            }
        }
        self.session.inbox.finish_completions().await;
        self.session.inbox.children.close().await;
        checkpoints::settle(&mut self.session.state).await;
        commands::answer_waiting(&mut self.session.state, &mut self.session.inbox);
        self.session.state.services.jobs.close().await;
        let put_back = self.session.state.services.sandbox.finish().await;
        // Another session in this folder may have been killed meanwhile.
        let left = Box::pin(ostler_confine::recover(self.recovery())).await;
        let put_back = put_back.into_iter().chain(left);
        let put_back = put_back.map(|text| Body::Notice(Notice { text }));
        let notices: Vec<Body> = match self.session.state.log.is_empty() {
            // The end of the process says what servers did.
            true => Vec::new(),
            false => put_back.chain(self.session.state.helper_notice()).collect(),
        };
        if !notices.is_empty() {
            // A log that cannot be written has said so before.
            let _ = self.session.state.commit(notices);
        }
        if !self.session.options.run.save {
            // It lies in the system's temporary folder, which is cleared some day when this fails.
            let _ = std::fs::remove_dir_all(self.session.state.services.artifacts.dir());
        }
        self.session.state.log.synced().await;
        if self.session.discarded && self.session.options.run.save {
            let _ = self
                .session
                .store()
                .delete(&self.session.state.account.session);
            archive::forget(
                &self.session.options.paths.home,
                &self.session.state.account.session,
            );
        }
    }

    /// Puts back what a session that was killed in this folder could not.
    async fn recover(&mut self) {
        if let Some(text) = Box::pin(ostler_confine::recover(self.recovery())).await {
            self.session
                .opening
                .entries
                .push(Body::Notice(Notice { text }));
        }
        let records = self.session.state.services.sandbox.settings().records;
        let Some(records) = records else {
            return;
        };
        let recover = move || ostler_state::agents::foreign::recover(&records);
        let changes = tokio::task::spawn_blocking(recover).await;
        let report = SandboxReport {
            changes: changes.unwrap_or_default(),
            ..SandboxReport::default()
        };
        let text = report.lines().trim_end().to_owned();
        if !text.is_empty() {
            self.session
                .opening
                .entries
                .push(Body::Notice(Notice { text }));
        }
    }

    /// What looking after files at the place takes.
    fn recovery(&self) -> Services {
        let services = &self.session.state.services;
        Services {
            share: services.sandbox.share.clone(),
            artifacts: Some(services.artifacts.clone()),
            call_id: "recover".into(),
            root: Some(self.session.state.scope.root.clone()),
            user_home: self.session.state.scope.user_home.clone(),
            ..Services::without_session(services.host.clone(), services.sandbox.settings())
        }
    }

    /// Goes on with a goal, unless the person has stopped it since the last turn.
    async fn pursue(&mut self, prompt: Prompt) {
        if !self.session.inbox.turn().is_cancelled() {
            return self.prompt(prompt).await;
        }
        // A log that cannot be written says so with the next turn; the goal waits all the same.
        let _ = goal::stop(&mut self.session.state);
    }

    async fn prompt(&mut self, prompt: Prompt) {
        checkpoints::settle(&mut self.session.state).await;
        let opening = std::mem::take(&mut self.session.opening);
        let kept = Box::pin(turn(
            &mut self.session.state,
            &mut self.session.inbox,
            prompt,
            opening,
        ))
        .await;
        // What of the opening is not on disk goes before the next prompt.
        if let Err(opening) = kept {
            self.session.opening = opening;
        }
    }

    async fn command(&mut self, command: &CommandLine) {
        let line = command.line.as_str();
        self.session.inbox.begin_turn();
        checkpoints::settle(&mut self.session.state).await;
        let carried_out = if let Some((skill, words)) =
            template::assigned_skill(&self.session.state.extensions, line)
        {
            self.template(command, &skill.template, &words).await
        } else if commands::said::is_said(line) {
            self.said(command).await
        } else if let Some(look) = commands::resume::look(&self.session, line) {
            let stop = self.session.inbox.turn();
            let work = tokio::task::spawn_blocking(move || look.view(&|| stop.is_cancelled()));
            if let Ok(Ok(view)) = self.session.inbox.attend(work).await {
                commands::reply(&self.session.state.feed, command, view);
            }
            Ok(())
        } else if commands::is_ours(line) {
            let view = commands::run(&mut self.session, line).await;
            commands::reply(&self.session.state.feed, command, view);
            Ok(())
        } else if let Some(words) = self.named_place(line) {
            let view = self.go_to(&words).await;
            commands::reply(&self.session.state.feed, command, view);
            self.session.state.record_standing()
        } else if let Some((extra, words)) = self.extra_of(line) {
            let language = self.session.options.run.language;
            let tell = Tell::new(
                self.session.state.feed.clone(),
                line,
                command.reply_to.clone(),
            );
            let work = tokio::task::spawn_blocking(move || extra.run(&words, language, &tell));
            if let Ok(Ok(view)) = self.session.inbox.attend(work).await {
                commands::reply(&self.session.state.feed, command, view);
            }
            Ok(())
        } else if let Some((handle, info, words)) = self.server_prompt_of(line) {
            self.server_prompt(command, &handle, (&info, words)).await;
            Ok(())
        } else if let Some(view) = self.lacks_words(line) {
            commands::reply(&self.session.state.feed, command, view);
            Ok(())
        } else if let Some((template, words)) =
            template::of(&self.session.state.extensions.definitions, line)
        {
            self.template(command, &template, &words).await
        } else if let Some((skill, words)) =
            template::skill(&self.session.state.extensions.definitions, line)
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
            let view = commands::run(&mut self.session, line).await;
            commands::reply(&self.session.state.feed, command, view);
            Ok(())
        };
        if let Err(error) = carried_out {
            let fault = View::Error(error.say(self.session.options.run.language));
            commands::reply(&self.session.state.feed, command, fault);
        }
        self.session.state.feed.finish_op(&command.reply_to);
    }

    /// How a command of the person's or a skill is written, where it came without the words that it needs.
    fn lacks_words(&self, line: &str) -> Option<View> {
        let definitions = &self.session.state.extensions.definitions;
        let language = self.session.options.run.language;
        let (template, words) = template::of(definitions, line).or_else(|| {
            let (skill, words) = template::skill(definitions, line)?;
            Some((skill.template, words))
        })?;
        commands::lacks_words(&template.name, &template.argument_hint, &words, language)
    }

    async fn said(&mut self, said: &CommandLine) -> Result<(), LogError> {
        self.session.begin()?;
        commands::said::say(&mut self.session.state, &mut self.session.inbox, said).await
    }

    /// The prompt that has the model call a skill, where that is for a session of its own.
    fn forwarded(&self, skill: &Skill, words: &str) -> Option<Prompt> {
        let state = &self.session.state;
        let known = (&*state.extensions.definitions.roles, &state.tools);
        template::forward(skill, words, known, &state.permissions)
    }

    /// The command of the binary that a line calls, and what follows its name.
    fn extra_of(&self, line: &str) -> Option<(Arc<dyn Extra>, String)> {
        commands::extra(
            &self.session.state.extensions.extras,
            line,
            self.session.options.run.language,
        )
    }

    /// The prompt of a server that a line calls, and what follows its name.
    fn server_prompt_of<'a>(
        &self,
        line: &'a str,
    ) -> Option<(Arc<ServerHandle>, PromptInfo, &'a str)> {
        servers::prompt_of(self.session.state.services.servers.as_deref()?, line)
    }

    /// A prompt that a server has the words of.
    async fn server_prompt(
        &mut self,
        command: &CommandLine,
        handle: &ServerHandle,
        (info, words): (&PromptInfo, &str),
    ) {
        let cancel = self.session.inbox.turn();
        let fetching = async {
            tokio::select! {
                text = servers::prompt_text(handle, info, words) => text,
                () = cancel.cancelled() => Err(Word::McpStopped.into()),
            }
        };
        let fetched = self.session.inbox.attend(fetching).await;
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
                let language = self.session.options.run.language;
                let text = language.fill(Word::McpPromptFailed, &[&info.name, &why.say(language)]);
                commands::reply(&self.session.state.feed, command, View::Error(text));
            }
        }
    }

    async fn template(
        &mut self,
        command: &CommandLine,
        template: &Template,
        words: &str,
    ) -> Result<(), LogError> {
        self.session.begin()?;
        self.session.state.allow_template(template)?;
        let back = self.lend_model(template)?;
        let expanded = template::expand(
            &mut self.session.state,
            &mut self.session.inbox,
            template,
            words,
        )
        .await;
        let sent = match expanded {
            Ok(Ok(mut prompt)) => {
                prompt.reply_to = command.reply_to.clone();
                self.prompt(prompt).await;
                Ok(())
            }
            Ok(Err(why)) => {
                let language = self.session.options.run.language;
                let text = language.fill(Word::TemplateNotSent, &[&template.name, &why]);
                commands::reply(&self.session.state.feed, command, View::Error(text));
                Ok(())
            }
            Err(error) => Err(error),
        };
        self.session.state.disallow_template(template);
        if let Some(back) = back {
            self.try_model(&back)?;
        }
        sent
    }

    /// Goes on with the model that a command wants, if it may. The one to go back to afterwards.
    fn lend_model(&mut self, template: &Template) -> Result<Option<String>, LogError> {
        let origin = &self.session.state.conversation.model.target().origin;
        let now = format!("{}/{}", origin.provider, origin.model);
        match template.model.as_ref().filter(|_| template.trusted) {
            Some(wanted) if *wanted != now => Ok(self.try_model(wanted)?.then_some(now)),
            Some(_) | None => Ok(None),
        }
    }

    /// Switches the model; what stands in the way is a notice. Whether it was done.
    fn try_model(&mut self, reference: &str) -> Result<bool, LogError> {
        match self.session.switch_model(reference) {
            View::Error(text) => {
                self.session
                    .state
                    .commit(vec![Body::Notice(Notice { text })])?;
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
