//! What `ostler doctor` says of the configured MCP servers, without starting or reaching one.

use super::{Finding, Status};
use crate::boot::Boot;
use crate::cmd::mcp::target;
use crate::{output, servers};
use ostler_config::plugins::{Configured, PluginProvides};
use ostler_config::text::Speak as _;
use ostler_mcp::Endpoint;
use ostler_wire::Word;
use std::path::Path;

pub fn servers(boot: &Boot) -> Vec<Finding> {
    let with_tools = |one: &&Configured| one.plugin.provides == PluginProvides::Tools;
    let configured = boot.servers.iter().filter(with_tools);
    configured.map(|one| one_server(boot, one)).collect()
}

fn one_server(boot: &Boot, one: &Configured) -> Finding {
    let language = boot.language;
    let name = output::one_line(&one.plugin.name);
    let told = |word: Word<2>, what: &str| language.fill(word, &[&name, what]);
    if one.plugin.disabled {
        return Finding::ok("mcp", told(Word::DocServer, language.say(Word::McpOff)));
    }
    match servers::one(boot, one).endpoint {
        Endpoint::Unusable(why) => {
            let text = told(Word::DocServer, &why.say(language));
            Finding::new(Status::Problem, "mcp", text)
                .fix(language.filled(Word::DocServerFix, &[&one.place]))
        }
        Endpoint::Program(program) => {
            let command = program.argv.first().cloned().unwrap_or_default();
            let command = command.to_string_lossy();
            let folder = program.cwd.as_deref().unwrap_or(&boot.places.root);
            match is_there(boot, folder, &command) {
                true => Finding::ok("mcp", told(Word::DocServer, &target(&one.plugin))),
                false => Finding::new(Status::Problem, "mcp", told(Word::DocServerGone, &command))
                    .fix(language.filled(Word::DocServerFix, &[&one.place])),
            }
        }
        Endpoint::Address(_) => Finding::ok("mcp", told(Word::DocServer, &target(&one.plugin))),
    }
}

/// A command with a slash is looked for from the server's folder, as the system does when it starts it there.
fn is_there(boot: &Boot, folder: &Path, command: &str) -> bool {
    match command.contains(std::path::is_separator) {
        true => folder.join(command).is_file(),
        false => boot.program(command).is_some(),
    }
}
