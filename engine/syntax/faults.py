"""Which faults a fill has brought into a text: those after it that were not there before."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from engine.syntax import scan
from engine.syntax.tree import FaultKind, SyntaxFault, SyntaxTree


def new_faults(before: SyntaxTree, after: SyntaxTree, start: int, old_end: int, new_end: int) -> list[SyntaxFault]:
    """Faults of `after` that were not in `before`, whose [start, old_end) was replaced by what is now [start, new_end).

    A fault is old if it stands at the same place outside the hole, or if it continues one that began on an earlier
    line or below the hole's lines: such an error node may shift when text comes in. Each fault of `before` accounts for
    one of `after`, so that there are never more than there were. A fault that the unfilled hole itself made, on its
    own line, accounts for none: filling was to mend it. Where an older error swallows the whole hole, the grammar
    cannot see into it, so brackets that the new text leaves open or closes for nothing count as faults.
    Offsets in code points.
    """
    shift = new_end - old_end
    begin = scan.line_start(before.text, start)
    bottom = scan.line_end(before.text, old_end)

    def moved(offset: int) -> int:
        return offset if offset <= start else max(start, offset + shift)

    old = list(before.errors())

    def taken(matches: Callable[[SyntaxFault], bool]) -> bool:
        """Whether an old fault that nothing was matched with yet matches; it then counts as matched."""
        place = next((place for place, fault in enumerate(old) if matches(fault)), None)
        if place is not None:
            del old[place]
        return place is not None

    def same(fault: SyntaxFault, was: SyntaxFault) -> bool:
        apart = was.end < start or was.start > old_end
        return apart and (was.kind, moved(was.start), moved(was.end)) == (fault.kind, fault.start, fault.end)

    def continued(fault: SyntaxFault, was: SyntaxFault) -> bool:
        elsewhere = was.since < begin or was.since > bottom
        return elsewhere and moved(was.since) <= fault.end and fault.since <= moved(was.end)

    left = [fault for fault in after.errors() if not taken(partial(same, fault))]
    found = []
    for fault in left:
        in_new_text = start <= fault.since and fault.end <= new_end and start < new_end
        if in_new_text or not taken(partial(continued, fault)):
            found.append(fault)
    return found or _unseen(before, after, start, old_end, new_end)


def _unseen(before: SyntaxTree, after: SyntaxTree, start: int, old_end: int, new_end: int) -> list[SyntaxFault]:
    """Brackets without partners in the new text, where an error that was there before hides them."""
    hidden = any(
        fault.kind == FaultKind.ERROR and fault.start <= start and fault.end >= new_end for fault in after.errors()
    ) and any(fault.start <= start and fault.end >= old_end for fault in before.errors())
    if not hidden or start == new_end:
        return []
    lexis = scan.lexis_of(after.language)
    state = scan.state_at(after.text, after.scan_start(start), start, lexis)
    if state.inside:
        return []
    lone = scan.unclosed(after.text, start, new_end, lexis)
    open_before = [bracket for _, bracket in state.brackets]
    faults = []
    for token in lone:
        if token.kind is scan.Kind.CLOSE and open_before and open_before[-1] == scan.PAIRS[token.text]:
            open_before.pop()
            continue
        faults.append(SyntaxFault(FaultKind.ERROR, token.start, token.end, token.text, token.start))
    return faults
