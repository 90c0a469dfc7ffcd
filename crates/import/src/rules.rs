//! Permission rules of others in the form of ours. What means something else here is named and left.

use crate::agents::{RuleForm, rule_name};
use crate::item::{Item, Kind, List, Taken};
use ostler_wire::{Why, Word};
use serde_json::Value;
use std::path::Path;

/// Rules of one file.
const MAX_RULES: usize = 2_000;

pub fn rules(value: &Value, form: RuleForm, from: &Path) -> Vec<Item> {
    let mut out = Vec::new();
    match form {
        RuleForm::Lists => {
            for list in [List::Deny, List::Ask, List::Allow] {
                for rule in texts(value.get(list.name())) {
                    out.push(item(list, rule, of_text(rule), from));
                }
            }
        }
        RuleForm::Allowed => {
            out.extend(
                texts(Some(value)).map(|rule| item(List::Allow, rule, of_prefix(rule), from)),
            );
        }
        RuleForm::Excluded => {
            out.extend(
                texts(Some(value)).map(|rule| item(List::Deny, rule, of_prefix(rule), from)),
            );
        }
        RuleForm::Answers => answers(value, from, &mut out),
    }
    out.truncate(MAX_RULES);
    out
}

fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    let list = value.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str)
}

fn item(list: List, written: &str, rule: Result<String, Word>, from: &Path) -> Item {
    let name = format!("{} {written}", list.name());
    let taken = match rule {
        Ok(rule) => Taken::Rule { list, rule },
        Err(word) => Taken::Left(Why::from(word)),
    };
    Item::new(Kind::Rule, name, from, taken)
}

/// `Tool` or `Tool(spec)`.
fn of_text(written: &str) -> Result<String, Word> {
    let written = written.trim();
    let (name, spec) = match written.split_once('(') {
        Some((name, rest)) => {
            let spec = rest.strip_suffix(')').ok_or(Word::ImportRuleUnread)?;
            (name.trim(), Some(spec.trim()))
        }
        None => (written, None),
    };
    if name.starts_with("mcp__") {
        return match spec {
            None => Ok(name.trim_end_matches("__*").to_owned()),
            Some(_) => Err(Word::ImportRuleUnread),
        };
    }
    let ours = rule_name(name).ok_or(Word::ImportRuleTool)?;
    let Some(spec) = spec.filter(|spec| !matches!(*spec, "" | "*" | "**")) else {
        return Ok(ours.to_owned());
    };
    let spec = match ours {
        "Net" => host(spec)?,
        "Edit" | "Read" => path(spec)?,
        "Bash" => spec.to_owned(),
        _ => return Err(Word::ImportRuleTool),
    };
    Ok(format!("{ours}({spec})"))
}

/// The host of `domain:example.com`, or of an address.
fn host(spec: &str) -> Result<String, Word> {
    let host = spec.strip_prefix("domain:").unwrap_or(spec);
    let host = match host.split_once("://") {
        Some((_, rest)) => rest.split('/').next().unwrap_or_default(),
        None => host,
    };
    let is_host = !host.is_empty()
        && host
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ".-*:".contains(c));
    match is_host {
        true => Ok(host.to_owned()),
        false => Err(Word::ImportRuleUnread),
    }
}

/// `//x` is a path from the root of the machine; a single slash stands for the folder of the settings, which is no place here.
fn path(spec: &str) -> Result<String, Word> {
    match spec.strip_prefix("//") {
        Some(rest) => Ok(format!("/{rest}")),
        None if spec.starts_with('/') => Err(Word::ImportRulePlace),
        None => Ok(spec.to_owned()),
    }
}

/// `Tool`, or `Tool(words)` where the words are the first ones of a command.
fn of_prefix(written: &str) -> Result<String, Word> {
    let rule = of_text(written)?;
    match rule
        .strip_prefix("Bash(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        Some(words) if !words.contains('*') => Ok(format!("Bash({words}:*)")),
        Some(_) | None => Ok(rule),
    }
}

/// Tools with one answer, or with one for each pattern. There the last pattern that fits counts; here deny counts before ask,
/// and ask before allow, so what a general answer would override is left.
fn answers(value: &Value, from: &Path, out: &mut Vec<Item>) {
    if let Some(answer) = value.as_str() {
        let name = format!("* = {answer}");
        out.push(Item::new(
            Kind::Rule,
            name,
            from,
            Taken::Left(Word::ImportRuleAll.into()),
        ));
        return;
    }
    for (tool, answer) in value.as_object().into_iter().flatten() {
        if let Some(answer) = answer.as_str() {
            out.push(one_answer(tool, None, answer, from));
            continue;
        }
        for (pattern, answer) in answer.as_object().into_iter().flatten() {
            let Some(answer) = answer.as_str() else {
                continue;
            };
            out.push(one_answer(tool, Some(pattern), answer, from));
        }
    }
}

fn one_answer(tool: &str, pattern: Option<&str>, answer: &str, from: &Path) -> Item {
    let written = match pattern {
        Some(pattern) => format!("{tool}({pattern})"),
        None => tool.to_owned(),
    };
    let list = [List::Deny, List::Ask, List::Allow];
    let list = list.into_iter().find(|list| list.name() == answer);
    let left = |word: Word| {
        let name = format!("{written} = {answer}");
        Item::new(Kind::Rule, name, from, Taken::Left(word.into()))
    };
    let is_general = tool == "*" || pattern.is_some_and(|p| p.trim_matches('*').is_empty());
    match list {
        None => left(Word::ImportRuleUnread),
        // Asking is what happens anyway.
        Some(List::Ask | List::Deny) if is_general && pattern.is_some() => {
            left(Word::ImportRuleAll)
        }
        Some(_) if tool == "*" => left(Word::ImportRuleAll),
        Some(list) => item(list, &written, of_text(&written), from),
    }
}

/// Rules in a file of calls of `prefix_rule`: the words of `pattern`, and a `decision`.
pub fn prefix_rules(text: &str, from: &Path) -> Vec<Item> {
    let mut out = Vec::new();
    for call in text.split("prefix_rule").skip(1).take(MAX_RULES) {
        let Some((inner, _)) = call
            .trim_start()
            .strip_prefix('(')
            .and_then(|c| c.split_once(")\n").or_else(|| c.rsplit_once(')')))
        else {
            continue;
        };
        let pattern = inner
            .split_once("pattern")
            .and_then(|(_, rest)| rest.split_once('['));
        let words = pattern.and_then(|(_, rest)| rest.split_once(']'));
        let decision = inner.split_once("decision").map(|(_, rest)| quoted(rest));
        let decision = decision.and_then(|words| words.first().cloned());
        let list = match decision.as_deref() {
            None | Some("allow") => List::Allow,
            Some("prompt") => List::Ask,
            Some(_) => List::Deny,
        };
        let shown = inner.split_whitespace().collect::<Vec<_>>().join(" ");
        // A list within the list is a choice of words: it would be several rules.
        let words = words.filter(|(inner, _)| !inner.contains('['));
        let words = words.map(|(inner, _)| quoted(inner)).unwrap_or_default();
        let rule = match words.is_empty() || words.iter().any(|w| w.contains([' ', '*', ')'])) {
            true => Err(Word::ImportRuleUnread),
            false => Ok(format!("Bash({}:*)", words.join(" "))),
        };
        out.push(item(list, &shown, rule, from));
    }
    out
}

/// The texts in quotes.
fn quoted(text: &str) -> Vec<String> {
    let pieces = text.split('"').skip(1).step_by(2);
    pieces.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(items: &[Item]) -> Vec<String> {
        let one = |item: &Item| match &item.taken {
            Taken::Rule { list, rule } => format!("{} {rule}", list.name()),
            _ => format!("left: {}", item.name),
        };
        items.iter().map(one).collect()
    }

    #[test]
    fn lists_of_rules() {
        let value = json!({
            "allow": ["Bash(npm run test:*)", "Read(//etc/hosts)", "Edit(src/**)", "WebFetch(domain:docs.rs)",
                      "mcp__github__*", "mcp__github__get", "Skill(x)", "Read(/docs)", "Bash"],
            "deny": ["Read(.env)"],
            "ask": ["Bash(git push:*)", 7],
        });
        let items = rules(&value, RuleForm::Lists, Path::new("f"));
        assert_eq!(
            told(&items),
            [
                "deny Read(.env)",
                "ask Bash(git push:*)",
                "allow Bash(npm run test:*)",
                "allow Read(/etc/hosts)",
                "allow Edit(src/**)",
                "allow Net(docs.rs)",
                "allow mcp__github",
                "allow mcp__github__get",
                "left: allow Skill(x)",
                "left: allow Read(/docs)",
                "allow Bash",
            ]
        );
    }

    #[test]
    fn answers_for_tools_and_patterns() {
        let value = json!({
            "edit": "ask", "webfetch": "deny", "*": "allow",
            "bash": {"*": "ask", "git status *": "allow", "rm *": "deny", "x": 1},
        });
        let items = rules(&value, RuleForm::Answers, Path::new("f"));
        assert_eq!(
            told(&items),
            [
                "ask Edit",
                "deny Net",
                "left: * = allow",
                "left: bash(*) = ask",
                "allow Bash(git status *)",
                "deny Bash(rm *)",
            ]
        );
        let all = rules(&json!("allow"), RuleForm::Answers, Path::new("f"));
        assert_eq!(told(&all), ["left: * = allow"]);
    }

    #[test]
    fn first_words_of_commands() {
        let value = json!(["run_shell_command(git status)", "ShellTool", "save_memory"]);
        let items = rules(&value, RuleForm::Allowed, Path::new("f"));
        assert_eq!(
            told(&items),
            [
                "allow Bash(git status:*)",
                "allow Bash",
                "left: allow save_memory"
            ]
        );
        let text = "prefix_rule(pattern=[\"git\", \"push\"], decision=\"prompt\")\nprefix_rule(\n    pattern = [\"ls\"],\n)\nprefix_rule(pattern=[[\"a\",\"b\"]], decision=\"allow\")\nprefix_rule(pattern=[\"rm\"], decision=\"forbidden\")\n";
        let items = prefix_rules(text, Path::new("f"));
        assert_eq!(
            told(&items)
                .iter()
                .map(|t| t.split(':').next().unwrap_or_default().to_owned())
                .collect::<Vec<_>>(),
            ["ask Bash(git push", "allow Bash(ls", "left", "deny Bash(rm"]
        );
    }
}
