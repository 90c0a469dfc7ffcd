//! Every fault, from the client's side.

use super::client::{Client, Response, ask, ask_whole};
use crate::Kind;
use crate::captured::Fate;
use crate::script::{Break, Place, Step, Trouble};
use crate::server::Server;
use serde_json::json;
use std::time::Duration;

fn get(kind: Kind, step: Step) -> (Server, Response) {
    let server = Server::start([step]);
    let response = Client::new(&server).post(kind, &ask(kind, "hello"));
    (server, response)
}

#[test]
fn errors_have_each_vendors_status_and_shape() {
    let table = [
        (Trouble::RateLimit, [429, 429, 429, 429]),
        (Trouble::Quota, [429, 429, 400, 429]),
        (Trouble::Internal, [500, 500, 500, 500]),
        (Trouble::Overloaded, [503, 503, 529, 503]),
        (Trouble::BadKey, [401, 401, 401, 400]),
        (Trouble::NoModel, [404, 404, 404, 404]),
        (Trouble::Overflow, [400, 400, 400, 400]),
        (Trouble::Invalid, [400, 400, 400, 400]),
    ];
    for (trouble, expect) in table {
        let got = Kind::ALL.map(|kind| {
            let (_server, response) = get(kind, Step::refuse(trouble));
            let body = response.json();
            assert!(
                body["error"]["message"].is_string(),
                "{kind:?} {trouble:?}: {body}"
            );
            assert!(
                !body.to_string().contains("{m"),
                "a placeholder is left: {body}"
            );
            response.status
        });
        assert_eq!(got, expect, "{trouble:?}");
    }
}

#[test]
fn refusals_before_the_stream() {
    let (_server, response) = get(Kind::Chat, Step::rate_limited(3));
    assert_eq!(
        (response.status, response.header("retry-after")),
        (429, Some("3"))
    );

    let (_server, response) = get(Kind::Messages, Step::overflow());
    assert_eq!(
        response.json()["error"]["message"],
        "prompt is too long: 212345 tokens > 200000 maximum"
    );

    let (_server, response) = get(Kind::Gemini, Step::html(200));
    assert_eq!(
        response.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert!(response.text().starts_with("<!doctype html>"));

    let (_server, response) = get(Kind::Chat, Step::status(418, "short and stout"));
    assert_eq!(
        (response.status, &response.text()[..]),
        (418, "short and stout")
    );
}

#[test]
fn hanging_up() {
    let server = Server::start([Step::hang_up()]);
    let mut client = Client::new(&server);
    client.send(Kind::Chat, &ask(Kind::Chat, "hello"));
    assert!(client.receive().is_none());
}

/// What of the answer got through, and whether the body ended properly.
fn through(kind: Kind, step: Step) -> (Vec<&'static str>, bool) {
    let (_server, response) = get(kind, step);
    let text = response.text();
    let words = ["hmm", "alpha", "beta", "gamma", "xyzzy", "plugh"];
    let found = words.into_iter().filter(|word| text.contains(*word));
    (found.collect(), response.complete)
}

fn long() -> Step {
    Step::answer()
        .reasoning("hmm")
        .text("alpha beta gamma")
        .call("bash", json!({"command": "xyzzy plugh"}))
        .split_at(&[18])
}

#[test]
fn cuts_fall_where_they_should() {
    let table: [(Place, &[&str]); 6] = [
        (Place::Start, &[]),
        (Place::Reasoning(1), &["hmm"]),
        (Place::Text(0), &["hmm"]),
        (Place::Text(2), &["hmm", "alpha", "beta"]),
        (Place::Call, &["hmm", "alpha", "beta", "gamma", "xyzzy"]),
        (
            Place::Tail,
            &["hmm", "alpha", "beta", "gamma", "xyzzy", "plugh"],
        ),
    ];
    for (place, expect) in table {
        for kind in Kind::ALL {
            let (found, complete) = through(kind, long().cut(place));
            assert!(!complete, "{kind:?} {place:?}");
            // A Gemini call is one frame, so a cut in it may fall before the word.
            let expect = match (kind, place) {
                (Kind::Gemini, Place::Call) => expect.strip_suffix(&["xyzzy"]).unwrap_or(expect),
                _ => expect,
            };
            assert_eq!(found, expect, "{kind:?} {place:?}");
        }
    }
}

#[test]
fn a_place_never_reached_strikes_before_the_end() {
    for kind in Kind::ALL {
        let (found, complete) = through(kind, long().cut(Place::Text(99)));
        assert_eq!((found.len(), complete), (6, false), "{kind:?}");
    }
}

#[test]
fn an_answer_can_end_without_its_end() {
    for kind in Kind::ALL {
        let step = long().broken(Place::Text(2), Break::End);
        assert_eq!(
            through(kind, step),
            (vec!["hmm", "alpha", "beta"], true),
            "{kind:?}"
        );
    }
}

#[test]
fn half_a_frame() {
    for kind in Kind::ALL {
        let (_server, response) = get(kind, long().broken(Place::Text(1), Break::HalfFrame));
        let text = response.text();
        let last = text.rsplit("data: ").next().unwrap_or_default();
        assert!(!response.complete && !last.is_empty(), "{kind:?}");
        let parsed = serde_json::from_str::<serde_json::Value>(last);
        assert!(parsed.is_err_and(|e| e.is_eof()), "{kind:?}: {last}");
    }
}

#[test]
fn a_huge_line() {
    const BYTES: usize = 3 << 20;
    let (_server, response) = get(
        Kind::Chat,
        long().broken(Place::Start, Break::HugeLine(BYTES)),
    );
    assert_eq!(response.body.len(), "data: ".len() + BYTES);
    assert!(!response.complete && !response.body.contains(&b'\n'));
}

#[test]
fn invalid_utf8() {
    for kind in Kind::ALL {
        let (_server, response) = get(kind, Step::answer().text("caf\u{fffd}").invalid_utf8());
        assert!(std::str::from_utf8(&response.body).is_err(), "{kind:?}");
        assert!(
            response.body.windows(4).any(|w| w == b"caf\xff"),
            "{kind:?}"
        );
        assert!(response.complete);
    }
}

#[test]
fn errors_inside_the_stream() {
    let tail = |kind| {
        let step = long().error_at(Place::Text(2), Trouble::Overloaded);
        let (_server, response) = get(kind, step);
        assert!(response.complete);
        let text = response.text();
        let at = text.find("beta").expect("the last delta");
        let frames = text[at..].split_once("\n").expect("more frames").1;
        frames.trim().to_string()
    };
    insta::assert_snapshot!(tail(Kind::Chat), @r#"data: {"error":{"message":"The engine is currently overloaded, please try again later","type":"server_error","param":null,"code":"overloaded"}}"#);
    insta::assert_snapshot!(tail(Kind::Responses), @r#"
    event: error
    data: {"type":"error","sequence_number":12,"error":{"message":"Our servers are currently overloaded. Please try again later.","type":"service_unavailable_error","param":null,"code":"server_is_overloaded"}}

    event: response.failed
    data: {"type":"response.failed","sequence_number":13,"response":{"id":"resp_mock0000","object":"response","status":"failed","model":"mock-model","output":[],"usage":null,"error":{"code":"server_is_overloaded","message":"Our servers are currently overloaded. Please try again later."}}}
    "#);
    insta::assert_snapshot!(tail(Kind::Messages), @r#"
    event: error
    data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_mock"}
    "#);
    insta::assert_snapshot!(tail(Kind::Gemini), @r#"
    {
      "error": {
        "code": 503,
        "message": "The model is overloaded. Please try again later.",
        "status": "UNAVAILABLE"
      }
    }
    "#);
}

#[test]
fn stalls_until_the_client_leaves() {
    let places = [
        Step::stall_headers(),
        long().stall(Place::Start),
        long().stall(Place::Text(2)),
    ];
    for (n, step) in places.into_iter().enumerate() {
        let server = Server::start([step]);
        let mut client = Client::new(&server);
        client.send(Kind::Messages, &ask(Kind::Messages, "hello"));
        if n == 0 {
            server.wait_for(1);
        } else {
            client.receive_head().expect("headers");
        }
        if n == 2 {
            let mut seen = String::new();
            while !seen.contains("beta") {
                seen += &String::from_utf8_lossy(&client.chunk().expect("more"));
            }
        }
        assert_eq!(server.request(0).fate, Fate::Open);
        drop(client);
        server.wait_gone(0);
    }
}

#[test]
fn a_stall_may_show_signs_of_life() {
    let stall = Break::Stall(Some(Duration::from_millis(1)));
    let server = Server::start([long().broken(Place::Start, stall)]);
    let mut client = Client::new(&server);
    client.send(Kind::Chat, &ask(Kind::Chat, "hello"));
    client.receive_head().expect("headers");
    for _ in 0..3 {
        assert_eq!(client.chunk().as_deref(), Some(&b": keep-alive\n\n"[..]));
    }
}

#[test]
fn whole_answers_break_too() {
    let get = |step| {
        let server = Server::start([step]);
        Client::new(&server).post(Kind::Chat, &ask_whole(Kind::Chat, "hello"))
    };
    let response = get(long().cut(Place::Start));
    assert!(response.status == 200 && !response.complete);
    let response = get(long().broken(Place::Start, Break::End));
    assert!(
        response.complete && serde_json::from_slice::<serde_json::Value>(&response.body).is_err()
    );
    let response = get(long().broken(Place::Start, Break::HugeLine(1 << 20)));
    assert_eq!(response.body.len(), 1 << 20);
    assert_eq!(
        get(long().error_at(Place::Start, Trouble::Internal)).status,
        500
    );
}
