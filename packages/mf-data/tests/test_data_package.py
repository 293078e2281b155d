import subprocess
import sys

import mf_data
from mf_config.components import components


def test_components_are_found():
    assert {"PythonLibraryDataLoader", "TextDataLoader"} <= set(components("data_loader"))
    assert "ByteLevelBPETokenizer" in components("tokenizer")
    assert "CausalLanguageModelDataset" in components("dataset")


def test_every_public_name_exists():
    assert all(hasattr(mf_data, name) for name in mf_data.__all__)


def test_mindspore_is_never_loaded():
    program = (
        "import importlib, pkgutil, sys, mf_data\n"
        "for module in pkgutil.walk_packages(mf_data.__path__, 'mf_data.'):\n"
        "    importlib.import_module(module.name)\n"
        "assert 'mindspore' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
