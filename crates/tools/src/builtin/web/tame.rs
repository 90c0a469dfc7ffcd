//! Markup cut down to what a document tree can be made of in bounded time, memory and stack: nesting, open text styles
//! and the number of tags have limits, and tags beyond them are left out. The text stays. It is no parser. Pure, linear.

use std::ops::Range;

/// Elements inside each other; pages written by people have far fewer.
const MAX_DEPTH: usize = 100;
/// Text styles open at once: a parser opens each of them again in every later paragraph.
const MAX_STYLES: usize = 8;
const MAX_TAGS: usize = 20_000;
/// Longer names are nobody's elements.
const MAX_NAME: usize = 32;

/// Elements without content.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
/// Elements that end where the next of their kind begins, so that they cannot pile up by themselves.
const SELF_ENDING: &[&str] = &[
    "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option", "optgroup",
    "colgroup", "caption", "html", "head", "body",
];
const STYLES: &[&str] = &[
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];
/// Elements whose content is text up to their end tag, whatever it looks like.
const RAW: &[&str] = &[
    "script",
    "style",
    "title",
    "textarea",
    "xmp",
    "iframe",
    "noembed",
    "noframes",
    "plaintext",
];

/// Markup within the limits, and whether all of it was.
pub struct Tamed {
    pub html: String,
    pub whole: bool,
}

pub fn tame(html: &str) -> Tamed {
    let mut out = String::with_capacity(html.len());
    let mut open = Open::default();
    let (mut at, mut tags, mut whole) = (0, 0, true);
    while let Some(start) = html.get(at..).and_then(|rest| rest.find('<')) {
        let start = at + start;
        out.push_str(html.get(at..start).unwrap_or_default());
        let Some(markup) = markup(html, start) else {
            out.push('<');
            at = start + 1;
            continue;
        };
        at = markup.span.end;
        let keep = tags < MAX_TAGS
            && match markup.kind {
                Kind::Comment => false,
                Kind::Other => true,
                Kind::Start => open.start(&markup.name),
                Kind::End => open.end(&markup.name),
            };
        if keep {
            tags += 1;
            out.push_str(html.get(markup.span.clone()).unwrap_or_default());
        } else {
            whole &= markup.kind != Kind::Start;
            // What stood on either side does not become one word.
            if !out.ends_with(' ') {
                out.push(' ');
            }
        }
        if markup.kind == Kind::Start && RAW.contains(&markup.name.as_str()) {
            let end = end_of_raw(html, at, &markup.name);
            if keep {
                out.push_str(html.get(at..end).unwrap_or_default());
            }
            at = end;
        }
    }
    out.push_str(html.get(at..).unwrap_or_default());
    Tamed { html: out, whole }
}

/// The elements that are open, as far as they count.
#[derive(Default)]
struct Open {
    names: Vec<String>,
    styles: usize,
}

impl Open {
    fn start(&mut self, name: &str) -> bool {
        if [VOID, SELF_ENDING, RAW].iter().any(|l| l.contains(&name)) {
            return true;
        }
        let is_style = STYLES.contains(&name);
        if self.names.len() == MAX_DEPTH || is_style && self.styles == MAX_STYLES {
            return false;
        }
        self.styles += usize::from(is_style);
        self.names.push(name.to_owned());
        true
    }

    /// Ends everything inside too. An end without its start means nothing.
    fn end(&mut self, name: &str) -> bool {
        if [SELF_ENDING, RAW].iter().any(|l| l.contains(&name)) {
            return true;
        }
        let Some(at) = self.names.iter().rposition(|open| open == name) else {
            return false;
        };
        self.names.truncate(at);
        self.styles = self
            .names
            .iter()
            .filter(|n| STYLES.contains(&n.as_str()))
            .count();
        true
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Start,
    End,
    Comment,
    /// A document type and the like.
    Other,
}

struct Markup {
    kind: Kind,
    /// In lower case; empty for what is no element.
    name: String,
    span: Range<usize>,
}

/// What begins at the `<` at `start`; `None` when it is only a character.
fn markup(html: &str, start: usize) -> Option<Markup> {
    let rest = html.get(start..)?;
    let up_to = |end: usize| start..start + end;
    if let Some(comment) = rest.strip_prefix("<!--") {
        let end = comment_end(comment).map_or(rest.len(), |end| "<!--".len() + end);
        return Some(Markup {
            kind: Kind::Comment,
            name: String::new(),
            span: up_to(end),
        });
    }
    let (kind, name_at) = match rest.as_bytes().get(1)? {
        b'!' | b'?' => (Kind::Other, 2),
        b'/' => (Kind::End, 2),
        b if b.is_ascii_alphabetic() => (Kind::Start, 1),
        _ => return None,
    };
    let name: String = rest
        .get(name_at..)?
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == ':')
        .take(MAX_NAME)
        .collect::<String>()
        .to_ascii_lowercase();
    Some(Markup {
        kind,
        name,
        span: up_to(tag_end(rest)),
    })
}

/// After the end of a comment, in any way that browsers take for one.
fn comment_end(comment: &str) -> Option<usize> {
    for short in [">", "->"] {
        if comment.starts_with(short) {
            return Some(short.len());
        }
    }
    let ends = |at: usize| {
        let before = comment.get(..at).unwrap_or_default();
        before.ends_with("--") || before.ends_with("--!")
    };
    let mut closing = comment.match_indices('>').map(|(at, _)| at);
    closing.find(|at| ends(*at)).map(|at| at + 1)
}

/// After the `>` that ends a tag; one in a quoted value does not.
fn tag_end(tag: &str) -> usize {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            (None | Some(_), _) => {}
        }
    }
    tag.len()
}

/// Where the end tag of a raw element begins.
fn end_of_raw(html: &str, from: usize, name: &str) -> usize {
    let rest = html.get(from..).unwrap_or_default();
    rest.match_indices("</")
        .find(|(at, _)| {
            rest.get(at + 2..at + 2 + name.len())
                .is_some_and(|found| found.eq_ignore_ascii_case(name))
        })
        .map_or(html.len(), |(at, _)| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_pages_stay_as_they_are() {
        for html in [
            "",
            "plain < text & more",
            "<!doctype html><html><head><title>a <b></title></head><body><p>x<p>y<br><img src='a>b'>z</body>",
            "<ul><li>a<li>b</ul><table><tr><td>1<td>2</table>",
            "<div class=\"a\"><a href=\"/x\">l</a></div><script>if (a<b) {}</script>",
            "<p>1 <2 and 3> 4",
            "<B>x</b><svg:path/>",
        ] {
            let Tamed { html: out, whole } = tame(html);
            assert_eq!((out.as_str(), whole), (html, true));
        }
    }

    #[test]
    fn what_piles_up_is_left_out_and_its_text_kept() {
        let tame = |html: &str| {
            let Tamed { html, whole } = super::tame(html);
            assert!(!whole);
            html
        };
        let depth = |html: &str| html.matches("<div>").count();
        let deep = tame(&format!(
            "{}x{}y",
            "<div>".repeat(9_000),
            "</div>".repeat(9_000)
        ));
        assert_eq!(depth(&deep), MAX_DEPTH);
        assert!(deep.contains('x') && deep.ends_with('y'));
        // An end that closes nothing makes no room.
        let tricky = tame(&"<div></b>".repeat(9_000));
        assert_eq!(depth(&tricky), MAX_DEPTH);
        let styles = tame(&"<p><b><i>".repeat(9_000));
        assert_eq!(styles.matches("<p>").count(), 9_000);
        assert_eq!(
            styles.matches("<b>").count() + styles.matches("<i>").count(),
            MAX_STYLES
        );
        let many = tame(&"<p>x".repeat(MAX_TAGS + 5));
        assert_eq!(many.matches("<p>").count(), MAX_TAGS);
        assert_eq!(many.matches('x').count(), MAX_TAGS + 5);
    }

    #[test]
    fn comments_are_nothing() {
        for (html, expect) in [
            ("a<!-- <div> -->b</u>", "a b "),
            ("a<!-->b", "a b"),
            ("a<!--->b-->", "a b-->"),
            ("a<!-- x --!>b", "a b"),
            ("a<!-- never closed", "a "),
        ] {
            let Tamed { html: out, whole } = tame(html);
            assert_eq!((out.as_str(), whole), (expect, true), "{html}");
        }
    }

    proptest::proptest! {
        #[test]
        fn it_takes_anything(html in "[<>/a-c!\"'& é-]{0,80}") {
            let out = tame(&html).html;
            proptest::prop_assert!(out.len() <= html.len() + html.matches('<').count());
        }
    }
}
