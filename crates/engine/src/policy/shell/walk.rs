//! From the syntax tree of a shell text to its simple commands, with the folder and the variables each of them sees.
//! The grammar says where things are; every word is read again by `word`, and where the two disagree it is unsure.

use super::Place;
use super::commands::SINKS;
use super::word::{self, Reading, Vars, Word};
use ostler_wire::{Access, Mark, Segment};
use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;
use tree_sitter::{Node, Parser};

/// Longer texts are programs; a person looks at them.
const MAX_COMMAND: usize = 16 * 1024;
const MAX_NODES: usize = 4096;
/// Statements within statements, and scripts within scripts.
const MAX_DEPTH: usize = 48;
const MAX_SCRIPTS: usize = 4;
/// Segments of one call.
const MAX_SEGMENTS: usize = 256;
/// Folders in which a command may find itself.
const MAX_FOLDERS: usize = 4;
/// Values of a loop variable that are followed one by one.
const MAX_TURNS: usize = 8;

pub(super) struct Walker<'p> {
    pub place: &'p Place<'p>,
    /// Where a command may find itself; empty when that is not known.
    pub folders: Vec<PathBuf>,
    pub vars: Vars,
    pub functions: HashSet<String>,
    pub out: Vec<Segment>,
    depth: usize,
    scripts: usize,
    /// Inside a loop, branch or function: assignments there may or may not have happened.
    branches: usize,
}

/// A redirection's effects, and the words behind it that belong to the command.
#[derive(Default)]
struct Around<'t> {
    needs: Vec<Access>,
    unsure: bool,
    more: Vec<Node<'t>>,
}

impl<'p> Walker<'p> {
    pub fn new(place: &'p Place<'p>) -> Self {
        Self {
            place,
            folders: vec![place.cwd.clone()],
            vars: Vars::new(),
            functions: HashSet::new(),
            out: Vec::new(),
            depth: 0,
            scripts: 0,
            branches: 0,
        }
    }

    /// A whole shell text.
    pub fn script(&mut self, src: &str) {
        if src.len() > MAX_COMMAND || self.scripts >= MAX_SCRIPTS || src.contains(['\0', '\r']) {
            return self.unsure(src);
        }
        let mut parser = Parser::new();
        let language = tree_sitter_bash::LANGUAGE.into();
        let tree = match parser.set_language(&language) {
            Ok(()) => parser.parse(src, None),
            Err(_) => None,
        };
        let Some(tree) = tree else {
            return self.unsure(src);
        };
        let root = tree.root_node();
        let blank_ends =
            is_blank(src.get(..root.start_byte())) && is_blank(src.get(root.end_byte()..));
        if root.has_error() || root.descendant_count() > MAX_NODES || !blank_ends {
            return self.unsure(src);
        }
        self.scripts += 1;
        self.statements(src, root);
        self.scripts -= 1;
    }

    pub fn unsure(&mut self, text: &str) {
        self.push(Segment::unknown(text.trim()));
    }

    pub fn push(&mut self, segment: Segment) {
        match self.out.len() {
            n if n < MAX_SEGMENTS => self.out.push(segment),
            MAX_SEGMENTS => self
                .out
                .push(Segment::unknown("more commands than are looked at")),
            _ => {}
        }
    }

    /// The named children as statements, one after the other.
    fn statements(&mut self, src: &str, node: Node<'_>) {
        if self.depth >= MAX_DEPTH {
            return self.unsure(text(src, node));
        }
        self.depth += 1;
        if !gaps_are_blank(src, node) {
            self.unsure(text(src, node));
        }
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if child.kind() == ";;" {
                self.unsure(text(src, node));
            } else if child.is_named() {
                let before = self.folders.clone();
                self.statement(src, child);
                self.or_still(before);
            }
        }
        self.depth -= 1;
    }

    /// A `cd` may have failed, so the folder of before stays possible.
    fn or_still(&mut self, before: Vec<PathBuf>) {
        if before.is_empty() || self.folders.is_empty() {
            return self.folders.clear();
        }
        for folder in before {
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
        if self.folders.len() > MAX_FOLDERS {
            self.folders.clear();
        }
    }

    /// What happens inside is not seen outside.
    fn apart(&mut self, inside: impl FnOnce(&mut Self)) {
        let (folders, vars) = (self.folders.clone(), self.vars.clone());
        inside(self);
        (self.folders, self.vars) = (folders, vars);
    }

    fn branch(&mut self, src: &str, node: Node<'_>) {
        self.forget_assigned(src, node);
        self.branches += 1;
        self.statements(src, node);
        self.branches -= 1;
    }

    fn statement(&mut self, src: &str, node: Node<'_>) {
        match node.kind() {
            "comment" => {
                let before = src.get(..node.start_byte()).and_then(|s| s.chars().last());
                if before.is_some_and(|c| !c.is_whitespace() && !";&|()".contains(c)) {
                    self.unsure(text(src, node));
                }
            }
            "command" => self.command(src, node, Around::default(), node),
            "redirected_statement" => self.redirected(src, node),
            "pipeline" => {
                if !gaps_are_blank(src, node) {
                    self.unsure(text(src, node));
                }
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    self.apart(|w| w.statement(src, child));
                }
            }
            "list" => self.list(src, node),
            "subshell" => self.apart(|w| w.statements(src, node)),
            "compound_statement" if text(src, node).starts_with("((") => {
                self.unsure(text(src, node));
                self.substitutions(src, node);
            }
            "compound_statement" | "negated_command" => self.statements(src, node),
            "if_statement" | "elif_clause" | "else_clause" | "while_statement" | "do_group" => {
                self.branch(src, node);
            }
            "for_statement" => self.for_loop(src, node),
            "case_statement" | "case_item" => self.case(src, node),
            "variable_assignment" => self.assignment(src, node),
            "variable_assignments" => {
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    self.assignment(src, child);
                }
            }
            "test_command" => self.test(src, node),
            "function_definition" => {
                let name = node
                    .child_by_field_name("name")
                    .map(|n| text(src, n).to_owned());
                self.functions.extend(name);
                self.unsure(text(src, node));
                if let Some(body) = node.child_by_field_name("body") {
                    self.apart(|w| {
                        w.folders.clear();
                        w.branch(src, body);
                    });
                }
            }
            _ => {
                self.unsure(text(src, node));
                self.substitutions(src, node);
            }
        }
    }

    fn list(&mut self, src: &str, node: Node<'_>) {
        if self.depth >= MAX_DEPTH || !gaps_are_blank(src, node) {
            self.unsure(text(src, node));
        }
        if self.depth >= MAX_DEPTH {
            return;
        }
        self.depth += 1;
        let before = self.folders.clone();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "&&" => self.branches += 1,
                "||" => {
                    self.branches += 1;
                    self.or_still(before.clone());
                }
                _ if child.is_named() => self.statement(src, child),
                _ => {}
            }
        }
        self.branches = self.branches.saturating_sub(1);
        self.or_still(before);
        self.depth -= 1;
    }

    fn for_loop(&mut self, src: &str, node: Node<'_>) {
        let name = node
            .child_by_field_name("variable")
            .map(|n| text(src, n).to_owned());
        let mut cursor = node.walk();
        let values: Vec<Node<'_>> = node.children_by_field_name("value", &mut cursor).collect();
        let mut words = Vec::new();
        let mut sure = gaps_are_blank(src, node) && !values.is_empty();
        for value in &values {
            match self.words(src, *value, value.byte_range()) {
                Some(found) => words.extend(found),
                None => sure = false,
            }
        }
        let Some((name, body)) = name.zip(node.child_by_field_name("body")) else {
            return self.unsure(text(src, node));
        };
        sure &= words.len() <= MAX_TURNS
            && words
                .iter()
                .all(|w| w.known && !w.odd && !w.may_be_option());
        self.forget_assigned(src, body);
        if !is_local_name(&name) {
            self.unsure(&name);
        }
        if !sure {
            self.vars.insert(name, None);
            return self.branch(src, body);
        }
        for word in words {
            self.vars.insert(name.clone(), Some(word.text));
            self.branch(src, body);
        }
        self.vars.insert(name, None);
    }

    fn case(&mut self, src: &str, node: Node<'_>) {
        self.branches += 1;
        let mut cursor = node.walk();
        let mut at_value = false;
        if cursor.goto_first_child() {
            loop {
                let child = cursor.node();
                at_value =
                    cursor.field_name() == Some("value") || (at_value && child.kind() == "|");
                if cursor.field_name() == Some("value") {
                    self.substitutions(src, child);
                } else if child.is_named() {
                    let before = self.folders.clone();
                    self.statement(src, child);
                    self.or_still(before);
                }
                if !cursor.goto_next_sibling() {
                    break;
                }
            }
        }
        self.branches -= 1;
    }

    /// `x=…` on its own. A name in capitals may be in the environment already, and then every later command sees it.
    fn assignment(&mut self, src: &str, node: Node<'_>) {
        let Some((name, value)) = self.assigned(src, node) else {
            return self.unsure(text(src, node));
        };
        if !is_local_name(&name) && !super::is_harmless(&name, value.as_deref()) {
            self.unsure(text(src, node));
        }
        let straight = self.branches == 0;
        self.vars.insert(name, value.filter(|_| straight));
    }

    /// Name and, where known, value.
    fn assigned(&mut self, src: &str, node: Node<'_>) -> Option<(String, Option<String>)> {
        let name = node.child_by_field_name("name")?;
        if name.kind() != "variable_name" || !text(src, node).starts_with(text(src, name)) {
            self.substitutions(src, node);
            return None;
        }
        let tail = src.get(name.end_byte()..node.end_byte())?;
        let Some(value_text) = tail.strip_prefix('=') else {
            self.substitutions(src, node);
            return Some((text(src, name).to_owned(), None));
        };
        if value_text.starts_with('(') {
            self.substitutions(src, node);
            return Some((text(src, name).to_owned(), None));
        }
        let start = node.end_byte() - value_text.len();
        let words = self.words(src, node, start..node.end_byte())?;
        let value = match words.as_slice() {
            [] => Some(String::new()),
            [one] if one.is_sure() || (one.known && one.glob && !one.odd) => Some(one.text.clone()),
            [_, ..] => None,
        };
        Some((text(src, name).to_owned(), value))
    }

    /// Variables that are set anywhere below have no known value there.
    fn forget_assigned(&mut self, src: &str, node: Node<'_>) {
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if node.kind() == "variable_assignment"
                && let Some(name) = node.child_by_field_name("name")
            {
                self.vars.insert(text(src, name).to_owned(), None);
            }
            let mut cursor = node.walk();
            stack.extend(node.named_children(&mut cursor));
        }
    }

    /// `[ … ]` as the command it is; `[[ … ]]` only where it holds plain words.
    fn test(&mut self, src: &str, node: Node<'_>) {
        self.substitutions(src, node);
        let raw = text(src, node);
        let double = raw.starts_with("[[");
        let edge = if double { 2 } else { 1 };
        let inner = raw
            .get(edge..raw.len().saturating_sub(edge))
            .unwrap_or_default();
        let mut words = vec![Word::plain("test")];
        for piece in inner.split_whitespace() {
            if double && matches!(piece, "&&" | "||") {
                words.push(Word::plain(piece));
                continue;
            }
            let reading = Reading {
                src: piece,
                opaque: &[],
                vars: &self.vars,
                home: None,
            };
            match word::read(&reading, 0..piece.len()) {
                Ok(read) => words.extend(read),
                Err(word::NotAWord) => return self.unsure(raw),
            }
        }
        if words.iter().any(|w| !w.known) {
            return self.unsure(raw);
        }
        self.simple(raw, words, Vec::new());
    }

    fn redirected(&mut self, src: &str, node: Node<'_>) {
        let mut around = Around::default();
        let mut body = None;
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "file_redirect" | "heredoc_redirect" | "herestring_redirect" => {
                    self.redirect(src, child, &mut around);
                }
                _ => body = Some(child),
            }
        }
        around.unsure |= !gaps_are_blank(src, node);
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

    fn redirect<'t>(&mut self, src: &str, node: Node<'t>, around: &mut Around<'t>) {
        match node.kind() {
            "file_redirect" => self.file_redirect(src, node, around),
            "herestring_redirect" => {
                let last = node.named_child_count().checked_sub(1);
                let word = last
                    .and_then(|n| u32::try_from(n).ok())
                    .and_then(|n| node.named_child(n));
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
        if !target.is_sure() {
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

    fn command(&mut self, src: &str, node: Node<'_>, mut around: Around<'_>, whole: Node<'_>) {
        let mut spans: Vec<(Range<usize>, Node<'_>)> = Vec::new();
        let mut assigned = Vec::new();
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        around.unsure |= !gaps_are_blank(src, node);
        for child in children {
            match child.kind() {
                "variable_assignment" => match self.assigned(src, child) {
                    Some((name, value)) => {
                        assigned.push((name, value, text(src, child).to_owned()))
                    }
                    None => around.unsure = true,
                },
                "file_redirect" | "herestring_redirect" => {
                    let mut inner = Around::default();
                    self.redirect(src, child, &mut inner);
                    around.unsure |= inner.unsure || !inner.more.is_empty();
                    around.needs.extend(inner.needs);
                }
                "subshell" | "comment" => around.unsure = true,
                _ => match spans.last_mut() {
                    // Cut by the grammar where no shell would cut.
                    Some((span, _)) if span.end == child.start_byte() => {
                        span.end = child.end_byte()
                    }
                    Some(_) | None => spans.push((child.byte_range(), child)),
                },
            }
        }
        spans.extend(around.more.iter().map(|n| (n.byte_range(), *n)));
        let mut words = Vec::new();
        for (span, _) in &spans {
            match self
                .words(src, node, span.clone())
                .or_else(|| self.words(src, whole, span.clone()))
            {
                Some(read) => words.extend(read),
                None => {
                    around.unsure = true;
                    words.push(Word::unknown(src.get(span.clone()).unwrap_or_default()));
                }
            }
        }
        let at = self.out.len();
        self.simple(text(src, whole), words, assigned);
        if let Some(mut segment) = self.out.get_mut(at).map(std::mem::take) {
            self.settle(&mut segment, around);
            if let Some(place) = self.out.get_mut(at) {
                *place = segment;
            }
        }
    }

    /// Puts what stands around a command on its segment.
    fn settle(&self, segment: &mut Segment, around: Around<'_>) {
        let foreign = around
            .needs
            .iter()
            .any(|n| matches!(n, Access::Read(path) if !self.is_open(path)));
        segment.needs.extend(around.needs);
        segment.read_only &= !foreign && !around.unsure;
        segment.plain &= !around.unsure;
        if around.unsure && !segment.is_unsure() {
            segment.marks.push(Mark::Unsure);
        }
    }

    /// The words in a span below a node. Substitutions inside it are walked as scripts of their own.
    fn words(&mut self, src: &str, node: Node<'_>, span: Range<usize>) -> Option<Vec<Word>> {
        let mut opaque = Vec::new();
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if node.end_byte() <= span.start || node.start_byte() >= span.end {
                continue;
            }
            let within = node.start_byte() >= span.start && node.end_byte() <= span.end;
            let value = match node.kind() {
                "command_substitution" if within => {
                    let value = here_text(src, node);
                    if value.is_none() {
                        self.apart(|w| w.substituted(src, node));
                    }
                    Some(value)
                }
                "process_substitution" if within => {
                    self.apart(|w| w.statements(src, node));
                    let reads = text(src, node).starts_with('<');
                    Some(reads.then(|| "/dev/fd/63".to_owned()))
                }
                "expansion" if within => {
                    self.expansion(src, node);
                    let name = text(src, node).get(2..).and_then(|s| s.strip_suffix('}'));
                    let known = name.and_then(|name| self.vars.get(name).cloned().flatten());
                    Some(known)
                }
                "arithmetic_expansion" if within => {
                    if text(src, node).contains('[') {
                        self.unsure(text(src, node));
                    }
                    self.substitutions(src, node);
                    Some(None)
                }
                _ => None,
            };
            match value {
                Some(value) => opaque.push((node.byte_range(), value)),
                None => {
                    let mut cursor = node.walk();
                    stack.extend(node.children(&mut cursor));
                }
            }
        }
        let home = self.place.home.and_then(|h| h.to_str());
        let reading = Reading {
            src,
            opaque: &opaque,
            vars: &self.vars,
            home,
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
        let raw = text(src, node);
        let body = raw.get(2..).unwrap_or_default();
        if body.starts_with('!') || body.contains(['@', '[']) || body.contains('=') {
            self.unsure(raw);
        }
        self.substitutions(src, node);
    }

    /// Walks every substitution below a node, and notices one that the grammar did not see.
    fn substitutions(&mut self, src: &str, node: Node<'_>) {
        let mut rest = text(src, node).as_bytes().to_vec();
        let mut stack = vec![node];
        while let Some(inner) = stack.pop() {
            match inner.kind() {
                "command_substitution" | "process_substitution" => {
                    let from = inner.start_byte() - node.start_byte();
                    let to = inner.end_byte() - node.start_byte();
                    if let Some(seen) = rest.get_mut(from..to) {
                        seen.fill(b' ');
                    }
                    self.apart(|w| w.substituted(src, inner));
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

/// A variable of the script itself, not one that programs look at.
fn is_local_name(name: &str) -> bool {
    name.contains(|c: char| c.is_ascii_lowercase())
        && !name.ends_with("_proxy")
        && !name.starts_with("npm_")
}

fn text<'s>(src: &'s str, node: Node<'_>) -> &'s str {
    src.get(node.byte_range()).unwrap_or_default()
}

/// Between the parts of a node only what every shell skips.
fn gaps_are_blank(src: &str, node: Node<'_>) -> bool {
    let mut at = node.start_byte();
    let mut cursor = node.walk();
    let blank = node.children(&mut cursor).all(|child| {
        let blank = child.start_byte() < at || is_blank(src.get(at..child.start_byte()));
        at = at.max(child.end_byte());
        blank
    });
    blank && is_blank(src.get(at..node.end_byte()))
}

fn is_blank(gap: Option<&str>) -> bool {
    gap.is_some_and(|gap| {
        gap.replace("\\\n", "")
            .bytes()
            .all(|b| matches!(b, b' ' | b'\t' | b'\n'))
    })
}
