//! What becomes of pages, good, odd and hostile.

use super::*;
use url::Url;

const HTML: &str = "text/html; charset=utf-8";

fn page(media_type: &str, body: impl Into<Vec<u8>>) -> Page {
    Page {
        url: Url::parse("http://site.example/docs/").unwrap(),
        status: 200,
        media_type: media_type.into(),
        body: body.into(),
        cut: false,
    }
}

fn read(media_type: &str, body: impl Into<Vec<u8>>) -> (String, String) {
    readable(&page(media_type, body))
}

fn paragraphs(count: usize) -> String {
    "<p>A paragraph with enough words, and commas, to count as part of an article.</p>"
        .repeat(count)
}

#[test]
fn an_article_leaves_its_surroundings() {
    let html = format!(
        "<html><head><title>The title</title></head><body><nav><a href=/a>Home</a></nav>\
         <article><h2>Part</h2>{}<p>See <a href='next'>next</a> and <code>x < y</code>.</p></article>\
         <script>var a = '<p>x</p>';</script></body></html>",
        paragraphs(10)
    );
    let (title, content) = read(HTML, html);
    assert_eq!(title, "The title");
    assert!(content.starts_with("## Part"), "{content}");
    assert!(
        content.ends_with("See [next](http://site.example/docs/next) and `x < y`."),
        "{content}"
    );
    assert!(!content.contains("Home") && !content.contains("var a"));
}

#[test]
fn a_page_without_an_article_is_taken_whole() {
    let links: String = (1..=60)
        .map(|n| format!("<li><a href=/{n}>Chapter {n}</a></li>"))
        .collect();
    for (html, expect) in [
        (
            format!("<title>Index</title><body><h1>All</h1><ul>{links}</ul>"),
            "[Chapter 60](http://site.example/60)",
        ),
        (
            "<title>T</title><body><h1>Not found</h1>".into(),
            "Not found",
        ),
        ("just text".into(), "just text"),
    ] {
        let (_, content) = read(HTML, html);
        assert!(content.contains(expect), "{content}");
    }
    assert_eq!(
        read(HTML, "<html><body><div id=root></div></body></html>").1,
        ""
    );
}

#[test]
fn what_is_text_is_shown_and_the_rest_named() {
    let binary: Vec<u8> = (0..=255).collect();
    for (media_type, body, expect) in [
        ("text/plain", b"a < b".to_vec(), "a < b"),
        ("application/json", b"{\"a\": 1}".to_vec(), "{\"a\": 1}"),
        ("application/x-yaml", b"a: 1".to_vec(), "a: 1"),
        (
            "application/octet-stream",
            b"#!/bin/sh".to_vec(),
            "#!/bin/sh",
        ),
        ("", b"plain".to_vec(), "plain"),
        ("", b" <p>marked up".to_vec(), "marked up"),
        (
            "image/png",
            b"ascii".to_vec(),
            "(image/png, 5 bytes, not shown)",
        ),
        (
            "text/plain",
            binary.clone(),
            "(text/plain, 256 bytes, not shown)",
        ),
        ("", binary, "(binary data, 256 bytes, not shown)"),
        (
            "application/pdf",
            b"%PDF-1.7\n\xff".to_vec(),
            "(application/pdf, 10 bytes, not shown)",
        ),
    ] {
        assert_eq!(read(media_type, body).1, expect, "{media_type}");
    }
}

/// Each of these, only larger, once took minutes or the stack.
#[test]
fn a_page_that_is_only_markup_is_read_all_the_same() {
    let styles: String = (0..3_000).map(|n| format!("<p><b a={n}>")).collect();
    for html in [
        "<div>".repeat(5_000) + "found",
        "<b>".repeat(5_000) + "found",
        styles + "found",
        "<ul><li>".repeat(2_000) + "found",
        "<table><tr><td>".repeat(2_000) + "found",
        "<svg><g>".repeat(2_000) + "</svg>found",
        "<!--".repeat(5_000) + "--><p>found",
        "<a href='".repeat(5_000) + "'>found",
    ] {
        let start: String = html.chars().take(20).collect();
        let (_, content) = read(HTML, html);
        assert!(content.contains("found"), "{start}: {content}");
    }
}

#[test]
fn the_cap_counts_characters() {
    for (text, expect) in [
        ("é".repeat(MAX_CHARS), 2 * MAX_CHARS),
        ("汉".repeat(MAX_CHARS + 1), 3 * MAX_CHARS),
        ("a".repeat(9 * MAX_CHARS), MAX_CHARS),
        (String::new(), 1),
    ] {
        assert_eq!(cap(&text), expect);
    }
}

#[test]
fn an_empty_page_says_so() {
    let rendered = |status: u16, title: &str, content: &str| {
        FetchUrl::render(&json!({"status": status, "title": title, "content": content})).text
    };
    assert_eq!(rendered(200, "", ""), "(no text)");
    assert_eq!(
        rendered(404, "Gone", "Try /new"),
        "HTTP 404\n# Gone\n\nTry /new"
    );
}
