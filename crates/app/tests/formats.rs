//! What goes in and out of `exec`: text byte for byte, the event stream, the result object, schemas, pipes and ops.

mod common;

use common::{Scene, each_kind, of_type, texts};
use ostler_testkit::{
    Captured, Kind, Output, Place, Run, Running, Server, Step, Usage, json_lines, only, types,
};
use serde_json::{Value, json};

#[test]
fn text_is_the_assistants_words_and_nothing_else() {
    let cases: [(&[&str], &str); 5] = [
        (&["One line"], "One line\n"),
        (&["One line\n"], "One line\n"),
        (
            &["  spaces\tand\r\nbreaks \n\n"],
            "  spaces\tand\r\nbreaks \n\n",
        ),
        (&["Before. ", "After."], "Before. \nAfter.\n"),
        (&["", "Grüße 世界 \u{1F600}"], "Grüße 世界 \u{1F600}\n"),
    ];
    each_kind(|kind| {
        for (answers, expect) in cases {
            let (last, first) = answers.split_last().expect("an answer");
            let calling = |text: &&str| {
                Step::answer()
                    .reasoning("Hm.")
                    .text(text)
                    .call("time", json!({}))
            };
            let steps = first
                .iter()
                .map(calling)
                .chain([Step::answer().reasoning("Hm.").text(last)]);
            let scene = Scene::new(kind, steps);
            assert_eq!(scene.exec("go").ok().stdout, *expect);
        }
    });
}

#[test]
fn reasoning_that_streams_by_token_is_printed_as_flowing_text() {
    let step = || {
        let thought = [
            "The us",
            "er wants",
            " a fix.\n",
            "So",
            " I look",
            " first.",
        ];
        Step::answer()
            .reasoning_chunks(thought)
            .text_in(6, "I'll reproduce it first.")
    };
    each_kind(|kind| {
        let scene = Scene::new(kind, [step()]);
        let out = scene.exec("go").ok();
        assert_eq!(out.stdout, "I'll reproduce it first.\n");
        let thought = "The user wants a fix.\nSo I look first.\n";
        assert!(out.stderr.contains(thought), "{}", out.stderr);
    });
    #[cfg(unix)]
    for args in [&["exec", "-p", "go"][..], &["--plain"]] {
        let scene = Scene::new(Kind::Chat, [step()]);
        let run = scene.ostler([]).args(args.iter().copied());
        let mut term = run.on_terminal(100, 30);
        if args == ["--plain"] {
            term.wait_for(">");
            term.keys("go\r");
        }
        let shown = "The user wants a fix.\nSo I look first.\nI'll reproduce it first.\n";
        term.wait_until("reasoning and the answer on lines of their own", |screen| {
            let lines: Vec<&str> = screen.lines().map(str::trim_end).collect();
            (lines.join("\n") + "\n").contains(shown)
        });
    }
}

#[test]
fn the_event_stream_is_whole_numbered_and_ends_with_the_result() {
    each_kind(|kind| {
        let scene = Scene::new(
            kind,
            [
                Step::answer()
                    .reasoning("Let me see.")
                    .text("Looking at it now. ")
                    .call("bash", json!({"command": "echo hi"})),
                Step::answer().text("That was\nall."),
            ],
        );
        let lines = scene.stream("go");
        let entries: Vec<&Value> = lines.iter().filter(|l| l.get("entry").is_some()).collect();
        for (n, entry) in entries.iter().enumerate() {
            assert_eq!(entry["entry"], json!(n));
            assert_eq!(
                entry["parent"],
                if n == 0 { Value::Null } else { json!(n - 1) }
            );
        }
        // The same lines, in the same order, are the log.
        let shown: Vec<String> = entries.iter().map(|e| e.to_string()).collect();
        let logged: Vec<String> = scene.log().iter().map(Value::to_string).collect();
        assert_eq!(shown, logged);
        assert!(
            lines[..lines.len() - 1]
                .iter()
                .all(|l| l["ts"].as_str().is_some_and(|t| t.ends_with('Z')))
        );
        assert_eq!(
            said_by_deltas(&lines, "assistant_delta"),
            ["Looking at it now. ", "That was\nall."]
        );
        assert_eq!(
            said_by_deltas(&lines, "reasoning_delta"),
            ["Let me see.", ""]
        );
        let last = lines.last().expect("a line");
        assert_eq!(
            (last["type"].as_str(), last["result"].as_str()),
            (Some("result"), Some("That was\nall."))
        );
        let started = only(&lines, "tool_started");
        assert_eq!(
            (started["id"].clone(), &started["name"]),
            (only(&lines, "tool_use")["id"].clone(), &json!("bash"))
        );
    });
}

/// The text of the deltas before each answer.
fn said_by_deltas(lines: &[Value], delta: &str) -> Vec<String> {
    let mut said = vec![String::new()];
    for line in lines {
        if line["type"] == delta {
            let text = line["text"].as_str().unwrap_or_default();
            said.last_mut().expect("one at least").push_str(text);
        } else if line["type"] == "message" && line["role"] == "assistant" {
            said.push(String::new());
        }
    }
    said.pop();
    said
}

#[test]
fn the_result_object_sums_up_the_turn() {
    each_kind(|kind| {
        let usage = |input, output| Usage {
            input,
            output,
            cached: 40,
            ..Usage::default()
        };
        let scene = Scene::with_config(
            kind,
            "price = { input = 1.0, cached_input = 0.5, output = 10.0 }\n",
            [
                Step::answer()
                    .text("Looking. ")
                    .call("time", json!({}))
                    .usage(usage(1_000, 20)),
                Step::answer().text("Noon.").usage(usage(2_000, 30)),
            ],
        );
        let out = scene
            .ostler(["exec", "--format", "result", "-p", "go"])
            .output()
            .ok();
        let mut result: Value = serde_json::from_str(&out.stdout).expect("one object");
        assert!(result["duration_ms"].as_u64().is_some());
        result["duration_ms"] = json!(0);
        let cost = result["cost"].as_f64().expect("a cost");
        let expect = (2_920.0 * 1.0 + 80.0 * 0.5 + 50.0 * 10.0) / 1e6;
        assert!((cost - expect).abs() < 1e-9, "{cost} is not {expect}");
        result["cost"] = json!(0);
        assert_eq!(
            result,
            json!({"type": "result", "subtype": "success", "is_error": false, "result": "Noon.",
                "session_id": scene.session_id(), "num_turns": 2, "duration_ms": 0, "cost": 0,
                "usage": {"input": 3_000, "cached": 80, "cache_write": 0, "output": 50}})
        );
    });
}

#[test]
fn every_name_of_a_format() {
    let (text, stream, result) = ("text", "stream", "result");
    let cases: [(&[&str], &str); 11] = [
        (&["exec", "-p", "go"], text),
        (&["run", "go", "now"], text),
        (&["-p", "go"], text),
        (&["exec", "--format", "text", "-p", "go"], text),
        (&["exec", "--format", "json", "-p", "go"], stream),
        (&["exec", "--format", "stream-json", "-p", "go"], stream),
        (&["exec", "--format", "result", "go"], result),
        (&["exec", "--output-format", "text", "-p", "go"], text),
        (&["exec", "--output-format", "json", "-p", "go"], result),
        (
            &["exec", "--output-format", "stream-json", "-p", "go"],
            stream,
        ),
        (&["-p", "go", "--output-format", "json"], result),
    ];
    for (args, expect) in cases {
        let scene = Scene::new(Kind::Chat, [Step::answer().text("ok")]);
        let out = scene
            .space
            .run(env!("CARGO_BIN_EXE_ostler"))
            .args(args)
            .output()
            .ok();
        let lines = || json_lines(&out.stdout);
        let got = match out.stdout.as_str() {
            "ok\n" => text,
            _ if lines().len() == 1 && lines()[0]["type"] == "result" => result,
            _ if types(&lines()).first() == Some(&"meta")
                && types(&lines()).last() == Some(&"result") =>
            {
                stream
            }
            other => other,
        };
        assert_eq!(got, expect, "{args:?}");
    }
}

#[test]
fn a_pipe_joins_the_prompt_or_is_it() {
    let cases: [(&[&str], &str, &str); 6] = [
        (
            &["exec", "-p", "Sum up"],
            "a\nb\n",
            "Sum up\n\n<stdin>\na\nb\n\n</stdin>",
        ),
        (
            &["exec", "Sum", "up"],
            "a",
            "Sum up\n\n<stdin>\na\n</stdin>",
        ),
        (&["exec", "-p", "Sum up"], " \n", "Sum up"),
        (&["exec"], "All of it\n", "All of it\n"),
        (&["exec", "-"], "All of it\n", "All of it\n"),
        (&["-p", "Sum up"], "a", "Sum up\n\n<stdin>\na\n</stdin>"),
    ];
    for (args, input, expect) in cases {
        let scene = Scene::new(Kind::Chat, [Step::answer().text("ok")]);
        scene
            .space
            .run(env!("CARGO_BIN_EXE_ostler"))
            .args(args)
            .stdin(input)
            .output()
            .ok();
        let log = scene.log();
        assert_eq!(texts(&log)[0], expect, "{args:?}");
        assert!(
            scene.server.request(0).last_user_text().ends_with(expect),
            "{args:?}"
        );
    }
}

#[test]
fn bytes_in_a_pipe_that_are_no_text_are_marked() {
    let scene = Scene::new(Kind::Chat, [Step::answer().text("ok")]);
    scene
        .ostler(["exec", "-p", "Look"])
        .stdin(b"a\xff\x00b".to_vec())
        .output()
        .ok();
    assert_eq!(
        texts(&scene.log())[0],
        "Look\n\n<stdin>\na\u{fffd}\u{0}b\n</stdin>"
    );
}

#[cfg(unix)]
#[test]
fn a_silent_pipe_is_left_alone() {
    let scene = Scene::new(Kind::Chat, [Step::answer().text("ok")]);
    scene.space.run("mkfifo").arg("pipe").output().ok();
    let pipe = scene.space.root().join("pipe");
    // Held open beyond the end of the run, by somebody who says nothing.
    let held = std::fs::File::options()
        .read(true)
        .write(true)
        .open(pipe)
        .expect("a pipe");
    let script = format!("exec {} exec -p go < pipe", env!("CARGO_BIN_EXE_ostler"));
    let out = scene.space.run("sh").args(["-c", &script]).output().ok();
    drop(held);
    assert_eq!(out.stdout, "ok\n");
    assert!(
        out.stderr.contains("stdin is a pipe without data; ignored"),
        "{}",
        out.stderr
    );
    assert_eq!(texts(&scene.log()), ["go", "ok"]);
}

const SCHEMA: &str =
    r#"{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}"#;

#[track_caller]
fn with_schema(kind: Kind, format: &str, answers: &[&str]) -> (Scene, Output) {
    let scene = Scene::new(kind, answers.iter().map(|text| Step::answer().text(text)));
    let schema = scene.space.write("schema.json", SCHEMA);
    let run = scene.ostler(["exec", "--format", format, "-p", "Count", "--output-schema"]);
    let out = run.arg(schema).output();
    scene.server.assert_done();
    (scene, out)
}

#[test]
fn an_answer_that_fits_the_schema_is_printed() {
    each_kind(|kind| {
        let (scene, out) = with_schema(kind, "text", &["{\"n\": 3}"]);
        assert_eq!(out.ok().stdout, "{\"n\": 3}\n");
        let asked = scene.server.request(0).last_user_text();
        assert!(
            asked.contains("Count") && asked.contains("\"required\":[\"n\"]"),
            "{asked}"
        );
    });
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_once_more() {
    each_kind(|kind| {
        for bad in ["It is three.", "{\"n\": \"three\"}"] {
            let (scene, out) = with_schema(kind, "text", &[bad, "{\"n\": 3}"]);
            let out = out.ok();
            assert_eq!(out.stdout, "{\"n\": 3}\n", "only what fits goes to stdout");
            assert!(
                out.stderr.contains("does not fit the schema"),
                "{}",
                out.stderr
            );
            let asked = scene.server.request(1).last_user_text();
            assert!(asked.contains("Your answer is not valid"), "{asked}");
        }
        let (_, out) = with_schema(kind, "result", &["No.", "{\"n\": 3}"]);
        let result: Value = serde_json::from_str(&out.ok().stdout).expect("one object");
        assert_eq!(
            (&result["result"], &result["num_turns"]),
            (&json!("{\"n\": 3}"), &json!(2))
        );
    });
}

#[test]
fn an_answer_that_never_fits_is_a_failure() {
    each_kind(|kind| {
        let (_, out) = with_schema(kind, "text", &["No.", "Never."]);
        let out = out.exits(1);
        assert_eq!(out.stdout, "");
        assert!(
            out.stderr
                .contains("Error: the answer does not fit the output schema"),
            "{}",
            out.stderr
        );
        let (_, out) = with_schema(kind, "result", &["No.", "Never."]);
        let result: Value = serde_json::from_str(&out.exits(1).stdout).expect("one object");
        assert_eq!(
            (
                &result["subtype"],
                &result["is_error"],
                &result["error"]["kind"]
            ),
            (&json!("error"), &json!(true), &json!("output_schema"))
        );
    });
}

#[test]
fn a_schema_that_is_none_is_refused_before_anything_is_asked() {
    for (schema, said) in [
        ("{", "is not JSON"),
        ("{\"type\": \"nonsense\"}", "is not a valid JSON Schema"),
    ] {
        let scene = Scene::new(Kind::Chat, []);
        let file = scene.space.write("s.json", schema);
        let out = scene
            .ostler(["exec", "-p", "go", "--output-schema"])
            .arg(file)
            .output()
            .exits(2);
        assert!(out.stderr.contains(said), "{}", out.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_enough_ends_it_quietly() {
    let op = r#"{"op":"prompt","text":"go"}"#;
    let cases = [
        ("ostler exec -p go", ""),
        ("ostler exec --format json -p go", ""),
        ("ostler exec --input-format stream-json", op),
        ("ostler", "go"),
    ];
    for (command, input) in cases {
        let server = Server::answering(|request| match request.last_user_text() {
            said if said.ends_with("more") => Step::answer().text("Again."),
            _ => Step::answer().words(20_000),
        });
        let scene = Scene::of(Kind::Chat, "", server);
        let command = command.replacen("ostler", env!("CARGO_BIN_EXE_ostler"), 1);
        let script = format!("({command}; echo \"code $?\" >&2) | head -c 10");
        let run = scene.space.run("sh").args(["-c", &script]);
        let out = run.stdin(format!("{input}\n")).output().ok();
        assert_eq!(out.stdout.len(), 10, "{command}");
        assert!(out.stderr.contains("code 0"), "{command}: {}", out.stderr);
        for noise in ["roken pipe", "panic", "rror"] {
            assert!(!out.stderr.contains(noise), "{command}: {}", out.stderr);
        }
        assert_eq!(
            scene.ostler(["resume", "-p", "more"]).output().ok().stdout,
            "Again.\n",
            "{command}"
        );
    }
}

/// `exec --input-format stream-json` with its stdin held open.
fn driven(scene: &Scene) -> Running {
    scene
        .ostler(["exec", "--input-format", "stream-json"])
        .open_stdin()
        .spawn()
}

fn prompt(text: &str) -> String {
    json!({"op": "prompt", "text": text}).to_string() + "\n"
}

#[test]
fn ops_drive_many_turns() {
    each_kind(|kind| {
        let scene = Scene::new(
            kind,
            ["One.", "Two.", "Three."].map(|text| Step::answer().text(text)),
        );
        let mut running = driven(&scene);
        running.write(&prompt("first"));
        running.wait_stdout("\"result\":\"One.\"");
        // Two at once: one waits for the other.
        running.write(&(prompt("second") + &prompt("third")));
        let out = running.wait().ok();
        let lines = json_lines(&out.stdout);
        let results: Vec<&Value> = of_type(&lines, "result")
            .iter()
            .map(|r| &r["result"])
            .collect();
        assert_eq!(results, ["One.", "Two.", "Three."]);
        assert_eq!(
            texts(&lines),
            ["first", "One.", "second", "Two.", "third", "Three."]
        );
        assert_eq!(scene.logs().len(), 1);
        scene.server.assert_done();
    });
}

#[test]
fn no_prompt_of_a_long_queue_is_lost() {
    const PROMPTS: usize = 270;
    let echo = |request: &Captured| {
        let said = request.last_user_text();
        Step::answer().text(said.lines().last().unwrap_or_default())
    };
    let server = Server::builder()
        .answering(echo)
        .lenient()
        .keep_bodies(1)
        .start();
    let scene = Scene::of(Kind::Chat, "", server);
    let input: String = (0..PROMPTS).map(|n| prompt(&format!("p{n}"))).collect();
    // Unsaved and with one tool: disks and long prompts take time.
    let run = scene.ostler(["exec", "--no-save", "--allowed-tools", "time"]);
    let run = run.args(["--input-format", "stream-json"]);
    let out = run.args(["--format", "result"]).stdin(input).output().ok();
    let lines = json_lines(&out.stdout);
    let results: Vec<&str> = lines.iter().filter_map(|r| r["result"].as_str()).collect();
    let expect: Vec<String> = (0..PROMPTS).map(|n| format!("p{n}")).collect();
    assert_eq!(results, expect);
}

#[test]
fn a_typed_text_is_a_command_or_a_prompt() {
    let scene = Scene::new(Kind::Chat, [Step::answer().text("One.")]);
    let mut running = driven(&scene);
    running.write("{\"op\":\"say\",\"text\":\"/status\",\"id\":\"7\"}\n");
    let told = running.wait_stdout("\"op\":\"7\"");
    assert!(told.contains("\"type\":\"view\""), "{told}");
    running.write("{\"op\":\"say\",\"text\":\"/etc/hosts what is it?\"}\n");
    running.wait_stdout("One.");
    running.close_stdin();
    running.wait().ok();
    assert_eq!(texts(&scene.log()), ["/etc/hosts what is it?", "One."]);
}

#[cfg(unix)]
#[test]
fn the_end_of_stdin_waits_for_tasks_in_the_background() {
    let free = "[permissions]\nmode = \"allow\"\n[sandbox]\nbash = \"off\"\n";
    let server = || {
        Server::answering(|request| match request.tool_results().is_empty() {
            true => Step::answer().call("bash", json!({"command": "read line < gate; touch made"})),
            false => Step::answer().text("Made it."),
        })
    };
    let bg = json!({"op": "command", "line": "bg make it"}).to_string() + "\n";
    let scene = Scene::of(Kind::Chat, free, server());
    let gate = Gate::new(&scene);
    let mut running = driven(&scene);
    running.write(&bg);
    running.close_stdin();
    running.wait_stdout("runs in the background");
    gate.open();
    let out = running.wait().ok();
    assert!(out.stdout.contains("t1 is done after"), "{}", out.stdout);
    assert!(scene.space.exists("made"));
    // Whoever closes it instead has lost the task, and is not told that all went well.
    let scene = Scene::of(Kind::Chat, free, server());
    let _gate = Gate::new(&scene);
    let mut running = driven(&scene);
    running.write(&bg);
    running.wait_stdout("runs in the background");
    running.write("{\"op\":\"close\"}\n");
    let out = running.wait().exits(1);
    assert!(
        out.stdout.contains("t1 was stopped after"),
        "{}",
        out.stdout
    );
}

/// A command that runs until the gate is opened, and opens it.
#[cfg(unix)]
struct Gate(std::path::PathBuf);

#[cfg(unix)]
impl Gate {
    fn new(scene: &Scene) -> Gate {
        scene.space.run("mkfifo").arg("gate").output().ok();
        Gate(scene.space.root().join("gate"))
    }

    fn open(self) {
        std::fs::write(&self.0, "open\n").expect("a reader");
    }
}

#[cfg(unix)]
#[test]
fn steering_reaches_the_running_turn() {
    each_kind(|kind| {
        let server = Server::answering(|request| {
            let said = request.last_user_text();
            match request.tool_results().len() {
                0 => Step::answer().call("bash", json!({"command": "cat gate"})),
                _ if said.contains("Use tabs") => Step::answer().text("With tabs."),
                _ => Step::answer().text("Without."),
            }
        });
        let scene = Scene::of(kind, "", server);
        let gate = Gate::new(&scene);
        let mut running = driven(&scene);
        running.write(&prompt("Go"));
        running.wait_stdout("tool_started");
        let steer = json!({"op": "prompt", "text": "Use tabs", "delivery": "steer"});
        // The complaint about the line behind it tells that the op is with the session.
        running.write(&format!("{steer}\nno op\n"));
        running.wait_stderr("this line is not an op");
        gate.open();
        let out = running.wait().ok();
        let lines = json_lines(&out.stdout);
        assert_eq!(only(&lines, "result")["result"], "With tabs.");
        let user: Vec<&Value> = of_type(&lines, "message")
            .into_iter()
            .filter(|m| m["role"] == "user")
            .collect();
        assert_eq!(
            user.iter().map(|m| &m["text"]).collect::<Vec<_>>(),
            ["Go", "Use tabs"]
        );
        assert_eq!(of_type(&lines, "turn_end").len(), 1);
    });
}

#[test]
fn an_interrupt_ends_the_turn_and_not_the_session() {
    each_kind(|kind| {
        let scene = Scene::new(
            kind,
            [
                Step::answer().text("Half of it").stall(Place::Text(1)),
                Step::answer().text("Whole."),
            ],
        );
        let mut running = driven(&scene);
        running.write(&prompt("Go"));
        running.wait_stdout("assistant_delta");
        running.write("{\"op\":\"interrupt\"}\n");
        running.wait_stdout("\"subtype\":\"interrupted\"");
        scene.server.wait_gone(0);
        running.write(&prompt("Again"));
        let out = running.wait().ok();
        let lines = json_lines(&out.stdout);
        let outcomes: Vec<&Value> = of_type(&lines, "turn_end")
            .iter()
            .map(|e| &e["outcome"])
            .collect();
        assert_eq!(outcomes, ["interrupted", "done"]);
        assert_eq!(texts(&lines), ["Go", "Half ", "Again", "Whole."]);
        assert_eq!(only(&lines, "interrupted")["text"], "Interrupted");
    });
}

/// Waits for the `n`th ask and answers it.
#[track_caller]
fn answer(running: &mut Running, n: usize, choice: Value) -> Value {
    let id = format!("\"ask\":\"a{n}-");
    let shown = running.wait_stdout(&id);
    let ask = shown.lines().find(|l| l.contains(&id)).expect("the ask");
    let ask: Value = serde_json::from_str(ask).expect("a line of JSON");
    let mut op = json!({"op": "answer", "ask": ask["ask"]});
    for (key, value) in choice.as_object().expect("an object") {
        op[key] = value.clone();
    }
    running.write(&format!("{op}\n"));
    ask
}

#[test]
fn asks_are_answered_by_ops() {
    each_kind(|kind| {
        let write =
            |n: u32| Step::answer().call("bash", json!({"command": format!("echo {n} >> f")}));
        let scene = Scene::new(
            kind,
            [write(1), write(2), write(2), Step::answer().text("ok")],
        );
        let mut running = driven(&scene);
        running.write(&prompt("Go"));
        let ask = answer(
            &mut running,
            1,
            json!({"choice": "deny", "reason": "not that file"}),
        );
        assert_eq!(
            (&ask["kind"], &ask["subject"], &ask["tool"]),
            (
                &json!("permission"),
                &json!("bash: echo 1 >> f"),
                &json!("bash")
            )
        );
        let ids: Vec<&Value> = ask["options"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|o| &o["id"])
            .collect();
        assert_eq!(ids, ["once", "session", "always", "always_project", "deny"]);
        // Granted for the session: the same command is not asked for again.
        answer(&mut running, 2, json!({"choice": "session"}));
        let out = running.wait().ok();
        let lines = json_lines(&out.stdout);
        assert_eq!(scene.space.read("f"), "2\n2\n");
        assert_eq!(of_type(&lines, "ask").len(), 2);
        let decisions: Vec<&Value> = of_type(&lines, "approval")
            .iter()
            .map(|a| &a["decision"])
            .collect();
        assert_eq!(decisions, ["deny", "session"]);
        let results = scene.server.request(3).tool_results();
        assert!(results[0].1.contains("not that file"), "{}", results[0].1);
    });
}

#[test]
fn nobody_left_to_answer_is_a_no() {
    each_kind(|kind| {
        let scene = Scene::new(
            kind,
            [
                Step::answer().call("bash", json!({"command": "echo 1 > f"})),
                Step::answer().call("ask", json!({"question": "Which?", "choices": ["a", "b"]})),
                Step::answer().text("ok"),
            ],
        );
        let run = scene.ostler(["exec", "--input-format", "stream-json"]);
        let out = run.stdin(prompt("Go")).output().ok();
        let lines = json_lines(&out.stdout);
        assert_eq!(only(&lines, "result")["result"], "ok");
        assert!(!scene.space.exists("f"));
        let results = scene.server.request(2).tool_results();
        assert!(
            results[0].1.contains("nobody is there to answer"),
            "{}",
            results[0].1
        );
        assert!(
            results[1].1.contains("label it as your assumption"),
            "{}",
            results[1].1
        );
    });
}

#[test]
fn a_question_of_the_model_is_answered_by_an_op() {
    let ask = Step::answer().call(
        "ask",
        json!({"question": "Which colour?", "choices": ["red", "blue"]}),
    );
    let scene = Scene::new(Kind::Chat, [ask, Step::answer().text("Blue it is.")]);
    let mut running = driven(&scene);
    running.write(&prompt("Go"));
    let ask = answer(&mut running, 1, json!({"choice": "blue"}));
    assert_eq!(
        (&ask["kind"], &ask["subject"]),
        (&json!("question"), &json!("Which colour?"))
    );
    running.wait().ok();
    assert_eq!(
        scene.server.request(1).tool_results()[0].1,
        "The person answered: blue"
    );
}

#[test]
fn what_cannot_begin_has_a_result_too() {
    let scene = Scene::new(Kind::Chat, []);
    let no_key = |run: Run| run.without_env("MOCK_KEY");
    let broken = |run: Run| run.env("OSTLER_AGENT__MAX_STEPS", "many");
    let plain = |run: Run| run;
    type Change = fn(Run) -> Run;
    let cases: [(&[&str], Change, i32, &str); 5] = [
        (&["--model", "nobody/none"], plain, 1, "nobody/none"),
        (&[], no_key, 1, "MOCK_KEY"),
        (&[], broken, 1, "max_steps"),
        (&["--session", "ffff-ffff"], plain, 1, "no session"),
        (&["--root", "nowhere"], plain, 2, "nowhere"),
    ];
    for (flags, change, code, words) in cases {
        for format in ["json", "result"] {
            let run = scene.ostler(["exec", "--format", format, "-p", "go"]);
            let out = change(run.args(flags)).output().exits(code);
            let lines = json_lines(&out.stdout);
            let result = only(&lines, "result");
            assert_eq!(lines.len(), 1, "{lines:?}");
            assert_eq!(
                (
                    &result["subtype"],
                    &result["is_error"],
                    &result["exit_code"]
                ),
                (&json!("error"), &json!(true), &json!(code))
            );
            assert_eq!(result["error"]["kind"], "start");
            let message = result["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains(words), "{message}");
            assert!(out.stderr.contains(words), "{}", out.stderr);
        }
        let run = scene.ostler(["exec", "-p", "go"]);
        assert_eq!(change(run.args(flags)).output().exits(code).stdout, "");
    }
}

#[test]
fn an_op_completes_a_mention_and_the_end_of_stdin_waits_for_it() {
    let scene = Scene::new(Kind::Chat, []);
    scene.space.write("src/main.rs", "");
    let run = scene.ostler(["exec", "--input-format", "stream-json"]);
    let op = json!({"op": "complete", "id": "7", "text": "src/", "limit": 5});
    let out = run.stdin(op.to_string()).output().ok();
    let views = json_lines(&out.stdout);
    let views = of_type(&views, "view");
    assert_eq!(views.len(), 1, "{}", out.stdout);
    assert_eq!(views[0]["op"], "7");
    let item = json!({"insert": "src/main.rs", "label": "main.rs", "kind": "file"});
    assert_eq!(
        views[0]["view"]["completion"],
        json!({"text": "src/", "items": [item]})
    );
}

#[test]
fn an_op_that_is_too_long_is_named_and_the_next_one_is_read() {
    let scene = Scene::new(Kind::Chat, [Step::answer().text("One.")]);
    let long = "A".repeat(65 << 20);
    let run = scene.ostler(["exec", "--input-format", "stream-json"]);
    let out = run
        .stdin(format!("{long}\n{}", prompt("go on")))
        .output()
        .ok();
    assert!(
        out.stderr
            .contains("stdin: a line is longer than 64 MiB and was skipped"),
        "{}",
        out.stderr
    );
    assert_eq!(texts(&scene.log()), ["go on", "One."]);
}
