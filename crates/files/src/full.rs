//! Full disks: messages for files that do not fit.

use std::error::Error;
use std::io::{self, ErrorKind};

/// Advice when results do not fit.
pub const RESULTS: &str =
    "free space on that disk and repeat the command: finished runs are stored, and it continues from there";

/// Advice when it is unknown which file does not fit.
pub const AGAIN: &str = "free space on that disk and repeat the command";

/// Advice when a single file does not fit.
pub const FILE: &str = "free space on that disk, or name a file on another one";

/// Whether an error means that the disk is full.
#[must_use]
pub fn is(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
        || error.get_ref().is_some_and(|e| caused(e))
}

/// Whether a full disk is the cause of an error, directly or indirectly.
#[must_use]
pub fn caused(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(cause) = next {
        if cause.downcast_ref::<io::Error>().is_some_and(is) {
            return true;
        }
        next = cause.source();
    }
    false
}

/// The error message without the name of the temporary file, which tempfile adds.
#[must_use]
pub fn reason(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at path ") {
        Some((why, draft)) if draft.contains(".aqmkit-") => why.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_draft_is_nobodys_business() {
        let full = io::Error::from(ErrorKind::StorageFull);
        assert!(is(&full) && caused(&full) && !caused(&io::Error::other("x")));
        assert!(caused(&io::Error::other(full)), "also within another error");
        assert_eq!(reason(&"no space at path \"/a/.aqmkit-xyz\""), "no space");
        assert_eq!(reason(&"no space at path \"/a/b\""), "no space at path \"/a/b\"");
    }
}
