//! A bare axum server: what is posted goes to everybody who listens. What it takes is what the machine and the library cost.

use anyhow::Context as _;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::{get, post};
use std::convert::Infallible;
use std::io::Read as _;
use tokio::net::TcpListener;
use tokio::sync::broadcast;

/// The hidden command that is this server.
pub const ECHO: &str = "__echo";
const RING: usize = 512;

/// Says where it is, and goes on until its input ends.
pub fn run() -> anyhow::Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        println!("{}", listener.local_addr()?);
        let routes = Router::new()
            .route("/events", get(events))
            .route("/say", post(say));
        let routes = routes.with_state(broadcast::Sender::<String>::new(RING));
        let input = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        tokio::select! {
            served = axum::serve(listener, routes) => served.context("the echo ended"),
            _ = input => Ok(()),
        }
    })?;
    Ok(true)
}

async fn events(State(sender): State<broadcast::Sender<String>>) -> Body {
    let stream = futures_util::stream::unfold(sender.subscribe(), |mut heard| async move {
        let text = heard.recv().await.ok()?;
        Some((
            Ok::<_, Infallible>(format!("id: 1\ndata: {text}\n\n")),
            heard,
        ))
    });
    Body::from_stream(stream)
}

async fn say(State(sender): State<broadcast::Sender<String>>, body: String) {
    // Nobody may listen yet.
    let _ = sender.send(body);
}
