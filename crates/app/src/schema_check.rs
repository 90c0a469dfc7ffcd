//! `--output-schema`: the answer must be JSON that fits a JSON Schema.

use crate::errors::UsageError;
use anyhow::Context as _;
use ostler_config::text::Speak as _;
use ostler_wire::{Language, Word};
use serde_json::Value;
use std::path::Path;

pub struct Schema {
    text: String,
    validator: jsonschema::Validator,
}

impl Schema {
    pub fn load(path: &Path, language: Language) -> anyhow::Result<Self> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .with_context(|| language.filled(Word::SchemaUnread, &[&shown]))?;
        let value: Value = serde_json::from_str(&text)
            .map_err(|e| UsageError(language.filled(Word::SchemaNoJson, &[&shown, &e])))?;
        let validator = jsonschema::validator_for(&value).map_err(|e| {
            UsageError(language.filled(Word::SchemaNone, &[&shown, &e.to_string()]))
        })?;
        Ok(Self {
            text: value.to_string(),
            validator,
        })
    }

    /// What the prompt says about it.
    pub fn instruction(&self) -> String {
        format!(
            "Your final answer must be one JSON document that is valid under this JSON Schema, with no other text and no code fence:\n{}",
            self.text
        )
    }

    /// The prompt of the one repair.
    pub fn repair(&self, why: &str) -> String {
        format!(
            "Your answer is not valid: {why}. Answer again with the JSON document alone, valid under the schema."
        )
    }

    pub fn check(&self, answer: &str) -> Result<(), String> {
        let value: Value =
            serde_json::from_str(answer.trim()).map_err(|e| format!("it is not JSON: {e}"))?;
        match self.validator.iter_errors(&value).next() {
            None => Ok(()),
            Some(error) => Err(format!(
                "{error} at {}",
                path_of(&error.instance_path().to_string())
            )),
        }
    }
}

fn path_of(pointer: &str) -> &str {
    if pointer.is_empty() {
        "the top"
    } else {
        pointer
    }
}
