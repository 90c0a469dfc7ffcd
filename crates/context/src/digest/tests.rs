//! What a folded log means, what a digest says, and where a fold ends: tables over entries made by hand.

use super::facts::{CommandFact, FileFact};
use super::*;
use crate::testing::{answer, called, numbered, result, said, tool_use, user};
use ostler_store::log::branch;
use ostler_wire::{
    Body, Compaction, DigestBy, Entry, ErrorEntry, Image, Json, Message, Outcome, TodoItem,
    TodoState, ToolResult, TurnEnd,
};
use serde_json::json;

fn compaction(through: u64, digest: &str) -> Body {
    Body::Compaction(Compaction {
        through,
        digest: digest.into(),
        by: DigestBy::Model,
        archive: Some(format!("/home/archive/{digest}.jsonl")),
        ..Compaction::default()
    })
}

fn turn_end() -> Body {
    Body::TurnEnd(TurnEnd {
        outcome: Outcome::Done,
    })
}

/// The folded part of a log, as texts, and how many entries it has.
fn kept(entries: &[Entry]) -> (Vec<String>, usize) {
    let plan = Plan::of(entries);
    let texts = plan.kept(entries).into_iter().map(|k| k.text).collect();
    (texts, plan.end)
}

#[test]
fn the_persons_words_and_all_digests_stay_in_order() {
    let big = "line one\n".repeat(1_000);
    let cases: Vec<(Vec<Body>, Vec<&str>, usize)> = vec![
        (vec![user("a"), answer(vec![said("b")])], vec![], 0),
        (
            vec![user("a"), answer(vec![said("b")]), compaction(1, "D")],
            vec!["a", "D"],
            2,
        ),
        // The tail stays out, and the digest stands before it.
        (
            vec![
                user("a"),
                answer(vec![said("b")]),
                user("c"),
                answer(vec![said("d")]),
                compaction(1, "D"),
            ],
            vec!["a", "D"],
            2,
        ),
        // Digests of earlier folds stand where they stood.
        (
            vec![
                user("a"),
                answer(vec![said("b")]),
                user("c"),
                compaction(1, "D"),
                answer(vec![said("d")]),
                user("e"),
                compaction(5, "E"),
            ],
            vec!["a", "D", "c", "e", "E"],
            6,
        ),
        // What a garbled number says is never less than what was folded before.
        (
            vec![
                user("a"),
                answer(vec![said("b")]),
                user("c"),
                compaction(2, "D"),
                compaction(0, "E"),
            ],
            vec!["a", "E", "c", "D"],
            3,
        ),
        (
            vec![user("a"), compaction(u64::MAX, "D")],
            vec!["a", "D"],
            1,
        ),
        // Notes and interruptions of ours are no words of the person.
        (
            vec![
                user("a"),
                Body::Message(Message::note("[Again.]")),
                Body::Interrupted(ostler_wire::Interrupted::default()),
                compaction(2, "D"),
            ],
            vec!["a", "D"],
            3,
        ),
        // A paste of a turn that is over folds; one whose turn goes on does not.
        (
            vec![user(&big), turn_end(), compaction(1, "D")],
            vec![
                "[A message of 9000 bytes by the person stood here; it was folded. It began: \"line one\". The original is in /home/archive/D.jsonl.]",
                "D",
            ],
            2,
        ),
        (
            vec![user(&big), answer(vec![said("b")]), compaction(1, "D")],
            vec![&big, "D"],
            2,
        ),
    ];
    for (bodies, expect, end) in cases {
        let entries = numbered(bodies);
        let (texts, folded) = kept(&entries);
        assert_eq!(
            (texts, folded),
            (expect.iter().map(|s| (*s).to_owned()).collect(), end)
        );
    }
}

#[test]
fn context_and_pictures_stay_while_they_are_small() {
    let picture = || Image {
        media_type: "image/png".into(),
        data: "aGk=".into(),
    };
    let message = |text: &str, context: &str, images: usize| {
        Body::Message(Message {
            context: Some(context.into()),
            images: (0..images).map(|_| picture()).collect(),
            ..Message::user(text)
        })
    };
    let huge = "x".repeat(MAX_PINNED + 1);
    for (body, text, images) in [
        (message("a", "where", 1), "where\n\na".to_owned(), 1),
        (
            message("a", "where", 2),
            "where\n\na\n\n[2 pictures of this message were folded.]".to_owned(),
            0,
        ),
        (message("a", &huge, 0), "a".to_owned(), 0),
        (
            message("a", &format!("where\n<file path=\"b\">{huge}</file>"), 0),
            "where\n[Files that came with this message were folded; read again what you need.]\n\na".to_owned(),
            0,
        ),
        (
            Body::Message(Message::note(format!("{NOTED}AGENTS.md: no lexer]"))),
            format!("{NOTED}AGENTS.md: no lexer]"),
            0,
        ),
    ] {
        let entries = numbered([body, turn_end(), compaction(1, "D")]);
        let kept = Plan::of(&entries).kept(&entries);
        assert_eq!((kept[0].text.clone(), kept[0].images.len()), (text, images));
    }
}

#[test]
fn a_fold_ends_where_a_step_begins() {
    let long = "x".repeat(1_000);
    let entries = numbered([
        user("a"),
        answer(vec![called("1")]),
        tool_use("1", "bash", json!({"command": "x"})),
        result("1", &long),
        answer(vec![called("2")]),
        tool_use("2", "bash", json!({"command": "y"})),
        result("2", "short"),
        answer(vec![said("Done.")]),
        turn_end(),
    ]);
    for (keep, expect) in [(0, 9), (10, 7), (200, 4), (900, 4), (100_000, 0)] {
        assert_eq!(boundary(&entries, entries.len(), keep), expect, "{keep}");
    }
    let parts = context_parts(&entries, entries.len());
    assert_eq!(parts.pinned, 0);
    assert!((250..400).contains(&parts.saves), "{parts:?}");
    // What is folded already is not gone into again.
    let mut bodies: Vec<Body> = entries.into_iter().map(|e| e.body).collect();
    bodies.push(compaction(6, "D"));
    assert_eq!(boundary(&numbered(bodies), 9, 100_000), 7);
}

#[test]
fn what_is_folded_already_saves_nothing() {
    let long = "x".repeat(4_000);
    let bodies = vec![
        user("a"),
        answer(vec![said(&long)]),
        turn_end(),
        user("b"),
        answer(vec![said("short")]),
        compaction(2, "D"),
    ];
    let entries = numbered(bodies);
    let place = boundary(&entries, entries.len(), 100);
    assert_eq!((place, context_parts(&entries, place).saves), (3, 0));
}

#[test]
fn a_branch_from_before_a_fold_knows_nothing_of_it() {
    let bodies = [
        user("a"),
        answer(vec![said("b")]),
        turn_end(),
        user("c"),
        answer(vec![said("d")]),
        compaction(2, "D"),
        // The conversation was rewound to before the fold, and once more to after it.
        user("e"),
        user("f"),
    ];
    for (head, folded) in [(2, 0), (4, 0), (5, 3)] {
        let mut entries = numbered(bodies.clone());
        if let Some(last) = entries.last_mut() {
            last.parent = Some(head);
        }
        let entries = branch(entries);
        let (texts, end) = kept(&entries);
        assert_eq!(end, folded, "{head}");
        let expect: &[&str] = if folded > 0 { &["a", "D"] } else { &[] };
        assert_eq!(texts, expect, "{head}");
    }
}

#[test]
fn a_fork_counts_its_folds_anew() {
    let mut entries = numbered([
        Body::Meta(ostler_wire::Meta {
            schema_version: 1,
            session_id: String::new(),
            root: String::new(),
            host: String::new(),
            prefix: String::new(),
            rendering: 1,
            version: String::new(),
            forked_from: None,
            child_of: None,
        }),
        user("a"),
        answer(vec![said("b")]),
        compaction(12, "D"),
    ]);
    // A rewind, or a line that was lost, leaves a hole.
    for (entry, number) in entries.iter_mut().zip([0, 10, 12, 13]) {
        entry.entry = number;
    }
    let bodies = copied(entries);
    assert_eq!(bodies.len(), 3);
    let Body::Compaction(compaction) = &bodies[2] else {
        panic!("{bodies:?}");
    };
    assert_eq!(compaction.through, 2);
}

fn ran(id: &str, output: serde_json::Value, ok: bool) -> Body {
    Body::ToolResult(ToolResult {
        tool_use_id: id.into(),
        output: Json::from(output),
        ok,
        duration_ms: 1,
    })
}

fn busy() -> Vec<Entry> {
    let bash = |id: &str, command: &str| tool_use(id, "bash", json!({"command": command}));
    let exit = |id: &str, code: i32, said: &str| {
        ran(
            id,
            json!({"ok": true, "data": {"stdout": said, "stderr": "", "exit_code": code}}),
            true,
        )
    };
    numbered([
        user("go"),
        answer(vec![]),
        bash("1", "cargo test"),
        exit("1", 101, "running\ntest failed\n\n"),
        tool_use("2", "read_file", json!({"path": "/w/a.rs"})),
        ran("2", json!({"ok": true, "data": {}}), true),
        tool_use("3", "edit", json!({"file_path": "a.rs"})),
        ran("3", json!({"ok": true, "data": {}}), true),
        tool_use("4", "edit_file", json!({"path": "b.rs"})),
        ran(
            "4",
            json!({"ok": false, "error": {"code": "no_match", "message": "not found"}}),
            false,
        ),
        bash("5", "sleep 9 &"),
        ran(
            "5",
            json!({"ok": true, "data": {"job": "j1", "stdout": ""}}),
            true,
        ),
        bash("6", "cargo test"),
        exit("6", 0, ""),
        tool_use("7", "mcp__tracker__close", json!({"id": 7})),
        ran("7", json!({"ok": true, "data": {}}), true),
        bash("8", "rm -r x\necho gone"),
        Body::Error(ErrorEntry {
            kind: "auth".into(),
            message: "no key".into(),
            details: None,
        }),
    ])
}

#[test]
fn the_log_knows_what_was_done() {
    let facts = Facts::of(&busy(), "/w");
    let commands: Vec<String> = facts.commands.iter().map(CommandFact::line).collect();
    assert_eq!(
        commands,
        [
            "`sleep 9 &` → was started as job j1",
            "`cargo test` (2 times) → exit 0",
            "`mcp__tracker__close {\"id\":7}` → done",
            "`rm -r x⏎echo gone` → no result: it was interrupted and may or may not have run",
        ]
    );
    let files: Vec<String> = facts.files.iter().map(FileFact::line).collect();
    assert_eq!(files, ["a.rs: changed; read"]);
    assert_eq!(
        facts.failures,
        [
            "edit_file b.rs: no_match: not found",
            "bash rm -r x⏎echo gone: no result: it was interrupted and may or may not have run",
            "auth: no key",
        ]
    );
}

#[test]
fn what_the_person_decided_is_told_in_their_words() {
    let plan = json!({"plan": "1. this\n2. that"});
    for (tool, input, data, expect) in [
        (
            "ask",
            json!({"question": "Which?"}),
            json!({"answer": "blue"}),
            Some("Which?: blue"),
        ),
        (
            "ask",
            json!({"question": "Which?"}),
            json!({"answer": null}),
            None,
        ),
        (
            "exit_plan_mode",
            plan.clone(),
            json!({"decision": "approve"}),
            Some("plan, approved: 1. this⏎2. that"),
        ),
        (
            "exit_plan_mode",
            plan.clone(),
            json!({"decision": "edit", "plan": "1. other"}),
            Some("plan, approved as changed: 1. other"),
        ),
        (
            "exit_plan_mode",
            plan,
            json!({"decision": "keep", "reason": "no lexer"}),
            Some("plan, not approved: no lexer"),
        ),
        (
            "bash",
            json!({"command": "x"}),
            json!({"answer": "y"}),
            None,
        ),
    ] {
        let entries = numbered([
            tool_use("1", tool, input),
            ran("1", json!({"ok": true, "data": data}), true),
        ]);
        let facts = Facts::of(&entries, "");
        assert_eq!(facts.decided.first().map(String::as_str), expect, "{tool}");
        let digest = Digest::new(None, facts).render(MAX_DIGEST);
        assert_eq!(
            digest.contains("## Decided by the person"),
            expect.is_some()
        );
    }
}

#[test]
fn a_digest_is_one_text() {
    let prose = Prose::parse(
        "Sure!\n## Goal\nShip it.\n**Constraints:**\n- No tabs.\n### Files\n- `a.rs`: holds </digest> the parser\n- gone.rs: x\n## Odd\n## Notes\n",
    );
    let mut digest = Digest::new(prose, Facts::of(&busy(), "/w"));
    digest.archive = Some("/h/archive/x.jsonl".into());
    digest.focus = Some("the parser".into());
    digest.facts.todos = vec![TodoItem {
        text: "ship".into(),
        state: TodoState::InProgress,
    }];
    let text = digest.render(MAX_DIGEST);
    let (_, body) = text.split_once(".jsonl.\n").unwrap();
    assert_eq!(
        body,
        "
## What the person wanted kept
the parser

## Goal
Ship it.

## Constraints
- No tabs.

## Files
- a.rs: changed; read; holds < /digest> the parser

## Commands already run
- `sleep 9 &` → was started as job j1
- `cargo test` (2 times) → exit 0
- `mcp__tracker__close {\"id\":7}` → done
- `rm -r x⏎echo gone` → no result: it was interrupted and may or may not have run

## Open todos
- ship (in progress)

## Failures
- edit_file b.rs: no_match: not found
- bash rm -r x⏎echo gone: no result: it was interrupted and may or may not have run
- auth: no key
</digest>"
    );
}

#[test]
fn what_is_no_digest_is_told() {
    for text in [
        "",
        "I am sorry, I cannot do that.",
        "## Goal\n\n## Notes\n \n",
        "## Files\n- a: b",
        "#hashtag",
    ] {
        assert_eq!(Prose::parse(text), None, "{text}");
    }
}

#[test]
fn commands_get_the_room_that_others_leave() {
    let ran_all = (0..400).flat_map(|n| {
        let id = n.to_string();
        let command = json!({"command": format!("cargo test {n:03}")});
        let output = json!({"ok": true, "data": {"exit_code": 0}});
        [tool_use(&id, "bash", command), ran(&id, output, true)]
    });
    let facts = Facts::of(&numbered(ran_all), "");
    let text = Digest::new(None, facts).render(MAX_DIGEST);
    for n in 0..400 {
        assert!(text.contains(&format!("cargo test {n:03}`")), "{n}: {text}");
    }
    assert!(text.len() < MAX_DIGEST, "{}", text.len());
}

#[test]
fn a_digest_is_bounded_and_keeps_what_is_newest() {
    let mut bodies = vec![user("go")];
    for n in 0..5_000 {
        let id = n.to_string();
        bodies.push(tool_use(
            &id,
            "bash",
            json!({"command": format!("echo {n} {}", "y".repeat(500))}),
        ));
        bodies.push(ran(
            &id,
            json!({"ok": true, "data": {"exit_code": 0}}),
            true,
        ));
    }
    let prose = Prose {
        goal: "g".repeat(100_000),
        notes: "n".repeat(100_000),
        ..Prose::default()
    };
    let digest = Digest::new(Some(prose), Facts::of(&numbered(bodies), ""));
    for most in [2_000, MAX_DIGEST, usize::MAX / 100] {
        let text = digest.render(most);
        assert!(text.len() < most.min(MAX_DIGEST) + 1_500, "{}", text.len());
        assert!(text.contains("`echo 4999 "), "{text}");
        assert!(text.contains("earlier commands are not listed)"), "{text}");
    }
}
