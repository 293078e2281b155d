"""Run modes are found through entry points."""

from importlib.metadata import EntryPoint

import pytest

from mf_config import UserError
from mf_train import dispatch


def test_own_modes_are_found():
    assert [entry.value for entry in dispatch.entry_points(group="mf.run_modes", name="eval")] == [
        "mf_train.run_modes:evaluate"
    ]


def test_mode_of_another_package_is_loaded_by_name(monkeypatch):
    entry = EntryPoint("predict", "math:floor", "mf.run_modes")
    monkeypatch.setattr(dispatch, "entry_points", lambda group, name: [entry] if name == "predict" else [])
    assert dispatch.run_mode("predict")(2.5) == 2


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(dispatch, "entry_points", lambda group, name: [])
    with pytest.raises(UserError) as caught:
        dispatch.run_mode("predict")
    assert str(caught.value) == (
        "run_mode predict: not installed. Allowed: the modes of installed packages; install mf-infer."
    )
