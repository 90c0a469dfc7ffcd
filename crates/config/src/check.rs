//! Whether a layer makes sense: its types, and beyond them names that clash and addresses that
//! are none. It also rewrites the short forms into the long ones.

use crate::text::phrase;
use ostler_wire::{Why, Word};
use url::Url;

use crate::backends::check_backends;
use crate::de::{self, fields_at};
use crate::diagnose::{Notice, Report, nearest};
use crate::oauth;
use crate::schema::Config;
use crate::tree::{At, Node, Sources, Span, Step, Table, Value, dotted, item_named, push_key};

/// `[tools] <name> = false` becomes an entry of `switches`. Names of known tools move whatever
/// their value is, so that a wrong one is reported as such.
pub fn gather_switches(
    root: &mut Node,
    tools: &[&str],
    (sources, notices): (&Sources, &mut Vec<Notice>),
) {
    gather_pane(root);
    let Some(table) = root.get_mut(&["tools"]).and_then(Node::as_table_mut) else {
        return;
    };
    let fields = fields_at::<Config>(&[Step::Key("tools".into())]).unwrap_or_default();
    let is_switch = |key: &str, node: &Node| {
        !fields.contains(&key) && (tools.contains(&key) || matches!(node.value, Value::Boolean(_)))
    };
    let names: Vec<String> = table
        .iter()
        .filter(|(key, node)| is_switch(key, node))
        .map(|(key, _)| key.clone())
        .collect();
    for name in names {
        let Some(node) = table.remove(&name) else {
            continue;
        };
        if !tools.is_empty() && !tools.contains(&name.as_str()) {
            let near = nearest(&name, fields.iter().chain(tools).copied());
            let mut key = "tools".to_owned();
            push_key(&mut key, &name);
            notices.push(unknown_notice(sources, node.at, &key, near));
        }
        let at = node.at;
        let switches = table
            .entry(SWITCHES.to_owned())
            .or_insert_with(|| Node::new(Value::Table(Table::new()), at));
        if let Some(switches) = switches.as_table_mut() {
            switches.insert(name, node);
        }
    }
}

/// `[host] tmux` is no place, whatever it is set to.
fn gather_pane(root: &mut Node) {
    let is_setting = |node: &Node| !matches!(node.value, Value::Table(_));
    let Some(pane) = root.get(&PANE).filter(|node| is_setting(node)).cloned() else {
        return;
    };
    root.take(&PANE);
    let [_, name] = PANE;
    if let Some(table) = root.as_table_mut() {
        let helper = table
            .entry("helper".to_owned())
            .or_insert_with(|| Node::new(Value::Table(Table::new()), pane.at));
        if let Some(helper) = helper.as_table_mut() {
            helper.insert(name.to_owned(), pane);
        }
    }
}

/// Where the person writes it.
const PANE: [&str; 2] = ["host", "tmux"];
const SWITCHES: &str = "switches";
/// Written in a role, where there is one model.
pub const FALLBACKS: &str = "fallback_models";

/// The path as written in a file: switches of tools stand beside the other keys there.
pub fn written(root: &Node, path: &[Step]) -> String {
    let key = dotted(root, path);
    match key.strip_prefix("tools.switches.") {
        Some(tool) => format!("tools.{tool}"),
        None if key == "helper.tmux" => PANE.join("."),
        None => key,
    }
}

/// Everything wrong with the layer; unknown keys become notices and are taken out.
pub fn check_layer(root: &mut Node, sources: &Sources, notices: &mut Vec<Notice>) -> Vec<Report> {
    let (problems, unknown) = de::check::<Config>(root);
    let mut refused = Vec::new();
    let found = |path: Vec<Step>| Some((root.at_path(&path)?.at, path));
    let mut unknown: Vec<(At, Vec<Step>)> = unknown.into_iter().filter_map(found).collect();
    unknown.sort_by_key(|(at, _)| at.key.start);
    for (at, path) in &unknown {
        match refused_key(root, path, *at, sources) {
            Some(report) => refused.push(report),
            None => notices.push(unknown_key(root, path, *at, sources)),
        }
    }
    for (_, path) in &unknown {
        root.strike(path);
    }
    let mut reports: Vec<Report> = problems
        .into_iter()
        .map(|problem| {
            let span = if problem.on_key {
                problem.at.key
            } else {
                problem.at.value
            };
            let key = written(root, &problem.path);
            let title = Why::joined([format!("`{key}` ").into(), problem.message]);
            let report = Report::at(sources, problem.at, span, title).label(problem.label);
            match problem.help {
                Some(help) => report.help(help),
                None => report,
            }
        })
        .chain(refused)
        .collect();
    check_providers(root, sources, &mut reports);
    check_models(root, sources, &mut reports);
    check_backends(root, sources, &mut reports);
    reports.sort_by_key(|report| report.place.as_ref().and_then(|place| place.position));
    reports
}

/// `[models.<name>]` becomes a provider with one model.
pub fn expand_models(root: &mut Node) {
    let Some(models) = root.take(&["models"]) else {
        return;
    };
    let Value::Table(models) = models.value else {
        return;
    };
    for (name, profile) in models {
        let at = profile.at;
        let Value::Table(fields) = profile.value else {
            continue;
        };
        let Some(provider) = item_named(root, "providers", &name, at) else {
            return;
        };
        let model = Node::new(Value::String(name), at);
        for (key, node) in fields {
            let key = match key.as_str() {
                "api_base_url" => "base_url",
                "context_limit" => "context_window",
                other => other,
            };
            provider.put_new(&[key], node).ok();
        }
        provider.put_new(&["model"], model).ok();
        // Marks that `api` alone decides the protocol.
        let api = Node::new(Value::String("completions".into()), at);
        if provider.get(&["kind"]).is_none() {
            provider.put_new(&["api"], api).ok();
        }
    }
}

/// A role has one model: a list of others must not look as if it had an effect.
pub fn refused_key(root: &Node, path: &[Step], at: At, sources: &Sources) -> Option<Report> {
    match path {
        [Step::Key(roles), Step::Key(_), Step::Key(key)]
            if roles == "roles" && key == FALLBACKS => {}
        _ => return None,
    }
    let title = phrase(Word::CfgFallbacks, &[&dotted(root, path)]);
    let report = Report::at(sources, at, at.key, title)
        .label(Why::from(Word::CfgNotHere))
        .help(Why::from(Word::CfgOneModel));
    Some(report)
}

/// Words that other programs use for one of our keys and that look more like another one.
const MEANT: [(&str, &str); 1] = [("model", "default_model")];

fn unknown_key(root: &Node, path: &[Step], at: At, sources: &Sources) -> Notice {
    let key = dotted(root, path);
    let (parents, name) = match path.split_last() {
        Some((Step::Key(name), parents)) => (parents, name.as_str()),
        Some((Step::Index(_), _)) | None => (path, ""),
    };
    let near = match MEANT.iter().find(|(word, _)| *word == key) {
        Some((_, meant)) => Some(*meant),
        None => nearest(name, known_keys(parents)),
    };
    let near = near.map(str::to_owned).or_else(|| elsewhere(name));
    unknown_notice(sources, at, &key, near.as_deref())
}

/// The keys that people write in the table at a path.
fn known_keys(path: &[Step]) -> impl Iterator<Item = &'static str> {
    let fields = fields_at::<Config>(path).unwrap_or_default();
    fields.iter().copied().filter(|key| *key != SWITCHES)
}

fn unknown_notice(sources: &Sources, at: At, key: &str, near: Option<&str>) -> Notice {
    let hint = match near {
        Some(near) => phrase(Word::DidYouMean, &[&near]),
        None => Why::from(Word::IsIgnored),
    };
    Notice::warning(
        sources.place(at),
        phrase(Word::CfgUnknownKey, &[&key, &hint]),
    )
}

/// The full name of a key that was put into the wrong section.
fn elsewhere(name: &str) -> Option<String> {
    let mut below = vec![Vec::new()];
    while let Some(section) = below.pop() {
        if !section.is_empty() && known_keys(&section).any(|key| key == name) {
            let mut full = String::new();
            section.iter().for_each(|step| match step {
                Step::Key(key) => push_key(&mut full, key),
                Step::Index(_) => {}
            });
            return Some(format!("{full}.{name}"));
        }
        let inner = known_keys(&section).map(|key| {
            let mut path = section.clone();
            path.push(Step::Key(key.to_owned()));
            path
        });
        below.extend(inner.collect::<Vec<_>>().into_iter().rev());
    }
    None
}

fn check_providers(root: &Node, sources: &Sources, reports: &mut Vec<Report>) {
    let Some(items) = root.get(&["providers"]).and_then(Node::as_array) else {
        return;
    };
    let mut seen: Vec<&str> = Vec::new();
    for item in items {
        if let (Some(name), Some(node)) = (item.name(), item.get(&["name"])) {
            if seen.contains(&name) {
                let title = phrase(Word::CfgTwoNamed, &[&name]);
                let report = Report::at(sources, node.at, node.at.value, title)
                    .label(Why::from(Word::CfgUsedBefore))
                    .help(Why::from(Word::CfgOwnName));
                reports.push(report);
            }
            seen.push(name);
            check_name(name, node.at, node.at.value, (sources, reports));
        }
        check_url(item.get(&["base_url"]), sources, reports);
        check_headers(item, sources, reports);
        check_oauth(item, sources, reports);
        if let (Some(model), Some(_)) = (item.get(&["model"]), item.get(&["models"])) {
            let title = Why::from(Word::CfgModelOrModels);
            let report = Report::at(sources, model.at, model.at.key, title)
                .label(Why::from(Word::CfgOneOfTwo))
                .help(Why::from(Word::CfgKeepModels));
            reports.push(report);
        }
    }
}

/// A name must not be mistaken for a part of `provider/model@variant`.
fn check_name(name: &str, at: At, span: Span, (sources, reports): (&Sources, &mut Vec<Report>)) {
    let odd =
        |letter: char| matches!(letter, '/' | '@') || letter.is_whitespace() || letter.is_control();
    if name.is_empty() || name.contains(odd) {
        let title = Why::from(Word::CfgBadName);
        let report = Report::at(sources, at, span, title);
        reports.push(report.label(Why::from(Word::CfgNoName)));
    }
}

fn check_models(root: &Node, sources: &Sources, reports: &mut Vec<Report>) {
    let Some(models) = root.get(&["models"]).and_then(Node::as_table) else {
        return;
    };
    let providers = root.get(&["providers"]).and_then(Node::as_array);
    for (name, profile) in models {
        check_name(name, profile.at, profile.at.key, (sources, reports));
        check_url(profile.get(&["api_base_url"]), sources, reports);
        check_oauth(profile, sources, reports);
        let keys: Vec<&Node> = ["api_key", "api_key_env", "api_key_file"]
            .iter()
            .filter_map(|key| profile.get(&[key]))
            .collect();
        if let [_, second, ..] = keys.as_slice() {
            let title = phrase(Word::CfgTwoKeys, &[&name]);
            let report = Report::at(sources, second.at, second.at.key, title)
                .label(Why::from(Word::CfgSecond))
                .help(Why::from(Word::CfgKeepOne));
            reports.push(report);
        }
        let taken = providers
            .unwrap_or(&[])
            .iter()
            .any(|item| item.name() == Some(name));
        if taken {
            let title = phrase(Word::CfgNameTaken, &[&name]);
            let report = Report::at(sources, profile.at, profile.at.key, title)
                .label(Why::from(Word::CfgAlsoUsed))
                .help(Why::from(Word::CfgRename));
            reports.push(report);
        }
    }
}

fn check_url(node: Option<&Node>, sources: &Sources, reports: &mut Vec<Report>) {
    let Some(node) = node else { return };
    let Some(text) = node.as_str() else { return };
    if let Err(message) = parse_base_url(text) {
        let report = Report::at(sources, node.at, node.at.value, message)
            .label(Why::from(Word::CfgNoAddress))
            .help(Why::from(Word::CfgWriteAddress));
        reports.push(report);
    }
}

fn check_oauth(item: &Node, sources: &Sources, reports: &mut Vec<Report>) {
    for key in oauth::ADDRESSES {
        let Some(node) = item.get(&["oauth", key]) else {
            continue;
        };
        let Some(text) = node.as_str() else { continue };
        if let Err(message) = oauth::parse_address(text) {
            let report = Report::at(sources, node.at, node.at.value, message);
            reports.push(report.label(Why::from(Word::CfgNoToken)));
        }
    }
}

/// A base URL that requests can be sent to. Empty means unset.
pub fn parse_base_url(text: &str) -> Result<Option<Url>, Why> {
    if text.is_empty() {
        return Ok(None);
    }
    let url = Url::parse(text).map_err(|error| phrase(Word::CfgBadBase, &[&error]))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(Why::from(Word::CfgBaseForm));
    }
    Ok(Some(url))
}

fn check_headers(item: &Node, sources: &Sources, reports: &mut Vec<Report>) {
    let Some(headers) = item.get(&["headers"]).and_then(Node::as_table) else {
        return;
    };
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    for (name, node) in headers {
        let mut bad = |span: Span, title: Why| {
            let report = Report::at(sources, node.at, span, title);
            reports.push(report.label(Why::from(Word::CfgUnsendable)));
        };
        if name.is_empty() || !name.bytes().all(token) {
            bad(node.at.key, Why::from(Word::CfgNoHeader));
        }
        if node
            .as_str()
            .is_some_and(|value| value.contains(char::is_control))
        {
            bad(node.at.value, Why::from(Word::CfgHeaderValue));
        }
    }
}
