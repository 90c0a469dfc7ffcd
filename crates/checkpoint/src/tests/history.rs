//! The repository's history: removed with everything else and brought back, by the real git.

use super::*;

/// What git prints in a folder; nothing of the person's own settings counts.
pub(super) fn git(at: &Path, args: &[&str]) -> String {
    let out = std::process::Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
        .args(["-c", "commit.gpgSign=false", "-c", "gc.auto=0"])
        .args(args)
        .current_dir(at)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .expect("git");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{args:?}: {out:?}");
    text
}

/// All that people look for in a history.
fn history(at: &Path) -> String {
    let parts: [&[&str]; 6] = [
        &["log", "--all", "--format=%H %s", "--name-only"],
        &["for-each-ref"],
        &["stash", "list"],
        &["reflog"],
        &["status", "--porcelain"],
        &["worktree", "list"],
    ];
    let text = parts.map(|args| git(at, args)).join("---\n");
    // A note of what nobody refers to any more goes to stdout, too.
    let found = git(at, &["fsck", "--full", "--strict", "--no-dangling"]);
    format!("{text}{found}")
}

/// A clone that borrows objects of another repository, with packs, single objects, a tag, a stash and a second working tree.
fn rich(world: &World) {
    let base = world.dir.path().join("base");
    fs::create_dir(&base).expect("a folder");
    git(&base, &["init", "-q", "-b", "main"]);
    fs::write(base.join("a"), "1").expect("a file");
    git(&base, &["add", "."]);
    git(&base, &["commit", "-qm", "borrowed"]);
    let root = world.root();
    git(
        world.dir.path(),
        &["clone", "-q", "--shared", "base", "root"],
    );
    for text in ["2", "3"] {
        world.write("a", text);
        git(&root, &["commit", "-qam", "packed"]);
    }
    git(&root, &["repack", "-qadl"]);
    git(&root, &["pack-refs", "--all"]);
    world.write("sub/b", "new");
    git(&root, &["add", "."]);
    git(&root, &["commit", "-qm", "single"]);
    git(&root, &["tag", "-am", "a tag", "v1"]);
    world.write("a", "stashed");
    git(&root, &["stash", "-q"]);
    git(&root, &["worktree", "add", "-q", "-b", "other", "../other"]);
    world.write("staged", "x");
    git(&root, &["add", "staged"]);
}

/// As `rm -rf .git *` does.
fn remove_all(root: &Path) {
    for entry in fs::read_dir(root).expect("a folder").flatten() {
        let path = entry.path();
        let is_folder = fs::symlink_metadata(&path).expect("facts").is_dir();
        let gone = if is_folder {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        };
        gone.expect("gone");
    }
}

#[test]
fn history_comes_back_with_the_tree_it_belongs_to() {
    let world = World::new();
    rich(&world);
    let (before, tree) = (history(&world.root()), world.state());
    let other = history(&world.dir.path().join("other"));
    let id = world.take();
    assert_eq!(
        world.open().get(id).expect("it").history.expect("it").left,
        0
    );
    world.write("sub/b", "later");
    world.take();
    world.open().gc(1 << 30).expect("room");
    remove_all(&world.root());
    let report = world.rewind(id);
    assert_eq!(report.kept, []);
    assert!(
        report.changed.contains(&".git/objects".to_owned()),
        "{report:?}"
    );
    assert_eq!(world.state(), tree);
    assert_eq!(history(&world.root()), before);
    assert_eq!(history(&world.dir.path().join("other")), other);
    // A second time there is nothing to do.
    let what = What {
        git: Git::Restored,
        ..What::default()
    };
    let store = world.open();
    let report = store
        .restore(id, &what, &Guard::default())
        .expect("a rewind");
    assert_eq!(report.changed, [] as [&str; 0]);
}

#[test]
fn parts_of_a_git_folder_come_back_and_new_objects_stay() {
    for gone in ["objects", "refs", "HEAD", "packed-refs"] {
        let world = World::new();
        rich(&world);
        let before = history(&world.root());
        let id = world.take();
        git(&world.root(), &["commit", "-qm", "later"]);
        let later = git(&world.root(), &["rev-parse", "HEAD"]);
        world.take();
        let path = world.path(".git").join(gone);
        let removed = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.expect("gone");
        let what = What {
            git: Git::Restored,
            ..What::default()
        };
        let store = world.open();
        let guard = Guard {
            unseen: Unseen::Overwrite,
            ..Guard::default()
        };
        store.restore(id, &what, &guard).expect("a rewind");
        // The reflog has what came later.
        let plain = |text: &str| {
            let lines = text.lines().filter(|l| !l.contains("HEAD@{"));
            lines.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(plain(&history(&world.root())), plain(&before), "{gone}");
        if gone != "objects" {
            git(&world.root(), &["cat-file", "-e", later.trim()]);
        }
    }
}

#[test]
fn damaged_objects_are_replaced_and_what_stands_in_the_way_is_moved_aside() {
    let objects = |world: &World, act: &dyn Fn(&Path)| {
        let dot = world.path(".git/objects");
        for folder in fs::read_dir(&dot).expect("objects").flatten() {
            for file in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                act(&file.path());
            }
        }
    };
    let cut = |path: &Path| {
        let _ = fs::remove_file(path);
        fs::write(path, "").expect("a file without content");
    };
    for name in ["cut", "file"] {
        let world = World::new();
        rich(&world);
        let before = history(&world.root());
        let id = world.take();
        match name {
            "cut" => objects(&world, &cut),
            _ => {
                fs::remove_dir_all(world.path(".git/objects")).expect("gone");
                fs::write(world.path(".git/objects"), "").expect("a file");
            }
        }
        let what = What {
            git: Git::Restored,
            ..What::default()
        };
        let guard = Guard {
            unseen: Unseen::Overwrite,
            ..Guard::default()
        };
        world.open().restore(id, &what, &guard).expect("a rewind");
        assert_eq!(history(&world.root()), before, "{name}");
        git(&world.root(), &["fsck", "--full"]);
    }
}

#[test]
fn objects_are_looked_at_when_a_ref_has_changed() {
    let world = World::new();
    rich(&world);
    let files = |id: u64| world.open().get(id).expect("it").history.expect("it").files;
    let first = world.take();
    // An object that no ref leads to, and a changed index.
    world.write("staged", "y");
    git(&world.root(), &["add", "staged"]);
    let second = world.take();
    assert_eq!(files(first), files(second));
    git(&world.root(), &["commit", "-qm", "later"]);
    let third = world.take();
    assert_ne!(files(second), files(third));
}

fn noise(seed: u32, blocks: u32) -> Vec<u8> {
    let block = |n: u32| pack::hash(&[seed.to_le_bytes(), n.to_le_bytes()].concat());
    (0..blocks).flat_map(block).collect()
}

/// Over the limit, in one pack, where objects are differences of others.
fn large(root: &Path) {
    git(root, &["init", "-q", "-b", "main"]);
    fs::write(root.join("large"), noise(1, 100_000)).expect("a file");
    fs::write(root.join("medium"), noise(2, 3_000)).expect("a file");
    git(root, &["add", "."]);
    git(root, &["commit", "-qm", "old"]);
}

fn change(root: &Path) {
    for round in 0..4_u8 {
        let mut medium = noise(2, 3_000);
        medium[usize::from(round) * 100] ^= 1;
        fs::write(root.join("medium"), medium).expect("a file");
        fs::create_dir_all(root.join("deep/er")).expect("folders");
        fs::write(root.join("deep/er/small"), [round]).expect("a file");
        git(root, &["add", "."]);
        git(root, &["commit", "-qm", &format!("new {round}")]);
    }
    git(root, &["tag", "-am", "a tag", "v1"]);
    fs::write(root.join("medium"), noise(2, 2_999)).expect("a file");
    git(root, &["stash", "-q"]);
    git(root, &["gc", "-q"]);
}

#[test]
fn over_the_limit_what_no_remote_has_is_kept() {
    let mut world = World::new();
    let (root, base) = (world.root(), world.dir.path().join("base"));
    fs::create_dir(&base).expect("a folder");
    large(&base);
    git(
        world.dir.path(),
        &["clone", "-q", "--no-local", "base", "root"],
    );
    change(&root);
    world.limits.history = 1 << 20;
    let before = history(&root);
    let id = world.take();
    let known = world.open().get(id).expect("it").history.expect("it");
    assert!(known.left > 2 << 20 && !known.lacks, "{known:?}");
    remove_all(&root);
    let report = world.rewind(id);
    let kept: Vec<(&str, &Told)> = report.kept.iter().map(|k| (&*k.path, &k.why)).collect();
    assert_eq!(kept, [(".git/objects", &Word::CpHistoryInPart.into())]);
    assert_eq!(
        git(&root, &["cat-file", "-p", "HEAD:deep/er/small"]),
        "\u{3}"
    );
    git(&root, &["cat-file", "-e", "stash@{0}:medium"]);
    // The rest comes from there.
    git(&root, &["fetch", "-q"]);
    assert_eq!(history(&root), before);
    // Where everything is, nothing is added.
    git(&root, &["gc", "-q", "--prune=now"]);
    let what = What {
        git: Git::Restored,
        ..What::default()
    };
    let guard = Guard {
        unseen: Unseen::Overwrite,
        ..Guard::default()
    };
    let report = world.open().restore(id, &what, &guard).expect("a rewind");
    assert!(
        !report.changed.contains(&".git/objects".to_owned()),
        "{report:?}"
    );
}

#[test]
fn over_the_limit_without_a_remote_the_newest_is_kept_and_it_is_said() {
    let mut world = World::new();
    let root = world.root();
    large(&root);
    change(&root);
    world.limits.history = 1 << 20;
    let id = world.take();
    let known = world.open().get(id).expect("it").history.expect("it");
    assert!(known.left > 2 << 20 && known.lacks, "{known:?}");
    remove_all(&root);
    world.rewind(id);
    let commit = git(&root, &["cat-file", "-p", "HEAD"]);
    assert!(commit.ends_with("\n\nnew 3\n"), "{commit}");
    assert_eq!(
        git(&root, &["cat-file", "-p", "HEAD:deep/er/small"]),
        "\u{3}"
    );
    // None at all is a choice, and nothing is said of it.
    world.limits.history = 0;
    git(&root, &["tag", "later"]);
    let id = world.take();
    let known = world.open().get(id).expect("it").history.expect("it");
    assert_eq!((known.files, known.lacks), (None, false));
}

/// Whatever lies where the repository was, nothing is written through it or around it.
#[test]
fn nothing_is_written_elsewhere() {
    let world = World::new();
    // Around the root there is another repository.
    git(world.dir.path(), &["init", "-q", "-b", "outer"]);
    git(
        world.dir.path(),
        &["commit", "-q", "--allow-empty", "-m", "outer"],
    );
    let outer = || {
        let files = ["HEAD", "refs/heads/outer", "logs/HEAD"];
        files.map(|name| fs::read(world.dir.path().join(".git").join(name)).expect("a file"))
    };
    let before = outer();
    git(&world.root(), &["init", "-q", "-b", "main"]);
    git(
        &world.root(),
        &["commit", "-q", "--allow-empty", "-m", "inner"],
    );
    let id = world.take();
    remove_all(&world.root());
    let what = What {
        git: Git::Restored,
        ..What::default()
    };
    let restore = || {
        let store = world.open();
        let guard = Guard {
            unseen: Unseen::Overwrite,
            ..Guard::default()
        };
        store.restore(id, &what, &guard)
    };
    let elsewhere = world.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    for make in [
        |to: &Path, dot: &Path| symlink(to, dot),
        |to: &Path, dot: &Path| fs::write(dot, format!("gitdir: {}\n", to.display())),
    ] {
        make(&elsewhere, &world.path(".git")).expect("a way out");
        // It may refuse or leave it out.
        let _told = restore();
        let found: Vec<_> = fs::read_dir(&elsewhere).expect("a folder").collect();
        assert!(found.is_empty(), "{found:?}");
        fs::remove_file(world.path(".git")).expect("gone");
    }
    restore().expect("a rewind");
    let told = git(&world.root(), &["log", "--format=%s"]);
    assert_eq!((told.as_str(), outer()), ("inner\n", before));
}

/// Pipes where git keeps its files: nothing waits for them.
#[test]
fn pipes_in_a_git_folder_are_not_waited_for() {
    let mut world = World::new();
    rich(&world);
    // Over the limit, so that objects are read one by one.
    world.limits.history = 100_000;
    fs::write(world.path(".git/objects/pack/tail"), noise(3, 5_000)).expect("a file");
    let name = git(&world.root(), &["rev-parse", "HEAD"]);
    let (folder, rest) = name.trim().split_at(2);
    let object = format!("objects/{folder}/{rest}");
    for name in [
        "index",
        "HEAD",
        "packed-refs",
        "logs/HEAD",
        &object,
        "objects/pack/x.idx",
    ] {
        let path = world.path(".git").join(name);
        let _absent = fs::remove_file(&path);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo").success());
        world.take();
    }
}
