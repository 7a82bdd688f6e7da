//! Environment variables that hold credentials, told by their names.

use super::{assigned::OF_CREDENTIALS, kinds::assigned_words};

/// A shorter value isn't taken for a credential: it would stand in too many texts by chance.
const VALUE_MIN_BYTES: usize = 8;
/// A shorter word is only taken for itself, since it ends other words: `COMPASS`, `MONKEY`.
const ENDING_MIN_BYTES: usize = 5;
/// Addresses that commonly have a password in them.
const ADDRESSES: [&str; 1] = ["database_url"];

/// Whether a variable holds a credential: its name says so, and its value isn't a short word or a path.
pub fn is_credential(name: &str, value: &str) -> bool {
    value.len() >= VALUE_MIN_BYTES && !value.starts_with('/') && names_one(&name.to_ascii_lowercase())
}

fn names_one(name: &str) -> bool {
    if ADDRESSES.contains(&name) {
        return true;
    }
    let parts: Vec<&str> = name.split(['_', '-', '.']).filter(|part| !part.is_empty()).collect();
    // What is said of a credential isn't one.
    if parts.last().is_some_and(|last| OF_CREDENTIALS.contains(last)) {
        return false;
    }
    parts.iter().any(|part| {
        let one = part.strip_suffix('s').unwrap_or(part);
        one == "key"
            || assigned_words().any(|word| {
                *part == word || one == word || word.len() >= ENDING_MIN_BYTES && one.ends_with(word)
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_parts_of_a_name_say_so() {
        for name in [
            "API_KEY",
            "X_API_KEY",
            "github_token",
            "HAFT_TOKEN",
            "PGPASSWORD",
            "AWS_SECRET_ACCESS_KEY",
            "DATABASE_URL",
            "NPM_AUTH",
            "SECRETS",
            "MY_CREDENTIALS",
            "APIKEY",
            "SSH_PASSPHRASE",
        ] {
            assert!(is_credential(name, "abcdefgh"), "{name}");
        }
        for name in [
            "TOKENIZERS_PARALLELISM",
            "SIGN_KEY_ID",
            "AUTHOR",
            "MONKEY",
            "KEYBOARD_LAYOUT",
            "USE_KEYCHAIN",
            "EDITOR",
            "COMPASS",
            "TOKEN_URL",
            "KEY_PATH",
        ] {
            assert!(!is_credential(name, "abcdefgh"), "{name}");
        }
        assert!(!is_credential("TOKEN", "short") && !is_credential("SSH_AUTH_SOCK", "/tmp/agent"));
    }
}
