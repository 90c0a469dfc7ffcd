//! The folders that a command has for temporary files and caches, and the variables by which programs find them.

use super::environment::{self, Variables};
use super::{SandboxSettings, Terms};
use ostler_host::sandbox::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How a reader's own folder is called, before its number.
const READER: &str = "reader-";
/// What commands see in place of the folder of this run, where they do.
pub const TMP: &str = "/tmp";

#[derive(Default)]
pub struct Folders {
    temp: Option<PathBuf>,
    caches: Vec<(String, PathBuf)>,
    own: Option<OwnFolder>,
}

impl Folders {
    /// Makes what a command with these terms writes to. A reader writes to nothing that outlives it.
    pub fn make(settings: &SandboxSettings, terms: &Terms) -> Result<Self, Error> {
        let failed = |path: PathBuf| move |source| Error::Path { path, source };
        let mut folders = Self {
            temp: None,
            caches: Vec::new(),
            own: None,
        };
        if let Some(temp) = &settings.temp {
            let folder = temp.scratch.folder();
            temp.scratch.make().map_err(|source| {
                let path = folder.clone();
                match folder.canonicalize() {
                    Ok(real) if real != path => Error::Replaced { path, real },
                    Ok(_) | Err(_) => Error::Path { path, source },
                }
            })?;
            folders.temp = Some(match (temp.is_tmp, terms.read_only) {
                (true, true) => super::settings::SHARED_MEMORY.into(),
                (true, false) => TMP.into(),
                (false, false) => folder,
                (false, true) => {
                    let own = OwnFolder::make(&folder).map_err(failed(folder))?;
                    folders.own.insert(own).0.clone()
                }
            });
        }
        let Some(caches) = &settings.caches else {
            return Ok(folders);
        };
        folders.caches.clone_from(&caches.variables);
        if !terms.read_only {
            ostler_host::private_dir(&caches.folder).map_err(failed(caches.folder.clone()))?;
        } else if let Some(temp) = &folders.temp {
            for (_, folder) in &mut folders.caches {
                let name = folder.file_name().unwrap_or_default();
                *folder = temp.join(name);
            }
        }
        Ok(folders)
    }

    /// Of a command at another place, which has this one there.
    pub fn at_place(temp: PathBuf) -> Self {
        Self {
            temp: Some(temp),
            ..Self::default()
        }
    }

    /// A reader's folder on disk, where none can be mounted for it.
    pub fn own(&self) -> Option<&Path> {
        self.own.as_ref().map(|own| own.0.as_path())
    }

    /// Leads programs to these folders. A cache that the person put where commands may write stays.
    pub fn point_to(&self, env: &mut Variables, writable: &[PathBuf]) {
        if let Some(temp) = &self.temp {
            environment::point_to_temp(env, temp);
        }
        for (name, folder) in &self.caches {
            let set = env.iter().find(|(known, _)| known == name.as_str());
            let may_write = |path: &Path| {
                let real = ostler_host::real_path(path);
                writable.iter().any(|w| real.starts_with(w))
            };
            if !set.is_some_and(|(_, path)| may_write(Path::new(path))) {
                environment::set(env, name, folder);
            }
        }
    }
}

/// A folder for one command, removed with it.
struct OwnFolder(PathBuf);

impl OwnFolder {
    fn make(above: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = above.join(format!("{READER}{number}"));
        ostler_host::private_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // What cannot be removed goes with the folder of the run.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
