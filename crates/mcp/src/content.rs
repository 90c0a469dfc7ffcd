//! What servers answer with, in parts: text cleaned, pictures and other data in their encoding, everything else named.
//! Pure.

use crate::text;
use rmcp::model::{ContentBlock, ResourceContents};
use serde_json::Value;

/// Pictures of one answer.
const MAX_PICTURES: usize = 8;
/// Characters of one thing that is not text, in base64.
const MAX_ENCODED: usize = 16 * 1024 * 1024;
const MAX_LABEL: usize = 300;

/// An answer in parts.
#[derive(Default)]
pub struct Content {
    pub text: String,
    /// In base64.
    pub pictures: Vec<String>,
    /// What is neither.
    pub attachments: Vec<Attachment>,
}

/// Data that is neither text nor a picture.
pub struct Attachment {
    /// What it is, and its media type.
    pub label: String,
    /// In base64.
    pub data: String,
}

impl Content {
    pub(crate) fn new(content: Vec<ContentBlock>, structured: Option<Value>) -> Self {
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

    pub(crate) fn resource(&mut self, resource: ResourceContents) {
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
            let label = format!("{what} {media}");
            self.attachments.push(Attachment { label, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(content: Value, structured: Option<Value>) -> Content {
        let content: Vec<ContentBlock> = serde_json::from_value(content).unwrap();
        Content::new(content, structured)
    }

    #[test]
    fn every_kind_of_content_is_text_or_named() {
        let text = |text: &str| json!({"type": "text", "text": text});
        for (content, structured, expect) in [
            (json!([]), None, ""),
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
        ] {
            assert_eq!(read(content, structured).text, expect);
        }
    }

    #[test]
    fn data_is_a_picture_or_an_attachment() {
        let picture = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let sound = json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"});
        let content = read(json!([picture, sound]), None);
        assert_eq!((content.text.as_str(), content.pictures.len()), ("", 1));
        let labels = content.attachments.iter().map(|one| one.label.as_str());
        assert_eq!(labels.collect::<Vec<_>>(), ["sound audio/wav"]);
        let many = read(Value::Array(vec![picture; MAX_PICTURES + 1]), None);
        let counts = (many.pictures.len(), many.attachments.len());
        assert_eq!(counts, (MAX_PICTURES, 1));
        let huge =
            json!([{"type": "audio", "data": "A".repeat(MAX_ENCODED + 1), "mimeType": "a/b"}]);
        assert_eq!(read(huge, None).text, "[sound, a/b, too large to be used]");
    }
}
