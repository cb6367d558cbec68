"""Interpreters of a version that hangdbg has never seen: copies of a real one, with other
numbers in its table of offsets (_Py_DebugOffsets) and for its version.

The process runs as before: the interpreter reads neither while it runs a program.
"""

import os
import re
import shutil
import stat
import struct

COOKIE = b"xdebugpy"
WORDS = {13: 73, 14: 95, 15: 111}  # of the table; what follows is the interpreter's own
FIRST = 3  # after the cookie, the version and whether it is free-threaded
VERSION = 0x031000F0  # 3.16.0


class Copy:
    def __init__(self, python, folder):
        self.original = os.path.realpath(python)
        self.folder = str(folder)
        self.path = os.path.join(self.folder, os.path.basename(self.original))
        with open(self.original, "rb") as file:
            self.bytes = bytearray(file.read())
        self.minor = None
        # In .data, and a version follows; the cookie's text may be elsewhere, too.
        self.table = next((found.start() for found in re.finditer(COOKIE, self.bytes)
                           if found.start() % 8 == 0 and
                           self._word_at(found.start() + 8) >> 24 == 3), None)

        if self.table is not None:
            self.minor = self.word(1) >> 16 & 0xFF

    def has_table(self):
        """False: it is in a library, or there is none."""
        return self.table is not None

    def _word_at(self, place):
        return struct.unpack_from("<Q", self.bytes, place)[0]

    def word(self, number):
        return self._word_at(self.table + number * 8)

    def put(self, number, value):
        struct.pack_into("<Q", self.bytes, self.table + number * 8, value)

    def call_it(self, version=VERSION):
        """Its PY_VERSION_HEX, in the table and in the variable Py_Version."""
        place = self._symbol("Py_Version")
        assert self._word_at(place) == self.word(1)
        struct.pack_into("<Q", self.bytes, place, version)
        self.put(1, version)
        return self

    def insert(self, number, *values):
        """New words before that one, as a newer version has them. The last are lost, which
        are of what debuggers run in a process."""
        words = [self.word(i) for i in range(number, WORDS[self.minor])]
        for i, value in enumerate([*values, *words][:len(words)]):
            self.put(number + i, value)
        return self

    def spoil(self, random):
        """No word of it is true."""
        for number in range(FIRST, WORDS[self.minor]):
            self.put(number, random.choice([random.getrandbits(64), random.randrange(512) * 8]))
        return self

    def write(self):
        """The path of what was made, which begins as the original does."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        beside = os.path.dirname(self.original)
        if self._is_in_build_tree():
            for name in os.listdir(beside):
                os.symlink(os.path.join(beside, name), os.path.join(self.folder, name))
            os.unlink(self.path)
        with open(self.path, "wb") as file:
            file.write(self.bytes)
        os.chmod(self.path, stat.S_IRWXU)
        return self.path

    def environment(self):
        """What it needs where it was not compiled to be."""
        prefix = os.path.dirname(os.path.dirname(self.original))
        return {} if self._is_in_build_tree() else {"PYTHONHOME": prefix}

    def _is_in_build_tree(self):
        return os.path.exists(os.path.join(os.path.dirname(self.original), "pybuilddir.txt"))

    def _symbol(self, name):
        """Where in the file that variable is (elf(5))."""
        sections = [struct.unpack_from("<IIQQQQIIQQ", self.bytes, self._word_at(0x28) + i * 64)
                    for i in range(struct.unpack_from("<H", self.bytes, 0x3C)[0])]
        for kind, link, offset, size in ((it[1], it[6], it[4], it[5]) for it in sections):
            if kind != 11:  # SHT_DYNSYM
                continue
            names = sections[link][4]
            for at in range(offset, offset + size, 24):
                start, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", self.bytes, at)
                begin = names + start
                if self.bytes[begin:begin + len(name) + 1] == name.encode() + b"\0":
                    for _, type_, _, address, place, length, *_ in sections:
                        if address and type_ != 8 and address <= value < address + length:
                            return value - address + place
        raise LookupError(name)
