//! Deny rules about files, as paths that the sandbox can cover: looked for once at the start, near the top of the project.
//! What is made later or lies deeper is bound by the rules alone.

use ostler_engine::tool::Scope;
use ostler_guard::Rule;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

/// Files and folders that are looked at, and how far down.
const MAX_LOOKED_AT: usize = 4096;
const MAX_DEPTH: usize = 4;
/// Rules that are looked for among all of these; of more rules, among fewer files.
pub const MAX_RULES: usize = 256;
/// Most paths of each kind.
const MAX_FOUND: usize = 256;
/// Nobody's own files lie there, and they are large.
const PASSED_OVER: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// What rules deny to read and to change, as far as it is there.
#[derive(Debug, Default, PartialEq)]
pub struct Denied {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
}

impl Denied {
    /// How many of the rules are looked for among the files of the project.
    pub fn count(rules: &[Rule]) -> usize {
        let inside = rules.iter().filter_map(spec);
        inside.filter(|spec| !spec.starts_with(['/', '~'])).count()
    }

    pub fn find(rules: &[Rule], scope: &Scope) -> Self {
        let rules: Vec<&Rule> = rules.iter().filter(|rule| spec(rule).is_some()).collect();
        let mut found = Self::default();
        let anchored = |rule: &Rule| {
            let spec = spec(rule);
            spec.as_deref().is_some_and(|s| s.starts_with(['/', '~']))
        };
        let (outside, inside): (Vec<&Rule>, Vec<&Rule>) =
            rules.into_iter().partition(|rule| anchored(rule));
        for rule in outside {
            for path in candidates(rule, scope) {
                found.take(&[rule], &path, scope);
            }
        }
        // A rule that names its path is not looked for: what it names may lie deep, or behind a link, which the way through
        // the project does not follow.
        for rule in &inside {
            let is_path = spec(rule).is_some_and(|s| s.trim_end_matches('/').contains('/'));
            let named = is_path.then(|| candidates(rule, scope));
            for path in named.into_iter().flatten() {
                if path.symlink_metadata().is_ok() {
                    found.take(&[rule], &path, scope);
                }
            }
        }
        if !inside.is_empty() {
            found.walk(&inside, scope);
        }
        found
    }

    fn walk(&mut self, rules: &[&Rule], scope: &Scope) {
        let most = MAX_LOOKED_AT * MAX_RULES / rules.len().max(MAX_RULES);
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
        let add = |list: &mut Vec<PathBuf>| {
            if list.len() < MAX_FOUND && !list.iter().any(|known| known == path) {
                list.push(path.to_owned());
            }
        };
        if reads {
            add(&mut self.read);
        }
        if writes {
            add(&mut self.write);
        }
        reads
    }
}

/// What a rule of a certain path or of a pattern in one folder may be about.
fn candidates(rule: &Rule, scope: &Scope) -> Vec<PathBuf> {
    let Some(spec) = spec(rule) else {
        return Vec::new();
    };
    let path = scope.path(spec.trim_end_matches("/**").trim_end_matches('/'));
    let is_pattern = |path: &Path| path.to_string_lossy().contains(['*', '?']);
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.take(MAX_LOOKED_AT).map(|entry| entry.path())
    };
    match path.parent() {
        _ if !is_pattern(&path) && spec.ends_with("/**") => {
            let inner = entries(&path);
            std::iter::once(path.clone()).chain(inner).collect()
        }
        _ if !is_pattern(&path) => vec![path],
        Some(folder) if !is_pattern(folder) => entries(folder).collect(),
        Some(_) | None => Vec::new(),
    }
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
        for rule in [
            "1/2/3/4/5/6/deep",
            "./1/2/3/4/5/6/deep",
            "1/2/3/4/5/6/*",
            "1/2/3/4/5/6/**",
        ] {
            check(&[&format!("Read({rule})")], &deep, &[]);
        }
        check(&["Read(*.pem)"], &["root/sub/key.pem"], &[]);
        check(&["Read(private/**)"], &["root/private/a"], &[]);
        check(&["Edit(sub/key.pem)"], &[], &["root/sub/key.pem"]);
        check(&["Read(~/.netrc)"], &["home/.netrc"], &[]);
        check(&["Read(~/keys/*.pem)"], &["home/keys/a.pem"], &[]);
        check(&["Read(~/*/b.txt)"], &[], &[]);
    }

    /// What is compared is bounded, whatever the number of rules and of files.
    #[test]
    fn many_rules_are_looked_for_in_fewer_files() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for number in 0..40 {
            fs::create_dir_all(top.join(format!("d{number}/e"))).unwrap();
            fs::write(top.join(format!("d{number}/e/s")), "").unwrap();
        }
        fs::write(top.join(".env"), "").unwrap();
        let scope = Scope::new(top.clone(), None);
        let found = |rules: usize| {
            let others = (1..rules).map(|n| format!("Read(other{n}/**)"));
            let all = others.chain(["Read(.env)".into(), "Read(s)".into()]);
            let rules: Vec<Rule> = all.map(|r| Rule::parse(&r, "x").unwrap()).collect();
            let found = Denied::find(&rules, &scope).read;
            (Denied::count(&rules), found.len())
        };
        assert_eq!(found(10), (11, 41));
        // 42 entries are compared: those of the top and one more.
        let many = MAX_LOOKED_AT * MAX_RULES / 42 - 1;
        assert_eq!(found(many), (many + 1, 1));
    }
}
