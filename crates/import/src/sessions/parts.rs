//! A database of sessions, messages and their parts. It is read from a copy: opening it where it lies could write beside it.

use super::time;
use crate::agents::SessionForm;
use crate::conversation::{Builder, Conversation, Piece, ResultFacts};
use crate::sessions::SessionRef;
use ostler_wire::{Origin, Why, Word};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::io::Read as _;
use std::path::Path;

/// Bytes of a database with what was not merged into it yet.
const MAX_DATABASE: u64 = 2 << 30;
/// Bytes of the content of one row.
const MAX_ROW: usize = 64 << 20;
/// Sessions of one database.
const MAX_SESSIONS: u32 = 20_000;

/// A copy of a database, which is gone with it.
pub struct Copy {
    pub connection: Connection,
    _folder: tempfile::TempDir,
}

impl Copy {
    pub fn of(path: &Path) -> Result<Self, Why> {
        let folder = tempfile::tempdir().map_err(|e| Why::from(&e))?;
        let to = folder.path().join("copy.db");
        copy(path, &to)?;
        let log = beside(path, "-wal");
        if log.is_file() {
            copy(&log, &beside(&to, "-wal"))?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&to, flags).map_err(unreadable)?;
        Ok(Self {
            connection,
            _folder: folder,
        })
    }
}

fn beside(path: &Path, ending: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn copy(from: &Path, to: &Path) -> Result<(), Why> {
    let file = super::lines::open(from)?;
    let length = file.metadata().map_err(|e| Why::from(&e))?.len();
    if length > MAX_DATABASE {
        return Err(Word::ImportTooLarge.into());
    }
    let mut options = ostler_files::private_options();
    let made = options.write(true).create_new(true).open(to);
    let mut made = made.map_err(|e| Why::from(&e))?;
    let copied = std::io::copy(&mut file.take(MAX_DATABASE), &mut made);
    copied.map(drop).map_err(|e| Why::from(&e))
}

pub fn unreadable(error: rusqlite::Error) -> Why {
    Why::ours(Word::ImportDatabase, [error.to_string().into()])
}

pub fn list(path: &Path) -> Result<Vec<SessionRef>, Why> {
    let copy = Copy::of(path)?;
    let query = "SELECT s.id, s.title, s.directory, s.time_updated, \
        (SELECT coalesce(sum(length(p.data)), 0) FROM part p WHERE p.session_id = s.id) \
        FROM session s WHERE s.parent_id IS NULL ORDER BY s.time_updated DESC LIMIT ?1";
    let mut statement = copy.connection.prepare(query).map_err(unreadable)?;
    let rows = statement.query_map([MAX_SESSIONS], |row| {
        let updated: i64 = row.get(3)?;
        let bytes: i64 = row.get(4)?;
        let folder: String = row.get(2)?;
        Ok(SessionRef {
            id: row.get(0)?,
            path: path.to_owned(),
            form: SessionForm::Parts,
            bytes: bytes.try_into().unwrap_or_default(),
            updated: time(&updated.into()),
            title: row.get(1)?,
            root: super::path_of(&folder.into()),
        })
    });
    let rows = rows.map_err(unreadable)?;
    rows.collect::<Result<_, _>>().map_err(unreadable)
}

pub fn read(copy: &Copy, id: &str) -> Result<Conversation, Why> {
    let db = &copy.connection;
    let mut builder = Builder::default();
    let conversation = &mut builder.conversation;
    let found = db.query_row(
        "SELECT title, directory, version FROM session WHERE id = ?1",
        [id],
        |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, String>(2)?,
            ))
        },
    );
    let (title, folder, version) = found.map_err(unreadable)?;
    conversation.id = id.to_owned();
    conversation.title = Some(title).filter(|title| !title.is_empty());
    conversation.root = super::path_of(&folder.into());
    conversation.version = version;
    let query = "SELECT m.id, m.time_created, m.data, p.data FROM message m \
        LEFT JOIN part p ON p.message_id = m.id \
        WHERE m.session_id = ?1 ORDER BY m.time_created, m.id, p.id";
    let mut statement = db.prepare(query).map_err(unreadable)?;
    let mut rows = statement.query([id]).map_err(unreadable)?;
    let mut waiting: Vec<(String, ResultFacts)> = Vec::new();
    let mut last = String::new();
    while let Some(row) = rows.next().map_err(unreadable)? {
        let message: String = row.get(0).map_err(unreadable)?;
        let created: i64 = row.get(1).map_err(unreadable)?;
        let [about, part] = [2, 3].map(|at| {
            let text: Option<String> = row.get(at).unwrap_or_default();
            let text = text
                .filter(|text| text.len() <= MAX_ROW)
                .unwrap_or_default();
            serde_json::from_str::<Value>(&text).unwrap_or_default()
        });
        if message != last {
            // The calls of an answer stand together; their results come behind it.
            waiting
                .drain(..)
                .for_each(|(ts, facts)| builder.result(&ts, facts));
            last = message;
        }
        let ts = time(&created.into());
        one(&ts, (&about, &part), &mut builder, &mut waiting);
    }
    waiting
        .drain(..)
        .for_each(|(ts, facts)| builder.result(&ts, facts));
    Ok(builder.done())
}

fn one(
    ts: &str,
    (about, part): (&Value, &Value),
    builder: &mut Builder,
    waiting: &mut Vec<(String, ResultFacts)>,
) {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let is_person = about["role"] == "user";
    let model = about["modelID"].as_str().map(|model| Origin {
        provider: text(about, "providerID"),
        model: model.to_owned(),
    });
    match part["type"].as_str() {
        Some("text") if is_person && part["synthetic"] != true => {
            builder.said(ts, &text(part, "text"), Vec::new());
        }
        Some("text") if !is_person => {
            builder.piece(ts, Piece::Text(text(part, "text")), model.as_ref())
        }
        Some("reasoning") => {
            builder.piece(ts, Piece::Reasoning(text(part, "text")), model.as_ref())
        }
        Some("tool") => {
            let state = &part["state"];
            let call = Piece::Call {
                id: text(part, "callID"),
                name: text(part, "tool"),
                input: state["input"].clone(),
            };
            builder.piece(ts, call, model.as_ref());
            let status = state["status"].as_str().unwrap_or_default();
            if matches!(status, "completed" | "error") {
                let said = if status == "error" {
                    text(state, "error")
                } else {
                    text(state, "output")
                };
                let display = &state["metadata"]["display"];
                waiting.push((
                    time(&state["time"]["end"]),
                    ResultFacts {
                        call: text(part, "callID"),
                        text: said,
                        failed: status == "error",
                        exit: state["metadata"]["exit"].as_i64(),
                        content: display["text"].as_str().map(str::to_owned),
                        diff: state["metadata"]["diff"].as_str().map(str::to_owned),
                    },
                ));
            }
        }
        Some(_) | None => {}
    }
}
