"""Whatever happens in whatever order, and whichever answers are lost: each upload reaches each subscription once."""

import contextlib
import random
from types import ModuleType

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.functions.documents import DocumentClient
from tests.processes import Process
from tests.worlds import ManualClock, World
from tools.calls import Call

steps = st.lists(
    st.sampled_from(
        [
            "upload",
            "upload",
            "deliver",
            "deliver",
            "resubscribe",
            "delete source",
            "delete copies",
            "purge",
            "disable",
            "enable",
        ]
    ),
    min_size=4,
    max_size=14,
)


class Run:
    """One source, one subscriber that stays, one that comes and goes; and what they must get."""

    def __init__(self, world: World, clock: ManualClock) -> None:
        world.wipe()
        self.world, self.clock = world, clock
        self.process = Process(clock=clock)
        platform_key = f"platform.{world.platform_key}"
        owner, other = (self.process.tenant(name, platform_key=platform_key) for name in ("owner", "other"))
        self.source = DocumentClient(self.process, owner.key, "source").create(allow_subscriptions=True)
        self.steady, self.fickle = (DocumentClient(self.process, other.key, name).create() for name in ("s", "f"))
        self.steady.subscribe(self.source)
        self.subscribed = False
        self.uploaded: list[str] = []
        self.due: list[str] = []
        self.possible: list[str] = []
        self.got: dict[str, list[str]] = {"s": [], "f": []}

    def step(self, name: str) -> None:
        getattr(self, name.replace(" ", "_"))()
        self.clock.advance(seconds=7)

    def upload(self) -> None:
        name = f"d{len(self.uploaded)}"
        self.source.upload(f"name\n{name}\n", name=name)
        self.uploaded.append(name)
        if self.subscribed:
            self.due.append(name)

    def deliver(self) -> None:
        with contextlib.suppress(ExceptionGroup):  # failures of storage that outlast the retries
            self.process.run("document_deliver")

    def resubscribe(self) -> None:
        """Subscribe, or end the subscription: what was still to be delivered then may or may not have been."""
        if self.subscribed:
            assert self.fickle.call("subscription_delete").status == 204
            self.possible += self.due
            self.due = []
        else:
            self.fickle.subscribe(self.source)
        self.subscribed = not self.subscribed

    def delete_source(self) -> None:
        for document in self.source.listed()[:1]:
            self.source.delete(document["document_id"])

    def delete_copies(self) -> None:
        for client in (self.steady, self.fickle):
            for document in client.listed():
                assert client.download(document["document_id"]) == f"name\n{document['name']}\n".encode()
                self.got[client.queue].append(document["name"])
                client.delete(document["document_id"])

    def purge(self) -> None:
        assert self.source.call("queue_purge").status == 202

    def disable(self) -> None:
        assert self.steady.call("queue_disable").status == 200

    def enable(self) -> None:
        assert self.steady.call("queue_enable").status == 200

    def finish(self) -> None:
        self.enable()
        self.clock.advance(seconds=7)
        for _ in range(3):
            self.deliver()
        self.delete_copies()
        assert sorted(self.got["s"]) == sorted(self.uploaded)
        fickle = self.got["f"]
        assert len(fickle) == len(set(fickle))
        assert set(self.due) <= set(fickle) <= {*self.due, *self.possible}
        state = self.steady.subscription()
        assert (state["state"], state["pending"], state["delivered"]) == ("active", 0, len(self.uploaded))
        left = [row["pk"]["S"] for row in self.world.rows(self.world.state_table)]
        assert [pk for pk in left if pk.startswith(("outbox", "copies"))] == []
        kept = {f"document/{self.source.queue_id}/{document['document_id']}" for document in self.source.listed()}
        assert set(self.world.objects()) == kept


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(plan=steps, seed=st.integers(0, 2**16))
def test_each_upload_reaches_each_subscription_once(
    world: World, faults: ModuleType, plan: list[str], seed: int
) -> None:
    run = Run(world, ManualClock())
    dice = random.Random(seed)
    kinds = [faults.LOST, faults.SERVER_ERROR_AFTER, faults.THROTTLED, faults.CONFLICT]

    def choose(call: Call) -> object:
        if dice.random() > 0.15 or (call.operation != "TransactWriteItems" and dice.random() < 0.5):
            return None
        fault = dice.choice(kinds)
        return None if fault is faults.CONFLICT and call.service != "dynamodb" else fault

    with faults.choosing(choose):
        for step in plan:
            run.step(step)
    run.finish()
