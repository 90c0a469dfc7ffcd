//! A database of sessions and messages whose content is a list of requests and responses, as its documentation has it.

use super::parts::{Copy, unreadable};
use super::{Context, chat, path_of, time};
use crate::agents::SessionForm;
use crate::conversation::{Builder, Conversation};
use crate::sessions::SessionRef;
use ostler_wire::Why;
use serde_json::{Value, json};
use std::path::Path;

/// Sessions of one database.
const MAX_SESSIONS: u32 = 20_000;

pub fn list(path: &Path) -> Result<Vec<SessionRef>, Why> {
    let copy = Copy::of(path)?;
    let query = "SELECT id, coalesce(description, ''), coalesce(working_dir, ''), updated_at \
        FROM sessions ORDER BY updated_at DESC LIMIT ?1";
    let mut statement = copy.connection.prepare(query).map_err(unreadable)?;
    let rows = statement.query_map([MAX_SESSIONS], |row| {
        let folder: String = row.get(2)?;
        let updated: String = row.get(3).unwrap_or_default();
        Ok(SessionRef {
            id: row.get(0)?,
            path: path.to_owned(),
            form: SessionForm::Requests,
            bytes: 0,
            updated: time(&updated.replacen(' ', "T", 1).into()),
            title: row.get(1)?,
            root: path_of(&folder.into()),
        })
    });
    let rows = rows.map_err(unreadable)?;
    rows.collect::<Result<_, _>>().map_err(unreadable)
}

pub fn read(copy: &Copy, context: &Context<'_>, id: &str) -> Result<Conversation, Why> {
    let db = &copy.connection;
    let mut builder = Builder::default();
    let found = db.query_row(
        "SELECT coalesce(description, ''), coalesce(working_dir, '') FROM sessions WHERE id = ?1",
        [id],
        |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)),
    );
    let (title, folder) = found.map_err(unreadable)?;
    builder.conversation.id = id.to_owned();
    builder.conversation.title = Some(title).filter(|title| !title.is_empty());
    builder.conversation.root = path_of(&folder.into());
    let query = "SELECT role, content_json, created_timestamp FROM messages \
        WHERE session_id = ?1 ORDER BY created_timestamp, id";
    let mut statement = db.prepare(query).map_err(unreadable)?;
    let mut rows = statement.query([id]).map_err(unreadable)?;
    while let Some(row) = rows.next().map_err(unreadable)? {
        let role: String = row.get(0).map_err(unreadable)?;
        let content: String = row.get(1).map_err(unreadable)?;
        let created: i64 = row.get(2).unwrap_or_default();
        let content: Value = serde_json::from_str(&content).unwrap_or_default();
        let message = json!({"role": role, "content": content, "created": created});
        chat::message(&message, context, &mut builder);
    }
    Ok(builder.done())
}
