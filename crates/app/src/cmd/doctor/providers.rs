//! What `doctor` finds about the model and the providers: keys, logins, and whether they can be reached.

use super::{Finding, Status};
use crate::boot::Boot;
use crate::cmd::probe::{Answer, Endpoint, Probe};
use crate::errors::Told as _;
use ostler_config::keys::KeyError;
use ostler_config::providers::Provider;
use ostler_config::resolve::{LoginError, ResolveError, Resolver, UsableLogin};
use ostler_config::schema::AuthKind;
use ostler_config::text::Speak as _;
use ostler_engine::Models as _;
use ostler_llm::Target;
use ostler_wire::{Language, Say, Word};
use tokio::task::JoinSet;

pub fn model(boot: &Boot) -> Finding {
    let language = boot.language;
    let resolver = boot.resolver();
    let resolved = match boot.wanted_model() {
        Some(reference) => resolver.resolve(&reference),
        None => resolver.default(),
    };
    match resolved {
        Ok(model) => {
            let key = match (&model.key, &model.login) {
                (Some(key), _) => language.filled(Word::DocKeyIn, &[&key.source]),
                (None, Some(login)) => login.name.say(language),
                (None, None) => language.say(Word::DocNeedsNone).into(),
            };
            Finding::ok(
                "model",
                model.reference() + language.say(Word::Comma) + &key,
            )
        }
        Err(error) => {
            let whole = error.say(language);
            let (text, fix) = whole
                .split_once('\n')
                .unwrap_or((&whole, language.say(Word::DocRunSetup)));
            let finding = Finding::new(Status::Problem, "model", text);
            match error {
                ResolveError::NoModel { .. }
                | ResolveError::Key(_)
                | ResolveError::Login(_)
                | ResolveError::Unknown { .. }
                | ResolveError::Redirected { .. }
                | ResolveError::Unusable { .. }
                | ResolveError::KeySource(_) => finding.fix(fix),
            }
        }
    }
}

pub fn providers(resolver: &Resolver<'_>, language: Language) -> Vec<Finding> {
    let has_none = |provider: &&Provider| {
        let missing = || matches!(resolver.key(provider), Err(KeyError::Missing { .. }));
        !provider.configured && missing() && resolver.login(provider).is_none()
    };
    let all = resolver.providers();
    let known = all.iter().filter(|provider| !has_none(provider));
    let mut found: Vec<Finding> = known
        .map(|provider| one_provider(resolver, provider, language))
        .collect();
    let without: Vec<&str> = all
        .iter()
        .filter(has_none)
        .map(|provider| provider.config.name.as_str())
        .collect();
    if !without.is_empty() {
        let text = language.filled(Word::DocProvidersNoKey, &[&without.join(", ")]);
        found.push(Finding::ok("provider", text));
    }
    found
}

fn one_provider(resolver: &Resolver<'_>, provider: &Provider, language: Language) -> Finding {
    let name = &provider.config.name;
    let key = resolver.key(provider);
    let no_key = matches!(key, Ok(None) | Err(KeyError::Missing { .. }));
    if (no_key || provider.config.auth == Some(AuthKind::Login))
        && let Some(login) = resolver.login(provider)
    {
        return one_login(name, login, language);
    }
    match key {
        Ok(Some(key)) => match key.warning {
            None => Finding::ok(
                "provider",
                language.filled(Word::DocProviderKey, &[&name, &key.source]),
            ),
            Some(warning) => Finding::new(
                Status::Note,
                "provider",
                format!("{name}: {}", warning.say(language)),
            ),
        },
        Ok(None) => Finding::ok("provider", language.filled(Word::DocProviderNone, &[&name])),
        Err(error @ KeyError::Missing { .. }) => Finding::new(
            Status::Note,
            "provider",
            format!("{name}: {}", error.say(language)),
        )
        .fix(language.say(Word::DocSaveKey)),
        Err(error @ (KeyError::File { .. } | KeyError::Unsendable { .. })) => Finding::new(
            Status::Problem,
            "provider",
            format!("{name}: {}", error.say(language)),
        ),
    }
}

fn one_login(name: &str, login: Result<UsableLogin, LoginError>, language: Language) -> Finding {
    let error = match login {
        Ok(login) => return Finding::ok("provider", format!("{name}: {}", login.name)),
        Err(error) => error,
    };
    let whole = error.say(language);
    let (text, fix) = whole.split_once('\n').unwrap_or((&whole, ""));
    let status = match error {
        LoginError::Missing { .. } | LoginError::Elsewhere { .. } => Status::Note,
        LoginError::NoIssuer { .. } | LoginError::Store(_) => Status::Problem,
    };
    let finding = Finding::new(status, "provider", format!("{name}: {text}"));
    match fix {
        "" => finding,
        fix => finding.fix(fix),
    }
}

/// Asks every provider that could be used for its models.
pub async fn reachability(boot: &Boot) -> Vec<Finding> {
    let language = boot.language;
    let probe = match Probe::new(boot) {
        Ok(probe) => probe,
        Err(error) => {
            return vec![Finding::new(
                Status::Problem,
                "online",
                language.told(&error),
            )];
        }
    };
    let resolver = boot.resolver();
    let mut asking = JoinSet::new();
    for (i, provider) in resolver.providers().iter().enumerate() {
        let name = provider.config.name.clone();
        // Resolving also makes sure that a key goes only where it belongs.
        let Ok(target) = boot.resolve(Some(&name)) else {
            continue;
        };
        let silence = match provider.configured || target.key.is_some() {
            true => Status::Problem,
            false => Status::Ok,
        };
        let probe = probe.clone();
        asking.spawn(async move {
            let answer = ask(&probe, &name, target).await;
            (i, online(&name, answer, silence, language))
        });
    }
    let mut findings = asking.join_all().await;
    findings.sort_by_key(|(i, _)| *i);
    findings
        .into_iter()
        .filter_map(|(_, finding)| finding)
        .collect()
}

async fn ask(probe: &Probe, name: &str, target: Target) -> Result<Answer, String> {
    let key = match &target.key {
        Some(key) => Some(
            key.current()
                .await
                .map_err(|error| error.say(probe.language))?,
        ),
        None => None,
    };
    let endpoint = Endpoint {
        provider: name.to_owned(),
        kind: target.kind,
        base_url: target.base_url,
        key,
        headers: target.headers,
    };
    probe.models(&endpoint).await
}

/// `silence` is what it means when a provider cannot be reached: nothing for one that nobody set up.
fn online(
    name: &str,
    answer: Result<Answer, String>,
    silence: Status,
    language: Language,
) -> Option<Finding> {
    Some(match answer {
        Ok(Answer::Models(models)) => Finding::ok(
            "online",
            language.filled(
                Word::DocAnswers,
                &[&name, &language.counted(models.len(), Word::ManyModels)],
            ),
        ),
        Ok(Answer::NoList) => Finding::ok("online", language.filled(Word::DocNoList, &[&name])),
        Ok(Answer::NoServer) => return None,
        Err(_) if silence == Status::Ok => {
            Finding::ok("online", language.filled(Word::DocNotRunning, &[&name]))
        }
        Err(message) => Finding::new(silence, "online", format!("{name}: {message}")),
    })
}
