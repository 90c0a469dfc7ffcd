//! `exec` as a process: exit codes, signals at every stage, and what a headless run may do.

mod common;

use common::{Scene, each_kind, of_type};
use ostler_testkit::{Kind, Output, Step, json_lines, only};
use serde_json::{Value, json};

#[cfg(unix)]
use common::wait_for;
#[cfg(unix)]
use ostler_testkit::{Place, Running, Signal};

/// A stage of a turn: what the vendor does, and how to see that the turn is there.
#[cfg(unix)]
struct Stage {
    name: &'static str,
    step: Step,
    reached: fn(&Scene, &Running),
}

#[cfg(unix)]
fn stages() -> Vec<Stage> {
    let sleeping = "touch started; sleep 30";
    let stubborn = "trap '' INT TERM HUP; touch started; sleep 30; sleep 30";
    let started = |scene: &Scene, _: &Running| {
        wait_for("the command", || {
            scene.space.exists("started").then_some(())
        });
    };
    let tool = |name, step| Stage {
        name,
        step,
        reached: started,
    };
    vec![
        Stage {
            name: "before the headers",
            step: Step::stall_headers(),
            reached: |scene, _| {
                scene.server.wait_for(1);
            },
        },
        Stage {
            name: "in the text",
            step: Step::answer().text("Half of it").stall(Place::Text(1)),
            reached: |_, running| {
                running.wait_stdout("Half");
            },
        },
        Stage {
            name: "waiting for a retry",
            step: Step::rate_limited(60),
            reached: |_, running| {
                running.wait_stderr("Try 1 of 5 failed; trying again in 60.0 s");
            },
        },
        tool(
            "in a command",
            Step::answer()
                .text("Running. ")
                .call("bash", json!({"command": sleeping})),
        ),
        tool(
            "in a stubborn command",
            Step::answer().call("bash", json!({"command": stubborn})),
        ),
        tool(
            "in the second of three calls",
            Step::answer().calls([
                ("bash", json!({"command": "echo 1 > one"})),
                ("bash", json!({"command": sleeping})),
                ("bash", json!({"command": "echo 3 > three"})),
            ]),
        ),
        Stage {
            name: "in two commands at once",
            step: Step::answer().calls([
                ("bash", json!({"command": "sleep 30"})),
                ("bash", json!({"command": "sleep 30"})),
            ]),
            reached: |scene, _| {
                wait_for("both calls", || {
                    let log = scene.logs().pop().map(|path| scene.space.read(path))?;
                    (log.matches("\"type\":\"tool_use\"").count() == 2).then_some(())
                });
            },
        },
    ]
}

/// Signals a run at a stage; the log must tell the end, every call must have a result, and the session must go on.
#[cfg(unix)]
#[track_caller]
fn stopped(kind: Kind, stage: &Stage, signal: Signal, format: &str) -> (Scene, Output) {
    let scene = Scene::new(kind, [stage.step.clone()]);
    let running = scene
        .ostler(["exec", "--format", format, "-p", "go"])
        .spawn();
    (stage.reached)(&scene, &running);
    running.signal(signal);
    let out = running.wait();
    let log = scene.log();
    assert_eq!(
        only(&log, "interrupted")["text"],
        "Interrupted",
        "{}",
        stage.name
    );
    assert_eq!(
        only(&log, "turn_end")["outcome"],
        "interrupted",
        "{}",
        stage.name
    );
    let ids = |name: &str, key: &str| -> Vec<Value> {
        of_type(&log, name).iter().map(|l| l[key].clone()).collect()
    };
    assert_eq!(
        ids("tool_use", "id"),
        ids("tool_result", "tool_use_id"),
        "{}",
        stage.name
    );

    scene.server.push(Step::answer().text("Back."));
    let again = scene.ostler(["resume", "-p", "Go on"]).output().ok();
    assert_eq!(again.stdout, "Back.\n", "{}", stage.name);
    let sent = scene.server.requests().pop().expect("a request");
    let raw = String::from_utf8_lossy(&sent.raw).into_owned();
    assert!(
        raw.contains("The person interrupted the work here"),
        "{}: {raw}",
        stage.name
    );
    (scene, out)
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_run_at_any_stage() {
    each_kind(|kind| {
        for stage in stages() {
            let (scene, out) = stopped(kind, &stage, Signal::Interrupt, "text");
            let out = out.exits(130);
            assert!(
                out.stderr.contains("Interrupted"),
                "{}: {}",
                stage.name,
                out.stderr
            );
            assert!(
                out.stderr.contains("ostler resume "),
                "{}: {}",
                stage.name,
                out.stderr
            );
            if stage.name == "in the second of three calls" {
                assert_eq!(
                    (scene.space.exists("one"), scene.space.exists("three")),
                    (true, false)
                );
                let results = scene.server.request(1).tool_results();
                let cut: Vec<bool> = results
                    .iter()
                    .map(|r| r.1.contains("interrupted"))
                    .collect();
                assert_eq!(cut, [false, true, true], "{results:?}");
            }
        }
    });
}

#[cfg(unix)]
#[test]
fn a_partial_answer_is_kept() {
    each_kind(|kind| {
        let stage = &stages()[1];
        let (scene, out) = stopped(kind, stage, Signal::Interrupt, "text");
        assert_eq!(out.stdout, "Half \n");
        let log = scene.log();
        let answer = of_type(&log, "message")[1];
        assert_eq!(
            (&answer["text"], &answer["stop"]),
            (&json!("Half "), &json!("interrupted"))
        );
        let raw = String::from_utf8_lossy(&scene.server.request(1).raw).into_owned();
        assert!(raw.contains("Half "), "{raw}");
    });
}

#[cfg(unix)]
#[test]
fn a_request_to_end_is_obeyed_at_any_stage() {
    for (signal, stage) in [Signal::Terminate, Signal::Hangup]
        .into_iter()
        .flat_map(|s| stages().into_iter().map(move |stage| (s, stage)))
    {
        let (_, out) = stopped(Kind::Chat, &stage, signal, "text");
        out.exits(143);
    }
}

#[cfg(unix)]
#[test]
fn the_result_object_tells_an_interrupt() {
    let signals = [(Signal::Interrupt, 130), (Signal::Terminate, 143)];
    // The text is not on stdout here, so that stage could not be seen.
    for stage in stages().iter().filter(|s| s.name != "in the text") {
        for (signal, code) in signals {
            let (_, out) = stopped(Kind::Messages, stage, signal, "result");
            let result: Value = serde_json::from_str(&out.exits(code).stdout).expect("one object");
            assert_eq!(
                (&result["subtype"], &result["is_error"]),
                (&json!("interrupted"), &json!(true))
            );
        }
    }
}

#[test]
fn exit_codes() {
    let cases: [(Step, i32); 3] = [
        (Step::answer().text("ok"), 0),
        (Step::html(200), 1),
        // A tool that fails is the model's business.
        (Step::answer().text("It failed, as it should."), 0),
    ];
    for (step, code) in cases {
        let scene = Scene::new(
            Kind::Chat,
            [
                Step::answer().call("bash", json!({"command": "exit 3"})),
                step,
            ],
        );
        scene.exec("go").exits(code);
    }
}

#[test]
fn a_headless_run_may_work_and_denials_bind() {
    let write = || Step::answer().call("write_file", json!({"path": "made.txt", "content": "x"}));
    let bash = || Step::answer().call("bash", json!({"command": "echo y > made.txt"}));
    let deny_write = "[permissions]\ndeny = [\"write_file\"]\n";
    let deny_bash = "[permissions]\ndeny = [\"bash(echo *)\"]\n";
    let headless = "[permissions]\nheadless = \"deny\"\n";
    let cases: [(&str, &[&str], Step, bool); 10] = [
        ("", &[], write(), true),
        ("", &[], bash(), true),
        ("", &["--yolo"], bash(), true),
        ("", &["--permission-mode", "ask"], bash(), false),
        ("", &["--permission-mode", "auto"], bash(), true),
        (deny_write, &[], write(), false),
        (deny_write, &["--yolo"], write(), false),
        (deny_bash, &["--yolo"], bash(), false),
        (headless, &[], write(), false),
        (headless, &["--yolo"], write(), true),
    ];
    for (config, args, step, made) in cases {
        let scene = Scene::with_config(Kind::Chat, config, [step, Step::answer().text("ok")]);
        let out = scene.ostler(["exec", "-p", "go"]).args(args).output().ok();
        assert_eq!(
            scene.space.exists("made.txt"),
            made,
            "{config} {args:?}: {}",
            out.stderr
        );
        let results = scene.server.request(1).tool_results();
        assert_eq!(
            results[0].1.starts_with("Error (blocked): "),
            !made,
            "{config} {args:?}: {}",
            results[0].1
        );
    }
}

#[test]
fn file_tools_stay_inside_the_root() {
    each_kind(|kind| {
        let outside = "../outside.txt";
        let calls = Step::answer().calls([
            ("write_file", json!({"path": outside, "content": "x"})),
            (
                "move_file",
                json!({"source_path": "a.txt", "destination_path": outside}),
            ),
            ("write_file", json!({"path": "inside.txt", "content": "x"})),
        ]);
        // With the sandbox, what lies outside below /tmp would be the session's own folder.
        let config = "[sandbox]\nbash = \"off\"\n";
        let scene = Scene::with_config(kind, config, [calls, Step::answer().text("ok")]);
        scene.space.write("a.txt", "a");
        scene.ostler(["exec", "--yolo", "-p", "go"]).output().ok();
        assert!(!scene.space.exists(outside));
        assert!(scene.space.exists("a.txt") && scene.space.exists("inside.txt"));
        let results = scene.server.request(1).tool_results();
        assert!(
            results[0].1.starts_with("Error ") && results[1].1.starts_with("Error "),
            "{results:?}"
        );
    });
}

#[test]
fn only_the_tools_that_were_allowed_are_offered() {
    let cases: [(&[&str], &str, &[&str]); 3] = [
        (
            &["--allowed-tools", "read_file,bash"],
            "",
            &["bash", "read_file"],
        ),
        (&[], "[tools]\nenabled = [\"time\"]\n", &["time"]),
        (
            &["--allowed-tools", "time"],
            "[tools]\nenabled = [\"bash\"]\n",
            &["time"],
        ),
    ];
    for (args, config, expect) in cases {
        let scene = Scene::with_config(Kind::Chat, config, [Step::answer().text("ok")]);
        scene.ostler(["exec", "-p", "go"]).args(args).output().ok();
        assert_eq!(scene.server.request(0).tool_names(), expect);
    }
}

#[test]
fn keys_do_not_reach_commands() {
    let scene = Scene::new(
        Kind::Chat,
        [
            Step::answer().call("bash", json!({"command": "env; exit 0"})),
            Step::answer().text("ok"),
        ],
    );
    scene
        .ostler(["exec", "-p", "go"])
        .env("OSTLER_API_KEY", "general-key")
        .output()
        .ok();
    let (_, shown, _) = scene.server.request(1).tool_results().remove(0);
    assert!(shown.contains("HOME="), "{shown}");
    assert!(
        !shown.contains(ostler_testkit::KEY) && !shown.contains("general-key"),
        "{shown}"
    );
}

#[test]
fn the_root_may_be_elsewhere() {
    let scene = Scene::new(
        Kind::Chat,
        [
            Step::answer().call("bash", json!({"command": "pwd"})),
            Step::answer().text("ok"),
        ],
    );
    scene.space.write("sub/file.txt", "x");
    let out = scene
        .ostler(["exec", "--root", "sub", "--format", "json", "-p", "go"])
        .output()
        .ok();
    let lines = json_lines(&out.stdout);
    let root = scene.space.root().join("sub").display().to_string();
    assert_eq!(only(&lines, "meta")["root"], json!(root));
    assert_eq!(
        only(&lines, "tool_result")["output"]["data"]["stdout"],
        json!(format!("{root}\n"))
    );
}

#[test]
fn what_the_sandbox_does_not_hold_is_refused_with_the_flag_that_allows_it() {
    let fetch = || Step::answer().call("fetch_url", json!({"url": "https://a.example/x?k=1"}));
    let bash = |command: &str| Step::answer().call("bash", json!({ "command": command }));
    let history = json!({"query": "x", "scope": "global"});
    let history = || Step::answer().call("history", history.clone());
    let cases: [(&[&str], Step, Option<&str>); 7] = [
        (&[], fetch(), Some("--allow 'Net(a.example)'")),
        (&["--no-sandbox"], fetch(), Some("--allow 'Net(a.example)'")),
        (&[], history(), Some("--allow 'history'")),
        (&["--allow", "history"], history(), None),
        (
            &[],
            bash("rm -rf .git/refs"),
            Some("--allow 'Bash(rm -rf .git/refs)'"),
        ),
        (
            &["--allow", "Bash(rm -rf .git/refs)"],
            bash("rm -rf .git/refs"),
            None,
        ),
        (&["--no-sandbox"], bash("rm -rf .git"), None),
    ];
    for (args, step, flag) in cases {
        let scene = Scene::new(Kind::Chat, [step, Step::answer().text("ok")]);
        let out = scene.ostler(["exec", "-p", "go"]).args(args).output().ok();
        let results = scene.server.request(1).tool_results();
        let told = &results[0].1;
        match flag {
            Some(flag) => {
                assert!(told.starts_with("Error (blocked): "), "{args:?} {told}");
                assert!(told.contains(flag), "{args:?} {told}");
                assert!(out.stderr.contains(flag), "{args:?} {}", out.stderr);
            }
            None => assert!(!told.starts_with("Error (blocked)"), "{args:?} {told}"),
        }
    }
}

#[cfg(unix)]
#[test]
fn the_home_is_the_persons_alone_whatever_the_umask() {
    use std::os::unix::fs::PermissionsExt as _;
    let long = "x".repeat(100_000);
    let steps = [
        Step::answer().call("write_file", json!({"path": "a.txt", "content": long})),
        Step::answer().call("bash", json!({"command": "cat a.txt; date > b.txt"})),
        Step::answer().call("history", json!({"query": "anything"})),
        Step::answer().text("ok"),
    ];
    let scene = Scene::new(Kind::Chat, steps);
    let home = scene.space.home().to_owned();
    for loose in [home.clone(), home.join("config.toml")] {
        let mode = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(loose, mode).unwrap();
    }
    let script = "umask 000; exec \"$0\" \"$@\"";
    let program = env!("CARGO_BIN_EXE_ostler");
    let run = scene.space.run("sh");
    run.args(["-c", script, program, "exec", "-p", "go"])
        .output()
        .ok();
    let mut seen = 0;
    let mut folders = vec![home];
    while let Some(folder) = folders.pop() {
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode();
        assert_eq!(mode(&folder) & 0o077, 0, "{}", folder.display());
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            seen += 1;
            assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    assert!(seen > 8, "{seen} files");
}

/// The flags that the refusal on stderr names.
fn named_flags(stderr: &str) -> Vec<String> {
    let line = stderr.lines().find_map(|line| {
        let (_, flags) = line.split_once("To allow it: ")?;
        Some(flags.to_owned())
    });
    let line = line.unwrap_or_else(|| panic!("no flags in {stderr}"));
    let rules = line.split("--allow '").skip(1);
    rules
        .flat_map(|rule| {
            [
                "--allow".to_owned(),
                rule.trim().trim_end_matches('\'').to_owned(),
            ]
        })
        .collect()
}

#[test]
fn the_flags_of_a_refusal_let_the_very_call_run() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut bytes = [0; 1024];
            let _ = stream.read(&mut bytes);
            let answer = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    // With the sandbox, what lies outside below /tmp would be the session's own folder.
    let config = "[sandbox]\nbash = \"off\"\n";
    for (tool, args, other) in [
        (
            "write_file",
            json!({"path": "../made/one.txt", "content": "x"}),
            json!({"path": "../made/two.txt", "content": "x"}),
        ),
        (
            "move_file",
            json!({"source_path": "a.txt", "destination_path": "../b.txt"}),
            json!({"source_path": "a.txt", "destination_path": "../c.txt"}),
        ),
        (
            "read_file",
            json!({"path": "../secret.txt"}),
            json!({"path": "../other.txt"}),
        ),
        (
            "read_file",
            json!({"path": "link"}),
            json!({"path": "../other.txt"}),
        ),
        (
            "write_file",
            json!({"path": "ostler.toml", "content": ""}),
            json!({"path": ".mcp.json", "content": "{}"}),
        ),
        (
            "fetch_url",
            json!({"url": format!("http://127.0.0.1:{port}/")}),
            json!({"url": "http://127.0.0.1:9/"}),
        ),
    ] {
        let call = |args: &serde_json::Value| Step::answer().call(tool, args.clone());
        let done = || Step::answer().text("ok");
        let steps = [
            call(&args),
            done(),
            call(&args),
            done(),
            call(&other),
            done(),
        ];
        let scene = Scene::with_config(Kind::Chat, config, steps);
        for name in ["a.txt", "../secret.txt", "../other.txt"] {
            scene.space.write(name, "text");
        }
        let link = scene.space.root().join("link");
        std::os::unix::fs::symlink("../secret.txt", link).unwrap();
        let run = |nth: usize, flags: &[String]| {
            let run = scene.ostler(["exec", "-p", "go"]).args(flags);
            let out = run.output().ok();
            let result = scene.server.request(nth).tool_results().remove(0).1;
            (result, out.stderr)
        };
        let (result, stderr) = run(1, &[]);
        assert!(result.starts_with("Error (blocked): "), "{args}: {result}");
        let flags = named_flags(&stderr);
        let (result, _) = run(3, &flags);
        assert!(!result.starts_with("Error "), "{args} {flags:?}: {result}");
        let (result, _) = run(5, &flags);
        assert!(
            result.starts_with("Error (blocked): "),
            "{other} {flags:?}: {result}"
        );
    }
}

#[test]
fn a_refusal_without_a_narrow_flag_says_why() {
    for (command, why) in [
        ("rm -rf .git", "the sandbox denies it to every command"),
        ("rm -rf ./", "the sandbox denies it to every command"),
        ("cat /etc/*.conf", "no rule can name exactly this call"),
    ] {
        let call = Step::answer().call("bash", json!({"command": command}));
        let scene = Scene::new(Kind::Chat, [call, Step::answer().text("ok")]);
        let out = scene.exec("go").ok();
        let line = out
            .stderr
            .lines()
            .find(|line| line.starts_with("Not run: "));
        // Where no layer works every command is refused, for another reason.
        let line = line.unwrap_or_else(|| panic!("{command}: {}", out.stderr));
        assert!(line.contains("No flag allows only this: "), "{line}");
        assert!(
            line.contains(why) || line.contains("no sandbox works"),
            "{line}"
        );
    }
}
