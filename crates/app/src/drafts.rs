//! What was being written and not sent, a file for each session. Whoever writes one holds a lock on it, so that the draft of
//! a conversation in another window is told from the one of a process that is gone.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

const MAX_DRAFT: u64 = 4 << 20;
/// Files that are looked at.
const MAX_DRAFTS: usize = 200;
/// A draft of another session is not told of after this time.
const STALE: Duration = Duration::from_secs(24 * 3600);
/// Bytes that are worth to be told of in another session.
const WORTH_TELLING: u64 = 8;
const EXTENSION: &str = "draft";
/// Of the file that says that the person knows of it.
const TOLD: &str = "told";

/// What a session finds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub text: Option<String>,
    /// An earlier session, in which something was said already, has one.
    pub elsewhere: Option<String>,
}

pub struct Drafts {
    folder: PathBuf,
    /// The session that writes, and its file.
    held: Option<(String, File)>,
}

impl Drafts {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, held: None }
    }

    fn path(&self, session: &str) -> PathBuf {
        self.folder.join(session).with_extension(EXTENSION)
    }

    /// The draft of this session. One in which nothing was said yet takes over what was written in another such, whose
    /// process is gone: there is no way back to that one.
    pub fn find(&mut self, session: &str, has_begun: impl Fn(&str) -> bool) -> Found {
        self.held = None;
        if let Ok(text) = self.read(session) {
            return Found {
                text: Some(text),
                elsewhere: None,
            };
        }
        let mut found = Found::default();
        if has_begun(session) {
            return found;
        }
        for (other, age) in self.others(session) {
            if has_begun(&other) {
                if age < STALE && found.elsewhere.is_none() && self.is_left(&other) {
                    found.elsewhere = self.tell(&other).then_some(other);
                }
                continue;
            }
            if let Ok(text) = self.take_over(&other, session) {
                found.text = Some(text);
                break;
            }
        }
        found
    }

    /// Keeps the draft of a session; an empty one leaves no file.
    pub fn keep(&mut self, session: &str, text: &str) -> io::Result<()> {
        if text.is_empty() || self.held.is_none() {
            // What is written from now on is news again.
            let _ = fs::remove_file(self.told(session));
        }
        if text.is_empty() {
            self.held = None;
            return match fs::remove_file(self.path(session)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
                Ok(()) | Err(_) => Ok(()),
            };
        }
        if self.held.as_ref().is_none_or(|(held, _)| held != session) {
            ostler_host::private_dir(&self.folder)?;
            let file = self.open(session)?;
            // A file system without locks keeps drafts all the same.
            let _ = file.try_lock();
            self.held = Some((session.to_owned(), file));
        }
        let Some((_, file)) = &mut self.held else {
            return Ok(());
        };
        // The new text before the new length: a crash in between loses nothing.
        file.seek(SeekFrom::Start(0))?;
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)
    }

    /// Other sessions that have one, the youngest first, with their age.
    fn others(&self, session: &str) -> Vec<(String, Duration)> {
        let Ok(folder) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let now = SystemTime::now();
        let mut all: Vec<(String, Duration)> = folder
            .take(MAX_DRAFTS)
            .filter_map(|file| {
                let file = file.ok()?;
                let name = file.file_name().into_string().ok()?;
                let id = name.strip_suffix(EXTENSION)?.strip_suffix('.')?;
                let age = now.duration_since(file.metadata().ok()?.modified().ok()?);
                (id != session).then(|| (id.to_owned(), age.unwrap_or_default()))
            })
            .collect();
        all.sort_by_key(|(_, age)| *age);
        all
    }

    /// Whether it is news. A draft is told of once; after that its session has it.
    fn tell(&self, session: &str) -> bool {
        let mark = self.told(session);
        let mut options = ostler_host::private_options();
        !mark.exists()
            && options
                .create(true)
                .truncate(true)
                .write(true)
                .open(mark)
                .is_ok()
    }

    fn told(&self, session: &str) -> PathBuf {
        self.folder.join(session).with_extension(TOLD)
    }

    /// Nobody writes in it, and there is something in it.
    fn is_left(&self, session: &str) -> bool {
        let Ok(file) = File::open(self.path(session)) else {
            return false;
        };
        let is_long = file.metadata().is_ok_and(|m| m.len() >= WORTH_TELLING);
        is_long && is_free(&file)
    }

    fn open(&self, session: &str) -> io::Result<File> {
        ostler_host::private_options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(self.path(session))
    }

    fn read(&mut self, session: &str) -> io::Result<String> {
        let mut file = File::open(self.path(session))?;
        let text = text_of(&mut file)?;
        drop(file);
        // From now on it is ours, and others leave it alone.
        self.keep(session, &text)?;
        Ok(text)
    }

    fn take_over(&mut self, other: &str, session: &str) -> io::Result<String> {
        let mut file = self.open(other)?;
        if !is_free(&file) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let text = text_of(&mut file)?;
        fs::rename(self.path(other), self.path(session))?;
        // The lock goes with the file.
        self.held = Some((session.to_owned(), file));
        Ok(text)
    }
}

/// Nobody writes in it.
fn is_free(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

fn text_of(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MAX_DRAFT).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match text.trim().is_empty() {
        true => Err(io::ErrorKind::NotFound.into()),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sessions that begin with `old` have a log.
    fn begun(id: &str) -> bool {
        id.starts_with("old")
    }

    fn text(text: &str) -> Found {
        Found {
            text: Some(text.into()),
            elsewhere: None,
        }
    }

    #[test]
    fn a_draft_belongs_to_its_session() {
        let dir = tempfile::tempdir().unwrap();
        let drafts = || Drafts::new(dir.path().join("drafts"));
        let left = |session: &str, text: &str| drafts().keep(session, text).unwrap();
        assert_eq!(drafts().find("new1", begun), Found::default());
        left("old1", "half a sen");
        left("old1", "half a s");
        // Going on with it brings it back; another session that was begun has nothing to do with it.
        assert_eq!(drafts().find("old1", begun), text("half a s"));
        assert_eq!(drafts().find("old2", begun), Found::default());
        // A new one only says where it is.
        let told = Found {
            text: None,
            elsewhere: Some("old1".into()),
        };
        assert_eq!(drafts().find("new1", begun), told);
        // That is said once, and again when more was written.
        assert_eq!(drafts().find("new1", begun), Found::default());
        left("old1", "half a sentence");
        assert_eq!(drafts().find("new1", begun), told);
        // A key that was pressed by accident is not worth a word.
        left("old1", "/");
        assert_eq!(drafts().find("new1", begun), Found::default());
        left("old1", "");
        assert_eq!(drafts().find("old1", begun), Found::default());
        assert_eq!(drafts().find("new1", begun), Found::default());
    }

    #[test]
    fn what_was_written_before_anything_was_said_goes_on_in_the_next_session() {
        let dir = tempfile::tempdir().unwrap();
        let drafts = || Drafts::new(dir.path().join("drafts"));
        let mut first = drafts();
        first.keep("new1", "in another window").unwrap();
        // While that window is open, the draft is its own.
        assert_eq!(drafts().find("new2", begun), Found::default());
        drop(first);
        let mut second = drafts();
        assert_eq!(second.find("new2", begun), text("in another window"));
        // It is taken once.
        assert_eq!(drafts().find("new3", begun), Found::default());
        second.keep("new2", "in another window, longer").unwrap();
        drop(second);
        assert_eq!(
            drafts().find("new3", begun),
            text("in another window, longer")
        );
    }
}
