//! What clients of a proxy say and hear: HTTP with CONNECT or a whole address, and SOCKS version 5. One request per
//! connection.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::{Host, Url};

/// Longest head of a request.
const MAX_HEAD: usize = 32 << 10;
const SOCKS: u8 = 5;
/// Of the ways to log in that a client of SOCKS offers, none will do.
const NO_METHOD: u8 = 0xff;
/// Headers that are between the client and us, or that we write ourselves.
const OURS: [&str; 8] = [
    "host",
    "connection",
    "proxy-connection",
    "proxy-authorization",
    "proxy-authenticate",
    "keep-alive",
    "te",
    "upgrade",
];

/// Where a client wants to go, and what it has said to whoever is there.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// In lower case; an address in its usual form, without brackets.
    pub host: String,
    pub port: u16,
    /// The password that it came with, of whatever name.
    pub token: Option<String>,
    /// For the server.
    pub first: Vec<u8>,
    /// Most bytes of the client that are passed on after these.
    pub more: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Not a request that we serve.
    Bad,
    /// A body without a length.
    NoLength,
    /// It cannot or will not say who it is.
    NoLogin,
    /// Nobody that we know.
    Stranger,
    Refused,
    Private,
    Unreachable,
}

/// How the client talks, as far as it is known.
#[derive(Default)]
pub struct Asker {
    protocol: Protocol,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Protocol {
    #[default]
    Http,
    /// The client waits for a word before it talks to the server.
    Connect,
    Socks,
}

impl Asker {
    pub async fn ask(&mut self, client: &mut TcpStream) -> Result<Request, Fault> {
        let bad = |_: io::Error| Fault::Bad;
        let first = client.read_u8().await.map_err(bad)?;
        if first == SOCKS {
            self.protocol = Protocol::Socks;
            return socks(client).await;
        }
        let (head, rest) = head(client, first).await?;
        let (request, protocol) = http(&head, rest)?;
        self.protocol = protocol;
        Ok(request)
    }

    pub async fn accept(&self, client: &mut TcpStream) -> io::Result<()> {
        match self.protocol {
            Protocol::Http => Ok(()),
            Protocol::Connect => client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await,
            Protocol::Socks => client.write_all(&socks_reply(0)).await,
        }
    }

    pub async fn refuse(&self, client: &mut TcpStream, fault: Fault, host: &str) -> io::Result<()> {
        let (status, number, text) = match fault {
            Fault::Bad => (
                "400 Bad Request",
                1,
                "this proxy does not serve that".into(),
            ),
            Fault::NoLength => ("411 Length Required", 1, "say how long the body is".into()),
            Fault::NoLogin | Fault::Stranger => (
                "407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"sandbox\"",
                2,
                "use this proxy by the whole address in http_proxy, with its name and password"
                    .into(),
            ),
            Fault::Refused => (
                "403 Forbidden",
                2,
                format!("the sandbox does not let commands reach {host}"),
            ),
            Fault::Private => (
                "403 Forbidden",
                2,
                format!("{host} is a private address, which its rule does not name"),
            ),
            Fault::Unreachable => ("502 Bad Gateway", 4, format!("{host} cannot be reached")),
        };
        match self.protocol {
            Protocol::Socks if fault == Fault::NoLogin => {
                client.write_all(&[SOCKS, NO_METHOD]).await?;
            }
            Protocol::Socks => client.write_all(&socks_reply(number)).await?,
            Protocol::Http | Protocol::Connect => {
                let length = text.len() + 1;
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{text}\n"
                );
                client.write_all(answer.as_bytes()).await?;
            }
        }
        client.shutdown().await
    }
}

/// The head up to its empty line, and what came after it.
async fn head(client: &mut TcpStream, first: u8) -> Result<(Vec<u8>, Vec<u8>), Fault> {
    const END: &[u8] = b"\r\n\r\n";
    let mut bytes = vec![first];
    loop {
        if let Some(at) = memchr::memmem::find(&bytes, END) {
            let rest = bytes.split_off(at + END.len());
            return Ok((bytes, rest));
        }
        if bytes.len() > MAX_HEAD {
            return Err(Fault::Bad);
        }
        match client.read_buf(&mut bytes).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => return Err(Fault::Bad),
        }
    }
}

fn http(head: &[u8], rest: Vec<u8>) -> Result<(Request, Protocol), Fault> {
    let text = std::str::from_utf8(head).map_err(|_| Fault::Bad)?;
    let mut lines = text.trim_end_matches("\r\n").split("\r\n");
    let line = lines.next().unwrap_or_default();
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Fault::Bad);
    };
    if !version.starts_with("HTTP/1.") || !method.bytes().all(|b| b.is_ascii_uppercase()) {
        return Err(Fault::Bad);
    }
    if method == "CONNECT" {
        let (host, port) = target.rsplit_once(':').ok_or(Fault::Bad)?;
        let request = Request {
            host: usual(host).ok_or(Fault::Bad)?,
            port: port.parse().map_err(|_| Fault::Bad)?,
            token: token(lines),
            first: rest,
            more: u64::MAX,
        };
        return Ok((request, Protocol::Connect));
    }
    let url = Url::parse(target).map_err(|_| Fault::Bad)?;
    if url.scheme() != "http" {
        return Err(Fault::Bad);
    }
    let token = token(lines.clone());
    let (kept, length) = headers(lines)?;
    // The rest of a connection that is kept would go to the same server, whatever host it names.
    let length = length.unwrap_or(0);
    let host = url.host_str().ok_or(Fault::Bad)?;
    let name = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    let path = url.path();
    let query = url.query().map_or_else(String::new, |q| format!("?{q}"));
    let mut first = format!(
        "{method} {path}{query} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n{kept}\r\n"
    )
    .into_bytes();
    let mut body = rest;
    body.truncate(usize::try_from(length).unwrap_or(usize::MAX));
    let more = length - body.len() as u64;
    first.append(&mut body);
    let request = Request {
        host: usual(host).ok_or(Fault::Bad)?,
        port: url.port_or_known_default().unwrap_or(80),
        token,
        first,
        more,
    };
    Ok((request, Protocol::Http))
}

fn token<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let login = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let (scheme, login) = value.trim().split_once(' ')?;
        let is_ours = name.eq_ignore_ascii_case("proxy-authorization")
            && scheme.eq_ignore_ascii_case("basic");
        is_ours.then(|| login.trim())
    })?;
    let login = String::from_utf8(STANDARD.decode(login).ok()?).ok()?;
    Some(login.split_once(':')?.1.to_owned())
}

/// Those that are passed on, and the length of the body.
fn headers<'a>(lines: impl Iterator<Item = &'a str>) -> Result<(String, Option<u64>), Fault> {
    let mut kept = String::new();
    let mut length = None;
    for line in lines {
        let (name, value) = line.split_once(':').ok_or(Fault::Bad)?;
        // Servers differ on these, and a difference hides a second request.
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
        if name.is_empty() || !name.bytes().all(plain) || value.contains(['\r', '\n', '\0']) {
            return Err(Fault::Bad);
        }
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            "transfer-encoding" => return Err(Fault::NoLength),
            "content-length" => {
                let given = value.trim().parse().map_err(|_| Fault::Bad)?;
                if length.replace(given).is_some() {
                    return Err(Fault::Bad);
                }
            }
            name if OURS.contains(&name) => continue,
            _ => {}
        }
        kept.push_str(line);
        kept.push_str("\r\n");
    }
    Ok((kept, length))
}

async fn socks(client: &mut TcpStream) -> Result<Request, Fault> {
    const CONNECT: u8 = 1;
    const LOGIN: u8 = 2;
    let bad = |_: io::Error| Fault::Bad;
    let count = client.read_u8().await.map_err(bad)?;
    let mut methods = vec![0; count.into()];
    client.read_exact(&mut methods).await.map_err(bad)?;
    if !methods.contains(&LOGIN) {
        return Err(Fault::NoLogin);
    }
    client.write_all(&[SOCKS, LOGIN]).await.map_err(bad)?;
    let token = socks_token(client).await.map_err(bad)?;
    let mut head = [0; 4];
    client.read_exact(&mut head).await.map_err(bad)?;
    let [SOCKS, CONNECT, _, kind] = head else {
        return Err(Fault::Bad);
    };
    let host = match kind {
        1 => {
            let mut ip = [0; 4];
            client.read_exact(&mut ip).await.map_err(bad)?;
            std::net::Ipv4Addr::from(ip).to_string()
        }
        3 => {
            let length = client.read_u8().await.map_err(bad)?;
            let mut name = vec![0; length.into()];
            client.read_exact(&mut name).await.map_err(bad)?;
            String::from_utf8(name).map_err(|_| Fault::Bad)?
        }
        4 => {
            let mut ip = [0; 16];
            client.read_exact(&mut ip).await.map_err(bad)?;
            format!("[{}]", std::net::Ipv6Addr::from(ip))
        }
        _ => return Err(Fault::Bad),
    };
    Ok(Request {
        host: usual(&host).ok_or(Fault::Bad)?,
        port: client.read_u16().await.map_err(bad)?,
        token: String::from_utf8(token).ok(),
        first: Vec::new(),
        more: u64::MAX,
    })
}

/// Anybody may log in; what that is worth is said when it is known where it leads.
async fn socks_token(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    const VERSION: u8 = 1;
    const WELCOME: u8 = 0;
    client.read_u8().await?;
    let mut text = Vec::new();
    for _name_then_password in 0..2 {
        text = vec![0; client.read_u8().await?.into()];
        client.read_exact(&mut text).await?;
    }
    client.write_all(&[VERSION, WELCOME]).await?;
    Ok(text)
}

fn socks_reply(number: u8) -> [u8; 10] {
    [SOCKS, number, 0, 1, 0, 0, 0, 0, 0, 0]
}

/// One spelling for one host: `0x7f.1`, a final dot and capitals are seen through.
fn usual(host: &str) -> Option<String> {
    let host = match host.strip_suffix('.') {
        Some(host) => host,
        None => host,
    };
    Some(match Host::parse(host).ok()? {
        Host::Domain(name) => name,
        Host::Ipv4(ip) => ip.to_string(),
        Host::Ipv6(ip) => match ip.to_ipv4_mapped() {
            Some(ip) => ip.to_string(),
            None => ip.to_string(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests() {
        let check = |text: &str, rest: &str, expect: Result<(&str, u16, &str, u64), Fault>| {
            let found = http(text.as_bytes(), rest.into()).map(|(request, _)| request);
            let expect = expect.map(|(host, port, first, more)| Request {
                host: host.into(),
                port,
                token: None,
                first: first.into(),
                more,
            });
            assert_eq!(found, expect, "{text}");
        };
        check(
            "CONNECT A.b:443 HTTP/1.1\r\nHost: c.d\r\n\r\n",
            "hello",
            Ok(("a.b", 443, "hello", u64::MAX)),
        );
        check(
            "CONNECT 0x7f.1:80 HTTP/1.1\r\n\r\n",
            "",
            Ok(("127.0.0.1", 80, "", u64::MAX)),
        );
        check(
            "CONNECT [::ffff:7f00:1]:80 HTTP/1.1\r\n\r\n",
            "",
            Ok(("127.0.0.1", 80, "", u64::MAX)),
        );
        check(
            "GET http://a.b/x?y HTTP/1.1\r\nHost: evil\r\nProxy-Connection: keep-alive\r\nA: 1\r\n\r\n",
            "GET http://evil/ HTTP/1.1\r\n\r\n",
            Ok((
                "a.b",
                80,
                "GET /x?y HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\nA: 1\r\n\r\n",
                0,
            )),
        );
        check(
            "POST http://u:p@a.b.:81 HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
            "12",
            Ok((
                "a.b",
                81,
                "POST / HTTP/1.1\r\nHost: a.b.:81\r\nConnection: close\r\nContent-Length: 5\r\n\r\n12",
                3,
            )),
        );
        let login = "\r\nproxy-authorization: basic dDpzZWNyZXQ6MQ==\r\n\r\n";
        for (text, expect) in [
            (format!("CONNECT a.b:1 HTTP/1.1{login}"), Some("secret:1")),
            (
                format!("GET http://a.b/ HTTP/1.1\r\nA: b{login}"),
                Some("secret:1"),
            ),
            (
                format!("GET http://a.b/ HTTP/1.1{}", login.replace("dD", "?")),
                None,
            ),
            (
                format!(
                    "GET http://a.b/ HTTP/1.1{}",
                    login.replace("basic", "bearer")
                ),
                None,
            ),
            (
                format!("GET http://a.b/ HTTP/1.1{}", login.replace("proxy-", "")),
                None,
            ),
        ] {
            let (request, _) = http(text.as_bytes(), Vec::new()).unwrap();
            assert_eq!(request.token.as_deref(), expect, "{text}");
            assert!(
                !String::from_utf8(request.first)
                    .unwrap()
                    .contains("proxy-auth")
            );
        }
        for bad in [
            "GET / HTTP/1.1\r\nHost: a.b\r\n\r\n",
            "GET https://a.b/ HTTP/1.1\r\n\r\n",
            "GET ftp://a.b/ HTTP/1.1\r\n\r\n",
            "GET http:// HTTP/1.1\r\n\r\n",
            "GET http://a.b/ HTTP/2\r\n\r\n",
            "GET  http://a.b/ HTTP/1.1\r\n\r\n",
            "GET http://a.b/\r\n\r\n",
            "get http://a.b/ HTTP/1.1\r\n\r\n",
            "GET http://a.b/ HTTP/1.1\r\nA : 1\r\n\r\n",
            "GET http://a.b/ HTTP/1.1\r\nA: 1\r\n folded\r\n\r\n",
            "GET http://a.b/ HTTP/1.1\r\nA: 1\nB: 2\r\n\r\n",
            "POST http://a.b/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "CONNECT a.b HTTP/1.1\r\n\r\n",
            "CONNECT a.b:99999 HTTP/1.1\r\n\r\n",
            "CONNECT a b:1 HTTP/1.1\r\n\r\n",
            "CONNECT :1 HTTP/1.1\r\n\r\n",
            "\r\n\r\n",
        ] {
            check(bad, "", Err(Fault::Bad));
        }
        check(
            "POST http://a.b/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "",
            Err(Fault::NoLength),
        );
    }
}
