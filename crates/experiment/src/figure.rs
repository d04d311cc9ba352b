//! `[[figure]]`: figures of a paper, reproduced at the beginning of the report's plots.

use aqmkit_base::units::split;
use aqmkit_formulas::unit::{Dimension, Quantity, of_field};
use aqmkit_results::{Curve, Figure, FigureKind, Law, Ruler};

use super::metric::{OVER, PLUS, check_metric};
use super::predict::selector;
use super::problem::{Problem, suggest};
use super::read::{Keys, read, tables};
use super::scope::Scope;
use super::shape;
use super::tree::Node;

/// Reads the list of figures.
pub(super) fn read_figures(list: &Node, scope: &Scope) -> Result<Vec<Figure>, Problem> {
    let figures = tables(list, "figure", "write [[figure]] for each")?;
    figures.iter().map(|node| figure(node, scope)).collect()
}

fn figure(node: &Node, scope: &Scope) -> Result<Figure, Problem> {
    let keys: shape::Figure = read(node, Keys::of("a key of [[figure]]"))?;
    let selector = selector(node, scope)?;
    let figure = match keys.kind {
        FigureKind::Curve => Figure { curve: Some(curve(&keys, node, scope)?), ..Figure::default() },
        FigureKind::Cdf | FigureKind::Tail | FigureKind::Density => responses(&keys, node, scope)?,
    };
    Ok(Figure { title: keys.title, kind: keys.kind, note: keys.note, selector, ..figure })
}

/// Rejects keys that belong to other kinds of figures.
fn refuse(node: &Node, keys: &[&str], help: &str) -> Result<(), Problem> {
    let found = node.entries().iter().find(|e| keys.contains(&e.key.as_str()));
    found.map_or(Ok(()), |e| {
        Err(Problem::new(format!("{} does not belong to this kind of figure", e.key)).right(help).at(&e.at))
    })
}

fn needed<'a>(value: Option<&'a String>, key: &str, example: &str, node: &Node) -> Result<&'a str, Problem> {
    let missing = || Problem::new(format!("{key} is missing")).right(format!("write {key} = {example:?}")).at(&node.at);
    value.map(String::as_str).ok_or_else(missing)
}

/// Reads a figure of response times.
fn responses(keys: &shape::Figure, node: &Node, scope: &Scope) -> Result<Figure, Problem> {
    refuse(node, &["metric", "along", "law"], "they are for kind = \"curve\"")?;
    let at = |key: &str| &node.get(key).unwrap_or(node).at;
    let app = needed(keys.app.as_ref(), "app", "web", node)?;
    let response = needed(keys.response.as_ref(), "response", "request", node)?;
    if !scope.names.apps.iter().any(|name| name == app) {
        let problem = Problem::new(format!("no traffic is called {app:?}"));
        return Err(problem.right(suggest(app, scope.names.apps.iter().map(String::as_str))).at(at("app")));
    }
    let metric = format!("response_time_ms.{response}.mean");
    check_metric(&["apps", app], &metric, &scope.names).map_err(|e| e.at(at("response")))?;
    if keys.upto.is_some_and(aqmkit_base::Duration::is_zero) {
        return Err(Problem::new("the time axis would end at zero").right("write upto = \"2s\"").at(at("upto")));
    }
    Ok(Figure {
        app: app.to_owned(),
        response: response.to_owned(),
        upto_s: keys.upto.map(aqmkit_base::Duration::as_secs_f64),
        ..Figure::default()
    })
}

/// Reads a metric plotted along an axis, with theoretical laws.
fn curve(keys: &shape::Figure, node: &Node, scope: &Scope) -> Result<Curve, Problem> {
    refuse(node, &["app", "response", "upto"], "a curve needs metric and along")?;
    let at = |key: &str| &node.get(key).unwrap_or(node).at;
    let metric = needed(keys.metric.as_ref(), "metric", "classes.tcp.goodput_bps", node)?;
    let along = needed(keys.along.as_ref(), "along", "topology.loss", node)?;
    check_metric(&[], metric, &scope.names).map_err(|e| e.at(at("metric")))?;
    if metric.contains(OVER) || metric.contains(PLUS) {
        return Err(Problem::new("a curve shows a single quantity")
            .right("sums and ratios are not possible")
            .at(at("metric")));
    }
    let labels = scope.labels(along).ok_or_else(|| scope.no_axis(along, &[]).at(at("along")))?;
    on_a_line(along, labels).map_err(|e| e.at(at("along")))?;
    let laws = node.get("law").map(Node::elements).unwrap_or_default();
    let law = |(law, place): (&shape::Law, &Node)| read_law(law, metric, labels).map_err(|e| e.at(&place.at));
    let laws = keys.law.iter().zip(laws).map(law).collect::<Result<_, _>>()?;
    Ok(Curve { metric: metric.to_owned(), along: along.to_owned(), laws })
}

/// Checks that the labels of an axis are numbers with the same unit.
fn on_a_line(along: &str, labels: &[String]) -> Result<(), Problem> {
    if Ruler::of(labels).is_some() {
        return Ok(());
    }
    if let Some(label) = labels.iter().find(|label| split(label).is_none()) {
        let problem = Problem::new(format!("{label:?} of {along} is not a number"));
        return Err(problem.right("a curve needs an axis with numeric labels"));
    }
    let first = labels.first().map_or("", String::as_str);
    let pair = |label: &&String| Ruler::of(&[first.to_owned(), (*label).clone()]).is_none();
    let other = labels.iter().find(pair).map_or("", String::as_str);
    let problem = Problem::new(format!("{first:?} and {other:?} of {along} have different dimensions"));
    Err(problem.right("a curve needs an axis of plain numbers, or of only rates, times or sizes"))
}

/// Computes a formula with each label as its argument.
fn read_law(law: &shape::Law, metric: &str, labels: &[String]) -> Result<Law, Problem> {
    let point = |label: &String| {
        let number = label.parse().map(toml::Value::Float);
        let mut args = law.args.clone();
        args.insert(law.argument.clone(), number.unwrap_or_else(|_| toml::Value::String(label.clone())));
        let found = aqmkit_formulas::evaluate(&law.formula, &args).map_err(|e| Problem::new(e.to_string()))?;
        let found = match (law.packet, found.dimension) {
            (Some(packet), Dimension::PerSecond) => {
                Quantity { value: found.value * packet.as_f64() * 8.0, dimension: Dimension::Rate }
            }
            _ => found,
        };
        let one = of_field(metric, 1.0).map_err(Problem::new)?;
        if found.dimension == one.dimension {
            return Ok((label.clone(), found.value / one.value));
        }
        let (got, wanted) = (found.dimension.words(), one.dimension.words());
        Err(Problem::new(format!("{} gives {got}, but {metric} is {wanted}", law.formula))
            .right("packet = \"1000b\" converts packets per second to a rate"))
    };
    Ok(Law { label: law.label.clone(), points: labels.iter().map(point).collect::<Result<_, _>>()? })
}
