//! What names of source files end with, and which files a name without its end stands for.

/// What the name of a file of source text ends with, behind a dot.
pub const SOURCE_ENDINGS: [&str; 4] = ["ts", "js", "mts", "mjs"];
/// What may be left out of a file's name.
const LEFT_OUT: [&str; 7] = ["", ".ts", ".js", ".mts", ".mjs", "/index.ts", "/index.js"];

/// The files that a name may stand for; the first that is there is meant.
pub(crate) fn ways(name: &str) -> [String; 7] {
    LEFT_OUT.map(|end| format!("{name}{end}"))
}

/// A file's name without its ending, where that is one of source text.
pub(crate) fn bare(name: &str) -> Option<&str> {
    name.rsplit_once('.').filter(|(_, ending)| SOURCE_ENDINGS.contains(ending)).map(|(bare, _)| bare)
}
