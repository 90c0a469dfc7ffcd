//! The same policy as arguments of the program bubblewrap, for who trusts that more than us. It makes mounts and
//! namespaces; there is no filter of system calls behind it, no Landlock, and no proxy.

use super::covers::{By, Cover};
use super::places::Places;
use super::seccomp::Unix;
use crate::{Error, Layer, Network, Plan, Policy, holder};
use ostler_wire::{Why, Word};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// What root keeps, as for our own layers.
const KEPT_BY_ROOT: [&str; 5] = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_NET_BIND_SERVICE",
];

pub(super) const LIMIT: &str =
    "bubblewrap: no filter of system calls and no Landlock behind it, no way to single hosts";

pub(super) fn prepare(policy: &Policy) -> Result<Plan, Error> {
    let unavailable = |reason: Why| Error::Unavailable {
        wanted: Layer::Bubblewrap.name().into(),
        reason,
    };
    let program = policy
        .bubblewrap
        .as_ref()
        .ok_or_else(|| unavailable(Word::BoxNoBwrap.into()))?;
    works(program).map_err(unavailable)?;
    let places = Places::find(policy, Layer::Bubblewrap, Unix::Free)?;
    let root = rustix::process::geteuid().is_root();
    let mut wrap = vec![program.clone().into_os_string()];
    wrap.extend(arguments(policy, &places, root));
    let mut limits = vec![LIMIT, super::LATER_SOCKETS];
    if !policy.forbid_read.is_empty() {
        limits.push(super::HARD_LINKS);
    }
    Ok(Plan {
        layer: Some(Layer::Bubblewrap),
        limits,
        loose: super::loose(policy, &places, Layer::Bubblewrap),
        wrap,
        elsewhere: None,
        jail: None,
    })
}

/// Tried once for each program.
fn works(program: &Path) -> Result<(), Why> {
    static TRIED: Mutex<Vec<(PathBuf, Result<(), Why>)>> = Mutex::new(Vec::new());
    let mut tried = TRIED.lock().unwrap_or_else(|poison| poison.into_inner());
    if let Some((_, result)) = tried.iter().find(|(tried, _)| tried == program) {
        return result.clone();
    }
    let policy = Policy::default();
    let root = rustix::process::geteuid().is_root();
    let ran = Command::new(program)
        .args(arguments(&policy, &Places::default(), root))
        .args(["--", "/bin/true"])
        .env_clear()
        .stdin(Stdio::null())
        .output();
    let result = match ran {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().next();
            let said = said.map_or(Word::BoxNothing.into(), Why::from);
            Err(Why::ours(Word::BoxSays, [said]))
        }
        Err(error) => {
            let name = program.display().to_string().into();
            Err(Why::ours(Word::BoxNotRun, [name, (&error).into()]))
        }
    };
    tried.push((program.to_owned(), result.clone()));
    result
}

/// What holds for the process itself: namespaces and capabilities.
fn process_arguments(policy: &Policy, root: bool) -> Vec<OsString> {
    let mut words = vec!["--die-with-parent", "--unshare-pid", "--unshare-ipc"];
    if policy.network != Network::On {
        words.push("--unshare-net");
    }
    words.extend(["--cap-drop", "ALL"]);
    for capability in KEPT_BY_ROOT.iter().filter(|_| root) {
        words.extend(["--cap-add", capability]);
    }
    words.into_iter().map(OsString::from).collect()
}

/// Everything before the command. Later mounts lie on top of earlier ones.
fn arguments(policy: &Policy, places: &Places, root: bool) -> Vec<OsString> {
    let mut arguments = process_arguments(policy, root);
    let mut add = |words: &[&str], path: Option<&Path>| {
        arguments.extend(words.iter().map(OsString::from));
        arguments.extend(path.map(|path| path.as_os_str().to_owned()));
    };
    let top = Path::new("/");
    match places.writable.iter().any(|path| path == top) {
        true => add(&["--bind", "/", "/"], None),
        false => add(&["--ro-bind", "/", "/"], None),
    }
    add(&["--dev", "/dev", "--proc", "/proc"], None);
    let twice = |add: &mut dyn FnMut(&[&str], Option<&Path>), how: &str, path: &Path| {
        add(&[how], Some(path));
        add(&[], Some(path));
    };
    let seen = |path: &&PathBuf| !places.covers.iter().any(|cover| cover.hides(path));
    let covers = places.covers.iter().rev();
    for word in covers.flat_map(|cover| covering(cover, places)) {
        add(&[], Some(Path::new(&word)));
    }
    let folders: Vec<PathBuf> = places.closed.iter().map(|c| c.folder.clone()).collect();
    let (inside, outside): (Vec<&PathBuf>, Vec<&PathBuf>) = places
        .writable
        .iter()
        .filter(|path| *path != top)
        .partition(|path| holder(path, &folders).is_some());
    for path in outside {
        twice(&mut add, "--bind", path);
    }
    for closed in places.closed.iter().filter(|c| seen(&&c.folder)) {
        add(&["--perms", "0755", "--tmpfs"], Some(&closed.folder));
        for path in &closed.shown {
            let how = match holder(path, &places.writable) {
                Some(_) => "--bind",
                None => "--ro-bind",
            };
            twice(&mut add, how, path);
        }
    }
    for path in inside {
        twice(&mut add, "--bind", path);
    }
    for path in &places.pins() {
        twice(&mut add, "--bind", path);
    }
    for path in places.protected.paths.iter().filter(seen) {
        twice(&mut add, "--ro-bind", path);
    }
    for path in places.covered_forbidden().filter(seen) {
        match path.is_dir() {
            true => {
                add(&["--perms", "0000", "--tmpfs"], Some(path));
                add(&["--remount-ro"], Some(path));
            }
            false => add(&["--ro-bind", "/dev/null"], Some(path)),
        }
    }
    for path in places.hidden_sockets() {
        add(&["--ro-bind", "/dev/null"], Some(path));
    }
    for folder in read_only_at_last(places) {
        add(&["--remount-ro"], Some(folder));
    }
    arguments
}

/// Folders that nothing is written to once all that lies in them is mounted.
fn read_only_at_last(places: &Places) -> Vec<&PathBuf> {
    let seen = |path: &&PathBuf| !places.covers.iter().any(|cover| cover.hides(path));
    let ends_read_only = |cover: &&Cover| match cover.by {
        By::Empty => true,
        By::Folder { writable, .. } => !writable,
        By::Fresh => false,
    };
    let closed = places.closed.iter().map(|closed| &closed.folder);
    let covers = places.covers.iter().filter(ends_read_only);
    let covers = covers.map(|cover| &cover.folder);
    closed.filter(seen).chain(covers).collect()
}

/// A folder that is replaced, and what is seen of it.
fn covering(cover: &Cover, places: &Places) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add = |words: &[&str], paths: &[&Path]| {
        arguments.extend(words.iter().map(OsString::from));
        arguments.extend(paths.iter().map(|path| path.as_os_str().to_owned()));
    };
    let empty = ["--perms", "0755", "--tmpfs"];
    let fresh = ["--perms", "1777", "--tmpfs"];
    match &cover.by {
        By::Empty => add(&empty, &[&cover.folder]),
        By::Fresh => add(&fresh, &[&cover.folder]),
        // What lies in it is mounted on folders that have to be made first; it becomes read-only after that.
        By::Folder { source, .. } => add(&["--bind"], &[source, &cover.folder]),
    }
    for path in &cover.kept {
        if !places.covers.iter().any(|inner| inner.folder == *path) {
            add(&["--ro-bind"], &[path, path]);
        }
    }
    for (target, place) in &cover.links {
        add(&["--symlink"], &[target, place]);
    }
    for path in &cover.fresh {
        add(&fresh, &[path]);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_policy_as_arguments() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for name in ["w/.git/hooks", "secret"] {
            fs::create_dir_all(top.join(name)).unwrap();
        }
        fs::write(top.join("w/.env"), "").unwrap();
        let policy = |network| Policy {
            writable: vec![top.join("w"), top.join("not there")],
            protect: vec![top.join("w/.git/hooks"), top.join("w/ostler.toml")],
            forbid_read: vec![top.join("secret"), top.join("w/.env")],
            network,
            ..Policy::default()
        };
        let check = |network, root, expect: &str| {
            let policy = policy(network);
            // Without the sockets of this machine.
            let places = Places::find(&policy, Layer::Landlock, Unix::Free).unwrap();
            let words = arguments(&policy, &places, root);
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            let text = words.join(" ").replace(&top.display().to_string(), "T");
            assert_eq!(text, expect);
        };
        check(
            Network::Off,
            false,
            "--die-with-parent --unshare-pid --unshare-ipc --unshare-net --cap-drop ALL --ro-bind / / --dev /dev --proc /proc --bind T/w T/w --bind T/w/.git T/w/.git --ro-bind T/w/.git/hooks T/w/.git/hooks --perms 0000 --tmpfs T/secret --remount-ro T/secret --ro-bind /dev/null T/w/.env",
        );
        check(
            Network::On,
            true,
            "--die-with-parent --unshare-pid --unshare-ipc --cap-drop ALL --cap-add CAP_CHOWN --cap-add CAP_DAC_OVERRIDE --cap-add CAP_FOWNER --cap-add CAP_FSETID --cap-add CAP_NET_BIND_SERVICE --ro-bind / / --dev /dev --proc /proc --bind T/w T/w --bind T/w/.git T/w/.git --ro-bind T/w/.git/hooks T/w/.git/hooks --perms 0000 --tmpfs T/secret --remount-ro T/secret --ro-bind /dev/null T/w/.env",
        );
    }
}
