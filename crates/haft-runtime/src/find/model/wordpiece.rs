//! `WordPiece`: a word is cut into the longest pieces that are known, from its start on.

use std::collections::HashMap;

/// Longer words aren't known.
const WORD_MAX_CHARS: usize = 100;

pub(super) struct WordPiece {
    /// Pieces that begin a word.
    starts: HashMap<String, u32>,
    /// Pieces within a word, without their mark.
    within: HashMap<String, u32>,
    longest_bytes: usize,
}

impl WordPiece {
    pub(super) fn new(numbers: HashMap<String, u32>, prefix: &str) -> Self {
        let longest_bytes = numbers.keys().map(String::len).max().unwrap_or_default();
        let mut pieces = Self { starts: HashMap::new(), within: HashMap::new(), longest_bytes };
        for (piece, number) in numbers {
            match piece.strip_prefix(prefix).filter(|rest| !rest.is_empty()) {
                Some(rest) => pieces.within.insert(rest.to_owned(), number),
                None => pieces.starts.insert(piece, number),
            };
        }
        pieces
    }

    pub(super) fn cut(&self, word: &str) -> Vec<u32> {
        let mut numbers = Vec::new();
        if word.chars().nth(WORD_MAX_CHARS).is_some() {
            return numbers;
        }
        let mut rest = word;
        while !rest.is_empty() {
            let known = if numbers.is_empty() { &self.starts } else { &self.within };
            let ends = rest.char_indices().map(|(at, sign)| at + sign.len_utf8());
            let found = ends.rev().filter(|end| *end <= self.longest_bytes).find_map(|end| {
                let (piece, rest) = rest.split_at_checked(end)?;
                Some((*known.get(piece)?, rest))
            });
            // A word with a part that isn't known isn't known.
            let Some((number, after)) = found else { return Vec::new() };
            numbers.push(number);
            rest = after;
        }
        numbers
    }
}
