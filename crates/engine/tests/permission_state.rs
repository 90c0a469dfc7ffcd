//! Modes, postures, grants and asks, against a scripted model: who is asked what, and what holds how long.

use crate::common::{Bench, Session, Shown, settle};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use ostler_engine::confine::{CallSandbox, Terms};
use ostler_engine::tool::{Call, Context, Done, Rendered, Scope, Subject, Tool, ToolError};
use ostler_engine::{HubSettings, Keep, RuleStore};
use ostler_guard::{Containment, Headless, Mode, Policy, Posture, Rule, Rules};
use ostler_host::{
    Border, Command, Content, Fut, Host, Listing, Local, Process, RenameOptions, Renamed, Span,
    Stat, Stdio, WriteOptions, Written,
};
use ostler_testkit::{Kind, Step};
use ostler_wire::{
    Access, AskKind, Body, Delivery, Delta, Event, Json, Op, Open, Outcome, Segment, TodoItem,
    TodoState, ToolDeclaration, ToolKind, ToolMaker, ToolSpec, View,
};
use serde_json::{Value, json};
use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A tool of somebody else, or one that is yet to come.
#[derive(Clone)]
struct Standin {
    about: ToolDeclaration,
    access: fn() -> Access,
    run: fn(&Context) -> Value,
}

impl Tool for Standin {
    fn about(&self) -> &ToolDeclaration {
        &self.about
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.about.name.clone().into_owned(),
            description: String::new(),
            parameters: Json::of(&json!({"type": "object", "properties": {}})),
        }
    }

    fn read(&self, _: &Value) -> Result<Arc<dyn Call>, ToolError> {
        Ok(Arc::new(self.clone()))
    }

    fn render(&self, data: &Value) -> Rendered {
        data.to_string().into()
    }
}

impl Call for Standin {
    fn access(&self, _: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(vec![(self.access)()])
    }

    fn subject(&self) -> Subject {
        Subject::default()
    }

    fn run(&self, cx: Context) -> BoxFuture<'_, Result<Done, ToolError>> {
        let data = (self.run)(&cx);
        Box::pin(async move { Ok(Done::from(data)) })
    }
}

/// What a server or plugin says about a tool.
const fn of_other(name: &'static str, says_read_only: bool) -> ToolDeclaration {
    let mut about = ToolDeclaration::new(name, ToolKind::Other);
    about.maker = ToolMaker::Other { says_read_only };
    about
}

static SERVER: Standin = Standin {
    about: of_other("mcp__s__look", true),
    access: || Access::Mcp {
        server: "s".into(),
        tool: "look".into(),
        read_only: false,
    },
    run: |_| json!({"ran": true}),
};

/// A command that the sandbox stops until it may reach a host.
fn reading() -> Access {
    Access::Run(vec![Segment {
        text: "push".into(),
        read_only: true,
        ..Segment::default()
    }])
}

static PUSH: Standin = Standin {
    about: of_other("push", false),
    access: reading,
    run: |cx| stopped(cx, "code.example"),
};

/// One that names a pattern where a host should be.
static GREEDY: Standin = Standin {
    about: of_other("greedy", false),
    run: |cx| stopped(cx, "*"),
    access: reading,
};

/// A command that only reads by its words, and writes all the same.
static PEEK: Standin = Standin {
    about: of_other("peek", false),
    run: |cx| match terms(cx).read_only {
        true => json!({"exit_code": 1, "denied": {"what": "out.txt", "hint": "Not written."}}),
        false => json!({"exit_code": 0, "ran": true}),
    },
    access: reading,
};

/// Somebody else's tool that would like to have a host, too.
static POSING: Standin = Standin {
    about: of_other("posing", false),
    access: || Access::Read("/usr/share".into()),
    run: |cx| stopped(cx, "code.example"),
};

/// The terms that dispatch judged this call for.
fn terms(cx: &Context) -> &Terms {
    let programs: &dyn Any = &*cx.services.programs;
    &programs.downcast_ref::<CallSandbox>().unwrap().terms
}

fn stopped(cx: &Context, wanted: &str) -> Value {
    match terms(cx).hosts.iter().any(|host| host == wanted) {
        true => json!({"ran": true}),
        false => json!({"ran": false, "denied": {
            "what": wanted, "hint": "No way out.", "grant": {"hosts": [wanted]},
        }}),
    }
}

fn done() -> Step {
    Step::answer().text("Done.")
}

fn call(name: &str, args: Value) -> Step {
    Step::answer().call(name, args)
}

fn bash(command: &str) -> Step {
    call("bash", json!({"command": command}))
}

fn write(name: &str) -> Step {
    call("write_file", json!({"path": name, "content": "x\n"}))
}

fn remember(name: &str) -> Step {
    call("remember", json!({"name": name, "content": "words"}))
}

fn propose() -> Step {
    call("exit_plan_mode", json!({"plan": "1. write"}))
}

fn rules(list: &[&str]) -> Vec<Rule> {
    list.iter()
        .map(|r| Rule::parse(r, "test:1").unwrap())
        .collect()
}

fn attended(options: &mut HubSettings) {
    options.run.interactive = true;
    options.toolbox.more = vec![&SERVER, &PUSH, &GREEDY, &POSING, &PEEK];
    options.permissions.policy.containment = Containment::Sandbox;
}

fn planning(options: &mut HubSettings) {
    attended(options);
    options.permissions.mode = Some(Mode::Plan);
}

type Answers<'a> = &'a [(&'a str, Option<&'a str>)];

/// One turn, its asks answered in order; there must be as many as answers.
async fn turn(session: &mut Session, answers: Answers<'_>) -> Shown {
    session.answered(answers).await
}

fn modes(shown: &Shown) -> Vec<(String, String)> {
    let of = |e: &Arc<ostler_wire::Entry>| match &e.body {
        Body::Mode(mode) => Some((mode.mode.clone(), mode.posture.clone())),
        _ => None,
    };
    shown.entries.iter().filter_map(of).collect()
}

fn kinds(shown: &Shown) -> Vec<AskKind> {
    shown.asks.iter().map(|a| a.kind).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Posture(Posture),
    Window,
}

/// What becomes of a call in a row of the posture table: the kind of ask, `ran`, or the code of its error.
async fn cell(row: Row, in_plan: bool, step: Step) -> String {
    let wait = bash("until [ -e go ]; do sleep 0.01; done");
    let mut steps = Vec::new();
    if row == Row::Window {
        steps.extend([propose(), wait]);
    }
    let bench = Bench::new(Kind::Chat, steps.into_iter().chain([step, done()]));
    let mut session = bench
        .open_with(Open::New, |options| {
            attended(options);
            options.permissions.policy = Policy {
                rules: Rules {
                    deny: rules(&["Bash(touch denied)"]),
                    ask: rules(&["Bash(touch asked)"]),
                    allow: rules(&["Bash(touch allowed)"]),
                },
                containment: Containment::Sandbox,
                ..Policy::default()
            };
            match row {
                Row::Posture(posture) => options.permissions.policy.posture = posture,
                Row::Window => options.permissions.mode = Some(Mode::Plan),
            }
            if in_plan {
                options.permissions.mode = Some(Mode::Plan);
            }
        })
        .await;
    session.prompt("go", Delivery::Queue).await;
    let mut is_open = row != Row::Window;
    let shown = session
        .watch(async |session, event| match event {
            Event::Ask(ask) if !is_open => {
                session.send(Session::answer(ask, "approve", None)).await;
            }
            Event::Ask(ask) => session.send(Session::answer(ask, "", None)).await,
            Event::Delta(Delta::ToolStarted { name, .. }) if name == "bash" && !is_open => {
                is_open = true;
                if in_plan {
                    let line = "mode plan".into();
                    session.send(Op::Command { line }).await;
                }
                bench.space.write("go", "");
            }
            Event::Entry(_) | Event::Delta(_) | Event::Reply(_) => {}
        })
        .await;
    session.close().await;
    let own = usize::from(row == Row::Window);
    match kinds(&shown).get(own..).unwrap_or_default() {
        [] => match shown.codes().last().map(String::as_str) {
            Some("ok") => "ran".into(),
            code => code.unwrap_or_default().into(),
        },
        [kind] => format!("{kind:?}"),
        more => panic!("{more:?}"),
    }
}

#[tokio::test]
async fn the_posture_table_cell_by_cell() {
    let columns: [(&str, bool, Step); 8] = [
        ("deny rule", false, bash("touch denied")),
        ("ask rule", false, bash("touch asked")),
        ("allow rule", false, bash("touch allowed")),
        ("no rule", false, bash("touch plain")),
        ("plan approval", true, propose()),
        ("mcp trust", true, call("mcp__s__look", json!({}))),
        (
            "question",
            false,
            call("ask", json!({"question": "Which?"})),
        ),
        ("memory", false, remember("a")),
    ];
    let [d, p, r] = ["blocked", "Permission", "ran"];
    for (row, expect) in [
        (
            Row::Posture(Posture::Ask),
            [d, p, r, p, "Plan", "Trust", "Question", p],
        ),
        (
            Row::Posture(Posture::Auto),
            [d, p, r, r, "Plan", "Trust", "Question", p],
        ),
        (
            Row::Posture(Posture::Yolo),
            [d, r, r, r, "Plan", "Trust", "Question", p],
        ),
        (Row::Window, [d, p, r, r, "Plan", "Trust", "Question", p]),
    ] {
        let mut got = Vec::new();
        for (_, in_plan, step) in columns.clone() {
            got.push(cell(row, in_plan, step).await);
        }
        let names = columns.each_ref().map(|(name, ..)| *name);
        assert_eq!(got, expect, "{row:?} {names:?}");
    }
}

#[tokio::test]
async fn a_plan_is_approved_runs_in_its_turn_and_no_longer() {
    let steps = [
        write("early"),
        propose(),
        write("a"),
        bash("touch b"),
        done(),
        write("late"),
        done(),
    ];
    let bench = Bench::new(Kind::Messages, steps);
    let mut session = bench.open_with(Open::New, planning).await;
    let shown = turn(&mut session, &[("approve", None)]).await;
    assert_eq!(shown.codes(), ["plan_mode", "ok", "ok", "ok"]);
    assert_eq!(
        modes(&shown),
        [
            ("plan".to_owned(), "ask".to_owned()),
            ("normal".to_owned(), "ask".to_owned())
        ]
    );
    let ask = &shown.asks[0];
    assert_eq!(
        (ask.kind, ask.preview.as_deref(), ask.tool.as_deref()),
        (AskKind::Plan, Some("1. write"), Some("exit_plan_mode"))
    );
    let ids: Vec<&str> = ask.options.iter().map(|o| o.id.as_str()).collect();
    assert_eq!(ids, ["approve", "approve_ask", "edit", "keep"]);
    assert!(bench.space.exists("a") && bench.space.exists("b") && !bench.space.exists("early"));
    // The window is over, and the person is asked as before.
    let shown = turn(&mut session, &[("deny", None)]).await;
    assert_eq!(
        (kinds(&shown), shown.codes()),
        (vec![AskKind::Permission], vec!["denied".to_owned()])
    );
    // The model is told by the messages; the prefix does not change with the mode.
    let first = bench.request(0);
    let told = first.last_user_text();
    assert!(
        told.contains("<mode>\nplan:") && told.contains("exit_plan_mode"),
        "{told}"
    );
    let last = bench.request(5);
    assert!(last.last_user_text().starts_with("<mode>\nnormal:"));
    assert_eq!(
        (first.system_text(), first.tool_names()),
        (last.system_text(), last.tool_names())
    );
    let refused = &bench.request(1).tool_results()[0].1;
    assert!(
        refused.contains("plan mode is on") && refused.contains("it changes files"),
        "{refused}"
    );
    bench.server.assert_done();
    session.close().await;
}

#[tokio::test]
async fn a_plan_may_be_changed_or_sent_back() {
    for (answer, results, told, after) in [
        (
            ("edit", Some("1. write b")),
            ["ok", "ok"],
            "Carry this plan out now:\n1. write b",
            "normal",
        ),
        (
            ("keep", Some("test it too")),
            ["ok", "plan_mode"],
            "The person said: test it too",
            "plan",
        ),
        (("keep", None), ["ok", "plan_mode"], "keep planning", "plan"),
        // What was not offered is no approval.
        (("once", None), ["ok", "plan_mode"], "keep planning", "plan"),
        (("edit", None), ["ok", "plan_mode"], "keep planning", "plan"),
    ] {
        let bench = Bench::new(Kind::Chat, [propose(), write("b"), done()]);
        let mut session = bench.open_with(Open::New, planning).await;
        let shown = turn(&mut session, &[answer]).await;
        assert_eq!(shown.codes(), results, "{answer:?}");
        let text = &bench.request(1).tool_results()[0].1;
        assert!(text.contains(told), "{answer:?}: {text}");
        let last = modes(&shown).pop().map(|(mode, _)| mode);
        assert_eq!(last.as_deref(), Some(after), "{answer:?}");
        session.close().await;
    }
}

#[tokio::test]
async fn without_anybody_a_plan_is_an_answer() {
    let bench = Bench::new(Kind::Chat, [propose(), write("a"), done()]);
    let mut session = bench
        .open_with(Open::New, |options| {
            options.permissions.mode = Some(Mode::Plan);
            options.permissions.policy.posture = Posture::Yolo;
        })
        .await;
    let shown = session.run("go").await;
    assert_eq!(shown.codes(), ["ok", "plan_mode"]);
    let text = &bench.request(1).tool_results()[0].1;
    assert!(
        text.contains("Give the plan as your answer and stop"),
        "{text}"
    );
    assert!(!bench.space.exists("a"));
    session.close().await;
}

#[tokio::test]
async fn there_is_no_plan_to_approve_in_normal_mode() {
    let bench = Bench::new(Kind::Chat, [propose(), done()]);
    let mut session = bench.open_with(Open::New, attended).await;
    assert_eq!(turn(&mut session, &[]).await.codes(), ["not_planning"]);
    session.close().await;
}

#[tokio::test]
async fn a_resumed_session_keeps_its_mode_and_not_its_posture() {
    let bench = Bench::new(
        Kind::Chat,
        [
            done(),
            write("a"),
            done(),
            write("a"),
            done(),
            write("a"),
            done(),
        ],
    );
    let mut session = bench
        .open_with(Open::New, |options| {
            planning(options);
            options.permissions.policy.posture = Posture::Yolo;
        })
        .await;
    turn(&mut session, &[]).await;
    let id = session.id();
    session.close().await;
    let mut session = bench.open_with(Open::Resume(id.clone()), attended).await;
    let shown = turn(&mut session, &[]).await;
    assert_eq!(
        (shown.codes(), modes(&shown)),
        (vec!["plan_mode".into()], vec![])
    );
    // It was told already.
    assert_eq!(
        bench.request(1).last_user_text().matches("<mode>").count(),
        0
    );
    session.close().await;
    let mut fork = bench.open_with(Open::Fork(id.clone()), attended).await;
    assert_eq!(turn(&mut fork, &[]).await.codes(), ["plan_mode"]);
    fork.close().await;
    let mut session = bench
        .open_with(Open::Resume(id), |options| {
            attended(options);
            options.permissions.mode = Some(Mode::Normal);
        })
        .await;
    let shown = turn(&mut session, &[("once", None)]).await;
    assert_eq!(shown.codes(), ["ok"]);
    assert_eq!(modes(&shown), [("normal".to_owned(), "ask".to_owned())]);
    session.close().await;
}

#[tokio::test]
async fn hosts_are_asked_for_while_planning_and_servers_need_trust() {
    let fetch = call("fetch_url", json!({"url": "http://127.0.0.1:9/"}));
    let look = || call("mcp__s__look", json!({}));
    let steps = [fetch.clone(), fetch, look(), look(), look(), done()];
    let bench = Bench::new(Kind::Chat, steps);
    let mut session = bench
        .open_with(Open::New, |options| {
            planning(options);
            options.permissions.policy.posture = Posture::Yolo;
        })
        .await;
    let answers: Answers = &[
        ("deny", None),
        ("session", None),
        ("deny", None),
        ("session", None),
    ];
    let shown = turn(&mut session, answers).await;
    use AskKind::{Permission, Trust};
    assert_eq!(kinds(&shown), [Permission, Permission, Trust, Trust]);
    assert_eq!(
        shown.codes(),
        ["denied", "forbidden", "plan_mode", "ok", "ok"],
        "{shown:?}"
    );
    session.close().await;
    // Listed tools need no word; without anybody the others stay out.
    for (trusted, expect) in [
        (vec!["mcp__s__look".to_owned()], "ok"),
        (vec![], "plan_mode"),
    ] {
        let bench = Bench::new(Kind::Chat, [look(), done()]);
        let mut session = bench
            .open_with(Open::New, |options| {
                planning(options);
                options.run.interactive = false;
                options.permissions.plan_tools = trusted.clone();
            })
            .await;
        assert_eq!(session.run("go").await.codes(), [expect]);
        session.close().await;
    }
}

/// Keeps rules in memory, or refuses to.
struct Kept {
    rules: Mutex<Vec<String>>,
    broken: bool,
}

impl RuleStore for Kept {
    fn place(&self, keep: Keep) -> Option<String> {
        Some(match keep {
            Keep::Person => "~/config.toml".into(),
            Keep::Repository => "ostler.toml".into(),
        })
    }

    fn file(&self, _: Keep) -> Option<PathBuf> {
        None
    }

    fn save(&self, rule: &str, _: Keep) -> Result<String, String> {
        if self.broken {
            return Err("the disk is full".into());
        }
        self.rules.lock().unwrap().push(rule.to_owned());
        Ok("~/config.toml:3".into())
    }
}

fn kept(broken: bool) -> Arc<Kept> {
    Arc::new(Kept {
        rules: Mutex::default(),
        broken,
    })
}

#[tokio::test]
async fn always_shows_its_rule_saves_it_and_holds_at_once() {
    for broken in [false, true] {
        let store = kept(broken);
        let steps = [
            bash("touch a"),
            bash("touch a"),
            write("b"),
            write("b"),
            write("c"),
            done(),
        ];
        let bench = Bench::new(Kind::Chat, steps);
        let mut session = bench
            .open_with(Open::New, |options| {
                attended(options);
                options.permissions.rules = Some(store.clone());
            })
            .await;
        let answers: Answers = &[("always", None), ("always", None), ("deny", None)];
        let shown = turn(&mut session, answers).await;
        assert_eq!(shown.codes(), ["ok", "ok", "ok", "ok", "denied"]);
        let offered = |n: usize| {
            let options = shown.asks[n].options.iter();
            let text = options.map(|o| format!("{}: {}", o.id, o.detail.as_deref().unwrap_or("-")));
            text.collect::<Vec<_>>()
        };
        assert_eq!(
            offered(0),
            [
                "once: -",
                "session: Bash(touch a)",
                "always: Bash(touch a) in ~/config.toml",
                "always_project: Bash(touch a) in ostler.toml",
                "deny: -"
            ]
        );
        assert_eq!(
            offered(1),
            [
                "once: -",
                "session: editing files",
                "always: Edit(./b) in ~/config.toml",
                "always_project: Edit(./b) in ostler.toml",
                "deny: -"
            ]
        );
        let (decisions, saved): (Vec<&str>, Vec<Option<&str>>) = shown
            .entries
            .iter()
            .filter_map(|e| match &e.body {
                Body::Approval(a) => Some((a.decision.as_str(), a.saved.as_deref())),
                _ => None,
            })
            .unzip();
        let rules = store.rules.lock().unwrap().clone();
        if broken {
            assert_eq!(decisions, ["session", "session", "deny"]);
            assert_eq!((saved, rules), (vec![None; 3], vec![]));
            let told = shown.types().iter().filter(|t| **t == "notice").count();
            assert_eq!(told, 2);
        } else {
            assert_eq!(decisions, ["always", "always", "deny"]);
            assert_eq!(rules, ["Bash(touch a)", "Edit(./b)"]);
            assert_eq!(
                saved,
                [
                    Some("Bash(touch a) in ~/config.toml:3"),
                    Some("Edit(./b) in ~/config.toml:3"),
                    None
                ]
            );
        }
        session.close().await;
    }
}

#[tokio::test]
async fn what_no_rule_would_allow_is_not_offered_for_ever() {
    let store = kept(false);
    let bench = Bench::new(Kind::Chat, [bash("touch asked"), bash("$X y"), done()]);
    let mut session = bench
        .open_with(Open::New, |options| {
            attended(options);
            options.permissions.rules = Some(store.clone());
            options.permissions.policy.rules.ask = rules(&["Bash(touch asked)"]);
        })
        .await;
    let shown = turn(&mut session, &[("always", None), ("deny", None)]).await;
    for ask in &shown.asks {
        assert!(ask.options.iter().all(|o| o.id != "always"), "{ask:?}");
    }
    // An answer that was not offered is a no.
    assert_eq!(shown.codes(), ["denied", "denied"]);
    assert!(store.rules.lock().unwrap().is_empty());
    session.close().await;
}

#[tokio::test]
async fn an_ask_rule_on_reading_asks_and_a_yes_holds_for_that_file() {
    let read = |name: &str| call("read_file", json!({"path": name}));
    let bench = Bench::new(
        Kind::Chat,
        [read("a.key"), read("a.key"), read("b.key"), done()],
    );
    bench.space.write("a.key", "a");
    bench.space.write("b.key", "b");
    let mut session = bench
        .open_with(Open::New, |options| {
            attended(options);
            options.permissions.policy.rules.ask = rules(&["Read(*.key)"]);
        })
        .await;
    let shown = turn(&mut session, &[("session", None), ("deny", None)]).await;
    assert_eq!(shown.codes(), ["ok", "ok", "denied"]);
    session.close().await;
}

#[tokio::test]
async fn an_edit_shows_its_diff_first() {
    let edit = call(
        "edit_file",
        json!({"path": "a.txt", "old": "two", "new": "2"}),
    );
    let bench = Bench::new(Kind::Chat, [edit, write("new"), done()]);
    bench.space.write("a.txt", "one\ntwo\n");
    let mut session = bench.open_with(Open::New, attended).await;
    let shown = turn(&mut session, &[("deny", None), ("deny", None)]).await;
    let previews: Vec<&str> = shown
        .asks
        .iter()
        .map(|a| a.preview.as_deref().unwrap_or_default())
        .collect();
    assert!(previews[0].contains("-two\n+2\n"), "{previews:?}");
    assert!(previews[1].contains("+x\n"), "{previews:?}");
    assert_eq!(bench.space.read("a.txt"), "one\ntwo\n");
    session.close().await;
}

#[tokio::test]
async fn approve_changes_who_is_asked() {
    // Per line: whether a command and an edit are asked for.
    for (line, shell, edit) in [
        ("approve ask", Some("Permission"), Some("Permission")),
        ("approve all", None, Some("Permission")),
        ("approve 10m", None, None),
        ("approve 0s", Some("Permission"), Some("Permission")),
    ] {
        let bench = Bench::new(Kind::Chat, [bash("touch a"), write("b"), done()]);
        let mut session = bench.open_with(Open::New, attended).await;
        let View::Text(_) = session.command(line).await else {
            panic!("{line}")
        };
        let asked: Vec<&str> = [shell, edit].into_iter().flatten().collect();
        let answers = vec![("once", None); asked.len()];
        let shown = turn(&mut session, &answers).await;
        let got: Vec<String> = kinds(&shown).iter().map(|k| format!("{k:?}")).collect();
        assert_eq!(got, asked, "{line}");
        session.close().await;
    }
    let bench = Bench::new(Kind::Chat, [bash("touch a"), done()]);
    let mut session = bench.open_with(Open::New, attended).await;
    session.command("approve none").await;
    let shown = turn(&mut session, &[]).await;
    assert_eq!(
        (shown.codes(), shown.approvals()),
        (vec!["blocked".into()], vec!["deny".into()])
    );
    assert_eq!(modes(&shown), [("normal".to_owned(), "refuse".to_owned())]);
    let View::Error(_) = session.command("approve perhaps").await else {
        panic!("it knows no such thing")
    };
    session.close().await;
}

#[tokio::test]
async fn commands_are_heard_while_a_turn_runs() {
    let wait = bash("until [ -e go ]; do sleep 0.01; done");
    let bench = Bench::new(
        Kind::Chat,
        [
            wait,
            write("a"),
            bash("touch b"),
            done(),
            bash("touch b"),
            done(),
        ],
    );
    let mut session = bench
        .open_with(Open::New, |options| {
            attended(options);
            options.permissions.policy.posture = Posture::Yolo;
        })
        .await;
    session.prompt("go", Delivery::Queue).await;
    let shown = session
        .watch(async |session, event| match event {
            Event::Delta(Delta::ToolStarted { .. }) if !bench.space.exists("go") => {
                for line in ["mode plan", "permissions deny Bash(touch:*)", "status"] {
                    session.send(Op::Command { line: line.into() }).await;
                }
                settle().await;
                bench.space.write("go", "");
            }
            Event::Entry(_) | Event::Delta(_) | Event::Ask(_) | Event::Reply(_) => {}
        })
        .await;
    assert_eq!(shown.codes(), ["ok", "plan_mode", "plan_mode"], "{shown:?}");
    let status = shown.replies.iter().find_map(|reply| match &reply.view {
        View::Table(table) => Some(table.texts()),
        _ => None,
    });
    let rows = status.unwrap();
    assert!(
        rows.contains(&vec!["mode".into(), "plan".into()]),
        "{rows:?}"
    );
    assert!(
        rows.contains(&vec!["approval".into(), "yolo".into()]),
        "{rows:?}"
    );
    // The rule was heard, too: a yolo posture does not lift a deny.
    session.command("mode normal").await;
    assert_eq!(turn(&mut session, &[]).await.codes(), ["blocked"]);
    session.close().await;
}

#[tokio::test]
async fn permissions_are_shown_and_changed_for_the_session() {
    let bench = Bench::new(
        Kind::Chat,
        [bash("touch a"), done(), bash("touch a"), done()],
    );
    let mut session = bench
        .open_with(Open::New, |options| {
            attended(options);
            options.permissions.policy.rules.deny = rules(&["Read(.env)"]);
        })
        .await;
    session.command("permissions allow bash(touch a)").await;
    let View::Table(table) = session.command("permissions").await else {
        panic!("no table")
    };
    let rows = table.texts();
    let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
    assert!(
        rows.contains(&row(["deny", "Read(.env)", "test:1", ""])),
        "{rows:?}"
    );
    assert!(
        rows.contains(&row(["allow", "Bash(touch a)", "this session", ""])),
        "{rows:?}"
    );
    turn(&mut session, &[]).await;
    for (line, told) in [
        ("permissions remove Read(.env)", "is written in test:1"),
        ("permissions remove Bash(x)", "There is no rule"),
        ("permissions deny Nothing(x)", "there is no tool `nothing`"),
        ("permissions allow Bash(", "cannot be read"),
        ("permissions grant x", "Usage: /permissions"),
        ("permissions allow", "Usage: /permissions"),
    ] {
        let View::Error(text) = session.command(line).await else {
            panic!("{line}")
        };
        assert!(text.contains(told), "{line}: {text}");
    }
    session.command("permissions remove Bash(touch a)").await;
    turn(&mut session, &[("once", None)]).await;
    session.close().await;
}

#[tokio::test]
async fn plan_takes_a_prompt_along() {
    let bench = Bench::new(Kind::Chat, [done()]);
    let mut session = bench.open_with(Open::New, attended).await;
    let line = "plan add a flag".into();
    session.send(Op::Command { line }).await;
    let shown = session.finish().await;
    assert_eq!(modes(&shown), [("plan".to_owned(), "ask".to_owned())]);
    let said = bench.request(0).last_user_text();
    assert!(
        said.contains("<mode>\nplan:") && said.ends_with("add a flag"),
        "{said}"
    );
    session.close().await;
}

#[tokio::test]
async fn what_is_remembered_needs_a_yes_each_time() {
    let steps = [remember("a"), remember("b"), remember("c"), done()];
    let bench = Bench::new(Kind::Chat, steps);
    let mut session = bench
        .open_with(Open::New, |options| {
            attended(options);
            options.permissions.policy.posture = Posture::Yolo;
            options.permissions.policy.rules.allow = rules(&["remember"]);
        })
        .await;
    let answers: Answers = &[("once", None), ("session", None), ("once", None)];
    let shown = turn(&mut session, answers).await;
    assert_eq!(shown.codes(), ["ok", "denied", "ok"]);
    let ids: Vec<&str> = shown.asks[0]
        .options
        .iter()
        .map(|o| o.id.as_str())
        .collect();
    assert_eq!(ids, ["once", "deny"]);
    session.close().await;

    let bench = Bench::new(Kind::Chat, [remember("a"), done()]);
    let mut session = bench
        .open_with(Open::New, |options| {
            attended(options);
            options.run.interactive = false;
            options.permissions.policy.posture = Posture::Yolo;
            options.permissions.policy.headless = Headless::Allow;
        })
        .await;
    assert_eq!(session.run("go").await.codes(), ["blocked"]);
    session.close().await;
}

#[tokio::test]
async fn what_the_sandbox_stopped_is_granted_and_run_again() {
    let push = || call("push", json!({}));
    let ran = |shown: &Shown| -> Vec<Value> {
        let results = shown.results();
        results.iter().map(|r| r["data"]["ran"].clone()).collect()
    };
    for (answer, asks, runs, saved) in [
        ("once", 2, [true, true], &[] as &[&str]),
        ("session", 1, [true, true], &[]),
        ("always", 1, [true, true], &["Net(code.example)"]),
        ("deny", 2, [false, false], &[]),
    ] {
        let store = kept(false);
        let bench = Bench::new(Kind::Chat, [push(), push(), done()]);
        let mut session = bench
            .open_with(Open::New, |options| {
                attended(options);
                options.permissions.rules = Some(store.clone());
                options.permissions.policy.rules.allow = rules(&["push"]);
            })
            .await;
        let answers = vec![(answer, Some("because")); asks];
        let shown = turn(&mut session, &answers).await;
        assert_eq!(ran(&shown), runs, "{answer}: {shown:?}");
        assert_eq!(*store.rules.lock().unwrap(), saved, "{answer}");
        let ask = &shown.asks[0];
        assert!(ask.title.contains("needs to reach code.example"), "{ask:?}");
        let data = &shown.results()[0]["data"];
        match answer {
            "deny" => assert_eq!(
                data["denied"]["hint"],
                "No way out. The person did not grant it: because"
            ),
            _ => assert_eq!(data["granted"], "reach code.example"),
        }
        session.close().await;
    }
    for name in ["greedy", "posing"] {
        let bench = Bench::new(Kind::Chat, [call(name, json!({})), done()]);
        let mut session = bench
            .open_with(Open::New, |options| {
                attended(options);
                options.permissions.policy.rules.allow = rules(&["greedy", "posing"]);
            })
            .await;
        assert_eq!(ran(&turn(&mut session, &[]).await), [false], "{name}");
        session.close().await;
    }
    // Nobody to ask, a deny rule, or a rule that grants it from the start.
    for (interactive, deny, allow, expect) in [
        (false, vec![], vec![], false),
        (true, rules(&["Net(*.example)"]), vec![], false),
        (true, vec![], rules(&["Net(code.example)"]), true),
    ] {
        let bench = Bench::new(Kind::Chat, [push(), done()]);
        let mut session = bench
            .open_with(Open::New, |options| {
                attended(options);
                options.run.interactive = interactive;
                options.permissions.policy.rules.deny = deny.clone();
                options.permissions.policy.rules.allow = allow.clone();
                options
                    .permissions
                    .policy
                    .rules
                    .allow
                    .extend(rules(&["push"]));
            })
            .await;
        assert_eq!(ran(&turn(&mut session, &[]).await), [expect]);
        session.close().await;
    }
}

/// How often arguments of `Eager` were read.
static READS: AtomicUsize = AtomicUsize::new(0);

/// A tool that would start a program before it was judged, to show what it would do.
struct Eager;

static EAGER: ToolDeclaration = of_other("eager", false);

impl Eager {
    async fn start(cx: Context) -> Result<(), ToolError> {
        let command = Command {
            argv: vec!["true".into()],
            cwd: cx.scope.root.clone(),
            env: cx.services.settings.env.clone(),
            stdio: Stdio::Pipes,
            sandbox: None,
        };
        cx.services.programs.start(command).await.map(drop)
    }
}

impl Tool for Eager {
    fn about(&self) -> &ToolDeclaration {
        &EAGER
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: EAGER.name.to_string(),
            ..PEEK.spec()
        }
    }

    fn read(&self, _: &Value) -> Result<Arc<dyn Call>, ToolError> {
        READS.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(Eager))
    }

    fn render(&self, data: &Value) -> Rendered {
        data.to_string().into()
    }
}

impl Call for Eager {
    fn access(&self, _: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(vec![(SERVER.access)()])
    }

    fn subject(&self) -> Subject {
        Subject::default()
    }

    fn preview(&self, cx: Context) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move { Self::start(cx).await.err().map(|e| e.code.to_owned()) })
    }

    fn run(&self, cx: Context) -> BoxFuture<'_, Result<Done, ToolError>> {
        Box::pin(async move { Self::start(cx).await.map(|()| json!({"ran": true}).into()) })
    }
}

#[tokio::test]
async fn arguments_are_read_once_and_no_program_starts_before_the_call_was_judged() {
    let bench = Bench::new(Kind::Chat, [call("eager", json!({"x": 1})), done()]);
    let mut session = bench
        .open_with(Open::New, |options| {
            attended(options);
            options.toolbox.more = vec![&Eager];
        })
        .await;
    let shown = turn(&mut session, &[("once", None)]).await;
    let preview = shown.asks[0].preview.as_deref();
    assert_eq!(preview, Some("not_allowed"));
    assert_eq!(shown.results()[0]["data"]["ran"], true, "{shown:?}");
    // Accepted, stored, shown, judged, asked about, previewed and run, all by the one reading.
    assert_eq!(READS.load(Ordering::Relaxed), 1);
    session.close().await;
}

#[tokio::test]
async fn a_reader_that_was_refused_a_change_is_judged_again() {
    let writer = json!("writer");
    let stands =
        |data: &Value| data["ran"].is_null() && data["judged_again"]["refused"].is_string();
    // Somebody can be asked: their word counts, and the second run is told.
    for (answer, reruns) in [("once", true), ("session", true), ("deny", false)] {
        let bench = Bench::new(Kind::Chat, [call("peek", json!({})), done()]);
        let mut session = bench.open_with(Open::New, attended).await;
        let shown = turn(&mut session, &[(answer, Some("because"))]).await;
        let data = &shown.results()[0]["data"];
        assert_eq!(data["judged_again"] == writer, reruns, "{answer}: {data}");
        assert_eq!(data["ran"] == true, reruns, "{answer}: {data}");
        assert_eq!(stands(data), !reruns, "{answer}: {data}");
        let preview = shown.asks[0].preview.clone().unwrap_or_default();
        assert!(preview.contains("out.txt"), "{preview}");
        session.close().await;
    }
    // Nobody can be asked: the setting answers. A rule that names the command gives it the ordinary sandbox at once.
    for (headless, allow, judged) in [
        (Headless::Sandbox, &[][..], Some(true)),
        (Headless::Allow, &[], Some(true)),
        (Headless::Deny, &[], Some(false)),
        (Headless::Deny, &["peek"], None),
    ] {
        let bench = Bench::new(Kind::Chat, [call("peek", json!({})), done()]);
        let mut session = bench
            .open_with(Open::New, |options| {
                attended(options);
                options.run.interactive = false;
                options.permissions.policy.headless = headless;
                options.permissions.policy.rules.allow = rules(allow);
            })
            .await;
        let shown = session.run("go").await;
        let data = &shown.results()[0]["data"];
        match judged {
            Some(true) => assert_eq!(data["judged_again"], writer, "{headless:?}"),
            Some(false) => assert!(stands(data), "{headless:?} {data}"),
            None => assert!(
                data["ran"] == true && data["judged_again"].is_null(),
                "{data}"
            ),
        }
        session.close().await;
    }
    // Yolo and an approved plan speak for it from the start.
    let bench = Bench::new(Kind::Chat, [call("peek", json!({})), done()]);
    let mut session = bench
        .open_with(Open::New, |options| {
            attended(options);
            options.permissions.policy.posture = Posture::Yolo;
        })
        .await;
    let data = turn(&mut session, &[]).await.results()[0]["data"].clone();
    assert!(
        data["ran"] == true && data["judged_again"].is_null(),
        "{data}"
    );
    session.close().await;
    // While a plan is made nothing is judged again.
    let bench = Bench::new(Kind::Chat, [call("peek", json!({})), done()]);
    let mut session = bench
        .open_with(Open::New, |options| {
            planning(options);
            options.permissions.plan_tools = vec!["peek".into()];
        })
        .await;
    let data = turn(&mut session, &[]).await.results()[0]["data"].clone();
    assert!(
        data["ran"].is_null() && data["judged_again"].is_null(),
        "{data}"
    );
    session.close().await;
}

#[tokio::test]
async fn steps_are_completed_with_evidence() {
    let todo = json!({"items": [
        {"text": "read", "state": "in_progress"},
        {"text": "write", "state": "pending"},
    ]});
    let complete = |step: &str| {
        let args = json!({"step": step, "evidence": "seen"});
        ("complete_step", args)
    };
    // Those of one answer, too, build on each other.
    let both = Step::answer().calls([complete("1"), complete("write"), complete("ship")]);
    let bench = Bench::new(Kind::Chat, [call("todo", todo), both, done()]);
    let mut session = bench.open_with(Open::New, attended).await;
    let shown = turn(&mut session, &[]).await;
    assert_eq!(shown.codes(), ["ok", "ok", "ok", "unknown_step"]);
    let last = shown.entries.iter().rev().find_map(|e| match &e.body {
        Body::Todo(todo) => Some(todo.items.clone()),
        _ => None,
    });
    let done = |item: &TodoItem| item.state == TodoState::Done;
    assert!(last.is_some_and(|items| items.iter().all(done)));
    session.close().await;
}

/// A file system that never says what lies anywhere.
struct Stuck(Local);

impl Host for Stuck {
    fn spawn(&self, command: Command) -> Fut<'_, Process> {
        self.0.spawn(command)
    }

    fn stat(&self, _: &Path) -> Fut<'_, Stat> {
        Box::pin(std::future::pending())
    }

    fn read(&self, path: &Path, span: Span, border: &Arc<Border>) -> Fut<'_, Content> {
        self.0.read(path, span, border)
    }

    fn write(&self, path: &Path, bytes: Bytes, options: WriteOptions) -> Fut<'_, Written> {
        self.0.write(path, bytes, options)
    }

    fn rename(&self, from: &Path, to: &Path, options: RenameOptions) -> Fut<'_, Renamed> {
        self.0.rename(from, to, options)
    }

    fn list(&self, path: &Path, max_entries: usize, border: &Arc<Border>) -> Fut<'_, Listing> {
        self.0.list(path, max_entries, border)
    }
}

#[tokio::test]
async fn a_stuck_file_system_can_be_interrupted() {
    for step in [call("read_file", json!({"path": "a"})), write("a")] {
        let bench = Bench::new(Kind::Chat, [step]);
        let mut session = bench
            .open_with(Open::New, |options| {
                attended(options);
                options.toolbox.host = Arc::new(Stuck(Local::new()));
                options.permissions.policy.rules.deny = rules(&["Read(.env)"]);
            })
            .await;
        session.prompt("go", Delivery::Queue).await;
        let shown = session
            .watch(async |session, event| {
                if let Event::Entry(e) = event
                    && matches!(e.body, Body::ToolUse(_))
                {
                    session.send(Op::Interrupt).await;
                }
            })
            .await;
        assert_eq!(
            (shown.outcome(), shown.codes()),
            (Some(Outcome::Interrupted), vec!["interrupted".to_owned()])
        );
        session.close().await;
    }
}

/// What the person tightened for a session holds when it is opened again or copied; what they loosened does not come back.
#[tokio::test]
async fn what_was_tightened_outlives_the_process_and_comes_with_a_fork() {
    let yolo = |options: &mut HubSettings| {
        attended(options);
        options.permissions.policy.posture = Posture::Yolo;
    };
    let bench = Bench::new(Kind::Chat, [done()]);
    let mut session = bench.open_with(Open::New, yolo).await;
    session.run("hello").await;
    let id = session.id();
    session.command("permissions deny Bash(touch:*)").await;
    session.command("permissions ask Bash(mkdir:*)").await;
    session.command("permissions allow Bash(rmdir:*)").await;
    session.command("approve ask").await;
    session.close().await;
    // A fork from before the rules were given keeps to them as well.
    let before = Open::Fork(format!("{id}@1"));
    let first = bench.open_with(before, yolo).await;
    assert_eq!(first.client.snapshot.mode.deny, ["Bash(touch:*)"]);
    first.close().await;
    let mut fork = None;
    for which in [Open::Resume(id.clone()), Open::Fork(id.clone())] {
        let is_fork = matches!(which, Open::Fork(_));
        for step in [bash("touch a"), bash("mkdir b"), bash("cp x y"), done()] {
            bench.server.push(step);
        }
        let mut session = bench.open_with(which.clone(), yolo).await;
        let notes = session.client.notes.join("\n");
        assert!(notes.contains("Bash(touch:*)"), "{which:?}: {notes}");
        let shown = turn(&mut session, &[("deny", None), ("deny", None)]).await;
        assert_eq!(shown.approvals(), ["deny"; 3], "{which:?}");
        assert_eq!(kinds(&shown).len(), 2, "{which:?}");
        assert!(!bench.space.exists("a"), "{which:?}");
        if is_fork {
            fork = Some(session.id());
        }
        session.close().await;
    }
    // A third process, whoever opened it between.
    let fork = Open::Resume(fork.unwrap());
    let mut session = bench.open_with(fork.clone(), yolo).await;
    let mode = session.client.snapshot.mode.clone();
    assert_eq!((mode.deny.len(), mode.ask.len()), (1, 1), "{mode:?}");
    assert_eq!(mode.posture, "ask");
    // The person takes it back.
    session.command("permissions remove Bash(touch:*)").await;
    session.command("approve all").await;
    session.close().await;
    let session = bench.open_with(fork, attended).await;
    let mode = session.client.snapshot.mode.clone();
    assert_eq!((mode.deny.len(), mode.posture.as_str()), (0, "ask"));
    session.close().await;
    // A refusal of all questions is tighter than asking; a flag of today is no loosening of yesterday.
    let bench = Bench::new(Kind::Chat, [done(), done()]);
    let mut session = bench.open_with(Open::New, attended).await;
    session.run("hello").await;
    let id = session.id();
    session.close().await;
    let mut session = bench.open_with(Open::Resume(id.clone()), yolo).await;
    assert_eq!(session.client.snapshot.mode.posture, "yolo");
    session.command("approve none").await;
    session.close().await;
    let session = bench.open_with(Open::Resume(id), yolo).await;
    assert_eq!(session.client.snapshot.mode.posture, "refuse");
    session.close().await;
}
