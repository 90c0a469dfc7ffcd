//! The table of readers, made of `commands/readers/*.toml`, and the reading of a command's words by it: every option is known
//! by its exact name with what it takes, or the command is no known reader. Pure.

use super::commands::{NO_PROGRAMS, OWN_PARTS, RUNS_REST};
use super::word::Word;

include!(concat!(env!("OUT_DIR"), "/readers.rs"));

/// One row: a command by its first words.
pub struct Reader {
    pub words: &'static [&'static str],
    style: Style,
    /// By name, in their order.
    options: &'static [(&'static str, Takes)],
    pub operands: Operands,
    /// A further look at the words, by name; see `checks`.
    pub check: &'static str,
    tags: &'static [Tag],
    /// For tests of this crate and of others.
    #[cfg(any(test, debug_assertions))]
    pub yes: &'static [&'static str],
    #[cfg(any(test, debug_assertions))]
    pub no: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// It runs or obeys files of the project: settings, toolchain files, manifests.
    Code,
    /// No option of it writes, runs a program or changes what later commands see: a pattern may become any of them.
    Globs,
    /// A word may begin with a dash.
    Free,
    /// It reads the folder without operands.
    Here,
    /// It goes through folders.
    Walks,
    /// It leaves hidden files out.
    Visible,
    /// It reads all below its operands.
    Deep,
    /// A word that begins with `@` is a file of options.
    Response,
}

impl Reader {
    pub fn runs_project_code(&self) -> bool {
        self.has(Tag::Code)
    }

    pub fn takes_patterns(&self) -> bool {
        self.has(Tag::Globs)
    }

    /// Its options with whether they take a value, for those who make commands of them.
    pub fn option_names(&self) -> Vec<(&'static str, bool)> {
        let takes = |takes: &Takes| matches!(takes.value, Value::Yes | Value::Two);
        self.options.iter().map(|(n, t)| (*n, takes(t))).collect()
    }

    /// It may show what lies below a folder that it is given.
    pub fn shows_trees(&self) -> bool {
        self.has(Tag::Visible)
            || self.has(Tag::Deep)
            || self.options.iter().any(|(_, o)| o.marks.has('d'))
    }

    pub fn has(&self, tag: Tag) -> bool {
        self.tags.contains(&tag)
    }

    fn option(&self, name: &str) -> Option<&'static (&'static str, Takes)> {
        let at = self.options.binary_search_by_key(&name, |(name, _)| name);
        self.options.get(at.ok()?)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `-abc`, `-ovalue`, `--long`, `--long=value`, options anywhere before `--`.
    Posix,
    /// Options are whole words, with one dash or two.
    Whole,
    /// No word is an option.
    Plain,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operands {
    None,
    /// Files or folders, all of them read.
    Files,
    /// At most one file, and no option behind it.
    One,
    /// No files.
    Text,
    /// A pattern or program unless an option gave it, then files.
    Pattern,
    /// No files, and every word known.
    Known,
}

#[derive(Clone, Copy)]
struct Takes {
    value: Value,
    /// The value names a file.
    file: bool,
    marks: Marks,
}

/// Small letters, each a bit.
#[derive(Clone, Copy, Default)]
struct Marks(u32);

impl Marks {
    fn has(self, letter: char) -> bool {
        let at = u32::from(letter).wrapping_sub(u32::from('a'));
        self.0.checked_shr(at).is_some_and(|bits| bits & 1 == 1)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    No,
    /// Attached, or the next word.
    Yes,
    /// Attached or absent.
    Maybe,
    /// The next two words.
    Two,
}

/// A command's words, sorted by the row.
#[derive(Default)]
pub struct Sorted<'a> {
    pub operands: Vec<&'a Word>,
    /// Options in order, by the name in the table, with the text of their value.
    pub options: Vec<(&'static str, Option<String>)>,
    /// Files that options name.
    pub files: Vec<String>,
    /// Letters of the options that were given: `d` deep, `h` hidden files too, `p` gives the pattern, `c` shows
    /// content, `s` shows a summary only, `l` lists, `f`, `k`, `r` and `n` are for links.
    marks: Marks,
}

impl Sorted<'_> {
    pub fn is_marked(&self, mark: char) -> bool {
        self.marks.has(mark)
    }

    /// Whether links below a folder are followed, wherever they lead.
    pub fn follows_links(&self) -> bool {
        let follows = self.is_marked('f') || (self.is_marked('k') && self.is_marked('r'));
        follows && !self.is_marked('n')
    }

    pub fn has(&self, option: &str) -> bool {
        self.options.iter().any(|(name, _)| *name == option)
    }
}

/// The rows whose first word is this.
pub fn of(name: &str) -> &'static [Reader] {
    let first = |rows: &&[Reader]| rows.first()?.words.first().copied();
    let at = ROWS.binary_search_by_key(&Some(name), first);
    at.ok()
        .and_then(|at| ROWS.get(at))
        .copied()
        .unwrap_or_default()
}

#[cfg(any(test, debug_assertions))]
pub fn all() -> impl Iterator<Item = &'static Reader> {
    ROWS.iter().copied().flatten()
}

/// Stands for one plain word in the first words of a row.
const ANY: &str = "*";

/// The rows of a program whose first words these are, options and all.
pub fn named<'a>(base: &str, words: &'a [&str]) -> impl Iterator<Item = &'static Reader> + 'a {
    let fits = move |row: &&Reader| {
        let mut pairs = row.words.iter().zip(words).skip(1);
        words.len() >= row.words.len() && pairs.all(|(want, have)| want == have)
    };
    of(base).iter().filter(fits)
}

/// The rows whose first words a command has: the longest of its own, then one that speaks of any program.
pub fn find(words: &[&Word]) -> impl Iterator<Item = (&'static Reader, usize)> {
    let name = words.first().filter(|w| w.is_sure());
    let name = name.map(|w| w.text.as_str()).unwrap_or_default();
    let is_any = |text: &str| {
        let mut chars = text.chars();
        let begins = chars.next().is_some_and(|c| c.is_ascii_alphanumeric());
        begins && chars.all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c))
    };
    let same = |want: &str, have: &Word| {
        have.is_sure() && (have.text == want || want == ANY && is_any(&have.text))
    };
    let fits = |row: &&Reader| {
        let mut pairs = row.words.iter().zip(words);
        words.len() >= row.words.len()
            && pairs.all(|(want, have)| same(want, have))
            && is_help_of_part(row, words)
    };
    let own = of(name).iter().find(fits);
    let any = match NO_PROGRAMS.contains(&name) {
        true => None,
        false => of(ANY).iter().find(fits),
    };
    own.into_iter().chain(any).map(|row| (row, row.words.len()))
}

/// Whether `--help` behind words that the row does not know is answered by the program itself. It is not where a part
/// of it takes the rest for a program to run, or where an unknown part is a file or a script of the project.
fn is_help_of_part(row: &Reader, words: &[&Word]) -> bool {
    let name = words.first().map(|w| w.text.as_str()).unwrap_or_default();
    let pairs = row.words.iter().zip(words).skip(1);
    let parts = pairs.filter(|(want, _)| **want == ANY);
    let parts: Vec<&str> = parts.map(|(_, have)| have.text.as_str()).collect();
    let known = OWN_PARTS.iter().find(|(program, _)| *program == name);
    let is_own = |part: &&str| match known {
        Some((_, own)) => own.contains(part),
        None => name == "npx" || !part.contains('.'),
    };
    let runs_rest = |part: &&str| RUNS_REST.contains(part);
    let before_last = parts.len().saturating_sub(1);
    parts.iter().take(1).all(is_own) && !parts.iter().take(before_last).any(runs_rest)
}

impl Reader {
    /// The arguments by this row; `None` where one of them is not known to be harmless.
    pub fn sort<'a>(&self, args: &[&'a Word]) -> Option<Sorted<'a>> {
        if args.iter().any(|a| a.odd) {
            return None;
        }
        let mut out = Sorted::default();
        let mut rest = args.iter().copied();
        let mut ended = self.style == Style::Plain;
        while let Some(word) = rest.next() {
            if !ended && word.is_sure() && word.text == "--" {
                ended = true;
            } else if !ended && self.is_valued(word) {
                self.take(&word.text, &mut rest, &mut out)?;
            } else if !ended && self.is_option(word)? {
                if self.operands == Operands::One && !out.operands.is_empty() {
                    return None;
                }
                self.take(&word.text, &mut rest, &mut out)?;
            } else {
                out.operands.push(word);
            }
        }
        self.operands_fit(&out).then_some(out)
    }

    /// Whether a word is a long option with a pattern or braces for its value, which no shell makes another option of.
    fn is_valued(&self, word: &Word) -> bool {
        let name = word.text.split_once('=').map(|(name, _)| name);
        let option = name.and_then(|name| self.option(name));
        let takes = option.is_some_and(|(_, takes)| takes.value == Value::Yes && !takes.file);
        takes
            && word.text.starts_with("--")
            && word.known
            && !word.many
            && (word.glob || word.brace)
    }

    /// Whether a word is an option; `None` where it may become one that is not known.
    fn is_option(&self, word: &Word) -> Option<bool> {
        let open = self.takes_patterns() || self.options.is_empty() && self.has(Tag::Free);
        match word.is_sure() {
            true => Some(word.text.len() > 1 && word.text.starts_with('-')),
            false if (word.may_be_option() || word.many) && !open => None,
            false if word.brace && word.text.starts_with('-') => None,
            false => Some(false),
        }
    }

    fn operands_fit(&self, sorted: &Sorted<'_>) -> bool {
        let operands = &sorted.operands;
        let known = operands.iter().all(|w| w.known && !w.many);
        match self.operands {
            Operands::None => operands.is_empty(),
            Operands::Files => known || self.takes_patterns() && operands.iter().all(|w| w.known),
            Operands::One => {
                known && operands.len() <= 1 && !operands.iter().any(|w| w.glob || w.brace)
            }
            // What git shows is named by its words.
            Operands::Text => {
                self.words.first() != Some(&"git") || operands.iter().all(|w| w.known)
            }
            Operands::Known => known && !operands.iter().any(|w| w.glob || w.brace),
            Operands::Pattern => {
                let files = match sorted.is_marked('p') {
                    true => operands.as_slice(),
                    false => operands.get(1..).unwrap_or_default(),
                };
                let first = operands.first().filter(|_| !sorted.is_marked('p'));
                first.is_none_or(|w| !w.many && !w.brace && !w.glob)
                    && files.iter().all(|w| w.known)
            }
        }
    }

    fn take<'a>(
        &self,
        text: &str,
        rest: &mut impl Iterator<Item = &'a Word>,
        out: &mut Sorted<'a>,
    ) -> Option<()> {
        if self.style == Style::Whole || text.starts_with("--") {
            let (name, attached) = match text.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (text, None),
            };
            return self.took(name, attached, rest, out);
        }
        let digits = text.get(1..)?.bytes().all(|b| b.is_ascii_digit());
        if digits && self.option("-#").is_some() {
            return self.took("-#", None, rest, out);
        }
        let letters = text.get(1..)?;
        for (i, letter) in letters.char_indices() {
            let end = i + letter.len_utf8();
            let name = format!("-{letter}");
            let after = letters.get(end..).filter(|v| !v.is_empty());
            match self.option(&name)?.1.value {
                Value::No => self.took(&name, None, rest, out)?,
                Value::Yes | Value::Maybe | Value::Two => {
                    return self.took(&name, after, rest, out);
                }
            }
        }
        Some(())
    }

    /// Notes one option with its value.
    fn took<'a>(
        &self,
        name: &str,
        attached: Option<&str>,
        rest: &mut impl Iterator<Item = &'a Word>,
        out: &mut Sorted<'a>,
    ) -> Option<()> {
        let (name, takes) = self.option(name)?;
        let value = match (takes.value, attached) {
            (Value::No | Value::Two, Some(_)) => return None,
            (Value::No, None) | (Value::Maybe, None) => None,
            (Value::Yes | Value::Maybe, Some(value)) => Some(value.to_owned()),
            (Value::Yes, None) => Some(one(rest.next()?, takes)?),
            (Value::Two, None) => {
                one(rest.next()?, takes)?;
                Some(one(rest.next()?, takes)?)
            }
        };
        if takes.file {
            out.files.extend(value.clone());
        }
        out.marks.0 |= takes.marks.0;
        out.options.push((name, value));
        Some(())
    }
}

/// The text of a word that is one word whatever its value.
fn one(word: &Word, takes: &Takes) -> Option<String> {
    let one = !word.many && !word.brace && !word.glob && (word.known || !takes.file);
    one.then(|| word.text.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_is_known() {
        for reader in all() {
            assert!(
                super::super::checks::is_known(reader.check),
                "{}",
                reader.check
            );
        }
    }

    #[test]
    fn options_are_taken_by_their_exact_names() {
        let mut rows = of("grep").iter();
        let grep = rows.find(|row| row.words == ["grep"]).unwrap();
        for (args, expect) in [
            ("x a", true),
            ("-nr x", true),
            ("-nrex a", true),
            ("-f.env a", true),
            ("--color=always x", true),
            ("--color always x", true),
            ("--include=*.rs x", true),
            ("--inc=*.rs x", false),
            ("-5 x", true),
            ("-nJ x", false),
            ("-n=1 x", false),
            ("-e", false),
            ("-- -z", true),
        ] {
            let words: Vec<Word> = args.split(' ').map(Word::plain).collect();
            let words: Vec<&Word> = words.iter().collect();
            assert_eq!(grep.sort(&words).is_some(), expect, "{args}");
        }
        let words = [Word::plain("-nf.env"), Word::plain("a")];
        let words: Vec<&Word> = words.iter().collect();
        let sorted = grep.sort(&words).unwrap();
        assert_eq!(sorted.files, [".env"]);
        assert!(sorted.is_marked('p') && !sorted.is_marked('d'));
    }
}
