//! `ostler serve`: sessions for browsers and programs. Flags and configuration in, a listener out; what is served is in
//! `projects` and `stored`, how in the crate of that name.

mod logins;
mod password;
mod projects;
mod spent;
mod stored;

use crate::auth::{browser_is_here, open_browser};
use crate::boot::Boot;
use crate::errors::UsageError;
use crate::exit::{INTERRUPTED, OK, TERMINATED};
use crate::flags::{Global, Serve};
use crate::output;
use crate::wiring::plugins::learn;
use anyhow::{Context as _, anyhow};
use logins::Logins;
use ostler_config::schema::{AuthMode, ServeConfig};
use ostler_config::text::Speak as _;
use ostler_host::signals::{Signals, Stop};
use ostler_serve::settings::{Auth, KeptLogins, Proxy, Settings, Token};
use ostler_wire::{Language, Say as _, Word};
use projects::{Served, Workbench};
use std::cell::Cell;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use url::Url;

/// Characters of a token: shorter ones can be guessed.
const MIN_TOKEN: usize = 16;
/// How long the file that leads the browser here stays.
const LEADING: Duration = Duration::from_secs(30);

pub async fn run(mut global: Global, args: Serve, language: &Cell<Language>) -> anyhow::Result<u8> {
    if args.hash_password {
        let hash = password::hash(&password::read(language.get())?, language.get())?;
        output::print(&format!("{hash}\n"))?;
        return Ok(OK);
    }
    let boot = Boot::new(&global)?;
    language.set(boot.language);
    let config = boot.loaded.config.serve.clone();
    let auth = auth(&config, &args, boot.language)?;
    let listener = listen(&config, &args, &auth, boot.language).await?;
    let address = listener.local_addr()?;
    // Known to every configuration that is read from here on.
    global.served = Some(address);
    let boot = Boot { global, ..boot };
    let secrets = [&config.token, &config.password_hash];
    let mut secrets: Vec<&str> = secrets.into_iter().flatten().map(String::as_str).collect();
    if let Auth::Token(Token(token)) = &auth {
        secrets.push(token);
    }
    output::redactor().learn(secrets);
    let boot = learn(Arc::new(boot)).await?;
    warn(&boot);
    let workbench = Arc::new(Workbench::new(boot.clone(), &args.folders)?);
    let is_configured = config.auth_mode == AuthMode::Password
        || config.token.as_ref().is_some_and(|token| !token.is_empty());
    let logins = || Arc::new(Logins::new(&boot, &auth, is_configured)) as Arc<dyn KeptLogins>;
    let settings = Settings {
        auth: auth.clone(),
        // A password for one run lets in for that run.
        logins: (!args.password).then(logins),
        address,
        hosts: config.hosts,
        proxy: match config.behind_proxy {
            true => Proxy::Trusted,
            false => Proxy::None,
        },
    };
    greet(&boot, address, &auth, &args)?;
    let mut signals = Signals::new()?;
    let stop = CancellationToken::new();
    let served = Arc::new(Served(workbench.clone()));
    let serving = ostler_serve::serve(listener, settings, served, stop.clone());
    let mut serving = std::pin::pin!(serving);
    let code = tokio::select! {
        () = serving.as_mut() => OK,
        signal = signals.next() => match signal {
            Stop::Interrupt => INTERRUPTED,
            Stop::Terminate => TERMINATED,
        },
    };
    stop.cancel();
    tokio::join!(serving, workbench.close());
    Ok(code)
}

/// Who may come in.
fn auth(config: &ServeConfig, args: &Serve, language: Language) -> anyhow::Result<Auth> {
    let token = configured_token(config, language)?.map(Token);
    if args.password {
        let hash = password::hash(&password::read(language)?, language)?;
        return Ok(Auth::Password { hash, token });
    }
    Ok(match config.auth_mode {
        AuthMode::None => Auth::None,
        AuthMode::Token => Auth::Token(token.unwrap_or_else(|| Token(ostler_serve::random_key()))),
        AuthMode::Password => {
            let hash = config.password_hash.clone().unwrap_or_default();
            if !ostler_serve::is_password_hash(&hash) {
                return Err(UsageError(language.say(Word::ServeNoHash).into()).into());
            }
            Auth::Password { hash, token }
        }
    })
}

/// The token of the configuration, if there is one.
pub fn configured_token(
    config: &ServeConfig,
    language: Language,
) -> anyhow::Result<Option<String>> {
    let token = config.token.clone().filter(|token| !token.is_empty());
    if token
        .as_ref()
        .is_some_and(|token| token.chars().count() < MIN_TOKEN)
    {
        let least = MIN_TOKEN.to_string();
        return Err(UsageError(language.filled(Word::ServeShortToken, &[&least])).into());
    }
    Ok(token)
}

async fn listen(
    config: &ServeConfig,
    args: &Serve,
    auth: &Auth,
    language: Language,
) -> anyhow::Result<TcpListener> {
    let bind = match config.bind.as_str() {
        "localhost" => "127.0.0.1",
        other => other,
    };
    let bad = || UsageError(language.filled(Word::ServeBadBind, &[&config.bind]));
    let ip: IpAddr = bind.parse().map_err(|_| bad())?;
    if matches!(auth, Auth::None) && !ip.is_loopback() {
        return Err(UsageError(language.filled(Word::ServeOpenBind, &[&ip.to_string()])).into());
    }
    let address = SocketAddr::new(ip, args.port.unwrap_or(config.port));
    listen_at(address, language).await
}

pub async fn listen_at(address: SocketAddr, language: Language) -> anyhow::Result<TcpListener> {
    let shown = address.to_string();
    TcpListener::bind(address).await.map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::AddrInUse => language.filled(Word::ServeTaken, &[&shown]),
            _ => language.filled(Word::ServeNoListen, &[&shown, &error.say(language)]),
        };
        anyhow!(why)
    })
}

fn warn(boot: &Boot) {
    let language = boot.language;
    for notice in &boot.loaded.notices {
        output::say(&notice.say(language));
    }
    for warning in &boot.dotenv.warnings {
        output::say(&warning.say(language));
    }
    if let Some(text) = crate::sandbox::nothing_holds(boot) {
        output::say(&text);
    }
}

/// Says where it is. The address with the token goes to stdout alone, which is the person's.
fn greet(boot: &Boot, address: SocketAddr, auth: &Auth, args: &Serve) -> anyhow::Result<()> {
    let language = boot.language;
    let host = match address.ip() {
        ip if ip.is_unspecified() => "localhost".to_owned(),
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    let mut url = Url::parse(&format!("http://{host}:{}/", address.port()))?;
    if let Auth::Token(Token(token)) = auth {
        url.query_pairs_mut().append_pair("token", token);
    }
    output::print(&format!("{url}\n"))?;
    output::say(&language.filled(Word::ServeStarted, &[&address.to_string()]));
    if matches!(auth, Auth::None) {
        output::say(language.say(Word::ServeOpenToAll));
    }
    if args.open {
        open(boot, &url)?;
    }
    Ok(())
}

/// Opens the browser. Its command line is for all to see, so the token is in a file of the person that leads on.
fn open(boot: &Boot, url: &Url) -> anyhow::Result<()> {
    let language = boot.language;
    if !browser_is_here(&boot.env) {
        output::say(language.say(Word::ServeNoBrowser));
        return Ok(());
    }
    let folder = boot.places.home.join("live");
    ostler_host::private_dir(&folder)
        .with_context(|| language.filled(Word::CannotBeWritten, &[&folder.display()]))?;
    let mut file = tempfile::Builder::new()
        .prefix("open-")
        .suffix(".html")
        .tempfile_in(&folder)?;
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\"><title>Ostler</title>\n"
    );
    io::Write::write_all(&mut file, page.as_bytes())?;
    let page = Url::from_file_path(file.path()).map_err(|()| anyhow!("{}", folder.display()))?;
    let programs = crate::grants::programs(boot);
    if let Err(why) = open_browser(&page, &boot.env, &programs) {
        output::say(&why.say(language));
        return Ok(());
    }
    tokio::spawn(async move {
        tokio::time::sleep(LEADING).await;
        drop(file);
    });
    Ok(())
}
