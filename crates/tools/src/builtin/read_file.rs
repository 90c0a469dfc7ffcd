//! `read_file`: text in any encoding, whole or by lines, pictures as pictures, and the name of what is neither.

use super::files::scan::{Need, scan};
use super::files::window::{View, Wanted, Window};
use super::files::{Faults, compute, picture, read, resolve};
use super::text::{self, Binary, Coding};
use crate::seen::Seen;
use crate::tool::{Context, Done, FileServices, Rendered, Scope, Subject, ToolError, Typed};
use image::ImageFormat;
use ostler_host::{Content, Span};
use ostler_wire::{Access, Image};
use ostler_wire::{ResultForm, ToolDeclaration, ToolFact, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Text that one call gives.
const MAX_TEXT: usize = 51_200;
/// Files up to this size are taken at once.
const SMALL: u64 = 1024 * 1024;
/// UTF-16 and pictures cannot be taken in pieces.
const MAX_WHOLE: u64 = 32 * 1024 * 1024;

#[derive(Clone, Copy)]
pub struct ReadFile;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    path: String,
    /// First line, from 1
    #[serde(default)]
    offset: Option<u64>,
    #[serde(default)]
    limit: Option<u64>,
}

impl Args {
    fn wanted(&self) -> Wanted {
        Wanted {
            first: self.offset.unwrap_or(1).max(1),
            max_lines: self.limit.filter(|limit| *limit > 0).unwrap_or(u64::MAX),
            max_bytes: MAX_TEXT,
        }
    }

    /// `:10-49` for a part of a file.
    fn range(&self) -> String {
        match (self.offset, self.limit) {
            (None, None) => String::new(),
            (first, None) => format!(":{}-", first.unwrap_or(1)),
            (first, Some(count)) => {
                let first = first.unwrap_or(1);
                let last = first.saturating_add(count).saturating_sub(1);
                format!(":{first}-{last}")
            }
        }
    }

    fn is_partial(&self) -> bool {
        let Wanted {
            first, max_lines, ..
        } = self.wanted();
        first > 1 || max_lines < u64::MAX
    }
}

impl Typed for ReadFile {
    type Args = Args;
    type Uses = FileServices;
    const NAME: &'static str = "read_file";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Read)
        .result(ResultForm::File)
        .aliases(&["read"])
        .common_name("Read")
        .fact(ToolFact::FileRead);
    const PROSE: &'static str = include_str!("read_file.md");

    fn access(&self, args: &Args, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Read(resolve(scope, &args.path)?)])
    }

    fn subject(args: &Args) -> Subject {
        format!("{}{}", args.path, args.range()).into()
    }

    async fn run(&self, args: Args, cx: Context<FileServices>) -> Result<Done, ToolError> {
        let path = resolve(&cx.scope, &args.path)?;
        let page = match read(&cx, &path, Span::head(SMALL)).await {
            Ok(head) => page(&cx, &path, head, args.wanted()).await?,
            Err(fault) => return Err(Faults::Read.tell(&cx, &path, fault).await),
        };
        let mut data = page.data;
        if args.is_partial() && data.get("content").is_some() {
            data["offset"] = args.wanted().first.into();
        }
        if let Some(hash) = page.hash {
            cx.services.seen.note(&page.path, &hash);
            data["hash"] = hash.into();
        }
        Ok(data.into())
    }

    fn render(data: &Value) -> Rendered {
        let number = |key: &str| data.get(key).and_then(Value::as_u64);
        let text = |key: &str| data.get(key).and_then(Value::as_str);
        let bytes = number("bytes").unwrap_or_default();
        if let Some(kind) = text("binary") {
            let looks = if kind.is_empty() {
                String::new()
            } else {
                format!(", looks like {kind}")
            };
            return format!("binary file, {bytes} bytes{looks}").into();
        }
        if let Some(image) = data.get("image").and_then(|i| Image::deserialize(i).ok()) {
            let size = |key| number(key).unwrap_or_default();
            let text = format!("{} {}x{}", image.media_type, size("width"), size("height"));
            return Rendered {
                text,
                images: vec![image],
            };
        }
        let content = text("content").unwrap_or_default();
        let shown = content.lines().count() as u64;
        let first = number("offset").unwrap_or(1);
        let mut out = String::with_capacity(content.len() + 100);
        if let Some(encoding) = text("encoding") {
            out.push_str(&format!("[{encoding}]\n"));
        }
        if number("offset").is_some() {
            out.push_str(&heading(first, shown, number("lines")));
        } else if content.is_empty() {
            out.push_str("(empty file)");
        }
        out.push_str(content);
        if data.get("truncated").and_then(Value::as_bool) == Some(true) {
            out.push_str(&match content.ends_with('\n') {
                true => format!(
                    "[cut at {MAX_TEXT} bytes; go on with offset {}]",
                    first + shown
                ),
                false => format!(
                    "\n[line {first} is longer than {MAX_TEXT} bytes; see the rest with bash]"
                ),
            });
        }
        out.into()
    }
}

fn heading(first: u64, shown: u64, lines: Option<u64>) -> String {
    let of = lines.map_or_else(String::new, |lines| format!(" of {lines}"));
    match shown {
        0 => format!("no line {first}{of}\n"),
        1 => format!("line {first}{of}\n"),
        shown => format!("lines {first}-{}{of}\n", first + shown - 1),
    }
}

struct Page {
    path: PathBuf,
    data: Value,
    /// Of the whole file, when it was read to its end.
    hash: Option<String>,
}

async fn page(
    cx: &Context<FileServices>,
    path: &Path,
    head: Content,
    wanted: Wanted,
) -> Result<Page, ToolError> {
    if let Some(format) = picture::format(&head.bytes) {
        return shown_picture(cx, path, head, format).await;
    }
    if !head.truncated {
        return small(head, wanted).await;
    }
    if let Some(binary) = text::binary(&head.bytes) {
        return Ok(named(&head, binary, None));
    }
    if text::is_utf16(&head.bytes) {
        return small(whole(cx, path).await?, wanted).await;
    }
    large(cx, path, head, wanted).await
}

/// A file whose bytes are all there.
async fn small(content: Content, wanted: Wanted) -> Result<Page, ToolError> {
    compute(content.bytes.len(), move || {
        let hash = Some(Seen::hash(&content.bytes));
        Ok(match text::decode(&content.bytes) {
            Err(binary) => named(&content, binary, hash),
            Ok(text) => {
                let coding = text.coding;
                let mut window = Window::new(wanted);
                window.feed(text.into_shown().as_bytes());
                let view = window.finish();
                let shown = String::from_utf8_lossy(&view.bytes).into_owned();
                let lines = Some(view.lines);
                Page {
                    data: text_data(&content, shown, coding, view.truncated, lines),
                    path: content.stat.path,
                    hash,
                }
            }
        })
    })
    .await
}

/// A file that does not fit: its bytes pass by, only the wanted lines stay.
async fn large(
    cx: &Context<FileServices>,
    path: &Path,
    head: Content,
    wanted: Wanted,
) -> Result<Page, ToolError> {
    let mut window = Window::new(wanted);
    let feed = |piece: &[u8]| {
        window.feed(piece);
        if window.is_settled() {
            Need::Nothing
        } else {
            Need::More
        }
    };
    let hash = match scan(cx, path, &head, feed).await {
        Ok(hash) => hash,
        Err(fault) => return Err(Faults::Read.tell(cx, path, fault).await),
    };
    let View {
        bytes,
        truncated,
        lines,
    } = window.finish();
    let (coding, shown) = match text::decode(&bytes) {
        Ok(text) => (text.coding, text.into_shown()),
        Err(Binary { .. }) => (Coding::UTF8, String::from_utf8_lossy(&bytes).into_owned()),
    };
    // Where the end was not reached nobody knows how many there are.
    let lines = hash.as_ref().map(|_| lines);
    let data = text_data(&head, shown, coding, truncated, lines);
    Ok(Page {
        path: head.stat.path,
        data,
        hash,
    })
}

fn text_data(
    content: &Content,
    shown: String,
    coding: Coding,
    truncated: bool,
    lines: Option<u64>,
) -> Value {
    let mut data = json!({
        "path": content.stat.path.display().to_string(),
        "content": shown,
        "truncated": truncated,
        "bytes": content.stat.len,
        "lines": lines,
    });
    if let Some(label) = coding.label() {
        data["encoding"] = label.into();
    }
    data
}

fn named(content: &Content, Binary { kind }: Binary, hash: Option<String>) -> Page {
    let data = json!({
        "path": content.stat.path.display().to_string(),
        "content": "",
        "truncated": false,
        "bytes": content.stat.len,
        "lines": 0,
        "binary": kind.unwrap_or_default(),
    });
    Page {
        path: content.stat.path.clone(),
        data,
        hash,
    }
}

async fn shown_picture(
    cx: &Context<FileServices>,
    path: &Path,
    head: Content,
    format: ImageFormat,
) -> Result<Page, ToolError> {
    let content = if head.truncated {
        whole(cx, path).await?
    } else {
        head
    };
    let shown = cx.scope.shown(path);
    let work = move || {
        let hash = Seen::hash(&content.bytes);
        let picture = picture::prepare(&content.bytes, format).map_err(|e| {
            ToolError::new(
                "read_error",
                format!("The image {shown} cannot be shown: {e}."),
            )
        })?;
        let data = json!({
            "path": content.stat.path.display().to_string(),
            "image": picture.image,
            "width": picture.width,
            "height": picture.height,
            "bytes": content.stat.len,
        });
        Ok(Page {
            path: content.stat.path,
            data,
            hash: Some(hash),
        })
    };
    // Decoding takes longer than the number of bytes says.
    compute(usize::MAX, work).await
}

async fn whole(cx: &Context<FileServices>, path: &Path) -> Result<Content, ToolError> {
    let content = match read(cx, path, Span::head(MAX_WHOLE)).await {
        Ok(content) => content,
        Err(fault) => return Err(Faults::Read.tell(cx, path, fault).await),
    };
    if content.truncated {
        let message = format!(
            "{} is larger than {MAX_WHOLE} bytes. Look at it with a program, through bash.",
            cx.scope.shown(path)
        );
        return Err(ToolError::new("read_error", message));
    }
    Ok(content)
}

#[cfg(all(test, unix))]
mod tests;
