//! What a project's file may do. A repository is somebody else's text: it may tighten at once,
//! what runs code or sends data waits for trust, and some keys belong to the person alone.

use super::diagnose::Notice;
use super::paths::{Places, absolute, is_inside};
use super::tree::{At, Node, Sources, Value};

/// Never from a project, trusted or not.
const USER_ONLY: [&[&str]; 8] = [
    &["agent", "max_steps"],
    &["agent", "planner_max_steps"],
    &["agent", "memory_compiler"],
    &["auth"],
    &["budget"],
    &["serve"],
    &["sessions", "quota"],
    &["trust"],
];

/// Runs code, sends data or widens what may be reached.
const NEEDS_TRUST: [&[&str]; 11] = [
    &["agent", "plan_mode_allowed_tools"],
    &["models"],
    &["network", "ca_file"],
    &["permissions", "allow"],
    &["providers"],
    &["sandbox", "allow_write"],
    &["sessions", "location"],
    &["tools", "shell", "env_pass"],
    &["tools", "shell", "path"],
    &["tools", "shell", "prefer"],
    &["tools", "web"],
];

/// Settings with an order, loosest first: (key, values, index of the default).
const ORDERED: [(&[&str], &[&str], usize); 4] = [
    (&["permissions", "mode"], &["allow", "ask", "deny"], 1),
    (&["permissions", "headless"], &["allow", "deny"], 0),
    (&["sandbox", "bash"], &["off", "enforce", "require"], 1),
    (&["sandbox", "network"], &["true", "false"], 1),
];

/// Whether the person said that this project may run things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    #[cfg_attr(not(test), expect(dead_code, reason = "no command grants trust yet"))]
    Trusted,
    Untrusted,
}

/// Takes out what the person alone may say.
pub fn drop_user_only(root: &mut Node, sources: &Sources, notices: &mut Vec<Notice>) {
    for path in USER_ONLY {
        if let Some(node) = root.take(path) {
            let text = format!(
                "`{}` is ignored in a project file; only your own config file may set it",
                path.join(".")
            );
            notices.push(Notice::warning(sources.place(node.at), text));
        }
    }
}

/// Takes out what an untrusted project may not say. `below` is what the layers under it say.
pub fn drop_untrusted(
    root: &mut Node,
    below: &Node,
    places: &Places,
    (sources, notices): (&Sources, &mut Vec<Notice>),
) {
    let mut dropped = Dropped::default();
    for path in NEEDS_TRUST {
        if let Some(node) = root.take(path) {
            dropped.add(path.join("."), node.at);
        }
    }
    for (path, order, default) in ORDERED {
        let rank = |node: &Node| order.iter().position(|word| *word == word_of(node));
        let floor = below.get(path).and_then(rank).unwrap_or(default);
        let asked = root.get(path).and_then(rank);
        if asked.is_some_and(|asked| asked < floor)
            && let Some(node) = root.take(path)
        {
            dropped.add(path.join("."), node.at);
        }
    }
    drop_paths(root, below, places, &mut dropped);
    drop_tools(root, below, &mut dropped);
    dropped.tell(sources, notices);
}

#[derive(Default)]
struct Dropped {
    keys: Vec<String>,
    first: Option<At>,
}

impl Dropped {
    fn add(&mut self, key: String, at: At) {
        self.keys.push(format!("`{key}`"));
        match self.first {
            Some(first) if first.key.start <= at.key.start => {}
            Some(_) | None => self.first = Some(at),
        }
    }

    fn tell(mut self, sources: &Sources, notices: &mut Vec<Notice>) {
        let Some(first) = self.first else { return };
        self.keys.sort();
        let text = format!(
            "this project is not trusted, so these settings are ignored: {}",
            self.keys.join(", ")
        );
        notices.push(Notice::warning(sources.place(first), text));
    }
}

/// A prompt file must lie in the project, links included; the workspace can only become smaller.
fn drop_paths(root: &mut Node, below: &Node, places: &Places, dropped: &mut Dropped) {
    let inside = |node: &Node| {
        node.as_str().is_some_and(|written| {
            let path = absolute(written, &places.root, places.user_home.as_deref());
            is_inside(&path, &places.root)
        })
    };
    let paths: [(&[&str], bool); 2] = [
        (&["agent", "system_prompt_file"], true),
        (
            &["sandbox", "workspace_root"],
            below.get(&["sandbox", "workspace_root"]).is_none(),
        ),
    ];
    for (path, may) in paths {
        if root.get(path).is_some_and(|node| !may || !inside(node))
            && let Some(node) = root.take(path)
        {
            dropped.add(path.join("."), node.at);
        }
    }
}

/// Tools can be taken away, not given back.
fn drop_tools(root: &mut Node, below: &Node, dropped: &mut Dropped) {
    let enabled = ["tools", "enabled"];
    if below.get(&enabled).is_some()
        && let Some(node) = root.take(&enabled)
    {
        dropped.add(enabled.join("."), node.at);
    }
    let Some(switches) = root.get_mut(&["tools", "switches"]) else {
        return;
    };
    let Some(switches) = switches.as_table_mut() else {
        return;
    };
    switches.retain(|name, node| {
        let off_below = below
            .get(&["tools", "switches", name])
            .is_some_and(|node| matches!(node.value, Value::Boolean(false)));
        let keep = !(off_below && matches!(node.value, Value::Boolean(true)));
        if !keep {
            dropped.add(format!("tools.{name}"), node.at);
        }
        keep
    });
}

fn word_of(node: &Node) -> &str {
    match &node.value {
        Value::String(word) => word,
        Value::Boolean(true) => "true",
        Value::Boolean(false) => "false",
        Value::Integer(_)
        | Value::Float(_)
        | Value::Datetime(_)
        | Value::Array(_)
        | Value::Table(_) => "",
    }
}
