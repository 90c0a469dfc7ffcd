//! One cell of a notebook's JSON text replaced, added or removed; every byte outside of it stays. Pure.

use crate::seen::Seen;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// `kind` absent keeps the cell's own.
    Replace {
        source: &'a str,
        kind: Option<&'a str>,
    },
    /// At an index, or behind the cell with an id.
    Insert {
        source: &'a str,
        kind: &'a str,
    },
    Delete,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    pub text: String,
    /// Where the cell is, or was.
    pub index: usize,
    /// Cells afterwards.
    pub cells: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CellError {
    #[error("it is not a notebook ({0})")]
    NotANotebook(String),
    #[error("there is no cell {cell}; the notebook has {cells} cells, counted from 0")]
    NoSuchCell { cell: String, cells: usize },
}

/// `cell` is an id or an index; an insertion without one goes to the end.
pub fn edit(text: &str, cell: Option<&str>, change: Change<'_>) -> Result<Edited, CellError> {
    let bad = |e: serde_json::Error| CellError::NotANotebook(e.to_string());
    let notebook: Notebook<'_> = serde_json::from_str(text).map_err(bad)?;
    let cells: Vec<&RawValue> = serde_json::from_str(notebook.cells.get()).map_err(bad)?;
    let parsed: Vec<Fields<'_>> = cells
        .iter()
        .map(|cell| serde_json::from_str(cell.get()))
        .collect::<Result<_, _>>()
        .map_err(bad)?;
    let book = Book {
        text,
        style: Style::of(text),
        array: span(text, notebook.cells),
        cells: cells.iter().map(|cell| span(text, cell)).collect(),
        parsed,
        has_ids: (notebook.nbformat, notebook.nbformat_minor) >= (4, 5),
    };
    let (index, splices) = match change {
        Change::Replace { source, kind } => {
            let index = book.existing(cell)?;
            (index, book.replace(index, source, kind))
        }
        Change::Insert { source, kind } => {
            let index = book.place(cell)?;
            (index, vec![book.insert(index, source, kind)])
        }
        Change::Delete => {
            let index = book.existing(cell)?;
            (index, vec![book.delete(index)])
        }
    };
    let cells = match change {
        Change::Replace { .. } => book.cells.len(),
        Change::Insert { .. } => book.cells.len() + 1,
        Change::Delete => book.cells.len() - 1,
    };
    let text = splice(text, splices);
    // Whatever odd layout the file had, what is written is JSON.
    serde_json::from_str::<IgnoredAny>(&text).map_err(bad)?;
    Ok(Edited { text, index, cells })
}

#[derive(serde::Deserialize)]
struct Notebook<'a> {
    #[serde(borrow)]
    cells: &'a RawValue,
    #[serde(default)]
    nbformat: u64,
    #[serde(default)]
    nbformat_minor: u64,
}

/// The fields of a cell in file order, values as they are written.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| *value)
    }

    fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a cell object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Fields(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// Where a borrowed value stands in the text it was borrowed from.
fn span(text: &str, value: &RawValue) -> Range<usize> {
    let start = value.get().as_ptr().addr() - text.as_ptr().addr();
    start..start + value.get().len()
}

struct Splice {
    range: Range<usize>,
    text: String,
}

fn splice(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|s| std::cmp::Reverse(s.range.start));
    let mut out = text.to_owned();
    for Splice { range, text } in splices {
        out.replace_range(range, &text);
    }
    out
}

struct Book<'a> {
    text: &'a str,
    style: Style<'a>,
    array: Range<usize>,
    cells: Vec<Range<usize>>,
    parsed: Vec<Fields<'a>>,
    has_ids: bool,
}

impl Book<'_> {
    fn find(&self, cell: &str) -> Option<Found> {
        let by_id = self
            .parsed
            .iter()
            .position(|fields| fields.text("id").as_deref() == Some(cell));
        by_id
            .map(Found::Id)
            .or_else(|| cell.trim().parse().ok().map(Found::Index))
    }

    fn existing(&self, cell: Option<&str>) -> Result<usize, CellError> {
        match cell.and_then(|cell| self.find(cell)) {
            Some(Found::Id(at)) => Ok(at),
            Some(Found::Index(at)) if at < self.cells.len() => Ok(at),
            Some(Found::Index(_)) | None => Err(self.missing(cell)),
        }
    }

    fn place(&self, cell: Option<&str>) -> Result<usize, CellError> {
        let Some(name) = cell else {
            return Ok(self.cells.len());
        };
        match self.find(name) {
            Some(Found::Id(at)) => Ok(at + 1),
            Some(Found::Index(at)) if at <= self.cells.len() => Ok(at),
            Some(Found::Index(_)) | None => Err(self.missing(cell)),
        }
    }

    fn missing(&self, cell: Option<&str>) -> CellError {
        let cell = cell.map_or_else(|| "(none was named)".to_owned(), |cell| format!("`{cell}`"));
        CellError::NoSuchCell {
            cell,
            cells: self.cells.len(),
        }
    }

    fn replace(&self, index: usize, source: &str, kind: Option<&str>) -> Vec<Splice> {
        let (Some(cell), Some(fields)) = (self.cells.get(index), self.parsed.get(index)) else {
            return Vec::new();
        };
        let indent = self.indent(cell.start);
        let old_kind = fields.text("cell_type");
        let keeps_kind = kind.is_none_or(|kind| old_kind.as_deref() == Some(kind));
        match fields.get("source") {
            Some(old) if keeps_kind => {
                let new = match old.get().starts_with('"') {
                    true => quoted(source),
                    false => self.style.lines(source, indent),
                };
                let mut splices = vec![Splice {
                    range: span(self.text, old),
                    text: new,
                }];
                for (key, empty) in [("outputs", "[]"), ("execution_count", "null")] {
                    if let Some(value) = fields.get(key) {
                        splices.push(Splice {
                            range: span(self.text, value),
                            text: empty.into(),
                        });
                    }
                }
                splices
            }
            Some(_) | None => {
                let kind = kind.or(old_kind.as_deref()).unwrap_or("code");
                let kept = fields
                    .0
                    .iter()
                    .map(|(key, value)| (key.as_str(), value.get().to_owned()));
                let text = self.style.cell(kept.collect(), kind, source, indent);
                vec![Splice {
                    range: cell.clone(),
                    text,
                }]
            }
        }
    }

    fn insert(&self, index: usize, source: &str, kind: &str) -> Splice {
        let neighbour = self.cells.get(index).or(self.cells.last());
        let indent = neighbour.map_or_else(
            || self.style.unit.repeat(2),
            |n| self.indent(n.start).to_owned(),
        );
        let mut fields = vec![("metadata", "{}".to_owned())];
        if self.has_ids {
            fields.insert(0, ("id", quoted(&self.fresh_id(index, source))));
        }
        let cell = self.style.cell(fields, kind, source, &indent);
        let Some(neighbour) = neighbour else {
            let text = match self.style.newline {
                Some(nl) => format!("[{nl}{indent}{cell}{nl}{}]", self.style.unit),
                None => format!("[{cell}]"),
            };
            return Splice {
                range: self.array.clone(),
                text,
            };
        };
        let gap = self.gap_before(neighbour.start);
        if index < self.cells.len() {
            return Splice {
                range: neighbour.start..neighbour.start,
                text: format!("{cell},{gap}"),
            };
        }
        Splice {
            range: neighbour.end..neighbour.end,
            text: format!(",{gap}{cell}"),
        }
    }

    fn delete(&self, index: usize) -> Splice {
        let end_before = index
            .checked_sub(1)
            .and_then(|before| self.cells.get(before))
            .map(|c| c.end);
        let range = match (self.cells.get(index), self.cells.get(index + 1), end_before) {
            (Some(cell), Some(next), _) => cell.start..next.start,
            (Some(cell), None, Some(end_before)) => end_before..cell.end,
            (Some(_) | None, _, _) => {
                return Splice {
                    range: self.array.clone(),
                    text: "[]".into(),
                };
            }
        };
        Splice {
            range,
            text: String::new(),
        }
    }

    /// The white space before a position.
    fn gap_before(&self, at: usize) -> &str {
        let before = self.text.get(..at).unwrap_or_default();
        before.get(before.trim_end().len()..).unwrap_or_default()
    }

    /// The same, of its own line only.
    fn indent(&self, at: usize) -> &str {
        let gap = self.gap_before(at);
        gap.rsplit('\n').next().unwrap_or_default()
    }

    fn fresh_id(&self, index: usize, source: &str) -> String {
        let taken: Vec<String> = self
            .parsed
            .iter()
            .filter_map(|fields| fields.text("id"))
            .collect();
        let mut salt = index;
        loop {
            let mut id = Seen::hash(format!("{salt} {source}").as_bytes());
            id.truncate(8);
            if !taken.contains(&id) {
                return id;
            }
            salt += 1;
        }
    }
}

enum Found {
    Id(usize),
    Index(usize),
}

/// How the notebook is laid out.
struct Style<'a> {
    /// Absent when it is all on one line.
    newline: Option<&'a str>,
    unit: &'a str,
}

impl<'a> Style<'a> {
    fn of(text: &'a str) -> Self {
        let inside = text.trim_start().get(1..).unwrap_or_default();
        let gap = inside
            .get(..inside.len() - inside.trim_start().len())
            .unwrap_or_default();
        match gap.rsplit_once('\n') {
            Some((before, unit)) => Self {
                newline: Some(if before.ends_with('\r') { "\r\n" } else { "\n" }),
                unit,
            },
            None => Self {
                newline: None,
                unit: "",
            },
        }
    }

    /// The source as the list of lines that notebooks use, for a cell at `indent`.
    fn lines(&self, source: &str, indent: &str) -> String {
        let lines: Vec<String> = source.split_inclusive('\n').map(quoted).collect();
        if lines.is_empty() {
            return "[]".into();
        }
        match self.newline {
            None => format!("[{}]", lines.join(", ")),
            Some(nl) => {
                let unit = self.unit;
                let between = format!(",{nl}{indent}{unit}{unit}");
                format!(
                    "[{nl}{indent}{unit}{unit}{}{nl}{indent}{unit}]",
                    lines.join(&between)
                )
            }
        }
    }

    /// A whole cell of `kind`, with `fields` where the kind allows them.
    fn cell(&self, fields: Vec<(&str, String)>, kind: &str, source: &str, indent: &str) -> String {
        let is_code = kind == "code";
        let mut fields: Vec<(&str, String)> = fields
            .into_iter()
            .filter(|(key, _)| match *key {
                "outputs" | "execution_count" => is_code,
                "attachments" => !is_code,
                _ => true,
            })
            .collect();
        let mut set =
            |key: &'static str, value: String| match fields.iter_mut().find(|(k, _)| *k == key) {
                Some((_, old)) => *old = value,
                None => {
                    let place = fields
                        .iter()
                        .position(|(k, _)| *k > key)
                        .unwrap_or(fields.len());
                    fields.insert(place, (key, value));
                }
            };
        set("cell_type", quoted(kind));
        if is_code {
            set("execution_count", "null".into());
            set("outputs", "[]".into());
        }
        set("source", self.lines(source, indent));
        let fields: Vec<String> = fields
            .iter()
            .map(|(k, v)| format!("{}: {v}", quoted(k)))
            .collect();
        match self.newline {
            None => format!("{{{}}}", fields.join(", ")),
            Some(nl) => {
                let unit = self.unit;
                let between = format!(",{nl}{indent}{unit}");
                format!(
                    "{{{nl}{indent}{unit}{}{nl}{indent}}}",
                    fields.join(&between)
                )
            }
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
