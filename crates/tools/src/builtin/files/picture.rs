//! Pictures for models: recognised by their first bytes, made small enough, and otherwise left as they are. Blocking.

use base64::Engine;
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use ostler_wire::Image;
use std::io::Cursor;

/// Longest edge that models look at.
const MAX_EDGE: u32 = 1568;
/// Bytes of a picture as it is sent, before base64.
const MAX_SENT: usize = 1_000_000;
/// Memory that a decoder, and the picture it makes, may take.
const MAX_ALLOC: u64 = 256 * 1024 * 1024;
/// Longest edge that is decoded at all.
const MAX_SOURCE_EDGE: u32 = 30_000;
/// Tried in turn until a picture is small enough; then its edges are halved.
const JPEG_QUALITIES: [u8; 3] = [85, 70, 50];
const MAX_HALVINGS: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub image: Image,
    /// As sent.
    pub width: u32,
    pub height: u32,
}

/// The format, if the bytes begin like a picture that can be shown to a model.
pub fn format(head: &[u8]) -> Option<ImageFormat> {
    if head.starts_with(b"\x89PNG\r\n\x1A\n") {
        Some(ImageFormat::Png)
    } else if head.starts_with(b"\xFF\xD8\xFF") {
        Some(ImageFormat::Jpeg)
    } else if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
        Some(ImageFormat::Gif)
    } else if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        Some(ImageFormat::WebP)
    } else {
        None
    }
}

/// The same by its name on the wire.
pub fn media_type(head: &[u8]) -> Option<&'static str> {
    format(head).map(|format| format.to_mime_type())
}

/// The picture, sized for models. The error says what is wrong with it.
pub fn prepare(bytes: &[u8], format: ImageFormat) -> Result<Picture, String> {
    let open = || -> Result<_, image::ImageError> {
        let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
        let mut limits = Limits::default();
        limits.max_image_width = Some(MAX_SOURCE_EDGE);
        limits.max_image_height = Some(MAX_SOURCE_EDGE);
        limits.max_alloc = Some(MAX_ALLOC);
        reader.limits(limits);
        reader.into_decoder()
    };
    let mut decoder = open().map_err(|e| e.to_string())?;
    let (width, height) = decoder.dimensions();
    // The limits above are those of the decoder; the picture itself is not among them.
    if decoder.total_bytes() > MAX_ALLOC {
        return Err(format!("{width}x{height} pixels are too many"));
    }
    if width <= MAX_EDGE && height <= MAX_EDGE && bytes.len() <= MAX_SENT {
        // Decoded all the same: a broken picture would make every later request fail.
        DynamicImage::from_decoder(decoder).map_err(|e| e.to_string())?;
        return Ok(picture(bytes, format, width, height));
    }
    let orientation = decoder.orientation().map_err(|e| e.to_string())?;
    let mut whole = DynamicImage::from_decoder(decoder).map_err(|e| e.to_string())?;
    whole.apply_orientation(orientation);
    shrink(&whole, format).map_err(|e| e.to_string())
}

fn shrink(whole: &DynamicImage, format: ImageFormat) -> Result<Picture, image::ImageError> {
    let mut edge = MAX_EDGE;
    let mut smallest = None;
    for _ in 0..=MAX_HALVINGS {
        let small = if whole.width() > edge || whole.height() > edge {
            whole.thumbnail(edge, edge)
        } else {
            whole.clone()
        };
        let (width, height) = (small.width(), small.height());
        // A photograph would only get larger without loss.
        if format != ImageFormat::Jpeg {
            let mut png = Cursor::new(Vec::new());
            small.write_to(&mut png, ImageFormat::Png)?;
            if png.get_ref().len() <= MAX_SENT {
                return Ok(picture(png.get_ref(), ImageFormat::Png, width, height));
            }
        }
        let opaque = DynamicImage::from(small.to_rgb8());
        for quality in JPEG_QUALITIES {
            let mut jpeg = Vec::new();
            opaque.write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, quality))?;
            let candidate = picture(&jpeg, ImageFormat::Jpeg, width, height);
            if jpeg.len() <= MAX_SENT {
                return Ok(candidate);
            }
            smallest = Some(candidate);
        }
        edge /= 2;
    }
    smallest.ok_or_else(|| {
        image::ImageError::IoError(std::io::Error::other("it cannot be made small enough"))
    })
}

fn picture(bytes: &[u8], format: ImageFormat, width: u32, height: u32) -> Picture {
    Picture {
        image: Image {
            media_type: format.to_mime_type().into(),
            data: base64::engine::general_purpose::STANDARD.encode(bytes),
        },
        width,
        height,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{Rgb, RgbImage};

    fn encoded(
        width: u32,
        height: u32,
        format: ImageFormat,
        pixel: impl Fn(u32, u32) -> [u8; 3],
    ) -> Vec<u8> {
        let image = RgbImage::from_fn(width, height, |x, y| Rgb(pixel(x, y)));
        let mut out = Cursor::new(Vec::new());
        image.write_to(&mut out, format).unwrap();
        out.into_inner()
    }

    fn noise(x: u32, y: u32) -> [u8; 3] {
        let hash =
            (x.wrapping_mul(0x9E37_79B1) ^ y.wrapping_mul(0x85EB_CA77)).wrapping_mul(0xC2B2_AE3D);
        [hash as u8, (hash >> 8) as u8, (hash >> 16) as u8]
    }

    #[test]
    fn small_pictures_go_as_they_are() {
        for kind in [
            ImageFormat::Png,
            ImageFormat::Jpeg,
            ImageFormat::Gif,
            ImageFormat::WebP,
        ] {
            let bytes = encoded(8, 6, kind, |_, _| [200, 10, 10]);
            assert_eq!(format(&bytes), Some(kind));
            assert_eq!(prepare(&bytes, kind), Ok(picture(&bytes, kind, 8, 6)));
        }
    }

    #[test]
    fn large_pictures_shrink() {
        let wide = encoded(3136, 20, ImageFormat::Png, |_, _| [0, 0, 90]);
        let got = prepare(&wide, ImageFormat::Png).unwrap();
        assert_eq!(
            (got.width, got.height, got.image.media_type.as_str()),
            (1568, 10, "image/png")
        );
        let noisy = encoded(720, 480, ImageFormat::Png, noise);
        assert!(noisy.len() > MAX_SENT);
        let got = prepare(&noisy, ImageFormat::Png).unwrap();
        assert_eq!(
            (got.width, got.height, got.image.media_type.as_str()),
            (720, 480, "image/jpeg")
        );
        assert!(got.image.data.len() <= MAX_SENT * 4 / 3 + 4);
    }

    #[test]
    fn broken_pictures_are_refused() {
        let whole = encoded(64, 64, ImageFormat::Png, noise);
        for bytes in [
            &whole[..40],
            &whole[..whole.len() / 2],
            b"\x89PNG\r\n\x1A\n",
        ] {
            assert!(prepare(bytes, ImageFormat::Png).is_err());
        }
        let mut bomb = whole.clone();
        bomb[16..24].copy_from_slice(&[0, 0, 0xFF, 0xFF, 0, 0, 0xFF, 0xFF]);
        assert!(prepare(&bomb, ImageFormat::Png).is_err());
        // Few bytes that would be more than a gigabyte of pixels.
        let mut large = whole.clone();
        large[16..24].copy_from_slice(&[0, 0, 0x4E, 0x20, 0, 0, 0x4E, 0x20]);
        let sum = crc(&large[12..29]);
        large[29..33].copy_from_slice(&sum.to_be_bytes());
        let why = prepare(&large, ImageFormat::Png).unwrap_err();
        assert_eq!(why, "20000x20000 pixels are too many");
    }

    /// The checksum of a PNG chunk.
    fn crc(bytes: &[u8]) -> u32 {
        let step = |sum: u32| match sum & 1 {
            1 => (sum >> 1) ^ 0xEDB8_8320,
            _ => sum >> 1,
        };
        !bytes.iter().fold(!0, |sum, byte| {
            (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum))
        })
    }

    #[test]
    fn only_pictures_are_pictures() {
        for bytes in [&b""[..], b"RIFF1234WAVE", b"GIF", b"BM", b"plain"] {
            assert_eq!(format(bytes), None);
        }
    }
}
