from pathlib import Path

from mf_config.reference import reference_page

PAGE = Path(__file__).parent.parent / "docs" / "configuration.md"


def test_the_reference_page_is_what_the_schema_says() -> None:
    """Write it anew where this fails: mf-config schema --markdown > docs/configuration.md."""
    assert PAGE.read_text(encoding="utf-8") == reference_page().rstrip() + "\n"
