//! From files, variables and flags to one configuration: read, check, filter, merge. The merged
//! tree keeps the origin of every value. All inputs are passed in.

use crate::text::phrase;
use ostler_wire::{Why, Word};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::check::{check_layer, expand_models, gather_switches};
use crate::de;
use crate::diagnose::{ConfigError, Notice, Report, Severity, file_report};
use crate::env::{Override, from_env, from_flags};
use crate::files::{Stamp, stamp};
use crate::merge::merge;
use crate::paths::{Env, Places, anchor_paths};
use crate::project::{
    ForeignVariable, drop_backend_variables, drop_foreign_keys, drop_passed, drop_user_only,
    file_items, foreign_variables, take_untrusted,
};
use crate::read::read_text;
use crate::schema::{Config, ProviderConfig};
use crate::server_names::rename_plugins;
use crate::three::{self, ThreeLayer};
use crate::tree::{
    At, Layer, Node, Place, Source, SourceId, Sources, SyntaxError, Table, Value, parse,
};
use crate::trust::{Approval, Item, Workspace};

/// Fields of a provider that decide where data goes or with which key.
const SENDING: [&str; 12] = [
    "kind",
    "api",
    "auth",
    "oauth",
    "base_url",
    "base_url_env",
    "headers",
    "extra_body",
    "quirks",
    "api_key",
    "api_key_env",
    "api_key_file",
];

/// Everything that loading depends on.
#[derive(Debug, Clone)]
pub struct Inputs<'a> {
    pub env: &'a Env,
    pub places: &'a Places,
    /// `--config`: read in place of the user file.
    pub config_flag: Option<&'a Path>,
    pub overrides: &'a [Override],
    /// What the person said to this project.
    pub approval: Approval<'a>,
    /// Names of the tools there are, for `[tools] <name> = false`.
    pub tools: &'a [&'a str],
}

/// The configuration, and where each part of it came from.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub config: Config,
    pub notices: Vec<Notice>,
    /// What of the project needs trust, and whether it has it.
    pub workspace: Workspace,
    /// The user's, the person's own for the project and the project's file, when they were read.
    pub files: Vec<(PathBuf, Stamp)>,
    /// The providers as they were before a project's file changed them.
    pub(super) below_project: Vec<ProviderConfig>,
    /// What the project's file calls servers that got another name.
    renamed: BTreeMap<String, String>,
    pub(super) tree: Node,
    pub(super) sources: Sources,
}

/// Which list a permission rule stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleList {
    Allow,
    Ask,
    Deny,
}

impl RuleList {
    pub const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    /// Its key in `[permissions]`.
    pub fn key(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A permission rule as written, with its position for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub text: String,
    pub list: RuleList,
    pub layer: Layer,
    pub place: Place,
}

/// Reads and merges all layers.
pub fn load(inputs: &Inputs<'_>) -> Result<Loaded, ConfigError> {
    let mut loader = Loader::new(inputs.places, inputs.tools);
    let mut tree = Node::new(Value::Table(Table::new()), At::whole(Sources::BUILT_IN));

    let user_path = match inputs.config_flag {
        Some(path) => inputs.places.cwd.join(path),
        None => inputs.places.user_config(),
    };
    // Before they are read, so that no change is missed.
    let local_path = inputs.places.local_rules();
    let files = [&user_path, &local_path, &inputs.places.project_config()]
        .map(|path| (path.clone(), stamp(path)))
        .to_vec();
    let client = three::client(inputs.env);
    let theirs = three::read(Layer::User, inputs.places, client, &mut loader.sources);
    loader.add_three(theirs, &mut tree);
    if let Some(user) = loader.file(&user_path, Layer::User) {
        let user = loader.finish(user, Layer::User, &user_path);
        merge(&mut tree, user, &loader.sources);
    } else if inputs.config_flag.is_some() && loader.reports.is_empty() {
        let title = Why::from(Word::CfgFileGone);
        let help = Why::from(Word::CfgCheckPath);
        let name = inputs.places.shown(&user_path);
        loader.reports.push(file_report(&name, title, help));
    }
    if let Some(local) = loader.file(&local_path, Layer::Local) {
        let local = loader.only_rules(local);
        let local = loader.finish(local, Layer::Local, &local_path);
        merge(&mut tree, local, &loader.sources);
    }
    let mut below_project = Vec::new();
    let mut renamed = BTreeMap::new();
    let project_path = inputs.places.project_config();
    let project = match same_file(&project_path, &user_path) {
        true => None,
        false => loader.file(&project_path, Layer::Project),
    };
    let mut theirs = three::read(Layer::Project, inputs.places, client, &mut loader.sources);
    let mut items = file_items(inputs.places);
    items.append(&mut theirs.items);
    let (project, workspace) = loader.weigh((project, items), &tree, inputs.approval);
    if workspace.is_trusted() {
        loader.add_three(theirs, &mut tree);
    }
    if let Some(project) = project {
        let mut project = loader.finish(project, Layer::Project, &project_path);
        renamed = rename_plugins(&mut project, &tree);
        if project.get(&["providers"]).is_some() {
            below_project = de::read::<Config>(&tree).0.unwrap_or_default().providers;
        }
        merge(&mut tree, project, &loader.sources);
    }
    let env = from_env(inputs.env, &mut loader.sources, &mut loader.notices);
    // The file name only serves as something to be beside.
    let here = inputs.places.cwd.join("environment");
    let env = loader.finish(env, Layer::Environment, &here);
    merge(&mut tree, env, &loader.sources);
    match from_flags(inputs.overrides, &mut loader.sources) {
        Ok(flags) => {
            let flags = loader.finish(flags, Layer::Flag, &here);
            merge(&mut tree, flags, &loader.sources);
        }
        Err(report) => loader.reports.push(*report),
    }
    let project = Project {
        workspace,
        below_project,
        renamed,
    };
    loader.build(tree, project, files)
}

/// What loading would say about one file with this text.
pub fn inspect(
    text: String,
    path: &Path,
    layer: Layer,
    (places, tools): (&Places, &[&str]),
) -> (Vec<Report>, Vec<Notice>) {
    let mut loader = Loader::new(places, tools);
    if let Some(tree) = loader.text(text, path, layer) {
        loader.finish(tree, layer, path);
    }
    (loader.reports, loader.notices)
}

/// Names of variables that are passed on, by who says so.
#[derive(Debug, Default)]
pub struct Passed<'a> {
    pub by_person: BTreeSet<&'a str>,
    pub by_project: BTreeSet<&'a str>,
}

/// What is known of a project once its file was read.
struct Project {
    workspace: Workspace,
    below_project: Vec<ProviderConfig>,
    renamed: BTreeMap<String, String>,
}

struct Loader<'a> {
    places: &'a Places,
    tools: &'a [&'a str],
    sources: Sources,
    notices: Vec<Notice>,
    reports: Vec<Report>,
}

impl<'a> Loader<'a> {
    fn new(places: &'a Places, tools: &'a [&'a str]) -> Self {
        Self {
            places,
            tools,
            sources: Sources::default(),
            notices: Vec::new(),
            reports: Vec::new(),
        }
    }

    /// A file as a tree. None when it is absent or broken; the latter is reported.
    fn file(&mut self, path: &Path, layer: Layer) -> Option<Node> {
        match read_text(path, &self.places.shown(path)) {
            Ok(text) => self.text(text?, path, layer),
            Err(report) => {
                self.reports.push(*report);
                None
            }
        }
    }

    fn text(&mut self, text: String, path: &Path, layer: Layer) -> Option<Node> {
        let source = self.sources.add(Source {
            layer,
            name: self.places.shown(path),
            path: Some(path.to_owned()),
            text,
        });
        match parse(&self.sources.get(source).text, source) {
            Ok(tree) => Some(tree),
            Err(errors) => {
                let reports = syntax_reports(errors, source, &self.sources);
                self.reports.extend(reports);
                None
            }
        }
    }

    /// Holds a project against what the person said to it. What needs trust and has none is taken out.
    fn weigh(
        &mut self,
        (project, mut items): (Option<Node>, Vec<Item>),
        below: &Node,
        approval: Approval<'_>,
    ) -> (Option<Node>, Workspace) {
        let project = project.map(|mut project| {
            self.switches(&mut project);
            let mut rest = project.clone();
            let taken = take_untrusted(&mut rest, below, self.places);
            items.extend(taken.items(&self.sources, self.places));
            let sends = foreign_variables(&project, below);
            items.extend(sends.iter().map(|one| {
                let ForeignVariable { name, host, .. } = one;
                let text = phrase(Word::TrustSends, &[name, host]);
                let what = format!("providers.{}", one.key);
                let normal = format!("{name} {host}");
                Item::new(what, self.sources.place(one.at), text, &normal)
            }));
            if matches!(approval, Approval::ThisRun) {
                self.drop_variables(&mut project, &sends);
                drop_passed(&mut project, &self.sources, &mut self.notices);
            }
            (project, rest)
        });
        let workspace = Workspace::judge(items, approval);
        if let Some(text) = workspace.notice() {
            self.notices.push(match workspace.place() {
                Some(place) if !workspace.is_trusted() => Notice::warning(place, text),
                place => Notice {
                    severity: Severity::Notice,
                    place,
                    text,
                },
            });
        }
        let project = project.map(|(project, rest)| match workspace.is_trusted() {
            true => project,
            false => rest,
        });
        (project, workspace)
    }

    /// Lays a document of Three over what is below it.
    fn add_three(&mut self, layer: ThreeLayer, tree: &mut Node) {
        self.reports.extend(layer.reports);
        if let Some(mut document) = layer.tree {
            if self.sources.layer(document.at) == Layer::Project {
                drop_backend_variables(&mut document, &self.sources, &mut self.notices);
            }
            merge(tree, document, &self.sources);
        }
    }

    /// A run that is trusted as a whole has looked at no single variable.
    fn drop_variables(&mut self, project: &mut Node, sends: &[ForeignVariable]) {
        for one in sends {
            one.drop_from(project);
            let text = phrase(Word::CfgForeignVariable, &[&one.key, &one.name, &one.host]);
            self.notices
                .push(Notice::warning(self.sources.place(one.at), text));
        }
    }

    /// The rules of a file that is for rules alone.
    fn only_rules(&mut self, mut tree: Node) -> Node {
        let mut rules = Node::new(Value::Table(Table::new()), tree.at);
        for list in RuleList::ALL {
            let path = ["permissions", list.key()];
            if let Some(node) = tree.take(&path) {
                rules.put_new(&path, node).ok();
            }
        }
        let empty = |node: &Node| node.as_table().is_none_or(Table::is_empty);
        let section = tree.get(&["permissions"]);
        if section.is_some_and(empty) {
            tree.take(&["permissions"]);
        }
        if !empty(&tree) {
            let place = self.sources.place(tree.at);
            let text = Why::from(Word::CfgOnlyRules);
            self.notices.push(Notice::warning(place, text));
        }
        rules
    }

    fn switches(&mut self, tree: &mut Node) {
        gather_switches(tree, self.tools, (&self.sources, &mut self.notices));
    }

    /// Checks a layer and brings it into the form that layers are merged in.
    fn finish(&mut self, mut tree: Node, layer: Layer, file: &Path) -> Node {
        if layer == Layer::Project {
            drop_user_only(&mut tree, &self.sources, &mut self.notices);
            drop_backend_variables(&mut tree, &self.sources, &mut self.notices);
        }
        self.switches(&mut tree);
        let reports = check_layer(&mut tree, &self.sources, &mut self.notices);
        self.reports.extend(reports);
        expand_models(&mut tree);
        if layer == Layer::Project {
            drop_foreign_keys(&mut tree, self.places, &self.sources, &mut self.notices);
        }
        anchor_paths(&mut tree, file.parent().unwrap_or(file), self.places);
        tree
    }

    fn build(
        mut self,
        tree: Node,
        project: Project,
        files: Vec<(PathBuf, Stamp)>,
    ) -> Result<Loaded, ConfigError> {
        if !self.reports.is_empty() {
            return Err(ConfigError::new(self.reports));
        }
        match de::read::<Config>(&tree).0 {
            Ok(config) => Ok(Loaded {
                config,
                notices: self.notices,
                workspace: project.workspace,
                files,
                below_project: project.below_project,
                renamed: project.renamed,
                tree,
                sources: self.sources,
            }),
            // Each layer passed alone, so only their sum can be at fault.
            Err(problem) => {
                let title = phrase(Word::CfgNoFit, &[&problem.message]);
                let report = Report::at(&self.sources, problem.at, problem.at.value, title);
                self.reports.push(report.label(problem.label));
                Err(ConfigError::new(self.reports))
            }
        }
    }
}

/// One report a line, in the order of the file: what follows on a line is mostly a consequence.
fn syntax_reports(
    mut errors: Vec<SyntaxError>,
    source: SourceId,
    sources: &Sources,
) -> Vec<Report> {
    let at = At::whole(source);
    let line = |error: &SyntaxError| {
        sources
            .place_of(at, error.span)
            .position
            .map(|(line, _)| line)
    };
    errors.sort_by_key(|error| error.span.start);
    errors.dedup_by_key(|error| line(error));
    errors
        .into_iter()
        .map(|error| {
            let title = Why::from(Word::CfgNoToml);
            Report::at(sources, at, error.span, title).label(error.message)
        })
        .collect()
}

impl Loaded {
    /// All permission rules, lowest layer first, with where they stand.
    pub fn rules(&self) -> Vec<Rule> {
        let mut rules = Vec::new();
        for list in RuleList::ALL {
            let items = self.tree.get(&["permissions", list.key()]);
            for node in items.and_then(Node::as_array).unwrap_or(&[]) {
                rules.push(Rule {
                    text: node.as_str().unwrap_or_default().to_owned(),
                    list,
                    layer: self.sources.layer(node.at),
                    place: self.sources.place(node.at),
                });
            }
        }
        rules
    }

    /// Who decides where a provider's requests go and with which key: the highest layer that
    /// touched a field of that kind, Default when it is purely built in.
    pub fn provider_layer(&self, name: &str) -> Layer {
        let Some(item) = self.provider_node(name) else {
            return Layer::Default;
        };
        SENDING
            .iter()
            .filter_map(|field| item.get(&[field]))
            .map(|node| self.highest(node))
            .max()
            .unwrap_or(Layer::Default)
    }

    /// Where a provider is configured.
    pub fn provider_place(&self, name: &str) -> Option<Place> {
        self.provider_node(name)
            .map(|node| self.sources.place(node.at))
    }

    /// Where a provider's address is configured.
    pub fn address_place(&self, name: &str) -> Option<Place> {
        let node = self.provider_node(name)?.get(&["base_url"])?;
        Some(self.sources.place(node.at))
    }

    /// Who says what a server of `[[plugins]]` is, and where.
    pub fn plugin_place(&self, name: &str) -> (Layer, Option<Place>) {
        let items = self.tree.get(&["plugins"]).and_then(Node::as_array);
        let node = items
            .unwrap_or(&[])
            .iter()
            .find(|item| item.name() == Some(name));
        match node {
            Some(node) => (self.highest(node), Some(self.sources.place(node.at))),
            None => (Layer::Default, None),
        }
    }

    /// What the project's file calls this server of `[[plugins]]`, where it got another name.
    pub fn written_name(&self, plugin: &str) -> Option<String> {
        self.renamed.get(plugin).cloned()
    }

    /// Where each hook is written, in their order.
    pub fn hook_places(&self) -> Vec<Place> {
        let items = self.tree.get(&["hooks"]).and_then(Node::as_array);
        let items = items.unwrap_or(&[]).iter();
        items.map(|node| self.sources.place(node.at)).collect()
    }

    /// Variables that commands get although they look like secrets: those that the person names, and those that a
    /// trusted project does.
    pub fn passed_variables(&self) -> Passed<'_> {
        let list = self.tree.get(&["tools", "shell", "env_pass"]);
        let is_projects = |node: &&Node| self.sources.layer(node.at) == Layer::Project;
        let items = list.and_then(Node::as_array).unwrap_or(&[]).iter();
        let (projects, own): (Vec<&Node>, Vec<&Node>) = items.partition(is_projects);
        Passed {
            by_person: own.into_iter().filter_map(Node::as_str).collect(),
            by_project: projects.into_iter().filter_map(Node::as_str).collect(),
        }
    }

    /// Where a key was set, if it was.
    pub fn place(&self, path: &[&str]) -> Option<Place> {
        self.tree.get(path).map(|node| self.sources.place(node.at))
    }

    /// The layer that set a key, if one did.
    pub fn layer_of(&self, path: &[&str]) -> Option<Layer> {
        self.tree.get(path).map(|node| self.sources.layer(node.at))
    }

    fn provider_node(&self, name: &str) -> Option<&Node> {
        let items = self.tree.get(&["providers"])?.as_array()?;
        items.iter().find(|item| item.name() == Some(name))
    }

    fn highest(&self, node: &Node) -> Layer {
        let own = self.sources.layer(node.at);
        let below = node
            .as_table()
            .and_then(|table| table.values().map(|child| self.highest(child)).max());
        own.max(below.unwrap_or(Layer::Default))
    }
}

fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}
