//! When a provider is used with a login: after its keys, and only at the origin that the login was for.

use super::super::keys::{Key, KeyError};
use super::super::providers::{Address, Provider};
use super::super::schema::AuthKind;
use super::super::tree::Layer;
use super::{ResolveError, Resolver, origin};
use crate::oauth::preset;
use crate::text::phrase;
use ostler_llm::Secret;
use ostler_wire::{Why, Word};

/// A login that requests can be sent with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsableLogin {
    /// Where it may be sent.
    pub origin: String,
    /// For people: "login of 2026-11-15".
    pub name: Why,
    /// Needed to renew it, at some issuers.
    pub client_secret: Option<Secret>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginError {
    Missing {
        provider: String,
    },
    Elsewhere {
        provider: String,
        bound: String,
        now: String,
        todo: Why,
    },
    NoIssuer {
        provider: String,
    },
    Store(Why),
}

impl From<&LoginError> for Why {
    fn from(error: &LoginError) -> Self {
        match error {
            LoginError::Missing { provider } => phrase(Word::ModelNoLogin, &[provider, provider]),
            LoginError::Elsewhere {
                provider,
                bound,
                now,
                todo,
            } => phrase(Word::ModelLoginElsewhere, &[provider, bound, now, todo]),
            LoginError::NoIssuer { provider } => phrase(Word::ModelNoOauth, &[provider]),
            LoginError::Store(why) => why.clone(),
        }
    }
}

ostler_wire::told_by_why!(LoginError);

impl Resolver<'_> {
    /// The login of a provider, for `doctor` and `auth status`. None when it takes none.
    pub fn login(&self, provider: &Provider) -> Option<Result<UsableLogin, LoginError>> {
        let name = &provider.config.name;
        if provider.config.oauth.is_none() {
            // One that was made by a preset is used; none is asked for.
            if let Some(login) = self.preset_login(provider) {
                return Some(Ok(login));
            }
            let wants_one = provider.config.auth == Some(AuthKind::Login);
            return wants_one.then(|| {
                Err(LoginError::NoIssuer {
                    provider: name.clone(),
                })
            });
        }
        Some(match provider.address(self.env) {
            Ok(Some(address)) => self.login_at(provider, &address),
            Ok(None) | Err(_) => Err(LoginError::Missing {
                provider: name.clone(),
            }),
        })
    }

    fn preset_login(&self, provider: &Provider) -> Option<UsableLogin> {
        let address = provider.address(self.env).ok()??;
        let origin = address.url.origin().ascii_serialization();
        preset(&provider.config.name, &origin)?;
        self.login_at(provider, &address).ok()
    }

    /// What requests are sent with: a key, else a login, else nothing where nothing is needed.
    pub(super) fn credentials(
        &self,
        provider: &Provider,
    ) -> Result<(Option<Key>, Option<UsableLogin>), ResolveError> {
        let login = || {
            self.login(provider)
                .transpose()
                .map_err(ResolveError::Login)
        };
        if provider.config.auth == Some(AuthKind::Login) {
            return Ok((None, login()?));
        }
        match self.key(provider) {
            Ok(Some(key)) => Ok((Some(key), None)),
            Ok(None) => Ok((None, login()?)),
            Err(error @ KeyError::Missing { .. }) => match login()? {
                Some(login) => Ok((None, Some(login))),
                None => Err(ResolveError::Key(error)),
            },
            Err(error @ (KeyError::File { .. } | KeyError::Unsendable { .. })) => {
                Err(ResolveError::KeySource(error))
            }
        }
    }

    fn login_at(&self, provider: &Provider, address: &Address) -> Result<UsableLogin, LoginError> {
        let name = &provider.config.name;
        let all = self.logins.all();
        let mut own = all.map_err(|error| LoginError::Store((&error).into()))?;
        own.retain(|login| login.provider == *name);
        let now = origin(&address.url);
        match own.iter().find(|login| login.origin == now) {
            Some(login) => Ok(UsableLogin {
                name: login.name(),
                origin: now,
                client_secret: provider
                    .config
                    .oauth
                    .as_ref()
                    .and_then(|oauth| oauth.client_secret.as_deref().map(Secret::new)),
            }),
            None => Err(match own.first() {
                Some(other) => LoginError::Elsewhere {
                    provider: name.clone(),
                    bound: other.origin.clone(),
                    todo: match provider.layer {
                        Layer::Project => Why::from(Word::ModelByProject),
                        Layer::Default
                        | Layer::User
                        | Layer::Local
                        | Layer::Environment
                        | Layer::Flag => phrase(Word::ModelLoginFor, &[&name, &now]),
                    },
                    now,
                },
                None => LoginError::Missing {
                    provider: name.clone(),
                },
            }),
        }
    }
}
