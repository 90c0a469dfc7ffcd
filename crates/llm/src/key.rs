//! Where a request's key comes from: a fixed value, or a source that is asked before each request. What stands behind a
//! source is not known here.

use crate::{Error, Secret};
use ostler_wire::{Why, Word};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// The key of a target.
#[derive(Clone)]
pub enum Key {
    Fixed(Secret),
    Source(Arc<dyn KeySource>),
}

pub type KeyFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A key that changes while we run.
pub trait KeySource: Send + Sync {
    /// The key for the next request.
    fn current(&self) -> KeyFuture<'_, Secret>;

    /// The endpoint did not accept this key. Another one to try once, if there is one.
    fn refused<'a>(&'a self, key: &'a Secret) -> KeyFuture<'a, Option<Secret>>;

    /// What a person can do when no key is accepted, like "Run `…`".
    fn remedy(&self) -> Why;

    /// What it is, for people; never its value.
    fn name(&self) -> String;
}

impl Key {
    /// The key for the next request.
    pub async fn current(&self) -> Result<Secret, Error> {
        match self {
            Key::Fixed(secret) => Ok(secret.clone()),
            Key::Source(source) => source.current().await,
        }
    }

    /// Another key in place of one that was not accepted.
    pub(crate) async fn instead_of(&self, key: &Secret) -> Result<Option<Secret>, Error> {
        match self {
            Key::Fixed(_) => Ok(None),
            Key::Source(source) => source.refused(key).await,
        }
    }

    /// Where it comes from, for people.
    pub fn source(&self) -> String {
        match self {
            Key::Fixed(secret) => secret.source().to_owned(),
            Key::Source(source) => source.name(),
        }
    }

    pub(crate) fn remedy(&self) -> Why {
        match self {
            Key::Fixed(_) => Word::LlmCheckKey.into(),
            Key::Source(source) => source.remedy(),
        }
    }
}

impl From<Secret> for Key {
    fn from(secret: Secret) -> Self {
        Key::Fixed(secret)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Key::Fixed(_) => "Key::Fixed(…)",
            Key::Source(_) => "Key::Source(…)",
        })
    }
}
