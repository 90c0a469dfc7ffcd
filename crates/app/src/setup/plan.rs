//! Which provider `setup` is about: from the flags, or from what is found on this machine. It tests and writes nothing.

use super::desk::{Desk, Row};
use super::local::{self, LocalServer, StoppedServer};
use crate::boot::Boot;
use crate::cmd::choose::Picked;
use crate::cmd::probe::Endpoint;
use crate::errors::UsageError;
use crate::flags::Setup;
use anyhow::{anyhow, bail};
use ostler_config::check::parse_base_url;
use ostler_config::diagnose::nearest;
use ostler_config::keys::{Key, KeyError};
use ostler_config::providers::{Provider, usual_kind};
use ostler_config::resolve::Resolver;
use ostler_config::text::Speak as _;
use ostler_config::tree::Layer;
use ostler_llm::Secret;
use ostler_tui::dialog::{Question, Typing};
use ostler_wire::{Language, Why, Word};

/// The name of a server that is given by its address alone.
const UNNAMED: &str = "custom";

/// Everything needed to test a provider and write it down.
#[derive(Debug, Clone)]
pub struct Plan {
    pub endpoint: Endpoint,
    /// The variable that holds the key, when the provider wants one.
    pub key_name: Option<String>,
    /// Where the key was found; nothing when it was given just now and has to be saved.
    pub key_source: Option<Why>,
    /// Models that the configuration knows, the default first.
    pub models: Vec<String>,
    /// What has to stand in the configuration beside the model.
    pub fields: Vec<(&'static str, String)>,
}

/// The plan, or nothing when the person left.
pub async fn make(boot: &Boot, args: &Setup, desk: &mut Desk) -> anyhow::Result<Option<Plan>> {
    let language = boot.language;
    let resolver = boot.resolver();
    let named = named(boot, args, &resolver);
    let mut plan = if named.is_some() || args.base_url.is_some() {
        by_flags(boot, args, &resolver, named)?
    } else {
        match by_choice(boot, &resolver, desk).await? {
            Some(plan) => plan,
            None => return Ok(None),
        }
    };
    if let Some(kind) = &args.kind {
        plan.endpoint.kind = known_kind(kind, language)?;
        plan.fields.retain(|(field, _)| *field != "kind");
        plan.fields.insert(0, ("kind", plan.endpoint.kind.clone()));
    }
    Ok(Some(plan))
}

/// The provider that the flags speak of.
fn named(boot: &Boot, args: &Setup, resolver: &Resolver<'_>) -> Option<String> {
    let of_model = || {
        let model = boot.global.model.as_deref()?;
        let prefix = model.split_once('/').map_or(model, |(prefix, _)| prefix);
        let providers = resolver.providers();
        let by_name = providers.iter().find(|p| p.config.name == prefix);
        let found = by_name.or_else(|| providers.iter().find(|p| p.lists(model)))?;
        Some(found.config.name.clone())
    };
    args.provider
        .clone()
        .or_else(|| boot.global.provider.clone())
        .or_else(of_model)
}

fn by_flags(
    boot: &Boot,
    args: &Setup,
    resolver: &Resolver<'_>,
    named: Option<String>,
) -> anyhow::Result<Plan> {
    let language = boot.language;
    let known = named
        .as_ref()
        .and_then(|name| resolver.providers().iter().find(|p| p.config.name == *name));
    let url = args
        .base_url
        .as_deref()
        .map(|url| address(url, language))
        .transpose()?;
    match (known, url) {
        (Some(provider), None) => of_provider(boot, resolver, provider),
        (Some(provider), Some(url)) => {
            let mut plan = of_provider(boot, resolver, provider)?;
            plan.endpoint.base_url.clone_from(&url);
            plan.fields.push(("base_url", url));
            Ok(plan)
        }
        (None, Some(url)) => Ok(of_address(named.unwrap_or_else(|| UNNAMED.into()), url)),
        (None, None) => {
            let name = named.unwrap_or_default();
            let names = || resolver.providers().iter().map(|p| p.config.name.as_str());
            let hint = nearest(&name, names())
                .map_or_else(String::new, |near| language.filled(Word::OrNear, &[&near]));
            let all: Vec<&str> = names().collect();
            Err(
                UsageError(language.filled(Word::PlanNoProvider, &[&name, &hint, &all.join(", ")]))
                    .into(),
            )
        }
    }
}

fn address(written: &str, language: Language) -> anyhow::Result<String> {
    match parse_base_url(written) {
        Ok(Some(url)) => Ok(url.as_str().trim_end_matches('/').to_owned()),
        Ok(None) => Err(UsageError(language.say(Word::PlanEmptyUrl).into()).into()),
        Err(message) => Err(UsageError(format!("--base-url {written}: {message}")).into()),
    }
}

fn known_kind(kind: &str, language: Language) -> anyhow::Result<String> {
    if ostler_llm::kind(kind).is_some() {
        return Ok(kind.to_owned());
    }
    let names: Vec<&str> = ostler_llm::kinds()
        .iter()
        .map(|k| k.name.as_str())
        .collect();
    let hint = nearest(kind, names.iter().copied())
        .map_or_else(String::new, |near| language.filled(Word::OrNear, &[&near]));
    Err(UsageError(language.filled(Word::PlanNoKind, &[&kind, &hint, &names.join(", ")])).into())
}

fn of_provider(boot: &Boot, resolver: &Resolver<'_>, provider: &Provider) -> anyhow::Result<Plan> {
    let language = boot.language;
    let config = &provider.config;
    let name = &config.name;
    // Otherwise a checked-out folder could have a key sent wherever it likes.
    if provider.layer == Layer::Project {
        bail!(language.filled(Word::PlanByProject, &[&name]));
    }
    let key = match resolver.key(provider) {
        Ok(key) => key,
        Err(KeyError::Missing { .. }) => None,
        Err(error @ (KeyError::File { .. } | KeyError::Unsendable { .. })) => {
            return Err(error.into());
        }
    };
    if key.is_none() && config.oauth.is_some() {
        bail!(language.filled(Word::PlanByLogin, &[&name, &name]));
    }
    let mut models: Vec<String> = Vec::new();
    for model in provider
        .default_model()
        .into_iter()
        .chain(provider.models())
    {
        if !models.iter().any(|m| m == model) {
            models.push(model.to_owned());
        }
    }
    let base = provider
        .address(&boot.env)
        .map_err(|e| anyhow!(language.filled(Word::CfgProvider, &[&name, &"", &e])))?;
    Ok(Plan {
        endpoint: Endpoint {
            provider: name.clone(),
            kind: provider
                .kind()
                .map_err(|e| anyhow!(language.filled(Word::CfgProvider, &[&name, &"", &e])))?,
            base_url: base.map(|address| address.base()).unwrap_or_default(),
            key: key.as_ref().map(|key| Secret::new(key.value.reveal())),
            headers: config.headers.clone().into_iter().collect(),
        },
        key_name: config.api_key_env.clone(),
        key_source: key.map(|key| key.source),
        models,
        fields: Vec::new(),
    })
}

fn of_address(name: String, url: String) -> Plan {
    let kind = usual_kind().unwrap_or_default();
    Plan {
        endpoint: Endpoint {
            provider: name,
            kind: kind.clone(),
            base_url: url.clone(),
            key: None,
            headers: Vec::new(),
        },
        key_name: None,
        key_source: None,
        models: Vec::new(),
        fields: vec![("kind", kind), ("base_url", url)],
    }
}

/// Something on this machine that setup could be about.
struct Candidate {
    name: String,
    why: String,
    what: What,
}

enum What {
    Provider(usize),
    Server(LocalServer),
    /// One that does not run yet.
    Stopped(StoppedServer),
    /// An address that the person will type.
    Elsewhere,
}

async fn by_choice(
    boot: &Boot,
    resolver: &Resolver<'_>,
    desk: &mut Desk,
) -> anyhow::Result<Option<Plan>> {
    let language = boot.language;
    let kind = usual_kind().unwrap_or_default();
    loop {
        let looks = local::find(&kind, language);
        let Some(servers) = desk.wait(language.say(Word::PlanLooks), looks).await? else {
            return Ok(None);
        };
        let stopped = local::stopped(&servers);
        let (mut all, without_key) = candidates(resolver, servers, language);
        if desk.is_away() {
            let names: Vec<&str> = all.iter().map(|c| c.name.as_str()).collect();
            let several = language.filled(Word::PlanSeveral, &[&names.join(", ")]);
            return match all.len() {
                0 => Err(nothing_found(resolver, language)),
                1 => of_candidate(boot, resolver, desk, all.remove(0).what).await,
                _ => Err(UsageError(several).into()),
            };
        }
        all.extend(without_key);
        all.extend(stopped.into_iter().map(|server| Candidate {
            name: server.name.clone(),
            why: language.filled(Word::PlanStopped, &[&server.start]),
            what: What::Stopped(server),
        }));
        all.push(Candidate {
            name: "another".into(),
            why: language.say(Word::PlanByAddress).into(),
            what: What::Elsewhere,
        });
        let rows = all
            .iter()
            .map(|c| Row::new(c.name.as_str(), c.why.as_str()));
        let rows: Vec<Row> = rows.collect();
        let question = language.say(Word::PlanWhich);
        let chosen = match desk.pick(question, &rows, language).await? {
            Picked::Option(i) => i,
            Picked::Left => return Ok(None),
            Picked::Other(name) => match all.iter().position(|c| c.name == name) {
                Some(i) => i,
                None => bail!(language.filled(Word::PlanNoName, &[&name])),
            },
        };
        match all.into_iter().nth(chosen).map(|c| c.what) {
            // Who has started it finds it in the list.
            Some(What::Stopped(server)) => {
                desk.say(&language.filled(Word::PlanStart, &[&server.name, &server.start]))?;
            }
            Some(what) => return of_candidate(boot, resolver, desk, what).await,
            None => return Ok(None),
        }
    }
}

async fn of_candidate(
    boot: &Boot,
    resolver: &Resolver<'_>,
    desk: &mut Desk,
    what: What,
) -> anyhow::Result<Option<Plan>> {
    let language = boot.language;
    match what {
        What::Provider(i) => match resolver.providers().get(i) {
            Some(provider) => of_provider(boot, resolver, provider).map(Some),
            None => Ok(None),
        },
        What::Server(server) => {
            let mut plan = of_address(server.name, server.base_url);
            plan.models = server.models;
            Ok(Some(plan))
        }
        What::Stopped(_) => Ok(None),
        What::Elsewhere => {
            let question = Question {
                title: language.say(Word::PlanAskUrl),
                hint: "",
                typing: Typing::Shown,
            };
            match desk.ask(&question).await? {
                Some(url) => Ok(Some(of_address(UNNAMED.into(), address(&url, language)?))),
                None => Ok(None),
            }
        }
    }
}

/// What can be used as it is, and the providers that only lack a key.
fn candidates(
    resolver: &Resolver<'_>,
    servers: Vec<LocalServer>,
    language: Language,
) -> (Vec<Candidate>, Vec<Candidate>) {
    let (mut ready, mut without_key) = (Vec::new(), Vec::new());
    let mut servers = servers;
    for (i, provider) in resolver.providers().iter().enumerate() {
        let name = provider.config.name.clone();
        let running = servers
            .iter()
            .position(|s| s.name == name)
            .map(|at| servers.remove(at));
        let candidate = |why: String| Candidate {
            name: name.clone(),
            why,
            what: What::Provider(i),
        };
        // `setup` is about keys; a login has a command of its own.
        let is_login = provider.config.oauth.is_some();
        match (resolver.key(provider), running) {
            (Ok(Some(Key { source, .. })), _) => {
                ready.push(candidate(language.filled(Word::DocKeyIn, &[&source])))
            }
            (Ok(None), Some(server)) => ready.push(candidate(
                language.filled(Word::PlanRunning, &[&server.base_url]),
            )),
            (Ok(None), None) if provider.configured && !is_login => {
                ready.push(candidate(language.say(Word::PlanConfigured).into()))
            }
            (Ok(None), None) => {}
            (Err(KeyError::Missing { .. }), _) if is_login => {}
            (Err(KeyError::Missing { .. }), _) => {
                let page = key_page(&name);
                without_key.push(candidate(match page {
                    Some(page) => language.filled(Word::PlanGetKey, &[&page]),
                    None => language.say(Word::PlanNoKeyYet).into(),
                }));
            }
            (Err(KeyError::File { .. } | KeyError::Unsendable { .. }), _) => {
                without_key.push(candidate(language.say(Word::PlanBadKey).into()));
            }
        }
    }
    ready.extend(servers.into_iter().map(|server| Candidate {
        name: server.name.clone(),
        why: language.filled(Word::PlanRunning, &[&server.base_url]),
        what: What::Server(server),
    }));
    (ready, without_key)
}

/// Where a person gets a key for a provider.
pub fn key_page(provider: &str) -> Option<&'static str> {
    let mut all = ostler_llm::builtin_providers().iter();
    all.find(|known| known.name == provider)?
        .key_page
        .as_deref()
}

fn nothing_found(resolver: &Resolver<'_>, language: Language) -> anyhow::Error {
    let variables: Vec<&str> = resolver
        .providers()
        .iter()
        .filter_map(|p| p.config.api_key_env.as_deref())
        .collect();
    anyhow!(language.filled(Word::PlanNothing, &[&variables.join(", ")]))
}
