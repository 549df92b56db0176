"""Report phrases that are not plain technical English: python tests/check_language.py PATH ...

Reads Markdown, docstrings and comments of Python files, and comments of C++ files. Prints file,
line, phrase and replacement; exits with 1 if there are any.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

# Pattern: what to write instead. A space in a pattern also matches a line break.
PHRASES = {
    r"\b(?:told|tells?(?!\(| :)|telling)\b": "say, show, report, send",
    r"\b(?:go|goes|going|went|gone) on\b": "continue",
    r"\b(?:go|goes|going|went|gone) round\b": "be exchanged, rotate",
    r"\b(?:go|goes|going|went|gone) over to\b": "switch to",
    r"\banew\b": "again",
    r"\b(?:lie|lies|lay) where\b": "be stored",
    r"\b(?:whoever|nobody)\b": "the noun: process, rank, caller",
    r"\blets? go\b": "release",
    r"\bin thought\b": "implicitly",
    r"\b(?:keeps?|kept|trains?|held) apart\b": "store separately",
    r"\blikes? (?:it|them|best)\b": "prefer, need",
    r"\bas (?:it comes|they come)\b": "unchanged, with default parameters",
    r"\bhand(?:s|ed)? out\b": "return, expose",
    r"\bdearer\b": "more expensive",
    # Headings, and the beginning of module docstrings and of header comments.
    r'(?:\A\s*(?:""")?\s*|^#+ )(?:What|How(?!-| to\b)|Which|Whether|Where|Who|When)\b': "a noun",
}
# The same for pages alone.
PAGE_PHRASES = {
    r"\bquick(?:er|est)\b": "faster, fastest",
    r"\b(?:is|are) an error\b": "raises an error",
    r"\bmade[ -]up\b": "synthetic",
    r"\btakes? the place of\b": "replace",
    r"\bbeside\b": "next to, in addition to",
    r"\b(?:that|those) of (?:training|before|the last)\b": "repeat the noun",
    r"\bscores? less the\b": "minus",
    r"\bbinary machines?\b": "binary SVM, classifier",
    r"\bout of fold\b": "cross-validated, held-out",
    r"\bfor no row\b": "negate the verb",
    r"\bto the last bit\b": "bit for bit",
    r"\bpays?\b(?! attention)": "save time, help",
    r"\bfalls? behind\b": "converge slowly, be slower",
    r"\bsent out\b": "send to, receive",
    r"\bcomes? on top\b": "be added, also need",
    r"\bas (?:many|much) again\b": "more, in addition",
}
SUFFIXES = {".md", ".rst", ".py", ".hpp", ".cpp"}
QUOTES = {"english.md"}  # quote phrases to avoid


def prose(path):
    """Return the text of a file without its code, line by line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return python_prose(text)
    if path.suffix in {".hpp", ".cpp"}:
        return "\n".join(line.partition("//")[2] for line in text.splitlines())
    return text


def python_prose(text):
    """Return a Python file with its docstrings and comments only, line by line."""
    source = text.splitlines()
    kept = [""] * len(source)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            kept[token.start[0] - 1] = token.string.lstrip("#")
    for node in ast.walk(ast.parse(text)):
        match getattr(node, "body", None):
            case [ast.Expr(value=ast.Constant(value=str())) as text_of, *_]:
                lines = slice(text_of.lineno - 1, text_of.end_lineno)
                kept[lines] = source[lines]
    return "\n".join(kept)


def complaints(path):
    """Return one line for each phrase found in a file."""
    text, found = prose(path), []
    phrases = PHRASES | PAGE_PHRASES if path.suffix == ".md" else PHRASES
    for pattern, use in phrases.items():
        for match in re.finditer(pattern.replace(" ", r"\s+"), text, re.IGNORECASE | re.MULTILINE):
            line, phrase = text[: match.end()].count("\n") + 1, " ".join(match[0].split())
            found.append((line, f"{path}:{line}: {phrase!r}; write: {use}"))
    return [complaint for _, complaint in sorted(found)]


if __name__ == "__main__":
    listing = ["git", "ls-files", "-co", "--exclude-standard", "--", *sys.argv[1:]]
    names = subprocess.check_output(listing, text=True).splitlines()
    files = [path for path in map(Path, names) if path.suffix in SUFFIXES and path.exists()]
    files = [path for path in files if path.name not in QUOTES]
    wrong = [complaint for path in files for complaint in complaints(path)]
    sys.exit("\n".join(wrong) or None)
