//! What a command answers with: shapes that any front end can draw, and deeds that only a front end can do.

use crate::Open;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Markdown.
    Text(String),
    Table {
        columns: Vec<String>,
        rows: Vec<Vec<String>>,
    },
    List(List),
    /// A unified diff.
    Diff(String),
    Error(String),
    /// Nothing to show: the front end is to do something.
    Do(Deed),
}

/// Things to choose from. Choosing one is an action, which comes back as a command or is a deed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    pub label: String,
    pub act: Act,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// A slash command without its slash.
    Command(String),
    Do(Deed),
}

/// What only a front end can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// Goes on with another session.
    Open(Open),
    /// To the clipboard.
    Copy(String),
    /// Into the composer, to be changed and sent.
    Compose(String),
    Theme(String),
    Leave,
}

/// A command as menus and help show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandInfo {
    /// Without its slash.
    pub name: String,
    pub help: String,
    /// What may follow it, such as `<duration>`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
}
