//! Which modules of a crate use which: the top-level modules are its rooms, and a circle of rooms is a room without walls.

use super::Violation;
use super::source::Source;
use std::collections::{BTreeMap, BTreeSet};

/// The largest circle that a crate still has. A number here only ever gets smaller.
const CIRCLES: &[(&str, usize)] = &[];

/// The rooms of one crate, and those that each uses, with a file that does.
pub struct Rooms {
    pub name: String,
    uses: BTreeMap<String, BTreeMap<String, String>>,
}

impl Rooms {
    pub fn of(name: &str, sources: &[&Source]) -> Self {
        let start = format!("crates/{name}/src/");
        let all: Vec<(&Source, String)> = sources
            .iter()
            .filter_map(|source| Some((*source, room(source.path.strip_prefix(&start)?))))
            .collect();
        let is_root = |room: &str| matches!(room, "lib" | "main" | "testing");
        let (roots, own): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, room)| is_root(room));
        let mut uses: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for (_, room) in &own {
            uses.entry(room.clone()).or_default();
        }
        let names: BTreeSet<String> = uses.keys().cloned().collect();
        let known = |name: &str| names.contains(name);
        let aliases: BTreeMap<String, String> = roots
            .iter()
            .flat_map(|(root, _)| aliases(root, known))
            .collect();
        for (source, room) in own {
            let inner = source.path.strip_prefix(&start).unwrap_or_default();
            for name in used(source, depth(inner)) {
                let used = aliases.get(&name).unwrap_or(&name);
                if known(used) && *used != room {
                    let from = uses.entry(room.clone()).or_default();
                    from.entry(used.clone()).or_insert(source.path.clone());
                }
            }
        }
        Self {
            name: name.to_owned(),
            uses,
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.uses.keys().map(String::as_str)
    }

    /// The rooms that this one uses, each with a file that does.
    pub fn uses(&self, room: &str) -> Option<&BTreeMap<String, String>> {
        self.uses.get(room)
    }

    pub fn count(&self) -> usize {
        self.uses.len()
    }

    /// The rooms of the largest circle; none where every edge points one way.
    pub fn largest_circle(&self) -> Vec<String> {
        let mut best = Vec::new();
        for room in self.uses.keys() {
            let there = self.reached(room);
            let circle: Vec<String> = there
                .iter()
                .filter(|other| self.reached(other).contains(room))
                .cloned()
                .collect();
            if circle.len() > best.len() {
                best = circle;
            }
        }
        best
    }

    /// All that a room uses, directly or through others.
    fn reached(&self, room: &str) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&str> = vec![room];
        while let Some(next) = open.pop() {
            for used in self.uses.get(next).into_iter().flat_map(BTreeMap::keys) {
                if seen.insert(used.clone()) {
                    open.push(used);
                }
            }
        }
        seen
    }
}

pub fn check(rooms: &[Rooms]) -> Vec<Violation> {
    let mut found = Vec::new();
    for crate_rooms in rooms {
        let known = CIRCLES.iter().find(|(name, _)| *name == crate_rooms.name);
        let allowed = known.map_or(0, |(_, count)| *count);
        let circle = crate_rooms.largest_circle();
        let message = if circle.len() > allowed {
            format!(
                "{} modules use each other in a circle, at most {allowed}: {}",
                circle.len(),
                circle.join(", ")
            )
        } else if circle.len() < allowed {
            format!(
                "the largest circle has {} modules now: say so in xtask/src/tidy/rooms.rs",
                circle.len()
            )
        } else {
            continue;
        };
        found.push(Violation {
            path: format!("crates/{}", crate_rooms.name),
            line: 0,
            message,
        });
    }
    found
}

/// `policy/rules.rs` and `policy.rs` are `policy`.
fn room(path: &str) -> String {
    let first = path.split('/').next().unwrap_or_default();
    first.trim_end_matches(".rs").to_owned()
}

/// How many `super` lead from a file to the root of the crate.
fn depth(path: &str) -> usize {
    let path = path.strip_suffix("/mod.rs").unwrap_or(path);
    path.split('/').count()
}

/// Names that the root of a crate has for parts of a room: `feed`, where it says `pub use clients::feed`.
fn aliases(root: &Source, known: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for token in 0..root.tokens() {
        let room = root.word(token + 1);
        if root.word(token) != "use" || !known(room) || root.is_test(root.at(token)) {
            continue;
        }
        let mut at = token + 2;
        while at < root.tokens() && root.word(at) != ";" {
            if matches!(root.word(at + 1), "," | "}" | ";") && root.word(at) != "}" {
                out.push((root.word(at).to_owned(), room.to_owned()));
            }
            at += 1;
        }
    }
    out
}

/// What follows `crate::`, or as many `super::` as lead to the root, in the production code of a file.
fn used(source: &Source, depth: usize) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for token in 0..source.tokens() {
        if source.is_test(source.at(token)) {
            continue;
        }
        let next = match source.reads(token, &["crate", "::"]) {
            true => token + 2,
            false => match supers(source, token) {
                count if count == depth => token + 2 * depth,
                _ => continue,
            },
        };
        if source.word(next) != "{" {
            out.insert(source.word(next).to_owned());
            continue;
        }
        let close = source.closing(next);
        let mut at = next + 1;
        while at < close {
            out.insert(source.word(at).to_owned());
            // To the comma that ends this one.
            while at < close && source.word(at) != "," {
                at = match source.word(at) {
                    "{" => source.closing(at) + 1,
                    _ => at + 1,
                };
            }
            at += 1;
        }
    }
    out
}

/// How many `super::` begin at a token.
fn supers(source: &Source, token: usize) -> usize {
    let is_inner = token > 0 && source.word(token - 1) == "::";
    let count = (0..)
        .take_while(|n| source.reads(token + 2 * n, &["super", "::"]))
        .count();
    match is_inner {
        true => 0,
        false => count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found() {
        let file = |path: &str, text: &str| Source::new(&format!("crates/x/src/{path}"), text);
        let sources = [
            file("a.rs", "//! A.\nuse crate::b::B;\n"),
            file("b/mod.rs", "//! B.\nuse crate::{c::{C, D}, e};\n"),
            file("b/more.rs", "//! B.\nfn x() { crate::b::y() }\n"),
            file("c.rs", "//! C.\nfn x() { crate::a::y() }\n"),
            file(
                "e.rs",
                "//! E.\n#[cfg(test)]\nmod tests { use crate::a::A; }\n",
            ),
        ];
        let rooms = Rooms::of("x", &sources.iter().collect::<Vec<_>>());
        assert_eq!(rooms.count(), 4);
        assert_eq!(rooms.largest_circle(), ["a", "b", "c"]);
        let found = check(&[rooms]);
        assert!(found[0].message.contains("3 modules"), "{found:?}");
    }
}
