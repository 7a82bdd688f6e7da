//! Levels of log lines, least first.

/// How grave a log line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

const NAMES: [(&str, Level); 8] = [
    ("debug", Level::Debug),
    ("info", Level::Info),
    ("notice", Level::Notice),
    ("warning", Level::Warning),
    ("error", Level::Error),
    ("critical", Level::Critical),
    ("alert", Level::Alert),
    ("emergency", Level::Emergency),
];

impl Level {
    /// Reads the protocol's name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        NAMES.into_iter().find_map(|(known, level)| (known == name).then_some(level))
    }

    /// The protocol's name.
    pub(crate) fn name(self) -> &'static str {
        NAMES.into_iter().find_map(|(name, level)| (level == self).then_some(name)).unwrap_or("info")
    }

    /// All names, for whoever used another.
    pub(crate) fn names() -> String {
        NAMES.map(|(name, _)| name).join(", ")
    }
}
