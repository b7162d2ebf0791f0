"""Asks a model for one line: one short call without tools, with a short time limit."""

from __future__ import annotations

from agents import Agent
from agents.exceptions import AgentsException

from bythebook.drafting.completion import LONGEST_LINE, Line
from bythebook.drafting.openai_agents.calls import ModelServer, PatientModel
from bythebook.drafting.openai_agents.options import AgentOptions
from bythebook.drafting.openai_agents.runs import model_settings, running, usage_of
from bythebook.errors import Unavailable


class LineWriter:
    """A `WriteLine` by a model."""

    def __init__(self, options: AgentOptions, server: ModelServer) -> None:
        self._options = options
        self._server = server

    async def __call__(self, instructions: str, material: str) -> Line:
        written = ""
        try:
            async with running(self._agent(instructions), [{"role": "user", "content": material}], max_calls=1) as (run, events):
                async for event in events:
                    if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                        written += event.data.delta
                    if len(written) > LONGEST_LINE:
                        break
        except AgentsException as error:
            raise Unavailable(
                f"The model '{self._options.model}' at {self._server.host} wrote no line that can be used"
            ) from error
        return Line(text=written, usage=usage_of(run))

    def _agent(self, instructions: str) -> Agent[None]:
        options = self._options
        model = PatientModel(
            options.model,
            self._server,
            patience=options.patience,
            call_seconds=options.line_seconds,
            total_seconds=options.line_seconds,
        )
        settings = model_settings(options, self._server)
        return Agent(name="writer", instructions=instructions, model=model, model_settings=settings)
