//! Programs that are run outside of the sandbox: found by name only where no command of a session could have put them.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Where programs are looked for, and where they are not.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    folders: Vec<PathBuf>,
    changeable: Vec<PathBuf>,
}

impl Programs {
    /// Of `PATH`, the folders that are absolute, that no command can change, and that belong to the person or to root.
    /// `changeable` is where commands write.
    pub fn new(path: Option<&OsStr>, changeable: &[PathBuf]) -> Self {
        let changeable: Vec<PathBuf> = changeable
            .iter()
            .flat_map(|folder| [folder.clone(), crate::real_path(folder)])
            .collect();
        let is_safe = |folder: &PathBuf| folder.is_absolute() && is_safe(folder, &changeable);
        let all = path.map(std::env::split_paths).into_iter().flatten();
        Self {
            folders: all.filter(is_safe).collect(),
            changeable,
        }
    }

    /// The program of this name, or at this absolute path.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let named = Path::new(name);
        let is_plain = !name.is_empty() && !name.contains(std::path::is_separator);
        let candidates: Vec<PathBuf> = match is_plain {
            false => Some(named.to_owned())
                .filter(|path| path.is_absolute())
                .into_iter()
                .collect(),
            true => self
                .folders
                .iter()
                .map(|folder| folder.join(name))
                .collect(),
        };
        let with_suffix = |path: PathBuf| {
            let mut suffixed = path.as_os_str().to_owned();
            suffixed.push(std::env::consts::EXE_SUFFIX);
            [path, suffixed.into()]
        };
        let mut all = candidates.into_iter().flat_map(with_suffix);
        all.find(|path| is_program(path) && is_safe(path, &self.changeable))
    }

    /// What such a program gets as `PATH`: it finds its own helpers in the same folders.
    pub fn path(&self) -> OsString {
        std::env::join_paths(&self.folders).unwrap_or_default()
    }
}

/// Whether neither a command nor a stranger can change what is at this path, as it is written and where it leads.
fn is_safe(path: &Path, changeable: &[PathBuf]) -> bool {
    let real = crate::real_path(path);
    let is_free = |path: &Path| !changeable.iter().any(|folder| path.starts_with(folder));
    is_free(path) && is_free(&real) && is_owned(&real)
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// It and all above belong to root or to the person, and not everybody may write there.
#[cfg(unix)]
fn is_owned(real: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const EVERYBODY: u32 = 0o002;
    const STICKY: u32 = 0o1000;
    let own = rustix::process::geteuid().as_raw();
    real.ancestors().all(|path| {
        std::fs::symlink_metadata(path).is_ok_and(|meta| {
            let is_ours = meta.uid() == 0 || meta.uid() == own;
            // Where names stay their owner's, others can add files but not exchange these.
            let is_shared = meta.mode() & EVERYBODY != 0 && !meta.is_symlink();
            is_ours && (!is_shared || (meta.is_dir() && meta.mode() & STICKY != 0))
        })
    })
}

#[cfg(not(unix))]
fn is_owned(_real: &Path) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    fn put(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn programs_of_commands_are_not_found() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let project = top.join("project");
        for name in ["project/.venv/bin/tool", "shared/tool", "own/tool"] {
            put(&top.join(name), 0o755);
        }
        put(&top.join("own/plain"), 0o644);
        put(&top.join("own/loose"), 0o757);
        fs::create_dir(top.join("linked")).unwrap();
        std::os::unix::fs::symlink(project.join(".venv/bin/tool"), top.join("linked/tool"))
            .unwrap();
        std::os::unix::fs::symlink(project.join(".venv/bin"), top.join("alias")).unwrap();
        fs::set_permissions(top.join("shared"), Permissions::from_mode(0o777)).unwrap();
        let find = |folders: &[&str], name: &str| {
            let all = folders.iter().map(|folder| match folder.strip_prefix('@') {
                Some(below) => top.join(below),
                None => PathBuf::from(folder),
            });
            let path = std::env::join_paths(all).unwrap();
            Programs::new(Some(&path), std::slice::from_ref(&project)).find(name)
        };
        let own = Some(top.join("own/tool"));
        assert_eq!(find(&["@own"], "tool"), own);
        for planted in [
            "@project/.venv/bin",
            "@alias",
            "@linked",
            "@shared",
            ".",
            "bin",
            "",
        ] {
            assert_eq!(find(&[planted], "tool"), None, "{planted}");
            assert_eq!(find(&[planted, "@own"], "tool"), own, "{planted}");
        }
        assert_eq!(find(&["@own"], "plain"), None);
        assert_eq!(find(&["@own"], "loose"), None);
        let at = |name: &str| top.join(name).display().to_string();
        assert_eq!(find(&[], &at("own/tool")), own);
        for name in [
            &*at("project/.venv/bin/tool"),
            &*at("alias/tool"),
            "own/tool",
            "",
        ] {
            assert_eq!(find(&["@own"], name), None, "{name}");
        }
        let path = std::env::join_paths([top.join("own"), project.join(".venv/bin")]).unwrap();
        let programs = Programs::new(Some(&path), &[project]);
        assert_eq!(programs.path(), top.join("own").into_os_string());
    }
}
