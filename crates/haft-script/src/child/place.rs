//! Which place of a source a place of what runs came from.

use crate::wire::Place;
use std::collections::HashMap;

/// Line and column, from 0.
type At = (u32, u32);

/// The places of one file.
#[derive(Debug, Default)]
pub(super) struct PlaceMap {
    /// Where a piece begins in what runs, and where it came from; sorted.
    tokens: Vec<(At, At)>,
    down: u32,
    /// A line and column of the source behind which so many characters were put.
    inserted: Option<(At, u32)>,
}

impl PlaceMap {
    pub(super) fn new(mut tokens: Vec<(At, At)>) -> Self {
        tokens.sort_unstable();
        Self { tokens, down: 0, inserted: None }
    }

    /// One that was told as numbers, four for each piece.
    pub(super) fn of_numbers(numbers: &[u32]) -> Self {
        let (pieces, _) = numbers.as_chunks::<4>();
        Self::new(
            pieces
                .iter()
                .map(|[line, column, from_line, from]| ((*line, *column), (*from_line, *from)))
                .collect(),
        )
    }

    /// As numbers, for what stands where it was printed.
    pub(super) fn numbers(&self) -> Vec<u32> {
        self.tokens
            .iter()
            .flat_map(|((line, column), (from_line, from))| [*line, *column, *from_line, *from])
            .collect()
    }

    /// What runs stands so many lines further down.
    pub(super) fn moved_down(&mut self, lines: u32) {
        self.down = self.down.saturating_add(lines);
    }

    /// The source was read with something more in it.
    pub(super) fn inserted(&mut self, line: u32, column: u32, length: usize) {
        self.inserted = Some(((line, column), u32::try_from(length).unwrap_or(0)));
    }

    /// The place in the source, from 1, of one in what runs, from 1.
    pub(super) fn place(&self, line: u32, column: u32) -> Option<At> {
        let at = (line.checked_sub(1)?.checked_sub(self.down)?, column.saturating_sub(1));
        let count = self.tokens.partition_point(|(begins, _)| *begins <= at);
        let (_, (line, mut column)) = *self.tokens.get(count.checked_sub(1)?)?;
        if let Some(((inserted_line, inserted_column), length)) = self.inserted
            && line == inserted_line
            && column > inserted_column
        {
            column = column.saturating_sub(length).max(inserted_column);
        }
        Some((line.saturating_add(1), column.saturating_add(1)))
    }
}

/// The places of all files that run.
#[derive(Debug, Default)]
pub(super) struct Places(HashMap<String, PlaceMap>);

impl Places {
    pub(super) fn add(&mut self, file: &str, map: PlaceMap) {
        self.0.insert(file.to_owned(), map);
    }

    /// The first place of a stack that is the script's own.
    pub(super) fn of_stack(&self, stack: &str) -> Option<Place> {
        stack.lines().find_map(|frame| {
            let (file, line, column) = frame_place(frame)?;
            let (line, column) = self.0.get(file)?.place(line, column)?;
            Some(Place { file: file.to_owned(), line, column })
        })
    }
}

/// `    at name (file:line:column)`, or without the name and the brackets.
fn frame_place(frame: &str) -> Option<(&str, u32, u32)> {
    let frame = frame.trim().strip_prefix("at ")?.trim_end_matches(')');
    let (rest, column) = frame.rsplit_once(':')?;
    let (rest, line) = rest.rsplit_once(':')?;
    let file = rest.rsplit_once('(').map_or(rest, |(_, file)| file);
    Some((file, line.parse().ok()?, column.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_the_same_when_it_was_told_as_numbers() {
        let map = PlaceMap::new(vec![((0, 0), (4, 2)), ((2, 7), (9, 0))]);
        assert_eq!(map.numbers(), [0, 0, 4, 2, 2, 7, 9, 0]);
        assert_eq!(PlaceMap::of_numbers(&map.numbers()).place(3, 9), map.place(3, 9));
        // Numbers that are no piece are left out.
        assert_eq!(PlaceMap::of_numbers(&[0, 0, 4]).place(1, 1), None);
    }

    #[test]
    fn the_first_frame_of_the_script_counts() {
        let mut places = Places::default();
        places.add("a b/script.ts", PlaceMap::new(vec![((0, 0), (4, 2)), ((2, 0), (9, 0))]));
        let stack =
            "    at ask (haft:prelude:1:2)\n    at <anonymous> (native)\n    at f (a b/script.ts:3:7)\n";
        let place = places.of_stack(stack).unwrap();
        assert_eq!((place.file.as_str(), place.line, place.column), ("a b/script.ts", 10, 1));
        assert_eq!(places.of_stack("    at a b/script.ts:1:1\n").unwrap().line, 5);
        assert_eq!(places.of_stack("nothing\n    at x (y.ts:1:1)"), None);
    }
}
