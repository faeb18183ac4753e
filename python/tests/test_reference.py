"""The reference says what the docstrings say."""

from __future__ import annotations

from pathlib import Path

import pytest
import reference

import lockstep

PAGE = Path(__file__).parents[2] / "docs/reference/python.md"


def test_the_reference_is_that_of_this_package(pytestconfig: pytest.Config) -> None:
    page = reference.page()
    if pytestconfig.getoption("--update"):
        PAGE.write_text(page)
    assert PAGE.read_text() == page, "docstrings have changed: run `make test-python LOCKSTEP_PYTEST=--update`"


def test_the_reference_has_every_public_name() -> None:
    page = reference.page()
    for name in lockstep.__all__:
        assert f"\n## {name}\n" in page
    assert "**Errors**" in page
    assert ":class:" not in page
