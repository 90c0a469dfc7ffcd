//! The store on disk: what is kept, what is refused, and one writer at a time.

use super::known_secrets;
use ostler_config::logins::{Login, Logins};
use ostler_config::oauth::TokenStore;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

fn login(provider: &str, origin: &str, token: &str) -> Login {
    Login {
        provider: provider.into(),
        origin: origin.into(),
        access_token: token.into(),
        refresh_token: Some(format!("refresh-{token}")),
        expires: None,
        obtained: "2026-11-15T12:00:00Z".into(),
        since: "2026-11-15T12:00:00Z".into(),
        token_url: "https://id.test/token".into(),
        revoke_url: None,
        client_id: "cli".into(),
        other: Map::new(),
    }
}

fn logins(home: &Path) -> Logins {
    Logins::new(home, TokenStore::File)
}

#[tokio::test]
async fn logins_are_kept_by_provider_and_origin() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().join("home");
    let logins = logins(&home);
    assert!(logins.all().unwrap().is_empty() && !home.exists());
    let lock = logins.lock().await.unwrap();
    for (provider, origin, token) in [
        ("a", "https://one.test", "a1"),
        ("a", "https://two.test", "a2"),
        ("b", "https://one.test", "b1"),
        ("a", "https://one.test", "a3"),
    ] {
        lock.put(login(provider, origin, token)).unwrap();
    }
    drop(lock);
    let token = |provider: &str, origin: &str| {
        let found = logins.find(provider, origin).unwrap();
        found.map(|login| login.access_token)
    };
    assert_eq!(token("a", "https://one.test").as_deref(), Some("a3"));
    assert_eq!(token("a", "https://two.test").as_deref(), Some("a2"));
    assert_eq!(token("a", "https://three.test"), None);
    assert_eq!(token("c", "https://one.test"), None);
    assert_eq!(
        known_secrets(&home),
        ["a3", "refresh-a3", "a2", "refresh-a2", "b1", "refresh-b1"]
    );
    let lock = logins.lock().await.unwrap();
    assert_eq!(lock.remove("a").unwrap().len(), 2);
    assert_eq!(lock.remove("a").unwrap().len(), 0);
    assert_eq!(known_secrets(&home), ["b1", "refresh-b1"]);
    #[cfg(unix)]
    {
        let mode = ostler_host::mode_of(&logins.path()).unwrap();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn what_is_not_ours_stays() {
    let home = tempfile::tempdir().unwrap();
    let mut entry = serde_json::to_value(login("a", "https://o.test", "t")).unwrap();
    entry["note"] = json!({"by": "hand"});
    let before = json!({"theirs": [1, 2], "logins": [entry], "version": 7});
    let logins = logins(home.path());
    fs::write(logins.path(), before.to_string()).unwrap();
    let lock = logins.lock().await.unwrap();
    lock.put(login("a", "https://o.test", "new")).unwrap();
    lock.put(login("b", "https://o.test", "b")).unwrap();
    let text = fs::read_to_string(logins.path()).unwrap();
    let after: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(after["theirs"], before["theirs"]);
    assert_eq!(after["version"], 7);
    assert_eq!(after["logins"][0]["note"]["by"], "hand");
    assert_eq!(after["logins"][0]["access_token"], "new");
}

#[tokio::test]
async fn a_damaged_file_is_said_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let logins = logins(home.path());
    let path = logins.path();
    for (text, what) in [
        ("", "line 1, column 0"),
        (
            "{\"logins\": [{\"access_token\": \"tok-secret",
            "line 1, column 40",
        ),
        ("[\"tok-secret\"]", "line 1"),
        ("{\"logins\": \"tok-secret\"}", "line 1, column"),
        (
            "{\"logins\": [{\"provider\": \"p\", \"access_token\": \"tok-secret\"}]}",
            "line 1, column",
        ),
        ("{\"logins\": [[\"tok-secret\"]]}", "line 1, column"),
    ] {
        fs::write(&path, text).unwrap();
        let lock = logins.lock().await.unwrap();
        let errors = [
            logins.all().map(drop),
            lock.put(login("a", "o", "t")),
            lock.remove("a").map(drop),
        ];
        for error in errors {
            let error = error.unwrap_err().to_string();
            assert!(
                error.contains("is damaged (") && error.contains(what),
                "{error}"
            );
            assert!(!error.contains("tok-secret"), "{error}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert!(known_secrets(home.path()).is_empty());
    }
    fs::write(&path, " ".repeat(2 * 1024 * 1024)).unwrap();
    assert!(logins.all().unwrap_err().to_string().contains("damaged"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(logins.all().unwrap_err().to_string().contains("damaged"));
}

#[tokio::test]
async fn there_is_no_keyring() {
    let home = tempfile::tempdir().unwrap();
    let logins = Logins::new(home.path(), TokenStore::Keyring);
    for error in [logins.all().err(), logins.lock().await.err()] {
        let error = error.unwrap().to_string();
        assert!(
            error.contains("no keyring; set `store = \"file\"`"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn one_at_a_time() {
    let home = tempfile::tempdir().unwrap();
    let logins = logins(home.path());
    let inside = AtomicUsize::new(0);
    let enter = async || {
        let _lock = logins.lock().await.unwrap();
        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
        tokio::task::yield_now().await;
        inside.fetch_sub(1, Ordering::SeqCst);
    };
    tokio::join!(enter(), enter(), enter());
}
