//! `setup` without a terminal, against servers that answer and servers that do not.

use crate::support::*;
use ostler_testkit::{Kind, Server, Step, TempWorkspace};

fn server(key: &str) -> Server {
    Server::builder()
        .answering(|_| Step::answer().text("Hello."))
        .require_key(key)
        .models(["mock-large", "mock-small"])
        .start()
}

fn shown(space: &TempWorkspace, server: &Server, out: &ostler_testkit::Output) -> String {
    space
        .shown(out)
        .replace(&server.url(), "URL")
        .replace(&server.addr().to_string(), "ADDR")
}

#[test]
fn a_new_server_by_flags_then_it_works() {
    let space = TempWorkspace::new();
    let server = server("sk-1234");
    let url = server.base_url_for(Kind::Chat);
    let run = space.ostler([
        "setup",
        "--use",
        "shop",
        "--base-url",
        &url,
        "--key",
        "-",
        "--model",
        "mock-small",
    ]);
    let out = run.stdin("sk-1234\n").output();
    insta::assert_snapshot!(shown(&space, &server, &out), @r#"
    exit 0
    Saved the key as SHOP_API_KEY in HOME/.env
    Wrote providers.shop.kind = "openai" to HOME/config.toml
    Wrote providers.shop.base_url = "URL/v1" to HOME/config.toml
    Wrote providers.shop.api_key_env = "SHOP_API_KEY" to HOME/config.toml
    Wrote providers.shop.models = ["mock-small", "mock-large"] to HOME/config.toml
    Wrote default_model = "shop/mock-small" to HOME/config.toml
    Next: ostler exec -p "explain this project"
    --- stderr
    shop answers and has 2 models.
    "#);
    assert_eq!(
        space.read(space.home().join(".env")),
        "SHOP_API_KEY=sk-1234\n"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(space.home().join(".env"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let config = space.read(space.home().join("config.toml"));
    assert!(config.starts_with("# Ostler's configuration."), "{config}");
    let set: Vec<&str> = config
        .lines()
        .filter(|l| !l.starts_with('#') && !l.is_empty())
        .collect();
    insta::assert_snapshot!(set.join("\n").replace(&server.url(), "URL"), @r#"
    default_model = "shop/mock-small"
    [agent]
    [tools]
    [permissions]
    [display]
    [[providers]]
    name = "shop"
    kind = "openai"
    base_url = "URL/v1"
    api_key_env = "SHOP_API_KEY"
    models = ["mock-small", "mock-large"]
    "#);
    let out = space.ostler(["exec", "-p", "hi"]).output().ok();
    assert_eq!(out.stdout, "Hello.\n");
    assert_eq!(server.request(0).body["model"], "mock-small");
}

#[test]
fn every_protocol_lists_its_models() {
    for kind in Kind::ALL {
        let space = TempWorkspace::new();
        let server = server("sk-1234");
        let url = server.base_url_for(kind);
        let args = [
            "setup",
            "--use",
            "shop",
            "--kind",
            kind.config_name(),
            "--base-url",
            &url,
            "--key",
            "sk-1234",
        ];
        let out = space.ostler(args).output().ok();
        assert!(
            out.stderr.contains("shop answers and has 2 models."),
            "{kind:?} {out:?}"
        );
        let out = space.ostler(["exec", "-p", "hi"]).output().ok();
        assert_eq!(out.stdout, "Hello.\n", "{kind:?}");
        let asked = server.other_requests();
        assert!(asked.iter().all(|r| r.method == "GET"), "{kind:?}");
        let has_key = |r: &ostler_testkit::Captured| {
            r.headers
                .iter()
                .any(|(_, value)| value.ends_with("sk-1234"))
        };
        assert!(!asked.is_empty() && asked.iter().all(has_key), "{kind:?}");
    }
}

#[test]
fn a_configured_provider_keeps_its_file() {
    let space = TempWorkspace::new();
    let server = server(ostler_testkit::KEY);
    let config = format!(
        "# mine\n{}",
        ostler_testkit::config_text(&server, Kind::Chat).replace("mock/mock-model", "demo")
    );
    space.write(space.home().join("config.toml"), &config);
    let out = space
        .ostler(["setup", "--use", "mock", "--model", "mock-large"])
        .output();
    insta::assert_snapshot!(shown(&space, &server, &out), @r#"
    exit 0
    Wrote default_model = "mock/mock-large" to HOME/config.toml
    Next: ostler exec -p "explain this project"
    --- stderr
    mock answers and has 2 models.
    "#);
    let expect = config.replace(
        "default_model = \"demo\"",
        "default_model = \"mock/mock-large\"",
    );
    assert_eq!(space.read(space.home().join("config.toml")), expect);
    assert!(
        !space.home().join(".env").exists(),
        "the key is in the environment already"
    );
}

#[test]
fn nothing_is_written_when_the_test_fails() {
    let space = TempWorkspace::new();
    let server = server("sk-right");
    let url = server.base_url_for(Kind::Chat);
    server.route(
        "/v1/models",
        401,
        &[],
        "{\"error\":{\"message\":\"Incorrect key sk-wrong\"}}",
    );
    let out = space
        .ostler(["setup", "--base-url", &url, "--key", "sk-wrong"])
        .output();
    insta::assert_snapshot!(shown(&space, &server, &out), @"
    exit 1
    --- stderr
    ostler: custom refused the key (401): Incorrect key ***. Check that it is whole and not expired
    Nothing was written; `--offline` skips the test
    ");
    let out = space.ostler(["setup", "--base-url", &url]).output();
    insta::assert_snapshot!(shown(&space, &server, &out), @"
    exit 1
    --- stderr
    ostler: custom needs an API key (401): Incorrect key sk-wrong
    Nothing was written; `--offline` skips the test
    ");
    server.route(
        "/v1/models",
        200,
        &[("content-type", "text/html")],
        "<html>Sign in</html>",
    );
    let out = space.ostler(["setup", "--base-url", &url]).output();
    insta::assert_snapshot!(shown(&space, &server, &out), @"
    exit 1
    --- stderr
    ostler: ADDR answered with something that is not JSON. Check the base URL of custom
    Nothing was written; `--offline` skips the test
    ");
    server.route(
        "/v1/models",
        503,
        &[],
        "{\"error\":{\"message\":\"overloaded\"}}",
    );
    let out = space.ostler(["setup", "--base-url", &url]).output();
    insta::assert_snapshot!(shown(&space, &server, &out), @"
    exit 1
    --- stderr
    ostler: custom answered 503: overloaded. Try again later
    Nothing was written; `--offline` skips the test
    ");
    drop(server);
    let out = space
        .ostler(["setup", "--base-url", &url, "--model", "m"])
        .output()
        .exits(1);
    assert!(
        out.stderr
            .contains("refused the connection. Is the server running"),
        "{out:?}"
    );
    assert!(!space.home().exists());
    let out = space
        .ostler(["setup", "--base-url", &url, "--model", "m", "--offline"])
        .output()
        .ok();
    assert!(
        out.stdout.contains("default_model = \"custom/m\""),
        "{out:?}"
    );
}

#[test]
fn a_server_without_a_list_needs_a_model() {
    let space = TempWorkspace::new();
    let server = server("sk-right");
    server.route("/v1/models", 404, &[], "");
    let url = server.base_url_for(Kind::Chat);
    let out = space.ostler(["setup", "--base-url", &url]).output();
    insta::assert_snapshot!(shown(&space, &server, &out), @"
    exit 2
    --- stderr
    custom answers, but lists no models.
    ostler: which model of custom? Name one with --model
    ");
    let out = space
        .ostler(["setup", "--base-url", &url, "--model", "m"])
        .output()
        .ok();
    assert!(
        out.stdout.contains("Wrote default_model = \"custom/m\""),
        "{out:?}"
    );
}

#[test]
fn wrong_flags_are_named() {
    let space = TempWorkspace::new();
    for (args, expect) in [
        (
            ["--use", "antropic"],
            "no provider is called `antropic`; did you mean `anthropic`?\nproviders: anthropic, openai, gemini, openrouter, deepseek, ollama, demo; a new one needs its --base-url",
        ),
        (
            ["--base-url", "localhost:80"],
            "--base-url localhost:80: a base URL must start with http:// or https:// and name a host",
        ),
        (["--base-url", ""], "--base-url is empty"),
        (
            ["--use", "anthropic"],
            "there is no key for anthropic\nset ANTHROPIC_API_KEY, or pipe the key into `ostler setup --use anthropic --key -`",
        ),
    ] {
        let out = space.ostler(["setup"]).args(args).output();
        assert_eq!(out.stderr, format!("ostler: {expect}\n"), "{args:?}");
        assert_ne!(out.code, Some(0));
    }
    let out = space
        .ostler([
            "setup",
            "--base-url",
            "http://127.0.0.1:9",
            "--kind",
            "antropic",
        ])
        .output()
        .exits(2);
    assert!(out.stderr.contains("did you mean `anthropic`?"), "{out:?}");
    let out = space
        .ostler(["setup", "--use", "anthropic", "--key", "-"])
        .output()
        .exits(2);
    assert_eq!(out.stderr, "ostler: the key is empty\n");
    assert!(!space.home().exists());
}

#[test]
fn a_project_cannot_have_a_key_sent_elsewhere() {
    let space = TempWorkspace::new();
    let server = server("sk-1234");
    let base = server.url();
    space.write(
        "ostler.toml",
        format!("[[providers]]\nname = \"anthropic\"\nbase_url = \"{base}\"\n"),
    );
    let run = space
        .ostler(["setup", "--use", "anthropic"])
        .env("ANTHROPIC_API_KEY", "sk-1234");
    // Whatever would leave the machine ends at a closed port.
    let run = run
        .env("HTTPS_PROXY", "http://127.0.0.1:1")
        .env("NO_PROXY", "127.0.0.1");
    run.output().exits(1);
    assert!(server.other_requests().is_empty() && server.requests().is_empty());
}

#[test]
fn several_keys_need_a_choice() {
    let space = TempWorkspace::new();
    let run = space.ostler(["setup"]).env("ANTHROPIC_API_KEY", "sk-1");
    let out = run.env("OPENAI_API_KEY", "sk-2").output().exits(2);
    assert!(
        out.stderr
            .starts_with("ostler: several can be used: anthropic, openai"),
        "{out:?}"
    );
    assert!(out.stderr.ends_with("; choose one with --use\n"), "{out:?}");
    assert!(!space.home().exists());
}

#[test]
fn a_model_names_its_provider() {
    let space = TempWorkspace::new();
    let run = space.ostler([
        "setup",
        "--model",
        "deepseek-flash",
        "--key",
        "sk-1",
        "--offline",
    ]);
    let out = run.output().ok();
    assert!(
        out.stdout
            .contains("default_model = \"deepseek/deepseek-flash\""),
        "{out:?}"
    );
}

#[test]
fn what_stands_above_is_said() {
    let space = TempWorkspace::new();
    let server = server("sk-1234");
    let url = server.base_url_for(Kind::Chat);
    let run = space
        .ostler(["setup", "--base-url", &url, "--key", "sk-1234"])
        .env("OSTLER_MODEL", "demo");
    let out = run.output().ok();
    assert!(
        out.stderr
            .ends_with("In this folder OSTLER_MODEL sets `demo` instead.\n"),
        "{out:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_person_chooses_by_numbers() {
    let space = TempWorkspace::new();
    let server = server(ostler_testkit::KEY);
    let config =
        ostler_testkit::config_text(&server, Kind::Chat).replace("model = \"mock-model\"\n", "");
    space.write(
        space.home().join("config.toml"),
        config.replace("default_model = \"mock/mock-model\"\n", ""),
    );
    let (text, code) = on_terminal(
        &space,
        ["setup", "--plain"],
        &[
            ("Which provider? [1]", "mock"),
            ("Which model? [1]", "9"),
            ("Which model? [1]", "2"),
        ],
    );
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("   1  mock         key in variable MOCK_KEY\n"),
        "{text}"
    );
    assert!(text.contains("   2  mock-small\n"), "{text}");
    assert!(text.contains("There is no 9; choose 1 to 2.\n"), "{text}");
    assert!(
        text.contains("Wrote default_model = \"mock/mock-small\""),
        "{text}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_person_may_leave() {
    let space = TempWorkspace::new();
    let (text, code) = on_terminal(
        &space,
        ["setup", "--use", "anthropic", "--plain"],
        &[("Key for anthropic: ", "")],
    );
    assert_eq!(code, Some(1), "{text}");
    assert!(text.ends_with("Nothing was written.\n"), "{text}");
    assert!(!space.home().exists());
}
