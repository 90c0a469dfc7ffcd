//! Where files lie as seen from a session, and the border that travels with every read: built here from settings, rules
//! and what the person allowed, judged by `ostler_host::Border` on the opened file.

use super::Scope;
use super::shell::{DEEP, DEEP_VISIBLE, LISTED, is_listed};
use super::{Policy, Posture, Rule, headless};
use ostler_host::{Ban, Beyond, Border, Depth, Pattern, Place, Protected, is_below};
use ostler_wire::ToolDeclaration;
use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

pub use super::shell::PUBLIC;

/// Names of the project that tools change only with the person's own yes, one a line.
const PROTECTED: &str = include_str!("protected.txt");
/// The folder of a repository.
pub const GIT: &str = ".git";
/// Files of a goal's research, which the model writes by our own instruction.
const UNPROTECTED: [&str; 1] = [".ostler/autoresearch"];
/// What a ban by `[sandbox] forbid_read` is called.
const FORBID_READ: &str = "[sandbox] forbid_read";
const KEYS: &str = "Ostler keeps keys in it";

/// Folders beside the root and what holds for them. Real paths, without symlinks.
#[derive(Clone, Debug, Default)]
pub struct Folders {
    /// Belong to the work as the root does: `--add-dir`, what may be written, what the model is told to read.
    pub inside: Vec<PathBuf>,
    /// Toolchains and their sources in the person's home, which readers see.
    pub public: Vec<PathBuf>,
    /// Not part of the project even where they lie in it: Ostler's home.
    pub outside: Vec<PathBuf>,
    /// Not to be read, whoever asks.
    pub forbidden: Vec<PathBuf>,
    /// Changed only with the person's own yes.
    pub protected: Vec<PathBuf>,
    /// Files of this session in folders that are outside otherwise.
    pub own: Vec<Pattern>,
    /// The trees that this one is a worktree of.
    pub copied_from: Vec<PathBuf>,
}

/// Whose reading a border is for.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// The tool that reads, if one does.
    pub tool: Option<&'a ToolDeclaration>,
    pub posture: Posture,
    /// Somebody could be asked.
    pub attended: bool,
    /// Real paths that the person allowed to be read.
    pub granted: &'a [PathBuf],
}

/// Names of the project that tools change only with the person's own yes, `/` between the parts.
pub fn protected_names() -> impl Iterator<Item = &'static str> {
    let lines = PROTECTED.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

impl Folders {
    /// What lies outside of the root and may be read unasked.
    pub fn open(&self) -> Vec<PathBuf> {
        self.inside.iter().chain(&self.public).cloned().collect()
    }

    /// Trees besides the root in which deny and ask rules hold.
    pub fn trees(&self) -> Vec<PathBuf> {
        self.inside
            .iter()
            .chain(&self.copied_from)
            .cloned()
            .collect()
    }

    /// Every folder with what holds below it. Of two that are the same the later one counts.
    fn places<'a>(&'a self, scope: &'a Scope) -> impl Iterator<Item = (&'a Path, Place)> {
        let all = |paths: &'a [PathBuf], place: Place| {
            paths.iter().map(move |path| (path.as_path(), place))
        };
        let public = PUBLIC.iter().map(|path| (Path::new(path), Place::Public));
        let temp = scope.temp.as_deref().map(|temp| (temp, Place::Inside));
        all(&self.outside, Place::Outside)
            .chain(all(&self.public, Place::Public))
            .chain(all(&self.inside, Place::Inside))
            .chain(temp)
            .chain([(scope.root.as_path(), Place::Inside)])
            .chain(public)
    }

    /// Where a path lies, whatever rules say. Of a tree or a pattern it is where its folder lies.
    pub fn place(&self, path: &Path, scope: &Scope) -> Place {
        if self.own.iter().any(|own| own.fits(path)) {
            return Place::Inside;
        }
        // The folder itself, not a tree below it.
        if is_listed(path) {
            return Place::Public;
        }
        let path = folder_of(path);
        self.places(scope)
            .filter(|(folder, _)| is_below(&path, folder))
            .max_by_key(|(folder, _)| folder.as_os_str().len())
            .map_or(Place::Outside, |(_, place)| place)
    }

    /// Whether a folder whose names anybody may see has more below it than anybody may read.
    pub fn is_closed_below(&self, path: &Path, scope: &Scope) -> bool {
        is_listed(path) && self.place(&path.join("**"), scope) == Place::Outside
    }

    /// The ban that the path, or a tree that it names, falls under.
    pub fn ban(&self, path: &Path) -> Option<&Path> {
        let tree = tree_of(path);
        let mut bans = self.forbidden.iter().map(PathBuf::as_path);
        bans.find(|ban| is_below(path, ban) || tree.as_ref().is_some_and(|t| is_below(ban, t)))
    }

    /// What tools change only with the person's own yes; `granted` is what they said yes to.
    pub fn protected(&self, scope: &Scope, granted: &[PathBuf]) -> Protected {
        let names = |list: &mut dyn Iterator<Item = &str>| list.map(str::to_owned).collect();
        let holds_root = |path: &&PathBuf| is_below(&scope.root, path);
        Protected {
            names: names(&mut protected_names()),
            repositories: true,
            except: names(&mut UNPROTECTED.into_iter()),
            paths: (self.protected.iter().filter(|path| !holds_root(path)))
                .cloned()
                .collect(),
            bases: std::iter::once(&scope.root)
                .chain(&self.inside)
                .cloned()
                .collect(),
            granted: granted.to_vec(),
            links: Default::default(),
        }
        .with_links()
    }
}

impl Policy {
    /// What a tool may read without another question.
    pub fn border(&self, scope: &Scope, reading: Reading<'_>) -> Border {
        let patterns = |rules: &[Rule]| -> Vec<Pattern> {
            let trees = std::iter::once(&scope.root).chain(&scope.trees);
            let found = trees.flat_map(|tree| {
                let of_tree =
                    |rule| pattern(rule, Rule::read_spec(rule, reading.tool)?, tree, scope);
                rules.iter().filter_map(of_tree)
            });
            found.collect()
        };
        let beyond = headless::reading_beyond(self, reading);
        let answered = headless::answers_asks(self, reading);
        let forbidden = self
            .folders
            .forbidden
            .iter()
            .map(|path| (path, FORBID_READ));
        let sealed = self.sealed.iter().map(|path| (path, KEYS));
        Border {
            places: (self.folders.places(scope))
                .map(|(folder, place)| (folder.to_owned(), place))
                .collect(),
            forbidden: sealed
                .chain(forbidden)
                .map(|(path, rule)| Ban {
                    path: path.clone(),
                    rule: rule.to_owned(),
                })
                .collect(),
            deny: patterns(&self.rules.deny),
            ask: match answered {
                true => Vec::new(),
                false => patterns(&self.rules.ask),
            },
            allow: self
                .folders
                .own
                .iter()
                .cloned()
                .chain(self.rules.allow.iter().filter_map(|rule| {
                    pattern(rule, rule.read_spec(reading.tool)?, &scope.root, scope)
                }))
                .collect(),
            granted: reading.granted.to_vec(),
            listed: LISTED.iter().map(PathBuf::from).collect(),
            beyond,
        }
    }

    /// What the project's instructions may bring into the prompt. What a deny rule withholds from one tool is withheld
    /// from them; a rule for a whole tool turns the tool off and says nothing of files.
    pub fn instructions_border(&self, scope: &Scope) -> Border {
        let mut border = self.border(
            scope,
            Reading {
                tool: None,
                posture: Posture::Ask,
                attended: true,
                granted: &[],
            },
        );
        let of_tools = self.rules.deny.iter();
        let withheld =
            of_tools.filter_map(|rule| pattern(rule, rule.tool_spec()?, &scope.root, scope));
        border.deny.extend(withheld);
        border
    }

    /// What a file of the project may bring into a prompt by naming it: files of the project that no rule forbids or wants
    /// asked about, whatever the person allowed otherwise.
    pub fn project_border(&self, scope: &Scope) -> Border {
        let mut border = self.instructions_border(scope);
        border
            .places
            .retain(|(folder, place)| *place == Place::Outside || *folder == scope.root);
        Border {
            allow: Vec::new(),
            granted: Vec::new(),
            beyond: Beyond::Ask,
            ..border
        }
    }
}

/// The paths that a part of a rule speaks of, read as written for this tree.
fn pattern(rule: &Rule, spec: &str, tree: &Path, scope: &Scope) -> Option<Pattern> {
    let made = |base: &Path, glob: &str, depth: Depth| Pattern {
        base: base.to_owned(),
        glob: glob.to_owned(),
        depth,
        rule: rule.text.clone(),
    };
    let absolute = |path: &str| {
        made(
            Path::new("/"),
            path.trim_start_matches('/'),
            Depth::FromBase,
        )
    };
    if spec == "~" || spec.starts_with("~/") {
        let home = scope.user_home.as_ref()?;
        let rest = spec.get(2..).unwrap_or_default();
        return Some(absolute(&home.join(rest).to_string_lossy()));
    }
    if spec.starts_with('/') {
        return Some(absolute(spec));
    }
    Some(match spec.strip_prefix("./") {
        Some(rest) => made(tree, rest, Depth::FromBase),
        None if spec.trim_end_matches('/').contains('/') => made(tree, spec, Depth::FromBase),
        None => made(tree, spec, Depth::AnyName),
    })
}

/// The folder of a path that means a whole tree.
pub(super) fn tree_of(path: &Path) -> Option<PathBuf> {
    let text = path.to_str()?;
    let folder = text
        .strip_suffix(DEEP)
        .or_else(|| text.strip_suffix(DEEP_VISIBLE))?;
    Some(match folder {
        "" => PathBuf::from("/"),
        folder => PathBuf::from(folder),
    })
}

/// The part of a path before its first pattern.
fn folder_of(path: &Path) -> Cow<'_, Path> {
    let is_plain = |part: &Component<'_>| {
        let bytes = part.as_os_str().as_encoded_bytes();
        !bytes.iter().any(|byte| b"*?[".contains(byte))
    };
    match path.components().all(|part| is_plain(&part)) {
        true => path.into(),
        false => path
            .components()
            .take_while(is_plain)
            .collect::<PathBuf>()
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tool;
    use ostler_host::Judgement;

    fn scope() -> Scope {
        Scope::new("/repo", Some("/home/me".into()))
    }

    fn reading(granted: &[PathBuf]) -> Reading<'_> {
        Reading {
            tool: Some(tool("read_file")),
            posture: Posture::Ask,
            attended: true,
            granted,
        }
    }

    #[test]
    fn a_border_says_of_paths_what_the_rules_say() {
        let specs = [
            ".env",
            ".env*",
            "./.env",
            "secrets/**",
            "secrets/",
            "a/b",
            "*/b",
            "**/b",
            "a?c",
            "~",
            "~/x",
            "~/.ssh/**",
            "/etc/passwd",
            "/etc/*",
            "/",
            "b/",
            "./a/",
            "*",
        ];
        let paths = [
            "/repo",
            "/repo/.env",
            "/repo/a/.env",
            "/repo/.envrc",
            "/repo/secrets",
            "/repo/a/b",
            "/repo/secrets/k",
            "/repo/x/a/b",
            "/repo/abc/d",
            "/repo2/.env",
            "/home/me",
            "/etc",
            "/home/me/x/y",
            "/home/me/.ssh/id",
            "/etc/passwd",
            "/etc/a/b",
            "/",
            "/home/me2/x",
        ];
        let scope = scope();
        for spec in specs {
            let rule = Rule::parse(&format!("Read({spec})"), "x:1").unwrap();
            let spec = rule.read_spec(Some(tool("read_file"))).unwrap();
            let pattern = pattern(&rule, spec, &scope.root, &scope).unwrap();
            for path in paths.map(Path::new) {
                let by_rule = rule.touches_read(path, &scope);
                assert_eq!(pattern.fits(path), by_rule, "{spec} {path:?}");
            }
        }
        let bare = Rule::parse("Read", "x:1").unwrap();
        let of_grep = Rule::parse("grep(x)", "x:1").unwrap();
        let edit = Rule::parse("Edit(x)", "x:1").unwrap();
        let spec = bare.read_spec(Some(tool("grep"))).unwrap();
        assert!(
            pattern(&bare, spec, &scope.root, &scope).is_some_and(|p| p.fits(Path::new("/a/b")))
        );
        assert!(of_grep.read_spec(Some(tool("grep"))).is_some());
        assert!(of_grep.read_spec(Some(tool("ls"))).is_none());
        assert!(edit.read_spec(Some(tool("grep"))).is_none());
    }

    #[test]
    fn what_lies_where() {
        let policy = Policy {
            folders: Folders {
                inside: vec!["/more".into(), "/repo/.home/sessions/own".into()],
                outside: vec!["/repo/.home".into()],
                forbidden: vec!["/home/me/.ssh".into(), "/repo/keys".into()],
                protected: vec!["/repo/.home".into()],
                own: Vec::new(),
                ..Folders::default()
            },
            ..Policy::default()
        };
        let scope = Scope {
            temp: Some("/run/tmp-1".into()),
            ..scope()
        };
        let given = ["/given".into()];
        let border = policy.border(&scope, reading(&given));
        let banned = Judgement::Forbidden(FORBID_READ.into());
        for (path, expect) in [
            ("/repo/a", Judgement::Inside),
            ("/more/a", Judgement::Inside),
            ("/run/tmp-1/a", Judgement::Inside),
            ("/given/a", Judgement::Inside),
            ("/repo/.home/sessions/own/a", Judgement::Inside),
            ("/repo/.home/sessions/other", Judgement::Outside),
            ("/usr/share/doc", Judgement::Public),
            ("/etc/shadow", Judgement::Outside),
            ("/home/me/.ssh/id", banned.clone()),
            ("/repo/keys/k", banned),
        ] {
            assert_eq!(border.judge(Path::new(path)), expect, "{path}");
        }
        let pairs = [("/repo/*/x", Place::Inside), ("/**", Place::Outside)];
        for (path, expect) in pairs {
            assert_eq!(policy.folders.place(Path::new(path), &scope), expect);
        }
        assert!(policy.folders.ban(Path::new("/home/**")).is_some());
        assert!(policy.folders.ban(Path::new("/home/me/x")).is_none());
        // A worktree that lies in our home is a project like any other.
        let protected = policy.folders.protected(&scope, &[]);
        assert!(protected.holds(Path::new("/repo/.home/AGENTS.md")));
        let tree = Scope::new("/repo/.home/worktrees/w", None);
        let protected = policy.folders.protected(&tree, &[]);
        assert!(!protected.holds(Path::new("/repo/.home/worktrees/w/src/a")));
        assert!(protected.holds(Path::new("/repo/.home/worktrees/w/.git")));
    }
}
