//! What commands take of a history while it is measured, by the real git.

use super::history::git;
use super::*;

/// A repository with two branches, at least one object of which is nowhere but in a file of its own.
fn repository(root: &Path) {
    git(root, &["init", "-q", "-b", "main"]);
    commit(root, "a");
    git(root, &["branch", "side"]);
    commit(root, "b");
}

fn commit(root: &Path, name: &str) {
    fs::write(root.join(name), name).expect("a file");
    git(root, &["add", name]);
    git(root, &["commit", "-qm", name]);
}

/// The file of an object, below the git folder.
fn object(root: &Path, what: &str) -> String {
    let id = git(root, &["rev-parse", what]);
    let (folder, name) = id.trim().split_at(2);
    format!("objects/{folder}/{name}")
}

fn measure(world: &World) -> HistoryNames {
    HistoryNames::look(&world.root(), None).expect("a repository")
}

fn mend(world: &World, measure: &mut HistoryNames) -> (Vec<String>, Vec<String>) {
    let Mended { back, gone } = measure.mend(|| Ok(Some(world.open())));
    (back, gone)
}

const NOTHING: (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());

#[test]
fn what_a_later_checkpoint_lacks_comes_from_an_earlier_one() {
    let world = World::new();
    let root = world.root();
    repository(&root);
    world.take();
    let mut measured = measure(&world);
    let dot = root.join(".git");
    for (path, name) in [
        (object(&root, "HEAD~1^{tree}"), ".git/objects"),
        ("refs/heads/side".into(), ".git/refs/heads/side"),
    ] {
        fs::remove_file(dot.join(path)).expect("gone");
        // Other work goes on, and takes a checkpoint of what is left.
        commit(&root, &format!("of-{}", name.len()));
        world.take();
        let back = vec![name.to_owned()];
        assert_eq!(mend(&world, &mut measured), (back, Vec::new()));
    }
    git(&root, &["fsck", "--full", "--strict"]);
    assert_eq!(git(&root, &["log", "--oneline", "side"]).lines().count(), 1);
    assert_eq!(mend(&world, &mut measured), NOTHING);
}

#[test]
fn the_time_of_a_folder_hides_nothing() {
    let world = World::new();
    let root = world.root();
    repository(&root);
    world.take();
    let object = root.join(".git").join(object(&root, "HEAD~1"));
    let folder = object.parent().expect("a folder").to_owned();
    let times = || {
        fs::metadata(&folder)
            .expect("facts")
            .modified()
            .expect("a time")
    };
    let before = times();
    // Old enough that its time tells of a change.
    let age = || before.elapsed().unwrap_or_default();
    while age() < Duration::from_millis(60) {
        std::thread::yield_now();
    }
    let mut measured = measure(&world);
    fs::remove_file(&object).expect("gone");
    let opened = File::open(&folder).expect("a folder");
    let same = fs::FileTimes::new().set_modified(before);
    opened.set_times(same).expect("a time");
    assert_eq!(times(), before);
    let back = vec![".git/objects".to_owned()];
    assert_eq!(mend(&world, &mut measured), (back, Vec::new()));
    assert!(object.exists());
}

#[test]
fn a_file_in_the_place_of_the_objects_is_moved_aside() {
    let world = World::new();
    let root = world.root();
    repository(&root);
    world.take();
    let mut measured = measure(&world);
    fs::remove_dir_all(root.join(".git/objects")).expect("gone");
    fs::write(root.join(".git/objects"), "").expect("a file");
    let back = vec![".git/objects".to_owned()];
    assert_eq!(mend(&world, &mut measured), (back, Vec::new()));
    git(&root, &["fsck", "--full", "--strict"]);
}

#[test]
fn what_came_while_it_was_measured_belongs_to_it() {
    let world = World::new();
    let root = world.root();
    repository(&root);
    world.take();
    let mut measured = measure(&world);
    commit(&root, "c");
    assert_eq!(mend(&world, &mut measured), NOTHING);
    let new = root.join(".git").join(object(&root, "HEAD"));
    fs::remove_file(&new).expect("gone");
    // It is in no checkpoint, which is said once.
    let gone = vec![".git/objects".to_owned()];
    assert_eq!(mend(&world, &mut measured), (Vec::new(), gone));
    assert_eq!(mend(&world, &mut measured), NOTHING);
}

#[test]
fn nothing_is_hidden_by_more_than_can_be_looked_at() {
    let world = World::new();
    let root = world.root();
    repository(&root);
    world.take();
    let mut measured = measure(&world);
    let dot = root.join(".git");
    for number in 0..=super::super::lost::MAX_FOLDERS {
        fs::create_dir(dot.join(format!("refs/{number}"))).expect("a folder");
    }
    fs::remove_file(dot.join(object(&root, "HEAD~1"))).expect("gone");
    let back = vec![".git/objects".to_owned()];
    assert_eq!(mend(&world, &mut measured), (back, Vec::new()));
}

#[test]
fn a_store_that_cannot_be_opened_now_is_tried_again() {
    let world = World::new();
    let root = world.root();
    repository(&root);
    world.take();
    let mut measured = measure(&world);
    for part in ["refs", "logs"] {
        fs::remove_dir_all(root.join(".git").join(part)).expect("gone");
    }
    let Mended { back, gone } = measured.mend(|| Err(Error::Busy));
    assert!(
        back.is_empty() && gone.contains(&".git/refs/heads/side".to_owned()),
        "{gone:?}"
    );
    let (back, gone) = mend(&world, &mut measured);
    assert!(
        gone.is_empty() && back.contains(&".git/refs/heads/side".to_owned()),
        "{back:?} {gone:?}"
    );
    // Without a store it is named.
    fs::remove_dir_all(root.join(".git/objects")).expect("gone");
    let Mended { back, gone } = measured.mend(|| Ok(None));
    assert_eq!((back.len(), gone), (0, vec![".git/objects".to_owned()]));
}

#[test]
fn a_linked_working_tree_is_measured_where_its_repository_lies() {
    let world = World::new();
    let main = world.dir.path().join("main");
    fs::create_dir(&main).expect("a folder");
    repository(&main);
    fs::remove_dir(world.root()).expect("it is empty");
    git(&main, &["worktree", "add", "-q", "-b", "linked", "../root"]);
    git(&main, &["worktree", "add", "-q", "-b", "more", "../more"]);
    let root = world.root();
    world.take();
    let mut measured = measure(&world);
    let dot = fs::canonicalize(main.join(".git")).expect("it");
    fs::remove_file(dot.join(object(&main, "main~1"))).expect("gone");
    fs::remove_file(dot.join("worktrees/root/HEAD")).expect("gone");
    fs::remove_file(dot.join("refs/heads/side")).expect("gone");
    let shown = |name: &str| dot.join(name).display().to_string();
    let back = ["refs/heads/side", "worktrees/root/HEAD", "objects"].map(shown);
    assert_eq!(mend(&world, &mut measured), (back.to_vec(), Vec::new()));
    git(&root, &["fsck", "--full", "--strict"]);
    assert_eq!(git(&root, &["status", "--porcelain"]), "");
    // Git takes a whole one away.
    git(&root, &["worktree", "remove", "../more"]);
    assert_eq!(mend(&world, &mut measured), NOTHING);
}

#[test]
fn what_git_removes_stays_removed() {
    let world = World::new();
    let root = world.root();
    repository(&root);
    world.take();
    let mut measured = measure(&world);
    let mut run = |args: &[&str]| {
        git(&root, args);
        assert_eq!(mend(&world, &mut measured), NOTHING, "{args:?}");
    };
    let all: [&[&str]; 8] = [
        &["branch", "other"],
        &["branch", "-D", "other"],
        &["tag", "t"],
        &["tag", "-d", "t"],
        &["pack-refs", "--all"],
        &["gc", "-q"],
        &["branch", "-D", "side"],
        &["gc", "-q"],
    ];
    all.iter().for_each(|args| run(args));
    world.take();
    let saved = git(&root, &["rev-parse", "HEAD"]);
    commit(&root, "c");
    git(&root, &["gc", "-q"]);
    assert_eq!(mend(&world, &mut measured), NOTHING);
    // All that was packed is measured still.
    fs::remove_dir_all(root.join(".git/objects/pack")).expect("gone");
    let (back, _) = mend(&world, &mut measured);
    assert_eq!(back, [".git/objects"]);
    git(&root, &["log", "--format=%s", saved.trim()]);
}
