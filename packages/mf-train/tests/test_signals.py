"""Signals as requests, in processes of their own."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys
from mf_train.launch.signals import StopRequest
number = getattr(signal, sys.argv[1])
def own(*_): print("own handler", flush=True)
signal.signal(number, own)
with StopRequest() as stop:
    os.kill(os.getpid(), number)
    print("made", stop.made, flush=True)
    if sys.argv[2] == "twice":
        os.kill(os.getpid(), number)
os.kill(os.getpid(), number)
print("end", flush=True)
"""


def said(name: str, times: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, name, times], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_first_signal_is_a_request_and_the_handler_comes_back_afterwards(name):
    assert said(name, "once") == ["made True", "own handler", "end"]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_second_signal_acts_as_usual(name):
    assert said(name, "twice") == ["made True", "own handler", "own handler", "end"]


def test_handlers_come_back_after_an_exception():
    program = (
        "import signal\nfrom mf_train.launch.signals import StopRequest\nbefore = signal.getsignal(signal.SIGTERM)\n"
        "try:\n  with StopRequest():\n    raise KeyError\nexcept KeyError:\n"
        "  assert signal.getsignal(signal.SIGTERM) == before\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_unasked_second_sigterm_ends_the_process():
    program = (
        "import os, signal\nfrom mf_train.launch.signals import StopRequest\n"
        "with StopRequest():\n  os.kill(os.getpid(), 15)\n  os.kill(os.getpid(), 15)\n  print('alive')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "")
