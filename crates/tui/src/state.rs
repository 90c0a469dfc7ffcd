//! All that the terminal UI knows, and how input and events change it. No terminal, no clock, no files: time comes in as a
//! value and deeds go out as effects.

mod asks;
mod attention;
mod deeds;
mod events;
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
use crate::layer::{Asking, Layer, Menu, Pager, Step};
use crate::status::Status;
use crate::theme::{Look, Theme};
use crate::transcript::Transcript;
use attention::{Attention, Press};
use ostler_wire::{Act, CommandInfo, Delivery, Entry, Language, Op, Open, Why, Word};
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
    /// The keys are shown below the composer, until the next key.
    shows_keys: bool,
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
            Input::Key(key) => {
                self.moment.attention.press(key, Press::Key, now);
                self.key(key, canvas, now);
            }
            Input::Repeat(key) => {
                self.moment.attention.press(key, Press::Repeat, now);
                self.key(key, canvas, now);
            }
            Input::Release(key) => self.moment.attention.release(key),
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
            Input::FocusLost => {
                self.moment.focused = Some(false);
                // Its release goes elsewhere.
                self.moment.attention.release_all();
            }
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
        let showed_keys = std::mem::take(&mut self.moment.shows_keys);
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
                self.moment.shows_keys = true;
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
}
