//! What another agent may do: the sandbox, the environment, permissions, the budget, depth, and trees of its own.

use super::{FREE, Team, of_type, task};
use ostler_testkit::Act;
use serde_json::json;

/// Tries to write, and says whether it could.
const TRY: &str = "if echo x 2>/dev/null > tried; then text='wrote'; else text='refused'; fi";

fn has_sandbox(team: &Team) -> bool {
    let out = team.run(["doctor", "--json"]).output().stdout;
    !out.contains("no layer") && cfg!(target_os = "linux")
}

/// The project is writable or not, whatever the program itself would do.
#[test]
fn a_role_that_reads_cannot_write() {
    let allow = "[permissions]\nmode = \"allow\"\n";
    for (filesystem, expect) in [("read-only", "refused"), ("read-write", "wrote")] {
        for name in ["codex", "opencode"] {
            let config = format!(
                "{allow}[roles.worker]\nmodel = \"{name}/default\"\ncapabilities = {{ filesystem = \"{filesystem}\" }}\n"
            );
            let team = Team::new(&config, vec![task("worker")]);
            if !has_sandbox(&team) {
                return super::common::skipped("no sandbox here");
            }
            team.agents.add(name, [Act::answer("").after(TRY)]);
            let out = team.exec().ok();
            let result = team.results().pop().unwrap();
            assert!(
                result.starts_with(expect),
                "{name} {filesystem}: {result} {}",
                out.stderr
            );
            let is_written = team.scene.space.exists("tried");
            assert_eq!(is_written, filesystem == "read-write", "{name}");
        }
    }
}

/// A role that may write is held to the project, and plan-like calls to nothing.
#[test]
fn what_lies_outside_stays_as_it_is() {
    let config = "[permissions]\nmode = \"allow\"\n[roles.worker]\nmodel = \"codex/default\"\n";
    let outside =
        "if echo x 2>/dev/null > \"$HOME/outside\"; then text='wrote'; else text='refused'; fi";
    let team = Team::new(config, vec![task("worker")]);
    if !has_sandbox(&team) {
        return super::common::skipped("no sandbox here");
    }
    team.agents.add("codex", [Act::answer("").after(outside)]);
    team.exec().ok();
    assert!(team.results()[0].starts_with("refused"));
    assert!(!team.scene.space.user_home().join("outside").exists());
    let read_only = (
        "delegate",
        json!({"role": "worker", "prompt": "look", "read_only": true}),
    );
    let team = Team::new(config, vec![read_only]);
    team.agents.add("codex", [Act::answer("").after(TRY)]);
    team.exec().ok();
    assert!(
        team.results()[0].starts_with("refused"),
        "{:?}",
        team.results()
    );
}

/// A program has its own login and what the person names for it, and nobody else's.
#[test]
fn only_its_own_credentials_are_in_its_environment() {
    let more = "[backend.codex]\nenv_pass = [\"HOUSE_KEY\"]\n[tools.shell]\nenv_pass = [\"SHELL_TOKEN\"]\n";
    let team = Team::of("codex/default", more, vec![task("worker")]);
    team.agents.add("codex", [Act::answer("ok")]);
    let secrets = [
        ("OPENAI_API_KEY", "sk-openai-0123456789"),
        ("ANTHROPIC_API_KEY", "sk-ant-0123456789"),
        ("HOUSE_KEY", "house-0123456789"),
        ("SHELL_TOKEN", "shell-0123456789"),
        ("GITHUB_TOKEN", "ghp_0123456789"),
    ];
    let run = team.run(["exec", "-p", "go"]);
    let run = secrets
        .iter()
        .fold(run, |run, (name, value)| run.env(name, value));
    run.output().ok();
    let call = team.agents.calls("codex").remove(0);
    let had: Vec<&str> = secrets
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| call.env.contains_key(*name))
        .collect();
    assert_eq!(had, ["OPENAI_API_KEY", "HOUSE_KEY"]);
    assert!(!call.env.contains_key("MOCK_KEY"));
    assert_eq!(call.env["OSTLER_DELEGATION_DEPTH"], "1");
}

#[test]
fn delegation_ends_two_levels_down() {
    let team = Team::of("codex/default", "", vec![task("worker")]);
    team.agents.add("codex", [Act::answer("ok")]);
    let run = team.run(["exec", "-p", "go"]);
    run.env("OSTLER_DELEGATION_DEPTH", "2").output().ok();
    assert!(
        team.agents.calls("codex").is_empty(),
        "{:?}",
        team.results()
    );
    let run = team.run(["exec", "-p", "go"]);
    run.env("OSTLER_DELEGATION_DEPTH", "1").output().ok();
    assert_eq!(
        team.agents.calls("codex")[0].env["OSTLER_DELEGATION_DEPTH"],
        "2"
    );
}

/// Unattended, a role that may write needs a rule; one that is told to read needs none.
#[test]
fn rules_are_asked_for() {
    let config = "[permissions]\nheadless = \"deny\"\n[sandbox]\nbash = \"off\"\n[roles.worker]\nmodel = \"codex/default\"\n";
    let team = Team::new(config, vec![task("worker")]);
    team.agents.add("codex", [Act::answer("ok")]);
    let out = team.exec().ok();
    assert!(team.agents.calls("codex").is_empty());
    assert!(
        out.stderr.contains("--allow 'Delegate(worker)'"),
        "{}",
        out.stderr
    );
    let run = team.run(["exec", "--allow", "Delegate(worker)", "-p", "go"]);
    run.output().ok();
    assert_eq!(team.agents.calls("codex").len(), 1);
    let denied = format!("{FREE}[roles.worker]\nmodel = \"codex/default\"\n").replace(
        "mode = \"allow\"",
        "mode = \"allow\"\ndeny = [\"Delegate(worker)\"]",
    );
    let team = Team::new(&denied, vec![task("worker")]);
    team.agents.add("codex", [Act::answer("ok")]);
    team.exec().ok();
    assert!(team.agents.calls("codex").is_empty());
}

/// What others spend is spent from the same budget.
#[test]
fn the_budget_holds_for_others_too() {
    let more = "[budget]\nsession = { tokens = 1000000 }\n[budget.child]\ntokens = 500\n";
    let team = Team::of("claude/default", more, vec![task("worker")]);
    team.agents.add("claude", [Act::answer("It stands.")]);
    team.exec().ok();
    let result = team.results().pop().unwrap();
    assert!(result.contains("budget"), "{result}");
    let child = team.children().remove(0);
    assert_eq!(child.last().unwrap()["outcome"], "error");
    let run = "[budget]\nrun = { usd = 0.2 }\n";
    let price = "[providers.price]\ninput = 0.0\noutput = 0.0\n";
    let config = format!("{price}{FREE}{run}[roles.worker]\nmodel = \"claude/default\"\n");
    let team = Team::new(&config, vec![task("worker"), task("worker")]);
    team.agents.add("claude", [Act::answer("It stands.")]);
    team.exec();
    assert_eq!(team.agents.calls("claude").len(), 1);
}

/// A writer gets a tree of its own, and what it made there is reported, not merged.
#[test]
fn a_writer_has_its_own_tree() {
    let call = (
        "delegate",
        json!({"role": "worker", "prompt": "make it", "worktree": true}),
    );
    let team = Team::of("codex/default", "", vec![call]);
    team.scene.space.write("a.txt", "one\n");
    team.scene.space.git_init();
    team.agents
        .add("codex", [Act::answer("ok").after("echo two > b.txt")]);
    team.exec().ok();
    let result = team.results().pop().unwrap();
    assert!(
        result.contains("Its changes are committed on the branch ostler/"),
        "{result}"
    );
    assert!(
        result.contains("A b.txt") && result.contains("merges cleanly"),
        "{result}"
    );
    assert!(!team.scene.space.exists("b.txt"));
    let call = team.agents.calls("codex").remove(0);
    assert!(call.cwd.contains("worktrees"), "{}", call.cwd);
    // Killed or failed, none is left without a word.
    let call = (
        "delegate",
        json!({"role": "worker", "prompt": "make it", "worktree": true}),
    );
    let team = Team::of("codex/default", "", vec![call]);
    team.scene.space.git_init();
    team.agents.add("codex", [Act::error()]);
    team.exec().ok();
    let trees = team.scene.space.git(["worktree", "list"]);
    assert_eq!(trees.lines().count(), 1, "{trees}");
    assert_eq!(of_type(&team.own(), "child")[0]["outcome"], "failed");
}
