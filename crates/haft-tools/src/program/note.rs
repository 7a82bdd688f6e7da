//! Notes on what a command printed; pure.

/// The output, then each note on a line of its own, and the line that ends it all.
pub(crate) fn noted(output: String, notes: &[String], last: &str) -> String {
    let mut text = output;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for note in notes {
        text.push('[');
        text.push_str(note);
        text.push_str("]\n");
    }
    text.push_str(last);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_note_has_a_line_of_its_own_below_the_output() {
        let notes = ["one".to_owned(), "two".to_owned()];
        assert_eq!(noted("out".to_owned(), &notes, "[end]"), "out\n[one]\n[two]\n[end]");
        assert_eq!(noted("out\n".to_owned(), &[], "[end]"), "out\n[end]");
        assert_eq!(noted(String::new(), &notes[..1], "[end]"), "[one]\n[end]");
    }
}
