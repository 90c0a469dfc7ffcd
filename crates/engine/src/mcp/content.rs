//! What servers answer with, made into results: text cleaned and cut, pictures sized, everything else named. Rendering is
//! pure.

use super::text;
use crate::confine;
use crate::cut::cut_text;
use crate::tool::{Context, Rendered};
use crate::tools::files::picture;
use base64::Engine as _;
use ostler_wire::Image;
use rmcp::model::{ContentBlock, ResourceContents};
use serde_json::{Value, json};

/// Bytes of text that the model gets of one answer.
const MAX_TEXT: usize = 32 * 1024;
/// Pictures of one answer.
const MAX_PICTURES: usize = 8;
/// Characters of one thing that is not text, in base64.
const MAX_ENCODED: usize = 16 * 1024 * 1024;
const MAX_LABEL: usize = 300;

/// An answer in parts.
#[derive(Default)]
pub struct Gathered {
    pub text: String,
    pictures: Vec<String>,
    /// Name and content of what is neither.
    files: Vec<(String, String)>,
}

impl Gathered {
    pub fn new(content: Vec<ContentBlock>, structured: Option<Value>) -> Self {
        let mut out = Self::default();
        for block in content {
            out.take(block);
        }
        if let Some(value) = structured.filter(|value| !value.is_null()) {
            // Most servers say the same once more as text.
            let said: Option<Value> = serde_json::from_str(out.text.trim()).ok();
            if said.as_ref() != Some(&value) {
                out.say(&serde_json::to_string_pretty(&value).unwrap_or_default());
            }
        }
        out
    }

    pub fn say(&mut self, text: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(&text::clean(text));
    }

    fn take(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(block) => self.say(&block.text),
            ContentBlock::Image(block) => self.encoded("picture", &block.mime_type, block.data),
            ContentBlock::Audio(block) => self.encoded("sound", &block.mime_type, block.data),
            ContentBlock::Resource(block) => self.resource(block.resource),
            ContentBlock::ResourceLink(link) => {
                let about = link.description.unwrap_or_default();
                let line = format!("[resource {} {} {about}", link.uri, link.name);
                self.say(&format!("{}]", text::line(&line, MAX_LABEL)));
            }
            // The library may learn of more kinds than we know.
            other => {
                let kind = serde_json::to_value(&other).unwrap_or_default();
                let kind = kind["type"].as_str().unwrap_or("something").to_owned();
                self.say(&format!(
                    "[{} that cannot be shown]",
                    text::line(&kind, MAX_LABEL)
                ));
            }
        }
    }

    pub fn resource(&mut self, resource: ResourceContents) {
        match resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.say(&format!("[resource {}]", text::line(&uri, MAX_LABEL)));
                self.say(&text);
            }
            ResourceContents::BlobResourceContents {
                uri,
                mime_type,
                blob,
                ..
            } => {
                self.say(&format!("[resource {}]", text::line(&uri, MAX_LABEL)));
                let kind = mime_type.unwrap_or_default();
                self.encoded("data", &kind, blob);
            }
            other => {
                let uri = serde_json::to_value(&other).unwrap_or_default();
                let uri = uri["uri"].as_str().unwrap_or_default().to_owned();
                self.say(&format!("[resource {}]", text::line(&uri, MAX_LABEL)));
            }
        }
    }

    fn encoded(&mut self, what: &str, media: &str, data: String) {
        let media = text::line(media, MAX_LABEL);
        if data.len() > MAX_ENCODED {
            return self.say(&format!("[{what}, {media}, too large to be used]"));
        }
        if media.starts_with("image/") && self.pictures.len() < MAX_PICTURES {
            self.pictures.push(data);
        } else {
            self.files.push((format!("{what} {media}"), data));
        }
    }

    /// The result, as it is stored. Long text and what is no text lie beside the log.
    pub async fn finish(mut self, cx: &Context) -> Value {
        let mut images = Vec::new();
        for data in std::mem::take(&mut self.pictures) {
            match prepared(data).await {
                Ok(image) => images.push(json!({ "image": image })),
                Err(why) => self.say(&format!("[picture that cannot be shown: {why}]")),
            }
        }
        for (n, (what, data)) in std::mem::take(&mut self.files).into_iter().enumerate() {
            let bytes = base64::engine::general_purpose::STANDARD.decode(data.trim());
            let kept = bytes.map_err(|e| e.to_string()).and_then(|bytes| {
                let name = format!("{}-{n}.bin", cx.call_id);
                let kept = cx.artifacts.keep(&name, &bytes);
                kept.map_err(|e| e.to_string())
            });
            self.say(&match kept {
                Ok(path) => format!("[{what}: {}]", path.display()),
                Err(why) => format!("[{what} that cannot be kept: {why}]"),
            });
        }
        let name = format!("{}.txt", cx.call_id);
        let text = cut_text(&self.text, MAX_TEXT, &cx.artifacts, &name);
        let mut data = json!({"text": text.text, "truncated": text.truncated});
        if let Some(artifact) = text.artifact {
            data["artifact"] = json!(artifact);
        }
        if !images.is_empty() {
            data["images"] = images.into();
        }
        data
    }
}

async fn prepared(data: String) -> Result<Image, String> {
    let work = move || {
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(data.trim())
            .map_err(|e| e.to_string())?;
        let format = picture::format(&bytes).ok_or("it is no PNG, JPEG, GIF or WebP")?;
        picture::prepare(&bytes, format).map(|picture| picture.image)
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|e| Err(e.to_string()))
}

/// What the model reads of a result.
pub fn render(data: &Value) -> Rendered {
    let images = data.get("images").and_then(Value::as_array);
    let images: Vec<Image> = images
        .into_iter()
        .flatten()
        .filter_map(|item| serde_json::from_value(item.get("image")?.clone()).ok())
        .collect();
    let text = data.get("text").and_then(Value::as_str).unwrap_or_default();
    let text = match (text.is_empty(), images.is_empty()) {
        (true, true) => "(no output)",
        (true, false) | (false, _) => text,
    };
    let mut text = text.to_owned();
    for line in confine::lines(data) {
        text.push('\n');
        text.push_str(&line);
    }
    Rendered { text, images }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Bench;

    /// 1x1.
    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    async fn shown(content: Value, structured: Option<Value>) -> Rendered {
        let cx = Bench::new().context("mcp__s__t");
        let content: Vec<ContentBlock> = serde_json::from_value(content).unwrap();
        render(&Gathered::new(content, structured).finish(&cx).await)
    }

    #[tokio::test]
    async fn every_kind_of_content_is_shown_or_named() {
        let text = |text: &str| json!({"type": "text", "text": text});
        for (content, structured, expect) in [
            (json!([]), None, "(no output)"),
            (json!([text("a\u{1b}[2Jb"), text("c")]), None, "a[2Jb\nc"),
            (json!([]), Some(json!({"n": 1})), "{\n  \"n\": 1\n}"),
            (
                json!([text("{\"n\":1}")]),
                Some(json!({"n": 1})),
                "{\"n\":1}",
            ),
            (json!([text("one")]), Some(json!([1])), "one\n[\n  1\n]"),
            (
                json!([{"type": "resource", "resource": {"uri": "file:///a", "text": "x"}}]),
                None,
                "[resource file:///a]\nx",
            ),
            (
                json!([{"type": "resource_link", "uri": "file:///a", "name": "A"}]),
                None,
                "[resource file:///a A]",
            ),
            (
                json!([{"type": "image", "data": "!", "mimeType": "image/png"}]),
                None,
                "[picture that cannot be shown: Invalid symbol 33, offset 0.]",
            ),
        ] {
            assert_eq!(shown(content, structured).await.text, expect);
        }
        let picture = json!([{"type": "image", "data": PNG, "mimeType": "image/png"}]);
        let picture = shown(picture, None).await;
        assert_eq!((picture.text.as_str(), picture.images.len()), ("", 1));
        let sound = json!([{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]);
        let sound = shown(sound, None).await.text;
        assert!(
            sound.starts_with("[sound audio/wav: ") && sound.ends_with("call-1-0.bin]"),
            "{sound}"
        );
    }

    #[tokio::test]
    async fn long_answers_are_cut_and_kept_whole() {
        let long = "word ".repeat(MAX_TEXT);
        let bench = Bench::new();
        let cx = bench.context("mcp__s__t");
        let mut gathered = Gathered::default();
        gathered.say(&long);
        let data = gathered.finish(&cx).await;
        assert!(data["text"].as_str().unwrap().len() < MAX_TEXT + 500);
        let kept = std::fs::read_to_string(data["artifact"].as_str().unwrap()).unwrap();
        assert_eq!(kept, long);
    }
}
