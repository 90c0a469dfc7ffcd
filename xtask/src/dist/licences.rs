//! Which crates are in a program, under which licences, with the texts that have to go with it; and the same as a bill of
//! materials.

use crate::ostler::cargo;
use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Beginnings of the names of files with a licence.
const FILES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];
/// Of one such file.
const MAX_TEXT: u64 = 512 << 10;

/// A crate of others.
pub struct Used {
    name: String,
    version: String,
    licence: String,
    repository: String,
    /// Texts of its files, by their names.
    texts: BTreeMap<String, String>,
}

/// What is linked into the programs for a target: no tests, no build scripts.
pub fn used(target: &str) -> anyhow::Result<Vec<Used>> {
    let args = [
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        target,
    ];
    let out = cargo(&args).output().context("cargo cannot be started")?;
    ensure!(
        out.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    let metadata: Value = serde_json::from_slice(&out.stdout)?;
    let reached = reached(&metadata);
    let packages = metadata["packages"].as_array().context("no packages")?;
    let mut found = Vec::new();
    for package in packages {
        let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
        // Our own have no source.
        if package["source"].is_null() || !reached.contains(&text("id")) {
            continue;
        }
        let folder = Path::new(package["manifest_path"].as_str().unwrap_or_default()).parent();
        found.push(Used {
            name: text("name"),
            version: text("version"),
            licence: text("license"),
            repository: text("repository"),
            texts: folder.map(texts).unwrap_or_default(),
        });
    }
    found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    let nameless: Vec<&str> = found
        .iter()
        .filter(|one| one.licence.is_empty() && one.texts.is_empty())
        .map(|one| one.name.as_str())
        .collect();
    ensure!(
        nameless.is_empty(),
        "no licence is known for: {}",
        nameless.join(", ")
    );
    Ok(found)
}

/// The ids of what our programs need to run.
fn reached(metadata: &Value) -> BTreeSet<String> {
    let nodes = metadata["resolve"]["nodes"]
        .as_array()
        .into_iter()
        .flatten();
    let nodes: BTreeMap<&str, &Value> = nodes
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let starts = packages.filter(|p| p["name"] == "ostler" || p["name"] == "ostler-host");
    let mut waiting: Vec<&str> = starts
        .filter_map(|package| package["id"].as_str())
        .collect();
    let mut seen = BTreeSet::new();
    let named = |id: &str, begin: &str| {
        let mut packages = metadata["packages"].as_array().into_iter().flatten();
        packages.any(|p| p["id"] == id && p["name"].as_str().is_some_and(|n| n.starts_with(begin)))
    };
    while let Some(id) = waiting.pop() {
        if !seen.insert(id.to_owned()) {
            continue;
        }
        let packs = named(id, "ostler-grammars");
        let needs = nodes.get(id).and_then(|node| node["deps"].as_array());
        for need in needs.into_iter().flatten() {
            let mut kinds = need["dep_kinds"].as_array().into_iter().flatten();
            // Grammars are compiled from the sources of what only the build seems to need.
            let is_grammar = packs
                && need["pkg"]
                    .as_str()
                    .is_some_and(|id| named(id, "tree-sitter-"));
            if is_grammar || kinds.any(|kind| kind["kind"].is_null()) {
                waiting.extend(need["pkg"].as_str());
            }
        }
    }
    seen
}

fn texts(folder: &Path) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_licence = FILES
            .iter()
            .any(|begin| name.to_ascii_uppercase().starts_with(begin));
        let is_small = entry
            .metadata()
            .is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_TEXT);
        if let (true, true, Ok(text)) = (is_licence, is_small, fs::read_to_string(entry.path())) {
            out.insert(name, text.trim_end().to_owned());
        }
    }
    out
}

/// Every crate with its licence, then each text once.
pub fn text(used: &[Used]) -> anyhow::Result<String> {
    let mut out = String::from("Ostler contains these crates of others.\n\n");
    let mut by_text: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for one in used {
        out.push_str(&format!(
            "{} {}  {}  {}\n",
            one.name, one.version, one.licence, one.repository
        ));
        for text in one.texts.values() {
            by_text
                .entry(text)
                .or_default()
                .push(format!("{} {}", one.name, one.version));
        }
    }
    let mut texts: Vec<(Vec<String>, &str)> = by_text
        .into_iter()
        .map(|(text, names)| (names, text))
        .collect();
    texts.sort();
    for (names, text) in texts {
        out.push_str(&format!(
            "\n{}\n{}\n\n{text}\n",
            "=".repeat(80),
            names.join(", ")
        ));
    }
    Ok(out)
}

/// CycloneDX in JSON.
pub fn sbom(used: &[Used], version: &str, target: &str) -> anyhow::Result<String> {
    let component = |one: &Used| {
        let purl = format!("pkg:cargo/{}@{}", one.name, one.version);
        json!({
            "type": "library",
            "bom-ref": purl,
            "name": one.name,
            "version": one.version,
            "purl": purl,
            "licenses": [{"expression": one.licence.replace('/', " OR ")}],
        })
    };
    let components: Vec<Value> = used.iter().map(component).collect();
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "application",
            "name": "ostler",
            "version": version,
            "licenses": [{"expression": "MIT"}],
            "properties": [{"name": "target", "value": target}],
        }},
        "components": components,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_runs_is_reached() {
        let dep = |id: &str, kind: Value| json!({"pkg": id, "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [
                {"id": "o", "name": "ostler"},
                {"id": "x", "name": "xtask"},
                {"id": "g", "name": "ostler-grammars"},
                {"id": "go", "name": "tree-sitter-go"},
            ],
            "resolve": {"nodes": [
                {"id": "o", "deps": [dep("a", Value::Null), dep("t", json!("dev")), dep("b", json!("build"))]},
                {"id": "a", "deps": [dep("o", Value::Null), dep("c", Value::Null), dep("g", Value::Null)]},
                {"id": "g", "deps": [dep("go", json!("build")), dep("b", json!("build"))]},
                {"id": "x", "deps": [dep("y", Value::Null)]},
            ]},
        });
        let reached: Vec<String> = reached(&metadata).into_iter().collect();
        assert_eq!(reached, ["a", "c", "g", "go", "o"]);
    }
}
