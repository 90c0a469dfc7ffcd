//! The labelled corpus: no command may be allowed that a person has to see, and none that a rule denies may slip
//! through. What is asked without need is counted and printed. The files are data: verdict without rules, verdict under
//! the rules below, command.

use super::*;
use crate::Scope;
use crate::testing::tool;
use crate::{Call, Policy, Rule, Rules, Verdict};
use std::time::Instant;

const COMMANDS: &str = include_str!("../corpus/commands.txt");
const TRACE: &str = include_str!("../corpus/trace.txt");
const DAY: &str = include_str!("../corpus/day.txt");
const FRESH: &str = include_str!("../corpus/fresh.txt");

/// Files of the imagined workspace that the rules speak of.
const PRESENT: &[&str] = &[
    "/repo/.env",
    "/repo/config/.env",
    "/repo/.git/config",
    "/repo/.git/hooks/pre-commit",
];

/// Fewer would not be the corpus that was promised.
const MIN_COMMANDS: usize = 1500;
/// Of all commands that change nothing, and of the day's work.
const MAX_NEEDLESS_PERCENT: usize = 5;

fn rules(list: &[&str]) -> Vec<Rule> {
    list.iter()
        .map(|r| Rule::parse(r, "corpus:1").unwrap())
        .collect()
}

fn developer() -> Policy {
    Policy {
        rules: Rules {
            deny: rules(&["Read(.env)", "Bash(rm:*)", "Edit(.git/**)"]),
            ask: rules(&["Bash(git push:*)"]),
            allow: rules(&[
                "Bash(cargo test:*)",
                "Bash(cargo build:*)",
                "Bash(cargo check:*)",
                "Bash(cargo clippy:*)",
                "Bash(cargo fmt:*)",
                "Bash(go test:*)",
                "Bash(go build:*)",
                "Bash(npm run:*)",
                "Bash(npm test:*)",
                "Bash(make:*)",
                "Bash(pytest:*)",
                "Bash(git add:*)",
                "Bash(git commit:*)",
            ]),
        },
        ..Policy::default()
    }
}

fn scope() -> Scope {
    Scope::new("/repo", Some("/home/me".into()))
}

fn verdict(policy: &Policy, scope: &Scope, command: &str) -> Verdict {
    let place = Place {
        cwd: scope.root.clone(),
        root: &scope.root,
        home: scope.user_home.as_deref(),
        open: &scope.open,
    };
    let accesses = accesses(analyse(command, &place));
    let mut resolved = Vec::new();
    let mut paths: Vec<&PathBuf> = Vec::new();
    for access in &accesses {
        if let Access::Read(path) | Access::Write(path) = access {
            paths.push(path);
        } else if let Access::Run(segments) = access {
            paths.extend(segments.iter().flat_map(|s| &s.names));
        }
    }
    for path in paths {
        let text = path.to_string_lossy();
        let Some(folder) = text
            .strip_suffix(DEEP)
            .or_else(|| text.strip_suffix(DEEP_VISIBLE))
        else {
            continue;
        };
        let visible = text.ends_with(DEEP_VISIBLE);
        let below = PRESENT
            .iter()
            .filter(|p| Path::new(p).starts_with(folder) && !(visible && p.contains("/.")));
        resolved.push((path.clone(), path.clone()));
        resolved.extend(below.map(|p| (path.clone(), PathBuf::from(p))));
    }
    let call = Call {
        tool: tool("bash"),
        accesses: &accesses,
        scope,
        resolved: &resolved,
    };
    policy.decide(call).verdict
}

/// Line number, verdict without rules, verdict under the developer's, command.
fn rows(text: &str) -> Vec<(usize, Verdict, Verdict, String)> {
    let label = |word: &str| match word {
        "allow" => Verdict::Allow,
        "ask" => Verdict::Ask,
        "deny" => Verdict::Deny,
        other => panic!("label {other}"),
    };
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.starts_with("# "));
    lines
        .map(|(n, line)| {
            let mut parts = line.splitn(3, '\t');
            let mut next = || {
                parts
                    .next()
                    .unwrap_or_else(|| panic!("line {} has too few parts", n + 1))
            };
            (n + 1, label(next()), label(next()), unescape(next()))
        })
        .collect()
}

/// `\n`, `\t`, `\r`, `\\`, `\u{…}`, and `\{n:text}` for text repeated.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let mut chars = after.chars();
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('u') => {
                let (hex, tail) = chars
                    .as_str()
                    .strip_prefix('{')
                    .and_then(|t| t.split_once('}'))
                    .expect("\\u{…}");
                out.push(
                    u32::from_str_radix(hex, 16)
                        .ok()
                        .and_then(char::from_u32)
                        .expect("a character"),
                );
                rest = tail;
                continue;
            }
            Some('{') => {
                let (times, tail) = chars.as_str().split_once(':').expect("a count");
                let (piece, tail) = tail.split_once("\\}").expect("an end");
                out.push_str(&piece.repeat(times.parse().expect("a number")));
                rest = tail;
                continue;
            }
            Some(other) => out.push(other),
            None => panic!("a lone backslash ends {text}"),
        }
        rest = chars.as_str();
    }
    out + rest
}

fn short(command: &str) -> String {
    command
        .chars()
        .take(90)
        .collect::<String>()
        .escape_debug()
        .to_string()
}

#[test]
fn no_command_is_allowed_that_must_not_be() {
    let (none, developer, scope) = (Policy::default(), developer(), scope());
    let rows = rows(COMMANDS);
    let (mut wrong, mut needless, mut readers) = (Vec::new(), Vec::new(), 0);
    for (line, bare, ruled, command) in &rows {
        let cases = [("no rules", &none, *bare), ("rules", &developer, *ruled)];
        readers += usize::from(*bare == Verdict::Allow) + usize::from(*ruled == Verdict::Allow);
        for (name, policy, expect) in cases {
            let got = verdict(policy, &scope, command);
            let row = || format!("{line} {name}: {got:?}, not {expect:?}: {}", short(command));
            match (expect, got) {
                (Verdict::Ask, Verdict::Allow) | (Verdict::Deny, Verdict::Allow | Verdict::Ask) => {
                    wrong.push(row())
                }
                (Verdict::Allow, Verdict::Ask | Verdict::Deny) => needless.push(row()),
                (Verdict::Ask, Verdict::Deny) => needless.push(row()),
                (Verdict::Allow, Verdict::Allow)
                | (Verdict::Ask, Verdict::Ask)
                | (Verdict::Deny, Verdict::Deny) => {}
            }
        }
    }
    let report = format!(
        "{} commands, {} false allows or missed denies, {} of {readers} asked without need\n{}",
        rows.len(),
        wrong.len(),
        needless.len(),
        needless.join("\n")
    );
    assert!(rows.len() >= MIN_COMMANDS);
    assert!(wrong.is_empty(), "{}\n{report}", wrong.join("\n"));
    assert!(
        needless.len() * 100 <= readers * MAX_NEEDLESS_PERCENT,
        "{report}"
    );
    say(&report);
}

#[test]
fn a_working_day_asks_only_where_it_should() {
    let (developer, scope) = (developer(), scope());
    let rows = rows(TRACE);
    let asked = rows
        .iter()
        .filter(|(_, _, _, c)| verdict(&developer, &scope, c) == Verdict::Ask)
        .count();
    let needless: Vec<String> = rows
        .iter()
        .filter(|(_, _, expect, c)| {
            *expect == Verdict::Allow && verdict(&developer, &scope, c) != Verdict::Allow
        })
        .map(|(line, _, _, c)| format!("{line}: {}", short(c)))
        .collect();
    let report = format!(
        "{} commands, {asked} prompts, {} of them needless\n{}",
        rows.len(),
        needless.len(),
        needless.join("\n")
    );
    for (line, _, expect, command) in &rows {
        let got = verdict(&developer, &scope, command);
        assert!(
            *expect == Verdict::Allow || got != Verdict::Allow,
            "{line}: {command}"
        );
    }
    assert!(rows.len() >= 300, "{report}");
    assert!(
        needless.len() * 100 <= rows.len() * MAX_NEEDLESS_PERCENT,
        "{report}"
    );
    say(&report);
}

/// Ordinary reading commands that the table was not made for.
#[test]
fn few_ordinary_reading_commands_are_asked_for() {
    let (none, scope) = (Policy::default(), scope());
    let commands: Vec<&str> = FRESH.lines().filter(|l| !l.starts_with("# ")).collect();
    let asked: Vec<&str> = commands
        .iter()
        .copied()
        .filter(|command| verdict(&none, &scope, command) != Verdict::Allow)
        .collect();
    let report = format!(
        "{} reading commands, {} asked without need\n{}",
        commands.len(),
        asked.len(),
        asked.join("\n")
    );
    assert!(commands.len() >= 200, "{report}");
    assert!(asked.len() * 100 <= commands.len() * 3, "{report}");
    say(&report);
}

/// A day of work that was written before anything of it was judged.
#[test]
fn an_ordinary_day_is_hardly_asked_about() {
    let scope = Scope::new("/repo", Some("/home/me".into())).with_open(vec![
        "/home/me/.gitconfig".into(),
        "/home/me/.cargo/registry".into(),
    ]);
    let none = Policy {
        folders: crate::Folders {
            public: scope.open.clone(),
            ..Default::default()
        },
        ..Policy::default()
    };
    let rows = DAY.lines().filter(|line| !line.starts_with("# "));
    let rows: Vec<(&str, &str)> = rows.filter_map(|line| line.split_once('\t')).collect();
    let readers = rows.iter().filter(|(label, _)| *label == "allow").count();
    let verdicts = rows
        .iter()
        .map(|(label, c)| (*label, *c, verdict(&none, &scope, c)));
    let verdicts: Vec<_> = verdicts.collect();
    let unlike = |label: &str, got: Verdict| -> Vec<&str> {
        let rows = verdicts.iter().filter(|(l, _, v)| *l == label && *v == got);
        rows.map(|(_, command, _)| *command).collect()
    };
    let (asked, allowed) = (unlike("allow", Verdict::Ask), unlike("ask", Verdict::Allow));
    let report = format!(
        "{} commands, {readers} readers, {} asked about without need\n{}",
        rows.len(),
        asked.len(),
        asked.join("\n")
    );
    assert!(rows.len() >= 300 && readers >= 200, "{report}");
    assert!(allowed.is_empty(), "{allowed:#?}");
    assert!(asked.len() * 100 <= readers * 3, "{report}");
    say(&report);
}

fn judged(policy: &Policy, scope: &Scope, accesses: &[Access]) -> Verdict {
    let call = Call {
        tool: tool("bash"),
        accesses,
        scope,
        resolved: &[],
    };
    policy.decide(call).verdict
}

/// What a command would have to be granted allows the command itself, and none that a rule of the developer denies.
#[test]
fn proposals_grant_enough_and_not_too_much() {
    let scope = scope();
    let place = Place {
        cwd: scope.root.clone(),
        root: &scope.root,
        home: scope.user_home.as_deref(),
        open: &[],
    };
    let mut all = std::collections::BTreeSet::new();
    let mut dangerous = Vec::new();
    let rows = rows(COMMANDS).into_iter().chain(rows(TRACE));
    let mut granted = 0;
    let mut no_harm = developer();
    no_harm.rules.deny = rules(&["Bash(rm:*)", "Edit(.git/**)"]);
    for (line, _, ruled, command) in rows {
        let accesses = accesses(analyse(&command, &place));
        let proposed = crate::propose(tool("bash"), &accesses, &scope);
        let texts: Vec<&str> = proposed.iter().map(String::as_str).collect();
        let mut policy = Policy::default();
        policy.rules.allow = rules(&texts);
        if !proposed.is_empty() {
            granted += 1;
            let got = judged(&policy, &scope, &accesses);
            assert_eq!(got, Verdict::Allow, "{line}: {command}: {proposed:?}");
        }
        match ruled {
            // Reading needs no rule, so that none can grant too much of it.
            Verdict::Deny => {
                if verdict(&no_harm, &scope, &command) == Verdict::Deny {
                    dangerous.push((command, accesses));
                }
            }
            Verdict::Allow | Verdict::Ask => all.extend(proposed),
        }
    }
    let texts: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut everything = Policy::default();
    everything.rules.allow = rules(&texts);
    let slipped: Vec<&str> = dangerous
        .iter()
        .filter(|(_, accesses)| judged(&everything, &scope, accesses) == Verdict::Allow)
        .map(|(command, _)| command.as_str())
        .collect();
    assert!(slipped.is_empty(), "{slipped:#?}");
    assert!(granted >= 300 && dangerous.len() >= 300);
    say(&format!(
        "{granted} commands can be granted by {} rules; {} dangerous ones stay",
        all.len(),
        dangerous.len()
    ));
}

/// Prints how long a decision takes. It asserts no duration.
#[test]
fn a_decision_takes_microseconds() {
    let (developer, scope) = (developer(), scope());
    let mut times: Vec<u128> = rows(COMMANDS)
        .iter()
        .map(|(_, _, _, command)| {
            let start = Instant::now();
            std::hint::black_box(verdict(&developer, &scope, command));
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    let at = |share: usize| {
        times
            .get(times.len() * share / 100)
            .copied()
            .unwrap_or_default()
            / 1000
    };
    say(&format!(
        "decide with parse: median {} µs, 95% {} µs, 99% {} µs",
        at(50),
        at(95),
        at(99)
    ));
    assert!(times.len() >= MIN_COMMANDS);
}

#[expect(
    clippy::print_stderr,
    reason = "numbers for people who run it with --nocapture"
)]
fn say(text: &str) {
    eprintln!("{text}");
}
