//! Whatever a log holds, in whatever order, what is folded from it is a request that the vendor takes.

use super::*;
use crate::conversation::Conversation;
use crate::testing::{
    answer, called, model, numbered, origin, params, prefix, result, said, tool_use, user,
};
use ostler_store::log::branch;
use ostler_testkit::{Captured, Kind};
use ostler_wire::{
    Compaction, DigestBy, Entry, Image, Interrupted, Json, Notice, Outcome, Stop, TurnEnd, Usage,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The request that a log leads to.
fn request(kind: Kind, entries: &[Entry]) -> Captured {
    let mut conversation = Conversation::new(model(kind, "mock-model"), prefix(), &params(), false);
    conversation.read(entries);
    let (body, _) = conversation.request();
    Captured::of(kind, serde_json::from_slice(&body.concat()).unwrap())
}

/// What is wrong with a request, if anything is.
fn fault(request: &Captured) -> Option<String> {
    if let Err(why) = request.validate() {
        return Some(why);
    }
    let ids = |list: Vec<(String, String)>| -> Vec<String> {
        let mut ids: Vec<String> = list.into_iter().map(|(id, _)| id).collect();
        ids.sort();
        ids
    };
    let calls = ids(request
        .tool_calls()
        .into_iter()
        .map(|c| (c.0, c.1))
        .collect());
    let results = ids(request
        .tool_results()
        .into_iter()
        .map(|r| (r.0, r.1))
        .collect());
    let mut once = calls.clone();
    once.dedup();
    (calls != results || once != calls).then(|| format!("calls {calls:?}, results {results:?}"))
}

#[track_caller]
fn check_valid(entries: &[Entry]) {
    for kind in Kind::ALL {
        let request = request(kind, entries);
        if let Some(why) = fault(&request) {
            let log: Vec<_> = entries
                .iter()
                .map(|e| (e.entry, e.parent, &e.body))
                .collect();
            panic!("{}: {why}\n{:#}\n{log:#?}", kind.name(), request.body);
        }
    }
}

/// What the model reads, in order, one line a message.
fn told(bodies: Vec<Body>) -> String {
    let mut fold = Fold::new(origin("mock-model"), false);
    let mut out = Vec::new();
    bodies.iter().for_each(|body| fold.push(body, &mut out));
    fold.ready(&mut out);
    let lines = out.iter().map(|message| match message {
        Msg::User { text, images } => format!("user {text:?} {}", "+image".repeat(images.len())),
        Msg::Assistant { parts } => {
            let parts: Vec<String> = parts.iter().map(told_part).collect();
            format!("assistant {}", parts.join(" "))
        }
        Msg::Results { results } => {
            let results = results
                .iter()
                .map(|r| format!("{}={:?}{}", r.id, r.text, if r.ok { "" } else { "!" }));
            format!("results {}", results.collect::<Vec<_>>().join(" "))
        }
    });
    lines
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

fn told_part(part: &AnswerPart) -> String {
    let blob = |replay: &Option<Json>| {
        replay
            .as_ref()
            .map_or_else(String::new, |b| format!("~{}", b.get()))
    };
    match part {
        AnswerPart::Text { text, replay } => format!("{text:?}{}", blob(replay)),
        AnswerPart::Reasoning { text, replay } => format!("({text}){}", blob(replay)),
        AnswerPart::Call {
            id,
            name,
            arguments,
            replay,
        } => format!("{id}:{name}{arguments}{}", blob(replay)),
    }
}

#[test]
fn a_name_that_is_none_goes_out_as_one() {
    let long = "x".repeat(65);
    for (name, sent) in [
        ("read_file", "read_file"),
        ("mcp__a-b__c", "mcp__a-b__c"),
        ("", "_"),
        (" ", "__"),
        ("my tool", "my_tool"),
        ("functions.bash:0", "functions_bash_0"),
        ("7z", "_7z"),
        ("日本", "___"),
        (long.as_str(), &long[..64]),
    ] {
        let log = vec![
            user("go"),
            answer(vec![called("a")]),
            tool_use("a", name, json!({})),
            result("a", "no such tool"),
        ];
        assert!(
            told(log.clone()).contains(&format!("a:{sent}{{}}")),
            "{name}"
        );
        check_valid(&numbered(log));
    }
}

#[test]
fn a_plain_session_is_told_as_it_was() {
    let context = Body::Message(Message {
        context: Some("<today>".into()),
        images: vec![Image {
            media_type: "image/png".into(),
            data: "aGk=".into(),
        }],
        ..Message::user("look")
    });
    insta::assert_snapshot!(told(vec![
        context,
        answer(vec![said("Looking."), called("b"), called("a")]),
        tool_use("a", "x", json!({"n": 1})),
        tool_use("b", "x", json!({"n": 2})),
        Body::Usage(Usage::default()),
        result("a", "one"),
        result("b", "two"),
        Body::Message(Message::note("[Mind the gap.]")),
        answer(vec![said("Done.")]),
        Body::TurnEnd(TurnEnd { outcome: Outcome::Done }),
        user("thanks"),
    ]), @r#"
    user "<today>\n\nlook" +image
    assistant "Looking." b:x{"n":2} a:x{"n":1}
    results b="{\"text\":\"two\"}" a="{\"text\":\"one\"}"
    user "[Mind the gap.]"
    assistant "Done."
    user "thanks"
    "#);
}

#[test]
fn damage_is_repaired_where_it_happened() {
    let cases: Vec<(&str, Vec<Body>)> = vec![
        ("nothing", vec![]),
        ("no start", vec![answer(vec![said("And so.")]), user("go")]),
        (
            "no result",
            vec![
                user("go"),
                answer(vec![called("a")]),
                tool_use("a", "x", json!({})),
                user("well?"),
            ],
        ),
        (
            "no answer",
            vec![
                user("go"),
                tool_use("a", "x", json!({})),
                result("a", "one"),
            ],
        ),
        (
            "no call line",
            vec![
                user("go"),
                answer(vec![said("Now."), called("a")]),
                result("a", "one"),
                user("on"),
            ],
        ),
        ("no call", vec![user("go"), result("a", "one")]),
        (
            "two results",
            vec![
                user("go"),
                tool_use("a", "x", json!({})),
                result("a", "one"),
                result("a", "two"),
            ],
        ),
        (
            "late call",
            vec![
                user("go"),
                answer(vec![called("a"), called("b")]),
                tool_use("a", "x", json!({})),
                result("a", "one"),
                tool_use("b", "x", json!({})),
            ],
        ),
        (
            "reused id",
            vec![
                user("go"),
                tool_use("a", "x", json!({})),
                result("a", "one"),
                tool_use("a", "x", json!({})),
                result("a", "two"),
            ],
        ),
        (
            "no name",
            vec![user("go"), tool_use("a", "", json!({})), result("a", "one")],
        ),
        (
            "no id",
            vec![user("go"), tool_use("", "x", json!({})), result("", "one")],
        ),
        (
            "lost turn",
            vec![
                user("go"),
                answer(vec![said("One.")]),
                answer(vec![called("a")]),
                tool_use("a", "x", json!({})),
            ],
        ),
        (
            "blank prompt",
            vec![user("go"), answer(vec![said("Done.")]), user(" \n")],
        ),
        (
            "blank start",
            vec![user(""), answer(vec![said("Done.")]), user("go")],
        ),
        (
            "empty answer",
            vec![user("go"), answer(vec![said("")]), user("on")],
        ),
        (
            "interrupted",
            vec![
                user("go"),
                answer(vec![called("a")]),
                tool_use("a", "x", json!({})),
                Body::Interrupted(Interrupted::default()),
                user("on"),
            ],
        ),
    ];
    let mut shown = String::new();
    for (name, bodies) in cases {
        check_valid(&numbered(bodies.clone()));
        shown.push_str(&format!("-- {name}\n{}", told(bodies)));
    }
    insta::assert_snapshot!(shown, @r#"
    -- nothing
    user "[The start of this conversation is lost.]"
    -- no start
    user "[The start of this conversation is lost.]"
    assistant "And so."
    user "go"
    -- no result
    user "go"
    assistant a:x{}
    results a="Interrupted: this call has no result. It may or may not have run."!
    user "well?"
    -- no answer
    user "go"
    assistant a:x{}
    results a="{\"text\":\"one\"}"
    -- no call line
    user "go"
    assistant "Now."
    user "on"
    -- no call
    user "go"
    -- two results
    user "go"
    assistant a:x{}
    results a="{\"text\":\"one\"}"
    -- late call
    user "go"
    assistant a:x{}
    results a="{\"text\":\"one\"}"
    assistant b:x{}
    results b="Interrupted: this call has no result. It may or may not have run."!
    -- reused id
    user "go"
    assistant a:x{}
    results a="{\"text\":\"one\"}"
    assistant a_2:x{}
    results a_2="{\"text\":\"two\"}"
    -- no name
    user "go"
    assistant a:_{}
    results a="{\"text\":\"one\"}"
    -- no id
    user "go"
    assistant call:x{}
    results call="{\"text\":\"one\"}"
    -- lost turn
    user "go"
    assistant "One."
    user "[Go on.]"
    assistant a:x{}
    results a="Interrupted: this call has no result. It may or may not have run."!
    -- blank prompt
    user "go"
    assistant "Done."
    user "[Go on.]"
    -- blank start
    user "[The start of this conversation is lost.]"
    assistant "Done."
    user "go"
    -- empty answer
    user "go"
    user "on"
    -- interrupted
    user "go"
    assistant a:x{}
    results a="Interrupted: this call has no result. It may or may not have run."!
    user "[The person interrupted the work here.]"
    user "on"
    "#);
}

#[test]
fn blobs_go_back_to_their_origin_only() {
    let replay = |model: &str| {
        Some(Replay {
            origin: origin(model),
            data: json!({"k": 1}).into(),
        })
    };
    let parts = |model: &str| {
        vec![
            Part::Reasoning {
                text: "hm".into(),
                replay: replay(model),
            },
            Part::Text {
                text: "t".into(),
                replay: replay(model),
            },
            Part::Call {
                id: "a".into(),
                replay: replay(model),
            },
        ]
    };
    let log = |model| {
        vec![
            user("go"),
            answer(parts(model)),
            tool_use("a", "x", json!({})),
            result("a", "r"),
        ]
    };
    let line = |model| told(log(model)).lines().nth(1).unwrap().to_owned();
    assert_eq!(
        line("mock-model"),
        r#"assistant (hm)~{"k":1} "t"~{"k":1} a:x{}~{"k":1}"#
    );
    assert_eq!(line("another"), r#"assistant (hm) "t" a:x{}"#);
}

#[test]
fn ids_of_other_models_fit_every_vendor() {
    let foreign = |id: &str| {
        let by = Body::Message(Message {
            model: Some(origin("another")),
            role: Role::Assistant,
            parts: vec![called(id)],
            ..Message::user("")
        });
        vec![
            user("go"),
            by,
            tool_use(id, "x", json!({})),
            result(id, "one"),
        ]
    };
    for id in ["functions.bash:0", "größe", &"x".repeat(64), ""] {
        check_valid(&numbered(foreign(id)));
    }
    // Its own ids a model gets back as they are.
    let own = vec![
        user("go"),
        answer(vec![called("functions.bash:0")]),
        tool_use("functions.bash:0", "x", json!({})),
    ];
    assert!(told(own).contains("functions.bash:0:x{}"));
}

/// Lines of every type that the fold reads.
fn log_text() -> String {
    let replay = || {
        Some(Replay {
            origin: origin("mock-model"),
            data: json!({"field": "reasoning_content", "block": {"signature": "s"}, "part": {"thoughtSignature": "s"},
                "item": {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}})
            .into(),
        })
    };
    let thought = Part::Reasoning {
        text: "hm".into(),
        replay: replay(),
    };
    let entries = numbered([
        user("go"),
        answer(vec![thought, said("Now."), called("a"), called("b")]),
        tool_use("a", "bash", json!({"command": "ls"})),
        tool_use("b", "bash", json!({})),
        result("a", "one"),
        result("b", "two"),
        Body::Message(Message::note("[Mind.]")),
        answer(vec![said("Half")]),
        Body::Interrupted(Interrupted::default()),
        user("on"),
        answer(vec![said("Done.")]),
    ]);
    entries
        .iter()
        .map(|e| e.to_line().unwrap() + "\n")
        .collect()
}

#[test]
fn a_log_garbled_at_any_byte_is_a_valid_request() {
    let text = log_text();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.jsonl");
    // What a vendor gave us to keep means nothing to us, so nothing tells that it was garbled.
    let start = text.find("\"data\":").unwrap();
    let blob = start..text.find("{\"text\":{\"text\":\"Now.\"").unwrap();
    for at in (0..text.len()).filter(|at| !blob.contains(at)) {
        for (n, garbage) in [text.as_bytes()[at] ^ 1, b'"'].into_iter().enumerate() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = garbage;
            std::fs::write(&path, &bytes).unwrap();
            let (entries, _) = ostler_store::log::read(&path).unwrap();
            let kind = Kind::ALL[(at + n) % 4];
            let request = request(kind, &branch(entries));
            if let Some(why) = fault(&request) {
                let shown = String::from_utf8_lossy(&bytes);
                panic!(
                    "{}, byte {at}: {why}\n{shown}\n{:#}",
                    kind.name(),
                    request.body
                );
            }
        }
    }
}

fn any_text() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", " \n", "hi", "a\u{0}\"\\\u{2028}é😀"]).prop_map(str::to_owned)
}

fn any_id() -> impl Strategy<Value = String> {
    let long = "l".repeat(64);
    prop_oneof![
        8 => prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["".to_owned(), "f.x:0".into(), "größe".into(), long]),
    ]
}

fn any_model() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["mock-model", "another"])
}

/// Blobs in the shapes of the four codecs.
fn any_blob() -> impl Strategy<Value = Option<Replay>> {
    let blobs = vec![
        r#"{"field":"reasoning_content"}"#,
        r#"{"block":{"signature":"s"}}"#,
        r#"{"block":{"type":"redacted_thinking","data":"d"}}"#,
        r#"{"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}}"#,
        r#"{"part":{"thoughtSignature":"s"}}"#,
        "null",
    ];
    let blob = (any_model(), prop::sample::select(blobs)).prop_map(|(model, blob)| Replay {
        origin: origin(model),
        data: Json::from_text(blob).unwrap(),
    });
    prop::option::of(blob)
}

fn any_part() -> impl Strategy<Value = Part> {
    prop_oneof![
        (any_text(), any_blob()).prop_map(|(text, replay)| Part::Text { text, replay }),
        (any_text(), any_blob()).prop_map(|(text, replay)| Part::Reasoning { text, replay }),
        // A call of the messages codec has no blob of a reasoning item.
        any_id().prop_map(|id| Part::Call { id, replay: None }),
    ]
}

fn any_answer() -> impl Strategy<Value = Body> {
    let parts = prop::collection::vec(any_part(), 0..4);
    (parts, any_text(), any_model()).prop_map(|(parts, text, model)| {
        // Ids that no vendor would take are never a model's own.
        let odd = parts
            .iter()
            .any(|p| matches!(p, Part::Call { id, .. } if id.len() > 40 || id.is_empty()));
        Body::Message(Message {
            role: Role::Assistant,
            text,
            parts,
            model: Some(origin(if odd { "another" } else { model })),
            stop: Some(Stop::End),
            ..Message::user("")
        })
    })
}

fn any_user() -> impl Strategy<Value = Body> {
    (any_text(), prop::option::of(any_text()), any::<bool>()).prop_map(
        |(text, context, pictured)| {
            let image = Image {
                media_type: "image/png".into(),
                data: "aGk=".into(),
            };
            let images = pictured.then_some(image).into_iter().collect();
            Body::Message(Message {
                context,
                images,
                ..Message::user(text)
            })
        },
    )
}

fn any_input() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({}),
        json!({"n": 1}),
        json!([1]),
        json!("x"),
        json!(null),
    ])
}

fn any_output() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({"ok": true, "data": {"stdout": "", "stderr": "", "exit_code": 0}}),
        json!({"ok": false, "error": {"code": "c", "message": "m"}}),
        json!({"ok": true, "data": {"image": {"media_type": "image/png", "data": "aGk="}}}),
        json!(null),
        json!("text"),
    ])
}

fn any_body() -> impl Strategy<Value = Body> {
    let names = vec!["bash", "read_file", "", "größe!", "x"];
    prop_oneof![
        3 => any_user(),
        3 => any_answer(),
        4 => (any_id(), prop::sample::select(names), any_input())
            .prop_map(|(id, name, input)| tool_use(&id, name, input)),
        4 => (any_id(), any_output(), any::<bool>()).prop_map(|(id, output, ok)| {
            Body::ToolResult(ToolResult { tool_use_id: id, output: output.into(), ok, duration_ms: 0 })
        }),
        1 => any_text().prop_map(|text| Body::Message(Message::note(text))),
        1 => Just(Body::Interrupted(Interrupted::default())),
        1 => Just(Body::Usage(Usage { prompt_hash: "00".into(), ..Usage::default() })),
        1 => Just(Body::Notice(Notice { text: "n".into() })),
        1 => Just(Body::TurnEnd(TurnEnd { outcome: Outcome::Done })),
        2 => (0u64..30, any_text()).prop_map(|(through, digest)| Body::Compaction(Compaction {
            through,
            digest,
            by: DigestBy::Model,
            shared_bytes: through,
            ..Compaction::default()
        })),
    ]
}

/// A log with rewinds to anywhere, lines that are lost, and numbers that are garbled.
fn any_log() -> impl Strategy<Value = Vec<Entry>> {
    let line = (
        any_body(),
        prop::option::weighted(0.1, 0u64..24),
        prop::bool::weighted(0.1),
        prop::option::weighted(0.05, 0u64..99),
    );
    prop::collection::vec(line, 0..24).prop_map(|lines| {
        let (bodies, marks): (Vec<_>, Vec<_>) =
            lines.into_iter().map(|(b, p, l, n)| (b, (p, l, n))).unzip();
        let entries = numbered(bodies).into_iter().zip(marks);
        let kept = entries
            .filter(|(_, (_, lost, _))| !lost)
            .map(|(entry, (parent, _, number))| Entry {
                entry: number.unwrap_or(entry.entry),
                parent: parent.or(entry.parent),
                ..entry
            });
        kept.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_call_has_exactly_one_result_in_any_request(log in any_log()) {
        check_valid(&branch(log));
    }
}
