"""The exceptions that SDKs and HTTP clients really raise, sorted as the rows that only bear their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aiohttp
import anthropic
import httpx
import httpx2
import openai
import pytest
import requests.exceptions
from botocore import exceptions as aws
from google.genai import errors as google

from toolrelay.errors import ErrorCategory
from toolrelay.upstream import Failure, read_failure

_REQUEST = httpx2.Request("POST", "https://x.test")


def _aws(kind: Any, code: str, status: int) -> Exception:
    metadata = {"HTTPStatusCode": status, "HTTPHeaders": {"retry-after": "7"}}
    made: Exception = kind({"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": metadata}, "Converse")
    return made


def _answer(status: int, body: Any, headers: dict[str, str]) -> Any:
    return httpx2.Response(status, json=body, headers=headers, request=_REQUEST)


def _openai(status: int, body: dict[str, Any]) -> Exception:
    client = openai.OpenAI(api_key="offline")
    made: Exception = client._make_status_error_from_response(_answer(status, {"error": body}, {"retry-after": "7"}))
    return made


def _anthropic(status: int, kind: str) -> Exception:
    client = anthropic.Anthropic(api_key="offline")
    body = {"type": "error", "error": {"type": kind, "message": "no"}}
    made: Exception = client._make_status_error_from_response(_answer(status, body, {"retry-after": "7"}))
    return made


ROWS: list[tuple[Callable[[], BaseException], str, int | None]] = [
    (lambda: _aws(aws.ClientError, "ThrottlingException", 429), "rate_limit", 7000),
    (lambda: _aws(aws.ClientError, "AccessDeniedException", 403), "permission", 7000),
    (lambda: _aws(aws.EventStreamError, "modelStreamErrorException", 424), "resource", 7000),
    (lambda: aws.ConnectionClosedError(endpoint_url="https://x.test"), "resource", None),
    (lambda: aws.EndpointConnectionError(endpoint_url="https://x.test", error="no"), "resource", None),
    (lambda: aws.ReadTimeoutError(endpoint_url="https://x.test"), "timeout", None),
    (lambda: httpx.ReadError("no"), "resource", None),
    (lambda: httpx2.WriteError("no"), "resource", None),
    (lambda: httpx2.RemoteProtocolError("no"), "resource", None),
    (lambda: httpx2.ReadTimeout("no"), "timeout", None),
    (lambda: aiohttp.ServerDisconnectedError(), "resource", None),
    (lambda: aiohttp.ClientPayloadError("no"), "resource", None),
    (lambda: aiohttp.SocketTimeoutError("no"), "timeout", None),
    (lambda: requests.exceptions.ChunkedEncodingError("no"), "resource", None),
    (lambda: _openai(429, {"code": "rate_limit_exceeded", "message": "no"}), "rate_limit", 7000),
    (lambda: _openai(429, {"code": "insufficient_quota", "message": "no"}), "permission", 7000),
    (lambda: openai.APIConnectionError(request=_REQUEST), "resource", None),
    (lambda: _anthropic(529, "overloaded_error"), "resource", 7000),
    (lambda: _anthropic(400, "invalid_request_error"), "execution", 7000),
    (
        lambda: google.APIError(429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}),
        "rate_limit",
        None,
    ),
    (
        lambda: google.ServerError(503, {"error": {"status": "UNAVAILABLE", "details": [{"retryDelay": "7s"}]}}),
        "resource",
        7000,
    ),
]


@pytest.mark.parametrize(("made", "category", "wait"), ROWS, ids=[str(place) for place in range(len(ROWS))])
def test_what_is_really_raised_is_sorted(made: Callable[[], BaseException], category: str, wait: int | None) -> None:
    sort = ErrorCategory(category)

    assert read_failure(made()) == Failure(sort, sort.is_retryable, wait)
