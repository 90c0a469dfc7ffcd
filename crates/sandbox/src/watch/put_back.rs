//! Putting a protected path back, from folders that are held open. No link is followed.

use super::state::Kept;
use ostler_files::Kind;
use ostler_files::{Dir, set_file_mode};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What the owner of a folder needs to change what is in it.
pub const OWNER: u32 = 0o700;
/// Folders inside each other that are removed.
const MAX_DEPTH: usize = 256;

/// Makes a link to `target` again, or nothing. What is there instead is a link, which goes, or a folder, which stays beside.
pub fn lead_back(real: &Path, target: Option<&Path>) -> io::Result<()> {
    let (dir, name) = spot(real)?;
    regain(&dir);
    match dir.look(&name) {
        Ok(found) if found.kind == Kind::Symlink => dir.remove_file(&name)?,
        Ok(_) => {
            let mut aside = name.clone();
            aside.extend(format!(".removed-{}", std::process::id()).into_bytes());
            dir.rename(&name, &aside)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    match target {
        Some(target) => dir.make_link(&name, target.as_os_str().as_bytes()),
        None => Ok(()),
    }
}

/// The folder of a real path, held open and reached without links, and the name in it.
pub fn spot(real: &Path) -> io::Result<(Dir, Vec<u8>)> {
    let missing = || io::Error::from(io::ErrorKind::InvalidInput);
    let folder = real.parent().ok_or_else(missing)?;
    let name = real.file_name().ok_or_else(missing)?;
    Ok((Dir::open(folder)?, name.as_bytes().to_vec()))
}

pub fn remove(real: &Path) -> io::Result<()> {
    let (dir, name) = spot(real)?;
    regain(&dir);
    remove_entry(&dir, &name, 0)
}

/// Removes what has this name, a folder with all that is in it. No link is followed.
fn remove_entry(dir: &Dir, name: &[u8], depth: usize) -> io::Result<()> {
    if dir.look(name)?.kind != Kind::Directory {
        return dir.remove_file(name);
    }
    if depth > MAX_DEPTH {
        return Err(io::Error::other("folders lie too deep"));
    }
    let inner = dir.enter(name)?;
    regain(&inner);
    for entry in inner.names()? {
        remove_entry(&inner, &entry.bytes, depth + 1)?;
    }
    dir.remove_dir(name)
}

/// A command may have taken the right to change a folder away, from itself and from us.
pub fn regain(folder: &Dir) {
    if let Ok(found) = folder.look_at_itself()
        && found.mark.mode & OWNER != OWNER
    {
        // Where it is not ours, what follows fails and says so.
        let _ = folder.set_mode(found.mark.mode | OWNER);
    }
}

pub fn put_back(real: &Path, kept: &Kept, is_there: bool) -> io::Result<()> {
    if matches!(kept, Kept::Unread(_) | Kept::Other) {
        // What is there instead stays: there is nothing to put in its place.
        return Err(io::ErrorKind::Unsupported.into());
    }
    if is_there {
        remove(real)?;
    }
    let is_made = matches!(kept, Kept::File { .. } | Kept::Folder);
    let (dir, name) = match spot(real) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_made => {
            make_folder_of(real)?;
            spot(real)?
        }
        found => found?,
    };
    match kept {
        Kept::File { bytes, mode } => {
            regain(&dir);
            // Never through a link that was put there meanwhile.
            let mut file = dir.create_file(&name)?;
            file.write_all(bytes)?;
            set_file_mode(&file, *mode)
        }
        Kept::Folder => match dir.make_dir(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                dir.enter(&name).map(drop)
            }
            made => made,
        },
        Kept::Link(target) => dir.make_link(&name, target.as_os_str().as_bytes()),
        Kept::Unread(_) | Kept::Other => Err(io::ErrorKind::Unsupported.into()),
    }
}

fn make_folder_of(real: &Path) -> io::Result<()> {
    let top = Dir::open(Path::new("/"))?;
    let mut below = Vec::new();
    for part in real.parent().into_iter().flatten().skip(1) {
        below.extend_from_slice(part.as_bytes());
        below.push(b'/');
    }
    top.enter_or_make(&below).map(drop)
}
