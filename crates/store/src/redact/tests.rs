//! What is taken out and what is not: in text, in entries, in streams cut anywhere.

use super::*;
use ostler_wire::{Body, Json, Message, Notice, ToolResult};
use proptest::prelude::*;

fn redactor(secrets: &[&str]) -> Redactor {
    let secrets: Vec<Secret> = secrets.iter().map(|s| Secret::new(*s)).collect();
    Redactor::new(&secrets)
}

fn clean(body: Body, secrets: &[&str]) -> Body {
    let entry = Entry {
        entry: 3,
        parent: Some(2),
        ts: "2026-11-15T10:20:04.704Z".into(),
        body,
    };
    let line = entry.to_line().unwrap();
    match redactor(secrets).entry(&line, 3) {
        Some((clean, line)) => {
            assert_eq!(
                (clean.entry, clean.parent, &clean.ts),
                (3, Some(2), &entry.ts)
            );
            assert_eq!(clean.to_line().unwrap(), line);
            clean.body
        }
        None => entry.body,
    }
}

#[test]
fn what_is_learned_later_goes_everywhere() {
    let redactor = redactor(&["sk-live-0123456789"]);
    let (clone, mut stream) = (redactor.clone(), redactor.stream());
    assert_eq!(stream.push(b"a token-1234 b"), &b"a token-1234 b"[..]);
    redactor.learn(["token-1234", "short", "sk-live-0123456789"]);
    assert_eq!(stream.push(b"a token-1234 b"), &b"a [redacted] b"[..]);
    assert_eq!(clone.text("token-1234 short".into()), "[redacted] short");
}

#[test]
fn exact_values_go_and_nothing_else() {
    let known = [
        "sk-live-0123456789",
        "short",
        " padded-key-1 \n",
        "a\"b\\c/d-long",
    ];
    for (text, expect) in [
        ("", ""),
        ("nothing here", "nothing here"),
        ("key: sk-live-0123456789!", "key: [redacted]!"),
        ("sk-live-012345678", "sk-live-012345678"),
        ("SK-LIVE-0123456789", "SK-LIVE-0123456789"),
        ("xsk-live-0123456789x", "x[redacted]x"),
        (
            "sk-live-0123456789sk-live-0123456789",
            "[redacted][redacted]",
        ),
        ("a short word", "a short word"),
        ("a padded-key-1", "a [redacted]"),
        ("a\"b\\c/d-long", "[redacted]"),
        (r#"{"k":"a\"b\\c/d-long"}"#, r#"{"k":"[redacted]"}"#),
        (r#"{"k":"a\"b\\c\/d-long"}"#, r#"{"k":"[redacted]"}"#),
        ("标题 sk-live-0123456789 é", "标题 [redacted] é"),
    ] {
        assert_eq!(redactor(&known).text(text.into()), expect);
    }
    assert_eq!(
        redactor(&["abcdefgh", "abcdefgh-longer"]).text("abcdefgh-longer abcdefgh".into()),
        "[redacted] [redacted]"
    );
}

#[test]
fn entries_stay_entries() {
    let key = "nvapi/secret-01";
    let note = |text: &str| Body::Notice(Notice { text: text.into() });
    assert_eq!(
        clean(note("a nvapi/secret-01 b"), &[key]),
        note("a [redacted] b")
    );
    // A line break before the rest of the key is no key, although it looks like one in JSON.
    let near = note("x\nvapi/secret-01");
    assert_eq!(clean(near.clone(), &[key]), near);

    let result = |output: &str| {
        Body::ToolResult(ToolResult {
            tool_use_id: "c1".into(),
            output: Json::from_text(output).unwrap(),
            ok: true,
            duration_ms: 12_345_678,
        })
    };
    for (output, expect) in [
        (
            r#"{"a": 1.0,"b":1e5 ,"c":"nvapi/secret-01"}"#,
            r#"{"a": 1.0,"b":1e5 ,"c":"[redacted]"}"#,
        ),
        (
            r#"{"nvapi/secret-01":"x\u0041"}"#,
            r#"{"[redacted]":"x\u0041"}"#,
        ),
        (r#"{"a":"nvapi\/secret-01"}"#, r#"{"a":"[redacted]"}"#),
        (
            r#"{"a":"{\"k\":\"nvapi\\/secret-01\"}"}"#,
            r#"{"a":"{\"k\":\"[redacted]\"}"}"#,
        ),
        (
            r#"{"a":"\ud800 nvapi/secret-01"}"#,
            r#"{"a":"\ud800 [redacted]"}"#,
        ),
    ] {
        assert_eq!(clean(result(output), &[key]), result(expect), "{output}");
    }
    // Numbers are no text, and our own words are not taken for secrets where they stand for themselves.
    assert_eq!(
        clean(result("{}"), &["12345678", "tool_result", "duration_ms"]),
        result("{}")
    );
    let message = Body::Message(Message::note("ask the assistant"));
    assert_eq!(clean(message.clone(), &["tool_result"]), message);
    let said = Body::Message(Message {
        role: ostler_wire::Role::Assistant,
        ..Message::note("I am the assistant")
    });
    let Body::Message(clean) = clean(said, &["assistant"]) else {
        panic!("another type");
    };
    assert_eq!(clean.text, "I am the [redacted]");
}

#[test]
fn arguments_that_are_no_json_are_cleaned_too() {
    let redactor = redactor(&["sk-live-0123456789"]);
    for (json, expect) in [
        (r#"{"a":"b"}"#, None),
        (r#"{"a":"sk-live-0123456789"#, Some(r#"{"a":"[redacted]"#)),
        ("sk-live-0123456789", Some("[redacted]")),
        (r#"{"a":"x\"#, None),
    ] {
        assert_eq!(redactor.json(json).as_deref(), expect, "{json}");
    }
}

#[test]
fn only_a_possible_beginning_is_held_back() {
    let mut stream = redactor(&["sk-live-0123456789"]).stream();
    let pieces = [
        "plain",
        " s",
        "k",
        "-lime s",
        "k-live-0123",
        "456789",
        "s",
        "k-live-",
    ];
    let shown: Vec<String> = pieces
        .iter()
        .map(|p| stream.push_text(p).into_owned())
        .collect();
    assert_eq!(
        shown,
        ["plain", " ", "", "sk-lime ", "", "[redacted]", "", ""]
    );
    assert_eq!(stream.finish_text(), "sk-live-");
    assert_eq!(stream.finish_text(), "");
}

/// Letters few enough that secrets, their beginnings and overlaps come up all the time.
fn letters(len: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = String> {
    proptest::collection::vec(prop::sample::select(vec!['a', 'b', '/', '"', 'é']), len)
        .prop_map(|letters| letters.into_iter().collect())
}

proptest! {
    #[test]
    fn cuts_change_nothing_and_leak_nothing(
        secrets in proptest::collection::vec(letters(8..11), 1..4),
        parts in proptest::collection::vec(prop_oneof![letters(0..6), Just("1".into()), Just("2".into())], 0..12),
        cuts in proptest::collection::vec(0usize..200, 0..12),
    ) {
        let one = secrets.first().cloned().unwrap_or_default();
        let two = secrets.last().cloned().unwrap_or_default();
        let text: String = parts.iter().map(|p: &String| p.replace('1', &one).replace('2', &two)).collect();
        let redactor = Redactor::new(&secrets.iter().map(Secret::new).collect::<Vec<_>>());
        let whole = redactor.text(text.clone());
        for secret in &secrets {
            prop_assert!(!whole.contains(secret.as_str()));
        }
        if !secrets.iter().any(|s| text.contains(s.as_str())) {
            prop_assert_eq!(&whole, &text);
        }
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(text.len())).collect();
        cuts.push(text.len());
        cuts.sort_unstable();
        let (mut stream, mut out, mut from) = (redactor.stream(), Vec::new(), 0);
        for cut in cuts {
            out.extend_from_slice(&stream.push(&text.as_bytes()[from..cut]));
            from = cut;
        }
        out.extend(stream.finish());
        prop_assert_eq!(String::from_utf8(out).unwrap(), whole);
    }

    #[test]
    fn any_entry_with_a_secret_stays_readable(
        secret in letters(8..11),
        before in letters(0..4),
        after in letters(0..4),
    ) {
        // A name that is one plain word stays: it may be one of the log's own.
        let secret = format!("{secret}/");
        let text = format!("{before}{secret}{after}\n\u{1b}");
        let inner = serde_json::json!({ secret.clone(): [text.clone(), 1.5, {"deep": text}] });
        let body = Body::ToolResult(ToolResult {
            tool_use_id: "c".into(),
            output: Json::of(&serde_json::json!({"text": inner.to_string(), "value": inner})),
            ok: true,
            duration_ms: 0,
        });
        let Body::ToolResult(result) = clean(body, &[&secret]) else {
            panic!("another type");
        };
        let value = result.output.to_value();
        prop_assert!(value["value"].is_object());
        prop_assert!(serde_json::from_str::<serde_json::Value>(value["text"].as_str().unwrap()).is_ok());
        prop_assert!(!redactor(&[&secret]).has_secret(result.output.get()), "{}", result.output.get());
    }
}
