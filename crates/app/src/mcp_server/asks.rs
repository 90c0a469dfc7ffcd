//! Questions of a session as forms of the client. Everything shown and answered comes from the ask's own description; no
//! choice is known by its id.

use ostler_mcp::server::{CallClient, Question, QuestionReply};
use ostler_wire::{Ask, AskAnswer, AskKind, Choice, Escape, Op, Takes, TextUse, visible};
use serde_json::{Map, Value, json};

/// Fields of a form.
const CHOICE: &str = "choice";
const TEXT: &str = "text";

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Given(AskAnswer),
    /// The person left it without an answer.
    Left,
    /// It could not be put; why.
    Unasked(String),
}

impl Answer {
    /// The op that says it to the session.
    pub fn op(&self, ask: &Ask) -> Op {
        match self {
            Self::Given(answer) => ask.answer(&answer.choice, answer.reason.clone()),
            Self::Left => match ask.silence.escape {
                Escape::StopTurn => Op::Interrupt,
                Escape::Answer => ask.leave(),
            },
            Self::Unasked(_) => ask.unanswered(),
        }
    }

    /// What is decided where no session is open yet.
    pub fn or_silence(self, ask: &Ask) -> AskAnswer {
        match self {
            Self::Given(answer) => answer,
            Self::Left | Self::Unasked(_) => AskAnswer::from(ask.silence.choice.as_str()),
        }
    }
}

/// Puts a question to the person behind the client.
pub async fn put(ask: &Ask, client: &CallClient) -> Answer {
    if ask.kind == AskKind::Secret {
        // A form shows what is typed, and a client may keep it.
        return Answer::Unasked(ask.silence.reason.clone().unwrap_or_default());
    }
    let shown = ask.shown();
    let question = Question {
        message: message(&shown),
        schema: schema(&shown),
    };
    match client.ask(question).await {
        QuestionReply::Accept(fields) => filled(ask, &fields),
        QuestionReply::Decline => {
            let refusal = ask.refusal().map(|choice| choice.id.as_str());
            Answer::Given(AskAnswer::from(refusal.unwrap_or(&ask.silence.choice)))
        }
        QuestionReply::Cancel => Answer::Left,
        QuestionReply::Failed(why) => Answer::Unasked(why),
    }
}

/// What the person may choose. A text that they change first needs a place to change it.
fn offered(ask: &Ask) -> impl Iterator<Item = &Choice> {
    let is_offered = |choice: &&Choice| choice.takes != Takes::EditedText;
    ask.options.iter().filter(is_offered)
}

/// The label, with what exactly it would do.
fn named(choice: &Choice) -> String {
    match &choice.detail {
        Some(detail) => format!("{}: {detail}", choice.label),
        None => choice.label.clone(),
    }
}

fn message(ask: &Ask) -> String {
    let from = ask.from.as_deref().map(|from| format!("{from}:"));
    let preview = ask.preview.as_deref().unwrap_or_default();
    let parts = [
        from.as_deref().unwrap_or_default(),
        ask.title.as_str(),
        ask.subject.as_str(),
        preview,
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.map(visible).collect::<Vec<String>>().join("\n\n")
}

/// The words that a choice takes, where it is not the words that are the answer.
fn reason(ask: &Ask) -> Option<&Choice> {
    offered(ask).find(|choice| choice.takes == Takes::Reason)
}

fn schema(ask: &Ask) -> Value {
    let (ids, names): (Vec<&str>, Vec<String>) = offered(ask)
        .map(|choice| (choice.id.as_str(), named(choice)))
        .unzip();
    let takes_text = ask.text_use() == TextUse::Answer;
    let mut fields = Map::new();
    let mut required = Vec::new();
    if ask.multi && !ids.is_empty() {
        let pairs = ids.iter().zip(&names);
        let items = pairs.map(|(id, name)| json!({"const": id, "title": name}));
        let items: Vec<Value> = items.collect();
        fields.insert(
            CHOICE.into(),
            json!({"type": "array", "items": {"anyOf": items}}),
        );
    } else if !ids.is_empty() {
        // Also clients of the older revisions know this form of titles.
        let one = json!({"type": "string", "enum": ids, "enumNames": names});
        fields.insert(CHOICE.into(), one);
        if !takes_text {
            required.push(CHOICE);
        }
    }
    if takes_text {
        fields.insert(TEXT.into(), json!({"type": "string"}));
        if ids.is_empty() {
            required.push(TEXT);
        }
    } else if let Some(choice) = reason(ask) {
        let mut field = json!({"type": "string"});
        if let Some(hint) = &choice.hint {
            field["title"] = hint.as_str().into();
        }
        fields.insert(TEXT.into(), field);
    }
    json!({"type": "object", "properties": fields, "required": required})
}

/// Words of the person's own come before a choice, where words are an answer.
fn filled(ask: &Ask, fields: &Map<String, Value>) -> Answer {
    let text = fields.get(TEXT).and_then(Value::as_str).unwrap_or_default();
    let text = text.trim();
    let choice = match fields.get(CHOICE) {
        Some(Value::String(one)) => one.clone(),
        Some(Value::Array(many)) => {
            let many: Vec<&str> = many.iter().filter_map(Value::as_str).collect();
            many.join(", ")
        }
        Some(_) | None => String::new(),
    };
    if ask.text_use() != TextUse::Answer {
        let known = offered(ask).find(|known| known.id == choice);
        let is_known = known.is_some() || ask.multi && !choice.is_empty();
        if !is_known {
            return Answer::Left;
        }
        let takes = known.is_some_and(|known| known.takes == Takes::Reason);
        let reason = Some(text.to_owned()).filter(|text| takes && !text.is_empty());
        return Answer::Given(AskAnswer { choice, reason });
    }
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
    use ostler_wire::{AskKind, PermissionChoice, Silence};

    fn permission() -> Ask {
        let choice = |id: PermissionChoice| Choice::permission(id, id.id());
        Ask {
            ask: "a1".into(),
            title: "Run".into(),
            subject: "touch x".into(),
            options: vec![
                choice(PermissionChoice::Once),
                choice(PermissionChoice::Deny).with_reason("why not"),
            ],
            silence: Silence::refuses(PermissionChoice::Deny.id()),
            ..Ask::default()
        }
    }

    fn question(multi: bool) -> Ask {
        Ask {
            kind: AskKind::Question,
            subject: "Which?".into(),
            options: vec![Choice::new("a", "A"), Choice::new("b", "B")],
            multi,
            free_text: true,
            ..Ask::default()
        }
    }

    fn given(choice: &str, reason: Option<&str>) -> Answer {
        Answer::Given(AskAnswer {
            choice: choice.into(),
            reason: reason.map(str::to_owned),
        })
    }

    #[test]
    fn a_permission_is_a_form_with_its_choices() {
        assert_eq!(message(&permission()), "Run\n\ntouch x");
        let expect = json!({
            "type": "object",
            "properties": {
                "choice": {"type": "string", "enum": ["once", "deny"], "enumNames": ["once", "deny"]},
                "text": {"type": "string", "title": "why not"},
            },
            "required": ["choice"],
        });
        assert_eq!(schema(&permission()), expect);
    }

    #[test]
    fn forms_that_come_back() {
        for (ask, fields, expect) in [
            (
                permission(),
                json!({"choice": "once", "text": "x"}),
                given("once", None),
            ),
            (
                permission(),
                json!({"choice": "deny", "text": " no "}),
                given("deny", Some("no")),
            ),
            (permission(), json!({"choice": "always"}), Answer::Left),
            (permission(), json!({}), Answer::Left),
            (permission(), json!({"choice": 1}), Answer::Left),
            (question(false), json!({"choice": "a"}), given("a", None)),
            (
                question(false),
                json!({"choice": "a", "text": "c"}),
                given("c", None),
            ),
            (
                question(true),
                json!({"choice": ["a", "b"], "text": "c"}),
                given("a, b, c", None),
            ),
            (question(false), json!({}), Answer::Left),
        ] {
            let found = filled(&ask, fields.as_object().unwrap());
            assert_eq!(found, expect, "{fields}");
        }
    }

    #[test]
    fn who_leaves_a_permission_stops_the_turn() {
        let ask = permission();
        assert_eq!(Answer::Left.op(&ask), Op::Interrupt);
        let unasked = Answer::Unasked("no forms".into());
        assert_eq!(unasked.op(&ask), ask.unanswered());
        assert_eq!(unasked.or_silence(&ask), AskAnswer::from("deny"));
    }
}
