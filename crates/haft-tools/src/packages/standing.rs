//! What a project's files say of a package; pure.

use super::{ground::Kept, manager::Manager, name::plain};
use haft_core::without_bom;
use serde_json::Value;

/// A package as it stands in a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// Whether the manifest lists it.
    pub(super) is_listed: bool,
    /// What the manifest asks for, where it says so.
    pub(super) wanted: Option<String>,
    /// The versions that the lock file, or what is installed, has.
    pub(super) has: Vec<String>,
}

/// Where an installed package of JavaScript says what it is.
pub(super) fn installed(name: &str) -> String {
    format!("node_modules/{name}/package.json")
}

/// What the files say of a package.
pub(super) fn standing(manager: Manager, name: &str, kept: &Kept) -> Standing {
    let text = |file: &str| kept.get(file).map(|bytes| String::from_utf8_lossy(bytes)).unwrap_or_default();
    match manager {
        Manager::Cargo => Standing {
            has: locked(manager, name, &text("Cargo.lock")),
            ..in_cargo(name, &text("Cargo.toml"))
        },
        Manager::Npm | Manager::Pnpm | Manager::Yarn => {
            let manifest: Value =
                serde_json::from_str(without_bom(&text("package.json"))).unwrap_or_default();
            let sections = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
            let wanted = sections.iter().find_map(|section| manifest.get(section)?.get(name)?.as_str());
            let own: Value = serde_json::from_str(without_bom(&text(&installed(name)))).unwrap_or_default();
            Standing {
                is_listed: wanted.is_some(),
                wanted: wanted.map(str::to_owned),
                has: own.get("version").and_then(Value::as_str).map(str::to_owned).into_iter().collect(),
            }
        }
        Manager::Uv => {
            let manifest = text("pyproject.toml");
            let listed = quoted(&manifest).find(|text| {
                let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)));
                plain(manager, text.get(..end.unwrap_or(text.len())).unwrap_or_default())
                    == plain(manager, name)
            });
            Standing {
                is_listed: listed.is_some(),
                wanted: listed.map(str::to_owned),
                has: locked(manager, name, &text("uv.lock")),
            }
        }
        Manager::Go => {
            let manifest = text("go.mod");
            let line = manifest.lines().find_map(|line| {
                let line = line.trim().trim_start_matches("require ").trim_start();
                line.strip_prefix(name)?.strip_prefix(' ')?.split_ascii_whitespace().next()
            });
            let version = line.map(str::to_owned);
            Standing {
                is_listed: version.is_some(),
                has: version.clone().into_iter().collect(),
                wanted: version,
            }
        }
        // It keeps no list; what is installed is asked of it.
        Manager::Pip => Standing::default(),
    }
}

/// `name = "1"`, `name = { version = "1" }` and `[dependencies.name]`, beneath a heading of dependencies.
fn in_cargo(name: &str, manifest: &str) -> Standing {
    let is_name = |key: &str| {
        let key = key.trim().trim_matches('"');
        plain(Manager::Cargo, key.strip_suffix(".workspace").unwrap_or(key)) == plain(Manager::Cargo, name)
    };
    let mut is_within = false;
    let mut standing = Standing::default();
    for line in manifest.lines() {
        let line = line.trim();
        if let Some(heading) = line.strip_prefix('[') {
            let heading = heading.trim_end_matches(']');
            is_within = heading.ends_with("dependencies");
            standing.is_listed |= heading
                .rsplit_once('.')
                .is_some_and(|(before, last)| before.ends_with("dependencies") && is_name(last));
        } else if let Some((_, value)) = line.split_once('=').filter(|(key, _)| is_within && is_name(key)) {
            standing.is_listed = true;
            let version = value.split_once("version").map_or(value, |(_, rest)| rest);
            standing.wanted = quoted(version).next().map(str::to_owned);
        }
    }
    standing
}

/// The versions in a lock file with `[[package]]`, `name = "…"`, `version = "…"`.
fn locked(manager: Manager, name: &str, lock: &str) -> Vec<String> {
    let packages = lock.split("[[package]]").skip(1);
    let field = |package: &str, key: &str| -> Option<String> {
        let line = package.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
        line.and_then(|value| quoted(value).next()).map(str::to_owned)
    };
    packages
        .filter(|package| {
            field(package, "name").is_some_and(|found| plain(manager, &found) == plain(manager, name))
        })
        .filter_map(|package| field(package, "version"))
        .collect()
}

/// What stands in quotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(pairs: &[(&str, &str)]) -> Kept {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
    }

    fn told(manager: Manager, name: &str, pairs: &[(&str, &str)]) -> (bool, Option<String>, String) {
        let standing = standing(manager, name, &kept(pairs));
        (standing.is_listed, standing.wanted, standing.has.join(", "))
    }

    #[test]
    fn cargo_manifests_and_locks_are_read() {
        let manifest = "[package]\nname = \"t\"\nversion = \"0.1.0\"\n\n[dependencies]\nitoa = \"1\"\n\
            serde = { version = \"1.0\", features = [\"std\"] }\nlocal = { path = \"x\" }\nown.workspace = true\n\n\
            [dev-dependencies.tokio-util]\nversion = \"0.7\"\n";
        let lock = "version = 4\n\n[[package]]\nname = \"itoa\"\nversion = \"1.0.19\"\n\n[[package]]\n\
            name = \"itoa\"\nversion = \"0.4.8\"\n";
        let files = [("Cargo.toml", manifest), ("Cargo.lock", lock)];
        assert_eq!(
            told(Manager::Cargo, "itoa", &files),
            (true, Some("1".to_owned()), "1.0.19, 0.4.8".to_owned())
        );
        assert_eq!(told(Manager::Cargo, "serde", &files), (true, Some("1.0".to_owned()), String::new()));
        assert!(told(Manager::Cargo, "own", &files).0);
        assert!(told(Manager::Cargo, "tokio_util", &files).0);
        assert!(!told(Manager::Cargo, "name", &files).0);
    }

    #[test]
    fn javascript_says_what_is_wanted_and_what_is_there() {
        let files = [
            ("package.json", "{\"devDependencies\": {\"@t/n\": \"^1\"}}"),
            ("node_modules/@t/n/package.json", "{\"version\": \"1.2.3\"}"),
        ];
        assert_eq!(told(Manager::Pnpm, "@t/n", &files), (true, Some("^1".to_owned()), "1.2.3".to_owned()));
        assert_eq!(told(Manager::Npm, "other", &files), (false, None, String::new()));
        assert!(!told(Manager::Npm, "x", &[("package.json", "{broken")]).0);
    }

    #[test]
    fn python_and_go_are_read() {
        let files = [
            ("pyproject.toml", "[project]\nname = \"t\"\ndependencies = [\n    \"Ruamel.Yaml>=0.18\",\n]\n"),
            ("uv.lock", "[[package]]\nname = \"ruamel-yaml\"\nversion = \"0.18.6\"\n"),
        ];
        let expected = (true, Some("Ruamel.Yaml>=0.18".to_owned()), "0.18.6".to_owned());
        assert_eq!(told(Manager::Uv, "ruamel_yaml", &files), expected);
        let files = [("go.mod", "module m\n\nrequire (\n\tgolang.org/x/text v0.14.0 // indirect\n)\n")];
        let expected = (true, Some("v0.14.0".to_owned()), "v0.14.0".to_owned());
        assert_eq!(told(Manager::Go, "golang.org/x/text", &files), expected);
        assert!(!told(Manager::Go, "golang.org/x", &files).0);
    }
}
