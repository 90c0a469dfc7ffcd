//! What is wrong with a configuration of agents, with the file and the place in it.

use std::path::PathBuf;

/// Something in a document, or in all of them together, cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{problem}", shown_file(.file), shown_place(.place))]
pub struct SetupError {
    /// The document; `None` where several together are wrong.
    pub file: Option<PathBuf>,
    /// Where in it, such as `backend.fast.fallback.model`; empty for the whole.
    pub place: String,
    pub problem: SetupProblem,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupProblem {
    #[error("is not JSON: {0}")]
    NotJson(String),
    #[error("must be an object with the keys `backend` and `roles`")]
    NotAnObject,
    #[error("unknown key `{0}`: only `backend` and `roles` may stand at the top")]
    UnknownKey(String),
    #[error("`brains` is now called `roles`: rename the key (`{{\"backend\": …, \"roles\": …}}`)")]
    Brains,
    #[error("`{0}` is missing")]
    MissingKey(&'static str),
    #[error("`fallback_models` is not supported: set `backend.<name>.fallback` instead")]
    FallbackModels,
    #[error("{0}")]
    Shape(String),
    #[error("`{name}` is no agent that is known here (known: {known})")]
    UnknownBackend { name: String, known: String },
    #[error(
        "`{0}` is no model reference: write `backend/model`, `backend/model@variant` or `backend/default`"
    )]
    BadReference(String),
    #[error("`default` has no variants")]
    DefaultVariant,
    #[error("`patterns` holds no text: a fallback needs at least one pattern")]
    NoPatterns,
    #[error("refers to the backend `{0}`, which is not configured")]
    MissingBackend(String),
    #[error("refers to `{model}`, which is no model of `backend.{backend}.models`")]
    MissingModel { backend: String, model: String },
    #[error("`{pattern}` is no regular expression: {why}")]
    BadPattern { pattern: String, why: String },
    #[error("`{token}` is no template: {why}")]
    BadTemplate { token: String, why: String },
}

impl SetupError {
    pub fn new(file: Option<PathBuf>, place: impl Into<String>, problem: SetupProblem) -> Self {
        Self {
            file,
            place: place.into(),
            problem,
        }
    }
}

fn shown_file(file: &Option<PathBuf>) -> String {
    file.as_ref()
        .map_or_else(String::new, |file| format!("{}: ", file.display()))
}

fn shown_place(place: &str) -> String {
    match place {
        "" => String::new(),
        place => format!("{place}: "),
    }
}
