//! The moments of a session that one can go back to: what the person said, with the trees that were saved around it. A
//! fold over the entries of one branch.

use crate::log;
use ostler_wire::{Body, Caller, Entry, Rewind, Role, Saved, When};

/// Something the person said, or ran themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Whether it is a command of the person's own.
    pub own: bool,
    pub text: String,
    pub ts: String,
    /// The entry that it follows: where the conversation goes back to.
    pub parent: Option<u64>,
    pub before: Option<Saved>,
    /// Ignored files that were saved later, oldest first.
    pub also: Vec<Saved>,
    pub after: Option<Saved>,
    /// The tree as the session had left it, if this found another one: somebody else changed it in between.
    pub left: Option<Saved>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Points {
    pub all: Vec<Point>,
    /// The last rewind, which can be taken back.
    pub undo: Option<Rewind>,
    pub said_since_undo: bool,
    /// The tree as the session last saw it.
    pub seen: Option<Saved>,
}

impl Point {
    /// The first tree that was saved for it, after the one that the session had left.
    fn find(&mut self, saved: &Saved, left: Option<Saved>) {
        if self.before.is_none() {
            self.before = Some(saved.clone());
            self.left = left.filter(|left| left.tree != saved.tree);
        }
    }
}

impl Points {
    pub fn of(entries: &[Entry]) -> Self {
        let mut out = Self::default();
        // A command of the person's own counts when it changed something; pieces of a Markdown command come before it.
        let mut own: Option<(String, Point)> = None;
        let mut template: Option<Point> = None;
        let mut points_then = 0;
        // What the session left behind when it last stopped working.
        let mut left: Option<Saved> = None;
        for entry in entries {
            let start = || Point {
                ts: entry.ts.clone(),
                parent: entry.parent,
                ..Point::default()
            };
            if let Body::Message(message) = &entry.body
                && message.role == Role::User
            {
                own = None;
                out.all.push(Point {
                    text: message.shown().to_owned(),
                    ..template.take().unwrap_or_else(start)
                });
            } else if let Body::ToolUse(call) = &entry.body {
                match call.by {
                    Some(Caller::Person) => {
                        let input = call.input.to_value();
                        let command = input.get("command").and_then(|c| c.as_str());
                        let point = Point {
                            own: true,
                            text: format!("!{}", command.unwrap_or_default()),
                            ..start()
                        };
                        own = Some((call.id.clone(), point));
                    }
                    Some(Caller::Template) => {
                        template.get_or_insert_with(start);
                    }
                    None => {}
                }
            } else if let Body::ToolResult(result) = &entry.body {
                own = own.filter(|(id, _)| *id != result.tool_use_id);
            } else if let Body::Checkpoint(checkpoint) = &entry.body {
                let saved = &checkpoint.saved;
                if let Some((_, point)) = own.take() {
                    out.all.push(point);
                }
                if checkpoint.when != When::Also {
                    out.seen = Some(saved.clone());
                }
                let Some(point) = template.as_mut().or(out.all.last_mut()) else {
                    continue;
                };
                match checkpoint.when {
                    When::Before => {
                        let left = left.take();
                        point.find(saved, left);
                    }
                    When::Also => point.also.push(saved.clone()),
                    When::After => {
                        point.after = Some(saved.clone());
                        left = Some(saved.clone());
                    }
                }
            } else if let Body::Rewind(rewind) = &entry.body {
                out.seen = rewind.seen.clone().or(out.seen);
                left = rewind.seen.clone().or(left);
                // What was there until the files were put back is what the last prompt found.
                if let (Some(point), Some(before)) = (out.all.last_mut(), &rewind.before) {
                    point.before.get_or_insert_with(|| before.clone());
                }
                out.undo = Some(rewind.clone());
                points_then = out.all.len();
            }
        }
        out.undo = out.undo.filter(|rewind| rewind.from.is_some());
        out.said_since_undo = out.all.len() > points_then;
        out
    }

    /// The same for a session that works at this place now, and may have worked at others: what was seen there says nothing of
    /// the files here.
    pub fn at(mut self, entries: &[Entry], place: Option<&str>) -> Self {
        let is_here = |saved: &Saved| saved.place.as_deref() == place;
        self.seen = entries
            .iter()
            .rev()
            .find_map(|entry| seen_by(&entry.body).filter(|s| is_here(s)).cloned());
        for point in &mut self.all {
            point.also.retain(is_here);
            point.left = point.left.take().filter(is_here);
        }
        self
    }

    /// Another place whose files were changed since the n-th, if the tree that the n-th found lies here; `None` in it is the
    /// machine of the session.
    pub fn elsewhere_since(&self, number: usize, here: Option<&str>) -> Option<Option<&str>> {
        let from = self.all.get(number.checked_sub(1)?..)?;
        let found = self.tree_at(number)?.place.as_deref();
        (found == here).then_some(())?;
        let mut places = from.iter().filter_map(|point| point.before.as_ref());
        let other = places.find(|saved| saved.place.as_deref() != here)?;
        Some(other.place.as_deref())
    }

    /// The n-th, counted from 1.
    pub fn get(&self, number: usize) -> Option<&Point> {
        self.all.get(number.checked_sub(1)?)
    }

    /// The tree as the n-th found it: a prompt that changed nothing found what the next one found.
    pub fn tree_at(&self, number: usize) -> Option<&Saved> {
        let from = self.all.get(number.checked_sub(1)?..)?;
        from.iter().find_map(|point| point.before.as_ref())
    }

    /// After the tree that the n-th found: each tree that the session left, and what the next prompt found instead.
    pub fn changed_between(&self, number: usize) -> Vec<(Saved, Saved)> {
        let from = number.checked_sub(1).and_then(|n| self.all.get(n..));
        let points = from.unwrap_or_default().iter();
        let later = points.skip_while(|point| point.before.is_none()).skip(1);
        let pair = |point: &Point| point.left.clone().zip(point.before.clone());
        later.filter_map(pair).collect()
    }

    /// Ignored files that were saved since, newest first.
    pub fn also_since(&self, number: usize) -> Vec<Saved> {
        let from = number.checked_sub(1).and_then(|n| self.all.get(n..));
        let points = from.unwrap_or_default().iter().rev();
        points.flat_map(|p| p.also.iter().rev()).cloned().collect()
    }

    /// The tree that the n-th left behind: as it was saved then, or as the next one found it.
    pub fn left_by(&self, number: usize) -> Option<&Saved> {
        let own = self.get(number)?.after.as_ref();
        own.or_else(|| self.tree_at(number + 1))
    }
}

/// The tree as an entry says that the session saw it.
fn seen_by(body: &Body) -> Option<&Saved> {
    if let Body::Checkpoint(checkpoint) = body {
        (checkpoint.when != When::Also).then_some(&checkpoint.saved)
    } else if let Body::Rewind(rewind) = body {
        rewind.seen.as_ref()
    } else {
        None
    }
}

/// The branch that ends at an entry, oldest first.
pub fn branch_to(mut entries: Vec<Entry>, tip: u64) -> Vec<Entry> {
    let end = entries.iter().rposition(|e| e.entry == tip);
    entries.truncate(end.map_or(0, |end| end + 1));
    log::branch(entries)
}

/// `session@entry`: which session, and where its past is to end.
pub fn fork_point(id: &str) -> (&str, Option<u64>) {
    match id.rsplit_once('@') {
        Some((session, entry)) => match entry.parse() {
            Ok(entry) => (session, Some(entry)),
            Err(_) => (id, None),
        },
        None => (id, None),
    }
}

/// An entry of another log as it can stand in this one: numbers mean other entries here.
pub fn copied(mut body: Body) -> Body {
    if let Body::Rewind(rewind) = &mut body {
        rewind.from = None;
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{numbered, result, tool_use, user};
    use ostler_wire::{Checkpoint, Notice, Rewound};

    fn tree(id: u64) -> Saved {
        Saved {
            id,
            tree: "abc".into(),
            place: None,
        }
    }

    fn saved(id: u64, when: When) -> Body {
        let saved = tree(id);
        Body::Checkpoint(Checkpoint { saved, when })
    }

    fn ran(id: &str, by: Caller) -> Body {
        let mut body = tool_use(id, "bash", serde_json::json!({"command": "rm x"}));
        if let Body::ToolUse(call) = &mut body {
            call.by = Some(by);
        }
        body
    }

    fn rewind(before: u64) -> Body {
        Body::Rewind(Rewind {
            what: Rewound::Code,
            from: Some(1),
            before: Some(tree(before)),
            seen: Some(tree(before + 1)),
            after: None,
            tokens: None,
        })
    }

    /// `text parent before also after` of each point.
    fn seen(bodies: Vec<Body>) -> Vec<String> {
        let id = |saved: &Option<Saved>| saved.as_ref().map_or("-".into(), |s| s.id.to_string());
        let points = Points::of(&numbered(bodies));
        let line = |point: &Point| {
            let also: Vec<String> = point.also.iter().map(|s| s.id.to_string()).collect();
            let parent = point.parent.map_or("-".into(), |p| p.to_string());
            let trees = (id(&point.before), also.join(","), id(&point.after));
            format!(
                "{} {parent} {} [{}] {}",
                point.text, trees.0, trees.1, trees.2
            )
        };
        points.all.iter().map(line).collect()
    }

    #[test]
    fn trees_belong_to_what_was_said_before_them() {
        use When::{After, Also, Before};
        let meta = || Body::Notice(Notice { text: "x".into() });
        let turn = vec![
            meta(),
            user("a"),
            saved(1, Before),
            saved(2, Also),
            saved(3, Before),
            saved(4, After),
            user("b"),
            user("c"),
            saved(5, Before),
        ];
        assert_eq!(seen(turn), ["a 0 1 [2] 4", "b 5 - [] -", "c 6 5 [] -"]);
        let own = vec![
            meta(),
            ran("o1", Caller::Person),
            result("o1", "read"),
            ran("o2", Caller::Person),
            saved(1, Before),
            result("o2", "wrote"),
            saved(2, After),
            user("a"),
        ];
        assert_eq!(seen(own), ["!rm x 2 1 [] 2", "a 6 - [] -"]);
        let template = vec![
            meta(),
            ran("t1", Caller::Template),
            saved(1, Before),
            result("t1", ""),
            user("expanded"),
            saved(2, Before),
            saved(3, After),
        ];
        assert_eq!(seen(template), ["expanded 0 1 [] 3"]);
        let put_back = vec![meta(), user("a"), saved(1, Before), user("b"), rewind(5)];
        assert_eq!(seen(put_back), ["a 0 1 [] -", "b 2 5 [] -"]);
    }

    #[test]
    fn a_prompt_that_changed_nothing_found_what_the_next_one_found() {
        use When::{After, Before};
        let points = Points::of(&numbered(vec![
            user("a"),
            user("b"),
            saved(1, Before),
            saved(2, After),
            user("c"),
            user("d"),
            saved(7, Before),
        ]));
        let ids = |f: fn(&Points, usize) -> Option<&Saved>| {
            (0..=5)
                .map(|n| f(&points, n).map(|s| s.id))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            ids(Points::tree_at),
            [None, Some(1), Some(1), Some(7), Some(7), None]
        );
        assert_eq!(
            ids(Points::left_by),
            [None, Some(1), Some(2), Some(7), None, None]
        );
        assert_eq!(points.seen, Some(tree(7)));
        assert_eq!(points.undo, None);
    }

    #[test]
    fn trees_of_other_places_are_told_from_those_of_here() {
        use When::{After, Before};
        let at = |id: u64, when, place: Option<&str>| {
            let saved = Saved {
                place: place.map(str::to_owned),
                ..tree(id)
            };
            Body::Checkpoint(Checkpoint { saved, when })
        };
        let entries = numbered(vec![
            user("a"),
            at(1, Before, None),
            at(2, After, None),
            user("b"),
            at(1, Before, Some("box")),
            at(2, After, Some("box")),
            user("c"),
        ]);
        let points = |place| Points::of(&entries).at(&entries, place);
        let seen = |place| points(place).seen.map(|seen| (seen.id, seen.place));
        assert_eq!(seen(None), Some((2, None)));
        assert_eq!(seen(Some("box")), Some((2, Some("box".into()))));
        assert_eq!(seen(Some("other")), None);
        // Before the first prompt lies here, and since then files of the box were changed as well.
        assert_eq!(points(None).elsewhere_since(1, None), Some(Some("box")));
        assert_eq!(points(Some("box")).elsewhere_since(2, Some("box")), None);
        // What was saved elsewhere is refused by another sentence.
        assert_eq!(points(Some("box")).elsewhere_since(1, Some("box")), None);
    }

    #[test]
    fn what_changed_between_two_prompts_is_somebody_elses() {
        use When::{After, Before};
        let at = |id: u64, when| {
            let tree = format!("tree {id}");
            let saved = Saved {
                id,
                tree,
                place: None,
            };
            Body::Checkpoint(Checkpoint { saved, when })
        };
        let points = Points::of(&numbered(vec![
            user("a"),
            at(1, Before),
            at(2, After),
            user("reads"),
            user("b"),
            at(3, Before),
            at(4, Before),
            at(5, After),
            user("c"),
            at(5, Before),
            at(6, After),
        ]));
        let between = |number| {
            let pairs = points.changed_between(number).into_iter();
            pairs.map(|(a, b)| (a.id, b.id)).collect::<Vec<_>>()
        };
        assert_eq!(between(1), [(2, 3)]);
        assert_eq!(between(2), []);
        assert_eq!(between(4), []);
        assert_eq!(between(9), []);
    }

    #[test]
    fn forks_are_named_by_session_and_entry() {
        for (id, expect) in [
            ("abc", ("abc", None)),
            ("abc@12", ("abc", Some(12))),
            ("abc@x", ("abc@x", None)),
            ("@3", ("", Some(3))),
        ] {
            assert_eq!(fork_point(id), expect, "{id}");
        }
    }
}
