//! Cells of notebooks: every byte outside of the edited cell stays.

use super::*;

const BOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title\n",
    "caf\u00e9"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "calc",
   "metadata": {"x": 1.0e0},
   "outputs": [
    {"name": "stdout", "output_type": "stream", "text": ["1\n"]}
   ],
   "source": [
    "print(1)"
   ]
  }
 ],
 "metadata": { "odd" : 1.50 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

fn diff(text: &str, cell: Option<&str>, change: Change<'_>) -> String {
    let edited = edit(text, cell, change).unwrap();
    let diff = crate::builtin::files::diff::unified(text, &edited.text, 10_000);
    format!("cell {} of {}\n{diff}", edited.index, edited.cells)
}

#[test]
fn replacing_clears_the_outputs_and_nothing_else() {
    let change = Change::Replace {
        source: "x = 'é'\nprint(x)",
        kind: None,
    };
    let by_index = diff(BOOK, Some("1"), change);
    assert_eq!(by_index, diff(BOOK, Some("calc"), change));
    insta::assert_snapshot!(by_index, @r#"
    cell 1 of 2
    @@ -11,14 +11,13 @@
       },
       {
        "cell_type": "code",
    -   "execution_count": 7,
    +   "execution_count": null,
        "id": "calc",
        "metadata": {"x": 1.0e0},
    -   "outputs": [
    -    {"name": "stdout", "output_type": "stream", "text": ["1\n"]}
    -   ],
    +   "outputs": [],
        "source": [
    -    "print(1)"
    +    "x = 'é'\n",
    +    "print(x)"
        ]
       }
      ],
    "#);
}

#[test]
fn a_cell_can_change_its_kind() {
    let to_text = Change::Replace {
        source: "now text",
        kind: Some("markdown"),
    };
    insta::assert_snapshot!(diff(BOOK, Some("calc"), to_text), @r#"
    cell 1 of 2
    @@ -10,15 +10,11 @@
        ]
       },
       {
    -   "cell_type": "code",
    -   "execution_count": 7,
    +   "cell_type": "markdown",
        "id": "calc",
        "metadata": {"x": 1.0e0},
    -   "outputs": [
    -    {"name": "stdout", "output_type": "stream", "text": ["1\n"]}
    -   ],
        "source": [
    -    "print(1)"
    +    "now text"
        ]
       }
      ],
    "#);
    let to_code = Change::Replace {
        source: "",
        kind: Some("code"),
    };
    insta::assert_snapshot!(diff(BOOK, Some("intro"), to_code), @r##"
    cell 0 of 2
    @@ -1,13 +1,12 @@
     {
      "cells": [
       {
    -   "cell_type": "markdown",
    +   "cell_type": "code",
    +   "execution_count": null,
        "id": "intro",
        "metadata": {},
    -   "source": [
    -    "# Title\n",
    -    "caf\u00e9"
    -   ]
    +   "outputs": [],
    +   "source": []
       },
       {
        "cell_type": "code",
    "##);
}

#[test]
fn cells_are_inserted() {
    let code = Change::Insert {
        source: "1+1",
        kind: "code",
    };
    let text = Change::Insert {
        source: "two\nlines",
        kind: "markdown",
    };
    insta::assert_snapshot!(diff(BOOK, Some("0"), code), @r#"
    cell 0 of 3
    @@ -1,6 +1,16 @@
     {
      "cells": [
       {
    +   "cell_type": "code",
    +   "execution_count": null,
    +   "id": "0a79cf16",
    +   "metadata": {},
    +   "outputs": [],
    +   "source": [
    +    "1+1"
    +   ]
    +  },
    +  {
        "cell_type": "markdown",
        "id": "intro",
        "metadata": {},
    "#);
    let at_end = diff(BOOK, None, text);
    assert_eq!(at_end, diff(BOOK, Some("2"), text));
    assert_eq!(at_end, diff(BOOK, Some("calc"), text));
    insta::assert_snapshot!(at_end, @r#"
    cell 2 of 3
    @@ -20,6 +20,15 @@
        "source": [
         "print(1)"
        ]
    +  },
    +  {
    +   "cell_type": "markdown",
    +   "id": "02ed99c2",
    +   "metadata": {},
    +   "source": [
    +    "two\n",
    +    "lines"
    +   ]
       }
      ],
      "metadata": { "odd" : 1.50 },
    "#);
}

#[test]
fn cells_are_deleted() {
    let first = edit(BOOK, Some("0"), Change::Delete).unwrap();
    let both = edit(&first.text, Some("calc"), Change::Delete).unwrap();
    let last = edit(BOOK, Some("1"), Change::Delete).unwrap();
    for (edited, cells, has, lacks) in [
        (&first, 1, "\"calc\"", "\"intro\""),
        (&last, 1, "\"intro\"", "\"calc\""),
        (
            &both,
            0,
            "\"cells\": [],\n \"metadata\": { \"odd\" : 1.50 }",
            "\"calc\"",
        ),
    ] {
        assert_eq!(edited.cells, cells);
        assert!(
            edited.text.contains(has) && !edited.text.contains(lacks),
            "{}",
            edited.text
        );
    }
    let again = edit(
        &both.text,
        None,
        Change::Insert {
            source: "x",
            kind: "raw",
        },
    )
    .unwrap();
    assert!(
        again
            .text
            .contains("\"cells\": [\n  {\n   \"cell_type\": \"raw\","),
        "{}",
        again.text
    );
}

#[test]
fn other_layouts_are_kept() {
    for (text, cell, change, expect) in [
        (
            r#"{"cells": [{"cell_type": "code", "source": "a", "outputs": [1]}], "nbformat": 4}"#,
            Some("0"),
            Change::Replace {
                source: "b\nc",
                kind: None,
            },
            r#"{"cells": [{"cell_type": "code", "source": "b\nc", "outputs": []}], "nbformat": 4}"#,
        ),
        (
            r#"{"nbformat":4,"cells":[{"cell_type":"raw","source":["a"]}]}"#,
            None,
            Change::Insert {
                source: "b",
                kind: "raw",
            },
            r#"{"nbformat":4,"cells":[{"cell_type":"raw","source":["a"]},{"cell_type": "raw", "metadata": {}, "source": ["b"]}]}"#,
        ),
        (
            r#"{"cells":[]}"#,
            None,
            Change::Insert {
                source: "",
                kind: "raw",
            },
            r#"{"cells":[{"cell_type": "raw", "metadata": {}, "source": []}]}"#,
        ),
        (
            "{\r\n\t\"cells\": [\r\n\t\t{\"cell_type\": \"raw\"}\r\n\t]\r\n}",
            Some("0"),
            Change::Replace {
                source: "a",
                kind: None,
            },
            "{\r\n\t\"cells\": [\r\n\t\t{\r\n\t\t\t\"cell_type\": \"raw\",\r\n\t\t\t\"source\": [\r\n\t\t\t\t\"a\"\r\n\t\t\t]\r\n\t\t}\r\n\t]\r\n}",
        ),
    ] {
        assert_eq!(edit(text, cell, change).unwrap().text, expect);
    }
}

#[test]
fn what_is_not_there_is_said() {
    for (text, cell, expect) in [
        (
            BOOK,
            Some("2"),
            "there is no cell `2`; the notebook has 2 cells, counted from 0",
        ),
        (
            BOOK,
            Some("-1"),
            "there is no cell `-1`; the notebook has 2 cells, counted from 0",
        ),
        (
            BOOK,
            None,
            "there is no cell (none was named); the notebook has 2 cells, counted from 0",
        ),
        (
            "[]",
            Some("0"),
            "it is not a notebook (invalid length 0, expected struct Notebook with 3 elements at line 1 column 2)",
        ),
        (
            "",
            Some("0"),
            "it is not a notebook (EOF while parsing a value at line 1 column 0)",
        ),
        (
            r#"{"cells":[1]}"#,
            Some("0"),
            "it is not a notebook (invalid type: integer `1`, expected a cell object at line 1 column 1)",
        ),
    ] {
        assert_eq!(
            edit(text, cell, Change::Delete).unwrap_err().to_string(),
            expect
        );
    }
}
