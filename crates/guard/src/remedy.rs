//! The flags that would allow a refused call, and no other. Each is tried on the policy before it is named; where none is
//! narrow enough the refusal says why. Reads nothing and allows nothing itself.

use super::call::Call;
use super::headless::{self, Held, Want};
use super::policy::{Decision, Policy, Verdict};
use super::propose::{self, is_literal};
use super::{Posture, Rule};
use ostler_wire::Word;
use std::path::Path;

/// A refusal, and what would allow the call the next time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why, as a sentence without its end.
    pub reason: Word,
    pub remedy: Remedy,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// What to type: flags that together allow the call.
    Flags(Vec<String>),
    /// No flag allows only this call; why.
    Nothing(Word),
}

/// Refusals that may stand one behind the other.
const MAX_ROUNDS: usize = 8;

/// Whether a call that would be asked runs where nobody can be asked, and what would allow it where it does not.
pub fn answer(policy: &Policy, call: Call<'_>, decision: &Decision) -> Result<(), Refusal> {
    let Err(held) = judge(policy, call, decision) else {
        return Ok(());
    };
    Err(Refusal {
        reason: held.reason,
        remedy: find(policy, call, held),
    })
}

fn judge(policy: &Policy, call: Call<'_>, decision: &Decision) -> Result<(), Held> {
    let held = headless::judge(policy, call, decision.rule.as_deref());
    // No setting answers for the person; a rule that names the very file does.
    match (decision.only_person, held) {
        (true, Ok(())) => Err(headless::only_by_name(decision)),
        (_, held) => held,
    }
}

fn find(policy: &Policy, call: Call<'_>, held: Held) -> Remedy {
    let mut trial = policy.clone();
    let mut texts: Vec<String> = Vec::new();
    let mut held = held;
    for _ in 0..MAX_ROUNDS {
        let before = texts.len();
        for want in &held.wants {
            let rules = match rules_for(want, &trial, call) {
                Ok(rules) => rules,
                Err(why) => return Remedy::Nothing(why),
            };
            for text in rules {
                let Ok(rule) = Rule::parse(&text, "a flag") else {
                    return Remedy::Nothing(Word::NoFlagWords);
                };
                if rule.canonical() != text {
                    return Remedy::Nothing(Word::NoFlagWords);
                }
                if !texts.contains(&text) {
                    texts.push(text);
                    trial.rules.allow.push(rule);
                }
            }
        }
        if texts.len() == before {
            break;
        }
        let decision = trial.decide_in(Posture::Ask, call);
        held = match decision.verdict {
            Verdict::Allow => return flags(policy, call, texts),
            Verdict::Deny => break,
            Verdict::Ask => match judge(&trial, call, &decision) {
                Ok(()) => return flags(policy, call, texts),
                Err(held) => held,
            },
        };
    }
    Remedy::Nothing(Word::NoFlagWords)
}

/// The flags for these rules, without those that the others make needless.
fn flags(policy: &Policy, call: Call<'_>, rules: Vec<String>) -> Remedy {
    let mut needed = rules.clone();
    for rule in &rules {
        let fewer: Vec<String> = needed
            .iter()
            .filter(|other| *other != rule)
            .cloned()
            .collect();
        if !fewer.is_empty() && suffice(policy, call, &fewer) {
            needed = fewer;
        }
    }
    let folders = match headless::folders_written(policy, call) {
        Ok(folders) => folders,
        Err(why) => return Remedy::Nothing(why),
    };
    let rules = needed.iter().map(|rule| allow(rule));
    let folders = folders.iter().map(|folder| add_folder(folder));
    Remedy::Flags(rules.chain(folders).collect())
}

fn suffice(policy: &Policy, call: Call<'_>, rules: &[String]) -> bool {
    let mut trial = policy.clone();
    let parsed = rules
        .iter()
        .filter_map(|rule| Rule::parse(rule, "a flag").ok());
    trial.rules.allow.extend(parsed);
    let decision = trial.decide_in(Posture::Ask, call);
    match decision.verdict {
        Verdict::Allow => true,
        Verdict::Deny => false,
        Verdict::Ask => judge(&trial, call, &decision).is_ok(),
    }
}

fn rules_for(want: &Want, policy: &Policy, call: Call<'_>) -> Result<Vec<String>, Word> {
    let path = |family: &str, path: &Path| {
        let text = match path.strip_prefix(&call.scope.root) {
            Ok(below) => format!("./{}", below.display()),
            Err(_) => path.display().to_string(),
        };
        match is_literal(&text) {
            true => Ok(vec![format!("{family}({text})")]),
            false => Err(Word::NoFlagWords),
        }
    };
    match want {
        Want::Read(file) => path("Read", file),
        Want::Edit(file) => path("Edit", file),
        Want::Host(host) if is_literal(host) => Ok(vec![format!("Net({host})")]),
        Want::Host(_) => Err(Word::NoFlagWords),
        Want::Tool(tool) => Ok(vec![tool.clone()]),
        Want::Role(role) if is_literal(role) => Ok(vec![format!("Delegate({role})")]),
        Want::Role(_) => Err(Word::NoFlagWords),
        Want::Commands => {
            propose::exact_commands(policy, call.accesses, call.scope).ok_or(Word::NoFlagWords)
        }
        Want::Nothing(why) => Err(*why),
    }
}

/// The flag that adds this rule for one run.
pub fn allow(rule: &str) -> String {
    format!("--allow {}", quoted(rule))
}

/// The flag that lets commands write in this folder for one run.
fn add_folder(folder: &Path) -> String {
    format!("--add-dir {}", quoted(&folder.display().to_string()))
}

/// As one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
