//! Opaque replay blobs (thinking signatures, encrypted reasoning, thought signatures) that verify
//! themselves: a later request that alters one, or sends it to another model, is refused.
//! Blobs a script spells out itself are not ours and always pass.

use crate::Kind;

const TAG: &str = "mockseal";

/// A blob for `content`, bound to the protocol and the model that "made" it. Hex, so that it is
/// valid base64 too, as the vendors' blobs are.
pub(crate) fn seal(kind: Kind, model: &str, content: &str) -> String {
    let body = format!("{TAG}|{}|{model}|{:016x}", kind.name(), fnv(content));
    let mut text = format!("{body}|{:016x}", fnv(&body));
    if text.len() % 2 == 1 {
        text.push('|');
    }
    text.bytes().map(|b| format!("{b:02x}")).collect()
}

/// What is wrong with a blob that came back, if it is one of ours. `content` is given where the
/// vendor binds the blob to the text beside it.
pub(crate) fn check(
    blob: &str,
    kind: Kind,
    model: &str,
    content: Option<&str>,
) -> Result<(), &'static str> {
    let tag: String = TAG.bytes().map(|b| format!("{b:02x}")).collect();
    if !blob.starts_with(&tag) {
        return Ok(());
    }
    let text = unhex(blob).ok_or("is damaged")?;
    let fields: Vec<&str> = text.trim_end_matches('|').split('|').collect();
    let [_, made_by, made_for, of, sum] = fields[..] else {
        return Err("is damaged");
    };
    let body = format!("{TAG}|{made_by}|{made_for}|{of}");
    if sum != format!("{:016x}", fnv(&body)) {
        return Err("is damaged");
    }
    if made_by != kind.name() || made_for != model {
        return Err("was made by another model");
    }
    match content {
        Some(content) if of != format!("{:016x}", fnv(content)) => Err("does not fit its text"),
        Some(_) | None => Ok(()),
    }
}

fn unhex(text: &str) -> Option<String> {
    let bytes: Option<Vec<u8>> = text
        .as_bytes()
        .chunks(2)
        .map(|pair| {
            let pair = std::str::from_utf8(pair).ok().filter(|p| p.len() == 2)?;
            u8::from_str_radix(pair, 16).ok()
        })
        .collect();
    String::from_utf8(bytes?).ok()
}

fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_holds_only_for_what_it_was_made_for() {
        let blob = seal(Kind::Messages, "m", "thought");
        let ok = |kind, model, content| check(&blob, kind, model, content);
        assert_eq!(ok(Kind::Messages, "m", Some("thought")), Ok(()));
        assert_eq!(ok(Kind::Messages, "m", None), Ok(()));
        assert_eq!(
            ok(Kind::Messages, "m", Some("other")),
            Err("does not fit its text")
        );
        assert_eq!(
            ok(Kind::Messages, "n", None),
            Err("was made by another model")
        );
        assert_eq!(
            ok(Kind::Gemini, "m", None),
            Err("was made by another model")
        );
        let cut = &blob[..blob.len() - 3];
        assert_eq!(check(cut, Kind::Messages, "m", None), Err("is damaged"));
        assert_eq!(check("EqQBCgIYAh", Kind::Messages, "m", None), Ok(()));
    }
}
