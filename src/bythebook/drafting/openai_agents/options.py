"""What can be set about the model, checked. Document B's ranges."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, get_args
from urllib.parse import urlsplit

from bythebook.drafting import prompts
from bythebook.errors import InvalidSettings
from bythebook.retry import Patience

ToolChoice = Literal["required", "auto", "none"]

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_HOST = "api.openai.com"
KEY_START, KEY_LENGTH = "sk-", 40
DEFAULT_MODEL = "gpt-4o-mini"
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """The model's options. The seconds are those of one call, of all calls of a draft together, of a line, and of a judgement.
    `check_model`: the model that judges, if it is another."""

    api_key: str
    base_url: str = OPENAI_URL
    model: str = DEFAULT_MODEL
    system_prompt: str = prompts.SYSTEM_PROMPT
    temperature: float = 0.0
    max_tokens: int | None = None
    tool_name: str = prompts.TOOL_NAME
    tool_choice: ToolChoice = "required"
    history_tokens: int = 6_000
    call_seconds: float = 60.0
    total_seconds: float = 90.0
    line_seconds: float = 15.0
    check_model: str = ""
    check_seconds: float = 15.0
    patience: Patience = field(default_factory=lambda: Patience(tries=3))

    def __post_init__(self) -> None:
        prompts.checked_system_prompt(self.system_prompt)
        if not self.model.strip():
            raise InvalidSettings("OPENAI_MODEL is empty; name a model, or unset it")
        if not 0.0 <= self.temperature <= 2.0:
            raise InvalidSettings(f"The temperature must be from 0 to 2, not {self.temperature}")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise InvalidSettings(f"max_tokens must be 1 or more, not {self.max_tokens}")
        if self.tool_choice not in get_args(ToolChoice):
            raise InvalidSettings(f"tool_choice must be one of {', '.join(get_args(ToolChoice))}, not '{self.tool_choice}'")
        if not TOOL_NAME.fullmatch(self.tool_name):
            raise InvalidSettings(f"The tool's name may have 64 letters, digits, '_' and '-', and is '{self.tool_name}'")


def check_key(key: str, base_url: str) -> None:
    """Checks document B's form of a key, which only OpenAI's keys have."""
    if urlsplit(base_url).hostname == OPENAI_HOST and not (key.startswith(KEY_START) and len(key) >= KEY_LENGTH):
        raise InvalidSettings(
            f"OPENAI_API_KEY is not a key of OpenAI, which begins with '{KEY_START}' and has at least {KEY_LENGTH} characters; "
            "set it again, or set OPENAI_BASE_URL to the server it belongs to"
        )
