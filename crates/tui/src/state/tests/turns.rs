//! What is shown of turns over time: goals, sub-agents that ask, a past that is folded or resumed.

use super::*;

#[test]
fn a_goal_is_shown_and_goes_on_between_its_turns() {
    let mut bench = bench("running", 80, Look::Mono);
    let status = |bench: &Bench| bench.state.status.line(&bench.canvas, None).text();
    for (state, shown, works) in [
        (GoalState::Active, "goal 3/50", true),
        (GoalState::Blocked, "goal waits", false),
    ] {
        bench.entry(Body::Message(Message::user("go")));
        bench.entry(Body::Mode(ostler_wire::Mode {
            mode: "goal".into(),
            posture: "ask".into(),
            deny: Vec::new(),
            ask: Vec::new(),
            sandbox: String::new(),
            tightened: false,
            writable: Vec::new(),
            goal: Some(Goal {
                objective: "reach it".into(),
                state,
                turn: 3,
                most: 50,
                folder: None,
                why: None,
            }),
        }));
        bench.entry(Body::TurnEnd(TurnEnd { outcome: End::Done }));
        let shown = format!("wise-2 · {shown} · ");
        assert!(status(&bench).starts_with(&shown), "{}", status(&bench));
        assert_eq!(bench.state.is_working(), works, "{state:?}");
    }
}

/// What a session was allowed when it was left is in its past, not in its status.
#[test]
fn a_resumed_session_shows_how_it_stands_now() {
    let mut bench = bench("idle", 80, Look::Mono);
    let past = Body::Mode(ostler_wire::Mode {
        mode: "plan".into(),
        posture: "yolo".into(),
        goal: None,
        ..Default::default()
    });
    let entry = Entry {
        entry: 1,
        parent: None,
        ts: String::new(),
        body: past,
    };
    bench.state.past(&[Arc::new(entry)]);
    let line = bench.state.status.line(&bench.canvas, None).text();
    assert!(
        line.starts_with("wise-2 · asks first (shift-tab) · "),
        "{line}"
    );
}

/// A task in the background is refused and the turn goes on; a sub-agent of the turn is stopped with it.
#[test]
fn esc_at_the_ask_of_another() {
    for (from, escape, expect) in [
        ("t1", Escape::Answer, "deny"),
        ("t1 builder", Escape::StopTurn, "Send(Interrupt)"),
    ] {
        let mut bench = bench("running", 80, Look::Mono);
        let mut asked = Ask {
            from: Some(from.into()),
            ..permission()
        };
        asked.silence.escape = escape;
        bench.event(&Event::Ask(Arc::new(asked)));
        bench.passes(1_000);
        bench.keys("<esc>");
        let last = bench.effects.last().cloned().unwrap_or_default();
        assert!(last.contains(expect), "{from}: {last}");
    }
}

#[test]
fn every_turn_of_a_goal_says_how_long_it_took() {
    let mut bench = bench("idle", 80, Look::Mono);
    for turn in 0..2 {
        bench.entry(Body::Mode(ostler_wire::Mode {
            mode: "goal".into(),
            posture: "ask".into(),
            deny: Vec::new(),
            ask: Vec::new(),
            sandbox: String::new(),
            tightened: false,
            writable: Vec::new(),
            goal: Some(Goal {
                objective: "reach it".into(),
                state: GoalState::Active,
                turn,
                most: 50,
                folder: None,
                why: None,
            }),
        }));
        bench.entry(match turn {
            0 => user("reach it"),
            _ => Body::Message(Message::note("[Goal, turn 1 of 50]")),
        });
        bench.keys("<wait>");
        bench.entry(Body::Usage(Usage {
            input: 700 + u64::from(turn),
            ..Usage::default()
        }));
        bench.entry(Body::TurnEnd(TurnEnd { outcome: End::Done }));
    }
    let shown = bench.shown();
    for row in ["700 in · 0 out · 3.0 s", "701 in · 0 out · 3.0 s"] {
        assert!(shown.contains(row), "{shown}");
    }
}

#[test]
fn folding_is_shown_can_be_stopped_and_empties_the_window() {
    let mut bench = bench("idle", 80, Look::Mono);
    bench.state.status.window = 1_000;
    let progress = |text: &str| Delta::Progress {
        id: String::new(),
        name: "compaction".into(),
        text: text.into(),
    };
    let usage = |input, role: Option<&str>| {
        Body::Usage(Usage {
            input,
            role: role.map(str::to_owned),
            ..Usage::default()
        })
    };
    let status = |bench: &Bench| bench.state.status.line(&bench.canvas, None).text();
    bench.entry(user("go"));
    bench.entry(usage(900, None));
    bench.entry(Body::TurnEnd(TurnEnd { outcome: End::Done }));
    bench.delta(progress("compacting older work"));
    assert!(
        bench
            .shown()
            .contains("compacting older work 0s · esc stops")
    );
    bench.keys("later<enter>");
    let shown = bench.shown();
    assert!(shown.contains("read at the next step: later"), "{shown}");
    bench.keys("<esc>");
    let last = bench.effects.last().map(String::as_str);
    assert_eq!(last, Some("Send(Interrupt)"));
    assert!(bench.shown().contains("stopping"));
    bench.delta(progress(""));
    assert!(!bench.shown().contains("esc stops"));

    bench.delta(progress("compacting older work"));
    bench.entry(usage(950, Some("compaction")));
    assert_eq!(
        status(&bench),
        "wise-2 · asks first (shift-tab) · context 90% · cached 0% · main          ? keys"
    );
    bench.entry(Body::Compaction(Compaction {
        through: 7,
        digest: "<digest></digest>".into(),
        by: DigestBy::Model,
        focus: None,
        archive: None,
        answers: 2,
        calls: 3,
        tokens_before: 900,
        tokens_after: 120,
        shared_bytes: 0,
    }));
    bench.delta(progress(""));
    assert_eq!(
        status(&bench),
        "wise-2 · asks first (shift-tab) · context 12% · cached 0% · main          ? keys"
    );
    let shown = bench.shown();
    assert!(shown.contains("Compacted 2 answers and 3 calls"), "{shown}");
    // What it took belongs to no turn.
    bench.entry(user("on"));
    bench.entry(usage(200, None));
    bench.entry(Body::TurnEnd(TurnEnd { outcome: End::Done }));
    let shown = bench.shown();
    assert!(shown.contains("200 in"), "{shown}");
}
