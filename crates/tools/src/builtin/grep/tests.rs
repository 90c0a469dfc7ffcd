//! `grep`: matches, filters, limits, and the same answer every time.

use super::*;
use crate::builtin::glob::Glob;
use crate::builtin::ls::Ls;
use crate::testing::Bench;
use crate::tool::Tool;
use ostler_guard::{Policy, Rule, Rules};
use serde_json::json;

async fn found(bench: &Bench, args: Value) -> Value {
    match bench.run(&Grep, args).await {
        Ok(done) => done.data["matches"].clone(),
        Err(e) => json!(e.code),
    }
}

#[tokio::test]
async fn what_is_found_where() {
    let bench = Bench::new();
    bench.put("a.rs", "fn main() {}\nlet X = 1;\nend\n");
    bench.put("src/b.rs", "one\r\nmain two\r\n");
    bench.put("src/c.py", "MAIN\n");
    bench.put(".github/d.yml", "main: 1");
    bench.put(".git/config", "main");
    bench.put("target/e.rs", "main");
    bench.put(".gitignore", "target/\n");
    bench.put("binary", b"main\0main\n");
    bench.put("wide.txt", b"\xff\xfem\0a\0i\0n\0\n\0");
    for (args, expect) in [
        (
            json!({"pattern": "main"}),
            json!([
                ".github/d.yml:1:main: 1",
                "a.rs:1:fn main() {}",
                "src/b.rs:2:main two",
                "wide.txt:1:main"
            ]),
        ),
        (
            json!({"pattern": "main", "path": "src"}),
            json!(["src/b.rs:2:main two"]),
        ),
        (
            json!({"pattern": "main", "path": "a.rs"}),
            json!(["a.rs:1:fn main() {}"]),
        ),
        (
            json!({"pattern": "main", "path": "target"}),
            json!(["target/e.rs:1:main"]),
        ),
        (
            json!({"pattern": "main", "ignore_case": true, "path": "src"}),
            json!(["src/b.rs:2:main two", "src/c.py:1:MAIN"]),
        ),
        (
            json!({"pattern": "main", "glob": "*.rs"}),
            json!(["a.rs:1:fn main() {}", "src/b.rs:2:main two"]),
        ),
        (
            json!({"pattern": "main", "glob": "src/*"}),
            json!(["src/b.rs:2:main two"]),
        ),
        (
            json!({"pattern": "main", "glob": "!*.{rs,txt}"}),
            json!([".github/d.yml:1:main: 1"]),
        ),
        (
            json!({"pattern": "main", "type": "yaml"}),
            json!([".github/d.yml:1:main: 1"]),
        ),
        (
            json!({"pattern": "main", "type": "rs", "path": "src"}),
            json!(["src/b.rs:2:main two"]),
        ),
        (
            json!({"pattern": "main", "mode": "files", "type": "rust"}),
            json!(["a.rs", "src/b.rs"]),
        ),
        (
            json!({"pattern": "n", "mode": "count", "type": "rust"}),
            json!(["a.rs:2", "src/b.rs:2"]),
        ),
        (
            json!({"pattern": "X", "context": 1}),
            json!(["a.rs-1-fn main() {}", "a.rs:2:let X = 1;", "a.rs-3-end"]),
        ),
        (json!({"pattern": "^end$"}), json!(["a.rs:3:end"])),
        (json!({"pattern": "nothing"}), json!([])),
        (
            json!({"pattern": "main", "path": "none"}),
            json!("not_found"),
        ),
        (json!({"pattern": "main("}), json!("invalid_input")),
        (json!({"pattern": "a\nb"}), json!("invalid_input")),
        (
            json!({"pattern": "a".repeat(100_000)}),
            json!("invalid_input"),
        ),
        (
            json!({"pattern": "a", "glob": format!("{}b{}", "{a,".repeat(300), "}".repeat(300))}),
            json!("invalid_input"),
        ),
        (
            json!({"pattern": "main", "glob": "[x"}),
            json!("invalid_input"),
        ),
        (
            json!({"pattern": "main", "type": "no such"}),
            json!("invalid_input"),
        ),
        (
            json!({"pattern": "main", "glob": "", "type": "", "path": "src"}),
            json!(["src/b.rs:2:main two"]),
        ),
    ] {
        assert_eq!(found(&bench, args.clone()).await, expect, "{args}");
    }
}

#[tokio::test]
async fn a_bad_pattern_is_explained() {
    let error = Bench::new()
        .run(&Grep, json!({"pattern": "f(x"}))
        .await
        .err()
        .unwrap()
        .message;
    assert!(
        error.contains("unclosed group") && error.contains("backslash"),
        "{error}"
    );
}

#[tokio::test]
async fn only_the_first_matches_are_shown_in_order() {
    let bench = Bench::new();
    for n in 0..300 {
        bench.put(&format!("d{:02}/{n:03}.txt", n % 7), "hit\nmiss\nhit\n");
    }
    let first = bench
        .run(&Grep, json!({"pattern": "hit"}))
        .await
        .unwrap()
        .data;
    assert_eq!(
        (&first["count"], &first["truncated"]),
        (&json!(200), &json!(true))
    );
    assert_eq!(first["matches"][0], "d00/000.txt:1:hit");
    assert_eq!(first["matches"][1], "d00/000.txt:3:hit");
    assert!(
        Tool::render(&Grep, &first)
            .text
            .ends_with("\n[cut after 200 matches; narrow pattern, path, glob or type]")
    );
    for _ in 0..5 {
        assert_eq!(
            bench
                .run(&Grep, json!({"pattern": "hit"}))
                .await
                .unwrap()
                .data,
            first
        );
    }
    let exactly = json!({"pattern": "hit", "glob": "d00/0[0-9]*"});
    let exactly = bench.run(&Grep, exactly).await.unwrap().data;
    assert_eq!(exactly["truncated"], false);
    let files = bench
        .run(&Grep, json!({"pattern": "hit", "mode": "files"}))
        .await
        .unwrap()
        .data;
    assert_eq!(
        (&files["count"], &files["truncated"]),
        (&json!(200), &json!(true))
    );
}

#[tokio::test]
async fn exactly_as_many_as_are_shown_is_not_cut() {
    let bench = Bench::new();
    bench.put("a", "hit\n".repeat(199));
    bench.put("b", "hit\n");
    let data = bench
        .run(&Grep, json!({"pattern": "hit"}))
        .await
        .unwrap()
        .data;
    assert_eq!(
        (&data["count"], &data["truncated"]),
        (&json!(200), &json!(false))
    );
    bench.put("c", "hit\n");
    let data = bench
        .run(&Grep, json!({"pattern": "hit"}))
        .await
        .unwrap()
        .data;
    assert_eq!(
        (&data["count"], &data["truncated"]),
        (&json!(200), &json!(true))
    );
}

#[tokio::test]
async fn long_lines_are_shortened_around_the_match() {
    let bench = Bench::new();
    let big = 5_000_000;
    bench.put(
        "a",
        format!("{}needle{}\n", "ž".repeat(big), "x".repeat(big)),
    );
    bench.put("b", format!("needle{}\n", "€".repeat(600)));
    bench.put("c", format!("needle{}\n", "€".repeat(494)));
    let got = found(&bench, json!({"pattern": "needle"})).await;
    let expect = json!([
        format!("a:1:…{}needle{}…", "ž".repeat(100), "x".repeat(394)),
        format!("b:1:needle{}…", "€".repeat(494)),
        format!("c:1:needle{}", "€".repeat(494)),
    ]);
    assert_eq!(got, expect);
}

#[tokio::test]
async fn the_answer_is_bounded_in_bytes_too() {
    let bench = Bench::new();
    bench.put("a", format!("{}\n", "x".repeat(499)).repeat(150));
    let data = bench
        .run(&Grep, json!({"pattern": "x"}))
        .await
        .unwrap()
        .data;
    let bytes: usize = data["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m.as_str().unwrap().len() + 1)
        .sum();
    assert!((32_000..=32 * 1024).contains(&bytes), "{bytes}");
    assert_eq!(data["truncated"], true);
}

#[cfg(unix)]
#[tokio::test]
async fn hostile_trees_are_survived() {
    let bench = Bench::new();
    bench.put("ok", "hit");
    bench.put("endless", vec![b'x'; 20 * 1024 * 1024]);
    std::os::unix::fs::symlink(bench.root(), bench.path("loop")).unwrap();
    std::os::unix::fs::symlink("nowhere", bench.path("dangling")).unwrap();
    let fifo = std::process::Command::new("mkfifo")
        .arg(bench.path("fifo"))
        .status()
        .unwrap();
    assert!(fifo.success());
    let data = bench
        .run(&Grep, json!({"pattern": "hit"}))
        .await
        .unwrap()
        .data;
    assert_eq!(
        (&data["matches"], &data["skipped"]),
        (&json!(["ok:1:hit"]), &json!(1))
    );
    assert!(
        Tool::render(&Grep, &data)
            .text
            .ends_with("[1 files could not be searched: not readable, or with a line over 16 MB]")
    );
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let bench = Bench::new();
    bench.put("a", "hit");
    let cx = bench.context("grep");
    cx.cancel.cancel();
    let error = crate::testing::run(&Grep, json!({"pattern": "hit"}), cx)
        .await
        .err()
        .unwrap();
    assert_eq!(error.code, "interrupted");
}

#[test]
fn nothing_found_is_said() {
    assert_eq!(
        Tool::render(&Grep, &json!({"matches": [], "count": 0, "searched": 7})).text,
        "No matches in 7 files."
    );
}

#[tokio::test]
async fn what_may_not_be_read_is_not_searched() {
    let bench = Bench::new();
    for file in [".env", "sub/.env", "secrets/key", "a.txt"] {
        bench.put(file, "TOKEN=1\n");
    }
    let rules = |list: &[&str]| {
        list.iter()
            .map(|r| Rule::parse(r, "x:1").unwrap())
            .collect()
    };
    let policy = Policy {
        rules: Rules {
            deny: rules(&["Read(.env)", "Read(secrets)"]),
            ..Rules::default()
        },
        ..Policy::default()
    };
    let run = async |tool: &dyn Tool, args: Value| {
        let cx = bench.context_under(tool.name(), policy.clone());
        tool.read(&args).unwrap().run(cx).await.unwrap().data
    };
    let found = run(&Grep, json!({"pattern": "TOKEN"})).await;
    assert_eq!(found["matches"], json!(["a.txt:1:TOKEN=1"]));
    // The name of a file is no secret; what a folder holds is.
    let listed = run(&Ls, json!({"depth": 2})).await;
    assert_eq!(
        listed["entries"],
        json!([".env", "a.txt", "sub/", "sub/.env"])
    );
    let globbed = run(&Glob, json!({"pattern": "**/key"})).await;
    assert_eq!(globbed["paths"], json!([]));
}
