//! `doctor` on healthy and on broken installations.

use crate::support::*;
use ostler_testkit::{Kind, Server, TempWorkspace};
use serde_json::Value;

/// The report without what depends on the machine.
fn steady(space: &TempWorkspace, text: &str) -> String {
    let machine = ["version", "sandbox", "git", "tmux", "shell", "terminal"];
    let mut hidden = false;
    let mut lines = Vec::new();
    for line in space.clean(text).lines() {
        let topic = line.get(9..20).map(str::trim).unwrap_or_default();
        // More lines of the same finding.
        if topic.is_empty() && hidden {
            continue;
        }
        hidden = machine.contains(&topic);
        lines.push(match hidden {
            true => format!("… {topic}"),
            false => line.to_owned(),
        });
    }
    lines.join("\n")
}

fn report(space: &TempWorkspace, out: &ostler_testkit::Output) -> Vec<(String, String, String)> {
    let report: Value = serde_json::from_str(&out.stdout).unwrap();
    let text = |f: &Value, key: &str| space.clean(f[key].as_str().unwrap_or_default());
    let findings = report["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|f| (text(f, "status"), text(f, "topic"), text(f, "text")))
        .collect()
}

#[test]
fn a_working_installation() {
    let space = TempWorkspace::new();
    let server = Server::start([]);
    space.config(&server, Kind::Chat);
    let out = space.ostler(["doctor"]).output();
    insta::assert_snapshot!(steady(&space, &space.shown(&out)), @"
    exit 0
    … version
    ok       config     keys: HOME/.env (not there)
    ok       config     user: HOME/config.toml
    ok       config     project: ROOT/ostler.toml (not there)
    ok       model      mock/mock-model, key in variable MOCK_KEY
    ok       provider   mock: key in variable MOCK_KEY
    ok       provider   ollama: needs no key
    ok       provider   demo: needs no key
    ok       provider   no key yet: anthropic, openai, gemini, openrouter, deepseek; `ostler setup` saves one
    ok       trust      nothing in this project needs trust
    … sandbox
    ok       env        not given to commands, hooks and MCP servers, because they look like secrets: MOCK_KEY. `[tools.shell] env_pass` allows one
    … git
    … tmux
    … shell
    … terminal
    ok       home       HOME can be written
    ok       sessions   0 sessions, 0 B, in HOME/sessions
    ok       ledger     no requests yet
    No problems.
    ");
    let out = space.ostler(["doctor", "--json"]).output().ok();
    let report: Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(report["ok"], true);
    assert_eq!(server.connections(), 0, "without --online nobody is asked");
}

#[test]
fn the_active_layer_is_named() {
    let space = TempWorkspace::new();
    let sandbox = || {
        let out = space.ostler(["doctor", "--json"]).output();
        let mut found = report(&space, &out).into_iter();
        found.find(|(_, topic, _)| topic == "sandbox").unwrap()
    };
    let (status, _, text) = sandbox();
    match ostler_host::sandbox::probe().layers.first() {
        Some(layer) => {
            assert_eq!(status, "ok");
            assert!(
                text.starts_with(&format!("{} active", layer.name())),
                "{text}"
            );
            assert!(text.contains("no network"), "{text}");
        }
        None => {
            assert_eq!(status, "note");
            assert!(text.contains("commands run with your rights"), "{text}");
        }
    }
    space.write(
        space.home().join("config.toml"),
        "[sandbox]\nbash = 'off'\n",
    );
    assert_eq!(sandbox().2, "off: commands run with your rights");
}

#[test]
fn a_fresh_machine() {
    let space = TempWorkspace::new();
    let out = space.ostler(["doctor"]).output();
    insta::assert_snapshot!(steady(&space, &space.shown(&out)), @"
    exit 1
    … version
    ok       config     keys: HOME/.env (not there)
    ok       config     user: HOME/config.toml (not there)
    ok       config     project: ROOT/ostler.toml (not there)
    problem  model      no model is configured and no provider key was found
                        → run `ostler setup`, or set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, DEEPSEEK_API_KEY
                          or try it without an account: `ostler demo`
    ok       provider   ollama: needs no key
    ok       provider   demo: needs no key
    ok       provider   no key yet: anthropic, openai, gemini, openrouter, deepseek; `ostler setup` saves one
    ok       trust      nothing in this project needs trust
    … sandbox
    ok       env        not given to commands, hooks and MCP servers, because they look like secrets: MOCK_KEY. `[tools.shell] env_pass` allows one
    … git
    … tmux
    … shell
    … terminal
    ok       home       HOME can be written
    ok       sessions   0 sessions, 0 B, in HOME/sessions
    ok       ledger     no requests yet
    1 problem.
    ");
    assert!(!space.home().exists());
}

#[test]
fn a_broken_configuration_is_a_finding() {
    let space = TempWorkspace::new();
    space.write(
        space.home().join("config.toml"),
        "[agent]\nmax_steps = \"many\"\n",
    );
    let out = space
        .ostler(["doctor", "--no-sandbox"])
        .env("ANTHROPIC_API_KEY", "sk-secret")
        .output()
        .exits(1);
    let report: Vec<&str> = out
        .stdout
        .lines()
        .filter(|l| !l.starts_with("ok"))
        .collect();
    insta::assert_snapshot!(space.clean(&report.join("\n")), @r#"
    problem  config     error: `agent.max_steps` must be a whole number, 0 or greater, not a string
                         --> HOME/config.toml:2:13
                          |
                        2 | max_steps = "many"
                          |             ^^^^^^ expected a whole number, 0 or greater
                        → fix it; until then this report uses the defaults instead, and other commands refuse to run
    note     sandbox    off: commands run with your rights
                        → run it in a container or a virtual machine where that matters
    1 problem.
    "#);
    assert!(!out.stdout.contains("sk-secret"), "{out:?}");
}

#[cfg(unix)]
#[test]
fn bad_homes_logs_and_rules_are_findings() {
    let space = TempWorkspace::new();
    space.write("file", "");
    let home = space.root().join("file/home");
    let out = space
        .ostler(["doctor", "--json", "--model", "demo"])
        .env("OSTLER_HOME", &home)
        .output()
        .exits(1);
    let problems: Vec<_> = report(&space, &out)
        .into_iter()
        .filter(|(status, _, _)| status == "problem")
        .collect();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0]
            .2
            .starts_with("ROOT/file/home cannot be written: "),
        "{problems:?}"
    );

    space.write(
        space.home().join("config.toml"),
        "[permissions]\ndeny = [\"Bash(\"]\n[sandbox]\nbash = \"require\"\nnetwrk = true\n",
    );
    space.write(space.home().join("ledger.jsonl"), "nonsense\n");
    let keys = space.write(space.home().join(".env"), "no key here\n");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(keys, open).unwrap();
    let out = space
        .ostler(["doctor", "--json", "--model", "demo", "--no-sandbox"])
        .output()
        .exits(1);
    let rest: Vec<String> = report(&space, &out)
        .into_iter()
        .filter(|(status, _, _)| status != "ok")
        .map(|(status, topic, text)| format!("{status} {topic}: {text}"))
        .collect();
    insta::assert_snapshot!(rest.join("\n"), @"
    note config: HOME/config.toml:5:1: unknown key `sandbox.netwrk`; did you mean `network`?
    note config: HOME/.env:1: this line is not NAME=value; it is ignored
    note config: HOME/.env: can be read by others (mode 644); run: chmod 600 HOME/.env
    problem config: HOME/config.toml:2:9: the rule `Bash(` cannot be read: `)` is missing. Write `Tool`, `Tool(spec)` or `Bash(words:*)`.
    note sandbox: off: commands run with your rights
    note ledger: 1 line of 1 in HOME/ledger.jsonl cannot be read; `ostler usage` leaves them out
    ");
}

#[test]
fn online_asks_who_could_be_used() {
    let space = TempWorkspace::new();
    let server = Server::start([]);
    space.config(&server, Kind::Chat);
    server.route("/v1/models", 401, &[], "");
    let out = space
        .ostler(["doctor", "--json", "--online"])
        .output()
        .exits(1);
    let online = |out: &ostler_testkit::Output| {
        let all = report(&space, out).into_iter();
        all.filter(|(_, topic, text)| topic == "online" && text.starts_with("mock"))
            .map(|(s, _, t)| (s, t))
            .collect::<Vec<_>>()
    };
    assert_eq!(online(&out).len(), 1);
    assert!(
        online(&out)[0]
            .1
            .starts_with("mock: mock refused the key (401)"),
        "{:?}",
        online(&out)
    );
    let server = Server::start([]);
    space.config(&server, Kind::Chat);
    let out = space.ostler(["doctor", "--json", "--online"]).output().ok();
    assert_eq!(
        online(&out),
        [("ok".into(), "mock: answers, 1 model".into())]
    );
}

#[test]
fn configured_servers_are_looked_at_without_being_started() {
    let space = TempWorkspace::new();
    space.write(
        space.home().join("mcp.json"),
        r#"{"mcpServers": {
            "notes": {"command": "sh", "args": ["-c", "touch started"]},
            "gone": {"command": "no-such-program-of-ours"},
            "old": {"type": "sse", "url": "https://example.invalid/sse"},
            "far": {"type": "http", "url": "https://example.invalid/mcp"},
            "off": {"command": "no-such-program-of-ours", "disabled": true}
        }}"#,
    );
    let out = space.ostler(["doctor", "--json"]).output();
    let found = report(&space, &out);
    let servers: Vec<_> = found
        .iter()
        .filter(|(_, topic, _)| topic == "mcp")
        .collect();
    let shown: String = servers
        .iter()
        .map(|(status, _, text)| format!("{status} {text}\n"))
        .collect();
    insta::assert_snapshot!(shown, @r#"
    ok far: https://example.invalid/mcp
    problem gone: the program no-such-program-of-ours is not found
    ok notes: sh -c touch started
    ok off: off
    ok old: https://example.invalid/sse
    "#);
    assert!(!space.root().join("started").exists());
}
