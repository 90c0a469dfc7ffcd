//! The composer from outside: states, keys, states. What the tests share; the tests lie beside it by what they are about.

mod chips;
mod drawn;
mod keys;
mod properties;
mod vim;

use super::*;
use crate::{
    key::keys,
    line::Line,
    text::width,
    theme::{Look, Theme},
};
use proptest::prelude::*;

const COLUMNS: usize = 40;

fn options() -> Options {
    Options {
        history: ["first", "second one", "third"].map(String::from).to_vec(),
        labels: Labels {
            paste: "[P{n}]".into(),
            paste_line: "[P{n}]".into(),
            image: "[I{n}{label}]".into(),
            search: "find: ".into(),
        },
        ..Options::default()
    }
}

/// `|` is the caret, `{text}` a chip that stands for `text`.
fn editor(state: &str, options: Options) -> Editor {
    let mut editor = Editor::new(options);
    let mut caret = None;
    for part in state.split_inclusive(['|', '{', '}']) {
        let (text, sign) = match part.strip_suffix(['|', '{', '}']) {
            Some(text) => (text, part.chars().next_back()),
            None => (part, None),
        };
        match sign {
            Some('}') => {
                let chip = editor.paste_chip(&Piece::plain(text));
                editor.put(chip);
            }
            Some(_) | None => {
                editor.put(Piece::plain(text));
            }
        }
        if sign == Some('|') {
            caret = Some(editor.caret());
        }
    }
    editor.buffer.place(caret.unwrap_or(usize::MAX));
    editor
}

fn state(editor: &Editor) -> String {
    let mut text = editor.text().to_owned();
    text.insert(editor.caret(), '|');
    text
}

fn press(editor: &mut Editor, pressed: &str) -> Outcome {
    let mut outcome = Outcome::Ignored;
    for key in keys(pressed) {
        outcome = editor.key(key, COLUMNS);
        holds(editor);
    }
    outcome
}

fn check(before: &str, pressed: &str, after: &str) {
    let mut editor = editor(before, options());
    press(&mut editor, pressed);
    assert_eq!(state(&editor), after, "{before:?} {pressed}");
}

fn check_vim(before: &str, pressed: &str, after: &str) {
    let mut editor = editor(
        before,
        Options {
            vim: true,
            ..options()
        },
    );
    let at = editor.caret();
    press(&mut editor, "<esc>");
    editor.buffer.place(at);
    editor.settle();
    press(&mut editor, pressed);
    assert_eq!(state(&editor), after, "{before:?} {pressed}");
}

/// What is true after anything.
fn holds(editor: &Editor) {
    let piece = editor.buffer.piece();
    assert!(piece.is_border(editor.caret()), "{}", state(editor));
    let mut end = 0;
    for chip in piece.chips() {
        assert!(end <= chip.range.start && chip.range.start < chip.range.end);
        end = chip.range.end;
    }
    assert!(end <= piece.len());
}

fn fits(editor: &Editor, columns: usize, max_rows: usize) -> EditorView {
    let view = editor.view(columns, max_rows, &Theme::new(Look::Mono));
    assert!(!view.rows.is_empty() && view.rows.len() <= max_rows);
    for row in &view.rows {
        assert!(row.width() <= columns, "{columns}: {:?}", row.text());
    }
    assert!(view.caret.0 < view.rows.len(), "{:?}", view.caret);
    assert!(view.caret.1 < columns, "{:?} of {columns}", view.caret);
    if !editor.is_searching() {
        is_part_of_the_whole(editor, columns, &view);
    }
    view
}

/// A window shows what is there if all is shown, apart from the signs before the rows.
fn is_part_of_the_whole(editor: &Editor, columns: usize, view: &EditorView) {
    let top = editor.top.get();
    let all = editor.view(columns, 1_000_000, &Theme::new(Look::Mono));
    editor.top.set(top);
    let gutter = if columns < 8 { 0 } else { 2 };
    let texts = |rows: &[Line]| -> Vec<String> {
        let text = |row: &Line| row.text().chars().skip(gutter).collect();
        rows.iter().map(text).collect()
    };
    let first = all.caret.0 - view.caret.0;
    let part = &all.rows[first..first + view.rows.len()];
    assert_eq!(texts(&view.rows), texts(part));
    assert_eq!(view.caret.1, all.caret.1);
}
