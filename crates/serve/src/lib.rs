//! Sessions over HTTP: a front end on clients of `wire`, for browsers and programs. What is behind it is a `Backend`, which
//! the binary implements; this crate opens no file and knows no engine.

mod api;
mod assets;
mod auth;
pub mod backend;
mod gate;
mod live;
mod net;
mod problem;
pub mod settings;
mod stream;

pub use auth::{fingerprint, random_key};

use auth::Access;
use backend::Backend;
use live::Live;
use settings::Settings;
use std::sync::Arc;
use stream::Streams;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// What every request gets.
pub(crate) struct App {
    backend: Arc<dyn Backend>,
    settings: Settings,
    access: Access,
    live: Arc<Live>,
    streams: Streams,
    stop: CancellationToken,
}

/// Serves until `stop`. The listener has the address of the settings.
pub async fn serve(
    listener: TcpListener,
    settings: Settings,
    backend: Arc<dyn Backend>,
    stop: CancellationToken,
) {
    let app = Arc::new(App {
        live: Live::new(backend.clone()),
        access: Access::new(settings.auth.clone(), settings.logins.clone()),
        streams: Streams::default(),
        backend,
        settings,
        stop: stop.clone(),
    });
    net::serve(listener, api::router(app), stop).await;
}

/// The description of the API, as it is served.
pub fn openapi() -> serde_json::Value {
    api::described()
}

/// Whether this can be the hash of a password.
pub fn is_password_hash(text: &str) -> bool {
    text.parse::<bcrypt::HashParts>().is_ok()
}

/// The hash that is kept in place of a password. None where it is longer than is looked at, or empty.
pub fn hash_password(password: &str) -> Option<String> {
    if password.is_empty() || password.len() > auth::MAX_PASSWORD {
        return None;
    }
    bcrypt::non_truncating_hash(password, bcrypt::DEFAULT_COST).ok()
}
