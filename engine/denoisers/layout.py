"""Where things stand in a block-causal denoiser's positions, the same in training and in use. Imports no torch.

    [ suffix, right-aligned ][ context and prefix, growing ][ canvas: anchor, slots ]
    0            MAX_SUFFIX  MAX_SUFFIX + ...

The suffix is encoded by itself, before the prefix, so that positions keep the order that a causal base was trained
on, and so that neither's cache depends on the other: typing extends the prefix and leaves the suffix as it is.
"""

MAX_SUFFIX = 96  # tokens, the start token included
CANVAS_SIZES = (6, 8, 12, 16, 24, 32)  # slots that a canvas is trained with; any number up to the last will do

_STEP = 256  # tokens


def last_tokens(tokens: list[int], room: int) -> list[int]:
    """The end of a text that is longer than `room` tokens. Its start moves in coarse steps, so that typing only extends
    what was encoded."""
    over = len(tokens) - room
    return tokens if over <= 0 else tokens[min(-(-over // _STEP) * _STEP, len(tokens) - 1) :]
