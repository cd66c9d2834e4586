import os
import subprocess

import pytest

import halfulp as hu

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# The keys of a training of a moment, and the words of the program for the same.
SMALL = {
    "model": "cnn-s",
    "data": "glyphs",
    "data_limit": 256,
    "data_test_limit": 64,
    "batch": 32,
    "steps": 6,
    "threads": 1,
}


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return dict(SMALL)


@pytest.fixture
def program():
    """Runs the program as a user does: (exit code, stdout, stderr)."""

    def call(*words, text=None):
        done = subprocess.run(
            [hu.program_path(), *words], input=text, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    return call
