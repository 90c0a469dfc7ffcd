//! Which of our crates may use which, as the table of docs/ARCHITECTURE.md says and `cargo metadata` tells.

use super::Violation;
use crate::ostler::metadata;
use serde_json::Value;

/// A crate and those of ours that it may use. Tests of any crate may use the test kit.
const EDGES: &[(&str, &[&str])] = &[
    ("ostler-wire", &[]),
    ("ostler-grammars", &[]),
    ("ostler-llm", &["ostler-wire"]),
    ("ostler-files", &["ostler-wire"]),
    ("ostler-sandbox", &["ostler-wire", "ostler-files"]),
    ("ostler-checkpoint", &["ostler-wire", "ostler-files"]),
    (
        "ostler-host",
        &[
            "ostler-wire",
            "ostler-files",
            "ostler-sandbox",
            "ostler-checkpoint",
        ],
    ),
    ("ostler-store", &["ostler-wire", "ostler-files"]),
    ("ostler-guard", &["ostler-wire", "ostler-host"]),
    (
        "ostler-tools",
        &[
            "ostler-wire",
            "ostler-grammars",
            "ostler-host",
            "ostler-guard",
            "ostler-store",
        ],
    ),
    ("ostler-mcp", &["ostler-wire", "ostler-host"]),
    ("ostler-delegate", &["ostler-wire", "ostler-host"]),
    ("ostler-import", &["ostler-wire", "ostler-files"]),
    (
        "ostler-config",
        &[
            "ostler-wire",
            "ostler-llm",
            "ostler-files",
            "ostler-sandbox",
            "ostler-store",
            "ostler-guard",
            "ostler-mcp",
            "ostler-delegate",
        ],
    ),
    (
        "ostler-sources",
        &[
            "ostler-wire",
            "ostler-host",
            "ostler-guard",
            "ostler-store",
            "ostler-tools",
            "ostler-mcp",
        ],
    ),
    (
        "ostler-context",
        &[
            "ostler-wire",
            "ostler-llm",
            "ostler-host",
            "ostler-guard",
            "ostler-store",
            "ostler-tools",
            "ostler-mcp",
            "ostler-sources",
        ],
    ),
    (
        "ostler-confine",
        &[
            "ostler-wire",
            "ostler-host",
            "ostler-guard",
            "ostler-store",
            "ostler-tools",
        ],
    ),
    (
        "ostler-state",
        &[
            "ostler-wire",
            "ostler-llm",
            "ostler-host",
            "ostler-guard",
            "ostler-store",
            "ostler-tools",
            "ostler-mcp",
            "ostler-sources",
            "ostler-context",
            "ostler-confine",
        ],
    ),
    (
        "ostler-engine",
        &[
            "ostler-sources",
            "ostler-context",
            "ostler-confine",
            "ostler-state",
            "ostler-wire",
            "ostler-llm",
            "ostler-host",
            "ostler-store",
            "ostler-guard",
            "ostler-tools",
            "ostler-mcp",
        ],
    ),
    ("ostler-tui", &["ostler-wire"]),
    ("ostler-attach", &["ostler-wire"]),
    ("ostler-serve", &["ostler-wire"]),
    ("ostler-acp", &["ostler-wire"]),
    (
        "ostler",
        &[
            "ostler-wire",
            "ostler-llm",
            "ostler-host",
            "ostler-store",
            "ostler-guard",
            "ostler-tools",
            "ostler-mcp",
            "ostler-config",
            "ostler-engine",
            "ostler-tui",
            "ostler-attach",
            "ostler-serve",
            "ostler-acp",
            "ostler-delegate",
            "ostler-import",
        ],
    ),
    ("ostler-testkit", &[]),
    ("xtask", &["ostler-testkit"]),
];

pub fn check() -> anyhow::Result<Vec<Violation>> {
    Ok(wrong(&metadata()?))
}

/// The folders of a crate and of those of ours that it may use.
pub fn visible_from(folder: &str) -> Vec<String> {
    let package = match folder {
        "app" => "ostler".to_owned(),
        "xtask" => folder.to_owned(),
        other => format!("ostler-{other}"),
    };
    let uses = EDGES.iter().find(|(name, _)| *name == package);
    let others = uses.into_iter().flat_map(|(_, uses)| uses.iter());
    let folders = others.map(|name| name.trim_start_matches("ostler-").to_owned());
    std::iter::once(folder.to_owned()).chain(folders).collect()
}

fn wrong(metadata: &Value) -> Vec<Violation> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = list(&metadata["packages"]);
    let ours: Vec<String> = packages.iter().map(|p| text(&p["name"])).collect();
    let mut found = Vec::new();
    for package in &packages {
        let name = text(&package["name"]);
        let mut say = |message: String| {
            found.push(Violation {
                path: format!("crate {name}"),
                line: 0,
                message,
            });
        };
        let Some((_, allowed)) = EDGES.iter().find(|(known, _)| *known == name) else {
            say(
                "has no row in the table of crates (xtask/src/tidy/edges.rs, docs/ARCHITECTURE.md)"
                    .into(),
            );
            continue;
        };
        for dependency in list(&package["dependencies"]) {
            let used = text(&dependency["name"]);
            let by_tests = dependency["kind"] == "dev" && used == "ostler-testkit";
            if ours.contains(&used) && !by_tests && !allowed.contains(&used.as_str()) {
                say(format!("may not use {used}"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn forbidden_edges_are_named() {
        let package = |name: &str, uses: &[(&str, Value)]| {
            let uses: Vec<Value> = uses
                .iter()
                .map(|(name, kind)| json!({"name": name, "kind": kind}))
                .collect();
            json!({"name": name, "dependencies": uses})
        };
        let dev = json!("dev");
        let metadata = json!({"packages": [
            package("ostler-wire", &[("serde", Value::Null)]),
            package("ostler-llm", &[("ostler-wire", Value::Null), ("ostler-testkit", dev.clone())]),
            package("ostler-host", &[("ostler-llm", Value::Null)]),
            package("ostler-engine", &[("ostler", dev)]),
            package("ostler-testkit", &[]),
            package("ostler", &[("ostler-testkit", Value::Null)]),
            package("ostler-new", &[]),
        ]});
        let lines: Vec<String> = wrong(&metadata)
            .into_iter()
            .map(|v| format!("{}: {}", v.path, v.message))
            .collect();
        assert_eq!(
            lines,
            [
                "crate ostler-host: may not use ostler-llm",
                "crate ostler-engine: may not use ostler",
                "crate ostler: may not use ostler-testkit",
                "crate ostler-new: has no row in the table of crates (xtask/src/tidy/edges.rs, docs/ARCHITECTURE.md)",
            ]
        );
    }
}
