//! What a command answers with: shapes that any front end can draw, and deeds that only a front end can do.

mod layout;
mod plain;
mod table;

pub use layout::{fit_columns, widest_cells};
pub use plain::{cut_to_width, one_line, pad_to_width, visible};
pub use table::{
    Cell, Column, ColumnKind, Frame, Row, Table, format_age, format_cost, format_share,
    format_size, short_id,
};

use crate::{Completion, Open, Word};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Markdown.
    Text(String),
    Table(Table),
    /// Lines as they are, with the same for programs.
    Report(Report),
    /// Several, one below the other.
    Group(Vec<View>),
    List(List),
    /// A unified diff.
    Diff(String),
    Error(String),
    /// What can follow `@`, the answer to `Op::Complete`.
    Completion(Completion),
    /// Nothing to show: the front end is to do something.
    Do(Deed),
}

/// Text for people and its facts for programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Report {
    pub text: String,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub value: Value,
    /// What has to be said beside it: damage, things that were left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The answer is that something is wrong; a program that asked for it ends with a failure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

impl View {
    /// What programs read of it; null where it is for people alone.
    pub fn json(&self) -> Value {
        match self {
            View::Table(table) => table.json(),
            View::Report(report) => report.value.clone(),
            View::Group(views) => views.iter().map(View::json).collect(),
            View::Text(text) | View::Diff(text) | View::Error(text) => text.clone().into(),
            View::Completion(completion) => serde_json::to_value(completion).unwrap_or_default(),
            View::List(_) | View::Do(_) => Value::Null,
        }
    }

    /// What has to be said beside it.
    pub fn remarks(&self) -> &[String] {
        match self {
            View::Table(table) => &table.remarks,
            View::Report(report) => &report.remarks,
            View::Text(_)
            | View::Group(_)
            | View::List(_)
            | View::Diff(_)
            | View::Error(_)
            | View::Completion(_)
            | View::Do(_) => &[],
        }
    }

    /// Whether it says that something is wrong.
    pub fn is_failure(&self) -> bool {
        match self {
            View::Error(_) => true,
            View::Table(table) => table.failed,
            View::Report(report) => report.failed,
            View::Group(views) => views.iter().any(View::is_failure),
            View::Text(_) | View::List(_) | View::Diff(_) | View::Completion(_) | View::Do(_) => {
                false
            }
        }
    }

    /// The choices in it, for a front end that has menus.
    pub fn menu(&self) -> Option<List> {
        match self {
            View::List(list) => Some(list.clone()),
            View::Table(table) => table.is_menu().then(|| table.list()),
            View::Text(_)
            | View::Report(_)
            | View::Group(_)
            | View::Diff(_)
            | View::Error(_)
            | View::Completion(_)
            | View::Do(_) => None,
        }
    }

    /// Every text for people in it.
    pub fn texts_mut(&mut self) -> Vec<&mut String> {
        match self {
            View::Text(text) | View::Error(text) | View::Diff(text) => vec![text],
            View::Report(report) => {
                let remarks = report.remarks.iter_mut();
                std::iter::once(&mut report.text).chain(remarks).collect()
            }
            View::Group(views) => views.iter_mut().flat_map(View::texts_mut).collect(),
            View::Table(table) => {
                let rows = table.rows.iter_mut().chain(&mut table.sums);
                let cells = rows
                    .flat_map(|row| &mut row.cells)
                    .map(|cell| &mut cell.text);
                let around = [&mut table.title, &mut table.empty, &mut table.summary];
                cells.chain(around).chain(&mut table.remarks).collect()
            }
            View::List(list) => {
                let items = list.items.iter_mut();
                let texts = items.flat_map(|item| [&mut item.label, &mut item.detail]);
                texts.chain([&mut list.title, &mut list.empty]).collect()
            }
            View::Completion(completion) => {
                let items = completion.items.iter_mut();
                items
                    .flat_map(|item| [&mut item.insert, &mut item.label])
                    .collect()
            }
            View::Do(_) => Vec::new(),
        }
    }

    /// Every value for programs in it.
    pub fn values_mut(&mut self) -> Vec<&mut Value> {
        match self {
            View::Report(report) => vec![&mut report.value],
            View::Group(views) => views.iter_mut().flat_map(View::values_mut).collect(),
            View::Table(table) => {
                let rows = table.rows.iter_mut().chain(&mut table.sums);
                let cells = rows.flat_map(|row| &mut row.cells);
                let fields = table.frame.iter_mut().flat_map(|f| f.fields.values_mut());
                cells
                    .filter_map(|cell| cell.value.as_mut())
                    .chain(fields)
                    .collect()
            }
            View::Text(_)
            | View::List(_)
            | View::Diff(_)
            | View::Error(_)
            | View::Completion(_)
            | View::Do(_) => Vec::new(),
        }
    }
}

/// Things to choose from. Choosing one is an action, which comes back as a command or is a deed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct List {
    pub title: String,
    #[serde(default)]
    pub items: Vec<Item>,
    /// What to say when there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub empty: String,
    /// The command that looks further for what is typed: it comes back with the words after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    pub label: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// It is what holds now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub marked: bool,
    /// The first is what Enter does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Action>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Action {
    pub label: String,
    pub act: Act,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// A slash command without its slash.
    Command(String),
    Do(Deed),
}

/// What only a front end can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// Goes on with another session.
    Open(Open),
    /// To the clipboard.
    Copy(String),
    /// Into the composer, to be changed and sent.
    Compose(String),
    /// Other colours, by name; the choice of them for an empty name.
    Theme(String),
    /// Ends it, once the person knows what would be stopped.
    Leave,
}

/// A command as menus and help show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandInfo {
    /// Without its slash.
    pub name: String,
    pub help: String,
    /// What may follow it, such as `<duration>`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
    /// Where help lists it.
    #[serde(default)]
    pub group: CommandGroup,
}

/// Groups of commands, in the order in which help lists them.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CommandGroup {
    Session,
    Work,
    Model,
    Inspect,
    Setup,
    /// Skills, prompts of servers, and files of the person.
    #[default]
    Own,
}

impl CommandGroup {
    pub const ALL: [Self; 6] = [
        Self::Session,
        Self::Work,
        Self::Model,
        Self::Inspect,
        Self::Setup,
        Self::Own,
    ];

    pub fn word(self) -> Word {
        match self {
            Self::Session => Word::GroupStart,
            Self::Work => Word::GroupWork,
            Self::Model => Word::GroupModel,
            Self::Inspect => Word::GroupLook,
            Self::Setup => Word::GroupSetup,
            Self::Own => Word::GroupOwn,
        }
    }
}
