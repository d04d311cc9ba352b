//! A movie: sizes and types of its frames, and references between frames.

use aqmkit_base::{Rng, dist};

use super::super::empirical::skipped;
use super::super::model::ParamError;

/// The type of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Intra-coded: needs no other frame.
    I,
    /// Predicted: refers to the I or P frame before it.
    P,
    /// Bidirectional: refers to the I or P frame before it and to the one after it.
    B,
}

impl Kind {
    /// All types.
    pub const ALL: [Kind; 3] = [Kind::I, Kind::P, Kind::B];

    /// The type with this letter.
    #[must_use]
    pub fn of(letter: &str) -> Option<Kind> {
        match letter {
            "I" | "i" => Some(Kind::I),
            "P" | "p" => Some(Kind::P),
            "B" | "b" => Some(Kind::B),
            _ => None,
        }
    }
}

/// Maximum distance in frames between a frame and its reference.
pub const MAX_GAP: usize = 60;

/// Maximum frame size in bytes.
pub const MAX_FRAME: u32 = 10_000_000;

/// A frame of a movie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Size in bytes.
    pub size: u32,
    /// Intra, predicted or bidirectional.
    pub kind: Kind,
    /// Distance in frames to the reference before it; 0 for none.
    pub back: u8,
    /// Distance in frames to the reference after it; 0 for none.
    pub ahead: u8,
}

/// A movie in display order, played in a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Movie {
    frames: Vec<Frame>,
    /// Largest distance to a reference.
    gap: usize,
}

impl Movie {
    /// Creates a movie from frames in display order. With `closed` groups of pictures, B frames before an I frame do
    /// not refer to it.
    ///
    /// # Errors
    /// When there is no I frame, or a reference is more than [`MAX_GAP`] frames away.
    pub fn new(frames: &[(Kind, u32)], closed: bool) -> Result<Self, ParamError> {
        let len = frames.len();
        if !frames.iter().any(|f| f.0 == Kind::I) {
            return Err(ParamError::new("frames", format!("{len} frames"), "at least one must be an I frame"));
        }
        let missing = |i: usize| {
            let want = format!("an I or P frame must be at most {MAX_GAP} frames away");
            ParamError::new(format!("frame {}", i + 1), format!("{:?}", frames[i].0), want)
        };
        let reference = |i: usize| frames[i % len].0 != Kind::B;
        let near = || 1..=MAX_GAP.min(len);
        let before = |i: usize| near().find(|&d| reference(i + len - d)).ok_or_else(|| missing(i));
        let after = |i: usize| near().find(|&d| reference(i + d)).ok_or_else(|| missing(i));
        let mut movie = Movie { frames: Vec::with_capacity(len), gap: 1 };
        for (i, &(kind, size)) in frames.iter().enumerate() {
            let back = if kind == Kind::I { 0 } else { before(i)? };
            let ahead = if kind == Kind::B { after(i)? } else { 0 };
            let next_group = frames[(i + ahead) % len].0 == Kind::I;
            let ahead = if closed && next_group { 0 } else { ahead };
            movie.gap = movie.gap.max(back).max(ahead);
            movie.frames.push(Frame { size, kind, back: back as u8, ahead: ahead as u8 });
        }
        Ok(movie)
    }

    /// Frame number `n` of the endlessly repeated movie.
    #[must_use]
    pub fn frame(&self, n: u64) -> Frame {
        self.frames[(n % self.frames.len() as u64) as usize]
    }

    /// Number of frames.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Always false: a movie has an I frame.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Largest distance in frames between a frame and its reference.
    #[must_use]
    pub fn gap(&self) -> usize {
        self.gap
    }

    /// The number of the last I frame at or before frame `n` of the repeated movie.
    #[must_use]
    pub fn intra_before(&self, n: u64) -> u64 {
        let len = self.frames.len() as u64;
        (0..len).map(|d| (n % len + len - d) % len).find(|&i| self.frame(i).kind == Kind::I).unwrap_or(0)
    }

    /// The frames in display order.
    pub fn iter(&self) -> impl Iterator<Item = Frame> + '_ {
        self.frames.iter().copied()
    }

    /// The sizes of the frames of one type.
    pub fn sizes(&self, kind: Kind) -> impl Iterator<Item = u32> + '_ {
        self.iter().filter(move |f| f.kind == kind).map(|f| f.size)
    }
}

/// Parses a group of pictures such as `IBBPBB`.
///
/// # Errors
/// When a letter is not I, P or B, or the first is not I.
pub fn pattern(text: &str) -> Result<Vec<Kind>, ParamError> {
    let want = r#"it must be letters I, P and B that begin with I, such as "IBBPBB""#;
    let kinds: Option<Vec<Kind>> = text.chars().map(|c| Kind::of(c.encode_utf8(&mut [0; 4]))).collect();
    kinds.filter(|k| k.first() == Some(&Kind::I)).ok_or_else(|| ParamError::new("pattern", format!("{text:?}"), want))
}

/// A line of a trace.
struct Line {
    kind: Option<Kind>,
    values: Vec<f64>,
}

/// Parses a trace: one line per frame, with its size in bytes and optionally its type, in any order of columns. Columns
/// whose values never fall (frame numbers, times) are ignored. Frames without types get those of `pattern`. Empty lines
/// and lines that begin with `#` or `%` are skipped.
///
/// The text is read twice, so that memory is needed only for the sizes and not for every number.
///
/// # Errors
/// When a line cannot be parsed, with its number, or when it is ambiguous which column has the sizes.
pub fn parse(file: &str, text: &str, pattern: &[Kind]) -> Result<Vec<(Kind, u32)>, ParamError> {
    let column = size_column(file, text)?;
    let sized = lines(text).zip(pattern.iter().cycle()).map(|((number, line), &by_pattern)| {
        let Line { kind, values } = parse_line(file, number, line)?;
        let size = values[column];
        if !(1.0..=f64::from(MAX_FRAME)).contains(&size) || size.fract() != 0.0 {
            let want = format!("a frame must have from 1 to {MAX_FRAME} bytes, a whole number");
            return Err(ParamError::line(file, number, &size.to_string(), want));
        }
        Ok((kind.unwrap_or(by_pattern), size as u32))
    });
    sized.collect()
}

/// Lines that describe a frame, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let all = text.lines().enumerate().map(|(i, line)| (i + 1, line));
    all.filter(|(_, line)| !skipped(line) && !line.trim_start().starts_with('%'))
}

fn parse_line(file: &str, number: usize, text: &str) -> Result<Line, ParamError> {
    let mut line = Line { kind: None, values: Vec::new() };
    for field in text.split([' ', '\t', ',', ';', '\r']).filter(|f| !f.is_empty()) {
        match (Kind::of(field), field.parse::<f64>()) {
            (Some(kind), _) if line.kind.is_none() => line.kind = Some(kind),
            (None, Ok(value)) if value.is_finite() => line.values.push(value),
            _ => return Err(ParamError::line(file, number, text, "it must be numbers and at most one of I, P, B")),
        }
    }
    if line.values.is_empty() {
        return Err(ParamError::line(file, number, text, "it must have a size"));
    }
    Ok(line)
}

/// The index of the only column whose values fall somewhere. All lines must have the same columns.
fn size_column(file: &str, text: &str) -> Result<usize, ParamError> {
    let mut all = lines(text);
    let Some((first, heading)) = all.next() else {
        return Err(ParamError::new(file, "no line", "it needs a line for each frame"));
    };
    let mut before = parse_line(file, first, heading)?;
    let mut falls = vec![false; before.values.len()];
    for (number, line) in all {
        let parsed = parse_line(file, number, line)?;
        if before.values.len() != parsed.values.len() || before.kind.is_some() != parsed.kind.is_some() {
            let want = format!("it must have the columns of line {first}");
            return Err(ParamError::line(file, number, line, want));
        }
        for (fell, (now, earlier)) in falls.iter_mut().zip(parsed.values.iter().zip(&before.values)) {
            *fell |= now < earlier;
        }
        before = parsed;
    }
    if falls.len() == 1 {
        return Ok(0);
    }
    let falling: Vec<usize> = (0..falls.len()).filter(|&column| falls[column]).collect();
    match falling[..] {
        [column] => Ok(column),
        _ => Err(ParamError::new(
            file,
            format!("{} columns of numbers", falls.len()),
            format!("one must be the sizes and the others must never fall; {} fall", falling.len()),
        )),
    }
}

/// Parameters of a synthetic movie.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// The group of pictures in display order.
    pub pattern: Vec<Kind>,
    /// Mean bytes of I, P and B frames.
    pub means: [f64; 3],
    /// Frames per second.
    pub fps: f64,
    /// Number of frames.
    pub frames: usize,
    /// Seed: selects one of the movies of this style.
    pub seed: u64,
}

/// Shape of the gamma distribution of the sizes of I, P and B frames.
const SHAPE: [f64; 3] = [17.0, 1.5, 5.0];
/// Smallest and largest size of I, P and B frames relative to the mean: 2 and 14 KB of 6916 bytes, 100 bytes and 10 KB
/// of 1646, 40 bytes and 1 KB of 241.
const RANGE: [(f64, f64); 3] = [(0.2892, 2.0243), (0.0608, 6.0753), (0.166, 4.1494)];
/// Share of the variance (on the normal scale) that is common to the frames of a scene.
const SCENE_SHARE: f64 = 0.85;
/// Mean length of a scene in seconds.
const SCENE_SECS: f64 = 10.0;
/// Correlation of the levels of consecutive scenes.
const SCENE_MEMORY: f64 = 0.85;

/// Size of a frame relative to the mean at `z` standard normal deviations: a gamma distribution of this shape, in the
/// cube-root approximation of Wilson and Hilferty (1931).
fn gamma(shape: f64, z: f64) -> f64 {
    let root = 1.0 - 1.0 / (9.0 * shape) + z / (3.0 * libm::sqrt(shape));
    let root = root.max(0.0);
    root * root * root
}

/// A movie of scenes of exponential length. The level of scenes follows a first-order autoregression, and frames vary
/// around the level of their scene. The mean sizes of the types are exact.
#[must_use]
pub fn synthesize(style: &Style) -> Vec<(Kind, u32)> {
    let mut rng = Rng::stream(style.seed, "movie");
    let (mut level, mut left) = (dist::normal(&mut rng), 0.0);
    let mut sizes: Vec<(Kind, f64)> = Vec::with_capacity(style.frames);
    for n in 0..style.frames {
        left -= 1.0;
        if left < 0.0 {
            left = dist::exponential(&mut rng, SCENE_SECS * style.fps);
            level = SCENE_MEMORY * level + libm::sqrt(1.0 - SCENE_MEMORY * SCENE_MEMORY) * dist::normal(&mut rng);
        }
        let z = libm::sqrt(SCENE_SHARE) * level + libm::sqrt(1.0 - SCENE_SHARE) * dist::normal(&mut rng);
        let kind = style.pattern.get(n % style.pattern.len().max(1)).copied().unwrap_or(Kind::I);
        sizes.push((kind, clamp(kind, gamma(SHAPE[kind as usize], z))));
    }
    for _ in 0..3 {
        center(&mut sizes);
    }
    let bytes =
        |(kind, relative): (Kind, f64)| ((relative * style.means[kind as usize] + 0.5) as u32).clamp(1, MAX_FRAME);
    sizes.into_iter().map(|f| (f.0, bytes(f))).collect()
}

fn clamp(kind: Kind, relative: f64) -> f64 {
    let (low, high) = RANGE[kind as usize];
    relative.clamp(low, high)
}

/// Scales the sizes of each type to a mean of 1, as far as the ranges allow.
fn center(sizes: &mut [(Kind, f64)]) {
    for kind in Kind::ALL {
        let of = || sizes.iter().filter(|f| f.0 == kind).map(|f| f.1);
        let mean = of().sum::<f64>() / of().count().max(1) as f64;
        for (_, size) in sizes.iter_mut().filter(|f| f.0 == kind) {
            *size = clamp(kind, *size / mean);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, proptest};

    const GOP: [Kind; 6] = [Kind::I, Kind::B, Kind::B, Kind::P, Kind::B, Kind::B];

    #[test]
    fn references_are_those_of_the_display_order() {
        let frames: Vec<_> = GOP.iter().map(|&k| (k, 100)).collect();
        let refs = |closed| Movie::new(&frames, closed).unwrap().iter().map(|f| (f.back, f.ahead)).collect::<Vec<_>>();
        assert_eq!(refs(false), [(0, 0), (1, 2), (2, 1), (3, 0), (1, 2), (2, 1)]);
        assert_eq!(refs(true), [(0, 0), (1, 2), (2, 1), (3, 0), (1, 0), (2, 0)]);
    }

    /// Also if a type has only one frame, or if sizes must be clamped to the ranges.
    #[test]
    fn the_frames_of_each_type_have_its_mean() {
        let means = [7000.0, 300.0, 1700.0];
        for frames in [1, 2, 4, 6, 60, 6000] {
            let style = Style { pattern: GOP.to_vec(), means, fps: 30.0, frames, seed: 7 };
            let sizes = synthesize(&style);
            assert_eq!(sizes.len(), frames);
            for kind in Kind::ALL {
                let of: Vec<f64> = sizes.iter().filter(|f| f.0 == kind).map(|f| f64::from(f.1)).collect();
                let mean = of.iter().sum::<f64>() / of.len() as f64;
                let wanted = means[kind as usize];
                assert!(
                    of.is_empty() || (mean / wanted - 1.0).abs() < 0.01,
                    "{kind:?} of {frames}: {mean} of {wanted}"
                );
            }
        }
    }

    #[test]
    fn traces_of_common_forms_are_read() {
        let expected = Ok(vec![(Kind::I, 5000), (Kind::B, 200), (Kind::P, 900)]);
        let forms = [
            "I 5000\nB 200\nP 900\n",
            "# size type\n5000,I\n200,B\n900,P",
            "1 I 0.000 5000\n2\tB\t33.3\t200\n3 P 66.7 900\r\n",
            "% comment\n0 5000 i 1\n1 200 b 2\n2 900 p 2\n",
            "5000\n200\n900",
        ];
        for text in forms {
            assert_eq!(parse("t", text, &[Kind::I, Kind::B, Kind::P]), expected, "{text}");
        }
    }

    /// The bounds for a frame are one byte and ten million bytes.
    #[test]
    fn frames_have_bounds() {
        let read = |size: u32| parse("t", &format!("I 7\nP {size}\n"), &GOP).map(|frames| frames[1].1).ok();
        assert_eq!([0, 1, MAX_FRAME, MAX_FRAME + 1].map(read), [None, Some(1), Some(MAX_FRAME), None]);
        // With means of one byte, small frames still have one byte.
        let style = Style { pattern: GOP.to_vec(), means: [1.0; 3], fps: 30.0, frames: 600, seed: 3 };
        assert_eq!(synthesize(&style).iter().map(|f| f.1).min(), Some(1));
    }

    #[test]
    fn a_movie_knows_its_gap() {
        let gap = |text: &str, closed: bool| {
            let frames: Vec<_> = pattern(text).unwrap().into_iter().map(|k| (k, 100)).collect();
            let movie = Movie::new(&frames, closed).unwrap();
            assert!(!movie.is_empty() && movie.len() == text.len());
            movie.gap()
        };
        assert_eq!([gap("IPPP", false), gap("IBBPBB", false), gap("IBBBB", false), gap("IBBBB", true)], [1, 3, 4, 4]);
        // The reference of the last B frame is 60 frames away, then 61.
        let long =
            |n: usize| Movie::new(&[vec![(Kind::I, 1)], vec![(Kind::B, 1); n]].concat(), true).map(|m| m.gap()).ok();
        assert_eq!((long(60), long(61)), (Some(60), None));
    }

    #[test]
    fn errors_name_the_line() {
        let fails = |text: &str| parse("t.txt", text, &GOP).unwrap_err().to_string();
        assert!(fails("I 5\nX 5").starts_with("t.txt line 2 = \"X 5\" is not valid"));
        let short = fails("\nI 5\n5");
        assert!(short.starts_with("t.txt line 3") && short.contains("columns of line 2"), "{short}");
        let message = fails("I 5\n\nP 4.5\n");
        assert!(
            message.starts_with("t.txt line 3 = \"4.5\" is not valid") && message.ends_with("a whole number"),
            "{message}"
        );
        assert!(fails("1 I 0.0 5\n2 P 33.3 4\n3 B 66.6 3.25\n").starts_with("t.txt line 3 = \"3.25\""));
        assert!(fails("I 5\n\nB 0").starts_with("t.txt line 3"));
        assert!(fails("I 5 7\nB 4 6").contains("2 fall"));
        assert!(fails("I").contains("a size"));
        assert!(fails("# nothing").contains("a line for each frame"));
        assert!(Movie::new(&[(Kind::P, 1)], false).is_err());
        let mut long = vec![(Kind::B, 1); 200];
        long[0].0 = Kind::I;
        assert!(Movie::new(&long, false).unwrap_err().to_string().starts_with("frame 2 "));
        assert!(pattern("BBI").is_err() && pattern("").is_err() && pattern("IBBX").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-0-9.eIPBx \n,;#%]*", closed in proptest::bool::ANY) {
            let frames = parse("t", &text, &GOP).unwrap_or_default();
            if let Ok(movie) = Movie::new(&frames, closed) {
                prop_assert!(movie.gap() <= MAX_GAP && movie.len() == frames.len());
                prop_assert!(movie.frame(movie.intra_before(7)).kind == Kind::I);
            }
        }
    }
}
