//! Which saves of the tree a session needs: before the first change that the person's words lead to, and after the last one.
//! What cannot be saved is told once. When it is done is in `state/checkpoints`, how a tree is saved in `checkpoint`.

use ostler_host::Host;
use ostler_host::checkpoint::{
    Around, AroundDone, Ask, Checkpoints, Error, Limits, Reach, Record, Target, There, Tree,
    TreeStore, Why, folders,
};
use ostler_store::cut::shorten_prompt;
use ostler_store::redact::Redactor;
use ostler_wire::{
    Access, AnyWord, Body, Checkpoint, Language, Notice, Saved, Say, Segment, When, Word,
};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Digits of a tree's hash that are written down.
const HASH_DIGITS: usize = 12;
/// Paths that the calls of one prompt are known to touch.
const MAX_TOUCHED: usize = 1_000;
/// Trees that were too much, after which only named paths are saved.
const MAX_HEAVY: u32 = 4;

/// Checkpoints of the session whose files are followed.
const MAX_SAVED: usize = 256;

/// Where the checkpoints of a session are.
pub struct Place {
    pub home: PathBuf,
    pub root: PathBuf,
    /// Where the root really was when the session began.
    pub real: PathBuf,
    pub limits: Limits,
    /// Where the project is not on this machine.
    pub there: Option<FarTree>,
}

/// A project at another place.
pub struct FarTree {
    /// As people call the place.
    pub name: String,
    pub host: Arc<dyn Host>,
    /// The folder on this machine that stands for the project.
    pub stand_in: PathBuf,
    /// What a restore leaves as it is.
    pub protect: Vec<PathBuf>,
}

impl Place {
    /// Makes no file. Of another place it asks on the runtime that it is called on.
    pub fn open(&self) -> Result<TreeStore, Error> {
        let Some(far) = &self.there else {
            return self.open_here().map(TreeStore::Here);
        };
        let (host, runtime) = (far.host.clone(), Handle::current());
        let ask: Ask = Arc::new(move |tree, order| runtime.block_on(host.checkpoint(tree, order)));
        Ok(TreeStore::There(There {
            name: far.name.clone(),
            ask,
            tree: Tree {
                root: self.root.clone(),
                limits: self.limits.clone(),
                protect: far.protect.clone(),
            },
            dir: ostler_store::sessions::checkpoints_dir(&self.home, &far.stand_in),
        }))
    }

    /// Those of a project on this machine.
    pub fn open_here(&self) -> Result<Checkpoints, Error> {
        let dir = ostler_store::sessions::checkpoints_dir(&self.home, &self.root);
        let store = Checkpoints::open(&dir, &self.root, self.limits.clone())?;
        match store.root() == self.real {
            true => Ok(store),
            // A link stands in its place, or in that of a folder above it.
            false => Err(Error::Io {
                what: Word::CpFind,
                path: self.real.clone(),
                source: std::io::ErrorKind::NotADirectory.into(),
            }),
        }
    }
}

#[derive(Default)]
pub struct SessionCheckpoints {
    /// None when nothing is to be saved.
    place: Option<Arc<Place>>,
    stage: Stage,
    /// What the person said.
    label: String,
    named: Vec<PathBuf>,
    touched: Vec<PathBuf>,
    /// How often the tree was too much.
    heavy: u32,
    told: HashSet<AnyWord>,
    /// A save that the person did not wait for.
    pub pending: Option<JoinHandle<Done>>,
    /// The tree as this session last saw it.
    pub seen: Option<Saved>,
    /// All that it has saved: what is there of it stays saved, whatever is ignored by then.
    saved: Vec<u64>,
    /// Another session saves the tree before and after; this one only what that does not see coming.
    below: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Unchanged,
    /// Something may have changed; what was there before is saved, as far as it can be.
    Changing,
}

/// A piece of work for a thread of its own.
pub struct Job {
    place: Arc<Place>,
    order: Around,
}

pub struct Done {
    done: AroundDone,
    when: When,
    /// As people call the place, if it is another than this machine.
    place: Option<String>,
}

impl SessionCheckpoints {
    pub fn new(place: Option<Place>) -> Self {
        Self {
            place: place.map(Arc::new),
            ..Self::default()
        }
    }

    pub fn place(&self) -> Option<Arc<Place>> {
        self.place.clone()
    }

    /// The same for a child whose parent saves the tree around it: ignored files that it is about to remove are saved here,
    /// and its parent is told.
    pub fn below(self) -> Self {
        Self {
            below: true,
            stage: Stage::Changing,
            ..self
        }
    }

    /// The person said something: what changes from now on is because of it. The words become a label in the store.
    pub fn begin(&mut self, said: &str, redactor: &Redactor) {
        self.stage = match self.below {
            true => Stage::Changing,
            false => Stage::Unchanged,
        };
        self.label = shorten_prompt(&redactor.text(said.to_owned()));
        self.named.clear();
        self.touched.clear();
    }

    /// An entry of the log says that the session saw the tree like this.
    pub fn note(&mut self, saved: &Saved) {
        let there = self.place.as_ref().and_then(|place| place.there.as_ref());
        if saved.place.as_deref() != there.map(|there| there.name.as_str()) {
            // It lies at a place where the session worked before.
            return;
        }
        self.seen = Some(saved.clone());
        if self.saved.last() != Some(&saved.id) {
            self.saved.push(saved.id);
        }
        let above = self.saved.len().saturating_sub(MAX_SAVED);
        self.saved.drain(..above);
    }

    pub fn before(&mut self, accesses: &[Access]) -> Option<Job> {
        let place = self.place.clone()?;
        if !accesses.iter().any(alters) {
            return None;
        }
        let targets = targets(accesses, &place.root);
        let when = match self.stage {
            Stage::Unchanged => When::Before,
            Stage::Changing if targets.is_empty() => return None,
            Stage::Changing => When::Also,
        };
        self.stage = Stage::Changing;
        let room = MAX_TOUCHED.saturating_sub(self.touched.len());
        let new = targets.iter().map(|t| t.path.clone()).take(room);
        self.touched.extend(new);
        let order = Around {
            label: format!("before: {}", self.label),
            when,
            targets,
            named: self.named.clone(),
            touched: self.touched.clone(),
            follows: self.saved.clone(),
            in_part: self.heavy >= MAX_HEAVY,
        };
        Some(Job { place, order })
    }

    pub fn after(&mut self) -> Option<Job> {
        if self.below || self.stage == Stage::Unchanged {
            return None;
        }
        self.stage = Stage::Unchanged;
        let place = self.place.clone()?;
        let order = Around {
            label: format!("after: {}", self.label),
            when: When::After,
            targets: Vec::new(),
            named: std::mem::take(&mut self.named),
            touched: std::mem::take(&mut self.touched),
            follows: self.saved.clone(),
            in_part: self.heavy >= MAX_HEAVY,
        };
        Some(Job { place, order })
    }

    /// What became of it, for the log.
    pub fn took(&mut self, done: Done, language: Language) -> Vec<Body> {
        let mut bodies = Vec::new();
        let Done { done, when, place } = done;
        let AroundDone {
            record,
            named,
            passed,
        } = done;
        self.named.extend(named);
        let mut notices: Vec<(AnyWord, String)> = Vec::new();
        if let Some(path) = passed.first() {
            let path = path.display().to_string();
            let text = language.fill(Word::IgnoredNotSaved, &[&path]);
            notices.push((Word::IgnoredNotSaved.into(), text));
        }
        match record {
            Ok(None) => {}
            Ok(Some(record)) => {
                if let Some(why) = record.degraded {
                    self.weighed(why);
                    let reason = reason(&Error::Stopped(why, record.heaviest.clone()), language);
                    let text = language.fill(Word::SavedInPart, &[&reason]);
                    // That some is saved, and that none is, is one thing to be told.
                    notices.push((Word::NoCheckpoint.into(), text));
                }
                if record.history.as_ref().is_some_and(|history| history.lacks) {
                    let text = language.say(Word::HistoryInPart).to_owned();
                    notices.push((Word::HistoryInPart.into(), text));
                }
                let saved = saved(&record, place);
                if when != When::Also {
                    self.seen = Some(saved.clone());
                }
                bodies.push(Body::Checkpoint(Checkpoint { saved, when }));
            }
            Err(error) => {
                match &error {
                    Error::Refused { .. } => self.place = None,
                    Error::Stopped(why, _) => self.weighed(*why),
                    Error::Busy
                    | Error::Full(_)
                    | Error::NoSuch(_)
                    | Error::Damaged(_)
                    | Error::Unseen { .. }
                    | Error::OtherPlace(_)
                    | Error::Away { .. }
                    | Error::Io { .. } => {}
                }
                let text = language.fill(Word::NoCheckpoint, &[&reason(&error, language)]);
                notices.push((Word::NoCheckpoint.into(), text));
            }
        }
        for (topic, text) in notices {
            if self.told.insert(topic) {
                bodies.push(Body::Notice(Notice { text }));
            }
        }
        bodies
    }

    fn weighed(&mut self, why: Why) {
        self.heavy += match why {
            // The next look goes on where this one stopped.
            Why::Time => 1,
            Why::Files | Why::LeftOut | Why::Quota => MAX_HEAVY,
        };
    }
}

impl Job {
    /// Blocks.
    pub fn run(self) -> Done {
        let when = self.order.when;
        let store = self.place.open();
        let place = store.as_ref().ok().and_then(TreeStore::place);
        Done {
            when,
            place: place.map(str::to_owned),
            done: match store {
                Ok(store) => store.around(self.order),
                Err(error) => AroundDone {
                    record: Err(error),
                    named: Vec::new(),
                    passed: Vec::new(),
                },
            },
        }
    }
}

pub fn saved(record: &Record, place: Option<String>) -> Saved {
    let tree: String = record.tree.chars().take(HASH_DIGITS).collect();
    Saved {
        id: record.id,
        tree,
        place,
    }
}

/// The checkpoint that was meant, if it is still there.
pub fn find(store: &TreeStore, saved: &Saved) -> Result<Record, Error> {
    if saved.place.as_deref() != store.place() {
        return Err(Error::OtherPlace(saved.place.clone()));
    }
    let record = store.get(saved.id)?;
    match !saved.tree.is_empty() && record.tree.starts_with(&saved.tree) {
        true => Ok(record),
        false => Err(Error::NoSuch(saved.id)),
    }
}

/// Why something could not be saved or brought back, for people.
pub fn reason(error: &Error, language: Language) -> String {
    let word = match error {
        Error::Refused { .. } => Word::WhyNoProject,
        Error::Busy => Word::WhyBusy,
        Error::Full(_) => Word::WhyFull,
        Error::Stopped(why, heaviest) => {
            let why = language.say(match why {
                Why::Files => Word::WhyFiles,
                Why::Time => Word::WhyTime,
                Why::Quota => Word::WhyQuota,
                Why::LeftOut => Word::WhyUnreadable,
            });
            return match heaviest.is_empty() {
                true => why.into(),
                false => language.fill(Word::LargestFolders, &[why, &folders(heaviest)]),
            };
        }
        Error::NoSuch(_) => Word::WhyGone,
        Error::Damaged(what) => return language.fill(Word::WhyDamaged, &[what]),
        Error::Unseen { .. } | Error::OtherPlace(_) | Error::Away { .. } | Error::Io { .. } => {
            return error.say(language);
        }
    };
    language.say(word).into()
}

/// Whether the tree may be different afterwards. Children of a call leave it to their parent to save.
fn alters(access: &Access) -> bool {
    match access {
        Access::Write(_) | Access::Mcp { .. } => true,
        Access::Run(_) | Access::Delegate { .. } => !access.is_read_only(),
        Access::Read(_) | Access::Net(_) | Access::Job(_) | Access::Memory | Access::History => {
            false
        }
    }
}

/// The paths that a call is known to change.
fn targets(accesses: &[Access], root: &Path) -> Vec<Target> {
    let mut out: Vec<Target> = Vec::new();
    let mut add = |path: &Path| {
        let (path, reach) = match path.ends_with("**") {
            true => (path.parent().unwrap_or(path), Reach::Below),
            false => (path, Reach::Itself),
        };
        let target = Target {
            path: path.to_owned(),
            reach,
        };
        if path.starts_with(root) && out.len() < MAX_TOUCHED && !out.contains(&target) {
            out.push(target);
        }
    };
    let write = |access: &Access, add: &mut dyn FnMut(&Path)| {
        if let Access::Write(path) = access {
            add(path);
        }
    };
    for access in accesses {
        write(access, &mut add);
        if let Access::Run(segments) = access {
            for segment in segments.iter().filter(|s| !s.read_only) {
                let caused = segment.does.iter().chain(&segment.needs);
                caused.for_each(|access| write(access, &mut add));
                if cleans(segment) {
                    add(&root.join("**"));
                }
            }
        }
    }
    out
}

/// `git clean` that removes ignored files.
fn cleans(segment: &Segment) -> bool {
    let mut words = segment.argv.iter();
    let flag = |word: &&String| {
        word.starts_with('-') && !word.starts_with("--") && word.contains(['x', 'X'])
    };
    words.next().is_some_and(|name| name == "git")
        && words.any(|word| word == "clean")
        && words.any(|word| flag(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_wire::Mark;

    #[test]
    fn a_checkpoint_of_another_place_is_refused_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        std::fs::create_dir(&root).unwrap();
        let store = Checkpoints::open(&folder.path().join("store"), &root, Limits::default());
        let store = TreeStore::Here(store.unwrap());
        let saved = |place: Option<&str>| Saved {
            id: 1,
            tree: "abc".into(),
            place: place.map(str::to_owned),
        };
        let error = find(&store, &saved(Some("ssh me@box"))).unwrap_err();
        assert_eq!(
            reason(&error, Language::English),
            "it was saved at ssh me@box: go there with /host to bring it back"
        );
        let error = find(&store, &saved(None)).unwrap_err();
        assert_eq!(
            reason(&error, Language::English),
            Language::English.say(Word::WhyGone)
        );
    }

    #[test]
    fn what_a_command_is_about_to_change() {
        let root = Path::new("/p");
        let write = |path: &str| Access::Write(path.into());
        let segment = |words: &str, does: Vec<Access>| {
            let argv = words.split(' ').map(str::to_owned).collect();
            let marks = vec![Mark::Delete];
            Access::Run(vec![Segment {
                argv,
                does,
                marks,
                ..Segment::default()
            }])
        };
        for (access, expect) in [
            (write("/p/a"), "a"),
            (write("/elsewhere/a"), ""),
            (Access::Read("/p/a".into()), ""),
            (
                segment("rm -rf a", vec![write("/p/a"), write("/p/a/**")]),
                "a a/**",
            ),
            (segment("git clean -fdx", vec![]), "/**"),
            (segment("git clean -fd", vec![]), ""),
            (segment("git -C . clean -f -X", vec![]), "/**"),
        ] {
            let shown: Vec<String> = targets(std::slice::from_ref(&access), root)
                .into_iter()
                .map(|t| {
                    let path = t.path.strip_prefix(root).unwrap_or(&t.path);
                    let below = if t.reach == Reach::Below { "/**" } else { "" };
                    format!("{}{below}", path.display())
                })
                .collect();
            assert_eq!(shown.join(" "), expect, "{access:?}");
        }
    }
}
