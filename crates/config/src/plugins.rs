//! Servers of others (MCP), as TOML and the JSON files of the field have them: read, joined, and where each came from.
//! Variables in them are expanded elsewhere.

pub use crate::schema::{PluginConfig, PluginKind, PluginOauth, PluginProvides, PluginSampling};
use crate::server_names::free_name;
use crate::text::phrase;
use ostler_mcp::server_name;
use ostler_wire::Word;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::diagnose::Notice;
use crate::layers::Loaded;
use crate::paths::Places;
use crate::project::SERVERS;
use crate::read::read_text;
use crate::tree::{Layer, Place};

/// Of one file; nobody has more.
const MAX_SERVERS: usize = 256;

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
    /// The editor that opened the session.
    Editor,
}

impl Scope {
    pub fn name(self) -> &'static str {
        match self {
            Self::User | Self::UserJson => "user",
            Self::Project | Self::ProjectJson => "project",
            Self::LocalJson => "local",
            Self::Editor => "editor",
        }
    }

    /// Whether a repository says it, and not the person. What an editor brings may come from the settings of a repository.
    pub fn is_of_project(self) -> bool {
        match self {
            Self::User | Self::UserJson => false,
            Self::Project | Self::ProjectJson | Self::LocalJson | Self::Editor => true,
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

/// Adds what an editor brings for one session.
pub fn add_brought(servers: &mut Vec<Configured>, brought: &[PluginConfig]) {
    if brought.is_empty() {
        return;
    }
    let brought = brought.iter().take(MAX_SERVERS).map(|plugin| Configured {
        plugin: plugin.clone(),
        scope: Scope::Editor,
        place: Scope::Editor.name().into(),
        written: None,
    });
    servers.extend(brought);
    set_apart(servers);
    servers.sort_by(|a, b| a.plugin.name.cmp(&b.plugin.name));
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
