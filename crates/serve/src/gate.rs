//! What every request passes: the host it names, the page it comes from, who sends it. And what every answer says to
//! browsers about our pages.

use crate::App;
use crate::auth::{COOKIE, CSRF_HEADER, Caller, Refused};
use crate::problem::{Kind, Problem};
use crate::settings::{Proxy, Settings};
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use ostler_wire::Word;
use std::net::IpAddr;
use std::sync::Arc;

/// The other end of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// The client, as a proxy in front of us may tell.
#[derive(Clone, Copy, Debug)]
pub struct From(pub IpAddr);

/// How the page is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FORWARDED_FOR: &str = "x-forwarded-for";
const FORWARDED_HOST: &str = "x-forwarded-host";
const FORWARDED_PROTO: &str = "x-forwarded-proto";

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     connect-src 'self'; font-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; \
     frame-ancestors 'none'";
const SAYS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

pub async fn pass(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let mut response = match admit(&app, &mut request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in SAYS {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    if is_api {
        headers
            .entry(header::CACHE_CONTROL)
            .or_insert(HeaderValue::from_static("no-store"));
    }
    response
}

fn admit(app: &App, request: &mut Request) -> Result<(), Problem> {
    let settings = &app.settings;
    let language = app.backend.about().language;
    let Peer(peer) = *request.extensions().get::<Peer>().ok_or_else(|| {
        // The listener puts it there.
        Problem::new(Kind::Failed, "no peer")
    })?;
    let headers = request.headers();
    let from = From(client(headers, settings.proxy, peer));
    let scheme = scheme(headers, settings.proxy);
    let host = host(request, settings.proxy);
    let known = host.filter(|host| is_ours(host, settings));
    let Some(host) = known else {
        return Err(Problem::new(
            Kind::ForbiddenHost,
            language.say(Word::ServeHost),
        ));
    };
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let path = request.uri().path();
    let is_api = path.starts_with("/api/");
    let origin = origin(headers, &host, scheme);
    if origin == Origin::Other && (changes || is_api) {
        return Err(Problem::new(
            Kind::ForbiddenOrigin,
            language.say(Word::ServeOrigin),
        ));
    }
    if is_api || path == "/logout" {
        let bearer = text(headers, header::AUTHORIZATION).and_then(|v| v.strip_prefix("Bearer "));
        let cookie = cookie(headers);
        let caller = app
            .access
            .caller(bearer.map(str::trim), cookie, from.0)
            .map_err(|refused| refusal(refused, app))?;
        let is_page = caller.csrf().is_some();
        // A program on this machine that needs no login says nothing of pages.
        let is_open = matches!(caller, Caller::Anyone { .. }) && origin == Origin::Unsaid;
        let csrf = headers.get(CSRF_HEADER).and_then(|v| v.to_str().ok());
        let is_sure = is_open || origin == Origin::Ours && caller.may_change(csrf);
        if changes && is_page && !is_sure {
            return Err(Problem::new(
                Kind::ForbiddenOrigin,
                language.say(Word::ServeCsrf),
            ));
        }
        request.extensions_mut().insert(caller);
    }
    request.extensions_mut().insert(from);
    request.extensions_mut().insert(scheme);
    Ok(())
}

pub fn refusal(refused: Refused, app: &App) -> Problem {
    let language = app.backend.about().language;
    match refused {
        Refused::Wrong => Problem::unauthorized(language),
        Refused::TooOften => Problem::new(Kind::RateLimited, language.say(Word::ServeTooOften)),
    }
}

/// The page that a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Ours,
    Other,
    /// The client says nothing about it.
    Unsaid,
}

fn origin(headers: &HeaderMap, host: &Authority, scheme: Scheme) -> Origin {
    let site = text(headers, FETCH_SITE);
    // `none` is what a person typed or chose.
    if site.is_some_and(|site| site != "same-origin" && site != "none") {
        return Origin::Other;
    }
    match text(headers, header::ORIGIN) {
        Some(origin) => match url::Url::parse(origin) {
            Ok(url) if is_same(&url, host, scheme) => Origin::Ours,
            Ok(_) | Err(_) => Origin::Other,
        },
        None if headers.contains_key(header::ORIGIN) => Origin::Other,
        None if site.is_some() => Origin::Ours,
        None => Origin::Unsaid,
    }
}

fn is_same(url: &url::Url, host: &Authority, scheme: Scheme) -> bool {
    let (name, usual) = match scheme {
        Scheme::Http => ("http", 80),
        Scheme::Https => ("https", 443),
    };
    let port = host.port_u16().unwrap_or(usual);
    url.scheme() == name
        && url
            .host_str()
            .is_some_and(|h| h.eq_ignore_ascii_case(host.host()))
        && url.port_or_known_default() == Some(port)
}

/// Whether the server goes by this name. A name that somebody else gave our address is not one of ours.
fn is_ours(host: &Authority, settings: &Settings) -> bool {
    let name = host.host().to_ascii_lowercase();
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let is_named = settings.hosts.iter().any(|own| {
        let own = own.to_ascii_lowercase();
        own == name || own == host.as_str().to_ascii_lowercase()
    });
    if is_named {
        return true;
    }
    let own_port = match settings.proxy {
        Proxy::None => host.port_u16().unwrap_or(80) == settings.address.port(),
        Proxy::Trusted => true,
    };
    let ip = bare.parse::<IpAddr>().ok();
    let bound = settings.address.ip();
    let is_own = name == "localhost" && (bound.is_loopback() || bound.is_unspecified())
        || ip.is_some_and(|ip| {
            // Whoever types an address was not led here by a name.
            ip == bound || bound.is_unspecified() || ip.is_loopback() && bound.is_loopback()
        });
    own_port && is_own
}

fn host(request: &Request, proxy: Proxy) -> Option<Authority> {
    let headers = request.headers();
    let forwarded = match proxy {
        Proxy::Trusted => last(headers, FORWARDED_HOST),
        Proxy::None => None,
    };
    let mut named = headers.get_all(header::HOST).iter();
    let host = match (named.next(), named.next()) {
        (Some(one), None) => one.to_str().ok(),
        (None, _) | (Some(_), Some(_)) => None,
    };
    let host: Authority = forwarded.or(host)?.parse().ok()?;
    // A whole address in the request line must not name another one.
    let line = request.uri().authority();
    let agrees = line.is_none_or(|line| line.as_str() == host.as_str());
    (agrees && !host.as_str().contains('@')).then_some(host)
}

fn client(headers: &HeaderMap, proxy: Proxy, peer: IpAddr) -> IpAddr {
    let told = match proxy {
        Proxy::Trusted => last(headers, FORWARDED_FOR).and_then(|ip| ip.parse().ok()),
        Proxy::None => None,
    };
    told.unwrap_or(peer)
}

fn scheme(headers: &HeaderMap, proxy: Proxy) -> Scheme {
    match proxy {
        Proxy::Trusted if last(headers, FORWARDED_PROTO) == Some("https") => Scheme::Https,
        Proxy::Trusted | Proxy::None => Scheme::Http,
    }
}

/// What the nearest proxy says: the end of the list. What stands before came from the client.
fn last<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let value = headers.get_all(name).iter().next_back()?.to_str().ok()?;
    value.rsplit(',').next().map(str::trim)
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

pub fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter();
    let pairs = all.filter_map(|value| value.to_str().ok());
    pairs
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, value)| (name == COOKIE).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Auth;

    fn settings(address: &str, hosts: &[&str], proxy: Proxy) -> Settings {
        Settings {
            auth: Auth::None,
            address: address.parse().unwrap(),
            hosts: hosts.iter().map(|h| (*h).to_owned()).collect(),
            proxy,
            logins: None,
        }
    }

    #[test]
    fn names_of_the_server() {
        let home = settings("127.0.0.1:8787", &["me.test"], Proxy::None);
        let wide = settings("0.0.0.0:80", &[], Proxy::None);
        let lan = settings("192.168.1.5:8787", &[], Proxy::None);
        for (settings, host, expect) in [
            (&home, "127.0.0.1:8787", true),
            (&home, "localhost:8787", true),
            (&home, "LOCALHOST:8787", true),
            (&home, "[::1]:8787", true),
            (&home, "me.test", true),
            (&home, "me.test:8787", true),
            (&home, "127.0.0.1:8788", false),
            (&home, "localhost", false),
            (&home, "evil.test:8787", false),
            (&home, "localhost.evil.test:8787", false),
            (&home, "8.8.8.8:8787", false),
            (&wide, "192.168.1.5", true),
            (&wide, "evil.test", false),
            (&lan, "192.168.1.5:8787", true),
            (&lan, "localhost:8787", false),
        ] {
            let host: Authority = host.parse().unwrap();
            assert_eq!(is_ours(&host, settings), expect, "{host}");
        }
    }

    #[test]
    fn pages_that_requests_come_from() {
        let host: Authority = "localhost:8787".parse().unwrap();
        for (origin_is, site, expect) in [
            ("", "", Origin::Unsaid),
            ("http://localhost:8787", "", Origin::Ours),
            ("http://localhost:8787", "same-origin", Origin::Ours),
            ("", "none", Origin::Ours),
            ("", "same-site", Origin::Other),
            ("", "cross-site", Origin::Other),
            ("https://localhost:8787", "", Origin::Other),
            ("http://localhost:3000", "", Origin::Other),
            ("http://evil.test", "", Origin::Other),
            ("null", "", Origin::Other),
            ("http://localhost:8787", "cross-site", Origin::Other),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [(header::ORIGIN, origin_is), (FETCH_SITE, site)] {
                if !value.is_empty() {
                    headers.insert(name, HeaderValue::from_str(value).unwrap());
                }
            }
            assert_eq!(
                origin(&headers, &host, Scheme::Http),
                expect,
                "{origin_is} {site}"
            );
        }
    }

    #[test]
    fn a_proxy_is_heard_only_where_there_is_one() {
        let mut headers = HeaderMap::new();
        let insert = |headers: &mut HeaderMap, name: &'static str, value| {
            headers.insert(name, HeaderValue::from_static(value));
        };
        insert(&mut headers, FORWARDED_FOR, "1.2.3.4, 5.6.7.8");
        insert(&mut headers, FORWARDED_PROTO, "https");
        let peer = [127, 0, 0, 1].into();
        assert_eq!(client(&headers, Proxy::None, peer), peer);
        assert_eq!(
            client(&headers, Proxy::Trusted, peer),
            IpAddr::from([5, 6, 7, 8])
        );
        assert_eq!(scheme(&headers, Proxy::None), Scheme::Http);
        assert_eq!(scheme(&headers, Proxy::Trusted), Scheme::Https);
    }

    #[test]
    fn our_cookie_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("a=b; x"));
        headers.append(
            header::COOKIE,
            HeaderValue::from_static("c=d; ostler_session=key"),
        );
        assert_eq!(cookie(&headers), Some("key"));
    }
}
