//! A throw-away container: made for this process from an image, with the project of this machine in it, without a network
//! unless the configuration opens it, and removed when the helper in it ends, which it does with us.

use super::helper::{self, Helper};
use super::reach::{self, PATIENCE};
use crate::boot::Boot;
use crate::errors::UsageError;
use anyhow::{anyhow, bail};
use ostler_host::remote::{Remote, Unreached};
use ostler_wire::{Word, printable};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What makes containers, the first that is there.
const TOOLS: [&str; 2] = ["docker", "podman"];
/// Where the helper is in the container.
const HELPER: &str = "/.ostler-host";
/// How long the helper may take to begin. The container ends with its link, so nothing is kept longer.
const GRACE: Duration = Duration::from_secs(5);
/// Says whose a container is, on which machine, and which process it belongs to.
const MACHINE: &str = "ostler.machine";
const OWNER: &str = "ostler.owner";
/// The home of an account that the image does not know.
const HOME: &str = "/tmp";
/// Of a repository, what decides what git runs.
const GIT: [&str; 2] = [".git/hooks", ".git/config"];

/// Makes the container, and the link to the helper in it.
pub async fn begin(boot: &Boot, image: &str) -> anyhow::Result<Remote> {
    let language = boot.language;
    let label = format!("image {image}");
    let unreached = |why: &str| anyhow!(language.fill(Word::PlaceUnreached, &[&label, why]));
    let found = TOOLS.iter().find_map(|tool| reach::program(boot, tool));
    let none = || UsageError(language.fill(Word::PlaceNoProgram, &[TOOLS[0]]));
    let tool = found.ok_or_else(none)?;
    remove_left(boot, &tool).await;
    let (os, arch) = system_of(boot, &tool, image).await?;
    let helper = Helper::of(boot, &os, &arch)?;
    let argv = run_argv(boot, &tool, image, &helper.path)?;
    let made = reach::link(boot, &label, reach::command(boot, argv), (PATIENCE, GRACE)).await;
    made.map_err(|error| match error {
        Unreached::NoHelper(said) if said.contains(HELPER) => {
            unreached(&language.fill(Word::PlaceImageCannotRun, &[&printable(said.trim())]))
        }
        Unreached::NoHelper(said) | Unreached::Broken(said) => unreached(&printable(said.trim())),
        Unreached::OtherVersion { ours, theirs } => {
            unreached(&language.fill(Word::PlaceOtherVersion, &[&theirs, &ours]))
        }
        Unreached::Silent { seconds } => {
            unreached(&language.fill(Word::PlaceSilent, &[&seconds.to_string()]))
        }
    })
}

/// Which system the image is for. It is not fetched: that is the person's to do.
async fn system_of(boot: &Boot, tool: &OsString, image: &str) -> anyhow::Result<(String, String)> {
    let words = [
        "image",
        "inspect",
        "--format",
        "OSTLER {{.Os}} {{.Architecture}}",
        "--",
        image,
    ];
    let said = ask(boot, tool, &words).await?;
    let found = said
        .lines()
        .find_map(|line| line.trim().strip_prefix("OSTLER "));
    if let Some((os, arch)) = found.and_then(|line| line.split_once(' ')) {
        return Ok((os.to_owned(), helper::processor(arch).to_owned()));
    }
    let name = Path::new(tool)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let why = printable(said.trim());
    bail!(
        boot.language
            .fill(Word::PlaceNoImage, &[image, &why, &name, image])
    )
}

async fn ask(boot: &Boot, tool: &OsString, words: &[&str]) -> anyhow::Result<String> {
    let argv = std::iter::once(tool.clone()).chain(words.iter().map(OsString::from));
    reach::run_program(boot, reach::command(boot, argv.collect()), None, PATIENCE).await
}

/// The command line that makes the container. Its first process is the helper, which ends when nobody holds its input.
fn run_argv(
    boot: &Boot,
    tool: &OsString,
    image: &str,
    helper: &Path,
) -> anyhow::Result<Vec<OsString>> {
    let root = &boot.places.root;
    let mut folders = vec![root.clone()];
    folders.extend(
        crate::grants::granted(boot)
            .into_iter()
            .filter(|folder| folder.is_dir()),
    );
    folders.sort();
    folders.dedup();
    let fixed = protected(root);
    let helper = ostler_host::real_path(helper);
    let all = folders.iter().chain(&fixed).chain([&helper]);
    for path in all {
        let text = path.to_string_lossy();
        if text.contains([',', '"', '\n']) {
            let text = boot.language.fill(Word::PlaceOddPath, &[&text]);
            return Err(UsageError(text).into());
        }
    }
    let mut argv = vec![tool.clone()];
    let mut add = |words: &[&str]| argv.extend(words.iter().map(OsString::from));
    add(&["run", "--rm", "--interactive"]);
    add(&["--security-opt", "no-new-privileges"]);
    add(&["--label", &format!("{MACHINE}={}", machine())]);
    add(&[
        "--label",
        &format!("{OWNER}={}", owner(std::process::id()).unwrap_or_default()),
    ]);
    if !boot.loaded.config.sandbox.network {
        add(&["--network", "none"]);
    }
    if let Some(user) = owner_of(root) {
        // What commands make there belongs to the person here.
        add(&["--user", &user, "--env", &format!("HOME={HOME}")]);
    }
    let mount = |path: &Path, target: &Path, more: &str| {
        format!(
            "type=bind,source={},target={}{more}",
            path.display(),
            target.display()
        )
    };
    for folder in &folders {
        add(&["--mount", &mount(folder, folder, "")]);
    }
    for path in &fixed {
        add(&["--mount", &mount(path, path, ",readonly")]);
    }
    add(&["--mount", &mount(&helper, Path::new(HELPER), ",readonly")]);
    add(&["--workdir", &root.display().to_string()]);
    add(&["--entrypoint", HELPER, "--", image]);
    Ok(argv)
}

/// What is there of the names that commands do not change.
fn protected(root: &Path) -> Vec<PathBuf> {
    let names = ostler_guard::protected_names().filter(|name| !name.contains('*'));
    let names = names.filter(|name| *name != ".git").chain(GIT);
    let paths = names.map(|name| root.join(name));
    // A link would be mounted as what it leads to.
    let is_plain = |path: &PathBuf| {
        std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() || meta.is_file())
            && ostler_host::real_path(path) == *path
    };
    paths.filter(is_plain).collect()
}

/// The account that the project belongs to, unless that is root.
fn owner_of(root: &Path) -> Option<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let meta = std::fs::metadata(root).ok()?;
        (meta.uid() != 0).then(|| format!("{}:{}", meta.uid(), meta.gid()))
    }
    #[cfg(not(unix))]
    {
        let _ = root;
        None
    }
}

/// Removes containers whose process is gone and that outlived it all the same.
async fn remove_left(boot: &Boot, tool: &OsString) {
    let filter = format!("label={MACHINE}={}", machine());
    let format = format!("OSTLER {{{{.ID}}}} {{{{.Label \"{OWNER}\"}}}}");
    let words = ["ps", "--all", "--filter", &filter, "--format", &format];
    // What cannot be listed is met again when the container is made.
    let Ok(said) = ask(boot, tool, &words).await else {
        return;
    };
    let lines = said
        .lines()
        .filter_map(|line| line.trim().strip_prefix("OSTLER "));
    let left = lines.filter_map(|line| line.split_once(' '));
    let left = left.filter(|(_, owner)| !is_alive(owner)).map(|(id, _)| id);
    let left: Vec<&str> = left.collect();
    if !left.is_empty() {
        let words: Vec<&str> = ["rm", "--force"].into_iter().chain(left).collect();
        // One that cannot be removed is tried again by the next start.
        let _left = ask(boot, tool, &words).await;
    }
}

/// Tells machines and their numbers of processes apart; without that nothing is cleaned up.
fn machine() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let space: String = space
        .to_string_lossy()
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    format!("{}-{space}", boot.trim())
}

/// A process, so that no later one is taken for it: its number, and when it began.
fn owner(process: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(')')?;
    let began = after.split_whitespace().nth(19)?;
    Some(format!("{process}-{began}"))
}

fn is_alive(shown: &str) -> bool {
    let number = shown
        .split('-')
        .next()
        .and_then(|number| number.parse().ok());
    match number {
        Some(number) => owner(number).as_deref() == Some(shown),
        // It says nothing, so nothing is known.
        None => true,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_from_a_later_one_of_its_number() {
        let own = owner(std::process::id()).unwrap();
        assert!(is_alive(&own), "{own}");
        assert!(!is_alive(&format!("{}-1", std::process::id())));
        assert!(!is_alive("4194999-77"));
        assert!(is_alive(""));
        assert!(machine().len() > 10);
    }

    #[test]
    fn protected_names_are_those_that_are_there_and_no_links() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::fs::write(root.join("ostler.toml"), "").unwrap();
        std::fs::write(root.join("other"), "").unwrap();
        std::os::unix::fs::symlink("other", root.join(".mcp.json")).unwrap();
        let expect = [root.join("ostler.toml"), root.join(".git/hooks")];
        assert_eq!(protected(&root), expect);
    }
}
