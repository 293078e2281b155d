import gzip
import json
import os
import random
import shutil
from pathlib import Path

import pytest

from mf_config.command_line import FAILURE, OK, USER_ERROR
from mf_config.problems import ConfigError, UserError
from mf_data.cli import main
from mf_data.indexed.files import IndexedFile
from mf_data.progress import silent
from mf_data.tokenizing import corpus_tokenizing
from mf_data.tokenizing.corpus_tokenizing import tokenize_corpus
from mf_data.tokenizing.tokenize_plan import TokenizePlan

WORDS = ["hello", "words", "你好", "fine\n", "<|end|>", "a longer piece of text"]


@pytest.fixture
def corpus(tmp_path):
    """A folder of 120 documents in three kinds of files."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    draw = random.Random(5)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(1, 30))) for _ in range(121)]
    lines = [json.dumps({"text": text}) + "\n" for text in texts]
    (folder / "a.jsonl").write_text("".join(lines[:60]) + '\n{"text": ""}\n')
    (folder / "b.txt").write_text(texts[120])
    (folder / "c.jsonl.gz").write_bytes(gzip.compress("".join(lines[60:120]).encode()))
    return folder, [*texts[:60], texts[120], *texts[60:120]]


def plan_of(corpus, data, **more) -> TokenizePlan:
    given = {"inputs": (str(corpus[0]),), "tokenizer": str(data / "bpe_chat"), "dtype": "uint16", "piece_bytes": 2000}
    return TokenizePlan(**{**given, **more})


def pair(prefix) -> tuple[bytes, bytes]:
    return Path(f"{prefix}.bin").read_bytes(), Path(f"{prefix}.idx").read_bytes()


def test_every_document_is_encoded_with_its_end(corpus, data, bpe_chat, tmp_path):
    done = []
    made = tokenize_corpus(plan_of(corpus, data), str(tmp_path / "out"), 1, done.append)
    file = IndexedFile(tmp_path / "out")
    expected = [[*bpe_chat.encode(text, parse_special_tokens=False), 4] for text in corpus[1]]
    assert [file[i].tolist() for i in range(len(file))] == expected
    assert file.documents.tolist() == list(range(122))
    assert (made.documents, made.tokens, made.skipped) == (121, sum(map(len, expected)), ())
    assert made.text_bytes == done[-1] == sum(len(text.encode()) for text in corpus[1])
    assert len(done) > 5
    assert not (tmp_path / "out.parts").exists()


def test_the_result_is_the_same_with_several_processes_and_other_pieces(corpus, data, tmp_path):
    tokenize_corpus(plan_of(corpus, data), str(tmp_path / "one"), 1, silent)
    tokenize_corpus(plan_of(corpus, data, piece_bytes=700), str(tmp_path / "three"), 3, silent)
    assert pair(tmp_path / "one") == pair(tmp_path / "three")


def test_an_interrupted_run_is_continued(corpus, data, tmp_path, monkeypatch):
    tokenize_corpus(plan_of(corpus, data), str(tmp_path / "whole"), 1, silent)
    made = []
    make = corpus_tokenizing._Work.make

    def interrupted(self, piece, part):
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append(part.name)
        return make(self, piece, part)

    monkeypatch.setattr(corpus_tokenizing._Work, "make", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tokenize_corpus(plan_of(corpus, data), str(tmp_path / "out"), 1, silent)
    assert not (tmp_path / "out.idx").exists()
    # The fourth piece was cut off while it was written.
    (tmp_path / "out.parts" / "00000003.bin").write_bytes(b"half")
    again = []
    monkeypatch.setattr(
        corpus_tokenizing._Work, "make", lambda self, piece, part: (again.append(part.name), make(self, piece, part))[1]
    )
    tokenize_corpus(plan_of(corpus, data), str(tmp_path / "out"), 1, silent)
    assert made == ["00000000", "00000001", "00000002"]
    assert again[0] == "00000003"
    assert pair(tmp_path / "out") == pair(tmp_path / "whole")


def test_pieces_of_another_run_are_not_used(corpus, data, tmp_path):
    folder = tmp_path / "out.parts"
    folder.mkdir()
    (folder / "plan.json").write_text("{}")
    (folder / "00000000.json").write_text("{}")
    with pytest.raises(UserError, match=r"out\.parts: holds pieces of a run with other inputs"):
        tokenize_corpus(plan_of(corpus, data), str(tmp_path / "out"), 1, silent)
    shutil.rmtree(folder)
    fingerprint = plan_of(corpus, data).fingerprint()
    os.utime(corpus[0] / "b.txt", (1, 1))
    assert plan_of(corpus, data).fingerprint() != fingerprint


@pytest.mark.parametrize("workers", [1, 2])
def test_broken_records_stop_or_are_skipped(corpus, data, tmp_path, workers):
    file = corpus[0] / "a.jsonl"
    file.write_text(file.read_text() + '{"txt": "x"}\nbroken\n')
    with pytest.raises(ConfigError) as caught:
        tokenize_corpus(plan_of(corpus, data), str(tmp_path / "out"), workers, silent)
    assert [problem.location.line for problem in caught.value.problems] == [63, 64]
    # The pieces before it are used again.
    made = tokenize_corpus(plan_of(corpus, data, on_broken="skip"), str(tmp_path / "out"), workers, silent)
    assert made.documents == 121
    assert [line.split(": ")[1] for line in made.skipped] == ["text", "not JSON (Expecting value, column 1). Allowed"]


def test_pieces_with_broken_records_do_not_pass_where_they_stop_the_work(corpus, data, tmp_path, monkeypatch):
    file = corpus[0] / "a.jsonl"
    file.write_text("broken\n" + file.read_text())
    with monkeypatch.context() as patch:
        patch.setattr(corpus_tokenizing, "IndexedFile", None)  # Fails when all pieces are there.
        with pytest.raises(TypeError):
            tokenize_corpus(plan_of(corpus, data, on_broken="skip"), str(tmp_path / "out"), 1, silent)
    with pytest.raises(UserError, match=r"a\.jsonl:1: not JSON"):
        tokenize_corpus(plan_of(corpus, data), str(tmp_path / "out"), 1, silent)


def test_a_run_that_made_nothing_leaves_nothing_that_counts(corpus, data, tmp_path):
    (corpus[0] / "a.jsonl").write_text("broken\n")
    with pytest.raises(ConfigError):
        tokenize_corpus(plan_of(corpus, data), str(tmp_path / "out"), 1, silent)
    (corpus[0] / "a.jsonl").write_text('{"text": "mended"}\n')
    assert tokenize_corpus(plan_of(corpus, data), str(tmp_path / "out"), 1, silent).documents > 0


def test_a_corpus_without_text_is_refused(data, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": ""}\n')
    plan = TokenizePlan(inputs=(str(tmp_path / "a.jsonl"),), tokenizer=str(data / "bpe_chat"), dtype="uint16")
    with pytest.raises(UserError, match="hold no text"):
        tokenize_corpus(plan, str(tmp_path / "out"), 1, silent)


def command(corpus, data, tmp_path, *more) -> list[str]:
    output = ["--output", str(tmp_path / "out"), "--workers", "1"]
    return ["tokenize", str(corpus[0]), "--tokenizer", str(data / "bpe_chat"), *output, *more]


def test_the_command_prints_what_it_made(corpus, data, tmp_path, capsys):
    assert main(command(corpus, data, tmp_path, "--json")) == OK
    printed = json.loads(capsys.readouterr().out)
    assert (printed["documents"], printed["dtype"], printed["skipped"]) == (121, "uint16", 0)
    assert printed["tokens"] == len(IndexedFile(tmp_path / "out").tokens)
    assert main(command(corpus, data, tmp_path)) == USER_ERROR
    assert "out.idx exists already" in capsys.readouterr().err


def test_the_command_takes_other_fields_and_no_end_token(data, tmp_path, capsys, bpe_chat):
    (tmp_path / "a.jsonl").write_text('{"body": "hello"}\n{"text": "x"}\n')
    corpus = (tmp_path / "a.jsonl", [])
    more = ["--text-field", "body", "--on-broken", "skip", "--no-end-token"]
    assert main(command(corpus, data, tmp_path, *more)) == OK
    printed = capsys.readouterr()
    assert "1 documents, 4 tokens of uint16" in printed.out
    assert "a.jsonl:2: body: is missing" in printed.err
    assert "1 broken records were skipped" in printed.err
    assert IndexedFile(tmp_path / "out")[0].tolist() == bpe_chat.encode("hello")


def test_the_command_names_wrong_options(corpus, data, tmp_path, capsys):
    words = command(corpus, data, tmp_path)
    assert main([*words[:-1], "0"]) == USER_ERROR
    assert "--workers: 0 is out of range" in capsys.readouterr().err
    assert main(["tokenize", str(tmp_path / "corpsu"), *words[2:]]) == USER_ERROR
    assert "Did you mean" in capsys.readouterr().err


def test_stats_of_prepared_files(corpus, data, tmp_path, capsys):
    main(command(corpus, data, tmp_path))
    main(["convert", str(tmp_path / "out"), str(tmp_path / "rows.mindrecord"), "--seq-length", "7"])
    capsys.readouterr()
    assert main(["stats", str(tmp_path / "out.idx"), str(tmp_path / "rows.mindrecord"), "--json"]) == OK
    printed = json.loads(capsys.readouterr().out)
    indexed, records = printed.values()
    file = IndexedFile(tmp_path / "out")
    assert (indexed["documents"], indexed["tokens"], indexed["dtype"]) == (121, len(file.tokens), "uint16")
    assert (indexed["lengths"]["min"], indexed["lengths"]["max"]) == (file.lengths.min(), file.lengths.max())
    assert records["rows"] == (len(file.tokens) - 1) // 7
    rows = records["rows"]
    lengths = {"min": 8, "median": 8.0, "mean": 8.0, "p95": 8, "max": 8, "histogram": [[8, 15, rows]]}
    assert records["input_ids"] == lengths
    assert main(["stats", str(tmp_path / "out")]) == OK
    assert f"tokens       {len(file.tokens)}" in capsys.readouterr().out


def test_files_are_converted_and_back(corpus, data, tmp_path, capsys):
    main(command(corpus, data, tmp_path))
    assert main(["convert", str(tmp_path / "out"), str(tmp_path / "a.mindrecord")]) == OK
    assert main(["convert", str(tmp_path / "a.mindrecord"), str(tmp_path / "back")]) == OK
    first, second = IndexedFile(tmp_path / "out"), IndexedFile(tmp_path / "back")
    assert first.tokens.tolist() == second.tokens.tolist()
    assert first.lengths.tolist() == second.lengths.tolist()
    for words, message in [
        (["out", "more"], "can't be turned into"),
        (["a.mindrecord", "more", "--seq-length", "3"], "--seq-length: stored rows stay as they are"),
        (["out", "b.mindrecord", "--seq-length", "0"], "--seq-length: 0 is out of range"),
    ]:
        given = [str(tmp_path / word) if not word.startswith("-") and not word.isdigit() else word for word in words]
        assert main(["convert", *given]) == USER_ERROR
        assert message in capsys.readouterr().err


def test_validate_finds_ids_outside_the_vocabulary(data, capsys):
    good, bad = str(data / "indexed" / "good_int32"), str(data / "indexed" / "bin_truncated")
    assert main(["validate", good]) == OK
    assert main(["validate", good, "--tokenizer", str(data / "bpe_chat")]) == FAILURE
    assert capsys.readouterr().out == f"{good}: sequence 1 holds the id 70000. Allowed: 0 to 899.\n"
    assert main(["validate", bad, "--json"]) == FAILURE
    assert json.loads(capsys.readouterr().out)["text"].startswith(f"{bad}.bin: has 29 bytes")


def test_validate_finds_broken_records(data, tmp_path, capsys):
    dirty = str(data / "dirty_rows.jsonl.gz")
    assert main(["validate", dirty, "--handler", "AlpacaInstructDataHandler", "--json"]) == FAILURE
    lines = [json.loads(line)["line"] for line in capsys.readouterr().out.splitlines()]
    assert lines == [5, 6, 7, 8, 9, 10, 12, 14]
    assert main(["validate", dirty, "--text-field", "instruction"]) == FAILURE
    assert capsys.readouterr().err == "4 problems\n"
    (tmp_path / "old.txt").write_bytes(b"na\xefve")
    assert main(["validate", str(tmp_path)]) == FAILURE
    assert "old.txt:1: byte 0xef is not UTF-8" in capsys.readouterr().out
    assert main(["validate", dirty, "--handler", "AlpacaInstructDataHandlr"]) == USER_ERROR
    assert "Did you mean AlpacaInstructDataHandler?" in capsys.readouterr().err
