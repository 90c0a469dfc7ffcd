//! How wide the columns of a table are drawn, for every front end. It counts cells of a terminal; what a cell takes is the
//! caller's to measure, and so is whether it cuts or wraps what is wider.

/// The widest cell of each column, from the widths of the cells of every row.
pub fn widest_cells<R: IntoIterator<Item = usize>>(
    rows: impl IntoIterator<Item = R>,
) -> Vec<usize> {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        for (at, cell) in row.into_iter().enumerate() {
            match widths.get_mut(at) {
                Some(width) => *width = cell.max(*width),
                None => widths.push(cell),
            }
        }
    }
    widths
}

/// Widths with which the columns, `gap` apart, fit into `room`: narrow columns keep what they need, wide ones share what is
/// left, and none gets less than `least` says. `Err` has those least widths, which are still too wide.
pub fn fit_columns(
    natural: &[usize],
    least: impl Fn(usize) -> usize,
    gap: usize,
    room: usize,
) -> Result<Vec<usize>, Vec<usize>> {
    let gaps = gap * natural.len().saturating_sub(1);
    let columns: Vec<(usize, usize)> = natural
        .iter()
        .enumerate()
        .map(|(at, wants)| (least(at).min(*wants), *wants))
        .collect();
    let limited = |limit: usize| {
        let width = move |(least, wants): &(usize, usize)| limit.clamp(*least, *wants);
        columns.iter().map(width)
    };
    let Some(room) = room
        .checked_sub(gaps)
        .filter(|room| limited(0).sum::<usize>() <= *room)
    else {
        return Err(limited(0).collect());
    };
    if natural.iter().sum::<usize>() <= room {
        return Ok(natural.to_vec());
    }
    // The largest limit under which all columns fit, the rest going to the first that would take more.
    let mut limit = 0;
    while limited(limit + 1).sum::<usize>() <= room {
        limit += 1;
    }
    let mut spare = room - limited(limit).sum::<usize>();
    let widths = limited(limit).zip(limited(limit + 1)).map(|(own, more)| {
        let extra = usize::from(more > own && spare > 0);
        spare -= extra;
        own + extra
    });
    Ok(widths.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_length_are_measured() {
        assert_eq!(widest_cells([vec![3, 1], vec![], vec![1, 2, 0]]), [3, 2, 0]);
        assert!(widest_cells([Vec::new(), Vec::new()]).is_empty());
    }

    #[test]
    fn widths_fit() {
        for (natural, room, expect) in [
            (vec![3, 5], 40, Ok(vec![3, 5])),
            (vec![3, 100], 40, Ok(vec![3, 34])),
            (vec![100, 100], 40, Ok(vec![19, 18])),
            (vec![5, 50, 50], 40, Ok(vec![5, 15, 14])),
            (vec![50; 6], 40, Err(vec![6; 6])),
            (vec![], 40, Ok(vec![])),
            (vec![9, 2], 2, Err(vec![6, 2])),
        ] {
            assert_eq!(fit_columns(&natural, |_| 6, 3, room), expect, "{natural:?}");
        }
    }

    #[test]
    fn columns_that_may_not_shrink_keep_their_width() {
        let least = |at: usize| if at == 1 { 12 } else { usize::MAX };
        let fitted = |room: usize| fit_columns(&[30, 40, 4], least, 2, room);
        assert_eq!(fitted(90), Ok(vec![30, 40, 4]));
        assert_eq!(fitted(60), Ok(vec![30, 22, 4]));
        assert_eq!(fitted(49), Err(vec![30, 12, 4]));
    }
}
