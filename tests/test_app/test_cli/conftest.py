"""Simulated files that several tests of commands read."""

import pytest

from tests import worlds


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Simulated files of 12 cases and 6 classes."""
    return worlds.write_study(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def predictions(data):
    return ["--predictions", f"A={data / 'predictions-A.csv'}", "--predictions", f"B={data / 'predictions-B.csv'}"]
