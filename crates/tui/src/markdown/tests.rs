//! What is shown of markdown, whole and in pieces.

use super::*;
use crate::testing::{marked, plain};
use crate::theme::Look;
use insta::assert_snapshot;
use proptest::prelude::*;

const MONO: Theme = Theme::new(Look::Mono);

fn check(source: &str, columns: usize, expect: &str) {
    let rows = render(source, columns, &MONO);
    assert_eq!(plain(&rows), expect, "{source}");
}

#[test]
fn every_element_at_every_width_and_look() {
    for (look, columns) in [
        (Look::Dark, 80),
        (Look::Light, 120),
        (Look::Ansi, 80),
        (Look::Mono, 40),
    ] {
        let name = format!("document_{}_{columns}", look.name());
        assert_snapshot!(name, marked(&render(DOC, columns, &Theme::new(look))));
    }
}

#[test]
fn rows_fit() {
    for columns in [20, 40, 80, 120, 300] {
        for row in render(DOC, columns, &MONO) {
            assert!(row.width() <= columns, "{columns}: {}", row.text());
        }
    }
}

#[test]
fn what_is_not_closed_is_text() {
    for (source, expect) in [
        ("**bold", "**bold\n"),
        ("a [link](http://x", "a [link](http://x\n"),
        ("`code", "`code\n"),
        ("```rust\nlet x;", "  rust\n  let x;\n"),
        ("```rust", "  rust\n"),
        ("| a |\n|", "| a |\n|\n"),
        ("- ", "• \n"),
        ("> ", ""),
        ("&#27;[31m", "␛[31m\n"),
    ] {
        check(source, 40, expect);
    }
}

#[test]
fn tables_too_wide_become_fields() {
    check(
        "| alpha | beta | gamma | delta | epsilon | zeta |\n|-|-|-|-|-|-|\n| 1 | two<br>lines | 3 | 4 | 5 | |\n",
        40,
        "alpha: 1\nbeta: two lines\ngamma: 3\ndelta: 4\nepsilon: 5\nzeta: \n",
    );
}

#[test]
fn numbers_go_on_where_a_list_was_interrupted() {
    check(
        "1. a\n1. b\n```\nx\n```\n7. c\n7. d",
        40,
        "1. a\n2. b\n\n  x\n\n7. c\n8. d\n",
    );
}

#[test]
fn a_fence_is_final_line_by_line_and_a_paragraph_at_its_end() {
    let mut stream = Stream::new();
    let mut log = String::new();
    for delta in [
        "one\n",
        "two",
        "\n\n```rust\nlet a",
        " = 1;\nlet b",
        "\n```\n",
        "- x\n- y\n",
        "# z",
    ] {
        stream.push(delta);
        log.push_str(&format!(
            "{delta:?}\n= {:?}\n~ {:?}\n",
            plain(&stream.take_done(40, &MONO)),
            plain(&stream.live(40, &MONO, 3))
        ));
    }
    stream.finish();
    log.push_str(&format!("= {:?}", plain(&stream.take_done(40, &MONO))));
    assert!(stream.is_empty());
    assert_snapshot!(log, @r##"
    "one\n"
    = ""
    ~ "one\n"
    "two"
    = ""
    ~ "one\ntwo\n"
    "\n\n```rust\nlet a"
    = "one\ntwo\n\n  rust\n"
    ~ "  let a\n"
    " = 1;\nlet b"
    = "  let a = 1;\n"
    ~ "  let b\n"
    "\n```\n"
    = "  let b\n"
    ~ ""
    "- x\n- y\n"
    = "\n• x\n"
    ~ "• y\n"
    "# z"
    = ""
    ~ "• y\n\nz\n"
    = "• y\n\nz\n"
    "##);
}

#[test]
fn what_drives_a_terminal_is_shown() {
    let evil = "\u{1b}]0;t\u{7}\u{1b}[2J\u{9b}1m\u{202e}\u{200b}";
    for source in [
        evil.to_owned(),
        format!("# {evil}"),
        format!("- {evil}\n  - {evil}"),
        format!("> {evil}"),
        format!("`{evil}` **{evil}** ~~{evil}~~"),
        format!("[{evil}](http://{evil})"),
        format!("![{evil}](http://{evil})"),
        format!("<{evil}> <b {evil}>"),
        format!("<div {evil}>\n{evil}"),
        format!("|{evil}|b|\n|-|-|\n|{evil}|{evil}|"),
        format!("```{evil}\n{evil}\n```"),
        format!("```rust\n\"{evil}\" // {evil}\n```"),
        format!("    {evil}"),
        format!("- ```{evil}\n  {evil}\n  ```"),
        format!("[{evil}]: {evil}"),
        "&#27;[2J &#x9b;2J &#x202e;".to_owned(),
    ] {
        for row in render(&source, 40, &MONO) {
            let text = row.text();
            assert!(
                !text.chars().any(|c| c.is_control() || c == '\u{202e}'),
                "{source:?}: {text:?}"
            );
        }
    }
}

#[test]
fn much_is_cut_and_said() {
    let cut = |source: &str| {
        let rows = render(source, 80, &MONO);
        let last = rows.iter().rev().find(|row| row.text().contains('…'));
        (
            rows.len(),
            last.map(|row| row.text().trim().to_owned())
                .unwrap_or_default(),
        )
    };
    let line = "word ".repeat(2_000_000);
    let (rows, note) = cut(&line);
    assert!(rows < 500, "{rows}");
    assert!(note.contains("[… +9,967,232 B]"), "{note}");
    let table = format!("| a | b |\n|---|---|\n{}", "| 1 | 2 |\n".repeat(10_000));
    assert_eq!(cut(&table), (503, "… 9,500 more rows".into()));
    let code = format!("```rust\n{}```", "let x = 1;\n".repeat(10_020));
    assert_eq!(cut(&code), (10_002, "… 20 more lines".into()));
    // Cut into blocks, but nothing is missing and nothing stands between them.
    let (rows, _) = cut(&"a paragraph\n".repeat(20_000));
    assert_eq!(rows, 20_000);
}

#[test]
fn nesting_is_bounded() {
    for source in [
        "> ".repeat(8_000) + "a",
        "- ".repeat(8_000) + "a",
        (0..300)
            .map(|n| format!("{}- a\n", " ".repeat(2 * n)))
            .collect(),
        "*".repeat(30_000) + "a",
        "[".repeat(30_000) + "a",
        "`".repeat(30_000) + "a",
        "|".repeat(10_000) + "\n" + &"|-".repeat(10_000) + "\n|a",
        "<b>".repeat(10_000),
        "[a](".repeat(8_000),
        "![".repeat(10_000),
        "**a **a".repeat(4_000),
        "[a]: b\n".repeat(5_000),
    ] {
        let rows = render(&source, 40, &MONO);
        assert!(rows.len() < 12_000, "{} rows", rows.len());
        for row in rows {
            assert!(row.width() <= 40, "{}", row.text());
        }
    }
}

/// Text out of what matters to markdown, and anything else.
fn source() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "\n", "\n\n", "```\n", "```rust\n", "~~~\n", "- ", "* ", "1. ", "2) ", "  ", "    ", "> ", "# ", "---\n",
            "===\n", "|", "| a | b |\n|---|---|\n", "**", "*", "`", "[a](b)", "![a](b)", "[x]: y\n", "<b>", "<br>",
            "~~", "\\", "&#27;", "中文", "\u{1b}[31m", "\t", "\r\n", "- [x] ", "word ", "let x = \"s\";\n", "[", "](",
        ]).prop_map(str::to_owned),
        1 => ".{0,12}",
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn cutting_makes_no_difference(
        source in source(),
        cuts in prop::collection::vec((1_usize..9, any::<bool>()), 1..20),
        columns in 20_usize..100,
    ) {
        let whole = render(&source, columns, &MONO);
        let mut stream = Stream::new();
        let mut rows = Vec::new();
        let mut chars = source.chars();
        for (count, draws) in cuts.iter().cycle() {
            let delta: String = chars.by_ref().take(*count).collect();
            if delta.is_empty() {
                break;
            }
            stream.push(&delta);
            if *draws {
                rows.extend(stream.take_done(columns, &MONO));
                let live = stream.live(columns, &MONO, usize::MAX);
                let upto = whole.len().min(rows.len());
                prop_assert_eq!(&rows[..], &whole[..upto]);
                prop_assert!(live.iter().all(|row| row.width() <= columns));
            }
        }
        let live = stream.live(columns, &MONO, usize::MAX);
        stream.finish();
        let rest = stream.take_done(columns, &MONO);
        prop_assert_eq!(&live, &rest);
        rows.extend(rest);
        prop_assert_eq!(rows, whole);
    }

    #[test]
    fn words_are_never_lost(source in source(), columns in 20_usize..100) {
        let rows = render(&source, columns, &MONO);
        // Code is folded within words, behind its indentation.
        let mut shown: String = rows.iter().map(Line::text).collect();
        shown.retain(|c| !matches!(c, ' ' | '│'));
        prop_assert!(rows.iter().all(|row| row.width() <= columns));
        let count = |text: &str| text.matches("word").count();
        prop_assert_eq!(count(&shown), count(&source));
    }
}

const DOC: &str = r#"# Title *here*

A paragraph with **bold**, *italic*, ~~gone~~, `code` and a [link](https://example.org/a),
the same as <https://example.org>. It is long enough to wrap at eighty columns of text.
Hard break\
here.

Setext
------

- one
- two with a text that is long enough to be wrapped at forty columns
  - nested **deep**
    1. ordered
    2. more
- [x] done
- [ ] open

3. three
1. four

   second paragraph

   ```rust
   fn main() { println!("hi"); } // c
   ```

> quoted text
> > nested
>
> - item

> [!NOTE]
> careful

| Name | 中文 | Right |
|------|:----:|------:|
| a | 一 | 1 |
| a much longer cell with words | 二二 | 12345 |

```python
def f(x):
    return "s" + str(1)  # c
```

---

![a cat](cat.png) and ![](dog.png)

<div>raw <b>html</b></div>

Footnote[^1] and ref [x][1].

[^1]: the note
[1]: https://example.org

    indented code

last **unclosed and [link](
"#;
