//! The user that runs commands.

use std::ffi::{CStr, CString};
use std::io;

/// A user of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Login name.
    pub name: String,
    /// Home directory.
    pub home: String,
    id: libc::uid_t,
    group: libc::gid_t,
    groups: Vec<libc::gid_t>,
}

/// Maximum size of a passwd entry, in bytes.
const LONGEST: usize = 1 << 16;

/// Maximum number of groups of a user (`NGROUPS_MAX`).
const MOST_GROUPS: libc::c_int = 65_536;

impl User {
    /// Looks up a user by name or uid.
    ///
    /// # Errors
    /// When there is none ([`io::ErrorKind::NotFound`]), or the user database cannot be read.
    pub fn named(name: &str) -> io::Result<User> {
        let text = CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::NotFound))?;
        // SAFETY: all zeros is a valid entry: numbers and null pointers.
        let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
        let mut strings = vec![0; LONGEST];
        let mut found = std::ptr::null_mut();
        let room = (strings.as_mut_ptr(), strings.len());
        // SAFETY: every pointer is to memory that outlives the call, and the length is that of the string buffer.
        let error = unsafe {
            match name.parse() {
                Ok(id) => libc::getpwuid_r(id, &raw mut entry, room.0, room.1, &raw mut found),
                Err(_) => libc::getpwnam_r(text.as_ptr(), &raw mut entry, room.0, room.1, &raw mut found),
            }
        };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        if found.is_null() {
            return Err(io::ErrorKind::NotFound.into());
        }
        // SAFETY: the entry was filled in; its strings are in `strings`, which lives until the end of this function.
        let (own, home) = unsafe { (CStr::from_ptr(entry.pw_name), CStr::from_ptr(entry.pw_dir)) };
        Ok(User {
            name: own.to_string_lossy().into_owned(),
            home: home.to_string_lossy().into_owned(),
            id: entry.pw_uid,
            group: entry.pw_gid,
            groups: groups(own, entry.pw_gid),
        })
    }

    /// Why no process of this user namespace can become this user, if so. The namespace of `unshare -Ur` maps a single
    /// user, and setgroups(2) is denied.
    #[must_use]
    pub fn unreachable(&self) -> Option<String> {
        let known = [("uid", self.id), ("gid", self.group)].iter().all(|(of, id)| in_map(&map(of), *id).is_some());
        let fixed = std::fs::read_to_string("/proc/self/setgroups").is_ok_and(|text| text.trim() == "deny");
        match (known, fixed) {
            (false, _) => Some(format!("this user namespace has no user {}", self.name)),
            (true, true) => Some("this user namespace does not let processes change their groups".to_owned()),
            (true, false) => None,
        }
    }

    /// Changes the credentials of the calling process, permanently. Allocates nothing, so that it can be called between
    /// fork and exec.
    ///
    /// # Errors
    /// When `CAP_SETUID` or `CAP_SETGID` is missing.
    pub(crate) fn become_it(&self) -> io::Result<()> {
        // SAFETY: the pointer is to as many groups as given. The system calls affect this process alone, which is
        // single-threaded.
        let done = unsafe {
            libc::setgroups(self.groups.len(), self.groups.as_ptr()) == 0
                && libc::setgid(self.group) == 0
                && libc::setuid(self.id) == 0
        };
        if done { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Maps a uid of this user namespace to the parent namespace.
pub(crate) fn outside(user: u32) -> Option<u32> {
    in_map(&map("uid"), user)
}

/// The uid or gid map of this user namespace; the identity where the kernel has no user namespaces.
fn map(of: &str) -> String {
    std::fs::read_to_string(format!("/proc/self/{of}_map")).unwrap_or_else(|_| format!("0 0 {}", u32::MAX))
}

/// Maps an id to the parent namespace.
fn in_map(map: &str, id: u32) -> Option<u32> {
    let ranges = map.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace().map_while(|word| word.parse::<u32>().ok());
        Some((numbers.next()?, numbers.next()?, numbers.next()?))
    });
    let mut inside = ranges.filter(|(first, _, count)| id.checked_sub(*first).is_some_and(|n| n < *count));
    inside.next().map(|(first, out, _)| out.saturating_add(id - first))
}

/// All groups of a user, including the primary one.
fn groups(name: &CStr, main: libc::gid_t) -> Vec<libc::gid_t> {
    let mut count = MOST_GROUPS;
    let mut groups = vec![0; MOST_GROUPS as usize];
    // SAFETY: the buffer has room for `count` groups.
    let found = unsafe { libc::getgrouplist(name.as_ptr(), main, groups.as_mut_ptr(), &raw mut count) };
    if found < 0 {
        return vec![main];
    }
    groups.truncate(usize::try_from(found).unwrap_or(0));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_of_ids_has_ranges() {
        let map = "         0       1000          1\n         1     100000      65536\n";
        let found = [0, 1, 65_534, 65_536, 65_537].map(|id| in_map(map, id));
        assert_eq!(found, [Some(1000), Some(100_000), Some(165_533), Some(165_535), None]);
        assert_eq!(in_map("0 0 4294967295", 65_534), Some(65_534));
        assert_eq!(User::named("root").unwrap().unreachable(), None);
    }

    #[test]
    fn a_user_is_found_by_name_and_number() {
        let root = User::named("root").unwrap();
        assert_eq!((root.id, root.group, &root), (0, 0, &User::named("0").unwrap()));
        assert!(root.groups.contains(&0) && root.home.starts_with('/'));
        assert_eq!(User::named("no such user").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(User::named("a\0b").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
