"""What runs inside an invocation. Light on purpose: every import here is paid at each cold start."""

import os
import time

__version__ = "0.1.0"
IMPORTED = time.perf_counter()  # as good as the start of init: nothing of ours has run before

# OpenCV reads these when it is loaded, so they are set before any module of ours can import it. Our own
# limit is checked on the header, before decoding; OpenCV's is the second line, for headers that lie.
os.environ.setdefault("OPENCV_IO_MAX_IMAGE_PIXELS", os.environ.get("MAX_INPUT_PIXELS", "50000000"))
os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")  # what is wrong with a photo goes to its sender, not stderr

# Read when NumPy and torch are loaded. A process's kernels are kept for ever up to the first, and photos come in
# many sizes; the second is threads that nothing here uses (docs/performance.md has what both cost).
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "256")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
