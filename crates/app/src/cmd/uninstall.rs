//! `ostler uninstall`: what the install script put here, and with `--purge` the home of the person. What a package manager
//! installed, that one removes.

use super::choose::{self, Person};
use crate::boot::Boot;
use crate::errors::UsageError;
use crate::exit::{FAILED, OK};
use crate::flags::Uninstall;
use crate::output;
use anyhow::Context as _;
use ostler_config::text::Speak as _;
use ostler_wire::Word;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Beside the program, relative to its folder: the list of files that the install script made.
const LIST: &str = "../share/ostler/installed.txt";
/// Bytes of that list.
const MAX_LIST: u64 = 64 << 10;
/// Entries of the home that are counted.
const MAX_COUNTED: usize = 200_000;

/// Parts of the program's path by which a package manager is known, and how it takes a program away.
// tidy: table
const MANAGERS: &[(&[&str], &str)] = &[
    (&["node_modules"], "npm uninstall -g ostler"),
    (&["Cellar"], "brew uninstall ostler"),
    (&["site-packages"], "pip uninstall ostler"),
    (&["pipx"], "pipx uninstall ostler"),
    (&["uv", "tools"], "uv tool uninstall ostler"),
    (&[".cargo", "bin"], "cargo uninstall ostler"),
    (&["nix", "store"], "nix profile remove ostler"),
];
/// Where the system's package manager puts programs, and its record of ours.
const SYSTEM: &str = "/usr/bin";
const RECORD: &str = "/var/lib/dpkg/info/ostler.list";

pub fn run(boot: &Boot, args: &Uninstall) -> anyhow::Result<u8> {
    let language = boot.language;
    let program = std::env::current_exe().context(language.say(Word::UninstallNoProgram))?;
    let program = ostler_host::real_path(&program);
    let manager = manager(&program, Path::new(RECORD).is_file());
    let mut files = match &manager {
        Some(_) => Vec::new(),
        None => installed(&program),
    };
    let home = &boot.places.home;
    if args.purge && home.is_dir() {
        files.push(home.clone());
    }
    if let Some(command) = manager {
        output::say(&language.filled(Word::UninstallManager, &[&program.display(), &command]));
    }
    for file in &files {
        output::print_foreign(&format!("{}\n", describe(file)))?;
    }
    if !args.purge && home.is_dir() {
        output::say(&language.filled(Word::UninstallHomeStays, &[&describe(home)]));
    }
    if args.dry_run || files.is_empty() {
        return Ok(OK);
    }
    if !args.yes {
        if Person::look() == Person::Away {
            return Err(UsageError(language.say(Word::UninstallAway).into()).into());
        }
        let answer = choose::ask_fresh(language.say(Word::UninstallAsk), language)?;
        let is_yes = answer.is_some_and(|a| matches!(a.to_ascii_lowercase().as_str(), "y" | "yes"));
        if !is_yes {
            output::say(language.say(Word::NothingWritten));
            return Ok(FAILED);
        }
    }
    remove(&files, boot)
}

fn remove(files: &[PathBuf], boot: &Boot) -> anyhow::Result<u8> {
    let mut code = OK;
    for file in files {
        let is_folder = fs::symlink_metadata(file).is_ok_and(|meta| meta.is_dir());
        let removed = match is_folder {
            true => fs::remove_dir_all(file),
            false => fs::remove_file(file),
        };
        if let Err(error) = removed {
            let values: [&dyn ostler_config::text::Fill; 2] = [&file.display(), &error];
            output::say(&boot.language.filled(Word::UninstallLeft, &values));
            code = FAILED;
        }
    }
    Ok(code)
}

/// The command that takes the program away, if a package manager put it there.
fn manager(program: &Path, has_record: bool) -> Option<&'static str> {
    let parts: Vec<&str> = program
        .components()
        .filter_map(|part| match part {
            Component::Normal(part) => part.to_str(),
            Component::Prefix(_)
            | Component::RootDir
            | Component::CurDir
            | Component::ParentDir => None,
        })
        .collect();
    let has = |wanted: &[&str]| parts.windows(wanted.len()).any(|run| run == wanted);
    let known = MANAGERS.iter().find(|(wanted, _)| has(wanted));
    match known {
        Some((_, command)) => Some(command),
        None if has_record && program.starts_with(SYSTEM) => Some("apt remove ostler"),
        None => None,
    }
}

/// The program, its helper, and what its list names below the same prefix.
fn installed(program: &Path) -> Vec<PathBuf> {
    let mut files = vec![program.to_owned()];
    let Some(folder) = program.parent() else {
        return files;
    };
    let list = folder.join(LIST);
    let read = ostler_host::read_bounded(&list, MAX_LIST, &ostler_host::Border::none());
    if let (Ok(read), Some(prefix)) = (read, folder.parent()) {
        let text = String::from_utf8_lossy(&read.bytes).into_owned();
        // Lines are relative to the prefix, and none leads out of it.
        let inner = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let inner = inner.map(Path::new).filter(|path| {
            path.components()
                .all(|part| matches!(part, Component::Normal(_)))
        });
        files.extend(inner.map(|path| prefix.join(path)));
        files.push(ostler_host::real_path(&list));
    }
    files.retain(|file| fs::symlink_metadata(file).is_ok());
    files.sort();
    files.dedup();
    files
}

/// A path with its size.
fn describe(path: &Path) -> String {
    let mut left = MAX_COUNTED;
    format!(
        "{}  {}",
        path.display(),
        output::size(weight(path, &mut left))
    )
}

fn weight(path: &Path, left: &mut usize) -> u64 {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return 0;
    };
    if !meta.is_dir() {
        return meta.len();
    }
    let mut sum = 0;
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let Some(less) = left.checked_sub(1) else {
            break;
        };
        *left = less;
        sum += weight(&entry.path(), left);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_managers_are_known_by_the_path() {
        for (path, record, expect) in [
            ("/home/ann/.local/bin/ostler", true, None),
            (
                "/home/ann/.cargo/bin/ostler",
                false,
                Some("cargo uninstall ostler"),
            ),
            (
                "/opt/homebrew/Cellar/ostler/1/bin/ostler",
                false,
                Some("brew uninstall ostler"),
            ),
            (
                "/usr/lib/node_modules/ostler/bin/ostler",
                false,
                Some("npm uninstall -g ostler"),
            ),
            ("/usr/bin/ostler", true, Some("apt remove ostler")),
            ("/usr/bin/ostler", false, None),
        ] {
            assert_eq!(manager(Path::new(path), record), expect, "{path}");
        }
    }

    #[test]
    fn only_files_below_the_prefix_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let prefix = dir.path().join("prefix");
        for file in ["bin/ostler", "bin/ostler-host", "share/man/man1/ostler.1"] {
            let path = prefix.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        fs::write(dir.path().join("other"), "x").unwrap();
        let list = prefix.join("share/ostler/installed.txt");
        fs::create_dir_all(list.parent().unwrap()).unwrap();
        fs::write(
            &list,
            "bin/ostler\nbin/ostler-host\nshare/man/man1/ostler.1\n../other\n/etc/hosts\ngone\n",
        )
        .unwrap();
        let found = installed(&prefix.join("bin/ostler"));
        let inner: Vec<String> = found
            .iter()
            .map(|p| p.strip_prefix(&prefix).unwrap().display().to_string())
            .collect();
        assert_eq!(
            inner,
            [
                "bin/ostler",
                "bin/ostler-host",
                "share/man/man1/ostler.1",
                "share/ostler/installed.txt"
            ]
        );
    }
}
