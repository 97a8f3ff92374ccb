"""What a batch stores side by side, what one after the other, and how it takes the room there is."""

import itertools
from collections.abc import Callable, Sequence

from broker.errors import BrokerError, QueueFull
from broker.lanes.messages import Draft, draft_lane
from broker.queues.kinds import Published
from broker.queues.queue import Queue


def fill(
    numbers: Sequence[int],
    *,
    store: Callable[[Sequence[int]], None],
    outcomes: dict[int, Published | BrokerError],
) -> list[int]:
    """Store what there is room for, in order: behind one that finds none, none is stored. Returns what is left.

    Those before it may have given room back that they did not need, so from there it is tried again.
    """
    left = list(numbers)
    while left:
        before = len(left)
        while left:
            store(left[:1])
            if isinstance(outcomes[left[0]], QueueFull):
                break
            left.pop(0)
        if len(left) == before:
            break
    return left


def in_order(queue: Queue, drafts: Sequence[Draft]) -> list[list[int]]:
    """The numbers of drafts in groups, those together whose order matters: of one lane, or of one primary key."""
    group_of: dict[str, list[int]] = {}
    for number, draft in enumerate(drafts):
        names = [f"lane {draft_lane(queue, draft).sk}"] + ([f"key {draft.primary}"] if draft.primary else [])
        joined = {id(group): group for name in names if (group := group_of.get(name)) is not None}
        together = sorted([number, *itertools.chain.from_iterable(joined.values())])
        group_of |= {name: together for name, group in group_of.items() if id(group) in joined}
        group_of |= dict.fromkeys(names, together)
    return list({id(group): group for group in group_of.values()}.values())
