//! Every definition of a file that can be deleted by its name. Bodies of functions are not looked into.

use super::grammar::{Grammar, Role};
use std::rc::Rc;
use tree_sitter::{Node, Tree};

/// Definitions that are looked at.
const MAX_FOUND: usize = 50_000;
/// Names of a path.
const MAX_PATH: usize = 32;
/// How deep a declarator may be.
const MAX_DEPTH: usize = 64;

pub struct Outline<'tree> {
    pub all: Vec<Found<'tree>>,
}

pub struct Found<'tree> {
    /// The names of what it is in, and its own.
    pub path: Vec<String>,
    pub node: Node<'tree>,
    /// The node with what wraps it.
    pub outer: Node<'tree>,
    /// Other names of the same declaration, if there are some.
    pub shared_with: Option<String>,
}

impl Found<'_> {
    pub fn name(&self) -> String {
        self.path.join(".")
    }

    /// Counted from 1.
    pub fn line(&self) -> usize {
        self.node.start_position().row + 1
    }

    pub fn spans_line(&self, line: usize) -> bool {
        let (from, to) = (
            self.outer.start_position().row,
            self.node.end_position().row,
        );
        (from + 1..=to + 1).contains(&line)
    }
}

/// A node that is still to be looked at.
struct Task<'tree> {
    node: Node<'tree>,
    outer: Option<Node<'tree>>,
    path: Rc<Vec<String>>,
}

impl<'tree> Outline<'tree> {
    pub fn new(grammar: &Grammar, content: &str, tree: &'tree Tree) -> Self {
        let mut all = Vec::new();
        let mut tasks = vec![Task {
            node: tree.root_node(),
            outer: None,
            path: Rc::default(),
        }];
        while let Some(Task { node, outer, path }) = tasks.pop() {
            let Some(role) = grammar.role(node.kind()) else {
                continue;
            };
            if all.len() >= MAX_FOUND {
                break;
            }
            if path.len() >= MAX_PATH {
                continue;
            }
            let inner = match role {
                Role::Passes => Some((None, path)),
                Role::Wraps => Some((wrapper(grammar, node, outer), path)),
                Role::Extends => Some((None, joined(&path, extended(content, node)))),
                Role::Names | Role::Holds => {
                    let names = names(content, node);
                    let own = names.first().cloned();
                    add(&mut all, &names, (node, outer.unwrap_or(node)), &path);
                    match (role, own) {
                        (Role::Holds, Some(own)) => Some((None, joined(&path, own))),
                        _ => None,
                    }
                }
            };
            if let Some((outer, path)) = inner {
                let mut cursor = node.walk();
                let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
                tasks.extend(children.into_iter().rev().map(|node| Task {
                    node,
                    outer,
                    path: path.clone(),
                }));
            }
        }
        Self { all }
    }

    /// Names that look like the wanted one, the nearest first.
    pub fn nearest(&self, wanted: &str, most: usize) -> Vec<String> {
        let last = wanted.rsplit('.').next().unwrap_or(wanted).to_lowercase();
        let near = |found: &Found<'_>| {
            let name = found.path.last().map_or("", String::as_str).to_lowercase();
            let diff = similar::TextDiff::from_chars(name.as_str(), last.as_str());
            (diff.ratio() * 1000.0) as u32
        };
        let mut all: Vec<(u32, String)> = self.all.iter().map(|f| (near(f), f.name())).collect();
        all.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        all.dedup_by(|a, b| a.1 == b.1);
        all.into_iter().take(most).map(|(_, name)| name).collect()
    }
}

/// `Type::name`, `Type.name`, `Type#name`.
pub fn segments(symbol: &str) -> Vec<String> {
    let parts = symbol
        .split(['.', '#', '/'])
        .flat_map(|part| part.split("::"));
    let parts = parts.map(str::trim).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

fn add<'tree>(
    all: &mut Vec<Found<'tree>>,
    names: &[Vec<String>],
    (node, outer): (Node<'tree>, Node<'tree>),
    path: &Rc<Vec<String>>,
) {
    // A typedef and the type in it go together.
    let one = node.kind() == "type_definition";
    for name in names {
        let others: Vec<String> = names
            .iter()
            .filter(|o| *o != name)
            .map(|o| o.join("."))
            .collect();
        all.push(Found {
            path: path.iter().chain(name).cloned().collect(),
            node,
            outer,
            shared_with: (!one && !others.is_empty()).then(|| others.join(", ")),
        });
    }
}

fn joined(path: &Rc<Vec<String>>, more: Vec<String>) -> Rc<Vec<String>> {
    Rc::new(path.iter().cloned().chain(more).collect())
}

/// What goes with the definitions in a wrapper: the wrapper, if there is only one in it.
fn wrapper<'tree>(
    grammar: &Grammar,
    node: Node<'tree>,
    outer: Option<Node<'tree>>,
) -> Option<Node<'tree>> {
    let mut cursor = node.walk();
    let defines = |child: &Node<'_>| match grammar.role(child.kind()) {
        Some(Role::Names | Role::Holds | Role::Wraps) => true,
        Some(Role::Passes | Role::Extends) | None => false,
    };
    let count = node.named_children(&mut cursor).filter(defines).count();
    (count == 1).then(|| outer.unwrap_or(node))
}

fn text<'a>(content: &'a str, node: Node<'_>) -> &'a str {
    content.get(node.byte_range()).unwrap_or_default()
}

/// The name of a type without its arguments.
fn bare(text: &str) -> Vec<String> {
    let bare = text.split(['<', '[']).next().unwrap_or_default();
    let bare = bare.trim_start_matches(['&', '*', '(', ' ']).trim();
    segments(bare.trim_start_matches("mut ").trim_start_matches("dyn "))
}

/// The type that an extension is of.
fn extended(content: &str, node: Node<'_>) -> Vec<String> {
    let of = node.child_by_field_name("type");
    let path = of.map_or_else(Vec::new, |of| bare(text(content, of)));
    path.last().cloned().into_iter().collect()
}

/// The names that a node defines, each as a path.
fn names(content: &str, node: Node<'_>) -> Vec<Vec<String>> {
    let mut cursor = node.walk();
    let mut out: Vec<Vec<String>> = match node.kind() {
        "lexical_declaration"
        | "variable_declaration"
        | "field_declaration"
        | "constant_declaration"
        | "declaration"
        | "type_definition"
        | "function_definition"
            if node.child_by_field_name("name").is_none() =>
        {
            let declared = node.named_children(&mut cursor);
            let declared = declared.filter(|child| child.kind() == "variable_declarator");
            let mut out: Vec<Vec<String>> =
                declared.filter_map(|d| declared_name(content, d)).collect();
            let mut cursor = node.walk();
            let declarators = node.children_by_field_name("declarator", &mut cursor);
            let declarators = declarators.filter(|d| d.kind() != "variable_declarator");
            out.extend(declarators.filter_map(|d| declarator(content, d)));
            out.extend(inner_type(content, node));
            out
        }
        "assignment" => node
            .child_by_field_name("left")
            .filter(|left| left.kind() == "identifier")
            .map(|left| vec![text(content, left).to_owned()])
            .into_iter()
            .collect(),
        "type_alias_statement" => node
            .child_by_field_name("left")
            .map(|left| bare(text(content, left)))
            .into_iter()
            .collect(),
        "method_declaration" if node.child_by_field_name("receiver").is_some() => {
            method(content, node)
        }
        _ => {
            let names = node.children_by_field_name("name", &mut cursor);
            let names = names.filter(|name| name.is_named());
            let name = |name: Node<'_>| segments(text(content, name).trim_matches(['"', '\'']));
            names.map(name).collect()
        }
    };
    out.retain(|name| !name.is_empty());
    let mut seen: Vec<Vec<String>> = Vec::new();
    out.retain(|name| {
        let new = !seen.contains(name);
        seen.push(name.clone());
        new
    });
    // Forward declarations define nothing that one would name.
    let is_type = node.kind().ends_with("_specifier");
    if is_type && node.child_by_field_name("body").is_none() {
        out.clear();
    }
    out
}

fn declared_name(content: &str, declarator: Node<'_>) -> Option<Vec<String>> {
    let name = declarator.child_by_field_name("name")?;
    name.kind()
        .ends_with("identifier")
        .then(|| vec![text(content, name).to_owned()])
}

/// A name in the way of C: inside of pointers, arrays and parameter lists.
fn declarator(content: &str, mut node: Node<'_>) -> Option<Vec<String>> {
    for _ in 0..MAX_DEPTH {
        if node.kind() == "qualified_identifier" {
            return Some(segments(text(content, node)));
        }
        match node.child_by_field_name("declarator") {
            Some(inner) => node = inner,
            None if node.kind() == "reference_declarator"
                || node.kind() == "parenthesized_declarator" =>
            {
                node = node.named_child(0)?;
            }
            None => break,
        }
    }
    let is_name = node.kind().ends_with("identifier")
        || ["destructor_name", "operator_name"].contains(&node.kind());
    is_name.then(|| vec![text(content, node).to_owned()])
}

/// The name of a type that is defined in a declaration.
fn inner_type(content: &str, node: Node<'_>) -> Option<Vec<String>> {
    let of = node.child_by_field_name("type")?;
    of.child_by_field_name("body")?;
    let name = of.child_by_field_name("name")?;
    Some(vec![text(content, name).to_owned()])
}

/// A method beside its type: `func (s *Stack[T]) Push()`.
fn method(content: &str, node: Node<'_>) -> Vec<Vec<String>> {
    let receiver = node.child_by_field_name("receiver");
    let parameter = receiver.and_then(|receiver| receiver.named_child(0));
    let of = parameter.and_then(|parameter| parameter.child_by_field_name("type"));
    let mut path = of.map_or_else(Vec::new, |of| bare(text(content, of)));
    let name = node.child_by_field_name("name");
    path.extend(name.map(|name| text(content, name).to_owned()));
    vec![path]
}
