//! A value that must not be shown: it has no `Display`, and its debug print hides it.

/// What stands where a secret was.
pub const REDACTED: &str = "[redacted]";

/// A value that never shows in a debug print or an error.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    value: String,
    /// Where it came from, for messages.
    source: String,
    is_bearer: bool,
}

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            source: String::new(),
            is_bearer: false,
        }
    }

    /// A token that goes into `Authorization`, wherever the kind puts keys.
    pub fn bearer(value: impl Into<String>) -> Self {
        Self {
            is_bearer: true,
            ..Self::new(value)
        }
    }

    pub fn from_source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }

    pub fn reveal(&self) -> &str {
        &self.value
    }

    pub fn is_bearer(&self) -> bool {
        self.is_bearer
    }

    pub fn source(&self) -> &str {
        &self.source
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}
