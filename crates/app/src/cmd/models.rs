//! `ostler models`: what can follow `--model`.

use super::panel::print_view;
use crate::boot::Boot;
use crate::flags::Listing;
use ostler_engine::Models as _;
use ostler_wire::{Table, View, Word};

pub fn run(boot: &Boot, format: Listing) -> anyhow::Result<u8> {
    print_view(&view(boot), format)
}

pub fn view(boot: &Boot) -> View {
    let language = boot.language;
    let models = boot.list();
    let rows = models.into_iter().map(|(name, about)| vec![name, about]);
    let columns = [Word::ColModel, Word::ColNote].map(|word| language.say(word).to_owned());
    let table = Table::of_texts(columns.to_vec(), rows.collect());
    let table = Table {
        empty: language.say(Word::ModelsNone).into(),
        ..table
    };
    View::Table(table)
}
