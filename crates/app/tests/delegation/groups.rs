//! Several agents at the same time.

use super::{FREE, Team, of_type};
use ostler_testkit::Act;
use serde_json::json;

fn roles(models: &[(&str, &str)]) -> String {
    let role = |(name, model): &(&str, &str)| format!("[roles.{name}]\nmodel = \"{model}\"\n");
    FREE.to_owned() + &models.iter().map(role).collect::<String>()
}

#[test]
fn a_batch_reports_what_failed_beside_what_did_not() {
    let tasks: Vec<_> = (1..=8)
        .map(|n| {
            let role = if n % 4 == 0 { "broken" } else { "worker" };
            json!({"role": role, "prompt": format!("part {n}"), "name": format!("p{n}")})
        })
        .collect();
    let config = roles(&[("worker", "codex/default"), ("broken", "claude/default")]);
    let team = Team::new(&config, vec![("batch", json!({"tasks": tasks}))]);
    team.agents.add("codex", [Act::answer("fine")]);
    team.agents.add("claude", [Act::error()]);
    team.exec().ok();
    let result = team.results().pop().unwrap();
    for n in 1..=8 {
        let role = if n % 4 == 0 { "broken" } else { "worker" };
        assert!(result.contains(&format!("## p{n} ({role})")), "{result}");
    }
    assert_eq!(result.matches("fine\n").count(), 6, "{result}");
    assert_eq!(result.matches("[failed: ").count(), 2, "{result}");
    assert!(result.contains("[2 of 8 failed"), "{result}");
    assert_eq!(team.children().len(), 8);
    // Tasks of one role wait for no other: each has a conversation of its own.
    let calls = team.agents.calls("codex");
    assert!(
        !calls
            .iter()
            .any(|call| call.args.iter().any(|arg| arg == "resume"))
    );
    assert_eq!(of_type(&team.own(), "child").len(), 8);
}

#[test]
fn a_round_table_has_every_contribution_and_goes_on() {
    let config = roles(&[
        ("one", "codex/default"),
        ("two", "claude/default"),
        ("three", "kimi/default"),
    ]);
    let people = json!([{"role": "one"}, {"role": "two", "name": "sceptic"}, {"role": "three"}]);
    let call = (
        "roundtable",
        json!({"topic": "tabs or blanks?", "participants": people}),
    );
    let team = Team::new(&config, vec![call.clone(), call]);
    team.agents.add("codex", [Act::answer("tabs")]);
    team.agents.add("claude", [Act::answer("blanks")]);
    team.agents.add("kimi", [Act::answer("both")]);
    team.exec().ok();
    let result = &team.results()[0];
    for part in [
        "## one (one)\ntabs",
        "## sceptic (two)\nblanks",
        "## three (three)\nboth",
    ] {
        assert!(result.contains(part), "{result}");
    }
    // The second round goes on with the same participants.
    let calls = team.agents.calls("codex");
    assert!(calls[1].args.iter().any(|arg| arg == "resume"), "{calls:?}");
    // Nobody changes anything at a round table.
    assert!(calls[0].args.join(" ").contains("read-only"), "{calls:?}");
}

/// What has no sense is said before anybody is started.
#[test]
fn nonsense_starts_nobody() {
    let config = roles(&[("worker", "codex/default")]);
    for (tool, args, expect) in [
        ("batch", json!({"tasks": []}), "There are no tasks"),
        (
            "roundtable",
            json!({"topic": "x", "participants": []}),
            "There are no participants",
        ),
        (
            "delegate",
            json!({"role": "nobody", "prompt": "x"}),
            "There is no role `nobody`",
        ),
        (
            "delegate",
            json!({"role": "worker", "prompt": " "}),
            "There is nothing to do",
        ),
        (
            "delegate",
            json!({"role": "worker", "prompt": "x", "contract": "haiku"}),
            "There is no contract `haiku`",
        ),
    ] {
        let team = Team::new(&config, vec![(tool, args)]);
        team.agents.add("codex", [Act::answer("ok")]);
        team.exec().ok();
        let result = team.results().pop().unwrap();
        assert!(result.contains(expect), "{result}");
        assert!(team.agents.calls("codex").is_empty(), "{expect}");
    }
}
