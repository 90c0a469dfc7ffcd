//! Hooks against a scripted model: what they are told, what their word changes, and what becomes of a turn when they fail.

use crate::common::{Bench, Session, Shown};
use ostler_engine::HubSettings;
use ostler_engine::hooks::{Hook, Matcher, Moment, RunsOn};
use ostler_guard::{Policy, Posture, Rule, Rules};
use ostler_testkit::{Kind, Step};
use ostler_wire::{Body, Delivery, Event, Op, Open, Outcome, View};
use serde_json::{Value, json};
use std::time::Duration;

fn hook(moment: Moment, matcher: &str, command: &str) -> Hook {
    Hook {
        moment,
        matcher: Matcher::parse(matcher, "test:1").unwrap(),
        only: None,
        command: command.into(),
        timeout: Duration::from_secs(20),
        env: Vec::new(),
        from: "test:1".into(),
        on: RunsOn::default(),
    }
}

fn with(hooks: Vec<Hook>) -> impl Fn(&mut HubSettings) {
    move |options| options.hooks = hooks.clone().into()
}

async fn open(bench: &Bench, hooks: Vec<Hook>) -> Session {
    bench.open_with(Open::New, with(hooks)).await
}

/// With somebody to ask, under these rules.
async fn watched(bench: &Bench, hooks: &[Hook], rules: &Rules) -> Session {
    let change = |options: &mut HubSettings| {
        options.hooks = hooks.to_vec().into();
        options.run.interactive = true;
        options.permissions.policy = Policy {
            rules: rules.clone(),
            ..Policy::default()
        };
    };
    bench.open_with(Open::New, change).await
}

fn text(text: &str) -> Step {
    Step::answer().text(text)
}

fn call(command: &str) -> Step {
    Step::answer().call("bash", json!({"command": command}))
}

fn notices(shown: &Shown) -> Vec<String> {
    let of = |body: &Body| match body {
        Body::Notice(notice) => Some(notice.text.clone()),
        _ => None,
    };
    shown.entries.iter().filter_map(|e| of(&e.body)).collect()
}

fn contexts(shown: &Shown) -> Vec<String> {
    let of = |body: &Body| body.message().and_then(|m| m.context.clone());
    shown.entries.iter().filter_map(|e| of(&e.body)).collect()
}

fn facts(bench: &Bench, file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(bench.space.root().join(file)).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

#[tokio::test]
async fn every_moment_is_told_what_there_is_to_know() {
    let args = json!({"path": "a.txt", "content": "new"});
    let bench = Bench::new(
        Kind::Chat,
        [Step::answer().call("write_file", args), text("done")],
    );
    let told = |moment| hook(moment, "", "cat >> told; echo >> told");
    let mut session = open(&bench, Moment::ALL.map(told).to_vec()).await;
    let shown = session.run("go").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done), "{shown:?}");
    let told = facts(&bench, "told");
    let names: Vec<&str> = told
        .iter()
        .map(|f| f["hook_event_name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "Stop"
        ]
    );
    let path = bench.space.root().join("a.txt").display().to_string();
    for (n, key, expect) in [
        (0, "/source", json!("startup")),
        (0, "/event", json!("session_start")),
        (1, "/prompt", json!("go")),
        (2, "/tool_name", json!("Write")),
        (2, "/tool", json!("write_file")),
        (2, "/tool_input/file_path", json!(path)),
        (2, "/tool_input/content", json!("new")),
        (3, "/tool_response/created", json!(true)),
        (4, "/stop_hook_active", json!(false)),
        (4, "/permission_mode", json!("default")),
    ] {
        assert_eq!(told[n].pointer(key), Some(&expect), "{n} {key}");
    }
    for one in &told {
        assert_eq!(one["session_id"], json!(session.id()));
        assert_eq!(
            one["transcript_path"],
            json!(session.log.display().to_string())
        );
        assert_eq!(one["cwd"], json!(bench.space.root().display().to_string()));
    }
}

#[tokio::test]
async fn exit_two_stops_a_call_and_the_model_reads_why() {
    let bench = Bench::new(
        Kind::Chat,
        [
            Step::answer().calls([
                ("bash", json!({"command": "touch fine"})),
                ("bash", json!({"command": "cd . && rm -rf fine"})),
                ("bash", json!({"command": "touch also"})),
            ]),
            text("ok"),
        ],
    );
    let guard = hook(
        Moment::PreTool,
        "Bash(rm:*)",
        "echo 'no deleting here' >&2; exit 2",
    );
    let mut session = open(&bench, vec![guard]).await;
    let shown = session.run("go").await;
    assert_eq!(shown.codes(), ["ok", "blocked", "ok"]);
    assert!(bench.space.exists("fine") && bench.space.exists("also"));
    let results = bench.request(1).tool_results();
    assert!(results[1].1.contains("no deleting here"), "{results:?}");
}

/// `allow` answers for the person only; `ask` always asks; the first who says no is the last who is asked.
#[tokio::test]
async fn a_hooks_word_against_rules_and_the_person() {
    let says = |decision: &str| {
        let json = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": "why"}});
        format!("echo '{json}'")
    };
    let rule = |text: &str| vec![Rule::parse(text, "test:1").unwrap()];
    let none = Rules::default;
    let deny = || Rules {
        deny: rule("Bash(touch:*)"),
        ..none()
    };
    let ask = || Rules {
        ask: rule("Bash(touch:*)"),
        ..none()
    };
    let allow = || Rules {
        allow: rule("Bash(touch:*)"),
        ..none()
    };
    for (decision, rules, asked, code) in [
        ("allow", none(), 0, "ok"),
        ("allow", ask(), 1, "ok"),
        ("allow", deny(), 0, "blocked"),
        ("ask", allow(), 1, "ok"),
        ("ask", deny(), 0, "blocked"),
        ("deny", allow(), 0, "blocked"),
        ("nonsense", none(), 1, "ok"),
    ] {
        let bench = Bench::new(Kind::Chat, [call("touch it"), text("ok")]);
        let hooks = vec![hook(Moment::PreTool, "", &says(decision))];
        let mut session = watched(&bench, &hooks, &rules).await;
        let shown = session.answered(&vec![("once", None); asked]).await;
        assert_eq!(shown.codes(), [code], "{decision} {rules:?}");
        assert_eq!(bench.space.exists("it"), code == "ok", "{decision}");
    }
    let bench = Bench::new(Kind::Chat, [call("touch it"), text("ok")]);
    let hooks = vec![
        hook(Moment::PreTool, "", "touch first; exit 2"),
        hook(Moment::PreTool, "", "touch second"),
    ];
    let mut session = open(&bench, hooks).await;
    session.run("go").await;
    assert!(bench.space.exists("first") && !bench.space.exists("second"));
}

/// Who can change a file of the project could have written its answer. A refusal counts from wherever it comes.
#[tokio::test]
async fn a_file_of_the_project_does_not_answer_for_the_person() {
    let allow = json!({"hookSpecificOutput": {"permissionDecision": "allow"}}).to_string();
    for (command, asked, code) in [
        ("cat answer".to_owned(), 1, "ok"),
        ("cat ./answer".to_owned(), 1, "ok"),
        ("cat \"$PROJECT/answer\"".to_owned(), 1, "ok"),
        ("PATH=.:$PATH; answer.sh".to_owned(), 1, "ok"),
        (format!("[ -f answer ] || exit 2; echo '{allow}'"), 1, "ok"),
        (
            format!("cat answer > /dev/null 2>&1; echo '{allow}'"),
            0,
            "ok",
        ),
        ("[ -f answer ] && exit 2".to_owned(), 0, "blocked"),
    ] {
        let bench = Bench::new(Kind::Chat, [call("touch it"), text("ok")]);
        bench.space.write("answer", &allow);
        let script = format!("#!/bin/sh\necho '{allow}'\n");
        bench.space.write("answer.sh", script);
        let mut hook = hook(Moment::PreTool, "", &command);
        let root = bench.space.root().canonicalize().unwrap();
        hook.env = vec![("PROJECT".into(), root.clone().into())];
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(root.join("answer.sh"), mode).unwrap();
        let mut session = watched(&bench, &[hook], &Rules::default()).await;
        let shown = session.answered(&vec![("once", None); asked]).await;
        assert_eq!(shown.codes(), [code], "{command}");
        let told = notices(&shown).concat().contains("does not count");
        assert_eq!(told, asked == 1, "{command}: {:?}", notices(&shown));
    }
}

#[tokio::test]
async fn no_hook_allows_what_plan_mode_refuses() {
    let bench = Bench::new(Kind::Chat, [call("touch it"), text("ok")]);
    let hooks = vec![hook(
        Moment::PreTool,
        "",
        r#"echo '{"decision":"approve"}'"#,
    )];
    let mut session = bench
        .open_with(Open::New, |options| {
            options.hooks = hooks.clone().into();
            options.permissions.mode = ostler_guard::Mode::parse("plan");
            options.permissions.policy.posture = Posture::Yolo;
        })
        .await;
    assert_eq!(session.run("go").await.codes(), ["plan_mode"]);
}

/// What is printed joins the turn, is in the log, and a resumed session sends the very bytes again.
#[tokio::test]
async fn words_of_hooks_ride_in_the_turn_and_replay_as_they_were() {
    let bench = Bench::new(Kind::Chat, [text("one"), text("two"), text("three")]);
    let hooks = || {
        vec![
            hook(Moment::SessionStart, "startup", "echo branch: main"),
            hook(Moment::SessionStart, "resume", "echo again"),
            hook(Moment::UserPrompt, "", "date +%N; cat > /dev/null"),
            hook(
                Moment::UserPrompt,
                "",
                r#"echo '{"hookSpecificOutput":{"additionalContext":"structured"}}'"#,
            ),
        ]
    };
    let mut session = open(&bench, hooks()).await;
    let first = session.run("go").await;
    let context = contexts(&first).concat();
    for part in [
        "<hook event=\"session_start\">\nbranch: main\n</hook>",
        "<hook event=\"user_prompt\">\nstructured\n</hook>",
    ] {
        assert!(context.contains(part), "{context}");
    }
    assert!(!context.contains("again"));
    assert!(bench.request(0).last_user_text().contains("branch: main"));
    let second = session.run("more").await;
    assert!(!contexts(&second).concat().contains("branch: main"));
    let id = session.id();
    session.close().await;
    let mut session = bench.open_with(Open::Resume(id), with(hooks())).await;
    let third = session.run("still").await;
    assert!(contexts(&third).concat().contains("\nagain\n"));
    let (before, after) = (
        bench.request(1).prompt_bytes(),
        bench.request(2).prompt_bytes(),
    );
    assert!(after.starts_with(&before), "the prompt does not continue");
}

#[tokio::test]
async fn a_prompt_that_is_refused_never_reaches_the_model() {
    let bench = Bench::new(Kind::Chat, [text("hello")]);
    let guard = "grep -q secret && { echo 'say it without the secret' >&2; exit 2; }; exit 0";
    let hooks = vec![
        hook(Moment::UserPrompt, "", guard),
        hook(Moment::SessionStart, "", "echo since the start"),
    ];
    let mut session = open(&bench, hooks).await;
    let shown = session.run("the secret is x").await;
    assert_eq!(shown.outcome(), Some(Outcome::Error));
    let (kind, message) = shown.error().unwrap();
    assert_eq!(kind, "hook");
    assert!(message.contains("say it without the secret"), "{message}");
    assert_eq!(bench.server.requests().len(), 0);
    let shown = session.run("hello").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    let request = String::from_utf8(bench.request(0).prompt_bytes()).unwrap();
    assert!(request.contains("since the start") && request.contains("<environment>"));
    assert!(!request.contains("the secret is x"));
    let id = session.id();
    session.close().await;
    assert!(bench.resume(&id).await.entries().len() > 3);
}

#[tokio::test]
async fn what_hooks_say_of_a_result_comes_after_all_results() {
    let bench = Bench::new(
        Kind::Messages,
        [
            Step::answer().calls([
                ("bash", json!({"command": "echo one"})),
                ("bash", json!({"command": "echo two > two"})),
                ("ls", json!({})),
            ]),
            text("ok"),
        ],
    );
    let hooks = vec![
        hook(Moment::PostTool, "bash", "echo 'lint: line 3' >&2; exit 2"),
        hook(
            Moment::PostTool,
            "ls",
            r#"echo '{"hookSpecificOutput":{"additionalContext":"ignored files are not shown"},"systemMessage":"looked"}'"#,
        ),
    ];
    let mut session = open(&bench, hooks).await;
    let shown = session.run("go").await;
    assert_eq!(shown.codes(), ["ok", "ok", "ok"]);
    assert_eq!(notices(&shown), ["looked"]);
    let request = bench.request(1);
    request.validate().unwrap();
    let text = request.last_user_text();
    assert!(
        text.contains("lint: line 3") && text.contains("ignored files are not shown"),
        "{text}"
    );
}

#[tokio::test]
async fn a_formatter_runs_after_an_edit_and_before_the_next_call() {
    let bench = Bench::new(
        Kind::Chat,
        [
            Step::answer().calls([
                ("write_file", json!({"path": "a.txt", "content": "messy"})),
                ("read_file", json!({"path": "a.txt"})),
            ]),
            text("ok"),
        ],
    );
    let formatter = r#"f=$(sed 's/.*"file_path":"\([^"]*\)".*/\1/'); tr a-z A-Z < "$f" > "$f.new" && mv "$f.new" "$f""#;
    let mut session = open(
        &bench,
        vec![hook(Moment::PostTool, "Edit(*.txt)", formatter)],
    )
    .await;
    session.run("go").await;
    let results = bench.request(1).tool_results();
    assert!(results[1].1.contains("MESSY"), "{results:?}");
}

#[tokio::test]
async fn a_stop_hook_sends_the_model_on_a_few_times() {
    let bench = Bench::new(Kind::Chat, ["a", "b", "c", "d", "e"].map(text));
    let twice = "cat >> told; echo >> told; test $(wc -l < told) -gt 2 || { echo run the tests >&2; exit 2; }";
    let mut session = open(&bench, vec![hook(Moment::Stop, "", twice)]).await;
    let shown = session.run("go").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    assert_eq!(bench.server.requests().len(), 3);
    assert!(bench.request(1).last_user_text().contains("run the tests"));
    let active: Vec<Value> = facts(&bench, "told")
        .iter()
        .map(|f| f["stop_hook_active"].clone())
        .collect();
    assert_eq!(active, [json!(false), json!(true), json!(true)]);

    let bench = Bench::new(Kind::Chat, ["a", "b", "c", "d", "e"].map(text));
    let mut session = open(
        &bench,
        vec![hook(Moment::Stop, "", "echo never >&2; exit 2")],
    )
    .await;
    let shown = session.run("go").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    assert_eq!(bench.server.requests().len(), 4);
    assert_eq!(notices(&shown).len(), 1, "{shown:?}");
}

#[tokio::test]
async fn one_that_wants_the_turn_ended_ends_it() {
    let halt = r#"echo '{"continue":false,"stopReason":"out of hours"}'"#;
    for moment in [Moment::PreTool, Moment::PostTool] {
        let bench = Bench::new(
            Kind::Chat,
            [
                Step::answer().calls([
                    ("bash", json!({"command": "touch one"})),
                    ("bash", json!({"command": "touch two"})),
                ]),
                text("ok"),
            ],
        );
        let mut session = open(&bench, vec![hook(moment, "", halt)]).await;
        let shown = session.run("go").await;
        assert_eq!(shown.outcome(), Some(Outcome::Error), "{moment:?}");
        assert!(shown.error().unwrap().1.contains("out of hours"));
        assert_eq!(bench.space.exists("one"), moment == Moment::PostTool);
        assert!(!bench.space.exists("two"));
        assert_eq!(shown.codes().len(), 2);
    }
}

/// Whatever a hook does wrong, the turn goes on, and the person is told once.
#[tokio::test]
async fn hooks_that_fail_hang_or_flood_stop_nothing() {
    let quick = |mut hook: Hook| {
        hook.timeout = Duration::from_millis(300);
        hook
    };
    let bench = Bench::new(Kind::Chat, [call("echo 1"), call("echo 2"), text("ok")]);
    let hooks = vec![
        hook(Moment::PreTool, "", "exit 1"),
        quick(hook(Moment::PreTool, "", "sleep 600")),
        hook(Moment::PreTool, "", "/no/such/program"),
        hook(Moment::PreTool, "", "echo '{nonsense'"),
        hook(Moment::PreTool, "", "head -c 20000000 /dev/zero"),
        hook(Moment::SessionStart, "", "exit 2"),
        quick(hook(Moment::UserPrompt, "", "yes")),
        hook(Moment::Stop, "", "kill -9 $$"),
    ];
    let mut session = open(&bench, hooks).await;
    let shown = session.run("go").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    assert_eq!(shown.codes(), ["ok", "ok"]);
    let told = notices(&shown);
    for part in [
        "`exit 1`",
        "`sleep 600`",
        "longer than 0.3 s",
        "/no/such/program",
        "{nonsense",
        "session_start",
        "`yes`",
        "kill -9",
    ] {
        assert!(
            told.iter().any(|text| text.contains(part)),
            "{part} {told:?}"
        );
    }
    let mut once = told.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), told.len(), "{told:?}");
}

#[tokio::test]
async fn a_stop_ends_the_hooks_of_a_turn() {
    let bench = Bench::new(Kind::Chat, [call("touch ran"), text("ok")]);
    let slow = hook(Moment::PreTool, "", "touch begun; sleep 600");
    let mut session = open(&bench, vec![slow]).await;
    session.prompt("go", Delivery::Queue).await;
    let begun = bench.space.root().join("begun");
    let shown = session
        .watch(async |session, event| {
            if let Event::Entry(entry) = event
                && matches!(entry.body, Body::ToolUse(_))
            {
                while !begun.exists() {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                session.send(Op::Interrupt).await;
            }
        })
        .await;
    assert_eq!(shown.outcome(), Some(Outcome::Interrupted));
    assert!(!bench.space.exists("ran"));
}

#[tokio::test]
async fn a_question_rings() {
    let bench = Bench::new(Kind::Chat, [call("touch it"), text("ok")]);
    let hooks = vec![
        hook(Moment::Notification, "permission_prompt", "cat > rung"),
        hook(Moment::Notification, "elicitation_dialog", "touch wrong"),
    ];
    let mut session = bench
        .open_with(Open::New, |options| {
            options.hooks = hooks.clone().into();
            options.run.interactive = true;
        })
        .await;
    session.prompt("go", Delivery::Queue).await;
    let rung = bench.space.root().join("rung");
    let mut fact = Value::Null;
    session
        .watch(async |session, event| {
            if let Event::Ask(ask) = event {
                while fact.is_null() {
                    let text = std::fs::read_to_string(&rung).unwrap_or_default();
                    fact = serde_json::from_str(&text).unwrap_or_default();
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                session.send(Session::answer(ask, "once", None)).await;
            }
        })
        .await;
    assert_eq!(fact["notification_type"], "permission_prompt");
    assert!(
        fact["message"].as_str().unwrap().contains("touch it"),
        "{fact}"
    );
    assert!(!bench.space.exists("wrong"));
}

#[tokio::test]
async fn folding_is_announced() {
    let bench = Bench::new(
        Kind::Chat,
        [call("seq 1 4000"), text("x"), text("## Goal\ng")],
    );
    let mut session = open(
        &bench,
        vec![hook(Moment::PreCompact, "manual", "cat > told")],
    )
    .await;
    session.run("go").await;
    session.command("compact the tests").await;
    let told = facts(&bench, "told");
    assert_eq!(
        (&told[0]["trigger"], &told[0]["custom_instructions"]),
        (&json!("manual"), &json!("the tests"))
    );
}

#[tokio::test]
async fn the_command_lists_them() {
    let bench = Bench::new(Kind::Chat, []);
    let mut session = open(&bench, vec![hook(Moment::PreTool, "Bash", "./guard")]).await;
    let View::Table(table) = session.command("hooks").await else {
        panic!("no table");
    };
    let rows = table.texts();
    assert_eq!(rows, [["pre_tool", "Bash", "./guard", "test:1"]]);
    let mut session = open(&bench, Vec::new()).await;
    assert!(matches!(session.command("hooks").await, View::Text(_)));
}

/// Arguments that a hook changes: rules, the person and the other hooks judge what will run, and everybody reads it.
#[tokio::test]
async fn a_changed_call_is_judged_shown_and_told() {
    let becomes = |command: &str, decision: &str| {
        let json = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision, "updatedInput": {"command": command}}});
        format!("echo '{json}'")
    };
    let rule = |text: &str| vec![Rule::parse(text, "test:1").unwrap()];
    let rules = |deny: &[&str], ask: &[&str], allow: &[&str]| Rules {
        deny: deny.iter().flat_map(|r| rule(r)).collect(),
        ask: ask.iter().flat_map(|r| rule(r)).collect(),
        allow: allow.iter().flat_map(|r| rule(r)).collect(),
    };
    let guard = "grep -q 'touch evil' && exit 2; exit 0";
    for (command, decision, rules, guards, asked, code) in [
        (
            "touch new",
            "",
            rules(&[], &[], &["Bash(touch:*)"]),
            false,
            0,
            "ok",
        ),
        // What was allowed was another call.
        (
            "touch new",
            "",
            rules(&[], &[], &["Bash(touch it)"]),
            false,
            1,
            "ok",
        ),
        ("touch new", "allow", rules(&[], &[], &[]), false, 0, "ok"),
        (
            "touch new",
            "allow",
            rules(&[], &["Bash(touch new)"], &[]),
            false,
            1,
            "ok",
        ),
        (
            "touch new",
            "allow",
            rules(&["Bash(touch new)"], &[], &[]),
            false,
            0,
            "blocked",
        ),
        (
            "touch new",
            "deny",
            rules(&[], &[], &["Bash"]),
            false,
            0,
            "blocked",
        ),
        // One that looked before it was changed looks again.
        (
            "touch evil",
            "allow",
            rules(&[], &[], &["Bash"]),
            true,
            0,
            "blocked",
        ),
    ] {
        let what = format!("{command} {decision} {rules:?}");
        let bench = Bench::new(Kind::Chat, [call("touch it"), text("ok")]);
        let mut hooks = vec![hook(Moment::PreTool, "", &becomes(command, decision))];
        if guards {
            hooks.insert(0, hook(Moment::PreTool, "", guard));
        }
        let mut session = watched(&bench, &hooks, &rules).await;
        let shown = session.answered(&vec![("once", None); asked]).await;
        assert_eq!(shown.codes(), [code], "{what}");
        assert!(
            !bench.space.exists("it") && !bench.space.exists("evil"),
            "{what}"
        );
        assert_eq!(bench.space.exists("new"), code == "ok", "{what}");
        for ask in &shown.asks {
            assert!(ask.subject.contains("touch new"), "{ask:?}");
        }
        let told = notices(&shown).concat();
        assert_eq!(
            told.contains(&format!(
                "A hook changed this bash call, which is now: {{\"command\":\"{command}\"}}"
            )),
            decision != "deny",
            "{what}: {told}"
        );
        if code == "ok" {
            let request = format!("{:?}", bench.request(1));
            assert!(
                request.contains("A hook changed the arguments of this bash call"),
                "{request}"
            );
        }
    }
}

#[tokio::test]
async fn hooks_that_change_each_others_work_come_to_an_end() {
    let bench = Bench::new(Kind::Chat, [call("echo"), text("ok")]);
    let adds = |word: &str| {
        let script = format!(
            "python3 -c \"import json,sys; c=json.load(sys.stdin)['tool_input']['command']; print(json.dumps({{'hookSpecificOutput': {{'updatedInput': {{'command': c + ' {word}'}}}}}}))\""
        );
        hook(Moment::PreTool, "Bash", &script)
    };
    let mut session = open(&bench, vec![adds("one"), adds("two")]).await;
    let shown = session.run("go").await;
    assert_eq!(shown.codes(), ["ok"]);
    let results = bench.request(1).tool_results();
    assert!(results[0].1.contains("one two"), "{results:?}");
}

/// Under whichever name, by any of the tools; arguments that make no sense are an error of the call.
#[tokio::test]
async fn changed_arguments_of_file_tools_have_names_of_others() {
    let write = json!({"path": "a.txt", "content": "old"});
    for (updated, file, code) in [
        (
            json!({"file_path": "b.txt", "content": "new"}),
            "b.txt",
            "ok",
        ),
        (json!({"path": "c.txt", "content": "new"}), "c.txt", "ok"),
        (
            json!({"file_path": "ABS/a.txt", "path": "d.txt", "content": "new"}),
            "d.txt",
            "ok",
        ),
        (
            json!({"path": "a.txt", "file_path": "e.txt", "content": "new"}),
            "e.txt",
            "ok",
        ),
        (json!({"content": 3}), "a.txt", "invalid_input"),
        (json!("nonsense"), "a.txt", "ok"),
    ] {
        let bench = Bench::new(
            Kind::Chat,
            [Step::answer().call("write_file", write.clone()), text("ok")],
        );
        let root = bench.space.root().display().to_string();
        let json = json!({"hookSpecificOutput": {"updatedInput": updated}}).to_string();
        let json = json.replace("ABS", &root);
        let hooks = vec![hook(Moment::PreTool, "Write", &format!("echo '{json}'"))];
        let mut session = open(&bench, hooks).await;
        let shown = session.run("go").await;
        assert_eq!(shown.codes(), [code], "{updated}: {shown:?}");
        assert_eq!(bench.space.exists(file), code == "ok", "{updated}");
        assert_eq!(
            bench.space.exists("a.txt"),
            file == "a.txt" && code == "ok",
            "{updated}"
        );
    }
}

/// Esc while a hook looks at a prompt: no request ever has it, and the person has it back.
#[tokio::test]
async fn a_prompt_that_is_stopped_while_a_hook_looks_comes_back() {
    let bench = Bench::new(Kind::Chat, [text("hello")]);
    let slow = "grep -q slow && sleep 60; exit 0";
    let mut session = open(&bench, vec![hook(Moment::UserPrompt, "", slow)]).await;
    session.prompt("a slow one", Delivery::Queue).await;
    let mut stopped = false;
    let shown = session
        .watch(async |session, event| {
            if matches!(event, Event::Delta(ostler_wire::Delta::Progress { .. })) && !stopped {
                stopped = true;
                session.send(Op::Interrupt).await;
            }
        })
        .await;
    assert_eq!(shown.outcome(), Some(Outcome::Interrupted), "{shown:?}");
    loop {
        if let Event::Reply(reply) = session.next().await {
            assert_eq!(
                reply.view,
                View::Do(ostler_wire::Deed::Compose("a slow one".into()))
            );
            break;
        }
    }
    assert!(bench.server.requests().is_empty());
    let shown = session.run("quick").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    let request = format!("{:?}", bench.request(0));
    assert!(
        request.contains("quick") && !request.contains("a slow one"),
        "{request}"
    );
}
