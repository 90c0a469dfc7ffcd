//! Instruction files (AGENTS.md and its relatives): found from the home down to the root, imports resolved, rendered once.

use crate::{ReadFile, Reader, front};
use ostler_host::Border;
use ostler_wire::{Language, Word, marked, untricked};
use std::borrow::Cow;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// In each folder the first of these counts.
const NAMES: &[&str] = &[
    "AGENTS.md",
    "OSTLER.md",
    "REASONIX.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".cursorrules",
];
/// Of the root: rules in files of their own. Those count that say they always apply.
const RULES: &str = ".cursor/rules";
const RULE_ENDING: &str = "mdc";
const ALWAYS: &str = "alwaysApply";
/// Of that folder.
const MAX_RULES: usize = 64;
const MAX_IMPORT_DEPTH: usize = 5;
/// One file, imports not counted.
const MAX_FILE_BYTES: u64 = 256 * 1024;
const MAX_TOTAL_BYTES: usize = 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// `# Project Context` with a section per file, or nothing.
    pub text: String,
    /// Files that were taken in, as they are shown.
    pub loaded: Vec<String>,
    /// What could not be read.
    pub warnings: Vec<String>,
}

/// What may be read, and what the person should know.
struct Told {
    reader: Reader,
    texts: Vec<String>,
}

impl Told {
    fn tell<const N: usize>(&mut self, word: Word<N>, values: &[&str; N]) {
        self.texts.push(self.reader.language.fill(word, values));
    }

    /// A file as far as rules let it be read. One that a rule wants asked is left out, unless it is a file of instructions
    /// by its own name.
    fn read(&self, path: &Path) -> Result<ReadFile, String> {
        let file = self.reader.read(path, MAX_FILE_BYTES)?;
        match is_named(&file.real) {
            true => Ok(file),
            false => self.reader.check_asked(&file.real).map(|()| file),
        }
    }
}

/// Whose folder a file of instructions lies in.
#[derive(Clone, Copy)]
enum Bounds<'a> {
    /// The person's: links may lead anywhere.
    Open,
    /// The file stays in this folder, or is named like a file of instructions itself.
    Named(&'a Path),
    /// An import stays in this folder.
    Within(&'a Path),
}

impl Bounds<'_> {
    /// Why what really lies there is not taken.
    fn refuses(self, real: &Path) -> Option<Word> {
        match self {
            Self::Open => None,
            Self::Named(dir) if real.starts_with(dir) || is_named(real) => None,
            Self::Named(_) => Some(Word::FileElsewhere),
            Self::Within(dir) if real.starts_with(dir) => None,
            Self::Within(_) => Some(Word::ImportLeaves),
        }
    }
}

/// Of the home of Ostler, the person's own, and the root. Every file is judged by the border where it really lies.
pub fn load(
    (home, user_home): (&Path, Option<&Path>),
    root: &Path,
    border: &Border,
    language: Language,
) -> Instructions {
    let mut out = Instructions::default();
    let mut told = Told {
        reader: Reader::new(border.clone(), language),
        texts: Vec::new(),
    };
    // The root is canonical; a home that is reached through a link must be seen to lie above it all the same.
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (home, user_home) = (&real(home), user_home.map(real));
    let user_home = user_home.as_deref();
    let firsts = folders(home, user_home, root);
    let firsts = firsts
        .into_iter()
        .filter_map(|dir| Some((first_in(&dir)?, dir)));
    let rules = rules(root).into_iter().map(|rule| (rule, root.to_owned()));
    for (path, dir) in firsts.chain(rules) {
        let shown = shown(&path, user_home, root);
        let own = dir == *home || Some(dir.as_path()) == user_home;
        // A repository may bring links, and what is here goes to the model unasked.
        let real_dir = real(&dir);
        let bounds = match own {
            true => Bounds::Open,
            false => Bounds::Named(&real_dir),
        };
        match read(&path, (&real_dir, bounds), 0, &mut told) {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) if is_rule(&path) && always_applies(&text).is_none() => {}
            Ok(text) if out.text.len() + text.len() > MAX_TOTAL_BYTES => {
                told.tell(Word::FileLeft, &[&shown, &MAX_TOTAL_BYTES.to_string()]);
            }
            Ok(text) => {
                let rule = is_rule(&path).then(|| always_applies(&text)).flatten();
                let (text, dropped) = seen(rule.as_deref().unwrap_or(&text));
                if dropped > 0 {
                    let values = [shown.as_str(), &dropped.to_string()];
                    let text = language.many(Word::FileHidden, dropped, &values);
                    told.texts.push(text);
                }
                let title = if out.text.is_empty() {
                    "# Project Context\n\n"
                } else {
                    "\n\n"
                };
                out.text
                    .push_str(&format!("{title}## {shown}\n\n{}", text.trim()));
                out.loaded.push(shown);
            }
            Err(why) => told.tell(Word::FileUnread, &[&shown, &why]),
        }
    }
    out.warnings = told.texts;
    out
}

/// The file of a folder that counts, or the one to begin.
pub fn file_of(dir: &Path) -> PathBuf {
    first_in(dir).unwrap_or_else(|| dir.join("AGENTS.md"))
}

fn is_named(path: &Path) -> bool {
    NAMES.iter().any(|name| path.ends_with(name)) || is_rule(path)
}

fn is_rule(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == RULE_ENDING)
        && path.parent().is_some_and(|folder| folder.ends_with(RULES))
}

/// The rules of a root, sorted.
fn rules(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join(RULES))
        .into_iter()
        .flatten()
        .flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|p| is_rule(p))
        .collect();
    found.sort();
    found.truncate(MAX_RULES);
    found
}

/// The text of a rule that is for every prompt. Others are for certain files, which is for the model that reads them.
fn always_applies(text: &str) -> Option<String> {
    let (front, body) = front::read(text, Language::English).ok()?;
    (front.flag(ALWAYS) == Some(true)).then(|| body.to_owned())
}

/// The file of a folder that counts. One with nothing in it says nothing, also not that the others do not count.
fn first_in(dir: &Path) -> Option<PathBuf> {
    let is_empty = |path: &PathBuf| {
        let read = ostler_host::read_bounded(path, MAX_FILE_BYTES, &Border::none());
        read.is_ok_and(|read| !read.truncated && read.bytes.trim_ascii().is_empty())
    };
    NAMES
        .iter()
        .map(|name| dir.join(name))
        .filter(|path| fs::symlink_metadata(path).is_ok())
        .find(|path| !is_empty(path))
}

/// The home of Ostler, then from the person's home down to the root, or the root alone when it lies elsewhere.
fn folders(home: &Path, user_home: Option<&Path>, root: &Path) -> Vec<PathBuf> {
    let mut dirs = vec![home.to_owned()];
    if let Some(user_home) = user_home
        && let Ok(below) = root.strip_prefix(user_home)
    {
        let mut dir = user_home.to_owned();
        if dir != home {
            dirs.push(dir.clone());
        }
        for part in below.components() {
            dir.push(part);
            dirs.push(dir.clone());
        }
    }
    if dirs.last().map(PathBuf::as_path) != Some(root) {
        dirs.push(root.to_owned());
    }
    dirs.dedup();
    dirs
}

/// The text as a person sees it, and how many characters were more than that. What nobody sees nobody agreed to.
fn seen(text: &str) -> (Cow<'_, str>, usize) {
    let text = match text.contains('\r') {
        true => Cow::Owned(text.replace("\r\n", "\n")),
        false => Cow::Borrowed(text),
    };
    let count = marked(&text).filter(|(_, is_tricky)| *is_tricky).count();
    match count {
        0 => (text, 0),
        count => (Cow::Owned(untricked(&text)), count),
    }
}

fn shown(path: &Path, user_home: Option<&Path>, root: &Path) -> String {
    if let Ok(rest) = path.strip_prefix(root) {
        return rest.display().to_string();
    }
    match user_home.and_then(|h| path.strip_prefix(h).ok()) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

/// The file with its imports in place. `@relative/file.md` alone on a line imports, confined to `base`.
fn read(
    path: &Path,
    (base, bounds): (&Path, Bounds<'_>),
    depth: usize,
    told: &mut Told,
) -> Result<String, String> {
    let file = told.read(path)?;
    if let Some(why) = bounds.refuses(&file.real) {
        return Err(told.reader.language.say(why).into());
    }
    let text = String::from_utf8_lossy(&file.bytes).into_owned();
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if !text.lines().any(|l| l.starts_with('@')) {
        return Ok(text.to_owned());
    }
    let mut out = String::new();
    for line in text.lines() {
        match import(line, path, base, depth, told) {
            Some(imported) => out.push_str(imported.trim_end()),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    Ok(out)
}

fn import(line: &str, from: &Path, base: &Path, depth: usize, told: &mut Told) -> Option<String> {
    let language = told.reader.language;
    let name = line.strip_prefix('@')?.trim_end();
    let relative = Path::new(name);
    if name.is_empty() || name.contains(char::is_whitespace) || !name.contains('.') {
        return None;
    }
    let left_out = |why: &str, told: &mut Told| {
        let from = from.display().to_string();
        told.tell(Word::ImportLeft, &[name, &from, why]);
        Some(String::new())
    };
    let say = |word: Word| language.say(word);
    if relative
        .components()
        .any(|c| !matches!(c, Component::Normal(_) | Component::CurDir))
    {
        return left_out(say(Word::ImportLeaves), told);
    }
    if depth >= MAX_IMPORT_DEPTH {
        return left_out(say(Word::ImportDeep), told);
    }
    let target = from.parent().unwrap_or(base).join(relative);
    let Ok(real) = target.canonicalize() else {
        return left_out(say(Word::ImportNone), told);
    };
    match read(&real, (base, Bounds::Within(base)), depth + 1, told) {
        Ok(text) => Some(text),
        Err(why) => left_out(&why, told),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn order_names_and_imports() {
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().canonicalize().unwrap();
        let (home, root) = (user.join(".ostler"), user.join("code/app"));
        write(home.join("AGENTS.md"), "global");
        write(user.join("CLAUDE.md"), "mine");
        write(user.join("code/AGENTS.md"), "  \n");
        write(root.join("OSTLER.md"), "never read");
        write(
            root.join("AGENTS.md"),
            "project\n@docs/a.md\n@../../CLAUDE.md\n@gone.md\n@someone hello",
        );
        write(root.join("docs/a.md"), "imported\n@b.md\n");
        write(root.join("docs/b.md"), "deeper");
        let out = load(
            (&home, Some(&user)),
            &root,
            &Border::none(),
            Language::English,
        );
        assert_eq!(
            out.text,
            "# Project Context\n\n## ~/.ostler/AGENTS.md\n\nglobal\n\n## ~/CLAUDE.md\n\nmine\n\n## AGENTS.md\n\nproject\nimported\ndeeper\n\n\n@someone hello"
        );
        assert_eq!(
            out.loaded,
            ["~/.ostler/AGENTS.md", "~/CLAUDE.md", "AGENTS.md"]
        );
        assert_eq!(out.warnings.len(), 2, "{:?}", out.warnings);
    }

    #[test]
    fn files_of_other_agents_are_read_in_place() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let none = root.join("none");
        write(root.join("GEMINI.md"), "for all");
        let rule = |name: &str, front: &str| {
            let text = format!("---\ndescription: {name}\nglobs:\n{front}---\nrule {name}\n");
            write(root.join(".cursor/rules").join(name), &text);
        };
        rule("a.mdc", "alwaysApply: true\n");
        rule("b.mdc", "alwaysApply: false\n");
        rule("c.mdc", "");
        rule("d.md", "alwaysApply: true\n");
        let out = load((&none, None), &root, &Border::none(), Language::English);
        assert_eq!(out.loaded, ["GEMINI.md", ".cursor/rules/a.mdc"]);
        assert!(
            out.text.ends_with("## .cursor/rules/a.mdc\n\nrule a.mdc"),
            "{}",
            out.text
        );
        assert_eq!(out.warnings, [""; 0]);
    }

    #[test]
    fn what_nobody_sees_is_left_out_and_told() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let none = root.join("none");
        for (text, expect, dropped) in [
            (
                "plain\r\ntext 标题 👩\u{200d}💻",
                "plain\ntext 标题 👩\u{200d}💻",
                None,
            ),
            (
                "a\u{1b}[31mb\rc\u{202e}d\u{200b}",
                "a[31mbcd",
                Some("4 invisible characters"),
            ),
            ("x\u{e0041}\u{e0042}", "x", Some("2 invisible characters")),
        ] {
            write(root.join("AGENTS.md"), text);
            let out = load((&none, None), &root, &Border::none(), Language::English);
            assert_eq!(
                out.text,
                format!("# Project Context\n\n## AGENTS.md\n\n{expect}")
            );
            assert_eq!(
                out.warnings.len(),
                usize::from(dropped.is_some()),
                "{:?}",
                out.warnings
            );
            assert!(
                out.warnings
                    .iter()
                    .all(|w| w.contains(dropped.unwrap_or("?"))),
                "{:?}",
                out.warnings
            );
        }
    }

    #[test]
    fn an_empty_file_hides_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        write(root.join("AGENTS.md"), " \n");
        write(root.join("CLAUDE.md"), "mine");
        assert_eq!(
            load(
                (&root.join("none"), None),
                &root,
                &Border::none(),
                Language::English
            )
            .loaded,
            ["CLAUDE.md"]
        );
        fs::remove_file(root.join("CLAUDE.md")).unwrap();
        let out = load(
            (&root.join("none"), None),
            &root,
            &Border::none(),
            Language::English,
        );
        assert_eq!((out.loaded.len(), out.warnings.len()), (0, 0));
    }

    #[cfg(unix)]
    #[test]
    fn a_home_behind_a_link_is_above_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let linked = base.join("linked");
        std::os::unix::fs::symlink(base.join("real"), &linked).unwrap();
        write(base.join("real/.ostler/AGENTS.md"), "global");
        write(base.join("real/AGENTS.md"), "mine");
        write(base.join("real/app/AGENTS.md"), "project");
        let root = base.join("real/app");
        let out = load(
            (&linked.join(".ostler"), Some(&linked)),
            &root,
            &Border::none(),
            Language::English,
        );
        assert_eq!(
            out.loaded,
            ["~/.ostler/AGENTS.md", "~/AGENTS.md", "AGENTS.md"]
        );
    }

    #[test]
    fn a_root_elsewhere_has_no_ancestors() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        write(base.join("AGENTS.md"), "outside");
        write(base.join("root/AGENTS.md"), "root");
        let homes = (&*base.join("home/.ostler"), Some(&*base.join("home")));
        let out = load(
            homes,
            &base.join("root"),
            &Border::none(),
            Language::English,
        );
        assert_eq!(out.loaded, ["AGENTS.md"]);
    }

    #[test]
    fn circles_and_folders_do_not_hang() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        write(root.join("AGENTS.md"), "@AGENTS.md");
        let out = load(
            (&root.join("none"), None),
            &root,
            &Border::none(),
            Language::English,
        );
        assert!(
            out.warnings.iter().any(|w| w.contains("too deep")),
            "{out:?}"
        );
        fs::remove_file(root.join("AGENTS.md")).unwrap();
        fs::create_dir(root.join("AGENTS.md")).unwrap();
        let out = load(
            (&root.join("none"), None),
            &root,
            &Border::none(),
            Language::English,
        );
        assert!(
            out.warnings.iter().any(|w| w.contains("not a file")),
            "{out:?}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_of_a_repository_leads_to_no_other_file() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().canonicalize().unwrap();
        write(user.join(".ssh/id"), "KEY");
        write(user.join("dot/mine.md"), "MINE");
        write(user.join("src/CLAUDE.md"), "ABOVE");
        write(user.join("src/repo/docs/a.md"), "INSIDE");
        let (home, root) = (user.join(".ostler"), user.join("src/repo"));
        fs::create_dir(&home).unwrap();
        symlink("../dot/mine.md", home.join("AGENTS.md")).unwrap();
        for (target, expect) in [
            ("../../.ssh/id", &["MINE", "ABOVE"][..]),
            ("docs/a.md", &["MINE", "ABOVE", "INSIDE"]),
            ("../CLAUDE.md", &["MINE", "ABOVE", "ABOVE"]),
        ] {
            symlink(target, root.join("AGENTS.md")).unwrap();
            let found = load(
                (&home, Some(&user)),
                &root,
                &Border::none(),
                Language::English,
            );
            let texts = found
                .text
                .lines()
                .filter(|l| !l.is_empty() && !l.starts_with('#'));
            assert_eq!(texts.collect::<Vec<_>>(), expect, "{target}");
            assert_eq!(found.warnings.is_empty(), expect.len() == 3, "{target}");
            fs::remove_file(root.join("AGENTS.md")).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_may_not_be_read_is_no_instruction() {
        use ostler_guard::{Folders, Policy, Rule};
        use ostler_tools::tool::Scope;
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for path in [".env", "sec/k.txt", "keys.json", "asked/a.md"] {
            write(root.join(path), "SECRET");
        }
        write(root.join("docs/a.md"), "fine");
        write(root.join("docs/deep.md"), "@.env");
        write(root.join("docs/.env"), "SECRET");
        symlink(".env", root.join("link.md")).unwrap();
        symlink("sec", root.join("folder.d")).unwrap();
        let rules = |texts: &[&str]| -> Vec<Rule> {
            let parsed = texts.iter().map(|text| Rule::parse(text, "x:1").unwrap());
            parsed.collect()
        };
        let mut policy = Policy {
            folders: Folders {
                forbidden: vec![root.join("sec")],
                ..Folders::default()
            },
            sealed: vec![root.join("keys.json")],
            ..Policy::default()
        };
        policy.rules.deny = rules(&["Read(.env)", "read_file"]);
        policy.rules.ask = rules(&["Read(asked/**)", "Read(AGENTS.md)"]);
        let border = policy.instructions_border(&Scope::new(&root, None));
        let check = |shown: &str, texts: &[&str], warnings: usize| {
            let out = load(
                (&root.join("none"), None),
                &root,
                &border,
                Language::English,
            );
            let found = out
                .text
                .lines()
                .filter(|l| !l.is_empty() && !l.starts_with('#'));
            assert_eq!(found.collect::<Vec<_>>(), texts, "{shown}");
            assert_eq!(out.warnings.len(), warnings, "{shown} {:?}", out.warnings);
            let names = |warning: &String| warning.contains(shown);
            assert!(out.warnings.iter().all(names), "{shown} {:?}", out.warnings);
        };
        for (import, shown) in [
            (".env", "@.env"),
            ("./.env", "@./.env"),
            ("link.md", "@link.md"),
            ("sec/k.txt", "@sec/k.txt"),
            ("folder.d/k.txt", "@folder.d/k.txt"),
            ("keys.json", "@keys.json"),
            ("docs/deep.md", "@.env"),
            ("asked/a.md", "@asked/a.md"),
        ] {
            write(
                root.join("AGENTS.md"),
                &format!("before\n@{import}\n@docs/a.md"),
            );
            check(shown, &["before", "fine"], 1);
        }
        for target in [".env", "sec/k.txt", "keys.json", "link.md", "asked/a.md"] {
            fs::remove_file(root.join("AGENTS.md")).unwrap();
            symlink(target, root.join("AGENTS.md")).unwrap();
            check("AGENTS.md", &[], 1);
        }
    }
}
