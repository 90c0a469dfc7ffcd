//! The tools of a hub, with those of its MCP servers.

use super::LocalHub;
use crate::tools::Tools;
use crate::tools::declarations;
use ostler_state::agents::foreign::ForeignRoles;
use ostler_state::servers::ServerTools;
use ostler_wire::ToolMark;
use ostler_wire::{HubError, Why};

impl LocalHub {
    pub(crate) fn tools(&self) -> Tools {
        let tools = Tools::new(&self.offered()).and(&self.options.toolbox.more);
        match &self.servers {
            Some(servers) => tools.with_servers(ServerTools::gather(servers).tools),
            None => tools,
        }
    }

    /// The filter, without tools for other agents where none plays a role, and without those for a pane where there is
    /// none.
    fn offered(&self) -> Vec<String> {
        let mut filter = self.options.toolbox.filter.clone();
        let foreign = self.options.agents.foreign.as_ref();
        if foreign.is_none_or(|foreign| foreign.0.roles() == ForeignRoles::None) {
            let idle = declarations().filter(|about| about.has(ToolMark::NeedsBackends));
            filter.extend(idle.map(|about| format!("!{}", about.name)));
        }
        if self.options.toolbox.pane.is_none() {
            let idle = declarations().filter(|about| about.has(ToolMark::NeedsPane));
            filter.extend(idle.map(|about| format!("!{}", about.name)));
        }
        filter
    }

    /// Starts servers, and waits for those that a run cannot do without. What became of the others.
    pub(crate) async fn call_servers(&self) -> Result<Vec<String>, HubError> {
        let Some(servers) = &self.servers else {
            return Ok(Vec::new());
        };
        let language = self.options.run.language;
        let spoken = |why: Vec<Why>| why.iter().map(|why| why.say(language)).collect::<Vec<_>>();
        servers.start();
        if self.options.mcp.required {
            let failed = spoken(servers.all_ready().await);
            return match failed.is_empty() {
                true => Ok(failed),
                false => Err(HubError(format!("{} (--require-mcp)", failed.join("; ")))),
            };
        }
        match self.options.run.interactive {
            true => Ok(Vec::new()),
            false => Ok(spoken(servers.ready().await)),
        }
    }
}
