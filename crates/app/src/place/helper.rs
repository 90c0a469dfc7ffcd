//! The helper that runs at other places: where ours is found, and the scripts that start it there, copy it and remove it.
//! They are read by `sh`, have no single quote, and run nothing that others could have put there.

use crate::boot::Boot;
use anyhow::bail;
use ostler_wire::Word;
use sha2::{Digest as _, Sha256};
use std::path::PathBuf;

/// Where the helper lies at a place, as people read it.
pub const SHOWN_FOLDER: &str = "~/.cache/ostler";
/// In what a shell says of the helper when it cannot start it.
pub const FILE: &str = "/ostler/host-";
/// What scripts print, before what they have to say.
const WANTS: &str = "OSTLER-WANTS";
const REFUSES: &str = "OSTLER-REFUSES";
pub const COPIED: &str = "OSTLER-COPIED";
pub const CLEANED: &str = "OSTLER-CLEANED";
/// Sets `d` to the folder, and defines `no`, which says why not.
const BEGIN: &str = r#"d="${XDG_CACHE_HOME:-$HOME/.cache}/ostler"; no() { echo "OSTLER-REFUSES $1"; exit 1; }; sum() { { sha256sum "$1" 2>/dev/null || shasum -a 256 "$1" 2>/dev/null || busybox sha256sum "$1"; } | cut -d " " -f 1; }; safe() { [ -z "$(find "$1" -prune \( -perm -0002 -o -perm -0020 \) 2>&1)" ] || no "others may write to $1"; [ -n "$(find "$1" -prune -user "$(id -u)" 2>/dev/null)" ] || no "$1 belongs to somebody else"; }; "#;
pub const CLEAN_SCRIPT: &str = r#"d="${XDG_CACHE_HOME:-$HOME/.cache}/ostler"; rm -f "$d"/host-* && echo OSTLER-CLEANED; rmdir "$d/run" "$d" 2>/dev/null || true"#;

/// Bytes of the name of a system or a processor.
const MAX_NAME: usize = 32;

/// A helper that can be copied.
pub struct Helper {
    os: String,
    arch: String,
    /// Where it lies on this machine.
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    hash: String,
}

/// A processor by the name that helpers have.
pub fn processor(name: &str) -> &str {
    match name {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        other => other,
    }
}

impl Helper {
    /// The one for this system: of our own beside this program, of others in the configured folder or beside it too.
    pub fn of(boot: &Boot, os: &str, arch: &str) -> anyhow::Result<Self> {
        let named = format!("ostler-host-{os}-{arch}");
        let is_ours = os == std::env::consts::OS && arch == std::env::consts::ARCH;
        let program = std::env::current_exe().ok();
        let beside = program.as_ref().and_then(|program| program.parent());
        let folder = boot.loaded.config.helper.folder.as_ref();
        let folder = folder.map(|folder| {
            let home = boot.places.user_home.as_deref();
            ostler_config::paths::absolute(folder, &boot.places.cwd, home)
        });
        let plain = beside
            .filter(|_| is_ours)
            .map(|beside| beside.join("ostler-host"));
        let beside = beside.map(|beside| beside.join(&named));
        let candidates: Vec<PathBuf> = [folder.map(|folder| folder.join(&named)), beside, plain]
            .into_iter()
            .flatten()
            .collect();
        let read = |path: PathBuf| std::fs::read(&path).ok().map(|bytes| (path, bytes));
        let Some((path, bytes)) = candidates.into_iter().find_map(read) else {
            let system = format!("{os} {arch}");
            bail!(boot.language.fill(Word::PlaceNoHelper, &[&system, &named]))
        };
        let hash = Sha256::digest(&bytes);
        Ok(Self {
            os: os.to_owned(),
            arch: arch.to_owned(),
            hash: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
            path,
            bytes,
        })
    }

    pub fn is_for(&self, os: &str, arch: &str) -> bool {
        self.os == os && self.arch == arch
    }

    fn file(&self) -> String {
        let short: String = self.hash.chars().take(16).collect();
        format!("host-{}-{short}", crate::VERSION)
    }

    /// Takes the helper on its input. It is in its place whole or not at all, and only with the right content.
    pub fn copy_script(&self) -> String {
        let (file, hash) = (self.file(), &self.hash);
        format!(
            r#"{BEGIN}umask 077; mkdir -p "$d" || no "no folder $d"; safe "$d"; t="$d/.new-$$"; cat > "$t" || {{ rm -f "$t"; no "there is no room in $d: make some, or set XDG_CACHE_HOME there to a folder of yours that has it"; }}; [ "$(sum "$t")" = {hash} ] || {{ rm -f "$t"; no "it did not arrive whole"; }}; chmod 700 "$t" && mv -f "$t" "$d/{file}" && echo {COPIED}"#
        )
    }
}

/// Starts the helper if it is there and what it should be; else says what system this is.
pub fn start_script(helper: Option<&Helper>) -> String {
    let wants = format!(r#"echo "{WANTS} $(uname -s) $(uname -m)""#);
    let Some(helper) = helper else {
        return wants;
    };
    let (file, hash) = (helper.file(), &helper.hash);
    format!(
        r#"{BEGIN}f="$d/{file}"; if [ -f "$f" ]; then safe "$d"; safe "$f"; if [ "$(sum "$f")" = {hash} ]; then [ -x "$f" ] || no "nothing may run in $d: set XDG_CACHE_HOME there to a folder of yours where programs may run"; exec "$f"; fi; fi; {wants}"#
    )
}

/// What a script at the place said.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    /// There is no helper; what system it is.
    Wants {
        os: String,
        arch: String,
    },
    Refuses(String),
}

impl Said {
    pub fn of(text: &str) -> Option<Self> {
        let after = |mark: &str| {
            text.lines()
                .find_map(|line| Some(line.split_once(mark)?.1.trim()))
        };
        if let Some(why) = after(REFUSES) {
            return Some(Self::Refuses(why.to_owned()));
        }
        let mut words = after(WANTS)?.split_whitespace();
        let os = match words.next()? {
            "Darwin" => "macos".to_owned(),
            other => other.to_ascii_lowercase(),
        };
        let arch = processor(words.next()?);
        // They become a part of the name of a file here.
        let is_name = |word: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            (1..=MAX_NAME).contains(&word.len()) && word.chars().all(is_plain)
        };
        (is_name(&os) && is_name(arch)).then(|| Self::Wants {
            os,
            arch: arch.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn helper() -> Helper {
        Helper {
            os: "linux".into(),
            arch: "x86_64".into(),
            path: PathBuf::new(),
            bytes: b"#!/bin/sh\necho began\n".to_vec(),
            hash: "".into(),
        }
        .hashed()
    }

    impl Helper {
        fn hashed(mut self) -> Self {
            let hash = Sha256::digest(&self.bytes);
            self.hash = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            self
        }
    }

    #[test]
    fn what_scripts_say_is_read() {
        let wants = |os: &str, arch: &str| {
            Some(Said::Wants {
                os: os.into(),
                arch: arch.into(),
            })
        };
        for (text, expect) in [
            (
                "motd\nOSTLER-WANTS Linux x86_64 \n",
                wants("linux", "x86_64"),
            ),
            ("OSTLER-WANTS Darwin arm64", wants("macos", "aarch64")),
            (
                "x OSTLER-REFUSES no room",
                Some(Said::Refuses("no room".into())),
            ),
            ("OSTLER-WANTS", None),
            ("OSTLER-WANTS Linux aarch64/../../../etc/passwd", None),
            ("OSTLER-WANTS ../x x86_64", None),
            ("Permission denied", None),
        ] {
            assert_eq!(Said::of(text), expect, "{text}");
        }
        let scripts = [
            start_script(Some(&helper())),
            helper().copy_script(),
            CLEAN_SCRIPT.into(),
        ];
        assert!(scripts.iter().all(|script| !script.contains('\'')));
    }

    #[cfg(unix)]
    mod with_a_shell {
        use super::*;
        use std::io::Write as _;
        use std::os::unix::fs::PermissionsExt as _;
        use std::path::Path;
        use std::process::{Command, Stdio};

        fn run(home: &Path, script: &str, input: &[u8]) -> String {
            let mut child = Command::new("sh")
                .args(["-c", script])
                .env_clear()
                .env("HOME", home)
                .env("PATH", "/usr/bin:/bin")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdin = child.stdin.take().unwrap();
            let input = input.to_vec();
            let writing = std::thread::spawn(move || drop(stdin.write_all(&input)));
            let output = child.wait_with_output().unwrap();
            writing.join().unwrap();
            String::from_utf8(output.stdout).unwrap()
        }

        #[test]
        fn a_helper_is_copied_started_and_removed() {
            let home = tempfile::tempdir().unwrap();
            let helper = helper();
            let start = start_script(Some(&helper));
            assert!(run(home.path(), &start, b"").starts_with(WANTS));
            let copied = run(home.path(), &helper.copy_script(), &helper.bytes);
            assert_eq!(copied.trim(), COPIED);
            assert_eq!(run(home.path(), &start, b""), "began\n");
            let folder = home.path().join(".cache/ostler");
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&folder), 0o700);
            assert_eq!(mode(&folder.join(helper.file())), 0o700);
            // One that was changed is not run.
            std::fs::write(folder.join(helper.file()), "#!/bin/sh\necho evil\n").unwrap();
            assert!(run(home.path(), &start, b"").starts_with(WANTS));
            assert_eq!(run(home.path(), CLEAN_SCRIPT, b"").trim(), CLEANED);
            assert!(!folder.exists());
        }

        #[test]
        fn nothing_is_run_or_put_where_others_write() {
            let home = tempfile::tempdir().unwrap();
            let helper = helper();
            run(home.path(), &helper.copy_script(), &helper.bytes);
            let folder = home.path().join(".cache/ostler");
            for mode in [0o777, 0o770] {
                std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
                for script in [start_script(Some(&helper)), helper.copy_script()] {
                    let said = run(home.path(), &script, &helper.bytes);
                    assert!(
                        said.starts_with("OSTLER-REFUSES others may write"),
                        "{said}"
                    );
                }
            }
        }

        #[test]
        fn what_arrives_in_part_is_refused() {
            let home = tempfile::tempdir().unwrap();
            let helper = helper();
            let half = helper.bytes.get(..5).unwrap();
            let said = run(home.path(), &helper.copy_script(), half);
            assert_eq!(said.trim(), "OSTLER-REFUSES it did not arrive whole");
            let folder = home.path().join(".cache/ostler");
            assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
        }
    }
}
