"""`python -m mf_train`: the same as `mf-train`, for launchers that start an interpreter."""

import sys

from mf_train.cli import main

if __name__ == "__main__":
    sys.exit(main())
