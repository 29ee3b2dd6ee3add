"""What providers, their SDKs and the network say when they fail: what it is, and whether and when to try again."""

from __future__ import annotations

import asyncio
import http.client
import time
from typing import Any

import pytest

from toolrelay import StreamAssembler
from toolrelay.errors import ErrorCategory
from toolrelay.upstream import Failure, read_failure

LIMIT, SLOW, DOWN = ErrorCategory.RATE_LIMIT, ErrorCategory.TIMEOUT, ErrorCategory.RESOURCE
REFUSED, GONE, OTHER = ErrorCategory.PERMISSION, ErrorCategory.NOT_FOUND, ErrorCategory.EXECUTION
Row = tuple[Any, ErrorCategory, int | None]


class ClientError(Exception):
    """botocore's: its response is a dict."""

    def __init__(self, code: str, status: int | None, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"An error occurred ({code}) when calling the Converse operation: no")
        self.response: dict[str, Any] = {"Error": {"Code": code, "Message": "no"}}
        if status is not None:
            self.response["ResponseMetadata"] = {"HTTPStatusCode": status, "HTTPHeaders": headers or {}}


class EventStreamError(ClientError):
    """Tells a failure in the middle of a stream, without a status."""


AWS: list[Row] = [
    (ClientError("ThrottlingException", 429, {"retry-after": "7"}), LIMIT, 7000),
    (ClientError("ThrottlingException", 400), LIMIT, None),
    (ClientError("ServiceUnavailableException", 503), DOWN, None),
    (ClientError("InternalServerException", 500), DOWN, None),
    (ClientError("ModelNotReadyException", 429), DOWN, None),
    (ClientError("ModelTimeoutException", 408), SLOW, None),
    (ClientError("AccessDeniedException", 403), REFUSED, None),
    (ClientError("AccessDenied", 403), REFUSED, None),
    (ClientError("ResourceNotFoundException", 404), GONE, None),
    (ClientError("ResourceNotFound", 404), GONE, None),
    (ClientError("ValidationException", 400), OTHER, None),
    (ClientError("NobodyKnowsThis", 502), DOWN, None),
    (EventStreamError("throttlingException", None), LIMIT, None),
    (EventStreamError("internalServerException", None), DOWN, None),
    (EventStreamError("modelStreamErrorException", None), DOWN, None),
    (EventStreamError("validationException", None), OTHER, None),
    (ClientError("ThrottlingException", 429, {"Retry-After": "7"}).response, LIMIT, 7000),
    ({"throttlingException": {"message": "slow"}}, LIMIT, None),
    ({"serviceUnavailableException": {"message": "no"}}, DOWN, None),
    ("An error occurred (ThrottlingException) when calling the Converse operation: no", LIMIT, None),
]


def named(name: str, *bases: str) -> Exception:
    """Raise what a library would, of which we know no more than the names."""
    kind: type[Exception] = Exception
    for base in (*reversed(bases), name):
        kind = type(base, (kind,), {})
    return kind("the schema was gone")


NETWORK: list[Row] = [
    (named("ReadError", "NetworkError", "TransportError"), DOWN, None),
    (named("WriteError", "NetworkError", "TransportError"), DOWN, None),
    (named("RemoteProtocolError", "ProtocolError", "TransportError"), DOWN, None),
    (named("LocalProtocolError", "ProtocolError", "TransportError"), OTHER, None),
    (named("ServerDisconnectedError", "ServerConnectionError", "ClientConnectionError", "ClientError"), DOWN, None),
    (named("ClientPayloadError", "ClientError"), DOWN, None),
    (named("ChunkedEncodingError", "RequestException"), DOWN, None),
    (named("ConnectionClosedError", "HTTPClientError", "BotoCoreError"), DOWN, None),
    (named("EndpointConnectionError", "ConnectionError", "BotoCoreError"), DOWN, None),
    (named("ReadTimeoutError", "HTTPClientError", "BotoCoreError"), SLOW, None),
    (named("ReadTimeout", "TimeoutException", "TransportError"), SLOW, None),
    (named("SSLError", "ConnectionError", "RequestException"), OTHER, None),
    (http.client.IncompleteRead(b"", 5), DOWN, None),
    (asyncio.IncompleteReadError(b"", 5), DOWN, None),
]


def anthropic(kind: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": "no"}}


BODIES: list[Row] = [
    (anthropic("api_error"), DOWN, None),
    (anthropic("rate_limit_error"), LIMIT, None),
    (anthropic("timeout_error"), SLOW, None),
    (anthropic("overloaded_error"), DOWN, None),
    (anthropic("invalid_request_error"), OTHER, None),
    (anthropic("authentication_error"), REFUSED, None),
    (anthropic("permission_error"), REFUSED, None),
    (anthropic("not_found_error"), GONE, None),
    (anthropic("billing_error"), REFUSED, None),
    ({"error": {"code": "server_error", "message": "no"}}, DOWN, None),
    ({"error": {"code": "rate_limit_exceeded", "message": "Please try again in 20s."}}, LIMIT, 20_000),
    ({"error": {"code": "rate_limit_exceeded", "type": "tokens", "message": "no"}}, LIMIT, None),
    ({"status": 429, "error": {"code": "insufficient_quota", "message": "no"}}, REFUSED, None),
    ({"error": {"code": "429", "message": "no"}}, LIMIT, None),
    ({"error": "the server is overloaded"}, DOWN, None),
    ({"type": "error", "code": "server_error", "message": "no"}, DOWN, None),
    ({"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded"}}}, LIMIT, None),
    ({"code": 503, "status": "UNAVAILABLE", "message": "no"}, DOWN, None),
    ({"code": 504}, SLOW, None),
    ({"code": 504, "status": "DEADLINE_EXCEEDED"}, SLOW, None),
    ({"error": {"code": 500, "status": "INTERNAL"}}, DOWN, None),
    ({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "deadline exceeded"}}, OTHER, None),
    ({"error": {"status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "7s"}]}}, LIMIT, 7000),
    (
        {"error": {"code": 429, "details": [{"retryDelay": {"seconds": 7, "nanos": 500_000_001}}]}},
        LIMIT,
        7501,
    ),
    ({"error": {"code": 429, "details": [{"retryDelay": {"seconds": "7"}}]}}, LIMIT, 7000),
    ({1: {}, "message": "Something unexpected happened"}, OTHER, None),
]

TEXTS: list[Row] = [
    ("StatusCode.RESOURCE_EXHAUSTED", LIMIT, None),
    ("<_InactiveRpcError: status = grpc.StatusCode.UNAVAILABLE>", DOWN, None),
    ("DEADLINE_EXCEEDED", SLOW, None),
    ("4 DEADLINE_EXCEEDED: no", SLOW, None),
    ("429 RESOURCE_EXHAUSTED. {'error': {'message': 'no'}}", LIMIT, None),
    ("retry_delay {\n  seconds: 34\n}\n, 429 RESOURCE_EXHAUSTED", LIMIT, 34_000),
    ("Error code: 429 - {'error': {'code': 'rate_limit_exceeded'}}", LIMIT, None),
    ("Error code: 429 - {'error': {'code': 'insufficient_quota'}}", REFUSED, None),
    ("500 Server Error: Internal Server Error for url: https://x.test", DOWN, None),
    ("500 apples were expected", OTHER, None),
    ("the provider ended the stream with an error (429, slow)", LIMIT, None),
    ("the provider ended the stream with an error (500, boom)", DOWN, None),
    ("the provider ended the stream with an error (rate_limit_error, slow)", LIMIT, None),
    ("the provider ended the stream with an error (overloaded_error, Overloaded)", DOWN, None),
    ("Rate limit reached for gpt. Please try again in 20s.", LIMIT, 20_000),
    ("Rate limit reached. Please try again in 6m0s.", LIMIT, 360_000),
    ("Rate limit reached. Please try again in 1h2m3.5s.", LIMIT, 3_723_500),
    ("Rate limit reached. Please try again in 320ms.", LIMIT, 320),
    ("Too many requests. Please retry after 26 seconds.", LIMIT, 26_000),
    ("Too many requests. Retry after 2 minutes.", LIMIT, 120_000),
    ("Quota exceeded. Please retry in 34.07s.", DOWN, 34_070),
    ("HTTP 429, Retry-After: 1_000", LIMIT, None),
    ("HTTP 429, the country in 5 parts", LIMIT, None),
    ("could not read the file api_error.txt", OTHER, None),
]


class Sdk(Exception):
    """As the SDKs of OpenAI and Anthropic have it."""

    def __init__(self, status: int | None, body: Any, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"Error code: {status} - {body}")
        if status is not None:
            self.status_code = status
        self.body = body
        self.code = body.get("code")
        self.response = type("Response", (), {"headers": headers or {}, "status_code": status})()


SDKS: list[Row] = [
    (Sdk(429, {"code": "rate_limit_exceeded"}, {"retry-after": "2"}), LIMIT, 2000),
    (Sdk(429, {"code": "insufficient_quota", "type": "insufficient_quota"}), REFUSED, None),
    (Sdk(429, {}, {"retry-after": "1_000"}), LIMIT, None),
    (Sdk(429, {}, {"retry-after-ms": "1_000"}), LIMIT, None),
    (Sdk(429, {}, {"retry-after": "\u0661"}), LIMIT, None),
    (Sdk(429, {}, {"retry-after": " 3 "}), LIMIT, 3000),
    (Sdk(None, anthropic("overloaded_error")), DOWN, None),
    (Sdk(500, {"code": None}), DOWN, None),
    (Sdk(400, {"code": "context_length_exceeded", "type": "invalid_request_error"}), OTHER, None),
]


@pytest.mark.parametrize(
    ("error", "category", "wait"), [*AWS, *NETWORK, *BODIES, *TEXTS, *SDKS], ids=lambda value: repr(value)[:60]
)
def test_a_failure_upstream_says_whether_and_when_to_try_again(
    error: Any, category: ErrorCategory, wait: int | None
) -> None:
    assert read_failure(error) == Failure(category, category in (LIMIT, SLOW, DOWN), wait)


@pytest.mark.parametrize(
    ("provider_format", "event", "category"),
    [
        ("openai", {"error": {"code": 429, "message": "slow"}}, LIMIT),
        ("openai", {"error": {"code": 500, "message": "boom"}}, DOWN),
        ("anthropic", anthropic("rate_limit_error"), LIMIT),
        ("anthropic", anthropic("api_error"), DOWN),
        ("bedrock", {"throttlingException": {"message": "slow"}}, LIMIT),
    ],
)
def test_what_ended_a_stream_is_sorted_by_its_text(provider_format: str, event: Any, category: ErrorCategory) -> None:
    stream = StreamAssembler(provider_format)
    stream.feed(event)

    assert stream.failure is not None
    assert read_failure(stream.failure).category is category


def test_a_body_that_contains_itself_is_read_like_any_other() -> None:
    body: dict[str, Any] = {"type": "rate_limit_error"}
    body["error"] = body

    assert read_failure(body).category is LIMIT


HOSTILE = {
    "spaces": "retry in" + " " * 200_000 + "x",
    "starts": "retry in " * 50_000,
    "digits": "retry in " + "1" * 200_000 + "x",
    "spans": "retry in " + "1s" * 100_000 + "1x",
    "info": "retry delay: seconds " * 20_000,
    "codes": "a_a." * 50_000,
    "long code": "a_" + "a" * 200_000 + "/a",
    "quotes": "'a " * 100_000,
    "statuses": "status " * 50_000,
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in HOSTILE.items()])
def test_a_hostile_text_is_read_quickly_as_text_in_an_exception_and_in_a_body(text: str) -> None:
    start = time.process_time()
    read = [read_failure(text), read_failure(Exception(text)), read_failure({"message": text})]

    assert time.process_time() - start < 1
    assert {failure.category for failure in read} == {OTHER}


def test_what_stands_far_back_in_a_text_is_data() -> None:
    near, far = (" " * room + "try again in 7s" for room in (4900, 5000))

    assert [read_failure(near).retry_after_ms, read_failure(Exception(near)).retry_after_ms] == [7000, 7000]
    assert [read_failure(far).retry_after_ms, read_failure(Exception(far)).retry_after_ms] == [None, None]


class Raising(Exception):
    """Neither text nor an attribute can be had of it."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class Unlisted:
    """Headers that cannot be listed."""

    def items(self) -> Any:
        raise RuntimeError("closed")


@pytest.mark.parametrize(
    ("error", "category"),
    [
        pytest.param(Raising(), OTHER, id="an exception that raises"),
        pytest.param({"status": 429, "headers": Unlisted()}, LIMIT, id="headers that raise"),
        pytest.param({"status": 429, "limit": 10**5000}, LIMIT, id="a body that cannot be written"),
        pytest.param("retryDelay: seconds: " + "1" * 4500, OTHER, id="digits in a text"),
        *(
            pytest.param({"status": 429, "headers": {"Retry-After": value}}, LIMIT, id=value[:40])
            for value in (
                "Mon, 01 Jan 2024 00:00:00 +99999999999999999999",
                "Mon, 01 Jan 2024 00:00:00 " + "1" * 5000,
                "9" * 5000,
            )
        ),
    ],
)
def test_what_cannot_be_read_of_a_failure_says_no_time_and_raises_nothing(error: Any, category: ErrorCategory) -> None:
    assert read_failure(error) == Failure(category, category is LIMIT, None)
