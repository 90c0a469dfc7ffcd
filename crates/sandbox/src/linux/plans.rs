//! The plans of a session: one that was made holds as long as nobody changed what it was made from. Whether that is so is
//! asked before each command, by a look at the folders that all its paths lie in.

use super::{Ground, bubblewrap, mount_table};
use crate::{Choice, Error, Plan, Policy};
use ostler_files::sight::{self, Kept};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Kinds of commands of a session whose plans are kept.
const MAX_KEPT: usize = 4;
/// How many commands get the same Landlock rules. Each of them adds rules for the file systems that are mounted for it
/// alone, which nobody else can reach; still there are not to be many.
const MAX_USES: usize = 32;

#[derive(Debug, Default)]
pub struct Plans {
    /// The last used one last.
    made: Mutex<Vec<Made>>,
}

#[derive(Debug)]
struct Made {
    /// Without the links.
    policy: Policy,
    ground: Ground,
    seen: Kept,
    mounted: Vec<u8>,
    uses: usize,
}

impl Plans {
    /// The plan for one command. Blocks.
    pub fn prepare(&self, policy: &Policy) -> Result<Plan, Error> {
        match policy.layer {
            Choice::Off => return Ok(Plan::off()),
            Choice::Bubblewrap => return bubblewrap::prepare(policy),
            Choice::Auto | Choice::Namespaces | Choice::Landlock => {}
        }
        let key = Policy {
            links: Vec::new(),
            ..policy.clone()
        };
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let at = made.iter().position(|one| one.policy == key);
        let mounted = mount_table::read();
        if let Some(mut one) = at.map(|at| made.remove(at))
            && one.holds(&mounted)
        {
            let plan = one.ground.plan(&policy.links);
            made.push(one);
            return Ok(plan);
        }
        let began = SystemTime::now();
        let (ground, sight) = sight::recorded(|| Ground::find(&key));
        let ground = ground?;
        let plan = ground.plan(&policy.links);
        // What was mounted meanwhile may have been seen in part.
        let folders = key.writable.iter().chain(&key.fixed).chain(&key.temp);
        let writable: Vec<PathBuf> = folders.cloned().collect();
        if let Some(seen) = sight.keep(began, &writable)
            && mount_table::read() == mounted
        {
            if made.len() == MAX_KEPT {
                made.remove(0);
            }
            made.push(Made {
                policy: key,
                ground,
                seen,
                mounted,
                uses: 1,
            });
        }
        Ok(plan)
    }
}

impl Made {
    fn holds(&mut self, mounted: &[u8]) -> bool {
        self.uses += 1;
        self.uses <= MAX_USES && self.mounted == mounted && self.seen.holds()
    }
}
