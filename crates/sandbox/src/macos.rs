//! The same policy as a Seatbelt profile. Text only: it has not been run on that system yet.

use super::{EmptyHome, Network, Policy, Readable, UnixSockets};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const PROGRAM: &str = "/usr/bin/sandbox-exec";
/// What every program needs, whatever the policy.
const BASE: &str = "\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))
(allow ipc-posix-sem)
(allow pseudo-tty)
(allow file-ioctl (regex #\"^/dev/tty\"))
(allow file-read-metadata)
(allow file-read* file-write* (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\") (regex #\"^/dev/(fd|ttys[0-9]+|ptmx)\"))
(allow file-read* (literal \"/dev/random\") (literal \"/dev/urandom\"))
";

/// The words to put before a command's own.
pub fn prefix(policy: &Policy) -> Vec<OsString> {
    vec![PROGRAM.into(), "-p".into(), profile(policy).into()]
}

/// The profile. Later rules win over earlier ones, so exceptions come last.
pub fn profile(policy: &Policy) -> String {
    let mut text = String::from(BASE);
    match &policy.readable {
        Readable::All => text.push_str("(allow file-read*)\n"),
        Readable::List(list) => rule(&mut text, "allow file-read*", list),
    }
    if let Some(EmptyHome {
        home,
        others,
        shown,
    }) = &policy.empty_home
    {
        rule(&mut text, "deny file-read*", std::slice::from_ref(home));
        rule(&mut text, "deny file-read*", others);
        rule(&mut text, "allow file-read*", shown);
    }
    rule(&mut text, "allow file-read* file-write*", &policy.writable);
    rule(&mut text, "deny file-write*", &policy.protect);
    // Renaming a folder above would move the protection away.
    let above: Vec<PathBuf> = policy
        .protect
        .iter()
        .flat_map(|path| above(policy, path))
        .collect();
    for folder in above {
        let _infallible = writeln!(
            text,
            "(deny file-write-unlink (literal {}))",
            quoted(&folder)
        );
    }
    rule(
        &mut text,
        "deny file-read* file-write*",
        &policy.forbid_read,
    );
    match policy.network {
        Network::Off => {}
        Network::Loopback | Network::Proxy => text.push_str(
            "(allow network-bind network-inbound (local ip \"localhost:*\"))\n(allow network-outbound (remote ip \"localhost:*\"))\n",
        ),
        Network::On => text.push_str(
            "(allow network-outbound (remote ip))\n(allow network-bind network-inbound (local ip))\n(allow system-socket)\n(allow mach-lookup (global-name \"com.apple.dnssd.service\"))\n",
        ),
    }
    let sockets = match policy.unix {
        UnixSockets::None => &[],
        UnixSockets::Own => policy.sockets.as_slice(),
    };
    for socket in sockets {
        let _infallible = writeln!(
            text,
            "(allow network-outbound (remote unix-socket (path-literal {})))",
            quoted(socket)
        );
    }
    text
}

fn above(policy: &Policy, path: &Path) -> Vec<PathBuf> {
    let Some(root) = policy.writable.iter().find(|root| path.starts_with(root)) else {
        return Vec::new();
    };
    path.ancestors()
        .skip(1)
        .take_while(|folder| *folder != root)
        .map(Path::to_owned)
        .collect()
}

fn rule(text: &mut String, what: &str, paths: &[PathBuf]) {
    for path in paths {
        let _infallible = writeln!(text, "({what} (subpath {}))", quoted(path));
    }
}

/// A string of the profile's language.
fn quoted(path: &Path) -> String {
    let mut text = String::from("\"");
    for char in path.to_string_lossy().chars() {
        if matches!(char, '"' | '\\') {
            text.push('\\');
        }
        text.push(char);
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(policy: &Policy) -> String {
        let text = profile(policy);
        text.strip_prefix(BASE).unwrap().to_owned()
    }

    #[test]
    fn a_policy_as_text() {
        let policy = Policy {
            writable: vec!["/w".into(), "/tmp".into()],
            forbid_read: vec!["/Users/me/.ssh".into()],
            protect: vec!["/w/.git/hooks".into(), "/w/ostler.toml".into()],
            sockets: vec!["/tmp/agent.1".into()],
            network: Network::Loopback,
            ..Policy::default()
        };
        let expect = r#"(allow file-read*)
(allow file-read* file-write* (subpath "/w"))
(allow file-read* file-write* (subpath "/tmp"))
(deny file-write* (subpath "/w/.git/hooks"))
(deny file-write* (subpath "/w/ostler.toml"))
(deny file-write-unlink (literal "/w/.git"))
(deny file-read* file-write* (subpath "/Users/me/.ssh"))
(allow network-bind network-inbound (local ip "localhost:*"))
(allow network-outbound (remote ip "localhost:*"))
(allow network-outbound (remote unix-socket (path-literal "/tmp/agent.1")))
"#;
        assert_eq!(rules(&policy), expect);
    }

    #[test]
    fn a_home_of_which_little_is_seen() {
        let policy = Policy {
            empty_home: Some(EmptyHome {
                home: "/Users/me".into(),
                others: Vec::new(),
                shown: vec!["/Users/me/.gitconfig".into()],
            }),
            sockets: vec!["/tmp/agent.1".into()],
            unix: UnixSockets::None,
            ..Policy::default()
        };
        let expect = r#"(allow file-read*)
(deny file-read* (subpath "/Users/me"))
(allow file-read* (subpath "/Users/me/.gitconfig"))
"#;
        assert_eq!(rules(&policy), expect);
    }

    #[test]
    fn a_path_cannot_end_its_string() {
        let policy = Policy {
            readable: Readable::List(vec![r#"/a"b\c) (allow default"#.into()]),
            ..Policy::default()
        };
        let expect = "(allow file-read* (subpath \"/a\\\"b\\\\c) (allow default\"))\n";
        assert_eq!(rules(&policy), expect);
    }

    #[test]
    fn the_prefix_of_a_command() {
        let words = prefix(&Policy::default());
        assert_eq!(words.len(), 3);
        assert_eq!(words[..2], ["/usr/bin/sandbox-exec", "-p"]);
    }
}
