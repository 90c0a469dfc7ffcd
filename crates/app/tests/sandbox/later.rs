//! What the person runs later, in this folder or in another: two sessions in one folder, a session that was killed, a
//! repository that file tools build, folders that are too deep to be looked at, and programs that we run ourselves.

use super::traces::{bash, config, layers};
use crate::common::{Scene, of_type, skipped, wait_for};
use ostler_testkit::{Kind, Run, Step};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// What a hostile command leaves: files, links, settings of the repository and one of its own.
pub(super) const HOSTILE: &str = "echo '# evil' > ostler.toml; ln -s ../evil .vscode; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; printf '[core]\\n\\tfsmonitor = evil\\n' >> .git/config; git init -q n; git -C n config core.fsmonitor evil; echo evil > .envrc; mkdir -p .cursor; echo evil > .cursor/mcp.json";

pub(super) fn check_clean(scene: &Scene, before: &str, about: &str) {
    for name in [
        "ostler.toml",
        ".git/hooks/pre-commit",
        ".envrc",
        ".cursor/mcp.json",
    ] {
        assert!(!scene.space.exists(name), "{about}: {name}");
    }
    let link = scene.space.root().join(".vscode");
    assert!(!link.is_symlink(), "{about}");
    assert_eq!(scene.space.read(".git/config"), before, "{about}");
    if scene.space.exists("n/.git/config") {
        let nested = scene.space.read("n/.git/config");
        assert!(!nested.contains("evil"), "{about}: {nested}");
    }
}

pub(super) fn repository(layer: &str) -> (Scene, String) {
    let scene = Scene::with_config(Kind::Chat, &config(layer), []);
    scene.space.write("README", "hello");
    scene.space.git_init();
    let before = scene.space.read(".git/config");
    (scene, before)
}

/// The second session begins while a command of the first one has changed everything, and ends after it.
#[test]
fn two_sessions_in_one_folder_have_one_state_before() {
    for layer in layers() {
        let (scene, before) = repository(layer);
        let there = |name: &str| scene.space.exists(name).then_some(());
        let wait = |name: &str| format!("while ! test -e {name}; do sleep 0.01; done");
        let first = format!("{HOSTILE}; : > first; {}", wait("second"));
        let second = format!(": > second; {}", wait("over"));
        let (tool, args) = bash(&first);
        scene.server.push(Step::answer().call(tool, args));
        let a = scene.ostler(["exec", "--yolo", "-p", "a"]).spawn();
        wait_for("the first command", || there("first"));
        let (tool, args) = bash(&second);
        scene.server.push(Step::answer().call(tool, args));
        scene.server.push(Step::answer().text("first is over"));
        // On one layer it has another home.
        let mut b = scene.ostler(["exec", "--yolo", "-p", "b"]);
        if layer == "landlock" {
            let other = scene.space.user_home().join("other");
            std::fs::create_dir(&other).expect("a home");
            let own = scene.space.home().join("config.toml");
            std::fs::copy(own, other.join("config.toml")).expect("settings");
            b = b.env("OSTLER_HOME", other);
        }
        let b = b.spawn();
        a.wait().ok();
        scene.server.push(Step::answer().text("second is over"));
        scene.space.write("over", "");
        b.wait().ok();
        check_clean(&scene, &before, layer);
        // Nobody runs: nothing is written down any more, and what the person does is theirs.
        let records = scene.space.home().join("running");
        let left = std::fs::read_dir(records).into_iter().flatten().flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["lock"], "{layer}");
        scene.space.write("ostler.toml", "# mine\n");
        let (tool, args) = bash("true");
        scene.server.push(Step::answer().call(tool, args));
        scene.server.push(Step::answer().text("ok"));
        scene.ostler(["exec", "--yolo", "-p", "c"]).output().ok();
        assert_eq!(scene.space.read("ostler.toml"), "# mine\n", "{layer}");
    }
}

/// Settings, servers and roles that a running command has written are not what a second session obeys, nor what a person
/// trusts; rules that it has taken out hold on.
#[test]
fn a_second_session_reads_the_project_as_it_was_before_a_running_command() {
    for layer in layers() {
        let (scene, _) = repository(layer);
        // Where files can be held, only one that is new can be written.
        let had_rules = layer == "landlock";
        if had_rules {
            scene
                .space
                .write("ostler.toml", "[permissions]\ndeny = [\"Bash(id:*)\"]\n");
        }
        let command = "printf '[sandbox]\\nbash = \"off\"\\n' > ostler.toml; mkdir -p .claude/agents; echo '{\"mcpServers\":{\"x\":{\"command\":\"evil\"}}}' > .mcp.json; printf -- '---\\nname: evil\\n---\\nevil' > .claude/agents/evil.md; : > first; while ! test -e over; do sleep 0.01; done";
        let (tool, args) = bash(command);
        scene.server.push(Step::answer().call(tool, args));
        let a = scene.ostler(["exec", "--yolo", "-p", "a"]).spawn();
        let there = || scene.space.exists("first").then_some(());
        wait_for("the first command", there);
        assert!(scene.space.read("ostler.toml").contains("off"), "{layer}");
        let told = |args: &[&str]| {
            let out = scene.ostler([]).args(args).output();
            format!("{}{}", out.stdout, out.stderr)
        };
        let bash = told(&["config", "get", "sandbox.bash", "--trust-workspace"]);
        assert!(!bash.contains("off"), "{layer}: {bash}");
        let trusted = told(&["trust", "--yes"]);
        for evil in ["off", "evil"] {
            assert!(!trusted.contains(evil), "{layer}: {trusted}");
        }
        let id = told(&["permissions", "check", "bash", "id", "--format", "json"]);
        assert_eq!(id.contains("\"deny\""), had_rules, "{layer}: {id}");
        scene.server.push(Step::answer().text("ok"));
        scene.space.write("over", "");
        a.wait().ok();
    }
}

/// All names by which something runs that the person did not start stay as they were; what they start themselves is code of
/// the project.
#[test]
fn nothing_stays_by_which_something_runs_unasked() {
    let names = include_str!("../../../guard/src/protected.txt").lines();
    let names: Vec<&str> = names
        .map(str::trim)
        .filter(|name| !name.is_empty() && !name.starts_with(['#', '*']) && !name.contains('*'))
        .filter(|name| *name != ".git")
        .collect();
    assert!(names.contains(&"mise.toml") && names.contains(&"_darcs/prefs"));
    let theirs = [
        "Makefile",
        ".husky/pre-commit",
        ".pre-commit-config.yaml",
        "lefthook.yml",
    ];
    for layer in layers() {
        let (scene, _) = repository(layer);
        let there: Vec<&str> = names
            .iter()
            .filter(|name| scene.space.exists(name))
            .copied()
            .collect();
        let write: String = (names.iter().filter(|name| !there.contains(name)))
            .chain(&theirs)
            .map(|name| format!("mkdir -p \"$(dirname {name})\"; echo evil > {name}; "))
            .collect();
        let (tool, args) = bash(&format!("{write} true"));
        scene.server.push(Step::answer().call(tool, args));
        scene.server.push(Step::answer().text("ok"));
        scene.ostler(["exec", "--yolo", "-p", "a"]).output().ok();
        for name in &names {
            let is_evil = scene.space.exists(name) && !there.contains(name);
            assert!(!is_evil, "{layer}: {name}");
        }
        for name in theirs {
            assert!(scene.space.exists(name), "{layer}: {name}");
        }
    }
}

/// The next session puts back what the one that was killed could not, before any command of its own.
#[test]
fn a_killed_session_is_put_back_by_the_next() {
    for layer in layers() {
        let (scene, before) = repository(layer);
        let (tool, args) = bash(&format!(
            "{HOSTILE}; echo evil > ostler.toml; : > done; sleep 600"
        ));
        scene.server.push(Step::answer().call(tool, args));
        let running = scene.ostler(["exec", "--yolo", "-p", "a"]).spawn();
        wait_for("the command", || scene.space.exists("done").then_some(()));
        let pid = running.pid().to_string();
        Run::new("/bin/kill").args(["-KILL", &pid]).output().ok();
        running.wait();
        scene.server.push(Step::answer().text("ok"));
        let out = scene.ostler(["exec", "-p", "b"]).output().ok();
        check_clean(&scene, &before, layer);
        assert!(
            out.stderr.contains("ostler.toml"),
            "{layer}: {}",
            out.stderr
        );
        let left = std::fs::read_dir(scene.space.home().join("running"));
        let left = left.into_iter().flatten().flatten();
        let names = left.map(|entry| entry.file_name().into_string().expect("a name"));
        let records: Vec<String> = names.filter(|name| name.ends_with(".state")).collect();
        assert_eq!(records, [] as [&str; 0], "{layer}: {}", out.stderr);
    }
}

/// A session that was there before another one was killed puts back at its end, although its own commands only read.
#[test]
fn a_session_that_only_reads_puts_back_what_a_killed_one_left() {
    for layer in layers() {
        let (scene, before) = repository(layer);
        let mut b = scene
            .ostler(["exec", "--input-format", "stream-json", "--format", "json"])
            .open_stdin()
            .spawn();
        let prompt = json!({"op": "prompt", "text": "look"}).to_string() + "\n";
        let (tool, args) = bash("cat README");
        scene.server.push(Step::answer().call(tool, args));
        scene.server.push(Step::answer().text("looked"));
        b.write(&prompt);
        b.wait_stdout("turn_end");
        let (tool, args) = bash(&format!(
            "{HOSTILE}; echo evil > ostler.toml; : > done; sleep 600"
        ));
        scene.server.push(Step::answer().call(tool, args));
        let a = scene.ostler(["exec", "--yolo", "-p", "a"]).spawn();
        wait_for("the command", || scene.space.exists("done").then_some(()));
        let pid = a.pid().to_string();
        Run::new("/bin/kill").args(["-KILL", &pid]).output().ok();
        a.wait();
        let (tool, args) = bash("cat README");
        scene.server.push(Step::answer().call(tool, args));
        scene.server.push(Step::answer().text("looked again"));
        b.write(&prompt);
        b.wait_stdout("looked again");
        let out = b.wait().ok();
        check_clean(&scene, &before, layer);
        assert!(
            out.stdout.contains("ostler.toml"),
            "{layer}: {}",
            out.stdout
        );
    }
}

/// A rule for everybody is not lost without a word where a job rewrites that file: its end would put back what was there.
#[test]
fn a_rule_for_everybody_is_saved_or_said_while_a_job_runs() {
    for layer in layers() {
        let (scene, _) = repository(layer);
        let mut running = scene
            .ostler(["exec", "--input-format", "stream-json", "--format", "json"])
            .open_stdin()
            .spawn();
        let job = "while :; do echo '# mine' > ostler.toml; : > ran; sleep 0.05; done";
        scene
            .server
            .push(Step::answer().call("bash", json!({"command": job, "wait": false})));
        scene
            .server
            .push(Step::answer().call("bash", json!({"command": "echo 1 >> f"})));
        scene.server.push(Step::answer().text("ok"));
        running.write(&(json!({"op": "prompt", "text": "go"}).to_string() + "\n"));
        let last_ask = |text: &str| {
            let asks = ostler_testkit::json_lines(text);
            let ask = of_type(&asks, "ask").last().expect("an ask")["ask"].clone();
            ask.as_str().expect("a name").to_owned()
        };
        let asked = [
            ("\"type\":\"ask\"", "once"),
            ("always_project", "always_project"),
        ];
        for (asked, choice) in asked {
            let ask = last_ask(&running.wait_stdout(asked));
            if choice == "always_project" {
                wait_for("the job", || scene.space.exists("ran").then_some(()));
            }
            let answer = json!({"op": "answer", "ask": ask, "choice": choice});
            running.write(&(answer.to_string() + "\n"));
        }
        running.wait_stdout("turn_end");
        let out = running.wait();
        let saved = scene.space.exists("ostler.toml")
            && scene.space.read("ostler.toml").contains("echo 1 >> f");
        let said = out.stdout.contains("not saved") || out.stdout.contains("Not saved");
        assert!(saved || said, "{layer}: {}", out.stdout);
        assert_eq!(scene.space.read("f"), "1\n", "{layer}");
    }
}

/// A folder with `HEAD`, `objects` and `refs` is a repository for git, whatever it is called.
#[test]
fn file_tools_build_no_repository() {
    let (scene, _) = repository("namespaces");
    let settings =
        "[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = touch ../escaped; false\n";
    let write = |path: &str, content: &str| {
        Step::answer().call("write_file", json!({"path": path, "content": content}))
    };
    let steps = [
        write("docs/config", settings),
        write("docs/objects/keep", ""),
        write("docs/refs/keep", ""),
        write("docs/HEAD", "ref: refs/heads/main\n"),
        // A folder that a command made into one.
        Step::answer().call("bash", json!({"command": "git init -q --bare made"})),
        write("made/config", settings),
        write("made/hooks/post-checkout", "#!/bin/sh\n"),
        Step::answer().text("ok"),
    ];
    steps.into_iter().for_each(|step| scene.server.push(step));
    scene.ostler(["exec", "-p", "go"]).output();
    let told = scene.server.request(7).tool_results();
    for name in ["docs/HEAD", "made/hooks/post-checkout"] {
        assert!(!scene.space.exists(name), "{name}: {told:#?}");
    }
    let made = scene.space.read("made/config");
    assert!(!made.contains("fsmonitor"), "{made} {told:#?}");
    for folder in ["docs", "made"] {
        let status = std::process::Command::new("git")
            .arg("status")
            .current_dir(scene.space.root().join(folder))
            .output();
        assert!(status.is_ok());
        for place in [scene.space.root(), &scene.space.root().join(folder)] {
            assert!(!place.join("escaped").exists(), "{told:#?}");
        }
        let above = scene.space.root().parent().expect("a folder");
        assert!(!above.join("escaped").exists(), "{told:#?}");
    }
}

/// Folders that are too deep hide nothing above them, stop nothing, and are named.
#[test]
fn deep_folders_hide_nothing() {
    for layer in layers() {
        let (scene, before) = repository(layer);
        let deep =
            "python3 -c \"import os\nfor i in range(600):\n    os.mkdir('d'); os.chdir('d')\"";
        let deeper = "python3 -c \"import os\nfor i in range(200):\n    os.mkdir('e' * 40); os.chdir('e' * 40)\"";
        let (tool, args) = bash(&format!("{HOSTILE}; {deep}; {deeper}"));
        scene.server.push(Step::answer().call(tool, args));
        scene.server.push(Step::answer().text("ok"));
        let out = scene
            .ostler(["exec", "--yolo", "--no-save", "-p", "a"])
            .output()
            .ok();
        check_clean(&scene, &before, &format!("{layer}: {}", out.stderr));
        // Removed here, because nothing else gets so deep.
        let removed = Run::new("/bin/rm")
            .args(["-rf", "d"])
            .cwd(scene.space.root());
        removed.output().ok();
        let name = "e".repeat(40);
        let removed = Run::new("/bin/rm")
            .args(["-rf", &name])
            .cwd(scene.space.root());
        removed.output().ok();
    }
}

fn put_program(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a program");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).expect("a mode");
}

/// With a virtual environment of the project on `PATH`, none of our own helpers comes from there.
#[test]
fn programs_of_the_project_are_not_our_helpers() {
    let scene = Scene::with_config(Kind::Chat, "[sandbox]\nlayer = 'bubblewrap'\n", []);
    let bin = scene.space.root().join(".venv/bin");
    let mark = scene.space.user_home().join("escaped");
    for name in ["bwrap", "vi", "xdg-open", "ed"] {
        let text = format!("#!/bin/sh\necho {name} >> {}\n", mark.display());
        put_program(&bin.join(name), &text);
    }
    let usual = std::env::var("PATH").expect("a path");
    for path in [bin.display().to_string(), ".venv/bin".into()] {
        let path = format!("{path}:{usual}");
        scene.ostler(["doctor"]).env("PATH", &path).output();
        let (tool, args) = bash("true");
        scene.server.push(Step::answer().call(tool, args));
        scene.server.push(Step::answer().text("ok"));
        scene
            .ostler(["exec", "-p", "go"])
            .env("PATH", &path)
            .output();
        let note = scene.space.home().join("memory");
        assert!(!mark.exists(), "{path} {}", note.display());
    }
}

/// A bare name is not the reader of that name if `PATH` finds it in the project.
#[test]
fn without_a_sandbox_a_reader_is_the_system_s() {
    let scene = Scene::with_config(Kind::Chat, "", []);
    put_program(&scene.space.root().join("bin/ls"), "#!/bin/sh\n");
    let usual = std::env::var("PATH").expect("a path");
    let absolute = scene.space.root().join("bin").display().to_string();
    let judged = |path: &str| {
        let call = json!({"command": "ls -la"}).to_string();
        let check = scene.ostler(["--no-sandbox", "permissions", "check", "bash", &call]);
        check.env("PATH", path).output().stdout
    };
    for path in [absolute.as_str(), "bin", "./bin"] {
        let said = judged(&format!("{path}:{usual}"));
        assert!(said.starts_with("ask"), "{path}: {said}");
    }
    // Without it, and where it comes too late, it is looked at unasked.
    for path in [usual.clone(), format!("{usual}:{absolute}")] {
        assert!(judged(&path).starts_with("allow"), "{path}");
    }
}

/// Servers in files of the project become the person's own only by their yes, or if the file is named.
#[test]
fn servers_of_a_project_are_not_imported_unasked() {
    if layers().is_empty() {
        return skipped("it is about what commands leave");
    }
    let scene = Scene::with_config(Kind::Chat, "", []);
    let servers = |command: &str| {
        json!({"mcpServers": {"docs": {"command": command, "args": ["-x"], "env": {"T": "${TOKEN}"}}}})
            .to_string()
    };
    for name in [".cursor/mcp.json", ".vscode/mcp.json"] {
        scene.space.write(name, servers("/evil"));
    }
    let kept = || std::fs::read_to_string(scene.space.home().join("mcp.json")).unwrap_or_default();
    let out = scene.ostler(["mcp", "import"]).output();
    assert!(!kept().contains("/evil"), "{}", kept());
    assert!(out.stderr.contains(".cursor/mcp.json"), "{}", out.stderr);
    let mut term = scene.ostler(["mcp", "import"]).on_terminal(100, 40);
    let shown = term.wait_for("Import it?");
    for part in ["/evil", "-x", "${TOKEN}", ".cursor/mcp.json"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    term.keys("n\r");
    term.wait_until("the second question", |screen| {
        screen.matches("Import it?").count() == 2
    });
    term.keys("\r");
    term.wait();
    assert!(!kept().contains("/evil"), "{}", kept());
    let out = scene.ostler(["mcp", "import", ".cursor/mcp.json"]).output();
    out.ok();
    assert!(kept().contains("/evil"), "{}", kept());
}
