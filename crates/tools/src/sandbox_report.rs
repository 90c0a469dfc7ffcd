//! What the sandbox had to do with a program that has ended: for the result of the call, the log and the model.

use serde_json::{Value, json};
use std::path::PathBuf;

/// Changes and hosts that are listed one by one; the rest is a number.
pub const MAX_LISTED: usize = 8;

#[derive(Debug, Default)]
pub struct SandboxReport {
    pub denied: Option<Denied>,
    pub changes: Vec<Change>,
    pub hosts: Vec<HostRequest>,
}

/// A refusal, and what would let the program through.
#[derive(Debug)]
pub struct Denied {
    pub what: String,
    pub hint: String,
    /// What the person may grant, in the form of the session that made the sandbox.
    pub grant: Option<Value>,
    /// It ran as one that only reads and tried to write: as a writer it may be asked for and run again.
    pub wrote_as_reader: bool,
}

/// A protected path that was changed all the same.
#[derive(Clone, Debug)]
pub struct Change {
    pub path: PathBuf,
    pub undone: bool,
    /// Where the changed file was kept.
    pub aside: Option<PathBuf>,
    /// If the rest of the change was taken over: what was not.
    pub refused: Vec<String>,
    /// Nobody could look there: whatever lies in it counts as changed.
    pub unseen: bool,
}

impl Change {
    /// A folder that could not be looked into.
    pub fn unseen(path: PathBuf) -> Self {
        Self {
            path,
            undone: false,
            aside: None,
            refused: Vec::new(),
            unseen: true,
        }
    }
}

/// A host that a program asked the proxy for.
#[derive(Debug)]
pub struct HostRequest {
    pub host: String,
    pub port: u16,
    pub allowed: bool,
}

impl SandboxReport {
    /// Adds it to the data of a result.
    pub fn add_to(&self, data: &mut Value) {
        if let Some(denied) = &self.denied {
            data["denied"] = json!({"what": denied.what, "hint": denied.hint});
            if denied.wrote_as_reader {
                data["denied"]["wrote_as_reader"] = true.into();
            }
            if let Some(grant) = &denied.grant {
                data["denied"]["grant"] = grant.clone();
            }
        }
        if !self.changes.is_empty() {
            let one = |change: &Change| {
                let mut one =
                    json!({"path": change.path.display().to_string(), "undone": change.undone});
                if change.unseen {
                    one["unseen"] = true.into();
                }
                if let Some(aside) = &change.aside {
                    one["kept"] = aside.display().to_string().into();
                }
                if !change.refused.is_empty() {
                    let refused = change.refused.iter().take(MAX_LISTED);
                    one["refused"] = refused.cloned().collect();
                }
                one
            };
            data["protected"] = self.changes.iter().map(one).collect();
        }
        if let Some(hosts) = self.hosts() {
            data["hosts"] = hosts;
        }
    }

    /// What was asked of the proxy, as it stands in the data of a result.
    pub fn hosts(&self) -> Option<Value> {
        let one = |asked: &HostRequest| json!({"host": asked.host, "port": asked.port, "allowed": asked.allowed});
        (!self.hosts.is_empty()).then(|| self.hosts.iter().map(one).collect())
    }

    /// The same as lines, for a log.
    pub fn lines(&self) -> String {
        let mut data = json!({});
        self.add_to(&mut data);
        lines(&data).map(|line| format!("{line}\n")).collect()
    }
}

/// What the model reads of `SandboxReport::add_to`.
pub fn lines(data: &Value) -> impl Iterator<Item = String> {
    let changes = data["protected"].as_array().map(|c| changes(c));
    let hint = data["denied"]["hint"].as_str();
    let denied = hint.map(|hint| format!("[sandbox: {hint}]"));
    // A command that went on all the same may lack what it could not fetch. The log of a job says it already.
    let is_told = hint.is_some() || data["job"].is_string();
    let refused = data["hosts"].as_array().filter(|_| !is_told);
    let refused = refused.and_then(|hosts| unreached(hosts));
    changes.into_iter().chain(denied).chain(refused)
}

fn unreached(hosts: &[Value]) -> Option<String> {
    let refused = hosts.iter().filter(|host| host["allowed"] == false);
    let names: Vec<&str> = refused.filter_map(|host| host["host"].as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let told = names.get(..MAX_LISTED.min(names.len())).unwrap_or_default();
    let more = match names.len() - told.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    Some(format!("[sandbox: not reached: {}{more}]", told.join(", ")))
}

fn changes(changes: &[Value]) -> String {
    let told = changes.iter().take(MAX_LISTED).map(|change| {
        let path = change["path"].as_str().unwrap_or_default();
        if let Some(refused) = change["refused"].as_array().filter(|_| change["undone"] == true) {
            let names: Vec<&str> = refused.iter().filter_map(Value::as_str).collect();
            let kept = change["kept"].as_str();
            let kept = kept.map_or_else(String::new, |kept| format!(" (as it was changed: {kept})"));
            // Names of settings have no blanks; the rest says what was found.
            if names.iter().any(|name| name.contains(' ')) {
                return format!(
                    "{path} was cleaned, because git believes what lies in its folder and a command had left there {}{kept}",
                    names.join(", ")
                );
            }
            return format!(
                "{path}: not taken over, because git could run a program by it or look elsewhere: {}; the person can set it in a terminal of their own{kept}",
                names.join(", ")
            );
        }
        if change["unseen"] == true {
            return format!(
                "{path} is too deep, too large or closed and was not looked into: git may run programs that a command left there, so do not use git in it before you have looked"
            );
        }
        match (change["undone"] == true, change["kept"].as_str()) {
            (true, Some(kept)) => format!("{path} was put back (as it was changed: {kept})"),
            (true, None) => format!("{path} was put back"),
            (false, _) => format!("{path} was changed and could not be put back"),
        }
    });
    let mut told: Vec<String> = told.collect();
    if changes.len() > MAX_LISTED {
        told.push(format!("and {} more", changes.len() - MAX_LISTED));
    }
    format!("[sandbox: protected from changes: {}]", told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_each() {
        let check = |data: Value, expect: &[&str]| {
            assert_eq!(lines(&data).collect::<Vec<_>>(), expect, "{data}");
        };
        check(json!({}), &[]);
        check(
            json!({"denied": {"what": "/etc/x", "hint": "no"}, "protected": [
                {"path": "/r/a", "undone": true},
                {"path": "/r/b", "undone": true, "kept": "/k/b"},
                {"path": "/r/c", "undone": false},
                {"path": "/r/d", "undone": false, "unseen": true},
            ]}),
            &[
                "[sandbox: protected from changes: /r/a was put back, /r/b was put back (as it was changed: /k/b), /r/c was changed and could not be put back, /r/d is too deep, too large or closed and was not looked into: git may run programs that a command left there, so do not use git in it before you have looked]",
                "[sandbox: no]",
            ],
        );
        check(
            json!({"protected": [
                {"path": "/r/.git/config", "undone": true, "refused": ["core.hookspath"], "kept": "/k/c"},
                {"path": "/r/.git/x", "undone": true, "refused": ["a link to /home/me/.bashrc"]},
            ]}),
            &[
                "[sandbox: protected from changes: /r/.git/config: not taken over, because git could run a program by it or look elsewhere: core.hookspath; the person can set it in a terminal of their own (as it was changed: /k/c), /r/.git/x was cleaned, because git believes what lies in its folder and a command had left there a link to /home/me/.bashrc]",
            ],
        );
        let many: Vec<Value> = (0..MAX_LISTED + 2)
            .map(|_| json!({"path": "/r/a", "undone": true}))
            .collect();
        let line = lines(&json!({ "protected": many })).next().unwrap();
        assert!(line.ends_with("and 2 more]"), "{line}");
        let hosts = json!([{"host": "a.b", "allowed": true}, {"host": "c.d", "allowed": false}]);
        check(json!({"hosts": hosts}), &["[sandbox: not reached: c.d]"]);
        check(
            json!({"hosts": hosts, "denied": {"hint": "no c.d"}}),
            &["[sandbox: no c.d]"],
        );
        check(json!({"hosts": [{"host": "a.b", "allowed": true}]}), &[]);
    }
}
