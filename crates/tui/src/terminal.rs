//! The terminal itself: raw mode on and off, keys in, bytes out. The only file that knows the library behind it.

use crate::key::{Code, Input, Key};
use crossterm::event::{Event, EventStream, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::terminal;
use futures_util::{Stream, StreamExt};
use std::io::{self, Write};

/// Pastes are marked, a change of focus is told, and Shift-Enter can be told from Enter; who does not know a code ignores
/// it. The title is put aside.
const ENTER: &str = "\x1b[22;2t\x1b[?2004h\x1b[?1004h\x1b[>1u";
const LEAVE: &str = "\x1b[<u\x1b[?1004l\x1b[?2004l\x1b[23;2t";

/// Bytes that put a terminal right whatever was going on: for a watchdog or a panic.
pub const RESET: &str =
    "\x1b[?2026l\x1b[<u\x1b[?1004l\x1b[?2004l\x1b[?1049l\x1b[?7h\x1b[?25h\x1b[0m\x1b[23;2t\r\n";

/// Raw mode, until left.
pub struct Raw {
    active: bool,
}

impl Raw {
    pub fn enter(out: &mut impl Write) -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        out.write_all(ENTER.as_bytes())?;
        out.flush()?;
        Ok(Self { active: true })
    }

    pub fn leave(&mut self, out: &mut impl Write) -> io::Result<()> {
        if std::mem::take(&mut self.active) {
            out.write_all(LEAVE.as_bytes())?;
            out.flush()?;
            terminal::disable_raw_mode()?;
        }
        Ok(())
    }
}

/// Raw mode off, whoever turned it on.
pub fn cook() -> io::Result<()> {
    terminal::disable_raw_mode()
}

pub fn size() -> (u16, u16) {
    terminal::size().unwrap_or((80, 24))
}

/// What is typed, as long as the terminal is there.
pub fn inputs() -> impl Stream<Item = io::Result<Input>> + Unpin {
    EventStream::new().filter_map(|event| std::future::ready(event.map(translate).transpose()))
}

fn translate(event: Event) -> Option<Input> {
    Some(match event {
        Event::Key(key) => {
            if key.kind == KeyEventKind::Release {
                return None;
            }
            Input::Key(translate_key(key.code, key.modifiers)?)
        }
        Event::Paste(text) => Input::Paste(text),
        Event::Resize(columns, rows) => Input::Resize { columns, rows },
        Event::FocusGained => Input::FocusGained,
        Event::FocusLost => Input::FocusLost,
        Event::Mouse(_) => return None,
    })
}

fn translate_key(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
    let mut shift = modifiers.contains(KeyModifiers::SHIFT);
    let code = match code {
        KeyCode::Char(c) => {
            shift = false;
            Code::Char(c)
        }
        KeyCode::BackTab => {
            shift = true;
            Code::Tab
        }
        KeyCode::Enter => Code::Enter,
        KeyCode::Tab => Code::Tab,
        KeyCode::Backspace => Code::Backspace,
        KeyCode::Delete => Code::Delete,
        KeyCode::Esc => Code::Esc,
        KeyCode::Up => Code::Up,
        KeyCode::Down => Code::Down,
        KeyCode::Left => Code::Left,
        KeyCode::Right => Code::Right,
        KeyCode::Home => Code::Home,
        KeyCode::End => Code::End,
        KeyCode::PageUp => Code::PageUp,
        KeyCode::PageDown => Code::PageDown,
        KeyCode::Insert => Code::Insert,
        KeyCode::F(n) => Code::F(n),
        _ => return None,
    };
    Some(Key {
        code,
        ctrl: modifiers.contains(KeyModifiers::CONTROL),
        alt: modifiers.contains(KeyModifiers::ALT),
        shift,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_one_form() {
        let name = |code, modifiers| translate_key(code, modifiers).map(|k| k.name());
        for (code, modifiers, expect) in [
            (KeyCode::BackTab, KeyModifiers::SHIFT, Some("shift-tab")),
            (KeyCode::Char('A'), KeyModifiers::SHIFT, Some("A")),
            (KeyCode::Char('r'), KeyModifiers::CONTROL, Some("ctrl-r")),
            (KeyCode::Enter, KeyModifiers::SHIFT, Some("shift-enter")),
            (KeyCode::CapsLock, KeyModifiers::NONE, None),
        ] {
            assert_eq!(name(code, modifiers).as_deref(), expect);
        }
    }
}
