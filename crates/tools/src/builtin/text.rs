//! Text in whatever encoding a file has: what its bytes say, and the same bytes back after a change. No I/O here.
//! An encoding is only trusted for writing when it gives back the very bytes it was read from.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, GB18030, GBK};

/// Bytes looked at to tell text from binary.
const SNIFF: usize = 8 * 1024;
/// Bytes fed to the encoding detector, from the first one that is not ASCII.
const DETECT: usize = 1024 * 1024;
/// Share of control characters, in percent, above which bytes that are not UTF-8 count as binary.
const CONTROL_PERCENT: usize = 3;
/// Valid sequences per stray byte from which a file counts as damaged UTF-8 rather than as another encoding.
const UTF8_PER_STRAY: usize = 4;
/// Stray bytes 0x80–0xFF of damaged UTF-8 are held as these private characters while the text is edited.
const STRAY: u32 = 0x10_FF00;

const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";
const UTF16_LE: &[u8] = b"\xFF\xFE";
const UTF16_BE: &[u8] = b"\xFE\xFF";

/// How text lies in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    Utf8 {
        bom: Bom,
    },
    /// UTF-8 in which some bytes are not; they survive an edit elsewhere.
    Damaged {
        bom: Bom,
    },
    /// With its byte order mark.
    Utf16 {
        order: Order,
    },
    Legacy(&'static Encoding),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bom {
    Absent,
    Present,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Without the byte order mark.
    pub content: String,
    pub coding: Coding,
    /// `encode` gives back the bytes this was read from. Otherwise the content is good for reading only.
    pub faithful: bool,
}

/// Not text; the name of what it looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binary {
    pub kind: Option<&'static str>,
}

/// The character that an encoding has no bytes for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unencodable(pub char);

impl Coding {
    pub const UTF8: Coding = Coding::Utf8 { bom: Bom::Absent };

    /// The name to tell, for anything but plain UTF-8.
    pub fn label(self) -> Option<&'static str> {
        match self {
            Coding::Utf8 { bom: Bom::Absent } => None,
            Coding::Utf8 { bom: Bom::Present } => Some("UTF-8 with BOM"),
            Coding::Damaged { .. } => Some("UTF-8 with invalid bytes"),
            Coding::Utf16 {
                order: Order::Little,
            } => Some("UTF-16LE"),
            Coding::Utf16 { order: Order::Big } => Some("UTF-16BE"),
            Coding::Legacy(encoding) => Some(encoding.name()),
        }
    }
}

impl Text {
    /// The content with a replacement character for each stray byte.
    pub fn into_shown(self) -> String {
        match self.coding {
            Coding::Damaged { .. } => self
                .content
                .chars()
                .map(|c| stray_byte(c).map_or(c, |_| char::REPLACEMENT_CHARACTER))
                .collect(),
            Coding::Utf8 { .. } | Coding::Utf16 { .. } | Coding::Legacy(_) => self.content,
        }
    }
}

pub fn decode(bytes: &[u8]) -> Result<Text, Binary> {
    if bytes.starts_with(b"\xFF\xFE\0\0") || bytes.starts_with(b"\0\0\xFE\xFF") {
        return Err(Binary {
            kind: Some("UTF-32 text"),
        });
    }
    if let Some(rest) = bytes.strip_prefix(UTF16_LE) {
        return Ok(utf16(rest, Order::Little));
    }
    if let Some(rest) = bytes.strip_prefix(UTF16_BE) {
        return Ok(utf16(rest, Order::Big));
    }
    let (bom, rest) = match bytes.strip_prefix(UTF8_BOM) {
        Some(rest) => (Bom::Present, rest),
        None => (Bom::Absent, bytes),
    };
    if let Some(binary) = binary(rest) {
        return Err(binary);
    }
    match std::str::from_utf8(rest) {
        // A second mark would be lost by `encode`.
        Ok(content) => Ok(Text {
            faithful: !content.starts_with('\u{FEFF}'),
            content: content.into(),
            coding: Coding::Utf8 { bom },
        }),
        Err(_) if mostly_controls(rest) => Err(Binary { kind: None }),
        Err(_) => Ok(match damaged(rest, bom) {
            Some(text) => text,
            None => legacy(rest),
        }),
    }
}

pub fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(UTF16_LE) || bytes.starts_with(UTF16_BE)
}

/// The bytes of `content`, byte order mark included.
pub fn encode(content: &str, coding: Coding) -> Result<Vec<u8>, Unencodable> {
    match coding {
        Coding::Utf8 { bom } => {
            // A mark that the text brings along already is not doubled.
            let mut bytes = start(if content.starts_with('\u{FEFF}') {
                Bom::Absent
            } else {
                bom
            });
            bytes.extend_from_slice(content.as_bytes());
            Ok(bytes)
        }
        Coding::Damaged { bom } => {
            let mut bytes = start(bom);
            let mut buffer = [0; 4];
            for c in content.chars() {
                match stray_byte(c) {
                    Some(byte) => bytes.push(byte),
                    None => bytes.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes()),
                }
            }
            Ok(bytes)
        }
        Coding::Utf16 { order } => {
            let units = content
                .strip_prefix('\u{FEFF}')
                .unwrap_or(content)
                .encode_utf16();
            Ok(match order {
                Order::Little => UTF16_LE
                    .iter()
                    .copied()
                    .chain(units.flat_map(u16::to_le_bytes))
                    .collect(),
                Order::Big => UTF16_BE
                    .iter()
                    .copied()
                    .chain(units.flat_map(u16::to_be_bytes))
                    .collect(),
            })
        }
        Coding::Legacy(encoding) => {
            let (bytes, _, unmapped) = encoding.encode(content);
            if unmapped {
                let culprit = content
                    .chars()
                    .find(|c| encoding.encode(c.encode_utf8(&mut [0; 4])).2);
                return Err(Unencodable(culprit.unwrap_or(char::REPLACEMENT_CHARACTER)));
            }
            Ok(bytes.into_owned())
        }
    }
}

fn start(bom: Bom) -> Vec<u8> {
    match bom {
        Bom::Present => UTF8_BOM.to_vec(),
        Bom::Absent => Vec::new(),
    }
}

fn utf16(rest: &[u8], order: Order) -> Text {
    let mut units = Vec::with_capacity(rest.len() / 2);
    let pairs = rest.chunks_exact(2);
    let whole = pairs.remainder().is_empty();
    for pair in pairs {
        if let [a, b] = *pair {
            units.push(match order {
                Order::Little => u16::from_le_bytes([a, b]),
                Order::Big => u16::from_be_bytes([a, b]),
            });
        }
    }
    let coding = Coding::Utf16 { order };
    match String::from_utf16(&units) {
        Ok(content) => Text {
            faithful: whole && !content.starts_with('\u{FEFF}'),
            content,
            coding,
        },
        Err(_) => Text {
            content: String::from_utf16_lossy(&units),
            coding,
            faithful: false,
        },
    }
}

/// Text that is UTF-8 but for a few bytes.
fn damaged(bytes: &[u8], bom: Bom) -> Option<Text> {
    let (mut good, mut stray, mut faithful) = (0usize, 0usize, true);
    for chunk in bytes.utf8_chunks() {
        // Counts the lead bytes: characters beyond ASCII.
        good += chunk.valid().bytes().filter(|b| *b >= 0xC0).count();
        stray += chunk.invalid().len();
    }
    if good < stray.saturating_mul(UTF8_PER_STRAY) {
        return None;
    }
    let mut content = String::with_capacity(bytes.len() + stray * 3);
    for chunk in bytes.utf8_chunks() {
        faithful &= !chunk.valid().chars().any(|c| stray_byte(c).is_some());
        content.push_str(chunk.valid());
        content.extend(
            chunk
                .invalid()
                .iter()
                .filter_map(|b| char::from_u32(STRAY + u32::from(*b))),
        );
    }
    Some(Text {
        content,
        coding: Coding::Damaged { bom },
        faithful,
    })
}

fn stray_byte(c: char) -> Option<u8> {
    u8::try_from(u32::from(c).checked_sub(STRAY)?)
        .ok()
        .filter(|b| *b >= 0x80)
}

fn legacy(bytes: &[u8]) -> Text {
    let guess = guess(bytes);
    // The detector says GBK for all of its family; GB18030 reads the same and writes more of it.
    let candidates = if guess == GBK {
        [GB18030, GBK]
    } else {
        [guess, guess]
    };
    for encoding in candidates {
        let Some(content) = encoding.decode_without_bom_handling_and_without_replacement(bytes)
        else {
            continue;
        };
        let (back, _, unmapped) = encoding.encode(&content);
        if !unmapped && back.as_ref() == bytes {
            return Text {
                content: content.into_owned(),
                coding: Coding::Legacy(encoding),
                faithful: true,
            };
        }
    }
    let (content, _) = guess.decode_without_bom_handling(bytes);
    Text {
        content: content.into_owned(),
        coding: Coding::Legacy(guess),
        faithful: false,
    }
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let first = bytes.iter().position(|b| !b.is_ascii()).unwrap_or(0);
    let rest = bytes.get(first..).unwrap_or_default();
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    match rest.get(..DETECT) {
        Some(sample) => detector.feed(sample, false),
        None => detector.feed(rest, true),
    };
    detector.guess(None, Utf8Detection::Deny)
}

fn mostly_controls(bytes: &[u8]) -> bool {
    let sample = bytes.get(..SNIFF).unwrap_or(bytes);
    let controls = sample
        .iter()
        .filter(|b| matches!(b, 0..=8 | 14..=26 | 28..=31 | 127))
        .count();
    controls * 100 > sample.len() * CONTROL_PERCENT
}

/// Beginnings of files. Those of printable characters alone could also begin a text and need a NUL byte beside them.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x7FELF", "ELF"),
    (b"\xCF\xFA\xED\xFE", "Mach-O"),
    (b"\xCE\xFA\xED\xFE", "Mach-O"),
    (b"\xCA\xFE\xBA\xBE", "Java class or universal Mach-O"),
    (b"MZ", "Windows executable"),
    (b"\0asm", "WebAssembly"),
    (b"!<arch>\n", "ar archive"),
    (b"\x1F\x8B", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"\xFD7zXZ\0", "xz"),
    (b"\x28\xB5\x2F\xFD", "zstd"),
    (b"BZh", "bzip2"),
    (b"7z\xBC\xAF\x27\x1C", "7z"),
    (b"%PDF-", "PDF"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\x89PNG\r\n\x1A\n", "PNG image"),
    (b"\xFF\xD8\xFF", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"RIFF", "RIFF (WebP, WAV or AVI)"),
    (b"\0\0\x01\0", "icon"),
    (b"BM", "BMP image"),
    (b"II*\0", "TIFF image"),
    (b"MM\0*", "TIFF image"),
    (b"ID3", "MP3 audio"),
    (b"OggS", "Ogg media"),
    (b"fLaC", "FLAC audio"),
    (b"wOFF", "web font"),
    (b"wOF2", "web font"),
    (b"\0\x01\0\0\0", "TrueType font"),
    (b"OTTO", "OpenType font"),
    (b"PAR1", "Parquet data"),
];

/// What the beginning of some bytes says, when it says that they are not text.
pub fn binary(bytes: &[u8]) -> Option<Binary> {
    if is_utf16(bytes) {
        return None;
    }
    let sample = bytes.get(..SNIFF).unwrap_or(bytes);
    let nul = memchr::memchr(0, sample).is_some();
    let magic = MAGIC.iter().find(|(magic, _)| sample.starts_with(magic));
    if let Some((magic, kind)) = magic {
        let plain = magic
            .iter()
            .all(|b| (b' '..=b'~').contains(b) || *b == b'\n');
        if nul || !plain || *magic == b"%PDF-" {
            return Some(Binary { kind: Some(kind) });
        }
    }
    let kind = match (sample.get(4..8), sample.get(257..262)) {
        (Some(b"ftyp"), _) => Some("MP4 family"),
        (_, Some(b"ustar")) => Some("tar archive"),
        _ => None,
    };
    nul.then_some(Binary { kind })
}

#[cfg(test)]
mod tests;
