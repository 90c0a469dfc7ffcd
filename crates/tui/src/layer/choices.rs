//! A short list to choose from by arrows, number or first letter, and a line of one's own words.

use crate::canvas::Canvas;
use crate::key::{Code, Key};
use crate::line::{Line, Span};
use crate::text;
use crate::theme::Role;
use ostler_wire::{Word, count_blanks};

/// Moves within a list that is never left.
pub fn moved(at: usize, len: usize, key: Key) -> Option<usize> {
    let last = len.saturating_sub(1);
    match key.code {
        Code::Up => Some(if at == 0 { last } else { at - 1 }),
        Code::Down => Some(if at >= last { 0 } else { at + 1 }),
        Code::Home => Some(0),
        Code::End => Some(last),
        Code::Char('p') if key.ctrl => Some(if at == 0 { last } else { at - 1 }),
        Code::Char('n') if key.ctrl => Some(if at >= last { 0 } else { at + 1 }),
        _ => None,
    }
}

/// The same in a list whose cursor may be at no row yet: down goes to the first row, up to the last.
pub fn moved_into(at: Option<usize>, len: usize, key: Key) -> Option<usize> {
    let last = len.saturating_sub(1);
    match at {
        Some(at) => moved(at, len, key),
        None => moved(last, len, key).map(|to| match key.code {
            Code::Up | Code::Char('p') => last,
            _ => to,
        }),
    }
}

/// Moves by half a screen in what is to be read; `rows` counts how much that is.
pub fn scrolled(
    at: usize,
    rows: impl FnOnce() -> usize,
    canvas: &Canvas,
    key: Key,
) -> Option<usize> {
    match key.code {
        Code::PageDown => Some((at + canvas.rows / 2).min(rows().saturating_sub(1))),
        Code::PageUp => Some(at.saturating_sub(canvas.rows / 2)),
        _ => None,
    }
}

/// A row of a list: a sign for the chosen one, a label, a faint detail.
pub fn line(canvas: &Canvas, is_chosen: bool, label: &str, detail: &str) -> Line {
    let role = if is_chosen { Role::Accent } else { Role::Text };
    let sign = if is_chosen { "› " } else { "  " };
    let mut line = Line::from(canvas.span(format!("{sign}{label}"), role));
    if !detail.is_empty() {
        line.push(Span::plain("  "));
        line.push(canvas.span(detail, Role::Faint));
    }
    line
}

/// Columns that labels take before their details, so that these stand below each other.
pub fn label_columns<'a>(labels: impl Iterator<Item = &'a str>, canvas: &Canvas) -> usize {
    let widest = labels.map(text::width).max().unwrap_or(0);
    widest.min(canvas.columns / 2)
}

/// A label that takes so many columns.
pub fn padded(label: &str, columns: usize) -> String {
    let label = text::cut_text(label, columns);
    let pad = columns.saturating_sub(text::width(&label));
    format!("{label}{}", " ".repeat(pad))
}

/// The same, in as many rows as it needs.
pub fn row(canvas: &Canvas, is_chosen: bool, label: &str, detail: &str) -> Vec<Line> {
    let line = line(
        canvas,
        is_chosen,
        &count_blanks(label),
        &count_blanks(detail),
    );
    let narrow = canvas.narrower(4);
    let mut rows = text::wrap(&line, narrow.columns);
    for more in rows.iter_mut().skip(1) {
        more.spans.insert(0, Span::plain("    "));
    }
    rows
}

/// What keys do, without the last parts where there is no room for them.
pub fn hint_line(hint: &str, canvas: &Canvas) -> Line {
    let mut shown = hint;
    while text::width(shown) > canvas.columns
        && let Some((fewer, _)) = shown.rsplit_once(" · ")
    {
        shown = fewer;
    }
    canvas.line(text::cut_text(shown, canvas.columns), Role::Faint)
}

/// The answers of a question, each a label and a detail. Where there is no room for all of it, only the chosen one keeps its
/// detail; an answer is left out only when not even the labels fit, and then their number is said.
pub fn answer_rows(
    answers: &[(String, String)],
    chosen: Option<usize>,
    canvas: &Canvas,
    room: usize,
) -> Vec<Line> {
    let whole = |(at, (label, detail)): (usize, &(String, String))| {
        row(canvas, chosen == Some(at), label, detail)
    };
    let bare = |(at, (label, _)): (usize, &(String, String))| {
        let line = line(canvas, chosen == Some(at), label, "");
        vec![text::cut(&line, canvas.columns)]
    };
    let kept = |(at, answer): (usize, &(String, String))| match chosen == Some(at) {
        true => whole((at, answer)),
        false => bare((at, answer)),
    };
    let count = |rows: &[Vec<Line>]| rows.iter().map(Vec::len).sum::<usize>();
    let rows: Vec<Vec<Line>> = answers.iter().enumerate().map(whole).collect();
    if count(&rows) <= room {
        return rows.concat();
    }
    let rows: Vec<Vec<Line>> = answers.iter().enumerate().map(kept).collect();
    if count(&rows) <= room {
        return rows.concat();
    }
    let rows: Vec<Vec<Line>> = answers.iter().enumerate().map(bare).collect();
    if count(&rows) <= room {
        return rows.concat();
    }
    let mut shown = around(&rows, chosen.unwrap_or(0), room.saturating_sub(1));
    let more = answers.len().saturating_sub(shown.len());
    let more = canvas.fill(Word::MoreAnswers, &[&more.to_string()]);
    shown.push(text::cut(&canvas.line(more, Role::Faint), canvas.columns));
    shown
}

/// As many answers around the chosen one as there is room for.
pub fn around(answers: &[Vec<Line>], chosen: usize, room: usize) -> Vec<Line> {
    let len = |at: usize| answers.get(at).map(Vec::len);
    let (mut from, mut to) = (chosen, chosen + 1);
    let mut used = len(chosen).unwrap_or(0);
    loop {
        let after = len(to).filter(|more| used + more <= room);
        let before = from.checked_sub(1).and_then(len);
        let before = before.filter(|more| used + more <= room);
        match (after, before) {
            (Some(more), _) => (to, used) = (to + 1, used + more),
            (None, Some(more)) => (from, used) = (from - 1, used + more),
            (None, None) => break,
        }
    }
    let shown = answers.iter().take(to).skip(from);
    shown.flatten().cloned().collect()
}

/// One line of text, edited at its end. Enough for a search word or a reason.
#[derive(Clone, Debug, Default)]
pub struct Field {
    pub text: String,
}

/// Longest text of a field.
const MAX_FIELD: usize = 10_000;

impl Field {
    /// Whether the key was for it.
    pub fn key(&mut self, key: Key) -> bool {
        match key.code {
            Code::Char(c) if !key.ctrl && !key.alt => self.push(&c.to_string()),
            Code::Backspace => {
                let kept = text::without_last(&self.text);
                self.text.truncate(kept);
            }
            Code::Char('u') if key.ctrl => self.text.clear(),
            Code::Char('w') if key.ctrl => {
                let trimmed = self.text.trim_end();
                let kept = trimmed.rfind(' ').map_or(0, |at| at + 1);
                self.text.truncate(kept);
            }
            _ => return false,
        }
        true
    }

    pub fn push(&mut self, text: &str) {
        let room = MAX_FIELD.saturating_sub(self.text.len());
        let clean = text.replace(['\n', '\r'], " ");
        self.text.extend(clean.chars().take(room));
    }

    /// What fits of its end, and the column behind it.
    pub fn shown(&self, columns: usize) -> (String, usize) {
        let shown = text::tail(&text::visible(self.text.clone()), columns.saturating_sub(1));
        let width = text::width(&shown);
        (shown, width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_one_is_always_there() {
        let answers = [vec!["a"], vec!["b", "b"], vec!["c"], vec!["d"]];
        let answers = answers.map(|rows| rows.into_iter().map(Line::plain).collect::<Vec<_>>());
        for (chosen, room, expect) in [
            (0, 9, "abbcd"),
            (0, 3, "abb"),
            (1, 1, "bb"),
            (1, 3, "bbc"),
            (2, 2, "cd"),
            (3, 2, "cd"),
            (3, 0, "d"),
            (9, 9, ""),
        ] {
            let shown: String = around(&answers, chosen, room)
                .iter()
                .map(Line::text)
                .collect();
            assert_eq!(shown, expect, "{chosen} {room}");
        }
    }
}
