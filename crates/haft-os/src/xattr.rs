//! Extended attributes, access control lists among them, carried over to the file that takes another's place.

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use std::{ffi::CString, fs::File};

/// The kernel's own bound for a list of names and for one value.
const XATTR_MAX_BYTES: usize = 64 * 1024;

/// Rights of a program's former content: the kernel takes them away on a write, too.
const CAPABILITIES: &[u8] = b"security.capability";

const ACL: &[u8] = b"system.posix_acl_access";

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
