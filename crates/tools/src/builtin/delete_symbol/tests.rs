//! `delete_symbol`: what a name means in each language, what goes with it, and what is refused.

use super::*;
use crate::testing::Bench;
use serde_json::json;

/// The text without the symbol; or the code of the error.
fn without(path: &str, content: &str, symbol: &str) -> String {
    match delete(content, path, symbol) {
        Ok(gone) => gone.content,
        Err(error) => format!("{}: {}", error.code, error.message),
    }
}

/// `content` has lines that end in `~`: those are to go with the symbol.
#[track_caller]
fn check(path: &str, content: &str, symbols: &[&str]) {
    let marked = |line: &&str| line.trim_end().ends_with('~');
    let source: String = content
        .lines()
        .map(|l| format!("{}\n", l.trim_end_matches('~').trim_end()))
        .collect();
    let expect: String = content
        .lines()
        .filter(|l| !marked(l))
        .map(|l| format!("{}\n", l.trim_end()))
        .collect();
    for symbol in symbols {
        assert_eq!(without(path, &source, symbol), expect, "{path} {symbol}");
        // The same with the line endings of others.
        let crlf = |text: &str| text.replace('\n', "\r\n");
        assert_eq!(
            without(path, &crlf(&source), symbol),
            crlf(&expect),
            "{path} {symbol} crlf"
        );
    }
}

#[test]
fn rust() {
    let path = "src/a.rs";
    check(
        path,
        "use x;\n\n/// Doc.   ~\n/// More.   ~\n#[inline] ~\n#[cfg(a)] ~\npub fn gone<T>(a: T) -> u8 { ~\n    1 ~\n} ~\n~\nfn stays() {}\n",
        &["gone", "gone()", " gone "],
    );
    check(path, "//! About the file.\nfn gone() {} ~\n", &["gone"]);
    check(path, "fn a() {}\n~\nfn gone() {} ~\n", &["gone"]);
    check(
        path,
        "struct S;\nimpl<T> S<T> {\n    fn keep(&self) {}\n~\n    /// Doc. ~\n    pub async fn gone(&self) { ~\n    } ~\n}\n",
        &["S::gone", "S.gone", "gone"],
    );
    check(
        path,
        "impl A for B {\n    fn x() {} ~\n}\nimpl A for C {\n    fn x() {}\n}\n",
        &["B::x"],
    );
    check(
        path,
        "pub const GONE: u8 = 3; ~\nstatic S: u8 = 1;\n",
        &["GONE"],
    );
    check(
        path,
        "mod m {\n    pub struct Gone { ~\n        a: u8, ~\n    } ~\n    enum E { A }\n}\nstruct Gone;\n",
        &["m::Gone"],
    );
    check(
        path,
        "macro_rules! gone { ~\n    () => {}; ~\n} ~\n~\ntype T = u8;\ntrait R {\n    fn f();\n}\n",
        &["gone"],
    );
    check(
        path,
        "trait R {\n    type A; ~\n    fn f();\n}\n",
        &["R::A", "A"],
    );
    // A comment of the line before, or one further up, is not its own.
    check(path, "fn a() {} // of a\nfn gone() {} ~\n", &["gone"]);
    check(
        path,
        "// About all.\n\nfn gone() {} ~\n~\nfn b() {}\n",
        &["gone"],
    );
}

#[test]
fn go() {
    let path = "a.go";
    check(
        path,
        "package p\n\n// Gone goes. ~\n// Really. ~\nfunc Gone(a int) error { ~\n\treturn nil ~\n} ~\n~\nfunc Stays() {}\n",
        &["Gone"],
    );
    check(
        path,
        "package p\n\nfunc (s *Stack[T]) Push(x T) { ~\n} ~\n~\nfunc (q *Queue) Push(x int) {\n}\n",
        &["Stack.Push"],
    );
    check(
        path,
        "package p\n\ntype Gone struct { ~\n\tA int ~\n} ~\n~\ntype B = int\n",
        &["Gone"],
    );
    check(
        path,
        "package p\n\nconst (\n\t// One. ~\n\tGone = 1 ~\n\tStays = 2\n)\n",
        &["Gone"],
    );
    check(
        path,
        "package p\n\nvar Gone = 1 ~\n\nvar b = 2\n"
            .replace(" ~\n\nvar", " ~\n~\nvar")
            .as_str(),
        &["Gone"],
    );
}

#[test]
fn python() {
    let path = "a.py";
    check(
        path,
        "import x\n\n\n# About gone. ~\n@cached ~\n@other(1) ~\nasync def gone(a): ~\n    \"\"\"Doc.\"\"\" ~\n    return 1 ~\n~\n~\ndef stays():\n    pass\n",
        &["gone"],
    );
    check(
        path,
        "class C:\n    X = 1\n~\n    @property ~\n    def gone(self): ~\n        def inner(): ~\n            pass ~\n        return inner ~\n",
        &["C.gone"],
    );
    check(
        path,
        "class Gone(Base): ~\n    def f(self): ~\n        pass ~\n~\n~\nclass D:\n    def f(self):\n        pass\n",
        &["Gone"],
    );
    check(path, "GONE: int = 3 ~\nB = 2\n", &["GONE"]);
    assert_eq!(
        without(
            path,
            "class C:\n    # About it.\n    def f(self):\n        return 1\n\nx = 1\n",
            "C.f"
        ),
        "class C:\n    # About it.\n    pass\n\nx = 1\n"
    );
    assert_eq!(
        without(path, "if A:\n    def f():\n        pass\n", "f"),
        "if A:\n    pass\n"
    );
}

#[test]
fn typescript_and_javascript() {
    for path in ["a.ts", "a.tsx", "a.js", "a.mjs"] {
        check(
            path,
            "/** Doc. */ ~\nexport async function gone(a) { ~\n  return 1; ~\n} ~\n~\nfunction stays() {}\n",
            &["gone"],
        );
        check(path, "class C {\n  x = 1;\n~\n  // About gone. ~\n  async gone() { ~\n  } ~\n\n  y() {}\n}\n".replace("\n~\n", "\n\n").replace("} ~\n\n", "} ~\n~\n").as_str(), &["C.gone", "C#gone"]);
        check(
            path,
            "export const gone = (a) => { ~\n  a(); ~\n}; ~\nconst b = 2;\n",
            &["gone"],
        );
        check(
            path,
            "export default class Gone { ~\n  a() {} ~\n} ~\n~\nlet x;\n",
            &["Gone"],
        );
    }
    check(
        "a.ts",
        "export interface Gone { ~\n  a: string; ~\n} ~\ntype B = { a: 1 };\n",
        &["Gone"],
    );
    check(
        "a.ts",
        "type Gone<T> = T | null; ~\nenum E { A }\n",
        &["Gone"],
    );
    check(
        "a.ts",
        "@Component({ a: 1 })\nclass C {\n  @Input() gone: string; ~\n  b = 1;\n}\n",
        &["C.gone"],
    );
    check(
        "a.ts",
        "namespace N {\n  export function gone() {} ~\n  export const b = 1;\n}\n",
        &["N.gone"],
    );
    check(
        "a.tsx",
        "export function Gone() { ~\n  return <div>{x}</div>; ~\n} ~\n~\nexport const B = () => <p/>;\n",
        &["Gone"],
    );
}

#[test]
fn java() {
    let path = "A.java";
    check(path, "package p;\n\npublic class A {\n    private int x;\n~\n    /** ~\n     * Doc. ~\n     */ ~\n    @Override ~\n    public String gone() { ~\n        return \"\"; ~\n    } ~\n\n    void b() {}\n}\n".replace("x;\n~\n", "x;\n\n").replace("} ~\n\n", "} ~\n~\n").as_str(), &["A.gone", "gone"]);
    check(
        path,
        "class A {\n    static final int GONE = 1; ~\n    int b;\n}\n",
        &["A.GONE"],
    );
    check(
        path,
        "class A {\n    A() {}\n    enum Gone { X, Y } ~\n}\nrecord R(int a) {}\n",
        &["Gone"],
    );
    check(
        path,
        "class A {\n}\n~\ninterface Gone { ~\n    void f(); ~\n} ~\n",
        &["Gone"],
    );
}

#[test]
fn c_and_cpp() {
    for path in ["a.c", "a.h", "a.cpp"] {
        check(
            path,
            "#include <x.h>\n\n/* About gone. */ ~\nstatic int *gone(int a, char **b) ~\n{ ~\n    return 0; ~\n} ~\n~\nint main(void) { return 0; }\n",
            &["gone"],
        );
        check(
            path,
            "struct Gone { ~\n    int a; ~\n}; ~\n~\nenum E { A };\n",
            &["Gone"],
        );
        check(
            path,
            "typedef struct gone_s { ~\n    int a; ~\n} gone_t; ~\nint x;\n",
            &["gone_t", "gone_s"],
        );
        check(
            path,
            "#define GONE(x) \\ ~\n    (x) ~\n#define B 1\n"
                .replace("\\ ~", "\\~")
                .as_str(),
            &["GONE"],
        );
        check(
            path,
            "#ifdef A\nint gone(void); ~\nint b(void);\n#endif\n",
            &["gone"],
        );
    }
    check("a.cpp", "namespace n {\ntemplate <typename T> ~\nclass Gone { ~\n    void f(); ~\n}; ~\n\nvoid g() {}\n}\n".replace("}; ~\n\n", "}; ~\n~\n").as_str(), &["n::Gone"]);
    check(
        "a.cpp",
        "void C::gone() const { ~\n} ~\n~\nvoid D::gone() {}\n",
        &["C::gone"],
    );
    check(
        "a.hpp",
        "class C {\npublic:\n    C();\n    virtual int gone() const; ~\n    int x;\n};\n",
        &["C::gone"],
    );
    check(
        "a.cpp",
        "using Gone = int; ~\nextern \"C\" {\nint b(void);\n}\n",
        &["Gone"],
    );
}

#[test]
fn what_is_not_sure_is_refused() {
    for (path, content, symbol, expect) in [
        (
            "a.rs",
            "fn a() {}\n",
            "b",
            "symbol_not_found: There is no definition of b. Nearest: a.",
        ),
        (
            "a.rs",
            "fn parse() {}\nfn pause() {}\nstruct Q;\n",
            "prase",
            "symbol_not_found: There is no definition of prase. Nearest: parse, pause, Q.",
        ),
        (
            "a.rs",
            "// nothing\n",
            "b",
            "symbol_not_found: There is no definition of b, nor of anything else that could be deleted by name.",
        ),
        (
            "a.rs",
            "impl A { fn f() {} }\nimpl B { fn f() {} }\n",
            "f",
            "symbol_not_unique: 2 definitions have this name: A.f:1, B.f:2. Say which one, as name:line.",
        ),
        (
            "a.ts",
            "const a = 1, b = 2;\n",
            "a",
            "shared_declaration: a is declared together with b on line 1. Use edit_file.",
        ),
        (
            "a.go",
            "package p\nvar a, b = 1, 2\n",
            "b",
            "shared_declaration: b is declared together with a on line 2. Use edit_file.",
        ),
        (
            "a.rs",
            "fn a() { let x = ; }\n",
            "a",
            "parse_error: a on line 1 has parts that could not be parsed, so where it ends is not sure. Use delete_range.",
        ),
        (
            "a.rs",
            "fn a() {}\n",
            " :: ",
            "invalid_input: Which symbol? It has no name.",
        ),
        (
            "a.txt",
            "x",
            "x",
            "unsupported: delete_symbol knows Rust, Go, Python, JavaScript, TypeScript, Java, C and C++, by the file's extension. Use delete_range here.",
        ),
        (
            "Makefile",
            "x",
            "x",
            "unsupported: delete_symbol knows Rust, Go, Python, JavaScript, TypeScript, Java, C and C++, by the file's extension. Use delete_range here.",
        ),
    ] {
        assert_eq!(without(path, content, symbol), expect, "{path} {content}");
    }
}

#[test]
fn one_of_many_by_its_line() {
    let content = "impl A { fn f() {} }\nimpl B {\n    fn f() {\n    }\n}\n";
    for (symbol, expect) in [
        ("f:1", "impl A {  }\nimpl B {\n    fn f() {\n    }\n}\n"),
        ("f:3", "impl A { fn f() {} }\nimpl B {\n}\n"),
        ("B::f:4", "impl A { fn f() {} }\nimpl B {\n}\n"),
    ] {
        assert_eq!(without("a.rs", content, symbol), expect, "{symbol}");
    }
}

#[test]
fn a_file_without_a_last_line_break_keeps_that() {
    assert_eq!(without("a.rs", "fn a() {}\n\nfn b() {}", "b"), "fn a() {}");
    assert_eq!(without("a.rs", "fn a() {}", "a"), "");
}

/// Nonsense, half files and depth cost no more than an error.
#[test]
fn any_text_is_survived() {
    let deep = "mod a { ".repeat(2_000);
    let braces = "{".repeat(5_000);
    let half = "class A { void f( {{{ ' \" */ #if \\\n";
    for path in ["a.rs", "a.go", "a.py", "a.tsx", "a.java", "a.cpp"] {
        for text in [
            "",
            "\u{feff}",
            "\0\u{1}\n",
            &deep,
            &braces,
            half,
            "ſ∂\u{10ff80}\n\r\r\n",
        ] {
            for symbol in ["a", "f:1"] {
                let _ = delete(text, path, symbol);
            }
        }
    }
}

#[tokio::test]
async fn encodings_survive_and_the_result_says_what_went() {
    let bench = Bench::new();
    let utf16 = |text: &str| -> Vec<u8> {
        let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    bench.put("a.rs", utf16("// ä\r\nfn gone() {}\r\nfn b() {}\r\n"));
    let out = bench
        .envelope(&DeleteSymbol, json!({"path": "a.rs", "symbol": "gone"}))
        .await;
    assert_eq!(out["data"]["lines"], 2, "{out}");
    assert_eq!(bench.get("a.rs"), utf16("fn b() {}\r\n"));
    assert_eq!(
        DeleteSymbol::render(&out["data"]).text,
        "Deleted gone: 2 lines from line 1."
    );
    bench.put("b.py", "\u{feff}x = 1\ny = 2\n");
    bench
        .envelope(&DeleteSymbol, json!({"file_path": "b.py", "symbol": "x"}))
        .await;
    assert_eq!(bench.get("b.py"), "\u{feff}y = 2\n".as_bytes());
}
