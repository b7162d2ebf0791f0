"""Asks a model whether sentences are supported by what they cite: one call without tools for all of them, with a short time
limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agents import Agent
from agents.exceptions import AgentsException

from bythebook.drafting.openai_agents import judge_form
from bythebook.drafting.openai_agents.calls import ModelServer, NotStructured, PatientModel
from bythebook.drafting.openai_agents.options import AgentOptions
from bythebook.drafting.openai_agents.runs import model_settings, running, usage_of
from bythebook.errors import BookError
from bythebook.grounding.judgement import Assertion, Hear, Judgement


class ModelJudge:
    """A `Judge` by a model. It never raises for a failing model or server: its judgement then has no opinions, and says why."""

    def __init__(self, options: AgentOptions, server: ModelServer) -> None:
        self._options = replace(options, model=options.check_model or options.model, temperature=0.0)
        self._server = server

    async def __call__(self, claims: Sequence[Assertion], hear: Hear) -> Judgement:
        try:
            try:
                return await self._judged(claims, hear)
            except NotStructured:
                return await self._judged(claims, hear)
        except BookError as error:
            return Judgement(opinions=(None,) * len(claims), note=f"no judge: {error}")
        except AgentsException:
            return Judgement(opinions=(None,) * len(claims), note="no judge: the model answered in a way that cannot be used")

    async def _judged(self, claims: Sequence[Assertion], hear: Hear) -> Judgement:
        written: list[str] = []
        verdicts = judge_form.VerdictStream()
        heard = 0
        async with running(self._agent(), [{"role": "user", "content": judge_form.material(claims)}], max_calls=1) as (
            run,
            events,
        ):
            async for event in events:
                if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                    written.append(event.data.delta)
                    heard += len(event.data.delta)
                    for number, opinion in verdicts.feed(event.data.delta):
                        if 1 <= number <= len(claims):
                            hear(number - 1, opinion)
                if heard > judge_form.LONGEST_VERDICT:
                    break
        usage = usage_of(run)
        opinions = judge_form.read_verdicts("".join(written), len(claims))
        note = "" if any(opinions) else "the judge answered in another form than it was asked for"
        return Judgement(opinions=opinions, tokens=usage.total if usage else 0, note=note)

    def _agent(self) -> Agent[None]:
        options, structured = self._options, self._server.structured
        model = PatientModel(
            options.model,
            self._server,
            patience=replace(options.patience, tries=1),
            call_seconds=options.check_seconds,
            total_seconds=options.check_seconds,
        )
        schema = ("verdicts", judge_form.VERDICT_SCHEMA) if structured else None
        settings = model_settings(options, self._server, schema=schema)
        return Agent(
            name="judge", instructions=judge_form.instructions(structured=structured), model=model, model_settings=settings
        )
