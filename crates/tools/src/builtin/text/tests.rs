//! Encodings: recognised, decoded, and written back byte for byte.

use super::*;

fn seen(bytes: &[u8]) -> String {
    match decode(bytes) {
        Ok(text) => {
            let label = text.coding.label().unwrap_or("UTF-8");
            let faithful = if text.faithful { "" } else { " (reading only)" };
            format!("{label}{faithful}: {}", text.into_shown())
        }
        Err(Binary { kind }) => format!("binary: {}", kind.unwrap_or("?")),
    }
}

const CHINESE: &str = "// 读取配置文件，然后启动服务器。\nlet 名字 = \"你好，世界\";\n";
const FRENCH: &str = "# Le café est fermé, où aller déjeuner ?\nprix = 'été'\n";
const JAPANESE: &str = "// 設定ファイルを読み込みます。\nこんにちは世界\n";
const RUSSIAN: &str = "// Читаем настройки и запускаем сервер\nПривет, мир\n";

#[test]
fn bytes_become_text_or_are_named() {
    let (gb, ..) = GB18030.encode(CHINESE);
    let (latin, ..) = encoding_rs::WINDOWS_1252.encode(FRENCH);
    let (sjis, ..) = encoding_rs::SHIFT_JIS.encode(JAPANESE);
    let (koi, ..) = encoding_rs::KOI8_R.encode(RUSSIAN);
    for (bytes, expect) in [
        (&b""[..], "UTF-8: ".to_owned()),
        (b"plain\n", "UTF-8: plain\n".into()),
        (b"\xEF\xBB\xBFmarked", "UTF-8 with BOM: marked".into()),
        (b"\xFF\xFEh\0i\0", "UTF-16LE: hi".into()),
        (b"\xFE\xFF\0h\0i", "UTF-16BE: hi".into()),
        (b"\xFF\xFEh\0i", "UTF-16LE (reading only): h".into()),
        (
            b"\xFF\xFE\x00\xD8h\0",
            "UTF-16LE (reading only): \u{FFFD}h".into(),
        ),
        (&gb, format!("gb18030: {CHINESE}")),
        (&latin, format!("windows-1252: {FRENCH}")),
        (&sjis, format!("Shift_JIS: {JAPANESE}")),
        (&koi, format!("KOI8-U: {RUSSIAN}")),
        (
            "äöüß\u{20AC} and \\xff:".as_bytes(),
            "UTF-8: äöüß€ and \\xff:".into(),
        ),
        (
            b"\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F \xFF end",
            "UTF-8 with invalid bytes: äöüß \u{FFFD} end".into(),
        ),
        (b"\x7FELF\x02\x01\x01\0\0", "binary: ELF".into()),
        (b"MZ is a text", "UTF-8: MZ is a text".into()),
        (b"MZ\x90\0\x03", "binary: Windows executable".into()),
        (b"%PDF-1.7\nobj", "binary: PDF".into()),
        (b"\x1F\x8B\x08abc", "binary: gzip".into()),
        (b"a\0b", "binary: ?".into()),
        (b"\0\0\0\x18ftypmp42", "binary: MP4 family".into()),
        (b"\xFF\xFE\0\0h\0\0\0", "binary: UTF-32 text".into()),
        (b"\x01\x02\x03\x90\x91\xFF\x05\x06", "binary: ?".into()),
    ] {
        assert_eq!(seen(bytes), expect);
    }
}

#[test]
fn faithful_text_gives_its_bytes_back() {
    let (gb, ..) = GB18030.encode(CHINESE);
    let four_byte = [&gb[..], b"\x81\x30\x81\x30"].concat();
    for bytes in [
        &b"\xEF\xBB\xBFa\r\nb"[..],
        b"\xFF\xFE=\xD8\0\xDE\r\0\n\0",
        b"\xFE\xFF\0a\0\n",
        b"\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F \xFF\x80 end",
        b"caf\xE9\x80\x81\n",
        &gb,
        &four_byte,
    ] {
        let text = decode(bytes).unwrap();
        assert!(text.faithful, "{text:?}");
        assert_eq!(
            encode(&text.content, text.coding).unwrap(),
            bytes,
            "{text:?}"
        );
    }
}

#[test]
fn what_an_encoding_cannot_say_is_refused() {
    let latin = Coding::Legacy(encoding_rs::WINDOWS_1252);
    assert_eq!(encode("naïve 你好", latin), Err(Unencodable('你')));
    assert_eq!(encode("naïve", latin).unwrap(), b"na\xEFve");
    assert_eq!(
        encode("你好", Coding::Legacy(GB18030)).unwrap(),
        b"\xC4\xE3\xBA\xC3"
    );
}

#[test]
fn a_mark_is_not_doubled() {
    let marked = Coding::Utf8 { bom: Bom::Present };
    assert_eq!(encode("\u{FEFF}a", marked).unwrap(), b"\xEF\xBB\xBFa");
    assert_eq!(encode("a", marked).unwrap(), b"\xEF\xBB\xBFa");
    assert_eq!(
        encode(
            "\u{FEFF}a",
            Coding::Utf16 {
                order: Order::Little
            }
        )
        .unwrap(),
        b"\xFF\xFEa\0"
    );
}

proptest::proptest! {
    #[test]
    fn any_bytes_that_decode_faithfully_survive(bytes: Vec<u8>) {
        if let Ok(text) = decode(&bytes)
            && text.faithful
        {
            assert_eq!(encode(&text.content, text.coding).unwrap(), bytes);
        }
    }
}
