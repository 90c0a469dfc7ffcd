//! `auth.json`: the tokens of logins, readable by their owner alone, changed only under a lock. Nothing here sends anything.

use crate::files::{self, Access};
use crate::oauth::TokenStore;
pub use crate::paths::{AUTH_FILE, OLD_TOKENS};
use crate::text::phrase;
use jiff::{SignedDuration, Timestamp};
use ostler_llm::Secret;
use ostler_wire::{Why, Word};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

const LOCK: &str = "auth.lock";
/// Some tokens are long, but not that long.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// A process that renews a token answers to a clock of its own, which is shorter.
const LOCK_PATIENCE: Duration = Duration::from_secs(60);
const LOCK_LOOK: Duration = Duration::from_millis(25);
/// Bits of a file mode that let others in.
const OTHERS: u32 = 0o077;
/// A token is renewed so long before it expires, or after three quarters of a short life.
const MARGIN: SignedDuration = SignedDuration::from_secs(60);

/// The tokens of one login.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Login {
    pub provider: String,
    /// Scheme, host and port that the token is sent to, and nowhere else.
    pub origin: String,
    pub access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// When the access token ends, if the issuer said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// When the access token came.
    pub obtained: String,
    /// When the person logged in.
    pub since: String,
    /// Where it came from, and where it is renewed.
    pub token_url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoke_url: Option<String>,
    pub client_id: String,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Login {
    /// For people: "login of 2026-11-15".
    pub fn name(&self) -> Why {
        let day = self.since.get(..10).map(Why::from);
        let day = day.unwrap_or_else(|| Word::UnknownDay.into());
        phrase(Word::LoginOf, &[&day])
    }

    pub fn secret(&self) -> Secret {
        Secret::bearer(&*self.access_token)
    }

    pub fn expires_at(&self) -> Option<Timestamp> {
        self.expires.as_deref()?.parse().ok()
    }

    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at().is_some_and(|end| end <= now)
    }

    /// Whether the token should be renewed before it is used.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        let Some(end) = self.expires_at() else {
            return false;
        };
        let start: Option<Timestamp> = self.obtained.parse().ok();
        let margin = start.map_or(MARGIN, |start| {
            MARGIN.min(end.duration_since(start).max(SignedDuration::ZERO) / 4)
        });
        end.duration_since(now) <= margin
    }

    pub fn tokens(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.access_token).chain(&self.refresh_token)
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({} at {})", self.provider, self.origin)
    }
}

#[derive(Debug)]
pub enum StoreError {
    Read { path: String, error: io::Error },
    Damaged { path: String, what: Why },
    Write { path: String, error: io::Error },
    Busy { path: String },
    Keyring,
}

impl From<&StoreError> for Why {
    fn from(error: &StoreError) -> Self {
        match error {
            StoreError::Read { path, error } => phrase(Word::CannotRead, &[path, error]),
            StoreError::Damaged { path, what } => phrase(Word::AuthStoreDamaged, &[path, what]),
            StoreError::Write { path, error } => phrase(Word::CannotWrite, &[path, error]),
            StoreError::Busy { path } => phrase(Word::AuthHeld, &[path, &LOCK_PATIENCE.as_secs()]),
            StoreError::Keyring => Word::AuthNoKeyring.into(),
        }
    }
}

ostler_wire::told_by_why!(StoreError);

/// Where the logins are kept.
#[derive(Debug, Clone)]
pub struct Logins {
    home: PathBuf,
    store: TokenStore,
}

#[derive(Default, Serialize, Deserialize)]
struct Content {
    #[serde(default)]
    logins: Vec<Login>,
    /// Of servers of others, by address; what is in them is their library's business.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    servers: BTreeMap<String, Value>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl Logins {
    pub fn new(home: &Path, store: TokenStore) -> Self {
        Self {
            home: home.to_owned(),
            store,
        }
    }

    pub fn path(&self) -> PathBuf {
        self.home.join(AUTH_FILE)
    }

    /// What a person should know about the file. `mode_of` gives the permission bits where the system has them.
    pub fn warning(&self, mode_of: fn(&Path) -> Option<u32>) -> Option<Why> {
        let path = self.path();
        let mode = mode_of(&path).filter(|mode| mode & OTHERS != 0)?;
        let shown = path.display();
        Some(phrase(
            Word::AuthOpenFile,
            &[&shown, &format_args!("{:03o}", mode & 0o777), &shown],
        ))
    }

    pub fn all(&self) -> Result<Vec<Login>, StoreError> {
        Ok(self.read()?.logins)
    }

    pub fn find(&self, provider: &str, origin: &str) -> Result<Option<Login>, StoreError> {
        let is_it = |login: &Login| login.provider == provider && login.origin == origin;
        Ok(self.all()?.into_iter().find(is_it))
    }

    /// The logins of servers, by address.
    pub fn servers(&self) -> Result<BTreeMap<String, Value>, StoreError> {
        Ok(self.read()?.servers)
    }

    /// Waits until no other process changes the logins. Dropping the answer lets the next one in.
    pub async fn lock(&self) -> Result<Locked<'_>, StoreError> {
        self.check_store()?;
        let path = self.home.join(LOCK);
        let fail = |error: io::Error| StoreError::Write {
            path: path.display().to_string(),
            error,
        };
        ostler_files::private_dir(&self.home).map_err(fail)?;
        let mut options = ostler_files::private_options();
        options.create(true).truncate(false).write(true);
        let file = options.open(&path).map_err(fail)?;
        let deadline = Instant::now() + LOCK_PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => {
                    return Ok(Locked {
                        logins: self,
                        _file: file,
                    });
                }
                Err(TryLockError::Error(error)) => return Err(fail(error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(StoreError::Busy {
                        path: path.display().to_string(),
                    });
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_LOOK).await,
            }
        }
    }

    fn check_store(&self) -> Result<(), StoreError> {
        match self.store {
            TokenStore::File => Ok(()),
            TokenStore::Keyring => Err(StoreError::Keyring),
        }
    }

    fn read(&self) -> Result<Content, StoreError> {
        self.check_store()?;
        let path = self.path();
        let shown = || path.display().to_string();
        let damaged = |what: Why| StoreError::Damaged {
            path: shown(),
            what,
        };
        let bytes = match read_small(&path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Err(damaged(Why::from(Word::AuthNotTokens))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::default()),
            Err(error) => {
                return Err(StoreError::Read {
                    path: shown(),
                    error,
                });
            }
        };
        // The words of the parser may quote a token, so only its position is told.
        serde_json::from_slice(&bytes).map_err(|error| match error.line() {
            0 => damaged(Why::from(Word::AuthNotLogin)),
            line => damaged(phrase(Word::AuthAtLine, &[&line, &error.column()])),
        })
    }
}

/// None for what is no small file.
fn read_small(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MAX_FILE_BYTES)
        .read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// The right to change the logins.
pub struct Locked<'a> {
    logins: &'a Logins,
    _file: File,
}

impl Locked<'_> {
    /// Saves a login in place of one for the same provider and origin.
    pub fn put(&self, login: Login) -> Result<(), StoreError> {
        let mut content = self.logins.read()?;
        let is_same =
            |old: &&mut Login| old.provider == login.provider && old.origin == login.origin;
        match content.logins.iter_mut().find(is_same) {
            Some(old) => {
                let mut login = login;
                for (key, value) in std::mem::take(&mut old.other) {
                    login.other.entry(key).or_insert(value);
                }
                *old = login;
            }
            None => content.logins.push(login),
        }
        self.write(&content)
    }

    /// Takes all logins of a provider out and returns them.
    pub fn remove(&self, provider: &str) -> Result<Vec<Login>, StoreError> {
        let mut content = self.logins.read()?;
        let (gone, kept) = content
            .logins
            .into_iter()
            .partition::<Vec<_>, _>(|login| login.provider == provider);
        content.logins = kept;
        if !gone.is_empty() {
            self.write(&content)?;
        }
        Ok(gone)
    }

    /// Changes the logins of servers.
    pub fn change_servers(
        &self,
        with: impl FnOnce(&mut BTreeMap<String, Value>),
    ) -> Result<(), StoreError> {
        let mut content = self.logins.read()?;
        with(&mut content.servers);
        self.write(&content)
    }

    fn write(&self, content: &Content) -> Result<(), StoreError> {
        let path = self.logins.path();
        let fail = |error: io::Error| StoreError::Write {
            path: path.display().to_string(),
            error,
        };
        let mut bytes = serde_json::to_vec_pretty(content).map_err(|e| fail(e.into()))?;
        bytes.push(b'\n');
        files::write(&path, &bytes, Access::Private).map_err(fail)
    }
}
