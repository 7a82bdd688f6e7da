//! Programs that would wait for a person at a terminal, told before they start.

/// Editors and full-screen programs, and the options with which they need nobody.
const WAITING: [(&[&str], &[&str]); 3] = [
    (
        &["vi", "vim", "nvim", "view", "ex", "vimdiff"],
        &["-es", "-e", "-s", "-E", "-c", "+", "--version", "--help", "-h", "--headless", "-u"],
    ),
    (&["emacs"], &["--batch", "-batch", "--script", "--version", "--help"]),
    (&["nano", "pico", "joe", "micro", "hx", "htop"], &["--version", "--help", "-h", "-V"]),
];

/// What to say of a line that starts such a program, and nothing else before it.
pub(super) fn waits_for_a_person(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let program = words.next()?;
    let name = program.rsplit('/').next()?;
    let (_, alone) = WAITING.iter().find(|(names, _)| names.contains(&name))?;
    let is_alone = words
        .any(|word| alone.iter().any(|option| word == *option || *option == "+" && word.starts_with('+')));
    (!is_alone).then(|| {
        format!(
            "{name} waits for a person at a terminal, and there is none, so nothing ran. Change files with edit, write or \
             patch, show them with read; or give its form that needs nobody (vim -es, emacs --batch), or pty=true for a \
             terminal of its own"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::waits_for_a_person;

    #[test]
    fn editors_are_told_apart_from_their_forms_that_need_nobody() {
        for line in ["vim x", " vi", "/usr/bin/nano notes.txt\n", "view /etc/hosts", "emacs a b"] {
            assert!(waits_for_a_person(line).is_some_and(|why| why.contains("edit")), "{line}");
        }
        for line in [
            "vim -es -c '%s/a/b/' -c wq x",
            "vim +q x",
            "emacs --batch -l x.el",
            "vim --version",
            "cat vim",
            "./vi.sh",
            "",
        ] {
            assert_eq!(waits_for_a_person(line), None, "{line}");
        }
    }
}
