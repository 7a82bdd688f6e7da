//! What is written: tags, words and lines, each element closed where it should be.

use super::{Wanted, is_inline, writer::Writer};
use crate::fetch::grid::Grid;

impl Writer {
    /// Keeps words apart where a block would have.
    pub(super) fn separate(&mut self) {
        match self.wanted {
            Wanted::Markup if self.open.contains(&"pre") => self.out.push('\n'),
            Wanted::Markup => self.out.push(' '),
            Wanted::Words => self.new_line(),
        }
    }

    pub(super) fn open_tag(&mut self, name: &'static str, attributes: &[(&str, &str)]) {
        self.measure(name);
        self.open.push(name);
        match self.wanted {
            Wanted::Markup if is_inline(name) && attributes.is_empty() => self.go_on(name),
            Wanted::Markup => self.tag(name, attributes),
            Wanted::Words if !is_inline(name) && !matches!(name, "td" | "th") => {
                self.new_line();
                if name == "li" {
                    self.out.push_str("- ");
                }
            }
            Wanted::Words => {}
        }
    }

    /// Keeps the measures of the outermost table.
    fn measure(&mut self, name: &str) {
        let at = self.out.len();
        let tables = self.open.iter().filter(|open| **open == "table").count();
        if name == "table" && tables == 0 {
            self.grid = Some(Grid::new(at));
        }
        let Some(grid) = self.grid.as_mut().filter(|_| tables == 1) else {
            return;
        };
        match name {
            "tr" => grid.row(),
            "td" | "th" => grid.cell(at),
            _ => {}
        }
    }

    /// Opens an element within a line; one that ended right here goes on instead.
    fn go_on(&mut self, name: &'static str) {
        let kept = self.out.strip_suffix('>').and_then(|rest| rest.strip_suffix(name));
        match kept.and_then(|rest| rest.strip_suffix("</")).map(str::len) {
            Some(kept) => self.out.truncate(kept),
            None => self.tag(name, &[]),
        }
    }

    pub(super) fn tag(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.out.push('<');
        self.out.push_str(name);
        for (attribute, value) in attributes {
            self.out.push(' ');
            self.out.push_str(attribute);
            self.out.push_str("=\"");
            escape(value, &mut self.out);
            self.out.push('"');
        }
        self.out.push('>');
    }

    /// Closes all that is open from that place on.
    pub(super) fn close_to(&mut self, at: usize) {
        while self.open.len() > at {
            self.close_last();
        }
    }

    pub(super) fn close_last(&mut self) {
        let Some(name) = self.open.pop() else {
            return;
        };
        if matches!(name, "a" | "pre") {
            self.over = 0;
        }
        if let (Some(grid), "td" | "th") = (&mut self.grid, name) {
            grid.cell_end(self.out.len());
        }
        match self.wanted {
            Wanted::Markup => {
                self.out.push_str("</");
                self.out.push_str(name);
                self.out.push('>');
            }
            Wanted::Words if is_inline(name) => {}
            Wanted::Words if matches!(name, "td" | "th") => self.out.push('\t'),
            Wanted::Words => self.new_line(),
        }
        if name == "table" && !self.open.contains(&"table") {
            let grid = self.grid.take().filter(|_| self.wanted == Wanted::Markup);
            if let Some(grid) = grid {
                grid.finish(&mut self.out);
            }
        }
    }

    fn new_line(&mut self) {
        // The mark of a list's item waits for its words.
        if self.out.ends_with("\n- ") || self.out == "- " {
            return;
        }
        let kept = self.out.trim_end_matches([' ', '\t']).len();
        self.out.truncate(kept);
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    /// Adds words with single blanks between them.
    pub(super) fn flow(&mut self, text: &str) {
        for piece in text.split_inclusive(char::is_whitespace) {
            let word = piece.trim_end();
            self.out.push_str(word);
            let is_apart = self.out.is_empty() || self.out.ends_with([' ', '\n', '\t']);
            if word.len() < piece.len() && !is_apart {
                self.out.push(' ');
            }
        }
    }
}

pub(super) fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\0' => {}
            other => out.push(other),
        }
    }
}
