//! From the syntax tree of a shell text to its simple commands, with the folder and the variables each of them sees.
//! The grammar says where things are; every word is read again by `word`, and where the two disagree it is unsure.

use super::Place;
use super::dialect::{self, Dialect};
use super::feed::Fed;
use super::redirect::Around;
use super::word::{Value, Vars, Word};
use ostler_wire::Segment;
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
/// Words of one command.
const MAX_WORDS: usize = 1024;
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
    /// What the part of a pipeline before this one lists.
    pub fed: Option<Fed>,
    /// Which shells may read the text at hand.
    pub dialect: Dialect,
    depth: usize,
    scripts: usize,
    /// Inside a loop, branch or function: assignments there may or may not have happened.
    branches: usize,
}

impl<'p> Walker<'p> {
    pub fn new(place: &'p Place<'p>) -> Self {
        Self {
            place,
            folders: vec![place.cwd.clone()],
            vars: Vars::new(),
            functions: HashSet::new(),
            out: Vec::new(),
            fed: None,
            dialect: Dialect::Any,
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
        let reading = dialect::scan(src, self.dialect);
        if reading.differs {
            self.unsure(src);
        }
        if let Some(other) = reading.other {
            // What other shells make of it, for deny and ask rules to see.
            self.apart(|w| w.parse(&other));
        }
        self.parse(src);
    }

    fn parse(&mut self, src: &str) {
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
    pub(super) fn statements(&mut self, src: &str, node: Node<'_>) {
        if self.depth >= MAX_DEPTH {
            return self.unsure(text(src, node));
        }
        self.depth += 1;
        if !gaps_are_blank(src, node) {
            self.unsure(text(src, node));
        }
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        for (i, child) in children.iter().enumerate() {
            if child.kind() == ";;" {
                self.unsure(text(src, node));
            } else if child.is_named() {
                self.step(src, *child, children.get(i + 1));
            }
        }
        self.depth -= 1;
    }

    /// One statement of several. In the background it is a process of its own.
    fn step(&mut self, src: &str, node: Node<'_>, next: Option<&Node<'_>>) {
        if next.is_some_and(|next| next.kind() == "&") {
            return self.apart(|w| w.statement(src, node));
        }
        let before = self.folders.clone();
        self.statement(src, node);
        self.or_still(before);
    }

    /// One part of a pipeline: some shells run one of them themselves, so that what it sets may hold afterwards.
    fn part(&mut self, src: &str, node: Node<'_>) {
        let (folders, vars) = (self.folders.clone(), self.vars.clone());
        self.statement(src, node);
        let inside = std::mem::replace(&mut self.vars, vars);
        for (name, value) in inside {
            if self.vars.get(&name) != Some(&value) {
                self.vars.insert(name, None);
            }
        }
        self.or_still(folders);
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
    pub(super) fn apart(&mut self, inside: impl FnOnce(&mut Self)) {
        let (folders, vars) = (self.folders.clone(), self.vars.clone());
        inside(self);
        let seen = std::mem::replace(&mut self.vars, vars);
        self.folders = folders;
        // Some shells run the end of a pipeline themselves: what was read there may be known here.
        let unknown = seen.into_iter().filter(|(_, value)| value.is_none());
        self.vars.extend(unknown);
    }

    fn branch(&mut self, src: &str, node: Node<'_>) {
        self.forget_assigned(src, node);
        self.branches += 1;
        self.statements(src, node);
        self.branches -= 1;
    }

    pub(super) fn statement(&mut self, src: &str, node: Node<'_>) {
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
                let mut fed = None;
                for child in node.named_children(&mut cursor) {
                    let at = self.out.len();
                    self.fed.clone_from(&fed);
                    self.part(src, child);
                    fed = self.listed(at, fed);
                }
                self.fed = None;
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
                if !gaps_are_blank(src, node) {
                    self.unsure(text(src, node));
                }
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
        sure &= words.len() <= MAX_TURNS && words.iter().all(|w| w.known && !w.odd && !w.brace);
        self.forget_assigned(src, body);
        let hidden = values
            .iter()
            .any(|value| self.shows_environment(src, *value));
        if !is_local_name(&name) || hidden {
            self.unsure(&name);
        }
        if !sure {
            self.vars.insert(name, None);
            return self.branch(src, body);
        }
        for word in words {
            let wild = word.glob || word.wild;
            // What was cut at blanks has none.
            let value = Value {
                text: word.text,
                wild,
                many: false,
                single: word.many,
            };
            self.vars.insert(name.clone(), Some(value));
            self.branch(src, body);
        }
        self.vars.insert(name, None);
    }

    fn case(&mut self, src: &str, node: Node<'_>) {
        if !gaps_are_blank(src, node) {
            self.unsure(text(src, node));
        }
        self.forget_assigned(src, node);
        self.branches += 1;
        let mut cursor = node.walk();
        if cursor.goto_first_child() {
            loop {
                let child = cursor.node();
                if cursor.field_name() == Some("value") {
                    self.substitutions(src, child);
                } else if child.is_named() {
                    let next = child.next_sibling();
                    self.step(src, child, next.as_ref());
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
        if !is_local_name(&name) && !super::is_harmless(&name, value.as_deref())
            || self.shows_environment(src, node)
        {
            self.unsure(text(src, node));
        }
        let straight = self.branches == 0;
        let value = value.filter(|_| straight).map(Value::plain);
        self.vars.insert(name, value);
    }

    /// Whether a variable of the environment is expanded in here that may hold a secret.
    pub(super) fn shows_environment(&self, src: &str, node: Node<'_>) -> bool {
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            let name = text(src, node);
            let expanded = node.kind() == "variable_name"
                && node.parent().is_none_or(|p| {
                    p.kind() != "variable_assignment" || p.child_by_field_name("name") != Some(node)
                });
            let public = self.vars.contains_key(name) || super::checks::is_public(name);
            if expanded && !public && !is_local_name(name) {
                return true;
            }
            let mut cursor = node.walk();
            stack.extend(node.named_children(&mut cursor));
        }
        false
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
        let raw = text(src, node);
        let double = raw.starts_with("[[");
        if double && self.dialect != Dialect::Bash {
            self.substitutions(src, node);
            return self.unsure(raw);
        }
        let edge = if double { 2 } else { 1 };
        let inner = node.start_byte() + edge..node.end_byte().saturating_sub(edge);
        let mut words = vec![Word::plain("test")];
        for span in dialect::blank_cut(src, inner) {
            if double && matches!(src.get(span.clone()), Some("&&" | "||")) {
                words.push(Word::plain(src.get(span).unwrap_or_default()));
                continue;
            }
            match self.words(src, node, span) {
                Some(read) => words.extend(read),
                None => return self.unsure(raw),
            }
        }
        // One word whatever its value is compared as such.
        if words.iter().any(|w| !w.known && (w.many || double)) {
            return self.unsure(raw);
        }
        self.simple(raw, words, Vec::new());
    }

    pub(super) fn command(
        &mut self,
        src: &str,
        node: Node<'_>,
        mut around: Around<'_>,
        whole: Node<'_>,
    ) {
        let mut spans: Vec<(Range<usize>, Node<'_>)> = Vec::new();
        let mut assigned = Vec::new();
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        around.unsure |= !gaps_are_blank(src, node)
            || has_line_end(src, node)
            || self.shows_environment(src, node);
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
                    around.names.extend(inner.names);
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
        if spans.len() > MAX_WORDS {
            return self.unsure(text(src, whole));
        }
        for (span, child) in &spans {
            // A word that was put together again is looked for in all of the command.
            let within = if child.byte_range() == *span {
                *child
            } else {
                node
            };
            match self.words(src, within, span.clone()) {
                Some(read) => words.extend(read),
                None => {
                    around.unsure = true;
                    words.push(Word::unknown(src.get(span.clone()).unwrap_or_default()));
                }
            }
        }
        let at = self.out.len();
        // Before a special builtin an assignment outlives the command in some shells.
        let unknown: Vec<_> = assigned.iter().map(|(n, _, _)| (n.clone(), None)).collect();
        self.simple(text(src, whole), words, assigned);
        self.vars.extend(unknown);
        if let Some(mut segment) = self.out.get_mut(at).map(std::mem::take) {
            self.settle(&mut segment, around);
            if let Some(place) = self.out.get_mut(at) {
                *place = segment;
            }
        }
    }
}

/// A variable of the script itself, not one that programs look at.
pub(super) fn is_local_name(name: &str) -> bool {
    name.contains(|c: char| c.is_ascii_lowercase())
        && !name.ends_with("_proxy")
        && !name.starts_with("npm_")
}

pub(super) fn text<'s>(src: &'s str, node: Node<'_>) -> &'s str {
    src.get(node.byte_range()).unwrap_or_default()
}

/// Between the parts of a node only what every shell skips.
pub(super) fn gaps_are_blank(src: &str, node: Node<'_>) -> bool {
    let mut at = node.start_byte();
    let mut cursor = node.walk();
    let mut after_word = false;
    let blank = node.children(&mut cursor).all(|child| {
        let gap = src.get(at..child.start_byte());
        // A line that goes on right behind a word goes on with the same word.
        let glued = after_word
            && child.is_named()
            && gap.is_some_and(|gap| !gap.is_empty() && gap.replace("\\\n", "").is_empty());
        let blank = child.start_byte() < at || (is_blank(gap) && !glued);
        at = at.max(child.end_byte());
        after_word = child.is_named();
        blank
    });
    blank && is_blank(src.get(at..node.end_byte()))
}

/// Whether a line ends between the parts of a simple command: there it ends for every shell, whatever the grammar says.
pub(super) fn has_line_end(src: &str, node: Node<'_>) -> bool {
    let mut at = node.start_byte();
    let mut cursor = node.walk();
    node.children(&mut cursor).any(|child| {
        let gap = src.get(at..child.start_byte()).unwrap_or_default();
        at = at.max(child.end_byte());
        gap.replace("\\\n", "").contains('\n')
    })
}

fn is_blank(gap: Option<&str>) -> bool {
    gap.is_some_and(|gap| {
        gap.replace("\\\n", "")
            .bytes()
            .all(|b| matches!(b, b' ' | b'\t' | b'\n'))
    })
}
