//! The folders that calls may work in: that of the server, those that the person named at its start, and what is below them.
//! Which folder a call wants is a model's word, so no other is taken.

use crate::boot::Boot;
use std::path::{Path, PathBuf};

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
    pub fn find(&self, wanted: Option<&Path>) -> Result<PathBuf, String> {
        let own = self.roots.first().ok_or("the server has no folder")?;
        let Some(wanted) = wanted.filter(|path| !path.as_os_str().is_empty()) else {
            return Ok(own.clone());
        };
        let path = own.join(wanted);
        let found = path.canonicalize();
        let found = found.map_err(|error| format!("{}: {error}", path.display()))?;
        if !found.is_dir() {
            return Err(format!("{} is no folder", path.display()));
        }
        if !self.roots.iter().any(|root| found.starts_with(root)) {
            let roots = self.roots.iter().map(|root| root.display().to_string());
            let roots: Vec<String> = roots.collect();
            return Err(format!(
                "{} is outside of the folders of this server ({}). The person can start it with more: `ostler mcp-server DIR`.",
                found.display(),
                roots.join(", ")
            ));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_work_in_the_folders_of_the_server() {
        let space = tempfile::tempdir().unwrap();
        let top = space.path().canonicalize().unwrap();
        for name in ["own/sub", "other", "elsewhere"] {
            std::fs::create_dir_all(top.join(name)).unwrap();
        }
        std::fs::write(top.join("own/file"), "").unwrap();
        let folders = Folders {
            roots: vec![top.join("own"), top.join("other")],
        };
        let find = |path: &str| folders.find(Some(Path::new(path)));
        assert_eq!(folders.find(None), Ok(top.join("own")));
        assert_eq!(find(""), Ok(top.join("own")));
        assert_eq!(find("sub"), Ok(top.join("own/sub")));
        assert_eq!(find("../other"), Ok(top.join("other")));
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
