//! Logging in to a server: OAuth 2.1 with discovery, registration and PKCE by the protocol's library. Where tokens are kept
//! and how the person gets to the page is up to the binary.

use crate::failure::chain;
use crate::http_client::{http_client, install_crypto};
use crate::settings::{Address, Registration, ServerContext, TokenStore};
use crate::text;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
    CredentialRefreshGuard, CredentialStore, OAuthClientConfig, StoredCredentials,
    WWWAuthenticateParams,
};
use serde_json::Value;
use std::sync::Arc;

/// Of what an issuer says goes wrong.
const MAX_SAID: usize = 2_000;
/// Where a kept login has the secret that we have with the issuer.
const SECRET: &str = "client_secret";

/// Why the server wants a login, and where its answer goes.
pub struct LoginVisit<'a> {
    /// What the server said when it refused us.
    pub challenge: Option<&'a str>,
    /// The address on this machine that the browser comes back to.
    pub redirect: &'a str,
}

/// Gets tokens and keeps them. `go` takes the person to a page and gives the address that the browser came back to.
pub async fn log_in<F>(
    address: &Address,
    context: &ServerContext,
    registration: &Registration,
    visit: LoginVisit<'_>,
    go: impl FnOnce(String) -> F,
) -> Result<(), String>
where
    F: Future<Output = Result<String, String>>,
{
    let secret = registration.client_secret.clone();
    let mut manager = manager(address, context, secret).await?;
    let found = manager.resolve_metadata_from_challenge(visit.challenge);
    let found = found.await.map_err(|e| told(&e))?;
    manager.set_metadata(found.metadata);
    let mut request = AuthorizationRequest::new(visit.redirect)
        .with_client_name("Ostler")
        .with_initial_scope_selection();
    if let Some(id) = &registration.client_id {
        request = request.with_preregistered_client(id);
    }
    if let Some(secret) = &registration.client_secret {
        request = request.with_client_secret(secret);
    }
    if let Some(page) = &registration.client_page {
        request = request.with_client_metadata_url(page);
    }
    let scopes = scopes(address, context, registration, visit.challenge);
    if !scopes.is_empty() {
        request = request.with_scopes(scopes);
    }
    if let Some(challenge) = visit.challenge {
        request = request.with_challenge(challenge);
    }
    let session = AuthorizationSession::new(manager, request).await;
    let session = session.map_err(|(_, e)| told(&e))?;
    let back = go(session.get_authorization_url().to_owned()).await?;
    let exchanged = session.handle_callback_url(&back).await;
    exchanged.map(drop).map_err(|e| told(&e))
}

/// The person's own words; or, where more rights are wanted, those we have and those.
fn scopes(
    address: &Address,
    context: &ServerContext,
    registration: &Registration,
    challenge: Option<&str>,
) -> Vec<String> {
    let mut scopes = registration.scopes.clone();
    let base = url::Url::parse(&address.url);
    if let (Some(challenge), Ok(base)) = (challenge, base) {
        let params = WWWAuthenticateParams::parse(challenge, &base);
        if params.is_insufficient_scope() {
            let wanted = params.scope.unwrap_or_default();
            let have = stored(address, context).map_or_else(Vec::new, |s| s.granted_scopes);
            let wanted = wanted.split_whitespace().map(str::to_owned);
            scopes.extend(have.into_iter().chain(wanted));
        }
    }
    let mut seen = std::collections::HashSet::new();
    scopes.retain(|scope| seen.insert(scope.clone()));
    scopes
}

fn stored(address: &Address, context: &ServerContext) -> Option<StoredCredentials> {
    let value = kept(address, context)?;
    serde_json::from_value(value).ok()
}

fn kept(address: &Address, context: &ServerContext) -> Option<Value> {
    let tokens = context.settings.tokens.as_ref()?;
    tokens.load(&address.url).ok()?
}

/// Knows the tokens of a server and renews them; `None` where there are none.
pub async fn known(
    address: &Address,
    context: &ServerContext,
) -> Result<Option<AuthorizationManager>, String> {
    let Some(login) = stored(address, context) else {
        return Ok(None);
    };
    let secret = kept(address, context).and_then(|value| secret_of(&value));
    let mut manager = manager(address, context, secret.clone()).await?;
    let known = manager.initialize_from_store().await;
    // The library remembers who we are without what proves it.
    if let (Ok(true), Some(secret)) = (&known, secret) {
        let config = OAuthClientConfig::new(login.client_id, address.url.as_str());
        let config = config.with_client_secret(secret);
        manager.configure_client(config).map_err(|e| told(&e))?;
    }
    known.map_err(|e| told(&e))?;
    Ok(Some(manager))
}

fn secret_of(login: &Value) -> Option<String> {
    login.get(SECRET)?.as_str().map(str::to_owned)
}

async fn manager(
    address: &Address,
    context: &ServerContext,
    secret: Option<String>,
) -> Result<AuthorizationManager, String> {
    install_crypto();
    let manager = AuthorizationManager::new(address.url.as_str()).await;
    let mut manager = manager.map_err(|e| told(&e))?;
    if !context.settings.ca_files.is_empty() {
        let client = http_client(context)?;
        manager.with_client(client).map_err(|e| told(&e))?;
    }
    if let Some(tokens) = &context.settings.tokens {
        manager.set_credential_store(StoredLogin {
            tokens: tokens.clone(),
            url: address.url.clone(),
            secret,
        });
    }
    Ok(manager)
}

fn told(error: &AuthError) -> String {
    text::cut(&chain(error), MAX_SAID)
}

struct StoredLogin {
    tokens: Arc<dyn TokenStore>,
    url: String,
    /// Of ours, with the issuer.
    secret: Option<String>,
}

#[async_trait::async_trait]
impl CredentialStore for StoredLogin {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let value = self.tokens.load(&self.url);
        let value = value.map_err(AuthError::CredentialStoreError)?;
        // What cannot be read is no login.
        Ok(value.and_then(|value| serde_json::from_value(value).ok()))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let value = serde_json::to_value(credentials);
        let mut value = value.map_err(|e| AuthError::CredentialStoreError(e.to_string()))?;
        if let (Value::Object(login), Some(secret)) = (&mut value, &self.secret) {
            login.insert(SECRET.into(), secret.as_str().into());
        }
        let saved = self.tokens.save(&self.url, Some(value)).await;
        saved.map_err(AuthError::CredentialStoreError)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        let cleared = self.tokens.save(&self.url, None).await;
        cleared.map_err(AuthError::CredentialStoreError)
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let guard = self.tokens.lock().await;
        let guard = guard.map_err(AuthError::CredentialStoreError)?;
        Ok(Some(CredentialRefreshGuard::new(guard)))
    }
}
