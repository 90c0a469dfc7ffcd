//! The JSON documents of Three: where they lie, which one of a layer counts, and what is wrong with one. What is in them is
//! `[backend.*]` and `[roles.*]` in another notation.

use crate::backends::check_backends;
use crate::check::refused_key;
use crate::de;
use crate::diagnose::{Report, file_report};
use crate::items::item;
use crate::paths::{Env, Places};
use crate::read::read_text;
use crate::schema::{BackendConfig, RoleConfig};
use crate::text::phrase;
use crate::tree::{At, Layer, Node, Source, SourceId, Sources, Span, Table, Value, dotted};
use crate::trust::Item;
use ostler_wire::{Why, Word};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Of the person, below their home.
const USER: &str = ".config/three";
/// Of a project.
const PROJECT: &str = ".three";
/// Of a project, before it had a folder.
const PLAIN: &str = ".three.json";
const SECTIONS: [&str; 2] = ["backend", "roles"];
const FORMER_ROLES: &str = "brains";
/// Names the client whose documents count.
pub const CLIENT: &str = "THREE_CLIENT";
/// Names the conversation that sessions of others belong to.
pub const CONVERSATION: &str = "THREE_CONVERSATION_ID";

/// A document, as it is read for its checks.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Document {
    #[serde(rename = "backend")]
    _backend: BTreeMap<String, BackendConfig>,
    #[serde(rename = "roles")]
    _roles: BTreeMap<String, RoleConfig>,
}

/// The document of one layer.
#[derive(Default)]
pub struct ThreeLayer {
    /// Its `backend` and `roles`.
    pub tree: Option<Node>,
    /// What is wrong with it.
    pub reports: Vec<Report>,
    /// What there is to trust in it.
    pub items: Vec<Item>,
}

/// The client that the environment names.
pub fn client(env: &Env) -> Option<&str> {
    let name = env.get(CLIENT)?.trim();
    (!name.is_empty()).then_some(name)
}

/// Files that the documents for a client may be in, whether they are there or not.
pub fn documents(places: &Places, client: Option<&str>) -> Vec<PathBuf> {
    let layers = [Layer::User, Layer::Project].into_iter();
    layers
        .flat_map(|layer| candidates(layer, places, client))
        .collect()
}

/// Files of which the first one that exists is the document of its layer.
fn candidates(layer: Layer, places: &Places, client: Option<&str>) -> Vec<PathBuf> {
    let folder = match layer {
        Layer::Project => Some(places.root.join(PROJECT)),
        Layer::User => places.user_home.as_ref().map(|home| home.join(USER)),
        Layer::Default | Layer::Local | Layer::Environment | Layer::Flag => None,
    };
    let Some(folder) = folder else {
        return Vec::new();
    };
    let of_client = client.map(|client| folder.join(format!("config-{client}.json")));
    let mut files: Vec<PathBuf> = of_client.into_iter().collect();
    files.push(folder.join("config.json"));
    if layer == Layer::Project {
        files.push(places.root.join(PLAIN));
    }
    files
}

/// Reads the document of a layer for this client.
pub fn read(
    layer: Layer,
    places: &Places,
    client: Option<&str>,
    sources: &mut Sources,
) -> ThreeLayer {
    let is_plain = |name: &str| {
        let fine = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        name.chars().all(fine)
    };
    let mut found = ThreeLayer::default();
    if let Some(name) = client.filter(|name| !is_plain(name)) {
        // Said once, with the person's own documents.
        if layer == Layer::User {
            let title = phrase(Word::CfgThreeClient, &[&name]);
            found.reports.push(file_report(
                CLIENT,
                title,
                Why::from(Word::CfgThreeClientHelp),
            ));
        }
        return found;
    }
    for path in candidates(layer, places, client) {
        let name = places.shown(&path);
        match read_text(&path, &name) {
            Ok(None) => continue,
            Ok(Some(text)) => {
                let source = sources.add(Source {
                    layer,
                    name: name.clone(),
                    path: Some(path),
                    text,
                });
                found = parse(source, &name, sources);
            }
            Err(report) => {
                let normal = report.title.to_string();
                let place = crate::tree::Place {
                    name: name.clone(),
                    position: None,
                };
                found.items = vec![Item::new(name, place, report.title.clone(), &normal)];
                found.reports = vec![*report];
            }
        }
        break;
    }
    found
}

fn parse(source: SourceId, name: &str, sources: &Sources) -> ThreeLayer {
    let text = &sources.get(source).text;
    let mut reports = Vec::new();
    let json: serde_json::Value = match serde_json::from_str(text) {
        Ok(json) => json,
        Err(error) => {
            let at = At {
                value: span_of(text, error.line(), error.column()),
                ..At::whole(source)
            };
            let title = phrase(Word::CfgNoJson, &[&error]);
            reports.push(Report::at(sources, at, at.value, title));
            return broken(name, source, sources, reports);
        }
    };
    let mut reader = JsonReader {
        source,
        text,
        cursor: 0,
    };
    let Some(mut tree) = reader.node(json, Span::default()) else {
        reports.push(no_table(source, sources));
        return broken(name, source, sources, reports);
    };
    check(&mut tree, sources, &mut reports);
    if !reports.is_empty() {
        return broken(name, source, sources, reports);
    }
    fill_in(&mut tree);
    let mut items = Vec::new();
    for section in SECTIONS {
        let entries = tree.get(&[section]).and_then(Node::as_table);
        for (key, node) in entries.into_iter().flatten() {
            let what = format!("{name}.{section}");
            items.push(item(&what, Some(key), node, sources.place(node.at)));
        }
    }
    ThreeLayer {
        tree: Some(tree),
        reports,
        items,
    }
}

fn no_table(source: SourceId, sources: &Sources) -> Report {
    let at = At::whole(source);
    let table = Why::from(Word::CfgTable);
    let title = phrase(Word::CfgMustNot, &[&table, &Why::from(Word::CfgString)]);
    Report::at(sources, at, at.value, title)
}

/// A document that cannot be used is one thing to trust, with its whole text.
fn broken(name: &str, source: SourceId, sources: &Sources, reports: Vec<Report>) -> ThreeLayer {
    let place = sources.place(At::whole(source));
    let first = reports.first().map(|report| report.title.clone());
    let text = &sources.get(source).text;
    ThreeLayer {
        tree: None,
        items: vec![Item::new(
            name.to_owned(),
            place,
            first.unwrap_or_else(|| name.into()),
            text,
        )],
        reports,
    }
}

/// Everything that is wrong with a document. What nobody knows below its two sections is taken out without a word.
fn check(tree: &mut Node, sources: &Sources, reports: &mut Vec<Report>) {
    let Some(top) = tree.as_table() else {
        reports.push(no_table(tree.at.source, sources));
        return;
    };
    for (key, node) in top {
        if !SECTIONS.contains(&key.as_str()) {
            let title = phrase(Word::CfgThreeTop, &[key]);
            let help = match key == FORMER_ROLES {
                true => Word::CfgThreeBrains,
                false => Word::CfgThreeTakeOut,
            };
            let report = Report::at(sources, node.at, node.at.key, title);
            reports.push(report.help(Why::from(help)));
        }
    }
    let (problems, unknown) = de::check::<Document>(tree);
    reports.extend(problems.into_iter().map(|problem| {
        let key = dotted(tree, &problem.path);
        let title = Why::joined([format!("`{key}` ").into(), problem.message]);
        let report = Report::at(sources, problem.at, problem.at.value, title).label(problem.label);
        match problem.help {
            Some(help) => report.help(help),
            None => report,
        }
    }));
    let refused = unknown.iter().filter_map(|path| {
        let at = tree.at_path(path)?.at;
        refused_key(tree, path, at, sources)
    });
    reports.extend(refused);
    for path in &unknown {
        tree.strike(path);
    }
    let roles = tree.get(&["roles"]).and_then(Node::as_table);
    for (name, role) in roles.into_iter().flatten() {
        if role.as_table().is_some() && role.get(&["model"]).is_none() {
            let missing = phrase(Word::CfgHasNo, &[&"model"]);
            let title = Why::joined([format!("`roles.{name}` ").into(), missing]);
            let report = Report::at(sources, role.at, role.at.key, title);
            reports.push(report.label(phrase(Word::CfgMissing, &[&"model"])));
        }
    }
    check_backends(tree, sources, reports);
    reports.sort_by_key(|report| report.place.as_ref().and_then(|place| place.position));
}

/// A role of a document may do everything that it does not say otherwise, also one with a name of ours.
fn fill_in(tree: &mut Node) {
    let Some(roles) = tree.get_mut(&["roles"]).and_then(Node::as_table_mut) else {
        return;
    };
    for role in roles.values_mut() {
        let at = role.at;
        let text = |text: &str| Node::new(Value::String(text.to_owned()), at);
        for (key, value) in [
            ("filesystem", text("read-write")),
            ("shell", text("allow")),
            ("network", text("allow")),
            ("tools", Node::new(Value::Array(vec![text("*")]), at)),
        ] {
            // What is there stays.
            let _ = role.put_new(&["capabilities", key], value);
        }
    }
}

/// Where line and column point to, as the parser counts them.
fn span_of(text: &str, line: usize, column: usize) -> Span {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1));
    let start = lines.map(str::len).sum::<usize>() + column.saturating_sub(1);
    let start = crate::tree::boundary(text, start);
    Span { start, end: start }
}

/// Makes a tree of a document. Keys are looked for one after the other, so each has its place.
struct JsonReader<'a> {
    source: SourceId,
    text: &'a str,
    cursor: usize,
}

impl JsonReader<'_> {
    fn node(&mut self, value: serde_json::Value, key: Span) -> Option<Node> {
        let value = match value {
            serde_json::Value::Object(fields) => {
                let mut table = Table::new();
                for (name, value) in fields {
                    let span = self.find(&serde_json::Value::from(name.as_str()).to_string());
                    if let Some(node) = self.node(value, span) {
                        table.insert(name, node);
                    }
                }
                Value::Table(table)
            }
            serde_json::Value::Array(items) => {
                let nodes = items.into_iter().filter_map(|item| self.node(item, key));
                Value::Array(nodes.collect())
            }
            plain => crate::values::from_json(plain)?.value,
        };
        let at = At {
            source: self.source,
            key,
            value: key,
        };
        Some(Node::new(value, at))
    }

    /// Where a quoted name stands next.
    fn find(&mut self, quoted: &str) -> Span {
        let rest = self.text.get(self.cursor..).unwrap_or_default();
        let Some(found) = rest.find(quoted) else {
            return Span {
                start: self.cursor,
                end: self.cursor,
            };
        };
        let start = self.cursor + found;
        self.cursor = start + quoted.len();
        Span {
            start,
            end: self.cursor,
        }
    }
}
