//! The budget over all results of one turn.

use super::{SpillStore, bound};
use haft_core::{Block, Ended};

/// Most characters that all results of one turn give a model.
pub const TURN_MAX_CHARS: usize = 200_000;
/// What a result keeps that had to make room.
const KEPT_BYTES: usize = 2 * 1024;

/// Makes the results of a turn fit, the largest first. What was cut stays cut: the results are the history.
pub(crate) fn fit(ended: &mut [Ended], max_chars: usize, spill: &SpillStore) {
    let size = |ended: &Ended| {
        ended.output.content.iter().filter_map(Block::as_text).map(|text| text.chars().count()).sum::<usize>()
    };
    let mut sizes: Vec<(usize, usize)> =
        ended.iter().map(size).enumerate().map(|(index, size)| (size, index)).collect();
    let mut total: usize = sizes.iter().map(|(size, _)| size).sum();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    for (size_before, index) in sizes {
        if total <= max_chars {
            return;
        }
        let Some(one) = ended.get_mut(index) else { continue };
        let text = one.output.joined_text();
        let before = one.output.truncation.take();
        let path = match before.as_ref().and_then(|before| before.path.clone()) {
            Some(path) => Some(path),
            None => spill.keep(&one.call.to_string(), &text).ok().map(|kept| kept.path().to_owned()),
        };
        let (short, truncation) =
            bound::cut(&text, KEPT_BYTES, usize::MAX, one.output.shape, (path, before.as_ref()));
        one.output.content.retain(|block| block.as_text().is_none());
        one.output.content.insert(0, Block::text(short));
        one.output.truncation = Some(truncation);
        total = total - size_before + size(one);
    }
}

/// Makes the results of a turn of that session fit into [`TURN_MAX_CHARS`].
pub fn fit_turn(session: &crate::session::Session, ended: &mut [Ended]) {
    fit(ended, TURN_MAX_CHARS, session.spill());
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Outcome, Output};
    use std::time::Duration;

    #[test]
    fn the_largest_make_room_first() {
        let one = |number: u64, size: usize| Ended {
            call: CallId::outer(number),
            tool: "t".into(),
            owner: None,
            outcome: Outcome::Completed,
            output: Output::text("a\n".repeat(size / 2)),
            failure: None,
            trace: Vec::new(),
            duration: Duration::ZERO,
        };
        let mut ended = [one(1, 40_000), one(2, 120_000), one(3, 50_000)];
        fit(&mut ended, 100_000, &SpillStore::new(None, "s"));
        let sizes = ended.each_ref().map(|one| one.output.joined_text().len());
        assert_eq!((sizes[0], sizes[2]), (40_000, 50_000));
        assert!(sizes[1] < 2_500, "{sizes:?}");
        assert_eq!(ended[1].output.truncation.as_ref().unwrap().total_bytes, 120_000);
        let before = ended.each_ref().map(|one| one.output.clone());
        fit(&mut ended, 100_000, &SpillStore::new(None, "s"));
        assert_eq!(ended.map(|one| one.output), before);
    }
}
