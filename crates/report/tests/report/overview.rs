//! The matrix of small plots.

use aqmkit_report::ReportInput;
use aqmkit_report::html::skeleton;
use aqmkit_results::Overview;

use crate::synthetic::study;

#[test]
fn a_cell_for_each_pair_of_labels() {
    let mut study = study(3, 2);
    let overview =
        Overview { rows: "aqm".into(), columns: "mix".into(), rate_bps: 1e7, rtt_s: Some(0.05), ..Overview::default() };
    let without = skeleton(&ReportInput::new(&study.results, &study.runs())).unwrap();
    assert!(!without.contains("<svg"));
    study.results.overview = Some(overview);
    let page = skeleton(&ReportInput::new(&study.results, &study.runs())).unwrap();
    let svg = page.split_once("<svg").unwrap().1.split_once("</svg>").unwrap().0;
    let cells = study.results.axes[0].labels.len() * 3;
    assert_eq!((page.matches("<svg").count(), svg.matches("<g>").count()), (1, cells), "only first repeats");
    assert_eq!(svg.matches("class=\"alone\"").count(), cells);
    assert!(page.contains("distribution of the queue delay, 0.15 to 150 ms in powers of ten"));
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "only numbers are drawn");
    assert!(svg.len() < cells * 40_000, "{} bytes for {cells} cells", svg.len());
}
