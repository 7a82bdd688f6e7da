//! Sealing and opening: ChaCha20-Poly1305 over all that is stored at once, the header bound to it.
//!
//! The cipher is the one that the TLS client uses. Its nonce is drawn anew for each write: of 96 random bits none comes
//! twice in any number of writes that a person makes.

use super::header::Stretch;
use crate::host;
use argon2::{Algorithm, Argon2, Block, Params, Version};
use haft_core::{Failure, Secret};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::{Zeroize, Zeroizing};

/// The length of a key.
pub(super) const KEY_BYTES: usize = 32;

/// A key; wiped when it goes.
pub(super) type Key = Zeroizing<[u8; KEY_BYTES]>;

/// A key that nobody can guess.
pub(super) fn random_key() -> Result<Key, Failure> {
    host::random().map(Zeroizing::new)
}

/// The key that a passphrase stands for.
pub(super) fn stretched(passphrase: &Secret, stretch: &Stretch) -> Result<Key, Failure> {
    let failed = |error: argon2::Error| {
        Failure::internal("no key could be made of the passphrase; try another").diagnose(error.to_string())
    };
    let params =
        Params::new(stretch.memory_kib, stretch.passes, stretch.lanes, Some(KEY_BYTES)).map_err(failed)?;
    let mut blocks = vec![Block::default(); params.block_count()];
    let mut key: Key = Zeroizing::new([0; KEY_BYTES]);
    let made = Argon2::new(Algorithm::Argon2id, Version::V0x13, params).hash_password_into_with_memory(
        passphrase.reveal().as_bytes(),
        &stretch.salt,
        key.as_mut_slice(),
        blocks.as_mut_slice(),
    );
    for block in &mut blocks {
        block.zeroize();
    }
    made.map_err(failed)?;
    Ok(key)
}

/// The whole file: header, nonce, sealed content with its tag.
pub(super) fn seal(key: &Key, header: &[u8], mut content: Zeroizing<Vec<u8>>) -> Result<Vec<u8>, Failure> {
    let failed = || Failure::internal("the secrets couldn't be sealed; nothing was changed");
    let random = host::random()?;
    let nonce: [u8; NONCE_LEN] =
        random.get(..NONCE_LEN).and_then(|bytes| bytes.try_into().ok()).ok_or_else(failed)?;
    let cipher = cipher(key).ok_or_else(failed)?;
    let tag = cipher
        .seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(header),
            content.as_mut_slice(),
        )
        .map_err(|_| failed())?;
    Ok([header, nonce.as_slice(), content.as_slice(), tag.as_ref()].concat())
}

/// The content of what follows the header; none where key, header or content aren't those that were sealed.
pub(super) fn open(key: &Key, header: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (nonce, content) = sealed.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut content = Zeroizing::new(content.to_vec());
    let length = cipher(key)?.open_in_place(nonce, Aad::from(header), content.as_mut_slice()).ok()?.len();
    content.truncate(length);
    Some(content)
}

fn cipher(key: &Key) -> Option<LessSafeKey> {
    UnboundKey::new(&CHACHA20_POLY1305, key.as_slice()).ok().map(LessSafeKey::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::header::SALT_BYTES;

    #[test]
    fn what_was_sealed_opens_with_its_key_and_header_alone() {
        let (key, other) = (random_key().unwrap(), random_key().unwrap());
        let content = || Zeroizing::new(b"what is stored".to_vec());
        let file = seal(&key, b"head\n", content()).unwrap();
        assert!(!file.windows(4).any(|window| window == b"what"));
        let sealed = file.strip_prefix(b"head\n").unwrap();
        assert_eq!(open(&key, b"head\n", sealed).unwrap().as_slice(), b"what is stored");
        assert!(open(&other, b"head\n", sealed).is_none());
        assert!(open(&key, b"heaD\n", sealed).is_none());
        for at in 0..sealed.len() {
            let mut bent = sealed.to_vec();
            bent[at] ^= 1;
            assert!(open(&key, b"head\n", &bent).is_none(), "byte {at}");
            assert!(open(&key, b"head\n", &sealed[..at]).is_none(), "cut at {at}");
        }
        assert_ne!(file, seal(&key, b"head\n", content()).unwrap(), "each write has a nonce of its own");
    }

    #[test]
    fn a_passphrase_stands_for_one_key_with_its_salt() {
        let key = |word: &str, salt: u8| {
            let stretch = Stretch { memory_kib: 64, passes: 1, lanes: 1, salt: [salt; SALT_BYTES] };
            stretched(&Secret::new(word), &stretch).unwrap()
        };
        assert!(key("one", 1) == key("one", 1));
        assert!(key("one", 1) != key("two", 1) && key("one", 1) != key("one", 2));
    }
}
