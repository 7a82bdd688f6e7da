//! What a call holds while it runs, and when two calls exclude each other.

use haft_core::{Effects, RealPath, Touch};

/// A call's claim on the world: its effects, and whether it may run beside calls it doesn't conflict with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// What it touches, real paths.
    pub effects: Effects<RealPath>,
    /// Whether it may run beside others.
    pub concurrency_safe: bool,
}

impl Claims {
    /// Whether the two exclude each other.
    pub fn conflict(&self, other: &Self) -> bool {
        match (&self.effects, &other.effects) {
            // What a dispatcher will do isn't known: nobody passes it, and it waits for nobody.
            (Effects::Delegated, _) | (_, Effects::Delegated) => true,
            (Effects::Everything, _) | (_, Effects::Everything) => true,
            (Effects::Only(own), Effects::Only(others)) => {
                !(self.concurrency_safe && other.concurrency_safe)
                    || own.iter().any(|a| others.iter().any(|b| touches_conflict(a, b)))
            }
        }
    }

    /// Whether it may change what a path means for others: make a link, move a folder. A plain write of one
    /// file can't.
    pub fn can_move_names(&self) -> bool {
        match &self.effects {
            Effects::Everything => true,
            Effects::Delegated => false,
            Effects::Only(touches) => {
                touches.iter().any(|touch| matches!(touch, Touch::WriteTree(_) | Touch::Command(_)))
            }
        }
    }

    /// Whether it takes one of the places for running calls.
    pub fn takes_slot(&self) -> bool {
        self.effects != Effects::Delegated
    }
}

fn touches_conflict(a: &Touch<RealPath>, b: &Touch<RealPath>) -> bool {
    match (a, b) {
        // A command line may touch anything.
        (Touch::Command(_), _) | (_, Touch::Command(_)) => true,
        (Touch::Host(a), Touch::Host(b))
        | (Touch::Server(a), Touch::Server(b))
        | (Touch::Session(a), Touch::Session(b)) => a == b,
        _ => match (a.path(), b.path()) {
            // A folder's listing changes with what is in it, so paths count prefix-wise both ways.
            (Some(one), Some(two)) if a.writes() || b.writes() => one.covers(two) || two.covers(one),
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(touch: Touch<RealPath>) -> Claims {
        Claims { effects: Effects::Only(vec![touch]), concurrency_safe: true }
    }

    fn at(path: &str) -> RealPath {
        RealPath::new("/w", path)
    }

    #[test]
    fn writers_exclude_whoever_touches_the_same_path() {
        let write = only(Touch::Write(at("a/b")));
        for other in
            [Touch::Read(at("a/b")), Touch::Write(at("a/b")), Touch::ReadTree(at("a")), Touch::Read(at("a"))]
        {
            assert!(write.conflict(&only(other.clone())), "{other:?}");
            assert!(only(other.clone()).conflict(&write), "{other:?}");
        }
        for other in [Touch::Read(at("a/c")), Touch::Write(at("a/bc")), Touch::ReadTree(at("b"))] {
            assert!(!write.conflict(&only(other.clone())), "{other:?}");
        }
        assert!(!only(Touch::Read(at("a"))).conflict(&only(Touch::ReadTree(at("a")))));
    }

    #[test]
    fn a_command_and_the_unstated_exclude_everybody() {
        let read = only(Touch::Read(at("x")));
        assert!(only(Touch::Command("ls".into())).conflict(&read));
        let unstated = Claims { effects: Effects::Everything, concurrency_safe: true };
        assert!(unstated.conflict(&Claims { effects: Effects::none(), concurrency_safe: true }));
        assert!(!only(Touch::Host("a".into())).conflict(&only(Touch::Host("b".into()))));
        assert!(only(Touch::Session("cwd".into())).conflict(&only(Touch::Session("cwd".into()))));
    }

    #[test]
    fn both_must_be_concurrency_safe() {
        let safe = only(Touch::Read(at("x")));
        let alone = Claims { concurrency_safe: false, ..safe.clone() };
        assert!(alone.conflict(&safe) && safe.conflict(&alone) && !safe.conflict(&safe));
    }
}
