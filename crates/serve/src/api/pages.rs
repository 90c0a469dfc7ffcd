//! Everything that is no endpoint: the files of the web client, and its page for addresses of its own.

use super::login;
use crate::App;
use crate::assets::{self, INDEX};
use crate::gate::{From, Scheme};
use crate::problem::{Kind, Problem};
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::response::{IntoResponse as _, Response};
use ostler_wire::Word;
use std::sync::Arc;

pub async fn page(
    State(app): State<Arc<App>>,
    Extension(from): Extension<From>,
    Extension(scheme): Extension<Scheme>,
    request: Request,
) -> Response {
    let language = app.backend.about().language;
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Problem::new(Kind::NotFound, language.say(Word::ServeNothingHere)).into_response();
    }
    let path = request.uri().path().trim_start_matches('/');
    if path.is_empty()
        && let Some(token) = token(request.uri().query().unwrap_or_default())
    {
        return login::by_address(&app, &token, from, scheme);
    }
    let name = if path.is_empty() { INDEX } else { path };
    if let Some(file) = assets::find(name) {
        return file.answer(request.headers());
    }
    let is_view = !path.contains('.') && !path.starts_with("api/") && takes_page(request.headers());
    match assets::find(INDEX).filter(|_| is_view) {
        Some(index) => index.answer(request.headers()),
        None => Problem::new(Kind::NotFound, language.say(Word::ServeNothingHere)).into_response(),
    }
}

pub async fn no_method(State(app): State<Arc<App>>) -> Problem {
    let language = app.backend.about().language;
    Problem::new(Kind::MethodNotAllowed, language.say(Word::ServeNothingHere))
}

fn token(query: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    let (_, token) = pairs.find(|(name, _)| name == "token")?;
    Some(token.into_owned())
}

fn takes_page(headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok());
    accepts.is_some_and(|accepts| accepts.contains("text/html"))
}
