//! All that the terminal UI knows, and how input and events change it. No terminal, no clock, no files: time comes in as a
//! value and deeds go out as effects.

mod asks;
mod attention;
mod deeds;
mod help;
mod keys;
mod prompt;
mod tasks;
#[cfg(test)]
mod tests;
mod view;
mod walk;
mod work;

pub use keys::{GLOBALS, Global, Keys};

use crate::canvas::Canvas;
use crate::cell::Fold;
use crate::editor::{Editor, KeyMap, Outcome};
use crate::key::{Input, Key};
use crate::layer::{Asking, Layer, Menu, Pager, Picker, Step};
use crate::status::Status;
use crate::theme::{Look, Theme};
use crate::transcript::Transcript;
use attention::Attention;
use ostler_wire::{
    Act, Body, CommandInfo, Delivery, Delta, Entry, Event, Language, Op, Open, Reply, Rewind, Role,
    View, Why, Word,
};
use prompt::is_picture;
use std::sync::Arc;
use std::time::{Duration, Instant};
use work::Work;

/// How long a remark stands.
const REMARK: Duration = Duration::from_secs(4);
/// How long the draft may be unsaved while somebody types.
const KEEP_EVERY: Duration = Duration::from_secs(2);
/// Where the terminal does not tell whether it is looked at, it is not after this time without a key.
const AWAY: Duration = Duration::from_secs(15);
/// Characters of the terminal's title.
const MAX_TITLE: usize = 100;
/// Prompts that wait and are shown.
const MAX_WAITING: usize = 256;

/// What the loop is to do.
#[derive(Debug, PartialEq)]
pub enum Effect {
    Send(Op),
    Open(Open),
    Copy(String),
    /// Gives a text to the person's editor; it comes back by `edited`.
    Edit(String),
    PasteImage,
    /// A path that may lead to a picture was pasted; it comes back by `picture`.
    Picture(String),
    KeepSent(String),
    KeepDraft(String),
    /// The person may be looking elsewhere.
    Notify(String),
    /// Everything is to be looked at, unfolded; the entries come back by `page`.
    Page,
    /// Things around us may be different now: the branch.
    Look,
    Suspend,
    /// Everything is to be drawn anew.
    Redraw,
    Leave,
}

/// What does not change while it runs.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub look: Look,
    pub language: Language,
    pub show_reasoning: bool,
    /// Tell the person when it waits for them or has finished.
    pub notify: bool,
    /// The form of the status line, if it is not the usual one.
    pub status_line: Option<String>,
    pub keys: KeyMap<Global>,
    /// The title of the terminal.
    pub title: String,
}

pub struct State {
    settings: Settings,
    theme: Theme,
    editor: Editor,
    layers: Vec<Layer>,
    menu: Option<Menu>,
    /// The keys are shown below the composer.
    shows_keys: bool,
    /// The menu was closed by hand for this word.
    dismissed: Option<String>,
    transcript: Transcript,
    pub status: Status,
    commands: Vec<CommandInfo>,
    work: Work,
    moment: Moment,
    effects: Vec<Effect>,
}

/// Things that pass by themselves.
#[derive(Default)]
struct Moment {
    leaving: Option<Instant>,
    /// Until when another Esc goes back.
    escaped: Option<Instant>,
    /// What leaving would stop, as the person was told, and until when that stands there.
    warned: Option<(Vec<String>, Instant)>,
    remark: Option<(String, Instant)>,
    draft_changed: Option<Instant>,
    attention: Attention,
    /// The window is too small for the open question: it takes no answer.
    is_cramped: bool,
    /// The theme from before the list of themes was opened, and whether one was chosen there.
    theme_before: Option<Look>,
    theme_chosen: bool,
    /// Unknown where the terminal does not tell.
    focused: Option<bool>,
}

impl State {
    pub fn new(
        settings: Settings,
        editor: Editor,
        commands: Vec<CommandInfo>,
        status: Status,
    ) -> Self {
        Self {
            theme: Theme::new(settings.look).speaking(settings.language),
            editor,
            layers: Vec::new(),
            menu: None,
            shows_keys: false,
            dismissed: None,
            transcript: Transcript::new(settings.show_reasoning, settings.language),
            status,
            commands,
            work: Work::default(),
            moment: Moment::default(),
            effects: Vec::new(),
            settings,
        }
    }

    /// Another session takes the place of this one; what is written in the composer stays.
    pub fn reopened(&mut self, commands: Vec<CommandInfo>, status: Status) {
        self.commands = commands;
        self.status = status;
        self.layers.clear();
        self.menu = None;
        self.work = Work::default();
        self.transcript = Transcript::new(self.settings.show_reasoning, self.settings.language);
    }

    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    pub fn transcript(&mut self) -> &mut Transcript {
        &mut self.transcript
    }

    pub fn editor(&mut self) -> &mut Editor {
        &mut self.editor
    }

    pub fn is_working(&self) -> bool {
        self.work.since.is_some()
    }

    /// Whether the alternate screen is wanted.
    pub fn is_paging(&self) -> bool {
        matches!(self.layers.last(), Some(Layer::Pager(_)))
    }

    pub fn canvas(&self, columns: usize, rows: usize) -> Canvas {
        Canvas {
            columns,
            rows,
            theme: self.theme,
        }
    }

    pub fn remark(&mut self, text: impl Into<String>, now: Instant) {
        self.moment.remark = Some((text.into(), now + REMARK));
    }

    /// When something changes without anybody's doing.
    pub fn wake(&self, now: Instant) -> Option<Instant> {
        let moves = self.work.since.filter(|_| !self.is_asking());
        let tick = moves.map(|_| now + crate::transcript::TICK);
        let remark = self.moment.remark.as_ref().map(|(_, until)| *until);
        let draft = self.moment.draft_changed.map(|at| at + KEEP_EVERY);
        let tasks = (!self.work.background.is_empty()).then(|| now + tasks::TICK);
        let twice = [self.moment.leaving, self.moment.escaped];
        let page = self.question().map(Asking::page);
        let attention = page.and_then(|page| self.moment.attention.wake(&page, now));
        [tick, tasks, remark, draft, attention]
            .into_iter()
            .chain(twice)
            .flatten()
            .min()
    }

    /// The time has come for whatever `wake` named.
    pub fn passed(&mut self, now: Instant) {
        self.answer_held(now);
        if self.moment.leaving.is_some_and(|until| until <= now) {
            self.moment.leaving = None;
        }
        if self.moment.escaped.is_some_and(|until| until <= now) {
            self.moment.escaped = None;
        }
        if self
            .moment
            .remark
            .as_ref()
            .is_some_and(|(_, until)| *until <= now)
        {
            self.moment.remark = None;
        }
        if self
            .moment
            .draft_changed
            .is_some_and(|at| at + KEEP_EVERY <= now)
        {
            self.keep_draft();
        }
    }

    fn keep_draft(&mut self) {
        self.moment.draft_changed = None;
        let draft = self.editor.draft().unwrap_or_default();
        self.effects.push(Effect::KeepDraft(draft));
    }

    pub fn input(&mut self, input: Input, canvas: &Canvas, now: Instant) {
        match input {
            Input::Key(key) => self.key(key, canvas, now),
            Input::Paste(text) if self.is_asking() => self.ask_paste(text, canvas, now),
            Input::Paste(text) => match self.layers.last_mut() {
                Some(layer) => layer.paste(&text),
                None if is_picture(&text) => self.effects.push(Effect::Picture(text)),
                None => {
                    let outcome = self.editor.paste(text);
                    self.outcome(outcome, now);
                }
            },
            Input::Resize { .. } => {}
            Input::FocusGained => {
                self.moment.focused = Some(true);
                self.forget_drawn();
            }
            Input::FocusLost => self.moment.focused = Some(false),
        }
    }

    fn key(&mut self, key: Key, canvas: &Canvas, now: Instant) {
        let [leaving, escaped] = [&mut self.moment.leaving, &mut self.moment.escaped]
            .map(|moment| moment.take().is_some_and(|until| until > now));
        let global = self.settings.keys.get(key);
        match global {
            Some(Global::Redraw) => return self.effects.push(Effect::Redraw),
            Some(Global::Suspend) => return self.effects.push(Effect::Suspend),
            // Nobody is there to stop anything, whatever is open here.
            Some(Global::Interrupt) if self.status.clients.silent => {
                return self.leave_silent(leaving, now);
            }
            Some(_) | None => {}
        }
        if self.is_asking() {
            return self.ask_key(key, canvas, now);
        }
        self.moment.attention.note_key(now);
        if let Some(layer) = self.layers.last_mut() {
            let step = layer.key(key, canvas);
            self.step(step, now);
            return self.preview_theme();
        }
        // Any key closes the list of keys, and does what it does.
        let showed_keys = std::mem::take(&mut self.shows_keys);
        if global != Some(Global::NextMode) {
            self.work.walk = None;
        }
        if showed_keys && key.code == crate::key::Code::Esc {
            return;
        }
        if self.edit_queued(key) {
            return;
        }
        // A search in the history has the keys to itself.
        let searching = self.editor.is_searching();
        if !searching
            && (self.menu_key(key, now)
                || global.is_some_and(|global| {
                    self.global(global, key, canvas, [leaving, escaped], now)
                }))
        {
            return;
        }
        let outcome = self.editor.key(key, canvas.columns);
        self.outcome(outcome, now);
    }

    fn outcome(&mut self, outcome: Outcome, now: Instant) {
        match outcome {
            Outcome::Ignored => {}
            Outcome::TooLarge => {
                self.remark(self.settings.language.say(Word::TooLarge), now);
            }
            Outcome::Moved => self.follow_menu(),
            Outcome::Changed => self.typed(now),
            Outcome::Submit => self.submit(Delivery::Steer, now),
            Outcome::Leave => self.leave(now),
        }
    }

    /// Whether the key was for it.
    fn global(
        &mut self,
        global: Global,
        key: Key,
        canvas: &Canvas,
        [leaving, escaped]: [bool; 2],
        now: Instant,
    ) -> bool {
        match global {
            Global::Stop => {
                // Vim's insert mode takes the first one, and a search in the history ends with it.
                let is_free = self.editor.key(key, canvas.columns) == Outcome::Ignored;
                match is_free && self.is_working() {
                    true => self.stop(),
                    false => self.esc_again(is_free, escaped, now),
                }
            }
            Global::Interrupt => self.ctrl_c(leaving, now),
            Global::NextMode => self.walk_on(),
            Global::Background => {
                if self.transcript.running_command().is_none() {
                    return false;
                }
                self.command("bg".into());
            }
            Global::Help => {
                if !self.editor.is_empty() {
                    return false;
                }
                self.shows_keys = true;
            }
            Global::Queue => {
                if !self.is_working() || self.editor.is_empty() {
                    return false;
                }
                self.submit(Delivery::Queue, now);
            }
            Global::Page => self.effects.push(Effect::Page),
            Global::Editor => self.effects.push(Effect::Edit(self.editor.expanded())),
            Global::PasteImage => self.effects.push(Effect::PasteImage),
            Global::Redraw => self.effects.push(Effect::Redraw),
            Global::Suspend => self.effects.push(Effect::Suspend),
        }
        true
    }

    fn stop(&mut self) {
        self.work.stopping = true;
        // What waits comes back to the composer; nobody stops a turn to have the next one begin.
        if !self.waiting_prompts().is_empty() {
            self.work.forget_waiting();
            self.command("queue back".into());
        }
        self.effects.push(Effect::Send(Op::Interrupt));
    }

    fn command(&mut self, line: String) {
        self.effects.push(Effect::Send(Op::Command { line }));
    }

    /// What a key in a layer led to.
    fn step(&mut self, step: Step, now: Instant) {
        match step {
            Step::Stay => {}
            Step::Close => {
                self.layers.pop();
            }
            Step::Answer(op) => {
                self.layers.pop();
                self.effects.push(Effect::Send(op));
            }
            Step::Act(act) => {
                self.layers.pop();
                match act {
                    Act::Command(line) => self.command(line),
                    Act::Do(deed) => self.deed(deed, now),
                }
            }
            Step::Edit(text) => self.effects.push(Effect::Edit(text)),
            Step::Stop if self.refuse_task() => {}
            Step::Stop => {
                self.layers.pop();
                self.stop();
            }
        }
    }

    /// The editor of the person gave a text back.
    pub fn edited(&mut self, text: Result<String, Why>, now: Instant) {
        let text = match text {
            Ok(text) => text,
            Err(why) => {
                let language = self.settings.language;
                let why = why.say(language);
                return self.remark(language.fill(Word::NoEditor, &[&why]), now);
            }
        };
        match self.layers.last_mut() {
            Some(layer) => {
                if let Some(asking) = layer.asking_mut() {
                    asking.edited(text);
                }
            }
            None => {
                self.editor.set_expanded(text.trim_end_matches('\n'));
                self.typed(now);
            }
        }
    }

    /// What was being written before comes back, unless something is written by now.
    pub fn remember(&mut self, draft: Option<String>) {
        if let Some(draft) = draft.filter(|_| self.editor.is_empty()) {
            self.editor.restore(&draft);
        }
    }

    /// Entries to page through.
    pub fn page(&mut self, entries: &[Arc<Entry>], canvas: &Canvas) {
        let mut rows = Vec::new();
        for cell in crate::transcript::cells(entries, self.settings.language) {
            rows.extend(cell.rows(canvas.columns, &canvas.theme, Fold::Open));
            rows.push(crate::line::Line::default());
        }
        self.layers
            .push(Layer::Pager(Pager::new(rows, canvas.rows)));
    }

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
            Event::Entry(entry) if self.says_nothing_new(&entry.body) => {}
            Event::Entry(entry) => {
                self.follow(&entry.body, now);
                self.transcript.event(event, now);
            }
        }
    }

    /// The first request writes down the model that the status line shows already.
    fn says_nothing_new(&self, body: &Body) -> bool {
        match body {
            Body::Settings(settings) => {
                settings.model.as_ref() == Some(&self.status.model)
                    && settings.effort.is_none()
                    && settings.title.is_none()
            }
            _ => false,
        }
    }

    /// What an entry means beyond its cell.
    fn follow(&mut self, body: &Body, now: Instant) {
        match body {
            Body::Message(message) if message.role == Role::Assistant => {
                self.work.unanswered = None
            }
            Body::Message(message) if message.role == Role::User => {
                self.work
                    .begin(message.typed.as_ref().unwrap_or(&message.text));
                let at = self
                    .work
                    .waiting
                    .iter()
                    .position(|(text, _)| *text == message.text);
                if let Some(at) = at {
                    self.work.waiting.remove(at);
                }
                self.work.since.get_or_insert(now);
            }
            // A goal goes on: the next turn begins at once.
            Body::TurnEnd(_) if self.status.is_pursuing() => {}
            Body::TurnEnd(end) => {
                self.put_back_failed(end.outcome, now);
                self.turn_ended(now);
            }
            // What the person runs themselves can be stopped like a turn.
            Body::ToolUse(call) if call.by.is_some() && self.work.since.is_none() => {
                self.work.since = Some(now);
                self.work.own = Some(call.id.clone());
            }
            Body::ToolResult(result) if self.work.own.as_ref() == Some(&result.tool_use_id) => {
                self.work.own = None;
                self.work.since = None;
                self.work.stopping = false;
            }
            Body::Usage(usage) => self.status.count(usage),
            Body::Compaction(compaction) => self.status.folded(compaction.tokens_after),
            Body::Rewind(Rewind {
                tokens: Some(tokens),
                ..
            }) => self.status.folded(*tokens),
            Body::Mode(mode) => self.status.mode = Some(mode.clone()),
            Body::Settings(settings) => {
                if let Some(model) = &settings.model {
                    self.status.model.clone_from(model);
                }
                if settings.effort.is_some() {
                    self.status.effort.clone_from(&settings.effort);
                }
                if settings.title.is_some() {
                    self.work.task.clone_from(&settings.title);
                }
            }
            Body::Message(_)
            | Body::Meta(_)
            | Body::ToolUse(_)
            | Body::ToolResult(_)
            | Body::Approval(_)
            | Body::Todo(_)
            | Body::Child(_)
            | Body::Notice(_)
            | Body::Error(_)
            | Body::Interrupted(_)
            | Body::Checkpoint(_)
            | Body::Rewind(_) => {}
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
            View::Do(_) | View::List(_) | View::Completion(_) => false,
            view => view.menu().is_none(),
        };
        let is_typed =
            !line.is_empty() && !line.starts_with(['!', '#']) && !line.starts_with("login ");
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
            return self.layers.push(Layer::Picker(Picker::new(list)));
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
