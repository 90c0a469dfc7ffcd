//! Time in which no command runs that may change files, for what somebody else opens by its name.

use super::record::{Records, Turn};
use super::unchanged::records_folders;
use std::path::PathBuf;

/// No command begins in any session of this account while this is held.
#[derive(Debug)]
pub struct Pause {
    _turns: Vec<Turn>,
}

impl Pause {
    /// None while a command runs that may change files, and where nobody can tell. Blocks while another session begins one.
    pub fn begin() -> Option<Self> {
        Self::in_folders(records_folders())
    }

    fn in_folders(folders: &[PathBuf]) -> Option<Self> {
        let mut turns = Vec::new();
        for folder in folders {
            let records = Records::new(folder.clone());
            let turn = records.turn().ok()?;
            if records.is_any_live(&turn) {
                return None;
            }
            turns.push(turn);
        }
        Some(Self { _turns: turns })
    }
}

#[cfg(test)]
mod tests {
    use super::super::watch::Watch;
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn nothing_begins_in_a_pause_and_there_is_none_while_something_runs() {
        let dir = tempfile::tempdir().unwrap();
        let folders = [dir.path().join("a"), dir.path().join("b")];
        let records = Records::new(folders[1].clone());
        let pause = Pause::in_folders(&folders).unwrap();
        let (next, tree) = (records.clone(), dir.path().to_owned());
        let begun = std::thread::spawn(move || {
            let turn = next.turn().unwrap();
            next.write(&tree, SystemTime::now(), &Watch::new(&[]), &turn)
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!begun.is_finished());
        drop(pause);
        let record = begun.join().unwrap().unwrap();
        assert!(Pause::in_folders(&folders).is_none());
        drop(record);
        assert!(Pause::in_folders(&folders).is_some());
    }
}
