//! The paths of a policy as they are on this disk, and the mounts that confine them.

use super::closed::Closed;
use super::covers::{By, Cover, run_folder};
use super::hard_links::{FileId, MAX_LINK_SEARCH, is_one_of, linked_files};
use super::jail::{MAX_CARRIED, Mount};
use super::mount_table::mount_points;
use super::seccomp::Unix;
use crate::{ClosedFolder, EmptyHome, Error, Layer, LinkedFile, Policy, Readable, holder};
use ostler_files::sight::{self, Kind};
use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

const TERMINALS: &str = "/dev/pts";
const SHARED_MEMORY: &str = "/dev/shm";
/// Where programs put what they need for a while.
const TEMP_FOLDERS: [&str; 2] = ["/tmp", "/var/tmp"];
/// Most foreign sockets that are hidden one by one.
const MAX_SOCKETS: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Places {
    /// Resolved, outer ones first; so are all lists here.
    pub writable: Vec<PathBuf>,
    pub readable: Vec<PathBuf>,
    pub forbidden: Vec<PathBuf>,
    /// Forbidden ones that do not exist yet.
    pub absent: Vec<PathBuf>,
    pub protected: Protected,
    pub closed: Vec<Closed>,
    /// Folders that are to be seen as empty, none in another, and what is shown of them.
    pub emptied: Vec<PathBuf>,
    pub shown: Vec<PathBuf>,
    /// Inner ones first. Only where there are mounts.
    pub covers: Vec<Cover>,
    pub sockets: Sockets,
}

/// Paths that a command does not change, and what leads to them.
#[derive(Debug, Default)]
pub(super) struct Protected {
    pub paths: Vec<PathBuf>,
    /// Those that no mount can cover: they do not exist yet, or are links.
    pub unmountable: Vec<PathBuf>,
    /// Links on the way to them that a command could turn.
    pub turned: Vec<PathBuf>,
    /// Other names of these files.
    pub other_names: Vec<PathBuf>,
}

/// Sockets of programs outside, hidden one by one.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    hidden: Vec<PathBuf>,
    pub too_many: bool,
}

impl Places {
    /// The sockets are looked for only where they can be hidden and nobody else keeps commands from them.
    pub(super) fn find(policy: &Policy, layer: Layer, unix: Unix) -> Result<Self, Error> {
        in_place(&policy.fixed)?;
        let readable = match &policy.readable {
            Readable::All => Vec::new(),
            Readable::List(list) => resolve(list)?,
        };
        let mut places = Self {
            writable: in_place(&policy.writable)?,
            readable,
            forbidden: resolve(&policy.forbid_read)?,
            ..Self::default()
        };
        for path in &policy.forbid_read {
            places.absent.extend(absent(path));
        }
        places.forbid_other_names(policy);
        for inner in &places.writable {
            if let Some(outer) = holder(inner, &places.forbidden) {
                return Err(Error::Conflict {
                    inner: inner.clone(),
                    outer: outer.clone(),
                });
            }
        }
        places.find_protected(policy)?;
        places.find_closed(policy)?;
        places.protected.paths = outer_first(std::mem::take(&mut places.protected.paths));
        places.find_home(policy)?;
        let allowed = resolve(&policy.sockets)?;
        let mut sockets = Vec::new();
        match layer {
            Layer::Namespaces | Layer::Bubblewrap => {
                places.find_covers(policy, &allowed)?;
                if unix == Unix::Free {
                    sockets = foreign_sockets();
                }
            }
            Layer::Landlock => {}
        }
        let seen = |path: &PathBuf| !places.covers.iter().any(|cover| cover.hides(path));
        sockets.retain(|socket| !allowed.contains(socket) && seen(socket));
        places.sockets.too_many = sockets.len() > MAX_SOCKETS;
        sockets.truncate(MAX_SOCKETS);
        places.sockets.hidden = sockets;
        Ok(places)
    }

    /// Other names of forbidden files in the folders that a command writes to or is shown.
    fn forbid_other_names(&mut self, policy: &Policy) {
        let linked = linked_files(&self.forbidden);
        let shown = policy.empty_home.iter().flat_map(|home| &home.shown);
        let shown = shown.flat_map(|path| sight::canonicalize(path));
        let tops = outer_first(self.writable.iter().cloned().chain(shown).collect());
        let mut found = other_names(&linked, tops);
        found.retain(|path| holder(path, &self.forbidden).is_none());
        self.forbidden.append(&mut found);
        self.forbidden = outer_first(std::mem::take(&mut self.forbidden));
    }

    /// Protected paths, and what could lead a command around them: links on the way, and other names of the same files.
    fn find_protected(&mut self, policy: &Policy) -> Result<(), Error> {
        let mut plain: HashSet<&Path> = HashSet::new();
        for path in &policy.protect {
            absolute(path)?;
            let is_link = sight::is_link(path);
            match sight::canonicalize(path) {
                Ok(real) if !is_link => self.protected.paths.push(real),
                Ok(_) | Err(_) => self.protected.unmountable.push(path.clone()),
            }
            let parent = path.parent().unwrap_or(path);
            if !is_link && plain.contains(parent) {
                continue;
            }
            let links = ostler_files::follow_links(path).links;
            if links.is_empty() {
                plain.insert(parent);
            }
            let links = links.into_iter();
            self.protected
                .turned
                .extend(links.filter(|link| holder(link, &self.writable).is_some()));
        }
        self.protected.turned = outer_first(std::mem::take(&mut self.protected.turned));
        let files = self
            .protected
            .paths
            .iter()
            .filter(|path| sight::is_file(path));
        let files: Vec<PathBuf> = files.cloned().collect();
        self.protected.other_names = other_names(&linked_files(&files), self.writable.clone());
        self.protected
            .other_names
            .retain(|path| !files.contains(path));
        self.protected
            .paths
            .extend(self.protected.other_names.iter().cloned());
        Ok(())
    }

    /// What is shown of a closed folder cannot be changed, unless it is writable by itself.
    fn find_closed(&mut self, policy: &Policy) -> Result<(), Error> {
        // The other half is for what covers keep.
        let limit = MAX_CARRIED / 2;
        let mut room = limit;
        for ClosedFolder { folder, shown } in &policy.closed {
            let Some(folder) = resolve(std::slice::from_ref(folder))?.pop() else {
                continue;
            };
            let open = self.writable.contains(&folder);
            if open || holder(&folder, &self.forbidden).is_some() {
                continue;
            }
            let is_in = |path: &&PathBuf| path.starts_with(&folder) && **path != folder;
            let inner: Vec<&PathBuf> = self.writable.iter().filter(is_in).collect();
            let mut listed: Vec<PathBuf> = shown.iter().filter_map(|path| place(path)).collect();
            // One that holds a writable folder gives way to that: as a whole it could not be kept from changes.
            listed.retain(|path| {
                is_in(&path) && sight::exists(path) && !inner.iter().any(|w| w.starts_with(path))
            });
            let is_fixed = |path: &&PathBuf| !inner.iter().any(|w| path.starts_with(w));
            if holder(&folder, &self.writable).is_some() {
                let fixed = listed.iter().filter(is_fixed);
                let fixed = fixed.flat_map(|path| sight::canonicalize(path));
                self.protected.paths.extend(fixed);
            }
            let more = self
                .writable
                .iter()
                .chain(&self.protected.paths)
                .filter(is_in);
            listed.extend(more.cloned());
            let closed = Closed::new(folder, listed, &policy.forbid_read);
            room = room
                .checked_sub(closed.shown.len())
                .ok_or(Error::TooMany { limit })?;
            self.closed.push(closed);
        }
        Ok(())
    }

    /// A home that is shown as a whole is not emptied.
    fn find_home(&mut self, policy: &Policy) -> Result<(), Error> {
        let Some(EmptyHome {
            home,
            others,
            shown,
        }) = &policy.empty_home
        else {
            return Ok(());
        };
        absolute(home)?;
        self.shown = resolve(shown)?;
        let is_shown = |folder: &PathBuf| {
            let mut seen = self.shown.iter().chain(&self.writable);
            seen.any(|path| folder.starts_with(path))
        };
        let folders = std::iter::once(home).chain(others);
        let real = folders.filter_map(|folder| sight::canonicalize(folder).ok());
        let emptied = real.filter(|folder| !is_shown(folder)).collect();
        self.emptied = outermost(emptied);
        Ok(())
    }

    /// Takes out of the writable folders those that are replaced.
    fn find_covers(&mut self, policy: &Policy, allowed: &[PathBuf]) -> Result<(), Error> {
        let mut covers: Vec<Cover> = Vec::new();
        let memory = PathBuf::from(SHARED_MEMORY);
        let writes_memory = self.writable.contains(&memory);
        self.writable.retain(|path| *path != memory);
        if sight::is_folder(&memory) && holder(&memory, &self.writable).is_none() {
            let by = if writes_memory { By::Fresh } else { By::Empty };
            covers.push(Cover::new(memory, by));
        }
        covers.extend(run_folder().filter(|run| holder(&run.folder, &self.writable).is_none()));
        if let Some(temp) = &policy.temp {
            covers.extend(self.temp_folders(temp)?);
        }
        for folder in &self.emptied {
            let mut cover = Cover::new(folder.clone(), By::Empty);
            if let Some(empty) = &policy.empty_home {
                let home = sight::canonicalize(&empty.home).unwrap_or_else(|_| empty.home.clone());
                let named = empty.shown.iter().filter_map(|path| {
                    let inside = path.strip_prefix(&empty.home).ok();
                    inside.map_or_else(|| place(path), |inside| Some(home.join(inside)))
                });
                cover.keep_named(&named.collect::<Vec<_>>());
            }
            covers.push(cover);
        }
        let absent = add_private(policy, &mut covers)?;
        let folders: Vec<PathBuf> = covers.iter().map(|cover| cover.folder.clone()).collect();
        let sources: Vec<PathBuf> = covers.iter().filter_map(Cover::source).cloned().collect();
        let closed: Vec<PathBuf> = self.closed.iter().map(|c| c.folder.clone()).collect();
        let visible = resolve(&policy.visible)?;
        for cover in &mut covers {
            let always = [
                &self.writable,
                &self.readable,
                &self.shown,
                &visible,
                &folders,
            ];
            cover.keep(
                always
                    .into_iter()
                    .flatten()
                    .filter(|p| !sources.contains(p)),
            );
            cover.keep(allowed);
            // Of an emptied home nothing else is seen.
            if !self.emptied.contains(&cover.folder) {
                cover.keep(self.protected.paths.iter().chain(&closed));
            }
        }
        // What lies in another is replaced before that is.
        covers.sort_by_key(|cover| std::cmp::Reverse(cover.folder.components().count()));
        for path in absent {
            let outer = covers.iter_mut().find(|cover| cover.hides(&path));
            if let Some(outer) = outer {
                outer.fresh.push(path);
            }
        }
        let kept: usize = covers.iter().map(|cover| cover.kept.len() + 1).sum();
        if kept > MAX_CARRIED / 2 {
            return Err(Error::TooMany {
                limit: MAX_CARRIED / 2,
            });
        }
        self.covers = covers;
        Ok(())
    }

    /// The folders for temporary files, as the session's own one. It can be written if one of them or itself is named.
    fn temp_folders(&mut self, temp: &Path) -> Result<Vec<Cover>, Error> {
        let found = in_place(&[temp.to_owned()])?.pop();
        let source = found.ok_or_else(|| Error::Path {
            path: temp.to_owned(),
            source: io::ErrorKind::NotFound.into(),
        })?;
        let real = TEMP_FOLDERS
            .iter()
            .filter_map(|f| sight::canonicalize(Path::new(f)).ok());
        let folders = outer_first(real.filter(|folder| sight::is_folder(folder)).collect());
        let named = |path: &PathBuf| folders.contains(path) || source.starts_with(path);
        let writable = self.writable.iter().any(named);
        self.writable.retain(|path| !folders.contains(path));
        let cover = |folder: PathBuf| {
            let source = source.clone();
            Cover::new(folder, By::Folder { source, writable })
        };
        Ok(folders.into_iter().map(cover).collect())
    }

    /// Everything becomes read-only, then the writable folders come back, then their exceptions are put on top. In two parts:
    /// links that are seen in the place of protected files come between them.
    pub(super) fn mounts(&self) -> [Vec<(Mount, PathBuf)>; 2] {
        let mut mounts = Vec::new();
        let seen = |path: &&PathBuf| !self.covers.iter().any(|cover| cover.hides(path));
        let sources = self.covers.iter().filter_map(Cover::source);
        mounts.extend(sources.map(|source| (Mount::Carry, source.clone())));
        if !self.writable.iter().any(|path| path == Path::new("/")) {
            for path in &self.writable {
                mounts.push((Mount::Bind, path.clone()));
            }
            mounts.push((Mount::ReadOnlyTree, "/".into()));
            for path in self.writable_mounts() {
                mounts.push((Mount::Writable, path));
            }
        }
        for path in self.pins() {
            mounts.push((Mount::Bind, path));
        }
        for path in self.protected.paths.iter().filter(seen) {
            mounts.push((Mount::Bind, path.clone()));
            mounts.push((Mount::ReadOnlyTree, path.clone()));
        }
        let before_links = std::mem::take(&mut mounts);
        for path in self.covered_forbidden().filter(seen) {
            let kind = match sight::is_folder(path) {
                true => Mount::HideFolder,
                false => Mount::HideFile,
            };
            mounts.push((kind, path.clone()));
        }
        for path in self.hidden_sockets() {
            mounts.push((Mount::HideFile, path.clone()));
        }
        mounts.push((Mount::Terminals, TERMINALS.into()));
        // Last, so that what is carried has all of the above on it.
        let closed = self.closed.iter().filter(|closed| seen(&&closed.folder));
        mounts.extend(closed.flat_map(Closed::mounts));
        mounts.extend(self.covers.iter().flat_map(Cover::mounts));
        [before_links, mounts]
    }

    /// Forbidden paths that are to be covered one by one: a closed folder hides the rest.
    pub(super) fn covered_forbidden(&self) -> impl Iterator<Item = &PathBuf> {
        let open = |path: &&PathBuf| !self.closed.iter().any(|closed| closed.hides(path));
        self.forbidden.iter().filter(open)
    }

    pub(super) fn hidden_sockets(&self) -> impl Iterator<Item = &PathBuf> {
        let shown = |path: &&PathBuf| holder(path, &self.forbidden).is_none();
        self.sockets.hidden.iter().filter(shown)
    }

    /// The writable folders and what is mounted below them, as far as that can be written now.
    fn writable_mounts(&self) -> Vec<PathBuf> {
        let mut paths = self.writable.clone();
        paths.extend(
            mount_points()
                .into_iter()
                .filter(|mount| holder(mount, &self.writable).is_some()),
        );
        paths.retain(|path| {
            rustix::fs::statvfs(path)
                .is_ok_and(|fs| !fs.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
        });
        outer_first(paths)
    }

    /// Folders between a writable one and a path in it that is protected, closed, hidden or writable by itself. One of
    /// them renamed would take the protection with it, or leave room for a link; as a mount it cannot be.
    pub(super) fn pins(&self) -> Vec<PathBuf> {
        let mut pins = Vec::new();
        let closed = self.closed.iter().map(|closed| &closed.folder);
        let fixed = self.protected.paths.iter().chain(closed);
        let sources = self.covers.iter().filter_map(Cover::source);
        let fixed = fixed.chain(self.covered_forbidden()).chain(sources);
        for path in fixed.chain(&self.writable) {
            let outermost = holder(path, &self.writable).filter(|outer| *outer != path);
            let Some(outermost) = outermost else {
                continue;
            };
            pins.extend(
                path.ancestors()
                    .skip(1)
                    .take_while(|folder| *folder != outermost)
                    .map(Path::to_owned),
            );
        }
        outer_first(pins)
    }
}

/// Protected files in whose place a link is seen.
pub(super) fn link_mounts(links: &[LinkedFile], protected: &[PathBuf]) -> Vec<(Mount, PathBuf)> {
    let real = |linked: &LinkedFile| {
        let real = sight::canonicalize(&linked.file).ok();
        real.filter(|real| protected.contains(real))
    };
    let each = links.iter().filter_map(|linked| {
        let source = (Mount::Source, linked.link.clone());
        Some([source, (Mount::ShowLink, real(linked)?)])
    });
    each.flatten().collect()
}

/// Names of these files below folders, as far as they are found near the top.
fn other_names(files: &HashSet<FileId>, tops: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if files.is_empty() {
        return found;
    }
    for top in tops {
        let mut open = VecDeque::from([top]);
        let mut seen = 0;
        while let Some(path) = open.pop_front() {
            seen += 1;
            if is_one_of(&path, files) {
                found.push(path);
            } else if seen < MAX_LINK_SEARCH
                && sight::look(&path).is_ok_and(|seen| seen.kind == Kind::Folder)
                && let Ok(entries) = sight::entries(&path)
            {
                open.extend(entries);
            }
        }
    }
    found
}

/// Adds the private folders, and gives those that do not exist: they can be made only inside of another cover.
fn add_private(policy: &Policy, covers: &mut Vec<Cover>) -> Result<Vec<PathBuf>, Error> {
    let mut absent = Vec::new();
    for path in &policy.private {
        absolute(path)?;
        let Ok(real) = sight::canonicalize(path) else {
            absent.extend(missing_place(path));
            continue;
        };
        match covers.iter_mut().find(|cover| cover.folder == real) {
            Some(cover) => cover.by = By::Fresh,
            None if sight::is_folder(&real) => covers.push(Cover::new(real, By::Fresh)),
            None => {}
        }
    }
    Ok(absent)
}

/// Where a path that does not exist would be, the links of what is there of it resolved.
fn missing_place(path: &Path) -> Option<PathBuf> {
    let there = path
        .ancestors()
        .find_map(|p| Some((p, sight::canonicalize(p).ok()?)));
    let (lexical, real) = there?;
    Some(real.join(path.strip_prefix(lexical).ok()?))
}

/// The path with the links of its folder resolved, not its own.
pub(super) fn place(path: &Path) -> Option<PathBuf> {
    Some(
        sight::canonicalize(path.parent()?)
            .ok()?
            .join(path.file_name()?),
    )
}

/// A path that does not exist, as far as its folders are resolved and do.
fn absent(path: &Path) -> Option<PathBuf> {
    if sight::canonicalize(path).is_ok() {
        return None;
    }
    let mut missing = path.to_owned();
    loop {
        if let Some(place) = place(&missing) {
            return Some(place);
        }
        missing.pop().then_some(())?;
    }
}

fn absolute(path: &Path) -> Result<(), Error> {
    match path.is_absolute() && !path.as_os_str().as_bytes().contains(&0) {
        true => Ok(()),
        false => Err(Error::Path {
            path: path.to_owned(),
            source: io::ErrorKind::InvalidInput.into(),
        }),
    }
}

/// Without links, without those that do not exist.
fn resolve(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut real = Vec::new();
    for path in paths {
        absolute(path)?;
        match sight::canonicalize(path) {
            Ok(path) => real.push(path),
            Err(error) if gone(&error) => {}
            Err(source) => {
                return Err(Error::Path {
                    path: path.clone(),
                    source,
                });
            }
        }
    }
    Ok(outer_first(real))
}

/// Those that exist, if none of them leads elsewhere by a link.
fn in_place(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for path in paths {
        absolute(path)?;
        match sight::canonicalize(path) {
            Ok(real) if real == *path => found.push(real),
            Ok(real) => {
                let path = path.clone();
                return Err(Error::Replaced { path, real });
            }
            Err(error) if gone(&error) => {}
            Err(source) => {
                return Err(Error::Path {
                    path: path.clone(),
                    source,
                });
            }
        }
    }
    Ok(outer_first(found))
}

/// What we cannot reach ourselves, a command of ours cannot either.
fn gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied
    )
}

/// The paths that lie in no other of them.
fn outermost(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for path in outer_first(paths) {
        if holder(&path, &found).is_none() {
            found.push(path);
        }
    }
    found
}

fn outer_first(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    paths.dedup();
    paths
}

/// Paths of the unix sockets that programs outside listen on.
fn foreign_sockets() -> Vec<PathBuf> {
    // Others may be there at the next look.
    sight::tear();
    let Ok(table) = std::fs::read("/proc/net/unix") else {
        return Vec::new();
    };
    let socket = |line: &[u8]| {
        let at = line.windows(2).position(|pair| pair == b" /")?;
        let path = PathBuf::from(OsString::from_vec(line.get(at + 1..)?.to_vec()));
        let real = sight::canonicalize(&path).ok()?;
        let kind = std::fs::symlink_metadata(&real).ok()?.file_type();
        kind.is_socket().then_some(real)
    };
    let lines = table.split(|byte| *byte == b'\n');
    outer_first(lines.filter_map(socket).collect())
}

#[cfg(test)]
mod tests {
    use super::super::hard_links::beneath_but;
    use super::*;
    use std::fs;

    #[test]
    fn what_is_left_out_is_replaced_by_its_neighbours() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        for name in ["a/b/c", "a/d", "e"] {
            fs::create_dir_all(top.join(name)).unwrap();
        }
        let check = |left_out: &[&str], expect: &[&str]| {
            let left_out: Vec<_> = left_out.iter().map(|name| top.join(name)).collect();
            let linked = linked_files(&left_out);
            let mut found = beneath_but(top, &left_out, &linked, 10).unwrap();
            found.sort();
            let expect: Vec<_> = expect.iter().map(|name| top.join(name)).collect();
            assert_eq!(found, expect, "{left_out:?}");
        };
        check(&["x"], &["a", "e"]);
        check(&["a"], &["e"]);
        check(&["a/b"], &["a/d", "e"]);
        check(&["a/b/c", "e"], &["a/d"]);
        assert!(beneath_but(top, &[top.join("a/b")], &HashSet::new(), 1).is_err());
        fs::write(top.join("a/b/secret"), "").unwrap();
        fs::hard_link(top.join("a/b/secret"), top.join("other")).unwrap();
        check(&["x"], &["a", "e", "other"]);
        check(&["a/b"], &["a/d", "e"]);
    }

    #[test]
    fn a_writable_folder_in_a_forbidden_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("in");
        fs::create_dir(&inner).unwrap();
        let policy = Policy {
            writable: vec![inner],
            forbid_read: vec![folder.path().into()],
            ..Policy::default()
        };
        assert!(matches!(
            Places::find(&policy, Layer::Landlock, Unix::Refused),
            Err(Error::Conflict { .. })
        ));
    }
}
