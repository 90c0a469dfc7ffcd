//! The one place where output is cut: head and tail stay, the whole goes to an artifact the model can read by path.
//! It does not decide how much a tool may say; callers pass their cap.

use crate::artifacts::Artifacts;
use crate::redact::Stream;
pub use ostler_wire::clip;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Most bytes that are kept of one output, in memory when nothing is to be cut and on disk otherwise.
pub const MAX_KEPT: usize = 64 * 1024 * 1024;

/// Outputs kept under one name.
const MAX_NAMESAKES: usize = 10_000;

/// Characters of a prompt where it is named.
const PROMPT_CHARS: usize = 80;

/// A prompt on one line, as lists and titles name it.
pub fn shorten_prompt(prompt: &str) -> String {
    let line = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    clip(&line, PROMPT_CHARS)
}

/// Output as it was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    pub text: String,
    pub truncated: bool,
    pub total_bytes: u64,
    /// The whole output, or its first `MAX_KEPT` bytes.
    pub artifact: Option<PathBuf>,
}

/// Takes bytes as they arrive and never holds much more than its cap.
pub struct Capture {
    cap: usize,
    /// Everything, until it passes the cap; then only the first half of it.
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
    spill: Spill,
    clean: Stream,
    artifacts: Artifacts,
    name: String,
}

enum Spill {
    NotYet,
    To {
        file: File,
        path: PathBuf,
        bytes: usize,
    },
    Failed(io::ErrorKind),
}

impl Capture {
    /// A cap of 0 keeps all, up to `MAX_KEPT`. `name` is the artifact's file name.
    pub fn new(cap: usize, artifacts: Artifacts, name: String) -> Self {
        Self {
            cap: limit(cap),
            head: Vec::new(),
            tail: Vec::new(),
            total: 0,
            spill: Spill::NotYet,
            clean: artifacts.stream(),
            artifacts,
            name,
        }
    }

    /// Gives back what of it can be shown.
    pub fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let clean = self.clean.push(bytes);
        self.keep(&clean);
        clean
    }

    /// The end that may be the beginning of a secret; it is not in this capture, and must go on elsewhere.
    pub fn take_held(&mut self) -> Vec<u8> {
        self.clean.finish()
    }

    fn keep(&mut self, bytes: &[u8]) {
        let whole_so_far = self.total <= self.cap as u64;
        self.total += bytes.len() as u64;
        if whole_so_far {
            if self.total <= self.cap as u64 {
                self.head.extend_from_slice(bytes);
                return;
            }
            self.start_spill();
            let rest = self.head.split_off(self.head.len().min(self.cap / 2));
            self.tail = rest;
        }
        self.write_spill(bytes);
        let room = (self.cap / 2).saturating_sub(self.head.len());
        let (to_head, to_tail) = bytes.split_at(room.min(bytes.len()));
        // The head is full whenever something is in the tail, so this keeps the order.
        self.head.extend_from_slice(to_head);
        self.push_tail(to_tail);
    }

    pub fn finish(mut self) -> Captured {
        let held = self.clean.finish();
        self.keep(&held);
        let total_bytes = self.total;
        if total_bytes <= self.cap as u64 {
            return Captured {
                text: decode(self.head),
                truncated: false,
                total_bytes,
                artifact: None,
            };
        }
        let start = self.tail.len().saturating_sub(self.tail_cap());
        let tail = self.tail.get(start..).unwrap_or_default();
        let (whole, artifact) = match self.spill {
            Spill::To { path, bytes, .. } if bytes as u64 == total_bytes => {
                (whole_at(&path), Some(path))
            }
            Spill::To { path, bytes, .. } => (
                format!("first {bytes} of {total_bytes} bytes: {}", path.display()),
                Some(path),
            ),
            Spill::Failed(kind) => (format!("the whole could not be kept: {kind}"), None),
            Spill::NotYet => ("the whole was not kept".to_owned(), None),
        };
        Captured {
            text: joined(&self.head, tail, total_bytes, &whole),
            truncated: true,
            total_bytes,
            artifact,
        }
    }

    fn tail_cap(&self) -> usize {
        self.cap - self.cap / 2
    }

    fn push_tail(&mut self, bytes: &[u8]) {
        let cap = self.tail_cap();
        let new = bytes
            .get(bytes.len().saturating_sub(cap)..)
            .unwrap_or_default();
        // Moving only when twice the room is used costs each byte one copy on average.
        if self.tail.len() + new.len() > 2 * cap {
            let keep = cap.saturating_sub(new.len());
            self.tail.drain(..self.tail.len().saturating_sub(keep));
        }
        self.tail.extend_from_slice(new);
    }

    fn start_spill(&mut self) {
        let opened = create(&self.artifacts, &self.name);
        self.spill = match opened {
            Ok((file, path)) => Spill::To {
                file,
                path,
                bytes: 0,
            },
            Err(e) => Spill::Failed(e.kind()),
        };
        let head = std::mem::take(&mut self.head);
        self.write_spill(&head);
        self.head = head;
    }

    fn write_spill(&mut self, new: &[u8]) {
        if let Spill::To { file, bytes, .. } = &mut self.spill {
            let part = new
                .get(..new.len().min(MAX_KEPT - *bytes))
                .unwrap_or_default();
            match file.write_all(part) {
                Ok(()) => *bytes += part.len(),
                Err(e) => self.spill = Spill::Failed(e.kind()),
            }
        }
    }
}

/// A file of that name, or of a similar one where an earlier output has it: call ids repeat.
fn create(artifacts: &Artifacts, name: &str) -> io::Result<(File, PathBuf)> {
    let mut path = artifacts.path(name)?;
    for number in 2..MAX_NAMESAKES {
        let mut options = ostler_files::private_options();
        match options.write(true).create_new(true).open(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                path = artifacts.path(&format!("{number}-{name}"))?;
            }
            opened => return Ok((opened?, path)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Cuts text that is already whole.
pub fn cut_text(text: &str, cap: usize, artifacts: &Artifacts, name: &str) -> Captured {
    let mut capture = Capture::new(cap, artifacts.clone(), name.to_owned());
    capture.push(text.as_bytes());
    capture.finish()
}

/// What lies between two offsets of a file that keeps an output, cut like any other; the file itself is the artifact.
pub fn cut_file(path: &Path, from: u64, to: u64, cap: usize) -> io::Result<Captured> {
    let cap = limit(cap) as u64;
    let total_bytes = to.saturating_sub(from);
    let mut file = File::open(path)?;
    let mut read = |from: u64, len: u64| {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        Read::by_ref(&mut file).take(len).read_to_end(&mut bytes)?;
        io::Result::Ok(bytes)
    };
    if total_bytes <= cap {
        return Ok(Captured {
            text: decode(read(from, total_bytes)?),
            truncated: false,
            total_bytes,
            artifact: None,
        });
    }
    let head = read(from, cap / 2)?;
    let tail_len = cap - cap / 2;
    let tail = read(to - tail_len, tail_len)?;
    Ok(Captured {
        text: joined(&head, &tail, total_bytes, &whole_at(path)),
        truncated: true,
        total_bytes,
        artifact: Some(path.to_owned()),
    })
}

fn limit(cap: usize) -> usize {
    if cap == 0 {
        MAX_KEPT
    } else {
        cap.min(MAX_KEPT)
    }
}

fn whole_at(path: &Path) -> String {
    format!("whole output: {}", path.display())
}

/// Head and tail around a line that says what is missing and where it is.
fn joined(head: &[u8], tail: &[u8], total: u64, whole: &str) -> String {
    let head = head.get(..char_end(head)).unwrap_or_default();
    let tail = tail.get(char_start(tail)..).unwrap_or_default();
    let cut = total.saturating_sub((head.len() + tail.len()) as u64);
    format!(
        "{}\n[… {cut} bytes cut; {whole} …]\n{}",
        String::from_utf8_lossy(head),
        String::from_utf8_lossy(tail)
    )
}

/// Where a cut at the end must move back to, so that it does not split a character.
pub fn char_end(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let Some(&byte) = bytes.get(at) else { break };
        let needs = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => break,
        };
        return if needs > back { at } else { bytes.len() };
    }
    bytes.len()
}

/// How many bytes at the start are the rest of a character that was cut off.
fn char_start(bytes: &[u8]) -> usize {
    let rest = bytes
        .iter()
        .take(3)
        .take_while(|b| (0x80..=0xbf).contains(*b));
    rest.count()
}

fn decode(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bench {
        dir: tempfile::TempDir,
    }

    impl Bench {
        fn new() -> Self {
            Self {
                dir: tempfile::tempdir().unwrap(),
            }
        }

        fn artifacts(&self) -> Artifacts {
            Artifacts::new(self.dir.path().join("kept"))
        }

        fn run(&self, cap: usize, chunks: &[&[u8]]) -> Captured {
            let mut capture = Capture::new(cap, self.artifacts(), "out.txt".into());
            for chunk in chunks {
                capture.push(chunk);
            }
            capture.finish()
        }

        fn path(&self) -> PathBuf {
            self.dir.path().join("kept/out.txt")
        }
    }

    #[test]
    fn short_output_is_left_alone_and_leaves_no_file() {
        let bench = Bench::new();
        for (cap, chunks, text) in [
            (10, vec![b"".as_slice()], ""),
            (10, vec![b"01234".as_slice(), b"56789"], "0123456789"),
            (0, vec![b"any".as_slice()], "any"),
            (10, vec![b"a\xffb".as_slice()], "a\u{fffd}b"),
            (10, vec![b"\xe2\x82".as_slice(), b"\xac"], "€"),
        ] {
            let got = bench.run(cap, &chunks);
            assert_eq!(
                (got.text.as_str(), got.truncated, got.artifact),
                (text, false, None)
            );
        }
        assert!(!bench.artifacts().dir().exists());
    }

    #[test]
    fn long_output_keeps_head_tail_and_the_whole_on_disk() {
        let check = |cap: usize, chunks: &[&[u8]], head: &str, cut: usize, tail: &str| {
            let bench = Bench::new();
            let got = bench.run(cap, chunks);
            let path = bench.path();
            let whole = chunks.concat();
            let expect = Captured {
                text: format!(
                    "{head}\n[… {cut} bytes cut; whole output: {} …]\n{tail}",
                    path.display()
                ),
                truncated: true,
                total_bytes: whole.len() as u64,
                artifact: Some(path.clone()),
            };
            assert_eq!(got, expect, "{chunks:?}");
            assert_eq!(std::fs::read(path).unwrap(), whole);
        };
        check(4, &[b"0123456789"], "01", 6, "89");
        check(5, &[b"0123456789"], "01", 5, "789");
        check(
            4,
            &[b"0", b"1", b"2", b"3", b"4", b"5", b"6"],
            "01",
            3,
            "56",
        );
        check(4, &[b"0123", b"4"], "01", 1, "34");
        check(1, &[b"0123", b"4"], "", 4, "4");
        check(6, &["aa€bb€cc".as_bytes()], "aa", 8, "cc");
        check(8, &["aa€bb€c".as_bytes()], "aa", 5, "€c");
        check(4, &[b"a\xff\xff\xff\xff\xffb"], "a\u{fffd}", 3, "\u{fffd}b");
    }

    #[test]
    fn many_pieces_equal_one_piece() {
        let text: Vec<u8> = (0..40_000u32)
            .flat_map(|n| format!("{n} ž\n").into_bytes())
            .collect();
        let of = |size: usize| {
            let bench = Bench::new();
            let pieces: Vec<&[u8]> = text.chunks(size).collect();
            let text = bench.run(1000, &pieces).text;
            text.replace(&bench.path().display().to_string(), "PATH")
        };
        let one = of(text.len());
        for size in [1, 7, 499, 500, 501, 1000, 4096] {
            assert_eq!(of(size), one, "{size}");
        }
    }

    #[test]
    fn outputs_of_one_name_do_not_meet() {
        let bench = Bench::new();
        let kept = |text: &[u8]| bench.run(1, &[text]).artifact.unwrap();
        let files = [kept(b"one"), kept(b"two"), kept(b"three")];
        let names = files.clone().map(|f| f.file_name().unwrap().to_owned());
        assert_eq!(names, ["out.txt", "2-out.txt", "3-out.txt"]);
        let contents = files.map(|f| std::fs::read_to_string(f).unwrap());
        assert_eq!(contents, ["one", "two", "three"]);
    }

    #[test]
    fn memory_stays_near_the_cap() {
        let bench = Bench::new();
        let mut capture = Capture::new(1000, bench.artifacts(), "out.txt".into());
        for _ in 0..5000 {
            capture.push(&[b'x'; 997]);
            assert!(capture.head.len() + capture.tail.capacity() <= 4000);
        }
        assert_eq!(capture.finish().total_bytes, 5000 * 997);
    }

    #[test]
    fn what_cannot_be_kept_is_said() {
        let bench = Bench::new();
        std::fs::write(bench.dir.path().join("kept"), "a file in the way").unwrap();
        let got = bench.run(4, &[b"0123456789"]);
        assert!(
            got.text
                .contains("6 bytes cut; the whole could not be kept: "),
            "{}",
            got.text
        );
        assert_eq!(got.artifact, None);
    }

    #[test]
    fn the_artifact_is_bounded_too() {
        let bench = Bench::new();
        let mut capture = Capture::new(10, bench.artifacts(), "out.txt".into());
        let piece = vec![b'x'; MAX_KEPT / 4 + 1];
        for _ in 0..4 {
            capture.push(&piece);
        }
        let got = capture.finish();
        let total = MAX_KEPT + 4;
        assert!(
            got.text
                .contains(&format!("first {MAX_KEPT} of {total} bytes: ")),
            "{}",
            got.text
        );
        assert_eq!(
            std::fs::metadata(bench.path()).unwrap().len(),
            MAX_KEPT as u64
        );
    }

    #[test]
    fn a_span_of_a_file_is_cut_the_same_way() {
        let bench = Bench::new();
        let path = bench
            .artifacts()
            .keep("out.txt", "0123456789€".as_bytes())
            .unwrap();
        let check = |from: u64, to: u64, cap: usize, text: &str| {
            let got = cut_file(&path, from, to, cap).unwrap();
            let text = text.replace("PATH", &path.display().to_string());
            assert_eq!(
                (got.text, got.total_bytes),
                (text.clone(), to - from),
                "{from}..{to}"
            );
            assert_eq!(got.artifact.is_some(), got.truncated);
        };
        check(0, 0, 4, "");
        check(2, 6, 4, "2345");
        check(0, 13, 0, "0123456789€");
        check(1, 10, 4, "12\n[… 5 bytes cut; whole output: PATH …]\n89");
        check(0, 13, 4, "01\n[… 11 bytes cut; whole output: PATH …]\n");
        assert!(cut_file(&path.with_extension("gone"), 0, 1, 4).is_err());
    }

    #[test]
    fn ends_never_split_a_character() {
        for (bytes, end) in [
            ("a€".as_bytes(), 4),
            (b"a\xe2\x82", 1),
            (b"a\xe2", 1),
            (b"\xf0\x9f\x98", 0),
            ("😀".as_bytes(), 4),
            (b"a\xff", 2),
            (b"\x80\x80\x80\x80", 4),
            (b"", 0),
        ] {
            assert_eq!(char_end(bytes), end, "{bytes:?}");
        }
    }
}
