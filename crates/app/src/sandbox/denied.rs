//! Deny rules about files, as paths that the sandbox can cover: looked for once at the start, near the top of the project.
//! What is made later or lies deeper is bound by the rules alone.

use ostler_engine::tool::Scope;
use ostler_guard::Rule;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

/// Entries that are looked at for the rules of one file of settings, and how far down.
const MAX_LOOKED_AT: usize = 65_536;
const MAX_DEPTH: usize = 4;
/// Comparisons of an entry with a rule: of more rules than a file of settings usually has, fewer entries are looked at.
const MAX_COMPARED: usize = 1 << 21;
/// Most paths of each kind for the rules of one file of settings.
const MAX_FOUND: usize = 256;
/// Files of settings whose rules are looked for apart, so that those of one do not crowd out those of another.
const MAX_SOURCES: usize = 16;
/// Nobody's own files lie there, and they are large.
const PASSED_OVER: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// What rules deny to read and to change, as far as it is there.
#[derive(Debug, Default, PartialEq)]
pub struct Denied {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    /// Not all could be looked at.
    pub incomplete: bool,
}

impl Denied {
    pub fn find(rules: &[Rule], scope: &Scope) -> Self {
        let mut found = Self::default();
        for rules in by_source(rules) {
            let part = Self::of_one_source(&rules, scope);
            let add = |list: &mut Vec<PathBuf>, more: Vec<PathBuf>| {
                let new = more.into_iter().filter(|path| !list.contains(path));
                let new: Vec<PathBuf> = new.collect();
                list.extend(new);
            };
            add(&mut found.read, part.read);
            add(&mut found.write, part.write);
            found.incomplete |= part.incomplete;
        }
        found
    }

    fn of_one_source(rules: &[&Rule], scope: &Scope) -> Self {
        let mut found = Self::default();
        let mut wanted: Vec<&Rule> = Vec::new();
        for rule in rules.iter().copied() {
            match named(rule, scope) {
                // What a rule names is not looked for: it may lie deep, or behind a link, which the way through the
                // project does not follow.
                Some(paths) => {
                    let is_tree = spec(rule).is_some_and(|spec| spec.ends_with("/**"));
                    for path in paths {
                        if is_tree && path.is_dir() {
                            found.take_tree(rule, &path, scope);
                        } else {
                            found.take(&[rule], &path, scope);
                        }
                    }
                }
                None => wanted.push(rule),
            }
        }
        if !wanted.is_empty() {
            found.walk(&wanted, scope);
        }
        found
    }

    fn walk(&mut self, rules: &[&Rule], scope: &Scope) {
        let most = MAX_LOOKED_AT.min(MAX_COMPARED / rules.len().max(1));
        let trees = std::iter::once(&scope.root).chain(&scope.trees);
        let mut open: VecDeque<(PathBuf, usize)> = trees.map(|tree| (tree.clone(), 0)).collect();
        let mut seen = 0;
        // The upper ones first.
        while let Some((folder, depth)) = open.pop_front() {
            let Ok(entries) = fs::read_dir(&folder) else {
                continue;
            };
            for entry in entries.flatten() {
                seen += 1;
                if seen > most {
                    self.incomplete = true;
                    return;
                }
                let path = entry.path();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let passed_over = PASSED_OVER.iter().any(|name| entry.file_name() == *name);
                if !self.take(rules, &path, scope) && is_folder && !passed_over && depth < MAX_DEPTH
                {
                    open.push_back((path, depth + 1));
                }
            }
        }
    }

    /// Whether the path may not be read, so that nothing below it need be looked at.
    fn take(&mut self, rules: &[&Rule], path: &Path, scope: &Scope) -> bool {
        let reads = rules.iter().any(|rule| rule.touches_read(path, scope));
        let writes = rules.iter().any(|rule| rule.touches_write(path, scope));
        self.add(path, (reads, writes));
        reads
    }

    /// All below a folder is as good as the folder, and covers what is made in it later.
    fn take_tree(&mut self, rule: &Rule, folder: &Path, scope: &Scope) {
        let below = folder.join("x");
        let (reads, writes) = (
            rule.touches_read(&below, scope),
            rule.touches_write(&below, scope),
        );
        self.add(folder, (reads, writes));
    }

    fn add(&mut self, path: &Path, (reads, writes): (bool, bool)) {
        let mut is_full = false;
        let mut add = |list: &mut Vec<PathBuf>| match list.iter().any(|known| known == path) {
            true => {}
            false if list.len() < MAX_FOUND => list.push(path.to_owned()),
            false => is_full = true,
        };
        if reads {
            add(&mut self.read);
        }
        if writes {
            add(&mut self.write);
        }
        self.incomplete |= is_full;
    }
}

/// The rules about files of each file of settings, in the order of the first of each.
fn by_source(rules: &[Rule]) -> Vec<Vec<&Rule>> {
    let mut sources: Vec<(&str, Vec<&Rule>)> = Vec::new();
    for rule in rules.iter().filter(|rule| spec(rule).is_some()) {
        // `file:line:column`.
        let digits = |c: char| c.is_ascii_digit() || c == ':';
        let source = rule.from.trim_end_matches(digits);
        let is_last = sources.len() >= MAX_SOURCES;
        match sources.iter_mut().find(|(known, _)| *known == source) {
            Some((_, rules)) => rules.push(rule),
            None if is_last => {
                if let Some((_, rules)) = sources.last_mut() {
                    rules.push(rule);
                }
            }
            None => sources.push((source, vec![rule])),
        }
    }
    sources.into_iter().map(|(_, rules)| rules).collect()
}

/// The paths that a rule names, if it names some: a certain path, or a pattern in one folder. `None` for a name or a pattern
/// that may be anywhere in the project.
fn named(rule: &Rule, scope: &Scope) -> Option<Vec<PathBuf>> {
    let spec = spec(rule)?;
    let is_path = spec.starts_with(['/', '~']) || spec.trim_end_matches('/').contains('/');
    is_path.then(|| candidates(&spec, scope)).flatten()
}

/// What is there of a certain path, or of a pattern in one folder.
fn candidates(spec: &str, scope: &Scope) -> Option<Vec<PathBuf>> {
    let path = scope.path(spec.trim_end_matches("/**").trim_end_matches('/'));
    let is_pattern = |path: &Path| path.to_string_lossy().contains(['*', '?']);
    if !is_pattern(&path) {
        let roots = std::iter::once(&scope.root).chain(&scope.trees);
        let copies = path.strip_prefix(&scope.root).ok().map(|below| {
            let copies = roots.map(|root| root.join(below));
            copies.collect::<Vec<_>>()
        });
        let all = copies.unwrap_or_else(|| vec![path]);
        let there = all
            .into_iter()
            .filter(|path| path.symlink_metadata().is_ok());
        return Some(there.collect());
    }
    let folder = path.parent().filter(|folder| !is_pattern(folder))?;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    Some(entries.take(MAX_LOOKED_AT).map(|e| e.path()).collect())
}

fn spec(rule: &Rule) -> Option<String> {
    let text = rule.canonical();
    let (family, rest) = text.split_once('(')?;
    let spec = rest.strip_suffix(')')?;
    matches!(family, "Read" | "Edit").then(|| spec.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_become_paths() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for name in [
            "root/.env",
            "root/sub/.env",
            "root/sub/key.pem",
            "root/private/a",
            "root/1/2/3/4/5/6/deep",
            "root/node_modules/x/.env",
            "root/.git/config",
            "home/.netrc",
            "home/keys/a.pem",
            "home/keys/b.txt",
        ] {
            let path = top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let scope = Scope::new(top.join("root"), Some(top.join("home")));
        let check = |rules: &[&str], read: &[&str], write: &[&str]| {
            let rules: Vec<Rule> = rules.iter().map(|r| Rule::parse(r, "x").unwrap()).collect();
            let mut found = Denied::find(&rules, &scope);
            found.read.sort();
            found.write.sort();
            let paths = |names: &[&str]| names.iter().map(|n| top.join(n)).collect::<Vec<_>>();
            assert_eq!(
                (found.read, found.write),
                (paths(read), paths(write)),
                "{rules:?}"
            );
        };
        check(&[], &[], &[]);
        check(&["Read", "Bash", "Bash(rm:*)", "Net(a.b)"], &[], &[]);
        check(&["Read(.env)"], &["root/.env", "root/sub/.env"], &[]);
        check(&["Read(./.env)"], &["root/.env"], &[]);
        // A name is looked for near the top; a path is found wherever it leads.
        check(&["Read(deep)"], &[], &[]);
        let deep = ["root/1/2/3/4/5/6/deep"];
        for rule in ["1/2/3/4/5/6/deep", "./1/2/3/4/5/6/deep", "1/2/3/4/5/6/*"] {
            check(&[&format!("Read({rule})")], &deep, &[]);
        }
        check(&["Read(1/2/3/4/5/6/**)"], &["root/1/2/3/4/5/6"], &[]);
        check(&["Read(*.pem)"], &["root/sub/key.pem"], &[]);
        check(&["Read(private/**)"], &["root/private"], &[]);
        check(&["Edit(private/**)"], &[], &["root/private"]);
        check(&["Edit(sub/key.pem)"], &[], &["root/sub/key.pem"]);
        check(&["Read(~/.netrc)"], &["home/.netrc"], &[]);
        check(&["Read(~/keys/*.pem)"], &["home/keys/a.pem"], &[]);
        check(&["Read(~/*/b.txt)"], &[], &[]);
    }

    /// What is compared is bounded, and the rules of one file do not take the place of another's.
    #[test]
    fn many_rules_are_looked_for_in_fewer_files() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for number in 0..40 {
            fs::create_dir_all(top.join(format!("d{number}/e"))).unwrap();
            fs::write(top.join(format!("d{number}/e/s")), "").unwrap();
        }
        fs::create_dir(top.join("secrets")).unwrap();
        for number in 0..300 {
            fs::write(top.join(format!("secrets/{number}")), "").unwrap();
        }
        let scope = Scope::new(top.clone(), None);
        let found = |rules: usize| {
            let others = (0..rules).map(|n| (format!("Read(other{n})"), "repo/ostler.toml:1:2"));
            let all = others.chain([("Read(s)".into(), "home/config.toml:3:4")]);
            let all: Vec<Rule> = all
                .map(|(r, from)| Rule::parse(&r, from).unwrap())
                .collect();
            let found = Denied::find(&all, &scope);
            (found.read.len(), found.incomplete)
        };
        assert_eq!(found(10), (40, false));
        assert_eq!(found(MAX_COMPARED / 42), (40, true));
        let rule = Rule::parse("Read(secrets/**)", "x:1").unwrap();
        assert_eq!(Denied::find(&[rule], &scope).read, [top.join("secrets")]);
    }
}
