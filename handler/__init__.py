"""What runs inside an invocation. Light on purpose: every import here is paid at each cold start."""

__version__ = "0.1.0"
