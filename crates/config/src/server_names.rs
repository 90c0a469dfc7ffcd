//! Names of servers that a project brings: none takes the name of one of the person's.

use crate::tree::{Node, Value};
use ostler_mcp::server_name;
use std::collections::{BTreeMap, BTreeSet};

/// Another name for a server of a project. `is_taken` is asked for names as they stand in those of tools.
pub fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut other = format!("{name}-project");
    let mut n = 2;
    while is_taken(&server_name(&other)) {
        other = format!("{name}-project-{n}");
        n += 1;
    }
    other
}

/// Gives servers of a project's `[[plugins]]` other names than those of the layers below have. Their written names, by
/// the new ones.
pub fn rename_plugins(project: &mut Node, below: &Node) -> BTreeMap<String, String> {
    let names_of = |node: &Node| -> BTreeSet<String> {
        let items = node.get(&["plugins"]).and_then(Node::as_array);
        let names = items.unwrap_or(&[]).iter().filter_map(Node::name);
        names.map(server_name).collect()
    };
    let (own, theirs) = (names_of(below), names_of(project));
    let mut renamed = BTreeMap::new();
    let Some(Value::Array(items)) = project.get_mut(&["plugins"]).map(|node| &mut node.value)
    else {
        return renamed;
    };
    for item in items {
        let Some(name) = item.name().map(str::to_owned) else {
            continue;
        };
        if !own.contains(&server_name(&name)) {
            continue;
        }
        let is_taken = |name: &str| own.contains(name) || theirs.contains(name);
        let other = free_name(&name, |other| {
            is_taken(other) || renamed.contains_key(other)
        });
        if let Some(node) = item.get_mut(&["name"]) {
            node.value = Value::String(other.clone());
            renamed.insert(other, name);
        }
    }
    renamed
}
