"""Marks the jobs of a program's tasks for a recorder, and does nothing without one.

A program declares its periodic tasks and marks when their jobs begin and end. Under `hemiola trace -- PROGRAM` the
marks become part of the recording, beside what the kernel did. Without a recorder, every call is a comparison.

    import hemiola_mark

    control = hemiola_mark.Task("control", period_ns=10_000_000)
    release = time.monotonic_ns()
    while running:
        ...                            # sleep until `release`
        with control.job(release):
            ...                        # the work
            control.mark("sensor", value)
        release += 10_000_000

All times are nanoseconds on CLOCK_MONOTONIC, like time.monotonic_ns(). A task belongs to the thread that begins its
first job; after a fork the child creates its own tasks. start() and stop() limit the recording to the time between
them; trigger(why) makes a flight recorder keep its recording.

It needs only the standard library of CPython 3.8 or later on 64-bit Linux. The recorder is found through the
environment variable HEMIOLA_TRACE, which names the shared memory as one or more paths separated by ':'; the first valid
one is used. The layout of the memory is drawn in crates/rt/src/shared/layout.md of Hemiola.

SPDX-License-Identifier: Apache-2.0 OR MIT
"""

import contextlib
import ctypes
import fcntl
import math
import mmap
import operator
import os
import platform
import socket
import struct
import sys
import threading
import time

__all__ = ["Task", "start", "stop", "trigger", "control", "is_recorded"]

_SLOTS_AT = 192
_ENTRIES_AT = 1216
_NAMES_MAX = 32
_NEVER = 2**64 - 1

# Python has no compare-and-swap, but this system call is one: it stores the caller's thread number in a word that is 0,
# and refuses any other (futex(2), FUTEX_TRYLOCK_PI).
_FUTEX_TRYLOCK_PI = 8
_SYS_FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98}.get(platform.machine())


class _Board:
    """The recorder's memory."""

    def __init__(self, memory, slot_size, slots):
        self.narrow = memoryview(memory).cast("I")
        self.wide = memoryview(memory).cast("Q")
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self.slot_size = slot_size
        self.slots = slots
        # Writing data and publishing it are separated by releasing and taking this lock, which orders the two on any
        # processor. A thread may take it twice, because a signal handler may mark too.
        self.lock = threading.RLock()

    @staticmethod
    def find():
        if _SYS_FUTEX is None or sys.byteorder != "little" or ctypes.sizeof(ctypes.c_void_p) != 8:
            return None
        for path in os.environ.get("HEMIOLA_TRACE", "").split(":"):
            board = _Board._map(path) if path else None
            if board:
                return board
        return None

    @staticmethod
    def _open(path):
        try:
            return os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            # A program that has become another user may not open the memory, but still has the descriptor.
            folder = "/proc/self/fd/"
            if not path.startswith(folder):
                raise
            return os.dup(int(path[len(folder) :]))

    @staticmethod
    def _map(path):
        try:
            fd = _Board._open(path)
        except (OSError, ValueError):
            return None
        try:
            sealed = fcntl.fcntl(fd, 1034) & 2  # F_GET_SEALS, F_SEAL_SHRINK
            size = os.fstat(fd).st_size
            if not sealed or size < _SLOTS_AT:
                return None
            memory = mmap.mmap(fd, size)
        except OSError:
            return None
        finally:
            os.close(fd)
        header = memoryview(memory).cast("B")[:24].cast("I")
        slot_size, slots = header[3], header[5]
        sound = (
            list(header[:3]) == [0x314D4548, 1, 4]
            and slot_size % 64 == 0
            and slot_size >= _ENTRIES_AT + 32
            and 0 < slots <= (size - _SLOTS_AT) // slot_size
        )
        return _Board(memory, slot_size, slots) if sound else None

    def take(self, at):
        """Claims the place at byte `at` for the calling thread; false if it is not free."""
        if self.narrow[at // 4] != 0:
            return False
        word = ctypes.c_void_p(self.address + at)
        return _libc.syscall(_SYS_FUTEX, word, _FUTEX_TRYLOCK_PI, 0, None, None, 0) == 0

    def text(self, at, text, size):
        for index, word in enumerate(_words(text, size)):
            self.wide[at // 8 + index] = word

    def publish(self, at, value):
        """Publishes what was written while the lock was held."""
        with self.lock:
            self.narrow[at // 4] = value

    def call(self, what, text):
        now = time.monotonic_ns()
        for place in range(min(self.slot_size // 64, 64)):
            at = _SLOTS_AT + place * 64
            if not self.take(at):
                continue
            with self.lock:
                self.wide[(at + 8) // 8] = now
                self.narrow[(at + 16) // 4] = what
                self.narrow[(at + 20) // 4] = os.getpid()
                self.text(at + 24, text, 40)
            self.publish(at + 4, 1)
            return
        with self.lock:
            self.narrow[68 // 4] = (self.narrow[68 // 4] + 1) & 0xFFFFFFFF


def _words(text, size):
    """The text as 64-bit words, filled with zeros, or cut off at a character boundary."""
    data = _cut(_text(text), size).encode("utf-8").ljust(size, b"\0")
    return [int.from_bytes(data[index : index + 8], "little") for index in range(0, size, 8)]


def _cut(text, size):
    """The text, cut off at a character boundary if it has more bytes in UTF-8."""
    return text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


# Values are of any type, and their methods may raise anything. Nothing of it may end the program.


def _text(value):
    """str(value), or nothing if that fails."""
    try:
        return str(value)
    except Exception:
        return ""


def _nanos(time_ns):
    """A time as a 64-bit word; a float is cut to a whole number, what is no number counts as 0."""
    try:
        return max(0, min(int(time_ns), _NEVER))
    except Exception:
        return 0


def _value(value):
    """The kind of an entry for this value, and its two words."""
    try:
        whole = operator.index(value)
        if -(2**63) <= whole < 2**63:
            return 17, whole & _NEVER, 0
        if 0 <= whole <= _NEVER:
            return 16, whole, 0
    except Exception:
        whole = None
    if not isinstance(value, (str, bytes)):
        try:
            return 18, _float(value), 0
        except OverflowError:
            if whole is not None:
                return 18, _float(math.inf if whole > 0 else -math.inf), 0
        except Exception:
            pass
    return (19, *_words(value, 16))


def _float(value):
    """The bits of the float of this value."""
    return int.from_bytes(struct.pack("<d", float(value)), "little")


_libc = ctypes.CDLL(None, use_errno=False)
_board = _Board.find()


class Task:
    """A task, which runs one job after another, in one thread at a time.

    The deadline counts from the release; if it is 0, the period is used. A period of 0 means no period; if both are 0,
    there is no deadline. At most 63 tasks can be marked at one time, each with 32 mark names; the recorder
    reports the number of marks with further names.
    """

    def __init__(self, name, period_ns=0, deadline_ns=0):
        period_ns, deadline_ns = _nanos(period_ns), _nanos(deadline_ns)
        self._lane = None
        self._deadline_ns = deadline_ns or period_ns
        self._due_ns = _NEVER
        self._open = False
        self._placed = False
        self._jobs = 0
        self._names = {}
        board = _board
        if board is None:
            return
        lanes = (_SLOTS_AT + slot * board.slot_size for slot in range(1, board.slots))
        lane = next((lane for lane in lanes if board.take(lane)), None)
        with board.lock:
            if lane is None:
                board.narrow[64 // 4] = (board.narrow[64 // 4] + 1) & 0xFFFFFFFF
                return
            self._pid = os.getpid()
            board.narrow[(lane + 8) // 4] = self._pid
            board.narrow[(lane + 12) // 4] = threading.get_native_id()
            board.wide[(lane + 16) // 8] = period_ns
            board.wide[(lane + 24) // 8] = deadline_ns
            board.text(lane + 32, name, 32)
            self._capacity = 1 << (((board.slot_size - _ENTRIES_AT) // 32).bit_length() - 1)
            self._published = board.narrow[(lane + 64) // 4]
        board.publish(lane + 4, 1)
        self._lane = lane

    def begin(self, release_ns=0):
        """Begins a job that was released at `release_ns`, or just now if it is 0."""
        if self._lane is None:
            return
        now = time.monotonic_ns()
        release_ns = _nanos(release_ns) or now
        self._open = True
        self._jobs = (self._jobs + 1) & 0xFFFFFFFF
        self._due_ns = min(release_ns + self._deadline_ns, _NEVER) if self._deadline_ns else _NEVER
        self._push(now, 1, release_ns)

    def end(self):
        """Ends the running job; does nothing without one."""
        if self._lane is None or not self._open:
            return
        self._open = False
        self._push(time.monotonic_ns(), 2, self._due_ns)

    @contextlib.contextmanager
    def job(self, release_ns=0):
        """Runs a job from begin to end, for `with`."""
        self.begin(release_ns)
        try:
            yield self
        finally:
            self.end()

    def mark(self, name, value=0):
        """Records an event with a name and a value: any number, or a text of at most 16 bytes of UTF-8.

        A whole number beyond 64 bits becomes the nearest float, which is infinite beyond 1.8e308, and a value that is
        no number becomes the text of str(value). No value raises an exception."""
        if self._lane is None:
            return
        name = _text(name)
        index = self._names.get(name)
        if index is None:
            # Names that agree in what is kept of them are the same name.
            name = _cut(name, 32).partition("\0")[0]
            index = self._names.get(name)
        if index is None:
            index = len(self._names)
            if index == _NAMES_MAX:
                with _board.lock:
                    self._count(80)
                return
            self._names[name] = index
            with _board.lock:
                _board.text(self._lane + 192 + 32 * index, name, 32)
            _board.publish(self._lane + 68, index + 1)
        kind, a, b = _value(value)
        self._push(time.monotonic_ns(), kind | index << 16, a, b)

    def close(self):
        """Ends the task and frees its lane."""
        if self._lane is not None and self._pid == os.getpid():
            _board.publish(self._lane + 4, 2)
        self._lane = None

    def _count(self, at):
        """Adds one to a count of the lane that only this thread writes."""
        at = (self._lane + at) // 8
        _board.wide[at] = (_board.wide[at] + 1) & _NEVER

    def _push(self, now, what, a, b=0):
        lane, board = self._lane, _board
        with board.lock:
            if not self._placed:
                self._placed = True
                board.narrow[(lane + 12) // 4] = threading.get_native_id()
            number = (self._published + 1) & 0xFFFFFFFF
            if (number - board.narrow[(lane + 128) // 4] - 1) & 0xFFFFFFFF >= self._capacity:
                self._count(72)
                return
            at = (lane + _ENTRIES_AT + (number & (self._capacity - 1)) * 32) // 8
            board.wide[at] = now
            board.wide[at + 1] = what | ((self._jobs - 1) & 0xFFFFFFFF) << 32
            board.wide[at + 2] = a
            board.wide[at + 3] = b
            self._published = number
        board.publish(lane + 64, number)


def is_recorded():
    """Whether there is a recorder."""
    return _board is not None


def start():
    """Starts or continues the recording. The recorder records from the beginning unless it was told to wait."""
    if _board is not None:
        _board.call(1, "")


def stop():
    """Pauses the recording."""
    if _board is not None:
        _board.call(2, "")


def trigger(why):
    """Makes a flight recorder keep its recording up to now, with this reason."""
    if _board is not None:
        _board.call(3, why)


def _connected(place):
    """A connection to the socket at a path, or a copy of the inherited one with the number N of "fd:N"."""
    if place.startswith("fd:"):
        connection = socket.socket(fileno=os.dup(int(place[3:])))
        # settimeout() would also make the original non-blocking, which others use.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 5, 0))
        return connection
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(5)
        connection.connect(place)
    except BaseException:
        connection.close()
        raise
    return connection


def control(place, request):
    """Sends a request to the recording that was started with `hemiola trace --control SOCKET`, from any process,
    recorded or not, and waits for its answer, at most five seconds. Returns whether it was carried out.

    The place is the path of the socket, or "fd:N" for the other end of an inherited connection, which one thread uses
    at a time. Requests are "start", "stop", "mark TEXT", "trigger TEXT" and "snapshot NAME". They count from the time
    of the call.
    """
    if "\n" in request:
        return False
    try:
        with _connected(place) as connection:
            connection.sendall(f"{time.monotonic_ns()} {request}\n".encode("utf-8", "replace"))
            answer = b""
            # To the end of the line, and not beyond it.
            while not answer.endswith(b"\n"):
                byte = connection.recv(1)
                if not byte:
                    break
                answer += byte
            return answer == b"ok\n"
    except (OSError, ValueError):
        return False
