//! Pictures for a prompt: the one on the clipboard, or the file whose path was pasted, which is what a terminal makes of one
//! that is dropped on it.

use base64::Engine as _;
use ostler_host::{Border, Programs};
use ostler_wire::Image;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const MAX_PICTURE: u64 = 20 << 20;

pub fn on_clipboard(programs: &Programs) -> Option<Image> {
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
    let found = tools.iter().find_map(|tool| picture_from(programs, tool));
    found.map(|data| Image {
        media_type: "image/png".into(),
        data,
    })
}

/// The picture at a path as it was pasted. None where there is none, it is too large, or it may not be read: whoever
/// pastes a path outside of the project means it, but not what a link in the project leads to.
pub fn at(pasted: &str, resolved: impl Fn(&str) -> PathBuf, border: &Border) -> Option<Image> {
    let path = resolved(&unquoted(pasted));
    let mut border = border.clone();
    border.grant_named(&path, &ostler_host::real_path(&path));
    let file = ostler_host::open_file(&path, &border).ok()?.file;
    file.metadata().ok().filter(|m| m.len() <= MAX_PICTURE)?;
    let mut bytes = Vec::new();
    file.take(MAX_PICTURE).read_to_end(&mut bytes).ok()?;
    Some(Image {
        media_type: ostler_engine::tools::picture_type(&bytes)?.into(),
        data: base64::engine::general_purpose::STANDARD.encode(bytes),
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

fn picture_from(programs: &Programs, tool: &[&str]) -> Option<String> {
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
    let read = child
        .stdout
        .take()?
        .take(MAX_PICTURE)
        .read_to_end(&mut bytes);
    let _ = child.kill();
    let _ = child.wait();
    read.ok()?;
    (!bytes.is_empty()).then(|| base64::engine::general_purpose::STANDARD.encode(bytes))
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
        let found = |pasted: &str| {
            let image = at(pasted, |path| dir.path().join(path), &Border::none());
            image.map(|image| image.media_type)
        };
        assert_eq!(found("'a b.png'").as_deref(), Some("image/png"));
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
        let found = |pasted: &str| at(pasted, |path| base.join(path), &border).is_some();
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
