//! What a project's file may do. A repository is somebody else's text: it may tighten at once,
//! what runs code or sends data waits for trust, and some keys belong to the person alone.

use crate::text::phrase;
use ostler_sandbox::read_unchanged;
use ostler_wire::{Why, Word};
use std::collections::BTreeSet;
use std::path::Path;

use crate::diagnose::Notice;
use crate::digest::hash;
use crate::hooks;
use crate::items::{item, normal_of, text_node};
use crate::paths::{Places, absolute, is_inside, real};
use crate::read::read_text;
use crate::tree::{At, Node, Place, Sources, Value, position, push_key};
use crate::trust::Item;
use crate::values::{from_json, node_text};
use crate::variables;

/// Never from a project, trusted or not.
const USER_ONLY: [&[&str]; 23] = [
    &["acp"],
    &["agent", "max_children"],
    &["agent", "max_depth"],
    &["agent", "max_steps"],
    &["agent", "auto_plan"],
    &["agent", "planner_max_steps"],
    &["agent", "memory_compiler"],
    &["agent", "shared_hooks"],
    &["auth"],
    &["budget"],
    &["context", "archive_quota"],
    &["context", "checkpoint_quota"],
    &["context", "checkpoint_history"],
    &["context", "checkpoint_seconds"],
    &["helper"],
    &["host"],
    &["sandbox", "layer"],
    &["serve"],
    &["sessions", "quota"],
    &["tools", "shell_confirm"],
    &["trust"],
    &["ui", "keys"],
    &["ui", "status_line"],
];

/// Runs code, sends data, widens what may be reached, changes what the model is told, which one it is and what it costs,
/// or hides something from the person.
const NEEDS_TRUST: [&[&str]; 42] = [
    &["agent", "effort"],
    &["agent", "max_tokens"],
    &["agent", "plan_mode_allowed_tools"],
    &["agent", "planner_model"],
    &["agent", "reasoning_language"],
    &["agent", "subagent_model"],
    &["agent", "subagent_models"],
    &["agent", "system_prompt"],
    &["agent", "system_prompt_file"],
    &["agent", "temperature"],
    &["agent", "top_p"],
    &["backend"],
    &["context", "compact_ratio"],
    &["context", "strategy"],
    &["default_model"],
    &["display", "show_reasoning"],
    &["display", "show_tokens"],
    &["display", "show_tool_calls"],
    &["hooks"],
    &["language"],
    &["models"],
    &["network", "ca_file"],
    &["network", "timeouts"],
    &["permissions", "allow"],
    &["plugins"],
    &["providers"],
    &["roles"],
    &["sandbox", "allow_write"],
    &["sessions", "location"],
    &["skills", "disabled_skills"],
    &["skills", "excluded_paths"],
    &["skills", "paths"],
    &["tools", "bash_timeout_seconds"],
    &["tools", "limits"],
    &["tools", "mcp_call_timeout_seconds"],
    &["tools", "mcp_schema_budget"],
    &["tools", "mcp_start_seconds"],
    &["tools", "result_format"],
    &["tools", "shell", "env_pass"],
    &["tools", "shell", "path"],
    &["tools", "shell", "prefer"],
    &["tools", "web"],
];

/// Counts at once: it only tightens, or is a comfort that hides nothing. Two of them are looked at more closely: see
/// `take_paths` and `take_tools`.
#[cfg(test)]
pub const AT_ONCE: [&[&str]; 10] = [
    &["display", "color"],
    &["permissions", "ask"],
    &["permissions", "deny"],
    &["sandbox", "forbid_read"],
    &["sandbox", "workspace_root"],
    &["tools", "enabled"],
    &["tools", "shell", "env_drop"],
    &["ui", "notify"],
    &["ui", "theme"],
    &["ui", "vim"],
];

/// The lists that a key of a project's file stands in.
#[cfg(test)]
pub fn lists_of(key: &str) -> Vec<&'static str> {
    let key: Vec<&str> = key.split('.').collect();
    let has = |list: &[&[&str]]| list.iter().any(|path| key.starts_with(path));
    let ordered: Vec<&[&str]> = ORDERED.iter().map(|(path, ..)| *path).collect();
    let lists = [
        ("user only", has(&USER_ONLY)),
        ("needs trust", has(&NEEDS_TRUST)),
        ("ordered", has(&ordered)),
        ("at once", has(&AT_ONCE)),
    ];
    let lists = lists.into_iter().filter(|(_, has)| *has);
    lists.map(|(name, _)| name).collect()
}

const PLUGINS: &str = "plugins";
const ENV_PASS: &str = "tools.shell.env_pass";

/// Lists that only add to those of other layers: an empty one says nothing.
const ADDING: [&str; 2] = ["permissions.allow", "sandbox.allow_write"];

/// Keys that name a file. One that lies in the project is trusted with its content, not by its name.
const FILES: [&str; 3] = [
    "agent.system_prompt_file",
    "network.ca_file",
    "tools.shell.path",
];
/// Most bytes of such a file that are looked at; its length always counts.
const MAX_CONTENT: u64 = 16 * 1024 * 1024;

/// Settings with an order, loosest first: (key, values, index of the default).
const ORDERED: [(&[&str], &[&str], usize); 6] = [
    (&["context", "checkpoints"], &["false", "true"], 1),
    (&["permissions", "mode"], &["allow", "ask", "deny"], 1),
    (
        &["permissions", "headless"],
        &["allow", "sandbox", "deny"],
        1,
    ),
    (&["permissions", "subagent"], &["headless", "inherit"], 1),
    (&["sandbox", "bash"], &["off", "enforce", "require"], 1),
    (&["sandbox", "network"], &["true", "false"], 1),
];

/// Servers that a project names beside its configuration.
pub const SERVERS: [&str; 2] = [".mcp.json", ".ostler/mcp.local.json"];

/// Takes out what the person alone may say.
pub fn drop_user_only(root: &mut Node, sources: &Sources, notices: &mut Vec<Notice>) {
    for path in USER_ONLY {
        if let Some(node) = root.take(path) {
            let text = phrase(Word::CfgUserOnly, &[&path.join(".")]);
            notices.push(Notice::warning(sources.place(node.at), text));
        }
    }
}

/// Which variables a backend gets, the person alone says.
pub fn drop_backend_variables(root: &mut Node, sources: &Sources, notices: &mut Vec<Notice>) {
    let Some(backends) = root.get_mut(&["backend"]).and_then(Node::as_table_mut) else {
        return;
    };
    for (name, backend) in backends {
        if let Some(node) = backend.take(&["env_pass"]) {
            let key = format!("backend.{name}.env_pass");
            let text = phrase(Word::CfgForeignBackendPass, &[&key]);
            notices.push(Notice::warning(sources.place(node.at), text));
        }
    }
}

/// A project's key file lies in the project and holds no key of ours, trusted or not.
pub fn drop_foreign_keys(
    root: &mut Node,
    places: &Places,
    sources: &Sources,
    notices: &mut Vec<Notice>,
) {
    let Some(Value::Array(providers)) = root.get_mut(&["providers"]).map(|node| &mut node.value)
    else {
        return;
    };
    for provider in providers {
        let Some(written) = provider.get(&["api_key_file"]).and_then(Node::as_str) else {
            continue;
        };
        let path = absolute(written, &places.root, places.user_home.as_deref());
        let sealed = places.sealed().iter().any(|file| is_inside(&path, file));
        if is_inside(&path, &places.root) && !is_inside(&path, &places.home) && !sealed {
            continue;
        }
        if let Some(node) = provider.take(&["api_key_file"]) {
            let text = phrase(Word::CfgForeignKey, &[&path.display()]);
            notices.push(Notice::warning(sources.place(node.at), text));
        }
    }
}

/// Keys of a provider or model that name a variable: its value goes to the host, or is one.
const SENT: [&str; 2] = ["api_key_env", "base_url_env"];

/// A variable that a project sends to a host although no provider of the person or of ours knows it.
pub struct ForeignVariable {
    pub sender: Sender,
    /// The key that names the variable.
    pub key: &'static str,
    pub name: String,
    pub host: String,
    pub at: At,
}

/// Which part of a project's file sends something.
pub enum Sender {
    /// The n-th of `[[providers]]`.
    Provider(usize),
    /// `[models.<name>]`.
    Model(String),
}

impl ForeignVariable {
    /// Takes the variable out of the project's file.
    pub fn drop_from(&self, root: &mut Node) {
        match &self.sender {
            Sender::Provider(index) => {
                let providers = root.get_mut(&["providers"]).map(|node| &mut node.value);
                if let Some(Value::Array(providers)) = providers
                    && let Some(provider) = providers.get_mut(*index)
                {
                    provider.take(&[self.key]);
                }
            }
            Sender::Model(name) => {
                root.take(&["models", name, self.key]);
            }
        }
    }
}

/// What a project's providers and models send to their hosts and nobody else knows.
pub fn foreign_variables(root: &Node, below: &Node) -> Vec<ForeignVariable> {
    let list = |node: &Node| -> Vec<Node> {
        let providers = node.get(&["providers"]).and_then(Node::as_array);
        providers.unwrap_or(&[]).to_vec()
    };
    let named = |provider: &Node, key: &str| {
        let name = provider.get(&[key]).and_then(Node::as_str);
        name.map(str::to_owned)
    };
    let built_in = ostler_llm::builtin_providers();
    let built_in = crate::schema::built_in(built_in);
    let mut known: Vec<String> = Vec::new();
    for provider in list(below) {
        known.extend(SENT.iter().filter_map(|key| named(&provider, key)));
    }
    for provider in built_in {
        known.extend(
            provider
                .api_key_env
                .into_iter()
                .chain(provider.base_url_env),
        );
    }
    let sends = |sender: Sender, key: &'static str, node: &Node, host: &str| {
        let name = named(node, key).filter(|name| !known.contains(name))?;
        let host = node.get(&[host]).and_then(Node::as_str);
        Some(ForeignVariable {
            sender,
            key,
            name,
            host: host.unwrap_or("?").to_owned(),
            at: node.at,
        })
    };
    let mut out = Vec::new();
    for (i, node) in list(root).iter().enumerate() {
        let all = SENT.iter();
        out.extend(all.filter_map(|key| sends(Sender::Provider(i), key, node, "base_url")));
    }
    let models = root.get(&["models"]).and_then(Node::as_table);
    for (name, node) in models.into_iter().flatten() {
        let all = SENT.iter();
        let sender = || Sender::Model(name.clone());
        out.extend(all.filter_map(|key| sends(sender(), key, node, "api_base_url")));
    }
    out
}

/// Takes out of a project's file what needs trust. `below` is what the layers under it say.
pub fn take_untrusted(root: &mut Node, below: &Node, places: &Places) -> Taken {
    let mut taken = Taken::default();
    for path in NEEDS_TRUST {
        taken.take(root, path);
    }
    for (path, order, default) in ORDERED {
        let rank = |node: &Node| order.iter().position(|word| *word == word_of(node));
        let floor = below.get(path).and_then(rank).unwrap_or(default);
        let asked = root.get(path).and_then(rank);
        if asked.is_some_and(|asked| asked < floor) {
            taken.take(root, path);
        }
    }
    take_paths(root, below, places, &mut taken);
    take_tools(root, below, &mut taken);
    taken
}

/// Settings that need trust, each under its key.
#[derive(Default)]
pub struct Taken(Vec<(String, Node)>);

impl Taken {
    fn take(&mut self, root: &mut Node, path: &[&str]) {
        if let Some(node) = root.take(path) {
            self.0.push((path.join("."), node));
        }
    }

    /// As items: each element of a list and each named table is one of its own.
    pub fn items(&self, sources: &Sources, places: &Places) -> Vec<Item> {
        let mut out = Vec::new();
        for (key, node) in &self.0 {
            let empty = |node: &Node| node.as_array().is_some_and(<[Node]>::is_empty);
            if ADDING.contains(&key.as_str()) && empty(node) {
                continue;
            }
            if FILES.contains(&key.as_str())
                && let Some(named) = NamedFile::of(node, places)
            {
                let (shown, normal) = named.describe(&node_text("", node));
                let place = sources.place(node.at);
                out.push(Item::new(key.clone(), place, shown, &normal));
                continue;
            }
            let mut add = |name: Option<&str>, node: &Node| {
                let place = sources.place(node.at);
                match key.as_str() {
                    PLUGINS => out.extend(variable_items(key, name, node, &place)),
                    ENV_PASS => return out.push(passed_item(key, node, place)),
                    _ => {}
                }
                out.push(item(key, name, node, place));
            };
            match &node.value {
                Value::Array(items) if !items.is_empty() => {
                    items.iter().for_each(|item| add(item.name(), item));
                }
                Value::Table(table) if !table.is_empty() => {
                    table.iter().for_each(|(name, item)| add(Some(name), item));
                }
                Value::String(_)
                | Value::Integer(_)
                | Value::Float(_)
                | Value::Boolean(_)
                | Value::Datetime(_)
                | Value::Array(_)
                | Value::Table(_) => add(None, node),
            }
        }
        out
    }
}

/// A file of the project that a setting names.
struct NamedFile {
    /// Where it really lies, if a link of the project leads there.
    target: Option<String>,
    /// A hash of what it holds; none of a file elsewhere.
    content: Option<String>,
}

impl NamedFile {
    /// None for a program on PATH and for a path outside of the project that is written as one.
    fn of(node: &Node, places: &Places) -> Option<Self> {
        let written = node
            .as_str()
            .filter(|path| path.contains(['/', '.', '\\']))?;
        let path = absolute(written, &places.root, places.user_home.as_deref());
        let real = real(&path);
        let is_linked = path.starts_with(&places.root) && real != path;
        let target = is_linked.then(|| places.shown(&real));
        let file = Some(&path).filter(|path| is_inside(path, &places.root));
        let content = file.and_then(|file| content(file));
        (target.is_some() || content.is_some()).then_some(Self { target, content })
    }

    /// For the question, and for the hash that an answer is bound to.
    fn describe(&self, written: &str) -> (String, String) {
        let (mut shown, mut normal) = (written.to_owned(), written.to_owned());
        if let Some(target) = &self.target {
            shown.push_str(&format!(" -> {target}"));
            normal.push_str(&format!(" -> {target}"));
        }
        if let Some(content) = &self.content {
            shown.push_str(&format!(
                " (content {})",
                content.get(..8).unwrap_or_default()
            ));
            normal.push_str(&format!(" {content}"));
        }
        (shown, normal)
    }
}

fn content(file: &Path) -> Option<String> {
    let read = read_unchanged(file, MAX_CONTENT, &ostler_files::Border::none()).ok()?;
    Some(format!("{}-{}", hash(&[&read.bytes]), read.stat.len))
}

/// The item that an allow rule of a project's file is.
pub fn allow_item(rule: &str, place: Place) -> Item {
    item("permissions.allow", None, &text_node(rule), place)
}

/// What a project brings beside its configuration that would run. A new kind of file is gathered here.
pub fn file_items(places: &Places) -> Vec<Item> {
    let servers = SERVERS.iter().flat_map(|file| server_items(file, places));
    let servers = servers.chain(hooks::items(places));
    servers.chain(crate::agents::items(places)).collect()
}

fn server_items(file: &str, places: &Places) -> Vec<Item> {
    let path = places.root.join(file);
    let name = places.shown(&path);
    let place = |position| Place {
        name: name.clone(),
        position,
    };
    let text = match read_text(&path, &name) {
        Ok(None) => return Vec::new(),
        Ok(Some(text)) => text,
        Err(report) => {
            let what = file.to_owned();
            let normal = report.title.to_string();
            return vec![Item::new(what, place(None), report.title, &normal)];
        }
    };
    let json = serde_json::from_str(&text).ok().and_then(from_json);
    let servers = json.as_ref().and_then(|json| json.get(&["mcpServers"]));
    let Some(servers) = servers.and_then(Node::as_table) else {
        let what = file.to_owned();
        return vec![Item::new(
            what,
            place(None),
            Why::from(Word::PlugNoServers),
            &text,
        )];
    };
    let all = |(server, settings): (&String, &Node)| {
        let quoted = serde_json::Value::from(server.as_str()).to_string();
        let at = place(text.find(&quoted).map(|at| position(&text, at)));
        let mut items = variable_items(file, Some(server), settings, &at);
        items.push(item(file, Some(server), settings, at));
        items
    };
    servers.iter().flat_map(all).collect()
}

/// Each variable that a server of a project takes from the person, and which program or host gets it.
fn variable_items(key: &str, name: Option<&str>, server: &Node, place: &Place) -> Vec<Item> {
    let mut taken = BTreeSet::new();
    gather_variables(server, &mut taken);
    let text = |field: &str| server.get(&[field]).and_then(Node::as_str);
    let to = match text("url") {
        Some(url) => node_text("", &text_node(url)),
        None => {
            let args = server.get(&["args"]).and_then(Node::as_array);
            let args = args.unwrap_or(&[]).iter().filter_map(Node::as_str);
            let words: Vec<&str> = text("command").into_iter().chain(args).collect();
            format!("`{}`", words.join(" "))
        }
    };
    let mut what = key.to_owned();
    if let Some(name) = name {
        push_key(&mut what, name);
    }
    let one = |variable: String| {
        let text = phrase(Word::TrustTakes, &[&variable, &to]);
        let normal = format!("variable {variable:?} to {to:?}");
        let what = format!("{what} ${{{variable}}}");
        Item::new(what, place.clone(), text, &normal)
    };
    taken.into_iter().map(one).collect()
}

fn gather_variables(node: &Node, out: &mut BTreeSet<String>) {
    match &node.value {
        Value::String(text) => out.extend(variables::names(text).map(str::to_owned)),
        Value::Array(items) => items.iter().for_each(|item| gather_variables(item, out)),
        Value::Table(table) => table.values().for_each(|item| gather_variables(item, out)),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
    }
}

/// A variable that commands, hooks and servers would get.
fn passed_item(key: &str, node: &Node, place: Place) -> Item {
    let text = phrase(Word::TrustPasses, &[&node.as_str().unwrap_or_default()]);
    Item::new(key.to_owned(), place, text, &normal_of(None, node))
}

/// Takes out the variables that a project passes on: a run that is trusted as a whole has looked at no single variable.
pub fn drop_passed(root: &mut Node, sources: &Sources, notices: &mut Vec<Notice>) {
    let path: Vec<&str> = ENV_PASS.split('.').collect();
    if let Some(node) = root.take(&path) {
        let text = Why::from(Word::CfgForeignPass);
        notices.push(Notice::warning(sources.place(node.at), text));
    }
}

/// The workspace can only become smaller, links included.
fn take_paths(root: &mut Node, below: &Node, places: &Places, taken: &mut Taken) {
    let inside = |node: &Node| {
        node.as_str().is_some_and(|written| {
            let path = absolute(written, &places.root, places.user_home.as_deref());
            is_inside(&path, &places.root)
        })
    };
    let path = ["sandbox", "workspace_root"];
    let may = below.get(&path).is_none();
    if root.get(&path).is_some_and(|node| !may || !inside(node)) {
        taken.take(root, &path);
    }
}

/// Tools can be taken away, not given back.
fn take_tools(root: &mut Node, below: &Node, taken: &mut Taken) {
    let enabled = ["tools", "enabled"];
    if below.get(&enabled).is_some() {
        taken.take(root, &enabled);
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
            taken.0.push((format!("tools.{name}"), node.clone()));
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
