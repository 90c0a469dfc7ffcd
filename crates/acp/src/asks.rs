//! Questions to the person, put by the means that the editor has: a permission request for a yes or no, a form for words and
//! several choices. Everything shown and answered comes from the ask's own description; no choice is known by its id.

use crate::calls::{self, Call};
use crate::protocol::{Editor, schema as s};
use ostler_wire::{
    Ask, AskAnswer, AskKind, Choice, Language, Op, PreviewFormat, Takes, TextUse, Word,
};
use std::path::Path;
use std::sync::Arc;

/// Fields of a form.
const CHOICE: &str = "choice";
const TEXT: &str = "text";

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Given(AskAnswer),
    /// The person left it without an answer.
    Left,
    /// It could not be put: nobody is there to answer.
    Unasked(String),
}

impl Answer {
    /// The op that says it to the session. None: the turn that asks is to be stopped.
    pub fn op(&self, ask: &Ask) -> Option<Op> {
        match self {
            Self::Given(answer) => Some(ask.answer(&answer.choice, answer.reason.clone())),
            Self::Left => match ask.silence.escape {
                ostler_wire::Escape::StopTurn => None,
                ostler_wire::Escape::Answer => Some(ask.leave()),
            },
            Self::Unasked(_) => Some(ask.unanswered()),
        }
    }
}

/// What a question is part of.
#[derive(Clone)]
pub enum About {
    Session(s::SessionId),
    /// A request that opens a session, which has no id yet.
    Request(s::RequestId, s::SessionId),
}

/// Puts questions to the person.
#[derive(Clone)]
pub struct Asker {
    pub editor: Editor,
    /// The editor shows forms.
    pub forms: bool,
    pub language: Language,
}

impl Asker {
    /// `call`: the fields of the call that it is about, if the editor knows it.
    pub async fn put(
        &self,
        ask: Arc<Ask>,
        about: About,
        (call, fields): (s::ToolCallId, s::ToolCallUpdateFields),
    ) -> Answer {
        if ask.kind == AskKind::Secret {
            // A form shows what is typed, and an editor may keep it.
            return Answer::Unasked(self.language.say(Word::AcpUnasked).into());
        }
        let ask = Arc::new(ask.shown());
        let wants_form = !ask.is_approval() || matches!(about, About::Request(..));
        if self.forms && wants_form {
            return self.form(&ask, about, call).await;
        }
        if offered(&ask).next().is_none() {
            return Answer::Unasked(self.language.say(Word::AcpUnasked).into());
        }
        let session = match about {
            About::Session(id) | About::Request(_, id) => id,
        };
        let options = offered(&ask).map(option).collect();
        let call = s::ToolCallUpdate::new(call, fields);
        let request = s::RequestPermissionRequest::new(session, call, options);
        match self.editor.ask(request).await {
            Err(error) => Answer::Unasked(error.message),
            Ok(response) => match response.outcome {
                s::RequestPermissionOutcome::Selected(selected) => {
                    Answer::Given(AskAnswer::from(&*selected.option_id.0))
                }
                // Also what a later version may say.
                _ => Answer::Left,
            },
        }
    }

    async fn form(&self, ask: &Ask, about: About, call: s::ToolCallId) -> Answer {
        let scope: s::ElicitationScope = match about {
            About::Session(id) => {
                let known = ask.call.is_some().then_some(call);
                s::ElicitationSessionScope::new(id)
                    .tool_call_id(known)
                    .into()
            }
            About::Request(id, _) => s::ElicitationRequestScope::new(id).into(),
        };
        let form = s::ElicitationFormMode::new(scope, schema(ask));
        let request = s::CreateElicitationRequest::new(form, message(ask));
        match self.editor.elicit(request).await {
            Err(error) => Answer::Unasked(error.message),
            Ok(response) => match response.action {
                s::ElicitationAction::Accept(accepted) => filled(ask, accepted),
                s::ElicitationAction::Decline => {
                    Answer::Given(AskAnswer::from(ask.silence.choice.as_str()))
                }
                _ => Answer::Left,
            },
        }
    }
}

/// The fields of a call for a question: those of the call, and what is to be looked at.
pub fn fields(ask: &Ask, call: Option<&Call>, root: &Path) -> s::ToolCallUpdateFields {
    let ask = &ask.shown();
    let fields = match call {
        Some(call) => call.fields(root),
        None => s::ToolCallUpdateFields::new().kind(s::ToolKind::Other),
    };
    let from = ask.from.as_deref().map(|from| format!("{from}: "));
    let from = from.unwrap_or_default();
    let asked = [ask.title.as_str(), ask.subject.as_str()];
    let asked: Vec<&str> = asked.into_iter().filter(|t| !t.is_empty()).collect();
    let title = format!("{from}{}", asked.join(" "));
    let is_known =
        call.is_some_and(|call| ask.subject.is_empty() || call.title.contains(&ask.subject));
    let has_diff = ask.preview.is_some() && ask.preview_format == PreviewFormat::Diff;
    let mut content = Vec::new();
    if ask.is_approval() && !(is_known && has_diff) {
        // What is approved is no Markdown: nothing in it hides a part of it.
        let title = format!("{from}{}", ask.title);
        content.extend(calls::texts(&ostler_wire::one_line(&title)));
        content.extend(calls::fenced(&ask.subject));
    } else if !is_known {
        content.extend(calls::texts(&title));
    }
    if let Some(preview) = &ask.preview {
        content.extend(match (ask.preview_format, call) {
            (PreviewFormat::Diff, Some(call)) => call.preview(preview, root),
            (PreviewFormat::Markdown, _) => calls::texts(preview),
            (PreviewFormat::Diff | PreviewFormat::Text, _) => calls::fenced(preview),
        });
    }
    let fields = match call {
        Some(_) => fields,
        None => fields.title(ostler_wire::one_line(&title)),
    };
    fields.status(s::ToolCallStatus::Pending).content(content)
}

/// What the person may choose. A text that they change first needs a place to change it.
fn offered(ask: &Ask) -> impl Iterator<Item = &Choice> {
    let is_offered = |choice: &&Choice| choice.takes != Takes::EditedText;
    ask.options.iter().filter(is_offered)
}

fn option(choice: &Choice) -> s::PermissionOption {
    let kind = match (choice.refuses, choice.confirm) {
        (true, _) => s::PermissionOptionKind::RejectOnce,
        (false, true) => s::PermissionOptionKind::AllowAlways,
        (false, false) => s::PermissionOptionKind::AllowOnce,
    };
    s::PermissionOption::new(choice.id.clone(), named(choice), kind)
}

/// The label, with what exactly it would do.
fn named(choice: &Choice) -> String {
    match &choice.detail {
        Some(detail) => format!("{}: {detail}", choice.label),
        None => choice.label.clone(),
    }
}

fn message(ask: &Ask) -> String {
    let fenced = |text: &str| match ask.is_approval() && !text.is_empty() {
        true => calls::fence(&ostler_wire::visible(text)),
        false => text.to_owned(),
    };
    let preview = ask.preview.as_deref().unwrap_or_default();
    let preview = match ask.preview_format {
        PreviewFormat::Markdown => preview.to_owned(),
        PreviewFormat::Diff | PreviewFormat::Text => fenced(preview),
    };
    let parts = [ask.title.clone(), fenced(&ask.subject), preview];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<String>>().join("\n\n")
}

fn schema(ask: &Ask) -> s::ElicitationSchema {
    let options: Vec<s::EnumOption> = offered(ask)
        .map(|choice| s::EnumOption::new(choice.id.clone(), named(choice)))
        .collect();
    let takes_text = ask.text_use() == TextUse::Answer;
    let mut form = s::ElicitationSchema::new();
    if ask.multi && !options.is_empty() {
        form = form.property(CHOICE, s::MultiSelectPropertySchema::titled(options), false);
    } else if !options.is_empty() {
        let choice = s::StringPropertySchema::new().one_of(options);
        form = form.property(CHOICE, choice, !takes_text);
    }
    match takes_text {
        true => form.property(TEXT, s::StringPropertySchema::new(), ask.options.is_empty()),
        false => form,
    }
}

/// Words of the person's own come before a choice.
fn filled(ask: &Ask, accepted: s::ElicitationAcceptAction) -> Answer {
    let content = accepted.content.unwrap_or_default();
    let text = match content.get(TEXT) {
        Some(s::ElicitationContentValue::String(text)) => text.trim(),
        _ => "",
    };
    let choice = match content.get(CHOICE) {
        Some(s::ElicitationContentValue::String(choice)) => choice.clone(),
        Some(s::ElicitationContentValue::StringArray(choices)) => choices.join(", "),
        _ => String::new(),
    };
    let parts = match (ask.multi, text.is_empty()) {
        (true, false) => vec![choice.as_str(), text],
        (false, false) => vec![text],
        (_, true) => vec![choice.as_str()],
    };
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    match parts.is_empty() {
        true => Answer::Left,
        false => Answer::Given(AskAnswer::from(parts.join(", ").as_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_wire::{AskKind, PermissionChoice, PlanChoice, Silence};

    fn question(multi: bool, free_text: bool) -> Ask {
        Ask {
            kind: AskKind::Question,
            subject: "Which?".into(),
            options: vec![Choice::new("a", "A"), Choice::new("b", "B")],
            multi,
            free_text,
            ..Ask::default()
        }
    }

    fn accepted(fields: &[(&str, serde_json::Value)]) -> s::ElicitationAcceptAction {
        let content: serde_json::Map<_, _> = fields
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone()))
            .collect();
        serde_json::from_value(serde_json::json!({ "content": content })).unwrap()
    }

    #[test]
    fn a_form_is_filled_with_choices_or_words() {
        let given = |text: &str| Answer::Given(AskAnswer::from(text));
        for (ask, fields, expect) in [
            (
                question(false, true),
                vec![("choice", "a".into())],
                given("a"),
            ),
            (
                question(false, true),
                vec![("choice", "a".into()), ("text", " other ".into())],
                given("other"),
            ),
            (
                question(true, false),
                vec![("choice", serde_json::json!(["a", "b"]))],
                given("a, b"),
            ),
            (
                question(true, true),
                vec![("choice", serde_json::json!(["b"])), ("text", "c".into())],
                given("b, c"),
            ),
            (question(false, true), vec![], Answer::Left),
        ] {
            assert_eq!(filled(&ask, accepted(&fields)), expect);
        }
    }

    #[test]
    fn a_command_that_looks_like_markdown_hides_nothing() {
        let subject = "rm -rf x # <!--\n```\n[y](z)\n```";
        let ask = Ask {
            kind: AskKind::Permission,
            title: "Run".into(),
            subject: subject.into(),
            options: [PermissionChoice::Once, PermissionChoice::Deny]
                .map(|id| Choice::permission(id, id.id()))
                .to_vec(),
            silence: Silence::refuses(PermissionChoice::Deny.id()),
            ..Ask::default()
        };
        let shown = serde_json::to_value(fields(&ask, None, Path::new("/p"))).unwrap();
        let block = shown["content"][1]["content"]["text"].as_str().unwrap();
        assert_eq!(block, format!("````\n{subject}\n````"));
        assert!(message(&ask).contains(block));
    }

    #[test]
    fn nothing_is_pushed_out_of_sight_by_blanks() {
        let wide = |text: &str| format!("{text}{}; evil", " \u{2800}".repeat(2_000));
        let mut choice = Choice::new("a", wide("yes"));
        choice.detail = Some(wide("rule"));
        let ask = Ask {
            kind: AskKind::Permission,
            title: wide("Run"),
            subject: wide("ls"),
            preview: Some(wide("preview")),
            from: Some(wide("t1")),
            options: vec![choice],
            ..Ask::default()
        };
        let told = fields(&ask, None, Path::new("/p"));
        let told = serde_json::to_string(&told).unwrap();
        let shown = ask.shown();
        let all = [
            told,
            message(&shown),
            serde_json::to_string(&schema(&shown)).unwrap(),
            offered(&shown).map(named).collect(),
        ];
        for text in all {
            assert!(text.contains("evil") && text.contains("·×4000"), "{text}");
            assert!(!text.contains(&" \u{2800}".repeat(30)), "{text}");
        }
    }

    #[test]
    fn choices_become_options_of_their_kind() {
        let plan = [PlanChoice::Approve, PlanChoice::Edit, PlanChoice::Keep];
        let ask = Ask {
            options: plan.map(|id| Choice::plan(id, id.id())).to_vec(),
            ..Ask::default()
        };
        let kinds = |ask: &Ask| -> Vec<_> { offered(ask).map(option).map(|o| o.kind).collect() };
        use s::PermissionOptionKind::{AllowAlways, AllowOnce, RejectOnce};
        assert_eq!(kinds(&ask), [AllowOnce, RejectOnce]);
        let all = [
            PermissionChoice::Once,
            PermissionChoice::Session,
            PermissionChoice::Always,
            PermissionChoice::Deny,
        ];
        let ask = Ask {
            options: all.map(|id| Choice::permission(id, id.id())).to_vec(),
            silence: Silence::refuses(PermissionChoice::Deny.id()),
            ..Ask::default()
        };
        assert_eq!(kinds(&ask), [AllowOnce, AllowOnce, AllowAlways, RejectOnce]);
        assert_eq!(Answer::Left.op(&ask), None);
        let unasked = Answer::Unasked(String::new()).op(&ask);
        assert_eq!(unasked, Some(ask.unanswered()));
    }
}
