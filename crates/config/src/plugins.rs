//! Servers of others (MCP), as TOML and the JSON files of the field have them: read, joined, and where each came from.
//! Variables in them are expanded elsewhere.

use crate::text::phrase;
use ostler_mcp::server_name;
use ostler_wire::Word;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diagnose::Notice;
use super::layers::{Loaded, read_text};
use super::paths::Places;
use super::project::SERVERS;
use super::tree::{Layer, Node, Place, Value};

/// Of one file; nobody has more.
const MAX_SERVERS: usize = 256;

/// A server of others. Its tools are called `mcp__<name>__<tool>`.
// tidy: plain data
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginConfig {
    /// Part of the names of its tools.
    #[serde(default)]
    pub name: String,
    /// tools: it speaks MCP; provider: it offers models, as a program that speaks lines of JSON.
    #[serde(default)]
    pub provides: PluginProvides,
    /// stdio: a program; http: an address. Unset: whichever of `command` and `url` is given.
    #[serde(default, rename = "type")]
    pub kind: Option<PluginKind>,
    /// The program. `${VAR}` and `${VAR:-default}` are expanded here and in args, env, url and headers.
    #[serde(default)]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables beside those that commands get.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The folder it starts in; one of the project means that it runs in the sandbox. Unset: your home folder, or the root
    /// for one that runs in the sandbox or has `sandbox = false`.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The address of a server that is reached over HTTP.
    #[serde(default)]
    pub url: Option<String>,
    /// HTTP headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A command that prints more headers, as a JSON object.
    #[serde(default, alias = "headersHelper")]
    pub headers_helper: Option<String>,
    /// Only these tools, as the server calls them. Empty means all.
    #[serde(default, alias = "enabledTools")]
    pub enabled_tools: Vec<String>,
    /// All but these.
    #[serde(default, alias = "disabledTools")]
    pub disabled_tools: Vec<String>,
    /// How long a call may go without a sign of life, over `[tools] mcp_call_timeout_seconds`; 0 means without limit.
    #[serde(default)]
    pub call_timeout_seconds: Option<u64>,
    /// The same for single tools, as the server calls them.
    #[serde(default)]
    pub tool_timeout_seconds: BTreeMap<String, u64>,
    /// Tools that you know to read only: they run unasked, in plan mode too.
    #[serde(default)]
    pub trusted_read_only_tools: Vec<String>,
    /// Whether it may have a model's word at your cost: ask (when you say so, each time), allow or deny.
    #[serde(default)]
    pub sampling: PluginSampling,
    /// Whether the program runs in the sandbox that commands run in. Unset: a project's does, and one that starts in, or
    /// names, a place which commands may change; with false, yours does not even then.
    #[serde(default)]
    pub sandbox: Option<bool>,
    /// Left out, without being forgotten.
    #[serde(default)]
    pub disabled: bool,
    /// How `ostler mcp login` registers, where the server cannot tell.
    #[serde(default)]
    pub oauth: Option<PluginOauth>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PluginProvides {
    #[default]
    Tools,
    Provider,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PluginSampling {
    #[default]
    Ask,
    Allow,
    Deny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PluginKind {
    Stdio,
    #[serde(
        alias = "streamable-http",
        alias = "streamable_http",
        alias = "streamableHttp"
    )]
    Http,
    /// The transport of old; its servers have an `http` address today.
    Sse,
}

impl PluginKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// An application that was registered by hand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PluginOauth {
    #[serde(alias = "clientId")]
    pub client_id: Option<String>,
    #[serde(alias = "clientSecret")]
    pub client_secret: Option<String>,
    pub scopes: Vec<String>,
    /// A page that says who we are, for issuers that read it instead of registering us.
    #[serde(alias = "clientMetadataUrl")]
    pub client_metadata_url: Option<String>,
    /// The port on this machine that the browser comes back to.
    #[serde(alias = "callbackPort")]
    pub callback_port: Option<u16>,
}

/// Which file a server stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// `[[plugins]]` of the person's file.
    User,
    /// `[[plugins]]` of the project's file.
    Project,
    /// `<home>/mcp.json`.
    UserJson,
    /// `.mcp.json`.
    ProjectJson,
    /// `.ostler/mcp.local.json`.
    LocalJson,
}

impl Scope {
    pub fn name(self) -> &'static str {
        match self {
            Self::User | Self::UserJson => "user",
            Self::Project | Self::ProjectJson => "project",
            Self::LocalJson => "local",
        }
    }

    /// Whether a repository says it, and not the person.
    pub fn is_of_project(self) -> bool {
        match self {
            Self::User | Self::UserJson => false,
            Self::Project | Self::ProjectJson | Self::LocalJson => true,
        }
    }
}

/// A server, and who says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Configured {
    pub plugin: PluginConfig,
    pub scope: Scope,
    pub place: String,
    /// What a project's file calls it, where one of that name was there before.
    pub written: Option<String>,
}

impl Configured {
    /// Its name in the file.
    pub fn written_name(&self) -> &str {
        self.written.as_deref().unwrap_or(&self.plugin.name)
    }
}

/// `.mcp.json` and its like.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerFile {
    #[serde(rename = "mcpServers")]
    pub servers: serde_json::Map<String, serde_json::Value>,
    #[serde(flatten)]
    pub rest: serde_json::Map<String, serde_json::Value>,
}

/// Every server of this run, by name. The person's own and the project's are two lists, each without two of one name; in
/// either TOML wins over JSON, and of the files the nearest.
pub fn gather(loaded: &Loaded, places: &Places, notices: &mut Vec<Notice>) -> Vec<Configured> {
    let mut out: Vec<Configured> = Vec::new();
    for plugin in &loaded.config.plugins {
        let (layer, place) = loaded.plugin_place(&plugin.name);
        out.push(Configured {
            plugin: plugin.clone(),
            scope: match layer {
                Layer::Project => Scope::Project,
                Layer::Default | Layer::User | Layer::Local | Layer::Environment | Layer::Flag => {
                    Scope::User
                }
            },
            place: place.map_or_else(String::new, |place| place.to_string()),
            written: loaded.written_name(&plugin.name),
        });
    }
    let [project, local] = SERVERS;
    let files = [
        (Scope::LocalJson, places.root.join(local)),
        (Scope::ProjectJson, places.root.join(project)),
        (Scope::UserJson, places.home.join("mcp.json")),
    ];
    for (scope, path) in files {
        if scope.is_of_project() && !loaded.workspace.is_trusted() {
            continue;
        }
        let name = places.shown(&path);
        let place = Place {
            name: name.clone(),
            position: None,
        };
        let text = match read_text(&path, &name) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(report) => {
                notices.push(Notice::warning(place, report.title));
                continue;
            }
        };
        let file: ServerFile = match serde_json::from_str(&text) {
            Ok(file) => file,
            Err(error) => {
                notices.push(Notice::warning(place, phrase(Word::PlugNoList, &[&error])));
                continue;
            }
        };
        for (server, value) in file.servers.into_iter().take(MAX_SERVERS) {
            match serde_json::from_value::<PluginConfig>(value) {
                Ok(plugin) => out.push(Configured {
                    plugin: PluginConfig {
                        name: server,
                        ..plugin
                    },
                    scope,
                    place: name.clone(),
                    written: None,
                }),
                Err(error) => {
                    let text = phrase(Word::PlugLeft, &[&server, &error]);
                    notices.push(Notice::warning(place.clone(), text));
                }
            }
        }
    }
    set_apart(&mut out);
    out.sort_by(|a, b| a.plugin.name.cmp(&b.plugin.name));
    out
}

/// Names each server so that no two share the names of their tools. The person's own go first, because their rules speak
/// of them: a project's server that would be taken for one of them gets another name, or gives way to one of the person's
/// file that is there to replace it.
fn set_apart(servers: &mut Vec<Configured>) {
    let is_own = |one: &Configured| !one.scope.is_of_project();
    let replaces = |one: &Configured| one.scope == Scope::User;
    let replaced: BTreeSet<String> = servers
        .iter()
        .filter(|one| replaces(one))
        .map(|one| one.plugin.name.clone())
        .collect();
    let mut seen = BTreeSet::new();
    servers.retain(|one| {
        let name = &one.plugin.name;
        let gives_way = !replaces(one) && replaced.contains(name);
        !gives_way && seen.insert((is_own(one), name.clone()))
    });
    let shown = |one: &Configured| server_name(&one.plugin.name);
    let mut taken: BTreeSet<String> = servers.iter().filter(|o| is_own(o)).map(shown).collect();
    let mut projects: Vec<&mut Configured> = servers.iter_mut().filter(|o| !is_own(o)).collect();
    projects.sort_by(|a, b| a.plugin.name.cmp(&b.plugin.name));
    for one in projects {
        if taken.insert(server_name(&one.plugin.name)) {
            continue;
        }
        let name = free_name(&one.plugin.name, |name| taken.contains(name));
        taken.insert(server_name(&name));
        one.written
            .get_or_insert(std::mem::replace(&mut one.plugin.name, name));
    }
}

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
