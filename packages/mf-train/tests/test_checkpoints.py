"""Where copies of checkpoints go."""

import logging

import pytest

from mf_config import UserError
from mf_train.checkpoint.checkpoints import upload_url


def test_no_value_and_text_that_is_no_address_mean_no_upload(caplog: pytest.LogCaptureFixture):
    assert upload_url(None) is None
    logging.getLogger("mf_train").propagate = True
    with caplog.at_level(logging.INFO, logger="mf_train"):
        assert upload_url("Please input obs url on AICC platform.") is None
    # Loggers that earlier tests configured may hand it over more than once.
    assert {record.getMessage() for record in caplog.records} == {
        "remote_save_url: 'Please input obs url on AICC platform.' is no address, so checkpoints stay in output_dir"
    }


def test_an_address_must_be_one_that_can_be_reached():
    pytest.importorskip("fsspec")
    assert upload_url("memory://bucket/run") == "memory://bucket/run"
    with pytest.raises(UserError, match=r"remote_save_url: no-such-store://bucket: "):
        upload_url("no-such-store://bucket")
