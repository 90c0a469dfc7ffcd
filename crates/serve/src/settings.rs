//! How the server is set up: who may come in, and by which names it is known.

use crate::auth::fingerprint;
use std::net::SocketAddr;
use std::sync::Arc;

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

/// A browser that is logged in, as it is kept over a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptLogin {
    /// The digest of its cookie, which does not lead back to it.
    pub key: String,
    /// When it was here last, in seconds since 1970.
    pub used: u64,
}

/// Where logins outlive the server.
pub trait KeptLogins: Send + Sync {
    fn read(&self) -> Vec<KeptLogin>;
    fn put(&self, login: KeptLogin);
    /// Ends these, by their keys.
    fn remove(&self, keys: &[String]);
}

impl Auth {
    /// What tells this token or password from another one, and does not lead back to it.
    pub fn fingerprint(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Token(Token(token)) => fingerprint(token),
            Self::Password { hash, .. } => fingerprint(hash),
        }
    }
}

#[derive(Clone)]
pub struct Settings {
    pub auth: Auth,
    /// Where the server listens.
    pub address: SocketAddr,
    /// Further names that it may be called by.
    pub hosts: Vec<String>,
    pub proxy: Proxy,
    /// None: logins end with the server.
    pub logins: Option<Arc<dyn KeptLogins>>,
}
