//! What the processes of one person hold at the same moment: a file per process, locked as long as it lives, so that the
//! hold of a process that was killed counts no more. Only a limit of the day needs it; a session is open in one process.

use super::Amount;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long others are waited for. They hold the door for microseconds; one that was stopped there must not stop us.
const PATIENCE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(1);
/// Bytes of a file, blanks at its end included: each change is one write of as many.
const SIZE: usize = 64;
/// Files that are looked at.
const MAX_PROCESSES: usize = 1_000;
/// Held by whoever looks or changes something.
const DOOR: &str = "lock";

#[derive(Debug)]
pub struct Holds {
    dir: PathBuf,
    own: Option<Own>,
}

#[derive(Debug)]
struct Own {
    file: File,
    path: PathBuf,
}

/// While it lives, no other process holds anything more or less.
#[derive(Debug)]
pub struct Door(#[expect(dead_code, reason = "it is there to be dropped")] Option<File>);

impl Holds {
    pub fn new(home: &Path) -> Self {
        Self {
            dir: home.join("holds"),
            own: None,
        }
    }

    /// Waits for its turn. Where nothing can be locked there is no turn to wait for.
    pub fn enter(&self) -> Door {
        Door(self.locked().ok())
    }

    fn locked(&self) -> io::Result<File> {
        ostler_files::private_dir(&self.dir)?;
        let door = open(&self.dir.join(DOOR))?;
        let since = Instant::now();
        loop {
            match door.try_lock() {
                Ok(()) => return Ok(door),
                Err(TryLockError::WouldBlock) if since.elapsed() < PATIENCE => {
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What all other processes hold. Files of those that are no more are removed.
    pub fn of_others(&self, _: &Door) -> Amount {
        let files = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut sum = Amount::default();
        for entry in files.take(MAX_PROCESSES) {
            let path = entry.path();
            let is_own = self.own.as_ref().is_some_and(|own| own.path == path);
            if is_own || entry.file_name() == DOOR {
                continue;
            }
            let Ok(mut file) = File::open(&path) else {
                continue;
            };
            match file.try_lock_shared() {
                // It could not be had if its owner were alive.
                Ok(()) => drop(std::fs::remove_file(&path)),
                Err(TryLockError::WouldBlock) => sum = sum.plus(read(&mut file)),
                Err(TryLockError::Error(_)) => {}
            }
        }
        sum
    }

    /// Tells the others what this process holds. A disk that takes nothing leaves it untold, as the ledger does.
    pub fn tell(&mut self, amount: Amount, _: &Door) {
        // Whoever never held anything has nothing to take back.
        if self.own.is_none() && amount == Amount::default() {
            return;
        }
        if self.own.is_none() {
            self.own = self.create().ok();
        }
        if let Some(own) = &mut self.own {
            let _ = write(&mut own.file, amount);
        }
    }

    fn create(&self) -> io::Result<Own> {
        let path = self.dir.join(uuid::Uuid::new_v4().simple().to_string());
        let file = open(&path)?;
        file.try_lock()?;
        Ok(Own { file, path })
    }
}

impl Drop for Holds {
    fn drop(&mut self) {
        if let Some(own) = &self.own {
            // One that stays is unlocked, and removed by the next to look.
            let _ = std::fs::remove_file(&own.path);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

fn write(file: &mut File, Amount { usd, tokens }: Amount) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(format!("{:<SIZE$}", format!("{tokens} {usd}")).as_bytes())
}

fn read(file: &mut File) -> Amount {
    let mut text = String::new();
    // What cannot be read holds nothing that anybody knows of.
    let _ = file.take(SIZE as u64).read_to_string(&mut text);
    let mut words = text.split_whitespace();
    let tokens = words.next().and_then(|word| word.parse().ok());
    let usd = words.next().and_then(|word| word.parse().ok());
    Amount {
        usd: usd
            .filter(|usd: &f64| usd.is_finite() && *usd >= 0.0)
            .unwrap_or(0.0),
        tokens: tokens.unwrap_or(0),
    }
}
