//! `ostler permissions`: the command `permissions` on the command line, with what needs the configuration: what would be
//! said to a call, and rules in files (`trust::rules`). Nothing is run.

use super::panel::{hub_context, print_view};
use crate::boot::{self, Boot};
use crate::errors::UsageError;
use crate::exit::OK;
use crate::flags::{Permissions, RuleLayer};
use crate::lenient::Lenient;
use crate::output;
use crate::policy;
use crate::trust::rules::{self, RuleStoreError};
use anyhow::anyhow;
use jiff::Timestamp;
use ostler_config::diagnose;
use ostler_config::layers::RuleList;
use ostler_config::text::Speak as _;
use ostler_config::tree::Layer;
use ostler_engine::commands::{
    Suggestions, WrittenRule, audit_session, decided_calls, rule_table, suggest_rules, verdict_name,
};
use ostler_engine::confine::SandboxSettings;
use ostler_engine::tool::Scope;
use ostler_engine::tool::Typed as _;
use ostler_engine::tools::{Tools, bash::Bash};
use ostler_guard::resolve;
use ostler_guard::{Call, Containment, Decision, Policy, Posture, Verdict};
use ostler_wire::{Access, Language, Report, ToolDeclaration, View, Word};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

pub async fn run(start: Lenient, args: Permissions) -> anyhow::Result<u8> {
    let format = match &args {
        Permissions::List { format, .. } | Permissions::Audit { format, .. } => {
            start.say_fault();
            *format
        }
        Permissions::Check { format, .. } | Permissions::Suggest { format, .. } => *format,
        Permissions::Remove { rule, layer } => {
            remove(&start.boot, rule, *layer)?;
            return Ok(OK);
        }
    };
    if let Permissions::Suggest {
        since,
        apply: true,
        layer,
        ..
    } = &args
    {
        let (boot, found) = suggested(&start, since)?;
        let code = print_view(&found.view(boot.language), format)?;
        save(&boot, &found, *layer)?;
        return Ok(code);
    }
    match view(&start, &args).await? {
        Some(view) => print_view(&view, format),
        None => Ok(OK),
    }
}

/// `None` for what changes rules.
pub async fn view(start: &Lenient, args: &Permissions) -> anyhow::Result<Option<View>> {
    let boot = &start.boot;
    Ok(match args {
        // With half a configuration the answer would be another one.
        Permissions::Check { tool, args, .. } => {
            Some(check(&*start.clone().strict()?, tool, args).await?)
        }
        Permissions::List { since: None, .. } => Some(list(boot, None)),
        Permissions::List {
            since: Some(since), ..
        } => {
            let after = since_when(since, Timestamp::now(), boot.language)?;
            let boot = start.clone().strict()?;
            let counts =
                decided_calls(&hub_context(&boot), (&asking(&boot)?, &scope(&boot)), after);
            Some(list(&boot, Some(&counts.map_err(|why| anyhow!(why))?)))
        }
        Permissions::Audit { session, .. } => {
            let (context, scope) = (hub_context(boot), scope(boot));
            Some(audit_session(&context, &scope, session.as_deref()))
        }
        Permissions::Suggest {
            since,
            apply: false,
            ..
        } => {
            let (boot, found) = suggested(start, since)?;
            Some(found.view(boot.language))
        }
        Permissions::Suggest { .. } | Permissions::Remove { .. } => None,
    })
}

fn suggested(start: &Lenient, since: &str) -> anyhow::Result<(Arc<Boot>, Suggestions)> {
    let after = since_when(since, Timestamp::now(), start.boot.language)?;
    let boot = start.clone().strict()?;
    let policy = asking(&boot)?;
    let found = suggest_rules(&hub_context(&boot), (&policy, &scope(&boot)), after);
    Ok((boot, found.map_err(|why| anyhow!(why))?))
}

/// The rules where nobody said that everything may run.
fn asking(boot: &Boot) -> anyhow::Result<Policy> {
    Ok(Policy {
        posture: Posture::Ask,
        ..policy::policy(boot)?
    })
}

fn scope(boot: &Boot) -> Scope {
    let settings = crate::sandbox::settings(boot).ok();
    let temp = settings.as_ref().and_then(SandboxSettings::seen_as_tmp);
    // Below `/tmp` too, what commands see at its own path is meant.
    let mut kept = crate::grants::granted(boot);
    if let Some(settings) = &settings {
        kept.extend(settings.policy.writable.iter().cloned());
        kept.extend(settings.policy.visible.iter().cloned());
    }
    kept.push(boot.places.home.clone());
    let folders = crate::policy::folders(boot).unwrap_or_default();
    Scope::new(&boot.places.root, boot.places.user_home.clone())
        .with_shell(&boot.shell())
        .with_path(
            boot.env.get("PATH").map(std::ffi::OsStr::new),
            &crate::grants::granted(boot),
        )
        .held_by(policy::containment(boot))
        .with_temp(temp, kept)
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

async fn check(boot: &Boot, tool: &str, args: &str) -> anyhow::Result<View> {
    let language = boot.language;
    let scope = scope(boot);
    let (tool, accesses) = accesses(tool, args, &scope, language)?;
    let policy = asking(boot)?;
    let host = ostler_host::Local::new();
    let resolved = resolve::resolved(&host, &accesses, &policy, &scope).await;
    let mut decision = policy.decide(Call {
        tool: &tool,
        accesses: &accesses,
        scope: &scope,
        resolved: &resolved,
    });
    let pattern: Option<serde_json::Value> = serde_json::from_str(args).ok();
    if let Some(pattern) = pattern.as_ref().and_then(|args| args["pattern"].as_str()) {
        policy.heed_pattern((&tool, pattern), policy.posture, &mut decision);
    }
    let written = boot.loaded.rules().into_iter().find(|rule| {
        Some(rule.place.to_string()) == decision.from
            && decision.rule.as_deref() == Some(rule.text.trim())
    });
    let checked = Checked {
        decision: verdict_name(decision.verdict),
        rule: decision.rule.clone(),
        layer: written.map(|rule| rule.layer.name()),
        // What programs read does not change with the person.
        reason: Language::English.say(decision.reason),
        confined: accesses
            .iter()
            .any(|access| matches!(access, Access::Run(_)))
            .then(|| confinement(&decision, scope.containment)),
        effects: decision.effects,
    };
    let mut lines = vec![format!(
        "{}: {}",
        checked.decision,
        language.say(decision.reason)
    )];
    if let Some(rule) = &checked.rule {
        let from = decision.from.unwrap_or_default();
        lines.push(language.filled(Word::PermByRule, &[&rule, &from]));
    }
    lines.extend(
        checked
            .effects
            .iter()
            .map(|e| language.filled(Word::PermEffect, &[&e])),
    );
    lines.extend(
        checked
            .confined
            .map(|confined| language.filled(Word::PermConfined, &[&confined])),
    );
    // No allow rule is stronger than an ask rule.
    if decision.verdict == Verdict::Ask && checked.rule.is_none() {
        let rules = ostler_guard::propose(&tool, &accesses, &scope);
        lines.extend(
            rules
                .iter()
                .map(|rule| language.filled(Word::PermAllowedBy, &[&rule])),
        );
    }
    let lines: Vec<String> = lines
        .iter()
        .map(|line| output::visible(line).replace('\n', " "))
        .collect();
    Ok(View::Report(Report {
        text: lines.join("\n"),
        value: json!(checked),
        ..Report::default()
    }))
}

/// In which sandbox the command would run: the reader's, that of the project, or none.
fn confinement(decision: &Decision, containment: Containment) -> &'static str {
    match (containment.has_layer(), decision.runs_as_reader()) {
        (false, _) => "none",
        (true, true) => "read_only",
        (true, false) => "project",
    }
}

/// The tool and what a call with these arguments declares.
fn accesses(
    tool: &str,
    args: &str,
    scope: &Scope,
    language: Language,
) -> anyhow::Result<(ToolDeclaration, Vec<Access>)> {
    let usage = |message: String| anyhow!(UsageError(message));
    if let Some((server, name)) = tool.strip_prefix("mcp__").and_then(|n| n.split_once("__")) {
        let args = object(args, language).map_err(usage)?;
        let accesses =
            ostler_guard::mcp_accesses(server, name, &args, scope, scope.user_home.as_slice());
        return Ok((ToolDeclaration::of_other(tool.to_owned(), false), accesses));
    }
    let Some(found) = Tools::new(&[]).find(tool) else {
        return Err(usage(boot::no_tool(tool).say(language)));
    };
    let args = match (found.name(), object(args, language)) {
        (_, Ok(args)) => args,
        // A command is easier to type than its JSON.
        (Bash::NAME, Err(_))
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

fn object(args: &str, language: Language) -> Result<Value, String> {
    let how = language.say(Word::PermHow);
    match serde_json::from_str::<Value>(args) {
        Ok(value) if value.is_object() => Ok(value),
        Ok(_) => Err(language.filled(Word::PermNoObject, &[&how])),
        Err(error) => Err(language.filled(Word::PermNoJson, &[&error, &how])),
    }
}

/// Calls that a rule decided, by its text and its place.
type Counts = HashMap<(String, String), u64>;

/// Every rule of the configuration, what is odd about it, and the calls that it decided where they were counted.
fn list(boot: &Boot, counts: Option<&Counts>) -> View {
    let language = boot.language;
    let written = boot.loaded.rules().into_iter().map(|rule| WrittenRule {
        decided: counts.map(|counts| {
            let key = (rule.text.clone(), rule.place.to_string());
            counts.get(&key).copied().unwrap_or(0)
        }),
        list: match rule.list {
            RuleList::Allow => Verdict::Allow,
            RuleList::Ask => Verdict::Ask,
            RuleList::Deny => Verdict::Deny,
        },
        layer: Some(rule.layer.name()),
        from: rule.place.to_string(),
        text: rule.text,
    });
    let table = rule_table(written.collect(), &scope(boot), language, |name| {
        boot::no_tool(name).say(language)
    });
    View::Table(table)
}

fn name_of(list: RuleList) -> &'static str {
    match list {
        RuleList::Allow => "allow",
        RuleList::Ask => "ask",
        RuleList::Deny => "deny",
    }
}

fn remove(boot: &Boot, rule: &str, layer: Option<RuleLayer>) -> anyhow::Result<()> {
    let language = boot.language;
    let failed = |error: RuleStoreError| anyhow!(error.say(language));
    let mut said = String::new();
    for one in rules::remove(boot, rule, layer).map_err(failed)? {
        said.push_str(&language.filled(
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
        return output::print_foreign(&said);
    }
    let elsewhere = boot.loaded.rules().into_iter().find(|other| {
        matches!(other.layer, Layer::Environment | Layer::Flag) && rules::is_same(&other.text, rule)
    });
    if let Some(other) = elsewhere {
        return Err(anyhow!(
            language.filled(Word::PermNoFile, &[&rule, &other.place])
        ));
    }
    let (known, names) = rules::written(boot, layer).map_err(failed)?;
    let near = diagnose::nearest(rule, known.iter().map(String::as_str));
    let hint = match near {
        Some(near) => language.filled(Word::PermDidYouMean, &[&near]),
        None => language.say(Word::PermListShows).into(),
    };
    Err(anyhow!(language.filled(
        Word::PermNoRule,
        &[&rule, &names.join(language.say(Word::ListOr)), &hint]
    )))
}

fn since_when(since: &str, now: Timestamp, language: Language) -> anyhow::Result<Timestamp> {
    let wrong = || UsageError(language.filled(Word::PermBadSince, &[&since]));
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

fn save(boot: &Boot, found: &Suggestions, layer: RuleLayer) -> anyhow::Result<()> {
    let language = boot.language;
    let mut rules: Vec<String> = Vec::new();
    for rule in found.found.iter().flat_map(|s| &s.rules) {
        if !rules.contains(rule) {
            rules.push(rule.clone());
        }
    }
    if rules.is_empty() {
        return Ok(());
    }
    let saved = rules::allow(boot, &rules, layer);
    let (added, file) = saved.map_err(|error| anyhow!(error.say(language)))?;
    output::say(&language.filled(
        Word::PermSaved,
        &[&language.counted(added, Word::ManyRules), &file],
    ));
    Ok(())
}
