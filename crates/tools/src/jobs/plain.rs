//! What a terminal would show, as plain text: escape sequences and control characters out, line ends made `\n`, a jump of
//! the cursor to another place a new line. It keeps no screen, so what a program overwrites stays.

/// Feeds on pieces; a sequence may be split between them.
#[derive(Default)]
pub struct Plain {
    state: State,
    /// Something stands on the current line.
    begun: bool,
}

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Text,
    /// A carriage return whose line feed may follow.
    Return,
    Escape,
    /// After `ESC (` and the like: one more byte.
    Charset,
    /// `ESC [`, up to a final byte.
    Control,
    /// `ESC ]` and other strings, up to BEL or `ESC \`.
    Text8,
    TextEscape,
}

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;

impl Plain {
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            self.state = self.step(byte, &mut out);
            if let Some(last) = out.last() {
                self.begun = *last != b'\n';
            }
        }
        out
    }

    fn step(&self, byte: u8, out: &mut Vec<u8>) -> State {
        match self.state {
            State::Text => text(byte, out),
            State::Return => {
                if byte == b'\r' {
                    return State::Return;
                }
                if byte != b'\n' {
                    out.push(b'\n');
                }
                text(byte, out)
            }
            State::Escape => match byte {
                b'[' => State::Control,
                b']' | b'P' | b'X' | b'^' | b'_' => State::Text8,
                b'(' | b')' | b'*' | b'+' | b'#' | b'%' | b' ' => State::Charset,
                ESC => State::Escape,
                0..=0x7f => State::Text,
                // No escape sequence goes on like this.
                0x80..=0xff => text(byte, out),
            },
            State::Charset => State::Text,
            State::Control => match byte {
                // To a position, a row, a line further down.
                b'H' | b'f' | b'd' | b'B' | b'E' => {
                    if self.begun {
                        out.push(b'\n');
                    }
                    State::Text
                }
                // Over blanks that were never written.
                b'C' => {
                    out.push(b' ');
                    State::Text
                }
                0x40..=0x7e => State::Text,
                ESC => State::Escape,
                // A line end inside means that it was no sequence.
                b'\n' => text(byte, out),
                0..=0x3f | 0x7f..=0xff => State::Control,
            },
            State::Text8 => match byte {
                BEL => State::Text,
                ESC => State::TextEscape,
                b'\n' => text(byte, out),
                0..=0xff => State::Text8,
            },
            State::TextEscape => match byte {
                b'\\' => State::Text,
                0..=0xff => State::Text8,
            },
        }
    }
}

fn text(byte: u8, out: &mut Vec<u8>) -> State {
    match byte {
        ESC => State::Escape,
        b'\r' => State::Return,
        b'\n' | b'\t' => {
            out.push(byte);
            State::Text
        }
        0..=0x1f | 0x7f => State::Text,
        0x20..=0x7e | 0x80..=0xff => {
            out.push(byte);
            State::Text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_person_reads_is_left() {
        for (raw, plain) in [
            ("a\tb\r\n", "a\tb\n"),
            ("\x1b[1;31mred\x1b[0m", "red"),
            ("\x1b]0;title\x07$ ", "$ "),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1bPq#0\x1b\\x", "x"),
            ("\x1b(B\x1b=\x1b>ok", "ok"),
            ("\x1b[?2004h>>> ", ">>> "),
            ("10%\r20%\r\r\n", "10%\n20%\n"),
            ("bell\x07 nul\0 back\x08\x7f", "bell nul back"),
            ("ž 日本", "ž 日本"),
            ("\x1b[12\nnext", "\nnext"),
            (
                "\x1b[2J\x1b[1;1Hone\x1b[2;1Htwo\x1b[3H\x1b[4dx",
                "one\ntwo\nx",
            ),
            ("name\x1b[5Csize", "name size"),
            ("end\r", "end"),
            ("\x1b\x1b[mx", "x"),
            ("\x1bž", "ž"),
        ] {
            let whole = Plain::default().feed(raw.as_bytes());
            assert_eq!(String::from_utf8_lossy(&whole), plain, "{raw:?}");
            let mut one_by_one = Plain::default();
            let pieces: Vec<u8> = raw.bytes().flat_map(|b| one_by_one.feed(&[b])).collect();
            assert_eq!(pieces, whole, "{raw:?} in pieces");
        }
    }
}
