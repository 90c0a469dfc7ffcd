//! File operations against a real folder: where they lead, what they refuse, what they leave behind.

use super::border::Border;
use super::resolve::follow;
use super::{rename, stat, write};
use crate::error::Error;
use crate::{Kind, RenameOptions, Roots, Span, WriteOptions};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn read(path: &Path, span: Span) -> crate::Result<crate::Content> {
    super::read(path, span, &Border::none())
}

fn list(path: &Path, max_entries: usize) -> crate::Result<crate::Listing> {
    super::list(path, max_entries, &Border::none())
}

const ALL: Span = Span::head(u64::MAX);

/// A folder with `in` (may be written) and `out` (may not), described and made by lines such as `in/a = text`,
/// `in/link -> ../out/secret`, `in/folder/`.
struct World {
    base: PathBuf,
    _folder: TempDir,
}

impl World {
    fn new(lines: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let world = Self {
            base,
            _folder: folder,
        };
        for line in ["in/", "out/"].iter().chain(lines) {
            world.make(line);
        }
        world
    }

    fn make(&self, line: &str) {
        let part = |name: &str| {
            let path = self.base.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            path
        };
        if let Some((name, text)) = line.split_once(" = ") {
            fs::write(part(name), text).unwrap();
        } else if let Some((name, target)) = line.split_once(" -> ") {
            let target = target.replace("BASE", self.base.to_str().unwrap());
            #[cfg(unix)]
            std::os::unix::fs::symlink(target, part(name)).unwrap();
        } else {
            fs::create_dir_all(part(line)).unwrap();
        }
    }

    fn roots(&self) -> Roots {
        Roots {
            writable: vec![self.base.join("in")],
            ..Roots::default()
        }
    }

    /// The same description of what is there now.
    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut todo = vec![self.base.clone()];
        while let Some(folder) = todo.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&self.base).unwrap().display();
                let meta = path.symlink_metadata().unwrap();
                if meta.is_symlink() {
                    let target = fs::read_link(&path).unwrap();
                    let target = target.to_str().unwrap();
                    let target = target.replace(self.base.to_str().unwrap(), "BASE");
                    lines.push(format!("{name} -> {target}"));
                } else if meta.is_dir() {
                    if !["in", "out"].contains(&name.to_string().as_str()) {
                        lines.push(format!("{name}/"));
                    }
                    todo.push(path);
                } else if meta.is_file() {
                    let text = fs::read_to_string(&path).unwrap();
                    lines.push(format!("{name} = {text}"));
                }
            }
        }
        lines.sort();
        lines
    }

    fn write(&self, path: &str, parents: Parents) -> Result<(String, bool), String> {
        let options = WriteOptions {
            roots: self.roots(),
            create_parents: matches!(parents, Parents::Made),
        };
        let written = write(&self.base.join(path), b"new", &options).map_err(|e| self.name(&e))?;
        Ok((self.shown(&written.path), written.created))
    }

    fn rename(&self, from: &str, to: &str, overwrite: bool) -> Result<bool, String> {
        let options = RenameOptions {
            roots: self.roots(),
            create_parents: true,
            overwrite,
        };
        let renamed = rename(&self.base.join(from), &self.base.join(to), &options);
        Ok(renamed.map_err(|e| self.name(&e))?.overwrote)
    }

    fn shown(&self, path: &Path) -> String {
        let path = path.strip_prefix(&self.base).unwrap_or(path);
        path.to_str().unwrap().into()
    }

    /// The error's code and the path it names.
    fn name(&self, error: &Error) -> String {
        let text = error.to_string();
        let text = text.replace(&format!("{}/", self.base.display()), "");
        format!("{}: {text}", error.code())
    }
}

#[derive(Clone, Copy)]
enum Parents {
    Made,
    Needed,
}

#[test]
fn paths_are_resolved_as_the_kernel_would() {
    let world = World::new(&[
        "in/file = x",
        "in/folder/deep/",
        "in/to-file -> file",
        "in/to-folder -> folder",
        "in/absolute -> BASE/out",
        "in/dangling -> folder/none",
        "in/far -> to-folder/deep/../../file",
        "in/chain -> to-file",
        "in/self -> self",
        "in/ping -> pong",
        "in/pong -> ping",
    ]);
    for (path, expected) in [
        ("in/file", "in/file"),
        ("in/./folder//deep", "in/folder/deep"),
        ("in/to-file", "in/file"),
        ("in/chain", "in/file"),
        ("in/to-folder/deep", "in/folder/deep"),
        ("in/absolute/x", "out/x"),
        ("in/dangling", "in/folder/none"),
        ("in/dangling/below", "in/folder/none/below"),
        ("in/far", "in/file"),
        ("in/to-folder/deep/../..", "in"),
        ("in/to-folder/../file", "in/file"),
        ("in/none/../file", "in/file"),
        ("in/file/below", "in/file/below"),
        ("../../../../../../../../../../../../etc", "/etc"),
    ] {
        let resolved = follow(&world.base.join(path)).unwrap();
        assert_eq!(world.shown(&resolved), expected, "{path}");
    }
    for path in ["in/self", "in/ping/x"] {
        let error = follow(&world.base.join(path)).unwrap_err();
        assert!(matches!(error, Error::TooManyLinks { .. }), "{error:?}");
    }
    for path in ["", "relative", "./x", "/a\0b"] {
        let error = follow(Path::new(path)).unwrap_err();
        assert!(matches!(error, Error::BadPath { .. }), "{path:?} {error:?}");
    }
}

#[test]
fn writes_land_inside_or_nowhere() {
    use Parents::{Made, Needed};
    let start = [
        "in/file = old",
        "in/folder/",
        "in/inward -> file",
        "in/inward-folder -> folder",
        "in/inward-dangling -> folder/fresh",
        "in/outward -> ../out/secret",
        "in/outward-absolute -> BASE/out/secret",
        "in/outward-folder -> ../out",
        "in/outward-dangling -> ../out/fresh",
        "out/secret = secret",
        "out/back -> ../in",
    ];
    let outside = |path: &str| {
        let world = "forbidden: PATH lies outside of the folders that may be written (in)";
        Err(world.replace("PATH", path))
    };
    let landed = |path: &str, created| Ok((path.to_string(), created));
    for (path, parents, expected, change) in [
        (
            "in/fresh",
            Needed,
            landed("in/fresh", true),
            "in/fresh = new",
        ),
        ("in/file", Needed, landed("in/file", false), "in/file = new"),
        (
            "in/inward",
            Needed,
            landed("in/file", false),
            "in/file = new",
        ),
        (
            "in/inward-folder/x",
            Needed,
            landed("in/folder/x", true),
            "in/folder/x = new",
        ),
        (
            "in/inward-dangling",
            Needed,
            landed("in/folder/fresh", true),
            "in/folder/fresh = new",
        ),
        ("out/back/y", Needed, landed("in/y", true), "in/y = new"),
        ("in/folder/../z", Needed, landed("in/z", true), "in/z = new"),
        ("in/outward", Made, outside("out/secret"), ""),
        ("in/outward-absolute", Made, outside("out/secret"), ""),
        ("in/outward-folder/x", Made, outside("out/x"), ""),
        ("in/outward-folder/a/b", Made, outside("out/a/b"), ""),
        ("in/outward-dangling", Made, outside("out/fresh"), ""),
        ("in/../out/x", Made, outside("out/x"), ""),
        ("in/a/../../out/x", Made, outside("out/x"), ""),
        ("out/x", Made, outside("out/x"), ""),
        ("inside", Made, outside("inside"), ""),
        (
            "in",
            Made,
            Err("is_directory: in is a directory, not a file".into()),
            "",
        ),
        (
            "in/folder",
            Made,
            Err("is_directory: in/folder is a directory, not a file".into()),
            "",
        ),
        (
            "in/a/b",
            Needed,
            Err("not_found: in/a does not exist".into()),
            "",
        ),
        (
            "in/file/x",
            Made,
            Err("path_error: in/file is not a directory".into()),
            "",
        ),
    ] {
        let world = World::new(&start);
        let answer = world.write(path, parents).map_err(|text| {
            text.replace(&format!("({})", world.base.join("in").display()), "(in)")
        });
        assert_eq!(answer, expected, "{path}");
        let mut lines: Vec<String> = start.iter().map(ToString::to_string).collect();
        if let Some((name, _)) = change.split_once(" = ") {
            lines.retain(|line| !line.starts_with(&format!("{name} = ")));
            lines.push(change.into());
        }
        lines.sort();
        assert_eq!(world.lines(), lines, "{path}");
    }
}

#[test]
fn parents_are_made_when_asked() {
    let world = World::new(&[]);
    let landed = world.write("in/a/b/c", Parents::Made).unwrap();
    assert_eq!(landed, ("in/a/b/c".into(), true));
    assert_eq!(world.lines(), ["in/a/", "in/a/b/", "in/a/b/c = new"]);
}

#[test]
fn a_root_may_be_yet_to_be_made_and_no_link() {
    let world = World::new(&["link -> in"]);
    let options = |root: &str| WriteOptions {
        roots: Roots {
            writable: vec![world.base.join("missing"), world.base.join(root)],
            ..Roots::default()
        },
        create_parents: true,
    };
    for path in ["in/a", "link/a"] {
        let refused = write(&world.base.join(path), b"1", &options("link"));
        assert!(
            matches!(refused, Err(Error::Outside { .. })),
            "{path}: {refused:?}"
        );
    }
    write(&world.base.join("link/b"), b"2", &options("in")).unwrap();
    write(&world.base.join("missing/c"), b"3", &options("in")).unwrap();
    assert_eq!(
        world.lines(),
        ["in/b = 2", "link -> in", "missing/", "missing/c = 3"]
    );
}

#[test]
fn what_is_reserved_stays_whatever_it_is_called() {
    let start = [
        "in/kept/",
        "in/kept/a = a",
        "in/free = f",
        "in/alias -> kept",
        "in/to-a -> kept/a",
    ];
    let world = World::new(&start);
    let before = world.lines();
    let roots = Roots {
        writable: vec![world.base.join("in")],
        reserved: vec![world.base.join("in/kept"), world.base.join("in/later")],
        ..Roots::default()
    };
    let refused = |path: &str| {
        Err(Error::Reserved {
            path: world.base.join(path),
        }
        .to_string())
    };
    for (path, real) in [
        ("in/kept/a", "in/kept/a"),
        ("in/kept/new/b", "in/kept/new/b"),
        ("in/alias/b", "in/kept/b"),
        ("in/to-a", "in/kept/a"),
        ("in/free/../kept/b", "in/kept/b"),
        ("in/later", "in/later"),
        ("in/later/x", "in/later/x"),
    ] {
        let options = WriteOptions {
            roots: roots.clone(),
            create_parents: true,
        };
        let written = write(&world.base.join(path), b"new", &options);
        assert_eq!(
            written.map(|_| ()).map_err(|e| e.to_string()),
            refused(real),
            "{path}"
        );
    }
    for (from, to) in [
        ("in/free", "in/kept/b"),
        ("in/kept/a", "in/b"),
        ("in/kept", "in/moved"),
        ("in/alias/a", "in/b"),
        ("in/free", "in/later"),
    ] {
        let options = RenameOptions {
            roots: roots.clone(),
            create_parents: true,
            overwrite: true,
        };
        let moved = rename(&world.base.join(from), &world.base.join(to), &options);
        assert!(
            matches!(moved, Err(Error::Reserved { .. })),
            "{from} {to}: {moved:?}"
        );
    }
    assert_eq!(world.lines(), before);
}

#[test]
fn moves_stay_inside_and_clobber_only_when_asked() {
    let start = [
        "in/a = a",
        "in/b = b",
        "in/folder/",
        "in/folder/x = x",
        "in/link -> a",
        "in/outward -> ../out",
        "out/c = c",
    ];
    let check =
        |from: &str, to: &str, overwrite, expected: Result<bool, &str>, changes: [&[&str]; 2]| {
            let world = World::new(&start);
            let answer = world.rename(from, to, overwrite);
            let answer = answer.as_ref().map_err(|text| {
                let start = text.split_once(" lies outside").map(|(start, _)| start);
                start.unwrap_or(text)
            });
            assert_eq!(
                answer,
                expected.as_ref().map_err(|text| *text),
                "{from} to {to}"
            );
            let [gone, new] = changes;
            let mut lines: Vec<&str> = start.to_vec();
            lines.retain(|line| !gone.contains(line));
            lines.extend(new);
            lines.sort_unstable();
            assert_eq!(world.lines(), lines, "{from} to {to}");
        };
    let none: [&[&str]; 2] = [&[], &[]];
    check(
        "in/a",
        "in/z",
        false,
        Ok(false),
        [&["in/a = a"], &["in/z = a"]],
    );
    check(
        "in/a",
        "in/z",
        true,
        Ok(false),
        [&["in/a = a"], &["in/z = a"]],
    );
    check(
        "in/a",
        "in/new/deep/z",
        false,
        Ok(false),
        [
            &["in/a = a"],
            &["in/new/", "in/new/deep/", "in/new/deep/z = a"],
        ],
    );
    check(
        "in/a",
        "in/b",
        false,
        Err("exists: in/b already exists; ask to overwrite it, or choose another name"),
        none,
    );
    check(
        "in/a",
        "in/b",
        true,
        Ok(true),
        [&["in/a = a", "in/b = b"], &["in/b = a"]],
    );
    check(
        "in/link",
        "in/moved",
        false,
        Ok(false),
        [&["in/link -> a"], &["in/moved -> a"]],
    );
    check(
        "in/a",
        "in/link",
        true,
        Ok(true),
        [&["in/a = a", "in/link -> a"], &["in/link = a"]],
    );
    check(
        "in/folder",
        "in/other",
        false,
        Ok(false),
        [
            &["in/folder/", "in/folder/x = x"],
            &["in/other/", "in/other/x = x"],
        ],
    );
    check(
        "in/none",
        "in/z",
        false,
        Err("not_found: in/none does not exist"),
        none,
    );
    check("in/a", "out/z", false, Err("forbidden: out/z"), none);
    check("in/a", "in/outward/z", false, Err("forbidden: out/z"), none);
    check("in/a", "in/../out/z", false, Err("forbidden: out/z"), none);
    check("out/c", "in/z", false, Err("forbidden: out/c"), none);
    check("in/outward/c", "in/z", false, Err("forbidden: out/c"), none);
    check(
        "in",
        "in/z",
        false,
        Err("is_directory: in is a directory, not a file"),
        none,
    );
    check(
        "in/a",
        "in/..",
        false,
        Err("path_error: in/.. must be an absolute path without NUL bytes"),
        none,
    );
}

#[test]
fn reads_what_is_regular_and_nothing_else() {
    let world = World::new(&[
        "in/text = hello",
        "in/link -> text",
        "in/dangling -> none",
        "in/folder/",
    ]);
    fs::write(world.base.join("in/binary"), [0, 159, 146, 150, 255]).unwrap();
    let check = |path: &str, span: Span, expected: Result<(&[u8], bool, u64), &str>| {
        let answer = read(&world.base.join(path), span);
        let answer = answer.map(|got| (got.bytes, got.truncated, got.stat.len));
        let answer = answer.map_err(|error| world.name(&error));
        let expected = expected.map_err(Into::into);
        let expected = expected.map(|(bytes, cut, len)| (bytes.to_vec().into(), cut, len));
        assert_eq!(answer, expected, "{path}");
    };
    let span = |offset, max_bytes| Span { offset, max_bytes };
    check("in/text", ALL, Ok((b"hello", false, 5)));
    check("in/link", ALL, Ok((b"hello", false, 5)));
    check("in/text", Span::head(5), Ok((b"hello", false, 5)));
    check("in/text", Span::head(4), Ok((b"hell", true, 5)));
    check("in/text", Span::head(0), Ok((b"", true, 5)));
    check("in/text", span(3, 10), Ok((b"lo", false, 5)));
    check("in/text", span(9, 10), Ok((b"", false, 9)));
    check("in/binary", ALL, Ok((&[0, 159, 146, 150, 255], false, 5)));
    check("in/none", ALL, Err("not_found: in/none does not exist"));
    check("in/dangling", ALL, Err("not_found: in/none does not exist"));
    check("in/text/x", ALL, Err("not_found: in/text/x does not exist"));
    check(
        "in/folder",
        ALL,
        Err("is_directory: in/folder is a directory, not a file"),
    );
}

#[test]
fn a_huge_file_is_read_in_part() {
    const HUGE: u64 = 1 << 40;
    let world = World::new(&[]);
    let path = world.base.join("in/huge");
    let file = fs::File::create(&path).unwrap();
    file.set_len(HUGE).unwrap();
    let got = read(&path, Span::head(10)).unwrap();
    assert_eq!(
        (got.bytes.len(), got.truncated, got.stat.len),
        (10, true, HUGE)
    );
    let end = Span {
        offset: HUGE - 3,
        max_bytes: 10,
    };
    let got = read(&path, end).unwrap();
    assert_eq!(
        (got.bytes.len(), got.truncated, got.stat.len),
        (3, false, HUGE)
    );
}

#[test]
fn stat_tells_what_is_there_or_would_be() {
    let world = World::new(&["in/text = hello", "in/link -> text", "in/gone -> a/b"]);
    for (path, resolved, kind, len) in [
        ("in/text", "in/text", Kind::File, 5),
        ("in/link", "in/text", Kind::File, 5),
        ("in/gone", "in/a/b", Kind::Missing, 0),
        ("in/none/x", "in/none/x", Kind::Missing, 0),
        ("in/text/x", "in/text/x", Kind::Missing, 0),
    ] {
        let got = stat(&world.base.join(path)).unwrap();
        assert_eq!(
            (world.shown(&got.path).as_str(), got.kind, got.len),
            (resolved, kind, len)
        );
    }
    assert_eq!(stat(&world.base.join("in")).unwrap().kind, Kind::Directory);
}

#[test]
fn lists_by_name_up_to_a_limit() {
    let world = World::new(&["in/b = 22", "in/a/", "in/c -> b", "in/.d = 4444"]);
    let got = |max| {
        let listing = list(&world.base.join("in"), max).unwrap();
        let entries = listing.entries.iter();
        let entries: Vec<_> = entries
            .map(|entry| (entry.name.to_str().unwrap().to_string(), entry.kind))
            .collect();
        (entries, listing.truncated)
    };
    let entry = |name: &str, kind| (name.to_string(), kind);
    let mut all = vec![
        entry(".d", Kind::File),
        entry("a", Kind::Directory),
        entry("b", Kind::File),
        entry("c", Kind::Symlink),
    ];
    assert_eq!(got(4), (all.clone(), false));
    all.truncate(2);
    assert_eq!(got(2), (all, true));
    let listing = list(&world.base.join("in"), 9).unwrap();
    assert_eq!(listing.entries[0].len, 4);
    for (path, expected) in [
        ("in/b", "path_error: in/b is not a directory"),
        ("in/none", "not_found: in/none does not exist"),
    ] {
        let error = list(&world.base.join(path), 9).unwrap_err();
        assert_eq!(world.name(&error), expected);
    }
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn replaced_files_keep_their_mode_and_new_ones_follow_the_umask() {
        let world = World::new(&["in/usual = x"]);
        for (before, after) in [(0o755, 0o755), (0o600, 0o600), (0o4755, 0o755)] {
            let path = world.base.join("in/script");
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(before)).unwrap();
            world.write("in/script", Parents::Needed).unwrap();
            assert_eq!(mode(&path), after);
        }
        world.write("in/fresh", Parents::Needed).unwrap();
        assert_eq!(
            mode(&world.base.join("in/fresh")),
            mode(&world.base.join("in/usual"))
        );
    }

    #[test]
    fn another_name_of_the_same_file_is_not_written_through() {
        let world = World::new(&["out/secret = secret"]);
        fs::hard_link(world.base.join("out/secret"), world.base.join("in/hard")).unwrap();
        world.write("in/hard", Parents::Needed).unwrap();
        assert_eq!(world.lines(), ["in/hard = new", "out/secret = secret"]);
    }

    /// Somebody holds the other end and says nothing.
    #[test]
    fn a_silent_pipe_is_not_waited_for() {
        use std::io::Read as _;
        let world = World::new(&[]);
        let fifo = world.base.join("in/fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let mut file = crate::open_without_waiting(&fifo).unwrap();
        let other_end = fs::OpenOptions::new().write(true).open(&fifo).unwrap();
        let error = file.read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
        drop(other_end);
    }

    #[test]
    fn fifos_and_devices_are_neither_read_nor_written() {
        let world = World::new(&[]);
        let fifo = world.base.join("in/fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let refused = "forbidden: in/fifo is a device, socket or pipe, not a regular file";
        assert_eq!(world.name(&read(&fifo, ALL).unwrap_err()), refused);
        assert_eq!(
            world.write("in/fifo", Parents::Needed).unwrap_err(),
            refused
        );
        let device = Path::new("/dev/null");
        assert_eq!(read(device, ALL).unwrap_err().code(), "forbidden");
        let anywhere = WriteOptions {
            roots: Roots {
                writable: vec!["/".into()],
                ..Roots::default()
            },
            create_parents: false,
        };
        assert_eq!(
            write(device, b"", &anywhere).unwrap_err().code(),
            "forbidden"
        );
        assert_eq!(stat(device).unwrap().kind, Kind::Other);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn files_that_do_not_tell_their_length_are_read_whole() {
        let path = Path::new("/proc/self/status");
        let got = read(path, ALL).unwrap();
        assert!(got.bytes.starts_with(b"Name:") && !got.truncated);
        assert_eq!(got.stat.len, got.bytes.len() as u64);
        let got = read(path, Span::head(5)).unwrap();
        assert_eq!((&got.bytes[..], got.truncated), (&b"Name:"[..], true));
    }

    #[test]
    fn moves_between_file_systems() {
        let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
            return;
        };
        let world = World::new(&["in/a = text"]);
        let options = RenameOptions {
            roots: Roots {
                writable: vec![world.base.clone(), memory.path().into()],
                ..Roots::default()
            },
            ..RenameOptions::default()
        };
        let from = world.base.join("in/a");
        fs::set_permissions(&from, fs::Permissions::from_mode(0o640)).unwrap();
        let before = fs::metadata(&from).unwrap();
        let to = memory.path().join("b");
        rename(&from, &to, &options).unwrap();
        let after = fs::metadata(&to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "text");
        assert_eq!(mode(&to), 0o640);
        assert_eq!(after.modified().unwrap(), before.modified().unwrap());
        assert_eq!(fs::read_dir(memory.path()).unwrap().count(), 1);
        assert!(world.lines().is_empty());
        fs::write(&from, "second").unwrap();
        assert_eq!(rename(&from, &to, &options).unwrap_err().code(), "exists");
    }

    #[test]
    fn readers_see_the_old_bytes_or_the_new_ones() {
        const SIZE: usize = 300_000;
        let world = World::new(&[]);
        let path = world.base.join("in/file");
        let options = WriteOptions {
            roots: world.roots(),
            create_parents: false,
        };
        write(&path, &[b'a'; SIZE], &options).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for byte in b"abcdefgh".repeat(25) {
                    write(&path, &vec![byte; SIZE], &options).unwrap();
                }
                done.store(true, Ordering::Relaxed);
            });
            while !done.load(Ordering::Relaxed) {
                let seen = fs::read(&path).unwrap();
                assert_eq!(seen.len(), SIZE);
                assert!(seen.iter().all(|byte| *byte == seen[0]));
            }
        });
    }

    #[test]
    fn a_link_swapped_in_between_leads_nowhere() {
        let world = World::new(&["in/real/", "in/lure -> ../out", "out/kept = kept"]);
        let place = world.base.join("in/place");
        let (real, lure) = (world.base.join("in/real"), world.base.join("in/lure"));
        let options = RenameOptions {
            roots: world.roots(),
            overwrite: true,
            create_parents: false,
        };
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for other in [&real, &lure] {
                        fs::rename(other, &place).unwrap();
                        fs::rename(&place, other).unwrap();
                    }
                }
            });
            let mut landed = 0;
            for _ in 0..5_000 {
                landed += u32::from(world.write("in/place/x", Parents::Needed).is_ok());
                let renamed = rename(&place.join("x"), &place.join("y"), &options);
                landed += u32::from(renamed.is_ok());
            }
            done.store(true, Ordering::Relaxed);
            assert!(landed > 0, "the race was never run");
        });
        assert_eq!(fs::read_dir(world.base.join("out")).unwrap().count(), 1);
    }

    #[test]
    fn a_refused_write_leaves_nothing_behind() {
        let world = World::new(&["in/folder/"]);
        assert!(world.write("in/folder", Parents::Made).is_err());
        let long = format!("in/{}", "n".repeat(300));
        assert!(
            world
                .write(&long, Parents::Made)
                .unwrap_err()
                .starts_with("path_error")
        );
        assert_eq!(world.lines(), ["in/folder/"]);
    }
}

/// What a border of the folder `in` says, with `in/secret*` denied and `out/given` granted.
#[cfg(unix)]
fn border(world: &World) -> Border {
    use super::border::{Ban, Depth, Pattern, Place};
    Border {
        places: vec![(world.base.join("in"), Place::Inside)],
        forbidden: vec![Ban {
            path: world.base.join("out/keys"),
            rule: "forbid_read".into(),
        }],
        deny: vec![Pattern {
            base: world.base.join("in"),
            glob: ".env".into(),
            depth: Depth::AnyName,
            rule: "Read(.env)".into(),
        }],
        granted: vec![world.base.join("out/given")],
        ..Border::default()
    }
}

#[cfg(unix)]
#[test]
fn a_file_is_judged_where_it_really_lies() {
    let world = World::new(&[
        "in/a = a",
        "in/.env = SECRET",
        "in/sub/b = b",
        "in/link -> a",
        "in/env -> .env",
        "in/up -> ../out",
        "in/far -> ../out/far",
        "in/key -> BASE/out/keys/id",
        "in/round -> ../in/sub",
        "out/far = far",
        "out/given = given",
        "out/keys/id = KEY",
        "in/loop -> loop",
        "in/self -> /proc/self/cwd",
    ]);
    let border = border(&world);
    let said = |path: &str| match super::read(&world.base.join(path), ALL, &border) {
        Ok(content) => String::from_utf8(content.bytes.to_vec()).unwrap(),
        Err(error) => format!("{error:?}")
            .split([' ', '{'])
            .next()
            .unwrap()
            .to_owned(),
    };
    for (path, expect) in [
        ("in/a", "a"),
        ("in/link", "a"),
        ("in/round/b", "b"),
        ("in/sub/../a", "a"),
        ("in/.env", "Withheld"),
        ("in/env", "Withheld"),
        ("in/key", "Withheld"),
        ("out/keys/id", "Withheld"),
        ("out/keys", "Withheld"),
        ("in/far", "Beyond"),
        ("in/up/far", "Beyond"),
        ("in/../out/far", "Beyond"),
        ("in/up/given", "given"),
        ("out", "Beyond"),
        ("in/sub", "IsDirectory"),
        ("in/none", "NotFound"),
        ("in/loop", "TooManyLinks"),
    ] {
        assert_eq!(said(path), expect, "{path}");
    }
    let listed = |path: &str| match super::list(&world.base.join(path), 9, &border) {
        Ok(listing) => listing.entries.len().to_string(),
        Err(error) => format!("{error:?}")
            .split([' ', '{'])
            .next()
            .unwrap()
            .to_owned(),
    };
    for (path, expect) in [
        ("in/sub", "1"),
        ("in/round", "1"),
        ("in/up", "Beyond"),
        ("out/keys", "Withheld"),
        ("in/self", "Beyond"),
        ("in/a", "NotDirectory"),
        ("in/far", "Beyond"),
    ] {
        assert_eq!(listed(path), expect, "{path}");
    }
}

#[cfg(unix)]
#[test]
fn a_name_that_ends_like_a_deleted_file_is_read() {
    let world = World::new(&["in/a (deleted) = here"]);
    let content = super::read(&world.base.join("in/a (deleted)"), ALL, &border(&world)).unwrap();
    assert_eq!(&content.bytes[..], b"here");
}

/// Two names that change places all the time, as `renameat2(RENAME_EXCHANGE)` does it.
#[cfg(target_os = "linux")]
fn exchanging<T>(one: PathBuf, other: PathBuf, work: impl FnOnce() -> T) -> T {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use std::sync::atomic::{AtomicBool, Ordering};
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        done
    })
}

#[cfg(target_os = "linux")]
#[test]
fn links_that_are_exchanged_while_files_are_read_leak_nothing() {
    use super::TreeReader;
    use std::io::Read as _;
    const ROUNDS: usize = 3000;
    let world = World::new(&[
        "in/pub = public",
        "in/.env = SECRET",
        "in/s1 -> pub",
        "in/s2 -> .env",
        "in/open/id = public",
        "in/d1 -> open",
        "in/d2 -> ../out/keys",
        "out/keys/id = SECRET",
        "out/keys/hidden = SECRET",
    ]);
    let border = std::sync::Arc::new(border(&world));
    let at = |name: &str| world.base.join("in").join(name);
    let (mut public, mut leaked) = (0, 0);
    let mut count = |bytes: &[u8]| match bytes == b"public" {
        true => public += 1,
        false => leaked += 1,
    };
    exchanging(at("s1"), at("s2"), || {
        for _ in 0..ROUNDS {
            if let Ok(content) = super::read(&at("s1"), ALL, &border) {
                count(&content.bytes);
            }
        }
    });
    exchanging(at("d1"), at("d2"), || {
        for _ in 0..ROUNDS {
            if let Ok(content) = super::read(&at("d1/id"), ALL, &border) {
                count(&content.bytes);
            }
            let mut reader = TreeReader::new(border.clone());
            for _ in 0..2 {
                if let Ok(mut file) = reader.open(&at("d1/id")) {
                    let mut bytes = Vec::new();
                    file.read_to_end(&mut bytes).unwrap();
                    count(&bytes);
                }
            }
            if let Ok(listing) = super::list(&at("d1"), 9, &border) {
                assert_eq!(listing.entries.len(), 1);
            }
            assert!(reader.locate(&at("d1/hidden")).is_err());
        }
    });
    assert_eq!(leaked, 0);
    assert!(public > 0);
}

/// A hard link has no path of its own to be judged by: the file is known by its number.
#[cfg(unix)]
#[test]
fn other_names_of_forbidden_files_are_not_read() {
    use super::TreeReader;
    use super::border::{Ban, Depth, Pattern, Place};
    let dir = TempDir::new().unwrap();
    let base = dir.path().canonicalize().unwrap();
    for name in [
        "keys/deep/id",
        "root/.env",
        "root/sub/.env",
        "root/free",
        "out/list",
    ] {
        let path = base.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "text").unwrap();
    }
    for (from, to) in [
        ("keys/deep/id", "root/key"),
        ("root/.env", "root/env"),
        ("root/sub/.env", "root/sub/env"),
        ("out/list", "root/list"),
        ("root/free", "root/twin"),
    ] {
        fs::hard_link(base.join(from), base.join(to)).unwrap();
    }
    let border = std::sync::Arc::new(Border {
        places: vec![(base.join("root"), Place::Inside)],
        forbidden: vec![Ban {
            path: base.join("keys"),
            rule: "forbid_read".into(),
        }],
        deny: vec![
            Pattern {
                base: base.join("root"),
                glob: ".env".into(),
                depth: Depth::AnyName,
                rule: "Read(.env)".into(),
            },
            Pattern {
                base: "/".into(),
                glob: format!("{}/out/l*", base.display())
                    .trim_start_matches('/')
                    .into(),
                depth: Depth::FromBase,
                rule: "Read(out)".into(),
            },
        ],
        ..Border::default()
    });
    let mut tree = TreeReader::new(border.clone());
    for (name, rule) in [
        ("root/key", Some("forbid_read")),
        ("root/env", Some("Read(.env)")),
        ("root/sub/env", Some("Read(.env)")),
        ("root/list", Some("Read(out)")),
        ("root/free", None),
        ("root/twin", None),
    ] {
        let path = base.join(name);
        let read = super::read(&path, Span::head(10), &border).map(|_| ());
        for read in [read, tree.open(&path).map(|_| ())] {
            let by = match &read {
                Err(Error::Withheld { rule, .. }) => Some(rule.as_str()),
                Ok(()) => None,
                Err(other) => panic!("{name}: {other:?}"),
            };
            assert_eq!(by, rule, "{name}");
        }
    }
}

/// A link that was swapped in after the rules were asked leads to no other file.
#[cfg(unix)]
#[test]
fn only_what_was_judged_is_changed() {
    let check = |change: &str, judged: &[&str], expect: &str| {
        let scene = World::new(&[
            "in/k -> locked",
            "in/locked/f = mine",
            "in/a = a",
            "in/to_a -> a",
        ]);
        let at = |name: &str| scene.base.join("in").join(name);
        let roots = Roots {
            judged: Some(judged.iter().map(|name| at(name)).collect()),
            ..scene.roots()
        };
        let done = match change.split_once(" to ") {
            None => write(
                &at(change),
                b"new",
                &WriteOptions {
                    roots,
                    create_parents: true,
                },
            )
            .map(drop),
            Some((from, to)) => rename(
                &at(from),
                &at(to),
                &RenameOptions {
                    roots,
                    create_parents: true,
                    overwrite: true,
                },
            )
            .map(drop),
        };
        let got = match done {
            Ok(()) => "done",
            Err(Error::Changed { .. }) => "changed",
            Err(error) => panic!("{change}: {error}"),
        };
        assert_eq!(got, expect, "{change} {judged:?}");
        if got == "changed" {
            assert_eq!(fs::read_to_string(at("locked/f")).unwrap(), "mine");
            assert!(!at("locked/new").exists());
        }
    };
    // It was a folder when the rules were asked, and is a link now.
    check("k/f", &["k/f"], "changed");
    check("k/new", &["k/new"], "changed");
    check("k/f to b", &["k/f", "b"], "changed");
    check("a to k/f", &["a", "k/f"], "changed");
    // It was a link then, too.
    check("k/f", &["locked/f"], "done");
    check("k/f to b", &["locked/f", "b"], "done");
    check("a to b", &["a", "b"], "done");
    // The link itself is moved.
    check("to_a to b", &["a", "b"], "done");
}
