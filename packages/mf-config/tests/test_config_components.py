import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mf_config.components import components, kinds, type_name

Install = Callable[..., None]


def make_package(site: Path, name: str, kind: str, names: str) -> Path:
    """A distribution in a folder of its own, with one component."""
    package = site / name / "parts"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "part.py").write_text(
        "from dataclasses import dataclass\nfrom mf_config.schema import component, key\n\n\n"
        f"@component({kind!r}, {names})\n@dataclass(frozen=True)\nclass Part:\n    size: int = key('Size.', 1)\n"
    )
    information = site / f"{name}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[mf.components]\n{kind} = {name}.parts\n")
    return site


def test_components_are_found_by_every_name_in_order(toys: None) -> None:
    found = components("optimizer")
    assert list(found) == ["ToyAdam", "ToySgd", "toy_adam"]
    assert found["ToyAdam"] is found["toy_adam"]


def test_no_package_no_components(install: Install) -> None:
    install()
    assert dict(components("optimizer")) == {}
    assert kinds() == ()


def test_kinds_are_those_that_packages_announce(toys: None) -> None:
    assert kinds() == (
        "callback",
        "data_loader",
        "dataset",
        "lr_schedule",
        "metric",
        "model",
        "optimizer",
        "processor",
        "tokenizer",
        "trainer",
    )


def test_an_installed_distribution_is_found_through_its_metadata(tmp_path: Path, install: Install) -> None:
    # No patched entry points here: the folder on the import path is what installation comes down to.
    make_package(tmp_path, "mf_found", "found_kind", "'Found'")
    sys.path.insert(0, str(tmp_path))
    importlib.invalidate_caches()
    try:
        components.cache_clear()
        assert list(components("found_kind")) == ["Found"]
    finally:
        sys.path.remove(str(tmp_path))


def test_two_packages_share_a_kind(
    tmp_path: Path, toy_site: Path, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_package(tmp_path, "mf_other", "optimizer", "'OtherAdam'")
    monkeypatch.syspath_prepend(other)
    install(toy_site, other)
    assert list(components("optimizer")) == ["OtherAdam", "ToyAdam", "ToySgd", "toy_adam"]


def test_two_packages_can_not_claim_one_name(
    tmp_path: Path, toy_site: Path, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    rival = make_package(tmp_path, "mf_rival", "optimizer", "'ToyAdam'")
    monkeypatch.syspath_prepend(rival)
    install(toy_site, rival)
    with pytest.raises(ValueError, match=r"^optimizer 'ToyAdam' is declared by .*ToyAdam.* and by .*Part"):
        components("optimizer")


def test_a_section_knows_its_canonical_name(toys: None) -> None:
    assert type_name(components("optimizer")["toy_adam"]()) == "ToyAdam"
    with pytest.raises(TypeError, match=r"^int is not a component$"):
        type_name(3)
