//! Folders of the policy that a command, or somebody else, puts a link in the place of.

use crate::cases::usable;
use crate::common::run_to_end;
use crate::world::{SECRET, World};
use ostler_host::sandbox::{Error, Layer, Plan};
use ostler_host::{Host, Local};
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

const WRITE: &str = "echo x > a1/out/new; echo x > $OUT/out/new; cat a1/out/key $OUT/out/key";

/// A writable folder in another one, and the session's folder for temporary files there.
pub async fn folders_that_are_replaced_by_links() {
    for layer in [Layer::Namespaces, Layer::Landlock] {
        let Some(choice) = usable(layer) else {
            continue;
        };
        for as_temp in [false, true] {
            let mut world = World::new(choice).await;
            let inner = world.root.join("a1/out");
            fs::create_dir_all(&inner).unwrap();
            fs::create_dir(world.out.join("out")).unwrap();
            fs::write(world.out.join("out/key"), SECRET).unwrap();
            world.policy.forbid_read.push(world.out.join("out/key"));
            match as_temp {
                false => world.policy.writable.push(inner.clone()),
                true => world.policy.temp = Some(inner.clone()),
            }
            // With mounts, no command can rename the folder above.
            let ran = world.run("mv a1 a2; ls -d a1").await;
            assert_eq!(ran.stdout == "a1\n", layer == Layer::Namespaces, "{ran:?}");
            if layer == Layer::Landlock {
                fs::rename(world.root.join("a2"), world.root.join("a1")).unwrap();
            }
            let ran = world.run("echo x > a1/out/fine && cat a1/out/fine").await;
            assert_eq!(ran.stdout, "x\n", "{layer:?} {as_temp}: {ran:?}");
            // Between the plan and the command.
            let plan = Arc::new(world.plan());
            fs::rename(world.root.join("a1"), world.root.join("a2")).unwrap();
            symlink(&world.out, world.root.join("a1")).unwrap();
            let command = world.command_under(WRITE, plan);
            match Local::new().spawn(command).await {
                Ok(mut process) => {
                    let ran = crate::common::finish(&mut process).await;
                    println!("  {layer:?} {as_temp}: {}", ran.stderr.replace('\n', " "));
                    assert!(!ran.stdout.contains(SECRET), "{layer:?} {as_temp}: {ran:?}");
                }
                Err(error) => println!("  {layer:?} {as_temp}: {error}"),
            }
            assert!(!world.out.join("out/new").exists(), "{layer:?} {as_temp}");
            // Before the plan.
            let replaced = |plan| matches!(plan, Err(Error::Replaced { .. }));
            let wants_temp = as_temp && layer == Layer::Landlock;
            if !wants_temp {
                assert!(
                    replaced(Plan::prepare(&world.policy)),
                    "{layer:?} {as_temp}"
                );
            }
            // A command that only sees them.
            world.policy.fixed = std::mem::take(&mut world.policy.writable);
            world.policy.fixed.push(inner);
            world.policy.temp = None;
            assert!(
                replaced(Plan::prepare(&world.policy)),
                "{layer:?} {as_temp}"
            );
        }
        // One that was not there at first.
        let mut world = World::new(choice).await;
        let later = world.root.join("later");
        world.policy.writable.push(later.clone());
        let ran = world.run("ln -s $OUT later && echo made").await;
        assert_eq!(ran.stdout, "made\n", "{ran:?}");
        let plan = Plan::prepare(&world.policy);
        assert!(matches!(plan, Err(Error::Replaced { .. })), "{plan:?}");
        fs::remove_file(&later).unwrap();
        fs::create_dir(&later).unwrap();
        let ran = run_to_end(
            &Local::new(),
            world.command("echo x > later/x && echo made"),
        )
        .await;
        assert_eq!(ran.stdout, "made\n", "{ran:?}");
    }
}

/// The next command must not find what was hidden from this one.
pub async fn hidden_files_whose_folder_is_renamed() {
    let Some(choice) = usable(Layer::Namespaces) else {
        return;
    };
    let mut world = World::new(choice).await;
    fs::create_dir_all(world.root.join("s1/s2/s4")).unwrap();
    fs::write(world.root.join("s1/s2/k"), SECRET).unwrap();
    fs::write(world.root.join("s1/s2/s4/k"), SECRET).unwrap();
    for name in ["s1/s2/k", "s1/s2/s4"] {
        world.policy.forbid_read.push(world.root.join(name));
    }
    let rename = "mv s1 s3; mv s1/s2 s5; mv s1/s2/s4 s6; mv s1/s2/k k; ls -d s1/s2; echo x > s1/s2/beside && cat s1/s2/beside";
    let ran = world.run(rename).await;
    assert_eq!(ran.stdout, "s1/s2\nx\n", "{ran:?}");
    let ran = world.run("grep -r . s1 s3 s5 s6 k").await;
    assert!(!ran.stdout.contains(SECRET), "{ran:?}");
}
