//! `[[figure]]`: the figures of a paper, as its reader knows them, at the head of the report's plots.

use super::expect::Scope;
use super::metric::check_metric;
use super::predict::selector;
use super::problem::{Problem, suggest};
use super::read::{Keys, read};
use super::shape;
use super::tree::Node;
use crate::results::Figure;

/// Reads the list of figures.
pub(super) fn read_figures(list: &Node, scope: &Scope) -> Result<Vec<Figure>, Problem> {
    if list.is_table() || list.elements().iter().any(|n| !n.is_table()) {
        return Err(Problem::new("figure is not a list of tables").right("write [[figure]] for each").at(&list.at));
    }
    list.elements().iter().map(|node| figure(node, scope)).collect()
}

fn figure(node: &Node, scope: &Scope) -> Result<Figure, Problem> {
    let keys: shape::Figure = read(node, Keys::of("a key of [[figure]]"))?;
    let at = |key: &str| &node.get(key).unwrap_or(node).at;
    if !scope.names.apps.contains(&keys.app) {
        let problem = Problem::new(format!("no traffic is called {:?}", keys.app));
        return Err(problem.right(suggest(&keys.app, scope.names.apps.iter().map(String::as_str))).at(at("app")));
    }
    let response = format!("response_time_ms.{}.mean", keys.response);
    check_metric(&["apps", &keys.app], &response, &scope.names).map_err(|e| e.at(at("response")))?;
    if keys.upto.is_some_and(aqmkit_base::Duration::is_zero) {
        return Err(Problem::new("the axis of time would end at zero").right("write upto = \"2s\"").at(at("upto")));
    }
    Ok(Figure {
        title: keys.title,
        kind: keys.kind,
        app: keys.app,
        response: keys.response,
        upto_s: keys.upto.map(aqmkit_base::Duration::as_secs_f64),
        selector: selector(node, scope)?,
        note: keys.note,
    })
}
