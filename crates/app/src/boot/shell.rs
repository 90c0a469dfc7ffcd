//! Which shell commands are handed to, and where programs are. Runs nothing.

use super::Boot;
use ostler_config::paths::Platform;
use ostler_config::schema::ShellPreference;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Looked for in this order where `sh` may be missing.
const ON_WINDOWS: [&str; 3] = ["sh", "pwsh", "powershell"];

impl Boot {
    /// What the text of a command is put behind.
    pub fn shell(&self) -> Vec<OsString> {
        let shell = &self.loaded.config.tools.shell;
        let program = match (&shell.path, shell.prefer) {
            (Some(path), _) => path.as_str(),
            (None, ShellPreference::Auto) => match Platform::CURRENT {
                Platform::Windows => {
                    let mut known = ON_WINDOWS.into_iter();
                    let found = known.find(|name| self.program(name).is_some());
                    found.unwrap_or("powershell")
                }
                Platform::Unix => "sh",
            },
            (None, ShellPreference::Sh) => "sh",
            (None, ShellPreference::Bash) => "bash",
            (None, ShellPreference::Powershell) => "powershell",
            (None, ShellPreference::Pwsh) => "pwsh",
        };
        argv(program)
    }

    /// A program by its path, or looked up as the system would.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        if name.contains(std::path::is_separator) {
            return Some(PathBuf::from(name)).filter(|path| path.is_file());
        }
        let mut variables = self.env.iter();
        // `Path` on Windows.
        let (_, path) = variables.find(|(name, _)| name.eq_ignore_ascii_case("PATH"))?;
        std::env::split_paths(path).find_map(|folder| {
            let plain = folder.join(name);
            let with_suffix = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
            [plain, with_suffix].into_iter().find(|path| path.is_file())
        })
    }
}

fn argv(program: &str) -> Vec<OsString> {
    let arguments: &[&str] = match Path::new(program).file_stem().and_then(OsStr::to_str) {
        Some("powershell" | "pwsh") => &["-NoProfile", "-NonInteractive", "-Command"],
        Some(_) | None => &["-c"],
    };
    let all = std::iter::once(program).chain(arguments.iter().copied());
    all.map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_gets_its_own_words() {
        for (program, expect) in [
            ("sh", "sh -c"),
            ("/opt/bash", "/opt/bash -c"),
            ("/my powershell tools/sh", "/my powershell tools/sh -c"),
            ("pwsh", "pwsh -NoProfile -NonInteractive -Command"),
            (
                "/x/powershell.exe",
                "/x/powershell.exe -NoProfile -NonInteractive -Command",
            ),
        ] {
            assert_eq!(argv(program).join(OsStr::new(" ")), expect);
        }
    }
}
