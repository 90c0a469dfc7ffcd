//! What a call of a server's tool touches, as far as its arguments tell: the file arguments that servers agree on count
//! as read and written, so that path rules bind them too.

use super::shell::DEEP;
use crate::tool::Scope;
use ostler_wire::Access;
use serde_json::Value;
use std::path::PathBuf;

/// Files that one call may name; with more of them it is judged as if it named all there are.
const MAX_FILES: usize = 256;

pub fn mcp_accesses(server: &str, tool: &str, args: &Value, scope: &Scope) -> Vec<Access> {
    let mut out = vec![Access::Mcp {
        server: server.to_owned(),
        tool: tool.to_owned(),
        read_only: false,
    }];
    let mut paths: Vec<PathBuf> = Vec::new();
    for key in ["path", "file_path", "paths", "uri"] {
        let values = match args.get(key) {
            Some(Value::Array(list)) => list.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        let texts = values.iter().filter_map(Value::as_str);
        paths.extend(
            texts
                .take(MAX_FILES + 1)
                .filter_map(|text| file(text, scope)),
        );
    }
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

/// A path, or the path of a `file:` address. Other addresses name no file.
fn file(text: &str, scope: &Scope) -> Option<PathBuf> {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    if scheme.is_some_and(|s| s.eq_ignore_ascii_case("file")) {
        let url = url::Url::parse(text).ok()?;
        return Some(scope.path(url.to_file_path().ok()?.to_str()?));
    }
    (!text.contains("://")).then(|| scope.path(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Call, Policy, Rule, Verdict};
    use serde_json::json;

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
            (json!({"paths": many}), Verdict::Deny),
            (json!(null), Verdict::Allow),
        ] {
            let accesses = mcp_accesses("files", "get", &args, &scope);
            let call = Call {
                tool: "mcp__files__get",
                accesses: &accesses,
                scope: &scope,
                resolved: &[],
            };
            assert_eq!(policy.decide(call).verdict, expect, "{args}");
        }
    }
}
