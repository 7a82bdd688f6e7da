//! Keys that are known, and the nearest one to a key that isn't.

/// Below this likeness (Jaro-Winkler, 1 is equal) a known key is no help.
const LIKENESS_MIN: f64 = 0.75;

/// So many letters apart, a name is taken for a slip of the pen.
const SLIP_MAX: usize = 2;

/// The known name that was probably meant: hardly another one than what is written.
pub(crate) fn slip<'k>(known: &[&'k str], written: &str) -> Option<&'k str> {
    let written = written.to_ascii_lowercase();
    let distance = |name: &&'k str| strsim::damerau_levenshtein(name, &written);
    let near = known.iter().copied().min_by_key(distance)?;
    (distance(&near) <= SLIP_MAX && near.len() > SLIP_MAX + 1).then_some(near)
}

/// What to write in place of an unknown key: the nearest known one, else all of them.
pub(crate) fn instead(known: &[&str], written: &str) -> String {
    match nearest(known, written) {
        Some(key) => format!("write \"{key}\", or remove it"),
        None => format!("remove it; known here: {}", known.join(", ")),
    }
}

fn nearest<'k>(known: &[&'k str], written: &str) -> Option<&'k str> {
    let bare = |text: &str| text.replace(['_', '-'], "").to_ascii_lowercase();
    let written = bare(written);
    known
        .iter()
        .map(|key| (strsim::jaro_winkler(&bare(key), &written), *key))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_named() {
        let known = ["mode", "allow", "ask", "deny", "protectedBranches"];
        let cases = [
            ("alow", Some("allow")),
            ("protected_branches", Some("protectedBranches")),
            ("Mode", Some("mode")),
            ("zzz", None),
        ];
        for (written, near) in cases {
            assert_eq!(nearest(&known, written), near, "{written}");
        }
        assert!(instead(&known, "zzz").contains("known here: mode, allow"));
    }
}
