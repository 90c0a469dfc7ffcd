//! Deny rules about files, as paths that the sandbox can cover: looked for once at the start, near the top of the project.
//! What is made later or lies deeper is bound by the rules alone.

use ostler_engine::tool::Scope;
use ostler_guard::Rule;
use std::fs;
use std::path::{Path, PathBuf};

/// Files and folders that are looked at, and how far down.
const MAX_LOOKED_AT: usize = 4096;
const MAX_DEPTH: usize = 4;
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
        if !inside.is_empty() {
            found.walk(&inside, scope);
        }
        found
    }

    fn walk(&mut self, rules: &[&Rule], scope: &Scope) {
        let mut open = vec![(scope.root.clone(), 0)];
        let mut seen = 0;
        while let Some((folder, depth)) = open.pop() {
            let Ok(entries) = fs::read_dir(&folder) else {
                continue;
            };
            for entry in entries.flatten() {
                seen += 1;
                if seen > MAX_LOOKED_AT {
                    return;
                }
                let path = entry.path();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let passed_over = PASSED_OVER.iter().any(|name| entry.file_name() == *name);
                if !self.take(rules, &path, scope) && is_folder && !passed_over && depth < MAX_DEPTH
                {
                    open.push((path, depth + 1));
                }
            }
        }
    }

    /// Whether the path may not be read, so that nothing below it need be looked at.
    fn take(&mut self, rules: &[&Rule], path: &Path, scope: &Scope) -> bool {
        let reads = rules.iter().any(|rule| rule.touches_read(path, scope));
        let writes = rules.iter().any(|rule| rule.touches_write(path, scope));
        if reads && self.read.len() < MAX_FOUND {
            self.read.push(path.to_owned());
        }
        if writes && self.write.len() < MAX_FOUND {
            self.write.push(path.to_owned());
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
    let is_pattern = |part: &str| part.contains(['*', '?']);
    if !is_pattern(&path.to_string_lossy()) {
        return vec![path];
    }
    match path.parent() {
        Some(folder) if !is_pattern(&folder.to_string_lossy()) => {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.take(MAX_LOOKED_AT).map(|e| e.path()).collect()
        }
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
        check(&["Read(*.pem)"], &["root/sub/key.pem"], &[]);
        check(&["Read(private/**)"], &["root/private/a"], &[]);
        check(&["Edit(sub/key.pem)"], &[], &["root/sub/key.pem"]);
        check(&["Read(~/.netrc)"], &["home/.netrc"], &[]);
        check(&["Read(~/keys/*.pem)"], &["home/keys/a.pem"], &[]);
        check(&["Read(~/*/b.txt)"], &[], &[]);
    }
}
