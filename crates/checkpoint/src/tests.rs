//! Checkpoints on real folders. `random` rewinds random scripts, `faults` ends the process and fills the disk.

mod bench;
mod doomed;
mod faults;
mod history;
mod lost;
#[cfg(target_os = "linux")]
mod races;
mod random;
mod too_much;

use super::*;
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

/// A project and a home beside it.
struct World {
    dir: tempfile::TempDir,
    limits: Limits,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir(dir.path().join("root")).expect("a root");
        Self {
            dir,
            limits: Limits::default(),
        }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    fn checkpoints(&self) -> PathBuf {
        self.home().join("checkpoints").join("root-0a1b2c3d")
    }

    fn path(&self, rel: &str) -> PathBuf {
        self.root().join(rel)
    }

    fn write(&self, rel: &str, content: &str) {
        let path = self.path(rel);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, content).expect("a file");
    }

    fn open(&self) -> Checkpoints {
        Checkpoints::open(&self.checkpoints(), &self.root(), self.limits.clone()).expect("a store")
    }

    fn take(&self) -> u64 {
        self.open()
            .take("test", &Scope::default())
            .expect("a checkpoint")
            .id
    }

    fn state(&self) -> State {
        state(&self.root())
    }

    fn rewind(&self, id: u64) -> Report {
        let guard = Guard::default();
        self.open()
            .restore(id, &What::default(), &guard)
            .expect("a rewind")
    }

    /// What is in the root, a line each, as `path: content`.
    fn shown(&self) -> String {
        let lines = self
            .state()
            .into_iter()
            .map(|(path, what)| format!("{path}: {what}\n"));
        lines.collect()
    }
}

/// Everything about a tree, found without the code under test. The root's `.git` is no part of it.
type State = BTreeMap<String, String>;

fn state(root: &Path) -> State {
    let mut out = State::new();
    let mut todo = vec![root.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(&dir).expect("a folder") {
            let path = entry.expect("a name").path();
            let rel = path.strip_prefix(root).expect("below").to_owned();
            if rel == Path::new(".git") {
                continue;
            }
            let meta = fs::symlink_metadata(&path).expect("facts");
            let mode = meta.mode() & 0o7777;
            let what = if meta.is_symlink() {
                format!("-> {}", fs::read_link(&path).expect("a link").display())
            } else if meta.is_dir() {
                todo.push(path.clone());
                format!("dir {mode:o}")
            } else if meta.is_file() {
                let bytes = fs::read(&path).expect("content");
                match std::str::from_utf8(&bytes) {
                    Ok(text) if text.len() < 40 => format!("{mode:o} {text:?}"),
                    _ => format!(
                        "{mode:o} {} {}",
                        bytes.len(),
                        ostler_wire::hex::short(&pack::hash(&bytes), 16)
                    ),
                }
            } else {
                "special".into()
            };
            out.insert(format!("{rel:?}"), what);
        }
    }
    out
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
}

fn paths(changes: &[Change]) -> String {
    let mark = |c: &Change| match (&c.before, &c.after) {
        (None, _) => '+',
        (_, None) => '-',
        (Some(_), Some(_)) => '~',
    };
    let all: Vec<String> = changes
        .iter()
        .map(|c| format!("{}{}", mark(c), c.path))
        .collect();
    all.join(" ")
}

#[test]
fn a_tree_comes_back_with_modes_links_and_empty_folders() {
    let world = World::new();
    world.write("a.txt", "one");
    world.write("bin/run", "#!/bin/sh\n");
    chmod(&world.path("bin/run"), 0o755);
    fs::create_dir(world.path("empty")).expect("a folder");
    chmod(&world.path("empty"), 0o750);
    symlink("a.txt", world.path("link")).expect("a link");
    symlink("no/where", world.path("dangling")).expect("a link");
    fs::write(world.root().join(raw_name(b"na\xffme")), [0, 159, 146, 150]).expect("a file");
    let before = world.state();
    let id = world.take();

    fs::remove_dir_all(world.path("bin")).expect("gone");
    fs::remove_dir(world.path("empty")).expect("gone");
    fs::remove_file(world.path("a.txt")).expect("gone");
    fs::create_dir(world.path("a.txt")).expect("a folder");
    world.write("a.txt/inside", "x");
    world.write("bin", "now a file");
    fs::remove_file(world.path("link")).expect("gone");
    symlink("/etc", world.path("link")).expect("a link");
    world.write("new/deep/file", "y");
    let after = world.state();
    let last = world.take();

    let report = world.rewind(id);
    assert_eq!(report.kept, []);
    assert_eq!(world.state(), before);
    // And back again.
    let guard = Guard {
        expected: Some(report.after),
        ..Guard::default()
    };
    let undone = world
        .open()
        .restore(report.before, &What::default(), &guard);
    assert_eq!(undone.expect("undone").kept, []);
    assert_eq!(world.state(), after);
    let store = world.open();
    assert_eq!(paths(&store.diff(last, Point::Now).expect("a diff")), "");
    let shown = paths(&store.diff(id, Point::At(last)).expect("a diff"));
    assert_eq!(
        shown,
        "~a.txt +a.txt/inside ~bin -bin/run -empty ~link +new +new/deep +new/deep/file"
    );
}

fn raw_name(bytes: &[u8]) -> std::ffi::OsString {
    ostler_files::raw::name(bytes)
}

#[test]
fn what_nobody_saw_is_not_overwritten() {
    let world = World::new();
    world.write("mine", "1");
    world.write("theirs", "1");
    let id = world.take();
    world.write("mine", "2");
    let seen = world.take();
    world.write("theirs", "edited by hand");
    world.write("new", "by hand");
    let store = world.open();
    let rewind = |unseen| {
        let guard = Guard {
            expected: Some(seen),
            unseen,
        };
        store.restore(id, &What::default(), &guard)
    };
    let Err(Error::Unseen { paths, .. }) = rewind(Unseen::Refuse) else {
        panic!("it was not refused");
    };
    assert_eq!(paths, ["new", "theirs"]);
    assert_eq!(store.last().expect("a list").map(|r| r.id), Some(seen));
    assert!(
        world.shown().contains("\"mine\": 644 \"2\""),
        "{}",
        world.shown()
    );

    let report = rewind(Unseen::Keep).expect("a rewind");
    assert_eq!(report.changed, ["mine"]);
    assert_eq!(report.kept.len(), 2);
    assert!(
        world.shown().contains("edited by hand"),
        "{}",
        world.shown()
    );

    let report = rewind(Unseen::Overwrite).expect("a rewind");
    assert_eq!(report.changed, ["new", "theirs"]);
    insta::assert_snapshot!(world.shown(), @r#"
    "mine": 644 "1"
    "theirs": 644 "1"
    "#);
    world.rewind(report.before);
    assert!(
        world.shown().contains("edited by hand"),
        "{}",
        world.shown()
    );
}

#[test]
fn ignored_files_stay_out_and_stay_there() {
    let world = World::new();
    world.write(".gitignore", "target/\n*.log\n!keep.log\n");
    world.write("src/a.rs", "1");
    world.write("keep.log", "k");
    world.write("target/out", "built");
    world.write("x.log", "log");
    let id = world.take();
    let record = world.open().get(id).expect("it");
    assert_eq!(record.stats.files, 3);
    world.write("target/out", "built again");
    world.write("src/a.rs", "2");
    // Without its rules everything is in view; what was ignored then is left alone all the same.
    fs::remove_file(world.path(".gitignore")).expect("gone");
    world.take();
    let report = world.rewind(id);
    assert_eq!(report.kept, []);
    insta::assert_snapshot!(world.shown(), @r#"
    ".gitignore": 644 "target/\n*.log\n!keep.log\n"
    "keep.log": 644 "k"
    "src": dir 755
    "src/a.rs": 644 "1"
    "target": dir 755
    "target/out": 644 "built again"
    "x.log": 644 "log"
    "#);
    // Named, they are saved and come back.
    let scope = Scope {
        paths: vec![world.path("target"), "x.log".into(), "/etc/passwd".into()],
        ..Scope::default()
    };
    let named = world
        .open()
        .take("rm -rf target x.log", &scope)
        .expect("a checkpoint");
    assert_eq!(named.named, ["target", "x.log"]);
    fs::remove_dir_all(world.path("target")).expect("gone");
    fs::remove_file(world.path("x.log")).expect("gone");
    let report = world.rewind(named.id);
    assert_eq!(report.changed, ["target", "target/out", "x.log"]);
    assert_eq!(
        fs::read(world.path("target/out")).expect("back"),
        b"built again"
    );
}

#[test]
fn odd_files_are_left_out_and_said() {
    let mut world = World::new();
    world.limits.file_bytes = 100;
    world.write("small", "s");
    world.write("large", &"x".repeat(101));
    let _socket = std::os::unix::net::UnixListener::bind(world.path("socket")).expect("a socket");
    let id = world.take();
    let left: Vec<String> = world
        .open()
        .get(id)
        .expect("it")
        .left_out
        .iter()
        .map(|l| format!("{}: {}", l.path, l.why))
        .collect();
    assert_eq!(
        left,
        [
            "large: it is too large",
            "socket: it is a socket, pipe or device"
        ]
    );
    world.write("large", "now small");
    world.write("small", "t");
    world.take();
    let report = world.rewind(id);
    assert_eq!(report.changed, ["small"]);
    assert_eq!(fs::read(world.path("large")).expect("there"), b"now small");
    assert!(world.path("socket").exists());
}

#[test]
fn folders_that_are_no_project_are_refused() {
    let world = World::new();
    let check = |root: &Path, user: PathBuf, expect: &str| {
        let limits = Limits {
            user_home: Some(user),
            ..Limits::default()
        };
        let error = Checkpoints::open(&world.checkpoints(), root, limits).expect_err("a refusal");
        assert!(error.to_string().contains(expect), "{error}");
    };
    check(Path::new("/"), "/nobody".into(), "root of the file system");
    check(&world.root(), world.root(), "your home folder.");
    check(
        world.dir.path(),
        world.root(),
        "it contains your home folder",
    );
    assert!(!world.home().exists());
}

#[test]
fn too_much_degrades_to_the_files_that_change() {
    let check = |limit: fn(&mut Limits), why: Why| {
        let mut world = World::new();
        for i in 0..200 {
            world.write(&format!("many/{i}"), &format!("{i} {}", "x".repeat(500)));
        }
        world.write("a/b", "1");
        limit(&mut world.limits);
        let store = world.open();
        let error = store
            .take("shell", &Scope::default())
            .expect_err("too much");
        assert!(matches!(error, Error::Stopped(w, _) if w == why), "{error}");
        assert_eq!(store.list().expect("a list"), []);
        let scope = Scope {
            paths: vec![world.path("a/b"), world.path("new")],
            ..Scope::default()
        };
        let before = world.state();
        let record = store.take("write_file", &scope).expect("pre-images");
        assert_eq!((record.covers, record.degraded), (Covers::Paths, Some(why)));
        assert_eq!(record.stats.files, 1);
        fs::remove_dir_all(world.path("a")).expect("gone");
        world.write("new", "n");
        world.write("many/7", "not ours to rewind");
        let after = store.take("end of turn", &scope).expect("post-images");
        let guard = Guard {
            expected: Some(after.id),
            ..Guard::default()
        };
        let report = store
            .restore(record.id, &What::default(), &guard)
            .expect("a rewind");
        assert_eq!(report.kept, []);
        assert_eq!(report.changed, ["a", "a/b", "new"]);
        assert_eq!(
            fs::read(world.path("many/7")).expect("there"),
            b"not ours to rewind"
        );
        world.write("many/7", &format!("7 {}", "x".repeat(500)));
        assert_eq!(world.state(), before);
    };
    check(|l| l.files = 100, Why::Files);
    check(|l| l.quota = 50_000, Why::Quota);
}

#[test]
fn a_look_that_took_too_long_is_gone_on_with() {
    let mut world = World::new();
    for i in 0..300 {
        world.write(&format!("f{i}"), &i.to_string());
    }
    let whole = world.limits.time;
    world.limits.time = Duration::ZERO;
    let store = world.open();
    let error = store.take("first", &Scope::default()).expect_err("no time");
    assert!(matches!(error, Error::Stopped(Why::Time, _)), "{error}");
    assert!(store.bytes().expect("bytes") > 0, "what was read is kept");
    world.limits.time = whole;
    let id = world.take();
    let before = world.state();
    fs::remove_file(world.path("f1")).expect("gone");
    world.take();
    world.rewind(id);
    assert_eq!(world.state(), before);
}

#[test]
fn content_is_kept_once_and_the_quota_holds() {
    let mut world = World::new();
    let text = |n: usize| format!("{n}").repeat(20_000);
    world.write("a", &text(1));
    world.write("b", &text(1));
    world.take();
    let one = world.open().bytes().expect("bytes");
    assert!(one < 25_000, "{one}");
    let same = world.take();
    let record = world.open().get(same).expect("it");
    assert_eq!(record.stats.added, 0);
    world.limits.quota = 100_000;
    for n in 2..9 {
        world.write("a", &text(n));
        world.take();
    }
    let store = world.open();
    assert!(store.bytes().expect("bytes") <= 100_000);
    let ids: Vec<u64> = store.list().expect("a list").iter().map(|r| r.id).collect();
    assert_eq!(ids.last(), Some(&9));
    assert!(ids.len() >= 2 && ids.len() < 9, "{ids:?}");
    let oldest = *ids.first().expect("one");
    world.rewind(oldest);
    assert_eq!(fs::read(world.path("a")).expect("a").len(), 20_000);
    let collected = store.gc(0).expect("room");
    assert!(
        collected.bytes_after < collected.bytes_before,
        "{collected:?}"
    );
    let left = store.list().expect("a list");
    assert_eq!(left.len(), 1);
    assert_eq!(
        paths(&store.diff(left[0].id, Point::Now).expect("whole")),
        ""
    );
}

#[test]
fn many_checkpoints_are_made_into_few_packs() {
    let world = World::new();
    let store = world.open();
    for n in 0..140 {
        world.write("a", &n.to_string());
        store.take("test", &Scope::default()).expect("a checkpoint");
    }
    let packs = Packs::open(&store.packs_dir()).expect("packs");
    assert!(packs.list.len() <= 130, "{}", packs.list.len());
    world.rewind(3);
    assert_eq!(fs::read(world.path("a")).expect("a"), b"2");
}

#[test]
fn tracked_files_are_saved_though_ignored_and_git_comes_back_on_request() {
    let world = World::new();
    if !random::git(&world.root(), &["init", "-q", "-b", "main"]) {
        return;
    }
    world.write(".gitignore", "*.lock\nout/\n");
    world.write("a", "1");
    world.write("b.lock", "tracked");
    world.write("out/kept", "tracked");
    world.write("out/other", "ignored");
    random::git(
        &world.root(),
        &["add", "-f", "a", "b.lock", "out/kept", ".gitignore"],
    );
    random::git(&world.root(), &["commit", "-q", "-m", "one"]);
    let before = world.state();
    let id = world.take();
    assert_eq!(world.open().get(id).expect("it").stats.files, 4);
    let head = || fs::read_to_string(world.path(".git/refs/heads/main")).expect("a ref");
    let first = head();
    world.write("a", "2");
    fs::remove_file(world.path("b.lock")).expect("gone");
    fs::remove_file(world.path("out/kept")).expect("gone");
    random::git(&world.root(), &["commit", "-q", "-a", "-m", "two"]);
    random::git(&world.root(), &["tag", "later"]);
    world.take();
    let second = head();
    let report = world.rewind(id);
    assert_eq!(report.changed, ["a", "b.lock", "out/kept"]);
    assert_eq!(world.state(), before);
    assert_eq!(head(), second, "git was not asked for");
    let what = What {
        git: Git::Restored,
        ..What::default()
    };
    let store = world.open();
    let report = store
        .restore(id, &what, &Guard::default())
        .expect("a rewind");
    assert_eq!(
        report.changed,
        [".git/index", ".git/refs/heads/main", ".git/refs/tags/later"]
    );
    assert_eq!(head(), first);
    assert!(random::git(&world.root(), &["diff", "--quiet", "HEAD"]));
}

#[test]
fn a_part_of_the_tree_can_be_asked_for() {
    let world = World::new();
    world.write("a/x", "1");
    world.write("b/x", "1");
    let id = world.take();
    fs::remove_dir_all(world.path("a")).expect("gone");
    world.write("b/x", "2");
    world.take();
    let what = What {
        paths: vec!["a/x".into()],
        ..What::default()
    };
    let report = world
        .open()
        .restore(id, &what, &Guard::default())
        .expect("a rewind");
    assert_eq!(report.changed, ["a", "a/x"]);
    assert_eq!(fs::read(world.path("b/x")).expect("b"), b"2");
}

#[test]
fn a_link_to_elsewhere_is_not_written_through() {
    let world = World::new();
    let outside = world.dir.path().join("outside");
    fs::create_dir(&outside).expect("a folder");
    world.write("d/f", "inside");
    let id = world.take();
    fs::remove_dir_all(world.path("d")).expect("gone");
    symlink(&outside, world.path("d")).expect("a link");
    fs::write(outside.join("f"), "outside").expect("a file");
    world.take();
    world.rewind(id);
    assert_eq!(fs::read(outside.join("f")).expect("untouched"), b"outside");
    assert_eq!(fs::read(world.path("d/f")).expect("back"), b"inside");
}

#[test]
fn paths_in_records_can_be_read_back() {
    let check = |bytes: &[u8], text: &str| {
        assert_eq!(tree::quote(bytes), text);
        assert_eq!(tree::unquote(text), bytes);
    };
    check(b"a/b c", "a/b c");
    check(b"a\\b", "a\\\\b");
    check(b"\\x41", "\\\\x41");
    check(b"\xff\xfe/\xc3\xa9", "\\xff\\xfe/é");
}

#[test]
fn our_own_files_in_the_root_are_not_part_of_it() {
    let mut world = World::new();
    world.write(".ostler/log", "1");
    world.write("a", "1");
    world.limits.excluded = vec![world.path(".ostler")];
    let id = world.take();
    world.write(".ostler/log", "2");
    world.write("a", "2");
    world.take();
    assert_eq!(world.rewind(id).changed, ["a"]);
    assert_eq!(fs::read(world.path(".ostler/log")).expect("a log"), b"2");
}

#[test]
fn two_sessions_in_one_tree_wait_for_each_other() {
    let world = World::new();
    world.write("a", "1");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let store = world.open();
            std::thread::spawn(move || {
                store
                    .take("both", &Scope::default())
                    .expect("a checkpoint")
                    .id
            })
        })
        .collect();
    let mut ids: Vec<u64> = threads
        .into_iter()
        .map(|t| t.join().expect("no panic"))
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4]);
    let mut impatient = world.open();
    impatient.limits.wait = Duration::ZERO;
    let _held = world.open().lock().expect("the lock");
    let error = impatient.take("no", &Scope::default()).expect_err("busy");
    assert!(matches!(error, Error::Busy), "{error}");
}

/// What an earlier checkpoint of the session has stays in the later ones, whatever is ignored by then.
#[test]
fn rules_that_come_later_take_nothing_out() {
    let world = World::new();
    history::git(&world.root(), &["init", "-q", "-b", "main"]);
    for (path, content) in [
        (".gitignore", "*.log\ntracked\n"),
        ("notes", "1"),
        ("deep/er/plan", "1"),
        ("always.log", "ignored from the start"),
        ("tracked", "1"),
    ] {
        world.write(path, content);
    }
    history::git(&world.root(), &["add", "-f", "tracked"]);
    let keep = |follows: &[u64], paths: &[&str]| {
        let scope = Scope {
            follows: follows.to_vec(),
            paths: paths.iter().map(|path| world.path(path)).collect(),
            ..Scope::default()
        };
        world.open().keep("test", &scope).expect("a checkpoint").id
    };
    let first = keep(&[], &["always.log"]);
    world.write(".git/info/exclude", "notes\n/deep\n");
    history::git(&world.root(), &["rm", "-q", "--cached", "tracked"]);
    fs::remove_file(world.path("notes")).expect("gone");
    let second = keep(&[first], &[]);
    // The person writes on, and makes a file again.
    let theirs = ["notes", "deep/er/plan", "tracked"];
    theirs.iter().for_each(|path| world.write(path, "theirs"));
    world.write("deep/new", "ignored from the start");
    let third = keep(&[first, second], &[]);
    let files = |id: u64| -> Vec<String> {
        let tree = world.open().get(id).expect("it").tree_hash().expect("one");
        let mut packs = Packs::open(&world.open().packs_dir()).expect("packs");
        let found = restore::files_of(&tree, &mut |hash| packs.read(hash)).expect("files");
        found.into_iter().map(|path| tree::quote(&path)).collect()
    };
    assert_eq!(files(second), [".gitignore", "deep/er/plan", "tracked"]);
    let all = [".gitignore", "deep/er/plan", "notes", "tracked"];
    assert_eq!(files(third), all);
    // Another session begins with the rules as they are.
    assert_eq!(files(keep(&[], &[])), [".gitignore"]);
    for path in theirs {
        fs::remove_file(world.path(path)).expect("gone");
    }
    keep(&[first, second, third], &[]);
    world.rewind(third);
    for path in theirs {
        let text = fs::read_to_string(world.path(path)).expect("it is back");
        assert_eq!(text, "theirs", "{path}");
    }
}
