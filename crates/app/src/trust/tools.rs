//! Where it is kept which tools of a server the person trusts to read only: the file that has the server. A project that
//! was trusted before stays so, because the change is the person's own. It decides nothing.

use super::ConfigFiles;
use crate::boot::Boot;
use crate::flags::RuleLayer;
use ostler_config::diagnose::Paint;
use ostler_config::layers::Loaded;
use ostler_config::plugins::{Configured, PluginConfig, Scope, gather};
use ostler_config::project::SERVERS;
use ostler_config::rules::{ToolChange, trust_tools_in_json};
use ostler_config::trust::{Answer, Approval, Book, Item, Record, State};
use ostler_mcp::{ToolTrust, Trust};
use ostler_wire::{Say, Word};
use std::path::PathBuf;

pub struct TrustedTools {
    files: ConfigFiles,
    /// Which file each server stands in, and its name there.
    servers: Vec<(String, Scope, String)>,
}

impl std::fmt::Debug for TrustedTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TrustedTools({:?})", self.servers)
    }
}

impl TrustedTools {
    pub fn new(boot: &Boot) -> Self {
        let one = |one: &Configured| {
            let (name, written) = (one.plugin.name.clone(), one.written_name().to_owned());
            (name, one.scope, written)
        };
        // Nothing is kept of what an editor brings.
        let kept = boot.servers.iter();
        let kept = kept.filter(|one| one.scope != Scope::Editor);
        Self {
            files: ConfigFiles::new(boot),
            servers: kept.map(one).collect(),
        }
    }

    fn find(&self, server: &str) -> Option<(Scope, &str)> {
        let mut all = self.servers.iter();
        all.find(|(name, ..)| name == server)
            .map(|(_, scope, written)| (*scope, written.as_str()))
    }

    fn path(&self, scope: Scope) -> PathBuf {
        let [project, local] = SERVERS;
        let places = &self.files.places;
        match scope {
            // Nothing is kept of what an editor brings: it is not in the list.
            Scope::User | Scope::Editor => self.files.path(RuleLayer::User),
            Scope::Project => self.files.path(RuleLayer::Project),
            Scope::UserJson => places.home.join("mcp.json"),
            Scope::ProjectJson => places.root.join(project),
            Scope::LocalJson => places.root.join(local),
        }
    }

    fn shown(&self, scope: Scope) -> String {
        self.files.shown(&self.path(scope))
    }

    fn write(&self, scope: Scope, change: ToolChange<'_>) -> Result<(), String> {
        let layer = match scope {
            Scope::User | Scope::Editor => RuleLayer::User,
            Scope::Project => RuleLayer::Project,
            Scope::UserJson | Scope::ProjectJson | Scope::LocalJson => {
                let (path, shown) = (self.path(scope), self.shown(scope));
                let changed = trust_tools_in_json(&path, &shown, change);
                return changed.map_err(|why| why.say(self.files.language));
            }
        };
        let edited = self.files.edit(layer, |file| file.trust_tools(change));
        edited.map_err(|error| error.render(Paint::Plain, self.files.language))
    }

    fn load(&self, approval: Approval<'_>) -> Result<Loaded, String> {
        let loaded = self.files.load(approval);
        loaded.map_err(|error| error.render(Paint::Plain, self.files.language))
    }

    /// Writes into a project's file, and into the book that the person knows its new content.
    fn write_in_project(&self, scope: Scope, change: ToolChange<'_>) -> Result<(), String> {
        let language = self.files.language;
        let path = self.files.places.trust();
        let mut book = Book::load(&path);
        let record = book.record(&self.files.places.root).cloned();
        let before = self.load(Approval::Recorded(record.as_ref()))?;
        let record = record.filter(|_| before.workspace.state == State::Trusted);
        let record = record.ok_or_else(|| language.say(Word::TrustNotForGood))?;
        self.write(scope, change)?;
        let after = self.load(Approval::ThisRun)?;
        let is_new = |item: &&Item| !record.items.iter().any(|known| known.hash == item.hash);
        let new = after.workspace.items.iter().filter(is_new).count();
        // Something else that is new is somebody else's, and has to be looked at.
        if new > 1 || self.servers_of(&before) != self.servers_of(&after) {
            return Err(language.say(Word::TrustChangedMeanwhile).into());
        }
        let known = Record::new(
            Answer::Trusted,
            record.since,
            &after.workspace.items,
            language,
        );
        let set = book.set(&path, &self.files.places.root, Some(known));
        set.map(drop).map_err(|error| error.say(language))
    }

    /// All there are, but for which of their tools are trusted.
    fn servers_of(&self, loaded: &Loaded) -> Vec<PluginConfig> {
        let all = gather(loaded, &self.files.places, &mut Vec::new()).into_iter();
        all.map(|one| PluginConfig {
            trusted_read_only_tools: Vec::new(),
            ..one.plugin
        })
        .collect()
    }
}

impl ToolTrust for TrustedTools {
    fn place(&self, server: &str) -> Option<String> {
        Some(self.shown(self.find(server)?.0))
    }

    fn set(&self, server: &str, tools: &[String], trust: Trust) -> Result<String, String> {
        let language = self.files.language;
        let (scope, server) = self
            .find(server)
            .ok_or_else(|| language.say(Word::TrustNoFile))?;
        let _lock = self.files.lock().map_err(|e| e.say(language))?;
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
