//! Extended attributes, access control lists among them, carried over to the file that takes another's place; and
//! kept with the owner for one that comes back later.

use crate::hash;
use haft_core::FileTraits;
use rustix::fs::{Gid, Uid, XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use std::{
    ffi::CString,
    fs::{File, Metadata},
    os::unix::fs::MetadataExt,
};

/// The kernel's own bound for a list of names and for one value.
const XATTR_MAX_BYTES: usize = 64 * 1024;

/// Rights of a program's former content: the kernel takes them away on a write, too.
const CAPABILITIES: &[u8] = b"security.capability";

const ACL: &[u8] = b"system.posix_acl_access";

/// So many bytes of names and values are kept of one file.
const KEPT_MAX_BYTES: usize = 8 * 1024;

/// Gives `new` what `old` has. Best effort: some attributes only the superuser may set.
pub(crate) fn carry_over(old: &File, new: &File) {
    let wanted = names(old);
    for name in &wanted {
        if name.as_bytes() == CAPABILITIES {
            continue;
        }
        let mut value = vec![0_u8; XATTR_MAX_BYTES];
        if let Ok(len) = fgetxattr(old, name.as_c_str(), value.as_mut_slice()) {
            value.truncate(len);
            let _ = fsetxattr(new, name.as_c_str(), &value, XattrFlags::empty());
        }
    }
    // The folder's default list may have given the new file one that the old file hadn't.
    if !wanted.iter().any(|name| name.as_bytes() == ACL) {
        for name in names(new).iter().filter(|name| name.as_bytes() == ACL) {
            let _ = fremovexattr(new, name.as_c_str());
        }
    }
}

/// What a file has besides content and mode.
pub(crate) fn traits(file: &File, meta: &Metadata) -> FileTraits {
    let mut kept =
        FileTraits { links: meta.nlink(), owner: Some((meta.uid(), meta.gid())), ..FileTraits::default() };
    let mut room = KEPT_MAX_BYTES;
    for name in names(file).iter().filter(|name| name.as_bytes() != CAPABILITIES) {
        let mut value = vec![0_u8; XATTR_MAX_BYTES];
        let Ok(len) = fgetxattr(file, name.as_c_str(), value.as_mut_slice()) else { continue };
        value.truncate(len);
        match room.checked_sub(name.as_bytes().len() + len) {
            Some(left) => {
                room = left;
                kept.attributes.push((hash::hex(name.as_bytes()), hash::hex(&value)));
            }
            None => kept.left_out += 1,
        }
    }
    kept
}

/// Gives a new file what another had. Best effort: another owner, and some attributes, only the superuser may set.
pub(crate) fn give(new: &File, traits: &FileTraits) {
    if let Some((user, group)) = traits.owner {
        let _ = rustix::fs::fchown(new, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
    }
    for (name, value) in &traits.attributes {
        if let (Some(name), Some(value)) = (from_hex(name), from_hex(value))
            && let Ok(name) = CString::new(name)
        {
            let _ = fsetxattr(new, name.as_c_str(), &value, XattrFlags::empty());
        }
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.iter().map(byte).collect()
}

fn names(file: &File) -> Vec<CString> {
    let mut list = vec![0_u8; XATTR_MAX_BYTES];
    let Ok(len) = flistxattr(file, list.as_mut_slice()) else {
        return Vec::new();
    };
    list.truncate(len);
    list.split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .filter_map(|name| CString::new(name).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_hex() {
        for bytes in [&b""[..], b"\x00\xffuser.x"] {
            assert_eq!(from_hex(&hash::hex(bytes)).as_deref(), Some(bytes));
        }
        assert_eq!((from_hex("f"), from_hex("zz")), (None, None));
    }

    #[test]
    fn what_a_file_has_is_given_to_another() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        let [old, new] = [old, new].map(|path| File::create_new(path).unwrap());
        if fsetxattr(&old, c"user.note", b"kept", XattrFlags::empty()).is_err() {
            eprintln!("skipped: the file system has no user attributes");
            return;
        }
        let kept = traits(&old, &old.metadata().unwrap());
        assert_eq!((kept.links, kept.left_out), (1, 0));
        give(&new, &kept);
        assert_eq!(traits(&new, &new.metadata().unwrap()), kept);
    }
}
