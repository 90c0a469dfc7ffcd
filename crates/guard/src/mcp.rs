//! What a call of a server's tool touches, as far as its arguments tell: the file arguments that servers agree on count
//! as read and written, so that path rules bind them too.

use super::Scope;
use super::shell::DEEP;
use ostler_wire::Access;
use serde_json::Value;
use std::path::PathBuf;

/// Files that one call may name; with more of them it is judged as if it named all there are.
const MAX_FILES: usize = 256;

/// Arguments are looked into this deep.
const MAX_DEPTH: usize = 16;

/// Words at the end of an argument's name that make it a path. A text that is none resolves to a name in the project.
const PATH_WORDS: [&str; 20] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "filepath",
    "filepaths",
    "dir",
    "dirs",
    "directory",
    "directories",
    "folder",
    "folders",
    "root",
    "cwd",
    "uri",
    "uris",
    "source",
    "destination",
];

pub fn mcp_accesses(server: &str, tool: &str, args: &Value, scope: &Scope) -> Vec<Access> {
    let mut out = vec![Access::Mcp {
        server: server.to_owned(),
        tool: tool.to_owned(),
        read_only: false,
    }];
    let mut paths: Vec<PathBuf> = Vec::new();
    collect(args, IsPath::No, MAX_DEPTH, &mut |text| {
        if paths.len() <= MAX_FILES {
            paths.extend(file(text, scope));
        }
    });
    if paths.len() > MAX_FILES {
        paths = vec![PathBuf::from(DEEP)];
    }
    paths.dedup();
    for path in paths {
        out.push(Access::Read(path.clone()));
        out.push(Access::Write(path));
    }
    out
}

/// Whether the texts of a value are paths, because of the name that it has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IsPath {
    Yes,
    No,
}

/// Hands out each text of the arguments that names a file: by the name of its argument at any depth, or as a `file:`
/// address under any name.
fn collect(value: &Value, is_path: IsPath, depth: usize, found: &mut impl FnMut(&str)) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    match value {
        Value::String(text) if is_path == IsPath::Yes || has_file_scheme(text) => found(text),
        Value::Array(items) => {
            for item in items {
                collect(item, is_path, depth, found);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_path = match names_path(name) {
                    true => IsPath::Yes,
                    false => IsPath::No,
                };
                collect(value, is_path, depth, found);
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `path`, `file_path`, `repoPath`, `output_dir`: the last word of the name says that it is a place on the disk.
fn names_path(argument: &str) -> bool {
    let snake: String = argument
        .chars()
        .flat_map(|c| match c.is_ascii_uppercase() {
            true => vec!['_', c.to_ascii_lowercase()],
            false => vec![c],
        })
        .collect();
    let last = snake.rsplit(['_', '-', '.']).next().unwrap_or_default();
    PATH_WORDS.contains(&last)
}

/// The same of a call that only looks: what it names is read, and nothing is written.
pub fn mcp_looks(accesses: Vec<Access>) -> Vec<Access> {
    let look = |access: Access| match access {
        Access::Mcp { server, tool, .. } => Some(Access::Mcp {
            server,
            tool,
            read_only: true,
        }),
        Access::Write(_) => None,
        Access::Read(_)
        | Access::Run(_)
        | Access::Net(_)
        | Access::Job(_)
        | Access::Delegate { .. }
        | Access::Memory
        | Access::History => Some(access),
    };
    accesses.into_iter().filter_map(look).collect()
}

fn has_file_scheme(text: &str) -> bool {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("file"))
}

/// A path, or the path of a `file:` address. Other addresses name no file.
fn file(text: &str, scope: &Scope) -> Option<PathBuf> {
    if has_file_scheme(text) {
        let url = url::Url::parse(text).ok()?;
        return Some(scope.path(url.to_file_path().ok()?.to_str()?));
    }
    (!text.contains("://")).then(|| scope.path(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tool;
    use crate::{Call, Policy, Rule, Verdict};
    use serde_json::json;

    #[test]
    fn a_servers_tool_reads_outside_only_when_asked_or_allowed() {
        let scope = Scope::new("/repo", Some("/home/me".into()));
        let mut policy = Policy::default();
        policy.folders.forbidden = vec!["/home/me/.ssh".into()];
        for (args, looks, allowed) in [
            (json!({"path": "a"}), Verdict::Allow, Verdict::Allow),
            (json!({"path": "~/x"}), Verdict::Ask, Verdict::Allow),
            (
                json!({"path": "/usr/share/x"}),
                Verdict::Allow,
                Verdict::Allow,
            ),
            (json!({"root_dir": "../x"}), Verdict::Ask, Verdict::Allow),
            (json!({"path": "~/.ssh/id"}), Verdict::Deny, Verdict::Deny),
            (
                json!({"uri": "file:///home/me/.ssh"}),
                Verdict::Deny,
                Verdict::Deny,
            ),
            (json!({"target": "/etc/x"}), Verdict::Allow, Verdict::Allow),
        ] {
            let accesses = mcp_accesses("files", "get", &args, &scope);
            let call = Call {
                tool: tool("mcp__files__get"),
                accesses: &mcp_looks(accesses.clone()),
                scope: &scope,
                resolved: &[],
            };
            assert_eq!(policy.decide(call).verdict, looks, "{args}");
            let mut policy = policy.clone();
            policy.rules.allow = vec![Rule::parse("mcp__files", "x:1").unwrap()];
            let call = Call {
                accesses: &accesses,
                ..call
            };
            assert_eq!(policy.decide(call).verdict, allowed, "{args}");
        }
    }

    #[test]
    fn path_rules_bind_the_tools_of_servers() {
        let scope = Scope::new("/repo", Some("/home/me".into()));
        let rule = |text: &str| Rule::parse(text, "x:1").unwrap();
        let mut policy = Policy::default();
        policy.rules.deny = vec![rule("Read(.env)"), rule("Edit(gen/**)")];
        policy.rules.allow = vec![rule("mcp__files")];
        let many: Vec<String> = (0..400).map(|i| format!("f{i}")).collect();
        for (args, expect) in [
            (json!({"path": "a"}), Verdict::Allow),
            (json!({"path": "sub/../.env"}), Verdict::Deny),
            (json!({"file_path": "/repo/.env"}), Verdict::Deny),
            (json!({"paths": ["a", ".env"]}), Verdict::Deny),
            (json!({"uri": "file:///repo/%2eenv"}), Verdict::Deny),
            (json!({"uri": "FILE:///repo/.env"}), Verdict::Deny),
            (json!({"uri": "https://a.example/.env"}), Verdict::Allow),
            (json!({"path": "gen/x"}), Verdict::Deny),
            (json!({"path": 7}), Verdict::Allow),
            (json!({"other": ".env"}), Verdict::Allow),
            (json!({"other": "file:///repo/.env"}), Verdict::Deny),
            (json!({"repoPath": "/repo/.env"}), Verdict::Deny),
            (json!({"files": ["a", {"path": ".env"}]}), Verdict::Deny),
            (json!({"edits": [{"file": ".env"}]}), Verdict::Deny),
            (json!({"sourceDirectory": "gen/sub"}), Verdict::Deny),
            (json!({"paths": many}), Verdict::Deny),
            (json!(null), Verdict::Allow),
        ] {
            let accesses = mcp_accesses("files", "get", &args, &scope);
            let call = Call {
                tool: tool("mcp__files__get"),
                accesses: &accesses,
                scope: &scope,
                resolved: &[],
            };
            assert_eq!(policy.decide(call).verdict, expect, "{args}");
        }
    }
}
