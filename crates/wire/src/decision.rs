//! What was decided about a call, as the log has it.

use crate::PermissionChoice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
pub enum Decision {
    /// The choice of the person, or a no of the rules.
    Chosen(PermissionChoice),
    /// The rules or a hook allowed it.
    Allowed,
    /// Written by a version that knows more decisions.
    Other(String),
}

const ALLOWED: &str = "allow";

impl Decision {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Chosen(choice) => choice.id(),
            Self::Allowed => ALLOWED,
            Self::Other(text) => text,
        }
    }

    pub fn refuses(&self) -> bool {
        *self == Self::Chosen(PermissionChoice::Deny)
    }
}

impl From<PermissionChoice> for Decision {
    fn from(choice: PermissionChoice) -> Self {
        Self::Chosen(choice)
    }
}

impl From<&str> for Decision {
    fn from(text: &str) -> Self {
        match PermissionChoice::from_id(text) {
            choice if choice.id() == text => Self::Chosen(choice),
            _ if text == ALLOWED => Self::Allowed,
            _ => Self::Other(text.to_owned()),
        }
    }
}

impl From<String> for Decision {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Decision> for String {
    fn from(decision: Decision) -> Self {
        decision.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_the_word_that_it_was_written_as() {
        for text in ["once", "session", "always", "deny", "allow", "perhaps", ""] {
            let json = format!("\"{text}\"");
            let decision: Decision = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&decision).unwrap(), json);
            assert_eq!(decision.refuses(), text == "deny");
        }
    }
}
