//! Writing small files so that a crash leaves the old or the new one, never half of either.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// Who may read a written file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// What the file had before, or what is usual for a new one.
    AsBefore,
    /// The owner alone.
    Private,
}

/// Replaces a file, making its directory. A link stays a link: what it points to is replaced.
pub fn write(path: &Path, bytes: &[u8], access: Access) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    // Temporary files are private from the start.
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    match access {
        Access::Private => {}
        Access::AsBefore => {
            let permissions = match target.metadata() {
                Ok(metadata) => metadata.permissions(),
                Err(_) => usual_permissions(directory)?,
            };
            file.as_file().set_permissions(permissions)?;
        }
    }
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// Writes a file that must not be there yet.
pub fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// What the system gives a new file: only making one tells.
fn usual_permissions(directory: &Path) -> io::Result<fs::Permissions> {
    let probe = tempfile::Builder::new().make_in(directory, |path| File::create_new(path))?;
    Ok(probe.as_file().metadata()?.permissions())
}
