//! A table that a command answers with: typed columns and cells that each have a text for people and a value for
//! programs. One table gives the rows of a terminal, the choices of a menu and the JSON of a utility.

use super::{Action, Item, List};
use crate::words::{Language, Word, thousands};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Characters of an id that people type.
const SHORT_ID: usize = 8;
/// Times that lie further back are shown as a date.
const MAX_DAYS: i64 = 99;
/// What stands for a number that is not known.
const UNKNOWN: &str = "–";
const BETWEEN: &str = " · ";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Table {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// What to say when there are no rows.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub empty: String,
    /// Rows of sums below the others, for people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sums: Vec<Row>,
    /// Lines below the rows, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// What has to be said beside the rows: damage, things that were left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The key of the column that names a row in a menu; the first column where it is empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// The command that looks further for what is typed into a menu.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// The object around the rows in JSON; without one the JSON is the list of rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<Frame>,
    /// The answer is that something is wrong; a program that asked for it ends with a failure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// Facts beside the rows for programs, and the key of the rows among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    pub fields: Map<String, Value>,
    pub rows: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "ColumnForm", into = "ColumnForm")]
pub struct Column {
    /// For people; empty where the cells speak for themselves.
    pub name: String,
    /// The key of its values in JSON; empty for what programs are not told.
    pub key: String,
    pub kind: ColumnKind,
}

/// What the cells of a column hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    #[default]
    Text,
    /// Aligned at the right.
    Number,
    /// A moment, shown by its age.
    Time,
    /// Text that may be cut where the line would be too long.
    Prose,
    /// Values for programs alone.
    Data,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "RowForm", into = "RowForm")]
pub struct Row {
    pub cells: Vec<Cell>,
    /// It is what holds now.
    pub marked: bool,
    /// What can be done about it, the usual one first. A table with actions is a menu.
    pub actions: Vec<Action>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "CellForm", into = "CellForm")]
pub struct Cell {
    pub text: String,
    /// None leaves the key out of the JSON.
    pub value: Option<Value>,
}

impl Table {
    pub fn new(columns: Vec<Column>, rows: Vec<Row>) -> Self {
        Self {
            columns,
            rows,
            ..Self::default()
        }
    }

    /// Texts below names that programs are not told: nothing but a picture.
    pub fn of_texts(columns: Vec<String>, rows: Vec<Vec<String>>) -> Self {
        let column = |name: String| Column {
            name,
            ..Column::default()
        };
        let row = |texts: Vec<String>| Row::new(texts.into_iter().map(Cell::text).collect());
        Self::new(
            columns.into_iter().map(column).collect(),
            rows.into_iter().map(row).collect(),
        )
    }

    /// A row for each record: `texts` are for the columns, in order; programs read the whole record. What has no column
    /// of its own goes into columns that people are not shown.
    pub fn of_records<T: Serialize>(
        mut columns: Vec<Column>,
        records: &[T],
        texts: impl Fn(&T) -> Vec<String>,
    ) -> Self {
        let mut rows = Vec::with_capacity(records.len());
        for record in records {
            let mut fields = match serde_json::to_value(record) {
                Ok(Value::Object(fields)) => fields,
                Ok(_) | Err(_) => Map::new(),
            };
            let mut texts = texts(record).into_iter();
            let mut cells: Vec<Cell> = columns
                .iter()
                .map(|column| Cell {
                    text: match column.is_shown() {
                        true => texts.next().unwrap_or_default(),
                        false => String::new(),
                    },
                    value: fields.shift_remove(&column.key),
                })
                .collect();
            for (key, value) in fields {
                columns.push(Column::data(&key));
                cells.push(Cell {
                    text: String::new(),
                    value: Some(value),
                });
            }
            rows.push(Row::new(cells));
        }
        Self::new(columns, rows)
    }

    /// Whether something can be chosen from it or looked for in it.
    pub fn is_menu(&self) -> bool {
        self.search.is_some() || self.rows.iter().any(|row| !row.actions.is_empty())
    }

    /// Leaves out what people are not shown.
    pub fn drop_data(&mut self) {
        let shown: Vec<bool> = self.columns.iter().map(Column::is_shown).collect();
        for row in self.rows.iter_mut().chain(&mut self.sums) {
            let mut at = 0;
            row.cells.retain(|_| {
                at += 1;
                shown.get(at - 1).copied().unwrap_or(true)
            });
        }
        self.columns.retain(Column::is_shown);
    }

    /// What programs read.
    pub fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| self.json_of(row)).collect();
        match &self.frame {
            None => rows,
            Some(frame) => {
                let mut fields = frame.fields.clone();
                fields.insert(frame.rows.clone(), rows);
                Value::Object(fields)
            }
        }
    }

    fn json_of(&self, row: &Row) -> Value {
        let cells = self.columns.iter().zip(&row.cells);
        let pairs = cells.filter_map(|(column, cell)| {
            let key = Some(&column.key).filter(|key| !key.is_empty())?;
            Some((key.clone(), cell.value.clone()?))
        });
        Value::Object(pairs.collect())
    }

    /// The same as choices: one cell names a row, the others are its details.
    pub fn list(&self) -> List {
        let label = self.columns.iter().position(|c| c.key == self.label);
        let label = label.filter(|_| !self.label.is_empty()).unwrap_or(0);
        let item = |row: &Row| {
            let cells = self.columns.iter().zip(&row.cells).enumerate();
            let details = cells.filter(|(at, (column, _))| *at != label && column.is_shown());
            let details = details.filter_map(|(_, (column, cell))| column.detail(cell));
            Item {
                label: row
                    .cells
                    .get(label)
                    .map_or_else(String::new, |cell| cell.text.clone()),
                detail: details.collect::<Vec<_>>().join(BETWEEN),
                marked: row.marked,
                actions: row.actions.clone(),
            }
        };
        let remark = |text: &String| Item {
            label: text.clone(),
            ..Item::default()
        };
        let items = self.rows.iter().map(item);
        List {
            title: self.title.clone(),
            items: items.chain(self.remarks.iter().map(remark)).collect(),
            empty: self.empty.clone(),
            search: self.search.clone(),
        }
    }
}

impl Column {
    pub fn new(kind: ColumnKind, key: &str, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            key: key.to_owned(),
            kind,
        }
    }

    /// A key that only programs are told.
    pub fn data(key: &str) -> Self {
        Self::new(ColumnKind::Data, key, "")
    }

    pub fn is_shown(&self) -> bool {
        self.kind != ColumnKind::Data
    }

    /// A number needs its name beside it where there is no column above it.
    fn detail(&self, cell: &Cell) -> Option<String> {
        if cell.text.is_empty() {
            return None;
        }
        Some(match self.kind {
            ColumnKind::Number => format!("{} {}", self.name, cell.text),
            ColumnKind::Text | ColumnKind::Time | ColumnKind::Prose | ColumnKind::Data => {
                cell.text.clone()
            }
        })
    }
}

impl Row {
    pub fn new(cells: Vec<Cell>) -> Self {
        Self {
            cells,
            ..Self::default()
        }
    }
}

impl Cell {
    /// The same for people and programs.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        let value = Some(Value::String(text.clone()));
        Self { text, value }
    }

    /// A text for people and another value for programs.
    pub fn named(text: impl Into<String>, value: impl Into<Value>) -> Self {
        Self {
            text: text.into(),
            value: Some(value.into()),
        }
    }

    /// A text that programs are not told.
    pub fn shown(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            value: None,
        }
    }

    /// A value that people are not shown. What cannot be written as JSON is null.
    pub fn data(value: &impl Serialize) -> Self {
        Self {
            text: String::new(),
            value: Some(serde_json::to_value(value).unwrap_or_default()),
        }
    }

    /// Nothing for people, and no key for programs.
    pub fn absent() -> Self {
        Self::default()
    }

    pub fn count(number: u64) -> Self {
        Self::named(thousands(number), number)
    }

    pub fn id(id: &str) -> Self {
        Self::named(short_id(id), id)
    }

    pub fn bytes(bytes: u64) -> Self {
        Self::named(format_size(bytes), bytes)
    }

    /// USD, or a dash when the price is not known.
    pub fn cost(usd: Option<f64>) -> Self {
        Self::named(format_cost(usd), usd)
    }

    pub fn age(ts: &str, now: Timestamp, language: Language) -> Self {
        Self::named(format_age(ts, now, language), ts)
    }
}

/// The beginning of an id, which is enough to type.
pub fn short_id(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

/// How long ago, in one unit.
pub fn format_age(ts: &str, now: Timestamp, language: Language) -> String {
    let Ok(then) = ts.parse::<Timestamp>() else {
        return UNKNOWN.into();
    };
    let minutes = (now.as_second() - then.as_second()).max(0) / 60;
    match (minutes, minutes / 60, minutes / 60 / 24) {
        (0, _, _) => language.say(Word::AgeNow).into(),
        (minutes, 0, _) => format!("{minutes}m"),
        (_, hours, 0) => format!("{hours}h"),
        (_, _, days) if days <= MAX_DAYS => format!("{days}d"),
        (_, _, _) => ts.get(..10).unwrap_or(ts).to_owned(),
    }
}

pub fn format_size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    match UNITS.iter().find(|(_, factor)| bytes >= *factor) {
        Some((unit, factor)) => format!("{:.1} {unit}", bytes as f64 / *factor as f64),
        None => format!("{bytes} B"),
    }
}

/// USD, or a dash when the price is not known.
pub fn format_cost(usd: Option<f64>) -> String {
    usd.map_or_else(|| UNKNOWN.into(), |usd| format!("${usd:.4}"))
}

/// A part of a whole in percent.
pub fn format_share(part: u64, whole: u64) -> String {
    match whole {
        0 => UNKNOWN.into(),
        whole => format!("{:.0}%", part as f64 * 100.0 / whole as f64),
    }
}

/// A column without a key is its name.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum ColumnForm {
    Name(String),
    Whole {
        name: String,
        key: String,
        #[serde(default)]
        kind: ColumnKind,
    },
}

impl From<ColumnForm> for Column {
    fn from(form: ColumnForm) -> Self {
        match form {
            ColumnForm::Name(name) => Self {
                name,
                ..Self::default()
            },
            ColumnForm::Whole { name, key, kind } => Self { name, key, kind },
        }
    }
}

impl From<Column> for ColumnForm {
    fn from(column: Column) -> Self {
        let Column { name, key, kind } = column;
        match key.is_empty() && kind == ColumnKind::Text {
            true => Self::Name(name),
            false => Self::Whole { name, key, kind },
        }
    }
}

/// A row that nothing can be done about is its cells.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum RowForm {
    Cells(Vec<Cell>),
    Whole {
        cells: Vec<Cell>,
        #[serde(default)]
        marked: bool,
        #[serde(default)]
        actions: Vec<Action>,
    },
}

impl From<RowForm> for Row {
    fn from(form: RowForm) -> Self {
        match form {
            RowForm::Cells(cells) => Self::new(cells),
            RowForm::Whole {
                cells,
                marked,
                actions,
            } => Self {
                cells,
                marked,
                actions,
            },
        }
    }
}

impl From<Row> for RowForm {
    fn from(row: Row) -> Self {
        let Row {
            cells,
            marked,
            actions,
        } = row;
        match actions.is_empty() && !marked {
            true => Self::Cells(cells),
            false => Self::Whole {
                cells,
                marked,
                actions,
            },
        }
    }
}

/// A cell that is the same for people and programs is its text.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum CellForm {
    Text(String),
    Whole {
        text: String,
        /// Null is a value, too; only what is not there is none.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "present"
        )]
        value: Option<Value>,
    },
}

fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl From<CellForm> for Cell {
    fn from(form: CellForm) -> Self {
        match form {
            CellForm::Text(text) => Self::text(text),
            CellForm::Whole { text, value } => Self { text, value },
        }
    }
}

impl From<Cell> for CellForm {
    fn from(cell: Cell) -> Self {
        let Cell { text, value } = cell;
        match &value {
            Some(Value::String(same)) if *same == text => Self::Text(text),
            Some(_) | None => Self::Whole { text, value },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Act;
    use serde_json::json;

    fn sessions() -> Table {
        let row = |id: &str, turns: u64, title: &str, usd: Option<f64>| {
            let cells = vec![
                Cell::id(id),
                Cell::count(turns),
                Cell::cost(usd),
                Cell::text(title),
                Cell::data(&[1, 2]),
            ];
            Row {
                actions: vec![Action {
                    label: "go on".into(),
                    act: Act::Command(format!("resume {id}")),
                }],
                ..Row::new(cells)
            }
        };
        Table {
            label: "title".into(),
            ..Table::new(
                vec![
                    Column::new(ColumnKind::Text, "id", "id"),
                    Column::new(ColumnKind::Number, "turns", "turns"),
                    Column::new(ColumnKind::Number, "cost", "cost"),
                    Column::new(ColumnKind::Prose, "title", "title"),
                    Column::data("sizes"),
                ],
                vec![
                    row("aaaaaaaa-1", 1200, "one", Some(0.5)),
                    row("bbbbbbbb-2", 1, "two", None),
                ],
            )
        }
    }

    #[test]
    fn programs_read_values() {
        let expect = json!([
            {"id": "aaaaaaaa-1", "turns": 1200, "cost": 0.5, "title": "one", "sizes": [1, 2]},
            {"id": "bbbbbbbb-2", "turns": 1, "cost": null, "title": "two", "sizes": [1, 2]},
        ]);
        assert_eq!(sessions().json(), expect);
        let mut framed = sessions();
        framed.rows.truncate(1);
        framed.rows[0].cells[2] = Cell::absent();
        framed.frame = Some(Frame {
            fields: [("by".to_owned(), json!("day"))].into_iter().collect(),
            rows: "rows".into(),
        });
        let expect = json!({"by": "day", "rows": [{"id": "aaaaaaaa-1", "turns": 1200, "title": "one", "sizes": [1, 2]}]});
        assert_eq!(framed.json(), expect);
    }

    #[test]
    fn records_are_read_whole() {
        #[derive(Serialize)]
        struct Record {
            id: u64,
            name: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            more: Option<bool>,
        }
        let record = |id, name, more| Record { id, name, more };
        let records = [
            record(1, "a", None),
            record(2, "b", Some(true)),
            record(3, "c", None),
        ];
        let columns = vec![
            Column::new(ColumnKind::Prose, "name", "name"),
            Column::new(ColumnKind::Number, "", "twice"),
        ];
        let texts = |record: &Record| vec![record.name.to_owned(), (2 * record.id).to_string()];
        let table = Table::of_records(columns, &records, texts);
        let expect = json!([
            {"name": "a", "id": 1},
            {"name": "b", "id": 2, "more": true},
            {"name": "c", "id": 3},
        ]);
        assert_eq!(table.json(), expect);
        assert_eq!(table.texts(), [["a", "2"], ["b", "4"], ["c", "6"]]);
    }

    #[test]
    fn people_choose_by_texts() {
        let list = sessions().list();
        let shown: Vec<String> = list
            .items
            .iter()
            .map(|item| format!("{} | {}", item.label, item.detail))
            .collect();
        assert_eq!(
            shown,
            [
                "one | aaaaaaaa · turns 1,200 · cost $0.5000",
                "two | bbbbbbbb · turns 1 · cost –",
            ]
        );
        assert!(sessions().is_menu());
        assert_eq!(list.items[1].actions, sessions().rows[1].actions);
    }

    #[test]
    fn a_table_survives_the_wire_and_plain_ones_are_plain() {
        let plain = Table::of_texts(vec!["what".into()], vec![vec!["a".into()]]);
        let written = serde_json::to_value(&plain).unwrap();
        assert_eq!(written, json!({"columns": ["what"], "rows": [["a"]]}));
        for table in [plain, sessions(), Table::default()] {
            let written = serde_json::to_string(&table).unwrap();
            assert_eq!(serde_json::from_str::<Table>(&written).unwrap(), table);
        }
        let mut cells = Table::of_texts(Vec::new(), Vec::new());
        cells.rows = vec![Row::new(vec![
            Cell::absent(),
            Cell::cost(None),
            Cell::shown("x"),
        ])];
        let written = serde_json::to_string(&cells).unwrap();
        assert_eq!(serde_json::from_str::<Table>(&written).unwrap(), cells);
    }

    #[test]
    fn numbers_for_people() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        for (ts, expect) in [
            ("2026-11-15T11:59:30.123Z", "now"),
            ("2026-11-15T13:00:00Z", "now"),
            ("2026-11-15T11:01:00Z", "59m"),
            ("2026-11-15T11:00:00Z", "1h"),
            ("2026-11-14T11:00:00Z", "1d"),
            ("2026-01-01T00:00:00Z", "2026-01-01"),
            ("", "–"),
            ("yesterday", "–"),
        ] {
            assert_eq!(format_age(ts, now, Language::English), expect, "{ts}");
        }
        for (bytes, expect) in [
            (0, "0 B"),
            (999, "999 B"),
            (1500, "1.5 kB"),
            (2_000_000_000, "2.0 GB"),
        ] {
            assert_eq!(format_size(bytes), expect);
        }
        assert_eq!([format_share(1, 3), format_share(1, 0)], ["33%", "–"]);
    }
}
