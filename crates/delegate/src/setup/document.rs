//! Reads one JSON document: two keys at the top, unknown fields further down ignored, all else checked.

use super::Setup;
use super::check::check_document;
use super::error::{SetupError, SetupProblem};
use serde_json::Value;
use std::path::Path;

/// Reads a document from its bytes. `file` is for messages.
pub fn parse(file: &Path, bytes: &[u8]) -> Result<Setup, SetupError> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let error = |place: &str, problem| SetupError::new(Some(file.to_owned()), place, problem);
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|why| error("", SetupProblem::NotJson(why.to_string())))?;
    let Value::Object(top) = &value else {
        return Err(error("", SetupProblem::NotAnObject));
    };
    if top.contains_key("brains") {
        return Err(error("", SetupProblem::Brains));
    }
    let is_unknown = |key: &&String| !matches!(key.as_str(), "backend" | "roles");
    if let Some(key) = top.keys().find(is_unknown) {
        return Err(error("", SetupProblem::UnknownKey(key.clone())));
    }
    for key in ["backend", "roles"] {
        if !top.contains_key(key) {
            return Err(error("", SetupProblem::MissingKey(key)));
        }
    }
    from_value(file, value)
}

/// Reads the tables `backend` and `roles` from any document; either may be missing and other keys are not looked at.
pub fn from_value(file: &Path, value: Value) -> Result<Setup, SetupError> {
    let error = |place: String, problem| SetupError::new(Some(file.to_owned()), place, problem);
    let roles = value.get("roles").and_then(Value::as_object);
    for (name, role) in roles.into_iter().flatten() {
        if role.get("fallback_models").is_some() {
            return Err(error(format!("roles.{name}"), SetupProblem::FallbackModels));
        }
    }
    let setup: Setup = serde_path_to_error::deserialize(value).map_err(|why| {
        let place = why.path().to_string();
        let place = if place == "." { String::new() } else { place };
        error(place, SetupProblem::Shape(why.inner().to_string()))
    })?;
    check_document(file, &setup)?;
    Ok(setup)
}
