//! The logins of MCP servers in `auth.json`, by address. What they are good for is the engine's business. They once lay in a
//! file of their own, which is still read, and gone with the next change.

use futures_util::future::BoxFuture;
use ostler_config::logins::{Logins, OLD_TOKENS};
use ostler_config::text::Speak as _;
use ostler_engine::redact::Redactor;
use ostler_mcp::TokenStore;
use ostler_wire::{Language, Say as _, Word};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// Held while a token is renewed. `auth.lock` is only held for a change of the file, which a renewal ends with.
const LOCK: &str = "mcp-auth.lock";
const MAX_FILE_BYTES: u64 = 1024 * 1024;
const LOCK_PATIENCE: Duration = Duration::from_secs(60);
const LOCK_LOOK: Duration = Duration::from_millis(25);
/// Fields of an answer that let one in.
const SECRETS: [&str; 2] = ["access_token", "refresh_token"];

/// Learns every token that it comes upon, so that nobody sees it.
#[derive(Clone)]
pub struct ServerTokens {
    home: PathBuf,
    logins: Logins,
    redactor: Redactor,
    language: Language,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OldFile {
    servers: BTreeMap<String, Value>,
}

impl ServerTokens {
    pub fn new(home: &Path, logins: Logins, redactor: Redactor, language: Language) -> Self {
        Self {
            home: home.to_owned(),
            logins,
            redactor,
            language,
        }
    }

    fn learn<'a>(&self, logins: impl IntoIterator<Item = &'a Value>) {
        let known: Vec<String> = logins.into_iter().flat_map(tokens).collect();
        self.redactor.learn(known.iter().map(String::as_str));
    }
}

/// What the old file has; one that cannot be read has nothing.
fn old(home: &Path) -> BTreeMap<String, Value> {
    let read = || -> Option<OldFile> {
        let file = File::open(home.join(OLD_TOKENS)).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice(&bytes).ok()
    };
    read().unwrap_or_default().servers
}

/// Every token of servers there is.
pub fn secrets(home: &Path, logins: &Logins) -> Vec<String> {
    let now = logins.servers().unwrap_or_default();
    now.values()
        .chain(old(home).values())
        .flat_map(tokens)
        .collect()
}

fn tokens(login: &Value) -> Vec<String> {
    let answer = login.get("token_response");
    let token = |key: &&str| Some(answer?.get(key)?.as_str()?.to_owned());
    let own = login.get("client_secret").and_then(Value::as_str);
    let own = own.map(str::to_owned);
    SECRETS.iter().filter_map(token).chain(own).collect()
}

impl std::fmt::Debug for ServerTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ServerTokens({})", self.logins.path().display())
    }
}

impl TokenStore for ServerTokens {
    fn load(&self, url: &str) -> Result<Option<Value>, String> {
        let mut now = self.logins.servers().map_err(|e| e.say(self.language))?;
        let login = now.remove(url).or_else(|| old(&self.home).remove(url));
        self.learn(&login);
        Ok(login)
    }

    fn save<'a>(&'a self, url: &'a str, login: Option<Value>) -> BoxFuture<'a, Result<(), String>> {
        self.learn(&login);
        Box::pin(async move {
            let lock = self.logins.lock().await.map_err(|e| e.say(self.language))?;
            let saved = lock.change_servers(|servers| {
                for (url, login) in old(&self.home) {
                    servers.entry(url).or_insert(login);
                }
                match login {
                    Some(login) => servers.insert(url.to_owned(), login),
                    None => servers.remove(url),
                };
            });
            saved.map_err(|e| e.say(self.language))?;
            // All that it had is where it belongs now.
            let _ = std::fs::remove_file(self.home.join(OLD_TOKENS));
            Ok(())
        })
    }

    fn lock(&self) -> BoxFuture<'_, Result<Box<dyn Send>, String>> {
        Box::pin(async move {
            let path = self.home.join(LOCK);
            let fail =
                |e: std::io::Error| self.language.filled(Word::Because, &[&path.display(), &e]);
            ostler_host::private_dir(&self.home).map_err(fail)?;
            let file = ostler_host::private_options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)
                .map_err(fail)?;
            let deadline = Instant::now() + LOCK_PATIENCE;
            loop {
                match file.try_lock() {
                    Ok(()) => return Ok(Box::new(file) as Box<dyn Send>),
                    Err(TryLockError::Error(e)) => return Err(fail(e)),
                    Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                        tokio::time::sleep(LOCK_LOOK).await;
                    }
                    Err(TryLockError::WouldBlock) => {
                        return Err(self.language.filled(Word::KeepsLocked, &[&path.display()]));
                    }
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::known_secrets;
    use ostler_config::oauth::TokenStore as Store;
    use serde_json::json;

    #[tokio::test]
    async fn tokens_come_back_and_are_known_as_secrets() {
        let home = tempfile::tempdir().unwrap();
        let redactor = Redactor::default();
        let logins = Logins::new(home.path(), Store::File);
        let store = ServerTokens::new(
            home.path(),
            logins.clone(),
            redactor.clone(),
            Language::English,
        );
        assert_eq!(store.load("https://a.test/mcp"), Ok(None));
        let login = |token: &str| json!({"client_id": "c", "token_response": {"access_token": format!("at-{token}"), "refresh_token": format!("rt-{token}")}});
        let old = json!({"servers": {"https://o.test/mcp": login("old")}});
        std::fs::write(home.path().join(OLD_TOKENS), old.to_string()).unwrap();
        assert_eq!(store.load("https://o.test/mcp"), Ok(Some(login("old"))));
        assert_eq!(known_secrets(home.path()), ["at-old", "rt-old"]);
        store
            .save("https://a.test/mcp", Some(login("12345678")))
            .await
            .unwrap();
        assert!(!home.path().join(OLD_TOKENS).exists());
        assert_eq!(store.load("https://o.test/mcp"), Ok(Some(login("old"))));
        store.save("https://o.test/mcp", None).await.unwrap();
        assert_eq!(store.load("https://o.test/mcp"), Ok(None));
        assert_eq!(
            store.load("https://a.test/mcp"),
            Ok(Some(login("12345678")))
        );
        assert_eq!(known_secrets(home.path()), ["at-12345678", "rt-12345678"]);
        assert!(redactor.has_secret("x at-12345678 y"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = logins.path().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        std::fs::write(logins.path(), "{").unwrap();
        assert!(store.load("x").unwrap_err().contains("damaged"));
        assert!(known_secrets(home.path()).is_empty());
        assert!(store.save("x", None).await.is_err());
    }

    #[tokio::test]
    async fn a_token_is_saved_while_it_is_renewed() {
        let home = tempfile::tempdir().unwrap();
        let logins = Logins::new(home.path(), Store::File);
        let store = ServerTokens::new(home.path(), logins, Redactor::default(), Language::English);
        let _renewing = store.lock().await.unwrap();
        store.save("https://a.test", Some(json!({}))).await.unwrap();
        assert_eq!(store.load("https://a.test"), Ok(Some(json!({}))));
    }
}
