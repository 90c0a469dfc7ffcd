//! The end of what a command says while it runs. A carriage return begins its line anew, as on a terminal.

use crate::rows;
use std::collections::VecDeque;

const MAX_LINES: usize = 50;
const MAX_LINE: usize = 2 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    lines: VecDeque<String>,
    partial: String,
    /// Lines that ended, kept or not.
    total: usize,
    /// A carriage return came last: what follows overwrites the line.
    returned: bool,
}

impl Tail {
    pub fn push(&mut self, chunk: &str) {
        for piece in chunk.split_inclusive(['\n', '\r']) {
            let (text, end) = match (piece.strip_suffix('\n'), piece.strip_suffix('\r')) {
                (Some(text), _) => (text, Some('\n')),
                (None, Some(text)) => (text, Some('\r')),
                (None, None) => (piece, None),
            };
            if !text.is_empty() && std::mem::take(&mut self.returned) {
                self.partial.clear();
            }
            let room = MAX_LINE.saturating_sub(self.partial.len());
            self.partial.push_str(rows::head(text, room));
            match end {
                Some('\n') => self.end_line(),
                Some(_) => self.returned = true,
                None => {}
            }
        }
    }

    /// How many lines are before the last `count`, and those.
    pub fn last(&self, count: usize) -> (usize, impl Iterator<Item = &str>) {
        let open = (!self.partial.is_empty()).then_some(self.partial.as_str());
        let kept = self.lines.len() + usize::from(open.is_some());
        let all = self.total + usize::from(open.is_some());
        let shown = count.min(kept);
        let lines = self.lines.iter().map(String::as_str).chain(open);
        (all - shown, lines.skip(kept - shown))
    }

    fn end_line(&mut self) {
        self.returned = false;
        self.total += 1;
        self.lines.push_back(std::mem::take(&mut self.partial));
        if self.lines.len() > MAX_LINES {
            self.lines.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept() {
        let check = |chunks: &[&str], expect: (usize, &[&str])| {
            let mut tail = Tail::default();
            chunks.iter().for_each(|chunk| tail.push(chunk));
            let (hidden, lines) = tail.last(3);
            let lines: Vec<&str> = lines.collect();
            assert_eq!((hidden, lines.as_slice()), expect, "{chunks:?}");
        };
        check(&["a\nb", "c\n"], (0, &["a", "bc"]));
        check(&["1\n2\n3\n4\n5"], (2, &["3", "4", "5"]));
        check(&["10%\r20%\r", "30%"], (0, &["30%"]));
        check(&["a\r", "\nb\r\n"], (0, &["a", "b"]));
        check(&[&"x\n".repeat(1_000)], (997, &["x", "x", "x"]));
        check(&[], (0, &[]));
        let mut tail = Tail::default();
        tail.push(&"é".repeat(5_000_000));
        assert_eq!(tail.last(1).1.map(str::len).sum::<usize>(), MAX_LINE);
    }
}
