//! `ostler serve` from outside: the real binary, a scripted vendor, and a client that says what no browser would.

#![cfg(unix)]

#[path = "serve/access.rs"]
mod access;
#[path = "serve/attach.rs"]
mod attach;
#[path = "serve/bench.rs"]
mod bench;
mod common;
#[path = "serve/examples.rs"]
mod examples;
#[path = "serve/http.rs"]
mod http;
#[path = "serve/reach.rs"]
mod reach;
#[path = "serve/schemas.rs"]
mod schemas;
#[path = "serve/sessions.rs"]
mod sessions;
#[path = "serve/streams.rs"]
mod streams;
