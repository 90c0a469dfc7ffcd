//! Bytes as lower-case hex digits.

pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or('0');
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.push(digit(byte >> 4));
        out.push(digit(byte & 15));
    }
    out
}

/// The first `count` bytes of a digest.
pub fn short(digest: &[u8], count: usize) -> String {
    hex(digest.get(..count).unwrap_or(digest))
}

#[cfg(test)]
mod tests {
    #[test]
    fn digits() {
        assert_eq!(super::hex(&[0, 10, 255]), "000aff");
        assert_eq!(super::short(&[1, 2, 3], 2), "0102");
        assert_eq!(super::short(&[1], 2), "01");
    }
}
