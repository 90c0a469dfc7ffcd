//! The browser's way in, without the browser: the address to open, what the address means that it comes back with, and the
//! tokens for the code in it.

use super::endpoints::Endpoints;
use super::http::{Form, Http, fault, quote};
use super::tokens::Tokens;
use anyhow::{anyhow, bail};
use oauth2::{
    AuthUrl, AuthorizationCode, CsrfToken, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl,
};
use ostler_config::oauth::Exchange;
use ostler_config::text::phrase;
use ostler_wire::{Why, Word};
use std::borrow::Cow;
use url::Url;

/// The path of the address that the browser comes back to.
pub const PATH: &str = "/callback";

/// One attempt to log in.
pub struct Attempt {
    verifier: PkceCodeVerifier,
    state: CsrfToken,
    redirect: RedirectUrl,
}

impl Attempt {
    /// `port` is where we listen on the loopback address.
    pub fn new(port: u16) -> anyhow::Result<Self> {
        let (_, verifier) = PkceCodeChallenge::new_random_sha256();
        Ok(Self {
            verifier,
            state: CsrfToken::new_random(),
            redirect: RedirectUrl::new(format!("http://127.0.0.1:{port}{PATH}"))?,
        })
    }

    /// What the person opens.
    pub fn url(&self, from: &Endpoints, wanted: &Form) -> anyhow::Result<Url> {
        let address = from.authorize.clone();
        let address = address.ok_or_else(|| Why::from(Word::AuthNoAuthorizeUrl))?;
        if from.exchange == Exchange::Key {
            return Ok(self.key_url(address, wanted));
        }
        let client = from.client().set_auth_uri(AuthUrl::from_url(address));
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&self.verifier);
        let request = client
            .authorize_url(|| self.state.clone())
            .set_pkce_challenge(challenge)
            .set_redirect_uri(Cow::Borrowed(&self.redirect));
        let request = wanted.iter().fold(request, |request, (name, value)| {
            request.add_extra_param(name, value)
        });
        Ok(request.url().0)
    }

    /// The same at a page that hands out a key.
    fn key_url(&self, mut page: Url, wanted: &Form) -> Url {
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&self.verifier);
        // By the name that vendors document for it.
        let own = self.redirect.replacen("127.0.0.1", "localhost", 1);
        let back = format!("{own}?state={}", self.state.secret());
        page.query_pairs_mut()
            .append_pair("callback_url", &back)
            .append_pair("code_challenge", challenge.as_str())
            .append_pair("code_challenge_method", challenge.method())
            .extend_pairs(wanted);
        page
    }

    /// The code in the query that the browser came back with.
    pub fn code(&self, query: &str, from: &Endpoints) -> anyhow::Result<String> {
        let find = |key: &str| {
            let mut pairs = url::form_urlencoded::parse(query.as_bytes());
            pairs.find(|(name, _)| name == key).map(|(_, v)| v)
        };
        if find("state").is_none_or(|state| *state != **self.state.secret()) {
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

    /// What the issuer gives for the code.
    pub async fn tokens(
        self,
        code: String,
        from: &Endpoints,
        http: &Http,
    ) -> anyhow::Result<Tokens> {
        if from.exchange == Exchange::Key {
            let asked = vec![
                ("code".to_owned(), code),
                ("code_verifier".to_owned(), self.verifier.into_secret()),
                ("code_challenge_method".to_owned(), "S256".to_owned()),
            ];
            return Ok(Tokens::read_key(
                &http.post_json(&from.token, &asked).await?,
            )?);
        }
        let client = from.client();
        let request = client
            .exchange_code(AuthorizationCode::new(code))
            .set_pkce_verifier(self.verifier)
            .set_redirect_uri(Cow::Borrowed(&self.redirect));
        let answer = request.request_async(http).await;
        let tokens = answer.map_err(|error| fault(error, &from.token, Word::AuthNoToken))?;
        Ok(Tokens::check(&tokens)?)
    }
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

    fn attempt() -> Attempt {
        // The verifier of the example in RFC 7636.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        Attempt {
            verifier: PkceCodeVerifier::new(verifier.into()),
            state: CsrfToken::new("s".into()),
            redirect: RedirectUrl::new("http://127.0.0.1:7/callback".into()).unwrap(),
        }
    }

    #[test]
    fn attempts_differ_and_fit_the_standard() {
        let (a, b) = (Attempt::new(1).unwrap(), Attempt::new(1).unwrap());
        assert_ne!(a.verifier.secret(), b.verifier.secret());
        assert_ne!(a.state.secret(), b.state.secret());
        assert!((43..=128).contains(&a.verifier.secret().len()));
    }

    #[test]
    fn the_address_to_open() {
        let attempt = attempt();
        let wanted = vec![("scope".into(), "a b".into())];
        let url = attempt.url(&endpoints(), &wanted).unwrap();
        insta::assert_snapshot!(url, @"https://id.test/authorize?tenant=a%20b&response_type=code&client_id=cli&state=s&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256&redirect_uri=http%3A%2F%2F127.0.0.1%3A7%2Fcallback&scope=a+b");
    }

    #[test]
    fn a_page_that_hands_out_keys_is_told_where_to_come_back_to() {
        let from = Endpoints {
            exchange: Exchange::Key,
            ..endpoints()
        };
        let url = attempt().url(&from, &Vec::new()).unwrap();
        insta::assert_snapshot!(url, @"https://id.test/authorize?tenant=a%20b&callback_url=http%3A%2F%2Flocalhost%3A7%2Fcallback%3Fstate%3Ds&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256");
    }

    #[test]
    fn what_the_browser_comes_back_with() {
        let attempt = attempt();
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
