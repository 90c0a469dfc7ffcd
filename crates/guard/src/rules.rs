//! Rules as people write them: `Tool`, `Tool(spec)`, `Bash(words:*)`, and the older `tool=literal`.

use super::Scope;
use super::glob::{is_pattern, matches, part_matches, path_matches};
use super::shell::{DEEP, DEEP_VISIBLE, runs_any_program};
use super::spelling::{
    names_words, past_keyword, starts_with_words, without_options, without_path,
};
use ostler_host::proxy::HostRule;
use ostler_wire::{Segment, ToolDeclaration, ToolKind, ToolMark, Why, Word};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

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
    /// Places to work at.
    Host,
    /// One tool, by any of its names in small letters.
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
#[error("{}", Why::from(self))]
pub struct RuleError {
    pub text: String,
    pub from: String,
    pub why: Word,
}

impl From<&RuleError> for Why {
    fn from(error: &RuleError) -> Self {
        let (from, text) = (error.from.as_str().into(), error.text.as_str().into());
        Why::ours(Word::RuleUnread, [from, text, error.why.into()])
    }
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

    /// Whether a deny or ask rule speaks of reading or writing this path.
    pub fn restrict_path(&self, path: &Path, scope: &Scope) -> bool {
        self.deny.iter().chain(&self.ask).any(|rule| {
            rule.is_about_paths()
                && (rule.touches_read(path, scope) || rule.touches_write(path, scope))
        })
    }

    /// Hosts that commands may reach: those allowed, but for what another rule restricts among them.
    pub fn hosts(&self) -> Vec<String> {
        let restricted = |host: &str| {
            self.deny
                .iter()
                .chain(&self.ask)
                .filter_map(Rule::hosts)
                .any(|other| matches(other, host) || matches(host, other))
        };
        let allowed = self.allow.iter().filter_map(Rule::hosts);
        allowed
            .filter(|host| !restricted(host))
            .map(str::to_owned)
            .collect()
    }

    /// Whether any rule speaks of certain files, so that it is worth knowing what a path is without symlinks.
    pub fn are_about_paths(&self) -> bool {
        [&self.deny, &self.ask, &self.allow]
            .into_iter()
            .flatten()
            .any(|r| {
                r.spec.is_some()
                    && matches!(r.family, Family::Read | Family::Edit | Family::Tool(_))
            })
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
                    .ok_or_else(|| fail(Word::RuleNoEnd))?;
                (name.trim(), Some(spec.trim()))
            }
            (None, Some((name, literal))) => (name.trim(), Some(literal.trim())),
            (None, None) => (trimmed, None),
        };
        if name.is_empty() {
            return Err(fail(Word::RuleNoName));
        }
        if !name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        {
            return Err(fail(Word::RuleBadName));
        }
        if spec == Some("") {
            return Err(fail(Word::RuleEmptyPart));
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

    /// The one tool that the rule is about.
    pub fn tool(&self) -> Option<&str> {
        match &self.family {
            Family::Tool(name) => Some(name),
            Family::Bash
            | Family::Edit
            | Family::Read
            | Family::Net
            | Family::Delegate
            | Family::Host => None,
        }
    }

    /// The rule in the form that is saved.
    pub fn canonical(&self) -> String {
        let name = match &self.family {
            Family::Bash => "Bash",
            Family::Edit => "Edit",
            Family::Read => "Read",
            Family::Net => "Net",
            Family::Delegate => "Delegate",
            Family::Host => "Host",
            Family::Tool(name) => name,
        };
        match &self.spec {
            None => name.to_owned(),
            Some(Spec::Words(words)) => format!("{name}({words}:*)"),
            Some(Spec::Glob(glob)) => format!("{name}({glob})"),
        }
    }

    /// Whether this rule speaks of everything that the other does, which is about `tool` if it is about one. False where
    /// that cannot be told by the texts.
    pub fn covers(&self, other: &Rule, tool: Option<&ToolDeclaration>, scope: &Scope) -> bool {
        let theirs = match (&other.family, tool) {
            (Family::Tool(_), Some(tool)) if self.spec.is_none() => return self.covers_tool(tool),
            (Family::Tool(name), None) if self.spec.is_none() => return self.covers_name(name),
            (family, _) => *family == self.family,
        };
        let (Some(own), Some(spec)) = (&self.spec, &other.spec) else {
            return theirs && self.spec.is_none();
        };
        if !theirs || own == spec {
            return theirs;
        }
        match (&self.family, own, spec) {
            (Family::Bash, Spec::Words(words), Spec::Words(text) | Spec::Glob(text)) => {
                starts_with_words(text, words)
            }
            (_, _, Spec::Glob(text)) if is_pattern(text) => false,
            (Family::Read | Family::Edit, _, Spec::Glob(text)) => {
                let named = scope.path(text.trim_end_matches('/'));
                let anywhere = !text.trim_end_matches('/').contains('/') && !text.starts_with('~');
                let deeper = scope.root.join("a/b").join(text);
                self.names_path(&named, scope) && (!anywhere || self.names_path(&deeper, scope))
            }
            (Family::Net, _, Spec::Glob(text)) => self.allows_host(text),
            (
                Family::Bash
                | Family::Delegate
                | Family::Host
                | Family::Tool(_)
                | Family::Read
                | Family::Edit
                | Family::Net,
                Spec::Glob(glob) | Spec::Words(glob),
                Spec::Glob(text) | Spec::Words(text),
            ) => matches(glob, text),
        }
    }

    /// Whether the rule speaks of every call of this tool.
    pub fn covers_tool(&self, tool: &ToolDeclaration) -> bool {
        self.spec.is_none()
            && match &self.family {
                Family::Bash => tool.has(ToolMark::RunsCommands),
                Family::Edit => tool.kind == ToolKind::Edit,
                Family::Read => tool.kind == ToolKind::Read,
                Family::Net => tool.kind == ToolKind::Net,
                Family::Delegate => tool.kind == ToolKind::Delegate,
                // A place is no tool's.
                Family::Host => false,
                Family::Tool(name) => tool.is_called(name) || is_server_of(name, &tool.name),
            }
    }

    /// The same of a tool of which only the name is known.
    fn covers_name(&self, tool: &str) -> bool {
        let own = self.tool().filter(|_| self.spec.is_none());
        own.is_some_and(|name| name == tool || is_server_of(name, tool))
    }

    /// Whether an allow rule speaks of this command. It must be a plain command whose words are known.
    pub fn allows_segment(&self, segment: &Segment) -> bool {
        self.family == Family::Bash
            && segment.plain
            && self.spells(&segment.leads)
            && match &self.spec {
                None => true,
                Some(Spec::Words(words)) => {
                    let mut have = segment.argv.iter();
                    words
                        .split_whitespace()
                        .all(|word| have.next().is_some_and(|w| w == word))
                }
                Some(Spec::Glob(glob)) => matches(glob, &segment.text),
            }
    }

    /// Whether the rule allows every command, or an interpreter with whatever it runs.
    pub fn is_broad_command(&self) -> bool {
        match &self.spec {
            None => self.family == Family::Bash,
            Some(Spec::Words(name)) => self.family == Family::Bash && runs_any_program(name.trim()),
            Some(Spec::Glob(_)) => false,
        }
    }

    /// Whether the rule itself names these words of a command.
    fn spells(&self, words: &[String]) -> bool {
        let Some(Spec::Glob(spec) | Spec::Words(spec)) = &self.spec else {
            return true;
        };
        self.is_exact_command()
            || self.is_broad_command()
            || words
                .iter()
                .all(|word| spec.split_whitespace().any(|s| s == word))
    }

    /// Whether the rule names one command with all of its words.
    pub fn is_exact_command(&self) -> bool {
        self.family == Family::Bash
            && matches!(&self.spec, Some(Spec::Glob(spec)) if !is_pattern(spec))
    }

    /// Whether a deny or ask rule speaks of this command: its words, its other spellings, its name without a path.
    pub fn touches_segment(&self, segment: &Segment) -> bool {
        if self.family != Family::Bash {
            return false;
        }
        let Some(spec) = &self.spec else { return true };
        let fits = |text: &str| match spec {
            Spec::Words(words) => names_words(text, words),
            Spec::Glob(glob) => {
                matches(glob, text) || without_options(text).any(|text| matches(glob, &text))
            }
        };
        let forms = || std::iter::once(&segment.text).chain(&segment.also);
        if forms().any(|form| fits(form) || fits(&without_path(form))) {
            return true;
        }
        // Without a sure parse, any piece of the text may be a command.
        segment.is_unsure()
            && forms().any(|form| {
                form.replace("\\\n", "")
                    .split(|c: char| "\n\r;|&(){},`'\"=!".contains(c))
                    .map(past_keyword)
                    .any(|piece| fits(piece) || fits(&without_path(piece)))
            })
    }

    /// Whether a deny or ask rule speaks of reading this path, or of something that a pattern may become.
    pub fn touches_read(&self, path: &Path, scope: &Scope) -> bool {
        self.family == Family::Read && self.restricts_path(path, scope)
    }

    pub fn touches_write(&self, path: &Path, scope: &Scope) -> bool {
        self.family == Family::Edit && self.restricts_path(path, scope)
    }

    /// Whether an allow rule speaks of everything that this path may become.
    pub fn allows_read(&self, path: &Path, scope: &Scope) -> bool {
        self.family == Family::Read && self.names_path(path, scope) && self.is_wide_enough(path)
    }

    pub fn allows_write(&self, path: &Path, scope: &Scope) -> bool {
        self.family == Family::Edit && self.names_path(path, scope) && self.is_wide_enough(path)
    }

    /// A host with or without a port. `*` is a host that nobody knows: only a rule about all hosts speaks of it.
    pub fn touches_host(&self, host: &str) -> bool {
        self.host_rule().is_some_and(|rule| rule.touches(host))
    }

    pub fn allows_host(&self, host: &str) -> bool {
        self.host_rule().is_some_and(|rule| rule.allows(host))
    }

    /// What the rule says of hosts, if it is about hosts.
    pub fn host_rule(&self) -> Option<HostRule> {
        let is_about_hosts = self.family == Family::Net;
        is_about_hosts.then(|| HostRule {
            spec: self.spec.as_ref().map(|spec| match spec {
                Spec::Glob(spec) | Spec::Words(spec) => spec.clone(),
            }),
        })
    }

    /// The host or pattern of hosts that the rule is about, if it is about hosts; `*` is every one.
    pub fn hosts(&self) -> Option<&str> {
        match (&self.family, &self.spec) {
            (Family::Net, None) => Some("*"),
            (Family::Net, Some(Spec::Glob(spec) | Spec::Words(spec))) => Some(spec),
            (
                Family::Bash
                | Family::Edit
                | Family::Read
                | Family::Delegate
                | Family::Host
                | Family::Tool(_),
                _,
            ) => None,
        }
    }

    /// A rule on one tool's own subject, e.g. `fetch_url(https://…)`.
    pub fn touches_tool(&self, tool: &ToolDeclaration, subject: &str) -> bool {
        self.is_of_tool(tool) && self.spec_matches(subject)
    }

    /// It names a set of calls: a pattern, or the first words of a command.
    pub fn is_wide(&self) -> bool {
        match &self.spec {
            None | Some(Spec::Words(_)) => true,
            Some(Spec::Glob(text)) => is_pattern(text),
        }
    }

    /// The same for a tool whose subject is a path.
    pub fn touches_tool_path(&self, tool: &ToolDeclaration, path: &Path, scope: &Scope) -> bool {
        self.is_of_tool(tool) && self.spec.is_some() && self.restricts_path(path, scope)
    }

    pub fn allows_tool_path(&self, tool: &ToolDeclaration, path: &Path, scope: &Scope) -> bool {
        self.is_of_tool(tool) && self.spec.is_some() && self.names_path(path, scope)
    }

    /// `Delegate(role)`, or a rule on the tool with the role as its subject. Roles are found whatever their case.
    pub fn touches_role(&self, tool: &ToolDeclaration, role: &str) -> bool {
        let role = role.trim().to_lowercase();
        (self.family == Family::Delegate || self.is_of_tool(tool))
            && match &self.spec {
                None => true,
                Some(Spec::Glob(text) | Spec::Words(text)) => matches(&text.to_lowercase(), &role),
            }
    }

    /// `Host(place)`: whether the rule speaks of this place, by its kind and name (`ssh me@box`) or its name alone.
    pub fn touches_place(&self, kind: &str, name: &str) -> bool {
        self.family == Family::Host
            && match &self.spec {
                None => true,
                Some(Spec::Glob(text) | Spec::Words(text)) => {
                    matches(text, &format!("{kind} {name}")) || matches(text, name)
                }
            }
    }

    /// Whether the rule is about some files, so that the words of an unknown command are worth a look.
    pub fn is_about_paths(&self) -> bool {
        matches!(self.family, Family::Read | Family::Edit) && self.spec.is_some()
    }

    pub fn is_about_hosts(&self) -> bool {
        self.family == Family::Net
    }

    /// The paths that the rule speaks of when this tool reads, as a border has them; a bare rule speaks of all.
    pub fn read_spec(&self, tool: Option<&ToolDeclaration>) -> Option<&str> {
        let reads = self.family == Family::Read || tool.is_some_and(|tool| self.is_of_tool(tool));
        reads.then_some(match &self.spec {
            None => "/**",
            Some(Spec::Glob(spec) | Spec::Words(spec)) => spec,
        })
    }

    /// What a rule on one tool says of the tool's subject.
    pub fn tool_spec(&self) -> Option<&str> {
        self.tool()?;
        match self.spec.as_ref()? {
            Spec::Glob(spec) | Spec::Words(spec) => Some(spec),
        }
    }

    /// Whether the rule allows to change this one path by its full name, and not by a pattern or a folder above it.
    pub fn names_write(&self, path: &Path, scope: &Scope) -> bool {
        match (&self.family, &self.spec) {
            (Family::Edit, Some(Spec::Glob(spec) | Spec::Words(spec))) => {
                !is_pattern(spec) && scope.path(spec) == path
            }
            (
                Family::Edit
                | Family::Bash
                | Family::Read
                | Family::Net
                | Family::Delegate
                | Family::Host
                | Family::Tool(_),
                _,
            ) => false,
        }
    }

    /// The file or folder that an allow rule opens for reading, where it names one and no pattern.
    pub fn shown_path(&self, scope: &Scope) -> Option<PathBuf> {
        let (Family::Read, Some(Spec::Glob(spec) | Spec::Words(spec))) = (&self.family, &self.spec)
        else {
            return None;
        };
        let folder = spec.strip_suffix(DEEP).unwrap_or(spec);
        let is_placed = folder.contains('/') || folder.starts_with('~');
        (is_placed && !is_pattern(folder)).then(|| scope.path(folder))
    }

    fn is_of_tool(&self, tool: &ToolDeclaration) -> bool {
        self.tool().is_some_and(|name| tool.is_called(name))
    }

    fn spec_matches(&self, subject: &str) -> bool {
        match &self.spec {
            None => true,
            Some(Spec::Glob(text) | Spec::Words(text)) => matches(text, subject),
        }
    }

    /// A rule for one name does not cover a pattern that may become others.
    fn is_wide_enough(&self, path: &Path) -> bool {
        let whole = path.to_string_lossy();
        match &self.spec {
            None => true,
            Some(Spec::Glob(spec) | Spec::Words(spec)) => {
                !is_pattern(&whole) || (spec.ends_with("**") && !spec.contains('?'))
            }
        }
    }

    /// Whether a deny or ask rule speaks of the path, in the root or in another tree that it holds in.
    fn restricts_path(&self, path: &Path, scope: &Scope) -> bool {
        let mut others = scope.trees.iter();
        self.names_path(path, scope) || others.any(|tree| self.names_path_in(tree, path, scope))
    }

    fn names_path(&self, path: &Path, scope: &Scope) -> bool {
        self.names_path_in(&scope.root, path, scope)
    }

    /// Whether the rule speaks of the path when it is read as written for this tree.
    fn names_path_in(&self, tree: &Path, path: &Path, scope: &Scope) -> bool {
        let Some(Spec::Glob(spec) | Spec::Words(spec)) = &self.spec else {
            return true;
        };
        let whole = path.to_string_lossy();
        let (whole, visible) = match whole.strip_suffix(DEEP_VISIBLE) {
            Some(folder) => (Cow::Owned(format!("{folder}{DEEP}")), true),
            None => (whole, false),
        };
        if visible
            && spec
                .split('/')
                .any(|part| part.starts_with('.') && part.len() > 1)
        {
            return false;
        }
        if spec == "~" || spec.starts_with("~/") {
            let rest = spec.get(2..).unwrap_or_default();
            return scope
                .user_home
                .as_ref()
                .is_some_and(|home| path_matches(&home.join(rest).to_string_lossy(), &whole));
        }
        if spec.starts_with('/') {
            return path_matches(spec, &whole);
        }
        let root: PathBuf = tree.components().collect();
        let root = root.to_string_lossy();
        let from_above = whole
            .strip_suffix(DEEP)
            .is_some_and(|folder| tree.starts_with(if folder.is_empty() { "/" } else { folder }));
        let below = match whole
            .strip_prefix(root.as_ref())
            .map(|rest| rest.strip_prefix('/').unwrap_or(rest))
        {
            Some(below)
                if tree.as_os_str().len() <= 1
                    || whole.len() == root.len()
                    || whole
                        .get(root.len()..)
                        .is_some_and(|rest| rest.starts_with('/')) =>
            {
                below
            }
            Some(_) | None if from_above => "**",
            Some(_) | None => return false,
        };
        match spec.strip_prefix("./") {
            Some(rest) => path_matches(rest, below),
            None if spec.trim_end_matches('/').contains('/') => path_matches(spec, below),
            // Without a slash it names a file or folder at any depth.
            None => {
                let spec = spec.trim_end_matches('/');
                // Anything may lie in a tree; what hides in one folder of a longer pattern is no wildcard's business.
                below == "**"
                    || below.ends_with(DEEP)
                    || below.split('/').any(|part| part_matches(spec, part))
            }
        }
    }
}

/// Names in rules that stand for several tools.
pub const FAMILIES: [&str; 6] = ["Bash", "Edit", "Read", "Net", "Delegate", "Host"];

fn family(name: &str) -> Family {
    match name.to_ascii_lowercase().as_str() {
        "bash" | "run_shell" | "shell" => Family::Bash,
        "edit" | "write" => Family::Edit,
        "read" => Family::Read,
        "net" => Family::Net,
        "delegate" => Family::Delegate,
        "host" => Family::Host,
        lower => Family::Tool(lower.to_owned()),
    }
}

/// `go test *` and `go test*`: words, then one star at the end and nowhere else.
fn is_old_prefix(spec: &str) -> bool {
    spec.strip_suffix('*')
        .is_some_and(|words| !words.contains(['*', '?']) && !words.trim().is_empty())
}

/// `mcp__server` speaks of every tool of that server.
fn is_server_of(name: &str, tool: &str) -> bool {
    ostler_wire::is_server_tool(name)
        && tool
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with("__"))
}

#[cfg(test)]
mod tests;
