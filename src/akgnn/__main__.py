"""`python -m akgnn` is the `akgnn` command."""

import sys

from akgnn.cli.main import main

sys.exit(main())
