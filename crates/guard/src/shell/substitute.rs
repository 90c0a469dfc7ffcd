//! Words with what is substituted in them: commands inside are walked like any others, values are taken where the text
//! itself tells them.

use super::redirect::Around;
use super::walk::{Walker, is_local_name, text};
use super::word::{self, Reading, Value, Word};
use ostler_wire::Segment;
use std::ops::Range;
use tree_sitter::Node;

impl Walker<'_> {
    /// The words in a span below a node. Substitutions inside it are walked as scripts of their own.
    pub(super) fn words(
        &mut self,
        src: &str,
        node: Node<'_>,
        span: Range<usize>,
    ) -> Option<Vec<Word>> {
        let mut opaque = Vec::new();
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if node.end_byte() <= span.start || node.start_byte() >= span.end {
                continue;
            }
            let within = node.start_byte() >= span.start && node.end_byte() <= span.end;
            let value = match node.kind() {
                "command_substitution" if within => {
                    self.backticks(src, node);
                    let value = here_text(src, node).map(Value::plain);
                    let at = self.out.len();
                    if value.is_none() {
                        self.apart(|w| w.substituted(src, node));
                    }
                    let printed = || self.printed(at).filter(|_| is_pipeline(node));
                    Some(value.or_else(printed))
                }
                "process_substitution" if within => {
                    self.apart(|w| w.statements(src, node));
                    let reads = text(src, node).trim_start().starts_with('<');
                    Some(reads.then(|| Value::plain("/dev/fd/63")))
                }
                "expansion" if within => {
                    self.expansion(src, node);
                    let name = text(src, node).trim_start().get(2..);
                    let name = name.and_then(|s| s.strip_suffix('}'));
                    let known = name.and_then(|name| self.vars.get(name).cloned().flatten());
                    Some(known)
                }
                "arithmetic_expansion" if within => {
                    self.arithmetic(text(src, node), text(src, node));
                    self.substitutions(src, node);
                    Some(None)
                }
                _ => None,
            };
            match value {
                Some(value) => {
                    // The grammar counts a blank before it in quotes as part of it.
                    let raw = text(src, node);
                    let blank = raw.len() - raw.trim_start().len();
                    opaque.push((node.start_byte() + blank..node.end_byte(), value));
                }
                None => {
                    let mut cursor = node.walk();
                    stack.extend(node.children(&mut cursor));
                }
            }
        }
        let home = self.place.home.and_then(|h| h.to_str());
        let cwd = match self.folders.as_slice() {
            [one] => one.to_str(),
            _ => None,
        };
        let reading = Reading {
            src,
            opaque: &opaque,
            vars: &self.vars,
            home,
            cwd,
        };
        word::read(&reading, span).ok()
    }

    /// `$(< file)` reads a file; the rest are statements.
    fn substituted(&mut self, src: &str, node: Node<'_>) {
        if let Some(redirect) = node.child_by_field_name("redirect") {
            let mut around = Around::default();
            self.redirect(src, redirect, &mut around);
            around.unsure |= !around.more.is_empty();
            let mut segment = Segment {
                text: text(src, node).to_owned(),
                read_only: true,
                ..Segment::default()
            };
            self.settle(&mut segment, around);
            return self.push(segment);
        }
        self.statements(src, node);
    }

    /// `${…}`: some forms assign, look through another name or evaluate their value.
    fn expansion(&mut self, src: &str, node: Node<'_>) {
        let raw = text(src, node).trim_start();
        let body = raw.get(2..).unwrap_or_default();
        if body.starts_with('!') || body.contains(['@', '[']) || body.contains('=') {
            self.unsure(raw);
        }
        // `${x:y}` computes with y.
        if let Some((_, offset)) = body.split_once(':')
            && !offset.starts_with(['-', '+', '?', '='])
        {
            self.arithmetic(offset.trim_end_matches('}'), raw);
        }
        self.substitutions(src, node);
    }

    /// Computing with a variable evaluates its value, and a subscript in there may run a command.
    fn arithmetic(&mut self, expression: &str, raw: &str) {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let names: Vec<&str> = expression
            .split(|c: char| !is_name(c))
            .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
            .collect();
        let is_number = |value: &Option<Value>| {
            let digits = |v: &Value| v.text.bytes().all(|b| b.is_ascii_digit());
            value.as_ref().is_some_and(digits)
        };
        let evaluates = names
            .iter()
            .any(|name| self.vars.get(*name).is_some_and(|value| !is_number(value)));
        let foreign =
            expression.contains(['[', '`']) || expression.trim_start_matches("$((").contains("$(");
        let compared = ["==", "<=", ">=", "!="]
            .iter()
            .fold(expression.to_owned(), |text, op| text.replace(op, ""));
        let assigns = ["=", "++", "--"].iter().any(|op| compared.contains(op));
        let shared = assigns && !names.iter().all(|name| is_local_name(name));
        if assigns {
            let unknown = names.iter().map(|name| ((*name).to_owned(), None));
            self.vars.extend(unknown);
        }
        if evaluates || foreign || shared {
            self.unsure(raw);
        }
    }

    /// In backquotes a backslash means something else than elsewhere.
    fn backticks(&mut self, src: &str, node: Node<'_>) {
        let raw = text(src, node).trim_start();
        if raw.starts_with('`') && raw.contains('\\') {
            self.unsure(raw);
        }
    }

    /// Walks every substitution below a node, and notices one that the grammar did not see.
    pub(super) fn substitutions(&mut self, src: &str, node: Node<'_>) {
        let mut rest = text(src, node).as_bytes().to_vec();
        let mut stack = vec![node];
        while let Some(inner) = stack.pop() {
            match inner.kind() {
                "command_substitution" | "process_substitution" => {
                    blank(&mut rest, inner, node);
                    self.backticks(src, inner);
                    self.apart(|w| w.substituted(src, inner));
                }
                "expansion" if inner.id() != node.id() => {
                    blank(&mut rest, inner, node);
                    self.expansion(src, inner);
                }
                "arithmetic_expansion" if inner.id() != node.id() => {
                    blank(&mut rest, inner, node);
                    self.arithmetic(text(src, inner), text(src, inner));
                    self.substitutions(src, inner);
                }
                _ => {
                    let mut cursor = inner.walk();
                    stack.extend(inner.named_children(&mut cursor));
                }
            }
        }
        let rest = String::from_utf8_lossy(&rest).replace("$((", "");
        if ["`", "$(", "<(", ">("]
            .iter()
            .any(|open| rest.contains(open))
        {
            self.unsure(text(src, node));
        }
    }
}

/// One command or pipeline, so that what is printed comes from its end.
fn is_pipeline(node: Node<'_>) -> bool {
    let inner = node
        .named_child(0)
        .filter(|_| node.named_child_count() == 1);
    inner.is_some_and(|inner| match inner.kind() {
        "command" | "pipeline" => true,
        "redirected_statement" => inner
            .child_by_field_name("body")
            .is_some_and(|body| matches!(body.kind(), "command" | "pipeline")),
        _ => false,
    })
}

/// Takes a part that was looked at out of the text around it.
fn blank(rest: &mut [u8], inner: Node<'_>, node: Node<'_>) {
    let from = inner.start_byte() - node.start_byte();
    let to = inner.end_byte() - node.start_byte();
    if let Some(seen) = rest.get_mut(from..to) {
        seen.fill(b' ');
    }
}

/// `$(cat <<'END' … END)`: exactly the text that stands there.
fn here_text(src: &str, node: Node<'_>) -> Option<String> {
    let statement = node
        .named_child(0)
        .filter(|n| n.kind() == "redirected_statement")?;
    let (body, heredoc) = (statement.named_child(0)?, statement.named_child(1)?);
    let (start, content) = (heredoc.named_child(0)?, heredoc.named_child(1)?);
    let counts = (
        node.named_child_count(),
        statement.named_child_count(),
        heredoc.named_child_count(),
    );
    let raw = text(src, start);
    let delimiter = raw.strip_prefix('\'')?.strip_suffix('\'')?;
    let plain = !delimiter.is_empty()
        && delimiter
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_');
    let shape = counts == (1, 2, 3)
        && text(src, body) == "cat"
        && heredoc.kind() == "heredoc_redirect"
        && content.kind() == "heredoc_body";
    let lines = text(src, content);
    (shape
        && plain
        && !src.contains("\\\n")
        && !text(src, heredoc).starts_with("<<-")
        && !lines.lines().any(|l| l == delimiter))
    .then(|| lines.trim_end_matches('\n').to_owned())
}
