//! How the server is set up: who may come in, and by which names it is known.

use std::net::SocketAddr;

/// How a client shows who it is.
#[derive(Clone, Debug)]
pub enum Auth {
    /// Not at all. Only for a loopback address.
    None,
    Token(Token),
    Password {
        /// In the format of bcrypt.
        hash: String,
        /// Lets programs in.
        token: Option<Token>,
    },
}

/// A key. It is never shown by `Debug`.
#[derive(Clone)]
pub struct Token(pub String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proxy {
    /// Clients connect themselves.
    #[default]
    None,
    /// One stands in front of us: its word on host, scheme and client counts.
    Trusted,
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub auth: Auth,
    /// Where the server listens.
    pub address: SocketAddr,
    /// Further names that it may be called by.
    pub hosts: Vec<String>,
    pub proxy: Proxy,
}
