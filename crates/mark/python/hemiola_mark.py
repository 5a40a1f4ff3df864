"""Marks the jobs of a program's tasks, for whoever records it; and does nothing where nobody does.

A program says what its periodic tasks are and when their jobs begin and end. Under `hemiola trace -- PROGRAM` that goes
into the recording, beside what the kernel did. Started without it, every call is a comparison.

    import hemiola_mark

    control = hemiola_mark.Task("control", period_ns=10_000_000)
    release = time.monotonic_ns()
    while running:
        ...                            # sleep until `release`
        with control.job(release):
            ...                        # the work
            control.mark("sensor", value)
        release += 10_000_000

All times are nanoseconds on CLOCK_MONOTONIC, as time.monotonic_ns() has them. A task belongs to the thread that begins
its first job; after a fork the child makes its own. start() and stop() limit the recording to what happens between
them; trigger(why) tells a flight recorder that now is what it waits for.

The standard library of CPython 3.8 or later on 64-bit Linux is all it needs. How it finds the recorder: the environment
variable HEMIOLA_TRACE names the shared memory, as one or more paths separated by ':', of which the first that is such
memory counts. What lies where in it is drawn in crates/rt/src/shared/layout.md of Hemiola.

SPDX-License-Identifier: Apache-2.0 OR MIT
"""

import contextlib
import ctypes
import fcntl
import mmap
import os
import platform
import sys
import threading
import time

__all__ = ["Task", "start", "stop", "trigger", "is_recorded"]

_SLOTS_AT = 192
_ENTRIES_AT = 1216
_NAMES_MAX = 32
_NEVER = 2**64 - 1

# Python has no compare-and-swap. This call of the kernel is one: it puts the caller's thread number into a word that is
# 0, and refuses any other (futex(2), FUTEX_TRYLOCK_PI).
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
        # Filling something and saying so are separated by giving this lock back and taking it again: on any processor
        # that orders the two. One thread may take it twice: a signal handler may mark too.
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
    def _map(path):
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
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
        """Takes what is free at byte `at`, for the calling thread."""
        if self.narrow[at // 4] != 0:
            return False
        word = ctypes.c_void_p(self.address + at)
        return _libc.syscall(_SYS_FUTEX, word, _FUTEX_TRYLOCK_PI, 0, None, None, 0) == 0

    def text(self, at, text, size):
        data = text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore").encode("utf-8").ljust(size, b"\0")
        for index in range(0, size, 8):
            self.wide[(at + index) // 8] = int.from_bytes(data[index : index + 8], "little")

    def say(self, at, value):
        """Says that what was filled within the lock is whole."""
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
            self.say(at + 4, 1)
            return
        with self.lock:
            self.narrow[68 // 4] = (self.narrow[68 // 4] + 1) & 0xFFFFFFFF


_libc = ctypes.CDLL(None, use_errno=False)
_board = _Board.find()


class Task:
    """A task: what is activated again and again, in one thread at a time.

    The deadline counts from the release and is the period where it is 0; a period of 0 is none, and with both 0 there
    is no deadline. 63 tasks may be marked at one time, each with 32 names of marks.
    """

    def __init__(self, name, period_ns=0, deadline_ns=0):
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
            board.wide[(lane + 16) // 8] = min(period_ns, _NEVER)
            board.wide[(lane + 24) // 8] = min(deadline_ns, _NEVER)
            board.text(lane + 32, name, 32)
            self._capacity = 1 << (((board.slot_size - _ENTRIES_AT) // 32).bit_length() - 1)
            self._published = board.narrow[(lane + 64) // 4]
        board.say(lane + 4, 1)
        self._lane = lane

    def begin(self, release_ns=0):
        """A job begins that was released at `release_ns`; 0: just now."""
        if self._lane is None:
            return
        now = time.monotonic_ns()
        release_ns = release_ns or now
        self._open = True
        self._jobs = (self._jobs + 1) & 0xFFFFFFFF
        self._due_ns = min(release_ns + self._deadline_ns, _NEVER) if self._deadline_ns else _NEVER
        self._push(now, 1, release_ns)

    def end(self):
        """The job that runs ends; without one, nothing happens."""
        if self._lane is None or not self._open:
            return
        self._open = False
        self._push(time.monotonic_ns(), 2, self._due_ns)

    @contextlib.contextmanager
    def job(self, release_ns=0):
        """A job from begin to end, for `with`."""
        self.begin(release_ns)
        try:
            yield self
        finally:
            self.end()

    def mark(self, name, value=0):
        """Something happens that has a name and a value, a whole number of 64 bits."""
        if self._lane is None:
            return
        index = self._names.get(name)
        if index is None:
            index = len(self._names)
            if index == _NAMES_MAX:
                return
            self._names[name] = index
            with _board.lock:
                _board.text(self._lane + 192 + 32 * index, name, 32)
            _board.say(self._lane + 68, index + 1)
        self._push(time.monotonic_ns(), 15 | index << 16, value & _NEVER)

    def close(self):
        """The task is over; its place is free for another."""
        if self._lane is not None and self._pid == os.getpid():
            _board.say(self._lane + 4, 2)
        self._lane = None

    def _push(self, now, what, value):
        lane, board = self._lane, _board
        with board.lock:
            if not self._placed:
                self._placed = True
                board.narrow[(lane + 12) // 4] = threading.get_native_id()
            number = (self._published + 1) & 0xFFFFFFFF
            if (number - board.narrow[(lane + 128) // 4] - 1) & 0xFFFFFFFF >= self._capacity:
                board.wide[(lane + 72) // 8] = (board.wide[(lane + 72) // 8] + 1) & _NEVER
                return
            at = (lane + _ENTRIES_AT + (number & (self._capacity - 1)) * 32) // 8
            board.wide[at] = now
            board.wide[at + 1] = what | ((self._jobs - 1) & 0xFFFFFFFF) << 32
            board.wide[at + 2] = value
            board.wide[at + 3] = 0
            self._published = number
        board.say(lane + 64, number)


def is_recorded():
    """Whether a recorder is there."""
    return _board is not None


def start():
    """The recording begins, or goes on. It runs from the beginning unless the recorder was told to wait."""
    if _board is not None:
        _board.call(1, "")


def stop():
    """The recording pauses."""
    if _board is not None:
        _board.call(2, "")


def trigger(why):
    """A flight recorder keeps what led here, with the reason."""
    if _board is not None:
        _board.call(3, why)
