//! The folder that commands have for temporary files, one for each run of Ostler, in place of the one that all share.

use crate::boot::Boot;
use ostler_config::paths::is_inside;
use ostler_engine::confine::{SandboxMode, Temp};
use ostler_host::Scratch;
use ostler_host::sandbox::Layer;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Where such folders are made, if the person's own choice is none.
const SHARED: [&str; 2] = ["/tmp", "/var/tmp"];

static SCRATCH: OnceLock<Arc<Scratch>> = OnceLock::new();

/// The folder of this run. With mounts, commands see it as `/tmp`.
pub fn find(boot: &Boot, layer: Option<Layer>) -> Option<Temp> {
    let base = base(boot)?;
    let made = || Arc::new(Scratch::plan(&base, &uuid::Uuid::new_v4().to_string()));
    Some(Temp {
        scratch: SCRATCH.get_or_init(made).clone(),
        is_tmp: matches!(layer, Some(Layer::Namespaces | Layer::Bubblewrap)),
    })
}

/// Where the temporary files of commands are, if commands are confined.
pub fn folder(boot: &Boot) -> Option<PathBuf> {
    let confined = super::mode(boot) != SandboxMode::Off;
    let temp = find(boot, None).filter(|_| confined)?;
    Some(temp.scratch.folder())
}

/// The folder that all share, unless it is the whole disk, the home, or holds the home or the project. One that holds
/// Ostler's own home is not writable either: what lies there is run by the next start.
pub fn shared(boot: &Boot) -> Option<PathBuf> {
    let own = std::env::temp_dir();
    let wide = |path: &Path| {
        let mut inner = boot.places.user_home.iter().chain([&boot.places.root]);
        path.parent().is_none() || inner.any(|inner| is_inside(inner, path))
    };
    let known = SHARED.iter().any(|shared| own == Path::new(shared));
    let holds_ours = is_inside(&boot.places.home, &own);
    (own.is_absolute() && !holds_ours && (known || !wide(&own))).then_some(own)
}

/// What lies below the folders that are replaced and is needed all the same: the home, programs, and our own.
pub fn visible(boot: &Boot) -> Vec<PathBuf> {
    let path = boot.env.get("PATH").map(String::as_str).unwrap_or_default();
    let programs = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let home = boot.places.user_home.iter().cloned();
    let own = std::env::current_exe().ok();
    let is_below = |path: &PathBuf| {
        let below = |shared: &&str| is_inside(path, Path::new(shared));
        SHARED.iter().any(below) && !SHARED.iter().any(|s| path == Path::new(s))
    };
    home.chain(programs).chain(own).filter(is_below).collect()
}

/// Removes it at the end of the run.
pub fn remove() {
    if let Some(scratch) = SCRATCH.get() {
        scratch.remove();
    }
}

/// The person's own folder for temporary files, unless that is their home or the whole disk, or nothing can be made in it.
fn base(boot: &Boot) -> Option<PathBuf> {
    let home = boot.places.user_home.as_deref();
    let fits = |path: &PathBuf| {
        path.is_absolute()
            && path.is_dir()
            && path.parent().is_some()
            && Some(path.as_path()) != home
            && tempfile::tempdir_in(path).is_ok()
    };
    let own = std::env::temp_dir();
    let shared = SHARED.map(|path| Path::new(path).to_owned());
    let mut all = [own].into_iter().chain(shared);
    all.find(fits).and_then(|path| path.canonicalize().ok())
}
