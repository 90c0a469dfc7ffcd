//! The body that grows at its end is the body that would be written from scratch, but for its cache marks.

use super::*;
use crate::testing::{params, prefix, target};
use ostler_llm::{AnswerPart, BLOCK_BYTES, CallResult, Price};
use ostler_testkit::{Captured, Kind};
use ostler_wire::Image;
use serde_json::{Value, json};

const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

fn transcript(target: Target) -> Transcript {
    let kind = ostler_llm::kind(&target.kind).unwrap();
    Transcript::new(Arc::new(target), kind.codec(), &prefix(), &params())
}

fn user(text: &str) -> Msg {
    Msg::User {
        text: text.into(),
        images: Vec::new(),
    }
}

fn answer(parts: Vec<AnswerPart>) -> Msg {
    Msg::Assistant { parts }
}

fn text(text: &str) -> AnswerPart {
    AnswerPart::Text {
        text: text.into(),
        replay: None,
    }
}

fn call(id: &str) -> AnswerPart {
    AnswerPart::Call {
        id: id.into(),
        name: "bash".into(),
        arguments: "{}".into(),
        replay: None,
    }
}

fn results(ids: &[&str]) -> Msg {
    let result = |id: &&str| CallResult {
        id: (*id).into(),
        name: "bash".into(),
        text: "out".into(),
        images: vec![Image {
            media_type: "image/png".into(),
            data: "aGk=".into(),
        }],
        ok: true,
    };
    Msg::Results {
        results: ids.iter().map(result).collect(),
    }
}

/// A conversation in the steps between requests.
fn steps() -> Vec<Vec<Msg>> {
    let unsigned = AnswerPart::Reasoning {
        text: "hm".into(),
        replay: None,
    };
    vec![
        vec![user("one")],
        vec![
            answer(vec![text("two"), call("a"), call("b")]),
            results(&["a", "b"]),
        ],
        vec![answer(vec![call("c")]), results(&["c"]), user("steer")],
        // Some protocols have no use for this one.
        vec![answer(vec![unsigned]), user("again")],
        vec![],
        vec![
            answer(vec![text(&"x".repeat(2 * BLOCK_BYTES))]),
            user("more"),
        ],
        vec![answer(vec![text("end")]), user("last")],
    ]
}

fn flat(body: Vec<Bytes>) -> String {
    String::from_utf8(body.concat()).unwrap()
}

#[test]
fn it_is_appended_to_and_never_differs_from_a_rebuilt_one() {
    for kind in Kind::ALL {
        let mut growing = transcript(target(kind, "m"));
        let mut so_far = Vec::new();
        for step in steps() {
            so_far.extend(step.iter().cloned());
            for message in step {
                growing.push(message, 0);
            }
            let mut rebuilt = transcript(target(kind, "m"));
            for message in &so_far {
                rebuilt.push(message.clone(), 0);
            }
            assert_eq!(growing.measure(), rebuilt.measure());
            let plain = |body| flat(body).replace(MARK, "");
            let body = growing.body();
            assert_eq!(
                plain(body.clone()),
                plain(rebuilt.body()),
                "{}",
                kind.name()
            );
            let value: Value = serde_json::from_str(&flat(body)).unwrap();
            Captured::of(kind, value).validate().unwrap();
        }
    }
}

#[test]
fn settled_messages_are_shared_not_copied() {
    let mut transcript = transcript(target(Kind::Chat, "m"));
    for step in steps() {
        for message in step {
            transcript.push(message, 0);
        }
        transcript.body();
    }
    let (one, two) = (transcript.body(), transcript.body());
    let largest = |body: &[Bytes]| body.iter().max_by_key(|b| b.len()).map(|b| b.as_ptr());
    assert!(one.iter().any(|b| b.len() > BLOCK_BYTES));
    assert_eq!(largest(&one), largest(&two));
}

/// Which messages of the last request carry a mark.
fn marked(transcript: &mut Transcript) -> Vec<usize> {
    let body: Value = serde_json::from_str(&flat(transcript.body())).unwrap();
    let messages = body["messages"].as_array().unwrap().iter().enumerate();
    messages
        .filter(|(_, message)| message.to_string().contains("cache_control"))
        .map(|(i, _)| i)
        .collect()
}

#[test]
fn marks_stand_at_the_end_of_this_request_and_of_the_one_before() {
    let mut transcript = transcript(target(Kind::Messages, "m"));
    transcript.push(user("one"), 0);
    assert_eq!(marked(&mut transcript), [0]);
    transcript.push(answer(vec![call("a")]), 1);
    transcript.push(results(&["a"]), 2);
    assert_eq!(marked(&mut transcript), [0, 2]);
    // The same request once more, after a failure.
    assert_eq!(marked(&mut transcript), [2]);
    transcript.push(answer(vec![text("done")]), 3);
    transcript.push(user("two"), 4);
    assert_eq!(marked(&mut transcript), [2, 4]);
}

#[test]
fn a_break_is_named_after_the_message_it_lies_in() {
    let priced = Target {
        price: Some(Price {
            input: 3.0,
            cached_input: Some(0.5),
            ..Price::default()
        }),
        ..target(Kind::Messages, "m")
    };
    let mut transcript = transcript(priced);
    let start = transcript.bytes();
    transcript.push(user("one"), 4);
    let second = transcript.bytes();
    transcript.push(answer(vec![text("two")]), 7);
    let check = |at: u64, owner: &str| {
        let broke = transcript.break_at(at, at + 8_000_000, "why");
        let cost = broke.cost.unwrap();
        assert_eq!(
            (broke.at, broke.owner.as_str(), broke.lost_tokens),
            (at, owner, 2_000_000)
        );
        assert!((cost - 5.0).abs() < 1e-9, "{cost}");
    };
    check(0, "prefix");
    check(start - 1, "prefix");
    check(start, "entry 4");
    check(second - 1, "entry 4");
    check(second, "entry 7");
    check(second + 1000, "entry 7");
    assert_eq!(transcript.break_at(second, 10, "why").lost_tokens, 0);
}

#[test]
fn the_measured_prefix_is_system_and_tools_in_no_vendors_words() {
    let text = prefix_text(&prefix());
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["system"], "Be brief.");
    assert_eq!(value["tools"][0]["name"], "bash");
    assert_eq!(
        value["tools"][0]["parameters"],
        json!({"type": "object", "properties": {"command": {"type": "string"}}})
    );
    for kind in Kind::ALL {
        assert_eq!(transcript(target(kind, "m")).bytes(), text.len() as u64);
    }
}
