//! A place reached by an `exec` prefix: `bwrap` shows a project that is not on this machine under that path.

use super::{helper, is_there, meta_of, session_id, told};
use crate::common::Scene;
use ostler_testkit::{Kind, Output, Run, Step};
use serde_json::json;
use std::path::PathBuf;

/// Where the project and the home lie in the container, and nowhere here.
pub const ROOT: &str = "/mnt/project";
const HOME: &str = "/mnt/home";
/// Below that home, what checkpoints hold.
const STORE: &str = ".local/share/ostler/checkpoints";

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
        "--unsetenv",
        "XDG_DATA_HOME",
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
    // Only the helper and what checkpoints hold is there.
    let helpers = || -> Vec<PathBuf> {
        let files = crate::common::files(&place.home).into_iter();
        files
            .filter(|path| !path.starts_with(place.home.join(STORE)))
            .filter(|path| path.extension().is_none_or(|end| end != "sock"))
            .collect()
    };
    assert_eq!(helpers().len(), 1, "{:?}", helpers());
    assert!(helpers()[0].starts_with(place.home.join(".cache/ostler")));
    place
        .ostler(["host", "clean", "--host", "box"])
        .output()
        .ok();
    assert!(helpers().is_empty(), "{:?}", helpers());
    // What can be rewound to stays.
    assert!(!crate::common::files(&place.home.join(STORE)).is_empty());
    use std::os::unix::fs::PermissionsExt as _;
    let store = std::fs::metadata(place.home.join(STORE)).unwrap();
    assert_eq!(store.permissions().mode() & 0o777, 0o700);
}

#[test]
fn what_was_done_at_the_place_is_taken_back_there() {
    let change = "echo two > a; rm b; mkdir d; echo x > d/y";
    let Some(place) = container([
        Step::answer().call("bash", json!({"command": change})),
        Step::answer().text("Done."),
    ]) else {
        return;
    };
    for (name, text) in [("a", "one\n"), ("b", "bee\n")] {
        std::fs::write(place.project.join(name), text).unwrap();
    }
    let read = |name: &str| std::fs::read_to_string(place.project.join(name)).ok();
    let lines = "change things\n/diff\n/rewind 1 code\n";
    let out = place
        .ostler(["--plain", "--host", "box", "--install-helper", "--yolo"])
        .stdin(lines)
        .output()
        .ok();
    let said = format!("{}{}", out.stdout, out.stderr);
    assert!(said.contains("+two"), "{said}");
    assert!(said.contains("Files are as they were before"), "{said}");
    assert_eq!(read("a").as_deref(), Some("one\n"));
    assert_eq!(read("b").as_deref(), Some("bee\n"));
    assert_eq!(read("d/y"), None);
    // The command line knows them too, and undoes it.
    let list = place
        .ostler(["checkpoint", "list", "--host", "box"])
        .output()
        .ok();
    assert!(
        list.stdout.contains("after: change things"),
        "{}",
        list.stdout
    );
    let undo = ["checkpoint", "restore", "2", "--force", "--host", "box"];
    place.ostler(undo).output().ok();
    assert_eq!(read("a").as_deref(), Some("two\n"));
    assert_eq!(read("d/y").as_deref(), Some("x\n"));
    // What is known of each is here, its content only there.
    let here = place.scene.space.home().join("checkpoints");
    let here = crate::common::files(&here);
    assert!(here.len() >= 4, "{here:?}");
    assert!(
        here.iter()
            .all(|path| path.extension().is_some_and(|end| end == "json"))
    );
}

#[test]
fn a_command_reaches_the_hosts_that_were_granted_and_no_other() {
    let Some(place) = container([
        Step::answer().call("bash", json!({"command": "sh ask.sh"})),
        Step::answer().text("Done."),
    ]) else {
        return;
    };
    if !is_there("curl") {
        return;
    }
    let check = place
        .ostler(["host", "check", "--host", "box", "--install-helper"])
        .output()
        .ok();
    if !check.stdout.contains("namespaces") {
        crate::common::skipped("no namespaces can be made in the stand-in for a container");
        return;
    }
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        for stream in server.incoming() {
            let mut stream = stream.unwrap();
            let _head = stream.read(&mut [0; 4096]);
            let answer =
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 8\r\n\r\nreached\n";
            let _gone = stream.write_all(answer);
        }
    });
    // What is in a file the rules cannot see.
    let script = format!(
        "export no_proxy= NO_PROXY=\ncurl -s -m 20 http://127.0.0.1:{port}/\ncurl -s -m 20 http://127.0.0.1:{}/\n",
        port ^ 1
    );
    std::fs::write(place.project.join("ask.sh"), script).unwrap();
    let grant = format!("Net(127.0.0.1:{port})");
    let out = place
        .ostler([
            "exec",
            "--host",
            "box",
            "--install-helper",
            "--format",
            "json",
            "--allow",
            &grant,
            "--allow",
            "Bash(sh ask.sh)",
            "-p",
            "x",
        ])
        .output()
        .ok();
    let told = told(&out);
    assert!(told[0].contains("reached"), "{told:?} {}", out.stderr);
    assert!(
        told[0].contains("the sandbox does not let commands reach"),
        "{told:?}"
    );
}

#[test]
fn a_link_that_breaks_is_made_again_and_the_command_goes_on() {
    // It ends the processes that pass bytes on; the helper itself and what runs go on.
    let command = "echo once >> ran; for i in 1 2 3; do echo line $i; for p in /proc/[0-9]*; do case \"$(tr '\\0' ' ' < $p/cmdline 2>/dev/null)\" in */mnt/home/.cache/ostler/host-*' keep '*) ;; */mnt/home/.cache/ostler/host-*) kill -9 ${p#/proc/} 2>/dev/null;; esac; done; sleep 0.3; done; echo end";
    let Some(place) = container([
        Step::answer().call("bash", json!({"command": command})),
        Step::answer().text("Done."),
    ]) else {
        return;
    };
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
        .output()
        .ok();
    let told = told(&out);
    assert!(
        told[0].contains("line 1\\nline 2\\nline 3\\nend"),
        "{told:?} {}",
        out.stderr
    );
    assert!(
        out.stderr.contains("The connection to host box is lost"),
        "{}",
        out.stderr
    );
    assert!(
        out.stderr.contains("The connection to host box is back"),
        "{}",
        out.stderr
    );
    let ran = std::fs::read_to_string(place.project.join("ran")).unwrap();
    assert_eq!(ran, "once\n");
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
        ("/", "Name the folder to work in"),
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
