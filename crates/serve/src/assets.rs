//! The files of the web client, and of our own pages, from inside of the program.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::read::GzDecoder;
use std::io::Read as _;

pub struct Packed {
    pub path: &'static str,
    pub hash: &'static str,
    pub gzip: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/packed.rs"));

/// Files below it carry their digest in their names.
const HASHED: &str = "assets/";
pub const INDEX: &str = "index.html";

pub fn find(path: &str) -> Option<&'static Packed> {
    FILES.iter().find(|file| file.path == path)
}

impl Packed {
    pub fn answer(&self, asked: &HeaderMap) -> Response {
        let tag = format!("\"{}\"", self.hash);
        let says = |name, what: &str| {
            let value = asked.get(name).and_then(|value| value.to_str().ok());
            value.is_some_and(|value| value.split(',').any(|one| is_named(one, what)))
        };
        let mut response = match says(header::IF_NONE_MATCH, &tag) {
            true => StatusCode::NOT_MODIFIED.into_response(),
            false if says(header::ACCEPT_ENCODING, "gzip") => {
                let mut response = Body::from(self.gzip).into_response();
                let gzip = HeaderValue::from_static("gzip");
                response
                    .headers_mut()
                    .insert(header::CONTENT_ENCODING, gzip);
                response
            }
            false => Body::from(self.bytes()).into_response(),
        };
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static(media_type(self.path)),
        );
        let lasts = match self.path.starts_with(HASHED) {
            true => "public, max-age=31536000, immutable",
            false => "no-cache",
        };
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(lasts));
        headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(header::ETAG, tag);
        }
        response
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // What we packed ourselves can be unpacked.
        _ = GzDecoder::new(self.gzip).read_to_end(&mut bytes);
        bytes
    }
}

/// `gzip;q=0` means that it is not wanted.
fn is_named(one: &str, what: &str) -> bool {
    let mut parts = one.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    name.trim_start_matches("W/") == what && !parts.any(|part| part == "q=0")
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_sent_packed_unpacked_or_not_at_all() {
        let page = find("login.css").expect("our own style");
        let asked = |name, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            page.answer(&headers)
        };
        let packed = asked(header::ACCEPT_ENCODING, "br, gzip");
        assert_eq!(packed.headers()[header::CONTENT_ENCODING], "gzip");
        let plain = asked(header::ACCEPT_ENCODING, "gzip;q=0");
        assert!(!plain.headers().contains_key(header::CONTENT_ENCODING));
        let tag = packed.headers()[header::ETAG].to_str().unwrap().to_owned();
        let same = asked(header::IF_NONE_MATCH, &tag);
        assert_eq!(same.status(), StatusCode::NOT_MODIFIED);
        assert!(String::from_utf8(page.bytes()).unwrap().contains("{"));
    }
}
