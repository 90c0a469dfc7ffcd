//! `ostler usage`: the command `usage` on the command line, with bars on a terminal.

use super::panel::{hub_context, print_view, terminal_width};
use crate::boot::Boot;
use crate::flags::{self, Usage};
use jiff::tz::TimeZone;
use ostler_engine::commands::{Chart, UsageBy, UsageRequest, usage};
use ostler_wire::View;

pub fn run(boot: &Boot, mut args: Usage) -> anyhow::Result<u8> {
    args.chart |= terminal_width().is_some();
    print_view(&view(boot, &args), args.format)
}

pub fn view(boot: &Boot, args: &Usage) -> View {
    let request = UsageRequest {
        by: match args.by {
            flags::UsageBy::Day => UsageBy::Day,
            flags::UsageBy::Model => UsageBy::Model,
            flags::UsageBy::Project => UsageBy::Project,
            flags::UsageBy::Session => UsageBy::Session,
        },
        chart: match args.chart {
            true => Chart::Bars,
            false => Chart::None,
        },
        zone: TimeZone::system(),
    };
    usage(&hub_context(boot), &request)
}
