//! What fits a budget and what does not, by tables, beside each other and over a day.

use super::*;
use crate::ledger::Tokens;
use ostler_wire::Language;

fn usd(usd: f64) -> Limit {
    Limit {
        usd: Some(usd),
        tokens: None,
    }
}

fn tokens(tokens: u64) -> Limit {
    Limit {
        usd: None,
        tokens: Some(tokens),
    }
}

fn amount(usd: f64, tokens: u64) -> Amount {
    Amount { usd, tokens }
}

/// A session that the person began.
fn of(session: &str) -> Payer<'_> {
    Payer {
        session,
        budget_session: session,
        role: "main",
    }
}

/// One that `parent` began.
fn child<'a>(session: &'a str, parent: &'a str) -> Payer<'a> {
    Payer {
        session,
        budget_session: parent,
        role: "task",
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let none = Limits::default;
    let spent = amount(1.0, 1000);
    let next = amount(0.5, 500);
    for (limits, expect) in [
        (none(), None),
        (
            Limits {
                run: usd(1.5),
                ..none()
            },
            None,
        ),
        (
            Limits {
                run: usd(1.49),
                ..none()
            },
            Some(Span::Run),
        ),
        (
            Limits {
                session: tokens(1500),
                ..none()
            },
            None,
        ),
        (
            Limits {
                session: tokens(1499),
                ..none()
            },
            Some(Span::Session),
        ),
        (
            Limits {
                day: usd(3.5),
                ..none()
            },
            None,
        ),
        (
            Limits {
                day: usd(3.4),
                ..none()
            },
            Some(Span::Day),
        ),
        (
            Limits {
                run: usd(0.0),
                ..none()
            },
            Some(Span::Run),
        ),
        (
            Limits {
                run: Limit {
                    usd: Some(9.0),
                    tokens: Some(1),
                },
                ..none()
            },
            Some(Span::Run),
        ),
    ] {
        let mut books = Books::default();
        books.booked = amount(2.0, 2000);
        books.spend(of("a"), spent, Booked::No);
        let got = books.hold(&limits, of("a"), next).err().map(|b| b.pot.span);
        assert_eq!(got, expect, "{limits:?}");
    }
    // Another session has a budget of its own.
    let mut books = Books::default();
    books.spend(of("a"), spent, Booked::No);
    let limits = Limits {
        session: tokens(1000),
        ..none()
    };
    assert!(books.hold(&limits, of("a"), next).is_err());
    assert!(books.hold(&limits, of("b"), next).is_ok());
}

#[test]
fn a_breach_says_what_to_do() {
    let limits = Limits {
        run: usd(2.5),
        ..Limits::default()
    };
    let mut books = Books::default();
    books.spend(of("a"), amount(2.25, 9), Booked::Yes);
    let breach = books.hold(&limits, of("a"), amount(0.5, 9)).unwrap_err();
    assert_eq!(
        breach.message(Language::English),
        "The budget of the run is $2.50: $2.25 is used or reserved, and the next request may need $0.5000 more. \
         Raise `[budget] run` or `--budget`, or lower `[agent] max_tokens`, which bounds what an answer can cost."
    );
    for (language, subject, detail) in [
        (
            Language::English,
            "The budget of the run is $2.50: $2.25 is used or reserved, and the next request may need $0.5000 more.",
            "to $5.00, until Ostler ends",
        ),
        (
            Language::Chinese,
            "本次运行的预算为 $2.50：已用或已预留 $2.25，下一个请求最多还需 $0.5000。",
            "至 $5.00，直到 Ostler 退出",
        ),
    ] {
        let ask = breach.ask(language);
        let got = (ask.subject.as_str(), ask.options[0].detail.as_deref());
        assert_eq!(got, (subject, Some(detail)));
    }
    books.raise(&breach);
    assert!(books.hold(&limits, of("a"), amount(2.7, 9)).is_ok());
    assert!(books.hold(&limits, of("a"), amount(0.1, 9)).is_err());
}

#[test]
fn requests_beside_each_other_never_spend_more_than_there_is() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits {
        run: tokens(10_000),
        ..Limits::default()
    };
    let budget = Budget::new(limits, Ledger::new(dir.path()));
    std::thread::scope(|scope| {
        for n in 0..8 {
            let budget = budget.clone();
            scope.spawn(move || {
                let session = format!("s{n}");
                while let Ok(hold) = budget.hold(of(&session), amount(0.0, 100)) {
                    budget.spend(of(&session), amount(0.0, 90), Booked::No);
                    drop(hold);
                }
            });
        }
    });
    let states = budget.states(of("s1"));
    let (Sum::Tokens(spent), held) = (states[0].spent, states[0].held) else {
        panic!("{states:?}");
    };
    assert!((9_000..=10_000).contains(&spent), "{spent}");
    assert_eq!(held, Sum::Tokens(0));
}

#[test]
fn the_day_is_what_all_processes_wrote() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(dir.path());
    let book = |ts: &str, tokens| {
        let ts = ts.into();
        ledger.add(&Line { ts, ..line(tokens) }).unwrap();
    };
    let now = jiff::Timestamp::now().to_string();
    book("2020-01-01T00:00:00Z", 5000);
    book("nonsense", 5000);
    book(&now, 400);
    let limits = Limits {
        day: tokens(1000),
        ..Limits::default()
    };
    let budget = Budget::new(limits, ledger.clone());
    let fits = |tokens| budget.hold(of("a"), amount(0.0, tokens)).is_ok();
    assert!(fits(600) && !fits(601));
    book(&now, 100);
    assert!(fits(500) && !fits(501));
    budget.spend(of("a"), amount(0.0, 100), Booked::Yes);
    assert!(fits(500));
    budget.spend(of("a"), amount(0.0, 100), Booked::No);
    assert!(fits(400) && !fits(401));
    std::fs::remove_file(dir.path().join("ledger.jsonl")).unwrap();
    assert!(fits(900) && !fits(901));
}

#[test]
fn children_spend_what_their_parent_has_and_no_more_than_a_child_may() {
    let limits = Limits {
        session: tokens(1000),
        child: tokens(300),
        roles: BTreeMap::from([("task".to_owned(), tokens(500))]),
        ..Limits::default()
    };
    let mut books = Books::default();
    let mut hold = |payer, tokens| {
        let held = books.hold(&limits, payer, amount(0.0, tokens));
        held.err().map(|breach| breach.pot.span)
    };
    for (payer, tokens, expect) in [
        (child("c1", "p"), 301, Some(Span::Child)),
        (child("c1", "p"), 300, None),
        (child("c1", "p"), 1, Some(Span::Child)),
        (child("c2", "p"), 201, Some(Span::Role)),
        (child("c2", "p"), 200, None),
        (of("p"), 501, Some(Span::Session)),
        (of("p"), 500, None),
        (of("p"), 1, Some(Span::Session)),
        (of("q"), 1000, None),
    ] {
        assert_eq!(hold(payer, tokens), expect, "{payer:?} {tokens}");
    }
}

#[test]
fn what_a_session_and_its_children_spent_is_remembered() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(dir.path());
    for (session, budget_session) in [("p", None), ("c", Some("p")), ("d", Some("q"))] {
        let line = Line {
            ts: "2020-01-01T00:00:00Z".into(),
            session: session.into(),
            project: "x".into(),
            role: "main".into(),
            budget_session: budget_session.map(str::to_owned),
            tokens: Tokens {
                input: 100,
                ..Tokens::default()
            },
        };
        ledger.add(&line).unwrap();
    }
    let limits = Limits {
        session: tokens(1000),
        ..Limits::default()
    };
    let budget = Budget::new(limits, ledger);
    // Opened twice, counted once; the log says what it spent itself.
    budget.remember("p", amount(0.0, 70));
    budget.remember("p", amount(0.0, 70));
    let state = &budget.states(of("p"))[0];
    assert_eq!(
        (state.spent, state.left),
        (Sum::Tokens(170), Sum::Tokens(830))
    );
}

fn line(tokens: u64) -> Line {
    Line {
        ts: jiff::Timestamp::now().to_string(),
        session: "x".into(),
        project: "p".into(),
        role: "main".into(),
        budget_session: None,
        tokens: Tokens {
            input: tokens,
            ..Tokens::default()
        },
    }
}

fn of_a_day(tokens: u64, home: &std::path::Path) -> Budget {
    let limits = Limits {
        day: self::tokens(tokens),
        ..Limits::default()
    };
    Budget::new(limits, Ledger::new(home))
}

/// Budgets of one home know nothing of each other but what is on disk, like those of two processes.
#[test]
fn what_another_process_holds_counts_as_long_as_it_lives() {
    let dir = tempfile::tempdir().unwrap();
    let (here, there) = (of_a_day(1000, dir.path()), of_a_day(1000, dir.path()));
    let fits = |budget: &Budget, tokens| budget.hold(of("a"), amount(0.0, tokens)).is_ok();
    let first = there.hold(of("b"), amount(0.25, 300)).unwrap();
    let second = there.hold(of("c"), amount(0.5, 300)).unwrap();
    assert!(fits(&here, 400) && !fits(&here, 401));
    assert_eq!(here.states(of("a"))[0].held, Sum::Tokens(600));
    drop(first);
    assert!(fits(&here, 700) && !fits(&here, 701));
    assert!(fits(&there, 700) && !fits(&there, 701));
    drop(second);
    assert!(fits(&here, 1000));
    // Spent before it is given back: at no moment it is neither.
    let hold = there.hold(of("b"), amount(0.0, 300)).unwrap();
    Ledger::new(dir.path()).add(&line(200)).unwrap();
    assert!(fits(&here, 500) && !fits(&here, 501));
    drop(hold);
    assert!(fits(&here, 800) && !fits(&here, 801));
    // Nothing of them is left behind.
    drop((here, there));
    let left: Vec<_> = std::fs::read_dir(dir.path().join("holds"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn holds_of_the_dead_and_garbage_count_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let holds = dir.path().join("holds");
    std::fs::create_dir(&holds).unwrap();
    for (name, text) in [("dead", "900 1"), ("garbage", "\u{fffd}"), ("empty", "")] {
        std::fs::write(holds.join(name), text).unwrap();
    }
    // Alive, and not to be understood.
    let odd = std::fs::File::create(holds.join("odd")).unwrap();
    std::fs::write(holds.join("odd"), "-5 NaN\n\0\0").unwrap();
    odd.try_lock().unwrap();
    let budget = of_a_day(1000, dir.path());
    assert!(budget.hold(of("a"), amount(0.0, 1000)).is_ok());
    let mut names: Vec<_> = std::fs::read_dir(&holds)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.len() < 32)
        .collect();
    names.sort();
    assert_eq!(names, ["lock", "odd"]);
}

#[test]
fn a_home_that_takes_no_files_keeps_the_budget_of_the_process() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("holds"), "in the way").unwrap();
    let budget = of_a_day(1000, dir.path());
    let hold = budget.hold(of("a"), amount(0.0, 600)).unwrap();
    assert!(budget.hold(of("a"), amount(0.0, 401)).is_err());
    drop(hold);
    assert!(budget.hold(of("a"), amount(0.0, 1000)).is_ok());
}

#[test]
fn no_file_is_touched_without_a_limit_of_the_day() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits {
        run: tokens(1000),
        session: tokens(1000),
        ..Limits::default()
    };
    let budget = Budget::new(limits, Ledger::new(dir.path()));
    drop(budget.hold(of("a"), amount(0.0, 10)).unwrap());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn many_processes_together_never_spend_more_than_a_day_has() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for n in 0..6 {
            let home = dir.path().to_owned();
            scope.spawn(move || {
                let budget = of_a_day(10_000, &home);
                let session = format!("s{n}");
                while let Ok(hold) = budget.hold(of(&session), amount(0.0, 300)) {
                    Ledger::new(&home).add(&line(290)).unwrap();
                    budget.spend(of(&session), amount(0.0, 290), Booked::Yes);
                    drop(hold);
                }
            });
        }
    });
    let lines = Ledger::new(dir.path()).lines().unwrap();
    let spent: u64 = lines.iter().map(|line| line.tokens.input).sum();
    // Those that were still promised something when the others gave up may have left some of it.
    assert!((8_000..=10_000).contains(&spent), "{spent}");
}
