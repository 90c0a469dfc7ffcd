//! Lines of stdin, read on a thread of their own.

mod edited;
mod typed;

pub use edited::EditedLine;
use edited::Keyed;
use ostler_wire::MAX_OP_LINE;
use std::io::{self, BufRead};
use std::time::Instant;
use tokio::sync::{mpsc, watch};
pub use typed::{PASTED, PAUSE, Said, Typed, Want};

/// A line, when its first byte was read and when its end was. A terminal in line mode hands over a line when it is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    pub begun: Instant,
    pub at: Instant,
    /// It was longer than what is kept of it.
    pub is_cut: bool,
}

/// Lines of stdin as they come, and when the last byte of any came.
pub struct Lines {
    pub lines: mpsc::Receiver<Line>,
    pub last_byte: watch::Receiver<Option<Instant>>,
}

/// Lines of stdin, read by a thread of their own: stdin cannot be cancelled. While a prompt is edited its keys go to `edited`.
pub fn read_lines(edited: Option<EditedLine>) -> Lines {
    let (sender, lines) = mpsc::channel(LINES);
    let (seen, last_byte) = watch::channel(None);
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        loop {
            let mut bytes = Vec::new();
            let mut begun = None;
            let note = || {
                let now = Instant::now();
                begun.get_or_insert(now);
                seen.send_replace(Some(now));
            };
            let length = match read_line(&mut stdin, &mut bytes, edited.as_ref(), note) {
                Ok(0) | Err(_) => return,
                Ok(length) => length,
            };
            let text = String::from_utf8_lossy(&bytes);
            let at = Instant::now();
            let line = Line {
                text: text.trim_end_matches(['\n', '\r']).to_owned(),
                begun: begun.unwrap_or(at),
                at,
                is_cut: length > bytes.len(),
            };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    Lines { lines, last_byte }
}

/// A line of any length, of which at most `MAX_LINE` bytes are kept. `note` hears of every part of it that is read.
fn read_line(
    input: &mut impl BufRead,
    out: &mut Vec<u8>,
    edited: Option<&EditedLine>,
    mut note: impl FnMut(),
) -> io::Result<usize> {
    let mut total = 0;
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(total);
        }
        note();
        if let Some(edited) = edited.filter(|edited| edited.is_shown()) {
            let (keyed, taken) = edited.feed(buffer)?;
            input.consume(taken);
            match keyed {
                Keyed::Edited => continue,
                Keyed::Over => return Ok(0),
                Keyed::Line(line) => {
                    // What was begun before the prompt stood there comes first.
                    out.extend_from_slice(line.as_bytes());
                    out.push(b'\n');
                    return Ok(out.len());
                }
            }
        }
        // What was typed ahead while a prompt was edited ends its lines as the key does.
        let ends = |byte: &u8| *byte == b'\n' || edited.is_some() && *byte == b'\r';
        let end = buffer.iter().position(ends).map(|i| i + 1);
        let take = end.unwrap_or(buffer.len());
        let room = MAX_LINE.saturating_sub(out.len()).min(take);
        out.extend_from_slice(buffer.get(..room).unwrap_or_default());
        input.consume(take);
        total += take;
        if end.is_some() {
            return Ok(total);
        }
    }
}

/// Lines that may wait.
const LINES: usize = 64;

/// The longest line that is read: an op with pictures.
const MAX_LINE: usize = MAX_OP_LINE;
