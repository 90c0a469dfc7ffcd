//! Forms of servers, put to the person field by field; whoever says no to one says no to the form. And a model's word for
//! a server, once the person has read what it is to be asked.

use super::form::{Asker, Field, Form, Kind, Reply};
use super::sampling;
use super::settings::Sampling;
use crate::aside::{Aside, Said, Wanted};
use crate::petition::Petitions;
use futures_util::future::BoxFuture;
use ostler_wire::{Ask, AskKind, Choice, Language, Silence, Word};
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio_util::sync::CancellationToken;

/// What stands for a refusal among the choices.
const DECLINE: &str = "decline";
const ACCEPT: &str = "accept";
const YES: &str = "yes";
const NO: &str = "no";
/// Tries at one field.
const MAX_TRIES: usize = 3;
/// Requests to models that one call may lead to.
const MAX_SAMPLED: usize = 8;
/// Forms that the person may be shown in one call.
const MAX_ASKED: usize = 16;

pub struct Person {
    pub server: String,
    /// None where nobody can be asked.
    pub petitions: Option<Petitions>,
    pub language: Language,
    pub sampling: Sampling,
    pub aside: Option<Aside>,
    /// Requests to models, in this call.
    pub sampled: AtomicUsize,
    /// Forms, in this call.
    pub asked: AtomicUsize,
    /// Cancelled with the call: nobody wants to know any longer.
    pub over: CancellationToken,
}

impl Person {
    fn choice(&self, id: &str, word: Word) -> Choice {
        Choice::new(id, self.language.say(word))
    }

    fn decline(&self) -> Choice {
        Choice::refusal(DECLINE, self.language.say(Word::McpDecline))
    }

    async fn put(&self, subject: String, options: Vec<Choice>, more: Ask) -> Option<String> {
        let ask = Ask {
            kind: AskKind::Elicitation,
            subject,
            tool: Some(format!("mcp__{}", self.server)),
            options,
            silence: Silence::refuses(DECLINE),
            ..more
        };
        let petitions = self.petitions.as_ref()?;
        tokio::select! {
            biased;
            () = self.over.cancelled() => None,
            answer = petitions.put(ask) => answer.map(|answer| answer.choice),
        }
    }

    async fn page(&self, form: &Form, url: &str) -> Reply {
        let subject = self
            .language
            .fill(Word::McpWantsPage, &[&self.server, &form.message, url]);
        let options = vec![self.choice(ACCEPT, Word::McpWasThere), self.decline()];
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
                options = vec![self.choice(YES, Word::McpYes), self.choice(NO, Word::McpNo)];
            }
            options.push(self.decline());
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
                Err(why) => hint = format!(" ({})", self.language.say(why)),
            }
        }
        Err(Reply::Cancel)
    }
}

impl Person {
    /// Whether the server may have this request; the error says why not.
    async fn lets(&self, wanted: &Wanted, model: &str) -> Result<(), String> {
        match self.sampling {
            Sampling::Allow => return Ok(()),
            Sampling::Deny => return Err("the configuration refuses it".into()),
            Sampling::Ask if self.petitions.is_none() => {
                return Err(
                    "nobody is there to be asked; `sampling = \"allow\"` of the server would let it"
                        .into(),
                );
            }
            Sampling::Ask => {}
        }
        let most = wanted.max_tokens.to_string();
        let subject = self
            .language
            .fill(Word::McpWantsModel, &[&self.server, model, &most]);
        let options = vec![self.choice(ACCEPT, Word::McpLetModel), self.decline()];
        let more = Ask {
            preview: Some(sampling::shown(wanted)),
            ..Ask::default()
        };
        match self.put(subject, options, more).await.as_deref() {
            Some(ACCEPT) => Ok(()),
            Some(_) | None => Err("the person does not want it".into()),
        }
    }

    async fn word(&self, wanted: Wanted) -> Result<Said, String> {
        if self.sampled.fetch_add(1, Ordering::Relaxed) >= MAX_SAMPLED {
            return Err(format!("a call gets {MAX_SAMPLED} of them at most"));
        }
        let aside = self.aside.as_ref().ok_or("there is no model to ask")?;
        // Where nobody looks, nothing goes to another provider than the person chose.
        let model = match self.sampling {
            Sampling::Ask => aside.hinted(&wanted.hints),
            Sampling::Allow | Sampling::Deny => aside.model.clone(),
        };
        self.lets(&wanted, &model.reference()).await?;
        aside.ask(&model, &wanted).await
    }
}

impl Asker for Person {
    fn sample(&self, wanted: Wanted) -> BoxFuture<'_, Result<Said, String>> {
        Box::pin(self.word(wanted))
    }

    fn ask(&self, form: Form) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            if self.asked.fetch_add(1, Ordering::Relaxed) >= MAX_ASKED {
                return Reply::Cancel;
            }
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
