//! All that one agent has, but for its sessions, which are listed apart.

use crate::agents::{Agent, SettingsFile};
use crate::files::{Files, Places};
use crate::item::{Found, Item, Kind, Taken};
use crate::{hooks, prose, rules, servers, settings};
use ostler_wire::Word;
use serde_json::Value;
use std::collections::BTreeSet;

pub fn survey(agent: &Agent, places: &Places) -> Found {
    let mut files = Files::new(places);
    let mut items = Vec::new();
    for row in &agent.settings {
        of_settings(agent, row, &mut files, &mut items);
    }
    for row in &agent.prose {
        let pattern = agent.path(&row.files, places);
        items.extend(prose::items(row, &pattern, &mut files));
    }
    // What two files say alike is there once.
    let mut seen = BTreeSet::new();
    items.retain(|item| seen.insert((item.kind, item.name.clone())));
    Found {
        items,
        faults: files.faults,
    }
}

fn of_settings(agent: &Agent, row: &SettingsFile, files: &mut Files<'_>, out: &mut Vec<Item>) {
    let path = agent.path(&row.file, files.places);
    let Some(text) = files.text(&path) else {
        return;
    };
    let tree = match settings::parse(&path, &text) {
        Ok(tree) => tree,
        Err(why) => return files.fault(&path, why),
    };
    out.extend(
        row.model
            .as_ref()
            .and_then(|at| settings::model(&tree, at, &path)),
    );
    if let Some(rows) = &row.providers {
        out.extend(settings::providers(&tree, rows, &path));
    }
    for key in &row.servers {
        if let Some(value) = settings::at(&tree, key) {
            out.extend(servers::servers(value, &path));
        }
    }
    for rows in &row.rules {
        if let Some(value) = settings::at(&tree, &rows.at) {
            out.extend(rules::rules(value, rows.form, &path));
        }
    }
    if let Some(rows) = &row.hooks
        && let Some(value) = settings::at(&tree, &rows.at)
    {
        out.extend(hooks::hooks(value, rows.form, &path));
    }
    for key in &row.left {
        let there = settings::at(&tree, key).filter(|value| !is_empty(value));
        if there.is_some() {
            let why = Word::ImportSettingLeft.into();
            out.push(Item::new(
                Kind::Setting,
                key.as_str(),
                &path,
                Taken::Left(why),
            ));
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is_set) => !is_set,
        Value::Number(_) => false,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}
