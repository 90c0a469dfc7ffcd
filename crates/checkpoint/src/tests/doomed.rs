//! Which ignored files a call is about to change, what is left of a killed restore, and changes as text.

use super::*;
use ostler_wire::Language;

fn world() -> World {
    let world = World::new();
    world.write(".gitignore", "target/\n*.log\n.env\n");
    world.write("src/a.rs", "1");
    world.write("src/.gitignore", "!keep.log\ngen/\n");
    world.write("src/keep.log", "kept");
    world.write("src/gen/x", "made");
    world.write("target/out/big", "built");
    world.write("one.log", "1");
    world.write("two.log", "2");
    world.write(".env", "K=1");
    world
}

#[test]
fn ignored_files_that_a_call_names_are_found() {
    let world = world();
    let store = world.open();
    let found = |path: &str, reach: Reach| {
        let targets = [Target {
            path: world.root().join(path),
            reach,
        }];
        let Doomed { named, passed } = store.doomed(&targets);
        assert_eq!(passed, Vec::<PathBuf>::new());
        let names: Vec<String> = named
            .iter()
            .map(|p| p.strip_prefix(world.root()).unwrap().display().to_string())
            .collect();
        names.join(" ")
    };
    for (path, reach, expect) in [
        ("src/a.rs", Reach::Itself, ""),
        ("src/keep.log", Reach::Itself, ""),
        ("src", Reach::Itself, ""),
        ("src", Reach::Below, "src/gen"),
        ("one.log", Reach::Itself, "one.log"),
        ("*.log", Reach::Itself, "one.log two.log"),
        ("*", Reach::Below, "one.log src/gen target two.log"),
        ("", Reach::Below, ".env one.log src/gen target two.log"),
        ("target", Reach::Below, "target"),
        ("target/out/big", Reach::Itself, "target/out/big"),
        ("none", Reach::Itself, ""),
        (".git", Reach::Below, ""),
        ("../elsewhere", Reach::Below, ""),
        ("[", Reach::Below, ""),
    ] {
        assert_eq!(found(path, reach), expect, "{path} {reach:?}");
    }
}

#[test]
fn nothing_changed_is_no_new_checkpoint() {
    let world = world();
    let store = world.open();
    let keep = |label: &str| store.keep(label, &Scope::default()).expect("kept").id;
    assert_eq!((keep("before"), keep("after")), (1, 1));
    world.write("src/a.rs", "2");
    assert_eq!((keep("before"), keep("after")), (2, 2));
    let named = Scope {
        paths: vec![world.path(".env")],
        ..Scope::default()
    };
    assert_eq!(store.keep("named", &named).expect("kept").id, 3);
    let alone = store.keep_paths("alone", &[world.path(".env")]);
    let alone = alone.expect("kept");
    assert_eq!((alone.covers, alone.stats.files), (Covers::Paths, 1));
}

#[test]
fn what_a_killed_restore_left_is_swept_and_nobodys() {
    let world = world();
    let id = world.take();
    world.write("src/a.rs", "2");
    world.take();
    let before = world.state();
    world.write("src/.ostler-17-3.tmp", "half");
    world.write("src/.ostler-notes.tmp", "mine");
    let listed = paths(&world.open().diff(id, Point::Now).expect("a diff"));
    assert!(!listed.contains("17-3"), "{listed}");
    fs::remove_file(world.path("src/.ostler-notes.tmp")).expect("gone");
    let report = world.rewind(id);
    assert_eq!(report.kept, []);
    assert!(!world.path("src/.ostler-17-3.tmp").exists());
    world.rewind(report.before);
    assert_eq!(world.state(), before);
}

#[test]
fn changes_are_counted_and_told() {
    let world = World::new();
    world.write("a", "one\ntwo\n");
    world.write("gone", "x\n");
    world.write("bin", "a\0b");
    world.write("mode", "m\n");
    let id = world.take();
    world.write("a", "one\n2\nthree\n");
    world.write("bin", "a\0c");
    world.write("large", &"x".repeat(2 << 20));
    world.write("d/new", "n\n");
    chmod(&world.path("mode"), 0o755);
    fs::remove_file(world.path("gone")).expect("gone");
    let store = world.open();
    let tally = store.tally(id, Point::Now).expect("a tally");
    let expect = Tally {
        files: 6,
        added: 3,
        removed: 2,
    };
    assert_eq!(tally, expect);
    let later = world.take();
    assert_eq!(store.tally(id, Point::At(later)).expect("a tally"), expect);
    assert_eq!(
        store.tally(later, Point::Now).expect("none"),
        Tally::default()
    );
    insta::assert_snapshot!(store.unified(id, Point::Now, 10_000, Language::English).expect("a diff"), @r"
    --- a/a
    +++ b/a
    @@ -1,2 +1,3 @@
     one
    -two
    +2
    +three
    --- a/bin
    +++ b/bin
    (binary)
    + d/
    --- /dev/null
    +++ b/d/new
    @@ -0,0 +1 @@
    +n
    --- a/gone
    +++ /dev/null
    @@ -1 +0,0 @@
    -x
    --- /dev/null
    +++ b/large
    (large)
    --- a/mode
    +++ b/mode
    mode 644 → 755
    ");
    let short = store
        .unified(id, Point::Now, 60, Language::English)
        .expect("a diff");
    assert!(short.ends_with("… 5 more files\n"), "{short}");
}
