//! Asks the person at the terminal by numbered lines. Without a terminal nobody is asked.

use crate::asking::no_answer;
use crate::input;
use crate::output;
use ostler_config::text::Speak as _;
use ostler_host::keyboard::KeyByKey;
use ostler_wire::{Language, Word};
use std::io::{self, BufRead, IsTerminal, Read, Write};

/// Options that are shown; others can be typed.
const MAX_SHOWN: usize = 20;
/// How a terminal marks what is pasted.
const PASTE_BEGINS: &str = "\u{1b}[200~";
const PASTE_ENDS: &str = "\u{1b}[201~";
/// The longest line that is read.
const MAX_LINE: u64 = 64 * 1024;

/// Whether somebody sits there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Person {
    Here,
    Away,
}

/// What the person wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picked {
    Option(usize),
    Other(String),
    /// Ctrl-D.
    Left,
}

impl Person {
    pub fn look() -> Self {
        if io::stdin().is_terminal() && io::stderr().is_terminal() {
            Person::Here
        } else {
            Person::Away
        }
    }
}

/// A line from the person, trimmed; None at the end of input.
pub fn ask(question: &str) -> io::Result<Option<String>> {
    let mut err = io::stderr();
    write!(err, "{}", output::visible(question))?;
    err.flush()?;
    let line = read_line()?;
    if line.is_none() {
        writeln!(err)?;
    }
    Ok(line)
}

/// The same, where nothing that was typed before the question could be read may answer it, nor anything that is pasted.
pub fn ask_fresh(question: &str, language: Language) -> io::Result<Option<String>> {
    loop {
        let keys = KeyByKey::start(io::stdin());
        // Nobody answers in the middle of a word: its rest would be a line of its own.
        match &keys {
            Some(keys) => keys.forget_until_pause(input::PAUSE),
            None => {
                std::thread::sleep(crate::asking::GUARD);
                ostler_host::keyboard::forget_typed(io::stdin());
            }
        }
        drop(keys);
        let marks = PasteMarks::ask_for();
        let line = ask(question)?;
        drop(marks);
        let Some(line) = line else {
            return Ok(None);
        };
        let keys = KeyByKey::start(io::stdin());
        let is_alone = keys.is_none_or(|keys| keys.is_quiet_for(input::PASTED));
        if is_alone && !line.contains(PASTE_BEGINS) && !line.contains(PASTE_ENDS) {
            return Ok(Some(line));
        }
        let bare = line.replace(PASTE_BEGINS, "").replace(PASTE_ENDS, "");
        output::say(&no_answer(&bare, language));
    }
}

/// While this lives, the terminal marks what is pasted.
struct PasteMarks;

impl PasteMarks {
    fn ask_for() -> Self {
        Self::send("\u{1b}[?2004h");
        Self
    }

    fn send(mode: &str) {
        let mut err = io::stderr();
        // A terminal that is gone marks nothing.
        let _ = err.write_all(mode.as_bytes()).and_then(|()| err.flush());
    }
}

impl Drop for PasteMarks {
    fn drop(&mut self) {
        Self::send("\u{1b}[?2004l");
    }
}

/// The first line of stdin, trimmed.
pub fn read_line() -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(MAX_LINE)
        .read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned()))
}

/// One of the options, by number or name. Enter takes `first`.
pub fn pick(
    question: &str,
    options: &[String],
    first: usize,
    language: Language,
) -> io::Result<Picked> {
    let mut list = String::new();
    for (i, option) in options.iter().take(MAX_SHOWN).enumerate() {
        list.push_str(&format!("  {:2}  {option}\n", i + 1));
    }
    if let Some(more) = options
        .len()
        .checked_sub(MAX_SHOWN)
        .filter(|more| *more > 0)
    {
        list.push_str(&language.filled(Word::ChooseMore, &[&more]));
    }
    let question = format!("{list}{question} [{}] ", first + 1);
    loop {
        let Some(line) = ask(&question)? else {
            return Ok(Picked::Left);
        };
        match meant(&line, options, first) {
            Some(picked) => return Ok(picked),
            None => output::say(&language.filled(Word::ChooseNo, &[&line, &options.len()])),
        }
    }
}

fn meant(line: &str, options: &[String], first: usize) -> Option<Picked> {
    if line.is_empty() {
        return Some(Picked::Option(first));
    }
    match line.parse::<usize>() {
        Ok(number) => number
            .checked_sub(1)
            .filter(|i| *i < options.len())
            .map(Picked::Option),
        Err(_) => Some(Picked::Other(line.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_pick_options() {
        let options = ["a".to_owned(), "b".to_owned()];
        for (line, expect) in [
            ("", Some(Picked::Option(1))),
            ("1", Some(Picked::Option(0))),
            ("2", Some(Picked::Option(1))),
            ("0", None),
            ("3", None),
            ("c", Some(Picked::Other("c".into()))),
        ] {
            assert_eq!(meant(line, &options, 1), expect, "{line}");
        }
    }
}
