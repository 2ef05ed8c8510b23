"""What of other files a fill has read, and why: for a person, and for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.context import Context


def lines(context: Context) -> list[str]:
    """A line a piece, then a line for each thing that was left out."""
    if not context.pieces and not context.left_out:
        return ["no code of other files was read: nothing related was found"]
    found = [
        f"read {piece.path}:{piece.lines[0]}-{piece.lines[1]} ({piece.tokens} tokens): {piece.reason}"
        for piece in context.pieces
    ]
    return found + [f"left out {left.what} ({left.source}): {left.why}" for left in context.left_out]


def as_dict(context: Context) -> dict[str, Any]:
    return {
        "tokens": sum(piece.tokens for piece in context.pieces),
        "read": [
            {
                "path": piece.path,
                "lines": list(piece.lines),
                "tokens": piece.tokens,
                "source": piece.source,
                "reason": piece.reason,
            }
            for piece in context.pieces
        ],
        "left_out": [{"what": left.what, "source": left.source, "why": left.why} for left in context.left_out],
    }
