//! `ostler mcp test`: meets one server or plugin, and says what it offers or why it does not work.

use super::mcp::find;
use crate::boot::Boot;
use crate::errors::Told as _;
use crate::exit::{FAILED, OK};
use crate::flags::Listing;
use crate::output;
use crate::servers;
use crate::wiring;
use ostler_config::plugins::{Configured, PluginProvides};
use ostler_config::text::Speak as _;
use ostler_mcp::{ConnectError, Connection, Lists, tool_name};
use ostler_wire::{Language, Word, cut_to_width};
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Tools that a text names.
const MAX_NAMED: usize = 100;

pub async fn run(boot: &Arc<Boot>, name: &str, format: Listing) -> anyhow::Result<u8> {
    // What programs read does not change with the person.
    let language = match format {
        Listing::Json => Language::English,
        Listing::Text => boot.language,
    };
    let configured = find(boot, name, language)?;
    if configured.plugin.provides == PluginProvides::Provider {
        return test_models(boot, configured, format).await;
    }
    let server = servers::one(boot, configured);
    let context = wiring::options(boot, false)?.server_context();
    let start = Instant::now();
    let met = Connection::open_and_list(&server, &context, CancellationToken::new()).await;
    let took = start.elapsed().as_millis();
    match (met, format) {
        (Ok((link, lists)), Listing::Json) => {
            let about = link.about();
            let tools = lists.tools.iter().map(|tool| {
                json!({"name": tool_name(name, &tool.name), "read_only": tool.read_only, "description": tool.description})
            });
            output::print_json(&json!({
                "ok": true, "server": about.server, "protocol": about.protocol, "ms": took,
                "tools": tools.collect::<Vec<_>>(), "prompts": lists.prompts, "resources": lists.resources,
                "left_out": lists.left_out.iter().map(|left| left.why().to_string()).collect::<Vec<_>>(),
            }))?;
            Ok(OK)
        }
        (Ok((link, lists)), Listing::Text) => {
            output::print_foreign(&works(name, &link, &lists, took, language))?;
            Ok(OK)
        }
        (Err(ConnectError { code, why, .. }), Listing::Json) => {
            output::print_json(&json!({
                "ok": false, "code": code.name(), "status": code.status(), "error": why.to_string(),
                "ms": took, "place": configured.place,
            }))?;
            Ok(FAILED)
        }
        (Err(failed), Listing::Text) => Ok(broken(configured, &failed.why.say(language), language)),
    }
}

fn broken(one: &Configured, why: &str, language: Language) -> u8 {
    let name = &one.plugin.name;
    output::say(&language.filled(Word::McpBroken, &[name, &why]));
    let shown = output::one_line(name);
    output::say(&language.filled(Word::McpConfiguredIn, &[&one.place, &shown]));
    FAILED
}

/// The same for a plugin that offers models.
async fn test_models(boot: &Boot, one: &Configured, format: Listing) -> anyhow::Result<u8> {
    let language = boot.language;
    let name = &one.plugin.name;
    let start = Instant::now();
    let models = wiring::plugins::ask_models(boot, one).await;
    let took = start.elapsed().as_millis();
    match (models, format) {
        (Ok(models), Listing::Json) => {
            output::print_json(&json!({"ok": true, "ms": took, "models": models}))?;
            Ok(OK)
        }
        (Ok(models), Listing::Text) => {
            let count = language.counted(models.len(), Word::CountModels);
            let mut out = language.filled(Word::PluginWorks, &[name, &count, &took]);
            out.push('\n');
            for model in models.iter().take(MAX_NAMED) {
                out.push_str(&format!("  {name}/{}\n", model.name));
            }
            output::print_foreign(&out)?;
            Ok(OK)
        }
        (Err(why), Listing::Json) => {
            let error = language.told(&why);
            output::print_json(
                &json!({"ok": false, "error": error, "ms": took, "place": one.place}),
            )?;
            Ok(FAILED)
        }
        (Err(why), Listing::Text) => Ok(broken(one, &language.told(&why), language)),
    }
}

fn works(name: &str, link: &Connection, lists: &Lists, took: u128, language: Language) -> String {
    let about = link.about();
    let mut out = language.filled(
        Word::McpWorks,
        &[
            &name,
            &match about.server.as_str() {
                "" => language.say(Word::McpNameless),
                server => server,
            },
            &about.protocol,
            &took,
        ],
    );
    out.push_str(&format!(
        "{}\n",
        language.counted(lists.tools.len(), Word::ManyTools)
    ));
    for tool in lists.tools.iter().take(MAX_NAMED) {
        let reads = if tool.read_only {
            language.say(Word::McpReads)
        } else {
            ""
        };
        let about = tool.description.lines().next().unwrap_or_default();
        out.push_str(&format!(
            "  {}{reads}  {}\n",
            output::one_line(&tool.name),
            cut_to_width(about, 80)
        ));
    }
    for (count, what) in [
        (lists.prompts.len(), Word::ManyPrompts),
        (lists.resources.len(), Word::ManyResources),
    ] {
        if count > 0 {
            out.push_str(&format!("{}\n", language.counted(count, what)));
        }
    }
    for note in &lists.left_out {
        out.push_str(&language.filled(Word::McpNote, &[&note.why().say(language)]));
    }
    out
}
