//! Where files lie as seen from a session, and the border that travels with every read: built here from settings, rules
//! and what the person allowed, judged by `ostler_host::Border` on the opened file.

use super::Scope;
use super::shell::LISTED;
use super::{Policy, Posture, Reading, Rule, headless};
use ostler_host::{Ban, Beyond, Border, Depth, Pattern, Place};
use std::path::{Path, PathBuf};

/// What a ban by `[sandbox] forbid_read` is called.
const FORBID_READ: &str = "[sandbox] forbid_read";
const KEYS: &str = "Ostler keeps keys in it";

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

    /// Whose names the person is offered behind `@`: files of the project and of added folders that no rule forbids or wants
    /// asked about. What was allowed outside of them opens no name.
    pub fn offered_border(&self, scope: &Scope) -> Border {
        Border {
            allow: Vec::new(),
            granted: Vec::new(),
            listed: Vec::new(),
            beyond: Beyond::Ask,
            ..self.instructions_border(scope)
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Folders;
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
