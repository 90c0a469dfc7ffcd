//! What is drawn, and where the caret stands.

use super::*;

#[test]
fn it_is_drawn() {
    for (before, columns, max_rows, expect, caret) in [
        ("|", 20, 5, vec!["› "], (0, 2)),
        ("one\ntwo|", 20, 5, vec!["› one", "  two"], (1, 5)),
        (
            "one two three|",
            10,
            5,
            vec!["› one two ", "⋮ three"],
            (1, 7),
        ),
        ("a\nb\nc\nd|", 10, 2, vec!["⌃ c", "  d"], (1, 3)),
        ("|a\nb\nc\nd", 10, 2, vec!["› a", "⌄ b"], (0, 2)),
        ("中文|", 20, 5, vec!["› 中文"], (0, 6)),
        ("e\u{301}|x", 20, 5, vec!["› e\u{301}x"], (0, 3)),
        ("a\u{1b}\t|", 20, 5, vec!["› a␛    "], (0, 8)),
        ("ab|c", 5, 5, vec!["abc"], (0, 2)),
        ("abcd中|", 5, 5, vec!["abcd", "中"], (1, 2)),
        ("x {long}|", 10, 5, vec!["› x [P1]"], (0, 8)),
        ("xxxxx {long}|", 10, 5, vec!["› xxxxx ", "⋮ [P1]"], (1, 6)),
        ("{long}|", 4, 5, vec!["[P1", "]"], (1, 1)),
        ("中|", 2, 5, vec!["…"], (0, 1)),
    ] {
        let editor = editor(before, options());
        let view = fits(&editor, columns, max_rows);
        let rows: Vec<String> = view.rows.iter().map(Line::text).collect();
        assert_eq!(
            (rows, view.caret),
            (expect.iter().map(|s| s.to_string()).collect(), caret),
            "{before:?}"
        );
    }
}

#[test]
fn scrolling_follows_the_caret_only_when_it_must() {
    let mut editor = editor("a\nb\nc\nd\ne\nf|", options());
    for (pressed, top, caret) in [
        ("", "⌃ d", 2),
        ("<up>", "⌃ d", 1),
        ("<up>", "⌃ d", 0),
        ("<up>", "⌃ c", 0),
        ("<down><down><down>", "⌃ d", 2),
        ("<ctrl-home>", "› a", 0),
        ("<ctrl-end><ctrl-u><ctrl-u>", "⌃ c", 2),
    ] {
        press(&mut editor, pressed);
        let view = fits(&editor, 20, 3);
        let first = view.rows.first().map(Line::text);
        assert_eq!(
            (first.as_deref(), view.caret.0),
            (Some(top), caret),
            "{pressed}"
        );
    }
}

#[test]
fn styles_tell_chips_and_selections() {
    let theme = Theme::new(Look::Ansi);
    let mut editor = editor(
        "|a {long} b",
        Options {
            vim: true,
            ..options()
        },
    );
    press(&mut editor, "<esc>v");
    let view = editor.view(20, 5, &theme);
    let spans: Vec<(&str, bool, bool)> = view
        .rows
        .iter()
        .flat_map(|row| &row.spans)
        .map(|span| (span.text(), span.style.reverse, span.style.fg.is_some()))
        .collect();
    assert_eq!(
        spans,
        [
            ("› ", false, true),
            ("a", true, false),
            (" ", false, false),
            ("[P1]", false, true),
            (" b", false, false)
        ]
    );
}

fn size(cells: u16) -> std::num::NonZeroU16 {
    cells.try_into().unwrap()
}

/// A terminal's own idea of where the text ends.
#[test]
fn the_caret_is_where_the_terminal_is() {
    for text in [
        "plain",
        "中文 mixed 文",
        "e\u{301}a\u{308}o",
        "ｆｕｌｌ",
        "한국어",
        "\u{1b}[31m",
        "😀😀",
    ] {
        let mut editor = Editor::new(options());
        editor.paste(text.to_owned());
        let view = fits(&editor, 60, 3);
        let mut screen = vt100::Parser::new(size(3), size(60), 0);
        screen.process(view.rows[0].text().as_bytes());
        let (_, column) = screen.screen().cursor_position();
        assert_eq!(view.caret, (0, usize::from(column)), "{text}");
    }
}

#[test]
fn widths_of_rows_are_those_of_the_text() {
    let text = "one 中文 e\u{301} 👩‍👩‍👧 \u{202e}end ".repeat(9);
    let mut editor = Editor::new(options());
    editor.paste(text.clone());
    let view = fits(&editor, 30, 100);
    let shown: String = view.rows.iter().map(Line::text).collect();
    let marks = width("› ") * view.rows.len();
    let visible = crate::text::visible(text);
    assert_eq!(width(&shown), width(&visible) + marks);
}
