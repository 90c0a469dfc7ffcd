//! The parts of a prompt as the text and pictures of an op. A link to a file is a mention, which the session reads by its own
//! rules; a resource that comes with its text is quoted.

use crate::protocol::schema as s;
use ostler_wire::{
    ATTACHED, CommandInfo, Delivery, Image, Language, MAX_PICTURE_DATA, Op, Word, command_of,
};
use std::path::Path;
use url::Url;

/// Bytes of base64 that are looked at to tell that it is none.
const PROBE: usize = 4096;

/// What the editor sent, or why it cannot be taken.
pub fn read(
    blocks: Vec<s::ContentBlock>,
    root: &Path,
    language: Language,
) -> Result<(String, Vec<Image>), String> {
    let mut text = String::new();
    let mut quoted = String::new();
    let mut images = Vec::new();
    for block in blocks {
        match block {
            s::ContentBlock::Text(part) => text.push_str(&part.text),
            s::ContentBlock::Image(part) => {
                images.push(image(part.data, part.mime_type, images.len(), language)?);
            }
            s::ContentBlock::Audio(_) => return Err(language.say(Word::AcpAudio).into()),
            s::ContentBlock::ResourceLink(link) => {
                name_in(&mut text, &mention(&link.uri, &link.name, root));
            }
            s::ContentBlock::Resource(part) => match part.resource {
                s::EmbeddedResourceResource::TextResourceContents(resource) => {
                    name_in(&mut text, &shown(&resource.uri, root));
                    quoted.push_str(&quote(&resource.uri, &resource.text));
                }
                s::EmbeddedResourceResource::BlobResourceContents(resource) => {
                    let kind = resource.mime_type.unwrap_or_default();
                    match kind.starts_with("image/") {
                        true => images.push(image(resource.blob, kind, images.len(), language)?),
                        false => {
                            let values = [resource.uri.as_str(), &kind];
                            let left = language.fill(Word::AcpBlob, &values);
                            quoted.push_str(&format!("\n\n[{left}]"));
                        }
                    }
                }
                _ => return Err(language.say(Word::AcpUnknownBlock).into()),
            },
            _ => return Err(language.say(Word::AcpUnknownBlock).into()),
        }
    }
    text.push_str(&quoted);
    match text.trim().is_empty() && images.is_empty() {
        true => Err(language.say(Word::AcpEmpty).into()),
        false => Ok((text, images)),
    }
}

/// A command where the person typed one that there is; anything else is a prompt.
pub fn op(text: String, images: Vec<Image>, commands: &[CommandInfo]) -> Op {
    let typed = text.trim();
    let named = typed
        .strip_prefix('/')
        .and_then(|t| t.split_whitespace().next());
    let is_command = named.is_some_and(|name| commands.iter().any(|c| c.name == name));
    let line = command_of(typed).filter(|_| images.is_empty());
    match line.filter(|_| is_command || typed.starts_with('!')) {
        Some(line) => Op::Command { line },
        None => Op::Prompt {
            text,
            delivery: Delivery::Queue,
            images,
        },
    }
}

fn image(
    data: String,
    media_type: String,
    before: usize,
    language: Language,
) -> Result<Image, String> {
    let is_base64 = |c: u8| c.is_ascii_alphanumeric() || b"+/=\r\n".contains(&c);
    let refused = |why: &str| {
        let number = (before + 1).to_string();
        language.fill(Word::AcpBadImage, &[&number, why])
    };
    if data.is_empty() || !data.bytes().take(PROBE).all(is_base64) {
        return Err(refused("base64"));
    }
    if data.len() > MAX_PICTURE_DATA {
        let most = ((MAX_PICTURE_DATA / 4 * 3) >> 20).to_string();
        let values = [(before + 1).to_string(), most];
        return Err(language.fill(Word::PictureRefused, &[&values[0], &values[1]]));
    }
    Ok(Image { media_type, data })
}

/// Puts the name of a file or a resource into the words around it, so that it is not taken for a part of the one before.
fn name_in(text: &mut String, name: &str) {
    if !text.is_empty() && !text.ends_with(char::is_whitespace) {
        text.push(' ');
    }
    text.push_str(name);
}

/// A file of the project as a person would mention it; anything else as a link.
fn mention(uri: &str, name: &str, root: &Path) -> String {
    match file(uri, root) {
        Some(path) if path.contains(char::is_whitespace) => format!("@\"{path}\""),
        Some(path) => format!("@{path}"),
        None => format!("[{name}]({uri})"),
    }
}

/// How a resource that comes with its text is named where it stands in the prompt.
fn shown(uri: &str, root: &Path) -> String {
    match file(uri, root) {
        Some(path) => format!("`{path}`"),
        None => format!("<{uri}>"),
    }
}

/// The path of a file, from the root where it is below it, with its lines where the address names some.
fn file(uri: &str, root: &Path) -> Option<String> {
    let url = Url::parse(uri).ok().filter(|url| url.scheme() == "file")?;
    let path = url.to_file_path().ok()?;
    let path = path.strip_prefix(root).unwrap_or(&path);
    let path = path.to_str().filter(|path| !path.is_empty())?;
    let lines = url.fragment().and_then(lines).unwrap_or_default();
    Some(format!("{path}{lines}"))
}

/// `L10:20` and `L10-L20` as `:10-20`.
fn lines(fragment: &str) -> Option<String> {
    let (from, to) = fragment
        .split_once([':', '-'])
        .unwrap_or((fragment, fragment));
    let number = |text: &str| text.trim_start_matches('L').parse::<u32>().ok();
    Some(format!(":{}-{}", number(from)?, number(to)?))
}

fn quote(uri: &str, text: &str) -> String {
    let uri = uri.replace(['"', '<', '>'], "_");
    format!("{ATTACHED}{uri}\">\n{}\n</resource>", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(blocks: Vec<s::ContentBlock>) -> String {
        let read = read(blocks, Path::new("/p"), Language::English);
        read.map_or_else(|why| format!("! {why}"), |(text, _)| text)
    }

    #[test]
    fn blocks_become_a_prompt() {
        let link = |uri: &str| s::ContentBlock::ResourceLink(s::ResourceLink::new("n", uri));
        let resource = |resource| s::ContentBlock::Resource(s::EmbeddedResource::new(resource));
        let embedded = s::TextResourceContents::new("fn main() {}\n", "file:///p/src/main.rs");
        let embedded = s::EmbeddedResourceResource::TextResourceContents(embedded);
        let blob = s::BlobResourceContents::new("AAAA", "x:y").mime_type("a/b".to_owned());
        let blob = s::EmbeddedResourceResource::BlobResourceContents(blob);
        for (blocks, expect) in [
            (vec!["a ".into(), "b".into()], "a b"),
            (vec!["see ".into(), link("file:///p/a.rs")], "see @a.rs"),
            (vec![link("file:///p/a%20b.rs#L3:9")], "@\"a b.rs:3-9\""),
            (vec![link("file:///q/c.rs#L3-L9")], "@/q/c.rs:3-9"),
            (vec![link("https://x.invalid/")], "[n](https://x.invalid/)"),
            (
                vec!["look: ".into(), resource(embedded)],
                "look: `src/main.rs`\n\n<resource uri=\"file:///p/src/main.rs\">\nfn main() {}\n</resource>",
            ),
            (
                vec![resource(blob)],
                "\n\n[x:y is binary (a/b) and was left out.]",
            ),
            (vec![" \n".into()], "! The prompt is empty."),
            (vec![], "! The prompt is empty."),
        ] {
            assert_eq!(text(blocks), expect);
        }
        let audio = s::ContentBlock::Audio(s::AudioContent::new("AAAA", "audio/wav"));
        assert!(text(vec![audio]).starts_with("! Audio"));
        let image = s::ContentBlock::Image(s::ImageContent::new("no base64!", "image/png"));
        assert!(text(vec![image]).starts_with("! Picture 1"));
    }

    #[test]
    fn only_known_commands_are_commands() {
        let commands = [CommandInfo {
            name: "help".into(),
            ..CommandInfo::default()
        }];
        for (text, is_command) in [
            ("/help", true),
            (" /help mode", true),
            ("/etc is what?", false),
            ("/nothing", false),
            ("!ls", true),
            ("# A heading", false),
            ("a &", false),
        ] {
            let op = op(text.into(), Vec::new(), &commands);
            assert_eq!(matches!(op, Op::Command { .. }), is_command, "{text}");
        }
    }
}
