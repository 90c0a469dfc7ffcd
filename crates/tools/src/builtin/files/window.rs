//! The lines of a file that were asked for, taken from a stream of its bytes: memory stays near the cap however long
//! the file or one of its lines is. Pure.

use crate::cut::char_end;

/// Which lines to take.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The first line, from 1.
    pub first: u64,
    pub max_lines: u64,
    pub max_bytes: usize,
}

pub struct Window {
    wanted: Wanted,
    /// The line the next byte belongs to, from 1.
    line: u64,
    state: State,
    taken: Vec<u8>,
    /// Where the last line of `taken` starts.
    line_start: usize,
    last_byte: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Taking,
    /// All that was asked for is there.
    Enough,
    /// The cap was met.
    Full,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    pub bytes: Vec<u8>,
    /// The cap left out some of what was asked for.
    pub truncated: bool,
    /// Lines of everything that was fed.
    pub lines: u64,
}

impl Window {
    pub fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            line: 1,
            state: if wanted.max_lines == 0 {
                State::Enough
            } else {
                State::Taking
            },
            taken: Vec::new(),
            line_start: 0,
            last_byte: None,
        }
    }

    pub fn feed(&mut self, mut bytes: &[u8]) {
        self.last_byte = bytes.last().copied().or(self.last_byte);
        while !bytes.is_empty() && self.state == State::Taking {
            let end = memchr::memchr(b'\n', bytes).map(|at| at + 1);
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.line >= self.wanted.first {
                self.take(part);
            }
            if end.is_some() {
                self.end_line();
            }
            bytes = rest;
        }
        self.line += memchr::memchr_iter(b'\n', bytes).count() as u64;
    }

    /// Nothing that follows can change the bytes taken.
    pub fn is_settled(&self) -> bool {
        self.state != State::Taking
    }

    pub fn finish(self) -> View {
        let unfinished = self.last_byte.is_some_and(|b| b != b'\n');
        View {
            bytes: self.taken,
            truncated: self.state == State::Full,
            lines: self.line - 1 + u64::from(unfinished),
        }
    }

    fn take(&mut self, part: &[u8]) {
        let room = self.wanted.max_bytes - self.taken.len();
        if part.len() <= room {
            self.taken.extend_from_slice(part);
            return;
        }
        self.state = State::Full;
        if self.line_start > 0 {
            self.taken.truncate(self.line_start);
            return;
        }
        // Not even one line fits: its beginning is better than nothing.
        self.taken
            .extend_from_slice(part.get(..room).unwrap_or_default());
        self.taken.truncate(char_end(&self.taken));
    }

    fn end_line(&mut self) {
        self.line += 1;
        self.line_start = self.taken.len();
        if self.state == State::Taking
            && self.line - self.wanted.first.min(self.line) >= self.wanted.max_lines
        {
            self.state = State::Enough;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(
        text: &str,
        first: u64,
        max_lines: u64,
        max_bytes: usize,
        piece: usize,
    ) -> (String, bool, u64) {
        let mut window = Window::new(Wanted {
            first,
            max_lines,
            max_bytes,
        });
        text.as_bytes()
            .chunks(piece)
            .for_each(|chunk| window.feed(chunk));
        let View {
            bytes,
            truncated,
            lines,
        } = window.finish();
        (String::from_utf8(bytes).unwrap(), truncated, lines)
    }

    #[test]
    fn lines_are_taken_whatever_the_pieces() {
        const ALL: u64 = u64::MAX;
        for (text, first, max_lines, max_bytes, expect) in [
            ("a\nb\nc\n", 1, ALL, 100, ("a\nb\nc\n", false, 3)),
            ("a\nb\nc", 2, 1, 100, ("b\n", false, 3)),
            ("a\nb\nc", 3, 1, 100, ("c", false, 3)),
            ("a\nb\nc", 2, ALL, 100, ("b\nc", false, 3)),
            ("a\nb\nc", 9, ALL, 100, ("", false, 3)),
            ("a\nb\nc", 1, 0, 100, ("", false, 3)),
            ("", 1, ALL, 100, ("", false, 0)),
            ("\n", 1, ALL, 100, ("\n", false, 1)),
            // The cap falls between lines, but for a line that alone is longer.
            ("aa\nbb\ncc\n", 1, ALL, 6, ("aa\nbb\n", true, 3)),
            ("aa\nbb\ncc\n", 1, ALL, 8, ("aa\nbb\n", true, 3)),
            ("aa\nbb\ncc\n", 1, ALL, 9, ("aa\nbb\ncc\n", false, 3)),
            ("aa\nbb\ncc\n", 1, 2, 6, ("aa\nbb\n", false, 3)),
            ("aa\nbb\ncc", 2, ALL, 5, ("bb\ncc", false, 3)),
            ("aaaaaaaa\nb\n", 1, ALL, 4, ("aaaa", true, 2)),
            ("b\naaaaaaaa\n", 2, ALL, 4, ("aaaa", true, 2)),
            ("a\u{20AC}\u{20AC}\n", 1, ALL, 6, ("a\u{20AC}", true, 1)),
        ] {
            for piece in [1, 2, 3, 100] {
                let (content, truncated, lines) = expect;
                let expect = (content.to_owned(), truncated, lines);
                assert_eq!(
                    view(text, first, max_lines, max_bytes, piece),
                    expect,
                    "{text:?} by {piece}"
                );
            }
        }
    }
}
