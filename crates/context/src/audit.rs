//! What a session touched, told from its log: each call is analysed again, and what its result and the approvals say is
//! added. It opens nothing but what it is given, and it cannot see what a command did beyond its words.

use ostler_store::cut::clip;
use ostler_tools::builtin::Tools;
use ostler_tools::tool::Scope;
use ostler_wire::{Access, Approval, Body, Entry, Mark, ToolDeclaration, ToolResult, ToolUse};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

/// Calls of one session that are listed.
pub const MAX_CALLS: usize = 20_000;
/// Things that one call is said to touch.
const MAX_TOUCHED: usize = 200;
/// Of a command or a name, in characters.
const MAX_SUBJECT: usize = 400;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Read,
    Write,
    Delete,
    Net,
    Mcp,
    Job,
    Delegate,
    Memory,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Touched {
    pub kind: Kind,
    /// A path as people read it, a host, a name.
    pub what: String,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    Done,
    /// It ran, and said that it failed: a part may have happened.
    Failed,
    /// It never ran.
    Refused,
    /// The log ends before its result.
    Open,
}

// tidy: plain data
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Audited {
    pub entry: u64,
    pub ts: String,
    pub tool: String,
    /// The command, the path, the address.
    pub subject: String,
    /// `allow`, or what the person or a rule said: `once`, `session`, `always`, `deny`.
    pub decision: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    pub fate: Fate,
    /// It may have touched more than is listed.
    pub unsure: bool,
    pub touched: Vec<Touched>,
}

/// A call that a person said yes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approved {
    pub ts: String,
    pub tool: &'static ToolDeclaration,
    pub subject: String,
    pub accesses: Vec<Access>,
}

/// A call as it would be judged now.
#[derive(Clone, Debug)]
pub struct Declared {
    pub tool: Cow<'static, ToolDeclaration>,
    pub accesses: Vec<Access>,
}

/// What the calls of a log declare. What was copied from a log of somebody else is not among it.
pub fn declared(entries: &[Entry], scope: &Scope) -> Vec<Declared> {
    let declare = |(_, call): (&Entry, &ToolUse)| {
        let tool = match call.name.starts_with("mcp__") {
            true => Cow::Owned(ToolDeclaration::of_other(call.name.clone(), false)),
            false => Cow::Borrowed(ostler_tools::builtin::declaration(&call.name)?),
        };
        let accesses = accesses(call, &call.input.to_value(), scope)?;
        Some(Declared { tool, accesses })
    };
    let own = calls(of_person(entries)).take(MAX_CALLS);
    own.filter_map(declare).collect()
}

/// Every call of a log, in order. Calls of abandoned branches count: what they did, they did.
pub fn audit(entries: &[Entry], scope: &Scope) -> Vec<Audited> {
    let (approvals, results) = by_call(entries);
    calls(entries)
        .take(MAX_CALLS)
        .map(|(entry, call)| {
            let approval = approvals.get(call.id.as_str());
            let result = results.get(call.id.as_str()).copied();
            let args = call.input.to_value();
            let accesses = accesses(call, &args, scope);
            let fate = fate(result);
            let mut touched = BTreeSet::new();
            for access in accesses.iter().flatten() {
                add(access, scope, &mut touched);
            }
            if let Some(result) = result {
                hosts_of_result(&result.output.to_value(), &mut touched);
            }
            let deleted = |t: &Touched| Touched {
                kind: Kind::Delete,
                what: t.what.clone(),
            };
            let gone: Vec<Touched> = touched
                .iter()
                .filter(|t| t.kind == Kind::Write && touched.contains(&deleted(t)))
                .cloned()
                .collect();
            touched.retain(|t| !gone.contains(t));
            let unsure = accesses.as_ref().is_none_or(|all| all.iter().any(hides));
            Audited {
                entry: entry.entry,
                ts: entry.ts.clone(),
                tool: clip(&call.name, MAX_SUBJECT),
                subject: subject(&args),
                decision: approval.map_or_else(
                    || "allow".into(),
                    |a| clip(a.decision.as_str(), MAX_SUBJECT),
                ),
                rule: approval.and_then(|a| a.rule.clone()),
                saved: approval.and_then(|a| a.saved.clone()),
                fate,
                unsure: unsure && fate != Fate::Refused,
                touched: match fate {
                    Fate::Refused => Vec::new(),
                    Fate::Done | Fate::Failed | Fate::Open => {
                        touched.into_iter().take(MAX_TOUCHED).collect()
                    }
                },
            }
        })
        .collect()
}

/// What a person allowed once or for a session, and saved no rule for. What was copied from a log of somebody else is not
/// among it.
pub fn approved(entries: &[Entry], scope: &Scope) -> Vec<Approved> {
    let entries = of_person(entries);
    let (approvals, _) = by_call(entries);
    calls(entries)
        .take(MAX_CALLS)
        .filter_map(|(entry, call)| {
            let approval = approvals.get(call.id.as_str())?;
            let yes = matches!(approval.decision.as_str(), "once" | "session" | "always");
            (yes && approval.saved.is_none()).then_some(())?;
            let args = call.input.to_value();
            Some(Approved {
                ts: entry.ts.clone(),
                tool: ostler_tools::builtin::declaration(&call.name)?,
                subject: subject(&args),
                accesses: accesses(call, &args, scope)?,
            })
        })
        .collect()
}

/// Without what was copied from a log of somebody else.
fn of_person(entries: &[Entry]) -> &[Entry] {
    let foreign = ostler_store::sessions::foreign(entries);
    let own = entries.partition_point(|entry| entry.entry <= foreign);
    match foreign {
        0 => entries,
        1.. => entries.get(own..).unwrap_or_default(),
    }
}

type ById<'a> = (
    HashMap<&'a str, &'a Approval>,
    HashMap<&'a str, &'a ToolResult>,
);

fn by_call(entries: &[Entry]) -> ById<'_> {
    let (mut approvals, mut results) = (HashMap::new(), HashMap::new());
    for entry in entries {
        if let Body::Approval(approval) = &entry.body {
            approvals.insert(approval.tool_use_id.as_str(), approval);
        } else if let Body::ToolResult(result) = &entry.body {
            results.insert(result.tool_use_id.as_str(), result);
        }
    }
    (approvals, results)
}

fn calls(entries: &[Entry]) -> impl Iterator<Item = (&Entry, &ToolUse)> {
    entries.iter().filter_map(|entry| {
        let Body::ToolUse(call) = &entry.body else {
            return None;
        };
        Some((entry, call))
    })
}

/// What the call declared; `None` where its tool or its arguments are not known here.
fn accesses(call: &ToolUse, args: &Value, scope: &Scope) -> Option<Vec<Access>> {
    if let Some((server, tool)) = call
        .name
        .strip_prefix("mcp__")
        .and_then(|name| name.split_once("__"))
    {
        return Some(ostler_guard::mcp_accesses(server, tool, args, scope, &[]));
    }
    Tools::new(&[]).find(&call.name)?.access(args, scope).ok()
}

fn add(access: &Access, scope: &Scope, out: &mut BTreeSet<Touched>) {
    let mut push = |kind, what: String| {
        if out.len() < MAX_TOUCHED {
            out.insert(Touched { kind, what });
        }
    };
    match access {
        Access::Read(path) => push(Kind::Read, scope.shown(path)),
        Access::Write(path) => push(Kind::Write, scope.shown(path)),
        Access::Net(host) => push(Kind::Net, host.clone()),
        Access::Mcp { server, tool, .. } => push(Kind::Mcp, format!("{server} {tool}")),
        Access::Job(id) => push(Kind::Job, id.clone()),
        Access::Delegate { role, .. } => push(Kind::Delegate, role.clone()),
        Access::Memory => push(Kind::Memory, "memory".into()),
        Access::History => push(Kind::Read, "history of all projects".into()),
        Access::Run(segments) => {
            let deleting = segments.iter().filter(|s| s.marks.contains(&Mark::Delete));
            for access in deleting.flat_map(|s| &s.does) {
                if let Access::Write(path) = access {
                    push(Kind::Delete, scope.shown(path));
                }
            }
        }
    }
}

/// A command may do more than its words say.
fn hides(access: &Access) -> bool {
    match access {
        Access::Run(segments) => segments
            .iter()
            .any(|s| s.is_unsure() || !s.names.is_empty()),
        Access::Mcp { .. } => true,
        Access::Read(_)
        | Access::Write(_)
        | Access::Net(_)
        | Access::Job(_)
        | Access::Delegate { .. }
        | Access::Memory
        | Access::History => false,
    }
}

/// Hosts that the result names: where redirects led, and what a command reached through the proxy.
fn hosts_of_result(output: &Value, out: &mut BTreeSet<Touched>) {
    let Some(data) = output.get("data") else {
        return;
    };
    let listed = data.get("hosts").and_then(Value::as_array);
    let listed = listed.into_iter().flatten().filter_map(|host| {
        let name = host.get("host").unwrap_or(host).as_str()?;
        let refused = host.get("allowed") == Some(&Value::Bool(false));
        Some(match refused {
            true => format!("{name} (refused)"),
            false => name.to_owned(),
        })
    });
    let reached = ["url", "final_url"]
        .into_iter()
        .filter_map(|key| data.get(key)?.as_str())
        .filter_map(|url| Some(url::Url::parse(url).ok()?.host_str()?.to_owned()));
    let hosts: Vec<String> = listed.chain(reached).take(MAX_TOUCHED).collect();
    out.extend(hosts.into_iter().map(|what| Touched {
        kind: Kind::Net,
        what,
    }));
}

fn fate(result: Option<&ToolResult>) -> Fate {
    let Some(result) = result else {
        return Fate::Open;
    };
    let output = result.output.to_value();
    let code = output.get("error").and_then(|e| e.get("code"));
    match code.and_then(Value::as_str) {
        _ if result.ok => Fate::Done,
        Some("blocked" | "denied" | "unknown_tool" | "invalid_input" | "not_in_plan_mode") => {
            Fate::Refused
        }
        Some(_) | None => Fate::Failed,
    }
}

/// What a call is about, for people.
fn subject(args: &Value) -> String {
    let text = [
        "command",
        "cmd",
        "url",
        "query",
        "path",
        "file_path",
        "from",
        "pattern",
    ]
    .into_iter()
    .find_map(|key| args.get(key)?.as_str());
    text.map_or_else(String::new, |text| clip(text, MAX_SUBJECT))
}

/// The root that the paths of a log are relative to.
pub fn root(entries: &[Entry]) -> Option<PathBuf> {
    entries.iter().find_map(|entry| {
        let Body::Meta(meta) = &entry.body else {
            return None;
        };
        (!meta.root.is_empty()).then(|| PathBuf::from(&meta.root))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entries(lines: &[Value]) -> Vec<Entry> {
        lines
            .iter()
            .enumerate()
            .map(|(i, line)| Entry::from_line(&line.to_string(), i as u64).unwrap())
            .collect()
    }

    fn call(id: &str, name: &str, input: Value) -> Value {
        json!({"type": "tool_use", "id": id, "name": name, "input": input})
    }

    fn result(id: &str, output: Value) -> Value {
        let ok = output.get("error").is_none();
        json!({"type": "tool_result", "tool_use_id": id, "output": output, "ok": ok})
    }

    fn approval(id: &str, decision: &str) -> Value {
        json!({"type": "approval", "tool_use_id": id, "decision": decision})
    }

    fn scope() -> Scope {
        Scope::new("/repo", None)
    }

    #[test]
    fn a_log_tells_what_was_touched() {
        let log = entries(&[
            call("1", "read_file", json!({"path": "a"})),
            result("1", json!({"data": {}})),
            call(
                "2",
                "bash",
                json!({"command": "rm -r b > log; curl https://c.example/x"}),
            ),
            approval("2", "once"),
            result(
                "2",
                json!({"data": {"hosts": [{"host": "d.example"}, "e.example"]}}),
            ),
            call("3", "bash", json!({"command": "touch f"})),
            approval("3", "deny"),
            result("3", json!({"error": {"code": "denied", "message": ""}})),
            call("4", "python", json!({"code": "x"})),
            call("5", "write_file", json!({"path": "g", "content": ""})),
            result("5", json!({"error": {"code": "io", "message": ""}})),
        ]);
        let told: Vec<String> = audit(&log, &scope())
            .into_iter()
            .map(|a| {
                let touched: Vec<String> = a
                    .touched
                    .iter()
                    .map(|t| format!("{:?} {}", t.kind, t.what))
                    .collect();
                format!(
                    "{} {} {:?} {} [{}]",
                    a.tool,
                    a.decision,
                    a.fate,
                    a.unsure,
                    touched.join(", ")
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                "read_file allow Done false [Read a]",
                "bash once Done true [Write log, Delete b, Delete b/**, Net c.example, Net d.example, Net e.example]",
                "bash deny Refused false []",
                "python allow Open true []",
                "write_file allow Failed false [Write g]",
            ]
        );
    }

    #[test]
    fn approvals_without_a_rule() {
        let log = entries(&[
            call("1", "bash", json!({"command": "make"})),
            approval("1", "once"),
            call("2", "bash", json!({"command": "make x"})),
            approval("2", "deny"),
            call("3", "bash", json!({"command": "make y"})),
            json!({"type": "approval", "tool_use_id": "3", "decision": "always", "saved": "Bash(make:*)"}),
            call("4", "bash", json!({"command": "make z"})),
        ]);
        let got: Vec<String> = approved(&log, &scope())
            .into_iter()
            .map(|a| a.subject)
            .collect();
        assert_eq!(got, ["make"]);
    }
}
