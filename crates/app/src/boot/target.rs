//! From a resolved model to what a request needs: the address, the key, the price, what the catalog knows of it.

use super::Boot;
use crate::auth::{Http, LoginKey, LoginOf};
use ostler_config::resolve::{ResolvedModel, UsableLogin};
use ostler_config::text::phrase;
use ostler_llm::{Effort, Key, PLUGIN_KIND, Price, Target};
use ostler_wire::{Json, Origin, Why, Word};
use std::sync::Arc;

impl Boot {
    fn login_key(&self, provider: &str, login: &UsableLogin) -> Key {
        let of = LoginOf {
            provider,
            origin: &login.origin,
            name: &login.name.say(self.language),
            client_secret: login.client_secret.as_ref(),
        };
        let (http, redactor) = (Http::new(self.ca_files()), self.redactor.clone());
        Key::Source(Arc::new(LoginKey::new(of, self.logins(), http, redactor)))
    }

    pub fn target(&self, resolved: ResolvedModel) -> Result<Target, String> {
        let facts = match resolved.kind == PLUGIN_KIND {
            true => self.plugin_facts(&resolved.provider, &resolved.model),
            false => ostler_llm::lookup(&resolved.model),
        };
        let thinks = facts.as_ref().is_none_or(|facts| facts.reasoning);
        let variant = match &resolved.variant {
            Some(variant) => Some(
                variant_effort(&resolved, variant, thinks).map_err(|why| why.say(self.language))?,
            ),
            None => None,
        };
        let own = &resolved.quirks;
        let quirks =
            ostler_llm::quirks(&resolved.kind, &resolved.base_url, &resolved.model, &[own])
                .map_err(|e| e.to_string())?;
        let price = resolved
            .price
            .map(|p| Price {
                input: p.input.unwrap_or(0.0),
                cached_input: p.cached_input,
                cache_write: p.cache_write,
                output: p.output.unwrap_or(0.0),
            })
            .or(facts.as_ref().and_then(|f| f.price));
        let key = match (resolved.key, resolved.login) {
            (Some(key), _) => Some(key.value.from_source(key.source.say(self.language)).into()),
            (None, Some(login)) => Some(self.login_key(&resolved.provider, &login)),
            (None, None) => None,
        };
        Ok(Target {
            origin: Origin {
                provider: resolved.provider,
                model: resolved.model,
            },
            kind: resolved.kind,
            base_url: resolved.base_url,
            key,
            headers: resolved.headers.into_iter().collect(),
            extra_body: (!resolved.extra_body.is_empty())
                .then(|| Json::from(serde_json::Value::Object(resolved.extra_body))),
            quirks,
            window: resolved
                .context_window
                .or(facts.as_ref().map(|f| f.window))
                .unwrap_or(0),
            max_output: resolved
                .max_output
                .or(facts.as_ref().and_then(|f| f.max_output)),
            price,
            // A model nobody knows is only asked to think when the person says how hard.
            reasoning: facts.as_ref().map_or(
                self.loaded.config.agent.effort.is_some() || variant.is_some(),
                |f| f.reasoning,
            ),
            effort: variant,
            images: facts.as_ref().is_none_or(|f| f.images),
            stream: resolved.stream,
            timeouts: resolved.timeouts,
        })
    }
}

/// What `@variant` stands for: how hard the model thinks.
fn variant_effort(resolved: &ResolvedModel, variant: &str, thinks: bool) -> Result<Effort, Why> {
    let known = Effort::ALL.into_iter().find(|e| e.name() == variant);
    known.filter(|_| thinks).ok_or_else(|| {
        let names: Vec<&str> = Effort::ALL.map(Effort::name).to_vec();
        let which = match thinks {
            true => phrase(Word::TargetThinks, &[&names.join(", ")]),
            false => Word::TargetNoThink.into(),
        };
        let (provider, model) = (&resolved.provider, &resolved.model);
        phrase(
            Word::TargetNoVariant,
            &[&provider, &model, &variant, &which],
        )
    })
}
