//! Cuts a text into top-level blocks while it arrives. It decides line by line, by whole lines only, so that where the
//! text was cut into deltas does not matter. What is within a block is not looked at here.

use super::marks::{self, Fence, Marker};
use crate::{rows, say};

/// Bytes kept of a line.
pub const MAX_LINE: usize = 32 * 1024;
/// Bytes of a block, after which the rest counts as another one.
pub const MAX_BLOCK: usize = 64 * 1024;
/// Rows kept of a table.
pub const MAX_TABLE_ROWS: usize = 500;
/// Lines kept of a block of code.
pub const MAX_CODE_LINES: usize = 10_000;

/// Blank lines kept within an item.
const MAX_BLANKS: usize = 20;

/// What can be shown for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Block(Block),
    CodeStart { info: String, gap: Gap },
    CodeLine(String),
    CodeEnd { left_out: usize },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub source: String,
    pub gap: Gap,
    /// Of an item of an ordered list, whose own number need not be the right one.
    pub number: Option<u64>,
    /// Rows of a table that were not kept.
    pub left_out: usize,
}

/// Whether an empty row stands before a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gap {
    #[default]
    None,
    Row,
}

#[derive(Clone, Debug, Default)]
pub struct Splitter {
    /// The line that has not ended yet.
    partial: String,
    /// Bytes of it that were not kept.
    dropped: usize,
    open: Open,
    /// Something was before, so that the next block has a gap.
    begun: bool,
    done: Vec<Piece>,
}

#[derive(Clone, Debug, Default)]
enum Open {
    #[default]
    Nothing,
    Text(Text),
    Item(Item),
    Code {
        fence: Fence,
        lines: usize,
    },
}

#[derive(Clone, Debug)]
struct Text {
    kind: Kind,
    block: Block,
    /// Lines since the ruler of a table.
    table: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Paragraph,
    Quote,
    Html,
    Indented,
}

#[derive(Clone, Debug)]
struct Item {
    block: Block,
    marker: Marker,
    /// The number it is shown with.
    number: Option<u64>,
    /// Blank lines at its end, which belong to it only if it goes on.
    blanks: usize,
    fence: Option<Fence>,
}

impl Splitter {
    pub fn push(&mut self, delta: &str) {
        for piece in delta.split_inclusive('\n') {
            let (text, ends) = match piece.strip_suffix('\n') {
                Some(text) => (text, true),
                None => (piece, false),
            };
            self.keep(text);
            if ends {
                self.end_line();
            }
        }
    }

    /// No more will come.
    pub fn finish(&mut self) {
        if !self.partial.is_empty() || self.dropped > 0 {
            self.end_line();
        }
        self.close();
    }

    pub fn take(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.done)
    }

    /// Whether all that came is in pieces that were taken.
    pub fn is_empty(&self) -> bool {
        self.partial.is_empty() && self.done.is_empty() && matches!(self.open, Open::Nothing)
    }

    fn keep(&mut self, text: &str) {
        let kept = match self.dropped {
            0 => rows::head(text, MAX_LINE - self.partial.len()),
            _ => "",
        };
        self.partial.push_str(kept);
        self.dropped += text.len() - kept.len();
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.partial);
        match std::mem::take(&mut self.dropped) {
            0 => {
                if line.ends_with('\r') {
                    line.pop();
                }
            }
            dropped => {
                line.push(' ');
                line.push_str(&say::bytes_left_out(dropped));
            }
        }
        self.line(&line);
    }

    fn line(&mut self, line: &str) {
        match std::mem::take(&mut self.open) {
            Open::Nothing => self.fresh(line),
            Open::Text(text) => self.in_text(text, line),
            Open::Item(item) => self.in_item(item, line),
            Open::Code { fence, lines } => self.in_code(fence, lines, line),
        }
    }

    /// A line that continues nothing.
    fn fresh(&mut self, line: &str) {
        if marks::is_blank(line) {
            return;
        }
        if let Some(fence) = marks::fence(line) {
            let (info, gap) = (fence.info.clone(), self.gap());
            self.done.push(Piece::CodeStart { info, gap });
            self.open = Open::Code { fence, lines: 0 };
        } else if marks::is_heading(line) || marks::is_rule(line) {
            let block = self.block(line);
            self.done.push(Piece::Block(block));
        } else if let Some(marker) = marks::marker(line) {
            let gap = self.gap();
            self.open = Open::Item(Item::new(line, marker, marker.number, gap));
        } else {
            let kind = if marks::is_indented_code(line) {
                Kind::Indented
            } else if marks::is_quote(line) {
                Kind::Quote
            } else if marks::is_html(line) {
                Kind::Html
            } else {
                Kind::Paragraph
            };
            let block = self.block(line);
            self.open = Open::Text(Text {
                kind,
                block,
                table: None,
            });
        }
    }

    fn in_text(&mut self, mut text: Text, line: &str) {
        if marks::is_blank(line) {
            self.done.push(Piece::Block(text.block));
        } else if text.kind == Kind::Paragraph && text.table.is_none() && marks::is_underline(line)
        {
            text.block.add(line);
            self.done.push(Piece::Block(text.block));
        } else if text.is_interrupted_by(line) {
            self.done.push(Piece::Block(text.block));
            self.fresh(line);
        } else if text.is_full() {
            let kind = text.kind;
            self.done.push(Piece::Block(text.block));
            self.open = Open::Text(Text {
                kind,
                block: Block::new(line, Gap::None),
                table: None,
            });
        } else {
            text.add(line);
            self.open = Open::Text(text);
        }
    }

    fn in_item(&mut self, mut item: Item, line: &str) {
        if marks::is_blank(line) {
            item.blanks = MAX_BLANKS.min(item.blanks + 1);
            self.open = Open::Item(item);
            return;
        }
        let belongs = marks::indent(line) >= item.marker.content;
        if belongs && item.block.source.len() > MAX_BLOCK {
            self.done.push(Piece::Block(item.block));
            self.open = Open::Text(Text {
                kind: Kind::Paragraph,
                block: Block::new(line.trim_start(), Gap::None),
                table: None,
            });
            return;
        }
        if belongs {
            item.add(line);
            self.open = Open::Item(item);
            return;
        }
        let next = (!marks::is_rule(line))
            .then(|| marks::marker(line))
            .flatten()
            .filter(|next| next.list == item.marker.list);
        if let Some(next) = next {
            let gap = match item.blanks {
                0 => Gap::None,
                _ => Gap::Row,
            };
            let number = item.number.and_then(|n| n.checked_add(1));
            self.done.push(Piece::Block(item.block));
            self.open = Open::Item(Item::new(line, next, number, gap));
        } else if item.blanks > 0 || item.fence.is_some() || starts_a_block(line) {
            self.done.push(Piece::Block(item.block));
            self.fresh(line);
        } else {
            item.block.add(line);
            self.open = Open::Item(item);
        }
    }

    fn in_code(&mut self, fence: Fence, mut lines: usize, line: &str) {
        if fence.is_closed_by(line) {
            self.end_code(lines);
            return;
        }
        lines += 1;
        if lines <= MAX_CODE_LINES {
            self.done
                .push(Piece::CodeLine(fence.strip(line).to_owned()));
        }
        self.open = Open::Code { fence, lines };
    }

    fn end_code(&mut self, lines: usize) {
        let left_out = lines.saturating_sub(MAX_CODE_LINES);
        self.done.push(Piece::CodeEnd { left_out });
    }

    fn close(&mut self) {
        match std::mem::take(&mut self.open) {
            Open::Nothing => {}
            Open::Text(Text { block, .. }) | Open::Item(Item { block, .. }) => {
                self.done.push(Piece::Block(block));
            }
            Open::Code { lines, .. } => self.end_code(lines),
        }
    }

    fn gap(&mut self) -> Gap {
        match std::mem::replace(&mut self.begun, true) {
            true => Gap::Row,
            false => Gap::None,
        }
    }

    fn block(&mut self, line: &str) -> Block {
        let gap = self.gap();
        Block::new(line, gap)
    }
}

/// Whether a line ends a paragraph without a blank line between them.
fn starts_a_block(line: &str) -> bool {
    marks::fence(line).is_some()
        || marks::is_heading(line)
        || marks::is_rule(line)
        || marks::is_quote(line)
        || marks::marker(line).is_some_and(|m| !m.is_empty && matches!(m.number, None | Some(1)))
}

impl Text {
    fn is_interrupted_by(&self, line: &str) -> bool {
        match self.kind {
            Kind::Paragraph => starts_a_block(line),
            Kind::Quote => !marks::is_quote(line) && starts_a_block(line),
            Kind::Html => marks::fence(line).is_some(),
            Kind::Indented => !marks::is_indented_code(line),
        }
    }

    fn is_full(&self) -> bool {
        self.table.is_none() && self.block.source.len() > MAX_BLOCK
    }

    fn add(&mut self, line: &str) {
        self.table = match self.table {
            Some(rows) => Some(rows + 1),
            None if marks::is_table_ruler(line) => Some(0),
            None => None,
        };
        let is_too_much = self
            .table
            .is_some_and(|rows| rows > MAX_TABLE_ROWS || self.block.source.len() > MAX_BLOCK);
        match is_too_much {
            true => self.block.left_out += 1,
            false => self.block.add(line),
        }
    }
}

impl Item {
    fn new(line: &str, marker: Marker, number: Option<u64>, gap: Gap) -> Self {
        let block = Block {
            number,
            ..Block::new(line, gap)
        };
        Self {
            block,
            marker,
            number,
            blanks: 0,
            fence: None,
        }
    }

    fn add(&mut self, line: &str) {
        for _ in 0..std::mem::take(&mut self.blanks) {
            self.block.add("");
        }
        let inner = line.trim_start();
        self.fence = match self.fence.take() {
            Some(fence) => (!fence.is_closed_by(inner)).then_some(fence),
            None => marks::fence(inner),
        };
        self.block.add(line);
    }
}

impl Block {
    fn new(line: &str, gap: Gap) -> Self {
        Self {
            source: line.to_owned(),
            gap,
            number: None,
            left_out: 0,
        }
    }

    fn add(&mut self, line: &str) {
        self.source.push('\n');
        self.source.push_str(line);
    }
}
