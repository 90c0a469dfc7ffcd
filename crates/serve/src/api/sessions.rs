//! Sessions: list, open, rename, delete, what was said, files, and ops.

use super::schemas::{EntrySchema, OpLineSchema, OpenSchema, ReplySchema, SnapshotSchema};
use super::{MAX_BODY, MAX_OP, invalid, json_text, number, read_json};
use crate::App;
use crate::backend::{Document, Entries, Fault, Listing, Page};
use crate::live::Row;
use crate::live::session::{OpenSession, Outcomes};
use crate::problem::{Kind, Problem, ProblemBody};
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use ostler_wire::{Op, OpLine, Open, Reply, Snapshot, View, Word};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// Rows of a list, and entries of a page, where no limit is given, and at most.
const ROWS: usize = 200;
const MAX_ROWS: usize = 2000;
const ENTRIES: usize = 200;
const MAX_ENTRIES: usize = 2000;
/// Characters of a title.
const MAX_TITLE: usize = 200;
/// Pictures that browsers show as nothing but pictures.
const PICTURES: [(&str, &str); 5] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];

#[derive(Serialize, ToSchema)]
pub struct SessionList {
    sessions: Vec<Row>,
}

#[derive(Deserialize, ToSchema)]
pub struct NewSession {
    project: String,
    /// `"new"`, `"last"`, `{"resume": ID}` or `{"fork": ID}`.
    #[schema(value_type = OpenSchema)]
    open: Open,
}

/// How a session stands.
#[derive(Serialize, ToSchema)]
pub struct Opened {
    id: String,
    project: String,
    /// The number of the last entry; null before the first.
    head: Option<u64>,
    #[schema(value_type = SnapshotSchema)]
    snapshot: Snapshot,
    /// What happened on opening, for the person.
    notes: Vec<String>,
}

#[derive(Deserialize, ToSchema)]
pub struct NewTitle {
    title: String,
}

#[derive(Serialize, ToSchema)]
pub struct Replies {
    #[schema(value_type = Vec<ReplySchema>)]
    replies: Vec<Arc<Reply>>,
}

/// The entries of a page, oldest first. Written as the log has them.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what `entries` writes itself")]
pub struct EntryPage {
    #[schema(value_type = Vec<EntrySchema>)]
    entries: Vec<()>,
    /// Earlier ones exist.
    more: bool,
}

impl Opened {
    fn of(open: &OpenSession) -> Self {
        let standing = open.standing();
        Self {
            id: open.id.clone(),
            project: open.project.clone(),
            head: standing.head,
            snapshot: standing.snapshot,
            notes: open.notes.clone(),
        }
    }
}

/// Sessions, newest first. `q` looks in titles and in what was said.
#[utoipa::path(get, path = "/api/sessions", tag = "sessions",
    params(("project" = Option<String>, Query), ("q" = Option<String>, Query), ("limit" = Option<usize>, Query)),
    responses((status = 200, body = SessionList)))]
pub async fn list(
    State(app): State<Arc<App>>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Json<SessionList>, Problem> {
    let language = app.backend.about().language;
    let limit = number(query.get("limit"), "limit", language)?.unwrap_or(ROWS);
    let wanted = Listing {
        project: query.get("project").filter(|p| !p.is_empty()).cloned(),
        query: query.get("q").cloned().unwrap_or_default(),
        limit: limit.min(MAX_ROWS),
        only: None,
    };
    let sessions = app.live.list(wanted).await?;
    Ok(Json(SessionList { sessions }))
}

/// Opens a session: a new one, one to go on with, or a copy. One that is open already is joined.
#[utoipa::path(post, path = "/api/sessions", tag = "sessions", request_body = NewSession, responses(
    (status = 201, body = Opened), (status = 404, body = ProblemBody)))]
pub async fn open(
    State(app): State<Arc<App>>,
    body: Body,
) -> Result<(StatusCode, Json<Opened>), Problem> {
    let language = app.backend.about().language;
    let NewSession { project, open } = read_json(body, MAX_BODY, language).await?;
    let open = app.live.open(&project, open).await?;
    Ok((StatusCode::CREATED, Json(Opened::of(&open))))
}

/// How a session stands. One that is closed is resumed.
#[utoipa::path(get, path = "/api/sessions/{id}", tag = "sessions", params(("id" = String, Path)), responses(
    (status = 200, body = Opened), (status = 404, body = ProblemBody)))]
pub async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<Opened>, Problem> {
    let open = app.live.get(&id).await?;
    Ok(Json(Opened::of(&open)))
}

/// Gives a session another title.
#[utoipa::path(patch, path = "/api/sessions/{id}", tag = "sessions", params(("id" = String, Path)),
    request_body = NewTitle, responses((status = 204), (status = 404, body = ProblemBody)))]
pub async fn rename(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    body: Body,
) -> Result<StatusCode, Problem> {
    let language = app.backend.about().language;
    let NewTitle { title } = read_json(body, MAX_BODY, language).await?;
    let words: Vec<&str> = title.split_whitespace().collect();
    let title: String = words.join(" ").chars().take(MAX_TITLE).collect();
    if title.is_empty() {
        return Err(invalid("`title` is empty", language));
    }
    let open = app.live.get(&id).await?;
    let line = Op::Command {
        line: format!("title {title}"),
    };
    let outcome = open.send(line.into(), &*app.backend).await?;
    if let Outcomes::Replies(replies) = outcome
        && let Some(View::Error(why)) = replies.first().map(|reply| &reply.view)
    {
        return Err(Problem::new(Kind::Conflict, why.clone()));
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes a session and what lies beside it.
#[utoipa::path(delete, path = "/api/sessions/{id}", tag = "sessions", params(("id" = String, Path)), responses(
    (status = 204), (status = 404, body = ProblemBody), (status = 409, body = ProblemBody)))]
pub async fn delete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    app.live.delete(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What was said before an entry, oldest first: the branch that goes on.
#[utoipa::path(get, path = "/api/sessions/{id}/entries", tag = "sessions",
    params(("id" = String, Path), ("before" = Option<u64>, Query), ("limit" = Option<usize>, Query)),
    responses((status = 200, body = EntryPage), (status = 404, body = ProblemBody)))]
pub async fn entries(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Response, Problem> {
    let language = app.backend.about().language;
    let limit: usize = number(query.get("limit"), "limit", language)?.unwrap_or(ENTRIES);
    let page = Page {
        before: number(query.get("before"), "before", language)?,
        limit: limit.clamp(1, MAX_ENTRIES),
    };
    let found = match app.backend.sessions().entries(&id, page).await {
        // A session without a log, or without an entry so far.
        Err(why) if why.kind == Fault::NotFound && app.live.find(&id).is_some() => {
            Entries::default()
        }
        found => found?,
    };
    let lines: Result<Vec<String>, _> = found.entries.iter().map(|e| e.to_line()).collect();
    let lines = lines.map_err(|e| Problem::new(Kind::Failed, e.to_string()))?;
    let more = found.more;
    let all = lines.join(",");
    Ok(json_text(format!(
        "{{\"entries\":[{all}],\"more\":{more}}}"
    )))
}

/// A session as a file: `jsonl`, `md` or `html`.
#[utoipa::path(get, path = "/api/sessions/{id}/export", tag = "sessions",
    params(("id" = String, Path), ("format" = Option<String>, Query)),
    responses((status = 200, content_type = "application/octet-stream"), (status = 404, body = ProblemBody)))]
pub async fn export(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Response, Problem> {
    let language = app.backend.about().language;
    let format = query.get("format").map_or("md", String::as_str);
    let (which, media) = match format {
        "jsonl" => (Document::Log, "application/jsonl; charset=utf-8"),
        "md" => (Document::Markdown, "text/markdown; charset=utf-8"),
        "html" => (Document::Html, "text/html; charset=utf-8"),
        other => return Err(invalid(&format!("no format `{other}`"), language)),
    };
    let bytes = app.backend.sessions().document(&id, which).await?;
    let short = id.get(..8).unwrap_or(&id);
    Ok(file(
        bytes,
        media,
        &format!("attachment; filename=\"ostler-{short}.{format}\""),
    ))
}

/// A file that a session has kept, such as a whole output that was cut, or the log of a job; `tail` gives its last bytes.
#[utoipa::path(get, path = "/api/sessions/{id}/artifacts/{name}", tag = "sessions",
    params(("id" = String, Path), ("name" = String, Path), ("tail" = Option<u64>, Query)),
    responses((status = 200, content_type = "application/octet-stream"), (status = 404, body = ProblemBody)))]
pub async fn artifact(
    State(app): State<Arc<App>>,
    Path((id, name)): Path<(String, String)>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Response, Problem> {
    let language = app.backend.about().language;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        let why = language.say(Word::ServeNothingHere);
        return Err(Problem::new(Kind::NotFound, why));
    }
    let which = Document::Artifact {
        name: name.clone(),
        tail: number(query.get("tail"), "tail", language)?,
    };
    let bytes = app.backend.sessions().document(&id, which).await?;
    let extension = name.rsplit('.').next().unwrap_or_default();
    let picture = PICTURES.iter().find(|(known, _)| *known == extension);
    Ok(match picture {
        Some((_, media)) => file(bytes, media, "inline"),
        None => file(
            bytes,
            "application/octet-stream",
            &format!("attachment; filename=\"{name}\""),
        ),
    })
}

/// Sends an op, as a line of `--input-format stream-json`. The replies to a command are waited for.
#[utoipa::path(post, path = "/api/sessions/{id}/ops", tag = "sessions", params(("id" = String, Path)),
    request_body(content = OpLineSchema, content_type = "application/json"), responses(
    (status = 200, body = Replies), (status = 202, description = "it was sent"),
    (status = 410, body = ProblemBody)))]
pub async fn op(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, Problem> {
    let language = app.backend.about().language;
    let line: OpLine = read_json(body, MAX_OP, language).await?;
    let open = app.live.get(&id).await?;
    Ok(match open.send(line, &*app.backend).await? {
        Outcomes::Replies(replies) => Json(Replies { replies }).into_response(),
        Outcomes::Sent => (StatusCode::ACCEPTED, json_text("{}".into())).into_response(),
    })
}

fn file(bytes: Vec<u8>, media: &'static str, disposition: &str) -> Response {
    let mut response = Body::from(bytes).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    if let Ok(disposition) = HeaderValue::from_str(disposition) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    response
}
