//! What every protocol must do alike, seen from the vendor's side: prompts, calls, replay, and prompts that only ever grow.

mod common;

use common::{Scene, each_kind, of_type, shared};
use ostler_testkit::{
    Captured, KEY, Kind, Server, Step, TempWorkspace, config_text, json_lines, only, types,
};
use serde_json::{Value, json};

/// 2,750 tokens at four bytes each, sub-agents included, and 4,000 with every built-in tool in the list.
const MAX_FIRST_PROMPT: [(&str, usize); 2] =
    [("", 11_000), ("[tools]\ntool_search = false\n", 16_000)];
/// A model that nobody knows is only asked for its thoughts when the person says how hard to think.
const THINKING: &str = "[agent]\neffort = \"medium\"\n";
/// Eight by eight red pixels.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x08\x00\x00\x00\x08\x08\x02\x00\x00\x00Km)\xdc\
    \x00\x00\x00\x12IDATx\x9cc\xf8\xcf\xc0\x80\x15a\x17\x1d\xb4\x12\x00(\xff?\xc1n\xec\xdfa\x00\x00\x00\x00IEND\xaeB`\x82";
/// What the mock's sealed replay blobs begin with.
const SEAL: &str = "6d6f636b7365616c";

#[test]
fn a_prompt_gets_its_answer() {
    each_kind(|kind| {
        let server = Server::builder()
            .steps([Step::answer().text("It is 42.\nReally.")])
            .require_key(KEY)
            .start();
        let scene = Scene::of(kind, "", server);
        let out = scene.exec("What is it?").ok();
        assert_eq!(out.stdout, "It is 42.\nReally.\n");
        let request = scene.server.request(0);
        assert_eq!(
            (request.kind(), request.model(), request.streams()),
            (Some(kind), "mock-model", true)
        );
        assert!(
            request.last_user_text().ends_with("What is it?"),
            "{}",
            request.last_user_text()
        );
        assert!(
            request.system_text().contains("Ostler"),
            "{}",
            request.system_text()
        );
        scene.server.assert_done();
        // Nothing but the model's endpoint was asked, and over one connection.
        assert_eq!(
            (
                scene.server.other_requests().len(),
                scene.server.connections()
            ),
            (0, 1)
        );
    });
}

#[test]
fn an_answer_may_come_whole_shredded_or_with_noise() {
    let text = "Grüße, 世界! \u{1F600} \\ \" end";
    each_kind(|kind| {
        let cases = [
            ("stream = false\n", Step::answer().text(text)),
            ("", Step::answer().text(text).shred(1)),
            ("", Step::answer().text(text).noise()),
            ("", Step::answer().chunks(text.chars().map(String::from))),
        ];
        for (config, step) in cases {
            let scene = Scene::with_config(kind, config, [step]);
            assert_eq!(scene.exec("go").ok().stdout, format!("{text}\n"));
            assert_eq!(scene.server.request(0).streams(), config.is_empty());
        }
    });
}

#[test]
fn an_answer_that_comes_whole_may_think_and_call() {
    each_kind(|kind| {
        let calls = [("time", json!({})), ("bash", json!({"command": "echo x"}))];
        let scene = Scene::with_config(
            kind,
            &format!("stream = false\n{THINKING}"),
            [
                Step::answer().reasoning("Hm.").text("A. ").calls(calls),
                Step::answer().reasoning("Yes.").text("B."),
                Step::answer().text("C."),
            ],
        );
        assert_eq!(scene.exec("go").ok().stdout, "A. \nB.\n");
        scene.ostler(["resume", "-p", "more"]).output().ok();
        let last = scene.server.request(2);
        assert_eq!(
            (
                last.tool_calls().len(),
                last.tool_results().len(),
                blobs(&last)
            ),
            (2, 2, 2)
        );
        scene.server.assert_done();
    });
}

#[test]
fn calls_without_ids_and_with_the_same_one_are_told_apart() {
    each_kind(|kind| {
        let say = |text: &str| json!({"command": format!("echo {text}")});
        let nameless = Step::answer()
            .call("bash", say("a"))
            .id("")
            .call("bash", say("b"))
            .id("");
        let twins = Step::answer()
            .call("bash", say("c"))
            .id("c1")
            .call("bash", say("d"))
            .id("c1");
        let scene = Scene::new(kind, [nameless, twins, Step::answer().text("ok")]);
        scene.exec("go").ok();
        let results = scene.server.request(2).tool_results();
        let said: Vec<&str> = results.iter().map(|r| r.1.as_str()).collect();
        assert_eq!(said, ["a", "b", "c", "d"]);
        let ids: std::collections::BTreeSet<&str> = results.iter().map(|r| r.0.as_str()).collect();
        assert_eq!(ids.len(), 4, "{ids:?}");
        scene.server.assert_done();
    });
}

#[test]
fn a_call_runs_and_its_result_goes_back() {
    each_kind(|kind| {
        let call = Step::answer()
            .text("Looking. ")
            .call("read_file", json!({"path": "note.txt"}));
        let scene = Scene::new(
            kind,
            [
                call.split_at(&[1, 4]),
                Step::answer().text("It says hello."),
            ],
        );
        scene.space.write("note.txt", "hello from the file\n");
        let out = scene.exec("Read note.txt").ok();
        assert_eq!(out.stdout, "Looking. \nIt says hello.\n");
        let second = scene.server.request(1);
        let calls = second.tool_calls();
        let results = second.tool_results();
        assert_eq!((calls.len(), results.len()), (1, 1));
        assert_eq!(
            (calls[0].1.as_str(), results[0].0.as_str()),
            ("read_file", calls[0].0.as_str())
        );
        assert!(
            results[0].1.contains("hello from the file"),
            "{}",
            results[0].1
        );
        assert!(!results[0].2);
        scene.server.assert_done();
    });
}

/// Each call can only end after all have begun, and they are let go last to first.
#[cfg(unix)]
#[test]
fn readers_of_one_answer_run_together_and_answer_in_order() {
    use std::fs::File;
    use std::io::Write;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    const LIMIT: Duration = Duration::from_secs(20);
    let names = ["a", "b", "c", "d"];
    each_kind(|kind| {
        let calls = names.map(|name| ("bash", json!({"command": format!("cat pipe-{name}")})));
        let scene = Scene::new(
            kind,
            [Step::answer().calls(calls), Step::answer().text("ok")],
        );
        for name in names {
            scene
                .space
                .run("mkfifo")
                .arg(format!("pipe-{name}"))
                .output()
                .ok();
        }
        let running = scene
            .ostler(["exec", "--format", "json", "-p", "go"])
            .spawn();
        // Opening the end of a pipe waits for the command that reads it.
        let (tell, told) = channel();
        for name in names {
            let (path, tell) = (
                scene.space.root().join(format!("pipe-{name}")),
                tell.clone(),
            );
            std::thread::spawn(move || tell.send((name, File::create(path))).is_ok());
        }
        let mut open: Vec<(&str, File)> = names
            .iter()
            .map(|_| told.recv_timeout(LIMIT).expect("all four commands at once"))
            .map(|(name, file)| (name, file.expect("a pipe")))
            .collect();
        open.sort_by_key(|(name, _)| std::cmp::Reverse(*name));
        for (name, mut file) in open {
            writeln!(file, "from {name}").expect("a reader");
        }
        let lines = json_lines(&running.wait().ok().stdout);
        let said = |line: &&Value| {
            line["output"]["data"]["stdout"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let logged: Vec<String> = of_type(&lines, "tool_result").iter().map(said).collect();
        let expect = names.map(|name| format!("from {name}\n"));
        assert_eq!(logged, expect);
        let sent: Vec<String> = scene
            .server
            .request(1)
            .tool_results()
            .into_iter()
            .map(|r| r.1 + "\n")
            .collect();
        assert_eq!(sent, expect);
    });
}

#[cfg(unix)]
#[test]
fn four_sleeps_take_the_time_of_one() {
    each_kind(|kind| {
        let calls = [0; 4].map(|_| ("bash", json!({"command": "sleep 0.3"})));
        let scene = Scene::new(
            kind,
            [Step::answer().calls(calls), Step::answer().text("ok")],
        );
        scene.exec("sleep").ok();
        let log = scene.log();
        let results = of_type(&log, "tool_result");
        let took: u64 = results
            .iter()
            .filter_map(|r| r["duration_ms"].as_u64())
            .sum();
        let asked = of_type(&log, "tool_use");
        let span = common::millis(results.last().expect("a result")) - common::millis(asked[0]);
        assert_eq!(results.len(), 4);
        assert!(
            took >= 1_200 && took > span + 300,
            "{took} ms of sleep in {span} ms"
        );
    });
}

#[cfg(unix)]
#[test]
fn writers_run_alone_and_in_order() {
    each_kind(|kind| {
        let calls = ["a", "b", "c"].map(|c| {
            (
                "bash",
                json!({"command": format!("cat f; sleep 0.05; echo {c} >> f")}),
            )
        });
        let scene = Scene::new(
            kind,
            [Step::answer().calls(calls), Step::answer().text("ok")],
        );
        scene.space.write("f", "start\n");
        scene.exec("go").ok();
        assert_eq!(scene.space.read("f"), "start\na\nb\nc\n");
        let results: Vec<String> = scene
            .server
            .request(1)
            .tool_results()
            .into_iter()
            .map(|r| r.1)
            .collect();
        assert_eq!(results, ["start", "start\na", "start\na\nb"]);
    });
}

#[test]
fn reasoning_goes_back_to_its_origin_and_nowhere_else() {
    each_kind(|kind| {
        let scene = Scene::new(
            kind,
            [
                Step::answer()
                    .reasoning("Secret thought.")
                    .call("time", json!({})),
                Step::answer().reasoning("More thought.").text("Noon."),
                Step::answer().text("Still noon."),
                Step::answer().text("Other model here."),
            ],
        );
        let other = config_text(&scene.server, kind);
        let other = other
            .split_once("[[providers]]")
            .map(|(_, own)| own)
            .unwrap_or_default();
        let other = other
            .replace("mock-model", "other-model")
            .replace("\"mock\"", "\"other\"");
        let config = config_text(&scene.server, kind) + "\n[[providers]]" + &other + THINKING;
        scene
            .space
            .write(scene.space.home().join("config.toml"), config);
        let out = scene.exec("What time is it?").ok();
        assert_eq!(out.stdout, "Noon.\n");
        assert!(out.stderr.contains("Secret thought."), "{}", out.stderr);
        scene.ostler(["resume", "-p", "And now?"]).output().ok();
        scene
            .ostler(["resume", "--model", "other", "-p", "And you?"])
            .output()
            .ok();

        // The server checked that the seals are whole; here only where they went.
        let seals = |n: usize| blobs(&scene.server.request(n));
        assert_eq!(seals(0), 0);
        assert_eq!((seals(1), seals(2)), (1, 2));
        let foreign = scene.server.request(3);
        assert_eq!((foreign.model(), blobs(&foreign)), ("other-model", 0));
        let raw = String::from_utf8_lossy(&foreign.raw).into_owned();
        assert!(!raw.contains("Secret thought"), "{raw}");
        assert_eq!(foreign.tool_results().len(), 1);
        scene.server.assert_done();
    });
}

#[test]
fn kept_reasoning_that_is_not_accepted_any_more_is_left_out() {
    let said = [
        (
            Kind::Responses,
            "The encrypted content could not be verified.",
        ),
        (
            Kind::Messages,
            "messages.1.content.0: Invalid `signature` in `thinking` block",
        ),
        (Kind::Gemini, "Thought signature is not valid"),
    ];
    for (kind, said) in said {
        let refusal = json!({"error": {"type": "invalid_request_error", "message": said}});
        let refuse = || Step::status(400, &refusal.to_string());
        let scene = Scene::with_config(
            kind,
            THINKING,
            [
                Step::answer().reasoning("Hm.").text("A."),
                refuse(),
                Step::answer().reasoning("Hm.").text("B."),
                // Without anything to leave out it is an error as any other.
                refuse(),
                refuse(),
            ],
        );
        scene.exec("one").ok();
        let out = scene.ostler(["resume", "-p", "two"]).output().ok();
        assert_eq!(out.stdout, "B.\n");
        let seals = |n: usize| blobs(&scene.server.request(n));
        assert_eq!((seals(1), seals(2)), (1, 0), "{kind:?}");
        let log = scene.log();
        let told = of_type(&log, "notice");
        let last = told.last().expect("a notice").to_string();
        assert!(
            last.contains("without the reasoning of earlier answers"),
            "{last}"
        );
        scene.ostler(["resume", "-p", "three"]).output().exits(1);
        scene.server.assert_done();
    }
}

/// Opaque things of the vendor's own in a request.
fn blobs(request: &Captured) -> usize {
    let raw = String::from_utf8_lossy(&request.raw).into_owned();
    match request.kind() {
        Some(Kind::Chat) => raw.matches("\"reasoning_content\"").count(),
        Some(Kind::Responses | Kind::Messages | Kind::Gemini) | None => raw.matches(SEAL).count(),
    }
}

#[test]
fn every_prompt_begins_with_the_one_before() {
    const STEPS: usize = 20;
    each_kind(|kind| {
        let server = Server::answering(move |request| {
            let done = request.tool_results().len();
            let step = Step::answer().reasoning(&format!("Step {done}."));
            match done {
                n if n + 1 >= STEPS => step.text("Done."),
                n if n % 3 == 0 => step
                    .text("Run. ")
                    .call("bash", json!({"command": format!("echo {n}")})),
                n if n % 3 == 1 => step.call("read_file", json!({"path": "big.txt", "offset": n})),
                n => step.call(
                    "write_file",
                    json!({"path": format!("out/{n}.txt"), "content": "é\n"}),
                ),
            }
        });
        let scene = Scene::of(kind, "", server);
        scene.space.write("big.txt", "line of text\n".repeat(400));
        scene.exec("Work.").ok();
        scene.ostler(["resume", "-p", "Thanks."]).output().ok();
        let requests = scene.server.requests();
        assert_eq!(requests.len(), STEPS + 1);
        for (n, pair) in requests.windows(2).enumerate() {
            let (before, after) = (pair[0].prompt_bytes(), pair[1].prompt_bytes());
            assert_eq!(
                shared(&before, &after),
                before.len(),
                "request {} breaks the prompt",
                n + 1
            );
        }
        let log = scene.log();
        let usages = of_type(&log, "usage");
        assert_eq!(usages.len(), STEPS + 1);
        for pair in usages.windows(2) {
            assert_eq!(pair[1]["shared_bytes"], pair[0]["prompt_bytes"]);
            assert!(pair[1].get("break").is_none(), "{}", pair[1]);
        }
        scene.ostler(["cache", "check"]).output().ok();
    });
}

#[test]
fn a_resumed_session_continues_the_very_bytes() {
    each_kind(|kind| {
        let scene = Scene::new(
            kind,
            [
                Step::answer()
                    .reasoning("Hm.")
                    .text("First. ")
                    .call("bash", json!({"command": "echo one"})),
                Step::answer().text("Second."),
                Step::answer().text("Third."),
                Step::answer().text("Fourth."),
            ],
        );
        scene.exec("One").ok();
        let id = scene.session_id();
        // Neither new instructions nor another root may reach into a session that has begun.
        scene.space.write("AGENTS.md", "Speak like a pirate.\n");
        scene.ostler(["resume", "-p", "Two"]).output().ok();
        scene
            .ostler(["exec", "--session", &id[..8], "-p", "Three"])
            .output()
            .ok();
        let prompts: Vec<Vec<u8>> = scene
            .server
            .requests()
            .iter()
            .map(Captured::prompt_bytes)
            .collect();
        for pair in prompts.windows(2) {
            assert_eq!(shared(&pair[0], &pair[1]), pair[0].len());
        }
        assert_eq!(scene.session_id(), id, "one session, one file");
        let breaks = of_type(&scene.log(), "usage")
            .iter()
            .filter(|u| u.get("break").is_some())
            .count();
        assert_eq!(breaks, 0);
        scene.server.assert_done();
    });
}

#[test]
fn a_fork_copies_the_conversation_and_leaves_the_old_one_alone() {
    each_kind(|kind| {
        let scene = Scene::new(
            kind,
            [
                Step::answer().call("bash", json!({"command": "echo one"})),
                Step::answer().text("First."),
                Step::answer().text("Forked."),
            ],
        );
        scene.exec("One").ok();
        let (old, id) = (scene.log_path(), scene.session_id());
        let before = scene.space.read(&old);
        let out = scene
            .ostler(["exec", "--fork", &id[..8], "--format", "json", "-p", "Two"])
            .output()
            .ok();
        assert_eq!(scene.space.read(&old), before, "the old log is as it was");
        let logs = scene.logs();
        let new = logs.iter().find(|p| **p != old).expect("a second log");
        let lines = json_lines(&scene.space.read(new));
        let last = json_lines(&before).len() - 1;
        assert_eq!(
            only(&lines, "meta")["forked_from"],
            json!({"session": id, "entry": last, "copied": last})
        );
        assert_eq!(
            common::texts(&lines),
            ["One", "", "First.", "Two", "Forked."]
        );
        // The past is copied, not shown again.
        let said = json_lines(&out.stdout);
        assert_eq!(common::texts(&said), ["Two", "Forked."]);
        let result = only(&said, "result");
        let new_id = new.file_stem().map(|s| s.to_string_lossy());
        assert_eq!(result["session_id"], json!(new_id));
        assert_eq!(
            (&result["result"], &result["num_turns"]),
            (&json!("Forked."), &json!(1))
        );
        let usages = of_type(&lines, "usage");
        assert_eq!(usages[2]["shared_bytes"], usages[1]["prompt_bytes"]);
        let (past, now) = (
            scene.server.request(1).prompt_bytes(),
            scene.server.request(2).prompt_bytes(),
        );
        assert_eq!(shared(&past, &now), past.len());
        scene.server.assert_done();
    });
}

#[test]
fn sessions_share_the_prefix_within_a_project_and_across_machines() {
    each_kind(|kind| {
        let scene = Scene::new(kind, [0; 3].map(|_| Step::answer().text("ok")));
        scene.exec("First prompt").ok();
        scene.exec("Something else").ok();
        let elsewhere = TempWorkspace::new();
        elsewhere.write("src/main.rs", "fn main() {}\n");
        elsewhere.git_init();
        elsewhere.config(&scene.server, kind);
        let run = elsewhere
            .run(env!("CARGO_BIN_EXE_ostler"))
            .args(["exec", "-p", "Third"]);
        run.env("TZ", "Asia/Shanghai").output().ok();
        let requests = scene.server.requests();
        let fixed = without_messages(&requests[0]).prompt_bytes().len();
        let prompts: Vec<Vec<u8>> = requests.iter().map(Captured::prompt_bytes).collect();
        assert!(shared(&prompts[0], &prompts[1]) >= fixed, "same project");
        assert!(
            shared(&prompts[0], &prompts[2]) * 100 >= fixed * 95,
            "another project and home"
        );
        assert!(
            fixed > 4_000,
            "{fixed} bytes of system prompt and tools cannot be all"
        );
    });
}

#[test]
fn project_instructions_come_after_everything_that_is_shared() {
    each_kind(|kind| {
        let scene = Scene::new(kind, [0; 2].map(|_| Step::answer().text("ok")));
        scene.exec("Plain").ok();
        scene.space.write("AGENTS.md", "Use tabs, always.\n");
        scene.exec("With instructions").ok();
        let [plain, told] = [0, 1].map(|n| scene.server.request(n));
        assert_eq!(plain.tool_names(), told.tool_names());
        assert!(
            told.system_text().starts_with(&plain.system_text()),
            "{}",
            told.system_text()
        );
        assert!(told.system_text().contains("Use tabs, always."));
    });
}

#[test]
fn the_first_prompt_is_small() {
    each_kind(|kind| {
        for (config, most) in MAX_FIRST_PROMPT {
            let scene = Scene::with_config(kind, config, [Step::answer().text("ok")]);
            scene.exec("Say hello").ok();
            let first = scene.server.request(0);
            let bytes = first.prompt_bytes().len();
            assert!(bytes < most, "{config}{bytes} bytes");
            let listed = |name: &str| first.tool_names().iter().any(|n| n == name);
            assert_eq!(
                (listed("bash"), listed("tool_search"), listed("move_file")),
                (true, config.is_empty(), !config.is_empty())
            );
        }
    });
}

#[test]
fn a_tool_that_is_not_in_the_list_is_found_and_run() {
    each_kind(|kind| {
        let moved = |from: &str, to: &str| json!({"source_path": from, "destination_path": to});
        let steps = [
            Step::answer().calls([("tool_search", json!({"query": "rename a file"}))]),
            Step::answer().calls([(
                "tool_search",
                json!({"tool": "move_file", "arguments": moved("a.txt", "b.txt")}),
            )]),
            // By its name alone, as far as the vendor lets that through.
            Step::answer().calls([("move_file", moved("b.txt", "c.txt"))]),
            Step::answer().calls([("tool_search", json!({"tool": "fly", "arguments": {}}))]),
            Step::answer().text("Done."),
            Step::answer().text("Still there."),
        ];
        let scene = Scene::new(kind, steps);
        scene.space.write("a.txt", "x\n");
        scene.exec("Rename it").ok();
        scene.ostler(["resume", "-p", "And now?"]).output().ok();
        assert_eq!(scene.space.read("c.txt"), "x\n");
        let requests = scene.server.requests();
        assert!(!requests[0].tool_names().contains(&"move_file".to_owned()));
        let last = requests.last().unwrap();
        let results = last.tool_results();
        assert!(
            results[0].1.contains("## move_file") && results[0].1.contains("destination_path"),
            "{results:?}"
        );
        for (result, words) in results[1..]
            .iter()
            .zip(["Moved.", "Moved.", "no tool `fly`"])
        {
            assert!(result.1.contains(words), "{result:?}");
        }
        // The model is told what it said; the log, what was done.
        let names: Vec<String> = last.tool_calls().into_iter().map(|(_, n, _)| n).collect();
        assert_eq!(
            names,
            ["tool_search", "tool_search", "move_file", "tool_search"]
        );
        assert!(last.tool_calls()[1].2.contains("destination_path"));
        let log = scene.log();
        let ran: Vec<&Value> = of_type(&log, "tool_use")
            .into_iter()
            .map(|e| &e["name"])
            .collect();
        assert_eq!(ran, ["tool_search", "move_file", "move_file", "fly"]);
        let prompts: Vec<Vec<u8>> = requests.iter().map(Captured::prompt_bytes).collect();
        for pair in prompts.windows(2) {
            assert!(pair[1].starts_with(&pair[0]));
        }
    });
}

#[test]
fn a_picture_that_is_read_goes_to_the_model() {
    each_kind(|kind| {
        let calls = [
            ("read_file", json!({"path": "a.png"})),
            ("bash", json!({"command": "echo x"})),
        ];
        let steps = [
            Step::answer().calls(calls),
            Step::answer().text("Red."),
            Step::answer().text("Yes."),
        ];
        let scene = Scene::new(kind, steps);
        scene.space.write("a.png", PICTURE);
        scene.exec("What is it?").ok();
        scene.ostler(["resume", "-p", "Sure?"]).output().ok();
        let raw = String::from_utf8_lossy(&scene.server.request(1).raw).into_owned();
        assert!(
            raw.contains("image/png") && raw.contains("iVBORw0KGgo"),
            "{raw}"
        );
        let (before, after) = (
            scene.server.request(1).prompt_bytes(),
            scene.server.request(2).prompt_bytes(),
        );
        assert_eq!(shared(&before, &after), before.len());
        scene.server.assert_done();
    });
}

#[test]
fn every_setting_makes_a_request_the_vendor_takes() {
    let config = "[agent]\ntemperature = 0.5\ntop_p = 0.9\nmax_tokens = 3000\n\
                  [tools]\nresult_format = \"envelope\"\n";
    each_kind(|kind| {
        for effort in ["none", "minimal", "low", "medium", "high", "max"] {
            let call = Step::answer()
                .reasoning("Hm.")
                .call("bash", json!({"command": "echo x"}));
            let scene = Scene::with_config(kind, config, [call, Step::answer().text("ok")]);
            scene
                .ostler(["exec", "--effort", effort, "-p", "go"])
                .output()
                .ok();
            let (_, text, _) = scene.server.request(1).tool_results().remove(0);
            let envelope: Value = serde_json::from_str(&text).expect("an envelope");
            assert_eq!(
                (&envelope["ok"], &envelope["data"]["stdout"]),
                (&json!(true), &json!("x\n"))
            );
            scene.server.assert_done();
        }
    });
}

#[test]
fn a_call_and_nothing_else_is_a_whole_answer() {
    each_kind(|kind| {
        let scene = Scene::new(
            kind,
            [
                Step::answer().call("time", json!({})),
                Step::answer().text("Noon."),
            ],
        );
        let lines = scene.stream("When?");
        let answers: Vec<&Value> = of_type(&lines, "message")
            .into_iter()
            .filter(|m| m["role"] == "assistant")
            .collect();
        assert_eq!(
            (answers[0]["text"].as_str(), answers[0]["stop"].as_str()),
            (Some(""), Some("calls"))
        );
        let entries: Vec<Value> = lines
            .into_iter()
            .filter(|l| l.get("entry").is_some())
            .collect();
        assert_eq!(
            types(&entries),
            [
                "meta",
                "settings",
                "message",
                "message",
                "tool_use",
                "usage",
                "tool_result",
                "message",
                "usage",
                "turn_end"
            ]
        );
        scene.server.assert_done();
    });
}

/// The same request before anybody has said anything.
fn without_messages(request: &Captured) -> Captured {
    let mut bare = request.clone();
    for key in ["input", "contents"] {
        if bare.body.get(key).is_some() {
            bare.body[key] = json!([]);
        }
    }
    if let Some(messages) = bare.body["messages"].as_array_mut() {
        messages.retain(|m| m["role"] == "system" || m["role"] == "developer");
    }
    bare
}
