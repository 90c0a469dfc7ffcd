//! The tokens of a login as a key for requests: read from the store each time, renewed before they end and when they are
//! refused, by one process at a time.

use super::endpoints::Endpoints;
use super::http::{Http, IssuerError, fault};
use super::tokens::Tokens;
use jiff::Timestamp;
use oauth2::RefreshToken;
use ostler_config::logins::{Login, Logins, StoreError};
use ostler_config::oauth::parse_address;
use ostler_config::text::phrase;
use ostler_engine::redact::Redactor;
use ostler_llm::{Error, KeyFuture, KeySource, Secret};
use ostler_wire::{Why, Word};
use std::sync::Arc;
use url::Url;

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

    async fn renewed(&self, worn: String, need: Need) -> Result<Secret, Error> {
        let inner = self.inner.clone();
        // A turn may be stopped in the middle of it. A rotated token that is not saved is a lost login, so this goes on.
        let renewing = tokio::spawn(async move { inner.renew(&worn, need).await });
        renewing
            .await
            .map_err(|error| Error::fatal(phrase(Word::AuthNotRenewed, &[&error.to_string()])))?
    }
}

impl KeySource for LoginKey {
    fn current(&self) -> KeyFuture<'_, Secret> {
        Box::pin(async {
            let found = self.inner.find()?;
            if !found.is_stale(Timestamp::now()) {
                return Ok(self.inner.secret(&found));
            }
            self.renewed(found.access_token, Need::Age).await
        })
    }

    fn refused<'a>(&'a self, key: &'a Secret) -> KeyFuture<'a, Option<Secret>> {
        Box::pin(async {
            let found = self.inner.find()?;
            let is_hopeless = found.refresh_token.is_none() && found.access_token == key.reveal();
            if is_hopeless {
                return Ok(None);
            }
            let renewed = self.renewed(key.reveal().to_owned(), Need::Refused);
            renewed.await.map(Some)
        })
    }

    fn remedy(&self) -> Why {
        phrase(Word::AuthRunLogin, &[&self.inner.provider])
    }

    fn name(&self) -> String {
        self.inner.name.clone()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
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
            .ok_or_else(|| self.ended(Why::from(Word::AuthGone)))?;
        self.learn(&found);
        Ok(found)
    }

    /// A token in place of `worn`: what another process has saved meanwhile, or a new one.
    async fn renew(&self, worn: &str, need: Need) -> Result<Secret, Error> {
        let lock = self.logins.lock().await.map_err(broken)?;
        let mut login = self.find()?;
        if login.access_token != worn && !login.is_stale(Timestamp::now()) {
            return Ok(self.secret(&login));
        }
        let Some(refresh) = login.refresh_token.clone() else {
            return match need {
                // Near its end it still works; after it there is no way on.
                Need::Age if !login.is_expired(Timestamp::now()) => Ok(self.secret(&login)),
                Need::Age => Err(self.ended(Why::from(Word::AuthExpired))),
                Need::Refused => Err(self.ended(Why::from(Word::AuthNotAccepted))),
            };
        };
        // The address is the one that the token came from, whatever a configuration says by now.
        let url = parse_address(&login.token_url)
            .map_err(|error| self.ended(phrase(Word::AuthCannotRenew, &[&error])))?;
        match self.tokens(&login, refresh, url).await {
            Ok(tokens) => {
                tokens.renew(&mut login, Timestamp::now());
                self.learn(&login);
                let secret = self.secret(&login);
                lock.put(login).map_err(broken)?;
                Ok(secret)
            }
            Err(IssuerError::Unreachable(_))
                if need == Need::Age && !login.is_expired(Timestamp::now()) =>
            {
                Ok(self.secret(&login))
            }
            Err(IssuerError::Unreachable(message)) => Err(Error::retryable(phrase(
                Word::AuthLoginNotRenewed,
                &[&self.provider, &message],
            ))),
            Err(error @ (IssuerError::Refused { .. } | IssuerError::NotAnIssuer(_))) => {
                Err(self.ended(phrase(Word::AuthCannotRenew, &[&error])))
            }
        }
    }

    /// The token, with what errors call it.
    fn secret(&self, login: &Login) -> Secret {
        login.secret().from_source(&*self.name)
    }

    fn learn(&self, login: &Login) {
        self.redactor.learn(login.tokens().map(String::as_str));
    }

    async fn tokens(
        &self,
        login: &Login,
        refresh: String,
        url: Url,
    ) -> Result<Tokens, IssuerError> {
        let from = Endpoints {
            issuer: None,
            authorize: None,
            token: url,
            device: None,
            revoke: None,
            client_id: login.client_id.clone(),
            client_secret: self.client_secret.as_ref().map(|s| s.reveal().to_owned()),
            exchange: ostler_config::oauth::Exchange::Token,
        };
        let refresh = RefreshToken::new(refresh);
        let client = from.client();
        let answer = client.exchange_refresh_token(&refresh);
        let answer = answer.request_async(&self.http).await;
        let tokens = answer.map_err(|error| fault(error, &from.token, Word::AuthNoToken))?;
        Tokens::check(&tokens)
    }

    fn ended(&self, how: Why) -> Error {
        let provider = &self.provider;
        Error::LoginRequired {
            message: phrase(Word::AuthLoginAgain, &[&provider, &how, &provider]),
        }
    }
}

fn broken(error: StoreError) -> Error {
    Error::fatal(Why::from(&error))
}
