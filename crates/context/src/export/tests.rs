//! A small session with everything that could escape from its document.

use super::*;
use crate::testing::{answer, called, numbered, result, said, tool_use, user};
use ostler_wire::{Body, ErrorEntry, Interrupted, Message, Notice, Usage};
use serde_json::{Value, json};

fn session() -> Vec<Entry> {
    numbered([
        user("Fix <b> & \"it\"\nplease"),
        answer(vec![called("a")]),
        tool_use("a", "x", json!({"text": "```\ncode\n```"})),
        Body::Usage(Usage::default()),
        result("a", "</pre><script>alert(1)</script>"),
        Body::Message(Message::note("[Again.]")),
        answer(vec![said("Done.\u{1b}[2J")]),
        Body::Notice(Notice { text: "cut".into() }),
        Body::Error(ErrorEntry {
            kind: "auth".into(),
            message: "no key".into(),
            details: None,
        }),
        Body::Interrupted(Interrupted::default()),
    ])
}

#[test]
fn as_markdown() {
    insta::assert_snapshot!(markdown(&session()), @r#"
    # Fix <b> & "it"

    ## User

    Fix <b> & "it"
    please

    ### x

    ```json
    {"text":"```\ncode\n```"}
    ```

    ```
    {"text":"</pre><script>alert(1)</script>"}
    ```

    > [Again.]

    ## Assistant

    Done.\u{1b}[2J

    > cut

    > Error (auth): no key

    > Interrupted
    "#);
}

#[test]
fn as_html_without_scripts() {
    let page = html(&session());
    assert!(
        !page.contains("<script") && !page.contains('\u{1b}'),
        "{page}"
    );
    let (_, body) = page.split_once("<body>").unwrap();
    insta::assert_snapshot!(body, @r#"
    <h1>Fix &lt;b&gt; &amp; &quot;it&quot;</h1>
    <section class="user"><h2>User</h2><pre>Fix &lt;b&gt; &amp; &quot;it&quot;
    please</pre></section>
    <section class="call"><h2>x</h2><pre>{&quot;text&quot;:&quot;```\ncode\n```&quot;}</pre></section>
    <section class="result"><h2>Result</h2><pre>{&quot;text&quot;:&quot;&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;}</pre></section>
    <section class="note"><h2>Note</h2><pre>[Again.]</pre></section>
    <section class="assistant"><h2>Assistant</h2><pre>Done.\u{1b}[2J</pre></section>
    <section class="note"><h2>Notice</h2><pre>cut</pre></section>
    <section class="error"><h2>Error</h2><pre>no key</pre></section>
    <section class="note"><h2>Interrupted</h2><pre></pre></section>
    </body></html>
    "#);
}

#[test]
fn as_json_it_is_the_log() {
    let entries: Vec<Value> = serde_json::from_str(&json(&session())).unwrap();
    assert_eq!(entries.len(), session().len());
    for (value, entry) in entries.iter().zip(session()) {
        assert_eq!(Entry::from_line(&value.to_string(), 99).unwrap(), entry);
    }
    assert_eq!(
        serde_json::from_str::<Value>(&json(&[])).unwrap(),
        json!([])
    );
}

#[test]
fn fences_are_longer_than_any_in_the_text() {
    for (text, expect) in [
        ("plain\n", "```\nplain\n```"),
        ("```\nx\n```", "````\n```\nx\n```\n````"),
        ("  ``````", "```````\n  ``````\n```````"),
    ] {
        assert_eq!(fenced(text, ""), expect);
    }
}
