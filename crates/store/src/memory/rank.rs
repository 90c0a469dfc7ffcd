//! Which facts a text is about: a ranking by rare words (BM25), and whether a match is distinctive enough to be told
//! unasked. Pure.

use super::index::{Index, State};
use super::terms::{DESCRIPTION, Term};

const K1: f32 = 1.2;
const B: f32 = 0.25;
/// What a common word counts beside others.
const WEAK: f32 = 0.4;
/// Of the best one's score, below which a match is by accident.
pub const FLOOR: f32 = 0.6;
/// Facts that may have a term that tells much: so many, or so large a part of all.
const RARE: (usize, usize) = (2, 50);
const MEDIUM: (usize, usize) = (4, 10);
/// Terms of a prompt from which on one of them is not enough.
const LONG: usize = 16;
/// Words of a prompt that tell something, from which on it speaks of much else than one of them.
const MUCH_ELSE: f32 = 3.0;
/// A pair of characters beside a word.
const PAIR: f32 = 0.5;
/// Bits that tell at a glance that a hash is none of those wanted.
const SIEVE: usize = 1 << 12;

/// How much a term tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worth {
    Rare,
    Medium,
    Common,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Which of the indexes, and the fact in it.
    pub shelf: usize,
    pub doc: usize,
    pub score: f32,
    /// The terms that it has of those asked for.
    pub terms: Vec<usize>,
    /// It may be told unasked.
    pub distinctive: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    /// Best first.
    pub candidates: Vec<Candidate>,
    /// How much each term of the text tells.
    pub worth: Vec<Worth>,
}

/// A fact that has any of the terms: its shelf, its place there, its length, and its terms with what they count.
type Matched = (usize, usize, f32, Vec<(usize, f32)>);

pub fn rank(indexes: &[&Index], asked: &[Term]) -> Ranking {
    let mut wanted: Vec<(u32, usize)> = asked.iter().map(|t| t.hash).zip(0..).collect();
    wanted.sort_unstable();
    let mut sieve = vec![false; SIEVE];
    for (hash, _) in &wanted {
        if let Some(bit) = sieve.get_mut(*hash as usize % SIEVE) {
            *bit = true;
        }
    }
    let mut found: Vec<Matched> = Vec::new();
    let mut counts = vec![0usize; asked.len()];
    let (mut all, mut length) = (0usize, 0u64);
    for (shelf, index) in indexes.iter().enumerate() {
        for (at, doc) in index.docs.iter().enumerate() {
            if doc.state != State::Good {
                continue;
            }
            all += 1;
            length += u64::from(doc.length);
            let mut hits = Vec::new();
            for (hash, weight) in index.terms(doc) {
                if sieve.get(hash as usize % SIEVE) != Some(&true) {
                    continue;
                }
                let place = wanted.binary_search_by_key(&hash, |(hash, _)| *hash);
                if let Some((_, term)) = place.ok().and_then(|place| wanted.get(place)) {
                    hits.push((*term, f32::from(weight)));
                    if let Some(count) = counts.get_mut(*term) {
                        *count += 1;
                    }
                }
            }
            if !hits.is_empty() {
                found.push((shelf, at, doc.length as f32, hits));
            }
        }
    }
    let mean = (length as f32 / all.max(1) as f32).max(1.0);
    let worth: Vec<Worth> = asked
        .iter()
        .zip(&counts)
        .map(|(term, count)| worth(term, *count, all))
        .collect();
    let informs: Vec<f32> = asked
        .iter()
        .zip(&counts)
        .map(|(term, count)| informs(term, *count, all))
        .collect();
    let said = asked.iter().filter(|term| !term.weak);
    let said: f32 = said.map(|term| if term.pair { PAIR } else { 1.0 }).sum();
    let mut candidates: Vec<Candidate> = found
        .into_iter()
        .map(|(shelf, doc, length, hits)| {
            let norm = K1 * (1.0 - B + B * length / mean);
            let score = hits.iter().map(|(term, weight)| {
                let informs = informs.get(*term).copied().unwrap_or_default();
                informs * weight * (K1 + 1.0) / (weight + norm)
            });
            let score = score.sum();
            let distinctive = is_distinctive(&hits, &worth, said);
            let mut terms: Vec<usize> = hits.iter().map(|(term, _)| *term).collect();
            terms.sort_unstable();
            Candidate {
                shelf,
                doc,
                score,
                distinctive,
                terms,
            }
        })
        .collect();
    candidates.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then((a.shelf, a.doc).cmp(&(b.shelf, b.doc)))
    });
    Ranking { candidates, worth }
}

fn is_distinctive(hits: &[(usize, f32)], worth: &[Worth], said: f32) -> bool {
    let of = |wanted: Worth| {
        let same = move |hit: &&(usize, f32)| worth.get(hit.0) == Some(&wanted);
        hits.iter().filter(same)
    };
    let (rare, medium) = (of(Worth::Rare).count(), of(Worth::Medium).count());
    if worth.len() > LONG {
        // Some word of a long text is rare anywhere.
        return rare >= 2 || (rare == 1 && medium >= 1);
    }
    // One word in passing, of a prompt that speaks of much else, is by accident.
    let in_passing = of(Worth::Rare).all(|(_, weight)| *weight < f32::from(DESCRIPTION));
    let is_accident = rare == 1 && medium == 0 && in_passing && said > MUCH_ELSE;
    rare >= 1 && !is_accident || medium >= 2
}

fn worth(term: &Term, count: usize, all: usize) -> Worth {
    let within = |(least, part): (usize, usize)| count <= least.max(all / part);
    if within(RARE) && !term.weak {
        return Worth::Rare;
    }
    match within(MEDIUM) {
        true => Worth::Medium,
        false => Worth::Common,
    }
}

fn informs(term: &Term, count: usize, all: usize) -> f32 {
    let (count, all) = (count as f32, all as f32);
    let idf = ((all - count + 0.5) / (count + 0.5) + 1.0).ln();
    if term.weak { idf * WEAK } else { idf }
}
