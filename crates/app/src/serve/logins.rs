//! Which browsers are logged in, kept in the home, so that a server that starts again knows them. Nothing in the file lets
//! anybody in: it has digests.

use crate::boot::Boot;
use ostler_config::files::{Access, lock, write};
use ostler_serve::settings::{Auth, KeptLogin, KeptLogins};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

const FILE: &str = "serve-logins.json";
/// Logins that are kept; those that were away longest go first.
const MAX_KEPT: usize = 64;

pub struct Logins {
    home: PathBuf,
    /// Of the token or password that they were made with: another one ends them.
    made_with: String,
}

#[derive(Default, Serialize, Deserialize)]
struct File {
    made_with: String,
    logins: Vec<Row>,
}

#[derive(Serialize, Deserialize)]
struct Row {
    key: String,
    used: u64,
}

impl Logins {
    /// `configured`: the token or password is in the configuration. One that is made at each start ends no login.
    pub fn new(boot: &Boot, auth: &Auth, configured: bool) -> Self {
        Self {
            home: boot.places.home.clone(),
            made_with: match configured {
                true => ostler_serve::fingerprint(auth),
                false => "made-at-each-start".into(),
            },
        }
    }

    fn load(&self) -> File {
        let text = std::fs::read_to_string(self.home.join(FILE));
        let file: Option<File> = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        let file = file.filter(|file| file.made_with == self.made_with);
        file.unwrap_or_else(|| File {
            made_with: self.made_with.clone(),
            logins: Vec::new(),
        })
    }

    /// Without the file a browser logs in again: nothing else is lost.
    fn change(&self, change: impl FnOnce(&mut Vec<Row>)) {
        let Ok(_lock) = lock(&self.home) else { return };
        let mut file = self.load();
        change(&mut file.logins);
        file.logins.sort_by_key(|row| std::cmp::Reverse(row.used));
        file.logins.truncate(MAX_KEPT);
        let text = serde_json::to_string_pretty(&file).unwrap_or_default();
        let _ = write(&self.home.join(FILE), text.as_bytes(), Access::Private);
    }
}

impl KeptLogins for Logins {
    fn read(&self) -> Vec<KeptLogin> {
        let rows = self.load().logins.into_iter();
        let login = |Row { key, used }| KeptLogin { key, used };
        rows.map(login).collect()
    }

    fn put(&self, login: KeptLogin) {
        let KeptLogin { key, used } = login;
        self.change(|rows| {
            rows.retain(|row| row.key != key);
            rows.push(Row { key, used });
        });
    }

    fn remove(&self, keys: &[String]) {
        self.change(|rows| rows.retain(|row| !keys.contains(&row.key)));
    }
}
