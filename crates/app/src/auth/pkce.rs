//! The browser's way in, without the browser: proof keys (RFC 7636), the address to open, and what the address means that
//! it comes back with. Pure but for randomness.

use super::endpoints::Endpoints;
use super::http::{Form, quote};
use anyhow::{anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ostler_config::oauth::Exchange;
use ostler_config::text::phrase;
use ostler_wire::{Why, Word};
use sha2::{Digest as _, Sha256};
use url::Url;
use uuid::Uuid;

/// The path of the address that the browser comes back to.
pub const PATH: &str = "/callback";

/// One attempt to log in.
pub struct Attempt {
    verifier: String,
    state: String,
    redirect: String,
}

impl Attempt {
    /// `port` is where we listen on the loopback address.
    pub fn new(port: u16) -> Self {
        // 244 random bits in 64 characters.
        let random = || Uuid::new_v4().simple().to_string();
        Self {
            verifier: random() + &random(),
            state: random(),
            redirect: format!("http://127.0.0.1:{port}{PATH}"),
        }
    }

    /// What the person opens.
    pub fn url(&self, from: &Endpoints, wanted: &Form) -> anyhow::Result<Url> {
        let mut url = from
            .authorize
            .clone()
            .ok_or_else(|| Why::from(Word::AuthNoAuthorizeUrl))?;
        if from.exchange == Exchange::Key {
            let back = format!("{}?state={}", self.local_redirect(), self.state);
            url.query_pairs_mut()
                .append_pair("callback_url", &back)
                .append_pair("code_challenge", &challenge(&self.verifier))
                .append_pair("code_challenge_method", "S256")
                .extend_pairs(wanted);
            return Ok(url);
        }
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &from.client_id)
            .append_pair("redirect_uri", &self.redirect)
            .append_pair("state", &self.state)
            .append_pair("code_challenge", &challenge(&self.verifier))
            .append_pair("code_challenge_method", "S256")
            .extend_pairs(wanted);
        Ok(url)
    }

    /// The address that we listen at by the name that vendors document for it.
    fn local_redirect(&self) -> String {
        self.redirect.replacen("127.0.0.1", "localhost", 1)
    }

    /// The code in the query that the browser came back with.
    pub fn code(&self, query: &str, from: &Endpoints) -> anyhow::Result<String> {
        let find = |key: &str| {
            let mut pairs = url::form_urlencoded::parse(query.as_bytes());
            pairs.find(|(name, _)| name == key).map(|(_, v)| v)
        };
        if find("state").is_none_or(|state| *state != *self.state) {
            bail!(Why::from(Word::AuthOtherState));
        }
        if let Some(error) = find("error") {
            let why = find("error_description").unwrap_or_default();
            return Err(match (&*error, &*why) {
                ("access_denied", "") => anyhow!(Why::from(Word::AuthRefused)),
                (error, "") => anyhow!(phrase(Word::AuthFailed, &[&quote(error)])),
                (error, why) => {
                    anyhow!(phrase(Word::AuthFailedWith, &[&quote(why), &quote(error)]))
                }
            });
        }
        // RFC 9207: an answer of another issuer is not for us.
        if let (Some(named), Some(issuer)) = (find("iss"), &from.issuer)
            && named.trim_end_matches('/') != issuer.trim_end_matches('/')
        {
            bail!(Why::from(Word::AuthOtherIssuer));
        }
        let code = find("code").filter(|code| !code.is_empty());
        let code = code.map(|code| code.into_owned());
        Ok(code.ok_or_else(|| Why::from(Word::AuthNoCode))?)
    }

    /// The code in what a person copied from the browser's address bar.
    pub fn pasted(&self, text: &str, from: &Endpoints) -> anyhow::Result<String> {
        let url = Url::parse(text.trim()).ok();
        match url.as_ref().and_then(Url::query) {
            Some(query) => self.code(query, from),
            None => bail!(Why::from(Word::AuthNotAddress)),
        }
    }

    /// What turns the code into a key.
    pub fn key_request(&self, code: String) -> Form {
        vec![
            ("code".to_owned(), code),
            ("code_verifier".to_owned(), self.verifier.clone()),
            ("code_challenge_method".to_owned(), "S256".to_owned()),
        ]
    }

    /// What turns the code into tokens.
    pub fn exchange(&self, code: String, from: &Endpoints) -> Form {
        let mut form = from.form(Some("authorization_code"));
        form.extend([
            ("code".to_owned(), code),
            ("redirect_uri".to_owned(), self.redirect.clone()),
            ("code_verifier".to_owned(), self.verifier.clone()),
        ]);
        form
    }
}

fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoints() -> Endpoints {
        Endpoints {
            issuer: Some("https://id.test".into()),
            authorize: Url::parse("https://id.test/authorize?tenant=a%20b").ok(),
            token: Url::parse("https://id.test/token").unwrap(),
            device: None,
            revoke: None,
            client_id: "cli".into(),
            client_secret: None,
            exchange: Exchange::Token,
        }
    }

    #[test]
    fn the_example_of_the_standard() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let expect = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        assert_eq!(challenge(verifier), expect);
    }

    #[test]
    fn attempts_differ_and_fit_the_standard() {
        let (a, b) = (Attempt::new(1), Attempt::new(1));
        assert!(a.verifier != b.verifier && a.state != b.state);
        assert!((43..=128).contains(&a.verifier.len()));
        assert!(a.verifier.bytes().all(|c| c.is_ascii_alphanumeric()));
    }

    #[test]
    fn the_address_to_open() {
        let attempt = Attempt {
            verifier: "v".into(),
            state: "s".into(),
            redirect: "http://127.0.0.1:7/callback".into(),
        };
        let wanted = vec![("scope".into(), "a b".into())];
        let url = attempt.url(&endpoints(), &wanted).unwrap();
        insta::assert_snapshot!(url, @"https://id.test/authorize?tenant=a%20b&response_type=code&client_id=cli&redirect_uri=http%3A%2F%2F127.0.0.1%3A7%2Fcallback&state=s&code_challenge=TJRIXgwhrmxBzh3-e2v6zupato5AokdvUCCOUm9QYIA&code_challenge_method=S256&scope=a+b");
    }

    #[test]
    fn a_page_that_hands_out_keys_is_told_where_to_come_back_to() {
        let attempt = Attempt {
            verifier: "v".into(),
            state: "s".into(),
            redirect: "http://127.0.0.1:7/callback".into(),
        };
        let from = Endpoints {
            exchange: Exchange::Key,
            ..endpoints()
        };
        let url = attempt.url(&from, &Vec::new()).unwrap();
        insta::assert_snapshot!(url, @"https://id.test/authorize?tenant=a%20b&callback_url=http%3A%2F%2Flocalhost%3A7%2Fcallback%3Fstate%3Ds&code_challenge=TJRIXgwhrmxBzh3-e2v6zupato5AokdvUCCOUm9QYIA&code_challenge_method=S256");
    }

    #[test]
    fn what_the_browser_comes_back_with() {
        let attempt = Attempt {
            verifier: "v".into(),
            state: "s".into(),
            redirect: "r".into(),
        };
        let check = |query: &str| match attempt.code(query, &endpoints()) {
            Ok(code) => format!("{query} -> {code}"),
            Err(error) => format!("{query} -> ! {error}"),
        };
        let queries = [
            "code=a%2Bb&state=s",
            "code=c&state=s&iss=https%3A%2F%2Fid.test%2F",
            "code=c&state=s&iss=https%3A%2F%2Fevil.test",
            "code=c&state=t",
            "code=c",
            "state=s",
            "state=s&code=",
            "error=access_denied&state=s",
            "error=server_error&error_description=Out%0Aof%1Border&state=s",
            "error=access_denied&state=t",
            "",
        ];
        insta::assert_snapshot!(queries.map(check).join("\n"), @r"
        code=a%2Bb&state=s -> a+b
        code=c&state=s&iss=https%3A%2F%2Fid.test%2F -> c
        code=c&state=s&iss=https%3A%2F%2Fevil.test -> ! the answer came from another issuer, so it was not used
        code=c&state=t -> ! the answer does not belong to this login (its `state` differs), so it was not used; run `ostler login` again
        code=c -> ! the answer does not belong to this login (its `state` differs), so it was not used; run `ostler login` again
        state=s -> ! the answer has no code in it; run `ostler login` again
        state=s&code= -> ! the answer has no code in it; run `ostler login` again
        error=access_denied&state=s -> ! the login was refused in the browser
        error=server_error&error_description=Out%0Aof%1Border&state=s -> ! the login failed: Out of^[order (server_error)
        error=access_denied&state=t -> ! the answer does not belong to this login (its `state` differs), so it was not used; run `ostler login` again
         -> ! the answer does not belong to this login (its `state` differs), so it was not used; run `ostler login` again
        ");
        let pasted = |text: &str| attempt.pasted(text, &endpoints()).ok();
        assert_eq!(
            pasted(" http://127.0.0.1:7/callback?code=c&state=s\n").as_deref(),
            Some("c")
        );
        assert_eq!(pasted("code=c&state=s"), None);
        assert_eq!(pasted("http://127.0.0.1:7/callback?code=c&state=x"), None);
    }
}
