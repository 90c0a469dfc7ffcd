//! Keys while a question is open. What is typed goes to the composer below it and is seen there; a text that is sent is a
//! no with a reason, or the words that were asked for, never a yes. `Attention` says when a key may answer.

use super::attention::{Held, Readiness};
use super::keys::Global;
use super::{Effect, State};
use crate::canvas::Canvas;
use crate::editor::Outcome;
use crate::key::{Code, Key};
use crate::layer::{Asking, Layer, Meaning, Page, Pick, Reply, Step};
use crate::line::{Line, Span};
use crate::screen::Frame;
use crate::text;
use crate::theme::Role;
use ostler_wire::{Delivery, Op, Word, command_of};
use std::time::Instant;

/// Rows of the composer below a question.
const REPLY_ROWS: usize = 3;
/// Rows of a terminal that has room for an empty composer below a question.
const ROOM_FOR_EMPTY: usize = 8;
/// Columns of a hint without the text that it quotes, and those of that text.
const HINT_COLUMNS: usize = 40;
const QUOTED_LEAST: usize = 8;
const QUOTED_MOST: usize = 40;

impl State {
    /// The question that has the keys.
    pub(super) fn question(&self) -> Option<&Asking> {
        self.layers.last().and_then(Layer::asking)
    }

    fn question_mut(&mut self) -> Option<&mut Asking> {
        self.layers.last_mut()?.asking_mut()
    }

    /// Something waits for an answer of the person.
    pub fn is_asking(&self) -> bool {
        self.question().is_some()
    }

    /// A question waits no longer. One that stands here and has an answer got it in another terminal.
    pub(super) fn close_ask(&mut self, ask: &str, answer: Option<&str>, now: Instant) {
        let open = self.layers.len();
        self.layers.retain(|layer| layer.ask() != Some(ask));
        if let Some(answer) = answer.filter(|_| self.layers.len() < open) {
            let answer = text::visible(answer.to_owned());
            let language = self.settings.language;
            self.remark(language.fill(Word::AnsweredElsewhere, &[&answer]), now);
        }
    }

    /// The last frame is on the screen.
    pub fn set_drawn(&mut self, now: Instant) {
        let is_readable = !self.moment.is_cramped;
        let page = self.question().filter(|_| is_readable).map(Asking::page);
        self.moment.attention.set_drawn(page, now);
    }

    /// The screen was given away, or was not looked at: what stands there has to be seen anew.
    pub fn forget_drawn(&mut self) {
        self.moment.attention.forget_drawn();
    }

    pub(super) fn ask_key(&mut self, key: Key, canvas: &Canvas, now: Instant) {
        let Some(question) = self.question_mut() else {
            return;
        };
        if question.scroll(key, canvas) {
            return;
        }
        let (page, is_secret) = (question.page(), question.secret().is_some());
        let is_stop = is_stop(key, self.settings.keys.get(key));
        if is_secret && !is_stop {
            return self.secret_key(key, &page, canvas, now);
        }
        if let Some(held) = self.moment.attention.take_held() {
            match key.code {
                _ if is_stop && key.code == Code::Esc => {
                    self.put_back(&held);
                    return self.moment.attention.note_key(now);
                }
                _ if is_stop => {}
                // Who moves on chooses something else.
                Code::Up | Code::Down | Code::Home | Code::End => self.moment.attention.engage(),
                _ => self.write_held(&held, Some(page.0.clone()), canvas, now),
            }
        }
        let mut readiness = self.moment.attention.readiness(&page, now);
        if self.moment.attention.is_held_over() {
            // It was down before there was anything to answer.
            readiness.may_answer = false;
            if key.code == Code::Enter {
                return self.moment.attention.note_key(now);
            }
        }
        let wants_words = self.question().is_some_and(Asking::wants_words);
        if readiness.may_answer && !self.is_writing() && !wants_words && !is_stop {
            match self.question_mut().map(|q| q.meaning(key)) {
                Some(Meaning::Moved) => return self.moment.attention.engage(),
                Some(Meaning::Picks(Pick::Chosen)) if !self.has_choice() => {
                    self.moment.attention.note_key(now);
                    let text = self.settings.language.say(Word::ChooseFirst);
                    return self.remark(text, now);
                }
                Some(Meaning::Picks(pick)) => return self.press(key, pick, page, now),
                Some(Meaning::Text) | None => {}
            }
        }
        self.moment.attention.note_key(now);
        let begun_for = Some(page.0).filter(|_| readiness.may_answer);
        match self.settings.keys.get(key) {
            _ if is_stop => self.stop_asking(key, readiness, canvas, now),
            Some(Global::Page) => self.effects.push(Effect::Page),
            Some(Global::Queue) if !self.editor.is_empty() && self.is_working() => {
                self.submit(Delivery::Queue, now);
            }
            Some(_) => {}
            None => match self.type_key(key, begun_for, canvas, now) {
                Outcome::Submit => self.reply(readiness, now),
                Outcome::Ignored if key.code == Code::Enter && wants_words => {
                    self.pick(Pick::Chosen, now);
                }
                Outcome::Ignored
                | Outcome::Changed
                | Outcome::Moved
                | Outcome::TooLarge
                | Outcome::Leave => {}
            },
        }
    }

    /// A key of a secret, which is shown as a dot. What was begun before the question could be seen is text for the composer.
    fn secret_key(&mut self, key: Key, page: &Page, canvas: &Canvas, now: Instant) {
        let readiness = self.moment.attention.readiness(page, now);
        self.moment.attention.note_key(now);
        let Some(question) = self.question_mut().and_then(Asking::secret_mut) else {
            return;
        };
        if !readiness.may_answer && !question.has_typed() {
            if matches!(key.code, Code::Char(_)) {
                self.type_key(key, None, canvas, now);
            }
            return;
        }
        match key.code {
            Code::Enter => {
                let told = question.told();
                self.layers.pop();
                self.effects.push(Effect::Send(told));
            }
            Code::Backspace => question.untype(key.ctrl || key.alt),
            Code::Char('u') if key.ctrl => question.untype(true),
            Code::Char(c) if !key.ctrl && !key.alt => {
                question.type_text(c.encode_utf8(&mut [0; 4]));
            }
            _ => {}
        }
    }

    /// A paste is text, whatever stands in it.
    pub(super) fn ask_paste(&mut self, text: String, canvas: &Canvas, now: Instant) {
        let page = self.question().map(Asking::page);
        let is_seen = |page: &Page| self.moment.attention.readiness(page, now).is_seen;
        if page.as_ref().is_some_and(is_seen)
            && let Some(question) = self.question_mut().and_then(Asking::secret_mut)
        {
            question.type_text(&text);
            return self.moment.attention.note_key(now);
        }
        if let Some(held) = self.moment.attention.take_held() {
            self.write_held(&held, page.clone().map(|page| page.0), canvas, now);
        }
        let may_answer = |page: &Page| self.moment.attention.readiness(page, now).may_answer;
        let begun_for = page.filter(may_answer).map(|page| page.0);
        if self.editor.is_empty() {
            self.moment.attention.begin_text(begun_for);
        }
        self.moment.attention.note_key(now);
        let outcome = self.editor.paste(text);
        self.written(outcome, now);
    }

    /// Whether the composer holds a text. White space alone is none.
    fn is_writing(&self) -> bool {
        let is_blank = self.editor.expanded().trim().is_empty() && !self.editor.has_images();
        !is_blank || self.editor.is_searching()
    }

    fn has_choice(&self) -> bool {
        self.question().is_some_and(Asking::has_choice)
    }

    /// A key that answers: at once where the person has just moved to what they want, else when nothing follows it.
    fn press(&mut self, key: Key, pick: Pick, page: Page, now: Instant) {
        if pick == Pick::Chosen && self.moment.attention.is_engaged() {
            self.moment.attention.note_key(now);
            return self.pick(pick, now);
        }
        if let Some(question) = self.question_mut() {
            let before = question.select(pick);
            self.moment.attention.hold(key, [pick, before], page, now);
        }
    }

    fn pick(&mut self, pick: Pick, now: Instant) {
        if let Some(step) = self.question_mut().map(|question| question.pick(pick)) {
            self.step(step, now);
        }
    }

    /// Nothing followed the key that was held: it answers.
    pub(super) fn answer_held(&mut self, now: Instant) {
        let page = self.question().map(Asking::page);
        let Some(held) = self.moment.attention.take_due(now) else {
            return;
        };
        if page.is_some_and(|page| held.is_on(&page)) {
            self.pick(held.pick, now);
        }
    }

    /// Another question comes up, or this one goes: a key that was held for it is text.
    pub(super) fn release_held(&mut self, canvas: &Canvas, now: Instant) {
        if let Some(held) = self.moment.attention.take_held() {
            self.write_held(&held, None, canvas, now);
        }
    }

    /// Puts a key that did not answer into the composer, and the cursor of the question back.
    fn write_held(
        &mut self,
        held: &Held,
        begun_for: Option<String>,
        canvas: &Canvas,
        now: Instant,
    ) {
        self.put_back(held);
        if matches!(held.key.code, Code::Char(_)) {
            self.type_key(held.key, begun_for, canvas, now);
        }
    }

    fn put_back(&mut self, held: &Held) {
        let question = self.question_mut();
        if let Some(question) = question.filter(|question| held.is_on(&question.page())) {
            question.select(held.before);
        }
    }

    /// A key of the composer. Text that it begins is for this ask, if any.
    fn type_key(
        &mut self,
        key: Key,
        begun_for: Option<String>,
        canvas: &Canvas,
        now: Instant,
    ) -> Outcome {
        let was_empty = self.editor.is_empty();
        let outcome = self.editor.key(key, canvas.columns);
        if was_empty && !self.editor.is_empty() {
            self.moment.attention.begin_text(begun_for);
        }
        self.written(outcome, now);
        outcome
    }

    fn written(&mut self, outcome: Outcome, now: Instant) {
        match outcome {
            Outcome::Changed => {
                self.menu = None;
                self.moment.draft_changed.get_or_insert(now);
            }
            Outcome::TooLarge => self.remark(self.settings.language.say(Word::TooLarge), now),
            Outcome::Ignored | Outcome::Moved | Outcome::Submit | Outcome::Leave => {}
        }
    }

    /// Esc empties the composer, then leaves a page of the question, then stops what asks.
    fn stop_asking(&mut self, key: Key, at: Readiness, canvas: &Canvas, now: Instant) {
        if self.is_writing() && key.code == Code::Esc {
            // Vim's insert mode takes the first one, and a search in the history ends with it.
            if self.editor.key(key, canvas.columns) == Outcome::Ignored {
                self.editor.set_text("");
                self.written(Outcome::Changed, now);
            }
            return;
        }
        if self.question_mut().is_some_and(Asking::go_back) {
            return;
        }
        // A question of a task that nobody had the time to see is not refused by a key that meant the turn.
        if !at.may_answer && self.is_apart() {
            if self.is_working() {
                self.stop();
            }
            return;
        }
        self.step(Step::Stop, now);
    }

    /// A text is sent while the question is open.
    fn reply(&mut self, at: Readiness, now: Instant) {
        let text = self.editor.expanded().trim().to_owned();
        match self.sending(&text, at) {
            Sending::Nothing => {}
            Sending::Clear => {
                self.editor.set_text("");
                self.written(Outcome::Changed, now);
            }
            Sending::Prompt => self.submit(Delivery::Steer, now),
            Sending::Select(pick) => {
                self.editor.set_text("");
                self.written(Outcome::Changed, now);
                if let Some(question) = self.question_mut() {
                    question.select(pick);
                }
            }
            Sending::Refuse => {
                self.editor.set_text("");
                self.written(Outcome::Changed, now);
                self.send_reply(None);
            }
            Sending::Reply => {
                let attention = &self.moment.attention;
                let strict = self.question().filter(|question| question.is_strict());
                let is_early = strict.is_some_and(|q| attention.has_early_text(&q.ask().ask));
                if !is_early || at.has_paused {
                    self.send_reply(Some(text));
                }
            }
        }
    }

    fn send_reply(&mut self, text: Option<String>) {
        let reply = self.question().map(|question| question.reply(text));
        let op: Op = match reply {
            Some(Reply::Sent(op)) => {
                self.editor.take();
                self.keep_draft();
                op
            }
            Some(Reply::Refused(op)) => op,
            Some(Reply::Nothing) | None => return,
        };
        self.layers.pop();
        self.effects.push(Effect::Send(op));
    }

    /// What Enter would do with this text.
    fn sending(&self, text: &str, at: Readiness) -> Sending {
        let is_command = text.starts_with('/') && command_of(text).is_some();
        if is_command || self.editor.has_images() {
            return Sending::Prompt;
        }
        // White space is no text: it neither answers nor refuses.
        if text.is_empty() {
            return Sending::Nothing;
        }
        let named = self.question().and_then(|q| Some((q, q.named(text)?)));
        let is_early = |q: &Asking| self.moment.attention.has_early_text(&q.ask().ask);
        match named {
            Some(_) if !at.is_seen => Sending::Nothing,
            // A letter that was there before the question names none of its options.
            Some((question, _)) if is_early(question) => Sending::Clear,
            // What is sent before the question could be seen was not meant for it.
            None if !at.is_seen => Sending::Prompt,
            Some((question, pick)) if question.refuses(pick) => Sending::Refuse,
            Some((_, pick)) => Sending::Select(pick),
            None => Sending::Reply,
        }
    }

    /// What keys do now.
    pub(super) fn hint(&self, canvas: &Canvas, now: Instant) -> String {
        let Some(question) = self.question() else {
            return String::new();
        };
        if self.moment.is_cramped {
            return canvas.say(Word::WindowTooSmall).to_owned();
        }
        let page = question.page();
        let attention = &self.moment.attention;
        let readiness = attention.readiness(&page, now);
        if let Some(held) = attention.held(&page) {
            return canvas.fill(Word::AskHeld, &[&question.label(held.pick, canvas)]);
        }
        let text = self.editor.expanded().trim().to_owned();
        if text.is_empty() || question.secret().is_some() {
            let takes_keys = match question.secret() {
                Some(secret) => secret.has_typed(),
                None => question.wants_words(),
            };
            return match readiness.may_answer || takes_keys {
                true => question.keys(canvas),
                false => canvas.say(Word::AskSoon).to_owned(),
            };
        }
        let quoted = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let room = canvas.columns.saturating_sub(HINT_COLUMNS);
        let quoted = text::cut_text(
            &text::visible(quoted),
            room.clamp(QUOTED_LEAST, QUOTED_MOST),
        );
        match self.sending(&text, readiness) {
            Sending::Prompt if text.starts_with('/') => canvas.fill(Word::ReplyCommand, &[&quoted]),
            Sending::Prompt => canvas.say(Word::ReplyPrompt).to_owned(),
            Sending::Nothing => canvas.say(Word::AskSoon).to_owned(),
            Sending::Clear => canvas.say(Word::EarlyAnswer).to_owned(),
            Sending::Select(pick) => {
                canvas.fill(Word::ReplySelects, &[&question.label(pick, canvas)])
            }
            Sending::Refuse => {
                let label = question.ask().refusal().map_or("", |no| no.label.as_str());
                canvas.fill(Word::ReplyNo, &[label])
            }
            Sending::Reply => question.reply_hint(&quoted, canvas),
        }
    }

    /// The composer below a question.
    pub(super) fn reply_line(&self, canvas: &Canvas) -> Frame {
        let Some(question) = self.question() else {
            return Frame::default();
        };
        if let Some(secret) = question.secret() {
            let mut line = Line::from(canvas.span("› ", Role::Accent));
            let masked = secret.masked();
            let column = 2 + text::width(&masked);
            line.push(Span::plain(masked));
            return Frame {
                rows: vec![text::cut(&line, canvas.columns)],
                caret: Some((0, column.min(canvas.columns.saturating_sub(1)))),
            };
        }
        if self.is_writing() {
            let room = REPLY_ROWS.min(canvas.rows / 3).max(1);
            let view = self.editor.view(canvas.columns, room, &canvas.theme);
            return Frame {
                rows: view.rows,
                caret: Some(view.caret),
            };
        }
        let mut line = Line::from(canvas.span("› ", Role::Accent));
        let held = self.moment.attention.held(&question.page());
        let letter = held.and_then(|held| match held.key.code {
            Code::Char(c) => Some(c),
            _ => None,
        });
        match letter {
            Some(c) => line.push(Span::plain(text::visible(c.to_string()))),
            None if canvas.rows < ROOM_FOR_EMPTY => return Frame::default(),
            None => line.push(canvas.span(question.placeholder(canvas), Role::Faint)),
        }
        let column = 2 + usize::from(letter.is_some());
        Frame {
            rows: vec![text::cut(&line, canvas.columns)],
            caret: Some((0, column.min(canvas.columns.saturating_sub(1)))),
        }
    }
}

/// What Enter does with a text.
enum Sending {
    /// It stays where it is.
    Nothing,
    /// It is taken out of the composer.
    Clear,
    /// It goes to the session, and the question stays.
    Prompt,
    /// It names this option, which is not taken by that.
    Select(Pick),
    /// It says no in so many words.
    Refuse,
    Reply,
}

fn is_stop(key: Key, global: Option<Global>) -> bool {
    let by_name = matches!(global, Some(Global::Stop | Global::Interrupt));
    by_name || key.code == Code::Esc || key == Key::ctrl('c')
}
