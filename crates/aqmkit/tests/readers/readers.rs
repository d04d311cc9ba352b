//! Every reader of files from elsewhere, as a function of bytes: the tests damage valid files, the fuzz targets
//! generate new ones. Each returns the reader's error message, and panics if that message would not help a user.

#![allow(dead_code, reason = "a fuzz target plays one of them")]

use std::io::Cursor;
use std::sync::Arc;

use aqmkit_base::trace::Trace;
use aqmkit_experiment::{Experiment, Overrides, recorded_capture};
use aqmkit_files::bounded::{self, Bound, Unread};
use aqmkit_packets::replay::{self, CaptureError};
use aqmkit_results::Results;
use aqmkit_runs::store::checksum::{self, Seal};
use aqmkit_runs::store::packed;
use aqmkit_study::null_test::Outcomes;
use aqmkit_study::recorded::Records;
use aqmkit_study::verdict::Published;
use aqmkit_traffic::registry::Spec;
use aqmkit_traffic::{Data, abt, http_mah, mpeg, pcap, videoconf};

/// Reads the bytes of a file; returns the error message, if any.
pub(crate) type Reader = fn(&[u8]) -> Result<(), String>;

/// The file name in messages.
const FILE: &str = "file.x";

/// Converts the bytes to text, as the readers receive it.
fn text(bytes: &[u8], bound: &Bound) -> Result<String, String> {
    bounded::text_of(FILE, bytes, bound).map_err(|e| {
        assert!(matches!(&e, Unread::Refused { line: Some(1..), .. }) || bytes.len() as u64 > bound.bytes, "{e}");
        helpful(format!("{e}; {}", e.right().unwrap_or_default()))
    })
}

/// Asserts that a message is neither empty nor longer than a user would read, whatever the file contains.
fn helpful(message: String) -> String {
    assert!((10..4000).contains(&message.len()), "{message:?}");
    message
}

/// As [`helpful`], for a message that must name the file.
fn placed(message: String) -> String {
    assert!(message.contains(FILE), "{message:?} names no file");
    helpful(message)
}

/// A trace of a link's rate.
pub(crate) fn rates(bytes: &[u8]) -> Result<(), String> {
    let trace = Trace::parse(FILE, &text(bytes, &bounded::RATES)?);
    trace.map(|_| ()).map_err(|e| placed(format!("{e}; {}", e.right)))
}

/// Reads the file with a traffic model.
fn traffic(spec: &Spec, bytes: &[u8]) -> Result<(), String> {
    let text = text(bytes, bounded::of_traffic(spec.name()))?;
    let data = vec![Data::from(text.as_str()); spec.files().len()];
    prepared(spec, &data)
}

fn prepared(spec: &Spec, data: &[Data]) -> Result<(), String> {
    let population = spec.prepare(data).map_err(|e| helpful(e.to_string()))?;
    assert!(population.instances() > 0);
    Ok(())
}

/// Connection vectors.
pub(crate) fn vectors(bytes: &[u8]) -> Result<(), String> {
    traffic(&Spec::Abt(abt::Params { vectors: Some(FILE.to_owned()), ..Default::default() }), bytes)
}

/// The trace of a film.
pub(crate) fn films(bytes: &[u8]) -> Result<(), String> {
    traffic(&Spec::Mpeg(mpeg::Params { frames: Some(FILE.to_owned()), ..Default::default() }), bytes)
}

/// The trace of a conference.
pub(crate) fn conferences(bytes: &[u8]) -> Result<(), String> {
    traffic(&Spec::Videoconf(videoconf::Params { trace: Some(FILE.to_owned()), ..Default::default() }), bytes)
}

/// A measured distribution: all five of Mah's.
pub(crate) fn distributions(bytes: &[u8]) -> Result<(), String> {
    traffic(&Spec::HttpMah(http_mah::Params { data: Some(FILE.to_owned()), ..Default::default() }), bytes)
}

/// Published values.
pub(crate) fn published(bytes: &[u8]) -> Result<(), String> {
    Published::parse(&text(bytes, &bounded::ROWS)?).map(|_| ()).map_err(helpful)
}

/// Stored verdicts.
pub(crate) fn verdicts(bytes: &[u8]) -> Result<(), String> {
    let records = Records::parse(&text(bytes, &bounded::ROWS)?).map_err(helpful)?;
    let written = records.text().map_err(|e| e.to_string())?;
    assert_eq!(Records::parse(&written).as_ref().map(Records::text).map(Result::ok), Ok(Some(written)));
    Ok(())
}

/// Outcomes of the null test.
pub(crate) fn null_test(bytes: &[u8]) -> Result<(), String> {
    let outcomes = Outcomes::parse(&text(bytes, &bounded::ROWS)?).map_err(helpful)?;
    let written = outcomes.text().map_err(|e| e.to_string())?;
    assert_eq!(Outcomes::parse(&written), Ok(outcomes));
    Ok(())
}

/// An experiment.
pub(crate) fn experiments(bytes: &[u8]) -> Result<(), String> {
    let text = text(bytes, &bounded::EXPERIMENT)?;
    let experiment = Experiment::parse(FILE, &text, &Overrides::default()).map_err(|e| helpful(e.to_string()))?;
    assert!(experiment.id == "file" && !experiment.file.is_empty());
    Ok(())
}

/// A `results.json`.
pub(crate) fn results(bytes: &[u8]) -> Result<(), String> {
    let text = text(bytes, &bounded::RESULTS)?;
    let read = serde_json::from_str::<Results>(&text).map_err(|e| helpful(e.to_string()))?;
    let written = checksum::seal(&serde_json::to_string_pretty(&read).map_err(|e| e.to_string())?);
    assert_eq!(checksum::check(&written), Seal::Whole);
    // Either answer is fine, but it must not panic.
    let _ = checksum::check(&text);
    Ok(())
}

/// The file of a stored run.
pub(crate) fn runs(bytes: &[u8]) -> Result<(), String> {
    packed::unpack(Cursor::new(bytes)).map(|_| ()).map_err(|e| {
        assert!(!e.is_empty() && e.len() < 4000, "{e:?}");
        e
    })
}

/// A capture that is replayed.
pub(crate) fn captures(bytes: &[u8]) -> Result<(), String> {
    let mut packets = 0_u64;
    let mut count = |record: replay::Record<'_>| {
        packets += 1;
        assert!(record.number >= packets && record.offset <= bytes.len() as u64);
        Ok::<(), CaptureError>(())
    };
    match replay::read(bytes, &mut count).map_err(|e| e.to_string())?.damage {
        None => Ok(()),
        Some(damage) => Err(helpful(format!("damaged at byte {}: {}", damage.offset, damage.what))),
    }
}

/// Measurements of a path, and what is estimated from them.
pub(crate) fn measurements(bytes: &[u8]) -> Result<(), String> {
    let read = aqmkit_estimate::read(FILE, bytes).map_err(|e| placed(format!("{}; {}", e.what, e.right)))?;
    let given = aqmkit_estimate::Given { load: Some((0.1, 0.5)), ..aqmkit_estimate::Given::default() };
    let trial = aqmkit_estimate::Trial::of(vec![read], given).map_err(|e| helpful(e.to_string()))?;
    let estimate = aqmkit_estimate::estimate(&trial);
    assert!(!estimate.sentence().contains("NaN"), "{}", estimate.sentence());
    let written = aqmkit_estimate::Measured::of(&estimate).text(&[]);
    assert!(aqmkit_estimate::Measured::parse(FILE, &written).is_ok(), "{written}");
    Ok(())
}

/// A capture used as traffic.
pub(crate) fn recordings(bytes: &[u8]) -> Result<(), String> {
    let (recording, _) = recorded_capture(FILE, bytes).map_err(|e| placed(e.to_string()))?;
    let spec = Spec::Pcap(pcap::Params { file: FILE.to_owned(), ..Default::default() });
    prepared(&spec, &[Data::Capture(Arc::new(recording))])
}
