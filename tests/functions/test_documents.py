"""document_upload, document_download, document_head, document_delete: what went in comes out."""

import base64
import hashlib
from typing import Any

import pytest

from tests.functions.documents import CSV, DocumentClient
from tests.functions.queues import QueueClient
from tests.processes import Process, Tenant, request_event
from tests.worlds import World

LATIN = "name,city\r\nJörg,Köln\r\n".encode("latin-1")


@pytest.fixture
def documents(process: Process, tenant: Tenant) -> DocumentClient:
    return DocumentClient(process, tenant.key).create()


@pytest.fixture
def texts(process: Process, tenant: Tenant) -> DocumentClient:
    return DocumentClient(process, tenant.key, "notes").create("text_document")


def test_an_upload_says_what_was_stored(documents: DocumentClient) -> None:
    stored = documents.upload("a,b\r\n1,2\r\n", name="r%C3%A9sum%C3%A9.csv", description="100%25")
    content = b"a,b\r\n1,2\r\n"
    assert (stored["name"], stored["description"]) == ("résumé.csv", "100%")
    assert (stored["content_type"], stored["size"]) == ("text/csv", len(content))
    assert stored["sha256"] == hashlib.sha256(content).hexdigest()
    assert documents.download(stored["document_id"]) == content


def test_a_download_carries_name_description_and_tag(documents: DocumentClient) -> None:
    stored = documents.upload(name="pre%C3%A7os%20%E2%82%AC.csv", description="l%C3%ADnea")
    reply = documents.try_download(stored["document_id"])
    assert reply.headers["x-document-name"] == "pre%C3%A7os%20%E2%82%AC.csv"
    assert reply.headers["x-document-description"] == "l%C3%ADnea"
    assert reply.headers["vary"] == "Accept"
    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    assert (
        reply.headers["content-disposition"]
        == "attachment; filename=\"pre_os _.csv\"; filename*=UTF-8''pre%C3%A7os%20%E2%82%AC.csv"
    )
    assert reply.headers["etag"].startswith('"')


def test_a_download_is_always_base64_on_the_wire_to_lambda(process: Process, documents: DocumentClient) -> None:
    stored = documents.upload()
    path = {"queue": documents.queue, "document_id": stored["document_id"]}
    for accept in ("*/*", "application/json"):
        event = request_event("document_download", key=documents.key, path=path, headers={"accept": accept})
        answer = process.handler("document_download")(event, _Context())
        assert answer["isBase64Encoded"] is True
        assert base64.b64decode(answer["body"], validate=True)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("text/csv", LATIN),
        ("text/csv; charset=iso-8859-1", LATIN),
        ("application/xml", "<?xml version='1.0' encoding='UTF-16'?><a>é</a>".encode("utf-16")),
        ("application/json", '{"é":1}'.encode("utf-16")),
        ("text/xml; charset=iso-8859-1", "<a>é</a>".encode("latin-1")),
    ],
)
def test_bytes_that_are_no_utf_8_are_kept_and_converted(documents: DocumentClient, kind: str, content: bytes) -> None:
    stored = documents.upload(
        content, kind="application/octet-stream", headers={"x-document-content-type": kind}, name="a"
    )
    assert documents.download(stored["document_id"]) == content
    other = "application/xml" if "json" in kind else "application/json"
    shown = documents.download(stored["document_id"], accept=other).decode()
    assert "é" in shown or "Köln" in shown


def test_an_assumed_charset_is_told(documents: DocumentClient) -> None:
    sent = {"kind": "application/octet-stream", "headers": {"x-document-content-type": "text/csv"}}
    assert documents.upload(LATIN, **sent)["content_type"] == "text/csv; charset=windows-1252"


def test_octets_of_no_type_are_refused(documents: DocumentClient) -> None:
    assert documents.try_upload(LATIN, kind="application/octet-stream").problem == (415, "unsupported_media_type")


@pytest.mark.parametrize("kind", ['Application/JSON;charset="UTF-8"', "application/json; indent=2"])
def test_parameters_and_case_do_not_change_a_type(documents: DocumentClient, kind: str) -> None:
    assert documents.upload('{"a":1}', kind=kind)["content_type"] == "application/json"


def test_i12_types_of_uploads(documents: DocumentClient, texts: DocumentClient) -> None:
    assert documents.try_upload(kind="text/csv; header=present").status == 201
    assert documents.try_upload("<a/>", kind="text/xml").json["content_type"] == "application/xml"
    assert texts.try_upload("x", kind="TEXT/PLAIN; charset=utf-8").status == 201
    refused = [(documents, None), (documents, "text/plain"), (documents, ""), (texts, "application/json")]
    for client, kind in refused:
        assert client.try_upload("{}", kind=kind).problem == (415, "unsupported_media_type")
    assert documents.try_upload(kind="text/csv; charset=punycode").problem == (415, "unsupported_media_type")


@pytest.mark.parametrize("accept", [None, "*/*", "image/png", "application/json", "*/*;q=0", "nonsense"])
def test_i12_a_text_is_a_text_whatever_is_asked_for(texts: DocumentClient, accept: str | None) -> None:
    content = 'Größe\r\n\t"x"\x0b\u2028\ufffd'
    stored = texts.upload(content, kind="text/plain")
    reply = texts.try_download(stored["document_id"], accept=accept)
    assert (reply.status, reply.body) == (200, content.encode())
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"


def test_a_text_may_be_empty_but_not_broken(texts: DocumentClient) -> None:
    stored = texts.upload(b"", kind="text/plain")
    assert texts.download(stored["document_id"]) == b""
    headers = {"x-document-content-type": "text/plain"}
    broken = texts.try_upload(b"a\xffb", kind="application/octet-stream", headers=headers)
    assert broken.problem == (400, "validation_failed")


def test_a_body_that_lost_bytes_on_the_way_is_refused(documents: DocumentClient, world: World) -> None:
    """The gateway replaces what is not UTF-8 in a text; the length it passes on is that of what was sent."""
    damaged = LATIN.decode("utf-8", "replace")
    reply = documents.try_upload(damaged, headers={"content-length": str(len(LATIN))})
    assert reply.problem == (400, "encoding_not_preserved")
    assert "X-Document-Content-Type" in reply.json["detail"]
    assert world.objects() == []


def test_a_replacement_without_a_length_is_refused(process: Process, documents: DocumentClient) -> None:
    event = request_event("document_upload", key=documents.key, path={"queue": documents.queue}, body="a\n\ufffd\n")
    del event["headers"]["content-length"]
    assert process.send("document_upload", event).problem == (400, "encoding_not_preserved")


def test_a_document_may_hold_the_replacement_character(documents: DocumentClient) -> None:
    stored = documents.upload("a\n\ufffd\n")
    assert documents.download(stored["document_id"]) == "a\n\ufffd\n".encode()


@pytest.mark.parametrize(
    ("kind", "content", "where"),
    [
        ("application/json", '{"a":\n}', "line 2"),
        ("application/json", "[NaN]", "NaN"),
        ("application/json", "", "line 1"),
        ("text/csv", "a,a\n1,2\n", "column a"),
        ("text/csv", "a,\n1,2\n", "column 2"),
        ("text/csv", "a,b\n1,2\n3\n", "row 3"),
        ("text/csv", "", "header"),
        ("application/xml", "<a>\n<b></a>", "line 2"),
        ("application/xml", "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "entity x"),
        ("application/xml", "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", "outside"),
    ],
)
def test_what_is_not_what_its_type_says_is_refused(
    documents: DocumentClient, world: World, kind: str, content: str, where: str
) -> None:
    reply = documents.try_upload(content, kind=kind)
    assert reply.problem == (422, "not_convertible")
    assert where in reply.json["detail"]
    assert world.objects() == []
    assert documents.listed() == []


def test_a_document_over_a_mebibyte_is_refused(documents: DocumentClient) -> None:
    most = b"a\n" + b"x" * (1024 * 1024 - 2)
    assert documents.try_upload(most).status == 201
    assert documents.try_upload(most + b"x").problem == (413, "payload_too_large")


@pytest.mark.parametrize(
    ("name", "field"),
    [
        (None, "X-Document-Name"),
        ("", "X-Document-Name"),
        ("%20%20", "X-Document-Name"),
        ("100%", "X-Document-Name"),
        ("%C3%28", "X-Document-Name"),
        ("%ED%A0%80", "X-Document-Name"),
        ("a%0D%0ASet-Cookie:%20x=1.csv", "X-Document-Name"),
        ("a%00b", "X-Document-Name"),
        ("a%C2%85b", "X-Document-Name"),
        ("naïve", "X-Document-Name"),
        ("x" * 8192, "X-Document-Name"),
    ],
)
def test_i13_a_name_that_cannot_come_back_is_refused(documents: DocumentClient, name: str | None, field: str) -> None:
    reply = documents.try_upload(name=name)
    assert (reply.status, reply.fields) == (400, [field])
    described = documents.try_upload(description=name)
    if name is None or len(name) < 4000:
        assert (described.status, described.fields) == (400, ["X-Document-Description"])


@pytest.mark.parametrize("name", ['q"\\.csv', "../../x", "a%2Fb", "=?utf-8?B?w6k=?=", "%F0%9F%93%84", "a;b=c", "x%20"])
def test_i13_a_name_comes_back_in_list_and_header(documents: DocumentClient, world: World, name: str) -> None:
    from urllib.parse import unquote

    stored = documents.upload(name=name)
    reply = documents.try_download(stored["document_id"])
    assert stored["name"] == documents.listed()[0]["name"] == unquote(reply.headers["x-document-name"]) == unquote(name)
    disposition = reply.headers["content-disposition"]
    assert disposition.isascii()
    assert disposition.count('"') == 2
    assert not set("/\\\r\n") & set(disposition)
    assert world.objects() == [f"document/{documents.queue_id}/{stored['document_id']}"]


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("n", "x" * 4000),
        ("n", '"' * 2832),
        ("n" * 900, '"' * 2233),
        ('"' * 900, '"' * 1033),
        ("%C3%A9" * 450, "%C3%A9" * 516 + "1234"),
    ],
)
def test_the_headers_of_a_download_fit_the_gateway(documents: DocumentClient, name: str, description: str) -> None:
    stored = documents.upload(name=name, description=description)
    headers = documents.try_download(stored["document_id"]).headers
    assert sum(len(name) + len(value) + 4 for name, value in headers.items()) < 10_000
    longer = documents.try_upload(name=name, description=description + '"')
    assert (longer.status, longer.fields) == (400, ["X-Document-Description"])


def test_a_get_with_the_tag_of_what_is_there_answers_304(documents: DocumentClient, ledger: Any) -> None:
    stored = documents.upload()
    for accept in ("*/*", "application/json", "application/xml"):
        full = documents.try_download(stored["document_id"], accept=accept)
        tag = full.headers["etag"]
        for held in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            with ledger.operation("held") as cost:
                reply = documents.try_download(stored["document_id"], accept=accept, headers={"if-none-match": held})
            assert (reply.status, reply.body) == (304, b"")
            assert (reply.headers["etag"], reply.headers["vary"]) == (tag, "Accept")
            assert cost.calls == {"dynamodb.GetItem": 1}
        reply = documents.try_download(stored["document_id"], accept=accept, headers={"if-none-match": '"other"'})
        assert reply.body == full.body


def test_every_format_has_a_tag_of_its_own(documents: DocumentClient) -> None:
    stored = documents.upload()
    accepts = ("text/csv", "application/json", "application/xml")
    tags = {documents.try_download(stored["document_id"], accept=accept).headers["etag"] for accept in accepts}
    assert len(tags) == 3


@pytest.mark.parametrize("accept", [None, "application/json", "application/xml", "image/png"])
def test_head_says_what_get_says(documents: DocumentClient, accept: str | None) -> None:
    stored = documents.upload()
    got = documents.try_download(stored["document_id"], accept=accept)
    head = documents.head(stored["document_id"], accept=accept)
    assert head.status == got.status
    assert (head.body, head.headers) == (got.body, got.headers)


def test_a_deleted_document_is_gone(documents: DocumentClient, world: World) -> None:
    stored = documents.upload()
    documents.delete(stored["document_id"])
    assert documents.try_delete(stored["document_id"]).problem == (404, "not_found")
    assert documents.try_download(stored["document_id"]).problem == (404, "not_found")
    assert documents.head(stored["document_id"]).status == 404
    assert documents.listed() == []
    assert world.objects() == []


@pytest.mark.parametrize("document_id", ["nonsense", "01M8PN364DD2R63REC5XWVZK5Q", "%00"])
def test_what_is_no_document_is_404(documents: DocumentClient, document_id: str) -> None:
    assert documents.try_download(document_id).problem == (404, "not_found")
    assert documents.try_delete(document_id).problem == (404, "not_found")


def test_what_cannot_be_shown_is_406_with_the_reason(documents: DocumentClient) -> None:
    stored = documents.upload('{"a":[1]}', kind="application/json")
    reply = documents.try_download(stored["document_id"], accept="text/csv")
    assert reply.problem == (406, "not_acceptable")
    assert "array of objects" in reply.json["detail"]
    assert reply.json["available"] == ["application/json", "application/xml"]
    assert documents.download(stored["document_id"], accept="text/csv, application/json;q=0.1") == b'{"a":[1]}'


@pytest.mark.parametrize(
    ("content", "kind", "available"),
    [
        ('{"a":1}', "application/json", ["application/json", "application/xml"]),
        ('[{"a":1}]', "application/json", ["application/json", "application/xml", "text/csv"]),
        ("<a/>", "application/xml", ["application/json", "application/xml"]),
        ("a\n1\n", "text/csv", ["application/json", "application/xml", "text/csv"]),
    ],
    ids=["object", "table", "xml", "csv"],
)
def test_available_is_what_would_be_answered(
    documents: DocumentClient, content: str, kind: str, available: list[str]
) -> None:
    stored = documents.upload(content, kind=kind)
    reply = documents.try_download(stored["document_id"], accept="image/png")
    assert (reply.problem, reply.json["available"]) == ((406, "not_acceptable"), available)
    for accept in ("application/json", "application/xml", "text/csv"):
        status = documents.try_download(stored["document_id"], accept=accept).status
        assert status == (200 if accept in available else 406)


def test_what_would_be_too_long_is_406(documents: DocumentClient) -> None:
    stored = documents.upload("[" + "1," * 260_000 + "1]", kind="application/json")
    reply = documents.try_download(stored["document_id"], accept="application/xml")
    assert reply.problem == (406, "not_acceptable")
    assert "4500000" in reply.json["detail"]
    assert reply.json["available"] == ["application/json"]


def test_a_repeated_upload_with_an_idempotency_key_stores_nothing(documents: DocumentClient, world: World) -> None:
    key = {"idempotency-key": "u1"}
    first = documents.try_upload(headers=key)
    again = documents.try_upload(headers=key)
    assert (again.status, again.body) == (first.status, first.body)
    assert len(world.objects()) == 1
    assert documents.try_upload("other\n1\n", headers=key).problem == (422, "idempotency_mismatch")


def test_actions(process: Process, tenant: Tenant, documents: DocumentClient) -> None:
    stored = documents.upload()
    publisher = DocumentClient(process, process.client_key(tenant, ("catalogue", "publish")))
    consumer = DocumentClient(process, process.client_key(tenant, ("cat*", "consume")))
    assert publisher.try_upload().status == 201
    for reply in (
        publisher.try_download(stored["document_id"]),
        publisher.try_delete(stored["document_id"]),
        publisher.try_list(),
        consumer.try_upload(),
        consumer.call("subscription_read"),
        consumer.call("subscriber_list"),
    ):
        assert reply.problem == (403, "forbidden")
    assert publisher.head(stored["document_id"]).status == 403
    assert consumer.try_download(stored["document_id"]).status == 200
    assert consumer.try_delete(stored["document_id"]).status == 204


def test_a_disabled_queue_takes_nothing_and_gives_everything(process: Process, tenant: Tenant) -> None:
    documents = DocumentClient(process, tenant.key, "closing").create()
    stored = documents.upload()
    assert documents.call("queue_disable").status == 200
    assert documents.try_upload().problem == (409, "queue_disabled")
    assert documents.download(stored["document_id"]) == CSV.encode()
    documents.delete(stored["document_id"])


def test_k1_k2_another_tenant_s_documents_are_not_there(
    process: Process, documents: DocumentClient, stranger: Tenant
) -> None:
    stored = documents.upload()
    own = DocumentClient(process, stranger.key).create()
    for queue in (documents.queue_id, "01M8PN364DD2R63REC5XWVZK5Q"):
        foreign = DocumentClient(process, stranger.key, queue)
        for reply in (
            foreign.try_upload(),
            foreign.try_list(),
            foreign.try_download(stored["document_id"]),
            foreign.try_delete(stored["document_id"]),
            foreign.call("subscription_read"),
            foreign.call("subscriber_list"),
        ):
            assert reply.problem == (404, "not_found")
    assert own.try_download(stored["document_id"]).problem == (404, "not_found")
    path = {"document_id": stored["document_id"]}
    for function in ("document_download", "document_head", "document_delete"):
        assert own.call(function, path=path).problem == (404, "not_found")
    assert documents.download(stored["document_id"]) == CSV.encode()


def test_queues_of_other_types_hold_no_documents(process: Process, tenant: Tenant, documents: DocumentClient) -> None:
    QueueClient(process, tenant.key, "orders").create("one_to_one")
    orders = DocumentClient(process, tenant.key, "orders")
    for reply in (orders.try_upload(), orders.try_list(), orders.try_download("x"), orders.call("subscription_read")):
        assert reply.problem == (409, "wrong_queue_type")
    messages = QueueClient(process, tenant.key, documents.queue)
    assert messages.try_publish({"a": 1}).problem == (409, "wrong_queue_type")
    assert messages.try_consume().problem == (409, "wrong_queue_type")


def test_l1_swapped_bytes_are_never_shown(documents: DocumentClient, world: World) -> None:
    first, second, third = (documents.upload(f"a\n{number}\n") for number in range(3))
    objects = world.client("s3")
    keys = [f"document/{documents.queue_id}/{one['document_id']}" for one in (first, second)]
    bodies = [objects.get_object(Bucket=world.bucket, Key=key)["Body"].read() for key in keys]
    for broken in (bodies[1], bodies[0][:-1], bodies[0][:20] + bytes([bodies[0][20] ^ 1]) + bodies[0][21:], b""):
        objects.put_object(Bucket=world.bucket, Key=keys[0], Body=broken)
        assert documents.try_download(first["document_id"]).problem == (500, "internal_error")
        assert documents.try_download(first["document_id"], accept="application/json").status == 500
    assert documents.download(third["document_id"]) == b"a\n2\n"


def test_l1_swapped_entries_are_never_shown(documents: DocumentClient, world: World) -> None:
    first, second = documents.upload(name="one"), documents.upload(name="two")
    table, place = world.client("dynamodb"), {"S": f"documents#{documents.queue_id}"}
    row = table.get_item(TableName=world.state_table, Key={"pk": place, "sk": {"S": second["document_id"]}})["Item"]
    table.update_item(
        TableName=world.state_table,
        Key={"pk": place, "sk": {"S": first["document_id"]}},
        UpdateExpression="SET entry = :entry",
        ExpressionAttributeValues={":entry": row["entry"]},
    )
    broken, good = documents.listed()
    assert broken == {**broken, "document_id": first["document_id"], "error": "unreadable"}
    assert "name" not in broken
    assert good["name"] == "two"
    assert documents.try_download(first["document_id"]).problem == (500, "internal_error")


class _Context:
    aws_request_id = "r"
    function_name = "document_download"

    def get_remaining_time_in_millis(self) -> int:
        return 30_000
