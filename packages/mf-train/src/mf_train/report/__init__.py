"""`report.html`: a run on one page that needs nothing beside it."""

from mf_train.report.page import render
from mf_train.report.run_records import RunRecords, read_run

__all__ = ["RunRecords", "read_run", "render"]
