//! The kernel's table of mounts, as far as the sandbox needs it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// All that is mounted, and how, as the kernel writes it.
pub fn read() -> Vec<u8> {
    fs::read("/proc/self/mountinfo").unwrap_or_default()
}

/// Where something is mounted.
pub fn mount_points() -> Vec<PathBuf> {
    let table = read();
    let point = |line: &[u8]| {
        let field = line.split(|byte| *byte == b' ').nth(4)?;
        Some(PathBuf::from(OsString::from_vec(unescape(field))))
    };
    table
        .split(|byte| *byte == b'\n')
        .filter_map(point)
        .collect()
}

/// Spaces and the like are written as a backslash and three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let octal = |digits: &[u8]| {
            let text = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(text, 8).ok()
        };
        match after.split_at_checked(3) {
            Some((digits, after)) if first == b'\\' && octal(digits).is_some() => {
                plain.extend(octal(digits));
                rest = after;
            }
            _ => {
                plain.push(first);
                rest = after;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_table_escapes() {
        for (field, plain) in [("/a", "/a"), (r"/a\040b", "/a b"), (r"/a\04", r"/a\04")] {
            assert_eq!(unescape(field.as_bytes()), plain.as_bytes());
        }
    }
}
