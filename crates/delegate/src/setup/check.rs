//! What must be true of a configuration beyond its shape: of each document, and of all of them together.

use super::catalogue::{self, ANY_ACP, OWN};
use super::error::{SetupError, SetupProblem};
use super::{Adapter, Fallback, OutputParser, Reference, Setup};
use minijinja::Environment;
use std::path::Path;

/// What can be said of one document alone.
pub fn check_document(file: &Path, setup: &Setup) -> Result<(), SetupError> {
    let error = |place: String, problem| SetupError::new(Some(file.to_owned()), place, problem);
    for (name, backend) in &setup.backend {
        let place = format!("backend.{name}");
        is_known(name).map_err(|problem| error(place.clone(), problem))?;
        if let Some(fallback) = &backend.fallback {
            let place = format!("{place}.fallback");
            if !fallback.patterns.iter().any(|p| !p.trim().is_empty()) {
                return Err(error(place, SetupProblem::NoPatterns));
            }
            let found = Reference::parse(&fallback.model).and_then(|to| is_known(&to.backend));
            found.map_err(|problem| error(format!("{place}.model"), problem))?;
        }
        if let Some(adapter) = &backend.adapter {
            let found = check_adapter(adapter);
            found.map_err(|problem| error(format!("{place}.adapter"), problem))?;
        }
    }
    for (name, role) in &setup.roles {
        let found = Reference::parse(&role.model).and_then(|to| is_known(&to.backend));
        found.map_err(|problem| error(format!("roles.{name}.model"), problem))?;
    }
    Ok(())
}

fn is_known(backend: &str) -> Result<(), SetupProblem> {
    match catalogue::is_supported(backend) {
        true => Ok(()),
        false => Err(SetupProblem::UnknownBackend {
            name: backend.to_owned(),
            known: catalogue::known(),
        }),
    }
}

fn check_adapter(adapter: &Adapter) -> Result<(), SetupProblem> {
    for token in &adapter.args_template {
        is_template(token).map_err(|why| SetupProblem::BadTemplate {
            token: token.clone(),
            why,
        })?;
    }
    match &adapter.output_parser {
        OutputParser::Regex {
            session_id_pattern: pattern,
            ..
        } => regex::Regex::new(pattern)
            .map(|_| ())
            .map_err(|why| SetupProblem::BadPattern {
                pattern: pattern.clone(),
                why: why.to_string(),
            }),
        OutputParser::JsonStream {
            fallback: Some(name),
            ..
        } if catalogue::agent(name).is_none() => Err(SetupProblem::UnknownBackend {
            name: name.clone(),
            known: catalogue::known(),
        }),
        OutputParser::JsonStream { .. } | OutputParser::JsonObject { .. } | OutputParser::Text => {
            Ok(())
        }
    }
}

fn is_template(token: &str) -> Result<(), String> {
    let environment = Environment::new();
    let template = environment.template_from_str(token);
    template.map(|_| ()).map_err(|error| error.to_string())
}

/// What can only be said of all documents together: that what they refer to is there.
pub fn check(setup: &Setup) -> Result<(), SetupError> {
    let error = |place: String, problem| SetupError::new(None, place, problem);
    for (name, backend) in &setup.backend {
        if let Some(fallback) = &backend.fallback {
            let place = format!("backend.{name}.fallback.model");
            check_fallback(setup, fallback).map_err(|problem| error(place, problem))?;
        }
    }
    for (name, role) in &setup.roles {
        let place = format!("roles.{name}.model");
        let to = Reference::parse(&role.model).map_err(|problem| error(place.clone(), problem))?;
        if !is_configured(setup, &to) {
            return Err(error(place, SetupProblem::MissingBackend(to.backend)));
        }
    }
    Ok(())
}

fn is_configured(setup: &Setup, to: &Reference) -> bool {
    let is_free = to.backend == OWN || to.backend.starts_with(ANY_ACP) || to.needs_no_entry();
    is_free || setup.backend.contains_key(&to.backend)
}

fn check_fallback(setup: &Setup, fallback: &Fallback) -> Result<(), SetupProblem> {
    let to = Reference::parse(&fallback.model)?;
    if !is_configured(setup, &to) {
        return Err(SetupProblem::MissingBackend(to.backend));
    }
    let models = setup
        .backend
        .get(&to.backend)
        .map(|backend| &backend.models);
    let is_there = models.is_some_and(|models| models.contains_key(&to.model));
    match is_there || to.needs_no_entry() || to.backend.starts_with(ANY_ACP) {
        true => Ok(()),
        false => Err(SetupProblem::MissingModel {
            backend: to.backend,
            model: to.model,
        }),
    }
}
