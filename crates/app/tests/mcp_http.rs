//! Servers with an address: headers, logins by a browser, and where their tokens lie.
#![cfg(unix)]

mod common;

use common::shell::{call, done, result};
use common::{Scene, files, of_type, wait_for};
use ostler_testkit::{CLIENT_ID, Issuer, Kind, McpServer, Output, Running, browse};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

fn scene(url: &str, more: &str) -> Scene {
    let more = format!("\n[[plugins]]\nname = \"work\"\nurl = \"{url}\"\n{more}\n");
    let steps = [call("mcp__work__headers", json!({})), done()];
    Scene::with_config(Kind::Chat, &more, steps)
}

#[test]
fn headers_are_sent_and_made_by_a_command() {
    let server = McpServer::start("", |_| true);
    let more =
        "headers = { X-Plain = \"a\" }\nheaders_helper = \"echo '{\\\"X-Made\\\": \\\"b c\\\"}'\"";
    let scene = scene(server.url(), more);
    scene.exec("go").ok();
    assert_eq!(result(&scene)["data"]["text"], "x-made=b c x-plain=a");
    for (helper, words) in [
        ("echo no", "a JSON object of strings"),
        ("exit 3", "headers_helper failed"),
    ] {
        let more = format!("headers_helper = \"{helper}\"");
        let scene = self::scene(server.url(), &more);
        let out = scene.ostler(["mcp", "test", "work"]).output().exits(1);
        assert!(out.stderr.contains(words), "{}", out.stderr);
    }
}

fn by_events(url: &str, more: &str) -> Scene {
    scene(url, &format!("type = \"sse\"\n{more}"))
}

#[test]
fn a_server_of_the_old_transport_answers_by_events() {
    let server = McpServer::start("", |_| true);
    let scene = by_events(&server.events_url(), "headers = { X-Plain = \"a\" }");
    scene.exec("go").ok();
    assert_eq!(result(&scene)["data"]["text"], "x-plain=a");
    let requests = server.requests();
    let methods = requests.iter().map(|one| match one.method.as_str() {
        "POST" => one.body["method"].as_str().unwrap_or_default(),
        method => method,
    });
    let methods: Vec<&str> = methods.collect();
    // The old form knows no other greeting.
    let begin = ["GET", "initialize", "notifications/initialized"];
    assert_eq!(methods[..3], begin, "{methods:?}");
}

#[test]
fn a_server_of_the_old_transport_that_starts_anew_is_connected_again() {
    let server = Arc::new(McpServer::start("", |_| true));
    let steps = [
        call("mcp__work__headers", json!({})),
        call(
            "bash",
            json!({"command": "touch waits; while [ -e waits ]; do sleep 0.02; done"}),
        ),
        call("mcp__work__headers", json!({})),
        done(),
    ];
    let url = server.events_url();
    let plugin = format!("\n[[plugins]]\nname = \"work\"\ntype = \"sse\"\nurl = \"{url}\"\n");
    let config =
        format!("{plugin}headers = {{ X-Plain = \"a\" }}\n[permissions]\nheadless = \"allow\"\n");
    let scene = Scene::with_config(Kind::Chat, &config, steps);
    let waits = scene.space.root().join("waits");
    let running = scene.ostler(["exec", "-p", "go"]).spawn();
    wait_for("the first call", || waits.exists().then_some(()));
    server.drop_streams();
    wait_for("the second connection", || {
        let requests = server.requests();
        let greeted = requests
            .iter()
            .filter(|one| one.body["method"] == "tools/list");
        (greeted.count() > 1).then_some(())
    });
    std::fs::remove_file(&waits).expect("a file");
    running.wait().ok();
    let log = scene.log();
    let results = of_type(&log, "tool_result");
    let texts = results
        .iter()
        .map(|result| &result["output"]["data"]["text"]);
    let same = texts.filter(|text| *text == "x-plain=a").count();
    assert_eq!(same, 2, "{log:#?}");
}

#[test]
fn what_is_wrong_with_a_server_of_the_old_transport_is_said() {
    let server = McpServer::start("", |_| true);
    let fails = |url: &str, words: &str| {
        let scene = by_events(url, "");
        let out = scene.ostler(["mcp", "test", "work"]).output().exits(1);
        assert!(out.stderr.contains(words), "{url}: {}", out.stderr);
    };
    // The address of the other form, and one where nothing is.
    fails(server.url(), "accepts no messages (HTTP 405)");
    fails("http://127.0.0.1:1/sse", "nothing listens");
    let other = McpServer::start("", |_| true);
    let scene = scene(&other.events_url(), "");
    let out = scene.ostler(["mcp", "test", "work"]).output().exits(1);
    assert!(out.stderr.contains("`type = \"sse\"`"), "{}", out.stderr);
}

#[test]
fn a_login_holds_for_a_server_of_the_old_transport() {
    let (issuer, server) = guarded();
    let scene = by_events(&server.events_url(), "headers = { X-Plain = \"a\" }");
    let out = scene.ostler(["mcp", "test", "work"]).output().exits(1);
    assert!(
        out.stderr.contains("ostler mcp login work"),
        "{}",
        out.stderr
    );
    log_in(&scene).ok();
    scene.exec("go").ok();
    assert_eq!(result(&scene)["data"]["text"], "x-plain=a");
    assert!(
        issuer.accepts(
            server
                .requests()
                .last()
                .and_then(|one| one.header("authorization"))
        )
    );
}

/// A server that wants a token of this issuer.
fn guarded() -> (Arc<Issuer>, McpServer) {
    let issuer = Arc::new(Issuer::start());
    let asked = issuer.clone();
    let server = McpServer::start(&issuer.url(), move |request| {
        asked.accepts(request.header("authorization"))
    });
    (issuer, server)
}

/// Logs in, with the test as the browser.
#[track_caller]
fn log_in(scene: &Scene) -> Output {
    let login = scene.ostler(["mcp", "login", "work", "--no-browser"]);
    finish(login.spawn())
}

#[track_caller]
fn finish(running: Running) -> Output {
    let shown = running.wait_stderr("code_challenge=");
    let page = shown
        .split_whitespace()
        .find(|word| word.starts_with("http://"));
    browse(page.expect("an address"));
    running.wait()
}

#[test]
fn a_browser_logs_in_and_the_tokens_stay_ours() {
    let (issuer, server) = guarded();
    let scene = scene(server.url(), "");
    let out = scene.ostler(["mcp", "test", "work"]).output().exits(1);
    assert!(
        out.stderr.contains("ostler mcp login work"),
        "{}",
        out.stderr
    );
    let login = log_in(&scene).ok();
    assert!(
        login.stdout.contains("Logged in to work"),
        "{}",
        login.stdout
    );
    let auth = scene.space.home().join("auth.json");
    let mode = std::fs::metadata(&auth).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let kept: Value = serde_json::from_str(&scene.space.read(&auth)).unwrap();
    let token = &kept["servers"][server.url()]["token_response"]["access_token"];
    assert!(
        token.as_str().is_some_and(|t| t.starts_with("access-")),
        "{kept}"
    );
    let tested = scene.ostler(["mcp", "test", "work"]).output().ok();
    scene.exec("go").ok();
    assert_eq!(result(&scene)["data"]["text"], "");
    // Nobody sees a token, and no file but the one has it.
    let outputs = [&login, &tested];
    for secret in issuer.secrets() {
        for out in outputs {
            assert!(!out.stdout.contains(&secret) && !out.stderr.contains(&secret));
        }
        let holders = files(scene.space.home());
        let holders = holders.iter().filter(|path| **path != auth);
        for path in holders {
            let text = std::fs::read(path).unwrap_or_default();
            assert!(
                !String::from_utf8_lossy(&text).contains(&secret),
                "{}",
                path.display()
            );
        }
    }
    scene.ostler(["mcp", "logout", "work"]).output().ok();
    assert!(!scene.space.read(&auth).contains("access-"));
    scene.ostler(["mcp", "test", "work"]).output().exits(1);
}

#[test]
fn a_token_that_ended_is_renewed_by_one_of_many() {
    let (issuer, server) = guarded();
    issuer.life(Some(1));
    let scene = scene(server.url(), "");
    log_in(&scene).ok();
    issuer.life(Some(3600));
    let before = issuer.requests("/token").len();
    std::thread::scope(|scope| {
        let tries: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| scene.ostler(["mcp", "test", "work"]).output().ok()))
            .collect();
        tries.into_iter().for_each(|t| drop(t.join().unwrap()));
    });
    // A refresh token that is used twice would end the login.
    let renewed = issuer.requests("/token").len() - before;
    assert!((1..=3).contains(&renewed), "{renewed}");
    scene.ostler(["mcp", "test", "work"]).output().ok();
}

#[test]
fn a_login_that_fails_says_why() {
    let (issuer, server) = guarded();
    let scene = scene(server.url(), "");
    issuer.hitch("/authorize", ostler_testkit::Hitch::Denied);
    let out = log_in(&scene).exits(1);
    assert!(out.stderr.contains("access_denied"), "{}", out.stderr);
    issuer.hitch("/token", ostler_testkit::Hitch::Error("invalid_grant"));
    let out = log_in(&scene).exits(1);
    assert!(out.stderr.contains("no login to work"), "{}", out.stderr);
    let plain = Scene::with_config(
        Kind::Chat,
        "\n[[plugins]]\nname = \"work\"\ncommand = \"true\"\n",
        [],
    );
    let out = plain.ostler(["mcp", "login", "work"]).output().exits(1);
    assert!(
        out.stderr.contains("only a server with an address"),
        "{}",
        out.stderr
    );
}

#[test]
fn a_client_with_a_secret_logs_in_and_renews() {
    let (issuer, server) = guarded();
    issuer.confidential("whisper-whisper");
    issuer.life(Some(1));
    let scene = Scene::new(Kind::Chat, []);
    let add = scene.ostler(["mcp", "add", "--client-id", CLIENT_ID]);
    let add = add.args(["--client-secret-env", "WORK_SECRET", "work", server.url()]);
    add.output().ok();
    let out = log_in_as(&scene, None).exits(1);
    assert!(
        out.stderr.contains("WORK_SECRET is not set"),
        "{}",
        out.stderr
    );
    let out = log_in_as(&scene, Some("wrong")).exits(1);
    assert!(out.stderr.contains("no login to work"), "{}", out.stderr);
    let login = log_in_as(&scene, Some("whisper-whisper")).ok();
    issuer.life(Some(3600));
    // Renewing needs it again, and no variable.
    let before = issuer.requests("/token").len();
    let tested = scene.ostler(["mcp", "test", "work"]).output().ok();
    assert_eq!(issuer.requests("/token").len(), before + 1);
    scene.ostler(["mcp", "test", "work"]).output().ok();
    let got = scene.ostler(["mcp", "get", "work"]).output().ok();
    assert!(got.stdout.contains("${WORK_SECRET}"), "{}", got.stdout);
    // One file has it, for the person alone.
    let auth = scene.space.home().join("auth.json");
    assert!(scene.space.read(&auth).contains("whisper-whisper"));
    let mode = std::fs::metadata(&auth).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for out in [&login, &tested, &got] {
        assert!(!out.stdout.contains("whisper") && !out.stderr.contains("whisper"));
    }
    let others = files(scene.space.home())
        .into_iter()
        .filter(|path| *path != auth);
    for path in others {
        let text = std::fs::read(&path).unwrap_or_default();
        assert!(
            !String::from_utf8_lossy(&text).contains("whisper"),
            "{}",
            path.display()
        );
    }
    scene.ostler(["mcp", "logout", "work"]).output().ok();
    assert!(!scene.space.read(&auth).contains("whisper"));
}

/// Logs in with a secret in the variable that the configuration names.
#[track_caller]
fn log_in_as(scene: &Scene, secret: Option<&str>) -> Output {
    let login = scene.ostler(["mcp", "login", "work", "--no-browser"]);
    let Some(secret) = secret else {
        return login.output();
    };
    finish(login.env("WORK_SECRET", secret).spawn())
}

#[test]
fn a_server_that_says_only_401_can_be_logged_in_to() {
    let issuer = Arc::new(Issuer::start());
    let asked = issuer.clone();
    let server = McpServer::without_challenge(&issuer.url(), move |request| {
        asked.accepts(request.header("authorization"))
    });
    let scene = scene(server.url(), "");
    let out = scene.ostler(["mcp", "test", "work"]).output().exits(1);
    assert!(
        out.stderr.contains("ostler mcp login work"),
        "{}",
        out.stderr
    );
    log_in(&scene).ok();
    scene.ostler(["mcp", "test", "work"]).output().ok();
}
