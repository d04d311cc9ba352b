//! Draws coordinates near good ones, with tree-structured Parzen estimators (Bergstra et al. 2011).

use rand_xoshiro::Xoshiro256PlusPlus;

/// The next coordinates to try, each drawn from its range by an estimator of its own. `scored` are the places known so
/// far with their costs, lower is better; `refused` those that could not be tried. `None` if a range is empty or a cost
/// is not a number.
pub(crate) fn propose(
    ranges: &[(f64, f64)],
    scored: &[(Vec<f64>, f64)],
    refused: &[Vec<f64>],
    rng: &mut Xoshiro256PlusPlus,
) -> Option<Vec<f64>> {
    let mut place = Vec::new();
    for (i, range) in ranges.iter().enumerate() {
        let range = tpe::range(range.0, range.1).ok()?;
        // With only tens of candidates, a tenth (the default) would be a single one.
        let mut optimizer = tpe::TpeOptimizerBuilder::new().gamma(0.25).build(tpe::parzen_estimator(), range).ok()?;
        for (known, value) in scored {
            optimizer.tell(known[i], *value).ok()?;
        }
        // Not more rejected than accepted candidates: a quarter of all counts as good.
        for out in refused.iter().rev().take(scored.len()) {
            optimizer.tell(out[i], f64::INFINITY).ok()?;
        }
        place.push(optimizer.ask(rng).ok()?);
    }
    Some(place)
}
