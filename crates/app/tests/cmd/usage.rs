//! `usage`: sums of a ledger.

use crate::support::*;
use ostler_testkit::TempWorkspace;
use serde_json::{Value, json};

fn line(ts: &str, session: &str, model: &str, input: u64, cost: Option<f64>) -> String {
    let mut line = json!({"ts": ts, "session": session, "project": "shop-12345678", "role": "",
        "provider": "mock", "model": model, "input": input, "cached": input / 2, "cache_write": 0, "output": 10});
    if let Some(cost) = cost {
        line["cost"] = json!(cost);
    }
    line.to_string() + "\n"
}

fn spent() -> TempWorkspace {
    let space = TempWorkspace::new();
    let lines = [
        line("2020-01-05T23:30:00.000Z", A, "big", 1_000_000, Some(1.5)),
        line("2020-01-06T00:30:00.000Z", B, "small", 2000, Some(0.0125)),
        "garbage\n".to_owned(),
        line("2020-01-06T10:30:00.000Z", B, "local", 500, None),
    ];
    space.write(space.home().join("ledger.jsonl"), lines.concat());
    space
}

#[test]
fn sums_are_tables() {
    let space = spent();
    let out = space.ostler(["usage"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    DAY         REQUESTS      INPUT   CACHED  OUTPUT     COST
    2020-01-05         1  1,000,000  500,000      10  $1.5000
    2020-01-06         2      2,500    1,250      20  $0.0125
    total              3  1,002,500  501,250      30  $1.5125
    The price of 1 of 3 requests is not known; the sums are without it.
    ");
    let out = space.ostler(["usage", "--by", "model"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    MODEL       REQUESTS      INPUT   CACHED  OUTPUT     COST
    mock/big           1  1,000,000  500,000      10  $1.5000
    mock/small         1      2,000    1,000      10  $0.0125
    mock/local         1        500      250      10        –
    total              3  1,002,500  501,250      30  $1.5125
    The price of 1 of 3 requests is not known; the sums are without it.
    ");
    let out = space.ostler(["usage", "--by", "model", "--chart"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    MODEL       REQUESTS      INPUT   CACHED  OUTPUT     COST
    mock/big           1  1,000,000  500,000      10  $1.5000  ████████████████████
    mock/small         1      2,000    1,000      10  $0.0125  ▏
    mock/local         1        500      250      10        –
    total              3  1,002,500  501,250      30  $1.5125
    The price of 1 of 3 requests is not known; the sums are without it.
    ");
    let out = space.ostler(["usage", "--by", "project"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    PROJECT        REQUESTS      INPUT   CACHED  OUTPUT     COST
    shop-12345678         3  1,002,500  501,250      30  $1.5125
    total                 3  1,002,500  501,250      30  $1.5125
    The price of 1 of 3 requests is not known; the sums are without it.
    ");
    let out = space.ostler(["usage", "--by", "session"]).output();
    insta::assert_snapshot!(space.shown(&out), @"
    exit 0
    SESSION   REQUESTS      INPUT   CACHED  OUTPUT     COST
    aaaaaaaa         1  1,000,000  500,000      10  $1.5000
    bbbbbbbb         2      2,500    1,250      20  $0.0125
    total            3  1,002,500  501,250      30  $1.5125
    The price of 1 of 3 requests is not known; the sums are without it.
    ");
}

#[test]
fn days_are_the_persons() {
    let space = spent();
    let out = space
        .ostler(["usage", "--format", "json"])
        .env("TZ", "CST-8")
        .output()
        .ok();
    let report: Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(report["rows"].as_array().unwrap().len(), 1);
    assert_eq!(report["rows"][0]["key"], "2020-01-06");
}

#[test]
fn json_has_every_number() {
    let space = spent();
    let out = space
        .ostler(["usage", "--by", "session", "--format", "json"])
        .output()
        .ok();
    let report: Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(
        report["rows"][1],
        json!({"key": B, "requests": 2, "input": 2500, "cached": 1250, "cache_write": 0, "output": 20, "cost": 0.0125, "unpriced": 1})
    );
    assert_eq!(report["total"]["cost"], 1.5125);
}

#[test]
fn nothing_spent() {
    let space = TempWorkspace::new();
    let out = space.ostler(["usage"]).output();
    assert_eq!(space.shown(&out), "exit 0\n--- stderr\nNo requests yet.\n");
    let out = space.ostler(["usage", "--format", "json"]).output().ok();
    let report: Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(report["rows"], json!([]));
}

#[test]
fn a_ledger_that_cannot_be_read_is_named() {
    let space = TempWorkspace::new();
    space.write(space.home().join("ledger.jsonl/file"), "");
    let out = space.ostler(["usage"]).output().exits(1);
    assert!(
        space
            .clean(&out.stderr)
            .starts_with("ostler: HOME/ledger.jsonl cannot be read: "),
        "{out:?}"
    );
}
