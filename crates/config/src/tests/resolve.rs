//! Which model a reference means, and what a request to it needs.

use std::path::Path;
use std::time::Duration;

use super::super::keys::Dotenv;
use super::super::resolve::{ResolveError, ResolvedModel, Resolver};
use super::super::tree::Layer;
use super::{Bench, built_in};
use insta::assert_snapshot;

fn no_mode(_: &Path) -> Option<u32> {
    None
}

fn resolve(bench: &Bench, reference: &str) -> Result<ResolvedModel, ResolveError> {
    let loaded = bench.load().unwrap();
    let built_in = built_in();
    let dotenv = Dotenv::load(&bench.places().dotenv(), no_mode);
    let resolver = Resolver::new(&loaded, &built_in, &bench.env, &dotenv, bench.logins());
    match reference {
        "" => resolver.default(),
        reference => resolver.resolve(reference),
    }
}

fn line(bench: &Bench, reference: &str) -> String {
    let text = match resolve(bench, reference) {
        Ok(model) => {
            let key = model
                .key
                .as_ref()
                .map_or("no key", |key| key.value.reveal());
            let picked = model
                .picked
                .as_ref()
                .map(|why| format!(" ({why})"))
                .unwrap_or_default();
            format!(
                "{} [{}] {} {key}{picked}",
                model.reference(),
                model.kind,
                model.base_url
            )
        }
        Err(error) => format!("! {error}"),
    };
    bench.clean(&text)
}

fn table(bench: &Bench, references: &[&str]) -> String {
    references
        .iter()
        .map(|reference| format!("{reference} -> {}\n", line(bench, reference)))
        .collect()
}

fn with_keys() -> Bench {
    Bench::new()
        .env("ALPHA_API_KEY", "ka")
        .env("BETA_API_KEY", "kb")
        .env("MART_API_KEY", "km")
}

#[test]
fn references() {
    let bench = with_keys().user("[[providers]]\nname = 'mine'\nkind = 'openai'\nbase_url = 'http://127.0.0.1:1/v1/'\nmodels = ['x', 'deep/name', 'at@home']\n");
    let references = [
        "alpha",
        "beta",
        "beta-5",
        "alpha/unlisted",
        "alpha/alpha-small@high",
        "beta@low",
        "alpha/alpha-large",
        "beta/open-20b",
        "free/mini",
        "deep/name",
        "mine/deep/name",
        "at@home",
        "mine/at@home@v",
        "local",
        "demo",
        " alpha ",
        "alpah",
        "beta-55",
        "alpa/x",
        "nothing/x",
        "alpha/",
        "/x",
        "@",
        "zzz",
    ];
    assert_snapshot!(table(&bench, &references), @r"
    alpha -> alpha/alpha-large [anthropic] https://api.alpha.test ka
    beta -> beta/beta-4 [openai-responses] https://api.beta.test/v1 kb
    beta-5 -> beta/beta-5 [openai-responses] https://api.beta.test/v1 kb
    alpha/unlisted -> alpha/unlisted [anthropic] https://api.alpha.test ka
    alpha/alpha-small@high -> alpha/alpha-small@high [anthropic] https://api.alpha.test ka
    beta@low -> beta/beta-4@low [openai-responses] https://api.beta.test/v1 kb
    alpha/alpha-large -> alpha/alpha-large [anthropic] https://api.alpha.test ka
    beta/open-20b -> beta/open-20b [openai-responses] https://api.beta.test/v1 kb
    free/mini -> mart/free/mini [openai] https://mart.test/api/v1 km
    deep/name -> mine/deep/name [openai] http://127.0.0.1:1/v1 no key
    mine/deep/name -> mine/deep/name [openai] http://127.0.0.1:1/v1 no key
    at@home -> mine/at@home [openai] http://127.0.0.1:1/v1 no key
    mine/at@home@v -> mine/at@home@v [openai] http://127.0.0.1:1/v1 no key
    local -> local/small [openai] http://127.0.0.1:11434/v1 no key
    demo -> demo/demo [demo]  no key
     alpha  -> alpha/alpha-large [anthropic] https://api.alpha.test ka
    alpah -> ! there is no provider or model `alpah`; did you mean `alpha`?
    providers: mine, alpha, beta, mart, local, demo; any of their models can be named as provider/model
    beta-55 -> ! there is no provider or model `beta-55`; did you mean `beta-5`?
    providers: mine, alpha, beta, mart, local, demo; any of their models can be named as provider/model
    alpa/x -> ! there is no provider or model `alpa/x`; did you mean `alpha/x`?
    providers: mine, alpha, beta, mart, local, demo; any of their models can be named as provider/model
    nothing/x -> ! there is no provider or model `nothing/x`
    providers: mine, alpha, beta, mart, local, demo; any of their models can be named as provider/model
    alpha/ -> ! there is no provider or model `alpha/`; did you mean `alpha`?
    providers: mine, alpha, beta, mart, local, demo; any of their models can be named as provider/model
    /x -> ! there is no provider or model `/x`
    providers: mine, alpha, beta, mart, local, demo; any of their models can be named as provider/model
    @ -> ! there is no provider or model `@`
    providers: mine, alpha, beta, mart, local, demo; any of their models can be named as provider/model
    zzz -> ! there is no provider or model `zzz`
    providers: mine, alpha, beta, mart, local, demo; any of their models can be named as provider/model
    ");
}

#[test]
fn a_variant_follows_a_model_that_is_listed() {
    let bench = with_keys().user("[[providers]]\nname = 'mine'\nkind = 'openai'\nbase_url = 'http://127.0.0.1:1/v1/'\nmodels = ['x', 'at@home']\n");
    for (reference, model, variant) in [
        ("alpha/alpha-small@high", "alpha-small", Some("high")),
        ("beta@low", "beta-4", Some("low")),
        ("beta-5@low", "beta-5", Some("low")),
        ("at@home", "at@home", None),
        ("mine/at@home", "at@home", None),
        ("mine/at@home@v", "at@home", Some("v")),
        // Anything else is a name that the endpoint may know.
        ("mine/other@2026", "other@2026", None),
    ] {
        let found = resolve(&bench, reference).unwrap();
        assert_eq!(
            (found.model.as_str(), found.variant.as_deref()),
            (model, variant),
            "{reference}"
        );
    }
}

#[test]
fn names_with_a_slash_go_to_the_reseller_that_can_serve_them() {
    let only_mart = Bench::new().env("MART_API_KEY", "km");
    assert_snapshot!(table(&only_mart, &["beta/open-20b", "alpha/alpha-large", "alpha/other"]), @r"
    beta/open-20b -> mart/beta/open-20b [openai] https://mart.test/api/v1 km
    alpha/alpha-large -> ! no key for `alpha`; looked at: variable OSTLER_API_KEY, ~/.ostler/.env (ALPHA_API_KEY), variable ALPHA_API_KEY
    set one of these, or save the key with `ostler setup`
    alpha/other -> ! no key for `alpha`; looked at: variable OSTLER_API_KEY, ~/.ostler/.env (ALPHA_API_KEY), variable ALPHA_API_KEY
    set one of these, or save the key with `ostler setup`
    ");
    let listed = with_keys().user("[[providers]]\nname = 'mart'\nmodels = ['beta/open-20b']\n");
    assert_snapshot!(table(&listed, &["beta/open-20b", "beta/other"]), @r"
    beta/open-20b -> mart/beta/open-20b [openai] https://mart.test/api/v1 km
    beta/other -> beta/other [openai-responses] https://api.beta.test/v1 kb
    ");
}

#[test]
fn without_a_default_the_first_with_a_key() {
    let cases = [
        with_keys(),
        Bench::new().env("BETA_API_KEY", "kb").env("MART_API_KEY", "km"),
        Bench::new().env("BETA_API_KEY", "kb").user("[[providers]]\nname = 'mine'\nkind = 'openai'\nbase_url = 'http://127.0.0.1:1'\nmodel = 'm'\n"),
        Bench::new().env("BETA_API_KEY", "kb").user("[[providers]]\nname = 'mine'\nkind = 'openai'\nbase_url = 'http://127.0.0.1:1'\nmodel = 'm'\napi_key_env = 'NOPE'\n"),
        Bench::new().env("BETA_API_KEY", "kb").user("default_model = 'beta-5'\n"),
        Bench::new().env("BETA_API_KEY", "kb").env("OSTLER_MODEL", "local"),
        Bench::new(),
        Bench::new().env("OSTLER_API_KEY", "k"),
        Bench::new()
            .env("OSTLER_API_KEY", "k")
            .user("[[providers]]\nname = 'beta'\n"),
        Bench::new().env("BETA_API_KEY", "kb").user("[auth]\nuse_process_env = false\n"),
        Bench::new().env("BETA_API_KEY", "two\nlines"),
        Bench::new().env("ALPHA_API_KEY", "two\nlines").env("BETA_API_KEY", "kb"),
    ];
    let answers: String = cases.iter().map(|bench| line(bench, "") + "\n\n").collect();
    assert_snapshot!(answers, @r"
    alpha/alpha-large [anthropic] https://api.alpha.test ka (no default_model is set; alpha has a key in variable ALPHA_API_KEY)

    beta/beta-4 [openai-responses] https://api.beta.test/v1 kb (no default_model is set; beta has a key in variable BETA_API_KEY)

    mine/m [openai] http://127.0.0.1:1 no key (no default_model is set; mine is configured)

    beta/beta-4 [openai-responses] https://api.beta.test/v1 kb (no default_model is set; beta has a key in variable BETA_API_KEY)

    beta/beta-5 [openai-responses] https://api.beta.test/v1 kb

    local/small [openai] http://127.0.0.1:11434/v1 no key

    ! no model is configured and no provider key was found
    run `ostler setup`, or set one of ALPHA_API_KEY, BETA_API_KEY, MART_API_KEY
    or try it without an account: `ostler demo`

    ! no model is configured and no provider key was found (OSTLER_API_KEY is set, but needs a model: use --model)
    run `ostler setup`, or set one of ALPHA_API_KEY, BETA_API_KEY, MART_API_KEY
    or try it without an account: `ostler demo`

    beta/beta-4 [openai-responses] https://api.beta.test/v1 k (no default_model is set; beta has a key in variable OSTLER_API_KEY)

    ! no model is configured and no provider key was found
    run `ostler setup`, or set one of ALPHA_API_KEY, BETA_API_KEY, MART_API_KEY
    or try it without an account: `ostler demo`

    ! the key of `beta` from variable BETA_API_KEY has characters that cannot be sent; copy it again without line breaks

    beta/beta-4 [openai-responses] https://api.beta.test/v1 kb (no default_model is set; beta has a key in variable BETA_API_KEY)
    ");
}

#[test]
fn addresses_come_from_the_environment_first() {
    let user = "[[providers]]\nname = 'alpha'\nbase_url = 'https://config.test/'\n[[providers]]\nname = 'other'\nkind = 'anthropic'\nmodel = 'm'\n[[providers]]\nname = 'own'\nkind = 'anthropic'\nbase_url = 'https://own.test'\nmodel = 'm'\n";
    let references = ["alpha", "other", "own", "beta"];
    assert_snapshot!(table(&with_keys().user(user), &references), @r"
    alpha -> alpha/alpha-large [anthropic] https://config.test ka
    other -> other/m [anthropic] https://api.alpha.test no key
    own -> own/m [anthropic] https://own.test no key
    beta -> beta/beta-4 [openai-responses] https://api.beta.test/v1 kb
    ");
    let bench = with_keys()
        .user(user)
        .env("ALPHA_BASE_URL", "http://127.0.0.1:7/");
    assert_snapshot!(table(&bench, &references), @r"
    alpha -> alpha/alpha-large [anthropic] http://127.0.0.1:7 ka
    other -> other/m [anthropic] http://127.0.0.1:7 no key
    own -> own/m [anthropic] https://own.test no key
    beta -> beta/beta-4 [openai-responses] https://api.beta.test/v1 kb
    ");
    let bench = with_keys()
        .env("ALPHA_BASE_URL", "http://127.0.0.1:7")
        .env("OSTLER_BASE_URL", "http://127.0.0.1:8/v1");
    let references = ["alpha", "some-model", "custom/some-model", "customs/x"];
    assert_snapshot!(table(&bench, &references), @r"
    alpha -> alpha/alpha-large [anthropic] http://127.0.0.1:8/v1 ka
    some-model -> custom/some-model [openai] http://127.0.0.1:8/v1 no key
    custom/some-model -> custom/some-model [openai] http://127.0.0.1:8/v1 no key
    customs/x -> custom/customs/x [openai] http://127.0.0.1:8/v1 no key
    ");
    let bench = with_keys().env("ALPHA_BASE_URL", "nonsense");
    assert_snapshot!(table(&bench, &["alpha", "beta"]), @r"
    alpha -> ! provider `alpha`: ALPHA_BASE_URL: this base URL is not valid: relative URL without a base
    beta -> beta/beta-4 [openai-responses] https://api.beta.test/v1 kb
    ");
    assert_snapshot!(table(&with_keys().env("ALPHA_BASE_URL", ""), &["alpha"]), @"alpha -> alpha/alpha-large [anthropic] https://api.alpha.test ka");
}

#[test]
fn everything_a_request_needs() {
    let bench = Bench::new().env("K", "sk").user(
        "[network.timeouts]\nconnect = 3\nidle = 0\n[[providers]]\nname = 'full'\nkind = 'openai'\nbase_url = 'https://full.test/v1'\nmodels = ['a', 'b']\ndefault = 'b'\napi_key_env = 'K'\ncontext_window = 1000\nmax_output = 50\nprice = { input = 1, cached_input = 0.5, output = 2 }\nheaders = { X-A = '1' }\nextra_body = { top_k = 4, nested = { on = true } }\nquirks = { q = 'r' }\nstream = false\ntimeouts = { connect = 0.25 }\n",
    );
    let model = resolve(&bench, "full").unwrap();
    assert_eq!(model.reference(), "full/b");
    assert_eq!(
        (model.context_window, model.max_output),
        (Some(1000), Some(50))
    );
    let price = model.price.unwrap();
    assert_eq!(
        (
            price.input,
            price.cached_input,
            price.cache_write,
            price.output
        ),
        (Some(1.0), Some(0.5), None, Some(2.0))
    );
    assert_eq!(model.headers["X-A"], "1");
    assert_eq!(
        serde_json::to_string(&model.extra_body).unwrap(),
        r#"{"nested":{"on":true},"top_k":4}"#
    );
    assert_eq!(model.quirks["q"].as_str(), Some("r"));
    assert!(!model.stream);
    assert_eq!(model.layer, Layer::User);
    assert_eq!(model.timeouts.connect, Duration::from_millis(250));
    assert_eq!(model.timeouts.headers, Duration::from_secs(60));
    assert!(model.timeouts.idle > Duration::from_secs(86_400));
    assert!(!format!("{model:?}").contains("\"sk\""));
}

#[test]
fn protocols_follow_from_kind_and_api() {
    let entry = |fields: &str| {
        let text = format!(
            "[[providers]]\nname = 'p'\nbase_url = 'http://127.0.0.1:1'\nmodel = 'm'\n{fields}\n"
        );
        line(&Bench::new().user(&text), "p")
    };
    let cases = [
        "kind = 'openai'",
        "kind = 'openai'\napi = 'responses'",
        "kind = 'openai-responses'\napi = 'completions'",
        "api = 'chat'",
        "kind = 'anthropic'\napi = 'responses'",
        "kind = 'opnai'",
        "kind = 'nonsense'",
        "",
    ];
    let answers: String = cases.iter().map(|case| entry(case) + "\n").collect();
    assert_snapshot!(answers, @r#"
    p/m [openai] http://127.0.0.1:1 no key
    p/m [openai-responses] http://127.0.0.1:1 no key
    p/m [openai] http://127.0.0.1:1 no key
    p/m [openai] http://127.0.0.1:1 no key
    ! provider `p` (~/.ostler/config.toml:1:1): `api` cannot be used with kind "anthropic"
    ! provider `p` (~/.ostler/config.toml:1:1): there is no kind "opnai"; did you mean "openai"?
    ! provider `p` (~/.ostler/config.toml:1:1): there is no kind "nonsense"; there are openai, openai-responses, anthropic, gemini, demo, plugin
    ! provider `p` (~/.ostler/config.toml:1:1): it has no `kind`; name its wire protocol
    "#);
    let bench = Bench::new().user("[models.fast]\napi_base_url = 'http://127.0.0.1:1'\n[models.new]\napi_base_url = 'http://127.0.0.1:1'\napi = 'responses'\nmodel = 'real'\n");
    assert_snapshot!(table(&bench, &["fast", "new", "real"]), @r"
    fast -> fast/fast [openai] http://127.0.0.1:1 no key
    new -> new/real [openai-responses] http://127.0.0.1:1 no key
    real -> new/real [openai-responses] http://127.0.0.1:1 no key
    ");
}

#[test]
fn incomplete_providers_say_what_is_missing() {
    let bench = Bench::new().user("[[providers]]\nname = 'a'\nkind = 'openai'\nmodel = 'm'\n[[providers]]\nname = 'b'\nkind = 'openai'\nbase_url = 'http://127.0.0.1:1'\n[[providers]]\nname = 'c'\nkind = 'openai'\nbase_url = 'http://127.0.0.1:1'\nmodel = 'm'\napi_key_env = 'C_KEY'\n[[providers]]\nname = 'd'\nkind = 'openai'\nbase_url = 'http://127.0.0.1:1'\nmodel = 'm'\napi_key_file = 'absent'\n[[providers]]\nname = 'e'\nkind = 'openai'\nbase_url = 'http://127.0.0.1:1'\nmodel = 'm'\napi_key_env = 'E_KEY'\nauth = 'login'\n");
    assert_snapshot!(table(&bench, &["a", "b", "c", "d", "e"]), @r#"
    a -> ! provider `a` (~/.ostler/config.toml:1:1): it has no `base_url`; add the address of its server
    b -> ! provider `b` (~/.ostler/config.toml:5:1): it has no model; add `models = […]`
    c -> ! no key for `c`; looked at: variable OSTLER_API_KEY, ~/.ostler/.env (C_KEY), variable C_KEY
    set one of these, or save the key with `ostler setup`
    d -> ! the key file of `d` cannot be used: ~/.ostler/absent: No such file or directory (os error 2)
    e -> ! provider `e` needs a login (`auth = "login"`), but has no `oauth`
    add `[providers.oauth]` with the address of its tokens
    "#);
}

/// A provider with a login at `https://corp.test`, and what a trusted project makes of it.
fn with_login(project: &str) -> Bench {
    let user = "[[providers]]\nname = 'corp'\nkind = 'openai'\nbase_url = 'https://corp.test/v1'\nmodel = 'm'\n[providers.oauth]\nissuer = 'https://id.test'\nclient_id = 'c'\nclient_secret = 'own'\n";
    let bench = Bench::new().user(user).project(project).trusted();
    let store = r#"{"logins": [{"provider": "corp", "origin": "https://corp.test", "access_token": "t",
        "obtained": "2026-11-15T12:00:00Z", "since": "2026-11-15T12:00:00Z",
        "token_url": "https://id.test/token", "client_id": "c"}]}"#;
    std::fs::write(bench.logins().path(), store).unwrap();
    bench
}

#[test]
fn a_login_serves_its_origin_and_no_other() {
    let check = |project: &str| match resolve(&with_login(project), "corp") {
        Ok(model) => format!(
            "{:?} at {} ({:?})",
            model.login, model.base_url, model.layer
        ),
        Err(error) => format!("! {error}"),
    };
    let provider = |more: &str| format!("[[providers]]\nname = 'corp'\n{more}");
    let projects = [
        String::new(),
        provider("base_url = 'https://corp.test/v2'\n"),
        provider("base_url = 'https://corp.test:8443/v1'\n"),
        provider("base_url = 'http://corp.test/v1'\n"),
        provider("base_url = 'https://evil.test/v1'\n"),
        provider("oauth.token_url = 'https://evil.test/token'\n"),
        provider("api_key = 'k'\nauth = 'login'\n"),
    ];
    assert_snapshot!(projects.map(|p| check(&p)).join("\n"), @r#"
    Some(UsableLogin { origin: "https://corp.test", name: Ours(LoginOf, [Said("2026-11-15")]), client_secret: Some(Secret(…)) }) at https://corp.test/v1 (User)
    Some(UsableLogin { origin: "https://corp.test", name: Ours(LoginOf, [Said("2026-11-15")]), client_secret: Some(Secret(…)) }) at https://corp.test/v2 (Project)
    ! the login of `corp` is for https://corp.test, but its requests go to https://corp.test:8443; it is not sent there
    this project's ostler.toml has changed the address
    ! the login of `corp` is for https://corp.test, but its requests go to http://corp.test; it is not sent there
    this project's ostler.toml has changed the address
    ! the login of `corp` is for https://corp.test, but its requests go to https://evil.test; it is not sent there
    this project's ostler.toml has changed the address
    Some(UsableLogin { origin: "https://corp.test", name: Ours(LoginOf, [Said("2026-11-15")]), client_secret: Some(Secret(…)) }) at https://corp.test/v1 (Project)
    Some(UsableLogin { origin: "https://corp.test", name: Ours(LoginOf, [Said("2026-11-15")]), client_secret: Some(Secret(…)) }) at https://corp.test/v1 (Project)
    "#);
    assert_snapshot!(line(&with_login(""), ""), @"corp/m [openai] https://corp.test/v1 no key (no default_model is set; corp has a login of 2026-11-15)");
    let keyed = with_login("").env("OSTLER_API_KEY", "general");
    assert_snapshot!(line(&keyed, "corp"), @"corp/m [openai] https://corp.test/v1 general");
}

#[test]
fn a_project_cannot_point_a_key_elsewhere() {
    let user = "[[providers]]\nname = 'corp'\nkind = 'openai'\nbase_url = 'https://corp.test/v1'\nmodel = 'm'\napi_key = 'literal'\n[[providers]]\nname = 'team'\nkind = 'openai'\nbase_url = 'https://team.test'\nmodel = 'm'\napi_key_env = 'TEAM_KEY'\n";
    let project = "[[providers]]\nname = 'alpha'\nbase_url = 'https://evil.test'\n[[providers]]\nname = 'corp'\nbase_url = 'https://evil.test'\n[[providers]]\nname = 'sly'\nkind = 'openai'\nbase_url = 'https://evil.test'\nmodel = 'm'\napi_key_env = 'TEAM_KEY'\n[[providers]]\nname = 'fresh'\nkind = 'openai'\nbase_url = 'https://fresh.test'\nmodel = 'm'\napi_key_env = 'FRESH_KEY'\n[[providers]]\nname = 'beta'\nbase_url = 'https://api.beta.test/v2'\n[[providers]]\nname = 'team'\ncontext_window = 5\n";
    let bench = with_keys()
        .env("TEAM_KEY", "kt")
        .env("FRESH_KEY", "kf")
        .user(user)
        .project(project);
    let references = ["alpha", "corp", "sly", "fresh", "beta", "team"];
    // Untrusted, none of it counts.
    assert_snapshot!(table(&bench, &references), @r"
    alpha -> alpha/alpha-large [anthropic] https://api.alpha.test ka
    corp -> corp/m [openai] https://corp.test/v1 literal
    sly -> ! there is no provider or model `sly`
    providers: corp, team, alpha, beta, mart, local, demo; any of their models can be named as provider/model
    fresh -> ! there is no provider or model `fresh`
    providers: corp, team, alpha, beta, mart, local, demo; any of their models can be named as provider/model
    beta -> beta/beta-4 [openai-responses] https://api.beta.test/v1 kb
    team -> team/m [openai] https://team.test kt
    ");
    let bench = bench.trusted();
    assert_snapshot!(table(&bench, &references), @r"
    alpha -> ! provider `alpha` (ostler.toml:3:1): the key from variable ALPHA_API_KEY belongs to https://api.alpha.test, but the project sends it to https://evil.test; refused
    name another key for it, or put this provider into your own config file
    corp -> ! provider `corp` (ostler.toml:6:1): the key from api_key in the config file belongs to https://corp.test, but the project sends it to https://evil.test; refused
    name another key for it, or put this provider into your own config file
    sly -> ! provider `sly` (ostler.toml:10:1): the key from variable TEAM_KEY belongs to https://team.test, but the project sends it to https://evil.test; refused
    name another key for it, or put this provider into your own config file
    fresh -> fresh/m [openai] https://fresh.test kf
    beta -> beta/beta-4 [openai-responses] https://api.beta.test/v2 kb
    team -> team/m [openai] https://team.test kt
    ");
    // The general key never goes where a project says.
    let bench = bench.env("OSTLER_API_KEY", "general");
    assert_snapshot!(table(&bench, &["fresh", "team", "mart"]), @r"
    fresh -> fresh/m [openai] https://fresh.test kf
    team -> team/m [openai] https://team.test general
    mart -> mart/alpha/alpha-large [openai] https://mart.test/api/v1 general
    ");
}

#[cfg(unix)]
#[test]
fn a_key_by_another_name_is_the_same_key() {
    let user = "[[providers]]\nname = 'corp'\nkind = 'openai'\nbase_url = 'https://corp.test'\nmodel = 'm'\napi_key_file = '~/key'\n[[providers]]\nname = 'headed'\nkind = 'openai'\nbase_url = 'https://headed.test'\nmodel = 'm'\nheaders = { X-Auth = 'secret' }\n[[providers]]\nname = 'moved'\nkind = 'openai'\nbase_url = 'https://moved.test'\nbase_url_env = 'MOVED_URL'\nmodel = 'm'\napi_key = 'own'\n";
    let evil = |name: &str, more: &str| {
        format!(
            "[[providers]]\nname = '{name}'\nkind = 'openai'\nbase_url = 'https://evil.test'\nmodel = 'm'\n{more}\n"
        )
    };
    let project = [
        evil("link", "api_key_file = 'k'"),
        evil("path", "api_key_file = '~/x/../key'"),
        evil("literal", "api_key = 'file-key'"),
        evil("general", "api_key_env = 'OSTLER_API_KEY'"),
        evil("other", "api_key_env = 'SAME_AS_ALPHA'"),
        evil("headed", ""),
        evil("moved", "base_url_env = 'PROXY'"),
        evil("alpha", "base_url_env = 'PROXY'"),
        evil("own", "api_key = 'its own'"),
    ];
    let bench = with_keys()
        .env("OSTLER_API_KEY", "general")
        .env("SAME_AS_ALPHA", "ka")
        .env("PROXY", "http://proxy.test:3128")
        .user(user)
        .project(&project.concat())
        .trusted();
    std::fs::write(bench.path("home/key"), "file-key\n").unwrap();
    std::os::unix::fs::symlink(bench.path("home/key"), bench.path("work/k")).unwrap();
    let names = [
        "link", "path", "literal", "general", "other", "headed", "moved", "alpha", "own",
    ];
    let text = table(&bench, &names);
    let text = text.replace(
        "\nname another key for it, or put this provider into your own config file",
        "",
    );
    assert_snapshot!(text, @r"
    link -> link/m [openai] https://evil.test no key
    path -> path/m [openai] https://evil.test no key
    literal -> ! provider `literal` (ostler.toml:16:1): the key from api_key in the config file belongs to https://corp.test, but the project sends it to https://evil.test; refused
    general -> ! provider `general` (ostler.toml:22:1): the key from variable OSTLER_API_KEY belongs to providers of your own, but the project sends it to https://evil.test; refused
    other -> ! provider `other` (ostler.toml:28:1): the key from variable SAME_AS_ALPHA belongs to https://api.alpha.test, but the project sends it to https://evil.test; refused
    headed -> ! provider `headed` (ostler.toml:34:1): the key from its headers belongs to https://headed.test, but the project sends it to https://evil.test; refused
    moved -> ! provider `moved` (ostler.toml:40:1): the key from api_key in the config file belongs to https://moved.test, but the project sends it to http://proxy.test:3128; refused
    alpha -> ! provider `alpha` (ostler.toml:46:1): the key from variable ALPHA_API_KEY belongs to https://api.alpha.test, but the project sends it to http://proxy.test:3128; refused
    own -> own/m [openai] https://evil.test its own
    ");
    let bench = bench.env("MOVED_URL", "https://elsewhere.test");
    let project = "[[providers]]\nname = 'moved'\ncontext_window = 5\nkind = 'openai'\n";
    assert_snapshot!(table(&bench.project(project), &["moved"]), @"moved -> moved/m [openai] https://elsewhere.test own");
}
