//! `fetch_url`: one page, its readable part as Markdown.

use super::text;
use super::web::{self, Page, Tamed};
use crate::cut::cut_text;
use crate::tool::{Context, Done, Rendered, Scope, Subject, ToolError, ToolSettings, Typed};
use dom_smoothie::{Config, Readability, TextMode};
use ostler_wire::Access;
use ostler_wire::{ResultForm, ToolDeclaration, ToolKind, Word};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Copy)]
pub struct FetchUrl;

/// Of the content.
const MAX_CHARS: usize = 8_000;
const MAX_TITLE: usize = 200;
/// A page that takes longer to read is not worth it.
const READING: Duration = Duration::from_secs(20);

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    pub url: String,
}

impl Typed for FetchUrl {
    type Args = Args;
    type Uses = Arc<ToolSettings>;
    const NAME: &'static str = "fetch_url";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Net)
        .result(ResultForm::Page)
        .question(Word::WantsToFetch)
        .aliases(&["web_fetch", "webfetch"])
        .common_name("WebFetch");
    const PROSE: &'static str = include_str!("fetch_url.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Net(web::parse(&args.url)?.1)])
    }

    fn subject(args: &Args) -> Subject {
        args.url.as_str().into()
    }

    async fn run(&self, args: Args, cx: Context<Arc<ToolSettings>>) -> Result<Done, ToolError> {
        let (url, _) = web::parse(&args.url)?;
        let page = web::get(url, &cx).await?;
        let (status, url, cut) = (page.status, page.url.to_string(), page.cut);
        let reading = tokio::task::spawn_blocking(move || readable(&page));
        let (title, mut content) = match tokio::time::timeout(READING, reading).await {
            Ok(Ok(read)) => read,
            Ok(Err(_)) | Err(_) => {
                return Err(ToolError::new(
                    "fetch_error",
                    "The page could not be read as text. Look at it with a program, through bash.",
                ));
            }
        };
        if cut {
            content.push_str(&format!(
                "\n\n[The page is larger than {} bytes; the rest was not fetched.]",
                web::MAX_BODY
            ));
        }
        let name = format!("{}.md", cx.call_id);
        let content = cut_text(&content, cap(&content), &cx.artifacts, &name);
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
        match text("content") {
            "" => out.push_str("(no text)"),
            content => out.push_str(content),
        }
        out.into()
    }
}

/// The bytes that are about as many as the characters that may be shown.
fn cap(content: &str) -> usize {
    match content.char_indices().nth(MAX_CHARS) {
        Some((bytes, _)) => bytes,
        None => content.len().max(1),
    }
}

/// Title and text of a page; anything that is not text is named.
fn readable(page: &Page) -> (String, String) {
    let media = page.media();
    if !is_text(page) {
        let media = if media.is_empty() {
            "binary data"
        } else {
            media
        };
        return (
            String::new(),
            format!("({media}, {} bytes, not shown)", page.body.len()),
        );
    }
    let text = page.text();
    let looks_like_html = text.trim_start().starts_with('<');
    if !(media.contains("html") || media.is_empty() && looks_like_html) {
        return (String::new(), text);
    }
    let Tamed { html, whole } = web::tame(&text);
    let document = || {
        let config = Config {
            text_mode: TextMode::Markdown,
            ..Config::default()
        };
        Readability::new(html.as_str(), Some(page.url.as_str()), Some(config))
    };
    let Ok(mut parsed) = document() else {
        return (String::new(), text);
    };
    let title = parsed.get_article_title().chars().take(MAX_TITLE).collect();
    // Looking for the article takes long where much is nested deeply.
    let article = whole.then(|| parsed.parse().ok()).flatten();
    let content = match article.map(|a| a.text_content) {
        Some(text) if !text.trim().is_empty() => text.to_string(),
        // Pages without an article (lists, documentation indexes) are taken whole.
        Some(_) | None => document()
            .ok()
            .and_then(|whole| Some(whole.doc.body()?.md(None).to_string()))
            .unwrap_or_default(),
    };
    (title, content.trim().to_owned())
}

/// By its media type, or, where that says little, by its bytes.
fn is_text(page: &Page) -> bool {
    let media = page.media();
    if text::binary(&page.body).is_some() {
        return false;
    }
    media.starts_with("text/")
        || ["json", "xml", "html", "javascript", "yaml", "toml"]
            .iter()
            .any(|kind| media.ends_with(kind))
        || !["image/", "audio/", "video/", "font/"]
            .iter()
            .any(|kind| media.starts_with(kind))
            && std::str::from_utf8(&page.body).is_ok()
}

#[cfg(test)]
mod tests;
