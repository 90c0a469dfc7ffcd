//! The smallest rules that would allow a call the next time, for "always".

use crate::tool::Scope;
use ostler_wire::Access;

/// Rules in the form that is saved; empty where none can be written.
pub fn propose(_tool: &str, accesses: &[Access], scope: &Scope) -> Vec<String> {
    let rule = |access: &Access| match access {
        Access::Run(segments) => match segments.as_slice() {
            [one] if one.plain && one.needs.is_empty() && !one.text.contains(['*', '?', '\n']) => {
                Some(format!("Bash({})", one.text))
            }
            _ => None,
        },
        Access::Write(path) => {
            let below = path.strip_prefix(&scope.root).ok()?.to_str()?;
            (!below.contains(['*', '?', '\n', ')'])).then(|| format!("Edit(./{below})"))
        }
        Access::Net(host) => (host != "*").then(|| format!("Net({host})")),
        Access::Read(_)
        | Access::Mcp { .. }
        | Access::Job(_)
        | Access::Delegate(_)
        | Access::Memory => None,
    };
    let runs = accesses.iter().find(|a| matches!(a, Access::Run(_)));
    match runs {
        Some(run) => rule(run).into_iter().collect(),
        None => accesses
            .iter()
            .filter(|a| a.needs_permission())
            .map(rule)
            .collect::<Option<_>>()
            .unwrap_or_default(),
    }
}
