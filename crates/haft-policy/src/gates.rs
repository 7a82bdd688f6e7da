//! The names of all gates, so that a trace can also show those that had nothing to say.

use crate::{guard, settle};

/// What a gate can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateKind {
    /// It asks or refuses; all are heard.
    Guard,
    /// It decides where no guard spoke; the first that speaks holds.
    Settler,
}

/// Every gate by its name in traces, in the order in which they are heard.
pub fn gates() -> Vec<(GateKind, &'static str)> {
    let guards = guard::ALL.into_iter().map(|gate| (GateKind::Guard, gate.step()));
    let settlers = settle::ALL.into_iter().map(|gate| (GateKind::Settler, gate.step()));
    guards.chain(settlers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gate_has_one_name_and_guards_come_first() {
        let all = gates();
        let names: std::collections::BTreeSet<_> = all.iter().map(|(_, name)| *name).collect();
        assert_eq!(names.len(), all.len());
        let settlers = all.iter().skip_while(|(kind, _)| *kind == GateKind::Guard);
        assert!(
            settlers
                .clone()
                .all(|(kind, name)| { *kind == GateKind::Settler && name.starts_with("settler:") })
        );
        assert_eq!(settlers.count(), settle::ALL.len());
    }
}
