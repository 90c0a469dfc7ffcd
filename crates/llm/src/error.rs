//! Why a request failed, typed by what can be done about it. Which language it is told in is up to who tells it.

use ostler_wire::sse::TooLong;
use ostler_wire::{Language, Why, Word};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Worth another try: 408, 429, 5xx, a broken connection, a timeout.
    #[error("{message}")]
    Retryable {
        message: Why,
        status: Option<u16>,
        after: Option<Duration>,
    },
    /// The prompt does not fit the model's window.
    #[error("{message}")]
    Overflow { message: Why },
    /// What we kept of earlier answers for the model to go on from is not accepted; without it another try may work.
    #[error("{message}")]
    Replay { message: Why },
    /// The key is missing, wrong or not allowed.
    #[error("{message}")]
    Auth { message: Why },
    /// A login has to be done again.
    #[error("{message}")]
    LoginRequired { message: Why },
    /// The endpoint answered with something that is not its protocol.
    #[error("{message}")]
    InvalidResponse { message: Why },
    /// The same, and another try may bring an answer that can be read.
    #[error("{message}")]
    Garbled { message: Why },
    /// Anything else the vendor refused.
    #[error("{message}")]
    Fatal { message: Why, status: Option<u16> },
}

impl From<TooLong> for Error {
    fn from(error: TooLong) -> Self {
        let most = (error.most >> 20).to_string();
        Self::invalid(Why::ours(Word::LlmLongEvent, [most.into()]))
    }
}

impl Error {
    pub fn retryable(message: impl Into<Why>) -> Self {
        Self::Retryable {
            message: message.into(),
            status: None,
            after: None,
        }
    }

    pub fn invalid(message: impl Into<Why>) -> Self {
        Self::InvalidResponse {
            message: message.into(),
        }
    }

    pub fn garbled(message: impl Into<Why>) -> Self {
        Self::Garbled {
            message: message.into(),
        }
    }

    pub fn fatal(message: impl Into<Why>) -> Self {
        Self::Fatal {
            message: message.into(),
            status: None,
        }
    }

    /// For the person. Models and programs get it in English.
    pub fn say(&self, language: Language) -> String {
        self.why().say(language)
    }

    pub fn why(&self) -> &Why {
        match self {
            Self::Retryable { message, .. }
            | Self::Overflow { message }
            | Self::Replay { message }
            | Self::Auth { message }
            | Self::LoginRequired { message }
            | Self::InvalidResponse { message }
            | Self::Garbled { message }
            | Self::Fatal { message, .. } => message,
        }
    }

    pub(crate) fn why_mut(&mut self) -> &mut Why {
        match self {
            Self::Retryable { message, .. }
            | Self::Overflow { message }
            | Self::Replay { message }
            | Self::Auth { message }
            | Self::LoginRequired { message }
            | Self::InvalidResponse { message }
            | Self::Garbled { message }
            | Self::Fatal { message, .. } => message,
        }
    }

    /// The status of the answer, where it says what went wrong.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Retryable { status, .. } | Self::Fatal { status, .. } => *status,
            Self::Overflow { .. }
            | Self::Replay { .. }
            | Self::Auth { .. }
            | Self::LoginRequired { .. }
            | Self::InvalidResponse { .. }
            | Self::Garbled { .. } => None,
        }
    }

    /// The name used in `error` entries and JSON output.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Retryable { .. } => "retryable",
            Error::Overflow { .. } => "overflow",
            // Whoever reads the log can do nothing about it.
            Error::Replay { .. } => "fatal",
            Error::Auth { .. } => "auth",
            Error::LoginRequired { .. } => "login_required",
            Error::InvalidResponse { .. } | Error::Garbled { .. } => "invalid_response",
            Error::Fatal { .. } => "fatal",
        }
    }
}
