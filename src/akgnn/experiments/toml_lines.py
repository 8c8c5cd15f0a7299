"""Where in the text of a spec a name stands, for error messages."""

import re


class TomlLines:
    """The lines of a spec.

    Args:
        text: Of the file.
    """

    def __init__(self, text: str) -> None:
        self.lines = [_without_comment(line) for line in text.splitlines()]
        head = re.compile(r"\s*\[\[\s*rows\s*\]\]")
        self.heads = [k for k, line in enumerate(self.lines) if head.match(line)]

    def find(self, row: int | None, name: str | None) -> int:
        """The line that sets `name` within a row, or outside of all rows; from 1 on."""
        first, places = self._places(row)
        if name is None:
            return first + 1
        word = rf"(?<![\w-])\"?{re.escape(name)}\"?(?![\w-])"
        # Where the name is set goes before where it is only said.
        for pattern in (rf"{word}\s*=|^\s*\[{word}\]", word):
            for place in places:
                if re.search(pattern, self.lines[place]):
                    return place + 1
        return first + 1 if row is None else self.find(None, name)

    def _places(self, row: int | None) -> tuple[int, list[int]]:
        """The first line to name, and the lines to look through in their order."""
        everything = list(range(len(self.lines)))
        if row is None or row >= len(self.heads):
            # All of them: a table such as [vary] may stand after the rows.
            return 0, everything
        stop = self.heads[row + 1] if row + 1 < len(self.heads) else len(self.lines)
        return self.heads[row], everything[self.heads[row] : stop]


def _without_comment(line: str) -> str:
    """A line of TOML up to the first # outside of quotes."""
    text = re.match(r"""(?:[^"'#]|"(?:\\.|[^"\\])*"?|'[^']*'?)*""", line)
    return text[0] if text else ""
