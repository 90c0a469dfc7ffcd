//! Vim's modes, motions and changes.

use super::*;

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
