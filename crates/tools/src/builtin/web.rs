//! GET requests for tools: addresses checked before each connection, redirects followed by hand, bodies bounded. What
//! arrived becomes text here; what the text says is the tools' business.

mod tame;

pub use tame::{Tamed, tame};

use crate::tool::{Context, ToolError, ToolSettings};
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};
use futures_util::StreamExt;
use ostler_guard::{is_public_address, with_local_port};
use ostler_host::leads_to;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use url::{Host, Url};

const MAX_REDIRECTS: usize = 5;
/// Of a page; the rest is left.
pub const MAX_BODY: usize = 5 * 1024 * 1024;
/// How far into a page its own word on its encoding is looked for.
const META_BYTES: usize = 1024;
const TIME: Duration = Duration::from_secs(30);
const AGENT: &str = concat!(
    "Mozilla/5.0 (compatible; ostler/",
    env!("CARGO_PKG_VERSION"),
    ")"
);

pub struct Page {
    pub url: Url,
    pub status: u16,
    pub media_type: String,
    pub body: Vec<u8>,
    /// There was more than is taken.
    pub cut: bool,
}

impl Page {
    /// The media type without parameters.
    pub fn media(&self) -> &str {
        self.media_type.split(';').next().unwrap_or_default().trim()
    }

    /// The body as text, in the encoding that its mark, the server or the page itself names; else in what it looks like.
    pub fn text(&self) -> String {
        let named = || {
            label(&self.media_type).or_else(|| {
                let head = self.body.get(..META_BYTES).unwrap_or(&self.body);
                label(&String::from_utf8_lossy(head).to_ascii_lowercase())
            })
        };
        let encoding = match Encoding::for_bom(&self.body) {
            Some((encoding, _)) => encoding,
            None => named().unwrap_or_else(|| guess(&self.body)),
        };
        encoding.decode(&self.body).0.into_owned()
    }
}

/// The encoding after `charset=`, in a header or in a page's own words.
fn label(text: &str) -> Option<&'static Encoding> {
    let (_, rest) = text.split_once("charset")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let name = rest.trim_start_matches(['"', '\'']);
    let end = name
        .find(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c))
        .unwrap_or(name.len());
    Encoding::for_label(name.get(..end)?.as_bytes())
}

fn guess(body: &[u8]) -> &'static Encoding {
    if std::str::from_utf8(body).is_ok() {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(body, true);
    detector.guess(None, Utf8Detection::Allow)
}

/// A URL as models write them, and the host that permission is about.
pub fn parse(text: &str) -> Result<(Url, String), ToolError> {
    let text = text.trim();
    let with_scheme = match text.contains("://") {
        true => text.to_owned(),
        false => format!("https://{text}"),
    };
    let url = Url::parse(&with_scheme)
        .map_err(|e| ToolError::new("invalid_input", format!("`{text}` is not a URL: {e}.")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(ToolError::new(
            "invalid_input",
            format!("Only http and https can be fetched, not {}.", url.scheme()),
        ));
    }
    let host = url
        .host_str()
        .ok_or_else(|| ToolError::new("invalid_input", format!("`{text}` has no host.")))?;
    // No name of a host has it, and a rule would take it for any.
    if host.contains('*') {
        return Err(ToolError::new(
            "invalid_input",
            format!("`{host}` is no name of a host."),
        ));
    }
    let host = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => with_local_port(host, url.port_or_known_default()),
    };
    Ok((url, host))
}

/// Makes the cryptography that TLS needs known to the process.
fn install_crypto() {
    // An error means that a provider is installed already, which is what is wanted.
    _ = rustls::crypto::ring::default_provider().install_default();
}

/// Follows redirects; every hop is checked like the first.
pub async fn get(url: Url, cx: &Context<Arc<ToolSettings>>) -> Result<Page, ToolError> {
    let fetching = async {
        let mut url = url;
        for _ in 0..=MAX_REDIRECTS {
            let response = one(&url, cx).await?;
            let target = response
                .headers()
                .get(LOCATION)
                .and_then(|v| v.to_str().ok());
            match (response.status().is_redirection(), target) {
                (true, Some(target)) => {
                    let there = |e: ToolError| {
                        let message = format!("{url} redirects to `{target}`: {}", e.message);
                        ToolError::new(e.code, message)
                    };
                    let next = url.join(target).map_err(|e| {
                        there(ToolError::new("fetch_error", format!("not a URL, {e}.")))
                    })?;
                    let (next, host) = parse(next.as_str()).map_err(there)?;
                    if !is_same_site(&next, &url) && !cx.guard.reaches(&host) {
                        let why = "the rules do not let that follow. Fetch that address itself, if it is what you want.";
                        return Err(there(ToolError::new("blocked", why)));
                    }
                    url = next;
                }
                (true, None) | (false, _) => return read(url, response).await,
            }
        }
        Err(ToolError::new(
            "fetch_error",
            format!("{url} redirects more than {MAX_REDIRECTS} times."),
        ))
    };
    tokio::select! {
        page = tokio::time::timeout(TIME, fetching) => page.unwrap_or_else(|_| {
            Err(ToolError::new("timeout", format!("No whole answer within {} s.", TIME.as_secs())))
        }),
        () = cx.cancel.cancelled() => Err(ToolError::new("interrupted", "The fetch was interrupted.")),
    }
}

async fn one(url: &Url, cx: &Context<Arc<ToolSettings>>) -> Result<reqwest::Response, ToolError> {
    let settings = &cx.services;
    let fault = |e: reqwest::Error| {
        ToolError::new(
            "fetch_error",
            format!("{url} cannot be fetched: {}.", root_cause(&e)),
        )
    };
    let addresses = addresses(url, cx).await?;
    install_crypto();
    let mut client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(AGENT);
    if let Some(file) = &settings.ca_file
        && let Ok(pem) = ostler_host::read_certificates(file)
        && let Ok(roots) = reqwest::Certificate::from_pem_bundle(&pem)
    {
        client = client.tls_certs_merge(roots);
    }
    // The connection goes to the very addresses that were checked, whatever the name means a moment later.
    if let Some(host) = url.domain() {
        client = client.resolve_to_addrs(host, &addresses);
    }
    let client = client.build().map_err(fault)?;
    client.get(url.clone()).send().await.map_err(fault)
}

/// The same host, with or without the name that sites put before it.
fn is_same_site(a: &Url, b: &Url) -> bool {
    let bare = |url: &Url| {
        let host = url.host_str().unwrap_or_default();
        host.strip_prefix("www.").unwrap_or(host).to_owned()
    };
    bare(a) == bare(b)
}

/// What lies at the bottom of an error; the layers above only say that something failed.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

async fn read(url: Url, response: reqwest::Response) -> Result<Page, ToolError> {
    let status = response.status().as_u16();
    let media_type = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default()
        .to_ascii_lowercase();
    let mut stream = response.bytes_stream();
    let (mut body, mut cut) = (Vec::new(), false);
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|e| {
            ToolError::new(
                "fetch_error",
                format!("{url} broke off: {}.", root_cause(&e)),
            )
        })?;
        let room = MAX_BODY - body.len();
        body.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
        if chunk.len() > room {
            cut = true;
            break;
        }
    }
    Ok(Page {
        url,
        status,
        media_type,
        body,
        cut,
    })
}

/// The addresses of a host, all of them public unless the host may be private.
async fn addresses(
    url: &Url,
    cx: &Context<Arc<ToolSettings>>,
) -> Result<Vec<SocketAddr>, ToolError> {
    let settings = &cx.services;
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or(443);
    let found: Vec<SocketAddr> = match url.host() {
        Some(Host::Ipv4(ip)) => vec![(ip, port).into()],
        Some(Host::Ipv6(ip)) => vec![(ip, port).into()],
        Some(Host::Domain(name)) => tokio::net::lookup_host((name, port))
            .await
            .map_err(|e| {
                ToolError::new(
                    "fetch_error",
                    format!("The host {name} cannot be found: {e}."),
                )
            })?
            .collect(),
        None => Vec::new(),
    };
    let served = |address: &&SocketAddr| {
        settings
            .served
            .is_some_and(|served| leads_to(**address, served))
    };
    if found.iter().any(|address| served(&address)) {
        let why = format!("{host}:{port} is where Ostler serves the person; no tool reaches it.");
        return Err(ToolError::new("forbidden", why));
    }
    let with_port = format!("{host}:{port}");
    let is_allowed = settings
        .allow_private
        .iter()
        .any(|a| a == host || *a == with_port)
        || cx.guard.names_address(host, port);
    match found.iter().find(|a| !is_public_address(a.ip())) {
        Some(address) if !is_allowed => Err(ToolError::new(
            "forbidden",
            format!(
                "{host} is a private address ({}). Only the person can permit it, in [tools.web] allow_private.",
                address.ip()
            ),
        )),
        Some(_) | None => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_no_host() {
        for text in ["http://*/", "https://*.example.com/x", "*"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("a.example:8080/*").unwrap().1, "a.example:8080");
    }

    #[test]
    fn the_encoding_is_found() {
        let (chinese, _, _) = encoding_rs::GBK.encode("中文标题，这是一段文字，用来检查。");
        let (latin, _, _) = encoding_rs::WINDOWS_1252.encode("Straße über die Brücke in Köln");
        let page = |media_type: &str, body: &[u8]| Page {
            url: Url::parse("http://x/").unwrap(),
            status: 200,
            media_type: media_type.into(),
            body: body.to_vec(),
            cut: false,
        };
        let meta = |tag: &str| [tag.as_bytes(), &chinese].concat();
        for (media_type, body, expect) in [
            ("text/html; charset=gbk", chinese.to_vec(), "中文标题"),
            (
                "text/html;charset=\"gb2312\"; x",
                chinese.to_vec(),
                "中文标题",
            ),
            ("text/html", meta("<meta charset='gbk'>"), "中文标题"),
            (
                "text/html",
                meta("<META content=\"text/html; CHARSET=GBK\">"),
                "中文标题",
            ),
            ("text/plain", chinese.to_vec(), "中文标题"),
            ("text/plain", latin.to_vec(), "Straße über"),
            ("text/plain", "Straße 日本".into(), "Straße 日本"),
            // The mark of the bytes themselves is stronger than any label.
            ("text/plain; charset=gbk", "\u{FEFF}Straße".into(), "Straße"),
            ("text/plain; charset=nonsense", "Straße".into(), "Straße"),
            ("", Vec::new(), ""),
        ] {
            let text = page(media_type, &body).text();
            assert!(text.contains(expect), "{media_type}: {text}");
        }
    }

    #[test]
    fn urls() {
        for (text, host) in [
            ("example.com/x", "example.com"),
            // A rule for this machine names the port.
            ("http://[::1]:80/", "[::1]:80"),
            ("HTTPS://EXAMPLE.com", "example.com"),
            // Spellings of 127.0.0.1 are seen through.
            ("http://0x7f.1/", "127.0.0.1:80"),
            ("http://2130706433/", "127.0.0.1:80"),
        ] {
            assert_eq!(parse(text).unwrap().1, host, "{text}");
        }
        for text in ["file:///etc/passwd", "ftp://x", "http://", "javascript://x"] {
            assert_eq!(parse(text).unwrap_err().code, "invalid_input", "{text}");
        }
    }
}
