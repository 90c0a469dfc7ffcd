//! `cargo xtask dist`: what is shipped. `stage` builds each target and lays beside it what belongs to it; `pack` makes the
//! packages of what is staged; `order` finds out which functions lie side by side. What cannot be built here is skipped, and
//! said.

mod licences;
mod order;

use crate::ostler::{cargo, target};
use crate::root;
use anyhow::{Context as _, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The first ones are built where none is named.
const TARGETS: [&str; 6] = [
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-pc-windows-gnu",
    "aarch64-pc-windows-gnullvm",
    "aarch64-apple-darwin",
    "x86_64-apple-darwin",
];
const USUAL: usize = 2;
/// A program above this is no release.
const MAX_PROGRAM: u64 = 25 << 20;
const LINKING: &str = "-Clinker=rust-lld -Clinker-flavor=ld.lld -Csymbol-mangling-version=v0 \
                       -Clink-arg=--pack-dyn-relocs=relr";
const SHELLS: [(&str, &str); 5] = [
    ("bash", "ostler.bash"),
    ("zsh", "_ostler"),
    ("fish", "ostler.fish"),
    ("elvish", "ostler.elv"),
    ("powershell", "ostler.ps1"),
];

pub fn run(words: &[&str]) -> anyhow::Result<bool> {
    match words {
        ["stage", rest @ ..] => stage_all(&targets(rest)?),
        ["pack"] => pack(),
        ["order", program] => order::write(Path::new(program)),
        rest => Ok(stage_all(&targets(rest)?)? && pack()?),
    }
}

fn targets(words: &[&str]) -> anyhow::Result<Vec<String>> {
    let mut out = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--all" => out.extend(TARGETS.map(str::to_owned)),
            "--target" => out.push((*words.next().context("--target needs a triple")?).to_owned()),
            other => anyhow::bail!("unknown option {other}: --target TRIPLE, --all"),
        }
    }
    let known = |target: &String| TARGETS.contains(&target.as_str());
    if let Some(other) = out.iter().find(|target| !known(target)) {
        anyhow::bail!("{other} is not shipped; known: {}", TARGETS.join(", "));
    }
    if out.is_empty() {
        out.extend(
            TARGETS
                .iter()
                .take(USUAL)
                .map(|target| (*target).to_owned()),
        );
    }
    Ok(out)
}

fn stage_all(targets: &[String]) -> anyhow::Result<bool> {
    let version = version();
    println!("version {version}");
    let mut done = 0;
    for target in targets {
        match can_build(target) {
            Err(why) => println!("skipped {target}: {why}"),
            Ok(builder) => {
                stage(target, builder, &version)?;
                done += 1;
            }
        }
    }
    ensure!(done > 0, "no target could be built here");
    Ok(true)
}

/// What cargo calls to link for a target.
#[derive(Clone, Copy)]
enum Builder {
    Cargo,
    /// Links with zig, which brings the libraries of every system.
    Zig,
}

fn can_build(target: &str) -> Result<Builder, String> {
    let listed = output(Command::new("rustup").args(["target", "list", "--installed"]));
    if !listed
        .unwrap_or_default()
        .lines()
        .any(|line| line == target)
    {
        return Err(format!(
            "its standard library is missing: rustup target add {target}"
        ));
    }
    if target.ends_with("apple-darwin") && cfg!(target_os = "macos") {
        return Ok(Builder::Cargo);
    }
    let has_zig = output(Command::new("cargo-zigbuild").arg("--version")).is_some();
    match has_zig {
        true => Ok(Builder::Zig),
        false => Err("it is linked with zig: pip install ziglang cargo-zigbuild".into()),
    }
}

fn stage(target: &str, builder: Builder, version: &str) -> anyhow::Result<()> {
    println!("building {target}");
    let verb = match builder {
        Builder::Cargo => "build",
        Builder::Zig => "zigbuild",
    };
    let mut build = cargo(&[verb, "--locked", "--profile", "dist", "--target", target]);
    build.args(["--package", "ostler", "--bin", "ostler"]);
    if !target.contains("windows") {
        build.args(["--package", "ostler-host", "--bin", "ostler-host"]);
    }
    build.env("OSTLER_VERSION", version);
    build.env("SOURCE_DATE_EPOCH", epoch());
    build.env("RUSTFLAGS", rustflags(target));
    build.env("MACOSX_DEPLOYMENT_TARGET", "11.0");
    ensure!(build.status()?.success(), "{target} does not build");
    let built = self::target()?.join(target).join("dist");
    let folder = stage_dir()?.join(target);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(folder.join("share/completions"))?;
    fs::create_dir_all(folder.join("share/man/man1"))?;
    let ending = if target.contains("windows") {
        ".exe"
    } else {
        ""
    };
    for name in ["ostler", "ostler-host"] {
        let file = format!("{name}{ending}");
        let from = built.join(&file);
        if !from.is_file() {
            continue;
        }
        let size = fs::metadata(&from)?.len();
        ensure!(
            size <= MAX_PROGRAM,
            "{file} for {target} has {size} bytes, more than {MAX_PROGRAM}"
        );
        println!("  {size:>10}  {file}");
        fs::copy(&from, folder.join(&file))?;
    }
    for name in ["LICENSE", "README.md"] {
        fs::copy(root().join(name), folder.join(name))?;
    }
    let used = licences::used(target)?;
    fs::write(folder.join("THIRD-PARTY.txt"), licences::text(&used)?)?;
    let sbom = stage_dir()?.join(format!("ostler-{version}-{target}.cdx.json"));
    fs::write(sbom, licences::sbom(&used, version, target)?)?;
    describe_flags(&folder)?;
    smoke(target, &folder.join(format!("ostler{ending}")), version)
}

/// Completions and the manual page, which are the same for every target.
fn describe_flags(folder: &Path) -> anyhow::Result<()> {
    let program = crate::ostler::build(crate::ostler::Profile::Debug)?;
    for (shell, name) in SHELLS {
        let script = crate::ostler::ask(&program, &["completions", shell])?;
        fs::write(folder.join("share/completions").join(name), script)?;
    }
    let page = crate::ostler::ask(&program, &["man"])?;
    Ok(fs::write(folder.join("share/man/man1/ostler.1"), page)?)
}

/// Starts what was built, where this machine can.
fn smoke(target: &str, program: &Path, version: &str) -> anyhow::Result<()> {
    let own = std::env::consts::ARCH;
    let runner = match target {
        t if t.contains("linux") && t.starts_with(own) => None,
        t if t.starts_with("aarch64") && t.contains("linux") => Some("qemu-aarch64-static"),
        "x86_64-pc-windows-gnu" => Some("wine"),
        t if t.contains("darwin") && cfg!(target_os = "macos") => None,
        _ => {
            println!("  not started: there is no way to run {target} here");
            return Ok(());
        }
    };
    let mut command = match runner {
        Some(runner) => {
            if output(Command::new(runner).arg("--version")).is_none() {
                println!("  not started: {runner} is not here");
                return Ok(());
            }
            let mut command = Command::new(runner);
            command.arg(program);
            command
        }
        None => Command::new(program),
    };
    let said = output(command.arg("--version")).context("the program does not start")?;
    ensure!(
        said.contains(version),
        "--version says {said}, not {version}"
    );
    println!("  started: {}", said.trim());
    Ok(())
}

fn pack() -> anyhow::Result<bool> {
    let (stage, out) = (stage_dir()?, out_dir()?);
    fs::create_dir_all(&out)?;
    let status = Command::new("python3")
        .arg(root().join("packaging/pack.py"))
        .args([&stage, &out])
        .args([version(), epoch()])
        .status()
        .context("python3 is needed to pack")?;
    println!("packages: {}", out.display());
    Ok(status.success())
}

fn stage_dir() -> anyhow::Result<PathBuf> {
    Ok(target()?.join("dist-stage"))
}

fn out_dir() -> anyhow::Result<PathBuf> {
    Ok(target()?.join("dist-out"))
}

/// What git calls this commit, without the `v` of tags; that of the sources where there is no tag.
fn version() -> String {
    let said = git(&["describe", "--tags", "--match", "v[0-9]*", "--dirty"]);
    let tag = said
        .as_deref()
        .and_then(|tag| tag.trim().strip_prefix('v').map(str::to_owned));
    tag.unwrap_or_else(|| {
        let own = env!("CARGO_PKG_VERSION");
        match git(&["rev-parse", "--short=8", "HEAD"]) {
            Some(hash) => format!("{own}-0-g{}", hash.trim()),
            None => own.to_owned(),
        }
    })
}

/// When this commit was made: every time in a package is this one.
fn epoch() -> String {
    let said = git(&["log", "-1", "--format=%ct"]);
    said.map_or_else(|| "0".to_owned(), |text| text.trim().to_owned())
}

/// No path of this machine is in a program, so that another one builds the same bytes. What is for Linux is linked by the
/// linker that comes with Rust: it packs relocations, and takes the order of functions.
fn rustflags(target: &str) -> String {
    let mut flags = remapped();
    if target.contains("linux") {
        flags.push(' ');
        flags.push_str(LINKING);
    }
    flags
}

fn remapped() -> String {
    let home = std::env::var("CARGO_HOME").ok().map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let mut flags = vec![format!("--remap-path-prefix={}=ostler", root().display())];
    if let Some(home) = home {
        flags.push(format!("--remap-path-prefix={}=cargo", home.display()));
    }
    flags.join(" ")
}

fn git(args: &[&str]) -> Option<String> {
    output(Command::new("git").args(args).current_dir(root()))
}

/// What a program prints, if it ends well.
fn output(command: &mut Command) -> Option<String> {
    let out = command
        .stderr(Stdio::null())
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    out.status.success().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_named_and_checked() {
        assert_eq!(targets(&[]).unwrap(), TARGETS[..USUAL]);
        assert_eq!(targets(&["--all"]).unwrap(), TARGETS);
        assert_eq!(targets(&["--target", TARGETS[3]]).unwrap(), [TARGETS[3]]);
        for wrong in [
            &["--target"][..],
            &["--target", "sparc-sun-solaris"],
            &["--fast"],
        ] {
            assert!(targets(wrong).is_err(), "{wrong:?}");
        }
    }
}
