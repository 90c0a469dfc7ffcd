//! The terminal UI as a person has it: the real binary on a terminal, keys in, a screen out.

#![cfg(unix)]

mod common;
#[path = "terminal/life.rs"]
mod life;

use common::{Scene, answer, of_type, texts, wait_for};
use ostler_testkit::{
    Kind, Place, Run, Server, Signal, Step, TempWorkspace, Term, Trouble, Usage, config_text,
};
use serde_json::json;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
const COMPOSER: &str = "› Ask, or /help";

/// Started, with the composer there. The screen of the tests cuts rows that are too wide, as xterm does.
fn start(scene: &Scene, columns: u16, rows: u16) -> Term {
    let term = unwaited(scene, columns, rows);
    term.wait_for(COMPOSER);
    term
}

fn unwaited(scene: &Scene, columns: u16, rows: u16) -> Term {
    let run = scene.ostler([]).env("XTERM_VERSION", "XTerm(390)");
    run.timeout(PATIENCE).on_terminal(columns, rows)
}

/// In a home where nothing was set up.
fn bare<const N: usize>(space: &TempWorkspace, args: [&str; N]) -> Run {
    space.run(env!("CARGO_BIN_EXE_ostler")).args(args)
}

fn scene(steps: impl IntoIterator<Item = Step>) -> Scene {
    Scene::new(Kind::Chat, steps)
}

/// The turn is over and the prompt is back.
fn idle(term: &Term) -> String {
    term.wait_until("an idle prompt", |screen| {
        // The last row is drawn last.
        let is_whole = screen.contains(COMPOSER) && !screen.trim_end().ends_with(COMPOSER);
        is_whole && !screen.contains("esc stops")
    })
}

/// A prompt and its whole turn.
fn turn(term: &mut Term, prompt: &str, answer: &str) {
    term.keys(&format!("{prompt}\r"));
    term.wait_for(answer);
    idle(term);
}

/// How often the row with the status is there; the welcome names the model, too.
fn status_rows(text: &str) -> usize {
    let is_status = |row: &&str| row.starts_with("mock-model · ask");
    text.lines().filter(is_status).count()
}

fn rows_of(text: &str) -> Vec<&str> {
    text.lines()
        .map(str::trim_end)
        .filter(|l| !l.is_empty())
        .collect()
}

#[test]
fn scrollback_is_the_transcript() {
    let poem: Vec<String> = (1..=40).map(|n| format!("Line {n} of the poem.")).collect();
    let scene = scene([
        Step::answer().text_in(97, &poem.join("\n\n")),
        Step::answer().text("I make it.").call(
            "bash",
            json!({"command": "echo made > made; echo one; echo two"}),
        ),
        Step::answer().text("It is **made**."),
        Step::refuse(Trouble::Invalid),
    ]);
    let mut term = start(&scene, 80, 14);
    turn(&mut term, "a poem", "Line 40 of");
    term.keys("make\r");
    term.wait_for("Run this command?");
    answer(&mut term, "y");
    term.wait_for("It is made.");
    idle(&term);
    term.keys("again\r");
    term.wait_for("✗ ");
    // The prompt that failed is there to be sent again.
    term.wait_until("the prompt", |screen| screen.contains("\n› again\n──"));
    term.keys("\x15");
    idle(&term);
    term.keys("\x04");
    assert!(term.wait().success());
    let history = term.history();
    let got = rows_of(&history);
    let mut expect: Vec<&str> = poem.iter().map(String::as_str).collect();
    expect.insert(0, "› a poem");
    expect.extend(["› make", "I make it.", "It is made.", "› again"]);
    let found: Vec<&str> = got
        .iter()
        .copied()
        .filter(|row| expect.contains(row))
        .collect();
    assert_eq!(found, expect, "{history}");
    for once in ["● Ran echo made", "✗ "] {
        let rows = got.iter().filter(|row| row.starts_with(once)).count();
        assert_eq!(rows, 1, "{once}: {history}");
    }
    // Nothing of the live region is left above.
    for never in ["esc stops", "Run this command?", "Ask, or /help", "○ "] {
        assert!(!history.contains(never), "{never}: {history}");
    }
    assert!(history.trim_end().contains("ostler resume "), "{history}");
    let blank: Vec<&str> = history.lines().collect();
    let gaps = blank
        .windows(2)
        .filter(|w| w.iter().all(|l| l.trim().is_empty()));
    assert_eq!(gaps.count(), 0, "{history}");
}

#[test]
fn the_demo_is_played_here() {
    let scene = scene([]);
    let run = scene
        .ostler(["demo", "--dir", "play"])
        .env("XTERM_VERSION", "XTerm(390)");
    let mut term = run.timeout(PATIENCE).on_terminal(100, 40);
    term.wait_for("Edit this file?");
    answer(&mut term, "y");
    term.wait_for("Run this command?");
    answer(&mut term, "y");
    term.wait_for("The test passes.");
    let screen = idle(&term);
    assert!(
        screen.contains("Is there a newer version of calc?"),
        "{screen}"
    );
    assert!(scene.space.read("play/calc.sh").contains("/ $#)"));
    term.keys("Is there a newer version of calc?\r");
    term.wait_for("Run this command?");
    answer(&mut term, "y");
    // Where there is a sandbox, it asks about the host.
    let next = term.wait_until("an answer or a question", |screen| {
        screen.contains("needs to reach calc.example") || screen.contains("I got no answer.")
    });
    if next.contains("needs to reach calc.example") {
        answer(&mut term, "n");
        term.wait_for("why not (optional)");
        term.keys("\r");
        term.wait_for("I got no answer.");
    }
    idle(&term);
    term.keys("\x04");
    assert!(term.wait().success());
    assert!(term.history().contains("ostler setup"));
}

#[test]
fn a_first_start_sets_a_model_up_and_goes_on_into_the_conversation() {
    let server = Server::builder()
        .answering(|_| Step::answer().text("Hello."))
        .models(["mock-large", "mock-small"])
        .start();
    let space = TempWorkspace::new();
    let run = bare(&space, []).env("XTERM_VERSION", "XTerm(390)");
    let mut term = run.timeout(PATIENCE).on_terminal(90, 30);
    let screen = term.wait_until("the list", |screen| {
        screen.contains("a server by its address")
    });
    assert!(screen.contains("get one: https://"), "{screen}");
    // A key is not shown, and Esc goes back a step.
    term.keys("\r");
    term.wait_for("Key for ");
    term.keys("sk-good-1234");
    term.wait_for("› ••••••••••••");
    term.keys("\x1b");
    term.wait_for("a server by its address");
    term.keys("another\r");
    term.wait_for("Base URL");
    term.keys(&format!("{}\r", server.base_url_for(Kind::Chat)));
    term.wait_for("Which model?");
    term.keys("small\r");
    term.wait_for(COMPOSER);
    turn(&mut term, "hi", "Hello.");
    let shown = term.history();
    assert!(!shown.contains("sk-good"), "{shown}");
    assert_eq!(server.request(0).body["model"], "mock-small");
    let config = space.read(space.home().join("config.toml"));
    assert!(
        config.contains(r#"models = ["mock-small", "mock-large"]"#),
        "{config}"
    );
    term.keys("\x04");
    assert!(term.wait().success());
}

#[test]
fn who_leaves_setup_reads_what_else_can_be_done() {
    let space = TempWorkspace::new();
    let run = bare(&space, []).env("XTERM_VERSION", "XTerm(390)");
    let mut term = run.timeout(PATIENCE).on_terminal(90, 30);
    term.wait_for("a server by its address");
    term.keys("\x1b");
    assert!(!term.wait().success());
    let shown = term.history();
    assert!(
        shown.contains("`ostler setup`") && shown.contains("ostler demo"),
        "{shown}"
    );
    assert!(!space.home().join("config.toml").exists());
}

#[test]
fn a_page_of_the_documentation_is_paged() {
    let space = TempWorkspace::new();
    let run = bare(&space, ["help", "trust"]).timeout(PATIENCE);
    let mut term = run.on_terminal(80, 20);
    term.wait_for("Trust in a project");
    term.keys("/--list\r");
    term.wait_for("ostler trust --list");
    term.keys("q");
    assert!(term.wait().success());
    assert!(!term.history().contains("Trust in a project"));
    let out = bare(&space, ["help", "trust"]).output().ok();
    assert!(out.stdout.starts_with("# Trust in a project\n"), "{out:?}");
    let out = bare(&space, ["help", "trsut"]).output().exits(2);
    assert!(out.stderr.contains("did you mean `trust`?"), "{out:?}");
}

#[test]
fn addresses_can_be_clicked_where_the_terminal_knows_it() {
    let text = "See [the guide](https://a.example/guide) and https://b.example/x.";
    for (forced, expect) in [("1", 2), ("0", 0)] {
        let scene = scene([Step::answer().text(text)]);
        let run = scene.ostler([]).env("FORCE_HYPERLINK", forced);
        let mut term = run.timeout(PATIENCE).on_terminal(90, 20);
        term.wait_for(COMPOSER);
        turn(&mut term, "hi", "b.example");
        let bytes = String::from_utf8_lossy(&term.bytes()).into_owned();
        let links = ["https://a.example/guide", "https://b.example/x"];
        let is_linked = |link: &&str| bytes.contains(&format!(";{link}\x1b\\"));
        assert_eq!(links.iter().filter(|l| is_linked(l)).count(), expect);
        term.keys("\x04");
        assert!(term.wait().success());
    }
}

#[test]
fn nothing_is_written_when_nothing_happens() {
    let scene = scene([Step::answer().text("Hello.")]);
    let mut term = start(&scene, 80, 24);
    term.keys("hi\r");
    term.wait_for("Hello.");
    idle(&term);
    // Long enough for every timer of a prompt that has just been sent (the draft's is two seconds); the benchmark
    // counts wake-ups over five.
    std::thread::sleep(Duration::from_secs(3));
    let before = term.bytes().len();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(term.bytes().len(), before);
}

#[test]
fn the_cursor_stands_where_the_caret_is() {
    let scene = scene([]);
    let mut term = start(&scene, 40, 12);
    for (keys, shown, column) in [
        ("ab", "› ab", 4),
        ("中文", "› ab中文", 8),
        ("👍", "› ab中文👍", 10),
        ("e\u{301}", "› ab中文👍e\u{301}", 11),
        ("\x1b[D\x1b[D", "› ab中文👍e\u{301}", 8),
        ("\x01", "› ab中文👍e\u{301}", 2),
    ] {
        term.keys(keys);
        let at = |term: &Term| {
            let row = term.screen().lines().position(|l| l == shown)?;
            (term.cursor() == (u16::try_from(row).ok()?, column)).then_some(())
        };
        wait_for(&format!("the caret after {keys:?}"), || at(&term));
    }
}

#[test]
fn a_large_paste_is_one_chip_and_arrives_whole() {
    let scene = scene([Step::answer().text("Much.")]);
    let mut term = start(&scene, 80, 24);
    let line = "0123456789 中文 and more of it\n";
    let text = line.repeat((1 << 20) / line.len());
    term.paste(&text);
    term.wait_for("[pasted 1");
    assert!(term.screen().lines().count() < 10);
    term.keys("\r");
    term.wait_for("Much.");
    let sent = scene.server.request(0).last_user_text();
    assert!(sent.contains(text.trim_end()), "{} bytes", sent.len());
}

#[test]
fn lines_that_come_at_once_are_a_paste_without_marks_too() {
    let scene = scene([Step::answer().text("Read.")]);
    let mut term = start(&scene, 80, 24);
    term.keys("first line\rsecond line\rthird");
    term.wait_for("third");
    assert_eq!(scene.server.requests().len(), 0);
    std::thread::sleep(Duration::from_millis(100));
    term.keys("\r");
    term.wait_for("Read.");
    let sent = scene.server.request(0).last_user_text();
    assert!(sent.contains("first line\nsecond line\nthird"), "{sent}");
}

#[test]
fn esc_gives_the_prompt_back() {
    // In a stream, in a tool, in a wait before a retry.
    let slow = json!({"command": "echo begun; sleep 300"});
    let cases: [(&str, Vec<Step>, &str); 3] = [
        (
            "",
            vec![Step::answer().text("Half of it").stall(Place::Text(1))],
            "Half",
        ),
        (
            "[permissions]\nmode = \"allow\"\n[sandbox]\nbash = \"off\"\n",
            vec![Step::answer().call("bash", slow)],
            "begun",
        ),
        ("", vec![Step::rate_limited(60)], "trying again in"),
    ];
    for (config, steps, seen) in cases {
        let scene = Scene::with_config(Kind::Chat, config, steps);
        let mut term = start(&scene, 80, 24);
        term.keys("go\r");
        term.wait_for(seen);
        term.keys("\x1b");
        idle(&term);
        scene.server.push(Step::answer().text("Whole."));
        term.keys("again\r");
        term.wait_for("Whole.");
        assert!(term.history().contains("Interrupted"), "{}", term.history());
    }
}

#[test]
fn the_terminal_is_as_before() {
    type End = fn(&mut Term);
    let ends: [(&str, End); 4] = [
        ("ctrl-d", |term| term.keys("\x04")),
        ("SIGTERM", |term| term.signal(Signal::Terminate)),
        ("SIGHUP", |term| term.signal(Signal::Hangup)),
        ("SIGKILL", |term| term.signal(Signal::Kill)),
    ];
    for (name, end) in ends {
        let scene = scene([Step::answer().text("Half of it").stall(Place::Text(1))]);
        // Of a terminal that nobody changes: ours may be changed before it can be looked at.
        let before = scene.space.run("cat").on_terminal(80, 24).settings();
        let mut term = unwaited(&scene, 80, 24);
        term.wait_for(COMPOSER);
        assert_ne!(term.settings(), before, "{name}: never raw");
        if name != "ctrl-d" {
            term.keys("go\r");
            term.wait_for("Half");
        }
        end(&mut term);
        let status = term.wait();
        wait_for(&format!("settings after {name}"), || {
            (term.settings() == before).then_some(())
        });
        // Marked pastes, told focus, kitty keys and a hidden cursor are off again.
        wait_for(&format!("modes after {name}"), || {
            let bytes = term.bytes();
            let bytes = String::from_utf8_lossy(&bytes);
            let last = |on: &str, off: &str| bytes.rfind(off) > bytes.rfind(on);
            let all = last("\x1b[?2004h", "\x1b[?2004l")
                && last("\x1b[?1004h", "\x1b[?1004l")
                && last("\x1b[>3u", "\x1b[<u")
                && last("\x1b[?25l", "\x1b[?25h")
                && last("\x1b[?7l", "\x1b[?7h")
                && last("\x1b[22;2t", "\x1b[23;2t");
            all.then_some(())
        });
        match name {
            "ctrl-d" => assert_eq!(status.code(), Some(0)),
            "SIGKILL" => assert_eq!(status.code(), None),
            _ => assert_eq!(status.code(), Some(143), "{name}"),
        }
        if name != "ctrl-d" {
            let log = scene.log();
            assert_eq!(texts(&log).first(), Some(&"go"), "{name}");
        }
    }
}

#[test]
fn suspended_and_brought_back() {
    let scene = scene([Step::answer().text("Here.")]);
    let shell = scene.space.run("/bin/bash").args(["--norc", "-i"]);
    let mut term = shell.env("PS1", "shell$ ").on_terminal(80, 24);
    term.wait_for("shell$");
    term.keys(concat!(env!("CARGO_BIN_EXE_ostler"), "\r"));
    term.wait_for(COMPOSER);
    let raw = term.settings();
    term.keys("half a thou");
    term.wait_for("› half a thou");
    term.keys("\x1a");
    term.wait_for("Stopped");
    assert_ne!(term.settings(), raw);
    assert!(!term.screen().contains("half a thou"), "{}", term.screen());
    term.keys("fg\r");
    term.wait_for("› half a thou");
    assert_eq!(term.settings(), raw);
    term.keys("ght\r");
    term.wait_for("Here.");
    let sent = scene.server.request(0).last_user_text();
    assert!(sent.contains("half a thought"), "{sent}");
}

/// Writes something and kills it once that is on disk.
fn killed_while_writing(scene: &Scene, mut term: Term, text: &str) {
    term.keys(text);
    let prompts = scene.space.home().join("cache/prompts");
    wait_for("the draft on disk", || {
        let found = common::files(&prompts);
        let mut drafts = found
            .iter()
            .filter(|p| p.extension().is_some_and(|e| e == "draft"));
        drafts
            .any(|draft| scene.space.read(draft).contains(text))
            .then_some(())
    });
    term.signal(Signal::Kill);
    term.wait();
}

#[test]
fn a_draft_survives_a_kill_and_stays_with_its_session() {
    let scene = scene([Step::answer().text("Hello.")]);
    let term = start(&scene, 80, 24);
    killed_while_writing(&scene, term, "half of 中文 thought");
    // Nothing had been said: what was written goes on in the next session.
    let mut term = unwaited(&scene, 80, 24);
    term.wait_for("› half of 中文 thought");
    term.keys("\x03hi\r");
    term.wait_for("Hello.");
    idle(&term);
    killed_while_writing(&scene, term, "a second thought");
    // This one has a session that can be gone on with; another one is told where.
    let mut term = start(&scene, 80, 24);
    term.wait_for("Unsent draft in session ");
    term.keys("/resume\r");
    term.wait_for("enter [resume]");
    term.keys("\r");
    term.wait_for("› a second thought");
    term.keys("\x03\x04");
    assert!(term.wait().success());
    let resume = scene.ostler(["resume"]).env("XTERM_VERSION", "XTerm(390)");
    let term = resume.timeout(PATIENCE).on_terminal(80, 24);
    term.wait_for(COMPOSER);
    assert!(
        !term.screen().contains("a second thought"),
        "{}",
        term.screen()
    );
}

#[test]
fn resizing_leaves_one_composer_and_every_row() {
    let poem: Vec<String> = (1..=30).map(|n| format!("row {n} is here")).collect();
    let scene = scene([
        Step::answer().text_in(30, &poem.join("\n\n")),
        Step::answer().text("After it."),
    ]);
    let mut term = start(&scene, 80, 20);
    turn(&mut term, "go", "row 30 is here");
    term.keys("a line that is wider than forty columns are, by some words");
    term.wait_for("by some words");
    for (columns, rows) in [(40, 20), (120, 20), (40, 10), (80, 24)] {
        term.resize(columns, rows);
        // Drawn for this size, and not what the terminal made of the one before.
        let drawn = match columns {
            40 => "forty\n⋮ columns are, by some words",
            _ => "forty columns are, by some words",
        };
        term.wait_until("one composer", |screen| {
            status_rows(screen) == 1
                && screen.matches("› a line that").count() == 1
                && screen.contains(drawn)
        });
    }
    term.keys("\r");
    term.wait_for("After it.");
    idle(&term);
    let history = term.history();
    let found: Vec<&str> = rows_of(&history)
        .into_iter()
        .filter(|r| r.starts_with("row "))
        .collect();
    assert_eq!(found, poem, "{history}");
    assert_eq!(status_rows(&history), 1, "{history}");
}

/// The same within tmux, which breaks rows that are too wide and joins them again.
#[test]
fn resizing_within_tmux() {
    let Ok(tmux) = Tmux::start() else {
        return common::skipped("tmux is not installed");
    };
    let poem: Vec<String> = (1..=30).map(|n| format!("row {n} is here")).collect();
    let scene = scene([Step::answer().text_in(30, &poem.join("\n\n"))]);
    tmux.ostler(&scene);
    tmux.wait(|screen| screen.contains(COMPOSER));
    tmux.call(&["send-keys", "-l", "go"]);
    tmux.call(&["send-keys", "Enter"]);
    tmux.wait(|screen| screen.contains("row 30") && !screen.contains("esc stops"));
    tmux.call(&[
        "send-keys",
        "-l",
        "a line that is wider than forty columns are, by some words",
    ]);
    tmux.wait(|screen| screen.contains("by some words"));
    for columns in ["40", "120", "60", "80"] {
        tmux.call(&["resize-window", "-x", columns]);
        tmux.wait(|screen| status_rows(screen) == 1 && screen.contains("› a line that"));
    }
    let history = tmux.call(&["capture-pane", "-p", "-S", "-"]);
    let found: Vec<&str> = rows_of(&history)
        .into_iter()
        .filter(|r| r.starts_with("row "))
        .collect();
    assert_eq!(found, poem, "{history}");
    assert_eq!(status_rows(&history), 1, "{history}");
    assert_eq!(history.matches("› a line that").count(), 1, "{history}");
}

/// A region that begins in the first row of the terminal is drawn anew without a copy of it in the scrollback.
#[test]
fn a_full_terminal_within_tmux() {
    let Ok(tmux) = Tmux::start() else {
        return common::skipped("tmux is not installed");
    };
    let scene = scene([]);
    tmux.ostler(&scene);
    tmux.wait(|screen| screen.contains(COMPOSER));
    for line in 1..8 {
        tmux.call(&["send-keys", "-l", &format!("line {line} of a draft")]);
        tmux.call(&["send-keys", "C-j"]);
    }
    tmux.call(&["send-keys", "-l", "line 8 of a draft"]);
    tmux.wait(|screen| screen.contains("line 8 of a draft"));
    for rows in ["4", "24", "3", "5", "24"] {
        tmux.call(&["resize-window", "-y", rows]);
        tmux.wait(|screen| status_rows(screen) == 1 && screen.contains("line 8 of a draft"));
        tmux.call(&["send-keys", "C-j"]);
        tmux.call(&["send-keys", "BSpace"]);
    }
    let is_whole = |text: &str| {
        let at = text.rfind("› line 1 of a draft").unwrap_or(text.len());
        (2..=8).all(|line| text[at..].contains(&format!("line {line} of a draft")))
    };
    tmux.wait(is_whole);
    let history = tmux.call(&["capture-pane", "-p", "-S", "-"]);
    assert_eq!(status_rows(&history), 1, "{history}");
    // What a terminal of three rows scrolled away is out of reach; its end never leaves the region.
    assert_eq!(history.matches("line 8 of a draft").count(), 1, "{history}");
}

/// A tmux server of its own.
struct Tmux {
    folder: ostler_testkit::TempWorkspace,
}

impl Tmux {
    fn start() -> std::io::Result<Self> {
        std::process::Command::new("tmux").arg("-V").output()?;
        Ok(Self {
            folder: ostler_testkit::TempWorkspace::new(),
        })
    }

    fn ostler(&self, scene: &Scene) {
        self.run(scene, env!("CARGO_BIN_EXE_ostler"));
    }

    fn run(&self, scene: &Scene, program: &str) {
        let env: Vec<String> = scene
            .space
            .env()
            .into_iter()
            .map(|(name, value)| format!("{name}='{}'", value.to_string_lossy()))
            .collect();
        let command = format!(
            "cd '{}' && env -u XTERM_VERSION {} {program}",
            scene.space.root().display(),
            env.join(" ")
        );
        self.call(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "20",
            &command,
            // Keys that come at once are keys, not a paste.
            ";",
            "set-option",
            "-g",
            "assume-paste-time",
            "0",
        ]);
    }

    fn call(&self, args: &[&str]) -> String {
        let socket = self.folder.root().join("socket");
        let out = self
            .folder
            .run("tmux")
            .env("SHELL", "/bin/sh")
            .args(["-S".as_ref(), socket.as_os_str()])
            .args(args);
        out.output().stdout
    }

    #[track_caller]
    fn wait(&self, holds: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let screen = self.call(&["capture-pane", "-p"]);
            if holds(&screen) {
                return;
            }
            assert!(Instant::now() < deadline, "never seen in tmux:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.call(&["kill-server"]);
    }
}

#[test]
fn escape_codes_are_shown_and_not_obeyed() {
    let evil = "\x1b[2J\x1b]0;owned\x07\x1b[31mred \u{202e}reversed\u{9b}1A\x08\r";
    let scene = Scene::with_config(
        Kind::Chat,
        "[permissions]\nmode = \"allow\"\n[sandbox]\nbash = \"off\"\n",
        [
            Step::answer().text(&format!("start {evil} end")),
            Step::answer().call(
                "bash",
                json!({"command": "printf 'out \\033[2Jput\\033]0;owned\\007 done'"}),
            ),
            Step::answer().call("ls", json!({"path": "."})),
            Step::answer().call("read_file", json!({"path": "\x1b[2Jname"})),
            Step::answer().text("Fin."),
        ],
    );
    scene.space.write("\x1b]0;owned\x07name", "x");
    let mut term = start(&scene, 100, 40);
    term.keys("first\r");
    term.wait_for("end");
    idle(&term);
    term.keys("second\r");
    term.wait_for("Fin.");
    idle(&term);
    term.keys("\x14");
    term.wait_for("search");
    term.keys("q");
    idle(&term);
    let bytes = term.bytes();
    let bytes = String::from_utf8_lossy(&bytes);
    for never in [
        "\x1b[2J\x1b]0",
        "]0;owned\x07",
        "\x1b[31mred",
        "\u{202e}",
        "\u{9b}",
        "\x08",
    ] {
        assert!(!bytes.contains(never), "{never:?} was written");
    }
    let history = term.history();
    for shown in [
        "start ␛[2J␛]0;owned␇␛[31mred",
        "out ␛[2Jput␛]0;owned␇ done",
        "Fin.",
    ] {
        assert!(history.contains(shown), "{shown}: {history}");
    }
}

#[test]
fn odd_texts_do_not_break_the_layout() {
    let wide = "| a | b | c |\n|---|---|---|\n| ".to_owned()
        + &"wide ".repeat(60)
        + "| x | "
        + &"中".repeat(90)
        + " |\n";
    let answers = [
        ("a wide table", wide),
        ("right to left", "שלום עולם — مرحبا بالعالم".repeat(8)),
        (
            "zero width",
            "a\u{200b}\u{200d}\u{feff}\u{301}\u{301}\u{301}b ".repeat(60),
        ),
        ("many emoji", "👩‍👩‍👧‍👦🏳️‍🌈".repeat(50)),
        // It fills the window, so that a further prompt would be folded first.
        ("a long line", "x".repeat(10 << 20)),
    ];
    let steps = answers
        .iter()
        .map(|(_, text)| Step::answer().text_in(50, text));
    let scene = scene(steps.collect::<Vec<_>>());
    let mut term = start(&scene, 60, 20);
    for (n, (name, _)) in answers.iter().enumerate() {
        term.keys(&format!("{name}\r"));
        // The prompt of before is still there; two lines at once would be a paste.
        term.wait_until(&format!("{name} is sent"), |_| {
            scene.server.requests().len() > n
        });
        let is_back = |screen: &str| {
            let rows: Vec<&str> = screen.lines().collect();
            let last = rows
                .last()
                .is_some_and(|r| r.starts_with("mock-model · ask"));
            let composer = rows
                .iter()
                .rev()
                .nth(2)
                .is_some_and(|r| r.starts_with(COMPOSER));
            last && composer && !screen.contains("esc stops")
        };
        term.wait_until(&format!("the prompt below {name}"), is_back);
        assert_eq!(term.history().matches(COMPOSER).count(), 1, "{name}");
    }
}

#[test]
fn permission_is_given_as_it_was_shown() {
    let call = || Step::answer().call("bash", json!({"command": "touch made"}));
    let cases: [(&str, &str, bool); 4] = [
        ("y", "once", true),
        ("s", "session", true),
        ("a", "always", true),
        ("use another name\r", "deny", false),
    ];
    for (keys, decision, made) in cases {
        let scene = Scene::with_config(
            Kind::Chat,
            "[sandbox]\nbash = \"off\"\n",
            [call(), Step::answer().text("Well.")],
        );
        let mut term = start(&scene, 100, 24);
        term.keys("go\r");
        let screen = term.wait_for("Run this command?");
        assert!(screen.contains("touch made"), "{screen}");
        let rule = "Bash(touch made)";
        assert!(
            screen.contains("always allow") && screen.contains(rule),
            "{screen}"
        );
        answer(&mut term, keys);
        if decision == "always" {
            // What outlives the session takes another key.
            term.wait_until("the rule and its file", |screen| {
                screen.contains("Save this for good?") && screen.contains(rule)
            });
            assert!(!scene.space.exists("made"));
            answer(&mut term, "y");
        }
        term.wait_for("Well.");
        idle(&term);
        assert_eq!(scene.space.exists("made"), made, "{keys}");
        let log = scene.log();
        assert_eq!(of_type(&log, "approval")[0]["decision"], decision);
        let homes = [scene.space.home(), scene.space.root()];
        let files = homes.iter().flat_map(|dir| common::files(dir));
        let saved = files
            .filter(|path| path.extension().is_some_and(|e| e == "toml"))
            .any(|path| scene.space.read(path).contains(rule));
        assert_eq!(saved, decision == "always", "{keys}");
        let told = &scene.server.request(1).tool_results()[0].1;
        assert_eq!(told.contains("use another name"), !made, "{told}");
    }
}

#[test]
fn a_question_is_answered_by_choice_and_in_own_words() {
    let ask = || {
        Step::answer().call(
            "ask",
            json!({"question": "Which colour?", "choices": ["red", "blue"]}),
        )
    };
    for (keys, told) in [
        ("2", "blue"),
        ("\x1b[B\x1b[B\r", "blue"),
        ("green\r", "green"),
    ] {
        let scene = scene([ask(), Step::answer().text("Well.")]);
        let mut term = start(&scene, 80, 24);
        term.keys("go\r");
        term.wait_for("2. blue");
        answer(&mut term, keys);
        term.wait_for("Well.");
        let result = &scene.server.request(1).tool_results()[0].1;
        assert!(
            result.contains(&format!("The person answered: {told}")),
            "{result}"
        );
    }
}

#[test]
fn a_plan_is_approved_and_then_done() {
    let scene = Scene::with_config(
        Kind::Chat,
        "[sandbox]\nbash = \"off\"\n",
        [
            Step::answer().call(
                "exit_plan_mode",
                json!({"plan": "# The plan\n\n1. touch made"}),
            ),
            Step::answer().call("bash", json!({"command": "touch made"})),
            Step::answer().text("Done."),
        ],
    );
    let mut term = start(&scene, 80, 24);
    for posture in ["accepts edits", "auto", "plan"] {
        term.keys("\x1b[Z");
        term.wait_for(&format!("mock-model · {posture}"));
    }
    term.keys("plan it\r");
    let screen = term.wait_for("The plan is ready");
    assert!(screen.contains("1. touch made"), "{screen}");
    answer(&mut term, "y");
    term.wait_for("Done.");
    assert!(scene.space.exists("made"));
}

#[test]
fn commands_show_choose_and_leave() {
    let scene = scene([
        Step::answer().text("One **answer**."),
        Step::answer().text("Two."),
        Step::answer().text("Three."),
    ]);
    let config = config_text(&scene.server, Kind::Chat).replace(
        "model = \"mock-model\"",
        "models = [\"mock-model\", \"other\"]",
    );
    scene
        .space
        .write(scene.space.home().join("config.toml"), config);
    let mut term = start(&scene, 90, 40);
    term.keys("first\r");
    term.wait_for("One answer.");
    idle(&term);
    // Menus are open while a command is typed, so the last Enter is for what was typed whole.
    for (command, seen) in [
        ("/help", "keys and commands, or one command"),
        ("/context", "tool schemas"),
        ("/cost", "mock/mock-model"),
        ("/status", "complete_step"),
    ] {
        turn(&mut term, command, seen);
    }
    term.keys("/copy\r");
    term.wait_for("Copied.");
    let bytes = String::from_utf8_lossy(&term.bytes()).into_owned();
    // "One **answer**." in base64.
    assert!(bytes.contains("\x1b]52;c;T25lICoqYW5zd2VyKiou\x07"));
    term.keys("/theme\r");
    term.wait_for("\nTheme");
    term.keys("light\r");
    idle(&term);
    term.keys("/model\r");
    term.wait_until("the models", |s| {
        s.contains("\nModel") && s.contains("mock/other")
    });
    term.keys("other\r");
    term.wait_for("Model: mock/other");
    idle(&term);
    term.keys("/new\r");
    term.wait_for("· New session");
    idle(&term);
    term.keys("second\r");
    term.wait_for("Two.");
    idle(&term);
    term.keys("/resume\r");
    term.wait_for("\nResume");
    term.wait_for("first");
    term.keys("first\r");
    term.wait_for("· Now in session");
    idle(&term);
    term.keys("third\r");
    term.wait_for("Three.");
    let third = scene.server.request(2);
    assert!(String::from_utf8_lossy(&third.raw).contains("One **answer**."));
    idle(&term);
    term.keys("/quit\r");
    assert!(term.wait().success());
}

#[test]
fn a_fold_is_shown_and_can_be_stopped() {
    let summary = "## Goal\nShip the parser.\n## Notes\nHalf of it works.";
    let scene = scene([
        Step::answer().text(&"Much is said here. ".repeat(300)),
        Step::answer().text("And little here."),
        Step::stall_headers(),
        Step::answer().text(summary),
        Step::answer().text("On it goes."),
    ]);
    let mut term = start(&scene, 100, 24);
    turn(&mut term, "Never touch lexer.rs.", "Much is said");
    turn(&mut term, "more", "And little here.");
    term.keys("/compact the parser\r");
    term.wait_for("compacting");
    scene.server.wait_for(3);
    term.keys("\x1b");
    term.wait_for("Interrupted; nothing was compacted.");
    idle(&term);
    term.keys("/compact the parser\r");
    term.wait_for("Compacted 1 answer");
    term.wait_for("focus: the parser");
    idle(&term);
    turn(&mut term, "on", "On it goes.");
    // What it stands for is a key away.
    term.keys("\x14");
    term.wait_for("q back");
    term.keys("G");
    term.wait_for("Ship the parser.");
    term.keys("q");
    idle(&term);
    term.keys("\x04");
    assert!(term.wait().success());
    let last = scene.server.request(4);
    let prompt = String::from_utf8(last.prompt_bytes()).unwrap();
    assert!(prompt.contains("Never touch lexer.rs.") && prompt.contains("<digest>"));
    assert!(!prompt.contains("Much is said"));
}

#[test]
fn a_budget_is_asked_about_and_work_goes_on() {
    let usage = Usage {
        input: 100,
        output: 6,
        ..Usage::default()
    };
    let steps = ["One.", "Two.", "Three."].map(|text| Step::answer().text(text).usage(usage));
    let more =
        "price = { input = 0, output = 10000 }\nmax_output = 10\n[budget]\nrun = { usd = 0.15 }\n";
    let scene = Scene::with_config(Kind::Chat, more, steps);
    let mut term = start(&scene, 80, 24);
    term.keys("first\r");
    term.wait_for("One.");
    term.wait_for("40% of ");
    idle(&term);
    term.keys("second\r");
    term.wait_for("The budget is reached");
    term.wait_for("raise it and continue");
    answer(&mut term, "n");
    term.wait_for("Raise `[budget] run`");
    // The prompt is there to be sent again.
    term.wait_until("the prompt", |screen| screen.contains("\n› second\n──"));
    term.keys("\x15");
    idle(&term);
    // The budget stays where it was, and it is asked about again.
    term.keys("third\r");
    term.wait_until("the question", |s| {
        s.contains("raise it and continue  to $0.3000, until Ostler ends")
    });
    answer(&mut term, "y");
    term.wait_for("Two.");
    idle(&term);
    term.keys("/cost\r");
    term.wait_for("$0.1200 of $0.3000 used");
    term.keys("/quit\r");
    assert!(term.wait().success());
}

#[test]
fn sessions_are_found_by_what_was_said() {
    let scene = scene([Step::answer().text("The quagga gateway listens on 7741.")]);
    scene.exec("Which port is it?").ok();
    scene.server.push(Step::answer().text("As I said."));
    let mut term = start(&scene, 100, 24);
    idle(&term);
    term.keys("/resume\r");
    term.wait_for("Which port is it?");
    term.keys("quagga");
    term.wait_for("search the text of all sessions");
    term.keys("\r");
    term.wait_for("Resume: quagga");
    term.wait_for("The quagga gateway listens");
    term.keys("\r");
    term.wait_for("· Now in session");
    idle(&term);
    term.keys("again\r");
    term.wait_for("As I said.");
    term.keys("/quit\r");
    assert!(term.wait().success());
}

#[test]
fn what_is_typed_during_a_turn_steers_or_waits() {
    let scene = scene([
        Step::answer()
            .text("Working on it.")
            .call("time", json!({}))
            .pace(Duration::from_millis(300)),
        Step::answer().text("With that in mind."),
        Step::answer().text("And the next."),
    ]);
    let mut term = start(&scene, 80, 24);
    term.keys("begin\r");
    term.wait_for("esc stops");
    term.keys("mind the gap\r");
    term.wait_for("mind the gap");
    term.keys("then this\t");
    term.wait_for("next: then this");
    term.wait_for("And the next.");
    idle(&term);
    let log = scene.log();
    let said = texts(&log);
    // A prompt that steers is on record when it comes, before or after what is being said.
    assert!(said[1..3].contains(&"mind the gap"), "{said:?}");
    assert_eq!(
        said[3..],
        ["With that in mind.", "then this", "And the next."]
    );
    let history = term.history();
    assert_eq!(history.matches("mind the gap").count(), 1, "{history}");
    assert_eq!(history.matches("then this").count(), 1, "{history}");
}

#[test]
fn a_resumed_session_shows_its_past_and_goes_on() {
    let scene = scene([Step::answer().text("One."), Step::answer().text("Two.")]);
    scene.exec("first").ok();
    let run = scene.ostler(["resume"]);
    let mut term = run.on_terminal(80, 24);
    let screen = term.wait_for(COMPOSER);
    let rows = rows_of(&screen);
    let at = |text: &str| rows.iter().position(|r| *r == text);
    assert!(
        at("› first").is_some() && at("› first") < at("One."),
        "{screen}"
    );
    term.keys("second\r");
    term.wait_for("Two.");
    assert_eq!(texts(&scene.log()), ["first", "One.", "second", "Two."]);
}

#[test]
fn the_surface_speaks_chinese() {
    let scene = scene([
        Step::answer().call("bash", json!({"command": "touch made"})),
        Step::answer().text("好。"),
    ]);
    let run = scene.ostler([]).env("OSTLER_LANG", "zh");
    let mut term = run.on_terminal(80, 24);
    term.wait_for("输入问题");
    term.wait_for("需要批准");
    term.keys("开始\r");
    let screen = term.wait_for("运行此命令？");
    for shown in ["允许一次", "本次会话内允许", "始终允许", "拒绝并说明原因"]
    {
        assert!(screen.contains(shown), "{shown}: {screen}");
    }
    term.wait_for("按键或");
    term.keys("n\r");
    term.wait_for("好。");
    term.wait_for("已拒绝");
}

#[test]
fn the_title_and_the_notification_tell_that_it_waits() {
    let scene = scene([
        Step::answer().call("bash", json!({"command": "touch made"})),
        Step::answer().text("Fine."),
    ]);
    let mut term = start(&scene, 80, 24);
    // The window loses the focus.
    term.keys("go\r\x1b[O");
    term.wait_for("Run this command?");
    let has = |needle: &str| String::from_utf8_lossy(&term.bytes()).contains(needle);
    wait_for("the notification", || {
        (has("\x1b]9;ostler: ") && has("\x1b]2;? go · ostler")).then_some(())
    });
}

#[test]
fn settings_of_the_surface_are_checked_and_used() {
    let config =
        "[ui]\nstatus_line = \"<{model}>\"\n[ui.keys]\npage = [\"f2\"]\nundo = [\"ctrl-z\"]\n";
    let scene = Scene::with_config(Kind::Chat, config, []);
    let mut term = start(&scene, 80, 24);
    term.wait_for("<mock-model>");
    term.keys("word");
    term.wait_for("› word");
    term.keys("\x1a");
    idle(&term);
    term.keys("\x1bOQ");
    term.wait_for("search");
    for (config, said) in [
        ("[ui.keys]\nfly = [\"f2\"]\n", "there is no action `fly`"),
        ("[ui]\ntheme = \"pink\"\n", "there is no theme \"pink\""),
    ] {
        let scene = Scene::with_config(Kind::Chat, config, []);
        let mut term = unwaited(&scene, 80, 24);
        term.wait_for(said);
        assert_eq!(term.wait().code(), Some(1));
    }
}

#[test]
fn a_server_that_speaks_fast_does_not_hold_keys_up() {
    let words: Vec<String> = (0..4_000).map(|n| format!("w{n} ")).collect();
    let server = Server::start([Step::answer().chunks(words)]);
    let scene = Scene::of(Kind::Chat, "", server);
    let mut term = start(&scene, 80, 24);
    term.keys("go\r");
    term.wait_for("w1");
    term.keys("typed meanwhile");
    term.wait_for("› typed meanwhile");
    term.wait_until("the end", |s| {
        s.contains("w3999") && !s.contains("esc stops")
    });
    let history = term.history();
    let words: Vec<&str> = history
        .split_whitespace()
        .filter(|w| w.starts_with('w'))
        .collect();
    let numbers = words
        .iter()
        .filter_map(|w| w.get(1..)?.parse::<usize>().ok());
    assert!(numbers.eq(0..4_000), "words are missing or out of order");
}

#[test]
fn the_persons_own_editor_has_the_terminal_meanwhile() {
    let scene = scene([Step::answer().text("Edited.")]);
    // Reads a line from the terminal, so that nobody else may take it.
    let editor = scene.space.write(
        "editor.sh",
        "#!/bin/sh\necho EDITING\nread line </dev/tty\nprintf '\\n%s' \"$line\" >> \"$1\"\n",
    );
    let run = scene
        .ostler([])
        .env("EDITOR", format!("/bin/sh {}", editor.display()));
    let mut term = run.on_terminal(80, 24);
    term.wait_for(COMPOSER);
    term.keys("by hand\x07");
    term.wait_for("EDITING");
    term.keys("and by editor\r");
    term.wait_for("  and by editor");
    term.keys("\r");
    term.wait_for("Edited.");
    let sent = scene.server.request(0).last_user_text();
    assert!(sent.contains("by hand\nand by editor"), "{sent}");
}

#[test]
fn what_a_sub_agent_asks_stays_until_it_is_answered() {
    let server = Server::answering(|request| {
        let child = request.system_text().contains("# Role: ");
        match (child, request.tool_results().is_empty()) {
            (false, true) => {
                Step::answer().call("task", json!({"prompt": "make it", "description": "make"}))
            }
            (true, true) => Step::answer().call("bash", json!({"command": "touch made"})),
            (child, false) => Step::answer().text(match child {
                true => "It is made.",
                false => "All came back.",
            }),
        }
    });
    let config = "[permissions]\nmode = \"ask\"\n[sandbox]\nbash = \"off\"\n";
    let scene = Scene::of(Kind::Chat, config, server);
    let mut term = start(&scene, 80, 24);
    term.keys("go\r");
    term.wait_for("Start this sub-agent?");
    term.wait_for("builder: make it");
    answer(&mut term, "y");
    term.wait_for("t1 builder asks: Run this command?");
    term.wait_for("t1 builder · asks you");
    // It works for the turn, which would be stopped with it.
    term.wait_for(" · esc stop the turn · ");
    answer(&mut term, "y");
    term.wait_for("All came back.");
    idle(&term);
    assert!(scene.space.exists("made"));
    // What was done for this session is not offered as another one.
    assert_eq!(scene.logs().len(), 2);
    term.keys("/resume\r");
    term.wait_for("This project has no other session.");
}

/// As in plain lines: a new session has the configuration as it is now.
#[test]
fn a_new_session_reads_the_configuration_anew() {
    let scene = scene([Step::answer().text("One.")]);
    let mut term = start(&scene, 80, 24);
    turn(&mut term, "first", "One.");
    let path = scene.space.home().join("config.toml");
    let config = scene.space.read(&path);
    let other = config.replace("\"mock/mock-model\"", "\"mock/other-model\"");
    assert_ne!(config, other);
    scene.space.write(&path, &other);
    term.keys("/new\r");
    term.wait_for("other-model");
    // One that cannot be read leaves the session as it is.
    scene.space.write(&path, "default_model = [");
    term.keys("/new\r");
    term.wait_for("could not be opened");
    scene.space.write(&path, &other);
    scene.server.push(Step::answer().text("Two."));
    turn(&mut term, "second", "Two.");
}

#[test]
fn a_mention_is_completed_by_the_rules_of_the_session() {
    let scene = Scene::with_config(
        Kind::Chat,
        "[permissions]\ndeny = [\"Read(.env)\", \"Read(vault)\"]\n",
        [Step::answer().text("One.")],
    );
    for file in ["src/main.rs", "src/lib.rs", "vault/one", ".env", "notes.md"] {
        scene.space.write(file, "the content");
    }
    let mut term = start(&scene, 80, 30);
    term.keys("look at @");
    let screen = term.wait_until("the names", |s| {
        s.contains("notes.md") && s.contains("src/")
    });
    assert!(
        !screen.contains("vault") && !screen.contains(".env"),
        "{screen}"
    );
    term.keys("sr\t");
    term.wait_for("main.rs");
    term.keys("ma\t");
    term.wait_for("@src/main.rs");
    term.keys("\r");
    term.wait_for("One.");
    assert!(
        scene
            .server
            .request(0)
            .last_user_text()
            .contains("the content")
    );
}

#[test]
fn trust_is_asked_in_the_look_of_the_terminal_before_the_session_opens() {
    let project = "[permissions]\nallow = [\"Bash(make:*)\"]\n";
    let allowed = |scene: &Scene| {
        let run = scene.ostler(["config", "get", "permissions.allow"]);
        run.output().ok().stdout
    };
    let question = "Trust this project's files?";
    let scene = scene([Step::answer().text("One.")]);
    scene.space.write("ostler.toml", project);
    // Keys that came before the question are no answer, and stay in the composer.
    let mut term = unwaited(&scene, 100, 30);
    term.keys("ty");
    let screen = term.wait_for(question);
    assert!(
        screen.contains("permissions.allow") && screen.contains("\"Bash(make:*)\""),
        "{screen}"
    );
    term.wait_for("› ty");
    term.keys("\x7f\x7f");
    term.wait_until("an empty composer", |s| !s.contains("› ty"));
    answer(&mut term, "n");
    term.wait_for(COMPOSER);
    assert!(!term.wait_for("ignored").contains(question));
    term.keys("/quit\r");
    assert!(term.wait().success());
    assert_eq!(allowed(&scene), "[]\n");

    let mut term = unwaited(&scene, 100, 30);
    term.wait_for(question);
    answer(&mut term, "t");
    // What outlives the session takes another key.
    term.wait_for("everything listed takes effect");
    assert_eq!(allowed(&scene), "[]\n");
    answer(&mut term, "y");
    term.wait_for(COMPOSER);
    assert_eq!(allowed(&scene), "[\"Bash(make:*)\"]\n");
    turn(&mut term, "go", "One.");
    term.keys("/quit\r");
    assert!(term.wait().success());

    // It was decided, and other content is asked about again.
    let mut term = start(&scene, 100, 30);
    term.keys("/quit\r");
    assert!(term.wait().success());
    scene
        .space
        .write("ostler.toml", project.replace("make", "sh"));
    let mut term = unwaited(&scene, 100, 30);
    let screen = term.wait_for(question);
    assert!(screen.contains("changed since you trusted it"), "{screen}");
    term.keys("\x1b");
    term.wait_for(COMPOSER);
    assert_eq!(allowed(&scene), "[]\n");
}

#[test]
fn what_is_too_long_for_the_question_of_trust_cannot_be_trusted_by_a_key() {
    let scene = scene([]);
    let command = "true\\n".repeat(70);
    let hook = format!("[[hooks]]\nevent = \"stop\"\ncommand = \"{command}\\u001b[2J\"\n");
    scene.space.write("ostler.toml", hook);
    let mut term = unwaited(&scene, 100, 40);
    let screen = term.wait_until("the question", |s| s.contains("cannot be trusted here"));
    assert!(screen.contains("ostler trust --read "), "{screen}");
    assert!(!screen.contains("t  trust it"), "{screen}");
    answer(&mut term, "n");
    term.wait_for(COMPOSER);
    let out = scene.ostler(["doctor"]).output();
    assert!(out.stdout.contains("untrusted"), "{}", out.stdout);
}
