//! Promises of the specification that a newcomer's odd input would find broken: flags, keys, rules and sessions, seen from outside.

mod common;

use common::{Scene, files, of_type};
use ostler_testkit::{Kind, Output, Signal, Step, TempWorkspace, json_lines};
use serde_json::{Value, json};
use std::time::Duration;

fn demo(space: &TempWorkspace) -> ostler_testkit::Run {
    space
        .run(env!("CARGO_BIN_EXE_ostler"))
        .env("OSTLER_MODEL", "demo")
}

/// The last thing on stderr that is not the way back into the session.
fn complaint(out: &Output) -> &str {
    let mut lines = out
        .stderr
        .lines()
        .filter(|l| !l.starts_with("ostler resume"));
    lines.next_back().unwrap_or_default()
}

#[test]
fn misused_flags_are_usage_errors() {
    let space = TempWorkspace::new();
    let check = |args: &[&str], expect: &str| {
        let out = demo(&space).args(args).output().exits(2);
        assert!(out.stderr.contains(expect), "{args:?}: {}", out.stderr);
        assert_eq!(out.stdout, "", "{args:?}");
    };
    check(&["exec", "--effort", "banana", "-p", "x"], "'banana'");
    check(
        &["exec", "--allowed-tools", "bash,raed_file", "-p", "x"],
        "there is no tool `raed_file`; did you mean `read_file`?",
    );
    check(
        &["exec", "--allowed-tools", "!bahs", "-p", "x"],
        "there is no tool `bahs`; did you mean `bash`?",
    );
    check(&["--format", "json"], "add -p");
    check(
        &["--format", "json", "sessions", "list"],
        "put the output format after",
    );
    assert_eq!(files(space.home()), Vec::<std::path::PathBuf>::new());
}

#[test]
fn an_output_format_before_the_command_counts() {
    let space = TempWorkspace::new();
    let run = |args: &[&str]| demo(&space).args(args).output().ok().stdout;
    let object = |text: &str| -> Value { serde_json::from_str(text).expect("one object") };
    let result = object(&run(&["--format", "result", "exec", "-p", "hi"]));
    assert_eq!(result["type"], "result");
    let again = run(&["--output-format", "json", "resume", "-p", "hi"]);
    assert_eq!(object(&again)["session_id"], result["session_id"]);
    // The nearer one wins.
    let text = run(&["--format", "json", "exec", "--format", "text", "-p", "hi"]);
    assert!(text.starts_with("You asked"), "{text}");
}

#[test]
fn a_key_in_a_file_is_warned_about_once_it_is_used() {
    let scene = Scene::new(
        Kind::Chat,
        [Step::answer().text("a"), Step::answer().text("b")],
    );
    let config = scene.space.read(scene.space.home().join("config.toml"));
    let literal = config
        .lines()
        .map(|line| match line.starts_with("api_key_env") {
            true => "api_key = \"sk-literal-0001\"\n".to_owned(),
            false => format!("{line}\n"),
        })
        .collect::<String>();
    scene.exec("hi").ok();
    scene
        .space
        .write(scene.space.home().join("config.toml"), literal);
    let out = scene.exec("hi").ok();
    let warned = "is in a config file";
    assert!(out.stderr.contains(warned), "{}", out.stderr);
    assert!(!out.stderr.contains("sk-literal"), "{}", out.stderr);
    let header = scene
        .server
        .request(1)
        .header("authorization")
        .map(str::to_owned);
    assert_eq!(header.as_deref(), Some("Bearer sk-literal-0001"));
}

#[test]
fn commands_do_not_see_a_key_that_a_variable_sets() {
    let command = json!({"command": "env"});
    let scene = Scene::new(
        Kind::Chat,
        [
            Step::answer().call("bash", command),
            Step::answer().text("ok"),
        ],
    );
    scene
        .ostler(["exec", "-p", "go"])
        .env("OSTLER_PROVIDERS__OTHER__API_KEY", "sk-hidden-0001")
        .env("OSTLER_PROVIDERS__OTHER__KIND", "openai")
        .env("OSTLER_PROVIDERS__OTHER__BASE_URL", "http://127.0.0.1:9/v1")
        .output()
        .ok();
    let seen = scene.server.request(1).tool_results()[0].1.clone();
    assert!(seen.contains("OSTLER_PROVIDERS__OTHER__KIND"), "{seen}");
    assert!(!seen.contains("sk-hidden-0001"), "{seen}");
}

#[test]
fn rules_that_would_bind_nothing_are_told() {
    let space = TempWorkspace::new();
    let run = |config: &str| {
        space.write(space.home().join("config.toml"), config);
        demo(&space).args(["exec", "-p", "hi"]).output()
    };
    let out = run("[permissions]\ndeny = ['Read', 'Bsh(rm:*)']\n").exits(1);
    let expect = "config.toml:2:17: the rule `Bsh(rm:*)` has no effect: there is no tool `bsh`; did you mean `bash`?";
    assert!(out.stderr.contains(expect), "{}", out.stderr);
    let out = run("[permissions]\nallow = ['Frobnicate']\n[tools]\nenabled = ['!bahs']\n").ok();
    for expect in [
        "config.toml:2:10: the rule `Frobnicate` has no effect: there is no tool `frobnicate`",
        "config.toml:4:1: `tools.enabled`: there is no tool `bahs`; did you mean `bash`?",
    ] {
        assert!(out.stderr.contains(expect), "{}", out.stderr);
    }
}

#[test]
fn file_tools_stay_in_the_workspace_root() {
    let write =
        |path: &str| Step::answer().call("write_file", json!({"path": path, "content": "x"}));
    let steps = [
        write("sub/in.txt"),
        write("out.txt"),
        Step::answer().text("ok"),
    ];
    let scene = Scene::with_config(Kind::Chat, "[sandbox]\nworkspace_root = 'sub'\n", steps);
    std::fs::create_dir(scene.space.root().join("sub")).expect("a folder");
    scene.ostler(["exec", "--yolo", "-p", "go"]).output().ok();
    let results = scene.server.request(2).tool_results();
    assert!(results[1].1.contains("outside"), "{results:?}");
    assert_eq!(
        (
            scene.space.exists("sub/in.txt"),
            scene.space.exists("out.txt")
        ),
        (true, false)
    );
}

#[cfg(unix)]
#[test]
fn a_deny_rule_binds_behind_a_link_and_by_the_name_of_a_tool() {
    let read = |path: &str| Step::answer().call("read_file", json!({"path": path}));
    let write =
        |path: &str| Step::answer().call("write_file", json!({"path": path, "content": "x"}));
    let steps = [
        read("alias"),
        read("dir/.env"),
        write("Cargo.lock"),
        read("plain"),
        Step::answer().text("ok"),
    ];
    let rules = "[permissions]\ndeny = ['Read(.env)', 'write_file(Cargo.lock)']\n";
    let scene = Scene::with_config(Kind::Chat, rules, steps);
    scene.space.write(".env", "SECRET=1");
    scene.space.write("plain", "open");
    for (target, link) in [(".env", "alias"), (".", "dir")] {
        std::os::unix::fs::symlink(target, scene.space.root().join(link)).expect("a link");
    }
    scene.ostler(["exec", "--yolo", "-p", "go"]).output().ok();
    let results = scene.server.request(4).tool_results();
    let texts: Vec<&str> = results.iter().map(|(_, text, _)| text.as_str()).collect();
    for text in &texts[..3] {
        assert!(text.starts_with("Error (blocked)"), "{texts:?}");
    }
    assert!(texts[3].contains("open"), "{texts:?}");
}

#[test]
fn a_session_goes_on_unsaved_without_a_trace() {
    let answers = ["one", "two"].map(|text| Step::answer().text(text));
    let scene = Scene::new(Kind::Chat, answers);
    scene.exec("first").ok();
    let before = scene.space.read(scene.log_path());
    let id = scene.session_id();
    let out = scene
        .ostler(["exec", "--no-save", "--session", &id, "-p", "second"])
        .output()
        .ok();
    assert_eq!(out.stdout, "two\n");
    assert_eq!(scene.space.read(scene.log_path()), before);
    // It knew what had been said.
    let prompt = String::from_utf8_lossy(&scene.server.request(1).prompt_bytes()).into_owned();
    assert!(
        prompt.contains("first") && prompt.contains("one"),
        "{prompt}"
    );
}

#[test]
fn a_model_that_is_gone_is_named_when_the_session_goes_on_without_it() {
    let scene = Scene::with_config(Kind::Chat, "", [Step::answer().text("one")]);
    scene.exec("first").ok();
    scene.space.write(
        scene.space.home().join("config.toml"),
        "default_model = 'demo'\n",
    );
    let out = scene.ostler(["resume", "-p", "more"]).output().ok();
    assert!(
        out.stderr.contains("it continues with demo/demo"),
        "{}",
        out.stderr
    );
}

#[test]
fn a_server_known_by_its_address_keeps_its_model_on_resume() {
    let scene = Scene::new(
        Kind::Chat,
        [Step::answer().text("a"), Step::answer().text("b")],
    );
    scene
        .space
        .write(scene.space.home().join("config.toml"), "");
    let base = scene.server.base_url_for(Kind::Chat);
    let run = |args: [&str; 4]| {
        let run = scene.ostler(args).env("OSTLER_BASE_URL", &base);
        run.env("OSTLER_API_KEY", ostler_testkit::KEY).output().ok()
    };
    run(["exec", "--model=tiny", "-p", "hi"]);
    run(["resume", "--last", "-p", "hi"]);
    let models = scene
        .server
        .requests()
        .iter()
        .map(|r| r.model().to_owned())
        .collect::<Vec<_>>();
    assert_eq!(models, ["tiny", "tiny"]);
}

#[cfg(unix)]
#[test]
fn a_terminated_stream_still_ends_with_its_result() {
    let slow = Step::answer().words(2_000).pace(Duration::from_millis(20));
    let scene = Scene::new(Kind::Chat, [slow]);
    let running = scene
        .ostler(["exec", "--format", "json", "-p", "go"])
        .spawn();
    running.wait_stdout("assistant_delta");
    running.signal(Signal::Terminate);
    let out = running.wait().exits(143);
    let lines = json_lines(&out.stdout);
    let ends: Vec<&str> = lines
        .iter()
        .rev()
        .take(3)
        .filter_map(|l| l["type"].as_str())
        .collect();
    assert_eq!(ends, ["result", "turn_end", "interrupted"]);
    assert_eq!(
        lines.last().map(|l| l["subtype"].clone()),
        Some(json!("interrupted"))
    );
    assert!(out.stderr.contains("ostler resume "), "{}", out.stderr);
    assert_eq!(of_type(&scene.log(), "turn_end").len(), 1);
}

#[test]
fn a_pipe_that_brings_too_much_is_cut_aloud() {
    let scene = Scene::new(Kind::Chat, [Step::answer().text("ok")]);
    let out = scene
        .ostler(["exec", "-p", "sum up"])
        .stdin(vec![b'~'; (10 << 20) + 10])
        .output()
        .ok();
    assert!(
        out.stderr.contains("stdin has more than 10 MiB"),
        "{}",
        out.stderr
    );
    let sent = scene.server.request(0).last_user_text();
    assert_eq!(sent.matches('~').count(), 10 << 20);
}

#[test]
fn tokens_are_shown_to_whoever_sets_them() {
    let scene = Scene::new(Kind::Chat, ["a", "b", "c"].map(|t| Step::answer().text(t)));
    for (args, setting, expect) in [
        (["exec", "-p", "x", "--plain"], "", false),
        (["exec", "-p", "x", "--plain"], "true", true),
        (["exec", "-p", "x", "--verbose"], "false", false),
    ] {
        let run = scene
            .ostler(args)
            .env("OSTLER_DISPLAY__SHOW_TOKENS", setting);
        let out = run.output().ok();
        assert_eq!(
            out.stderr.contains(" cached), "),
            expect,
            "{setting:?}: {}",
            out.stderr
        );
    }
}

#[test]
fn sessions_that_cannot_be_read_are_not_called_none() {
    let space = TempWorkspace::new();
    space.write(space.home().join("sessions"), "not a folder");
    for args in [&["sessions", "list"][..], &["resume", "-p", "hi"]] {
        let out = demo(&space).args(args).output().exits(1);
        assert!(complaint(&out).contains("cannot be read"), "{}", out.stderr);
    }
}

#[test]
fn a_variant_that_nobody_defines_is_not_passed_over() {
    let space = TempWorkspace::new();
    let out = demo(&space)
        .args(["exec", "--model", "demo/demo@huge", "-p", "hi"])
        .output()
        .exits(1);
    let expect = "demo/demo has no variant `huge`; it has no reasoning effort";
    assert!(complaint(&out).contains(expect), "{}", out.stderr);
}

#[test]
fn the_variants_there_are_are_named() {
    let scene = Scene::new(Kind::Chat, []);
    let flags = ["exec", "--model", "mock/mock-model@huge", "-p", "hi"];
    let out = scene.ostler(flags).output().exits(1);
    let expect =
        "mock/mock-model has no variant `huge`; efforts: none, minimal, low, medium, high, max";
    assert!(complaint(&out).contains(expect), "{}", out.stderr);
}

#[test]
fn what_stands_in_an_address_to_get_in_is_shown_nowhere() {
    let scene = Scene::new(Kind::Chat, [Step::status(404, "{}")]);
    let path = scene.space.home().join("config.toml");
    let config = scene.space.read(&path);
    let with_secrets = config.replace("http://127", "http://me:hush0001@127");
    let base = scene.server.base_url_for(Kind::Chat);
    let base = base.replace("http://127", "http://me:hush0001@127");
    let with_secrets = with_secrets.replace(&base, &format!("{base}?v=1&key=hush0002"));
    assert_ne!(config, with_secrets);
    scene.space.write(&path, with_secrets);
    let out = scene
        .ostler(["exec", "--format", "json", "-p", "hi"])
        .output();
    let out = out.exits(1);
    let shown = scene.ostler(["config", "show"]).output().ok().stdout;
    assert!(shown.contains("?v=1&key=********"), "{shown}");
    for text in [
        &out.stdout,
        &out.stderr,
        &shown,
        &scene.space.read(scene.log_path()),
    ] {
        assert!(!text.contains("hush000"), "{text}");
    }
    scene.server.forgive();
}

#[test]
fn a_system_prompt_for_a_session_that_has_one_is_not_passed_over() {
    let space = TempWorkspace::new();
    let run = |command: &str| {
        let args = [command, "--system-prompt", "Be brief.", "-p", "hi"];
        demo(&space).args(args).output().ok().stderr
    };
    let told = |stderr: String| stderr.contains("--system-prompt has no effect here");
    assert_eq!((told(run("exec")), told(run("resume"))), (false, true));
}

#[cfg(unix)]
#[test]
fn an_interrupted_answer_is_paid_for_as_far_as_it_is_known() {
    // This protocol says at the start what the prompt weighs.
    let slow = Step::answer().words(2_000).pace(Duration::from_millis(20));
    let scene = Scene::new(Kind::Messages, [slow, Step::answer().text("more")]);
    let running = scene.ostler(["exec", "-p", "go"]).spawn();
    running.wait_stdout(" ");
    running.signal(Signal::Interrupt);
    running.wait().exits(130);
    let log = scene.log();
    let usage = of_type(&log, "usage");
    assert!(usage[0]["input"].as_u64() > Some(0), "{usage:?}");
    let ledger = scene.space.read(scene.space.home().join("ledger.jsonl"));
    assert_eq!(json_lines(&ledger)[0]["input"], usage[0]["input"]);
    scene.ostler(["resume", "-p", "on"]).output().ok();
    scene.ostler(["cache", "check"]).output().ok();
}
