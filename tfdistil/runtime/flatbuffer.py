"""Reading flatbuffers whose bytes nobody vouches for: every offset is checked before it is used."""

from __future__ import annotations

from struct import Struct, error, unpack_from

_U16, _I32, _U32 = Struct("<H"), Struct("<i"), Struct("<I")
_NUMBERS = {kind: Struct(f"<{kind}") for kind in "bBiIQ"}


class DamagedFlatbuffer(ValueError):
    """An offset, a length or a table that does not fit into the bytes."""


class Flatbuffer:
    """The bytes of a flatbuffer.

    Vectors may lie on top of each other, so that a small file could stand for endless data: all
    that is read together may be a few times as long as the file, and no longer.

    Args:
        data: the bytes.
    """

    def __init__(self, data: bytes):
        self.data = data
        self._left = 8 * len(data) + 1024
        self._layouts: dict[int, tuple[int, ...]] = {}

    def root(self) -> Table:
        """The first table."""
        return Table(self, self.follow(0))

    def follow(self, at: int) -> int:
        """Where the unsigned offset at ``at`` points to."""
        return at + self.read(_U32, at)

    def read(self, kind: Struct, at: int) -> int:
        """A number."""
        try:
            return kind.unpack_from(self.data, at)[0]
        except error:
            raise DamagedFlatbuffer(f"nothing can be read at byte {at}") from None

    def layout(self, at: int) -> tuple[int, ...]:
        """Where the fields of the table at ``at`` lie in it; 0 for those it does not have."""
        vtable = at - self.read(_I32, at)
        found = self._layouts.get(vtable)
        if found is None:
            if vtable < 0:
                raise DamagedFlatbuffer(f"the table at byte {at} has its layout at {vtable}")
            size = self.read(_U16, vtable)
            found = self.vector("H", vtable + 4, max(0, size - 4) // 2)
            self._layouts[vtable] = found
        return found

    def pointed(self, at: int, kind: str) -> tuple[int, ...]:
        """The vector that the offset at ``at`` points to."""
        vector = self.follow(at)
        return self.vector(kind, vector + 4, self.read(_U32, vector))

    def vector(self, kind: str, at: int, count: int) -> tuple[int, ...]:
        """``count`` numbers from ``at`` on."""
        self._left -= 4 * count
        if self._left < 0:
            raise DamagedFlatbuffer("its vectors hold more than the file is long")
        try:
            return unpack_from(f"<{count}{kind}", self.data, at)
        except error:
            raise DamagedFlatbuffer(
                f"{count} numbers at byte {at} of {len(self.data)} bytes"
            ) from None


class Table:
    """A table: its fields by their number in the schema. A field that is absent has its default.

    Attributes:
        at: where it begins. The same place is the same table.
    """

    __slots__ = ("_buffer", "_fields", "at")

    def __init__(self, buffer: Flatbuffer, at: int):
        self._buffer, self.at = buffer, at
        self._fields = buffer.layout(at)

    def number(self, field: int, kind: str, default: float = 0) -> int:
        """A scalar, ``kind`` as `struct` names it."""
        at = self._place(field)
        return self._buffer.read(_NUMBERS[kind], at) if at else default  # type: ignore[return-value]

    def table(self, field: int) -> Table | None:
        """A table."""
        at = self._place(field)
        return Table(self._buffer, self._buffer.follow(at)) if at else None

    def tables(self, field: int) -> list[Table]:
        """A vector of tables; empty where there is none."""
        at = self._place(field)
        if not at:
            return []
        buffer = self._buffer
        first = buffer.follow(at) + 4
        offsets = buffer.pointed(at, "I")
        return [Table(buffer, first + 4 * n + offset) for n, offset in enumerate(offsets)]

    def numbers(self, field: int, kind: str) -> tuple[int, ...]:
        """A vector of scalars; empty where there is none."""
        at = self._place(field)
        return self._buffer.pointed(at, kind) if at else ()

    def content(self, field: int) -> memoryview:
        """A vector of bytes as it lies there; empty where there is none."""
        at = self._place(field)
        if not at:
            return memoryview(b"")
        buffer = self._buffer
        first = buffer.follow(at) + 4
        end = first + buffer.read(_U32, first - 4)
        if end > len(buffer.data):
            raise DamagedFlatbuffer(f"bytes {first} to {end} of {len(buffer.data)}")
        return memoryview(buffer.data)[first:end]

    def text(self, field: int) -> str:
        """A string; what is no UTF-8 in it is U+FFFD."""
        return bytes(self.content(field)).decode("utf-8", "replace")

    def _place(self, field: int) -> int:
        """Where a field is; 0 where the table does not have it."""
        fields = self._fields
        offset = fields[field] if field < len(fields) else 0
        return self.at + offset if offset else 0
