//! Budgets over sessions and their tasks: nothing is sent that might not fit, however many run at once.

use crate::common::{Bench, Session};
use ostler_engine::HubSettings;
use ostler_engine::budget::{Budget, Limit, Limits};
use ostler_engine::ledger::Ledger;
use ostler_testkit::{Kind, Server, Step, Usage};
use ostler_wire::{AskKind, Body, Delta, DigestBy, Event, Open, View};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

const USAGE: Usage = Usage {
    input: 1_000,
    cached: 0,
    cache_write: 0,
    output: 100,
    reasoning: 0,
};
/// What each request takes.
const TAKES: u64 = 1_100;

fn tokens(tokens: u64) -> Limit {
    Limit {
        usd: None,
        tokens: Some(tokens),
    }
}

fn budget(bench: &Bench, limits: Limits) -> Budget {
    Budget::new(limits, Ledger::new(bench.space.home()))
}

fn attended(budget: &Budget) -> impl Fn(&mut HubSettings) {
    let budget = budget.clone();
    move |options| {
        options.run.interactive = true;
        options.model.budget = budget.clone();
        options.model.params.max_tokens = Some(USAGE.output);
    }
}

/// Says no to every ask until this many tasks have ended. How many asks there were.
async fn refuse(session: &mut Session, tasks: usize) -> usize {
    let (mut ended, mut asks) = (0, 0);
    while ended < tasks {
        match session.next().await {
            Event::Ask(ask) => {
                assert_eq!(ask.kind, AskKind::Budget, "{ask:?}");
                assert!(ask.from.is_some(), "{ask:?}");
                asks += 1;
                session.send(Session::answer(&ask, "deny", None)).await;
            }
            Event::Delta(Delta::Announcement { .. }) => ended += 1,
            Event::Delta(_) | Event::Entry(_) | Event::Reply(_) => {}
        }
    }
    asks
}

fn spent(bench: &Bench) -> u64 {
    let lines = Ledger::new(bench.space.home()).lines().unwrap();
    lines.iter().map(|l| l.tokens.input + l.tokens.output).sum()
}

#[tokio::test]
async fn many_tasks_at_once_never_spend_more_than_there_is() {
    const SESSIONS: usize = 3;
    const EACH: usize = 4;
    const LIMIT: u64 = 160_000;
    let asked = AtomicUsize::new(0);
    // All of them are under way before the first one gets an answer.
    let together = Barrier::new(SESSIONS * EACH);
    let server = Server::answering(move |_| {
        let n = asked.fetch_add(1, Ordering::SeqCst);
        if n < SESSIONS * EACH {
            together.wait();
        }
        let pattern = format!("none-{n}");
        Step::answer()
            .call("glob", json!({"pattern": pattern}))
            .usage(USAGE)
    });
    let bench = Bench::with(Kind::Chat, server);
    let limits = Limits {
        run: tokens(LIMIT),
        ..Limits::default()
    };
    let budget = budget(&bench, limits);
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        let mut session = bench.open_with(Open::New, attended(&budget)).await;
        for n in 0..EACH {
            session.command(&format!("bg task {n}")).await;
        }
        sessions.push(session);
    }
    let watched = sessions.iter_mut().map(|session| refuse(session, EACH));
    let asks: usize = futures_util::future::join_all(watched).await.iter().sum();
    assert_eq!(asks, SESSIONS * EACH);
    let spent = spent(&bench);
    assert!(spent <= LIMIT, "{spent}");
    // The last one to stop had it all for itself, and one more might not have fitted.
    assert!(spent > LIMIT - 4 * TAKES, "{spent}");
    for session in sessions {
        session.close().await;
    }
}

#[tokio::test]
async fn a_session_pays_for_its_tasks_and_remembers_it() {
    let bench = Bench::with(
        Kind::Chat,
        Server::answering(|_| Step::answer().text("Done it.").usage(USAGE)),
    );
    let limits = Limits {
        session: tokens(50_000),
        child: tokens(40_000),
        ..Limits::default()
    };
    let shown = |view: View| {
        let View::Table(table) = view else {
            panic!("{view:?}");
        };
        let lines = table.summary.lines();
        let budgets = lines.filter(|line| line.starts_with("budget"));
        budgets.collect::<Vec<_>>().join("\n")
    };
    let first = budget(&bench, limits.clone());
    let mut session = bench.open_with(Open::New, attended(&first)).await;
    assert_eq!(
        shown(session.command("cost").await),
        "budget of the session: 0 tokens of 50000 tokens used, 0 tokens held, 50000 tokens left"
    );
    session.run("first").await;
    session.command("bg second").await;
    loop {
        if let Event::Entry(entry) = session.next().await
            && let Body::Notice(notice) = &entry.body
        {
            assert!(notice.text.contains("is done after"), "{}", notice.text);
            break;
        }
    }
    let expect =
        "budget of the session: 2200 tokens of 50000 tokens used, 0 tokens held, 47800 tokens left";
    assert_eq!(shown(session.command("cost").await), expect);
    let id = session.id();
    session.close().await;
    // Another process reads it from the log and the ledger.
    let again = budget(&bench, limits);
    let mut session = bench.open_with(Open::Resume(id), attended(&again)).await;
    assert_eq!(shown(session.command("cost").await), expect);
    session.close().await;
}

#[tokio::test]
async fn a_task_has_no_more_than_a_task_may_have() {
    let bench = Bench::new(Kind::Chat, [Step::answer().text("Yes.").usage(USAGE)]);
    let limits = Limits {
        child: tokens(200),
        ..Limits::default()
    };
    let budget = budget(&bench, limits);
    let mut session = bench.open_with(Open::New, attended(&budget)).await;
    session.command("bg try").await;
    assert_eq!(refuse(&mut session, 1).await, 1);
    // Who started it is not held to that.
    session.run("go").await;
    session.close().await;
    let requests: Arc<[_]> = bench.server.requests().into();
    assert_eq!(requests.len(), 1);
}

#[tokio::test]
async fn a_digest_and_a_handoff_that_do_not_fit_need_no_model() {
    let usage = Usage {
        input: 85_000,
        ..USAGE
    };
    let server = Server::answering(move |_| {
        let text = "It is done. ".repeat(300);
        Step::answer().text(&text).usage(usage)
    });
    let mut bench = Bench::with(Kind::Chat, server);
    bench.window = 100_000;
    let roles = ["compaction", "handoff"].map(|role| (role.to_owned(), tokens(9)));
    let limits = Limits {
        roles: roles.into(),
        ..Limits::default()
    };
    let budget = budget(&bench, limits);
    let mut session = bench.open_with(Open::New, attended(&budget)).await;
    for prompt in ["one", "two", "three"] {
        session.run(prompt).await;
    }
    let entries = session.entries();
    let digest = entries.iter().find_map(|e| match &e.body {
        Body::Compaction(compaction) => Some(compaction.by),
        _ => None,
    });
    assert_eq!(digest, Some(DigestBy::Mechanical));
    let why = "The budget of the role compaction is 9 tokens";
    let said = entries.iter().any(|e| match &e.body {
        Body::Notice(notice) => notice.text.contains(why),
        _ => false,
    });
    assert!(said, "{entries:?}");
    let View::Text(text) = session.command("handoff go on").await else {
        panic!("no handoff");
    };
    assert!(text.contains("The budget of the role handoff"), "{text}");
    session.close().await;
    assert_eq!(bench.server.requests().len(), 3);
}
