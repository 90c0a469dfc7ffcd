//! Changing a configuration file by key, so that comments, order and layout stay, and starting
//! one. A change that would make the file worse is refused before anything is written.

use crate::text::phrase;
use ostler_wire::{Why, Word};
use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TableLike, Value};

use crate::de::is_text_at;
use crate::diagnose::{ConfigError, Notice, Report, Severity, file_report};
use crate::env::split_key;
use crate::files;
use crate::layers::inspect;
use crate::paths::Places;
use crate::read::read_text;
use crate::schema::Config;
use crate::tree::{Layer, push_key, schema_path};

const STARTER: &str = include_str!("starter.toml");
const BOM: &str = "\u{feff}";

/// A configuration file that can be changed.
#[derive(Debug, Clone, Copy)]
pub struct EditableFile<'a> {
    pub path: &'a Path,
    /// Whose file it is: User, Local or Project.
    pub layer: Layer,
    pub places: &'a Places,
    /// Names of the tools there are, for `[tools] <name> = false`.
    pub tools: &'a [&'a str],
}

/// What a change did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub path: PathBuf,
    /// The key as written.
    pub key: String,
    /// The value before, as TOML.
    pub before: Option<String>,
    /// The value now, as TOML.
    pub after: String,
    pub notices: Vec<Notice>,
}

/// A file that is being changed, and what was wrong with it before.
pub(super) struct Draft<'a> {
    file: EditableFile<'a>,
    old: String,
    pub(super) document: DocumentMut,
    pub(super) errors: Vec<Report>,
    notices: Vec<Notice>,
}

impl<'a> EditableFile<'a> {
    /// Sets a key, making file and tables where they are missing. The value is TOML, or a plain string.
    pub fn set(self, key: &str, value: &str) -> Result<Changed, ConfigError> {
        // Where nothing can be locked, one change may undo another; that is better than none. Without a home there is
        // nobody else.
        let home = Some(&self.places.home).filter(|home| home.exists());
        let _lock = home.and_then(|home| files::lock(home).ok());
        let keys = split_key(key).map_err(plain_error)?;
        let mut draft = self.open("")?;
        let value = typed_value(&keys, value);
        let before = put(&mut draft.document, &keys, value.clone()).map_err(plain_error)?;
        let notices = draft.save()?;
        let mut key = String::new();
        keys.iter().for_each(|part| push_key(&mut key, part));
        Ok(Changed {
            path: self.path.to_owned(),
            key,
            before,
            after: value.to_string(),
            notices,
        })
    }

    /// Appends an entry to a list of tables, like `[[hooks]]`. Each value is TOML.
    pub fn append(
        self,
        list: &str,
        fields: &[(&str, toml_edit::Value)],
    ) -> Result<(), ConfigError> {
        let home = Some(&self.places.home).filter(|home| home.exists());
        let _lock = home.and_then(|home| files::lock(home).ok());
        let mut draft = self.open("")?;
        if !draft.errors.is_empty() {
            return Err(ConfigError::new(draft.errors));
        }
        let mut made = Table::new();
        for (key, value) in fields {
            made.insert(key, Item::Value(value.clone()));
        }
        let is_new = !draft.document.contains_key(list);
        let comment = match is_new {
            true => opening_comment(&mut draft.document, &[list.to_owned()]),
            false => None,
        };
        let item = draft.document.entry(list);
        match item.or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new())) {
            Item::ArrayOfTables(tables) => tables.push(made),
            Item::Value(Value::Array(values)) => values.push(made.into_inline_table()),
            Item::None | Item::Value(_) | Item::Table(_) => {
                return Err(plain_error(phrase(Word::CfgNoTableList, &[&list])));
            }
        }
        if let Some(comment) = comment {
            set_prefix(&mut draft.document, list, comment);
        }
        draft.save().map(drop)
    }

    /// Reads the file to change it; one that is absent begins with a text.
    pub(super) fn open(self, absent: &str) -> Result<Draft<'a>, ConfigError> {
        let name = self.places.shown(self.path);
        let old = read_text(self.path, &name).map_err(|report| ConfigError::new(vec![*report]))?;
        let old = old.unwrap_or_else(|| absent.to_owned());
        let (errors, notices) = self.inspect(&old);
        // Without valid syntax there is nothing to edit.
        let Ok(document) = old.parse::<DocumentMut>() else {
            return Err(ConfigError::new(errors));
        };
        Ok(Draft {
            file: self,
            old,
            document,
            errors,
            notices,
        })
    }

    fn inspect(self, text: &str) -> (Vec<Report>, Vec<Notice>) {
        let context = (self.places, self.tools);
        inspect(text.to_owned(), self.path, self.layer, context)
    }
}

impl Draft<'_> {
    /// Writes the file, unless that would add an error or a warning. What else there is to say about the change.
    pub(super) fn save(self) -> Result<Vec<Notice>, ConfigError> {
        let text = with_old_endings(&self.old, &self.document.to_string());
        let (errors, mut notices) = self.file.inspect(&text);
        let is_new = |report: &Report| !self.errors.iter().any(|old| old.title == report.title);
        let mut reports: Vec<Report> = errors.into_iter().filter(is_new).collect();
        notices.retain(|notice| !self.notices.iter().any(|old| old.text == notice.text));
        let warnings = notices
            .iter()
            .filter(|notice| notice.severity == Severity::Warning);
        reports.extend(warnings.map(|notice| Report::plain(notice.text.clone())));
        if !reports.is_empty() {
            return Err(ConfigError::new(reports));
        }
        let EditableFile { path, places, .. } = self.file;
        let bom = if starts_with_bom(path) { BOM } else { "" };
        let access = files::access_in(&places.home, path);
        files::write(path, format!("{bom}{text}").as_bytes(), access)
            .map_err(|error| ConfigError::new(vec![unwritable(&places.shown(path), &error)]))?;
        Ok(notices)
    }
}

/// An error without a place in a file.
pub(super) fn plain_error(message: Why) -> ConfigError {
    ConfigError::new(vec![Report::plain(message)])
}

/// Writes a commented starting point. A file that is there is left alone.
pub fn init(path: &Path, places: &Places) -> Result<PathBuf, ConfigError> {
    match files::create(path, STARTER.as_bytes()) {
        Ok(()) => Ok(path.to_owned()),
        Err(error) => {
            let name = places.shown(path);
            let report = if error.kind() == io::ErrorKind::AlreadyExists {
                let help = Why::from(Word::CfgEditIt);
                file_report(&name, Why::from(Word::CfgExists), help)
            } else {
                unwritable(&name, &error)
            };
            Err(ConfigError::new(vec![report]))
        }
    }
}

fn unwritable(name: &str, error: &io::Error) -> Report {
    let title = phrase(Word::CfgNotWritten, &[&error]);
    file_report(name, title, Why::from(Word::CfgCheckFolder))
}

fn starts_with_bom(path: &Path) -> bool {
    let start = ostler_files::read_bounded(path, BOM.len() as u64, &ostler_files::Border::none());
    start.is_ok_and(|start| start.bytes.starts_with(BOM.as_bytes()))
}

/// The edited text with the line endings of the old one: the editor knows only `\n`. Lines that
/// did not change keep theirs byte for byte, new ones get what most lines have.
fn with_old_endings(old: &str, new: &str) -> String {
    if !old.contains('\r') {
        return new.to_owned();
    }
    let plain = |line: &str| line.trim_end_matches(['\r', '\n']).to_owned();
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let most = old_lines.len().min(new_lines.len());
    let same = |(a, b): &(&&str, &&str)| plain(a) == plain(b);
    let head = old_lines.iter().zip(&new_lines).take_while(same).count();
    let tail = old_lines
        .iter()
        .rev()
        .zip(new_lines.iter().rev())
        .take_while(same)
        .count();
    let tail = tail.min(most - head);
    let windows = old.matches("\r\n").count() * 2 > old.matches('\n').count();
    let ending = if windows { "\r\n" } else { "\n" };
    let changed = new_lines
        .get(head..new_lines.len() - tail)
        .unwrap_or_default();
    let mut out: String = old_lines.iter().take(head).copied().collect();
    for line in changed {
        out.push_str(&plain(line));
        out.push_str(ending);
    }
    out.extend(old_lines.iter().skip(old_lines.len() - tail).copied());
    out
}

/// What was typed for a key, see `env`.
fn typed_value(keys: &[String], text: &str) -> Value {
    match text.trim().parse::<Value>() {
        Ok(mut value) if value.is_str() || !is_text_at::<Config>(&schema_path(keys)) => {
            value.decor_mut().clear();
            value
        }
        Ok(_) | Err(_) => Value::from(text),
    }
}

/// Puts the value in its place and returns what was there.
pub(super) fn put(
    document: &mut DocumentMut,
    keys: &[String],
    value: Value,
) -> Result<Option<String>, Why> {
    let (Some((last, parents)), Some(first)) = (keys.split_last(), keys.first()) else {
        return Err(Why::from(Word::CfgNeedsKey));
    };
    if last == "name" && parents.first().is_some_and(|key| key == "providers") {
        return Err(Why::from(Word::CfgRenameInFile));
    }
    let is_new = !document.contains_key(first);
    let comment = if is_new {
        opening_comment(document, parents)
    } else {
        None
    };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let mut rest = parents;
    while let Some((key, tail)) = rest.split_first() {
        rest = tail;
        let named = tail.split_first().filter(|_| key == "providers");
        if let Some((name, tail)) = named {
            rest = tail;
            table = named_table(table, key, name)?;
            continue;
        }
        let item = table.entry(key).or_insert_with(|| {
            let mut made = Table::new();
            made.set_implicit(true);
            Item::Table(made)
        });
        table = item
            .as_table_like_mut()
            .ok_or_else(|| phrase(Word::CfgNoTable, &[&key]))?;
    }
    let before = replace(table, last, value);
    if let Some(comment) = comment {
        set_prefix(document, first, comment);
    }
    Ok(before)
}

/// Takes the comments that should stand above a new first key or a new last table, and would
/// otherwise end up below it.
fn opening_comment(document: &mut DocumentMut, parents: &[String]) -> Option<String> {
    let only_headers = document
        .iter()
        .all(|(_, item)| item.is_table() || item.is_array_of_tables());
    let has_headers = document.iter().next().is_some();
    if parents.is_empty() && has_headers {
        return if only_headers {
            split_first_header(document)
        } else {
            None
        };
    }
    let mut comment = document.trailing().as_str()?.to_owned();
    if !comment.contains('#') {
        return None;
    }
    if !comment.ends_with('\n') {
        comment.push('\n');
    }
    if !parents.is_empty() {
        comment.push('\n');
    }
    document.set_trailing("");
    Some(comment)
}

/// Takes the comment above the first table, without the part that belongs to the table.
fn split_first_header(document: &mut DocumentMut) -> Option<String> {
    let table = first_header(document)?;
    let prefix = table.decor().prefix()?.as_str()?.to_owned();
    let (opening, own) = prefix.split_at(prefix.rfind("\n\n")? + 2);
    table.decor_mut().set_prefix(format!("\n{own}"));
    Some(opening.to_owned())
}

fn first_header(document: &mut DocumentMut) -> Option<&mut Table> {
    let items = document.iter_mut().map(|(_, item)| item);
    let tables = items.flat_map(|item| -> Vec<&mut Table> {
        match item {
            Item::Table(table) => vec![table],
            Item::ArrayOfTables(tables) => tables.iter_mut().collect(),
            Item::None | Item::Value(_) => Vec::new(),
        }
    });
    tables
        .filter(|table| !table.is_implicit())
        .min_by_key(|table| table.position())
}

fn set_prefix(document: &mut DocumentMut, key: &str, comment: String) {
    let first = match document.get_mut(key) {
        Some(Item::Table(table)) => Some(table),
        Some(Item::ArrayOfTables(tables)) => tables.get_mut(0),
        Some(Item::None | Item::Value(_)) | None => None,
    };
    match first {
        Some(table) => table.decor_mut().set_prefix(comment),
        None => {
            if let Some(mut key) = document.key_mut(key) {
                key.leaf_decor_mut().set_prefix(comment);
            }
        }
    }
}

/// Replaces a value where it stands; the comment behind it and the space around it stay.
fn replace(table: &mut dyn TableLike, key: &str, mut value: Value) -> Option<String> {
    if let Some(there) = table.get_mut(key).and_then(Item::as_value_mut) {
        let mut before = there.clone();
        before.decor_mut().clear();
        *value.decor_mut() = there.decor().clone();
        *there = value;
        return Some(before.to_string());
    }
    table.insert(key, Item::Value(value));
    None
}

/// The provider of that name, added at the end when there is none.
fn named_table<'a>(
    table: &'a mut dyn TableLike,
    list: &str,
    name: &str,
) -> Result<&'a mut dyn TableLike, Why> {
    let item = table
        .entry(list)
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let is_named = |table: &dyn TableLike| table.get("name").and_then(Item::as_str) == Some(name);
    match item {
        Item::ArrayOfTables(tables) => {
            let there = tables.iter().position(|table| is_named(table));
            let index = there.unwrap_or(tables.len());
            if there.is_none() {
                let mut made = Table::new();
                made.insert("name", toml_edit::value(name));
                tables.push(made);
            }
            let found = tables.get_mut(index);
            Ok(found.ok_or(Why::from(Word::CfgNotAdded))?)
        }
        Item::Value(Value::Array(values)) => values
            .iter_mut()
            .filter_map(Value::as_inline_table_mut)
            .find(|table| is_named(*table))
            .map(|table| table as &mut dyn TableLike)
            .ok_or_else(|| phrase(Word::CfgOneList, &[&list, &name])),
        Item::None | Item::Value(_) | Item::Table(_) => Err(phrase(Word::CfgNoTableList, &[&list])),
    }
}
