//! Redirections and here-documents: which files and hosts they open, and what text they carry.

use super::commands::SINKS;
use super::walk::{Walker, gaps_are_blank, has_line_end, is_local_name, text};
use ostler_wire::{Access, Mark, Segment};
use tree_sitter::Node;

/// A redirection's effects, and the words behind it that belong to the command.
#[derive(Default)]
pub(super) struct Around<'t> {
    pub needs: Vec<Access>,
    pub names: Vec<std::path::PathBuf>,
    pub unsure: bool,
    pub more: Vec<Node<'t>>,
}

impl Walker<'_> {
    pub(super) fn redirected(&mut self, src: &str, node: Node<'_>) {
        let mut around = Around::default();
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
        let is_redirect = |n: &Node<'_>| n.kind().ends_with("_redirect");
        let mut body = children.iter().copied().rfind(|n| !is_redirect(n));
        // The grammar hangs the redirection of a list's last command on the list: what comes before it has happened.
        if let Some(list) = body.take_if(|b| b.kind() == "list") {
            self.statement(src, list);
        }
        for child in children {
            match child.kind() {
                "file_redirect" | "heredoc_redirect" | "herestring_redirect" => {
                    self.redirect(src, child, &mut around);
                }
                _ => {}
            }
        }
        around.unsure |= !gaps_are_blank(src, node);
        around.unsure |= has_line_end(src, node);
        if let Some(command) = body.filter(|b| b.kind() == "command") {
            return self.command(src, command, around, node);
        }
        around.unsure |= !around.more.is_empty();
        let mut segment = Segment {
            text: text(src, node).to_owned(),
            read_only: true,
            ..Segment::default()
        };
        self.settle(&mut segment, around);
        self.push(segment);
        if let Some(body) = body {
            self.statement(src, body);
        }
    }

    pub(super) fn redirect<'t>(&mut self, src: &str, node: Node<'t>, around: &mut Around<'t>) {
        match node.kind() {
            "file_redirect" => self.file_redirect(src, node, around),
            "herestring_redirect" => {
                let last = node.named_child_count().checked_sub(1);
                let word = last
                    .and_then(|n| u32::try_from(n).ok())
                    .and_then(|n| node.named_child(n));
                around.unsure |= self.shows_environment(src, node);
                match word.map(|word| self.words(src, word, word.byte_range())) {
                    Some(Some(_)) => {}
                    Some(None) | None => around.unsure = true,
                }
            }
            _ => self.heredoc(src, node, around),
        }
    }

    fn file_redirect<'t>(&mut self, src: &str, node: Node<'t>, around: &mut Around<'t>) {
        let mut cursor = node.walk();
        let operator = node
            .children(&mut cursor)
            .find(|c| !c.is_named())
            .map_or("", |c| c.kind());
        let mut cursor = node.walk();
        let mut targets = node.children_by_field_name("destination", &mut cursor);
        let Some(first) = targets.next() else {
            around.unsure |= !matches!(operator, "<&-" | ">&-");
            return;
        };
        around.more.extend(targets);
        around.unsure |= !gaps_are_blank(src, node);
        let words = self.words(src, first, first.byte_range());
        let Some([target]) = words.as_deref() else {
            around.unsure = true;
            return;
        };
        // One name that fits a pattern is one file, whichever it is.
        let one = target.wild && target.known && !target.odd && !target.glob && !target.brace;
        if !target.is_sure() && !one {
            around.unsure = true;
        }
        let name = target.text.as_str();
        let is_descriptor = name == "-"
            || name
                .trim_end_matches('-')
                .bytes()
                .all(|b| b.is_ascii_digit());
        if matches!(operator, "<&" | ">&") && is_descriptor {
            return;
        }
        if let Some(socket) = name
            .strip_prefix("/dev/tcp/")
            .or_else(|| name.strip_prefix("/dev/udp/"))
        {
            around.needs.push(Access::Net(socket.replacen('/', ":", 1)));
            return;
        }
        let reads = match operator {
            "<" => true,
            ">" | ">>" | ">|" | "&>" | "&>>" | ">&" => false,
            _ => {
                around.unsure = true;
                return;
            }
        };
        if !reads && SINKS.contains(&name) {
            return;
        }
        let paths = self.paths(name);
        around.names.extend(self.climbing(name));
        around.unsure |= paths.is_empty();
        around
            .needs
            .extend(paths.into_iter().map(|path| match reads {
                true => Access::Read(path),
                false => Access::Write(path),
            }));
    }

    fn heredoc<'t>(&mut self, src: &str, node: Node<'t>, around: &mut Around<'t>) {
        let mut quoted = false;
        let mut delimiter = String::new();
        let mut cursor = node.walk();
        let children: Vec<Node<'t>> = node.named_children(&mut cursor).collect();
        for child in children {
            match child.kind() {
                "heredoc_start" => {
                    let raw = text(src, child);
                    let plain = raw.trim_matches(['\'', '"']);
                    quoted = plain.len() + 2 == raw.len();
                    around.unsure |= !(quoted || plain == raw)
                        || plain.is_empty()
                        || !plain.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                    delimiter = plain.to_owned();
                }
                "heredoc_body" => {
                    let body = text(src, child);
                    around.unsure |= body
                        .lines()
                        .any(|line| line.trim_start_matches('\t') == delimiter);
                    if !quoted {
                        // The grammar does not see every variable in a body that begins with a blank.
                        around.unsure |=
                            self.shows_environment(src, child) || self.names_variable(body);
                        self.substitutions(src, child);
                    }
                }
                "heredoc_end" => around.unsure |= text(src, child).trim() != delimiter,
                "file_descriptor" => {}
                "file_redirect" | "herestring_redirect" => self.redirect(src, child, around),
                "pipeline"
                | "command"
                | "redirected_statement"
                | "list"
                | "subshell"
                | "compound_statement" => {
                    self.apart(|w| w.statement(src, child));
                }
                _ => {
                    around.unsure = true;
                    self.substitutions(src, child);
                }
            }
        }
        // What the shell takes the body for must be what the grammar took it for.
        around.unsure |= delimiter.is_empty() || src.contains("\\\n");
    }

    /// Whether a text that a shell expands holds a variable which is neither public nor set by the command itself.
    fn names_variable(&self, body: &str) -> bool {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        body.match_indices('$').any(|(at, _)| {
            let (before, after) = body.split_at(at);
            let backslashes = before.len() - before.trim_end_matches('\\').len();
            let after = after.get(1..).unwrap_or_default();
            let name = after.trim_start_matches('{').trim_start_matches(['#', '!']);
            let indirect = after.starts_with("{!");
            let end = name.find(|c| !is_part(c)).unwrap_or(name.len());
            let name = name.get(..end).unwrap_or_default();
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            let is_known = self.vars.contains_key(name)
                || super::checks::is_public(name)
                || is_local_name(name);
            backslashes % 2 == 0 && is_name && (indirect || !is_known)
        })
    }

    /// Puts what stands around a command on its segment.
    pub(super) fn settle(&self, segment: &mut Segment, around: Around<'_>) {
        let foreign = around
            .needs
            .iter()
            .any(|n| matches!(n, Access::Read(path) if !self.is_open(path)));
        segment.needs.extend(around.needs);
        segment.names.extend(around.names);
        segment.read_only &= !foreign && !around.unsure;
        segment.plain &= !around.unsure;
        if around.unsure && !segment.is_unsure() {
            segment.marks.push(Mark::Unsure);
        }
    }
}
