//! `/resume` with words: sessions by their title and by what was said in them.

use crate::common::{Bench, Session};
use ostler_engine::HubSettings;
use ostler_testkit::{Kind, Server, Step};
use ostler_wire::{Act, Deed, List, Open, View};

fn attended(options: &mut HubSettings) {
    options.run.interactive = true;
}

async fn listed(session: &mut Session, line: &str) -> List {
    let view = session.command(line).await;
    view.menu().unwrap_or_else(|| panic!("{view:?}"))
}

/// Label and place of each.
fn shown(list: &List) -> Vec<(&str, &str)> {
    let parts = list.items.iter().map(|item| {
        let place = item.detail.split_once(" · ").map_or("", |(_, place)| place);
        (item.label.as_str(), place)
    });
    parts.collect()
}

async fn said(bench: &Bench, prompt: &str) -> String {
    let mut session = bench.open().await;
    session.run(prompt).await;
    let id = session.id();
    session.close().await;
    id
}

#[tokio::test]
async fn sessions_are_found_by_what_was_said() {
    let server = Server::answering(|request| {
        let text = match request.last_user_text().contains("port") {
            true => "The quagga gateway listens on 7741. 网关端口是 7741。",
            false => "Nothing to say.",
        };
        Step::answer().text(text)
    });
    let bench = Bench::with(Kind::Chat, server);
    let port = said(&bench, "Which port is it?").await;
    let named = said(&bench, "Tell me of the gateway").await;
    said(&bench, "Something else").await;
    let mut session = bench.open_with(Open::New, attended).await;
    let index = bench.space.home().join("cache/history.sqlite");
    assert_eq!(listed(&mut session, "resume").await.items.len(), 3);
    assert!(!index.exists(), "nobody searched yet");

    let found = listed(&mut session, "resume gateway").await;
    assert_eq!(
        shown(&found),
        [
            ("Tell me of the gateway", "Tell me of the gateway"),
            (
                "Which port is it?",
                "The quagga gateway listens on 7741. 网关端口是 7741。"
            )
        ]
    );
    assert!(index.exists());
    assert_eq!(found.search.as_deref(), Some("resume"));
    let opens = |n: usize| match &found.items[n].actions[0].act {
        Act::Do(Deed::Open(Open::Resume(id))) => id.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!([opens(0), opens(1)], [named.clone(), port.clone()]);
    for (words, expect) in [
        // Messages with all of them come before those with some.
        (
            "quagga gateway",
            vec!["Which port is it?", "Tell me of the gateway"],
        ),
        ("端口", vec!["Which port is it?"]),
        // All of them are nowhere together.
        ("quagga nonsense", vec!["Which port is it?"]),
        ("nowhere", vec![]),
        ("?!", vec![]),
        ("decade", vec![]),
    ] {
        let found = listed(&mut session, &format!("resume {words}")).await;
        let labels: Vec<&str> = shown(&found).into_iter().map(|(label, _)| label).collect();
        assert_eq!(labels, expect, "{words}");
        assert_eq!(
            found.empty,
            format!("No session of this project contains: {words}")
        );
    }
    for (id, expect) in [(&port[..8], &port[..8]), ("01234567", "01234567")] {
        let view = session.command(&format!("resume {id}")).await;
        assert_eq!(view, View::Do(Deed::Open(Open::Resume(expect.into()))));
    }
    // An index that is broken is made anew, and that is said.
    std::fs::write(
        &index,
        "no index at all, but long enough to be looked at: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    )
    .unwrap();
    for wal in ["cache/history.sqlite-wal", "cache/history.sqlite-shm"] {
        let _ = std::fs::remove_file(bench.space.home().join(wal));
    }
    let found = listed(&mut session, "resume quagga").await;
    let labels: Vec<&str> = shown(&found).into_iter().map(|(label, _)| label).collect();
    assert_eq!(
        labels,
        [
            "Which port is it?",
            "The index was damaged and has been rebuilt."
        ]
    );
    session.close().await;
}
