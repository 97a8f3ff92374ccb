"""As much of curl as the pages of docs/ use, for machines that have none: `curl -sS -X POST URL -H … -d …`.

Not a module of the tests: they run it as a program. It prints the body of the answer, whatever its status.
"""

import argparse
import sys
from http.client import HTTPConnection
from urllib.parse import urlsplit


def main() -> None:
    """Make one request."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("url")
    parser.add_argument("-s", "--silent", action="store_true")
    parser.add_argument("-S", "--show-error", action="store_true")
    parser.add_argument("-X", "--request", default="")
    parser.add_argument("-H", "--header", action="append", default=[])
    parser.add_argument("-d", "--data", "--data-binary")
    given = parser.parse_args()
    url = urlsplit(given.url)
    headers = dict(header.split(": ", 1) for header in given.header)
    headers = {"Accept": "*/*", "User-Agent": "curl"} | headers
    body = None
    if given.data is not None:
        body = sys.stdin.buffer.read() if given.data == "@-" else given.data.encode()
        headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
    connection = HTTPConnection(str(url.hostname), url.port, timeout=60)
    method = given.request or ("GET" if body is None else "POST")
    connection.request(method, f"{url.path}?{url.query}" if url.query else url.path, body=body, headers=headers)
    sys.stdout.buffer.write(connection.getresponse().read())


if __name__ == "__main__":
    main()
