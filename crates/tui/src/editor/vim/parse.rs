//! The grammar of the keys of the normal and visual modes: counts, operators, motions, objects. Knows no text.

use crate::editor::motion::{Around, Words};

const MAX_COUNT: usize = 9_999;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parse {
    /// It may become a command with more keys.
    More,
    Nothing,
    Command(Command),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    pub count: Option<usize>,
    pub verb: Verb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Move(Motion),
    Operate(Operator, Target),
    Insert(Spot),
    PutAfter,
    PutBefore,
    Replace(char),
    Join,
    SwapCase,
    Undo,
    Again,
    Select,
    SelectLines,
    SelectObject(Around, Words),
    OtherEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Delete,
    Change,
    Yank,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Motion(Motion),
    /// The operator twice.
    Lines,
    Object(Around, Words),
    Selection,
}

/// Where insert mode begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    Here,
    After,
    LineText,
    LineEnd,
    LineBelow,
    LineAbove,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    Left,
    Right,
    Up,
    Down,
    Word(Words),
    Back(Words),
    End(Words),
    LineStart,
    LineText,
    LineEnd,
    FirstLine,
    LastLine,
    Find(Find),
    FindAgain,
    FindBack,
}

/// `f F t T` and what they look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Find {
    pub letter: char,
    pub way: Way,
    /// Stops one short of it.
    pub is_till: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Forth,
    Back,
}

impl Find {
    pub fn turned(self) -> Self {
        let way = match self.way {
            Way::Forth => Way::Back,
            Way::Back => Way::Forth,
        };
        Self { way, ..self }
    }
}

pub fn normal(keys: &[char]) -> Parse {
    let (count, keys) = number(keys);
    let verb = match keys {
        [] => return Parse::More,
        [c, rest @ ..] if operator(*c).is_some() => return operation(count, *c, rest),
        ['x'] => right_of(Operator::Delete),
        ['X'] => Verb::Operate(Operator::Delete, Target::Motion(Motion::Left)),
        ['s'] => right_of(Operator::Change),
        ['D'] => Verb::Operate(Operator::Delete, Target::Motion(Motion::LineEnd)),
        ['C'] => Verb::Operate(Operator::Change, Target::Motion(Motion::LineEnd)),
        ['S'] => Verb::Operate(Operator::Change, Target::Lines),
        ['Y'] => Verb::Operate(Operator::Yank, Target::Lines),
        ['i'] => Verb::Insert(Spot::Here),
        ['a'] => Verb::Insert(Spot::After),
        ['I'] => Verb::Insert(Spot::LineText),
        ['A'] => Verb::Insert(Spot::LineEnd),
        ['o'] => Verb::Insert(Spot::LineBelow),
        ['O'] => Verb::Insert(Spot::LineAbove),
        ['p'] => Verb::PutAfter,
        ['P'] => Verb::PutBefore,
        ['r'] => return Parse::More,
        ['r', c] => Verb::Replace(*c),
        ['J'] => Verb::Join,
        ['~'] => Verb::SwapCase,
        ['u'] => Verb::Undo,
        ['.'] => Verb::Again,
        ['v'] => Verb::Select,
        ['V'] => Verb::SelectLines,
        _ => return moving(count, keys),
    };
    Parse::Command(Command { count, verb })
}

pub fn visual(keys: &[char]) -> Parse {
    let (count, keys) = number(keys);
    let verb = match keys {
        [] | ['i' | 'a'] => return Parse::More,
        ['d' | 'x' | 'D' | 'X'] => Verb::Operate(Operator::Delete, Target::Selection),
        ['c' | 's'] => Verb::Operate(Operator::Change, Target::Selection),
        ['y' | 'Y'] => Verb::Operate(Operator::Yank, Target::Selection),
        ['v'] => Verb::Select,
        ['V'] => Verb::SelectLines,
        ['o'] => Verb::OtherEnd,
        [around @ ('i' | 'a'), rest @ ..] => match object(*around, rest) {
            Some((around, words)) => Verb::SelectObject(around, words),
            None => return Parse::Nothing,
        },
        _ => return moving(count, keys),
    };
    Parse::Command(Command { count, verb })
}

fn operation(count: Option<usize>, key: char, rest: &[char]) -> Parse {
    let Some(operator) = operator(key) else {
        return Parse::Nothing;
    };
    let (more, rest) = number(rest);
    let count = match (count, more) {
        (Some(a), Some(b)) => Some(a.saturating_mul(b).min(MAX_COUNT)),
        (a, b) => a.or(b),
    };
    let target = match rest {
        [] | ['i' | 'a'] => return Parse::More,
        [c] if *c == key => Target::Lines,
        [around @ ('i' | 'a'), rest @ ..] => match object(*around, rest) {
            Some((around, words)) => Target::Object(around, words),
            None => return Parse::Nothing,
        },
        _ => match motion(rest) {
            Ok(motion) => Target::Motion(motion),
            Err(parse) => return parse,
        },
    };
    let verb = Verb::Operate(operator, target);
    Parse::Command(Command { count, verb })
}

fn moving(count: Option<usize>, keys: &[char]) -> Parse {
    match motion(keys) {
        Ok(motion) => Parse::Command(Command {
            count,
            verb: Verb::Move(motion),
        }),
        Err(parse) => parse,
    }
}

fn motion(keys: &[char]) -> Result<Motion, Parse> {
    Ok(match keys {
        ['h'] => Motion::Left,
        ['l' | ' '] => Motion::Right,
        ['k'] => Motion::Up,
        ['j'] => Motion::Down,
        ['w'] => Motion::Word(Words::Small),
        ['W'] => Motion::Word(Words::Big),
        ['b'] => Motion::Back(Words::Small),
        ['B'] => Motion::Back(Words::Big),
        ['e'] => Motion::End(Words::Small),
        ['E'] => Motion::End(Words::Big),
        ['0'] => Motion::LineStart,
        ['^'] => Motion::LineText,
        ['$'] => Motion::LineEnd,
        ['g', 'g'] => Motion::FirstLine,
        ['G'] => Motion::LastLine,
        [';'] => Motion::FindAgain,
        [','] => Motion::FindBack,
        ['g' | 'f' | 'F' | 't' | 'T'] => return Err(Parse::More),
        [way @ ('f' | 'F' | 't' | 'T'), letter] => Motion::Find(Find {
            letter: *letter,
            way: match way.is_lowercase() {
                true => Way::Forth,
                false => Way::Back,
            },
            is_till: way.eq_ignore_ascii_case(&'t'),
        }),
        _ => return Err(Parse::Nothing),
    })
}

fn object(around: char, keys: &[char]) -> Option<(Around, Words)> {
    let words = match keys {
        ['w'] => Words::Small,
        ['W'] => Words::Big,
        _ => return None,
    };
    let around = match around {
        'a' => Around::Spaces,
        _ => Around::Nothing,
    };
    Some((around, words))
}

fn operator(key: char) -> Option<Operator> {
    match key {
        'd' => Some(Operator::Delete),
        'c' => Some(Operator::Change),
        'y' => Some(Operator::Yank),
        _ => None,
    }
}

fn right_of(operator: Operator) -> Verb {
    Verb::Operate(operator, Target::Motion(Motion::Right))
}

/// A count, which does not begin with 0, and what follows.
fn number(keys: &[char]) -> (Option<usize>, &[char]) {
    let digits = match keys.first() {
        Some('1'..='9') => keys.iter().take_while(|c| c.is_ascii_digit()).count(),
        Some(_) | None => 0,
    };
    let (digits, rest) = keys.split_at(digits);
    let value = digits
        .iter()
        .filter_map(|c| c.to_digit(10))
        .fold(0_usize, |sum, digit| {
            (sum * 10 + digit as usize).min(MAX_COUNT)
        });
    ((value > 0).then_some(value), rest)
}
