//! `web_search`: titles, addresses and snippets from a search page. Which page is configuration.

use super::web;
use crate::tool::{Context, Done, Rendered, Scope, Subject, ToolError, ToolSettings, Typed};
use ostler_wire::Access;
use ostler_wire::{CallVerb, ResultForm, ToolDeclaration, ToolKind, ToolMark, Word};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use url::Url;

#[derive(Clone, Copy)]
pub struct WebSearch;

const MAX_RESULTS: usize = 8;
const MAX_SNIPPET: usize = 300;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    pub query: String,
}

impl Typed for WebSearch {
    type Args = Args;
    type Uses = Arc<ToolSettings>;
    const NAME: &'static str = "web_search";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Net)
        .verb(CallVerb::SearchWeb)
        .result(ResultForm::WebResults)
        .question(Word::WantsToSearch)
        .aliases(&["websearch"])
        .common_name("WebSearch")
        .marks(&[ToolMark::Deferred]);
    const PROSE: &'static str = include_str!("web_search.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        if args.query.trim().is_empty() {
            return Err(ToolError::new("invalid_input", "The query is empty."));
        }
        // The endpoint is configuration, so the rule is about searching, not about a host the model chose.
        Ok(vec![Access::Net("web search".into())])
    }

    fn subject(args: &Args) -> Subject {
        args.query.as_str().into()
    }

    async fn run(&self, args: Args, cx: Context<Arc<ToolSettings>>) -> Result<Done, ToolError> {
        let url = address(&cx.services.search_url, &args.query)?;
        let page = web::get(url, &cx).await?;
        if page.status != 200 {
            let message = format!(
                "The search page answered with HTTP {}. Try again later, or set [tools.web] search_url.",
                page.status
            );
            return Err(ToolError::new("search_error", message));
        }
        let base = page.url.clone();
        let results =
            tokio::task::spawn_blocking(move || results(&web::tame(&page.text()).html, &base))
                .await
                .map_err(|_| {
                    ToolError::new("search_error", "The search page could not be read.")
                })?;
        Ok(json!({ "results": results }).into())
    }

    fn render(data: &Value) -> Rendered {
        let results = data["results"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        if results.is_empty() {
            return "No results. Use other or fewer words.".to_owned().into();
        }
        let lines: Vec<String> = results
            .iter()
            .map(|r| {
                let text = |key: &str| r[key].as_str().unwrap_or_default();
                format!("{}\n{}\n{}", text("title"), text("url"), text("snippet"))
            })
            .collect();
        lines.join("\n\n").into()
    }
}

fn address(endpoint: &str, query: &str) -> Result<Url, ToolError> {
    let encoded: String = url::form_urlencoded::byte_serialize(query.trim().as_bytes()).collect();
    let text = match endpoint.contains("{query}") {
        true => endpoint.replace("{query}", &encoded),
        false => {
            let joint = if endpoint.contains('?') { '&' } else { '?' };
            format!("{endpoint}{joint}q={encoded}")
        }
    };
    Ok(web::parse(&text)?.0)
}

/// Reads the page: result blocks where it has them, else any list of links away from the search engine.
fn results(html: &str, base: &Url) -> Vec<Value> {
    let document = dom_query::Document::from(html);
    let text = |node: &dom_query::Selection<'_>| {
        let words: Vec<String> = node.text().split_whitespace().map(str::to_owned).collect();
        words
            .join(" ")
            .chars()
            .take(MAX_SNIPPET)
            .collect::<String>()
    };
    let blocks = document.select(".result, .results > article, li.b_algo, .web-result");
    let mut out: Vec<Value> = Vec::new();
    for block in blocks.iter() {
        let link = block
            .select("a.result__a, h2 a, h3 a, a.result-title")
            .first();
        let link = if link.exists() {
            link
        } else {
            block.select("a[href]").first()
        };
        let snippet = block
            .select(".result__snippet, .snippet, p, .content")
            .first();
        if let Some(url) = link.attr("href").and_then(|h| target(&h, base)) {
            push(&mut out, text(&link), url, text(&snippet));
        }
    }
    if out.is_empty() {
        for link in document.select("a[href]").iter() {
            let away = link
                .attr("href")
                .and_then(|h| target(&h, base))
                .filter(|u| Url::parse(u).is_ok_and(|u| u.host_str() != base.host_str()));
            if let Some(url) = away {
                push(&mut out, text(&link), url, String::new());
            }
        }
    }
    out
}

fn push(out: &mut Vec<Value>, title: String, url: String, snippet: String) {
    let is_new = !out.iter().any(|r| r["url"] == url.as_str());
    if out.len() < MAX_RESULTS && is_new && !title.is_empty() {
        out.push(json!({"title": title, "url": url, "snippet": snippet}));
    }
}

/// Where a result leads; search engines wrap it in a redirect of their own.
fn target(href: &str, base: &Url) -> Option<String> {
    let url = base.join(href).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let wrapped = url
        .query_pairs()
        .find(|(k, v)| k == "uddg" && v.starts_with("http"));
    match wrapped {
        Some((_, inner)) => Some(inner.into_owned()),
        None => Some(url.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_blocks_and_plain_links() {
        let base = Url::parse("https://search.example/html/").unwrap();
        let page = r#"<div class="result"><h2><a class="result__a" href="//search.example/l/?uddg=https%3A%2F%2Frust-lang.org%2F&x=1">Rust <b>language</b></a></h2>
            <a class="result__snippet" href="x">A  language
            empowering everyone</a></div>
            <div class="result"><a class="result__a" href="javascript:alert(1)">bad</a></div>"#;
        assert_eq!(
            results(page, &base),
            [
                json!({"title": "Rust language", "url": "https://rust-lang.org/", "snippet": "A language empowering everyone"})
            ]
        );
        let plain = r#"<a href="/about">us</a><a href="https://docs.rs/x">docs</a><a href="https://docs.rs/x">again</a>"#;
        assert_eq!(
            results(plain, &base),
            [json!({"title": "docs", "url": "https://docs.rs/x", "snippet": ""})]
        );
        assert!(results("\u{0}<<<>>>", &base).is_empty());
    }

    #[test]
    fn addresses() {
        for (endpoint, expect) in [
            (
                "https://s.example/?q={query}",
                "https://s.example/?q=a+b%26c",
            ),
            (
                "https://s.example/search",
                "https://s.example/search?q=a+b%26c",
            ),
            (
                "https://s.example/?lang=en",
                "https://s.example/?lang=en&q=a+b%26c",
            ),
        ] {
            assert_eq!(address(endpoint, " a b&c ").unwrap().as_str(), expect);
        }
    }
}
