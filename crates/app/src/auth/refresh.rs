//! The tokens of a login as a key for requests: read from the store each time, renewed before they end and when they are
//! refused, by one process at a time.

use super::http::{Form, Http, IssuerError};
use super::store::{Login, Logins, StoreError};
use super::tokens::Tokens;
use crate::config::oauth::parse_address;
use crate::speech::{filled, spoken};
use jiff::Timestamp;
use ostler_engine::redact::Redactor;
use ostler_llm::{Error, KeyFuture, KeySource, Secret};
use ostler_wire::Word;
use std::sync::Arc;

/// The login of a provider at an origin.
#[derive(Clone)]
pub struct LoginKey {
    inner: Arc<Inner>,
}

struct Inner {
    provider: String,
    origin: String,
    /// For people: "login of 2026-11-15".
    name: String,
    client_secret: Option<Secret>,
    logins: Logins,
    http: Http,
    redactor: Redactor,
}

/// What a key is made for.
pub struct LoginOf<'a> {
    pub provider: &'a str,
    pub origin: &'a str,
    pub name: &'a str,
    pub client_secret: Option<&'a Secret>,
}

impl LoginKey {
    /// Whatever token it comes upon, the redactor learns.
    pub fn new(of: LoginOf<'_>, logins: Logins, http: Http, redactor: Redactor) -> Self {
        Self {
            inner: Arc::new(Inner {
                provider: of.provider.to_owned(),
                origin: of.origin.to_owned(),
                name: of.name.to_owned(),
                client_secret: of.client_secret.cloned(),
                logins,
                http,
                redactor,
            }),
        }
    }

    async fn renewed(&self, worn: String, why: Why) -> Result<Secret, Error> {
        let inner = self.inner.clone();
        // A turn may be stopped in the middle of it. A rotated token that is not saved is a lost login, so this goes on.
        let renewing = tokio::spawn(async move { inner.renew(&worn, why).await });
        renewing
            .await
            .map_err(|error| Error::fatal(filled(Word::AuthNotRenewed, &[&error.to_string()])))?
    }
}

impl KeySource for LoginKey {
    fn current(&self) -> KeyFuture<'_, Secret> {
        Box::pin(async {
            let found = self.inner.find()?;
            if !found.is_stale(Timestamp::now()) {
                return Ok(found.secret());
            }
            self.renewed(found.access_token, Why::Age).await
        })
    }

    fn refused<'a>(&'a self, key: &'a Secret) -> KeyFuture<'a, Option<Secret>> {
        Box::pin(async {
            let found = self.inner.find()?;
            let is_hopeless = found.refresh_token.is_none() && found.access_token == key.reveal();
            if is_hopeless {
                return Ok(None);
            }
            let renewed = self.renewed(key.reveal().to_owned(), Why::Refused);
            renewed.await.map(Some)
        })
    }

    fn remedy(&self) -> ostler_wire::Why {
        filled(Word::AuthRunLogin, &[&self.inner.provider]).into()
    }

    fn name(&self) -> String {
        self.inner.name.clone()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    /// It ends soon, or has ended.
    Age,
    /// The endpoint does not take it.
    Refused,
}

impl Inner {
    fn find(&self) -> Result<Login, Error> {
        let found = self.logins.find(&self.provider, &self.origin);
        let found = found
            .map_err(broken)?
            .ok_or_else(|| self.ended(spoken(Word::AuthGone)))?;
        self.learn(&found);
        Ok(found)
    }

    /// A token in place of `worn`: what another process has saved meanwhile, or a new one.
    async fn renew(&self, worn: &str, why: Why) -> Result<Secret, Error> {
        let lock = self.logins.lock().await.map_err(broken)?;
        let mut login = self.find()?;
        if login.access_token != worn && !login.is_stale(Timestamp::now()) {
            return Ok(login.secret());
        }
        let Some(refresh) = login.refresh_token.clone() else {
            return match why {
                // Near its end it still works; after it there is no way on.
                Why::Age if !login.is_expired(Timestamp::now()) => Ok(login.secret()),
                Why::Age => Err(self.ended(spoken(Word::AuthExpired))),
                Why::Refused => Err(self.ended(spoken(Word::AuthNotAccepted))),
            };
        };
        // The address is the one that the token came from, whatever a configuration says by now.
        let url = parse_address(&login.token_url)
            .map_err(|error| self.ended(&filled(Word::AuthCannotRenew, &[&error])))?;
        let answer = self.http.post(&url, &self.form(&login, refresh)).await;
        match answer.and_then(|answer| Tokens::read(&answer)) {
            Ok(tokens) => {
                tokens.renew(&mut login, Timestamp::now());
                self.learn(&login);
                let secret = login.secret();
                lock.put(login).map_err(broken)?;
                Ok(secret)
            }
            Err(IssuerError::Unreachable(_))
                if why == Why::Age && !login.is_expired(Timestamp::now()) =>
            {
                Ok(login.secret())
            }
            Err(IssuerError::Unreachable(message)) => Err(Error::retryable(filled(
                Word::AuthLoginNotRenewed,
                &[&self.provider, &message],
            ))),
            Err(error @ (IssuerError::Refused { .. } | IssuerError::NotAnIssuer(_))) => {
                Err(self.ended(&filled(Word::AuthCannotRenew, &[&error.to_string()])))
            }
        }
    }

    fn learn(&self, login: &Login) {
        self.redactor.learn(login.tokens().map(String::as_str));
    }

    fn form(&self, login: &Login, refresh: String) -> Form {
        let mut form = vec![
            ("grant_type".to_owned(), "refresh_token".to_owned()),
            ("refresh_token".to_owned(), refresh),
            ("client_id".to_owned(), login.client_id.clone()),
        ];
        let secret = self.client_secret.iter();
        form.extend(secret.map(|s| ("client_secret".to_owned(), s.reveal().to_owned())));
        form
    }

    fn ended(&self, how: &str) -> Error {
        let provider = &self.provider;
        Error::LoginRequired {
            message: filled(Word::AuthLoginAgain, &[&provider, &how, &provider]).into(),
        }
    }
}

fn broken(error: StoreError) -> Error {
    Error::fatal(error.to_string())
}
