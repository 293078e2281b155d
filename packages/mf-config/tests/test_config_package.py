import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mf_config
from mf_config.on_demand import names_on_demand

IMPORTS = """
import sys
import mf_config, mf_config.explain, mf_config.json_schema, mf_config.dump, mf_config.command_line
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"mindspore", "mf_models", "mf_train", "torch"}))
"""

LOAD = """
import sys
from mf_config import load
root = load("run.yaml").root
sys.stdout.buffer.write(root.entries["output_dir"].text.encode())
"""


def test_every_public_name_exists() -> None:
    assert [name for name in mf_config.__all__ if not hasattr(mf_config, name)] == []
    assert sorted(mf_config.__all__) == mf_config.__all__


def test_a_name_that_is_not_there_is_said_and_others_may_have_another_name_at_home() -> None:
    attribute = names_on_demand("mf_toy", {"count": "itertools", "path": "os:fspath"})
    assert attribute("count") is itertools.count
    assert attribute("path") is os.fspath
    with pytest.raises(AttributeError, match="module 'mf_toy' has no attribute 'cuont'"):
        attribute("cuont")


def test_importing_loads_no_framework_and_no_sibling() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "zh_CN.GBK"])
def test_files_are_utf8_whatever_the_locale(tmp_path: Path, locale: str) -> None:
    (tmp_path / "run.yaml").write_bytes("\ufeff# 输出目录\r\noutput_dir: './输出'\r\n".encode())
    environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", LOAD], cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert done.stdout.decode() == "./输出"
