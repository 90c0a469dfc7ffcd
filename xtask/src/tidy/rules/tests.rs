//! Each rule on a few lines that break it and a few that do not.

use super::*;

/// What is found in files of these paths and texts, a line each.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let sources: Vec<Source> = files.iter().map(|(p, t)| Source::new(p, t)).collect();
    let lines = check(&sources).into_iter();
    lines
        .map(|v| format!("{}: {}", v.line, v.message))
        .collect()
}

fn check_one(path: &str, body: &str, expect: &[&str]) {
    let text = format!("//! A file.\n{body}");
    assert_eq!(found(&[(path, &text)]), expect, "{body}");
}

const ENGINE: &str = "crates/engine/src/a.rs";

#[test]
fn files_open_with_what_they_are() {
    let says = "1: does not open with `//!`: what it is, what it is not";
    assert_eq!(found(&[("crates/wire/src/a.rs", "use b;\n")]), [says]);
    assert_eq!(found(&[("crates/wire/tests/a.rs", "use b;\n")]), [says]);
    assert!(found(&[("crates/wire/src/a.rs", "//! Text.\nuse b;\n")]).is_empty());
}

#[test]
fn no_test_is_left_out() {
    let all = ("crates/wire/tests/all.rs", "//! All.\nmod a;\n");
    let (a, b) = (("crates/wire/tests/a.rs", "//! A.\n"), "//! B.\n");
    assert!(found(&[all, a, ("crates/wire/tests/c/d.rs", b)]).is_empty());
    assert_eq!(
        found(&[all, a, ("crates/wire/tests/b.rs", b)]),
        ["1: is not run: crates/wire/tests/all.rs does not name it"]
    );
}

#[test]
fn sizes_are_counted() {
    let lines = |n: usize| "    x();\n".repeat(n);
    let short = format!("fn f() -> [u8; 2] {{\n{}}}\n", lines(78));
    let long = format!("fn f() {{\n{}}}\n", lines(79));
    check_one(ENGINE, &short, &[]);
    check_one(ENGINE, &long, &["2: f: a function of 81 lines; at most 80"]);
    check_one(ENGINE, &format!("// tidy: table\n{long}"), &[]);
    check_one(
        ENGINE,
        &format!("#[cfg(test)]\nmod tests {{\n{long}}}\n"),
        &[],
    );
    check_one("crates/engine/tests/a.rs", &long, &[]);
    let file = "fn f();\n".repeat(600);
    check_one(ENGINE, &file, &["2: 601 lines; at most 600"]);
    check_one("crates/engine/src/a/tests.rs", &file, &[]);
}

#[test]
fn a_module_for_tests_may_be_long() {
    let long = format!("//! Long.\n{}", "fn f();\n".repeat(700));
    let files = [
        (
            "crates/engine/src/mod.rs",
            "//! Top.\n#[cfg(test)]\nmod testing;\n",
        ),
        ("crates/engine/src/testing.rs", &long),
    ];
    assert!(found(&files).is_empty());
}

#[test]
fn structs_and_traits_are_narrow() {
    let fields = |n: usize| {
        (0..n)
            .map(|i| format!("    pub f{i}: Map<u8, a::B>,\n"))
            .collect::<String>()
    };
    let says = "a struct of 13 fields; at most 12, unless it is marked `// tidy: plain data`";
    let wide = format!("pub struct S<T> {{\n{}}}\n", fields(13));
    check_one(ENGINE, &wide, &[&format!("2: S: {says}")]);
    check_one(ENGINE, &format!("struct S {{\n{}}}\n", fields(12)), &[]);
    check_one("crates/wire/src/a.rs", &wide, &[]);
    check_one(
        ENGINE,
        &format!("// tidy: plain data\n#[derive(Clone)]\n{wide}"),
        &[],
    );
    let methods = |n: usize| {
        (0..n)
            .map(|i| format!("    fn f{i}(&self) -> [u8; 2];\n"))
            .collect::<String>()
    };
    let own = "    fn own(&self) { a(); }\n";
    check_one(ENGINE, &format!("trait T {{\n{}{own}}}\n", methods(6)), &[]);
    let says = "2: T: a trait of 7 required methods; at most 6";
    check_one(
        ENGINE,
        &format!("trait T {{\n{own}{}}}\n", methods(7)),
        &[says],
    );
}

#[test]
fn unsafe_code_has_its_places_and_nothing_is_left_open() {
    check_one(
        ENGINE,
        "unsafe fn f() {}\n",
        &["2: `unsafe` outside of files, sandbox, host and grammars"],
    );
    check_one("crates/host/src/a.rs", "unsafe fn f() {}\n", &[]);
    check_one(
        "crates/grammars/src/a.rs",
        "//! A.\nunsafe fn f() {}\n",
        &[],
    );
    check_one(
        ENGINE,
        "#[expect(unsafe_code)] // unsafe\nfn f() { s(\"unsafe\") }\n",
        &[],
    );
    check_one(ENGINE, "fn f() { todo!() }\n", &["2: `todo!` is left"]);
    check_one(ENGINE, "fn todo() { todo() }\n", &[]);
}

#[test]
fn the_process_belongs_to_app() {
    let says = |what: &str| format!("2: {what} belongs to app; pass the value in");
    for (line, what) in [
        ("use std::env;", "the environment"),
        ("fn f() { env::var(1) }", "the environment"),
        ("fn f() { println!() }", "printing"),
        ("fn f() { std::io::stdout() }", "the standard streams"),
        ("fn f() { std::process::exit(1) }", "ending the process"),
    ] {
        check_one(ENGINE, line, &[&says(what)]);
        check_one("crates/app/src/a.rs", line, &[]);
        check_one(ENGINE, &format!("#[cfg(test)]\nmod t {{ {line} }}"), &[]);
    }
    check_one(
        ENGINE,
        "const V: &str = env!(\"X\");\nfn f() { c::env::g(); s.env.h() }",
        &[],
    );
}

#[test]
fn vendors_are_data() {
    let says = "2: names a vendor (claude); vendors are rows of data files";
    check_one(ENGINE, "fn f() { g(\"claude-9\") }", &[says]);
    check_one(ENGINE, "fn of_claude() {}", &[says]);
    check_one(ENGINE, "// as claude does\n", &[]);
    check_one("crates/app/src/a.rs", "fn of_claude() {}", &[]);
    check_one("crates/llm/src/codec/gemini/mod.rs", "struct Gemini;", &[]);
    let says = "2: names a vendor (gemini); vendors are rows of data files";
    check_one(ENGINE, "struct Gemini;", &[says]);
}

#[test]
fn our_enums_are_matched_whole() {
    let ours = "pub enum Ours { #[x] A, B { c: u8 }, C(Vec<(u8, u8)>) }\n";
    let says = "3: `_ =>` on our own enum Ours; name the variants";
    let check = |arms: &str, expect: &[&str]| {
        check_one(
            ENGINE,
            &format!("{ours}fn f() {{ match x {{ {arms} }} }}"),
            expect,
        );
    };
    check("Ours::A => 1, _ => 2", &[says]);
    check(
        "Ours::A | Ours::C(_) => { 1 } Ours::B { .. } => 2, _ => { 3 }",
        &[says],
    );
    check("Ours::C(v) if v.is_empty() => g(1, 2), _ => 2", &[says]);
    check("Ours::A => 1, Ours::B { .. } | Ours::C(_) => 2", &[]);
    check("Theirs::A => 1, _ => 2", &[]);
    check("Ours::Unknown => 1, _ => 2", &[]);
    check("(Ours::A, 1) => 1, _ => 2", &[]);
    check("1 => Ours::A, _ => Ours::A", &[]);
}

#[test]
fn machine_paths_are_found() {
    let lines = |text: &str| {
        let found = machine_paths("a.md", text, Path::new("/place/repo"), Some("/users/me"));
        found.iter().map(|v| v.line).collect::<Vec<_>>()
    };
    assert_eq!(lines("x\ncd /place/repo && y\n"), [2]);
    assert_eq!(lines("`/users/me/.cargo`"), [1]);
    assert!(lines("DIR/place/repo /users/mean /place/other").is_empty());
}
