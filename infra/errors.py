"""What can go wrong around the function, as one tree.

ToolError               the message is for the person at the command line
├── RequestTooLarge     an event that Lambda would not take
├── BadEvent            a file that holds no event
├── BadLog              a log that cannot be read, or has no line to go by
├── BadRequest          paths or options that do not make sense together
├── AwsRefused          AWS said no, could not be reached, or knows nobody
└── NotInstalled        a style or a package that is not there yet; says how to get it
"""

from __future__ import annotations


class ToolError(Exception):
    """Root of infra's errors."""


class RequestTooLarge(ToolError):
    """Over Lambda's limit of a synchronous request."""


class BadEvent(ToolError):
    """No JSON, or not readable."""


class BadLog(ToolError):
    """There is nothing in it that could be reported."""


class BadRequest(ToolError):
    """The command cannot be done as it was given."""


class AwsRefused(ToolError):
    """A call to AWS came to nothing; says which, and what AWS says."""


class NotInstalled(ToolError):
    """Something has to be fetched first."""
