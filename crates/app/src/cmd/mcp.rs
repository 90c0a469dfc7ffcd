//! `ostler mcp`: servers of others, looked at, added, taken out and tried. What they offer is used by sessions.

use super::choose::{self, Person};
use super::panel::print_view;
use crate::auth::{Loopback, browser_is_here, open_browser};
use crate::boot::Boot;
use crate::errors::UsageError;
use crate::exit::{FAILED, INTERRUPTED, OK};
use crate::flags::{Mcp, McpAdd, McpScope, McpType};
use crate::lenient::Lenient;
use crate::output;
use crate::servers;
use crate::wiring;
use anyhow::{Context as _, anyhow, bail};
use ostler_config::diagnose::is_secret;
use ostler_config::files;
use ostler_config::paths::{absolute, is_inside};
use ostler_config::plugins::{Configured, PluginConfig, PluginKind, Scope, ServerFile};
use ostler_config::read::read_text;
use ostler_config::text::Speak as _;
use ostler_host::signals::Signals;
use ostler_mcp::{Connection, Endpoint, FailureCode, LoginVisit, TokenStore as _, log_in};
use ostler_wire::{Column, ColumnKind, Language, Table, View, Word};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Where other programs keep their servers.
const IMPORTS: &str = include_str!("mcp_imports.txt");
/// What stands for a secret.
const COVER: &str = "********";
/// How long the person has to come back from the browser.
const BROWSER_PATIENCE: Duration = Duration::from_secs(10 * 60);

pub async fn run(boot: Arc<Boot>, args: Mcp) -> anyhow::Result<u8> {
    match args {
        Mcp::Add(args) => add(&boot, args),
        Mcp::List { format } => print_view(&list(&boot)?, format),
        Mcp::Get { name } => get(&boot, &name),
        Mcp::Remove { name, scope } => remove(&boot, &name, scope),
        Mcp::Import { file } => import(&boot, file),
        Mcp::Login { name, no_browser } => login(&boot, &name, no_browser).await,
        Mcp::Logout { name } => logout(&boot, &name).await,
        Mcp::Test { name, format } => super::mcp_test::run(&boot, &name, format).await,
    }
}

/// `None` for what changes servers or meets them.
pub fn view(start: &Lenient, args: &Mcp) -> anyhow::Result<Option<View>> {
    match args {
        Mcp::List { .. } => list(&*start.clone().strict()?).map(Some),
        Mcp::Add(_)
        | Mcp::Get { .. }
        | Mcp::Remove { .. }
        | Mcp::Import { .. }
        | Mcp::Login { .. }
        | Mcp::Logout { .. }
        | Mcp::Test { .. } => Ok(None),
    }
}

pub(in crate::cmd) fn path_of(boot: &Boot, scope: McpScope) -> PathBuf {
    match scope {
        McpScope::User => boot.places.home.join("mcp.json"),
        McpScope::Project => boot.places.root.join(".mcp.json"),
        McpScope::Local => boot.places.root.join(".ostler/mcp.local.json"),
    }
}

fn add(boot: &Boot, args: McpAdd) -> anyhow::Result<u8> {
    let language = boot.language;
    let usage = |why: String| anyhow!(UsageError(why));
    let (first, rest) = args
        .what
        .split_first()
        .context(language.say(Word::McpNothingToAdd))?;
    let is_address = first.starts_with("http://") || first.starts_with("https://");
    let unfit = |name: &str| Err(usage(language.filled(Word::McpTypeNotFitting, &[&name])));
    match args.kind {
        Some(McpType::Http) if !is_address => return unfit("http"),
        Some(McpType::Sse) if !is_address => return unfit("sse"),
        Some(McpType::Stdio) if is_address => return unfit("stdio"),
        Some(McpType::Http | McpType::Sse | McpType::Stdio) | None => {}
    }
    let mut entry = Map::new();
    if is_address {
        if !rest.is_empty() || !args.env.is_empty() {
            return Err(usage(language.say(Word::McpAddressArgs).into()));
        }
        let kind = match args.kind {
            Some(McpType::Sse) => "sse",
            Some(McpType::Http | McpType::Stdio) | None => "http",
        };
        entry.insert("type".into(), kind.into());
        entry.insert("url".into(), first.as_str().into());
        let mut headers = Map::new();
        for header in &args.header {
            let (name, value) = header
                .split_once(':')
                .ok_or_else(|| usage(language.filled(Word::McpBadHeader, &[&header])))?;
            headers.insert(name.trim().into(), value.trim().into());
        }
        if !headers.is_empty() {
            entry.insert("headers".into(), headers.into());
        }
        if let Some(oauth) = oauth(&args) {
            entry.insert("oauth".into(), oauth);
        }
    } else {
        if !args.header.is_empty() || oauth(&args).is_some() {
            return Err(usage(language.say(Word::McpProgramHeaders).into()));
        }
        entry.insert("command".into(), first.as_str().into());
        entry.insert("args".into(), json!(rest));
        let mut env = Map::new();
        for pair in &args.env {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| usage(language.filled(Word::McpBadPair, &[&pair])))?;
            env.insert(name.into(), value.into());
        }
        if !env.is_empty() {
            entry.insert("env".into(), env.into());
        }
    }
    let path = path_of(boot, args.scope);
    change(boot, &path, |file| {
        if file.servers.contains_key(&args.name) {
            return Err(anyhow!(
                language.filled(Word::McpExists, &[&args.name, &args.name])
            ));
        }
        file.servers.insert(args.name.clone(), entry.into());
        Ok(())
    })?;
    let shown = boot.places.shown(&path);
    let mut said = language.filled(Word::McpAdded, &[&output::one_line(&args.name), &shown]);
    said.push_str(match args.scope {
        McpScope::User => "",
        McpScope::Project | McpScope::Local => language.say(Word::McpAfterTrust),
    });
    said.push_str(&language.filled(Word::McpTryIt, &[&output::one_line(&args.name)]));
    output::print_foreign(&said)?;
    Ok(OK)
}

/// Who we are to its issuer. A secret is named, so that no file and no list of processes shows it.
fn oauth(args: &McpAdd) -> Option<Value> {
    let mut oauth = Map::new();
    if let Some(id) = &args.client_id {
        oauth.insert("client_id".into(), id.as_str().into());
    }
    if let Some(name) = &args.client_secret_env {
        oauth.insert("client_secret".into(), format!("${{{name}}}").into());
    }
    if let Some(port) = args.callback_port {
        oauth.insert("callback_port".into(), port.into());
    }
    (!oauth.is_empty()).then(|| oauth.into())
}

/// Reads a file, changes it and writes it back, while no other process does.
pub(in crate::cmd) fn change(
    boot: &Boot,
    path: &Path,
    with: impl FnOnce(&mut ServerFile) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let language = boot.language;
    let _lock = files::lock(&boot.places.home)
        .with_context(|| language.filled(Word::CannotBeLocked, &[&boot.places.home.display()]))?;
    check_link(boot, path)?;
    let mut file = read(boot, path)?;
    with(&mut file)?;
    let text = serde_json::to_string_pretty(&file)? + "\n";
    let access = files::access_in(&boot.places.home, path);
    files::write(path, text.as_bytes(), access)
        .with_context(|| language.filled(Word::CannotBeWritten, &[&path.display()]))
}

/// A file of the project that a link leads out of it is not changed: the repository would choose what is.
pub(super) fn check_link(boot: &Boot, path: &Path) -> anyhow::Result<()> {
    let language = boot.language;
    let places = &boot.places;
    if path.starts_with(&places.home) || !path.starts_with(&places.root) {
        return Ok(());
    }
    let real = ostler_host::real_path(path);
    if real.starts_with(ostler_host::real_path(&places.root)) {
        return Ok(());
    }
    bail!(language.filled(Word::LeadsOut, &[&places.shown(path), &real.display()]))
}

pub(in crate::cmd) fn read(boot: &Boot, path: &Path) -> anyhow::Result<ServerFile> {
    let language = boot.language;
    let name = boot.places.shown(path);
    match read_text(path, &name) {
        Ok(None) => Ok(ServerFile::default()),
        Ok(Some(text)) => serde_json::from_str(&text)
            .with_context(|| language.filled(Word::McpNoListFile, &[&name])),
        Err(report) => Err(anyhow!("{name}: {}", report.title.say(language))),
    }
}

/// Where the program of a server runs.
#[derive(Clone, Copy, Serialize)]
enum Runs {
    #[serde(rename = "outside")]
    Outside,
    #[serde(rename = "sandbox")]
    Confined,
}

impl Runs {
    fn said(self, language: Language) -> &'static str {
        match self {
            Self::Outside => language.say(Word::McpRunsOutside),
            Self::Confined => language.say(Word::McpRunsConfined),
        }
    }
}

fn runs(boot: &Boot, one: &Configured) -> anyhow::Result<Option<Runs>> {
    let runs = |is_confined| match is_confined {
        true => Runs::Confined,
        false => Runs::Outside,
    };
    Ok(wiring::plugins::is_confined(boot, one)?.map(runs))
}

/// A server as it is configured, for programs.
#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    target: String,
    scope: &'static str,
    place: &'a str,
    disabled: bool,
    /// `None` for an address.
    runs: Option<Runs>,
}

/// The configured servers; which of them answer is known to a session (`/mcp`) and to `test`.
pub fn list(boot: &Boot) -> anyhow::Result<View> {
    let language = boot.language;
    let mut servers: Vec<Listed<'_>> = Vec::new();
    for one in &boot.servers {
        servers.push(Listed {
            name: &one.plugin.name,
            kind: kind(&one.plugin),
            target: target(&one.plugin),
            scope: one.scope.name(),
            place: &one.place,
            disabled: one.plugin.disabled,
            runs: runs(boot, one)?,
        });
    }
    let texts = |one: &Listed<'_>| {
        let state = match one.disabled {
            true => Word::McpOff,
            false => Word::McpOn,
        };
        let runs = one.runs.map(|runs| runs.said(language));
        let runs = runs.unwrap_or_default();
        let texts = [
            one.name,
            one.kind,
            language.say(state),
            runs,
            one.scope,
            &one.target,
        ];
        texts.map(str::to_owned).to_vec()
    };
    let column = |key, word| Column::new(ColumnKind::Text, key, language.say(word));
    let columns = vec![
        column("name", Word::ColName),
        column("type", Word::ColType),
        Column::new(ColumnKind::Text, "disabled", ""),
        column("runs", Word::McpColRuns),
        column("scope", Word::ColScope),
        column("target", Word::ColWhat),
    ];
    let untrusted = (!boot.loaded.workspace.is_trusted()).then_some(Word::McpProjectLeft);
    Ok(View::Table(Table {
        empty: language.say(Word::McpNone).into(),
        remarks: untrusted
            .map(|word| language.say(word).to_owned())
            .into_iter()
            .collect(),
        ..Table::of_records(columns, &servers, texts)
    }))
}

fn kind(plugin: &PluginConfig) -> &'static str {
    match (plugin.kind, &plugin.url) {
        (Some(kind), _) => kind.name(),
        (None, Some(_)) => PluginKind::Http.name(),
        (None, None) => PluginKind::Stdio.name(),
    }
}

pub fn target(plugin: &PluginConfig) -> String {
    match (&plugin.url, &plugin.command) {
        (Some(url), _) => url.clone(),
        (None, Some(command)) => {
            let words = std::iter::once(command).chain(&plugin.args);
            words.cloned().collect::<Vec<_>>().join(" ")
        }
        (None, None) => String::new(),
    }
}

fn get(boot: &Boot, name: &str) -> anyhow::Result<u8> {
    let language = boot.language;
    let one = find(boot, name, language)?;
    let mut shown = serde_json::to_value(&one.plugin)?;
    if let Value::Object(fields) = &mut shown {
        fields.retain(|_, value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::Array(items) => !items.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            Value::Bool(true) | Value::Number(_) | Value::String(_) => true,
        });
        for key in ["env", "headers", "oauth"] {
            if let Some(Value::Object(pairs)) = fields.get_mut(key) {
                for (name, value) in pairs.iter_mut() {
                    let open = value.as_str().is_some_and(|text| text.starts_with("${"));
                    if !open && (key == "headers" || is_secret(name)) {
                        *value = COVER.into();
                    }
                }
            }
        }
        fields.insert("place".into(), one.place.as_str().into());
    }
    output::print_json(&shown)?;
    Ok(OK)
}

pub(super) fn find<'a>(
    boot: &'a Boot,
    name: &str,
    language: Language,
) -> anyhow::Result<&'a Configured> {
    let found = boot.servers.iter().find(|one| one.plugin.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = boot
            .servers
            .iter()
            .map(|s| s.plugin.name.as_str())
            .collect();
        let names = match names.is_empty() {
            true => language.say(Word::ThereAreNone).to_owned(),
            false => language.filled(Word::ThereAre, &[&names.join(", ")]),
        };
        let untrusted = match boot.loaded.workspace.is_trusted() {
            true => "",
            false => language.say(Word::McpNotTrusted),
        };
        anyhow!(language.filled(Word::McpNoSuch, &[&name, &names, &untrusted]))
    })
}

fn remove(boot: &Boot, name: &str, scope: Option<McpScope>) -> anyhow::Result<u8> {
    let language = boot.language;
    let scopes = match scope {
        Some(scope) => vec![scope],
        None => vec![McpScope::Local, McpScope::Project, McpScope::User],
    };
    for scope in scopes {
        let path = path_of(boot, scope);
        if !read(boot, &path)?.servers.contains_key(name) {
            continue;
        }
        change(boot, &path, |file| {
            file.servers.shift_remove(name);
            Ok(())
        })?;
        let shown = boot.places.shown(&path);
        output::print_foreign(
            &language.filled(Word::McpTookOut, &[&output::one_line(name), &shown]),
        )?;
        return Ok(OK);
    }
    let toml = boot.servers.iter().find(|one| one.plugin.name == name);
    match toml.map(|one| (one.scope, &one.place)) {
        Some((Scope::User | Scope::Project, place)) => Err(anyhow!(
            language.filled(Word::McpInPlugins, &[&name, &place])
        )),
        Some(_) | None => Err(anyhow!(language.filled(Word::McpNotInFiles, &[&name]))),
    }
}

fn import(boot: &Boot, file: Option<PathBuf>) -> anyhow::Result<u8> {
    let language = boot.language;
    let home = boot.places.user_home.as_deref();
    let is_named = file.is_some();
    let files: Vec<PathBuf> = match file {
        Some(file) => vec![boot.places.cwd.join(file)],
        None => {
            let all = IMPORTS
                .lines()
                .map(|line| absolute(line, &boot.places.root, home));
            all.filter(|path| path.is_file()).collect()
        }
    };
    let mut found = Map::new();
    for path in &files {
        for (server, entry) in servers_in(boot, path)? {
            let is_asked = !is_named && is_of_project(boot, path);
            if found.contains_key(&server) || (is_asked && !agrees(boot, path, (&server, &entry))?)
            {
                continue;
            }
            found.insert(server, entry);
        }
    }
    if found.is_empty() {
        output::say(language.say(Word::McpNothingFound));
        return Ok(FAILED);
    }
    let path = path_of(boot, McpScope::User);
    let mut said = String::new();
    change(boot, &path, |file| {
        for (name, entry) in found {
            let shown = output::one_line(&name);
            if let Err(error) = serde_json::from_value::<PluginConfig>(entry.clone()) {
                said.push_str(&language.filled(Word::McpLeftOut, &[&shown, &error]));
            } else if file.servers.contains_key(&name) {
                said.push_str(&language.filled(Word::McpThereAlready, &[&shown]));
            } else {
                file.servers.insert(name, entry);
                said.push_str(&language.filled(Word::McpWasAdded, &[&shown]));
            }
        }
        Ok(())
    })?;
    output::print_foreign(&said)?;
    Ok(OK)
}

/// The servers of a file, by their names.
fn servers_in(boot: &Boot, path: &Path) -> anyhow::Result<Map<String, Value>> {
    let language = boot.language;
    let name = boot.places.shown(path);
    let text = match read_text(path, &name) {
        Ok(text) => text.with_context(|| language.filled(Word::McpFileGone, &[&name]))?,
        Err(report) => return Err(anyhow!("{name}: {}", report.title.say(language))),
    };
    let Ok(value) = serde_json::from_str::<Value>(&text) else {
        output::say(&language.filled(Word::McpFileNoJson, &[&name]));
        return Ok(Map::new());
    };
    let servers = ["mcpServers", "servers"]
        .iter()
        .find_map(|key| value.get(key)?.as_object());
    Ok(servers.cloned().unwrap_or_default())
}

/// Whether the repository or a command could have written the file. Where it leads counts too, whatever it is called.
fn is_of_project(boot: &Boot, path: &Path) -> bool {
    let mut folders = crate::grants::granted(boot);
    folders.push(boot.places.root.clone());
    // The person's own files are theirs also where the project is their home.
    let own = boot.places.user_home.as_ref();
    let is_wide = |folder: &PathBuf| own.is_some_and(|home| is_inside(home, folder));
    let is_relative = IMPORTS
        .lines()
        .filter(|line| !line.starts_with('~'))
        .any(|line| boot.places.root.join(line) == path);
    is_relative
        || folders
            .iter()
            .any(|folder| !is_wide(folder) && is_inside(path, folder))
}

/// Shows a server of the project, all of it, and asks. It would be the person's own from then on, in every project, outside
/// of the sandbox. Where nobody can be asked it is left out.
fn agrees(boot: &Boot, path: &Path, (name, entry): (&str, &Value)) -> anyhow::Result<bool> {
    let language = boot.language;
    let place = boot.places.shown(path);
    let shown = output::one_line(name);
    if Person::look() == Person::Away {
        output::say(&output::visible(
            &language.filled(Word::McpImportAway, &[&shown, &place, &place]),
        ));
        return Ok(false);
    }
    let whole = serde_json::to_string_pretty(entry)?;
    let said = language.filled(Word::McpImportAsk, &[&shown, &place, &whole]);
    output::say(&output::visible(&said));
    let line = choose::ask_fresh(language.say(Word::McpImportYesNo), language)?.unwrap_or_default();
    Ok(matches!(line.to_ascii_lowercase().as_str(), "y" | "yes"))
}

async fn login(boot: &Arc<Boot>, name: &str, no_browser: bool) -> anyhow::Result<u8> {
    let language = boot.language;
    let configured = find(boot, name, language)?;
    let server = servers::one(boot, configured);
    let Endpoint::Address(address) = &server.endpoint else {
        return Err(anyhow!(language.filled(Word::McpIsProgram, &[&name])));
    };
    let context = wiring::options(boot, false)?.server_context();
    let challenge = match Connection::open(&server, &context, CancellationToken::new()).await {
        Ok(_) => {
            output::print_foreign(&language.filled(Word::McpNoLoginNeeded, &[&name]))?;
            return Ok(OK);
        }
        // Some want a login without a word of where.
        Err(failed)
            if matches!(
                failed.code,
                FailureCode::Login | FailureCode::Status(401 | 403)
            ) =>
        {
            failed.challenge
        }
        Err(failed) => return Err(anyhow!("{name}: {}", failed.why.say(language))),
    };
    let oauth = configured.plugin.oauth.as_ref();
    let registration = servers::registration(boot, configured)
        .map_err(|why| anyhow!(language.filled(Word::McpNoLogin, &[&name, &why])))?;
    let port = oauth.and_then(|oauth| oauth.callback_port).unwrap_or(0);
    let loopback = Loopback::bind_to(port, language).await?;
    let redirect = format!("http://127.0.0.1:{}/callback", loopback.port);
    let visit = LoginVisit {
        challenge: challenge.as_deref(),
        redirect: &redirect,
    };
    let opens = !no_browser && browser_is_here(&boot.env);
    let go = |page: String| came_back(boot, page, opens, (loopback, &redirect));
    let mut signals = Signals::new()?;
    tokio::select! {
        done = log_in(address, &context, &registration, visit, go) => {
            done.map_err(|why| anyhow!(language.filled(Word::McpNoLogin, &[&name, &why])))?;
        }
        _ = signals.next() => {
            output::say(language.say(Word::StoppedUnchanged));
            return Ok(INTERRUPTED);
        }
    }
    output::print_foreign(&language.filled(Word::McpLoggedIn, &[&name, &name]))?;
    Ok(OK)
}

/// Takes the person to the page, and waits for the address that the browser ends at.
async fn came_back(
    boot: &Boot,
    page: String,
    opens: bool,
    (loopback, redirect): (Loopback, &str),
) -> Result<String, String> {
    let language = boot.language;
    let url = url::Url::parse(&page).map_err(|e| e.to_string())?;
    output::say(&language.filled(Word::LoginPage, &[&url]));
    if opens && let Err(error) = open_browser(&url, &boot.env, &crate::grants::programs(boot)) {
        output::say(&language.filled(Word::NoBrowser, &[&error]));
    }
    let query = tokio::time::timeout(BROWSER_PATIENCE, loopback.query()).await;
    let query = query.map_err(|_| language.say(Word::McpBrowserGone).to_owned())?;
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    match pairs.find(|(key, _)| key == "error") {
        Some((_, error)) => Err(language.filled(Word::McpServerSays, &[&output::one_line(&error)])),
        None => Ok(format!("{redirect}?{query}")),
    }
}

async fn logout(boot: &Boot, name: &str) -> anyhow::Result<u8> {
    let language = boot.language;
    let server = servers::one(boot, find(boot, name, language)?);
    if let Endpoint::Address(address) = &server.endpoint {
        let tokens = servers::tokens(boot);
        tokens
            .save(&address.url, None)
            .await
            .map_err(anyhow::Error::msg)?;
    }
    output::print_foreign(&language.filled(Word::McpLoggedOut, &[&name]))?;
    Ok(OK)
}
