//! Which layer wins, and where values say they come from.

use super::super::layers::RuleList;
use super::super::schema::default_forbid_read;
use super::super::tree::Layer;
use super::Bench;
use insta::assert_snapshot;

#[test]
fn empty_configuration_works() {
    assert_snapshot!(Bench::new().seen(), @"");
    assert_snapshot!(Bench::new().user("").project("\n# nothing\n").seen(), @"");
}

#[test]
fn higher_layers_win_key_by_key() {
    let bench = Bench::new()
        .user("default_model = 'a'\n[agent]\nmax_steps = 1\neffort = 'low'\ntemperature = 0.5\n[display]\ncolor = true\n")
        .project("default_model = 'b'\n[agent]\neffort = 'high'\n[display]\nshow_tokens = false\n")
        .trusted()
        .env("OSTLER_AGENT__EFFORT", "max")
        .env("OSTLER_AGENT__MAX_STEPS", "7")
        .flag("--max-steps", "agent.max_steps", "9");
    assert_snapshot!(bench.seen(), @r#"
    agent.effort = "max"  # OSTLER_AGENT__EFFORT
    agent.max_steps = 9  # --max-steps
    agent.temperature = 0.5  # ~/.ostler/config.toml:5:1
    default_model = "b"  # ostler.toml:1:1
    display.color = true  # ~/.ostler/config.toml:7:1
    display.show_tokens = false  # ostler.toml:5:1
    "#);
}

#[test]
fn model_variables() {
    let bench = Bench::new()
        .user("default_model = 'a'\n")
        .env("OSTLER_MODEL", "b")
        .env("OSTLER_HOME", "/elsewhere")
        .env("OSTLER_API_KEY", "k")
        .env("OSTLER_UNRELATED", "x")
        .env("PATH", "/bin");
    assert_snapshot!(bench.seen(), @r#"default_model = "b"  # OSTLER_MODEL"#);
    assert_snapshot!(Bench::new().user("default_model = 'a'\n").env("OSTLER_MODEL", "").seen(), @r#"default_model = "a"  # ~/.ostler/config.toml:1:1"#);
}

#[test]
fn variables_are_toml_with_text_as_a_fallback() {
    let bench = Bench::new()
        .env("OSTLER_DEFAULT_MODEL", "42")
        .env("OSTLER_AGENT__SYSTEM_PROMPT", "[1]")
        .env("OSTLER_AGENT__TEMPERATURE", "1")
        .env("OSTLER_TOOLS__ENABLED", "['bash', \"!web_search\"]")
        .env("OSTLER_TOOLS__BASH", "false")
        .env("OSTLER_SESSIONS__QUOTA", "500MB")
        .env("OSTLER_NETWORK__TIMEOUTS__IDLE", "0.5")
        .env("OSTLER_PROVIDERS__MY_HOST__BASE_URL", "http://[::1]:1/v1")
        .env("OSTLER_PROVIDERS__MY_HOST__HEADERS", "{ x = 'y' }")
        .user("[[providers]]\nname = 'My-Host'\nkind = 'openai'\n");
    assert_snapshot!(bench.seen(), @r#"
    agent.system_prompt = "[1]"  # OSTLER_AGENT__SYSTEM_PROMPT
    agent.temperature = 1  # OSTLER_AGENT__TEMPERATURE
    default_model = "42"  # OSTLER_DEFAULT_MODEL
    network.timeouts.idle = 0.5  # OSTLER_NETWORK__TIMEOUTS__IDLE
    providers.My-Host.base_url = "http://[::1]:1/v1"  # OSTLER_PROVIDERS__MY_HOST__BASE_URL
    providers.My-Host.headers.x = "y"  # OSTLER_PROVIDERS__MY_HOST__HEADERS
    providers.My-Host.kind = "openai"  # ~/.ostler/config.toml:3:1
    providers.My-Host.name = "My-Host"  # ~/.ostler/config.toml:2:1
    sessions.quota = "500MB"  # OSTLER_SESSIONS__QUOTA
    tools.bash = false  # OSTLER_TOOLS__BASH
    tools.enabled = ["bash", "!web_search"]  # OSTLER_TOOLS__ENABLED
    "#);
}

#[test]
fn providers_merge_by_name() {
    let bench = Bench::new()
        .trusted()
        .user(
            "[[providers]]\nname = 'one'\nkind = 'openai'\nbase_url = 'https://one.test'\nmodels = ['a', 'b']\ndefault = 'b'\nheaders = { A = '1', B = '2' }\n\
             [[providers]]\nname = 'two'\nkind = 'openai'\nbase_url = 'https://two.test'\nmodel = 'x'\n",
        )
        .project("[[providers]]\nname = 'three'\nkind = 'k'\nbase_url = 'https://three.test'\nmodel = 'z'\n[[providers]]\nname = 'one'\nmodel = 'only'\nheaders = { B = '3' }\n");
    let loaded = bench.load().unwrap();
    let names: Vec<&str> = loaded
        .config
        .providers
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    assert_eq!(names, ["one", "two", "three"]);
    assert_snapshot!(bench.seen(), @r#"
    providers.one.base_url = "https://one.test"  # ~/.ostler/config.toml:4:1
    providers.one.headers.A = "1"  # ~/.ostler/config.toml:7:13
    providers.one.headers.B = "3"  # ostler.toml:9:13
    providers.one.kind = "openai"  # ~/.ostler/config.toml:3:1
    providers.one.model = "only"  # ostler.toml:8:1
    providers.one.name = "one"  # ~/.ostler/config.toml:2:1
    providers.three.base_url = "https://three.test"  # ostler.toml:4:1
    providers.three.kind = "k"  # ostler.toml:3:1
    providers.three.model = "z"  # ostler.toml:5:1
    providers.three.name = "three"  # ostler.toml:2:1
    providers.two.base_url = "https://two.test"  # ~/.ostler/config.toml:11:1
    providers.two.kind = "openai"  # ~/.ostler/config.toml:10:1
    providers.two.model = "x"  # ~/.ostler/config.toml:12:1
    providers.two.name = "two"  # ~/.ostler/config.toml:9:1
    "#);
    assert_eq!(loaded.provider_layer("one"), Layer::Project);
    assert_eq!(loaded.provider_layer("two"), Layer::User);
    assert_eq!(loaded.provider_layer("nobody"), Layer::Default);
}

#[test]
fn single_models_become_providers() {
    let bench = Bench::new().user(
        "[models.fast]\napi_base_url = 'http://127.0.0.1:1/v1'\napi = 'responses'\nmodel = 'm'\napi_key_env = 'K'\ncontext_limit = 100\n[models.plain-one]\napi_base_url = 'http://127.0.0.1:2'\n",
    );
    assert_snapshot!(bench.seen(), @r#"
    providers.fast.api = "responses"  # ~/.ostler/config.toml:3:1
    providers.fast.api_key_env = "K"  # ~/.ostler/config.toml:5:1
    providers.fast.base_url = "http://127.0.0.1:1/v1"  # ~/.ostler/config.toml:2:1
    providers.fast.context_window = 100  # ~/.ostler/config.toml:6:1
    providers.fast.model = "m"  # ~/.ostler/config.toml:4:1
    providers.fast.name = "fast"  # ~/.ostler/config.toml:1:9
    providers.plain-one.api = "completions"  # ~/.ostler/config.toml:7:9
    providers.plain-one.base_url = "http://127.0.0.1:2"  # ~/.ostler/config.toml:8:1
    providers.plain-one.model = "plain-one"  # ~/.ostler/config.toml:7:9
    providers.plain-one.name = "plain-one"  # ~/.ostler/config.toml:7:9
    "#);
}

#[test]
fn rules_of_all_layers_add_up_with_their_places() {
    let bench = Bench::new()
        .trusted()
        .user("[permissions]\nallow = ['Bash(a:*)']\ndeny = [\n  'Read(.env)',\n  'Bash(b)',\n]\n")
        .project("permissions.deny = ['Bash(c)']\npermissions.ask = ['Net']\n")
        .env("OSTLER_PERMISSIONS__DENY", "['Bash(d)']")
        .flag("--allowed-tools", "permissions.allow", "['Edit']");
    let rules: String = bench
        .load()
        .unwrap()
        .rules()
        .iter()
        .map(|rule| {
            let list = match rule.list {
                RuleList::Allow => "allow",
                RuleList::Ask => "ask",
                RuleList::Deny => "deny",
            };
            format!(
                "{list} {} [{}] {}\n",
                rule.text,
                rule.layer.name(),
                rule.place
            )
        })
        .collect();
    assert_snapshot!(bench.clean(&rules), @r"
    allow Bash(a:*) [user] ~/.ostler/config.toml:2:10
    allow Edit [flag] --allowed-tools
    ask Net [project] ostler.toml:2:20
    deny Read(.env) [user] ~/.ostler/config.toml:4:3
    deny Bash(b) [user] ~/.ostler/config.toml:5:3
    deny Bash(c) [project] ostler.toml:1:21
    deny Bash(d) [environment] OSTLER_PERMISSIONS__DENY
    ");
    assert_snapshot!(bench.seen(), @r#"
    permissions.allow = ["Bash(a:*)", "Edit"]  # ~/.ostler/config.toml:2:10, --allowed-tools
    permissions.ask = ["Net"]  # ostler.toml:2:20
    permissions.deny = ["Read(.env)", "Bash(b)", "Bash(c)", "Bash(d)"]  # ~/.ostler/config.toml:4:3, ostler.toml:1:21, OSTLER_PERMISSIONS__DENY
    "#);
}

#[test]
fn own_forbid_read_replaces_the_default_and_a_project_adds() {
    let list = |bench: Bench| bench.load().unwrap().config.sandbox.forbid_read;
    let user = "[sandbox]\nforbid_read = ['/secret']\n";
    let project = "[sandbox]\nforbid_read = ['vault']\n";
    let default: Vec<&str> = default_forbid_read().collect();
    assert_eq!(list(Bench::new()), default);
    assert_eq!(list(Bench::new().user(user)), ["/secret"]);
    assert_eq!(
        list(Bench::new().user(user).project(project)),
        ["/secret", "vault"]
    );
    assert_eq!(
        list(Bench::new().project(project)),
        [default, vec!["vault"]].concat()
    );
}

#[test]
fn prompt_text_and_file_are_one_setting() {
    let file = "[agent]\nsystem_prompt_file = 'p.md'\n";
    let cases = [
        (Bench::new().user(file), (None, Some("~/.ostler/p.md"))),
        (
            Bench::new()
                .user(file)
                .flag("--system-prompt", "agent.system_prompt", "\"\""),
            (Some(""), None),
        ),
        (
            Bench::new()
                .user("[agent]\nsystem_prompt = 'x'\n")
                .project(file)
                .trusted(),
            (None, Some("WORK/p.md")),
        ),
        (
            Bench::new().user("[agent]\nsystem_prompt = 'x'\nsystem_prompt_file = '~/q'\n"),
            (Some("x"), Some("~/q")),
        ),
        (
            Bench::new().env("OSTLER_AGENT__SYSTEM_PROMPT_FILE", "../r"),
            (None, Some("BASE/r")),
        ),
    ];
    for (bench, expected) in cases {
        let agent = bench.load().unwrap().config.agent;
        let file = agent.system_prompt_file.map(|file| bench.clean(&file));
        assert_eq!((agent.system_prompt.as_deref(), file.as_deref()), expected);
    }
}

#[test]
fn paths_are_absolute_and_empty_ones_unset() {
    let bench = Bench::new()
        .user("[network]\nca_file = 'ca.pem'\n[tools.shell]\npath = 'zsh'\n[sandbox]\nallow_write = ['out', '~/o', '/abs']\n[[providers]]\nname = 'p'\napi_key_file = '~/k'\n[[providers]]\nname = 'q'\napi_key_file = ''\n")
        .project("[agent]\nsystem_prompt_file = ''\n[sandbox]\nworkspace_root = ''\n")
        .trusted()
        .env("OSTLER_TOOLS__SHELL__PATH", "./sh");
    assert_snapshot!(bench.seen(), @r#"
    network.ca_file = "~/.ostler/ca.pem"  # ~/.ostler/config.toml:2:1
    providers.p.api_key_file = "~/k"  # ~/.ostler/config.toml:9:1
    providers.p.name = "p"  # ~/.ostler/config.toml:8:1
    providers.q.name = "q"  # ~/.ostler/config.toml:11:1
    sandbox.allow_write = ["WORK/out", "~/o", "/abs"]  # ~/.ostler/config.toml:6:16
    tools.shell.path = "WORK/sh"  # OSTLER_TOOLS__SHELL__PATH
    "#);
}

#[test]
fn config_flag_takes_the_place_of_the_user_file() {
    let mut bench = Bench::new()
        .user("default_model = 'user'\n")
        .project("[display]\ncolor = 'never'\n");
    std::fs::write(bench.path("work/mine.toml"), "default_model = 'mine'\n").unwrap();
    bench.config_flag = Some("mine.toml".into());
    assert_snapshot!(bench.seen(), @r#"
    default_model = "mine"  # mine.toml:1:1
    display.color = "never"  # ostler.toml:2:1
    "#);
    // Naming the project's file makes it the person's own.
    let mut bench = Bench::new().project("[permissions]\nmode = 'allow'\n[agent]\nmax_steps = 3\n");
    bench.config_flag = Some("ostler.toml".into());
    assert_snapshot!(bench.seen(), @r#"
    agent.max_steps = 3  # ostler.toml:4:1
    permissions.mode = "allow"  # ostler.toml:2:1
    "#);
    bench.config_flag = Some("absent.toml".into());
    assert_snapshot!(bench.seen(), @r"
    error: this configuration file does not exist
    --> absent.toml
     = help: check the path given with --config
    ");
}

#[test]
fn keys_without_their_section_are_guessed() {
    let bench = Bench::new().user(
        "model = 'm'\nprovider = 'p'\nmax_tokens = 7\nsystem_prompt = 's'\nalpha_base_url = 'http://127.0.0.1:1'\n",
    );
    assert_snapshot!(bench.seen(), @r"
    ! ~/.ostler/config.toml:1:1: unknown key `model`; did you mean `default_model`?
    ! ~/.ostler/config.toml:2:1: unknown key `provider`; did you mean `providers`?
    ! ~/.ostler/config.toml:3:1: unknown key `max_tokens`; did you mean `agent.max_tokens`?
    ! ~/.ostler/config.toml:4:1: unknown key `system_prompt`; did you mean `agent.system_prompt`?
    ! ~/.ostler/config.toml:5:1: unknown key `alpha_base_url`; it is ignored
    ");
}

#[test]
fn sections_of_later_versions_are_set_aside() {
    let bench = Bench::new().user("[backend]\nname = 'none'\n[agent]\nmax_steps = 4\n");
    assert_snapshot!(bench.seen(), @r"
    agent.max_steps = 4  # ~/.ostler/config.toml:4:1
    ! ~/.ostler/config.toml:1:2: not used by this version yet: `backend`
    ");
}

#[test]
fn byte_order_mark_and_windows_lines_work() {
    let bench = Bench::new()
        .user("\u{feff}default_model = 'a'\r\n[agent]\r\nmax_steps = 2\r\n")
        .project("# c\r\n[agent]\r\neffrt = 'low'\r\n");
    assert_snapshot!(bench.seen(), @r#"
    agent.max_steps = 2  # ~/.ostler/config.toml:3:1
    default_model = "a"  # ~/.ostler/config.toml:1:1
    ! ostler.toml:3:1: unknown key `agent.effrt`; did you mean `effort`?
    "#);
}
