//! The table of agents that we know: where each keeps what, and in which form. A new one is rows of `data/agents.toml`.

use crate::files::Places;
use crate::item::Kind;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

static TABLE: LazyLock<Table> =
    LazyLock::new(|| toml::from_str(include_str!("data/agents.toml")).unwrap_or_default());

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    agents: Vec<Agent>,
    /// Names in rules of others, and the family of ours.
    rule_names: BTreeMap<String, String>,
    /// Moments of hooks, and ours.
    moments: BTreeMap<String, String>,
}

/// One agent of another maker.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// As it is typed.
    pub name: String,
    pub title: String,
    /// The version whose files were read; empty where only the documentation was.
    #[serde(default)]
    pub tested: String,
    /// Its folders, by the names that the rows below use.
    #[serde(default)]
    pub folders: BTreeMap<String, Folder>,
    #[serde(default)]
    pub settings: Vec<SettingsFile>,
    #[serde(default)]
    pub prose: Vec<Prose>,
    #[serde(default)]
    pub sessions: Vec<SessionFiles>,
    /// Words that texts begin with which the agent, not the person, said.
    #[serde(default)]
    pub not_said: Vec<String>,
    /// How its shell tells the exit code, and what stands before the output.
    #[serde(default)]
    pub exit_marks: Vec<String>,
    #[serde(default)]
    pub output_marks: Vec<String>,
}

/// A folder: what a variable names, else the usual one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Folder {
    #[serde(default)]
    pub var: Option<String>,
    /// Below what the variable names.
    #[serde(default)]
    pub below: String,
    pub usual: String,
}

/// A file of settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingsFile {
    pub file: String,
    #[serde(default)]
    pub model: Option<ModelAt>,
    #[serde(default)]
    pub providers: Option<ProvidersAt>,
    /// Keys below which servers stand.
    #[serde(default)]
    pub servers: Vec<String>,
    #[serde(default)]
    pub rules: Vec<RulesAt>,
    #[serde(default)]
    pub hooks: Option<HooksAt>,
    /// Settings that loosen or have no like here, with the word that says so.
    #[serde(default)]
    pub left: Vec<String>,
}

/// Where a model stands.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelAt {
    pub at: String,
    /// The provider of ours that models without one belong to.
    #[serde(default)]
    pub provider: String,
    /// The key that names the provider.
    #[serde(default)]
    pub provider_at: String,
    /// What a model of this provider begins with; others are short names that only the agent knows.
    #[serde(default)]
    pub begins: String,
}

/// Where providers stand.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProvidersAt {
    pub at: String,
    /// The key of theirs, and the one of `[[providers]]`. `key` finds out how a key is named.
    pub fields: BTreeMap<String, String>,
    /// What a kind is called there and here.
    #[serde(default)]
    pub kinds: BTreeMap<String, String>,
    /// The kind of those that name none.
    #[serde(default)]
    pub kind: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RulesAt {
    pub at: String,
    pub form: RuleForm,
}

/// How rules are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleForm {
    /// `allow`, `ask` and `deny`, each a list of `Tool(spec)`.
    Lists,
    /// Tools with an answer, or with patterns that have one each.
    Answers,
    /// A list of tools that are allowed.
    Allowed,
    /// A list of tools that are left out.
    Excluded,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HooksAt {
    pub at: String,
    pub form: HookForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookForm {
    /// Moments with groups of a matcher and commands.
    Groups,
    /// A list of tables like ours.
    Tables,
    /// A program that is told about each turn: there is no like here.
    Program,
}

/// Files of prose.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prose {
    pub kind: Kind,
    pub files: String,
    /// We read them where they are.
    #[serde(default)]
    pub in_place: bool,
}

/// Files of sessions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionFiles {
    pub files: String,
    pub form: SessionForm,
}

/// How sessions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionForm {
    /// Lines with a message of blocks each, linked by `parentUuid`.
    Blocks,
    /// Lines with an item of a response each.
    Items,
    /// Lines that set, add or replace messages.
    Changes,
    /// Lines linked by `parentId`.
    Tree,
    /// A database of sessions, messages and parts.
    Parts,
    /// Compressed frames of events.
    Frames,
    /// Messages of the chat protocol, one a line or all in one document.
    Chat,
    /// Lines like ours.
    Log,
    /// A database of sessions and messages whose content is a list of requests and responses.
    Requests,
}

/// Every agent that we know, in the order of the table.
pub fn agents() -> &'static [Agent] {
    &TABLE.agents
}

pub fn agent(name: &str) -> Option<&'static Agent> {
    agents().iter().find(|agent| agent.name == name)
}

pub(crate) fn rule_name(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    TABLE.rule_names.get(&lower).map(String::as_str)
}

pub(crate) fn moment(name: &str) -> Option<&'static str> {
    TABLE.moments.get(name).map(String::as_str)
}

impl Agent {
    /// Where a path of its rows is, on this machine.
    pub fn path(&self, written: &str, places: &Places) -> PathBuf {
        let (first, rest) = written.split_once('/').unwrap_or((written, ""));
        let name = first.strip_prefix('{').and_then(|f| f.strip_suffix('}'));
        let base = match name.and_then(|name| self.folders.get(name)) {
            Some(folder) => folder.path(places),
            None => return below_home(written, places),
        };
        match rest {
            "" => base,
            rest => base.join(rest),
        }
    }

    /// Whether something of it is here.
    pub fn is_here(&self, places: &Places) -> bool {
        let folders = self.folders.values();
        let mut files = self.settings.iter().map(|one| self.path(&one.file, places));
        folders.into_iter().any(|f| f.path(places).is_dir()) || files.any(|file| file.is_file())
    }
}

impl Folder {
    fn path(&self, places: &Places) -> PathBuf {
        let named = self.var.as_ref().and_then(|var| places.env.get(var));
        let named = named.filter(|value| Path::new(value).is_absolute());
        match named {
            Some(value) => Path::new(value).join(&self.below),
            None => below_home(&self.usual, places),
        }
    }
}

fn below_home(written: &str, places: &Places) -> PathBuf {
    match written.strip_prefix("~/") {
        Some(rest) => places.user_home.join(rest),
        None => PathBuf::from(written),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read_and_names_each_agent_once() {
        let table: Table = toml::from_str(include_str!("data/agents.toml")).unwrap();
        let names: Vec<&str> = table.agents.iter().map(|a| a.name.as_str()).collect();
        for name in [
            "claude", "codex", "opencode", "gemini", "pi", "reasonix", "buddy", "zdx", "three",
            "crush", "goose",
        ] {
            assert_eq!(names.iter().filter(|n| **n == name).count(), 1, "{name}");
        }
        for agent in &table.agents {
            let rows = agent.settings.iter().map(|one| &one.file);
            let rows = rows.chain(agent.prose.iter().map(|one| &one.files));
            for row in rows.chain(agent.sessions.iter().map(|one| &one.files)) {
                let first = row.split('/').next().unwrap_or_default();
                let known = first
                    .strip_prefix('{')
                    .and_then(|f| f.strip_suffix('}'))
                    .is_none_or(|name| agent.folders.contains_key(name));
                assert!(known, "{}: {row}", agent.name);
            }
        }
    }

    #[test]
    fn a_variable_moves_a_folder() {
        let mut places = Places {
            user_home: "/home/ann".into(),
            ..Places::default()
        };
        let codex = agent("codex").unwrap();
        let file = "{home}/config.toml";
        assert_eq!(
            codex.path(file, &places),
            Path::new("/home/ann/.codex/config.toml")
        );
        places.env.insert("CODEX_HOME".into(), "/else".into());
        assert_eq!(codex.path(file, &places), Path::new("/else/config.toml"));
        places.env.insert("CODEX_HOME".into(), "relative".into());
        assert_eq!(
            codex.path(file, &places),
            Path::new("/home/ann/.codex/config.toml")
        );
    }
}
