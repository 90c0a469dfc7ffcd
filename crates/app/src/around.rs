//! What the terminal UI needs of this machine: the person's editor and clipboard, prompts of before.

use crate::drafts::{Drafts, Found};
use crate::keyboard::{Keys, keyboard};
use crate::pictures;
use crate::prompts::{Prompts, read_end};
use ostler_config::text::phrase;
use ostler_engine::store::Store;
use ostler_host::{Border, Programs};
use ostler_tui::surroundings::{Fetch, Fetched, Kept, Surroundings, Work};
use ostler_wire::Word;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

/// Bytes of a file that says which branch is checked out, or where that file is.
const MAX_HEAD: u64 = 4096;
const EDITOR: &str = if cfg!(windows) { "notepad" } else { "vi" };

#[derive(Clone, Debug)]
pub struct Places {
    pub root: PathBuf,
    pub user_home: Option<PathBuf>,
    /// A folder for the prompts and the draft of this project.
    pub kept: PathBuf,
    /// `$VISUAL` or `$EDITOR`.
    pub editor: Option<String>,
    /// The logs of the sessions.
    pub sessions: PathBuf,
    /// Nothing is to be written.
    pub forgets: bool,
    /// Which files may be read.
    pub border: Arc<Border>,
    /// Which programs may be run outside of the sandbox.
    pub programs: Programs,
}

/// The places, and a thread that writes what is to be kept, so that nobody waits for the disk.
pub struct Around {
    places: Places,
    writer: Option<(mpsc::Sender<Errand>, JoinHandle<()>)>,
}

/// What the thread is asked for.
enum Errand {
    Keep(Kept),
    /// The draft of a session.
    Draft(String, mpsc::Sender<Found>),
}

impl Around {
    pub fn new(places: Places) -> Self {
        let writer = (!places.forgets).then(|| {
            let (to, from) = mpsc::channel();
            let places = places.clone();
            (to, thread::spawn(move || places.write(&from)))
        });
        Self { places, writer }
    }

    /// What was being written in this session; waits for the disk.
    pub fn draft(&self, session: &str) -> Found {
        let asked = self.ask_draft(session);
        asked
            .and_then(|found| found.recv().ok())
            .unwrap_or_default()
    }

    fn ask_draft(&self, session: &str) -> Option<mpsc::Receiver<Found>> {
        let (to, _) = self.writer.as_ref()?;
        let (reply, found) = mpsc::channel();
        to.send(Errand::Draft(session.to_owned(), reply)).ok()?;
        Some(found)
    }
}

impl Drop for Around {
    fn drop(&mut self) {
        if let Some((to, thread)) = self.writer.take() {
            drop(to);
            // What was said last is on the disk before the program ends. A panic there has been told.
            let _ = thread.join();
        }
    }
}

impl Places {
    fn prompts(&self) -> Prompts {
        Prompts::new(self.kept.clone(), self.forgets)
    }

    /// Prompts of before, oldest first.
    pub fn history(&self) -> Vec<String> {
        self.prompts().all()
    }

    fn folder(&self, named: &str) -> PathBuf {
        match (named.strip_prefix("~/"), &self.user_home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_) | None, _) => self.root.join(named),
        }
    }
}

impl Surroundings for Around {
    type Keyboard = Keys;

    fn keyboard(&self) -> io::Result<Keys> {
        keyboard()
    }

    fn fetch(&self, what: Fetch) -> Work<Fetched> {
        let places = self.places.clone();
        if let Fetch::Draft(session) = what {
            let asked = self.ask_draft(&session);
            return Box::new(move || {
                let found = asked.and_then(|found| found.recv().ok());
                Fetched::Draft(found.and_then(|found| found.text))
            });
        }
        Box::new(move || match what {
            // It was asked for above.
            Fetch::Draft(_) => Fetched::Draft(None),
            Fetch::Image => Fetched::Image(pictures::on_clipboard(&places.programs)),
            Fetch::Picture(pasted) => Fetched::Picture {
                image: pictures::at(&pasted, |path| places.folder(path), &places.border),
                pasted,
            },
            Fetch::Branch => Fetched::Branch(branch(&places.root)),
        })
    }

    fn editor(&self, text: &str) -> Work<io::Result<String>> {
        let program = self.places.editor.clone().unwrap_or_else(|| EDITOR.into());
        let text = text.to_owned();
        let kept = Some(self.places.kept.clone()).filter(|_| !self.places.forgets);
        let programs = self.places.programs.clone();
        Box::new(move || {
            // Editors read settings of the folder they start in and of that of the file: neither is the project, nor a place
            // that commands may write.
            let folder = match kept {
                Some(kept) => {
                    ostler_host::private_dir(&kept)?;
                    tempfile::tempdir_in(kept)?
                }
                None => tempfile::tempdir()?,
            };
            let builder = &mut tempfile::Builder::new();
            let mut file = builder.suffix(".md").tempfile_in(folder.path())?;
            file.write_all(text.as_bytes())?;
            file.flush()?;
            let mut words = program.split_whitespace();
            let name = words.next().unwrap_or(EDITOR);
            let Some(found) = programs.find(name) else {
                return Err(io::Error::other(phrase(Word::NoSafeProgram, &[&name])));
            };
            let mut editor = Command::new(found);
            editor.current_dir(folder.path());
            editor.env("PATH", programs.path());
            let status = editor.args(words).arg(file.path()).status()?;
            if !status.success() {
                return Err(io::Error::other(phrase(Word::EndedWith, &[&name, &status])));
            }
            fs::read_to_string(file.path())
        })
    }

    fn keep(&self, kept: Kept) {
        if let Some((to, _)) = &self.writer {
            // A prompt that cannot be remembered must not stop the work.
            let _ = to.send(Errand::Keep(kept));
        }
    }

    fn suspend(&self) -> io::Result<()> {
        ostler_host::signals::suspend()
    }
}

pub fn branch(root: &Path) -> Option<String> {
    // A command may have left a pipe or a device there, on which a read waits, or a file without end.
    let small = |path: &Path| {
        let is_small = fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() <= MAX_HEAD);
        is_small.then(|| read_end(path, MAX_HEAD).ok()).flatten()
    };
    let dot = root.join(".git");
    let folder = match small(&dot) {
        Some(pointer) => root.join(pointer.trim().strip_prefix("gitdir:")?.trim()),
        None => dot,
    };
    let head = small(&folder.join("HEAD"))?;
    let head = head.trim();
    match head.strip_prefix("ref: refs/heads/") {
        Some(branch) => Some(branch.to_owned()),
        None => head.get(..8).map(str::to_owned),
    }
}

impl Places {
    /// Writes what comes until nothing can come any more.
    fn write(&self, from: &mpsc::Receiver<Errand>) {
        let mut drafts = Drafts::new(self.kept.join("drafts"));
        let store = Store::new(&self.sessions, &self.root);
        while let Ok(errand) = from.recv() {
            // There is nobody to tell, and the work goes on without it.
            let _ = match errand {
                Errand::Keep(Kept::Sent(text)) => self.prompts().add(&text),
                Errand::Keep(Kept::Draft { session, text }) => drafts.keep(&session, &text),
                Errand::Draft(session, reply) => {
                    let found = drafts.find(&session, |id| store.path_of(id).exists());
                    let _ = reply.send(found);
                    Ok(())
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(root: &Path) -> Places {
        Places {
            root: root.to_owned(),
            user_home: None,
            kept: root.join("kept"),
            editor: None,
            sessions: root.join("sessions"),
            forgets: false,
            border: Arc::new(Border::none()),
            programs: Programs::new(std::env::var_os("PATH").as_deref(), &[]),
        }
    }

    #[test]
    fn prompts_and_drafts_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let places = places(dir.path());
        let around = || Around::new(places.clone());
        let draft = |text: &str| Kept::Draft {
            session: "s".into(),
            text: text.into(),
        };
        assert!(places.history().is_empty() && around().draft("s").text.is_none());
        let keep = |all: &[Kept]| {
            let around = around();
            all.iter().for_each(|kept| around.keep(kept.clone()));
        };
        keep(&[
            Kept::Sent("one\ntwo".into()),
            draft("half"),
            Kept::Sent("三".into()),
            draft("half a sen"),
        ]);
        assert_eq!(places.history(), ["one\ntwo", "三"]);
        assert_eq!(around().draft("s").text.as_deref(), Some("half a sen"));
        keep(&[draft("")]);
        assert_eq!(around().draft("s").text, None);
        fs::write(places.prompts().file(), "\"a\"\nnonsense\n\"b\"\n").unwrap();
        assert_eq!(places.history(), ["a", "b"]);
    }

    #[test]
    fn the_branch_is_read_without_git() {
        let dir = tempfile::tempdir().unwrap();
        let branch = || branch(dir.path());
        assert_eq!(branch(), None);
        fs::create_dir(dir.path().join(".git")).unwrap();
        fs::write(dir.path().join(".git/HEAD"), "ref: refs/heads/feature/x\n").unwrap();
        assert_eq!(branch().as_deref(), Some("feature/x"));
        fs::write(dir.path().join(".git/HEAD"), "0123456789abcdef\n").unwrap();
        assert_eq!(branch().as_deref(), Some("01234567"));
        fs::write(dir.path().join(".git/HEAD"), "0".repeat(5000)).unwrap();
        assert_eq!(branch(), None);
        #[cfg(unix)]
        {
            fs::remove_file(dir.path().join(".git/HEAD")).unwrap();
            let pipe = Command::new("mkfifo")
                .arg(dir.path().join(".git/HEAD"))
                .status();
            assert!(pipe.unwrap().success());
            assert_eq!(branch(), None);
        }
    }
}
