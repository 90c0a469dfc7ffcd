//! `cache why` and `cache check` on sessions that ran.

use crate::support::*;
use ostler_testkit::TempWorkspace;
use serde_json::Value;

fn run_of(lines: &[Value]) -> TempWorkspace {
    let space = TempWorkspace::new();
    let mut all = vec![user("go")];
    all.extend_from_slice(lines);
    space.session(A, &all);
    space
}

#[test]
fn a_steady_run_passes() {
    let space = run_of(&[usage(4000, 0), usage(5000, 4000), usage(6500, 5000)]);
    let out = space.ostler(["cache", "why"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    ENTRY  MODEL   PROMPT  SHARED  CACHED  BREAK
        2  mock/m   4,000       –      0%
        3  mock/m   5,000    100%     80%
        4  mock/m   6,500    100%     77%
    58% of the prompt tokens came from the provider's cache; every request reused the cached prefix.
    ");
    let out = space.ostler(["cache", "check", "aaaa"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    Session aaaaaaaa: 3 requests, no unplanned break.
    ");
}

#[test]
fn an_unplanned_break_fails() {
    let space = run_of(&[
        usage(4000, 0),
        broken(5000, 1200, "unknown"),
        usage(6000, 4900),
        broken(6000, 10, "model"),
    ]);
    let out = space.ostler(["cache", "why", A]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    ENTRY  MODEL   PROMPT  SHARED  CACHED  BREAK
        2  mock/m   4,000       –      0%
        3  mock/m   5,000     30%     24%  at byte 1200 (tools): unknown, about 1,500 tokens again, $0.0045
        4  mock/m   6,000     98%     82%
        5  mock/m   6,000      0%      0%  at byte 10 (tools): model, about 1,500 tokens again, $0.0045
    29% of the prompt tokens came from the provider's cache; 2 breaks cost about 3,000 tokens, $0.0090 more.
    ");
    let out = space.ostler(["cache", "check"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 1
    Session aaaaaaaa: 2 unplanned breaks in 4 requests.
    entry 3: the prompt broke at byte 1200 (tools), cause: unknown; about 1500 tokens were read again
    entry 4: only 4900 of the 5000 bytes of the previous prompt are shared
    ");
    let out = space
        .ostler(["cache", "why", "--format", "json"])
        .output()
        .ok();
    let report: Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(report["session"], A);
    assert_eq!(report["breaks"], 2);
    assert_eq!(report["lost_tokens"], 3000);
    assert_eq!(report["requests"][1]["break"]["at"], 1200);
}

#[test]
fn a_planned_break_passes() {
    let space = run_of(&[usage(4000, 0), broken(5000, 1200, "model")]);
    let out = space.ostler(["cache", "check"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    Session aaaaaaaa: 2 requests, no unplanned break.
    ");
}

#[test]
fn without_requests_or_sessions() {
    let space = run_of(&[]);
    let out = space.ostler(["cache", "why"]).output();
    assert_eq!(
        space.shown(&out),
        "exit 0\n--- stderr\nSession aaaaaaaa has no requests yet.\n"
    );
    let space = TempWorkspace::new();
    let out = space.ostler(["cache", "check"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 1
    --- stderr
    ostler: This project has no session yet. Start one with `ostler` or `ostler exec`.
    ");
}
