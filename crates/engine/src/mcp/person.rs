//! Forms of servers, put to the person field by field. Whoever says no to one says no to the form.

use super::form::{Asker, Field, Form, Kind, Reply};
use crate::petition::Petitions;
use futures_util::future::BoxFuture;
use ostler_wire::{Ask, AskKind, Choice, Language, Word};
use serde_json::{Map, Value};

/// What stands for a refusal among the choices.
const DECLINE: &str = "decline";
const ACCEPT: &str = "accept";
/// Tries at one field.
const MAX_TRIES: usize = 3;

pub struct Person {
    pub server: String,
    pub petitions: Petitions,
    pub language: Language,
}

impl Person {
    fn choice(&self, id: &str, word: Word) -> Choice {
        Choice::new(id, self.language.say(word))
    }

    async fn put(&self, subject: String, options: Vec<Choice>, more: Ask) -> Option<String> {
        let ask = Ask {
            kind: AskKind::Elicitation,
            subject,
            tool: Some(format!("mcp__{}", self.server)),
            options,
            ..more
        };
        self.petitions.put(ask).await.map(|answer| answer.choice)
    }

    async fn page(&self, form: &Form, url: &str) -> Reply {
        let subject = self
            .language
            .fill(Word::McpWantsPage, &[&self.server, &form.message, url]);
        let options = vec![
            self.choice(ACCEPT, Word::McpWasThere),
            self.choice(DECLINE, Word::McpDecline),
        ];
        match self.put(subject, options, Ask::default()).await.as_deref() {
            Some(ACCEPT) => Reply::Accept(Map::new()),
            Some(_) => Reply::Decline,
            None => Reply::Cancel,
        }
    }

    /// The value, if there is one; the error ends the form.
    async fn field(&self, form: &Form, field: &Field) -> Result<Option<Value>, Reply> {
        let mut hint = String::new();
        for _ in 0..MAX_TRIES {
            let words = [&self.server, &form.message, &field.label];
            let mut subject = self
                .language
                .fill(Word::McpWantsField, &words.map(String::as_str));
            if let Some(default) = &field.default {
                subject.push_str(&format!(" [{default}]"));
            }
            subject.push_str(&hint);
            let choices: &[(String, String)] = match &field.kind {
                Kind::One(choices) | Kind::Many(choices) => choices,
                Kind::Words | Kind::Number | Kind::Flag => &[],
            };
            let mut options: Vec<Choice> = choices.iter().map(|(v, l)| Choice::new(v, l)).collect();
            if field.kind == Kind::Flag {
                options = vec![
                    self.choice("yes", Word::McpYes),
                    self.choice("no", Word::McpNo),
                ];
            }
            options.push(self.choice(DECLINE, Word::McpDecline));
            let more = Ask {
                multi: matches!(field.kind, Kind::Many(_)),
                free_text: true,
                ..Ask::default()
            };
            let said = self
                .put(subject, options, more)
                .await
                .ok_or(Reply::Cancel)?;
            if said == DECLINE {
                return Err(Reply::Decline);
            }
            match field.value(&said) {
                Ok(value) => return Ok(value),
                Err(why) => hint = format!(" ({why})"),
            }
        }
        Err(Reply::Cancel)
    }
}

impl Asker for Person {
    fn ask(&self, form: Form) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            if let Some(url) = &form.page {
                return self.page(&form, url).await;
            }
            let mut values = Map::new();
            for field in &form.fields {
                match self.field(&form, field).await {
                    Ok(Some(value)) => values.insert(field.name.clone(), value),
                    Ok(None) => None,
                    Err(reply) => return reply,
                };
            }
            Reply::Accept(values)
        })
    }
}
