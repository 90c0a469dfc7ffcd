//! `--output-schema`: the answer must be JSON that fits a JSON Schema.

use crate::errors::UsageError;
use anyhow::Context as _;
use boon::{Compiler, Draft, SchemaIndex, Schemas, UrlLoader, ValidationError};
use ostler_config::text::Speak as _;
use ostler_wire::{Language, Word};
use serde_json::Value;
use std::error::Error;
use std::path::Path;

/// What the schema is called where it refers to itself.
const OWN: &str = "json-schema:///";
/// Faults of an answer that are told.
const MAX_TOLD: usize = 5;

pub struct Schema {
    text: String,
    compiled: Schemas,
    root: SchemaIndex,
}

impl Schema {
    pub fn load(path: &Path, language: Language) -> anyhow::Result<Self> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .with_context(|| language.filled(Word::SchemaUnread, &[&shown]))?;
        let value: Value = serde_json::from_str(&text)
            .map_err(|e| UsageError(language.filled(Word::SchemaNoJson, &[&shown, &e])))?;
        Self::compile(value)
            .map_err(|why| UsageError(language.filled(Word::SchemaNone, &[&shown, &why])).into())
    }

    fn compile(value: Value) -> Result<Self, String> {
        let text = value.to_string();
        let mut compiled = Schemas::new();
        let mut compiler = Compiler::new();
        compiler.set_default_draft(Draft::V2020_12);
        compiler.use_loader(Box::new(Alone));
        let added = compiler.add_resource(OWN, value);
        added.map_err(|error| format!("{error:#}"))?;
        let root = compiler.compile(OWN, &mut compiled);
        let root = root.map_err(|error| format!("{error:#}"))?;
        Ok(Self {
            text,
            compiled,
            root,
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
        self.compiled.validate(&value, self.root).map_err(|error| {
            let mut told = Vec::new();
            causes(&error, &mut told);
            told.join("; ")
        })
    }
}

/// A schema refers to nothing outside of it.
struct Alone;

impl UrlLoader for Alone {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(format!("{url} is outside of the schema").into())
    }
}

/// What is wrong at last, without the groups that it is in.
fn causes(error: &ValidationError<'_, '_>, told: &mut Vec<String>) {
    for cause in &error.causes {
        causes(cause, told);
    }
    if error.causes.is_empty() && told.len() < MAX_TOLD {
        let place = error.instance_location.to_string();
        told.push(format!("{} at {}", error.kind, path_of(&place)));
    }
}

fn path_of(pointer: &str) -> &str {
    if pointer.is_empty() {
        "the top"
    } else {
        pointer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(schema: Value, answer: &str) -> Result<(), String> {
        Schema::compile(schema).expect("a schema").check(answer)
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_place() {
        let schema = json!({
            "type": "object", "required": ["n"],
            "properties": {"n": {"$ref": "#/$defs/number"}, "a": {"type": "array", "items": {"enum": ["x", "y"]}}},
            "$defs": {"number": {"type": "integer", "minimum": 3}},
            "additionalProperties": false,
        });
        assert_eq!(said(schema.clone(), r#" {"n": 3, "a": ["x"]} "#), Ok(()));
        for (answer, expect) in [
            ("{", &["it is not JSON"][..]),
            ("[]", &["at the top"]),
            ("{}", &["'n' at the top"]),
            (r#"{"n": 2.5}"#, &["integer", "at /n"]),
            (
                r#"{"n": 2, "a": ["z"]}"#,
                &["3", "at /n", "'x', 'y' at /a/0"],
            ),
            (r#"{"n": 4, "other": 1}"#, &["'other'"]),
        ] {
            let error = said(schema.clone(), answer).expect_err(answer);
            for part in expect {
                assert!(error.contains(part), "{answer}: {error}");
            }
        }
    }

    #[test]
    fn older_drafts_are_understood_and_other_files_are_not_read() {
        let old = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"a": {"const": 1}}, "oneOf": [{"$ref": "#/definitions/a"}, {"type": "string", "format": "date"}],
        });
        assert_eq!(said(old.clone(), "1"), Ok(()));
        assert_eq!(said(old.clone(), "\"2024-02-29\""), Ok(()));
        assert!(said(old.clone(), "\"2023-02-29\"").is_err());
        assert!(said(old, "2").is_err());
        for schema in [
            json!({"$ref": "file:///etc/passwd"}),
            json!({"$ref": "http://127.0.0.1:1/x"}),
            json!({"type": "nonsense"}),
        ] {
            assert!(Schema::compile(schema.clone()).is_err(), "{schema}");
        }
    }
}
