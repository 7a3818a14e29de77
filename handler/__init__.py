"""What runs inside an invocation. Light on purpose: every import here is paid at each cold start."""

import time

__version__ = "0.1.0"
IMPORTED = time.perf_counter()  # as good as the start of init: nothing of ours has run before
