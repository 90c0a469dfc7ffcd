//! Markdown while it streams: blocks that are over become rows that never change, the open one is laid out anew when it
//! is drawn. How the text was cut into deltas makes no difference to the rows.

mod code;
mod marks;
mod page;
mod split;
mod table;
#[cfg(test)]
mod tests;

use crate::highlight;
use crate::line::Line;
use crate::rows::MIN_COLUMNS;
use crate::say;
use crate::theme::{Role, Theme};
use split::{Gap, Piece, Splitter};

/// A message that arrives bit by bit.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    splitter: Splitter,
    painter: Painter,
}

impl Stream {
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a delta. Costs as much as the delta is long; nothing is parsed or laid out yet.
    pub fn push(&mut self, delta: &str) {
        self.splitter.push(delta);
    }

    /// The message is over: what is open ends here.
    pub fn finish(&mut self) {
        self.splitter.finish();
    }

    /// Rows that are final since the last call.
    pub fn take_done(&mut self, columns: usize, theme: &Theme) -> Vec<Line> {
        let mut rows = Vec::new();
        for piece in self.splitter.take() {
            self.painter.paint(piece, columns, theme, &mut rows);
        }
        rows
    }

    /// The last `max_rows` rows of what may still change, as they were if the message ended now.
    pub fn live(&self, columns: usize, theme: &Theme, max_rows: usize) -> Vec<Line> {
        let mut end = self.clone();
        end.finish();
        let mut rows = end.take_done(columns, theme);
        rows.drain(..rows.len().saturating_sub(max_rows));
        rows
    }

    /// Whether nothing is left to show: all rows were taken and no block is open.
    pub fn is_empty(&self) -> bool {
        self.splitter.is_empty()
    }
}

/// A whole text.
pub fn render(text: &str, columns: usize, theme: &Theme) -> Vec<Line> {
    let mut stream = Stream::new();
    stream.push(text);
    stream.finish();
    stream.take_done(columns, theme)
}

#[derive(Clone, Debug, Default)]
struct Painter {
    code: Option<highlight::Block>,
}

impl Painter {
    fn paint(&mut self, piece: Piece, columns: usize, theme: &Theme, rows: &mut Vec<Line>) {
        let columns = columns.max(MIN_COLUMNS);
        match piece {
            Piece::Block(block) => {
                let shown = page::rows(&block, columns, theme);
                if !shown.is_empty() {
                    gap(block.gap, rows);
                    rows.extend(shown);
                }
            }
            Piece::CodeStart { info, gap: before } => {
                gap(before, rows);
                rows.extend(code::tag(&info, columns, theme));
                self.code = Some(highlight::Block::new(&info));
            }
            Piece::CodeLine(text) => {
                let block = self.code.get_or_insert_with(|| highlight::Block::new(""));
                rows.extend(code::line(block, &text, columns, theme));
            }
            Piece::CodeEnd { left_out } => {
                self.code = None;
                if left_out > 0 {
                    let note = format!("  {}", say::more_lines(theme.language, left_out));
                    rows.push(Line::new(note, theme.style(Role::Faint)));
                }
            }
        }
    }
}

fn gap(gap: Gap, rows: &mut Vec<Line>) {
    match gap {
        Gap::None => {}
        Gap::Row => rows.push(Line::default()),
    }
}
