//! Which models there are to choose from, and what a reference means: the configuration as the engine asks for it.

use crate::boot::Boot;
use ostler_config::providers::Provider;
use ostler_engine::Models;
use ostler_llm::Target;
use ostler_wire::{Language, Say as _, Word};

/// Models in a list to choose from.
const MAX_MODELS: usize = 300;

impl Models for Boot {
    /// Of every provider that a file names or that has a key.
    fn list(&self) -> Vec<(String, String)> {
        let resolver = self.resolver();
        let language = self.language;
        let usable = |p: &&Provider| p.configured || resolver.key(p).is_ok_and(|key| key.is_some());
        let of = |provider: &Provider| -> Vec<(String, String)> {
            let name = &provider.config.name;
            let models = provider.models();
            models
                .map(|model| (format!("{name}/{model}"), about(model, language)))
                .collect()
        };
        let all = resolver.providers().iter().filter(usable).flat_map(of);
        let mut out: Vec<(String, String)> = Vec::new();
        for entry in all.take(MAX_MODELS) {
            if !out.contains(&entry) {
                out.push(entry);
            }
        }
        out
    }

    fn resolve(&self, reference: Option<&str>) -> Result<Target, String> {
        let resolver = self.resolver();
        let resolved = match reference {
            Some(reference) => resolver.resolve(reference),
            None => resolver.default(),
        };
        self.target(resolved.map_err(|e| e.say(self.language))?)
    }
}

/// Window and price of a model, as far as the catalog knows it.
pub fn about(model: &str, language: Language) -> String {
    let Some(facts) = ostler_llm::lookup(model) else {
        return String::new();
    };
    let window = language.fill(Word::ModelFacts, &[&(facts.window / 1000).to_string()]);
    match facts.price {
        Some(price) => {
            let [input, output] = [price.input, price.output].map(|p| p.to_string());
            let price = language.fill(Word::ModelPrice, &[&input, &output]);
            format!("{window} · {price}")
        }
        None => window,
    }
}
