//! Input for plotly.js: traces, and a layout of axes, annotations and shapes. Names are those of its reference
//! (<https://plotly.com/javascript/reference/>).

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::palette::Swatch;
use crate::format::{rounded, significant};

/// Margins of a figure in pixels: top, bottom, left, right.
pub(super) const MARGINS: (usize, usize, usize, usize) = (34, 44, 56, 12);

/// Maximum number of panels in a figure.
pub(super) const MOST_PANELS: usize = 8;

/// A figure of the page. It sets no colours of axes and text; the page's style does.
#[derive(Debug, Serialize)]
pub(in crate::html) struct Figure {
    /// Title, which is also its accessible name.
    label: String,
    /// Descriptions of the traces, for readers who cannot see them.
    words: Vec<String>,
    /// Height in pixels.
    height: usize,
    /// Plotly's input as JSON, safe inside a script element.
    json: String,
}

/// A figure under construction.
#[derive(Debug)]
pub(super) struct Plot {
    traces: Vec<Value>,
    layout: Map<String, Value>,
    words: Vec<String>,
}

impl Plot {
    /// A plot of `height` pixels. Hovering shows the values of all lines at one x.
    pub(super) fn new(height: usize) -> Self {
        let (top, bottom, left, right) = MARGINS;
        let layout = json!({
            "height": height,
            "autosize": true,
            "margin": {"t": top, "b": bottom, "l": left, "r": right},
            "hovermode": "x unified",
            "showlegend": false,
        });
        let Value::Object(layout) = layout else { unreachable!("an object is an object") };
        Plot { traces: Vec::new(), layout, words: Vec::new() }
    }

    /// Sets a key of the layout, such as `xaxis` or `annotations`.
    pub(super) fn set(&mut self, key: &str, value: Value) {
        self.layout.insert(key.to_owned(), value);
    }

    /// Sets the y axis of the panel with this index.
    pub(super) fn set_y_axis(&mut self, place: usize, axis: Value) {
        let key = if place == 0 { "yaxis".to_owned() } else { format!("yaxis{}", place + 1) };
        self.set(&key, axis);
    }

    /// Changes keys of the y axis of the panel with this index.
    pub(super) fn change_y_axis(&mut self, place: usize, keys: Value) {
        let key = if place == 0 { "yaxis".to_owned() } else { format!("yaxis{}", place + 1) };
        let axis = self.layout.remove(&key).unwrap_or_default();
        let mut changed = merged(axis, keys);
        if let Value::Object(map) = &mut changed {
            // These keys apply to linear axes only.
            map.remove("rangemode");
            map.remove("nticks");
        }
        self.set(&key, changed);
    }

    /// Adds a scatter trace.
    pub(super) fn scatter(&mut self, keys: Value) {
        self.traces.push(merged(json!({"type": "scatter"}), keys));
    }

    /// Adds a trace of any type.
    pub(super) fn trace(&mut self, trace: Value) {
        self.traces.push(trace);
    }

    /// Adds the description of a trace.
    pub(super) fn describe(&mut self, words: impl Into<Option<String>>) {
        self.words.extend(words.into());
    }

    /// Finishes the figure.
    pub(super) fn figure(self, label: String) -> Figure {
        let height = self.layout.get("height").and_then(Value::as_u64).unwrap_or(0) as usize;
        let plot = json!({"data": self.traces, "layout": self.layout});
        // "</script" anywhere in the data would end the script element.
        let json = plot.to_string().replace('<', "\\u003c");
        Figure { label, words: self.words, height, json }
    }
}

/// Merges two objects; `keys` takes precedence.
pub(super) fn merged(mut of: Value, keys: Value) -> Value {
    if let (Value::Object(all), Value::Object(more)) = (&mut of, keys) {
        all.extend(more);
    }
    of
}

/// Escapes a label, because Plotly interprets some HTML tags.
pub(super) fn literal(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A plain axis with additional keys.
pub(super) fn axis(keys: Value) -> Value {
    merged(json!({"zeroline": false, "showgrid": true, "tickfont": {"size": 11}}), keys)
}

/// An axis with a title.
pub(super) fn titled(name: &str, keys: Value) -> Value {
    axis(merged(json!({"title": {"text": literal(name), "font": {"size": 12}}}), keys))
}

/// Style of a line of `width` pixels.
pub(super) fn line(swatch: &Swatch, width: f64) -> Value {
    json!({"color": swatch.color, "width": width, "dash": swatch.dash()})
}

/// The id of an axis by index: `y`, `y2`.
pub(super) fn reference(letter: char, place: usize) -> String {
    if place == 0 { letter.to_string() } else { format!("{letter}{}", place + 1) }
}

/// The vertical range of a panel as fractions of the figure's height, first panel on top, with gaps between panels.
pub(super) fn domain(place: usize, count: usize, gap: f64) -> [f64; 2] {
    let unit = 1.0 / (count as f64 + gap * (count as f64 - 1.0));
    let top = 1.0 - place as f64 * unit * (1.0 + gap);
    [(top - unit).max(0.0), top]
}

/// A panel's title, above its upper left corner.
pub(super) fn heading(text: &str, top: f64) -> Value {
    json!({
        "text": format!("<b>{}</b>", literal(text)),
        "showarrow": false,
        "xref": "paper",
        "yref": "paper",
        "x": 0.0,
        "y": top,
        "xanchor": "left",
        "yanchor": "bottom",
        "font": {"size": 12},
    })
}

/// The description of a line: metric, name, mean, minimum and maximum; `None` if it has no values.
pub(super) fn in_words(quantity: &str, name: &str, values: impl IntoIterator<Item = f64>) -> Option<String> {
    let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
    let (low, high) =
        values.iter().fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(*value), high.max(*value)));
    let mean = rounded(values.iter().sum::<f64>() / values.len() as f64);
    let name = if name.is_empty() { String::new() } else { format!(", {name}") };
    let [mean, low, high] = [mean, low, high].map(|value| significant(value, 3));
    (!values.is_empty()).then(|| format!("{quantity}{name}: mean {mean}, from {low} to {high}"))
}

#[cfg(test)]
mod tests {
    use super::{Plot, in_words};
    use serde_json::json;

    #[test]
    fn a_line_in_words() {
        let words = in_words("queue delay, ms", "red", [1.0, f64::NAN, 3.0]);
        assert_eq!(words.as_deref(), Some("queue delay, ms, red: mean 2, from 1 to 3"));
        assert_eq!(in_words("drops, %", "", [4.0]).as_deref(), Some("drops, %: mean 4, from 4 to 4"));
        assert_eq!(in_words("drops, %", "red", [f64::NAN]), None);
    }

    #[test]
    fn no_name_ends_the_script_element() {
        let mut plot = Plot::new(100);
        plot.scatter(json!({"name": "</script><b>", "y": [f64::NAN]}));
        let figure = plot.figure("label".to_owned());
        assert!(!figure.json.contains('<'), "{}", figure.json);
        assert!(figure.json.contains("null"), "a value that is no number leaves a gap: {}", figure.json);
    }
}
