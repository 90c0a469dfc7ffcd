//! Names of models: `backend/model[@variant]`.

use super::catalogue::{ANY_ACP, OWN};
use super::error::SetupProblem;
use std::fmt;

/// The model that stands for the agent's own choice.
pub const DEFAULT_MODEL: &str = "default";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub backend: String,
    pub model: String,
    pub variant: Option<String>,
}

impl Reference {
    pub fn parse(text: &str) -> Result<Self, SetupProblem> {
        let bad = || SetupProblem::BadReference(text.to_owned());
        let text = text.trim();
        if let Some(command) = text.strip_prefix(ANY_ACP) {
            // All of it is a command, which may hold slashes.
            return match command.trim() {
                "" => Err(bad()),
                _ => Ok(Self {
                    backend: text.to_owned(),
                    model: DEFAULT_MODEL.to_owned(),
                    variant: None,
                }),
            };
        }
        let (backend, rest) = text.split_once('/').ok_or_else(bad)?;
        let (backend, rest) = (backend.trim(), rest.trim());
        let (model, variant) = match rest.split_once('@') {
            Some((model, variant)) if backend != OWN => (model.trim(), Some(variant.trim())),
            Some(_) | None => (rest, None),
        };
        // Both stand among the arguments of a program.
        let is_option = [Some(model), variant]
            .into_iter()
            .flatten()
            .any(|it| it.starts_with('-'));
        if backend.is_empty() || model.is_empty() || variant == Some("") || is_option {
            return Err(bad());
        }
        if backend == OWN && model != DEFAULT_MODEL && !model.contains('/') {
            return Err(bad());
        }
        if model == DEFAULT_MODEL && variant.is_some() {
            return Err(SetupProblem::DefaultVariant);
        }
        Ok(Self {
            backend: backend.to_owned(),
            model: model.to_owned(),
            variant: variant.map(str::to_owned),
        })
    }

    /// It names no entry of `models`.
    pub fn needs_no_entry(&self) -> bool {
        self.model == DEFAULT_MODEL || self.backend == OWN
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.backend.starts_with(ANY_ACP) {
            return f.write_str(&self.backend);
        }
        write!(f, "{}/{}", self.backend, self.model)?;
        match &self.variant {
            Some(variant) => write!(f, "@{variant}"),
            None => Ok(()),
        }
    }
}
