//! The objects of a repository that no remote has: what its refs lead to and its remote-tracking refs do not, newest commits
//! first. For repositories that are too large to be kept whole.

use super::git::Repository;
use super::objects::{Id, Kind, Object, Objects};
use ostler_files::read_small;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Commits that are looked at.
const MAX_COMMITS: usize = 200_000;
/// Objects that are kept one by one.
const MAX_OBJECTS: usize = 100_000;
/// How long the search may take: whoever has no remote has everything here.
const MAX_TIME: Duration = Duration::from_secs(2);
/// Folders in folders.
const MAX_DEPTH: usize = 256;
/// Bytes of a file of refs.
const MAX_REFS: u64 = 64 << 20;
const REMOTES: &str = "refs/remotes/";
/// The mode of a folder in a tree, and that of another repository.
const FOLDER: &[u8] = b"40000";
const GITLINK: &[u8] = b"160000";

/// What was found.
#[derive(Default)]
pub struct Unpushed {
    pub ids: Vec<Id>,
    /// There was more than could be looked at.
    pub is_cut: bool,
}

/// The refs of a repository and where they lead.
pub fn refs(repository: &Repository) -> Vec<(String, Id)> {
    let common = &repository.common;
    let mut out = Vec::new();
    let mut add = |name: &str, text: &str| {
        let id = text.split_whitespace().next().and_then(parse);
        out.extend(id.map(|id| (name.to_owned(), id)));
    };
    for line in text(&common.join("packed-refs")).lines() {
        let (id, name) = line.split_once(' ').unwrap_or_default();
        if !line.starts_with(['#', '^']) {
            add(name, id);
        }
    }
    let mut folders = vec![("refs".to_owned(), common.join("refs"))];
    while let Some((name, folder)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push((name, entry.path())),
                Ok(kind) if kind.is_file() => add(&name, &text(&entry.path())),
                Ok(_) | Err(_) => {}
            }
        }
    }
    add("HEAD", &text(&repository.dir.join("HEAD")));
    add("HEAD", &text(&common.join("HEAD")));
    for tree in fs::read_dir(common.join("worktrees"))
        .into_iter()
        .flatten()
        .flatten()
    {
        add("HEAD", &text(&tree.path().join("HEAD")));
    }
    // Older stashes are in its log alone.
    for line in text(&common.join("logs/refs/stash")).lines() {
        add("refs/stash", line.split(' ').nth(1).unwrap_or_default());
    }
    out
}

fn text(path: &Path) -> String {
    let text = read_small(path, MAX_REFS).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

fn parse(text: &str) -> Option<Id> {
    let is_id = matches!(text.len(), 40 | 64);
    let digits = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.map(byte).collect::<Option<Id>>().filter(|_| is_id)
}

/// Finds them. `keep` is given each with its id, and says whether there is room for more.
pub fn find(
    objects: &mut Objects,
    refs: &[(String, Id)],
    keep: &mut dyn FnMut(&Id, &Object) -> bool,
) -> Unpushed {
    let mut search = Search {
        objects,
        begun: Instant::now(),
        commits: HashMap::new(),
        seen: HashSet::new(),
        found: Unpushed::default(),
        keep,
    };
    let (theirs, ours): (Vec<_>, Vec<_>) = refs.iter().partition(|(n, _)| n.starts_with(REMOTES));
    let theirs: Vec<Id> = theirs.into_iter().map(|(_, id)| id.clone()).collect();
    let ours: Vec<Id> = ours.into_iter().map(|(_, id)| id.clone()).collect();
    for commit in search.commits_of(&ours, &theirs) {
        if search.is_over() || !search.add_commit(&commit) {
            search.found.is_cut = true;
            break;
        }
    }
    search.found
}

struct Commit {
    tree: Id,
    parents: Vec<Id>,
    pushed: bool,
}

struct Search<'a> {
    objects: &'a mut Objects,
    begun: Instant,
    commits: HashMap<Id, Commit>,
    seen: HashSet<Id>,
    found: Unpushed,
    keep: &'a mut dyn FnMut(&Id, &Object) -> bool,
}

impl Search<'_> {
    fn is_over(&self) -> bool {
        self.begun.elapsed() > MAX_TIME || self.found.ids.len() > MAX_OBJECTS
    }

    /// The commits that only `ours` lead to, newest first.
    fn commits_of(&mut self, ours: &[Id], theirs: &[Id]) -> Vec<Id> {
        let mut queue = BinaryHeap::new();
        for (tips, pushed) in [(theirs, true), (ours, false)] {
            for tip in tips {
                let Some(id) = self.peeled(tip, pushed) else {
                    continue;
                };
                if let Some(date) = self.meet(&id, pushed) {
                    queue.push((date, id));
                }
            }
        }
        // How many in the queue no remote is known to have.
        let mut out = Vec::new();
        while let Some((_, id)) = queue.pop() {
            let Some(commit) = self.commits.get(&id) else {
                continue;
            };
            let (pushed, parents) = (commit.pushed, commit.parents.clone());
            if !pushed {
                out.push(id);
            }
            for parent in parents {
                if let Some(date) = self.meet(&parent, pushed) {
                    queue.push((date, parent));
                }
            }
            let open = |(_, id): &(i64, Id)| self.commits.get(id).is_some_and(|c| !c.pushed);
            if self.commits.len() > MAX_COMMITS || self.is_over() {
                self.found.is_cut = true;
                break;
            }
            if pushed && !queue.iter().any(open) {
                break;
            }
        }
        out.retain(|id| self.commits.get(id).is_some_and(|c| !c.pushed));
        out
    }

    /// The commit that a tag leads to. The tags on the way belong to it.
    fn peeled(&mut self, id: &Id, pushed: bool) -> Option<Id> {
        let mut id = id.clone();
        for _ in 0..MAX_DEPTH {
            let object = self.objects.read(&id)?;
            match object.kind {
                Kind::Commit => return Some(id),
                Kind::Tag => {
                    if !pushed {
                        self.add(&id, &object);
                    }
                    id = field(&object.data, b"object ")?;
                }
                Kind::Tree | Kind::Blob => {
                    if !pushed {
                        self.add(&id, &object);
                    }
                    return None;
                }
            }
        }
        None
    }

    /// Its date, if it was not known before. That a remote has it holds for all before it.
    fn meet(&mut self, id: &Id, pushed: bool) -> Option<i64> {
        if let Some(known) = self.commits.get_mut(id) {
            let mut todo = match pushed && !known.pushed {
                true => vec![id.clone()],
                false => Vec::new(),
            };
            while let Some(id) = todo.pop() {
                if let Some(known) = self.commits.get_mut(&id).filter(|known| !known.pushed) {
                    known.pushed = true;
                    todo.extend(known.parents.clone());
                }
            }
            return None;
        }
        let object = self.objects.read(id).filter(|o| o.kind == Kind::Commit)?;
        let head = object
            .data
            .split(|b| *b == b'\n')
            .take_while(|l| !l.is_empty());
        let lines: Vec<&[u8]> = head.collect();
        let parents = lines.iter().filter_map(|l| l.strip_prefix(b"parent "));
        let parents = parents.filter_map(|id| parse(std::str::from_utf8(id).ok()?));
        let commit = Commit {
            tree: field(&object.data, b"tree ")?,
            parents: parents.collect(),
            pushed,
        };
        let committer = lines.iter().find_map(|l| l.strip_prefix(b"committer "));
        let date = committer.and_then(|line| {
            let mut words = line.rsplit(|b| *b == b' ');
            std::str::from_utf8(words.nth(1)?).ok()?.parse().ok()
        });
        self.commits.insert(id.clone(), commit);
        Some(date.unwrap_or_default())
    }

    /// A commit, and what its tree has that those of its parents have not.
    fn add_commit(&mut self, id: &Id) -> bool {
        let Some(commit) = self.commits.get(id) else {
            return true;
        };
        let tree = commit.tree.clone();
        let parents = commit.parents.iter().filter_map(|p| self.commits.get(p));
        let parents: Vec<Id> = parents.map(|p| p.tree.clone()).collect();
        let object = self.objects.read(id);
        let added = object.is_none_or(|object| self.add(id, &object));
        added && self.add_tree(&tree, &parents, 0)
    }

    fn add_tree(&mut self, tree: &Id, others: &[Id], depth: usize) -> bool {
        if others.contains(tree) || self.seen.contains(tree) || depth > MAX_DEPTH {
            return true;
        }
        let Some(object) = self.objects.read(tree).filter(|o| o.kind == Kind::Tree) else {
            return true;
        };
        if !self.add(tree, &object) || self.is_over() {
            return false;
        }
        let others: Vec<HashMap<Vec<u8>, Id>> = others
            .iter()
            .filter_map(|id| self.objects.read(id))
            .map(|other| {
                let entries = entries(&other.data, tree.len()).into_iter();
                entries.map(|(_, name, id)| (name, id)).collect()
            })
            .collect();
        for (mode, name, id) in entries(&object.data, tree.len()) {
            let before: Vec<Id> = others
                .iter()
                .filter_map(|o| o.get(&name).cloned())
                .collect();
            let is_new = mode != GITLINK && !before.contains(&id) && !self.seen.contains(&id);
            let added = match (is_new, mode == FOLDER) {
                (false, _) => true,
                (true, true) => self.add_tree(&id, &before, depth + 1),
                (true, false) => {
                    let object = self.objects.read(&id);
                    object.is_none_or(|object| self.add(&id, &object))
                }
            };
            if !added {
                return false;
            }
        }
        true
    }

    fn add(&mut self, id: &Id, object: &Object) -> bool {
        if !self.seen.insert(id.clone()) {
            return true;
        }
        let has_room = (self.keep)(id, object);
        if has_room {
            self.found.ids.push(id.clone());
        }
        has_room
    }
}

/// The id behind a word at the start of a line of a commit or tag.
fn field(data: &[u8], word: &[u8]) -> Option<Id> {
    let mut lines = data.split(|b| *b == b'\n').take_while(|l| !l.is_empty());
    let id = lines.find_map(|line| line.strip_prefix(word))?;
    parse(std::str::from_utf8(id).ok()?)
}

/// Mode, name and id of what is in a tree.
fn entries(data: &[u8], width: usize) -> Vec<(Vec<u8>, Vec<u8>, Id)> {
    let mut out = Vec::new();
    let mut rest = data;
    while let Some(end) = memchr::memchr(0, rest) {
        let (head, after) = rest.split_at(end);
        let Some((id, next)) = after.get(1..).and_then(|a| a.split_at_checked(width)) else {
            break;
        };
        let mut parts = head.splitn(2, |b| *b == b' ');
        if let (Some(mode), Some(name)) = (parts.next(), parts.next()) {
            out.push((mode.to_vec(), name.to_vec(), id.to_vec()));
        }
        rest = next;
    }
    out
}
