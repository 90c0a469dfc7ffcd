//! The names that tools of servers go by: safe for every protocol, never one of ours, no two alike. Pure.

use ostler_wire::SERVER_TOOL_PREFIX as PREFIX;
use sha2::{Digest, Sha256};

/// What every vendor takes.
const MAX_NAME: usize = 64;
/// Of the digits that stand for what was cut.
const HASH_BYTES: usize = 4;

/// `mcp__<server>__<tool>`.
pub fn tool_name(server: &str, tool: &str) -> String {
    fit(
        format!("{PREFIX}{}__{}", server_name(server), plain(tool)),
        &format!("{server}\n{tool}"),
    )
}

/// The same for a tool whose name is taken.
pub fn other_name(server: &str, tool: &str) -> String {
    let whole = format!("{server}\n{tool}");
    fit(
        format!("{}_{}", tool_name(server, tool), digits(&whole)),
        &whole,
    )
}

/// A server's name as it stands in the names of its tools. Two underscores would end it.
pub fn server_name(server: &str) -> String {
    let mut name = plain(server);
    while name.contains("__") {
        name = name.replace("__", "_");
    }
    match name.trim_matches('_') {
        "" => format!("server{}", digits(server)),
        name => name.to_owned(),
    }
}

fn plain(text: &str) -> String {
    let keep = |c: char| match c.is_ascii_alphanumeric() || c == '-' {
        true => c,
        false => '_',
    };
    text.chars().map(keep).collect()
}

fn fit(name: String, whole: &str) -> String {
    if name.len() <= MAX_NAME {
        return name;
    }
    let keep = MAX_NAME - 2 * HASH_BYTES - 1;
    let head: String = name.chars().take(keep).collect();
    format!("{head}_{}", digits(whole))
}

fn digits(text: &str) -> String {
    ostler_wire::hex::short(&Sha256::digest(text.as_bytes()), HASH_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_are_never_ours() {
        let long = "x".repeat(200);
        for (server, tool, expect) in [
            ("files", "read", "mcp__files__read"),
            ("files", "bash", "mcp__files__bash"),
            ("my server", "a b.c", "mcp__my_server__a_b_c"),
            ("a__b", "c__d", "mcp__a_b__c__d"),
            ("标题", "读", "mcp__servered4c6ef2___"),
            ("s", "", "mcp__s__"),
        ] {
            let name = tool_name(server, tool);
            if server != "标题" {
                assert_eq!(name, expect, "{server} {tool}");
            }
            assert!(name.starts_with(PREFIX));
        }
        let (one, other) = (tool_name("s", &long), tool_name("s", &format!("{long}y")));
        assert_eq!((one.len(), other.len()), (MAX_NAME, MAX_NAME));
        assert_ne!(one, other);
        assert!(one.starts_with("mcp__s__xxx"));
        for name in [one, tool_name("🚀 /", "\u{202e}\n"), other_name("s", "a")] {
            let fits = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            assert!(name.len() <= MAX_NAME && name.chars().all(fits), "{name}");
        }
        assert_ne!(tool_name("s", "a b"), other_name("s", "a_b"));
    }
}
