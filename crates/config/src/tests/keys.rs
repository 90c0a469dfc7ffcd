//! Where keys are found, in which order, and how they are saved.

use std::fs;
use std::path::Path;

use ostler_llm::Secret;

use super::super::keys::{Dotenv, KeyPlaces, ProcessEnv, SaveError, Wanted, find, save_key};
use super::super::tree::Layer;
use super::{Bench, read};
use insta::assert_snapshot;
use ostler_wire::Why;

fn no_mode(_: &Path) -> Option<u32> {
    None
}

const WANTED: Wanted<'_> = Wanted {
    provider: "p",
    layer: Layer::User,
    env_name: Some("P_KEY"),
    file: None,
    literal: None,
};

struct Case<'a> {
    wanted: Wanted<'a>,
    dotenv: &'a str,
    env: &'a [(&'a str, &'a str)],
    process_env: ProcessEnv,
}

impl Case<'_> {
    fn answer(&self) -> String {
        let bench = Bench::new();
        let path = bench.places().dotenv();
        fs::write(&path, self.dotenv).unwrap();
        let file = bench.path("key");
        fs::write(&file, "from-file\n").unwrap();
        let file = file.display().to_string();
        let env = self
            .env
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        let dotenv = Dotenv::load(&path, no_mode);
        let places = KeyPlaces {
            env: &env,
            dotenv: &dotenv,
            process_env: self.process_env,
        };
        let wanted = Wanted {
            file: self.wanted.file.map(|_| file.as_str()),
            ..self.wanted
        };
        let text = match find(wanted, places) {
            Ok(Some(key)) => {
                let warning = key
                    .warning
                    .map(|warning| format!(" ! {warning}"))
                    .unwrap_or_default();
                format!("{} from {}{warning}", key.value.reveal(), key.source)
            }
            Ok(None) => "none needed".into(),
            Err(error) => format!("! {error}"),
        };
        bench.clean(&text).replace(&file, "FILE")
    }
}

#[test]
fn the_first_place_that_has_one_wins() {
    let all = [("OSTLER_API_KEY", "general"), ("P_KEY", "variable")];
    let base = Case {
        wanted: Wanted {
            file: Some(""),
            literal: Some("literal"),
            ..WANTED
        },
        dotenv: "P_KEY=dotenv\n",
        env: &all,
        process_env: ProcessEnv::Use,
    };
    let own = &all[1..];
    let cases = [
        ("general key", Case { ..base }),
        (
            "not for a project's provider",
            Case {
                wanted: Wanted {
                    layer: Layer::Project,
                    ..base.wanted
                },
                ..base
            },
        ),
        ("dotenv before variable", Case { env: own, ..base }),
        (
            "variable",
            Case {
                env: own,
                dotenv: "",
                ..base
            },
        ),
        (
            "empty counts as unset",
            Case {
                env: &[("OSTLER_API_KEY", ""), ("P_KEY", " ")],
                dotenv: "P_KEY=\n",
                ..base
            },
        ),
        (
            "variables turned off",
            Case {
                env: own,
                dotenv: "",
                process_env: ProcessEnv::Ignore,
                ..base
            },
        ),
        (
            "literal",
            Case {
                env: &[],
                dotenv: "",
                wanted: Wanted {
                    file: None,
                    ..base.wanted
                },
                ..base
            },
        ),
        (
            "missing",
            Case {
                env: &[],
                dotenv: "",
                wanted: WANTED,
                ..base
            },
        ),
        (
            "missing, turned off",
            Case {
                env: own,
                dotenv: "",
                wanted: WANTED,
                process_env: ProcessEnv::Ignore,
            },
        ),
        (
            "missing, project",
            Case {
                env: &all[..1],
                dotenv: "",
                wanted: Wanted {
                    layer: Layer::Project,
                    ..WANTED
                },
                ..base
            },
        ),
        (
            "needs none",
            Case {
                env: &[],
                dotenv: "",
                wanted: Wanted {
                    env_name: None,
                    ..WANTED
                },
                ..base
            },
        ),
        (
            "needs none, general",
            Case {
                env: &all,
                dotenv: "",
                wanted: Wanted {
                    env_name: None,
                    ..WANTED
                },
                ..base
            },
        ),
        (
            "line break inside",
            Case {
                env: &[("P_KEY", "a\nb")],
                dotenv: "",
                ..base
            },
        ),
    ];
    let answers: String = cases
        .iter()
        .map(|(what, case)| format!("{what}: {}\n", case.answer()))
        .collect();
    assert_snapshot!(answers, @r"
    general key: general from variable OSTLER_API_KEY
    not for a project's provider: dotenv from ~/.ostler/.env (P_KEY)
    dotenv before variable: dotenv from ~/.ostler/.env (P_KEY)
    variable: variable from variable P_KEY
    empty counts as unset: from-file from file BASE/key
    variables turned off: from-file from file BASE/key
    literal: literal from api_key in the config file ! the key of `p` is in a config file; `ostler setup` moves keys to ~/.ostler/.env
    missing: ! no key for `p`; looked at: variable OSTLER_API_KEY, ~/.ostler/.env (P_KEY), variable P_KEY
    missing, turned off: ! no key for `p`; looked at: variable OSTLER_API_KEY, ~/.ostler/.env (P_KEY), variable P_KEY (turned off by [auth] use_process_env = false)
    missing, project: ! no key for `p`; looked at: ~/.ostler/.env (P_KEY), variable P_KEY
    needs none: none needed
    needs none, general: general from variable OSTLER_API_KEY
    line break inside: ! the key of `p` from variable P_KEY has characters that cannot be sent; copy it again without line breaks
    ");
}

#[test]
fn key_files_must_be_small_and_full() {
    let bench = Bench::new();
    let env = super::super::paths::Env::new();
    let dotenv = Dotenv::default();
    let places = KeyPlaces {
        env: &env,
        dotenv: &dotenv,
        process_env: ProcessEnv::Use,
    };
    fs::write(bench.path("empty"), " \n").unwrap();
    fs::write(bench.path("large"), "x".repeat(100_000)).unwrap();
    fs::write(bench.path("binary"), [0xff, 0xfe]).unwrap();
    let mut answers = String::new();
    for name in ["empty", "large", "binary", "home", "absent"] {
        let path = bench.path(name).display().to_string();
        let wanted = Wanted {
            env_name: None,
            file: Some(&path),
            ..WANTED
        };
        let error = find(wanted, places).unwrap_err().to_string();
        answers += &error.replace(&bench.path("").display().to_string(), "");
        answers += "\n";
    }
    assert_snapshot!(answers, @r"
    the key file of `p` cannot be used: empty: it is empty
    the key file of `p` cannot be used: large: it is not a small file with a key in it
    the key file of `p` cannot be used: binary: stream did not contain valid UTF-8
    the key file of `p` cannot be used: home: it is not a small file with a key in it
    the key file of `p` cannot be used: absent: No such file or directory (os error 2)
    ");
}

#[test]
fn dotenv_lines() {
    let bench = Bench::new();
    let path = bench.places().dotenv();
    let cases = [
        ("A=1", Some("1")),
        ("  export  A = spaced ", Some("spaced")),
        ("A=bare # comment", Some("bare")),
        ("A=with#hash", Some("with#hash")),
        ("A='single # \\n'", Some("single # \\n")),
        ("A=\"dou\\\"ble\\\\\" # c", Some("dou\"ble\\")),
        ("\u{feff}A=bom\r\n", Some("bom")),
        ("A=first\nA=second", Some("second")),
        ("A=", None),
        ("#A=1", None),
        ("A", None),
        ("A='open", None),
        ("A='x' y", None),
        ("1A=x\nB-C=x\n=x", None),
    ];
    for (text, expected) in cases {
        fs::write(&path, text).unwrap();
        let dotenv = Dotenv::load(&path, no_mode);
        assert_eq!(dotenv.get("A"), expected, "{text:?}");
    }
    fs::write(&path, "A=ok\nnonsense\nB='x\n").unwrap();
    let dotenv = Dotenv::load(&path, |_| Some(0o100644));
    assert_snapshot!(bench.clean(&Why::list(&dotenv.warnings, "\n").to_string()), @r"
    ~/.ostler/.env:2: this line is not NAME=value; it is ignored
    ~/.ostler/.env:3: this line is not NAME=value; it is ignored
    ~/.ostler/.env: can be read by others (mode 644); run: chmod 600 ~/.ostler/.env
    ");
    assert!(!format!("{dotenv:?}").contains("ok"), "{dotenv:?}");
    assert_eq!(Dotenv::load(&path, |_| Some(0o100600)).warnings.len(), 2);
    assert!(
        Dotenv::load(&bench.path("absent"), |_| Some(0o777))
            .warnings
            .is_empty()
    );
}

#[test]
fn saved_keys_keep_the_other_lines() {
    let cases = [
        ("", "P_KEY=new\n"),
        (
            "# mine\nA=1\r\n\nP_KEY=old\r\nB=2",
            "# mine\nA=1\r\n\nP_KEY=new\r\nB=2",
        ),
        (
            "export P_KEY='old' # note\nC=3\n",
            "export P_KEY=new\nC=3\n",
        ),
        ("A=1", "A=1\nP_KEY=new\n"),
        ("P_KEY=a\nB=1\nP_KEY=b\n", "P_KEY=new\nB=1\n"),
        ("P_KEY=a", "P_KEY=new\n"),
    ];
    for (before, expected) in cases {
        let bench = Bench::new();
        let home = bench.places().home;
        fs::write(bench.places().dotenv(), before).unwrap();
        let path = save_key(&home, "P_KEY", &Secret::new(" new ")).unwrap();
        assert_eq!(read(&path), expected);
        assert_eq!(Dotenv::load(&path, no_mode).get("P_KEY"), Some("new"));
    }
}

#[test]
fn saved_keys_come_back_whatever_they_hold() {
    let bench = Bench::new();
    let home = bench.path("fresh/home");
    for value in [
        "sk-a_b.c/d+e=",
        "with space",
        "quo\"te\\slash",
        "hash #x",
        "'single'",
        "$X `y`",
    ] {
        let path = save_key(&home, "K", &Secret::new(value)).unwrap();
        assert_eq!(Dotenv::load(&path, no_mode).get("K"), Some(value));
    }
    assert!(matches!(
        save_key(&home, "BAD NAME", &Secret::new("x")),
        Err(SaveError::Name(_))
    ));
    assert!(matches!(
        save_key(&home, "", &Secret::new("x")),
        Err(SaveError::Name(_))
    ));
    assert!(matches!(
        save_key(&home, "K", &Secret::new("a\nb")),
        Err(SaveError::Value)
    ));
    assert!(matches!(
        save_key(&home, "K", &Secret::new("")),
        Err(SaveError::Value)
    ));
    fs::write(bench.path("file"), "").unwrap();
    assert!(matches!(
        save_key(&bench.path("file"), "K", &Secret::new("x")),
        Err(SaveError::Write { .. })
    ));
}

#[cfg(unix)]
#[test]
fn saved_keys_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let path = bench.places().dotenv();
    fs::write(&path, "A=1\n").unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    save_key(&bench.places().home, "K", &Secret::new("x")).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}
