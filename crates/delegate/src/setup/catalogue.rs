//! The agents that are known: their command lines, what their output means, what they need. A table of data; no agent is
//! named in code.

mod rules;

pub use rules::{Conditions, Emit, JsonPath, Rule, holds, text_of};

use super::{Adapter, Persona, StateFolder};
use crate::kind::ToolKind;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const ADAPTERS: &str = include_str!("catalogue/adapters.toml");
const PERSONAS: &str = include_str!("catalogue/personas.toml");

// A table that cannot be read is an empty one: the tests below read both.
static KNOWN: LazyLock<Catalogue> = LazyLock::new(|| toml::from_str(ADAPTERS).unwrap_or_default());
static KNOWN_PERSONAS: LazyLock<BTreeMap<String, Persona>> =
    LazyLock::new(|| toml::from_str(PERSONAS).unwrap_or_default());

/// The name of our own agent, as a backend.
pub const OWN: &str = "ostler";
/// Begins the name of a backend that is any command that speaks the Agent Client Protocol.
pub const ANY_ACP: &str = "acp:";

#[derive(Debug, Default, Deserialize)]
pub struct Catalogue {
    /// Kinds of work by the names of tools.
    kinds: BTreeMap<String, ToolKind>,
    /// Names in folders of state by which agents find what they run or obey.
    deciding: Vec<String>,
    agents: BTreeMap<String, AgentRow>,
}

/// An agent.
// tidy: plain data
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct AgentRow {
    /// The version that the row is of.
    pub seen: String,
    pub command: String,
    /// Capabilities that it can do without by itself.
    #[serde(default)]
    pub denies: Vec<String>,
    #[serde(flatten)]
    pub adapter: Adapter,
    /// A prompt that begins so goes through stdin.
    #[serde(default)]
    pub stdin_for: Option<String>,
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default)]
    pub passed_env: Vec<String>,
    #[serde(default)]
    pub state: Vec<StateFolder>,
    /// Files with its credentials, hidden from everybody else.
    #[serde(default)]
    pub logins: Vec<String>,
    #[serde(default)]
    pub hosts: Vec<String>,
    #[serde(default)]
    pub events: Vec<Rule>,
    /// Lines of stderr that say why it failed; the first group is the reason.
    #[serde(default)]
    pub failure: Vec<String>,
    /// Lines of stderr that say that it tries again: number, reason.
    #[serde(default)]
    pub retry: Vec<String>,
    /// Lines of stderr that say nothing.
    #[serde(default)]
    pub noise: Vec<String>,
    /// What of its usage is that of the whole session, also where the session is an old one: `usd`, `tokens`.
    #[serde(default)]
    pub cumulative: Vec<String>,
    /// Parts of the error that says that a session is gone.
    #[serde(default)]
    pub lost_session: Vec<String>,
    #[serde(default)]
    pub acp: Option<AcpRow>,
    #[serde(default)]
    pub check: CheckRow,
}

/// How it is started as an agent of the Agent Client Protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct AcpRow {
    pub args_template: Vec<String>,
    /// Messages that are no words of the agent.
    #[serde(default)]
    pub no_message: Vec<String>,
    #[serde(default)]
    pub model: AcpModel,
    /// Options of a model by name, each with the setting of the session that it is; `""`: it is among the arguments.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// What makes a session one that only reads.
    #[serde(default)]
    pub read_only: Vec<AcpSetting>,
    /// What turns its own sandbox off, for a role that may write, run commands and use the network: ours holds it.
    #[serde(default)]
    pub unconfined: Vec<AcpSetting>,
}

/// How an agent of the protocol is told its model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AcpModel {
    /// Its arguments say it.
    #[default]
    Args,
    /// The setting of the session that is called `model`.
    Setting,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum AcpSetting {
    Mode { mode: String },
    Option { option: String, value: String },
}

/// How `doctor` looks at it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct CheckRow {
    /// Arguments that have it say whether it is logged in, by its exit code.
    #[serde(default)]
    pub login_args: Vec<String>,
    #[serde(default)]
    pub login_hint: String,
    #[serde(default)]
    pub install_hint: String,
    #[serde(default)]
    pub sandbox_note: Option<String>,
}

/// The agents of the catalogue.
pub fn agent(name: &str) -> Option<&'static AgentRow> {
    KNOWN.agents.get(name)
}

/// Their names, in order.
pub fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.agents.keys().map(String::as_str)
}

/// Files with the credentials of any of them, as in `[sandbox] forbid_read`.
pub fn logins() -> impl Iterator<Item = &'static str> {
    let rows = KNOWN.agents.values();
    rows.flat_map(|row| row.logins.iter().map(String::as_str))
}

/// Names in folders of state by which agents find what they run or obey.
pub fn deciding() -> &'static [String] {
    &KNOWN.deciding
}

/// A backend that a configuration may name.
pub fn is_supported(backend: &str) -> bool {
    backend == OWN || backend.starts_with(ANY_ACP) || agent(backend).is_some()
}

/// All of them in one line, for messages.
pub fn known() -> String {
    names().chain([OWN]).collect::<Vec<_>>().join(", ")
}

/// What kind of work a tool does, by its name.
pub fn tool_kind(name: &str) -> ToolKind {
    let name = name.to_ascii_lowercase();
    KNOWN.kinds.get(&name).copied().unwrap_or_default()
}

/// The persona that a role has without one of its own.
pub fn persona(role: &str) -> Option<&'static Persona> {
    KNOWN_PERSONAS.get(role)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::PromptTransport;
    use regex::Regex;

    #[test]
    fn tables_can_be_read_and_used() {
        let table: toml::Table = toml::from_str(ADAPTERS).unwrap();
        toml::from_str::<Catalogue>(ADAPTERS).unwrap();
        let personas: BTreeMap<String, Persona> = toml::from_str(PERSONAS).unwrap();
        let roles: Vec<&str> = personas.keys().map(String::as_str).collect();
        assert_eq!(
            roles,
            [
                "builder",
                "critic",
                "oracle",
                "researcher",
                "reviewer",
                "sprinter"
            ]
        );
        assert_eq!(names().count(), 8);
        for name in names() {
            let row = agent(name).unwrap();
            for pattern in row.failure.iter().chain(&row.retry).chain(&row.noise) {
                Regex::new(pattern).unwrap();
            }
            assert!(!row.events.is_empty(), "{name}");
            assert!(
                row.events.iter().any(|rule| rule.emit == Emit::Done),
                "{name}"
            );
            assert!(!row.state.is_empty() && !row.hosts.is_empty(), "{name}");
            assert!(!row.logins.is_empty(), "{name}");
            for state in &row.state {
                let named = state.writable.iter().map(|part| part.trim_end_matches('/'));
                let named = named.chain(state.makes.iter().map(String::as_str));
                for part in named {
                    let decides = deciding().iter().any(|name| name == part);
                    let is_inside = !part.starts_with('/') && !part.contains("..");
                    assert!(is_inside && !decides && part != "*", "{name}: {part}");
                }
            }
            let takes_stdin = row.adapter.prompt_transport == PromptTransport::Auto;
            assert!(takes_stdin || row.acp.is_some(), "{name}: long prompts");
        }
        // A misspelt key would be passed over.
        let known = [
            "seen",
            "command",
            "denies",
            "args_template",
            "output_parser",
            "filesystem_capabilities",
            "prompt_transport",
            "prompt_max_chars",
            "stdin_for",
            "variables",
            "env",
            "passed_env",
            "state",
            "logins",
            "hosts",
            "events",
            "failure",
            "retry",
            "noise",
            "lost_session",
            "acp",
            "cumulative",
            "check",
        ];
        for (name, row) in table["agents"].as_table().unwrap() {
            for key in row.as_table().unwrap().keys() {
                assert!(known.contains(&key.as_str()), "{name}.{key}");
            }
        }
    }

    #[test]
    fn kinds_are_known_by_name() {
        for (name, kind) in [
            ("Bash", ToolKind::Execute),
            ("run_shell_command", ToolKind::Execute),
            ("Read", ToolKind::Read),
            ("WebFetch", ToolKind::Fetch),
            ("no such tool", ToolKind::Other),
        ] {
            assert_eq!(tool_kind(name), kind, "{name}");
        }
    }
}
