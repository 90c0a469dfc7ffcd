//! How it is left, lost and found again: panics, closed terminals, detached ones, and what runs in the background.

use super::*;

const FREE: &str = "[permissions]\nmode = \"allow\"\n[sandbox]\nbash = \"off\"\n";

/// A command that says which process it is and goes on for ever.
fn endless(file: &str) -> String {
    format!("echo $$ > {file}; exec sleep 300")
}

fn job(command: &str) -> serde_json::Value {
    json!({"command": command, "wait": false})
}

/// The process that a command wrote down.
fn pid(scene: &Scene, file: &str) -> u32 {
    wait_for(file, || {
        let there = scene.space.exists(file);
        there.then(|| scene.space.read(file).trim().parse().ok())?
    })
}

fn is_gone(pid: u32) -> bool {
    let kill = std::process::Command::new("kill")
        .args(["-0", &pid.to_string()])
        .output()
        .expect("kill");
    !kill.status.success()
}

#[cfg(debug_assertions)]
#[test]
fn a_panic_leaves_the_terminal_as_it_was() {
    let scene = scene([Step::answer().text("Half of it").stall(Place::Text(1))]);
    let run = scene.ostler([]).env("OSTLER_TEST_PANIC", "1");
    let mut term = run.timeout(PATIENCE).on_terminal(80, 24);
    let before = term.settings();
    term.wait_for(COMPOSER);
    assert_ne!(term.settings(), before, "never raw");
    term.keys("go\r");
    term.wait_for("Half");
    term.signal(Signal::Interrupt);
    assert_eq!(term.wait().code(), Some(101));
    assert_eq!(term.settings(), before);
    let screen = term.wait_for("OSTLER_TEST_PANIC");
    // The message stands on rows of its own, below what was there.
    let rows: Vec<&str> = screen.lines().collect();
    let told = rows.iter().position(|row| row.contains("panicked at"));
    assert!(told.is_some(), "{screen}");
    let row = rows.get(told.unwrap_or(0)).copied().unwrap_or_default();
    assert!(row.trim_start().starts_with("thread 'main'"), "{screen}");
    let bytes = term.bytes();
    let bytes = String::from_utf8_lossy(&bytes);
    for (on, off) in [
        ("\x1b[?2004h", "\x1b[?2004l"),
        ("\x1b[?1004h", "\x1b[?1004l"),
        ("\x1b[>3u", "\x1b[<u"),
        ("\x1b[?25l", "\x1b[?25h"),
        ("\x1b[?7l", "\x1b[?7h"),
    ] {
        assert!(bytes.rfind(off) > bytes.rfind(on), "{on:?}");
    }
}

#[test]
fn a_closed_terminal_ends_it_and_the_session_goes_on_later() {
    let slow = json!({"command": endless("own")});
    let scene = Scene::with_config(
        Kind::Chat,
        FREE,
        [
            Step::answer().call("bash", job(&endless("job"))),
            Step::answer().call("bash", slow),
        ],
    );
    let mut term = start(&scene, 80, 24);
    term.keys("go\r");
    let pids = [pid(&scene, "job"), pid(&scene, "own")];
    term.keys("half of 中文 thought");
    term.wait_for("› half of 中文 thought");
    term.hang_up();
    assert_eq!(term.wait().code(), Some(143));
    for pid in pids {
        wait_for("the end of a command", || is_gone(pid).then_some(()));
    }
    scene.server.push(Step::answer().text("Gone on."));
    let run = scene.ostler(["resume"]).env("XTERM_VERSION", "XTerm(390)");
    let mut term = run.timeout(PATIENCE).on_terminal(80, 24);
    let screen = term.wait_for("› half of 中文 thought");
    assert!(screen.contains("› go"), "{screen}");
    term.keys("\r");
    term.wait_for("Gone on.");
    let log = scene.log();
    assert_eq!(texts(&log).last(), Some(&"Gone on."));
}

#[test]
fn a_detached_session_goes_on() {
    let Ok(tmux) = Tmux::start() else {
        return common::skipped("tmux is not installed");
    };
    let scene = scene([
        Step::answer()
            .text("Said to nobody.")
            .pace(Duration::from_millis(300)),
        Step::answer().text("Here again."),
    ]);
    // The outer terminal is one of ours, in which tmux is attached and detached.
    tmux.ostler(&scene);
    let attach = || {
        let socket = tmux.folder.root().join("socket");
        let run = tmux.folder.run("tmux").env("TERM", "xterm-256color");
        let args = ["-S".as_ref(), socket.as_os_str(), "attach".as_ref()];
        run.args(args).timeout(PATIENCE).on_terminal(80, 21)
    };
    let mut term = attach();
    term.wait_for(COMPOSER);
    term.keys("go\r");
    term.wait_for("esc stops");
    term.keys("\x02d");
    term.wait();
    tmux.wait(|screen| screen.contains("Said to nobody.") && !screen.contains("esc stops"));
    let mut term = attach();
    term.wait_for("Said to nobody.");
    term.keys("more\r");
    term.wait_for("Here again.");
    let screen = idle(&term);
    assert_eq!(screen.matches(COMPOSER).count(), 1, "{screen}");
}

#[test]
fn suspended_within_tmux() {
    let Ok(tmux) = Tmux::start() else {
        return common::skipped("tmux is not installed");
    };
    let scene = scene([Step::answer().text("Here.")]);
    tmux.run(&scene, "PS1='shell$ ' /bin/bash --norc -i");
    tmux.wait(|screen| screen.contains("shell$"));
    let type_in = |text: &str| tmux.call(&["send-keys", "-l", text]);
    let press = |key: &str| tmux.call(&["send-keys", key]);
    type_in(env!("CARGO_BIN_EXE_ostler"));
    press("Enter");
    tmux.wait(|screen| screen.contains(COMPOSER));
    type_in("half a thou");
    tmux.wait(|screen| screen.contains("› half a thou"));
    for _ in 0..2 {
        press("C-z");
        tmux.wait(|screen| screen.contains("Stopped") && !screen.contains("› half"));
        // The shell has the keys, and shows what is typed.
        type_in("clear; echo 'as '\"usual\"");
        press("Enter");
        tmux.wait(|screen| screen.contains("as usual"));
        type_in("fg");
        press("Enter");
        tmux.wait(|screen| screen.contains("› half a thou"));
    }
    type_in("ght");
    press("Enter");
    tmux.wait(|screen| screen.contains("Here.") && screen.contains(COMPOSER));
    let sent = scene.server.request(0).last_user_text();
    assert!(sent.contains("half a thought"), "{sent}");
}

#[test]
fn jobs_are_counted_until_they_end() {
    let scene = Scene::with_config(
        Kind::Chat,
        FREE,
        [
            Step::answer().calls([
                ("bash", job("until [ -e go ]; do sleep 0.02; done")),
                ("bash", job(&endless("job"))),
            ]),
            Step::answer().text("Begun."),
        ],
    );
    let mut term = start(&scene, 100, 24);
    turn(&mut term, "go", "Begun.");
    term.wait_for("jobs 2");
    // One ends by itself, with nobody looking.
    scene.space.write("go", "");
    term.wait_for("jobs 1");
    let pid = pid(&scene, "job");
    // The other would end with us, and that is said first.
    term.keys("\x04");
    term.wait_for("j2 still running; ctrl-d or /quit again stops it and quits");
    term.keys("/new\r");
    term.wait_for("Not while tasks run (j2)");
    term.keys("/kill j2\r");
    wait_for("the end of the job", || is_gone(pid).then_some(()));
    term.wait_until("no jobs", |screen| !screen.contains("jobs 1"));
    idle(&term);
    term.keys("\x04");
    assert!(term.wait().success());
}

#[test]
fn leaving_twice_stops_what_runs() {
    for leave in ["\x04", "/quit\r", "\x03"] {
        let call = Step::answer().call("bash", job(&endless("job")));
        let steps = [call, Step::answer().text("Begun.")];
        let scene = Scene::with_config(Kind::Chat, FREE, steps);
        let mut term = start(&scene, 100, 24);
        turn(&mut term, "go", "Begun.");
        let pid = pid(&scene, "job");
        term.wait_for("jobs 1");
        term.keys(leave);
        term.wait_for(match leave {
            "\x03" => "press ctrl-c again to stop it and quit",
            _ => "/quit again stops it and quits",
        });
        assert!(!is_gone(pid), "{leave:?}");
        term.keys(leave);
        assert!(term.wait().success(), "{leave:?}");
        wait_for("the end of the job", || is_gone(pid).then_some(()));
    }
}
