//! What would become of each thing of another agent, measured by what is here already.

use super::own;
use crate::boot::Boot;
use crate::trust::rules::is_same;
use ostler_config::hooks::SETTINGS;
use ostler_config::text::Speak as _;
use ostler_engine::tools::unknown_tool;
use ostler_guard::Rule;
use ostler_import::{Agent, Item, Kind, List, Taken};
use ostler_wire::{Language, Word};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How a thing stands to what is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    New,
    /// The same is here.
    There,
    /// Another one of its name is here.
    Other,
    /// It is read where it is.
    InPlace,
    /// It stays behind.
    Left,
}

pub fn state_word(state: State) -> Word {
    match state {
        State::New => Word::ImportStateNew,
        State::There => Word::ImportStateThere,
        State::Other => Word::ImportStateOther,
        State::InPlace => Word::ImportStateInPlace,
        State::Left => Word::ImportStateLeft,
    }
}

/// A thing and how it stands.
pub struct Row {
    pub item: Item,
    pub state: State,
    /// Why it stays behind, where that is found out here.
    why: Option<String>,
}

/// A row for programs.
#[derive(Serialize)]
pub struct Record {
    pub agent: String,
    pub kind: &'static str,
    pub name: String,
    pub state: State,
    pub becomes: String,
    pub from: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<usize>,
    /// Sessions of this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<usize>,
}

/// What is here, to measure by.
pub struct Planned<'a> {
    boot: &'a Boot,
    servers: serde_json::Map<String, serde_json::Value>,
    providers: BTreeSet<String>,
}

impl<'a> Planned<'a> {
    pub fn new(boot: &'a Boot) -> Self {
        let providers = boot.loaded.config.providers.iter();
        Self {
            boot,
            servers: own::servers(boot),
            providers: providers.map(|one| one.name.clone()).collect(),
        }
    }

    pub fn judge(&self, agent: &Agent, item: Item) -> Row {
        let language = self.boot.language;
        let mut why = None;
        let state = match &item.taken {
            Taken::InPlace => State::InPlace,
            Taken::Left(_) => State::Left,
            Taken::Model(model) => match &self.boot.loaded.config.default_model {
                Some(own) if own == model => State::There,
                Some(_) => State::Other,
                None => State::New,
            },
            Taken::Provider(_) => match self.providers.contains(&item.name) {
                true => State::Other,
                false => State::New,
            },
            Taken::Rule { list, rule } => match Rule::parse(rule, "") {
                Err(error) => {
                    why = Some(language.say(error.why).to_owned());
                    State::Left
                }
                Ok(parsed) if unknown_tool(&parsed).is_some() => {
                    why = Some(language.say(Word::ImportRuleTool).to_owned());
                    State::Left
                }
                Ok(_) => self.rule_state(*list, rule),
            },
            Taken::Server(entry) => match self.servers.get(&item.name) {
                Some(own) if own == entry => State::There,
                Some(_) => State::Other,
                None => State::New,
            },
            Taken::Hook { .. } if self.runs_in_place(&item) => State::InPlace,
            Taken::Hook { event, command, .. } => {
                let mut hooks = self.boot.loaded.config.hooks.iter();
                let is_there = hooks.any(|own| {
                    let name = serde_json::to_value(own.event).unwrap_or_default();
                    own.command == *command && name == event.as_str()
                });
                if is_there { State::There } else { State::New }
            }
            Taken::Text(text) if item.kind == Kind::Memory => {
                let own = std::fs::read_to_string(self.boot.places.home.join("AGENTS.md"));
                let mark = memory_mark(agent, &item);
                match own.is_ok_and(|own| own.contains(&mark) || own.contains(text.trim())) {
                    true => State::There,
                    false => State::New,
                }
            }
            Taken::Text(text) => self.file_state(&item, text.as_bytes()),
            Taken::Files(files) => {
                let main = files.iter().find(|(path, _)| path == Path::new("SKILL.md"));
                let text = main.map(|(_, bytes)| bytes.as_slice());
                self.file_state(&item, text.unwrap_or_default())
            }
        };
        Row { item, state, why }
    }

    /// The person has the hooks of this file run where they are.
    fn runs_in_place(&self, item: &Item) -> bool {
        self.boot.loaded.config.agent.shared_hooks && item.from.ends_with(SETTINGS[0])
    }

    fn rule_state(&self, list: List, rule: &str) -> State {
        let permissions = &self.boot.loaded.config.permissions;
        let own = match list {
            List::Allow => &permissions.allow,
            List::Ask => &permissions.ask,
            List::Deny => &permissions.deny,
        };
        match own.iter().any(|own| is_same(own, rule)) {
            true => State::There,
            false => State::New,
        }
    }

    fn file_state(&self, item: &Item, text: &[u8]) -> State {
        let Some(path) = file_of(&self.boot.places.home, item) else {
            return State::Left;
        };
        match std::fs::read(path) {
            Ok(own) if own == text => State::There,
            Ok(_) => State::Other,
            Err(_) => State::New,
        }
    }
}

/// Where the text of a command, role or skill comes to lie; nothing for a name that would lead elsewhere.
pub fn file_of(home: &Path, item: &Item) -> Option<PathBuf> {
    let parts: Vec<&str> = item.name.split(':').collect();
    let is_fine = |part: &&str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part
                .chars()
                .all(|c| c.is_alphanumeric() || "-_.".contains(c))
    };
    if !parts.iter().all(is_fine) {
        return None;
    }
    let inner: PathBuf = parts.iter().collect();
    let mut name = inner.into_os_string();
    Some(match item.kind {
        Kind::Command => {
            name.push(".md");
            home.join("commands").join(name)
        }
        Kind::Role => {
            name.push(".md");
            home.join("agents").join(name)
        }
        Kind::Skill => home.join("skills").join(name).join("SKILL.md"),
        Kind::Model
        | Kind::Setting
        | Kind::Provider
        | Kind::Rule
        | Kind::Server
        | Kind::Hook
        | Kind::Memory
        | Kind::Session => return None,
    })
}

/// The line above instructions that were taken over.
pub fn memory_mark(agent: &Agent, item: &Item) -> String {
    format!("<!-- {}: {} -->", agent.title, item.name)
}

impl Row {
    pub fn record(&self, agent: &Agent, language: Language) -> Record {
        Record {
            agent: agent.name.clone(),
            kind: self.item.kind.name(),
            name: self.item.name.clone(),
            state: self.state,
            becomes: self.becomes(language),
            from: self.item.from.display().to_string(),
            remarks: self
                .item
                .remarks
                .iter()
                .map(|why| why.say(language))
                .collect(),
            sessions: None,
            near: None,
        }
    }

    /// In one line.
    pub fn becomes(&self, language: Language) -> String {
        if let Some(why) = &self.why {
            return why.clone();
        }
        match &self.item.taken {
            Taken::Model(model) => format!("default_model = \"{model}\""),
            Taken::Provider(entry) => {
                let text = |key: &str| entry.get(key).and_then(|v| v.as_str()).unwrap_or_default();
                format!("{} {}", text("kind"), text("base_url"))
            }
            Taken::Rule { list, rule } => format!("{} {rule}", list.name()),
            Taken::Server(entry) => line_of_server(entry),
            Taken::Hook {
                event,
                matcher,
                command,
                ..
            } => match matcher.is_empty() {
                true => format!("{event}: {command}"),
                false => format!("{event} {matcher}: {command}"),
            },
            Taken::Text(_) if self.item.kind == Kind::Command => format!("/{}", self.item.name),
            Taken::Text(_) if self.item.kind == Kind::Memory => "AGENTS.md".into(),
            Taken::Text(_) => self.item.name.clone(),
            Taken::Files(files) => language.filled(Word::ImportSkillFiles, &[&files.len()]),
            Taken::InPlace => String::new(),
            Taken::Left(why) => why.say(language),
        }
    }

    /// All of it, with what has to be said beside it.
    pub fn whole(&self, language: Language) -> String {
        let mut out = format!("--- {} ({})\n", self.item.name, self.item.from.display());
        match &self.item.taken {
            Taken::Text(text) => out.push_str(text.trim_end()),
            Taken::Server(entry) => out.push_str(&pretty(entry)),
            Taken::Provider(entry) => out.push_str(&pretty(entry)),
            Taken::Files(files) => {
                for (path, bytes) in files {
                    out.push_str(&format!("# {}\n", path.display()));
                    match std::str::from_utf8(bytes) {
                        Ok(text) => out.push_str(text.trim_end()),
                        Err(_) => out.push_str(&ostler_wire::format_size(bytes.len() as u64)),
                    }
                    out.push('\n');
                }
            }
            Taken::Model(_)
            | Taken::Rule { .. }
            | Taken::Hook { .. }
            | Taken::InPlace
            | Taken::Left(_) => out.push_str(&self.becomes(language)),
        }
        for remark in &self.item.remarks {
            out.push_str(&format!("\n! {}", remark.say(language)));
        }
        out
    }
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn line_of_server(entry: &serde_json::Value) -> String {
    let text = |key: &str| entry.get(key).and_then(|v| v.as_str()).unwrap_or_default();
    let args = entry
        .get("args")
        .and_then(|v| v.as_array())
        .into_iter()
        .flatten();
    let args = args.filter_map(|word| word.as_str());
    let words: Vec<&str> = [text("url"), text("command")]
        .into_iter()
        .chain(args)
        .collect();
    words.join(" ").trim().to_owned()
}
