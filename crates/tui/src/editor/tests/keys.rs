//! Typing, moving, erasing, history and search; what a key leads to.

use super::*;

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
