//! The live region: what is going on, remarks, the layer or the composer with its menu, the status line.

use super::State;
use super::help::key_rows;
use super::work::Seen;
use crate::canvas::Canvas;
use crate::editor::Mode;
use crate::line::{Line, Span};
use crate::screen::Frame;
use crate::text;
use crate::theme::Role;
use ostler_wire::{Delivery, Word};
use std::time::Instant;

/// Rows of a prompt that waits.
const WAITING_ROWS: usize = 3;
/// Rows of what goes on, where little of the terminal is left for it.
const LIVE_ROWS: usize = 3;
/// Rows of the composer on a terminal that has room.
const COMPOSER_ROWS: usize = 12;

/// Rows of a terminal where the composer has a frame.
const FRAMED_ROWS: usize = 14;

fn is_framed(canvas: &Canvas) -> bool {
    canvas.rows >= FRAMED_ROWS
}

/// On a terminal of a few rows the one with the caret stays, or the end.
fn fit(rows: &mut Vec<Line>, caret: &mut Option<(usize, usize)>, most: usize) {
    let mut over = rows.len().saturating_sub(most);
    if let Some((row, _)) = caret {
        let below = over.min(rows.len().saturating_sub(*row + 1));
        rows.truncate(rows.len() - below);
        over -= below;
        *row = row.saturating_sub(over);
    }
    rows.drain(..over);
}

impl State {
    /// Rows that are finished since the last call.
    pub fn done(&mut self, canvas: &Canvas) -> Vec<Line> {
        self.transcript.done(canvas)
    }

    pub fn frame(&mut self, canvas: &Canvas, now: Instant) -> Frame {
        if self.is_paging() {
            return self
                .layers
                .last()
                .map(|l| l.frame(canvas, ""))
                .unwrap_or_default();
        }
        let mut below = match self.layers.last() {
            Some(layer) => {
                let mut reply = self.reply_line(canvas);
                let room = Canvas {
                    rows: canvas.rows.saturating_sub(1 + reply.rows.len()),
                    ..*canvas
                };
                let asking = layer.asking();
                self.moment.is_cramped = asking.is_some_and(|asking| !asking.is_readable(&room));
                let mut frame = layer.frame(&room, &self.hint(canvas, now));
                let above = frame.rows.len();
                frame.rows.append(&mut reply.rows);
                let caret = reply.caret.map(|(row, column)| (row + above, column));
                frame.caret = frame.caret.or(caret);
                frame
            }
            None => self.composer(canvas),
        };
        below.rows.push(self.status_line(canvas, now));
        let mut above = self.waiting(canvas);
        let taken = below.rows.len() + above.len() + 1;
        // A terminal that becomes narrower breaks our rows before we know. What then goes over its upper edge stays in its
        // scrollback for ever, so half of it is left free where that can be.
        let half = (canvas.rows / 2).saturating_sub(taken).max(LIVE_ROWS);
        let room = canvas.rows.saturating_sub(taken).min(half);
        let mut rows = self.transcript.live(canvas, room, now);
        if !self.is_asking() {
            if self.is_working() {
                rows.extend(self.transcript.plan_row(canvas));
            }
            let seen = Seen {
                doing: self.transcript.doing(),
                tokens: self.transcript.answered_tokens(),
                command_since: self.transcript.running_command(),
            };
            rows.extend(self.work.line(canvas, &seen, now));
        }
        rows.extend(self.work.background.line(canvas, now));
        rows.append(&mut above);
        // An empty row keeps the composer apart from what is said above it, where its frame does not.
        if !self.layers.is_empty() || !is_framed(canvas) {
            rows.push(Line::default());
        }
        let over = (rows.len() + below.rows.len()).saturating_sub(canvas.rows);
        rows.drain(..over.min(rows.len()));
        let mut caret = below.caret.map(|(row, column)| (row + rows.len(), column));
        rows.append(&mut below.rows);
        fit(&mut rows, &mut caret, canvas.rows);
        for row in rows.iter_mut().filter(|r| r.width() > canvas.columns) {
            *row = text::cut(row, canvas.columns);
        }
        Frame { rows, caret }
    }

    fn composer(&self, canvas: &Canvas) -> Frame {
        let menu = self
            .menu
            .as_ref()
            .map(|menu| menu.rows(canvas))
            .unwrap_or_default();
        let frame = if is_framed(canvas) { 2 } else { 0 };
        let room = canvas.rows.saturating_sub(menu.len() + 2 + frame);
        let view = self
            .editor
            .view(canvas.columns, room.clamp(1, COMPOSER_ROWS), &canvas.theme);
        let mut rows = view.rows;
        if self.editor.is_empty()
            && !self.editor.is_searching()
            && let Some(first) = rows.first_mut()
        {
            first.push(canvas.span(canvas.say(Word::Placeholder), Role::Faint));
            *first = text::cut(first, canvas.columns);
        }
        let mut caret = view.caret;
        if is_framed(canvas) {
            let rule = canvas.line("─".repeat(canvas.columns), Role::Frame);
            rows.insert(0, rule.clone());
            caret.0 += 1;
            rows.push(rule);
        }
        rows.extend(menu);
        if self.moment.shows_keys {
            rows.extend(key_rows(canvas));
        }
        Frame {
            rows,
            caret: Some(caret),
        }
    }

    fn status_line(&self, canvas: &Canvas, now: Instant) -> Line {
        if self.moment.leaving.is_some_and(|until| until > now) {
            let running = self.running().join(", ");
            let said = match running.is_empty() {
                true => canvas.say(Word::QuitAgain).to_owned(),
                false => canvas.fill(Word::QuitStops, &[&running]),
            };
            return text::cut(&canvas.line(said, Role::Warning), canvas.columns);
        }
        if self.moment.escaped.is_some_and(|until| until > now) {
            let line = canvas.line(canvas.say(Word::RewindAgain), Role::Faint);
            return text::cut(&line, canvas.columns);
        }
        if let Some((remark, until)) = &self.moment.remark
            && *until > now
        {
            return text::cut(&canvas.line(remark, Role::Accent), canvas.columns);
        }
        let form = self.settings.status_line.as_deref();
        let word = match self
            .editor
            .mode()
            .filter(|_| self.layers.is_empty() || self.is_asking())
        {
            Some(Mode::Normal) => Word::VimNormal,
            Some(Mode::Visual | Mode::VisualLines) => Word::VimVisual,
            Some(Mode::Insert) | None => return self.status.line(canvas, form),
        };
        let mut line = Line::from(canvas.span(format!("{} ", canvas.say(word)), Role::Accent));
        line.spans.extend(self.status.line(canvas, form).spans);
        text::cut(&line, canvas.columns)
    }

    /// Prompts that are sent and not heard yet.
    fn waiting(&self, canvas: &Canvas) -> Vec<Line> {
        let waiting = self.waiting_prompts();
        let mut rows = Vec::new();
        for (prompt, delivery) in &waiting {
            let word = match delivery {
                Delivery::Steer => Word::Steers,
                Delivery::Queue => Word::Queued,
            };
            let mut line = Line::from(canvas.span(format!("{}: ", canvas.say(word)), Role::Faint));
            line.push(Span::new(prompt.as_str(), canvas.style(Role::User)));
            let wrapped = text::wrap(&line, canvas.columns);
            rows.extend(wrapped.into_iter().take(WAITING_ROWS));
        }
        if !waiting.is_empty() && !self.is_asking() {
            let keys = canvas.line(format!("  {}", canvas.say(Word::QueueKeys)), Role::Faint);
            rows.push(text::cut(&keys, canvas.columns));
        }
        rows
    }
}
