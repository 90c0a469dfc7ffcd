//! The sandbox as a session meets it: what commands cannot do, what the model is told of it, and what lifts it.
//! Whether the layers hold is the business of the escape suite in `host`.

#![cfg(target_os = "linux")]

mod common;

use common::{Scene, of_type, skipped};
use ostler_host::sandbox::{Layer, probe};
use ostler_testkit::{Kind, Step};
use serde_json::{Value, json};

/// What came of some commands, in their order.
struct Ran {
    scene: Scene,
    /// What the model read.
    told: Vec<String>,
    /// The data of the results.
    data: Vec<Value>,
}

/// Runs each command as one call, with `config` in the person's file.
fn run(config: &str, flags: &[&str], set_up: impl FnOnce(&Scene), commands: &[&str]) -> Ran {
    let calls: Vec<Value> = commands.iter().map(|c| json!({"command": c})).collect();
    run_calls(config, flags, set_up, &calls)
}

fn run_calls(config: &str, flags: &[&str], set_up: impl FnOnce(&Scene), calls: &[Value]) -> Ran {
    let tool = |call: &Value| match call.get("job") {
        Some(_) => "bash_output",
        None => "bash",
    };
    let steps = calls
        .iter()
        .map(|call| Step::answer().call(tool(call), call.clone()))
        .chain([Step::answer().text("ok")]);
    let scene = Scene::with_config(Kind::Chat, config, steps);
    set_up(&scene);
    scene
        .ostler(["exec", "--yolo", "-p", "go"])
        .args(flags)
        .output()
        .ok();
    let results = scene.server.request(calls.len()).tool_results();
    let told = results.into_iter().map(|(_, text, _)| text).collect();
    let log = scene.log();
    let data = of_type(&log, "tool_result")
        .iter()
        .map(|entry| entry["output"]["data"].clone())
        .collect();
    Ran { scene, told, data }
}

fn layer() -> Option<Layer> {
    let layer = probe().layers.first().copied();
    if layer.is_none() {
        skipped(&format!("no sandbox here: {:?}", probe().missing));
    }
    layer
}

/// A project with git, a secret at home and a folder beside it.
fn project(scene: &Scene) {
    scene.space.write("README", "hello");
    scene.space.git_init();
    let home = scene.space.user_home();
    scene.space.write(home.join(".ssh/id"), "private");
    scene.space.write(home.join("beside/file"), "theirs");
    scene
        .space
        .write(scene.space.home().join(".env"), "A=ostler-key\n");
}

const OUT: &str = "echo x > $HOME/beside/new";
const SECRET: &str = "cat $HOME/.ssh/id";
const KEYS: &str = "cat $OSTLER_HOME/.env";
const HOOK: &str = "echo evil > .git/hooks/pre-commit";

#[test]
fn what_commands_cannot_do_is_told_with_its_path() {
    if layer().is_none() {
        return;
    }
    let relative = "echo x > ../home/beside/new 2>&1";
    let Ran { scene, told, data } = run("", &[], project, &[OUT, SECRET, KEYS, relative]);
    let home = scene.space.user_home().display().to_string();
    let expect = [
        (format!("{home}/beside/new"), "allow_write"),
        (format!("{home}/.ssh/id"), "forbid_read"),
        (format!("{home}/.ostler/.env"), "forbid_read"),
        (format!("{home}/beside/new"), "allow_write"),
    ];
    for (i, (path, setting)) in expect.iter().enumerate() {
        assert_eq!(data[i]["denied"]["what"], **path, "{}", data[i]);
        let last = told[i].lines().last().unwrap_or_default();
        assert!(last.starts_with("[sandbox: "), "{}", told[i]);
        assert!(
            last.contains(path.as_str()) && last.contains(setting),
            "{last}"
        );
        assert!(!told[i].contains("private") && !told[i].contains("ostler-key"));
    }
    assert!(!scene.space.exists(format!("{home}/beside/new")));
}

#[test]
fn work_in_the_project_goes_on() {
    if layer().is_none() {
        return;
    }
    let commands = [
        "echo x > made && cat README made && mkdir -p a/b && touch a/b/c",
        "git add -A && git commit -q -m more && git log --oneline | wc -l",
        "f=$(mktemp) && echo temp > $f && cat $f",
        "ls $HOME/.ostler/sessions >/dev/null && cat $HOME/beside/file",
    ];
    let Ran { told, .. } = run("", &[], project, &commands);
    assert_eq!(told, ["hellox", "2", "temp", "theirs"]);
}

#[test]
fn what_git_and_ostler_run_stays_as_it_is() {
    if layer().is_none() {
        return;
    }
    let commands = [
        HOOK,
        "git config core.fsmonitor evil",
        "echo evil > ostler.toml",
        "mkdir .ostler && echo evil > .ostler/x",
        "sed -i s/a/b/ .git/config; rm -rf .git/hooks; echo evil > .mcp.json",
    ];
    let Ran { scene, told, data } = run("", &[], project, &commands);
    let space = &scene.space;
    assert!(!space.exists(".git/hooks/pre-commit"));
    assert!(space.exists(".git/hooks"));
    assert!(!space.read(".git/config").contains("evil"));
    for name in ["ostler.toml", ".ostler", ".mcp.json"] {
        assert!(!space.exists(name), "{name}");
    }
    for i in [2, 3, 4] {
        assert!(told[i].contains("[sandbox: protected"), "{}", told[i]);
    }
    let change = &data[2]["protected"][0];
    let path = space.root().join("ostler.toml").display().to_string();
    assert_eq!(
        (&change["path"], &change["undone"]),
        (&json!(path), &json!(true))
    );
    // Nothing is lost, whoever made it.
    let kept = change["kept"].as_str().expect("a copy");
    assert_eq!(space.read(kept), "evil\n");
}

#[test]
fn a_job_and_a_terminal_are_confined_too() {
    if layer().is_none() {
        return;
    }
    let calls = [
        json!({"command": format!("{OUT}; echo evil > .mcp.json; {SECRET}"), "wait": false}),
        json!({"job": "j1", "wait": true}),
        json!({"command": SECRET, "tty": true}),
    ];
    let Ran { scene, told, .. } = run_calls("", &[], project, &calls);
    for part in [
        "[sandbox: protected",
        ".mcp.json was put back",
        ".ssh/id may not be read",
    ] {
        assert!(told[1].contains(part), "{part}: {}", told[1]);
    }
    assert!(told[2].contains(".ssh/id may not be read"), "{}", told[2]);
    assert!(told.iter().all(|t| !t.contains("private")), "{told:?}");
    assert!(!scene.space.exists(".mcp.json"));
    let new = scene.space.user_home().join("beside/new");
    assert!(!scene.space.exists(new));
}

#[test]
fn the_network_ends_at_the_command() {
    let Some(layer) = layer() else { return };
    let python = |script: &str| format!("python3 -c '{script}'");
    if !std::process::Command::new("python3")
        .arg("-V")
        .output()
        .is_ok_and(|o| o.status.success())
    {
        return skipped("python3 is needed to talk over sockets");
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let outside = python(&format!(
        "import socket; socket.create_connection((\"127.0.0.1\", {port})); print(\"through\")"
    ));
    let inside = python(
        "import socket; s = socket.create_server((\"127.0.0.1\", 0)); c = socket.create_connection(s.getsockname()); print(\"inside\")",
    );
    let Ran { told, .. } = run("", &[], |_| {}, &[&outside, &inside]);
    assert!(!told[0].contains("through"), "{}", told[0]);
    assert_eq!(
        told[1].contains("inside"),
        layer == Layer::Namespaces,
        "{}",
        told[1]
    );
    let Ran { told, .. } = run("[sandbox]\nnetwork = true\n", &[], |_| {}, &[&outside]);
    assert_eq!(told[0].trim_end(), "through");
}

#[test]
fn what_lifts_it() {
    if layer().is_none() {
        return;
    }
    let check = |config: &str, flags: &[&str], open: [bool; 3]| {
        let Ran { scene, told, .. } = run(config, flags, project, &[OUT, SECRET, HOOK]);
        let found = [
            scene
                .space
                .exists(scene.space.user_home().join("beside/new")),
            told[1].contains("private"),
            scene.space.exists(".git/hooks/pre-commit"),
        ];
        assert_eq!(found, open, "{config} {flags:?}: {told:?}");
    };
    check("", &[], [false; 3]);
    check("[sandbox]\nbash = 'require'\n", &[], [false; 3]);
    check("[sandbox]\nbash = 'off'\n", &[], [true; 3]);
    check(
        "[sandbox]\nbash = 'require'\n",
        &["--no-sandbox"],
        [true; 3],
    );
    check("", &["--add-dir", "../home/beside"], [true, false, false]);
    check(
        "[sandbox]\nallow_write = ['~/beside']\n",
        &[],
        [true, false, false],
    );
    check(
        "[sandbox]\nforbid_read = ['${NOWHERE:-/none}']\n",
        &[],
        [false, true, false],
    );
}

#[test]
fn a_project_may_only_tighten() {
    let Some(layer) = layer() else { return };
    let loose = |scene: &Scene| {
        project(scene);
        let text = "[sandbox]\nbash = 'off'\nnetwork = true\nallow_write = ['~/beside']\nforbid_read = ['secrets']\n";
        scene.space.write("ostler.toml", text);
        scene.space.write("secrets/x", "private");
    };
    let Ran { scene, told, .. } = run("", &[], loose, &[OUT, SECRET, "cat secrets/x"]);
    assert!(
        !scene
            .space
            .exists(scene.space.user_home().join("beside/new"))
    );
    assert!(!told[1].contains("private"), "{told:?}");
    // Inside of a writable folder only mounts can hide.
    let hidden = !told[2].contains("private");
    assert_eq!(hidden, layer == Layer::Namespaces, "{told:?}");
}

#[test]
fn settings_that_contradict_each_other_stop_the_start() {
    let check = |config: &str, expect: &str| {
        let scene = Scene::with_config(Kind::Chat, config, []);
        let out = scene.ostler(["exec", "-p", "go"]).output().exits(1);
        assert!(out.stderr.contains(expect), "{config}: {}", out.stderr);
        let doctor = scene.ostler(["doctor"]).output().exits(1);
        assert!(
            doctor.stdout.contains(expect),
            "{config}: {}",
            doctor.stdout
        );
    };
    check(
        "[sandbox]\nforbid_read = ['.']\n",
        "is to be writable but lies in",
    );
    check("[sandbox]\nallow_write = ['~/.ssh/known']\n", "forbid_read");
    check(
        "[sandbox]\nforbid_read = ['${NOWHERE}/x']\n",
        "the variable NOWHERE is not set",
    );
}
