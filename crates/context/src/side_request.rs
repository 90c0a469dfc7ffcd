//! A request to a model beside the conversation, on behalf of an MCP server: bounded, paid from the budget and written into
//! the ledger and the log. The caller decides who may send one.

use crate::account::Account;
use crate::clients::feed::Feed;
use crate::cost;
use crate::interfaces::Models;
use crate::sample::{Sampled, sample};
use crate::transcript::Transcript;
use ostler_llm::{Answer, AnswerPart, Model, Msg, Params, Prefix, TokenUsage, Transport};
use ostler_mcp::{SamplingAnswer, SamplingEnd, SamplingMessage, SamplingRequest, SamplingRole};
use ostler_store::budget::{self, Booked};
use ostler_store::redact::Redactor;
use ostler_wire::{Body, Language, Stop, Usage};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What such a request is for, in usage and ledger.
pub const ROLE: &str = budget::SAMPLING;
/// Tokens of an answer, whatever is wished for.
const MAX_TOKENS: u64 = 8_192;
/// Costs that may wait to be written into the log; the ledger has every one.
const MAX_UNTOLD: usize = 64;

/// Everything a request needs. Cheap to clone.
#[derive(Clone)]
pub struct SideRequest {
    pub account: Account,
    pub model: Model,
    pub feed: Feed,
    pub language: Language,
    pub services: SideRequestServices,
    pub cancel: CancellationToken,
}

/// Where other models come from and costs go.
#[derive(Clone)]
pub struct SideRequestServices {
    models: Arc<dyn Models>,
    transport: Arc<Transport>,
    told: mpsc::Sender<Usage>,
}

/// What a session keeps of such requests.
pub struct SideRequestCosts {
    pub services: SideRequestServices,
    untold: mpsc::Receiver<Usage>,
}

impl SideRequestCosts {
    pub fn new(models: Arc<dyn Models>, transport: Arc<Transport>) -> Self {
        let (told, untold) = mpsc::channel(MAX_UNTOLD);
        Self {
            services: SideRequestServices {
                models,
                transport,
                told,
            },
            untold,
        }
    }

    /// Costs that the log does not have yet.
    pub fn costs(&mut self) -> Vec<Body> {
        std::iter::from_fn(|| self.untold.try_recv().ok())
            .map(Body::Usage)
            .collect()
    }
}

impl SideRequest {
    /// The first model that is hinted at and configured, or the session's own.
    pub fn hinted(&self, hints: &[String]) -> Model {
        let known = self.services.models.list();
        let found = hints
            .iter()
            .filter(|hint| !hint.is_empty())
            .find_map(|hint| {
                let hint = hint.to_lowercase();
                let mut fitting = known
                    .iter()
                    .filter(|(name, _)| name.to_lowercase().contains(&hint));
                let target = self
                    .services
                    .models
                    .resolve(Some(&fitting.next()?.0))
                    .ok()?;
                Model::new(Arc::new(target), self.services.transport.clone()).ok()
            });
        found.unwrap_or_else(|| self.model.clone())
    }

    /// The answer, or why there is none, as the end of a sentence.
    pub async fn ask(
        &self,
        model: &Model,
        wanted: &SamplingRequest,
    ) -> Result<SamplingAnswer, String> {
        cost::check_affordable(&self.account.budget, model).map_err(|why| why.to_string())?;
        let target = model.target();
        let most = [target.max_output, self.account.max_tokens];
        let most = most.into_iter().flatten().min().unwrap_or(MAX_TOKENS);
        let max_tokens = wanted.max_tokens.clamp(1, most.clamp(1, MAX_TOKENS));
        let params = Params {
            temperature: wanted.temperature,
            max_tokens: Some(max_tokens),
            ..Params::default()
        };
        let redactor = self.feed.redactor();
        let prefix = Prefix {
            system: redactor.text(wanted.system.clone()),
            tools: Vec::new(),
        };
        let mut transcript = Transcript::new(target.clone(), model.codec(), &prefix, &params);
        for message in &wanted.messages {
            transcript.push(message_of(redactor, message), 0);
        }
        let payer = self.account.payer_in(Some(ROLE));
        let worst = cost::upper_bound(transcript.bytes(), None, Some(max_tokens), target.price);
        let held = self.account.budget.hold(payer, worst);
        let _held = held.map_err(|breach| breach.message(Language::English))?;
        let feed = self.feed.hushed();
        let sampled = sample(model, transcript.body(), &feed, self.language, &self.cancel).await;
        let (answer, failed) = match sampled {
            Sampled::Whole(answer) => (answer, None),
            Sampled::Cut(partial, error) | Sampled::Failed(partial, error) => {
                (partial, Some(error.to_string()))
            }
            Sampled::Interrupted(partial) => (partial, Some("the person stopped it".to_owned())),
        };
        self.book(model, &answer, transcript.bytes());
        match failed {
            Some(why) => Err(self.feed.redactor().text(why)),
            None => self.said(model, answer, &wanted.stops),
        }
    }

    fn said(
        &self,
        model: &Model,
        answer: Answer,
        stops: &[String],
    ) -> Result<SamplingAnswer, String> {
        let mut end = match answer.stop {
            Some(Stop::Refusal) => return Err("the model refused".into()),
            Some(Stop::Length) => SamplingEnd::Tokens,
            Some(Stop::End | Stop::Calls | Stop::Cut | Stop::Interrupted) | None => {
                SamplingEnd::Turn
            }
        };
        let text = answer.parts.into_iter().filter_map(|part| match part {
            AnswerPart::Text { text, .. } => Some(text),
            AnswerPart::Reasoning { .. } | AnswerPart::Call { .. } => None,
        });
        let mut text = self.feed.redactor().text(text.collect());
        let stops = stops.iter().filter(|stop| !stop.is_empty());
        if let Some(at) = stops.filter_map(|stop| text.find(stop.as_str())).min() {
            text.truncate(at);
            end = SamplingEnd::Stop;
        }
        Ok(SamplingAnswer {
            text,
            model: model.target().origin.model.clone(),
            end,
        })
    }

    fn book(&self, model: &Model, answer: &Answer, bytes: u64) {
        let tokens = answer.usage.plus(answer.wasted);
        if tokens == TokenUsage::default() {
            // Nobody told what it cost. It is spent all the same.
            let output = Some(cost::estimate_tokens(answer)).filter(|_| !answer.parts.is_empty());
            if let Some(output) = output {
                let guess = cost::upper_bound(bytes, None, Some(output), model.target().price);
                let payer = self.account.payer_in(Some(ROLE));
                self.account.budget.spend(payer, guess, Booked::No);
            }
            return;
        }
        let usage = Usage {
            role: Some(ROLE.into()),
            ..cost::usage_of(model.target(), &tokens)
        };
        self.account.book(&usage);
        // The log does without what nobody fetched for so long.
        let _ = self.services.told.try_send(usage);
    }
}

/// The message without secrets: what the model may not see it does not see by way of a server, either.
fn message_of(redactor: &Redactor, message: &SamplingMessage) -> Msg {
    let text = redactor.text(message.text.clone());
    match message.role {
        SamplingRole::Assistant => Msg::Assistant {
            parts: vec![AnswerPart::Text { text, replay: None }],
        },
        SamplingRole::User => Msg::User {
            text,
            images: Vec::new(),
        },
    }
}
