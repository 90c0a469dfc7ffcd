//! The process ends, or the disk is full, at every single step of a checkpoint: older ones stay whole, no half one shows.

use super::*;
use disk::{Fault, FaultKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// More steps than a checkpoint or a collection makes here.
const MAX_STEPS: i64 = 200;

fn faulty(world: &World, left: i64, kind: FaultKind) -> Checkpoints {
    let mut store = world.open();
    store.disk.fault = Some(Arc::new(Fault {
        left: AtomicI64::new(left),
        kind,
    }));
    store
}

fn steps_left(store: &Checkpoints) -> i64 {
    store
        .disk
        .fault
        .as_ref()
        .map_or(0, |f| f.left.load(Ordering::Relaxed))
}

fn check(kind: FaultKind) {
    for left in 0..MAX_STEPS {
        let world = World::new();
        world.write("a", "1");
        world.write("large", &"0123456789".repeat(110_000));
        let first = (world.take(), world.state());
        world.write("a", "2");
        world.write("large", &"9876543210".repeat(110_000));
        world.write("b/c", "new");
        let second = world.state();
        let store = faulty(&world, left, kind);
        let taken = store.take("ends", &Scope::default());
        let over = steps_left(&store) < 0;
        let store = world.open();
        if taken.is_err() {
            assert_eq!(store.list().expect("a list").len(), 1, "step {left}");
        }
        if kind == FaultKind::Full {
            let full = matches!(taken, Ok(_) | Err(Error::Full(_)));
            assert!(full, "step {left}: {taken:?}");
            let junk = walk(&world.home())
                .into_iter()
                .filter(|p| p.extension().is_some_and(|e| e == TEMP));
            assert_eq!(
                junk.collect::<Vec<_>>(),
                Vec::<PathBuf>::new(),
                "step {left}"
            );
        }
        let id = world.take();
        world.rewind(first.0);
        assert_eq!(world.state(), first.1, "step {left}");
        world.rewind(id);
        assert_eq!(world.state(), second, "step {left}");
        if !over {
            assert!(left > 5, "it makes steps");
            return;
        }
    }
    panic!("more steps than expected");
}

fn walk(dir: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            out.extend(walk(&path));
        }
        out.push(path);
    }
    out
}

#[test]
fn killed_at_any_step_older_checkpoints_are_whole() {
    check(FaultKind::Killed);
}

#[test]
fn a_full_disk_is_said_and_leaves_nothing_behind() {
    check(FaultKind::Full);
}

#[test]
fn a_collection_killed_at_any_step_loses_nothing_that_stays() {
    for left in 0..MAX_STEPS {
        let world = World::new();
        for n in 0..6 {
            world.write("a", &n.to_string().repeat(1000));
            world.write(&format!("f{n}"), &format!("-{n}").repeat(1000));
            world.take();
        }
        let before = world.state();
        let store = faulty(&world, left, FaultKind::Killed);
        let collected = store.gc(9_000);
        let over = steps_left(&store) < 0;
        let store = world.open();
        let last = store.last().expect("readable").expect("one").id;
        assert_eq!(last, 6);
        assert_eq!(
            paths(&store.diff(last, Point::Now).expect("whole")),
            "",
            "step {left}"
        );
        fs::remove_file(world.path("a")).expect("gone");
        fs::remove_file(world.path("f0")).expect("gone");
        world.take();
        for record in store.list().expect("a list") {
            let mut packs = Packs::open(&store.packs_dir()).expect("packs");
            let hash = record.tree_hash().expect("a hash");
            restore::files_of(&hash, &mut |h| packs.read(h)).expect("whole");
        }
        world.rewind(last);
        assert_eq!(world.state(), before, "step {left}");
        if !over {
            let collected = collected.expect("collected");
            assert!(!collected.removed.is_empty(), "{collected:?}");
            return;
        }
    }
    panic!("more steps than expected");
}

#[test]
fn damage_is_noticed_before_a_file_is_touched() {
    let world = World::new();
    world.write("a", &"one ".repeat(100));
    world.write("b", "b");
    let id = world.take();
    world.write("a", "two");
    world.write("b", "c");
    world.take();
    let pack = world.open().packs_dir().join("1.pack");
    let mut bytes = fs::read(&pack).expect("a pack");
    bytes[10] ^= 1;
    fs::write(&pack, bytes).expect("damage");
    let report = world.rewind(id);
    assert_eq!(report.changed, ["b"]);
    assert!(
        report.kept[0].why.to_string().contains("damaged"),
        "{:?}",
        report.kept
    );
    assert_eq!(fs::read(world.path("a")).expect("a"), b"two");
    // A store full of rubbish is a store without checkpoints.
    for path in walk(&world.home()).into_iter().filter(|p| p.is_file()) {
        fs::write(path, "rubbish").expect("damage");
    }
    let store = world.open();
    assert_eq!(store.list().expect("a list"), []);
    let id = world.take();
    world.write("a", "three");
    world.take();
    world.rewind(id);
    assert_eq!(fs::read(world.path("a")).expect("a"), b"two");
}

#[test]
fn a_file_that_changes_while_it_is_saved_is_whole_or_left_out() {
    let world = World::new();
    world.write("busy", &"0".repeat(1_200_000));
    let path = world.path("busy");
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let writer = std::thread::spawn({
        let stop = stop.clone();
        move || {
            use std::io::{Seek, Write};
            let mut file = fs::OpenOptions::new()
                .write(true)
                .open(path)
                .expect("the file");
            for digit in (0..10u8).cycle() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                file.rewind().expect("the start");
                for _ in 0..12 {
                    file.write_all(&vec![b'0' + digit; 100_000]).expect("room");
                }
            }
        }
    });
    let store = world.open();
    let records: Vec<Record> = (0..5)
        .map(|_| store.take("busy", &Scope::default()).expect("a checkpoint"))
        .collect();
    stop.store(true, Ordering::Relaxed);
    writer.join().expect("no panic");
    for record in records {
        let out = record.left_out.iter().any(|l| l.path == "busy");
        let mut packs = Packs::open(&store.packs_dir()).expect("packs");
        let folder = packs
            .read(&record.tree_hash().expect("a hash"))
            .expect("a folder");
        match tree::decode(&folder).expect("whole").first() {
            None => assert!(out, "{record:?}"),
            // Two digits may be in it only as the writer had left them between two writes.
            Some((_, Node::File { hash, size, .. })) => {
                assert_eq!(packs.read(hash).expect("content").len() as u64, *size);
            }
            Some(other) => panic!("{other:?}"),
        }
    }
}
