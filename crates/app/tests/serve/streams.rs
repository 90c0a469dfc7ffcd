//! Event streams: whole over breaks, joined where they may be, and over when their session is.

use super::bench::{Bench, TOKEN};
use super::http::Event;
use ostler_testkit::Step;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

fn entries(events: &[Event]) -> Vec<Value> {
    let entries = events.iter().filter(|e| e.id.is_some());
    entries.map(|e| e.data.clone()).collect()
}

fn is_end(event: &Event) -> bool {
    event.data["type"] == "turn_end"
}

/// The text of the deltas since the last entry or snapshot.
fn text(events: &[Event]) -> String {
    let deltas = events
        .iter()
        .filter(|e| e.data["type"] == "assistant_delta");
    deltas.filter_map(|e| e.data["text"].as_str()).collect()
}

#[test]
fn a_stream_that_breaks_in_the_middle_goes_on_without_gap_or_repetition() {
    let words = Step::answer().words(400).pace(Duration::from_millis(3));
    let bench = Bench::new([Step::answer().text("First."), words]);
    let id = bench.new_session();
    bench.turn(&id, "one");
    let head = bench.get(&format!("/api/sessions/{id}"))["head"].as_u64();
    let mut events = bench.events(&id, head);
    let first = events.next().unwrap();
    assert_eq!(first.name, "snapshot");
    assert_eq!(first.data["working"], json!(false));
    bench.say(&id, "two");
    let before = events.until("a delta", |e| e.data["type"] == "assistant_delta");
    let seen = entries(&before).last().unwrap()["entry"].as_u64().unwrap();
    drop(events);
    // The browser says itself where it was.
    let path = format!("/api/sessions/{id}/events?after=0");
    let again = bench
        .ask("GET", &path)
        .header("Last-Event-ID", seen.to_string());
    let mut again = again.stream();
    let snapshot = again.next().unwrap();
    assert_eq!(snapshot.data["working"], json!(true));
    let after = again.until("the end", is_end);
    let mut all = bench.scene.log();
    all.retain(|entry| entry["entry"].as_u64() > head);
    let joined: Vec<Value> = [entries(&before), entries(&after)].concat();
    assert_eq!(joined, all);
    // What the answer was at, and what followed, is the whole of it.
    let is_answer = |e: &&Value| e["type"] == "message" && e["role"] == "assistant";
    let answer = all.iter().find(is_answer).unwrap();
    assert_eq!(json!(text(&after)), answer["text"]);
    // A client that comes from nowhere gets all entries.
    let mut whole = bench.events(&id, None);
    let count = bench.scene.log().len() as u64 - 1;
    let whole = whole.until("the last entry", |e| e.id == Some(count));
    assert_eq!(entries(&whole), bench.scene.log());
}

#[test]
fn one_stream_carries_all_sessions_of_a_browser() {
    let bench = Bench::new((0..4).map(|n| Step::answer().text(&format!("Answer {n}."))));
    let (one, other) = (bench.new_session(), bench.new_session());
    let path = format!("/api/events?stream=browser-1&want={one}:");
    let mut events = bench.ask("GET", &path).stream();
    let of = |id: &str, kind: &'static str| {
        let id = id.to_owned();
        move |e: &Event| e.data["session"] == json!(id) && e.data["event"]["type"] == kind
    };
    events.until("the snapshot", |e| {
        e.name == "snapshot" && e.data["session"] == json!(one)
    });
    bench.say(&one, "first");
    let seen = events.until("the end", of(&one, "turn_end"));
    assert!(seen.iter().all(|e| e.id.is_none()));
    // Another session is added; the list tells of each.
    let change = json!({"add": [{"session": other}]});
    bench
        .ask("POST", "/api/events/browser-1")
        .json(&change)
        .send()
        .is(204);
    events.until("the other snapshot", |e| {
        e.name == "snapshot" && e.data["session"] == json!(other) && e.data["head"] == json!(null)
    });
    bench.say(&other, "second");
    events.until("the other end", of(&other, "turn_end"));
    bench.turn(&one, "third");
    let is_row = |e: &Event| e.name == "sessions" && e.data["sessions"][0]["turns"] == json!(2);
    let mut seen = events.until("the third end", of(&one, "turn_end"));
    if !seen.iter().any(is_row) {
        seen = events.until("a row", is_row);
    }
    let row = seen.iter().find(|e| is_row(e)).unwrap();
    assert_eq!(row.data["sessions"][0]["id"], json!(one));
    // One that is taken out says nothing more.
    let change = json!({"remove": [one]});
    bench
        .ask("POST", "/api/events/browser-1")
        .json(&change)
        .send()
        .is(204);
    bench.turn(&one, "fourth");
    bench
        .ask("DELETE", &format!("/api/sessions/{other}"))
        .send()
        .is(204);
    let rest = events.until("the end of a session", |e| e.name == "closed");
    assert_eq!(rest.last().unwrap().data["session"], json!(other));
    let late = rest.iter().filter(|e| e.data["session"] == json!(one));
    assert_eq!(
        late.filter(|e| e.data["event"]["type"] == "turn_end")
            .count(),
        0
    );
    let unknown = bench
        .ask("POST", "/api/events/nobody-knows")
        .json(&json!({}));
    unknown.send().refuses(404, "not_found");
    // The same key again ends the stream that had it.
    let _new = bench.ask("GET", "/api/events?stream=browser-1").stream();
    while events.next().is_some() {}
}

#[test]
fn a_session_that_is_deleted_ends_its_streams() {
    let bench = Bench::new([Step::answer().text("Hello.")]);
    let id = bench.new_session();
    bench.turn(&id, "hi");
    let mut events = bench.events(&id, Some(0));
    events.next().unwrap();
    bench
        .ask("DELETE", &format!("/api/sessions/{id}"))
        .send()
        .is(204);
    let rest = events.until("the end", |e| e.name == "closed");
    assert_eq!(rest.last().unwrap().data, json!({}));
    assert_eq!(events.next(), None);
    let op = bench.op(&id, json!({"op": "prompt", "text": "still there?"}));
    op.refuses(404, "not_found");
}

/// A client that does not read costs little, and gets all entries when it does.
#[test]
fn a_client_that_does_not_read_misses_no_entry() {
    let loud = json!({"command": "yes 0123456789012345678901234567890123456789 | head -c 8000000"});
    let bench = Bench::with(
        "",
        [
            Step::answer().call("bash", loud),
            Step::answer().text("Done."),
        ],
    );
    let id = bench.new_session();
    let mut deaf = TcpStream::connect(bench.address).unwrap();
    let text = format!(
        "GET /api/sessions/{id}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n",
        bench.address
    );
    deaf.write_all(text.as_bytes()).unwrap();
    let op = json!({"op": "command", "line": "approve all"});
    bench.op(&id, op).is(200);
    let seen = bench.turn(&id, "be loud");
    // Now it reads.
    let mut all = Vec::new();
    let mut piece = [0; 65536];
    deaf.set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let end = format!("id: {}", seen.last().unwrap()["entry"]);
    while let Ok(count @ 1..) = deaf.read(&mut piece) {
        all.extend_from_slice(&piece[..count]);
        if String::from_utf8_lossy(&all).contains(&end) {
            break;
        }
    }
    let text = String::from_utf8_lossy(&all);
    for entry in bench.scene.log() {
        let id = format!("id: {}\n", entry["entry"]);
        assert_eq!(text.matches(&id).count(), 1, "{id}");
    }
}
