//! The providers there are: the built-in ones with the configuration laid over them, and what
//! follows from an entry (its protocol, its address, its models). It picks none.

pub use crate::schema::built_in;
use crate::text::phrase;
use ostler_wire::{Why, Word};
use std::collections::BTreeMap;

use url::Url;

use crate::check::parse_base_url;
use crate::layers::Loaded;
use crate::paths::Env;
use crate::schema::ProviderConfig;
use crate::tree::{Layer, Place};

/// Overrides the address of whatever provider is selected.
pub const BASE_URL_OVERRIDE: &str = "OSTLER_BASE_URL";
const APIS: &str = include_str!("apis.toml");

/// A provider with everything known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    pub config: ProviderConfig,
    /// Who decides where its requests go and with which key.
    pub layer: Layer,
    /// Whether a configuration names it; the others are only built in.
    pub configured: bool,
    /// Whether it is compiled in, perhaps changed by the configuration.
    pub built_in: bool,
    /// Where the configuration names it.
    pub place: Option<Place>,
}

/// Configured providers first, in the order of the files, then the other built-in ones.
pub fn all(loaded: &Loaded, built_in: &[ProviderConfig]) -> Vec<Provider> {
    let configured = loaded.config.providers.iter().map(|entry| Provider {
        config: over_built_in(entry, built_in),
        layer: loaded.provider_layer(&entry.name),
        configured: true,
        built_in: built_in.iter().any(|base| base.name == entry.name),
        place: loaded.provider_place(&entry.name),
    });
    let names: Vec<&str> = loaded
        .config
        .providers
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    let rest = built_in
        .iter()
        .filter(|entry| !names.contains(&entry.name.as_str()))
        .map(|entry| Provider {
            config: entry.clone(),
            layer: Layer::Default,
            configured: false,
            built_in: true,
            place: None,
        });
    configured.chain(rest).collect()
}

/// An entry completed by the built-in provider of its name.
pub fn over_built_in(entry: &ProviderConfig, built_in: &[ProviderConfig]) -> ProviderConfig {
    let mut out = entry.clone();
    let Some(base) = built_in.iter().find(|base| base.name == entry.name) else {
        inherit_address(&mut out, built_in);
        return out;
    };
    let base = base.clone();
    out.kind = out.kind.or(base.kind);
    out.api = out.api.or(base.api);
    out.base_url = out.base_url.filter(|url| !url.is_empty()).or(base.base_url);
    out.base_url_env = out.base_url_env.or(base.base_url_env);
    if out.model.is_none() && out.models.is_empty() {
        out.model = base.model;
        out.models = base.models;
        out.default = out.default.or(base.default);
    }
    out.api_key_env = out.api_key_env.or(base.api_key_env);
    out.api_key_file = out.api_key_file.or(base.api_key_file);
    out.auth = out.auth.or(base.auth);
    out.oauth = out.oauth.or(base.oauth);
    out.context_window = out.context_window.or(base.context_window);
    out.max_output = out.max_output.or(base.max_output);
    out.price = out.price.or(base.price);
    out.stream = out.stream.or(base.stream);
    let mut headers = base.headers;
    headers.append(&mut out.headers);
    out.headers = headers;
    let mut extra_body = base.extra_body;
    extra_body.append(&mut out.extra_body);
    out.extra_body = extra_body;
    let mut quirks = base.quirks;
    quirks.extend(out.quirks);
    out.quirks = quirks;
    out
}

/// A protocol that only one built-in provider speaks has a usual address.
fn inherit_address(entry: &mut ProviderConfig, built_in: &[ProviderConfig]) {
    if entry.base_url.as_ref().is_some_and(|url| !url.is_empty()) || entry.api.is_some() {
        return;
    }
    let mut same = built_in
        .iter()
        .filter(|base| base.kind.is_some() && base.kind == entry.kind);
    if let (Some(only), None) = (same.next(), same.next()) {
        entry.base_url = only.base_url.clone();
        if entry.base_url_env.is_none() {
            entry.base_url_env = only.base_url_env.clone();
        }
    }
}

impl Provider {
    /// The model that the bare provider name means.
    pub fn default_model(&self) -> Option<&str> {
        let config = &self.config;
        let named = config.default.as_deref().or(config.model.as_deref());
        named.or_else(|| config.models.first().map(String::as_str))
    }

    pub fn models(&self) -> impl Iterator<Item = &str> {
        let config = &self.config;
        let single = config.model.iter().chain(config.default.iter());
        single.chain(config.models.iter()).map(String::as_str)
    }

    pub fn lists(&self, model: &str) -> bool {
        self.models().any(|name| name == model)
    }

    /// The wire protocol.
    pub fn kind(&self) -> Result<String, Why> {
        let config = &self.config;
        match (config.kind.as_deref(), config.api) {
            (Some(kind), None) => Ok(kind.to_owned()),
            (None, None) => Err(Why::from(Word::ProvNoKind)),
            (kind, Some(api)) => {
                let kinds = kinds_of_apis();
                match (kind, kinds.get(api.as_str())) {
                    (None, Some(meant)) => Ok(meant.clone()),
                    (Some(kind), Some(meant)) if kinds.values().any(|known| known == kind) => {
                        Ok(meant.clone())
                    }
                    (Some(kind), _) => Err(phrase(Word::ProvApiKind, &[&kind])),
                    (None, None) => Err(phrase(Word::ProvApi, &[&api.as_str()])),
                }
            }
        }
    }

    /// Whether a program answers, and no server.
    fn is_program(&self) -> bool {
        self.config.kind.as_deref() == Some(ostler_llm::PLUGIN_KIND)
    }

    /// Where requests go. None for a built-in provider that has no server.
    pub fn address(&self, env: &Env) -> Result<Option<Address>, Why> {
        let names = [Some(BASE_URL_OVERRIDE), self.config.base_url_env.as_deref()];
        for name in names.into_iter().flatten() {
            let value = env.get(name).map(String::as_str).unwrap_or_default();
            let parsed = parse_base_url(value)
                .map_err(|error| Why::joined([format!("{name}: ").into(), error]))?;
            if let Some(url) = parsed {
                let from_env = Some(name.to_owned());
                return Ok(Some(Address { url, from_env }));
            }
        }
        let written = self.config.base_url.as_deref().unwrap_or_default();
        match parse_base_url(written)? {
            Some(url) => Ok(Some(Address {
                url,
                from_env: None,
            })),
            None if self.built_in || self.is_program() => Ok(None),
            None => Err(Why::from(Word::ProvNoBase)),
        }
    }
}

/// Where a provider's requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub url: Url,
    /// The variable that said so.
    pub from_env: Option<String>,
}

impl Address {
    /// Without a slash at the end, so that paths can be appended.
    pub fn base(&self) -> String {
        self.url.as_str().trim_end_matches('/').to_owned()
    }
}

/// The protocol for servers that are known by their address only.
pub fn usual_kind() -> Option<String> {
    kinds_of_apis().remove("completions")
}

fn kinds_of_apis() -> BTreeMap<String, String> {
    toml::from_str(APIS).unwrap_or_default()
}
