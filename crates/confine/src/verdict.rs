//! What the sandbox had to do with a command that has ended, for the log, the model and whoever may grant more.

use super::{Confined, Terms};
use ostler_host::Exit;
use ostler_host::proxy::Asked;
use ostler_host::sandbox::{self, Denial, Grant, Layer, Policy, Subject};
use ostler_tools::sandbox_report::{Denied, MAX_LISTED};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Where an ssh client keeps its keys, below the person's home.
const SSH: &str = ".ssh";
const SSH_PORT: u16 = 22;
/// Words of what a command said in which a path is looked for.
const MAX_WORDS: usize = 4096;
/// Folders for temporary files, which commands have for themselves.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];
/// Ports that go without saying in a grant.
const KNOWN_PORTS: [u16; 3] = [SSH_PORT, 80, 443];

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
        grant: grant.map(|grant| json!(grant)),
        wrote_as_reader,
    }
}

/// All that were refused, so that one grant is enough.
fn hosts(name: &str, ssh: bool, refused: &[&Asked], home: Option<&Path>) -> Terms {
    let mut hosts = Vec::new();
    for asked in refused.iter().rev().take(MAX_LISTED) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
