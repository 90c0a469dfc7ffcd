//! Tools that wait behind `tool_search`: in plan mode, in a child, with the tools of a role, after a resume, and when one of
//! them is wanted in the list.

use crate::common::Bench;
use crate::common::agents::trusting;
use ostler_engine::HubSettings;
use ostler_engine::agents::AgentSettings;
use ostler_engine::roles::RoleSettings;
use ostler_guard::Mode;
use ostler_testkit::{Captured, Kind, Step};
use ostler_wire::Open;
use serde_json::{Value, json};
use std::sync::Arc;

/// Calls a tool that is not in the list.
fn through(tool: &str, arguments: Value) -> (&'static str, Value) {
    let args = json!({"tool": tool, "arguments": arguments});
    ("tool_search", args)
}

fn moves() -> (&'static str, Value) {
    let args = json!({"source_path": "a", "destination_path": "b"});
    through("move_file", args)
}

fn is_listed(request: &Captured, name: &str) -> bool {
    request.tool_names().contains(&name.to_owned())
}

#[tokio::test]
async fn plan_mode_holds_for_what_is_called_through_the_search() {
    let bench = Bench::new(
        Kind::Chat,
        [
            Step::answer().calls([
                through("time", json!({})),
                moves(),
                through("complete_step", json!({"step": "1", "evidence": "x"})),
                through("forget", json!({"id": "x"})),
                ("tool_search", json!({"query": "move"})),
            ]),
            Step::answer().text("Done."),
        ],
    );
    bench.space.write("a", "x");
    let mut session = bench
        .open_with(Open::New, |options| {
            trusting(options);
            options.permissions.mode = Some(Mode::Plan);
        })
        .await;
    let shown = session.run("go").await;
    assert_eq!(
        shown.codes(),
        ["ok", "plan_mode", "plan_mode", "plan_mode", "ok"]
    );
    assert!(bench.space.exists("a"));
    session.close().await;
}

/// What a child may look up and run is what its role may use.
#[tokio::test]
async fn children_find_what_their_role_has() {
    let tools = |tools: &[&str]| RoleSettings {
        prompt: Some("x".into()),
        tools: Some(tools.iter().map(|t| (*t).to_owned()).collect()),
        ..RoleSettings::default()
    };
    let own = |name: &str| ("task", json!({"prompt": "x", "role": name}));
    for (call, searches, lists, codes) in [
        // All of its parent's, and the move is one of them.
        (own("builder"), true, false, ["ok", "ok", "unknown_tool"]),
        // Only looking: what changes cannot be found, either.
        (
            own("explore"),
            true,
            false,
            ["ok", "unknown_tool", "unknown_tool"],
        ),
        // A list of its own has them in full, and nothing to look up.
        (
            own("mover"),
            false,
            true,
            ["unknown_tool", "ok", "unknown_tool"],
        ),
        (
            own("clerk"),
            false,
            false,
            ["unknown_tool", "unknown_tool", "unknown_tool"],
        ),
    ] {
        let bench = Bench::new(
            Kind::Chat,
            [
                Step::answer().calls([call.clone()]),
                Step::answer().calls([
                    through("time", json!({})),
                    moves(),
                    through("complete_step", json!({"step": "1", "evidence": "x"})),
                ]),
                Step::answer().text("Done."),
                Step::answer().text("All done."),
            ],
        );
        bench.space.write("a", "x");
        let mut session = bench
            .open_with(Open::New, |options| {
                trusting(options);
                let mut agents = AgentSettings::default();
                agents
                    .roles
                    .insert("mover".into(), tools(&["move_file", "ls"]));
                agents.roles.insert("clerk".into(), tools(&["ls"]));
                options.agents = Arc::new(agents);
            })
            .await;
        session.run("go").await;
        let first = bench.request(1);
        assert_eq!(is_listed(&first, "tool_search"), searches, "{call:?}");
        assert_eq!(is_listed(&first, "move_file"), lists, "{call:?}");
        let heard = bench.request(2).tool_results();
        for ((_, text, _), code) in heard.iter().zip(codes) {
            let failed = text.starts_with("Error (");
            assert_eq!(failed, code != "ok", "{call:?}: {text}");
            assert!(!failed || text.contains(code), "{call:?}: {text}");
        }
        session.close().await;
    }
}

/// One is wanted in the list, the others wait; children have it there, too, and a session keeps the list it began with.
#[tokio::test]
async fn one_can_be_listed_and_a_session_keeps_its_list() {
    let done = || Step::answer().text("Done.");
    let bench = Bench::new(
        Kind::Chat,
        [
            Step::answer().call("task", json!({"prompt": "x"})),
            done(),
            done(),
            Step::answer().calls([moves(), through("web_search", json!({"query": ""}))]),
            done(),
        ],
    );
    bench.space.write("a", "x");
    let wants = |options: &mut HubSettings| {
        trusting(options);
        options.toolbox.filter = vec!["+web_search".into()];
    };
    let mut session = bench.open_with(Open::New, wants).await;
    session.run("go").await;
    let id = session.id();
    session.close().await;
    for n in [0, 1] {
        let names = bench.request(n).tool_names();
        let there = |name: &str| names.contains(&name.to_owned());
        assert!(
            there("web_search") && there("tool_search") && !there("time"),
            "{names:?}"
        );
        assert!(names.is_sorted(), "{names:?}");
    }
    // Nobody wants it any more, but this session's list stays as it is, and what waits can still be called.
    let mut session = bench.open_with(Open::Resume(id), trusting).await;
    let shown = session.run("on").await;
    assert_eq!(shown.codes()[0], "ok");
    assert!(bench.space.exists("b"));
    let (before, after) = (bench.request(0), bench.request(3));
    assert_eq!(before.tool_names(), after.tool_names());
    assert!(after.prompt_bytes().starts_with(&before.prompt_bytes()));
    session.close().await;
}
