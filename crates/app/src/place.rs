//! Connects to another place, and puts the settings of a session in its terms. The person's own things (sessions, keys,
//! memory, configuration) stay on this machine.

mod askpass;
mod helper;
mod reach;
mod routed;
mod settings;

pub use askpass::run_if_asked;
pub use settings::apply;

use crate::boot::Boot;
use crate::errors::UsageError;
use crate::exit::OK;
use crate::flags;
use crate::location::{Connected, Target};
use crate::output;
use anyhow::anyhow;
use ostler_host::remote::Remote;
use ostler_host::{Border, Host, Kind, Span};
use ostler_wire::Word;
use reach::Consent;
use routed::Routed;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Files of the project that the model is given at the start.
const INSTRUCTIONS: [&str; 4] = ["AGENTS.md", "OSTLER.md", "REASONIX.md", "CLAUDE.md"];
/// Bytes of such a file.
const MAX_INSTRUCTIONS: u64 = 256 << 10;

/// Links that are open: they are closed at the end of the process, whatever ends it.
static LINKS: Mutex<Vec<Remote>> = Mutex::new(Vec::new());

fn open_links() -> MutexGuard<'static, Vec<Remote>> {
    LINKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says at all places that this process is done: what it started there ends at once. To be called at its end.
pub async fn finish() {
    let links = std::mem::take(&mut *open_links());
    for link in links {
        link.close().await;
    }
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

/// Connects to the place that the flags name, if they name one. To be called before sessions are opened.
pub async fn reach(boot: Arc<Boot>) -> anyhow::Result<Arc<Boot>> {
    let Some(target) = Target::of(&boot.global.place, boot.language)? else {
        return Ok(boot);
    };
    let remote = reach::connect(&boot, &target, Consent::Asked).await?;
    let connected = Connected {
        root: root_at(&boot, &target, &remote).await?,
        name: target.label(),
        host: OnceLock::new(),
        target,
        remote,
    };
    copy_instructions(&connected, &boot.places.root).await?;
    askpass::only_remember();
    // Nobody else sets it: this is done once, before the first session.
    let _set = boot.machines.place.set(Arc::new(connected));
    Ok(boot)
}

/// What sessions of the place work on. It holds the process's own settings, which is why it is not there from the start.
fn host_of(boot: &Arc<Boot>, place: &Connected) -> Arc<dyn Host> {
    let own = [boot.places.home.clone(), boot.sessions_dir()];
    let host = || -> Arc<dyn Host> {
        Arc::new(Routed {
            boot: boot.clone(),
            name: place.name.clone(),
            target: place.target.clone(),
            current: tokio::sync::Mutex::new(place.remote.clone()),
            machine: boot.host(),
            own: own
                .iter()
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

/// What the project tells the model is read at the place, and kept where sessions look for it.
async fn copy_instructions(place: &Connected, folder: &Path) -> anyhow::Result<()> {
    let border = Arc::new(Border {
        places: vec![(place.root.clone(), ostler_host::Place::Inside)],
        ..Border::default()
    });
    for name in INSTRUCTIONS {
        let span = Span::head(MAX_INSTRUCTIONS);
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
