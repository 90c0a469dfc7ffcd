//! The cost of a checkpoint beside `git status`, as a ratio. Run it optimised, on a quiet machine:
//! `cargo test --release -p ostler-checkpoint tests::bench -- --ignored --nocapture`.

use super::random::git;
use super::*;

const FILES: usize = 50_000;
const ROUNDS: usize = 7;

#[test]
#[ignore = "prints figures for a quiet machine: cargo test --release -p ostler-checkpoint tests::bench -- --ignored --nocapture"]
#[expect(clippy::print_stderr, reason = "it prints what it measured")]
fn a_checkpoint_beside_git_status() {
    let world = World::new();
    let root = world.root();
    for i in 0..FILES {
        let text = format!("file {i}\n").repeat(1 + i % 200);
        world.write(&format!("d{}/e{}/f{i}.rs", i % 40, i / 40 % 50), &text);
    }
    world.write(".gitignore", "target/\n*.o\nnode_modules\n/build\n*.log\n");
    git(&root, &["init", "-q"]);
    git(&root, &["add", "."]);
    git(&root, &["commit", "-q", "-m", "all"]);
    let store = world.open();
    let begun = Instant::now();
    let record = store
        .take("first", &Scope::default())
        .expect("a checkpoint");
    eprintln!(
        "first: {:?}, {} files, {} MB",
        begun.elapsed(),
        record.stats.files,
        record.stats.added >> 20
    );
    std::thread::sleep(Duration::from_millis(2500));
    store
        .take("settled", &Scope::default())
        .expect("a checkpoint");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        for i in 0..10 {
            world.write(
                &format!("d{i}/e{i}/f{}.rs", i * 41),
                &format!("round {round}\n"),
            );
        }
        let begun = Instant::now();
        git(&root, &["status", "--porcelain"]);
        theirs.push(begun.elapsed());
        let begun = Instant::now();
        let record = store
            .take("again", &Scope::default())
            .expect("a checkpoint");
        ours.push(begun.elapsed());
        assert!(record.stats.read <= 40, "{:?}", record.stats);
    }
    ours.sort_unstable();
    theirs.sort_unstable();
    let (ours, theirs) = (ours[ROUNDS / 2], theirs[ROUNDS / 2]);
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    eprintln!("checkpoint {ours:?}, git status {theirs:?}, ratio {ratio:.2}");
}

/// What a turn pays in a project of a few files: once when it changed something, once when it did not.
#[test]
#[ignore = "prints figures for a quiet machine: cargo test --release -p ostler-checkpoint tests::bench -- --ignored --nocapture"]
#[expect(clippy::print_stderr, reason = "it prints what it measured")]
fn a_small_tree_costs_little() {
    let world = World::new();
    git(&world.root(), &["init", "-q"]);
    for i in 0..20 {
        world.write(&format!("src/f{i}.rs"), "fn main() {}\n");
    }
    let store = world.open();
    let (mut changed, mut same) = (Vec::new(), Vec::new());
    for round in 0..50 {
        world.write("src/f1.rs", &format!("round {round}\n"));
        // Fresh files are read twice.
        std::thread::sleep(Duration::from_millis(60));
        for times in [&mut changed, &mut same] {
            let begun = Instant::now();
            store.keep("turn", &Scope::default()).expect("a checkpoint");
            times.push(begun.elapsed());
        }
    }
    changed.sort_unstable();
    same.sort_unstable();
    eprintln!("changed {:?}, unchanged {:?}", changed[25], same[25]);
}
