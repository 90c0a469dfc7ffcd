//! `ostler permissions`: what the rules say to a call, which there are, which could be, and what a session touched.
//! Nothing is run. How rules are kept in files is `trust::rules`.

use super::table::{self, Column};
use super::text;
use crate::boot::{self, Boot, UsageError};
use crate::config::diagnose;
use crate::config::layers::{self, RuleList};
use crate::config::tree::Layer;
use crate::exec::OK;
use crate::flags::{Listing, Permissions, RuleLayer};
use crate::lenient::Lenient;
use crate::speech::{filled, many, spoken};
use crate::trust::rules;
use anyhow::anyhow;
use jiff::Timestamp;
use ostler_engine::audit::{self, Audited, Fate, Kind};
use ostler_engine::log;
use ostler_engine::tool::Scope;
use ostler_engine::tools::{self, Tools};
use ostler_guard::resolve;
use ostler_guard::{Call, Containment, Decision, Policy, Posture, Rule, Verdict};
use ostler_wire::{Access, Entry, Language, ToolDeclaration, Word};
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
    let settings = crate::sandbox::settings(boot).ok();
    let temp = settings.and_then(|settings| settings.seen_as_tmp());
    let folders = crate::folders::folders(boot).unwrap_or_default();
    Scope::new(&boot.places.root, boot.places.user_home.clone())
        .with_shell(&boot.shell())
        .with_path(
            boot.env.get("PATH").map(std::ffi::OsStr::new),
            &crate::sandbox::granted(boot),
        )
        .held_by(boot.containment())
        .with_temp(temp, crate::sandbox::granted(boot))
        .with_open(folders.open())
        .with_trees(folders.trees())
}

/// What a check answers.
#[derive(Serialize)]
struct Checked {
    decision: &'static str,
    rule: Option<String>,
    layer: Option<&'static str>,
    reason: &'static str,
    effects: Vec<String>,
    /// What holds the command if it runs; none for a tool that runs no command.
    confined: Option<&'static str>,
}

async fn check(boot: &Boot, tool: &str, args: &str, format: Listing) -> anyhow::Result<()> {
    let scope = scope(boot);
    let (tool, accesses) = accesses(tool, args, &scope)?;
    let policy = Policy {
        posture: Posture::Ask,
        ..boot.policy()?
    };
    let host = ostler_host::Local::new();
    let resolved = resolve::resolved(&host, &accesses, &policy, &scope).await;
    let decision = policy.decide(Call {
        tool: &tool,
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
        rule: decision.rule.clone(),
        layer: written.map(|rule| rule.layer.name()),
        reason: match format {
            Listing::Json => Language::English.say(decision.reason),
            Listing::Text => spoken(decision.reason),
        },
        confined: accesses
            .iter()
            .any(|access| matches!(access, Access::Run(_)))
            .then(|| confinement(&decision, scope.containment)),
        effects: decision.effects,
    };
    if format == Listing::Json {
        return text::print_json(&checked);
    }
    let mut lines = vec![format!("{}: {}", checked.decision, checked.reason)];
    if let Some(rule) = &checked.rule {
        let from = decision.from.unwrap_or_default();
        lines.push(filled(Word::PermByRule, &[&rule, &from]));
    }
    lines.extend(
        checked
            .effects
            .iter()
            .map(|e| filled(Word::PermEffect, &[&e])),
    );
    lines.extend(
        checked
            .confined
            .map(|confined| filled(Word::PermConfined, &[&confined])),
    );
    // No allow rule is stronger than an ask rule.
    if decision.verdict == Verdict::Ask && checked.rule.is_none() {
        let rules = ostler_guard::propose(&tool, &accesses, &scope);
        lines.extend(
            rules
                .iter()
                .map(|rule| filled(Word::PermAllowedBy, &[&rule])),
        );
    }
    let lines: Vec<String> = lines
        .iter()
        .map(|line| text::visible(line).replace('\n', " "))
        .collect();
    text::print(&(lines.join("\n") + "\n"))
}

/// In which sandbox the command would run: the reader's, that of the project, or none.
fn confinement(decision: &Decision, containment: Containment) -> &'static str {
    match (containment.has_layer(), decision.runs_as_reader()) {
        (false, _) => "none",
        (true, true) => "read_only",
        (true, false) => "project",
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}

/// The tool and what a call with these arguments declares.
fn accesses(
    tool: &str,
    args: &str,
    scope: &Scope,
) -> anyhow::Result<(ToolDeclaration, Vec<Access>)> {
    let usage = |message: String| anyhow!(UsageError(message));
    if let Some((server, name)) = tool.strip_prefix("mcp__").and_then(|n| n.split_once("__")) {
        let args = object(args).map_err(usage)?;
        let accesses = ostler_guard::mcp_accesses(server, name, &args, scope);
        return Ok((ToolDeclaration::of_other(tool.to_owned(), false), accesses));
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
    Ok((found.about().clone(), accesses))
}

fn object(args: &str) -> Result<Value, String> {
    let how = spoken(Word::PermHow);
    match serde_json::from_str::<Value>(args) {
        Ok(value) if value.is_object() => Ok(value),
        Ok(_) => Err(filled(Word::PermNoObject, &[&how])),
        Err(error) => Err(filled(Word::PermNoJson, &[&error, &how])),
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
            text::say(spoken(Word::PermNoRules));
            Ok(())
        }
        Listing::Text => {
            let columns = [
                Column::Left(spoken(Word::ColList)),
                Column::Left(spoken(Word::ColRule)),
                Column::Left(spoken(Word::ColLayer)),
                Column::Left(spoken(Word::ColWhere)),
                Column::Left(spoken(Word::ColNote)),
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

fn covers(wide: &Rule, narrow: &Rule, scope: &Scope) -> bool {
    let tool = narrow.tool().and_then(tools::declaration);
    wide.covers(narrow, tool, scope)
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
            Err(error) => notes.push(filled(Word::PermUnread, &[&spoken(error.why)])),
            Ok(own) => {
                if let Some(name) = tools::unknown_tool(own) {
                    notes.push(filled(Word::PermIdle, &[&boot::no_tool(name)]));
                }
                let others = rules.iter().zip(&parsed).enumerate();
                for (j, (other, theirs)) in others {
                    let Ok(theirs) = theirs else { continue };
                    let stronger = rank(other.list) < rank(rule.list);
                    // Of two that say the same the later one is the spare one.
                    let spare = rank(other.list) == rank(rule.list)
                        && (j < i || !covers(own, theirs, scope));
                    if i == j || !(stronger || spare) || !covers(theirs, own, scope) {
                        continue;
                    }
                    let name = &theirs.text;
                    notes.push(match (stronger, other.list) {
                        (true, RuleList::Deny) => filled(Word::PermDenied, &[&name]),
                        (true, RuleList::Ask | RuleList::Allow) => {
                            filled(Word::PermAsked, &[&name])
                        }
                        (false, _) => filled(Word::PermSame, &[&name, &theirs.from]),
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
    for one in rules::remove(boot, rule, layer)? {
        said.push_str(&filled(
            Word::PermRemoved,
            &[
                &one.text.trim(),
                &name_of(one.list),
                &one.file,
                &one.layer.name(),
            ],
        ));
    }
    if !said.is_empty() {
        return text::print_foreign(&said);
    }
    let elsewhere = boot.loaded.rules().into_iter().find(|other| {
        matches!(other.layer, Layer::Environment | Layer::Flag) && rules::is_same(&other.text, rule)
    });
    if let Some(other) = elsewhere {
        return Err(anyhow!(filled(Word::PermNoFile, &[&rule, &other.place])));
    }
    let (known, names) = rules::written(boot, layer)?;
    let near = diagnose::nearest(rule, known.iter().map(String::as_str));
    let hint = match near {
        Some(near) => filled(Word::PermDidYouMean, &[&near]),
        None => spoken(Word::PermListShows).into(),
    };
    Err(anyhow!(filled(
        Word::PermNoRule,
        &[&rule, &names.join(spoken(Word::ListOr)), &hint]
    )))
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
    let wrong = || UsageError(filled(Word::PermBadSince, &[&since]));
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
    // What a repository brings as sessions is nobody's approval.
    let sessions = store.list_written().map_err(|e| anyhow!(e))?;
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
                tool: approved.tool,
                accesses: &approved.accesses,
                scope: &scope,
                resolved: &[],
            };
            // What is allowed or forbidden by now needs no rule.
            if !recent(&approved.ts) || policy.decide(call).verdict != Verdict::Ask {
                continue;
            }
            let rules = ostler_guard::propose(approved.tool, &approved.accesses, &scope);
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
    let here = scope(boot);
    Scope {
        root: audit::root(entries).unwrap_or_else(|| here.root.clone()),
        ..here
    }
}

fn show_suggestions(found: &Suggestions, format: Listing) -> anyhow::Result<()> {
    if format == Listing::Json {
        return text::print_json(found);
    }
    if found.suggestions.is_empty() {
        text::say(spoken(Word::PermNothingByHand));
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
            Column::Right(spoken(Word::ColAsked)),
            Column::Left(spoken(Word::ColRules)),
            Column::Flexible(spoken(Word::ColExample)),
        ];
        text::print(&table::render(&columns, &rows, table::terminal_width()))?;
    }
    if found.without > 0 {
        let many = many(found.without, Word::ManyAnswers);
        text::say(&filled(Word::PermNoRuleFor, &[&many]));
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
    let (added, file) = rules::allow(boot, &rules, layer)?;
    text::say(&filled(
        Word::PermSaved,
        &[&many(added, Word::ManyRules), &file],
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
    if let Some(notice) = damage.notice(crate::speech::language()) {
        text::say(&notice);
    }
    let calls = audit::audit(&entries, &scope_of(boot, &entries));
    if calls.len() == audit::MAX_CALLS {
        text::say(&filled(Word::PermOnlyFirst, &[&audit::MAX_CALLS]));
    }
    match format {
        Listing::Json => text::print_json(&calls),
        Listing::Text if calls.is_empty() => {
            text::say(spoken(Word::PermNoCalls));
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
            Fate::Failed => spoken(Word::PermFailed),
            Fate::Refused => spoken(Word::PermDidNotRun),
            Fate::Open => spoken(Word::PermNoResult),
        };
        let told = |word: &str, what: &Option<String>| {
            let what = what.as_deref().map(text::one_line);
            what.map_or_else(String::new, |what| format!("{word} {what}"))
        };
        let rule = told(spoken(Word::PermBy), &call.rule);
        let saved = told(spoken(Word::PermWasSaved), &call.saved);
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
            out.push_str(&filled(Word::PermAndMore, &[&more]));
        }
        if call.unsure {
            out.push_str(spoken(Word::PermMaybeMore));
        }
    }
    out
}
