//! What a tool call would touch. Permission, plan mode, parallelism, sandbox and title all follow from it.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Read(PathBuf),
    Write(PathBuf),
    Run(Vec<Segment>),
    Net(String),
    Mcp {
        server: String,
        tool: String,
        /// It only looks, as its server says or the person knows.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        read_only: bool,
    },
    Job(String),
    Delegate {
        role: String,
        /// Whoever it is can change nothing.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        read_only: bool,
    },
    Memory,
    /// What was said in sessions of other projects.
    History,
}

/// One simple command of a shell line, as far as it could be understood.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Segment {
    /// Its words after quote removal, joined by one space.
    pub text: String,
    /// The same words apart; empty where they could not be told.
    pub argv: Vec<String>,
    /// Known to change nothing.
    pub read_only: bool,
    /// A command looked up on PATH whose words are all known: an allow rule may speak of it.
    pub plain: bool,
    /// Its words that lead out of the project, or that make it run others: an allow rule covers only those that it
    /// spells out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leads: Vec<String>,
    /// Other spellings that deny and ask rules try: the raw text, and the form with or without its wrappers.
    pub also: Vec<String>,
    /// What its own words cause. Whoever allows the command allows these.
    pub does: Vec<Access>,
    /// What stands around it (redirections) causes: needs its own permission.
    pub needs: Vec<Access>,
    /// Files that an unknown command names and may do anything to.
    pub names: Vec<PathBuf>,
    pub marks: Vec<Mark>,
    /// It goes through everything below the folders that it reads.
    pub walks: bool,
}

/// What a command does beyond files and hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    Delete,
    Privilege,
    Process,
    /// It, or what it runs, could not be told for sure.
    Unsure,
}

impl Segment {
    /// A command of which nothing is known but its text.
    pub fn unknown(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            marks: vec![Mark::Unsure],
            ..Self::default()
        }
    }

    /// What is known of it is not all.
    pub fn doubt(&mut self) {
        self.read_only = false;
        self.plain = false;
        if !self.is_unsure() {
            self.marks.push(Mark::Unsure);
        }
    }

    pub fn is_unsure(&self) -> bool {
        self.marks.contains(&Mark::Unsure)
    }
}

impl Access {
    /// The path that it reads.
    pub fn read_path(&self) -> Option<&PathBuf> {
        match self {
            Self::Read(path) => Some(path),
            Self::Write(_)
            | Self::Run(_)
            | Self::Net(_)
            | Self::Mcp { .. }
            | Self::Job(_)
            | Self::Delegate { .. }
            | Self::Memory
            | Self::History => None,
        }
    }

    /// The path that it changes.
    pub fn write_path(&self) -> Option<&PathBuf> {
        match self {
            Self::Write(path) => Some(path),
            Self::Read(_)
            | Self::Run(_)
            | Self::Net(_)
            | Self::Mcp { .. }
            | Self::Job(_)
            | Self::Delegate { .. }
            | Self::Memory
            | Self::History => None,
        }
    }

    /// Whether such an access needs the person's word where no rule speaks. A job's command had it when it started.
    pub fn needs_permission(&self) -> bool {
        match self {
            Access::Job(_) => false,
            Access::Read(_)
            | Access::Write(_)
            | Access::Run(_)
            | Access::Net(_)
            | Access::Mcp { .. }
            | Access::Delegate { .. }
            | Access::Memory
            | Access::History => !self.is_read_only(),
        }
    }

    /// Whether calls with only such accesses may run beside each other.
    pub fn is_read_only(&self) -> bool {
        match self {
            Access::Read(_) => true,
            Access::Run(segments) => segments.iter().all(|s| s.read_only),
            Access::Mcp { read_only, .. } | Access::Delegate { read_only, .. } => *read_only,
            Access::Write(_)
            | Access::Net(_)
            | Access::Job(_)
            | Access::Memory
            | Access::History => false,
        }
    }
}
