//! Tables that fit the terminal.

use proofmark_artefact::text::cut;

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Lines of a table: a head, a rule, rows. Cells are plain text; the widest left column gives way first.
pub(crate) fn render(head: &[(&str, Align)], rows: &[Vec<String>], width: usize) -> String {
    let mut widths: Vec<usize> = head.iter().map(|(title, _)| title.chars().count()).collect();
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            widths[at] = widths[at].max(cell.chars().count());
        }
    }
    let gaps = 2 * head.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let widest = (0..widths.len()).filter(|at| head[*at].1 == Align::Left).max_by_key(|at| widths[*at]);
        match widest {
            Some(at) if widths[at] > 8 => widths[at] -= 1,
            _ => break,
        }
    }
    let mut out = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = String>| {
        let text: Vec<String> = cells
            .enumerate()
            .map(|(at, cell)| {
                let (cell, width) = (cut(&cell, widths[at]), widths[at]);
                match head[at].1 {
                    Align::Left => format!("{cell:<width$}"),
                    Align::Right => format!("{cell:>width$}"),
                }
            })
            .collect();
        out.push_str(text.join("  ").trim_end());
        out.push('\n');
    };
    line(&mut head.iter().map(|(title, _)| (*title).to_owned()));
    line(&mut widths.iter().map(|width| "─".repeat(*width)));
    for row in rows {
        line(&mut row.iter().cloned());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_gives_way_where_it_is_widest() {
        let head = [("model", Align::Left), ("n", Align::Right)];
        let rows = vec![vec!["a-very-long-model-name".to_owned(), "12".to_owned()], vec!["b".into(), "3".into()]];
        assert_eq!(
            render(&head, &rows, 16),
            "model          n\n────────────  ──\na-very-long…  12\nb              3\n"
        );
    }
}
