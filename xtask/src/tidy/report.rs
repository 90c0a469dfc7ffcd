//! `cargo xtask tidy --report`: the figures of the house, counted in one way for everybody.

use super::entry_kinds;
use super::rooms::Rooms;
use super::source::Source;
use super::walk;
use std::collections::BTreeMap;

/// What a crate holds.
#[derive(Default)]
struct Size {
    files: usize,
    /// Lines that are neither tests nor tables nor comments nor blank.
    code: usize,
    tables: usize,
}

pub fn print(production: &[&Source], rooms: &[Rooms]) {
    let mut sizes: BTreeMap<&str, Size> = BTreeMap::new();
    let mut widest = (0, String::new());
    for source in production {
        let Some(name) = crate_of(&source.path) else {
            continue;
        };
        let size = sizes.entry(name).or_default();
        size.files += 1;
        size.code += source.code_lines();
        size.tables += source.table_lines();
        for (fields, name) in source.structs() {
            if fields > widest.0 {
                widest = (fields, format!("{name} ({})", source.path));
            }
        }
    }
    println!("crate      files   code  tables  rooms  largest circle");
    let mut total = 0;
    for (name, size) in &sizes {
        let rooms = rooms.iter().find(|rooms| rooms.name == *name);
        let (count, circle) = rooms.map_or((0, 0), |r| (r.count(), r.largest_circle().len()));
        println!(
            "{name:<10} {:>5} {:>6} {:>7} {count:>6} {circle:>15}",
            size.files, size.code, size.tables
        );
        if !matches!(*name, "testkit" | "xtask") {
            total += size.code;
        }
    }
    println!("product    {total:>12}");
    println!("widest struct: {} fields, {}", widest.0, widest.1);
    println!("stops of a prompt: {}", walk::stops());
    let places = entry_kinds::places(production);
    println!(
        "places of an entry kind: {}, {}",
        places.len(),
        places.join(" ")
    );
}

fn crate_of(path: &str) -> Option<&str> {
    match path.strip_prefix("crates/") {
        Some(below) => below.split('/').next(),
        None => path.starts_with("xtask/").then_some("xtask"),
    }
}
