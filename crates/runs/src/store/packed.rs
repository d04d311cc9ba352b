//! The file of a run: CBOR compressed with zstd.
//!
//! A small file can decompress to any size. It is therefore decompressed twice: first only to check that it is complete
//! and within `UNPACKED`, then to be parsed.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};

use aqmkit_files::bounded::size;
use aqmkit_measure::Output;

/// Maximum file size in bytes.
pub(crate) const PACKED: u64 = 256 << 20;

/// Maximum decompressed size in bytes; a million flows need a seventh of it.
pub(crate) const UNPACKED: u64 = 1 << 30;

/// log2 of the maximum decompression window: 8 MiB; files written here need 2 MiB.
const WINDOW_LOG: u32 = 23;

/// Encodes and compresses a run.
///
/// # Errors
/// When the run would exceed the limits for reading it back.
pub fn pack(output: &Output) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    ciborium::into_writer(output, &mut bytes).map_err(io::Error::other)?;
    if bytes.len() as u64 > UNPACKED {
        let what = format!("it has {}; the maximum of a run is {}", size(bytes.len() as u64), size(UNPACKED));
        return Err(io::Error::other(what));
    }
    let mut encoder = zstd::Encoder::new(Vec::new(), 3)?;
    encoder.include_checksum(true)?;
    encoder.write_all(&bytes)?;
    encoder.finish()
}

/// Reads a run from a file.
///
/// # Errors
/// Why the file is not a valid run.
pub fn read(file: File) -> Result<Output, String> {
    let length = file.metadata().map_err(|e| e.to_string())?.len();
    if length > PACKED {
        return Err(format!("it has {}; the maximum of a stored run is {}", size(length), size(PACKED)));
    }
    unpack(file)
}

/// Reads a run from compressed bytes.
///
/// # Errors
/// Why the bytes are not a valid run.
pub fn unpack(mut input: impl Read + Seek) -> Result<Output, String> {
    let words = |e: io::Error| e.to_string();
    let bound = UNPACKED + 1;
    let unpacked = io::copy(&mut unpacking(&mut input)?.take(bound), &mut io::sink()).map_err(words)?;
    if unpacked == bound {
        return Err(format!("it unpacks to more than {}", size(UNPACKED)));
    }
    input.rewind().map_err(words)?;
    // Limited again, because the file may have been replaced in the meantime.
    let mut rest = BufReader::with_capacity(1 << 17, unpacking(&mut input)?.take(unpacked));
    let output = ciborium::from_reader(&mut rest).map_err(|e| e.to_string())?;
    match io::copy(&mut rest, &mut io::sink()).map_err(words)? {
        0 => Ok(output),
        more => Err(format!("{more} bytes follow the run")),
    }
}

fn unpacking<R: Read>(input: R) -> Result<zstd::Decoder<'static, BufReader<R>>, String> {
    let mut decoder = zstd::Decoder::new(input).map_err(|e| e.to_string())?;
    decoder.window_log_max(WINDOW_LOG).map_err(|e| e.to_string())?;
    Ok(decoder)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn packed(parts: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        parts.into_iter().for_each(|part| encoder.write_all(&part).unwrap());
        encoder.finish().unwrap()
    }

    #[test]
    fn a_small_file_that_unpacks_to_much_is_refused() {
        let bomb = packed((0..=UNPACKED >> 24).map(|_| vec![0; 1 << 24]));
        assert!(bomb.len() < 1 << 20, "{}", bomb.len());
        assert_eq!(unpack(Cursor::new(bomb)).unwrap_err(), "it unpacks to more than 1 GiB");
    }

    #[test]
    fn what_follows_a_run_is_noticed() {
        let mut bytes = Vec::new();
        ciborium::into_writer(&Output::default(), &mut bytes).unwrap();
        assert!(unpack(Cursor::new(packed([bytes.clone()]))).is_ok());
        let error = unpack(Cursor::new(packed([bytes.clone(), b"xyz".to_vec()]))).unwrap_err();
        assert_eq!(error, "3 bytes follow the run");
        bytes.pop();
        assert!(unpack(Cursor::new(packed([bytes]))).is_err());
        assert!(unpack(Cursor::new(b"no zstd at all")).is_err() && unpack(Cursor::new(b"")).is_err());
    }

    #[test]
    fn a_large_file_is_refused_by_its_length() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(PACKED + 1).unwrap();
        assert_eq!(read(file).unwrap_err(), "it has 256.1 MiB; the maximum of a stored run is 256 MiB");
    }
}
