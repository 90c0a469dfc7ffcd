//! How one layer is laid over another: tables key by key, providers by name, most lists as a
//! whole, the rest of the lists added up.

use crate::schema::default_forbid_read;
use crate::tree::{At, Layer, Node, Sources, Value};

/// Lists whose layers add up; in all others the highest layer wins.
const ADDING: [&[&str]; 7] = [
    &["hooks"],
    &["permissions", "allow"],
    &["permissions", "ask"],
    &["permissions", "deny"],
    &["sandbox", "allow_write"],
    &["sandbox", "forbid_read"],
    &["tools", "shell", "env_drop"],
];

/// Keys that say the same thing in two ways: a higher layer's word for one removes the other.
const ALTERNATIVES: [(&str, &[&str]); 2] = [
    ("model", &["models", "default"]),
    ("models", &["model", "default"]),
];

/// Lays a layer over what is below it.
pub fn merge(below: &mut Node, above: Node, sources: &Sources) {
    seed_defaults(below, &above, sources);
    let agent = |key| above.get(&["agent", key]).is_some();
    // Text and file are one setting: the higher layer's word counts.
    if agent("system_prompt") || agent("system_prompt_file") {
        below.take(&["agent", "system_prompt"]);
        below.take(&["agent", "system_prompt_file"]);
    }
    merge_at(below, above, &mut Vec::new(), sources);
}

/// A project's `forbid_read` adds to the default list, which otherwise is not in the tree; the
/// person's own list replaces it.
fn seed_defaults(below: &mut Node, above: &Node, sources: &Sources) {
    let path = ["sandbox", "forbid_read"];
    let Some(node) = above.get(&path) else { return };
    if sources.layer(node.at) == Layer::User {
        return;
    }
    let at = At::whole(Sources::BUILT_IN);
    let items = default_forbid_read()
        .map(|item| Node::new(Value::String(item.to_owned()), at))
        .collect();
    below
        .put_new(&path, Node::new(Value::Array(items), at))
        .ok();
}

fn merge_at(below: &mut Node, above: Node, path: &mut Vec<String>, sources: &Sources) {
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    let adds = ADDING.contains(&keys.as_slice());
    let providers = keys == ["providers"];
    let plugins = keys == ["plugins"];
    match (&mut below.value, above.value) {
        (Value::Table(lower), Value::Table(upper)) => {
            for (key, node) in upper {
                match lower.get_mut(&key) {
                    Some(there) => {
                        path.push(key);
                        merge_at(there, node, path, sources);
                        path.pop();
                    }
                    None => {
                        lower.insert(key, node);
                    }
                }
            }
        }
        (Value::Array(lower), Value::Array(upper)) if providers => {
            upper
                .into_iter()
                .for_each(|item| merge_provider(lower, item, sources));
        }
        // A server is one thing: half of one and half of another would be neither.
        (Value::Array(lower), Value::Array(upper)) if plugins => {
            lower.retain(|there| upper.iter().all(|item| !same_name(there, item, sources)));
            lower.extend(upper);
        }
        (Value::Array(lower), Value::Array(upper)) if adds => lower.extend(upper),
        (_, value) => {
            below.value = value;
            below.at = above.at;
        }
    }
}

fn merge_provider(lower: &mut Vec<Node>, item: Node, sources: &Sources) {
    let same = |there: &&mut Node| same_name(there, &item, sources);
    let Some(there) = lower.iter_mut().find(same) else {
        lower.push(item);
        return;
    };
    for (key, others) in ALTERNATIVES {
        if item.get(&[key]).is_some() {
            for other in others {
                there.take(&[other]);
            }
        }
    }
    let name = there.get(&["name"]).cloned();
    merge_at(
        there,
        item,
        &mut vec!["providers".into(), String::new()],
        sources,
    );
    if let (Some(name), Some(fields)) = (name, there.as_table_mut()) {
        fields.insert("name".into(), name);
    }
}

/// Names of variables have no `-` and no case, so those match loosely.
fn same_name(there: &Node, item: &Node, sources: &Sources) -> bool {
    let (Some(there), Some(name)) = (there.name(), item.name()) else {
        return false;
    };
    match sources.layer(item.at) {
        Layer::Environment => {
            there.to_ascii_lowercase().replace('-', "_") == name.replace('-', "_")
        }
        Layer::Default | Layer::User | Layer::Local | Layer::Project | Layer::Flag => there == name,
    }
}
