//! What a person sends, made fit for the log: pictures that models can look at, or a word on why not. A broken picture in
//! the log would make every later request fail.

use crate::tools::files::picture;
use base64::Engine;
use ostler_state::inbox::Prompt;
use ostler_wire::{Body, Image, Language, MAX_PICTURE_DATA, Message, Notice, Word};

/// Pictures of one prompt.
const MAX_PICTURES: usize = 20;
const NO_PICTURE: &str = "[The pictures of this message could not be used.]";

/// The message and what the person should know about it.
pub async fn message(prompt: Prompt, language: Language) -> (Message, Vec<Body>) {
    let Prompt {
        mut text,
        images,
        typed,
        reply_to,
        ..
    } = prompt;
    let given = images.len();
    let (mut usable, mut notices) = (Vec::new(), Vec::new());
    let mut tell = |text: String| notices.push(Body::Notice(Notice { text }));
    for (i, image) in images.into_iter().take(MAX_PICTURES).enumerate() {
        match prepared(image, language).await {
            Ok(image) => usable.push(image),
            Err(why) => tell(language.fill(Word::PictureLeft, &[&(i + 1).to_string(), &why])),
        }
    }
    if given > MAX_PICTURES {
        let (taken, given) = (MAX_PICTURES.to_string(), given.to_string());
        tell(language.fill(Word::PicturesFew, &[&taken, &given]));
    }
    if given > 0 && usable.is_empty() && text.trim().is_empty() {
        text = NO_PICTURE.into();
    }
    let message = Message {
        images: usable,
        typed,
        op: reply_to.op,
        ..Message::user(text)
    };
    (message, notices)
}

async fn prepared(image: Image, language: Language) -> Result<Image, String> {
    if image.data.len() > MAX_PICTURE_DATA {
        return Err(language.say(Word::PictureLarge).into());
    }
    let work = move || {
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(image.data.trim())
            .map_err(|e| language.fill(Word::PictureGarbled, &[&e.to_string()]))?;
        let format =
            picture::format(&bytes).ok_or_else(|| language.say(Word::PictureUnknown).to_owned())?;
        picture::prepare(&bytes, format).map(|picture| picture.image)
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(e) => Err(language.fill(Word::PictureUnread, &[&e.to_string()])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn image(media_type: &str, bytes: &[u8]) -> Image {
        Image {
            media_type: media_type.into(),
            data: base64::engine::general_purpose::STANDARD.encode(bytes),
        }
    }

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        image::RgbImage::new(width, height)
            .write_to(&mut out, image::ImageFormat::Png)
            .unwrap();
        out.into_inner()
    }

    fn told(notices: &[Body]) -> Vec<&str> {
        notices
            .iter()
            .map(|body| match body {
                Body::Notice(notice) => notice.text.as_str(),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[tokio::test]
    async fn pictures_are_sized_and_broken_ones_left_out() {
        let small = png(4, 3);
        let prompt = Prompt {
            text: "look".into(),
            images: vec![
                image("text/plain", &small),
                image("image/png", &png(4000, 3000)),
                image("image/png", b"<svg/>"),
                image("image/png", &small[..40]),
                Image {
                    media_type: "image/png".into(),
                    data: "!".into(),
                },
            ],
            ..Prompt::default()
        };
        let (message, notices) = message(prompt, Language::English).await;
        assert_eq!(message.text, "look");
        // The type is what the bytes say, and the second one was made smaller.
        assert_eq!(message.images[0], image("image/png", &small));
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(&message.images[1].data)
            .unwrap();
        let shrunk = image::load_from_memory(&bytes).unwrap();
        assert_eq!((shrunk.width(), shrunk.height()), (1568, 1176));
        assert_eq!(message.images.len(), 2);
        let told = told(&notices);
        assert_eq!(told.len(), 3, "{told:?}");
        assert_eq!(
            told[0],
            "Picture 3 was left out: it is not a PNG, JPEG, GIF or WebP."
        );
        assert!(told[2].starts_with("Picture 5 was left out: its data is not base64"));
    }

    #[tokio::test]
    async fn a_message_is_never_empty_for_lack_of_its_pictures() {
        let images = vec![image("image/png", b"no"); MAX_PICTURES + 1];
        let (with, notices) = message(
            Prompt {
                text: " ".into(),
                images,
                ..Prompt::default()
            },
            Language::English,
        )
        .await;
        assert_eq!((with.text.as_str(), with.images.len()), (NO_PICTURE, 0));
        assert_eq!(
            told(&notices).last(),
            Some(&"Only the first 20 of 21 pictures were taken.")
        );
        let (plain, notices) = message(
            Prompt {
                text: " as it is ".into(),
                ..Prompt::default()
            },
            Language::English,
        )
        .await;
        assert_eq!((plain, notices), (Message::user(" as it is "), Vec::new()));
    }
}
