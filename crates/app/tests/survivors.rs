//! Nothing we start outlives us: not after SIGKILL, not after a proper end, however the command tries to get away.
//! Looks at `/proc`, so only where there is one.
#![cfg(target_os = "linux")]

mod common;

use common::{Scene, wait_for};
use ostler_testkit::{Kind, Place, Running, Server, Signal, Step};
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};

/// A number of seconds that no other process of this machine sleeps for.
fn marker() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let nanos = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| d.subsec_nanos());
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("98{:05}.{nanos:09}{n}", std::process::id())
}

/// Live processes with the marker among their arguments, other than shells that carry it in a script.
fn sleepers(marker: &str) -> usize {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let argv = |path: std::path::PathBuf| std::fs::read(path.join("cmdline")).unwrap_or_default();
    let is_one = |argv: Vec<u8>| argv.split(|b| *b == 0).any(|arg| arg == marker.as_bytes());
    // A zombie has no arguments any more.
    entries.flatten().filter(|e| is_one(argv(e.path()))).count()
}

/// Ways to get out of reach, each of which ends in one sleeping process. `M` is the marker.
const ESCAPES: [(&str, &str); 8] = [
    ("child", "sleep M"),
    ("background", "sleep M & wait"),
    ("own session", "setsid -w sleep M"),
    ("own session, not waited for", "setsid sleep M & sleep 60"),
    (
        "double fork",
        "(setsid sh -c 'sleep M & exec sleep 61' & ) ; sleep 60",
    ),
    ("deaf to signals", "trap '' INT TERM HUP; nohup sleep M"),
    (
        "orphan with closed streams",
        "(setsid nohup sleep M </dev/null >/dev/null 2>&1 &) ; sleep 60",
    ),
    ("pipeline", "sleep M | cat | cat"),
];

fn call(command: &str, wait: bool) -> Step {
    let mut args = json!({"command": command});
    if !wait {
        args["wait"] = json!(false);
    }
    Step::answer().call("bash", args)
}

/// Starts the command and waits until its sleeper is there.
#[track_caller]
fn started(scene: &Scene, marker: &str) -> Running {
    let running = scene.ostler(["exec", "-p", "go"]).spawn();
    wait_for("the sleeping process", || {
        (sleepers(marker) > 0).then_some(())
    });
    running
}

#[track_caller]
fn gone(name: &str, marker: &str) {
    wait_for(&format!("`{name}` to be gone"), || {
        (sleepers(marker) == 0).then_some(())
    });
}

#[test]
fn nothing_survives_a_kill() {
    for (name, script) in ESCAPES {
        let marker = marker();
        let scene = Scene::new(Kind::Chat, [call(&script.replace('M', &marker), true)]);
        let running = started(&scene, &marker);
        running.signal(Signal::Kill);
        gone(name, &marker);
        let out = running.wait();
        assert_eq!(out.signal, Some(9), "{name}");
        // And the session goes on.
        scene.server.push(Step::answer().text("Back."));
        assert_eq!(
            scene.ostler(["resume", "-p", "more"]).output().ok().stdout,
            "Back.\n",
            "{name}"
        );
        let raw = String::from_utf8_lossy(&scene.server.request(1).raw).into_owned();
        assert!(raw.contains("It may or may not have run"), "{name}: {raw}");
    }
}

#[test]
fn nothing_survives_an_interrupt() {
    for (name, script) in ESCAPES {
        let marker = marker();
        let scene = Scene::new(Kind::Chat, [call(&script.replace('M', &marker), true)]);
        let running = started(&scene, &marker);
        running.signal(Signal::Interrupt);
        running.wait().exits(130);
        gone(name, &marker);
    }
}

#[test]
fn no_job_survives_a_proper_end() {
    for (name, script) in ESCAPES {
        let marker = marker();
        let (script, seen) = (script.replace('M', &marker), marker.clone());
        let server = Server::answering(move |request| {
            if request.tool_results().is_empty() {
                return call(&script, false);
            }
            wait_for("the sleeping process", || {
                (sleepers(&seen) > 0).then_some(())
            });
            Step::answer().text("Bye.")
        });
        let scene = Scene::of(Kind::Chat, "", server);
        assert_eq!(scene.exec("go").ok().stdout, "Bye.\n", "{name}");
        gone(name, &marker);
    }
}

#[test]
fn no_job_survives_a_signal() {
    let signals = [
        Signal::Kill,
        Signal::Interrupt,
        Signal::Terminate,
        Signal::Hangup,
    ];
    for ((name, script), signal) in ESCAPES.into_iter().zip(signals.into_iter().cycle()) {
        let marker = marker();
        let scene = Scene::new(
            Kind::Chat,
            [
                call(&script.replace('M', &marker), false),
                Step::answer().text("Bye").stall(Place::Text(1)),
            ],
        );
        let running = started(&scene, &marker);
        running.wait_stdout("Bye");
        running.signal(signal);
        gone(name, &marker);
        running.wait();
    }
}

/// A command on a terminal of its own has one more way to linger.
#[test]
fn nothing_on_a_terminal_survives() {
    for signal in [Signal::Kill, Signal::Interrupt] {
        let marker = marker();
        let step = Step::answer().call("bash", json!({"command": format!("trap '' HUP INT; sleep {marker}"), "tty": true, "wait": false}));
        let scene = Scene::new(
            Kind::Chat,
            [step, Step::answer().text("Bye").stall(Place::Text(1))],
        );
        let running = started(&scene, &marker);
        running.wait_stdout("Bye");
        running.signal(signal);
        gone("terminal", &marker);
        running.wait();
    }
}

/// What a command leaves behind on purpose ends with the command that waits for nothing else.
#[test]
fn a_command_that_ended_leaves_nothing_behind_at_our_end() {
    let marker = marker();
    let scene = Scene::new(
        Kind::Chat,
        [
            call(
                &format!("(setsid nohup sleep {marker} </dev/null >/dev/null 2>&1 &) ; true"),
                true,
            ),
            Step::answer().text("Done."),
        ],
    );
    assert_eq!(scene.exec("go").ok().stdout, "Done.\n");
    gone("orphan", &marker);
}
