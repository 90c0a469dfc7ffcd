//! From a model reference to everything a request needs: endpoint, model, key, limits. It opens
//! no connection and prints nothing.

mod login;

pub use login::{LoginError, UsableLogin};

use crate::text::phrase;
use ostler_wire::{Why, Word};
use std::collections::BTreeMap;
use std::time::Duration;

use url::Url;

use crate::diagnose::nearest;
use crate::keys::{self, Dotenv, Key, KeyError, KeyPlaces, ProcessEnv, Wanted};
use crate::layers::Loaded;
use crate::logins::Logins;
use crate::paths::Env;
use crate::providers::{Address, BASE_URL_OVERRIDE, Provider, all, over_built_in, usual_kind};
use crate::schema::{AuthKind, Price, ProviderConfig, Timeouts};
use crate::tree::{Layer, Place};
use crate::units::Seconds;

/// The provider that stands for a server given by `OSTLER_BASE_URL` alone.
const AD_HOC: &str = "custom";
/// Suggestions name at most so many.
const MAX_LISTED: usize = 12;

/// Everything a request to a model needs.
// tidy: plain data
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedModel {
    pub provider: String,
    pub kind: String,
    /// Without a slash at the end; empty when there is no server.
    pub base_url: String,
    pub model: String,
    pub variant: Option<String>,
    /// None when the provider needs none, or is used with a login.
    pub key: Option<Key>,
    pub login: Option<UsableLogin>,
    pub headers: BTreeMap<String, String>,
    pub extra_body: serde_json::Map<String, serde_json::Value>,
    pub quirks: toml::Table,
    /// What the configuration says; the catalog answers when it says nothing.
    pub context_window: Option<u64>,
    pub max_output: Option<u64>,
    pub price: Option<Price>,
    pub timeouts: ostler_llm::Timeouts,
    pub stream: bool,
    /// Who decides where its requests go and with which key.
    pub layer: Layer,
    /// Why this model, when nobody named one.
    pub picked: Option<Why>,
}

impl ResolvedModel {
    /// `provider/model[@variant]`.
    pub fn reference(&self) -> String {
        let variant = self.variant.iter().map(|variant| format!("@{variant}"));
        let variant: String = variant.collect();
        format!("{}/{}{variant}", self.provider, self.model)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum ResolveError {
    Unknown {
        reference: String,
        suggestion: Option<String>,
        known: Vec<String>,
    },
    /// Three lines: what is the matter, what to do, how to look around first.
    NoModel {
        variables: Vec<String>,
        general: Option<Why>,
    },
    Unusable {
        provider: String,
        message: Why,
        place: Option<Place>,
    },
    Key(KeyError),
    KeySource(KeyError),
    Login(LoginError),
    Redirected(Box<Redirected>),
}

impl From<&ResolveError> for Why {
    fn from(error: &ResolveError) -> Self {
        match error {
            ResolveError::Unknown {
                reference,
                suggestion,
                known,
            } => unknown_text(reference, suggestion.as_deref(), known),
            ResolveError::NoModel { variables, general } => {
                let general = general.clone().unwrap_or_else(|| "".into());
                phrase(Word::ModelNone, &[&general, &variables.join(", ")])
            }
            ResolveError::Unusable {
                provider,
                message,
                place,
            } => phrase(Word::CfgProvider, &[provider, &at(place.as_ref()), message]),
            ResolveError::Key(error) => phrase(Word::ModelNoKey, &[error]),
            ResolveError::KeySource(error) => error.into(),
            ResolveError::Login(error) => error.into(),
            ResolveError::Redirected(error) => (&**error).into(),
        }
    }
}

ostler_wire::told_by_why!(ResolveError);

/// A project's file sends a key to another host than the person meant it for.
#[derive(Debug, Clone, PartialEq)]
pub struct Redirected {
    pub provider: String,
    pub source_name: Why,
    pub bound: Why,
    pub now: String,
    pub place: Option<Place>,
}

impl From<&Redirected> for Why {
    fn from(error: &Redirected) -> Self {
        let Redirected {
            provider,
            source_name,
            bound,
            now,
            place,
        } = error;
        let place = at(place.as_ref());
        phrase(
            Word::ModelRedirected,
            &[provider, &place, source_name, bound, now],
        )
    }
}

ostler_wire::told_by_why!(Redirected);

fn at(place: Option<&Place>) -> String {
    place.map(|place| format!(" ({place})")).unwrap_or_default()
}

fn unknown_text(reference: &str, suggestion: Option<&str>, known: &[String]) -> Why {
    let hint = match suggestion {
        Some(near) => phrase(Word::OrNear, &[&near]),
        None => "".into(),
    };
    phrase(Word::ModelUnknown, &[&reference, &hint, &known.join(", ")])
}

/// Answers which model a reference means.
#[derive(Debug)]
pub struct Resolver<'a> {
    loaded: &'a Loaded,
    built_in: &'a [ProviderConfig],
    env: &'a Env,
    dotenv: &'a Dotenv,
    logins: Logins,
    providers: Vec<Provider>,
}

impl<'a> Resolver<'a> {
    pub fn new(
        loaded: &'a Loaded,
        built_in: &'a [ProviderConfig],
        env: &'a Env,
        dotenv: &'a Dotenv,
        logins: Logins,
    ) -> Self {
        Self {
            loaded,
            built_in,
            env,
            dotenv,
            logins,
            providers: all(loaded, built_in),
        }
    }

    /// All providers, configured ones first.
    pub fn providers(&self) -> &[Provider] {
        &self.providers
    }

    /// Every model that the configuration names.
    pub fn references(&self) -> Vec<String> {
        let configured = self.providers.iter().filter(|p| p.configured);
        let mut all: Vec<String> = Vec::new();
        for provider in configured {
            for model in provider.models() {
                let reference = format!("{}/{model}", provider.config.name);
                // It can be named as the default and in the list.
                if !all.contains(&reference) {
                    all.push(reference);
                }
            }
        }
        all
    }

    /// The configured default, or the first provider that has a key.
    pub fn default(&self) -> Result<ResolvedModel, ResolveError> {
        match self.loaded.config.default_model.as_deref().map(str::trim) {
            Some(reference) if !reference.is_empty() => self.resolve(reference),
            Some(_) | None => self.first_with_key(),
        }
    }

    /// What a reference means: a provider, a model, or `provider/model`, with `@variant`.
    pub fn resolve(&self, reference: &str) -> Result<ResolvedModel, ResolveError> {
        let reference = reference.trim();
        let is_listed = |choice: &Choice<'_>| choice.provider.lists(choice.model);
        let whole = self.choose(reference);
        // Names of models have an `@` too; what a provider lists is such a name.
        if !whole.as_ref().is_some_and(is_listed)
            && let Some((name, variant)) = reference.rsplit_once('@')
            && !variant.is_empty()
            && let Some(choice) = self.choose(name).filter(is_listed)
        {
            return self.complete(choice.provider, choice.model, Some(variant));
        }
        if let Some(choice) = whole {
            return self.complete(choice.provider, choice.model, None);
        }
        // A resumed session names its model with the provider.
        let model = reference
            .strip_prefix(AD_HOC)
            .and_then(|rest| rest.strip_prefix('/'));
        let model = model.unwrap_or(reference);
        if let Some(ad_hoc) = self.ad_hoc(model) {
            return self.complete(&ad_hoc, model, None);
        }
        Err(self.unknown(reference))
    }

    /// The key of a provider, for `doctor` and `setup`: where it is, or why not.
    pub fn key(&self, provider: &Provider) -> Result<Option<Key>, KeyError> {
        self.find_key(&provider.config, provider.layer)
    }

    fn find_key(&self, config: &ProviderConfig, layer: Layer) -> Result<Option<Key>, KeyError> {
        let wanted = Wanted {
            provider: &config.name,
            layer,
            env_name: config.api_key_env.as_deref(),
            file: config.api_key_file.as_deref(),
            literal: config.api_key.as_deref(),
        };
        keys::find(wanted, self.key_places())
    }

    fn key_places(&self) -> KeyPlaces<'_> {
        KeyPlaces {
            env: self.env,
            dotenv: self.dotenv,
            process_env: if self.loaded.config.auth.use_process_env {
                ProcessEnv::Use
            } else {
                ProcessEnv::Ignore
            },
        }
    }

    fn named(&self, name: &str) -> Option<&Provider> {
        self.providers
            .iter()
            .find(|provider| provider.config.name == name)
    }

    fn choose<'b>(&'b self, name: &'b str) -> Option<Choice<'b>> {
        if let Some(provider) = self.named(name) {
            // A provider without models is an error of its own, found later.
            let model = provider.default_model().unwrap_or_default();
            return Some(Choice { provider, model });
        }
        let listed = self.listing(name);
        let Some((prefix, model)) = name.split_once('/') else {
            return listed;
        };
        let Some(provider) = self.named(prefix).filter(|_| !model.is_empty()) else {
            return listed;
        };
        let split = Choice { provider, model };
        match listed {
            // Model names of resellers have a slash too: `vendor/model` in a list that a person
            // wrote, or where only the reseller has a key.
            Some(listed)
                if !provider.lists(model)
                    && (listed.provider.configured
                        || (!self.usable(provider) && self.usable(listed.provider))) =>
            {
                Some(listed)
            }
            Some(_) | None => Some(split),
        }
    }

    /// A provider that lists this very model, preferably one with a key.
    fn listing<'b>(&'b self, model: &'b str) -> Option<Choice<'b>> {
        let mut with = self
            .providers
            .iter()
            .filter(|provider| provider.lists(model));
        let first = with.next()?;
        let provider = if self.usable(first) {
            first
        } else {
            with.find(|provider| self.usable(provider)).unwrap_or(first)
        };
        Some(Choice { provider, model })
    }

    /// Whether the provider has its own key or login, or needs none.
    fn usable(&self, provider: &Provider) -> bool {
        self.own_key(provider) != Some(false)
    }

    /// Whether there is a key or a login meant for this provider; None when it needs none.
    fn own_key(&self, provider: &Provider) -> Option<bool> {
        let login = || self.login(provider).map(|login| login.is_ok());
        if provider.config.auth == Some(AuthKind::Login) {
            return login();
        }
        match self.find_own_key(provider) {
            Ok(Some(_)) => Some(true),
            Ok(None) => login(),
            Err(KeyError::Missing { .. }) => login().or(Some(false)),
            Err(KeyError::File { .. } | KeyError::Unsendable { .. }) => Some(false),
        }
    }

    fn find_own_key(&self, provider: &Provider) -> Result<Option<Key>, KeyError> {
        // The general key says nothing about which provider is meant.
        self.find_key(&provider.config, Layer::Project)
    }

    /// A key that is there but cannot be used, which is not the same as none.
    fn unusable_key(&self) -> Option<KeyError> {
        let mut faults = self
            .providers
            .iter()
            .filter_map(|p| self.find_own_key(p).err());
        faults.find(|fault| match fault {
            KeyError::File { .. } | KeyError::Unsendable { .. } => true,
            KeyError::Missing { .. } => false,
        })
    }

    fn first_with_key(&self) -> Result<ResolvedModel, ResolveError> {
        let ready = |provider: &&Provider| match self.own_key(provider) {
            Some(has_key) => has_key,
            None => provider.configured && provider.default_model().is_some(),
        };
        // The general key is for whatever the person configured, not for a guess.
        let general = |provider: &&Provider| {
            provider.configured && provider.layer != Layer::Project && self.general_key()
        };
        let providers = || self.providers.iter();
        let pick = providers()
            .find(ready)
            .or_else(|| providers().find(general));
        let Some(provider) = pick else {
            return Err(match self.unusable_key() {
                Some(fault) => ResolveError::KeySource(fault),
                None => self.no_model(),
            });
        };
        let model = provider.default_model().unwrap_or_default();
        let mut resolved = self.complete(provider, model, None)?;
        resolved.picked = Some(match (&resolved.key, &resolved.login) {
            (Some(key), _) => phrase(Word::ModelPickKey, &[&resolved.provider, &key.source]),
            (None, Some(login)) => phrase(Word::ModelPickLogin, &[&resolved.provider, &login.name]),
            (None, None) => phrase(Word::ModelPickPlain, &[&resolved.provider]),
        });
        Ok(resolved)
    }

    fn general_key(&self) -> bool {
        let key = self.env.get(keys::OVERRIDE);
        key.is_some_and(|key| !key.trim().is_empty())
    }

    fn no_model(&self) -> ResolveError {
        let variables = self
            .built_in
            .iter()
            .filter_map(|entry| entry.api_key_env.clone());
        let general = Some(()).filter(|()| self.general_key());
        ResolveError::NoModel {
            variables: variables.collect(),
            general: general.map(|()| phrase(Word::ModelNeedsName, &[&keys::OVERRIDE])),
        }
    }

    /// A server known by its address only.
    fn ad_hoc(&self, model: &str) -> Option<Provider> {
        let url = self
            .env
            .get(BASE_URL_OVERRIDE)
            .filter(|url| !url.is_empty())?;
        Some(Provider {
            config: ProviderConfig {
                name: AD_HOC.into(),
                kind: usual_kind(),
                base_url: Some(url.clone()),
                model: Some(model.to_owned()),
                ..ProviderConfig::default()
            },
            layer: Layer::Environment,
            configured: true,
            built_in: false,
            place: None,
        })
    }

    fn unknown(&self, reference: &str) -> ResolveError {
        let names = || {
            self.providers
                .iter()
                .map(|provider| provider.config.name.as_str())
        };
        let models = self.providers.iter().flat_map(Provider::models);
        let mut suggestion = nearest(reference, names().chain(models)).map(str::to_owned);
        if let (None, Some((prefix, model))) = (&suggestion, reference.split_once('/')) {
            suggestion = nearest(prefix, names()).map(|near| format!("{near}/{model}"));
        }
        ResolveError::Unknown {
            reference: reference.to_owned(),
            suggestion,
            known: names().take(MAX_LISTED).map(str::to_owned).collect(),
        }
    }

    fn complete(
        &self,
        provider: &Provider,
        model: &str,
        variant: Option<&str>,
    ) -> Result<ResolvedModel, ResolveError> {
        let config = &provider.config;
        let unusable = |message: Why| ResolveError::Unusable {
            provider: config.name.clone(),
            message,
            place: provider.place.clone(),
        };
        if model.is_empty() {
            return Err(unusable(Why::from(Word::ModelNoList)));
        }
        let kind = provider.kind().map_err(&unusable)?;
        if ostler_llm::kind(&kind).is_none() {
            return Err(unusable(unknown_kind(&kind)));
        }
        let base_url = match provider.address(self.env).map_err(&unusable)? {
            Some(address) => {
                self.check_binding(provider, &address)?;
                address.base()
            }
            None => String::new(),
        };
        let (key, login) = self.credentials(provider)?;
        Ok(ResolvedModel {
            provider: config.name.clone(),
            kind,
            base_url,
            model: model.to_owned(),
            variant: variant.map(str::to_owned),
            key,
            login,
            headers: config.headers.clone(),
            extra_body: config.extra_body.clone(),
            quirks: config.quirks.clone(),
            context_window: config.context_window,
            max_output: config.max_output,
            price: config.price,
            timeouts: timeouts(config.timeouts, self.loaded.config.network.timeouts),
            stream: config.stream.unwrap_or(true),
            layer: provider.layer,
            picked: None,
        })
    }

    /// A key goes only to the origin it was meant for by the person: a project's file cannot
    /// point it elsewhere, trusted or not.
    fn check_binding(&self, provider: &Provider, address: &Address) -> Result<(), ResolveError> {
        if provider.layer != Layer::Project {
            return Ok(());
        }
        let now = origin(&address.url);
        let config = &provider.config;
        let before: Vec<ProviderConfig> = self
            .loaded
            .below_project
            .iter()
            .map(|entry| over_built_in(entry, self.built_in))
            .chain(self.built_in.iter().cloned())
            .collect();
        // A variable is the person's word, unless the project chose which.
        let is_own = |name: &str| {
            let names = before.iter().filter(|entry| entry.name == config.name);
            let mut names = names.filter_map(|entry| entry.base_url_env.as_deref());
            name == BASE_URL_OVERRIDE || names.any(|own| own == name)
        };
        if address.from_env.as_deref().is_some_and(is_own) {
            return Ok(());
        }
        let refused = |source_name: Why, bound: Why| {
            Err(ResolveError::Redirected(Box::new(Redirected {
                provider: config.name.clone(),
                source_name,
                bound,
                now: now.clone(),
                place: self.loaded.address_place(&config.name),
            })))
        };
        // Headers of the person's may hold a key, too.
        let headed =
            |entry: &&ProviderConfig| entry.name == config.name && !entry.headers.is_empty();
        if let Some(bound) = origins(&before, headed).into_iter().find(|o| *o != now) {
            return refused(Why::from(Word::ItsHeaders), bound.into());
        }
        let Ok(Some(key)) = self.key(provider) else {
            return Ok(());
        };
        // By value: a link, another variable or another spelling of the path is the same key.
        let shares = |entry: &&ProviderConfig| {
            let own = self.find_key(entry, Layer::Project);
            own.is_ok_and(|own| own.is_some_and(|own| own.value == key.value))
        };
        let bound = origins(&before, shares);
        let general = self.env.get(keys::OVERRIDE).map(|key| key.trim());
        match bound.first() {
            Some(first) if !bound.contains(&now) => refused(key.source, first.as_str().into()),
            None if general == Some(key.value.reveal()) => {
                refused(key.source, Why::from(Word::OwnProviders))
            }
            Some(_) | None => Ok(()),
        }
    }
}

struct Choice<'a> {
    provider: &'a Provider,
    model: &'a str,
}

fn unknown_kind(kind: &str) -> Why {
    let names: Vec<&str> = ostler_llm::kinds()
        .iter()
        .map(|known| known.name.as_str())
        .collect();
    match nearest(kind, names.iter().copied()) {
        Some(near) => phrase(Word::ProvNoKindNear, &[&kind, &near]),
        None => phrase(Word::ProvNoKindOf, &[&kind, &names.join(", ")]),
    }
}

/// Where those of the providers send to.
fn origins(providers: &[ProviderConfig], which: impl Fn(&&ProviderConfig) -> bool) -> Vec<String> {
    let urls = providers.iter().filter(which);
    urls.filter_map(|entry| entry.base_url.as_deref())
        .filter_map(|url| Url::parse(url).ok())
        .map(|url| origin(&url))
        .collect()
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn timeouts(own: Timeouts, general: Timeouts) -> ostler_llm::Timeouts {
    let usual = ostler_llm::Timeouts::default();
    let pick = |own: Option<Seconds>, general: Option<Seconds>, usual: Duration| {
        own.or(general).map_or(usual, Seconds::duration)
    };
    ostler_llm::Timeouts {
        connect: pick(own.connect, general.connect, usual.connect),
        headers: pick(own.headers, general.headers, usual.headers),
        first_token: pick(own.first_token, general.first_token, usual.first_token),
        idle: pick(own.idle, general.idle, usual.idle),
    }
}
