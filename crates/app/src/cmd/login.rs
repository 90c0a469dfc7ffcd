//! `ostler login`, `ostler logout` and `ostler auth`: talks to the person; what is said to the issuer is `auth`.

use crate::auth::{
    Attempt, Device, Endpoints, Http, Loopback, Tokens, browser_is_here, open_browser, revoke,
    wanted,
};
use crate::boot::Boot;
use crate::errors::{Told as _, UsageError};
use crate::exit::{INTERRUPTED, OK, TERMINATED};
use crate::flags;
use crate::output::{self, say};
use crate::remote;
use anyhow::{Context as _, anyhow, bail};
use jiff::Timestamp;
use ostler_config::logins::Login;
use ostler_config::oauth::{LoginFlow, OauthConfig, preset};
use ostler_config::providers::Provider;
use ostler_config::resolve::Resolver;
use ostler_config::schema::AuthKind;
use ostler_config::text::Speak as _;
use ostler_config::tree::Layer;
use ostler_host::signals::{Signals, Stop};
use ostler_wire::{Language, Word};
use serde_json::json;
use std::io::{self, IsTerminal as _};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::sync::mpsc;

/// How long the person has to come back from the browser.
const BROWSER_PATIENCE: Duration = Duration::from_secs(10 * 60);
/// What is read of standard input at most.
const MAX_PASTED_BYTES: u64 = 64 * 1024;

/// Whoever logs in.
pub struct Person {
    pub language: Language,
    pub say: Box<dyn Fn(&str) + Send + Sync>,
    /// What they paste, where they can.
    pub pasted: Option<mpsc::Receiver<String>>,
    /// How to paste it.
    pub hint: Word,
}

pub async fn login(boot: &Boot, args: flags::Login) -> anyhow::Result<u8> {
    let language = boot.language;
    if let Some(url) = args.provider.as_deref().filter(|name| remote::is_url(name)) {
        remote::log_in(boot, url).await?;
        return Ok(OK);
    }
    let mut signals = Signals::new()?;
    let may_paste = shown(boot, &args) == Show::Print || io::stdin().is_terminal();
    let person = Person {
        language,
        say: Box::new(say),
        pasted: may_paste.then(stdin_lines),
        hint: Word::LoginPaste,
    };
    let work = log_in(boot, &args, person);
    let stop = tokio::select! {
        done = work => {
            output::print(&output::visible(&format!("{}\n", done?)))?;
            return Ok(OK);
        }
        stop = signals.next() => stop,
    };
    say(language.say(Word::StoppedUnchanged));
    Ok(match stop {
        Stop::Interrupt => INTERRUPTED,
        Stop::Terminate => TERMINATED,
    })
}

pub async fn logout(boot: &Boot, args: flags::Logout) -> anyhow::Result<u8> {
    let language = boot.language;
    if let Some(url) = args.provider.as_deref().filter(|name| remote::is_url(name)) {
        remote::log_out(boot, url)?;
        return Ok(OK);
    }
    let done = log_out(boot, args.provider, language, &say).await?;
    output::print(&output::visible(&format!("{done}\n")))?;
    Ok(OK)
}

/// Forgets the login of a provider and takes it back at the issuer. What happened, for the person.
pub async fn log_out(
    boot: &Boot,
    provider: Option<String>,
    language: Language,
    say: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<String> {
    let logins = boot.logins();
    let provider = match provider {
        Some(provider) => provider,
        None => {
            let mut names: Vec<String> = logins.all()?.into_iter().map(|l| l.provider).collect();
            names.dedup();
            match names.as_slice() {
                [] => return Ok(language.say(Word::NoLogin).into()),
                [only] => only.clone(),
                several => {
                    let text = language.fill(Word::WhichLogin, &[&several.join(", ")]);
                    return Err(UsageError(text).into());
                }
            }
        }
    };
    let gone = logins.lock().await?.remove(&provider)?;
    if gone.is_empty() {
        return Ok(language.fill(Word::NoLoginOf, &[&provider]));
    }
    let resolver = boot.resolver();
    let configured = resolver
        .providers()
        .iter()
        .find(|p| p.config.name == provider && p.layer != Layer::Project);
    let secret = configured
        .and_then(|p| p.config.oauth.as_ref())
        .and_then(|oauth| oauth.client_secret.as_deref());
    let http = Http::new(boot.ca_files());
    for login in &gone {
        if let Some(Err(error)) = revoke(login, secret, &http).await {
            say(&language.fill(Word::NotRevoked, &[&language.told(&error)]));
        }
    }
    Ok(language.fill(Word::LoggedOut, &[&provider]))
}

/// The logins there are, and the providers that could have one. No token is shown.
pub fn status(boot: &Boot, format: flags::Listing) -> anyhow::Result<u8> {
    let language = boot.language;
    let logins = boot.logins();
    let all = logins.all()?;
    let resolver = boot.resolver();
    let now = Timestamp::now();
    match format {
        flags::Listing::Json => {
            let rows: Vec<_> = all.iter().map(|login| row(login, now)).collect();
            let without: Vec<&str> = without_login(&resolver, &all).collect();
            let whole = json!({"file": logins.path(), "logins": rows, "not_logged_in": without});
            output::print_json(&whole)?;
        }
        flags::Listing::Text => {
            let mut out = String::new();
            for login in &all {
                out.push_str(&line(login, &resolver, now, language));
            }
            for name in without_login(&resolver, &all) {
                out.push_str(&language.filled(Word::AuthNotIn, &[&name, &name]));
            }
            if out.is_empty() {
                out.push_str(language.say(Word::AuthNoneAtAll));
            }
            output::print(&output::visible(&out))?;
        }
    }
    Ok(OK)
}

fn without_login<'a>(
    resolver: &'a Resolver<'_>,
    all: &'a [Login],
) -> impl Iterator<Item = &'a str> {
    let providers = resolver.providers().iter();
    let able = providers.filter(|p| p.config.oauth.is_some());
    able.map(|p| p.config.name.as_str())
        .filter(|name| !all.iter().any(|login| login.provider == *name))
}

fn row(login: &Login, now: Timestamp) -> serde_json::Value {
    json!({
        "provider": login.provider,
        "origin": login.origin,
        "since": login.since,
        "obtained": login.obtained,
        "expires": login.expires,
        "expired": login.is_expired(now),
        "renewable": login.refresh_token.is_some(),
    })
}

fn line(login: &Login, resolver: &Resolver<'_>, now: Timestamp, language: Language) -> String {
    let mut parts = vec![
        login.name().say(language),
        language.filled(Word::AuthFor, &[&login.origin]),
    ];
    let expired = login.is_expired(now);
    parts.push(match (&login.expires, login.refresh_token.is_some()) {
        (_, true) => language.say(Word::AuthRenews).into(),
        (None, false) => language.say(Word::AuthNoEnd).into(),
        (Some(_), false) if expired => language.filled(Word::AuthIsExpired, &[&login.provider]),
        (Some(end), false) => language.filled(Word::AuthEnds, &[&end]),
    });
    let provider = resolver
        .providers()
        .iter()
        .find(|p| p.config.name == login.provider);
    match provider {
        None => parts.push(language.say(Word::AuthNoSuch).into()),
        Some(provider) if provider.config.auth == Some(AuthKind::Login) => {}
        Some(provider) => {
            if let Ok(Some(key)) = resolver.key(provider) {
                parts.push(language.filled(Word::AuthNotUsed, &[&key.source]));
            }
        }
    }
    format!("{}: {}\n", login.provider, parts.join(", "))
}

/// Logs in to a provider. What happened, for the person.
pub async fn log_in(boot: &Boot, args: &flags::Login, person: Person) -> anyhow::Result<String> {
    let language = person.language;
    let resolver = boot.resolver();
    let provider = chosen(boot, &resolver, args.provider.as_deref())?;
    let name = &provider.config.name;
    // Otherwise a checked-out folder could have tokens sent wherever it likes.
    if provider.layer == Layer::Project {
        bail!(language.filled(Word::AuthByProject, &[&name]));
    }
    let address = provider.address(&boot.env);
    let address =
        address.map_err(|e| anyhow!(language.filled(Word::CfgProvider, &[&name, &"", &e])))?;
    let address = address.with_context(|| language.filled(Word::AuthNoPlace, &[&name]))?;
    let origin = address.url.origin().ascii_serialization();
    let own = provider.config.oauth.clone();
    let Some(oauth) = &own.or_else(|| preset(name, &origin)) else {
        bail!(language.filled(Word::AuthNoTable, &[&name, &name]));
    };
    let logins = boot.logins();
    // Better said before the person has been to the browser and back.
    logins.all()?;
    let http = Http::new(boot.ca_files());
    let from = Endpoints::find(name, oauth, &http).await?;
    let what = || language.filled(Word::AuthNoLoginTo, &[&name]);
    let tokens = match way(boot, args, oauth, &from)? {
        Way::Device => by_device(&from, oauth, &http, &person)
            .await
            .with_context(what)?,
        Way::Browser(show) => {
            let by_browser = by_browser((boot, show), &from, oauth, &http, person);
            by_browser.await.with_context(what)?
        }
    };
    let login = tokens.login(name, &origin, &from, Timestamp::now());
    let renews = login.refresh_token.is_some();
    let end = login.expires.clone();
    logins.lock().await?.put(login)?;
    let until = match (renews, end) {
        (true, _) | (false, None) => String::new(),
        (false, Some(end)) => language.fill(Word::LoginUntil, &[&end]),
    };
    let file = logins.path().display().to_string();
    Ok(language.fill(Word::LoggedIn, &[name, &until, &file, &origin]))
}

/// The provider that is meant.
fn chosen<'a>(
    boot: &Boot,
    resolver: &'a Resolver<'_>,
    named: Option<&str>,
) -> anyhow::Result<&'a Provider> {
    let language = boot.language;
    let all = resolver.providers();
    let able: Vec<&Provider> = all.iter().filter(|p| p.config.oauth.is_some()).collect();
    let names = || {
        let names: Vec<&str> = able.iter().map(|p| p.config.name.as_str()).collect();
        names.join(", ")
    };
    if let Some(named) = named {
        let found = all.iter().find(|p| p.config.name == named);
        return found.ok_or_else(|| {
            let text = match able.len() {
                0 => language.filled(Word::NoProvider, &[&named]),
                _ => language.filled(Word::AuthNoProvider, &[&named, &names()]),
            };
            UsageError(text).into()
        });
    }
    let wanted = boot
        .wanted_model()
        .or_else(|| boot.loaded.config.default_model.clone());
    let wanted = wanted.unwrap_or_default();
    let of_model = able.iter().find(|p| {
        let name = &p.config.name;
        let below = wanted.strip_prefix(name.as_str());
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) || p.lists(&wanted)
    });
    match (of_model, able.as_slice()) {
        (Some(provider), _) => Ok(provider),
        (None, [only]) => Ok(only),
        (None, []) => Err(UsageError(language.say(Word::AuthNoProviders).into()).into()),
        (None, _) => Err(UsageError(language.filled(Word::AuthWhich, &[&names()])).into()),
    }
}

enum Way {
    Device,
    Browser(Show),
}

/// Whether we open the page, or the person does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Show {
    Open,
    Print,
}

fn shown(boot: &Boot, args: &flags::Login) -> Show {
    match !args.no_browser && browser_is_here(&boot.env) {
        true => Show::Open,
        false => Show::Print,
    }
}

fn way(
    boot: &Boot,
    args: &flags::Login,
    oauth: &OauthConfig,
    from: &Endpoints,
) -> anyhow::Result<Way> {
    let language = boot.language;
    let show = shown(boot, args);
    let flow = match args.device {
        true => LoginFlow::Device,
        false => oauth.flow,
    };
    match (flow, &from.authorize, &from.device) {
        (LoginFlow::Device, _, Some(_)) => Ok(Way::Device),
        (LoginFlow::Device, _, None) => {
            bail!(language.say(Word::AuthNoDevice))
        }
        (LoginFlow::Browser, Some(_), _) => Ok(Way::Browser(show)),
        (LoginFlow::Browser, None, _) => {
            bail!(language.say(Word::AuthNoWeb))
        }
        (LoginFlow::Auto, Some(_), _) if show == Show::Open => Ok(Way::Browser(show)),
        (LoginFlow::Auto, _, Some(_)) => Ok(Way::Device),
        (LoginFlow::Auto, Some(_), None) => Ok(Way::Browser(show)),
        (LoginFlow::Auto, None, None) => {
            bail!(language.say(Word::AuthNeither))
        }
    }
}

async fn by_device(
    from: &Endpoints,
    oauth: &OauthConfig,
    http: &Http,
    person: &Person,
) -> anyhow::Result<Tokens> {
    let device = Device::ask(from, &wanted(oauth), http).await?;
    let language = person.language;
    let mut lines = language.fill(
        Word::LoginDevice,
        &[device.address.as_str(), &device.user_code],
    );
    if let Some(with_code) = &device.with_code {
        lines.push_str(&language.fill(Word::LoginWithCode, &[with_code.as_str()]));
    }
    let minutes = device.life.as_secs().div_ceil(60) as usize;
    lines.push_str(&language.many(Word::LoginWaits, minutes, &[&minutes.to_string()]));
    (person.say)(&lines);
    device.tokens(from, http).await
}

async fn by_browser(
    (boot, show): (&Boot, Show),
    from: &Endpoints,
    oauth: &OauthConfig,
    http: &Http,
    person: Person,
) -> anyhow::Result<Tokens> {
    let Person {
        language,
        say,
        mut pasted,
        hint,
    } = person;
    let loopback = Loopback::bind(language).await?;
    let attempt = Attempt::new(loopback.port)?;
    let url = attempt.url(from, &wanted(oauth))?;
    say(&language.fill(Word::LoginPage, &[url.as_ref()]));
    if show == Show::Open
        && let Err(error) = open_browser(&url, &boot.env, &crate::grants::programs(boot))
    {
        say(&language.filled(Word::NoBrowser, &[&error]));
    }
    if pasted.is_some() {
        say(language.say(hint));
    }
    let came_back = async {
        tokio::select! {
            query = loopback.query() => attempt.code(&query, from),
            code = code_of(&mut pasted, &attempt, from, &say, language) => Ok(code),
        }
    };
    let code = match tokio::time::timeout(BROWSER_PATIENCE, came_back).await {
        Ok(code) => code?,
        Err(_) => {
            bail!(language.filled(Word::AuthBrowserLate, &[&(BROWSER_PATIENCE.as_secs() / 60)]))
        }
    };
    attempt.tokens(code, from, http).await
}

/// The code in a line that the person pastes. Never ends when nobody does.
async fn code_of(
    pasted: &mut Option<mpsc::Receiver<String>>,
    attempt: &Attempt,
    from: &Endpoints,
    say: &(dyn Fn(&str) + Send + Sync),
    language: Language,
) -> String {
    while let Some(lines) = pasted
        && let Some(line) = lines.recv().await
    {
        if line.trim().is_empty() {
            continue;
        }
        match attempt.pasted(&line, from) {
            Ok(code) => return code,
            Err(error) => say(&language.filled(Word::FullStop, &[&language.told(&error)])),
        }
    }
    std::future::pending().await
}

fn stdin_lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut lines = BufReader::new(tokio::io::stdin().take(MAX_PASTED_BYTES)).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if sender.send(line).await.is_err() {
                return;
            }
        }
    });
    receiver
}
