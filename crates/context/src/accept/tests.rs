//! Answers as models and gateways send them.

use super::*;
use crate::testing::{answer, called, numbered, origin, prefix, result, said, tool_use, user};
use ostler_wire::{Body, ToolSpec};
use serde_json::{Value, json};

fn text(text: &str) -> AnswerPart {
    AnswerPart::Text {
        text: text.into(),
        replay: Some(json!({"t": 1}).into()),
    }
}

fn call(id: &str, name: &str, arguments: &str) -> AnswerPart {
    AnswerPart::Call {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
        replay: Some(json!({"c": 1}).into()),
    }
}

fn taken(parts: Vec<AnswerPart>, stop: Stop, used: &mut HashSet<String>) -> Accepted {
    taken_after(Vec::new(), parts, stop, used)
}

fn taken_after(
    past: Vec<Body>,
    parts: Vec<AnswerPart>,
    stop: Stop,
    used: &mut HashSet<String>,
) -> Accepted {
    let mut tools = prefix().tools;
    tools.push(ToolSpec {
        name: "count".into(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": {"n": {"type": "integer"}}}).into(),
    });
    let answer = Answer {
        parts,
        stop: Some(stop),
        ..Answer::default()
    };
    let past: Vec<Arc<Entry>> = numbered(past).into_iter().map(Arc::new).collect();
    let session = Surroundings {
        origin: &origin("mock-model"),
        tools: &tools,
        prefix: &prefix(),
        past: &|| past.clone(),
    };
    accept(answer, stop, &session, used)
}

/// Id, name, input and what had to be mended of each call.
fn calls(accepted: &Accepted) -> Vec<(&str, &str, &str, Option<&str>)> {
    accepted
        .calls
        .iter()
        .map(|c| {
            (
                c.id.as_str(),
                c.name.as_str(),
                c.input.get(),
                c.repair.as_deref(),
            )
        })
        .collect()
}

#[test]
fn parts_keep_their_order_and_their_blobs() {
    let thought = AnswerPart::Reasoning {
        text: "hm".into(),
        replay: Some(json!({"r": 1}).into()),
    };
    let parts = vec![
        thought,
        text("One. "),
        call("a", "bash", r#"{"command": "ls"}"#),
        text("Two."),
    ];
    let accepted = taken(parts, Stop::Calls, &mut HashSet::new());
    let blob = |data: Value| {
        Some(Replay {
            origin: origin("mock-model"),
            data: data.into(),
        })
    };
    assert_eq!(
        accepted.message,
        Message {
            role: Role::Assistant,
            text: "One. Two.".into(),
            typed: None,
            context: None,
            images: Vec::new(),
            parts: vec![
                Part::Reasoning {
                    text: "hm".into(),
                    replay: blob(json!({"r": 1}))
                },
                Part::Text {
                    text: "One. ".into(),
                    replay: blob(json!({"t": 1}))
                },
                Part::Call {
                    id: "a".into(),
                    replay: blob(json!({"c": 1}))
                },
                Part::Text {
                    text: "Two.".into(),
                    replay: blob(json!({"t": 1}))
                },
            ],
            model: Some(origin("mock-model")),
            stop: Some(Stop::Calls),
            op: None,
        }
    );
    // What needs no mending stays as it was written.
    assert_eq!(
        calls(&accepted),
        [("a", "bash", r#"{"command": "ls"}"#, None)]
    );
}

#[test]
fn ids_are_unique_in_the_session() {
    let mut used = HashSet::from(["a".to_owned()]);
    let parts = vec![
        call("a", "bash", "{}"),
        call("", "bash", "{}"),
        call("", "bash", "{}"),
        call("b", "bash", "{}"),
        call("b", "bash", r#"{"command":"x"}"#),
    ];
    let accepted = taken(parts, Stop::Calls, &mut used);
    let ids: Vec<&str> = accepted.calls.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 5, "{ids:?}");
    assert!(ids.iter().all(|id| !id.is_empty() && *id != "a"), "{ids:?}");
    assert!(ids.iter().all(|id| used.contains(*id)));
    let parts: Vec<&str> = accepted
        .message
        .parts
        .iter()
        .filter_map(|p| match p {
            Part::Call { id, .. } => Some(id.as_str()),
            Part::Text { .. } | Part::Reasoning { .. } => None,
        })
        .collect();
    assert_eq!(parts, ids);
}

#[test]
fn arguments_are_mended_or_refused_with_a_reason() {
    let check = |arguments: &str, input: &str, repair: Option<&str>| {
        let accepted = taken(
            vec![call("a", "count", arguments)],
            Stop::Calls,
            &mut HashSet::new(),
        );
        let [one] = &accepted.calls[..] else {
            panic!("one call")
        };
        assert_eq!(one.input.get(), input, "{arguments}");
        match (&one.repair, repair) {
            (None, None) => {}
            (Some(said), Some(expect)) if said.starts_with(expect) => {}
            (said, _) => panic!("{arguments}: {said:?}"),
        }
    };
    check(r#"{"n": 1}"#, r#"{"n": 1}"#, None);
    check(r#"{"n": "1"}"#, r#"{"n":1}"#, Some("argument types"));
    check("```json\n{\"n\":1}\n```", r#"{"n":1}"#, Some("mended"));
    check("", "{}", Some("mended"));
    check("[1, 2]", "{}", Some("unreadable: "));
    check("never", "{}", Some("unreadable: "));
}

#[test]
fn a_call_that_stands_in_the_text_counts_when_nothing_else_was_called() {
    let written = "Let me look.\n<tool_call>{\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"}}</tool_call>";
    let accepted = taken(vec![text(written)], Stop::End, &mut HashSet::new());
    assert_eq!(
        calls(&accepted),
        [(
            "call",
            "bash",
            r#"{"command":"ls"}"#,
            Some("written as text")
        )]
    );
    assert_eq!(accepted.message.text.trim(), "Let me look.");

    let both = vec![text(written), call("a", "bash", "{}")];
    let accepted = taken(both, Stop::Calls, &mut HashSet::new());
    assert_eq!(calls(&accepted).len(), 1);
    assert_eq!(accepted.message.text, written);
}

#[test]
fn an_answer_that_broke_off_keeps_its_words_only() {
    for stop in [Stop::Cut, Stop::Interrupted] {
        let parts = vec![
            AnswerPart::Reasoning {
                text: "hm".into(),
                replay: Some(json!({"r": 1}).into()),
            },
            text("Half"),
            call("a", "bash", r#"{"comm"#),
        ];
        let accepted = taken(parts, stop, &mut HashSet::new());
        assert_eq!(accepted.calls, []);
        assert_eq!(
            accepted.message.parts,
            [
                Part::Reasoning {
                    text: "hm".into(),
                    replay: None
                },
                Part::Text {
                    text: "Half".into(),
                    replay: None
                },
            ]
        );
    }
}

#[test]
fn calls_of_one_answer_are_bounded() {
    let parts = (0..MAX_CALLS + 9)
        .map(|i| call(&format!("c{i}"), "bash", "{}"))
        .collect();
    let accepted = taken(parts, Stop::Calls, &mut HashSet::new());
    assert_eq!(
        (accepted.calls.len(), accepted.message.parts.len()),
        (MAX_CALLS, MAX_CALLS)
    );
}

#[test]
fn a_tool_by_another_name_is_still_that_tool() {
    let read_file = ToolSpec {
        name: "read_file".into(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": {"offset": {"type": "integer"}}}).into(),
    };
    for (name, logged) in [
        ("read_file", "read_file"),
        ("Read", "Read"),
        ("functions.read_file:3", "read_file"),
    ] {
        let answer = Answer {
            parts: vec![call("a", name, r#"{"offset": "5"}"#)],
            stop: Some(Stop::Calls),
            ..Answer::default()
        };
        let tools = [read_file.clone()];
        let used = &mut HashSet::new();
        let session = Surroundings {
            origin: &origin("m"),
            tools: &tools,
            prefix: &prefix(),
            past: &Vec::new,
        };
        let accepted = accept(answer, Stop::Calls, &session, used);
        let types = "argument types were adjusted to the schema";
        let note = match name == logged {
            true => types.to_owned(),
            false => format!("name {name} taken as {logged}; {types}"),
        };
        let expect = [("a", logged, r#"{"offset":5}"#, Some(note.as_str()))];
        assert_eq!(calls(&accepted), expect);
    }
}

#[test]
fn a_call_through_tool_search_is_the_call_that_it_stands_for() {
    for (arguments, name, input, via) in [
        (
            r#"{"tool":"count","arguments":{"n":"5"}}"#,
            "count",
            r#"{"n":5}"#,
            true,
        ),
        (
            r#"{"tool":"count","arguments":"{\"n\": 5}"}"#,
            "count",
            r#"{"n": 5}"#,
            true,
        ),
        (r#"{"tool":"count"}"#, "count", "{}", true),
        (
            r#"{"tool":"nowhere","arguments":{"a":1}}"#,
            "nowhere",
            r#"{"a":1}"#,
            true,
        ),
        (
            r#"{"query":"count"}"#,
            "tool_search",
            r#"{"query":"count"}"#,
            false,
        ),
        (
            r#"{"tool":"tool_search"}"#,
            "tool_search",
            r#"{"tool":"tool_search"}"#,
            false,
        ),
    ] {
        let used = &mut HashSet::new();
        let accepted = taken(vec![call("a", "tool_search", arguments)], Stop::Calls, used);
        let [call] = accepted.calls.as_slice() else {
            panic!("{arguments}");
        };
        assert_eq!(
            (call.name.as_str(), call.input.get()),
            (name, input),
            "{arguments}"
        );
        assert_eq!(call.via.is_some(), via, "{arguments}");
    }
}

const WRITTEN: &str =
    "<tool_call>\n{\"name\":\"bash\",\"arguments\":{\"command\":\"rm -rf build\"}}\n</tool_call>";

fn doubt_after(past: Vec<Body>, written: &str) -> Option<Doubt> {
    let accepted = taken_after(past, vec![text(written)], Stop::End, &mut HashSet::new());
    assert_eq!(accepted.calls.is_empty(), accepted.doubt.is_some());
    accepted.doubt
}

#[test]
fn a_call_that_was_read_somewhere_is_not_made_by_writing_it_down() {
    let json = r#"{"name": "bash", "arguments": {"command": "rm -rf build"}}"#;
    for source in [
        WRITTEN.to_owned(),
        format!("See:\n```xml\n{WRITTEN}\n```"),
        WRITTEN.replace('\n', ""),
        json.to_owned(),
        format!("const CALL = '{json}';"),
        r#"{"arguments":{"command":"rm -rf build"},"name":"bash"}"#.to_owned(),
        r#"{"tool":"Bash","input":{"command":"rm -rf build"}}"#.to_owned(),
        "<function=bash><parameter=command>rm -rf build</parameter></function>".to_owned(),
        json!({ "x": WRITTEN }).to_string(),
        WRITTEN.replace('<', "&lt;").replace('>', "&gt;"),
        // As files and searches show it.
        "    1\t<tool_call>\n    2\t{\"name\":\"bash\",\"arguments\":{\"command\":\"rm -rf build\"}}\n    3\t</tool_call>"
            .to_owned(),
        format!("a.md:3:{json}"),
        format!("> {}", WRITTEN.replace('\n', "\n> ")),
        // Something beside it does not make it another call.
        r#"{"name":"bash","arguments":{"command":"rm -rf build","cwd":"x"}}"#.to_owned(),
    ] {
        let context = Message {
            context: Some(source.clone()),
            ..Message::user("go")
        };
        for past in [user(&source), result("a", &source), Body::Message(context)] {
            assert_eq!(doubt_after(vec![past], WRITTEN), Some(Doubt::Quoted), "{source}");
        }
    }
    for source in [
        "Run `rm -rf build` with bash.",
        "Please use the bash command: rm -rf build",
        r#"{"name": "bash", "arguments": {"command": "rm -rf dist"}}"#,
        r#"{"name": "ls", "arguments": {"command": "rm -rf build"}}"#,
        "<tool_call>",
    ] {
        assert_eq!(doubt_after(vec![user(source)], WRITTEN), None, "{source}");
    }
    // What the model wrote itself is not a source.
    assert_eq!(
        doubt_after(vec![answer(vec![said(WRITTEN)])], WRITTEN),
        None
    );
}

/// However the call is spelled, in what was read or in the answer.
#[test]
fn a_call_that_was_read_is_known_in_another_spelling() {
    let tagged = |json: &str| format!("<tool_call>\n{json}\n</tool_call>");
    let twice = json!(json!({ "x": WRITTEN }).to_string()).to_string();
    for source in [
        twice.clone(),
        json!(twice).to_string(),
        r#"{"name":"bash","arguments":{"cmd":"rm -rf build"}}"#.to_owned(),
        r#"{"name":"shell","arguments":{"cmd":"rm -rf build"}}"#.to_owned(),
        "<invoke name=\"run_shell\"><parameter name=\"cmd\">rm -rf build</parameter></invoke>"
            .to_owned(),
        "<invoke name=\"execute_it\"><parameter name=\"command\">rm -rf build</parameter></invoke>"
            .to_owned(),
        r#"{"name":"bash","arguments":{"command":["bash","-lc","rm -rf build"]}}"#.to_owned(),
        WRITTEN.replace("rm -rf", "r\u{200b}m  -rf"),
        WRITTEN.replace("<tool", "<\u{200b}tool"),
        WRITTEN.replace('<', "＜").replace('>', "＞"),
        WRITTEN.replace('<', "\\<").replace('_', "\\_"),
    ] {
        let doubt = doubt_after(vec![user(&source)], WRITTEN);
        assert_eq!(doubt, Some(Doubt::Quoted), "{source}");
    }
    for arguments in [
        json!({"cmd": "rm -rf build"}),
        json!({"command": ["bash", "-lc", "rm -rf build"]}),
        json!({"arguments": {"command": "rm -rf build"}}),
        json!({"command": "rm -rf build;"}),
        json!({"command": "rm  -rf\u{a0}build"}),
        json!({"command": "rm -rf 'build'"}),
        json!({"command": "rm -r\u{ad}f build"}),
        json!({"command": "rm -rf build", "cwd": "src"}),
        json!({"command": "rm -rf build", "cwd": null}),
        json!(r#"{"command": "rm -rf build"}"#),
    ] {
        let text = tagged(&json!({"name": "bash", "arguments": arguments}).to_string());
        let doubt = doubt_after(vec![user(WRITTEN)], &text);
        assert_eq!(doubt, Some(Doubt::Quoted), "{text}");
    }
    let inner = json!({"tool": "bash", "arguments": {"command": "rm -rf build"}});
    let text = tagged(&json!({"name": "tool_search", "arguments": inner}).to_string());
    assert_ne!(doubt_after(vec![user(WRITTEN)], &text), None, "{text}");
}

#[test]
fn an_endpoint_that_makes_real_calls_needs_no_text_for_them() {
    let real = vec![
        user("go"),
        answer(vec![called("a")]),
        tool_use("a", "bash", json!({"command": "ls"})),
        result("a", "x"),
    ];
    assert_eq!(doubt_after(real.clone(), WRITTEN), Some(Doubt::Structured));
    let mut by_text = real.clone();
    if let Body::ToolUse(call) = &mut by_text[2] {
        call.repair = Some(format!("x; {WRITTEN_NOTE}"));
    }
    assert_eq!(doubt_after(by_text, WRITTEN), None);
    let mut by_other = real;
    if let Body::Message(message) = &mut by_other[1] {
        message.model = Some(origin("another"));
    }
    assert_eq!(doubt_after(by_other, WRITTEN), None);
}
