//! Rules as people write them: `Tool`, `Tool(spec)`, `Bash(words:*)`, and the older `tool=literal`.

use crate::tool::Scope;
use crate::tools::canonical_name;
use std::path::Path;

/// One rule, with the text it was written as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub text: String,
    /// Where it was written, ready to show (`file:line`).
    pub from: String,
    family: Family,
    spec: Option<Spec>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Family {
    Bash,
    Edit,
    Read,
    Net,
    Delegate,
    /// One tool by its canonical name.
    Tool(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Spec {
    /// `*` any run without a slash in paths, `**` any depth, `?` one.
    Glob(String),
    /// First words of a command, at a word boundary.
    Words(String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{from}: the rule `{text}` cannot be read: {why}. Write `Tool`, `Tool(spec)` or `Bash(words:*)`."
)]
pub struct RuleError {
    pub text: String,
    pub from: String,
    pub why: &'static str,
}

/// The three lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    pub deny: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub allow: Vec<Rule>,
}

impl Rules {
    pub fn is_empty(&self) -> bool {
        self.deny.is_empty() && self.ask.is_empty() && self.allow.is_empty()
    }
}

impl Rule {
    pub fn parse(text: &str, from: &str) -> Result<Self, RuleError> {
        let fail = |why| RuleError {
            text: text.to_owned(),
            from: from.to_owned(),
            why,
        };
        let trimmed = text.trim();
        let (name, spec) = match (trimmed.split_once('('), trimmed.split_once('=')) {
            (Some((name, rest)), _) => {
                let spec = rest
                    .strip_suffix(')')
                    .ok_or_else(|| fail("`)` is missing"))?;
                (name.trim(), Some(spec.trim()))
            }
            (None, Some((name, literal))) => (name.trim(), Some(literal.trim())),
            (None, None) => (trimmed, None),
        };
        if name.is_empty() {
            return Err(fail("the tool's name is missing"));
        }
        if !name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        {
            return Err(fail("a tool's name has only letters, digits, `_` and `-`"));
        }
        if spec == Some("") {
            return Err(fail("the part in brackets is empty"));
        }
        let family = family(name);
        let spec = spec.map(|spec| match (&family, spec.strip_suffix(":*")) {
            (Family::Bash, Some(words)) => Spec::Words(words.trim().to_owned()),
            // The older form of the same thing.
            (Family::Bash, None) if is_old_prefix(spec) => {
                Spec::Words(spec.trim_end_matches(['*', ' ']).to_owned())
            }
            (_, Some(_) | None) => Spec::Glob(spec.to_owned()),
        });
        Ok(Self {
            text: trimmed.to_owned(),
            from: from.to_owned(),
            family,
            spec,
        })
    }

    /// The tool that the rule is about, when there is none of that name. Tools of servers are known later.
    pub fn unknown_tool(&self) -> Option<&str> {
        match &self.family {
            Family::Tool(name) if !name.starts_with("mcp__") && canonical_name(name).is_none() => {
                Some(name)
            }
            Family::Tool(_)
            | Family::Bash
            | Family::Edit
            | Family::Read
            | Family::Net
            | Family::Delegate => None,
        }
    }

    /// Whether the rule speaks of every call of this tool.
    pub fn covers_tool(&self, tool: &str) -> bool {
        self.spec.is_none()
            && match &self.family {
                Family::Bash => matches!(tool, "bash" | "bash_input"),
                Family::Edit => EDITORS.contains(&tool),
                Family::Read => READERS.contains(&tool),
                Family::Net => matches!(tool, "fetch_url" | "web_search"),
                Family::Delegate => matches!(tool, "delegate" | "batch" | "roundtable"),
                Family::Tool(name) => name == tool,
            }
    }

    /// Whether an allow rule speaks of this command. No shell operator may stand beside the allowed words.
    pub fn allows_command(&self, command: &str) -> bool {
        self.family == Family::Bash
            && match &self.spec {
                None => true,
                Some(Spec::Words(words)) => starts_with_words(command, words) && is_plain(command),
                Some(Spec::Glob(glob)) => {
                    matches(glob, command) && (glob == command || is_plain(command))
                }
            }
    }

    /// Whether a deny or ask rule speaks of this command, or of any command within it.
    pub fn touches_command(&self, command: &str) -> bool {
        if self.family != Family::Bash {
            return false;
        }
        let Some(spec) = &self.spec else { return true };
        let pieces = command.split(['\n', ';', '|', '&', '(', ')', '`', '{', '}']);
        std::iter::once(command)
            .chain(pieces)
            .map(str::trim)
            .any(|piece| {
                let plain = without_path(piece);
                [piece, plain.as_str()].into_iter().any(|text| match spec {
                    Spec::Words(words) => starts_with_words(text, words),
                    Spec::Glob(glob) => matches(glob, text),
                })
            })
    }

    pub fn touches_read(&self, path: &Path, scope: &Scope) -> bool {
        self.family == Family::Read && self.touches_path(path, scope)
    }

    pub fn touches_write(&self, path: &Path, scope: &Scope) -> bool {
        self.family == Family::Edit && self.touches_path(path, scope)
    }

    pub fn touches_host(&self, host: &str) -> bool {
        self.family == Family::Net && self.spec_matches(host)
    }

    /// A rule on the files of one tool, e.g. `write_file(docs/**)`.
    pub fn touches_tool_path(&self, tool: &str, path: &Path, scope: &Scope) -> bool {
        matches!(&self.family, Family::Tool(name) if name == tool) && self.touches_path(path, scope)
    }

    /// A rule on one tool's own subject, e.g. `fetch_url(https://…)`.
    pub fn touches_tool(&self, tool: &str, subject: &str) -> bool {
        matches!(&self.family, Family::Tool(name) if name == tool) && self.spec_matches(subject)
    }

    /// Whether the rule is about reading files at all, so that words of a command are worth a look.
    pub fn is_about_paths(&self) -> bool {
        matches!(self.family, Family::Read | Family::Edit) && self.spec.is_some()
    }

    fn spec_matches(&self, subject: &str) -> bool {
        match &self.spec {
            None => true,
            Some(Spec::Glob(text) | Spec::Words(text)) => matches(text, subject),
        }
    }

    fn touches_path(&self, path: &Path, scope: &Scope) -> bool {
        let Some(Spec::Glob(spec) | Spec::Words(spec)) = &self.spec else {
            return true;
        };
        let below = path
            .strip_prefix(&scope.root)
            .ok()
            .map(|p| p.to_string_lossy());
        let whole = path.to_string_lossy();
        if let Some(rest) = spec.strip_prefix("~/") {
            return scope
                .user_home
                .as_ref()
                .is_some_and(|home| path_matches(&home.join(rest).to_string_lossy(), &whole));
        }
        if spec.starts_with('/') {
            return path_matches(spec, &whole);
        }
        let Some(below) = below else { return false };
        match spec.strip_prefix("./") {
            Some(rest) => path_matches(rest, &below),
            None if spec.contains('/') => path_matches(spec, &below),
            // Without a slash it names a file or folder at any depth.
            None => below.split('/').any(|part| matches(spec, part)),
        }
    }
}

/// Names in rules that stand for several tools.
pub const FAMILIES: [&str; 5] = ["Bash", "Edit", "Read", "Net", "Delegate"];

const EDITORS: &[&str] = &[
    "write_file",
    "edit_file",
    "multi_edit",
    "move_file",
    "delete_range",
    "delete_symbol",
    "notebook_edit",
];
const READERS: &[&str] = &["read_file", "ls", "glob", "grep"];

fn family(name: &str) -> Family {
    match name.to_ascii_lowercase().as_str() {
        "bash" | "run_shell" | "shell" => Family::Bash,
        "edit" | "write" => Family::Edit,
        "read" => Family::Read,
        "net" => Family::Net,
        "delegate" => Family::Delegate,
        lower => Family::Tool(canonical_name(lower).unwrap_or(lower).to_owned()),
    }
}

/// `go test *` and `go test*`: words, then one star at the end and nowhere else.
fn is_old_prefix(spec: &str) -> bool {
    spec.strip_suffix('*')
        .is_some_and(|words| !words.contains(['*', '?']) && !words.trim().is_empty())
}

fn starts_with_words(command: &str, words: &str) -> bool {
    let mut have = command.split_whitespace();
    words
        .split_whitespace()
        .all(|word| have.next() == Some(word))
}

/// No operator, expansion or line break that could add another command or effect.
fn is_plain(command: &str) -> bool {
    !command.contains(['\n', ';', '|', '&', '<', '>', '`', '$', '(', ')', '{', '}'])
}

/// The first word reduced to its last path component, without escapes or quotes.
fn without_path(command: &str) -> String {
    let mut words = command.split_whitespace();
    let first = words.next().unwrap_or_default();
    let first: String = first.chars().filter(|c| !"\\'\"".contains(*c)).collect();
    let name = first.rsplit('/').next().unwrap_or_default().to_owned();
    words.fold(name, |text, word| text + " " + word)
}

fn path_matches(glob: &str, path: &str) -> bool {
    let glob = glob.trim_end_matches('/');
    // A folder's rule binds everything below it.
    matches(glob, path)
        || path
            .char_indices()
            .filter(|(_, c)| *c == '/')
            .any(|(i, _)| {
                path.get(..i)
                    .is_some_and(|parent| !parent.is_empty() && matches(glob, parent))
            })
}

/// Glob match of the whole subject: `*` any run, `**` any depth, `?` one character. Linear in both lengths at most quadratic.
fn matches(glob: &str, subject: &str) -> bool {
    let (glob, subject): (Vec<char>, Vec<char>) =
        (glob.chars().collect(), subject.chars().collect());
    let (mut g, mut s) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while s < subject.len() {
        match glob.get(g) {
            Some('*') => {
                while glob.get(g) == Some(&'*') {
                    g += 1;
                }
                retry = Some((g, s));
            }
            Some('?') => {
                g += 1;
                s += 1;
            }
            Some(c) if subject.get(s) == Some(c) => {
                g += 1;
                s += 1;
            }
            Some(_) | None => match retry {
                Some((after_star, from)) => {
                    g = after_star;
                    s = from + 1;
                    retry = Some((after_star, from + 1));
                }
                None => return false,
            },
        }
    }
    glob.get(g..)
        .is_some_and(|rest| rest.iter().all(|c| *c == '*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope() -> Scope {
        Scope {
            root: "/repo".into(),
            user_home: Some("/home/me".into()),
        }
    }

    #[test]
    fn rules_that_cannot_be_read_say_why() {
        for (text, why) in [
            ("Bash(ls", "`)` is missing"),
            ("(ls)", "the tool's name is missing"),
            (
                "Ba sh",
                "a tool's name has only letters, digits, `_` and `-`",
            ),
            ("Read()", "the part in brackets is empty"),
        ] {
            assert_eq!(Rule::parse(text, "x:1").unwrap_err().why, why, "{text}");
        }
    }

    #[test]
    fn path_specs() {
        for (rule, path, expect) in [
            ("Read(.env)", "/repo/.env", true),
            ("Read(.env)", "/repo/a/b/.env", true),
            ("Read(.env)", "/repo/.envrc", false),
            ("Read(.env*)", "/repo/.envrc", true),
            ("Read(./.env)", "/repo/a/.env", false),
            ("Read(secrets/**)", "/repo/secrets/a/b", true),
            ("Read(secrets/)", "/repo/secrets/a/b", true),
            ("Read(~/.ssh)", "/home/me/.ssh/id", true),
            ("Read(/etc/passwd)", "/etc/passwd", true),
            ("Read", "/anything", true),
            ("Edit(.env)", "/repo/.env", false),
        ] {
            let parsed = Rule::parse(rule, "x:1").unwrap();
            assert_eq!(
                parsed.touches_read(Path::new(path), &scope()),
                expect,
                "{rule} {path}"
            );
        }
    }

    #[test]
    fn rules_on_tools_that_do_not_exist() {
        for (rule, expect) in [
            ("Bsh(rm:*)", Some("bsh")),
            ("Frobnicate", Some("frobnicate")),
            ("read_file(.env)", None),
            ("web_fetch", None),
            ("mcp__server__tool", None),
            ("Delegate", None),
        ] {
            let parsed = Rule::parse(rule, "x:1").unwrap();
            assert_eq!(parsed.unknown_tool(), expect, "{rule}");
        }
        for name in FAMILIES {
            assert_eq!(Rule::parse(name, "x:1").unwrap().unknown_tool(), None);
        }
    }

    #[test]
    fn command_specs() {
        for (rule, command, allows, denies) in [
            ("Bash(go test:*)", "go test ./...", true, true),
            ("Bash(go test:*)", "go test", true, true),
            ("Bash(go test:*)", "go testing", false, false),
            (
                "Bash(go test:*)",
                "go test ./... && rm -rf tmp",
                false,
                true,
            ),
            ("Bash(go test:*)", "go test $(x)", false, true),
            ("Bash(go test:*)", "go test > /etc/x", false, true),
            ("bash(go test*)", "go test ./...", true, true),
            ("Bash(rm:*)", "ls; /bin/rm -rf x", false, true),
            ("Bash(rm:*)", "r\\m x", false, true),
            ("Bash(rm -rf *)", "rm -rf /tmp/x", true, true),
            ("bash=ls", "ls", true, true),
            ("Bash", "anything | at all", true, true),
            ("Read", "ls", false, false),
        ] {
            let parsed = Rule::parse(rule, "x:1").unwrap();
            assert_eq!(
                parsed.allows_command(command),
                allows,
                "allow {rule} on {command}"
            );
            assert_eq!(
                parsed.touches_command(command),
                denies,
                "deny {rule} on {command}"
            );
        }
    }
}
