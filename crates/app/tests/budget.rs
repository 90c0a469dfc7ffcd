//! Budgets: what does not fit is not sent, the person may raise it, and a day is shared by all processes.

mod common;

use common::{Scene, of_type};
use ostler_testkit::{Kind, Output, Step, Usage, json_lines};
use serde_json::json;

/// Dear enough to count in whole cents: a token of the prompt costs nothing, one of the answer a cent.
const PRICED: &str = "price = { input = 0, output = 10000 }\nmax_output = 10\n";

fn answer(text: &str, output: u64) -> Step {
    Step::answer().text(text).usage(Usage {
        input: 100,
        output,
        ..Usage::default()
    })
}

/// What went wrong, for a person.
fn fault(out: &Output) -> String {
    let line = out.stderr.lines().find(|line| line.contains("udget"));
    line.unwrap_or(&out.stderr).to_owned()
}

#[test]
fn a_run_ends_before_a_request_that_could_break_its_budget() {
    // Each may take 10 cents and takes 6: two fit into 16, and the third might not.
    let steps = [
        answer("a", 6).call("time", json!({})),
        answer("b", 6).call("time", json!({})),
        answer("c", 6),
    ];
    let config = format!("{PRICED}[budget]\nrun = {{ usd = 0.16 }}\n");
    let scene = Scene::with_config(Kind::Chat, &config, steps);
    let out = scene.exec("go").exits(1);
    assert!(
        fault(&out).contains("The budget of the run is $0.1600: $0.1200 is used or reserved, and the next request may need $0.1000 more."),
        "{out:?}"
    );
    assert_eq!(scene.server.requests().len(), 2);
    let log = scene.log();
    let error = of_type(&log, "error")[0];
    assert_eq!(
        (&error["kind"], &error["details"]["span"]),
        (&json!("budget"), &json!("run"))
    );
    assert_eq!(of_type(&log, "turn_end")[0]["outcome"], "error");
    // The next run has a budget of its own, and the log goes on.
    scene.ostler(["resume", "-p", "again"]).output().ok();
    assert_eq!(scene.server.requests().len(), 3);
}

#[test]
fn a_session_and_a_day_are_remembered() {
    for (key, fresh_fits) in [("session", true), ("day", false)] {
        let config = format!("{PRICED}[budget]\n{key} = {{ usd = 0.15 }}\n");
        let steps = [answer("one", 6), answer("two", 6)];
        let scene = Scene::with_config(Kind::Chat, &config, steps);
        scene.exec("first").ok();
        let out = scene.ostler(["resume", "-p", "second"]).output().exits(1);
        let expect = format!("The budget of the {key} is $0.1500: $0.0600 is used");
        assert!(fault(&out).contains(&expect), "{out:?}");
        // Another session, another budget; the same day, the same budget.
        let out = scene.exec("third");
        assert_eq!(out.code == Some(0), fresh_fits, "{key} {out:?}");
    }
}

#[test]
fn tokens_count_and_the_flag_sets_them() {
    let scene = Scene::with_config(Kind::Messages, "max_output = 10\n", [answer("a", 5)]);
    for (budget, code) in [("10tokens", 1), ("100ktokens", 0), ("lots", 2)] {
        let run = scene.ostler(["exec", "--budget", budget, "-p", "go"]);
        run.output().exits(code);
    }
    assert_eq!(scene.server.requests().len(), 1);
}

#[test]
fn what_nobody_counted_is_guessed() {
    // A prompt weighs some 10,000 bytes, which might be 5,000 tokens.
    let untold = || Step::answer().text("a b c").usage(Usage::default());
    let scene = Scene::with_config(
        Kind::Chat,
        "max_output = 10\n[budget]\nsession = { tokens = 8000 }\n",
        [untold().call("time", json!({})), untold(), untold()],
    );
    let out = scene.exec("go").exits(1);
    assert!(fault(&out).contains("The budget of the session"), "{out:?}");
    assert_eq!(scene.server.requests().len(), 1);
    let ledger = json_lines(&scene.space.read(scene.space.home().join("ledger.jsonl")));
    assert_eq!((&ledger[0]["input"], ledger.len()), (&json!(0), 1));
}

#[test]
fn money_needs_a_price() {
    let scene = Scene::new(Kind::Chat, []);
    let out = scene.ostler(["exec", "--budget", "1", "-p", "go"]).output();
    assert!(fault(&out.exits(1)).contains("the price of mock/mock-model is not known"),);
    assert_eq!(scene.server.requests().len(), 0);
}

#[test]
fn a_person_may_raise_it_or_stop() {
    for (word, requests, said) in [
        ("y", 2, "The budget of the run was raised."),
        ("n", 1, "The budget of the run is $0.1500"),
    ] {
        let config = format!("{PRICED}[budget]\nrun = {{ usd = 0.15 }}\n");
        let steps = [answer("one", 6), answer("two", 6)];
        let scene = Scene::with_config(Kind::Chat, &config, steps);
        let lines = format!("first\nsecond\n{word}\n/quit\n");
        let out = scene.ostler([]).stdin(lines).output();
        assert!(
            out.stderr.contains(
                "more.\n  [y] raise it and continue: to $0.3000, until Ostler ends\n  [n] stop here: "
            ),
            "{}",
            out.stderr
        );
        assert_eq!(scene.server.requests().len(), requests, "{word}");
        assert!(out.stderr.contains(said), "{word}: {}", out.stderr);
    }
}

#[test]
fn a_project_cannot_spend_for_the_person() {
    let scene = Scene::with_config(Kind::Chat, PRICED, [answer("a", 6)]);
    scene
        .space
        .write("ostler.toml", "[budget]\nrun = { usd = 0 }\n");
    let out = scene.exec("go").ok();
    assert!(
        out.stderr.contains("`budget` is ignored in a project file"),
        "{out:?}"
    );
}

#[test]
fn roles_have_limits_of_their_own() {
    let config =
        format!("{PRICED}[budget.roles]\nmain = {{ usd = 0.05 }}\ntsk = {{ tokens = 1 }}\n");
    let scene = Scene::with_config(Kind::Chat, &config, [answer("a", 6)]);
    let out = scene.exec("go").exits(1);
    for expect in [
        "`budget.roles`: there is no role `tsk`; did you mean `task`?",
        "The budget of the role main is $0.0500: $0.0000 is used",
        "Raise `[budget.roles] main`",
    ] {
        assert!(out.stderr.contains(expect), "{expect}: {}", out.stderr);
    }
    assert_eq!(scene.server.requests().len(), 0);
}

#[test]
fn the_result_object_says_so() {
    let config = format!("{PRICED}[budget]\nrun = {{ usd = 0.01 }}\n");
    let scene = Scene::with_config(Kind::Chat, &config, []);
    let run = scene.ostler(["exec", "--format", "result", "-p", "go"]);
    let out = run.output().exits(1);
    let result = &json_lines(&out.stdout)[0];
    assert_eq!(
        (&result["is_error"], &result["error"]["kind"]),
        (&json!(true), &json!("budget")),
        "{result}"
    );
}

#[cfg(unix)]
#[test]
fn what_a_process_holds_binds_the_others_until_it_is_killed() {
    // Each may take 10 cents: a day of 15 has room for one at a time.
    let config = format!("{PRICED}[budget]\nday = {{ usd = 0.15 }}\n");
    let steps = [Step::stall_headers(), answer("mine", 4), answer("more", 4)];
    let scene = Scene::with_config(Kind::Chat, &config, steps);
    let first = scene.ostler(["exec", "-p", "waits"]).spawn();
    common::wait_for("a request", || {
        (scene.server.requests().len() == 1).then_some(())
    });
    let out = scene.exec("too much").exits(1);
    assert!(
        fault(&out).contains("The budget of the day is $0.1500: $0.1000 is used or reserved"),
        "{out:?}"
    );
    assert_eq!(scene.server.requests().len(), 1);
    first.signal(ostler_testkit::Signal::Kill);
    first.wait();
    scene.exec("now it fits").ok();
    assert_eq!(scene.server.requests().len(), 2);
    scene.server.forgive();
}

#[cfg(unix)]
#[test]
fn processes_beside_each_other_stay_within_a_day() {
    // Each takes the 10 cents that it may take: three fit, whoever they are.
    let config = format!("{PRICED}[budget]\nday = {{ usd = 0.35 }}\n");
    let server = ostler_testkit::Server::answering(|_| {
        answer("slowly", 10).pace(std::time::Duration::from_millis(50))
    });
    let scene = Scene::of(Kind::Chat, &config, server);
    let runs: Vec<_> = (0..8)
        .map(|n| scene.ostler(["exec", "-p", &format!("{n}")]).spawn())
        .collect();
    let ended: Vec<Output> = runs
        .into_iter()
        .map(ostler_testkit::Running::wait)
        .collect();
    let done = ended.iter().filter(|out| out.code == Some(0));
    let told = ended.iter().filter(|out| fault(out).contains("of the day"));
    assert_eq!((done.count(), told.count()), (3, 5), "{ended:?}");
    assert_eq!(scene.server.requests().len(), 3);
    assert!(
        scene
            .exec("one more")
            .exits(1)
            .stderr
            .contains("of the day")
    );
}
