//! The keys, as `?` shows them below the composer and `/help` above the commands.

use crate::canvas::Canvas;
use crate::line::{Line, Span};
use crate::text;
use crate::theme::Role;
use ostler_wire::Word;

const KEYS: &[Word] = &[
    Word::KeySend,
    Word::KeyNewline,
    Word::KeyQueueHelp,
    Word::KeyEdit,
    Word::KeyStopHelp,
    Word::KeyMode,
    Word::KeyBackground,
    Word::KeyPage,
    Word::KeySearch,
    Word::KeyEditor,
    Word::KeyLeave,
];
const TYPING: &[Word] = &[
    Word::KeyFiles,
    Word::KeyCommands,
    Word::KeyShell,
    Word::KeyNote,
    Word::KeyBg,
    Word::KeyBtw,
    Word::KeyDocs,
    Word::KeyThis,
];
/// Narrower terminals have one list below the other.
const TWO_COLUMNS: usize = 90;

/// Both lists, beside each other where there is room.
pub fn key_rows(canvas: &Canvas) -> Vec<Line> {
    let [keys, typing] = [(Word::KeysTitle, KEYS), (Word::KeysTyping, TYPING)];
    if canvas.columns < TWO_COLUMNS {
        return [list(canvas, keys), list(canvas, typing)].concat();
    }
    let half = canvas.columns / 2;
    let narrow = Canvas {
        columns: half,
        ..*canvas
    };
    let (left, right) = (list(&narrow, keys), list(&narrow, typing));
    let rows = left.len().max(right.len());
    (0..rows)
        .map(|at| {
            let mut row = left.get(at).cloned().unwrap_or_default();
            if let Some(right) = right.get(at) {
                let gap = half.saturating_sub(row.width());
                row.push(Span::plain(" ".repeat(gap)));
                right.spans.iter().for_each(|span| row.push(span.clone()));
            }
            row
        })
        .collect()
}

/// A title and a row for each; a key stands apart from what it does by two spaces.
fn list(canvas: &Canvas, (title, words): (Word, &[Word])) -> Vec<Line> {
    let mut rows = vec![canvas.line(canvas.say(title), Role::Strong)];
    for word in words {
        let (key, does) = canvas.say(*word).split_once("  ").unwrap_or_default();
        let mut row = Line::from(canvas.span(format!(" {key}"), Role::Accent));
        row.push(canvas.span(format!("  {does}"), Role::Text));
        rows.push(text::cut(&row, canvas.columns));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::Theme;

    #[test]
    fn every_row_has_a_key_and_fits() {
        for columns in [30, 40, 100] {
            let canvas = Canvas {
                columns,
                rows: 40,
                theme: Theme::default(),
            };
            for row in key_rows(&canvas) {
                assert!(!row.text().trim().is_empty());
                assert!(row.width() <= columns, "{}", row.text());
            }
        }
        let rows = key_rows(&Canvas {
            columns: 100,
            rows: 40,
            theme: Theme::default(),
        });
        assert_eq!(rows.len(), KEYS.len() + 1);
    }
}
