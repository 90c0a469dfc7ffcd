//! A place reached by an `exec` prefix: `bwrap` shows a project that is not on this machine under that path.

use super::{helper, is_there, meta_of, session_id, told};
use crate::common::Scene;
use ostler_testkit::{Kind, Output, Run, Step};
use serde_json::json;
use std::path::PathBuf;

/// Where the project and the home lie in the container, and nowhere here.
pub const ROOT: &str = "/mnt/project";
const HOME: &str = "/mnt/home";

pub struct Container {
    pub scene: Scene,
    /// What the container shows as its project and home.
    pub project: PathBuf,
    home: PathBuf,
}

/// None where it cannot be stood in for.
pub fn container(steps: impl IntoIterator<Item = Step>) -> Option<Container> {
    helper()?;
    if !is_there("bwrap") {
        return None;
    }
    let scene = Scene::new(Kind::Chat, steps);
    let top = scene.space.user_home().join("container");
    let (project, home) = (top.join("project"), top.join("home"));
    std::fs::create_dir_all(&project).unwrap();
    std::fs::create_dir_all(&home).unwrap();
    let text = std::fs::read_to_string(scene.space.home().join("config.toml")).unwrap();
    let words = [
        "bwrap",
        "--bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--tmpfs",
        "/mnt",
        "--bind",
        project.to_str().unwrap(),
        ROOT,
        "--bind",
        home.to_str().unwrap(),
        HOME,
        "--setenv",
        "HOME",
        HOME,
        "--unsetenv",
        "XDG_CACHE_HOME",
        "--chdir",
        ROOT,
        "--die-with-parent",
    ];
    let config = format!("{text}\n[host.box]\nexec = {words:?}\n");
    scene
        .space
        .write(scene.space.home().join("config.toml"), config);
    Some(Container {
        scene,
        project,
        home,
    })
}

impl Container {
    pub fn ostler<const N: usize>(&self, args: [&str; N]) -> Run {
        self.scene.ostler(args)
    }

    fn yolo(&self, prompt: &str) -> Output {
        self.ostler([
            "exec",
            "--host",
            "box",
            "--install-helper",
            "--yolo",
            "--format",
            "json",
            "-p",
            prompt,
        ])
        .output()
    }
}

#[test]
fn tools_work_at_the_place() {
    let Some(place) = container([
        Step::answer().call(
            "write_file",
            json!({"path": "src/a.txt", "content": "one\ntwo\n"}),
        ),
        Step::answer().call("read_file", json!({"path": "src/a.txt"})),
        Step::answer().call(
            "edit_file",
            json!({"path": "src/a.txt", "old": "two", "new": "three"}),
        ),
        Step::answer().call("grep", json!({"pattern": "thr.e"})),
        Step::answer().call("glob", json!({"pattern": "**/*.txt"})),
        Step::answer().call("ls", json!({"path": "."})),
        Step::answer().call(
            "bash",
            json!({"command": "pwd; echo $HOME; cat src/a.txt; echo made > by_command"}),
        ),
        Step::answer().text("Done."),
    ]) else {
        return;
    };
    std::fs::write(place.project.join("AGENTS.md"), "Speak like a container.").unwrap();
    let out = place.yolo("work").ok();
    let told = told(&out);
    let has = |at: usize, text: &str| {
        assert!(
            told[at].contains(text),
            "{at}: {text:?} in {:?}\n{}",
            told[at],
            out.stderr
        );
    };
    has(1, "two");
    has(3, "src/a.txt:2:three");
    has(4, "src/a.txt");
    has(5, "src/");
    has(6, ROOT);
    has(6, HOME);
    has(6, "three");
    let read = |name: &str| std::fs::read_to_string(place.project.join(name)).unwrap();
    assert_eq!(read("src/a.txt"), "one\nthree\n");
    assert_eq!(read("by_command"), "made\n");
    assert!(!std::path::Path::new(ROOT).exists());
    // The model knows where it is, and what the project says.
    let request = &place.scene.server.requests()[0];
    let system = request.body.to_string();
    assert!(system.contains("Speak like a container."), "{system}");
    assert!(
        system.contains(ROOT) && system.contains("(host box)"),
        "{system}"
    );
    // The session is here, and knows its place.
    let meta = meta_of(&place.scene);
    assert_eq!(
        (&meta["host"], &meta["root"]),
        (&json!("host box"), &json!(ROOT))
    );
    assert!(
        out.stderr.contains("no checkpoints are made"),
        "{}",
        out.stderr
    );
    // Only the helper is there, for its owner alone.
    let files = crate::common::files(&place.home);
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(
        files[0].starts_with(place.home.join(".cache/ostler")),
        "{files:?}"
    );
    place
        .ostler(["host", "clean", "--host", "box"])
        .output()
        .ok();
    assert!(crate::common::files(&place.home).is_empty());
}

#[test]
fn nothing_is_copied_without_a_yes() {
    let Some(place) = container([Step::answer().text("Done.")]) else {
        return;
    };
    let out = place
        .ostler(["exec", "--host", "box", "-p", "work"])
        .output();
    assert_eq!(out.code, Some(1), "{}", out.stderr);
    assert!(
        out.stderr.contains("add --install-helper"),
        "{}",
        out.stderr
    );
    assert!(crate::common::files(&place.home).is_empty());
    assert!(place.scene.server.requests().is_empty());
}

#[test]
fn a_session_resumes_at_its_place() {
    let Some(place) = container([
        Step::answer().text("First."),
        Step::answer().call("bash", json!({"command": "pwd"})),
        Step::answer().text("Second."),
    ]) else {
        return;
    };
    let first = place.yolo("one").ok();
    let id = session_id(&first);
    // No flag says where: the session knows.
    let out = place
        .ostler(["resume", &id, "--yolo", "--format", "json", "-p", "two"])
        .output()
        .ok();
    assert!(told(&out)[0].contains(ROOT), "{}", out.stdout);
    // Another place is none for it.
    let out = place
        .ostler(["resume", &id, "--ssh", "me@127.0.0.1:1", "-p", "three"])
        .output();
    assert_eq!(out.code, Some(1), "{}", out.stderr);
    assert!(out.stderr.contains("cannot be reached"), "{}", out.stderr);
}

#[test]
fn the_sandbox_holds_at_the_place() {
    let script =
        "echo 1 > in; echo 1 > $HOME/out; cat $HOME/.ssh/key; echo 1 > .git/hooks/pre-commit\n";
    let Some(place) = container([
        Step::answer().call("bash", json!({"command": "sh try.sh; true"})),
        Step::answer().call("read_file", json!({"path": "~/.ssh/key"})),
        Step::answer().text("Done."),
    ]) else {
        return;
    };
    std::fs::create_dir_all(place.project.join(".git/hooks")).unwrap();
    std::fs::create_dir(place.home.join(".ssh")).unwrap();
    std::fs::write(place.home.join(".ssh/key"), "SECRETKEY").unwrap();
    // What is in a file the rules cannot see.
    std::fs::write(place.project.join("try.sh"), script).unwrap();
    let check = place
        .ostler(["host", "check", "--host", "box", "--install-helper"])
        .output()
        .ok();
    if !check.stdout.contains("namespaces") {
        crate::common::skipped("no namespaces can be made in the stand-in for a container");
        return;
    }
    let out = place
        .ostler([
            "exec",
            "--host",
            "box",
            "--install-helper",
            "--format",
            "json",
            "-p",
            "x",
        ])
        .output()
        .ok();
    let told = told(&out);
    assert!(place.project.join("in").exists(), "{told:?} {}", out.stderr);
    assert!(!place.home.join("out").exists(), "{told:?}");
    assert!(
        !place.project.join(".git/hooks/pre-commit").exists(),
        "{told:?}"
    );
    assert!(!out.stdout.contains("SECRETKEY"), "{told:?}");
}

#[test]
fn a_place_that_is_none_is_said() {
    let Some(place) = container([Step::answer().text("Done.")]) else {
        return;
    };
    for (args, expect) in [
        (
            ["exec", "--host", "nobody", "-p", "x"],
            "There is no host nobody",
        ),
        (["exec", "--host", "", "-p", "x"], "is not a name for host"),
        (["exec", "--ssh", "-oProxyCommand=x", "-p", "x"], ""),
    ] {
        let out = place.ostler(args).output();
        assert_eq!(out.code, Some(2), "{args:?}: {}", out.stderr);
        assert!(out.stderr.contains(expect), "{args:?}: {}", out.stderr);
    }
    // A folder that is not there, and one that is too wide.
    for (root, expect) in [
        ("/mnt/none", "There is no folder /mnt/none"),
        ("/", "Say the folder to work in"),
    ] {
        let out = place
            .ostler([
                "exec",
                "--host",
                "box",
                "--install-helper",
                "--root",
                root,
                "-p",
                "x",
            ])
            .output();
        assert_eq!(out.code, Some(2), "{}", out.stderr);
        assert!(out.stderr.contains(expect), "{}", out.stderr);
    }
}

#[test]
fn a_link_that_is_cut_is_an_error_and_made_anew_by_the_next_call() {
    let Some(place) = container([
        Step::answer().call("bash", json!({"command": "kill -9 $(cat /proc/[0-9]*/stat | awk '$2 ~ /host-/ {print $1}') ; sleep 5"})),
        Step::answer().call("read_file", json!({"path": "a"})),
        Step::answer().text("Done."),
    ]) else {
        return;
    };
    std::fs::write(place.project.join("a"), "text of a").unwrap();
    let out = place
        .ostler([
            "exec",
            "--host",
            "box",
            "--install-helper",
            "--yolo",
            "--no-sandbox",
            "--format",
            "json",
            "-p",
            "x",
        ])
        .output();
    let told = told(&out);
    assert_eq!(told.len(), 2, "{} {}", out.stdout, out.stderr);
    // The command is not run again; what comes after it is done.
    assert!(!told[0].contains("\"exit_code\":0"), "{told:?}");
    assert!(told[1].contains("text of a"), "{told:?}");
    assert!(out.stdout.contains("Done."), "{}", out.stdout);
}
