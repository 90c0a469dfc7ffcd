//! Bad configuration, bad flags, bad disks, bad logs: one clear message, the right exit code, and a session that stays usable.

mod common;

use common::{Scene, each_kind, of_type, texts};
use ostler_testkit::{
    Kind, Output, Place, Server, Signal, Step, TempWorkspace, config_text, json_lines, only,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Runs a prompt with this configuration, which nobody may answer.
#[track_caller]
fn with_config(text: &str) -> (TempWorkspace, Output) {
    let space = TempWorkspace::new();
    space.write(space.home().join("config.toml"), text);
    let out = space
        .run(env!("CARGO_BIN_EXE_ostler"))
        .args(["exec", "-p", "hi"])
        .output();
    (space, out)
}

#[test]
fn a_broken_configuration_is_shown_at_its_place() {
    let cases = [
        ("[agent]\nmax_steps = = 3\n", ":2:13", "not valid TOML"),
        ("default_model = \"a\n", ":1:", "not valid TOML"),
        ("[agent]\nmax_steps = \"many\"\n", ":2:13", "whole number"),
        ("[[providers]]\nname = \"x\"\nkind = 7\n", ":3:8", "kind"),
        ("[permissions]\ndeny = [\"bash(rm\"]\n", ":2:", "bash(rm"),
    ];
    for (text, place, what) in cases {
        let (space, out) = with_config(text);
        let file = space.home().join("config.toml").display().to_string();
        let out = out.exits(1);
        assert!(
            out.stderr.contains(&format!("{file}{place}")),
            "{text:?}: {}",
            out.stderr
        );
        assert!(out.stderr.contains(what), "{text:?}: {}", out.stderr);
        assert_eq!(out.stdout, "");
    }
}

#[test]
fn a_file_that_is_no_text_is_refused() {
    let space = TempWorkspace::new();
    space.write(space.home().join("config.toml"), b"\xff\xfe\x00bad");
    let out = space
        .run(env!("CARGO_BIN_EXE_ostler"))
        .args(["exec", "-p", "hi"])
        .output()
        .exits(1);
    assert!(
        out.stderr.contains("config.toml:1:1") && out.stderr.contains("UTF-8"),
        "{}",
        out.stderr
    );
}

#[test]
fn a_misspelt_key_is_named_even_when_nothing_works_because_of_it() {
    let (_, out) = with_config("[[provider]]\nname = \"mock\"\n");
    let out = out.exits(1);
    assert!(
        out.stderr
            .contains("unknown key `provider`; did you mean `providers`?"),
        "{}",
        out.stderr
    );
    assert!(
        out.stderr.contains("no model is configured"),
        "{}",
        out.stderr
    );
}

#[test]
fn without_a_model_and_a_key_three_lines_say_what_to_do() {
    let space = TempWorkspace::new();
    for args in [&["exec", "-p", "hi"][..], &["-p", "hi"], &[]] {
        let out = space
            .run(env!("CARGO_BIN_EXE_ostler"))
            .args(args)
            .output()
            .exits(1);
        let lines: Vec<&str> = out.stderr.lines().collect();
        assert_eq!(lines.len(), 3, "{}", out.stderr);
        assert!(
            lines[0].starts_with("ostler: no model is configured and no provider key was found")
        );
        assert!(
            lines[1].contains("`ostler setup`") && lines[1].contains("_API_KEY"),
            "{}",
            lines[1]
        );
        assert!(lines[2].contains("`ostler demo`"), "{}", lines[2]);
        assert!(!space.home().exists(), "looking left nothing behind");
    }
}

#[test]
fn models_and_keys_that_do_not_exist() {
    let cases: [(&[&str], &[&str]); 4] = [
        (
            &["--model", "moc"],
            &[
                "there is no provider or model `moc`; did you mean `mock`?",
                "providers: mock,",
            ],
        ),
        (
            &["--model", "mok/mock-model"],
            &["did you mean `mock/mock-model`?"],
        ),
        (
            &["--provider", "mokc"],
            &["there is no provider or model `mokc`"],
        ),
        (&["--model", "mock-modell"], &["did you mean `mock-model`?"]),
    ];
    for (args, said) in cases {
        let scene = Scene::new(Kind::Chat, []);
        let out = scene
            .ostler(["exec", "-p", "hi"])
            .args(args)
            .output()
            .exits(1);
        for said in said {
            assert!(out.stderr.contains(said), "{args:?}: {}", out.stderr);
        }
        assert!(
            scene.logs().is_empty(),
            "no session of a prompt nobody could answer"
        );
    }
    let scene = Scene::new(Kind::Chat, []);
    let out = scene
        .ostler(["exec", "-p", "hi"])
        .without_env("MOCK_KEY")
        .output()
        .exits(1);
    for place in [
        "no key for `mock`",
        "MOCK_KEY",
        "OSTLER_API_KEY",
        ".env",
        "`ostler setup`",
    ] {
        assert!(out.stderr.contains(place), "{place}: {}", out.stderr);
    }
}

#[test]
fn faults_of_the_command_line_are_exit_code_2() {
    let cases: [(&[&str], &str); 12] = [
        (&["exec", "--frobnicate", "-p", "hi"], "--frobnicate"),
        (&["exce", "-p", "hi"], "a similar subcommand exists: 'exec'"),
        (&["exec", "-p", " \n "], "the prompt is empty"),
        (&["exec"], "the prompt on stdin is empty"),
        (&["exec", "-"], "the prompt on stdin is empty"),
        (&["exec", "-p", "a", "b"], "cannot be used with"),
        (&["exec", "--root", "nowhere", "-p", "hi"], "nowhere"),
        (
            &["exec", "--root", "file.txt", "-p", "hi"],
            "is not a folder",
        ),
        (&["exec", "--format", "yaml", "-p", "hi"], "yaml"),
        (
            &[
                "exec",
                "--format",
                "json",
                "--output-format",
                "json",
                "-p",
                "hi",
            ],
            "cannot be used with",
        ),
        (
            &["exec", "--output-schema", "file.txt", "-p", "hi"],
            "file.txt is not JSON",
        ),
        (
            &["exec", "--yolo", "--permission-mode", "ask", "-p", "hi"],
            "cannot be used with",
        ),
    ];
    for (args, said) in cases {
        let scene = Scene::new(Kind::Chat, []);
        scene.space.write("file.txt", "hello\n");
        let out = scene
            .space
            .run(env!("CARGO_BIN_EXE_ostler"))
            .args(args)
            .output()
            .exits(2);
        assert!(out.stderr.contains(said), "{args:?}: {}", out.stderr);
        assert_eq!(out.stdout, "", "{args:?}");
        assert!(scene.logs().is_empty(), "{args:?}");
    }
}

#[test]
fn sessions_that_do_not_exist() {
    let cases: [(&[&str], &str); 4] = [
        (
            &["exec", "--session", "0123abcd", "-p", "hi"],
            "There is no session 0123abcd",
        ),
        (
            &["exec", "--fork", "0123abcd", "-p", "hi"],
            "There is no session 0123abcd",
        ),
        (
            &["exec", "--session", "../../etc", "-p", "hi"],
            "is not a session id",
        ),
        (&["resume", "-p", "hi"], "This project has no session yet"),
    ];
    for (args, said) in cases {
        let scene = Scene::new(Kind::Chat, []);
        let out = scene
            .space
            .run(env!("CARGO_BIN_EXE_ostler"))
            .args(args)
            .output()
            .exits(1);
        assert!(out.stderr.contains(said), "{args:?}: {}", out.stderr);
    }
}

/// A session with a bit of everything in it.
fn recorded(kind: Kind) -> Scene {
    let scene = Scene::new(
        kind,
        [
            Step::answer()
                .reasoning("Hm.")
                .text("Both. ")
                .call("bash", json!({"command": "echo one"}))
                .call("read_file", json!({"path": "f.txt"})),
            Step::answer().text("Done."),
        ],
    );
    scene.space.write("f.txt", "content\n");
    scene.exec("Look at it").ok();
    scene
}

/// Resumes a session whose log was tampered with; the vendor checks what it is sent.
#[track_caller]
fn resumes(scene: &Scene, what: &str) -> Output {
    scene.server.push(Step::answer().text("Still here."));
    let out = scene.ostler(["resume", "-p", "Go on"]).output().ok();
    assert_eq!(out.stdout, "Still here.\n", "{what}");
    assert_eq!(scene.server.problems(), Vec::<String>::new(), "{what}");
    out
}

#[test]
fn any_line_of_a_log_may_be_garbage() {
    each_kind(|kind| {
        let scene = recorded(kind);
        let path = scene.log_path();
        let whole = scene.space.read(&path);
        let lines: Vec<&str> = whole.lines().collect();
        for (n, line) in lines.iter().enumerate() {
            let garbage = [
                "not json at all",
                "{\"type\":\"message\",\"entry\":",
                "\u{1}\u{2}\u{fffd}",
            ][n % 3];
            let mut text = lines.clone();
            text[n] = garbage;
            scene.space.write(&path, text.join("\n") + "\n");
            let out = resumes(&scene, line);
            assert!(
                out.stderr
                    .contains("1 unreadable line of this session log was left out."),
                "{}",
                out.stderr
            );
            let log = scene.space.read(&path);
            assert!(
                log.starts_with(&text.join("\n")),
                "the log is only ever appended to"
            );
        }
    });
}

#[test]
fn a_log_may_end_anywhere() {
    each_kind(|kind| {
        let scene = recorded(kind);
        let path = scene.log_path();
        let whole = scene.space.read(&path).into_bytes();
        // Once in the middle of every line; the crash suite of the engine takes every byte.
        let mut at = 0;
        let cuts = whole.split_inclusive(|b| *b == b'\n').map(|line| {
            at += line.len();
            at - line.len() / 2
        });
        for cut in cuts.collect::<Vec<_>>() {
            scene.space.write(&path, &whole[..cut]);
            let out = resumes(&scene, &format!("cut at {cut}"));
            assert!(
                out.stderr
                    .contains("The last entry of this session was cut off and is lost."),
                "{}",
                out.stderr
            );
        }
        // The lost entry stays lost, and says so again.
        let again = resumes(&scene, "once more");
        assert!(
            again.stderr.contains("1 unreadable line"),
            "{}",
            again.stderr
        );
    });
}

#[test]
fn nul_padding_and_blank_lines_are_no_loss() {
    let scene = recorded(Kind::Chat);
    let path = scene.log_path();
    let mut text = scene
        .space
        .read(&path)
        .replacen('\n', "\n\n\n", 1)
        .into_bytes();
    text.extend([0; 4096]);
    scene.space.write(&path, text);
    let out = resumes(&scene, "padding");
    assert!(
        !out.stderr.contains("unreadable") && !out.stderr.contains("lost"),
        "{}",
        out.stderr
    );
    let sent = scene.server.request(2);
    assert_eq!(sent.tool_results().len(), 2, "everything is still there");
}

#[test]
fn types_of_a_later_version_are_passed_over() {
    each_kind(|kind| {
        let scene = recorded(kind);
        let path = scene.log_path();
        let mut text = scene.space.read(&path);
        let last = text.lines().count();
        text.push_str(&format!(
            "{{\"type\":\"hologram\",\"entry\":{last},\"parent\":{},\"ts\":\"2030-01-01T00:00:00.000Z\",\"x\":1}}\n",
            last - 1
        ));
        scene.space.write(&path, text);
        let out = resumes(&scene, "hologram");
        assert!(!out.stderr.contains("unreadable"), "{}", out.stderr);
        let (before, after) = (
            scene.server.request(1).prompt_bytes(),
            scene.server.request(2).prompt_bytes(),
        );
        assert_eq!(common::shared(&before, &after), before.len());
    });
}

#[test]
fn a_session_whose_process_does_not_answer_offers_a_fork() {
    let scene = Scene::new(
        Kind::Chat,
        [Step::answer().text("Working on it").stall(Place::Text(2))],
    );
    let first = scene.ostler(["exec", "-p", "Work"]).spawn();
    first.wait_stdout("Working on ");
    let id = scene.session_id();
    first.signal(Signal::Stop);
    let out = scene.ostler(["resume", "-p", "Me too"]).output().exits(1);
    assert!(out.stderr.contains("does not answer"), "{}", out.stderr);
    assert!(
        out.stderr.contains(&format!("--fork {id}")),
        "{}",
        out.stderr
    );

    scene.server.push(Step::answer().text("From the copy."));
    let out = scene
        .ostler(["exec", "--fork", &id, "-p", "Me too"])
        .output()
        .ok();
    assert_eq!(out.stdout, "From the copy.\n");
    assert_eq!(scene.logs().len(), 2);
    first.signal(Signal::Continue);
    first.signal(Signal::Interrupt);
    first.wait().exits(130);
}

/// What a prompt in a home that cannot be written says.
#[track_caller]
fn unwritable(home: &Path, server: &Server) {
    let space = TempWorkspace::new();
    let config = space.write("config.toml", config_text(server, Kind::Chat));
    let run = |more: &[&str]| {
        let run = space
            .run(env!("CARGO_BIN_EXE_ostler"))
            .env("OSTLER_HOME", home);
        run.args(["exec", "-p", "hi", "--config"])
            .arg(&config)
            .args(more)
            .output()
    };
    let out = run(&[]).exits(1);
    let errors: Vec<&str> = out
        .stderr
        .lines()
        .filter(|l| l.starts_with("Error: "))
        .collect();
    assert_eq!(errors.len(), 1, "{}", out.stderr);
    for said in [
        "The session log",
        "cannot be created",
        "OSTLER_HOME",
        "--no-save",
    ] {
        assert!(errors[0].contains(said), "{said}: {}", errors[0]);
    }
    assert!(
        !out.stderr.contains("ostler resume"),
        "there is nothing to resume: {}",
        out.stderr
    );
    assert!(
        server.requests().is_empty(),
        "nothing was asked that could not be kept"
    );
    server.push(Step::answer().text("Unsaved."));
    assert_eq!(run(&["--no-save"]).ok().stdout, "Unsaved.\n");
}

#[test]
fn a_home_that_is_no_folder() {
    let space = TempWorkspace::new();
    let file = space.write("file", "x");
    unwritable(&file.join("home"), &Server::start([]));
    unwritable(&file, &Server::start([]));
}

#[cfg(unix)]
#[test]
fn a_home_without_permission() {
    use std::os::unix::fs::PermissionsExt;
    let space = TempWorkspace::new();
    let home = space.root().join("locked");
    std::fs::create_dir(&home).expect("a folder");
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o555)).expect("its mode");
    if std::fs::write(home.join("probe"), "").is_ok() {
        common::skipped("this user may write anywhere, a mode stops nobody");
        return;
    }
    unwritable(&home, &Server::start([]));
}

/// A file system of its own, for as long as the test needs it.
#[cfg(target_os = "linux")]
struct Disk(PathBuf);

#[cfg(target_os = "linux")]
impl Disk {
    fn mount(space: &TempWorkspace, size: &str) -> Option<Disk> {
        let at = space.user_home().join("disk");
        std::fs::create_dir_all(&at).expect("a folder");
        let size = format!("size={size}");
        let run = space
            .run("mount")
            .args(["-t", "tmpfs", "-o", &size, "ostler-test"])
            .arg(&at);
        let out = run.output();
        if out.code == Some(0) {
            return Some(Disk(at));
        }
        let why = out.stderr.trim();
        common::skipped(&format!("no small disk can be mounted here ({why})"));
        None
    }
}

#[cfg(target_os = "linux")]
impl Drop for Disk {
    fn drop(&mut self) {
        let done = std::process::Command::new("umount")
            .arg("-l")
            .arg(&self.0)
            .status();
        assert!(
            done.is_ok_and(|s| s.success()),
            "{} stays mounted",
            self.0.display()
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_one_entry_and_not_the_session() {
    let big = "x".repeat(30_000);
    let scene = Scene::new(
        Kind::Chat,
        [
            Step::answer().text("First."),
            Step::answer().call("bash", json!({"command": format!("echo {big}")})),
        ],
    );
    let Some(disk) = Disk::mount(&scene.space, "128k") else {
        return;
    };
    let config = scene.space.home().join("config.toml");
    let run = |args: &[&str]| {
        let run = scene
            .space
            .run(env!("CARGO_BIN_EXE_ostler"))
            .env("OSTLER_HOME", &disk.0);
        run.args(args).arg("--config").arg(&config).output()
    };
    run(&["exec", "-p", "One"]).ok();
    // Room for the prompt, not for the call and its result.
    let filler = disk.0.join("filler");
    let mut size = 1 << 20;
    while std::fs::write(&filler, vec![0; size]).is_err() {
        size -= 4096;
    }
    std::fs::write(&filler, vec![0; size - 8192]).expect("room");
    let out = run(&["resume", "-p", "Two"]).exits(1);
    let error = out
        .stderr
        .lines()
        .find(|l| l.starts_with("Error: "))
        .unwrap_or_default();
    for said in [
        "The session log",
        "cannot be written",
        "No space left",
        "Free some space",
        "--no-save",
    ] {
        assert!(error.contains(said), "{said}: {}", out.stderr);
    }

    scene.server.push(Step::answer().text("Unsaved."));
    assert_eq!(
        run(&["exec", "-p", "Three", "--no-save"]).ok().stdout,
        "Unsaved.\n"
    );

    std::fs::remove_file(&filler).expect("the filler");
    scene.server.push(Step::answer().text("Room again."));
    let out = run(&["resume", "-p", "Four"]).ok();
    assert_eq!(out.stdout, "Room again.\n");
    let sent = scene.server.requests().pop().expect("a request");
    let raw = String::from_utf8_lossy(&sent.raw).into_owned();
    for said in ["One", "First.", "Two", "Four"] {
        assert!(raw.contains(said), "{said} is lost: {raw}");
    }
    scene.server.assert_done();
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_is_told() {
    let scene = Scene::new(
        Kind::Chat,
        [
            Step::answer().text("Some words."),
            Step::answer().text("More."),
        ],
    );
    let script = format!("{} exec -p go > /dev/full", env!("CARGO_BIN_EXE_ostler"));
    let out = scene
        .space
        .run("sh")
        .args(["-c", &script])
        .output()
        .exits(1);
    assert!(
        out.stderr
            .contains("stdout cannot be written: No space left"),
        "{}",
        out.stderr
    );
    assert_eq!(
        scene.ostler(["resume", "-p", "again"]).output().ok().stdout,
        "More.\n"
    );
}

#[cfg(unix)]
#[test]
fn arguments_and_homes_that_make_no_sense() {
    use std::os::unix::ffi::OsStrExt;
    let scene = Scene::new(Kind::Chat, []);
    let bytes = std::ffi::OsStr::from_bytes(b"a\xffb");
    let out = scene.ostler(["exec", "-p"]).arg(bytes).output().exits(2);
    assert!(out.stderr.contains("UTF-8"), "{}", out.stderr);
    // The account has a home, whatever the environment says.
    let homeless = scene
        .ostler(["config", "path"])
        .without_env("HOME")
        .without_env("OSTLER_HOME");
    let out = homeless.output().ok();
    assert!(
        out.stdout.contains("/.ostler/config.toml"),
        "{}",
        out.stdout
    );
}

#[test]
fn lines_that_are_no_ops_are_told_and_passed_over() {
    let scene = Scene::new(Kind::Chat, [Step::answer().text("Fine.")]);
    let input = "nonsense\n{\"op\":\"dance\"}\n{\"op\":\"prompt\"}\n[]\n\n\
                 {\"op\":\"answer\",\"ask\":\"a9\",\"choice\":\"once\"}\n\
                 {\"op\":\"prompt\",\"text\":\"hello\"}\n{\"op\":\"prompt\",\"text\":7}\n";
    let out = scene
        .ostler(["exec", "--input-format", "stream-json"])
        .stdin(input)
        .output()
        .ok();
    assert_eq!(
        out.stderr.matches("stdin: this line is not an op").count(),
        5,
        "{}",
        out.stderr
    );
    let lines = json_lines(&out.stdout);
    assert_eq!(only(&lines, "result")["result"], "Fine.");
    assert_eq!(texts(&lines), ["hello", "Fine."]);
}

#[test]
fn a_missing_prefix_is_replaced_with_a_notice() {
    each_kind(|kind| {
        let scene = recorded(kind);
        std::fs::remove_dir_all(scene.space.home().join("prefixes")).expect("the stored prefixes");
        let out = resumes(&scene, "no prefix");
        assert!(
            out.stderr
                .contains("The stored system prompt of this session is missing"),
            "{}",
            out.stderr
        );
    });
}

#[test]
fn a_model_that_the_configuration_lost_does_not_lock_the_session_up() {
    let scene = recorded(Kind::Messages);
    let text = config_text(&scene.server, Kind::Messages);
    let text = text
        .replace("mock-model", "new-model")
        .replace("\"mock", "\"renamed");
    scene
        .space
        .write(scene.space.home().join("config.toml"), text);
    resumes(&scene, "another model");
    assert_eq!(scene.server.request(2).model(), "new-model");
    let log = scene.log();
    let usage: Vec<&Value> = of_type(&log, "usage");
    assert_eq!(
        usage.last().map(|u| &u["break"]["cause"]),
        Some(&json!("model"))
    );
}
