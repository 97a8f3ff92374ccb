"""log_enqueue: where messages go, what comes back of them, and what is refused before anything is stored."""

import json
from typing import Any

import pytest

from tests.functions.logs import LogClient
from tests.processes import Process, Tenant
from tests.worlds import World

MEBIBYTE = 1024 * 1024


def test_the_sample_event_is_accepted(process: Process, tenant: Tenant, world: World) -> None:
    log = LogClient(process, tenant.key).create(partitions=30)
    reply = log.call("log_enqueue")
    assert reply.status == 200
    results = reply.json["results"]
    assert reply.json["accepted"] == 2
    assert [set(result) for result in results] == [{"partition", "id", "status"}] * 2
    assert [(result["partition"], result["status"]) for result in results] == [(2, "CREATED"), (15, "CREATED")]
    page = log.poll(2)["messages"]
    assert [(message["seq"], message["partition"]) for message in page] == [(1796032800000, 2)]
    assert b'"value":{"order":1,"total":12.5}' in log.try_poll(2).body
    assert log.poll(15)["messages"][0]["value"] is None
    rows = world.rows(world.edges_table)
    assert sorted(row["seq"]["S"].partition("#")[2] for row in rows) == sorted(result["id"] for result in results)
    assert all(set(row) == {"source", "seq", "body"} for row in rows)


# A6: the key of a message, and the partition that it goes to of 30, and of 7
ROUTES = {
    "": (19, 3),
    "a": (0, 3),
    "abc": (27, 5),
    "order-1": (2, 1),
    "order-2": (15, 0),
    "Z\u00fcrich": (20, 3),
    "Zu\u0308rich": (2, 6),
    "\U0001f600": (16, 2),
    "a/b%2Fc": (16, 3),
    "00": (23, 3),
}


@pytest.mark.parametrize(("partitions", "column"), [(30, 0), (7, 1)])
def test_keys_are_routed_by_their_bytes(process: Process, tenant: Tenant, partitions: int, column: int) -> None:
    for client in (process, Process()):  # and a cold start routes the same
        log = LogClient(client, tenant.key, f"q{partitions}").create(partitions=partitions)
        answer = log.enqueue(*({"key": key, "seq": 1, "value": key} for key in ROUTES))
        assert [result["partition"] for result in answer["results"]] == [route[column] for route in ROUTES.values()]
        for key, route in ROUTES.items():
            values = [message["value"] for message in log.poll(route[column])["messages"]]
            assert key in values
        assert log.committed(ROUTES["a"][column], offset=1) >= 1


def test_an_escaped_key_is_the_key(process: Process, tenant: Tenant) -> None:
    wide = LogClient(process, tenant.key, "wide").create(partitions=30)
    body = '{"messages":[{"key":"Z\\u00fcrich","seq":1},{"key":"\\ud83d\\ude00","seq":1},{"key":"\\u0000","seq":1}]}'
    results = wide.call("log_enqueue", body=body).json["results"]
    assert [result["partition"] for result in results][:2] == [20, 16]


def test_results_stand_in_the_order_of_the_request(process: Process, tenant: Tenant) -> None:
    log = LogClient(process, tenant.key).create(partitions=7)
    keys = [str(n % 13) for n in range(300)]
    results = log.enqueue(*({"key": key, "seq": -n, "value": n} for n, key in enumerate(keys)))["results"]
    found = {
        message["id"]: (message["value"], message["partition"])
        for partition in range(7)
        for message in log.poll(partition, limit=1000)["messages"]
    }
    assert [found[result["id"]] for result in results] == [(n, result["partition"]) for n, result in enumerate(results)]


VALUES = [
    "null",
    "true",
    "0",
    "-0",
    "0.10",
    "1e400",
    "-1E-400",
    "9007199254740993",
    "1" * 4301,
    "0." + "1" * 5000,
    '""',
    '"\\ud800"',
    '"\\u0000"',
    '"\u2028é\U0001f600"',
    "{}",
    "[]",
    '{"b":1,"a":{"":[]}}',
    "[" * 64 + "]" * 64,
    '{"a":' * 63 + "[]" + "}" * 63,
]


@pytest.mark.parametrize("text", VALUES, ids=lambda text: text[:20])
@pytest.mark.parametrize("binary", [True, False])
def test_a_value_comes_back_digit_for_digit(log: LogClient, text: str, *, binary: bool) -> None:
    body = f'{{"messages":[{{"key":"k","seq":1,"value":{text}}}]}}'
    assert log.call("log_enqueue", body=body.encode() if binary else body).status == 200
    assert f'"value":{text}}}]' in log.try_poll().body.decode()


@pytest.mark.parametrize("text", ["1", "1.0", "1e0", "10e-1", "0.1e1", "1.000"])
def test_whole_numbers_count_as_whole(log: LogClient, text: str) -> None:
    assert log.call("log_enqueue", body=f'{{"messages":[{{"key":"k","seq":{text}}}]}}').status == 200
    assert log.seqs() == [1]


# What is refused: a bad second message after a good first one, so that storing the good one would be seen
BAD_MESSAGES = {
    "{}": ["key", "seq"],
    '{"seq":1}': ["key"],
    '{"key":null,"seq":1}': ["key"],
    '{"key":1,"seq":1}': ["key"],
    '{"key":true,"seq":1}': ["key"],
    '{"key":["k"],"seq":1}': ["key"],
    '{"key":"\\ud800","seq":1}': ["key"],
    '{"key":"k"}': ["seq"],
    '{"key":"k","seq":null}': ["seq"],
    '{"key":"k","seq":1.5}': ["seq"],
    '{"key":"k","seq":"1"}': ["seq"],
    '{"key":"k","seq":true}': ["seq"],
    '{"key":"k","seq":[1]}': ["seq"],
    '{"key":"k","seq":9223372036854775808}': ["seq"],
    '{"key":"k","seq":-9223372036854775809}': ["seq"],
    '{"key":"k","seq":9223372036854775807.5}': ["seq"],
    '{"key":"k","seq":1e400}': ["seq"],
    '{"key":"k","seq":1e-400}': ["seq"],
    '{"key":"k","seq":' + "9" * 4301 + "}": ["seq"],
    '{"key":"k","seq":1,"valeu":1}': ["valeu"],
    '{"key":"k","seq":1,"\\ud800":1}': [],  # a name that cannot be told
    "[]": [],
    "null": [],
    '"k"': [],
}


@pytest.mark.parametrize("message", BAD_MESSAGES, ids=lambda text: text[:50])
def test_one_bad_message_names_itself_and_nothing_is_stored(log: LogClient, world: World, message: str) -> None:
    body = f'{{"messages":[{{"key":"k","seq":1}},{message}]}}'
    for reply in (log.call("log_enqueue", body=body), log.call("log_enqueue", body=body.encode())):
        assert reply.problem == (400, "validation_failed")
        expected = ["messages.1" + (f".{field}" if field else "") for field in BAD_MESSAGES[message] or [""]]
        assert reply.fields == expected
    assert world.rows(world.edges_table) == []


BAD_BODIES = {
    "": "malformed_json",
    "  ": "malformed_json",
    "{": "malformed_json",
    "[]": "malformed_json",
    "null": "malformed_json",
    '"x"': "malformed_json",
    "{}": "validation_failed",
    '{"messages":[]}': "validation_failed",
    '{"messages":null}': "validation_failed",
    '{"messages":{}}': "validation_failed",
    '{"messages":"x"}': "validation_failed",
    '{"messages":[{"key":"k","seq":1}],"extra":1}': "validation_failed",
    '{"messages":[{"key":"k","seq":NaN}]}': "malformed_json",
    '{"messages":[{"key":"k","seq":1,"value":NaN}]}': "malformed_json",
    '{"messages":[{"key":"k","seq":1,"value":[Infinity]}]}': "malformed_json",
    '{"messages":[{"key":"k","seq":1,"value":-Infinity}]}': "malformed_json",
    '{"messages":[{"key":"k","seq":01}]}': "malformed_json",
    '{"messages":[{"key":"k","seq":1,}]}': "malformed_json",
    '{"messages":[{"key":"k","seq":1}]} x': "malformed_json",
    "\ufeff" + '{"messages":[{"key":"k","seq":1}]}': "malformed_json",
    '{"messages":[{"key":"k","seq":1,"value":' + "[" * 65 + "]" * 65 + "}]}": "payload_too_deep",
    '{"messages":[{"key":"k","seq":1,"value":' + '{"a":' * 65 + "1" + "}" * 65 + "}]}": "payload_too_deep",
    '{"messages":[{"key":"k","seq":1,"value":' + "[" * 100_000 + "]" * 100_000 + "}]}": "payload_too_deep",
    "[" * 100_000: "payload_too_deep",
}


@pytest.mark.parametrize("body", BAD_BODIES, ids=lambda text: text[:60] or "empty")
def test_a_bad_body_is_refused_and_nothing_is_stored(log: LogClient, world: World, body: str) -> None:
    for sent in (body, body.encode()):
        reply = log.call("log_enqueue", body=sent)
        assert reply.problem == (400, BAD_BODIES[body])
    assert world.rows(world.edges_table) == []


@pytest.mark.parametrize("body", [b"\xff", b'{"messages":[{"key":"\xff","seq":1}]}', '{"messages":"'.encode("utf-16")])
def test_a_body_that_is_not_utf_8_is_refused(log: LogClient, body: bytes) -> None:
    assert log.call("log_enqueue", body=body).problem == (400, "malformed_json")


# Sizes


def test_a_thousand_messages_fit_and_one_more_does_not(log: LogClient, world: World) -> None:
    messages: list[Any] = [{"key": "k", "seq": n} for n in range(1001)]
    assert log.try_enqueue(*messages).problem == (413, "too_many_entries")
    assert world.rows(world.edges_table) == []
    assert log.enqueue(*messages[:1000])["accepted"] == 1000
    assert log.seqs(limit=1000) == list(range(1000))


def test_a_value_of_one_mebibyte_fits_and_one_more_byte_does_not(log: LogClient, world: World) -> None:
    fits, large = (
        log.try_enqueue({"key": "k", "seq": 0}, {"key": "k", "seq": size, "value": "x" * (size - 2)})
        for size in (MEBIBYTE, MEBIBYTE + 1)
    )
    assert fits.status == 200
    assert large.problem == (413, "payload_too_large")
    assert "messages.1.value" in large.json["detail"]
    assert log.seqs() == [0, MEBIBYTE]
    assert len(log.poll(offset=0)["messages"][0]["value"]) == MEBIBYTE - 2
    assert len(world.objects()) == 1


def test_a_body_of_five_mebibytes_fits_and_one_more_byte_does_not(log: LogClient, world: World) -> None:
    messages = [{"key": "k", "seq": n, "value": "x" * 1_000_000} for n in range(5)]
    body = json.dumps({"messages": messages}).encode()
    body += b" " * (5 * MEBIBYTE - len(body))
    assert log.call("log_enqueue", body=body + b" ").problem == (413, "payload_too_large")
    assert world.rows(world.edges_table) == []
    assert world.objects() == []
    assert log.call("log_enqueue", body=body).json["accepted"] == 5
    assert len(world.objects()) == 5


def test_big_values_go_to_the_bucket_unseen(log: LogClient, world: World) -> None:
    values = ["s" * 65_000, "b" * 66_000, "é" * 200_000, "s"]
    results = log.enqueue(*({"key": "k", "seq": n, "value": value} for n, value in enumerate(values)))["results"]
    assert [message["value"] for message in log.poll()["messages"]] == values
    objects = world.objects()
    assert sorted(key.rpartition("/")[2] for key in objects) == sorted(result["id"] for result in results[1:3])
    stored = [world.client("s3").get_object(Bucket=world.bucket, Key=key)["Body"].read() for key in objects]
    assert not any(b"bbbb" in body for body in stored)
    assert sorted(row["size"]["N"] for row in world.rows(world.edges_table) if "blob" in row) == ["400002", "66002"]
    assert log.committed(offset=9) == 4
    assert world.objects() == []


def test_values_and_keys_are_not_stored_in_the_clear(log: LogClient, world: World) -> None:
    log.enqueue({"key": "plain key", "seq": 1, "value": {"secret": "plain value"}})
    assert "plain" not in repr(world.rows(world.edges_table))
