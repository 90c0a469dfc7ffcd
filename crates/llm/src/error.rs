//! Why a request failed, typed by what can be done about it.

use std::time::Duration;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Worth another try: 408, 429, 5xx, a broken connection, a timeout.
    #[error("{message}")]
    Retryable {
        message: String,
        status: Option<u16>,
        after: Option<Duration>,
    },
    /// The prompt does not fit the model's window.
    #[error("{message}")]
    Overflow { message: String },
    /// What we kept of earlier answers for the model to go on from is not accepted; without it another try may work.
    #[error("{message}")]
    Replay { message: String },
    /// The key is missing, wrong or not allowed.
    #[error("{message}")]
    Auth { message: String },
    /// A login has to be done again.
    #[error("{message}")]
    LoginRequired { message: String },
    /// The endpoint answered with something that is not its protocol.
    #[error("{message}")]
    InvalidResponse { message: String },
    /// Anything else the vendor refused.
    #[error("{message}")]
    Fatal {
        message: String,
        status: Option<u16>,
    },
}

impl Error {
    /// The name used in `error` entries and JSON output.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Retryable { .. } => "retryable",
            Error::Overflow { .. } => "overflow",
            // Whoever reads the log can do nothing about it.
            Error::Replay { .. } => "fatal",
            Error::Auth { .. } => "auth",
            Error::LoginRequired { .. } => "login_required",
            Error::InvalidResponse { .. } => "invalid_response",
            Error::Fatal { .. } => "fatal",
        }
    }
}
