//! Packs the pages of the documentation for `ostler help`, each compressed.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::Write as _;
use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
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
