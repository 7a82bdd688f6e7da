//! The parts of a list or object with the blanks and commas between them, to be put together anew.

use crate::notebook::Parts;

/// Parts in order. One that was there keeps what stood before it.
#[derive(Debug)]
pub(crate) struct Sequence<'a> {
    lead: &'a str,
    tail: &'a str,
    gap: &'a str,
    parts: Vec<Item<'a>>,
}

#[derive(Debug)]
struct Item<'a> {
    /// What stands before it, unless it is the first.
    gap: Option<&'a str>,
    text: String,
}

/// What to write around parts where the text shows none.
#[derive(Debug, Clone)]
pub(crate) struct Around {
    /// Before the first.
    pub(crate) lead: String,
    /// Between two.
    pub(crate) gap: String,
    /// After the last.
    pub(crate) tail: String,
}

impl<'a> Sequence<'a> {
    /// The parts as they are.
    pub(crate) fn of(text: &'a str, parts: &Parts, around: &'a Around) -> Self {
        let is_empty = parts.items.is_empty();
        let items = parts.items.iter().enumerate().map(|(index, part)| Item {
            gap: parts.gap(text, index),
            text: text.get(part.span.clone()).unwrap_or_default().to_owned(),
        });
        Self {
            lead: if is_empty { &around.lead } else { parts.lead(text) },
            tail: if is_empty { &around.tail } else { parts.tail(text) },
            gap: parts.gap(text, 1).unwrap_or(&around.gap),
            parts: items.collect(),
        }
    }

    /// Puts a new part before the one at `index`.
    pub(crate) fn insert(&mut self, index: usize, text: String) {
        self.parts.insert(index.min(self.parts.len()), Item { gap: None, text });
    }

    /// Gives a part another text.
    pub(crate) fn set(&mut self, index: usize, text: String) {
        if let Some(part) = self.parts.get_mut(index) {
            part.text = text;
        }
    }

    /// Takes a part out.
    pub(crate) fn remove(&mut self, index: usize) -> String {
        if index < self.parts.len() { self.parts.remove(index).text } else { String::new() }
    }

    /// All that stands between the brackets.
    pub(crate) fn written(&self) -> String {
        let mut out = String::new();
        for (index, part) in self.parts.iter().enumerate() {
            out.push_str(if index == 0 { self.lead } else { part.gap.unwrap_or(self.gap) });
            out.push_str(&part.text);
        }
        if !self.parts.is_empty() {
            out.push_str(self.tail);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, change: impl FnOnce(&mut Sequence<'_>)) -> String {
        let parts = Parts::of(text, &(0..text.len())).unwrap();
        let around = Around { lead: "<".to_owned(), gap: "|".to_owned(), tail: ">".to_owned() };
        let mut sequence = Sequence::of(text, &parts, &around);
        change(&mut sequence);
        sequence.written()
    }

    #[test]
    fn what_stays_keeps_its_blanks() {
        assert_eq!(edited("[ 1,  2 ,3 ]", |_| {}), " 1,  2 ,3 ");
        assert_eq!(edited("[ 1,  2 ,3 ]", |list| drop(list.remove(0))), " 2 ,3 ");
        assert_eq!(edited("[ 1,  2 ,3 ]", |list| drop(list.remove(2))), " 1,  2 ");
        assert_eq!(edited("[ 1,  2 ,3 ]", |list| list.insert(3, "4".to_owned())), " 1,  2 ,3,  4 ");
        assert_eq!(edited("[ 1,  2 ,3 ]", |list| list.insert(0, "0".to_owned())), " 0,  1,  2 ,3 ");
        assert_eq!(edited("[1]", |list| list.insert(1, "2".to_owned())), "1|2");
        assert_eq!(edited("[ ]", |list| list.insert(0, "1".to_owned())), "<1>");
        assert_eq!(edited("[ 1 ]", |list| drop(list.remove(0))), "");
    }
}
