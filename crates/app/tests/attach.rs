//! Two terminals on one session: the real binary twice, on one home. What one says the other shows, either answers, and
//! when the process that runs the session is gone the other goes on.

#![cfg(unix)]

mod common;

use common::{Scene, answer, of_type, skipped, texts, wait_for};
use ostler_testkit::{Kind, Output, Place, Running, Server, Signal, Step, Term, json_lines};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
const COMPOSER: &str = "› Ask, or /help";
const TOOK_OVER: &str = "this one runs the session now";

fn scene(steps: impl IntoIterator<Item = Step>) -> Scene {
    Scene::new(Kind::Chat, steps)
}

fn terminal<const N: usize>(scene: &Scene, args: [&str; N]) -> Term {
    let run = scene.ostler(args).env("XTERM_VERSION", "XTerm(390)");
    let term = run.timeout(PATIENCE).on_terminal(90, 30);
    term.wait_for(COMPOSER);
    term
}

/// Plain lines, with the input open.
fn lines<const N: usize>(scene: &Scene, args: [&str; N]) -> Running {
    scene.ostler(args).open_stdin().timeout(PATIENCE).spawn()
}

fn idle(term: &Term) {
    term.wait_until("an idle prompt", |screen| {
        screen.contains(COMPOSER) && !screen.contains("esc stops")
    });
}

fn sockets(scene: &Scene) -> PathBuf {
    scene.space.home().join("live")
}

/// Every entry is there once, and follows the one before it.
#[track_caller]
fn assert_whole(log: &[Value]) {
    for (at, entry) in log.iter().enumerate() {
        assert_eq!(entry["entry"], json!(at), "{entry}");
        let parent = at.checked_sub(1);
        assert_eq!(entry["parent"], json!(parent), "{entry}");
    }
}

fn count(text: &str, needle: &str) -> usize {
    text.matches(needle).count()
}

#[test]
fn two_terminals_show_one_session_and_either_answers() {
    let scene = scene([
        Step::answer().text("First answer."),
        Step::answer()
            .text("I make it.")
            .call("bash", json!({"command": "touch made"})),
        Step::answer().text("It is made."),
        Step::answer().text("Third answer."),
    ]);
    let mut owner = terminal(&scene, []);
    owner.keys("hello\r");
    owner.wait_for("First answer.");
    idle(&owner);
    owner.keys("make it\r");
    owner.wait_for("Run this command?");
    let mut other = terminal_on_question(&scene);
    // The past, the running turn, and the open question.
    for text in ["› hello", "First answer.", "› make it", "touch made"] {
        let history = other.history();
        assert_eq!(
            count(&history, text),
            count(&owner.history(), text),
            "{text}: {history}"
        );
    }
    owner.wait_for("2 terminals");
    answer(&mut other, "y");
    for term in [&owner, &other] {
        term.wait_for("It is made.");
        idle(term);
        assert!(!term.screen().contains("Run this command?"));
    }
    other.keys("and now?\r");
    for term in [&owner, &other] {
        term.wait_for("› and now?");
        term.wait_for("Third answer.");
    }
    // Leaving the second terminal ends nothing.
    idle(&other);
    other.keys("\x04");
    assert!(other.wait().success());
    scene.server.push(Step::answer().text("Fourth answer."));
    owner.wait_until("one terminal", |screen| !screen.contains("terminals"));
    owner.keys("still there?\r");
    owner.wait_for("Fourth answer.");
    idle(&owner);
    owner.keys("\x04");
    assert!(owner.wait().success());
    assert_whole(&scene.log());
    assert_eq!(of_type(&scene.log(), "approval").len(), 1);
    scene.server.assert_done();
    assert_eq!(std::fs::read_dir(sockets(&scene)).unwrap().count(), 0);
}

/// The prompt of `exec` waits for its turn in the session that runs already, and only that turn is printed.
#[test]
fn exec_joins_a_session_that_is_open_and_prints_its_own_turn() {
    let scene = scene([
        Step::answer()
            .text("I make it.")
            .call("bash", json!({"command": "touch made"})),
        Step::answer().text("It is made."),
        Step::answer().text("Of exec."),
        Step::answer().text("Of resume."),
        Step::answer().text("Of ops."),
        Step::answer().text("Of the owner."),
    ]);
    let mut owner = lines(&scene, ["--plain"]);
    owner.write("make it\n");
    owner.wait_stderr("touch made -- approve?");
    let id = scene.session_id();
    let joined = lines(&scene, ["--yolo", "exec", "--session", &id, "-p", "first"]);
    joined.wait_stderr("No effect: --yolo");
    // Its prompt waits behind the question, which it does not answer.
    owner.write("y\n");
    let out = joined.wait().ok();
    assert_eq!(out.stdout, "Of exec.\n");
    let out = scene.ostler(["resume", &id, "-p", "second"]).stdin("");
    assert_eq!(out.output().ok().stdout, "Of resume.\n");
    let op = json!({"op": "prompt", "text": "third"}).to_string() + "\n";
    let status = json!({"op": "command", "line": "status"}).to_string() + "\n";
    let run = scene.ostler(["exec", "--session", &id, "--input-format", "stream-json"]);
    let out = run.stdin(op + &status).timeout(PATIENCE).output().ok();
    let shown = json_lines(&out.stdout);
    assert!(texts(&shown).contains(&"Of ops."), "{}", out.stdout);
    assert_eq!(of_type(&shown, "view").len(), 1, "{}", out.stdout);
    owner.write("and you?\n");
    owner.wait_stdout("Of the owner.");
    owner.write("/quit\n");
    owner.wait().ok();
    assert_whole(&scene.log());
    scene.server.assert_done();
}

/// Its turn is gone with the process that ran it: that is no success.
#[test]
fn exec_says_when_the_session_ends_under_it() {
    let scene = scene([
        Step::answer().text("First answer."),
        Step::answer().text("Half of ").stall(Place::Text(1)),
    ]);
    let mut owner = lines(&scene, ["--plain"]);
    owner.write("hello\n");
    owner.wait_stdout("First answer.");
    let id = scene.session_id();
    let joined = lines(&scene, ["exec", "--session", &id, "-p", "go on"]);
    joined.wait_stdout("Half");
    owner.signal(Signal::Kill);
    let out = joined.wait().exits(1);
    assert!(out.stderr.contains("ended"), "{}", out.stderr);
}

fn terminal_on_question(scene: &Scene) -> Term {
    let run = scene.ostler(["resume"]).env("XTERM_VERSION", "XTerm(390)");
    let term = run.timeout(PATIENCE).on_terminal(90, 30);
    term.wait_for("Run this command?");
    term.wait_for("attached · 2 terminals");
    term
}

#[test]
fn a_question_that_the_owner_answers_closes_in_plain_lines() {
    let scene = scene([
        Step::answer().call("bash", json!({"command": "touch made"})),
        Step::answer().text("It is made."),
        Step::answer().text("Second answer."),
    ]);
    let mut owner = terminal(&scene, []);
    owner.keys("make it\r");
    owner.wait_for("Run this command?");
    let mut other = lines(&scene, ["resume", "--plain"]);
    other.wait_stderr("> make it");
    other.wait_stderr("touch made");
    answer(&mut owner, "y");
    other.wait_stderr("answered in another terminal");
    other.wait_stdout("It is made.");
    idle(&owner);
    other.write("and now?\n");
    owner.wait_for("› and now?");
    owner.wait_for("Second answer.");
    other.wait_stdout("Second answer.");
    idle(&owner);
    other.write("/quit\n");
    other.wait().ok();
    owner.keys("\x04");
    assert!(owner.wait().success());
    assert_whole(&scene.log());
}

#[test]
fn an_interrupt_and_a_partial_answer_reach_the_other_terminal() {
    let slow = Step::answer().words(2000).pace(Duration::from_millis(20));
    let scene = scene([slow]);
    let mut owner = terminal(&scene, []);
    owner.keys("count\r");
    owner.wait_for("w0 w1 w2");
    let mut other = terminal(&scene, ["resume"]);
    other.wait_for("esc stops");
    other.wait_for("w0 w1 w2");
    other.keys("\x1b");
    for term in [&owner, &other] {
        term.wait_for("Interrupted");
        idle(term);
    }
    assert_eq!(of_type(&scene.log(), "interrupted").len(), 1);
    assert_whole(&scene.log());
}

#[test]
fn when_the_owner_leaves_the_other_terminal_runs_the_session() {
    let slow = Step::answer().words(2000).pace(Duration::from_millis(20));
    let scene = scene([Step::answer().text("First answer."), slow]);
    let mut owner = terminal(&scene, []);
    owner.keys("hello\r");
    owner.wait_for("First answer.");
    idle(&owner);
    let mut oldest = terminal(&scene, ["resume"]);
    oldest.wait_for("attached · 2 terminals");
    let youngest = terminal(&scene, ["resume"]);
    youngest.wait_for("attached · 3 terminals");
    oldest.keys("count\r");
    owner.wait_for("w0 w1 w2");
    owner.keys("\x04");
    assert!(owner.wait().success());
    oldest.wait_for(TOOK_OVER);
    oldest.wait_for("2 terminals");
    youngest.wait_for("is run by another terminal now");
    youngest.wait_for("attached · 2 terminals");
    scene.server.push(Step::answer().text("Last answer."));
    oldest.keys("go on\r");
    for term in [&oldest, &youngest] {
        term.wait_for("Last answer.");
        idle(term);
    }
    let log = scene.log();
    assert_whole(&log);
    assert_eq!(of_type(&log, "turn_end").len(), 3);
    assert_eq!(of_type(&log, "interrupted").len(), 1);
}

/// What the person tightened holds on in the terminal that takes the session over, whatever its own flags say.
#[test]
fn rules_and_posture_of_a_session_outlive_its_owner() {
    let scene = scene([Step::answer().text("First answer.")]);
    let mut owner = terminal(&scene, ["--permission-mode", "auto"]);
    owner.keys("hello\r");
    owner.wait_for("First answer.");
    idle(&owner);
    owner.keys("/permissions deny Bash(touch:*)\r");
    owner.wait_for("for this session");
    owner.keys("/approve ask\r");
    owner.wait_until("the posture", |screen| screen.contains("ask"));
    let mut other = terminal(&scene, ["resume", "--permission-mode", "auto"]);
    other.wait_for("attached · 2 terminals");
    owner.keys("\x04");
    assert!(owner.wait().success());
    other.wait_for(TOOK_OVER);
    other.wait_for("Approvals: ask.");
    other.wait_for("Still denied: Bash(touch:*)");
    let run = |command: &str| Step::answer().calls([("bash", json!({"command": command}))]);
    scene.server.push(run("touch DENIED"));
    scene.server.push(run("mkdir asked"));
    scene.server.push(Step::answer().text("Last answer."));
    other.keys("go on\r");
    // The second command is asked about; the first was not run.
    other.wait_for("mkdir asked");
    let log = scene.log();
    let denied = of_type(&log, "approval");
    assert_eq!(denied.first().map(|a| &a["decision"]), Some(&json!("deny")));
    assert!(!scene.space.root().join("DENIED").exists());
    assert!(!scene.space.root().join("asked").exists());
}

/// Flags that were said to have no effect have none when the owner is gone: a prompt that waits does not run without the
/// sandbox, nor in another folder.
#[test]
fn a_terminal_without_the_sandbox_does_not_take_a_session_over() {
    let scene = scene([Step::answer().text("First answer.")]);
    let mut owner = terminal(&scene, []);
    owner.keys("hello\r");
    owner.wait_for("First answer.");
    idle(&owner);
    let other = terminal(&scene, ["resume", "--yolo", "--no-sandbox"]);
    other.wait_for("attached · 2 terminals");
    let run = Step::answer().calls([("bash", json!({"command": "touch RAN"}))]);
    scene.server.push(run);
    owner.keys("\x04");
    assert!(owner.wait().success());
    other.wait_for("does not continue here");
    assert!(!scene.space.root().join("RAN").exists());
}

/// Each way to hold commands less tightly than the session does.
#[test]
fn a_weaker_sandbox_does_not_take_a_session_over() {
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path().canonicalize().unwrap();
    let folder = folder.display().to_string();
    let broader = format!("[sandbox]\nallow_write = [{folder:?}]\n");
    let kinds = [
        ("--no-sandbox", ""),
        ("--add-dir", ""),
        ("bash", "[sandbox]\nbash = \"off\"\n"),
        ("network", "[sandbox]\nnetwork = true\n"),
        ("allow_write", &broader),
    ];
    for (kind, settings) in kinds {
        let scene = scene([Step::answer().text("First answer.")]);
        let mut owner = terminal(&scene, []);
        owner.keys("hello\r");
        owner.wait_for("First answer.");
        idle(&owner);
        let file = scene.space.home().join("other.toml");
        let file = file.display().to_string();
        std::fs::write(&file, settings).unwrap();
        let flags = match kind {
            "--no-sandbox" => ["--no-sandbox", "--yolo"],
            "--add-dir" => ["--add-dir", &folder],
            _ => ["--config", &file],
        };
        let args = ["resume", flags[0], flags[1]];
        let run = scene.ostler(args).env("XTERM_VERSION", "XTerm(390)");
        let other = run.timeout(PATIENCE).on_terminal(90, 30);
        other.wait_for("attached · 2 terminals");
        let run = Step::answer().calls([("bash", json!({"command": "touch RAN"}))]);
        scene.server.push(run);
        owner.keys("\x04");
        assert!(owner.wait().success());
        let seen = wait_for("an end", || {
            let screen = other.screen();
            let is_over = screen.contains("does not continue here") || screen.contains(TOOK_OVER);
            is_over.then_some(screen)
        });
        assert!(seen.contains("does not continue here"), "{kind}: {seen}");
        assert!(!scene.space.root().join("RAN").exists(), "{kind}");
    }
}

/// A turn of several steps that takes a while.
fn working(pace: Duration) -> Server {
    Server::answering(move |request| {
        let results = request.tool_results().len();
        let step = match results % 4 {
            3 => Step::answer().text("The turn is done."),
            n => Step::answer()
                .text(&format!("Step {n} of it. "))
                .call("bash", json!({"command": format!("echo out{n}")})),
        };
        step.pace(pace)
    })
}

#[test]
fn a_killed_owner_costs_no_entry_at_any_moment() {
    let config = "[permissions]\nmode = \"allow\"\n";
    for moment in 0..8 {
        let server = working(Duration::from_millis(3));
        let scene = Scene::of(Kind::Chat, config, server);
        let mut owner = lines(&scene, ["--plain"]);
        owner.write("work\n");
        wait_for("the socket", || {
            std::fs::read_dir(sockets(&scene))
                .is_ok_and(|all| all.count() == 1)
                .then_some(())
        });
        let mut other = lines(&scene, ["resume", "--plain"]);
        other.wait_stderr("This session runs in another terminal");
        // After so many lines of the log, wherever the process is then.
        wait_for("a later moment", || {
            let lines = std::fs::read_to_string(scene.log_path()).unwrap_or_default();
            let is_over = lines.contains("\"turn_end\"");
            (is_over || count(&lines, "\n") >= 3 + 2 * moment).then_some(())
        });
        owner.signal(Signal::Kill);
        other.wait_stderr(TOOK_OVER);
        other.write("work again\n");
        other.wait_stdout("The turn is done.");
        wait_for("the end of the turn", || {
            let text = scene.space.read(scene.log_path());
            // The last line may be half written.
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            let log = json_lines(whole);
            let last = log.last().is_some_and(|entry| entry["type"] == "turn_end");
            (last && texts(&log).contains(&"work again")).then_some(())
        });
        other.write("/quit\n");
        let out: Output = other.wait().ok();
        let log = scene.log();
        assert_whole(&log);
        let turns = of_type(&log, "turn_end").len();
        assert_eq!(turns, 2, "{log:#?}\n{}", out.stderr);
        // What was shown is what was stored; a piece of an answer may have been shown before it was.
        for text in [
            "Step 0 of it.",
            "Step 1 of it.",
            "Step 2 of it.",
            "The turn is done.",
        ] {
            let stored = texts(&log)
                .iter()
                .filter(|said| said.trim() == text)
                .count();
            // What was stored before it joined is history, which goes to stderr.
            let shown = count(&out.stdout, text) + count(&out.stderr, text);
            assert!(
                shown == stored || shown == stored + 1,
                "{text}: {shown} {stored}"
            );
        }
        let results = of_type(&log, "tool_result").len();
        let ids: std::collections::HashSet<String> = of_type(&log, "tool_result")
            .iter()
            .map(|entry| entry["tool_use_id"].to_string())
            .collect();
        assert_eq!(ids.len(), results, "{log:#?}");
    }
}

fn signal(pid: u32, name: &str) {
    let pid = pid.to_string();
    let sent = std::process::Command::new("kill")
        .args([name, &pid])
        .status();
    assert!(sent.unwrap().success());
}

/// How often a prompt was taken in, in whole lines of the log.
fn taken_in(scene: &Scene, text: &str) -> usize {
    let log = scene.space.read(scene.log_path());
    let whole = log.rfind('\n').map_or("", |end| &log[..end]);
    let is_it = |entry: &&Value| entry["role"] == "user" && entry["text"] == text;
    json_lines(whole).iter().filter(is_it).count()
}

const HUNG: &str = "does not answer";

#[test]
fn a_prompt_that_a_hung_owner_never_took_in_goes_to_its_successor_once() {
    let scene = scene([
        Step::answer().text("First answer."),
        Step::answer().text("Second answer."),
        Step::answer().text("Third answer."),
    ]);
    let mut owner = lines(&scene, ["--plain"]);
    owner.write("hello\n");
    owner.wait_stdout("First answer.");
    let mut other = terminal(&scene, ["resume"]);
    other.wait_for("attached · 2 terminals");
    signal(owner.pid(), "-STOP");
    other.keys("never lost\r");
    other.wait_for("attached · no answer");
    other.wait_for(HUNG);
    owner.signal(Signal::Kill);
    other.wait_for(TOOK_OVER);
    other.wait_for("Second answer.");
    idle(&other);
    assert_eq!(taken_in(&scene, "never lost"), 1);
    other.keys("and then\r");
    other.wait_for("Third answer.");
    idle(&other);
    assert_whole(&scene.log());
    scene.server.assert_done();
}

#[test]
fn plain_lines_of_a_hung_owner_go_to_its_successor_once() {
    let scene = scene([
        Step::answer().text("First answer."),
        Step::answer().text("Second answer."),
        Step::answer().text("Third answer."),
    ]);
    let mut owner = lines(&scene, ["--plain"]);
    owner.write("hello\n");
    owner.wait_stdout("First answer.");
    let mut other = lines(&scene, ["resume", "--plain"]);
    other.wait_stderr("This session runs in another terminal");
    signal(owner.pid(), "-STOP");
    other.write("never lost\nand then\n");
    other.wait_stderr(HUNG);
    owner.signal(Signal::Kill);
    other.wait_stderr(TOOK_OVER);
    other.wait_stdout("Second answer.");
    other.wait_stdout("Third answer.");
    other.write("/quit\n");
    other.wait().ok();
    for text in ["never lost", "and then"] {
        assert_eq!(taken_in(&scene, text), 1, "{text}");
    }
    assert_whole(&scene.log());
    scene.server.assert_done();
}

#[test]
fn a_prompt_is_taken_in_once_whenever_the_owner_is_killed() {
    for moment in 0..8 {
        let server = Server::answering(|_| Step::answer().text("An answer."));
        let scene = Scene::of(Kind::Chat, "", server);
        let mut owner = lines(&scene, ["--plain"]);
        owner.write("hello\n");
        owner.wait_stdout("An answer.");
        let mut other = lines(&scene, ["resume", "--plain"]);
        other.wait_stderr("This session runs in another terminal");
        other.write("at this moment\n");
        // Wherever the prompt is then.
        for _ in 0..moment * 20 {
            std::thread::yield_now();
        }
        owner.signal(Signal::Kill);
        other.wait_stderr(TOOK_OVER);
        other.write("and then\n");
        wait_for("the later prompt", || {
            (taken_in(&scene, "and then") == 1).then_some(())
        });
        other.write("/quit\n");
        other.wait().ok();
        assert_eq!(taken_in(&scene, "at this moment"), 1, "moment {moment}");
        assert_whole(&scene.log());
    }
}

#[test]
fn a_terminal_leaves_an_owner_that_hangs_and_one_that_wakes_takes_the_prompt() {
    let scene = scene([
        Step::answer().text("First answer."),
        Step::answer().text("Second answer."),
    ]);
    let mut owner = lines(&scene, ["--plain"]);
    owner.write("hello\n");
    owner.wait_stdout("First answer.");
    let mut leaving = terminal(&scene, ["resume"]);
    leaving.wait_for("attached · 2 terminals");
    let mut staying = lines(&scene, ["resume", "--plain"]);
    staying.wait_stderr("This session runs in another terminal");
    signal(owner.pid(), "-STOP");
    staying.write("still there?\n");
    staying.wait_stderr(HUNG);
    leaving.wait_for(HUNG);
    leaving.keys("\x03");
    leaving.wait_for("press ctrl-c again to quit");
    leaving.keys("\x03");
    assert!(leaving.wait().success());
    signal(owner.pid(), "-CONT");
    staying.wait_stderr("answers again");
    staying.wait_stdout("Second answer.");
    owner.wait_stdout("Second answer.");
    assert_eq!(taken_in(&scene, "still there?"), 1);
    staying.write("/quit\n");
    staying.wait().ok();
    owner.write("/quit\n");
    owner.wait().ok();
    assert_whole(&scene.log());
}

#[test]
fn plain_lines_leave_an_owner_that_hangs() {
    let scene = scene([Step::answer().text("First answer.")]);
    let mut owner = lines(&scene, ["--plain"]);
    owner.write("hello\n");
    owner.wait_stdout("First answer.");
    let mut other = lines(&scene, ["resume", "--plain"]);
    other.wait_stderr("This session runs in another terminal");
    signal(owner.pid(), "-STOP");
    other.write("is anybody there?\n");
    other.wait_stderr(HUNG);
    other.signal(Signal::Interrupt);
    other.wait_stderr("press ctrl-c again to quit");
    other.signal(Signal::Interrupt);
    other.wait().ok();
    signal(owner.pid(), "-CONT");
    owner.write("/quit\n");
    owner.wait().ok();
}

#[test]
fn a_call_that_the_owner_was_at_ends_before_the_turn_does() {
    let config = "[permissions]\nmode = \"allow\"\n";
    let call = Step::answer().call("bash", json!({"command": "echo begun; sleep 300"}));
    let scene = Scene::with_config(Kind::Chat, config, [call]);
    let mut owner = terminal(&scene, []);
    owner.keys("wait\r");
    owner.wait_for("begun");
    let other = terminal(&scene, ["resume"]);
    other.wait_for("sleep 300");
    owner.signal(Signal::Kill);
    other.wait_for(TOOK_OVER);
    idle(&other);
    let log = scene.log();
    assert_whole(&log);
    let kinds = ["tool_use", "tool_result", "interrupted", "turn_end"];
    let types = log.iter().filter_map(|entry| entry["type"].as_str());
    let ended: Vec<&str> = types.filter(|kind| kinds.contains(kind)).collect();
    assert_eq!(ended, kinds, "{log:#?}");
    let shown = other.history();
    let at = |text: &str| {
        shown
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {shown}"))
    };
    assert!(at("sleep 300") < at("Interrupted"), "{shown}");
    assert_eq!(count(&shown, "sleep 300"), 1, "{shown}");
}

#[test]
fn an_owner_that_cannot_be_joined_is_told_so() {
    let scene = scene([
        Step::answer().text("First answer."),
        Step::answer().text("Second answer."),
    ]);
    scene.exec("hello").ok();
    let path = sockets(&scene).join(format!("{}.sock", scene.session_id()));
    std::fs::create_dir_all(path.join("full")).unwrap();
    let mut owner = lines(&scene, ["resume", "--plain"]);
    owner.wait_stderr("Other terminals cannot join this session");
    owner.write("go on\n");
    owner.wait_stdout("Second answer.");
    owner.write("/quit\n");
    owner.wait().ok();
}

#[test]
fn an_owner_that_does_not_answer_is_named_with_the_way_out() {
    let scene = scene([Step::answer().text("First answer.")]);
    let mut owner = lines(&scene, ["--plain"]);
    owner.write("hello\n");
    owner.wait_stdout("First answer.");
    signal(owner.pid(), "-STOP");
    let id = scene.session_id();
    let out = scene.ostler(["resume", "--plain", &id]).stdin("").output();
    let out = out.exits(1);
    assert!(out.stderr.contains("does not answer"), "{}", out.stderr);
    assert!(
        out.stderr.contains(&format!("--fork {id}")),
        "{}",
        out.stderr
    );
    signal(owner.pid(), "-CONT");
    owner.write("/quit\n");
    owner.wait().ok();
}

/// Holds a session as another process would, and answers the first client with a line.
fn pretend_to_own(scene: &Scene, welcome: &'static str) -> (File, std::thread::JoinHandle<String>) {
    let log = File::open(scene.log_path()).unwrap();
    log.lock().unwrap();
    let path = sockets(scene).join(format!("{}.sock", scene.session_id()));
    let listener = UnixListener::bind(path).unwrap();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        reader.read_line(&mut line).unwrap();
        stream.write_all(welcome.as_bytes()).unwrap();
        line
    });
    (log, serving)
}

#[test]
fn another_version_on_the_other_end_is_named_with_the_way_out() {
    for welcome in [
        "{\"refused\":{\"code\":\"version\",\"protocol\":7,\"version\":\"9.8.7\"}}\n",
        "{\"hello\":\"from a time when everything was different\"}\n",
    ] {
        let scene = scene([Step::answer().text("First answer.")]);
        scene.exec("hello").ok();
        let (_log, serving) = pretend_to_own(&scene, welcome);
        let id = scene.session_id();
        let out = scene.ostler(["resume", "--plain"]).stdin("").output();
        let out = out.exits(1);
        let greeting: Value = serde_json::from_str(&serving.join().unwrap()).unwrap();
        assert_eq!(greeting["attach"]["version"], env!("CARGO_PKG_VERSION"));
        assert!(out.stderr.contains("another version"), "{}", out.stderr);
        assert!(
            out.stderr.contains(&format!("--fork {id}")),
            "{}",
            out.stderr
        );
        let is_named = out.stderr.contains("9.8.7");
        assert_eq!(is_named, welcome.contains("9.8.7"), "{}", out.stderr);
    }
}

#[test]
fn a_client_of_another_version_is_told_which_one_runs() {
    let scene = scene([Step::answer().text("First answer.")]);
    let mut owner = lines(&scene, ["--plain"]);
    owner.write("hello\n");
    owner.wait_stdout("First answer.");
    let path = sockets(&scene).join(format!("{}.sock", scene.session_id()));
    let mut stream = UnixStream::connect(path).unwrap();
    let hello =
        json!({"attach": {"protocol": 3, "version": "9.8.7", "session": scene.session_id()}});
    writeln!(stream, "{hello}").unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(answer["refused"]["code"], "version", "{answer}");
    assert_eq!(answer["refused"]["version"], env!("CARGO_PKG_VERSION"));
    owner.write("/quit\n");
    owner.wait().ok();
}

#[test]
fn a_home_with_a_long_path_has_a_socket_too() {
    let scene = scene([
        Step::answer().text("First answer."),
        Step::answer().text("Second."),
    ]);
    let long = scene
        .space
        .user_home()
        .join("d".repeat(100))
        .join("e".repeat(100));
    std::fs::create_dir_all(&long).unwrap();
    std::fs::copy(
        scene.space.home().join("config.toml"),
        long.join("config.toml"),
    )
    .unwrap();
    let run = |args: &[&str]| {
        let run = scene.ostler([]).args(args).env("OSTLER_HOME", &long);
        run.open_stdin().timeout(PATIENCE).spawn()
    };
    let mut owner = run(&["--plain"]);
    owner.write("hello\n");
    owner.wait_stdout("First answer.");
    let mut other = run(&["resume", "--plain"]);
    other.wait_stderr("This session runs in another terminal");
    other.write("more\n");
    other.wait_stdout("Second.");
    owner.wait_stdout("Second.");
    owner.write("/quit\n");
    owner.wait().ok();
    other.wait_stderr(TOOK_OVER);
    other.write("/quit\n");
    other.wait().ok();
}

/// What a command of the session would try: join the session and answer the question about itself.
const JOIN: &str = r#"
import socket, sys, os, json, glob, re
home = os.environ["OSTLER_HOME"]
for path in glob.glob(home + "/live/*.sock") + [sys.argv[1]]:
    try:
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(5)
        s.connect(path)
        hello = {"attach": {"protocol": 3, "version": sys.argv[3], "session": sys.argv[2]}}
        s.sendall((json.dumps(hello) + "\n").encode())
        got = s.recv(1 << 20)
        print("joined" if b"attached" in got else "refused", len(got))
        asks = re.findall(rb'"ask":"(a[0-9]+-[0-9a-f]+)"', got) or [b"a1"]
        s.sendall(b'{"op":"answer","ask":"' + asks[0] + b'","choice":"once"}\n')
    except OSError as e:
        print("stopped", e)
"#;

/// The program, started as another account.
fn start_as(scene: &Scene, user: u32) -> Running {
    let base = scene.space.root().parent().expect("a folder of its own");
    // Where the program lies may be closed to others.
    let program = base.join("ostler");
    let built = env!("CARGO_BIN_EXE_ostler");
    std::fs::hard_link(built, &program)
        .or_else(|_| std::fs::copy(built, &program).map(drop))
        .expect("the program in a folder for all");
    let owned = std::process::Command::new("chown")
        .args(["-R", &format!("{user}:{user}")])
        .args([scene.space.root(), scene.space.user_home()])
        .arg(base.join("tmp"))
        .status();
    assert!(owned.is_ok_and(|status| status.success()));
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(base, open).expect("the folder opens");
    let run = scene.space.run(&program).user(user);
    let run = run.args(["--plain", "--yolo"]).open_stdin();
    run.timeout(PATIENCE).spawn()
}

/// The settings of the sandbox that a command tries to get through.
const SETTINGS: [&str; 3] = [
    "[sandbox]\nbash = \"off\"\n",
    "[sandbox]\nlayer = \"namespaces\"\n",
    "[sandbox]\nlayer = \"landlock\"\n",
];

/// A command tries to join its own session and to answer for the person.
fn try_to_join(setting: &str, start: impl Fn(&Scene) -> Running) {
    let scene = Scene::with_config(Kind::Chat, setting, [Step::answer().text("First.")]);
    scene.space.write("join.py", JOIN);
    let mut owner = start(&scene);
    owner.write("hello\n");
    owner.wait_stdout("First.");
    let id = scene.session_id();
    let path = sockets(&scene).join(format!("{id}.sock"));
    wait_for("the socket", || path.exists().then_some(()));
    let version = env!("CARGO_PKG_VERSION");
    let join = format!("python3 join.py {} {id} {version}", path.display());
    // Also from a process that has cut its ties.
    let late = format!("setsid sh -c '({join} > late; echo > done) &'");
    let wait = "while ! test -e done; do sleep 0.05; done; cat late";
    let command = format!("{join}; {late}; {wait}");
    let call = Step::answer().call("bash", json!({"command": command}));
    scene.server.push(call);
    scene.server.push(Step::answer().text("Second."));
    owner.write("try\n");
    owner.wait_stdout("Second.");
    let results = scene.server.request(2).tool_results();
    let told = &results.last().unwrap().1;
    assert!(!told.contains("joined"), "{setting}: {told}");
    let tried = count(told, "refused 0") + count(told, "stopped");
    assert!(tried >= 2, "{setting}: {told}");
    owner.write("/quit\n");
    owner.wait().ok();
}

#[test]
fn no_command_joins_its_own_session() {
    for setting in SETTINGS {
        try_to_join(setting, |scene| lines(scene, ["--plain", "--yolo"]));
    }
}

#[test]
fn no_command_of_an_ordinary_user_joins_its_own_session() {
    const NOBODY: u32 = 65534;
    let own = std::fs::metadata("/proc/self").expect("a process table");
    if std::os::unix::fs::MetadataExt::uid(&own) != 0 {
        return skipped("every other test of this file runs as an ordinary user already");
    }
    for setting in SETTINGS {
        try_to_join(setting, |scene| start_as(scene, NOBODY));
    }
}
