//! The sandbox as a session meets it: what commands cannot do, what the model is told of it, and what lifts it.
//! Whether the layers hold is the business of the escape suite in `host`.

#![cfg(target_os = "linux")]

mod common;
#[path = "sandbox/git.rs"]
mod git;
#[path = "sandbox/helpers.rs"]
mod helpers;
#[path = "sandbox/history.rs"]
mod history;
#[path = "sandbox/later.rs"]
mod later;
#[path = "sandbox/own_settings.rs"]
mod own_settings;
#[path = "sandbox/places.rs"]
mod places;
#[path = "sandbox/readers.rs"]
mod readers;
#[path = "sandbox/restores.rs"]
mod restores;
#[path = "sandbox/servers.rs"]
mod servers;
#[path = "sandbox/swaps.rs"]
mod swaps;
#[path = "sandbox/traces.rs"]
mod traces;
#[path = "sandbox/unapproved.rs"]
mod unapproved;

use common::{Scene, of_type, skipped};
use ostler_host::sandbox::{Layer, probe};
use ostler_testkit::{Kind, Step};
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt;

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
        (format!("{home}/.ostler/.env"), "nothing can be granted"),
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
        "cat $HOME/beside/file",
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

/// As with a server that somebody develops, and a look at it.
#[test]
fn a_server_of_a_job_is_there_for_the_next_command() {
    let Some(layer) = layer() else { return };
    if layer != Layer::Namespaces || !has_python() {
        return skipped("a network of the session needs namespaces, the server python3");
    }
    let server = "echo hello > page && python3 -m http.server 3000 --bind 127.0.0.1";
    let look = r#"python3 -c '
import time, urllib.request
for _ in range(500):
    try: print(urllib.request.urlopen("http://localhost:3000/page").read().decode()); break
    except OSError as e: last = e; time.sleep(0.05)
else: print(last)'"#;
    let calls = [
        json!({"command": server, "wait": false}),
        json!({"command": look}),
        json!({"command": look, "tty": true}),
    ];
    let Ran { told, data, .. } = run_calls("", &[], project, &calls);
    assert_eq!(told[1].trim(), "hello");
    assert!(told[2].contains("hello"), "{}", told[2]);
    assert_eq!(data[1]["hosts"], Value::Null, "not by the proxy");
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

/// Says something to the proxy in the command's network, as the command or as somebody else.
fn to_proxy(request: &str, login: &str) -> String {
    format!(
        "python3 -c 'import base64,os,socket,sys; l = {login}; s = socket.create_connection((\"127.0.0.1\", 61080)); s.sendall(b\"{request}\\r\\nProxy-Authorization: Basic \" + base64.b64encode(l.encode()) + b\"\\r\\n\\r\\n\"); a = s.recv(999).decode(); print(a); sys.exit(\"403\" in a)'"
    )
}

/// As which a command is known.
const OWN: &str = r#"os.environ["http_proxy"].split("/")[2].split("@")[0]"#;

fn has_python() -> bool {
    let found = std::process::Command::new("python3").arg("-V").output();
    let works = found.is_ok_and(|o| o.status.success());
    if !works {
        skipped("python3 is needed to talk over sockets");
    }
    works
}

/// Answers one request with a word.
fn server() -> u16 {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            let _partly = stream.read(&mut [0; 999]);
            let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nthrough");
        }
    });
    port
}

#[test]
fn single_hosts_are_granted_by_rules_and_each_is_told() {
    let Some(layer) = layer() else { return };
    if layer != Layer::Namespaces || !has_python() {
        return skipped("single hosts need namespaces and python3");
    }
    let port = server();
    let get = |host: &str, login| to_proxy(&format!("GET http://{host}/ HTTP/1.0"), login);
    let here = format!("127.0.0.1:{port}");
    let commands = [
        get(&here, OWN),
        get("registry.example", OWN),
        get(&here, "\"t:stranger\""),
    ];
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let rule = "[permissions]\nallow = ['Net(127.0.0.1)']\n";
    let Ran { scene, told, data } = run(rule, &[], |_| {}, &commands);
    let audit = scene.ostler(["permissions", "audit", "--format", "json"]);
    let audit: Value = serde_json::from_str(&audit.output().ok().stdout).expect("JSON");
    for (call, what) in [(0, "127.0.0.1"), (1, "registry.example (refused)")] {
        let touched = audit[call]["touched"].as_array().expect("a list");
        let net = json!({"kind": "net", "what": what});
        assert!(touched.contains(&net), "{audit:#}");
    }
    assert!(told[0].contains("through"), "{}", told[0]);
    assert_eq!(
        data[0]["hosts"],
        json!([{"host": "127.0.0.1", "port": port, "allowed": true}])
    );
    assert_eq!(data[0]["denied"], Value::Null);
    assert_eq!(
        data[1]["hosts"],
        json!([{"host": "registry.example", "port": 80, "allowed": false}])
    );
    let denied = &data[1]["denied"];
    assert_eq!(denied["what"], "registry.example", "{denied}");
    assert_eq!(denied["grant"], json!({"hosts": ["registry.example"]}));
    let last = told[1].lines().last().unwrap_or_default();
    assert!(last.contains("Net(registry.example)"), "{last}");
    assert!(told[2].contains(" 407 "), "{}", told[2]);
    assert_eq!(data[2]["hosts"], Value::Null);
    // Without the rule the same way leads nowhere, and that nobody is asked changes nothing.
    let Ran { told, data, .. } = run("", &[], |_| {}, &commands[..1]);
    assert!(!told[0].contains("through"), "{}", told[0]);
    assert_eq!(data[0]["denied"]["grant"], json!({"hosts": [here]}));
    let both = "[permissions]\nallow = ['Net']\ndeny = ['Net(127.0.0.1)']\n";
    let Ran { told, .. } = run(both, &[], |_| {}, &commands[..1]);
    assert!(!told[0].contains("through"), "{}", told[0]);
}

/// The hidden mode that ssh is given, and what git and others find in their environment.
#[test]
fn programs_are_led_to_the_proxy() {
    let Some(layer) = layer() else { return };
    if layer != Layer::Namespaces {
        return skipped("there is a proxy only with namespaces");
    }
    let port = server();
    let connect = |host: &str, port: u16| {
        let program = env!("CARGO_BIN_EXE_ostler");
        format!("printf 'GET / HTTP/1.0\\r\\n\\r\\n' | {program} __connect {host} {port}")
    };
    let commands = [
        connect("127.0.0.1", port),
        connect("forge.example", 22),
        "echo $https_proxy $HTTPS_PROXY $no_proxy | sed 's/t:[0-9a-f]*@/TOKEN@/g'; echo \"$GIT_SSH_COMMAND\"".into(),
    ];
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let rule = "[permissions]\nallow = ['Net(127.0.0.1)']\n";
    let Ran { scene, told, data } = run(rule, &[], |_| {}, &commands);
    assert!(told[0].contains("through"), "{}", told[0]);
    let home = scene.space.user_home().join(".ssh").display().to_string();
    let grant = json!({"hosts": ["forge.example"], "readable": [home], "ssh_agent": true});
    assert_eq!(data[1]["denied"]["grant"], grant, "{}", data[1]);
    assert!(
        data[1]["denied"]["hint"]
            .as_str()
            .unwrap()
            .contains("~/.ssh")
    );
    let address = "http://TOKEN@127.0.0.1:61080";
    assert!(
        told[2].starts_with(&format!("{address} {address} localhost,")),
        "{}",
        told[2]
    );
    assert!(told[2].contains("__connect %h %p"), "{}", told[2]);
    let open = "[sandbox]\nnetwork = true\n";
    let Ran { told, .. } = run(open, &[], |_| {}, &["echo [$https_proxy]"]);
    assert_eq!(told[0], "[]");
}

/// As with ssh, where each side waits for a few bytes of the other.
#[test]
fn a_tunnel_keeps_nothing_back() {
    use std::io::{Read, Write};
    let Some(layer) = layer() else { return };
    if layer != Layer::Namespaces {
        return skipped("there is a proxy only with namespaces");
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        // Until the other side leaves.
        while stream.read_exact(&mut [0; 1208]).is_ok() {
            stream.write_all(b"next").expect("it listens");
        }
    });
    let program = env!("CARGO_BIN_EXE_ostler");
    let command = format!(
        "mkfifo in out; {program} __connect 127.0.0.1 {port} < in > out & exec 3> in 4< out; for i in $(seq 60); do printf '%01208d' $i >&3; dd bs=4 count=1 <&4 2>/dev/null; done; exec 3>&-; wait"
    );
    let rule = "[permissions]\nallow = ['Net(127.0.0.1)']\n";
    let started = std::time::Instant::now();
    let Ran { told, .. } = run(rule, &[], |_| {}, &[&command]);
    assert_eq!(told[0].trim(), "next".repeat(60));
    // A kernel that waits for more gives up after a fifth of a second, each time.
    assert!(started.elapsed() < std::time::Duration::from_secs(10));
}

/// The environment of Ostler itself holds the provider's key.
#[test]
fn keys_of_ostler_itself_are_out_of_sight() {
    let Some(layer) = layer() else { return };
    let look = "cat /proc/*/environ /proc/*/task/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c ^MOCK_KEY=; ls -d /proc/[0-9]* | wc -l";
    let Ran { told, .. } = run("", &[], |_| {}, &[look]);
    let mut lines = told[0].lines();
    assert_eq!(lines.next(), Some("0"), "{}", told[0]);
    let count: usize = lines
        .next()
        .unwrap_or_default()
        .trim()
        .parse()
        .expect("a count");
    if layer == Layer::Namespaces && probe().missing.is_empty() {
        assert!(count < 10, "{count} processes seen");
    }
}

/// Facts need the person's yes, settings and trust the person: a home that may be written gives none of them away.
#[test]
fn the_home_keeps_its_own_when_it_lies_in_reach() {
    let Some(layer) = layer() else { return };
    for (above, mode) in [(0, "--no-sandbox"), (0, "--yolo"), (1, "--yolo")] {
        let scene = Scene::new(Kind::Chat, []);
        let home = scene.space.home().to_owned();
        let fact = home.join("memory/global/evil.md").display().to_string();
        let place = home.ancestors().nth(above).unwrap().display().to_string();
        let hidden = format!(
            "eval \"$(printf 'mkdir -p %s; echo evil > %s' {0}/memory/global {fact})\"",
            home.display()
        );
        let config = home.join("config.toml").display().to_string();
        let moved = home.join("memory2").display().to_string();
        let file_calls = [
            ("write_file", json!({"path": fact, "content": "evil"})),
            ("write_file", json!({"path": config, "content": "evil"})),
            (
                "write_file",
                json!({"path": home.join("trust.json"), "content": "{}"}),
            ),
            (
                "move_file",
                json!({"source_path": home.join("memory"), "destination_path": moved}),
            ),
            ("bash", json!({"command": format!("echo evil > {fact}")})),
            ("bash", json!({"command": hidden})),
            (
                "write_file",
                json!({"path": home.join("skills/mine/SKILL.md"), "content": "evil"}),
            ),
        ];
        // Without a sandbox only what can be read in a command is judged.
        let calls: Vec<_> = file_calls
            .into_iter()
            .filter(|(_, args)| mode != "--no-sandbox" || args["command"] != json!(hidden))
            .collect();
        let steps = calls
            .iter()
            .map(|(tool, args)| Step::answer().call(tool, args.clone()));
        steps
            .chain([Step::answer().text("ok")])
            .for_each(|step| scene.server.push(step));
        scene
            .space
            .write(home.join("memory/global/good.md"), "good");
        let before = scene.space.read(home.join("config.toml"));
        scene
            .ostler(["exec", "--yolo", "-p", "go", "--add-dir", &place])
            .args([mode].iter().filter(|m| **m != "--yolo"))
            .output()
            .ok();
        let told: Vec<_> = scene.server.request(calls.len()).tool_results();
        let told: Vec<String> = told.into_iter().map(|(_, text, _)| text).collect();
        let sandboxed = mode == "--yolo";
        if !sandboxed || layer == Layer::Namespaces {
            assert!(!scene.space.exists(&fact), "{mode} {above}: {told:#?}");
        }
        assert_eq!(scene.space.read(home.join("memory/global/good.md")), "good");
        assert_eq!(scene.space.read(home.join("config.toml")), before);
        assert!(!scene.space.exists(&moved), "{told:#?}");
        // What later sessions follow takes the person's own yes, in every posture.
        assert!(
            !scene.space.exists(home.join("skills/mine/SKILL.md")),
            "{told:#?}"
        );
        assert!(
            told[0].contains("it belongs to Ostler itself") || told[0].contains("memory"),
            "{told:#?}"
        );
    }
}

#[test]
fn what_rules_deny_is_kept_from_commands_that_no_rule_foresees() {
    let Some(layer) = layer() else { return };
    let files = |scene: &Scene| {
        scene.space.write("sub/.env", "TOKEN=private");
        scene.space.write("notes", "good");
    };
    let rules = "[permissions]\ndeny = ['Read(.env)', 'Edit(notes)']\n";
    let read = "cd sub; eval \"$(echo bmV4dA== | base64 -d >/dev/null; printf 'ca%s .en%s' t v)\"";
    let write = "eval \"$(printf 'echo evil > no%s' tes)\"";
    let Ran { scene, told, data } = run(rules, &[], files, &[read, write]);
    if layer == Layer::Namespaces {
        assert!(!told[0].contains("private"), "{told:?}");
        assert_eq!(data[0]["denied"]["grant"], Value::Null, "{}", data[0]);
    }
    assert_eq!(scene.space.read("notes"), "good", "{told:?}");
}

/// A layer that this machine does not have, whatever it has: the program is not found.
const NO_LAYER: &str = "layer = 'bubblewrap'\n";

fn without_programs(scene: &Scene) -> std::path::PathBuf {
    let folder = scene.space.user_home().join("bin");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::os::unix::fs::symlink("/bin/sh", folder.join("sh")).expect("a link");
    folder
}

#[test]
fn without_a_layer_require_does_not_start() {
    let config = format!("[sandbox]\nbash = 'require'\n{NO_LAYER}");
    let scene = Scene::with_config(Kind::Chat, &config, []);
    let path = without_programs(&scene);
    let stream = [
        "exec",
        "--input-format",
        "stream-json",
        "--format",
        "stream-json",
    ];
    let check = |run: ostler_testkit::Run| {
        let out = run.env("PATH", &path).stdin("").output().exits(1);
        assert!(
            out.stderr.contains("no sandbox works here"),
            "{}",
            out.stderr
        );
        assert!(out.stderr.contains("bwrap"), "{}", out.stderr);
    };
    check(scene.ostler(["exec", "-p", "go"]));
    check(scene.ostler(stream));
    check(scene.ostler([]));
    assert_eq!(scene.server.connections(), 0);
    let doctor = scene
        .ostler(["doctor"])
        .env("PATH", &path)
        .output()
        .exits(1);
    assert!(
        doctor.stdout.contains("no session starts"),
        "{}",
        doctor.stdout
    );
}

#[test]
fn without_a_layer_enforce_says_so_everywhere() {
    let config = format!("[sandbox]\n{NO_LAYER}");
    let warning = "commands run with all your rights";
    let steps = || {
        let call = Step::answer().call("bash", json!({"command": "echo ran"}));
        [call, Step::answer().text("ok")]
    };
    let scene = Scene::with_config(Kind::Chat, &config, steps());
    let path = without_programs(&scene);
    let out = scene
        .ostler(["exec", "--yolo", "-p", "go"])
        .env("PATH", &path)
        .output()
        .ok();
    assert_eq!(out.stderr.matches(warning).count(), 1, "{}", out.stderr);
    let log = scene.log();
    let notices = of_type(&log, "notice");
    assert!(
        notices
            .iter()
            .any(|n| n.to_string().contains("without a sandbox")),
        "{log:?}"
    );
    for args in [
        &[
            "exec",
            "--input-format",
            "stream-json",
            "--format",
            "stream-json",
        ][..],
        &[],
    ] {
        let run = scene.ostler([]).args(args).env("PATH", &path);
        let out = run.stdin("").output();
        assert_eq!(
            out.stderr.matches(warning).count(),
            1,
            "{args:?}: {}",
            out.stderr
        );
    }
}

#[test]
fn bubblewrap_when_asked_for() {
    let found = std::process::Command::new("bwrap")
        .arg("--version")
        .output();
    if !found.is_ok_and(|o| o.status.success()) {
        return skipped("there is no program bwrap");
    }
    let config = "[sandbox]\nlayer = 'bubblewrap'\nbash = 'require'\n";
    let fine = "echo x > made && cat made README && test $(ls -d /proc/[0-9]* | wc -l) -lt 10";
    let Ran { scene, told, .. } = run(config, &[], project, &[OUT, SECRET, HOOK, fine]);
    assert!(
        !scene
            .space
            .exists(scene.space.user_home().join("beside/new"))
    );
    assert!(!told[1].contains("private"), "{told:?}");
    assert!(!scene.space.exists(".git/hooks/pre-commit"));
    assert_eq!(told[3], "x\nhello");
}

#[test]
fn files_that_hold_keys_are_hidden() {
    if layer().is_none() {
        return;
    }
    let config = "[[providers]]\nname = \"filed\"\nkind = \"openai\"\nbase_url = \"https://b.invalid\"\nmodel = \"m\"\napi_key_file = \"~/filed.key\"\n\n\
                  [[providers]]\nname = \"literal\"\nkind = \"openai\"\nbase_url = \"https://c.invalid\"\nmodel = \"m\"\napi_key = \"sk-literal-Z9x8c7v6\"\n";
    let set_up = |scene: &Scene| {
        let home = scene.space.user_home();
        scene
            .space
            .write(home.join("filed.key"), "sk-file-M1n2b3v4c5\n");
        scene.space.write(home.join("other.key"), "other\n");
    };
    let ran = run(
        config,
        &[],
        set_up,
        &[
            "tr a-z A-Z < $HOME/filed.key; true",
            "tr a-z A-Z < $OSTLER_HOME/config.toml; true",
            "tr a-z A-Z < $HOME/other.key",
        ],
    );
    for (told, shown) in ran.told.iter().zip(["SK-FILE", "SK-LITERAL", "OTHER"]) {
        assert_eq!(told.contains(shown), shown == "OTHER", "{told}");
    }
}

/// The suite may run as root; most people do not.
#[test]
fn ordinary_users_have_it_too() {
    const NOBODY: u32 = 65534;
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !is_root {
        return skipped("every other test of this file runs as an ordinary user already");
    }
    let commands = ["echo in > new && cat new", OUT, SECRET];
    let steps = commands
        .map(|command| Step::answer().call("bash", json!({ "command": command })))
        .into_iter()
        .chain([Step::answer().text("ok")]);
    let scene = Scene::with_config(Kind::Chat, "", steps);
    project(&scene);
    let base = scene.space.root().parent().expect("a folder of its own");
    // Where the program lies may be closed to others.
    let program = base.join("ostler");
    let built = env!("CARGO_BIN_EXE_ostler");
    std::fs::hard_link(built, &program)
        .or_else(|_| std::fs::copy(built, &program).map(drop))
        .expect("the program in a folder for all");
    let owned = std::process::Command::new("chown")
        .args(["-R", "65534:65534"])
        .args([scene.space.root(), scene.space.user_home()])
        .arg(base.join("tmp"))
        .status();
    assert!(owned.is_ok_and(|status| status.success()));
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(base, open).expect("the folder opens");
    let run = scene.space.run(&program).user(NOBODY);
    run.args(["exec", "--yolo", "-p", "go"]).output().ok();
    let results = scene.server.request(commands.len()).tool_results();
    let told: Vec<String> = results.into_iter().map(|(_, text, _)| text).collect();
    assert!(told[0].contains("in"), "{told:?}");
    if layer().is_some() {
        assert!(told[1].contains("allow_write"), "{told:?}");
        assert!(told[2].contains("forbid_read"), "{told:?}");
        assert!(!told[2].contains("private"), "{told:?}");
    }
}

/// Names and values that look like secrets stay with the person; `env_pass` lets one through.
#[test]
fn children_get_no_variable_that_looks_like_a_secret() {
    let check = |config: &str, flags: &[&str], expect: &str| {
        let call = Step::answer().call("bash", json!({"command": "env | sort; true"}));
        let scene = Scene::with_config(Kind::Chat, config, [call, Step::answer().text("ok")]);
        scene
            .ostler(["exec", "--yolo", "-p", "go"])
            .args(flags)
            .env("GITHUB_TOKEN", "value-of-token")
            .env("AWS_SECRET_ACCESS_KEY", "value-of-key")
            .env("HARMLESS", "value-of-harmless")
            .env("ODD_NAME", "ghp_value-of-odd")
            .output()
            .ok();
        let told = scene.server.request(1).tool_results()[0].1.clone();
        for name in ["token", "key", "odd", "harmless"] {
            let there = told.contains(&format!("value-of-{name}"));
            assert_eq!(there, expect.contains(name), "{name}: {told}");
        }
        let doctor = scene
            .ostler(["doctor"])
            .env("GITHUB_TOKEN", "value-of-token")
            .output();
        assert!(!doctor.stdout.contains("value-of"), "{}", doctor.stdout);
        let named = doctor.stdout.contains("GITHUB_TOKEN");
        assert_eq!(named, !expect.contains("token"), "{}", doctor.stdout);
    };
    check("", &[], "harmless");
    check("", &["--no-sandbox"], "harmless");
    let pass = "[tools.shell]\nenv_pass = ['GITHUB_TOKEN']\n";
    check(pass, &[], "harmless token");
}
