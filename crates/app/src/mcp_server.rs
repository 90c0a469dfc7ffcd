//! `ostler mcp-server`: our own agent as tools of other programs, on stdin and stdout or over HTTP. Flags and configuration
//! in, a server out; what the tools do is in `tools` and the rooms below it.

mod asks;
mod books;
mod delegation;
mod folders;
mod ground;
mod report;
mod roles;
mod task;
mod tools;
mod turn;

use crate::boot::Boot;
use crate::errors::UsageError;
use crate::exit::{FAILED, INTERRUPTED, OK, TERMINATED};
use crate::flags::{Global, McpServer};
use crate::output;
use crate::serve::{self, listen_at};
use folders::Folders;
use ostler_config::schema::AuthMode;
use ostler_config::text::Speak as _;
use ostler_host::signals::{Signals, Stop};
use ostler_mcp::server::{HttpSettings, StreamEnd, serve_http, serve_streams};
use ostler_wire::{Language, Say as _, Word};
use std::cell::Cell;
use std::io::{self, IsTerminal as _};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tools::Tools;

pub async fn run(global: Global, args: McpServer, language: &Cell<Language>) -> anyhow::Result<u8> {
    // It is large, and the caller holds the futures of all commands.
    Box::pin(start(global, args, language)).await
}

async fn start(global: Global, args: McpServer, language: &Cell<Language>) -> anyhow::Result<u8> {
    let boot = Boot::new(&global)?;
    language.set(boot.language);
    for notice in &boot.loaded.notices {
        output::say(&notice.say(boot.language));
    }
    if let Some(text) = crate::sandbox::nothing_holds(&boot) {
        output::say(&text);
    }
    let folders = Folders::new(&boot, &args.folders)?;
    match &args.http {
        None => on_streams(boot, folders).await,
        Some(address) => over_http(boot, folders, address).await,
    }
}

async fn on_streams(boot: Boot, folders: Folders) -> anyhow::Result<u8> {
    let language = boot.language;
    if io::stdin().is_terminal() {
        output::say(language.say(Word::McpServing));
    }
    let tools = Arc::new(Tools::new(Arc::new(boot), folders)?);
    let mut signals = Signals::new()?;
    let serving = serve_streams(tokio::io::stdin(), tokio::io::stdout(), tools.clone());
    let code = tokio::select! {
        end = serving => match end {
            StreamEnd::Closed => OK,
            StreamEnd::Refused(why) => {
                output::say(&language.fill(Word::McpClientRefused, &[&why]));
                FAILED
            }
        },
        signal = signals.next() => code(signal),
    };
    tools.close().await;
    Ok(code)
}

async fn over_http(boot: Boot, folders: Folders, address: &str) -> anyhow::Result<u8> {
    let language = boot.language;
    let config = boot.loaded.config.serve.clone();
    let token = match config.auth_mode {
        AuthMode::None => None,
        AuthMode::Token | AuthMode::Password => {
            let configured = serve::configured_token(&config, language)?;
            Some(configured.unwrap_or_else(ostler_serve::random_key))
        }
    };
    let address = socket_address(address, language)?;
    if token.is_none() && !address.ip().is_loopback() {
        let shown = address.ip().to_string();
        return Err(UsageError(language.filled(Word::ServeOpenBind, &[&shown])).into());
    }
    let listener = listen_at(address, language).await?;
    let address = listener.local_addr()?;
    if let Some(token) = &token {
        output::redactor().learn([token.as_str()]);
    }
    let mut signals = Signals::new()?;
    greet(address, token.as_deref(), language)?;
    // No command and no tool of a session reaches the server that started it.
    let global = Global {
        served: Some(address),
        ..boot.global.clone()
    };
    let boot = Boot { global, ..boot };
    let settings = HttpSettings {
        token,
        hosts: hosts(address, config.hosts),
    };
    let tools = Arc::new(Tools::new(Arc::new(boot), folders)?);
    let stop = CancellationToken::new();
    let serving = serve_http(listener, settings, tools.clone(), stop.clone());
    let mut serving = std::pin::pin!(serving);
    let code = tokio::select! {
        () = serving.as_mut() => OK,
        signal = signals.next() => code(signal),
    };
    stop.cancel();
    tokio::join!(serving, tools.close());
    Ok(code)
}

fn code(signal: Stop) -> u8 {
    match signal {
        Stop::Interrupt => INTERRUPTED,
        Stop::Terminate => TERMINATED,
    }
}

/// A port of this machine, or an address with one.
fn socket_address(text: &str, language: Language) -> anyhow::Result<SocketAddr> {
    let loopback = IpAddr::from([127, 0, 0, 1]);
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::new(loopback, port));
    }
    let named = text.strip_prefix("localhost:");
    let address = match named {
        Some(port) => port.parse().ok().map(|port| (loopback, port).into()),
        None => text.parse().ok(),
    };
    let bad = || UsageError(language.filled(Word::ServeBadBind, &[&text]));
    Ok(address.ok_or_else(bad)?)
}

/// The names that the server goes by.
fn hosts(address: SocketAddr, more: Vec<String>) -> Vec<String> {
    let (ip, port) = (address.ip(), address.port());
    let mut hosts = vec![address.to_string()];
    if ip.is_loopback() || ip.is_unspecified() {
        let own = ["localhost", "127.0.0.1", "[::1]"];
        hosts.extend(own.map(|name| format!("{name}:{port}")));
    }
    hosts.extend(more);
    hosts
}

/// Says where it is. The token goes to stdout alone, which is the person's.
fn greet(address: SocketAddr, token: Option<&str>, language: Language) -> anyhow::Result<()> {
    let url = format!("http://{address}/mcp");
    match token {
        Some(token) => output::print(&format!("{url}\nAuthorization: Bearer {token}\n"))?,
        None => output::print(&format!("{url}\n"))?,
    }
    output::say(&language.fill(Word::McpServingHttp, &[&url]));
    if token.is_none() {
        output::say(language.say(Word::ServeOpenToAll));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_to_listen_at() {
        for (text, expect) in [
            ("8788", Some("127.0.0.1:8788")),
            ("localhost:0", Some("127.0.0.1:0")),
            ("0.0.0.0:80", Some("0.0.0.0:80")),
            ("[::1]:9000", Some("[::1]:9000")),
            ("example.com:80", None),
            ("99999", None),
            ("", None),
        ] {
            let address = socket_address(text, Language::English);
            let found = address.ok().map(|address| address.to_string());
            assert_eq!(found.as_deref(), expect, "{text}");
        }
    }
}
