//! The settings of a session at another place: those of this machine, with what is about the project and its commands put
//! in terms of the place.

use crate::boot::env::is_secret;
use crate::boot::{self, Boot};
use crate::location::Connected;
use anyhow::bail;
use ostler_engine::confine::{CommandPlace, Reader, SandboxMode, SandboxSettings};
use ostler_engine::{Elsewhere, HubSettings};
use ostler_guard::Containment;
use ostler_host::sandbox::{Choice, Layer, Network, Policy};
use ostler_wire::{Word, printable};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where commands of a place put temporary files; all commands there share it.
const TEMP: &str = "/tmp";
/// Where programs are looked for if the place does not say.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Paths that are named of those that were put back.
const MAX_PUT_BACK: usize = 8;
/// The helper of a place, below the home there.
const CACHE: &str = ".cache/ostler";

/// Changes the settings, and says what the person should know.
pub fn apply(
    options: &mut HubSettings,
    boot: &Arc<Boot>,
    place: &Connected,
) -> anyhow::Result<Vec<String>> {
    let language = boot.language;
    let facts = place.facts();
    let here = options.paths.user_home.clone();
    let is_image = place.target.has_project_here();
    let mut notes = Vec::new();
    if !facts.put_back.is_empty() {
        let shown = facts.put_back.iter().take(MAX_PUT_BACK);
        let shown: Vec<String> = shown.map(|path| path.display().to_string()).collect();
        let shown = printable(&shown.join(", "));
        notes.push(language.fill(Word::PlacePutBack, &[&place.name, &shown]));
    }
    options.hooks = boot::hooks::of_place(&options.hooks, &place.root).into();
    let machine = options.toolbox.sandbox.clone();
    let tools = options.tools.clone();
    // Keys and secrets lie in the same folders of any home.
    let there = |path: &PathBuf| match (&here, &facts.home) {
        (Some(here), Some(home)) => match path.strip_prefix(here) {
            Ok(rest) => home.join(rest),
            Err(_) => path.clone(),
        },
        (None, _) | (_, None) => path.clone(),
    };
    let forbidden = &options.permissions.policy.folders.forbidden;
    // What checkpoints hold, and the way to the helper, is neither read nor changed by what runs there.
    let hidden = forbidden.iter().map(&there);
    let own = facts.checkpoints.iter().chain(&facts.run).cloned();
    let hidden: Vec<PathBuf> = hidden.chain(own).collect();
    let mut sandbox = sandbox(boot, place, hidden.clone(), machine.mode)?;
    if is_image && sandbox.place == CommandPlace::Elsewhere(None) {
        // The container holds them.
        sandbox.mode = SandboxMode::Off;
    }
    let policy = &mut options.permissions.policy;
    policy.folders.forbidden.extend(hidden);
    policy.folders.inside = vec![TEMP.into()];
    policy.folders.public = policy.folders.public.iter().map(&there).collect();
    policy
        .folders
        .protected
        .extend(facts.home.iter().map(|home| home.join(CACHE)));
    policy
        .reserved
        .extend(facts.home.iter().map(|home| home.join(CACHE)));
    policy.added.clear();
    let is_held = is_image || matches!(sandbox.place, CommandPlace::Elsewhere(Some(_)));
    policy.containment = containment(boot, policy.containment, is_held);
    if policy.containment == Containment::Missing {
        let why = language.say(Word::PlaceNoSandbox);
        notes.push(language.fill(Word::PlaceUnheld, &[why]));
    }
    options.run.system = format!("{} {} ({})", facts.os, facts.arch, place.name);
    options.paths.root.clone_from(&place.root);
    options.paths.user_home.clone_from(&facts.home);
    options.tools.env = variables(boot, place);
    options.tools.shell = ["sh", "-c"].map(OsString::from).to_vec();
    options.tools.writable = vec![place.root.clone()];
    options.toolbox.elsewhere = Some(Elsewhere {
        name: place.name.clone(),
        stand_in: boot.places.root.clone(),
        has_project_here: is_image,
        machine: boot.host(),
        sandbox: machine,
        tools,
        user_home: here,
        link: Some(place.cut.subscribe()),
    });
    options.toolbox.sandbox = sandbox;
    options.toolbox.host = super::host_of(boot, place);
    Ok(notes)
}

/// What holds commands there.
fn containment(boot: &Boot, here: Containment, is_held: bool) -> Containment {
    match (here, is_held) {
        (Containment::Waived, _) => Containment::Waived,
        (_, true) if boot.loaded.config.sandbox.network => Containment::SandboxOnline,
        (_, true) => Containment::Sandbox,
        (_, false) => Containment::Missing,
    }
}

/// What commands may touch there. The helper compares protected files afterwards, whatever the layer.
fn sandbox(
    boot: &Boot,
    place: &Connected,
    hidden: Vec<PathBuf>,
    mode: SandboxMode,
) -> anyhow::Result<SandboxSettings> {
    let facts = place.facts();
    // The one that the person chose, else the strongest that works; a program that would do it is not looked for there.
    let wanted = crate::grants::layer(boot);
    // Programs there are not looked for, so bubblewrap stands for any.
    let is_any = matches!(wanted, Choice::Auto | Choice::Bubblewrap);
    let is_wanted = |choice: &Choice| is_any || *choice == wanted;
    let mut choices = facts.layers.iter().filter_map(|layer| match layer {
        Layer::Namespaces => Some((Layer::Namespaces, Choice::Namespaces)),
        Layer::Landlock => Some((Layer::Landlock, Choice::Landlock)),
        Layer::Bubblewrap => None,
    });
    let choices = choices.find(|(_, choice)| is_wanted(choice));
    let layer = choices.map(|(layer, _)| layer);
    let is_held = layer.is_some() || place.target.has_project_here();
    if mode == SandboxMode::Require && !is_held {
        let why = boot.language.say(Word::PlaceNoSandbox);
        bail!(boot.language.fill(Word::SandboxRequired, &[why]));
    }
    let is_seen = |path: &PathBuf| !place.root.starts_with(path);
    Ok(SandboxSettings {
        mode,
        policy: Policy {
            writable: vec![place.root.clone(), TEMP.into()],
            forbid_read: hidden
                .iter()
                .filter(|path| is_seen(path))
                .cloned()
                .collect(),
            protect: place.protected(),
            network: match (boot.loaded.config.sandbox.network, layer) {
                (true, _) => Network::On,
                // The helper leads to the hosts that rules and grants name.
                (false, Some(Layer::Namespaces)) => Network::Proxy,
                (false, Some(Layer::Landlock | Layer::Bubblewrap) | None) => Network::Loopback,
            },
            layer: choices.map_or(Choice::Auto, |(_, choice)| choice),
            ..Policy::default()
        },
        sealed: hidden.into_iter().filter(is_seen).collect(),
        reader: Reader {
            home: facts
                .home
                .clone()
                .filter(|home| !home.starts_with(&place.root)),
            shown: toolchains(facts.home.as_deref()),
            ..Reader::default()
        },
        place: CommandPlace::Elsewhere(layer),
        ..SandboxSettings::default()
    })
}

/// Folders of programs in a home, which readers see.
fn toolchains(home: Option<&Path>) -> Vec<PathBuf> {
    const FOLDERS: [&str; 10] = [
        ".cargo/bin",
        ".rustup",
        ".nvm",
        ".pyenv",
        ".local/bin",
        ".local/lib",
        ".local/share/uv",
        ".gitconfig",
        ".config/git",
        "go/bin",
    ];
    let below = |home: &Path| FOLDERS.map(|name| home.join(name)).to_vec();
    home.map(below).unwrap_or_default()
}

/// What commands get there: the variables of the place, without what looks like a secret.
pub fn variables(boot: &Boot, place: &Connected) -> Vec<(OsString, OsString)> {
    let facts = place.facts();
    let shell = &boot.loaded.config.tools.shell;
    let is_listed = |list: &[String], name: &OsStr| list.iter().any(|one| name == one.as_str());
    let is_kept = |name: &OsStr, value: &OsStr| {
        is_listed(&shell.env_pass, name)
            || !is_secret(name, value) && !is_listed(&shell.env_drop, name)
    };
    let kept = facts
        .env
        .iter()
        .filter(|(name, value)| is_kept(name, value));
    let mut env: Vec<(OsString, OsString)> = kept.cloned().collect();
    for name in ["PAGER", "GIT_PAGER"] {
        env.retain(|(known, _)| known != name);
        env.push((name.into(), "cat".into()));
    }
    if !env.iter().any(|(name, _)| name == "PATH") {
        env.push(("PATH".into(), PATH.into()));
    }
    let has_home = env.iter().any(|(name, _)| name == "HOME");
    env.extend(
        facts
            .home
            .iter()
            .filter(|_| !has_home)
            .map(|home| ("HOME".into(), home.into())),
    );
    env
}
