# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's gdbstub, spoken to in gdb's remote serial protocol: breakpoints, registers, memory."""
import os
import select
import socket
import struct
import time

GENERAL = ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"] + [f"r{i}" for i in range(8, 16)] + ["rip"]


class Gone(Exception):
    """The guest has ended."""


class Stub:
    def __init__(self, path, timeout=60):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.pending = b""
        end = time.monotonic() + timeout
        while True:
            try:
                self.socket.connect(path)
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def _read(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise Gone
        self.pending += data

    def _packet(self):
        while True:
            start = self.pending.find(b"$")
            end = self.pending.find(b"#", start + 1)
            if start >= 0 and 0 <= end <= len(self.pending) - 3:
                packet, self.pending = self.pending[start + 1:end], self.pending[end + 3:]
                self.socket.sendall(b"+")
                return packet.decode()
            self._read()

    def _send(self, text):
        self.socket.sendall(b"$%s#%02x" % (text.encode(), sum(text.encode()) & 0xff))

    def ask(self, text):
        try:
            self._send(text)
            answer = self._packet()
        except (BrokenPipeError, ConnectionResetError):
            raise Gone
        if answer[:1] in ("W", "X"):
            raise Gone
        return answer

    def breakpoint(self, addr, there=True):
        assert self.ask(f"{'Z' if there else 'z'}0,{addr:x},1") == "OK"

    def step(self):
        """One instruction: QEMU would stop again at a breakpoint where it stands."""
        assert self.ask("s").startswith("T05")

    def _cpu_seconds(self):
        pid = struct.unpack("3i", self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        try:
            with open(f"/proc/{pid}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            raise Gone
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def go_on(self, patience):
        """Until a breakpoint is hit; False: none was, for so many seconds of QEMU's own time, or while it did nothing."""
        begun, waited = self._cpu_seconds(), 0
        try:
            self._send("c")
            while not self.pending.count(b"#"):
                if select.select([self.socket], [], [], patience / 4)[0]:
                    self._read()
                    continue
                # a busy host may not let it run
                waited += patience / 4
                ran = self._cpu_seconds() - begun
                if ran >= patience or waited >= patience > 10 * ran or waited >= 5 * patience:
                    self.socket.sendall(b"\x03")
                    self._packet()
                    return False
            stop = self._packet()
        except (BrokenPipeError, ConnectionResetError):
            raise Gone
        if stop[0] in "WX":
            raise Gone
        return True

    def let_go(self):
        try:
            self.ask("D")
        except Gone:
            pass

    def registers(self):
        data = bytes.fromhex(self.ask("g")[:len(GENERAL) * 16])
        return {r: int.from_bytes(data[i * 8:i * 8 + 8], "little") for i, r in enumerate(GENERAL)}

    def memory(self, addr, size):
        """What of it is mapped, from its beginning."""
        out = b""
        while len(out) < size:
            answer = self.ask(f"m{addr + len(out):x},{min(1024, size - len(out)):x}")
            if answer.startswith("E"):
                break
            out += bytes.fromhex(answer)
        return out

    def word(self, addr):
        data = self.memory(addr, 8)
        return int.from_bytes(data, "little") if len(data) == 8 else None
