//! A disk without room: what is told when a file does not fit.

use std::error::Error;
use std::io::{self, ErrorKind};

/// What to do where a directory of results does not fit.
pub const RESULTS: &str = "make room on that disk: finished runs are kept, and the same command goes on from there";

/// What to do where nothing is known of what does not fit.
pub const AGAIN: &str = "make room on that disk, and give the same command again";

/// What to do where a single file does not fit.
pub const FILE: &str = "make room on that disk, or name a file on another one";

/// Whether a file could not be written because there is no room for it.
#[must_use]
pub fn is(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
        || error.get_ref().is_some_and(|e| caused(e))
}

/// Whether that is the cause of an error, or the cause of its cause.
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

/// Why a file could not be written, without the name that it has while it is in the making: tempfile adds that.
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
