//! The languages: which files they are in, and which of their nodes define a name, hold definitions, or belong to one.

use ostler_grammars::LanguageFn;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};
use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

/// How long a file may be parsed. One that takes longer is no program.
const LONGEST: Duration = Duration::from_secs(3);

/// For errors.
pub const NAMES: &str = "Rust, Go, Python, JavaScript, TypeScript, Java, C and C++,";

/// What a node is to an outline. What is not listed is not looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It defines a name, and what is in it is its own affair.
    Names,
    /// It defines a name, and definitions are in it.
    Holds,
    /// Definitions are in it, and it belongs to a type that is defined elsewhere.
    Extends,
    /// It belongs to the one definition in it.
    Wraps,
    /// Definitions are in it.
    Passes,
}

pub struct Grammar {
    extensions: &'static [&'static str],
    language: fn() -> LanguageFn,
    roles: &'static [(&'static str, Role)],
    /// Blocks cannot be empty: what stands in one instead.
    pub filler: Option<&'static str>,
}

impl Grammar {
    pub fn of(path: &Path) -> Option<&'static Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let known = |g: &&Self| g.extensions.contains(&extension.as_str());
        GRAMMARS.iter().find(known)
    }

    pub fn parse(&self, content: &str) -> Option<Tree> {
        let mut parser = Parser::new();
        parser.set_language(&(self.language)().into()).ok()?;
        let begun = Instant::now();
        let mut late = |_: &ParseState| match begun.elapsed() > LONGEST {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let options = ParseOptions::new().progress_callback(&mut late);
        let mut rest = |at: usize, _| content.as_bytes().get(at..).unwrap_or_default();
        parser.parse_with_options(&mut rest, None, Some(options))
    }

    pub fn role(&self, kind: &str) -> Option<Role> {
        let found = self.roles.iter().find(|(known, _)| *known == kind);
        found.map(|(_, role)| *role)
    }
}

use Role::{Extends, Holds, Names, Passes, Wraps};

// tidy: table
#[rustfmt::skip]
static GRAMMARS: &[Grammar] = &[
    Grammar {
        extensions: &["rs"],
        language: ostler_grammars::rust,
        filler: None,
        roles: &[
            ("source_file", Passes), ("declaration_list", Passes), ("foreign_mod_item", Passes), ("ERROR", Passes),
            ("mod_item", Holds), ("trait_item", Holds), ("impl_item", Extends),
            ("function_item", Names), ("function_signature_item", Names), ("struct_item", Names), ("enum_item", Names),
            ("union_item", Names), ("type_item", Names), ("associated_type", Names), ("const_item", Names),
            ("static_item", Names), ("macro_definition", Names), ("trait_alias", Names),
        ],
    },
    Grammar {
        extensions: &["go"],
        language: ostler_grammars::go,
        filler: None,
        roles: &[
            ("source_file", Passes), ("ERROR", Passes), ("var_spec_list", Passes),
            ("type_declaration", Wraps), ("const_declaration", Wraps), ("var_declaration", Wraps),
            ("function_declaration", Names), ("method_declaration", Names), ("type_spec", Names), ("type_alias", Names),
            ("const_spec", Names), ("var_spec", Names),
        ],
    },
    Grammar {
        extensions: &["py", "pyi"],
        language: ostler_grammars::python,
        filler: Some("pass"),
        roles: &[
            ("module", Passes), ("block", Passes), ("ERROR", Passes), ("if_statement", Passes), ("else_clause", Passes),
            ("try_statement", Passes), ("except_clause", Passes),
            ("decorated_definition", Wraps), ("expression_statement", Wraps),
            ("class_definition", Holds), ("function_definition", Names), ("assignment", Names), ("type_alias_statement", Names),
        ],
    },
    Grammar {
        // One grammar for all of them; what only plain TypeScript has (`<T>x`) is an error, and what has errors is left alone.
        extensions: &["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"],
        language: ostler_grammars::tsx,
        filler: None,
        roles: &[
            ("program", Passes), ("class_body", Passes), ("interface_body", Passes), ("object_type", Passes),
            ("statement_block", Passes), ("ERROR", Passes),
            ("export_statement", Wraps), ("ambient_declaration", Wraps), ("expression_statement", Wraps),
            ("class_declaration", Holds), ("abstract_class_declaration", Holds), ("interface_declaration", Holds),
            ("internal_module", Holds), ("module", Holds),
            ("function_declaration", Names), ("generator_function_declaration", Names), ("function_signature", Names),
            ("type_alias_declaration", Names), ("enum_declaration", Names), ("lexical_declaration", Names),
            ("variable_declaration", Names), ("method_definition", Names), ("method_signature", Names),
            ("abstract_method_signature", Names), ("public_field_definition", Names), ("property_signature", Names),
        ],
    },
    Grammar {
        extensions: &["java"],
        language: ostler_grammars::java,
        filler: None,
        roles: &[
            ("program", Passes), ("class_body", Passes), ("interface_body", Passes), ("enum_body", Passes),
            ("enum_body_declarations", Passes), ("annotation_type_body", Passes), ("ERROR", Passes),
            ("class_declaration", Holds), ("interface_declaration", Holds), ("enum_declaration", Holds),
            ("record_declaration", Holds), ("annotation_type_declaration", Holds),
            ("method_declaration", Names), ("constructor_declaration", Names), ("compact_constructor_declaration", Names),
            ("field_declaration", Names), ("constant_declaration", Names), ("annotation_type_element_declaration", Names),
        ],
    },
    Grammar {
        // C is nearly a part of C++.
        extensions: &["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "inl", "ipp"],
        language: ostler_grammars::cpp,
        filler: None,
        roles: &[
            ("translation_unit", Passes), ("declaration_list", Passes), ("field_declaration_list", Passes),
            ("linkage_specification", Passes), ("preproc_if", Passes), ("preproc_ifdef", Passes), ("preproc_else", Passes),
            ("preproc_elif", Passes), ("preproc_elifdef", Passes), ("ERROR", Passes),
            ("template_declaration", Wraps),
            ("namespace_definition", Holds), ("class_specifier", Holds), ("struct_specifier", Holds), ("union_specifier", Holds),
            ("enum_specifier", Names), ("function_definition", Names), ("declaration", Names), ("field_declaration", Names),
            ("type_definition", Names), ("alias_declaration", Names), ("concept_definition", Names),
            ("preproc_def", Names), ("preproc_function_def", Names),
        ],
    },
];
