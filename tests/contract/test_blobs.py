import pytest

import edge.blobs
from edge import BlobMissing, BlobStore, EdgeUnavailable, time_limit
from tests.contract.conftest import Pauses
from tools import faults
from tools.faults import failing
from tools.ledger import Ledger


def test_an_object_comes_back_as_it_was(blobs: BlobStore, source: str) -> None:
    for name, body in (("empty", b""), ("bytes", bytes(range(256))), ("big", b"\x00\xff" * 1_500_000)):
        blobs.put(f"{source}/{name}", body)
        assert blobs.get(f"{source}/{name}") == body


def test_a_later_object_replaces_an_earlier(blobs: BlobStore, source: str) -> None:
    blobs.put(source, b"first")
    blobs.put(source, b"second")
    assert blobs.get(source) == b"second"


def test_what_is_not_there_is_missing(blobs: BlobStore, source: str, pauses: Pauses) -> None:
    with pytest.raises(BlobMissing):
        blobs.get(source)
    blobs.put(source, b"x")
    blobs.delete([source, f"{source}/never"])
    with pytest.raises(BlobMissing):
        blobs.get(source)
    blobs.delete([])
    assert pauses.seconds == []


def test_many_are_stored_and_read_in_order(blobs: BlobStore, source: str, ledger: Ledger) -> None:
    objects = [(f"{source}/{n}", bytes([n])) for n in range(20)]
    with ledger.operation("many") as cost:
        assert blobs.put_many(objects) == [None] * 20
        assert blobs.get_many([key for key, _ in reversed(objects)]) == [body for _, body in reversed(objects)]
    assert cost.calls == {"s3.PutObject": 20, "s3.GetObject": 20}
    assert (blobs.put_many([]), blobs.get_many([])) == ([], [])


def test_of_many_each_is_answered_for_itself(blobs: BlobStore, source: str) -> None:
    objects = [(f"{source}/{n}", bytes([n])) for n in range(5)]
    with failing(faults.THROTTLED, times=None, where=lambda call: call.request.url.endswith("/3")):
        answers = blobs.put_many(objects)
    assert [type(answer) for answer in answers] == [type(None)] * 3 + [EdgeUnavailable, type(None)]
    assert blobs.get_many([key for key, _ in objects]) == [b"\x00", b"\x01", b"\x02", None, b"\x04"]


def test_a_body_that_breaks_off_is_read_again(blobs: BlobStore, source: str, pauses: Pauses) -> None:
    blobs.put(source, b"whole")
    with failing(faults.CUT):
        assert blobs.get(source) == b"whole"
    assert pauses.seconds == [0.03]


def test_deletes_go_in_batches(blobs: BlobStore, source: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge.blobs, "DELETE_BATCH", 2)
    keys = [f"{source}/{n}" for n in range(5)]
    blobs.put_many([(key, b"x") for key in keys])
    with ledger.operation("delete") as cost:
        blobs.delete(keys)
    assert cost.calls == {"s3.DeleteObjects": 3}
    for key in keys:
        with pytest.raises(BlobMissing):
            blobs.get(key)


@pytest.mark.parametrize("fault", [faults.THROTTLED, faults.SERVER_ERROR, faults.TIMEOUT, faults.LOST], ids=str)
def test_what_passes_is_tried_again(blobs: BlobStore, source: str, pauses: Pauses, fault: faults.Fault) -> None:
    for operation in (lambda: blobs.put(source, b"x"), lambda: blobs.get(source), lambda: blobs.delete([source])):
        pauses.seconds.clear()
        with failing(fault):
            operation()
        assert pauses.seconds == [0.03]
    with failing(fault, times=None), pytest.raises(EdgeUnavailable) as unavailable:
        blobs.put(source, b"x")
    assert unavailable.value.throttled == (fault is faults.THROTTLED)


def test_what_is_under_a_prefix_goes_and_nothing_else(
    blobs: BlobStore, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    doomed, spared = f"{source}/a/", f"{source}/ab"
    blobs.put_many([(f"{doomed}{n}", b"x") for n in range(5)] + [(spared, b"y")])
    list_objects = blobs.client.list_objects_v2
    monkeypatch.setattr(blobs.client, "list_objects_v2", lambda **request: list_objects(**request, MaxKeys=2))
    with time_limit(1):
        assert blobs.delete_under(doomed) is False
    assert blobs.delete_under(doomed) is True
    assert blobs.get(spared) == b"y"
    for n in range(5):
        with pytest.raises(BlobMissing):
            blobs.get(f"{doomed}{n}")
    assert blobs.delete_under(doomed) is True
