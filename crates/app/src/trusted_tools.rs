//! Where it is kept which tools of a server the person trusts to read only: the file that has the server. A project that
//! was trusted before stays so, because the change is the person's own. It decides nothing.

use crate::boot::{self, Boot};
use crate::config::edit::ConfigFile;
use crate::config::files;
use crate::config::layers::Loaded;
use crate::config::paths::{Env, Places};
use crate::config::plugins::{Configured, PluginConfig, Scope, gather};
use crate::config::project::SERVERS;
use crate::config::rules::{ToolChange, trust_tools_in_json};
use crate::config::tree::Layer;
use crate::config::trust::{Answer, Approval, Book, Item, Record, State};
use crate::flags::Global;
use crate::speech::{language, spoken};
use ostler_engine::mcp::{ToolTrust, Trust};
use ostler_wire::{Say, Word};
use std::path::PathBuf;

pub struct TrustedTools {
    global: Global,
    env: Env,
    places: Places,
    /// Which file each server stands in.
    servers: Vec<(String, Scope)>,
}

impl std::fmt::Debug for TrustedTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TrustedTools({:?})", self.servers)
    }
}

impl TrustedTools {
    pub fn new(boot: &Boot) -> Self {
        let one = |one: &Configured| (one.plugin.name.clone(), one.scope);
        Self {
            global: boot.global.clone(),
            env: boot.env.clone(),
            places: boot.places.clone(),
            servers: boot.servers.iter().map(one).collect(),
        }
    }

    fn scope(&self, server: &str) -> Option<Scope> {
        let mut all = self.servers.iter();
        all.find(|(name, _)| name == server)
            .map(|(_, scope)| *scope)
    }

    fn path(&self, scope: Scope) -> PathBuf {
        let [project, local] = SERVERS;
        match (scope, &self.global.config) {
            (Scope::User, Some(path)) => self.places.cwd.join(path),
            (Scope::User, None) => self.places.user_config(),
            (Scope::Project, _) => self.places.project_config(),
            (Scope::UserJson, _) => self.places.home.join("mcp.json"),
            (Scope::ProjectJson, _) => self.places.root.join(project),
            (Scope::LocalJson, _) => self.places.root.join(local),
        }
    }

    fn shown(&self, scope: Scope) -> String {
        crate::print::printable(&self.places.shown(&self.path(scope)))
    }

    fn write(&self, scope: Scope, change: ToolChange<'_>) -> Result<(), String> {
        let path = self.path(scope);
        let layer = match scope {
            Scope::User => Layer::User,
            Scope::Project => Layer::Project,
            Scope::UserJson | Scope::ProjectJson | Scope::LocalJson => {
                return trust_tools_in_json(&path, &self.shown(scope), change);
            }
        };
        let tools: Vec<&str> = ostler_engine::tools::all_names().collect();
        let file = ConfigFile {
            path: &path,
            layer,
            places: &self.places,
            tools: &tools,
        };
        file.trust_tools(change).map_err(|error| error.to_string())
    }

    fn load(&self, approval: Approval<'_>) -> Result<Loaded, String> {
        let loaded = boot::load(&self.global, (&self.env, &self.places), approval);
        loaded.map_err(|error| error.to_string())
    }

    /// Writes into a project's file, and into the book that the person knows its new content.
    fn write_in_project(&self, scope: Scope, change: ToolChange<'_>) -> Result<(), String> {
        let path = self.places.trust();
        let mut book = Book::load(&path);
        let record = book.record(&self.places.root).cloned();
        let before = self.load(Approval::Recorded(record.as_ref()))?;
        let record = record.filter(|_| before.workspace.state == State::Trusted);
        let record = record.ok_or_else(|| spoken(Word::TrustNotForGood))?;
        self.write(scope, change)?;
        let after = self.load(Approval::ThisRun)?;
        let is_new = |item: &&Item| !record.items.iter().any(|known| known.hash == item.hash);
        let new = after.workspace.items.iter().filter(is_new).count();
        // Something else that is new is somebody else's, and has to be looked at.
        if new > 1 || self.servers_of(&before) != self.servers_of(&after) {
            return Err(spoken(Word::TrustChangedMeanwhile).into());
        }
        let known = Record::new(Answer::Trusted, record.since, &after.workspace.items);
        let set = book.set(&path, &self.places.root, Some(known));
        set.map(drop).map_err(|error| error.to_string())
    }

    /// All there are, but for which of their tools are trusted.
    fn servers_of(&self, loaded: &Loaded) -> Vec<PluginConfig> {
        let all = gather(loaded, &self.places, &mut Vec::new()).into_iter();
        all.map(|one| PluginConfig {
            trusted_read_only_tools: Vec::new(),
            ..one.plugin
        })
        .collect()
    }
}

impl ToolTrust for TrustedTools {
    fn place(&self, server: &str) -> Option<String> {
        Some(self.shown(self.scope(server)?))
    }

    fn set(&self, server: &str, tools: &[String], trust: Trust) -> Result<String, String> {
        let scope = self
            .scope(server)
            .ok_or_else(|| spoken(Word::TrustNoFile))?;
        let _lock = files::lock(&self.places.home).map_err(|e| e.say(language()))?;
        let change = ToolChange {
            server,
            tools,
            trusted: trust == Trust::Yes,
        };
        match scope.is_of_project() {
            true => self.write_in_project(scope, change)?,
            false => self.write(scope, change)?,
        }
        Ok(self.shown(scope))
    }
}
