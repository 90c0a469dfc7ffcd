//! `permissions`: the rules and what is odd about them, what a session may do, what it touched, and rules that would have
//! spared a question. Nothing is run, and nothing is saved here.

use super::context::{HubContext, column};
use super::mode::posture;
use super::sessions;
use crate::tool::Scope;
use crate::tools::{declaration, unknown_tool};
use jiff::Timestamp;
use ostler_context::audit::{self, Audited, Fate, Kind};
use ostler_context::clients::feed::Feed;
use ostler_guard::{Call, Policy, Rule, Rules, Verdict, propose};
use ostler_state::SessionState;
use ostler_state::inbox::Inbox;
use ostler_state::permissions::{Grant, PermissionState, SESSION};
use ostler_wire::{
    Access, Cell, ColumnKind, Delta, Entry, Frame, Language, Report, Row, Say, Table, View, Word,
    one_line, thousands,
};
use serde::Serialize;
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Sessions that suggestions are looked for in, the newest first.
const MAX_SESSIONS: usize = 500;
/// Calls that the audit of a live session shows.
const MAX_AUDITED: usize = 500;
/// Things that one call of the audit shows to people.
const MAX_SHOWN: usize = 12;

/// A rule as it is written somewhere, readable or not.
#[derive(Clone, Debug)]
pub struct WrittenRule {
    pub list: Verdict,
    pub text: String,
    /// The layer of the configuration; none in a session, which has them all in one.
    pub layer: Option<&'static str>,
    pub from: String,
    /// Calls of past sessions that it would decide now; none where that was not counted.
    pub decided: Option<u64>,
}

/// A rule and what is odd about it.
#[derive(Serialize)]
struct NotedRule {
    list: &'static str,
    rule: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<&'static str>,
    from: String,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided: Option<u64>,
}

/// Every rule, strongest list first. `no_tool` says that there is no tool of a name.
pub fn rule_table(
    written: Vec<WrittenRule>,
    scope: &Scope,
    language: Language,
    no_tool: impl Fn(&str) -> String,
) -> Table {
    let layered = written.iter().any(|rule| rule.layer.is_some());
    let counted = written.iter().any(|rule| rule.decided.is_some());
    let rules = noted(written, scope, language, no_tool);
    let column = |key, word| column(language, ColumnKind::Text, key, word);
    let mut columns = vec![
        column("list", Word::ColList),
        column("rule", Word::ColRule),
        column("layer", Word::ColLayer),
        column("from", Word::ColWhere),
        column("notes", Word::ColNote),
    ];
    if !layered {
        columns.remove(2);
    }
    if counted {
        let decided =
            super::context::column(language, ColumnKind::Number, "decided", Word::ColDecided);
        columns.insert(2, decided);
    }
    let texts = |rule: &NotedRule| {
        let mut texts = vec![rule.list.to_owned(), rule.rule.clone()];
        texts.extend(rule.decided.map(thousands).filter(|_| counted));
        texts.extend(rule.layer.map(str::to_owned).filter(|_| layered));
        texts.extend([rule.from.clone(), rule.notes.join("; ")]);
        texts
    };
    Table {
        empty: language.say(Word::PermNoRules).into(),
        ..Table::of_records(columns, &rules, texts)
    }
}

fn rank(list: Verdict) -> u8 {
    match list {
        Verdict::Deny => 0,
        Verdict::Ask => 1,
        Verdict::Allow => 2,
    }
}

pub fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}

fn covers(wide: &Rule, narrow: &Rule, scope: &Scope) -> bool {
    let tool = narrow.tool().and_then(declaration);
    wide.covers(narrow, tool, scope)
}

fn noted(
    mut written: Vec<WrittenRule>,
    scope: &Scope,
    language: Language,
    no_tool: impl Fn(&str) -> String,
) -> Vec<NotedRule> {
    written.sort_by_key(|rule| rank(rule.list));
    let parsed: Vec<_> = written
        .iter()
        .map(|rule| Rule::parse(&rule.text, &rule.from))
        .collect();
    let mut rows = Vec::new();
    for (i, (rule, own)) in written.iter().zip(&parsed).enumerate() {
        let mut notes = Vec::new();
        match own {
            Err(error) => {
                notes.push(language.fill(Word::PermUnread, &[language.say(error.why)]));
            }
            Ok(own) => {
                if let Some(name) = unknown_tool(own) {
                    notes.push(language.fill(Word::PermIdle, &[&no_tool(name)]));
                }
                for (j, (other, theirs)) in written.iter().zip(&parsed).enumerate() {
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
                        (true, Verdict::Deny) => language.fill(Word::PermDenied, &[name]),
                        (true, Verdict::Ask | Verdict::Allow) => {
                            language.fill(Word::PermAsked, &[name])
                        }
                        (false, _) => language.fill(Word::PermSame, &[name, &theirs.from]),
                    });
                }
            }
        }
        rows.push(NotedRule {
            list: verdict_name(rule.list),
            rule: rule.text.clone(),
            layer: rule.layer,
            from: rule.from.clone(),
            notes,
            decided: rule.decided,
        });
    }
    rows
}

/// Every path and host that a session touched, call by call; the newest session without an id.
pub fn audit_session(context: &HubContext, scope: &Scope, session: Option<&str>) -> View {
    let read = sessions::find(context, session).and_then(|path| sessions::read(context, &path));
    match read {
        Ok((entries, mut remarks)) => {
            let calls = audit::audit(&entries, &scope_of(scope, &entries));
            if calls.len() == audit::MAX_CALLS {
                let most = audit::MAX_CALLS.to_string();
                remarks.push(context.fill(Word::PermOnlyFirst, &[&most]));
            }
            audit_view(&calls, remarks, context.language)
        }
        Err(why) => View::Error(why),
    }
}

/// The last calls of this session.
fn audit_own(entries: &[Entry], scope: &Scope, language: Language) -> View {
    let calls = audit::audit(entries, &scope_of(scope, entries));
    let older = calls.len().saturating_sub(MAX_AUDITED);
    let remark =
        (older > 0).then(|| language.fill(Word::PermOnlyLast, &[&MAX_AUDITED.to_string()]));
    let calls = calls.get(older..).unwrap_or_default();
    audit_view(calls, remark.into_iter().collect(), language)
}

fn audit_view(calls: &[Audited], mut remarks: Vec<String>, language: Language) -> View {
    if calls.is_empty() {
        remarks.push(language.say(Word::PermNoCalls).into());
    }
    View::Report(Report {
        text: audit_lines(calls, language),
        value: json!(calls),
        remarks,
        failed: false,
    })
}

/// Paths of a log are relative to the root it was written for.
fn scope_of(here: &Scope, entries: &[Entry]) -> Scope {
    let mut scope = here.clone();
    if let Some(root) = audit::root(entries) {
        scope.root = root;
    }
    scope
}

fn audit_lines(calls: &[Audited], language: Language) -> String {
    let mut out = String::new();
    for call in calls {
        let fate = match call.fate {
            Fate::Done => "",
            Fate::Failed => language.say(Word::PermFailed),
            Fate::Refused => language.say(Word::PermDidNotRun),
            Fate::Open => language.say(Word::PermNoResult),
        };
        let with = |word: Word, what: &Option<String>| {
            let what = what.as_deref().map(one_line);
            what.map_or_else(String::new, |what| format!("{} {what}", language.say(word)))
        };
        out.push_str(&format!(
            "{:>5}  {} {}  [{}{}{}{fate}]\n",
            call.entry,
            one_line(&call.tool),
            one_line(&call.subject),
            one_line(&call.decision),
            with(Word::PermBy, &call.rule),
            with(Word::PermWasSaved, &call.saved),
        ));
        for touched in call.touched.iter().take(MAX_SHOWN) {
            let what = one_line(&touched.what);
            out.push_str(&format!("       {:<8} {what}\n", kind_name(touched.kind)));
        }
        if let Some(more) = call.touched.len().checked_sub(MAX_SHOWN).filter(|n| *n > 0) {
            out.push_str(&language.fill(Word::PermAndMore, &[&more.to_string()]));
        }
        if call.unsure {
            out.push_str(language.say(Word::PermMaybeMore));
        }
    }
    out
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Delete => "delete",
        Kind::Net => "net",
        Kind::Mcp => "mcp",
        Kind::Job => "job",
        Kind::Delegate => "delegate",
        Kind::Memory => "memory",
    }
}

/// Rules that would have spared a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    pub rules: Vec<String>,
    /// How often a person said yes.
    pub count: usize,
    pub example: String,
    pub last: String,
}

#[derive(Default)]
pub struct Suggestions {
    pub found: Vec<Suggestion>,
    /// Yeses for which no rule can be written that would allow no more.
    pub without: usize,
}

/// How many calls of the sessions since then each rule would decide now, by its text and its place.
pub fn decided_calls(
    context: &HubContext,
    (policy, here): (&Policy, &Scope),
    after: Timestamp,
) -> Result<HashMap<(String, String), u64>, String> {
    let mut counts = HashMap::new();
    let listed = context.store.list_written()?;
    let recent = |ts: &str| ts.parse::<Timestamp>().is_ok_and(|ts| ts >= after);
    let listed = listed.iter().filter(|s| recent(&s.updated));
    for session in listed.take(MAX_SESSIONS) {
        let Ok((entries, _)) = context.store.read(&session.id) else {
            continue;
        };
        let scope = scope_of(here, &entries);
        for declared in audit::declared(&entries, &scope) {
            let decision = policy.decide(Call {
                tool: &declared.tool,
                accesses: &declared.accesses,
                scope: &scope,
                resolved: &[],
            });
            if let (Some(rule), Some(from)) = (decision.rule, decision.from) {
                *counts.entry((rule, from)).or_insert(0) += 1;
            }
        }
    }
    Ok(counts)
}

/// The smallest rules for what was allowed by hand since then.
pub fn suggest_rules(
    context: &HubContext,
    (policy, here): (&Policy, &Scope),
    after: Timestamp,
) -> Result<Suggestions, String> {
    // What a repository brings as sessions is nobody's approval.
    let listed = context.store.list_written()?;
    let recent = |ts: &str| ts.parse::<Timestamp>().is_ok_and(|ts| ts >= after);
    let mut found: BTreeMap<Vec<String>, Suggestion> = BTreeMap::new();
    let mut without = 0;
    let listed = listed.iter().filter(|s| recent(&s.updated));
    for session in listed.take(MAX_SESSIONS) {
        let Ok((entries, _)) = context.store.read(&session.id) else {
            continue;
        };
        let scope = scope_of(here, &entries);
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
            let rules = propose(approved.tool, &approved.accesses, &scope);
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
    let mut found: Vec<Suggestion> = found.into_values().collect();
    found.sort_by(|a, b| b.count.cmp(&a.count).then(b.last.cmp(&a.last)));
    Ok(Suggestions { found, without })
}

impl Suggestions {
    pub fn view(&self, language: Language) -> View {
        let columns = vec![
            column(language, ColumnKind::Number, "count", Word::ColAsked),
            column(language, ColumnKind::Text, "rules", Word::ColRules),
            column(language, ColumnKind::Prose, "example", Word::ColExample),
        ];
        let texts = |one: &Suggestion| {
            let rules = one.rules.join("  ");
            vec![one.count.to_string(), rules, one.example.clone()]
        };
        let without = (self.without > 0).then(|| {
            let count = self.without.to_string();
            let many = language.many(Word::ManyAnswers, self.without, &[&count]);
            language.fill(Word::PermNoRuleFor, &[&many])
        });
        let fields = [("without".to_owned(), json!(self.without))];
        View::Table(Table {
            empty: language.say(Word::PermNothingByHand).into(),
            remarks: without.into_iter().collect(),
            frame: Some(Frame {
                fields: fields.into_iter().collect(),
                rows: "suggestions".into(),
            }),
            ..Table::of_records(columns, &self.found, texts)
        })
    }
}

/// `/permissions`: what holds in this session, and changes of it until its end.
pub(super) fn slash(state: &mut SessionState, _: &mut Inbox, words: &str) -> View {
    let (verb, rule) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let (rule, language) = (rule.trim(), state.settings.language);
    match (verb, rule.is_empty()) {
        ("", _) => held(
            &state.policy.rules,
            &state.permissions,
            &state.scope,
            language,
        ),
        ("audit", true) => audit_own(&state.log.branch(), &state.scope, language),
        ("allow" | "ask" | "deny" | "remove", false) => {
            let rules = &mut Arc::make_mut(&mut state.policy).rules;
            let view = match verb {
                "remove" => remove(rules, rule, language),
                verb => add(rules, verb, rule, language),
            };
            state.offer_names();
            tell_mode(&state.feed, &state.permissions, &state.policy);
            state.permissions.unrecorded = true;
            match state.record_standing() {
                Ok(()) => view,
                // It holds all the same, in this process.
                Err(error) => View::Error(error.say(language)),
            }
        }
        _ => View::Error(language.say(Word::PermissionsUsage).into()),
    }
}

fn add(rules: &mut Rules, verb: &str, text: &str, language: Language) -> View {
    let rule = match Rule::parse(text, SESSION) {
        Ok(rule) => rule,
        Err(error) => return View::Error(error.say(language)),
    };
    if let Some(name) = unknown_tool(&rule).filter(|_| verb == "deny") {
        return View::Error(language.fill(Word::RuleIdle, &[text, name]));
    }
    let shown = rule.canonical();
    list(rules, verb).push(rule);
    View::Text(language.fill(Word::RuleHolds, &[verb, &shown]))
}

fn list<'a>(rules: &'a mut Rules, verb: &str) -> &'a mut Vec<Rule> {
    match verb {
        "deny" => &mut rules.deny,
        "ask" => &mut rules.ask,
        _ => &mut rules.allow,
    }
}

/// Other terminals of the session know its rules, so that one which takes it over keeps to them.
fn tell_mode(feed: &Feed, permissions: &PermissionState, policy: &Policy) {
    let mode = permissions.shown(policy, Instant::now());
    feed.delta(Delta::Mode {
        mode: Box::new(mode),
    });
}

/// Takes out what this session added. What a file says is changed there.
fn remove(rules: &mut Rules, text: &str, language: Language) -> View {
    let wanted = Rule::parse(text, SESSION).map(|rule| rule.canonical());
    let is_meant = |rule: &Rule| rule.text == text || Ok(rule.canonical()) == wanted;
    let mut removed = 0;
    let mut kept = None;
    for list in [&mut rules.deny, &mut rules.ask, &mut rules.allow] {
        list.retain(|rule| {
            let ours = rule.from == SESSION;
            if is_meant(rule) && !ours {
                kept = Some(rule.from.clone());
            }
            let goes = is_meant(rule) && ours;
            removed += usize::from(goes);
            !goes
        });
    }
    match (removed, kept) {
        (0, None) => View::Error(language.fill(Word::NoRule, &[text])),
        (0, Some(from)) => View::Error(language.fill(Word::RuleInFile, &[text, &from])),
        (_, None) => View::Text(language.fill(Word::RuleRemoved, &[text])),
        (_, Some(from)) => View::Text(language.fill(Word::RuleRemovedHere, &[text, &from])),
    }
}

/// The rules, and above and below them what else decides.
fn held(rules: &Rules, permissions: &PermissionState, scope: &Scope, language: Language) -> View {
    let own = language.say(Word::ThisSession);
    let row = |what: &str, value: String, from: &str| {
        Row::new(vec![
            Cell::text(what),
            Cell::text(value),
            Cell::text(from),
            Cell::absent(),
        ])
    };
    let lists = [
        (Verdict::Deny, &rules.deny),
        (Verdict::Ask, &rules.ask),
        (Verdict::Allow, &rules.allow),
    ];
    let written = lists.into_iter().flat_map(|(list, rules)| {
        rules.iter().map(move |rule| WrittenRule {
            list,
            text: rule.canonical(),
            layer: None,
            from: match rule.from == SESSION {
                true => own.to_owned(),
                false => rule.from.clone(),
            },
            decided: None,
        })
    });
    let no_tool = |name: &str| language.fill(Word::BootNoTool, &[name]);
    let mut table = rule_table(written.collect(), scope, language, no_tool);
    let mode = language.say(super::mode::word(permissions.mode)).to_owned();
    let above = [
        row(language.say(Word::RowMode), mode, ""),
        row(
            language.say(Word::RowApproval),
            posture(permissions, language),
            "",
        ),
    ];
    let above_rows = above.len();
    table.rows.splice(0..0, above);
    for grant in &permissions.grants {
        if let Some(text) = granted(grant, scope, language) {
            table.rows.push(row(language.say(Word::Granted), text, own));
        }
    }
    let terms = &permissions.terms;
    let may = |word: Word<1>, what: &str| language.fill(word, &[what]);
    let path = |word: Word<1>, p: &PathBuf| may(word, &p.display().to_string());
    let hosts = terms.hosts.iter().map(|host| may(Word::MayReach, host));
    let writable = terms.writable.iter().map(|p| path(Word::MayWrite, p));
    let readable = terms.readable.iter().map(|p| path(Word::MayRead, p));
    let agent = terms
        .ssh_agent
        .then(|| language.say(Word::MayUseAgent).to_owned());
    for text in hosts.chain(writable).chain(readable).chain(agent) {
        table.rows.push(row(language.say(Word::Sandbox), text, own));
    }
    if table.rows.len() == above_rows {
        table.summary = language.say(Word::NoRulesHere).into();
    }
    View::Table(table)
}

fn granted(grant: &Grant, scope: &Scope, language: Language) -> Option<String> {
    let may = |word: Word<1>, what: &str| language.fill(word, &[what]);
    let one = |access: &Access| match access {
        Access::Run(segments) => {
            let texts: Vec<&str> = segments.iter().map(|s| s.text.as_str()).collect();
            Some(texts.join("; "))
        }
        Access::Net(host) => Some(host.clone()),
        Access::Mcp { server, tool, .. } => Some(format!("{server} {tool}")),
        Access::Delegate { role, .. } => Some(role.clone()),
        Access::Read(path) => Some(may(Word::MayRead, &scope.shown(path))),
        Access::Write(path) => Some(may(Word::MayEdit, &scope.shown(path))),
        Access::Job(id) => Some(id.clone()),
        Access::History => Some(language.say(Word::AllHistory).into()),
        Access::Memory => None,
    };
    match grant {
        Grant::Editing => Some(language.say(Word::MayEditAll).into()),
        Grant::Exactly(Access::Write(_)) => None,
        Grant::Exactly(access) => one(access),
        Grant::Call(accesses) => accesses.first().and_then(one),
    }
}
