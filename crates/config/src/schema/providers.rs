//! `[[providers]]` and `[models]`: endpoints, keys, prices and time limits as they are written.

use crate::oauth::OauthConfig;
use crate::units::{Seconds, non_negative};
use ostler_llm::BuiltinProvider;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A model endpoint.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
// tidy: plain data
pub struct ProviderConfig {
    /// The name used in "provider/model".
    pub name: String,
    /// The wire protocol it speaks.
    #[serde(default)]
    pub kind: Option<String>,
    /// Which of the protocol's interfaces, where it has two.
    #[serde(default)]
    pub api: Option<Api>,
    /// Where requests go, without the path of the request itself.
    #[serde(default)]
    pub base_url: Option<String>,
    /// A variable that overrides `base_url` when it is set and not empty.
    #[serde(default)]
    pub base_url_env: Option<String>,
    /// Its only model. Use `models` for several.
    #[serde(default)]
    pub model: Option<String>,
    /// Its models.
    #[serde(default)]
    pub models: Vec<String>,
    /// The model that the bare provider name means; else the first.
    #[serde(default)]
    pub default: Option<String>,
    /// The variable that holds the key.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// A file that holds the key.
    #[serde(default)]
    pub api_key_file: Option<String>,
    /// The key itself. Better kept in `<home>/.env` or a variable.
    #[serde(default)]
    pub api_key: Option<String>,
    /// How requests are authorised.
    #[serde(default)]
    pub auth: Option<AuthKind>,
    /// Where `ostler login` gets tokens.
    #[serde(default)]
    pub oauth: Option<OauthConfig>,
    /// Context window in tokens, over what the catalog knows; 0 means never compact.
    #[serde(default)]
    pub context_window: Option<u64>,
    /// Most tokens of one answer that the endpoint takes, over what the catalog knows.
    #[serde(default)]
    pub max_output: Option<u64>,
    /// Price, over what the catalog knows.
    #[serde(default)]
    pub price: Option<Price>,
    /// Extra HTTP headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Extra fields of the request body.
    #[serde(default)]
    pub extra_body: serde_json::Map<String, serde_json::Value>,
    /// Deviations of this endpoint from its protocol.
    #[serde(default)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub quirks: toml::Table,
    /// false for endpoints that cannot stream.
    #[serde(default)]
    pub stream: Option<bool>,
    /// Timeouts of this endpoint, over `[network.timeouts]`.
    #[serde(default)]
    pub timeouts: Timeouts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    #[serde(alias = "chat")]
    Completions,
    Responses,
}

impl Api {
    pub fn as_str(self) -> &'static str {
        match self {
            Api::Completions => "completions",
            Api::Responses => "responses",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AuthKind {
    /// A key, or a token from `ostler login` where there is none.
    #[default]
    ApiKey,
    /// A token from `ostler login`, and no key.
    Login,
}

/// USD per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Price {
    /// Prompt tokens.
    #[serde(deserialize_with = "non_negative")]
    #[schemars(range(min = 0.0))]
    pub input: Option<f64>,
    /// Prompt tokens read from the cache; the input price when unset.
    #[serde(deserialize_with = "non_negative")]
    #[schemars(range(min = 0.0))]
    pub cached_input: Option<f64>,
    /// Prompt tokens written to the cache; the input price when unset.
    #[serde(deserialize_with = "non_negative")]
    #[schemars(range(min = 0.0))]
    pub cache_write: Option<f64>,
    /// Tokens of the answer, reasoning included.
    #[serde(deserialize_with = "non_negative")]
    #[schemars(range(min = 0.0))]
    pub output: Option<f64>,
}

/// Seconds; fractions are fine, 0 means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Timeouts {
    /// Until the connection stands (10).
    pub connect: Option<Seconds>,
    /// Until the answer's headers arrive (60).
    pub headers: Option<Seconds>,
    /// Until the first token (300).
    pub first_token: Option<Seconds>,
    /// Silence within the stream (120); comments of the stream count as life.
    pub idle: Option<Seconds>,
}

/// One model with its own endpoint.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelProfile {
    /// Where requests go.
    pub api_base_url: Option<String>,
    /// The wire protocol, when it is not the usual one of `api`.
    pub kind: Option<String>,
    /// Which interface the endpoint has.
    pub api: Option<Api>,
    /// How requests are authorised.
    pub auth: Option<AuthKind>,
    /// Where `ostler login` gets tokens.
    pub oauth: Option<OauthConfig>,
    /// The key itself. Exactly one of `api_key`, `api_key_env`, `api_key_file` may be given.
    pub api_key: Option<String>,
    /// The variable that holds the key.
    pub api_key_env: Option<String>,
    /// A file that holds the key.
    pub api_key_file: Option<String>,
    /// The model's name at the endpoint; the name of this table when unset.
    pub model: Option<String>,
    /// Context window in tokens; 0 means never compact.
    pub context_limit: Option<u64>,
}

/// The built-in providers in the form of the configuration.
pub fn built_in(rows: &[BuiltinProvider]) -> Vec<ProviderConfig> {
    let set = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    rows.iter()
        .map(|row| ProviderConfig {
            name: row.name.clone(),
            kind: set(&row.kind),
            base_url: set(&row.base_url),
            base_url_env: row.base_url_env.clone(),
            models: row.models.clone(),
            default: set(&row.default),
            api_key_env: row.api_key_env.clone(),
            quirks: row.quirks.clone(),
            ..ProviderConfig::default()
        })
        .collect()
}
