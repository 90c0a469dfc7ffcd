//! `cargo xtask dist order`: which functions a session calls, from runs under callgrind. The linker puts them side by side
//! (`packaging/order.ld`), because the kernel maps 64 KB around each function that is called: spread over the program, a
//! tenth of its functions would bring in all of it.

use crate::bench::Session;
use anyhow::{Context as _, ensure};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

const SCRIPT: &str = "packaging/order.ld";
/// A process that calls fewer functions is the watchdog or a keeper, which are there with every command: theirs come first.
const SMALL: usize = 2_500;
/// A pattern is as short as it can be without bringing in more than this share of bytes that are not called.
const WASTE: f64 = 0.15;
/// Patterns are cut at multiples of this.
const STRIDE: usize = 12;

/// Writes the linker script for a program with symbols.
pub fn write(program: &Path) -> anyhow::Result<bool> {
    let folder = std::env::temp_dir().join(format!("ostler-order-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let recorded = record(program, &folder);
    let read = recorded.and_then(|()| called(&folder));
    fs::remove_dir_all(&folder)?;
    let groups = read?;
    let sizes = sizes(program)?;
    let mut script = String::from(
        "/* Functions that sessions call, side by side. Written by `cargo xtask dist order`, not by hand. */\nSECTIONS {\n  .text.first : {\n",
    );
    let mut placed = BTreeSet::new();
    for group in &groups {
        for pattern in patterns(group, &sizes, &mut placed) {
            writeln!(script, "    *(.text.{pattern})")?;
        }
    }
    script.push_str("  }\n}\nINSERT BEFORE .text;\n");
    println!(
        "{} patterns, {} bytes of script",
        placed.len(),
        script.len()
    );
    fs::write(crate::root().join(SCRIPT), script)?;
    Ok(true)
}

/// Runs what most sessions do, each process below callgrind.
fn record(program: &Path, folder: &Path) -> anyhow::Result<()> {
    let valgrind = Command::new("valgrind").arg("--version").output();
    ensure!(valgrind.is_ok(), "valgrind is needed");
    let wrapper = folder.join("ostler");
    let text = format!(
        "#!/bin/sh\nexec valgrind -q --tool=callgrind --demangle=no --trace-children=yes \
         --callgrind-out-file='{}/calls.%p' '{}' \"$@\"\n",
        folder.display(),
        program.canonicalize()?.display()
    );
    fs::write(&wrapper, text)?;
    ensure!(
        Command::new("chmod")
            .arg("+x")
            .arg(&wrapper)
            .status()?
            .success(),
        "the wrapper cannot be made a program"
    );
    for session in Session::ALL {
        println!("recording {session:?}");
        session.run(&wrapper);
    }
    Ok(())
}

/// The functions of small processes, then those of all.
fn called(folder: &Path) -> anyhow::Result<[BTreeSet<String>; 2]> {
    let mut groups = [BTreeSet::new(), BTreeSet::new()];
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none() {
            continue;
        }
        let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        let found = functions(&text);
        let [small, all] = &mut groups;
        match found.len() < SMALL {
            true => small.extend(found),
            false => all.extend(found),
        }
    }
    ensure!(!groups[1].is_empty(), "nothing was recorded");
    Ok(groups)
}

/// The names in what callgrind wrote: `fn=(12) name`, and a name once only.
fn functions(text: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let rest = line
            .strip_prefix('c')
            .unwrap_or(line)
            .strip_prefix("fn=(")?;
        let (_, name) = rest.split_once(") ")?;
        // A function that calls itself has a number behind.
        Some(name.split('\'').next()?.to_owned())
    };
    text.lines().filter_map(name).collect()
}

/// Bytes of each function.
fn sizes(program: &Path) -> anyhow::Result<HashMap<String, u64>> {
    let out = Command::new("nm")
        .args(["-S", "--defined-only"])
        .arg(program)
        .output()
        .context("nm is needed")?;
    let text = String::from_utf8_lossy(&out.stdout);
    let row = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let size = u64::from_str_radix(words.next()?, 16).ok()?;
        let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
        is_code.then_some((words.next()?.to_owned(), size))
    };
    Ok(text.lines().filter_map(row).collect())
}

/// The shortest patterns for the functions of a group that no pattern before them has.
fn patterns(
    group: &BTreeSet<String>,
    sizes: &HashMap<String, u64>,
    placed: &mut BTreeSet<String>,
) -> Vec<String> {
    let mut known: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (name, size) in sizes {
        let general = general(name);
        let wanted = if group.contains(name) { *size } else { 0 };
        for at in cuts(&general) {
            let entry = known.entry(general[..at].to_owned()).or_default();
            entry.0 += size;
            entry.1 += wanted;
        }
    }
    let mut out = Vec::new();
    for name in group.iter().filter(|name| sizes.contains_key(*name)) {
        let general = general(name);
        let fits = |at: &usize| {
            let (all, wanted) = known.get(&general[..*at]).copied().unwrap_or_default();
            all as f64 <= wanted as f64 * (1.0 + WASTE)
        };
        let at = cuts(&general).find(fits).unwrap_or(general.len());
        let pattern = format!("{}*", &general[..at]);
        if placed.insert(pattern.clone()) {
            out.push(pattern);
        }
    }
    out
}

/// Where a name may be cut: not within what stands for any text.
fn cuts(general: &str) -> impl Iterator<Item = usize> {
    let all = (1..=general.len() / STRIDE).map(|n| n * STRIDE);
    all.filter(|at| general.is_char_boundary(*at))
        .chain([general.len()])
}

/// A name of any build: the digests of crates, and the places that refer back over them, are those of one build.
fn general(name: &str) -> String {
    let name = name.split(".llvm.").next().unwrap_or(name);
    if !name.starts_with("_R") {
        return name.to_owned();
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let marked = ["Cs", "B"].into_iter().find(|mark| rest.starts_with(mark));
        let number = marked.and_then(|mark| {
            let after = rest.get(mark.len()..)?;
            let end = after.find(|c: char| !c.is_ascii_alphanumeric())?;
            let is_mark = after.get(end..)?.starts_with('_') && end <= 13;
            is_mark.then_some((mark, after.get(end + 1..)?))
        });
        match number {
            Some((mark, after)) => {
                out.push_str(mark);
                out.push_str("*_");
                rest = after;
            }
            None => {
                out.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_any_build() {
        for (name, expect) in [
            (
                "_RNvNtCsjrHSEGnQ3l9_3std9panicking12catch_unwind",
                "_RNvNtCs*_3std9panicking12catch_unwind",
            ),
            (
                "_RNvMs_NtCs4xdfW_4core6optionINtB4_6OptionhE3mapB1a_.llvm.123",
                "_RNvMs_NtCs*_4core6optionINtB*_6OptionhE3mapB*_",
            ),
            ("sqlite3_step", "sqlite3_step"),
            ("B2_in_c", "B2_in_c"),
        ] {
            assert_eq!(general(name), expect);
        }
    }

    #[test]
    fn callgrind_is_read() {
        let text = "fn=(1) main\n12 3\ncfn=(2) _Rsome'2\ncalls=1 2\nfn=(1)\nfl=(3) file\n";
        let found: Vec<String> = functions(text).into_iter().collect();
        assert_eq!(found, ["_Rsome", "main"]);
    }

    #[test]
    fn patterns_are_short_where_they_bring_in_little_else() {
        let sizes: HashMap<String, u64> = [
            ("aaaaaaaaaaaa_one", 100),
            ("aaaaaaaaaaaa_two", 100),
            ("bbbbbbbbbbbb_hot", 10),
            ("bbbbbbbbbbbb_cold", 100),
        ]
        .map(|(name, size)| (name.to_owned(), size))
        .into();
        let group = [
            "aaaaaaaaaaaa_one",
            "aaaaaaaaaaaa_two",
            "bbbbbbbbbbbb_hot",
            "gone",
        ]
        .map(String::from)
        .into();
        let found = patterns(&group, &sizes, &mut BTreeSet::new());
        assert_eq!(found, ["aaaaaaaaaaaa*", "bbbbbbbbbbbb_hot*"]);
    }
}
