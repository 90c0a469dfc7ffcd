//! Prompts in the background: their own sessions, one tree, asks and news to whoever is attached.

use crate::common::agents::{says, trusting};
use crate::common::{Bench, Session};
use ostler_engine::HubSettings;
use ostler_testkit::{Kind, Place, Server, Step};
use ostler_wire::{Body, Delta, Doing, Event, Op, Open, Task, View};
use serde_json::json;

fn attended(options: &mut HubSettings) {
    options.run.interactive = true;
}

/// Calls `bash` once, then names the prompt it was given.
fn runs(command: impl Fn(&str) -> String + Send + Sync + 'static) -> Server {
    Server::answering(move |request| match request.tool_results().is_empty() {
        true => Step::answer().call("bash", json!({"command": command(&says(request))})),
        false => Step::answer().text("Done it."),
    })
}

fn text(view: &View) -> &str {
    match view {
        View::Text(text) | View::Error(text) => text,
        other => panic!("{other:?}"),
    }
}

async fn tasks_are(session: &mut Session, wanted: impl Fn(&[Task]) -> bool) {
    loop {
        if let Event::Delta(Delta::Tasks { tasks }) = session.next().await
            && wanted(&tasks)
        {
            return;
        }
    }
}

/// What is said when a task ends, in a session whose log is empty or not.
async fn news(session: &mut Session) -> String {
    loop {
        match session.next().await {
            Event::Delta(Delta::Announcement { view }) => {
                return text(&view).to_owned();
            }
            Event::Entry(entry) => {
                if let Body::Notice(notice) = &entry.body {
                    return notice.text.clone();
                }
            }
            Event::Delta(_) | Event::Ask(_) | Event::Reply(_) => {}
        }
    }
}

#[tokio::test]
async fn two_run_at_once_and_writers_take_turns() {
    let server = runs(|prompt| {
        format!(
            "if mkdir busy; then until [ -e go ]; do sleep 0.01; done; touch {prompt}; rmdir busy; else touch clash; fi"
        )
    });
    let bench = Bench::with(Kind::Chat, server);
    let mut session = bench.open_with(Open::New, trusting).await;
    let started = session.command("bg one").await;
    assert_eq!(text(&started), "t1 runs in the background: one");
    session.command("bg two &").await;
    tasks_are(&mut session, |tasks| {
        let doing: Vec<&Doing> = tasks.iter().map(|t| &t.doing).collect();
        let running = Doing::Running("bash".into());
        doing.contains(&&running) && doing.contains(&&Doing::Queueing)
    })
    .await;
    let listed = session.command("ps").await;
    let View::Table(table) = listed else {
        panic!("{listed:?}");
    };
    let rows = table.texts();
    let ids: Vec<(&str, &str)> = rows
        .iter()
        .map(|r| (r[0].as_str(), r[3].as_str()))
        .collect();
    assert_eq!(ids, [("t1", "one"), ("t2", "two")]);
    bench.space.write("go", "");
    let ends = [news(&mut session).await, news(&mut session).await];
    for (end, id) in ends.iter().zip(["t1", "t2"]) {
        assert!(
            end.contains("is done after") && end.ends_with("\n  Done it."),
            "{end}"
        );
        assert!(ends.iter().any(|e| e.starts_with(id)), "{ends:?}");
    }
    assert!(bench.space.exists("one") && bench.space.exists("two"));
    assert!(!bench.space.exists("clash"));
    // Each has a log of its own, and nothing was said in the foreground.
    let mut titles: Vec<String> = bench
        .store()
        .list()
        .unwrap()
        .into_iter()
        .map(|s| s.title)
        .collect();
    titles.sort();
    assert_eq!(titles, ["one", "two"]);
    assert_eq!(
        text(&session.command("ps").await),
        "Nothing runs in the background."
    );
    session.close().await;
}

#[tokio::test]
async fn a_task_goes_on_from_what_was_said_and_its_end_is_a_notice() {
    let bench = Bench::new(
        Kind::Messages,
        [
            Step::answer().text("One."),
            Step::answer().text("Two."),
            Step::answer().text("Three."),
        ],
    );
    let mut session = bench.open_with(Open::New, attended).await;
    session.run("first").await;
    session.command("bg second").await;
    let end = news(&mut session).await;
    let short = bench
        .store()
        .list()
        .unwrap()
        .into_iter()
        .find(|s| s.title == "second")
        .map(|s| s.id[..8].to_owned())
        .unwrap();
    assert!(
        end.contains(&format!("ostler resume {short}\n  Two.")),
        "{end}"
    );
    // The task's prompt continues the foreground's, and the foreground's own goes on without it.
    session.run("third").await;
    let [first, second, third] = [0, 1, 2].map(|n| bench.request(n).prompt_bytes());
    assert!(second.starts_with(&first) && third.starts_with(&first));
    let told = String::from_utf8_lossy(&third).into_owned();
    assert!(!told.contains("second") && !told.contains("Two."), "{told}");
    session.close().await;
}

#[tokio::test]
async fn asks_of_a_task_come_to_the_foreground_by_name() {
    for (choice, made) in [("once", true), ("deny", false)] {
        let bench = Bench::with(Kind::Chat, runs(|_| "touch made".into()));
        let mut session = bench.open_with(Open::New, attended).await;
        session.command("bg go").await;
        let ask = loop {
            if let Event::Ask(ask) = session.next().await {
                break ask;
            }
        };
        assert_eq!(
            (ask.from.as_deref(), ask.subject.as_str()),
            (Some("t1"), "bash: touch made")
        );
        session.send(Session::answer(&ask, choice, None)).await;
        let end = news(&mut session).await;
        assert!(end.starts_with("t1 is done"), "{end}");
        assert_eq!(bench.space.exists("made"), made, "{choice}");
        session.close().await;
    }
}

#[tokio::test]
async fn a_task_can_be_stopped_and_given_a_limit() {
    let stalled = || Step::answer().text("Half of it").stall(Place::Text(1));
    let slow = || Step::answer().call("bash", json!({"command": "sleep 100"}));
    for (step, line, expect) in [
        (stalled(), "kill t1", "t1 was stopped after"),
        (slow(), "kill 1", "t1 was stopped after"),
        (stalled(), "timeout 20ms", "t1 ran out of time after"),
        (slow(), "timeout 20ms t1", "t1 ran out of time after"),
    ] {
        let bench = Bench::new(Kind::Chat, [step]);
        let mut session = bench.open_with(Open::New, trusting).await;
        session.command("bg go").await;
        bench.asked(1).await;
        let view = session.command(line).await;
        assert!(matches!(view, View::Text(_)), "{view:?}");
        let end = news(&mut session).await;
        assert!(end.starts_with(expect), "{line}: {end}");
        session.close().await;
    }
}

#[tokio::test]
async fn what_would_leave_the_session_waits_for_its_tasks() {
    let stalled = || Step::answer().text("Half of it").stall(Place::Text(1));
    let bench = Bench::new(Kind::Chat, [stalled(), stalled(), stalled(), stalled()]);
    let mut session = bench.open_with(Open::New, trusting).await;
    for n in 1..=4 {
        let view = session.command(&format!("bg number {n}")).await;
        assert!(text(&view).starts_with(&format!("t{n} runs")), "{view:?}");
    }
    bench.asked(4).await;
    for (line, why) in [
        ("bg fifth", "4 tasks run already"),
        ("new", "Not while tasks run (t1, t2, t3, t4)"),
        ("clear", "Not while tasks run"),
        ("clear yes", "Not while tasks run"),
        ("resume", "Not while tasks run"),
        ("fork", "Not while tasks run"),
        ("kill", "Which one? t1, t2, t3, t4"),
        ("kill t9", "There is no task or job t9"),
        ("timeout soon", "Usage: /timeout <10m|off>"),
    ] {
        let view = session.command(line).await;
        assert!(
            matches!(&view, View::Error(text) if text.starts_with(why)),
            "{line}: {view:?}"
        );
    }
    // Who leaves stops them; their logs say so.
    session.close().await;
    for info in bench.store().list().unwrap() {
        let log = bench.space.read(bench.store().path_of(&info.id));
        assert!(log.contains(r#""outcome":"interrupted""#), "{log}");
    }
}

#[tokio::test]
async fn a_session_that_is_to_finish_waits_for_its_tasks() {
    let server = runs(|prompt| format!("until [ -e go ]; do sleep 0.01; done; touch {prompt}"));
    let bench = Bench::with(Kind::Chat, server);
    let mut session = bench.open_with(Open::New, trusting).await;
    // Nothing of it has begun when the end is told.
    for op in [
        Op::Command {
            line: "bg one".into(),
        },
        Op::Finish,
    ] {
        session.send(op).await;
    }
    tasks_are(&mut session, |tasks| {
        tasks
            .iter()
            .any(|task| task.doing == Doing::Running("bash".into()))
    })
    .await;
    bench.space.write("go", "");
    let end = news(&mut session).await;
    assert!(end.starts_with("t1 is done after"), "{end}");
    while session.client.events.next().await.is_some() {}
    assert!(bench.space.exists("one"));
}
