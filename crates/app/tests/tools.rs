//! Every built-in tool through the real binary: the envelope in the log, what the model reads of it, what lies on disk.
#![cfg(unix)]

mod common;

use common::{Scene, of_type, wait_for};
use ostler_testkit::{Kind, Run, Server, Signal, Step, TempWorkspace};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

/// A call, what its envelope must contain, and what the model must read. `@ROOT`, `@URL` and `@ADDR` are filled in.
struct Row {
    tool: &'static str,
    args: String,
    want: Value,
    reads: String,
}

/// A call that works; `data` is a part of what it gives.
fn ok(tool: &'static str, args: Value, data: Value, reads: &str) -> Row {
    Row {
        tool,
        args: args.to_string(),
        want: json!({"ok": true, "data": data}),
        reads: reads.into(),
    }
}

/// A call that fails; `reads` is a part of the sentence the model gets.
fn err(tool: &'static str, args: Value, code: &str, reads: &str) -> Row {
    Row {
        tool,
        args: args.to_string(),
        want: json!({"ok": false, "error": {"code": code}}),
        reads: reads.into(),
    }
}

/// The same with arguments as the model wrote them.
fn raw(args: &str, row: Row) -> Row {
    Row {
        args: args.into(),
        ..row
    }
}

/// A scene with a vendor that has no answers yet.
fn scene(kind: Kind, config: &str) -> Scene {
    let server = Server::start([]);
    let config = fill(config, &server, None);
    // These tests are about tools, not about who may call them.
    let config = match config.contains("[permissions]") {
        true => config,
        false => config + "\n[permissions]\nheadless = \"allow\"\n",
    };
    Scene::of(kind, &config, server)
}

fn fill(text: &str, server: &Server, root: Option<&TempWorkspace>) -> String {
    let text = text
        .replace("@URL", &server.url())
        .replace("@ADDR", &server.addr().to_string());
    match root {
        Some(space) => text.replace("@ROOT", &space.root().display().to_string()),
        None => text,
    }
}

/// Runs the calls one after another in one turn and checks each.
#[track_caller]
fn check(scene: &Scene, rows: &[Row]) {
    check_run(scene, rows, scene.ostler(["exec", "-p", "go"]));
}

#[track_caller]
fn check_run(scene: &Scene, rows: &[Row], run: Run) {
    let filled = |text: &str| fill(text, &scene.server, Some(&scene.space));
    for row in rows {
        let step = Step::answer().raw_call(row.tool, &filled(&row.args));
        scene.server.push(step);
    }
    scene.server.push(Step::answer().text("done"));
    let out = run.output();
    assert_eq!(out.stdout, "done\n", "{}", out.stderr);
    let log = scene.log();
    let results = of_type(&log, "tool_result");
    let requests = scene.server.requests();
    let told = requests
        .last()
        .map(|r| r.tool_results())
        .unwrap_or_default();
    assert_eq!((results.len(), told.len()), (rows.len(), rows.len()));
    for ((row, result), (_, text, is_error)) in rows.iter().zip(results).zip(told) {
        let call = format!(
            "{} {}",
            row.tool,
            row.args.chars().take(300).collect::<String>()
        );
        let want: Value = serde_json::from_str(&filled(&row.want.to_string())).expect("JSON");
        let envelope = &result["output"];
        assert!(
            contains(envelope, &want),
            "{call}\n{envelope}\nlacks {want}"
        );
        assert_eq!(result["ok"], want["ok"], "{call}");
        let reads = filled(&row.reads);
        assert!(text.contains(&reads), "{call}\n{text}\nlacks {reads}");
        if scene.kind == Kind::Messages {
            assert_eq!(json!(!is_error), want["ok"], "{call}");
        }
    }
    scene.server.assert_done();
}

/// Objects may have more fields than wanted, everything else is equal.
fn contains(got: &Value, want: &Value) -> bool {
    match (got, want) {
        (Value::Object(got), Value::Object(want)) => want
            .iter()
            .all(|(key, want)| got.get(key).is_some_and(|got| contains(got, want))),
        (got, want) => got == want,
    }
}

fn shell(space: &TempWorkspace, script: &str) -> String {
    space.run("sh").args(["-c", script]).output().ok().stdout
}

#[test]
#[rustfmt::skip]
fn files_are_read_as_what_they_are() {
    let scene = scene(Kind::Chat, "");
    let space = &scene.space;
    space.write("abc.txt", "a\nb\nc\n");
    space.write("empty", "");
    space.write("wide.txt", "x".repeat(60_000));
    space.write("long.txt", "line\n".repeat(20_000));
    space.write("bin", b"\x7fELF\0\x01\x02");
    space.write("new\nline", "odd name");
    space.write("latin.txt", b"Stra\xdfe \xfcber die Br\xfccke\n");
    let utf16: Vec<u8> = "\u{feff}hé\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    space.write("utf16.txt", utf16);
    shell(
        space,
        "mkfifo fifo; truncate -s 10G sparse; ln -s b a; ln -s a b; mkdir folder; ln -s abc.txt link",
    );
    check(
        &scene,
        &[
            ok("read_file", json!({"path": "abc.txt"}), json!({"path": "@ROOT/abc.txt", "content": "a\nb\nc\n", "truncated": false, "bytes": 6, "lines": 3}), "a\nb\nc\n"),
            ok("read_file", json!({"path": "@ROOT/link", "offset": 2, "limit": 1}), json!({"path": "@ROOT/abc.txt", "content": "b\n", "offset": 2}), "line 2 of 3\nb"),
            ok("read_file", json!({"path": "abc.txt", "offset": 9}), json!({"content": "", "lines": 3}), "no line 9 of 3"),
            ok("read_file", json!({"path": "empty"}), json!({"bytes": 0}), "(empty file)"),
            ok("read_file", json!({"path": "wide.txt"}), json!({"truncated": true, "bytes": 60_000}), "[line 1 is longer than 51200 bytes"),
            ok("read_file", json!({"path": "long.txt"}), json!({"truncated": true, "lines": 20_000}), "[cut at 51200 bytes; go on with offset 10241]"),
            ok("read_file", json!({"path": "long.txt", "offset": 20_000}), json!({"truncated": false, "content": "line\n"}), "line 20000 of 20000"),
            ok("read_file", json!({"path": "bin"}), json!({"binary": "ELF", "content": ""}), "binary file, 7 bytes, looks like ELF"),
            ok("read_file", json!({"path": "sparse"}), json!({"bytes": 10_737_418_240_u64, "content": ""}), "binary file, 10737418240 bytes"),
            ok("read_file", json!({"path": "new\nline"}), json!({"content": "odd name"}), "odd name"),
            ok("read_file", json!({"path": "latin.txt"}), json!({"encoding": "windows-1252"}), "Straße über die Brücke"),
            ok("read_file", json!({"path": "utf16.txt"}), json!({"encoding": "UTF-16LE"}), "hé"),
            err("read_file", json!({"path": "abd.txt"}), "not_found", "Did you mean abc.txt"),
            err("read_file", json!({"path": "~"}), "is_directory", "Use ls."),
            err("read_file", json!({"path": "folder"}), "is_directory", "Use ls."),
            err("read_file", json!({"path": "fifo"}), "forbidden", "not a regular file"),
            err("read_file", json!({"path": "/dev/zero"}), "forbidden", "not a regular file"),
            err("read_file", json!({"path": "a"}), "read_error", "form a circle"),
            err("read_file", json!({"path": "a\u{0}b"}), "read_error", "NUL"),
            err("read_file", json!({"path": ""}), "invalid_input", "The path is empty."),
            err("read_file", json!({}), "invalid_input", "missing field `path`"),
        ],
    );
}

#[cfg(target_os = "linux")]
#[test]
#[rustfmt::skip]
fn the_systems_own_files_are_read_or_named() {
    let scene = scene(Kind::Messages, "");
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    check(
        &scene,
        &[
            ok("read_file", json!({"path": "/proc/self/status", "limit": 1}), json!({"truncated": false}), "Name:\tostler"),
            // Our own environment holds the key; it is not text, and open to root alone.
            match is_root {
                true => ok("read_file", json!({"path": "/proc/self/environ"}), json!({"content": ""}), "binary file"),
                false => err("read_file", json!({"path": "/proc/self/environ"}), "forbidden", "permission denied"),
            },
            err("read_file", json!({"path": "/proc/self/mem"}), "read_error", "cannot read"),
        ],
    );
}

#[test]
#[rustfmt::skip]
fn pictures_come_back_as_pictures() {
    // A one-pixel GIF, and one that only begins like a picture.
    let gif = b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\x04\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
    let scene = scene(Kind::Messages, "");
    scene.space.write("dot.gif", gif);
    scene.space.write("broken.png", b"\x89PNG\r\n\x1a\nrest");
    check(
        &scene,
        &[
            ok("read_file", json!({"path": "dot.gif"}), json!({"width": 1, "height": 1, "bytes": gif.len()}), "image/gif 1x1"),
            err("read_file", json!({"path": "broken.png"}), "read_error", "The image broken.png cannot be shown"),
        ],
    );
    let request = scene.server.requests().pop().expect("a request");
    assert!(request.body.to_string().contains("image/gif"));
}

/// What may be written, and what may not, however its path is spelled.
#[test]
#[rustfmt::skip]
fn writing_stays_inside() {
    // With the sandbox, what lies outside below /tmp would be the session's own folder.
    let scene = scene(Kind::Chat, "[sandbox]\nbash = \"off\"\n");
    let space = &scene.space;
    let outside = space.root().with_file_name("outside");
    space.write(outside.join("secret"), "secret");
    space.write("a.txt", "a\n");
    space.write("folder/b.txt", "b\n");
    shell(
        space,
        "ln -s ../outside/secret file-out; ln -s ../outside dir-out; ln -s a.txt link; ln ../outside/secret hard; mkfifo fifo",
    );
    let away = "lies outside of the folders that may be written";
    let strays = ["file-out", "dir-out/x", "../outside/x", "folder/../../outside/x", "@ROOT/../outside/x", "~/x", "/ostler-was-here"];
    let mut rows: Vec<Row> = strays
        .iter()
        .map(|path| err("write_file", json!({"path": path, "content": "out"}), "write_error", away))
        .collect();
    rows.extend([
        ok("write_file", json!({"path": "new/deep/f.txt", "content": "hi\n"}), json!({"path": "@ROOT/new/deep/f.txt", "bytes": 3, "created": true}), "Created, 3 bytes."),
        ok("write_file", json!({"path": "link", "content": "through\n"}), json!({"path": "@ROOT/a.txt", "created": false}), "Overwrote, 8 bytes."),
        // The file that the other name belongs to stays as it is.
        ok("write_file", json!({"path": "hard", "content": "mine\n"}), json!({"created": false}), ""),
        err("write_file", json!({"path": "folder", "content": ""}), "write_error", "is a directory"),
        err("write_file", json!({"path": "folder/", "content": ""}), "invalid_input", "ends with a slash"),
        err("write_file", json!({"path": ".", "content": ""}), "write_error", "is a directory"),
        err("write_file", json!({"path": "a.txt/x", "content": ""}), "mkdir_error", "is not a directory"),
        err("write_file", json!({"path": "fifo", "content": ""}), "write_error", "not a regular file"),
        err("write_file", json!({"path": "nul\u{0}", "content": ""}), "invalid_input", "NUL"),
        err("write_file", json!({"path": "x".repeat(300), "content": ""}), "invalid_input", "too long"),
        err("write_file", json!({"path": "j.json", "content": {"a": 1}}), "invalid_input", "expected a string"),
        err("write_file", json!({"path": "~", "content": ""}), "write_error", away),
        err("edit_file", json!({"path": "dir-out/secret", "old": "secret", "new": "x"}), "path_error", away),
        err("edit_file", json!({"path": "none", "old": "a", "new": "b"}), "path_error", "Use write_file to make it"),
        err("multi_edit", json!({"path": "file-out", "edits": [{"old": "secret", "new": "x"}]}), "path_error", away),
        err("delete_range", json!({"path": "file-out", "start_anchor": "secret", "end_anchor": "secret"}), "path_error", away),
        err("notebook_edit", json!({"path": "file-out", "source": "x"}), "read_error", "not a notebook"),
        err("move_file", json!({"source_path": "a.txt", "destination_path": "dir-out/a"}), "forbidden", away),
        err("move_file", json!({"source_path": "dir-out/secret", "destination_path": "stolen"}), "forbidden", away),
        err("move_file", json!({"source_path": "a.txt", "destination_path": "folder/b.txt"}), "exists", "pass overwrite"),
        err("move_file", json!({"source_path": "folder", "destination_path": "folder/in"}), "invalid_input", "into itself"),
        err("move_file", json!({"source_path": "none", "destination_path": "x"}), "not_found", "does not exist"),
        ok("move_file", json!({"source_path": "file-out", "destination_path": "moved-link"}), json!({"overwrote": false}), "Moved."),
        ok("move_file", json!({"source_path": "folder/b.txt", "destination_path": "up/and/"}), json!({"destination_path": "@ROOT/up/and/b.txt"}), "Moved."),
        ok("move_file", json!({"source_path": "a.txt", "destination_path": "up/and/b.txt", "overwrite": true}), json!({"overwrote": true}), "is gone"),
    ]);
    check(&scene, &rows);
    let left = std::fs::read_dir(&outside).expect("the folder").count();
    assert_eq!(
        (left, space.read(outside.join("secret")).as_str()),
        (1, "secret")
    );
    assert_eq!(space.read("up/and/b.txt"), "through\n");
    assert!(!space.exists("a.txt") && space.read("hard") == "mine\n");
}

/// Somebody turns a folder into a link and back while files are written through it.
#[test]
fn a_link_that_is_swapped_in_leads_nowhere() {
    let scene = scene(Kind::Chat, "");
    let space = &scene.space;
    let outside = space.root().with_file_name("outside");
    std::fs::create_dir(&outside).expect("a folder");
    space.write("real/keep", "");
    let (swapped, real) = (space.root().join("swapped"), space.root().join("real"));
    let stop = AtomicBool::new(false);
    let calls = (0..60).map(|n| {
        let args = json!({"path": format!("swapped/f{n}"), "content": "x"});
        ("write_file", args)
    });
    scene.server.push(Step::answer().calls(calls));
    scene.server.push(Step::answer().text("done"));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for target in [&real, &outside] {
                    let next = space.root().join("next");
                    symlink(target, &next).expect("a link");
                    std::fs::rename(&next, &swapped).expect("a swap");
                }
            }
        });
        let out = scene.exec("go");
        stop.store(true, Ordering::Relaxed);
        assert_eq!(out.stdout, "done\n", "{}", out.stderr);
    });
    let leaked = std::fs::read_dir(&outside).expect("the folder").count();
    assert_eq!(leaked, 0);
}

#[test]
#[rustfmt::skip]
fn edits_hit_one_place_and_keep_every_other_byte() {
    let scene = scene(Kind::Messages, "");
    let space = &scene.space;
    space.write("crlf.txt", "one\r\ntwo\r\nthree\r\n");
    space.write("py.py", "def f():\n    if x:\n        return 1\n");
    space.write("braces.c", "f {\n}\n}\n}\n");
    space.write("three.txt", "x = 1\nx = 1\nx = 1\n");
    space.write("bom.txt", "\u{feff}text");
    space.write(
        "latin.txt",
        b"Gr\xfc\xdfe aus K\xf6ln, sch\xf6ne Stra\xdfe\n".repeat(3),
    );
    let gb: Vec<u8> = b"\xb2\xe2\xca\xd4\xce\xc4\xbc\xfe\xa3\xac\xd3\xc3\xc0\xb4\xbc\xec\xb2\xe9\xb1\xe0\xc2\xeb\xa1\xa3\n".repeat(5);
    space.write("gb.txt", &gb);
    let utf16: Vec<u8> = "\u{feff}hé\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    space.write("utf16.txt", utf16);
    space.write(
        "many.txt",
        (0..500)
            .map(|n| format!("line {n} here\n"))
            .collect::<String>(),
    );
    let edits = |count: usize| -> Vec<Value> {
        (0..count)
            .map(|n| json!({"old": format!("line {n} here\n"), "new": format!("L{n}\n")}))
            .collect()
    };
    check(
        &scene,
        &[
            ok("edit_file", json!({"path": "crlf.txt", "old": "one\ntwo", "new": "1\n2\n2b"}), json!({"replacements": 1, "match": "line-endings"}), "1 replacement."),
            ok("edit_file", json!({"path": "py.py", "old": "if x:\n    return 1", "new": "if y:\n    return 2"}), json!({"match": "indentation"}), "+        return 2"),
            ok("edit_file", json!({"path": "bom.txt", "old": "text", "new": "words"}), json!({"match": "exact"}), "1 replacement."),
            ok("edit_file", json!({"path": "utf16.txt", "old": "hé", "new": "世界"}), json!({"replacements": 1}), ""),
            ok("edit_file", json!({"path": "gb.txt", "old": "测试", "new": "考试", "expected_replacements": 5}), json!({"replacements": 5}), "5 replacements."),
            err("edit_file", json!({"path": "latin.txt", "old": "Köln", "new": "東京", "expected_replacements": 3}), "write_error", "which has no `東`"),
            ok("edit_file", json!({"path": "latin.txt", "old": "Köln", "new": "Münster", "expected_replacements": 3}), json!({"replacements": 3}), ""),
            err("edit_file", json!({"path": "braces.c", "old": "}\n}\n", "new": "x\n"}), "replacement_count_mismatch", "places that overlap"),
            err("edit_file", json!({"path": "three.txt", "old": "x = 1", "new": "y"}), "replacement_count_mismatch", "occurs 3 times in three.txt (lines 1, 2, 3), expected 1"),
            err("edit_file", json!({"path": "three.txt", "old": "x = 1", "new": "y", "expected_replacements": 0}), "invalid_input", "at least 1"),
            err("edit_file", json!({"path": "three.txt", "old": "x = 1", "new": "y", "expected_replacements": 99_999_999_999_u64}), "replacement_count_mismatch", "expected 99999999999"),
            err("edit_file", json!({"path": "three.txt", "old": "x = 2", "new": "y"}), "old_not_found", "Nearest lines:\n1: x = 1"),
            err("edit_file", json!({"path": "three.txt", "old": "", "new": "y"}), "invalid_input", "use write_file"),
            err("edit_file", json!({"path": "three.txt", "old": "x", "new": "x"}), "invalid_input", "are the same"),
            ok("edit_file", json!({"file_path": "three.txt", "old_string": "x = 1", "new_string": "y = 2", "expected_replacements": 3}), json!({"replacements": 3}), ""),
            err("multi_edit", json!({"path": "many.txt", "edits": edits(501)}), "invalid_input", "Give 1 to 500 edits; there are 501."),
            err("multi_edit", json!({"path": "many.txt", "edits": [{"old": "line 1 here", "new": "x"}, {"old": "no such line at all", "new": "y"}]}), "old_not_found", "No edit was made."),
            ok("multi_edit", json!({"path": "many.txt", "edits": edits(500)}), json!({"path": "@ROOT/many.txt"}), "500 edits done."),
            // Each edit sees the one before.
            ok("multi_edit", json!({"path": "many.txt", "edits": [{"old": "L7\n", "new": "seven\n"}, {"old": "seven\nL8\n", "new": "both\n"}]}), json!({}), "2 edits done."),
            err("delete_range", json!({"path": "many.txt", "start_anchor": "L9x", "end_anchor": "L10"}), "anchor_not_found", "Nearest"),
            err("delete_range", json!({"path": "many.txt", "start_anchor": "L20", "end_anchor": "L10"}), "invalid_input", "Swap them"),
            ok("delete_range", json!({"path": "many.txt", "start_anchor": "L10", "end_anchor": "L499"}), json!({"lines": 490}), "Deleted 490 lines."),
            err("delete_range", json!({"path": "three.txt", "start_anchor": "y = 2", "end_anchor": "y = 2"}), "anchor_not_unique", "matches 3 lines (1, 2, 3)"),
        ],
    );
    let bytes = |name: &str| std::fs::read(space.root().join(name)).expect("a file");
    assert_eq!(space.read("crlf.txt"), "1\r\n2\r\n2b\r\nthree\r\n");
    assert_eq!(space.read("bom.txt"), "\u{feff}words");
    assert_eq!(
        space.read("many.txt"),
        "L0\nL1\nL2\nL3\nL4\nL5\nL6\nboth\nL9\n"
    );
    assert_eq!(bytes("gb.txt").len(), gb.len());
    assert!(bytes("gb.txt").starts_with(b"\xbf\xbc\xca\xd4\xce\xc4"));
    assert!(bytes("latin.txt").starts_with(b"Gr\xfc\xdfe aus M\xfcnster,"));
    let units: Vec<u16> = bytes("utf16.txt")
        .chunks(2)
        .map(|b| u16::from_le_bytes([b[0], b[1]]))
        .collect();
    assert_eq!(String::from_utf16_lossy(&units), "\u{feff}世界\r\n");
}

#[test]
#[rustfmt::skip]
fn a_file_that_changed_meanwhile_is_not_overwritten_unseen() {
    let scene = scene(Kind::Chat, "");
    scene.space.write("f.txt", "one\ntwo\n");
    check(
        &scene,
        &[
            ok("read_file", json!({"path": "f.txt"}), json!({}), "one"),
            ok("bash", json!({"command": "echo three >> f.txt"}), json!({"exit_code": 0}), "(no output)"),
            err("write_file", json!({"path": "f.txt", "content": "mine\n"}), "stale", "Read it again"),
            ok("edit_file", json!({"path": "f.txt", "old": "two", "new": "2"}), json!({"changed_since_read": true}), "had changed since it was read"),
            ok("write_file", json!({"path": "f.txt", "content": "mine\n"}), json!({"created": false}), "Overwrote"),
        ],
    );
    assert_eq!(scene.space.read("f.txt"), "mine\n");
}

#[test]
#[rustfmt::skip]
fn notebooks_change_in_one_cell_only() {
    let scene = scene(Kind::Chat, "");
    let cell = |id: &str, source: &str| {
        format!(
            "  {{\n   \"cell_type\": \"code\",\n   \"execution_count\": 3,\n   \"id\": \"{id}\",\n   \"metadata\": {{}},\n   \"outputs\": [1],\n   \"source\": [\n    \"{source}\"\n   ]\n  }}"
        )
    };
    let book = |cells: &[String]| {
        format!(
            "{{\n \"cells\": [\n{}\n ],\n \"metadata\": {{\"odd\" :  1}},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}}\n",
            cells.join(",\n")
        )
    };
    scene
        .space
        .write("n.ipynb", book(&[cell("a", "x = 1"), cell("b", "y = 1")]));
    check(
        &scene,
        &[
            ok("notebook_edit", json!({"path": "n.ipynb", "cell": 1, "source": "y = 2"}), json!({"cell": 1}), "Cell 1 replaced; 2 cells now."),
            ok("notebook_edit", json!({"path": "n.ipynb", "cell": "a", "mode": "delete"}), json!({"cell": 0}), "Cell 0 deleted; 1 cells now."),
            err("notebook_edit", json!({"path": "n.ipynb", "cell": 9, "source": "z"}), "cell_not_found", "the notebook has 1 cells, counted from 0"),
            err("notebook_edit", json!({"path": "n.ipynb", "cell": 0}), "invalid_input", "`source` is missing"),
            err("notebook_edit", json!({"path": "n.ipynb", "cell": 0, "mode": "swap", "source": ""}), "invalid_input", "expected one of `replace`, `insert`, `delete`"),
        ],
    );
    let cleared = cell("b", "y = 2")
        .replace(": 3", ": null")
        .replace("[1]", "[]");
    assert_eq!(scene.space.read("n.ipynb"), book(&[cleared]));
}

#[test]
#[rustfmt::skip]
fn commands_end_in_every_way() {
    let scene = scene(Kind::Messages, "[tools]\nbash_timeout_seconds = 1\n");
    scene.space.write("sub/f", "");
    let done = |code: i32| json!({"exit_code": code, "timed_out": false});
    check(
        &scene,
        &[
            ok("bash", json!({"command": "echo out; echo err >&2; exit 3"}), json!({"stdout": "out\n", "stderr": "err\n", "exit_code": 3}), "out\n[stderr]\nerr\nexit 3"),
            ok("bash", json!({"command": "true"}), done(0), "(no output)"),
            ok("bash", json!({"command": "cat; read x; echo \"[$x] $?\""}), json!({"stdout": "[] 1\n"}), "[] 1"),
            ok("bash", json!({"command": "kill -9 $$"}), done(137), "exit 137"),
            ok("bash", json!({"command": "no-such-program"}), done(127), "not found\nexit 127"),
            ok("bash", json!({"command": "echo 'open"}), done(2), "exit 2"),
            ok("bash", json!({"command": "printf 'a\\377b'"}), json!({"stdout": "a\u{fffd}b"}), "a\u{fffd}b"),
            ok("bash", json!({"command": "exec >&- 2>&-; sleep 0.1; exit 5"}), done(5), "exit 5"),
            ok("bash", json!({"command": "sleep 1000 & echo started"}), json!({"stdout": "started\n", "exit_code": 0}), "started"),
            ok("bash", json!({"command": "echo before; sleep 1000"}), json!({"stdout": "before\n", "stderr": "timed out after 1s", "timed_out": true, "exit_code": -1}), "before\n[timed out after 1s and killed; give wait"),
            ok("bash", json!({"command": "pwd", "cwd": "sub"}), json!({"stdout": "@ROOT/sub\n"}), ""),
            ok("bash", json!({"command": "pwd", "cwd": "/"}), json!({"stdout": "/\n"}), ""),
            err("bash", json!({"command": "pwd", "cwd": "none"}), "not_found", "cwd none does not exist."),
            err("bash", json!({"command": "pwd", "cwd": "sub/f"}), "path_error", "not a folder"),
            err("bash", json!({"command": " "}), "invalid_input", "The command is empty."),
            err("bash", json!({"command": "echo \u{0}"}), "spawn_error", "NUL"),
            err("bash", json!({"command": ["cd sub", "ls"]}), "invalid_input", "one line of a shell"),
            err("bash", json!({"command": "ls", "wait": "soon"}), "invalid_input", "seconds or a duration such as"),
        ],
    );
}

#[test]
#[rustfmt::skip]
fn commands_see_a_sensible_environment_and_no_keys() {
    let scene = scene(Kind::Chat, "");
    let look = |name: &str| json!({"command": format!("echo \"[${name}]\"")});
    let mut rows: Vec<Row> = [
        "MOCK_KEY",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "OSTLER_API_KEY",
    ]
    .iter()
    .map(|name| ok("bash", look(name), json!({"stdout": "[]\n"}), "[]"))
    .collect();
    rows.extend([
        ok("bash", json!({"command": "env"}), json!({"exit_code": 0}), "OTHER=kept"),
        ok("bash", look("PAGER"), json!({"stdout": "[cat]\n"}), ""),
        ok("bash", look("GIT_PAGER"), json!({"stdout": "[cat]\n"}), ""),
        ok("bash", json!({"command": "echo $TERM; stty size; test -t 0", "tty": true}), json!({"stdout": "xterm-256color\n50 160\n", "exit_code": 0}), ""),
    ]);
    let run = scene.ostler(["exec", "-p", "go"]);
    let run = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"]
        .iter()
        .fold(run, |run, name| run.env(name, "sk-secret-value"));
    let run = run
        .env("OTHER", "kept")
        .env("PAGER", "less")
        .env("TERM", "dumb");
    check_run(&scene, &rows, run);
    let log = scene.space.read(scene.log_path());
    assert!(!log.contains("sk-secret-value") && !log.contains("mock-key"));
}

#[test]
#[rustfmt::skip]
fn a_long_output_keeps_both_ends_and_the_whole_in_a_file() {
    let scene = scene(Kind::Chat, "[tools.limits]\nbash_max_bytes = 100\n");
    check(
        &scene,
        &[
            ok("bash", json!({"command": "echo first; seq 1000; echo last"}), json!({"truncated": true, "exit_code": 0}), "whole output: "),
            ok("bash", json!({"command": "head -c 300000000 /dev/zero | tr '\\0' z; echo end"}), json!({"truncated": true}), "end"),
        ],
    );
    let log = scene.log();
    let data = &of_type(&log, "tool_result")[0]["output"]["data"];
    let text = data["stdout"].as_str().unwrap_or_default();
    assert!(
        text.starts_with("first\n1\n") && text.ends_with("999\n1000\nlast\n"),
        "{text}"
    );
    let whole = scene
        .space
        .read(data["artifact"].as_str().unwrap_or_default());
    assert_eq!(whole.lines().count(), 1002);
}

#[test]
#[rustfmt::skip]
fn jobs_are_started_read_talked_to_and_ended() {
    let scene = scene(Kind::Chat, "[tools]\nbash_timeout_seconds = 20\n");
    check(
        &scene,
        &[
            ok("bash", json!({"command": "echo now; sleep 1000", "wait": 1}), json!({"stdout": "now\n", "exit_code": null, "timed_out": false, "job": "j1"}), "now\n[running as job j1]"),
            ok("bash_output", json!({"job": "j1"}), json!({"stdout": "", "state": "running", "exit_code": null}), "[job j1 is running]"),
            err("bash_input", json!({"job": "j1", "text": "x"}), "invalid_input", "start it with tty: true"),
            ok("kill_job", json!({"job": "j1"}), json!({"state": "killed"}), "[job j1 was killed]"),
            ok("bash_output", json!({"job": "j1"}), json!({"state": "killed"}), "[job j1 was killed]"),
            err("bash_output", json!({"job": "j9"}), "not_found", "There is no job \"j9\". Known: j1."),
            ok("bash", json!({"command": "for i in 1 2 3; do echo tick $i; sleep 0.05; done; exit 4", "wait": false}), json!({"job": "j2", "stdout": ""}), "[running as job j2]"),
            ok("bash_output", json!({"job": 2, "wait": true}), json!({"stdout": "tick 1\ntick 2\ntick 3\n", "exit_code": 4, "state": "exited"}), "tick 3\n[job j2 ended: exit 4]"),
            ok("bash", json!({"command": "printf '\\033[1mname? \\033[0m'; read name; echo \"hi $name\"", "tty": true, "wait": "1500ms"}), json!({"stdout": "name? ", "job": "j3"}), "name? \n[running as job j3]"),
            ok("bash_input", json!({"job": "j3", "text": "Bob\n"}), json!({"job": "j3"}), ""),
            ok("bash_output", json!({"job": "j3", "wait": true}), json!({"exit_code": 0}), "[job j3 ended: exit 0]"),
            err("bash_input", json!({"job": "j3", "text": "more\n"}), "write_error", "Job j3 has ended."),
            ok("bash", json!({"command": "sleep 1000", "tty": true, "run_in_background": true}), json!({"job": "j4"}), ""),
            // A key that comes before the program has its terminal is no signal.
            ok("bash_output", json!({"job": "j4", "wait": 1}), json!({"state": "running"}), ""),
            ok("bash_input", json!({"job": "j4", "text": "\u{3}"}), json!({}), ""),
            ok("bash_output", json!({"job": "j4", "wait": true}), json!({"state": "exited", "exit_code": 130}), "[job j4 ended: exit 130]"),
        ],
    );
    let log = scene.log();
    let said: String = of_type(&log, "tool_result")[9..11].iter().filter_map(|r| r["output"]["data"]["stdout"].as_str()).collect();
    assert_eq!(said, "Bob\nhi Bob\n");
}

#[test]
#[rustfmt::skip]
fn a_flood_of_jobs_is_held_back_and_leaves_nothing_behind() {
    let scene = scene(Kind::Chat, "");
    let sleep = |n: usize| json!({"command": format!("exec sleep {}", 70_000 + n), "wait": false});
    let mut rows: Vec<Row> = (1..=32)
        .map(|n| ok("bash", sleep(n), json!({"job": format!("j{n}")}), ""))
        .collect();
    rows.extend([
        err("bash", sleep(33), "too_many_jobs", "end one with kill_job first"),
        ok("kill_job", json!({"job": "j7"}), json!({"state": "killed"}), ""),
        ok("bash", sleep(34), json!({"job": "j33"}), ""),
    ]);
    check(&scene, &rows);
    let left = shell(
        &scene.space,
        "ps -eo args | grep -c '^sleep 700[0-9][0-9]' || true",
    );
    assert_eq!(left.trim(), "0");
}

#[test]
#[rustfmt::skip]
fn trees_are_listed_and_searched_without_what_is_ignored_or_shut() {
    let scene = scene(
        Kind::Messages,
        "[permissions]\nheadless = \"allow\"\ndeny = [\"Read(.env)\", \"Read(vault)\"]\n",
    );
    let space = &scene.space;
    for (name, text) in [
        (".gitignore", "target\n"),
        (".env", "needle=secret\n"),
        ("vault/key", "needle\n"),
        ("src/main.rs", "fn main() {}\nlet needle = 1;\nend\n"),
        ("src/deep/lib.rs", "needle NEEDLE\n"),
        ("target/out.rs", "needle\n"),
        ("node_modules/m.js", "x\n"),
        ("new\nline.md", "x needle\n"),
    ] {
        space.write(name, text);
    }
    space.write("binary", b"needle\0\n");
    space.write(
        "wide.js",
        format!("{}needle{}\n", "x".repeat(100_000), "y".repeat(1000)),
    );
    space.write("huge.js", "z".repeat(17 << 20));
    shell(
        space,
        "ln -s . loop; mkfifo fifo; mkdir crowd; cd crowd; seq 1500 | xargs touch; cd ..; rm -f huge; touch -d '2001-01-01' src/main.rs",
    );
    let nested = format!("{}b{}", "{a,".repeat(300), "}".repeat(300));
    check(
        &scene,
        &[
            ok("ls", json!({"path": "src", "depth": 2}), json!({"entries": ["deep/", "deep/lib.rs", "main.rs"], "truncated": false}), "deep/\ndeep/lib.rs\nmain.rs"),
            ok("ls", json!({}), json!({"truncated": false}), "loop -> .\n\"new\\nline.md\""),
            ok("ls", json!({"path": "crowd"}), json!({"truncated": true}), "[more than 1000 entries; narrow path or depth]"),
            err("ls", json!({"path": "none"}), "not_found", "none does not exist."),
            err("ls", json!({"path": "src/main.rs"}), "not_a_directory", "use read_file"),
            err("ls", json!({"path": "vault"}), "blocked", "Blocked by the rule Read(vault)"),
            ok("glob", json!({"pattern": "**/*.rs"}), json!({"paths": ["src/deep/lib.rs", "src/main.rs"], "total": 2}), ""),
            ok("glob", json!({"pattern": "*.md"}), json!({"total": 1}), "\"new\\nline.md\""),
            ok("glob", json!({"pattern": "crowd/*"}), json!({"truncated": true, "total": 1500}), "[the newest 1000 of 1500]"),
            ok("glob", json!({"pattern": "~/.ostler/*.toml"}), json!({"total": 1}), "config.toml"),
            ok("glob", json!({"pattern": "*.none"}), json!({"paths": []}), "No files match."),
            err("glob", json!({"pattern": "vault/*"}), "blocked", "Read(vault)"),
            err("glob", json!({"pattern": "a[b"}), "invalid_input", "is not a glob"),
            err("glob", json!({"pattern": nested}), "invalid_input", "is not a glob"),
            err("glob", json!({"pattern": "?".repeat(100_000)}), "invalid_input", "has 100000 bytes"),
            ok("grep", json!({"pattern": "needle", "mode": "files"}), json!({"matches": ["\"new\\nline.md\"", "src/deep/lib.rs", "src/main.rs", "wide.js"]}), "could not be searched"),
            ok("grep", json!({"pattern": "needle", "mode": "count", "ignore_case": true, "glob": "*.rs"}), json!({"matches": ["src/deep/lib.rs:1", "src/main.rs:1"]}), ""),
            ok("grep", json!({"pattern": "needle", "path": "src/main.rs", "context": 1}), json!({"count": 1}), "src/main.rs-1-fn main() {}\nsrc/main.rs:2:let needle = 1;\nsrc/main.rs-3-end"),
            ok("grep", json!({"pattern": "needle", "path": "wide.js"}), json!({"count": 1}), "xneedley"),
            ok("grep", json!({"pattern": "secret"}), json!({"matches": []}), "No matches in"),
            ok("grep", json!({"pattern": "(z+)+$x", "path": "src"}), json!({"count": 0}), "No matches in 2 files."),
            ok("grep", json!({"pattern": "needle", "type": "cobol"}), json!({"searched": 0}), "There is no file to search there"),
            err("grep", json!({"pattern": "needle", "path": ".env"}), "blocked", "Read(.env)"),
            err("grep", json!({"pattern": "foo("}), "invalid_input", "Put a backslash before"),
            err("grep", json!({"pattern": "a(?=b)"}), "invalid_input", "without look-around"),
            err("grep", json!({"pattern": "x", "glob": nested}), "invalid_input", "is not a glob"),
            err("grep", json!({"pattern": "x", "mode": "lines"}), "invalid_input", "expected one of `content`, `files`"),
        ],
    );
}

const WEB: &str =
    "[tools.web]\nallow_private = [\"@ADDR\"]\nsearch_url = \"@URL/search?q={query}\"\n";

#[test]
#[rustfmt::skip]
fn pages_are_fetched_as_text() {
    let scene = scene(Kind::Messages, WEB);
    let server = &scene.server;
    let html = [("content-type", "text/html; charset=utf-8")];
    let text =
        "<p>A paragraph with enough words, and commas, to count as an article.</p>".repeat(20);
    server.route("/article", 200, &html, format!("<title>The title</title><nav><a href=/x>Menu</a></nav><article><h2>Part</h2>{text}</article>"));
    let links: String = (0..50)
        .map(|n| format!("<li><a href='/doc/{n}'>Chapter {n}</a>"))
        .collect();
    server.route(
        "/index",
        200,
        &html,
        format!("<title>All</title><ul>{links}</ul>"),
    );
    server.route("/deep", 200, &html, "<div>".repeat(20_000) + "far down");
    server.route(
        "/large",
        200,
        &html,
        format!(
            "<article>{}</article>",
            "<p>text that goes on and on, and on</p>".repeat(160_000)
        ),
    );
    server.route("/gone", 404, &html, "<title>Gone</title><h1>Not here</h1>");
    server.route("/empty", 200, &html, "");
    let (gbk, utf8) = (
        b"<meta charset=gbk><p>\xd6\xd0\xce\xc4\xb1\xea\xcc\xe2".to_vec(),
        "汉".repeat(9_000),
    );
    server.route("/gbk", 200, &[("content-type", "text/html")], gbk);
    server.route("/chars", 200, &[("content-type", "text/plain")], utf8);
    server.route(
        "/binary",
        200,
        &[("content-type", "text/plain")],
        b"a\0b".to_vec(),
    );
    server.route(
        "/script",
        200,
        &[("content-type", "application/octet-stream")],
        "#!/bin/sh\n",
    );
    server.route(
        "/json",
        200,
        &[("content-type", "application/json")],
        "{\"a\": 1}",
    );
    server.route("/moved", 302, &[("location", "/article")], "");
    let get = |path: &str| json!({"url": format!("@URL{path}")});
    check(
        &scene,
        &[
            ok("fetch_url", get("/article"), json!({"status": 200, "title": "The title", "truncated": false}), "# The title\n\n## Part\n\nA paragraph"),
            ok("fetch_url", get("/moved"), json!({"url": "@URL/article", "status": 200}), "A paragraph"),
            ok("fetch_url", get("/index"), json!({"title": "All"}), "[Chapter 49](@URL/doc/49)"),
            ok("fetch_url", get("/deep"), json!({}), "far down"),
            ok("fetch_url", get("/large"), json!({"truncated": true}), "larger than 5242880 bytes"),
            ok("fetch_url", get("/gone"), json!({"status": 404}), "HTTP 404\n# Gone"),
            ok("fetch_url", get("/empty"), json!({"status": 200, "content": ""}), "(no text)"),
            ok("fetch_url", get("/gbk"), json!({}), "中文标题"),
            ok("fetch_url", get("/chars"), json!({"truncated": true}), "whole output: "),
            ok("fetch_url", get("/binary"), json!({}), "(text/plain, 3 bytes, not shown)"),
            ok("fetch_url", get("/script"), json!({"content": "#!/bin/sh\n"}), ""),
            ok("fetch_url", get("/json"), json!({"content": "{\"a\": 1}"}), ""),
        ],
    );
    let log = scene.log();
    let chars = &of_type(&log, "tool_result")[8]["output"]["data"];
    let shown = chars["content"]
        .as_str()
        .unwrap_or_default()
        .matches('汉')
        .count();
    assert_eq!(shown, 8_000);
    let whole = scene
        .space
        .read(chars["artifact"].as_str().unwrap_or_default());
    assert_eq!(whole.chars().count(), 9_000);
    let asked = scene.server.other_requests();
    assert!(
        asked
            .iter()
            .all(|r| r.method == "GET" && r.header("authorization").is_none())
    );
}

#[test]
#[rustfmt::skip]
fn what_may_not_be_fetched_is_not_asked_for() {
    let scene = scene(
        Kind::Chat,
        &format!("{WEB}[permissions]\nheadless = \"allow\"\ndeny = [\"Net(shut.example)\"]\n"),
    );
    for (path, to) in [
        ("/to-file", "file:///etc/passwd"),
        ("/to-metadata", "http://169.254.169.254/latest"),
        ("/to-neighbour", "http://127.0.0.1:9/x"),
        ("/to-name", "http://localhost:9/x"),
        ("/to-shut", "http://shut.example/x"),
        ("/to-nothing", "http://["),
        ("/circle", "/circle"),
    ] {
        scene.server.route(path, 302, &[("location", to)], "");
    }
    let get = |url: &str| json!({ "url": url });
    let private = "Only the person can permit it, in [tools.web] allow_private.";
    check(
        &scene,
        &[
            err("fetch_url", get("@URL/to-file"), "invalid_input", "redirects to `file:///etc/passwd`: Only http and https"),
            err("fetch_url", get("@URL/to-metadata"), "forbidden", private),
            err("fetch_url", get("@URL/to-neighbour"), "forbidden", private),
            err("fetch_url", get("@URL/to-name"), "forbidden", private),
            err("fetch_url", get("@URL/to-shut"), "blocked", "redirects to `http://shut.example/x`"),
            err("fetch_url", get("@URL/to-nothing"), "fetch_error", "not a URL"),
            err("fetch_url", get("@URL/circle"), "fetch_error", "redirects more than 5 times"),
            err("fetch_url", get("http://shut.example/"), "blocked", "Net(shut.example)"),
            err("fetch_url", get("http://127.0.0.1:9/"), "forbidden", private),
            err("fetch_url", get("http://0x7f.1:9/"), "forbidden", private),
            err("fetch_url", get("http://[::1]:9/"), "forbidden", private),
            err("fetch_url", get("http://10.0.0.1/"), "forbidden", private),
            err("fetch_url", get("file:///etc/passwd"), "invalid_input", "Only http and https"),
            err("fetch_url", get("not a url"), "invalid_input", "is not a URL"),
            err("fetch_url", get("http://name.invalid/"), "fetch_error", "The host name.invalid cannot be found"),
        ],
    );
    let asked = scene.server.other_requests();
    assert!(
        asked
            .iter()
            .all(|r| r.path.starts_with("/to-") || r.path == "/circle")
    );
}

#[test]
#[rustfmt::skip]
fn a_search_gives_titles_addresses_and_snippets() {
    let scene = scene(Kind::Chat, WEB);
    let result = |n: usize| {
        format!(
            "<div class=result><a class=result__a href='//s.example/l/?uddg=https%3A%2F%2Fsite{n}.example%2F'>Title &amp; {n}</a><a class=result__snippet>Some <b>words</b></a></div>"
        )
    };
    let page: String = (0..12).map(result).collect();
    scene.server.route(
        "/search?q=a+%26+b",
        200,
        &[("content-type", "text/html")],
        page,
    );
    scene.server.route(
        "/search?q=nothing",
        200,
        &[("content-type", "text/html")],
        "<p>Sorry",
    );
    scene.server.route(
        "/search?q=busy",
        202,
        &[("content-type", "text/html")],
        "<p>Wait",
    );
    check(
        &scene,
        &[
            ok("web_search", json!({"query": " a & b "}), json!({}), "Title & 7\nhttps://site7.example/\nSome words"),
            ok("web_search", json!({"query": "nothing"}), json!({"results": []}), "No results."),
            err("web_search", json!({"query": "busy"}), "search_error", "HTTP 202. Try again later, or set [tools.web] search_url."),
            err("web_search", json!({"query": " "}), "invalid_input", "The query is empty."),
        ],
    );
    let log = scene.log();
    let results = &of_type(&log, "tool_result")[0]["output"]["data"]["results"];
    assert_eq!(results.as_array().map(Vec::len), Some(8));
}

#[test]
#[rustfmt::skip]
fn lists_times_and_questions() {
    let scene = scene(Kind::Messages, "");
    let item = |text: &str, state: &str| json!({"text": text, "state": state});
    check(
        &scene,
        &[
            ok("todo", json!({"items": [item("a", "done"), item("b", "in_progress"), item("c", "pending")]}), json!({"items": [item("a", "done"), item("b", "in_progress"), item("c", "pending")]}), "1 of 3 done, 1 in progress."),
            ok("todo", json!({"todos": [{"content": "a", "status": "completed"}]}), json!({"items": [item("a", "done")]}), "1 of 1 done"),
            err("todo", json!({"items": [item("a", "in_progress"), item("b", "in_progress")]}), "invalid_input", "at most one may be"),
            err("todo", json!({"items": [item("a", "later")]}), "invalid_input", "expected one of `pending`, `in_progress`"),
            ok("time", json!({}), json!({}), "(epoch 1"),
            ok("ask", json!({"question": "Which?", "choices": ["a", "b"]}), json!({"answer": null, "assumed": true}), "label it as your assumption"),
            err("ask", json!({"question": ""}), "invalid_input", "The question is empty."),
        ],
    );
    let log = scene.log();
    let lists = of_type(&log, "todo");
    assert_eq!(lists.len(), 2);
    assert_eq!(lists[1]["items"], json!([item("a", "done")]));
}

#[test]
#[rustfmt::skip]
fn the_model_may_get_the_envelope_itself() {
    let scene = scene(Kind::Chat, "[tools]\nresult_format = \"envelope\"\n");
    check(
        &scene,
        &[
            ok("bash", json!({"command": "echo hi"}), json!({"stdout": "hi\n"}), "{\"ok\":true,\"data\":{\"stdout\":\"hi\\n\""),
            err("read_file", json!({"path": "none"}), "not_found", "{\"ok\":false,\"error\":{\"code\":\"not_found\""),
        ],
    );
}

#[test]
#[rustfmt::skip]
fn calls_that_are_not_quite_json_run_or_say_why_not() {
    for kind in [Kind::Chat, Kind::Messages] {
        let scene = scene(kind, "");
        scene.space.write("a.txt", "1\n2\n3\n4\n5\n6\n");
        let line = |n: usize| ok("read_file", json!({}), json!({"content": format!("{n}\n")}), "of 6");
        let refused = |reads: &str| err("bash", json!({}), "invalid_input", reads);
        let long = "x".repeat(3_000);
        check(
            &scene,
            &[
                raw(r#"{"offset": 1, "limit": 1, "path": "a.txt""#, line(1)),
                raw("```json\n{\"path\": \"a.txt\", \"offset\": \"2\", \"limit\": \"1\"}\n```", line(2)),
                raw(r#"[{"path": "a.txt", "offset": 3.0, "limit": 1}]"#, line(3)),
                raw(r#"{'path': 'a.txt', 'offset': 4, 'limit': 1,}"#, line(4)),
                Row { tool: "Read", ..raw(r#"{"file_path": "a.txt", "offset": "5", "limit": "1"}"#, line(5)) },
                Row { tool: "functions.read_file:0", ..raw(r#"{"path": "a.txt", "offset": 6, "limit": 1}"#, line(6)) },
                ok("bash", json!({"command": "echo typed", "tty": "false", "wait": "true"}), json!({"stdout": "typed\n"}), ""),
                ok("multi_edit", json!({"path": "a.txt", "edits": "[{\"old\": \"1\", \"new\": \"one\"}]"}), json!({}), "1 edit done."),
                raw("{\"path\": \"a.txt\", \"old\": \"2\n3\", \"new\": \"two\"}", ok("edit_file", json!({}), json!({"replacements": 1}), "")),
                raw("echo hi", refused("they do not begin with `{`. The call was not run. Send it again with names and strings in double quotes")),
                raw(r#"["ls"]"#, refused("they are a list")),
                raw(r#"{"command": "ls"} {"command": "pwd"}"#, refused("several different objects. Send one call for each.")),
                raw("", refused("missing field `command`")),
                err("bahs", json!({"command": "ls"}), "unknown_tool", "There is no tool `bahs`. Tools: ask, bash,"),
                err("my tool", json!({}), "unknown_tool", "There is no tool `my tool`"),
                Row { tool: long.leak(), ..err("", json!({}), "unknown_tool", "xxx`. Tools: ask") },
            ],
        );
        assert_eq!(scene.space.read("a.txt"), "one\ntwo\n4\n5\n6\n");
    }
}

#[test]
fn a_call_that_was_cut_off_is_not_run() {
    for kind in [Kind::Chat, Kind::Messages] {
        let cut = Step::answer()
            .raw_call("bash", "{\"command\": \"touch cut")
            .stop(ostler_testkit::Stop::Length);
        let scene = Scene::new(kind, [cut, Step::answer().text("done")]);
        scene.exec("go").ok();
        assert!(!scene.space.exists("cut"));
        let (_, text, _) = scene.server.request(1).tool_results().remove(0);
        assert!(
            text.contains("were cut off after 22 bytes, so it was not run"),
            "{text}"
        );
    }
}

#[test]
fn calls_written_as_text_are_calls() {
    for kind in [Kind::Chat, Kind::Messages] {
        for text in [
            "<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"echo found\"}}\n</tool_call>",
            "<function_calls><invoke name=\"bash\"><parameter name=\"command\">echo found</parameter></invoke></function_calls>",
            "<function=bash><parameter=command>echo found</parameter></function>",
        ] {
            let steps = [Step::answer().text(text), Step::answer().text("done")];
            let scene = Scene::new(kind, steps);
            assert_eq!(scene.exec("go").ok().stdout.lines().last(), Some("done"));
            let results = scene.server.request(1).tool_results();
            assert_eq!(
                results.iter().map(|r| r.1.as_str()).collect::<Vec<_>>(),
                ["found"],
                "{text}"
            );
        }
    }
}

#[test]
fn ids_that_come_twice_are_told_apart() {
    for kind in [Kind::Chat, Kind::Messages] {
        let call = |word: &str| {
            Step::answer()
                .call("bash", json!({"command": format!("echo {word}")}))
                .id("call_1")
        };
        let steps = [
            call("one"),
            call("two")
                .call("bash", json!({"command": "echo three"}))
                .id("call_1"),
            Step::answer().text("done"),
        ];
        let scene = Scene::new(kind, steps);
        scene.exec("go").ok();
        let results = scene.server.request(2).tool_results();
        let texts: Vec<&str> = results.iter().map(|r| r.1.as_str()).collect();
        assert_eq!(texts, ["one", "two", "three"]);
        let mut ids: Vec<&str> = results.iter().map(|r| r.0.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 3);
    }
}

/// The same failing edit, or the same page, again and again.
#[test]
fn a_circle_of_calls_that_change_nothing_is_stopped() {
    let page = "@URL/page";
    for (tool, args, calls) in [
        (
            "edit_file",
            json!({"path": "f.txt", "old": "none", "new": "x"}),
            4,
        ),
        ("fetch_url", json!({ "url": page }), 4),
        ("bash", json!({"command": "touch f.txt; echo same"}), 11),
    ] {
        let scene = scene(Kind::Chat, WEB);
        scene.space.write("f.txt", "text\n");
        scene
            .server
            .route("/page", 200, &[("content-type", "text/plain")], "same");
        let args = fill(&args.to_string(), &scene.server, None);
        for _ in 0..calls {
            scene.server.push(Step::answer().raw_call(tool, &args));
        }
        let out = scene.exec("go").exits(1);
        assert!(
            out.stderr
                .contains(&format!("kept making the same {tool} call")),
            "{}",
            out.stderr
        );
        let last = scene.server.requests().pop().expect("a request");
        assert!(
            last.last_user_text().contains("You made the same call"),
            "{tool}"
        );
        scene.server.assert_done();
    }
}

/// Whatever runs when the person interrupts, the run ends, long before the call would.
#[test]
fn every_slow_call_can_be_interrupted() {
    let slow = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let addr = slow.local_addr().expect("its address");
    let config =
        format!("[tools.web]\nallow_private = [\"{addr}\"]\n[tools]\nbash_timeout_seconds = 0\n");
    let sleep = json!({"command": "sleep 1000"});
    for (calls, started) in [
        (
            vec![(
                "bash",
                json!({"command": "trap '' INT TERM; touch started; sleep 1000"}),
            )],
            true,
        ),
        (vec![("bash", sleep.clone()); 16], false),
        (
            vec![
                ("bash", json!({"command": "sleep 1000", "wait": false})),
                ("bash", json!({"command": "touch started"})),
                ("bash_output", json!({"job": "j1", "wait": "10m"})),
            ],
            true,
        ),
        (
            vec![("fetch_url", json!({"url": format!("http://{addr}/")}))],
            false,
        ),
        (
            vec![("grep", json!({"pattern": "(x+x+)+y", "path": "big.txt"}))],
            false,
        ),
    ] {
        let tool = calls[0].0;
        let scene = scene(Kind::Chat, &config);
        scene.space.write("big.txt", "x".repeat(8 << 20) + "\n");
        let count = calls.len();
        scene.server.push(Step::answer().calls(calls));
        // Should a call be faster than the interrupt, the model is waited for.
        scene.server.push(Step::stall_headers());
        let running = scene.ostler(["exec", "-p", "go"]).spawn();
        match started {
            true => wait_for("the command", || {
                scene.space.exists("started").then_some(())
            }),
            // The answer with the calls is on record before they begin.
            false => wait_for("the calls", || {
                let log = scene.logs().pop().map(|log| scene.space.read(log))?;
                (log.matches("\"tool_use\"").count() >= count).then_some(())
            }),
        }
        running.signal(Signal::Interrupt);
        let out = running.wait();
        assert!(out.stderr.contains("Interrupted"), "{tool}: {}", out.stderr);
        // Every call has its result, whatever became of it.
        let log = scene.log();
        assert_eq!(of_type(&log, "tool_result").len(), count, "{tool}");
        assert_eq!(of_type(&log, "interrupted").len(), 1, "{tool}");
    }
}

/// One tool of those that wait is wanted in the list; the default list is as short as ever.
#[test]
fn a_tool_that_is_switched_on_is_in_the_list() {
    for (config, listed) in [
        ("", false),
        ("[tools]\nweb_search = true\n", true),
        ("[tools]\nenabled = [\"+web_search\"]\n", true),
        ("[tools]\nweb_search = false\n", false),
    ] {
        let scene = Scene::with_config(Kind::Chat, config, [Step::answer().text("Done.")]);
        let out = scene.exec("go").ok();
        let names = scene.server.request(0).tool_names();
        let there = |name: &str| names.contains(&name.to_owned());
        assert_eq!(there("web_search"), listed, "{config}");
        assert!(there("tool_search") && !there("time"), "{config}");
        assert!(!out.stderr.contains("no tool"), "{}", out.stderr);
    }
}
