//! No log can brick a session: whatever lies in the file, it opens, the next request is one the vendor takes, and the session
//! goes on. The server checks every request as its vendor would.

use crate::common::Bench;
use ostler_testkit::{Kind, Server, Step};
use ostler_wire::Outcome;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

const CASES: u32 = 40;

fn obliging(kind: Kind) -> Bench {
    let server = Server::builder()
        .answering(|_| Step::answer().text("Done."))
        .keep_bodies(2);
    Bench::with(kind, server.start())
}

/// Opens the log, sends the prompts, and says what went wrong.
async fn resumes(bench: &Bench, id: &str, bytes: &[u8], prompts: &[&str]) -> Result<(), String> {
    let log = bench.store().path_of(id);
    bench.space.write(&log, bytes);
    let mut session = bench.resume(id).await;
    for prompt in prompts {
        let shown = session.run(prompt).await;
        let problems = bench.server.forgive();
        if shown.outcome() != Some(Outcome::Done) || !problems.is_empty() {
            let request = bench
                .server
                .requests()
                .pop()
                .map(|r| format!("{:#}", r.body));
            return Err(format!(
                "{:?}: {problems:?}\n{}",
                shown.error(),
                request.unwrap_or_default()
            ));
        }
    }
    let now = session.bytes();
    session.close().await;
    std::fs::remove_file(&log).unwrap();
    match now.starts_with(bytes) {
        true => Ok(()),
        false => Err("the log was rewritten".into()),
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn id(n: usize) -> String {
    format!("00000000-0000-4000-8000-{n:012x}")
}

fn any_id() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!("a"),
        json!("b"),
        json!("c"),
        json!(""),
        json!("x.y:0"),
        json!("l".repeat(70)),
        json!(7),
    ])
}

fn any_text() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!("hi"),
        json!(""),
        json!(" \n"),
        json!("\u{0}😀\u{2028}"),
        json!(null),
        json!(3),
    ])
}

fn any_part() -> impl Strategy<Value = Value> {
    let blob = prop::sample::select(vec![
        json!(null),
        json!({"origin": {"provider": "mock", "model": "another"}, "data": {"block": {"signature": "s"}}}),
        json!({"origin": {"provider": "mock", "model": "mock-model"}, "data": 7}),
    ]);
    prop_oneof![
        (any_text(), blob.clone())
            .prop_map(|(text, replay)| json!({"text": {"text": text, "replay": replay}})),
        (any_text(), blob)
            .prop_map(|(text, replay)| json!({"reasoning": {"text": text, "replay": replay}})),
        any_id().prop_map(|id| json!({"call": {"id": id}})),
        Just(json!({"hologram": {}})),
    ]
}

/// A line of some type with fields that fit, or nearly.
fn any_line() -> impl Strategy<Value = Value> {
    let inputs = vec![
        json!({}),
        json!({"command": "ls"}),
        json!([1]),
        json!("x"),
        json!(null),
    ];
    let outputs = vec![
        json!({"ok": true, "data": {"stdout": "out", "stderr": "", "exit_code": 0}}),
        json!({"ok": false, "error": {"code": "c", "message": "m"}}),
        json!({"ok": true, "data": {"image": {"media_type": "image/png", "data": "aGk="}}}),
        json!([]),
        json!(null),
    ];
    prop_oneof![
        3 => (prop::sample::select(vec!["user", "system", "oracle"]), any_text())
            .prop_map(|(role, text)| json!({"type": "message", "role": role, "text": text})),
        3 => (prop::collection::vec(any_part(), 0..4), any_text(), prop::sample::select(vec!["mock-model", "another"]))
            .prop_map(|(parts, text, model)| json!({"type": "message", "role": "assistant", "text": text, "parts": parts,
                "model": {"provider": "mock", "model": model}, "stop": "end"})),
        4 => (any_id(), prop::sample::select(vec!["bash", "", "no such", "größe"]), prop::sample::select(inputs))
            .prop_map(|(id, name, input)| json!({"type": "tool_use", "id": id, "name": name, "input": input})),
        4 => (any_id(), prop::sample::select(outputs), any::<bool>())
            .prop_map(|(id, output, ok)| json!({"type": "tool_result", "tool_use_id": id, "output": output, "ok": ok})),
        1 => Just(json!({"type": "interrupted", "role": "system", "text": "Interrupted"})),
        1 => Just(json!({"type": "usage", "provider": "mock", "model": "mock-model", "input": 1, "cached": 0,
            "cache_write": 0, "output": 1, "prompt_bytes": 9, "prompt_hash": "0011"})),
        1 => prop::sample::select(vec!["mock/mock-model", "mock/other", "gone/model"])
            .prop_map(|model| json!({"type": "settings", "model": model, "prefix": "00ff"})),
        1 => Just(json!({"type": "meta", "schema_version": 9, "session_id": "other", "prefix": "../x"})),
        1 => Just(json!({"type": "turn_end", "outcome": "done"})),
        2 => (any_text(), prop_oneof![3 => 0u64..40, 1 => Just(u64::MAX)])
            .prop_map(|(digest, through)| json!({"type": "compaction", "through": through, "digest": digest, "by": "model",
                "archive": "/a", "shared_bytes": through})),
        1 => Just(json!({"type": "hologram", "size": 3})),
        1 => Just(json!({"no": "type"})),
    ]
}

/// The bytes of a log: numbered lines with rewinds, gaps and odd numbers, and things between them that are no lines.
fn any_log() -> impl Strategy<Value = Vec<u8>> {
    let number =
        prop_oneof![12 => Just(None), 1 => (0u64..40).prop_map(Some), 1 => Just(Some(u64::MAX))];
    let parent = prop_oneof![12 => Just(None), 2 => (0u64..40).prop_map(Some)];
    let between = prop_oneof![
        12 => Just(&b""[..]),
        1 => Just(&b"\n\n"[..]),
        1 => Just(&b"not json\n"[..]),
        1 => Just(&b"{\"type\":\"message\",\"ro"[..]),
        1 => Just(&b"\0\0\0\0"[..]),
        1 => Just(&b"\xff\xfe\n"[..]),
    ];
    let line = (
        any_line(),
        number,
        parent,
        between,
        prop::bool::weighted(0.1),
    );
    prop::collection::vec(line, 0..20).prop_map(|lines| {
        let mut bytes = Vec::new();
        for (n, (mut line, number, parent, between, bare)) in lines.into_iter().enumerate() {
            if !bare {
                line["entry"] = number.unwrap_or(n as u64).into();
                line["parent"] = parent.or(n.checked_sub(1).map(|p| p as u64)).into();
                line["ts"] = "2026-11-15T10:00:00.000Z".into();
            }
            bytes.extend_from_slice(between);
            bytes.extend(line.to_string().into_bytes());
            bytes.push(b'\n');
        }
        bytes
    })
}

fn check_any_file(kind: Kind) {
    let bench = obliging(kind);
    let runtime = runtime();
    let mut runner = TestRunner::new(Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    });
    let case = std::cell::Cell::new(0);
    let outcome = runner.run(&any_log(), |bytes| {
        case.set(case.get() + 1);
        let result = runtime.block_on(resumes(
            &bench,
            &id(case.get()),
            &bytes,
            &["go on", "and on"],
        ));
        result.map_err(|why| {
            TestCaseError::fail(format!("{why}\n{}", String::from_utf8_lossy(&bytes)))
        })
    });
    if let Err(error) = outcome {
        panic!("{}: {error}", kind.name());
    }
}

/// The log of a session with thoughts, parallel calls, a picture, an error, a cut answer and an interruption.
async fn real_log(kind: Kind) -> Vec<u8> {
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let steps = [
        Step::answer()
            .reasoning("Look first.")
            .text("Reading. ")
            .calls([
                ("read_file", json!({"path": "a.txt"})),
                ("bash", json!({"command": "echo hi"})),
                ("read_file", json!({"path": "dot.png"})),
            ]),
        Step::answer()
            .text("Half an ans")
            .cut(ostler_testkit::Place::Text(2)),
        Step::answer()
            .reasoning("Write.")
            .call("write_file", json!({"path": "b.txt", "content": "x"})),
        Step::answer().call("read_file", json!({"path": "missing"})),
        Step::answer().text("Done."),
        Step::answer().text("Bye."),
    ];
    let bench = Bench::new(kind, steps);
    bench.space.write("a.txt", "one\ntwo\n");
    let decoded = bench
        .space
        .run("sh")
        .args(["-c", &format!("printf %s {png} | base64 -d > dot.png")]);
    decoded.output().ok();
    let mut session = bench.open().await;
    session.run("go").await;
    session.run("thanks").await;
    let bytes = session.bytes();
    session.close().await;
    bench.server.assert_done();
    bytes
}

/// Ways in which a line of a log can suffer.
fn damages(lines: &[&str], at: usize) -> Vec<Vec<u8>> {
    let line = lines[at];
    let half = &line[..line.len() / 2];
    let with = |replacement: &[&str]| -> Vec<u8> {
        let all = lines[..at]
            .iter()
            .chain(replacement)
            .chain(&lines[at + 1..]);
        all.map(|l| format!("{l}\n"))
            .collect::<String>()
            .into_bytes()
    };
    vec![
        with(&[]),
        with(&[line, line]),
        with(&[half]),
        with(&[&"\0".repeat(line.len())]),
        with(&["{\"type\":\"hologram\"}"]),
        // Cut off in this line, and after it.
        [lines[..at].join("\n"), format!("\n{half}")]
            .concat()
            .into_bytes(),
        lines[..=at].join("\n").into_bytes(),
        // Its neighbour comes first.
        match lines.get(at + 1) {
            Some(next) => [
                lines[..at].join("\n"),
                format!("\n{next}\n{line}\n"),
                lines[at + 2..].join("\n"),
            ]
            .concat()
            .into_bytes(),
            None => with(&[line]),
        },
    ]
}

fn check_real_log(kind: Kind) {
    let runtime = runtime();
    let log = String::from_utf8(runtime.block_on(real_log(kind))).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines.len() > 25, "{log}");
    let bench = obliging(kind);
    for at in 0..lines.len() {
        for (how, bytes) in damages(&lines, at).into_iter().enumerate() {
            let result = runtime.block_on(resumes(&bench, &id(100 * at + how), &bytes, &["go on"]));
            if let Err(why) = result {
                let line = lines[at];
                panic!("{} line {at} ({line}), damage {how}: {why}", kind.name());
            }
        }
    }
}

/// One test for each protocol, so that they run beside each other.
macro_rules! in_every_protocol {
    ($($name:ident $kind:ident),*) => {
        $(mod $name {
            use super::*;

            #[test]
            fn any_file_is_a_session_that_goes_on() {
                check_any_file(Kind::$kind);
            }

            #[test]
            fn a_real_log_that_suffered_goes_on() {
                check_real_log(Kind::$kind);
            }
        })*
    };
}

in_every_protocol!(chat Chat, responses Responses, messages Messages, gemini Gemini);
