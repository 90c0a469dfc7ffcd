//! The composer from outside: states, keys, states; and what holds for any input.

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

#[test]
fn typing_and_moving() {
    for (before, pressed, after) in [
        ("|", "ab", "ab|"),
        ("a|c", "b", "ab|c"),
        ("ab|", "<left><left><left>x", "x|ab"),
        ("ab|", "<ctrl-b>x<ctrl-f>y", "axby|"),
        ("one two|", "<ctrl-a>x<ctrl-e>y", "xone twoy|"),
        ("one\ntwo|", "<home>x<end>y", "one\nxtwoy|"),
        ("one\ntwo|", "<ctrl-home>x<ctrl-end>y", "xone\ntwoy|"),
        ("one two.three|", "<alt-b>", "one two.|three"),
        ("one two.three|", "<alt-b><ctrl-left>", "one |two.three"),
        ("|one two.three", "<alt-f>", "one| two.three"),
        ("|one two.three", "<ctrl-right><alt-f>", "one two|.three"),
        ("中文|", "<left>x", "中x|文"),
        ("e\u{301}|", "<left>", "|e\u{301}"),
        ("👩‍👩‍👧|", "<left>", "|👩‍👩‍👧"),
        ("a|\u{301}", "", "a\u{301}|"),
        ("a|", "<shift-enter>b<alt-enter>c<ctrl-j>d", "a\nb\nc\nd|"),
        ("a\\|", "<enter>b", "a\nb|"),
        ("a\\|\nb", "<enter>", "a\n|\nb"),
        ("a|", "<tab><esc><ctrl-t><f5><ctrl-z>", "a|"),
    ] {
        check(before, pressed, after);
    }
}

#[test]
fn erasing_and_cutting() {
    for (before, pressed, after) in [
        ("ab|", "<backspace>", "a|"),
        ("|ab", "<backspace>", "|ab"),
        ("|ab", "<delete><ctrl-d>", "|"),
        ("ab|", "<ctrl-h><ctrl-h><ctrl-h>", "|"),
        ("ae\u{301}|", "<backspace>", "a|"),
        ("a👩‍👩‍👧|", "<backspace>", "a|"),
        // The mark left over joins what is before.
        ("e\n|\u{301}", "<left><delete>", "e\u{301}|"),
        ("one two.three|", "<alt-backspace>", "one two.|"),
        ("one two.three|", "<ctrl-w>", "one |"),
        ("one two  |", "<ctrl-w>", "one |"),
        ("|one two", "<alt-d>", "| two"),
        ("one |two\nx", "<ctrl-k>", "one |\nx"),
        ("one |\nx", "<ctrl-k>", "one |x"),
        ("one two| x", "<ctrl-u>", "| x"),
        ("one\n|x", "<ctrl-u>", "one|x"),
        ("one two|", "<ctrl-w><ctrl-w><ctrl-y>", "one two|"),
        (
            "|one two",
            "<alt-d><alt-d><ctrl-y><ctrl-y>",
            "one twoone two|",
        ),
        ("one two|", "<ctrl-w><left><right><ctrl-w><ctrl-y>", "one |"),
        (
            "one two|",
            "<ctrl-w><left><right><ctrl-w><ctrl-y><alt-y>",
            "two|",
        ),
        (
            "one two|",
            "<ctrl-w><left><right><ctrl-w><ctrl-y><alt-y><alt-y>",
            "one |",
        ),
        ("one|", "<alt-y><ctrl-y>", "one|"),
    ] {
        check(before, pressed, after);
    }
}

#[test]
fn undo_goes_back_word_by_word() {
    for (pressed, after) in [
        ("one two<ctrl-_>", "one |"),
        ("one two<ctrl-/><ctrl-7>", "|"),
        ("one two<ctrl-_><ctrl-_><ctrl-_><alt-_>", "one |"),
        ("one two<ctrl-_><alt-_><alt-_>", "one two|"),
        ("one two<ctrl-_>x<alt-_>", "one x|"),
        ("one<left><left>x<ctrl-_>", "o|ne"),
        ("one<backspace><backspace><ctrl-_>", "one|"),
        ("one two<ctrl-w><ctrl-_>", "one two|"),
        ("one<ctrl-a><ctrl-k><ctrl-_>", "|one"),
        ("dra<up><ctrl-_>", "dra|"),
    ] {
        check("|", pressed, after);
    }
}

#[test]
fn rows_and_history() {
    let long = "word ".repeat(12);
    let mut wrapped = long.clone();
    wrapped.insert(25, '|');
    for (before, pressed, after) in [
        ("one\ntwo|", "<up>", "one|\ntwo"),
        ("one\n\nthree|", "<up><up>", "one|\n\nthree"),
        ("three\n\nthree|", "<up><up>", "three|\n\nthree"),
        ("|one\ntwo", "<down>", "one\n|two"),
        ("中文|\nabcd", "<down>", "中文\nabcd|"),
        ("中|文\nabcd", "<down>", "中文\nab|cd"),
        ("abc|\n中文", "<down>", "abc\n中|文"),
        (&long, "<up>", &wrapped),
        ("draft|", "<up>", "third|"),
        ("draft|", "<up><up>", "second one|"),
        ("draft|", "<up><up><up><up>", "first|"),
        ("draft|", "<up><up><down><down>", "draft|"),
        ("draft|", "<ctrl-p><ctrl-p><ctrl-n>", "third|"),
        ("draft|", "<down>", "draft|"),
        ("draft|", "<up>x<down>", "thirdx|"),
        ("draft|", "<up>x<up><down>", "thirdx|"),
        ("a\n|b", "<ctrl-p>", "third|"),
    ] {
        check(before, pressed, after);
    }
}

#[test]
fn entries_of_many_rows_are_walked_over() {
    let history = ["old", "one\ntwo", "a\nb"].map(String::from).to_vec();
    let mut editor = Editor::new(Options {
        history,
        ..options()
    });
    for (pressed, after) in [
        ("<up>", "a\nb|"),
        ("<up>", "one\ntwo|"),
        ("<up>", "old|"),
        ("<down>", "one\ntwo|"),
        ("<left><up>", "on|e\ntwo"),
        ("<up>", "old|"),
    ] {
        press(&mut editor, pressed);
        assert_eq!(state(&editor), after, "{pressed}");
    }
}

#[test]
fn searching() {
    for (pressed, after) in [
        ("<ctrl-r>ir<enter>", "third|"),
        ("<ctrl-r>ir<ctrl-r><enter>", "first|"),
        ("<ctrl-r>ir<ctrl-r><ctrl-r><enter>", "first|"),
        ("<ctrl-r>irs<enter>", "first|"),
        ("<ctrl-r>irs<backspace><enter>", "third|"),
        ("<ctrl-r>ir<ctrl-r><tab>", "first|"),
        ("<ctrl-r>ir<esc>", "draft|"),
        ("<ctrl-r>ir<ctrl-g>x", "draftx|"),
        ("<ctrl-r>nothing<enter>", "draft|"),
        ("<ctrl-r>IR<enter>", "draft|"),
        ("<ctrl-r><backspace>x", "draftx|"),
        ("<ctrl-r>sec<ctrl-a>x", "xsecond one|"),
        ("<ctrl-r>sec<enter><ctrl-_>", "draft|"),
    ] {
        let after = after.replace("xsecond one|", "x|second one");
        check("draft|", pressed, &after);
    }
    let mut editor = editor("draft|", options());
    press(&mut editor, "<ctrl-r>one");
    let view = fits(&editor, 20, 5);
    let rows: Vec<String> = view.rows.iter().map(Line::text).collect();
    assert_eq!(rows, ["find: one", "› second one"]);
    assert_eq!(view.caret, (0, 9));
    press(&mut editor, &"long ".repeat(20));
    fits(&editor, 20, 1);
    assert_eq!(press(&mut editor, "<enter>"), Outcome::Moved);
}

#[test]
fn chips_are_one_unit() {
    for (before, pressed, after) in [
        ("a{long}b|", "<left><left>", "a|[P1]b"),
        ("|a{long}b", "<right><right>", "a[P1]|b"),
        ("a{long}|b", "<backspace>", "a|b"),
        ("a|{long}b", "<delete>", "a|b"),
        ("a|{long}b", "x", "ax|[P1]b"),
        ("a{long}|b", "x", "a[P1]x|b"),
        ("{one}{two}|", "<left>x", "[P1]x|[P2]"),
        ("a {long} b|", "<alt-b><alt-b>", "a |[P1] b"),
        ("a{long}|", "<ctrl-w>", "a|"),
        ("a{long}|", "<ctrl-w><ctrl-y><ctrl-y>", "a[P1][P1]|"),
        ("a{long}|", "<backspace><ctrl-_>", "a[P1]|"),
        ("{long}|", "\u{301}<left><left>", "|[P1]\u{301}"),
        ("{long\\}|", "<enter>", "[P1]|"),
    ] {
        check(before, pressed, after);
    }
    let mut editor = editor("say {one\ntwo} or {three}|", options());
    press(&mut editor, "<backspace><ctrl-_>!");
    let sent = editor.take();
    assert_eq!(sent.text, "say one\ntwo or three!");
    assert_eq!(sent.shown, "say [P1] or [P2]!");
    assert!(editor.is_empty());
    press(&mut editor, "<up>");
    assert_eq!(editor.take().text, "say one\ntwo or three!");
}

#[test]
fn long_pastes_are_chips() {
    for (text, shown) in [
        ("short", "short".to_owned()),
        ("a\r\nb\rc", "a\nb\nc".to_owned()),
        (&"x\n".repeat(10), "x\n".repeat(10)),
        (&"x\n".repeat(11), "[pasted 1 KB, 11 lines #1]".to_owned()),
        (&"字".repeat(1_000), "字".repeat(1_000)),
        (&"字".repeat(1_001), "[pasted 3 KB #1]".to_owned()),
        (
            &"0123456789 ".repeat(200_000),
            "[pasted 2,149 KB #1]".to_owned(),
        ),
    ] {
        let mut editor = Editor::new(Options::default());
        assert_eq!(editor.paste(text.to_owned()), Outcome::Changed);
        assert_eq!(editor.text(), shown);
        let sent = editor.take();
        assert_eq!(sent.text, text.replace("\r\n", "\n").replace('\r', "\n"));
    }
}

#[test]
fn there_is_an_end_to_it() {
    let mut editor = Editor::new(Options::default());
    // Many short pastes in a row fold, too, so that what is shown stays small.
    for _ in 0..100 {
        assert_eq!(editor.paste("word ".repeat(190)), Outcome::Changed);
    }
    assert!(editor.text().len() < 2 * FOLD_ABOVE);
    assert_eq!(editor.take().text.len(), 95_000);
    assert_eq!(editor.paste("x".repeat(MAX_BYTES + 1)), Outcome::TooLarge);
    assert_eq!(editor.paste("x".repeat(MAX_BYTES / 2)), Outcome::Changed);
    assert_eq!(press(&mut editor, "<ctrl-w><ctrl-y>"), Outcome::Changed);
    assert_eq!(press(&mut editor, "<ctrl-y><ctrl-y>"), Outcome::TooLarge);
    let mut editor = Editor::new(Options {
        vim: true,
        ..options()
    });
    assert_eq!(
        press(&mut editor, "some words<esc>yy9999999999p"),
        Outcome::Changed
    );
    assert!(editor.text().len() < 2 * FOLD_ABOVE);
    let outcomes = [0; 8].map(|_| press(&mut editor, "ggyGP"));
    assert_eq!(outcomes[7], Outcome::TooLarge);
    assert!(editor.text().len() <= MAX_SHOWN);
}

#[test]
fn pictures_ride_along() {
    let image = |data: &str| Image {
        media_type: "image/png".into(),
        data: data.into(),
    };
    let mut editor = Editor::new(Options::default());
    editor.attach_image(image("one"), "1024×768");
    editor.attach_image(image("two"), "bad\n\u{1b}label");
    assert_eq!(editor.text(), "[image #1 1024×768][image #2 bad⏎␛label]");
    press(&mut editor, " see<ctrl-a><right><ctrl-k><ctrl-y><ctrl-y>");
    assert_eq!(editor.draft().as_deref(), Some(" see see"));
    let sent = editor.take();
    assert_eq!(sent.images, [image("one"), image("two")]);
    assert_eq!(sent.text, sent.shown);
    // Only the last prompt can be sent again with its pictures.
    press(&mut editor, "<up>");
    assert_eq!(editor.take(), sent);
    press(&mut editor, "x");
    editor.take();
    press(&mut editor, "<up><up>");
    assert_eq!(editor.take().images, []);
}

#[test]
fn a_text_comes_back_from_an_editor_outside() {
    let mut editor = editor("see {one\ntwo} and {three}|", options());
    assert_eq!(editor.expanded(), "see one\ntwo and three");
    editor.set_expanded("look: one\r\ntwo or 3");
    assert_eq!(state(&editor), "look: [P1] or 3|");
    assert_eq!(editor.expanded(), "look: one\ntwo or 3");
    press(&mut editor, "<ctrl-_>");
    assert_eq!(editor.text(), "see [P1] and [P2]");
    editor.set_text(&"long ".repeat(10_000));
    assert_eq!(editor.text(), "[P3]");
    assert_eq!(editor.take().text.len(), 50_000);
}

#[test]
fn a_draft_survives() {
    let mut before = editor("a {long\npaste}|", options());
    let draft = before.draft().unwrap();
    let mut after = Editor::new(options());
    after.restore(&draft);
    assert_eq!(after.take().text, before.take().text);
    assert_eq!(
        (after.draft(), Editor::new(options()).draft()),
        (None, None)
    );
}

#[test]
fn menus_see_the_word_and_replace_it() {
    for (before, word) in [
        ("see @src/li|", "@src/li"),
        ("/mo|del", "/mo"),
        ("{chip}@a|", "@a"),
        ("a |", ""),
        ("a\n@b|", "@b"),
        ("|", ""),
    ] {
        let mut editor = editor(before, options());
        let (range, got) = editor.word_before_caret();
        assert_eq!(got, word, "{before}");
        editor.replace_word(range, "NEW ");
        let expect = before
            .replace("{chip}", "[P1]")
            .replace(&format!("{word}|"), "NEW |");
        assert_eq!(state(&editor), expect);
    }
    let mut editor = editor("see @li|", options());
    let (range, _) = editor.word_before_caret();
    editor.replace_with_chip(range, "@lib.rs", "@src/lib.rs");
    press(&mut editor, "!<left><left>.");
    assert_eq!(state(&editor), "see .|@lib.rs!");
    assert_eq!(editor.take().text, "see .@src/lib.rs!");
    // A menu that is late with its range harms nothing.
    editor.replace_word(7..90, "é");
    editor.replace_word(1..1, "x");
    assert_eq!(editor.text(), "xé");
}

#[test]
fn outcomes() {
    for (before, pressed, expect) in [
        ("|", "a", Outcome::Changed),
        ("a|", "<left>", Outcome::Moved),
        ("|a", "<left>", Outcome::Ignored),
        ("|", "<ctrl-d>", Outcome::Leave),
        ("a|", "<ctrl-d>", Outcome::Ignored),
        ("|", "<enter>", Outcome::Ignored),
        (" \n |", "<enter>", Outcome::Ignored),
        ("a|", "<enter>", Outcome::Submit),
        ("|a\\", "<enter>", Outcome::Submit),
        ("a\\\\|", "<enter>", Outcome::Submit),
        ("|", "<backspace>", Outcome::Ignored),
        ("a|", "<esc>", Outcome::Ignored),
        ("a|", "<tab>", Outcome::Ignored),
        ("a|", "<ctrl-t>", Outcome::Ignored),
        ("|", "<ctrl-y>", Outcome::Ignored),
        ("|", "<ctrl-r>", Outcome::Moved),
        ("|", "<ctrl-r>x<esc>", Outcome::Moved),
    ] {
        let mut editor = editor(before, options());
        // Nothing of how the state was made is to be taken back.
        assert_eq!(press(&mut editor, pressed), expect, "{before} {pressed}");
    }
}

#[test]
fn bound_keys_work() {
    let mut keys = KeyMap::default();
    keys.bind("submit", &["ctrl-s"]).unwrap();
    keys.bind("newline", &["enter"]).unwrap();
    let mut editor = Editor::new(Options { keys, ..options() });
    assert_eq!(press(&mut editor, "a<enter>b<ctrl-s>"), Outcome::Submit);
    assert_eq!(editor.take().text, "a\nb");
}

#[test]
fn vim_moves() {
    for (before, pressed, after) in [
        ("one| two", "h", "on|e two"),
        ("|one", "3l", "on|e"),
        ("|one", "lh", "|one"),
        ("one\n|two", "h", "one\n|two"),
        ("|one two.three x", "w", "one |two.three x"),
        ("|one two.three x", "3w", "one two.|three x"),
        ("|one two.three x", "2W", "one two.three |x"),
        ("one two|", "bb", "|one two"),
        ("|one two.x", "e", "on|e two.x"),
        ("|one two.x", "2e", "one tw|o.x"),
        ("|one two.x", "2E", "one two.|x"),
        ("one\n\n|two", "b", "one\n|\ntwo"),
        ("|one\n\ntwo", "ww", "one\n\n|two"),
        ("  one t|wo", "0", "|  one two"),
        ("  one t|wo", "^", "  |one two"),
        ("|one two", "$", "one tw|o"),
        ("one\ntwo\n|six", "gg", "|one\ntwo\nsix"),
        ("|one\ntwo\n  six", "G", "one\ntwo\n  |six"),
        ("|one\ntwo\nsix", "2G", "one\n|two\nsix"),
        ("one\nt|wo", "k", "o|ne\ntwo"),
        ("o|ne\ntwo", "j", "one\nt|wo"),
        ("|one\ntwo", "$j", "one\ntw|o"),
        ("|a.b.c", "f.", "a|.b.c"),
        ("|a.b.c", "2f.", "a.b|.c"),
        ("|a.b.c", "t.", "|a.b.c"),
        ("|ab.b.c", "t.", "a|b.b.c"),
        ("a.b.|c", "F.", "a.b|.c"),
        ("a.b.|c", "2F.", "a|.b.c"),
        ("a.bb|c", "T.", "a.|bbc"),
        ("|a.b.c", "f.;", "a.b|.c"),
        ("|a.b.c", "f.;,", "a|.b.c"),
        ("|abc", "fz", "|abc"),
        ("|one", "k", "thir|d"),
        ("|one", "kj", "on|e"),
        ("{chip}| x", "b", "|[P1] x"),
    ] {
        check_vim(before, pressed, after);
    }
}

#[test]
fn vim_changes() {
    for (before, pressed, after) in [
        ("o|ne", "x", "o|e"),
        ("on|e", "x", "o|n"),
        ("|one", "9x", "|"),
        ("on|e", "X", "o|e"),
        ("|one two", "dw", "|two"),
        ("|one two three", "2dw", "|three"),
        ("|one two three", "d2w", "|three"),
        ("|a b c d e f g", "2d3w", "|g"),
        ("one |two\nx", "dw", "one| \nx"),
        ("|one two", "de", "| two"),
        ("one tw|o", "db", "one |o"),
        ("one |two", "d0", "|two"),
        ("one |two", "D", "one| "),
        ("one |two", "d$", "one| "),
        ("|one two", "cwx", "x| two"),
        ("|one  two", "cwx<esc>", "|x  two"),
        ("|one two three", "c2wx", "x| three"),
        ("one |two", "Cx", "one x|"),
        ("one\nt|wo\nsix", "dd", "one\n|six"),
        ("one\ntwo\ns|ix", "dd", "one\n|two"),
        ("|one", "dd", "|"),
        ("|one\ntwo\nsix", "2dd", "|six"),
        ("|one\ntwo\nsix", "dj", "|six"),
        ("one\ntwo\n|six", "dk", "|one"),
        ("one\n|two\nsix", "dG", "|one"),
        ("one\n|two\nsix", "dgg", "|six"),
        ("one\n|two\nsix", "ccx", "one\nx|\nsix"),
        ("one\n|two\nsix", "Sx<esc>", "one\n|x\nsix"),
        ("|one\ntwo", "yyp", "one\n|one\ntwo"),
        ("|one\ntwo", "yyjP", "one\n|one\ntwo"),
        ("|one\ntwo", "Y2p", "one\n|one\none\ntwo"),
        ("|one\ntwo", "ddp", "two\n|one"),
        ("|one two", "yw$p", "one twoone| "),
        ("|one two", "dwP", "one| two"),
        ("|ab", "xp", "b|a"),
        ("a|.b.c", "df.", "a|c"),
        ("|a.b", "dt.", "|.b"),
        ("|ab.c", "df.", "|c"),
        ("ab.|c", "dF.", "ab|c"),
        ("one t|wo three", "diw", "one | three"),
        ("one t|wo three", "daw", "one |three"),
        ("one t|wo", "daw", "on|e"),
        ("one t|wo.x y", "ciWnew", "one new| y"),
        ("one t|wo", "ciwx<esc>", "one |x"),
        ("one t|wo", "yiwP", "one tw|otwo"),
        ("o|ne", "rx", "o|xe"),
        ("o|ne", "2rx", "ox|x"),
        ("|one", "~~", "ON|e"),
        ("|one\n  two", "J", "one| two"),
        ("o|ne", "sX", "oX|e"),
        ("a {long}| b", "hx", "a | b"),
        ("|one two", "dwu", "|one two"),
        ("|one two", "dwu<ctrl-r>", "|two"),
        ("|one two three", "dwdwuu", "|one two three"),
        ("|one two three", "dw.", "|three"),
        ("|a b", "ix y<esc>u", "|a b"),
        ("|one two", "cwx y<esc>w.", "x y x |y"),
        ("|abc", "d<esc>x", "|bc"),
        ("|abc", "dqx", "|bc"),
        ("|abc", "qzZ", "|abc"),
    ] {
        check_vim(before, pressed, after);
    }
}

#[test]
fn vim_modes() {
    for (before, pressed, after) in [
        ("a|bc", "ix", "ax|bc"),
        ("a|bc", "ax", "abx|c"),
        ("  a|bc", "Ix", "  x|abc"),
        ("a|bc", "Ax", "abcx|"),
        ("a|bc\nd", "ox", "abc\nx|\nd"),
        ("a|bc\nd", "Ox", "x|\nabc\nd"),
        ("|", "ix<esc>", "|x"),
        ("|abc", "ix<esc>x", "|abc"),
        ("|one two", "vld", "|e two"),
        ("|one two", "ved", "| two"),
        ("one t|wo", "viwcx", "one x|"),
        ("one t|wo x", "vawd", "one |x"),
        ("one\nt|wo\nsix", "Vd", "one\n|six"),
        ("o|ne\ntwo\nsix", "Vjd", "|six"),
        ("|one", "vly$p", "oneo|n"),
        ("o|ne", "vlohd", "|"),
        ("|one", "v<esc>x", "|ne"),
        ("o|ne", "<backspace>x", "|ne"),
        ("|one", "<ctrl-e>", "on|e"),
    ] {
        check_vim(before, pressed, after);
    }
    let mut editor = Editor::new(Options {
        vim: true,
        ..options()
    });
    assert_eq!(editor.mode(), Some(Mode::Insert));
    assert_eq!(press(&mut editor, "ab<esc>"), Outcome::Moved);
    assert_eq!(press(&mut editor, "<esc>"), Outcome::Ignored);
    assert_eq!(press(&mut editor, "2"), Outcome::Moved);
    assert_eq!(press(&mut editor, "<enter>"), Outcome::Submit);
    editor.take();
    assert_eq!(editor.mode(), Some(Mode::Insert));
    assert_eq!(press(&mut editor, "<ctrl-d>"), Outcome::Leave);
}

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

#[derive(Clone, Debug)]
enum Step {
    Keys(String),
    Paste(String),
    Image,
    View(usize, usize),
}

fn any_key() -> impl Strategy<Value = String> {
    let named = ACTIONS.iter().flat_map(|row| row.keys.iter());
    let named: Vec<String> = named
        .chain(&["esc", "tab", "ctrl-g", "ctrl-r", "pageup"])
        .map(|name| format!("<{name}>"))
        .collect();
    let letters = "abc xwe.0^$dycpPiaIAoOuGgfFtTvVJr~hjkl;,WBE2中é\u{301}\u{200d}👩🇩\t\\";
    let letters: Vec<String> = letters.chars().map(String::from).collect();
    prop_oneof![
        proptest::sample::select(named),
        proptest::sample::select(letters.clone()),
        proptest::sample::select(letters),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    let text = "[a-c \\n\\r\\t\u{301}\u{200d}👩🇩中\u{1b}\u{202e}\u{e0041}]{0,12}";
    prop_oneof![
        12 => any_key().prop_map(Step::Keys),
        2 => text.prop_map(Step::Paste),
        1 => "[a-c\\n]{15}".prop_map(|s| Step::Paste(s.repeat(80))),
        1 => Just(Step::Image),
        2 => (1_usize..50, 1_usize..6).prop_map(|(c, r)| Step::View(c, r)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn anything_goes(steps in proptest::collection::vec(any_step(), 0..60), vim: bool, long_labels: bool) {
        let mut options = Options { vim, ..options() };
        if long_labels {
            options.labels = Labels::default();
        }
        let mut editor = Editor::new(options);
        for step in steps {
            match step {
                Step::Keys(pressed) => {
                    if press(&mut editor, &pressed) == Outcome::Submit {
                        let whole = editor.expanded();
                        prop_assert_eq!(editor.take().text, whole);
                    }
                }
                Step::Paste(text) => {
                    editor.paste(text);
                }
                Step::Image => {
                    let image = Image { media_type: String::new(), data: String::new() };
                    editor.attach_image(image, "2×2");
                }
                Step::View(columns, max_rows) => {
                    fits(&editor, columns.max(2), max_rows);
                    editor.view(columns, max_rows, &Theme::default());
                }
            }
            holds(&editor);
            prop_assert_eq!(editor.mode().is_some(), vim);
        }
    }

    #[test]
    fn undo_takes_everything_back(steps in proptest::collection::vec(any_step(), 0..40)) {
        let mut editor = Editor::new(options());
        for step in steps {
            match step {
                Step::Keys(pressed) => { press(&mut editor, &pressed); }
                Step::Paste(text) => { editor.paste(text); }
                Step::Image | Step::View(..) => {}
            }
        }
        press(&mut editor, "<esc>");
        // What was undone before is done again first: the end of the way, then the start of it.
        while press(&mut editor, "<alt-_>") == Outcome::Changed {}
        let last = editor.buffer.piece().clone();
        let mut count = 0;
        while press(&mut editor, "<ctrl-_>") == Outcome::Changed {
            count += 1;
        }
        prop_assert_eq!(editor.text(), "");
        for _ in 0..count {
            press(&mut editor, "<alt-_>");
        }
        prop_assert_eq!(editor.buffer.piece(), &last);
    }

    #[test]
    fn it_agrees_with_a_list_of_letters(pressed in proptest::collection::vec(
        proptest::sample::select(vec!["a", "b", "中", " ", "<left>", "<right>", "<backspace>", "<delete>",
            "<ctrl-a>", "<ctrl-e>", "<ctrl-u>", "<ctrl-k>", "<ctrl-j>", "<paste>"]), 0..80))
    {
        let mut editor = Editor::new(options());
        let (mut before, mut after): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let long = "long ".repeat(300);
        for key in pressed {
            let start = before.iter().rposition(|s| s == "\n").map_or(0, |i| i + 1);
            let end = after.iter().position(|s| s == "\n").unwrap_or(after.len());
            match key {
                "<left>" => after.splice(0..0, before.pop()).for_each(drop),
                "<right>" => before.extend(after.drain(..after.len().min(1))),
                "<backspace>" => drop(before.pop()),
                "<delete>" => drop(after.drain(..after.len().min(1))),
                "<ctrl-a>" => after.splice(0..0, before.drain(start..)).for_each(drop),
                "<ctrl-e>" => before.extend(after.drain(..end)),
                "<ctrl-u>" if start == before.len() => drop(before.pop()),
                "<ctrl-u>" => before.truncate(start),
                "<ctrl-k>" => drop(after.drain(..end.max(1).min(after.len()))),
                "<ctrl-j>" => before.push("\n".into()),
                "<paste>" => before.push(long.clone()),
                letter => before.push(letter.into()),
            }
            match key {
                "<paste>" => drop(editor.paste(long.clone())),
                key => drop(press(&mut editor, key)),
            }
        }
        prop_assert_eq!(editor.take().text, [before.concat(), after.concat()].concat());
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
