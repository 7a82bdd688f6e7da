//! What `haft new tool` writes: a tool that works, with an example that passes, in three languages.

use haft_core::{NAME_MAX_CHARS, ToolName};
use serde_json::json;
use std::{fmt, str::FromStr};

/// A language that a tool can be started in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// bash and awk, nothing else.
    Bash,
    /// Python 3 without packages.
    Python,
    /// Node without packages.
    Node,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 3] = [Self::Bash, Self::Python, Self::Node];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Python => "python",
            Self::Node => "node",
        }
    }

    fn script(self) -> (&'static str, &'static str) {
        match self {
            Self::Bash => ("count.sh", include_str!("template/count.sh")),
            Self::Python => ("count.py", include_str!("template/count.py")),
            Self::Node => ("count.mjs", include_str!("template/count.mjs")),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What can't be made into a new tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// No template in that language.
    #[error("there is no template in \"{0}\"; use bash, python or node")]
    Language(String),
    /// The name breaks the rule for command folders.
    #[error("{0}")]
    Name(String),
}

impl FromStr for Language {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, TemplateError> {
        let found = Self::ALL.into_iter().find(|language| language.name() == text);
        found.ok_or_else(|| TemplateError::Language(text.to_owned()))
    }
}

/// A file to write in the new tool's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateFile {
    /// Its name in the folder.
    pub path: &'static str,
    /// What it holds.
    pub content: String,
    /// Whether it must be executable.
    pub executable: bool,
}

/// The files of a new tool; the folder must have the tool's name.
///
/// # Errors
/// The name can't be a command folder's.
pub fn template(name: &str, language: Language) -> Result<Vec<TemplateFile>, TemplateError> {
    check_name(name)?;
    let (path, script) = language.script();
    let manifest = json!({
        "name": name,
        "description": "Counts the words, lines and characters of a text. Use it when exact counts matter.",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "The text to count"}},
            "required": ["text"],
            "additionalProperties": false
        },
        "command": [format!("./{path}")],
        "readOnly": true,
        "effects": {},
        "riskTier": "safe",
        "concurrencySafe": true,
        "idempotent": true,
        "examples": [
            {"input": {"text": "a b"}, "expect": "2 words, 1 line, 3 characters"},
            {"input": {"text": "one\n\"two\" é\n"}, "expect": "3 words, 2 lines, 12 characters"}
        ]
    });
    let manifest = format!("{manifest:#}\n");
    Ok(vec![
        TemplateFile { path: "tool.json", content: manifest, executable: false },
        TemplateFile { path, content: script.to_owned(), executable: true },
    ])
}

/// The text of a new tool in TypeScript, for a file named after it.
///
/// # Errors
/// As [`template`].
pub fn typescript_template(name: &str) -> Result<String, TemplateError> {
    check_name(name)?;
    Ok(include_str!("template/count.ts").replace("NAME\"", &format!("{name}\"")))
}

/// The files of a new extension; the folder must have its name.
///
/// # Errors
/// As [`template`].
pub fn extension_template(name: &str) -> Result<Vec<TemplateFile>, TemplateError> {
    check_name(name)?;
    let manifest = json!({
        "name": name,
        "version": "0.1.0",
        "description": "Says a text in small or capital letters.",
        "main": "main.ts",
        "activationEvents": ["onStartupFinished"],
        "permissions": ["storage"]
    });
    let main = include_str!("template/extension.ts").replace("NAME\"", &format!("{name}\""));
    Ok(vec![
        TemplateFile { path: "extension.json", content: format!("{manifest:#}\n"), executable: false },
        TemplateFile { path: "main.ts", content: main, executable: false },
    ])
}

/// Whether a name can be a folder's or file's of a tool.
///
/// # Errors
/// The rule that it breaks.
pub fn check_name(name: &str) -> Result<(), TemplateError> {
    ToolName::parse(name).map_err(|error| TemplateError::Name(error.to_string()))?;
    let is_kebab = name
        .split('-')
        .all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()));
    if is_kebab {
        return Ok(());
    }
    Err(TemplateError::Name(format!(
        "\"{name}\" is no name for a command folder; use small letters, digits and single hyphens, at most \
         {NAME_MAX_CHARS} characters"
    )))
}

#[cfg(test)]
mod tests {
    use super::super::{ManifestText, parse};
    use super::*;

    #[test]
    fn each_template_is_a_tool_without_problems() {
        for language in Language::ALL {
            assert_eq!(language.to_string().parse(), Ok(language));
            let files = template("word-stats", language).unwrap();
            let from =
                ManifestText { text: &files[0].content, folder: "word-stats", path: "tool.json", owner: "o" };
            let manifest = parse(&from).unwrap();
            assert!(manifest.warnings.is_empty());
            assert_eq!(manifest.command.own_program(), Some(format!("./{}", files[1].path).as_str()));
            assert!(files[1].executable && files[1].content.starts_with("#!/usr/bin/env "));
            assert_eq!(manifest.spec.examples.len(), 2);
        }
    }

    #[test]
    fn a_bad_name_or_language_says_what_would_be_right() {
        for name in ["x.y", "Word", "a--b", "-a", "a_b", ""] {
            assert!(template(name, Language::Bash).is_err(), "{name}");
        }
        assert!("perl".parse::<Language>().unwrap_err().to_string().contains("python"));
    }
}
