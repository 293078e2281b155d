import os

import pytest

from mf_models.threads import sleep_while_waiting


@pytest.mark.parametrize(("chosen", "expected"), [(None, "passive"), ("active", "active")])
def test_the_users_choice_stays(monkeypatch: pytest.MonkeyPatch, chosen: str | None, expected: str) -> None:
    if chosen is None:
        monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    else:
        monkeypatch.setenv("OMP_WAIT_POLICY", chosen)
    sleep_while_waiting()
    assert os.environ["OMP_WAIT_POLICY"] == expected
