//! The transport against a tiny server on a thread: what goes over the wire, and what each fault becomes.

mod keys;
mod secure;

use super::{Progress, Proxies, Response, Transport, TransportOptions};
use crate::kinds::{Auth, Kind, Protocol};
use crate::{Chunk, Decoder, Error, Frame, Secret, Target};
use bytes::Bytes;
use ostler_wire::Origin;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const KEY: &str = "sk-very-secret";
const SSE_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

struct Server {
    base_url: String,
    connections: Arc<AtomicUsize>,
    /// What the handler reported.
    said: mpsc::Receiver<String>,
}

struct Conn {
    stream: BufReader<TcpStream>,
    say: mpsc::Sender<String>,
}

impl Server {
    /// Every connection is handed to `serve` on a thread of its own.
    fn new(serve: impl Fn(&mut Conn) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let (say, said) = mpsc::channel();
        let (count, serve) = (connections.clone(), Arc::new(serve));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let (say, serve) = (say.clone(), serve.clone());
                std::thread::spawn(move || {
                    let stream = BufReader::new(stream);
                    serve(&mut Conn { stream, say });
                });
            }
        });
        Self {
            base_url,
            connections,
            said,
        }
    }

    /// Answers each request with the same bytes and keeps the connection.
    fn answering(answer: impl Into<String>) -> Self {
        let answer = answer.into();
        Self::new(move |conn| {
            while conn.request().is_some() {
                conn.send(&answer);
            }
        })
    }

    fn said(&self) -> String {
        self.said.recv_timeout(Duration::from_secs(10)).unwrap()
    }
}

impl Conn {
    /// The head and the body of the next request.
    fn request(&mut self) -> Option<(String, Vec<u8>)> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.stream.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let head = head.to_lowercase();
        let length = head.split("content-length: ").nth(1);
        let length: usize = length.map_or(0, |l| l.lines().next().unwrap().parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        Some((head, body))
    }

    fn send(&mut self, text: &str) {
        _ = self.stream.get_mut().write_all(text.as_bytes());
    }

    fn event(&mut self, data: &str) {
        self.send(&chunked(&format!("data: {data}\n\n")));
    }

    /// Reports when the client has closed the connection.
    fn report_close(&mut self) {
        let mut rest = [0; 16];
        while self.stream.read(&mut rest).is_ok_and(|n| n > 0) {}
        _ = self.say.send("closed".into());
    }
}

fn chunked(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

fn plain(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Data frames become text; `[DONE]` ends the answer.
#[derive(Default)]
struct Words {
    done: bool,
}

impl Decoder for Words {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Vec<Chunk>) -> Result<(), Error> {
        match frame.data {
            "[DONE]" => self.done = true,
            "[FAIL]" => {
                return Err(Error::Fatal {
                    message: format!("told to fail with {KEY}").into(),
                    status: None,
                });
            }
            data => out.push(Chunk::Text(data.to_owned())),
        }
        Ok(())
    }

    fn whole(&mut self, body: &str, out: &mut Vec<Chunk>) -> Result<(), Error> {
        out.push(Chunk::Text(format!("whole {body}")));
        self.done = true;
        Ok(())
    }

    fn end(&mut self, _: &mut Vec<Chunk>) -> Result<(), Error> {
        if self.done {
            return Ok(());
        }
        Err(Error::Retryable {
            message: "cut off".into(),
            status: None,
            after: None,
        })
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

fn kind() -> Kind {
    Kind {
        name: "test".into(),
        protocol: Protocol::Chat,
        path: "/chat".into(),
        whole_path: None,
        auth: Auth::Bearer,
        headers: vec![("x-kind".into(), "yes".into())],
        choice_breaks_cache: false,
    }
}

fn target(base_url: &str) -> Target {
    Target {
        key: Some(Secret::new(KEY).into()),
        headers: vec![("x-mine".into(), "1".into())],
        ..Target::new(
            Origin {
                provider: "acme".into(),
                model: "m-1".into(),
            },
            "test",
            base_url,
        )
    }
}

fn transport() -> Transport {
    Transport::new(TransportOptions {
        ca_files: Vec::new(),
        proxies: Proxies::None,
    })
}

async fn send(transport: &Transport, target: &Target) -> Result<Response, Error> {
    let body = vec![Bytes::from_static(b"{}")];
    let cancel = CancellationToken::new();
    transport.send(target, &kind(), body, &cancel).await
}

/// The text of a whole answer, and how it ended.
async fn read(transport: &Transport, target: &Target) -> (String, Result<(), Error>) {
    let mut response = match send(transport, target).await {
        Ok(response) => response,
        Err(error) => return (String::new(), Err(error)),
    };
    let (mut decoder, mut out) = (Words::default(), Vec::new());
    let result = loop {
        match response.next(&mut decoder, &mut out).await {
            Ok(Progress::More) => {}
            Ok(Progress::Done) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    (texts(&out), result)
}

fn texts(out: &[Chunk]) -> String {
    let texts = out.iter().map(|chunk| match chunk {
        Chunk::Text(text) => text.as_str(),
        other => panic!("unexpected {other:?}"),
    });
    texts.collect::<Vec<_>>().join("|")
}

#[tokio::test]
async fn a_body_of_blocks_goes_out_with_its_length() {
    let server = Server::new(|conn| {
        let (head, body) = conn.request().unwrap();
        conn.say.send(head).unwrap();
        conn.say.send(String::from_utf8(body).unwrap()).unwrap();
        conn.send(&format!("{SSE_HEAD}{}", chunked("data: [DONE]\n\n")));
    });
    let long = "x".repeat(100_000);
    let body = vec![
        Bytes::from("{".to_owned() + &long),
        Bytes::new(),
        Bytes::from_static(b"}"),
    ];
    let transport = transport();
    let cancel = CancellationToken::new();
    let target = target(&server.base_url);
    let sent = transport.send(&target, &kind(), body, &cancel).await;
    assert!(sent.is_ok());
    let head = server.said();
    assert!(head.starts_with("post /v1/chat http/1.1\r\n"), "{head}");
    for line in [
        "content-length: 100002",
        "content-type: application/json",
        &format!("authorization: bearer {KEY}"),
        concat!("user-agent: ostler/", env!("CARGO_PKG_VERSION")),
        "x-kind: yes",
        "x-mine: 1",
    ] {
        assert!(head.lines().any(|l| l == line), "no {line} in {head}");
    }
    for absent in ["transfer-encoding", "accept-encoding", "referer", "expect"] {
        assert!(!head.contains(absent), "{absent} in {head}");
    }
    assert_eq!(server.said(), format!("{{{long}}}"));
    assert!(
        !transport.verifier.is_loaded(),
        "http must not read the trust store"
    );
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = Server::answering(format!(
        "{SSE_HEAD}{}{}0\r\n\r\n",
        chunked("data: a\n\n"),
        chunked("data: [DONE]\n\n")
    ));
    let (transport, target) = (transport(), target(&server.base_url));
    for _ in 0..5 {
        assert_eq!(read(&transport, &target).await, ("a".into(), Ok(())));
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_finished_answer_is_not_waited_for() {
    let server = Server::new(|conn| {
        conn.request();
        conn.send(SSE_HEAD);
        conn.event("a");
        conn.event("[DONE]");
        // The body is never ended.
        conn.report_close();
    });
    let transport = transport();
    let (text, result) = read(&transport, &target(&server.base_url)).await;
    assert_eq!((text.as_str(), result), ("a", Ok(())));
    drop(transport);
    // What is left of the answer is not read for ever.
    tokio::task::spawn_blocking(move || assert_eq!(server.said(), "closed"))
        .await
        .unwrap();
}

#[tokio::test]
async fn what_arrived_together_is_decoded_together() {
    let events: String = (0..50).map(|n| format!("data: {n}\n\n")).collect();
    let server = Server::new(move |conn| {
        conn.request();
        conn.send(&format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}"
        ));
        conn.report_close();
    });
    let mut response = send(&transport(), &target(&server.base_url)).await.unwrap();
    let (mut decoder, mut out) = (Words::default(), Vec::new());
    response.next(&mut decoder, &mut out).await.unwrap();
    assert_eq!(out.len(), 50);
}

#[tokio::test]
async fn each_status_is_a_typed_error() {
    let long = "y".repeat(200_000);
    for (status, headers, body, kind, words) in [
        (
            "401 X",
            "",
            r#"{"error":{"message":"bad key sk-very-secret"}}"#,
            "auth",
            "acme refused the key (401): bad key [redacted]. Check it, or run `ostler setup`",
        ),
        ("403 X", "", "", "auth", "acme refused the key (403)"),
        (
            "404 X",
            "",
            r#"{"error":"no such model"}"#,
            "fatal",
            "model m-1 not found at http://127.0.0.1",
        ),
        ("402 X", "", r#"{"message":"pay"}"#, "fatal", "(402): pay"),
        (
            "429 X",
            "retry-after: 7\r\n",
            r#"{"error":{"message":"slow"}}"#,
            "retryable",
            "acme answered 429: slow",
        ),
        (
            "429 X",
            "",
            r#"{"error":{"code":"insufficient_quota"}}"#,
            "fatal",
            "429",
        ),
        ("408 X", "", "", "retryable", "408"),
        ("409 X", "", "", "retryable", "409"),
        ("500 X", "", "<b>oops</b>", "retryable", "500: <b>oops</b>"),
        (
            "529 X",
            "",
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "retryable",
            "529: Overloaded",
        ),
        (
            "400 X",
            "",
            r#"{"error":{"message":"This model's Maximum Context Length is 8 tokens."}}"#,
            "overflow",
            "does not fit m-1 (400): This model's",
        ),
        ("413 X", "", "", "overflow", "413"),
        (
            "400 X",
            "",
            r#"[{"error":{"message":"API key not valid."}}]"#,
            "auth",
            "(400): API key not valid. Check",
        ),
        (
            "400 X",
            "",
            r#"{"detail":[{"msg":"field required"}]}"#,
            "fatal",
            "(400): field required",
        ),
        (
            "400 X",
            "",
            "{\"error\":{\"message\":\"a\\u001b[31m\\nb\"}}",
            "fatal",
            "(400): a\\u{1b}[31m b",
        ),
        (
            "302 X",
            "location: https://new.example/v1?key=1\r\n",
            "",
            "fatal",
            "redirects to https://new.example/v1. Set the base_url",
        ),
        ("418 X", "", &long, "fatal", "yyy…"),
    ] {
        let server = Server::answering(plain(status, headers, body));
        let (_, result) = read(&transport(), &target(&server.base_url)).await;
        let error = result.unwrap_err();
        assert_eq!(error.kind(), kind, "{status} {error:?}");
        let message = error.to_string();
        assert!(message.contains(words), "{status}: {message}");
        assert!(!message.contains(KEY) && message.len() < 1500, "{message}");
        let after = match error {
            Error::Retryable { after, .. } => after,
            _ => None,
        };
        let asked = headers.contains("retry-after");
        assert_eq!(after, asked.then_some(Duration::from_secs(7)));
    }
}

#[tokio::test]
async fn a_missing_key_is_told_from_a_wrong_one() {
    let server = Server::answering(plain("401 X", "", ""));
    let mut target = target(&server.base_url);
    target.key = None;
    let (_, result) = read(&transport(), &target).await;
    let message = result.unwrap_err().to_string();
    assert!(
        message.contains("wants an API key and none is configured"),
        "{message}"
    );
}

#[tokio::test]
async fn a_body_decides_by_its_looks() {
    let json = r#" {"a":1}"#;
    for (headers, body, expect) in [
        (
            "content-type: application/json\r\n",
            json,
            Ok(r#"whole  {"a":1}"#),
        ),
        ("", json, Ok(r#"whole  {"a":1}"#)),
        ("", "\n\ndata: x\n\ndata: [DONE]\n\n", Ok("x")),
        (
            "content-type: application/json\r\n",
            ": hi\n\ndata: x\n\ndata: [DONE]",
            Ok("x"),
        ),
        (
            "content-type: text/event-stream\r\n",
            "data: x\n\ndata: [DONE]",
            Ok("x"),
        ),
        (
            "content-type: text/html\r\n",
            "<html>\u{1b}hi",
            Err(
                r#"a web page instead of a model's answer: "<html>\u{1b}hi". Check the base_url of acme"#,
            ),
        ),
        ("", "<!doctype html>", Err("\"<!doctype html>\"")),
        (
            "content-type: text/plain\r\n",
            "it works",
            Err("\"it works\""),
        ),
        (
            "",
            "",
            Err("closed the connection before the answer was complete"),
        ),
        (
            "content-type: text/event-stream\r\n",
            "data: {\"half",
            Err("cut off"),
        ),
        (
            "content-type: text/event-stream\r\n",
            "data: [FAIL]\n\n",
            Err("told to fail with [redacted]"),
        ),
    ] {
        let server = Server::answering(plain("200 OK", headers, body));
        let (text, result) = read(&transport(), &target(&server.base_url)).await;
        match (expect, result) {
            (Ok(expect), Ok(())) => assert_eq!(text, expect, "{headers}{body}"),
            (Err(words), Err(error)) => {
                assert!(error.to_string().contains(words), "{body}: {error}");
            }
            (expect, result) => panic!("{body}: {expect:?} {result:?}"),
        }
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_worth_another_try() {
    let server = Server::new(|conn| {
        conn.request();
        conn.send(SSE_HEAD);
        conn.event("first");
        conn.send("ff\r\ndata: half");
    });
    let (text, result) = read(&transport(), &target(&server.base_url)).await;
    let error = result.unwrap_err();
    assert_eq!((text.as_str(), error.kind()), ("first", "retryable"));
    assert!(
        error.to_string().contains("in the middle of the answer"),
        "{error}"
    );

    let server = Server::new(|conn| {
        conn.request();
    });
    let (_, result) = read(&transport(), &target(&server.base_url)).await;
    let error = result.unwrap_err();
    assert_eq!(error.kind(), "retryable");
    assert!(
        error.to_string().contains("before an answer came"),
        "{error}"
    );
}

#[tokio::test]
async fn a_refused_connection_says_so() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let (_, result) = read(&transport(), &target(&format!("http://{address}"))).await;
    let error = result.unwrap_err();
    assert_eq!(error.kind(), "retryable");
    let expect = format!("{address} refused the connection. Is the server running");
    assert!(error.to_string().contains(&expect), "{error}");
}

#[tokio::test]
async fn a_server_without_tls_is_named() {
    let server = Server::new(|conn| {
        conn.send("HTTP/1.1 400 Bad Request\r\n\r\n");
        conn.report_close();
    });
    let url = server.base_url.replace("http://", "https://");
    let (_, result) = read(&transport(), &target(&url)).await;
    let message = result.unwrap_err().to_string();
    assert!(
        message.contains("no secure connection to 127.0.0.1"),
        "{message}"
    );
}

const SHORT: Duration = Duration::from_millis(200);

type Serve = fn(&mut Conn);
type Change = fn(&mut Target);

#[tokio::test]
async fn four_clocks_run_apart() {
    let silent = |conn: &mut Conn| {
        conn.report_close();
    };
    let no_head = |conn: &mut Conn| {
        conn.request();
        conn.report_close();
    };
    let no_token = |conn: &mut Conn| {
        conn.request();
        conn.send(SSE_HEAD);
        while conn
            .stream
            .get_mut()
            .write_all(chunked(": wait\n\n").as_bytes())
            .is_ok()
        {
            std::thread::sleep(SHORT / 8);
        }
        _ = conn.say.send("closed".into());
    };
    let silence = |conn: &mut Conn| {
        conn.request();
        conn.send(SSE_HEAD);
        conn.event("a");
        conn.report_close();
    };
    let cases: [(Serve, Change, &str); 4] = [
        (
            // The connection stands, its handshake does not.
            silent,
            |t| {
                t.timeouts.connect = SHORT;
                t.base_url = t.base_url.replace("http://", "https://");
            },
            "within 0.2 s (connect timeout)",
        ),
        (
            no_head,
            |t| {
                t.timeouts.headers = SHORT;
                t.timeouts.connect = Duration::from_secs(3600);
            },
            "within 0.2 s (headers timeout)",
        ),
        (
            no_token,
            |t| t.timeouts.first_token = SHORT,
            "within 0.2 s (first-token timeout)",
        ),
        (
            silence,
            |t| t.timeouts.idle = SHORT,
            "for 0.2 s (idle timeout)",
        ),
    ];
    for (serve, set, words) in cases {
        let server = Server::new(serve);
        let mut target = target(&server.base_url);
        set(&mut target);
        let (_, result) = read(&transport(), &target).await;
        let error = result.unwrap_err();
        assert_eq!(error.kind(), "retryable");
        assert!(error.to_string().contains(words), "{error}");
        tokio::task::spawn_blocking(move || assert_eq!(server.said(), "closed"))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn comments_are_signs_of_life() {
    let idle = Duration::from_secs(1);
    let server = Server::new(move |conn| {
        conn.request();
        conn.send(SSE_HEAD);
        conn.event("a");
        for _ in 0..12 {
            std::thread::sleep(idle / 10);
            conn.send(&chunked(": wait\n\n"));
        }
        conn.event("b");
        conn.event("[DONE]");
    });
    let mut target = target(&server.base_url);
    target.timeouts.idle = idle;
    assert_eq!(read(&transport(), &target).await, ("a|b".into(), Ok(())));
}

#[tokio::test]
async fn a_whole_answer_may_take_as_long_as_a_first_token() {
    let server = Server::new(|conn| {
        conn.request();
        std::thread::sleep(2 * SHORT);
        conn.send(&plain("200 OK", "content-type: application/json\r\n", "{}"));
    });
    let mut target = target(&server.base_url);
    target.stream = false;
    target.timeouts.headers = SHORT;
    assert_eq!(
        read(&transport(), &target).await,
        ("whole {}".into(), Ok(()))
    );
}

#[tokio::test]
async fn cancelling_closes_the_connection() {
    let before_head = |conn: &mut Conn| {
        conn.request();
        conn.say.send("ready".into()).unwrap();
        conn.report_close();
    };
    let mid_stream = |conn: &mut Conn| {
        conn.request();
        conn.send(SSE_HEAD);
        conn.event("a");
        conn.say.send("ready".into()).unwrap();
        conn.report_close();
    };
    for serve in [before_head, mid_stream] {
        let server = Server::new(serve);
        let (transport, target) = (transport(), target(&server.base_url));
        let cancel = CancellationToken::new();
        let watch = tokio::task::spawn_blocking({
            let cancel = cancel.clone();
            move || {
                assert_eq!(server.said(), "ready");
                cancel.cancel();
                assert_eq!(server.said(), "closed");
            }
        });
        let run = async {
            let mut response = transport
                .send(&target, &kind(), vec![Bytes::from_static(b"{}")], &cancel)
                .await?;
            let (mut decoder, mut out) = (Words::default(), Vec::new());
            while response.next(&mut decoder, &mut out).await? == Progress::More {}
            Ok::<_, Error>(())
        };
        let error = run.await.unwrap_err();
        assert_eq!(error.to_string(), "the request was interrupted");
        watch.await.unwrap();
    }
}

#[tokio::test]
async fn dropping_an_answer_closes_the_connection() {
    let server = Server::new(|conn| {
        conn.request();
        conn.send(SSE_HEAD);
        conn.event("a");
        conn.report_close();
    });
    let transport = transport();
    let response = send(&transport, &target(&server.base_url)).await.unwrap();
    drop(response);
    tokio::task::spawn_blocking(move || assert_eq!(server.said(), "closed"))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_line_of_200_megabytes_is_given_up_early() {
    const MIB: usize = 1024 * 1024;
    for head in [
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"a\":\"",
    ] {
        let server = Server::new(move |conn| {
            conn.request();
            conn.send(head);
            let block = vec![b'x'; MIB];
            let sent = (0..200)
                .take_while(|_| conn.stream.get_mut().write_all(&block).is_ok())
                .count();
            conn.say.send(sent.to_string()).unwrap();
        });
        let (_, result) = read(&transport(), &target(&server.base_url)).await;
        let error = result.unwrap_err();
        assert_eq!(error.kind(), "invalid_response");
        assert!(error.to_string().contains("64 MiB"), "{error}");
        let sent = tokio::task::spawn_blocking(move || server.said());
        let sent: usize = sent.await.unwrap().parse().unwrap();
        assert!((64..100).contains(&sent), "{sent} MiB were taken");
    }
}

#[tokio::test]
async fn settings_that_cannot_be_sent_are_refused_without_showing_the_key() {
    for (set, words) in [
        (
            (|t| t.key = Some(Secret::new("sk-bad\nkey").into())) as fn(&mut Target),
            "`authorization`",
        ),
        (
            |t| t.headers = vec![("bad name".into(), "v".into())],
            "`bad name`",
        ),
        (
            |t| t.base_url = "ftp://u:hidden@host".into(),
            "(ftp://host/) is not an http",
        ),
        (
            |t| t.base_url = "localhost:80?key=hidden".into(),
            "base_url of acme",
        ),
    ] {
        let mut target = target("http://127.0.0.1:1");
        set(&mut target);
        let (_, result) = read(&transport(), &target).await;
        let error = result.unwrap_err();
        assert_eq!(error.kind(), "fatal");
        let message = error.to_string();
        assert!(message.contains(words), "{message}");
        assert!(
            !message.contains("sk-bad") && !message.contains("hidden"),
            "{message}"
        );
    }
}
