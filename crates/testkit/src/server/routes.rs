//! Everything that is no model endpoint: the test's own routes, model lists, token counts.

use super::fault::Played;
use super::http::{Wire, pair};
use super::reply::CREATED;
use super::state::{State, lock, tokens};
use crate::captured::Captured;
use serde_json::{Value, json};
use std::io;
use std::net::TcpStream;

#[derive(Clone)]
pub(super) struct Route {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl State {
    pub(super) fn other(&self, request: Captured, sock: &TcpStream) -> io::Result<Played> {
        let path = request.path.clone();
        let bare = path.split('?').next().unwrap_or_default();
        let found = {
            let mut log = lock(&self.log);
            log.others.push(request.clone());
            let routes = &log.routes;
            routes.get(&path).or_else(|| routes.get(bare)).cloned()
        };
        self.changed.notify_all();
        let route = found.unwrap_or_else(|| match built_in(&request, bare, &self.options.models) {
            Some(body) => json_route(200, &body),
            None => json_route(
                404,
                &json!({"error": {"message": format!("no route {path}")}}),
            ),
        });
        let typed = route.headers.iter().find(|(k, _)| k == "content-type");
        let content_type = typed.map_or("text/plain; charset=utf-8", |(_, v)| v.as_str());
        let rest: Vec<_> = route
            .headers
            .iter()
            .filter(|(k, _)| k != "content-type")
            .cloned()
            .collect();
        let mut wire = Wire::new(sock);
        if request.method == "HEAD" {
            wire.fixed_head(route.status, content_type, &rest, route.body.len())?;
            wire.done()?;
        } else {
            wire.fixed(route.status, content_type, &rest, &route.body)?;
        }
        Ok(Played::Whole)
    }
}

/// Model lists and token counts, in the shape of whoever asks.
fn built_in(request: &Captured, path: &str, models: &[String]) -> Option<Value> {
    let list = |each: fn(&String) -> Value| models.iter().map(each).collect::<Vec<_>>();
    let counted = tokens(request.raw.len());
    if path.ends_with("/count_tokens") {
        Some(json!({ "input_tokens": counted }))
    } else if path.ends_with(":countTokens") {
        Some(json!({ "totalTokens": counted }))
    } else if !path.ends_with("/models") {
        None
    } else if path.contains("/v1beta/") {
        let models = list(|m| {
            json!({"name": format!("models/{m}"), "displayName": m, "inputTokenLimit": 1_000_000,
                "outputTokenLimit": 65_536, "supportedGenerationMethods": ["generateContent"]})
        });
        Some(json!({ "models": models }))
    } else if request.header("anthropic-version").is_some() {
        let data = list(|m| {
            json!({"type": "model", "id": m, "display_name": m,
                "created_at": "2026-01-01T00:00:00Z"})
        });
        let (first, last) = (models.first(), models.last());
        Some(json!({"data": data, "has_more": false, "first_id": first, "last_id": last}))
    } else {
        let data = list(|m| {
            json!({"id": m, "object": "model", "created": CREATED,
            "owned_by": "mock"})
        });
        Some(json!({"object": "list", "data": data}))
    }
}

fn json_route(status: u16, body: &Value) -> Route {
    Route {
        status,
        headers: vec![pair("content-type", "application/json")],
        body: body.to_string().into_bytes(),
    }
}
