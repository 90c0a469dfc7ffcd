//! Which files a program depends on that commands may change. Whatever runs outside of the sandbox must depend on none: a
//! command would decide what it does. The person's configuration is read, so that plain ways to name a file are known; it is
//! not written to deceive.

use super::{SandboxMode, SandboxSettings};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// Links that are followed on the way to one file.
const MAX_LINKS: usize = 40;
/// Between the words of a command in a shell, of an option with its value and of a list of paths.
const BETWEEN_WORDS: &[char] = &[
    ' ', '\t', '\n', '\'', '"', '`', ';', '|', '&', '(', ')', '<', '>', '=', ':', ',',
];
/// A word that ends so names a script, there or not: it may be there when the program looks.
const SCRIPTS: [&str; 14] = [
    "py", "pyz", "js", "mjs", "cjs", "ts", "mts", "sh", "bash", "rb", "pl", "php", "lua", "jar",
];
/// Programs that run what the folder says in which they start.
const RUNNERS: [&str; 33] = [
    "npx",
    "npm",
    "pnpm",
    "pnpx",
    "yarn",
    "bun",
    "bunx",
    "tsx",
    "ts-node",
    "deno",
    "uv",
    "poetry",
    "pipenv",
    "pdm",
    "hatch",
    "rye",
    "make",
    "gmake",
    "just",
    "task",
    "rake",
    "bundle",
    "cargo",
    "go",
    "gradle",
    "mvn",
    "dotnet",
    "mix",
    "composer",
    "nix",
    "docker",
    "podman",
    "docker-compose",
];
/// The files by which they do, in that folder or above it.
const RECIPES: [&str; 39] = [
    "package.json",
    "node_modules",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnp.cjs",
    "pnpm-workspace.yaml",
    "bunfig.toml",
    "deno.json",
    "deno.jsonc",
    "tsconfig.json",
    "pyproject.toml",
    "uv.toml",
    ".venv",
    "Pipfile",
    "poetry.toml",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
    ".justfile",
    "Taskfile.yml",
    "Rakefile",
    "Gemfile",
    "Cargo.toml",
    ".cargo",
    "go.mod",
    "go.work",
    "build.gradle",
    "build.gradle.kts",
    "pom.xml",
    "Directory.Build.props",
    "mix.exs",
    "composer.json",
    "flake.nix",
    "compose.yaml",
    "compose.yml",
    "docker-compose.yml",
];
/// Variables by which programs load code.
const LOADERS: [&str; 15] = [
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "NODE_OPTIONS",
    "NODE_PATH",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "BASH_ENV",
    "PERL5LIB",
    "PERL5OPT",
    "RUBYLIB",
    "RUBYOPT",
    "GEM_PATH",
    "CLASSPATH",
    "JAVA_TOOL_OPTIONS",
];

/// How a program is started.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    /// A program without a slash is looked up in the `PATH` of `env`.
    pub argv: &'a [OsString],
    pub cwd: &'a Path,
    pub env: &'a [(OsString, OsString)],
}

/// The files and folders that this program depends on and commands may change, sorted. None where commands are not confined
/// at all. Blocks.
pub fn changeable(settings: &SandboxSettings, launch: &Launch<'_>) -> Vec<PathBuf> {
    let roots = Roots::of(settings);
    if roots.0.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (number, argument) in launch.argv.iter().enumerate() {
        for word in words(argument) {
            found.extend(named(&word, launch, number == 0));
        }
    }
    for (name, value) in launch.env {
        if LOADERS.iter().any(|loader| name == loader) {
            let words = words(value).into_iter();
            found.extend(words.filter_map(|word| path_of(&word, launch)));
        }
    }
    found.retain(|path| roots.hold(path));
    found.extend(recipes(&roots, launch));
    found.sort();
    found.dedup();
    found
}

/// The argument as it is, and each word of it.
fn words(argument: &OsStr) -> Vec<OsString> {
    let mut all = vec![argument.to_owned()];
    if let Some(text) = argument.to_str() {
        let pieces = text.split(BETWEEN_WORDS);
        let pieces = pieces.filter(|piece| !piece.is_empty() && *piece != text);
        all.extend(pieces.map(OsString::from));
    }
    all
}

/// What a word stands for: a file by its path, and one by the `PATH`.
fn named(word: &OsStr, launch: &Launch<'_>, is_program: bool) -> Vec<PathBuf> {
    let path = path_of(word, launch).filter(|path| {
        let text = word.to_string_lossy();
        let is_written_out = text.starts_with(['/', '~', '$']) || text.starts_with("./");
        let is_written_out = is_written_out || text.starts_with("../");
        let ending = path.extension().and_then(OsStr::to_str);
        let is_script = ending.is_some_and(|ending| SCRIPTS.contains(&ending));
        is_written_out || is_script || is_program || path.symlink_metadata().is_ok()
    });
    let has_slash = word.to_string_lossy().contains('/');
    // A program without a slash is never one of the working directory.
    let path = path.filter(|_| has_slash || !is_program);
    let on_path = (!has_slash).then(|| search(word, launch)).flatten();
    path.into_iter().chain(on_path).collect()
}

fn variable<'a>(launch: &Launch<'a>, name: &str) -> Option<&'a OsStr> {
    let own = launch.env.iter().rev().find(|(own, _)| own == name);
    own.map(|(_, value)| value.as_os_str())
}

/// A word as a path, with `~` and variables as a shell has them. `None` for a word that is no path, such as an option.
fn path_of(word: &OsStr, launch: &Launch<'_>) -> Option<PathBuf> {
    let Some(text) = word.to_str() else {
        return Some(launch.cwd.join(word));
    };
    if text.is_empty() || text.starts_with('-') {
        return None;
    }
    if let Some(rest) = text.strip_prefix('~') {
        let home = variable(launch, "HOME")?;
        return Some(Path::new(home).join(rest.trim_start_matches('/')));
    }
    if let Some(rest) = text.strip_prefix('$') {
        let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let name = name.trim_start_matches('{').trim_end_matches('}');
        let value = match variable(launch, name) {
            Some(value) => Path::new(value),
            None if name == "PWD" => launch.cwd,
            None => return None,
        };
        return Some(launch.cwd.join(value).join(rest));
    }
    Some(launch.cwd.join(text))
}

/// The program of this name that the `PATH` leads to.
fn search(name: &OsStr, launch: &Launch<'_>) -> Option<PathBuf> {
    let folders = variable(launch, "PATH")?.to_string_lossy();
    let folders = folders.split(':');
    let mut programs = folders.map(|folder| launch.cwd.join(folder).join(name));
    programs.find(|program| program.is_file())
}

/// What a program runs because of the folder in which it starts.
fn recipes(roots: &Roots, launch: &Launch<'_>) -> Vec<PathBuf> {
    if !roots.hold(launch.cwd) {
        return Vec::new();
    }
    let all = launch.argv.iter().flat_map(|argument| words(argument));
    let all: Vec<OsString> = all.collect();
    let stem = |word: &OsString| -> String {
        let name = Path::new(word).file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let is_python = all.iter().any(|word| stem(word).starts_with("python"));
    let loads_folder = |word: &OsString| {
        let option = word.to_string_lossy();
        option == "-c" || option.starts_with("-m")
    };
    if is_python && all.iter().any(loads_folder) {
        return vec![launch.cwd.to_owned()];
    }
    if !all
        .iter()
        .any(|word| RUNNERS.contains(&stem(word).as_str()))
    {
        return Vec::new();
    }
    let folders = launch.cwd.ancestors().filter(|folder| roots.hold(folder));
    let files = folders.flat_map(|folder| RECIPES.map(|name| folder.join(name)));
    files
        .filter(|path| path.symlink_metadata().is_ok())
        .collect()
}

/// Where commands may write.
struct Roots(Vec<PathBuf>);

impl Roots {
    fn of(settings: &SandboxSettings) -> Self {
        if settings.mode == SandboxMode::Off {
            return Self(Vec::new());
        }
        let mut all = settings.policy.writable.clone();
        all.extend(settings.downloads.iter().cloned());
        all.extend(settings.caches.iter().map(|caches| caches.folder.clone()));
        all.extend(settings.temp.iter().map(|temp| temp.scratch.folder()));
        let real = all.iter().filter_map(|path| path.canonicalize().ok());
        let real: Vec<PathBuf> = real.collect();
        all.extend(real);
        Self(all)
    }

    /// Whether a path lies in one of them, itself or anything that a link on the way to it leads through.
    fn hold(&self, path: &Path) -> bool {
        let inside = |path: &Path| self.0.iter().any(|root| path.starts_with(root));
        let mut left: Vec<PathBuf> = path.components().rev().map(part).collect();
        let mut real = PathBuf::new();
        let mut links = 0;
        while let Some(name) = left.pop() {
            match name.components().next() {
                Some(Component::ParentDir) => {
                    real.pop();
                    continue;
                }
                Some(Component::CurDir) | None => continue,
                Some(Component::Prefix(_) | Component::RootDir | Component::Normal(_)) => {
                    real.push(&name);
                }
            }
            if inside(&real) {
                return true;
            }
            let Ok(target) = real.read_link() else {
                continue;
            };
            links += 1;
            if links > MAX_LINKS {
                return true;
            }
            real.pop();
            left.extend(target.components().rev().map(part));
        }
        false
    }
}

fn part(component: Component<'_>) -> PathBuf {
    PathBuf::from(component.as_os_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_depends_on() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let (project, bin) = (top.join("project"), top.join("bin"));
        for folder in [
            "project/tools",
            "project/bin",
            "project/web",
            "bin",
            "other",
        ] {
            std::fs::create_dir_all(top.join(folder)).unwrap();
        }
        for file in [
            "project/tools/srv.py",
            "project/bin/planted",
            "project/web/package.json",
            "bin/sh",
            "bin/python3",
            "bin/npx",
            "bin/planted",
            "other/srv.py",
        ] {
            std::fs::write(top.join(file), "x").unwrap();
        }
        let link = |to: &Path, at: &str| std::os::unix::fs::symlink(to, top.join(at)).unwrap();
        link(&project.join("tools/srv.py"), "other/in");
        link(&top.join("other/srv.py"), "project/tools/out");
        link(&project.join("tools/out"), "other/through");
        link(&project.join("tools"), "other/folder");
        let mut settings = SandboxSettings {
            mode: SandboxMode::Enforce,
            ..SandboxSettings::default()
        };
        settings.policy.writable = vec![project.clone()];
        let at = |name: &str| top.join(name).display().to_string();
        let usual = bin.display().to_string();
        let planted = format!("{}:{usual}", at("project/bin"));
        let home = at("");
        let check = |argv: &[&str], cwd: &str, env: &[(&str, &str)]| {
            let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
            let mut all = vec![("PATH", usual.as_str()), ("HOME", home.as_str())];
            all.retain(|(name, _)| env.iter().all(|(own, _)| own != name));
            all.extend(env);
            let env: Vec<_> = all.iter().map(|(a, b)| (a.into(), b.into())).collect();
            let cwd = top.join(cwd);
            let launch = Launch {
                argv: &argv,
                cwd: &cwd,
                env: &env,
            };
            !changeable(&settings, &launch).is_empty()
        };
        let other = at("other/srv.py");
        for (argv, cwd, env, expect) in [
            (vec!["python3", "tools/srv.py"], "project", vec![], true),
            (vec!["python3", "tools/absent.py"], "project", vec![], true),
            (vec!["python3", "./absent"], "project", vec![], true),
            (vec!["python3", "tools"], "project", vec![], true),
            (
                vec!["python3", "../project/tools/srv.py"],
                "other",
                vec![],
                true,
            ),
            (
                vec!["python3", "~/project/tools/srv.py"],
                "other",
                vec![],
                true,
            ),
            (
                vec!["sh", "-c", "cd tools && exec ./srv.py"],
                "project",
                vec![],
                true,
            ),
            (
                vec!["sh", "-c", "exec $HOME/project/x"],
                "other",
                vec![],
                true,
            ),
            (vec!["sh", "--init=tools/srv.py"], "project", vec![], true),
            (vec![&at("project/tools/srv.py")], "other", vec![], true),
            (vec![&at("other/in")], "other", vec![], true),
            (vec![&at("other/through")], "other", vec![], true),
            (vec![&at("other/folder/srv.py")], "other", vec![], true),
            (vec!["planted"], "other", vec![("PATH", &*planted)], true),
            (vec!["planted"], "project", vec![("PATH", "bin")], true),
            (vec!["python3", "-m", "tools.srv"], "project", vec![], true),
            (vec!["python3", "-m", "tools.srv"], "other", vec![], false),
            (vec!["npx", "-y", "server"], "project/web", vec![], true),
            (
                vec!["npx", "-y", "@some/server"],
                "project/tools",
                vec![],
                false,
            ),
            (vec!["npx", "-y", "server"], "other", vec![], false),
            (vec!["python3", &*other], "project", vec![], false),
            (
                vec!["python3", &*other],
                "project",
                vec![("PYTHONPATH", "tools")],
                true,
            ),
            (
                vec!["planted", "--stdio", "owner/repo"],
                "project",
                vec![],
                false,
            ),
            (
                vec!["sh", "-c", "echo 'https://example.com/x'"],
                "other",
                vec![],
                false,
            ),
        ] {
            assert_eq!(check(&argv, cwd, &env), expect, "{argv:?} {cwd} {env:?}");
        }
    }
}
