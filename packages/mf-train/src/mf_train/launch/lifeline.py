"""Tells the machines of a run that one of them has failed.

A process that waits in a collective does not notice the end of one on another machine: on CPU it waits for an hour. So
the launchers hold connections to that of machine 0 for as long as they run; one that ends without a word has failed.
Where no connection can be made, nobody is told.
"""

import socket
from contextlib import suppress

from mf_parallel.launch import Machine

_HERE, _DONE = b"+", b"."
"""What a machine says that comes, so that strangers at the port are not missed, and what it says that ends well."""

_STILL_THERE = b"?"

_CONNECT_S = 0.5

_LAST_PORT = 65535


class Lifeline:
    """This machine's end of the connections.

    Attributes:
        is_broken: whether another machine has failed, as far as `look` has found out.
    """

    def __init__(self, machine: Machine):
        """Machine 0 listens on the port behind the one where processes find each other; the others go there."""
        self.is_broken = False
        port = machine.master_port
        self._place = (machine.master_address, port + 1 if port < _LAST_PORT else port - 1)
        self._listener: socket.socket | None = None
        # Whether each has said that it is a machine of this run.
        self._others: dict[socket.socket, bool] = {}
        self._looks_for_first = machine.rank > 0
        if machine.rank == 0:
            with suppress(OSError):
                self._listener = socket.create_server(("", self._place[1]))
                self._listener.setblocking(False)

    def look(self) -> bool:
        """Take connections, and notice those that have ended; returns `is_broken`."""
        self._take_connections()
        if self._looks_for_first:
            with suppress(OSError):
                first = socket.create_connection(self._place, _CONNECT_S)
                first.sendall(_HERE)
                first.setblocking(False)
                self._others[first] = True
                self._looks_for_first = False
        for other in list(self._others):
            said = _HERE
            while said == _HERE:
                said = self._hear(other)
            if said != _STILL_THERE:
                self.is_broken = self.is_broken or (self._others.pop(other) and said != _DONE)
                other.close()
        return self.is_broken

    def _hear(self, other: socket.socket) -> bytes:
        """The next byte of another machine; nothing where it has ended without a word."""
        try:
            said = other.recv(1)
        except BlockingIOError:
            return _STILL_THERE
        except OSError:
            return b""
        if said == _HERE:
            self._others[other] = True
        return said

    def end(self, *, well: bool) -> None:
        """Close all connections.

        Args:
            well: whether this machine did its part.
        """
        self._take_connections()
        for other in self._others:
            with suppress(OSError):
                other.sendall(_DONE if well else b"")
            other.close()
        if self._listener is not None:
            self._listener.close()

    def _take_connections(self) -> None:
        """Accept every connection that waits for it."""
        if self._listener is None:
            return
        with suppress(BlockingIOError):
            while True:
                other, _ = self._listener.accept()
                other.setblocking(False)
                self._others[other] = False
