//! Whether what is said of other agents' programs can hold: the backends that there are, and references to their models.

use crate::diagnose::Report;
use crate::schema::OutputParserKind;
use crate::text::phrase;
use crate::tree::{At, Node, Sources};
use ostler_wire::{Why, Word};

/// The first part of a reference to a model of our own.
pub const OWN: &str = "ostler";
/// The model that a program uses when it is told none.
pub const DEFAULT: &str = "default";

/// What the command line of a program begins with that is spoken to by the Agent Client Protocol.
pub const ACP: &str = "acp:";

/// A model as a role names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference<'a> {
    /// One of ours: a plain reference.
    Own(&'a str),
    /// A program that speaks the Agent Client Protocol, as a command line.
    Acp(&'a str),
    /// One of another agent's program.
    Of {
        backend: &'a str,
        model: &'a str,
        variant: Option<&'a str>,
    },
}

/// The backends that there are.
pub fn supported() -> impl Iterator<Item = &'static str> {
    ostler_delegate::setup::catalogue::names()
}

/// Reads what a role says of its model. The first `/` ends the name of the backend; without one it is a model of ours.
pub fn parse_reference(text: &str) -> Reference<'_> {
    if let Some(command) = text.strip_prefix(ACP) {
        return Reference::Acp(command);
    }
    match text.split_once('/') {
        None => Reference::Own(text),
        Some((OWN, model)) => Reference::Own(model),
        Some((backend, rest)) => match rest.split_once('@') {
            Some((model, variant)) => Reference::Of {
                backend,
                model,
                variant: Some(variant),
            },
            None => Reference::Of {
                backend,
                model: rest,
                variant: None,
            },
        },
    }
}

/// What is wrong with `backend` and the models of `roles`.
pub fn check_backends(root: &Node, sources: &Sources, reports: &mut Vec<Report>) {
    let backends = root.get(&["backend"]).and_then(Node::as_table);
    for (name, backend) in backends.into_iter().flatten() {
        if !supported().any(|known| known == name) {
            let title = phrase(Word::CfgNoBackend, &[&format!("backend.{name}"), name]);
            let report = Report::at(sources, backend.at, backend.at.key, title);
            reports.push(report.help(phrase(Word::CfgBackendNames, &[&names()])));
        }
        if let Some(model) = backend.get(&["fallback", "model"]) {
            check_reference(model, sources, reports);
        }
        check_patterns(name, backend, sources, reports);
        check_parser(name, backend, sources, reports);
    }
    let roles = root.get(&["roles"]).and_then(Node::as_table);
    for role in roles.into_iter().flatten().map(|(_, role)| role) {
        if let Some(model) = role.get(&["model"]) {
            check_reference(model, sources, reports);
        }
    }
}

fn names() -> String {
    supported().collect::<Vec<_>>().join(", ")
}

fn check_reference(node: &Node, sources: &Sources, reports: &mut Vec<Report>) {
    let Some(text) = node.as_str() else { return };
    let mut report = |title: Why, help: Option<Why>| {
        let report = Report::at(sources, node.at, node.at.value, title);
        reports.push(match help {
            Some(help) => report.help(help),
            None => report,
        });
    };
    match parse_reference(text) {
        Reference::Own(name) if supported().any(|known| known == name) && !text.contains('/') => {
            report(phrase(Word::CfgBadReference, &[&text]), None);
        }
        Reference::Acp(command) if command.trim().is_empty() => {
            report(phrase(Word::CfgBadReference, &[&text]), None);
        }
        Reference::Own(_) | Reference::Acp(_) => {}
        Reference::Of { backend, .. } if !supported().any(|known| known == backend) => {
            let help = phrase(Word::CfgBackends, &[&names(), &text]);
            report(phrase(Word::CfgNoBackend, &[&text, &backend]), Some(help));
        }
        Reference::Of { model, variant, .. } => {
            let is_bad = model.is_empty() || variant.is_some_and(str::is_empty);
            if is_bad || (model == DEFAULT && variant.is_some()) {
                report(phrase(Word::CfgBadReference, &[&text]), None);
            }
        }
    }
}

/// A fallback without a pattern looks as if it had an effect.
fn check_patterns(name: &str, backend: &Node, sources: &Sources, reports: &mut Vec<Report>) {
    let Some(node) = backend.get(&["fallback", "patterns"]) else {
        return;
    };
    let is_text = |node: &Node| node.as_str().is_none_or(|text| !text.trim().is_empty());
    if node
        .as_array()
        .is_some_and(|items| !items.iter().any(is_text))
    {
        let key = format!("backend.{name}.fallback.patterns");
        let title = phrase(Word::CfgNoPattern, &[&key]);
        reports.push(Report::at(sources, node.at, node.at.value, title));
    }
}

fn check_parser(name: &str, backend: &Node, sources: &Sources, reports: &mut Vec<Report>) {
    let Some(node) = backend.get(&["adapter", "output_parser"]) else {
        return;
    };
    let kind = match node.get(&["type"]).and_then(Node::as_str) {
        Some("json_stream") => OutputParserKind::JsonStream,
        Some("json_object") => OutputParserKind::JsonObject,
        Some("regex") => OutputParserKind::Regex,
        Some(_) | None => return,
    };
    let key = format!("backend.{name}.adapter.output_parser");
    let At { value, .. } = node.at;
    for needed in kind.needs() {
        if node.get(&[needed]).is_none() {
            let title = phrase(Word::CfgParserNeeds, &[&key, needed]);
            reports.push(Report::at(sources, node.at, value, title));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_slash_ends_the_backend() {
        let of = |backend, model, variant| Reference::Of {
            backend,
            model,
            variant,
        };
        for (text, expect) in [
            ("ostler/acme/big", Reference::Own("acme/big")),
            ("small", Reference::Own("small")),
            ("acp:/opt/agent acp", Reference::Acp("/opt/agent acp")),
            ("codex/gpt@high", of("codex", "gpt", Some("high"))),
            ("opencode/acme/big", of("opencode", "acme/big", None)),
            ("claude/default", of("claude", "default", None)),
        ] {
            assert_eq!(parse_reference(text), expect, "{text}");
        }
    }
}
