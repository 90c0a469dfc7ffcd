//! Links that change their target all the time, against the tools that read: what a rule denies is never shown.

use super::glob::Glob;
use super::grep::Grep;
use super::ls::Ls;
use super::read_file::ReadFile;
use crate::testing::Bench;
use crate::tool::Tool;
use ostler_guard::{Policy, Rule};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const ROUNDS: usize = 600;

/// Points a link at two targets in turn until it is told to stop, each time in one step.
fn flip(link: &Path, targets: [&Path; 2], over: &AtomicBool) {
    let fresh = link.with_extension("fresh");
    for target in targets.iter().cycle() {
        if over.load(Ordering::Relaxed) {
            return;
        }
        symlink(target, &fresh).unwrap();
        std::fs::rename(&fresh, link).unwrap();
    }
}

/// Puts a folder and a link in each other's place until it is told to stop, each time in two steps.
fn exchange(folder: &Path, target: &Path, over: &AtomicBool) {
    let [aside, link] = ["aside", "link"].map(|name| folder.with_extension(name));
    symlink(target, &link).unwrap();
    while !over.load(Ordering::Relaxed) {
        for [from, to] in [
            [folder, &aside],
            [&link, folder],
            [folder, &link],
            [&aside, folder],
        ] {
            std::fs::rename(from, to).unwrap();
        }
    }
}

/// What the calls show while `change` goes on, which is told when it is over.
async fn shown(
    bench: &Bench,
    tool: &dyn Tool,
    args: Value,
    change: impl FnOnce(&AtomicBool) + Send + 'static,
) -> Vec<String> {
    let policy = Policy {
        rules: ostler_guard::Rules {
            deny: vec![Rule::parse("Read(.env)", "x:1").unwrap()],
            ..Default::default()
        },
        ..Policy::default()
    };
    let cx = bench.context_under(tool.name(), policy);
    let over = Arc::new(AtomicBool::new(false));
    let changing = {
        let over = over.clone();
        std::thread::spawn(move || change(&over))
    };
    let mut results = Vec::new();
    for _ in 0..ROUNDS {
        let call = tool.read(&args).unwrap();
        results.push(match call.run(cx.clone()).await {
            Ok(done) => tool.render(&done.data).text,
            Err(_) => String::new(),
        });
    }
    over.store(true, Ordering::Relaxed);
    changing.join().unwrap();
    results
}

/// A tool, its arguments, and the links that are exchanged meanwhile.
type Case<'a> = (&'a dyn Tool, Value, (&'a str, &'a str, &'a Path));

#[tokio::test]
async fn a_link_that_is_swapped_while_a_tool_reads_leaks_nothing() {
    let bench = Bench::new();
    bench.put("pub.txt", "public word");
    bench.put(".env", "SECRET word");
    bench.put("open/public.txt", "public word");
    let outside = bench.dir.path().canonicalize().unwrap().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("public.txt"), "SECRET word").unwrap();
    std::fs::write(outside.join("SECRET.txt"), "SECRET word").unwrap();
    let env = bench.path(".env");
    let file = ("s", "pub.txt", env.as_path());
    let folder = ("d", "open", outside.as_path());
    let read = |path: &str| json!({"path": path});
    let grep = |path: &str| json!({"pattern": "word", "path": path});
    let glob = json!({"pattern": "d/**"});
    let cases: [Case<'_>; 6] = [
        (&ReadFile, read("s"), file),
        (&Grep, grep("s"), file),
        (&ReadFile, read("d/public.txt"), folder),
        (&Grep, grep("d"), folder),
        (&Ls, read("d"), folder),
        (&Glob, glob, folder),
    ];
    for (tool, args, link) in cases {
        let (link, public, secret) = (bench.path(link.0), bench.path(link.1), link.2.to_owned());
        let flipping = move |over: &AtomicBool| flip(&link, [&public, &secret], over);
        let results = shown(&bench, tool, args.clone(), flipping).await;
        check(tool, &args, &results);
    }
}

fn check(tool: &dyn Tool, args: &Value, results: &[String]) {
    let name = tool.name();
    let leaks = results.iter().filter(|text| text.contains("SECRET"));
    assert_eq!(leaks.count(), 0, "{name} {args}");
    let good = results.iter().filter(|text| text.contains("public"));
    assert!(good.count() > 0, "{name} {args}: nothing was read");
}

#[tokio::test]
async fn a_folder_that_becomes_a_link_during_the_walk_leaks_nothing() {
    let bench = Bench::new();
    bench.put("a/b/public.txt", "public word");
    bench.put("a/b/c/public.txt", "public word");
    let outside = bench.dir.path().canonicalize().unwrap().join("outside");
    std::fs::create_dir_all(outside.join("c")).unwrap();
    for name in ["public.txt", "SECRET.txt", "c/public.txt", "c/SECRET.txt"] {
        std::fs::write(outside.join(name), "SECRET word").unwrap();
    }
    let cases: [(&dyn Tool, Value); 4] = [
        (&Grep, json!({"pattern": "word"})),
        (&Grep, json!({"pattern": "word", "path": "a/b/c"})),
        (&Ls, json!({"depth": 5})),
        (&Glob, json!({"pattern": "**/*.txt"})),
    ];
    for (tool, args) in cases {
        let (folder, target) = (bench.path("a/b"), outside.clone());
        let exchanging = move |over: &AtomicBool| exchange(&folder, &target, over);
        let results = shown(&bench, tool, args.clone(), exchanging).await;
        std::fs::remove_file(bench.path("a/b.link")).unwrap();
        check(tool, &args, &results);
    }
}
