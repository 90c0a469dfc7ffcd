//! Which modules of a crate use which: the top-level modules are its rooms, and a circle of rooms is a room without walls.

use super::Violation;
use super::source::Source;
use std::collections::{BTreeMap, BTreeSet};

/// The largest circle that a crate still has. A number here only ever gets smaller.
const CIRCLES: &[(&str, usize)] = &[("engine", 14), ("app", 22), ("host", 3), ("tui", 2)];

/// The rooms of one crate, and those that each uses.
pub struct Rooms {
    pub name: String,
    uses: BTreeMap<String, BTreeSet<String>>,
}

impl Rooms {
    pub fn of(name: &str, sources: &[&Source]) -> Self {
        let start = format!("crates/{name}/src/");
        let own: Vec<(&Source, String)> = sources
            .iter()
            .filter_map(|source| Some((*source, room(source.path.strip_prefix(&start)?))))
            .filter(|(_, room)| !matches!(room.as_str(), "lib" | "main"))
            .collect();
        let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (_, room) in &own {
            uses.entry(room.clone()).or_default();
        }
        let names: BTreeSet<String> = uses.keys().cloned().collect();
        for (source, room) in own {
            let used = used(source).into_iter().filter(|name| names.contains(name));
            let used = used.filter(|name| *name != room).collect::<Vec<_>>();
            uses.entry(room).or_default().extend(used);
        }
        Self {
            name: name.to_owned(),
            uses,
        }
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
            for used in self.uses.get(next).into_iter().flatten() {
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

/// What follows `crate::` in the production code of a file, one by one or in braces.
fn used(source: &Source) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for token in 0..source.tokens() {
        if !source.reads(token, &["crate", "::"]) || source.is_test(source.at(token)) {
            continue;
        }
        let next = token + 2;
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
