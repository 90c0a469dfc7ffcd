//! The person's own list of MCP servers.

use crate::boot::Boot;
use crate::cmd::mcp::{change, path_of, read};
use crate::flags::McpScope;
use anyhow::anyhow;
use ostler_config::text::Speak as _;
use ostler_wire::Word;
use serde_json::{Map, Value};

/// None where it cannot be read: then nothing can be added to it either.
pub fn servers(boot: &Boot) -> Map<String, Value> {
    let file = read(boot, &path_of(boot, McpScope::User));
    file.map(|file| file.servers).unwrap_or_default()
}

/// Adds a server, unless one of its name is there. Where the list lies.
pub fn add(boot: &Boot, name: &str, entry: &Value) -> anyhow::Result<String> {
    let language = boot.language;
    let path = path_of(boot, McpScope::User);
    change(boot, &path, |file| {
        if file.servers.contains_key(name) {
            return Err(anyhow!(language.filled(Word::McpExists, &[&name, &name])));
        }
        file.servers.insert(name.to_owned(), entry.clone());
        Ok(())
    })?;
    Ok(boot.places.shown(&path))
}
