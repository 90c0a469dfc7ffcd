//! Sub-agents that calls start: their own sessions and roles, results in the parent's log, and every way to fail.

use crate::common::agents::{delegating, outcome, role, says, trusting};
use crate::common::{Bench, Session, Shown};
use ostler_engine::HubSettings;
use ostler_engine::agents::AgentSettings;
use ostler_engine::roles::RoleSettings;
use ostler_guard::{Mode, Posture, Rule};
use ostler_testkit::{Captured, Fate, Kind, Place, Server, Step, Usage};
use ostler_wire::{Body, Delivery, Delta, Event, Op, Open, Outcome, View};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn agents(change: impl Fn(&mut AgentSettings)) -> impl Fn(&mut HubSettings) {
    move |options| {
        trusting(options);
        let mut settings = AgentSettings::default();
        change(&mut settings);
        options.agents = Arc::new(settings);
    }
}

fn error(shown: &Shown) -> (String, String) {
    let results = shown.results();
    let text = |key: &str| {
        results[0]["error"][key]
            .as_str()
            .unwrap_or("none")
            .to_owned()
    };
    (text("code"), text("message"))
}

#[tokio::test]
async fn a_task_is_done_in_a_session_of_its_own() {
    let usage = Usage {
        input: 1_000,
        output: 10,
        ..Usage::default()
    };
    let args = json!({"prompt": "Find the door.", "role": "explore", "description": "the door"});
    let server = delegating(vec![("read_only_task", args)], move |request| match request
        .tool_results()
        .is_empty()
    {
        true => Step::answer().call("ls", json!({})).usage(usage),
        false => Step::answer().text("At src/door.rs:1.").usage(usage),
    });
    let bench = Bench::with(Kind::Chat, server);
    bench.space.write("src/door.rs", "x");
    let mut session = bench.open_with(Open::New, trusting).await;
    let parent = session.id();
    let shown = session.run("go").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    let data = &shown.results()[0]["data"];
    assert_eq!(data["text"], "At src/door.rs:1.");
    assert_eq!(
        (&data["role"], &data["spent"]["input"]),
        (&json!("explore"), &json!(2_000))
    );
    // It knows its prompt, its role and nothing of the conversation; its tools change nothing.
    let first = bench.request(1);
    assert_eq!(says(&first), "Find the door.");
    assert!(
        first
            .system_text()
            .contains("# Role: explore\nYou find things out")
    );
    assert!(!String::from_utf8_lossy(&first.prompt_bytes()).contains("\"go\""));
    let tools = first.tool_names();
    for (name, there) in [
        ("grep", true),
        ("bash", true),
        ("write_file", false),
        ("task", false),
    ] {
        assert_eq!(
            tools.contains(&name.to_owned()),
            there,
            "{name} in {tools:?}"
        );
    }
    // Its log names whose it is.
    let id = data["session"].as_str().unwrap();
    let (entries, _) = bench.store().read(id).unwrap();
    let Body::Meta(meta) = &entries[0].body else {
        panic!("{entries:?}");
    };
    let link = meta.child_of.as_ref().unwrap();
    assert_eq!(
        (link.session.as_str(), link.role.as_str()),
        (parent.as_str(), "explore")
    );
    let read = bench.request(3).tool_results();
    assert!(
        read[0]
            .1
            .starts_with("At src/door.rs:1.\n[explore · session "),
        "{read:?}"
    );
    // What it was at was shown at its call.
    let progress = shown.deltas.iter().find_map(|delta| match delta {
        Delta::Progress { name, text, .. } if name == "read_only_task" && text.contains("ls") => {
            Some(text)
        }
        _ => None,
    });
    assert!(
        progress.unwrap().starts_with("t1 explore · "),
        "{progress:?}"
    );
    let agents = session.command("agents").await.plain(None);
    assert!(
        agents.contains("builder") && agents.contains(&id[..8]),
        "{agents}"
    );
    session.close().await;
}

#[tokio::test]
async fn tasks_of_one_answer_run_at_once_and_their_results_keep_the_order() {
    let task = |n: usize| ("task", json!({"prompt": format!("number {n}")}));
    let under_way = Arc::new(AtomicUsize::new(0));
    let seen = under_way.clone();
    let server = delegating((0..4).map(task).collect(), move |request| {
        seen.fetch_add(1, Ordering::SeqCst);
        while seen.load(Ordering::SeqCst) < 4 {
            std::thread::yield_now();
        }
        Step::answer().text(&says(request))
    });
    let bench = Bench::with(Kind::Chat, server);
    let shown = outcome(&bench, trusting).await;
    let texts: Vec<Value> = shown
        .results()
        .iter()
        .map(|r| r["data"]["text"].clone())
        .collect();
    assert_eq!(texts, ["number 0", "number 1", "number 2", "number 3"]);
}

#[tokio::test]
async fn no_more_run_at_once_than_may() {
    let task = |n: usize| ("read_only_task", json!({"prompt": format!("number {n}")}));
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (running, seen) = (now.clone(), most.clone());
    let server = delegating((0..9).map(task).collect(), move |request| {
        let n = running.fetch_add(1, Ordering::SeqCst) + 1;
        seen.fetch_max(n, Ordering::SeqCst);
        std::thread::sleep(std::time::Duration::from_millis(20));
        running.fetch_sub(1, Ordering::SeqCst);
        Step::answer().text(&says(request))
    });
    let bench = Bench::with(Kind::Chat, server);
    let shown = outcome(&bench, agents(|settings| settings.max_children = 2)).await;
    assert_eq!(shown.codes(), ["ok"; 9]);
    assert!(most.load(Ordering::SeqCst) <= 2);
}

#[tokio::test]
async fn what_goes_wrong_with_a_child_is_said() {
    let ask = |role: &str| vec![("task", json!({"prompt": "do it", "role": role}))];
    let fine = |_: &Captured| Step::answer().text("Fine.");
    type Child = Box<dyn Fn(&Captured) -> Step + Send + Sync>;
    type Case = (
        &'static str,
        Vec<(&'static str, Value)>,
        Child,
        &'static str,
        &'static str,
    );
    let cases: Vec<Case> = vec![
        (
            "no such role",
            ask("nobody"),
            Box::new(fine),
            "unknown_role",
            "Roles: builder, critic",
        ),
        (
            "the planner is none",
            ask("planner"),
            Box::new(fine),
            "unknown_role",
            "no role `planner`",
        ),
        (
            "switched off",
            ask("off"),
            Box::new(fine),
            "role_disabled",
            "switched off",
        ),
        (
            "unknown model",
            ask("lost"),
            Box::new(fine),
            "not_started",
            "There is no model nowhere/x. Use another role, or have the person set `model` in [roles.lost].",
        ),
        (
            "nothing to do",
            vec![("task", json!({"prompt": " "}))],
            Box::new(fine),
            "invalid_input",
            "say what",
        ),
        (
            "it fails",
            ask("builder"),
            Box::new(|_| Step::status(400, "no")),
            "child_failed",
            "Do not take its work for done",
        ),
        (
            "it says nothing",
            ask("builder"),
            Box::new(|_| Step::answer().text("")),
            "child_failed",
            "Do not take its work for done",
        ),
        (
            "it hangs",
            ask("slow"),
            Box::new(|_| Step::answer().text("Half").stall(Place::Text(1))),
            "timeout",
            "ran out of time after",
        ),
        (
            "a tree without a repository",
            vec![("task", json!({"prompt": "x", "worktree": true}))],
            Box::new(fine),
            "no_repository",
            "Call it again without worktree",
        ),
    ];
    for (name, calls, child, code, part) in cases {
        let bench = Bench::with(Kind::Chat, delegating(calls, child));
        let shown = outcome(
            &bench,
            agents(|settings| {
                let with = |settings: RoleSettings| settings;
                settings.roles.insert(
                    "off".into(),
                    with(RoleSettings {
                        enabled: Some(false),
                        ..RoleSettings::default()
                    }),
                );
                settings.roles.insert(
                    "lost".into(),
                    with(RoleSettings {
                        model: Some("ostler/nowhere/x".into()),
                        ..RoleSettings::default()
                    }),
                );
                settings.roles.insert(
                    "slow".into(),
                    with(RoleSettings {
                        prompt: Some("Slow.".into()),
                        timeout_secs: Some(1),
                        ..RoleSettings::default()
                    }),
                );
            }),
        )
        .await;
        let (got, message) = error(&shown);
        assert_eq!(
            (got.as_str(), message.contains(part)),
            (code, true),
            "{name}: {message}"
        );
        // The parent goes on and ends well.
        assert_eq!(shown.outcome(), Some(Outcome::Done), "{name}");
    }
}

#[tokio::test]
async fn stopping_the_turn_stops_the_tree_below_it() {
    let server = Server::answering(|request| {
        let deeper = json!({"prompt": "deeper", "role": "critic"});
        match role(request).as_deref() {
            None => Step::answer().call("task", json!({"prompt": "deep"})),
            Some("builder") => Step::answer().call("read_only_task", deeper),
            Some(_) => Step::answer().text("Half").stall(Place::Text(1)),
        }
    });
    let bench = Bench::with(Kind::Chat, server);
    let mut session = bench.open_with(Open::New, trusting).await;
    session.prompt("go", Delivery::Queue).await;
    bench.asked(3).await;
    session.send(Op::Interrupt).await;
    let shown = session.finish().await;
    assert_eq!(shown.outcome(), Some(Outcome::Interrupted));
    assert_eq!(shown.codes(), ["interrupted"]);
    session.close().await;
    bench.server.wait_gone(2);
    for info in bench.store().list().unwrap() {
        let log = bench.space.read(bench.store().path_of(&info.id));
        assert!(log.contains(r#""outcome":"interrupted""#), "{log}");
    }
    assert_eq!(bench.store().list().unwrap().len(), 3);
}

/// A session whose child has begun to answer and hangs.
async fn half_done() -> (Bench, Session) {
    let server = delegating(vec![("task", json!({"prompt": "x"}))], |_| {
        Step::answer().text("Half of it").stall(Place::Text(1))
    });
    let bench = Bench::with(Kind::Chat, server);
    let session = bench.open_with(Open::New, trusting).await;
    session.prompt("go", Delivery::Queue).await;
    bench.asked(2).await;
    (bench, session)
}

#[tokio::test]
async fn the_person_can_stop_a_child_and_the_parent_goes_on() {
    let (_bench, mut session) = half_done().await;
    let View::Table(table) = session.command("ps").await else {
        panic!();
    };
    let rows = table.texts();
    assert_eq!(
        (rows[0][0].as_str(), rows[0][3].as_str()),
        ("t1", "builder: x")
    );
    session.command("kill t1").await;
    let shown = session.finish().await;
    assert_eq!(shown.codes(), ["stopped"]);
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    session.close().await;
}

#[tokio::test]
async fn circles_end_at_the_depth_limit() {
    let server = Server::answering(|request| match request.tool_results().last() {
        None => Step::answer().call("task", json!({"prompt": "again"})),
        Some((_, text, _)) => Step::answer().text(text),
    });
    let bench = Bench::with(Kind::Chat, server);
    let shown = outcome(&bench, trusting).await;
    let text = shown.results()[0]["data"]["text"].to_string();
    assert!(
        text.contains("too_deep") && text.contains("Do the work yourself"),
        "{text}"
    );
    // The person's own, one below, and one below that.
    assert_eq!(bench.store().list().unwrap().len(), 3);
}

#[tokio::test]
async fn who_sends_the_same_task_again_and_again_is_stopped() {
    let server = Server::answering(|request| match role(request) {
        Some(_) => Step::status(400, "no"),
        None => Step::answer().call("task", json!({"prompt": "the same"})),
    });
    let bench = Bench::with(Kind::Chat, server);
    let shown = outcome(&bench, trusting).await;
    assert_eq!(shown.outcome(), Some(Outcome::Error));
    assert_eq!(shown.error().unwrap().0, "repeated_calls");
    assert_eq!(shown.codes(), ["child_failed"; 4]);
}

#[tokio::test]
async fn the_last_session_is_the_persons_own() {
    let server = delegating(vec![("task", json!({"prompt": "x"}))], |_| {
        Step::answer().text("Done.")
    });
    let bench = Bench::with(Kind::Chat, server);
    let mut session = bench.open_with(Open::New, trusting).await;
    let shown = session.run("go").await;
    let (own, child) = (session.id(), shown.results()[0]["data"]["session"].clone());
    session.close().await;
    // The child's log is the newer one.
    let path = bench.store().path_of(child.as_str().unwrap());
    let file = std::fs::File::options().append(true).open(path).unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    file.set_modified(later).unwrap();
    let last = bench.store().last().unwrap();
    assert_eq!(last, bench.store().path_of(&own));
}

#[tokio::test]
async fn asks_of_children_come_to_the_person_by_name() {
    for (below, name) in [(false, "t1 builder"), (true, "t1 sprinter › t1 builder")] {
        let server = Server::answering(move |request| {
            let done = !request.tool_results().is_empty();
            match role(request).as_deref() {
                _ if done => Step::answer().text("Done."),
                None if below => {
                    Step::answer().call("task", json!({"prompt": "x", "role": "sprinter"}))
                }
                None | Some("sprinter") => Step::answer().call("task", json!({"prompt": "x"})),
                Some(_) => Step::answer().call("bash", json!({"command": "touch made"})),
            }
        });
        let bench = Bench::with(Kind::Chat, server);
        let ask_first = |options: &mut HubSettings| {
            options.run.interactive = true;
            options.permissions.policy.rules.allow = vec![Rule::parse("Delegate", "x").unwrap()];
        };
        let mut session = bench.open_with(Open::New, ask_first).await;
        session.prompt("go", Delivery::Queue).await;
        let shown = session
            .watch(async |session, event| {
                if let Event::Ask(ask) = event {
                    session.send(Session::answer(ask, "once", None)).await;
                }
            })
            .await;
        let asks: Vec<_> = shown
            .asks
            .iter()
            .map(|a| (a.from.as_deref(), a.subject.as_str()))
            .collect();
        assert_eq!(asks, [(Some(name), "bash: touch made")]);
        assert!(bench.space.exists("made"));
        session.close().await;
    }
}

#[tokio::test]
async fn children_without_a_person_do_as_the_headless() {
    for (headless, made) in [(false, false), (true, true)] {
        let server = delegating(
            vec![("task", json!({"prompt": "x"}))],
            |request| match request.tool_results().is_empty() {
                true => Step::answer().call("bash", json!({"command": "touch made"})),
                false => Step::answer().text("Done."),
            },
        );
        let bench = Bench::with(Kind::Chat, server);
        let change = |options: &mut HubSettings| {
            options.run.interactive = true;
            options.permissions.policy.rules.allow = vec![Rule::parse("Delegate", "x").unwrap()];
            options.permissions.policy.headless = match headless {
                true => ostler_guard::Headless::Allow,
                false => ostler_guard::Headless::Deny,
            };
            let attended = false;
            options.agents = Arc::new(AgentSettings {
                attended,
                ..AgentSettings::default()
            });
        };
        let shown = outcome(&bench, change).await;
        assert!(
            shown.asks.is_empty() && shown.codes() == ["ok"],
            "{shown:?}"
        );
        assert_eq!(bench.space.exists("made"), made);
    }
}

/// What a call becomes in each mode, and whether the person is asked.
#[tokio::test]
async fn modes_and_kinds_of_tasks() {
    let task = |tool: &'static str| (tool, json!({"prompt": "x"}));
    let skill = |tool: &'static str, name: &str| (tool, json!({"name": name}));
    let reader = ("task", json!({"prompt": "x", "role": "explore"}));
    let ask = (Mode::Normal, Posture::Ask);
    let auto = (Mode::Normal, Posture::Auto);
    let plan = (Mode::Plan, Posture::Yolo);
    for ((mode, posture), call, rule, code, asked) in [
        (ask, task("task"), "", "ok", 1),
        (ask, reader.clone(), "", "ok", 0),
        (plan, reader.clone(), "", "plan_mode", 0),
        (auto, reader, "Delegate(explore)", "blocked", 0),
        (ask, task("read_only_task"), "", "ok", 0),
        (ask, skill("skill", "commit"), "", "ok", 0),
        (ask, skill("skill", "explore"), "", "ok", 1),
        (ask, skill("read_only_skill", "explore"), "", "ok", 0),
        (ask, skill("read_only_skill", "commit"), "", "ok", 0),
        (auto, task("task"), "", "ok", 0),
        (auto, skill("skill", "explore"), "", "ok", 0),
        (plan, task("task"), "", "plan_mode", 0),
        (plan, skill("skill", "commit"), "", "plan_mode", 0),
        (plan, skill("skill", "explore"), "", "plan_mode", 0),
        (plan, task("read_only_task"), "", "ok", 0),
        (plan, skill("read_only_skill", "commit"), "", "ok", 0),
        (auto, task("task"), "Delegate(builder)", "blocked", 0),
        (auto, task("task"), "Delegate(explore)", "ok", 0),
        (
            auto,
            task("read_only_task"),
            "Delegate(explore)",
            "blocked",
            0,
        ),
        (auto, task("read_only_task"), "Delegate", "blocked", 0),
        (
            auto,
            skill("read_only_skill", "commit"),
            "Delegate",
            "blocked",
            0,
        ),
    ] {
        let name = format!("{mode:?} {posture:?} {call:?} {rule}");
        let bench = Bench::with(
            Kind::Chat,
            delegating(vec![call], |_| Step::answer().text("Found.")),
        );
        let change = |options: &mut HubSettings| {
            options.run.interactive = true;
            options.permissions.mode = Some(mode);
            options.permissions.policy.posture = posture;
            if !rule.is_empty() {
                options.permissions.policy.rules.deny = vec![Rule::parse(rule, "x").unwrap()];
            }
        };
        let mut session = bench.open_with(Open::New, change).await;
        session.prompt("go", Delivery::Queue).await;
        let shown = session
            .watch(async |session, event| {
                if let Event::Ask(ask) = event {
                    session.send(Session::answer(ask, "once", None)).await;
                }
            })
            .await;
        assert_eq!(shown.codes(), [code], "{name}");
        assert_eq!(shown.asks.len(), asked, "{name}: {:?}", shown.asks);
        session.close().await;
    }
}

/// Sub-agents of one role that one answer starts are asked about in one question, and the answer is for all of them.
#[tokio::test]
async fn a_batch_is_asked_about_once() {
    for (choice, code) in [("once", "ok"), ("deny", "denied")] {
        let task = |n: usize| ("task", json!({"prompt": format!("number {n}")}));
        let bench = Bench::with(
            Kind::Chat,
            delegating(vec![task(1), task(2), task(3)], |_| {
                Step::answer().text("Found.")
            }),
        );
        let attended = |options: &mut HubSettings| options.run.interactive = true;
        let mut session = bench.open_with(Open::New, attended).await;
        session.prompt("go", Delivery::Queue).await;
        let shown = session
            .watch(async |session, event| {
                if let Event::Ask(ask) = event {
                    session.send(Session::answer(ask, choice, None)).await;
                }
            })
            .await;
        assert_eq!(shown.codes(), [code, code, code]);
        let asked: Vec<(&str, &str)> = shown
            .asks
            .iter()
            .map(|ask| (ask.title.as_str(), ask.subject.as_str()))
            .collect();
        let listed = "task:\n1. builder: number 1\n2. builder: number 2\n3. builder: number 3";
        assert_eq!(asked, [("Start these sub-agents?", listed)]);
        session.close().await;
    }
}

#[tokio::test]
async fn who_only_reads_changes_nothing_whatever_it_tries() {
    let tries = [
        ("bash", json!({"command": "touch made"})),
        ("bash", json!({"command": "ls"})),
        ("write_file", json!({"path": "made", "content": "x"})),
        ("task", json!({"prompt": "touch made"})),
    ];
    let server = delegating(
        vec![("read_only_task", json!({"prompt": "x", "role": "builder"}))],
        move |request| match request.tool_results().is_empty() {
            true => Step::answer().calls(tries.clone()),
            false => {
                let results = request.tool_results();
                let texts: Vec<&str> = results
                    .iter()
                    .map(|(_, text, _)| text.lines().next().unwrap_or_default())
                    .collect();
                Step::answer().text(&texts.join("\n"))
            }
        },
    );
    let bench = Bench::with(Kind::Chat, server);
    let shown = outcome(&bench, trusting).await;
    assert!(!bench.space.exists("made"));
    let text = shown.results()[0]["data"]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("Error (read_only): Not run: you play a role that changes nothing"),
        "{text}"
    );
    assert!(lines[2].starts_with("Error (unknown_tool)"), "{text}");
    assert!(lines[3].starts_with("Error (unknown_tool)"), "{text}");
}

#[tokio::test]
async fn a_parent_that_was_killed_says_that_its_child_was_lost() {
    let (bench, mut session) = half_done().await;
    // As a kill leaves it: the log up to here, in another place.
    let (id, bytes) = (session.id(), session.bytes());
    session.send(Op::Interrupt).await;
    session.finish().await;
    let path = session.log.clone();
    session.close().await;
    std::fs::write(path, bytes).unwrap();
    let mut session = bench.open_with(Open::Resume(id), trusting).await;
    let shown = session.run("and now?").await;
    assert_eq!(shown.codes(), ["interrupted"]);
    session.close().await;
}

#[tokio::test]
async fn a_planner_plans_and_the_other_model_carries_it_out() {
    let server = Server::answering(|request| match role(request).as_deref() {
        Some("planner") if request.tool_results().is_empty() => {
            Step::answer().call("ls", json!({}))
        }
        Some("planner") => Step::answer().text(&format!("1. Do {}.", says(request))),
        _ => Step::answer().text("Done it."),
    });
    let bench = Bench::with(Kind::Chat, server);
    let planned = || {
        agents(|settings| {
            settings.planner = Some(ostler_engine::agents::PlannerSettings {
                model: "mock/planner".into(),
                max_steps: 0,
            });
        })
    };
    let mut session = bench.open_with(Open::New, planned()).await;
    let shown = session.run("first thing").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    let notices: Vec<String> = shown
        .entries
        .iter()
        .filter_map(|e| match &e.body {
            Body::Notice(notice) => Some(notice.text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(notices, ["Plan:\n1. Do first thing."]);
    let [plans, looks, does] = [0, 1, 2].map(|n| bench.request(n));
    assert_eq!(
        [plans.model(), looks.model(), does.model()],
        ["planner", "planner", "mock-model"]
    );
    assert!(!plans.tool_names().contains(&"write_file".to_owned()));
    let told = does.last_user_text();
    assert!(
        told.contains("<plan>\n1. Do first thing.\n</plan>"),
        "{told}"
    );
    // Each goes on with its own prompt.
    session.run("second thing").await;
    let all = bench.server.requests();
    let planner: Vec<Vec<u8>> = all
        .iter()
        .filter(|r| r.model() == "planner")
        .map(Captured::prompt_bytes)
        .collect();
    let doer: Vec<Vec<u8>> = all
        .iter()
        .filter(|r| r.model() != "planner")
        .map(Captured::prompt_bytes)
        .collect();
    for pair in planner.windows(2).chain(doer.windows(2)) {
        assert!(pair[1].starts_with(&pair[0]));
    }
    let last = String::from_utf8_lossy(planner.last().unwrap()).into_owned();
    assert!(last.contains("ended its turn with: Done it."), "{last}");
    let id = session.id().to_owned();
    session.close().await;
    // So does the planner of a session that is resumed.
    let mut session = bench.open_with(Open::Resume(id), planned()).await;
    let shown = session.run("third thing").await;
    let children: Vec<&ostler_wire::Child> = shown
        .entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Child(child) => Some(child),
            _ => None,
        })
        .collect();
    let [child] = children.as_slice() else {
        panic!("one planner: {children:?}");
    };
    assert_eq!(
        (child.role.as_str(), child.outcome, &child.tool_use_id),
        ("planner", ostler_wire::ChildOutcome::Done, &None)
    );
    let again = bench.server.requests();
    let again = again.iter().rfind(|r| r.model() == "planner").unwrap();
    assert!(again.prompt_bytes().starts_with(planner.last().unwrap()));
    session.close().await;
}

#[tokio::test]
async fn without_a_plan_the_turn_goes_on() {
    let server = Server::answering(|request| match role(request) {
        Some(_) => Step::status(400, "no"),
        None => Step::answer().text("Done it."),
    });
    let bench = Bench::with(Kind::Chat, server);
    for (model, part) in [("mock/planner", "no"), ("nowhere/x", "There is no model")] {
        let planned = agents(|settings| {
            settings.planner = Some(ostler_engine::agents::PlannerSettings {
                model: model.into(),
                max_steps: 3,
            });
        });
        let shown = outcome(&bench, planned).await;
        assert_eq!(shown.outcome(), Some(Outcome::Done));
        let said = format!("{:?}", shown.entries);
        assert!(
            said.contains("The planner gave no plan") && said.contains(part),
            "{said}"
        );
    }
}

fn git(bench: &Bench, args: &[&str]) -> String {
    let out = std::process::Command::new("git")
        .args([
            "-c",
            "user.name=T",
            "-c",
            "user.email=t@localhost",
            "-c",
            "commit.gpgSign=false",
        ])
        .args(args)
        .current_dir(bench.space.root())
        .output()
        .unwrap();
    assert!(out.status.success(), "{args:?}: {out:?}");
    String::from_utf8(out.stdout).unwrap()
}

#[tokio::test]
async fn writers_in_worktrees_leave_branches_and_a_report() {
    let calls: Vec<(&str, Value)> = ["one", "two", "none"]
        .map(|name| ("task", json!({"prompt": name, "worktree": true})))
        .to_vec();
    let server = delegating(calls, |request| {
        let name = says(request);
        match (name.as_str(), request.tool_results().is_empty()) {
            ("none", _) | (_, false) => Step::answer().text("Done."),
            (_, true) => Step::answer().calls([
                ("write_file", json!({"path": "shared.txt", "content": name})),
                ("bash", json!({"command": format!("echo x > {name}.txt")})),
            ]),
        }
    });
    let bench = Bench::with(Kind::Chat, server);
    git(&bench, &["init", "-q", "-b", "main"]);
    bench.space.write("shared.txt", "old");
    git(&bench, &["add", "."]);
    git(&bench, &["commit", "-qm", "begin"]);
    bench.space.write("two.txt", "mine");
    let shown = outcome(&bench, trusting).await;
    assert_eq!(shown.codes(), ["ok"; 3]);
    let results = shown.results();
    let [one, two, none] = [0, 1, 2].map(|n| &results[n]["data"]["worktree"]);
    assert_eq!(none, &json!({"unchanged": true}));
    assert_eq!(one["files"], json!(["A\tone.txt", "M\tshared.txt"]));
    assert_eq!(
        (&one["clean"], &one["in_the_way"]),
        (&json!(true), &json!([]))
    );
    assert_eq!(two["in_the_way"], json!(["two.txt"]));
    // The person's own tree is as it was, and what was done can be taken.
    assert_eq!(bench.space.read("shared.txt"), "old");
    assert!(!bench.space.exists("one.txt"));
    let branch = one["branch"].as_str().unwrap();
    git(&bench, &["merge", "-q", branch]);
    assert_eq!(bench.space.read("shared.txt"), "one");
    // Two trees are left, both outside of the repository.
    let trees = git(&bench, &["worktree", "list"]);
    assert_eq!(trees.lines().count(), 3, "{trees}");
    let path = std::path::Path::new(one["path"].as_str().unwrap());
    assert!(path.starts_with(bench.space.home()), "{path:?}");
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{path:?}");
    }
    let told = bench.server.requests().last().unwrap().tool_results();
    assert!(
        told[0].1.contains("It merges cleanly into HEAD.")
            && told[0].1.contains("Take: git merge ostler/"),
        "{told:?}"
    );
    // A second one now conflicts with what was merged.
    let branch = two["branch"].as_str().unwrap();
    let tried = std::process::Command::new("git")
        .args(["merge-tree", "--write-tree", "HEAD", branch])
        .current_dir(bench.space.root())
        .output()
        .unwrap();
    assert!(!tried.status.success());
}

/// Rules are written for the project: they hold in its copy, and for the project itself as seen from the copy.
#[tokio::test]
async fn deny_rules_hold_in_a_worktree_and_in_the_tree_it_is_a_copy_of() {
    let calls = vec![("task", json!({"prompt": "x", "worktree": true}))];
    let root = Arc::new(std::sync::Mutex::new(String::new()));
    let known = root.clone();
    let server = delegating(calls, move |request| {
        let root = known.lock().unwrap().clone();
        let of = |name: &str| format!("{root}/{name}");
        match request.tool_results().is_empty() {
            true => Step::answer().calls([
                ("read_file", json!({"path": of(".env")})),
                ("read_file", json!({"path": of("secrets/k.txt")})),
                ("grep", json!({"pattern": ".", "path": of("secrets")})),
                ("bash", json!({"command": format!("cat {}", of(".env"))})),
                ("read_file", json!({"path": "secrets/k.txt"})),
                (
                    "write_file",
                    json!({"path": "src/main.rs", "content": "EVIL"}),
                ),
                ("bash", json!({"command": "echo EVIL > src/new.rs"})),
                ("write_file", json!({"path": "free.rs", "content": "fine"})),
            ]),
            false => Step::answer().text("Done."),
        }
    });
    let bench = Bench::with(Kind::Chat, server);
    *root.lock().unwrap() = bench.space.root().display().to_string();
    git(&bench, &["init", "-q", "-b", "main"]);
    for name in [".env", "secrets/k.txt", "src/main.rs"] {
        bench.space.write(name, "KEY");
    }
    git(&bench, &["add", "."]);
    git(&bench, &["commit", "-qm", "begin"]);
    let shown = outcome(&bench, |options| {
        trusting(options);
        let deny = ["Read(.env)", "Read(secrets/**)", "Edit(./src/**)"];
        let deny = deny.map(|rule| Rule::parse(rule, "x:1").unwrap());
        options.permissions.policy.rules.deny.extend(deny);
    })
    .await;
    assert_eq!(shown.codes(), ["ok"]);
    let child = bench.server.requests();
    let results = child
        .iter()
        .map(|request| request.tool_results())
        .find(|results| results.len() == 8)
        .expect("the results of the child");
    for (n, (_, text, _)) in results.iter().enumerate() {
        assert!(!text.contains("KEY"), "{n}: {text}");
        // A search passes over what may not be read.
        let refused = ["rule", "may not be", "no file to search"];
        let refused = refused.iter().any(|words| text.contains(words));
        assert_eq!(n < 7, refused, "{n}: {text}");
    }
}

fn skilled(bench: &Bench) -> impl Fn(&mut HubSettings) + use<> {
    let path = bench.space.home().join("skills");
    move |options| {
        trusting(options);
        let mut settings = AgentSettings::default();
        settings.skills.sources = vec![ostler_engine::sources::Source {
            path: path.clone(),
            owner: ostler_engine::sources::Owner::Person,
        }];
        settings.models.insert("apart".into(), "mock/other".into());
        options.agents = Arc::new(settings);
    }
}

fn put_skill(bench: &Bench, name: &str, text: &str) {
    let folder = bench.space.home().join("skills").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
}

#[tokio::test]
async fn skills_are_followed_here_or_apart() {
    let calls = vec![
        ("skill", json!({"name": "here", "arguments": "a b"})),
        ("skill", json!({"name": "apart", "arguments": "c"})),
        ("skill", json!({"name": "nothing like it"})),
        ("skill", json!({"name": "private"})),
    ];
    let server = delegating(calls, |request| {
        Step::answer().text(&format!("{} by {}", says(request), request.model()))
    });
    let bench = Bench::with(Kind::Chat, server);
    put_skill(
        &bench,
        "here",
        "---\ndescription: Do it here\n---\nFirst $1, then $2. See more.md.",
    );
    std::fs::write(bench.space.home().join("skills/here/more.md"), "x").unwrap();
    put_skill(
        &bench,
        "apart",
        "---\ndescription: Do it apart\nrunAs: subagent\nrole: explore\n---\nLook: !`echo seen`\nFind $1",
    );
    put_skill(
        &bench,
        "private",
        "---\ndisable-model-invocation: true\n---\nx",
    );
    let mut session = bench.open_with(Open::New, skilled(&bench)).await;
    let shown = session.run("go").await;
    assert_eq!(
        shown.codes(),
        ["ok", "ok", "unknown_skill", "unknown_skill"]
    );
    let results = shown.results();
    let here = results[0]["data"]["text"].as_str().unwrap();
    assert!(
        here.contains("when the text speaks of them: more.md]")
            && here.ends_with("First a, then b. See more.md."),
        "{here}"
    );
    assert_eq!(results[1]["data"]["text"], "Find c by other");
    let child = bench
        .server
        .requests()
        .into_iter()
        .find(|r| role(r).is_some())
        .unwrap();
    assert!(
        child.last_user_text().contains("Look: seen"),
        "{}",
        child.last_user_text()
    );
    // Names and descriptions are in the prompt, texts are not.
    let system = bench.request(0).system_text();
    assert!(
        system.contains("- apart: Do it apart\n")
            && !system.contains("First $1")
            && !system.contains("private"),
        "{system}"
    );
    let list = session.command("skills").await.menu().unwrap();
    assert!(list.items.iter().any(|item| item.label == "private"));
    session.close().await;
}

#[tokio::test]
async fn a_skill_that_calls_itself_comes_to_an_end() {
    // Apart: one below the other until the limit; here: the same call again and again until the turn ends.
    for (name, run_as, expect) in [
        ("apart", "subagent", Outcome::Done),
        ("here", "inline", Outcome::Error),
    ] {
        let server = Server::answering(move |request| match request.tool_results().last() {
            Some((_, text, _)) if name == "apart" => Step::answer().text(text),
            _ => Step::answer().call("skill", json!({"name": name})),
        });
        let bench = Bench::with(Kind::Chat, server);
        put_skill(
            &bench,
            name,
            &format!("---\nrunAs: {run_as}\n---\nCall {name}."),
        );
        let shown = outcome(&bench, skilled(&bench)).await;
        assert_eq!(shown.outcome(), Some(expect), "{name}");
    }
}

#[tokio::test]
async fn skills_are_commands_of_the_person_too() {
    let server = Server::answering(|request| Step::answer().text(&request.last_user_text()));
    let bench = Bench::with(Kind::Chat, server);
    put_skill(
        &bench,
        "here",
        "---\ndescription: x\n---\nDo $ARGUMENTS here.",
    );
    put_skill(
        &bench,
        "apart",
        "---\nrunAs: subagent\n---\nDo $ARGUMENTS apart.",
    );
    let mut session = bench.open_with(Open::New, skilled(&bench)).await;
    for (line, part) in [
        ("here this", "Do this here."),
        (
            "apart that",
            "Call skill with the name apart and the arguments: that.",
        ),
        ("review", "Call read_only_skill with the name review."),
    ] {
        session.send(Op::Command { line: line.into() }).await;
        let shown = session.finish().await;
        assert!(shown.text().contains(part), "{line}: {}", shown.text());
    }
    session.close().await;
}

/// Many children in parallel against a budget that is too small for all. `OSTLER_CHILD_RUNS=100` is the full run.
#[tokio::test]
async fn fifty_children_at_once_lose_no_result_and_no_money() {
    const CHILDREN: usize = 50;
    const LIMIT: u64 = 150_000;
    let runs = std::env::var("OSTLER_CHILD_RUNS").ok();
    let runs: usize = runs.and_then(|n| n.parse().ok()).unwrap_or(2);
    let usage = Usage {
        input: 2_000,
        output: 100,
        ..Usage::default()
    };
    for run in 0..runs {
        let task = |n: usize| ("read_only_task", json!({"prompt": format!("number {n}")}));
        let server = delegating(
            (0..CHILDREN).map(task).collect(),
            move |request| match request.tool_results().len() {
                0 => Step::answer().call("time", json!({})).usage(usage),
                _ => Step::answer().text(&says(request)).usage(usage),
            },
        );
        let bench = Bench::with(Kind::Chat, server);
        let ledger = ostler_engine::ledger::Ledger::new(bench.space.home());
        let limits = ostler_engine::budget::Limits {
            session: ostler_engine::budget::Limit {
                usd: None,
                tokens: Some(LIMIT),
            },
            ..Default::default()
        };
        let budget = ostler_engine::budget::Budget::new(limits, ledger.clone());
        let change = |options: &mut HubSettings| {
            options.model.params.max_tokens = Some(100);
            options.model.budget = budget.clone();
            options.agents = Arc::new(AgentSettings {
                max_children: CHILDREN,
                ..AgentSettings::default()
            });
        };
        let shown = outcome(&bench, change).await;
        let results = shown.results();
        assert_eq!(results.len(), CHILDREN, "run {run}");
        for (n, result) in results.iter().enumerate() {
            let text = result["data"]["text"].as_str();
            let why = result["error"]["message"].as_str().unwrap_or_default();
            assert!(
                text == Some(&format!("number {n}")) || why.contains("budget"),
                "run {run}: {result}"
            );
        }
        let lines = ledger.lines().unwrap();
        let spent: u64 = lines.iter().map(|l| l.tokens.input + l.tokens.output).sum();
        assert!(spent <= LIMIT, "run {run}: {spent}");
        let lost = results.iter().filter(|r| r["ok"] != true).count();
        assert!(
            lost > 0 && lost < CHILDREN,
            "run {run}: {lost} without an answer"
        );
    }
}

#[tokio::test]
#[expect(clippy::print_stderr, reason = "its figures are for people")]
#[ignore = "prints figures for a quiet machine: cargo test --release -p ostler-engine --test all starting_a_child -- --ignored --nocapture"]
async fn starting_a_child() {
    use std::time::{Duration, Instant};
    let server = Server::answering(
        |request| match (role(request), request.tool_results().len()) {
            (Some(_), _) => Step::answer().text("Done."),
            (None, 0) => Step::answer().call("time", json!({})),
            (None, 1) => Step::answer().call("read_only_task", json!({"prompt": "x"})),
            (None, _) => Step::answer().text("All done."),
        },
    );
    let bench = Bench::with(Kind::Chat, server);
    for n in 0..100 {
        put_skill(
            &bench,
            &format!("s{n}"),
            &format!("---\ndescription: Number {n}\n---\n{}", "word ".repeat(500)),
        );
    }
    let sent = |request: &Captured| match request.fate {
        Fate::Sent(at) => at,
        other => panic!("{other:?}"),
    };
    let mut times: [Vec<Duration>; 3] = Default::default();
    for _ in 0..20 {
        let mut session = bench.open_with(Open::New, skilled(&bench)).await;
        let before = bench.server.requests().len();
        let since = Instant::now();
        session.run("go").await;
        session.close().await;
        let all = bench.server.requests();
        let [first, second, child] = [0, 1, 2].map(|n| &all[before + n]);
        times[0].push(first.at - since);
        times[1].push(second.at - sent(first));
        times[2].push(child.at - sent(second));
    }
    let [prompt, next, child] = times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    });
    eprintln!(
        "to a request: from a prompt {prompt:?}, from an answer with a quick call {next:?}, from one with a task to the child's {child:?}"
    );
}

/// The rules of a skill that the model calls hold as if the person had called it: in that turn, and against no rule.
#[tokio::test]
async fn what_a_skill_allows_ends_with_the_turn_whoever_calls_it() {
    use ostler_guard::{Rule, Rules};
    let text = "---\ndescription: Tag it\nallowed-tools: Bash(touch:*)\n---\nTouch things.";
    for (by_model, deny, ask, asked, codes) in [
        (true, "", "", 1, ["ok", "ok"]),
        (false, "", "", 1, ["ok", "ok"]),
        (true, "Bash(touch one)", "", 1, ["blocked", "ok"]),
        (true, "", "Bash(touch one)", 2, ["ok", "ok"]),
    ] {
        let touch =
            |name: &str| Step::answer().call("bash", json!({"command": format!("touch {name}")}));
        let mut steps = vec![
            touch("one"),
            Step::answer().text("ok"),
            touch("two"),
            Step::answer().text("ok"),
        ];
        if by_model {
            steps.insert(0, Step::answer().call("skill", json!({"name": "tag"})));
        }
        let bench = Bench::new(Kind::Chat, steps);
        put_skill(&bench, "tag", text);
        let skilled = skilled(&bench);
        let rule = |text: &str| match text {
            "" => Vec::new(),
            text => vec![Rule::parse(text, "test:1").unwrap()],
        };
        let mut session = bench
            .open_with(Open::New, |options| {
                skilled(options);
                options.run.interactive = true;
                options.permissions.policy = ostler_guard::Policy {
                    rules: Rules {
                        deny: rule(deny),
                        ask: rule(ask),
                        ..Rules::default()
                    },
                    ..Default::default()
                };
            })
            .await;
        match by_model {
            true => session.prompt("go", ostler_wire::Delivery::Queue).await,
            false => {
                session
                    .send(ostler_wire::Op::Command { line: "tag".into() })
                    .await
            }
        }
        let (mut found, mut asks) = (Vec::new(), 0);
        for _ in 0..2 {
            let shown = session
                .watch(async |session, event| {
                    if let ostler_wire::Event::Ask(ask) = event {
                        session
                            .send(crate::common::Session::answer(ask, "once", None))
                            .await;
                    }
                })
                .await;
            asks += shown.asks.len();
            let calls = shown.codes();
            found.push(calls.last().unwrap().clone());
            if found.len() == 1 {
                session.prompt("again", ostler_wire::Delivery::Queue).await;
            }
        }
        assert_eq!(found, codes, "{by_model} {deny} {ask}");
        assert_eq!(asks, asked, "{by_model} {deny} {ask}");
        session.close().await;
    }
}

/// A hook at a sub-agent's end is told whose it is, and may send it on.
#[tokio::test]
async fn a_hook_at_the_end_of_a_sub_agent() {
    use ostler_engine::hooks::{Hook, Matcher, Moment};
    let server = delegating(
        vec![("task", json!({"prompt": "look", "role": "explore"}))],
        |request| {
            Step::answer().text(match says(request).contains("not done") {
                true => "all of it",
                false => "half of it",
            })
        },
    );
    let bench = Bench::with(Kind::Chat, server);
    let command = "cat > told.json; grep -q '\"stop_hook_active\":true' told.json || { echo the rest >&2; exit 2; }";
    let hook = |matcher: &str, command: &str| Hook {
        moment: Moment::SubagentStop,
        matcher: Matcher::parse(matcher, "test:1").unwrap(),
        only: None,
        command: command.into(),
        timeout: std::time::Duration::from_secs(20),
        env: Vec::new(),
        from: "test:1".into(),
        on: ostler_engine::hooks::RunsOn::default(),
    };
    let hooks = vec![hook("explore", command), hook("other", "touch never")];
    let mut session = bench
        .open_with(Open::New, |options| {
            trusting(options);
            options.hooks = hooks.clone().into();
        })
        .await;
    let id = session.id();
    let shown = session.run("go").await;
    assert_eq!(shown.results()[0]["data"]["text"], "all of it", "{shown:?}");
    let told: Value = serde_json::from_str(&bench.space.read("told.json")).unwrap();
    assert_eq!(told["hook_event_name"], "SubagentStop");
    assert_eq!(told["agent_type"], "explore");
    assert_eq!(told["session_id"], json!(id));
    assert_eq!(told["last_assistant_message"], "all of it");
    assert_ne!(told["agent_id"], json!(id));
    assert!(!bench.space.exists("never"));
    session.close().await;
}
