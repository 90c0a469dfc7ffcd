//! The conversation as plain lines: prompts, slash commands, permission, and how it ends.

mod common;

use common::{Scene, each_kind, files, of_type, texts};
use ostler_testkit::{Kind, Output, Place, Running, Server, Step, config_text, json_lines};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Mutex;

#[cfg(unix)]
use ostler_testkit::{Signal, Term};

/// A whole conversation, typed ahead.
#[track_caller]
fn talk(scene: &Scene, lines: &[&str]) -> Output {
    scene
        .ostler([])
        .stdin(lines.join("\n") + "\n")
        .output()
        .ok()
}

fn conversation(scene: &Scene) -> Running {
    scene.ostler([]).open_stdin().spawn()
}

#[test]
fn prompts_are_answered_one_after_the_other() {
    each_kind(|kind| {
        let steps = [
            Step::answer().call("time", json!({})),
            Step::answer().text("One."),
            Step::answer().text("Two."),
        ];
        let scene = Scene::new(kind, steps);
        let out = talk(&scene, &["first", "", "  second  ", "/quit"]);
        assert_eq!(out.stdout, "One.\nTwo.\n");
        let log = scene.log();
        assert_eq!(texts(&log), ["first", "", "One.", "second", "Two."]);
        let greeting = out.stderr.lines().next().unwrap_or_default();
        assert!(
            greeting.starts_with("ostler ") && greeting.contains("mock/mock-model"),
            "{greeting}"
        );
        assert!(
            out.stderr.contains("> ") && out.stderr.contains("time  20"),
            "{}",
            out.stderr
        );
        let hint = format!("ostler resume {}", &scene.session_id()[..8]);
        assert!(out.stderr.ends_with(&format!("{hint}\n")), "{}", out.stderr);
        scene.server.assert_done();
    });
}

#[test]
fn the_end_of_the_input_leaves_with_the_way_back() {
    let scene = Scene::new(Kind::Chat, [Step::answer().text("One.")]);
    let out = scene.ostler([]).stdin("first").output().ok();
    assert_eq!(out.stdout, "One.\n");
    assert!(
        out.stderr
            .ends_with(&format!("ostler resume {}\n", &scene.session_id()[..8])),
        "{}",
        out.stderr
    );

    scene.server.push(Step::answer().text("Two."));
    let out = scene.ostler(["resume"]).stdin("second\n").output().ok();
    assert_eq!(out.stdout, "Two.\n");
    assert_eq!(texts(&scene.log()), ["first", "One.", "second", "Two."]);
}

#[test]
fn a_conversation_in_which_nothing_was_said_leaves_nothing() {
    let scene = Scene::new(Kind::Chat, []);
    let before = files(scene.space.home());
    let out = talk(&scene, &["/help", "/model", "/quit", "never read"]);
    assert_eq!(out.stdout, "");
    assert!(!out.stderr.contains("ostler resume"), "{}", out.stderr);
    assert_eq!(files(scene.space.home()), before);
}

#[test]
fn help_lists_every_command() {
    let scene = Scene::new(Kind::Chat, []);
    let out = talk(&scene, &["/help"]);
    for command in [
        "/help",
        "/new",
        "/resume",
        "/quit",
        "/model",
        "/status",
        "/approve",
        "/mode",
        "/plan",
        "/permissions",
    ] {
        let line = out
            .stderr
            .lines()
            .find(|l| l.trim_start_matches("> ").starts_with(command));
        assert!(
            line.is_some_and(|l| l.len() > command.len() + 5),
            "{command}: {}",
            out.stderr
        );
    }
    assert_eq!(out.stdout, "");
}

#[test]
fn a_word_that_is_no_command_is_told_and_a_path_is_a_prompt() {
    let scene = Scene::new(Kind::Chat, [Step::answer().text("A file.")]);
    let out = talk(&scene, &["/frobnicate now", "/etc/hosts what is it?"]);
    assert!(
        out.stderr
            .contains("There is no command /frobnicate. Try /help."),
        "{}",
        out.stderr
    );
    assert_eq!(out.stdout, "A file.\n");
    assert_eq!(texts(&scene.log())[0], "/etc/hosts what is it?");
}

#[test]
fn the_model_can_be_shown_and_changed() {
    each_kind(|kind| {
        let scene = Scene::new(
            kind,
            [
                Step::answer().reasoning("Hm.").text("One."),
                Step::answer().text("Two."),
            ],
        );
        let config = config_text(&scene.server, kind).replace(
            "model = \"mock-model\"",
            "models = [\"mock-model\", \"other\"]",
        );
        scene
            .space
            .write(scene.space.home().join("config.toml"), config);
        let out = talk(
            &scene,
            &[
                "/model",
                "first",
                "/model mock/other",
                "/model nonsense",
                "second",
            ],
        );
        assert_eq!(out.stdout, "One.\nTwo.\n");
        for said in [
            "* mock/mock-model",
            "Model: mock/other",
            "there is no provider or model `nonsense`",
        ] {
            assert!(out.stderr.contains(said), "{said}: {}", out.stderr);
        }
        let models: Vec<String> = scene
            .server
            .requests()
            .iter()
            .map(|r| r.model().to_owned())
            .collect();
        assert_eq!(models, ["mock-model", "other"]);
        let log = scene.log();
        let settings: Vec<&Value> = of_type(&log, "settings")
            .iter()
            .map(|s| &s["model"])
            .collect();
        assert_eq!(settings, ["mock/mock-model", "mock/other"]);
        assert_eq!(of_type(&log, "usage")[1]["break"]["cause"], "model");
    });
}

#[test]
fn sessions_can_be_left_and_taken_up_again() {
    let scene = Scene::new(
        Kind::Chat,
        ["One.", "Two.", "Three."].map(|text| Step::answer().text(text)),
    );
    let mut running = conversation(&scene);
    running.write("first\n/new\nsecond\n/resume\n");
    // The list says what to type.
    let shown = running.wait_stderr("/resume ");
    let (_, id) = shown.rsplit_once("/resume ").unwrap();
    let id: String = id.chars().take(8).collect();
    running.write(&format!("/resume {id}\nthird\n/quit\n"));
    let out = running.wait().ok();
    assert_eq!(out.stdout, "One.\nTwo.\nThree.\n");
    let mut said: Vec<Vec<String>> = scene
        .logs()
        .iter()
        .map(|path| json_lines(&scene.space.read(path)))
        .map(|lines| texts(&lines).into_iter().map(String::from).collect())
        .collect();
    said.sort();
    assert_eq!(
        said,
        [
            vec!["first", "One.", "third", "Three."],
            vec!["second", "Two."]
        ]
    );
    let back = scene.server.request(2);
    assert!(String::from_utf8_lossy(&back.raw).contains("One."));
}

#[test]
fn a_session_that_cannot_be_opened_leaves_the_old_one() {
    let scene = Scene::new(
        Kind::Chat,
        ["One.", "Two."].map(|text| Step::answer().text(text)),
    );
    let out = talk(
        &scene,
        &["/resume", "first", "/resume 0123abcd", "/resume", "second"],
    );
    assert_eq!(out.stdout, "One.\nTwo.\n");
    assert_eq!(
        out.stderr
            .matches("This project has no other session.")
            .count(),
        2,
        "{}",
        out.stderr
    );
    assert!(
        out.stderr.contains("There is no session 0123abcd"),
        "{}",
        out.stderr
    );
    assert_eq!(texts(&scene.log()), ["first", "One.", "second", "Two."]);
}

#[test]
fn permission_is_asked_for_and_the_answer_holds() {
    let cases = [
        ("y", true, "once", ""),
        ("YES", true, "once", ""),
        ("s", true, "session", ""),
        ("n", false, "deny", "The person refused this call."),
        ("", false, "deny", "The person refused this call."),
        (
            "no, use the other file",
            false,
            "deny",
            "The person refused this call: no, use the other file",
        ),
    ];
    each_kind(|kind| {
        for (line, made, decision, told) in cases {
            let call = Step::answer().call("bash", json!({"command": "echo x > made"}));
            let scene = Scene::new(kind, [call, Step::answer().text("ok")]);
            let out = talk(&scene, &["go", line, "/quit"]);
            assert_eq!(out.stdout, "ok\n");
            assert!(
                out.stderr.contains("$ echo x > made -- approve?"),
                "{}",
                out.stderr
            );
            assert_eq!(scene.space.exists("made"), made, "{line:?}");
            let log = scene.log();
            assert_eq!(
                of_type(&log, "approval")[0]["decision"],
                decision,
                "{line:?}"
            );
            let result = &scene.server.request(1).tool_results()[0].1;
            assert!(result.contains(told), "{line:?}: {result}");
        }
    });
}

#[test]
fn what_a_yes_would_do_is_shown_before_it() {
    let steps = [
        Step::answer().call("write_file", json!({"path": "a", "content": "new\n"})),
        Step::answer().call("bash", json!({"command": "$X one\n\u{1b}[2Jtwo"})),
        Step::answer().text("ok"),
    ];
    let scene = Scene::new(Kind::Chat, steps);
    scene.space.write("a", "old\n");
    let out = talk(&scene, &["go", "s", "n", "/permissions", "/quit"]);
    for shown in [
        "-old\n+new\n\nwrite_file: a -- approve?\n  [y] allow once\n  [s] allow for this session: editing files\n",
        "$ $X one ⏎ \u{fffd}[2Jtwo -- approve?\n  [y] allow once\n  [s] allow for this session: this exact command\n",
        "granted   editing files  this session",
    ] {
        assert!(out.stderr.contains(shown), "{shown}: {}", out.stderr);
    }
    assert!(!out.stderr.contains('\u{1b}'), "{}", out.stderr);
    assert_eq!(scene.space.read("a"), "new\n");
}

#[test]
fn a_plan_is_shown_and_answered() {
    for (line, made, told) in [
        ("y", true, "Carry the plan out now."),
        ("e 1. other\\n2. more", true, "now:\n1. other\n2. more"),
        ("and test it", false, "The person said: and test it"),
        ("", false, "keep planning"),
    ] {
        let steps = [
            Step::answer().call("bash", json!({"command": "touch early"})),
            Step::answer().call("exit_plan_mode", json!({"plan": "1. look\n2. leap"})),
            Step::answer().call("bash", json!({"command": "touch made"})),
            Step::answer().text("ok"),
        ];
        let scene = Scene::new(Kind::Chat, steps);
        let out = talk(&scene, &["/plan do it", line, "/mode", "/quit"]);
        assert!(
            out.stderr.contains(
                "1. look\n2. leap\n\nCarry out this plan?\n  [y] approve, and accept edits: "
            ),
            "{}",
            out.stderr
        );
        assert!(!scene.space.exists("early"));
        assert_eq!(scene.space.exists("made"), made, "{line}");
        let mode = if made { "Mode: normal" } else { "Mode: plan\n" };
        assert!(out.stderr.contains(mode), "{}", out.stderr);
        let result = &scene.server.request(2).tool_results()[1].1;
        assert!(result.contains(told), "{line}: {result}");
        let said = scene.server.request(0).last_user_text();
        assert!(said.ends_with("do it"), "{said}");
    }
}

#[test]
fn a_large_task_begins_in_plan_mode_where_that_is_wanted() {
    let config = |scene: &Scene| {
        let path = scene.space.home().join("config.toml");
        let text = scene.space.read(&path) + "\n[agent]\nauto_plan = true\n";
        scene.space.write(path, &text);
    };
    let steps = || {
        [
            Step::answer().call("bash", json!({"command": "touch made"})),
            Step::answer().text("ok"),
        ]
    };
    let large = "Add an export: - a command - a page - tests. ".repeat(10);
    for (wanted, prompt, mode) in [
        (true, large.as_str(), "Mode: plan\n"),
        (true, "fix the typo", "Mode: normal"),
        (false, large.as_str(), "Mode: normal"),
    ] {
        let scene = Scene::new(Kind::Chat, steps());
        if wanted {
            config(&scene);
        }
        let plans = mode == "Mode: plan\n";
        // In plan mode the command is refused without a question.
        let out = match plans {
            true => talk(&scene, &[prompt, "/mode", "/quit"]),
            false => talk(&scene, &[prompt, "y", "/mode", "/quit"]),
        };
        assert!(
            out.stderr.contains(mode),
            "{wanted} {prompt}: {}",
            out.stderr
        );
        assert_eq!(scene.space.exists("made"), !plans, "{wanted} {prompt}");
        let told = out.stderr.contains("`agent.auto_plan`");
        assert_eq!(told, plans, "{}", out.stderr);
    }
    // Nobody is there to approve a plan.
    let scene = Scene::new(Kind::Chat, steps());
    config(&scene);
    let run = scene.space.run(env!("CARGO_BIN_EXE_ostler"));
    run.args(["exec", "--yolo", &large]).output().ok();
    assert!(scene.space.exists("made"));
}

#[test]
fn a_mode_is_kept_by_the_session() {
    let call = || Step::answer().call("bash", json!({"command": "touch made"}));
    let ok = || Step::answer().text("ok");
    let scene = Scene::new(Kind::Chat, [call(), ok(), call(), ok(), call(), ok()]);
    for (args, made) in [
        (
            &["exec", "--mode", "plan", "--yolo", "go"] as &[&str],
            false,
        ),
        (&["resume", "--yolo", "-p", "go"], false),
        (&["resume", "--mode", "normal", "-p", "go"], true),
    ] {
        let run = scene.space.run(env!("CARGO_BIN_EXE_ostler"));
        run.args(args.iter().copied()).output().ok();
        assert_eq!(scene.space.exists("made"), made, "{args:?}");
    }
    let modes: Vec<Value> = of_type(&scene.log(), "mode")
        .iter()
        .map(|m| m["mode"].clone())
        .collect();
    assert_eq!(modes, ["plan", "normal"]);
}

#[test]
fn the_end_of_the_input_is_a_no() {
    let call = Step::answer().call("bash", json!({"command": "echo x > made"}));
    let scene = Scene::new(Kind::Chat, [call, Step::answer().text("ok")]);
    let out = talk(&scene, &["go"]);
    assert_eq!(out.stdout, "ok\n");
    assert!(!scene.space.exists("made"));
}

#[test]
fn a_question_of_the_model_is_answered_by_number_or_word() {
    for (line, told) in [
        ("2", "The person answered: blue"),
        ("green", "The person answered: green"),
        ("", "your assumption"),
    ] {
        let ask = Step::answer().call(
            "ask",
            json!({"question": "Which colour?", "choices": ["red", "blue"]}),
        );
        let scene = Scene::new(Kind::Chat, [ask, Step::answer().text("ok")]);
        let out = talk(&scene, &["go", line]);
        assert!(
            out.stderr.contains("Which colour?\n  1. red\n  2. blue\n"),
            "{}",
            out.stderr
        );
        let result = &scene.server.request(1).tool_results()[0].1;
        assert!(result.contains(told), "{line:?}: {result}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_gives_the_prompt_back() {
    each_kind(|kind| {
        let scene = Scene::new(
            kind,
            [
                Step::answer().text("Half of it").stall(Place::Text(1)),
                Step::answer().text("Whole."),
            ],
        );
        let mut running = conversation(&scene);
        running.write("go\n");
        running.wait_stdout("Half");
        running.signal(Signal::Interrupt);
        running.wait_stderr("Interrupted\n> ");
        running.write("again\n");
        running.wait_stdout("Whole.");
        running.write("/quit\n");
        let out = running.wait().ok();
        assert_eq!(out.stdout, "Half \nWhole.\n");
        assert_eq!(texts(&scene.log()), ["go", "Half ", "again", "Whole."]);
    });
}

#[cfg(unix)]
#[test]
fn signals_at_the_prompt_and_at_a_question_end_what_they_should() {
    let call = || Step::answer().call("bash", json!({"command": "echo x > made"}));
    // At the prompt.
    for (signal, code) in [
        (Signal::Interrupt, 0),
        (Signal::Terminate, 143),
        (Signal::Hangup, 143),
    ] {
        let scene = Scene::new(Kind::Chat, [Step::answer().text("One.")]);
        let mut running = conversation(&scene);
        running.write("go\n");
        running.wait_stdout("One.\n");
        common::wait_for("the turn's end", || {
            scene
                .space
                .read(scene.log_path())
                .contains("turn_end")
                .then_some(())
        });
        running.signal(signal);
        common::ends(running, code);
    }
    // At a question.
    let scene = Scene::new(Kind::Chat, [call()]);
    let mut running = conversation(&scene);
    running.write("go\n");
    running.wait_stderr("approve?");
    running.signal(Signal::Terminate);
    common::ends(running, 143);
    let log = scene.log();
    assert_eq!(of_type(&log, "turn_end")[0]["outcome"], "interrupted");
    assert_eq!(
        of_type(&log, "tool_result")[0]["output"]["error"]["code"],
        "interrupted"
    );

    let scene = Scene::new(Kind::Chat, [call(), Step::answer().text("Instead.")]);
    let mut running = conversation(&scene);
    running.write("go\n");
    running.wait_stderr("approve?");
    running.signal(Signal::Interrupt);
    running.wait_stderr("Interrupted\n> ");
    running.write("do it otherwise\n");
    running.wait_stdout("Instead.");
    running.close_stdin();
    running.wait().ok();
    assert!(!scene.space.exists("made"));
}

#[test]
fn plain_ostler_with_nobody_to_ask_for_a_model_says_so() {
    let space = ostler_testkit::TempWorkspace::new();
    let out = space
        .run(env!("CARGO_BIN_EXE_ostler"))
        .stdin("hello\n")
        .output()
        .exits(1);
    assert!(
        out.stderr.contains("no model is configured"),
        "{}",
        out.stderr
    );
}

/// Answers by what the person said last; a call first where the prompt begins with `run `.
fn obliging() -> Server {
    let ran = Mutex::new(HashSet::new());
    Server::answering(move |request| {
        let said = request.last_user_text();
        let last = said.lines().last().unwrap_or_default().to_owned();
        let is_new = ran.lock().unwrap().insert(last.clone());
        match last.strip_prefix("run ").filter(|_| is_new) {
            Some(command) => Step::answer().call("bash", json!({"command": command})),
            None => Step::answer().text(&format!("Heard: {last}")),
        }
    })
}

#[test]
fn a_prompt_can_run_in_the_background() {
    let scene = Scene::of(Kind::Chat, "", obliging());
    let mut running = conversation(&scene);
    for line in ["first\n", "/bg second\n"] {
        running.write(line);
    }
    running.wait_stderr("t1 runs in the background: second");
    let told = running.wait_stderr("  Heard: second\n> ");
    assert!(told.contains("t1 is done after") && told.contains(" · ostler resume "));
    running.write("third &\n");
    running.wait_stderr("  Heard: third\n> ");
    running.write("/ps\n/quit\n");
    let out = running.wait().ok();
    assert!(out.stderr.contains("Nothing runs in the background."));
    assert_eq!(out.stdout, "Heard: first\n");
    assert_eq!(scene.logs().len(), 3);
}

#[test]
fn who_leaves_is_told_what_is_stopped() {
    let stalled = Step::answer().text("Half of it").stall(Place::Text(1));
    let scene = Scene::new(Kind::Chat, [stalled]);
    let mut running = conversation(&scene);
    running.write("/bg go\n");
    running.wait_stderr("t1 runs in the background: go");
    scene.server.wait_for(1);
    running.write("/new\n");
    running.wait_stderr("Not while tasks run (t1)");
    // A script knows what it does.
    running.write("/quit\n");
    let out = running.wait().ok();
    assert!(
        out.stderr.contains("Stopped with the session: t1\n")
            && out.stderr.contains("t1 was stopped after"),
        "{}",
        out.stderr
    );
    assert_eq!(
        of_type(&scene.log(), "turn_end")[0]["outcome"],
        "interrupted"
    );
}

#[test]
fn a_script_that_is_over_waits_for_its_tasks() {
    let scene = Scene::of(Kind::Chat, "", obliging());
    // What a task asks then is a no.
    let out = talk(&scene, &["/bg run touch made", "/bg plain"]);
    assert!(out.stderr.contains("t1 is done after"), "{}", out.stderr);
    assert!(out.stderr.contains("t2 is done after"), "{}", out.stderr);
    assert!(
        !out.stderr.contains("Stopped with the session"),
        "{}",
        out.stderr
    );
    assert!(!scene.space.exists("made"));
}

#[test]
fn what_a_sub_agent_asks_is_put_and_answered() {
    let server = Server::answering(|request| {
        let child = request.system_text().contains("# Role: ");
        match (child, request.tool_results().is_empty()) {
            (false, true) => {
                Step::answer().call("task", json!({"prompt": "make it", "description": "make"}))
            }
            (true, true) => Step::answer().call("bash", json!({"command": "touch made"})),
            (_, false) => Step::answer().text("Done."),
        }
    });
    let scene = Scene::of(Kind::Chat, "", server);
    let out = talk(&scene, &["go", "y", "y"]);
    assert!(out.stderr.contains("[t1 builder] "), "{}", out.stderr);
    assert_eq!(out.stdout, "Done.\n");
    assert!(scene.space.exists("made"));
}

#[test]
fn own_commands_notes_and_files_are_commands() {
    let scene = Scene::of(Kind::Chat, "", obliging());
    scene.space.write(
        scene.space.home().join("commands/say.md"),
        "Say $1 and !`echo loud > made; cat made`",
    );
    let out = talk(
        &scene,
        &[
            "!echo mine; exit 3",
            "# use tabs",
            "y",
            "/say it",
            "y",
            "/say it",
            "n",
            "/quit",
        ],
    );
    for said in [
        "mine\n",
        "ended: exit 3",
        "Add to AGENTS.md: use tabs -- approve?",
        "Added to AGENTS.md",
        "$ echo loud > made; cat made -- approve?",
        "/say was not sent: The person refused this call.",
    ] {
        assert!(out.stderr.contains(said), "{said}: {}", out.stderr);
    }
    assert_eq!(out.stdout, "Heard: Say it and loud\n");
    assert_eq!(scene.space.read("AGENTS.md"), "- use tabs\n");
    let prompt = String::from_utf8_lossy(&scene.server.request(0).raw).into_owned();
    assert!(prompt.contains("$ echo mine; exit 3") && prompt.contains("use tabs"));
}

#[test]
fn the_document_lists_every_command() {
    let scene = Scene::new(Kind::Chat, []);
    let out = talk(&scene, &["/help", "/quit"]);
    let document = include_str!("../../../docs/terminal.md");
    let names = out.stderr.lines().chain(out.stdout.lines());
    let names = names.filter_map(|line| line.trim_start_matches("> ").strip_prefix('/'));
    let names: Vec<&str> = names.filter_map(|l| l.split_whitespace().next()).collect();
    assert!(names.len() > 25, "{out:?}");
    for name in names {
        let rows = [format!("| `/{name} "), format!("| `/{name}`")];
        assert!(rows.iter().any(|row| document.contains(row)), "/{name}");
    }
}

#[test]
fn plain_lines_speak_the_language_of_the_person() {
    let call = Step::answer().call("bash", json!({"command": "echo x > made"}));
    let scene = Scene::new(Kind::Chat, [call, Step::answer().text("ok")]);
    let out = scene
        .ostler([])
        .env("LANG", "zh_CN.UTF-8")
        .stdin("go\ny\n/ps\n/quit\n")
        .output()
        .ok();
    for said in ["-- 批准？", "已运行 echo x > made", "后台没有任务。"] {
        assert!(out.stderr.contains(said), "{said}: {}", out.stderr);
    }
    assert!(scene.space.exists("made"));
}

/// Types a line where the question wants one.
#[cfg(unix)]
#[track_caller]
fn answer_line(term: &mut Term, line: &str) {
    term.wait_until("the line to answer on", |screen| {
        let last = screen.trim_end().lines().last().unwrap_or_default();
        last.ends_with("or why not:") || last.ends_with("anything else goes back:")
    });
    term.keys(&format!("{line}\r"));
}

#[cfg(unix)]
#[test]
fn on_a_terminal_only_a_line_typed_after_the_question_answers_it() {
    for args in [
        &["--plain"][..],
        &["exec", "--permission-mode", "ask", "-p", "go"],
    ] {
        let (answers, waits) = std::sync::mpsc::channel::<()>();
        let waits = Mutex::new(waits);
        let server = Server::answering(move |request| match request.tool_results().is_empty() {
            true => {
                waits.lock().unwrap().recv().unwrap();
                Step::answer().call("bash", json!({"command": "touch made"}))
            }
            false => Step::answer().text("Well."),
        });
        let scene = Scene::of(Kind::Chat, "[sandbox]\nbash = \"off\"\n", server);
        let mut term = scene
            .ostler([])
            .args(args.iter().copied())
            .on_terminal(100, 40);
        if args == ["--plain"] {
            term.wait_for(">");
            term.keys("go\r");
        }
        // The call is on its way, and somebody types ahead.
        scene.server.wait_for(1);
        term.keys("y\ryes\ra\r");
        answers.send(()).unwrap();
        term.wait_for("$ touch made -- approve?");
        // Lines that come at once are no answer either.
        answer_line(&mut term, "y\ry\ry");
        term.wait_for("not used as the answer: “y”");
        term.wait_until("the question again", |screen| {
            screen.matches("-- approve?").count() == 2
        });
        answer_line(&mut term, "use another name");
        term.wait_for("Well.");
        assert!(!scene.space.exists("made"), "{}", term.screen());
        let told = &scene.server.request(1).tool_results()[0].1;
        assert!(told.contains("use another name"), "{told}");
    }
}

#[cfg(unix)]
#[test]
fn on_a_terminal_a_line_begun_before_the_question_does_not_answer_it() {
    for args in [
        &["--plain"][..],
        &["exec", "--permission-mode", "ask", "-p", "go"],
    ] {
        for (before, after) in [("y", ""), ("appl", "y"), ("", "")] {
            let (answers, waits) = std::sync::mpsc::channel::<()>();
            let waits = Mutex::new(waits);
            let server =
                Server::answering(move |request| match request.tool_results().is_empty() {
                    true => {
                        waits.lock().unwrap().recv().unwrap();
                        Step::answer().call("bash", json!({"command": "touch made"}))
                    }
                    false => Step::answer().text("Well."),
                });
            let scene = Scene::of(Kind::Chat, "[sandbox]\nbash = \"off\"\n", server);
            let mut term = scene
                .ostler([])
                .args(args.iter().copied())
                .on_terminal(100, 40);
            if args == ["--plain"] {
                term.wait_for(">");
                term.keys("go\r");
            }
            scene.server.wait_for(1);
            // Somebody is in the middle of a line when the question comes up.
            term.keys(before);
            answers.send(()).unwrap();
            term.wait_for("$ touch made -- approve?");
            if !before.is_empty() {
                answer_line(&mut term, after);
                term.wait_for(&format!("not used as the answer: “{before}{after}”"));
                term.wait_until("the question again", |screen| {
                    screen.matches("-- approve?").count() == 2
                });
                assert!(!scene.space.exists("made"), "{}", term.screen());
            }
            // The terminal edits lines again.
            answer_line(&mut term, "n\x7fy");
            term.wait_for("Well.");
            assert!(scene.space.exists("made"), "{}", term.screen());
        }
    }
}

#[cfg(unix)]
#[test]
fn on_a_terminal_what_outlives_the_session_takes_a_second_line() {
    let call = || Step::answer().call("bash", json!({"command": "touch made"}));
    for (confirm, decision) in [("y", "always"), ("actually, no", "deny")] {
        let steps = [call(), Step::answer().text("Well.")];
        let scene = Scene::with_config(Kind::Chat, "[sandbox]\nbash = \"off\"\n", steps);
        let mut term = scene.ostler(["--plain"]).on_terminal(100, 40);
        term.wait_for(">");
        term.keys("go\r");
        answer_line(&mut term, "a");
        term.wait_for("Save this for good? Bash(touch made) in ");
        assert!(!scene.space.exists("made"));
        answer_line(&mut term, confirm);
        if decision == "deny" {
            term.wait_until("the question again", |screen| {
                screen.matches("-- approve?").count() == 2
            });
            answer_line(&mut term, "n");
        }
        term.wait_for("Well.");
        assert_eq!(of_type(&scene.log(), "approval")[0]["decision"], decision);
    }
}

#[cfg(unix)]
#[test]
fn on_a_terminal_commands_take_effect_during_a_turn() {
    let scene = Scene::of(Kind::Chat, "", obliging());
    let mut term = scene.ostler(["--plain"]).on_terminal(100, 40);
    term.wait_for(">");
    term.keys("run touch one; until [ -e go ]; do sleep 0.02; done\r");
    term.wait_for("-- approve?");
    // A command is no answer to the question.
    term.keys("/ps\r");
    term.wait_for("Nothing runs in the background.");
    term.wait_until("the question again", |screen| {
        screen.matches("-- approve?").count() == 2
    });
    answer_line(&mut term, "y");
    term.wait_until("the command", |_| scene.space.exists("one"));
    // Words typed meanwhile wait, a command does not.
    term.keys("later\r");
    term.keys("/bg also\r");
    term.keys("/approve all\r");
    term.keys("!echo mine\r");
    scene.space.write("go", "");
    term.wait_for("Heard: later");
    term.wait_for("t1 runs in the background: also");
    term.wait_for("Approval: commands auto-approved");
    term.wait_for("Heard: also");
    term.keys("/quit\r");
    assert!(term.wait().success());
}

#[cfg(unix)]
#[test]
fn asks_of_a_task_are_put_with_its_name() {
    let scene = Scene::of(Kind::Chat, "", obliging());
    let mut term = scene.ostler(["--plain"]).on_terminal(100, 40);
    term.wait_for(">");
    term.keys("run touch made &\r");
    term.wait_for("[t1] ");
    term.wait_for("$ touch made -- approve?");
    // A command in between is answered, and the question is put again.
    term.keys("/mode\r");
    term.wait_for("normal");
    term.wait_until("the question again", |s| {
        s.matches("-- approve?").count() == 2
    });
    answer_line(&mut term, "y");
    term.wait_for("t1 is done");
    assert!(scene.space.exists("made"));
    term.keys("\u{4}");
    assert!(term.wait().success());
}

#[cfg(unix)]
#[test]
fn on_a_terminal_leaving_twice_stops_what_runs() {
    for leave in ["\u{4}", "/quit\r", "\u{3}"] {
        let call = json!({"command": "exec sleep 300", "wait": false});
        let scene = Scene::with_config(
            Kind::Chat,
            "[permissions]\nmode = \"allow\"\n[sandbox]\nbash = \"off\"\n",
            [
                Step::answer().call("bash", call),
                Step::answer().text("Begun."),
            ],
        );
        let mut term = scene.ostler(["--plain"]).on_terminal(100, 40);
        term.wait_for(">");
        term.keys("go\r");
        term.wait_for("Begun.");
        // The line above the prompt names what runs.
        term.wait_for("\nj1\n>");
        term.keys(leave);
        term.wait_for("j1 still running; ctrl-d or /quit again stops it and quits");
        term.wait_until("another prompt", |s| s.matches("\nj1\n>").count() == 2);
        term.keys(leave);
        term.wait_for("Stopped with the session: j1");
        assert!(term.wait().success(), "{leave:?}");
    }
}

#[cfg(unix)]
#[test]
fn on_a_terminal_the_prompt_is_edited_and_found_again() {
    let scene = Scene::of(Kind::Chat, "", obliging());
    let mut term = scene.ostler(["--plain"]).on_terminal(30, 12);
    let before = term.settings();
    term.wait_for(">");
    // Killed, typed anew, and begun with another word; wide letters take two cells.
    term.keys("wrong\u{15}你好 there\u{1}Say ");
    term.wait_for("> Say 你好 there");
    term.wait_until("the caret", |_| term.cursor().1 == 6);
    term.keys("\u{5}\x1b[D\x1b[D\u{7f}\r");
    term.wait_for("Heard: Say 你好 thre");
    // What is written is dropped first; then it leaves.
    term.wait_until("the next prompt", |s| s.trim_end().ends_with('>'));
    term.keys("no more");
    term.wait_for("> no more");
    term.keys("\u{3}");
    term.wait_until("another prompt", |s| s.trim_end().ends_with("no more\n>"));
    term.keys("\x1b[A");
    term.wait_until("the prompt before", |s| {
        s.trim_end().ends_with("> Say 你好 thre")
    });
    // A long one goes over several rows.
    term.keys(" and so on and so on and so on");
    term.wait_for("⋮ so on and so on");
    term.keys("\r");
    term.wait_until("the next prompt", |s| s.trim_end().ends_with("\n>"));
    term.keys("\u{4}");
    assert!(term.wait().success());
    assert_eq!(term.settings(), before);
    // Where there is no room beside the sign, the line stands below it.
    let mut term = scene.ostler(["--plain"]).on_terminal(12, 12);
    term.wait_for(">\n›");
    term.keys("abcdefghijkl");
    term.wait_for(">\n› abcdefghi\n⋮ jkl");
    term.keys("\u{3}");
    term.wait_until("another prompt", |s| s.matches(">\n›").count() == 2);
    term.keys("\u{4}");
    assert!(term.wait().success());
    // Another conversation knows it.
    let mut term = scene.ostler(["--plain"]).on_terminal(100, 12);
    term.wait_for(">");
    term.keys("\u{12}Say");
    term.wait_for("history: Say");
    term.wait_for("Say 你好 thre and so on");
}

#[cfg(unix)]
#[test]
fn a_tab_on_a_terminal_prints_the_names_and_the_line_stays() {
    let scene = Scene::of(Kind::Chat, "", obliging());
    scene.space.write("src/main.rs", "");
    scene.space.write("src/lib.rs", "");
    let mut term = scene.ostler(["--plain"]).on_terminal(100, 40);
    term.wait_for(">");
    term.keys("look at @src/\t");
    term.wait_for("@src/lib.rs\n@src/main.rs");
    term.wait_until("the line again", |s| {
        s.trim_end().ends_with("> look at @src/")
    });
    term.keys("lib.rs\r");
    term.wait_for("Heard: ");
    term.keys("/quit\r");
    assert!(term.wait().success());
}

#[test]
fn a_tab_behind_a_mention_prints_the_names() {
    let scene = Scene::new(Kind::Chat, []);
    scene.space.write("src/main.rs", "");
    scene.space.write("src/lib.rs", "");
    let out = talk(&scene, &["look at @src/\t", "@../\t", "/quit"]);
    assert_eq!(out.stdout, "");
    assert!(
        out.stderr.contains("@src/lib.rs\n@src/main.rs\n"),
        "{}",
        out.stderr
    );
    assert!(scene.logs().is_empty());
}
