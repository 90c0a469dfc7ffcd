//! From the bytes that a terminal sends to input: keys in the old, the xterm and the kitty form, marked pastes, focus.
//! Whatever is split between two reads is put together; what is not known is dropped. Pure.

use crate::key::{Code, Input, Key};

/// Longest paste that is taken in; the rest is dropped, and the composer says that it was too much.
const MAX_PASTE: usize = 64 << 20;
/// Longest sequence that can be a key.
const MAX_SEQUENCE: usize = 64;
/// Bytes of a click that follow `ESC [ M`.
const OLD_CLICK: usize = 3;
const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

#[derive(Debug, Default)]
pub struct Parser {
    rest: Vec<u8>,
    paste: Option<Vec<u8>>,
}

/// What stands at the start of the bytes.
enum Found {
    /// So many bytes, and what they mean.
    Input(usize, Option<Input>),
    /// A paste begins behind so many bytes.
    Paste(usize),
    More,
}

impl Parser {
    /// Inputs that are whole now.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Input> {
        let mut out = Vec::new();
        if self.paste.is_some() {
            self.pasted(bytes, &mut out);
        } else {
            self.rest.extend_from_slice(bytes);
        }
        self.parse(&mut out);
        out
    }

    /// Whether an Esc may be the key or the start of something longer.
    pub fn is_waiting(&self) -> bool {
        self.paste.is_none() && !self.rest.is_empty()
    }

    /// Nothing more came: what looked like a beginning was all of it.
    pub fn flush(&mut self) -> Vec<Input> {
        let rest = std::mem::take(&mut self.rest);
        match rest.as_slice() {
            [0x1b] => vec![plain(Code::Esc)],
            [0x1b, b'['] => vec![alt(Code::Char('['))],
            [0x1b, b'O'] => vec![alt(Code::Char('O'))],
            _ => Vec::new(),
        }
    }

    fn parse(&mut self, out: &mut Vec<Input>) {
        let mut at = 0;
        while let Some(bytes) = self.rest.get(at..).filter(|bytes| !bytes.is_empty()) {
            match first(bytes) {
                Found::Input(len, input) => {
                    out.extend(input);
                    at += len.max(1);
                }
                Found::Paste(len) => {
                    let behind = self.rest.split_off((at + len).min(self.rest.len()));
                    self.rest.clear();
                    self.paste = Some(Vec::new());
                    self.pasted(&behind, out);
                    at = 0;
                }
                Found::More => break,
            }
        }
        self.rest.drain(..at.min(self.rest.len()));
    }

    /// More of a paste, and maybe its end.
    fn pasted(&mut self, bytes: &[u8], out: &mut Vec<Input>) {
        let Some(paste) = &mut self.paste else { return };
        // The mark of the end may have begun in the bytes before.
        let from = paste.len().saturating_sub(PASTE_ENDS.len() - 1);
        paste.extend_from_slice(bytes);
        let end = paste
            .get(from..)
            .and_then(|new| new.windows(PASTE_ENDS.len()).position(|w| w == PASTE_ENDS));
        let Some(end) = end.map(|end| from + end) else {
            if paste.len() > MAX_PASTE {
                let kept = paste.split_off(paste.len() - PASTE_ENDS.len());
                paste.truncate(MAX_PASTE - kept.len());
                paste.extend(kept);
            }
            return;
        };
        self.rest = paste.split_off(end + PASTE_ENDS.len());
        paste.truncate(end);
        let text = String::from_utf8_lossy(paste);
        // Terminals send the key Enter for the end of a line.
        let text = match text.contains('\r') {
            true => text.replace("\r\n", "\n").replace('\r', "\n"),
            false => text.into_owned(),
        };
        self.paste = None;
        out.push(Input::Paste(text));
    }
}

fn plain(code: Code) -> Input {
    Input::Key(Key::plain(code))
}

fn alt(code: Code) -> Input {
    Input::Key(Key {
        alt: true,
        ..Key::plain(code)
    })
}

fn first(bytes: &[u8]) -> Found {
    match bytes {
        [0x1b] => Found::More,
        [0x1b, 0x1b, ..] => Found::Input(1, Some(plain(Code::Esc))),
        [0x1b, b'[', ..] => sequence(bytes),
        [0x1b, b'O', rest @ ..] => match rest.first() {
            None => Found::More,
            Some(last) => Found::Input(3, letter_key(*last).map(plain)),
        },
        [0x1b, rest @ ..] => match character(rest) {
            Found::Input(len, Some(Input::Key(key))) => {
                Found::Input(len + 1, Some(Input::Key(Key { alt: true, ..key })))
            }
            Found::Input(len, _) => Found::Input(len + 1, None),
            Found::Paste(_) | Found::More => Found::More,
        },
        bytes => character(bytes),
    }
}

fn character(bytes: &[u8]) -> Found {
    let Some(byte) = bytes.first().copied() else {
        return Found::More;
    };
    let ctrl = |c: u8| Input::Key(Key::ctrl(char::from(c)));
    let one = |input| Found::Input(1, Some(input));
    match byte {
        b'\r' => one(plain(Code::Enter)),
        b'\t' => one(plain(Code::Tab)),
        0x7f => one(plain(Code::Backspace)),
        0 => one(ctrl(b' ')),
        0x01..=0x1a => one(ctrl(byte - 1 + b'a')),
        // As everybody reads them: `ctrl-4` to `ctrl-7`.
        0x1b..=0x1f => one(ctrl(byte - 0x1c + b'4')),
        0x20..=0x7e => one(plain(Code::Char(char::from(byte)))),
        0x80..=0xff => {
            let len = match byte {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => return Found::Input(1, None),
            };
            let Some(bytes) = bytes.get(..len) else {
                return Found::More;
            };
            match std::str::from_utf8(bytes).map(|text| text.chars().next()) {
                Ok(c) => Found::Input(len, c.map(|c| plain(Code::Char(c)))),
                Err(_) => Found::Input(1, None),
            }
        }
    }
}

/// `ESC [ parameters final`
fn sequence(bytes: &[u8]) -> Found {
    if bytes.starts_with(PASTE_BEGINS) {
        return Found::Paste(PASTE_BEGINS.len());
    }
    let body = bytes.get(2..).unwrap_or_default();
    // The keys F1 to F5 of the Linux console: `ESC [ [ A`.
    if let [b'[', rest @ ..] = body {
        return match rest.first() {
            None => Found::More,
            Some(letter) => {
                let number = letter.wrapping_sub(b'A').wrapping_add(1);
                Found::Input(4, (1..=5).contains(&number).then(|| plain(Code::F(number))))
            }
        };
    }
    // A click as old terminals tell it: three bytes follow, whatever they are.
    if body.first() == Some(&b'M') {
        return match body.len() > OLD_CLICK {
            true => Found::Input(2 + 1 + OLD_CLICK, None),
            false => Found::More,
        };
    }
    let Some(end) = body.iter().position(|b| (0x40..=0x7e).contains(b)) else {
        return match body.len() > MAX_SEQUENCE {
            true => Found::Input(bytes.len(), None),
            false => Found::More,
        };
    };
    let (parameters, last) = (body.get(..end).unwrap_or_default(), body.get(end));
    let input = last.and_then(|last| meaning(parameters, *last));
    Found::Input(2 + end + 1, input)
}

fn meaning(parameters: &[u8], last: u8) -> Option<Input> {
    let text = std::str::from_utf8(parameters).ok()?;
    // Answers of the terminal and its mouse, which nobody asked for.
    if text.starts_with(['<', '=', '>', '?']) {
        return None;
    }
    let parts: Vec<Vec<u32>> = text
        .split(';')
        .map(|part| part.split(':').map(|n| n.parse().unwrap_or(0)).collect())
        .collect();
    let number = |part: usize, sub: usize| parts.get(part).and_then(|p| p.get(sub)).copied();
    let modified = |code: Code, part: usize| {
        let key = with(code, number(part, 0).unwrap_or(1));
        Some(match number(part, 1) {
            Some(2) => Input::Repeat(key),
            Some(3) => Input::Release(key),
            Some(_) | None => Input::Key(key),
        })
    };
    match last {
        b'I' if text.is_empty() => Some(Input::FocusGained),
        b'O' if text.is_empty() => Some(Input::FocusLost),
        b'Z' => Some(Input::Key(with(Code::Tab, 2))),
        b'~' => match number(0, 0)? {
            // xterm's form of any key with modifiers.
            27 => modified(code_of(number(2, 0)?)?, 1),
            n => modified(numbered_key(n)?, 1),
        },
        b'u' => modified(code_of(number(0, 0)?)?, 1),
        // The Enter of the keypad is `ESC O M`; this is another form of a click.
        b'M' => None,
        last if text.is_empty() || number(0, 0) == Some(1) => modified(letter_key(last)?, 1),
        _ => None,
    }
}

/// A key with the modifiers that terminals count from one.
fn with(code: Code, modifiers: u32) -> Key {
    let bits = modifiers.saturating_sub(1);
    let (shift, alt, ctrl) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
    let (code, shift) = match code {
        // The letter says it.
        Code::Char(c) if shift && !ctrl => {
            (Code::Char(c.to_uppercase().next().unwrap_or(c)), false)
        }
        Code::Char(c) => (Code::Char(c), false),
        code => (code, shift),
    };
    Key {
        code,
        ctrl,
        alt,
        shift,
    }
}

fn letter_key(last: u8) -> Option<Code> {
    Some(match last {
        b'A' => Code::Up,
        b'B' => Code::Down,
        b'C' => Code::Right,
        b'D' => Code::Left,
        b'H' => Code::Home,
        b'F' => Code::End,
        b'M' => Code::Enter,
        b'P' => Code::F(1),
        b'Q' => Code::F(2),
        b'R' => Code::F(3),
        b'S' => Code::F(4),
        _ => return None,
    })
}

fn numbered_key(number: u32) -> Option<Code> {
    Some(match number {
        1 | 7 => Code::Home,
        2 => Code::Insert,
        3 => Code::Delete,
        4 | 8 => Code::End,
        5 => Code::PageUp,
        6 => Code::PageDown,
        11..=15 => Code::F(u8::try_from(number - 10).ok()?),
        17..=21 => Code::F(u8::try_from(number - 11).ok()?),
        23 | 24 => Code::F(u8::try_from(number - 12).ok()?),
        _ => return None,
    })
}

/// By the number of its character, as kitty counts keys.
fn code_of(number: u32) -> Option<Code> {
    Some(match number {
        9 => Code::Tab,
        13 | 57_414 => Code::Enter,
        27 => Code::Esc,
        8 | 127 => Code::Backspace,
        57_399..=57_408 => Code::Char(char::from_digit(number - 57_399, 10)?),
        57_409 => Code::Char('.'),
        57_410 => Code::Char('/'),
        57_411 => Code::Char('*'),
        57_412 => Code::Char('-'),
        57_413 => Code::Char('+'),
        57_415 => Code::Char('='),
        57_417 => Code::Left,
        57_418 => Code::Right,
        57_419 => Code::Up,
        57_420 => Code::Down,
        57_421 => Code::PageUp,
        57_422 => Code::PageDown,
        57_423 => Code::Home,
        57_424 => Code::End,
        57_425 => Code::Insert,
        57_426 => Code::Delete,
        // Other keys of no meaning here, in the private area.
        57_344..=63_743 => return None,
        number => Code::Char(char::from_u32(number).filter(|c| !c.is_control())?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(inputs: &[Input]) -> String {
        let one = |input: &Input| match input {
            Input::Key(key) => key.name(),
            Input::Repeat(key) => format!("repeat({})", key.name()),
            Input::Release(key) => format!("release({})", key.name()),
            Input::Paste(text) => format!("paste({text})"),
            Input::FocusGained => "focus".into(),
            Input::FocusLost => "blur".into(),
            Input::Resize { .. } => "resize".into(),
        };
        inputs.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn bytes_are_keys() {
        for (bytes, expect) in [
            ("a", "a"),
            ("aé中👍", "a é 中 👍"),
            ("\r\n\t\x7f\x08", "enter ctrl-j tab backspace ctrl-h"),
            ("\x01\x1a\x1f\0", "ctrl-a ctrl-z ctrl-7 ctrl-space"),
            (
                "\x1b[A\x1b[B\x1b[C\x1b[D\x1bOA\x1bOP",
                "up down right left up f1",
            ),
            (
                "\x1b[H\x1b[4~\x1b[3~\x1b[5~\x1b[15~\x1b[24~",
                "home end delete pageup f5 f12",
            ),
            (
                "\x1b[1;5D\x1b[1;3C\x1b[3;5~",
                "ctrl-left alt-right ctrl-delete",
            ),
            ("\x1b[Z", "shift-tab"),
            (
                "\x1bb\x1b\x7f\x1b\r\x1b<",
                "alt-b alt-backspace alt-enter alt-<",
            ),
            ("\x1b[13;2u\x1b[27;2;13~", "shift-enter shift-enter"),
            (
                "\x1b[99;5u\x1b[27u\x1b[97;2u\x1b[97;3:3u",
                "ctrl-c esc A release(alt-a)",
            ),
            (
                "\x1b[97;1:1u\x1b[97;1:2u\x1b[1;1:2B\x1b[1;1:3B",
                "a repeat(a) repeat(down) release(down)",
            ),
            ("\x1b[57399u\x1b[57414u\x1b[57441;2u", "0 enter"),
            ("\x1b[I\x1b[O", "focus blur"),
            ("\x1b\x1b", "esc esc"),
            ("\x1b", "esc"),
            ("\x1b[<0;3;4M\x1b[12;40R\x1b[?62;c", ""),
            // Clicks, none of which is a key.
            ("\x1b[M yya\x1b[32;1;1Ma\x1b[1;1;1M", "a a"),
            ("\x1bOM", "enter"),
            (
                "\x1b[200~one\rtwo\r\nthree\x1b[201~x",
                "paste(one\ntwo\nthree) x",
            ),
            ("\x1b[200~\x1b[A\x1b[201~", "paste(\x1b[A)"),
            ("\x1b[200~\x1b[201~\x1b[200~b\x1b[201~", "paste() paste(b)"),
        ] {
            // In one piece, and byte by byte.
            let mut parser = Parser::default();
            let mut whole = parser.feed(bytes.as_bytes());
            whole.extend(parser.flush());
            assert_eq!(shown(&whole), expect, "{bytes:?}");
            let mut parser = Parser::default();
            let mut split: Vec<Input> = bytes.bytes().flat_map(|b| parser.feed(&[b])).collect();
            split.extend(parser.flush());
            assert_eq!(shown(&split), expect, "{bytes:?} split");
        }
    }

    #[test]
    fn broken_bytes_are_dropped() {
        let mut parser = Parser::default();
        assert_eq!(shown(&parser.feed(b"a\xff\xc3(b")), "a ( b");
        let long = [b"\x1b[".as_slice(), &[b'1'; 100], b"x"].concat();
        assert_eq!(shown(&parser.feed(&long)), "");
        assert_eq!(shown(&parser.feed(b"x")), "x");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), cut in 0_usize..200) {
            let cut = cut.min(bytes.len());
            let mut parser = Parser::default();
            parser.feed(&bytes[..cut]);
            parser.feed(&bytes[cut..]);
            parser.flush();
        }
    }
}
