//! What file tools may read and change, through whole sessions: outside of the project, behind links, protected paths.

use crate::common::{Bench, Session, Shown};
use ostler_engine::HubSettings;
use ostler_guard::{Containment, Headless, Mode, Posture, Rule};
use ostler_testkit::{Kind, Step};
use ostler_wire::{Body, Op, Open};
use serde_json::{Value, json};

fn call(name: &str, args: Value) -> Step {
    Step::answer().calls([(name, args)])
}

fn done() -> Step {
    Step::answer().text("done")
}

fn rule(text: &str) -> Rule {
    Rule::parse(text, "test:1").unwrap()
}

/// A bench whose person has a file outside, and keys that nobody reads.
fn bench(steps: impl IntoIterator<Item = Step>) -> Bench {
    let bench = Bench::new(Kind::Chat, steps);
    let home = bench.space.user_home();
    for (name, text) in [
        ("notes/a.txt", "OUTSIDE"),
        ("notes/b.txt", "OTHER"),
        (".ssh/id", "KEY"),
    ] {
        let path = home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    bench.space.write("in.txt", "INSIDE");
    bench
}

async fn open(bench: &Bench, change: impl Fn(&mut HubSettings)) -> Session {
    let home = bench.space.user_home().canonicalize().unwrap();
    std::fs::create_dir_all(bench.space.home()).unwrap();
    let own = bench.space.home().canonicalize().unwrap();
    let opened = bench.open_with(Open::New, |options| {
        options.run.interactive = true;
        options.permissions.policy.headless = Headless::Deny;
        options.permissions.policy.containment = Containment::Sandbox;
        options.permissions.policy.folders.forbidden = vec![home.join(".ssh")];
        options.permissions.policy.folders.outside = vec![own.clone()];
        options.permissions.policy.folders.protected = vec![own.clone()];
        change(options);
    });
    opened.await
}

/// Whether the model got to see the text in a result.
fn shows(shown: &Shown, text: &str) -> bool {
    shown.results().iter().any(|r| r.to_string().contains(text))
}

fn readers(path: &str) -> [(&'static str, Value); 2] {
    [
        ("read_file", json!({"path": path})),
        ("grep", json!({"pattern": ".", "path": path})),
    ]
}

#[tokio::test]
async fn reading_outside_is_asked_in_every_posture_but_yolo() {
    for (tool, args) in readers("~/notes/a.txt") {
        for posture in [Posture::Ask, Posture::Auto] {
            for (answer, seen) in [("once", true), ("deny", false)] {
                let bench = bench([call(tool, args.clone()), done()]);
                let change =
                    |options: &mut HubSettings| options.permissions.policy.posture = posture;
                let mut session = open(&bench, change).await;
                let shown = session.answered(&[(answer, None)]).await;
                assert_eq!(
                    shows(&shown, "OUTSIDE"),
                    seen,
                    "{tool} {posture:?} {answer}"
                );
                session.close().await;
            }
        }
        let bench = bench([call(tool, args.clone()), done()]);
        let mut session = open(&bench, |options| {
            options.permissions.mode = Some(Mode::Plan)
        })
        .await;
        assert!(shows(&session.answered(&[("once", None)]).await, "OUTSIDE"));
        session.close().await;
        let yolo = |options: &mut HubSettings| options.permissions.policy.posture = Posture::Yolo;
        let bench = self::bench([call(tool, args), done()]);
        let mut session = open(&bench, yolo).await;
        assert!(shows(&session.answered(&[]).await, "OUTSIDE"));
        session.close().await;
    }
}

#[tokio::test]
async fn names_outside_are_asked_for_too() {
    for (tool, args) in [
        ("ls", json!({"path": "~/notes"})),
        ("glob", json!({"pattern": "~/notes/*"})),
        ("glob", json!({"pattern": "*.txt", "path": "~/notes"})),
    ] {
        for (answer, seen) in [("once", true), ("deny", false)] {
            let bench = bench([call(tool, args.clone()), done()]);
            let mut session = open(&bench, |_| {}).await;
            let shown = session.answered(&[(answer, None)]).await;
            assert_eq!(shows(&shown, "b.txt"), seen, "{tool} {answer}");
            session.close().await;
        }
    }
}

#[tokio::test]
async fn what_is_forbidden_is_read_in_no_posture() {
    for posture in [Posture::Ask, Posture::Auto, Posture::Yolo] {
        let steps = readers("~/.ssh/id").map(|(tool, args)| call(tool, args));
        let more = [
            call("grep", json!({"pattern": ".", "path": "~/.ssh"})),
            call("ls", json!({"path": "~/.ssh"})),
            call(
                "edit_file",
                json!({"path": "~/.ssh/id", "old": "X", "new": "Y"}),
            ),
            done(),
        ];
        let bench = bench(steps.into_iter().chain(more));
        let mut session = open(&bench, |options| {
            options.permissions.policy.posture = posture
        })
        .await;
        let shown = session.answered(&[]).await;
        assert_eq!(shown.codes(), ["blocked"; 5], "{posture:?}");
        assert!(!shows(&shown, "KEY"));
        session.close().await;
    }
    // A folder above it may be allowed; what is in it stays out.
    let bench = bench([call("grep", json!({"pattern": ".", "path": "~"})), done()]);
    let mut session = open(&bench, |_| {}).await;
    let shown = session.answered(&[("once", None)]).await;
    assert!(
        shows(&shown, "OUTSIDE") && !shows(&shown, "KEY"),
        "{shown:?}"
    );
    session.close().await;
}

#[tokio::test]
async fn nobody_to_ask_means_no() {
    let steps = readers("~/notes/a.txt").map(|(tool, args)| call(tool, args));
    let bench = bench(steps.into_iter().chain([
        call("read_file", json!({"path": "in.txt"})),
        call("read_file", json!({"path": "/usr/share"})),
        done(),
    ]));
    let mut session = open(&bench, |options| options.run.interactive = false).await;
    let shown = session.run("go").await;
    assert_eq!(shown.codes(), ["blocked", "blocked", "ok", "is_directory"]);
    session.close().await;
}

#[tokio::test]
async fn a_yes_for_the_session_is_for_that_file_or_folder() {
    let read = |name: &str| call("read_file", json!({"path": format!("~/notes/{name}")}));
    let bench = bench([read("a.txt"), read("a.txt"), read("b.txt"), done()]);
    let mut session = open(&bench, |_| {}).await;
    let shown = session.answered(&[("session", None), ("deny", None)]).await;
    assert_eq!(shown.codes(), ["ok", "ok", "denied"]);
    session.close().await;
    let ls = call("ls", json!({"path": "~/notes"}));
    let bench = self::bench([ls, read("a.txt"), read("b.txt"), done()]);
    let mut session = open(&bench, |_| {}).await;
    let shown = session.answered(&[("session", None)]).await;
    assert_eq!(shown.codes(), ["ok"; 3]);
    session.close().await;
}

#[tokio::test]
async fn a_rule_opens_what_lies_outside() {
    for (rules, asks) in [
        (&["Read(~/notes)"][..], 0),
        (&["Read"], 0),
        (&["read_file(~/notes/**)"], 0),
        (&["Read(~/other)"], 1),
        (&["Edit(~/notes/**)"], 1),
    ] {
        let bench = bench([call("read_file", json!({"path": "~/notes/a.txt"})), done()]);
        let change = |options: &mut HubSettings| {
            options.permissions.policy.rules.allow = rules.iter().map(|text| rule(text)).collect();
        };
        let mut session = open(&bench, change).await;
        let shown = session.answered(&vec![("once", None); asks]).await;
        assert!(shows(&shown, "OUTSIDE"), "{rules:?}");
        session.close().await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_out_of_the_project_is_outside() {
    use std::os::unix::fs::symlink;
    // A link outside that leads elsewhere outside: what was allowed is read under either name.
    let linked = json!({"pattern": "OUT", "path": "~/shortcut"});
    let bench = bench([call("grep", linked), done()]);
    let home = bench.space.user_home().canonicalize().unwrap();
    symlink(home.join("notes"), home.join("shortcut")).unwrap();
    let mut session = open(&bench, |_| {}).await;
    assert!(shows(&session.answered(&[("once", None)]).await, "OUTSIDE"));
    session.close().await;
    let steps = |path: &str| {
        let args = readers(path).map(|(tool, args)| call(tool, args));
        args.into_iter().chain([done()]).collect::<Vec<_>>()
    };
    for (path, answers, codes) in [
        ("link", 2, ["ok", "ok"]),
        ("folder/a.txt", 2, ["ok", "ok"]),
        ("keys/id", 0, ["blocked", "blocked"]),
    ] {
        let bench = self::bench(steps(path));
        let home = bench.space.user_home().canonicalize().unwrap();
        let at = |name: &str| bench.space.root().join(name);
        symlink(home.join("notes/a.txt"), at("link")).unwrap();
        symlink(home.join("notes"), at("folder")).unwrap();
        symlink(home.join(".ssh"), at("keys")).unwrap();
        let mut session = open(&bench, |_| {}).await;
        let shown = session.answered(&vec![("once", None); answers]).await;
        assert_eq!(shown.codes(), codes, "{path}");
        let real = home.join("notes/a.txt").display().to_string();
        let mut asks = shown.asks.iter();
        assert!(asks.all(|ask| ask.subject.contains(&real)), "{shown:?}");
        session.close().await;
    }
}

/// Calls of every tool that reads what lies behind a link, by the name of the link and of a file below it.
#[cfg(unix)]
fn calls_through(link: &str, below: &str) -> Vec<(&'static str, Value)> {
    let file = format!("{link}/{below}");
    vec![
        ("read_file", json!({"path": file})),
        ("grep", json!({"pattern": ".", "path": file})),
        ("grep", json!({"pattern": ".", "path": link, "glob": below})),
        (
            "grep",
            json!({"pattern": ".", "path": format!("{link}/."), "glob": below, "mode": "files"}),
        ),
        (
            "glob",
            json!({"pattern": format!("**/{below}"), "path": link}),
        ),
        ("glob", json!({"pattern": format!("{link}/**/{below}")})),
        ("ls", json!({"path": link, "depth": 3})),
    ]
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_opens_nothing_that_its_target_does_not() {
    use std::os::unix::fs::symlink;
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Setting {
        Ask,
        Auto,
        Exec,
    }
    // The link, a file behind it, and how many of the calls are asked about: the first ones, which name that file. What
    // holds a folder that nobody reads is blocked without a question when it is to be walked.
    let cases = [
        ("system", "passwd", 7),
        ("top", "etc/passwd", 2),
        ("homes", "*/*", 7),
        ("parent", "s.txt", 7),
        ("sibling", "s.txt", 7),
        ("keys", "s.txt", 0),
        ("chain", "passwd", 7),
        ("chain/.", "passwd", 7),
        ("proc", "etc/passwd", 2),
    ];
    for setting in [Setting::Ask, Setting::Auto, Setting::Exec] {
        for (link, below, asked) in cases {
            let calls = calls_through(link, below);
            let steps = calls.iter().map(|(tool, args)| call(tool, args.clone()));
            let bench = bench(steps.chain([done()]).collect::<Vec<_>>());
            let home = bench.space.user_home().canonicalize().unwrap();
            let root = bench.space.root().canonicalize().unwrap();
            let parent = root.parent().unwrap();
            let sibling = parent.join("sibling");
            std::fs::create_dir_all(&sibling).unwrap();
            for folder in [parent, &sibling, &home.join(".ssh")] {
                std::fs::write(folder.join("s.txt"), "SECRET").unwrap();
            }
            symlink("/etc", root.join("system")).unwrap();
            symlink("/", root.join("top")).unwrap();
            symlink("/home", root.join("homes")).unwrap();
            symlink("..", root.join("parent")).unwrap();
            symlink("../sibling", root.join("sibling")).unwrap();
            symlink(home.join(".ssh"), root.join("keys")).unwrap();
            symlink("system", root.join("chain")).unwrap();
            symlink("/proc/self/root", root.join("proc")).unwrap();
            let change = |options: &mut HubSettings| match setting {
                Setting::Ask => options.permissions.policy.posture = Posture::Ask,
                Setting::Auto => options.permissions.policy.posture = Posture::Auto,
                Setting::Exec => {
                    options.run.interactive = false;
                    options.permissions.policy.headless = Headless::Sandbox;
                }
            };
            let mut session = open(&bench, change).await;
            let asked = match setting {
                Setting::Ask | Setting::Auto => asked,
                Setting::Exec => 0,
            };
            let shown = session.answered(&vec![("deny", None); asked]).await;
            let blocked = calls.len() - asked;
            let codes = [vec!["denied"; asked], vec!["blocked"; blocked]].concat();
            assert_eq!(shown.codes(), codes, "{link} {setting:?} {shown:?}");
            assert!(!shows(&shown, "SECRET") && !shows(&shown, "root:"));
            session.close().await;
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn names_in_a_folder_of_the_system_are_names_only() {
    use std::os::unix::fs::symlink;
    // The names in it may be listed, by whatever name it is called; nothing below it is opened by that.
    for path in ["/etc", "system"] {
        let bench = bench([
            call("ls", json!({"path": path})),
            call("read_file", json!({"path": format!("{path}/passwd")})),
            call("ls", json!({"path": path, "depth": 2})),
            done(),
        ]);
        symlink("/etc", bench.space.root().join("system")).unwrap();
        let mut session = open(&bench, |_| {}).await;
        let shown = session.answered(&[("deny", None); 2]).await;
        assert_eq!(shown.codes(), ["ok", "denied", "denied"], "{path}");
        let listed = shown.results()[0].to_string();
        assert!(
            listed.contains("passwd") && listed.contains("ssl/"),
            "{listed}"
        );
        session.close().await;
        // Whoever says yes to the tree gets the tree.
        let grep = |glob: &str| json!({"pattern": "root:", "path": path, "glob": glob});
        let bench = self::bench([
            call("grep", grep("passwd")),
            call("grep", grep("group")),
            done(),
        ]);
        symlink("/etc", bench.space.root().join("system")).unwrap();
        let mut session = open(&bench, |_| {}).await;
        let shown = session.answered(&[("session", None)]).await;
        assert_eq!(shown.codes(), ["ok", "ok"], "{path}");
        let all = shown.results();
        assert!(
            all.iter().all(|r| r.to_string().contains("root:")),
            "{all:?}"
        );
        session.close().await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_that_reads_through_a_link_is_no_reader() {
    use std::os::unix::fs::symlink;
    for (command, asks) in [
        ("cat link", 1),
        ("cat root/etc/passwd", 1),
        ("cd root && cat etc/passwd", 1),
        // The names in `/` are no secret.
        ("cd root && ls", 0),
        ("ls root", 0),
        ("cd root && ls root", 1),
        ("find root/etc -name x", 1),
        ("cat l*k", 1),
        ("cat r?ot/etc/passwd", 1),
        ("grep -r x root/etc", 1),
        ("wc -l < link", 1),
        ("cat fine", 0),
        ("cat f*", 0),
        ("cat in.txt", 0),
        ("grep -r x sub", 0),
    ] {
        let bench = bench([call("bash", json!({"command": command})), done()]);
        let at = |name: &str| bench.space.root().join(name);
        symlink("/etc/passwd", at("link")).unwrap();
        symlink("/", at("root")).unwrap();
        symlink("in.txt", at("fine")).unwrap();
        std::fs::create_dir(at("sub")).unwrap();
        let mut session = open(&bench, |_| {}).await;
        let shown = session.answered(&vec![("deny", None); asks]).await;
        assert_eq!(shown.asks.len(), asks, "{command}");
        session.close().await;
    }
}

#[tokio::test]
async fn protected_paths_take_the_persons_own_yes() {
    let write = |path: &str| call("write_file", json!({"path": path, "content": "x"}));
    let move_to = |from: &str, to: &str| {
        call(
            "move_file",
            json!({"source_path": from, "destination_path": to}),
        )
    };
    let calls = || {
        [
            write(".git/config"),
            write(".git/hooks/pre-commit"),
            write("sub/.git/config"),
            write("ostler.toml"),
            write(".ostler/skills/x/SKILL.md"),
            write(".mcp.json"),
            write(".claude/settings.local.json"),
            write(".vscode/tasks.json"),
            move_to("in.txt", ".git/hooks/post-checkout"),
            move_to("nested", "elsewhere"),
        ]
    };
    for posture in [Posture::Ask, Posture::Auto, Posture::Yolo] {
        let bench = bench(calls().into_iter().chain([done()]));
        bench.space.write("nested/deep/.git/config", "y");
        let change = |options: &mut HubSettings| {
            options.permissions.policy.posture = posture;
            options.permissions.policy.rules.allow = vec![rule("Edit"), rule("Edit(./**)")];
        };
        let mut session = open(&bench, change).await;
        let shown = session.answered(&[("deny", None); 10]).await;
        assert_eq!(shown.codes(), ["denied"; 10], "{posture:?}");
        session.close().await;
        let bench = self::bench(calls().into_iter().chain([done()]));
        bench.space.write("nested/deep/.git/config", "y");
        let alone = |options: &mut HubSettings| {
            change(options);
            options.run.interactive = false;
            options.permissions.policy.headless = Headless::Allow;
        };
        let mut session = open(&bench, alone).await;
        let shown = session.run("go").await;
        assert_eq!(shown.codes(), ["blocked"; 10], "{posture:?}");
        session.close().await;
    }
    // A rule that names the very path is a yes, and no other path's.
    let bench = self::bench([write("ostler.toml"), write("sub/ostler.toml"), done()]);
    let named = |options: &mut HubSettings| {
        options.run.interactive = false;
        options.permissions.policy.headless = Headless::Sandbox;
        options.permissions.policy.rules.allow = vec![rule("Edit(./ostler.toml)")];
    };
    let mut session = open(&bench, named).await;
    let shown = session.run("go").await;
    assert_eq!(shown.codes(), ["ok", "blocked"]);
    let told = shown.results()[1].to_string();
    assert!(told.contains("--allow 'Edit(./sub/ostler.toml)'"), "{told}");
    session.close().await;
    // A yes lets that very call through, and a yes for the session that very path.
    let steps = [
        write("ostler.toml"),
        write("ostler.toml"),
        write(".mcp.json"),
        done(),
    ];
    let bench = self::bench(steps);
    let mut session = open(&bench, |_| {}).await;
    let shown = session.answered(&[("session", None), ("once", None)]).await;
    assert_eq!(shown.codes(), ["ok"; 3]);
    assert_eq!(bench.space.read(".mcp.json"), "x");
    session.close().await;
}

#[cfg(unix)]
#[tokio::test]
async fn what_a_link_at_a_protected_name_leads_to_is_protected() {
    use std::os::unix::fs::symlink;
    let write = |path: &str| call("write_file", json!({"path": path, "content": "x"}));
    let edit = |path: &str| {
        let args = json!({"path": path, "old": "old", "new": "new"});
        call("edit_file", args)
    };
    let move_to = |from: &str, to: &str| {
        let args = json!({"source_path": from, "destination_path": to, "overwrite": true});
        call("move_file", args)
    };
    let links = [
        ("editor", ".vscode"),
        ("rc", ".envrc"),
        ("../cs.json", ".claude/settings.json"),
        ("../skills", ".claude/skills"),
        ("servers.json", ".mcp.json"),
        // A chain, one that leads to nothing yet, one in a deeper folder, one with any name, a folder above.
        ("chain2", ".exrc"),
        ("vimrc", "chain2"),
        ("later/lua", ".nvim.lua"),
        ("../../deep-rc", "sub/deep/.envrc"),
        ("space.json", "sub/a.code-workspace"),
        ("agents", ".agents"),
        ("cfg.toml", "ostler.toml"),
    ];
    let calls = || {
        [
            write("editor/tasks.json"),
            edit("editor/tasks.json"),
            write("editor/launch.json"),
            write("rc"),
            write("cs.json"),
            write("skills/a/SKILL.md"),
            write("servers.json"),
            write("vimrc"),
            write("later/lua"),
            write("deep-rc"),
            write("sub/space.json"),
            write("agents/skills/b/SKILL.md"),
            write("cfg.toml"),
            move_to("in.txt", "rc"),
            move_to("rc", "in2.txt"),
            move_to("new", "editor"),
            move_to("editor", "elsewhere"),
            move_to("new", "skills/c"),
        ]
    };
    let space = |bench: &Bench| {
        for (path, text) in [
            ("editor/tasks.json", "old"),
            ("rc", "old"),
            ("cs.json", "{}"),
            ("skills/a/SKILL.md", "old"),
            ("new/tasks.json", "x"),
            ("sub/deep/x", "x"),
            (".claude/x", "x"),
            ("agents/x", "x"),
        ] {
            bench.space.write(path, text);
        }
        for (target, link) in links {
            symlink(target, bench.space.root().join(link)).unwrap();
        }
    };
    let count = calls().len();
    for posture in [Posture::Ask, Posture::Auto, Posture::Yolo] {
        let bench = bench(calls().into_iter().chain([done()]));
        space(&bench);
        let change = |options: &mut HubSettings| {
            options.permissions.policy.posture = posture;
            options.permissions.policy.rules.allow = vec![rule("Edit"), rule("Edit(./**)")];
        };
        let mut session = open(&bench, change).await;
        let shown = session.answered(&vec![("deny", None); count]).await;
        assert_eq!(shown.codes(), vec!["denied"; count], "{posture:?}");
        session.close().await;
        for headless in [Headless::Sandbox, Headless::Allow] {
            let bench = self::bench(calls().into_iter().chain([done()]));
            space(&bench);
            let alone = |options: &mut HubSettings| {
                change(options);
                options.run.interactive = false;
                options.permissions.policy.headless = headless;
            };
            let mut session = open(&bench, alone).await;
            let shown = session.run("go").await;
            assert_eq!(shown.codes(), vec!["blocked"; count], "{posture:?}");
            session.close().await;
        }
    }
    // What no link leads to is as free as ever, and a yes lets the very file through.
    let free = ["editor/notes.md", "agents/notes.md", "sub/rc", "src/a.rs"];
    let steps = free.map(write).into_iter().chain([write("rc"), done()]);
    let bench = bench(steps);
    space(&bench);
    let auto = |options: &mut HubSettings| options.permissions.policy.posture = Posture::Auto;
    let mut session = open(&bench, auto).await;
    let shown = session.answered(&[("once", None)]).await;
    assert_eq!(shown.codes(), ["ok"; 5]);
    assert_eq!(bench.space.read("rc"), "x");
    session.close().await;
}

#[tokio::test]
async fn other_sessions_are_outside() {
    let other = "~/.ostler/sessions/other.jsonl";
    let bench = bench([call("read_file", json!({"path": other})), done()]);
    bench
        .space
        .write(bench.space.home().join("sessions/other.jsonl"), "{}");
    let mut session = open(&bench, |_| {}).await;
    let shown = session.answered(&[("deny", None)]).await;
    assert_eq!(shown.codes(), ["denied"]);
    session.close().await;
}

/// What the model reads of a command line, and what the person is told.
async fn command(bench: &Bench, session: &mut Session, line: &str) -> (String, String) {
    let before = bench.server.requests().len();
    session.send(Op::Command { line: line.into() }).await;
    let shown = session.finish().await;
    let notices = shown.entries.iter().filter_map(|entry| match &entry.body {
        Body::Notice(notice) => Some(notice.text.as_str()),
        _ => None,
    });
    let notices = notices.collect::<Vec<_>>().join("\n");
    let said = bench.request(before).prompt_bytes();
    (String::from_utf8_lossy(&said).into_owned(), notices)
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_of_the_project_points_only_into_the_project() {
    const NAMES: [(&str, &str); 9] = [
        ("@~/notes/a.txt", "OUTSIDE"),
        ("@$1/notes/a.txt", "OUTSIDE"),
        ("@~/notes", "b.txt"),
        ("@~/.ssh/id", "KEY"),
        ("@linked.txt", "OUTSIDE"),
        ("@secret.txt", "ASKED"),
        ("@denied.txt", "DENIED"),
        ("@~/picture.png", "base64"),
        ("@OWN/trust.json", "TRUSTED"),
    ];
    for posture in [Posture::Ask, Posture::Yolo] {
        let steps = (0..NAMES.len() * 2 + 1).map(|_| done());
        let bench = bench(steps);
        let home = bench.space.user_home().canonicalize().unwrap();
        let own = bench.space.home().to_owned();
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("trust.json"), "TRUSTED").unwrap();
        let picture = image::RgbImage::new(2, 2);
        picture.save(home.join("picture.png")).unwrap();
        bench.space.write("secret.txt", "ASKED");
        bench.space.write("denied.txt", "DENIED");
        let link = bench.space.root().join("linked.txt");
        std::os::unix::fs::symlink(home.join("notes/a.txt"), link).unwrap();
        let own_text = own.display().to_string();
        for (n, (name, _)) in NAMES.iter().enumerate() {
            let text = format!("Look at {}", name.replace("OWN", &own_text));
            bench.space.write(format!(".ostler/commands/c{n}.md"), text);
        }
        bench
            .space
            .write(".ostler/commands/fine.md", "See @in.txt and $ARGUMENTS.");
        let change = |options: &mut HubSettings| {
            options.permissions.policy.posture = posture;
            options.permissions.policy.rules.ask = vec![rule("Read(secret.txt)")];
            options.permissions.policy.rules.deny = vec![rule("Read(denied.txt)")];
        };
        let mut session = open(&bench, change).await;
        for (n, (name, text)) in NAMES.iter().enumerate() {
            let line = format!("c{n} {}", home.display());
            let (said, notices) = command(&bench, &mut session, &line).await;
            assert!(!said.contains(text), "{posture:?} {name}: {said}");
            assert!(
                notices.contains("left out"),
                "{posture:?} {name}: {notices}"
            );
        }
        // The arguments are the person's own words.
        let line = "fine @~/notes/a.txt";
        let (said, notices) = command(&bench, &mut session, line).await;
        assert!(
            said.contains("INSIDE") && said.contains("OUTSIDE"),
            "{said}"
        );
        assert_eq!(notices, "");
        session.close().await;
    }
}

#[tokio::test]
async fn the_persons_own_command_points_where_they_want_but_not_into_ostlers_home() {
    let bench = bench([done(), done()]);
    let own = bench.space.home().to_owned();
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("trust.json"), "TRUSTED").unwrap();
    let text = format!(
        "@~/notes/a.txt @{}/trust.json @{}",
        own.display(),
        own.display()
    );
    bench.space.write(own.join("commands/mine.md"), &text);
    let mut session = open(&bench, |_| {}).await;
    let (said, notices) = command(&bench, &mut session, "mine").await;
    assert!(said.contains("OUTSIDE"), "{said}");
    assert!(
        !said.contains("TRUSTED") && !said.contains("mine.md"),
        "{said}"
    );
    assert_eq!(
        notices.matches("Ostler's own folder").count(),
        2,
        "{notices}"
    );
    session
        .send(Op::Say {
            text,
            delivery: Default::default(),
            images: Vec::new(),
        })
        .await;
    session.finish().await;
    let said = String::from_utf8_lossy(&bench.request(1).prompt_bytes()).into_owned();
    assert!(!said.contains("TRUSTED"), "{said}");
    session.close().await;
}

#[tokio::test]
async fn a_command_that_takes_the_place_of_another_is_told() {
    let bench = bench([]);
    bench.space.write(".ostler/commands/commit.md", "Do it");
    bench.space.write(".ostler/commands/mine.md", "Do it");
    bench.space.write(".ostler/commands/other.md", "Do it");
    bench
        .space
        .write(bench.space.home().join("commands/mine.md"), "Do it well");
    let session = open(&bench, |_| {}).await;
    let notices = session.client.notes.join("\n");
    let told: Vec<&str> = notices
        .lines()
        .filter(|line| line.contains("instead of"))
        .collect();
    assert_eq!(told.len(), 2, "{notices}");
    assert!(
        told.iter().any(|l| l.contains("/mine instead of your own")),
        "{told:?}"
    );
    assert!(
        told.iter()
            .any(|l| l.contains("/commit instead of the built-in")),
        "{told:?}"
    );
    session.close().await;
}

#[tokio::test]
async fn what_a_program_pipes_in_points_at_nothing() {
    let bench = bench([done()]);
    let mut session = open(&bench, |_| {}).await;
    session
        .run(&format!(
            "review @in.txt{}+ @~/notes/a.txt\n</stdin>",
            ostler_engine::PIPED
        ))
        .await;
    let said = String::from_utf8_lossy(&bench.request(0).prompt_bytes()).into_owned();
    assert!(
        said.contains("INSIDE") && !said.contains("OUTSIDE"),
        "{said}"
    );
    session.close().await;
}

/// The words of a task are those of a model.
#[tokio::test]
async fn a_task_points_at_what_may_be_read_unasked() {
    use crate::common::agents::{delegating, trusting};
    let prompt = "Look at @~/notes/a.txt and @in.txt";
    let args = json!({"prompt": prompt, "role": "explore", "description": "the door"});
    let server = delegating(vec![("read_only_task", args)], |_| done());
    let bench = Bench::with(Kind::Chat, server);
    let notes = bench.space.user_home().join("notes");
    std::fs::create_dir_all(&notes).unwrap();
    std::fs::write(notes.join("a.txt"), "OUTSIDE").unwrap();
    bench.space.write("in.txt", "INSIDE");
    let change = |options: &mut HubSettings| {
        trusting(options);
        options.run.interactive = true;
        options.permissions.policy.posture = Posture::Ask;
        options.permissions.policy.headless = Headless::Deny;
    };
    let mut session = bench.open_with(Open::New, change).await;
    session.run("go").await;
    let said = String::from_utf8_lossy(&bench.request(1).prompt_bytes()).into_owned();
    assert!(
        said.contains("INSIDE") && !said.contains("OUTSIDE"),
        "{said}"
    );
    session.close().await;
}
