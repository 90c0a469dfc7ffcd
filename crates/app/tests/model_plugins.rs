//! Plugins that offer models: the example end to end, and programs that misbehave.
#![cfg(unix)]

mod common;

use common::{Scene, of_type, texts, wait_for};
use ostler_testkit::{Kind, Signal, Step};
use serde_json::Value;

const EXAMPLE: &str = env!("CARGO_BIN_EXE_ostler-plugin-example");

fn scene(program: &str) -> Scene {
    let more = format!(
        "\n[tools]\nmcp_start_seconds = 5\n[network.timeouts]\nfirst_token = 1\nidle = 1\n[[plugins]]\nname = \"local\"\nprovides = \"provider\"\n{program}\n"
    );
    Scene::with_config(Kind::Chat, &more, [])
}

fn script(scene: &Scene, text: &str) {
    let models = r#"*models*) echo '{"type":"models","models":[{"name":"m"}]}';;"#;
    let text = format!(
        "while IFS= read -r line; do case $line in *'\"request\"'*)\n{text}\n;; {models} esac; done\n"
    );
    scene
        .space
        .write(scene.space.home().join("plugin.sh"), text);
}

fn shell() -> Scene {
    scene("command = \"sh\"\nargs = [\"${OSTLER_HOME}/plugin.sh\"]")
}

#[test]
fn the_example_model_works_from_end_to_end() {
    let scene = scene(&format!("command = \"{EXAMPLE}\"\nargs = [\"models\"]"));
    let out = scene
        .ostler(["-m", "local", "-p", "hello there"])
        .output()
        .ok();
    assert_eq!(out.stdout, "hello there\n");
    let out = scene
        .ostler(["--model", "local/echo", "exec", "-p", "call time"])
        .output()
        .ok();
    assert!(
        out.stdout.contains("UTC") || out.stdout.contains('T'),
        "{}",
        out.stdout
    );
    let tested = scene.ostler(["mcp", "test", "local"]).output().ok();
    assert!(
        tested.stdout.contains("1 model") && tested.stdout.contains("local/echo"),
        "{}",
        tested.stdout
    );
    // Its costs are those of any model.
    let usage = scene.ostler(["usage", "--format", "json"]).output().ok();
    let usage: Value = serde_json::from_str(&usage.stdout).unwrap();
    assert_eq!(usage["rows"][0]["requests"], 3, "{usage}");
    // One conversation, one process: the words come back turn after turn.
    let talk = scene
        .ostler(["-m", "local"])
        .stdin("one\ntwo\n/model\n")
        .output()
        .ok();
    assert_eq!(talk.stdout, "one\ntwo\n");
    assert_eq!(scene.server.requests().len(), 0);
}

#[test]
fn a_plugin_that_misbehaves_is_a_clear_error() {
    for (name, text, words) in [
        ("never answers", "sleep 60", "sent nothing for too long"),
        (
            "only makes noise",
            "while :; do echo noise; sleep 0.05; done",
            "too long",
        ),
        ("dies", "echo 'no memory' >&2; exit 3", "exited with code 3"),
        ("last words", "echo 'no memory' >&2; exit 3", "no memory"),
        (
            "refuses",
            "echo '{\"type\":\"error\",\"message\":\"not today\"}'",
            "not today",
        ),
        (
            "no end of a line",
            "head -c 20000000 /dev/zero | tr '\\0' x; sleep 60",
            "more than 16 MB",
        ),
    ] {
        let scene = shell();
        script(&scene, text);
        let out = scene.ostler(["-m", "local/m", "-p", "go"]).output();
        assert!(out.stderr.contains(words), "{name}: {}", out.stderr);
        assert_ne!(out.code, Some(0), "{name}");
    }
}

/// Says its process before its words, so that one can tell who answered.
const SAYS: &str = r#"say() { printf '{"type":"%s","text":"%s"%s}\n' "$1" "$2" "$3"; }"#;

#[test]
fn noise_is_passed_over_and_late_words_are_nobodys() {
    let id = r#"id=${line#*'"id":"'}; id=${id%%\"*}; n=$((n+1));"#;
    let named = r#"",\"id\":\"$id\"""#;
    for (name, words, expect) in [
        (
            "without ids each request has a process of its own",
            "echo loading; say text $n; echo '{\"type\":\"progress\"}'; say end; say text late"
                .to_owned(),
            "1\n1\n",
        ),
        (
            "with ids one process has all, and what it says late has another id",
            format!("say text $n {named}; say end '' {named}; say text late {named}"),
            "1\n2\n",
        ),
        (
            "whoever uses ids uses them everywhere",
            format!("say text $n {named}; say end '' {named}; say text late; say end"),
            "1\n2\n",
        ),
        (
            "another id is nobody's",
            format!(
                "say text x ',\"id\":\"x\"'; say end '' ',\"id\":\"x\"'; say text $n {named}; say end '' {named}"
            ),
            "1\n2\n",
        ),
    ] {
        let scene = shell();
        script(&scene, &format!("{SAYS}; {id} {words}"));
        let out = scene
            .ostler(["-m", "local"])
            .stdin("one\ntwo\n")
            .output()
            .ok();
        assert_eq!(out.stdout, expect, "{name}");
    }
}

#[test]
fn a_process_that_ended_meanwhile_is_started_again() {
    let scene = shell();
    let end = r#"id=${line#*'"id":"'}; id=${id%%\"*}; printf '{"type":"text","text":"yes","id":"%s"}\n{"type":"end","id":"%s"}\n' $id $id; exit 0"#;
    script(&scene, end);
    let mut running = scene.ostler(["-m", "local"]).open_stdin().spawn();
    running.write("one\n");
    running.wait_stdout("yes\n");
    running.write("two\n");
    running.wait_stdout("yes\nyes\n");
    running.close_stdin();
    running.wait().ok();
}

#[test]
fn a_plugin_that_does_not_start_is_a_notice() {
    for (program, words) in [
        ("command = \"no-such-program\"", "on PATH"),
        ("command = \"true\"", "exited with code 0"),
        ("url = \"http://127.0.0.1:1/\"", "only a program can"),
    ] {
        let scene = scene(program);
        scene.server.push(Step::answer().text("Other."));
        let out = scene.ostler(["-m", "mock", "-p", "go"]).output().ok();
        assert!(out.stderr.contains(words), "{words}: {}", out.stderr);
        let out = scene.ostler(["-m", "local", "-p", "go"]).output();
        assert!(
            out.code != Some(0) && out.stderr.contains("local"),
            "{}",
            out.stderr
        );
        scene.ostler(["mcp", "test", "local"]).output().exits(1);
    }
}

#[test]
fn an_interrupt_and_a_kill_end_the_program() {
    for signal in [Signal::Interrupt, Signal::Kill] {
        let scene = shell();
        script(
            &scene,
            "echo $$ > $OSTLER_PROJECT_DIR/pid; setsid sleep 300 & sleep 300",
        );
        let running = scene.ostler(["-m", "local/m", "-p", "go"]).spawn();
        let pid = wait_for("the request", || {
            let text = std::fs::read_to_string(scene.space.root().join("pid")).ok()?;
            text.trim().parse::<u32>().ok()
        });
        running.signal(signal);
        drop(running.wait());
        wait_for("the program to be gone", || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.map_or(true, |s| s.contains(") Z ")).then_some(())
        });
    }
}

#[test]
fn a_project_s_plugin_waits_for_trust() {
    let scene = Scene::new(Kind::Chat, [Step::answer().text("Mine.")]);
    let project = "[[plugins]]\nname = \"local\"\nprovides = \"provider\"\ncommand = \"sh\"\nargs = [\"-c\", \"touch ran\"]\n";
    scene.space.write("ostler.toml", project);
    scene.exec("go").ok();
    assert!(!scene.space.exists("ran"));
    let log = scene.log();
    assert_eq!(texts(&log), ["go", "Mine."]);
    let usage: Vec<&Value> = of_type(&log, "usage");
    assert_eq!(usage[0]["provider"], "mock");
}
