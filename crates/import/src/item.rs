//! One thing of another agent, in our terms.

use ostler_wire::Why;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// What can be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Model,
    /// A setting that is named and stays behind.
    Setting,
    Provider,
    Rule,
    Server,
    Hook,
    Command,
    Skill,
    Role,
    Memory,
    Session,
}

impl Kind {
    /// In the order in which they are taken: a model may be one of a provider.
    pub const ALL: [Self; 11] = [
        Self::Provider,
        Self::Model,
        Self::Setting,
        Self::Rule,
        Self::Server,
        Self::Hook,
        Self::Command,
        Self::Skill,
        Self::Role,
        Self::Memory,
        Self::Session,
    ];

    /// As it is typed and as programs read it, for several.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Setting => "settings",
            Self::Provider => "providers",
            Self::Rule => "rules",
            Self::Server => "servers",
            Self::Hook => "hooks",
            Self::Command => "commands",
            Self::Skill => "skills",
            Self::Role => "agents",
            Self::Memory => "memory",
            Self::Session => "sessions",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// It starts programs, sends data to another host, or lets calls run unasked: it is shown in full before a yes.
    pub fn is_active(self) -> bool {
        match self {
            Self::Provider | Self::Rule | Self::Server | Self::Hook => true,
            // Commands, skills and roles may allow tools and hold commands that run when they are called.
            Self::Command | Self::Skill | Self::Role => true,
            Self::Model | Self::Setting | Self::Memory | Self::Session => false,
        }
    }
}

/// A list of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum List {
    Deny,
    Ask,
    Allow,
}

impl List {
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

/// What becomes of a thing.
#[derive(Clone, Debug, PartialEq)]
pub enum Taken {
    /// A model of reference `provider/model`.
    Model(String),
    /// An entry of `[[providers]]`.
    Provider(Map<String, Value>),
    Rule {
        list: List,
        rule: String,
    },
    /// An entry of a list of MCP servers.
    Server(Value),
    Hook {
        event: String,
        matcher: String,
        command: String,
        timeout: Option<u64>,
    },
    /// The text of a Markdown file: a command, a role, instructions.
    Text(String),
    /// Files of a skill, by their paths within its folder.
    Files(Vec<(PathBuf, Vec<u8>)>),
    /// We read it where it is.
    InPlace,
    /// It stays behind.
    Left(Why),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub kind: Kind,
    pub name: String,
    /// The file it stands in.
    pub from: PathBuf,
    pub taken: Taken,
    /// What of it could not be taken, or is to be done by hand.
    pub remarks: Vec<Why>,
}

impl Item {
    pub fn new(kind: Kind, name: impl Into<String>, from: &std::path::Path, taken: Taken) -> Self {
        Self {
            kind,
            name: name.into(),
            from: from.to_owned(),
            taken,
            remarks: Vec::new(),
        }
    }
}

/// What one agent has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    pub items: Vec<Item>,
    /// Files that could not be read, and why.
    pub faults: Vec<Why>,
}
