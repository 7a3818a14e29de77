"""What can go wrong between a style's name and its frozen modules; messages are for the command line's user.

ModelError
├── RegistryError             styles.toml or detector.toml cannot be read, or an entry of it is incomplete
├── UnknownStyleName          no style has this name; says which do, the near ones first
├── FreezeError               a style that cannot be frozen; nothing was written
│   ├── CheckpointError       not this generator's weights: missing, misshapen or unexpected key, cut short,
│   │                         not a checkpoint at all, pickled code, values that are not finite
│   ├── ParityError           a frozen module's pictures are too far from the eager generator's
│   └── StyleNameError        the name cannot be a directory's
└── PullError                 a checkpoint, or the face detector, that could not be fetched
    ├── NoConnection          the host cannot be reached, or the address is no web address
    ├── ServerRefused         it answered, but not with the file
    ├── Interrupted           the stream ended early; what came is kept, the next pull resumes there
    ├── TooLarge              more bytes than any checkpoint of this generator has
    └── CorruptDownload       complete, but not the file that the registry names; removed
"""


class ModelError(Exception):
    """Root of this package's errors."""


class RegistryError(ModelError):
    """styles.toml is damaged or incomplete."""


class UnknownStyleName(ModelError):
    """A name that no style has."""


class FreezeError(ModelError):
    """A style that cannot be frozen; nothing was written."""


class CheckpointError(FreezeError):
    """The file does not hold this generator's weights."""


class ParityError(FreezeError):
    """The frozen module does not do what the eager generator does."""


class StyleNameError(FreezeError):
    """A name that cannot be a style's directory."""


class PullError(ModelError):
    """A checkpoint that could not be fetched."""


class NoConnection(PullError):
    """Nobody answered."""


class ServerRefused(PullError):
    """An answer without the file."""


class Interrupted(PullError):
    """The connection broke part way; the part is kept."""


class TooLarge(PullError):
    """An answer over the limit."""


class CorruptDownload(PullError):
    """All bytes came, and they are not the file."""
