//! The description of the API, for programs and as a page.

use super::described;
use crate::App;
use crate::assets;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::Arc;
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{Info, OpenApi};

const ABOUT: &str = "Sessions of `ostler serve`. Entries, deltas, asks, replies, views, snapshots and ops are those of \
     the JSON stream.";

/// This description as OpenAPI 3.1.
#[utoipa::path(get, path = "/api/openapi.json", tag = "docs", responses((status = 200, content_type = "application/json")))]
pub async fn openapi() -> Response {
    super::json_text(described().to_string())
}

/// This description as a page.
#[utoipa::path(get, path = "/api/docs", tag = "docs", responses((status = 200, content_type = "text/html")))]
pub async fn page(State(_): State<Arc<App>>) -> Response {
    let html = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    (html, render(&crate::openapi())).into_response()
}

/// What the routes do not say themselves.
pub fn complete(api: &mut OpenApi) {
    // The library would name its own authors.
    api.info = Info::new("Ostler", env!("CARGO_PKG_VERSION"));
    api.info.description = Some(ABOUT.into());
    let mut components = api.components.take().unwrap_or_default();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    components.add_security_scheme("token", SecurityScheme::Http(bearer));
    let cookie = ApiKey::Cookie(ApiKeyValue::new(crate::auth::COOKIE));
    components.add_security_scheme("login", SecurityScheme::ApiKey(cookie));
    api.components = Some(components);
    let none: [&str; 0] = [];
    api.security = Some(vec![
        SecurityRequirement::new("token", none),
        SecurityRequirement::new("login", none),
    ]);
}

fn render(api: &Value) -> String {
    let style = assets::find("docs.css").map_or("", |file| file.hash);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Ostler API</title>\
         <link rel=\"stylesheet\" href=\"/docs.css?{style}\"></head><body><main><h1>Ostler API</h1><p>{}</p>\
         <p><a href=\"/api/openapi.json\">openapi.json</a></p>\n",
        text_of(&api["info"]["description"])
    );
    let empty = serde_json::Map::new();
    for (path, methods) in api["paths"].as_object().unwrap_or(&empty) {
        for (method, about) in methods.as_object().unwrap_or(&empty) {
            _ = writeln!(
                page,
                "<h2><span class=\"method\">{}</span> <code>{path}</code></h2><p>{}</p><dl>",
                method.to_uppercase(),
                text_of(&about["summary"]),
            );
            for one in about["parameters"].as_array().into_iter().flatten() {
                _ = writeln!(
                    page,
                    "<dt>{} ({})</dt><dd>{}</dd>",
                    escaped(&one["name"]),
                    escaped(&one["in"]),
                    text_of(&one["description"]),
                );
            }
            for (status, answer) in about["responses"].as_object().unwrap_or(&empty) {
                let text = text_of(&answer["description"]);
                _ = writeln!(page, "<dt>{status}</dt><dd>{text}</dd>");
            }
            page.push_str("</dl>\n");
        }
    }
    page.push_str("</main></body></html>\n");
    page
}

fn text_of(text: &Value) -> String {
    marked(text.as_str().unwrap_or_default())
}

fn escaped(text: &Value) -> String {
    escape(text.as_str().unwrap_or_default())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A sentence of ours as HTML: what stands between backticks is code.
pub fn marked(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let part = |(at, part): (usize, &str)| match at % 2 {
        0 => escape(part),
        _ => format!("<code>{}</code>", escape(part)),
    };
    parts.map(part).collect()
}
