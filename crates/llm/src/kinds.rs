//! The registry of protocols and the providers that are compiled in: rows of `data/providers.toml`, read when first asked for.
//! Nothing here knows a vendor by name.

use crate::address::{split_query, without_secrets};
use crate::{Codec, Error, Quirks, Target, codec, rows};
use ostler_wire::{Why, Word};
use serde::Deserialize;
use std::sync::OnceLock;
use url::Url;

const TABLE: &str = include_str!("../data/providers.toml");

/// How requests of one kind are written, addressed and signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    pub name: String,
    pub protocol: Protocol,
    /// Appended to the base URL; `{model}` stands for the model's name.
    pub path: String,
    /// The path of an answer that is not streamed, where it differs.
    pub whole_path: Option<String>,
    pub auth: Auth,
    pub headers: Vec<(String, String)>,
    /// A `tool_choice` that was not there before makes the cached messages worthless.
    pub choice_breaks_cache: bool,
}

/// Which codec speaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Chat,
    Responses,
    Messages,
    Gemini,
    /// Ours, for plugins.
    Lines,
}

/// Where the key goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    Bearer,
    Header(String),
    None,
}

/// A provider that needs no configuration beside its key.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuiltinProvider {
    pub name: String,
    pub kind: String,
    #[serde(default)]
    pub base_url: String,
    #[serde(default)]
    pub models: Vec<String>,
    /// The model that is taken when only the provider is named; the first of `models` when empty.
    #[serde(default)]
    pub default: String,
    #[serde(default)]
    pub api_key_env: Option<String>,
    #[serde(default)]
    pub base_url_env: Option<String>,
    #[serde(default)]
    pub quirks: toml::Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KindRow {
    name: String,
    codec: Protocol,
    #[serde(default)]
    path: String,
    whole_path: Option<String>,
    #[serde(default)]
    auth: String,
    #[serde(default)]
    headers: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    choice_breaks_cache: bool,
}

#[derive(Deserialize)]
struct HostRule {
    quirks: toml::Table,
}

#[derive(Deserialize)]
struct ModelRule {
    kind: Option<String>,
    quirks: toml::Table,
}

/// Looks a kind up by its name in the configuration.
pub fn kind(name: &str) -> Option<&'static Kind> {
    kinds().iter().find(|kind| kind.name == name)
}

/// Every kind, in file order.
pub fn kinds() -> &'static [Kind] {
    static KINDS: OnceLock<Vec<Kind>> = OnceLock::new();
    KINDS.get_or_init(|| {
        rows::rows(TABLE, "kind")
            .filter_map(rows::parse::<KindRow>)
            .map(Kind::from)
            .collect()
    })
}

/// In the order in which a key in the environment is looked for.
pub fn builtin_providers() -> &'static [BuiltinProvider] {
    static PROVIDERS: OnceLock<Vec<BuiltinProvider>> = OnceLock::new();
    PROVIDERS.get_or_init(|| {
        rows::rows(TABLE, "provider")
            .filter_map(rows::parse)
            .collect()
    })
}

/// The quirks of a model at an endpoint: what is known of the host, then of the model, then each of `layers` over that.
pub fn quirks(
    kind: &str,
    base_url: &str,
    model: &str,
    layers: &[&toml::Table],
) -> Result<Quirks, Error> {
    let host = Url::parse(base_url)
        .ok()
        .and_then(|url| url.host_str().map(str::to_ascii_lowercase))
        .unwrap_or_default();
    let mut merged = toml::Table::new();
    for row in rows::rows(TABLE, "quirk_rule") {
        // Most rows are passed over by a look at the text.
        let is_near = row
            .split('"')
            .nth(1)
            .is_some_and(|part| host.contains(part));
        if is_near && let Some(rule) = rows::parse::<HostRule>(row) {
            merged.extend(rule.quirks);
        }
    }
    let model = model.to_lowercase();
    let by_model = rows::rows(TABLE, "model_quirk")
        .filter(|row| rows::fits(row, &model))
        .filter_map(rows::parse::<ModelRule>)
        .find(|rule| rule.kind.as_deref().is_none_or(|only| only == kind));
    merged.extend(by_model.map(|rule| rule.quirks).unwrap_or_default());
    for layer in layers {
        merged.extend((*layer).clone());
    }
    merged.try_into().map_err(|error: toml::de::Error| {
        let values = [model.into(), base_url.into(), error.to_string().into()];
        Error::fatal(Why::ours(Word::LlmBadQuirks, values))
    })
}

impl From<KindRow> for Kind {
    fn from(row: KindRow) -> Self {
        let auth = match (row.auth.as_str(), row.auth.strip_prefix("header:")) {
            (_, Some(name)) => Auth::Header(name.to_owned()),
            ("bearer", None) => Auth::Bearer,
            (_, None) => Auth::None,
        };
        Self {
            name: row.name,
            protocol: row.codec,
            path: row.path,
            whole_path: row.whole_path,
            auth,
            headers: row.headers.into_iter().collect(),
            choice_breaks_cache: row.choice_breaks_cache,
        }
    }
}

impl Kind {
    pub fn codec(&self) -> &'static dyn Codec {
        match self.protocol {
            Protocol::Chat => &codec::Chat,
            Protocol::Responses => &codec::Responses,
            Protocol::Messages => &codec::Messages,
            Protocol::Gemini => &codec::Gemini,
            Protocol::Lines => &codec::Lines,
        }
    }

    /// The address of a request. A base URL that already ends with the beginning of the path is not doubled.
    pub fn url(&self, target: &Target) -> Result<Url, Error> {
        let template = match (&self.whole_path, target.stream) {
            (Some(whole), false) => whole,
            (Some(_) | None, _) => &self.path,
        };
        let (path, query) = split_query(template);
        let (base, base_query) = split_query(&target.base_url);
        let base = base.trim_end_matches('/');
        let path = path.replace("{model}", &path_segment(&target.origin.model));
        let mut text = format!("{base}{}", path.get(overlap(base, &path)..).unwrap_or(""));
        let queries: Vec<&str> = [base_query, query]
            .into_iter()
            .filter(|q| !q.is_empty())
            .collect();
        if !queries.is_empty() {
            text.push('?');
            text.push_str(&queries.join("&"));
        }
        let provider = || Why::from(target.origin.provider.as_str());
        let base_shown = || Why::from(without_secrets(&target.base_url));
        let read = |text: &str| {
            Url::parse(text).map_err(|error| {
                let why = error.to_string().into();
                Error::fatal(Why::ours(Word::LlmBadBase, [provider(), base_shown(), why]))
            })
        };
        let url = read(base).and_then(|_| read(&text))?;
        match url.scheme() {
            "http" | "https" => Ok(url),
            _ => Err(Error::fatal(Why::ours(
                Word::LlmNotHttp,
                [provider(), base_shown()],
            ))),
        }
    }
}

/// How many bytes at the start of `path`, whole segments only, `base` ends with.
fn overlap(base: &str, path: &str) -> usize {
    let host_end = base.find("://").map_or(0, |at| at + 3);
    let base = base.get(host_end..).unwrap_or("");
    path.match_indices('/')
        .map(|(at, _)| at)
        .chain([path.len()])
        .filter(|end| *end > 0)
        .filter(|end| path.get(..*end).is_some_and(|start| base.ends_with(start)))
        .max()
        .unwrap_or(0)
}

/// A model's name inside a path. `/` and `:` are part of such names and legal there.
fn path_segment(name: &str) -> String {
    use std::fmt::Write;
    name.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(byte.into()),
            b'-' | b'.' | b'_' | b'~' | b'/' | b':' | b'@' => out.push(byte.into()),
            _ => _ = write!(out, "%{byte:02X}"),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo;
    use ostler_wire::Origin;

    #[derive(Deserialize)]
    struct Table {
        kind: Vec<toml::Table>,
        provider: Vec<toml::Table>,
        quirk_rule: Vec<toml::Table>,
        model_quirk: Vec<toml::Table>,
    }

    fn whole() -> Table {
        toml::from_str(TABLE).unwrap()
    }

    fn target(base_url: &str, model: &str, stream: bool) -> Target {
        Target {
            stream,
            ..Target::new(
                Origin {
                    provider: "p".into(),
                    model: model.into(),
                },
                "",
                base_url,
            )
        }
    }

    #[test]
    fn every_row_of_the_table_is_read() {
        let whole = whole();
        assert_eq!(kinds().len(), whole.kind.len());
        assert_eq!(builtin_providers().len(), whole.provider.len());
        for provider in builtin_providers() {
            let kind = kind(&provider.kind).expect("a kind of the table");
            assert_eq!(kind.auth == Auth::None, kind.name == demo::KIND);
            assert!(
                provider.models.contains(&provider.default),
                "{}",
                provider.name
            );
            assert_eq!(provider.base_url.is_empty(), kind.name == demo::KIND);
        }
        for kind in kinds() {
            kind.codec();
        }
    }

    #[test]
    fn every_quirk_of_the_table_is_understood() {
        let whole = whole();
        let rows = whole
            .provider
            .iter()
            .chain(&whole.quirk_rule)
            .chain(&whole.model_quirk);
        for row in rows {
            let Some(quirks) = row.get("quirks") else {
                continue;
            };
            let read: Quirks = quirks
                .clone()
                .try_into()
                .unwrap_or_else(|error| panic!("{row:?}: {error}"));
            assert!(read.unknown.is_empty(), "{row:?}: {:?}", read.unknown);
        }
    }

    #[test]
    fn quirks_come_by_host_then_model_then_config() {
        for row in &whole().quirk_rule {
            let host = row["host_contains"].as_str().unwrap();
            let url = format!("https://x{host}y.example/v1");
            let expect: Quirks = row["quirks"].clone().try_into().unwrap();
            assert_eq!(
                quirks("openai", &url, "unknown-model", &[]),
                Ok(expect),
                "{url}"
            );
        }
        let layer: toml::Table = toml::from_str("stream_usage = false").unwrap();
        let found = quirks("openai", "http://127.0.0.1/v1", "m", &[&layer]).unwrap();
        assert!(!found.stream_usage);
        let layer: toml::Table = toml::from_str("stream_usage = 3").unwrap();
        let error = quirks("openai", "http://127.0.0.1/v1", "m", &[&layer]).unwrap_err();
        assert!(error.to_string().contains("cannot be read"), "{error}");
    }

    #[test]
    fn addresses() {
        let kind = Kind {
            name: "k".into(),
            protocol: Protocol::Chat,
            path: "/v1/models/{model}:stream?alt=sse".into(),
            whole_path: Some("/v1/models/{model}:whole".into()),
            auth: Auth::None,
            headers: Vec::new(),
            choice_breaks_cache: false,
        };
        for (base, model, stream, expect) in [
            ("http://h", "m", true, "http://h/v1/models/m:stream?alt=sse"),
            ("http://h/", "m", false, "http://h/v1/models/m:whole"),
            ("http://h/v1", "m", false, "http://h/v1/models/m:whole"),
            (
                "http://h/v1/models",
                "m",
                false,
                "http://h/v1/models/m:whole",
            ),
            (
                "http://h/v1/models/m:whole",
                "m",
                false,
                "http://h/v1/models/m:whole",
            ),
            ("http://h/xv1", "m", false, "http://h/xv1/v1/models/m:whole"),
            ("http://v1", "m", false, "http://v1/v1/models/m:whole"),
            (
                "http://h/p?a=1",
                "m",
                true,
                "http://h/p/v1/models/m:stream?a=1&alt=sse",
            ),
            (
                "http://h",
                "a b?é",
                false,
                "http://h/v1/models/a%20b%3F%C3%A9:whole",
            ),
            (
                "http://[::1]:80",
                "x/y:z",
                false,
                "http://[::1]/v1/models/x/y:z:whole",
            ),
        ] {
            let url = kind.url(&target(base, model, stream)).unwrap();
            assert_eq!(url.as_str(), expect, "{base} {model}");
        }
        for base in ["", "h", "//h", "file:///etc", "http://"] {
            assert!(kind.url(&target(base, "m", true)).is_err(), "{base}");
        }
    }
}
