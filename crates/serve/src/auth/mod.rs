//! Who may come in: a token or a password, and the cookie that stands for either afterwards.

mod attempts;

use crate::settings::{Auth, KeptLogin, KeptLogins, Token};
use attempts::Attempts;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub const COOKIE: &str = "ostler_session";
pub const CSRF_HEADER: &str = "x-ostler-csrf";
/// How long a browser stays logged in that does not come back.
pub const LOGIN_LIFE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Browsers that are logged in at once; the one that was away longest is logged out.
const MAX_LOGINS: usize = 64;
/// Time between two notes that a login is still used.
const NOTED_AFTER: Duration = Duration::from_secs(3600);
/// The longest password that is looked at.
pub const MAX_PASSWORD: usize = 1024;

pub struct Access {
    auth: Auth,
    logins: Mutex<HashMap<Digested, Login>>,
    attempts: Attempts,
    /// Hashing a password takes a processor for a while: one at a time.
    hashing: Semaphore,
    /// Of requests that need no login.
    open_csrf: String,
    kept: Option<Arc<dyn KeptLogins>>,
    turns: AtomicU64,
}

type Digested = [u8; 32];

struct Login {
    /// In seconds since 1970, as is what was noted of it.
    used: u64,
    noted: u64,
    /// Tells which of two was here later within a second.
    turn: u64,
    /// Cancelled when it ends; so do its streams.
    over: CancellationToken,
}

impl Login {
    fn of(used: u64) -> Self {
        Self {
            used,
            noted: used,
            turn: 0,
            over: CancellationToken::new(),
        }
    }

    fn is_old(&self) -> bool {
        now().saturating_sub(self.used) > LOGIN_LIFE.as_secs()
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        self.over.cancel();
    }
}

/// Who a request comes from.
#[derive(Clone, Debug)]
pub enum Caller {
    /// A program with the token: no page can make a browser send that.
    Token,
    /// A browser with our cookie, and what its page has to say with each change.
    Browser {
        csrf: String,
        login: CancellationToken,
    },
    /// No login is needed.
    Anyone { csrf: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Wrong,
    TooOften,
}

/// A secret that nobody can guess.
pub fn random_key() -> String {
    let half = || uuid::Uuid::new_v4().simple().to_string();
    half() + &half()
}

/// What tells a token or password from another one, and does not lead back to it.
pub fn fingerprint(auth: &Auth) -> String {
    match auth {
        Auth::None => String::new(),
        Auth::Token(Token(token)) => hex(&digest(token)),
        Auth::Password { hash, .. } => hex(&digest(hash)),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn of_hex(text: &str) -> Option<Digested> {
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..64).step_by(2).map(byte).collect();
    (text.len() == 64).then_some(bytes?.try_into().ok()?)
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

/// What the page of a browser has to say with each change. It needs no place of its own, and does not lead to the cookie.
fn csrf_of(cookie: &str) -> String {
    hex(&digest(&format!("csrf {cookie}")))
}

/// Secrets are compared by their digests, so that the time it takes tells nothing.
fn digest(text: &str) -> Digested {
    Sha256::digest(text.as_bytes()).into()
}

impl Access {
    pub fn new(auth: Auth, kept: Option<Arc<dyn KeptLogins>>) -> Self {
        let logins = kept.iter().flat_map(|kept| kept.read());
        let logins = logins.filter_map(|login| Some((of_hex(&login.key)?, Login::of(login.used))));
        Self {
            auth,
            logins: Mutex::new(logins.filter(|(_, login)| !login.is_old()).collect()),
            kept,
            turns: AtomicU64::new(1),
            attempts: Attempts::default(),
            hashing: Semaphore::new(1),
            open_csrf: random_key(),
        }
    }

    pub fn mode(&self) -> &'static str {
        match self.auth {
            Auth::None => "none",
            Auth::Token(_) => "token",
            Auth::Password { .. } => "password",
        }
    }

    /// Who a request with these comes from.
    pub fn caller(
        &self,
        bearer: Option<&str>,
        cookie: Option<&str>,
        from: IpAddr,
    ) -> Result<Caller, Refused> {
        if let Auth::None = self.auth {
            return Ok(Caller::Anyone {
                csrf: self.open_csrf.clone(),
            });
        }
        if let Some(bearer) = bearer {
            return self.check_token(bearer, from).map(|()| Caller::Token);
        }
        let cookie = cookie.ok_or(Refused::Wrong)?;
        let key = digest(cookie);
        let mut logins = self.lock();
        let login = logins.get_mut(&key).ok_or(Refused::Wrong)?;
        if login.is_old() {
            logins.remove(&key);
            return Err(Refused::Wrong);
        }
        login.used = now();
        login.turn = self.next_turn();
        let over = login.over.clone();
        if login.used.saturating_sub(login.noted) > NOTED_AFTER.as_secs() {
            login.noted = login.used;
            self.note(&key, login.used);
        }
        Ok(Caller::Browser {
            csrf: csrf_of(cookie),
            login: over,
        })
    }

    fn next_turn(&self) -> u64 {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }

    /// Keeps a login for the next server.
    fn note(&self, key: &Digested, used: u64) {
        let key = hex(key);
        if let Some(kept) = &self.kept {
            kept.put(KeptLogin { key, used });
        }
    }

    fn forget(&self, keys: &[Digested]) {
        let keys: Vec<String> = keys.iter().map(|key| hex(key)).collect();
        if let Some(kept) = &self.kept {
            kept.remove(&keys);
        }
    }

    /// The right token is never refused: it cannot be guessed, and whoever guesses must not lock others out.
    pub fn check_token(&self, given: &str, from: IpAddr) -> Result<(), Refused> {
        let right = match &self.auth {
            Auth::None => return Ok(()),
            Auth::Token(token)
            | Auth::Password {
                token: Some(token), ..
            } => Some(token),
            Auth::Password { token: None, .. } => None,
        };
        if right.is_some_and(|Token(right)| digest(right) == digest(given)) {
            return Ok(());
        }
        match self.attempts.may_try(from) {
            true => {
                self.attempts.failed(from);
                Err(Refused::Wrong)
            }
            false => Err(Refused::TooOften),
        }
    }

    pub async fn check_password(&self, given: String, from: IpAddr) -> Result<(), Refused> {
        let hash = match &self.auth {
            Auth::None => return Ok(()),
            Auth::Token(_) => return Err(Refused::Wrong),
            Auth::Password { hash, .. } => hash.clone(),
        };
        if !self.attempts.may_try(from) {
            return Err(Refused::TooOften);
        }
        // Counted before it is known, so that many at once are no way round.
        self.attempts.failed(from);
        let _one = self.hashing.acquire().await;
        let check = move || {
            given.len() <= MAX_PASSWORD
                && bcrypt::non_truncating_verify(given.as_str(), &hash).unwrap_or(false)
        };
        match tokio::task::spawn_blocking(check).await {
            Ok(true) => {
                self.attempts.forget(from);
                Ok(())
            }
            Ok(false) | Err(_) => Err(Refused::Wrong),
        }
    }

    /// The value of the cookie of a browser that has just shown who it is.
    pub fn log_in(&self) -> String {
        let cookie = random_key();
        let key = digest(&cookie);
        let mut logins = self.lock();
        logins.retain(|_, login| !login.is_old());
        if logins.len() >= MAX_LOGINS {
            let oldest = logins
                .iter()
                .min_by_key(|(_, login)| (login.used, login.turn));
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                logins.remove(&oldest);
                self.forget(&[oldest]);
            }
        }
        let mut login = Login::of(now());
        login.turn = self.next_turn();
        self.note(&key, login.used);
        logins.insert(key, login);
        cookie
    }

    pub fn log_out(&self, cookie: &str) {
        let key = digest(cookie);
        if self.lock().remove(&key).is_some() {
            self.forget(&[key]);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Digested, Login>> {
        self.logins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller {
    /// What a page has to send with a change; none is asked of programs.
    pub fn csrf(&self) -> Option<&str> {
        match self {
            Self::Token => None,
            Self::Browser { csrf, .. } | Self::Anyone { csrf } => Some(csrf),
        }
    }

    /// Cancelled when the login ends that lets them in.
    pub fn login(&self) -> CancellationToken {
        match self {
            Self::Browser { login, .. } => login.clone(),
            Self::Token | Self::Anyone { .. } => CancellationToken::new(),
        }
    }

    pub fn may_change(&self, given: Option<&str>) -> bool {
        self.csrf()
            .is_none_or(|csrf| given.is_some_and(|given| digest(given) == digest(csrf)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [127, 0, 0, last].into()
    }

    #[test]
    fn the_right_token_comes_in_however_often_others_guess() {
        let access = Access::new(Auth::Token(Token("a-token-of-some-length".into())), None);
        for _ in 0..100 {
            assert!(access.check_token("wrong", address(1)).is_err());
        }
        assert_eq!(
            access.check_token("wrong", address(1)),
            Err(Refused::TooOften)
        );
        assert_eq!(access.check_token("wrong", address(2)), Err(Refused::Wrong));
        assert_eq!(
            access.check_token("a-token-of-some-length", address(1)),
            Ok(())
        );
    }

    #[test]
    fn a_browser_is_known_until_it_logs_out() {
        let access = Access::new(Auth::Token(Token("t".into())), None);
        let key = access.log_in();
        let caller = access.caller(None, Some(&key), address(1)).unwrap();
        let csrf = caller.csrf().unwrap().to_owned();
        assert!(caller.may_change(Some(&csrf)));
        assert!(!caller.may_change(Some("x")) && !caller.may_change(None));
        assert!(access.caller(None, Some("other"), address(1)).is_err());
        access.log_out(&key);
        assert!(access.caller(None, Some(&key), address(1)).is_err());
        let program = access.caller(Some("t"), None, address(1)).unwrap();
        assert!(program.may_change(None));
    }

    #[test]
    fn the_oldest_login_gives_way() {
        let access = Access::new(Auth::Token(Token("t".into())), None);
        let first = access.log_in();
        for _ in 0..MAX_LOGINS {
            access.log_in();
        }
        assert!(access.caller(None, Some(&first), address(1)).is_err());
        assert_eq!(access.lock().len(), MAX_LOGINS);
    }

    #[derive(Default)]
    struct Notes(Mutex<Vec<KeptLogin>>);

    impl KeptLogins for Notes {
        fn read(&self) -> Vec<KeptLogin> {
            self.0.lock().unwrap().clone()
        }

        fn put(&self, login: KeptLogin) {
            self.0.lock().unwrap().push(login);
        }

        fn remove(&self, keys: &[String]) {
            self.0
                .lock()
                .unwrap()
                .retain(|one| !keys.contains(&one.key));
        }
    }

    #[test]
    fn a_login_outlives_the_server_until_it_ends() {
        let kept = Arc::new(Notes::default());
        let server = || Access::new(Auth::Token(Token("t".into())), Some(kept.clone()));
        let first = server();
        let (one, two) = (first.log_in(), first.log_in());
        let csrf = |access: &Access, cookie: &str| {
            let caller = access.caller(None, Some(cookie), address(1)).ok()?;
            caller.csrf().map(str::to_owned)
        };
        let said = csrf(&first, &one).unwrap();
        assert!(!kept.read().iter().any(|login| login.key.contains(&one)));
        let second = server();
        assert_eq!(csrf(&second, &one), Some(said));
        second.log_out(&one);
        let third = server();
        assert!(csrf(&third, &one).is_none() && csrf(&third, &two).is_some());
        kept.0.lock().unwrap()[0].used -= LOGIN_LIFE.as_secs() + 1;
        assert!(csrf(&server(), &two).is_none());
    }
}
