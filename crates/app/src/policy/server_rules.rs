//! Which servers the person's rules about `mcp__server` speak of. A project chooses the names of its servers, so a name
//! alone is no reason to allow them something.

use ostler_config::layers::{Rule, RuleList};
use ostler_config::plugins::Configured;
use ostler_config::tree::Layer;
use ostler_mcp::server_name;
use ostler_wire::SERVER_TOOL_PREFIX as PREFIX;
use std::collections::{BTreeMap, BTreeSet};

/// The project's servers as they stand in names of tools.
pub struct ServerNames {
    projects: BTreeSet<String>,
    /// Those that got another name, by the one that they would have had.
    renamed: BTreeMap<String, Vec<String>>,
}

impl ServerNames {
    pub fn new(servers: &[Configured]) -> Self {
        let (mut projects, mut renamed) = (BTreeSet::new(), BTreeMap::<_, Vec<_>>::new());
        for one in servers.iter().filter(|one| one.scope.is_of_project()) {
            let name = server_name(&one.plugin.name);
            if let Some(written) = &one.written {
                let all = renamed.entry(server_name(written)).or_default();
                all.push(name.clone());
            }
            projects.insert(name);
        }
        Self { projects, renamed }
    }

    /// The rules that a written one stands for. An allow rule of the person's own file is about servers of their own; what
    /// is denied or asked about is so for a server that got another name, too.
    pub fn bind(&self, rule: Rule) -> Vec<Rule> {
        let Some((server, rest)) = split(&rule.text) else {
            return vec![rule];
        };
        match rule.list {
            RuleList::Allow if self.binds_allow(server, rule.layer) => vec![rule],
            RuleList::Allow => Vec::new(),
            RuleList::Ask | RuleList::Deny => {
                let others = self.renamed.get(server).into_iter().flatten();
                let others = others.map(|name| format!("{PREFIX}{name}{rest}"));
                let others: Vec<String> = others.collect();
                let others = others.into_iter().map(|text| Rule {
                    text,
                    ..rule.clone()
                });
                let others: Vec<Rule> = others.collect();
                std::iter::once(rule).chain(others).collect()
            }
        }
    }

    fn binds_allow(&self, server: &str, layer: Layer) -> bool {
        match layer {
            // By a flag or for this project the person means what is there.
            Layer::Local | Layer::Project | Layer::Environment | Layer::Flag => true,
            Layer::Default | Layer::User => !self.projects.contains(server),
        }
    }
}

/// The server that a rule is about, and what follows its name.
fn split(text: &str) -> Option<(&str, &str)> {
    let name = text.trim().strip_prefix(PREFIX)?;
    let ends = ["__", "("].iter().filter_map(|end| name.find(end));
    let end = ends.min().unwrap_or(name.len());
    Some(name.split_at(end))
}
