//! What one command may touch: the settings, less or more by its terms.

use super::settings::SHARED_MEMORY;
use super::{SandboxSettings, Terms};
use ostler_host::sandbox::{EmptyHome, Network, Policy, UnixSockets};
use ostler_host::sight;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Most entries of a folder whose one file may be read after all; of larger ones nothing can be.
const MAX_SIBLINGS: usize = 512;
const AGENT: &str = "SSH_AUTH_SOCK";

/// A command whose policy is wanted.
pub struct Request<'a> {
    pub terms: &'a Terms,
    pub env: &'a [(OsString, OsString)],
    /// Whether it can reach a host, by a rule or by a grant.
    pub online: bool,
    /// The session's folder of artifacts, which models are told to look into.
    pub artifacts: Option<&'a Path>,
    /// Files of our own home that this session may read.
    pub own: &'a [PathBuf],
    /// For a reader without mounts: its own folder for temporary files.
    pub scratch: Option<&'a Path>,
}

/// What is sealed stays so, whatever was granted.
pub fn shape(settings: &SandboxSettings, request: &Request<'_>) -> Policy {
    let terms = request.terms;
    let mut policy = settings.policy.clone();
    policy.forbid_read = lift(&policy.forbid_read, &terms.readable, &settings.sealed);
    policy.forbid_read.extend(match request.artifacts {
        Some(artifacts) => lift(&settings.stores, &[artifacts.to_owned()], &[]),
        None => settings.stores.clone(),
    });
    for closed in &mut policy.closed {
        closed.shown.extend(request.artifacts.map(Path::to_owned));
        // The log lies beside them; hooks are told its path.
        closed
            .shown
            .extend(request.artifacts.map(|dir| dir.with_extension("jsonl")));
        closed.shown.extend(request.own.iter().cloned());
    }
    policy.temp = settings.seen_as_tmp();
    if terms.read_only {
        return read_only(policy, settings, request);
    }
    let open = |path: &&PathBuf| {
        let path = real(path);
        !policy.forbid_read.iter().any(|f| path.starts_with(real(f)))
    };
    let granted = terms.writable.iter().filter(open).map(|path| real(path));
    policy.writable.extend(granted.collect::<Vec<_>>());
    let temp = settings.temp.as_ref().map(|temp| temp.scratch.folder());
    policy.writable.extend(temp);
    policy
        .writable
        .extend(settings.caches.iter().map(|caches| caches.folder.clone()));
    if request.online || policy.network == Network::On {
        policy.writable.extend(settings.downloads.iter().cloned());
    }
    if terms.ssh_agent {
        let agent = request.env.iter().find(|(name, _)| name == AGENT);
        let agent = agent.map(|(_, path)| PathBuf::from(path));
        policy
            .sockets
            .extend(agent.filter(|path| path.is_absolute()));
    }
    match terms.sees_as_reader {
        true => with_readers_view(policy, settings, request),
        false => policy,
    }
}

/// For a command that only reads: what could be written is seen instead, the home is empty but for what is named, and
/// there is no network and no socket.
fn read_only(policy: Policy, settings: &SandboxSettings, request: &Request<'_>) -> Policy {
    let private = match request.scratch {
        Some(_) => Vec::new(),
        None => vec![PathBuf::from(SHARED_MEMORY)],
    };
    let policy = with_readers_view(policy, settings, request);
    Policy {
        writable: request.scratch.map(Path::to_owned).into_iter().collect(),
        // A link in the place of one of them would show something else.
        fixed: policy.writable,
        // Nothing can be changed, so nothing need be compared.
        protect: Vec::new(),
        private,
        sockets: Vec::new(),
        unix: UnixSockets::None,
        network: Network::Off,
        ..policy
    }
}

/// The home is empty but for what is named and what may be written, and so is the data of others.
fn with_readers_view(policy: Policy, settings: &SandboxSettings, request: &Request<'_>) -> Policy {
    let reader = &settings.reader;
    let mut shown = reader.shown.clone();
    shown.extend(policy.writable.iter().cloned());
    shown.extend(request.artifacts.map(Path::to_owned));
    shown.extend(request.own.iter().cloned());
    shown.extend(request.terms.readable.iter().cloned());
    shown.extend(request.terms.shown.iter().cloned());
    let mut forbid_read = policy.forbid_read;
    forbid_read.extend(reader.hidden.iter().cloned());
    let is_empty = |path: &PathBuf| {
        let home = reader.home.as_deref();
        home.is_some_and(|home| real(path).starts_with(real(home)))
    };
    let holds_home = |path: &PathBuf| {
        let home = reader.home.as_deref();
        home.is_some_and(|home| real(home).starts_with(real(path)))
    };
    Policy {
        // In an empty home there is nothing to be closed.
        closed: policy
            .closed
            .into_iter()
            .filter(|closed| !is_empty(&closed.folder))
            .collect(),
        visible: policy
            .visible
            .into_iter()
            .filter(|path| !holds_home(path))
            .collect(),
        empty_home: reader.home.clone().map(|home| EmptyHome {
            home,
            others: reader.others.clone(),
            shown,
        }),
        forbid_read,
        ..policy
    }
}

/// The forbidden paths without those that may be read. Of a folder with one file to be read, the others are left.
fn lift(forbidden: &[PathBuf], readable: &[PathBuf], sealed: &[PathBuf]) -> Vec<PathBuf> {
    let mut left = forbidden.to_vec();
    for granted in readable {
        let granted = real(granted);
        left = left
            .into_iter()
            .flat_map(|path| {
                let place = real(&path);
                if sealed.contains(&path) {
                    return vec![path];
                }
                if place.starts_with(&granted) {
                    return Vec::new();
                }
                if !granted.starts_with(&place) {
                    return vec![path];
                }
                beside(&place, &granted).unwrap_or_else(|| vec![path])
            })
            .collect();
    }
    left
}

/// Everything in `outer` but `inner`.
fn beside(outer: &Path, inner: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folder = outer.to_owned();
    for part in inner.strip_prefix(outer).ok()?.components() {
        let next = folder.join(part);
        for entry in fs::read_dir(&folder).ok()? {
            let path = entry.ok()?.path();
            if path != next {
                found.push(path);
            }
            if found.len() > MAX_SIBLINGS {
                return None;
            }
        }
        folder = next;
    }
    Some(found)
}

fn real(path: &Path) -> PathBuf {
    sight::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Caches, Reader};
    use ostler_host::sandbox::ClosedFolder;

    #[test]
    fn terms_take_and_give() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for name in [
            "ssh/id",
            "ssh/known",
            "ssh/deep/a",
            "ssh/deep/b",
            "keys",
            "out/x",
        ] {
            let path = top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let paths = |names: &[&str]| names.iter().map(|n| top.join(n)).collect::<Vec<_>>();
        let settings = SandboxSettings {
            policy: Policy {
                writable: paths(&["w"]),
                protect: paths(&["w/hooks"]),
                forbid_read: paths(&["ssh", "keys"]),
                ..Policy::default()
            },
            sealed: paths(&["keys"]),
            ..SandboxSettings::default()
        };
        let env = [(AGENT.into(), "/run/agent".into())];
        let check = |terms: Terms, expect: (&[&str], &[&str], &[&str], usize)| {
            let request = Request {
                terms: &terms,
                env: &env,
                online: false,
                artifacts: None,
                own: &[],
                scratch: None,
            };
            let policy = shape(&settings, &request);
            let mut forbidden = policy.forbid_read;
            forbidden.sort();
            let found = (
                policy.writable,
                policy.protect,
                forbidden,
                policy.sockets.len(),
            );
            let (writable, protect, forbid, sockets) = expect;
            let expect = (paths(writable), paths(protect), paths(forbid), sockets);
            assert_eq!(found, expect, "{terms:?}");
        };
        let terms = Terms::default;
        check(terms(), (&["w"], &["w/hooks"], &["keys", "ssh"], 0));
        check(
            Terms {
                read_only: true,
                writable: paths(&["out"]),
                ..terms()
            },
            (&[], &[], &["keys", "ssh"], 0),
        );
        check(
            Terms {
                writable: paths(&["out", "ssh/known", "keys"]),
                ..terms()
            },
            (&["w", "out"], &["w/hooks"], &["keys", "ssh"], 0),
        );
        check(
            Terms {
                readable: paths(&["ssh"]),
                ssh_agent: true,
                ..terms()
            },
            (&["w"], &["w/hooks"], &["keys"], 1),
        );
        check(
            Terms {
                readable: paths(&["ssh/deep/a"]),
                ..terms()
            },
            (
                &["w"],
                &["w/hooks"],
                &["keys", "ssh/deep/b", "ssh/id", "ssh/known"],
                0,
            ),
        );
        // The keys of Ostler itself, and what a deny rule names.
        check(
            Terms {
                readable: paths(&["keys", ""]),
                ..terms()
            },
            (&["w"], &["w/hooks"], &["keys"], 0),
        );
    }

    /// A command that ran as a reader and may write then sees no more than before.
    #[test]
    fn a_second_run_has_a_readers_view() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let paths = |names: &[&str]| names.iter().map(|n| top.join(n)).collect::<Vec<_>>();
        let settings = SandboxSettings {
            policy: Policy {
                writable: paths(&["home/w"]),
                protect: paths(&["home/w/hooks"]),
                ..Policy::default()
            },
            reader: Reader {
                home: Some(top.join("home")),
                others: paths(&["srv"]),
                shown: paths(&["home/.cargo/bin"]),
                hidden: paths(&["etc/key"]),
            },
            ..SandboxSettings::default()
        };
        let terms = Terms {
            sees_as_reader: true,
            ..Terms::default()
        };
        let request = Request {
            terms: &terms,
            env: &[],
            online: false,
            artifacts: None,
            own: &[],
            scratch: None,
        };
        let policy = shape(&settings, &request);
        assert_eq!(policy.writable, paths(&["home/w"]));
        assert_eq!(policy.protect, paths(&["home/w/hooks"]));
        assert_eq!(policy.forbid_read, paths(&["etc/key"]));
        let empty = policy.empty_home.unwrap();
        assert_eq!(
            (empty.home, empty.others),
            (top.join("home"), paths(&["srv"]))
        );
        assert_eq!(empty.shown, paths(&["home/.cargo/bin", "home/w"]));
    }

    /// A session that is resumed from another project has its folder there.
    #[test]
    fn stores_are_closed_but_for_the_artifacts_of_the_session() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for name in ["checkpoints", "sessions/other/a", "sessions/other/b"] {
            fs::create_dir_all(top.join(name)).unwrap();
        }
        let paths = |names: &[&str]| names.iter().map(|n| top.join(n)).collect::<Vec<_>>();
        let settings = SandboxSettings {
            stores: paths(&["checkpoints", "sessions/other"]),
            ..SandboxSettings::default()
        };
        let check = |artifacts: Option<&str>, expect: &[&str]| {
            let artifacts = artifacts.map(|name| top.join(name));
            let terms = Terms {
                readable: paths(&["checkpoints", "sessions"]),
                ..Terms::default()
            };
            let request = Request {
                terms: &terms,
                env: &[],
                online: false,
                artifacts: artifacts.as_deref(),
                own: &[],
                scratch: None,
            };
            let policy = shape(&settings, &request);
            assert_eq!(policy.forbid_read, paths(expect), "{artifacts:?}");
        };
        check(None, &["checkpoints", "sessions/other"]);
        check(Some("sessions/own/c"), &["checkpoints", "sessions/other"]);
        check(
            Some("sessions/other/a"),
            &["checkpoints", "sessions/other/b"],
        );
    }

    #[test]
    fn a_reader_writes_nothing_and_sees_little_of_the_home() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let settings = SandboxSettings {
            policy: Policy {
                writable: paths(&["/h/proj"]),
                protect: paths(&["/h/proj/.git/hooks"]),
                closed: vec![ClosedFolder {
                    folder: "/h/.ostler".into(),
                    shown: Vec::new(),
                }],
                sockets: paths(&["/run/s"]),
                network: Network::On,
                ..Policy::default()
            },
            downloads: paths(&["/h/.cargo/registry"]),
            reader: Reader {
                home: Some("/h".into()),
                others: Vec::new(),
                shown: paths(&["/h/.rustup"]),
                hidden: paths(&["/etc/shadow"]),
            },
            ..SandboxSettings::default()
        };
        let terms = Terms {
            read_only: true,
            hosts: vec!["a.b".into()],
            writable: paths(&["/h/more"]),
            ssh_agent: true,
            ..Terms::default()
        };
        let request = Request {
            terms: &terms,
            env: &[(AGENT.into(), "/run/agent".into())],
            online: true,
            artifacts: Some(Path::new("/h/.ostler/sessions/s")),
            own: &[],
            scratch: None,
        };
        let expect = Policy {
            fixed: paths(&["/h/proj"]),
            forbid_read: paths(&["/etc/shadow"]),
            empty_home: Some(EmptyHome {
                home: "/h".into(),
                others: Vec::new(),
                shown: paths(&["/h/.rustup", "/h/proj", "/h/.ostler/sessions/s"]),
            }),
            private: paths(&[SHARED_MEMORY]),
            unix: UnixSockets::None,
            network: Network::Off,
            ..Policy::default()
        };
        assert_eq!(shape(&settings, &request), expect);
    }

    #[test]
    fn caches_of_downloads_open_with_a_way_to_fill_them() {
        let settings = SandboxSettings {
            downloads: vec!["/h/.cargo/registry".into()],
            caches: Some(Caches {
                folder: "/o/cache".into(),
                variables: Vec::new(),
            }),
            ..SandboxSettings::default()
        };
        let terms = Terms::default();
        let writable = |online| {
            let request = Request {
                terms: &terms,
                env: &[],
                online,
                artifacts: None,
                own: &[],
                scratch: None,
            };
            shape(&settings, &request).writable
        };
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(writable(false), paths(&["/o/cache"]));
        assert_eq!(writable(true), paths(&["/o/cache", "/h/.cargo/registry"]));
    }
}
