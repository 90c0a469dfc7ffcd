//! Bytes into lines. Of a line without end only so much is kept.

use std::collections::VecDeque;

/// Bytes of one line; events with the contents of files are long.
const MAX_LINE: usize = 8 << 20;

#[derive(Default)]
pub struct Lines {
    /// The beginning of the next one.
    partial: Vec<u8>,
    is_too_long: bool,
    ready: VecDeque<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Text(String),
    /// It was longer than a line may be.
    TooLong,
}

impl Lines {
    pub fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_end = piece.ends_with(b"\n");
            let body = piece.strip_suffix(b"\n").unwrap_or(piece);
            if self.partial.len() + body.len() > MAX_LINE {
                self.is_too_long = true;
                self.partial = Vec::new();
            }
            if !self.is_too_long {
                self.partial.extend_from_slice(body);
            }
            if is_end {
                let line = self.take();
                self.ready.push_back(line);
            }
        }
    }

    fn take(&mut self) -> Line {
        let bytes = std::mem::take(&mut self.partial);
        match std::mem::take(&mut self.is_too_long) {
            true => Line::TooLong,
            false => Line::Text(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// The next whole line.
    pub fn next(&mut self) -> Option<Line> {
        self.ready.pop_front()
    }

    /// What stands after the last line break.
    pub fn rest(&mut self) -> Option<Line> {
        let is_something = self.is_too_long || !self.partial.is_empty();
        is_something.then(|| self.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_however_they_come() {
        let all = |pieces: &[&[u8]]| {
            let mut lines = Lines::default();
            let mut out = Vec::new();
            for piece in pieces {
                lines.push(piece);
                while let Some(line) = lines.next() {
                    out.push(line);
                }
            }
            out.extend(lines.rest());
            out
        };
        let text = |text: &str| Line::Text(text.to_owned());
        assert_eq!(
            all(&[b"a\nb\r\n", b"c"]),
            [text("a"), text("b\r"), text("c")]
        );
        assert_eq!(all(&[b"sp", b"lit\n\n"]), [text("split"), text("")]);
        assert_eq!(all(&[b"\xff\n"]), [text("\u{fffd}")]);
        let long = vec![b'x'; MAX_LINE / 2 + 1];
        assert_eq!(
            all(&[&long, &long, b"y\nnext\n"]),
            [Line::TooLong, text("next")]
        );
    }
}
