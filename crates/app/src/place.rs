//! Connects to another place, and puts the settings of a session in its terms. The person's own things (sessions, keys,
//! memory, configuration) stay on this machine.

mod askpass;
mod check;
mod desk;
mod helper;
mod image;
mod pane;
mod reach;
mod routed;
mod settings;

pub use askpass::run_if_asked;
pub use check::findings;
pub use desk::{Desk, seat};

use crate::boot::Boot;
use crate::errors::UsageError;
use crate::exit::OK;
use crate::flags::{self, Global, PlaceFlags};
use crate::location::{Connected, Target};
use crate::output;
use anyhow::anyhow;
use ostler_engine::HubSettings;
use ostler_engine::tool::EditorTerminal;
use ostler_host::remote::Remote;
use ostler_host::{Border, Host, Kind, Span};
use ostler_wire::{Language, Word};
use reach::Consent;
use routed::Routed;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::watch;

/// Files of the project that the model is given at the start, and its settings.
const PROJECT: [&str; 7] = [
    "ostler.toml",
    "AGENTS.md",
    "OSTLER.md",
    "REASONIX.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".cursorrules",
];
/// Bytes of such a file.
const MAX_FILE: u64 = 256 << 10;

/// Links that are open: they are closed at the end of the process, whatever ends it.
static LINKS: Mutex<Vec<Remote>> = Mutex::new(Vec::new());
/// The first one to each place: a session that comes back uses it again while it stands.
static KNOWN: Mutex<Vec<(Target, Remote)>> = Mutex::new(Vec::new());

fn open_links() -> MutexGuard<'static, Vec<Remote>> {
    LINKS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn known_places() -> MutexGuard<'static, Vec<(Target, Remote)>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says at all places that this process is done: what it started there ends at once. To be called at its end.
pub async fn finish() {
    let links = std::mem::take(&mut *open_links());
    for link in links {
        link.close().await;
    }
}

/// Puts the settings of sessions in terms of the place and of the pane that the flags name, and says what the person should
/// know.
pub fn apply(options: &mut HubSettings, boot: &Arc<Boot>) -> anyhow::Result<Vec<String>> {
    let mut notes = match boot.machines.place.get() {
        Some(place) => settings::apply(options, boot, place)?,
        None => Vec::new(),
    };
    notes.extend(pane::apply(options, boot));
    Ok(notes)
}

/// Has commands run in terminals of an editor. What the person should know.
pub fn use_terminal(
    options: &mut HubSettings,
    terminal: Arc<dyn EditorTerminal>,
    language: Language,
) -> String {
    options.toolbox.terminal = Some(terminal);
    let policy = &mut options.permissions.policy;
    policy.containment = crate::policy::in_pane(policy.containment);
    let why = language.say(Word::AcpTerminalUnheld);
    language.fill(Word::PlaceUnheld, &[why])
}

/// Where sessions of this process work, for people.
pub fn describe(boot: &Boot) -> String {
    let language = boot.language;
    let place = boot.machines.place.get();
    let (name, root) = match place {
        Some(place) => (place.name.as_str(), &place.root),
        None => (language.say(Word::HostHere), &boot.places.root),
    };
    let mut lines = vec![language.fill(Word::HostIs, &[name, &root.display().to_string()])];
    if let Some(place) = place {
        let facts = place.facts();
        let layers: Vec<&str> = facts.layers.iter().map(|layer| layer.name()).collect();
        lines.push(match (layers.as_slice(), place.target.has_project_here()) {
            ([], true) => language.say(Word::PlaceContainerHolds).to_owned(),
            ([], false) => language.say(Word::PlaceNoSandbox).to_owned(),
            (names, _) => language.fill(Word::PlaceSandboxIs, &[&names.join(", ")]),
        });
    }
    lines.extend(pane::attach_note(boot));
    lines.join("\n")
}

/// `ostler host`: looks at the place that the flags name, or takes the helper away from it.
pub async fn run(boot: Arc<Boot>, what: flags::Host) -> anyhow::Result<u8> {
    let language = boot.language;
    let none = || UsageError(language.say(Word::PlaceNone).into());
    let target = Target::of(&boot.global.place, language)?.ok_or_else(none)?;
    match what {
        flags::Host::Clean => {
            reach::clean(&boot, &target).await?;
            output::say(&language.fill(Word::PlaceCleaned, &[&target.label()]));
        }
        flags::Host::Check => {
            for line in reach::check(&boot, &target).await? {
                output::print(&format!("{line}\n"))?;
            }
        }
    }
    Ok(OK)
}

/// Connects to the place that the flags name, if they name one, and opens the pane that they ask for. To be called before
/// sessions are opened. What comes back has the settings that the project has there.
pub async fn reach(boot: Arc<Boot>) -> anyhow::Result<Arc<Boot>> {
    let Some(target) = Target::of(&boot.global.place, boot.language)? else {
        pane::open(&boot).await?;
        return Ok(boot);
    };
    let connected = connect(&boot, target).await?;
    let boot = settle(boot, connected).await?;
    // The terminal belongs to a session from now on.
    desk::seat(Desk::Nobody);
    Ok(boot)
}

/// The place that these words name, for a session of this process that goes on there: the flags of it.
pub async fn visit(
    boot: &Arc<Boot>,
    place: PlaceFlags,
    root: Option<PathBuf>,
) -> anyhow::Result<Arc<Boot>> {
    let Some(target) = Target::of(&place, boot.language)? else {
        return visit_here(boot, root);
    };
    let flags = |root: Option<PathBuf>| Global {
        place: PlaceFlags {
            install_helper: boot.global.place.install_helper,
            ..place.clone()
        },
        root,
        ..boot.global.clone()
    };
    let named = Arc::new(boot.of_place(flags(root))?);
    let connected = connect(&named, target).await?;
    let own = boot.machines.place.get();
    if own.is_some_and(|own| own.target == connected.target && own.root == connected.root) {
        // Where the process began: it has the checkpoints that were made there.
        return Ok(boot.clone());
    }
    // Whatever the folder was called, what belongs to it is found by its real path.
    let there = Arc::new(boot.of_place(flags(Some(connected.root.clone())))?);
    settle(there, connected).await
}

/// This machine again, in the folder where the process began unless another one is named.
fn visit_here(boot: &Arc<Boot>, root: Option<PathBuf>) -> anyhow::Result<Arc<Boot>> {
    let begun_here = boot.machines.place.get().is_none();
    if begun_here && root.is_none() {
        return Ok(boot.clone());
    }
    let root = root.map(|root| {
        let home = boot.places.user_home.as_deref();
        ostler_config::paths::absolute(&root.to_string_lossy(), &boot.places.cwd, home)
    });
    let flags = Global {
        place: PlaceFlags::default(),
        root,
        ..boot.global.clone()
    };
    Ok(Arc::new(boot.of_place(flags)?))
}

async fn connect(boot: &Arc<Boot>, target: Target) -> anyhow::Result<Connected> {
    let stands = |(known, remote): &(Target, Remote)| {
        let stands = *known == target && remote.lost().is_none();
        stands.then(|| remote.clone())
    };
    let known = known_places().iter().find_map(stands);
    let remote = match known {
        Some(remote) => remote,
        None => {
            let remote = reach::connect(boot, &target, Consent::Asked).await?;
            known_places().push((target.clone(), remote.clone()));
            remote
        }
    };
    let (cut, _) = watch::channel(None);
    Connected::follow(&cut, &remote);
    Ok(Connected {
        cut,
        root: root_at(boot, &target, &remote).await?,
        name: target.label(),
        host: OnceLock::new(),
        target,
        remote,
    })
}

/// Takes the settings and instructions of the project there, and opens the pane that the flags ask for.
async fn settle(boot: Arc<Boot>, connected: Connected) -> anyhow::Result<Arc<Boot>> {
    let is_there = !connected.target.has_project_here();
    if is_there {
        copy_project(&connected, &boot.places.root).await?;
    }
    // Nobody else sets it: this is done once for each.
    let _set = boot.machines.place.set(Arc::new(connected));
    let boot = match is_there {
        true => Arc::new(boot.anew()?),
        false => boot,
    };
    pane::open(&boot).await?;
    Ok(boot)
}

/// What sessions of the place work on. It holds the process's own settings, which is why it is not there from the start.
fn host_of(boot: &Arc<Boot>, place: &Connected) -> Arc<dyn Host> {
    let own = [boot.places.home.clone(), boot.sessions_dir()];
    // What is in a throw-away container is the same folder.
    let project = Some(&boot.places.root).filter(|_| place.target.has_project_here());
    let host = || -> Arc<dyn Host> {
        Arc::new(Routed {
            boot: boot.clone(),
            name: place.name.clone(),
            target: place.target.clone(),
            current: tokio::sync::Mutex::new(place.remote.clone()),
            cut: place.cut.clone(),
            machine: boot.host(),
            own: own
                .iter()
                .chain(project)
                .flat_map(|path| [path.clone(), ostler_host::real_path(path)])
                .collect(),
        })
    };
    place.host.get_or_init(host).clone()
}

/// Where the project lies: as the flag says, as the configuration says, or where the helper was started.
async fn root_at(boot: &Boot, target: &Target, remote: &Remote) -> anyhow::Result<PathBuf> {
    let language = boot.language;
    let facts = remote.facts();
    let configured = match target {
        Target::Host(name) => boot.loaded.config.host.get(name),
        Target::Image(_) => return Ok(boot.places.root.clone()),
        Target::Ssh(_) | Target::Container(_) | Target::Pod(_) => None,
    };
    let configured = configured
        .and_then(|host| host.root.clone())
        .map(PathBuf::from);
    let named = boot.global.root.clone().or(configured);
    let mut path = facts.cwd.join(named.clone().unwrap_or_default());
    if let (Some(named), Some(home)) = (&named, &facts.home)
        && let Ok(rest) = named.strip_prefix("~")
    {
        path = home.join(rest);
    }
    let path: PathBuf = path
        .components()
        .filter(|c| *c != Component::CurDir)
        .collect();
    let stat = remote
        .stat(&path)
        .await
        .map_err(|error| anyhow!("{error}"))?;
    if stat.kind != Kind::Directory {
        let shown = path.display().to_string();
        return Err(
            UsageError(language.fill(Word::PlaceNoFolder, &[&shown, &target.label()])).into(),
        );
    }
    let home = match &facts.home {
        Some(home) => remote.stat(home).await.ok().map(|stat| stat.path),
        None => None,
    };
    let holds_home = home.is_some_and(|home| home.starts_with(&stat.path));
    match holds_home || stat.path.parent().is_none() {
        true => {
            let shown = stat.path.display().to_string();
            let text = language.fill(Word::PlaceWide, &[&shown, &target.label()]);
            Err(UsageError(text).into())
        }
        false => Ok(stat.path),
    }
}

/// What the project says to the model and to us is read at the place, and kept where sessions look for it.
async fn copy_project(place: &Connected, folder: &Path) -> anyhow::Result<()> {
    let border = Arc::new(Border {
        places: vec![(place.root.clone(), ostler_host::Place::Inside)],
        ..Border::default()
    });
    for name in PROJECT {
        let span = Span::head(MAX_FILE);
        let read = place
            .remote
            .read(&place.root.join(name), span, &border)
            .await;
        let copy = folder.join(name);
        match read {
            Ok(content) if !content.truncated => std::fs::write(&copy, &content.bytes)?,
            // None there, or none that may be read: none here.
            Ok(_) | Err(_) => match std::fs::remove_file(&copy) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            },
        }
    }
    Ok(())
}
