//! Sub-agents under attack: killed, lying, out of money, in each other's way, in odd repositories, and when the person
//! changes their mind in the middle.

use crate::common::agents::{delegating, outcome, role, trusting};
use crate::common::{Bench, Session, Shown};
use ostler_engine::HubSettings;
use ostler_engine::agents::{AgentSettings, PlannerSettings};
use ostler_testkit::{Captured, Kind, Place, Server, Step, Usage};
use ostler_wire::{Body, Delivery, Event, Op, Open, Outcome};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The last results that a request tells of, one line each.
fn heard(request: &Captured) -> String {
    let results = request.tool_results();
    let lines = results
        .iter()
        .map(|(_, text, _)| text.lines().next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// A sub-agent that makes these calls at once and then says what it heard.
fn tries(calls: Vec<(&'static str, Value)>) -> impl Fn(&Captured) -> Step {
    move |request| match request.tool_results().is_empty() {
        true => Step::answer().calls(calls.clone()),
        false => Step::answer().text(&heard(request)),
    }
}

fn data(shown: &Shown, n: usize) -> Value {
    shown.results()[n]["data"].clone()
}

#[tokio::test]
async fn a_killed_command_of_a_child_is_the_childs_trouble() {
    let child = tries(vec![("bash", json!({"command": "kill -9 $$"}))]);
    let bench = Bench::with(
        Kind::Chat,
        delegating(vec![("task", json!({"prompt": "x"}))], child),
    );
    let shown = outcome(&bench, trusting).await;
    assert_eq!(
        (shown.codes(), shown.outcome()),
        (vec!["ok".to_owned()], Some(Outcome::Done))
    );
    let text = data(&shown, 0)["text"].to_string();
    assert!(text.contains("137") || text.contains("signal"), "{text}");
}

#[tokio::test]
async fn edits_of_two_children_in_one_file_both_stay() {
    let edit = |n: usize| {
        let (old, new) = (format!("line {n}\n"), format!("new {n}\n"));
        vec![
            ("read_file", json!({"path": "f"})),
            ("edit_file", json!({"path": "f", "old": old, "new": new})),
        ]
    };
    let server = delegating(
        vec![
            ("task", json!({"prompt": "1"})),
            ("task", json!({"prompt": "2"})),
        ],
        move |request| {
            let n = request.last_user_text().trim_end().ends_with('2');
            tries(edit(usize::from(n) + 1))(request)
        },
    );
    let bench = Bench::with(Kind::Chat, server);
    bench.space.write("f", "line 1\nline 2\n");
    let shown = outcome(&bench, trusting).await;
    assert_eq!(shown.codes(), ["ok"; 2]);
    assert_eq!(bench.space.read("f"), "new 1\nnew 2\n");
}

#[tokio::test]
async fn a_file_that_the_other_child_changed_is_not_written_over_unseen() {
    let (read, wrote) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicBool::new(false)),
    );
    let server = delegating(
        vec![
            ("task", json!({"prompt": "late"})),
            ("task", json!({"prompt": "early"})),
        ],
        move |request| {
            let late = request.last_user_text().trim_end().ends_with("late");
            let write = |text: &str| {
                let args = json!({"path": "f", "content": text});
                Step::answer().call("write_file", args)
            };
            let until = |flag: &AtomicBool| {
                while !flag.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
            };
            match (late, request.tool_results().len()) {
                (true, 0) => Step::answer().call("read_file", json!({"path": "f"})),
                (true, 1) => {
                    read.store(true, Ordering::SeqCst);
                    until(&wrote);
                    write("late")
                }
                (false, 0) => {
                    until(&read);
                    write("early")
                }
                (late, _) => {
                    wrote.fetch_or(!late, Ordering::SeqCst);
                    Step::answer().text(&heard(request))
                }
            }
        },
    );
    let bench = Bench::with(Kind::Chat, server);
    bench.space.write("f", "old");
    let shown = outcome(&bench, trusting).await;
    assert_eq!(bench.space.read("f"), "early");
    let late = data(&shown, 0)["text"].to_string();
    assert!(late.contains("Error (stale)"), "{late}");
}

#[tokio::test]
async fn a_budget_that_ends_in_a_child_ends_the_turn_and_nothing_is_lost() {
    let usage = Usage {
        input: 20_000,
        output: 10,
        ..Usage::default()
    };
    let server = Server::answering(move |request| match role(request) {
        Some(_) => Step::answer().call("time", json!({})).usage(usage),
        None => Step::answer().call("read_only_task", json!({"prompt": "x"})),
    });
    let bench = Bench::with(Kind::Chat, server);
    let ledger = ostler_engine::ledger::Ledger::new(bench.space.home());
    let limits = ostler_engine::budget::Limits {
        session: ostler_engine::budget::Limit {
            usd: None,
            tokens: Some(50_000),
        },
        ..Default::default()
    };
    let budget = ostler_engine::budget::Budget::new(limits, ledger);
    let shown = outcome(&bench, |options| {
        trusting(options);
        options.run.interactive = false;
        options.model.params.max_tokens = Some(100);
        options.model.budget = budget.clone();
    })
    .await;
    assert_eq!(shown.outcome(), Some(Outcome::Error));
    assert_eq!(shown.error().unwrap().0, "budget");
    assert_eq!(shown.codes(), ["child_failed"]);
    let told = shown.results()[0]["error"]["message"].to_string();
    assert!(told.contains("budget"), "{told}");
}

/// What a person says while a child works holds for it, and not only when it is through.
#[tokio::test]
async fn a_change_of_mode_or_approval_reaches_a_child_that_works() {
    for (line, expect) in [
        ("plan", "Error (plan_mode)"),
        ("mode next", "Error (plan_mode)"),
        ("mode normal", "Created"),
        ("approve none", "Error (blocked)"),
        ("permissions deny Edit", "Error (blocked)"),
    ] {
        let told = Arc::new(AtomicBool::new(false));
        let seen = told.clone();
        let server = delegating(vec![("task", json!({"prompt": "x"}))], move |request| {
            let write = json!({"path": "made", "content": "x"});
            match request.tool_results().len() {
                0 => Step::answer().call("ls", json!({})),
                1 => {
                    while !seen.load(Ordering::SeqCst) {
                        std::thread::yield_now();
                    }
                    Step::answer().call("write_file", write)
                }
                _ => Step::answer().text(&heard(request)),
            }
        });
        let bench = Bench::with(Kind::Chat, server);
        let mut session = bench.open_with(Open::New, trusting).await;
        session.prompt("go", Delivery::Queue).await;
        bench.asked(3).await;
        let line_sent = Op::Command { line: line.into() };
        session.send(line_sent).await;
        // The child has it when it has shown so itself; a moment is enough for two queues.
        for _ in 0..50 {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        told.store(true, Ordering::SeqCst);
        let shown = session.finish().await;
        let text = data(&shown, 0)["text"].to_string();
        assert!(text.contains(expect), "{line}: {text}");
        assert_eq!(bench.space.exists("made"), expect == "Created", "{line}");
        session.close().await;
    }
}

#[tokio::test]
async fn a_child_asks_and_nobody_is_there() {
    let child = tries(vec![("ask", json!({"question": "Which?"}))]);
    let bench = Bench::with(
        Kind::Chat,
        delegating(vec![("task", json!({"prompt": "x"}))], child),
    );
    let shown = outcome(&bench, |options| {
        trusting(options);
        options.run.interactive = false;
    })
    .await;
    assert_eq!(shown.codes(), ["ok"]);
    let text = data(&shown, 0)["text"].to_string();
    assert!(text.contains("assum"), "{text}");
}

/// Folding the foreground leaves what runs in the background alone, and its end is told.
#[tokio::test]
async fn a_parent_folds_while_a_task_runs() {
    let go = Arc::new(AtomicBool::new(false));
    let may = go.clone();
    let server = Server::answering(move |request| {
        let said = request.last_user_text();
        match said.trim_end().ends_with("behind") {
            true => {
                while !may.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                Step::answer().text("Behind is done.")
            }
            false if said.contains("digest") || said.contains("## Goal") => {
                Step::answer().text("## Goal\nx")
            }
            false if request.tool_results().is_empty() => {
                Step::answer().call("bash", json!({"command": "seq 1 4000"}))
            }
            false => Step::answer().text("Long answer. ".repeat(50).as_str()),
        }
    });
    let bench = Bench::with(Kind::Chat, server);
    let mut session = bench.open_with(Open::New, trusting).await;
    session.run("first").await;
    session.run("second").await;
    let before = bench.server.requests().len();
    session.command("bg behind").await;
    bench.asked(before + 1).await;
    session.command("compact").await;
    assert!(
        session
            .entries()
            .iter()
            .any(|e| matches!(e.body, Body::Compaction(_))),
        "not folded"
    );
    go.store(true, Ordering::SeqCst);
    loop {
        if let Event::Entry(entry) = session.next().await
            && let Body::Notice(notice) = &entry.body
            && notice.text.contains("Behind is done.")
        {
            break;
        }
    }
    session.close().await;
}

fn planned(max_steps: u64) -> impl Fn(&mut HubSettings) {
    move |options| {
        trusting(options);
        options.agents = Arc::new(AgentSettings {
            planner: Some(PlannerSettings {
                model: "mock/planner".into(),
                max_steps,
            }),
            ..AgentSettings::default()
        });
    }
}

#[tokio::test]
async fn a_planner_changes_nothing_and_ends_somewhere() {
    let write = ("write_file", json!({"path": "made", "content": "x"}));
    let run = ("bash", json!({"command": "touch made"}));
    let send = ("task", json!({"prompt": "touch made"}));
    for (steps, max_steps, part) in [
        // It tries to write by every way, and says what came of it.
        (vec![write, run, send], 0, "Error (unknown_tool)"),
        // It never comes to an end by itself.
        (vec![("ls", json!({}))], 1, "The planner gave no plan"),
        // It says nothing.
        (vec![], 0, "The planner gave no plan"),
    ] {
        let asked = steps.clone();
        let server = Server::answering(move |request| match role(request).as_deref() {
            Some("planner") if asked.is_empty() => Step::answer().text(""),
            Some("planner") => match request.tool_results().is_empty() {
                true => Step::answer().calls(asked.clone()),
                false => Step::answer().text(&heard(request)),
            },
            _ => Step::answer().text("Done it."),
        });
        let bench = Bench::with(Kind::Chat, server);
        let shown = outcome(&bench, planned(max_steps)).await;
        assert_eq!(shown.outcome(), Some(Outcome::Done), "{steps:?}");
        let said = format!("{:?}", shown.entries);
        assert!(said.contains(part), "{steps:?}: {said}");
        assert!(!bench.space.exists("made"), "{steps:?}");
    }
}

/// Esc, and another mode, while the planner is at it.
#[tokio::test]
async fn a_planner_can_be_stopped_and_plan_mode_needs_none() {
    let server = Server::answering(|request| match role(request).as_deref() {
        Some("planner") => Step::answer().text("Half").stall(Place::Text(1)),
        _ => Step::answer().text("Done it."),
    });
    let bench = Bench::with(Kind::Chat, server);
    let mut session = bench.open_with(Open::New, planned(0)).await;
    session.prompt("go", Delivery::Queue).await;
    bench.asked(1).await;
    session.send(Op::Interrupt).await;
    let shown = session.finish().await;
    assert_eq!(shown.outcome(), Some(Outcome::Interrupted));
    assert_eq!(bench.server.requests().len(), 1);
    // Said while the planner was at work, it holds for the turn after.
    session.prompt("again", Delivery::Queue).await;
    bench.asked(2).await;
    session
        .send(Op::Command {
            line: "plan".into(),
        })
        .await;
    session.send(Op::Interrupt).await;
    session.finish().await;
    let shown = session.run("third").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    assert_eq!(bench.server.requests().len(), 3, "no planner in plan mode");
    session.close().await;
}

fn git(at: &Path, args: &[&str]) -> String {
    let out = Command::new("git")
        .args(["-c", "user.name=T", "-c", "user.email=t@localhost"])
        .args([
            "-c",
            "commit.gpgSign=false",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(args)
        .current_dir(at)
        .output()
        .unwrap();
    assert!(out.status.success(), "{args:?}: {out:?}");
    String::from_utf8(out.stdout).unwrap()
}

fn repository(bench: &Bench) {
    let root = bench.space.root();
    git(root, &["init", "-q", "-b", "main"]);
    bench.space.write("f", "old\n");
    git(root, &["add", "."]);
    git(root, &["commit", "-qm", "begin"]);
}

fn in_a_tree() -> Vec<(&'static str, Value)> {
    vec![("task", json!({"prompt": "x", "worktree": true}))]
}

fn writes(path: &'static str) -> impl Fn(&Captured) -> Step {
    tries(vec![(
        "write_file",
        json!({"path": path, "content": "new\n"}),
    )])
}

/// What the parent is told of a tree, in repositories of every kind.
#[tokio::test]
async fn worktrees_of_odd_repositories() {
    type Prepare = fn(&Bench);
    let cases: [(&str, Prepare, &str, &str); 7] = [
        (
            "detached",
            |b| {
                git(b.space.root(), &["checkout", "-q", "--detach"]);
            },
            "f",
            "It merges cleanly into HEAD.",
        ),
        (
            "dirty there",
            |b| drop(b.space.write("f", "mine\n")),
            "f",
            "Uncommitted changes are in the way: f.",
        ),
        (
            "dirty elsewhere",
            |b| drop(b.space.write("g", "mine\n")),
            "f",
            "It merges cleanly into HEAD. Look:",
        ),
        (
            "untracked there",
            |b| drop(b.space.write("a b.txt", "mine\n")),
            "a b.txt",
            "Uncommitted changes are in the way: a b.txt.",
        ),
        (
            "moved there",
            |b| {
                git(b.space.root(), &["mv", "f", "h"]);
            },
            "h",
            "Uncommitted changes are in the way: h.",
        ),
        (
            "a submodule",
            |b| {
                let other = b.space.user_home().join("other");
                std::fs::create_dir_all(&other).unwrap();
                git(&other, &["init", "-q", "-b", "main"]);
                git(&other, &["commit", "-q", "--allow-empty", "-m", "x"]);
                let path = other.display().to_string();
                git(
                    b.space.root(),
                    &["submodule", "--quiet", "add", &path, "sub"],
                );
                git(b.space.root(), &["commit", "-qm", "sub"]);
            },
            "f",
            "M f\nIt merges cleanly into HEAD.",
        ),
        (
            "an odd name elsewhere",
            |b| drop(b.space.write("n\tt", "x")),
            "f",
            "It merges cleanly into HEAD. Look:",
        ),
    ];
    for (name, prepare, path, expect) in cases {
        let bench = Bench::with(Kind::Chat, delegating(in_a_tree(), writes(path)));
        repository(&bench);
        prepare(&bench);
        let before = git(bench.space.root(), &["status", "--porcelain"]);
        let shown = outcome(&bench, trusting).await;
        assert_eq!(shown.codes(), ["ok"], "{name}");
        let told = bench.server.requests().last().unwrap().tool_results();
        assert!(told[0].1.contains(expect), "{name}: {}", told[0].1);
        let after = git(bench.space.root(), &["status", "--porcelain"]);
        assert_eq!(before, after, "{name}");
    }
}

#[tokio::test]
async fn a_tree_that_conflicts_says_where() {
    let at = Arc::new(OnceLock::<PathBuf>::new());
    let here = at.clone();
    let server = delegating(in_a_tree(), move |request| {
        if !request.tool_results().is_empty() {
            // Somebody commits meanwhile.
            let root = here.get().unwrap();
            std::fs::write(root.join("f"), "theirs\n").unwrap();
            git(root, &["commit", "-qam", "theirs"]);
        }
        writes("f")(request)
    });
    let bench = Bench::with(Kind::Chat, server);
    at.set(bench.space.root().to_owned()).unwrap();
    repository(&bench);
    let shown = outcome(&bench, trusting).await;
    let tree = &data(&shown, 0)["worktree"];
    assert_eq!(
        (&tree["clean"], &tree["conflicts"]),
        (&json!(false), &json!(["f"]))
    );
    let told = bench.server.requests().last().unwrap().tool_results();
    assert!(
        told[0].1.contains("It conflicts with HEAD in: f."),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_tree_that_cannot_be_made_leaves_nothing_behind() {
    type Prepare = fn(&Bench);
    let cases: [(&str, Prepare, &str, &str); 3] = [
        (
            "no commit",
            |b| {
                git(b.space.root(), &["init", "-q"]);
            },
            "no_repository",
            "at least one commit",
        ),
        (
            "no place",
            |b| {
                repository(b);
                let file = b.space.home().join("worktrees");
                std::fs::create_dir_all(b.space.home()).unwrap();
                std::fs::write(file, "x").unwrap();
            },
            "worktree_error",
            "No worktree could be made",
        ),
        (
            // As on a disk that is full: git has made the branch already.
            "a filter that fails",
            |b| {
                let root = b.space.root();
                repository(b);
                b.space.write(".gitattributes", "f filter=broken\n");
                git(root, &["add", "."]);
                git(root, &["commit", "-qm", "x"]);
                git(root, &["config", "filter.broken.smudge", "false"]);
                git(root, &["config", "filter.broken.required", "true"]);
            },
            "worktree_error",
            "No worktree could be made",
        ),
    ];
    for (name, prepare, code, part) in cases {
        let bench = Bench::with(Kind::Chat, delegating(in_a_tree(), writes("f")));
        prepare(&bench);
        let shown = outcome(&bench, trusting).await;
        assert_eq!(shown.codes(), [code], "{name}");
        let message = shown.results()[0]["error"]["message"].to_string();
        assert!(message.contains(part), "{name}: {message}");
        assert_eq!(shown.outcome(), Some(Outcome::Done));
        let branches = git(bench.space.root(), &["branch", "--list", "ostler/*"]);
        let trees = git(bench.space.root(), &["worktree", "list"]);
        assert_eq!(
            (branches.as_str(), trees.lines().count()),
            ("", 1),
            "{name}"
        );
    }
}

/// It says that it has written what it has not, and then it takes its own tree apart.
#[tokio::test]
async fn a_tree_speaks_against_a_child_that_lies() {
    for (command, expect) in [
        ("true", "[It changed no file; its worktree is removed.]"),
        ("rm -rf .git", "could not be looked at"),
        ("rm -rf \"$PWD\"", "could not be looked at"),
    ] {
        let server = delegating(in_a_tree(), move |request| {
            match request.tool_results().is_empty() {
                true => Step::answer().call("bash", json!({"command": command})),
                false => Step::answer().text("I have written all of it."),
            }
        });
        let bench = Bench::with(Kind::Chat, server);
        repository(&bench);
        // A repository further up must not be taken for it.
        std::fs::create_dir_all(bench.space.home()).unwrap();
        git(bench.space.home(), &["init", "-q"]);
        let shown = outcome(&bench, trusting).await;
        assert_eq!(shown.codes(), ["ok"], "{command}");
        let told = bench.server.requests().last().unwrap().tool_results();
        assert!(told[0].1.contains(expect), "{command}: {}", told[0].1);
        let staged = git(bench.space.home(), &["status", "--porcelain"]);
        assert!(!staged.lines().any(|l| l.starts_with('A')), "{staged}");
    }
}

/// Esc while a child works in its tree: what it wrote is committed on its branch.
#[tokio::test]
async fn what_a_stopped_child_wrote_in_its_tree_stays() {
    let server = delegating(in_a_tree(), |request| {
        match request.tool_results().is_empty() {
            true => writes("f")(request),
            false => Step::answer().text("Half").stall(Place::Text(1)),
        }
    });
    let bench = Bench::with(Kind::Chat, server);
    repository(&bench);
    let mut session = bench.open_with(Open::New, trusting).await;
    session.prompt("go", Delivery::Queue).await;
    bench.asked(3).await;
    session.send(Op::Interrupt).await;
    let shown = session.finish().await;
    assert_eq!(shown.codes(), ["interrupted"]);
    let root = bench.space.root();
    let since = std::time::Instant::now();
    let branch = loop {
        let branches = git(
            root,
            &["branch", "--list", "--format=%(refname:short)", "ostler/*"],
        );
        let branch = branches.trim().to_owned();
        let log = git(root, &["log", "--oneline", "--all"]);
        if log.lines().count() == 2 {
            break branch;
        }
        assert!(since.elapsed().as_secs() < 20, "{branches} {log}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    assert_eq!(git(root, &["show", &format!("{branch}:f")]), "new\n");
    assert_eq!(bench.space.read("f"), "old\n");
    session.close().await;
}

/// A session goes on as ever after a child of each kind.
#[tokio::test]
async fn every_request_after_a_fault_has_each_result_once() {
    let server = Server::answering(|request| match role(request) {
        Some(_) => Step::status(400, "no"),
        None if request.tool_results().is_empty() => Step::answer().calls([
            ("task", json!({"prompt": "a"})),
            ("task", json!({"prompt": "b", "role": "nobody"})),
            ("read_only_task", json!({"prompt": "c"})),
        ]),
        None => Step::answer().text("On."),
    });
    let bench = Bench::with(Kind::Chat, server);
    let mut session: Session = bench.open_with(Open::New, trusting).await;
    session.run("go").await;
    session.run("on").await;
    let last = bench.server.requests().pop().unwrap();
    let ids: Vec<String> = last.tool_results().into_iter().map(|r| r.0).collect();
    let mut once = ids.clone();
    once.sort();
    once.dedup();
    assert_eq!((ids.len(), once.len()), (3, 3));
    session.close().await;
}
