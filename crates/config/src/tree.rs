//! Configuration as a tree in which every value remembers where it was written.
//! It knows TOML syntax and positions; it knows no key and no default.

use ostler_wire::{Why, Word};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use toml_edit::{Document, Item, TableLike};

/// Who supplied a value. Later variants win over earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    Default,
    User,
    /// The person's own rules for one project, in Ostler's home.
    Local,
    Project,
    Environment,
    Flag,
}

impl Layer {
    pub fn name(self) -> &'static str {
        match self {
            Layer::Default => "default",
            Layer::User => "user",
            Layer::Local => "local",
            Layer::Project => "project",
            Layer::Environment => "environment",
            Layer::Flag => "flag",
        }
    }
}

/// Index into [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceId(u32);

/// A file, an environment variable or a flag.
#[derive(Debug, Clone)]
pub struct Source {
    pub layer: Layer,
    /// What a person would call it: a path, a variable name, a flag.
    pub name: String,
    /// The file behind it, when there is one.
    pub path: Option<PathBuf>,
    /// The text that spans point into; empty when it is not a file.
    pub text: String,
}

#[derive(Debug, Clone)]
pub struct Sources(Vec<Source>);

impl Default for Sources {
    /// Starts with the source of all built-in values.
    fn default() -> Self {
        Self(vec![Source {
            layer: Layer::Default,
            name: "default".into(),
            path: None,
            text: String::new(),
        }])
    }
}

impl Sources {
    pub const BUILT_IN: SourceId = SourceId(0);

    pub fn add(&mut self, source: Source) -> SourceId {
        self.0.push(source);
        SourceId(u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX))
    }

    pub fn get(&self, id: SourceId) -> &Source {
        self.0.get(id.0 as usize).unwrap_or(&self.0[0])
    }

    pub fn layer(&self, at: At) -> Layer {
        self.get(at.source).layer
    }

    pub fn place(&self, at: At) -> Place {
        self.place_of(at, at.key)
    }

    pub fn place_of(&self, at: At, span: Span) -> Place {
        let source = self.get(at.source);
        Place {
            name: source.name.clone(),
            position: (source.path.is_some()).then(|| position(&source.text, span.start)),
        }
    }
}

/// Byte range in the text of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl From<std::ops::Range<usize>> for Span {
    fn from(range: std::ops::Range<usize>) -> Self {
        Self {
            start: range.start,
            end: range.end,
        }
    }
}

/// Where a value was written: its key and the value itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    pub source: SourceId,
    pub key: Span,
    pub value: Span,
}

impl At {
    pub fn whole(source: SourceId) -> Self {
        Self {
            source,
            key: Span::default(),
            value: Span::default(),
        }
    }
}

/// A position for people: `ostler.toml:3:13`, or the name of a variable or flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub name: String,
    /// Line and column, both from 1, columns in characters.
    pub position: Option<(usize, usize)>,
}

as_displayed!(Place);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some((line, column)) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        Ok(())
    }
}

/// Line and column (from 1) of a byte offset; an offset inside a character counts as its start.
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..boundary(text, offset)];
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before[line_start..].chars().count() + 1)
}

/// The last character boundary up to an offset.
pub fn boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[derive(Debug, Clone)]
pub struct Node {
    pub value: Value,
    pub at: At,
}

#[derive(Debug, Clone)]
pub enum Value {
    String(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Datetime(String),
    Array(Vec<Node>),
    Table(Table),
}

pub type Table = BTreeMap<String, Node>;

impl Node {
    pub fn new(value: Value, at: At) -> Self {
        Self { value, at }
    }

    pub fn as_table(&self) -> Option<&Table> {
        if let Value::Table(table) = &self.value {
            Some(table)
        } else {
            None
        }
    }

    pub fn as_table_mut(&mut self) -> Option<&mut Table> {
        if let Value::Table(table) = &mut self.value {
            Some(table)
        } else {
            None
        }
    }

    pub fn as_array(&self) -> Option<&[Node]> {
        if let Value::Array(items) = &self.value {
            Some(items)
        } else {
            None
        }
    }

    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Node>> {
        if let Value::Array(items) = &mut self.value {
            Some(items)
        } else {
            None
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        if let Value::String(text) = &self.value {
            Some(text)
        } else {
            None
        }
    }

    /// What a table in a list goes by.
    pub fn name(&self) -> Option<&str> {
        self.get(&["name"])?.as_str()
    }

    /// The value under a chain of plain keys.
    pub fn get(&self, path: &[&str]) -> Option<&Node> {
        path.iter()
            .try_fold(self, |node, key| node.as_table()?.get(*key))
    }

    pub fn get_mut(&mut self, path: &[&str]) -> Option<&mut Node> {
        path.iter()
            .try_fold(self, |node, key| node.as_table_mut()?.get_mut(*key))
    }

    /// The value at the end of a path.
    pub fn at_path(&self, path: &[Step]) -> Option<&Node> {
        path.iter().try_fold(self, |node, step| match step {
            Step::Key(key) => node.as_table()?.get(key),
            Step::Index(index) => node.as_array()?.get(*index),
        })
    }

    /// Takes the value at the end of a path out of the tree.
    pub fn strike(&mut self, path: &[Step]) -> bool {
        let Some((last, parents)) = path.split_last() else {
            return false;
        };
        let parent = parents.iter().try_fold(self, |node, step| match step {
            Step::Key(key) => node.as_table_mut()?.get_mut(key),
            Step::Index(index) => node.as_array_mut()?.get_mut(*index),
        });
        let Some(parent) = parent else { return false };
        match last {
            Step::Key(key) => parent
                .as_table_mut()
                .is_some_and(|table| table.remove(key).is_some()),
            Step::Index(index) => parent.as_array_mut().is_some_and(|items| {
                let there = *index < items.len();
                there.then(|| items.remove(*index)).is_some()
            }),
        }
    }

    /// Takes the value under a chain of keys out of the tree.
    pub fn take(&mut self, path: &[&str]) -> Option<Node> {
        let (last, parents) = path.split_last()?;
        self.get_mut(parents)?.as_table_mut()?.remove(*last)
    }

    /// Puts a value under a chain of keys, making tables on the way. What is there stays, and so
    /// does a parent that is no table: the value is handed back.
    pub fn put_new(&mut self, path: &[&str], node: Node) -> Result<(), Node> {
        let Some((last, parents)) = path.split_last() else {
            return Err(node);
        };
        let mut here = self;
        for parent in parents {
            let at = node.at;
            let Some(table) = here.as_table_mut() else {
                return Err(node);
            };
            here = table
                .entry((*parent).to_owned())
                .or_insert_with(|| Node::new(Value::Table(Table::new()), at));
        }
        match here.as_table_mut() {
            Some(table) if !table.contains_key(*last) => {
                table.insert((*last).to_owned(), node);
                Ok(())
            }
            _ => Err(node),
        }
    }
}

/// The table of that name in a list of tables, added when it is not there. None when the list is
/// no list.
pub fn item_named<'a>(root: &'a mut Node, list: &str, name: &str, at: At) -> Option<&'a mut Node> {
    let list = root
        .as_table_mut()?
        .entry(list.to_owned())
        .or_insert_with(|| Node::new(Value::Array(Vec::new()), at));
    let items = list.as_array_mut()?;
    let known = items.iter().position(|item| item.name() == Some(name));
    let index = known.unwrap_or_else(|| {
        let name = Node::new(Value::String(name.to_owned()), at);
        let fields = Table::from([("name".to_owned(), name)]);
        items.push(Node::new(Value::Table(fields), at));
        items.len() - 1
    });
    items.get_mut(index)
}

/// A step on the way to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Key(String),
    Index(usize),
}

/// The path of a key whose parts a person wrote: items of these lists go by their names.
pub fn schema_path<K: AsRef<str>>(keys: &[K]) -> Vec<Step> {
    const NAMED: [&str; 2] = ["providers", "plugins"];
    let is_item = |depth: usize| depth == 1 && NAMED.contains(&keys[0].as_ref());
    let step = |(depth, key): (usize, &K)| match is_item(depth) {
        true => Step::Index(0),
        false => Step::Key(key.as_ref().to_owned()),
    };
    keys.iter().enumerate().map(step).collect()
}

/// The path as a person writes it: list items that have a `name` go by it.
pub fn dotted(root: &Node, path: &[Step]) -> String {
    let mut out = String::new();
    let mut here = Some(root);
    for step in path {
        match step {
            Step::Key(key) => {
                push_key(&mut out, key);
                here = here.and_then(|node| node.as_table()?.get(key));
            }
            Step::Index(index) => {
                here = here.and_then(|node| node.as_array()?.get(*index));
                match here.and_then(Node::name) {
                    Some(name) => push_key(&mut out, name),
                    None => out.push_str(&format!("[{index}]")),
                }
            }
        }
    }
    out
}

/// Appends a key, quoted where TOML would ask for it; control characters never get through.
pub fn push_key(out: &mut String, key: &str) {
    const SHOWN: usize = 80;
    if !out.is_empty() {
        out.push('.');
    }
    let bare = !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    let mut shown: String = key.chars().take(SHOWN).collect();
    if shown.len() < key.len() {
        shown.push('…');
    }
    if bare {
        out.push_str(&shown);
    } else {
        out.push_str(&format!("{shown:?}"));
    }
}

/// A syntax error of a file.
#[derive(Debug, Clone)]
pub struct SyntaxError {
    pub message: Why,
    pub span: Span,
}

/// Parses a file. The editor's parser stops at the first error, so a file with one is read again by a parser that
/// lists them all.
pub fn parse(text: &str, source: SourceId) -> Result<Node, Vec<SyntaxError>> {
    let document = Document::parse(text).map_err(|first| {
        let (_, all) = toml::de::DeTable::parse_recoverable(text);
        match all.is_empty() {
            false => all.iter().map(SyntaxError::from).collect(),
            // Numbers that are too large are found by the editor alone.
            true => vec![SyntaxError {
                message: Why::from(Word::CfgBigNumber),
                span: first.span().map_or_else(Span::default, Span::from),
            }],
        }
    })?;
    let value = table_value(document.as_table(), source);
    Ok(Node::new(value, At::whole(source)))
}

/// Reads a single TOML value.
pub fn parse_value(text: &str, source: SourceId) -> Option<Value> {
    let value = text.trim().parse::<toml_edit::Value>().ok()?;
    Some(plain_value(&value, source))
}

impl From<&toml::de::Error> for SyntaxError {
    fn from(error: &toml::de::Error) -> Self {
        Self {
            message: error.message().into(),
            span: error.span().map_or_else(Span::default, Span::from),
        }
    }
}

fn table_value(table: &dyn TableLike, source: SourceId) -> Value {
    let node = |(key, item): (&str, &Item)| {
        let key_span = table.key(key).and_then(toml_edit::Key::span);
        let at = At {
            source,
            key: key_span.map_or_else(Span::default, Span::from),
            value: item.span().map_or_else(Span::default, Span::from),
        };
        let value = match item {
            Item::None => return None,
            Item::Value(value) => plain_value(value, source),
            Item::Table(table) => table_value(table, source),
            Item::ArrayOfTables(tables) => {
                let element = |table: &toml_edit::Table| {
                    list_element(table_value(table, source), table.span(), source)
                };
                Value::Array(tables.iter().map(element).collect())
            }
        };
        Some((key.to_owned(), Node::new(value, at)))
    };
    Value::Table(table.iter().filter_map(node).collect())
}

fn plain_value(value: &toml_edit::Value, source: SourceId) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::Integer(*number.value()),
        toml_edit::Value::Float(number) => Value::Float(*number.value()),
        toml_edit::Value::Boolean(flag) => Value::Boolean(*flag.value()),
        toml_edit::Value::Datetime(moment) => Value::Datetime(moment.value().to_string()),
        toml_edit::Value::Array(items) => {
            let element = |item| list_element(plain_value(item, source), item.span(), source);
            Value::Array(items.iter().map(element).collect())
        }
        toml_edit::Value::InlineTable(table) => table_value(table, source),
    }
}

/// What stands in a list has no key: the value itself is pointed at.
fn list_element(value: Value, span: Option<std::ops::Range<usize>>, source: SourceId) -> Node {
    let span = span.map_or_else(Span::default, Span::from);
    let at = At {
        source,
        key: span,
        value: span,
    };
    Node::new(value, at)
}
