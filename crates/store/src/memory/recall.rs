//! Recall: the few facts that a prompt is distinctively about, told with it unasked, and why these.

use super::fact::Fact;
use super::index::{Index, Look, terms_of};
use super::notes;
use super::rank::{Candidate, FLOOR, Worth, rank};
use super::terms::{self, Term};
use super::{Memory, MemoryError};
use std::collections::HashSet;

/// Facts that are looked at for one prompt, and explained.
const MAX_LOOKED: usize = 12;

/// What goes with a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recalled {
    /// For the end of its context.
    pub block: Option<String>,
    pub why: Vec<Explained>,
    /// The words that were looked for, and how much each tells.
    pub words: Vec<(String, Worth)>,
}

impl Recalled {
    /// The names of what was told.
    pub fn names(&self) -> Vec<&str> {
        let told = self.why.iter().filter(|e| e.fate == Fate::Told);
        told.map(|e| e.name.as_str()).collect()
    }
}

/// A fact that came into question.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    pub id: String,
    pub name: String,
    pub score: f32,
    pub words: Vec<String>,
    pub fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Told,
    /// The session has it already.
    Known,
    /// Its words are too common here.
    Common,
    /// Others match much better.
    Faint,
    /// There were enough.
    Full,
}

/// A match with what its file says.
type Found = (Candidate, Fact);

impl Memory {
    /// What a prompt brings to mind. `known` are the facts that the session was told, as `told` names them.
    pub fn recall(&self, text: &str, known: &HashSet<String>) -> Result<Recalled, MemoryError> {
        let asked = terms::asked(text);
        if asked.is_empty() {
            return Ok(Recalled::default());
        }
        let (mut candidates, worth) = self.candidates(&asked)?;
        let words = |terms: &[usize]| {
            let word = |term: &usize| asked.get(*term).map(|term| term.word.clone());
            terms.iter().filter_map(word).collect::<Vec<_>>()
        };
        candidates.truncate(MAX_LOOKED);
        let best = candidates.first().map_or(0.0, |(c, _)| c.score);
        let (mut why, mut taken): (Vec<Explained>, Vec<(usize, Fact)>) = Default::default();
        for (candidate, fact) in candidates {
            let fate = if !candidate.distinctive {
                Fate::Common
            } else if candidate.score < best * FLOOR {
                Fate::Faint
            } else if known.contains(&notes::key(&fact)) {
                Fate::Known
            } else if taken.len() == notes::MAX_FACTS {
                Fate::Full
            } else {
                Fate::Told
            };
            why.push(Explained {
                id: fact.id.clone(),
                name: fact.name.clone(),
                score: candidate.score,
                words: words(&candidate.terms),
                fate,
            });
            if fate == Fate::Told {
                taken.push((why.len() - 1, fact));
            }
        }
        let (block, fit) = notes::block(taken.iter().map(|(_, fact)| fact));
        for (place, _) in taken.iter().skip(fit) {
            if let Some(explained) = why.get_mut(*place) {
                explained.fate = Fate::Full;
            }
        }
        Ok(Recalled {
            block: (fit > 0).then_some(block),
            why,
            words: asked.into_iter().map(|t| t.word).zip(worth).collect(),
        })
    }

    /// The best matches, read from disk: what is told is what is there.
    fn candidates(&self, asked: &[Term]) -> Result<(Vec<Found>, Vec<Worth>), MemoryError> {
        let indexes = self.refreshed(Look::Quick)?;
        let none = Index::default();
        let all: Vec<&Index> = indexes
            .iter()
            .map(|i| i.as_ref().unwrap_or(&none))
            .collect();
        let ranking = rank(&all, asked);
        let mut out = Vec::new();
        for candidate in ranking.candidates.into_iter().take(MAX_LOOKED) {
            let doc = all
                .get(candidate.shelf)
                .and_then(|i| i.docs.get(candidate.doc));
            let (Some(doc), Some(shelf)) = (doc, self.shelves.get(candidate.shelf)) else {
                continue;
            };
            let Ok((fact, _)) = shelf.read(&doc.file) else {
                continue;
            };
            // Changed in place since it was indexed: it may speak of something else now.
            if shelf.stamp_of(&doc.file) != Some(doc.stamp) {
                let now = terms_of(&fact);
                let has = |term: &usize| {
                    let hash = asked.get(*term).map(|term| term.hash);
                    now.iter().any(|(known, _)| Some(*known) == hash)
                };
                if !candidate.terms.iter().all(has) {
                    continue;
                }
            }
            out.push((candidate, fact));
        }
        Ok((out, ranking.worth))
    }
}
