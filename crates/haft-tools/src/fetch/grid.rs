//! How large a table would be as Markdown, where each cell is padded to the widest of its column.

/// Tables that would be larger are written as lines of words.
const PADDED_MAX_BYTES: usize = 1024 * 1024;

/// The measures of a table that is being written.
#[derive(Debug, Default)]
pub(super) struct Grid {
    /// Where it starts in what is written.
    start: usize,
    rows: usize,
    columns: usize,
    in_row: usize,
    cell_start: usize,
    widest: usize,
}

impl Grid {
    pub(super) fn new(start: usize) -> Self {
        Self { start, ..Self::default() }
    }

    pub(super) fn row(&mut self) {
        self.rows += 1;
        self.in_row = 0;
    }

    pub(super) fn cell(&mut self, at: usize) {
        self.in_row += 1;
        self.columns = self.columns.max(self.in_row);
        self.cell_start = at;
    }

    pub(super) fn cell_end(&mut self, at: usize) {
        self.widest = self.widest.max(at.saturating_sub(self.cell_start));
    }

    /// Ends the table in what was written. One that would grow too much loses its header, by which a table is
    /// known as one; its tags were all written here, so that these texts are nothing else.
    pub(super) fn finish(self, out: &mut String) {
        let padded = self.rows.saturating_mul(self.columns).saturating_mul(self.widest.saturating_add(3));
        if padded <= PADDED_MAX_BYTES || !out.is_char_boundary(self.start) {
            return;
        }
        let mut table = out.split_off(self.start);
        for (from, to) in
            [("<th>", "<td>"), ("</th>", "</td>"), ("<thead>", "<tbody>"), ("</thead>", "</tbody>")]
        {
            table = table.replace(from, to);
        }
        out.push_str(&table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_would_grow_too_much_is_none() {
        for (rows, is_table) in [(10, true), (2_000, false)] {
            let mut out = "é<table><tr><th>x</th></tr></table>".to_owned();
            let mut grid = Grid::new(2);
            for _ in 0..rows {
                grid.row();
                grid.cell(0);
                grid.cell_end(1_000);
            }
            grid.finish(&mut out);
            assert_eq!(out.contains("<th>"), is_table, "{rows}");
            assert!(out.starts_with("é<table><tr><t"));
        }
    }
}
