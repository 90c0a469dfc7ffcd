//! Where a request goes: one model at one endpoint, with everything the codec and the transport need to know.

use crate::{Effort, Key, Quirks};
use ostler_wire::{Json, Origin};
use serde::{Deserialize, Serialize};
use std::time::Duration;

// tidy: plain data
#[derive(Clone, Debug)]
pub struct Target {
    pub origin: Origin,
    /// Name of the kind in the registry.
    pub kind: String,
    /// Without a trailing slash.
    pub base_url: String,
    pub key: Option<Key>,
    pub headers: Vec<(String, String)>,
    /// Merged into the request body at the top level; an object.
    pub extra_body: Option<Json>,
    pub quirks: Quirks,
    /// Tokens; 0 is unknown or "never compact".
    pub window: u64,
    pub max_output: Option<u64>,
    pub price: Option<Price>,
    pub reasoning: bool,
    /// How hard it thinks, when the reference says so (`@high`); otherwise the settings of the run count.
    pub effort: Option<Effort>,
    pub images: bool,
    pub stream: bool,
    pub timeouts: Timeouts,
}

impl Target {
    /// A model at an endpoint of which nothing more is known.
    pub fn new(origin: Origin, kind: &str, base_url: &str) -> Self {
        Self {
            origin,
            kind: kind.to_owned(),
            base_url: base_url.to_owned(),
            key: None,
            headers: Vec::new(),
            extra_body: None,
            quirks: Quirks::default(),
            window: 0,
            max_output: None,
            price: None,
            reasoning: false,
            effort: None,
            images: false,
            stream: true,
            timeouts: Timeouts::default(),
        }
    }

    /// The endpoint without what a person may have put into its address to get in.
    pub fn shown_url(&self) -> String {
        crate::address::without_secrets(&self.base_url)
    }
}

/// USD per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Price {
    pub input: f64,
    pub cached_input: Option<f64>,
    pub cache_write: Option<f64>,
    pub output: f64,
}

impl Price {
    pub fn of(&self, usage: &crate::TokenUsage) -> f64 {
        let plain = usage
            .input
            .saturating_sub(usage.cached)
            .saturating_sub(usage.cache_write);
        let per = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        per(plain, self.input)
            + per(usage.cached, self.cached_input.unwrap_or(self.input))
            + per(usage.cache_write, self.cache_write.unwrap_or(self.input))
            + per(usage.output, self.output)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    pub headers: Duration,
    pub first_token: Duration,
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            headers: Duration::from_secs(60),
            first_token: Duration::from_secs(300),
            idle: Duration::from_secs(120),
        }
    }
}
