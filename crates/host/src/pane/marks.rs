//! Finds where a command begins and ends in what a pane shows: escape sequences that no screen shows, with a word that
//! only this command has. Pure.

use bytes::Bytes;

/// A sequence that terminals skip.
const START: &str = "\x1b]7717;";
const STOP: u8 = 0x07;
/// Bytes after the word that a mark may have: what it says, and a number.
const MAX_REST: usize = 24;

/// What a pane shows, piece by piece.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    Text(Bytes),
    /// The command begins as the process with this number.
    Begin(i32),
    /// It ended with this code.
    End(i32),
}

pub struct Marks {
    start: Vec<u8>,
    /// What may be the beginning of a mark.
    held: Vec<u8>,
}

impl Marks {
    /// For the marks with this word.
    pub fn new(word: &str) -> Self {
        Self {
            start: format!("{START}{word};").into_bytes(),
            held: Vec::new(),
        }
    }

    /// What `printf` prints as such a mark; `{}` is what it says.
    pub fn format(word: &str, says: &str) -> String {
        format!("\\033]7717;{word};{says}\\007")
    }

    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Piece> {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let mut pieces = Vec::new();
        let mut rest = all.as_slice();
        loop {
            let found = memchr::memmem::find(rest, &self.start);
            let Some(at) = found else {
                let keep = self.partial(rest);
                let (text, held) = rest.split_at(rest.len() - keep);
                push_text(&mut pieces, text);
                self.held = held.to_vec();
                return pieces;
            };
            let (text, mark) = rest.split_at(at);
            push_text(&mut pieces, text);
            let says = mark.get(self.start.len()..).unwrap_or_default();
            let end = says.iter().take(MAX_REST).position(|byte| *byte == STOP);
            match end {
                Some(end) => {
                    let (says, after) = says.split_at(end);
                    pieces.extend(read(says));
                    rest = after.get(1..).unwrap_or_default();
                }
                None if says.len() >= MAX_REST => {
                    // It is none.
                    push_text(&mut pieces, &self.start);
                    rest = says;
                }
                None => {
                    self.held = mark.to_vec();
                    return pieces;
                }
            }
        }
    }

    /// How many of the last bytes are the beginning of a mark.
    fn partial(&self, bytes: &[u8]) -> usize {
        let most = bytes.len().min(self.start.len() - 1);
        let is_beginning =
            |count: &usize| bytes.ends_with(self.start.get(..*count).unwrap_or_default());
        (1..=most).rev().find(is_beginning).unwrap_or(0)
    }
}

fn push_text(pieces: &mut Vec<Piece>, text: &[u8]) {
    if !text.is_empty() {
        pieces.push(Piece::Text(Bytes::copy_from_slice(text)));
    }
}

fn read(says: &[u8]) -> Option<Piece> {
    let (what, number) = std::str::from_utf8(says).ok()?.split_once(';')?;
    let number = number.parse().ok()?;
    match what {
        "begin" => Some(Piece::Begin(number)),
        "end" => Some(Piece::End(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces with texts joined, so that where they were cut makes no difference.
    fn joined(pieces: Vec<Piece>) -> String {
        let mut shown = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => shown.push_str(&String::from_utf8_lossy(&text)),
                Piece::Begin(pid) => shown.push_str(&format!("<{pid}>")),
                Piece::End(code) => shown.push_str(&format!("<end {code}>")),
            }
        }
        shown
    }

    #[test]
    fn marks_are_found_wherever_the_bytes_are_cut() {
        for (bytes, expect) in [
            ("plain\x1b[1mbold", "plain\x1b[1mbold"),
            (
                "$ sh x\r\n\x1b]7717;w;begin;42\x07out\x1b]7717;w;end;3\x07$ ",
                "$ sh x\r\n<42>out<end 3>$ ",
            ),
            // Those of another command are text.
            ("\x1b]7717;other;end;0\x07x", "\x1b]7717;other;end;0\x07x"),
            // What looks like one and is none is nothing.
            ("\x1b]7717;w;and so on and on and on\x07", ""),
            ("a\x1b]7717;w;end;x\x07b", "ab"),
            ("\x1b\x1b]7717;w;end;255\x07", "\x1b<end 255>"),
        ] {
            let whole = Marks::new("w").feed(bytes.as_bytes());
            assert_eq!(joined(whole), expect, "{bytes:?}");
            let mut marks = Marks::new("w");
            let pieces = bytes.bytes().flat_map(|byte| marks.feed(&[byte])).collect();
            assert_eq!(joined(pieces), expect, "{bytes:?} in pieces");
        }
    }
}
