//! Cases that each place must pass.

use crate::cases;
use crate::common::*;
use crate::links::places;
use bytes::Bytes;
use ostler_host::sandbox::{Plan, Policy};
use ostler_host::search::{Found, LineQuery, Mode, Search, Tree};
use ostler_host::{
    Border, Command, Error, Exit, Host, Kind, Output, RenameOptions, Roots, Signal, Span, Stdio,
    WriteOptions,
};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub const ALL: &[Case] = cases![
    files_are_read_and_written_byte_for_byte,
    errors_keep_their_kinds,
    borders_hold,
    writes_stay_in_their_roots,
    folders_are_listed,
    names_that_are_no_text,
    moves,
    searches_find_the_same,
    a_hundred_thousand_files_are_walked,
    output_and_ends,
    input,
    terminals,
    signals,
    huge_output_waits_for_its_reader,
    programs_that_cannot_start,
    a_dropped_command_is_killed,
    what_was_left_in_the_background,
    a_dropped_search_ends,
    many_at_once,
    the_sandbox_holds,
];

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    (folder, real)
}

fn into(root: &Path) -> WriteOptions {
    WriteOptions {
        roots: Roots {
            writable: vec![root.to_owned()],
            ..Roots::default()
        },
        create_parents: true,
    }
}

fn open() -> Arc<Border> {
    Arc::new(Border::none())
}

fn shell(script: &str) -> Command {
    Command {
        argv: ["sh", "-c", script].map(OsString::from).to_vec(),
        cwd: "/".into(),
        env: env(),
        stdio: Stdio::Pipes,
        sandbox: None,
    }
}

/// Stdout, stderr and the end of a command.
async fn run(host: &dyn Host, command: Command) -> (Vec<u8>, Vec<u8>, Exit) {
    let mut process = host.spawn(command).await.unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    loop {
        match process.next().await {
            Output::Stdout(bytes) => out.extend_from_slice(&bytes),
            Output::Stderr(bytes) => err.extend_from_slice(&bytes),
            Output::Exited(exit) => return (out, err, exit),
        }
    }
}

async fn files_are_read_and_written_byte_for_byte() {
    for (place, host) in places().await {
        let (_keep, root) = folder();
        for size in [0, 1, 65_535, 65_536, 65_537, 5_000_000] {
            let bytes: Vec<u8> = (0..size).map(|at: u32| (at * 31 % 251) as u8).collect();
            let path = root.join(format!("deep/{size}"));
            let written = host
                .write(&path, Bytes::from(bytes.clone()), into(&root))
                .await
                .unwrap();
            assert_eq!((&written.path, written.created), (&path, true), "{place}");
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "{place} {size}");
            let read = host
                .read(&path, Span::head(1 << 30), &open())
                .await
                .unwrap();
            assert!(read.bytes == bytes && !read.truncated, "{place} {size}");
            assert_eq!(read.stat.len, u64::from(size));
        }
        let part = Span {
            offset: 65_530,
            max_bytes: 10,
        };
        let path = root.join("deep/65537");
        let read = host.read(&path, part, &open()).await.unwrap();
        assert_eq!((read.bytes.len(), read.truncated), (7, false), "{place}");
        let stat = host.stat(&path).await.unwrap();
        assert_eq!((stat.kind, stat.len), (Kind::File, 65_537), "{place}");
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        assert_eq!(stat.modified, Some(modified), "{place}");
    }
}

async fn errors_keep_their_kinds() {
    for (place, host) in places().await {
        let (_keep, root) = folder();
        let read = |path: &str| {
            let (host, path) = (host.clone(), root.join(path));
            async move { host.read(&path, Span::head(10), &open()).await.unwrap_err() }
        };
        let none = read("none").await;
        assert!(
            matches!(&none, Error::NotFound { path } if *path == root.join("none")),
            "{place}"
        );
        assert!(
            matches!(read(".").await, Error::IsDirectory { .. }),
            "{place}"
        );
        let fifo = root.join("fifo");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&fifo)
                .status()
                .unwrap()
                .success()
        );
        assert!(
            matches!(read("fifo").await, Error::NotRegular { .. }),
            "{place}"
        );
        let missing = host.stat(&root.join("none")).await.unwrap();
        assert_eq!(missing.kind, Kind::Missing, "{place}");
        let relative = host.stat(Path::new("relative")).await.unwrap_err();
        assert!(
            matches!(relative, Error::BadPath { .. }),
            "{place} {relative:?}"
        );
        // In both languages the same is said as here.
        let local = ostler_host::Local::new();
        let expect = local.read(&root, Span::head(1), &open()).await.unwrap_err();
        assert_eq!(read(".").await.to_string(), expect.to_string(), "{place}");
    }
}

async fn borders_hold() {
    for (place, host) in places().await {
        let (_keep, root) = folder();
        std::fs::write(root.join("in"), "1").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("out")).unwrap();
        let border = Arc::new(Border {
            places: vec![(root.clone(), ostler_host::Place::Inside)],
            forbidden: vec![ostler_host::Ban {
                path: root.join("secret"),
                rule: "Read(secret)".into(),
            }],
            ..Border::default()
        });
        std::fs::write(root.join("secret"), "1").unwrap();
        let span = Span::head(10);
        assert!(
            host.read(&root.join("in"), span, &border).await.is_ok(),
            "{place}"
        );
        let out = host
            .read(&root.join("out"), span, &border)
            .await
            .unwrap_err();
        assert!(matches!(out, Error::Beyond { .. }), "{place} {out:?}");
        let secret = host.read(&root.join("secret"), span, &border).await;
        let secret = secret.unwrap_err();
        assert!(
            matches!(&secret, Error::Withheld { rule, .. } if rule == "Read(secret)"),
            "{place}"
        );
        assert!(
            host.list(Path::new("/usr"), 10, &border).await.is_err(),
            "{place}"
        );
    }
}

async fn writes_stay_in_their_roots() {
    for (place, host) in places().await {
        let (_keep, root) = folder();
        let (_other, other) = folder();
        std::os::unix::fs::symlink(&other, root.join("link")).unwrap();
        let write = |path: PathBuf, options: WriteOptions| {
            let host = host.clone();
            async move { host.write(&path, Bytes::from_static(b"x"), options).await }
        };
        for path in [other.join("a"), root.join("link/a")] {
            let error = write(path, into(&root)).await.unwrap_err();
            assert!(matches!(error, Error::Outside { .. }), "{place} {error:?}");
        }
        let mut protected = into(&root);
        protected.roots.protected.names = vec![".git/hooks".into()];
        protected.roots.protected.bases = vec![root.clone()];
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        let error = write(root.join(".git/hooks/a"), protected.clone()).await;
        assert!(matches!(error, Err(Error::Protected { .. })), "{place}");
        // A link at a protected name leads to files that are protected as well.
        std::os::unix::fs::symlink("../editor", root.join(".git/hooks/more")).unwrap();
        std::fs::create_dir(root.join(".git/editor")).unwrap();
        protected.roots.judged = Some(vec![root.join("other")]);
        let error = write(root.join("a"), protected).await;
        assert!(matches!(error, Err(Error::Changed { .. })), "{place}");
        assert_eq!(std::fs::read_dir(&other).unwrap().count(), 0, "{place}");
    }
}

async fn folders_are_listed() {
    for (place, host) in places().await {
        let (_keep, root) = folder();
        for at in 0..2000 {
            std::fs::write(root.join(format!("{at:04}")), "").unwrap();
        }
        let listing = host.list(&root, 1500, &open()).await.unwrap();
        assert_eq!(
            (listing.entries.len(), listing.truncated),
            (1500, true),
            "{place}"
        );
        assert_eq!(listing.entries[7].name, "0007", "{place}");
    }
}

async fn names_that_are_no_text() {
    for (place, host) in places().await {
        let (_keep, root) = folder();
        let name = OsString::from_vec(b"odd \xff\n name".to_vec());
        let path = root.join(&name);
        host.write(&path, Bytes::from_static(b"x"), into(&root))
            .await
            .unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"x", "{place}");
        let listing = host.list(&root, 10, &open()).await.unwrap();
        assert_eq!(listing.entries[0].name, name, "{place}");
        let mut command = shell("printf %s \"$ODD\" | wc -c");
        command.env.push(("ODD".into(), name));
        assert_eq!(run(&*host, command).await.0, b"11\n", "{place}");
    }
}

async fn moves() {
    for (place, host) in places().await {
        let (_keep, root) = folder();
        std::fs::write(root.join("a"), "1").unwrap();
        std::fs::write(root.join("b"), "2").unwrap();
        let options = |overwrite| RenameOptions {
            roots: into(&root).roots,
            create_parents: true,
            overwrite,
        };
        let (a, b) = (root.join("a"), root.join("b"));
        let refused = host.rename(&a, &b, options(false)).await.unwrap_err();
        assert!(matches!(refused, Error::Exists { .. }), "{place}");
        let moved = host.rename(&a, &b, options(true)).await.unwrap();
        assert!(
            moved.overwrote && std::fs::read(&b).unwrap() == b"1",
            "{place}"
        );
    }
}

fn tree(root: &Path) -> Tree {
    Tree {
        base: root.to_owned(),
        root: root.to_owned(),
        temp: None,
        border: open(),
    }
}

fn lines(pattern: &str) -> LineQuery {
    LineQuery {
        pattern: pattern.into(),
        ignore_case: false,
        glob: None,
        kind: None,
        mode: Mode::Content,
        context: 0,
    }
}

async fn searches_find_the_same() {
    let (_keep, root) = folder();
    std::fs::create_dir_all(root.join("src/deep")).unwrap();
    for (name, text) in [
        ("a.rs", "fn main() {}\n"),
        ("src/b.rs", "main\nnothing\n"),
        ("src/deep/c.py", "main\n"),
        ("skipped", "main\n"),
        (".gitignore", "skipped\n"),
    ] {
        std::fs::write(root.join(name), text).unwrap();
    }
    for (place, host) in places().await {
        let query = lines("ma.n");
        let found = host
            .search(Search::Lines {
                tree: tree(&root),
                query,
            })
            .await;
        let Found::Lines(found) = found.unwrap() else {
            panic!("{place}")
        };
        let expect = [
            "a.rs:1:fn main() {}",
            "src/b.rs:1:main",
            "src/deep/c.py:1:main",
        ];
        assert_eq!(found.lines, expect, "{place}");
        assert_eq!((found.count, found.searched), (3, 4), "{place}");
        let pattern = "**/*.rs".to_owned();
        let found = host
            .search(Search::Names {
                tree: tree(&root),
                pattern,
            })
            .await;
        let Found::Names(mut found) = found.unwrap() else {
            panic!("{place}")
        };
        found.paths.sort();
        assert_eq!(found.paths, ["a.rs", "src/b.rs"], "{place}");
        let found = host
            .search(Search::Entries {
                tree: tree(&root),
                depth: 2,
            })
            .await;
        let Found::Entries(found) = found.unwrap() else {
            panic!("{place}")
        };
        let expect = [".gitignore", "a.rs", "src/", "src/b.rs", "src/deep/"];
        assert_eq!(found.entries, expect, "{place}");
        let none = Tree {
            base: root.join("none"),
            ..tree(&root)
        };
        let found = host
            .search(Search::Entries {
                tree: none,
                depth: 1,
            })
            .await;
        assert!(matches!(found, Err(Error::NotFound { .. })), "{place}");
        let bad = Search::Lines {
            tree: tree(&root),
            query: lines("("),
        };
        assert!(
            matches!(host.search(bad).await, Err(Error::Search { .. })),
            "{place}"
        );
    }
}

async fn a_hundred_thousand_files_are_walked() {
    let (_keep, root) = folder();
    for folder in 0..100 {
        let folder = root.join(format!("{folder:02}"));
        std::fs::create_dir(&folder).unwrap();
        for file in 0..1000 {
            // The same inode under many names: quick to make.
            let first = root.join("00/000");
            let path = folder.join(format!("{file:03}"));
            match path == first {
                true => std::fs::write(&path, "needle\n").unwrap(),
                false => std::fs::hard_link(&first, &path)
                    .or_else(|_| std::fs::write(&path, "needle\n"))
                    .unwrap(),
            }
        }
    }
    for (place, host) in places().await {
        let pattern = "**/*7".to_owned();
        let found = host
            .search(Search::Names {
                tree: tree(&root),
                pattern,
            })
            .await;
        let Found::Names(found) = found.unwrap() else {
            panic!("{place}")
        };
        assert_eq!((found.total, found.paths.len()), (10_000, 1000), "{place}");
    }
}

async fn output_and_ends() {
    for (place, host) in places().await {
        let (out, err, exit) = run(&*host, shell("echo out; echo err >&2; exit 7")).await;
        assert_eq!(
            (out.as_slice(), err.as_slice()),
            (&b"out\n"[..], &b"err\n"[..]),
            "{place}"
        );
        assert_eq!(exit.code, Some(7), "{place}");
        let (_, _, exit) = run(&*host, shell("kill -9 $$")).await;
        assert_eq!((exit.code, exit.signal), (None, Some(9)), "{place}");
    }
}

async fn input() {
    for (place, host) in places().await {
        let mut command = shell("wc -c");
        command.stdio = Stdio::PipesWithStdin;
        let mut process = host.spawn(command).await.unwrap();
        let mut input = process.take_input().unwrap();
        let writing = tokio::spawn(async move {
            // More than any window: it waits for its reader.
            input.write_all(&vec![b'x'; 3_000_000]).await.unwrap();
        });
        let mut out = Vec::new();
        while let Output::Stdout(bytes) = process.next().await {
            out.extend_from_slice(&bytes);
        }
        writing.await.unwrap();
        assert_eq!(String::from_utf8_lossy(&out).trim(), "3000000", "{place}");
        // A reader that goes away is an error and no hanging.
        let mut command = shell("exec <&-; sleep 100");
        command.stdio = Stdio::PipesWithStdin;
        let mut process = host.spawn(command).await.unwrap();
        let mut input = process.take_input().unwrap();
        assert!(
            input.write_all(&vec![b'x'; 3_000_000]).await.is_err(),
            "{place}"
        );
    }
}

async fn terminals() {
    for (place, host) in places().await {
        let mut command = shell("stty size; read line; stty size; echo got:$line");
        command.stdio = Stdio::Pty { rows: 20, cols: 70 };
        let mut process = host.spawn(command).await.unwrap();
        let mut seen = String::new();
        let mut answered = false;
        loop {
            match process.next().await {
                Output::Stdout(bytes) => seen.push_str(&String::from_utf8_lossy(&bytes)),
                Output::Stderr(_) => panic!("{place}"),
                Output::Exited(exit) => {
                    assert_eq!(exit.code, Some(0), "{place}");
                    break;
                }
            }
            if !answered && seen.contains("20 70") {
                answered = true;
                process.resize(30, 90).unwrap();
                process.write_stdin(b"word\n").await.unwrap();
            }
        }
        assert!(
            seen.contains("30 90") && seen.contains("got:word"),
            "{place}: {seen}"
        );
    }
}

async fn signals() {
    for (place, host) in places().await {
        let mut process = host
            .spawn(shell(
                "trap 'echo term; exit 3' TERM; echo ready; while :; do sleep 0.01; done",
            ))
            .await
            .unwrap();
        assert_eq!(
            process.next().await,
            Output::Stdout(Bytes::from_static(b"ready\n")),
            "{place}"
        );
        process.signal(Signal::Term);
        // The shell may say that its child was ended.
        let mut out = Vec::new();
        let exit = loop {
            match process.next().await {
                Output::Exited(exit) => break exit,
                Output::Stdout(bytes) => out.extend_from_slice(&bytes),
                Output::Stderr(_) => {}
            }
        };
        assert_eq!(out, b"term\n", "{place}");
        assert_eq!(exit.code, Some(3), "{place}");
    }
}

async fn huge_output_waits_for_its_reader() {
    for (place, host) in places().await {
        let (_keep, root) = folder();
        let mark = root.join("written");
        let script = format!("head -c 50000000 /dev/zero; touch {}", mark.display());
        let mut process = host.spawn(shell(&script)).await.unwrap();
        // Other calls are answered while nobody reads: the output waits, the link does not.
        for _ in 0..50 {
            host.stat(&root).await.unwrap();
        }
        assert!(!mark.exists(), "{place}");
        let mut total = 0;
        while let Output::Stdout(bytes) = process.next().await {
            total += bytes.len();
        }
        assert_eq!((total, mark.exists()), (50_000_000, true), "{place}");
    }
}

async fn programs_that_cannot_start() {
    for (place, host) in places().await {
        let mut command = shell("");
        command.argv = vec!["no-such-program".into()];
        let error = host.spawn(command).await.err().unwrap();
        assert!(
            matches!(&error, Error::ProgramNotFound { program } if program == "no-such-program"),
            "{place}"
        );
        let mut command = shell("");
        command.cwd = "/no/such/folder".into();
        let error = host.spawn(command).await.err().unwrap();
        assert!(
            matches!(error, Error::WorkingDirectory { .. }),
            "{place} {error:?}"
        );
    }
}

fn is_alive(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

async fn gone(pid: i32) {
    while is_alive(pid) {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// The number that a command printed as its first line.
async fn first_number(process: &mut ostler_host::Process) -> i32 {
    match process.next().await {
        Output::Stdout(bytes) => String::from_utf8_lossy(&bytes).trim().parse().unwrap(),
        other => panic!("{other:?}"),
    }
}

async fn a_dropped_command_is_killed() {
    for (place, host) in places().await {
        let mut process = host
            .spawn(shell("setsid sleep 1000 & echo $!; wait"))
            .await
            .unwrap();
        let pid = first_number(&mut process).await;
        assert!(is_alive(pid), "{place}");
        let mut tree = process.tree_end();
        drop(process);
        tree.wait().await;
        gone(pid).await;
    }
}

async fn what_was_left_in_the_background() {
    for (place, host) in places().await {
        let script = "sleep 1000 >/dev/null 2>&1 & echo $!";
        let mut process = host.spawn(shell(script)).await.unwrap();
        let pid = first_number(&mut process).await;
        let Output::Exited(exit) = process.next().await else {
            panic!("{place}")
        };
        assert_eq!(exit.code, Some(0), "{place}");
        let left = process.take_leftovers().unwrap();
        drop(process);
        assert!(left.is_alive() && is_alive(pid), "{place}");
        left.end().await;
        gone(pid).await;
    }
}

async fn a_dropped_search_ends() {
    let (_keep, root) = folder();
    // A file that takes long to search.
    let text = "a".repeat(1000) + "\n";
    std::fs::write(root.join("long"), text.repeat(100_000)).unwrap();
    for (place, host) in places().await {
        let query = lines("(a*)*(a*)*b");
        let search = host.search(Search::Lines {
            tree: tree(&root),
            query,
        });
        let short = std::time::Duration::from_millis(20);
        // Whether it was quick enough or not: what follows is answered.
        let _early = tokio::time::timeout(short, search).await;
        assert_eq!(
            host.stat(&root).await.unwrap().kind,
            Kind::Directory,
            "{place}"
        );
    }
}

async fn many_at_once() {
    for (place, host) in places().await {
        let (_keep, root) = folder();
        let mut tasks = tokio::task::JoinSet::new();
        for at in 0..60 {
            let (host, root) = (host.clone(), root.clone());
            tasks.spawn(async move {
                let path = root.join(at.to_string());
                let bytes = Bytes::from(vec![at as u8; 200_000]);
                host.write(&path, bytes.clone(), into(&root)).await.unwrap();
                let read = host
                    .read(&path, Span::head(1 << 20), &open())
                    .await
                    .unwrap();
                assert_eq!(read.bytes, bytes);
                let (out, ..) = run(&*host, shell(&format!("echo {at}"))).await;
                assert_eq!(out, format!("{at}\n").into_bytes());
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap_or_else(|error| panic!("{place}: {error}"));
        }
    }
}

async fn the_sandbox_holds() {
    let Some(layer) = ostler_host::sandbox::probe().layers.first().copied() else {
        println!("skipped: this machine has no way to confine commands");
        return;
    };
    for (place, host) in places().await {
        let (_keep, root) = folder();
        let (_other, other) = folder();
        std::fs::create_dir(root.join("kept")).unwrap();
        let policy = Policy {
            writable: vec![root.clone()],
            protect: vec![root.join("kept")],
            ..Policy::default()
        };
        let plan = match place {
            "here" => Plan::prepare(&policy).unwrap(),
            _ => Plan::at_place(policy, layer),
        };
        let plan = Arc::new(plan);
        let script = format!(
            "echo 1 > {0}/in; echo 1 > {1}/out; echo 1 > {0}/kept/x; true",
            root.display(),
            other.display()
        );
        let mut command = shell(&script);
        command.put_on(&plan);
        let (_, err, exit) = run(&*host, command).await;
        let err = String::from_utf8_lossy(&err).into_owned();
        assert_eq!(exit.code, Some(0), "{place}: {err}");
        assert!(
            root.join("in").exists() && !other.join("out").exists(),
            "{place}: {err}"
        );
        if layer == ostler_host::sandbox::Layer::Namespaces {
            assert!(!root.join("kept/x").exists(), "{place}: {err}");
        }
        if place != "here" {
            // What was not there before, and what a tool changed meanwhile.
            let policy = Policy {
                writable: vec![root.clone()],
                protect: vec![root.join("new"), root.join("mine")],
                ..Policy::default()
            };
            let script = format!("echo 1 > {0}/new; echo ready; sleep 0.3", root.display());
            let mut command = shell(&script);
            command.put_on(&Arc::new(Plan::at_place(policy, layer)));
            let mut process = host.spawn(command).await.unwrap();
            let ready = process.next().await;
            assert_eq!(
                ready,
                Output::Stdout(Bytes::from_static(b"ready\n")),
                "{place}"
            );
            let mine = root.join("mine");
            host.write(&mine, Bytes::from_static(b"x"), into(&root))
                .await
                .unwrap();
            let Output::Stderr(told) = process.next().await else {
                panic!("{place}")
            };
            let told = String::from_utf8_lossy(&told).into_owned();
            assert!(
                told.contains("put back") && told.contains("/new"),
                "{place} {told}"
            );
            assert!(!root.join("new").exists() && mine.exists(), "{place}");
        }
        // A plan that was made for another place is none.
        let wrong = match place {
            "here" => Plan::at_place(Policy::default(), layer),
            _ => Plan::prepare(&Policy {
                writable: vec![root.clone()],
                ..Policy::default()
            })
            .unwrap(),
        };
        let mut command = shell("true");
        command.put_on(&Arc::new(wrong));
        assert!(
            matches!(host.spawn(command).await.err(), Some(Error::BadCommand)),
            "{place}"
        );
    }
}
