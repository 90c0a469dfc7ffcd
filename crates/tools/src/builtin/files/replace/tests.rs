//! The three ways to find the text that an edit means.

use super::*;

fn check(content: &str, old: &str, new: &str, expect: Result<(&str, Match), Miss>) {
    let edit = Replacement {
        old,
        new,
        expected: 1,
    };
    let got = replace(content, edit);
    let got = got
        .as_ref()
        .map(|r| (r.content.as_str(), r.found))
        .map_err(Clone::clone);
    assert_eq!(got, expect, "{content:?} {old:?} -> {new:?}");
}

#[test]
fn exact_comes_first() {
    use Match::Exact;
    for (content, old, new, expect) in [
        ("a b c", "b", "x", "a x c"),
        ("a b c", "b ", "", "a c"),
        ("one\ntwo\n", "two\n", "2\n3\n", "one\n2\n3\n"),
        ("no end", "end", "end\n", "no end\n"),
        ("日本語", "本", "x", "日x語"),
        // Lines added to CRLF files by someone who never wrote a CR.
        ("a\r\nb\r\n", "a", "a\nx", "a\r\nx\r\nb\r\n"),
        ("a\r\nb", "b", "b\nc", "a\r\nb\r\nc"),
        // A mixed file: the endings of the place, the rest untouched.
        ("a\r\nb\nc\r\n", "b", "x\ny", "a\r\nx\ny\nc\r\n"),
        ("a\r\nb\nc\r\n", "c", "x\ny", "a\r\nb\nx\r\ny\r\n"),
        // The endings are what is changed.
        ("a\r\nb\r\n", "a\r\n", "a\n", "a\nb\r\n"),
        ("a\nb\n", "a\n", "a\r\n", "a\r\nb\n"),
        // Else new lines follow the file.
        ("a\nb\n", "a", "a\r\nx", "a\nx\nb\n"),
        ("a\nb\nc\n", "b", "b1\r\nb2", "a\nb1\nb2\nc\n"),
        ("a\nb\n", "a\n", "x\r\ny\r\n", "x\ny\nb\n"),
    ] {
        check(content, old, new, Ok((expect, Exact)));
    }
}

#[test]
fn places_that_overlap_are_not_guessed_at() {
    let lines = |lines| Err(Miss::Overlap { lines });
    for (content, old, new, expect) in [
        ("aaa", "aa", "b", lines([1, 1])),
        ("f {\n}\n}\n}\n", "}\n}\n", "x\n", lines([2, 3])),
        ("f {\r\n}\r\n}\r\n}\r\n", "}\n}\n", "x\n", lines([2, 3])),
        ("日本日本日", "日本日", "x", lines([1, 1])),
    ] {
        check(content, old, new, expect);
    }
    for (content, old, new, expect) in [
        // Whichever is taken, the outcome is the same.
        ("a\n\n\nb", "\n\n", "\n", "a\n\nb"),
        ("aaa", "aa", "a", "aa"),
        ("aaa b", "a b", "x", "aax"),
        ("abab", "ba", "x", "axb"),
    ] {
        check(content, old, new, Ok((expect, Match::Exact)));
    }
}

#[test]
fn places_are_counted_without_overlap() {
    let edit = |content, expected| {
        let edit = Replacement {
            old: "aa",
            new: "b",
            expected,
        };
        replace(content, edit).map(|done| done.content)
    };
    assert_eq!(edit("aaaa", 2), Ok("bb".into()));
    assert_eq!(edit("aaaa aa", 3), Ok("bb b".into()));
    let found = |found, lines: &[usize]| {
        Err(Miss::Count {
            found,
            lines: lines.into(),
        })
    };
    assert_eq!(edit("aaaa", 1), found(2, &[1, 1]));
    assert_eq!(edit("aaaa", 3), found(2, &[1, 1]));
    // Two of these five letters could be either.
    assert_eq!(edit("aaaaa", 2), Err(Miss::Overlap { lines: [1, 1] }));
}

#[test]
fn a_match_within_the_indentation_is_indented_as_a_whole_or_refused() {
    use Match::Exact;
    let class = "class T:\n    def f(self):\n        a()\n";
    let body = |text: &str| format!("class T:\n    def f(self):\n{text}\n");
    for (old, new, expect) in [
        ("    a()", "    a()\n    b()", "        a()\n        b()"),
        (
            "    a()\n",
            "    if a:\n        a()\n\n    b()\n",
            "        if a:\n            a()\n\n        b()",
        ),
        ("  a()", "  b()", "        b()"),
        // With the indentation that the file has there, or the whole line.
        ("a()", "a()\n        b()", "        a()\n        b()"),
        (
            "a()",
            "if a:\n            a()",
            "        if a:\n            a()",
        ),
        (
            "        a()",
            "        a()\n    def g(self):\n        pass",
            "        a()\n    def g(self):\n        pass",
        ),
        ("a()", "b()", "        b()"),
        ("a()", "b()\n", "        b()\n"),
    ] {
        check(class, old, new, Ok((&body(expect), Exact)));
    }
    for new in [
        "a()\nb()",
        "if a:\n    a()",
        "if a:\n        a()",
        "a()\n\ndef g():\n    pass",
    ] {
        check(class, "a()", new, Err(Miss::Unclear { line: 3 }));
    }
    // Steps of two in a file with steps of four.
    check(
        class,
        "    a()",
        "    if a:\n      b()",
        Err(Miss::Unclear { line: 3 }),
    );
    check(
        "def f():\n    a()\n    b()\n",
        "  a()\n  b()",
        "  if a:\n    b()",
        Err(Miss::NotFound),
    );
    // Lines of `old` show that those of `new` have the indentation of the file.
    check(
        "    if a:\n        b()\n",
        "if a:\n        b()",
        "if a:\n        c()\n    d()",
        Ok(("    if a:\n        c()\n    d()\n", Exact)),
    );
}

#[test]
fn then_blanks_at_the_ends_of_lines() {
    use Match::TrailingBlanks;
    for (content, old, new, expect) in [
        (
            "def f():  \n    a()\n",
            "def f():\n    a()",
            "def f():\n    b()",
            "def f():  \n    b()\n",
        ),
        (
            "def f():\n    a()\n",
            "def f():  \n    a() ",
            "def f():\n    b()",
            "def f():\n    b()\n",
        ),
        ("a \nb\t\nc\n", "a\nb\nc\n", "a\nx\nc\n", "a \nx\nc\n"),
        ("a \nb\n", "a\nb", "a\nb\nc", "a \nb\nc\n"),
        ("a \nb\nc\n", "a\nb\n", "b\n", "b\nc\n"),
        ("x\n\n  \ny\n", "x\n\n\ny\n", "z\n", "z\n"),
        ("x = 1\n", "x = 1  ", "x = 2", "x = 2\n"),
        (
            "    x = 1\n    y = 2\n",
            "x = 1 \n    y = 2",
            "x = 3\n    y = 2",
            "    x = 3\n    y = 2\n",
        ),
        ("a \r\nb\r\n", "a\nb\n", "a\nc\n", "a \r\nc\r\n"),
    ] {
        check(content, old, new, Ok((expect, TrailingBlanks)));
    }
    for (content, old) in [
        ("a \nb\na\t\nb\n", "a\nb"),
        ("a \nbc\n", "a\nb"),
        ("xa \nb\n", "a\nb"),
        ("  \n", "   \n"),
    ] {
        check(content, old, "new", Err(Miss::NotFound));
    }
}

#[test]
fn tabs_never_become_no_indentation() {
    use Match::Indentation;
    let class = "class T:\n    def f(self):\n        a()\n        b()\n";
    check(
        class,
        "\t\ta()\n\t\tb()",
        "\t\ta()\n\t\tb()\n\n\tdef g(self):\n\t\tpass\n\ndef h():\n\tpass",
        Ok((
            "class T:\n    def f(self):\n        a()\n        b()\n\n    def g(self):\n        pass\n\ndef h():\n    pass\n",
            Indentation,
        )),
    );
    // One level less in the file than was sent, so that this line would have none.
    check(
        "  a()\n  b()\n",
        "\t\ta()\n\t\tb()",
        "\t\tc()\n\td()",
        Err(Miss::NotFound),
    );
}

#[test]
fn then_line_endings() {
    use Match::LineEndings;
    for (content, old, new, expect) in [
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"),
        ("a\r\nb\r\nc\r\n", "b\n", "", "a\r\nc\r\n"),
        ("a\r\nb\r\nc\r\n", "\nb", "", "a\r\nc\r\n"),
        ("a\nb\nc\n", "a\r\nb\r\n", "x\r\ny\r\n", "x\ny\nc\n"),
        ("a\nb\r\nc\nd\r\n", "b\nc\n", "x\n", "a\nx\r\nd\r\n"),
        ("a\r\nb\nc\n", "b\r\nc", "x\r\ny", "a\r\nx\ny\n"),
        // The file's last line is not ended, and stays so.
        ("a\nb", "b\n", "x\ny\n", "a\nx\ny"),
        ("a\r\nb\r\nc", "b\nc\n", "x\ny\n", "a\r\nx\r\ny"),
    ] {
        check(content, old, new, Ok((expect, LineEndings)));
    }
}

#[test]
fn then_indentation() {
    use Match::Indentation;
    for (content, old, new, expect) in [
        // Deeper in the file, shallower in the file.
        (
            "impl A {\n    fn f() {\n        x;\n    }\n}\n",
            "fn f() {\n    x;\n}\n",
            "fn f() {\n    y;\n\n    z;\n}\n",
            "impl A {\n    fn f() {\n        y;\n\n        z;\n    }\n}\n",
        ),
        (
            "if a:\n  b\n  c\n",
            "    b\n    c",
            "    b\n      d\n    c",
            "if a:\n  b\n    d\n  c\n",
        ),
        // Tabs in the file, spaces given, and the other way round.
        (
            "func f() {\n\tif a {\n\t\tb()\n\t}\n}\n",
            "    if a {\n        b()\n    }",
            "    if a {\n        for c {\n            b()\n        }\n    }",
            "func f() {\n\tif a {\n\t\tfor c {\n\t\t\tb()\n\t\t}\n\t}\n}\n",
        ),
        (
            "f:\n\tgo\n",
            "f:\n  go\n",
            "f:\n  if x:\n    go\n",
            "f:\n\tif x:\n\t\tgo\n",
        ),
        (
            "a {\n  b {\n    c\n  }\n}\n",
            "a {\n\tb {\n\t\tc\n",
            "a {\n\tb {\n\t\t\td\n",
            "a {\n  b {\n      d\n  }\n}\n",
        ),
        // Blank lines match blank lines.
        ("\tx\n\n\ty\n", "x\n   \ny\n", "x\ny\n", "\tx\n\ty\n"),
        // Endings of the file hold here too.
        ("\ta\r\n\tb\r\n", "a\nb\n", "a\nc\n", "\ta\r\n\tc\r\n"),
    ] {
        check(content, old, new, Ok((expect, Indentation)));
    }
}

#[test]
fn what_is_not_sure_is_not_done() {
    for (content, old) in [
        ("a\nb\n", "c"),
        // Not the same difference on every line.
        ("    a\n      b\n", "a\nb"),
        // Two places.
        ("  a\n    a\n", "\ta"),
        (
            "  a {\n    b\n  }\n      a {\n        b\n      }\n",
            "a {\n  b\n}",
        ),
        // Less indentation than there is to take away from `new`.
        ("a\nb\n", "    a\n    b"),
        ("a b\n", "  \n"),
        ("", "x"),
    ] {
        check(content, old, "new\nlines", Err(Miss::NotFound));
    }
}

#[test]
fn counts_must_agree() {
    let edit = |expected| Replacement {
        old: "x",
        new: "y",
        expected,
    };
    let miss = |found, lines: &[usize]| {
        Err(Miss::Count {
            found,
            lines: lines.into(),
        })
    };
    assert_eq!(replace("x\nx x\n", edit(1)), miss(3, &[1, 2, 2]));
    assert_eq!(replace("x\n", edit(2)), miss(1, &[1]));
    assert_eq!(replace("a\n", edit(2)), Err(Miss::NotFound));
    assert_eq!(
        replace("x\nx x\n", edit(3)).map(|r| r.content),
        Ok("y\ny y\n".into())
    );
    let crlf = Replacement {
        old: "x\nx",
        new: "y",
        expected: 1,
    };
    assert_eq!(replace("x\r\nx\r\nx\r\nx\r\n", crlf), miss(2, &[1, 3]));
    let many = "x\n".repeat(100);
    assert_eq!(
        replace(&many, edit(1)),
        miss(100, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    );
}

proptest::proptest! {
    /// Whatever is found, the lines around it keep their bytes.
    #[test]
    fn the_rest_is_untouched(before in "([ab]{0,3}\r?\n){0,4}", after in "(\r?\n[ab]{0,3}){0,4}", ending in "\r?\n") {
        let content = format!("{before}\tX{ending}\t\tY{after}");
        for old in ["X\n\tY", "\tX\n\t\tY", "\tX\r\n\t\tY", "  X\n    Y"] {
            let got = replace(&content, Replacement { old, new: "", expected: 1 }).unwrap();
            let start = got.content.strip_prefix(before.as_str()).unwrap();
            let middle = start.strip_suffix(after.as_str()).unwrap();
            proptest::prop_assert!(middle.trim().is_empty(), "{:?}", got);
        }
    }
}
