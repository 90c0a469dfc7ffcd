//! Edits keep everything they are not about, byte for byte.

use std::fs;

use super::super::diagnose::ConfigError;
use super::super::edit::{Changed, EditableFile, init};
use super::super::show::{Origins, get, render, settings};
use super::super::tree::Layer;
use super::{Bench, TOOLS, read};
use insta::assert_snapshot;

fn set(bench: &Bench, layer: Layer, key: &str, value: &str) -> Result<Changed, ConfigError> {
    let places = bench.places();
    let path = match layer {
        Layer::Project => places.project_config(),
        Layer::Default | Layer::User | Layer::Local | Layer::Environment | Layer::Flag => {
            places.user_config()
        }
    };
    let file = EditableFile {
        path: &path,
        layer,
        places: &places,
        tools: &TOOLS,
    };
    file.set(key, value)
}

/// The user file after `config set key value`, or the refusal.
fn after(before: &str, key: &str, value: &str) -> String {
    let bench = Bench::new().user(before);
    let path = bench.places().user_config();
    match set(&bench, Layer::User, key, value) {
        Ok(_) => read(&path),
        Err(error) => {
            assert_eq!(read(&path), before, "a refused change must not write");
            format!("refused\n{}", bench.clean(&error.to_string()))
        }
    }
}

const COMMENTED: &str = "\
# My settings

# the model
default_model = 'a'   # cheap

[agent] # how it works
  max_steps  =  10\t# enough
# a note at the end of the table

[[providers]]
name = \"one\" # first
models = [
  \"a\", # small
  \"b\",
]

[[providers]]
name = \"two\"
# tail
";

#[test]
fn values_are_replaced_in_place() {
    let cases = [
        (
            "default_model",
            "b",
            "default_model = 'a'   # cheap",
            "default_model = \"b\"   # cheap",
        ),
        (
            "agent.max_steps",
            "20",
            "  max_steps  =  10\t# enough",
            "  max_steps  =  20\t# enough",
        ),
        (
            "providers.one.models",
            "['c']",
            "models = [\n  \"a\", # small\n  \"b\",\n]",
            "models = ['c']",
        ),
        (
            "providers.two.model",
            "m",
            "name = \"two\"\n",
            "name = \"two\"\nmodel = \"m\"\n",
        ),
        (
            "agent.effort",
            "low",
            "# enough\n",
            "# enough\neffort = \"low\"\n",
        ),
    ];
    for (key, value, old, new) in cases {
        assert!(COMMENTED.contains(old), "{key}");
        assert_eq!(
            after(COMMENTED, key, value),
            COMMENTED.replacen(old, new, 1),
            "{key}"
        );
    }
}

#[test]
fn setting_the_same_value_changes_nothing() {
    let text = "# c\n[agent]\nmax_steps = 5 # five\n\n\n[tools]\n";
    assert_eq!(after(text, "agent.max_steps", "5"), text);
}

#[test]
fn missing_tables_are_made() {
    assert_snapshot!(after("", "agent.max_steps", "5"), @r"
    [agent]
    max_steps = 5
    ");
    assert_snapshot!(after("default_model = 'a'\n", "tools.shell.path", "/bin/zsh"), @r#"
    default_model = 'a'

    [tools.shell]
    path = "/bin/zsh"
    "#);
    assert_snapshot!(after(COMMENTED, "tools.bash", "false"), @r#"
    # My settings

    # the model
    default_model = 'a'   # cheap

    [agent] # how it works
      max_steps  =  10	# enough
    # a note at the end of the table

    [[providers]]
    name = "one" # first
    models = [
      "a", # small
      "b",
    ]

    [[providers]]
    name = "two"
    # tail

    [tools]
    bash = false
    "#);
    assert_snapshot!(after("[tools.shell]\npath = '/x'\n", "tools.web_search", "false"), @r"
    [tools]
    web_search = false
    [tools.shell]
    path = '/x'
    ");
    assert_snapshot!(after("tools.bash = true\n", "tools.web_search", "false"), @r"
    tools.bash = true
    tools.web_search = false
    ");
    assert_snapshot!(after("tools = { bash = true }\n", "tools.web_search", "false"), @"tools = { bash = true , web_search = false }");
}

#[test]
fn providers_are_found_by_name() {
    assert_snapshot!(after("[[providers]]\nname = 'a'\n\n[agent]\n", "providers.b.base_url", "http://127.0.0.1:1"), @r#"
    [[providers]]
    name = 'a'

    [[providers]]
    name = "b"
    base_url = "http://127.0.0.1:1"

    [agent]
    "#);
    assert_snapshot!(after("providers = [{ name = 'a', kind = 'x' }]\n", "providers.a.kind", "y"), @r#"providers = [{ name = 'a', kind = "y" }]"#);
    assert_snapshot!(after("[[providers]]\nname = 'a'\n", "providers.a.price.input", "1.5"), @r"
    [[providers]]
    name = 'a'

    [providers.price]
    input = 1.5
    ");
    assert_snapshot!(after("[[providers]]\nname = 'a'\n", "providers.a.name", "b"), @r"
    refused
    error: a provider's name is part of its key; rename it in the file
    ");
    assert_snapshot!(after("providers = [{ name = 'a' }]\n", "providers.b.kind", "y"), @r"
    refused
    error: `providers` is written as one list; add `b` to it by hand
    ");
}

#[test]
fn new_keys_stand_below_the_opening_comment() {
    assert_snapshot!(after("# My file\n\n# about agent\n[agent]\n", "default_model", "m"), @r#"
    # My file

    default_model = "m"

    # about agent
    [agent]
    "#);
    assert_snapshot!(after("# only\n# comments\n", "default_model", "m"), @r#"
    # only
    # comments
    default_model = "m"
    "#);
    assert_snapshot!(after("[agent]\nmax_steps = 1\n\n# the end\n", "display.color", "never"), @r#"
    [agent]
    max_steps = 1

    # the end

    [display]
    color = "never"
    "#);
}

#[test]
fn typed_values_become_what_the_key_wants() {
    assert_snapshot!(after("", "default_model", "5"), @r#"default_model = "5""#);
    assert_snapshot!(after("", "default_model", "'quoted'"), @"default_model = 'quoted'");
    assert_snapshot!(after("", "permissions.deny", "[\"Read(.env)\"]"), @r#"
    [permissions]
    deny = ["Read(.env)"]
    "#);
    assert_snapshot!(after("", "display.color", "false"), @r"
    [display]
    color = false
    ");
}

#[test]
fn bad_changes_are_refused() {
    assert_snapshot!(after("", "agent.max_steps", "many"), @r#"
    refused
    error: `agent.max_steps` must be a whole number, 0 or greater, not a string
     --> ~/.ostler/config.toml:2:13
      |
    2 | max_steps = "many"
      |             ^^^^^^ expected a whole number, 0 or greater
    "#);
    assert_snapshot!(after("", "model", "some/name"), @r"
    refused
    error: unknown key `model`; did you mean `default_model`?
    ");
    assert_snapshot!(after("", "agent.max_stps", "5"), @r"
    refused
    error: unknown key `agent.max_stps`; did you mean `max_steps`?
    ");
    assert_snapshot!(after("default_model = 'a'\n", "default_model.x", "5"), @r"
    refused
    error: `default_model` is not a table, so nothing can be set below it
    ");
    assert_snapshot!(after("[agent]\nmax_steps = 1\n", "agent", "5"), @r"
    refused
    error: `agent` must be a table, not 5
     --> ~/.ostler/config.toml:1:9
      |
    1 | agent = 5
      |         ^ expected a table
    ");
    assert_snapshot!(after("a = = 1\n", "agent.max_steps", "5"), @r"
    refused
    error: this file is not valid TOML
     --> ~/.ostler/config.toml:1:5
      |
    1 | a = = 1
      |     ^ extra `=`, expected nothing
    ");
    assert_snapshot!(after("", "agent..x", "5"), @r"
    refused
    error: `agent..x` is not a key like `agent.max_steps`
    ");
    assert_snapshot!(after("", "", "5"), @r"
    refused
    error: `` is not a key like `agent.max_steps`
    ");
    assert_snapshot!(after("", "providers.a.base_url", "nonsense"), @r#"
    refused
    error: this base URL is not valid: relative URL without a base
     --> ~/.ostler/config.toml:3:12
      |
    3 | base_url = "nonsense"
      |            ^^^^^^^^^^ not an address
      |
      = help: write it like "https://host/v1" or "http://127.0.0.1:8080/v1"
    "#);
}

#[test]
fn a_broken_neighbour_does_not_stop_the_repair_of_a_key() {
    let text = "[agent]\nmax_steps = 'x'\neffort = 'y'\n";
    assert_eq!(
        after(text, "agent.max_steps", "3"),
        "[agent]\nmax_steps = 3\neffort = 'y'\n"
    );
}

#[test]
fn a_project_file_takes_no_personal_keys() {
    let bench = Bench::new();
    let path = bench.places().project_config();
    let error = set(&bench, Layer::Project, "agent.max_steps", "3").unwrap_err();
    assert_snapshot!(error.to_string(), @"error: `agent.max_steps` is ignored in a project file; only your own config file may set it");
    assert!(!path.exists());
}

#[test]
fn line_endings_and_byte_order_mark_stay() {
    let cases = [
        (
            "\u{feff}# c\r\n[agent]\r\nmax_steps = 1 # x\r\n",
            "\u{feff}# c\r\n[agent]\r\nmax_steps = 2 # x\r\n",
        ),
        (
            "# a\r\n# b\n[agent]\r\nmax_steps = 1\n# d\r\n",
            "# a\r\n# b\n[agent]\r\nmax_steps = 2\r\n# d\r\n",
        ),
        ("[agent]\nmax_steps = 1", "[agent]\nmax_steps = 2\n"),
        (
            "system_prompt = \"\"\"\r\na\r\nb\"\"\"\r\n[agent]\r\nmax_steps = 1\r\n",
            "system_prompt = \"\"\"\r\na\r\nb\"\"\"\r\n[agent]\r\nmax_steps = 2\r\n",
        ),
    ];
    for (before, expected) in cases {
        assert_eq!(after(before, "agent.max_steps", "2"), expected);
    }
}

#[cfg(unix)]
#[test]
fn mode_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let bench = Bench::new();
    let real = bench.path("home/dotfiles.toml");
    fs::write(&real, "[agent]\nmax_steps = 1\n").unwrap();
    fs::set_permissions(&real, PermissionsExt::from_mode(0o640)).unwrap();
    let path = bench.places().user_config();
    symlink(&real, &path).unwrap();
    set(&bench, Layer::User, "agent.max_steps", "2").unwrap();
    assert_eq!(read(&real), "[agent]\nmax_steps = 2\n");
    assert!(path.is_symlink());
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    let left: Vec<_> = fs::read_dir(bench.path("home")).unwrap().collect();
    assert_eq!(left.len(), 2, "no temporary file stays");
}

#[test]
fn init_writes_once_and_what_it_writes_loads() {
    let bench = Bench::new();
    let path = bench.places().user_config();
    init(&path, &bench.places()).unwrap();
    assert_snapshot!(bench.seen(), @"");
    let written = read(&path);
    let error = init(&path, &bench.places()).unwrap_err();
    assert_eq!(read(&path), written);
    assert_snapshot!(bench.clean(&error.to_string()), @r"
    error: this configuration file exists already; it was not changed
    --> ~/.ostler/config.toml
     = help: edit it, or use `ostler config set KEY VALUE`
    ");
}

#[test]
fn every_example_in_the_starter_file_is_valid() {
    let bench = Bench::new();
    init(&bench.places().user_config(), &bench.places()).unwrap();
    let text = read(&bench.places().user_config());
    let is_setting = |line: &str| {
        let line = line.trim_start_matches("# ");
        line.starts_with('[')
            || line
                .split_once(" = ")
                .is_some_and(|(key, _)| !key.contains(' '))
    };
    let all: String = text
        .lines()
        .filter(|line| is_setting(line))
        .map(|line| line.trim_start_matches("# ").to_owned() + "\n")
        .collect();
    // The two headers that the example of a provider interrupts are in order in the file too.
    let loaded = Bench::new().user(&all).load().unwrap();
    assert_eq!(loaded.notices, []);
    assert_eq!(loaded.config.providers.len(), 1);
}

#[test]
fn the_starter_file_can_be_edited() {
    let bench = Bench::new();
    let path = bench.places().user_config();
    init(&path, &bench.places()).unwrap();
    let before = read(&path);
    for (key, value) in [("default_model", "x"), ("agent.max_steps", "9")] {
        set(&bench, Layer::User, key, value).unwrap();
    }
    let now = read(&path);
    let added: Vec<&str> = now
        .lines()
        .filter(|line| !before.lines().any(|old| old == *line))
        .collect();
    assert_eq!(added, ["default_model = \"x\"", "max_steps = 9"]);
    let place = now.find("default_model = \"x\"").unwrap();
    assert!(place > now.find("# default_model").unwrap() && place < now.find("[agent]").unwrap());
}

#[test]
fn show_covers_secrets() {
    let bench = Bench::new().user(
        "[[providers]]\nname = 'p'\napi_key = 'sk-123'\napi_key_env = 'P_KEY'\nbase_url = 'https://me:pw@p.test/v1'\nheaders = { Authorization = 'Bearer sk', X-Title = 't' }\nextra_body = { session_token = 't', n = { a = [1, 2.5] } }\n",
    );
    let loaded = bench.load().unwrap();
    assert_snapshot!(super::set_lines(&loaded).replace(&bench.path("home").display().to_string(), "~"), @r#"
    providers.p.api_key = "********"  # ~/.ostler/config.toml:3:1
    providers.p.api_key_env = "P_KEY"  # ~/.ostler/config.toml:4:1
    providers.p.base_url = "https://me:********@p.test/v1"  # ~/.ostler/config.toml:5:1
    providers.p.extra_body.n.a = [1, 2.5]  # ~/.ostler/config.toml:7:48
    providers.p.extra_body.session_token = "********"  # ~/.ostler/config.toml:7:16
    providers.p.headers.Authorization = "********"  # ~/.ostler/config.toml:6:13
    providers.p.headers.X-Title = "t"  # ~/.ostler/config.toml:6:42
    providers.p.name = "p"  # ~/.ostler/config.toml:2:1
    "#);
}

#[test]
fn show_has_defaults_and_get_has_one() {
    let bench = Bench::new()
        .project("[agent]\neffort = 'low'\n[tools]\nbash = false\n")
        .trusted();
    let loaded = bench.load().unwrap();
    assert_snapshot!(render(&settings(&loaded), Origins::Shown), @r#"
    acp.client_terminal = false  # default
    agent.auto_plan = false  # default
    agent.effort = "low"  # ostler.toml:2:1
    agent.max_children = 4  # default
    agent.max_depth = 2  # default
    agent.max_steps = 0  # default
    agent.memory_compiler.enabled = true  # default
    agent.plan_mode_allowed_tools = []  # default
    agent.planner_max_steps = 0  # default
    agent.reasoning_language = "auto"  # default
    agent.shared_hooks = false  # default
    auth.store = "file"  # default
    auth.use_process_env = true  # default
    context.archive_quota = "500MB"  # default
    context.checkpoint_history = "256MB"  # default
    context.checkpoint_quota = "4GB"  # default
    context.checkpoint_seconds = 10  # default
    context.checkpoints = true  # default
    context.compact_ratio = 0.8  # default
    context.strategy = "compact"  # default
    display.color = "auto"  # default
    display.show_reasoning = true  # default
    display.show_tokens = true  # default
    display.show_tool_calls = true  # default
    helper.grace_seconds = 600  # default
    helper.install = "ask"  # default
    host.tmux = false  # default
    permissions.allow = []  # default
    permissions.ask = []  # default
    permissions.deny = []  # default
    permissions.headless = "sandbox"  # default
    permissions.mode = "ask"  # default
    permissions.subagent = "inherit"  # default
    sandbox.allow_write = []  # default
    sandbox.bash = "enforce"  # default
    sandbox.forbid_read = ["~/.ssh", "~/.aws", "~/.gnupg", "~/.azure", "~/.kube", "~/.config/gcloud", "~/.config/op", "~/.password-store", "~/.local/share/keyrings", "/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-", "~/.netrc", "~/_netrc", "~/.git-credentials", "~/.config/git/credentials", "~/.config/gh", "~/.config/hub", "~/.npmrc", "~/.yarnrc.yml", "~/.pypirc", "~/.docker/config.json", "~/.cargo/credentials", "~/.cargo/credentials.toml", "~/.gem/credentials", "~/.m2/settings.xml", "~/.gradle/gradle.properties", "~/.terraform.d/credentials.tfrc.json", "~/.mozilla", "~/.config/google-chrome", "~/.config/chromium", "~/.bash_history", "~/.zsh_history", "~/.python_history", "~/.node_repl_history", "~/.psql_history", "~/.mysql_history", "~/.sqlite_history", "${CLAUDE_CONFIG_DIR:-~/.claude}/.credentials.json", "~/.claude.json", "${CODEX_HOME:-~/.codex}/auth.json", "${GEMINI_CLI_HOME:-~}/.gemini/oauth_creds.json", "${GEMINI_CLI_HOME:-~}/.gemini/google_accounts.json", "${GEMINI_CLI_HOME:-~}/.gemini/mcp-oauth-tokens.json", "~/.kimi-code/credentials", "${KIMI_SHARE_DIR:-~/.kimi}/credentials", "${XDG_DATA_HOME:-~/.local/share}/opencode/auth.json", "${XDG_DATA_HOME:-~/.local/share}/opencode/mcp-auth.json", "${PI_CODING_AGENT_DIR:-~/.pi/agent}/auth.json", "${QWEN_HOME:-~/.qwen}/oauth_creds.json", "${QWEN_HOME:-~/.qwen}/mcp-oauth-tokens.json", "${REASONIX_HOME:-~/.reasonix}/credentials", "${REASONIX_HOME:-~/.reasonix}/.env"]  # default
    sandbox.layer = "auto"  # default
    sandbox.network = false  # default
    serve.auth_mode = "token"  # default
    serve.behind_proxy = false  # default
    serve.bind = "127.0.0.1"  # default
    serve.hosts = []  # default
    serve.port = 8787  # default
    sessions.location = "home"  # default
    sessions.quota = "2GB"  # default
    skills.disabled_skills = []  # default
    skills.excluded_paths = []  # default
    skills.paths = []  # default
    tools.bash = false  # ostler.toml:4:1
    tools.bash_timeout_seconds = 120  # default
    tools.enabled = []  # default
    tools.limits.bash_max_bytes = 32768  # default
    tools.mcp_call_timeout_seconds = 300  # default
    tools.mcp_schema_budget = 10000  # default
    tools.mcp_start_seconds = 30  # default
    tools.result_format = "text"  # default
    tools.shell.env_drop = []  # default
    tools.shell.env_pass = []  # default
    tools.shell.prefer = "auto"  # default
    tools.shell_confirm = false  # default
    tools.web.allow_private = []  # default
    ui.notify = true  # default
    ui.vim = false  # default
    "#);
    let bare = |key: &str| match get(&loaded, key, &TOOLS) {
        Ok(found) => found
            .iter()
            .map(|setting| setting.bare())
            .collect::<Vec<_>>()
            .join(" | "),
        Err(error) => format!("! {error}"),
    };
    let keys = [
        "agent.effort",
        "agent.max_steps",
        "sandbox.forbid_read",
        "sandbox",
        "tools.bash",
        "default_model",
        "tools.web_search",
        "agent.max_stps",
        "nonsense",
        "providers",
        "providers.x.base_url",
        "providers.x.nonsense",
        "a..b",
    ];
    let answers: String = keys
        .iter()
        .map(|key| format!("{key}: {}\n", bare(key)))
        .collect();
    assert_snapshot!(answers, @r#"
    agent.effort: low
    agent.max_steps: 0
    sandbox.forbid_read: ["~/.ssh", "~/.aws", "~/.gnupg", "~/.azure", "~/.kube", "~/.config/gcloud", "~/.config/op", "~/.password-store", "~/.local/share/keyrings", "/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-", "~/.netrc", "~/_netrc", "~/.git-credentials", "~/.config/git/credentials", "~/.config/gh", "~/.config/hub", "~/.npmrc", "~/.yarnrc.yml", "~/.pypirc", "~/.docker/config.json", "~/.cargo/credentials", "~/.cargo/credentials.toml", "~/.gem/credentials", "~/.m2/settings.xml", "~/.gradle/gradle.properties", "~/.terraform.d/credentials.tfrc.json", "~/.mozilla", "~/.config/google-chrome", "~/.config/chromium", "~/.bash_history", "~/.zsh_history", "~/.python_history", "~/.node_repl_history", "~/.psql_history", "~/.mysql_history", "~/.sqlite_history", "${CLAUDE_CONFIG_DIR:-~/.claude}/.credentials.json", "~/.claude.json", "${CODEX_HOME:-~/.codex}/auth.json", "${GEMINI_CLI_HOME:-~}/.gemini/oauth_creds.json", "${GEMINI_CLI_HOME:-~}/.gemini/google_accounts.json", "${GEMINI_CLI_HOME:-~}/.gemini/mcp-oauth-tokens.json", "~/.kimi-code/credentials", "${KIMI_SHARE_DIR:-~/.kimi}/credentials", "${XDG_DATA_HOME:-~/.local/share}/opencode/auth.json", "${XDG_DATA_HOME:-~/.local/share}/opencode/mcp-auth.json", "${PI_CODING_AGENT_DIR:-~/.pi/agent}/auth.json", "${QWEN_HOME:-~/.qwen}/oauth_creds.json", "${QWEN_HOME:-~/.qwen}/mcp-oauth-tokens.json", "${REASONIX_HOME:-~/.reasonix}/credentials", "${REASONIX_HOME:-~/.reasonix}/.env"]
    sandbox: [] | enforce | ["~/.ssh", "~/.aws", "~/.gnupg", "~/.azure", "~/.kube", "~/.config/gcloud", "~/.config/op", "~/.password-store", "~/.local/share/keyrings", "/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-", "~/.netrc", "~/_netrc", "~/.git-credentials", "~/.config/git/credentials", "~/.config/gh", "~/.config/hub", "~/.npmrc", "~/.yarnrc.yml", "~/.pypirc", "~/.docker/config.json", "~/.cargo/credentials", "~/.cargo/credentials.toml", "~/.gem/credentials", "~/.m2/settings.xml", "~/.gradle/gradle.properties", "~/.terraform.d/credentials.tfrc.json", "~/.mozilla", "~/.config/google-chrome", "~/.config/chromium", "~/.bash_history", "~/.zsh_history", "~/.python_history", "~/.node_repl_history", "~/.psql_history", "~/.mysql_history", "~/.sqlite_history", "${CLAUDE_CONFIG_DIR:-~/.claude}/.credentials.json", "~/.claude.json", "${CODEX_HOME:-~/.codex}/auth.json", "${GEMINI_CLI_HOME:-~}/.gemini/oauth_creds.json", "${GEMINI_CLI_HOME:-~}/.gemini/google_accounts.json", "${GEMINI_CLI_HOME:-~}/.gemini/mcp-oauth-tokens.json", "~/.kimi-code/credentials", "${KIMI_SHARE_DIR:-~/.kimi}/credentials", "${XDG_DATA_HOME:-~/.local/share}/opencode/auth.json", "${XDG_DATA_HOME:-~/.local/share}/opencode/mcp-auth.json", "${PI_CODING_AGENT_DIR:-~/.pi/agent}/auth.json", "${QWEN_HOME:-~/.qwen}/oauth_creds.json", "${QWEN_HOME:-~/.qwen}/mcp-oauth-tokens.json", "${REASONIX_HOME:-~/.reasonix}/credentials", "${REASONIX_HOME:-~/.reasonix}/.env"] | auto | false
    tools.bash: false
    default_model: ! `default_model` is not set and has no default
    tools.web_search: ! `tools.web_search` is not set and has no default
    agent.max_stps: ! there is no key `agent.max_stps`; did you mean `agent.max_steps`?
    nonsense: ! there is no key `nonsense`
    providers: ! `providers` is not set and has no default
    providers.x.base_url: ! `providers.x.base_url` is not set and has no default
    providers.x.nonsense: ! there is no key `providers.x.nonsense`
    a..b: ! `a..b` is not a key like `agent.max_steps`
    "#);
}

/// The user file after something was appended to it, or the refusal.
fn appended(before: &str, change: impl Fn(EditableFile<'_>) -> Result<(), ConfigError>) -> String {
    let bench = Bench::new().user(before);
    let places = bench.places();
    let path = places.user_config();
    let file = EditableFile {
        path: &path,
        layer: Layer::User,
        places: &places,
        tools: &TOOLS,
    };
    match change(file) {
        Ok(()) => read(&path),
        Err(error) => {
            assert_eq!(read(&path), before, "a refused change must not write");
            format!("refused\n{}", bench.clean(&error.to_string()))
        }
    }
}

#[test]
fn entries_of_lists_are_appended_whole_or_not_at_all() {
    let hook = |event: &'static str| {
        move |file: EditableFile<'_>| {
            let fields = [("event", event.into()), ("command", "echo \"x\"".into())];
            file.append("hooks", &fields)
        }
    };
    assert_eq!(
        appended("# mine\n", hook("stop")),
        "# mine\n\n[[hooks]]\nevent = \"stop\"\ncommand = 'echo \"x\"'\n"
    );
    let more = appended(
        "hooks = [{event = \"stop\", command = \"a\"}]\n",
        hook("stop"),
    );
    assert!(
        more.starts_with("hooks = [{event = \"stop\", command = \"a\"}, {"),
        "{more}"
    );
    let refused = appended("# mine\n", hook("nonsense"));
    assert!(refused.starts_with("refused\n"), "{refused}");
}

#[test]
fn rules_go_into_the_list_that_is_named() {
    use crate::layers::RuleList;
    let deny = |file: EditableFile<'_>| {
        let rules = ["Read(.env)".to_owned()];
        file.add_to(RuleList::Deny, &rules, |a, b| a == b).map(drop)
    };
    let before = "[permissions]\nallow = [\"Bash(ls)\"]\n";
    let after = appended(before, deny);
    assert_eq!(after, format!("{before}deny = [\"Read(.env)\"]\n"));
    assert_eq!(appended(&after, deny), after);
}
