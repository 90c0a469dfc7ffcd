//! `mcp-auth.json`: the tokens of MCP servers by address, readable by their owner alone. What they are good for is the
//! engine's business.

use crate::config::files::{self, Access};
use crate::speech::filled;
use futures_util::future::BoxFuture;
use ostler_engine::mcp::TokenStore;
use ostler_engine::redact::Redactor;
use ostler_wire::Word;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

pub const SERVER_TOKENS: &str = "mcp-auth.json";
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
    redactor: Redactor,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Content {
    servers: BTreeMap<String, Value>,
}

impl ServerTokens {
    pub fn new(home: &Path, redactor: Redactor) -> Self {
        Self {
            home: home.to_owned(),
            redactor,
        }
    }

    fn path(&self) -> PathBuf {
        self.home.join(SERVER_TOKENS)
    }

    fn read(&self) -> Result<Content, String> {
        let shown = self.path().display().to_string();
        let file = match File::open(self.path()) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Content::default()),
            Err(e) => return Err(filled(Word::CannotRead, &[&shown, &e])),
        };
        let mut bytes = Vec::new();
        let read = file.take(MAX_FILE_BYTES).read_to_end(&mut bytes);
        read.map_err(|e| filled(Word::CannotRead, &[&shown, &e]))?;
        // The words of the parser may quote a token.
        serde_json::from_slice(&bytes)
            .map_err(|e| filled(Word::AuthFileDamaged, &[&shown, &e.line()]))
    }

    /// Every token there is.
    pub fn secrets(&self) -> Vec<String> {
        let content = self.read().unwrap_or_default();
        content.servers.values().flat_map(tokens).collect()
    }
}

fn tokens(login: &Value) -> Vec<String> {
    let answer = login.get("token_response");
    let token = |key: &&str| Some(answer?.get(key)?.as_str()?.to_owned());
    SECRETS.iter().filter_map(token).collect()
}

impl std::fmt::Debug for ServerTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ServerTokens({})", self.path().display())
    }
}

impl TokenStore for ServerTokens {
    fn load(&self, url: &str) -> Result<Option<Value>, String> {
        let login = self.read()?.servers.remove(url);
        let known = login.iter().flat_map(tokens).collect::<Vec<_>>();
        self.redactor.learn(known.iter().map(String::as_str));
        Ok(login)
    }

    fn save(&self, url: &str, login: Option<Value>) -> Result<(), String> {
        let known = login.iter().flat_map(tokens).collect::<Vec<_>>();
        self.redactor.learn(known.iter().map(String::as_str));
        let _lock = files::lock(&self.home).map_err(|e| e.to_string())?;
        let mut content = self.read()?;
        match login {
            Some(login) => content.servers.insert(url.to_owned(), login),
            None => content.servers.remove(url),
        };
        let bytes = serde_json::to_vec_pretty(&content).map_err(|e| e.to_string())?;
        files::write(&self.path(), &bytes, Access::Private)
            .map_err(|e| filled(Word::CannotWrite, &[&self.path().display(), &e]))
    }

    fn lock(&self) -> BoxFuture<'_, Result<Box<dyn Send>, String>> {
        Box::pin(async move {
            let path = self.home.join(LOCK);
            let fail = |e: std::io::Error| format!("{}: {e}", path.display());
            let file = File::options()
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
                        return Err(filled(Word::KeepsLocked, &[&path.display()]));
                    }
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tokens_come_back_and_are_known_as_secrets() {
        let home = tempfile::tempdir().unwrap();
        let redactor = Redactor::default();
        let store = ServerTokens::new(home.path(), redactor.clone());
        assert_eq!(store.load("https://a.test/mcp"), Ok(None));
        let login = json!({"client_id": "c", "token_response": {"access_token": "at-12345678", "refresh_token": "rt-12345678"}});
        store
            .save("https://a.test/mcp", Some(login.clone()))
            .unwrap();
        store.save("https://b.test/mcp", Some(json!({}))).unwrap();
        assert_eq!(store.load("https://a.test/mcp"), Ok(Some(login)));
        assert_eq!(store.load("https://c.test/mcp"), Ok(None));
        assert_eq!(store.secrets(), ["at-12345678", "rt-12345678"]);
        assert!(redactor.has_secret("x at-12345678 y"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = store.path().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        store.save("https://a.test/mcp", None).unwrap();
        assert_eq!(store.load("https://a.test/mcp"), Ok(None));
        std::fs::write(store.path(), "{").unwrap();
        assert!(store.load("x").unwrap_err().contains("damaged"));
        assert!(store.secrets().is_empty());
    }
}
