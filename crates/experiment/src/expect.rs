//! `[[expect]]`: published values that an experiment claims to reproduce.

use std::collections::BTreeMap;

use aqmkit_results::Basis;

use super::exchanges::{Exchanges, Quantity};
use super::metric::{OVER, PLUS, check_metric};
use super::order::{Bound, OrderChain, Statistic};
use super::problem::{Origin, Problem};
use super::read::{Keys, read, tables};
use super::response::Response;
use super::scope::{Scope, any_of, no_label, one_of};
use super::shape;
use super::tree::Node;

/// A published value, and how to compute the measured one.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// Id of the row in `published.csv`.
    pub id: String,
    /// Labels of the runs to use, by axis; one match per list suffices.
    pub selector: BTreeMap<String, Vec<String>>,
    /// The window; `None` only for formulas and for orderings along windows.
    pub window: Option<String>,
    /// The class that `metric` belongs to.
    pub class: Option<String>,
    /// The traffic that `metric` belongs to.
    pub app: Option<String>,
    /// The link that `metric` belongs to.
    pub link: Option<String>,
    /// The metric; `None` only for formulas.
    pub metric: Option<String>,
    /// If given, this statistic of the one-second values is used instead of the window's value.
    pub seconds: Option<Statistic>,
    /// Selects exchanges of the traffic.
    pub exchanges: Option<Exchanges>,
    /// Reduces the distribution of response times in `metric` to a number.
    pub responses: Option<Response>,
    /// Labels of the run to compare with, by axis, where they differ from the run's own labels.
    pub against: BTreeMap<String, String>,
    /// The axis whose labels `order` refers to.
    pub along: String,
    /// The expected ordering.
    pub order: Option<OrderChain>,
    /// A bound for every selected combination.
    pub every: Option<Bound>,
    /// The equation to compute.
    pub formula: Option<String>,
    /// The arguments of the equation.
    pub args: toml::Table,
    /// Explains a known cause of a miss.
    pub note: String,
    /// Origin of the measured value: computed, set, fitted or measured.
    pub basis: Basis,
    /// If given, the cells selected by `where` are averaged before they are judged. The text says why, for example
    /// because the paper averages them.
    pub average: Option<String>,
    /// If given, the bound in `every` or `order` is not from the paper. The text says where it comes from.
    pub ours: Option<String>,
    /// If given, the summary of the study includes the claim, in these words.
    pub headline: Option<String>,
}

/// The value of `along` for an ordering along windows.
const WINDOW: &str = "window";

/// Reads the list of claims.
pub(super) fn read_expects(list: &Node, scope: &Scope) -> Result<Vec<Expect>, Problem> {
    let claims = tables(list, "expect", "write [[expect]] for each")?;
    claims.iter().map(|node| read_expect(node, scope)).collect()
}

/// Reads one claim.
pub(super) fn read_expect(node: &Node, scope: &Scope) -> Result<Expect, Problem> {
    Reader { node, scope }.expect()
}

struct Reader<'a> {
    node: &'a Node,
    scope: &'a Scope,
}

impl Reader<'_> {
    fn expect(&self) -> Result<Expect, Problem> {
        let keys: shape::Expect = read(self.node, Keys::of("a key of [[expect]]"))?;
        self.check_kind(&keys)?;
        let computed = keys.formula.is_some();
        let mut expect = Expect {
            id: keys.id,
            selector: BTreeMap::new(),
            window: None,
            class: None,
            app: None,
            link: None,
            metric: keys.metric,
            seconds: self.parsed("seconds", keys.seconds.as_deref(), Statistic::parse)?,
            exchanges: self.node.get("exchanges").map(Exchanges::read).transpose()?,
            responses: self.parsed("responses", keys.responses.as_deref(), Response::parse)?,
            against: BTreeMap::new(),
            along: keys.along.unwrap_or_else(|| "aqm".to_owned()),
            order: self.parsed("order", keys.order.as_deref(), OrderChain::parse)?,
            every: self.parsed("every", keys.every.as_deref(), Bound::parse)?,
            formula: keys.formula,
            args: keys.args,
            note: keys.note,
            basis: self.basis(keys.basis.as_deref(), computed)?,
            average: self.reason("average", keys.average)?,
            ours: self.reason("ours", keys.ours)?,
            headline: self.reason("headline", keys.headline)?,
        };
        self.select(&mut expect)?;
        self.compare(&mut expect)?;
        if expect.formula.is_none() {
            self.check_window(&mut expect)?;
            self.check_metric(&expect)?;
        }
        self.check_order(&expect)?;
        Ok(expect)
    }

    fn at(&self, key: &str) -> &Origin {
        &self.node.get(key).unwrap_or(self.node).at
    }

    fn parsed<T>(
        &self,
        key: &str,
        text: Option<&str>,
        parse: impl Fn(&str) -> Result<T, Problem>,
    ) -> Result<Option<T>, Problem> {
        text.map(|t| parse(t).map_err(|e| e.at(self.at(key)))).transpose()
    }

    /// Claims with a formula are calculations. Measured claims are marked in the file if their value was set or fitted,
    /// or is a setting of the paper's experiment.
    fn basis(&self, given: Option<&str>, computed: bool) -> Result<Basis, Problem> {
        match given {
            None if computed => Ok(Basis::Calculation),
            None => Ok(Basis::Measured),
            Some("input") => Ok(Basis::Input),
            Some("setting") => Ok(Basis::Setting),
            Some(other) => Err(Problem::new(format!("basis cannot be {other:?}"))
                .right(
                    "use basis = \"input\" for values that were set or fitted, \"setting\" for settings of the paper's \
                     experiment, and omit it otherwise",
                )
                .at(self.at("basis"))),
        }
    }

    /// Rejects an empty explanation.
    fn reason(&self, key: &str, given: Option<String>) -> Result<Option<String>, Problem> {
        let empty = given.as_ref().is_some_and(|why| why.trim().is_empty());
        let help = match key {
            "average" => {
                "give the reason for averaging the cells, for example \"the text gives the mean over all mixes\""
            }
            "headline" => "name the claim, for example \"published order of five schemes at three loads\"",
            _ => "give the origin of the bound, which is not from the paper",
        };
        if empty { Err(Problem::new(format!("{key} is empty")).right(help).at(self.at(key))) } else { Ok(given) }
    }

    /// Checks that a claim is either computed or measured, and either a number or an ordering.
    fn check_kind(&self, keys: &shape::Expect) -> Result<(), Problem> {
        let given = |key: &str| self.node.get(key).is_some();
        if keys.formula.is_some() {
            let wrong =
                ["where", "metric", "seconds", "exchanges", "responses", "against", "along", "order", "average"];
            let wrong = wrong.into_iter().find(|k| given(k));
            return wrong.map_or(Ok(()), |key| {
                let problem = Problem::new(format!("{key} cannot be combined with formula"));
                Err(problem
                    .right("a computed value has id, formula, args, every, basis, ours, headline and note")
                    .at(self.at(key)))
            });
        }
        if given("args") {
            let problem = Problem::new("args needs a formula");
            return Err(problem.right("write formula = the name of an equation").at(self.at("args")));
        }
        if keys.metric.is_none() {
            let problem = Problem::new("metric or formula is required");
            return Err(problem.right("write metric = \"goodput_bps\", or formula = …").at(&self.node.at));
        }
        if given("along") && keys.order.is_none() {
            return Err(Problem::new("along needs an order").right("write order = \"a > b\"").at(self.at("along")));
        }
        Ok(())
    }

    fn select(&self, expect: &mut Expect) -> Result<(), Problem> {
        let Some(table) = self.node.get("where") else { return Ok(()) };
        if !table.is_table() {
            return Err(Problem::new("where is not a table").right("write where = { aqm = \"red\" }").at(&table.at));
        }
        for entry in table.entries() {
            let one = |known: &[String]| one_of(entry, known).map(Some);
            match entry.key.as_str() {
                "window" => expect.window = one(&self.scope.windows)?,
                "class" => expect.class = one(&self.scope.names.classes)?,
                "app" => expect.app = one(&self.scope.names.apps)?,
                "link" => expect.link = one(&self.scope.names.links)?,
                axis => {
                    let more = ["window", "class", "app", "link"];
                    let labels =
                        self.scope.labels(axis).ok_or_else(|| self.scope.no_axis(axis, &more).at(&entry.at))?;
                    expect.selector.insert(axis.to_owned(), any_of(entry, labels)?);
                }
            }
        }
        let chosen = [("class", &expect.class), ("app", &expect.app), ("link", &expect.link)];
        let mut chosen = chosen.iter().filter(|(_, value)| value.is_some());
        match (chosen.next(), chosen.next()) {
            (Some((first, _)), Some((second, _))) => {
                let problem = Problem::new(format!("where has both {first} and {second}"));
                Err(problem.right("metric is a field of one of class, app and link").at(&table.at))
            }
            _ => Ok(()),
        }
    }

    /// Reads `against`: labels of the run to compare with.
    fn compare(&self, expect: &mut Expect) -> Result<(), Problem> {
        let needed = expect.responses.is_some_and(Response::compares);
        let Some(table) = self.node.get("against") else {
            let problem = Problem::new("against is required to compare responses").at(self.at("responses"));
            return if needed { Err(problem.right("write against = { aqm = \"fifo\" }")) } else { Ok(()) };
        };
        let divides = expect.responses.is_none() && expect.exchanges.is_none();
        if !(needed || divides) || !table.is_table() {
            let problem =
                Problem::new("against must be a table of labels, for a metric or for responses that compare runs");
            return Err(problem.right("write responses = \"crossover\", against = { aqm = \"fifo\" }").at(&table.at));
        }
        for entry in table.entries() {
            let labels =
                self.scope.labels(&entry.key).ok_or_else(|| self.scope.no_axis(&entry.key, &[]).at(&entry.at))?;
            expect.against.insert(entry.key.clone(), one_of(entry, labels)?);
        }
        Ok(())
    }

    /// Selects the only window if `where` has none, unless the claim is an ordering along windows.
    fn check_window(&self, expect: &mut Expect) -> Result<(), Problem> {
        if expect.along == WINDOW {
            let problem = Problem::new("where has a window, but the order is along windows");
            let wrong = expect.window.is_some().then(|| problem.right("remove one of them").at(self.at("where")));
            return wrong.map_or(Ok(()), Err);
        }
        match (&expect.window, self.scope.windows.as_slice()) {
            (Some(_), _) => {}
            (None, [only]) => expect.window = Some(only.clone()),
            (None, windows) => {
                let help = format!("write where = {{ window = … }}, one of {}", windows.join(", "));
                return Err(Problem::new("no window is selected").right(help).at(self.at("where")));
            }
        }
        Ok(())
    }

    fn check_metric(&self, expect: &Expect) -> Result<(), Problem> {
        let below = match (&expect.class, &expect.app, &expect.link) {
            (Some(class), _, _) => vec!["classes", class],
            (_, Some(app), _) => vec!["apps", app],
            (_, _, Some(link)) => vec!["links", link],
            _ => vec![],
        };
        let metric = expect.metric.as_deref().unwrap_or_default();
        if expect.exchanges.is_some() {
            return self.check_exchanges(expect, metric);
        }
        if let (Some(_), Some(gauge)) = (&expect.link, metric.strip_prefix("aqm.")) {
            return self.check_gauge(expect, gauge);
        }
        if expect.responses.is_some() {
            return self.check_responses(expect, &below, metric);
        }
        check_metric(&below, metric, &self.scope.names).map_err(|e| e.at(self.at("metric")))?;
        if expect.seconds.is_some() && is_composed(expect) {
            let problem = Problem::new("seconds cannot be combined with a sum or ratio");
            return Err(problem.right("metric must be a single quantity").at(self.at("seconds")));
        }
        Ok(())
    }

    /// Checks a claim about exchanges, which only traffic has.
    fn check_exchanges(&self, expect: &Expect, metric: &str) -> Result<(), Problem> {
        if expect.app.is_none() || expect.seconds.is_some() {
            let problem = Problem::new("exchanges belong to an app and have no time series");
            return Err(problem.right("write where = { app = … }, without seconds").at(self.at("exchanges")));
        }
        let app = expect.app.as_deref().unwrap_or_default();
        if self.scope.names.kinds.get(app).is_some_and(Vec::is_empty) {
            let problem = Problem::new(format!("{app} has no exchanges"));
            return Err(problem
                .right("endless and constant-rate traffic has none; choose an app with requests")
                .at(self.at("where")));
        }
        let unknown = || {
            let problem = Problem::new(format!("{metric:?} is not defined for exchanges"));
            problem.right("use count, share, time_ms.mean, or a percentile such as time_ms.p50").at(self.at("metric"))
        };
        Quantity::parse(metric).map(|_| ()).ok_or_else(unknown)
    }

    /// Checks a claim about response times, which must select one kind of exchanges.
    fn check_responses(&self, expect: &Expect, below: &[&str], metric: &str) -> Result<(), Problem> {
        let of_app = matches!(below, ["apps", _]) || metric.starts_with("apps.");
        if !of_app || is_composed(expect) || expect.seconds.is_some() || !metric.contains("response_time_ms.") {
            let problem = Problem::new(format!("{metric} is not a distribution of response times"));
            let help = "write where = { app = … } and metric = \"response_time_ms.KIND\"";
            return Err(problem.right(help).at(self.at("metric")));
        }
        // A metric with a distribution has a mean, too: check that.
        check_metric(below, &format!("{metric}.mean"), &self.scope.names).map_err(|e| e.at(self.at("metric")))
    }

    /// Checks a claim about a discipline's gauge. Gauges exist only in time series, so a statistic is required.
    fn check_gauge(&self, expect: &Expect, gauge: &str) -> Result<(), Problem> {
        if expect.seconds.is_none() {
            let problem = Problem::new(format!("aqm.{gauge} is a gauge, which exists only in the time series"));
            return Err(problem.right("use seconds = \"mean\" or another statistic").at(self.at("metric")));
        }
        if gauge.is_empty() || is_composed(expect) {
            let problem = Problem::new("this is not a single gauge");
            return Err(problem.right("write metric = \"aqm.NAME\"").at(self.at("metric")));
        }
        Ok(())
    }

    fn check_order(&self, expect: &Expect) -> Result<(), Problem> {
        let Some(order) = &expect.order else { return Ok(()) };
        let along = expect.along.as_str();
        let windows = (along == WINDOW).then_some(self.scope.windows.as_slice());
        let labels = windows.or_else(|| self.scope.labels(along)).ok_or_else(|| {
            let key = if self.node.get("along").is_some() { "along" } else { "order" };
            self.scope.no_axis(along, &[]).at(self.at(key))
        })?;
        if let Some(label) = order.groups.iter().flatten().find(|l| !labels.contains(l)) {
            return Err(no_label(along, label, labels).at(self.at("order")));
        }
        let named: Vec<&String> = order.groups.iter().flatten().collect();
        match named.iter().enumerate().find(|(i, label)| named[..*i].contains(label)) {
            None => Ok(()),
            Some((_, label)) => {
                let problem = Problem::new(format!("{label} occurs twice in the order"));
                Err(problem.right("use each label once").at(self.at("order")))
            }
        }
    }
}

/// Whether the metric is a sum or a ratio of metrics.
fn is_composed(expect: &Expect) -> bool {
    expect.metric.as_deref().is_some_and(|m| m.contains(PLUS) || m.contains(OVER))
}
