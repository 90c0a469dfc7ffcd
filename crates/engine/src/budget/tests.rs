//! What fits a budget and what does not, by tables, beside each other and over a day.

use super::*;
use crate::ledger::{Line, Tokens};

const PRICE: Price = Price {
    input: 2.0,
    cached_input: Some(0.2),
    cache_write: Some(2.5),
    output: 10.0,
};

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

#[test]
fn the_worst_is_told_from_bytes_and_the_last_usage() {
    for (bytes, before, output, price, expect) in [
        (
            4_000_000,
            None,
            Some(100_000),
            Some(PRICE),
            amount(3.5, 1_100_000),
        ),
        (
            4_000_000,
            Some((2_000_000, 4_000_000)),
            Some(0),
            Some(PRICE),
            amount(5.0, 2_000_000),
        ),
        (
            4_000_000,
            Some((0, 0)),
            Some(0),
            None,
            amount(0.0, 1_000_000),
        ),
        (10, Some((1_000_000, 1)), Some(0), None, amount(0.0, 10)),
        (0, None, None, None, amount(0.0, UNKNOWN_OUTPUT)),
    ] {
        let got = worst(bytes, before, output, price);
        assert!(
            (got.usd - expect.usd).abs() < DUST && got.tokens == expect.tokens,
            "{got:?} {expect:?}"
        );
    }
    let cheap_writes = Price {
        cache_write: Some(0.1),
        ..PRICE
    };
    assert!((worst(4_000_000, None, Some(0), Some(cheap_writes)).usd - 2.0).abs() < DUST);
}

#[test]
fn what_does_not_fit_is_refused() {
    let none = Limits::default();
    let spent = amount(1.0, 1000);
    let next = amount(0.5, 500);
    for (limits, expect) in [
        (none, None),
        (
            Limits {
                run: usd(1.5),
                ..none
            },
            None,
        ),
        (
            Limits {
                run: usd(1.49),
                ..none
            },
            Some(Span::Run),
        ),
        (
            Limits {
                session: tokens(1500),
                ..none
            },
            None,
        ),
        (
            Limits {
                session: tokens(1499),
                ..none
            },
            Some(Span::Session),
        ),
        (
            Limits {
                day: usd(3.5),
                ..none
            },
            None,
        ),
        (
            Limits {
                day: usd(3.4),
                ..none
            },
            Some(Span::Day),
        ),
        (
            Limits {
                run: usd(0.0),
                ..none
            },
            Some(Span::Run),
        ),
        (
            Limits {
                run: Limit {
                    usd: Some(9.0),
                    tokens: Some(1),
                },
                ..none
            },
            Some(Span::Run),
        ),
    ] {
        let mut books = Books {
            day: amount(2.0, 2000),
            ..Books::default()
        };
        books.spend("a", spent, Booked::No);
        let got = books.hold(&limits, "a", next).err().map(|b| b.span);
        assert_eq!(got, expect, "{limits:?}");
    }
    // Another session has a budget of its own.
    let mut books = Books::default();
    books.spend("a", spent, Booked::No);
    let limits = Limits {
        session: tokens(1000),
        ..none
    };
    assert!(books.hold(&limits, "a", next).is_err());
    assert!(books.hold(&limits, "b", next).is_ok());
}

#[test]
fn a_breach_says_what_to_do() {
    let limits = Limits {
        run: usd(2.5),
        ..Limits::default()
    };
    let mut books = Books::default();
    books.spend("a", amount(2.25, 9), Booked::Yes);
    let breach = books.hold(&limits, "a", amount(0.5, 9)).unwrap_err();
    assert_eq!(
        breach.to_string(),
        "The budget of the run is $2.50: $2.25 is used or promised, and the next request may take $0.5000 more. \
         Raise `[budget] run` or `--budget`, or lower `[agent] max_tokens`, which bounds what an answer can cost."
    );
    let ask = breach.ask();
    assert_eq!(
        ask.options[0].detail.as_deref(),
        Some("to $5.00, until Ostler ends")
    );
    books.raised.insert(breach.span, breach.raised);
    assert!(books.hold(&limits, "a", amount(2.7, 9)).is_ok());
    assert!(books.hold(&limits, "a", amount(0.1, 9)).is_err());
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
                while let Ok(hold) = budget.hold(&session, amount(0.0, 100)) {
                    budget.spend(&session, amount(0.0, 90), Booked::No);
                    drop(hold);
                }
            });
        }
    });
    let shared = budget.lock();
    let spent = shared.books.run.tokens;
    assert!((9_000..=10_000).contains(&spent), "{spent}");
    assert_eq!(shared.books.held, Amount::default());
}

#[test]
fn the_day_is_what_all_processes_wrote() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(dir.path());
    let book = |ts: &str, tokens| {
        ledger
            .add(&Line {
                ts: ts.into(),
                session: "x".into(),
                project: "p".into(),
                role: "main".into(),
                tokens: Tokens {
                    input: tokens,
                    ..Tokens::default()
                },
            })
            .unwrap();
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
    let fits = |tokens| budget.hold("a", amount(0.0, tokens)).is_ok();
    assert!(fits(600) && !fits(601));
    book(&now, 100);
    assert!(fits(500) && !fits(501));
    budget.spend("a", amount(0.0, 100), Booked::Yes);
    assert!(fits(500));
    budget.spend("a", amount(0.0, 100), Booked::No);
    assert!(fits(400) && !fits(401));
    std::fs::remove_file(dir.path().join("ledger.jsonl")).unwrap();
    assert!(fits(900) && !fits(901));
    budget.remember("old", amount(0.0, 7));
    budget.remember("old", amount(0.0, 7));
    assert_eq!(budget.lock().books.sessions["old"].tokens, 7);
}
