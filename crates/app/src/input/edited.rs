//! The prompt that a person edits on a terminal in line mode: keys in, the sign and the line out. The thread that reads stdin
//! hands it the keys; the conversation says when it stands on the screen. Between prompts the terminal edits lines itself.

use ostler_host::keyboard::SilentKeys;
use ostler_tui::editor::{Editor, Options, Outcome};
use ostler_tui::key::{Code, Input, Key};
use ostler_tui::terminal::{Parser, size};
use ostler_tui::text::width;
use ostler_tui::theme::{Look, Theme};
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the editor draws before the first row, in whose place the sign stands.
const OWN_SIGN: &str = "› ";
/// Below the rows that a prompt takes, one is left.
const ROWS_LEFT: usize = 1;
/// Cells that the line has beside the sign, at least.
const LEAST_ROOM: usize = 12;
/// Of a terminal that does not tell its size.
const USUAL: (usize, usize) = (80, 24);
/// Marks what can follow a mention, at the end of a line.
const TAB: &str = "\t";

/// What is done with a line that was sent.
pub type Remember = Box<dyn Fn(&str) + Send>;

/// Clones edit the same line.
#[derive(Clone)]
pub struct EditedLine(Arc<Mutex<State>>);

struct State {
    editor: Editor,
    parser: Parser,
    remember: Remember,
    /// While it stands on the screen.
    shown: Option<Shown>,
}

struct Shown {
    /// Gives the terminal its own mode back when it is dropped.
    _keys: SilentKeys,
    /// With colours, and its cells.
    sign: (String, usize),
    /// The row of the caret below the first one.
    caret_row: usize,
}

/// What keys came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Keyed {
    Edited,
    /// A line was sent, or asks for names.
    Line(String),
    /// The end of the input, as a key.
    Over,
}

impl EditedLine {
    /// `history`: what was sent before, the newest last.
    pub fn new(history: Vec<String>, remember: Remember) -> Self {
        let editor = Editor::new(Options {
            history,
            ..Options::default()
        });
        Self(Arc::new(Mutex::new(State {
            editor,
            parser: Parser::default(),
            remember,
            shown: None,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the sign with the line as far as it is written. Whether the terminal can.
    pub fn show(&self, sign: &str, cells: usize) -> io::Result<bool> {
        let mut state = self.state();
        if state.shown.is_some() {
            return Ok(true);
        }
        let Some(keys) = SilentKeys::start(io::stdin()) else {
            return Ok(false);
        };
        state.shown = Some(Shown {
            _keys: keys,
            sign: (sign.to_owned(), cells),
            caret_row: 0,
        });
        state.draw()?;
        Ok(true)
    }

    pub fn is_shown(&self) -> bool {
        self.state().shown.is_some()
    }

    /// Makes room for something else; what is written comes back with the next sign.
    pub fn hide(&self) -> io::Result<()> {
        let mut state = self.state();
        let erased = state.erased();
        state.shown = None;
        write(&erased)
    }

    /// Leaves on the screen what stands there.
    pub fn release(&self) {
        self.state().shown = None;
    }

    /// Drops what is written. Whether there was something.
    pub fn clear(&self) -> io::Result<bool> {
        let mut state = self.state();
        let was_written = state.shown.is_some() && !state.editor.is_empty();
        if was_written {
            state.below()?;
            state.shown = None;
            state.editor.set_text("");
        }
        Ok(was_written)
    }

    /// Takes keys, up to one that ends the line: what came to, and how many bytes were taken.
    pub fn feed(&self, bytes: &[u8]) -> io::Result<(Keyed, usize)> {
        let mut state = self.state();
        for (at, byte) in bytes.iter().enumerate() {
            for input in state.parser.feed(&[*byte]) {
                let keyed = state.input(input)?;
                if keyed != Keyed::Edited {
                    return Ok((keyed, at + 1));
                }
            }
        }
        state.draw()?;
        Ok((Keyed::Edited, bytes.len()))
    }
}

impl State {
    fn input(&mut self, input: Input) -> io::Result<Keyed> {
        let (columns, _) = screen();
        let outcome = match input {
            Input::Key(key) | Input::Repeat(key) if key == Key::plain(Code::Tab) => {
                return self.ask_names();
            }
            Input::Key(key) | Input::Repeat(key) if self.sends_nothing(key) => {
                self.below()?;
                self.shown = None;
                return Ok(Keyed::Line(String::new()));
            }
            Input::Key(key) | Input::Repeat(key) => self.editor.key(as_sent(key), columns),
            Input::Paste(text) => self.editor.paste(text),
            Input::Release(_) | Input::Resize { .. } | Input::FocusGained | Input::FocusLost => {
                Outcome::Ignored
            }
        };
        match outcome {
            Outcome::Submit => {
                self.below()?;
                self.shown = None;
                let text = self.editor.take().text;
                (self.remember)(&text);
                Ok(Keyed::Line(text))
            }
            // The sign stands there still.
            Outcome::Leave => {
                self.shown = None;
                Ok(Keyed::Over)
            }
            Outcome::Ignored | Outcome::Changed | Outcome::Moved | Outcome::TooLarge => {
                Ok(Keyed::Edited)
            }
        }
    }

    /// An empty line is one, too.
    fn sends_nothing(&self, key: Key) -> bool {
        let is_enter = as_sent(key) == Key::plain(Code::Enter);
        is_enter && !self.editor.is_searching() && self.editor.text().trim().is_empty()
    }

    /// What can follow a mention is asked for by a line of its own; what is written stays.
    fn ask_names(&mut self) -> io::Result<Keyed> {
        let (range, word) = self.editor.word_before_caret();
        if !word.starts_with('@') {
            return Ok(Keyed::Edited);
        }
        let text = self.editor.text().get(..range.end).unwrap_or_default();
        let line = format!("{text}{TAB}");
        self.below()?;
        self.shown = None;
        Ok(Keyed::Line(line))
    }

    /// Draws the line anew where it stands.
    fn draw(&mut self) -> io::Result<()> {
        let mut out = self.erased();
        let (columns, rows) = screen();
        let Some(shown) = &mut self.shown else {
            return Ok(());
        };
        let (sign, cells) = &shown.sign;
        // Where the sign takes most of a row, the line stands below it.
        let stands_alone = columns < cells + LEAST_ROOM;
        let indent = match stands_alone {
            true => 0,
            false => cells.saturating_sub(width(OWN_SIGN)),
        };
        let most = rows.saturating_sub(ROWS_LEFT + usize::from(stands_alone));
        let theme = Theme::new(Look::Mono);
        let view = self.editor.view(columns - indent, most.max(1), &theme);
        let is_search = self.editor.is_searching();
        let own = OWN_SIGN.to_owned();
        let first = match stands_alone {
            true => &own,
            false => sign,
        };
        if stands_alone {
            out.push_str(&format!("{sign}\r\n"));
        }
        let count = view.rows.len();
        for (number, row) in view.rows.iter().enumerate() {
            let text = row.text();
            match text.strip_prefix(OWN_SIGN).filter(|_| !is_search) {
                Some(text) => out.push_str(&format!("{first}{text}")),
                None if is_search => out.push_str(&text),
                None => out.push_str(&format!("{}{text}", " ".repeat(indent))),
            }
            if number + 1 < count {
                out.push_str("\r\n");
            }
        }
        let (row, column) = view.caret;
        let column = match is_search {
            true => column,
            false => column + indent,
        };
        out.push_str(&up(count.saturating_sub(row + 1)));
        out.push_str(&format!("\r{}", right(column)));
        shown.caret_row = row + usize::from(stands_alone);
        write(&out)
    }

    /// The codes that take it off the screen and leave the cursor where it began.
    fn erased(&self) -> String {
        match &self.shown {
            Some(shown) => format!("{}\r\x1b[J", up(shown.caret_row)),
            None => String::new(),
        }
    }

    /// The whole line stays on the screen, and what comes next begins below it.
    fn below(&mut self) -> io::Result<()> {
        if self.shown.is_none() {
            return Ok(());
        }
        let (columns, _) = screen();
        if let Some(end) = Key::from_name("ctrl-end") {
            self.editor.key(end, columns);
        }
        self.draw()?;
        write("\r\n")
    }
}

/// Columns and rows.
fn screen() -> (usize, usize) {
    match size() {
        (0, _) | (_, 0) => USUAL,
        (columns, rows) => (columns.into(), rows.into()),
    }
}

/// Where lines are read one by one a line feed sends, as the enter key does.
fn as_sent(key: Key) -> Key {
    match key == Key::ctrl('j') {
        true => Key::plain(Code::Enter),
        false => key,
    }
}

fn up(rows: usize) -> String {
    match rows {
        0 => String::new(),
        rows => format!("\x1b[{rows}A"),
    }
}

fn right(cells: usize) -> String {
    match cells {
        0 => String::new(),
        cells => format!("\x1b[{cells}C"),
    }
}

/// The sign and the line go where questions go.
fn write(text: &str) -> io::Result<()> {
    let mut err = io::stderr();
    err.write_all(text.as_bytes())?;
    err.flush()
}
