//! Programs of the person that run outside of the sandbox: where they start and with which variables. They start in a
//! folder that commands cannot change, and no variable leads them to one that commands can, so that whatever a program
//! looks for beside itself is not what a command left there. What names such a place runs confined instead.

use super::environment::{self, Variables};
use super::{SandboxMode, SandboxSettings};
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

/// Links that are followed on the way to one file.
const MAX_LINKS: usize = 40;
/// Scripts whose interpreter is a script, as far as kernels follow them.
const MAX_INTERPRETERS: usize = 5;
/// Of the first line of a script.
const MAX_LINE: u64 = 512;
/// Between the words of a command in a shell, of an option with its value and of a list of paths.
const BETWEEN_WORDS: &[char] = &[
    ' ', '\t', '\n', '\'', '"', '`', ';', '|', '&', '(', ')', '<', '>', '=', ':', ',',
];
/// A word that ends so is a script, there or not. It decides comfort alone: a program whose relative path is not known for
/// one starts outside and does not find it.
const SCRIPTS: [&str; 14] = [
    "py", "pyz", "js", "mjs", "cjs", "ts", "mts", "sh", "bash", "rb", "pl", "php", "lua", "jar",
];
/// How variables end that hold lists of folders.
const LISTS: [&str; 4] = ["PATH", "LIB", "LIBS", "_DIRS"];
/// A socket that may lie in a folder for temporary files. Nothing is loaded from it.
const AGENT: &str = "SSH_AUTH_SOCK";
/// Says where the project is to a program that does not start there.
pub const PROJECT_VARIABLE: &str = "OSTLER_PROJECT_DIR";

/// How a program is configured.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    /// A program without a slash is looked up in the `PATH`.
    pub argv: &'a [OsString],
    /// Absolute; `None` where nobody said.
    pub cwd: Option<&'a Path>,
    /// Its own variables.
    pub env: &'a [(OsString, OsString)],
    /// Those of all commands. Its own win.
    pub inherited: &'a [(OsString, OsString)],
    /// The project.
    pub root: &'a Path,
    /// The person's home.
    pub home: Option<&'a Path>,
}

/// Where a program starts, and its whole environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    pub cwd: PathBuf,
    pub env: Variables,
}

/// The start of a program that depends on nothing which commands may change. `None` for one that wants to start in such a
/// place, or names one. Blocks.
pub fn start_outside(changeable: &Changeable, launch: &Launch<'_>) -> Option<Start> {
    let cwd = independent_folder(changeable, launch)?;
    let mut env: Variables = Vec::new();
    for (name, value) in launch.inherited {
        let is_own = launch.env.iter().any(|(own, _)| own == name);
        if is_own || name == "PWD" || name == "OLDPWD" {
            continue;
        }
        let freed = match name == AGENT {
            true => Some(value.clone()),
            false => changeable.free(name, value),
        };
        env.extend(freed.map(|value| (name.clone(), value)));
    }
    for (name, value) in launch.env {
        let freed = changeable.free(name, value);
        env.extend(freed.map(|value| (name.clone(), value)));
    }
    environment::set(&mut env, "PWD", &cwd);
    Some(Start { cwd, env })
}

/// The start of every other program: where it wants to, else in the project, with all variables.
pub fn start_plainly(launch: &Launch<'_>) -> Start {
    let mut env = launch.inherited.to_vec();
    env.retain(|(name, _)| !launch.env.iter().any(|(own, _)| own == name));
    env.extend(launch.env.iter().cloned());
    Start {
        cwd: launch.cwd.unwrap_or(launch.root).to_owned(),
        env,
    }
}

/// The folder in which a program starts outside; `None` for a program that depends on what commands may change. Blocks.
pub fn independent_folder(changeable: &Changeable, launch: &Launch<'_>) -> Option<PathBuf> {
    let cwd = match (launch.cwd, launch.home) {
        (Some(cwd), _) => cwd.to_owned(),
        (None, _) if launch.names_relative_path() => return None,
        (None, Some(home)) => home.to_owned(),
        (None, None) => PathBuf::from("/"),
    };
    let home = launch.variable("HOME").map(Path::new);
    let places = [Some(cwd.as_path()), home, launch.home];
    let is_held = |place: &Option<&Path>| place.is_some_and(|path| changeable.hold(path));
    let names = |text: &OsString| launch.names(changeable, text, &cwd);
    let depends = places.iter().any(is_held)
        || launch.argv.iter().any(names)
        || launch.env.iter().any(|(_, value)| names(value))
        || launch.program_depends(changeable, &cwd);
    (!depends).then_some(cwd)
}

/// The files that a program names and commands may change, sorted. Blocks.
pub fn named_files(changeable: &Changeable, launch: &Launch<'_>) -> Vec<PathBuf> {
    let cwd = launch.cwd.unwrap_or(launch.root);
    let values = launch.env.iter().map(|(_, value)| value);
    let mut found = Vec::new();
    for text in launch.argv.iter().chain(values) {
        let words = words(text).into_iter();
        let paths = words.filter_map(|word| launch.path_of(&word, cwd));
        found.extend(paths.filter(|path| path.symlink_metadata().is_ok() || is_script(path)));
    }
    if let Some(program) = launch.argv.first().filter(|program| !has_slash(program)) {
        found.extend(search(program, launch.variable("PATH"), cwd));
    }
    found.retain(|path| changeable.hold(path));
    found.sort();
    found.dedup();
    found
}

impl<'a> Launch<'a> {
    fn variable(&self, name: &str) -> Option<&'a OsStr> {
        let known = |env: &'a [(OsString, OsString)]| env.iter().rev().find(|(own, _)| own == name);
        let found = known(self.env).or_else(|| known(self.inherited));
        found.map(|(_, value)| value.as_os_str())
    }

    /// Whether it is given a path that is meant to be one of the project.
    fn names_relative_path(&self) -> bool {
        let program = self.argv.first().is_some_and(|program| {
            has_slash(program) && Path::new(program).is_relative() && !starts_at_home(program)
        });
        let arguments = self.argv.iter().skip(1);
        let is_relative = |text: &OsString| {
            words(text)
                .iter()
                .any(|word| is_relative_path(word, self.root))
        };
        let is_list_of_relatives = |(name, value): &(OsString, OsString)| {
            is_list(name) && relative_parts(&value.to_string_lossy()).next().is_some()
        };
        program
            || arguments.clone().any(is_relative)
            || self.env.iter().any(|(_, value)| is_relative(value))
            || self.env.iter().any(is_list_of_relatives)
    }

    /// Whether a text names a place that commands may change, as seen from the folder in which the program starts.
    fn names(&self, changeable: &Changeable, text: &OsStr, cwd: &Path) -> bool {
        let Some(plain) = text.to_str() else {
            return changeable.hold(&cwd.join(text)) || changeable.are_in(&text.to_string_lossy());
        };
        let is_command = plain.contains(char::is_whitespace);
        let is_path = |word: &OsString| {
            let word = word.to_string_lossy();
            is_command || word.contains('/') || word.starts_with(['.', '~', '$'])
        };
        let words = words(text).into_iter().filter(is_path);
        let mut paths = words.filter_map(|word| self.path_of(&word, cwd));
        changeable.are_in(plain) || paths.any(|path| changeable.hold(&path))
    }

    /// A word as a path, with `~` and variables as a shell has them. `None` for a word that is no path, such as an option.
    fn path_of(&self, word: &OsStr, cwd: &Path) -> Option<PathBuf> {
        let Some(text) = word.to_str() else {
            return Some(cwd.join(word));
        };
        if text.is_empty() || text.starts_with('-') {
            return None;
        }
        if let Some(rest) = text.strip_prefix('~') {
            let home = self.variable("HOME")?;
            return Some(Path::new(home).join(rest.trim_start_matches('/')));
        }
        if let Some(rest) = text.strip_prefix('$') {
            let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
            let name = name.trim_start_matches('{').trim_end_matches('}');
            let value = match self.variable(name) {
                _ if name == "PWD" => cwd,
                Some(value) => Path::new(value),
                None if name == PROJECT_VARIABLE => self.root,
                None => return None,
            };
            return Some(cwd.join(value).join(rest));
        }
        Some(cwd.join(text))
    }

    /// Whether the program itself, or what its first line has run it, is found where commands may change it. One that is
    /// there twice is the one that they cannot change.
    fn program_depends(&self, changeable: &Changeable, cwd: &Path) -> bool {
        let Some(program) = self.argv.first() else {
            return false;
        };
        let path = self.variable("PATH");
        let found = match has_slash(program) {
            true => Some(cwd.join(program)),
            false => {
                let free = path.and_then(|path| changeable.free("PATH".as_ref(), path));
                search(program, free.as_deref(), cwd).or_else(|| search(program, path, self.root))
            }
        };
        let mut script = found;
        for _ in 0..MAX_INTERPRETERS {
            let Some(program) = script else {
                return false;
            };
            if changeable.hold(&program) {
                return true;
            }
            let Some(line) = first_line(&program) else {
                return false;
            };
            if changeable.are_in(&line) {
                return true;
            }
            script = line.split_whitespace().next().map(PathBuf::from);
        }
        false
    }
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

fn has_slash(word: &OsStr) -> bool {
    word.to_string_lossy().contains('/')
}

fn starts_at_home(word: &OsStr) -> bool {
    word.to_string_lossy().starts_with('~')
}

fn is_script(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| SCRIPTS.contains(&ending))
}

/// Whether a word is a path of the project: written as one, a script, or a longer path that is there.
fn is_relative_path(word: &OsStr, root: &Path) -> bool {
    let text = word.to_string_lossy();
    if text.is_empty() || text.starts_with(['/', '~', '$', '-']) || text.contains("://") {
        return false;
    }
    let is_written_out = text == "." || text == ".." || text.starts_with("./");
    let is_there = || text.contains('/') && root.join(word).symlink_metadata().is_ok();
    is_written_out || text.starts_with("../") || is_script(Path::new(word)) || is_there()
}

/// Whether a variable of this name is a list of folders.
fn is_list(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    LISTS.iter().any(|ending| name.ends_with(ending))
}

/// Of a list of folders, those that another folder decides about, without the empty ones.
fn relative_parts(list: &str) -> impl Iterator<Item = &str> {
    let is_relative = |part: &&str| !part.is_empty() && !part.starts_with(['/', '~', '$']);
    list.split(':').filter(is_relative)
}

/// The program of this name that a `PATH` leads to.
fn search(name: &OsStr, path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
    let folders = path?.to_string_lossy();
    let mut programs = folders.split(':').map(|folder| cwd.join(folder).join(name));
    programs.find(|program| program.is_file())
}

/// What a script says of its interpreter.
fn first_line(script: &Path) -> Option<String> {
    let file = std::fs::File::open(script).ok()?;
    let mut begin = Vec::new();
    file.take(MAX_LINE).read_to_end(&mut begin).ok()?;
    let rest = begin.strip_prefix(b"#!")?;
    let line = rest.split(|byte| *byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).trim().to_owned())
}

/// The places that commands and file tools may change.
#[derive(Clone, Debug, Default)]
pub struct Changeable(Vec<PathBuf>);

impl Changeable {
    /// Where commands may write by these settings, and `more` beside it.
    pub fn of(settings: &SandboxSettings, more: &[PathBuf]) -> Self {
        let mut all = more.to_vec();
        if settings.mode != SandboxMode::Off {
            all.extend(settings.policy.writable.iter().cloned());
            all.extend(settings.downloads.iter().cloned());
            all.extend(settings.caches.iter().map(|caches| caches.folder.clone()));
            all.extend(settings.temp.iter().map(|temp| temp.scratch.folder()));
        }
        let real = all.iter().filter_map(|path| path.canonicalize().ok());
        let real: Vec<PathBuf> = real.collect();
        all.extend(real);
        all.sort();
        all.dedup();
        Self(all)
    }

    pub fn places(&self) -> &[PathBuf] {
        &self.0
    }

    /// Whether a path lies in one of them, itself or anything that a link on the way to it leads through.
    pub fn hold(&self, path: &Path) -> bool {
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

    /// Whether a text has an absolute path in one of them, wherever it begins: `-I/home/me/shop/lib`.
    fn are_in(&self, text: &str) -> bool {
        let has_one = |(at, _)| {
            let rest = text.get(at..).unwrap_or_default();
            let word = rest.split(BETWEEN_WORDS).next().unwrap_or_default();
            let is_named = |root: &PathBuf| {
                let after = root.to_str().and_then(|root| rest.strip_prefix(root));
                let ends = |c: char| c == '/' || BETWEEN_WORDS.contains(&c);
                after.is_some_and(|after| after.is_empty() || after.starts_with(ends))
            };
            self.0.iter().any(is_named) || self.hold(Path::new(word)) || self.hold(Path::new(rest))
        };
        text.match_indices('/').any(has_one)
    }

    /// A variable without what leads into one of them; of lists of folders, also without what is relative to the folder
    /// in which a program, or whatever it starts, happens to be. `None` if nothing is left.
    fn free(&self, name: &OsStr, value: &OsStr) -> Option<OsString> {
        let text = value.to_string_lossy();
        if !is_list(name) && !text.contains(':') || text.contains("://") {
            return (!self.are_in(&text)).then(|| value.to_owned());
        }
        let stays = |part: &&str| {
            let is_fixed = part.starts_with('/') || !is_list(name);
            is_fixed && !self.are_in(part)
        };
        let left: Vec<&str> = text.split(':').filter(stays).collect();
        match left.len() == text.split(':').count() {
            true => Some(value.to_owned()),
            false if left.is_empty() => None,
            false => Some(left.join(":").into()),
        }
    }
}

fn part(component: Component<'_>) -> PathBuf {
    PathBuf::from(component.as_os_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A home with a project in it, programs beside both, and links from the ones to the other.
    struct World {
        _dir: tempfile::TempDir,
        top: PathBuf,
        changeable: Changeable,
    }

    impl World {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap();
            for folder in ["me/shop/tools", "me/shop/bin", "me/My Shop", "bin", "other"] {
                std::fs::create_dir_all(top.join(folder)).unwrap();
            }
            let shebang = format!("#!{}/me/shop/bin/python\n", top.display());
            for (file, text) in [
                ("me/shop/tools/srv.py", "x"),
                ("me/shop/bin/planted", "x"),
                ("me/shop/bin/own", "x"),
                ("bin/sh", "x"),
                ("bin/python3", "x"),
                ("bin/npx", "x"),
                ("bin/planted", "x"),
                ("bin/env", "#!/usr/bin/env node\n"),
                ("bin/venv", shebang.as_str()),
                ("other/srv.py", "x"),
            ] {
                std::fs::write(top.join(file), text).unwrap();
            }
            let link = |to: &str, at: &str| {
                std::os::unix::fs::symlink(top.join(to), top.join(at)).unwrap();
            };
            link("me/shop/tools/srv.py", "other/in");
            link("other/srv.py", "me/shop/tools/out");
            link("me/shop/tools/out", "other/through");
            link("me/shop/tools", "other/folder");
            link("me/shop/bin/own", "bin/linked");
            let places = [top.join("me/shop"), top.join("me/My Shop")];
            let changeable = Changeable::of(&SandboxSettings::default(), &places);
            Self {
                _dir: dir,
                top,
                changeable,
            }
        }

        /// `%` stands for the top.
        fn fill(&self, text: &str) -> OsString {
            text.replace('%', &self.top.display().to_string()).into()
        }

        /// A program as a line of words, its folder, and variables: its own, and inherited ones after `PATH` and `HOME`.
        fn start(
            &self,
            argv: &[&str],
            cwd: &str,
            own: &[(&str, &str)],
            more: &[(&str, &str)],
        ) -> Option<Start> {
            let pairs = |all: &[(&str, &str)]| -> Variables {
                all.iter()
                    .map(|(name, value)| (name.into(), self.fill(value)))
                    .collect()
            };
            let argv: Vec<OsString> = argv.iter().map(|word| self.fill(word)).collect();
            let mut usual = vec![("PATH", "%/bin"), ("HOME", "%/me")];
            usual.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
            usual.extend(more);
            let cwd = (!cwd.is_empty()).then(|| PathBuf::from(self.fill(cwd)));
            let (root, home) = (self.top.join("me/shop"), self.top.join("me"));
            let launch = Launch {
                argv: &argv,
                cwd: cwd.as_deref(),
                env: &pairs(own),
                inherited: &pairs(&usual),
                root: &root,
                home: Some(&home),
            };
            start_outside(&self.changeable, &launch)
        }
    }

    #[test]
    fn whoever_names_a_place_of_commands_runs_confined() {
        let world = World::new();
        for (line, cwd) in [
            // Paths of the project.
            ("python3|tools/srv.py", ""),
            ("python3|srv.py", ""),
            ("python3|./absent", ""),
            ("python3|.", ""),
            ("python3|-I|--x=./lib", ""),
            ("./srv", ""),
            ("tools/srv", ""),
            ("sh|-c|cd tools && exec ./srv.py", ""),
            // The place in which it wants to start.
            ("python3|-um|srvmod", "%/me/shop"),
            ("python3|%/other/srv.py", "%/me/shop/tools"),
            ("python3|%/other/srv.py", "%/other/folder"),
            // Absolute paths, however they are written.
            ("python3|%/me/shop/tools/srv.py", ""),
            ("python3|%/me/shop", ""),
            ("perl|-I%/me/shop/lib|x", ""),
            ("java|@%/me/shop/args", ""),
            ("node|--require=%/me/shop/x", ""),
            ("node|-e|require('%/me/shop/x')", ""),
            ("node|file://%/me/shop/x.js", ""),
            ("sh|-c|exec %/me/My Shop/x --flag", ""),
            ("sh|-c|exec ~/shop/x", ""),
            ("sh|-c|exec $HOME/shop/x", ""),
            ("sh|-c|exec ${HOME}/shop/x", ""),
            ("sh|-c|cd shop && exec srv", ""),
            ("sh|-c|exec $OSTLER_PROJECT_DIR/x", ""),
            ("python3|../me/shop/tools/srv.py", "%/other"),
            ("python3|shop/x", "%/me"),
            // Links.
            ("python3|%/other/in", ""),
            ("%/other/through", ""),
            ("%/other/folder/srv.py", ""),
            ("linked", ""),
            // What the first line of a script has run.
            ("venv", ""),
            ("%/bin/venv", ""),
        ] {
            let argv: Vec<&str> = line.split('|').collect();
            assert_eq!(world.start(&argv, cwd, &[], &[]), None, "{line} {cwd}");
        }
        for (own, more) in [
            (("PYTHONPATH", "%/me/shop/src"), ("A", "b")),
            (("PYTHONPATH", "src"), ("A", "b")),
            (("PATH", "%/me/shop/bin:%/bin"), ("A", "b")),
            (("NODE_OPTIONS", "--require=%/me/shop/x"), ("A", "b")),
            (("CONFIG", "./settings"), ("A", "b")),
            (("A", "b"), ("HOME", "%/me/shop")),
        ] {
            let start = world.start(&["python3", "%/other/srv.py"], "", &[own], &[more]);
            assert_eq!(start, None, "{own:?} {more:?}");
        }
        // One that is nowhere but in the project.
        let path = [("PATH", "%/me/shop/bin:%/bin")];
        assert_eq!(world.start(&["own"], "", &[], &path), None);
    }

    #[test]
    fn the_others_start_elsewhere() {
        let world = World::new();
        for (line, cwd) in [
            ("python3|%/other/srv.py", ""),
            ("python3|-um|srvmod", ""),
            ("node|-r|mod|%/other/x", ""),
            ("npx|-y|@some/server", ""),
            ("npx|-y|owner/repo", ""),
            ("Rscript|-e|server()", ""),
            ("pixi|run|server", ""),
            ("env|--name|shop", ""),
            ("sh|-c|echo 'https://example.com/x'", ""),
            ("python3|srv.py", "%/other"),
            // The one that commands cannot change is taken.
            ("planted", ""),
        ] {
            let argv: Vec<&str> = line.split('|').collect();
            let path = [("PATH", "%/me/shop/bin:%/bin")];
            let start = world.start(&argv, cwd, &[], &path).expect(line);
            let expect = match cwd {
                "" => world.top.join("me"),
                cwd => PathBuf::from(world.fill(cwd)),
            };
            assert_eq!(start.cwd, expect, "{line}");
        }
    }

    #[test]
    fn no_variable_leads_back() {
        let world = World::new();
        let own = [("PYTHONPATH", "%/other:"), ("TOKEN", "a:b")];
        let more = [
            ("PATH", "%/me/shop/bin:bin::.:%/bin:node_modules/.bin"),
            ("NODE_PATH", "%/me/shop/node_modules"),
            ("PERL5LIB", ":%/other"),
            ("RUBYLIB", "lib"),
            ("LD_PRELOAD", "%/me/shop/x.so"),
            ("BASH_ENV", "%/other/in"),
            ("GOFLAGS", "-modfile=%/me/shop/go.mod"),
            ("PERL5OPT", "-I%/me/shop/lib"),
            ("VIRTUAL_ENV", "%/me/shop/.venv"),
            ("PWD", "%/me/shop"),
            ("OLDPWD", "%/me/shop"),
            ("SSH_AUTH_SOCK", "%/me/shop/agent"),
            ("LS_COLORS", "rs=0:di=01;34:"),
            ("PROXY", "http://host:80/"),
            ("SHOP", "shop"),
        ];
        let start = world.start(&["python3", "%/other/srv.py"], "", &own, &more);
        let mut env = start.expect("a start").env;
        env.sort();
        let expect = [
            ("HOME", "%/me"),
            ("LS_COLORS", "rs=0:di=01;34:"),
            ("PATH", "%/bin"),
            ("PERL5LIB", "%/other"),
            ("PROXY", "http://host:80/"),
            ("PWD", "%/me"),
            ("PYTHONPATH", "%/other"),
            ("SHOP", "shop"),
            ("SSH_AUTH_SOCK", "%/me/shop/agent"),
            ("TOKEN", "a:b"),
        ];
        let expect = expect.map(|(name, value)| (OsString::from(name), world.fill(value)));
        assert_eq!(env, expect);
    }
}
