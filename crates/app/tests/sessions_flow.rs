//! What a run leaves behind: the log line by line, the ledger, the prefix, artifacts; and what a change of model does to it.

mod common;

use common::{Scene, each_kind, files, of_type, texts};
use ostler_testkit::{Captured, Kind, Server, Step, Usage, config_text, json_lines, only, types};
use serde_json::{Value, json};

/// The keys of a line, in the order they are written.
fn keys(line: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(line).expect("a line of JSON");
    value
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .collect()
}

#[test]
fn the_log_is_what_the_contract_says() {
    each_kind(|kind| {
        let calls = [
            ("read_file", json!({"path": "f.txt"})),
            ("read_file", json!({"path": "missing"})),
            (
                "todo",
                json!({"items": [{"text": "look", "state": "done"}]}),
            ),
        ];
        let scene = Scene::new(
            kind,
            [
                Step::answer().reasoning("Hm.").text("Now. ").calls(calls),
                Step::answer().text("Done."),
            ],
        );
        scene.space.write("f.txt", "content\n");
        scene.exec("Look").ok();
        let text = scene.space.read(scene.log_path());
        assert!(text.ends_with('\n'));
        for (n, line) in text.lines().enumerate() {
            assert_eq!(keys(line)[..4], ["type", "entry", "parent", "ts"], "{line}");
            let line: Value = serde_json::from_str(line).expect("a line of JSON");
            assert_eq!(line["entry"], json!(n));
            assert_eq!(
                line["parent"],
                if n == 0 { Value::Null } else { json!(n - 1) }
            );
            let ts = line["ts"].as_str().unwrap_or_default();
            assert!(
                ts.len() == 24 && ts.ends_with('Z') && &ts[10..11] == "T",
                "{ts}"
            );
        }
        let log = scene.log();
        assert_eq!(
            types(&log),
            [
                "meta",
                "settings",
                "message",
                "message",
                "tool_use",
                "tool_use",
                "tool_use",
                "usage",
                "tool_result",
                "tool_result",
                "tool_result",
                "todo",
                "message",
                "usage",
                "turn_end"
            ]
        );
        let meta = &log[0];
        assert_eq!(
            (
                &meta["schema_version"],
                &meta["session_id"],
                &meta["root"],
                &meta["host"]
            ),
            (
                &json!(1),
                &json!(scene.session_id()),
                &json!(scene.space.root()),
                &json!("local")
            )
        );
        assert_eq!(log[1]["model"], "mock/mock-model");
        assert_eq!(
            (&log[2]["role"], &log[2]["text"]),
            (&json!("user"), &json!("Look"))
        );
        let answer = &log[3];
        assert_eq!(
            (&answer["role"], &answer["text"], &answer["stop"]),
            (&json!("assistant"), &json!("Now. "), &json!("calls"))
        );
        assert_eq!(
            answer["model"],
            json!({"provider": "mock", "model": "mock-model"})
        );
        let parts: Vec<&String> = answer["parts"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|p| p.as_object().expect("a part").keys())
            .collect();
        assert_eq!(parts, ["reasoning", "text", "call", "call", "call"]);
        assert_eq!(log.last().map(|l| &l["outcome"]), Some(&json!("done")));
    });
}

#[test]
fn a_result_is_an_envelope() {
    let scene = Scene::new(
        Kind::Chat,
        [
            Step::answer().calls([
                ("bash", json!({"command": "echo out; echo err >&2; exit 3"})),
                ("read_file", json!({"path": "missing"})),
                ("nonsense", json!({})),
            ]),
            Step::answer().text("ok"),
        ],
    );
    scene.exec("go").ok();
    let log = scene.log();
    let results = of_type(&log, "tool_result");
    assert_eq!(
        results[0]["output"],
        json!({"ok": true, "data": {"stdout": "out\n", "stderr": "err\n", "exit_code": 3, "timed_out": false}})
    );
    let codes: Vec<_> = results[1..]
        .iter()
        .map(|r| (&r["ok"], &r["output"]["ok"], &r["output"]["error"]["code"]))
        .collect();
    let no = json!(false);
    assert_eq!(
        codes,
        [
            (&no, &no, &json!("not_found")),
            (&no, &no, &json!("unknown_tool"))
        ]
    );
    assert!(
        results
            .iter()
            .all(|r| r["duration_ms"].is_u64() && r["tool_use_id"].is_string())
    );
}

#[test]
fn a_session_lies_where_the_contract_says() {
    let scene = Scene::new(Kind::Chat, [Step::answer().text("ok")]);
    scene.exec("go").ok();
    let home = scene.space.home();
    let mut found: Vec<String> = files(home)
        .iter()
        .map(|path| {
            path.strip_prefix(home)
                .expect("below home")
                .display()
                .to_string()
        })
        .collect();
    let log = found.remove(3);
    let prefix = found.remove(2);
    assert_eq!(found, ["config.toml", "ledger.jsonl"]);
    let hex = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let stored = prefix
        .strip_prefix("prefixes/")
        .and_then(|p| p.strip_suffix(".json"));
    assert!(
        stored.is_some_and(|hash| hex(hash) && scene.log()[0]["prefix"] == hash),
        "{prefix}"
    );
    let parts: Vec<&str> = log.split('/').collect();
    let [sessions, project, file] = parts[..] else {
        panic!("{log}")
    };
    let number = project.strip_prefix("project-").unwrap_or_default();
    let id = file.strip_suffix(".jsonl").unwrap_or_default();
    assert!(
        sessions == "sessions" && number.len() == 8 && hex(number),
        "{log}"
    );
    let groups: Vec<usize> = id.split('-').map(str::len).collect();
    assert_eq!(groups, [8, 4, 4, 4, 12]);
    assert!(
        hex(&id.replace('-', "")) && id.as_bytes()[14] == b'4',
        "{id} is not a lower-case UUID v4"
    );
}

#[test]
fn an_unsaved_session_leaves_nothing() {
    each_kind(|kind| {
        let long = "x".repeat(60_000);
        let calls = [
            ("bash", json!({"command": "cat long.txt; echo done"})),
            ("bash", json!({"command": "sleep 600", "wait": false})),
        ];
        let scene = Scene::new(
            kind,
            [Step::answer().calls(calls), Step::answer().text("ok")],
        );
        scene.space.write("long.txt", long);
        let before = files(scene.space.user_home());
        let out = scene
            .ostler(["exec", "--no-save", "-p", "go"])
            .output()
            .ok();
        assert_eq!(out.stdout, "ok\n");
        assert!(!out.stderr.contains("ostler resume"), "{}", out.stderr);
        // The lock of the folder where running sessions say what a project was like stays, empty.
        let mut after = files(scene.space.user_home());
        after.retain(|path| !path.ends_with("running/lock"));
        assert_eq!(after, before, "nothing in the home");
        let scratch = scene.space.root().with_file_name("tmp");
        assert_eq!(
            files(&scratch),
            Vec::<std::path::PathBuf>::new(),
            "nothing in the temporary folder"
        );
    });
}

#[test]
fn output_that_is_too_long_is_kept_beside_the_log() {
    each_kind(|kind| {
        let scene = Scene::new(
            kind,
            [
                Step::answer().call("bash", json!({"command": "cat long.txt"})),
                Step::answer().text("ok"),
            ],
        );
        let long: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
        scene.space.write("long.txt", &long);
        scene.exec("go").ok();
        let folder = scene.log_path().with_extension("");
        let kept = files(&folder);
        assert_eq!(kept.len(), 1, "{kept:?}");
        assert_eq!(scene.space.read(&kept[0]), long);
        let (_, seen, _) = scene.server.request(1).tool_results().remove(0);
        assert!(seen.len() < 40_000, "{} bytes", seen.len());
        assert!(
            seen.contains("line 0\n") && seen.contains("line 19999"),
            "head and tail"
        );
        assert!(
            seen.contains(&kept[0].display().to_string()),
            "the model is told where the whole is"
        );
    });
}

#[test]
fn a_session_of_another_folder_keeps_its_things_beside_its_log() {
    let scene = Scene::new(
        Kind::Chat,
        [
            Step::answer().text("ok"),
            Step::answer().call("bash", json!({"command": "cat long.txt"})),
            Step::answer().text("ok"),
        ],
    );
    scene.exec("first").ok();
    scene.space.write("sub/long.txt", "line\n".repeat(20_000));
    let id = scene.session_id();
    let run = scene.ostler(["exec", "--root", "sub", "--session", &id, "-p", "second"]);
    run.output().ok();
    assert_eq!(files(&scene.log_path().with_extension("")).len(), 1);
}

#[test]
fn an_unsaved_turn_leaves_the_session_it_continues_alone() {
    each_kind(|kind| {
        let long = Step::answer().call("bash", json!({"command": "cat long.txt"}));
        let steps = [
            long.clone(),
            Step::answer().text("One."),
            long,
            Step::answer().text("Two."),
        ];
        let scene = Scene::new(kind, steps);
        scene.space.write("long.txt", "line\n".repeat(20_000));
        scene.exec("first").ok();
        let state = || {
            let ours = files(&scene.space.home().join("sessions"));
            ours.into_iter()
                .map(|path| (scene.space.read(&path), path))
                .collect::<Vec<_>>()
        };
        let before = state();
        let out = scene
            .ostler(["resume", "--no-save", "-p", "second"])
            .output()
            .ok();
        assert_eq!(out.stdout, "Two.\n");
        assert!(!out.stderr.contains("ostler resume"), "{}", out.stderr);
        assert!(state() == before, "the session is as it was");
        let (past, now) = (
            scene.server.request(1).prompt_bytes(),
            scene.server.request(2).prompt_bytes(),
        );
        assert_eq!(common::shared(&past, &now), past.len());
    });
}

#[test]
fn processes_at_the_same_time_do_not_disturb_each_other() {
    const RUNS: usize = 8;
    let server = Server::answering(|_| Step::answer().text("ok"));
    let scene = Scene::of(Kind::Chat, "", server);
    std::thread::scope(|scope| {
        for _ in 0..RUNS {
            scope.spawn(|| scene.exec("go").ok());
        }
    });
    assert_eq!(scene.logs().len(), RUNS);
    let ledger = json_lines(&scene.space.read(scene.space.home().join("ledger.jsonl")));
    let sessions: std::collections::BTreeSet<&str> = ledger
        .iter()
        .filter_map(|l| l["session"].as_str())
        .collect();
    assert_eq!((ledger.len(), sessions.len()), (RUNS, RUNS));
}

#[test]
fn titles_come_from_the_first_prompt() {
    let long = format!("{} and so on", "Fix the parser ".repeat(6));
    let cases = [
        ("Fix it", "Fix it".to_owned()),
        ("\n\n  Second line\nthird", "Second line".to_owned()),
        (&long, long.chars().take(60).collect::<String>() + "…"),
    ];
    for (prompt, title) in cases {
        let scene = Scene::new(
            Kind::Chat,
            [Step::answer().text("ok"), Step::answer().text("ok")],
        );
        scene.exec(prompt).ok();
        scene
            .ostler(["resume", "-p", "Another prompt"])
            .output()
            .ok();
        let out = scene
            .ostler(["sessions", "list", "--format", "json"])
            .output()
            .ok();
        let listed: Value = serde_json::from_str(&out.stdout).expect("JSON");
        let listed = listed
            .as_array()
            .or(listed["sessions"].as_array())
            .expect("a list");
        assert_eq!(
            (&listed[0]["title"], &listed[0]["turns"]),
            (&json!(title), &json!(2))
        );
    }
}

#[test]
fn tokens_are_counted_as_the_vendor_counts_them() {
    each_kind(|kind| {
        let cache_write = if kind == Kind::Messages { 100 } else { 0 };
        let first = Usage {
            input: 1_234,
            cached: 1_000,
            cache_write,
            output: 56,
            reasoning: 20,
        };
        let second = Usage {
            input: 2_345,
            output: 7,
            ..Usage::default()
        };
        let price =
            "price = { input = 2.0, cached_input = 0.2, cache_write = 2.5, output = 8.0 }\n";
        let scene = Scene::with_config(
            kind,
            price,
            [
                // What was never answered cost nothing.
                Step::rate_limited(0),
                Step::answer()
                    .reasoning("Hm.")
                    .call("time", json!({}))
                    .usage(first),
                Step::answer().text("Noon.").usage(second),
            ],
        );
        scene.exec("When?").ok();
        let log = scene.log();
        let ledger = json_lines(&scene.space.read(scene.space.home().join("ledger.jsonl")));
        let usages = of_type(&log, "usage");
        assert_eq!((usages.len(), ledger.len()), (2, 2));
        for ((usage, line), told) in usages.iter().zip(&ledger).zip([first, second]) {
            let counts = |of: &Value| {
                ["input", "cached", "cache_write", "output"].map(|key| of[key].as_u64())
            };
            let expect = [told.input, told.cached, told.cache_write, told.output].map(Some);
            assert_eq!((counts(usage), counts(line)), (expect, expect));
            let plain = told.input - told.cached - told.cache_write;
            let cost = plain as f64 * 2.0
                + told.cached as f64 * 0.2
                + told.cache_write as f64 * 2.5
                + told.output as f64 * 8.0;
            let got = usage["cost"].as_f64().expect("a price");
            assert!(
                (got * 1e6 - cost).abs() < 1e-6,
                "{got} is not {cost} millionths"
            );
            assert_eq!(usage["cost"], line["cost"]);
            assert_eq!(
                (&line["provider"], &line["model"], &line["session"]),
                (
                    &json!("mock"),
                    &json!("mock-model"),
                    &json!(scene.session_id())
                )
            );
        }
    });
}

#[test]
fn nothing_of_the_machine_enters_the_system_prompt() {
    each_kind(|kind| {
        let scene = Scene::new(kind, [Step::answer().text("ok"), Step::answer().text("ok")]);
        scene.exec("One").ok();
        scene.ostler(["resume", "-p", "Two"]).output().ok();
        let request = scene.server.request(0);
        let root = scene.space.root().display().to_string();
        let log = scene.log();
        let date = &log[0]["ts"].as_str().expect("a time")[..10];
        assert!(!request.system_text().contains(&root) && !request.system_text().contains(date));
        let first = request.last_user_text();
        assert!(
            first.contains(&root) && first.contains(date) && first.ends_with("One"),
            "{first}"
        );
        assert!(of_type(&log, "message")[0]["context"].is_string());
    });
}

/// The same provider with a second one beside it, for another model on the same server.
fn two_models(scene: &Scene) -> String {
    let own = config_text(&scene.server, scene.kind);
    let (_, provider) = own.split_once("[[providers]]").expect("a provider");
    let other = provider
        .replace("mock-model", "other-model")
        .replace("\"mock\"", "\"other\"");
    format!("{own}\n[[providers]]{other}")
}

#[test]
fn another_model_takes_over_and_the_break_is_on_record() {
    each_kind(|kind| {
        let scene = Scene::new(
            kind,
            [
                Step::answer()
                    .reasoning("Deep thought.")
                    .text("One. ")
                    .call("time", json!({})),
                Step::answer().text("Two."),
                Step::answer().reasoning("Other thought.").text("Three."),
                Step::answer().text("Four."),
                Step::answer().text("Five."),
            ],
        );
        scene
            .space
            .write(scene.space.home().join("config.toml"), two_models(&scene));
        scene.exec("first").ok();
        scene
            .ostler(["resume", "--model", "other", "-p", "second"])
            .output()
            .ok();
        // The session keeps the model it was given last.
        scene.ostler(["resume", "-p", "third"]).output().ok();
        scene
            .ostler(["resume", "--model", "mock", "-p", "fourth"])
            .output()
            .ok();
        let models: Vec<String> = scene
            .server
            .requests()
            .iter()
            .map(|r| r.model().to_owned())
            .collect();
        assert_eq!(
            models,
            [
                "mock-model",
                "mock-model",
                "other-model",
                "other-model",
                "mock-model"
            ]
        );

        let raw = |n: usize| String::from_utf8_lossy(&scene.server.request(n).raw).into_owned();
        for n in [2, 3] {
            assert!(
                !raw(n).contains("Deep thought"),
                "a foreign thought in request {n}"
            );
        }
        assert!(!raw(4).contains("Other thought"));
        let log = scene.log();
        let causes: Vec<Option<&str>> = of_type(&log, "usage")
            .iter()
            .map(|u| u["break"]["cause"].as_str())
            .collect();
        assert_eq!(causes, [None, None, Some("model"), None, Some("model")]);
        let settings: Vec<&str> = of_type(&log, "settings")
            .iter()
            .filter_map(|s| s["model"].as_str())
            .collect();
        assert_eq!(
            settings,
            ["mock/mock-model", "other/other-model", "mock/mock-model"]
        );
        // A break that somebody asked for is none to complain about.
        scene.ostler(["cache", "check"]).output().ok();
        scene.server.assert_done();
    });
}

#[test]
fn another_protocol_takes_over() {
    // Every pair of neighbours in the ring of protocols.
    let kinds = [
        Kind::Chat,
        Kind::Responses,
        Kind::Messages,
        Kind::Gemini,
        Kind::Chat,
    ];
    for pair in kinds.windows(2) {
        let scene = Scene::new(
            pair[0],
            [
                Step::answer()
                    .reasoning("Deep thought.")
                    .text("One. ")
                    .calls([("time", json!({})), ("bash", json!({"command": "echo hi"}))]),
                Step::answer().text("Two."),
                Step::answer().text("Three."),
            ],
        );
        let other = config_text(&scene.server, pair[1])
            .replace("mock-model", "other-model")
            .replace("\"mock", "\"other");
        scene.exec("first").ok();
        scene
            .space
            .write(scene.space.home().join("config.toml"), other);
        let out = scene.ostler(["resume", "-p", "second"]).output().ok();
        assert_eq!(out.stdout, "Three.\n");
        let sent = scene.server.request(2);
        assert_eq!(sent.kind(), Some(pair[1]));
        let calls = sent.tool_calls();
        assert_eq!(
            calls.iter().map(|c| c.1.as_str()).collect::<Vec<_>>(),
            ["time", "bash"]
        );
        assert_eq!(sent.tool_results().len(), 2);
        scene.server.assert_done();
    }
}

#[test]
fn the_newest_session_is_resumed_and_others_by_their_beginning() {
    let scene = Scene::new(
        Kind::Chat,
        ["A", "B", "C", "D"].map(|text| Step::answer().text(text)),
    );
    scene.exec("first").ok();
    let first = scene.session_id();
    scene.exec("second").ok();
    scene
        .ostler(["resume", "-p", "to the second"])
        .output()
        .ok();
    scene
        .ostler(["resume", &first[..6], "-p", "to the first"])
        .output()
        .ok();
    let mut said: Vec<String> = scene
        .logs()
        .iter()
        .map(|path| texts(&json_lines(&scene.space.read(path))).join(" "))
        .collect();
    said.sort();
    assert_eq!(said, ["first A to the first D", "second B to the second C"]);
}

#[test]
fn the_file_state_a_session_saw_survives_a_resume() {
    let write = |content: &str| {
        Step::answer().call("write_file", json!({"path": "f.txt", "content": content}))
    };
    let scene = Scene::new(
        Kind::Chat,
        [
            Step::answer().call("read_file", json!({"path": "f.txt"})),
            Step::answer().text("Read."),
            write("mine"),
            Step::answer().text("Tried."),
        ],
    );
    scene.space.write("f.txt", "old");
    scene.exec("Read it").ok();
    scene.space.write("f.txt", "changed by somebody else");
    scene.ostler(["resume", "-p", "Write it"]).output().ok();
    assert_eq!(scene.space.read("f.txt"), "changed by somebody else");
    let results = scene.server.request(3).tool_results();
    assert!(
        results[1].1.starts_with("Error (stale)"),
        "{}",
        results[1].1
    );
}

#[test]
fn ids_a_vendor_uses_twice_are_told_apart() {
    each_kind(|kind| {
        let call = |n: u32| {
            Step::answer()
                .call("bash", json!({"command": format!("echo {n}")}))
                .id("call_1")
        };
        let scene = Scene::new(
            kind,
            [
                call(1),
                call(2),
                Step::answer().text("ok"),
                Step::answer().text("ok"),
            ],
        );
        scene.exec("go").ok();
        scene.ostler(["resume", "-p", "more"]).output().ok();
        let log = scene.log();
        let ids: Vec<&Value> = of_type(&log, "tool_use").iter().map(|u| &u["id"]).collect();
        assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
        let results: Vec<String> = scene
            .server
            .request(2)
            .tool_results()
            .into_iter()
            .map(|r| r.1)
            .collect();
        assert_eq!(results, ["1", "2"]);
        let prompts: Vec<Vec<u8>> = scene
            .server
            .requests()
            .iter()
            .map(Captured::prompt_bytes)
            .collect();
        for pair in prompts.windows(2) {
            assert_eq!(common::shared(&pair[0], &pair[1]), pair[0].len());
        }
        assert_eq!(only(&log[..1], "meta")["type"], "meta");
    });
}

#[test]
fn a_session_that_goes_on_elsewhere_says_so() {
    let scene = Scene::new(
        Kind::Chat,
        [Step::answer().text("one"), Step::answer().text("two")],
    );
    scene.exec("go").ok();
    let id = scene.session_id();
    scene.space.write("sub/file", "");
    let sub = scene.space.root().join("sub");
    let out = scene
        .ostler(["exec", "--session", &id, "-p", "again"])
        .cwd(&sub)
        .output()
        .ok();
    let said = format!(
        "This session began in {} and continues in {}.",
        scene.space.root().display(),
        sub.display()
    );
    assert_eq!(out.stderr.matches(&said).count(), 1, "{}", out.stderr);
    let log = scene.log();
    let notice = of_type(&log, "notice");
    assert!(
        notice[0]["text"]
            .as_str()
            .unwrap_or_default()
            .starts_with(&said),
        "{notice:?}"
    );
}

#[test]
fn a_fork_pays_for_itself_only_and_an_empty_folder_goes() {
    let price = "price = { input = 1000000.0, output = 0.0 }\n";
    let answer = || {
        Step::answer().text("ok").usage(Usage {
            input: 2,
            ..Usage::default()
        })
    };
    let scene = Scene::with_config(Kind::Chat, price, [answer(), answer()]);
    scene.exec("go").ok();
    let id = scene.session_id();
    scene
        .ostler(["exec", "--fork", &id, "-p", "again"])
        .output()
        .ok();
    let list = || {
        let out = scene
            .ostler(["sessions", "list", "--format", "json"])
            .output()
            .ok();
        serde_json::from_str::<Value>(&out.stdout).expect("a list")
    };
    let listed = list();
    let costs: Vec<&Value> = listed
        .as_array()
        .into_iter()
        .flatten()
        .map(|s| &s["cost"])
        .collect();
    assert_eq!(costs, [&json!(2.0), &json!(2.0)], "{listed}");
    let folder = scene.logs()[0].parent().expect("a folder").to_owned();
    for session in listed.as_array().into_iter().flatten() {
        assert!(folder.exists());
        let id = session["id"].as_str().unwrap_or_default();
        scene.ostler(["sessions", "delete", id]).output().ok();
    }
    assert!(!folder.exists());
}

#[test]
fn a_variant_says_how_hard_to_think_and_stays_with_the_session() {
    let scene = Scene::new(
        Kind::Chat,
        [Step::answer().text("one"), Step::answer().text("two")],
    );
    let model = "mock/mock-model@high";
    scene
        .ostler(["exec", "--model", model, "-p", "go"])
        .output()
        .ok();
    scene.ostler(["resume", "-p", "again"]).output().ok();
    for n in 0..2 {
        assert_eq!(scene.server.request(n).body["reasoning_effort"], "high");
    }
    assert_eq!(of_type(&scene.log(), "settings")[0]["model"], model);
}
