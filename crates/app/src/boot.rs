//! From flags, environment and files to what the engine needs. The one place where the process is looked at.

pub mod agents;
pub mod env;
pub mod hooks;
pub mod plugins;
mod shell;
mod target;
mod tools;

use crate::auth::known_secrets;
use crate::errors::UsageError;
use crate::flags::Global;
use crate::location::{self, Machines, Target};
use anyhow::anyhow;
use ostler_config::budget::{self, Cap};
use ostler_config::diagnose::{self, ConfigError, Notice};
use ostler_config::env::Override;
use ostler_config::keys::{self, Dotenv};
use ostler_config::layers::{self, Inputs, Loaded};
use ostler_config::locale;
use ostler_config::logins::Logins;
use ostler_config::paths::{AUTH_FILE, Env, Places, Platform, RUNNING, USUAL_HOME, config_files};
use ostler_config::plugins::{Configured, add_brought, gather};
use ostler_config::providers;
use ostler_config::resolve::Resolver;
use ostler_config::schema::{self, ProviderConfig};
use ostler_config::text::{Explain as _, Speak as _, phrase};
use ostler_config::trust::{Approval, Book};
use ostler_engine::budget::{Budget, Limits};
use ostler_engine::ledger::Ledger;
use ostler_engine::redact::Redactor;
use ostler_host::Local;
use ostler_host::sandbox::Records;
use ostler_llm::Secret;
use ostler_wire::{Language, Word};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
pub use tools::no_tool;

/// Bytes of a key that is looked for inside of longer values.
const MIN_PART: usize = 8;

/// The process as it was started, and the configuration that follows from it.
pub struct Boot {
    pub global: Global,
    pub env: Env,
    pub places: Places,
    pub loaded: Loaded,
    pub dotenv: Dotenv,
    pub built_in: Vec<ProviderConfig>,
    pub servers: Vec<Configured>,
    pub hooks: hooks::Gathered,
    /// What was spent; the limits are in the configuration.
    pub spent: Budget,
    pub machines: Machines,
    /// Learns what nobody may see, also while a session runs.
    pub redactor: Redactor,
    /// In which the person reads.
    pub language: Language,
}

impl Boot {
    pub fn new(global: &Global) -> anyhow::Result<Self> {
        let around = surroundings(global)?;
        crate::home::tighten(&around.places);
        let mut boot = Self::at(global, around)?;
        let setting = boot.loaded.config.language.as_deref();
        boot.language = locale::chosen(setting, &boot.env);
        Ok(boot)
    }

    /// The configuration as it is now. The environment is that of the start: keys are no longer in the process's own.
    pub fn anew(&self) -> anyhow::Result<Self> {
        let around = Surroundings {
            env: self.env.clone(),
            places: self.places.clone(),
            language: self.language,
        };
        let mut boot = Self::at(&self.global, around)?;
        // What was spent so far was spent.
        boot.spent = self.spent.clone();
        boot.machines = self.machines.clone();
        Ok(boot)
    }

    /// The configuration as it is now, with servers that an editor brings.
    pub fn with_brought(&self, brought: &[schema::PluginConfig]) -> anyhow::Result<Self> {
        let global = Global {
            brought: brought.to_vec(),
            ..self.global.clone()
        };
        let around = Surroundings {
            env: self.env.clone(),
            places: self.places.clone(),
            language: self.language,
        };
        let mut boot = Self::at(&global, around)?;
        boot.spent = self.spent.clone();
        boot.machines = self.machines.clone();
        Ok(boot)
    }

    /// The same process for a session that goes on at the place of these flags, which is not connected yet.
    pub fn of_place(&self, global: Global) -> anyhow::Result<Self> {
        let target = Target::of(&global.place, self.language)?;
        let far = target.filter(|target| !target.has_project_here());
        let root = match (&far, &global.root, self.machines.place.get()) {
            (Some(far), root, _) => location::stand_in(far, root.as_deref(), &self.places.home)?,
            (None, Some(root), _) => self.places.cwd.join(root),
            (None, None, Some(own)) if !own.target.has_project_here() => self.places.cwd.clone(),
            (None, None, Some(_) | None) => self.places.root.clone(),
        };
        let places = Places {
            root: canonical_root(&root, self.language)?,
            ..self.places.clone()
        };
        put_back_killed(&places, self.language);
        let around = Surroundings {
            env: self.env.clone(),
            places,
            language: self.language,
        };
        let mut boot = Self::at(&global, around)?;
        boot.spent = self.spent.clone();
        boot.machines.local = self.machines.local.clone();
        Ok(boot)
    }

    /// The same process, working in another folder.
    pub fn of_root(&self, root: &Path) -> anyhow::Result<Self> {
        self.of_task(root, self.global.clone(), self.env.clone())
    }

    /// The same process, working in another folder with other flags and environment.
    pub fn of_task(&self, root: &Path, global: Global, env: Env) -> anyhow::Result<Self> {
        let root = canonical_root(root, self.language)?;
        let places = Places {
            root: root.clone(),
            ..self.places.clone()
        };
        put_back_killed(&places, self.language);
        let global = Global {
            root: Some(root),
            ..global
        };
        let around = Surroundings {
            env,
            places,
            language: self.language,
        };
        let mut boot = Self::at(&global, around)?;
        boot.spent = self.spent.clone();
        boot.machines.place = self.machines.place.clone();
        Ok(boot)
    }

    /// The process as if it had been started in these surroundings.
    pub fn at(global: &Global, around: Surroundings) -> anyhow::Result<Self> {
        let Surroundings {
            env,
            places,
            language,
        } = around;
        tools::check_tools(&global.allowed_tools, language)?;
        let book = Book::load(&places.trust());
        let approval = match global.trust_workspace {
            true => Approval::ThisRun,
            false => Approval::Recorded(book.record(&places.root)),
        };
        let mut loaded = load(global, (&env, &places), approval)
            .map_err(|e| anyhow!("{}", e.render(diagnose::Paint::Plain, language).trim_end()))?;
        loaded.notices.extend(book.fault.map(Notice::plain));
        let strays = tools::stray_tools(&loaded);
        loaded.notices.extend(strays);
        let strays = tools::stray_budgets(&loaded);
        loaded.notices.extend(strays);
        let mut notices = Vec::new();
        let mut servers = gather(&loaded, &places, &mut notices);
        add_brought(&mut servers, &global.brought);
        let hooks = hooks::gather(&loaded, &places, &mut notices);
        loaded.notices.extend(notices);
        let named =
            |one: &ProviderConfig| loaded.config.providers.iter().any(|p| p.name == one.name);
        let mut offered = plugins::providers(&servers, &places);
        offered.retain(|one| !named(one));
        loaded.config.providers.extend(offered);
        let dotenv = Dotenv::load(&places.dotenv(), ostler_host::mode_of);
        let wide = wide_root_notice(&loaded, &places);
        let mut boot = Self {
            global: global.clone(),
            spent: Budget::new(Limits::default(), Ledger::new(&places.home)),
            env,
            places,
            loaded,
            dotenv,
            built_in: providers::built_in(ostler_llm::builtin_providers()),
            servers,
            hooks,
            machines: Machines::default(),
            redactor: crate::output::redactor().clone(),
            language,
        };
        boot.loaded.notices.extend(wide);
        Ok(boot)
    }

    pub fn resolver(&self) -> Resolver<'_> {
        let logins = self.logins();
        Resolver::new(
            &self.loaded,
            &self.built_in,
            &self.env,
            &self.dotenv,
            logins,
        )
    }

    pub fn logins(&self) -> Logins {
        Logins::new(&self.places.home, self.loaded.config.auth.store)
    }

    /// What the person asked for by flags, as one reference.
    pub fn wanted_model(&self) -> Option<String> {
        match (&self.global.provider, &self.global.model) {
            (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
            (Some(one), None) | (None, Some(one)) => Some(one.clone()),
            (None, None) => None,
        }
    }

    /// What was spent, under the limits that hold.
    pub fn budget(&self) -> Budget {
        self.spent.under(budget::limits(&self.loaded.config.budget))
    }

    /// The one machine that this process works on.
    pub fn host(&self) -> Arc<Local> {
        self.machines.local.clone()
    }

    /// Certificates to trust beside the system's.
    pub fn ca_files(&self) -> Vec<PathBuf> {
        let own = &self.loaded.config.network.ca_file;
        let file = self.env.get("SSL_CERT_FILE").filter(|f| !f.is_empty());
        own.iter().chain(file).map(PathBuf::from).collect()
    }

    pub fn sessions_dir(&self) -> PathBuf {
        match self.loaded.config.sessions.location {
            schema::SessionLocation::Home => self.places.home.join("sessions"),
            schema::SessionLocation::Project => {
                let dir = self.places.root.join(".ostler/sessions");
                // A link that leads out of the project would have us write elsewhere.
                match ostler_host::real_path(&dir).starts_with(&self.places.root) {
                    true => dir,
                    false => self.places.home.join("sessions"),
                }
            }
        }
    }

    pub fn store(&self) -> ostler_engine::store::Store {
        let language = self.language;
        ostler_engine::store::Store::new(&self.sessions_dir(), &self.places.root)
            .of_home(&self.places.home)
            .speaking(language)
    }

    /// Everything that lets one in at a provider of this person.
    pub fn secrets(&self) -> Vec<Secret> {
        let mut all = keys::all(&self.loaded, &self.built_in, &self.env, &self.dotenv);
        let providers = self.loaded.config.providers.iter();
        // A login by a preset stands in no configuration.
        let has_logins = || self.places.home.join(AUTH_FILE).is_file();
        if providers.map(|p| &p.oauth).any(Option::is_some) || has_logins() {
            all.extend(
                known_secrets(&self.places.home)
                    .into_iter()
                    .map(Secret::new),
            );
        }
        all
    }

    /// Whether a variable is the key of a model provider: by its name, or because it has the value of one. What else the
    /// redactor has learnt meanwhile is no such key.
    pub fn is_provider_key(&self, name: &str) -> bool {
        let mut providers = self.built_in.iter().chain(&self.loaded.config.providers);
        let is_named = providers.any(|p| p.api_key_env.as_deref() == Some(name));
        let holds = |value: &String| {
            let secrets = self.secrets();
            let mut secrets = secrets.iter().map(Secret::reveal);
            let is_long = |secret: &str| secret.len() >= MIN_PART;
            secrets.any(|secret| value == secret || is_long(secret) && value.contains(secret))
        };
        name == keys::OVERRIDE
            || is_named
            || is_key_setting(name)
            || self.env.get(name).is_some_and(holds)
    }

    /// Whether commands are to run in a tmux pane that the person shares.
    pub fn wants_pane(&self) -> bool {
        self.global.tmux.is_some()
    }

    /// Variables that hold a key, or may: by their name, or because the value is in them under another.
    pub fn key_variables(&self) -> Vec<String> {
        let named = self.built_in.iter().chain(&self.loaded.config.providers);
        let named = named.filter_map(|p| p.api_key_env.clone());
        let holds = |(name, value): &(&String, &String)| {
            is_key_setting(name) || self.redactor.has_secret(value)
        };
        let holding = self.env.iter().filter(holds).map(|(name, _)| name.clone());
        let general = std::iter::once(keys::OVERRIDE.to_owned());
        general.chain(named).chain(holding).collect()
    }
}

/// `OSTLER_PROVIDERS__NAME__API_KEY` and its like: the environment form of a key in a configuration file.
fn is_key_setting(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    name.starts_with("OSTLER_")
        && (upper.ends_with("__API_KEY") || upper.ends_with("__CLIENT_SECRET"))
}

/// The configuration of these places, with what the person said to the project.
pub fn load(
    global: &Global,
    (env, places): (&Env, &Places),
    approval: Approval<'_>,
) -> Result<Loaded, ConfigError> {
    let names: Vec<&str> = ostler_engine::tools::all_names().collect();
    layers::load(&Inputs {
        env,
        places,
        config_flag: global.config.as_deref(),
        overrides: &overrides(global),
        approval,
        tools: &names,
    })
}

/// What the process was started in: the environment as text, the folders that follow from it, and the language of the
/// person as far as it can be told before the configuration is read.
pub struct Surroundings {
    pub env: Env,
    pub places: Places,
    pub language: Language,
}

/// The root is canonical.
pub fn surroundings(global: &Global) -> anyhow::Result<Surroundings> {
    let mut env = environment();
    let cwd = std::env::current_dir().explain(|| Word::BootNoCwd.into())?;
    env::find_home(&mut env, ostler_host::account_home());
    let target = Target::of(&global.place, locale::chosen(None, &env))?;
    let target = target.filter(|target| !target.has_project_here());
    // The root is a folder of the other place then.
    let root = global.root.as_deref().filter(|_| target.is_none());
    let mut places = Places::find(&env, &cwd, root, Platform::CURRENT)?;
    if let Some(target) = &target {
        places.root = location::stand_in(target, global.root.as_deref(), &places.home)?;
    }
    // What is wrong with the folder is said in the person's own language, too.
    let setting = locale::peeked(&places.user_config());
    let language = locale::chosen(setting.as_deref(), &env);
    places.root = canonical_root(&places.root, language)?;
    put_back_killed(&places, language);
    // What a repository says of the language counts once it is trusted.
    let files = config_files(&places, global.config.as_deref());
    let own = files.iter().rev().filter(|f| f.what != "project");
    let setting = own.into_iter().find_map(|f| locale::peeked(&f.path));
    let language = locale::chosen(setting.as_deref(), &env);
    Ok(Surroundings {
        env,
        places,
        language,
    })
}

/// A notice for a person who works in their home, above it or in `/`, where nothing may be changed.
fn wide_root_notice(loaded: &Loaded, places: &Places) -> Option<Notice> {
    let named = loaded.config.sandbox.workspace_root.is_some();
    let notice = || Notice::plain(phrase(Word::WideRoot, &[&places.root.display()]));
    (places.has_wide_root() && !named).then(notice)
}

/// Before anything of the project is read: files that commands of a session changed which was killed before it could put
/// them back itself. What commands of running sessions change is not read either.
fn put_back_killed(places: &Places, language: Language) {
    let usual = places.user_home.as_ref();
    let usual = usual.map(|home| home.join(USUAL_HOME).join(RUNNING));
    let mut folders = vec![places.home.join(RUNNING)];
    folders.extend(usual.filter(|usual| !folders.contains(usual)));
    ostler_host::sandbox::set_records(folders.clone());
    let records = folders.into_iter().map(Records::new);
    for one in records.flat_map(|records| records.put_back(&places.root)) {
        // A command chose the names of hooks.
        let path = places.shown(&one.path).escape_debug().to_string();
        let said = match (one.done, &one.kept) {
            (true, Some(kept)) => language.filled(Word::PutBackKept, &[&path, &kept.display()]),
            (true, None) => language.filled(Word::PutBackKilled, &[&path]),
            (false, _) => language.filled(Word::NotPutBack, &[&path]),
        };
        let _ = writeln!(io::stderr(), "{said}");
    }
}

/// The environment as text.
pub fn environment() -> Env {
    std::env::vars_os()
        .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
        .collect()
}

fn canonical_root(root: &Path, language: Language) -> anyhow::Result<PathBuf> {
    let canonical = root
        .canonicalize()
        .map_err(|e| UsageError(language.filled(Word::BootNoRoot, &[&root.display(), &e])))?;
    if !canonical.is_dir() {
        return Err(UsageError(language.filled(Word::BootRootNoFolder, &[&root.display()])).into());
    }
    Ok(canonical)
}

fn overrides(global: &Global) -> Vec<Override> {
    let one = |flag: &str, key: &str, value: String| Override {
        flag: flag.into(),
        key: key.into(),
        value,
    };
    let mut out = Vec::new();
    if let Some(effort) = &global.effort {
        out.push(one("--effort", "agent.effort", effort.clone()));
    }
    if let Some(steps) = global.max_steps {
        out.push(one("--max-steps", "agent.max_steps", steps.to_string()));
    }
    match global.budget {
        Some(Cap::Usd(usd)) => out.push(one("--budget", "budget.run.usd", usd.to_string())),
        Some(Cap::Tokens(n)) => out.push(one("--budget", "budget.run.tokens", n.to_string())),
        None => {}
    }
    if !global.allow.is_empty() {
        let rules = toml::Value::from(global.allow.clone());
        out.push(one("--allow", "permissions.allow", rules.to_string()));
    }
    if global.no_color {
        out.push(one("--no-color", "display.color", "never".into()));
    }
    out
}
