//! Grammars of programming languages with their tables compressed: unpacked when a grammar is first asked for, into memory
//! that costs nothing before. What a grammar's nodes mean is not known here.
#![expect(unsafe_code, reason = "the parsers are in C")]

use flate2::{Decompress, FlushDecompress, Status};
use std::sync::Once;
pub use tree_sitter_language::LanguageFn;

macro_rules! packed {
    ($name:ident, $language:ident, $large:ident, $large_len:literal, $small:ident, $small_len:literal, $file:literal) => {
        pub fn $name() -> LanguageFn {
            unsafe extern "C" {
                fn $language() -> *const ();
                fn $large() -> *mut u16;
                fn $small() -> *mut u16;
            }
            static READY: Once = Once::new();
            READY.call_once(|| {
                let tables = unpack(include_bytes!($file), $large_len + $small_len);
                let (large, small) = tables.split_at($large_len);
                // SAFETY: the build made the tables as long as what it packed. Nobody reads them before this is done, and
                // nobody writes them after it.
                unsafe {
                    std::slice::from_raw_parts_mut($large(), $large_len).copy_from_slice(large);
                    std::slice::from_raw_parts_mut($small(), $small_len).copy_from_slice(small);
                }
            });
            // SAFETY: a function that tree-sitter generated, and its tables are there.
            unsafe { LanguageFn::from_raw($language) }
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/packed.rs"));

/// The build packed it, so nothing else can be in it.
fn unpack(packed: &[u8], len: usize) -> Vec<u16> {
    let mut bytes = vec![0; len * 2];
    let done = Decompress::new(false).decompress(packed, &mut bytes, FlushDecompress::Finish);
    assert!(
        matches!(done, Ok(Status::StreamEnd)),
        "a grammar in the program is damaged"
    );
    bytes
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tree_sitter::{Language, Parser};

    /// Both read a text alike, errors included.
    fn same(packed: LanguageFn, whole: LanguageFn, texts: &[&str]) {
        let read = |language: LanguageFn, text: &str| {
            let mut parser = Parser::new();
            parser.set_language(&Language::new(language)).unwrap();
            parser.parse(text, None).unwrap().root_node().to_sexp()
        };
        for text in texts {
            let ours = read(packed, text);
            assert_eq!(ours, read(whole, text), "{text}");
            assert!(ours.matches('(').count() > 3, "{ours}");
        }
    }

    #[test]
    fn a_packed_grammar_reads_like_the_whole_one() {
        same(
            cpp(),
            tree_sitter_cpp::LANGUAGE,
            &[
                "template <class T> struct A : B<T> { T f() const noexcept { return x ? *this : y; } };\n",
                "#ifdef X\nint main(void) { for (;;) { g(1, \"a\"); } }\n#endif\nenum class E { a = 1 };\n",
                "class { ) int x; = 3\n",
            ],
        );
        same(
            go(),
            tree_sitter_go::LANGUAGE,
            &[
                "package a\nimport \"b\"\nfunc (s *S) F(x int) (y error) { go f(); defer g(); return nil }\n",
                "package a\nfunc ( { var x =\n",
            ],
        );
        same(
            java(),
            tree_sitter_java::LANGUAGE,
            &[
                "@A class B<T> extends C implements D { int x = 1; void f() throws E { try { g(); } finally { } } }\n",
                "record R(int a) { enum E { X, Y; } }\n",
                "class { int ( }\n",
            ],
        );
        same(
            python(),
            tree_sitter_python::LANGUAGE,
            &[
                "@d\nclass A(B):\n    def f(self, *a, b=1) -> int:\n        return [x for x in a if x] or f\"{b!r}\"\n",
                "match x:\n    case [1, *r]:\n        pass\nasync def (:\n",
            ],
        );
        same(
            rust(),
            tree_sitter_rust::LANGUAGE,
            &[
                "impl<'a, T: Fn(u8) -> R + 'a> X for Y<T> where T: Z { const A: u8 = b'a'; async fn f(&self) { r#\"x\"#; } }\n",
                "macro_rules! m { ($a:expr) => { $a? } }\nfn f( { let x =\n",
            ],
        );
        same(
            tsx(),
            tree_sitter_typescript::LANGUAGE_TSX,
            &[
                "export class A<T> extends B { private x?: T = 1; get y(): string { return `${this.x}`; } }\n",
                "const a = <div b={c}>text{d}</div>;\ntype F = (x: number) => x is G;\nfunction ( {\n",
            ],
        );
    }

    #[test]
    fn asked_for_twice_it_is_unpacked_once() {
        let (one, two) = (rust(), rust());
        same(one, two, &["fn f() { g(1) }\n"]);
    }
}
