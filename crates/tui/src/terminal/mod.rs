//! The terminal itself: raw mode on and off, keys in, bytes out. Only these files know the libraries behind it.

mod inputs;
mod parse;

pub use inputs::Inputs;
pub use parse::Parser;

use crossterm::terminal;
use std::io::{self, Write};

/// Pastes are marked, a change of focus is told, Shift-Enter can be told from Enter, and a key that is held from one that
/// is pressed again; who does not know a code ignores it. The title is put aside.
const ENTER: &str = "\x1b[22;2t\x1b[?2004h\x1b[?1004h\x1b[>3u";
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
