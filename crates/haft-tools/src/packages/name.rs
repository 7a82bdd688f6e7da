//! What may stand for a package: a name, and a version that the manager knows how to read.

use super::manager::Manager;
use haft_core::Failure;

/// The longest name with its version.
const NAME_MAX_BYTES: usize = 300;

/// A package as the caller wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Package {
    /// All of it, as the manager gets it.
    pub(super) written: String,
    /// The name alone.
    pub(super) name: String,
}

impl Package {
    /// Reads one.
    ///
    /// # Errors
    /// Invalid input for an option, a path, an address or an alias: these can bring in anything from anywhere.
    pub(super) fn of(manager: Manager, written: &str) -> Result<Self, Failure> {
        let name = match manager {
            Manager::Cargo => cargo(written),
            Manager::Npm | Manager::Pnpm | Manager::Yarn => node(written),
            Manager::Uv | Manager::Pip => python(written),
            Manager::Go => go(written),
        };
        match name.filter(|_| written.len() <= NAME_MAX_BYTES) {
            Some(name) => Ok(Self { written: written.to_owned(), name: name.to_owned() }),
            None => Err(Failure::invalid(format!(
                "/names must hold packages as {} takes them, as {}; no options, paths or addresses: got {:?}",
                manager.name(),
                example(manager),
                written.chars().take(80).collect::<String>()
            ))),
        }
    }
}

fn example(manager: Manager) -> &'static str {
    match manager {
        Manager::Cargo => "\"serde\" or \"serde@1.0\"",
        Manager::Npm | Manager::Pnpm | Manager::Yarn => "\"react\" or \"@types/node@^22\"",
        Manager::Uv | Manager::Pip => "\"requests\" or \"requests==2.32\"",
        Manager::Go => "\"golang.org/x/text\" or \"golang.org/x/text@v0.14.0\"",
    }
}

fn is_all(text: &str, extra: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || extra.contains(c))
}

fn cargo(written: &str) -> Option<&str> {
    let (name, version) = split(written, '@');
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic()) && is_all(name, "-_");
    (is_name && version.is_none_or(|version| is_all(version, ".+-^~*=<>, "))).then_some(name)
}

fn node(written: &str) -> Option<&str> {
    let (scope, rest) = match written.strip_prefix('@') {
        Some(scoped) => {
            let (scope, rest) = scoped.split_once('/')?;
            (Some(scope), rest)
        }
        None => (None, written),
    };
    let (bare, version) = split(rest, '@');
    let is_part = |part: &str| !part.starts_with(['.', '-', '_']) && is_all(part, "._~-");
    // A version with a slash or colon is an address, a path or another package.
    let is_fine = is_part(bare)
        && scope.is_none_or(is_part)
        && version.is_none_or(|version| !version.starts_with('-') && is_all(version, ".+-^~*=<>| "));
    let end = written.len() - version.map_or(0, |version| version.len() + 1);
    written.get(..end).filter(|_| is_fine)
}

fn python(written: &str) -> Option<&str> {
    let end = written.find(['[', '=', '<', '>', '!', '~']).unwrap_or(written.len());
    let (name, rest) = written.split_at(end);
    let (extras, version) = match rest.strip_prefix('[') {
        Some(rest) => {
            let (extras, version) = rest.split_once(']')?;
            (Some(extras), version)
        }
        None => (None, rest),
    };
    let is_name = |name: &str| {
        is_all(name, "-_.") && !name.starts_with(['-', '_', '.']) && !name.ends_with(['-', '_', '.'])
    };
    let is_version = version.is_empty()
        || (version.starts_with(['=', '<', '>', '!', '~']) && is_all(version, ".+-*=<>!~,"));
    (is_name(name) && extras.is_none_or(|extras| extras.split(',').all(is_name)) && is_version)
        .then_some(name)
}

fn go(written: &str) -> Option<&str> {
    let (path, version) = split(written, '@');
    let mut parts = path.split('/');
    let is_host = parts
        .next()
        .is_some_and(|host| host.contains('.') && !host.starts_with(['.', '-']) && is_all(host, ".-"));
    let is_part = |part: &str| is_all(part, "._~-") && !part.starts_with(['.', '-']);
    let is_fine = is_host && parts.all(is_part) && version.is_none_or(|version| is_all(version, "._+-"));
    is_fine.then_some(path)
}

/// What stands before and behind a sign.
fn split(text: &str, sign: char) -> (&str, Option<&str>) {
    text.split_once(sign).map_or((text, None), |(name, version)| (name, Some(version)))
}

/// A name by which two spellings of one package are the same.
pub(super) fn plain(manager: Manager, name: &str) -> String {
    match manager {
        Manager::Cargo => name.replace('-', "_"),
        Manager::Uv | Manager::Pip => {
            let parts: Vec<&str> = name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
            parts.join("-").to_ascii_lowercase()
        }
        Manager::Npm | Manager::Pnpm | Manager::Yarn | Manager::Go => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_a_name_and_a_version() {
        for (manager, written, name) in [
            (Manager::Cargo, "serde", "serde"),
            (Manager::Cargo, "tokio-util@0.7", "tokio-util"),
            (Manager::Cargo, "serde@>=1, <2", "serde"),
            (Manager::Npm, "left-pad", "left-pad"),
            (Manager::Npm, "@types/node@^22.1.0", "@types/node"),
            (Manager::Yarn, "react@latest", "react"),
            (Manager::Pnpm, "lodash.merge@4", "lodash.merge"),
            (Manager::Pip, "requests", "requests"),
            (Manager::Pip, "uvicorn[standard,x]>=0.30,<1", "uvicorn"),
            (Manager::Uv, "ruamel.yaml==0.18.*", "ruamel.yaml"),
            (Manager::Go, "golang.org/x/text@v0.14.0", "golang.org/x/text"),
            (Manager::Go, "gopkg.in/yaml.v3", "gopkg.in/yaml.v3"),
        ] {
            let package = Package::of(manager, written).unwrap();
            assert_eq!((package.name.as_str(), package.written.as_str()), (name, written));
        }
    }

    #[test]
    fn options_paths_and_addresses_are_none() {
        for (manager, texts) in [
            (
                Manager::Cargo,
                &["", "--git", "-Zx", "../x", "./x", "a/b", "https://h/x", "a@../b", "a b", "1a"][..],
            ),
            (
                Manager::Npm,
                &[
                    "",
                    "-g",
                    "--prefix=/",
                    "./x",
                    "../x",
                    "/x",
                    "user/repo",
                    "git+ssh://h/x",
                    "https://h/x.tgz",
                    "a@npm:b@1",
                    "a@file:../x",
                    "a@github:u/r",
                    "@a",
                    "@a/b/c",
                    "@/b",
                    "~/x",
                    ".x",
                    "a\nb",
                ][..],
            ),
            (
                Manager::Pip,
                &[
                    "",
                    "-r",
                    "-e.",
                    ".",
                    "./x",
                    "x @ https://h/x",
                    "git+https://h/x",
                    "x.whl/../y",
                    "x; y",
                    "a[b",
                    "x==-r y",
                ][..],
            ),
            (
                Manager::Go,
                &["", "./...", "../x", "all", "-u", "h.x/../y", "h.x/y@", "fmt", "https://h.x/y"][..],
            ),
        ] {
            for text in texts {
                let failure = Package::of(manager, text).unwrap_err();
                assert!(failure.text.contains("no options, paths or addresses"), "{text:?}");
            }
        }
    }

    #[test]
    fn spellings_of_one_package_are_the_same() {
        assert_eq!(plain(Manager::Cargo, "tokio-util"), plain(Manager::Cargo, "tokio_util"));
        assert_eq!(plain(Manager::Uv, "Ruamel.Yaml"), plain(Manager::Uv, "ruamel_yaml"));
        assert_ne!(plain(Manager::Npm, "a-b"), plain(Manager::Npm, "a_b"));
    }
}
