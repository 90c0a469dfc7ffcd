//! What `find` does beyond looking: what it deletes, writes and runs. Its options as a reader are in `readers`.

use super::effects::{DEEP, Touch};
use super::walk::Walker;
use super::word::Word;
use super::wrappers::joined;
use ostler_wire::{Mark, Segment};

impl Walker<'_> {
    /// What `find` does beyond looking.
    pub(super) fn find(&mut self, words: &[Word]) {
        let bases: Vec<String> = words
            .iter()
            .skip(1)
            .filter(|w| !matches!(w.text.as_str(), "-L" | "-P" | "-H"))
            .take_while(|w| !w.text.starts_with(['-', '(', '!']))
            .map(|w| w.text.clone())
            .collect();
        let bases = if bases.is_empty() {
            vec![".".to_owned()]
        } else {
            bases
        };
        let found: Vec<String> = bases
            .iter()
            .map(|base| match only_name(words) {
                Some(name) => format!("{base}{DEEP}/{name}"),
                None => format!("{base}{DEEP}"),
            })
            .collect();
        let mut does = Vec::new();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match word.text.as_str() {
                "-delete" => does.extend(bases.iter().map(|b| Touch::Write(format!("{b}{DEEP}")))),
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    does.extend(rest.next().map(|w| Touch::Write(w.text.clone())));
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let inner = taken(rest.as_slice());
                    self.found(inner, &found);
                    rest = rest
                        .as_slice()
                        .get(inner.len()..)
                        .unwrap_or_default()
                        .iter();
                }
                _ => {}
            }
        }
        let mut segment = Segment {
            text: joined(words),
            ..Segment::default()
        };
        self.resolve(&does, &mut segment);
        let last = self.out.iter_mut().rev().find(|s| s.text == segment.text);
        if let Some(last) = last.filter(|_| !does.is_empty()) {
            last.does.append(&mut segment.does);
            last.marks.push(Mark::Delete);
        }
    }

    /// The command of `-exec`, with every found file in place of `{}`.
    fn found(&mut self, inner: &[Word], files: &[String]) {
        let mut argv = Vec::new();
        for word in inner {
            if word.text == "{}" {
                argv.extend(files.iter().map(Word::plain));
            } else if word.text.contains("{}") {
                argv.push(Word::unknown(word.text.clone()));
            } else {
                argv.push(word.clone());
            }
        }
        self.simple(&joined(inner), argv, Vec::new());
    }
}

/// The words of a command behind `-exec`, without what ends them: `;`, or `+` behind `{}`.
fn taken(words: &[Word]) -> &[Word] {
    let mut before = "";
    let end = words.iter().position(|w| {
        let ends = w.text == ";" || w.text == "+" && before == "{}";
        before = w.text.as_str();
        ends
    });
    words.get(..end.unwrap_or(words.len())).unwrap_or_default()
}

/// Takes out `-exec … ;` and `-exec … {} +`: what they run is judged by itself. `None` where the end is not sure.
pub(super) fn without_exec(words: &mut Vec<&Word>) -> Option<()> {
    while let Some(from) = words.iter().position(|w| w.text == "-exec") {
        let rest = words.get(from + 1..)?;
        let end = rest
            .iter()
            .position(|w| matches!(w.text.as_str(), ";" | "+"))?;
        let sure = rest.get(..=end)?.iter().all(|w| w.is_sure());
        // A plus that stands elsewhere ends the command for some programs and not for others.
        let plus = rest.get(end)?.text == "+";
        let behind = end
            .checked_sub(1)
            .and_then(|i| rest.get(i))
            .is_some_and(|w| w.text == "{}");
        if !sure || end == 0 || plus && !behind {
            return None;
        }
        words.drain(from..=from + 1 + end);
    }
    Some(())
}

/// The one name that everything found has.
fn only_name(words: &[Word]) -> Option<&str> {
    let joins = ["-o", "-or", "-not", "!", "(", ")", ","];
    if words.iter().any(|w| joins.contains(&w.text.as_str())) {
        return None;
    }
    let mut named = words.windows(2).filter_map(|pair| match pair {
        [option, name] if option.text == "-name" => Some(name),
        _ => None,
    });
    let name = named.next().filter(|_| named.next().is_none())?;
    (name.known && !name.odd && !name.text.contains(['/', '\\'])).then_some(name.text.as_str())
}
