//! What the person answers to a question.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub choice: String,
    pub reason: Option<String>,
}

impl From<&str> for Answer {
    fn from(choice: &str) -> Self {
        Self {
            choice: choice.into(),
            reason: None,
        }
    }
}
