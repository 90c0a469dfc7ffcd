#!/usr/bin/env python3
"""Makes the packages of a release from staged folders: archives, npm, wheels, .deb, the Homebrew formula and the hashes.

    pack.py STAGE OUT VERSION EPOCH

STAGE has a folder for each target, named by its triple, with `ostler`, `ostler-host` and `share/`. Only the standard library
is used, and every time, owner and order is fixed, so that the same input gives the same bytes.
"""

import base64
import gzip
import hashlib
import io
import json
import re
import sys
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ABOUT = "A coding agent for the terminal"

# By triple: npm's system and processor, tags of wheels, Debian's architecture, the name in the formula.
TARGETS = {
    "x86_64-unknown-linux-musl": ("linux", "x64", "manylinux_2_17_x86_64.musllinux_1_1_x86_64", "amd64", "LINUX_X64"),
    "aarch64-unknown-linux-musl": ("linux", "arm64", "manylinux_2_17_aarch64.musllinux_1_1_aarch64", "arm64", "LINUX_ARM64"),
    "x86_64-apple-darwin": ("darwin", "x64", "macosx_11_0_x86_64", None, "MAC_X64"),
    "aarch64-apple-darwin": ("darwin", "arm64", "macosx_11_0_arm64", None, "MAC_ARM64"),
    "x86_64-pc-windows-gnu": ("win32", "x64", "win_amd64", None, None),
    "aarch64-pc-windows-gnullvm": ("win32", "arm64", "win_arm64", None, None),
}


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def is_program(path):
    return path.name.split(".")[0] in ("ostler", "ostler-host") and path.suffix in ("", ".exe")


def tar_gz(entries, epoch):
    """Entries are (name, bytes, mode); a folder has no bytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data, mode in sorted(entries, key=lambda entry: entry[0]):
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(data or b""), mode, epoch
            info.uname = info.gname = "root"
            if data is None:
                info.type = tarfile.DIRTYPE
            tar.addfile(info, io.BytesIO(data or b""))
    return gzip.compress(raw.getvalue(), 9, mtime=0)


def zipped(entries, epoch):
    import time

    when = max(time.gmtime(epoch)[:6], (1980, 1, 1, 0, 0, 0))
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for name, data, mode in entries:
            info = zipfile.ZipInfo(name, when)
            info.external_attr = (0o100000 | mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            out.writestr(info, data)
    return raw.getvalue()


def mode_of(path):
    return 0o755 if is_program(path) else 0o644


def archive(stage, triple, version, epoch):
    folder = stage / triple
    top = f"ostler-{version}-{triple}"
    entries = [(f"{top}/{p.relative_to(folder).as_posix()}", p.read_bytes(), mode_of(p)) for p in files_of(folder)]
    if "windows" in triple:
        return f"{top}.zip", zipped(sorted(entries), epoch)
    return f"{top}.tar.gz", tar_gz(entries, epoch)


def npm_platform(stage, triple, version, epoch):
    system, processor = TARGETS[triple][:2]
    name = f"@ostler/{system}-{processor}"
    about = {
        "name": name,
        "version": version,
        "description": f"{ABOUT}: the program for {system} {processor}",
        "license": "MIT",
        "os": [system],
        "cpu": [processor],
        "preferUnplugged": True,
    }
    folder = stage / triple
    entries = [("package/package.json", as_json(about), 0o644)]
    for path in files_of(folder):
        if is_program(path):
            entries.append((f"package/bin/{path.name}", path.read_bytes(), 0o755))
        elif path.parent.name != "man1" and path.name in ("LICENSE", "THIRD-PARTY.txt"):
            entries.append((f"package/{path.name}", path.read_bytes(), 0o644))
    return f"npm/ostler-{system}-{processor}-{version}.tgz", tar_gz(entries, epoch)


def npm_main(triples, version, epoch):
    about = json.loads((HERE / "npm/package.json").read_text())
    about["version"] = version
    about["optionalDependencies"] = {
        "@ostler/{}-{}".format(*TARGETS[triple][:2]): version for triple in sorted(triples)
    }
    entries = [
        ("package/package.json", as_json(about), 0o644),
        ("package/ostler.js", (HERE / "npm/ostler.js").read_bytes(), 0o755),
        ("package/README.md", (HERE / "../README.md").read_bytes(), 0o644),
        ("package/LICENSE", (HERE / "../LICENSE").read_bytes(), 0o644),
    ]
    return f"npm/ostler-{version}.tgz", tar_gz(entries, epoch)


def as_json(value):
    return (json.dumps(value, indent=2) + "\n").encode()


def python_version(version):
    """A version as Python writes them: what git adds behind a tag is a local part."""
    base, _, rest = version.partition("-")
    return base + ("+" + rest.replace("-", ".") if rest else "")


def wheel(stage, triple, version, epoch):
    version = python_version(version)
    tags = TARGETS[triple][2]
    name = f"ostler-{version}"
    entries = []
    for path in files_of(stage / triple):
        if is_program(path):
            entries.append((f"{name}.data/scripts/{path.name}", path.read_bytes(), 0o755))
        elif path.name in ("LICENSE", "THIRD-PARTY.txt"):
            entries.append((f"{name}.dist-info/licenses/{path.name}", path.read_bytes(), 0o644))
        elif path.name == "ostler.1":
            entries.append((f"{name}.data/data/share/man/man1/ostler.1", path.read_bytes(), 0o644))
    readme = (HERE / "../README.md").read_text()
    metadata = (
        f"Metadata-Version: 2.4\nName: ostler\nVersion: {version}\nSummary: {ABOUT}\n"
        f"License-Expression: MIT\nLicense-File: LICENSE\nDescription-Content-Type: text/markdown\n\n{readme}"
    )
    about = "Wheel-Version: 1.0\nGenerator: ostler\nRoot-Is-Purelib: false\n"
    about += "".join(f"Tag: py3-none-{tag}\n" for tag in tags.split("."))
    entries.append((f"{name}.dist-info/METADATA", metadata.encode(), 0o644))
    entries.append((f"{name}.dist-info/WHEEL", about.encode(), 0o644))
    entries.sort()
    record = "".join(f"{entry},sha256={digest(data)},{len(data)}\n" for entry, data, _ in entries)
    record += f"{name}.dist-info/RECORD,,\n"
    entries.append((f"{name}.dist-info/RECORD", record.encode(), 0o644))
    return f"{name}-py3-none-{tags}.whl", zipped(entries, epoch)


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def debian(stage, triple, version, epoch):
    architecture = TARGETS[triple][3]
    places = {"bash": "usr/share/bash-completion/completions/ostler", "zsh": "usr/share/zsh/vendor-completions/_ostler",
              "fish": "usr/share/fish/vendor_completions.d/ostler.fish"}
    entries, size = [], 0
    for path in files_of(stage / triple):
        data = path.read_bytes()
        if is_program(path):
            name = f"usr/bin/{path.name}"
        elif path.name == "ostler.1":
            name, data = "usr/share/man/man1/ostler.1.gz", gzip.compress(data, 9, mtime=0)
        elif path.parent.name == "completions":
            kind = {"ostler.bash": "bash", "_ostler": "zsh", "ostler.fish": "fish"}.get(path.name)
            if kind is None:
                continue
            name = places[kind]
        elif path.name == "LICENSE":
            name = "usr/share/doc/ostler/copyright"
        elif path.name == "THIRD-PARTY.txt":
            name = "usr/share/doc/ostler/THIRD-PARTY.txt"
        else:
            continue
        size += len(data)
        entries.append((f"./{name}", data, mode_of(path)))
    control = (
        f"Package: ostler\nVersion: {version.replace('-', '+', 1)}\nArchitecture: {architecture}\nMaintainer: Ostler <ostler@example.invalid>\n"
        f"Installed-Size: {size // 1024}\nSection: devel\nPriority: optional\nRecommends: ca-certificates, git\n"
        f"Description: {ABOUT}\n It reads and edits code, runs commands in a sandbox, and takes work back.\n"
    )
    sums = "".join(f"{hashlib.md5(data).hexdigest()}  {name[2:]}\n" for name, data, _ in sorted(entries))
    inner = [("./control", control.encode(), 0o644), ("./md5sums", sums.encode(), 0o644)]
    members = [("debian-binary", b"2.0\n"), ("control.tar.gz", tar_gz(inner, epoch)),
               ("data.tar.gz", tar_gz(with_folders(entries), epoch))]
    out = b"!<arch>\n"
    for name, data in members:
        out += f"{name:<16}{epoch:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
        out += data + (b"\n" if len(data) % 2 else b"")
    return f"ostler_{version}_{architecture}.deb", out


def with_folders(entries):
    """The same with every folder above them: dpkg makes none by itself."""
    folders = {parent for name, _, _ in entries for parent in Path(name).parents if str(parent) != "."}
    return entries + [(f"./{folder.as_posix()}/", None, 0o755) for folder in folders]


def formula(out, version, hashes):
    text = (HERE / "homebrew/ostler.rb").read_text().replace("@VERSION@", version)
    for triple, (_, _, _, _, name) in TARGETS.items():
        found = hashes.get(f"ostler-{version}-{triple}.tar.gz")
        if name and found:
            text = text.replace(f"@{name}@", found)
    # A system that was not built has no block.
    text = re.sub(r"    on_(arm|intel) do\n.*\n.*\"@\w+@\"\n    end\n", "", text)
    return re.sub(r"  on_(macos|linux) do\n  end\n\n?", "", text)


def main():
    stage, out, version, epoch = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    triples = sorted(folder.name for folder in stage.iterdir() if folder.name in TARGETS)
    made = []
    for triple in triples:
        made.append(archive(stage, triple, version, epoch))
        made.append(npm_platform(stage, triple, version, epoch))
        made.append(wheel(stage, triple, version, epoch))
        if TARGETS[triple][3]:
            made.append(debian(stage, triple, version, epoch))
    made.append(npm_main(triples, version, epoch))
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in made}
    made.append(("ostler.rb", formula(out, version, hashes).encode()))
    made.append(("install.sh", (HERE / "install.sh").read_bytes().replace(b"@VERSION@", version.encode())))
    for sbom in sorted(stage.glob("*.cdx.json")):
        made.append((sbom.name, sbom.read_bytes()))
    lines = []
    for name, data in sorted(made):
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        lines.append(f"{hashlib.sha256(data).hexdigest()}  {name}\n")
        print(f"{len(data):>12}  {name}")
    (out / "SHA256SUMS").write_text("".join(lines))


if __name__ == "__main__":
    main()
