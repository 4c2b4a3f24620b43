# SPDX-License-Identifier: Apache-2.0
"""C source as the lint scripts see it: tokens that matter to them, with everything else in place."""
import re

_TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/)
    | (?P<line_comment>//[^\n]*)
    | (?P<string>"(?:\\.|[^"\\\n])*")
    | (?P<char>'(?:\\.|[^'\\\n])*')""",
    re.DOTALL | re.VERBOSE,
)

COMMENTS = ("comment", "line_comment")
LITERALS = ("string", "char")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def tokens(text):
    """(kind, line number, text) of each comment and literal."""
    for match in _TOKEN.finditer(text):
        yield match.lastgroup, text.count("\n", 0, match.start()) + 1, match.group()


def blank(text, kinds=COMMENTS + LITERALS):
    """text with the tokens of these kinds turned into spaces; every line keeps its number."""

    def spaces(match):
        if match.lastgroup not in kinds:
            return match.group()
        return re.sub(r"[^\n]", " ", match.group())

    return _TOKEN.sub(spaces, text)


def report(findings):
    """Print (path, line, message) findings; the exit status for them."""
    for path, line, message in findings:
        print(f"{path}:{line}: {message}")
    return 1 if findings else 0
