//! `[code]`: what one script of code mode may use.

use super::{Setting, section::Section};

const KEYS: [&str; 5] = ["timeoutMs", "calls", "atOnce", "outputBytes", "memoryMiB"];
/// An engine with less memory starts no script.
const MEMORY_MIN_MIB: u64 = 16;

/// The bounds of scripts, where they are set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeSetting {
    /// Wall time in milliseconds, without the time that people take to answer.
    pub timeout_ms: Option<Setting<u64>>,
    /// Calls altogether.
    pub calls: Option<Setting<u64>>,
    /// Calls at the same time.
    pub at_once: Option<Setting<u64>>,
    /// What a script may print and return, in bytes.
    pub output_bytes: Option<Setting<u64>>,
    /// Memory in MiB.
    pub memory_mib: Option<Setting<u64>>,
}

impl CodeSetting {
    /// Reads the section. More of anything loosens, and less may keep what is needed from working: it counts where the
    /// workspace is trusted.
    pub(super) fn read(section: &Section<'_>) -> Self {
        section.only(&KEYS);
        let number = |key: &str| section.counts(key).then(|| section.number(key)).flatten();
        let memory_mib = number("memoryMiB").filter(|set| {
            let is_enough = set.value >= MEMORY_MIN_MIB;
            if !is_enough {
                let text = format!("no script starts with less than {MEMORY_MIN_MIB} MiB");
                section.document.problem(set.origin.line, text, "write more, or leave it out: 256");
            }
            is_enough
        });
        Self {
            timeout_ms: number("timeoutMs"),
            calls: number("calls"),
            at_once: number("atOnce"),
            output_bytes: number("outputBytes"),
            memory_mib,
        }
    }

    /// Adds what a weaker scope says.
    pub(super) fn add_weaker(&mut self, weaker: Self) {
        let fields = [
            (&mut self.timeout_ms, weaker.timeout_ms),
            (&mut self.calls, weaker.calls),
            (&mut self.at_once, weaker.at_once),
            (&mut self.output_bytes, weaker.output_bytes),
            (&mut self.memory_mib, weaker.memory_mib),
        ];
        for (own, other) in fields {
            *own = own.take().or(other);
        }
    }
}
