//! What happens in the session, and what each event changes of what is shown.

use super::{AWAY, Effect, MAX_TITLE, State, help};
use crate::canvas::Canvas;
use crate::layer::{Layer, Picker};
use ostler_wire::{
    Body, Delta, Entry, Event, HERE, List, Message, Reply, Rewind, Settings, View, Word,
};
use std::sync::Arc;
use std::time::Instant;

impl State {
    /// What was said before this process, shown again as it was.
    pub fn past(&mut self, entries: &[Arc<Entry>]) {
        for entry in entries {
            // Jobs of a process that is gone are gone, too.
            if let Body::Usage(usage) = &entry.body {
                self.status.count(usage);
            } else if let Body::Compaction(compaction) = &entry.body {
                self.status.folded(compaction.tokens_after);
            } else if let Body::Rewind(Rewind {
                tokens: Some(tokens),
                ..
            }) = &entry.body
            {
                self.status.folded(*tokens);
            }
            // How things stand now is not how they stood: whoever opened it said so.
        }
        self.transcript.show_past(entries);
    }

    pub fn event(&mut self, event: &Event, canvas: &Canvas, now: Instant) {
        match event {
            Event::Ask(ask) => {
                self.work.background.asks(ask);
                self.notify(&ask.subject, now);
                self.release_held(canvas, now);
                self.layers.push(Layer::of(ask));
            }
            Event::Delta(Delta::Tasks { tasks }) => self.tasks(tasks, now),
            Event::Delta(Delta::Jobs { running }) => {
                self.status.jobs.clone_from(running);
                self.unwarn();
            }
            Event::Reply(reply) => self.reply_to(reply, canvas, now),
            Event::Delta(Delta::Announcement { view }) => self.view(view, canvas, now),
            Event::Delta(Delta::AskClosed { ask, answer, .. }) => {
                self.close_ask(ask, answer.as_deref(), now);
            }
            Event::Delta(Delta::Idle) if !self.is_working() => {}
            Event::Delta(Delta::Unrecorded { .. } | Delta::Idle) => {
                self.transcript.event(event, now);
                self.turn_ended(now);
            }
            Event::Delta(Delta::Clients(clients)) => {
                self.status.clients.clone_from(clients);
                self.unwarn();
            }
            Event::Delta(Delta::Budget { percent }) => self.status.budget = Some(*percent),
            Event::Delta(Delta::Mode { mode }) => self.status.mode = Some((**mode).clone()),
            Event::Delta(Delta::Progress { id, text, .. }) if id.is_empty() => {
                self.work.tells(text, now);
                self.transcript.event(event, now);
            }
            Event::Delta(_) => self.transcript.event(event, now),
            Event::Entry(entry) => {
                self.follow(&entry.body, now);
                self.transcript.event(event, now);
            }
        }
    }

    /// What an entry means beyond its cell.
    fn follow(&mut self, body: &Body, now: Instant) {
        if body.answer().is_some() {
            self.work.unanswered = None;
        } else if let Some(prompt) = body.prompt() {
            self.prompted(prompt, now);
        } else if let Body::TurnEnd(end) = body {
            // A goal goes on: the next turn begins at once.
            if !self.status.is_pursuing() {
                self.put_back_failed(end.outcome, now);
                self.turn_ended(now);
            }
        } else if let Body::ToolUse(call) = body {
            // What the person runs themselves can be stopped like a turn.
            if call.by.is_some() && self.work.since.is_none() {
                self.work.since = Some(now);
                self.work.own = Some(call.id.clone());
            }
        } else if let Body::ToolResult(result) = body {
            if self.work.own.as_ref() == Some(&result.tool_use_id) {
                self.work.own = None;
                self.work.since = None;
                self.work.stopping = false;
            }
        } else if let Body::Usage(usage) = body {
            self.status.count(usage);
        } else if let Body::Compaction(compaction) = body {
            self.status.folded(compaction.tokens_after);
        } else if let Body::Rewind(rewind) = body {
            if let Some(tokens) = rewind.tokens {
                self.status.folded(tokens);
            }
        } else if let Body::Mode(mode) = body {
            self.status.mode = Some(mode.clone());
        } else if let Body::Settings(settings) = body {
            self.settings_changed(settings);
        }
    }

    fn prompted(&mut self, prompt: &Message, now: Instant) {
        let typed = prompt.typed.as_ref().unwrap_or(&prompt.text);
        self.work.begin(typed);
        let mut waiting = self.work.waiting.iter();
        if let Some(at) = waiting.position(|(text, _)| *text == prompt.text) {
            self.work.waiting.remove(at);
        }
        self.work.since.get_or_insert(now);
    }

    fn settings_changed(&mut self, settings: &Settings) {
        if let Some(model) = &settings.model {
            self.status.model.clone_from(model);
        }
        if settings.effort.is_some() {
            self.status.effort.clone_from(&settings.effort);
        }
        if settings.title.is_some() {
            self.work.task.clone_from(&settings.title);
        }
        if let Some(host) = &settings.host {
            self.moved(host, settings.root.as_deref().unwrap_or_default());
        }
    }

    fn turn_ended(&mut self, now: Instant) {
        self.work.since = None;
        self.work.at = None;
        self.work.stopping = false;
        // An ask of a turn that is over waits for nothing.
        let background = &self.work.background;
        self.layers
            .retain(|layer| layer.ask().is_none_or(|ask| background.has_ask(ask)));
        self.effects.push(Effect::Look);
        let said = self.settings.language.say(Word::Finished);
        let said = match &self.work.task {
            Some(task) => format!("{said}: {task}"),
            None => said.to_owned(),
        };
        self.notify(&said, now);
    }

    fn notify(&mut self, text: &str, now: Instant) {
        let last = self.moment.attention.last_key();
        let is_away = match self.moment.focused {
            Some(focused) => !focused,
            None => last.is_some_and(|at| now.saturating_duration_since(at) >= AWAY),
        };
        if self.settings.notify && is_away {
            self.effects.push(Effect::Notify(text.to_owned()));
        }
    }

    /// The session goes on at another place.
    fn moved(&mut self, host: &str, root: &str) {
        self.status.host = Some(host.to_owned()).filter(|host| host != HERE);
        let folder = root.trim_end_matches('/').rsplit('/').next();
        let folder = folder.unwrap_or_default();
        self.settings.title = match &self.status.host {
            Some(host) => format!("ostler {folder} ({host})"),
            None => format!("ostler {folder}"),
        };
        self.status.branch = None;
        self.status.is_moved = self.status.host.is_some();
        self.effects.push(Effect::Look);
    }

    /// The title of the terminal: what it is and whether it works or waits.
    pub fn title(&self) -> String {
        let sign = match (self.is_asking(), self.is_working()) {
            (true, _) => "? ",
            (false, true) => "● ",
            (false, false) => "",
        };
        let name = match &self.work.task {
            Some(task) => format!("{task} · {}", self.settings.title),
            None => self.settings.title.clone(),
        };
        let name: String = name.chars().take(MAX_TITLE).collect();
        crate::text::visible(format!("{sign}{name}"))
    }

    /// The answer to an op of this client.
    fn reply_to(&mut self, reply: &Reply, canvas: &Canvas, now: Instant) {
        let line = reply.command.as_str();
        if self.work.is_quiet(line) {
            // The status line says it; what went wrong is said.
            return match &reply.view {
                View::Text(_) => {}
                other => self.view(other, canvas, now),
            };
        }
        let is_shown = match &reply.view {
            View::Do(_) | View::Completion(_) => false,
            view => view.menu().is_none_or(|list| is_nothing(&list)),
        };
        let is_login = line.split_whitespace().next() == Some("login");
        let is_typed = !line.is_empty() && !line.starts_with(['!', '#']) && !is_login;
        if is_shown && is_typed && !reply.more {
            self.transcript.echo(line);
        }
        if line.split_whitespace().eq(["help"]) {
            self.transcript.keep(help::key_rows(canvas));
        }
        self.view(&reply.view, canvas, now);
    }

    fn view(&mut self, view: &View, canvas: &Canvas, now: Instant) {
        if let Some(list) = view.menu() {
            return match is_nothing(&list) {
                true => self.transcript.view(&View::Text(list.empty), canvas),
                false => self.layers.push(Layer::Picker(Picker::new(list))),
            };
        }
        match view {
            View::Do(deed) => self.deed(deed.clone(), now),
            View::Completion(completion) => self.completed(completion),
            View::Text(_)
            | View::Table(_)
            | View::Report(_)
            | View::Group(_)
            | View::List(_)
            | View::Diff(_)
            | View::Error(_) => self.transcript.view(view, canvas),
        }
    }
}

/// Whether there is nothing to choose from.
fn is_nothing(list: &List) -> bool {
    list.items.is_empty() && !list.empty.is_empty()
}
