//! What a server answered a call with, as it is stored: text cut, pictures sized, other data kept beside the log.

use base64::Engine as _;
use ostler_mcp::Content;
use ostler_store::cut::cut_text;
use ostler_tools::builtin::files::picture;
use ostler_tools::tool::Context;
use ostler_wire::Image;
use serde_json::{Value, json};

/// Bytes of text that the model gets of one answer.
const MAX_TEXT: usize = 32 * 1024;

/// The result, as it is stored. Long text and what is no text lie beside the log.
pub async fn store_content(mut content: Content, cx: &Context) -> Value {
    let mut images = Vec::new();
    for data in std::mem::take(&mut content.pictures) {
        match prepared(data).await {
            Ok(image) => images.push(json!({ "image": image })),
            Err(why) => content.say(&format!("[picture that cannot be shown: {why}]")),
        }
    }
    let attachments = std::mem::take(&mut content.attachments);
    for (n, attachment) in attachments.into_iter().enumerate() {
        let label = attachment.label;
        let bytes = base64::engine::general_purpose::STANDARD.decode(attachment.data.trim());
        let kept = bytes.map_err(|e| e.to_string()).and_then(|bytes| {
            let name = format!("{}-{n}.bin", cx.call_id);
            let kept = cx.artifacts.keep(&name, &bytes);
            kept.map_err(|e| e.to_string())
        });
        content.say(&match kept {
            Ok(path) => format!("[{label}: {}]", path.display()),
            Err(why) => format!("[{label} that cannot be kept: {why}]"),
        });
    }
    let name = format!("{}.txt", cx.call_id);
    let text = cut_text(&content.text, MAX_TEXT, &cx.artifacts, &name);
    let mut data = json!({"text": text.text, "truncated": text.truncated});
    if let Some(artifact) = text.artifact {
        data["artifact"] = json!(artifact);
    }
    if !images.is_empty() {
        data["images"] = images.into();
    }
    data
}

async fn prepared(data: String) -> Result<Image, String> {
    let work = move || {
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(data.trim())
            .map_err(|e| e.to_string())?;
        let format = picture::format(&bytes).ok_or("it is not a PNG, JPEG, GIF or WebP")?;
        picture::prepare(&bytes, format).map(|picture| picture.image)
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|e| Err(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_mcp::Attachment;
    use ostler_tools::builtin::server_result::render;
    use ostler_tools::testing::Bench;
    use ostler_tools::tool::Rendered;

    /// 1x1.
    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    async fn shown(content: Content) -> Rendered {
        let cx = Bench::new().context("mcp__s__t");
        render(&store_content(content, &cx).await)
    }

    #[tokio::test]
    async fn every_part_of_an_answer_is_shown_or_named() {
        let picture = |data: &str| Content {
            pictures: vec![data.into()],
            ..Content::default()
        };
        assert_eq!(shown(Content::default()).await.text, "(no output)");
        assert_eq!(
            shown(picture("!")).await.text,
            "[picture that cannot be shown: Invalid symbol 33, offset 0.]"
        );
        let good = shown(picture(PNG)).await;
        assert_eq!((good.text.as_str(), good.images.len()), ("", 1));
        let sound = Content {
            attachments: vec![Attachment {
                label: "sound audio/wav".into(),
                data: "AAAA".into(),
            }],
            ..Content::default()
        };
        let sound = shown(sound).await.text;
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
        let mut content = Content::default();
        content.say(&long);
        let data = store_content(content, &cx).await;
        assert!(data["text"].as_str().unwrap().len() < MAX_TEXT + 500);
        let kept = std::fs::read_to_string(data["artifact"].as_str().unwrap()).unwrap();
        assert_eq!(kept, long);
    }
}
