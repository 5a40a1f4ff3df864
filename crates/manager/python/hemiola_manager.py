"""A manager of a universe that Hemiola simulates: it is told of births, deaths and rows.

    import hemiola_manager

    with hemiola_manager.Manager("bird:position:near([0,0], [200<m>,200<m>], 1<m>)") as manager:
        for told in manager:
            if told.kind == "rows":
                for entity, x in zip(told.entities, told.columns["position[0]"]):
                    print(told.step, entity, x)

A message has a kind ("births", "rows", "deaths" or "step"), the step that it belongs to, and for the first three the
numbers of the entities. Births and rows have their element and the columns, by name: arrays of the module `array` for
numbers (numpy.frombuffer takes them), lists for truth values and texts. A step has `left`: how many births, rows and
deaths wait until the manager has read more; 0 means that the picture is complete.

A manager that is slow gets newer values in place of older ones and never delays the universe. The loop ends with the
universe; if the universe ends this manager only, Ended is raised with the reason.

It needs only the standard library of CPython 3.8 or later on little-endian 64-bit Linux. The contract, for other
languages too, is docs/guide/managers.md of Hemiola.

SPDX-License-Identifier: Apache-2.0 OR MIT
"""

import array
import ctypes
import fcntl
import json
import mmap
import os
import platform
import socket
import struct
import sys
import threading
import time

__all__ = ["Manager", "Told", "Refused", "Ended"]

_PREFIX = "hemiola-universe/"
_SLOTS_AT = 192
_PUBLISHED, _CONSUMED = 64 // 4, 128 // 4
_HEADER = struct.Struct("<HHIQIIQQ")
_KINDS = {3: "births", 4: "rows", 5: "deaths", 6: "step"}
_ARRAYS = {2: "i", 3: "f", 4: "d"}
_LOOK_EVERY = 0.1
_FUTEX_WAIT = 0
_SYS_FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98}.get(platform.machine())


class Refused(Exception):
    """No universe runs, or it refuses the manager; the text says why."""


class Ended(Exception):
    """The universe has ended the manager; the text says why."""


class Told:
    """What a manager is told. See the module."""

    __slots__ = ("kind", "step", "element", "entities", "columns", "left")

    def __init__(self, kind, step, element=None, entities=None, columns=None, left=0):
        self.kind, self.step, self.element = kind, step, element
        self.entities, self.columns, self.left = entities, columns, left

    def __repr__(self):
        return f"Told({self.kind!r}, step={self.step}, entities={len(self.entities or ())}, left={self.left})"


class Manager:
    """A manager that has begun. It ends with close(), at the end of `with`, or with the process."""

    def __init__(self, monitor, name="manager", universe=None, queue=None, every_step=False):
        if _SYS_FUTEX is None or sys.byteorder != "little" or ctypes.sizeof(ctypes.c_void_p) != 8:
            raise Refused("a manager needs little-endian 64-bit Linux on a processor that is known here")
        self._elements, self._definition, self._columns = {}, None, []
        self._gone, self._said, self._memory = False, b"", None
        # Reading a count and reading the data are separated by this lock, which orders the two on any processor.
        self._fence = threading.Lock()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._register(monitor, name, universe or os.environ.get("HEMIOLA_RUN") or None, queue, every_step)
        except BaseException:
            self.close()
            raise

    @property
    def columns(self):
        """The names of the columns of births and rows."""
        return [name for name, _, _ in self._columns]

    def next(self, timeout=None):
        """What the manager is told next; None after so many seconds, or when the universe has ended."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            seen = self._words[_PUBLISHED]
            told = self._take(seen)
            if told is not None:
                if told is not True:
                    return told
                continue
            if self._gone:
                if self._said:
                    raise Ended(json.loads(self._said).get("ended", "the universe has ended the manager"))
                return None
            if self._has_ended():
                self._gone = True  # look once more behind the end
                continue
            left = _LOOK_EVERY if until is None else min(_LOOK_EVERY, until - time.monotonic())
            if left <= 0:
                return None
            limit = struct.pack("qq", 0, int(left * 1e9))
            _libc.syscall(_SYS_FUTEX, self._address + 4 * _PUBLISHED, _FUTEX_WAIT, seen, limit, 0, 0)

    def __iter__(self):
        while True:
            told = self.next()
            if told is None:
                return
            yield told

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the manager."""
        self._gone = True
        self._socket.close()

    def _register(self, monitor, name, universe, queue, every_step):
        self._socket.connect("\0" + _PREFIX + _find(universe))
        request = {"name": name, "monitor": monitor, "queue": queue, "every_step": every_step}
        self._socket.sendall(json.dumps({"manage": request}).encode() + b"\n")
        line, descriptors = b"", array.array("i")
        while not line.endswith(b"\n"):
            data, control, _, _ = self._socket.recvmsg(65536, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC)
            for level, kind, with_it in control:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    descriptors.frombytes(with_it[: len(with_it) // 4 * 4])
            if not data:
                raise Refused("the universe ended before it answered")
            line += data
        answer = json.loads(line)
        try:
            if "refused" in answer:
                raise Refused(answer["refused"])
            if answer.get("managed", {}).get("version") != 1 or len(descriptors) != 1:
                raise Refused(f"the answer is invalid: {line!r}")
            self._map(descriptors[0])
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        self._socket.setblocking(False)
        if self._take(self._words[_PUBLISHED]) is not True:  # the names of the columns came before the answer
            raise Refused("the queue does not begin with the columns")

    def _map(self, descriptor):
        size = os.fstat(descriptor).st_size
        sealed = fcntl.fcntl(descriptor, 1034) & 2  # F_GET_SEALS, F_SEAL_SHRINK
        if not sealed or size < _SLOTS_AT:
            raise Refused("the queue is not shared memory of a fixed size")
        self._memory = mmap.mmap(descriptor, size)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._words = memoryview(self._memory).cast("I")
        magic, version, kind, self._slot_size, self._slots = self._words[:5]
        self._stride = (self._slot_size + 8 + 63) // 64 * 64
        sound = self._slots > 0 and self._slot_size >= _HEADER.size and size >= _SLOTS_AT + self._slots * self._stride
        if (magic, version, kind, sound) != (0x314D4548, 1, 2, True):
            raise Refused("the queue is not one of version 1")
        self._consumed = self._words[_CONSUMED]

    def _take(self, published):
        """The next message, True if it was about names, None if there is none."""
        if published == self._consumed:
            return None
        with self._fence:
            pass
        number = (self._consumed + 1) & 0xFFFFFFFF
        at = _SLOTS_AT + number % self._slots * self._stride
        length, found = struct.unpack_from("<II", self._memory, at)
        if found != number or not _HEADER.size <= length <= self._slot_size:
            raise Ended("a message of the universe is damaged")
        message = self._memory[at + 8 : at + 8 + length]
        with self._fence:
            pass
        self._consumed = self._words[_CONSUMED] = number
        return self._decode(message)

    def _decode(self, message):
        kind, version, count, step, element, _, definition, left = _HEADER.unpack_from(message)
        at = _HEADER.size
        if version != 1:
            raise Ended(f"a message of the universe has version {version}, and this program reads version 1")
        if kind == 1:
            self._columns = []
            for _ in range(count):
                ty, _, width, length, _ = struct.unpack_from("<BBHHH", message, at)
                self._columns.append((message[at + 8 : at + 8 + length].decode(), ty, width))
                at += 8 + _padded(length)
            return True
        if kind == 2:
            if definition != self._definition:
                self._elements, self._definition = {}, definition
            for _ in range(count):
                number, length, _ = struct.unpack_from("<IHH", message, at)
                self._elements[number] = message[at + 8 : at + 8 + length].decode()
                at += 8 + _padded(length)
            return True
        if kind == 6:
            return Told("step", step, left=left)
        if kind not in _KINDS:
            raise Ended(f"a message of the universe has the unknown kind {kind}")
        entities = array.array("Q", message[at : at + 8 * count])
        at += 8 * count
        if kind == 5:
            return Told("deaths", step, entities=entities)
        columns = {}
        for name, ty, width in self._columns:
            values = message[at : at + width * count]
            if ty in _ARRAYS:
                columns[name] = array.array(_ARRAYS[ty], values)
            elif ty == 1:
                columns[name] = [value != 0 for value in values]
            else:
                texts = (values[width * row : width * (row + 1)] for row in range(count))
                columns[name] = [text[1 : 1 + text[0]].decode() for text in texts]
            at += _padded(width * count)
        return Told(_KINDS[kind], step, self._elements.get(element, ""), entities, columns)

    def _has_ended(self):
        try:
            while True:
                said = self._socket.recv(4096)
                if not said:
                    return True
                self._said += said
        except BlockingIOError:
            return False
        except OSError:
            return True


def _padded(length):
    return (length + 7) // 8 * 8


def _find(wanted):
    """The name of the universe, which may appear within ten seconds if it is named."""
    until = time.monotonic() + 10
    while True:
        with open("/proc/net/unix") as table:
            names = {line.split(" @", 1)[1].rstrip("\n") for line in table if " @" + _PREFIX in line}
        names = {name[len(_PREFIX) :] for name in names}
        found = [name for name in names if wanted is None or name == wanted or name.startswith(wanted + "/")]
        if len(found) == 1:
            return found[0]
        if len(found) > 1:
            raise Refused("several universes are running; choose one: " + ", ".join(sorted(found)))
        if wanted is None:
            raise Refused("no universe is running; start one, for example: hemiola run examples/12-flockers")
        if time.monotonic() > until:
            raise Refused(f"no running universe is called {wanted!r}; running: " + ", ".join(sorted(names)))
        time.sleep(0.02)


_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.argtypes = [ctypes.c_long, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_char_p]
_libc.syscall.argtypes += [ctypes.c_void_p, ctypes.c_uint32]
