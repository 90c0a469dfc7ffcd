//! Command lines from templates: each token is one, what renders to nothing is left out.

use crate::setup::{Capabilities, Options};
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value, context};
use std::collections::BTreeMap;

/// Steps that one template may take: more is a loop without end.
const FUEL: u64 = 100_000;

/// What templates can use.
// tidy: plain data
#[derive(Clone, Debug, Default)]
pub struct Variables {
    /// Empty when it goes through stdin.
    pub prompt: String,
    pub model: String,
    pub session_id: String,
    pub workdir: String,
    pub options: Options,
    pub capabilities: Capabilities,
    pub include: Vec<String>,
    pub prompt_transport: &'static str,
    /// A failure is answered by another model.
    pub has_fallback: bool,
}

/// A token that is no template, or fails as one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the token `{token}` of its command line is no template: {why}")]
pub struct TemplateError {
    pub token: String,
    pub why: String,
}

/// Templates with their variables.
pub struct Templates {
    environment: Environment<'static>,
    variables: Value,
}

impl Templates {
    /// `own` are templates that the others may use by name.
    pub fn new(
        variables: &Variables,
        own: &BTreeMap<String, String>,
    ) -> Result<Self, TemplateError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Chainable);
        environment.set_fuel(Some(FUEL));
        let common = context! {
            prompt => variables.prompt.as_str(),
            model => variables.model.as_str(),
            session_id => variables.session_id.as_str(),
            workdir => variables.workdir.as_str(),
            options => Value::from(Serde(&variables.options)),
            capabilities => Value::from(Serde(&variables.capabilities)),
            include_directories => variables.include.join(","),
            include_list => variables.include.clone(),
            prompt_transport => variables.prompt_transport,
            all_tools => variables.capabilities.tools.iter().any(|tool| tool == "*"),
            has_fallback => variables.has_fallback,
        };
        let mut templates = Self {
            environment,
            variables: common,
        };
        let mut more = BTreeMap::new();
        for (name, token) in own {
            more.insert(name.clone(), templates.render(token)?);
        }
        let own = Value::from(more);
        templates.variables = context! { ..own, ..templates.variables };
        Ok(templates)
    }

    pub fn render(&self, token: &str) -> Result<String, TemplateError> {
        let rendered = self.environment.render_str(token, &self.variables);
        rendered.map_err(|error| TemplateError {
            token: token.to_owned(),
            why: error.to_string(),
        })
    }

    /// The arguments.
    pub fn arguments(&self, tokens: &[String]) -> Result<Vec<String>, TemplateError> {
        let mut arguments = Vec::new();
        for token in tokens {
            let argument = self.render(token)?;
            if !argument.trim().is_empty() {
                arguments.push(argument);
            }
        }
        Ok(arguments)
    }

    /// The variables of the environment.
    pub fn env(
        &self,
        rows: &BTreeMap<String, String>,
    ) -> Result<Vec<(String, String)>, TemplateError> {
        let mut env = Vec::new();
        for (name, token) in rows {
            let value = self.render(token)?;
            if !value.is_empty() {
                env.push((name.clone(), value));
            }
        }
        Ok(env)
    }
}
