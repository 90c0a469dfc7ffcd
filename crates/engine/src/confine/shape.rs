//! What one command may touch: the settings, less or more by its terms.

use super::{SandboxSettings, Terms};
use ostler_host::sandbox::Policy;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Most entries of a folder whose one file may be read after all; of larger ones nothing can be.
const MAX_SIBLINGS: usize = 512;
const AGENT: &str = "SSH_AUTH_SOCK";

/// What is sealed stays so, whatever was granted.
pub fn shape(settings: &SandboxSettings, terms: &Terms, env: &[(OsString, OsString)]) -> Policy {
    let mut policy = settings.policy.clone();
    policy.forbid_read = lift(&policy.forbid_read, &terms.readable, &settings.sealed);
    if terms.read_only {
        policy.writable.clear();
        // Nothing can be changed, so nothing need be compared.
        policy.protect.clear();
    } else {
        let open = |path: &&PathBuf| {
            let path = real(path);
            !policy.forbid_read.iter().any(|f| path.starts_with(real(f)))
        };
        policy
            .writable
            .extend(terms.writable.iter().filter(open).cloned());
    }
    if terms.ssh_agent {
        let agent = env.iter().find(|(name, _)| name == AGENT);
        let agent = agent.map(|(_, path)| PathBuf::from(path));
        policy
            .sockets
            .extend(agent.filter(|path| path.is_absolute()));
    }
    policy
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
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let policy = shape(&settings, &terms, &env);
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
}
