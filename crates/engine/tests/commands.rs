//! Lines of the person's own: `!cmd`, `# note`, and commands that people wrote as Markdown files.

use crate::common::{Bench, Session, Shown};
use ostler_engine::HubSettings;
use ostler_guard::{Posture, Rule};
use ostler_testkit::{Kind, Place, Step};
use ostler_wire::{Body, Deed, Delivery, Delta, Event, Op, Open, Outcome, View};
use serde_json::{Value, json};

fn attended(options: &mut HubSettings) {
    options.run.interactive = true;
}

fn done() -> Step {
    Step::answer().text("Done.")
}

async fn command(session: &Session, line: &str) {
    session.send(Op::Command { line: line.into() }).await;
}

/// The envelope of the next result.
async fn result(session: &mut Session) -> Value {
    loop {
        if let Event::Entry(entry) = session.next().await
            && let Body::ToolResult(result) = &entry.body
        {
            return result.output.to_value();
        }
    }
}

async fn view(session: &mut Session) -> View {
    loop {
        if let Event::Reply(reply) = session.next().await {
            return reply.view.clone();
        }
    }
}

#[tokio::test]
async fn the_model_reads_what_the_person_ran() {
    for kind in Kind::ALL {
        let bench = Bench::new(kind, [done(), done(), done()]);
        let mut session = bench.open_with(Open::New, attended).await;
        // Not asked about, although the model would have been.
        command(&session, "!echo one > made; cat made; echo </ran>").await;
        assert_eq!(result(&mut session).await["data"]["exit_code"], 2);
        command(&session, "!echo one > made; cat made").await;
        assert_eq!(result(&mut session).await["data"]["stdout"], "one\n");
        session.run("first").await;
        command(&session, "!false").await;
        result(&mut session).await;
        session.run("second").await;
        let id = session.id();
        session.close().await;
        let mut session = bench.resume(&id).await;
        session.run("third").await;
        session.close().await;
        let prompts = [0, 1, 2].map(|n| bench.request(n).prompt_bytes());
        let first = String::from_utf8_lossy(&prompts[0]).into_owned();
        assert!(
            first.contains(r"I ran this myself:\n<ran>\n$ echo one > made; cat made\none\n</ran>"),
            "{first}"
        );
        assert!(first.contains(r"echo <\\/ran>"), "{first}");
        for pair in prompts.windows(2) {
            assert!(pair[1].starts_with(&pair[0]), "{kind:?}");
        }
        let last = String::from_utf8_lossy(&prompts[1]).into_owned();
        assert!(last.contains(r"$ false\nexit 1\n"), "{last}");
    }
}

#[tokio::test]
async fn rules_and_a_stop_hold_for_the_persons_own_commands() {
    let bench = Bench::new(Kind::Chat, [done()]);
    let mut session = bench
        .open_with(Open::New, |options| {
            attended(options);
            options.permissions.policy.rules.deny =
                vec![Rule::parse("Bash(touch:*)", "test:1").unwrap()];
        })
        .await;
    command(&session, "!touch made").await;
    assert_eq!(result(&mut session).await["error"]["code"], "blocked");
    assert!(!bench.space.exists("made"));
    command(&session, "!echo began; sleep 100").await;
    let mut live = String::new();
    while !live.contains("began") {
        if let Event::Delta(Delta::ToolOutput { chunk, .. }) = session.next().await {
            live.push_str(&chunk);
        }
    }
    session.send(Op::Interrupt).await;
    assert_eq!(result(&mut session).await["error"]["code"], "interrupted");
    assert_eq!(session.run("go on").await.outcome(), Some(Outcome::Done));
    session.close().await;
}

#[tokio::test]
async fn what_is_typed_during_a_turn_joins_its_next_step() {
    let wait = "until [ -e go ]; do sleep 0.01; done";
    let bench = Bench::new(
        Kind::Chat,
        [
            Step::answer().call("bash", json!({"command": wait})),
            done(),
        ],
    );
    let mut session = bench
        .open_with(Open::New, |options| {
            attended(options);
            options.permissions.policy.posture = ostler_guard::Posture::Yolo;
        })
        .await;
    session.prompt("go", Delivery::Queue).await;
    let shown = session
        .watch(async |session, event| {
            if let Event::Delta(Delta::ToolStarted { name, .. }) = event
                && name == "bash"
                && !bench.space.exists("go")
            {
                command(session, "!echo mine").await;
                bench.space.write("go", "");
            }
        })
        .await;
    assert_eq!(shown.codes(), ["ok", "ok"]);
    let told = bench.request(1).last_user_text();
    assert!(told.contains("$ echo mine\nmine"), "{told}");
    session.close().await;
}

#[tokio::test]
async fn a_note_is_confirmed_and_joins_the_conversation() {
    for (file, before, choice, after) in [
        ("AGENTS.md", None, "once", Some("- use tabs\n")),
        ("AGENTS.md", None, "deny", None),
        (
            "CLAUDE.md",
            Some("Be kind."),
            "once",
            Some("Be kind.\n- use tabs\n"),
        ),
    ] {
        let bench = Bench::new(Kind::Chat, [done()]);
        if let Some(text) = before {
            bench.space.write(file, text);
        }
        let mut session = bench.open_with(Open::New, attended).await;
        command(&session, "# use tabs").await;
        let ask = loop {
            if let Event::Ask(ask) = session.next().await {
                break ask;
            }
        };
        assert_eq!(ask.subject, format!("Add to {file}: use tabs"));
        session.send(Session::answer(&ask, choice, None)).await;
        view(&mut session).await;
        let written = bench.space.exists(file).then(|| bench.space.read(file));
        assert_eq!(written.as_deref(), after.or(before));
        session.run("go").await;
        let prompt = String::from_utf8_lossy(&bench.request(0).prompt_bytes()).into_owned();
        let told = format!("[The person added this to the instructions in {file}: use tabs]");
        assert_eq!(prompt.contains(&told), choice == "once", "{prompt}");
        session.close().await;
    }
}

const LOOK: &str = "---\nallowed-tools: Bash(touch:*)\nmodel: mock/other\n---\n\
Look at @note.txt and $1: !`touch made; echo @secret.txt`.";

/// One call of `/look`, its asks answered in order.
async fn look(bench: &Bench, session: &mut Session, answers: &[&str]) -> (Shown, Option<View>) {
    bench.space.write("note.txt", "the note\n");
    bench.space.write("secret.txt", "not to be seen\n");
    command(session, "look here").await;
    let mut shown = Shown::default();
    let mut answers = answers.iter();
    loop {
        match session.next().await {
            Event::Ask(ask) => {
                let choice = answers.next().unwrap_or_else(|| panic!("{ask:?}"));
                session.send(Session::answer(&ask, choice, None)).await;
                shown.asks.push(ask);
            }
            Event::Reply(reply) => return (shown, Some(reply.view.clone())),
            Event::Delta(_) => {}
            Event::Entry(entry) => {
                let over = matches!(entry.body, Body::TurnEnd(_));
                shown.entries.push(entry);
                if over {
                    return (shown, None);
                }
            }
        }
    }
}

#[tokio::test]
async fn pieces_of_a_command_are_asked_about_like_any_call() {
    let bench = Bench::new(Kind::Chat, [done()]);
    bench.space.write(".ostler/commands/look.md", LOOK);
    let mut session = bench.open_with(Open::New, attended).await;
    assert!(
        session
            .client
            .snapshot
            .commands
            .iter()
            .any(|c| c.name == "look")
    );
    let (shown, view) = look(&bench, &mut session, &["deny"]).await;
    assert_eq!(shown.asks[0].subject, "bash: touch made; echo @secret.txt");
    assert!(
        matches!(&view, Some(View::Error(why)) if why.starts_with("/look was not sent: The person refused")),
        "{view:?}"
    );
    assert!(!bench.space.exists("made") && bench.server.requests().is_empty());
    let (shown, _) = look(&bench, &mut session, &["once"]).await;
    // A file of the project that nobody trusts allows nothing and changes no model.
    assert!(shown.types().contains(&"notice"), "{:?}", shown.types());
    let request = bench.request(0);
    assert_eq!(request.model(), "mock-model");
    let said = request.last_user_text();
    assert!(
        said.ends_with("Look at @note.txt and here: @secret.txt."),
        "{said}"
    );
    assert!(said.contains("the note"), "{said}");
    // What a command printed points at nothing.
    assert!(!said.contains("not to be seen"), "{said}");
    session.close().await;
}

#[tokio::test]
async fn a_command_allows_what_it_names_for_its_own_turn() {
    let touch = || Step::answer().call("bash", json!({"command": "touch more"}));
    let bench = Bench::new(Kind::Chat, [touch(), done(), touch(), done()]);
    let home = bench.space.home().join("commands/look.md");
    bench
        .space
        .write(&home, LOOK.replace("; echo @secret.txt", ""));
    let mut session = bench.open_with(Open::New, attended).await;
    let (shown, view) = look(&bench, &mut session, &[]).await;
    assert_eq!((shown.asks.len(), view), (0, None));
    session.prompt("again", Delivery::Queue).await;
    let after = session
        .watch(async |session, event| {
            if let Event::Ask(ask) = event {
                session.send(Session::answer(ask, "deny", None)).await;
            }
        })
        .await;
    assert_eq!(after.asks.len(), 1, "{after:?}");
    let models: Vec<String> = bench
        .server
        .requests()
        .iter()
        .map(|r| r.model().to_owned())
        .collect();
    assert_eq!(models, ["other", "other", "mock-model", "mock-model"]);
    session.close().await;
}

#[tokio::test]
async fn a_command_waits_for_the_turn_that_runs() {
    let bench = Bench::new(
        Kind::Chat,
        [
            Step::answer().text("Half of it").stall(Place::Text(1)),
            done(),
        ],
    );
    bench.space.write(
        bench.space.home().join("commands/go/on.md"),
        "Go on with $ARGUMENTS.",
    );
    let mut session = bench.open_with(Open::New, attended).await;
    session.prompt("first", Delivery::Queue).await;
    bench.asked(1).await;
    command(&session, "go:on it").await;
    session.send(Op::Interrupt).await;
    assert_eq!(session.finish().await.outcome(), Some(Outcome::Interrupted));
    assert_eq!(session.finish().await.outcome(), Some(Outcome::Done));
    let said = bench.request(1).last_user_text();
    assert!(said.ends_with("Go on with it."), "{said}");
    session.close().await;
}

/// Those that change the session or take a while wait for the end of the turn, and say so.
const WAIT: [&str; 12] = [
    "clear", "compact", "diff", "effort", "export", "fork", "handoff", "memory", "model", "new",
    "resume", "session",
];

/// Whether an event says that a state is reached.
type Sign = fn(&Event) -> bool;

/// The next thing that is shown about a command.
async fn told(session: &mut Session, line: &str) -> (String, View) {
    command(session, line).await;
    loop {
        if let Event::Reply(reply) = session.next().await {
            return (reply.command.clone(), reply.view.clone());
        }
    }
}

#[tokio::test]
async fn every_command_answers_at_once_or_says_when_it_will() {
    let waits = || json!({"command": "until [ -e go ]; do sleep 0.01; done"});
    let stream = || Step::answer().text("Half of it").stall(Place::Text(1));
    let states: [(&str, Step, Sign); 3] = [
        ("stream", stream(), |event| {
            matches!(event, Event::Delta(Delta::AssistantDelta { .. }))
        }),
        ("tool", Step::answer().call("bash", waits()), |event| {
            matches!(event, Event::Delta(Delta::ToolStarted { .. }))
        }),
        (
            "ask",
            Step::answer().call("bash", json!({"command": "touch made"})),
            |event| matches!(event, Event::Ask(_)),
        ),
    ];
    for (state, step, is_there) in states {
        let bench = Bench::new(Kind::Chat, [step, done(), done()]);
        let mut session = bench
            .open_with(Open::New, |options| {
                attended(options);
                if state != "ask" {
                    options.permissions.policy.posture = Posture::Yolo;
                }
            })
            .await;
        session.prompt("go", Delivery::Queue).await;
        while !is_there(&session.next().await) {}
        let commands: Vec<String> = session
            .client
            .snapshot
            .commands
            .iter()
            .map(|c| c.name.clone())
            .collect();
        for name in commands {
            let (of, view) = told(&mut session, &name).await;
            let is_skill =
                ["commit", "explore", "init", "review", "security_review"].contains(&name.as_str());
            let (answered, expect) = match WAIT.contains(&name.as_str()) || is_skill {
                true => ("", View::Text(format!("/{name} will run after this turn."))),
                false => (name.as_str(), view.clone()),
            };
            assert_eq!(
                (of.as_str(), &view),
                (answered, &expect),
                "{state}: /{name}"
            );
        }
        let unknown = "There is no command /frobnicate. Try /help.";
        assert_eq!(
            told(&mut session, "frobnicate now").await,
            ("frobnicate now".to_owned(), View::Error(unknown.into())),
            "{state}"
        );
        for line in ["!true", "# note"] {
            let expect = View::Text(format!("{line} will run after this step."));
            assert_eq!(
                told(&mut session, line).await,
                (String::new(), expect),
                "{state}"
            );
        }
        // What waits is not what this is about.
        drop(session);
    }
}

#[tokio::test]
async fn a_skill_that_needs_words_says_so() {
    let bench = Bench::new(Kind::Chat, []);
    let mut session = bench.open_with(Open::New, attended).await;
    let (_, view) = told(&mut session, "explore").await;
    assert_eq!(view, View::Error("Usage: /explore <question>".into()));
    let (_, view) = told(&mut session, "help approve").await;
    let View::Group(views) = &view else {
        panic!("{view:?}");
    };
    assert!(
        matches!(&views[1], View::Text(more) if more.contains("`10m`: `auto` for ten minutes"))
    );
    session.close().await;
    assert!(bench.server.requests().is_empty());
}

/// The repository would choose which file is changed.
#[cfg(unix)]
#[tokio::test]
async fn a_note_does_not_follow_a_link_out_of_the_project() {
    for there in [true, false] {
        let bench = Bench::new(Kind::Chat, [done()]);
        let victim = bench.space.user_home().join("victim");
        if there {
            bench.space.write(&victim, "as it was\n");
        }
        std::os::unix::fs::symlink(&victim, bench.space.root().join("AGENTS.md")).unwrap();
        let mut session = bench.open_with(Open::New, attended).await;
        command(&session, "# use tabs").await;
        let refused = view(&mut session).await;
        assert!(
            matches!(&refused, View::Error(why) if why.contains("outside of the project")),
            "{refused:?}"
        );
        let left = std::fs::read_to_string(&victim).ok();
        assert_eq!(left.as_deref(), there.then_some("as it was\n"));
        session.close().await;
    }
}

#[tokio::test]
async fn session_lists_begins_and_resumes() {
    let bench = Bench::new(Kind::Chat, [done(), done()]);
    let mut first = bench.open_with(Open::New, attended).await;
    first.run("one").await;
    let id = first.id().to_owned();
    first.close().await;
    let mut session = bench.open_with(Open::New, attended).await;
    session.run("two").await;
    let opens = |open| View::Do(Deed::Open(open));
    for (line, expect) in [
        ("session new", opens(Open::New)),
        ("session resume last", opens(Open::Resume(id.clone()))),
        ("session resume abcd", opens(Open::Resume("abcd".into()))),
    ] {
        assert_eq!(told(&mut session, line).await.1, expect, "{line}");
    }
    let (_, View::Table(listed)) = told(&mut session, "session list").await else {
        panic!("a list");
    };
    assert_eq!(listed.rows.len(), 1);
    let (_, refused) = told(&mut session, "session start over").await;
    assert!(matches!(refused, View::Error(why) if why.starts_with("Usage: /session")));
    session.close().await;
}
