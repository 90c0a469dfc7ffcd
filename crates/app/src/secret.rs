//! A secret that a person types or a pipe brings. It is not shown on a terminal, and never an argument.

use crate::errors::UsageError;
use anyhow::Context as _;
use ostler_host::keyboard::Hidden;
use ostler_wire::{Language, Word};
use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

/// Bytes of a line that is read.
const MAX_LINE: u64 = 4096;

/// A line of stdin.
pub fn read_secret(what: Word, language: Language) -> anyhow::Result<String> {
    let stdin = io::stdin();
    let is_terminal = stdin.is_terminal();
    let hidden = is_terminal.then(|| Hidden::start(&stdin)).flatten();
    if is_terminal {
        let mut err = io::stderr();
        write!(err, "{}: ", language.say(what))?;
        err.flush()?;
    }
    let mut line = String::new();
    let read = stdin.lock().take(MAX_LINE).read_line(&mut line);
    drop(hidden);
    if is_terminal {
        writeln!(io::stderr())?;
    }
    read.context(language.say(Word::ExecNoStdin))?;
    let password = line.trim_end_matches(['\r', '\n']);
    match password.is_empty() {
        true => Err(UsageError(language.say(Word::ServeNoPassword).into()).into()),
        false => Ok(password.to_owned()),
    }
}
