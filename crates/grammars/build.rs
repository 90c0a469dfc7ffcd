//! Compiles each grammar with its two largest tables empty, and packs what belongs into them. The tables are nine tenths of
//! a grammar and compress to a fifteenth.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Package, folder of the sources in it, and the function that the sources define.
const GRAMMARS: [(&str, &str, &str); 6] = [
    ("tree-sitter-cpp", "src", "cpp"),
    ("tree-sitter-go", "src", "go"),
    ("tree-sitter-java", "src", "java"),
    ("tree-sitter-python", "src", "python"),
    ("tree-sitter-rust", "src", "rust"),
    ("tree-sitter-typescript", "tsx/src", "tsx"),
];
const LARGE: &str = "static const uint16_t ts_parse_table[LARGE_STATE_COUNT][SYMBOL_COUNT] = {\n";
const SMALL: &str = "static const uint16_t ts_small_parse_table[] = {\n";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("a folder for what is made"));
    let folders = packages();
    let mut table = String::new();
    for (package, folder, name) in GRAMMARS {
        let root = folders
            .get(package)
            .unwrap_or_else(|| panic!("{package} is no dependency"));
        grammar(&root.join(folder), name, &out, &mut table);
    }
    fs::write(out.join("packed.rs"), table).expect("the list of grammars");
}

/// Where the sources of each package are.
fn packages() -> HashMap<String, PathBuf> {
    let cargo = env::var_os("CARGO").expect("the cargo that builds");
    let metadata = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked"])
        .output()
        .expect("cargo metadata");
    assert!(
        metadata.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&metadata.stderr)
    );
    let metadata: serde_json::Value =
        serde_json::from_slice(&metadata.stdout).expect("what cargo metadata prints");
    let packages = metadata["packages"].as_array().expect("packages");
    let place = |package: &serde_json::Value| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        Some((
            package["name"].as_str()?.to_owned(),
            manifest.parent()?.to_owned(),
        ))
    };
    packages.iter().filter_map(place).collect()
}

fn grammar(folder: &Path, name: &str, out: &Path, table: &mut String) {
    let source = folder.join("parser.c");
    println!("cargo::rerun-if-changed={}", source.display());
    let text = fs::read_to_string(&source)
        .unwrap_or_else(|error| panic!("{}: {error}", source.display()))
        .replace("\r\n", "\n");
    let [before, large, between, small, after] = parts(&text)
        .unwrap_or_else(|| panic!("{} has no tables of the known form", source.display()));
    let known = Known::read(before);
    let large = known.large(large);
    let small = known.small(small);
    let function = format!("tree_sitter_{name}");
    let stripped = format!(
        "{before}static uint16_t ts_parse_table[LARGE_STATE_COUNT][SYMBOL_COUNT];\n{between}\
         static uint16_t ts_small_parse_table[{}];\n{after}\n\
         uint16_t *ostler_{name}_large(void) {{ return &ts_parse_table[0][0]; }}\n\
         uint16_t *ostler_{name}_small(void) {{ return ts_small_parse_table; }}\n",
        small.len()
    );
    let stripped = stripped.replace(
        &format!("{function}(void)"),
        &format!("ostler_{name}(void)"),
    );
    let parser = out.join(format!("{name}.c"));
    fs::write(&parser, stripped).expect("the parser without its tables");
    let mut build = cc::Build::new();
    build.std("c11").include(folder).file(parser);
    build
        .define("TREE_SITTER_HIDE_SYMBOLS", None)
        .warnings(false);
    let scanner = folder.join("scanner.c");
    if scanner.exists() {
        println!("cargo::rerun-if-changed={}", scanner.display());
        build.file(scanner);
    }
    build.compile(&format!("ostler-{name}"));
    let bytes: Vec<u8> = large
        .iter()
        .chain(&small)
        .flat_map(|n| n.to_le_bytes())
        .collect();
    let mut packer = DeflateEncoder::new(Vec::new(), Compression::best());
    packer.write_all(&bytes).expect("packed tables");
    let file = out.join(format!("{name}.tables"));
    fs::write(&file, packer.finish().expect("packed tables")).expect("packed tables");
    writeln!(
        table,
        "packed!({name}, ostler_{name}, ostler_{name}_large, {}, ostler_{name}_small, {}, {:?});",
        large.len(),
        small.len(),
        file.display().to_string()
    )
    .expect("the list of grammars");
}

/// What is before, in, between, in and after the two tables.
fn parts(text: &str) -> Option<[&str; 5]> {
    let (before, rest) = text.split_once(LARGE)?;
    let (large, rest) = rest.split_once("\n};\n")?;
    let (between, rest) = rest.split_once(SMALL)?;
    let (small, after) = rest.split_once("\n};\n")?;
    Some([before, large, between, small, after])
}

/// What the names in the tables stand for.
struct Known<'a> {
    symbols: HashMap<&'a str, u16>,
    large_states: usize,
    symbol_count: usize,
}

impl<'a> Known<'a> {
    fn read(text: &'a str) -> Self {
        let define = |name: &str| -> usize {
            let line = text.lines().find_map(|line| {
                line.strip_prefix("#define ")?
                    .strip_prefix(name)?
                    .strip_prefix(' ')
            });
            line.and_then(|number| number.trim().parse().ok())
                .unwrap_or_else(|| panic!("{name} is not defined"))
        };
        let (_, symbols) = text
            .split_once("enum ts_symbol_identifiers {\n")
            .expect("symbols");
        let symbol = |line: &'a str| {
            let (name, number) = line.trim().strip_suffix(',')?.split_once(" = ")?;
            Some((name, number.parse().ok()?))
        };
        let mut symbols: HashMap<&str, u16> = symbols
            .lines()
            .take_while(|line| *line != "};")
            .map(|line| symbol(line).unwrap_or_else(|| panic!("no symbol: {line}")))
            .collect();
        symbols.insert("ts_builtin_sym_end", 0);
        Self {
            symbols,
            large_states: define("LARGE_STATE_COUNT"),
            symbol_count: define("SYMBOL_COUNT"),
        }
    }

    /// Rows of `[symbol] = value`; what is not named is zero.
    fn large(&self, text: &str) -> Vec<u16> {
        let mut table = vec![0; self.large_states * self.symbol_count];
        let mut row = None;
        for line in text.lines().map(str::trim) {
            if line == "}," {
                row = None;
                continue;
            }
            let (index, value) = indexed(line).unwrap_or_else(|| panic!("no entry: {line}"));
            match (row, value) {
                (None, "{") => row = Some(usize::from(self.value(index))),
                (Some(row), value) => {
                    let at = row * self.symbol_count + usize::from(self.value(index));
                    let value = value.strip_suffix(',').expect("a value");
                    *table.get_mut(at).expect("a place in the table") = self.value(value);
                }
                (None, _) => panic!("no row: {line}"),
            }
        }
        table
    }

    /// Values one after the other, some with the index that they have anyway.
    fn small(&self, text: &str) -> Vec<u16> {
        let mut table = Vec::new();
        for item in text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
        {
            let value = match indexed(item) {
                Some((index, value)) => {
                    assert_eq!(index.parse(), Ok(table.len()), "a gap in the table");
                    value
                }
                None => item,
            };
            table.push(self.value(value));
        }
        table
    }

    fn value(&self, text: &str) -> u16 {
        let inner = |begin: &str| text.strip_prefix(begin)?.strip_suffix(')');
        let number = inner("ACTIONS(")
            .or_else(|| inner("STATE("))
            .unwrap_or(text);
        let value = number
            .parse()
            .ok()
            .or_else(|| self.symbols.get(number).copied());
        value.unwrap_or_else(|| panic!("no value: {text}"))
    }
}

/// `[index] = value`.
fn indexed(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('[')?.split_once("] = ")
}
