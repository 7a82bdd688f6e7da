//! Changes that are computed anew while somebody else writes the same files.

use haft_core::{Cancel, Failure, FailureKind, Output};

/// So often a change is computed anew where somebody else wrote the file meanwhile.
const ATTEMPTS_MAX: usize = 5;

/// What one look at the files came to.
pub(crate) enum Round<P> {
    /// There is nothing to write.
    Done(Output),
    /// This is to be written; the digest stands for what was agreed to.
    Ready(Vec<u8>, P),
}

/// Who is told what, where somebody else is faster all the time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Busy<'a> {
    /// What is being changed, with its verb: `a.rs is`.
    pub(crate) what: &'a str,
    /// Where, besides "all the time".
    pub(crate) place: &'a str,
    /// What changed nothing.
    pub(crate) call: &'a str,
    /// What to do, behind "wait for what else writes".
    pub(crate) then: &'a str,
}

impl Busy<'_> {
    fn text(self, cause: &str) -> String {
        let Self { what, place, call, then } = self;
        format!(
            "{what} being changed by somebody else at the same {place} or all the time{cause}; nothing was changed by this \
             {call}. Wait for what else writes {then}"
        )
    }
}

/// Looks and writes exactly what the look came to; again where that meets a conflict, as long as the change stays the
/// one that was agreed to.
///
/// # Errors
/// What `look` answers, and `write` unless it is a conflict; a conflict in the words of `busy` where somebody else
/// changes the same place or is faster all the time, with the last cause in parentheses. Cancelled
/// between a look and its write.
pub(crate) fn settle<P>(
    cancel: &Cancel,
    look: impl Fn() -> Result<Round<P>, Failure>,
    write: impl Fn(P) -> Result<Output, Failure>,
    busy: Busy<'_>,
) -> Result<Output, Failure> {
    let mut agreed: Option<Vec<u8>> = None;
    let mut cause = String::new();
    for _ in 0..ATTEMPTS_MAX {
        let step = look()?;
        if cancel.is_fired() {
            return Err(Failure::cancelled());
        }
        let (digest, planned) = match step {
            Round::Done(output) => return Ok(output),
            Round::Ready(digest, planned) => (digest, planned),
        };
        if *agreed.get_or_insert_with(|| digest.clone()) != digest {
            break;
        }
        match write(planned) {
            Err(failure) if failure.kind == FailureKind::Conflict => cause = format!(" ({})", failure.text),
            ended => return ended,
        }
    }
    Err(Failure::conflict(busy.text(&cause)))
}

#[cfg(test)]
mod tests {
    use super::{ATTEMPTS_MAX, Busy, Round, settle};
    use haft_core::{Cancel, Failure, FailureKind, Output};
    use std::cell::Cell;

    const BUSY: Busy<'_> = Busy { what: "a is", place: "place", call: "edit", then: "it." };

    /// Looks with these digests in turn, the last for ever; says how often it wrote.
    fn run(
        digests: &[u8],
        ended: &dyn Fn(usize) -> Result<Output, Failure>,
    ) -> (Result<Output, Failure>, usize) {
        let (looks, writes) = (Cell::new(0), Cell::new(0));
        let look = || {
            let digest = digests[looks.get().min(digests.len() - 1)];
            looks.set(looks.get() + 1);
            Ok(Round::Ready(vec![digest], ()))
        };
        let write = |()| {
            writes.set(writes.get() + 1);
            ended(writes.get())
        };
        let done = settle(&Cancel::new(), look, write, BUSY);
        (done, writes.get())
    }

    #[test]
    fn a_conflict_is_tried_again_while_the_change_stays_the_agreed_one() {
        let third = |number| if number < 3 { Err(Failure::conflict("x")) } else { Ok(Output::text("done")) };
        let (done, writes) = run(&[1], &third);
        assert_eq!((done.unwrap().joined_text(), writes), ("done".to_owned(), 3));
        let (done, writes) = run(&[1, 2], &third);
        assert_eq!((done.unwrap_err().text, writes), (BUSY.text(" (x)"), 1));
        let (done, writes) = run(&[1], &|_| Err(Failure::conflict("x")));
        assert_eq!((done.unwrap_err().kind, writes), (FailureKind::Conflict, ATTEMPTS_MAX));
    }

    #[test]
    fn who_gives_up_says_why_and_what_to_do() {
        assert_eq!(
            BUSY.text(" (x)"),
            "a is being changed by somebody else at the same place or all the time (x); nothing was changed by this \
             edit. Wait for what else writes it."
        );
    }

    #[test]
    fn another_failure_and_a_cancel_end_it() {
        let (done, writes) = run(&[1], &|_| Err(Failure::invalid("x")));
        assert_eq!((done.unwrap_err().kind, writes), (FailureKind::InvalidInput, 1));
        let cancel = Cancel::new();
        cancel.fire();
        let write = |()| panic!("it was cancelled");
        let done = settle(&cancel, || Ok(Round::Ready(Vec::new(), ())), write, BUSY);
        assert_eq!(done.unwrap_err().kind, FailureKind::Cancelled);
    }
}
