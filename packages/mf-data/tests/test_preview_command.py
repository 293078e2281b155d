import pytest

from mf_data.cli import main

RUN = """\
seed: 3
run_mode: train
processor:
  tokenizer: {{type: LlamaTokenizerFast, tokenizer_file: {data}/bpe_chat/tokenizer.json}}
train_dataset: &train_dataset
  data_loader: {{type: TextDataLoader, dataset_dir: {folder}/train.txt, shuffle: True}}
  eod_reset: True
train_dataset_task: {{type: CausalLanguageModelDataset, dataset_config: *train_dataset}}
"""


@pytest.fixture
def run_file(tmp_path, data):
    (tmp_path / "train.txt").write_text("".join(f"{i} plus {i} is {2 * i}.\n" for i in range(40)))
    path = tmp_path / "run.yaml"
    path.write_text(RUN.format(data=data, folder=tmp_path))
    return path


def test_rows_in_the_order_of_the_run(run_file, capsys):
    words = ["preview", str(run_file), "--seq-length", "15", "--color", "never"]
    assert main([*words, "-n", "3"]) == 0
    first = [line for line in capsys.readouterr().out.splitlines() if line.startswith("row ")]
    assert len(first) == 3
    assert main([*words, "-n", "2", "--from", "1"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("row ")] == first[1:]
    assert main([*words, "-n", "3", "--set", "seed=4"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("row ")] != first


def test_a_page(run_file, tmp_path, capsys):
    page = tmp_path / "rows.html"
    assert main(["preview", str(run_file), "--seq-length", "15", "-n", "2", "--html", str(page)]) == 0
    assert page.read_text().count("<h2>") == 2
    assert "2 of " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-n", "0"], "-n or --from is out of range"),
        (["--eval"], "eval_dataset or eval_dataset_task is missing"),
        (["--set", "processor=None"], "has no tokenizer. Allowed: one in train_dataset or in processor."),
    ],
)
def test_wrong_use_is_told(run_file, capsys, words, message):
    assert main(["preview", str(run_file), "--seq-length", "15", *words]) == 2
    assert message in capsys.readouterr().err
