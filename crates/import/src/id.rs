//! Handles and class identifiers: two hexadecimal numbers.

/// The number of the discipline and that of the class; `1:` has the class 0.
pub(crate) fn parts(id: &str) -> Option<(u32, u32)> {
    let (major, minor) = id.split_once(':')?;
    let number = |text: &str| {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        if digits.is_empty() { Some(0) } else { u32::from_str_radix(digits, 16).ok() }
    };
    Some((number(major)?, number(minor)?))
}

/// The identifier as `tc` prints it: `0x1:0x0a` is `1:a`. What is none stays.
pub(crate) fn plain(id: &str) -> String {
    match parts(id) {
        Some((major, 0)) => format!("{major:x}:"),
        Some((major, minor)) => format!("{major:x}:{minor:x}"),
        None => id.to_owned(),
    }
}

/// The number of the discipline of a handle or a class.
pub(crate) fn major(id: &str) -> Option<u32> {
    parts(id).map(|(major, _)| major)
}
