//! The scripted sessions, through the real codec, with tools played by hand and a real shell.

use super::{BUG, FIX, KIND, MARKER, PASSED, scratch_files};
use crate::{
    Answer, AnswerPart, Assembler, CallResult, Mark, Model, Msg, Params, Prefix, Proxies, Target,
    Transport, TransportOptions,
};
use bytes::Bytes;
use ostler_wire::{Json, Origin, Stop, ToolSpec};
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const TOOLS: [&str; 4] = ["bash", "edit_file", "ls", "read_file"];

fn model() -> Model {
    let target = Target {
        extra_body: Some(Json::from_text(r#"{"pace_ms":0}"#).unwrap()),
        ..Target::new(
            Origin {
                provider: "demo".into(),
                model: "demo".into(),
            },
            KIND,
            "",
        )
    };
    let transport = Transport::new(TransportOptions {
        ca_files: Vec::new(),
        proxies: Proxies::None,
    });
    Model::new(Arc::new(target), Arc::new(transport)).unwrap()
}

async fn ask(model: &Model, tools: &[&str], messages: &[Msg]) -> Answer {
    let prefix = Prefix {
        system: "You are a coding agent.".into(),
        tools: tools
            .iter()
            .map(|name| ToolSpec {
                name: (*name).into(),
                description: String::new(),
                parameters: Json::from_text(r#"{"type":"object"}"#).unwrap(),
            })
            .collect(),
    };
    let (codec, target, params) = (model.codec(), model.target(), Params::default());
    let mut body = Vec::new();
    let mut comma = codec.open(target, &prefix, &params, &mut body);
    for message in messages {
        if comma {
            body.push(b',');
        }
        codec.message(target, message, Mark::Plain, &mut body);
        comma = true;
    }
    codec.close(target, &params, &mut body);
    let cancel = CancellationToken::new();
    let mut reply = model.call(vec![Bytes::from(body)], &cancel).await.unwrap();
    let (mut assembler, mut chunks) = (Assembler::default(), Vec::new());
    while reply.next(&mut chunks).await.unwrap() {}
    chunks.into_iter().for_each(|chunk| assembler.push(chunk));
    assembler.finish()
}

fn user(text: &str) -> Msg {
    Msg::User {
        text: text.into(),
        images: Vec::new(),
    }
}

fn text(answer: &Answer) -> String {
    let texts = answer.parts.iter().filter_map(|part| match part {
        AnswerPart::Text { text, .. } => Some(text.as_str()),
        AnswerPart::Call { .. } | AnswerPart::Reasoning { .. } => None,
    });
    texts.collect()
}

/// Each call as its name and arguments, with what `run` makes of it as the result.
fn results(answer: &Answer, run: &mut dyn FnMut(&str, &str) -> String) -> Vec<CallResult> {
    let calls = answer.parts.iter().filter_map(|part| match part {
        AnswerPart::Call {
            id,
            name,
            arguments,
            ..
        } => Some(CallResult {
            id: id.clone(),
            name: name.clone(),
            text: run(name, arguments),
            images: Vec::new(),
            ok: true,
        }),
        AnswerPart::Text { .. } | AnswerPart::Reasoning { .. } => None,
    });
    calls.collect()
}

/// Plays a session to its end. Returns what was called and the last text.
async fn session(prompt: &str, run: &mut dyn FnMut(&str, &str) -> String) -> (Vec<String>, String) {
    let model = model();
    let mut messages = vec![user(prompt)];
    let mut called = Vec::new();
    for _ in 0..10 {
        let answer = ask(&model, &TOOLS, &messages).await;
        let results = results(&answer, &mut |name, arguments| {
            called.push(format!("{name} {arguments}"));
            run(name, arguments)
        });
        if results.is_empty() {
            assert_eq!(answer.stop, Some(Stop::End));
            assert!(answer.usage.input > 0 && answer.usage.output > 0);
            return (called, text(&answer));
        }
        assert_eq!(answer.stop, Some(Stop::Calls));
        messages.push(Msg::Assistant {
            parts: answer.parts,
        });
        messages.push(Msg::Results { results });
    }
    panic!("the session does not end: {called:?}");
}

fn scratch() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in scratch_files() {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

fn run_tests(folder: &Path) -> (String, bool) {
    let mut command = std::process::Command::new("sh");
    let output = command.arg("test.sh").current_dir(folder).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (text, output.status.success())
}

/// The four tools, for real, in a folder.
fn tool(folder: &Path, name: &str, arguments: &str) -> String {
    let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap();
    let path = folder.join(arguments["path"].as_str().unwrap_or("."));
    match name {
        "ls" => "README.md\ncalc.sh\ntest.sh".into(),
        "read_file" => std::fs::read_to_string(path).unwrap(),
        "edit_file" => {
            let before = std::fs::read_to_string(&path).unwrap();
            let old = arguments["old"].as_str().unwrap();
            assert_eq!(before.matches(old).count(), 1, "an edit must be unique");
            let after = before.replace(old, arguments["new"].as_str().unwrap());
            std::fs::write(&path, after).unwrap();
            "edited calc.sh".into()
        }
        "bash" => {
            assert_eq!(arguments["command"], "sh test.sh");
            run_tests(folder).0
        }
        other => panic!("no tool {other}"),
    }
}

#[cfg(unix)]
#[test]
fn the_test_fails_before_the_edit_and_passes_after() {
    let folder = scratch();
    let (output, passed) = run_tests(folder.path());
    assert!(
        !passed && output.contains("FAILED: average of 2 4 6: expected 4, got 3"),
        "{output}"
    );
    assert!(!output.contains(PASSED));
    let script = folder.path().join("calc.sh");
    let mended = std::fs::read_to_string(&script).unwrap().replace(BUG, FIX);
    std::fs::write(&script, mended).unwrap();
    let (output, passed) = run_tests(folder.path());
    assert!(passed && output.contains(PASSED), "{output}");
}

#[cfg(unix)]
#[tokio::test]
async fn the_coding_session_mends_the_project() {
    let folder = scratch();
    let prompt = format!("The averages are wrong. Please mend them.\n\n{MARKER}");
    let (called, last) = session(&prompt, &mut |n, a| tool(folder.path(), n, a)).await;
    assert_eq!(
        called,
        [
            "ls {}",
            r#"read_file {"path":"calc.sh"}"#,
            r#"read_file {"path":"test.sh"}"#,
            r#"edit_file {"path":"calc.sh","old":"/ ($# + 1)","new":"/ $#"}"#,
            r#"bash {"command":"sh test.sh"}"#,
        ]
    );
    assert!(run_tests(folder.path()).1);
    for words in [
        "The test passes",
        "What was wrong",
        "offline demo",
        "ostler setup",
    ] {
        assert!(last.contains(words), "{last}");
    }
}

#[tokio::test]
async fn results_are_reacted_to() {
    for (answers, calls, words) in [
        // What ls, the two reads, the edit and the test say.
        (["empty", "", "", "", ""], 1, "do not see it"),
        (
            ["calc.sh", "fine", "fine", "all tests passed", ""],
            4,
            "The test passes",
        ),
        (
            ["calc.sh", "fine", "fine", "FAILED: x", ""],
            4,
            "does not pass",
        ),
        (
            ["calc.sh", BUG, "t", "error: denied by policy", ""],
            4,
            "error: denied by policy",
        ),
        (
            ["calc.sh", BUG, "t", "{\"ok\":false,\"error\":{}}", ""],
            4,
            "did not work",
        ),
        (
            [
                "calc.sh",
                BUG,
                "t",
                "edited",
                "FAILED: sum\nFAILED: average",
            ],
            5,
            "    FAILED: sum",
        ),
        (
            ["calc.sh", BUG, "t", "edited", "error: no shell"],
            5,
            "does not pass",
        ),
    ] {
        let mut next = answers.iter();
        let (called, last) = session(MARKER, &mut |_, _| (*next.next().unwrap()).into()).await;
        assert_eq!(called.len(), calls, "{answers:?}");
        assert!(
            last.contains(words) && last.contains("offline demo"),
            "{last}"
        );
    }
}

#[tokio::test]
async fn any_other_question_is_echoed_and_explained() {
    let asked = format!(
        "<environment>\nx\n</environment>\n\nWhy is the sky blue? {}",
        "z".repeat(300)
    );
    let (called, last) = session(&asked, &mut |_, _| "calc.sh".into()).await;
    assert_eq!(called, ["ls {}"]);
    assert!(
        last.starts_with("You asked: \"Why is the sky blue? zzz"),
        "{last}"
    );
    assert!(
        last.contains("a script and not a real one") && last.contains("ostler setup"),
        "{last}"
    );
    assert!(last.len() < 600 && !last.contains('\n'), "{last}");

    let answer = ask(&model(), &[], &[user("hi")]).await;
    assert!(text(&answer).contains("You asked: \"hi\"."));
    assert_eq!(answer.stop, Some(Stop::End));
}

#[tokio::test]
async fn a_question_after_the_session_is_a_new_one() {
    let model = model();
    let done = Msg::Assistant {
        parts: vec![AnswerPart::Text {
            text: "done".into(),
            replay: None,
        }],
    };
    let messages = [user(MARKER), done, user("and now?")];
    let answer = ask(&model, &TOOLS, &messages).await;
    assert!(text(&answer).contains("You asked: \"and now?\""));
}

#[tokio::test]
async fn a_tool_that_is_switched_off_is_named() {
    let answer = ask(&model(), &["bash"], &[user(MARKER)]).await;
    assert!(text(&answer).contains("needs the tool `ls`"));
    assert_eq!(answer.stop, Some(Stop::End));
}
