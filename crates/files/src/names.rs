//! Other names (hard links) of files that a border forbids: a path tells nothing of them, the number of the file does. They
//! are looked for only when a file with more than one name is read, and known for a moment.

use super::border::{Border, Pattern};
use rustix::fs::Stat as Inode;
use std::collections::{HashMap, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Entries that are looked at for one ban or one rule, the upper ones first.
const MAX_ENTRIES: usize = 4096;
/// How long an answer holds. Reading a tree asks for each of its files.
const FRESH: Duration = Duration::from_secs(3);
/// Borders whose answers are held at a time.
const MAX_HELD: usize = 8;

/// A file, whatever its names: device and number.
type FileId = (u64, u64);
/// Forbidden files, and the rule that names each.
type Rules = HashMap<FileId, String>;

struct Held {
    border: Border,
    since: Instant,
    rules: Arc<Rules>,
}

static HELD: Mutex<Vec<Held>> = Mutex::new(Vec::new());

/// The rule that forbids this open file by another of its names.
pub fn rule_of(border: &Border, inode: &Inode) -> Option<String> {
    let is_free = border.forbidden.is_empty() && border.deny.is_empty();
    if is_free || inode.st_nlink < 2 {
        return None;
    }
    // Their types differ between systems.
    #[allow(clippy::unnecessary_cast)]
    let id = (inode.st_dev as u64, inode.st_ino as u64);
    rules(border).get(&id).cloned()
}

fn rules(border: &Border) -> Arc<Rules> {
    let asked = Border {
        forbidden: border.forbidden.clone(),
        deny: border.deny.clone(),
        ..Border::default()
    };
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    held.retain(|held| held.since.elapsed() < FRESH);
    if let Some(known) = held.iter().find(|held| held.border == asked) {
        return known.rules.clone();
    }
    let rules = Arc::new(find(&asked));
    if held.len() == MAX_HELD {
        held.remove(0);
    }
    held.push(Held {
        border: asked,
        since: Instant::now(),
        rules: rules.clone(),
    });
    rules
}

fn find(border: &Border) -> Rules {
    let mut rules = Rules::new();
    for ban in &border.forbidden {
        walk(&ban.path, |_| true, &ban.rule, &mut rules);
    }
    for pattern in &border.deny {
        let fits = |path: &Path| pattern.fits(path);
        walk(&top_of(pattern), fits, &pattern.rule, &mut rules);
    }
    rules
}

/// The folder or file that holds all that a pattern can fit.
fn top_of(pattern: &Pattern) -> PathBuf {
    let mut top = pattern.base.clone();
    if pattern.depth == super::border::Depth::FromBase {
        let is_plain = |part: &&str| !part.contains(['*', '?']);
        let parts = pattern.glob.split('/').filter(|part| !part.is_empty());
        top.extend(parts.take_while(is_plain));
    }
    top
}

fn walk(top: &Path, fits: impl Fn(&Path) -> bool, rule: &str, rules: &mut Rules) {
    let mut open = VecDeque::from([top.to_owned()]);
    let mut seen = 0;
    while let Some(path) = open.pop_front() {
        seen += 1;
        let Ok(meta) = fs::symlink_metadata(&path) else {
            continue;
        };
        if meta.is_file() && fits(&path) {
            let id = (meta.dev(), meta.ino());
            rules.entry(id).or_insert_with(|| rule.to_owned());
        }
        // What waits is looked at, what lies below it no more.
        if meta.is_dir()
            && seen + open.len() < MAX_ENTRIES
            && let Ok(entries) = fs::read_dir(&path)
        {
            let room = MAX_ENTRIES - open.len();
            open.extend(entries.flatten().map(|entry| entry.path()).take(room));
        }
    }
}
