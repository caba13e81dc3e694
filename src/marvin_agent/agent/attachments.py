"""Attachments: what comes with a prompt beside its text, as images and as documents in the text."""

import base64
import os
from collections.abc import Mapping, Sequence
from typing import Any

from marvin_agent.errors import UsageError
from marvin_agent.images import image_type, too_much
from marvin_agent.messages import Image, clean
from marvin_agent.tools import encoding

LIMIT = 20 * 1024 * 1024


def parts_of(text: str, attachments: Sequence[Any], cwd: str) -> tuple[str, tuple[Image, ...]]:
    """The text with the documents in it, and the images. An attachment is a path, or a mapping as hooks give it."""
    if isinstance(attachments, str | bytes | Mapping):
        raise UsageError("attachments are a list, of paths or of mappings with a type")
    images: list[Image] = []
    texts = [text] if text else []
    for attachment in attachments:
        given = _given(attachment, cwd)
        match given.get("type"):
            case "image":
                images.append(_image(given))
            case "document":
                texts.append(_document(given))
            case other:
                raise UsageError(f"{_name(given)}: an attachment is of type image or document, not {other!r}")
    return clean("\n\n".join(texts)), tuple(images)


def _given(attachment: Any, cwd: str) -> Mapping[str, Any]:
    if isinstance(attachment, Mapping):
        return attachment
    if not isinstance(attachment, str | os.PathLike):
        raise UsageError(f"an attachment is a path or a mapping, not {type(attachment).__name__}")
    return from_file(os.fspath(attachment), cwd)


def from_file(path: str, cwd: str) -> dict[str, Any]:
    """A file as an attachment: an image by its first bytes, else a document. Raises UsageError."""
    full = os.path.join(cwd, os.path.expanduser(path))
    name = os.path.basename(full)
    try:
        with open(full, "rb") as file:
            data = file.read(LIMIT + 1)  # a device may have no end
    except OSError as error:
        raise UsageError(f"{path or 'an empty path'} cannot be attached: {error.strerror}") from error
    if len(data) > LIMIT:
        raise UsageError(f"{path} is over {LIMIT // 1024 // 1024} MiB: too large to attach")
    if image_type(data):
        return image_of(data, name)
    if encoding.is_binary(data):
        raise UsageError(f"{path} is neither an image (png, jpeg, gif, webp) nor a text: it cannot be attached")
    return {"type": "document", "file_name": name, "content": data}


def image_of(data: bytes, name: str) -> dict[str, Any]:
    """An image as an attachment."""
    return {"type": "image", "file_name": name, "mime_type": image_type(data), "content": data}


def _bytes(given: Mapping[str, Any]) -> bytes:
    content = given.get("content")
    if isinstance(content, bytes):
        return content
    try:
        # Lines may be broken, as many encoders do; anything else that is not base64 is a mistake.
        return base64.b64decode("".join(str(content or "?").split()), validate=True)
    except ValueError:
        raise UsageError(f"{_name(given)}: its content is neither bytes nor base64") from None


def _image(given: Mapping[str, Any]) -> Image:
    data = _bytes(given)
    kind = given.get("mime_type") or given.get("mimeType") or image_type(data)
    if kind is None:
        raise UsageError(f"{_name(given)} is not an image that models take (png, jpeg, gif, webp)")
    if problem := too_much(data):
        raise UsageError(f"{_name(given)} {problem}", hint="Attach a smaller copy of it.")
    return Image(data=base64.b64encode(data).decode(), mime_type=str(kind))


def _document(given: Mapping[str, Any]) -> str:
    extracted = given.get("extracted_text", given.get("extractedText"))
    text = extracted if isinstance(extracted, str) else encoding.decode_anyhow(_bytes(given))
    return f"[Document: {_name(given)}]\n{text}"


def _name(given: Mapping[str, Any]) -> str:
    return str(given.get("file_name") or given.get("fileName") or "unnamed")
