# SPDX-License-Identifier: Apache-2.0
"""Messages as protoc reads and writes them by the published files, which tests/readers/protos hands over: a folder of them
is in an environment variable. Without it messages stay what they are, as the tests do without what others publish."""
import os
import re
import subprocess

UNKNOWN = re.compile(r"^\s*\d+(: | \{)", re.MULTILINE)


class Protoc:
    def __init__(self, variable, file):
        self.folder, self.file = os.environ.get(variable), file
        self.messages = 0

    def _run(self, option, message, data):
        return subprocess.run(["protoc", "-I", self.folder, "--%s=%s" % (option, message), self.file], input=data, check=True,
                              stdout=subprocess.PIPE).stdout

    def again(self, message, data):
        """What protoc writes of what it has read in @data, all of which is of @message."""
        if not self.folder:
            return data
        text = self._run("decode", message, data)
        unknown = UNKNOWN.search(text.decode(errors="replace"))
        if unknown:
            raise ValueError("%s has no field %s" % (message, unknown.group().strip()))
        self.messages += 1
        return self._run("encode", message, text)
