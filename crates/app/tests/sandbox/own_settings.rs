//! Whatever the person's own git reads as settings: no command and no file tool leaves anything there that it would run,
//! wherever the file lies and by whatever links and variables git finds it.

use super::traces::{config, layers};
use super::{Ran, run};
use crate::common::Scene;
use ostler_testkit::{Kind, Step};
use serde_json::json;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const EVIL: &str = "[core]\n\tfsmonitor = evil\n";

/// One way by which git finds settings in the project.
#[derive(Default)]
struct Way {
    name: &'static str,
    /// Links below the home: where, and to what in the project.
    links_at_home: &'static [(&'static str, &'static str)],
    /// Files of the project that have another name below the home.
    hard_links: &'static [(&'static str, &'static str)],
    /// Links in the project.
    links: &'static [(&'static str, &'static str)],
    /// Files of the project.
    files: &'static [(&'static str, &'static str)],
    /// `~/.gitconfig`; `@` is the project.
    at_home: &'static str,
    /// Variables; `@` is the project.
    env: &'static [(&'static str, &'static str)],
    /// What a command does; `evil` is a file with settings that run something.
    commands: &'static [&'static str],
    /// What a file tool writes.
    written: &'static [&'static str],
    /// A repository in the project, where git is asked afterwards.
    repository: &'static str,
}

const WAYS: &[Way] = &[
    Way {
        name: "global settings that are a link",
        links_at_home: &[(".gitconfig", "dot/gitconfig")],
        files: &[("dot/gitconfig", "[user]\n\tnick = x\n")],
        commands: &[
            "cat evil >> dot/gitconfig",
            "rm dot/gitconfig; cp evil dot/gitconfig",
        ],
        written: &["dot/gitconfig"],
        ..NONE
    },
    Way {
        name: "a link to settings that are not there yet",
        links_at_home: &[(".config/git/config", "dot/new/config")],
        commands: &["mkdir -p dot/new; cp evil dot/new/config"],
        written: &["dot/new/config"],
        ..NONE
    },
    Way {
        name: "a folder of settings that is a link",
        links_at_home: &[(".config/git", "dot/git")],
        files: &[("dot/git/config", "[user]\n\tnick = x\n")],
        commands: &[
            "cat evil >> dot/git/config",
            "mv dot/git dot/old; mkdir dot/git; cp evil dot/git/config",
        ],
        written: &["dot/git/config"],
        ..NONE
    },
    Way {
        name: "a link over another one",
        links_at_home: &[(".gitconfig", "cur")],
        links: &[("cur", "dot/gitconfig")],
        files: &[("dot/gitconfig", "[user]\n\tnick = x\n")],
        commands: &["ln -sfn evil cur", "rm cur; cp evil cur"],
        ..NONE
    },
    Way {
        name: "an include through a link",
        links: &[("cur", "one")],
        files: &[("one/c.cfg", "[user]\n\tnick = x\n")],
        at_home: "[include]\n\tpath = @/cur/c.cfg\n",
        commands: &[
            "mkdir two; cp evil two/c.cfg; ln -sfn two cur",
            "rm -f cur; mkdir -p cur; cp evil cur/c.cfg",
        ],
        written: &["one/c.cfg", "cur/c.cfg"],
        ..NONE
    },
    Way {
        name: "an include in a file that is not all UTF-8",
        files: &[("c.cfg", "")],
        at_home: "[user]\n\tname = J\u{f6}\n[include]\n\tpath = @/c.cfg\n",
        commands: &["cat evil >> c.cfg"],
        written: &["c.cfg"],
        ..NONE
    },
    Way {
        name: "a hard link",
        hard_links: &[(".gitconfig", "dot/gitconfig")],
        files: &[("dot/gitconfig", "[user]\n\tnick = x\n")],
        commands: &["cat evil >> dot/gitconfig"],
        ..NONE
    },
    Way {
        name: "a folder that is not there yet",
        at_home: "[include]\n\tpath = @/new/deep/c.cfg\n",
        commands: &[
            "mkdir two; cp evil two/c.cfg; mkdir new; ln -s ../two new/deep",
            "mkdir -p three/deep; cp evil three/deep/c.cfg; ln -s three new",
        ],
        written: &["new/deep/c.cfg"],
        ..NONE
    },
    Way {
        name: "folders on the way",
        links_at_home: &[(".gitconfig", "a/b/gitconfig")],
        files: &[("a/b/gitconfig", "[user]\n\tnick = x\n")],
        commands: &[
            "cp -r a a2; cat evil >> a2/b/gitconfig; mv a a3; mv a2 a",
            "cp -r a a4; cat evil >> a4/b/gitconfig; mv a a5; ln -s a4 a",
            "mkdir s; cp evil s/gitconfig; mv a/b a/c; ln -s ../s a/b",
            "mv a/b/gitconfig a/b/old; ln -s ../../evil a/b/gitconfig",
        ],
        ..NONE
    },
    Way {
        name: "a process that is left running",
        links: &[("cur", "one")],
        files: &[("one/c.cfg", "[user]\n\tnick = x\n")],
        at_home: "[include]\n\tpath = @/cur/c.cfg\n",
        commands: &[
            "mkdir two; cp evil two/c.cfg; setsid sh -c 'sleep 0.2; ln -sfn two cur; echo x >> one/c.cfg' >/dev/null 2>&1 &",
        ],
        ..NONE
    },
    Way {
        name: "relative variables",
        env: &[
            ("GIT_CONFIG_GLOBAL", "./global"),
            ("XDG_CONFIG_HOME", "xdg"),
        ],
        commands: &["cp evil global"],
        written: &["global", "xdg/git/config"],
        ..NONE
    },
    Way {
        name: "XDG_CONFIG_HOME",
        env: &[("XDG_CONFIG_HOME", "@/xdg")],
        commands: &["mkdir -p xdg/git; cp evil xdg/git/config"],
        written: &["xdg/git/config"],
        ..NONE
    },
    Way {
        name: "GIT_CONFIG_GLOBAL",
        env: &[("GIT_CONFIG_GLOBAL", "@/global")],
        commands: &["cp evil global"],
        written: &["global"],
        ..NONE
    },
    Way {
        name: "GIT_CONFIG_SYSTEM",
        env: &[
            ("GIT_CONFIG_SYSTEM", "@/system"),
            ("GIT_CONFIG_NOSYSTEM", "0"),
        ],
        commands: &["cp evil system"],
        written: &["system"],
        ..NONE
    },
    Way {
        name: "GIT_CONFIG_COUNT",
        env: &[
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "user.nick"),
            ("GIT_CONFIG_VALUE_0", "x"),
            ("GIT_CONFIG_KEY_1", "include.path"),
            ("GIT_CONFIG_VALUE_1", "@/counted"),
        ],
        commands: &["cp evil counted"],
        written: &["counted"],
        ..NONE
    },
    Way {
        name: "GIT_CONFIG_PARAMETERS",
        env: &[(
            "GIT_CONFIG_PARAMETERS",
            "'user.nick'='it'\\''s' 'include.path=@/passed'",
        )],
        commands: &["cp evil passed"],
        written: &["passed"],
        ..NONE
    },
    Way {
        name: "an include in an include of a repository below",
        repository: "lib",
        files: &[
            (
                "lib/.git/config",
                "[core]\n\trepositoryformatversion = 0\n[include]\n\tpath = ../one\n",
            ),
            ("lib/one", "[include]\n\tpath = deep/two\n"),
            ("lib/deep/two", ""),
        ],
        commands: &["cp evil lib/deep/two"],
        written: &["lib/one", "lib/deep/two"],
        ..NONE
    },
    Way {
        name: "an include of a repository below through a link",
        repository: "lib",
        links: &[("lib/cur", "deep")],
        files: &[
            (
                "lib/.git/config",
                "[core]\n\trepositoryformatversion = 0\n[include]\n\tpath = ../cur/two\n",
            ),
            ("lib/deep/two", ""),
        ],
        commands: &["mkdir lib/bad; cp evil lib/bad/two", "ln -sfn bad lib/cur"],
        written: &["lib/cur/two"],
        ..NONE
    },
];

const NONE: Way = Way {
    name: "",
    links_at_home: &[],
    hard_links: &[],
    links: &[],
    files: &[],
    at_home: "",
    env: &[],
    commands: &[],
    written: &[],
    repository: ".",
};

fn linked(target: PathBuf, at: &Path) {
    std::fs::create_dir_all(at.parent().expect("a folder")).expect("a folder");
    symlink(target, at).expect("a link");
}

#[test]
fn nothing_reaches_the_settings_of_the_persons_git() {
    check_all("namespaces");
}

#[test]
fn nothing_reaches_the_settings_of_the_persons_git_without_mounts() {
    check_all("landlock");
}

fn check_all(layer: &str) {
    if !layers().contains(&layer) {
        return;
    }
    let mut failed = Vec::new();
    for way in WAYS {
        failed.extend(check(layer, way, &way.commands.join("; ")));
        // Each by itself, so that none hides what another leaves.
        let has_more = way.commands.len() > 1 && way.repository == ".";
        for command in way.commands.iter().filter(|_| has_more) {
            failed.extend(check(layer, way, command));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// What is wrong after this command, if anything is.
fn check(layer: &str, way: &Way, command: &str) -> Option<String> {
    let scene = Scene::with_config(Kind::Chat, &config(layer), []);
    scene.space.write("README", "hello");
    scene.space.git_init();
    let root = scene.space.root().to_owned();
    let home = scene.space.user_home().to_owned();
    let put_in = |text: &str| text.replace('@', &root.display().to_string());
    if way.repository != "." {
        scene.space.git(["init", "-q", way.repository]);
    }
    scene.space.write("evil", EVIL);
    for (path, text) in way.files {
        scene.space.write(path, text);
    }
    for (at, to) in way.links {
        linked(to.into(), &root.join(at));
    }
    for (at, to) in way.links_at_home {
        linked(root.join(to), &home.join(at));
    }
    for (at, to) in way.hard_links {
        std::fs::hard_link(root.join(to), home.join(at)).expect("another name");
    }
    if !way.at_home.is_empty() {
        // In the coding that it had before there was UTF-8.
        let bytes: Vec<u8> = put_in(way.at_home).chars().map(|c| c as u8).collect();
        scene.space.write(home.join(".gitconfig"), bytes);
    }
    // Settings that git reads from one call to the next.
    let calls = way.commands.iter().filter(|one| command.contains(*one));
    let calls = calls.map(|one| ("bash", json!({"command": format!("{one}; true")})));
    let written = way.written.iter();
    let written = written.map(|path| ("write_file", json!({"path": path, "content": EVIL})));
    let calls: Vec<_> = calls.chain(written).collect();
    for (tool, call) in &calls {
        scene.server.push(Step::answer().call(tool, call.clone()));
    }
    scene.server.push(Step::answer().text("ok"));
    let set = |run: ostler_testkit::Run| {
        way.env
            .iter()
            .fold(run, |run, (name, value)| run.env(name, put_in(value)))
    };
    set(scene.ostler(["exec", "-p", "go"])).output().ok();
    let told = scene.server.request(calls.len()).tool_results();
    let git = set(scene.space.run("git")).cwd(root.join(way.repository));
    let read = git.args(["config", "--get-all", "core.fsmonitor"]).output();
    let case = format!(
        "{layer}, {}, {command}: {told:#?} {}",
        way.name, read.stderr
    );
    let tools = told.iter().rev().take(way.written.len());
    let mut files = way.files.iter();
    let is_good = read.stdout.is_empty()
        && tools
            .into_iter()
            .all(|(_, text, _)| text.contains("decides what runs later"))
        && files.all(|(path, text)| scene.space.read(path) == *text);
    (!is_good).then_some(case)
}

/// The same for other protected names: neither of two links leads a program to what a command wrote.
#[test]
fn links_on_the_way_to_protected_files_are_put_back() {
    let bad = "mkdir -p two; echo evil > two/tasks.json";
    let commands = [
        format!("{bad}; ln -sfn two editor"),
        format!("{bad}; ln -sfn two .vscode"),
        "rm editor; mkdir editor; echo evil > editor/tasks.json".into(),
        "rm .vscode; mkdir .vscode; echo evil > .vscode/tasks.json".into(),
    ];
    let mut failed = Vec::new();
    for layer in layers() {
        for command in &commands {
            let set_up = |scene: &Scene| {
                scene.space.write("one/tasks.json", "mine");
                let root = scene.space.root();
                linked("one".into(), &root.join("editor"));
                linked("editor".into(), &root.join(".vscode"));
            };
            let Ran { scene, told, .. } = run(&config(layer), &[], set_up, &[command]);
            let left = std::fs::read_to_string(scene.space.root().join(".vscode/tasks.json"));
            if left.as_deref().unwrap_or_default() != "mine" {
                failed.push(format!("{layer}, {command}: {left:?} {told:#?}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// A git folder outside of the project, without being one that a worktree shares: of the project itself, and of a tree in it.
#[test]
fn what_a_repository_elsewhere_includes_is_protected() {
    let mut failed = Vec::new();
    for layer in layers() {
        for tree in [".", "lib"] {
            let scene = Scene::with_config(Kind::Chat, &config(layer), []);
            scene.space.write("README", "hello");
            scene.space.git_init();
            let (root, home) = (scene.space.root(), scene.space.user_home());
            let store = home.join("store.git").display().to_string();
            if tree == "." {
                std::fs::remove_dir_all(root.join(".git")).expect("none");
            }
            let separate = format!("--separate-git-dir={store}");
            scene.space.git(["init", "-q", &separate, tree]);
            let included = root.join("c.cfg").display().to_string();
            scene
                .space
                .git(["-C", tree, "config", "include.path", &included]);
            scene.space.write("c.cfg", "");
            scene.space.write("evil", EVIL);
            let bash = json!({"command": "cp evil c.cfg; true"});
            let write = json!({"path": "c.cfg", "content": EVIL});
            scene.server.push(Step::answer().call("bash", bash));
            scene.server.push(Step::answer().call("write_file", write));
            scene.server.push(Step::answer().text("ok"));
            scene.ostler(["exec", "-p", "go"]).output().ok();
            let told = scene.server.request(2).tool_results();
            let left = scene.space.read("c.cfg");
            if left.contains("evil") || !told[1].1.contains("decides what runs later") {
                failed.push(format!("{layer}, {tree}: {left} {told:#?}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
