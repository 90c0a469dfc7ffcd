//! Event streams: of one session, and of all that a browser shows.

use super::schemas::{EventSchema, MessageSchema};
use super::{MAX_BODY, invalid, number, read_json};
use crate::App;
use crate::auth::Caller;
use crate::problem::{Problem, ProblemBody};
use crate::stream::{self, Wanted};
use axum::body::Body;
use axum::extract::{Extension, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use ostler_wire::Language;
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// Characters of the key of a stream.
const KEY: std::ops::RangeInclusive<usize> = 8..=64;

#[derive(Deserialize, ToSchema)]
pub struct Change {
    #[serde(default)]
    add: Vec<Added>,
    /// By their ids.
    #[serde(default)]
    remove: Vec<String>,
}

#[derive(Deserialize, ToSchema)]
pub struct Added {
    session: String,
    /// The last entry that the client has; all entries where it has none.
    after: Option<u64>,
}

/// What happens in one session: entries, deltas, asks and replies. `Last-Event-ID` counts like `after`.
#[utoipa::path(get, path = "/api/sessions/{id}/events", tag = "events",
    params(("id" = String, Path), ("after" = Option<u64>, Query)),
    responses((status = 200, body = EventSchema, content_type = "text/event-stream"), (status = 404, body = ProblemBody)))]
pub async fn session(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Query(query): Query<HashMap<String, String>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let language = app.backend.about().language;
    let seen = headers.get("last-event-id").and_then(|v| v.to_str().ok());
    // After a break the browser knows better than the address that it began with.
    let after = match seen.and_then(|seen| seen.parse().ok()) {
        Some(seen) => Some(seen),
        None => number(query.get("after"), "after", language)?,
    };
    let open = app.live.get(&id).await?;
    Ok(stream::single(&app, open, after, &caller.login()).await)
}

/// One stream for all sessions that a browser shows. The client chooses the key, and changes by it what is carried.
#[utoipa::path(get, path = "/api/events", tag = "events",
    params(("stream" = String, Query), ("want" = Option<String>, Query, description = "`ID:N,ID:N`, N the last entry known")),
    responses((status = 200, body = MessageSchema, content_type = "text/event-stream"), (status = 400, body = ProblemBody)))]
pub async fn all(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Response, Problem> {
    let language = app.backend.about().language;
    let key = query.get("stream").cloned().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !KEY.contains(&key.len()) || !key.chars().all(is_plain) {
        return Err(invalid(
            "`stream` is no key of 8 to 64 letters, digits, - and _",
            language,
        ));
    }
    let wanted = query.get("want").map_or("", String::as_str);
    let wanted: Result<Vec<Wanted>, Problem> = wanted
        .split(',')
        .filter(|one| !one.is_empty())
        .map(|one| of_text(one, language))
        .collect();
    app.streams.begin(&app, key, wanted?, &caller.login())
}

/// Changes which sessions a stream carries. One that is added again begins anew after the entry.
#[utoipa::path(post, path = "/api/events/{stream}", tag = "events", params(("stream" = String, Path)),
    request_body = Change, responses((status = 204), (status = 404, body = ProblemBody)))]
pub async fn change(
    State(app): State<Arc<App>>,
    Path(key): Path<String>,
    body: Body,
) -> Result<StatusCode, Problem> {
    let language = app.backend.about().language;
    let Change { add, remove } = read_json(body, MAX_BODY, language).await?;
    let add = add
        .into_iter()
        .map(|Added { session, after }| Wanted { session, after });
    app.streams.change(&app, &key, (add.collect(), remove))?;
    Ok(StatusCode::NO_CONTENT)
}

/// `ID:N`, or `ID` or `ID:` for all entries.
fn of_text(text: &str, language: Language) -> Result<Wanted, Problem> {
    let (session, after) = text.split_once(':').unwrap_or((text, ""));
    Ok(Wanted {
        session: session.to_owned(),
        after: number(Some(&after.to_owned()), "want", language)?,
    })
}
