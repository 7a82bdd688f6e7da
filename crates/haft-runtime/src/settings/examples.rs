//! Rule files that carry their own examples: settings beside `[[test]]`, each with what must become of a
//! call.

use super::{Place, Settings, SettingsSource, edit::line_of};
use crate::catalogue::Problem;
use haft_policy::Mode;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

/// The key of the examples, which settings don't know.
const KEY: &str = "test";

/// What has to become of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expected {
    /// It runs.
    Allow,
    /// A person is asked.
    Ask,
    /// It is refused.
    Deny,
}

impl Expected {
    /// Its name as verdicts have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// One example.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleExample {
    /// The tool's name.
    pub tool: String,
    /// Its input.
    pub input: Value,
    /// The mode, where it isn't the file's.
    pub mode: Option<Mode>,
    /// What has to become of it.
    pub expect: Expected,
    /// The rule that has to decide.
    pub rule: Option<String>,
    /// Where it stands, from 1.
    pub line: usize,
}

/// A rule file, read.
#[derive(Debug, Clone, Default)]
pub struct RuleFile {
    /// What it sets; its problems are in [`RuleFile::problems`].
    pub settings: Settings,
    /// What it has to come to.
    pub examples: Vec<RuleExample>,
    /// What is wrong with either.
    pub problems: Vec<Problem>,
}

#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    test: Vec<Spanned<WrittenExample>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenExample {
    tool: String,
    #[serde(default)]
    input: serde_json::Map<String, Value>,
    mode: Option<Spanned<String>>,
    expect: Expected,
    rule: Option<String>,
}

impl RuleFile {
    /// Reads a file; `place` should be trusted, so that all of its rules count.
    pub fn read(source: &SettingsSource, place: &Place) -> Self {
        let mut settings = Settings::load(std::slice::from_ref(source), place);
        let mut problems = std::mem::take(&mut settings.problems);
        // The examples are no setting, and here they need not be one.
        let unknown = format!("\"{KEY}\" is not a setting");
        problems.retain(|problem| problem.text != unknown);
        let mut file = Self { settings, examples: Vec::new(), problems };
        match toml::from_str::<Written>(&source.text) {
            Ok(written) => {
                for example in written.test {
                    file.take(example, source);
                }
            }
            // Text that is no TOML has been reported with the settings.
            Err(_) if file.problems.iter().any(|problem| problem.text.starts_with("not valid TOML")) => {}
            Err(error) => {
                let at = error.span().unwrap_or_default().start;
                file.problem(source, at, format!("an example can't be read: {}", error.message()));
            }
        }
        file
    }

    fn take(&mut self, example: Spanned<WrittenExample>, source: &SettingsSource) {
        let start = example.span().start;
        let written = example.into_inner();
        let mode = match written.mode {
            None => None,
            Some(named) => match named.get_ref().parse::<Mode>() {
                Ok(mode) => Some(mode),
                Err(error) => {
                    self.problem(source, named.span().start, error.to_string());
                    return;
                }
            },
        };
        self.examples.push(RuleExample {
            tool: written.tool,
            input: Value::Object(written.input),
            mode,
            expect: written.expect,
            rule: written.rule,
            line: line_of(&source.text, start),
        });
    }

    fn problem(&mut self, source: &SettingsSource, at: usize, text: String) {
        self.problems.push(Problem {
            source: source.scope.name().to_owned(),
            path: Some(source.path.clone()),
            line: Some(line_of(&source.text, at)),
            text,
            fix: "an example is [[test]] with tool, input = { … } and expect = \"allow\", \"ask\" or \"deny\"; mode \
                  and rule may stand beside them"
                .to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Scope;
    use serde_json::json;

    fn read(text: &str) -> RuleFile {
        let place = Place { workspace: "/w".into(), home: None, trusted: true };
        RuleFile::read(&SettingsSource::new(Scope::User, "/r.toml", text), &place)
    }

    #[test]
    fn examples_stand_beside_settings_with_their_lines() {
        let text = "[permissions]\nallow = [\"bash(ls *)\"]\n\n[[test]]\ntool = \"bash\"\n\
                    input = { command = \"ls\" }\nexpect = \"allow\"\nrule = \"bash(ls *)\"\n\n\
                    [[test]]\ntool = \"todo\"\nmode = \"plan\"\nexpect = \"deny\"\n";
        let file = read(text);
        assert!(file.problems.is_empty(), "{:?}", file.problems);
        assert_eq!(file.settings.rules.len(), 1);
        let [first, second] = file.examples.as_slice() else { panic!("{:?}", file.examples) };
        assert_eq!((first.line, second.line), (4, 10));
        assert_eq!(first.input, json!({"command": "ls"}));
        assert_eq!((first.expect, first.rule.as_deref()), (Expected::Allow, Some("bash(ls *)")));
        assert_eq!((second.mode, &second.input), (Some(Mode::Plan), &json!({})));
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        let cases = [
            ("[[test]]\ntool = \"bash\"\nexpect = \"maybe\"\n", 3, "unknown variant"),
            ("[[test]]\ntool = \"bash\"\nexpect = \"ask\"\nmode = \"slow\"\n", 4, "no approval mode"),
            ("[[test]]\ntool = \"bash\"\nexpct = \"ask\"\n", 3, "unknown field"),
            ("\n[permissions\n", 2, "not valid TOML"),
            ("[permissions]\nallow = [\"bash(\"]\n", 2, "closing parenthesis"),
            ("[tests]\n", 1, "\"tests\" is not a setting"),
        ];
        for (text, line, says) in cases {
            let problems = read(text).problems;
            let found = problems.iter().any(|it| it.line == Some(line) && it.text.contains(says));
            assert!(found, "{text:?}: {problems:#?}");
        }
    }
}
