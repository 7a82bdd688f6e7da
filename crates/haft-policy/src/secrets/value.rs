//! Whether a value looks like a secret or like something that people and programs write in its place.
//!
//! Nothing here can be sure. A value that passes costs a reader a glance at a placeholder; one that doesn't may
//! be a leak, unless a kind with a form of its own finds it.

use base64::{Engine, engine::general_purpose};

/// Shannon entropy, in bits for each byte, that a machine's token has at twelve bytes and more.
const TOKEN_ENTROPY_MIN_BITS: f64 = 2.8;
/// The same for what people choose.
const PASSWORD_ENTROPY_MIN_BITS: f64 = 2.3;
/// Below it, a value of any form is filler, such as `xxxx`.
const FILLER_ENTROPY_MAX_BITS: f64 = 2.0;
/// So many equal bytes in a row are filler. `A` is left out: it is zero in base64.
const FILLER_RUN_BYTES: usize = 8;
const TOKEN_MIN_BYTES: usize = 12;
const PASSWORD_MIN_BYTES: usize = 8;
/// The same where a flag or a variable says that it is one.
const GIVEN_MIN_BYTES: usize = 6;
/// Signs that people put into passwords, and hardly into words.
const SYMBOLS: &[u8] = b"!@#$%^&*?~+";

/// In a value of any form: it stands for one.
const STAND_INS: &[&str] =
    &["example", "xxxxxx", "placeholder", "redacted", "changeme", "your-", "your_", "[secret:", "${", "{{"];
/// In a value without a form of its own: the same.
const FILLERS: &[&str] = &[
    "change_me",
    "change-me",
    "replace",
    "insert",
    "dummy",
    "sample",
    "foobar",
    "not-a-",
    "not_a_",
    "notasecret",
    "-here",
    "_here",
    "xxxx",
    "***",
    "...",
    "todo",
    "fixme",
    "masked",
    "hidden",
    "1234567890",
    "0123456789",
    "abcdefgh",
    "process.env",
    "os.environ",
    "getenv",
    "import.meta",
    "secrets.",
    "env.",
    "vault:",
    "op://",
    "ref+",
    "keyring:",
    "ssm:",
    "$(",
    "%(",
    "#{",
    "<",
    "…",
];
/// A value that begins so is a checksum.
const CHECKSUMS: &[&str] = &["sha1", "sha224", "sha256", "sha384", "sha512", "md5", "crc32", "blake"];
/// Words of technology with digits in them, which stand in the names of types and functions.
#[rustfmt::skip] // rows of words
const TERMS: &[&str] = &[
    // A longer one before what it begins with.
    "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "int128", "float16", "float32",
    "float64", "bytes16", "bytes32", "bytes64", "utf8", "utf16", "utf32", "latin1", "base16", "base32", "base58",
    "base64", "ascii85", "sha1", "sha224", "sha256", "sha384", "sha512", "sha2", "sha3", "md4", "md5", "crc32",
    "keccak256", "blake2", "blake3", "argon2", "pbkdf2", "x509", "pkcs11", "pkcs12", "pkcs1", "pkcs5", "pkcs7",
    "pkcs8", "asn1", "oauth1", "oauth2", "http1", "http2", "http3", "ed25519", "x25519", "curve25519",
    "secp256k1", "aes128", "aes192", "aes256", "chacha20", "poly1305", "rsa2048", "rsa4096", "hs256", "rs256",
    "es256", "ipv4", "ipv6", "rfc3339", "iso8601", "win32", "win64", "amd64", "arm64", "i18n", "l10n", "k8s",
    "neo4j", "log4j", "web3", "vec2", "vec3", "mat4", "v1alpha1", "v1beta1", "v2beta1",
];
/// What else documentation gives to a flag, with digits or signs after it.
const GIVEN_FILLERS: &[&str] = &["changeit", "welcome", "qwerty", "letmein", "default", "string", "value"];
/// What documentation writes as the password of an address.
const ADDRESS_FILLERS: &[&str] = &[
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "user",
    "username",
    "token",
    "mypassword",
    "yourpassword",
    "my-password",
    "pw",
    "***",
    "xxx",
    "test",
    "postgres",
    "root",
    "admin",
    "guest",
    "foo",
    "bar",
    "baz",
];

/// Whether a value of any form only stands for one.
pub(super) fn is_stand_in(value: &[u8]) -> bool {
    contains_any(value, STAND_INS) || has_run(value) || entropy(value) < FILLER_ENTROPY_MAX_BITS
}

/// Whether letters and digits are mixed without a visible order.
pub(super) fn is_mixed(value: &[u8]) -> bool {
    entropy(value) >= TOKEN_ENTROPY_MIN_BITS && wild_bytes(value) >= 8
}

/// Whether small and capital letters and digits are all there.
pub(super) fn has_all_classes(value: &[u8]) -> bool {
    classes(value) >= 3
        && value.iter().any(u8::is_ascii_lowercase)
        && value.iter().any(u8::is_ascii_uppercase)
        && value.iter().any(u8::is_ascii_digit)
}

/// Whether it is base64 of `user:password`, both printable.
pub(super) fn is_pair(value: &[u8]) -> bool {
    let end = value.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    let body = value.get(..end).unwrap_or_default();
    let decoded = general_purpose::STANDARD_NO_PAD
        .decode(body)
        .or_else(|_| general_purpose::URL_SAFE_NO_PAD.decode(body))
        .unwrap_or_default();
    let colon = decoded.iter().position(|byte| *byte == b':');
    let is_text = decoded.iter().all(|byte| !byte.is_ascii_control());
    is_text && colon.is_some_and(|colon| colon + 1 < decoded.len())
}

/// Whether a machine may have made it as a token.
pub(super) fn is_token(value: &[u8]) -> bool {
    let wild = wild_bytes(value);
    let letters_and_digits = value.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
    value.len() >= TOKEN_MIN_BYTES
        && !is_filler(value)
        && entropy(value) >= TOKEN_ENTROPY_MIN_BITS
        && (is_uuid(value) || wild >= 9 && wild * 2 >= letters_and_digits)
}

/// Whether people may have chosen it as a password. Without quotes around it, it may be code as well.
pub(super) fn is_password(value: &[u8], quotes: Quotes) -> bool {
    if value.len() < PASSWORD_MIN_BYTES
        || is_filler(value)
        || is_short_hex(value)
        || entropy(value) < PASSWORD_ENTROPY_MIN_BITS
    {
        return false;
    }
    let has_symbol = value.iter().any(|byte| SYMBOLS.contains(byte));
    match quotes {
        _ if wild_bytes(value) >= 6 => true,
        Quotes::Around => classes(value) >= 3 && (has_symbol || !value.contains(&b'.')),
        Quotes::None => classes(value) >= 3 && has_symbol,
    }
}

/// Whether what a flag or a variable for passwords is given is one, and not a variable, a word or a port.
pub(super) fn is_given(value: &[u8]) -> bool {
    let stem = value.iter().rposition(u8::is_ascii_alphabetic).and_then(|last| value.get(..=last));
    let is_word = |words: &[&str]| {
        stem.is_some_and(|stem| words.iter().any(|word| stem.eq_ignore_ascii_case(word.as_bytes())))
    };
    value.len() >= GIVEN_MIN_BYTES
        && stem.is_some()
        && value.iter().any(|byte| byte.is_ascii_digit() || *byte == b'=' || SYMBOLS.contains(byte))
        && !is_filler(value)
        && !is_word(ADDRESS_FILLERS)
        && !is_word(GIVEN_FILLERS)
}

/// Whether the password of an address is one.
pub(super) fn is_address_password(value: &[u8]) -> bool {
    let is_port = value.len() <= 5 && value.iter().all(u8::is_ascii_digit);
    let is_variable = matches!(value, [b'$' | b'%' | b'{' | b':', ..]);
    let is_known_filler = ADDRESS_FILLERS.iter().any(|filler| value.eq_ignore_ascii_case(filler.as_bytes()));
    !is_port && !is_variable && !is_known_filler && !contains_any(value, STAND_INS) && !has_run(value)
}

/// Whether quotes stand around a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    None,
    Around,
}

/// Whether a value without a form of its own is a placeholder, code, a path, an address, a checksum or a date.
fn is_filler(value: &[u8]) -> bool {
    contains_any(value, FILLERS)
        || is_stand_in(value)
        || is_variable(value)
        || is_place(value)
        || is_checksum(value)
        || is_date(value)
}

/// At most eight digits in hex: the beginning of a commit's name, a colour, a checksum.
fn is_short_hex(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"0x").unwrap_or(value);
    let is_all = |is: fn(&u8) -> bool| digits.iter().all(|byte| byte.is_ascii_digit() || is(byte));
    digits.len() <= 8
        && (is_all(|byte| matches!(byte, b'a'..=b'f')) || is_all(|byte| matches!(byte, b'A'..=b'F')))
}

/// `$NAME`, `%NAME%`, `@name`, `&name`, `a::b`, `a->b`.
fn is_variable(value: &[u8]) -> bool {
    let is_name = |name: &[u8]| name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.%".contains(byte));
    match value {
        [b'$' | b'%' | b'@' | b'&', name @ ..] if is_name(name) => true,
        _ => value.windows(2).any(|pair| matches!(pair, b"::" | b"->" | b"=>" | b"()" | b"&&" | b"||")),
    }
}

/// A path or an address.
fn is_place(value: &[u8]) -> bool {
    matches!(value, [b'/', b'a'..=b'z' | b'A'..=b'Z', ..] | [b'~' | b'.', b'/' | b'.', ..] | [b'A'..=b'Z', b':', b'\\', ..])
        && value.iter().filter(|byte| matches!(byte, b'/' | b'\\')).count() >= 2
        || value.windows(3).any(|piece| piece == b"://")
}

/// A hash that says which, or the address of an account in a public ledger.
fn is_checksum(value: &[u8]) -> bool {
    let names_hash = CHECKSUMS.iter().any(|name| {
        value.len() > name.len()
            && value.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name.as_bytes()))
            && value.get(name.len()).is_some_and(|next| matches!(next, b':' | b'-' | b'='))
    });
    names_hash
        || matches!(value, [b'0', b'x', hex @ ..] if hex.len() == 40 && hex.iter().all(u8::is_ascii_hexdigit))
}

/// `2031-01-31…`.
fn is_date(value: &[u8]) -> bool {
    let fits =
        |(at, byte): (usize, &u8)| if at == 4 || at == 7 { *byte == b'-' } else { byte.is_ascii_digit() };
    value.get(..10).is_some_and(|date| date.iter().enumerate().all(fits))
}

/// Bytes in words that nobody writes: letters and digits in turns, other than `sha256`, `v2` or `10mb`.
fn wild_bytes(value: &[u8]) -> usize {
    value.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !is_tame(word)).map(<[u8]>::len).sum()
}

fn is_tame(word: &[u8]) -> bool {
    let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = word.len() - digits;
    if letters == 0 {
        return true;
    }
    if digits == 0 {
        return !is_odd_case(word);
    }
    let before = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let after = word.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let is_numbered = after == digits && digits <= 4 && !is_odd_case(word);
    let is_amount = before == digits && (letters <= 3 || digits <= 4 && letters <= 6);
    // `X509CertificateFlags`, `loginOauth2Handler`.
    let runs = word.chunk_by(|one, next| one.is_ascii_digit() == next.is_ascii_digit()).count();
    let is_name = word.len() >= 18 && runs <= 3 && digits <= 4 && before == 0 && !is_odd_case(word);
    is_numbered || is_amount || is_name || is_termed(word)
}

/// `Uint8Array`, `OAuth2AccessToken`, `Int64ToString`: all digits but a number at the end belong to words of
/// technology, or stand for "to" and "for".
fn is_termed(word: &[u8]) -> bool {
    if is_odd_case(word) {
        return false;
    }
    let mut plain = word.to_ascii_lowercase();
    for term in TERMS {
        while let Some(at) = memchr::memmem::find(&plain, term.as_bytes()) {
            let Some(part) = plain.get_mut(at..at + term.len()) else { break };
            part.fill(b'x');
        }
    }
    let is_join = |seven: &[u8]| match seven {
        [before @ .., b'2' | b'4', one, two, three] => {
            before.iter().chain([one, two, three]).all(u8::is_ascii_lowercase)
        }
        _ => false,
    };
    let joins = plain.windows(7).filter(|seven| is_join(seven)).count();
    let digits = plain.iter().filter(|byte| byte.is_ascii_digit()).count();
    let last = plain.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    last <= 2 && digits == joins + last
}

/// Capitals come and go as in no `camelCase`: at least twice a small letter stands alone before a capital, or
/// capitals stand together before a small letter.
fn is_odd_case(word: &[u8]) -> bool {
    let mut odd = 0;
    let mut runs = word.chunk_by(|one, next| case_of(*one) == case_of(*next)).peekable();
    while let Some(run) = runs.next() {
        let next = runs.peek().and_then(|next| next.first()).map(|byte| case_of(*byte));
        odd += match (run.first().map(|byte| case_of(*byte)), next) {
            (Some(Case::Small), Some(Case::Capital)) if run.len() == 1 => 1,
            (Some(Case::Capital), Some(Case::Small)) if run.len() > 1 => 1,
            _ => 0,
        };
    }
    word.len() >= 10 && odd >= 2
}

#[derive(PartialEq, Eq)]
enum Case {
    Small,
    Capital,
    None,
}

fn case_of(byte: u8) -> Case {
    match byte {
        b'a'..=b'z' => Case::Small,
        b'A'..=b'Z' => Case::Capital,
        _ => Case::None,
    }
}

/// `8-4-4-4-12` digits in hex, as some vendors' keys are.
fn is_uuid(value: &[u8]) -> bool {
    let lengths = value.split(|byte| *byte == b'-').map(<[u8]>::len);
    lengths.eq([8, 4, 4, 4, 12]) && value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
}

/// Of small letters, capitals, digits and all else, how many are there.
fn classes(value: &[u8]) -> usize {
    let small = value.iter().any(u8::is_ascii_lowercase);
    let capital = value.iter().any(u8::is_ascii_uppercase);
    let digit = value.iter().any(u8::is_ascii_digit);
    let other = value.iter().any(|byte| !byte.is_ascii_alphanumeric());
    [small, capital, digit, other].into_iter().filter(|is_there| *is_there).count()
}

/// Shannon entropy of the bytes, in bits for each.
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let total: f64 = counts.iter().copied().map(f64::from).sum();
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / total);
    shares.map(|share| -share * share.log2()).sum()
}

fn has_run(value: &[u8]) -> bool {
    value
        .chunk_by(|one, next| one == next)
        .any(|run| run.len() >= FILLER_RUN_BYTES && run.first() != Some(&b'A'))
}

fn contains_any(value: &[u8], words: &[&str]) -> bool {
    let lower = value.to_ascii_lowercase();
    words.iter().any(|word| memchr::memmem::find(&lower, word.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_a_secret_is_none() {
        for value in [
            "AKIAIOSFODNN7EXAMPLE",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "${TOKEN}",
            "{{ token }}",
            "your-api-key-17a",
            "0000000000000000",
        ] {
            assert!(is_stand_in(value.as_bytes()), "{value}");
        }
        assert!(!is_stand_in(b"pypi-AgAAAAAAAAAAq8Zt3nV7cX1m"));
    }

    #[test]
    fn a_token_is_told_from_names_paths_and_code() {
        for value in ["q8Zt3nV7cX1mK4w", "3f9a2c41d07be865", "a81b-9f3c7d20-44be0e1c"] {
            assert!(is_token(value.as_bytes()), "{value}");
        }
        for value in [
            "changeme",
            "process.env.API_TOKEN",
            "refresh_token_v2",
            "self.oauth2.token",
            "$API_TOKEN",
            "TokenKind::Ident42x7",
            "sha256:3f9a2c41d07be8653f9a2c41",
            "2031-01-31T10:11:12Z",
            "/etc/ssl/k3y5x7/a",
            "https://a1b2c3d4.host/x9y8z7",
            "1234567890123456",
            "0xdac17f958d2ee523a2206206994597c13d831ec7",
        ] {
            assert!(!is_token(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn a_password_in_quotes_needs_less_than_one_without() {
        assert!(is_password(b"Summer-Tree9", Quotes::Around));
        assert!(!is_password(b"Summer-Tree9", Quotes::None));
        assert!(is_password(b"Summer!Tree9", Quotes::None));
        assert!(is_password(b"s3cr3tp4ss", Quotes::None));
        for value in ["required", "changeme", "password1", "user.password", "${DB_PASSWORD}", "hashPassword2"]
        {
            assert!(!is_password(value.as_bytes(), Quotes::None), "{value}");
        }
    }

    #[test]
    fn names_of_types_are_no_secrets() {
        for value in [
            "Uint8Array",
            "Float64Array",
            "Base64String",
            "UTF8Decoder",
            "Argon2idParams",
            "Int64ToString",
            "CharField2Widget",
            "3f9a2c41",
            "0x1f2e3d4c",
        ] {
            assert!(!is_password(value.as_bytes(), Quotes::None), "{value}");
        }
        for value in [
            "Ed25519PrivateKey",
            "Curve25519SecretKey",
            "OAuth2AccessToken",
            "Uint8ClampedArray",
            "deriveKeyPbkdf2Sha256",
            "X509Certificate2",
            "lexer.nextToken2Char",
        ] {
            assert!(!is_token(value.as_bytes()), "{value}");
        }
        assert!(is_password(b"k9base64x7Qz", Quotes::None) && is_token(b"q8Zt3nV7sha256K4"));
    }

    #[test]
    fn what_a_flag_is_given_needs_less() {
        for value in ["hunter2", "blue42sky", "tr0ub4dor&3", "kettle!moon"] {
            assert!(is_given(value.as_bytes()), "{value}");
        }
        for value in
            ["$PW1234", "password1", "admin123!", "3306:3306", "PASSWORD", "changeit", "/etc/x1/pw", "a1b2"]
        {
            assert!(!is_given(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn a_pair_is_read_out_of_base64() {
        assert!(is_pair(b"bWU6aHVudGVyMg=="));
        assert!(!is_pair(b"bWU6"));
        assert!(!is_pair(b"authentication"));
    }

    #[test]
    fn the_password_of_an_address_may_be_short() {
        assert!(is_address_password(b"k3ks"));
        for value in ["password", "8080", "$PASS", "{pass}", "<pass>xxxxxx"] {
            assert!(!is_address_password(value.as_bytes()), "{value}");
        }
    }
}
