//! Skills: instructions for one kind of task, of which a model knows name and purpose, and asks for the rest.
//!
//! Pure: the text of a `SKILL.md` comes in as data. Whether a skill is offered is decided where its files were found.

mod front;
mod tool;

use front::FrontMatter;
use haft_core::is_hidden;
use std::sync::Arc;

pub use tool::{SKILL_TOOL, skill_tool};

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";
/// How long a name may be.
const NAME_MAX_CHARS: usize = 64;
/// How much of a description each request carries.
const DESCRIPTION_MAX_CHARS: usize = 300;

/// One skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// What it is asked for by.
    pub name: String,
    /// When to ask for it, on one line.
    pub description: String,
    /// What it says, as it was read.
    pub text: Arc<str>,
    /// Its folder, as a tool that reads files takes it.
    pub folder: String,
    /// Who brought it.
    pub owner: String,
}

/// The text of a `SKILL.md`, and where it is.
#[derive(Debug, Clone, Copy)]
pub struct SkillText<'a> {
    /// What it says.
    pub text: &'a str,
    /// The name of its folder, which is the skill's where the text gives none.
    pub folder_name: &'a str,
    /// Its folder, as a tool that reads files takes it.
    pub folder: &'a str,
    /// Who brought it.
    pub owner: &'a str,
}

/// Reads a skill.
///
/// # Errors
/// What is wrong with it, and what would fix that.
pub fn parse_skill(from: &SkillText<'_>) -> Result<Skill, (String, String)> {
    let fix = "begin the file with ---, name: …, description: …, and --- again, a line each".to_owned();
    let front = FrontMatter::read(from.text).map_err(|why| (why, fix.clone()))?;
    let name = front.value("name").map_or_else(|| from.folder_name.to_owned(), plain);
    if !is_name(&name) {
        let text = format!("\"{}\" is no name of a skill", shown(&name));
        let fix = "write letters, digits, - and _, at most 64 of them, as its name".to_owned();
        return Err((text, fix));
    }
    let description = front.value("description").map(plain).filter(|text| !text.is_empty());
    let Some(description) = description else {
        return Err(("it says nothing of when it is of use".to_owned(), fix));
    };
    Ok(Skill {
        name,
        description: cut(&description),
        text: front.body.trim().into(),
        folder: from.folder.to_owned(),
        owner: from.owner.to_owned(),
    })
}

/// On one line, and without what nobody sees.
fn plain(text: &str) -> String {
    let seen: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !c.is_control() && !is_hidden(*c))
        .collect();
    seen.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(text: &str) -> String {
    if text.chars().count() <= DESCRIPTION_MAX_CHARS {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(DESCRIPTION_MAX_CHARS).collect();
    cut.push('…');
    cut
}

fn shown(name: &str) -> String {
    name.chars().take(NAME_MAX_CHARS).collect()
}

fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !name.is_empty() && name.chars().count() <= NAME_MAX_CHARS && name.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Skill, String> {
        let from = SkillText { text, folder_name: "forms", folder: ".haft/x/forms", owner: "extension:x" };
        parse_skill(&from).map_err(|(text, _)| text)
    }

    #[test]
    fn a_skill_is_known_by_its_front_matter_and_what_nobody_sees_is_taken_out() {
        let skill = read(
            "---\nname: fill-forms\ndescription: Fills\u{200b} in\u{1b} forms.\nlicense: x\n---\n\n# How\n",
        )
        .unwrap();
        assert_eq!((skill.name.as_str(), skill.description.as_str()), ("fill-forms", "Fills in forms."));
        assert_eq!(&*skill.text, "# How");
        assert_eq!(read("---\ndescription: d\n---\n").unwrap().name, "forms");
    }

    #[test]
    fn each_request_carries_only_so_much_of_a_description() {
        let skill = read(&format!("---\ndescription: {}\n---\n", "ä".repeat(2_000))).unwrap();
        assert_eq!(skill.description.chars().count(), DESCRIPTION_MAX_CHARS + 1);
    }

    #[test]
    fn one_that_says_nothing_of_itself_is_none() {
        for (text, says) in [
            ("# How\n", "doesn't begin with"),
            ("---\nname: x\n", "has no end"),
            ("---\nname: x\n---\n", "when it is of use"),
            ("---\nname: a b\ndescription: d\n---\n", "is no name"),
            ("---\nname: ../x\ndescription: d\n---\n", "is no name"),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.contains(says), "{text:?}: {why}");
        }
    }
}
