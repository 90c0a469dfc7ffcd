//! What holds around the answers: scripts, captured requests, caching, routes, validity.

use super::client::{Client, ask, ask_whole};
use crate::Kind;
use crate::captured::Fate;
use crate::script::Step;
use crate::server::Server;
use serde_json::{Value, json};

#[test]
fn steps_go_out_in_order_over_one_connection() {
    let server = Server::start([Step::answer().text("one"), Step::answer().text("two")]);
    let mut client = Client::new(&server);
    let first = client.post(Kind::Chat, &ask(Kind::Chat, "a")).text();
    server.push(Step::answer().text("three"));
    let second = client
        .post(Kind::Messages, &ask(Kind::Messages, "b"))
        .text();
    let third = client.post(Kind::Gemini, &ask(Kind::Gemini, "c")).text();
    assert!(first.contains("one") && second.contains("two") && third.contains("three"));
    let requests = server.wait_for(3);
    let said: Vec<_> = requests.iter().map(|r| r.last_user_text()).collect();
    assert_eq!(said, ["a", "b", "c"]);
    assert_eq!(requests[0].header("authorization"), Some("Bearer mock-key"));
    assert_eq!(server.connections(), 1);
    server.wait_until("the last to be sent", |all| {
        matches!(all[2].fate, Fate::Sent(_))
    });
    server.assert_done();
}

#[test]
fn a_closure_chooses_by_request() {
    let server = Server::answering(|request| match request.tool_results().len() {
        0 => Step::answer().call("bash", json!({})),
        n => Step::answer().text(&format!("{n} results")),
    });
    let mut client = Client::new(&server);
    let mut body = ask(Kind::Chat, "hello");
    assert!(
        client
            .post(Kind::Chat, &body)
            .text()
            .contains("call_mock0000x1")
    );
    let call = json!({"id": "call_mock0000x1", "type": "function",
        "function": {"name": "bash", "arguments": "{}"}});
    let messages = body["messages"].as_array_mut().expect("messages");
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
    messages.push(json!({"role": "tool", "tool_call_id": "call_mock0000x1", "content": "ok"}));
    assert!(client.post(Kind::Chat, &body).text().contains("\"1 \""));
}

#[test]
fn invalid_requests_are_refused_and_remembered() {
    let server = Server::start([Step::answer().text("after all")]);
    let mut client = Client::new(&server);
    let mut body = ask(Kind::Messages, "hello");
    body["max_tokens"] = Value::Null;
    let response = client.post(Kind::Messages, &body);
    assert_eq!(response.status, 400);
    assert_eq!(
        response.json()["error"]["message"],
        "max_tokens: Field required"
    );
    let expect = ["request 0 (messages) is invalid: max_tokens: Field required"];
    assert_eq!(server.problems(), expect);
    assert_eq!(server.forgive(), expect);
    // The step is still there.
    let response = client.post(Kind::Messages, &ask(Kind::Messages, "hello"));
    assert!(response.text().contains("after "));
}

#[test]
#[should_panic(expected = "mock server: testkit: the script has no step for request 0")]
fn an_unscripted_request_fails_the_test() {
    let server = Server::start([]);
    let response = Client::new(&server).post(Kind::Chat, &ask(Kind::Chat, "hello"));
    assert_eq!(response.status, 400);
}

#[test]
#[should_panic(expected = "mock server: testkit: choosing the step for request 0 panicked")]
fn a_panicking_closure_fails_the_test() {
    let server = Server::answering(|_| panic!("no such step"));
    Client::new(&server).post(Kind::Chat, &ask(Kind::Chat, "hello"));
}

#[test]
#[should_panic(expected = "1 steps were never asked for")]
fn leftover_steps_show() {
    Server::start([Step::answer()]).assert_done();
}

#[test]
fn lenient_servers_take_anything() {
    let server = Server::builder()
        .steps([Step::answer().text("fine")])
        .lenient()
        .start();
    let response = Client::new(&server).post(Kind::Messages, &json!({"stream": true}));
    assert_eq!(response.status, 200);
}

#[test]
fn keys_are_checked_on_demand() {
    let server = Server::builder()
        .steps([Step::answer()])
        .require_key("mock-key")
        .start();
    let response = Client::new(&server).post(Kind::Chat, &ask(Kind::Chat, "hello"));
    assert_eq!(response.status, 200);
    for (kind, status) in Kind::ALL.into_iter().zip([401, 401, 401, 400]) {
        let server = Server::builder().require_key("other").start();
        let response = Client::new(&server).post(kind, &ask(kind, "hello"));
        assert_eq!(response.status, status, "{kind:?}");
    }
}

/// Input, cached and written tokens of the second of two requests that share a beginning.
fn second_usage(kind: Kind, builder: crate::server::Builder) -> (u64, u64, u64) {
    let server = builder.steps([Step::answer(), Step::answer()]).start();
    let mut client = Client::new(&server);
    let mut body = ask_whole(kind, &"long ".repeat(400));
    client.post(kind, &body);
    let turns = match kind {
        Kind::Chat | Kind::Messages => "messages",
        Kind::Responses => "input",
        Kind::Gemini => "contents",
    };
    let more = ask(kind, &"more ".repeat(80))[turns][0].clone();
    body[turns].as_array_mut().expect("turns").push(more);
    let answer = client.post(kind, &body).json();
    let usage = &answer["usage"];
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    match kind {
        Kind::Chat => {
            let cached = &usage["prompt_tokens_details"]["cached_tokens"];
            (count(&usage["prompt_tokens"]), count(cached), 0)
        }
        Kind::Responses => {
            let cached = &usage["input_tokens_details"]["cached_tokens"];
            (count(&usage["input_tokens"]), count(cached), 0)
        }
        Kind::Messages => (
            count(&usage["input_tokens"]),
            count(&usage["cache_read_input_tokens"]),
            count(&usage["cache_creation_input_tokens"]),
        ),
        Kind::Gemini => {
            let usage = &answer["usageMetadata"];
            let cached = &usage["cachedContentTokenCount"];
            (count(&usage["promptTokenCount"]), count(cached), 0)
        }
    }
}

#[test]
fn a_shared_prefix_counts_as_cached() {
    for kind in Kind::ALL {
        let (input, cached, written) = second_usage(kind, Server::builder());
        let whole = match kind {
            Kind::Messages => input + cached + written,
            Kind::Chat | Kind::Responses | Kind::Gemini => input,
        };
        assert!((500..530).contains(&cached), "{kind:?}: {cached}");
        assert!((600..660).contains(&whole), "{kind:?}: {whole}");
        let (input, cached, _) = second_usage(kind, Server::builder().without_cache());
        assert!(
            cached == 0 && (600..660).contains(&input),
            "{kind:?}: {input}"
        );
    }
}

#[test]
fn nothing_is_cached_for_messages_without_marks() {
    let server = Server::start([Step::answer(), Step::answer()]);
    let mut client = Client::new(&server);
    let body = json!({"model": "m", "max_tokens": 9,
        "messages": [{"role": "user", "content": "long ".repeat(400)}]});
    client.post(Kind::Messages, &body);
    let usage = client.post(Kind::Messages, &body).json()["usage"].clone();
    assert_eq!(usage["cache_read_input_tokens"], 0);
    assert_eq!(usage["cache_creation_input_tokens"], 0);
}

#[test]
fn old_bodies_go_but_times_stay() {
    let server = Server::builder()
        .answering(|_| Step::answer())
        .keep_bodies(1)
        .start();
    let mut client = Client::new(&server);
    for text in ["a", "b", "c"] {
        client.post(Kind::Chat, &ask(Kind::Chat, text));
    }
    let requests = server.requests();
    let kept: Vec<_> = requests.iter().map(|r| !r.raw.is_empty()).collect();
    assert_eq!(kept, [false, false, true]);
    assert!(requests[0].at < requests[1].at);
}

#[test]
fn model_lists_and_routes() {
    let server = Server::builder().models(["a", "b"]).start();
    server.route(
        "/page",
        200,
        &[("content-type", "text/html")],
        "<h1>Hi</h1>",
    );
    server.route("/old", 302, &[("location", "/page")], "");
    server.route("/find?q=1", 200, &[], "one");
    let mut client = Client::new(&server);
    let page = client.get("/page?x=1");
    assert_eq!(page.header("content-type"), Some("text/html"));
    assert_eq!((page.status, &page.text()[..]), (200, "<h1>Hi</h1>"));
    let moved = client.get("/old");
    assert_eq!(
        (moved.status, moved.header("location")),
        (302, Some("/page"))
    );
    assert_eq!(client.get("/find?q=1").text(), "one");
    assert_eq!(client.get("/find?q=2").status, 404);
    // The test client says it speaks Messages, so that is the list it gets.
    assert_eq!(client.get("/v1/models").json()["data"][1]["id"], "b");
    assert_eq!(
        client.get("/v1beta/models").json()["models"][0]["name"],
        "models/a"
    );
    let paths: Vec<_> = server
        .other_requests()
        .into_iter()
        .map(|r| r.path)
        .collect();
    assert_eq!(paths.len(), 6);
    assert!(server.requests().is_empty());
}

#[test]
fn bodies_may_come_in_chunks() {
    let server = Server::start([Step::answer().text("got it")]);
    let mut client = Client::new(&server);
    let body = ask(Kind::Chat, "chunked").to_string();
    let (a, b) = body.split_at(20);
    let chunks = format!(
        "{:x}\r\n{a}\r\n{:x};x=y\r\n{b}\r\n0\r\n\r\n",
        a.len(),
        b.len()
    );
    client.raw(&format!(
        "POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"
    ));
    let response = client.receive().expect("a response");
    assert_eq!(response.status, 200);
    assert_eq!(server.request(0).last_user_text(), "chunked");
}

#[test]
fn garbage_only_ends_its_connection() {
    let server = Server::start([Step::answer().text("still here")]);
    let mut client = Client::new(&server);
    client.raw("POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
    assert!(client.receive().is_none());
    let response = Client::new(&server).post(Kind::Chat, &ask(Kind::Chat, "hello"));
    assert!(response.text().contains("still "));
}
