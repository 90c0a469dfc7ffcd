//! The address on this machine that the browser comes back to. It takes one request for one path and is gone.

use super::pkce::PATH;
use ostler_config::text::Explain as _;
use ostler_wire::{Language, Word};
use std::net::Ipv4Addr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Browsers open connections ahead of need and send nothing on them; this many may be open.
const MAX_CONNECTIONS: usize = 16;
const MAX_HEAD_BYTES: usize = 16 * 1024;
const HEAD_TIME: Duration = Duration::from_secs(10);

pub struct Loopback {
    listener: TcpListener,
    pub port: u16,
    /// Of the page that the browser shows at the end.
    language: Language,
}

impl Loopback {
    pub async fn bind(language: Language) -> anyhow::Result<Self> {
        Self::bind_to(0, language).await
    }

    /// The same on a port of one's own choice.
    pub async fn bind_to(port: u16, language: Language) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.explain(|| Word::AuthNoPort.into())?;
        let address = listener.local_addr();
        let port = address.explain(|| Word::AuthNoPort.into())?.port();
        Ok(Self {
            listener,
            port,
            language,
        })
    }

    /// The query of the first request for our path.
    pub async fn query(self) -> String {
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if open.len() < MAX_CONNECTIONS => {
                    // A connection that is gone before it is taken concerns nobody.
                    if let Ok((stream, _)) = accepted {
                        open.spawn(tokio::time::timeout(HEAD_TIME, serve(stream, self.language)));
                    }
                }
                Some(served) = open.join_next() => {
                    if let Ok(Ok(Some(query))) = served {
                        return query;
                    }
                }
            }
        }
    }
}

async fn serve(mut stream: TcpStream, language: Language) -> Option<String> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|w| w == b"\r\n\r\n") {
        match stream.read(&mut part).await {
            Ok(read) if read > 0 && head.len() + read <= MAX_HEAD_BYTES => {
                head.extend(part.iter().take(read));
            }
            Ok(_) | Err(_) => return None,
        }
    }
    let query = asked(&head);
    let (status, text) = match &query {
        Some(_) => ("200 OK", language.say(Word::AuthCloseTab)),
        None => ("404 Not Found", language.say(Word::AuthNothingHere)),
    };
    // The person is told on the terminal, too.
    let _ = stream.write_all(page(status, text).as_bytes()).await;
    let _ = stream.shutdown().await;
    query
}

/// The query of a request for our path. One without a query is no answer.
fn asked(head: &[u8]) -> Option<String> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?')?;
    (method == "GET" && path == PATH).then(|| query.to_owned())
}

fn page(status: &str, text: &str) -> String {
    let body = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Ostler</title>\
         <body style=\"font-family: sans-serif; margin: 3em\"><p>{text}</p></body></html>\n"
    );
    // The address of this page has a code in it.
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\
         content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_path_is_an_answer() {
        for (line, expect) in [
            (
                "GET /callback?code=a&state=b HTTP/1.1",
                Some("code=a&state=b"),
            ),
            ("GET /callback? HTTP/1.1", Some("")),
            ("GET /callback HTTP/1.1", None),
            ("GET /callback/?code=a HTTP/1.1", None),
            ("GET /favicon.ico?code=a HTTP/1.1", None),
            ("GET //callback?code=a HTTP/1.1", None),
            ("GET http://127.0.0.1/callback?code=a HTTP/1.1", None),
            ("POST /callback?code=a HTTP/1.1", None),
            ("GET", None),
            ("", None),
        ] {
            let head = format!("{line}\r\nhost: x\r\n\r\n");
            assert_eq!(asked(head.as_bytes()).as_deref(), expect, "{line}");
        }
    }

    #[tokio::test]
    async fn idle_and_strange_connections_do_not_stand_in_the_way() {
        let loopback = Loopback::bind(Language::English).await.unwrap();
        let port = loopback.port;
        let waiting = tokio::spawn(loopback.query());
        let open = || async { TcpStream::connect(("127.0.0.1", port)).await.unwrap() };
        let _idle = open().await;
        let mut strange = open().await;
        strange.write_all(&[0xff; 64]).await.unwrap();
        let ask = async |target: &str| {
            let mut stream = open().await;
            let head = format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        };
        assert!(ask("/favicon.ico").await.starts_with("HTTP/1.1 404"));
        let answer = ask("/callback?state=s&code=c").await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("close this tab"));
        assert_eq!(waiting.await.unwrap(), "state=s&code=c");
        assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
    }
}
