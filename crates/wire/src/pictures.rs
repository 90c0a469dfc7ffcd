//! How large the pictures of a message may be, on every way to a session: paste, op on stdin, connection of another process.

use crate::{Image, Language, Op, OpLine, Word};

/// Bytes of one picture as a file.
pub const MAX_PICTURE: usize = 20 << 20;
/// The same as base64.
pub const MAX_PICTURE_DATA: usize = MAX_PICTURE.div_ceil(3) * 4;
/// Base64 of all pictures of one message.
pub const MAX_PICTURES_DATA: usize = 40 << 20;
/// Bytes of an op as a line of JSON, with room for its text.
pub const MAX_OP_LINE: usize = 64 << 20;

const MIB: usize = 1 << 20;

/// Why pictures are not taken, as a sentence for the person.
pub fn refuse_pictures(images: &[Image], language: Language) -> Option<String> {
    let is_large = |image: &Image| image.data.len() > MAX_PICTURE_DATA;
    if let Some(at) = images.iter().position(is_large) {
        let (number, most) = ((at + 1).to_string(), (MAX_PICTURE / MIB).to_string());
        return Some(language.fill(Word::PictureRefused, &[&number, &most]));
    }
    let all: usize = images.iter().map(|image| image.data.len()).sum();
    // What people count are files.
    let files = |data: usize| (data / 4 * 3 / MIB).to_string();
    (all > MAX_PICTURES_DATA).then(|| {
        let words = [files(all), files(MAX_PICTURES_DATA)];
        language.fill(Word::PicturesRefused, &[&words[0], &words[1]])
    })
}

impl OpLine {
    /// Why it cannot be sent to another process, as a sentence for the person.
    pub fn refuse(&self, language: Language) -> Option<String> {
        let (Op::Say { text, images, .. } | Op::Prompt { text, images, .. }) = &self.op else {
            return None;
        };
        refuse_pictures(images, language).or_else(|| {
            // A character takes six bytes at most, and pictures none beside their own.
            let is_short = text.len() < (MAX_OP_LINE - MAX_PICTURES_DATA) / 6 - MIB / 4;
            let fits =
                is_short || serde_json::to_vec(self).is_ok_and(|line| line.len() < MAX_OP_LINE);
            let most = (MAX_OP_LINE / MIB).to_string();
            (!fits).then(|| language.fill(Word::OpTooLong, &[&most]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delivery;

    fn image(bytes: usize) -> Image {
        Image {
            media_type: "image/png".into(),
            data: "A".repeat(bytes),
        }
    }

    fn line(text: String, images: Vec<Image>) -> OpLine {
        OpLine::from(Op::Prompt {
            text,
            delivery: Delivery::Queue,
            images,
        })
    }

    #[test]
    fn a_message_that_is_not_refused_fits_a_line() {
        let refused = |line: &OpLine| line.refuse(Language::English).unwrap_or_default();
        let large = image(MAX_PICTURE_DATA);
        for (line, expect) in [
            (line("x".into(), vec![large.clone()]), ""),
            (
                line("x".into(), vec![image(1), image(MAX_PICTURE_DATA + 1)]),
                "Picture 2",
            ),
            (line("x".into(), vec![large.clone(), large]), "together"),
            (line("\u{1}".repeat(MAX_OP_LINE / 6), vec![]), "64 MiB"),
            (line("x".repeat(32 << 20), vec![]), ""),
        ] {
            let told = refused(&line);
            assert!(told.contains(expect), "{told}");
            if expect.is_empty() {
                assert_eq!(told, "");
                assert!(serde_json::to_vec(&line).unwrap().len() < MAX_OP_LINE);
            }
        }
    }
}
