//! `resume`: which session it finds, and how it goes on.

use crate::support::*;
use ostler_testkit::{Kind, Server, Step, TempWorkspace, json_lines, only};

fn begun(server: &Server) -> (TempWorkspace, String) {
    let space = TempWorkspace::new();
    space.config(server, Kind::Chat);
    let out = space
        .ostler(["exec", "--format", "result", "-p", "first"])
        .output()
        .ok();
    let id = only(&json_lines(&out.stdout), "result")["session_id"]
        .as_str()
        .unwrap()
        .to_owned();
    (space, id)
}

fn answers() -> Server {
    Server::answering(|_| Step::answer().text("Noted."))
}

#[test]
fn a_prompt_goes_on_with_the_session() {
    let server = answers();
    let (space, id) = begun(&server);
    let last = ["resume", "--last", "-p", "second"];
    let newest = ["resume", "-p", "second"];
    for args in [
        last.as_slice(),
        newest.as_slice(),
        &["resume", &id[..8], "-p", "second"],
        &["sessions", "resume", &id, "-p", "second"],
    ] {
        let before = server.requests().len();
        let out = space.ostler([]).args(args).output().ok();
        assert_eq!(out.stdout, "Noted.\n", "{args:?}");
        assert!(
            out.stderr
                .ends_with(&format!("ostler resume {}\n", &id[..8])),
            "{out:?}"
        );
        let request = server.request(before);
        assert!(request.last_user_text().ends_with("second"), "{request:?}");
        assert!(
            request.raw.windows(5).any(|w| w == b"first"),
            "the past is sent"
        );
    }
}

#[test]
fn a_pipe_joins_the_prompt() {
    let server = answers();
    let (space, _) = begun(&server);
    space
        .ostler(["resume", "-p", "sum this"])
        .stdin("1 2 3")
        .output()
        .ok();
    let sent = server.request(1).last_user_text();
    assert!(
        sent.ends_with("sum this\n\n<stdin>\n1 2 3\n</stdin>"),
        "{sent}"
    );
}

#[test]
fn the_result_can_be_json() {
    let server = answers();
    let (space, id) = begun(&server);
    let out = space
        .ostler(["resume", "-p", "second", "--format", "result"])
        .output()
        .ok();
    assert_eq!(
        only(&json_lines(&out.stdout), "result")["session_id"],
        id.as_str()
    );
    let out = space.ostler(["resume", "--format", "result"]).output();
    assert_eq!(
        space.shown(&out),
        "exit 2\n--- stderr\nostler: an output format needs a prompt: add -p \"…\"\n"
    );
}

#[test]
fn the_conversation_goes_on_line_by_line() {
    let server = answers();
    let (space, id) = begun(&server);
    let out = space
        .ostler(["resume", &id])
        .stdin("second\n/quit\n")
        .output()
        .ok();
    assert_eq!(out.stdout, "Noted.\n");
    assert!(server.request(1).last_user_text().ends_with("second"));
}

#[test]
fn nothing_to_resume() {
    let server = Server::start([]);
    let space = TempWorkspace::new();
    space.config(&server, Kind::Chat);
    for args in [
        ["resume", "-p", "x"].as_slice(),
        &["resume"],
        &["resume", "--last"],
    ] {
        let out = space.ostler([]).args(args).output();
        assert_eq!(
            space.shown(&out),
            "exit 1\n--- stderr\nostler: This project has no session yet. Start one with `ostler` or `ostler exec`.\n"
        );
    }
}
