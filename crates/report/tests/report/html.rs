//! The contents of the HTML page.

use std::collections::BTreeMap;
use std::path::Path;

use aqmkit_report::html::skeleton;
use aqmkit_report::{PlayerPage, ReportInput, write_html};
use aqmkit_results::{Agreement, Curve, Figure, FigureKind, Law, Overlay, Player, Results, Table, TableCell};

use crate::synthetic::{Study, study};

/// The page without styles, scripts and plot data.
fn bare(page: &str) -> String {
    let mut text = page.to_owned();
    for (open, close) in
        [("<style>", "</style>"), ("<script>", "</script>"), ("<script type=\"application/json\">", "</script>")]
    {
        let mut kept = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once(open) {
            let (_, after) = after.split_once(close).unwrap();
            kept.push_str(before);
            kept.push_str(&format!("{open}…{close}"));
            rest = after;
        }
        kept.push_str(rest);
        text = kept;
    }
    text
}

/// Renders the page, and checks that it skips no level of headings: screen readers navigate by them.
fn page_of(study: &Study) -> String {
    let page = skeleton(&ReportInput::new(&study.results, &study.runs())).unwrap();
    let mut above = 0;
    for heading in page.split("<h").skip(1) {
        let Some(level) = heading.split_once('>').and_then(|(level, _)| level.parse::<u32>().ok()) else { continue };
        assert!(level <= above + 1, "a heading of level {level} follows one of level {above}: {heading:.60}");
        above = level;
    }
    page
}

/// The JSON of all plots.
fn plots(page: &str) -> Vec<serde_json::Value> {
    let pieces = page.split("<script type=\"application/json\">").skip(1);
    pieces.map(|piece| serde_json::from_str(piece.split_once("</script>").unwrap().0).unwrap()).collect()
}

#[test]
fn skeleton_of_a_study() {
    let mut study = study(1, 2);
    study.runs.truncate(4);
    study.results.axes[0].labels.truncate(2);
    study.results.runs.truncate(8);
    // Use names that are not in the catalogue, so that the snapshot does not contain the catalogue's texts.
    let entries = study.results.runs.iter_mut().map(|entry| &mut entry.labels);
    for labels in entries.chain(study.runs.iter_mut().map(|(of_run, _)| of_run)) {
        labels.insert("aqm".into(), format!("my-{}", labels["aqm"]));
    }
    study.results.axes[0].labels.iter_mut().for_each(|label| *label = format!("my-{label}"));
    insta::assert_snapshot!(bare(&page_of(&study)));
}

#[test]
fn simulated_and_live_stand_side_by_side() {
    let mut study = study(1, 2);
    assert!(!page_of(&study).contains("Simulated and live"), "there is nothing to compare");
    let row = |what: &str, live: f64| Agreement {
        place: "codel".into(),
        what: what.into(),
        on: "live".into(),
        simulated: 10.0,
        live,
        within: 2.0,
    };
    study.results.agreements = vec![row("mean delay, ms", 11.9), row("used, %", 12.1)];
    let page = page_of(&study);
    assert!(page.contains("<b>1</b> of 2 values agree"), "{page}");
    assert!(page.contains("<a href=\"#live\">Simulated and live</a>"));
    let (_, section) = page.split_once("<section id=\"live\">").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    let rows: Vec<&str> = section.split("<tr data-state=\"").skip(1).map(|r| r.split('"').next().unwrap()).collect();
    assert_eq!(rows, ["met", "missed"]);
}

/// With many combinations and windows, one is shown with its answer and plot, the others as small plots; the rest is
/// folded.
#[test]
fn of_many_combinations_one_is_shown() {
    let few = page_of(&study(2, 1));
    assert!(!few.contains("<summary>All 4 tables") && !few.contains("<summary><h3>"), "four are few");
    let many = page_of(&study(3, 1));
    let (shown, folded) = many.split_once("<summary>All 6 tables: each combination and window</summary>").unwrap();
    assert_eq!(shown.matches("<table class=\"glance\">").count(), 1, "{shown}");
    assert!(folded.matches("<table class=\"glance\">").count() >= 6);
    let (_, glance) = shown.split_once("<section id=\"glance\">").unwrap();
    assert_eq!((glance.matches("<p class=\"answer\">").count(), glance.matches("<figure").count()), (1, 3), "{glance}");
    assert_eq!(many.matches("<summary><h3>").count(), 2 + 5, "two combinations and five disciplines");
}

/// Numbers in a column that look equal get no marks, although their digits beyond differ.
#[test]
fn numbers_that_look_the_same_are_equally_good() {
    let mut study = study(1, 2);
    let means = [58.0, 11.0004, 50.0, 29.0, 11.0];
    let disciplines = study.results.axes[0].labels.clone();
    for entry in &mut study.results.runs {
        let place = disciplines.iter().position(|label| *label == entry.labels["aqm"]).unwrap();
        entry.links.values_mut().for_each(|link| link.queue_delay_ms.as_mut().unwrap().mean = means[place]);
    }
    let page = page_of(&study);
    let (_, table) = page.split_once("<table class=\"glance\">").unwrap();
    let (table, _) = table.split_once("</table>").unwrap();
    assert_eq!(table.matches("title=\"best in this column\"><b>11.0</b>").count(), 2, "{table}");
    assert_eq!(table.matches("title=\"worst in this column\"><b>58.0</b>").count(), 1, "{table}");
}

/// With one class per congestion control, each discipline has a row for each.
#[test]
fn each_congestion_control_has_a_row() {
    let mut study = study(1, 2);
    assert!(!page_of(&study).contains(">control</th>"));
    let controls = [("tcp", "cubic"), ("multimedia", "prague")];
    study.results.controls = controls.map(|(class, control)| (class.to_owned(), control.to_owned())).into();
    let page = page_of(&study);
    let (_, table) = page.split_once(">control</th>").unwrap();
    let (table, _) = table.split_once("</table>").unwrap();
    assert_eq!((table.matches("cubic (tcp)").count(), table.matches("prague (multimedia)").count()), (5, 5));
    // The queue delay of CBT is 29 ms, that of multimedia nine tenths of it.
    let (_, cbt) = table.split_once("</i>cbt</th>").unwrap();
    let (_, prague) = cbt.split_once("prague (multimedia)").unwrap();
    assert!(
        cbt.contains("<b>29.0</b><small>±0.0</small>") && prague.contains("<b>26.1</b><small>±0.0</small>"),
        "{cbt}"
    );
}

/// The means are 50 and 60, but the paired differences are -40 and 60.
#[test]
fn what_chance_explains_has_no_mark() {
    let marks = |repeats: usize, values: &dyn Fn(&str, &str) -> f64| {
        let mut study = study(1, repeats);
        study.results.runs.retain(|entry| ["fifo", "red"].contains(&entry.labels["aqm"].as_str()));
        for entry in &mut study.results.runs {
            let value = values(&entry.labels["aqm"], &entry.labels["repeat"]);
            entry.labels.insert("seed".into(), entry.labels["repeat"].clone());
            entry.links.values_mut().for_each(|link| link.queue_delay_ms.as_mut().unwrap().mean = value);
        }
        let page = page_of(&study);
        let (_, table) = page.split_once("<table class=\"glance\">").unwrap();
        let (table, _) = table.split_once("</table>").unwrap();
        let cell = |text: &str| {
            let (before, _) = table.split_once(&format!("<b>{text}</b>")).unwrap();
            before.rsplit_once("<td").unwrap().1.contains("class=")
        };
        (cell("50.0"), cell("60.0"))
    };
    let chance = |aqm: &str, repeat: &str| match (aqm, repeat) {
        ("fifo", "1") => 80.0,
        ("fifo", _) => 20.0,
        (_, "1") => 40.0,
        _ => 80.0,
    };
    assert_eq!(marks(2, &chance), (false, false));
    // The same spread, but every pair differs by 10.
    let paired = |aqm: &str, repeat: &str| {
        let common = if repeat == "1" { 30.0 } else { -30.0 };
        common + if aqm == "fifo" { 60.0 } else { 50.0 }
    };
    assert_eq!(marks(2, &paired), (true, true));
    assert_eq!(marks(1, &|aqm, _| if aqm == "fifo" { 60.0 } else { 50.0 }), (false, false), "one run tells nothing");
}

#[test]
fn every_plot_has_its_lines_in_words() {
    let page = page_of(&study(1, 1));
    let captions: Vec<&str> = page.split("<figcaption class=\"unseen\">").skip(1).collect();
    assert_eq!(captions.len(), plots(&page).len());
    for (caption, plot) in captions.iter().zip(plots(&page)) {
        let (caption, _) = caption.split_once("</figcaption>").unwrap();
        let named = plot["data"].as_array().unwrap().iter().filter_map(|trace| trace["name"].as_str());
        for name in named {
            assert!(caption.contains(name), "{name} is not in {caption}");
        }
    }
}

#[test]
fn a_study_of_a_hundred_runs_is_one_light_file() {
    let mut study = study(4, 5);
    study.results.overlays = vec![Overlay {
        quantity: "classes.tcp.throughput_bps".into(),
        label: "predicted".into(),
        points: vec![(0.0, 9.4e6), (93.0, 8.0e6), (93.0, 7.0e6), (140.0, 7.0e6), (140.0, 8.0e6), (240.0, 9.4e6)],
        ..Overlay::default()
    }];
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("report.html");
    let mut input = ReportInput::new(&study.results, &[]);
    let runs = study.runs();
    input.runs = &runs;
    input.parameters.insert("red".into(), vec![("limit".into(), "240 packets".into()), ("max_p".into(), "0.1".into())]);
    write_html(&path, &input).unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < 6_000_000, "{size} bytes");
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(!page.contains("<script src") && !page.contains("<link rel=\"stylesheet\""));
}

#[test]
fn hostile_text_stays_text() {
    let evil = "</script><script>alert(1)</script>";
    let mut study = study(1, 1);
    study.results.title = evil.into();
    study.results.about = evil.into();
    study.results.source = evil.into();
    study.results.expectations[0].id = evil.into();
    study.results.expectations[2].detail = evil.into();
    study.results.axes[0].labels[0] = evil.into();
    for entry in &mut study.results.runs {
        if entry.labels["aqm"] == "fifo" {
            entry.labels.insert("aqm".into(), evil.into());
        }
    }
    for (labels, output) in &mut study.runs {
        output.windows[0].name = evil.into();
        if labels["aqm"] == "fifo" {
            labels.insert("aqm".into(), evil.into());
        }
    }
    let page = page_of(&study);
    assert!(!page.contains("<script>alert"), "text became a script");
    assert!(page.contains("&lt;script&gt;alert"));
    let names: Vec<String> = plots(&page)
        .iter()
        .flat_map(|plot| plot["data"].as_array().unwrap().clone())
        .map(|t| t["name"].to_string())
        .collect();
    assert!(names.iter().all(|name| !name.contains("<script")));
    assert!(names.iter().any(|name| name.contains("&lt;script&gt;")));
}

/// Any run can be chosen; the page of `aqmkit play` is embedded if it fits, and runs that cannot be opened have a
/// reason.
#[test]
fn a_report_chooses_a_run_for_the_player() {
    let study = study(1, 2);
    let labels =
        |aqm: &str| BTreeMap::from([("aqm".to_owned(), aqm.to_owned()), ("mix".to_owned(), "bulk".to_owned())]);
    let player = Player {
        fragment: "e=AAAA&set=a%3D1".to_owned(),
        combinations: vec![labels("fifo"), labels("red")],
        seeds: vec!["11".to_owned(), "12".to_owned()],
        refused: String::new(),
    };
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("player.html");
    let write = |of: &Player, page: &str| {
        let input = ReportInput { player: of.clone(), page, ..ReportInput::new(&study.results, &[]) };
        (write_html(&path, &input).unwrap(), std::fs::read_to_string(&path).unwrap())
    };
    let (inside, report) = write(&player, "<script>\"</script>");
    assert_eq!(inside, PlayerPage::Inside);
    for part in [
        "data-fragment=\"e=AAAA&amp;set=a%3D1\"",
        "<option>aqm red, mix bulk</option>",
        "<option>2, seed 12</option>",
        "id=\"player-page\">\"\\u003cscript>\\\"\\u003c/script>\"</script>",
        "script-src 'unsafe-inline' 'wasm-unsafe-eval'; worker-src blob:; img-src",
        "which is inside this file",
    ] {
        assert!(report.contains(part), "{part}");
    }
    let large = "x".repeat(2_000_000);
    for page in ["", &large] {
        let (beside, smaller) = write(&player, page);
        assert_eq!(beside, PlayerPage::Beside);
        assert!(smaller.contains("<code>play.html</code> beside this file") && !smaller.contains("player-page\">"));
        assert!(!smaller.contains("wasm-unsafe-eval") && smaller.len() < 2_000_000);
    }
    let (none, told) = write(&Player { refused: "It reads <files>.".to_owned(), ..Player::default() }, "<p>");
    assert_eq!(none, PlayerPage::None);
    assert!(
        told.contains("cannot open the runs of this experiment. It reads &lt;files&gt;.") && !told.contains("<select")
    );
    assert!(!write(&Player::default(), "<p>").1.contains("See a run"));
}

#[test]
fn nothing_makes_a_page_too() {
    let page = skeleton(&ReportInput::new(&Results::default(), &[])).unwrap();
    assert!(page.contains("Nothing was measured."));
    assert!(plots(&page).is_empty());
    assert!(!page.contains("id=\"claims\"") && !page.contains("id=\"mixes\""));
}

#[test]
fn values_that_are_absent_or_not_numbers() {
    let mut study = study(2, 2);
    for entry in &mut study.results.runs {
        entry.flows.jain = f64::NAN;
        entry.apps.values_mut().for_each(|app| app.jain = Some(f64::NAN));
        entry.classes.values_mut().for_each(|class| class.queue_delay_ms = None);
    }
    study.results.expectations[0].measured = Some(f64::NAN);
    study.results.expectations[1].spread = Some(f64::NAN);
    for (_, output) in &mut study.runs {
        output.series.columns.values_mut().for_each(|column| column.fill(f64::NAN));
        output.distributions.iter_mut().for_each(|found| found.points.clear());
    }
    let page = page_of(&study);
    assert!(!page.contains("NaN") && !page.contains(">inf"), "{}", bare(&page));
    assert!(!page.contains("id=\"mixes\""), "nothing to plot");
}

#[test]
fn plots_have_one_colour_for_each_discipline() {
    let page = page_of(&study(2, 1));
    let mut colours: BTreeMap<String, String> = BTreeMap::new();
    let all = plots(&page);
    let compared =
        all.iter().filter(|plot| plot["data"].as_array().unwrap().iter().any(|trace| trace["name"] == "cbq"));
    for trace in compared.flat_map(|plot| plot["data"].as_array().unwrap()) {
        let drawn = ["line", "marker"].iter().find(|part| !trace[part].is_null()).unwrap();
        let (name, colour) = (trace["name"].to_string(), trace[drawn]["color"].to_string());
        assert_eq!(*colours.entry(name).or_insert(colour.clone()), colour);
    }
    assert_eq!(colours.len(), 5);
}

/// Five disciplines in each of two windows, with the shortest delay on the right.
#[test]
fn operating_points_are_plotted_for_every_window() {
    let page = page_of(&study(1, 2));
    let all = plots(&page);
    let operating: Vec<_> = all
        .iter()
        .filter(|plot| plot["layout"]["xaxis"]["title"]["text"].as_str().is_some_and(|t| t.starts_with("queue delay")))
        .collect();
    assert_eq!(operating.len(), 2);
    for plot in operating {
        let traces = plot["data"].as_array().unwrap();
        let named = traces.iter().filter(|trace| trace["name"].is_string());
        assert_eq!(named.count(), 5);
        assert!(
            traces.iter().all(|trace| trace["x"][0].as_f64().unwrap() > 0.0 && trace["y"][0].as_f64().unwrap() > 0.0)
        );
        let range = &plot["layout"]["xaxis"]["range"];
        assert!(range[0].as_f64() > range[1].as_f64(), "{range}");
    }
}

#[test]
fn missing_runs_are_said() {
    let mut study = study(1, 1);
    study.results.planned = 7;
    assert!(page_of(&study).contains("Interrupted: 2 of the runs"));
}

/// A study whose axis `mix` has these labels.
fn along(labels: [&str; 4]) -> Study {
    let mut study = study(4, 2);
    let old = std::mem::take(&mut study.results.axes[1].labels);
    study.results.axes[1].labels = labels.iter().map(ToString::to_string).collect();
    for entry in &mut study.results.runs {
        let place = old.iter().position(|label| *label == entry.labels["mix"]).unwrap();
        entry.labels.insert("mix".into(), labels[place].into());
    }
    study
}

#[test]
fn an_axis_of_numbers_is_plotted_along() {
    let study = along(["20ms", "40ms", "60ms", "80ms"]);
    let page = page_of(&study);
    write_html(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("sweep.html"), &ReportInput::new(&study.results, &[]))
        .unwrap();
    assert!(page.contains("id=\"sweeps\""));
    let sweep = plots(&page).into_iter().find(|plot| plot["layout"]["xaxis"]["title"]["text"] == "mix, ms").unwrap();
    let x: Vec<f64> = serde_json::from_value(sweep["data"][0]["x"].clone()).unwrap();
    assert_eq!(x, [20.0, 40.0, 60.0, 80.0]);
    assert_eq!(sweep["data"][0]["name"], "fifo");
}

#[test]
fn an_axis_of_several_units_is_plotted_in_one() {
    let mut study = along(["500kbit", "2mbit", "20mbit", "1gbit"]);
    study.results.figures = vec![Figure {
        title: "Law".into(),
        kind: FigureKind::Curve,
        curve: Some(Curve {
            metric: "classes.tcp.goodput_bps".into(),
            along: "mix".into(),
            laws: vec![Law { label: "law".into(), points: vec![("1gbit".into(), 2.0), ("500kbit".into(), 1.0)] }],
        }),
        ..Figure::default()
    }];
    let plots = plots(&page_of(&study));
    let found: Vec<_> = plots.iter().filter(|plot| plot["layout"]["xaxis"]["title"]["text"] == "mix, kbit").collect();
    let x = |trace: &serde_json::Value| serde_json::from_value::<Vec<f64>>(trace["x"].clone()).unwrap();
    // The requested figure and the plot along the sweep, in each window.
    assert_eq!(found.len(), 4);
    for plot in &found {
        assert_eq!(x(&plot["data"][0]), [500.0, 2e3, 20e3, 1e6]);
    }
    let law = found[0]["data"].as_array().unwrap().iter().find(|trace| trace["name"] == "law").unwrap();
    assert_eq!((x(law), law["y"].clone()), (vec![500.0, 1e6], serde_json::json!([1.0, 2.0])));
}

#[test]
fn what_cannot_be_drawn_is_told() {
    let mut study = study(1, 1);
    study.results.plot = vec!["links.bottleneck.aqm.nonsense".into(), "classes.tcp.queue_delay_ms".into()];
    let curve = Curve { metric: "classes.tcp.goodput_bps".into(), along: "nowhere".into(), laws: Vec::new() };
    study.results.figures = vec![
        Figure { title: "Curve".into(), kind: FigureKind::Curve, curve: Some(curve), ..Figure::default() },
        Figure { title: "Tail".into(), kind: FigureKind::Tail, app: "none".into(), ..Figure::default() },
    ];
    let page = page_of(&study);
    assert_eq!(page.matches("None of its runs was done.").count(), 2);
    assert!(page.contains("No run has a time series of links.bottleneck.aqm.nonsense, which was to be plotted."));
    let tables = skeleton(&ReportInput::new(&study.results, &[])).unwrap();
    assert!(!tables.contains("No run"), "a page of tables has no plots to miss");
}

#[test]
fn an_axis_of_several_kinds_is_not_plotted_along() {
    assert!(!page_of(&along(["500kbit", "2mbit", "20ms", "1gbit"])).contains("id=\"sweeps\""));
}

#[test]
fn a_prediction_for_one_discipline_is_drawn_beside_no_other() {
    let mut study = study(2, 1);
    let select = |axis: &str, label: &str| (axis.to_owned(), vec![label.to_owned()]);
    study.results.overlays = vec![Overlay {
        quantity: "classes.tcp.goodput_bps".into(),
        label: "predicted".into(),
        selector: [select("aqm", "cbt"), select("mix", "HTTP+MPEG")].into(),
        points: vec![(0.0, 8e6), (100.0, 8e6)],
    }];
    for run in &mut study.runs {
        let column = vec![8e6; 240];
        run.1.series.columns.insert("classes.tcp.goodput_bps".into(), column);
    }
    let drawn: Vec<_> =
        plots(&page_of(&study)).into_iter().filter(|plot| plot.to_string().contains("predicted")).collect();
    assert_eq!(drawn.len(), 1, "only where the disciplines of that mix are compared");
    assert!(drawn[0].to_string().contains("tcp goodput, Mbit/s"));
    study.results.overlays[0].quantity = "classes.tcp.throughput_bps".into();
    let again = plots(&page_of(&study)).into_iter().filter(|plot| plot.to_string().contains("predicted")).count();
    assert_eq!(again, 2, "there, and by class in the section of cbt");
}

#[test]
fn predictions_are_drawn_where_they_belong() {
    let mut study = study(1, 1);
    let predicted = |quantity: &str, value: f64| Overlay {
        quantity: quantity.into(),
        label: "predicted".into(),
        points: vec![(0.0, value), (100.0, value)],
        ..Overlay::default()
    };
    study.results.overlays =
        vec![predicted("classes.tcp.throughput_bps", 8e6), predicted("classes.multimedia.latency_ms", 61.0)];
    let runs = study.runs();
    let page = skeleton(&ReportInput::new(&study.results, &runs)).unwrap();
    let compared = plots(&page).into_iter().find(|plot| plot.to_string().contains("multimedia latency, ms")).unwrap();
    let lines: Vec<_> =
        compared["data"].as_array().unwrap().iter().filter(|trace| trace["name"] == "predicted").collect();
    assert_eq!(lines.iter().map(|line| line["y"][0].as_f64().unwrap()).collect::<Vec<_>>(), [8.0, 61.0]);
    assert_ne!(lines[0]["yaxis"], lines[1]["yaxis"]);
    assert_eq!((&lines[0]["showlegend"], &lines[1]["showlegend"]), (&true.into(), &false.into()));
}

/// Two rows, two columns, one cell absent; one of the three cells is missed.
fn tabled() -> Study {
    let mut study = study(1, 1);
    let cell = |row: &str, column: &str, place: usize| TableCell {
        row: row.into(),
        column: column.into(),
        id: study.results.expectations[place].id.clone(),
    };
    let cells = vec![cell("10", "red", 1), cell("5", "red", 2), cell("5", "fifo", 0)];
    study.results.tables =
        vec![Table { title: "Figure B.14".into(), rows: "min".into(), columns: "aqm".into(), cells }];
    study
}

#[test]
fn a_published_table_is_three_heat_maps() {
    let page = page_of(&tabled());
    let (_, heat) = page.split_once("Figure B.14").unwrap();
    let (heat, rest) = heat.split_once("</article>").unwrap();
    assert!(heat.contains("2 of 3 met"), "{heat}");
    assert_eq!(heat.matches("<table>").count(), 3);
    assert_eq!(heat.matches("<td></td>").count(), 3, "one empty cell in each");
    assert_eq!(heat.matches("class=\"low missed\"").count(), 1, "4.1 for 9.2 packets/s");
    assert!(heat.contains(">-55<"), "{heat}");
    assert!(heat.contains("CBT-T5.5-HTTP+MPEG-FRED: published 9.2 packets&#x2f;s, measured 4.1"), "{heat}");
    let (five, ten) = (heat.find("row\">5<").unwrap(), heat.find("row\">10<").unwrap());
    assert!(five < ten, "rows of numbers are in their order");
    assert!(!rest.contains("CBT-T5.5-HTTP+MPEG-FRED"), "a cell is no row of the list");
}

#[test]
fn a_notebook_shows_tables_that_a_page_of_text_would_only_draw() {
    let study = study(1, 2);
    let shown = aqmkit_report::html::tables(&study.results).unwrap();
    assert!(!shown.contains("<script") && !shown.contains("<pre"), "{shown}");
    assert_eq!(shown.matches("<table>").count(), shown.matches("</table>").count());
    for discipline in &study.results.axes[0].labels {
        assert!(shown.contains(&format!("<th style=\"text-align: left\">{discipline}</th>")), "{shown}");
    }
    for row in &study.results.expectations {
        assert!(shown.contains(&row.id), "{} is not in {shown}", row.id);
    }
}
