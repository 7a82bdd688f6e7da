//! Notices when a model goes round in circles. Pure: calls in, an action out.

use serde_json::Value;
use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash, Hasher},
};

/// How many calls back the same call is counted.
const WINDOW_CALLS: usize = 10;
/// The same call with the same result more often than this in the window is a loop.
const SAME_MAX: usize = 5;
/// The longest cycle looked for; the shortest is 2.
const CYCLE_MAX_CALLS: usize = 5;
/// A cycle repeated this often is a loop.
const CYCLE_REPEATS: usize = 3;

/// One call with its result, as far as a repetition shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopCall {
    tool: String,
    input: String,
    result: u64,
}

impl LoopCall {
    /// Takes the argument text in canonical form: neither key order nor spacing makes another call.
    pub fn new(tool: &str, input: &str, result: &impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        result.hash(&mut hasher);
        Self { tool: tool.to_owned(), input: canonical(input), result: hasher.finish() }
    }

    fn is_same_call(&self, other: &Self) -> bool {
        self.tool == other.tool && self.input == other.input
    }
}

/// What to do about a loop; each text says what repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoopAction {
    /// Warn the model.
    Warn(String),
    /// Ask the user.
    Ask(String),
    /// End the step.
    End(String),
}

/// Watches the calls of one run.
///
/// Escalates once a turn at most, so that the model has seen the warning before the user is asked; a whole
/// window of other calls starts it over.
#[derive(Debug, Clone, Default)]
pub struct LoopDetector {
    recent: VecDeque<LoopCall>,
    strikes: u32,
    quiet: usize,
}

impl LoopDetector {
    /// Takes the calls of one turn, in order.
    pub fn note(&mut self, calls: impl IntoIterator<Item = LoopCall>) -> Option<LoopAction> {
        let mut found = None;
        for call in calls {
            self.recent.push_back(call);
            if self.recent.len() > CYCLE_MAX_CALLS * CYCLE_REPEATS {
                self.recent.pop_front();
            }
            if let Some(what) = self.same_call().or_else(|| self.cycle()) {
                self.quiet = 0;
                found = Some(what);
            } else {
                self.quiet += 1;
                if self.quiet >= WINDOW_CALLS {
                    self.strikes = 0;
                }
            }
        }
        let what = found?;
        self.strikes += 1;
        Some(match self.strikes {
            1 => LoopAction::Warn(what),
            2 => LoopAction::Ask(what),
            _ => LoopAction::End(what),
        })
    }

    /// Forgets the calls so far, after a person let the model go on; the next loop ends the step.
    pub fn forgive(&mut self) {
        self.recent.clear();
    }

    fn same_call(&self) -> Option<String> {
        let last = self.recent.back()?;
        let count = self.recent.iter().rev().take(WINDOW_CALLS).filter(|call| *call == last).count();
        (count > SAME_MAX).then(|| {
            format!(
                "{} was called {count} times in the last {WINDOW_CALLS} calls with the same input and the \
                 same result",
                last.tool
            )
        })
    }

    fn cycle(&self) -> Option<String> {
        (2..=CYCLE_MAX_CALLS).find_map(|period| {
            let tail: Vec<&LoopCall> = self.recent.iter().rev().take(period * CYCLE_REPEATS).collect();
            let first = *tail.first()?;
            let repeats = tail.len() == period * CYCLE_REPEATS
                && tail
                    .iter()
                    .zip(tail.iter().skip(period))
                    .all(|(later, earlier)| later.is_same_call(earlier));
            // One call over and over is no cycle: whether it is a loop depends on its results.
            let several = tail.iter().any(|call| !call.is_same_call(first));
            (repeats && several).then(|| {
                let names: Vec<&str> =
                    tail.iter().take(period).rev().map(|call| call.tool.as_str()).collect();
                format!("the same {period} calls ({}) were made {CYCLE_REPEATS} times over", names.join(", "))
            })
        })
    }
}

fn canonical(text: &str) -> String {
    serde_json::from_str(text).map_or_else(|_| text.to_owned(), |value| sorted(value).to_string())
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<(String, Value)> = object.into_iter().collect();
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Object(entries.into_iter().map(|(key, value)| (key, sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, result: u32) -> LoopCall {
        LoopCall::new(name, "{}", &result)
    }

    /// The actions of a run with one call a turn, as `w`, `a`, `e` or `-`.
    fn watch(calls: impl IntoIterator<Item = LoopCall>) -> String {
        let mut detector = LoopDetector::default();
        calls
            .into_iter()
            .map(|call| match detector.note([call]) {
                None => '-',
                Some(LoopAction::Warn(_)) => 'w',
                Some(LoopAction::Ask(_)) => 'a',
                Some(LoopAction::End(_)) => 'e',
            })
            .collect()
    }

    #[test]
    fn the_sixth_same_call_with_the_same_result_warns_then_asks_then_ends() {
        assert_eq!(watch((0..8).map(|_| call("a", 0))), "-----wae");
    }

    #[test]
    fn the_same_call_with_other_results_is_no_loop() {
        assert_eq!(watch((0..20).map(|result| call("a", result))), "-".repeat(20));
    }

    #[test]
    fn six_in_more_than_ten_calls_are_no_loop() {
        let calls = (0..24).map(|n| if n % 2 == 0 { call("a", 0) } else { call(&format!("b{n}"), 0) });
        assert_eq!(watch(calls), "-".repeat(24));
    }

    #[test]
    fn a_cycle_counts_whatever_its_results() {
        for period in 2..=5_u32 {
            let calls = (0..period * 3).map(|n| call(&format!("t{}", n % period), n));
            let length = usize::try_from(period).unwrap() * 3;
            assert_eq!(watch(calls), format!("{}w", "-".repeat(length - 1)), "period {period}");
        }
        assert_eq!(watch((0..18).map(|n| call(&format!("t{}", n % 6), n))), "-".repeat(18));
    }

    #[test]
    fn one_turn_escalates_once_and_other_work_starts_over() {
        let mut detector = LoopDetector::default();
        assert!(matches!(detector.note((0..10).map(|_| call("a", 0))), Some(LoopAction::Warn(_))));
        assert_eq!(detector.note((0..10).map(|n| call(&format!("b{n}"), 0))), None);
        assert!(matches!(detector.note((0..10).map(|_| call("a", 0))), Some(LoopAction::Warn(_))));
        detector.forgive();
        assert!(matches!(detector.note((0..6).map(|_| call("a", 0))), Some(LoopAction::Ask(_))));
    }

    #[test]
    fn key_order_makes_no_other_call() {
        let left = LoopCall::new("a", r#"{"x": {"p": 1, "q": 2}, "y": 3}"#, &0);
        assert_eq!(left, LoopCall::new("a", r#"{"y":3,"x":{"q":2,"p":1}}"#, &0));
    }
}
