//! Programs that run outside of the sandbox although commands may change their files: the person said so. What such a file
//! holds is remembered before the first command of this process, and a program whose files hold something else by then is
//! not started again.

use super::settings::{Confinement, Endpoint, Program, Server, Surroundings};
use super::trouble::{Code, Trouble};
use ostler_wire::{Why, Word};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Bytes of a file that count; its length counts, too.
const MAX_READ: u64 = 64 << 20;
/// What interpreters run of a folder that they are given.
const ENTRIES: [&str; 3] = ["__main__.py", "index.js", "package.json"];

/// Of every file, what it held when it was first named. Settings may be read again; this is not.
static ORIGINALS: Mutex<BTreeMap<PathBuf, Content>> = Mutex::new(BTreeMap::new());

/// What a file holds; `None` for one that is not there or cannot be read.
type Content = Option<(u64, Vec<u8>)>;

/// To be called before a command can run. Blocks.
pub(super) fn remember_server(server: &Server, around: &Surroundings) {
    match &server.endpoint {
        Endpoint::Program(program) => remember(program, around),
        Endpoint::Address(address) => {
            if let Some(helper) = address.helper(around) {
                remember(&helper, around);
            }
        }
        Endpoint::Unusable(_) => {}
    }
}

pub(super) fn remember(program: &Program, around: &Surroundings) {
    if program.confinement == Confinement::Free {
        changed(&program.changeable(&around.sandbox, &around.env));
    }
}

/// The sandbox that a program gets, or why it is not to be started. Blocks.
pub(super) fn settle(program: &Program, around: &Surroundings) -> Result<Confinement, Trouble> {
    let files = program.changeable(&around.sandbox, &around.env);
    let confinement = program.confinement.settled(|| !files.is_empty());
    if confinement != Confinement::Free {
        return Ok(confinement);
    }
    match changed(&files) {
        None => Ok(confinement),
        Some(path) => {
            let path = path.display().to_string();
            let why = Why::ours(Word::McpFileChanged, [path.into()]);
            Err(Trouble::new(Code::Settings, why))
        }
    }
}

/// The first of these files that no longer holds what it did. One that is new here counts as it is now.
fn changed(files: &[PathBuf]) -> Option<PathBuf> {
    let inner = |path: &PathBuf| ENTRIES.map(|name| path.join(name));
    let folders = files.iter().filter(|path| path.is_dir());
    let all: Vec<PathBuf> = folders.flat_map(inner).collect();
    let mut originals = ORIGINALS.lock().unwrap_or_else(PoisonError::into_inner);
    let differs = |path: &&PathBuf| {
        let now = content(path);
        let before = originals.entry((*path).clone());
        *before.or_insert_with(|| now.clone()) != now
    };
    let files = files.iter().filter(|path| !path.is_dir());
    files.chain(&all).find(differs).cloned()
}

fn content(path: &Path) -> Content {
    let file = ostler_host::open_without_waiting(path).ok()?;
    let meta = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut hash = Sha256::new();
    let mut left = file.take(MAX_READ);
    let mut piece = vec![0; 64 << 10];
    loop {
        match left.read(&mut piece).ok()? {
            0 => break,
            length => hash.update(piece.get(..length)?),
        }
    }
    Some((meta.len(), hash.finalize().to_vec()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_the_place_of_a_script_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("server.js");
        std::fs::write(&script, "1").unwrap();
        assert!(content(&script).is_some());
        std::fs::remove_file(&script).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&script).status();
        assert!(made.unwrap().success());
        assert_eq!(content(&script), None);
    }
}
