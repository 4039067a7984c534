"""What the Android app's benchmark mode writes is what `tfdistil-benchmark --json` writes.

`android.json` was written by a test of the app, which runs in the app's own build (`make android`);
where that has run, its latest file is read, too.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tfdistil.benchmarks.latency import Protocol, measure

BUILT = Path(__file__).parents[2] / "android_demo/app/target/benchmark.json"
FILES = [Path(__file__).with_name("android.json"), *([BUILT] if BUILT.exists() else [])]
NOT_ON_A_PHONE = {"peak_rss_bytes", "base_rss_bytes"}
ON_A_PHONE = {"resident_bytes"}


@pytest.fixture(scope="module")
def ours(shape_file, student_file):
    protocol = Protocol(queries=4, batches=2, rounds=2, warm_up=1)
    return measure({"a": shape_file, "b": student_file}, protocol).to_json()


@pytest.fixture(params=FILES, ids=["kept", "built"][: len(FILES)])
def app(request):
    return json.loads(request.param.read_text("utf-8"))


def test_the_parts_are_the_same(app, ours):
    assert app.keys() == ours.keys()
    assert app["protocol"].keys() == ours["protocol"].keys()
    for model in app["models"]:
        assert model.keys() == ours["models"][0].keys() - NOT_ON_A_PHONE | ON_A_PHONE
    names = [model["name"] for model in app["models"]]
    assert list(app["ratios"]) == names[1:]
    (ratio,) = ours["ratios"].values()
    for found in app["ratios"].values():
        assert found.keys() == ratio.keys()
        assert found["online"].keys() == found["batch"].keys() == ratio["online"].keys()


def test_times_have_the_same_figures_and_fit_each_other(app, ours):
    for model in app["models"]:
        for part in ("online_ms", "batch_ms"):
            times = model[part]
            assert times.keys() == ours["models"][0][part].keys()
            assert 0 < times["p50"] <= times["p90"] <= times["p99"]
            assert times["lowest_block"] <= times["p50"] <= times["highest_block"]
        assert model["text_ms"].keys() == model["online_ms"].keys() - {"batch", "length"}
        batch = model["batch_ms"]
        assert model["queries_per_second"] == pytest.approx(1e3 * batch["batch"] / batch["p50"])


def test_a_ratio_is_that_of_the_models(app):
    first, second = app["models"]
    ratio = app["ratios"][second["name"]]
    assert ratio["bytes"] == pytest.approx(second["bytes"] / first["bytes"])
    assert 0 < ratio["online"]["low"] <= ratio["online"]["median"] <= ratio["online"]["high"]
