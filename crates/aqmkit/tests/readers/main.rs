//! Damaged files: every reader accepts a file or reports an error, and never panics. The valid files are also the seeds
//! of the fuzz targets.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod readers;

use std::path::Path;

use aqmkit_packets::replay::PcapWriter;
use aqmkit_runs::store::packed;
use aqmkit_sim::Output;
use aqmkit_sim::output::Series;
use proptest::prelude::*;
use readers::Reader;

/// The valid files for a reader.
fn seeds(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(folder);
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// A stored run.
fn run() -> Vec<u8> {
    let series = Series { interval_s: 1.0, columns: [("x".to_owned(), vec![1.0, f64::NAN, 3.0])].into() };
    packed::pack(&Output { series, exchanges_dropped: 7, ..Output::default() }).unwrap()
}

/// A capture of ten IPv4 packets in Ethernet frames, each of a different flow.
fn capture() -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new());
    for n in 0..10 {
        let mut frame = [n as u8; 60];
        frame[12..18].copy_from_slice(&[8, 0, 0x45, 0, 0, 46]);
        (frame[20], frame[21], frame[23]) = (0, 0, 17);
        writer.write(n * 1_000_000, 1, 60, &frame).unwrap();
    }
    writer.finish().unwrap()
}

/// Byte strings that careless readers mishandle, to be inserted into valid files.
const SPLINTERS: [&[u8]; 24] = [
    b"",
    b"\0",
    b"\xff\xfe",
    b"\n",
    b"\r",
    b" ",
    b",",
    b"\"",
    b"#",
    b"-1",
    b"0",
    b"1e300",
    b"1e-300",
    b"NaN",
    b"inf",
    b"9e1",
    b"1!",
    b"0.5",
    b"18446744073709551616",
    b"SEQ 0 1",
    b"{",
    b"]",
    b"\xc3\xa9",
    b"=",
];

/// Random damages: a position as a fraction of the file, how many bytes to replace, by which splinter, and whether to
/// cut off the rest (one in four).
fn damages() -> impl Strategy<Value = Vec<(f64, usize, usize, bool)>> {
    let one = (0.0..1.0, 0..6_usize, 0..SPLINTERS.len(), proptest::bool::weighted(0.25));
    proptest::collection::vec(one, 1..4)
}

fn damaged(mut file: Vec<u8>, damages: &[(f64, usize, usize, bool)]) -> Vec<u8> {
    for &(place, length, splinter, cut) in damages {
        let from = (place * file.len() as f64) as usize;
        let to = if cut { file.len() } else { (from + length).min(file.len()) };
        file.splice(from..to, SPLINTERS[splinter].iter().copied());
    }
    file
}

/// Asserts that a reader accepts the valid files and does not panic on damaged ones.
fn survives(files: &[Vec<u8>], cases: u32, read: Reader) {
    assert!(!files.is_empty());
    for file in files {
        assert_eq!(read(file), Ok(()));
    }
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(which in 0..files.len(), list in damages())| {
        // The reader's own assertions judge the result.
        let _ = read(&damaged(files[which].clone(), &list));
    });
}

#[test]
fn traces_of_rates() {
    survives(&seeds("rates"), 1000, readers::rates);
}

#[test]
fn connection_vectors() {
    survives(&seeds("vectors"), 1000, readers::vectors);
}

#[test]
fn films() {
    survives(&seeds("films"), 1000, readers::films);
}

#[test]
fn conferences() {
    survives(&seeds("conferences"), 1000, readers::conferences);
}

#[test]
fn distributions() {
    survives(&seeds("distributions"), 1000, readers::distributions);
}

#[test]
fn published_values() {
    survives(&seeds("published"), 1000, readers::published);
}

#[test]
fn kept_verdicts() {
    survives(&seeds("verdicts"), 1000, readers::verdicts);
}

#[test]
fn outcomes_of_the_null_test() {
    survives(&seeds("null_test"), 1000, readers::null_test);
}

#[test]
fn experiments() {
    survives(&seeds("experiments"), 100, readers::experiments);
}

#[test]
fn stored_results() {
    survives(&seeds("results"), 1000, readers::results);
}

#[test]
fn stored_runs() {
    survives(&[run()], 1000, readers::runs);
}

#[test]
fn captures() {
    survives(&[capture()], 1000, readers::captures);
    survives(&[capture()], 1000, readers::recordings);
}

#[test]
fn measurements() {
    survives(&seeds("measurements"), 1000, readers::measurements);
}

/// Files of a single repeated byte, longer than a chunk: the readers report where they are invalid.
#[test]
fn files_of_one_byte() {
    let readers: [Reader; 11] = [
        readers::rates,
        readers::vectors,
        readers::films,
        readers::conferences,
        readers::distributions,
        readers::published,
        readers::verdicts,
        readers::null_test,
        readers::experiments,
        readers::results,
        readers::measurements,
    ];
    for (n, read) in readers.into_iter().enumerate() {
        for byte in [0, b'1', 0xff] {
            assert!(read(&vec![byte; 1 << 20]).is_err(), "reader {n}, byte {byte}");
        }
    }
}

/// Mistakes that used to go unnoticed are reported with their line.
#[test]
fn what_is_nearly_right_is_refused() {
    let refused = |read: Reader, text: &str| read(text.as_bytes()).unwrap_err();
    for line in ["SEQ 0 1", "SEQ 0 1 1", "SEQ 0 1 > 5", "SEQ 0 1 1 1!"] {
        let told = refused(readers::vectors, &format!("SEQ 0 1 1 1\n> 5\n< 5\n{line}\n> 5\n"));
        assert!(told.starts_with("file.x line 4 "), "{told}");
    }
    assert!(refused(readers::distributions, "1 1 0.5\n1e300 1 1\n").contains("line 2"));
    assert!(refused(readers::films, "I 5000\nP 900.5\n").starts_with("file.x line 2 "));
    let head = "id,source,where,what,unit,low,high,kind\n";
    assert!(refused(readers::published, &format!("{head}X,a,b,c,ms,9e1,1e2,value\n")).starts_with("line 2: X: low"));
}
