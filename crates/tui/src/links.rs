//! What can be clicked: addresses in a text, and files that a row names. A span carries where it leads; the screen writes
//! that as OSC 8 where the terminal knows it, and leaves it out elsewhere.

use crate::line::{Line, Span, Style};
use std::fmt::Write as _;
use std::sync::Arc;

/// Bytes of an address.
const MAX: usize = 2_000;
/// Schemes of addresses that a text may lead to.
const SCHEMES: [&str; 3] = ["https://", "http://", "mailto:"];
/// What a path of the project begins with, until the screen says where the project lies.
const PATH: &str = "path:";

/// How a terminal that knows links gets them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The address of the project's folder, without a slash at its end; none where it is at another place.
    pub root: Option<String>,
}

impl Links {
    /// Of a project on this machine.
    pub fn on(host: &str, root: &str) -> Self {
        Self {
            root: Some(format!("file://{}{}", encoded(host), encoded(root))),
        }
    }

    fn address(&self, target: &str) -> Option<String> {
        let Some(path) = target.strip_prefix(PATH) else {
            return Some(target.to_owned());
        };
        let root = self.root.as_ref()?;
        match path.starts_with('/') {
            // Of the root only the host is wanted.
            true => {
                let host = root.strip_prefix("file://")?.split('/').next()?;
                Some(format!("file://{host}{}", encoded(path)))
            }
            false => Some(format!("{root}/{}", encoded(path))),
        }
    }

    /// The bytes that begin a link, and end it.
    pub fn write(&self, out: &mut String, target: &str, text: impl FnOnce(&mut String)) {
        match self.address(target) {
            // Pieces of one link in several rows have one id, so that the terminal marks them together.
            Some(address) => {
                let _ = write!(out, "\x1b]8;id={:x};{address}\x1b\\", id(&address));
                text(out);
                out.push_str("\x1b]8;;\x1b\\");
            }
            None => text(out),
        }
    }
}

/// An address that a text may lead to.
pub fn address(address: &str) -> Option<Arc<str>> {
    let is_known = SCHEMES
        .iter()
        .any(|scheme| address.len() > scheme.len() && address.starts_with(scheme));
    let is_plain = address.bytes().all(|byte| byte.is_ascii_graphic());
    (is_known && is_plain && address.len() <= MAX).then(|| Arc::from(address))
}

/// A file that a row names, by its path in the project or from the root of the system.
pub fn path(path: &str) -> Option<Arc<str>> {
    let is_one = !path.is_empty() && path.len() <= MAX && !path.starts_with('~');
    (is_one && !path.contains(char::is_control)).then(|| Arc::from(format!("{PATH}{path}")))
}

/// The same line in which addresses lead somewhere; none where it has none.
pub fn found(line: &Line) -> Option<Line> {
    let has = |span: &Span| span.text().contains("://");
    if !line.spans.iter().any(has) {
        return None;
    }
    let mut out = Line::default();
    for span in &line.spans {
        let mut rest = span.text();
        while span.link().is_none()
            && let Some((start, end)) = next(rest)
        {
            let (before, from) = rest.split_at(start);
            let (shown, after) = from.split_at(end - start);
            out.push(span.part(before, span.style));
            let style = Style {
                underline: true,
                ..span.style
            };
            out.push(span.part(shown, style).leading_to(address(shown)));
            rest = after;
        }
        out.push(span.part(rest, span.style));
    }
    Some(out)
}

/// Where the next address of a text begins and ends.
fn next(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    loop {
        let rest = text.get(from..)?;
        let middle = from + rest.find("://")?;
        let scheme = SCHEMES.iter().find_map(|scheme| {
            let name = scheme.strip_suffix("://")?;
            let start = middle.checked_sub(name.len())?;
            let before = text.get(..start)?.chars().next_back();
            let is_own = before.is_none_or(|c| !c.is_ascii_alphanumeric());
            (text.get(start..middle)? == name && is_own).then_some(start)
        });
        if let Some(start) = scheme {
            let end = start + length(text.get(start..)?);
            if end > middle + "://".len() {
                return Some((start, end));
            }
        }
        from = middle + "://".len();
    }
}

/// Bytes of the address at the beginning of a text: without the marks of the sentence around it.
fn length(text: &str) -> usize {
    let is_of_it = |c: char| {
        c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '`' | '\\' | '^' | '{' | '|' | '}')
    };
    let end = text.find(|c| !is_of_it(c)).unwrap_or(text.len());
    let mut shown = text.get(..end.min(MAX)).unwrap_or_default();
    loop {
        let last = shown.chars().next_back();
        let is_open =
            |open: char, close: char| shown.matches(close).count() > shown.matches(open).count();
        let is_around = match last {
            Some('.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '_') => true,
            Some(')') => is_open('(', ')'),
            Some(']') => is_open('[', ']'),
            Some(_) | None => false,
        };
        match is_around {
            true => shown = shown.get(..shown.len() - 1).unwrap_or_default(),
            false => return shown.len(),
        }
    }
}

/// A path as part of an address.
fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// A short name for an address.
fn id(address: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    address.bytes().fold(0x811c_9dc5, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<String> {
        let line = found(&Line::plain(text)).unwrap_or_default();
        let linked = line.spans.iter().filter_map(Span::link);
        assert!(line.is_empty() || line.text() == text, "{text}");
        linked.map(str::to_owned).collect()
    }

    #[test]
    fn addresses_are_found_without_the_sentence_around_them() {
        for (text, expect) in [
            ("see https://a.example/x.", &["https://a.example/x"][..]),
            ("(http://a.example/b_(c)), and", &["http://a.example/b_(c)"]),
            ("<https://a.example>", &["https://a.example"]),
            ("看https://a.example/中文", &["https://a.example/"]),
            ("http://a http://b", &["http://a", "http://b"]),
            ("https://", &[]),
            ("xhttps://a", &[]),
            ("file:///etc/passwd javascript:alert", &[]),
            ("no address", &[]),
        ] {
            assert_eq!(parts(text), expect, "{text}");
        }
    }

    #[test]
    fn only_what_a_text_may_lead_to_is_an_address() {
        for (text, expect) in [
            ("https://a.example", true),
            ("mailto:a@b.example", true),
            ("file:///etc/passwd", false),
            ("javascript:alert(1)", false),
            ("https://a\x1b\\b", false),
            ("https://a b", false),
        ] {
            assert_eq!(address(text).is_some(), expect, "{text}");
        }
    }

    #[test]
    fn files_are_looked_for_where_the_project_lies() {
        let links = Links::on("box", "/home/ann/my shop");
        let away = Links::default();
        for (name, expect) in [
            ("src/ü.rs", "file://box/home/ann/my%20shop/src/%C3%BC.rs"),
            ("/etc/hosts", "file://box/etc/hosts"),
        ] {
            let target = path(name).unwrap();
            assert_eq!(links.address(&target).as_deref(), Some(expect));
            assert_eq!(away.address(&target), None);
        }
        assert_eq!(path("~/x"), None);
        let mut out = String::new();
        away.write(&mut out, "https://a.example", |out| out.push('x'));
        assert!(
            out.ends_with(";https://a.example\x1b\\x\x1b]8;;\x1b\\"),
            "{out:?}"
        );
    }
}
