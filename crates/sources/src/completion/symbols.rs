//! The definitions in the project's sources, for `@symbol:`: read in the background when they are first wanted, in the
//! languages that `delete_symbol` knows. A file that did not change is not parsed again.

use super::{Completer, is_inside};
use ostler_host::{Border, Span};
use ostler_tools::builtin::delete_symbol;
use ostler_tools::builtin::text;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Files that are parsed.
const MAX_FILES: usize = 5_000;
/// Bytes of one of them.
const MAX_FILE: u64 = 1 << 20;
/// Definitions that are kept.
const MAX_SYMBOLS: usize = 200_000;
/// Files after which what is known so far can be searched.
const CHUNK: usize = 25;
/// After this time the next search has the files looked at anew.
const FRESH: Duration = Duration::from_secs(10);
/// How long a first search waits.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// Definitions that are offered.
const MAX_OFFERED: usize = 200;

/// A definition and its lines, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub name: String,
    pub path: String,
    pub from: usize,
    pub to: usize,
}

/// What is known. Its copies share it.
#[derive(Clone)]
pub struct Symbols(Arc<Shared>);

struct Shared {
    known: watch::Sender<Option<Arc<Vec<Named>>>>,
    reading: Mutex<Reading>,
}

#[derive(Default)]
struct Reading {
    is_under_way: bool,
    done: Option<Instant>,
    files: HashMap<String, Parsed>,
}

/// A file as it was when it was parsed.
#[derive(Clone)]
struct Parsed {
    hash: u64,
    symbols: Arc<Vec<Named>>,
}

impl Default for Symbols {
    fn default() -> Self {
        Self(Arc::new(Shared {
            known: watch::channel(None).0,
            reading: Mutex::default(),
        }))
    }
}

impl Symbols {
    /// Those whose names have the typed letters in their order, the best first.
    pub(super) async fn find(
        &self,
        completer: &Completer,
        border: &Arc<Border>,
        typed: &str,
    ) -> Vec<Named> {
        self.refresh(completer, border).await;
        let mut known = self.0.known.subscribe();
        let some = known.wait_for(Option::is_some);
        let all = match tokio::time::timeout(PATIENCE, some).await {
            Ok(Ok(all)) => all.clone().unwrap_or_default(),
            Ok(Err(_)) | Err(_) => return Vec::new(),
        };
        let (root, border, typed) = (
            completer.scope.root.clone(),
            border.clone(),
            typed.to_owned(),
        );
        let ranked = tokio::task::spawn_blocking(move || {
            let is_open =
                |path: &str| is_inside(&border, &ostler_host::real_path(&root.join(path)));
            let found = rank(&typed, &all).into_iter();
            let offered = found.filter(|symbol| is_open(&symbol.path));
            offered.take(MAX_OFFERED).cloned().collect()
        });
        ranked.await.unwrap_or_default()
    }

    /// Has the files read in the background, unless they are fresh or being read.
    async fn refresh(&self, completer: &Completer, border: &Arc<Border>) {
        let files = {
            let mut reading = self.lock();
            let is_fresh = reading.done.is_some_and(|done| done.elapsed() < FRESH);
            if reading.is_under_way || is_fresh {
                return;
            }
            reading.is_under_way = true;
            reading.files.clone()
        };
        let (shared, completer) = (Arc::downgrade(&self.0), completer.clone());
        let border = border.clone();
        tokio::spawn(async move {
            let tell = |known: Vec<Named>| match shared.upgrade() {
                Some(shared) => {
                    // Until the first reading is through, what is known so far is better than nothing.
                    shared.known.send_if_modified(|old| {
                        let is_more = old.as_ref().is_none_or(|old| old.len() < known.len());
                        is_more.then(|| *old = Some(Arc::new(known))).is_some()
                    });
                    true
                }
                None => false,
            };
            let read = read(&completer, &border, files, tell).await;
            let Some(shared) = shared.upgrade() else {
                return;
            };
            let all = read.values().flat_map(|file| file.symbols.iter().cloned());
            let all: Vec<Named> = all.take(MAX_SYMBOLS).collect();
            shared.known.send_replace(Some(Arc::new(all)));
            *Symbols(shared).lock() = Reading {
                is_under_way: false,
                done: Some(Instant::now()),
                files: read,
            };
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Reading> {
        let reading = self.0.reading.lock();
        reading.unwrap_or_else(PoisonError::into_inner)
    }
}

/// The definitions of each file; what is known so far is told every now and then, until nobody wants it.
async fn read(
    completer: &Completer,
    border: &Arc<Border>,
    before: HashMap<String, Parsed>,
    tell: impl Fn(Vec<Named>) -> bool,
) -> HashMap<String, Parsed> {
    let root = &completer.scope.root;
    let paths = completer.tree.paths(&completer.host, root, border).await;
    let paths = paths.unwrap_or_default();
    let mut files = HashMap::new();
    let mut known = Vec::new();
    let sources = paths
        .iter()
        .filter(|path| delete_symbol::knows(Path::new(path)));
    for (at, path) in sources.take(MAX_FILES).enumerate() {
        let full: PathBuf = root.join(path);
        let read = completer
            .host
            .read(&full, Span::head(MAX_FILE), border)
            .await;
        let Ok(content) = read else { continue };
        let hash = hash(&content.bytes);
        let parsed = match before.get(path).filter(|parsed| parsed.hash == hash) {
            Some(parsed) => parsed.clone(),
            None => {
                let name = path.clone();
                let work = move || parse(&name, &content.bytes);
                let symbols = tokio::task::spawn_blocking(work).await.unwrap_or_default();
                let symbols = Arc::new(symbols);
                Parsed { hash, symbols }
            }
        };
        known.extend(parsed.symbols.iter().cloned());
        files.insert(path.clone(), parsed);
        if known.len() > MAX_SYMBOLS || at % CHUNK == CHUNK - 1 && !tell(known.clone()) {
            break;
        }
    }
    files
}

fn parse(path: &str, bytes: &[u8]) -> Vec<Named> {
    let Ok(decoded) = text::decode(bytes) else {
        return Vec::new();
    };
    let found = delete_symbol::symbols(Path::new(path), &decoded.into_shown());
    let named = found.into_iter().map(|symbol| Named {
        name: symbol.name,
        path: path.to_owned(),
        from: symbol.from,
        to: symbol.to,
    });
    // Who types a name with a blank cannot go on.
    named
        .filter(|n| !n.name.contains(char::is_whitespace))
        .collect()
}

fn hash(bytes: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hasher as _};
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// The last name counts before those of what it is in, its beginning first, then short names.
fn rank<'a>(typed: &str, all: &'a [Named]) -> Vec<&'a Named> {
    let typed = typed.to_lowercase();
    let own = |named: &Named| {
        let last = named.name.rsplit('.').next().unwrap_or(&named.name);
        last.to_lowercase()
    };
    let mut ranked: Vec<((u8, usize), &Named)> = all
        .iter()
        .filter(|named| super::fits(&typed, &named.name))
        .map(|named| {
            let own = own(named);
            let class = match (own == typed, own.starts_with(&typed), own.contains(&typed)) {
                (true, _, _) => 0,
                (_, true, _) => 1,
                (_, _, true) => 2,
                (_, _, false) => 3,
            };
            ((class, named.name.len()), named)
        })
        .collect();
    ranked.sort_by(|(a, x), (b, y)| (a, &x.name, &x.path).cmp(&(b, &y.name, &y.path)));
    ranked.into_iter().map(|(_, named)| named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_found_by_their_letters() {
        let source = "struct Cart { n: u32 }\nimpl Cart {\n    fn coupon(&self) -> u32 {\n        self.n\n    }\n}\nfn cart_total() {}\n";
        let all = parse("src/cart.rs", source.as_bytes());
        let names = |typed: &str| -> Vec<String> {
            let found = rank(typed, &all).into_iter();
            found
                .map(|n| format!("{} {}-{}", n.name, n.from, n.to))
                .collect()
        };
        assert_eq!(names("coupon"), ["Cart.coupon 3-5"]);
        assert_eq!(
            names("cart"),
            ["Cart 1-1", "cart_total 7-7", "Cart.coupon 3-5"]
        );
        assert!(names("zzz").is_empty());
        assert!(parse("notes.md", b"# Cart").is_empty());
    }
}
