//! What a command sees instead of the person's folders: the reader's sandbox, a session's own `/tmp`, private folders.

use crate::common::*;
use crate::world::{SECRET, World};
use ostler_host::Local;
use ostler_host::sandbox::{Choice, EmptyHome, Layer, Network, UnixSockets};
use std::fs;
use std::path::{Path, PathBuf};

/// Readers that must work at the same time.
const AT_ONCE: usize = 16;

/// A world whose commands only read.
async fn reader(layer: Choice) -> World {
    let mut world = World::new(layer).await;
    let home = world.home.clone();
    for (name, text) in [
        (".gitconfig", "shown\n"),
        (".cargo/config.toml", "shown\n"),
        (".cargo/credentials.toml", SECRET),
        (".netrc", SECRET),
        ("other-project/notes", SECRET),
    ] {
        fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
        fs::write(home.join(name), text).unwrap();
    }
    std::os::unix::fs::symlink("../out", home.join("linked")).unwrap();
    let shown = [".gitconfig", ".cargo", "linked", "not-there"];
    let policy = &mut world.policy;
    policy.writable.clear();
    policy.protect.clear();
    policy.closed.clear();
    policy
        .forbid_read
        .push(home.join(".cargo/credentials.toml"));
    policy.network = Network::Off;
    policy.shared = None;
    policy.unix = UnixSockets::None;
    policy.empty_home = Some(EmptyHome {
        shown: shown.iter().map(|name| home.join(name)).collect(),
        others: Vec::new(),
        home,
    });
    policy.private = vec![world.root.parent().unwrap().join("tmp")];
    world.remember();
    world
}

/// As many toolchains and settings as a person may have.
pub async fn reader_of_a_full_home(layer: Choice) -> World {
    const SHOWN: usize = 30;
    let mut world = reader(layer).await;
    for number in 0..SHOWN {
        let folder = world.home.join(format!(".tool{number}"));
        fs::create_dir(&folder).unwrap();
        if let Some(home) = &mut world.policy.empty_home {
            home.shown.push(folder);
        }
    }
    world
}

/// A file that others left where everybody may put something; gone with this.
struct Litter(PathBuf);

impl Litter {
    fn new(folder: &str) -> Self {
        let name = format!("ostler-suite-{}-{SECRET}", std::process::id());
        let path = Path::new(folder).join(name);
        fs::write(&path, SECRET).unwrap();
        Self(path)
    }
}

impl Drop for Litter {
    fn drop(&mut self) {
        let _gone = fs::remove_file(&self.0);
    }
}

/// Other people's homes and data of the machine are empty as well, also where the project lies in one of them.
pub async fn a_reader_sees_no_home_of_others() {
    for layer in [Layer::Namespaces, Layer::Landlock] {
        let Some(choice) = crate::cases::usable(layer) else {
            continue;
        };
        let mut world = reader(choice).await;
        let theirs = world.root.parent().unwrap().join("theirs");
        let project = theirs.join("me/project");
        fs::create_dir_all(&project).unwrap();
        fs::write(theirs.join("key"), SECRET).unwrap();
        fs::write(theirs.join("me/key"), SECRET).unwrap();
        fs::write(project.join("own"), "own\n").unwrap();
        std::os::unix::fs::symlink("../key", project.join("link")).unwrap();
        if let Some(home) = &mut world.policy.empty_home {
            home.others.push(theirs.clone());
            home.shown.push(project.clone());
        }
        let (theirs, project) = (theirs.display(), project.display());
        let script = format!("cat {project}/own {project}/link {theirs}/key {theirs}/me/key");
        let ran = world.run(&script).await;
        assert_eq!(ran.stdout, "own\n", "{layer:?}: {ran:?}");
    }
}

pub async fn a_reader_changes_nothing_and_sees_little() {
    for layer in [Layer::Namespaces, Layer::Landlock] {
        let Some(choice) = crate::cases::usable(layer) else {
            continue;
        };
        let _litter = Litter::new("/dev/shm");
        let world = reader(choice).await;
        let quiet = [
            "for f in $ROOT $HOME $OUT /tmp /var/tmp /dev/shm /run /run/user /etc $HOME/.cargo $HOME/linked; do echo x 2>/dev/null > $f/new-$$ && echo wrote $f; done",
            "cat $HOME/.bashrc $HOME/.netrc $HOME/.ssh/id $HOME/other-project/notes $HOME/.cargo/credentials.toml $HOME/.ostler/auth.json",
            "cat $HOME/.ostler/config.toml $HOME/.ostler/sessions/one",
            "cat /proc/self/root$HOME/.netrc /proc/1/root$HOME/.netrc",
            "cat /dev/shm/*",
            "cat hard",
            "$TRY unix $SOCK; $TRY datagram $OUT/datagrams; $TRY pair $OUT/datagrams; $TRY abstract $SOCK",
            "$TRY tcp $PORT; $TRY udp $UDP; $TRY inner-server; $TRY inner-unix $ROOT/inner",
            "rm -f $HOME/.gitconfig ostler.toml; mv $ROOT $ROOT-moved; mkdir $HOME/new; ln -s x $HOME/l && echo linked",
            "chmod 4755 $OUT/victim && echo changed; touch -d @0 $OUT/victim && echo changed",
        ];
        for script in quiet {
            let ran = world.run(script).await;
            println!("  {layer:?}: {}", ran.stderr.replace('\n', " | "));
            // Times of what belongs to the caller are out of the second layer's reach, as documented.
            let known = layer == Layer::Landlock && ran.stdout == "changed\n";
            assert!(
                ran.stdout.is_empty() || known,
                "{layer:?} {script}: {ran:?}"
            );
        }
        let script = "cat $HOME/.gitconfig $HOME/.cargo/config.toml ostler.toml && cat $HOME/linked/victim && $TRY inner-pair && echo x > /dev/null";
        let ran = world.run(script).await;
        let expect = "shown\nshown\nas it was\nas it was\nWORKS inner-pair\n";
        assert_eq!(ran.stdout, expect, "{layer:?}: {ran:?}");
        if layer == Layer::Namespaces {
            let ran = world.run("cat $HOME/.netrc; ls -A $HOME").await;
            assert!(ran.stderr.contains("No such file"), "{ran:?}");
            assert_eq!(ran.stdout, ".cargo\n.gitconfig\nlinked\n", "{ran:?}");
        }
        let outcome = world.outside();
        assert_eq!(outcome, None, "{layer:?}");
        // Where nothing of the project itself is forbidden, other names of secrets are looked for in what is shown.
        let mut world = reader(choice).await;
        let root = world.root.clone();
        world.policy.forbid_read.retain(|p| !p.starts_with(&root));
        if let Some(home) = &mut world.policy.empty_home {
            home.shown.push(root);
        }
        let ran = world.run("cat hard; cat ostler.toml").await;
        assert_eq!(ran.stdout, "as it was\n", "{layer:?}: {ran:?}");
    }
}

/// What one command leaves in a private folder no other one finds.
pub async fn private_folders_are_for_one_command() {
    let Some(choice) = crate::cases::usable(Layer::Namespaces) else {
        return;
    };
    let mut world = reader(choice).await;
    let home = world.home.clone();
    fs::create_dir(home.join(".cache")).unwrap();
    fs::write(home.join(".cache/old"), SECRET).unwrap();
    let private = [".cache", "go/pkg/new"].map(|name| home.join(name));
    world.policy.private.extend(private);
    world.policy.private.push("/dev/shm".into());
    let script = "for d in $TMPDIR $HOME/.cache $HOME/go/pkg/new /dev/shm; do ls -A $d; echo x > $d/left && mkdir $d/sub && mv $d/left $d/sub/ && cat $d/sub/left; done; cp /bin/sh $TMPDIR/run && $TMPDIR/run -c 'echo ran'";
    for _ in 0..2 {
        let ran = world.run(script).await;
        assert_eq!(ran.stdout, "x\nx\nx\nx\nran\n", "{ran:?}");
    }
    assert!(!home.join("go").exists(), "made outside");
    assert_eq!(fs::read_dir(world.top().join("tmp")).unwrap().count(), 0);
}

pub async fn many_readers_at_once() {
    for layer in [Layer::Namespaces, Layer::Landlock] {
        let Some(choice) = crate::cases::usable(layer) else {
            continue;
        };
        let world = reader(choice).await;
        let local = Local::new();
        let script = "cat $HOME/.gitconfig; echo x > $TMPDIR/mine; ls -A $TMPDIR; cat $HOME/.netrc";
        let mut running = Vec::new();
        for _ in 0..AT_ONCE {
            let command = world.command(script);
            running.push(ostler_host::Host::spawn(&local, command).await.unwrap());
        }
        let expect = match layer {
            Layer::Namespaces => "shown\nmine\n",
            Layer::Landlock | Layer::Bubblewrap => "shown\n",
        };
        for mut process in running {
            let ran = finish(&mut process).await;
            assert_eq!(ran.stdout, expect, "{layer:?}: {ran:?}");
        }
    }
}

/// Commands of a session share their temporary files and see none of anybody else's.
pub async fn a_tmp_of_its_own() {
    let Some(choice) = crate::cases::usable(Layer::Namespaces) else {
        return;
    };
    let litter = [Litter::new("/tmp"), Litter::new("/var/tmp")];
    let mut world = World::new(choice).await;
    let temp = tempfile::tempdir().unwrap();
    world.policy.temp = Some(temp.path().to_owned());
    world.policy.writable.push(temp.path().to_owned());
    let exe = std::env::current_exe().unwrap();
    world.policy.protect.push(exe);
    let steps = [
        (
            "echo x > /tmp/a; echo y > /var/tmp/b; cd /tmp; ls -d [ab]",
            "a\nb\n",
        ),
        ("cat /tmp/b /var/tmp/a; cat /tmp/ostler-suite*", "y\nx\n"),
        // The project lies below the real one.
        (
            "cat ostler.toml; echo x > made; cat $ROOT/made",
            "as it was\nx\n",
        ),
        (
            "echo evil > .git/hooks/x; cat $HOME/.ssh/id; echo evil > $OUT/victim; $TRY nothing",
            "",
        ),
        // A link in the place of the folders that the project is put into.
        (
            "d=/tmp/$(echo $ROOT | cut -d/ -f3); mv $d /tmp/moved; ln -s /etc $d; ls /etc/root 2>/dev/null; readlink $d",
            "/etc\n",
        ),
        ("pwd -P; cat $ROOT/made", "ROOT\nx\n"),
    ];
    for (script, expect) in steps {
        let ran = world.run(script).await;
        let mut expect = expect.replace("ROOT", &world.root.display().to_string());
        if !world.root.starts_with("/tmp") {
            println!("  {script}: {ran:?}; the world is not below /tmp");
            expect.clone_from(&ran.stdout);
        }
        let names = |text: &str| {
            let hidden = world.top().file_name().unwrap().to_string_lossy();
            let lines = text
                .lines()
                .filter(|line| !line.contains(&*hidden) || line.contains('/'));
            lines.map(String::from).collect::<Vec<_>>()
        };
        assert_eq!(names(&ran.stdout), names(&expect), "{script}: {ran:?}");
    }
    assert_eq!(fs::read_to_string(temp.path().join("a")).unwrap(), "x\n");
    assert!(!Path::new("/tmp/a").exists());
    assert_eq!(world.outside(), None);
    // For a command that may not write, the same files to be read.
    world.policy.writable.clear();
    world
        .policy
        .protect
        .retain(|path| path.is_file() && !path.starts_with(&world.root));
    world.policy.empty_home = Some(EmptyHome {
        home: world.home.clone(),
        others: Vec::new(),
        shown: vec![world.root.clone()],
    });
    let ran = world.run("cat /tmp/a; echo x > /tmp/c || echo no").await;
    assert_eq!(ran.stdout, "x\nno\n", "{ran:?}");
    drop(litter);
}

/// What programs outside keep for themselves in `/run` is not there.
pub async fn a_run_of_its_own() {
    let Some(choice) = crate::cases::usable(Layer::Namespaces) else {
        return;
    };
    let world = World::new(choice).await;
    let ran = world
        .run("ls -A /run; ls -A /run/user; echo x > /run/new && echo wrote; cat /etc/resolv.conf > /dev/null && echo names")
        .await;
    let outside = fs::read("/etc/resolv.conf").is_ok();
    for name in ["dbus", "user", "postgresql", "lock", "wrote"] {
        assert!(!ran.stdout.lines().any(|line| line == name), "{ran:?}");
    }
    assert_eq!(ran.stdout.contains("names"), outside, "{ran:?}");
}
