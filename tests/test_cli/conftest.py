"""Simulated files that several tests of commands read."""

import pytest

from tests.test_cli.run import succeed


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Simulated files of 12 cases and 6 classes."""
    folder = tmp_path_factory.mktemp("data")
    succeed("simulate", "--cases", 12, "--classes", 6, "--qualities", "0.9,0.5", "--out", folder)
    return folder


@pytest.fixture(scope="session")
def predictions(data):
    return ["--predictions", f"A={data / 'predictions-A.csv'}", "--predictions", f"B={data / 'predictions-B.csv'}"]
