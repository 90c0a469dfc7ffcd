//! Reads the arguments of a call, in one place for every tool of ours. A call never runs with another meaning than the
//! model wrote: a parameter that the tool does not know is renamed, ignored or refused as a table says, else refused.
//! Tools of MCP servers follow their own schemas.

mod argv;
mod shape;
mod table;
#[cfg(test)]
mod tests;
mod unlisted;

pub use table::plain;
pub use unlisted::check_unlisted;

use argv::command_line;
use shape::{Kind, Shape};

use crate::error::ToolError;
use ostler_wire::ToolDeclaration;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::any::TypeId;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use table::{Fate, How, Mapping, Rows, as_bool, is_neutral, is_same};

/// Names that models put around all arguments.
const WRAPPERS: [&str; 9] = [
    "arguments",
    "args",
    "parameters",
    "params",
    "input",
    "inputs",
    "kwargs",
    "tool_input",
    "tool_args",
];
/// Names of the tool within its own arguments, and what may stand beside them.
const NAMES: [&str; 4] = ["name", "tool", "tool_name", "function"];
const BESIDE: [&str; 3] = ["id", "type", "index"];
/// How alike two names must be for one to be proposed in place of the other.
const MIN_LIKENESS: f64 = 0.8;
/// Characters of a foreign name that are shown.
const MAX_NAME: usize = 60;
/// Problems of one call that are named.
const MAX_PROBLEMS: usize = 8;

/// The shapes of arguments by their types, each made once: it is derived from a schema.
static SHAPES: LazyLock<Mutex<HashMap<TypeId, Arc<Shape>>>> = LazyLock::new(Mutex::default);

/// What was changed before the arguments were read, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    Renamed { from: String, to: String },
    Ignored(String),
    Unwrapped(String),
    Word { from: String, to: String },
    Line(String),
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repair::Renamed { from, to } => write!(f, "{from} taken as {to}"),
            Repair::Ignored(name) => write!(f, "{name} ignored"),
            Repair::Unwrapped(name) => write!(f, "arguments taken out of {name}"),
            Repair::Word { from, to } => write!(f, "value {from} taken as {to}"),
            Repair::Line(name) => write!(f, "the list in {name} taken as a line"),
        }
    }
}

/// The arguments of a call as the tool takes them, and what had to be changed for that. The error is for the model.
pub fn read_arguments<T: DeserializeOwned + JsonSchema + 'static>(
    tool: &ToolDeclaration,
    args: &Value,
) -> Result<(T, Vec<Repair>), ToolError> {
    let shape = shape_of::<T>();
    let (args, repairs) = fit(tool, &shape, args)?;
    let read = T::deserialize(args.as_ref()).map_err(|error| {
        let error = error.to_string();
        let takes = match error.starts_with("missing field") {
            true => format!(" It takes: {}.", shape.describe()),
            false => String::new(),
        };
        let tool = &tool.name;
        invalid(format!("Invalid arguments for {tool}: {error}.{takes}"))
    })?;
    Ok((read, repairs))
}

/// Gives arguments of this type the names that the tool has for them.
pub fn fit_arguments<T: JsonSchema + 'static>(
    tool: &ToolDeclaration,
    args: &Value,
) -> Result<(Value, Vec<Repair>), ToolError> {
    let (args, repairs) = fit(tool, &shape_of::<T>(), args)?;
    Ok((args.into_owned(), repairs))
}

/// The same for arguments that follow a schema written by hand.
pub fn fit_to_schema(
    tool: &ToolDeclaration,
    schema: &Value,
    args: &Value,
) -> Result<(Value, Vec<Repair>), ToolError> {
    let (args, repairs) = fit(tool, &Shape::of(schema), args)?;
    Ok((args.into_owned(), repairs))
}

fn shape_of<T: JsonSchema + 'static>() -> Arc<Shape> {
    let mut shapes = SHAPES.lock().unwrap_or_else(PoisonError::into_inner);
    let shape = shapes.entry(TypeId::of::<T>());
    let shape = shape.or_insert_with(|| Arc::new(Shape::of(&crate::schema::of::<T>())));
    shape.clone()
}

fn invalid(message: String) -> ToolError {
    ToolError::new("invalid_input", message)
}

fn fit<'a>(
    about: &ToolDeclaration,
    shape: &Shape,
    args: &'a Value,
) -> Result<(Cow<'a, Value>, Vec<Repair>), ToolError> {
    let tool = about.name.as_ref();
    let Value::Object(given) = args else {
        // A list would be read by the order of the parameters.
        return Err(invalid(format!(
            "The arguments of {tool} have to be an object. It takes: {}.",
            shape.describe()
        )));
    };
    let mut fitting = Fitting::default();
    let rows = Rows::of(tool);
    let needs_row = |name: &str, value: &Value| {
        rows.find_own(name, value).is_some() || rows.is_line(name) && command_line(value).is_some()
    };
    if shape.fits(given) && !given.iter().any(|(name, value)| needs_row(name, value)) {
        return Ok((Cow::Borrowed(args), Vec::new()));
    }
    let given = fitting.unwrap(about, shape, given.clone());
    let fitted = fitting.fit_object(tool, shape, given, "");
    if fitting.problems.is_empty() {
        return Ok((Cow::Owned(Value::Object(fitted)), fitting.repairs));
    }
    fitting.problems.truncate(MAX_PROBLEMS);
    Err(invalid(format!(
        "Nothing was run. {} {tool} takes: {}.",
        fitting.problems.join(" "),
        shape.describe()
    )))
}

/// One call on its way from what was written to what the tool takes.
#[derive(Default)]
struct Fitting {
    repairs: Vec<Repair>,
    /// Sentences.
    problems: Vec<String>,
}

/// A parameter that became one of ours, and how it may meet another that does the same.
struct Meant {
    from: String,
    to: String,
    value: Value,
    how: How,
}

impl Fitting {
    /// The arguments that stand in a wrapping, where nothing else can be meant.
    fn unwrap(
        &mut self,
        about: &ToolDeclaration,
        shape: &Shape,
        given: Map<String, Value>,
    ) -> Map<String, Value> {
        let tool = about.name.as_ref();
        let is_wrapper = |name: &str| {
            let is_own = shape.find(name).is_some();
            !is_own && (WRAPPERS.contains(&name) || plain(name) == plain(tool))
        };
        let names_tool = |name: &str, value: &Value| {
            let is_called = value.as_str().is_some_and(|name| is_name_of(about, name));
            NAMES.contains(&name) && shape.find(name).is_none() && is_called
        };
        let rows = Rows::of(tool);
        let is_beside = |name: &str, value: &Value| {
            let is_own = shape.find(name).is_some() || rows.find_own(name, value).is_some();
            BESIDE.contains(&name) && !is_own
        };
        let mut inside = None;
        for (name, value) in &given {
            match as_object(value).filter(|_| is_wrapper(name)) {
                Some(fields) if inside.is_none() => inside = Some((name.clone(), fields)),
                Some(_) => return given,
                None if names_tool(name, value) || is_beside(name, value) => {}
                None => return given,
            }
        }
        let alone = given.len() == 1 || given.iter().any(|(name, value)| names_tool(name, value));
        match inside.filter(|_| alone) {
            Some((name, fields)) => {
                self.repairs.push(Repair::Unwrapped(name));
                fields
            }
            None => given,
        }
    }

    /// `place` is empty, or where in the arguments the object stands.
    fn fit_object(
        &mut self,
        section: &str,
        shape: &Shape,
        given: Map<String, Value>,
        place: &str,
    ) -> Map<String, Value> {
        let rows = Rows::of(section);
        let (mut fitted, mut foreign) = (Map::new(), Vec::new());
        for (name, value) in given {
            let own_row = rows.find_own(&name, &value);
            match (shape.find(&name), own_row) {
                (Some(_), None) => _ = fitted.insert(name, value),
                (_, row) => foreign.push((name, value, row)),
            }
        }
        let mut meant = Vec::new();
        for (name, value, row) in foreign {
            let shown = format!("{place}{}", name.chars().take(MAX_NAME).collect::<String>());
            let row = row.or_else(|| find_row(&rows, shape, &name, &value));
            match row {
                Some(Fate::Known) => _ = fitted.insert(name, value),
                Some(Fate::Flag) => {
                    let fitting = as_bool(&value).filter(|_| value.is_string());
                    if let Some(flag) = fitting {
                        self.repairs.push(Repair::Word {
                            from: value.to_string(),
                            to: flag.to_string(),
                        });
                    }
                    fitted.insert(name, fitting.map_or(value, Value::Bool));
                }
                Some(Fate::Harmless) => self.repairs.push(Repair::Ignored(shown)),
                Some(Fate::Refused(why)) => {
                    self.problems
                        .push(format!("`{shown}` is not possible: {why}."));
                }
                Some(Fate::Mapped(mapping)) => {
                    let taken = fitted.contains_key(&mapping.to);
                    match rows.find_refusal(&name, &value) {
                        Some(Fate::Refused(why)) if mapping.absent && taken => {
                            self.problems
                                .push(format!("`{shown}` is not possible: {why}."));
                        }
                        _ if mapping.absent && taken => self.repairs.push(Repair::Ignored(shown)),
                        _ => self.map(&shown, value, &mapping, &mut meant),
                    }
                }
                None if value.is_null() => self.repairs.push(Repair::Ignored(shown)),
                None => self
                    .problems
                    .push(unknown(section, shape, &rows, &name, &shown)),
            }
        }
        self.join(&mut fitted, meant);
        self.fit_values(section, shape, &mut fitted, place);
        fitted
    }

    fn map(&mut self, shown: &str, value: Value, mapping: &Mapping, meant: &mut Vec<Meant>) {
        let mut push = |to: &str, value: Value, how: How| {
            meant.push(Meant {
                from: shown.to_owned(),
                to: to.to_owned(),
                value,
                how,
            });
        };
        let to = mapping.to.as_str();
        match (&mapping.when, mapping.how) {
            _ if value.is_null() => self.repairs.push(Repair::Ignored(shown.to_owned())),
            (Some(when), _) if is_same(when, &value) => {
                push(to, mapping.is.clone().unwrap_or(value), How::Same);
            }
            (Some(_), _) if is_neutral(&value) => {
                self.repairs.push(Repair::Ignored(shown.to_owned()));
            }
            (Some(_), _) => self
                .problems
                .push(format!("`{shown}` cannot be {value} here.")),
            (None, How::Same | How::Most) => push(to, value, mapping.how),
            (None, How::Not) => match as_bool(&value) {
                Some(value) => push(to, Value::Bool(!value), How::Same),
                None => self
                    .problems
                    .push(format!("`{shown}` has to be true or false.")),
            },
            (None, How::LastLine) => match as_number(&value) {
                Some(-1) => self.repairs.push(Repair::Ignored(shown.to_owned())),
                Some(last) => push(to, last.into(), How::LastLine),
                None => self
                    .problems
                    .push(format!("`{shown}` has to be a line number.")),
            },
            (None, How::Lines) => match as_lines(&value) {
                Some((first, last)) => {
                    push(to, first.into(), How::Same);
                    if last != -1 {
                        push("limit", last.into(), How::LastLine);
                    }
                }
                None => self.problems.push(format!(
                    "`{shown}` has to be the numbers of the first and the last line."
                )),
            },
        }
    }

    /// Puts what foreign parameters mean beside the rest. Two that mean one parameter must agree.
    fn join(&mut self, fitted: &mut Map<String, Value>, mut meant: Vec<Meant>) {
        // The last line is counted from the first, so it comes after that.
        meant.sort_by_key(|one| one.how == How::LastLine);
        let mut origins: Vec<(String, String)> = Vec::new();
        for Meant {
            from,
            to,
            value,
            how,
        } in meant
        {
            let value = match how {
                How::LastLine => {
                    let first = fitted
                        .get("offset")
                        .map_or(Some(1), as_number)
                        .map(|f| f.max(1));
                    match (first, as_number(&value)) {
                        (Some(first), Some(last)) if last >= first => (last - first + 1).into(),
                        _ => {
                            self.problems
                                .push(format!("`{from}` is before the first line."));
                            continue;
                        }
                    }
                }
                How::Same | How::Not | How::Most | How::Lines => value,
            };
            let before = fitted.get(&to).filter(|before| !before.is_null());
            let value = match (before, how) {
                (None, _) => value,
                (Some(before), _) if is_same(before, &value) => value,
                (Some(before), How::Most) => match (as_number(before), as_number(&value)) {
                    (Some(one), Some(other)) => one.max(other).into(),
                    _ => value,
                },
                (Some(_), How::Same | How::Not | How::LastLine | How::Lines) => {
                    let other = origins.iter().find(|(_, name)| *name == to);
                    let other = other.map_or(to.as_str(), |(from, _)| from);
                    self.problems.push(format!(
                        "`{from}` and `{other}` both mean `{to}`, and differ; send `{to}` only."
                    ));
                    continue;
                }
            };
            fitted.insert(to.clone(), value);
            origins.push((from.clone(), to.clone()));
            self.repairs.push(Repair::Renamed { from, to });
        }
    }

    /// Words of a choice under other names, and objects in lists.
    fn fit_values(
        &mut self,
        section: &str,
        shape: &Shape,
        fitted: &mut Map<String, Value>,
        place: &str,
    ) {
        let rows = Rows::of(section);
        for (name, value) in fitted {
            let Some(field) = shape.find(name) else {
                continue;
            };
            if let Some(line) = command_line(value).filter(|_| rows.is_line(name)) {
                match line {
                    Ok(line) => {
                        self.repairs.push(Repair::Line(name.clone()));
                        *value = line.into();
                    }
                    Err(why) => self.problems.push(format!("`{place}{name}` {why}.")),
                }
                continue;
            }
            match (&field.kind, value) {
                (Kind::Words(words), value @ Value::String(_)) => {
                    let Some(word) = value.as_str().filter(|w| !words.iter().any(|o| o == w))
                    else {
                        continue;
                    };
                    let same = words.iter().find(|ours| plain(ours) == plain(word));
                    let ours = same.map(String::as_str);
                    if let Some(ours) = ours.or_else(|| rows.find_word(name, word)) {
                        self.repairs.push(Repair::Word {
                            from: word.to_owned(),
                            to: ours.to_owned(),
                        });
                        *value = ours.into();
                    }
                }
                (Kind::Items(shape), Value::Array(items)) => {
                    let section = format!("{section}.{name}");
                    for (n, item) in items.iter_mut().enumerate() {
                        let place = format!("{place}{name}[{n}]");
                        match item {
                            Value::Object(fields) => {
                                let fields = std::mem::take(fields);
                                let place = format!("{place}.");
                                *item = self.fit_object(&section, shape, fields, &place).into();
                            }
                            Value::Array(_) => self.problems.push(format!(
                                "`{place}` has to be an object with: {}.",
                                shape.describe()
                            )),
                            // The tool's own reader says what it wants.
                            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
                        }
                    }
                }
                (Kind::Plain | Kind::Words(_) | Kind::Items(_), _) => {}
            }
        }
    }
}

/// Whether a name, maybe with a namespace before it, means this tool.
fn is_name_of(about: &ToolDeclaration, name: &str) -> bool {
    let bare = name.trim().rsplit(['.', ':']).next().unwrap_or(name);
    let mut own = std::iter::once(about.name.as_ref()).chain(about.aliases.iter().copied());
    own.any(|own| plain(own) == plain(bare))
}

/// What becomes of a name that is neither the tool's nor in its section.
fn find_row(rows: &Rows, shape: &Shape, name: &str, value: &Value) -> Option<Fate> {
    let spelt = || {
        let mut same = shape
            .fields
            .iter()
            .filter(|f| plain(&f.name) == plain(name));
        let field = same.next().filter(|_| same.next().is_none())?;
        Some(Fate::Mapped(Mapping::rename(&field.name)))
    };
    rows.find_common(name, value)
        .or_else(spelt)
        .or_else(|| rows.find_spelt(name, value))
}

fn unknown(section: &str, shape: &Shape, rows: &Rows, name: &str, shown: &str) -> String {
    let names = shape.fields.iter().map(|field| field.name.as_str());
    let mut known: Vec<(&str, &str)> = names.map(|name| (name, name)).collect();
    for row in rows.mapped() {
        known.push(row);
    }
    let nearest = find_nearest(known, name);
    let nearest = nearest.map_or_else(String::new, |to| format!("; the nearest is `{to}`"));
    let owner = section.split_once('.').map_or(section, |(tool, _)| tool);
    match shape.fields.is_empty() || section == owner {
        true => format!("{owner} has no parameter `{shown}`{nearest}."),
        false => format!(
            "{owner} has no parameter `{shown}`{nearest}. There are: {}.",
            shape.describe()
        ),
    }
}

/// Of pairs of a name and what it stands for: what the likest name stands for.
fn find_nearest<'a>(
    known: impl IntoIterator<Item = (&'a str, &'a str)>,
    name: &str,
) -> Option<&'a str> {
    let name = plain(name);
    let nearest = known
        .into_iter()
        .map(|(known, to)| (strsim::jaro_winkler(&plain(known), &name), to))
        .filter(|(likeness, _)| *likeness >= MIN_LIKENESS)
        .max_by(|one, other| one.0.total_cmp(&other.0));
    nearest.map(|(_, to)| to)
}

/// An object, or the text of one.
fn as_object(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(fields) => Some(fields.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

fn as_number(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => {
            let whole = number
                .as_f64()
                .filter(|n| n.fract() == 0.0 && n.abs() < 1e15);
            number.as_i64().or(whole.map(|n| n as i64))
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// `[10, 20]` and `"10-20"`.
fn as_lines(value: &Value) -> Option<(i64, i64)> {
    match value {
        Value::Array(pair) => match pair.as_slice() {
            [first, last] => Some((as_number(first)?, as_number(last)?)),
            _ => None,
        },
        Value::String(text) => {
            let (first, last) = text.trim().split_once(['-', ':', ','])?;
            Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}
