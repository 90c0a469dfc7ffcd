//! Pictures for a prompt: the one on the clipboard, or the file whose path was pasted, which is what a terminal makes of one
//! that is dropped on it.

use base64::Engine as _;
use ostler_host::{Border, Programs};
use ostler_tui::surroundings::FoundPicture;
use ostler_wire::{Image, MAX_PICTURE};
use std::ffi::OsString;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// One byte more says that a picture is too large.
const MOST_READ: u64 = MAX_PICTURE as u64 + 1;

pub fn on_clipboard(programs: &Programs) -> FoundPicture {
    let tools: [&[&str]; 3] = [
        &["wl-paste", "--no-newline", "--type", "image/png"],
        &[
            "xclip",
            "-selection",
            "clipboard",
            "-target",
            "image/png",
            "-out",
        ],
        &["pngpaste", "-"],
    ];
    let found = tools.iter().find_map(|tool| bytes_from(programs, tool));
    match found {
        None => FoundPicture::None,
        Some(bytes) if bytes.len() > MAX_PICTURE => FoundPicture::TooLarge,
        Some(bytes) => FoundPicture::Found(encoded("image/png", &bytes)),
    }
}

fn encoded(media_type: &str, bytes: &[u8]) -> Image {
    Image {
        media_type: media_type.into(),
        data: base64::engine::general_purpose::STANDARD.encode(bytes),
    }
}

/// The picture at a path as it was pasted. None where there is none or it may not be read: whoever pastes a path outside of the project means it, but not what a link in the project leads to.
pub fn at(pasted: &str, resolved: impl Fn(&str) -> PathBuf, border: &Border) -> FoundPicture {
    read(pasted, resolved, border).unwrap_or(FoundPicture::None)
}

fn read(pasted: &str, resolved: impl Fn(&str) -> PathBuf, border: &Border) -> Option<FoundPicture> {
    let path = resolved(&unquoted(pasted));
    let mut border = border.clone();
    border.grant_named(&path, &ostler_host::real_path(&path));
    let file = ostler_host::open_file(&path, &border).ok()?.file;
    let mut bytes = Vec::new();
    file.take(MOST_READ).read_to_end(&mut bytes).ok()?;
    let media_type = ostler_engine::tools::picture_type(&bytes)?;
    Some(match bytes.len() > MAX_PICTURE {
        true => FoundPicture::TooLarge,
        false => FoundPicture::Found(encoded(media_type, &bytes)),
    })
}

/// A path without what shells and file managers put around it: quotes, backslashes, `file://` and `%20`.
fn unquoted(pasted: &str) -> String {
    let text = pasted.trim();
    if let Some(path) = text.strip_prefix("file://") {
        return decoded(path);
    }
    for quote in ['\'', '"'] {
        let inner = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner.to_owned();
        }
    }
    if cfg!(windows) {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.extend(letters.next()),
            letter => out.push(letter),
        }
    }
    out
}

fn decoded(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let code = code.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match code.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn bytes_from(programs: &Programs, tool: &[&str]) -> Option<Vec<u8>> {
    let (name, args) = tool.split_first()?;
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let mut child = Command::new(programs.find(name)?)
        .args(args)
        .env("PATH", programs.path())
        // Not the project, where a program might read settings.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut bytes = Vec::new();
    let read = child.stdout.take()?.take(MOST_READ).read_to_end(&mut bytes);
    let _ = child.kill();
    let _ = child.wait();
    read.ok()?;
    (!bytes.is_empty()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_they_are_pasted() {
        for (pasted, path) in [
            ("/a/b.png", "/a/b.png"),
            (" /a/b.png\n", "/a/b.png"),
            ("'/a/b c.png'", "/a/b c.png"),
            ("\"/a/b c.png\"", "/a/b c.png"),
            ("file:///a/b%20c%C3%A9%zz.png", "/a/b c\u{e9}%zz.png"),
            #[cfg(not(windows))]
            ("/a/b\\ c\\(1\\).png", "/a/b c(1).png"),
        ] {
            assert_eq!(unquoted(pasted), path, "{pasted}");
        }
    }

    #[test]
    fn only_pictures_are_taken() {
        let dir = tempfile::tempdir().unwrap();
        let write =
            |name: &str, bytes: &[u8]| std::fs::write(dir.path().join(name), bytes).unwrap();
        write("a b.png", b"\x89PNG\r\n\x1a\nrest");
        write("text.png", b"only text");
        let mut large = b"\x89PNG\r\n\x1a\n".to_vec();
        large.resize(MAX_PICTURE + 1, 0);
        write("large.png", &large);
        write("most.png", &large[..MAX_PICTURE]);
        let found = |pasted: &str| match at(pasted, |path| dir.path().join(path), &Border::none()) {
            FoundPicture::Found(image) => Some(image.media_type),
            FoundPicture::TooLarge => Some("too large".to_owned()),
            FoundPicture::None => None,
        };
        assert_eq!(found("'a b.png'").as_deref(), Some("image/png"));
        assert_eq!(found("large.png").as_deref(), Some("too large"));
        assert_eq!(found("most.png").as_deref(), Some("image/png"));
        assert_eq!(found("text.png"), None);
        assert_eq!(found("none.png"), None);
        assert_eq!(found("."), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_picture_is_judged_where_it_really_lies() {
        use ostler_host::{Ban, Place};
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let png = b"\x89PNG\r\n\x1a\nrest";
        for name in ["root/in.png", "out/far.png", "keys/key.png"] {
            std::fs::create_dir_all(base.join(name).parent().unwrap()).unwrap();
            std::fs::write(base.join(name), png).unwrap();
        }
        for (link, to) in [
            ("root/far.png", "out/far.png"),
            ("out/key.png", "keys/key.png"),
        ] {
            std::os::unix::fs::symlink(base.join(to), base.join(link)).unwrap();
        }
        let border = Border {
            places: vec![(base.join("root"), Place::Inside)],
            forbidden: vec![Ban {
                path: base.join("keys"),
                rule: "forbid_read".into(),
            }],
            ..Border::default()
        };
        let found = |pasted: &str| {
            let found = at(pasted, |path| base.join(path), &border);
            matches!(found, FoundPicture::Found(_))
        };
        for (pasted, expect) in [
            ("root/in.png", true),
            ("out/far.png", true),
            ("root/far.png", false),
            ("keys/key.png", false),
            ("out/key.png", false),
        ] {
            assert_eq!(found(pasted), expect, "{pasted}");
        }
    }
}
