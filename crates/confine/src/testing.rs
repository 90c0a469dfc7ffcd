//! What the unit tests of this crate and of those above it share.

use crate::{CallSandbox, Terms};
use ostler_tools::tool::Context;
use std::sync::Arc;

/// The sandbox of a call with this context: none, as the settings of tests have it.
pub fn call_sandbox(cx: &Context) -> CallSandbox {
    CallSandbox {
        host: cx.host.clone(),
        settings: Arc::default(),
        share: Arc::default(),
        policy: cx.guard.policy.clone(),
        tools: cx.services.settings.clone(),
        artifacts: cx.artifacts.clone(),
        scope: cx.scope.clone(),
        call_id: cx.call_id.clone(),
        terms: Terms::default(),
        history: None,
        pane: None,
        terminal: None,
    }
}
