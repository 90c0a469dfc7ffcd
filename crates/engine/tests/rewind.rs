//! Checkpoints around turns, `/rewind`, `/diff` and `/fork` at a prompt: files, conversation or both, back and forth.

use crate::common::{Bench, Session};
use ostler_engine::HubSettings;
use ostler_engine::checkpoint::Limits;
use ostler_guard::{Containment, Posture};
use ostler_testkit::{Kind, Step};
use ostler_wire::{Act, Body, Deed, Delivery, Delta, Entry, Event, List, Op, Open, View, When};
use serde_json::json;
use std::time::Duration;

fn attended(options: &mut HubSettings) {
    options.run.interactive = true;
    options.permissions.policy.posture = Posture::Yolo;
    options.permissions.policy.containment = Containment::Sandbox;
}

fn done() -> Step {
    Step::answer().text("Done.")
}

fn bash(command: &str) -> Step {
    Step::answer().call("bash", json!({"command": command}))
}

async fn own(session: &mut Session, command: &str) {
    let line = format!("!{command}");
    session.send(Op::Command { line }).await;
    loop {
        if let Event::Entry(entry) = session.next().await
            && let Body::ToolResult(_) = &entry.body
        {
            break;
        }
    }
    // What follows the result is done before the next command is.
    session.command("session").await;
}

fn list(view: View) -> List {
    match view {
        View::List(list) => list,
        other => panic!("no list: {other:?}"),
    }
}

fn labels(list: &List) -> Vec<&str> {
    list.items.iter().map(|i| i.label.as_str()).collect()
}

/// Label and detail, without the time of day.
fn rows(list: &List) -> Vec<String> {
    let row = |i: &ostler_wire::Item| {
        let detail = i.detail.split_once(" · ").map_or("", |(_, rest)| rest);
        format!("{} [{detail}]", i.label)
    };
    list.items.iter().map(row).collect()
}

fn whens(entries: &[Entry]) -> Vec<When> {
    let of = |e: &Entry| match &e.body {
        Body::Checkpoint(c) => Some(c.when),
        _ => None,
    };
    entries.iter().filter_map(of).collect()
}

fn notices(entries: &[Entry]) -> Vec<String> {
    let of = |e: &Entry| match &e.body {
        Body::Notice(n) => Some(n.text.clone()),
        _ => None,
    };
    entries.iter().filter_map(of).collect()
}

#[tokio::test]
async fn only_turns_that_change_something_are_saved() {
    use When::{After, Before};
    let write =
        |path: &str| Step::answer().call("write_file", json!({"path": path, "content": "x"}));
    for (steps, expect) in [
        (vec![done()], vec![]),
        (vec![bash("true"), bash("ls; cat a"), done()], vec![]),
        (vec![bash("echo 2 > a"), done()], vec![Before, After]),
        (
            vec![bash("ls"), write("b"), write("c"), bash("rm b"), done()],
            vec![Before, After],
        ),
        (vec![bash("exit 3"), done()], vec![Before, After]),
    ] {
        let bench = Bench::new(Kind::Chat, steps);
        bench.space.write("a", "1");
        let mut session = bench.open_with(Open::New, attended).await;
        session.run("go").await;
        assert_eq!(whens(&session.entries()), expect);
        let store = bench.space.home().join("checkpoints");
        assert_eq!(store.exists(), !expect.is_empty());
        session.close().await;
    }
}

#[tokio::test]
async fn files_and_conversation_go_back_and_forth() {
    for kind in Kind::ALL {
        let steps = [
            bash("echo two > a; mkdir d; echo new > d/b"),
            done(),
            bash("rm -rf d a"),
            done(),
            done(),
            done(),
        ];
        let bench = Bench::new(kind, steps);
        bench.space.write("a", "one\n");
        let mut session = bench.open_with(Open::New, attended).await;
        session.run("ask-one").await;
        session.run("ask-two").await;
        let listed = list(session.command("rewind").await);
        assert_eq!(
            rows(&listed),
            ["2  ask-two [2 files +0 -2]", "1  ask-one [2 files +2 -1]"]
        );
        let Act::Command(line) = &listed.items[0].actions[0].act else {
            panic!("{listed:?}");
        };
        let choices = list(session.command(line).await);
        assert_eq!(
            labels(&choices),
            [
                "files and conversation",
                "files only",
                "conversation only",
                "leave everything as it is"
            ]
        );
        // Files alone, and back.
        assert!(matches!(
            session.command("rewind 2 code").await,
            View::Do(Deed::Compose(_))
        ));
        assert_eq!(
            (bench.space.read("a"), bench.space.read("d/b")),
            ("two\n".into(), "new\n".into())
        );
        session.command("rewind undo").await;
        assert!(!bench.space.exists("a") && !bench.space.exists("d"));
        // Both, to the very beginning.
        let before = session.bytes();
        let composed = session.command("rewind 1 both").await;
        assert_eq!(composed, View::Do(Deed::Compose("ask-one".into())));
        assert_eq!(bench.space.read("a"), "one\n");
        assert!(!bench.space.exists("d"));
        assert!(
            session.bytes().starts_with(&before),
            "the log is only appended to"
        );
        session.run("ask-other").await;
        let prompt = String::from_utf8_lossy(&bench.request(4).prompt_bytes()).into_owned();
        assert!(
            !prompt.contains("ask-two") && !prompt.contains("echo two"),
            "{prompt}"
        );
        assert!(
            prompt.contains("<environment>") && prompt.contains("ask-other"),
            "{prompt}"
        );
        // Another process goes on where this one is.
        let id = session.id();
        session.close().await;
        let mut session = bench.open_with(Open::Resume(id.clone()), attended).await;
        let listed = list(session.command("rewind").await);
        assert_eq!(
            rows(&listed),
            ["1  ask-other []", "undo the last rewind []"]
        );
        session.command("rewind undo").await;
        assert!(!bench.space.exists("a"));
        let listed = list(session.command("rewind").await);
        assert_eq!(
            labels(&listed),
            ["undo the last rewind", "2  ask-two", "1  ask-one"]
        );
        session.run("ask-three").await;
        let (four, five) = (
            bench.request(3).prompt_bytes(),
            bench.request(5).prompt_bytes(),
        );
        assert!(five.starts_with(&four), "the old branch goes on");
        session.close().await;
    }
}

#[tokio::test]
async fn the_model_is_told_what_no_longer_fits() {
    let bench = Bench::new(Kind::Chat, [bash("echo two > a"), done(), done(), done()]);
    bench.space.write("a", "one\n");
    let mut session = bench.open_with(Open::New, attended).await;
    session.run("ask-one").await;
    session.command("rewind 1 code").await;
    session.run("ask-two").await;
    let prompt = |n| String::from_utf8_lossy(&bench.request(n).prompt_bytes()).into_owned();
    assert!(
        prompt(2).contains("[The person put files back"),
        "{}",
        prompt(2)
    );
    let shown = session.command("rewind 2 conversation").await;
    assert_eq!(shown, View::Do(Deed::Compose("ask-two".into())));
    session.run("ask-three").await;
    assert!(
        prompt(3).contains("Files were left as they are"),
        "{}",
        prompt(3)
    );
    assert!(!prompt(3).contains("ask-two"));
    let broke = session
        .entries()
        .into_iter()
        .rev()
        .find_map(|e| match e.body {
            Body::Usage(usage) => usage.broke,
            _ => None,
        });
    let broke = broke.expect("a planned break");
    assert_eq!(broke.cause, "rewind");
    let shared = bench
        .request(2)
        .prompt_bytes()
        .iter()
        .zip(&bench.request(3).prompt_bytes())
        .take_while(|(a, b)| a == b)
        .count();
    assert!(
        broke.at > 0 && broke.at <= shared as u64,
        "{broke:?} {shared}"
    );
    session.close().await;
}

#[tokio::test]
async fn what_changed_outside_is_not_overwritten_unseen() {
    for (how, kept) in [("keep", "mine\n"), ("force", "one\n")] {
        let bench = Bench::new(Kind::Chat, [bash("echo two > a; echo x > b"), done()]);
        bench.space.write("a", "one\n");
        let mut session = bench.open_with(Open::New, attended).await;
        session.run("ask-one").await;
        bench.space.write("a", "mine\n");
        let asked = list(session.command("rewind 1 both").await);
        assert_eq!(asked.title, "1 file changed outside this session:");
        assert_eq!(labels(&asked)[3], "  a");
        assert_eq!(
            (bench.space.read("a"), bench.space.exists("b")),
            ("mine\n".into(), true)
        );
        assert_eq!(
            list(session.command("rewind").await).items.len(),
            1,
            "nothing has moved"
        );
        session.command(&format!("rewind 1 both {how}")).await;
        assert_eq!(
            (bench.space.read("a").as_str(), bench.space.exists("b")),
            (kept, false)
        );
        session.command("rewind undo").await;
        assert_eq!(
            (bench.space.read("a"), bench.space.exists("b")),
            ("mine\n".into(), true)
        );
        session.close().await;
    }
}

/// What the person does between two prompts is saved with the second one, and is theirs all the same.
#[tokio::test]
async fn what_the_person_changed_between_two_prompts_is_not_taken_back_unseen() {
    for (how, kept) in [("keep", true), ("force", false)] {
        let steps = [
            bash("echo two > work; echo x > made"),
            done(),
            bash("echo three >> work; mkdir -p folder; echo y > folder/also"),
            done(),
        ];
        let bench = Bench::new(Kind::Chat, steps);
        bench.space.write("work", "one\n");
        let mut session = bench.open_with(Open::New, attended).await;
        session.run("ask-one").await;
        bench.space.write("person", "mine\n");
        bench.space.write("work", "two\nmine\n");
        session.run("ask-two").await;
        let asked = list(session.command("rewind 1 code").await);
        assert_eq!(asked.title, "2 files changed outside this session:");
        assert_eq!(labels(&asked)[3..], ["  person", "  work"]);
        assert_eq!(bench.space.read("person"), "mine\n");
        session.command(&format!("rewind 1 code {how}")).await;
        assert_eq!(bench.space.exists("person"), kept, "{how}");
        let work = match kept {
            true => "two\nmine\nthree\n",
            false => "one\n",
        };
        assert_eq!(bench.space.read("work"), work);
        assert!(!bench.space.exists("made") && !bench.space.exists("folder"));
        session.command("rewind undo").await;
        assert_eq!(bench.space.read("person"), "mine\n");
        assert_eq!(bench.space.read("work"), "two\nmine\nthree\n");
        // What was there before the second prompt comes back with it.
        session.command("rewind 2 code").await;
        assert_eq!(bench.space.read("person"), "mine\n");
        assert_eq!(bench.space.read("work"), "two\nmine\n");
        session.close().await;
    }
}

#[tokio::test]
async fn commands_of_the_person_and_ignored_files_come_back() {
    let bench = Bench::new(
        Kind::Chat,
        [
            bash("echo more >> a"),
            bash("rm -f .env && rm -rf out"),
            done(),
        ],
    );
    bench.space.git_init();
    bench.space.write(".gitignore", ".env\nout/\n");
    bench.space.write("a", "one\n");
    bench.space.write(".env", "KEY=1\n");
    bench.space.write("out/x/y", "built\n");
    let mut session = bench.open_with(Open::New, attended).await;
    session.run("clean").await;
    assert_eq!(
        whens(&session.entries()),
        [When::Before, When::Also, When::After]
    );
    assert!(!bench.space.exists(".env"));
    own(&mut session, "git clean -qfdx; rm -rf a .gitignore").await;
    assert!(!bench.space.exists("a"));
    let listed = list(session.command("rewind").await);
    assert_eq!(
        labels(&listed),
        ["2  !git clean -qfdx; rm -rf a .gitignore", "1  clean"]
    );
    session.command("rewind 2 code").await;
    assert_eq!(bench.space.read("a"), "one\nmore\n");
    session.command("rewind 1 both").await;
    assert_eq!(bench.space.read("a"), "one\n");
    assert_eq!(bench.space.read(".env"), "KEY=1\n");
    assert_eq!(bench.space.read("out/x/y"), "built\n");
    session.close().await;
}

#[tokio::test]
async fn what_cannot_be_saved_is_said_once_and_the_work_goes_on() {
    type Change = fn(&Bench, &mut HubSettings);
    let cases: [(Change, &str); 4] = [
        (
            |_, o| o.paths.user_home = Some(o.paths.root.clone()),
            "your home folder",
        ),
        (
            |_, o| {
                o.checkpoints = Some(Limits {
                    files: 1,
                    ..Limits::default()
                })
            },
            "too many files",
        ),
        (
            |_, o| {
                o.checkpoints = Some(Limits {
                    quota: 1,
                    ..Limits::default()
                })
            },
            "quota",
        ),
        (
            |b, o| {
                let blocked = b.space.home().join("checkpoints");
                b.space.write(blocked, "in the way");
                o.run.interactive = true;
            },
            "cannot",
        ),
    ];
    for (change, why) in cases {
        let bench = Bench::new(
            Kind::Chat,
            [bash("echo 1 > b"), done(), bash("echo 2 > b"), done()],
        );
        bench.space.write("a", "1");
        bench.space.write("c", "1");
        let mut session = bench
            .open_with(Open::New, |options| {
                attended(options);
                let _ = std::fs::remove_file(bench.space.home().join("checkpoints"));
                change(&bench, options);
                if let (Some(limits), home) =
                    (&mut options.checkpoints, options.paths.user_home.clone())
                {
                    limits.user_home = home;
                }
            })
            .await;
        session.run("ask-one").await;
        session.run("ask-two").await;
        let said = notices(&session.entries());
        assert_eq!(said.len(), 1, "{why}: {said:?}");
        assert!(said[0].contains(why), "{why}: {said:?}");
        assert_eq!(bench.space.read("b"), "2\n");
        session.close().await;
    }
}

#[tokio::test]
async fn too_large_a_tree_keeps_what_tools_change_by_name() {
    let write = |text: &str| {
        Step::answer().call(
            "write_file",
            json!({"path": "a", "content": text, "overwrite": true}),
        )
    };
    let read = Step::answer().call("read_file", json!({"path": "a"}));
    let bench = Bench::new(Kind::Chat, [read, write("two"), done()]);
    for n in 0..20 {
        bench.space.write(format!("many/{n}"), "x");
    }
    bench.space.write("a", "one");
    let mut session = bench
        .open_with(Open::New, |options| {
            attended(options);
            options.checkpoints = Some(Limits {
                files: 10,
                ..Limits::default()
            });
        })
        .await;
    session.run("ask-one").await;
    assert_eq!(bench.space.read("a"), "two", "{:?}", session.entries());
    let said = notices(&session.entries());
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("Not all files are saved"), "{said:?}");
    session.command("rewind 1 code").await;
    assert_eq!(bench.space.read("a"), "one");
    session.close().await;
}

#[tokio::test]
async fn without_checkpoints_conversations_go_back_alone() {
    let bench = Bench::new(Kind::Chat, [bash("echo 1 > b"), done(), done()]);
    let mut session = bench
        .open_with(Open::New, |options| {
            attended(options);
            options.checkpoints = None;
        })
        .await;
    session.run("ask-one").await;
    assert_eq!(whens(&session.entries()), []);
    let choices = list(session.command("rewind 1").await);
    assert_eq!(
        labels(&choices),
        ["conversation only", "leave everything as it is"]
    );
    assert!(matches!(
        session.command("rewind 1 code").await,
        View::Error(_)
    ));
    assert!(matches!(
        session.command("rewind undo").await,
        View::Error(_)
    ));
    assert!(matches!(session.command("rewind 7").await, View::Error(_)));
    assert!(matches!(
        session.command("rewind nonsense").await,
        View::Error(_)
    ));
    assert_eq!(
        session.command("diff").await,
        View::Text("Nothing was changed.".into())
    );
    session.command("rewind 1 conversation").await;
    session.run("ask-two").await;
    assert!(!String::from_utf8_lossy(&bench.request(2).prompt_bytes()).contains("ask-one"));
    session.close().await;
}

#[tokio::test]
async fn diff_is_of_the_session_or_of_a_prompt() {
    let bench = Bench::new(
        Kind::Chat,
        [
            bash("echo two > a; ln -s a l"),
            done(),
            bash("rm a"),
            done(),
        ],
    );
    bench.space.write("a", "one\n");
    let mut session = bench.open_with(Open::New, attended).await;
    session.run("ask-one").await;
    session.run("ask-two").await;
    let diff = async |session: &mut Session, line: &str| match session.command(line).await {
        View::Diff(text) => text,
        other => panic!("no diff: {other:?}"),
    };
    assert_eq!(
        diff(&mut session, "diff 1").await,
        "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+a\n"
    );
    assert_eq!(
        diff(&mut session, "diff 2").await,
        "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-two\n"
    );
    bench.space.write("later", "x\n");
    assert_eq!(
        diff(&mut session, "diff").await,
        "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+a\n--- /dev/null\n+++ b/later\n@@ -0,0 +1 @@\n+x\n"
    );
    assert!(matches!(session.command("diff 9").await, View::Error(_)));
    // Since the second prompt, with what came after it.
    assert_eq!(
        diff(&mut session, "diff 2..").await,
        "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-two\n--- /dev/null\n+++ b/later\n@@ -0,0 +1 @@\n+x\n"
    );
    for bad in ["diff 9..", "diff ..", "diff 0..", "diff x.."] {
        assert!(
            matches!(session.command(bad).await, View::Error(_)),
            "{bad}"
        );
    }
    session.close().await;
}

#[tokio::test]
async fn one_file_comes_back_and_the_others_stay() {
    let change = "mkdir -p 'my dir'; echo two > a; echo two > 'my dir/b c'; echo new > n";
    let bench = Bench::new(
        Kind::Chat,
        [bash(change), done(), bash("echo three > a"), done()],
    );
    bench.space.write("a", "one\n");
    bench.space.write("my dir/b c", "one\n");
    let mut session = bench.open_with(Open::New, attended).await;
    session.run("ask-one").await;
    session.run("ask-two").await;
    let tree = || {
        let new = bench.space.exists("n");
        (bench.space.read("a"), bench.space.read("my dir/b c"), new)
    };
    let of = |a: &str, b: &str, n| (format!("{a}\n"), format!("{b}\n"), n);
    assert_eq!(tree(), of("three", "two", true));
    session.command("rewind 1 file my dir/b c").await;
    assert_eq!(tree(), of("three", "one", true));
    session.command("rewind 2 file a").await;
    assert_eq!(tree(), of("two", "one", true));
    // A file that was not there goes, and comes back.
    session.command("rewind 1 file n").await;
    assert_eq!(tree(), of("two", "one", false));
    session.command("rewind undo").await;
    assert_eq!(tree(), of("two", "one", true));
    let same = session.command("rewind 1 file my dir/b c").await;
    assert!(
        matches!(&same, View::Text(text) if text.contains("nothing to rewind")),
        "{same:?}"
    );
    for bad in [
        "rewind 1 file ..",
        "rewind 1 file ../a",
        "rewind 1 file /etc",
        "rewind 1 file .",
    ] {
        let answer = session.command(bad).await;
        assert!(matches!(answer, View::Error(_)), "{bad}: {answer:?}");
    }
    assert_eq!(tree(), of("two", "one", true));
    session.close().await;
}

/// One file was looked at; what somebody changed elsewhere is as unseen as before.
#[tokio::test]
async fn a_rewind_of_one_file_does_not_make_others_seen() {
    let bench = Bench::new(Kind::Chat, [bash("echo two > a; echo two > b"), done()]);
    bench.space.write("a", "one\n");
    bench.space.write("b", "one\n");
    let mut session = bench.open_with(Open::New, attended).await;
    session.run("ask-one").await;
    bench.space.write("b", "mine\n");
    session.command("rewind 1 file a").await;
    assert_eq!(bench.space.read("a"), "one\n");
    let asked = list(session.command("rewind 1 file b").await);
    assert_eq!(asked.title, "1 file changed outside this session:");
    assert_eq!(bench.space.read("b"), "mine\n");
    let force = asked
        .items
        .iter()
        .find_map(|item| match &item.actions.first()?.act {
            Act::Command(line) if line.contains("force") => Some(line.clone()),
            Act::Command(_) | Act::Do(_) => None,
        });
    session.command(&force.unwrap()).await;
    assert_eq!(bench.space.read("b"), "one\n");
    session.command("rewind undo").await;
    assert_eq!(bench.space.read("b"), "mine\n");
    session.close().await;
}

#[tokio::test]
async fn a_fork_can_begin_before_any_prompt() {
    let bench = Bench::new(Kind::Chat, [done(), done(), done()]);
    let mut session = bench.open_with(Open::New, attended).await;
    session.run("ask-one").await;
    session.run("ask-two").await;
    let forked = session.command("fork 2").await;
    let View::Do(Deed::Open(open)) = forked else {
        panic!("{forked:?}");
    };
    session.close().await;
    let mut fork = bench.open_with(open, attended).await;
    // Its past can be gone back in before anything is said in it.
    assert_eq!(labels(&list(fork.command("rewind").await)), ["1  ask-one"]);
    fork.run("ask-three").await;
    let prompt = String::from_utf8_lossy(&bench.request(2).prompt_bytes()).into_owned();
    assert!(
        prompt.contains("ask-one") && prompt.contains("ask-three"),
        "{prompt}"
    );
    assert!(!prompt.contains("ask-two"), "{prompt}");
    fork.close().await;
}

#[tokio::test]
async fn nothing_is_rewound_while_something_runs() {
    let wait = "until [ -e go ]; do sleep 0.01; done";
    let bench = Bench::new(Kind::Chat, [bash(wait), done(), done()]);
    let mut session = bench.open_with(Open::New, attended).await;
    session.prompt("go", Delivery::Queue).await;
    let mut refused = None;
    session
        .watch(async |session, event| match event {
            Event::Delta(Delta::ToolStarted { .. }) => {
                let line = "rewind 1 both".to_owned();
                session.send(Op::Command { line }).await;
                session
                    .send(Op::Prompt {
                        text: "more".into(),
                        delivery: Delivery::Steer,
                        images: Vec::new(),
                    })
                    .await;
                bench.space.write("go", "");
            }
            Event::Reply(reply) => refused = Some(reply.view.clone()),
            _ => {}
        })
        .await;
    assert_eq!(
        refused,
        Some(View::Error(
            "Not while it works: stop it first (esc), then rewind.".into()
        ))
    );
    // What was steered is a point of its own, saved around.
    let listed = list(session.command("rewind").await);
    assert_eq!(labels(&listed), ["2  more", "1  go"]);
    session.close().await;
}

#[tokio::test]
async fn a_background_prompt_refuses_rewind_and_shares_the_tree() {
    let bench = Bench::new(
        Kind::Chat,
        [
            bash("echo 1 > a"),
            done(),
            Step::answer().text("late").pace(Duration::from_millis(400)),
        ],
    );
    let mut session = bench.open_with(Open::New, attended).await;
    session.run("ask-one").await;
    session.command("bg slow").await;
    let refused = session.command("rewind").await;
    assert!(
        matches!(&refused, View::Error(text) if text.contains("t1")),
        "{refused:?}"
    );
    session.close().await;
}

#[tokio::test]
async fn a_stopped_turn_is_taken_back_without_a_question() {
    let bench = Bench::new(Kind::Chat, [bash("echo two > a; echo begun; sleep 100")]);
    bench.space.write("a", "one\n");
    let mut session = bench.open_with(Open::New, attended).await;
    session.prompt("ask-one", Delivery::Queue).await;
    session
        .watch(async |session, event| {
            if let Event::Delta(Delta::ToolOutput { .. }) = event {
                session.send(Op::Interrupt).await;
            }
        })
        .await;
    assert_eq!(bench.space.read("a"), "two\n");
    let shown = session.command("rewind 1 both").await;
    assert_eq!(shown, View::Do(Deed::Compose("ask-one".into())));
    assert_eq!(bench.space.read("a"), "one\n");
    session.close().await;
}

#[tokio::test]
async fn two_sessions_in_one_tree_do_not_undo_each_other_unseen() {
    let steps = [bash("echo 1 > a"), done(), bash("echo 2 > b"), done()];
    let bench = Bench::new(Kind::Chat, steps);
    let mut one = bench.open_with(Open::New, attended).await;
    let mut two = bench.open_with(Open::New, attended).await;
    one.run("ask-one").await;
    two.run("ask-two").await;
    // What the other one made is not this session's to remove.
    let asked = list(one.command("rewind 1 both").await);
    assert_eq!(labels(&asked)[3..], ["  b"]);
    one.command("rewind 1 both keep").await;
    assert_eq!(
        (bench.space.exists("a"), bench.space.exists("b")),
        (false, true)
    );
    two.command("rewind 1 code").await;
    assert!(!bench.space.exists("b"));
    one.close().await;
    two.close().await;
}

/// What sub-agents changed goes back with the turn that sent them, however deep they were and however they ended.
#[tokio::test]
async fn the_work_of_children_goes_back_with_the_turn() {
    use ostler_testkit::{Captured, Place, Server};
    let role = |request: &Captured| {
        let system = request.system_text();
        let (_, rest) = system.split_once("# Role: ")?;
        rest.lines().next().map(str::to_owned)
    };
    for (deep, ends) in [(false, true), (true, true), (false, false)] {
        let server = Server::answering(move |request| {
            let first = request.tool_results().is_empty();
            let deeper = json!({"prompt": "deeper", "role": "sprinter"});
            let change = json!({"command": "echo two > a; rm b; mkdir d; echo new > d/c"});
            match (role(request).as_deref(), first) {
                (None, true) => Step::answer().call("task", json!({"prompt": "do it"})),
                (Some("builder"), true) if deep => Step::answer().call("task", deeper),
                (Some(_), true) => Step::answer().call("bash", change),
                (Some(_), false) if !ends => Step::answer().text("Half").stall(Place::Text(1)),
                (_, false) => done(),
            }
        });
        let bench = Bench::with(Kind::Chat, server);
        bench.space.write("a", "one\n");
        bench.space.write("b", "here\n");
        let mut session = bench.open_with(Open::New, attended).await;
        session.prompt("ask-one", Delivery::Queue).await;
        if !ends {
            bench.asked(3).await;
            session.send(Op::Interrupt).await;
        }
        session.finish().await;
        let state = || {
            let d = bench.space.exists("d/c");
            (bench.space.read("a"), bench.space.exists("b"), d)
        };
        let (changed, before) = (
            ("two\n".to_owned(), false, true),
            ("one\n".to_owned(), true, false),
        );
        assert_eq!(state(), changed, "{deep} {ends}");
        // One before the call and one after the turn; none of the children's own.
        assert_eq!(whens(&session.entries()), [When::Before, When::After]);
        let listed = list(session.command("rewind").await);
        assert_eq!(rows(&listed), ["1  ask-one [3 files +2 -2]"]);
        session.command("rewind 1 code").await;
        assert_eq!(state(), before, "{deep} {ends}");
        session.command("rewind undo").await;
        assert_eq!(state(), changed, "{deep} {ends}");
        session.command("rewind 1 both").await;
        assert_eq!(state(), before, "{deep} {ends}");
        session.close().await;
    }
}

/// Ignored files are in no tree; those that a command of a sub-agent names come back all the same.
#[tokio::test]
async fn ignored_files_that_children_remove_come_back() {
    use ostler_testkit::Server;
    for deep in [false, true] {
        let server = Server::answering(move |request| {
            let first = request.tool_results().is_empty();
            let system = request.system_text();
            let deeper = json!({"prompt": "deeper", "role": "sprinter"});
            match (system.contains("# Role: "), first) {
                (false, true) => Step::answer().call("task", json!({"prompt": "do it"})),
                (true, true) if deep && system.contains("# Role: builder") => {
                    Step::answer().call("task", deeper)
                }
                (true, true) => bash("rm keys.local; echo two > a"),
                (_, false) => done(),
            }
        });
        let bench = Bench::with(Kind::Chat, server);
        bench.space.git_init();
        bench.space.write(".gitignore", "*.local\n");
        bench.space.write("keys.local", "secret\n");
        bench.space.write("a", "one\n");
        let mut session = bench.open_with(Open::New, attended).await;
        session.run("ask-one").await;
        assert!(!bench.space.exists("keys.local"));
        assert_eq!(
            whens(&session.entries()),
            [When::Before, When::Also, When::After]
        );
        session.command("rewind 1 code").await;
        assert_eq!(
            (bench.space.read("keys.local"), bench.space.read("a")),
            ("secret\n".into(), "one\n".into()),
            "{deep}"
        );
        session.close().await;
    }
}

/// One in a tree of its own has changed nothing here; its branch stays whatever is taken back.
#[tokio::test]
async fn the_branch_of_a_child_outlives_a_rewind() {
    use ostler_testkit::Server;
    let server = Server::answering(|request| {
        let child = request.system_text().contains("# Role: ");
        let args = json!({"prompt": "do it", "worktree": true});
        match (child, request.tool_results().is_empty()) {
            (true, true) => bash("echo two > a"),
            (false, true) => Step::answer().calls([
                ("task", args),
                ("bash", json!({"command": "echo mine > b"})),
            ]),
            (_, false) => done(),
        }
    });
    let bench = Bench::with(Kind::Chat, server);
    let git = |args: &[&str]| {
        let out = std::process::Command::new("git")
            .args(["-c", "user.name=T", "-c", "user.email=t@localhost"])
            .args(args)
            .current_dir(bench.space.root())
            .output()
            .unwrap();
        assert!(out.status.success(), "{out:?}");
        String::from_utf8(out.stdout).unwrap()
    };
    git(&["init", "-q", "-b", "main"]);
    bench.space.write("a", "one\n");
    git(&["add", "."]);
    git(&["commit", "-qm", "begin"]);
    let mut session = bench.open_with(Open::New, attended).await;
    session.run("ask-one").await;
    assert_eq!(
        (bench.space.read("a"), bench.space.read("b")),
        ("one\n".into(), "mine\n".into())
    );
    session.command("rewind 1 both").await;
    assert!(!bench.space.exists("b"));
    let branch = git(&["branch", "--list", "--format=%(refname:short)", "ostler/*"]);
    assert_eq!(git(&["show", &format!("{}:a", branch.trim())]), "two\n");
    assert_eq!(git(&["status", "--porcelain"]), "");
    session.close().await;
}
