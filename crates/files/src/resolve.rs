//! Turns a path into one free of symlinks, parts that do not exist yet included. Only looks; whoever changes files
//! checks again at open.

use super::{absent, check_path};
use crate::error::{Error, Result};
use crate::sight;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Symlinks followed on the way to one file, as in the kernel.
const MAX_LINKS: usize = 40;

/// A path without symlinks, and those that were met on the way, each in the folder that really holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    pub real: PathBuf,
    pub links: Vec<PathBuf>,
}

/// Follows every symlink, that of the last part included.
pub(super) fn follow(path: &Path) -> Result<PathBuf> {
    follow_links(path).map(|followed| followed.real)
}

/// The same, with the symlinks on the way.
pub(super) fn follow_links(path: &Path) -> Result<Followed> {
    check_path(path)?;
    let mut done = PathBuf::new();
    let mut todo = Vec::new();
    push_parts(&mut todo, path);
    let mut links = Vec::new();
    while let Some(part) = todo.pop() {
        match part {
            Part::Start(start) => done.push(start),
            Part::Up => {
                done.pop();
            }
            Part::Name(name) => {
                done.push(name);
                let Some(target) = link_target(&done)? else {
                    continue;
                };
                links.push(done.clone());
                if links.len() > MAX_LINKS {
                    return Err(Error::TooManyLinks {
                        path: path.to_path_buf(),
                    });
                }
                done.pop();
                push_parts(&mut todo, &target);
            }
        }
    }
    Ok(Followed { real: done, links })
}

/// Follows the symlinks of the parent only: the last part is the thing itself.
pub(super) fn follow_parent(path: &Path) -> Result<PathBuf> {
    let (Some(parent), Some(Component::Normal(name))) =
        (path.parent(), path.components().next_back())
    else {
        return Err(Error::BadPath {
            path: path.to_path_buf(),
        });
    };
    if name.as_encoded_bytes().contains(&0) {
        return Err(Error::BadPath {
            path: path.to_path_buf(),
        });
    }
    Ok(follow(parent)?.join(name))
}

enum Part {
    /// A root or drive: pushing it replaces what was there.
    Start(OsString),
    Up,
    Name(OsString),
}

/// Puts the parts of `path` on the stack, the first on top.
fn push_parts(todo: &mut Vec<Part>, path: &Path) {
    for part in path.components().rev() {
        match part {
            Component::Prefix(_) | Component::RootDir => {
                todo.push(Part::Start(part.as_os_str().to_os_string()));
            }
            Component::CurDir => {}
            Component::ParentDir => todo.push(Part::Up),
            Component::Normal(name) => todo.push(Part::Name(name.to_os_string())),
        }
    }
}

fn link_target(path: &Path) -> Result<Option<PathBuf>> {
    match sight::look_in_place(path) {
        Ok(sight::Seen {
            kind: sight::Kind::Link(target),
            ..
        }) => Ok(Some(target)),
        Ok(_) => Ok(None),
        Err(error) if absent(&error) => Ok(None),
        Err(error) => Err(cannot_follow(path, error)),
    }
}

fn cannot_follow(path: &Path, source: io::Error) -> Error {
    let path = path.to_path_buf();
    match source.kind() {
        io::ErrorKind::PermissionDenied => Error::Forbidden { path, source },
        _ => Error::Path { path, source },
    }
}
