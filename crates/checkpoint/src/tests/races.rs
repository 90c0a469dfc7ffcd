//! A process of the session exchanges folders of the project for links all the time, while checkpoints are taken and
//! brought back: nothing outside of the project changes, and nothing of it is stored.

use super::*;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::sync::atomic::{AtomicBool, Ordering};

const FOLDERS: usize = 8;
const FILES: usize = 24;
const ROUNDS: usize = 40;
const SECRET: &str = "TOPSECRET-4711";

/// Runs `work` while each of these pairs is exchanged in one step, again and again.
pub(super) fn while_exchanged(pairs: &[(PathBuf, PathBuf)], work: impl FnOnce()) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for (one, other) in pairs {
                    // One of them may be gone at this moment.
                    let _ = renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
                }
            }
        });
        let work = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        over.store(true, Ordering::Relaxed);
        if let Err(panic) = work {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Folders `d0`… with files, and a link to a folder of the person beside each of them.
fn trap(world: &World) -> (PathBuf, Vec<(PathBuf, PathBuf)>) {
    let outside = world.dir.path().join("outside");
    fs::create_dir(&outside).expect("a folder");
    world.write(".gitignore", "ig\n");
    fs::create_dir(world.path("ig")).expect("a folder");
    let pair = |n: usize| {
        let link = world.path(&format!("ig/x{n}"));
        symlink(&outside, &link).expect("a link");
        (world.path(&format!("d{n}")), link)
    };
    let pairs = (0..FOLDERS).map(pair).collect();
    (outside, pairs)
}

fn fill(world: &World, text: &str) {
    for folder in 0..FOLDERS {
        for file in 0..FILES {
            world.write(&format!("d{folder}/rc{file}"), &format!("{text} {file}\n"));
        }
    }
}

#[test]
fn a_restore_writes_nothing_through_a_folder_that_becomes_a_link() {
    let world = World::new();
    let (outside, pairs) = trap(&world);
    let mine = outside.join("rc0");
    fs::write(&mine, "mine\n").expect("a file");
    fill(&world, "evil");
    let store = world.open();
    let evil = store.get(world.take()).expect("a record");
    for round in 0..ROUNDS {
        for (folder, link) in &pairs {
            if folder.is_symlink() {
                renameat_with(CWD, folder, CWD, link, RenameFlags::EXCHANGE).expect("back");
            }
            fs::remove_dir_all(folder).expect("gone");
            fs::create_dir(folder).expect("a folder");
        }
        let mut packs = Packs::open(&store.packs_dir()).expect("packs");
        let hash = evil.tree_hash().expect("a hash");
        let all = tree::diff(None, Some(&hash), &mut |h| packs.read(h)).expect("changes");
        let is_file = |change: &tree::Difference| matches!(change.after, Some(Node::File { .. }));
        // As planned a moment ago, when all folders were folders.
        let files: Vec<_> = all.into_iter().filter(is_file).collect();
        let cache = Cache::default();
        while_exchanged(&pairs, || {
            let mut apply = apply::Apply::new(&store.folder, &mut packs, &cache);
            apply.run(&files);
        });
        let names: Vec<_> = fs::read_dir(&outside)
            .expect("a folder")
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(names, ["rc0"], "round {round}");
        assert_eq!(fs::read_to_string(&mine).expect("a file"), "mine\n");
    }
}

#[test]
fn whole_restores_do_not_leave_the_project() {
    let world = World::new();
    let (outside, pairs) = trap(&world);
    fill(&world, "evil");
    let evil = world.take();
    fill(&world, "other");
    let other = world.take();
    let guard = Guard {
        expected: None,
        unseen: Unseen::Overwrite,
    };
    let mut changed = 0;
    while_exchanged(&pairs, || {
        for round in 0..ROUNDS / 2 {
            let to = if round % 2 == 0 { evil } else { other };
            // It may fail and say so; it may not follow.
            let done = world.open().restore(to, &What::default(), &guard);
            changed += done.map_or(0, |report| report.changed.len());
            assert_eq!(fs::read_dir(&outside).expect("a folder").count(), 0);
        }
    });
    assert!(changed > 0, "nothing was brought back");
}

#[test]
fn a_checkpoint_stores_nothing_through_a_folder_that_becomes_a_link() {
    let world = World::new();
    let (outside, pairs) = trap(&world);
    for file in 0..FILES {
        fs::write(outside.join(format!("rc{file}")), SECRET).expect("a file");
    }
    fill(&world, "decoy");
    let mut taken = 0;
    while_exchanged(&pairs, || {
        for _ in 0..ROUNDS {
            let result = world.open().take("test", &Scope::default());
            taken += usize::from(result.is_ok());
        }
    });
    assert!(taken > 0, "no checkpoint was taken");
    for pack in fs::read_dir(world.checkpoints().join("packs")).expect("packs") {
        let bytes = fs::read(pack.expect("an entry").path()).expect("a pack");
        let found = bytes
            .windows(SECRET.len())
            .any(|piece| piece == SECRET.as_bytes());
        assert!(!found, "a file of the person is in the checkpoint");
    }
}
