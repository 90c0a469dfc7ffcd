//! Checkpoints at the place: what is asked of them as it travels, and how the helper carries it out.

use super::codec::{Malformed, Wire, fields, variants};
use super::guards::Guards;
use bytes::Bytes;
use ostler_checkpoint::{
    Around, AroundDone, Change, Checkpoints, Collected, Error, Git, Guard, Heavy, Ignored, Kept,
    Kind, Limits, Order, Point, Reach, Record, Reply, Report, Result, Scope, Side, Span, Tally,
    Target, Tree, Unseen, What, Why,
};
use ostler_wire::{Language, When, Why as Told, Word};
use sha2::{Digest as _, Sha256};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Below the folder for data of programs.
const FOLDER: &str = "ostler/checkpoints";
/// Characters of a project's name in that of its folder, and bytes of the hash of its path.
const MAX_NAME: usize = 40;
const HASH: usize = 8;

/// Where checkpoints lie at a place: with the data of programs, which nobody sweeps as they do caches.
pub fn folder(
    env: &[(std::ffi::OsString, std::ffi::OsString)],
    home: Option<&Path>,
) -> Option<PathBuf> {
    let data = env.iter().find(|(name, _)| name == "XDG_DATA_HOME");
    let data = data.map(|(_, folder)| PathBuf::from(folder));
    let data = data.filter(|folder| folder.is_absolute());
    let data = data.or_else(|| Some(home?.join(".local/share")))?;
    Some(data.join(FOLDER))
}

fn name_of(root: &Path) -> String {
    let hash = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let hash: String = hash.iter().take(HASH).map(|b| format!("{b:02x}")).collect();
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| match c.is_alphanumeric() || "-_.".contains(c) {
        true => c,
        false => '_',
    };
    let name: String = name.chars().map(plain).take(MAX_NAME).collect();
    format!("{name}-{hash}")
}

/// What the helper knows of the place.
pub struct Saves {
    pub folder: Option<PathBuf>,
    pub home: Option<PathBuf>,
    pub guards: Arc<Guards>,
}

impl Saves {
    /// Blocks.
    pub fn carry_out(&self, tree: Tree, order: Order) -> Result<Reply> {
        let store = self.open(&tree)?;
        if !matches!(order, Order::Restore { .. }) {
            return store.carry_out(order);
        }
        let kept: Vec<PathBuf> = tree.protect.into_iter().filter(|p| !is_lost(p)).collect();
        let watch = self.guards.begin(&tree.root, &kept);
        let reply = store.carry_out(order);
        let refused = watch.put_back_now();
        match reply? {
            Reply::Restored { report, made } if !refused.is_empty() => {
                leave_out(&store, report, made, &refused)
            }
            reply => Ok(reply),
        }
    }

    fn open(&self, tree: &Tree) -> Result<Checkpoints> {
        let missing = |path: &Path, kind: io::ErrorKind| Error::Io {
            what: Word::CpFind,
            path: path.to_owned(),
            source: kind.into(),
        };
        let none = || missing(Path::new("~/.local/share"), io::ErrorKind::NotFound);
        let folder = self.folder.as_ref().ok_or_else(none)?;
        // One that was made with looser rights is for this account alone from now on.
        let _left = ostler_files::tighten(folder);
        let limits = Limits {
            user_home: self.home.clone(),
            excluded: vec![folder.clone()],
            ..tree.limits.clone()
        };
        let store = Checkpoints::open(&folder.join(name_of(&tree.root)), &tree.root, limits)?;
        match store.root() == tree.root {
            true => Ok(store),
            // A link stands in its place, or in that of a folder above it.
            false => Err(missing(&tree.root, io::ErrorKind::NotADirectory)),
        }
    }
}

/// A repository that is gone comes back whole.
fn is_lost(path: &Path) -> bool {
    let git = path.ancestors().skip(1).find(|f| f.ends_with(".git"));
    git.is_some_and(|git| !git.exists())
}

/// Protected files are as they were before the restore: the tree is another one than it left.
fn leave_out(
    store: &Checkpoints,
    mut report: Report,
    mut made: Vec<Record>,
    refused: &[PathBuf],
) -> Result<Reply> {
    for path in refused {
        let path = path.strip_prefix(store.root()).unwrap_or(path);
        let path = path.display().to_string();
        report.changed.retain(|changed| *changed != path);
        let why = Word::CpNotRestored.into();
        report.kept.push(Kept { path, why });
    }
    let label = Language::English.say(Word::CpProtected);
    let after = store.take(label, &Scope::default())?;
    report.after = after.id;
    made.push(after);
    Ok(Reply::Restored { report, made })
}

impl Wire for Duration {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_secs().put(out);
        self.subsec_nanos().put(out);
    }

    fn take(from: &mut Bytes) -> std::result::Result<Self, Malformed> {
        let (seconds, nanos) = (u64::take(from)?, u32::take(from)?);
        match nanos < 1_000_000_000 {
            true => Ok(Self::new(seconds, nanos)),
            false => Err(Malformed),
        }
    }
}

/// As in the file that it is kept in.
impl Wire for Record {
    fn put(&self, out: &mut Vec<u8>) {
        serde_json::to_vec(self)
            .map(Bytes::from)
            .unwrap_or_default()
            .put(out);
    }

    fn take(from: &mut Bytes) -> std::result::Result<Self, Malformed> {
        serde_json::from_slice(&Bytes::take(from)?).map_err(|_| Malformed)
    }
}

fields!(Tree {
    root,
    limits,
    protect
});
fields!(Limits {
    files,
    file_bytes,
    quota,
    history,
    time,
    wait,
    user_home,
    excluded
});
variants!(Ignored { 0 => LeftOut, 1 => Saved });
fields!(Scope {
    ignored,
    paths,
    touched,
    follows
});
variants!(Reach { 0 => Itself, 1 => Below });
fields!(Target { path, reach });
variants!(When { 0 => Before, 1 => Also, 2 => After });
fields!(Around {
    label,
    when,
    targets,
    named,
    touched,
    follows,
    in_part
});
fields!(AroundDone {
    record,
    named,
    passed
});
variants!(Point { 0 => At(id), 1 => Now });
variants!(Language { 0 => English, 1 => Chinese });
variants!(Git { 0 => Left, 1 => Restored });
fields!(What { paths, git });
variants!(Unseen { 0 => Refuse, 1 => Keep, 2 => Overwrite });
fields!(Guard { expected, unseen });
fields!(Span { from, to });
variants!(Order {
    0 => Take { label, scope },
    1 => Around(around),
    2 => Get(id),
    3 => Diff { from, to },
    4 => Tally { from, to },
    5 => Unified { from, to, most, language },
    6 => Restore { id, tree, what, guard, spans },
    7 => Collect(quota),
    8 => Bytes,
});

variants!(Kind { 0 => File, 1 => Dir, 2 => Link });
fields!(Side {
    kind,
    mode,
    size,
    hash,
    target
});
fields!(Change {
    path,
    before,
    after
});
fields!(Tally {
    files,
    added,
    removed
});
variants!(Told { 0 => Said(text), 1 => Ours(word, values), 2 => Joined(parts) });
fields!(Kept { path, why });
fields!(Heavy { path, files, bytes });
fields!(Report {
    restored,
    before,
    after,
    changed,
    kept
});
fields!(Collected {
    removed,
    bytes_before,
    bytes_after
});
variants!(Reply {
    0 => Record(record),
    1 => Around(done),
    2 => Changes(changes),
    3 => Tally(tally),
    4 => Text(text),
    5 => Restored { report, made },
    6 => Collected(collected),
    7 => Bytes(bytes),
});

variants!(Why { 0 => Files, 1 => Time, 2 => Quota, 3 => LeftOut });
variants!(Error {
    0 => Refused { root, why },
    1 => Busy,
    2 => Stopped(why, heaviest),
    3 => Full(path),
    4 => NoSuch(id),
    5 => Damaged(what),
    6 => Unseen { since, paths },
    7 => Io { what, path, source },
    8 => OtherPlace(place),
    9 => Away { place, reason },
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_lie_with_the_data_of_programs() {
        let env = |value: &str| vec![("XDG_DATA_HOME".into(), value.into())];
        let home = Some(Path::new("/home/me"));
        for (env, home, expect) in [
            (
                vec![],
                home,
                Some("/home/me/.local/share/ostler/checkpoints"),
            ),
            (env("/data"), home, Some("/data/ostler/checkpoints")),
            (
                env("data"),
                home,
                Some("/home/me/.local/share/ostler/checkpoints"),
            ),
            (vec![], None, None),
        ] {
            assert_eq!(folder(&env, home), expect.map(PathBuf::from));
        }
        assert_ne!(name_of(Path::new("/a/p")), name_of(Path::new("/b/p")));
        assert!(!name_of(Path::new("/a/p q")).contains(' '));
    }
}
