//! Gathers calls from deltas. Servers disagree on what a delta of a call holds, so this trusts no single field.

use super::super::loose::{Extras, Fields, string};
use super::super::{Kept, write};
use super::{CALL, CALL_FIELDS};
use crate::{Chunk, Error};
use serde_json::value::RawValue;

#[derive(Default)]
pub(super) struct Calls {
    gathered: Vec<Call>,
    /// The only call of an answer in the first form of the protocol, `function_call`.
    legacy: Call,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extras: Extras,
}

/// What one entry of `tool_calls` says.
struct Delta {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: Arguments,
    /// It stands behind another entry of the same delta.
    follows: bool,
}

enum Arguments {
    /// Text that is added.
    More(String),
    /// JSON where the protocol wants text.
    Whole(String),
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.gathered.is_empty() && self.legacy.name.is_empty()
    }

    /// Reads `function_call`, which has no id and no index.
    pub(super) fn push_legacy(&mut self, raw: &RawValue, kept: &mut Kept) -> Result<(), Error> {
        kept.bytes(raw.get().len())?;
        let function = Fields::of(raw.get());
        self.legacy.add(Delta {
            index: None,
            id: String::new(),
            name: function.text("name").unwrap_or_default(),
            arguments: arguments_of(&function),
            follows: false,
        });
        Ok(())
    }

    pub(super) fn push(&mut self, list: &RawValue, kept: &mut Kept) -> Result<(), Error> {
        // Some send one call without the list.
        let entries: Vec<&RawValue> = match list.get().starts_with('{') {
            true => vec![list],
            false => serde_json::from_str(list.get()).unwrap_or_default(),
        };
        for (i, entry) in entries.iter().enumerate() {
            let fields = Fields::of(entry.get());
            let function = match fields.get("function") {
                Some(raw) => Fields::of(raw.get()),
                None => Fields::of(entry.get()),
            };
            let arguments = arguments_of(&function);
            let delta = Delta {
                index: fields.count("index"),
                id: fields.text("id").unwrap_or_default(),
                name: function.text("name").unwrap_or_default(),
                arguments,
                follows: i > 0,
            };
            kept.bytes(entry.get().len())?;
            let at = match self.position(&delta) {
                Some(at) => at,
                None => {
                    kept.part()?;
                    self.gathered.push(Call::default());
                    self.gathered.len() - 1
                }
            };
            if let Some(call) = self.gathered.get_mut(at) {
                call.add(delta);
                for (key, value) in fields.without(&CALL_FIELDS) {
                    call.extras.set(key, value);
                }
            }
        }
        Ok(())
    }

    /// The calls in the order in which they began.
    pub(super) fn end(&mut self, out: &mut Vec<Chunk>) {
        if self.gathered.is_empty() {
            self.gathered.push(std::mem::take(&mut self.legacy));
        }
        for mut call in self.gathered.drain(..) {
            if call.name.is_empty() && call.arguments.is_empty() {
                continue;
            }
            if call.arguments.trim().is_empty() {
                call.arguments = "{}".into();
            }
            out.push(Chunk::Call {
                id: call.id,
                name: call.name,
                arguments: call.arguments,
                replay: call.extras.take(CALL),
            });
        }
    }

    /// The call a delta goes on with, if it is not a new one.
    fn position(&self, delta: &Delta) -> Option<usize> {
        let last = self.gathered.len().checked_sub(1)?;
        let find = |same: &dyn Fn(&Call) -> bool| self.gathered.iter().rposition(same);
        if delta.index.is_some() {
            let at = find(&|call| call.index == delta.index)?;
            // Some number every call 0: another name under another id, after arguments that are complete, is another call.
            let call = self.gathered.get(at)?;
            let other_id = !delta.id.is_empty() && !call.id.is_empty() && delta.id != call.id;
            return (!(other_id && !delta.name.is_empty() && call.is_whole())).then_some(at);
        }
        if !delta.id.is_empty() {
            let known = find(&|call| call.id == delta.id);
            let late = || {
                let call = self.gathered.get(last)?;
                (call.id.is_empty() && delta.name.is_empty()).then_some(last)
            };
            return known.or_else(late);
        }
        let call = self.gathered.get(last)?;
        let begins =
            !delta.name.is_empty() && !call.name.is_empty() && (delta.follows || call.is_whole());
        (!begins).then_some(last)
    }
}

/// Text that is added, or a value where the protocol wants text; under either of the names that are in use.
fn arguments_of(function: &Fields<'_>) -> Arguments {
    let raw = function.get("arguments");
    match raw.or_else(|| function.get("parameters")) {
        None => Arguments::More(String::new()),
        Some(raw) => match string(raw) {
            Some(text) => Arguments::More(text),
            None => Arguments::Whole(raw.get().to_owned()),
        },
    }
}

impl Call {
    fn add(&mut self, delta: Delta) {
        self.index = self.index.or(delta.index);
        if self.id.is_empty() {
            self.id = delta.id;
        }
        if self.name.is_empty() {
            self.name = delta.name;
        } else if self.arguments.is_empty() && !self.name.ends_with(&delta.name) {
            self.name.push_str(&delta.name);
        }
        match delta.arguments {
            // A summary of what the deltas said adds nothing.
            Arguments::More(more) if more == self.arguments && self.is_whole() => {}
            Arguments::More(more) => self.arguments.push_str(&more),
            Arguments::Whole(json) if matches!(self.arguments.as_str(), "" | "{}") => {
                self.arguments = json;
            }
            Arguments::Whole(_) => {}
        }
    }

    fn is_whole(&self) -> bool {
        write::is_object(&self.arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line is the `tool_calls` of one delta; the answer lists `id name arguments`.
    fn check(deltas: &[&str], expect: &[&str]) {
        let mut calls = Calls::default();
        for delta in deltas {
            let raw: &RawValue = serde_json::from_str(delta).unwrap();
            calls.push(raw, &mut Kept::default()).unwrap();
        }
        let mut out = Vec::new();
        calls.end(&mut out);
        let got: Vec<String> = out
            .into_iter()
            .map(|chunk| match chunk {
                Chunk::Call {
                    id,
                    name,
                    arguments,
                    ..
                } => format!("{id} {name} {arguments}"),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(got, expect);
    }

    #[test]
    fn by_the_book() {
        check(
            &[
                r#"[{"index":0,"id":"a","type":"function","function":{"name":"ls","arguments":""}}]"#,
                r#"[{"index":0,"function":{"arguments":"{\"p\""}}]"#,
                r#"[{"index":1,"id":"b","function":{"name":"cat","arguments":"{}"}},{"index":0,"function":{"arguments":":1}"}}]"#,
            ],
            &[r#"a ls {"p":1}"#, "b cat {}"],
        );
    }

    #[test]
    fn without_index() {
        check(
            &[
                r#"[{"id":"a","function":{"name":"ls","arguments":"{\"p\""}}]"#,
                r#"[{"function":{"arguments":":1}"}}]"#,
                r#"[{"id":"b","function":{"name":"ls","arguments":"{}"}}]"#,
            ],
            &[r#"a ls {"p":1}"#, "b ls {}"],
        );
    }

    #[test]
    fn whole_calls_in_one_delta() {
        check(
            &[
                r#"[{"function":{"name":"ls","arguments":{"p":1.0}}},{"function":{"name":"pwd","arguments":{}}}]"#,
            ],
            &[r#" ls {"p":1.0}"#, " pwd {}"],
        );
        check(
            &[r#"[{"function":{"name":"now"}},{"function":{"name":"now"}}]"#],
            &[" now {}", " now {}"],
        );
    }

    #[test]
    fn every_index_zero() {
        check(
            &[
                r#"[{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"}}]"#,
                r#"[{"index":0,"id":"b","function":{"name":"ls","arguments":"{}"}}]"#,
            ],
            &["a ls {}", "b ls {}"],
        );
    }

    #[test]
    fn late_repeated_and_changing_ids() {
        check(
            &[
                r#"[{"function":{"name":"ls","arguments":"{"}}]"#,
                r#"[{"id":"a","function":{"arguments":"}"}}]"#,
            ],
            &["a ls {}"],
        );
        check(
            &[
                r#"[{"index":0,"id":"a","function":{"name":"ls","arguments":"{"}}]"#,
                r#"[{"index":0,"id":"a","function":{"name":"ls","arguments":"}"}}]"#,
            ],
            &["a ls {}"],
        );
        check(
            &[
                r#"[{"index":0,"id":"x1","function":{"name":"ls","arguments":"{"}}]"#,
                r#"[{"index":0,"id":"x2","function":{"name":"ls","arguments":"}"}}]"#,
            ],
            &["x1 ls {}"],
        );
    }

    #[test]
    fn names_in_pieces_and_arguments_twice() {
        check(
            &[
                r#"[{"index":0,"id":"a","function":{"name":"read_"}}]"#,
                r#"[{"index":0,"function":{"name":"file"}}]"#,
                r#"[{"index":0,"function":{"arguments":"{\"p\":1}"}}]"#,
                r#"[{"index":0,"function":{"arguments":"{\"p\":1}"}}]"#,
            ],
            &[r#"a read_file {"p":1}"#],
        );
    }

    #[test]
    fn other_forms() {
        for delta in [
            r#"{"id":"a","function":{"name":"ls","arguments":"{}"}}"#,
            r#"[{"id":"a","name":"ls","arguments":{}}]"#,
            r#"[{"id":"a","function":{"name":"ls","parameters":{}}}]"#,
        ] {
            check(&[delta], &["a ls {}"]);
        }
    }

    #[test]
    fn the_first_form_of_the_protocol() {
        let mut calls = Calls::default();
        for delta in [
            r#"{"name":"ls","arguments":""}"#,
            r#"{"arguments":"{\"p\""}"#,
            r#"{"arguments":":1}"}"#,
        ] {
            let raw: &RawValue = serde_json::from_str(delta).unwrap();
            calls.push_legacy(raw, &mut Kept::default()).unwrap();
        }
        assert!(!calls.is_empty());
        let mut out = Vec::new();
        calls.end(&mut out);
        let [
            Chunk::Call {
                name, arguments, ..
            },
        ] = out.as_slice()
        else {
            panic!("{out:?}");
        };
        assert_eq!((name.as_str(), arguments.as_str()), ("ls", r#"{"p":1}"#));
    }

    #[test]
    fn nonsense_is_passed_over() {
        check(&[r#"{}"#, r#"[null,7,{"function":null}]"#], &[]);
    }
}
