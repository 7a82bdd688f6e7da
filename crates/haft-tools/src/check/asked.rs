//! Paths that name one test in a file, and what each runner takes for them; pure.

/// A path of the caller's as file and name: `tests/a.rs::worse`, `test_a.py::T::test_bad`, `parser::tests::bad`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked<'a> {
    /// None where it is a test's name alone.
    pub(super) file: Option<&'a str>,
    /// What of it, with its `::`.
    pub(super) name: Option<&'a str>,
}

impl<'a> Asked<'a> {
    pub(super) fn of(path: &'a str) -> Self {
        match path.split_once("::") {
            None => Self { file: Some(path), name: None },
            // A module has no extension.
            Some((first, _)) if !first.contains(['.', '/']) => Self { file: None, name: Some(path) },
            Some((file, name)) => Self { file: Some(file), name: Some(name) },
        }
    }

    /// The name of cargo's target that this file is the root of, if it is one of tests.
    fn target(self) -> Option<&'a str> {
        let (folder, file) = self.file?.rsplit_once('/')?;
        let stem = file.strip_suffix(".rs")?;
        match folder.rsplit_once('/') {
            _ if folder == "tests" || folder.ends_with("/tests") => Some(stem),
            Some((above, name)) if stem == "main" && (above == "tests" || above.ends_with("/tests")) => {
                Some(name)
            }
            _ => None,
        }
    }
}

/// The files of the asked paths, without the names of tests in them, each once.
pub(super) fn files(paths: &[String]) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for file in paths.iter().map(|path| Asked::of(path).file.unwrap_or(path)) {
        if !files.iter().any(|known| known == file) {
            files.push(file.to_owned());
        }
    }
    files
}

/// What `cargo test` takes for these paths; none where it can't be narrowed to just them.
pub(super) fn of_cargo(paths: &[String]) -> Option<Vec<String>> {
    let asked: Vec<Asked<'_>> = paths.iter().map(|path| Asked::of(path)).collect();
    let targets: Option<Vec<&str>> = asked.iter().map(|asked| asked.target()).collect();
    let names: Option<Vec<&str>> = asked.iter().map(|asked| asked.name).collect();
    if asked.is_empty() || targets.is_none() && names.is_none() {
        return None;
    }
    // Where one is the whole of a target and another isn't, a name would leave out the whole one.
    let has_names = asked.iter().any(|asked| asked.name.is_some());
    if has_names && names.is_none() {
        return None;
    }
    let targets = targets.unwrap_or_default().into_iter();
    let mut words: Vec<String> =
        targets.flat_map(|target| ["--test".to_owned(), target.to_owned()]).collect();
    if let Some(names) = names {
        words.push("--".to_owned());
        words.extend(names.into_iter().map(str::to_owned));
    }
    Some(words)
}

/// The pattern by which `go test` runs just the asked tests; none where not all paths name one, or one plainly.
pub(super) fn of_go(paths: &[String]) -> Option<String> {
    let is_plain = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let names: Option<Vec<&str>> = paths.iter().map(|path| Asked::of(path).name.filter(is_plain)).collect();
    names.filter(|names| !names.is_empty()).map(|names| format!("^({})$", names.join("|")))
}

/// As unittest names a test: `tests/test_a.py::T::test_bad` is `tests.test_a.T.test_bad`.
pub(super) fn of_unittest(path: &str) -> String {
    let asked = Asked::of(path);
    match (asked.file.and_then(|file| file.strip_suffix(".py")), asked.name) {
        (Some(module), Some(name)) => {
            format!("{}.{}", module.trim_start_matches("./").replace('/', "."), name.replace("::", "."))
        }
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_told_from_a_tests_name() {
        let of = |path| {
            let asked = Asked::of(path);
            (asked.file, asked.name)
        };
        assert_eq!(of("tests/a.rs"), (Some("tests/a.rs"), None));
        assert_eq!(of("tests/a.rs::b::c"), (Some("tests/a.rs"), Some("b::c")));
        assert_eq!(of("src/parser::x"), (Some("src/parser"), Some("x")));
        assert_eq!(of("parser::tests::bad"), (None, Some("parser::tests::bad")));
        assert_eq!(of("Makefile"), (Some("Makefile"), None));
    }

    #[test]
    fn a_name_that_is_a_pattern_is_not_given_to_go() {
        let of = |paths: &[&str]| of_go(&paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["x_test.go::TestA"]).as_deref(), Some("^(TestA)$"));
        assert_eq!(of(&["x_test.go::Test.*"]), None);
        assert_eq!(of(&["x_test.go::TestA", "y_test.go"]), None);
        assert_eq!(of(&[]), None);
    }
}
