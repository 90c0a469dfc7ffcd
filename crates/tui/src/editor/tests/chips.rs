//! Pastes and pictures as chips, texts from outside, drafts, and the words that menus see.

use super::*;

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
