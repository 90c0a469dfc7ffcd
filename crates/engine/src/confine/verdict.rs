//! What the sandbox had to do with a command that has ended, for the log, the model and whoever may grant more.

use super::{Confined, Terms};
use crate::proxy::Asked;
use ostler_host::Exit;
use ostler_host::sandbox::{self, Denial, Grant, Layer, Policy, Subject};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Changes and hosts that are told one by one; the rest is a number.
const MAX_TOLD: usize = 8;
/// Where an ssh client keeps its keys, below the person's home.
const SSH: &str = ".ssh";
const SSH_PORT: u16 = 22;
/// Words of what a command said in which a path is looked for.
const MAX_WORDS: usize = 4096;
/// Folders for temporary files, which commands have for themselves.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];
/// Ports that go without saying in a grant.
const KNOWN_PORTS: [u16; 3] = [SSH_PORT, 80, 443];

#[derive(Debug, Default)]
pub struct Verdict {
    pub(super) denied: Option<Denied>,
    pub(super) changes: Vec<Change>,
    pub(super) hosts: Vec<Asked>,
}

/// A refusal, and what would let the command through.
#[derive(Debug)]
pub(super) struct Denied {
    what: String,
    hint: String,
    grant: Option<Terms>,
    /// It ran as one that only reads and tried to write: as a writer it may be asked for and run again.
    wrote_as_reader: bool,
}

/// A protected path that was changed all the same.
#[derive(Debug)]
pub(super) struct Change {
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

/// Looks for a refusal in what was asked of the proxy and in what the command said, `said` one after the other.
pub(super) fn judge(it: &Confined, exit: Exit, said: &[&str], asked: &[Asked]) -> Option<Denied> {
    if exit.success() {
        return None;
    }
    let refused: Vec<&Asked> = asked.iter().filter(|a| !a.allowed).collect();
    let spoken = |a: &&&Asked| said.iter().any(|text| text.contains(&a.host));
    let by_name = refused.iter().rfind(spoken);
    let explained = || {
        let mut each = said
            .iter()
            .filter_map(|text| sandbox::explain(&it.policy, it.layer, &it.cwd, exit, text));
        each.next()
    };
    let denial = match by_name {
        Some(asked) => of(it.layer, asked),
        None => match (explained(), refused.last()) {
            (Some(denial), _) if matches!(denial.what, Subject::Path(_)) => denial,
            (_, Some(asked)) => of(it.layer, asked),
            (None, None) => return missing_in_tmp(&it.policy, said),
            (Some(denial), None) => denial,
        },
    };
    Some(told(it, denial, &refused))
}

/// A path below `/tmp` that the command did not find, and that is there outside.
fn missing_in_tmp(policy: &Policy, said: &[&str]) -> Option<Denied> {
    let temp = policy.temp.as_ref()?;
    let closed: Vec<PathBuf> = policy.closed.iter().map(|c| c.folder.clone()).collect();
    let lists = [
        &policy.writable,
        &policy.visible,
        &closed,
        &policy.forbid_read,
    ];
    let is_seen = |path: &Path| {
        lists
            .into_iter()
            .flatten()
            .any(|seen| path.starts_with(seen))
    };
    let is_end = |c: char| c.is_whitespace() || "'\"`‘’“”:,;()[]<>".contains(c);
    let words = said.iter().flat_map(|text| text.split(is_end));
    let found = words.take(MAX_WORDS).find_map(|word| {
        let path = Path::new(word.trim_end_matches('.'));
        let below = TEMPORARY
            .iter()
            .find_map(|tmp| path.strip_prefix(tmp).ok())?;
        let outside = !below.as_os_str().is_empty() && path.exists();
        (outside && !is_seen(path) && !temp.join(below).exists())
            .then(|| path.display().to_string())
    })?;
    Some(Denied {
        hint: format!(
            "{found} is there on this machine, but commands have a /tmp of their own for each session; the person can copy it into the project, or add its folder with --add-dir"
        ),
        what: found,
        grant: None,
        wrote_as_reader: false,
    })
}

fn of(layer: Layer, asked: &Asked) -> Denial {
    if asked.private {
        let name = &asked.host;
        return Denial {
            what: Subject::Host(name.clone()),
            hint: format!(
                "{name} may be reached but lies at a private address; the person can add it to `[tools.web] allow_private`"
            ),
            grant: None,
        };
    }
    sandbox::of_host(layer, &asked.host, asked.port == SSH_PORT)
}

fn told(it: &Confined, denial: Denial, refused: &[&Asked]) -> Denied {
    let what = match denial.what {
        Subject::Path(path) => path.display().to_string(),
        Subject::Host(name) | Subject::Other(name) => name,
    };
    let mut hint = denial.hint;
    let mut wrote_as_reader = false;
    let grant = denial.grant.and_then(|grant| match grant {
        Grant::Read(path) | Grant::Keys(path) if it.is_sealed(&path) => {
            hint = format!(
                "{what} is kept from commands by a rule or by Ostler itself; nothing can be granted"
            );
            None
        }
        Grant::Read(path) => Some(Terms {
            readable: vec![path],
            ..Terms::default()
        }),
        Grant::Keys(path) => Some(Terms {
            readable: vec![path],
            ssh_agent: true,
            ..Terms::default()
        }),
        Grant::Write(_) if it.terms.read_only => {
            wrote_as_reader = true;
            hint = format!(
                "{what} was not changed: this command ran as one that only reads, where nothing can be written"
            );
            None
        }
        Grant::Write(path) => Some(Terms {
            writable: vec![room_for(&path, it.services.user_home.as_deref())?],
            ..Terms::default()
        }),
        Grant::Host { name, ssh } => Some(hosts(&name, ssh, refused, it.services.user_home.as_deref())),
    });
    Denied {
        what,
        hint,
        grant,
        wrote_as_reader,
    }
}

/// All that were refused, so that one grant is enough.
fn hosts(name: &str, ssh: bool, refused: &[&Asked], home: Option<&Path>) -> Terms {
    let mut hosts = Vec::new();
    for asked in refused.iter().rev().take(MAX_TOLD) {
        let host = match KNOWN_PORTS.contains(&asked.port) {
            true => asked.host.clone(),
            false => format!("{}:{}", asked.host, asked.port),
        };
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    if hosts.is_empty() {
        hosts.push(name.to_owned());
    }
    let keys = home.filter(|_| ssh).map(|home| home.join(SSH));
    Terms {
        hosts,
        readable: keys.into_iter().collect(),
        ssh_agent: ssh,
        ..Terms::default()
    }
}

/// The file, if it is there, else the nearest folder that is. Never all of a disk or of a home.
fn room_for(path: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let found = path.ancestors().find(|path| path.exists())?;
    let too_much = found.parent().is_none() || home.is_some_and(|home| home.starts_with(found));
    (!too_much).then(|| found.to_owned())
}

impl Verdict {
    /// Adds it to the data of a result.
    pub fn tell(&self, data: &mut Value) {
        if let Some(denied) = &self.denied {
            data["denied"] = json!({"what": denied.what, "hint": denied.hint});
            if denied.wrote_as_reader {
                data["denied"]["wrote_as_reader"] = true.into();
            }
            if let Some(grant) = &denied.grant {
                data["denied"]["grant"] = json!(grant);
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
                    let refused = change.refused.iter().take(MAX_TOLD);
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
        let one = |asked: &Asked| json!({"host": asked.host, "port": asked.port, "allowed": asked.allowed});
        (!self.hosts.is_empty()).then(|| self.hosts.iter().map(one).collect())
    }

    /// The same as lines, for a log.
    pub fn lines(&self) -> String {
        let mut data = json!({});
        self.tell(&mut data);
        lines(&data).map(|line| format!("{line}\n")).collect()
    }
}

/// What the model reads of `Verdict::tell`.
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
    let told = names.get(..MAX_TOLD.min(names.len())).unwrap_or_default();
    let more = match names.len() - told.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    Some(format!("[sandbox: not reached: {}{more}]", told.join(", ")))
}

fn changes(changes: &[Value]) -> String {
    let told = changes.iter().take(MAX_TOLD).map(|change| {
        let path = change["path"].as_str().unwrap_or_default();
        if let Some(refused) = change["refused"].as_array().filter(|_| change["undone"] == true) {
            let names: Vec<&str> = refused.iter().filter_map(Value::as_str).collect();
            let kept = change["kept"].as_str();
            let kept = kept.map_or_else(String::new, |kept| format!(" (as it was changed: {kept})"));
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
    if changes.len() > MAX_TOLD {
        told.push(format!("and {} more", changes.len() - MAX_TOLD));
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
        let many: Vec<Value> = (0..MAX_TOLD + 2)
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

    #[test]
    fn grants_are_no_wider_than_needed() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("home/there")).unwrap();
        std::fs::write(top.join("home/there/file"), "").unwrap();
        let home = top.join("home");
        for (path, expect) in [
            ("home/there/file", Some("home/there/file")),
            ("home/there/new", Some("home/there")),
            ("home/there/a/b/c", Some("home/there")),
            ("home/there", Some("home/there")),
            ("home/new", None),
            ("home", None),
            ("new", None),
        ] {
            let found = room_for(&top.join(path), Some(&home));
            assert_eq!(found, expect.map(|e| top.join(e)), "{path}");
        }
        assert_eq!(room_for(Path::new("/no such folder/x"), None), None);
        let asked = |host: &str, port| Asked {
            host: host.into(),
            port,
            allowed: false,
            private: false,
        };
        let (a, b, c) = (asked("a.b", 443), asked("a.b", 80), asked("c.d", 9418));
        assert_eq!(
            json!(hosts("a.b", false, &[&a, &b, &c], Some(&home))),
            json!({"hosts": ["c.d:9418", "a.b"]})
        );
        assert_eq!(
            json!(hosts("a.b", true, &[], Some(Path::new("/u/me")))),
            json!({"hosts": ["a.b"], "readable": ["/u/me/.ssh"], "ssh_agent": true})
        );
    }
}
