//! The endpoints. Each is declared once: what routes requests to it also describes it in `/api/openapi.json`.

mod docs;
mod login;
mod pages;
mod projects;
mod schemas;
mod sessions;
mod streams;

use crate::App;
use crate::gate;
use crate::problem::{Kind, Problem};
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Router, middleware};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use ostler_wire::{Language, Word};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate as _, SizeAbove};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Bytes of the body of an op, which may have pictures.
const MAX_OP: usize = 64 << 20;
/// Bytes of any other body.
const MAX_BODY: usize = 64 << 10;
/// For the next piece of a body.
const PIECE_TIME: Duration = Duration::from_secs(10);
/// Answers below this are not worth packing.
const MIN_PACKED: u16 = 1024;

fn endpoints() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(login::me))
        .routes(routes!(login::page, login::log_in))
        .routes(routes!(login::log_out))
        .routes(routes!(projects::list, projects::add))
        .routes(routes!(projects::remove))
        .routes(routes!(projects::command))
        .routes(routes!(projects::files))
        .routes(routes!(projects::questions))
        .routes(routes!(projects::answer))
        .routes(routes!(projects::usage))
        .routes(routes!(sessions::list, sessions::open))
        .routes(routes!(sessions::show, sessions::rename, sessions::delete))
        .routes(routes!(sessions::entries))
        .routes(routes!(sessions::export))
        .routes(routes!(sessions::artifact))
        .routes(routes!(sessions::op))
        .routes(routes!(streams::session))
        .routes(routes!(streams::all))
        .routes(routes!(streams::change))
        .routes(routes!(docs::openapi))
        .routes(routes!(docs::page))
}

/// The description of the API.
pub fn described() -> Value {
    let mut described = endpoints().into_openapi();
    docs::complete(&mut described);
    let mut described = serde_json::to_value(described).unwrap_or_default();
    let place = described.pointer_mut("/components/schemas");
    if let Some(Value::Object(known)) = place {
        known.extend(schemas::all());
    }
    described
}

pub fn router(app: Arc<App>) -> Router {
    let (router, _) = endpoints().split_for_parts();
    let packing = SizeAbove::new(MIN_PACKED)
        .and(NotForContentType::SSE)
        .and(NotForContentType::const_new("application/octet-stream"))
        .and(NotForContentType::IMAGES);
    router
        .fallback(pages::page)
        .method_not_allowed_fallback(pages::no_method)
        .layer(CompressionLayer::new().compress_when(packing))
        .layer(middleware::from_fn_with_state(app.clone(), gate::pass))
        .with_state(app)
}

/// A body that comes in time and is not too long.
async fn read(body: Body, most: usize, language: Language) -> Result<Bytes, Problem> {
    let too_large = || {
        let most = format!("{} KiB", most >> 10);
        Problem::new(Kind::TooLarge, language.fill(Word::ServeTooLarge, &[&most]))
    };
    if http_body::Body::size_hint(&body).lower() > most as u64 {
        return Err(too_large());
    }
    let mut pieces = body.into_data_stream();
    let mut all = BytesMut::new();
    loop {
        let piece = tokio::time::timeout(PIECE_TIME, pieces.next()).await;
        let slow = |_| Problem::new(Kind::Timeout, language.say(Word::ServeSlow));
        let Some(piece) = piece.map_err(slow)? else {
            return Ok(all.freeze());
        };
        let broken = |e: axum::Error| Problem::new(Kind::InvalidInput, e.to_string());
        let piece = piece.map_err(broken)?;
        if all.len() + piece.len() > most {
            return Err(too_large());
        }
        all.extend_from_slice(&piece);
    }
}

async fn read_json<T: DeserializeOwned>(
    body: Body,
    most: usize,
    language: Language,
) -> Result<T, Problem> {
    let bytes = read(body, most, language).await?;
    serde_json::from_slice(&bytes).map_err(|e| invalid(&e.to_string(), language))
}

fn invalid(why: &str, language: Language) -> Problem {
    Problem::new(
        Kind::InvalidInput,
        language.fill(Word::ServeInvalid, &[why]),
    )
}

/// An answer whose text is JSON already.
fn json_text(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// A number of the query, where there is one.
fn number<T: std::str::FromStr>(
    text: Option<&String>,
    name: &str,
    language: Language,
) -> Result<Option<T>, Problem> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let bad = |_| invalid(&format!("`{name}` is no number"), language);
    text.parse().map(Some).map_err(bad)
}
