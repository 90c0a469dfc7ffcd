//! Which calls (or which occasions) a hook is for: names with `*` and `?`, permission rules, several of them with `|`, and
//! the regular expressions that hooks written for others have.

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ostler_guard::{Call, Fallback, Policy, Posture, Rule, Rules, Verdict};
use ostler_wire::{Why, Word};

/// Memory that one expression may take.
const MAX_REGEX: usize = 1 << 20;
/// The family of all file tools that change something.
const EDIT: &str = "Edit";
const EDITORS: [&str; 4] = [EDIT, "Write", "MultiEdit", "NotebookEdit"];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", Why::from(self))]
pub struct MatcherError {
    text: String,
    why: Why,
}

impl From<&MatcherError> for Why {
    fn from(error: &MatcherError) -> Self {
        let values = [error.text.as_str().into(), error.why.clone()];
        Why::ours(Word::MatcherUnread, values)
    }
}

#[derive(Clone, Debug)]
pub struct Matcher {
    text: String,
    parts: Vec<Part>,
    /// The rules among the parts, as a policy that denies what they speak of.
    rules: Option<Box<Policy>>,
}

#[derive(Clone, Debug)]
enum Part {
    All,
    Name(String),
    Regex(RegexMatcher),
}

impl Matcher {
    pub fn parse(text: &str, from: &str) -> Result<Self, MatcherError> {
        let fail = |why: Why| MatcherError {
            text: text.to_owned(),
            why,
        };
        let mut parts = Vec::new();
        let mut rules = Vec::new();
        for one in alternatives(text) {
            if one.is_empty() || one == "*" {
                parts.push(Part::All);
            } else if is_rule(one) {
                rules.push(Rule::parse(one, from).map_err(|e| fail((&e).into()))?);
            } else if one
                .chars()
                .all(|c| c.is_alphanumeric() || "_- ".contains(c))
            {
                parts.push(Part::Name(one.to_owned()));
            } else {
                let regex = RegexMatcherBuilder::new()
                    .size_limit(MAX_REGEX)
                    .build(&expression(one));
                parts.push(Part::Regex(regex.map_err(|e| fail(e.to_string().into()))?));
            }
        }
        let rules = (!rules.is_empty()).then(|| {
            Box::new(Policy {
                rules: Rules {
                    deny: rules,
                    ..Rules::default()
                },
                fallback: Fallback::Allow,
                ..Policy::default()
            })
        });
        Ok(Self {
            text: text.trim().to_owned(),
            parts,
            rules,
        })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The rules that need to know what paths really are.
    pub fn policy(&self) -> Option<&Policy> {
        self.rules.as_deref()
    }

    /// For an occasion that is no call.
    pub fn takes(&self, subject: &str) -> bool {
        subject.is_empty() || self.parts.iter().any(|part| part.names(subject))
    }

    pub fn takes_call(&self, call: Call<'_>) -> bool {
        let name = call.tool.name.as_ref();
        let common = call.tool.common_name.unwrap_or(name);
        let by_name = |part: &Part| match part {
            Part::All => true,
            Part::Name(want) => {
                want == name
                    || want == common
                    || want != EDIT && call.tool.is_called(want)
                    || want == EDIT && EDITORS.contains(&common)
            }
            Part::Regex(_) => part.names(name) || part.names(common),
        };
        let by_rule =
            |policy: &Policy| policy.decide_in(Posture::Ask, call).verdict == Verdict::Deny;
        self.parts.iter().any(by_name) || self.policy().is_some_and(by_rule)
    }
}

impl Part {
    fn names(&self, subject: &str) -> bool {
        match self {
            Part::All => true,
            Part::Name(name) => name == subject,
            Part::Regex(regex) => regex.is_match(subject.as_bytes()).unwrap_or(false),
        }
    }
}

/// Split at each `|` that is in no brackets.
fn alternatives(text: &str) -> Vec<&str> {
    let (mut out, mut depth, mut from) = (Vec::new(), 0_u32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => {
                out.push(text.get(from..at).unwrap_or_default().trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    out.push(text.get(from..).unwrap_or_default().trim());
    out
}

/// `Tool(…)`.
fn is_rule(text: &str) -> bool {
    let name = text.split('(').next().unwrap_or_default();
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "_-".contains(c));
    is_name && text.ends_with(')') && name.len() < text.len()
}

/// A glob where it can be one, an expression otherwise.
fn expression(text: &str) -> String {
    let is_glob = text
        .chars()
        .all(|c| c.is_alphanumeric() || "_-*?".contains(c));
    match is_glob {
        true => format!("^{}$", text.replace('*', ".*").replace('?', ".")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::facts::common_tool;
    use ostler_tools::builtin::{Tools, bash::Bash, declaration};
    use ostler_tools::tool::Scope;
    use ostler_wire::{Access, ToolDeclaration};
    use serde_json::json;

    fn takes(text: &str, tool: &str, command_or_path: &str) -> bool {
        let scope = Scope::new("/repo", None);
        let accesses = match tool {
            "bash" => {
                ostler_tools::testing::access(&Bash, &json!({"command": command_or_path}), &scope)
                    .unwrap()
            }
            "read_file" => vec![Access::Read(scope.path(command_or_path))],
            _ => vec![Access::Write(scope.path(command_or_path))],
        };
        let tool = match declaration(tool) {
            Some(builtin) => builtin.clone(),
            None => ToolDeclaration::of_other(tool.to_owned(), false),
        };
        let call = Call {
            tool: &tool,
            accesses: &accesses,
            scope: &scope,
            resolved: &[],
        };
        Matcher::parse(text, "x:1").unwrap().takes_call(call)
    }

    #[test]
    fn calls_and_the_hooks_for_them() {
        for (text, tool, subject, expect) in [
            ("", "bash", "ls", true),
            ("*", "mcp__a__b", "", true),
            ("bash", "bash", "ls", true),
            ("Bash", "bash", "ls", true),
            ("Bash", "edit_file", "a", false),
            ("run_shell", "bash", "ls", true),
            ("Edit|Write", "edit_file", "a", true),
            ("Edit|Write", "write_file", "a", true),
            ("Edit | Write", "write_file", "a", true),
            ("Edit", "write_file", "a", true),
            ("Edit", "delete_range", "a", true),
            ("Edit", "move_file", "a", true),
            ("Edit", "read_file", "a", false),
            ("Write", "edit_file", "a", false),
            ("edit", "edit_file", "a", true),
            ("edit", "write_file", "a", false),
            ("Write", "write_file", "a", true),
            ("mcp__*", "mcp__git__log", "", true),
            ("mcp__git", "mcp__git__log", "", false),
            ("mcp__git__.*", "mcp__git__log", "", true),
            ("*_file", "read_file", "a", true),
            ("*_file", "bash", "ls", false),
            ("^(Edit|Read)$", "read_file", "a", true),
            ("^(Edit|Read)$", "bash", "ls", false),
            ("Notebook.*", "notebook_edit", "a", true),
            ("Bash(rm:*)", "bash", "rm -rf x", true),
            ("Bash(rm:*)", "bash", "cd x && rm -rf y", true),
            ("Bash(rm *)", "bash", "ls", false),
            ("Bash(rm:*)|Edit(.env)", "edit_file", ".env", true),
            ("Bash(rm:*)|Edit(.env)", "edit_file", "a.rs", false),
            ("Bash(rm:*)|Edit(.env)", "bash", "echo x > .env", true),
            ("Edit(*.rs)", "write_file", "src/a.rs", true),
            ("Edit(*.rs)", "read_file", "src/a.rs", false),
        ] {
            assert_eq!(
                takes(text, tool, subject),
                expect,
                "{text} {tool} {subject}"
            );
        }
        for (text, subject, expect) in [
            ("", "startup", true),
            ("startup", "startup", true),
            ("startup|resume", "resume", true),
            ("resume", "startup", false),
            ("auto", "", true),
        ] {
            let matcher = Matcher::parse(text, "x:1").unwrap();
            assert_eq!(matcher.takes(subject), expect, "{text} {subject}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for text in ["[", "Bash()", "(a", "a{99999999}"] {
            let error = Matcher::parse(text, "x:1").unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`match = \"{text}\"` cannot be read: ")),
                "{error}"
            );
        }
    }

    #[test]
    fn every_tool_of_ours_has_a_name_that_matches() {
        for name in Tools::new(&[]).names() {
            assert!(takes(name, name, "a"), "{name}");
            assert!(takes(common_tool(name), name, "a"), "{name}");
        }
    }
}
