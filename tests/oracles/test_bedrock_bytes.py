"""A picture on its way through botocore's own serializer, which every user of boto3 goes through."""

from __future__ import annotations

import base64
import json

import botocore.session
from botocore.serialize import create_serializer

from toolrelay import NormalizedToolResult, format_results

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_picture_is_base64_once_in_the_body_that_botocore_sends() -> None:
    block = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}
    result = NormalizedToolResult(tool_call_id="b1", tool_name="chart", success=True, output=[block])
    service = botocore.session.get_session().get_service_model("bedrock-runtime")
    serializer = create_serializer("rest-json", include_validation=True)

    request = serializer.serialize_to_request(
        {"modelId": "m", "messages": format_results([result], "bedrock")}, service.operation_model("Converse")
    )

    (content,) = json.loads(request["body"])["messages"][0]["content"][0]["toolResult"]["content"]
    assert content == {"image": {"format": "png", "source": {"bytes": base64.b64encode(PNG).decode()}}}
