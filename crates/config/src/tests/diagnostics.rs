//! The exact words of errors and warnings.

use super::super::diagnose::{Paint, nearest};
use super::Bench;
use insta::assert_snapshot;
use ostler_wire::Language;

#[test]
fn wrong_types_point_at_the_value() {
    let cases = "default_model = 3\n[agent]\nmax_steps = \"10\"\ntemperature = -1\neffort = 'hihg'\n[tools]\nenabled = 'bash'\nbash_timeout_seconds = -5\nbash = 'no'\n[sessions]\nquota = '2 gigs'\n[display]\ncolor = 'blue'\nshow_tokens = 1\n[permissions]\nmode = true\n[network]\ntimeouts = 5\n[sandbox]\nallow_write = [1]\n";
    assert_snapshot!(Bench::new().user(cases).seen(), @r#"
    error: `default_model` must be a string, not 3
     --> ~/.ostler/config.toml:1:17
      |
    1 | default_model = 3
      |                 ^ expected a string
      |
      = help: put it in quotes: "3"

    error: `agent.max_steps` must be a whole number, 0 or greater, not a string
     --> ~/.ostler/config.toml:3:13
      |
    3 | max_steps = "10"
      |             ^^^^ expected a whole number, 0 or greater
      |
      = help: write 10 without the quotes

    error: `agent.temperature` must be a number, 0 or greater; it is -1
     --> ~/.ostler/config.toml:4:15
      |
    4 | temperature = -1
      |               ^^ expected a number, 0 or greater

    error: `agent.effort` must be one of "none", "minimal", "low", "medium", "high", "max"
     --> ~/.ostler/config.toml:5:10
      |
    5 | effort = 'hihg'
      |          ^^^^^^ not one of these
      |
      = help: did you mean "high"?

    error: `tools.enabled` must be a list, not a string
     --> ~/.ostler/config.toml:7:11
      |
    7 | enabled = 'bash'
      |           ^^^^^^ expected a list
      |
      = help: put it in brackets: ["…"]

    error: `tools.bash_timeout_seconds` must be a whole number, 0 or greater; it is -5
     --> ~/.ostler/config.toml:8:24
      |
    8 | bash_timeout_seconds = -5
      |                        ^^ expected a whole number, 0 or greater

    error: `tools.bash` must be true or false, not a string
     --> ~/.ostler/config.toml:9:8
      |
    9 | bash = 'no'
      |        ^^^^ expected true or false

    error: `sessions.quota` must be a size like "2GB" or "500MiB", or a number of bytes; it is a string
      --> ~/.ostler/config.toml:11:9
       |
    11 | quota = '2 gigs'
       |         ^^^^^^^^ expected a size like "2GB" or "500MiB", or a number of bytes

    error: `display.color` must be "auto", "always", "never", true or false; it is a string
      --> ~/.ostler/config.toml:13:9
       |
    13 | color = 'blue'
       |         ^^^^^^ expected "auto", "always", "never", true or false

    error: `display.show_tokens` must be true or false, not 1
      --> ~/.ostler/config.toml:14:15
       |
    14 | show_tokens = 1
       |               ^ expected true or false

    error: `permissions.mode` must be one of "ask", "allow", "deny"
      --> ~/.ostler/config.toml:16:8
       |
    16 | mode = true
       |        ^^^^ not one of these

    error: `network.timeouts` must be a table, not 5
      --> ~/.ostler/config.toml:18:12
       |
    18 | timeouts = 5
       |            ^ expected a table

    error: `sandbox.allow_write[0]` must be a string, not 1
      --> ~/.ostler/config.toml:20:16
       |
    20 | allow_write = [1]
       |                ^ expected a string
       |
       = help: put it in quotes: "1"
    "#);
}

#[test]
fn out_of_range_numbers() {
    let bench = Bench::new().user("[agent]\nmax_steps = 5000000000\nmax_tokens = -1\ntop_p = nan\n[network.timeouts]\nidle = inf\n");
    assert_snapshot!(bench.seen(), @r"
    error: `agent.max_tokens` must be a whole number, 0 or greater; it is -1
     --> ~/.ostler/config.toml:3:14
      |
    3 | max_tokens = -1
      |              ^^ expected a whole number, 0 or greater

    error: `agent.top_p` must be a number, 0 or greater; it is NaN
     --> ~/.ostler/config.toml:4:9
      |
    4 | top_p = nan
      |         ^^^ expected a number, 0 or greater

    error: `network.timeouts.idle` must be a number, 0 or greater; it is inf
     --> ~/.ostler/config.toml:6:8
      |
    6 | idle = inf
      |        ^^^ expected a number, 0 or greater
    ");
    assert_snapshot!(Bench::new().user("[agent]\nmax_steps = 99999999999999999999\n").seen(), @r"
    error: this file is not valid TOML
     --> ~/.ostler/config.toml:2:13
      |
    2 | max_steps = 99999999999999999999
      |             ^^^^^^^^^^^^^^^^^^^^ this number does not fit in 64 bits
    ");
}

#[test]
fn dates_and_long_numbers_are_called_what_they_are() {
    let bench = Bench::new().user("[tools]\nenabled = 1979-05-27\n");
    assert_snapshot!(bench.seen(), @r"
    error: `tools.enabled` must be a list, not a date
     --> ~/.ostler/config.toml:2:11
      |
    2 | enabled = 1979-05-27
      |           ^^^^^^^^^^ expected a list
    ");
    assert_snapshot!(Bench::new().user("[agent]\ntop_p = 1e999\n").seen(), @r"
    error: this file is not valid TOML
     --> ~/.ostler/config.toml:2:9
      |
    2 | top_p = 1e999
      |         ^^^^^ this number does not fit in 64 bits
    ");
}

#[test]
fn syntax_errors_are_all_reported() {
    let bench = Bench::new()
        .user("default_model = \n[agent\nmax_steps = 1\nx = 'open\n")
        .project("a = 1\na = 2\n");
    assert_snapshot!(bench.seen(), @r"
    error: this file is not valid TOML
     --> ~/.ostler/config.toml:1:17
      |
    1 | default_model = 
      |                 ^ string values must be quoted, expected literal string

    error: this file is not valid TOML
     --> ~/.ostler/config.toml:2:7
      |
    2 | [agent
      |       ^ unclosed table, expected `]`

    error: this file is not valid TOML
     --> ostler.toml:2:1
      |
    2 | a = 2
      | ^ duplicate key
    ");
}

#[test]
fn unknown_keys_warn_with_a_guess() {
    let bench = Bench::new().user(
        "defualt_model = 'x'\nmax_steps = 1\nzzz = 1\n[agent]\nmax-step = 3\n[[providers]]\nname = 'p'\nbaseurl = 'x'\n[tools]\nbsah = false\nenabld = []\n[tools.limits]\nbash_max = 1\n[\"odd section\"]\nx = 1\n",
    )
    .env("OSTLER_AGENT__EFORT", "low")
    .env("OSTLER___X", "1");
    assert_snapshot!(bench.seen(), @r#"
    providers.p.name = "p"  # ~/.ostler/config.toml:7:1
    tools.bsah = false  # ~/.ostler/config.toml:10:1
    ! ~/.ostler/config.toml:10:1: unknown key `tools.bsah`; did you mean `bash`?
    ! ~/.ostler/config.toml:1:1: unknown key `defualt_model`; did you mean `default_model`?
    ! ~/.ostler/config.toml:2:1: unknown key `max_steps`; did you mean `agent.max_steps`?
    ! ~/.ostler/config.toml:3:1: unknown key `zzz`; it is ignored
    ! ~/.ostler/config.toml:5:1: unknown key `agent.max-step`; did you mean `max_steps`?
    ! ~/.ostler/config.toml:8:1: unknown key `providers.p.baseurl`; did you mean `base_url`?
    ! ~/.ostler/config.toml:11:1: unknown key `tools.enabld`; did you mean `enabled`?
    ! ~/.ostler/config.toml:13:1: unknown key `tools.limits.bash_max`; it is ignored
    ! ~/.ostler/config.toml:14:2: unknown key `"odd section"`; it is ignored
    ! OSTLER___X: is ignored: it does not name a key
    ! OSTLER_AGENT__EFORT: unknown key `agent.efort`; did you mean `effort`?
    "#);
}

#[test]
fn a_role_has_one_model() {
    let bench = Bench::new().user(
        "[roles.reviewer]\nmodel = 'ostler/acme/x'\nfallback_models = ['acme/y']\n[roles.docs]\nfallback_models = []\nfallback = 1\n",
    );
    assert_snapshot!(bench.seen(), @r"
    error: `roles.reviewer.fallback_models` is not supported: a role has one model
     --> ~/.ostler/config.toml:3:1
      |
    3 | fallback_models = ['acme/y']
      | ^^^^^^^^^^^^^^^ remove this
      |
      = help: name the model in `model`; a role whose model cannot be used says so when it is called

    error: `roles.docs.fallback_models` is not supported: a role has one model
     --> ~/.ostler/config.toml:5:1
      |
    5 | fallback_models = []
      | ^^^^^^^^^^^^^^^ remove this
      |
      = help: name the model in `model`; a role whose model cannot be used says so when it is called
    ");
}

#[test]
fn providers_must_make_sense() {
    let bench = Bench::new().user(
        "[[providers]]\nkind = 'openai'\n[[providers]]\nname = 'a'\nbase_url = 'localhost:80'\nmodel = 'x'\nmodels = ['y']\n[[providers]]\nname = 'a'\nbase_url = 'not a url'\nheaders = { 'bad name' = 'x', ok = \"a\\nb\" }\n[[providers]]\nname = 'with/slash'\n[models.m]\napi_key = 'k'\napi_key_env = 'K'\napi_base_url = 'ftp://x'\n[models.a]\n[models.'x y']\n",
    );
    assert_snapshot!(bench.seen(), @r#"
    error: `providers[0]` has no `name`
     --> ~/.ostler/config.toml:1:1
      |
    1 | [[providers]]
      | ^^^^^^^^^^^^^ `name` is missing here
      |
      = help: add `name = …` to this table

    error: a base URL must start with http:// or https:// and name a host
     --> ~/.ostler/config.toml:5:12
      |
    5 | base_url = 'localhost:80'
      |            ^^^^^^^^^^^^^^ not an address
      |
      = help: write it like "https://host/v1" or "http://127.0.0.1:8080/v1"

    error: `model` and `models` cannot both be given
     --> ~/.ostler/config.toml:6:1
      |
    6 | model = 'x'
      | ^^^^^ one of the two
      |
      = help: keep `models`, and add `default = …` for the one to use first

    error: two providers are named `a`
     --> ~/.ostler/config.toml:9:8
      |
    9 | name = 'a'
      |        ^^^ used before in this file
      |
      = help: give each its own name, or put the models of both into one entry

    error: this base URL is not valid: relative URL without a base
      --> ~/.ostler/config.toml:10:12
       |
    10 | base_url = 'not a url'
       |            ^^^^^^^^^^^ not an address
       |
       = help: write it like "https://host/v1" or "http://127.0.0.1:8080/v1"

    error: this is not the name of an HTTP header
      --> ~/.ostler/config.toml:11:13
       |
    11 | headers = { 'bad name' = 'x', ok = "a\nb" }
       |             ^^^^^^^^^^ cannot be sent

    error: a header value may have no line breaks or control characters
      --> ~/.ostler/config.toml:11:36
       |
    11 | headers = { 'bad name' = 'x', ok = "a\nb" }
       |                                    ^^^^^^ cannot be sent

    error: a provider's name may have no `/`, `@` or space in it
      --> ~/.ostler/config.toml:13:8
       |
    13 | name = 'with/slash'
       |        ^^^^^^^^^^^^ not a usable name

    error: `models.m` has more than one key
      --> ~/.ostler/config.toml:16:1
       |
    16 | api_key_env = 'K'
       | ^^^^^^^^^^^ a second one
       |
       = help: keep one of `api_key_env`, `api_key_file`, `api_key`

    error: a base URL must start with http:// or https:// and name a host
      --> ~/.ostler/config.toml:17:16
       |
    17 | api_base_url = 'ftp://x'
       |                ^^^^^^^^^ not an address
       |
       = help: write it like "https://host/v1" or "http://127.0.0.1:8080/v1"

    error: `models.a` has the name of a provider in the same file
      --> ~/.ostler/config.toml:18:9
       |
    18 | [models.a]
       |         ^ used by [[providers]] too
       |
       = help: give one of them another name

    error: a provider's name may have no `/`, `@` or space in it
      --> ~/.ostler/config.toml:19:9
       |
    19 | [models.'x y']
       |         ^^^^^ not a usable name
    "#);
}

#[test]
fn a_wrong_name_is_one_error() {
    assert_snapshot!(Bench::new().user("[[providers]]\nname = 1\n").seen(), @r#"
    error: `providers[0].name` must be a string, not 1
     --> ~/.ostler/config.toml:2:8
      |
    2 | name = 1
      |        ^ expected a string
      |
      = help: put it in quotes: "1"
    "#);
    assert_snapshot!(Bench::new().user("providers = 'x'\nagent = []\n").seen(), @r"
    error: `providers` must be a list, not a string
     --> ~/.ostler/config.toml:1:13
      |
    1 | providers = 'x'
      |             ^^^ expected a list

    error: `agent` must be a table, not a list
     --> ~/.ostler/config.toml:2:9
      |
    2 | agent = []
      |         ^^ expected a table
    ");
}

#[test]
fn variables_and_flags_are_named() {
    let bench = Bench::new().env("OSTLER_AGENT__MAX_STEPS", "many").flag(
        "--effort",
        "agent.effort",
        "hgih",
    );
    assert_snapshot!(bench.seen(), @r#"
    error: `agent.max_steps` must be a whole number, 0 or greater, not a string
    --> OSTLER_AGENT__MAX_STEPS

    error: `agent.effort` must be one of "none", "minimal", "low", "medium", "high", "max"
    --> --effort
     = help: did you mean "high"?
    "#);
    assert_snapshot!(Bench::new().flag("--set", "a..b", "1").seen(), @"error: --set: `a..b` is not a key like `agent.max_steps`");
}

#[test]
fn files_that_cannot_be_read() {
    let bench = Bench::new();
    std::fs::create_dir(bench.places().project_config()).unwrap();
    std::fs::write(bench.places().user_config(), b"a = 1\nb = \"\xff\"\n").unwrap();
    assert_snapshot!(bench.seen(), @r"
    error: this file is not UTF-8 text
    --> ~/.ostler/config.toml:2:6
     = help: save it as UTF-8 and try again

    error: this should be a configuration file, but it is a directory
    --> ostler.toml
     = help: move it away, or name another file with --config
    ");
    let bench = Bench::new();
    std::fs::write(bench.places().user_config(), [0xff, 0xfe, b'a', 0]).unwrap();
    assert_snapshot!(bench.seen(), @r"
    error: this file is not UTF-8 text
    --> ~/.ostler/config.toml:1:1
     = help: save it as UTF-8 and try again
    ");
}

#[test]
fn excerpts_hide_keys() {
    let bench = Bench::new().user("[[providers]]\nname = 'p'\napi_key = sk-secret\nheaders = { Authorization = Bearer, X = 1 }\napi_key_env = K\n");
    assert_snapshot!(bench.seen(), @r"
    error: this file is not valid TOML
     --> ~/.ostler/config.toml:3:11
      |
    3 | api_key = *********
      |           ^^^^^^^^^ string values must be quoted, expected literal string

    error: this file is not valid TOML
     --> ~/.ostler/config.toml:4:29
      |
    4 | headers = { Authorization = ******* * * * *
      |                             ^^^^^^ string values must be quoted, expected literal string

    error: this file is not valid TOML
     --> ~/.ostler/config.toml:5:15
      |
    5 | api_key_env = K
      |               ^ string values must be quoted, expected literal string
    ");
    assert!(!bench.seen().contains("sk-secret"));
}

#[test]
fn long_lines_are_named_not_shown() {
    let long = "x".repeat(5_000);
    let bench = Bench::new().user(&format!("[agent]\nmax_steps = '{long}'\n"));
    assert_snapshot!(bench.seen(), @r"
    error: `agent.max_steps` must be a whole number, 0 or greater, not a string
    --> ~/.ostler/config.toml:2:13
    ");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let bench = Bench::new().user("[agent]\n\"\\u001b[31mred\" = 1\nmax_steps = \"\u{7f}\"\n");
    let seen = bench.seen();
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
    let bench = Bench::new().user("\"\\u001b[31mred\" = 1\n");
    let seen = bench.seen();
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
    assert_snapshot!(seen, @r#"! ~/.ostler/config.toml:1:1: unknown key `"\u{1b}[31mred"`; it is ignored"#);
}

#[test]
fn colour_only_when_asked() {
    let error = Bench::new().user("agent = 1\n").load().unwrap_err();
    assert!(
        !error
            .render(Paint::Plain, Language::English)
            .contains('\u{1b}')
    );
    assert!(
        error
            .render(Paint::Color, Language::English)
            .contains('\u{1b}')
    );
}

#[test]
fn guesses() {
    let words = ["max_steps", "effort", "system_prompt", "base_url", "top_p"];
    let cases = [
        ("max_step", Some("max_steps")),
        ("max-steps", Some("max_steps")),
        ("MAX_STEPS", Some("max_steps")),
        ("baseurl", Some("base_url")),
        ("efort", Some("effort")),
        ("zebra", None),
        ("x", None),
        ("", None),
    ];
    for (word, expected) in cases {
        assert_eq!(nearest(word, words), expected, "{word}");
    }
}
