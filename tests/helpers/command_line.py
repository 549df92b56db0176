"""Commands run in this process, and what they leave in a folder."""

from pathlib import Path

from manyclass.cli import commands

TINY = "a 1:1\nb 2:1\nc 3:1\na 1:2\nb 2:2\nc 3:2\n"


class Cli:
    """Runs commands in this process."""

    def __init__(self, capsys):
        self.capsys = capsys

    def __call__(self, *arguments):
        """Exit code, lines of stdout, lines of stderr."""
        self.capsys.readouterr()
        code = commands.main([str(a) for a in arguments])
        out, err = self.capsys.readouterr()
        return code, out.splitlines(), err.splitlines()

    def works(self, *arguments):
        """Lines of stdout of a command that must end well, without a word on stderr."""
        code, out, err = self(*arguments)
        assert (code, err) == (0, [])
        return out

    def fails(self, *arguments):
        """The one line on stderr of a command that must fail."""
        code, _, err = self(*arguments)
        assert code == 2
        assert len(err) == 1, err
        assert err[0].startswith("manyclass: error: ")
        return err[0].removeprefix("manyclass: error: ")


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())
