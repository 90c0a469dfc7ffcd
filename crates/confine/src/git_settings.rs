//! The settings of the project's repository, as copies that one command may change. Judging what it changed, and writing that
//! to the repository, is `host`.

use super::folders::TMP;
use super::search::keep_text;
use super::{SandboxSettings, Terms};
use ostler_host::sandbox::{CopyPlace, Error, LinkedFile, SettingsCopy};
use ostler_store::artifacts::Artifacts;
use ostler_tools::sandbox_report::Change;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// How the folder of a copy is called, before what nobody can guess: a command could make it first.
const FOLDER: &str = ".git-settings-";
/// How the link to it is called.
const LINK: &str = "git-settings-link-";

/// What was not taken over where the copy could not be read, or the settings are locked.
const ANY: &str = "any change";

#[derive(Default)]
pub struct SettingsCopies(Vec<SettingsCopy>);

impl SettingsCopies {
    /// For a command that may change the repository and sees the folder of this run as its `/tmp`.
    pub fn make(
        settings: &SandboxSettings,
        terms: &Terms,
        writable: &[PathBuf],
    ) -> Result<Self, Error> {
        let Some(folder) = settings.seen_as_tmp().filter(|_| !terms.read_only) else {
            return Ok(Self::default());
        };
        let outer = folder.parent().unwrap_or(&folder).to_owned();
        let mut copies = Vec::new();
        for file in &settings.git.settings {
            let real = std::fs::canonicalize(file).unwrap_or_else(|_| file.clone());
            let may_write = |folder: &PathBuf| {
                let folder = std::fs::canonicalize(folder);
                folder.is_ok_and(|folder| real.starts_with(folder))
            };
            if !writable.iter().any(may_write) {
                continue;
            }
            let number = Uuid::new_v4();
            let name = format!("{FOLDER}{number}");
            let place = CopyPlace {
                folder: folder.join(&name),
                seen: Path::new(TMP).join(&name),
                link: outer.join(format!("{LINK}{number}")),
            };
            let failed = |source| Error::Path {
                path: file.clone(),
                source,
            };
            copies.extend(SettingsCopy::make(file, place).map_err(failed)?);
        }
        Ok(Self(copies))
    }

    pub fn links(&self) -> Vec<LinkedFile> {
        self.0.iter().map(SettingsCopy::linked).collect()
    }

    /// Writes what is harmless of the changes to the repository; what is not is told. Blocks.
    pub fn take_over(&self, artifacts: Option<&Artifacts>, call_id: &str) -> Vec<Change> {
        let each = self.0.iter().enumerate().filter_map(|(number, copy)| {
            let path = copy.file().to_owned();
            match copy.take_over() {
                Ok(taken) if taken.refused.is_empty() => None,
                Ok(taken) => {
                    let name = format!("settings-{call_id}-{number}");
                    Some(Change {
                        unseen: false,
                        path,
                        undone: true,
                        aside: artifacts.and_then(|to| keep_text(to, &name, &taken.text)),
                        refused: taken.refused,
                    })
                }
                Err(_) => Some(Change {
                    unseen: false,
                    path,
                    undone: true,
                    aside: None,
                    refused: vec![ANY.into()],
                }),
            }
        });
        each.collect()
    }
}
