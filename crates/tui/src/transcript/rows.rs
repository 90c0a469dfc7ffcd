//! The rows of a transcript: those that are final, and those of what goes on.

use super::{LIVE_ROWS, Last, Piece, Transcript};
use crate::canvas::Canvas;
use crate::cell::{Cell, Fold, Reasoning, Retry, ToolState};
use crate::line::Line;
use std::time::Instant;

impl Transcript {
    /// Rows that are final since the last call.
    pub fn done(&mut self, canvas: &Canvas) -> Vec<Line> {
        let mut out = Vec::new();
        while let Some(piece) = self.finished.pop_front() {
            let (kind, rows) = match piece {
                Piece::Cell(cell) => {
                    let kind = match *cell {
                        Cell::Tool(_) | Cell::Lookups(_) => Last::Tool,
                        Cell::Notice(_) => Last::Remark,
                        Cell::User(_)
                        | Cell::Assistant(_)
                        | Cell::Reasoning(_)
                        | Cell::Todo(_)
                        | Cell::Failure(_)
                        | Cell::Retry(_)
                        | Cell::Turn(_)
                        | Cell::Approved(_)
                        | Cell::Job(_)
                        | Cell::Picture(_)
                        | Cell::Folded(_) => Last::Other,
                    };
                    (kind, cell.rows(canvas.columns, &canvas.theme, Fold::Closed))
                }
                Piece::Said(mut stream) => (
                    Last::Speech,
                    stream.take_done(canvas.columns, &canvas.theme),
                ),
                Piece::Rows(rows) => (Last::Other, rows),
            };
            self.add(kind, rows, &mut out);
            // Two answers in a row are two.
            if self.last == Last::Speech {
                self.last = Last::Other;
            }
        }
        if let Some(speaking) = &mut self.speaking {
            let rows = speaking.stream.take_done(canvas.columns, &canvas.theme);
            self.add(Last::Speech, rows, &mut out);
        }
        out
    }

    fn add(&mut self, kind: Last, mut rows: Vec<Line>, out: &mut Vec<Line>) {
        if rows.is_empty() {
            return;
        }
        let is_apart = match (self.last, kind) {
            (Last::Nothing, _)
            | (Last::Speech, Last::Speech)
            | (Last::Tool, Last::Tool)
            | (Last::Remark, Last::Remark) => false,
            (_, Last::Other | Last::Remark | Last::Speech | Last::Tool | Last::Nothing) => true,
        };
        if is_apart {
            out.push(Line::default());
        }
        out.append(&mut rows);
        self.last = kind;
    }

    /// What is going on, at most so many rows of it.
    pub fn live(&mut self, canvas: &Canvas, room: usize, now: Instant) -> Vec<Line> {
        let mut rows = Vec::new();
        if let Some(thinking) = self.thinking.as_ref().filter(|t| t.took.is_none()) {
            let text = match self.show_reasoning {
                true => thinking.text.clone(),
                false => String::new(),
            };
            let cell = Reasoning::thinking(text);
            rows.extend(cell.rows(canvas.columns, &canvas.theme, Fold::Closed));
        }
        if let Some(speaking) = &self.speaking {
            let live = speaking.stream.live(canvas.columns, &canvas.theme, room);
            if !live.is_empty() && self.last != Last::Speech && self.last != Last::Nothing {
                rows.push(Line::default());
            }
            rows.extend(live);
        }
        let is_apart = match self.last {
            Last::Speech | Last::Other | Last::Remark => rows.is_empty(),
            Last::Nothing | Last::Tool => false,
        };
        if is_apart && !(self.calls.is_empty() && self.lookups.is_empty()) {
            rows.push(Line::default());
        }
        if !self.lookups.is_empty() {
            rows.extend(
                self.lookups
                    .rows(canvas.columns, &canvas.theme, Fold::Closed),
            );
        }
        let most = room.saturating_sub(rows.len()) / self.calls.len().max(1);
        let most = most.clamp(2, LIVE_ROWS);
        let shown = self.calls.iter_mut();
        for call in shown.filter(|call| !call.cell.goes_without_saying()) {
            if let Some(since) = call.since {
                call.cell
                    .set(ToolState::Running(now.saturating_duration_since(since)));
            }
            let mut shown = call.cell.rows(canvas.columns, &canvas.theme, Fold::Closed);
            // The title, and the end of what it says.
            let over = shown.len().saturating_sub(most);
            shown.drain(1..=over);
            rows.extend(shown);
        }
        if let Some((retry, until)) = &self.turn.retry {
            let retry = Retry {
                left: until.saturating_duration_since(now),
                ..retry.clone()
            };
            rows.extend(retry.rows(canvas.columns, &canvas.theme, Fold::Closed));
        }
        rows.drain(..rows.len().saturating_sub(room));
        rows
    }
}
