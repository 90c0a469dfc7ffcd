//! Answers of the person to an MCP server: forms, field by field, where declining one field declines the form; and requests
//! to a model, once the person has read and allowed them.

use crate::inbox::server_question::ServerQuestions;
use futures_util::future::BoxFuture;
use ostler_context::side_request::SideRequest;
use ostler_mcp::{
    Asker, Field, FieldKind, Form, FormReply, Sampling, SamplingAnswer, SamplingRequest,
};
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
    pub questions: Option<ServerQuestions>,
    pub language: Language,
    pub sampling: Sampling,
    pub side_request: Option<SideRequest>,
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
        let questions = self.questions.as_ref()?;
        tokio::select! {
            biased;
            () = self.over.cancelled() => None,
            answer = questions.put(ask) => answer.map(|answer| answer.choice),
        }
    }

    async fn page(&self, form: &Form, url: &str) -> FormReply {
        let subject = self
            .language
            .fill(Word::McpWantsPage, &[&self.server, &form.message, url]);
        let options = vec![self.choice(ACCEPT, Word::McpWasThere), self.decline()];
        match self.put(subject, options, Ask::default()).await.as_deref() {
            Some(ACCEPT) => FormReply::Accept(Map::new()),
            Some(_) => FormReply::Decline,
            None => FormReply::Cancel,
        }
    }

    /// The value, if there is one; the error ends the form.
    async fn field(&self, form: &Form, field: &Field) -> Result<Option<Value>, FormReply> {
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
                FieldKind::One(choices) | FieldKind::Many(choices) => choices,
                FieldKind::Words | FieldKind::Number | FieldKind::Flag => &[],
            };
            let mut options: Vec<Choice> = choices.iter().map(|(v, l)| Choice::new(v, l)).collect();
            if field.kind == FieldKind::Flag {
                options = vec![self.choice(YES, Word::McpYes), self.choice(NO, Word::McpNo)];
            }
            options.push(self.decline());
            let more = Ask {
                multi: matches!(field.kind, FieldKind::Many(_)),
                free_text: true,
                ..Ask::default()
            };
            let said = self
                .put(subject, options, more)
                .await
                .ok_or(FormReply::Cancel)?;
            if said == DECLINE {
                return Err(FormReply::Decline);
            }
            match field.value(&said) {
                Ok(value) => return Ok(value),
                Err(why) => hint = format!(" ({})", self.language.say(why)),
            }
        }
        Err(FormReply::Cancel)
    }
}

impl Person {
    /// Whether the server may have this request; the error says why not.
    async fn lets(&self, wanted: &SamplingRequest, model: &str) -> Result<(), String> {
        match self.sampling {
            Sampling::Allow => return Ok(()),
            Sampling::Deny => return Err("the configuration refuses it".into()),
            Sampling::Ask if self.questions.is_none() => {
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
            preview: Some(wanted.preview()),
            ..Ask::default()
        };
        if more.is_too_long() {
            return Err("it is longer than the person can be shown".into());
        }
        match self.put(subject, options, more).await.as_deref() {
            Some(ACCEPT) => Ok(()),
            Some(_) | None => Err("the person does not want it".into()),
        }
    }

    async fn word(&self, wanted: SamplingRequest) -> Result<SamplingAnswer, String> {
        if self.sampled.fetch_add(1, Ordering::Relaxed) >= MAX_SAMPLED {
            return Err(format!("a call gets {MAX_SAMPLED} of them at most"));
        }
        let side_request = self
            .side_request
            .as_ref()
            .ok_or("there is no model to ask")?;
        // Where nobody looks, nothing goes to another provider than the person chose.
        let model = match self.sampling {
            Sampling::Ask => side_request.hinted(&wanted.hints),
            Sampling::Allow | Sampling::Deny => side_request.model.clone(),
        };
        self.lets(&wanted, &model.reference()).await?;
        side_request.ask(&model, &wanted).await
    }
}

impl Asker for Person {
    fn sample(&self, wanted: SamplingRequest) -> BoxFuture<'_, Result<SamplingAnswer, String>> {
        Box::pin(self.word(wanted))
    }

    fn ask(&self, form: Form) -> BoxFuture<'_, FormReply> {
        Box::pin(async move {
            if self.asked.fetch_add(1, Ordering::Relaxed) >= MAX_ASKED {
                return FormReply::Cancel;
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
            FormReply::Accept(values)
        })
    }
}
