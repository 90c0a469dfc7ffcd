//! Packs the pages of the documentation for `ostler help`, each compressed; and has the linker put the functions side by side
//! that sessions call, where it is built to be shipped.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    order(&manifest);
    let docs = manifest.join("../../docs");
    println!("cargo::rerun-if-changed={}", docs.display());
    for entry in fs::read_dir(docs)? {
        let page = entry?.path();
        let Some(name) = page
            .file_name()
            .filter(|_| page.extension().is_some_and(|e| e == "md"))
        else {
            continue;
        };
        let mut packer = DeflateEncoder::new(Vec::new(), Compression::best());
        packer.write_all(&fs::read(&page)?)?;
        fs::write(out.join(name), packer.finish()?)?;
    }
    Ok(())
}

/// `packaging/order.ld`, where the linker takes it and names are of the form that it knows: what `cargo xtask dist` builds for
/// Linux.
fn order(manifest: &Path) {
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    let packaging = manifest.join("../../packaging");
    println!("cargo::rerun-if-changed={}", packaging.display());
    let script = packaging.join("order.ld");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_ours = ["linker=rust-lld", "symbol-mangling-version=v0"]
        .iter()
        .all(|flag| flags.contains(flag));
    if is_ours && script.is_file() {
        println!("cargo::rustc-link-arg-bins=-T{}", script.display());
    }
}
