//! `ostler permissions`: what the rules say to a call, which there are, which could be, and what a session touched.
//! Nothing is run. How rules are kept in files is `rule_store`.

use super::table::{self, Column};
use super::text;
use crate::boot::{self, Boot, UsageError};
use crate::config::diagnose;
use crate::config::layers::{self, RuleList};
use crate::config::tree::Layer;
use crate::exec::OK;
use crate::flags::{Listing, Permissions, RuleLayer};
use crate::lenient::Lenient;
use crate::rule_store;
use anyhow::anyhow;
use jiff::Timestamp;
use ostler_engine::audit::{self, Audited, Fate, Kind};
use ostler_engine::policy::{self, Call, Policy, Posture, Rule, Verdict};
use ostler_engine::tool::Scope;
use ostler_engine::tools::Tools;
use ostler_engine::{log, resolve};
use ostler_wire::{Access, Entry};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Sessions that `suggest` looks into, the newest first.
const MAX_SESSIONS: usize = 500;
/// Things that one call of the audit shows on a terminal.
const MAX_SHOWN: usize = 12;

pub async fn run(start: Lenient, args: Permissions) -> anyhow::Result<u8> {
    match args {
        // With half a configuration the answer would be another one.
        Permissions::Check { tool, args, format } => {
            check(&*start.strict()?, &tool, &args, format).await?;
        }
        Permissions::List { format } => list(&start.warned(), format)?,
        Permissions::Remove { rule, layer } => remove(&start.boot, &rule, layer)?,
        Permissions::Suggest {
            since,
            apply,
            layer,
            format,
        } => {
            let after = since_when(&since, Timestamp::now())?;
            let boot = start.strict()?;
            let found = suggestions(&boot, after)?;
            show_suggestions(&found, format)?;
            if apply {
                save(&boot, &found, layer)?;
            }
        }
        Permissions::Audit { session, format } => audit(&start.warned(), session, format)?,
    }
    Ok(OK)
}

fn scope(boot: &Boot) -> Scope {
    Scope {
        root: boot.places.root.clone(),
        user_home: boot.places.user_home.clone(),
    }
}

/// What a check answers.
#[derive(Serialize)]
struct Checked {
    decision: &'static str,
    rule: Option<String>,
    layer: Option<&'static str>,
    reason: String,
    effects: Vec<String>,
}

async fn check(boot: &Boot, tool: &str, args: &str, format: Listing) -> anyhow::Result<()> {
    let scope = scope(boot);
    let (name, accesses) = accesses(tool, args, &scope)?;
    let policy = Policy {
        posture: Posture::Ask,
        ..boot.policy()?
    };
    let host = ostler_host::Local::new();
    let resolved = resolve::resolved(&host, &accesses, &policy, &scope).await;
    let decision = policy.decide(Call {
        tool: &name,
        accesses: &accesses,
        scope: &scope,
        resolved: &resolved,
    });
    let written = boot.loaded.rules().into_iter().find(|rule| {
        Some(rule.place.to_string()) == decision.from
            && decision.rule.as_deref() == Some(rule.text.trim())
    });
    let checked = Checked {
        decision: word(decision.verdict),
        rule: decision.rule,
        layer: written.map(|rule| rule.layer.name()),
        reason: decision.reason,
        effects: decision.effects,
    };
    if format == Listing::Json {
        return text::print_json(&checked);
    }
    let mut lines = vec![format!("{}: {}", checked.decision, checked.reason)];
    if let Some(rule) = &checked.rule {
        let from = decision.from.unwrap_or_default();
        lines.push(format!("  rule    {rule} ({from})"));
    }
    lines.extend(checked.effects.iter().map(|e| format!("  effect  {e}")));
    // No allow rule is stronger than an ask rule.
    if decision.verdict == Verdict::Ask && checked.rule.is_none() {
        let rules = policy::propose(&name, &accesses, &scope);
        lines.extend(rules.iter().map(|rule| format!("  allowed by  {rule}")));
    }
    let lines: Vec<String> = lines
        .iter()
        .map(|line| text::visible(line).replace('\n', " "))
        .collect();
    text::print(&(lines.join("\n") + "\n"))
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}

/// The tool's name and what a call with these arguments declares.
fn accesses(tool: &str, args: &str, scope: &Scope) -> anyhow::Result<(String, Vec<Access>)> {
    let usage = |message: String| anyhow!(UsageError(message));
    if let Some((server, name)) = tool.strip_prefix("mcp__").and_then(|n| n.split_once("__")) {
        let args = object(args).map_err(usage)?;
        let accesses = policy::mcp_accesses(server, name, &args, scope);
        return Ok((tool.to_owned(), accesses));
    }
    let Some(found) = Tools::new(&[]).find(tool) else {
        return Err(usage(boot::no_tool(tool)));
    };
    let args = match (found.name(), object(args)) {
        (_, Ok(args)) => args,
        // A command is easier to type than its JSON.
        ("bash", Err(_))
            if !args.trim_start().starts_with('{') || !args.contains("\"command\"") =>
        {
            let plain = serde_json::from_str::<String>(args);
            json!({"command": plain.unwrap_or_else(|_| args.to_owned())})
        }
        (_, Err(why)) => return Err(usage(why)),
    };
    let accesses = found
        .access(&args, scope)
        .map_err(|e| usage(format!("{}: {}", found.name(), e.message)))?;
    Ok((found.name().to_owned(), accesses))
}

fn object(args: &str) -> Result<Value, String> {
    let how = "write them like '{\"path\": \"src/main.rs\"}'";
    match serde_json::from_str::<Value>(args) {
        Ok(value) if value.is_object() => Ok(value),
        Ok(_) => Err(format!("the arguments are not a JSON object; {how}")),
        Err(error) => Err(format!("the arguments are not JSON ({error}); {how}")),
    }
}

#[derive(Serialize)]
struct Row {
    list: &'static str,
    rule: String,
    layer: &'static str,
    from: String,
    notes: Vec<String>,
}

fn list(boot: &Boot, format: Listing) -> anyhow::Result<()> {
    let rows = rows(&boot.loaded.rules(), &scope(boot));
    match format {
        Listing::Json => text::print_json(&rows),
        Listing::Text if rows.is_empty() => {
            text::say("No rules. Readers are allowed; for the rest `permissions.mode` decides.");
            Ok(())
        }
        Listing::Text => {
            let columns = [
                Column::Left("list"),
                Column::Left("rule"),
                Column::Left("layer"),
                Column::Left("where"),
                Column::Left("note"),
            ];
            let cells: Vec<Vec<String>> = rows
                .iter()
                .map(|row| {
                    let notes = row.notes.join("; ");
                    [row.list, &row.rule, row.layer, &row.from, &notes]
                        .map(text::one_line)
                        .to_vec()
                })
                .collect();
            text::print(&table::render(&columns, &cells, None))
        }
    }
}

/// Strongest list first, with what is odd about each rule.
fn rows(written: &[layers::Rule], scope: &Scope) -> Vec<Row> {
    let rank = |list: RuleList| match list {
        RuleList::Deny => 0,
        RuleList::Ask => 1,
        RuleList::Allow => 2,
    };
    let mut rules: Vec<&layers::Rule> = written.iter().collect();
    rules.sort_by_key(|rule| rank(rule.list));
    let parsed: Vec<_> = rules
        .iter()
        .map(|rule| Rule::parse(&rule.text, &rule.place.to_string()))
        .collect();
    let mut rows: Vec<Row> = Vec::new();
    for (i, (rule, own)) in rules.iter().zip(&parsed).enumerate() {
        let mut notes = Vec::new();
        match own {
            Err(error) => notes.push(format!("cannot be read: {}", error.why)),
            Ok(own) => {
                if let Some(name) = own.unknown_tool() {
                    notes.push(format!("matches nothing: {}", boot::no_tool(name)));
                }
                let others = rules.iter().zip(&parsed).enumerate();
                for (j, (other, theirs)) in others {
                    let Ok(theirs) = theirs else { continue };
                    let stronger = rank(other.list) < rank(rule.list);
                    // Of two that say the same the later one is the spare one.
                    let spare = rank(other.list) == rank(rule.list)
                        && (j < i || !own.covers(theirs, scope));
                    if i == j || !(stronger || spare) || !theirs.covers(own, scope) {
                        continue;
                    }
                    let name = &theirs.text;
                    notes.push(match (stronger, other.list) {
                        (true, RuleList::Deny) => format!("never holds: deny {name} covers it"),
                        (true, RuleList::Ask | RuleList::Allow) => {
                            format!("never holds: ask {name} covers it")
                        }
                        (false, _) => format!("says no more than {name} in {}", theirs.from),
                    });
                }
            }
        }
        rows.push(Row {
            list: name_of(rule.list),
            rule: rule.text.clone(),
            layer: rule.layer.name(),
            from: rule.place.to_string(),
            notes,
        });
    }
    rows
}

fn name_of(list: RuleList) -> &'static str {
    match list {
        RuleList::Allow => "allow",
        RuleList::Ask => "ask",
        RuleList::Deny => "deny",
    }
}

fn remove(boot: &Boot, rule: &str, layer: Option<RuleLayer>) -> anyhow::Result<()> {
    let mut said = String::new();
    for one in rule_store::remove(boot, rule, layer)? {
        said.push_str(&format!(
            "Removed {} from {} in {} ({})\n",
            one.text.trim(),
            name_of(one.list),
            one.file,
            one.layer.name()
        ));
    }
    if !said.is_empty() {
        return text::print_foreign(&said);
    }
    let elsewhere = boot.loaded.rules().into_iter().find(|other| {
        matches!(other.layer, Layer::Environment | Layer::Flag)
            && rule_store::is_same(&other.text, rule)
    });
    if let Some(other) = elsewhere {
        return Err(anyhow!(
            "The rule {rule} stands in no file but in {}; change it there.",
            other.place
        ));
    }
    let (known, names) = rule_store::written(boot, layer)?;
    let near = diagnose::nearest(rule, known.iter().map(String::as_str));
    let hint = match near {
        Some(near) => format!("Did you mean `{near}`?"),
        None => "`ostler permissions list` shows those there are.".into(),
    };
    Err(anyhow!(
        "There is no rule `{rule}` in {}. {hint}",
        names.join(" or ")
    ))
}

/// Rules that would have spared a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Suggestion {
    rules: Vec<String>,
    /// How often a person said yes.
    count: usize,
    example: String,
    last: String,
}

#[derive(Default, Serialize)]
struct Suggestions {
    suggestions: Vec<Suggestion>,
    /// Yeses for which no rule can be written that would allow no more.
    without: usize,
}

fn since_when(since: &str, now: Timestamp) -> anyhow::Result<Timestamp> {
    let wrong = || {
        UsageError(format!(
            "--since {since} is no time; write it like 12h, 30d or 4w"
        ))
    };
    let (number, unit) = since
        .split_at_checked(since.len().saturating_sub(1))
        .ok_or_else(wrong)?;
    let hours: i64 = match unit {
        "h" => 1,
        "d" => 24,
        "w" => 24 * 7,
        _ => return Err(wrong().into()),
    };
    let number: i64 = number.parse().ok().filter(|n| *n >= 0).ok_or_else(wrong)?;
    let seconds = number
        .checked_mul(hours * 3600)
        .and_then(|s| now.as_second().checked_sub(s));
    // Longer ago than time goes back is always.
    Ok(seconds
        .and_then(|s| Timestamp::from_second(s).ok())
        .unwrap_or(Timestamp::MIN))
}

fn suggestions(boot: &Boot, after: Timestamp) -> anyhow::Result<Suggestions> {
    let policy = Policy {
        posture: Posture::Ask,
        ..boot.policy()?
    };
    let store = boot.store();
    let sessions = store.list().map_err(|e| anyhow!(e))?;
    let recent = |ts: &str| ts.parse::<Timestamp>().is_ok_and(|ts| ts >= after);
    let mut found: BTreeMap<Vec<String>, Suggestion> = BTreeMap::new();
    let mut without = 0;
    for session in sessions
        .iter()
        .filter(|s| recent(&s.updated))
        .take(MAX_SESSIONS)
    {
        let Ok((entries, _)) = store.read(&session.id) else {
            continue;
        };
        let scope = scope_of(boot, &entries);
        for approved in audit::approved(&entries, &scope) {
            let call = Call {
                tool: &approved.tool,
                accesses: &approved.accesses,
                scope: &scope,
                resolved: &[],
            };
            // What is allowed or forbidden by now needs no rule.
            if !recent(&approved.ts) || policy.decide(call).verdict != Verdict::Ask {
                continue;
            }
            let rules = policy::propose(&approved.tool, &approved.accesses, &scope);
            if rules.is_empty() {
                without += 1;
                continue;
            }
            let one = found.entry(rules.clone()).or_insert_with(|| Suggestion {
                rules,
                count: 0,
                example: approved.subject.clone(),
                last: String::new(),
            });
            one.count += 1;
            one.last = one.last.clone().max(approved.ts);
        }
    }
    let mut suggestions: Vec<Suggestion> = found.into_values().collect();
    suggestions.sort_by(|a, b| b.count.cmp(&a.count).then(b.last.cmp(&a.last)));
    Ok(Suggestions {
        suggestions,
        without,
    })
}

/// Paths of a log are relative to the root it was written for.
fn scope_of(boot: &Boot, entries: &[Entry]) -> Scope {
    Scope {
        root: audit::root(entries).unwrap_or_else(|| boot.places.root.clone()),
        user_home: boot.places.user_home.clone(),
    }
}

fn show_suggestions(found: &Suggestions, format: Listing) -> anyhow::Result<()> {
    if format == Listing::Json {
        return text::print_json(found);
    }
    if found.suggestions.is_empty() {
        text::say("Nothing was allowed by hand that a rule could allow.");
    } else {
        let rows: Vec<Vec<String>> = found
            .suggestions
            .iter()
            .map(|s| {
                let rules = text::one_line(&s.rules.join("  "));
                vec![s.count.to_string(), rules, text::one_line(&s.example)]
            })
            .collect();
        let columns = [
            Column::Right("asked"),
            Column::Left("rules"),
            Column::Flexible("example"),
        ];
        text::print(&table::render(&columns, &rows, table::terminal_width()))?;
    }
    if found.without > 0 {
        let many = text::many(found.without, "more answer");
        text::say(&format!("No rule would allow just what {many} allowed."));
    }
    Ok(())
}

fn save(boot: &Boot, found: &Suggestions, layer: RuleLayer) -> anyhow::Result<()> {
    let mut rules: Vec<String> = Vec::new();
    for rule in found.suggestions.iter().flat_map(|s| &s.rules) {
        if !rules.contains(rule) {
            rules.push(rule.clone());
        }
    }
    if rules.is_empty() {
        return Ok(());
    }
    let (added, file) = rule_store::allow(boot, &rules, layer)?;
    text::say(&format!(
        "Saved {} in {file}. `ostler permissions remove RULE` takes one back.",
        text::many(added, "allow rule"),
    ));
    Ok(())
}

fn audit(boot: &Boot, session: Option<String>, format: Listing) -> anyhow::Result<()> {
    let store = boot.store();
    let path = match session {
        Some(id) => store.find(&id),
        None => store.last(),
    };
    let (entries, damage) = log::read(&path.map_err(|e| anyhow!(e))?)?;
    if let Some(notice) = damage.notice(ostler_wire::Language::English) {
        text::say(&notice);
    }
    let calls = audit::audit(&entries, &scope_of(boot, &entries));
    if calls.len() == audit::MAX_CALLS {
        text::say(&format!(
            "Only the first {} calls are shown.",
            audit::MAX_CALLS
        ));
    }
    match format {
        Listing::Json => text::print_json(&calls),
        Listing::Text if calls.is_empty() => {
            text::say("This session called no tool.");
            Ok(())
        }
        Listing::Text => text::print(&told(&calls)),
    }
}

fn told(calls: &[Audited]) -> String {
    let mut out = String::new();
    for call in calls {
        let fate = match call.fate {
            Fate::Done => "",
            Fate::Failed => ", failed",
            Fate::Refused => ", did not run",
            Fate::Open => ", no result",
        };
        let told = |word: &str, what: &Option<String>| {
            let what = what.as_deref().map(text::one_line);
            what.map_or_else(String::new, |what| format!("{word} {what}"))
        };
        let rule = told(" by", &call.rule);
        let saved = told(", saved", &call.saved);
        out.push_str(&format!(
            "{:>5}  {} {}  [{}{rule}{saved}{fate}]\n",
            call.entry,
            text::one_line(&call.tool),
            text::one_line(&call.subject),
            text::one_line(&call.decision),
        ));
        for touched in call.touched.iter().take(MAX_SHOWN) {
            let kind = match touched.kind {
                Kind::Read => "read",
                Kind::Write => "write",
                Kind::Delete => "delete",
                Kind::Net => "net",
                Kind::Mcp => "mcp",
                Kind::Job => "job",
                Kind::Delegate => "delegate",
                Kind::Memory => "memory",
            };
            out.push_str(&format!(
                "       {kind:<8} {}\n",
                text::one_line(&touched.what)
            ));
        }
        if let Some(more) = call.touched.len().checked_sub(MAX_SHOWN).filter(|n| *n > 0) {
            out.push_str(&format!("       and {more} more; --format json has all\n"));
        }
        if call.unsure {
            out.push_str("       maybe more: its words do not tell everything\n");
        }
    }
    out
}
