//! What the reader of code must know about each language: its words, its comments, its strings. Data only.

use super::Quote;

#[derive(Clone, Copy, Debug)]
pub struct Language {
    /// Names and file endings, lower case.
    pub names: &'static str,
    pub keywords: &'static str,
    /// Types that are words of the language, and constants such as `true`.
    pub types: &'static str,
    pub line_comments: &'static [&'static str],
    pub block_comments: &'static [(&'static str, &'static str)],
    pub quotes: &'static [Quote],
    pub form: Form,
}

/// How the rest of a line is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Names with a capital are types, names before a bracket are functions.
    Code,
    /// The same, where the case of keywords does not matter.
    AnyCase,
    /// Names before `:` or `=` are keys.
    Keys,
    /// The first word of a command is a function, `$name` a value.
    Shell,
    /// Tags.
    Markup,
    /// Lines that came and went.
    Diff,
}

const C_COMMENTS: &[(&str, &str)] = &[("/*", "*/")];
const PLAIN: &[Quote] = &[Quote::line("\""), Quote::line("'")];

const CODE: Language = Language {
    names: "",
    keywords: "",
    types: "",
    line_comments: &["//"],
    block_comments: C_COMMENTS,
    quotes: PLAIN,
    form: Form::Code,
};

const SCRIPT_WORDS: &str = "abstract as async await break case catch class const continue debugger declare default delete do else enum export extends finally for from function get if implements import in instanceof interface keyof let namespace new of private protected public readonly return satisfies set static super switch this throw try type typeof var void while with yield";
const SCRIPT_TYPES: &str =
    "any bigint boolean false never null number object string symbol true undefined unknown";

// tidy: table
pub const LANGUAGES: &[Language] = &[
    Language {
        names: "rust rs",
        keywords: "as async await box break const continue crate dyn else enum extern fn for if impl in let loop macro_rules match mod move mut pub ref return self static struct super trait type unsafe use where while yield",
        types: "bool char f32 f64 false i8 i16 i32 i64 i128 isize str true u8 u16 u32 u64 u128 usize",
        // A lone apostrophe is a lifetime.
        quotes: &[
            Quote::raw("r##\"", "\"##"),
            Quote::raw("r#\"", "\"#"),
            Quote::raw("r\"", "\""),
            Quote::many("\""),
            Quote::letter("'"),
        ],
        ..CODE
    },
    Language {
        names: "python py py3 python3 pyi starlark bzl",
        keywords: "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield",
        types: "False None True bool bytes dict float int list object set str tuple type",
        line_comments: &["#"],
        block_comments: &[],
        quotes: &[
            Quote::many("\"\"\""),
            Quote::many("'''"),
            Quote::line("\""),
            Quote::line("'"),
        ],
        ..CODE
    },
    Language {
        names: "javascript js jsx mjs cjs node typescript ts tsx mts cts vue svelte",
        keywords: SCRIPT_WORDS,
        types: SCRIPT_TYPES,
        quotes: &[Quote::line("\""), Quote::line("'"), Quote::many("`")],
        ..CODE
    },
    Language {
        names: "go golang",
        keywords: "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var",
        types: "any bool byte complex128 complex64 error false float32 float64 int int16 int32 int64 int8 iota nil rune string true uint uint16 uint32 uint64 uint8 uintptr",
        quotes: &[Quote::line("\""), Quote::line("'"), Quote::raw("`", "`")],
        ..CODE
    },
    Language {
        names: "c h cpp c++ cc cxx hpp hh hxx cuda cu objective-c objc m mm arduino ino glsl hlsl",
        keywords: "alignas alignof asm auto break case catch class concept const consteval constexpr constinit continue co_await co_return co_yield decltype default delete do else enum explicit export extern final for friend goto if inline mutable namespace new noexcept operator override private protected public register requires restrict return sizeof static static_assert static_cast struct switch template this throw try typedef typeid typename union using virtual volatile while",
        types: "NULL bool char char16_t char32_t double false float int int16_t int32_t int64_t int8_t long nullptr short signed size_t ssize_t true uint16_t uint32_t uint64_t uint8_t unsigned void wchar_t",
        ..CODE
    },
    Language {
        names: "java kotlin kt kts scala sc groovy gradle",
        keywords: "abstract as assert break by case catch class companion const constructor continue data def default do else enum extends extension final finally for fun given if implements implicit import in init inline instanceof interface internal is lateinit lazy match native new object open operator out override package permits private protected public record return sealed static super suspend switch synchronized this throw throws trait transient try type typealias val var vararg volatile when where while with yield",
        types: "Any Boolean Byte Char Double Float Int Long Nothing Short String Unit boolean byte char double false float int long null short true void",
        quotes: &[Quote::many("\"\"\""), Quote::line("\""), Quote::line("'")],
        ..CODE
    },
    Language {
        names: "c# cs csharp f# fs fsharp",
        keywords: "abstract and as async await base break case catch class const continue default delegate do else enum event explicit extern finally fixed for foreach fun get global goto if implicit in init interface internal is let lock match member module mutable namespace new not of open operator or out override params partial private protected public readonly rec record ref required return sealed set sizeof stackalloc static struct switch then this throw try type typeof unsafe using var virtual volatile when where while with yield",
        types: "bool byte char decimal double dynamic false float int long nint null object sbyte short string true uint ulong ushort void",
        quotes: &[
            Quote::many("\"\"\""),
            Quote::raw("@\"", "\""),
            Quote::line("\""),
            Quote::letter("'"),
        ],
        ..CODE
    },
    Language {
        names: "swift",
        keywords: "actor as associatedtype async await break case catch class continue default defer deinit do else enum extension fallthrough fileprivate final for func get guard if import in init inout internal is lazy let mutating nonisolated open operator override private protocol public repeat rethrows return self set some static struct subscript super switch throw throws try typealias unowned var weak where while",
        types: "Any Bool Character Double Float Int Self String Void false nil true",
        quotes: &[Quote::many("\"\"\""), Quote::line("\"")],
        ..CODE
    },
    Language {
        names: "dart php zig v vlang d solidity sol proto protobuf thrift",
        keywords: "abstract and anytype as assert async await break case catch class comptime const continue contract covariant default defer deferred do dynamic echo else elseif enum errdefer event export extends extension external factory final finally fn for foreach from function get global goto if implements import in include inline instanceof interface is late library mapping message mixin modifier namespace new of on operator or orelse package part payable pragma private protected pub public repeated require required reserved rethrow return returns rpc sealed service set static struct super switch sync syntax test this throw trait try type typedef union unreachable use using usingnamespace var view void volatile when while with yield",
        types: "String address array bool bytes double false float int int32 int64 list map mixed null num object oneof self string true u16 u32 u64 u8 uint uint256 uint32 uint64 undefined usize",
        line_comments: &["//", "#"],
        ..CODE
    },
    Language {
        names: "ruby rb rake gemfile elixir ex exs crystal cr",
        keywords: "BEGIN END alias and attr_accessor attr_reader begin break case catch class cond def defmodule defp defstruct do else elsif end ensure extend fn for if import in include loop module next not or private protected public quote raise receive redo require require_relative rescue retry return self super then undef unless until use when while with yield",
        types: "false nil true",
        line_comments: &["#"],
        block_comments: &[],
        quotes: &[Quote::many("\"\"\""), Quote::line("\""), Quote::line("'")],
        ..CODE
    },
    Language {
        names: "lua luau",
        keywords: "and break do else elseif end for function goto if in local not or repeat return then until while",
        types: "false nil self true",
        line_comments: &["--"],
        block_comments: &[("--[[", "]]")],
        quotes: &[Quote::raw("[[", "]]"), Quote::line("\""), Quote::line("'")],
        ..CODE
    },
    Language {
        names: "haskell hs elm ocaml ml mli purescript nix",
        keywords: "and as assert begin case class data default deriving do done else end exception exposing external for forall foreign fun function functor if import in include infix infixl infixr inherit inherits instance let match method module mutable newtype object of open or port private rec sig struct then to try type val virtual when where while with",
        types: "False True bool false float int null string true unit",
        line_comments: &["--", "#"],
        block_comments: &[("{-", "-}"), ("(*", "*)"), ("/*", "*/")],
        quotes: &[
            Quote::raw("''", "''"),
            Quote::many("\""),
            Quote::letter("'"),
        ],
        ..CODE
    },
    Language {
        names: "clojure clj cljs edn lisp el elisp scheme scm racket rkt fennel",
        keywords: "and begin case cond def defmacro defn defn- defun defvar define do else fn for if import in lambda let let* loop ns or quote recur require set! setq then throw try unless use when while",
        types: "false nil t true",
        line_comments: &[";"],
        block_comments: &[("#|", "|#")],
        quotes: &[Quote::many("\"")],
        ..CODE
    },
    Language {
        names: "r julia jl perl pl pm",
        keywords: "abstract baremodule begin break catch const continue do else elseif elsif end export finally for foreach function global if import in last let library local macro module mutable my next our package primitive quote repeat require return struct sub then try type unless until use using where while",
        types: "FALSE NA NULL TRUE false missing nothing true undef",
        line_comments: &["#"],
        block_comments: &[("#=", "=#")],
        quotes: &[Quote::many("\"\"\""), Quote::line("\""), Quote::line("'")],
        ..CODE
    },
    Language {
        names: "sql mysql postgres postgresql psql plsql sqlite tsql",
        keywords: "add all alter analyze and any as asc begin between by cascade case check column commit conflict constraint create cross database default delete desc distinct do drop else end except exists explain for foreign from full function grant group having if in index inner insert intersect into is join key language left like limit not nothing of offset on or order outer over partition primary procedure recursive references returning returns revoke right rollback select set table temp then to transaction trigger truncate union unique update using values view when where window with",
        types: "bigint blob boolean bytea char date datetime decimal double false float int integer interval json jsonb null numeric real serial smallint text time timestamp timestamptz true uuid varchar",
        line_comments: &["--"],
        form: Form::AnyCase,
        ..CODE
    },
    Language {
        names: "bash sh shell zsh fish ksh console shell-session shellsession terminal",
        keywords: "break case continue declare do done elif else end esac eval exec exit export fi for function if in local readonly return select set shift source then trap unset until while",
        types: "false true",
        line_comments: &["#"],
        block_comments: &[],
        quotes: &[Quote::many("\""), Quote::raw("'", "'")],
        form: Form::Shell,
    },
    Language {
        names: "powershell ps1 pwsh batch bat cmd",
        keywords: "begin break call catch class continue do echo else elseif end exit filter finally for foreach function goto if in param process return set switch then throw trap try until using while",
        types: "false null true",
        line_comments: &["#", "rem "],
        block_comments: &[("<#", "#>")],
        form: Form::AnyCase,
        ..CODE
    },
    Language {
        names: "dockerfile docker containerfile make makefile mk just justfile cmake",
        keywords: "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR as define else endef endif export if ifdef ifeq ifndef ifneq include override add_executable add_library cmake_minimum_required find_package foreach endforeach function endfunction project set target_link_libraries",
        types: "false true ON OFF",
        line_comments: &["#"],
        block_comments: &[],
        form: Form::Shell,
        ..CODE
    },
    Language {
        names: "json jsonc json5 jsonl ndjson geojson",
        keywords: "",
        types: "false null true",
        form: Form::Keys,
        ..CODE
    },
    Language {
        names: "yaml yml toml ini cfg conf properties env dotenv editorconfig gitconfig hcl tf terraform nginx",
        keywords: "",
        types: "false no null off on true yes",
        line_comments: &["#", ";"],
        block_comments: &[],
        quotes: &[
            Quote::many("\"\"\""),
            Quote::many("'''"),
            Quote::line("\""),
            Quote::line("'"),
        ],
        form: Form::Keys,
    },
    Language {
        names: "css scss sass less",
        keywords: "from important include media mixin import keyframes to",
        types: "auto block flex grid inherit initial none unset",
        form: Form::Keys,
        ..CODE
    },
    Language {
        names: "graphql gql",
        keywords: "directive enum extend fragment implements input interface mutation on query scalar schema subscription type union",
        types: "Boolean Float ID Int String false null true",
        line_comments: &["#"],
        quotes: &[Quote::many("\"\"\""), Quote::line("\"")],
        ..CODE
    },
    Language {
        names: "html htm xhtml xml svg xsl plist rss",
        keywords: "",
        types: "",
        line_comments: &[],
        block_comments: &[("<!--", "-->")],
        form: Form::Markup,
        ..CODE
    },
    Language {
        names: "diff patch",
        keywords: "",
        types: "",
        line_comments: &[],
        block_comments: &[],
        quotes: &[],
        form: Form::Diff,
    },
];
