//! The start of commands that must work although the configuration does not: they look at it, mend it, or do without it.

use crate::boot::{Boot, Surroundings, surroundings};
use crate::errors::Told as _;
use crate::flags::Global;
use anyhow::anyhow;
use ostler_config::keys::Dotenv;
use ostler_config::layers::{self, Inputs, Loaded};
use ostler_config::paths::{Env, Places};
use ostler_config::providers;
use ostler_config::text::Speak as _;
use ostler_config::trust::Approval;
use ostler_engine::budget::{Budget, Limits};
use ostler_engine::ledger::Ledger;
use ostler_wire::Word;
use std::path::Path;
use std::sync::Arc;

#[derive(Clone)]
pub struct Lenient {
    pub boot: Arc<Boot>,
    /// What is wrong with the configuration. `boot` then has as much of it as can be read.
    pub fault: Option<String>,
}

impl Lenient {
    pub fn new(global: &Global) -> anyhow::Result<Self> {
        let Surroundings {
            env,
            places,
            language,
        } = surroundings(global)?;
        let fault = match Boot::new(global) {
            Ok(boot) => {
                return Ok(Self {
                    boot: Arc::new(boot),
                    fault: None,
                });
            }
            Err(fault) => fault,
        };
        let Some(loaded) = readable(global, &env, &places) else {
            return Err(fault);
        };
        let boot = Boot {
            global: global.clone(),
            spent: Budget::new(Limits::default(), Ledger::new(&places.home)),
            dotenv: Dotenv::load(&places.dotenv(), ostler_host::mode_of),
            built_in: providers::built_in(ostler_llm::builtin_providers()),
            env,
            servers: ostler_config::plugins::gather(&loaded, &places, &mut Vec::new()),
            hooks: crate::boot::hooks::gather(&loaded, &places, &mut Vec::new()),
            places,
            loaded,
            machines: crate::location::Machines::default(),
            redactor: crate::output::redactor().clone(),
            language,
        };
        Ok(Self {
            boot: Arc::new(boot),
            fault: Some(language.told(&fault)),
        })
    }

    /// For what must not run on half a configuration: a rule that should have stopped something may be in the other half.
    pub fn strict(self) -> anyhow::Result<Arc<Boot>> {
        match self.fault {
            None => Ok(self.boot),
            Some(fault) => Err(anyhow!(fault)),
        }
    }

    /// For what can do without: says the fault on stderr and goes on.
    pub fn warned(self) -> Arc<Boot> {
        self.say_fault();
        self.boot
    }

    pub fn say_fault(&self) {
        if let Some(fault) = &self.fault {
            let language = self.boot.language;
            crate::output::say(&language.filled(Word::GoingOn, &[&fault]));
        }
    }

    /// The configuration as it is now, or as it was where it cannot be read any more.
    pub fn again(boot: &Arc<Boot>) -> Self {
        match boot.anew() {
            Ok(boot) => Self {
                boot: Arc::new(boot),
                fault: None,
            },
            Err(fault) => Self {
                boot: boot.clone(),
                fault: Some(boot.language.told(&fault)),
            },
        }
    }
}

/// The most of the configuration that can be read: without the project's file, without any file, without anything.
fn readable(global: &Global, env: &Env, places: &Places) -> Option<Loaded> {
    // Nothing lies below a file, and the program is one.
    let nowhere = std::env::current_exe().ok()?.join("nowhere");
    let no_project = Places {
        root: nowhere.clone(),
        ..places.clone()
    };
    let no_files = Places {
        home: nowhere,
        ..no_project.clone()
    };
    let flag = global.config.as_deref();
    let empty = Env::new();
    let attempts: [(&Places, Option<&Path>, &Env); 3] = [
        (&no_project, flag, env),
        (&no_files, None, env),
        (&no_files, None, &empty),
    ];
    let tools: Vec<&str> = ostler_engine::tools::all_names().collect();
    attempts.into_iter().find_map(|(places, config_flag, env)| {
        layers::load(&Inputs {
            env,
            places,
            config_flag,
            overrides: &[],
            approval: Approval::Recorded(None),
            tools: &tools,
        })
        .ok()
    })
}
