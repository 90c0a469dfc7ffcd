//! When the person is asked, told or left alone.

use super::*;

#[test]
fn the_person_is_told_only_when_away() {
    let told = |input: &str, away: u64| {
        let mut bench = bench("working", 60, Look::Mono);
        bench.keys(input);
        bench.passes(away);
        bench.state.take_effects();
        bench.event(&Event::Ask(Arc::new(permission())));
        bench.state.take_effects()
    };
    let note = [Effect::Notify("cargo test --all".into())];
    assert_eq!(told("", 60_000), []);
    assert_eq!(told("x", 1_000), []);
    assert_eq!(told("x", 60_000), note);
    assert_eq!(told("<blur>", 0), note);
}

#[test]
fn nothing_moves_when_nothing_happens() {
    let bench = bench("idle", 60, Look::Mono);
    assert_eq!(bench.state.wake(bench.now), None);
    let mut bench = super::bench("approval", 60, Look::Mono);
    assert_eq!(bench.state.wake(bench.now), None);
    // A key that is held answers by itself.
    bench.keys("y");
    assert!(bench.state.wake(bench.now).is_some());
    let bench = super::bench("working", 60, Look::Mono);
    assert!(bench.state.wake(bench.now).is_some() && bench.start < bench.now);
}

#[test]
fn the_title_says_whether_it_works_or_waits() {
    for (state, expect) in [
        ("idle", "ostler here"),
        ("running", "● go · ostler here"),
        ("approval", "? go · ostler here"),
    ] {
        assert_eq!(bench(state, 60, Look::Mono).state.title(), expect);
    }
}
