//! Servers that do not work: `ostler mcp test` says of every one what happened, where, and what to do, in the person's
//! language, and to programs by a code that stays.
#![cfg(unix)]

mod common;

use common::Scene;
use common::shell::script;
use ostler_testkit::Kind;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Map, Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;

/// Runs at once of what waits most of its time.
const AT_ONCE: usize = 4;

/// A server, its code and HTTP status, and what must be said of it in English.
struct Row {
    name: &'static str,
    entry: Value,
    code: &'static str,
    status: Option<u16>,
    words: Vec<String>,
}

fn row(name: &'static str, entry: Value, code: &'static str, words: &[&str]) -> Row {
    Row {
        name,
        entry,
        code,
        status: None,
        words: words.iter().map(|w| (*w).to_owned()).collect(),
    }
}

/// Tests every row, for programs in English and for a person in Chinese.
fn check(more: &str, rows: &[Row]) {
    let scene = Scene::with_config(Kind::Chat, more, []);
    let entries: Map<String, Value> = rows
        .iter()
        .map(|row| (row.name.to_owned(), row.entry.clone()))
        .collect();
    let file = json!({ "mcpServers": entries });
    let place = scene.space.home().join("mcp.json");
    scene.space.write(&place, file.to_string());
    for some in rows
        .chunks(rows.len().div_ceil(AT_ONCE))
        .collect::<Vec<_>>()
        .chunks(AT_ONCE)
    {
        thread::scope(|scope| {
            for part in some {
                scope.spawn(|| part.iter().for_each(|row| check_row(&scene, row)));
            }
        });
    }
}

fn check_row(scene: &Scene, row: &Row) {
    let name = row.name;
    let out = scene
        .ostler(["mcp", "test", name, "--format", "json"])
        .env("OSTLER_LANG", "zh")
        .output();
    assert_eq!(out.code, Some(1), "{name}: {}{}", out.stdout, out.stderr);
    let told: Value = serde_json::from_str(&out.stdout).expect("one object");
    let error = told["error"].as_str().expect("a sentence");
    assert_eq!(told["ok"], false);
    assert_eq!(told["code"], row.code, "{name}: {error}");
    assert_eq!(told["status"], json!(row.status), "{name}: {error}");
    for word in &row.words {
        assert!(error.contains(word), "{name}: {word:?} is not in {error:?}");
    }
    for theirs in ["rmcp", "reqwest", "Transport", "Some("] {
        assert!(!error.contains(theirs), "{name}: {error}");
    }
    let place = told["place"].as_str().expect("a file");
    let out = scene
        .ostler(["mcp", "test", name])
        .env("OSTLER_LANG", "zh")
        .output()
        .exits(1);
    let spoken = &out.stderr;
    let get = format!("ostler mcp get {name}");
    for part in [format!("{name} 不能工作").as_str(), place, &get] {
        assert!(spoken.contains(part), "{name}: {spoken}");
    }
    assert!(!spoken.contains(row.words[0].as_str()), "{name}: {spoken}");
    assert!(!spoken.contains('\u{1b}'), "{name}: {spoken}");
}

#[test]
fn a_program_that_does_not_work_is_explained() {
    let scratch = tempfile::tempdir().expect("a folder");
    let plain = scratch.path().join("plain");
    std::fs::write(&plain, "no program").expect("a file");
    let sh = |text: &str| json!({"command": "sh", "args": ["-c", text]});
    let talking = |cases: &str| {
        let name = format!(
            "{}.sh",
            std::fs::read_dir(scratch.path()).expect("a folder").count()
        );
        let file = scratch.path().join(name);
        std::fs::write(&file, script(cases)).expect("a script");
        json!({"command": "sh", "args": [file]})
    };
    let silent = "it was not ready within 1 s ([tools] mcp_start_seconds)";
    let asks = "does `sh` speak MCP on its stdin and stdout?";
    let old = r#"initialize) answer '{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"a","version":"1"}}';;"#;
    let long = "head -c 100000000 /dev/zero | tr '\\0' x; sleep 60";
    check(
        "\n[tools]\nmcp_start_seconds = 1\n",
        &[
            row(
                "missing",
                json!({"command": "no-such-program"}),
                "program_missing",
                &["was not found", "installed and on PATH?"],
            ),
            row(
                "plain",
                json!({"command": plain}),
                "not_executable",
                &["cannot be run", "chmod +x"],
            ),
            row(
                "folder",
                json!({"command": "sh", "cwd": "/no/such/folder"}),
                "no_folder",
                &["cannot enter", "/no/such/folder", "`cwd` must be"],
            ),
            row(
                "unset",
                json!({"command": "sh", "args": ["${NO_SUCH}"]}),
                "settings",
                &["the variable NO_SUCH is not set", "${NO_SUCH:-"],
            ),
            row(
                "sse",
                json!({"type": "sse", "url": "http://127.0.0.1:1/sse"}),
                "connection_refused",
                &["nothing listens at http://127.0.0.1:1/sse"],
            ),
            row(
                "exits",
                sh("echo 'no licence' >&2; exit 4"),
                "ended",
                &[
                    "it ended before it answered",
                    "exited with code 4",
                    "Its last output:\nno licence",
                ],
            ),
            row(
                "dies",
                talking("initialize) echo boom >&2; exit 3;;"),
                "ended",
                &["it ended before it answered", "exited with code 3", "boom"],
            ),
            row(
                "killed",
                talking("initialize) kill -9 $$;;"),
                "ended",
                &["it ended before it answered", "signal 9"],
            ),
            row(
                "dies-listing",
                talking("tools/list) echo boom >&2; exit 3;;"),
                "ended",
                &["it does not list its tools", "exited with code 3", "boom"],
            ),
            row(
                "logs",
                sh("while :; do echo starting up; sleep 0.2; done"),
                "timeout",
                &[silent, asks, "starting up"],
            ),
            row(
                "mute",
                sh("while read -r line; do :; done"),
                "timeout",
                &[silent, asks],
            ),
            row(
                "garbled",
                sh("while read -r line; do echo '{\"jsonrpc\":\"2.0\", oops'; done"),
                "timeout",
                &[silent, asks, "oops"],
            ),
            row("shut", sh("exec >&-; sleep 60"), "timeout", &[silent, asks]),
            row(
                "mute-listing",
                talking("tools/list) ;;"),
                "timeout",
                &[silent, "it answers, but"],
            ),
            row("long", sh(long), "too_long", &["more than 16 MB"]),
            row(
                "refuses",
                talking("initialize) refuse 'tenant disabled';;"),
                "refused",
                &["it refused the connection", "tenant disabled"],
            ),
            row(
                "odd",
                sh(r#"while read -r line; do echo '{"jsonrpc":"2.0","id":0,"result":[1]}'; done"#),
                "not_mcp",
                &["is it an MCP server"],
            ),
            row(
                "refuses-listing",
                talking("tools/list) refuse 'not now';;"),
                "refused",
                &["it does not list its tools", "not now"],
            ),
            row(
                "odd-listing",
                talking("tools/list) answer '{\"tools\":7}';;"),
                "not_mcp",
                &["it does not list its tools", "is not a result"],
            ),
            row(
                "ancient",
                talking(old),
                "protocol_version",
                &[
                    "no supported revision of the protocol (1999-01-01)",
                    "newer version",
                ],
            ),
        ],
    );
}

#[test]
fn an_address_that_does_not_work_is_explained() {
    let base = address();
    let at = |path: &str| json!({"type": "http", "url": format!("{base}/{path}")});
    let of = |name: &'static str, code, words: &[&str]| {
        let mut row = row(name, at(name), code, words);
        row.words.push(format!("{base}/{name}"));
        row
    };
    let status = |name: &'static str, status: u16, words: &[&str]| Row {
        status: Some(status),
        ..of(name, "http_status", words)
    };
    let plain = |url: &str| json!({"type": "http", "url": url});
    let secure = secure();
    let over_tls = base.replace("http:", "https:");
    check(
        "\n[tools]\nmcp_start_seconds = 2\n",
        &[
            row(
                "nobody",
                plain("http://127.0.0.1:1/mcp"),
                "connection_refused",
                &[
                    "nothing listens at http://127.0.0.1:1/mcp",
                    "is the server running",
                ],
            ),
            row(
                "nowhere",
                plain("http://no-such-host.invalid/mcp"),
                "unknown_host",
                &["is not known (DNS)", "no-such-host.invalid"],
            ),
            row(
                "stranger",
                plain(&secure),
                "tls",
                &[
                    "no secure connection",
                    &secure,
                    "this machine does not know the issuer",
                    "ca_file",
                ],
            ),
            row(
                "no-tls",
                plain(&over_tls),
                "tls",
                &["no secure connection", "its answer is not TLS", "http://"],
            ),
            row(
                "no-url",
                plain("nonsense"),
                "settings",
                &["nonsense is not a URL"],
            ),
            row(
                "reserved",
                json!({"url": format!("{base}/ok"), "headers": {"Accept": "x"}}),
                "settings",
                &["is set by Ostler", "`headers`"],
            ),
            status(
                "401",
                401,
                &[
                    "does not know who you are (HTTP 401)",
                    "`ostler mcp login 401`",
                    "`headers`",
                ],
            ),
            status(
                "401-basic",
                401,
                &["does not know who you are (HTTP 401)", "`headers`"],
            ),
            row(
                "401-oauth",
                at("401-oauth"),
                "login_needed",
                &["it wants you to log in", "`ostler mcp login 401-oauth`"],
            ),
            status("403", 403, &["denied access (HTTP 403)", "`headers`"]),
            row(
                "403-scope",
                at("403-scope"),
                "login_needed",
                &["it wants you to log in", "`ostler mcp login 403-scope`"],
            ),
            status("404", 404, &["there is nothing at", "ends in /mcp"]),
            status("405", 405, &["accepts no messages (HTTP 405)", "/sse"]),
            status("429", 429, &["too many requests", "try again later"]),
            status(
                "418",
                418,
                &["refuses the message (HTTP 418)", "It says: <h1>No"],
            ),
            status(
                "500",
                500,
                &["an internal error (HTTP 500)", "try again later"],
            ),
            of(
                "html",
                "content_type",
                &[
                    "answers with text/html instead of a message",
                    "ends in /mcp",
                ],
            ),
            of(
                "plain",
                "content_type",
                &["answers with text/plain instead of a message"],
            ),
            of(
                "html-as-json",
                "not_mcp",
                &["is not an MCP message", "ends in /mcp"],
            ),
            of("empty", "not_mcp", &["is not an MCP message"]),
            of(
                "moved",
                "redirect",
                &["redirects to http://elsewhere.invalid/mcp", "as `url`"],
            ),
            of("moved-here", "redirect", &["redirects to", "as `url`"]),
            of(
                "hangs-up",
                "closed",
                &["closed the connection before it answered"],
            ),
            of(
                "silent",
                "timeout",
                &["it was not ready within 2 s", "has not answered"],
            ),
            row(
                "refuses",
                at("refuses"),
                "refused",
                &["it refused the connection", "tenant [31mdisabled"],
            ),
            row(
                "ancient",
                at("ancient"),
                "protocol_version",
                &["no supported revision of the protocol (1999-01-01)"],
            ),
            Row {
                status: Some(500),
                ..of(
                    "500-listing",
                    "http_status",
                    &["it does not list its tools", "(HTTP 500)"],
                )
            },
        ],
    );
}

/// An address whose answer is what its path stands for.
fn address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("its address"));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(&stream));
        }
    });
    base
}

fn serve(mut stream: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok()?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let path = first.split_whitespace().nth(1)?.trim_start_matches('/');
    let (head, body) = canned(path, &body)?;
    let length = body.len();
    let reply =
        format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(reply.as_bytes()).ok()
}

/// Status line with headers, and body. None hangs up.
fn canned(path: &str, request: &Value) -> Option<(String, String)> {
    const JSON: &str = "content-type: application/json";
    let page = |status: &str| {
        (
            format!("{status} X\r\ncontent-type: text/html"),
            "<h1>No\u{1b}[0m</h1>".to_owned(),
        )
    };
    let with = |head: &str, body: &str| Some((head.to_owned(), body.to_owned()));
    let id = &request["id"];
    let say = |what: &str, value: Value| {
        let body = json!({"jsonrpc": "2.0", "id": id, what: value});
        Some((format!("200 OK\r\n{JSON}"), body.to_string()))
    };
    let hello = |version: &str| {
        say(
            "result",
            json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "a", "version": "1"}}),
        )
    };
    let method = request["method"].as_str().unwrap_or_default();
    match (path, method) {
        ("401-basic", _) => with("401 X\r\nwww-authenticate: Basic realm=\"a\"", ""),
        ("401-oauth", _) => with(
            "401 X\r\nwww-authenticate: Bearer resource_metadata=\"http://127.0.0.1:1/a\"",
            "",
        ),
        ("403-scope", _) => with(
            "403 X\r\nwww-authenticate: Bearer error=\"insufficient_scope\", scope=\"a\"",
            "",
        ),
        ("html", _) => Some(page("200")),
        ("plain", _) => with("200 OK\r\ncontent-type: text/plain", "hello"),
        ("html-as-json", _) => with(&format!("200 OK\r\n{JSON}"), "<html>"),
        ("empty", _) => with(&format!("200 OK\r\n{JSON}"), "{}"),
        ("moved", _) => with("308 X\r\nlocation: http://elsewhere.invalid/mcp", ""),
        ("moved-here", _) => with("302 X\r\nlocation: /ok", ""),
        ("hangs-up", _) => None,
        ("silent", _) => loop {
            thread::park();
        },
        ("refuses", _) => say(
            "error",
            json!({"code": -32000, "message": "tenant \u{1b}[31mdisabled"}),
        ),
        ("ancient", "initialize") => hello("1999-01-01"),
        (_, "initialize") if path.ends_with("-listing") => hello("2025-11-25"),
        (_, "notifications/initialized") => with("202 Accepted", ""),
        ("500-listing", "tools/list") => Some(page("500")),
        ("ancient" | "500-listing", _) => say("error", json!({"code": -32601, "message": "no"})),
        (status, _) => Some(page(status)),
    }
}

/// An address with a certificate that nobody here knows.
fn secure() -> String {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../llm/src/http/fixtures");
    let certs =
        vec![CertificateDer::from_pem_file(fixtures.join("leaf.pem")).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_file(fixtures.join("leaf.key")).expect("a key");
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(certs, key)
        .expect("a certificate with its key");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let base = format!(
        "https://{}/mcp",
        listener.local_addr().expect("its address")
    );
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let session = ServerConnection::new(config.clone()).expect("a session");
            let mut stream = StreamOwned::new(session, socket);
            // The other end breaks it off.
            let _ = stream.read(&mut [0]);
        }
    });
    base
}
