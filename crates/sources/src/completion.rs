//! What can follow `@`: the names in one folder of the project or of an added folder, or, where something was typed, the
//! paths of the whole project that have its letters in their order. Names that a rule forbids or wants asked
//! about, and those of other folders, are not offered. It knows no client and no session.

mod other;
mod symbols;
mod tree;

use ostler_guard::Policy;
use ostler_host::{Border, Host, Judgement, Kind};
use ostler_tools::tool::Scope;
use ostler_wire::{Completion, CompletionItem, CompletionKind, CompletionRequest};
pub use other::{Others, SESSION, Sessions};
use std::path::Path;
use std::sync::Arc;
pub use symbols::Symbols;
use tokio::sync::watch;
pub use tree::Tree;

/// Bytes of what is completed.
const MAX_TEXT: usize = 4096;
/// Names of one folder that are looked at.
const MAX_LISTED: usize = 10_000;
/// Symbolic links of one folder whose targets are looked up.
const MAX_LINKS: usize = 1_000;
/// Never worth a mention.
const NOISE: [&str; 6] = [
    ".git",
    "node_modules",
    "__pycache__",
    ".DS_Store",
    ".venv",
    "target",
];

/// Which names may be offered. The owner of the rules sets it, and whoever lists follows.
#[derive(Default)]
pub struct OfferedNames(watch::Sender<Arc<Border>>);

impl OfferedNames {
    pub fn set(&self, border: Border) {
        self.0.send_replace(Arc::new(border));
    }

    pub fn follow(&self) -> watch::Receiver<Arc<Border>> {
        self.0.subscribe()
    }
}

/// Finds what can follow `@`. Cheap to clone.
#[derive(Clone)]
pub struct Completer {
    pub host: Arc<dyn Host>,
    pub scope: Arc<Scope>,
    pub offered: watch::Receiver<Arc<Border>>,
    pub tree: Tree,
    pub others: Others,
}

impl Completer {
    /// For names that follow from these rules, which do not change.
    pub fn offering(host: Arc<dyn Host>, scope: Scope, policy: &Policy) -> Self {
        let offered = OfferedNames::default();
        offered.set(policy.offered_border(&scope));
        Self {
            host,
            scope: Arc::new(scope),
            offered: offered.follow(),
            tree: Tree::default(),
            others: Others::default(),
        }
    }

    pub async fn complete(&self, request: &CompletionRequest) -> Completion {
        if request.text.len() <= MAX_TEXT
            && let Some(found) = self.others(request).await
        {
            return found;
        }
        let mut answer = self.files(request).await;
        let room = request.limit().saturating_sub(answer.items.len());
        let heads = self.others.heads(&request.text);
        answer.items.extend(heads.into_iter().take(room));
        answer
    }

    async fn files(&self, request: &CompletionRequest) -> Completion {
        let border = self.offered.borrow().clone();
        let mut answer = Completion {
            text: request.text.clone(),
            ..Completion::default()
        };
        if request.text.len() > MAX_TEXT {
            return answer;
        }
        if is_search(&request.text)
            && let Some(found) = self.search(request, &border).await
        {
            return found;
        }
        let (folder, typed) = split(&request.text);
        let path = self.scope.path(folder);
        // A folder that is not there, or that may not be listed, has no names to offer.
        let Ok(listing) = self.host.list(&path, MAX_LISTED, &border).await else {
            return answer;
        };
        answer.truncated = listing.truncated;
        let mut links = 0;
        for entry in listing.entries {
            let Some(name) = entry.name.to_str().filter(|name| is_worth(name)) else {
                continue;
            };
            let at = listing.path.join(&entry.name);
            if !fits(typed, name) || !is_inside(&border, &at) {
                continue;
            }
            let (is_folder, kind) = match entry.kind {
                Kind::File => (false, CompletionKind::File),
                Kind::Directory => (true, CompletionKind::Folder),
                Kind::Symlink if links == MAX_LINKS => {
                    answer.truncated = true;
                    continue;
                }
                Kind::Symlink => {
                    links += 1;
                    let Some(is_folder) = self.target(&at, &border).await else {
                        continue;
                    };
                    (is_folder, CompletionKind::Link)
                }
                Kind::Other | Kind::Missing => continue,
            };
            let label = match is_folder {
                true => format!("{name}/"),
                false => name.to_owned(),
            };
            answer.items.push(CompletionItem {
                insert: format!("{folder}{label}"),
                label,
                detail: String::new(),
                is_folder,
                kind,
            });
        }
        sort(&mut answer.items, typed);
        answer.truncated |= answer.items.len() > request.limit();
        answer.items.truncate(request.limit());
        answer
    }

    /// The paths of the project that fit, the best first. `None` where they are not known yet, or none fits.
    async fn search(
        &self,
        request: &CompletionRequest,
        border: &Arc<Border>,
    ) -> Option<Completion> {
        let root = self.scope.root.clone();
        let paths = self.tree.paths(&self.host, &root, border).await?;
        let (typed, limit, border) = (request.text.clone(), request.limit(), border.clone());
        // A large tree takes a while.
        let ranked = tokio::task::spawn_blocking(move || {
            let fits = rank(&typed, &paths);
            let offered = fits.into_iter().filter_map(|at| {
                let path = paths.get(at)?;
                let real = ostler_host::real_path(&root.join(path));
                is_inside(&border, &real).then(|| found(path, &root, &real))
            });
            offered.take(limit + 1).collect::<Vec<CompletionItem>>()
        });
        let mut found = ranked.await.ok()?;
        let truncated = found.len() > limit;
        found.truncate(limit);
        (!found.is_empty()).then(|| Completion {
            text: request.text.clone(),
            items: found,
            truncated,
            ..Completion::default()
        })
    }

    /// Whether a link leads to a folder; `None` where it leads to nothing that may be offered.
    async fn target(&self, link: &Path, border: &Border) -> Option<bool> {
        let stat = self.host.stat(link).await.ok()?;
        let is_folder = match stat.kind {
            Kind::File => false,
            Kind::Directory => true,
            Kind::Symlink | Kind::Other | Kind::Missing => return None,
        };
        is_inside(border, &stat.path).then_some(is_folder)
    }
}

/// A path of the tree, in which folders end with a slash and links do not. What a link leads to is seen when it is offered.
fn found(path: &str, root: &Path, real: &Path) -> CompletionItem {
    let is_link = !path.ends_with('/') && real != root.join(path);
    let is_folder = path.ends_with('/') || is_link && real.is_dir();
    let slash = if is_folder && is_link { "/" } else { "" };
    let shown = format!("{path}{slash}");
    CompletionItem {
        insert: shown.clone(),
        label: shown,
        detail: String::new(),
        is_folder,
        kind: match (is_link, is_folder) {
            (true, _) => CompletionKind::Link,
            (false, true) => CompletionKind::Folder,
            (false, false) => CompletionKind::File,
        },
    }
}

/// System files that anybody may read are not the project's, and nobody is offered them.
fn is_inside(border: &Border, real: &Path) -> bool {
    match border.judge(real) {
        Judgement::Inside => true,
        Judgement::Public | Judgement::Outside | Judgement::Forbidden(_) => false,
    }
}

/// Whether something is searched for in the project: a whole folder and paths that lead elsewhere are listed.
fn is_search(text: &str) -> bool {
    let leads_elsewhere = text.starts_with(['/', '~']) || text.split('/').any(|part| part == "..");
    !text.is_empty() && !text.ends_with('/') && !leads_elsewhere
}

/// Paths that are ranked by where the letters stand; of more the first ones in the order of the tree.
const MAX_RANKED: usize = 5_000;

/// Indices of the paths that have all letters in their order, the best first: letters in the name before letters in the
/// folders, the beginning of the name first, then short paths.
fn rank(typed: &str, paths: &[String]) -> Vec<usize> {
    let typed: Vec<char> = typed.chars().flat_map(char::to_lowercase).collect();
    let fitting = paths
        .iter()
        .enumerate()
        .filter(|(_, path)| fits_typed(&typed, path));
    let mut ranked: Vec<((u8, usize, usize), usize)> = fitting
        .take(MAX_RANKED)
        .map(|(at, path)| {
            let name = name_of(path);
            let lower = name.to_lowercase();
            let text: String = typed.iter().collect();
            let class = match (lower.starts_with(&text), lower.contains(&text)) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) if fits_typed(&typed, name) => 2,
                (false, false) if path.to_lowercase().contains(&text) => 3,
                (false, false) => 4,
            };
            ((class, path.matches('/').count(), path.len()), at)
        })
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, at)| at).collect()
}

fn name_of(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

fn fits_typed(typed: &[char], path: &str) -> bool {
    // Nearly all paths are, and there may be a hundred thousand of them.
    if path.is_ascii() {
        let mut bytes = path
            .bytes()
            .map(|byte| char::from(byte.to_ascii_lowercase()));
        return typed
            .iter()
            .all(|wanted| bytes.any(|letter| letter == *wanted));
    }
    let mut letters = path.chars().flat_map(char::to_lowercase);
    typed
        .iter()
        .all(|wanted| letters.any(|letter| letter == *wanted))
}

/// The folder that is listed, with its slash, and the beginning of a name in it.
fn split(text: &str) -> (&str, &str) {
    let end = text.rfind('/').map_or(0, |at| at + 1);
    text.split_at(end)
}

/// A name that a terminal would act upon, or that has blanks, cannot be typed behind `@` either.
fn is_worth(name: &str) -> bool {
    let is_odd = name.chars().any(|c| c.is_control() || c.is_whitespace());
    !is_odd && !NOISE.contains(&name)
}

/// Whether a name has all letters of what was typed, in their order.
fn fits(typed: &str, name: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    let mut wanted = typed.chars().flat_map(char::to_lowercase);
    wanted.all(|wanted| letters.any(|letter| letter == wanted))
}

/// Folders first; where something was typed, names that begin with it, then the shorter ones.
fn sort(items: &mut [CompletionItem], typed: &str) {
    match typed.is_empty() {
        true => items.sort_by(|a, b| {
            let folders = b.is_folder.cmp(&a.is_folder);
            folders.then_with(|| a.label.cmp(&b.label))
        }),
        false => items.sort_by_key(|item| {
            let is_other = !item.label.starts_with(typed);
            (is_other, item.label.len(), item.label.clone())
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_guard::{Folders, Rule, Rules};
    use ostler_host::Local;

    struct Bench {
        dir: tempfile::TempDir,
        completer: Completer,
    }

    /// A project with an added folder beside it, and folders that belong to neither.
    fn bench() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for file in [
            "project/src/main.rs",
            "project/src/deep/lib.rs",
            "project/.git/config",
            "project/node_modules/x",
            "project/.env",
            "project/secrets/key",
            "project/asked/a",
            "project/a b.txt",
            "project/Cargo.toml",
            "added/notes.md",
            "added/.env",
            "home/private.txt",
            "out/far.txt",
        ] {
            let path = base.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let rules = |texts: &[&str]| -> Vec<Rule> {
            let parsed = texts.iter().map(|text| Rule::parse(text, "x:1").unwrap());
            parsed.collect()
        };
        let policy = Policy {
            rules: Rules {
                deny: rules(&["Read(.env)", "Read(secrets)"]),
                ask: rules(&["Read(asked/**)"]),
                allow: rules(&["Read(~/private.txt)"]),
            },
            folders: Folders {
                inside: vec![base.join("added")],
                ..Folders::default()
            },
            added: vec![base.join("added")],
            ..Policy::default()
        };
        let scope = Scope::new(base.join("project"), Some(base.join("home")))
            .with_trees(vec![base.join("added")]);
        let completer = Completer::offering(Arc::new(Local::new()), scope, &policy);
        Bench { dir, completer }
    }

    impl Bench {
        async fn offered(&self, text: &str) -> Vec<String> {
            let answer = self.completer.complete(&CompletionRequest::of(text)).await;
            assert_eq!(answer.text, text);
            answer.items.into_iter().map(|item| item.insert).collect()
        }

        fn base(&self) -> std::path::PathBuf {
            self.dir.path().canonicalize().unwrap()
        }
    }

    #[tokio::test]
    async fn names_of_one_folder_without_noise_and_without_what_rules_forbid() {
        let bench = bench();
        for (text, expect) in [
            // Of the asked folder only what is in it is asked about.
            ("", vec!["asked/", "src/", "Cargo.toml"]),
            ("src/", vec!["src/deep/", "src/main.rs"]),
            ("src/m", vec!["src/main.rs"]),
            ("src/dp", vec!["src/deep/", "src/deep/lib.rs"]),
            ("cgo", vec!["Cargo.toml"]),
            // From anywhere in the tree, the name before the folders.
            ("lib", vec!["src/deep/lib.rs"]),
            ("LIB.RS", vec!["src/deep/lib.rs"]),
            ("rs", vec!["src/main.rs", "src/deep/lib.rs"]),
            ("key", vec![]),
            ("zzz", vec![]),
            ("secrets/", vec![]),
            ("asked/", vec![]),
            (".en", vec![]),
            ("nowhere/", vec![]),
        ] {
            assert_eq!(bench.offered(text).await, expect, "{text}");
        }
    }

    #[tokio::test]
    async fn folders_outside_of_the_project_are_not_listed_but_added_ones_are() {
        let bench = bench();
        let base = bench.base().display().to_string();
        for text in [
            "~/",
            "../",
            "../out/",
            "/",
            "/etc/",
            "/usr/share/",
            &format!("{base}/out/"),
        ] {
            assert_eq!(bench.offered(text).await, [""; 0], "{text}");
        }
        let added = format!("{base}/added/");
        assert_eq!(bench.offered(&added).await, [format!("{added}notes.md")]);
        assert_eq!(bench.offered("../added/").await, ["../added/notes.md"]);
        assert_eq!(
            bench.offered("../project/src/m").await,
            ["../project/src/main.rs"]
        );
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_link_is_offered_by_where_it_leads() {
        use std::os::unix::fs::symlink;
        let bench = bench();
        let base = bench.base();
        for (link, to) in [
            ("in", "project/src"),
            ("file", "project/Cargo.toml"),
            ("far", "out"),
            ("far.txt", "out/far.txt"),
            ("env", "project/.env"),
            ("gone", "project/none"),
        ] {
            symlink(base.join(to), base.join("project").join(link)).unwrap();
        }
        assert_eq!(
            bench.offered("").await,
            ["asked/", "in/", "src/", "Cargo.toml", "file"]
        );
        assert_eq!(bench.offered("in/m").await, ["in/main.rs"]);
        assert_eq!(bench.offered("far/").await, [""; 0]);
        let request = CompletionRequest::of("in");
        let answer = bench.completer.complete(&request).await;
        let link = answer
            .items
            .iter()
            .find(|item| item.insert.starts_with("in"));
        assert_eq!(
            link.map(|item| item.kind),
            Some(CompletionKind::Link),
            "{answer:?}"
        );
    }

    #[tokio::test]
    async fn an_answer_has_as_many_items_as_are_wanted() {
        let bench = bench();
        let request = CompletionRequest {
            text: String::new(),
            limit: Some(1),
        };
        let answer = bench.completer.complete(&request).await;
        assert_eq!((answer.items.len(), answer.truncated), (1, true));
        let request = CompletionRequest::of("x/".repeat(MAX_TEXT));
        assert!(bench.completer.complete(&request).await.items.is_empty());
    }
}
