//! What the binary implements for the engine: models by name, and where rules are kept and watched.

pub mod extra;
pub mod model_plugin;

use ostler_guard::Rule;
use ostler_llm::Target;
use ostler_wire::{Ask, AskAnswer, BoxFuture, HubError, PermissionChoice, View};
use std::path::PathBuf;

/// Turns model references into targets. The binary implements it on the configuration.
pub trait Models: Send + Sync {
    /// References to choose from, each with a word about it.
    fn list(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// `None` is the default model.
    fn resolve(&self, reference: Option<&str>) -> Result<Target, String>;
}

/// Keeps the rules that the person wants to hold for ever. The binary implements it on the configuration.
pub trait RuleStore: Send + Sync {
    /// The file that `save` would write to, ready to show. None where that one is not to be written.
    fn place(&self, keep: Keep) -> Option<String>;
    /// The same as a path. None where no command could change it meanwhile.
    fn file(&self, keep: Keep) -> Option<PathBuf>;
    /// Adds an allow rule. Where it was written, ready to show.
    fn save(&self, rule: &str, keep: Keep) -> Result<String, String>;
}

/// Whose file a rule that outlives the session is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The person's own, for this project.
    Person,
    /// The repository's, which others get, too.
    Repository,
}

impl Keep {
    pub const ALL: [Self; 2] = [Self::Person, Self::Repository];

    /// The answer that means it.
    pub fn choice(self) -> PermissionChoice {
        match self {
            Self::Person => PermissionChoice::Always,
            Self::Repository => PermissionChoice::AlwaysProject,
        }
    }

    pub fn of(choice: PermissionChoice) -> Option<Self> {
        Self::ALL.into_iter().find(|keep| keep.choice() == choice)
    }
}

/// Knows when the person tightened the rules while a session runs. The binary implements it on the configuration.
pub trait RuleWatch: Send + Sync {
    /// Asked before each turn, so it is cheap when nothing has changed. None when nothing is new.
    fn news(&self) -> Option<RuleNews>;
}

/// Rules that hold from the next turn on. What was loosened waits for the next session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleNews {
    pub deny: Vec<Rule>,
    pub ask: Vec<Rule>,
    /// For the person.
    pub notice: String,
}

/// The people who look at a session, for the binary's own questions: those of `ssh`, whether a helper may be copied.
pub trait Person: Send + Sync {
    /// `None` when there is nobody to answer any more.
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Option<AskAnswer>>;
}

/// Answers commands that are about no session. The binary implements it with the functions of its own commands.
pub trait HubCommands: Send + Sync {
    fn answer(&self, line: String) -> BoxFuture<'_, Result<View, HubError>>;
}
