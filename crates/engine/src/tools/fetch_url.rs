//! `fetch_url`: one page, its readable part as Markdown.

use super::web::{self, Page};
use crate::cut::cut_text;
use crate::tool::{Context, Done, Rendered, Scope, ToolError, Typed};
use dom_smoothie::{Config, Readability, TextMode};
use ostler_wire::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub struct FetchUrl;

/// Of the content.
const MAX_CHARS: usize = 8_000;
/// A page with more elements is not worth the time.
const MAX_ELEMENTS: usize = 50_000;

#[derive(Deserialize, JsonSchema)]
pub struct Args {
    pub url: String,
}

impl Typed for FetchUrl {
    type Args = Args;
    const NAME: &'static str = "fetch_url";
    const PROSE: &'static str = include_str!("fetch_url.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Net(web::parse(&args.url)?.1)])
    }

    async fn run(&self, args: Args, cx: Context) -> Result<Done, ToolError> {
        let (url, _) = web::parse(&args.url)?;
        let page = web::get(url, &cx).await?;
        let (status, url, cut) = (page.status, page.url.to_string(), page.cut);
        let (title, content) = tokio::task::spawn_blocking(move || readable(page))
            .await
            .map_err(|_| ToolError::new("fetch_error", "The page could not be read as text."))?;
        let content = cut_text(
            &content,
            MAX_CHARS,
            &cx.artifacts,
            &format!("{}.md", cx.call_id),
        );
        Ok(json!({
            "url": url,
            "status": status,
            "title": title,
            "content": content.text,
            "truncated": content.truncated || cut,
            "artifact": content.artifact,
        })
        .into())
    }

    fn render(data: &Value) -> Rendered {
        let text = |key: &str| data[key].as_str().unwrap_or_default();
        let mut out = String::new();
        if data["status"] != 200 {
            out.push_str(&format!("HTTP {}\n", data["status"]));
        }
        if !text("title").is_empty() {
            out.push_str(&format!("# {}\n\n", text("title")));
        }
        out.push_str(text("content"));
        out.into()
    }
}

/// Title and text of a page; anything that is not text is named.
fn readable(page: Page) -> (String, String) {
    let media = page
        .media_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned();
    let looks_like_html = page.body.trim_ascii_start().starts_with(b"<");
    let is_text = media.starts_with("text/")
        || media.ends_with("json")
        || media.ends_with("xml")
        || media.ends_with("javascript")
        || media.is_empty();
    if !is_text {
        return (
            String::new(),
            format!("({media}, {} bytes, not shown)", page.body.len()),
        );
    }
    let text = decode(&page.body, &page.media_type);
    if !(media.contains("html") || (media.is_empty() && looks_like_html)) {
        return (String::new(), text);
    }
    let config = || Config {
        text_mode: TextMode::Markdown,
        max_elements_to_parse: MAX_ELEMENTS,
        ..Config::default()
    };
    let Ok(mut parsed) = Readability::new(text.as_str(), Some(page.url.as_str()), Some(config()))
    else {
        return (String::new(), text);
    };
    let title = parsed.get_article_title().to_string();
    match parsed.parse() {
        Ok(article) if !article.text_content.trim().is_empty() => {
            (title, article.text_content.trim().to_owned())
        }
        // Pages without an article (lists, documentation indexes) are taken whole.
        Ok(_) | Err(_) => {
            let whole = Readability::new(text.as_str(), Some(page.url.as_str()), Some(config()))
                .map(|r| {
                    r.doc
                        .body()
                        .map(|b| b.md(None).to_string())
                        .unwrap_or_default()
                })
                .unwrap_or_default();
            (title, whole.trim().to_owned())
        }
    }
}

fn decode(body: &[u8], media_type: &str) -> String {
    let named = media_type
        .split("charset=")
        .nth(1)
        .and_then(|c| encoding_rs::Encoding::for_label(c.trim_matches(['"', ' ', ';']).as_bytes()));
    named
        .unwrap_or(encoding_rs::UTF_8)
        .decode(body)
        .0
        .into_owned()
}
