"""pyarrow, for the modules that hold tables in it; without it, an error that names the extra."""

from akgnn.errors import MissingExtraError

try:
    import pyarrow as pa
    import pyarrow.compute as pc
except ImportError as error:
    raise MissingExtraError("Reading tables", "tables") from error

__all__ = ["pa", "pc"]
