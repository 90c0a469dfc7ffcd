//! Questions to the person. The engine sends them as events and waits for an `Op::Answer`.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    #[default]
    Permission,
    Question,
    Plan,
    Trust,
    Elicitation,
    Budget,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Names the ask in its answer.
    pub ask: String,
    pub kind: AskKind,
    /// What it is about, ready to show: the command, the path, the question.
    pub subject: String,
    /// The tool or part of the engine that wants to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
    /// More than one option may be chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multi: bool,
    /// Words of the person's own are welcome instead of an option.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free_text: bool,
    /// What is to be looked at before answering: the diff of an edit, the text of a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// The child session that wants to know, if it is not the person's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

impl Ask {
    /// The task that it comes from: of `t1 builder › t2 explore` the first is ours.
    pub fn task(&self) -> Option<&str> {
        self.from.as_deref().and_then(|from| from.split(' ').next())
    }

    /// It comes from a prompt in the background, `t1`. A sub-agent of the turn asks with its role, `t1 builder`.
    pub fn is_from_background(&self) -> bool {
        let from = self.from.as_deref();
        let first = from.map(|from| from.split(" › ").next().unwrap_or(from));
        first.is_some_and(|first| !first.contains(' '))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What an answer carries: `once`, `session`, `always`, `deny`, or the n-th choice's own text.
    pub id: String,
    pub label: String,
    /// What exactly it would do: the rule that is saved and where, the scope that is granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Choice {
    /// It is a no.
    pub fn refuses(&self) -> bool {
        matches!(self.id.as_str(), "deny" | "keep")
    }

    /// It outlives the session. One that is not known is taken for such a one.
    pub fn outlives_session(&self) -> bool {
        let id = self.id.as_str();
        let ends = ["once", "session", "approve", "edit"].contains(&id);
        !ends && !self.refuses()
    }

    pub fn new(id: impl Into<String>, label: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            label: label.into(),
            detail: None,
        }
    }
}

/// What the person answers to an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskAnswer {
    pub choice: String,
    pub reason: Option<String>,
}

impl From<&str> for AskAnswer {
    fn from(choice: &str) -> Self {
        Self {
            choice: choice.into(),
            reason: None,
        }
    }
}
