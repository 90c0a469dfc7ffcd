//! Another place to work at, as the flags name it: the folder on this machine that stands for it, and which place a session
//! belongs to. Connecting to it is `place`.

use crate::errors::UsageError;
use crate::flags::{Global, PlaceFlags};
use ostler_engine::store::{Store, project_name};
use ostler_host::pane::Pane;
use ostler_host::remote::{PlaceFacts, Remote};
use ostler_host::{Host, Local};
use ostler_wire::{HERE, Language, Word};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tokio::sync::watch;

/// Where folders lie that stand for other places, in Ostler's home.
const FOLDER: &str = "places";
/// In such a folder: which place it stands for.
const RECORD: &str = "place.json";
/// Of a repository, what decides what git runs.
const GIT: [&str; 2] = [".git/hooks", ".git/config"];
const OWN: &str = ".ostler";
/// Characters of a name in the name of a folder.
const MAX_NAME: usize = 40;
/// Folders that are looked through for a session.
const MAX_FOLDERS: usize = 1000;

/// Where a process works: this machine, and another place if the flags name one.
#[derive(Clone, Default)]
pub struct Machines {
    pub local: Arc<Local>,
    /// Set before the first session.
    pub place: Arc<OnceLock<Arc<Connected>>>,
    /// Where commands run, if the person shares a pane.
    pub pane: Arc<OnceLock<Pane>>,
}

impl Machines {
    /// Where commands run, for people; none where that is this machine as always.
    pub fn name(&self) -> Option<String> {
        let place = self.place.get().map(|place| place.name.clone());
        let pane = self.pane.get().map(|_| "tmux".to_owned());
        let names: Vec<String> = place.into_iter().chain(pane).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

/// A place as the person names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    Ssh(String),
    Container(String),
    Pod(String),
    /// A new container, in which the project of this machine is.
    Image(String),
    Host(String),
}

impl Target {
    /// What the flags name, if they name a place.
    pub fn of(flags: &PlaceFlags, language: Language) -> Result<Option<Self>, UsageError> {
        let PlaceFlags {
            ssh,
            container,
            pod,
            image,
            host,
            install_helper: _,
        } = flags;
        let named = [
            ssh.clone().map(Self::Ssh),
            container.clone().map(Self::Container),
            pod.clone().map(Self::Pod),
            image.clone().map(Self::Image),
            host.clone().map(Self::Host),
        ];
        let mut named = named.into_iter().flatten();
        let Some(first) = named.next() else {
            return Ok(None);
        };
        if named.next().is_some() {
            return Err(UsageError(language.say(Word::PlaceIsOther).into()));
        }
        let (kind, name) = first.parts();
        let is_odd = |c: char| c.is_whitespace() || c.is_control();
        // A name that begins with a dash would be an option of the program that it is given to.
        match name.is_empty() || name.starts_with('-') || name.contains(is_odd) {
            true => Err(UsageError(
                language.fill(Word::PlaceBadName, &[&format!("{name:?}"), kind]),
            )),
            false => Ok(Some(first)),
        }
    }

    /// Its kind and its name.
    pub fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Ssh(name) => ("ssh", name),
            Self::Container(name) => ("container", name),
            Self::Pod(name) => ("pod", name),
            Self::Image(name) => ("image", name),
            Self::Host(name) => ("host", name),
        }
    }

    /// As people see it: `ssh user@host`.
    pub fn label(&self) -> String {
        let (kind, name) = self.parts();
        format!("{kind} {name}")
    }

    /// The place that a label names.
    fn of_label(label: &str) -> Option<Self> {
        let (kind, name) = label.split_once(' ')?;
        let name = name.to_owned();
        match kind {
            "ssh" => Some(Self::Ssh(name)),
            "container" => Some(Self::Container(name)),
            "pod" => Some(Self::Pod(name)),
            "image" => Some(Self::Image(name)),
            "host" => Some(Self::Host(name)),
            _ => None,
        }
    }

    /// Whether the project is a folder of this machine all the same.
    pub fn has_project_here(&self) -> bool {
        match self {
            Self::Image(_) => true,
            Self::Ssh(_) | Self::Container(_) | Self::Pod(_) | Self::Host(_) => false,
        }
    }

    fn flags(&self) -> PlaceFlags {
        let mut flags = PlaceFlags::default();
        let (slot, name) = match self {
            Self::Ssh(name) => (&mut flags.ssh, name),
            Self::Container(name) => (&mut flags.container, name),
            Self::Pod(name) => (&mut flags.pod, name),
            Self::Image(name) => (&mut flags.image, name),
            Self::Host(name) => (&mut flags.host, name),
        };
        *slot = Some(name.clone());
        flags
    }
}

/// What stands in the folder of a place.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    place: Target,
    root: Option<PathBuf>,
}

/// A place that is connected.
pub struct Connected {
    pub name: String,
    pub target: Target,
    /// As it was connected first.
    pub remote: Remote,
    /// What sessions work on, once one does: connected again when it must be.
    pub host: OnceLock<Arc<dyn Host>>,
    /// The project there, a real path.
    pub root: PathBuf,
    /// Why the link is cut, while it is being made again, whichever link it is by then.
    pub cut: watch::Sender<Option<String>>,
}

impl Connected {
    /// Tells of this link from now on. To be called on the runtime.
    pub fn follow(cut: &watch::Sender<Option<String>>, remote: &Remote) {
        let Some(mut state) = remote.interruptions() else {
            return;
        };
        let cut = cut.clone();
        tokio::spawn(async move {
            loop {
                let why = state.borrow_and_update().clone();
                cut.send_if_modified(|said| {
                    let is_news = *said != why;
                    *said = why;
                    is_news
                });
                if state.changed().await.is_err() {
                    return;
                }
            }
        });
    }

    pub fn facts(&self) -> &PlaceFacts {
        self.remote.facts()
    }

    /// What neither commands nor checkpoints change in the project.
    pub fn protected(&self) -> Vec<PathBuf> {
        let names = ostler_guard::protected_names().filter(|name| !name.contains('*'));
        let names = names.filter(|name| *name != ".git").chain(GIT).chain([OWN]);
        names.map(|name| self.root.join(name)).collect()
    }
}

/// The folder on this machine that stands for the project of a place: its sessions, rules and trust belong to it. Each place
/// and each root there has its own.
pub fn stand_in(target: &Target, root: Option<&Path>, home: &Path) -> anyhow::Result<PathBuf> {
    let label = target.label();
    let mut hash = Sha256::new();
    hash.update(label.as_bytes());
    hash.update([0]);
    hash.update(root.unwrap_or(Path::new("")).as_os_str().as_encoded_bytes());
    let hash = hash.finalize();
    let hash: String = hash
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._@".contains(c);
    let plain = label.chars().map(|c| if is_plain(c) { c } else { '-' });
    let plain: String = plain.take(MAX_NAME).collect();
    let folder = home.join(FOLDER).join(format!("{plain}-{hash}"));
    ostler_host::private_dir(&folder)?;
    let record = Record {
        place: target.clone(),
        root: root.map(Path::to_owned),
    };
    let text = serde_json::to_string_pretty(&record)?;
    let file = folder.join(RECORD);
    if std::fs::read_to_string(&file).ok().as_deref() != Some(text.as_str()) {
        std::fs::write(&file, text)?;
    }
    Ok(folder)
}

/// The flags with the place that a session of this id belongs to, if it is one of another place.
pub fn of_session(global: &Global, home: &Path, sessions: &Path, id: &str) -> Option<Global> {
    if global.place.names_place() {
        return None;
    }
    let places = home.join(FOLDER);
    let log = Store::new(sessions, &places).of_home(home).find(id).ok()?;
    let last = place_in(&log);
    if let Some(last) = last.as_ref().filter(|last| last.is_moved) {
        let target = Target::of_label(&last.host);
        if target.is_none() && last.host != HERE {
            return None;
        }
        let flags = target.map(|target| target.flags()).unwrap_or_default();
        return Some(Global {
            place: PlaceFlags {
                install_helper: global.place.install_helper,
                ..flags
            },
            root: Some(PathBuf::from(&last.root)),
            ..global.clone()
        });
    }
    let project = log.parent()?.file_name()?.to_owned();
    // There are none before the first session at another place.
    let folders = std::fs::read_dir(places).into_iter().flatten().flatten();
    let mut folders = folders.take(MAX_FOLDERS).map(|folder| folder.path());
    let is_its = |folder: &PathBuf| project == *project_name(folder);
    let Some(folder) = folders.find(is_its) else {
        // Of a project on this machine: its log says where its commands ran.
        let target = Target::of_label(&last?.host)?;
        let place = PlaceFlags {
            install_helper: global.place.install_helper,
            ..target.flags()
        };
        return target.has_project_here().then(|| Global {
            place,
            ..global.clone()
        });
    };
    let text = std::fs::read(folder.join(RECORD)).ok()?;
    let record: Record = serde_json::from_slice(&text).ok()?;
    Some(Global {
        place: PlaceFlags {
            install_helper: global.place.install_helper,
            ..record.place.flags()
        },
        root: record.root,
        ..global.clone()
    })
}

/// In a line that speaks of a place.
const SPEAKS: &str = "\"host\":";

/// The place that a log names last.
struct Last {
    host: String,
    root: String,
    /// The session came there from another place.
    is_moved: bool,
}

fn place_in(log: &Path) -> Option<Last> {
    let text = std::fs::read(log).ok()?;
    let lines = text.split(|byte| *byte == b'\n').rev();
    let mut places = lines.filter_map(|line| {
        // Most lines are long and speak of no place.
        let line = std::str::from_utf8(line).ok()?;
        line.contains(SPEAKS).then_some(())?;
        let entry: serde_json::Value = serde_json::from_str(line).ok()?;
        let kind = entry.get("type")?.as_str()?;
        let host = entry.get("host")?.as_str()?;
        let root = entry.get("root").and_then(|root| root.as_str());
        let speaks = !host.is_empty() && (kind == "meta" || kind == "settings");
        speaks.then(|| Last {
            host: host.to_owned(),
            root: root.unwrap_or_default().to_owned(),
            is_moved: kind == "settings",
        })
    });
    places.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(ssh: Option<&str>, container: Option<&str>) -> PlaceFlags {
        PlaceFlags {
            ssh: ssh.map(str::to_owned),
            container: container.map(str::to_owned),
            ..PlaceFlags::default()
        }
    }

    #[test]
    fn names_are_names() {
        let of = |flags: &PlaceFlags| Target::of(flags, Language::English).map_err(|e| e.0);
        assert_eq!(of(&flags(None, None)), Ok(None));
        let target = of(&flags(Some("me@box:22"), None)).unwrap().unwrap();
        assert_eq!(target.label(), "ssh me@box:22");
        for odd in ["", "-oProxyCommand=evil", "a b", "a\nb"] {
            assert!(of(&flags(Some(odd), None)).is_err(), "{odd:?}");
            assert!(of(&flags(None, Some(odd))).is_err(), "{odd:?}");
        }
        assert!(of(&flags(Some("a"), Some("b"))).is_err());
    }

    #[test]
    fn each_place_and_root_has_its_own_folder() {
        let home = tempfile::tempdir().unwrap();
        let folder = |name: &str, root: Option<&str>| {
            let target = Target::Ssh(name.into());
            stand_in(&target, root.map(Path::new), home.path()).unwrap()
        };
        let first = folder("me@box", Some("/srv/a"));
        assert_eq!(first, folder("me@box", Some("/srv/a")));
        assert_ne!(first, folder("me@box", Some("/srv/b")));
        assert_ne!(first, folder("me@box", None));
        assert_ne!(folder("a/b", None), folder("a-b", None));
        let record: Record =
            serde_json::from_slice(&std::fs::read(first.join(RECORD)).unwrap()).unwrap();
        assert_eq!(record.place, Target::Ssh("me@box".into()));
        assert_eq!(record.root.as_deref(), Some(Path::new("/srv/a")));
    }
}
