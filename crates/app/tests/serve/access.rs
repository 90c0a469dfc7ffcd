//! Who comes in, and what is refused before anything is looked at.

use super::bench::{Bench, TOKEN};
use super::common::Scene;
use super::http::{PATIENCE, head};
use ostler_testkit::{Kind, Step};
use serde_json::json;
use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;

const NONE: [Step; 0] = [];

/// A browser that has logged in: its cookie, and what its page says with each change.
fn browser(bench: &Bench) -> (String, String) {
    let login = bench.bare("POST", "/login").json(&json!({"token": TOKEN}));
    let cookie = login.send().is(204).cookie();
    let me = bench.bare("GET", "/api/me").header("Cookie", &cookie);
    let csrf = me.send().is(200).json()["csrf"]
        .as_str()
        .unwrap()
        .to_owned();
    (cookie, csrf)
}

#[test]
fn a_token_lets_in_by_address_form_json_and_header_and_nothing_else_does() {
    let bench = Bench::new(NONE);
    bench
        .bare("GET", "/api/me")
        .send()
        .refuses(401, "unauthorized");
    bench
        .bare("GET", "/api/me")
        .header("Authorization", "Bearer wrong")
        .send()
        .refuses(401, "unauthorized");
    let me = bench.get("/api/me");
    assert_eq!(me["auth_mode"], "token");
    assert_eq!(me["csrf"], "");
    let by_address = bench
        .bare("GET", &format!("/?token={TOKEN}"))
        .send()
        .is(303);
    assert_eq!(by_address.header("location"), Some("/"));
    assert_eq!(by_address.header("referrer-policy"), Some("no-referrer"));
    let cookie = by_address.header("set-cookie").unwrap().to_owned();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    let by_form = bench.bare("POST", "/login").form(&format!("token={TOKEN}"));
    let by_form = by_form.send().is(303);
    for cookie in [by_address.cookie(), by_form.cookie()] {
        let me = bench.bare("GET", "/api/me").header("Cookie", cookie);
        assert_ne!(me.send().is(200).json()["csrf"], "");
    }
    // The page and the form are for everybody; they hold nothing.
    bench.bare("GET", "/").send().is(200);
    let form = bench.bare("GET", "/login").send().is(200);
    assert!(form.text().contains("<form method=\"post\""));
    let policy = form.header("content-security-policy").unwrap();
    assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
    assert_eq!(form.header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn whoever_guesses_is_stopped_and_the_right_token_is_not() {
    let bench = Bench::new(NONE);
    let guess = || {
        bench
            .bare("POST", "/login")
            .json(&json!({"token": "guess"}))
            .send()
    };
    for _ in 0..5 {
        guess().refuses(401, "unauthorized");
    }
    let stopped = guess();
    assert!(stopped.header("retry-after").is_some());
    stopped.refuses(429, "rate_limited");
    bench.get("/api/me");
}

#[test]
fn a_password_lets_in_and_guesses_are_counted() {
    let scene = Scene::new(Kind::Chat, NONE);
    let hash = scene
        .ostler(["serve", "--hash-password"])
        .stdin("correct horse\n");
    let hash = hash.output().ok().stdout;
    assert!(hash.starts_with("$2"), "{hash}");
    let config = format!(
        "{}[serve]\nauth_mode = 'password'\npassword_hash = '{}'\n",
        scene.space.read(scene.space.home().join("config.toml")),
        hash.trim()
    );
    scene
        .space
        .write(scene.space.home().join("config.toml"), config);
    let bench = Bench::of(scene, &[]);
    let try_with = |password: &str| {
        let login = bench.bare("POST", "/login");
        login.json(&json!({"password": password})).send()
    };
    try_with("wrong").refuses(401, "unauthorized");
    let cookie = try_with("correct horse").is(204).cookie();
    bench
        .bare("GET", "/api/me")
        .header("Cookie", &cookie)
        .send()
        .is(200);
    // The hash itself lets nobody in.
    try_with(hash.trim()).refuses(401, "unauthorized");
    for _ in 0..4 {
        try_with("wrong").refuses(401, "unauthorized");
    }
    try_with("correct horse").refuses(429, "rate_limited");
    // Who is in stays in.
    bench
        .bare("GET", "/api/me")
        .header("Cookie", &cookie)
        .send()
        .is(200);
}

#[test]
fn a_password_that_is_typed_is_not_shown() {
    let scene = Scene::new(Kind::Chat, NONE);
    let mut term = scene
        .ostler(["serve", "--hash-password"])
        .on_terminal(90, 10);
    term.wait_for("Password:");
    term.keys("correct horse\r");
    term.wait_for("$2b$");
    assert!(!term.history().contains("horse"));
    assert!(term.wait().success());
}

#[test]
fn a_name_that_somebody_else_gave_our_address_is_refused() {
    let bench = Bench::new(NONE);
    let port = bench.address.port();
    for host in [
        "evil.test".to_owned(),
        format!("evil.test:{port}"),
        "localhost:1".into(),
    ] {
        let ask = |path: &str| bench.ask("GET", path).header("Host", &host).send();
        ask("/").refuses(403, "forbidden_host");
        ask("/api/me").refuses(403, "forbidden_host");
    }
    bench
        .ask("GET", "/api/me")
        .header("Host", format!("localhost:{port}"))
        .send()
        .is(200);
    // What a proxy would say counts only where there is one.
    let forwarded = bench.ask("GET", "/api/me").header("Host", "evil.test");
    let forwarded = forwarded.header("X-Forwarded-Host", format!("localhost:{port}"));
    forwarded.send().refuses(403, "forbidden_host");
}

#[test]
fn another_page_changes_nothing_and_ours_has_to_say_so() {
    let bench = Bench::new(NONE);
    let (cookie, csrf) = browser(&bench);
    let own = format!("http://{}", bench.address);
    let project = bench.project();
    let post = || {
        let path = format!("/api/projects/{project}/command");
        bench
            .bare("POST", &path)
            .header("Cookie", &cookie)
            .json(&json!({"line": "agents"}))
    };
    let sure = || post().header("X-Ostler-CSRF", &csrf);
    sure().header("Origin", &own).send().is(200);
    sure()
        .header("Sec-Fetch-Site", "same-origin")
        .send()
        .is(200);
    for request in [
        post().header("Origin", &own),
        post()
            .header("Origin", &own)
            .header("X-Ostler-CSRF", "guess"),
        // Not even a page of ours without saying where it is.
        sure(),
        sure().header("Origin", "http://evil.test"),
        sure().header("Origin", "null"),
        sure()
            .header("Origin", &own)
            .header("Sec-Fetch-Site", "cross-site"),
        // Another server on this machine is another page.
        sure().header("Origin", "http://127.0.0.1:1"),
        sure().header("Sec-Fetch-Site", "same-site"),
    ] {
        request.send().refuses(403, "forbidden_origin");
    }
    let form = bench
        .bare("POST", "/login")
        .header("Origin", "http://evil.test");
    form.form(&format!("token={TOKEN}"))
        .send()
        .refuses(403, "forbidden_origin");
    // Logging out ends the login, and what it had open.
    let mut events = bench
        .bare("GET", "/api/events?stream=a-browser")
        .header("Cookie", &cookie)
        .stream();
    let out = bench.bare("POST", "/logout").header("Cookie", &cookie);
    let out = out.header("X-Ostler-CSRF", &csrf).header("Origin", &own);
    out.send().is(204);
    let me = bench.bare("GET", "/api/me").header("Cookie", &cookie);
    me.send().refuses(401, "unauthorized");
    assert_eq!(events.next(), None);
}

#[test]
fn long_answers_are_packed_and_streams_are_not() {
    let bench = Bench::new(NONE);
    let get = |path: &str| {
        bench
            .ask("GET", path)
            .header("Accept-Encoding", "gzip")
            .send()
            .is(200)
    };
    assert_eq!(
        get("/api/openapi.json").header("content-encoding"),
        Some("gzip")
    );
    assert_eq!(get("/api/me").header("content-encoding"), None);
    let page = get("/");
    assert_eq!(page.header("content-encoding"), Some("gzip"));
    let tag = page.header("etag").unwrap().to_owned();
    let same = bench.bare("GET", "/").header("If-None-Match", tag).send();
    assert_eq!((same.status, same.body.len()), (304, 0));
    // An address of the client's own is its page; a file that is missing is not.
    let view = bench
        .bare("GET", "/sessions/abc")
        .header("Accept", "text/html");
    assert_eq!(
        view.send().is(200).text(),
        bench.bare("GET", "/").send().text()
    );
    bench
        .bare("GET", "/assets/gone.js")
        .header("Accept", "text/html")
        .send()
        .refuses(404, "not_found");
    bench
        .ask("GET", "/api/nothing")
        .header("Accept", "text/html")
        .send()
        .refuses(404, "not_found");
    bench
        .ask("PUT", "/api/projects")
        .send()
        .refuses(405, "method_not_allowed");
    let path = "/api/events?stream=a-browser";
    let mut events = bench
        .ask("GET", path)
        .header("Accept-Encoding", "gzip")
        .stream();
    bench.new_session();
    assert_eq!(events.next().unwrap().name, "sessions");
}

#[test]
fn bodies_that_are_too_long_are_refused_before_they_are_read() {
    let bench = Bench::new(NONE);
    let id = bench.new_session();
    for (path, length) in [
        (format!("/api/sessions/{id}/ops"), 100 << 20),
        ("/api/projects".to_owned(), 65 << 10),
    ] {
        let mut stream = TcpStream::connect(bench.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let text = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {length}\r\n\r\n",
            bench.address
        );
        stream.write_all(text.as_bytes()).unwrap();
        let (answer, _) = head(BufReader::new(stream));
        assert_eq!(answer.status, 413);
    }
    // The same without a length: it is cut off soon after the limit.
    let mut stream = TcpStream::connect(bench.address).unwrap();
    let text = format!(
        "POST /api/projects HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\nTransfer-Encoding: chunked\r\n\r\n",
        bench.address
    );
    stream.write_all(text.as_bytes()).unwrap();
    let piece = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let sent = (0..2048).take_while(|_| stream.write_all(piece.as_bytes()).is_ok());
    assert!(sent.count() < 2048);
}

/// Those that never finish their request do not keep others out, and are cut.
#[test]
fn slow_requests_keep_nobody_out() {
    let bench = Bench::new(NONE);
    let mut slow: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(bench.address).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
            stream
        })
        .collect();
    bench.get("/api/me");
    let first = &mut slow[0];
    first.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut rest = Vec::new();
    // It ends: with an answer that says so, or without.
    let _ = first.read_to_end(&mut rest);
    assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"));
}

#[test]
fn nobody_is_served_without_a_login_beyond_this_machine() {
    let scene = Scene::with_config(
        Kind::Chat,
        "[serve]\nauth_mode = 'none'\nbind = '0.0.0.0'\n",
        NONE,
    );
    let out = scene.ostler(["serve", "--port", "0"]).output().exits(2);
    assert!(
        out.stderr
            .contains("Without a login it does not listen on 0.0.0.0"),
        "{}",
        out.stderr
    );
    let scene = Scene::with_config(Kind::Chat, "[serve]\ntoken = 'short'\n", NONE);
    scene.ostler(["serve", "--port", "0"]).output().exits(2);
    let scene = Scene::with_config(Kind::Chat, "[serve]\nauth_mode = 'none'\n", NONE);
    let bench = Bench::of(scene, &[]);
    bench.bare("GET", "/api/me").send().is(200);
    // Not even then for other pages.
    let other = bench
        .bare("POST", "/api/projects")
        .header("Origin", "http://evil.test");
    other
        .json(&json!({"root": "/"}))
        .send()
        .refuses(403, "forbidden_origin");
    let other = bench
        .bare("POST", "/api/projects")
        .header("Origin", format!("http://{}", bench.address));
    other
        .json(&json!({"root": "/"}))
        .send()
        .refuses(403, "forbidden_origin");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let bench = Bench::new(NONE);
    let port = bench.address.port().to_string();
    let run = bench.scene.ostler(["serve", "--port"]).arg(&port);
    let out = run.output().exits(1);
    let said = format!("127.0.0.1:{port} is in use by another program");
    assert!(out.stderr.contains(&said), "{}", out.stderr);
}

#[test]
fn the_token_is_in_no_argument_environment_log_or_error() {
    let mut bench = Bench::new([Step::answer().text("Hello.")]);
    let pid = bench.running.as_ref().unwrap().pid();
    let id = bench.new_session();
    bench.turn(&id, &format!("say {TOKEN}"));
    if cfg!(target_os = "linux") {
        for name in ["cmdline", "environ"] {
            let text = std::fs::read(format!("/proc/{pid}/{name}")).unwrap();
            assert!(!String::from_utf8_lossy(&text).contains(TOKEN), "{name}");
        }
    }
    let log = bench.scene.space.read(bench.scene.log_path());
    assert!(log.contains("say ") && !log.contains(TOKEN));
    let out = bench.stop();
    assert!(!out.stderr.contains(TOKEN), "{}", out.stderr);
}

#[test]
fn a_login_outlives_the_server_unless_its_token_changes() {
    let mut bench = Bench::new([]);
    let path = format!("/?token={TOKEN}");
    let cookie = bench.bare("GET", &path).send().is(303).cookie();
    let other = bench.bare("GET", &path).send().is(303).cookie();
    let csrf = |bench: &Bench, cookie: &str| {
        let me = bench.bare("GET", "/api/me").header("Cookie", cookie);
        me.send().is(200).json()["csrf"].clone()
    };
    let said = csrf(&bench, &cookie);
    bench.stop();
    let kept = bench
        .scene
        .space
        .read(bench.scene.space.home().join("serve-logins.json"));
    for secret in [TOKEN, cookie.split('=').nth(1).unwrap()] {
        assert!(!kept.contains(secret), "{kept}");
    }
    let mut again = Bench::of(bench.scene, &[]);
    assert_eq!(csrf(&again, &cookie), said);
    let leave = again.bare("POST", "/logout").header("Cookie", &other);
    let origin = format!("http://{}", again.address);
    let leave = leave
        .header("Origin", origin)
        .header("X-Ostler-CSRF", csrf(&again, &other).as_str().unwrap());
    leave.send().is(204);
    again.stop();
    let mut third = Bench::of(again.scene, &[]);
    csrf(&third, &cookie);
    let gone = third.bare("GET", "/api/me").header("Cookie", &other);
    gone.send().refuses(401, "unauthorized");
    third.stop();
    let config = third.scene.space.home().join("config.toml");
    let text = third.scene.space.read(&config);
    third.scene.space.write(
        &config,
        text.replace(TOKEN, "another-token-for-these-tests"),
    );
    let changed = Bench::of(third.scene, &[]);
    let gone = changed.bare("GET", "/api/me").header("Cookie", &cookie);
    gone.send().refuses(401, "unauthorized");
}

#[test]
fn the_form_of_the_login_says_where_it_comes_from() {
    let bench = Bench::new([]);
    // A browser sends `Origin: null` from a page that names no referrer.
    for path in ["/login", "/?token=wrong"] {
        let form = bench.bare("GET", path).send();
        assert_eq!(
            form.header("referrer-policy"),
            Some("same-origin"),
            "{path}"
        );
    }
    let null = bench.bare("POST", "/login").header("Origin", "null");
    null.form(&format!("token={TOKEN}"))
        .send()
        .refuses(403, "forbidden_origin");
}

#[test]
fn the_usual_token_is_new_at_each_start() {
    let tokens: Vec<String> = (0..2)
        .map(|_| {
            let scene = Scene::new(Kind::Chat, NONE);
            let mut bench = Bench::of(scene, &[]);
            let line = bench.stop().stdout;
            let (_, token) = line.trim().split_once("token=").unwrap();
            token.to_owned()
        })
        .collect();
    assert_ne!(tokens[0], tokens[1]);
    assert_eq!(tokens[0].len(), 64);
}
