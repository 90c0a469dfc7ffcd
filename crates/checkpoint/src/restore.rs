//! Bringing a tree back. What is there now is saved first, so a restore can be undone; what nobody has seen is not
//! overwritten. Planning is here, the changes to files are in `apply`.

use super::apply::{self, Apply};
use super::cache::Cache;
use super::git::Repository;
use super::pack::Packs;
use super::record::Covers;
use super::report::{Kept, Report};
use super::save::{Now, Saved};
use super::select::{IGNORE_FILE, Rules};
use super::tree::Hash;
use super::tree::{self, Difference, Folder, Node, Rel, is_within, unquote};
use super::{Checkpoints, Disk, Error, Ignored, Record, Repeat, Result, Scope, record};
use ostler_files::Dir;
use ostler_files::raw;
use ostler_wire::{Why, Word};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// What to bring back.
#[derive(Clone, Debug, Default)]
pub struct What {
    /// Only these and what is below them; all when empty.
    pub paths: Vec<PathBuf>,
    pub git: Git,
}

/// Whether `HEAD`, refs and index come back, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Git {
    #[default]
    Left,
    Restored,
}

/// What the caller believes to be there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Guard {
    /// The checkpoint that shows the tree as it was last seen; the newest when there is none.
    pub expected: Option<u64>,
    pub unseen: Unseen,
}

/// Two checkpoints between which somebody else changed the tree: what they changed counts as not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub from: u64,
    pub to: u64,
}

/// What happens to files that changed since they were last seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unseen {
    /// Nothing at all is restored.
    #[default]
    Refuse,
    /// They stay, the others are restored.
    Keep,
    /// They are restored as well; the checkpoint made before has them.
    Overwrite,
}

/// What differs, and what of it may be changed.
struct Plan {
    changes: Vec<Difference>,
    unseen: BTreeSet<Rel>,
}

impl Plan {
    /// Files and links among these paths that would be lost.
    fn add_unseen(&mut self, paths: &BTreeSet<Rel>) {
        let is_lost = |change: &&Difference| {
            let is_file = matches!(&change.before, Some(Node::File { .. } | Node::Link { .. }));
            is_file && paths.contains(&change.path)
        };
        let lost = self.changes.iter().filter(is_lost);
        self.unseen.extend(lost.map(|change| change.path.clone()));
    }
}

impl Checkpoints {
    pub fn restore(&self, id: u64, what: &What, guard: &Guard) -> Result<Report> {
        self.restore_across(id, what, guard, &[])
    }

    /// The same across times in which others changed files.
    pub fn restore_across(
        &self,
        id: u64,
        what: &What,
        guard: &Guard,
        spans: &[Span],
    ) -> Result<Report> {
        let theirs = self.changed_in(spans);
        let _lock = self.lock()?;
        let target = self.get(id)?;
        let expected = match guard.expected {
            Some(id) => Some(self.get(id)?),
            None => self.last()?,
        };
        let mut packs = Packs::open(&self.packs_dir())?;
        let files = files_of(&target.tree_hash()?, &mut |h| packs.read(h))?;
        let scope = Scope {
            ignored: match target.covers {
                Covers::Everything => Ignored::Saved,
                Covers::Tree | Covers::Paths => Ignored::LeftOut,
            },
            paths: self.absolute(&target.named_paths()),
            touched: Vec::new(),
            follows: Vec::new(),
        };
        let label = format!("before rewinding to {id}");
        let Now { saved: now, lacks } =
            self.save_for_restore(&label, &scope, &files, Repeat::Written)?;
        let mut packs = Packs::open(&self.packs_dir())?;
        let mut plan = self.plan(&mut packs, &now.record, &target, expected.as_ref(), what)?;
        plan.add_unseen(&theirs);
        // A repository that is gone comes back with the tree that it belongs to.
        let is_lost = what.paths.is_empty() && self.has_lost_history(&target);
        let wanted = if is_lost { Git::Restored } else { what.git };
        let git = match wanted {
            Git::Left => None,
            Git::Restored => self.plan_git(&mut packs, &now.record, &target, expected.as_ref())?,
        };
        let unseen = names_of(&plan, git.as_ref().map(|(_, plan)| plan));
        if guard.unseen == Unseen::Refuse && !unseen.is_empty() {
            self.remove_record(now.record.id)?;
            let since = expected.map_or(id, |e| e.id);
            return Err(Error::Unseen {
                since,
                paths: unseen,
            });
        }
        let mut report = Report {
            restored: id,
            before: now.record.id,
            after: now.record.id,
            changed: Vec::new(),
            kept: too_much(lacks, &now.record, &target),
        };
        self.make_sure(&packs, &now);
        let (folder, cache) = (&self.folder, &now.cache);
        carry_out(folder, &mut packs, cache, plan, guard, &mut report, "");
        if let Some((repository, plan)) = git {
            let folder = self.held_or_made(&repository.dir);
            let folder = folder.map_err(|e| Error::io(Word::HostWrite, &repository.dir, e))?;
            let cache = Cache::load(&self.git_cache_path(), &packs.list);
            carry_out(
                &folder,
                &mut packs,
                &cache,
                plan,
                guard,
                &mut report,
                ".git/",
            );
        }
        if wanted == Git::Restored {
            self.bring_history_back(&mut packs, &target, &mut report)?;
        }
        let label = format!("after rewinding to {id}");
        let after = self.save_for_restore(&label, &scope, &files, Repeat::Reused)?;
        report.after = after.saved.record.id;
        Ok(report)
    }

    /// A checkpoint of what nobody saw would count as seen at the next try.
    fn remove_record(&self, id: u64) -> Result<()> {
        let path = record::path(&self.dir, id);
        let gone = self.disk.remove(&path);
        gone.map_err(|e| Error::io(Word::CpRemove, &path, e))
    }

    /// The paths that differ between the checkpoints of these spans. One that is gone by now says nothing.
    fn changed_in(&self, spans: &[Span]) -> BTreeSet<Rel> {
        let differences = |span: &Span| self.differences(span.from, span.to).unwrap_or_default();
        spans.iter().flat_map(differences).collect()
    }

    fn differences(&self, from: u64, to: u64) -> Result<Vec<Rel>> {
        let (from, to) = (self.get(from)?, self.get(to)?);
        let mut packs = Packs::open(&self.packs_dir())?;
        let (before, after) = (from.tree_hash()?, to.tree_hash()?);
        let all = tree::diff(Some(&before), Some(&after), &mut |h| packs.read(h))?;
        let (one, other) = (Covered::new(&from), Covered::new(&to));
        let known = |d: &Difference| one.covers(&d.path) && other.covers(&d.path);
        Ok(all.into_iter().filter(known).map(|d| d.path).collect())
    }

    /// Whatever becomes of us from here on, what is about to go can be brought back.
    fn make_sure(&self, packs: &Packs, now: &Saved) {
        let pack = packs.list.last().map(|(pack, _)| packs.path(*pack));
        let record = record::path(&self.dir, now.record.id);
        let dirs = [self.packs_dir(), self.dir.clone()];
        Disk::settle(pack.into_iter().chain([record]).chain(dirs));
        for path in &now.leftovers {
            let (folder, name) = tree::split(path);
            // It is in nobody's way.
            let dir = self.folder.enter(folder);
            let _gone = dir.and_then(|dir| dir.remove_file(name));
        }
    }

    fn plan(
        &self,
        packs: &mut Packs,
        now: &Record,
        target: &Record,
        expected: Option<&Record>,
        what: &What,
    ) -> Result<Plan> {
        let (now_tree, then) = (now.tree_hash()?, target.tree_hash()?);
        let mut folders = Folders::new(packs);
        let all = tree::diff(Some(&now_tree), Some(&then), &mut |h| folders.bytes(h))?;
        let only: Vec<Rel> = what.paths.iter().filter_map(|p| self.relative(p)).collect();
        let covered = Covered::new(target);
        let repository = Repository::around(&self.root);
        let mut rules = TargetRules::new(
            &self.root,
            Rules::above(&self.root, repository.as_ref()),
            then,
        );
        let mut changes = Vec::new();
        for change in covered.filter(all) {
            let adds_folder =
                change.before.is_none() && matches!(change.after, Some(Node::Dir { .. }));
            let asked = what.paths.is_empty()
                || only.iter().any(|top| is_within(&change.path, top))
                || (adds_folder && only.iter().any(|top| is_within(top, &change.path)));
            let left = change.after.is_none()
                && target.covers == Covers::Tree
                && !covered.named(&change.path)
                && rules.ignored(&change, &mut folders)?;
            if asked && !left {
                changes.push(change);
            }
        }
        let unseen = unseen(
            &changes,
            expected,
            expected.map(Record::tree_hash).transpose()?,
            &mut folders,
        )?;
        Ok(Plan { changes, unseen })
    }

    fn plan_git(
        &self,
        packs: &mut Packs,
        now: &Record,
        target: &Record,
        expected: Option<&Record>,
    ) -> Result<Option<(Repository, Plan)>> {
        let (Some(repository), Some(then)) = (self.repository_of(target), target.git_hash()?)
        else {
            return Ok(None);
        };
        // Without it another one, further up, may be around the root now.
        let around = Repository::around(&self.root).filter(|now| now.is_at(&repository));
        let (now, own) = match (around, now.git_hash()?) {
            (Some(_), Some(now)) => (Some(now), HashMap::new()),
            (None, _) | (_, None) => self.peek_at_git(packs, &repository)?,
        };
        let mut folders = Folders::new(packs);
        let mut load = |hash: &Hash| match own.get(hash) {
            Some(bytes) => Ok(bytes.clone()),
            None => folders.bytes(hash),
        };
        let changes = tree::diff(now.as_ref(), Some(&then), &mut load)?;
        let seen = expected.map(Record::git_hash).transpose()?.flatten();
        let unseen = unseen(&changes, None, seen, &mut folders)?;
        Ok(Some((repository, Plan { changes, unseen })))
    }

    fn absolute(&self, paths: &[Rel]) -> Vec<PathBuf> {
        paths.iter().map(|p| self.root.join(raw::name(p))).collect()
    }
}

/// What nobody has seen of the tree and of the git folder.
fn names_of(tree: &Plan, git: Option<&Plan>) -> Vec<String> {
    let of_git = git.into_iter().flat_map(|plan| &plan.unseen);
    let of_git = of_git.map(|path| format!(".git/{}", tree::quote(path)));
    let of_tree = tree.unseen.iter().map(|path| tree::quote(path));
    of_tree.chain(of_git).collect()
}

/// What is new in the tree is not among what was saved, so it stays.
fn too_much(why: Option<super::Why>, now: &Record, target: &Record) -> Vec<Kept> {
    let Some(why) = why.filter(|_| target.covers != Covers::Paths) else {
        return Vec::new();
    };
    let told = Why::ours(Word::CpTooMuch, [why.word().into()]);
    let kept = |path: String| Kept {
        path,
        why: told.clone(),
    };
    match now.heaviest.as_slice() {
        [] => vec![kept(".".into())],
        heaviest => heaviest
            .iter()
            .map(|heavy| kept(heavy.to_string()))
            .collect(),
    }
}

fn carry_out(
    root: &Dir,
    packs: &mut Packs,
    marks: &Cache,
    plan: Plan,
    guard: &Guard,
    report: &mut Report,
    prefix: &str,
) {
    let Plan {
        mut changes,
        unseen,
    } = plan;
    if guard.unseen != Unseen::Overwrite {
        changes.retain(|c| !unseen.contains(&c.path));
        report.kept.extend(unseen.iter().map(|path| Kept {
            path: prefix.to_owned() + &tree::quote(path),
            why: Word::CpChangedSince.into(),
        }));
    }
    let mut apply = Apply::new(root, packs, marks);
    apply.run(&changes);
    let apply::Done { changed, kept } = apply.done;
    report
        .changed
        .extend(changed.iter().map(|p| prefix.to_owned() + &tree::quote(p)));
    report.kept.extend(kept.into_iter().map(|(path, why)| Kept {
        path: prefix.to_owned() + &tree::quote(&path),
        why,
    }));
}

/// The paths whose present state is in no checkpoint that the caller knows. Only what would be lost counts.
fn unseen(
    changes: &[Difference],
    expected: Option<&Record>,
    tree: Option<Hash>,
    folders: &mut Folders<'_>,
) -> Result<BTreeSet<Rel>> {
    let covered = expected.map(Covered::new);
    let mut out = BTreeSet::new();
    for change in changes {
        let now = match &change.before {
            Some(node @ (Node::File { .. } | Node::Link { .. })) => node,
            Some(Node::Dir { .. }) | None => continue,
        };
        let known = covered.as_ref().is_none_or(|c| c.covers(&change.path));
        let seen = match (&tree, known) {
            (Some(tree), true) => folders.node(tree, &change.path)?,
            (None, _) | (_, false) => None,
        };
        if seen.as_ref() != Some(now) {
            out.insert(change.path.clone());
        }
    }
    Ok(out)
}

/// Every file and link in a tree.
pub fn files_of(
    tree: &Hash,
    load: &mut dyn FnMut(&Hash) -> Result<Vec<u8>>,
) -> Result<BTreeSet<Rel>> {
    let all = tree::diff(None, Some(tree), load)?;
    let is_file = |d: &Difference| matches!(d.after, Some(Node::File { .. } | Node::Link { .. }));
    Ok(all.into_iter().filter(is_file).map(|d| d.path).collect())
}

/// Which paths a checkpoint knows about.
pub struct Covered {
    covers: Covers,
    named: BTreeSet<Rel>,
    left_out: BTreeSet<Rel>,
}

impl Covered {
    pub fn new(record: &Record) -> Self {
        Self {
            covers: record.covers,
            named: record.named_paths().into_iter().collect(),
            left_out: record.left_out.iter().map(|l| unquote(&l.path)).collect(),
        }
    }

    pub fn named(&self, path: &[u8]) -> bool {
        has_above(&self.named, path)
    }

    pub fn covers(&self, path: &[u8]) -> bool {
        !has_above(&self.left_out, path) && (self.covers != Covers::Paths || self.named(path))
    }

    /// Folders above what is covered are made, but not touched when they are there.
    pub fn filter(&self, changes: Vec<Difference>) -> impl Iterator<Item = Difference> {
        changes.into_iter().filter(|c| {
            let leads = c.before.is_none()
                && matches!(c.after, Some(Node::Dir { .. }))
                && self.named.iter().any(|n| is_within(n, &c.path));
            self.covers(&c.path) || leads
        })
    }
}

/// Whether the path or a folder above it is in the set.
fn has_above(set: &BTreeSet<Rel>, path: &[u8]) -> bool {
    if set.is_empty() {
        return false;
    }
    let ends = path
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'/')
        .map(|(i, _)| i);
    ends.chain([path.len(), 0])
        .any(|end| path.get(..end).is_some_and(|p| set.contains(p)))
}

/// The ignore rules as they were at a checkpoint: what they left out then was there, perhaps, and must not be removed.
struct TargetRules<'a> {
    root: &'a Path,
    above: Rules,
    tree: Hash,
    known: HashMap<Rel, Rules>,
}

impl<'a> TargetRules<'a> {
    fn new(root: &'a Path, above: Rules, tree: Hash) -> Self {
        let known = HashMap::new();
        Self {
            root,
            above,
            tree,
            known,
        }
    }

    fn ignored(&mut self, change: &Difference, folders: &mut Folders<'_>) -> Result<bool> {
        let path = &change.path;
        let ends = path
            .iter()
            .enumerate()
            .filter(|(_, b)| **b == b'/')
            .map(|(i, _)| i);
        let mut dir: Rel = Vec::new();
        for end in ends.chain([path.len()]) {
            let at = path.get(..end).unwrap_or_default();
            let rules = self.rules_in(&dir, folders)?;
            let is_dir = end < path.len() || matches!(change.before, Some(Node::Dir { .. }));
            if rules.ignore(&self.root.join(raw::name(at)), is_dir) {
                return Ok(true);
            }
            dir = at.to_vec();
        }
        Ok(false)
    }

    fn rules_in(&mut self, dir: &[u8], folders: &mut Folders<'_>) -> Result<Rules> {
        if let Some(rules) = self.known.get(dir) {
            return Ok(rules.clone());
        }
        let mut rules = match dir.iter().rposition(|b| *b == b'/') {
            _ if dir.is_empty() => self.above.clone(),
            Some(end) => self.rules_in(dir.get(..end).unwrap_or_default(), folders)?,
            None => self.rules_in(&[], folders)?,
        };
        let mut file = dir.to_vec();
        tree::join(&mut file, IGNORE_FILE);
        if let Some(Node::File { hash, .. }) = folders.node(&self.tree, &file)? {
            let text = folders.packs.read(&hash)?;
            rules = rules.with(&self.root.join(raw::name(dir)), &text);
        }
        self.known.insert(dir.to_vec(), rules.clone());
        Ok(rules)
    }
}

/// Folders of the store, read once.
struct Folders<'a> {
    packs: &'a mut Packs,
    known: HashMap<Hash, Folder>,
}

impl<'a> Folders<'a> {
    fn new(packs: &'a mut Packs) -> Self {
        let known = HashMap::new();
        Self { packs, known }
    }

    fn bytes(&mut self, hash: &Hash) -> Result<Vec<u8>> {
        self.packs.read(hash)
    }

    /// What a tree has at a path.
    fn node(&mut self, tree: &Hash, path: &[u8]) -> Result<Option<Node>> {
        let mut at = *tree;
        let mut names = path.split(|b| *b == b'/').peekable();
        while let Some(name) = names.next() {
            if !self.known.contains_key(&at) {
                let folder = tree::decode(&self.packs.read(&at)?)
                    .ok_or_else(|| Error::Damaged("a folder".into()))?;
                self.known.insert(at, folder);
            }
            let folder = self.known.get(&at).map_or(&[][..], Vec::as_slice);
            let found = folder
                .binary_search_by(|(n, _)| n.as_slice().cmp(name))
                .ok()
                .and_then(|i| folder.get(i))
                .map(|(_, node)| node.clone());
            match (names.peek(), found) {
                (None, found) => return Ok(found),
                (Some(_), Some(Node::Dir { hash, .. })) => at = hash,
                (Some(_), Some(Node::File { .. } | Node::Link { .. }) | None) => return Ok(None),
            }
        }
        Ok(None)
    }
}
