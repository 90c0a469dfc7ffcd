//! Questions to the person. The engine sends them as events and waits for an `Op::Answer`. An ask says all that a front end
//! needs to put it: what each choice takes, its key, whether it has to be confirmed, and what holds when nobody answers.

use crate::{Op, REDACTED, count_blanks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reason that goes with a refusal where no person is there.
const NOBODY: &str = "nobody is there to answer";

/// Bytes and lines that a question shows. More than that nobody reads, and the scrollback of a terminal may not hold it.
pub const MAX_ASK_BYTES: usize = 128 * 1024;
pub const MAX_ASK_LINES: usize = 2_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    #[default]
    Permission,
    Question,
    Plan,
    Trust,
    Elicitation,
    Budget,
    /// A password or its like: typed without being shown, kept nowhere, and told to nobody but the one who asks.
    Secret,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ask {
    /// Names the ask in its answer. No other ask of any process has the same one.
    pub ask: String,
    pub kind: AskKind,
    /// One line above the subject, in the session's language. Empty where the subject says it all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What it is about, ready to show: the command, the path, the question.
    pub subject: String,
    /// The tool or part of the engine that wants to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The call of the session that it is about, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
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
    #[serde(default)]
    pub preview_format: PreviewFormat,
    /// The child session that wants to know, if it is not the person's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(default)]
    pub silence: Silence,
}

/// How a preview is to be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PreviewFormat {
    #[default]
    Text,
    Diff,
    Markdown,
}

/// What holds when no person answers an ask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Silence {
    /// The choice that is sent then. Empty: an answer without words.
    #[serde(default)]
    pub choice: String,
    /// The reason that goes with it where no person is there at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default)]
    pub escape: Escape,
}

/// What the person does who leaves an ask with Escape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Escape {
    /// They stop the turn that asks.
    #[default]
    StopTurn,
    /// They send the choice of `Silence`: what asks goes on without them.
    Answer,
}

/// What becomes of a text that is typed while an ask is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextUse {
    /// It is the answer.
    Answer,
    /// It is the reason of the choice that refuses.
    Reason,
    /// There is no place for it.
    Nothing,
}

impl Silence {
    /// Nobody's answer is this choice, which refuses.
    pub fn refuses(choice: &str) -> Self {
        Self {
            choice: choice.to_owned(),
            reason: Some(NOBODY.to_owned()),
            escape: Escape::default(),
        }
    }
}

impl Ask {
    /// The task that it comes from: of `t1 builder › t2 explore` the first is ours.
    pub fn task(&self) -> Option<&str> {
        self.from.as_deref().and_then(|from| from.split(' ').next())
    }

    /// As it is put to a person: nothing of it is pushed out of sight by blanks. What is answered by is not changed.
    #[must_use]
    pub fn shown(&self) -> Self {
        let shown = |text: &String| count_blanks(text).into_owned();
        let option = |choice: &Choice| Choice {
            label: shown(&choice.label),
            detail: choice.detail.as_ref().map(shown),
            hint: choice.hint.as_ref().map(shown),
            ..choice.clone()
        };
        Self {
            title: shown(&self.title),
            subject: shown(&self.subject),
            preview: self.preview.as_ref().map(shown),
            from: self.from.as_ref().map(shown),
            options: self.options.iter().map(option).collect(),
            ..self.clone()
        }
    }

    /// It is longer than a question may be: whoever says yes could not see to what.
    pub fn is_too_long(&self) -> bool {
        let preview = self.preview.as_deref().unwrap_or_default();
        let details = self.options.iter().filter_map(|o| o.detail.as_deref());
        let texts = [self.subject.as_str(), preview].into_iter().chain(details);
        let (bytes, lines) = texts.fold((0, 0), |(bytes, lines), text| {
            (bytes + text.len(), lines + text.lines().count())
        });
        bytes > MAX_ASK_BYTES || lines > MAX_ASK_LINES
    }

    /// The choice that refuses.
    pub fn refusal(&self) -> Option<&Choice> {
        self.options.iter().find(|choice| choice.refuses)
    }

    pub fn text_use(&self) -> TextUse {
        let takes_reason = |choice: &Choice| choice.takes == Takes::Reason;
        if self.refusal().is_some_and(takes_reason) {
            TextUse::Reason
        } else if self.free_text || self.options.is_empty() {
            TextUse::Answer
        } else {
            TextUse::Nothing
        }
    }

    /// It is answered with a yes or a no, not with data.
    pub fn is_approval(&self) -> bool {
        self.refusal().is_some() && !self.multi && self.text_use() != TextUse::Answer
    }

    /// The index of the option that a typed text is the exact name of: its key, its id, or `yes` and `no` for these keys.
    pub fn named(&self, text: &str) -> Option<usize> {
        let text = text.trim().to_lowercase();
        let is_key = |choice: &Choice| match (choice.key, text.as_str()) {
            (Some('y'), "yes") | (Some('n'), "no") => true,
            (Some(key), _) => text.chars().eq([key]),
            (None, _) => false,
        };
        let is_named = |choice: &Choice| is_key(choice) || choice.id == text;
        self.options.iter().position(is_named)
    }

    /// The answer that takes a choice. Where the preview was edited, a yes is one to the new text.
    pub fn take(&self, choice: &Choice, edited: Option<String>) -> Op {
        let takes_text = |choice: &&Choice| choice.takes == Takes::EditedText;
        match (self.options.iter().find(takes_text), edited) {
            (Some(edit), Some(text)) if !choice.refuses => self.answer(&edit.id, Some(text)),
            (Some(_) | None, _) => self.answer(&choice.id, None),
        }
    }

    /// A no, or no words. It is what holds when the person leaves the ask, or the input ends.
    pub fn leave(&self) -> Op {
        self.answer(&self.silence.choice, None)
    }

    /// The answer where no person is there.
    pub fn unanswered(&self) -> Op {
        self.answer(&self.silence.choice, self.silence.reason.clone())
    }

    pub fn answer(&self, choice: &str, reason: Option<String>) -> Op {
        Op::Answer {
            ask: self.ask.clone(),
            choice: choice.to_owned(),
            reason,
        }
    }

    /// An answer as it is shown to others: the labels of what was chosen, or the words.
    pub fn describe(&self, answer: &str) -> String {
        if self.kind == AskKind::Secret {
            return REDACTED.to_owned();
        }
        let label = |id: &str| {
            let choice = self.options.iter().find(|choice| choice.id == id);
            choice.map(|choice| choice.label.as_str())
        };
        if let Some(label) = label(answer) {
            return label.to_owned();
        }
        let parts = answer.split(", ").map(|part| label(part).unwrap_or(part));
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// What a choice takes with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Takes {
    #[default]
    Nothing,
    /// Words of the person, or none.
    Reason,
    /// The preview, as the person has changed it. It is shown again before it is sent.
    EditedText,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// What an answer carries.
    pub id: String,
    pub label: String,
    /// What exactly it would do: the rule that is saved and where, the scope that is granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The key that stands for it, beside its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<char>,
    #[serde(default)]
    pub takes: Takes,
    /// What the text that it takes is to say: `why not`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// It is a no.
    #[serde(default)]
    pub refuses: bool,
    /// It outlives the session, so a person confirms it with a second key. One that does not say is confirmed.
    #[serde(default = "yes")]
    pub confirm: bool,
}

fn yes() -> bool {
    true
}

impl Choice {
    /// A choice of data: nothing is granted or refused by it.
    pub fn new(id: impl Into<String>, label: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            label: label.into(),
            detail: None,
            key: None,
            takes: Takes::Nothing,
            hint: None,
            refuses: false,
            confirm: false,
        }
    }

    /// A choice that says no.
    pub fn refusal(id: impl Into<String>, label: impl Into<String>) -> Self {
        Self {
            refuses: true,
            ..Self::new(id, label)
        }
    }

    /// One of the choices of a permission. A no takes no reason.
    pub fn permission(choice: PermissionChoice, label: impl Into<String>) -> Self {
        let (key, confirm) = match choice {
            PermissionChoice::Once => (Some('y'), false),
            PermissionChoice::Session => (Some('s'), false),
            PermissionChoice::SessionExact => (Some('e'), false),
            PermissionChoice::Always => (Some('a'), true),
            PermissionChoice::AlwaysProject => (None, true),
            PermissionChoice::Deny => (Some('n'), false),
        };
        Self {
            key,
            confirm,
            refuses: choice == PermissionChoice::Deny,
            ..Self::new(choice.id(), label)
        }
    }

    /// One of the choices of a plan.
    pub fn plan(choice: PlanChoice, label: impl Into<String>) -> Self {
        let (key, takes) = match choice {
            PlanChoice::Approve => ('y', Takes::Nothing),
            PlanChoice::ApproveAsk => ('a', Takes::Nothing),
            PlanChoice::Edit => ('e', Takes::EditedText),
            PlanChoice::Keep => ('n', Takes::Reason),
        };
        Self {
            key: Some(key),
            takes,
            refuses: choice == PlanChoice::Keep,
            ..Self::new(choice.id(), label)
        }
    }

    pub fn with_detail(self, detail: impl Into<String>) -> Self {
        Self {
            detail: Some(detail.into()),
            ..self
        }
    }

    /// It takes words, which are to say this.
    pub fn with_reason(self, hint: impl Into<String>) -> Self {
        Self {
            takes: Takes::Reason,
            hint: Some(hint.into()),
            ..self
        }
    }
}

/// The choices of a permission. Their ids are part of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionChoice {
    Once,
    /// The scope that is shown: a rule for calls like this one, or this very call.
    Session,
    /// This very call, where `Session` means more.
    SessionExact,
    /// For good, in the person's own file for the project.
    Always,
    /// For good, in the project's file.
    AlwaysProject,
    Deny,
}

impl PermissionChoice {
    const ALL: [Self; 6] = [
        Self::Once,
        Self::Session,
        Self::SessionExact,
        Self::Always,
        Self::AlwaysProject,
        Self::Deny,
    ];

    pub const fn id(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::SessionExact => "session_exact",
            Self::Always => "always",
            Self::AlwaysProject => "always_project",
            Self::Deny => "deny",
        }
    }

    /// What is no id of a choice is a no.
    pub fn from_id(id: &str) -> Self {
        let found = Self::ALL.into_iter().find(|choice| choice.id() == id);
        found.unwrap_or(Self::Deny)
    }
}

/// The choices of a plan. Their ids are part of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanChoice {
    /// What it does within the project is not asked any more, until the turn ends.
    Approve,
    /// Each edit and command is asked as ever.
    ApproveAsk,
    /// With the person's own text.
    Edit,
    /// Keep planning.
    Keep,
}

impl PlanChoice {
    pub const fn id(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::ApproveAsk => "approve_ask",
            Self::Edit => "edit",
            Self::Keep => "keep",
        }
    }

    /// What is no id of a choice is a no.
    pub fn from_id(id: &str) -> Self {
        let mut all = [Self::Approve, Self::ApproveAsk, Self::Edit].into_iter();
        all.find(|choice| choice.id() == id).unwrap_or(Self::Keep)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn permission() -> Ask {
        use PermissionChoice::{Always, AlwaysProject, Deny, Once};
        let choice = |id: PermissionChoice| Choice::permission(id, id.id());
        Ask {
            options: vec![
                choice(Once),
                choice(Always),
                choice(AlwaysProject),
                choice(Deny).with_reason("why not"),
            ],
            silence: Silence::refuses(Deny.id()),
            ..Ask::default()
        }
    }

    #[test]
    fn a_choice_that_does_not_say_whether_it_lasts_is_confirmed() {
        let choice: Choice = serde_json::from_str(r#"{"id":"x","label":"x"}"#).unwrap();
        assert!(choice.confirm);
        let lasts = |ask: &Ask| ask.options.iter().map(|o| o.confirm).collect::<Vec<_>>();
        let line = serde_json::to_string(&permission()).unwrap();
        let read: Ask = serde_json::from_str(&line).unwrap();
        assert_eq!(read, permission());
        assert_eq!(lasts(&read), [false, true, true, false]);
    }

    #[test]
    fn what_names_a_choice() {
        let named = |text: &str| {
            let ask = permission();
            let at = ask.named(text)?;
            Some(ask.options.get(at)?.id.clone())
        };
        for (text, expect) in [
            ("y", Some("once")),
            (" YES ", Some("once")),
            ("always", Some("always")),
            ("no", Some("deny")),
            ("always_project", Some("always_project")),
            ("yes please", None),
            ("s", None),
            ("", None),
        ] {
            assert_eq!(named(text).as_deref(), expect, "{text}");
        }
    }

    #[test]
    fn what_a_text_is_for() {
        let words = Ask {
            free_text: true,
            ..Ask::default()
        };
        let form = Ask {
            free_text: true,
            options: vec![Choice::refusal("decline", "no")],
            ..Ask::default()
        };
        let bare = Ask {
            options: vec![Choice::new("go", "go"), Choice::refusal("decline", "no")],
            ..Ask::default()
        };
        for (ask, text, is_approval) in [
            (permission(), TextUse::Reason, true),
            (words, TextUse::Answer, false),
            (form, TextUse::Answer, false),
            (bare, TextUse::Nothing, true),
        ] {
            assert_eq!((ask.text_use(), ask.is_approval()), (text, is_approval));
        }
    }

    #[test]
    fn an_edited_preview_is_what_a_yes_is_to() {
        let options = [PlanChoice::Approve, PlanChoice::Edit, PlanChoice::Keep]
            .map(|choice| Choice::plan(choice, choice.id()));
        let plan = Ask {
            options: options.to_vec(),
            silence: Silence::refuses(PlanChoice::Keep.id()),
            ..Ask::default()
        };
        let [approve, _, keep] = &options;
        let text = || Some("1. other".to_owned());
        assert_eq!(plan.take(approve, text()), plan.answer("edit", text()));
        assert_eq!(plan.take(approve, None), plan.answer("approve", None));
        assert_eq!(plan.take(keep, text()), plan.answer("keep", None));
        assert_eq!(plan.leave(), plan.answer("keep", None));
    }

    #[test]
    fn an_answer_is_described_by_its_labels() {
        let ask = Ask {
            options: vec![Choice::new("r", "red"), Choice::new("b", "blue")],
            ..Ask::default()
        };
        for (answer, expect) in [("r", "red"), ("r, b", "red, blue"), ("green", "green")] {
            assert_eq!(ask.describe(answer), expect);
        }
    }
}
