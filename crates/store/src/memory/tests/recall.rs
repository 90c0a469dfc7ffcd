//! Five thousand facts, and what prompts bring to mind of them: the right ones, and nothing where nothing is meant.

use crate::memory::folder::FactFolder;
use crate::memory::*;
use std::collections::HashSet;
use std::time::Instant;

const SET: &str = include_str!("recall_set.txt");
/// Written by somebody who never saw the ranking, and not used to tune it.
const HELD_OUT: &str = include_str!("recall_held.txt");
const FACTS: usize = 5_000;
/// Of the prompts about a fact, those that bring it.
const RIGHT: f64 = 0.95;
/// Of the facts that are told with a prompt about one fact: how many at most, on average.
const TOLD: f64 = 2.5;
/// Prompts about something else that bring anything.
const ASTRAY: f64 = 0.2;

/// What it has to reach with prompts that it was not tuned on.
struct HeldOut {
    right: f64,
    told: f64,
    astray: f64,
}
const HELD_BARS: HeldOut = HeldOut {
    right: 0.93,
    told: 2.0,
    astray: 0.2,
};

#[derive(Default)]
struct Set<'a> {
    facts: Vec<Fact>,
    /// A prompt and the fact it is about.
    prompts: Vec<(&'a str, String)>,
    generic: Vec<&'a str>,
    others: Vec<&'a str>,
}

fn set(text: &'static str) -> Set<'static> {
    let mut set = Set::default();
    let mut block: Vec<&str> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((mark, text)) = line.split_once(' ').filter(|(mark, _)| mark.len() == 1) else {
            block.push(line);
            continue;
        };
        match mark {
            "=" => set.generic.push(text),
            "!" => set.others.push(text),
            "?" => {
                if let [name, description, body] = block.as_slice() {
                    set.facts
                        .push(fact(set.facts.len(), name, description, body));
                    block.clear();
                }
                assert!(block.is_empty(), "three lines make a fact: {block:?}");
                let about = set.facts.last().expect("a fact").id.clone();
                set.prompts.push((text, about));
            }
            // A fact's own words may begin with a short one.
            _ => block.push(line),
        }
    }
    set
}

fn fact(number: usize, name: &str, description: &str, body: &str) -> Fact {
    Fact {
        id: format!("f{number:05}"),
        revision: 1,
        name: name.into(),
        description: description.into(),
        body: body.into(),
        ..Fact::default()
    }
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        from[(self.0 >> 33) as usize % from.len()]
    }
}

/// Pieces of what the facts that count say.
fn pieces(facts: &[Fact]) -> (Vec<&str>, Vec<String>) {
    let (mut english, mut chinese) = (Vec::new(), Vec::new());
    for fact in facts {
        for text in [&fact.name, &fact.body] {
            match text.is_ascii() {
                true => english.extend(text.split_whitespace().filter(|word| word.len() > 3)),
                false => {
                    let letters: Vec<char> = text.chars().collect();
                    chinese.extend(letters.chunks(4).map(|piece| piece.iter().collect()));
                }
            }
        }
    }
    (english, chinese)
}

/// One that shares words with those that count, and says something else.
fn lookalike(number: usize, dice: &mut Dice, (english, chinese): (&[&str], &[&str])) -> Fact {
    if number.is_multiple_of(2) {
        let parts: Vec<&str> = (0..3).map(|_| dice.pick(chinese)).collect();
        let body = format!(
            "会议记录：{}，另见{}，{}待定。",
            parts[0], parts[1], parts[2]
        );
        return fact(number, &format!("记录{number}"), "会议", &body);
    }
    let parts: Vec<&str> = (0..3).map(|_| dice.pick(english)).collect();
    let body = format!(
        "Somebody mentioned {} and {} in the {} meeting.",
        parts[0], parts[1], parts[2]
    );
    fact(
        number,
        &format!("Minutes {number}"),
        "minutes of a meeting",
        &body,
    )
}

/// Facts as a busy team would have them: the same words in ever new company.
fn filler(number: usize, dice: &mut Dice) -> Fact {
    const AREAS: &[&str] = &[
        "billing",
        "search",
        "checkout",
        "inventory",
        "notification",
        "reporting",
        "onboarding",
        "analytics",
        "scheduler",
        "catalog",
        "shipping",
        "identity",
        "media",
        "pricing",
        "ledger",
        "dashboard",
        "importer",
        "exporter",
        "mobile",
        "admin",
    ];
    const THINGS: &[&str] = &[
        "retry policy",
        "cache layout",
        "error codes",
        "owner",
        "test data",
        "deploy window",
        "alert threshold",
        "schema change",
        "queue depth",
        "index rebuild",
        "feature switch",
        "log format",
        "worker count",
        "time limit",
        "naming rule",
        "fallback path",
        "batch size",
        "audit trail",
        "health check",
        "load test",
    ];
    const VERBS: &[&str] = &[
        "was agreed with",
        "is maintained by",
        "must be reviewed by",
        "is documented by",
        "was measured by",
        "is scripted by",
        "is blocked by",
        "was inherited from",
    ];
    const WHO: &[&str] = &[
        "the platform team",
        "Jonas",
        "the data group",
        "Wei",
        "the night shift",
        "Farida",
        "an outside vendor",
        "the architects",
        "Kenji",
        "the Oslo office",
        "Lucia",
        "the release crew",
    ];
    const WHY: &[&str] = &[
        "because the old job timed out",
        "after the outage in spring",
        "until the contract ends",
        "since customers complained",
        "to keep the bill small",
        "so that rollbacks stay cheap",
        "because of a slow disk",
        "to satisfy the auditors",
        "while the rewrite goes on",
        "as the browser caches it",
    ];
    const ZH_AREAS: &[&str] = &[
        "结算系统",
        "库存中心",
        "会员服务",
        "营销活动",
        "物流平台",
        "客服后台",
        "数据仓库",
        "推荐引擎",
        "支付渠道",
        "商家入驻",
        "风控策略",
        "报表中心",
    ];
    const ZH_THINGS: &[&str] = &[
        "重试策略",
        "告警阈值",
        "字段命名",
        "负责人",
        "限流规则",
        "缓存时间",
        "批量大小",
        "回滚步骤",
        "测试账号",
        "超时时间",
        "归档周期",
        "值班安排",
    ];
    const ZH_WHY: &[&str] = &[
        "因为上次故障",
        "由架构组确认",
        "需要提前报备",
        "每月复查",
        "已经写入手册",
        "暂时不能调整",
        "等新版本再说",
        "按照合同约定",
    ];
    let serial = number * 7 + 1000;
    if number.is_multiple_of(3) {
        let (area, thing, why) = (dice.pick(ZH_AREAS), dice.pick(ZH_THINGS), dice.pick(ZH_WHY));
        let (other, more) = (dice.pick(ZH_AREAS), dice.pick(ZH_THINGS));
        let body = format!("{area}的{thing}编号是{serial}，{why}，与{other}的{more}有关。");
        return fact(number, &format!("{area}{thing}{serial}"), why, &body);
    }
    let (area, thing, who) = (dice.pick(AREAS), dice.pick(THINGS), dice.pick(WHO));
    let (verb, why) = (dice.pick(VERBS), dice.pick(WHY));
    let (other, more) = (dice.pick(AREAS), dice.pick(THINGS));
    let body = format!(
        "The {thing} of {area} {verb} {who} {why}; see note {serial}. It also touches the {more} of {other}."
    );
    fact(
        number,
        &format!("{area} {thing} {serial}"),
        &format!("{thing} {why}"),
        &body,
    )
}

fn shelved(set: &Set<'_>) -> (tempfile::TempDir, Memory) {
    let dir = tempfile::tempdir().unwrap();
    let memory = Memory::new(dir.path(), "app-00000000", Redactor::default());
    let shelf = FactFolder::new(&dir.path().join("memory"), "app-00000000", Place::Project);
    std::fs::create_dir_all(shelf.dir()).unwrap();
    let mut dice = Dice(7);
    let (english, chinese) = pieces(&set.facts);
    let chinese: Vec<&str> = chinese.iter().map(String::as_str).collect();
    let filler = (set.facts.len()..FACTS).map(|number| match number % 5 {
        0 => lookalike(number, &mut dice, (&english, &chinese)),
        _ => filler(number, &mut dice),
    });
    for fact in set.facts.iter().cloned().chain(filler) {
        let bytes = fact::render(&fact, None);
        std::fs::write(shelf.path(&format!("{}.md", fact.id)), bytes).unwrap();
    }
    (dir, memory)
}

fn told(memory: &Memory, prompt: &str) -> Vec<String> {
    let recalled = memory.recall(prompt, &HashSet::new()).unwrap();
    if let Some(block) = &recalled.block {
        assert!(block.chars().count() <= 2_400, "{prompt}");
    }
    let told = recalled.why.iter().filter(|e| e.fate == Fate::Told);
    told.map(|e| e.id.clone()).collect()
}

/// What recall does with a set, as parts of its prompts.
struct Score {
    right: f64,
    /// Facts told with a prompt, on average.
    told: f64,
    missed: Vec<String>,
    /// Generic turns that brought something.
    noisy: Vec<String>,
    astray: f64,
    strays: Vec<String>,
}

#[expect(clippy::print_stdout, reason = "its figures are of interest")]
fn scored(set: &Set<'_>) -> Score {
    let (_dir, memory) = shelved(set);
    let (mut missed, mut count) = (Vec::new(), 0);
    for (prompt, about) in &set.prompts {
        let told = told(&memory, prompt);
        assert!(told.len() <= 4, "{prompt}");
        count += told.len();
        if !told.contains(about) {
            missed.push(format!("{prompt} -> {told:?}, not {about}"));
        }
    }
    let brings = |prompts: &[&str]| -> Vec<String> {
        let told = prompts.iter().map(|prompt| (prompt, told(&memory, prompt)));
        told.filter(|(_, told)| !told.is_empty())
            .map(|(prompt, told)| format!("{prompt} -> {told:?}"))
            .collect()
    };
    let (noisy, strays) = (brings(&set.generic), brings(&set.others));
    let all = set.prompts.len() as f64;
    let score = Score {
        right: 1.0 - missed.len() as f64 / all,
        told: count as f64 / all,
        missed,
        noisy,
        astray: strays.len() as f64 / set.others.len() as f64,
        strays,
    };
    println!(
        "{:.1} % of {all} prompts bring the right fact, {:.2} facts each; {} of {} generic turns and {} of {} others bring any",
        score.right * 100.0,
        score.told,
        score.noisy.len(),
        set.generic.len(),
        score.strays.len(),
        set.others.len(),
    );
    score
}

#[test]
fn prompts_bring_the_right_facts_to_mind_and_generic_turns_none() {
    let set = set(SET);
    let (english, chinese): (Vec<_>, Vec<_>) = set.prompts.iter().partition(|(p, _)| p.is_ascii());
    assert!(
        english.len() >= 80 && chinese.len() >= 25,
        "{} {}",
        english.len(),
        chinese.len()
    );
    assert!(set.generic.len() >= 50);
    let score = scored(&set);
    assert!(score.right >= RIGHT, "{}: {:#?}", score.right, score.missed);
    assert!(score.told <= TOLD, "{} facts each", score.told);
    assert_eq!(score.noisy, [""; 0]);
    assert!(score.astray <= ASTRAY, "{:?}", score.strays);
}

#[test]
fn prompts_that_nobody_tuned_it_on() {
    let score = scored(&set(HELD_OUT));
    let HeldOut {
        right,
        told,
        astray,
    } = HELD_BARS;
    assert!(score.right >= right, "{}: {:#?}", score.right, score.missed);
    assert!(score.told <= told, "{} facts each", score.told);
    assert_eq!(score.noisy, [""; 0]);
    assert!(score.astray <= astray, "{:?}", score.strays);
}

#[test]
fn a_few_facts_are_told_apart_as_well() {
    let set = set(SET);
    let dir = tempfile::tempdir().unwrap();
    let memory = Memory::new(dir.path(), "app-00000000", Redactor::default());
    for fact in &set.facts[..6] {
        let wish = Wish {
            name: Some(fact.name.clone()),
            description: Some(fact.description.clone()),
            body: Some(fact.body.clone()),
            ..Wish::default()
        };
        memory.remember(&wish).unwrap();
    }
    for prompt in set.generic.iter().chain(&set.others) {
        assert_eq!(told(&memory, prompt), [""; 0], "{prompt}");
    }
    for (prompt, about) in set.prompts.iter().take(12) {
        let recalled = memory.recall(prompt, &HashSet::new()).unwrap();
        let name = &set.facts.iter().find(|f| f.id == *about).unwrap().name;
        assert!(
            recalled.names().contains(&name.as_str()),
            "{prompt}: {recalled:?}"
        );
    }
}

/// Prints how long it takes. `cargo nextest run --release -p ostler-store --run-ignored only recall_takes --no-capture`
#[test]
#[ignore = "prints figures for a quiet machine: cargo test --release -p ostler-store recall_takes -- --ignored --nocapture"]
#[expect(clippy::print_stdout, reason = "it is there for its figures")]
fn recall_takes() {
    let set = set(SET);
    let (dir, memory) = shelved(&set);
    let time = |what: &str, work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        println!("{what}: {:.2} ms", start.elapsed().as_secs_f64() * 1e3);
    };
    time("the first time, without a copy", &mut || {
        drop(told(&memory, "payment gateway"))
    });
    std::thread::sleep(std::time::Duration::from_millis(150));
    memory.sweep();
    let again = Memory::new(dir.path(), "app-00000000", Redactor::default());
    time("the first time, in a new process", &mut || {
        drop(told(&again, "payment gateway"))
    });
    let mut times: Vec<f64> = Vec::new();
    for (prompt, _) in &set.prompts {
        let start = Instant::now();
        drop(told(&again, prompt));
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "afterwards: median {:.2} ms, worst {:.2} ms",
        times[times.len() / 2],
        times[times.len() - 1]
    );
    time("a look at every file", &mut || again.sweep());
}
