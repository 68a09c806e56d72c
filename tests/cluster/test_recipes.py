"""The recipes of the guide run on the engines that they are for, and count what pandas does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import osdi_frames as of

GUIDE = (Path(of.__file__).parent / "dask" / "README.md").read_text()
RECIPES = dict(zip(("pyspark", "ray"), re.findall(r"```py\n(.*?)```", GUIDE, re.DOTALL), strict=True))


@pytest.mark.long
@pytest.mark.parametrize("engine", RECIPES)
def test_a_recipe_counts_what_pandas_does(engine, data, tmp_path):
    pytest.importorskip(engine)
    shutil.copytree(data, tmp_path / "data")
    (tmp_path / "recipe.py").write_text(RECIPES[engine])
    command, environment = [sys.executable, "recipe.py"], os.environ | {"PYSPARK_PYTHON": sys.executable}
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout.split()[-1] == str(len(of.read_signatures(data)))


@pytest.mark.parametrize("engine", RECIPES)
def test_a_recipe_compiles(engine):
    compile(RECIPES[engine], engine, "exec")
