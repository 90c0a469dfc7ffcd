//! Keys that are not today's: older spellings, which are moved to where they belong, and sections
//! of later versions, which are set aside. Both are said once and are no errors.

use super::diagnose::Notice;
use super::tree::{Node, Sources, Value, item_named};
use crate::speech::filled;
use ostler_wire::Word;

/// Older key → today's. `model` and `provider` are joined first, see [`join_model`].
const MOVED: [(&[&str], &[&str]); 9] = [
    (&["model"], &["default_model"]),
    (&["agent", "model"], &["default_model"]),
    (&["max_iterations"], &["agent", "max_steps"]),
    (&["agent", "max_iterations"], &["agent", "max_steps"]),
    (&["tool_timeout_secs"], &["tools", "bash_timeout_seconds"]),
    (&["max_tokens"], &["agent", "max_tokens"]),
    (&["temperature"], &["agent", "temperature"]),
    (&["system_prompt"], &["agent", "system_prompt"]),
    (&["system_prompt_file"], &["agent", "system_prompt_file"]),
];

/// A top-level key that ends so gives the base URL of the provider it starts with.
const BASE_URL: &str = "_base_url";

/// Known to the design, not to this version.
const LATER: [&[&str]; 3] = [&["backend"], &["serve"], &["host"]];

/// Moves older keys to their place.
pub fn modernise(root: &mut Node, sources: &Sources, notices: &mut Vec<Notice>) {
    join_model(root, sources, notices);
    for (old, new) in MOVED {
        if let Some(node) = root.take(old) {
            shift(root, node, &old.join("."), new, (sources, notices));
        }
    }
    let urls: Vec<String> = match root.as_table() {
        Some(table) => table
            .keys()
            .filter(|key| key.len() > BASE_URL.len() && key.ends_with(BASE_URL))
            .cloned()
            .collect(),
        None => Vec::new(),
    };
    for key in urls {
        let Some(node) = root.take(&[&key]) else {
            continue;
        };
        let provider = key.trim_end_matches(BASE_URL);
        notices.push(older(
            sources,
            &node,
            &key,
            &format!("providers.{provider}.base_url"),
        ));
        // Empty has always meant unset.
        if node.as_str() != Some("")
            && let Some(item) = item_named(root, "providers", provider, node.at)
        {
            item.put_new(&["base_url"], node).ok();
        }
    }
}

/// Today's name of an older key.
pub fn current_name(keys: &[String]) -> Option<Vec<String>> {
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    if let [key] = keys.as_slice()
        && let Some(provider) = key.strip_suffix(BASE_URL).filter(|name| !name.is_empty())
    {
        return Some(
            ["providers", provider, "base_url"]
                .map(str::to_owned)
                .to_vec(),
        );
    }
    let (_, new) = MOVED.iter().find(|(old, _)| *old == keys.as_slice())?;
    Some(new.iter().map(|key| (*key).to_owned()).collect())
}

/// Sets aside what later versions will read.
pub fn set_aside(root: &mut Node, sources: &Sources, notices: &mut Vec<Notice>) {
    let mut found = Vec::new();
    let mut first = None;
    for path in LATER {
        if let Some(node) = root.take(path) {
            found.push(format!("`{}`", path.join(".")));
            first.get_or_insert(node.at);
        }
    }
    if let Some(at) = first {
        let text = filled(Word::CfgNotYet, &[&found.join(", ")]);
        notices.push(Notice::note(sources.place(at), text));
    }
}

/// `provider = "p"` with `model = "m"` means `p/m`; alone it means its default model.
fn join_model(root: &mut Node, sources: &Sources, notices: &mut Vec<Notice>) {
    let is_text = |key: &str| root.get(&[key]).is_some_and(|node| node.as_str().is_some());
    if !is_text("provider") {
        return;
    }
    let Some(provider) = root.take(&["provider"]) else {
        return;
    };
    notices.push(older(sources, &provider, "provider", "default_model"));
    let mut joined = provider.clone();
    if let (Some(provider), Some(model)) = (
        provider.as_str(),
        root.get(&["model"]).and_then(Node::as_str),
    ) {
        joined.value = Value::String(format!("{provider}/{model}"));
        root.take(&["model"]);
    }
    // A `default_model` beside it is the newer word and stays.
    root.put_new(&["default_model"], joined).ok();
}

fn shift(
    root: &mut Node,
    node: Node,
    old: &str,
    new: &[&str],
    (sources, notices): (&Sources, &mut Vec<Notice>),
) {
    let notice = older(sources, &node, old, &new.join("."));
    let place = sources.place(node.at);
    match root.put_new(new, node) {
        Ok(()) => notices.push(notice),
        Err(_) => notices.push(Notice::warning(
            place,
            filled(Word::CfgOldIgnored, &[&old, &new.join(".")]),
        )),
    }
}

fn older(sources: &Sources, node: &Node, old: &str, new: &str) -> Notice {
    Notice::note(
        sources.place(node.at),
        filled(Word::CfgOldName, &[&old, &new]),
    )
}
