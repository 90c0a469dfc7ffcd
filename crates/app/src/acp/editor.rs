//! This machine with files as an editor has them: what is read comes with what is not saved yet, and an edit goes through the
//! editor. A path is judged here first, and what the editor wrote is read back.
//!
//! An editor opens a file by its name, so a command that runs meanwhile could put a link in its place after the judgement.
//! While one runs that may change files, the editor is not asked, and files are as they lie on the disk. While the editor
//! answers, none begins.

use bytes::Bytes;
use ostler_acp::backend::EditorFiles;
use ostler_host::sandbox::{Choice, Pause};
use ostler_host::{
    Border, Command, Content, Error, Fut, Host, Listing, Local, NetworkFut, Process, RenameOptions,
    Renamed, Span, Stat, WriteOptions, Written,
};
use ostler_wire::{Language, Word};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a file that an editor is asked about.
const MAX_TEXT: u64 = 4 << 20;

pub struct EditorHost {
    machine: Arc<Local>,
    files: Arc<dyn EditorFiles>,
    /// The project, and what the editor calls it.
    root: PathBuf,
    cwd: PathBuf,
    language: Language,
}

impl EditorHost {
    pub fn new(
        machine: Arc<Local>,
        files: Arc<dyn EditorFiles>,
        (root, cwd): (PathBuf, PathBuf),
        language: Language,
    ) -> Self {
        Self {
            machine,
            files,
            root,
            cwd,
            language,
        }
    }

    /// What the editor calls a file of the project.
    fn named(&self, path: &Path) -> Option<PathBuf> {
        let inner = path.strip_prefix(&self.root).ok()?;
        Some(self.cwd.join(inner))
    }

    /// What the editor has in place of a file that was read, where that is something else than line ends.
    async fn unsaved(&self, read: &Content, border: &Arc<Border>) -> Option<String> {
        let path = &read.stat.path;
        let named = self.named(path).filter(|_| self.files.reads())?;
        if read.stat.len > MAX_TEXT {
            return None;
        }
        let _pause = pause().await?;
        let whole = self.machine.read(path, Span::head(MAX_TEXT), border).await;
        let disk = String::from_utf8(whole.ok()?.bytes.to_vec()).ok()?;
        if disk.contains('\0') {
            return None;
        }
        let text = self.files.read(named).await?;
        (plain(&text) != plain(&disk)).then(|| with_ends_of(&disk, text))
    }

    async fn write_through(
        &self,
        path: &Path,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<Written, Error> {
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) if bytes.len() as u64 <= MAX_TEXT && self.files.writes() => text.to_owned(),
            Ok(_) | Err(_) => return self.machine.write(path, bytes, options).await,
        };
        let Some(_pause) = pause().await else {
            return self.machine.write(path, bytes, options).await;
        };
        // A folder that is still to be made is made here, with its first file.
        let checked = WriteOptions {
            create_parents: false,
            ..options.clone()
        };
        let may = self.machine.may_write(path, checked).await;
        let named = may.as_ref().ok().and_then(|may| self.named(&may.path));
        let (may, named) = match (may, named) {
            (Ok(may), Some(named)) if !may.created => (may, named),
            // What forbids it forbids it there, too.
            _ => return self.machine.write(path, bytes, options).await,
        };
        let before = self.on_disk(&may.path)?;
        let written = self.files.write(named.clone(), text).await;
        let shown = named.display().to_string();
        written.map_err(|why| {
            let text = self.language.fill(Word::AcpEditorFailed, &[&shown, &why]);
            failed(&named, text)
        })?;
        let after = self.on_disk(&may.path)?;
        // An editor that formats what it saves has written it all the same.
        let is_there = after.as_slice() == &bytes[..] || after != before;
        match is_there {
            true => Ok(may),
            false => {
                let text = self.language.fill(Word::AcpEditorWrote, &[&shown]);
                Err(failed(&named, text))
            }
        }
    }

    fn on_disk(&self, path: &Path) -> Result<Vec<u8>, Error> {
        let read = ostler_host::open_without_waiting(path).and_then(|file| {
            let mut bytes = Vec::new();
            file.take(MAX_TEXT + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        read.map_err(|source| Error::Path {
            path: path.to_owned(),
            source,
        })
    }
}

async fn pause() -> Option<Pause> {
    let begun = tokio::task::spawn_blocking(Pause::begin);
    begun.await.ok().flatten()
}

/// A text without what editors leave out: the mark at its start and the way its lines end.
fn plain(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.replace("\r\n", "\n")
}

/// An editor that shows lines without their carriage returns saves them with these.
fn with_ends_of(disk: &str, text: String) -> String {
    match disk.contains("\r\n") && !text.contains("\r\n") {
        true => text.replace('\n', "\r\n"),
        false => text,
    }
}

impl Host for EditorHost {
    fn spawn(&self, command: Command) -> Fut<'_, Process> {
        self.machine.spawn(command)
    }

    fn stat(&self, path: &Path) -> Fut<'_, Stat> {
        self.machine.stat(path)
    }

    fn read(&self, path: &Path, span: Span, border: &Arc<Border>) -> Fut<'_, Content> {
        let (path, border) = (path.to_owned(), border.clone());
        Box::pin(async move {
            let read = self.machine.read(&path, span, &border).await?;
            let Some(text) = self.unsaved(&read, &border).await else {
                return Ok(read);
            };
            let bytes = Bytes::from(text);
            let len = bytes.len();
            let at = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).min(len);
            let (start, end) = (
                at(span.offset),
                at(span.offset.saturating_add(span.max_bytes)),
            );
            Ok(Content {
                bytes: bytes.slice(start..end),
                truncated: end < len,
                stat: Stat {
                    len: len as u64,
                    ..read.stat
                },
            })
        })
    }

    fn write(&self, path: &Path, bytes: Bytes, options: WriteOptions) -> Fut<'_, Written> {
        let path = path.to_owned();
        Box::pin(async move { self.write_through(&path, bytes, options).await })
    }

    fn rename(&self, from: &Path, to: &Path, options: RenameOptions) -> Fut<'_, Renamed> {
        self.machine.rename(from, to, options)
    }

    fn list(&self, path: &Path, max_entries: usize, border: &Arc<Border>) -> Fut<'_, Listing> {
        self.machine.list(path, max_entries, border)
    }

    fn network(&self, layer: Choice) -> NetworkFut<'_> {
        self.machine.network(layer)
    }
}

fn failed(path: &Path, text: String) -> Error {
    Error::Path {
        path: path.to_owned(),
        source: io::Error::other(text),
    }
}
