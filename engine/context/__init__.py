"""Related code of other files, for the denoiser to read before the prefix: one source a file, within a budget."""

from engine.context.gather import Context, LeftOut, Piece, Workspace, gather

__all__ = ["Context", "LeftOut", "Piece", "Workspace", "gather"]
