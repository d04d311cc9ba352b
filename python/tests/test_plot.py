"""Figures: what is on them, and that files can be written."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import aqmkit
import numpy as np
import pytest
from aqmkit import plot
from matplotlib.figure import Figure

ALL: dict[str, Callable[[aqmkit.Results], Figure]] = {
    "overview": lambda r: plot.overview(r, where={"repeat": 1}),
    "series": plot.series,
    "cdf": lambda r: plot.cdf(r, "classes.tcp.queue_delay_ms"),
    "ccdf": lambda r: plot.ccdf(r, "classes.tcp.queue_delay_ms"),
    "box": plot.box,
    "ellipses": plot.ellipses,
    "completion": plot.completion,
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("form", ["pdf", "svg", "png"])
def test_every_figure_goes_into_every_file(five: aqmkit.Results, name: str, form: str) -> None:
    figure = ALL[name](five)
    assert isinstance(figure, Figure)
    file = Path(f"{name}.{form}")
    figure.savefig(file)
    assert file.stat().st_size > 3000
    if form == "svg":
        assert "fifo" in re.sub(r"<[^>]*>", " ", file.read_text()), "text stays text"


def test_seeds_of_all_64_bits_are_drawn() -> None:
    results = aqmkit.compare("fifo", rate="2mbit", bulk=1, duration="1s", warmup="1s", repeat=10, progress=False)
    assert max(results.runs["seed"].to_pylist()) > 2**63
    assert len(plot.cdf(results, "classes.tcp.queue_delay_ms").axes[0].lines) == 1


def test_the_lines_are_the_numbers(five: aqmkit.Results) -> None:
    figure = plot.series(five, ["classes.tcp.throughput_bps"], where={"repeat": 1})
    series = five.series.to_pandas()
    for line, label in zip(figure.axes[0].lines, five.axes["aqm"], strict=True):
        rows = series[(series["aqm"] == label) & (series["repeat"] == 1)]
        np.testing.assert_allclose(np.asarray(line.get_ydata()), rows["classes.tcp.throughput_bps"] / 1e6)
        assert line.get_label() == label


def test_repeats_are_averaged(five: aqmkit.Results) -> None:
    figure = plot.series(five, ["classes.tcp.throughput_bps"], where={"aqm": ["red"]})
    mean = five.series.to_pandas().query("aqm == 'red'").groupby("t_s")["classes.tcp.throughput_bps"].mean() / 1e6
    np.testing.assert_allclose(np.asarray(figure.axes[0].lines[0].get_ydata()), mean)


def test_distributions_rise_to_one_and_their_complements_fall(five: aqmkit.Results) -> None:
    for line in ALL["cdf"](five).axes[0].lines:
        share = np.asarray(line.get_ydata())
        assert np.all(np.diff(share) >= 0)
        assert share[-1] == pytest.approx(1)
    for line in ALL["ccdf"](five).axes[0].lines:
        assert np.all(np.diff(np.asarray(line.get_ydata())) <= 0)


def test_the_overview_has_a_column_for_each_discipline(five: aqmkit.Results) -> None:
    figure = plot.overview(five)
    assert [axes.get_title() for axes in figure.axes[:5]] == five.axes["aqm"]
    assert len(figure.axes) == 15


def test_short_delays_can_be_told_apart(five: aqmkit.Results) -> None:
    axis = plot.cdf(five, "links.bottleneck.queue_delay_ms").axes[0]
    place = axis.transData.transform
    # The step from 1 to 10 ms takes as much of the axis as the one from 10 to 100 ms, and zero has a place.
    one, ten, hundred, zero = (place((x, 0))[0] for x in (1, 10, 100, 0))
    assert ten - one == pytest.approx(hundred - ten)
    assert np.isfinite(zero)
    assert zero < one
    delays = plot.overview(five).axes[5]
    assert delays.get_yscale() == "symlog"


def test_chance_does_not_look_large(five: aqmkit.Results) -> None:
    axis = plot.ellipses(five).axes[0]
    bottom, top = axis.get_ylim()
    assert top - bottom >= 0.2 * 0.95 * top / 1.02
    right, left = axis.get_xlim()
    assert right / left >= 10


def test_boxes_stand_over_the_labels(five: aqmkit.Results) -> None:
    axes = plot.box(five, "links.bottleneck.queue_delay_ms.mean").axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == five.axes["aqm"]


def test_a_name_that_does_not_exist_is_told_with_those_that_do(five: aqmkit.Results) -> None:
    with pytest.raises(KeyError, match=r"no column 'classes\.udp.*columns are"):
        plot.series(five, ["classes.udp.throughput_bps"])
    with pytest.raises(KeyError, match=r"those of.*classes\.tcp\.queue_delay_ms"):
        plot.cdf(five, "queue")
    with pytest.raises(KeyError, match=r"no axis 'rate'; there are aqm"):
        plot.series(five, by="rate")
    with pytest.raises(KeyError, match="which window"):
        plot.box(five, window="blast")


def test_what_leaves_nothing_to_draw_is_refused(five: aqmkit.Results) -> None:
    with pytest.raises(ValueError, match="quantities is empty"):
        plot.series(five, [])
    for draw in (plot.series, plot.overview, plot.box, plot.ellipses, plot.completion):
        with pytest.raises(ValueError, match="where: repeat cannot be '9'; there are 1, 2"):
            draw(five, where={"repeat": 9})
    with pytest.raises(ValueError, match="where: aqm cannot be 'rde'; there are fifo, red"):
        plot.cdf(five, where={"aqm": ["red", "rde"]})
    with pytest.raises(ValueError, match="leaves nothing to draw"):
        plot.series(five, where={"repeat": []})
    with pytest.raises(ValueError, match="where: kind cannot be 'pgae'; there are"):
        plot.completion(five, kind="pgae")


def test_a_single_quantity_need_not_be_in_a_list(five: aqmkit.Results) -> None:
    assert len(plot.series(five, "classes.tcp.throughput_bps").axes) == 1
