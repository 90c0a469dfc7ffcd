//! A rewind that somebody stands in the way of: files with holes, and more than can be saved.

use super::*;
use std::os::unix::fs::FileExt;

const MEGABYTE: u64 = 1 << 20;

/// A file's name, its size, and what it holds where.
type Layout<'a> = (&'a str, u64, &'a [(u64, &'a [u8])]);

/// A file of this size with something at these places.
fn sparse(path: &Path, size: u64, holds: &[(u64, &[u8])]) {
    let file = File::create(path).expect("a file");
    file.set_len(size).expect("a size");
    for (at, bytes) in holds {
        file.write_all_at(bytes, *at).expect("content");
    }
}

#[test]
fn files_with_holes_cost_what_they_hold() {
    let mut world = World::new();
    world.write("src/main.rs", "fn main() {}");
    let id = world.take();
    let before = world.state();
    world.limits.quota = 64 * MEGABYTE;
    fs::create_dir(world.path("many")).expect("a folder");
    // Read to the end, they would be a hundred times the quota.
    for n in 0..20 {
        sparse(
            &world.path(&format!("many/{n}")),
            400 * MEGABYTE + n,
            &[(n * MEGABYTE, b"here")],
        );
    }
    world.write("src/main.rs", "broken");
    let full = world.take();
    let record = world.open().get(full).expect("a record");
    assert_eq!((record.covers, record.stats.files), (Covers::Tree, 21));
    assert!(record.stats.added < 8 * MEGABYTE, "{:?}", record.stats);
    assert_eq!(world.rewind(id).kept, []);
    assert_eq!(world.state(), before);
}

#[test]
fn files_with_holes_come_back() {
    let world = World::new();
    let end = 3 * MEGABYTE + 123;
    let layouts: [Layout<'_>; 6] = [
        ("nothing", end, &[]),
        ("begin", end, &[(0, b"begin")]),
        ("end", end, &[(end - 3, b"end")]),
        ("across", end, &[(sparse::PIECE - 2, b"across")]),
        (
            "zeros",
            end,
            &[(MEGABYTE, &[0; 5000]), (2 * MEGABYTE, b"x")],
        ),
        ("even", 4 * sparse::PIECE, &[(sparse::PIECE, b"even")]),
    ];
    for (name, size, holds) in layouts {
        self::sparse(&world.path(name), size, holds);
    }
    let before = world.state();
    let id = world.take();
    let left = world.open().get(id).expect("a record").left_out;
    assert_eq!(left, []);
    for (name, _, _) in layouts {
        fs::write(world.path(name), "other").expect("content");
    }
    world.take();
    assert_eq!(world.rewind(id).kept, []);
    assert_eq!(world.state(), before);
    // The same again is no change.
    assert_eq!(world.open().diff(id, Point::Now).expect("changes"), []);
    for (name, _, _) in layouts {
        let meta = fs::metadata(world.path(name)).expect("facts");
        assert!(meta.blocks() * 512 < meta.size(), "{name} has its holes");
    }
}

#[test]
fn nothing_stands_in_the_way_of_a_rewind() {
    let check = |limit: fn(&mut Limits), told: &str| {
        let mut world = World::new();
        world.write("src/main.rs", "fn main() {}");
        world.write("src/gone.rs", "mod gone;");
        fs::create_dir(world.path("empty")).expect("a folder");
        let id = world.take();
        world.write("src/main.rs", "broken");
        fs::remove_file(world.path("src/gone.rs")).expect("gone");
        for n in 0..300 {
            let text = format!("{n} {}", "x".repeat(2000));
            world.write(&format!("build/deep/er/{n}"), &text);
        }
        limit(&mut world.limits);
        let guard = Guard {
            expected: None,
            unseen: Unseen::Overwrite,
        };
        let report = world.open().restore(id, &What::default(), &guard);
        let report = report.expect("a rewind");
        let root = world.root();
        let read = |path: &str| fs::read_to_string(root.join(path)).expect("content");
        assert_eq!(read("src/main.rs"), "fn main() {}");
        assert_eq!(read("src/gone.rs"), "mod gone;");
        assert_eq!(report.changed, ["src/gone.rs", "src/main.rs"]);
        let kept: Vec<String> = report
            .kept
            .iter()
            .map(|kept| format!("{}: {}", kept.path, kept.why))
            .collect();
        assert_eq!(kept.len(), 2, "{kept:?}");
        assert!(
            kept[0].starts_with("build/deep/ (1.2 MB / 300): "),
            "{kept:?}"
        );
        assert!(kept[0].contains(told), "{kept:?}");
        assert!(kept[0].contains("Remove what you do not need"), "{kept:?}");
        // It is undone like any other, and the checkpoint is still there.
        world.limits = Limits::default();
        world.rewind(report.before);
        assert_eq!(read("src/main.rs"), "broken");
        assert!(!world.path("src/gone.rs").exists());
        assert_eq!(read("build/deep/er/7").len(), 2002);
        // With what was too much gone, everything comes back.
        fs::remove_dir_all(world.path("build")).expect("gone");
        assert_eq!(world.rewind(id).kept, []);
    };
    check(|l| l.files = 100, "too many files");
    check(|l| l.quota = 20_000, "quota");
    check(|l| l.time = Duration::from_micros(1), "too long");
}

#[test]
fn a_file_that_became_too_much_is_named_and_stays() {
    let mut world = World::new();
    world.write("a", "one");
    world.write("b", "two");
    let id = world.take();
    fs::write(world.path("a"), vec![7; 200_000]).expect("content");
    world.write("b", "other");
    world.limits.quota = 20_000;
    let guard = Guard {
        expected: None,
        unseen: Unseen::Overwrite,
    };
    let report = world.open().restore(id, &What::default(), &guard);
    let report = report.expect("a rewind");
    assert_eq!(report.changed, ["b"]);
    assert!(
        report.kept.iter().any(|kept| kept.path == "a"),
        "{report:?}"
    );
    assert_eq!(fs::metadata(world.path("a")).expect("facts").len(), 200_000);
}

#[test]
fn what_was_too_much_is_named() {
    let mut world = World::new();
    for n in 0..300 {
        world.write(&format!("build/out/{n}"), &"x".repeat(6000));
        world.write(&format!("src/{n}"), "x");
    }
    world.limits.files = 100;
    let error = world.open().take("all", &Scope::default());
    let told = error.expect_err("too much").to_string();
    assert!(
        told.contains(
            "Largest folders (size / files): build/out/ (1.8 MB / 300), src/ (1.2 MB / 300)."
        ),
        "{told}"
    );
    assert!(told.contains(".gitignore"), "{told}");
}
