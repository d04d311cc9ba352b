//! The HTML report of an experiment: a single self-contained file.

mod advice;
mod card;
mod claims;
mod figure;
mod glance;
mod heat;
mod markdown;
mod overview;
mod page;
mod sections;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use aqmkit_files::{ExportError, write_atomically};
use aqmkit_results::advice::Advice;
use aqmkit_results::card::Card;
use aqmkit_results::{Player, Results, RunData};
use base64::Engine as _;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};

/// The results and runs of an experiment, from which its report is written.
#[derive(Clone, Debug)]
pub struct ReportInput<'a> {
    /// Results of the experiment, as in `results.json`.
    pub results: &'a Results,
    /// Runs for the plots; without them the page has only tables.
    pub runs: &'a [RunData<'a>],
    /// Parameters of each label on the compared axis: names and values in order.
    pub parameters: BTreeMap<String, Vec<(String, String)>>,
    /// Shown at the top of the page, for example for damaged files.
    pub warnings: Vec<String>,
    /// How the page of `aqmkit play` opens these runs.
    pub player: Player,
    /// The page of `aqmkit play`, to be embedded if it fits; empty to always use a separate file.
    pub page: &'a str,
}

/// Where a report has the page of `aqmkit play`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerPage {
    /// Nowhere: the page cannot open the runs.
    None,
    /// Embedded in the report.
    Inside,
    /// In the file `play.html` beside it.
    Beside,
}

/// The page of `aqmkit play` is embedded only if the report stays below this size in bytes.
const LARGEST_WITH_PAGE: usize = 2_000_000;

impl<'a> ReportInput<'a> {
    /// Input for a page without parameters.
    #[must_use]
    pub fn new(results: &'a Results, runs: &'a [RunData<'a>]) -> Self {
        ReportInput {
            results,
            runs,
            parameters: BTreeMap::new(),
            warnings: Vec::new(),
            player: Player::default(),
            page: "",
        }
    }
}

/// Writes the page to `path` atomically. Returns where the page of `aqmkit play` is.
///
/// # Errors
/// When the file cannot be written.
pub fn write_html(path: &Path, input: &ReportInput<'_>) -> Result<PlayerPage, ExportError> {
    let (page, player) = render(input).map_err(|error| ExportError::new(path, std::io::Error::other(error)))?;
    write_atomically(path, |out| Ok(out.write_all(page.as_bytes())?))?;
    Ok(player)
}

/// Writes a report card to `path` atomically.
///
/// # Errors
/// When the file cannot be written.
pub fn write_card(path: &Path, card: &Card) -> Result<(), ExportError> {
    let page = fill_card(card, &plotly_js()).map_err(|error| ExportError::new(path, std::io::Error::other(error)))?;
    write_atomically(path, |out| Ok(out.write_all(page.as_bytes())?))
}

/// A report card without the plotting library, for tests.
///
/// # Errors
/// When the template cannot be rendered, which is a bug in it.
pub fn card_skeleton(card: &Card) -> Result<String, minijinja::Error> {
    fill_card(card, "")
}

fn fill_card(card: &Card, plotly: &str) -> Result<String, minijinja::Error> {
    templates()?.get_template("card.html")?.render(context! {
        page => Value::from(Serde(card::page(card))),
        own_style => Value::from_safe_string(include_str!("html/templates/card.css").to_owned()),
        ..surroundings(plotly)
    })
}

/// Writes an advice to `path` atomically.
///
/// # Errors
/// When the file cannot be written.
pub fn write_advice(path: &Path, advice: &Advice) -> Result<(), ExportError> {
    let page =
        fill_advice(advice, &plotly_js()).map_err(|error| ExportError::new(path, std::io::Error::other(error)))?;
    write_atomically(path, |out| Ok(out.write_all(page.as_bytes())?))
}

fn fill_advice(advice: &Advice, plotly: &str) -> Result<String, minijinja::Error> {
    templates()?.get_template("advice.html")?.render(context! {
        page => Value::from(Serde(advice::page(advice))),
        own_style => Value::from_safe_string(include_str!("html/templates/advice.css").to_owned()),
        ..surroundings(plotly)
    })
}

/// Renders the page with its scripts, and with the page of `aqmkit play` if it fits.
fn render(input: &ReportInput<'_>) -> Result<(String, PlayerPage), minijinja::Error> {
    let without = fill(input, &plotly_js(), "")?;
    if input.player.fragment.is_empty() {
        return Ok((without, PlayerPage::None));
    }
    if !input.page.is_empty() && without.len() + input.page.len() < LARGEST_WITH_PAGE {
        let with = fill(input, &plotly_js(), &as_script(input.page))?;
        if with.len() < LARGEST_WITH_PAGE {
            return Ok((with, PlayerPage::Inside));
        }
    }
    Ok((without, PlayerPage::Beside))
}

/// A JSON string that cannot end the script element that contains it.
fn as_script(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('<', "\\u003c")
}

/// The page without the plotting library, for tests.
///
/// # Errors
/// When the template cannot be rendered, which is a bug in it.
pub fn skeleton(input: &ReportInput<'_>) -> Result<String, minijinja::Error> {
    fill(input, "", "")
}

/// Comparison and verdicts as HTML tables, without page, scripts and plots; for notebooks.
///
/// # Errors
/// When the template cannot be rendered, which is a bug in it.
pub fn tables(results: &Results) -> Result<String, minijinja::Error> {
    let page = Value::from(Serde(page::page(&ReportInput::new(results, &[]))));
    templates()?.get_template("notebook.html")?.render(context! { page })
}

fn templates() -> Result<Environment<'static>, minijinja::Error> {
    let mut templates = Environment::new();
    templates.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    templates.add_template("page.html", include_str!("html/templates/page.html"))?;
    templates.add_template("parts.html", include_str!("html/templates/parts.html"))?;
    templates.add_template("card.html", include_str!("html/templates/card.html"))?;
    templates.add_template("advice.html", include_str!("html/templates/advice.html"))?;
    templates.add_template("notebook.html", include_str!("html/templates/notebook.html"))?;
    Ok(templates)
}

fn fill(input: &ReportInput<'_>, plotly: &str, player: &str) -> Result<String, minijinja::Error> {
    let page = Value::from(Serde(page::page(input)));
    let player = Value::from_safe_string(player.to_owned());
    templates()?.get_template("page.html")?.render(context! { page, player, ..surroundings(plotly) })
}

/// Styles and scripts that every page has.
fn surroundings(plotly: &str) -> Value {
    context! {
        style => Value::from_safe_string(include_str!("html/templates/style.css").to_owned()),
        script => Value::from_safe_string(include_str!("html/templates/script.js").to_owned()),
        plotly => Value::from_safe_string(plotly.to_owned()),
    }
}

/// The compressed plotting library (assets/README.md).
const PLOTLY: &[u8] = include_bytes!("../assets/plotly-cartesian.min.js.gz");

/// The plotting library as embedded in the page, which decompresses it: a third of its size.
fn plotly_js() -> String {
    base64::engine::general_purpose::STANDARD.encode(PLOTLY)
}
