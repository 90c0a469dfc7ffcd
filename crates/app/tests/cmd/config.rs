//! `config`: what is shown, what is changed, what is refused.

use crate::support::*;
use ostler_testkit::TempWorkspace;
use serde_json::Value;

const CONFIG: &str = "\
# mine
default_model = \"mock/m\" # the usual

[agent]
max_steps = 7

[[providers]]
name = \"mock\"
kind = \"openai\"
base_url = \"http://127.0.0.1:9/v1\"
api_key = \"sk-very-secret\"
";

fn configured() -> TempWorkspace {
    let space = TempWorkspace::new();
    space.write(space.home().join("config.toml"), CONFIG);
    space
}

#[test]
fn path_names_the_files() {
    let space = configured();
    let out = space.ostler(["config", "path"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    LAYER    STATE      FILE
    keys     not there  HOME/.env
    user     found      HOME/config.toml
    project  not there  ROOT/ostler.toml
    ");
    let out = space
        .ostler(["config", "path", "--config", "other.toml"])
        .output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    LAYER    STATE      FILE
    keys     not there  HOME/.env
    user     not there  ROOT/other.toml
    project  not there  ROOT/ostler.toml
    ");
}

#[test]
fn init_writes_once() {
    let space = TempWorkspace::new();
    let out = space.ostler(["config", "init"]).output();
    assert_eq!(space.shown(&out), "exit 0\nWrote HOME/config.toml\n");
    let text = space.read(space.home().join("config.toml"));
    assert!(
        text.lines()
            .all(|l| l.is_empty() || l.starts_with(['#', '['])),
        "{text}"
    );
    let out = space.ostler(["config", "init"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 1
    --- stderr
    ostler: error: this configuration file exists already; it was not changed
    --> HOME/config.toml
     = help: edit it, or use `ostler config set KEY VALUE`
    ");
}

#[test]
fn get_prints_values_for_scripts() {
    let space = configured();
    for (key, expect) in [
        ("agent.max_steps", "exit 0\n7\n"),
        ("default_model", "exit 0\nmock/m\n"),
        ("providers.mock.api_key", "exit 0\n********\n"),
        (
            "display",
            "exit 0\ndisplay.color = \"auto\"\ndisplay.show_reasoning = true\ndisplay.show_tokens = true\ndisplay.show_tool_calls = true\n",
        ),
        (
            "agent.max_stebs",
            "exit 2\n--- stderr\nostler: there is no key `agent.max_stebs`; did you mean `agent.max_steps`?\n",
        ),
        (
            "agent..x",
            "exit 2\n--- stderr\nostler: `agent..x` is not a key like `agent.max_steps`\n",
        ),
        (
            "agent.temperature",
            "exit 1\n--- stderr\nostler: `agent.temperature` is not set and has no default\n",
        ),
    ] {
        let out = space.ostler(["config", "get", key]).output();
        assert_eq!(space.shown(&out), expect, "{key}");
    }
}

#[test]
fn set_keeps_comments_and_refuses_nonsense() {
    let space = configured();
    let out = space
        .ostler(["config", "set", "default_model", "demo"])
        .output();
    insta::assert_snapshot!(space.shown(&out), @r#"
    exit 0
    default_model = "demo" (was "mock/m") in HOME/config.toml
    "#);
    let out = space
        .ostler(["config", "set", "agent.effort", "high"])
        .output();
    insta::assert_snapshot!(space.shown(&out), @r#"
    exit 0
    agent.effort = "high" in HOME/config.toml
    "#);
    insta::assert_snapshot!(space.read(space.home().join("config.toml")), @r#"
    # mine
    default_model = "demo" # the usual

    [agent]
    max_steps = 7
    effort = "high"

    [[providers]]
    name = "mock"
    kind = "openai"
    base_url = "http://127.0.0.1:9/v1"
    api_key = "sk-very-secret"
    "#);
    let before = space.read(space.home().join("config.toml"));
    let out = space
        .ostler(["config", "set", "agent.max_steps", "many"])
        .output();
    insta::assert_snapshot!(space.shown(&out), @r#"
    exit 1
    --- stderr
    ostler: error: `agent.max_steps` must be a whole number, 0 or greater, not a string
     --> HOME/config.toml:5:13
      |
    5 | max_steps = "many"
      |             ^^^^^^ expected a whole number, 0 or greater
    "#);
    let out = space
        .ostler(["config", "set", "agent.max_stebs", "3"])
        .output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 1
    --- stderr
    ostler: error: unknown key `agent.max_stebs`; did you mean `max_steps`?
    ");
    assert_eq!(space.read(space.home().join("config.toml")), before);
}

#[test]
fn set_does_not_repeat_secrets() {
    let space = configured();
    let out = space
        .ostler(["config", "set", "providers.mock.api_key", "sk-other"])
        .output();
    assert_eq!(
        space.shown(&out),
        "exit 0\nproviders.mock.api_key is set in HOME/config.toml\n"
    );
    assert!(
        space
            .read(space.home().join("config.toml"))
            .contains("sk-other")
    );
}

#[test]
fn set_in_the_project() {
    let space = TempWorkspace::new();
    let out = space
        .ostler([
            "config",
            "set",
            "--project",
            "tools.bash_timeout_seconds",
            "30",
        ])
        .output();
    assert_eq!(
        space.shown(&out),
        "exit 0\ntools.bash_timeout_seconds = 30 in ostler.toml\n--- stderr\nthis project is not trusted in its current state; `ostler trust` shows what waits for that\n"
    );
    assert_eq!(
        space.read("ostler.toml"),
        "[tools]\nbash_timeout_seconds = 30\n"
    );
    assert!(!space.home().exists());
}

#[test]
fn show_covers_secrets_and_names_origins() {
    let space = configured();
    let out = space
        .ostler(["config", "show", "--origin"])
        .env("OSTLER_AGENT__EFFORT", "low")
        .output()
        .ok();
    let lines: Vec<&str> = out
        .stdout
        .lines()
        .filter(|l| {
            l.starts_with("agent.e")
                || l.starts_with("agent.max_steps")
                || l.starts_with("providers")
                || l.starts_with("sessions")
        })
        .collect();
    insta::assert_snapshot!(space.clean(&lines.join("\n")), @r#"
    agent.effort = "low"  # OSTLER_AGENT__EFFORT
    agent.max_steps = 7  # HOME/config.toml:5:1
    providers.mock.api_key = "********"  # HOME/config.toml:11:1
    providers.mock.base_url = "http://127.0.0.1:9/v1"  # HOME/config.toml:10:1
    providers.mock.kind = "openai"  # HOME/config.toml:9:1
    providers.mock.name = "mock"  # HOME/config.toml:8:1
    sessions.location = "home"  # default
    sessions.quota = "2GB"  # default
    "#);
    let out = space
        .ostler(["config", "show", "--format", "json"])
        .output()
        .ok();
    let values: Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(values["agent.max_steps"], 7);
    let out = space
        .ostler(["config", "show", "--origin", "--format", "json"])
        .output()
        .ok();
    assert!(!out.stdout.contains("very-secret"), "{out:?}");
    let list: Value = serde_json::from_str(&out.stdout).unwrap();
    let steps = list
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["key"] == "agent.max_steps")
        .unwrap();
    assert_eq!(
        space.clean(steps["origin"].as_str().unwrap()),
        "HOME/config.toml:5:1"
    );
}

#[test]
fn schema_is_a_json_schema() {
    let space = TempWorkspace::new();
    let out = space.ostler(["config", "schema"]).output().ok();
    let schema: Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(schema["title"], "Ostler configuration");
    assert!(schema["properties"]["default_model"].is_object());
}

#[test]
fn a_broken_file_can_still_be_looked_at_and_mended() {
    let space = TempWorkspace::new();
    let file = space.home().join("config.toml");
    space.write(
        &file,
        "default_model = \"demo\"\n[agent]\nmax_steps = \"many\"\n",
    );
    space.ostler(["config", "path"]).output().ok();
    let out = space.ostler(["config", "get", "agent.max_steps"]).output();
    insta::assert_snapshot!(space.shown(&out), @r#"
    exit 0
    0
    --- stderr
    error: `agent.max_steps` must be a whole number, 0 or greater, not a string
     --> HOME/config.toml:3:13
      |
    3 | max_steps = "many"
      |             ^^^^^^ expected a whole number, 0 or greater
    Continuing without it.
    "#);
    let out = space.ostler(["config", "init"]).output().exits(1);
    assert!(out.stderr.contains("exists already"), "{out:?}");
    let out = space
        .ostler(["config", "set", "agent.max_steps", "3"])
        .output();
    assert_eq!(
        space.shown(&out),
        "exit 0\nagent.max_steps = 3 (was \"many\") in HOME/config.toml\n"
    );
    let out = space.ostler(["config", "get", "agent.max_steps"]).output();
    assert_eq!(space.shown(&out), "exit 0\n3\n");
}

#[test]
fn a_broken_project_leaves_the_persons_settings() {
    let space = configured();
    space.write("ostler.toml", "[tools\n");
    let out = space
        .ostler(["config", "get", "default_model"])
        .output()
        .ok();
    assert_eq!(out.stdout, "mock/m\n");
    assert!(out.stderr.contains("ostler.toml:1:7"), "{out:?}");
}

#[test]
fn a_home_that_cannot_be_written_is_named() {
    let space = TempWorkspace::new();
    space.write("file", "");
    let home = space.root().join("file/home");
    let out = space
        .ostler(["config", "set", "default_model", "demo"])
        .env("OSTLER_HOME", home)
        .output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 1
    --- stderr
    ostler: error: this configuration file cannot be written: Not a directory (os error 20)
    --> file/home/config.toml
     = help: check the permissions of its directory; nothing was changed
    ");
}
