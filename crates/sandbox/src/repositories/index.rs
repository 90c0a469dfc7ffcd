//! The index of a git repository, read as git reads it. Git checks names when it adds them to an index, not when it reads one
//! from the disk: a `git checkout .` writes every file that the index names, wherever that is. So an index that a command
//! wrote is read here, and entries whose names git itself would not add are taken out.

use sha1::{Digest, Sha1};
use sha2::Sha256;
use std::collections::BTreeSet;

/// Most bytes of an index that is read; a longer one counts as unreadable.
pub const MAX_INDEX: u64 = 512 << 20;
/// Most names that are told one by one.
const MAX_TOLD: usize = 4;
const SIGNATURE: &[u8] = b"DIRC";
const HEADER: usize = 12;
/// Times, device, inode, mode, owner and size of an entry, before its object.
const STAT: usize = 40;
/// Where the mode stands in those.
const MODE: usize = 24;
const EXTENDED: u16 = 0x4000;
const NAME_MASK: u16 = 0x0fff;
const TYPE_MASK: u32 = 0o170_000;
const LINK: u32 = 0o120_000;
const FOLDER: u32 = 0o040_000;
/// The name and size of an extension.
const EXTENSION: usize = 8;
/// Extensions that an index keeps when entries are taken out: the base of a split index, and that folders may be entries.
const KEPT: [&[u8]; 2] = [SPLIT, b"sdir"];
const SPLIT: &[u8] = b"link";
const END_OF_ENTRIES: &[u8] = b"EOIE";
const OFFSETS: &[u8] = b"IEOT";
/// Characters that a file system of Apple passes over in a name.
const IGNORED: [std::ops::RangeInclusive<char>; 4] = [
    '\u{200c}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{206a}'..='\u{206f}',
    '\u{feff}'..='\u{feff}',
];

/// How objects are named in a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectFormat {
    Sha1,
    Sha256,
}

/// What is to become of an index.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Plain,
    /// Without these entries it is plain.
    Cleaned {
        bytes: Vec<u8>,
        refused: Vec<String>,
    },
    /// Git cannot read it, or not in the only way that it is read here.
    Unreadable,
}

struct Index<'a> {
    entries: Vec<Entry<'a>>,
    /// The extensions that stay, as they are written.
    kept: Vec<u8>,
    /// It adds to another one.
    is_split: bool,
}

/// One entry.
struct Entry<'a> {
    /// Its bytes up to the flags.
    fixed: &'a [u8],
    flags: u16,
    more_flags: Option<u16>,
    name: Vec<u8>,
    /// Where it begins.
    at: usize,
    /// It shares nothing with the name before it.
    is_whole: bool,
}

impl ObjectFormat {
    fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    fn digest(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => Sha1::digest(bytes).to_vec(),
            Self::Sha256 => Sha256::digest(bytes).to_vec(),
        }
    }
}

/// Reads an index and judges the names in it.
pub fn judge_index(bytes: &[u8], format: ObjectFormat) -> Verdict {
    match read(bytes, format) {
        Some(index) => clean(&index, format),
        None => Verdict::Unreadable,
    }
}

/// Whether git would add this name to an index.
pub fn is_plain_path(path: &[u8]) -> bool {
    let is_odd = |part: &[u8]| {
        let is_step = matches!(part, b"" | b"." | b"..");
        is_step || part.split(|b| *b == b'\\').any(is_dot_git)
    };
    !path.contains(&0) && !path.split(|b| *b == b'/').any(is_odd)
}

/// Whether git would add a link of this name.
fn is_plain_link(path: &[u8]) -> bool {
    is_plain_path(path) && !path.split(|b| *b == b'/').any(is_modules_file)
}

/// Whether a system takes a name for `.git`: in any case, with points and spaces behind it, by its short name, with
/// characters in it that are passed over.
fn is_dot_git(part: &[u8]) -> bool {
    let name = shortened(part);
    let stem = name.split(':').next().unwrap_or_default();
    let stem = stem.trim_end_matches(['.', ' ']);
    [".git", "git~1"]
        .iter()
        .any(|known| stem.eq_ignore_ascii_case(known) || name.eq_ignore_ascii_case(known))
}

/// Whether a name stands for the file that says where submodules are, which is never a link.
fn is_modules_file(part: &[u8]) -> bool {
    let name = shortened(part);
    let stem = name.split(':').next().unwrap_or_default();
    let stem = stem.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    stem == ".gitmodules" || stem.starts_with("gitmod~") || stem.starts_with("gi7eba~")
}

/// A name without the characters that are passed over.
fn shortened(part: &[u8]) -> String {
    let text = String::from_utf8_lossy(part);
    let is_ignored = |c: &char| IGNORED.iter().any(|range| range.contains(c));
    text.chars().filter(|c| !is_ignored(c)).collect()
}

fn clean(index: &Index<'_>, format: ObjectFormat) -> Verdict {
    let entries = &index.entries;
    let links: BTreeSet<&[u8]> = entries
        .iter()
        .filter(|entry| entry.is_link())
        .map(|entry| entry.name.as_slice())
        .collect();
    let below_link = |name: &[u8]| {
        let slashes = name.iter().enumerate().filter(|(_, b)| **b == b'/');
        let mut above = slashes.filter_map(|(at, _)| name.get(..at));
        !links.is_empty() && above.any(|folder| links.contains(folder))
    };
    let is_plain = |entry: &&Entry<'_>| {
        let name = match entry.kind() == FOLDER {
            true => entry.name.strip_suffix(b"/").unwrap_or(&entry.name),
            false => &entry.name,
        };
        let is_plain = match entry.is_link() {
            true => is_plain_link(name),
            false => is_plain_path(name),
        };
        // An entry without a name stands for one of the base.
        (index.is_split && name.is_empty()) || (is_plain && !below_link(name))
    };
    let (plain, bad): (Vec<&Entry<'_>>, Vec<&Entry<'_>>) = entries.iter().partition(is_plain);
    if bad.is_empty() {
        return Verdict::Plain;
    }
    let told = bad.iter().take(MAX_TOLD);
    let mut refused: Vec<String> = told
        .map(|entry| format!("the entry {}", String::from_utf8_lossy(&entry.name)))
        .collect();
    if bad.len() > MAX_TOLD {
        refused.push(format!("{} entries more", bad.len() - MAX_TOLD));
    }
    Verdict::Cleaned {
        bytes: write(&plain, &index.kept, format),
        refused,
    }
}

fn write(entries: &[&Entry<'_>], kept: &[u8], format: ObjectFormat) -> Vec<u8> {
    let is_extended = entries.iter().any(|entry| entry.more_flags.is_some());
    let mut bytes = SIGNATURE.to_vec();
    bytes.extend(if is_extended { 3_u32 } else { 2 }.to_be_bytes());
    bytes.extend(u32::try_from(entries.len()).unwrap_or(0).to_be_bytes());
    for entry in entries {
        let start = bytes.len();
        let length = u16::try_from(entry.name.len()).unwrap_or(NAME_MASK);
        let flags = (entry.flags & !NAME_MASK) | length.min(NAME_MASK);
        bytes.extend(entry.fixed);
        bytes.extend(flags.to_be_bytes());
        bytes.extend(entry.more_flags.into_iter().flat_map(u16::to_be_bytes));
        bytes.extend(&entry.name);
        let size = padded(bytes.len() - start);
        bytes.resize(start + size, 0);
    }
    bytes.extend(kept);
    let checksum = format.digest(&bytes);
    bytes.extend(checksum);
    bytes
}

/// The size of an entry on the disk, which ends in one zero at least.
fn padded(length: usize) -> usize {
    (length + 8) & !7
}

impl Entry<'_> {
    fn kind(&self) -> u32 {
        number(self.fixed, MODE).unwrap_or(0) & TYPE_MASK
    }

    fn is_link(&self) -> bool {
        self.kind() == LINK
    }
}

fn read(bytes: &[u8], format: ObjectFormat) -> Option<Index<'_>> {
    let end = bytes.len().checked_sub(format.length())?;
    let version = number(bytes, SIGNATURE.len()).filter(|version| (2..=4).contains(version))?;
    if !bytes.starts_with(SIGNATURE) || end < HEADER {
        return None;
    }
    let count = usize::try_from(number(bytes, 8)?).ok()?;
    if count > end / (STAT + format.length()) {
        return None;
    }
    let mut entries: Vec<Entry<'_>> = Vec::with_capacity(count);
    let mut at = HEADER;
    for _ in 0..count {
        let before = entries.last().map_or(&[][..], |entry| &entry.name);
        let (entry, next) = match version {
            4 => read_short(bytes, at, before, format)?,
            _ => read_long(bytes, at, format)?,
        };
        entries.push(entry);
        at = next;
    }
    if at > end {
        return None;
    }
    // Git reads extensions from where this one says, and entries from where the other does.
    let says_other = announced_end(bytes, format).is_some_and(|said| said != at);
    let (mut kept, mut is_split) = (Vec::new(), false);
    while at + EXTENSION <= end {
        let name = bytes.get(at..at + 4)?;
        let size = usize::try_from(number(bytes, at + 4)?).ok()?;
        let next = (at + EXTENSION)
            .checked_add(size)
            .filter(|next| *next <= end)?;
        let content = bytes.get(at + EXTENSION..next)?;
        if KEPT.contains(&name) {
            kept.extend(bytes.get(at..next)?);
        } else if !name.first()?.is_ascii_uppercase() {
            return None;
        }
        is_split |= name == SPLIT;
        if name == OFFSETS && !is_table_of(content, &entries) {
            return None;
        }
        at = next;
    }
    (!says_other).then_some(Index {
        entries,
        kept,
        is_split,
    })
}

/// An entry of the second and third version, and where the next begins.
fn read_long(bytes: &[u8], at: usize, format: ObjectFormat) -> Option<(Entry<'_>, usize)> {
    let (mut entry, name_at) = read_fixed(bytes, at, format)?;
    let length = name_length(bytes, name_at, entry.flags)?;
    entry.name = whole_name(bytes, name_at, length)?.to_vec();
    Some((entry, at + padded(name_at + length - at)))
}

/// An entry of the fourth version, whose name begins with a part of the one before.
fn read_short<'a>(
    bytes: &'a [u8],
    at: usize,
    before: &[u8],
    format: ObjectFormat,
) -> Option<(Entry<'a>, usize)> {
    let (mut entry, mut name_at) = read_fixed(bytes, at, format)?;
    let stripped = variable_number(bytes, &mut name_at)?;
    let shared = before.len().checked_sub(stripped)?;
    let length = match entry.flags & NAME_MASK {
        NAME_MASK => name_length(bytes, name_at, entry.flags)?,
        length => usize::from(length).checked_sub(shared)?,
    };
    let rest = whole_name(bytes, name_at, length)?;
    entry.is_whole = shared == 0;
    entry.name = [before.get(..shared)?, rest].concat();
    Some((entry, name_at + length + 1))
}

/// An entry without its name, and where that begins.
fn read_fixed(bytes: &[u8], at: usize, format: ObjectFormat) -> Option<(Entry<'_>, usize)> {
    let flags_at = at + STAT + format.length();
    let flags = short_number(bytes, flags_at)?;
    let more_flags = match flags & EXTENDED {
        0 => None,
        _ => Some(short_number(bytes, flags_at + 2)?),
    };
    let name_at = flags_at + if more_flags.is_some() { 4 } else { 2 };
    let entry = Entry {
        fixed: bytes.get(at..flags_at)?,
        flags,
        more_flags,
        name: Vec::new(),
        at,
        is_whole: true,
    };
    Some((entry, name_at))
}

/// How long a name is; one that is too long for the flags ends at the next zero.
fn name_length(bytes: &[u8], at: usize, flags: u16) -> Option<usize> {
    match flags & NAME_MASK {
        NAME_MASK => bytes.get(at..)?.iter().position(|b| *b == 0),
        length => Some(usize::from(length)),
    }
}

/// A name that ends where it says, with a zero behind it.
fn whole_name(bytes: &[u8], at: usize, length: usize) -> Option<&[u8]> {
    let name = bytes.get(at..at.checked_add(length)?)?;
    (!name.contains(&0) && bytes.get(at + length) == Some(&0)).then_some(name)
}

/// Where the entries end by the extension that git looks for at the end of the file.
fn announced_end(bytes: &[u8], format: ObjectFormat) -> Option<usize> {
    let size = 4 + format.length();
    let at = bytes
        .len()
        .checked_sub(EXTENSION + size + format.length())?;
    let is_there = bytes.get(at..at + 4)? == END_OF_ENTRIES
        && usize::try_from(number(bytes, at + 4)?).ok()? == size;
    let offset = is_there.then(|| number(bytes, at + EXTENSION)).flatten()?;
    usize::try_from(offset).ok()
}

/// Whether a table of blocks, by which git reads entries at the same time, names the entries one after the other.
fn is_table_of(table: &[u8], entries: &[Entry<'_>]) -> bool {
    let (Some(1), Some(blocks)) = (number(table, 0), table.get(4..)) else {
        return false;
    };
    let mut next = 0;
    let follows = blocks.chunks(8).all(|block| {
        let (Some(offset), Some(count)) = (number(block, 0), number(block, 4)) else {
            return false;
        };
        let is_there = entries
            .get(next)
            .is_some_and(|entry| entry.at == offset as usize && (entry.is_whole || next == 0));
        next += count as usize;
        is_there && count > 0
    });
    follows && next == entries.len()
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let found = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(found.try_into().ok()?))
}

fn short_number(bytes: &[u8], at: usize) -> Option<u16> {
    let found = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes(found.try_into().ok()?))
}

/// A number of as many bytes as it needs, as git writes it.
fn variable_number(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut next = || {
        let byte = *bytes.get(*at)?;
        *at += 1;
        Some(byte)
    };
    let mut byte = next()?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = next()?;
        value = value.checked_add(1)?.checked_mul(128)?;
        value |= usize::from(byte & 0x7f);
    }
    Some(value)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;

    /// An index without entries.
    pub fn empty() -> Vec<u8> {
        write(&[], &[], ObjectFormat::Sha1)
    }

    /// The same index with one more entry, for an empty file.
    pub fn with_entry(bytes: &[u8], name: &[u8], mode: u32) -> Vec<u8> {
        let mut index = read(bytes, ObjectFormat::Sha1).unwrap();
        let mut fixed = [0; STAT + 20];
        fixed[MODE..MODE + 4].copy_from_slice(&mode.to_be_bytes());
        let empty =
            *b"\xe6\x9d\xe2\x9b\xb2\xd1\xd6\x43\x4b\x8b\x29\xae\x77\x5a\xd8\xc2\xe4\x8c\x53\x91";
        fixed[STAT..].copy_from_slice(&empty);
        index.entries.push(Entry {
            fixed: &fixed,
            flags: 0,
            more_flags: None,
            name: name.to_vec(),
            at: 0,
            is_whole: true,
        });
        index.entries.sort_by(|a, b| a.name.cmp(&b.name));
        write(
            &index.entries.iter().collect::<Vec<_>>(),
            &index.kept,
            ObjectFormat::Sha1,
        )
    }

    fn names(bytes: &[u8], format: ObjectFormat) -> Vec<String> {
        let index = read(bytes, format).expect("readable");
        let shown = |entry: &Entry<'_>| String::from_utf8(entry.name.clone()).unwrap();
        index.entries.iter().map(shown).collect()
    }

    fn git(folder: &Path, args: &[&str]) -> String {
        let out = Command::new("git")
            .args(args)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .current_dir(folder)
            .output()
            .expect("git runs");
        assert!(out.status.success(), "{args:?}: {out:?}");
        String::from_utf8(out.stdout).unwrap()
    }

    #[test]
    fn names_are_judged_as_git_judges_them() {
        for good in [
            "a",
            "a/b",
            ".gitignore",
            ".github/x",
            "a/.gitmodules",
            "git",
            "a/..b",
            "...",
            "a\\b",
            "git~2",
            ".gitx/y",
            "x.git/config",
            "a b",
            "é",
        ] {
            assert!(is_plain_path(good.as_bytes()), "{good:?}");
        }
        for bad in [
            "",
            "/",
            "/etc/x",
            "a//b",
            "a/",
            ".",
            "..",
            "../x",
            "a/../b",
            "a/./b",
            ".git",
            ".git/hooks/x",
            "a/.git/config",
            ".GIT/x",
            ".Git",
            ".git /x",
            ".git./x",
            ".git...",
            ".git::$INDEX_ALLOCATION/x",
            ".git:x",
            "git~1/x",
            "GIT~1",
            ".g\u{200c}it/x",
            ".\u{feff}git",
            "a\\.git\\x",
            "a\0b",
            "..\0",
        ] {
            assert!(!is_plain_path(bad.as_bytes()), "{bad:?}");
        }
        assert!(is_plain_path(b".gitmodules"));
        for link in [".gitmodules", ".GITMODULES", "gitmod~1", ".gitmodules ."] {
            assert!(!is_plain_link(link.as_bytes()), "{link:?}");
        }
    }

    /// Each version and way to write one, by git itself; cleaned ones are read by git again.
    #[test]
    fn an_index_of_git_is_read_and_written() {
        for (name, format) in [
            ("sha1", ObjectFormat::Sha1),
            ("sha256", ObjectFormat::Sha256),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path();
            git(top, &["init", "-q", "--object-format", name, "."]);
            std::fs::create_dir_all(top.join("deep/er")).unwrap();
            let long = format!("deep/{}", "n".repeat(200));
            let files = ["a", "deep/b", "deep/er/c", "deep/er/d d", &long, "z"];
            for file in files {
                std::fs::write(top.join(file), file).unwrap();
            }
            std::os::unix::fs::symlink("a", top.join("link")).unwrap();
            git(top, &["add", "."]);
            let mut expect: Vec<&str> = files.to_vec();
            expect.push("link");
            expect.sort_unstable();
            let index = top.join(".git/index");
            for args in [
                &["update-index", "--index-version", "2"][..],
                &["update-index", "--index-version", "3"],
                &["update-index", "--skip-worktree", "deep/b"],
                &["update-index", "--index-version", "4"],
                &[
                    "-c",
                    "index.threads=3",
                    "update-index",
                    "--force-write-index",
                ],
                &[
                    "-c",
                    "index.version=2",
                    "-c",
                    "index.threads=3",
                    "read-tree",
                    "HEAD",
                ],
            ] {
                if args.contains(&"HEAD") {
                    git(
                        top,
                        &[
                            "-c",
                            "user.name=a",
                            "-c",
                            "user.email=b",
                            "commit",
                            "-q",
                            "-m",
                            "x",
                        ],
                    );
                }
                git(top, args);
                let bytes = std::fs::read(&index).unwrap();
                assert_eq!(names(&bytes, format), expect, "{args:?}");
                assert_eq!(judge_index(&bytes, format), Verdict::Plain, "{args:?}");
                let read = read(&bytes, format).unwrap();
                let again = write(&read.entries.iter().collect::<Vec<_>>(), &read.kept, format);
                let before = git(top, &["ls-files", "-s", "-t"]);
                std::fs::write(&index, again).unwrap();
                assert_eq!(git(top, &["ls-files", "-s", "-t"]), before, "{args:?}");
                git(top, &["fsck"]);
                std::fs::write(&index, bytes).unwrap();
            }
        }
    }

    #[test]
    fn entries_that_lead_elsewhere_are_taken_out() {
        let base = with_entry(&empty(), b"a", 0o100_644);
        let check = |name: &[u8], mode: u32| {
            let bad = with_entry(&base, name, mode);
            let Verdict::Cleaned { bytes, refused } = judge_index(&bad, ObjectFormat::Sha1) else {
                panic!("{name:?}");
            };
            assert_eq!(bytes, base);
            assert_eq!(refused.len(), 1);
        };
        check(b"../victim", 0o100_644);
        check(b".git/hooks/post-checkout", 0o100_755);
        check(b"/etc/x", 0o100_644);
        check(b".gitmodules", 0o120_000);
        check(b"../", 0o040_000);
        check(b"", 0o100_644);
        let long = [b"../".as_slice(), &[b'x'; 5000]].concat();
        check(&long, 0o100_644);
        // A file below a link.
        let link = with_entry(&base, b"l", 0o120_000);
        let below = with_entry(&link, b"l/x", 0o100_644);
        let verdict = judge_index(&below, ObjectFormat::Sha1);
        assert!(
            matches!(&verdict, Verdict::Cleaned { bytes, .. } if *bytes == link),
            "{verdict:?}"
        );
    }

    /// Git may begin to read at other places than one after the other.
    #[test]
    fn an_index_that_can_be_read_in_two_ways_is_unreadable() {
        let base = with_entry(&with_entry(&empty(), b"a", 0o100_644), b"b", 0o100_644);
        let body = &base[..base.len() - 20];
        let extension = |name: &[u8], content: &[u8]| {
            let size = u32::try_from(content.len()).unwrap().to_be_bytes();
            [name, &size, content].concat()
        };
        let numbers = |all: &[u32]| {
            all.iter()
                .flat_map(|n| n.to_be_bytes())
                .collect::<Vec<u8>>()
        };
        let judged = |extensions: &[Vec<u8>]| {
            let bytes = [body, &extensions.concat(), &[0; 20]].concat();
            judge_index(&bytes, ObjectFormat::Sha1)
        };
        let end = u32::try_from(body.len()).unwrap();
        let second = 12 + 64 + 8;
        let table = |blocks: &[u32]| extension(OFFSETS, &numbers(&[&[1], blocks].concat()));
        let eoie = |at: u32| extension(END_OF_ENTRIES, &[numbers(&[at]), vec![0; 20]].concat());
        let first = read(&base, ObjectFormat::Sha1).unwrap().entries[1].at;
        let second = u32::try_from(first).unwrap_or(second);
        assert_eq!(
            judged(&[table(&[12, 1, second, 1]), eoie(end)]),
            Verdict::Plain
        );
        assert_eq!(judged(&[table(&[12, 2]), eoie(end)]), Verdict::Plain);
        for odd in [
            vec![table(&[12, 1, second + 8, 1])],
            vec![table(&[second, 1, 12, 1])],
            vec![table(&[12, 1])],
            vec![table(&[12, 2, 12, 0])],
            vec![eoie(end + 8)],
            vec![eoie(12)],
            vec![extension(b"abcd", b"")],
            vec![b"TREE\xff\xff\xff\xff".to_vec()],
        ] {
            assert_eq!(judged(&odd), Verdict::Unreadable, "{odd:?}");
        }
        assert_eq!(judged(&[extension(b"TREE", b"xx")]), Verdict::Plain);
        for cut in 0..base.len() {
            let verdict = judge_index(&base[..cut], ObjectFormat::Sha1);
            assert_eq!(verdict, Verdict::Unreadable, "{cut}");
        }
    }
}
