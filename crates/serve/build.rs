//! Packs the files of the web client into the program: compressed, with the digest of each.

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut table = String::from("pub static FILES: &[Packed] = &[\n");
    let own = manifest.join("assets");
    let built = manifest.join("../../web/dist");
    for folder in [&own, &built] {
        println!("cargo:rerun-if-changed={}", folder.display());
        for path in files(folder)? {
            let name = path.strip_prefix(folder).unwrap_or(&path);
            pack(
                &path,
                &name.to_string_lossy().replace('\\', "/"),
                &out,
                &mut table,
            )?;
        }
    }
    table.push_str("];\n");
    fs::write(out.join("packed.rs"), table)
}

fn pack(path: &Path, name: &str, out: &Path, table: &mut String) -> io::Result<()> {
    let bytes = fs::read(path)?;
    let hash: String =
        Sha256::digest(&bytes)
            .iter()
            .take(12)
            .fold(String::new(), |mut hex, byte| {
                _ = write!(hex, "{byte:02x}");
                hex
            });
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(&bytes)?;
    let packed = packer.finish()?;
    let file = out.join(format!("{hash}.gz"));
    fs::write(&file, packed)?;
    _ = writeln!(
        table,
        "    Packed {{ path: {name:?}, hash: {hash:?}, gzip: include_bytes!({:?}) }},",
        file.display().to_string(),
    );
    Ok(())
}

/// All files below a folder, in order. One that is not there has none; maps are for who builds the client.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(found);
    };
    for entry in entries {
        let path = entry?.path();
        match path.is_dir() {
            true => found.append(&mut files(&path)?),
            false if path.extension().is_some_and(|e| e == "map") => {}
            false => found.push(path),
        }
    }
    found.sort();
    Ok(found)
}
