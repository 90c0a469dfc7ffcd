//! The folders that calls may work in: that of the server, those that the person named at its start, and what is below them.
//! Which folder a call wants is a model's word, so no other is taken, and one below is no project of its own: the rules and the
//! protected files are those of the folder that the person named.

use crate::boot::Boot;
use std::path::{Path, PathBuf};

/// Where a call works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The folder that the person named: its settings count, and its files are protected.
    pub root: PathBuf,
    /// The same, or a folder below it.
    pub folder: PathBuf,
}

impl Place {
    /// The folder from the root, where it is below it.
    pub fn below(&self) -> Option<&Path> {
        let below = self.folder.strip_prefix(&self.root).ok();
        below.filter(|path| !path.as_os_str().is_empty())
    }
}

pub struct Folders {
    /// Canonical, that of the server first.
    roots: Vec<PathBuf>,
}

impl Folders {
    /// A folder that the person names has to be there.
    pub fn new(boot: &Boot, more: &[PathBuf]) -> anyhow::Result<Self> {
        let mut roots = vec![boot.places.root.clone()];
        for folder in more {
            let folder = boot.places.cwd.join(folder);
            roots.push(boot.of_root(&folder)?.places.root);
        }
        Ok(Self { roots })
    }

    /// Where a call works. The error is for the model of the client.
    pub fn find(&self, wanted: Option<&Path>) -> Result<Place, String> {
        let own = self.roots.first().ok_or("the server has no folder")?;
        let Some(wanted) = wanted.filter(|path| !path.as_os_str().is_empty()) else {
            return Ok(Place {
                root: own.clone(),
                folder: own.clone(),
            });
        };
        let path = own.join(wanted);
        let found = path.canonicalize();
        let found = found.map_err(|error| format!("{}: {error}", path.display()))?;
        if !found.is_dir() {
            return Err(format!("{} is no folder", path.display()));
        }
        // Of folders one below the other, the innermost that the person named.
        let around = self.roots.iter().filter(|root| found.starts_with(root));
        let Some(root) = around.max_by_key(|root| root.components().count()) else {
            let roots = self.roots.iter().map(|root| root.display().to_string());
            let roots: Vec<String> = roots.collect();
            return Err(format!(
                "{} is outside of the folders of this server ({}). The person can start it with more: `ostler mcp-server DIR`.",
                found.display(),
                roots.join(", ")
            ));
        };
        Ok(Place {
            root: root.clone(),
            folder: found,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_work_in_the_folders_of_the_server() {
        let space = tempfile::tempdir().unwrap();
        let top = space.path().canonicalize().unwrap();
        for name in ["own/sub", "own/named/deep", "other", "elsewhere"] {
            std::fs::create_dir_all(top.join(name)).unwrap();
        }
        std::fs::write(top.join("own/file"), "").unwrap();
        let folders = Folders {
            roots: vec![top.join("own"), top.join("other"), top.join("own/named")],
        };
        let find = |path: &str| folders.find(Some(Path::new(path)));
        let place = |root: &str, folder: &str| {
            Ok(Place {
                root: top.join(root),
                folder: top.join(folder),
            })
        };
        assert_eq!(folders.find(None), place("own", "own"));
        assert_eq!(find(""), place("own", "own"));
        // What is below a folder is no project of its own.
        assert_eq!(find("sub"), place("own", "own/sub"));
        assert_eq!(find("../other"), place("other", "other"));
        assert_eq!(find("named/deep"), place("own/named", "own/named/deep"));
        assert_eq!(find("sub").unwrap().below(), Some(Path::new("sub")));
        assert_eq!(find("").unwrap().below(), None);
        for (path, part) in [
            ("../elsewhere", "outside of the folders"),
            ("..", "outside of the folders"),
            ("/", "outside of the folders"),
            ("file", "is no folder"),
            ("gone", "gone: "),
        ] {
            let error = find(path).unwrap_err();
            assert!(error.contains(part), "{path}: {error}");
        }
    }
}
