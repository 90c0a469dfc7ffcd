//! The names in a git index, so that rules on files bind commands that show what is tracked. It reads bytes, no files.

/// Entries that are looked at.
const MAX_ENTRIES: u32 = 500_000;
/// Before the name of an entry: times, ids, mode, size, hash, flags.
const FIXED: usize = 62;
const EXTENDED: u16 = 0x4000;

/// Every name, or `None` when this is no index that is understood.
pub fn names(bytes: &[u8]) -> Option<Vec<String>> {
    let number = |at: usize| {
        let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_be_bytes(four))
    };
    let version = number(4)?;
    let count = number(8)?;
    if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) || count > MAX_ENTRIES {
        return None;
    }
    let mut at = 12;
    let mut before: Vec<u8> = Vec::new();
    let mut out = Vec::new();
    for _ in 0..count {
        let flags: [u8; 2] = bytes.get(at + FIXED - 2..at + FIXED)?.try_into().ok()?;
        let more = u16::from_be_bytes(flags) & EXTENDED != 0 && version > 2;
        let mut start = at + FIXED + if more { 2 } else { 0 };
        if version == 4 {
            let (strip, used) = varint(bytes.get(start..)?)?;
            start += used;
            before.truncate(before.len().checked_sub(strip)?);
        } else {
            before.clear();
        }
        let rest = bytes.get(start..)?;
        let length = memchr::memchr(0, rest)?;
        before.extend_from_slice(rest.get(..length)?);
        out.push(String::from_utf8_lossy(&before).into_owned());
        at = match version {
            4 => start + length + 1,
            // Filled up with zeros, at least one.
            _ => at + ((start - at) + length + 8) / 8 * 8,
        };
    }
    Some(out)
}

/// The number as git writes it in packs, and how many bytes it took.
fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value: usize = 0;
    for (i, byte) in bytes.iter().take(8).enumerate() {
        value = value
            .checked_shl(7)?
            .checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some((value, i + 1));
        }
        value = value.checked_add(1)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> Vec<u8> {
        let mut out = vec![1u8; FIXED - 2];
        out.extend([0, 1]);
        out.extend(name.as_bytes());
        out
    }

    #[test]
    fn names_of_an_index() {
        let head = |version: u8| {
            let mut out = b"DIRC".to_vec();
            out.extend([0, 0, 0, version, 0, 0, 0, 2]);
            out
        };
        let mut two = head(2);
        for name in [".env", "src/main.rs"] {
            let mut one = entry(name);
            one.resize((one.len() + 8) / 8 * 8, 0);
            two.extend(one);
        }
        assert_eq!(names(&two).unwrap(), [".env", "src/main.rs"]);
        let mut four = head(4);
        let mut first = entry("");
        first.extend(b"\0src/a\0");
        let mut second = entry("");
        second.extend(b"\x01b\0");
        four.extend(first);
        four.extend(second);
        assert_eq!(names(&four).unwrap(), ["src/a", "src/b"]);
        for end in 0..two.len() {
            let _ = names(two.get(..end).unwrap());
        }
        assert_eq!(names(b"DIRC"), None);
        assert_eq!(names(b"nothing at all"), None);
    }
}
