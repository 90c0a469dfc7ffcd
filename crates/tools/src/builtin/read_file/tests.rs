//! `read_file`: text, windows, encodings, pictures, and what is neither.

use super::*;
use crate::testing::Bench;
use std::os::unix::fs::symlink;

async fn shown(bench: &Bench, args: Value) -> String {
    match bench.run(&ReadFile, args).await {
        Ok(done) => ReadFile::render(&done.data).text,
        Err(e) => format!(
            "{}: {}",
            e.code,
            e.message
                .replace(&bench.root().display().to_string(), "ROOT")
        ),
    }
}

#[tokio::test]
async fn the_envelope_has_the_contract_fields() {
    let bench = Bench::new();
    let path = bench.put("src/a.txt", "one\ntwo\n");
    let hash = Seen::hash(b"one\ntwo\n");
    let got = bench
        .envelope(&ReadFile, json!({"file_path": "src/../src/a.txt"}))
        .await;
    let data = json!({
        "path": path, "content": "one\ntwo\n", "truncated": false, "bytes": 8, "lines": 2, "hash": hash,
    });
    assert_eq!(got, json!({"ok": true, "data": data}));
    assert_eq!(bench.seen.known(&path), Some(hash));
}

#[tokio::test]
async fn what_the_model_sees() {
    let bench = Bench::new();
    bench.put("five", "1\n2\n3\n4\n5");
    bench.put("empty", "");
    bench.put("latin", b"caf\xE9 cr\xE8me br\xFBl\xE9e\n");
    bench.put("wide", b"\xFF\xFEh\0i\0\n\0");
    let chinese = "// 读取配置文件，然后启动服务器。\n";
    bench.put("gb", encoding_rs::GB18030.encode(chinese).0);
    bench.put("program", b"\x7FELF\x02\0\0");
    bench.put("noise", b"a\0b");
    bench.put("lines", "x\n".repeat(30_000));
    bench.put("long", format!("{}\nsecond\n", "y".repeat(60_000)));
    symlink(bench.path("five"), bench.path("link")).unwrap();
    let five = "1\n2\n3\n4\n5";
    for (args, expect) in [
        (json!({"path": "five"}), five.to_owned()),
        (json!({"path": "link"}), five.into()),
        (json!({"path": bench.path("five")}), five.into()),
        (
            json!({"path": "five", "offset": 0, "limit": 0}),
            five.into(),
        ),
        (
            json!({"path": "five", "offset": 2, "limit": 2}),
            "lines 2-3 of 5\n2\n3\n".into(),
        ),
        (
            json!({"path": "five", "offset": 5}),
            "line 5 of 5\n5".into(),
        ),
        (
            json!({"path": "five", "limit": 1}),
            "line 1 of 5\n1\n".into(),
        ),
        (
            json!({"path": "five", "offset": 9}),
            "no line 9 of 5\n".into(),
        ),
        (json!({"path": "empty"}), "(empty file)".into()),
        (
            json!({"path": "latin"}),
            "[windows-1252]\ncafé crème brûlée\n".into(),
        ),
        (json!({"path": "wide"}), "[UTF-16LE]\nhi\n".into()),
        (json!({"path": "gb"}), format!("[gb18030]\n{chinese}")),
        (
            json!({"path": "program"}),
            "binary file, 7 bytes, looks like ELF".into(),
        ),
        (json!({"path": "noise"}), "binary file, 3 bytes".into()),
        (
            json!({"path": "lines"}),
            format!(
                "{}[cut at 51200 bytes; go on with offset 25601]",
                "x\n".repeat(25_600)
            ),
        ),
        (
            json!({"path": "lines", "offset": 29_999}),
            "lines 29999-30000 of 30000\nx\nx\n".into(),
        ),
        (
            json!({"path": "long"}),
            format!(
                "{}\n[line 1 is longer than 51200 bytes; see the rest with bash]",
                "y".repeat(51_200)
            ),
        ),
        (
            json!({"path": "long", "offset": 2}),
            "line 2 of 2\nsecond\n".into(),
        ),
    ] {
        assert_eq!(shown(&bench, args.clone()).await, expect, "{args}");
    }
}

#[tokio::test]
async fn errors_say_what_to_do() {
    let bench = Bench::new();
    bench.put("src/main.rs", "");
    bench.put("src/man.rs", "");
    let fifo = std::process::Command::new("mkfifo")
        .arg(bench.path("pipe"))
        .status()
        .unwrap();
    assert!(fifo.success());
    symlink("loop", bench.path("loop")).unwrap();
    for (path, expect) in [
        (
            "src/mian.rs",
            "not_found: ROOT/src/mian.rs does not exist. Did you mean src/man.rs or src/main.rs?",
        ),
        (
            "src/zzz",
            "not_found: ROOT/src/zzz does not exist. Use glob to find it.",
        ),
        (
            "no/such/dir",
            "not_found: ROOT/no/such/dir does not exist. Use glob to find it.",
        ),
        (
            "src/main.rs/x",
            "not_found: ROOT/src/main.rs/x does not exist. Use glob to find it.",
        ),
        (
            "new\nline",
            "not_found: ROOT/new\nline does not exist. Use glob to find it.",
        ),
        (
            "src",
            "is_directory: ROOT/src is a directory, not a file. Use ls.",
        ),
        (
            "pipe",
            "forbidden: ROOT/pipe is a device, socket or pipe, not a regular file.",
        ),
        (
            "loop",
            "read_error: ROOT/loop has too many symlinks on its way, or they form a circle.",
        ),
        (
            "nul\0",
            "read_error: ROOT/nul\0 must be an absolute path without NUL bytes.",
        ),
        (" ", "invalid_input: The path is empty."),
    ] {
        assert_eq!(shown(&bench, json!({"path": path})).await, expect);
    }
}

#[tokio::test]
async fn names_may_be_odd() {
    let bench = Bench::new();
    for name in ["new\nline.txt", "späces and ünïcode", "-dash", "a'b\"c"] {
        bench.put(name, name);
        assert_eq!(shown(&bench, json!({"path": name})).await, name);
    }
}

#[tokio::test]
async fn large_files_pass_by_in_pieces() {
    let bench = Bench::new();
    let lines: String = (1..=400_000).map(|n| format!("line {n} é\n")).collect();
    let path = bench.put("large", &lines);
    assert!(lines.len() as u64 > 3 * SMALL);
    let data = bench
        .run(&ReadFile, json!({"path": "large", "offset": 399_999}))
        .await
        .unwrap()
        .data;
    assert_eq!(data["content"], "line 399999 é\nline 400000 é\n");
    assert_eq!(
        (&data["lines"], &data["truncated"]),
        (&json!(400_000), &json!(false))
    );
    assert_eq!(data["hash"], Seen::hash(lines.as_bytes()));
    assert_eq!(bench.seen.known(&path), Some(Seen::hash(lines.as_bytes())));

    bench.put("line", "z".repeat(10 * 1024 * 1024));
    let data = bench
        .run(&ReadFile, json!({"path": "line"}))
        .await
        .unwrap()
        .data;
    assert_eq!(data["content"].as_str().map(str::len), Some(MAX_TEXT));
    assert_eq!(
        (&data["lines"], &data["truncated"]),
        (&json!(1), &json!(true))
    );

    let wide: Vec<u8> = [0xFF, 0xFE]
        .into_iter()
        .chain(
            "wide\n"
                .repeat(200_000)
                .encode_utf16()
                .flat_map(u16::to_le_bytes),
        )
        .collect();
    bench.put("wide", &wide);
    assert_eq!(
        shown(&bench, json!({"path": "wide", "offset": 200_000})).await,
        "[UTF-16LE]\nline 200000 of 200000\nwide\n"
    );

    bench.put("zeros", vec![0; 2 * 1024 * 1024]);
    assert_eq!(
        shown(&bench, json!({"path": "zeros"})).await,
        "binary file, 2097152 bytes"
    );
}

#[tokio::test]
async fn a_long_read_can_be_stopped() {
    let bench = Bench::new();
    bench.put("large", "x\n".repeat(1024 * 1024));
    let cx = bench.context("read_file");
    cx.cancel.cancel();
    let got = crate::testing::run(&ReadFile, json!({"path": "large"}), cx).await;
    assert_eq!(got.err().map(|e| e.code), Some("interrupted"));
}

#[tokio::test]
async fn pictures_come_as_pictures() {
    let bench = Bench::new();
    let image = image::RgbImage::from_pixel(3, 2, image::Rgb([1, 2, 3]));
    image.save(bench.path("dot.png")).unwrap();
    let data = bench
        .run(&ReadFile, json!({"path": "dot.png"}))
        .await
        .unwrap()
        .data;
    assert_eq!((&data["width"], &data["height"]), (&json!(3), &json!(2)));
    assert_eq!(data["bytes"], bench.get("dot.png").len());
    let rendered = ReadFile::render(&data);
    assert_eq!(rendered.text, "image/png 3x2");
    assert_eq!(rendered.images.len(), 1);
    bench.put("broken.png", &bench.get("dot.png")[..30]);
    let got = shown(&bench, json!({"path": "broken.png"})).await;
    assert!(
        got.starts_with("read_error: The image broken.png cannot be shown: "),
        "{got}"
    );
}

#[test]
fn it_declares_what_it_reads() {
    let scope = Scope::new("/r", Some("/home/u".into()));
    for (path, expect) in [
        ("a", "/r/a"),
        ("../x", "/x"),
        ("~/n", "/home/u/n"),
        ("/e", "/e"),
    ] {
        let access = crate::testing::access(&ReadFile, &json!({"path": path}), &scope);
        assert_eq!(access, Ok(vec![Access::Read(expect.into())]));
    }
}
