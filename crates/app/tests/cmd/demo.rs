//! `demo` from beginning to end, with nothing but the binary.

use crate::support::*;
use ostler_testkit::{TempWorkspace, json_lines, only, types};

/// The output without ids and times.
fn steady(space: &TempWorkspace, text: &str) -> String {
    let mut out = String::new();
    for word in space.clean(text).split_inclusive([' ', '\n', '/']) {
        let core = word.trim_end_matches([' ', '\n', '/']);
        let rest = &word[core.len()..];
        let id = core.strip_suffix(".jsonl").unwrap_or(core);
        let is_id = id.len() >= 8 && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        if is_id {
            out.push_str("ID");
        } else if core.starts_with("play-") {
            out.push_str("play-X");
        } else if core.starts_with("(0.") && core.ends_with("s)") {
            out.push_str("(TIME)");
        } else {
            out.push_str(core);
        }
        out.push_str(rest);
    }
    out.replace(" \n", "\n")
}

#[test]
fn plays_a_whole_session() {
    let space = TempWorkspace::new();
    let out = space.ostler(["demo", "--dir", "play"]).output().ok();
    insta::assert_snapshot!(out.stdout, @r#"
    I'll start by looking at what is here.
    A small shell script and a test for it. I'll read both.
    Found it: `average` divides by the number of values plus one. It should divide by the number of values.
    Now the test, to check that it works.
    The test passes.

    - What was wrong: `average` in `calc.sh` divided the sum by `$# + 1`, so the average of 2, 4 and 6 came out as 3 instead of 4.
    - What changed: it divides by `$#` now, the number of values. Nothing else was touched.
    - How it was checked: `sh test.sh` ran all three checks.

    This was the offline demo: the tools and the files were real, the model was a script. For a real model run `ostler setup`, or put a provider's key into the environment, then try `ostler exec -p "explain this project"`.
    "#);
    insta::assert_snapshot!(steady(&space, &out.stderr), @r#"
    Offline demo: a script plays the model, everything else is real; no account, no network

    > The test of this small project fails. Find the bug, fix it, run the test and explain what was wrong.

    Listed .  4 entries
    Read calc.sh  25 lines
    Read test.sh  21 lines
    Edited calc.sh (+1 −1)
    Ran sh test.sh  all tests passed

    Folder   ROOT/play
    Log      HOME/sessions/play-X/ID
    Read it  ostler sessions show ID
    Next     ostler setup
    "#);
    assert!(
        space.read("play/calc.sh").contains("/ $#)"),
        "the bug is gone"
    );
    let out = space
        .run("sh")
        .args(["test.sh"])
        .cwd(space.root().join("play"))
        .output()
        .ok();
    assert!(out.stdout.ends_with("all tests passed\n"), "{out:?}");
}

#[test]
fn the_stream_is_json() {
    let space = TempWorkspace::new();
    let out = space.ostler(["demo", "--format", "json"]).output().ok();
    let events = json_lines(&out.stdout);
    assert_eq!(types(&events).first(), Some(&"meta"));
    let result = only(&events, "result");
    assert_eq!(
        (&result["subtype"], &result["num_turns"]),
        (&"success".into(), &5.into())
    );
    let id = result["session_id"].as_str().unwrap();
    assert!(out.stderr.contains(&format!("{id}.jsonl")), "{out:?}");
    let out = space
        .ostler(["demo", "--format", "result", "--no-save"])
        .output()
        .ok();
    assert_eq!(json_lines(&out.stdout).len(), 1);
    assert!(!out.stderr.contains(".jsonl"), "{out:?}");
}

#[test]
fn nothing_is_written_over() {
    let space = TempWorkspace::new();
    space.write("play/test.sh", "mine");
    let out = space.ostler(["demo", "--dir", "play"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 1
    --- stderr
    ostler: ROOT/play/test.sh exists already; choose an empty folder with --dir
    ");
    assert!(!space.exists("play/calc.sh"));
    assert_eq!(space.read("play/test.sh"), "mine");
    space.write("file", "");
    let out = space.ostler(["demo", "--dir", "file/x"]).output().exits(1);
    assert!(
        out.stderr.starts_with("ostler: file/x cannot be made: "),
        "{out:?}"
    );
}

#[test]
fn it_opens_no_connection_and_needs_no_key() {
    let space = TempWorkspace::new();
    let run = space.ostler(["demo"]).without_env(ostler_testkit::KEY_NAME);
    // Anything that went through a proxy would fail here.
    let run = run
        .env("HTTP_PROXY", "http://127.0.0.1:1")
        .env("HTTPS_PROXY", "http://127.0.0.1:1");
    run.output().ok();
}

#[test]
fn the_demo_model_works_elsewhere_too() {
    let space = TempWorkspace::new();
    space.write("a.txt", "x");
    let out = space
        .ostler(["exec", "--model", "demo", "-p", "what is here?"])
        .output()
        .ok();
    assert!(out.stdout.contains("offline demo model"), "{out:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_it_has_colours_unless_told_otherwise() {
    let space = TempWorkspace::new();
    let (text, code) = on_terminal(&space, ["demo", "--plain"], &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("\u{1b}[32mOffline demo: "), "{text}");
    assert!(text.contains("\u{1b}[33mRan\u{1b}[0m"), "{text}");
    let (text, _) = on_terminal(&space, ["demo", "--plain", "--no-color"], &[]);
    assert!(!text.contains('\u{1b}'), "{text}");
}
