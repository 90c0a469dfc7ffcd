//! Recognises from what a command said that the sandbox was in its way, by patterns in a data file. A guess: programs
//! word things as they like, and may lie.

use super::{ClosedFolder, Layer, Network, PROXY, Policy, holder};
use crate::exit::Exit;
use serde::Deserialize;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

/// Only the end of what a command said is looked at.
const MAX_BYTES: usize = 64 << 10;
const HOLE: &str = "{}";

/// What the sandbox probably refused, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub what: Subject,
    pub hint: String,
    /// What would let it through, if a person may grant that.
    pub grant: Option<Grant>,
}

/// More than the policy has, for one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    Read(PathBuf),
    Write(PathBuf),
    /// Of ssh, and its agent.
    Keys(PathBuf),
    /// With `ssh` also what a client of that needs: its keys and the agent.
    Host {
        name: String,
        ssh: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Path(PathBuf),
    Host(String),
    Other(String),
}

#[derive(Deserialize)]
struct File {
    pattern: Vec<Pattern>,
}

#[derive(Deserialize)]
struct Pattern {
    kind: Kind,
    text: String,
    /// For the test of this file.
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test"))]
    example: String,
    subject: String,
    /// The words of an ssh client.
    #[serde(default)]
    ssh: bool,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Path,
    /// A path that is there, but not in the sandbox. Only known ones: most that are missing are simply missing.
    Hidden,
    Host,
    /// The person's keys for ssh, where they may not be read.
    Keys,
    Other,
}

fn patterns() -> &'static [Pattern] {
    static PATTERNS: OnceLock<Vec<Pattern>> = OnceLock::new();
    PATTERNS.get_or_init(|| {
        // Part of the program and checked by a test; without it denials are merely not recognised.
        toml::from_str::<File>(include_str!("denials.toml"))
            .map_or_else(|_| Vec::new(), |f| f.pattern)
    })
}

/// Why a command under this policy failed, if it looks like the sandbox did it. The last line that tells counts; relative
/// names are taken to start at `cwd`.
pub fn explain(
    policy: &Policy,
    layer: Layer,
    cwd: &Path,
    exit: Exit,
    stderr: &str,
) -> Option<Denial> {
    if exit.success() {
        return None;
    }
    let mut from = stderr.len().saturating_sub(MAX_BYTES);
    while !stderr.is_char_boundary(from) {
        from += 1;
    }
    let lines = stderr.get(from..)?.lines().rev();
    lines
        .filter_map(|line| judge(policy, layer, cwd, line))
        .next()
}

/// A host that a command asked for and did not get.
pub fn of_host(layer: Layer, name: &str, ssh: bool) -> Denial {
    let what = Subject::Host(name.to_owned());
    if layer != Layer::Namespaces {
        return Denial {
            what,
            hint: format!(
                "commands have no network, so {name} was not reached; single hosts can be granted only where namespaces work, else the person can set `[sandbox] network = true`"
            ),
            grant: None,
        };
    }
    let more = match ssh {
        true => {
            "; for ssh the grant includes reading ~/.ssh and the agent's socket, for that command"
        }
        false => "",
    };
    Denial {
        what,
        hint: format!(
            "commands do not reach {name}; the person can grant it with the rule `Net({name})` in `[permissions] allow`, or set `[sandbox] network = true`{more}"
        ),
        grant: Some(Grant::Host {
            name: name.to_owned(),
            ssh,
        }),
    }
}

fn judge(policy: &Policy, layer: Layer, cwd: &Path, line: &str) -> Option<Denial> {
    let found = patterns()
        .iter()
        .find_map(|pattern| Some((pattern, matched(pattern, line)?)));
    let (pattern, name) = found?;
    match pattern.kind {
        Kind::Path => about_path(policy, cwd, Path::new(name)),
        Kind::Hidden => {
            let path = from(cwd, Path::new(name));
            let hidden = is_hidden(policy, &path) || is_unseen(policy, &path);
            hidden.then(|| about_path(policy, cwd, Path::new(name)))?
        }
        Kind::Host if policy.network == Network::On => None,
        // The proxy of ours, not what was asked of it.
        Kind::Host if name == PROXY.ip().to_string() => None,
        Kind::Host => Some(of_host(layer, name, pattern.ssh)),
        Kind::Keys => {
            let keys = policy.forbid_read.iter().find(|p| p.ends_with(name))?;
            Some(Denial {
                what: Subject::Path(keys.clone()),
                hint: format!(
                    "ssh may neither read {} nor talk to its agent; the person can grant both for that command, or change `[sandbox] forbid_read`",
                    keys.display()
                ),
                grant: Some(Grant::Keys(keys.clone())),
            })
        }
        Kind::Other => Some(Denial {
            what: Subject::Other(name.to_owned()),
            hint: format!(
                "probably refused: {name}; the person can run it outside, or start with --no-sandbox"
            ),
            grant: None,
        }),
    }
}

fn about_path(policy: &Policy, cwd: &Path, named: &Path) -> Option<Denial> {
    let mut path = from(cwd, named);
    // Perhaps it went to another folder before.
    if let Some(protected) = policy.protect.iter().find(|p| p.ends_with(named)) {
        path = protected.clone();
    }
    let inside = |list: &[PathBuf]| holder(&path, list).is_some();
    let shown = path.display();
    let (hint, grant) = if is_unseen(policy, &path) {
        let hint = format!(
            "{shown} lies outside of what a command sees that nobody approved; the person can show it with {}--add-dir",
            flag_for(&path)
        );
        (hint, Some(Grant::Read(path.clone())))
    } else if is_hidden(policy, &path) {
        let hint = format!(
            "{shown} may not be read by commands; the person can change `[sandbox] forbid_read`, or start with --no-sandbox"
        );
        (hint, Some(Grant::Read(path.clone())))
    } else if inside(&policy.protect) {
        let hint = format!(
            "{shown} is protected from changes by commands; the person can change it, or start with --no-sandbox"
        );
        (hint, None)
    } else if inside(&policy.writable) {
        return None;
    } else {
        let hint = format!(
            "{shown} lies outside of the folders that commands may change; the person can add it to `[sandbox] allow_write`, or start with --add-dir"
        );
        (hint, Some(Grant::Write(path.clone())))
    };
    Some(Denial {
        what: Subject::Path(path),
        hint,
        grant,
    })
}

/// Whether commands cannot read a path: it is forbidden, or lies in a closed folder and is not shown there.
fn is_hidden(policy: &Policy, path: &Path) -> bool {
    let is_closed = |closed: &ClosedFolder| {
        path.starts_with(&closed.folder)
            && holder(path, &closed.shown).is_none()
            && !policy
                .writable
                .iter()
                .any(|w| w.starts_with(&closed.folder) && path.starts_with(w))
    };
    holder(path, &policy.forbid_read).is_some() || policy.closed.iter().any(is_closed)
}

/// Whether a path is there, but not for a command that sees little of the home and of what others have on the machine.
fn is_unseen(policy: &Policy, path: &Path) -> bool {
    let Some(empty) = &policy.empty_home else {
        return false;
    };
    let mut folders = empty.others.iter().chain([&empty.home]);
    let is_seen = |list: &[PathBuf]| holder(path, list).is_some();
    folders.any(|folder| path.starts_with(folder) && path != folder)
        && !is_seen(&empty.shown)
        && !is_seen(&policy.writable)
        && holder(path, &policy.forbid_read).is_none()
        && path.symlink_metadata().is_ok()
}

/// The flag that shows it, where it can be typed as it is.
fn flag_for(path: &Path) -> String {
    let text = path.display().to_string();
    match text.contains(|c: char| "'*?[]{}()\\".contains(c) || c.is_control()) {
        true => String::new(),
        false => format!("--allow 'Read({text})' or "),
    }
}

/// An absolute path without `.` and `..`, by name.
fn from(cwd: &Path, named: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    for part in cwd.join(named).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                path.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => path.push(part),
        }
    }
    path
}

/// The name in the hole of the pattern, or the fixed one of a pattern without.
fn matched<'a>(pattern: &'a Pattern, line: &'a str) -> Option<&'a str> {
    let Some((before, after)) = pattern.text.split_once(HOLE) else {
        return line.contains(&pattern.text).then_some(&pattern.subject);
    };
    let start = match before {
        "" => 0,
        before => line.find(before)? + before.len(),
    };
    let rest = line.get(start..)?;
    let name = match after {
        "" => rest.split_whitespace().next()?,
        after => rest.get(..rest.find(after)?)?,
    };
    // What stands before it on the line is the name of the program, and perhaps a line number.
    let name = match before {
        "" => name.rsplit(": ").next()?,
        _ => name,
    };
    let name = in_quotes(name.trim());
    let bad = name.is_empty() || name.starts_with('[') || name.contains(char::is_control);
    (!bad).then_some(name)
}

/// `verb 'name` with the closing quote or without, as many programs word it.
fn in_quotes(text: &str) -> &str {
    const QUOTES: [char; 5] = ['\'', '"', '`', '‘', '’'];
    let text = text.trim_end_matches(QUOTES);
    text.rsplit(QUOTES).next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: Exit = Exit {
        code: Some(1),
        signal: None,
    };

    const W: &str = "/w";
    const LAYER: Layer = Layer::Namespaces;

    fn policy() -> Policy {
        Policy {
            writable: vec!["/w".into()],
            forbid_read: vec!["/u/me/.ssh".into()],
            protect: vec!["/w/.git/config".into()],
            ..Policy::default()
        }
    }

    #[test]
    fn each_pattern_matches_its_example() {
        let file: File = toml::from_str(include_str!("denials.toml")).unwrap();
        assert!(file.pattern.len() > 20);
        for (index, pattern) in file.pattern.iter().enumerate() {
            let Pattern {
                text,
                example,
                subject,
                ..
            } = pattern;
            assert_eq!(matched(pattern, example), Some(subject.as_str()), "{text}");
            let first = file
                .pattern
                .iter()
                .position(|p| matched(p, example).is_some());
            assert_eq!(first, Some(index), "an earlier pattern takes {example}");
        }
    }

    #[test]
    fn names_what_was_refused() {
        let path = |path: &str| Some(Subject::Path(path.into()));
        for (stderr, expect) in [
            (
                "sh: 1: cannot create /etc/x: Permission denied",
                path("/etc/x"),
            ),
            (
                "noise\ncat: /u/me/.ssh/id: Permission denied\nmake: *** [x] Error 1",
                path("/u/me/.ssh/id"),
            ),
            (
                "error: could not write config file .git/config: Device or resource busy",
                path("/w/.git/config"),
            ),
            // Its own trouble: the folder may be written.
            ("cat: /w/secret: Permission denied", None),
            ("cat: secret: Permission denied", None),
            (
                "sh: 1: cannot create ../x: Read-only file system",
                path("/x"),
            ),
            (
                "cat: ../u/me/./.ssh/id: Permission denied",
                path("/u/me/.ssh/id"),
            ),
            (
                "curl: (6) Could not resolve host: a.b",
                Some(Subject::Host("a.b".into())),
            ),
            (
                "rm: cannot remove '/etc/x y': Read-only file system",
                path("/etc/x y"),
            ),
            (
                "rmdir: failed to remove '/etc/x': Read-only file system",
                path("/etc/x"),
            ),
            (
                "cat: /u/me/.ssh/id: No such file or directory",
                path("/u/me/.ssh/id"),
            ),
            ("cat: /etc/none: No such file or directory", None),
            (
                "git@example.org: Permission denied (publickey).",
                path("/u/me/.ssh"),
            ),
            ("assertion failed", None),
            ("", None),
        ] {
            let found =
                explain(&policy(), LAYER, W.as_ref(), FAILED, stderr).map(|denial| denial.what);
            assert_eq!(found, expect, "{stderr}");
        }
    }

    #[test]
    fn what_may_be_granted() {
        let host = |name: &str, ssh| {
            let name = name.to_owned();
            Some(Grant::Host { name, ssh })
        };
        for (layer, stderr, expect) in [
            (
                LAYER,
                "cat: /u/me/.ssh/id: Permission denied",
                Some(Grant::Read("/u/me/.ssh/id".into())),
            ),
            (
                LAYER,
                "Host key verification failed.\nfatal: Could not read from remote repository.",
                Some(Grant::Keys("/u/me/.ssh".into())),
            ),
            (
                LAYER,
                "touch: cannot touch '/srv/x': Read-only file system",
                Some(Grant::Write("/srv/x".into())),
            ),
            (
                LAYER,
                "rm: cannot remove '.git/config': Device or resource busy",
                None,
            ),
            (
                LAYER,
                "curl: (6) Could not resolve host: a.b",
                host("a.b", false),
            ),
            (
                LAYER,
                "ssh: Could not resolve hostname a.b: Name or service not known",
                host("a.b", true),
            ),
            (
                Layer::Landlock,
                "curl: (6) Could not resolve host: a.b",
                None,
            ),
            (LAYER, "ptrace: Operation not permitted", None),
        ] {
            let found = explain(&policy(), layer, W.as_ref(), FAILED, stderr);
            assert_eq!(found.unwrap().grant, expect, "{stderr}");
        }
        let own = "curl: (7) Failed to connect to 127.0.0.1 port 61080";
        assert_eq!(explain(&policy(), LAYER, W.as_ref(), FAILED, own), None);
    }

    #[test]
    fn says_nothing_of_success_or_an_open_network() {
        let done = Exit {
            code: Some(0),
            signal: None,
        };
        assert_eq!(
            explain(
                &policy(),
                LAYER,
                W.as_ref(),
                done,
                "cat: /etc/x: Permission denied"
            ),
            None
        );
        let open = Policy {
            network: Network::On,
            ..policy()
        };
        assert_eq!(
            explain(
                &open,
                LAYER,
                W.as_ref(),
                FAILED,
                "curl: (6) Could not resolve host: a.b"
            ),
            None
        );
    }

    #[test]
    fn long_output_is_cut_at_a_character() {
        let long = "ä".repeat(MAX_BYTES) + "x\ncat: /etc/x: Permission denied";
        assert!(explain(&policy(), LAYER, W.as_ref(), FAILED, &long).is_some());
    }
}
