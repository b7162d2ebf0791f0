"""`bythebook model`: whether the configured language model can be used, and which ones there are on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from bythebook.cli.options import AsJson, run_async, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bythebook.drafting.local_servers import LocalServer
    from bythebook.evaluation.judge_trial import JudgeTrial
    from bythebook.evaluation.model_trial import TrialTurn
    from bythebook.settings import Settings

app = typer.Typer(help="Try the configured language model.", no_args_is_help=True)

INSTEAD = "set BYTHEBOOK_CHECK=words, or BYTHEBOOK_CHECK_MODEL"
FOLLOWS, MOSTLY = 0.9, 0.6
"""The share of sentences with a quote from which a model follows the protocol, or mostly does."""


@app.callback()
def _group() -> None:
    """Try the configured language model."""


@app.command("check")
def check(json: AsJson = False) -> None:
    """Try the configured model on the sample book. It gets a dozen questions, and true and wrong sentences to judge."""
    from bythebook.settings import read_settings

    settings = read_settings()
    if not settings.openai_api_key and not settings.openai_base_url:
        _suggest(json=json)
        return
    turns, judge = run_async(_tried(settings, quiet=json))
    if json:
        typer.echo(to_json({"turns": turns, "judge": judge}))
    else:
        _print(settings.openai_model, turns)
        _print_judge(settings.check_model or settings.openai_model, judge)
    if not any(turn.kept for turn in turns):
        raise typer.Exit(1)


def _suggest(*, json: bool) -> None:
    from bythebook.drafting.local_servers import find_local_servers

    found = run_async(find_local_servers())
    if json:
        typer.echo(to_json(found))
        return
    typer.echo("No model is configured, and none is needed: answers are then made of the book's own sentences.")
    for server in found:
        typer.echo(_suggestion(server))
    if not found:
        typer.echo("No model server answers on the usual ports of this machine. docs/models.md says which there are.")


def _suggestion(server: LocalServer) -> str:
    shown = ", ".join(server.models[:5])
    return (
        f"\n{server.name} answers at {server.base_url} with {shown}. To try it:\n"
        f"  export OPENAI_BASE_URL={server.base_url}\n  export OPENAI_MODEL={server.models[0]}\n  bythebook model check"
    )


async def _tried(settings: Settings, *, quiet: bool) -> tuple[list[TrialTurn], JudgeTrial | None]:
    from bythebook.cli.demo import sample_book
    from bythebook.evaluation.files import read_cases
    from bythebook.evaluation.judge_trial import trial_sentences, try_judge
    from bythebook.evaluation.model_trial import read_chunks, trial_questions, try_model
    from bythebook.wiring.reader import open_model

    folder = sample_book()
    book, chunks = read_chunks(folder)
    questions = trial_questions(chunks, read_cases(folder / "questions.jsonl").cases)
    drafter = open_model(settings)
    judge = drafter.judge if settings.check == "meaning" else None
    turns = []
    try:
        async for turn in try_model(questions, book, drafter, judge):
            turns.append(turn)
            if not quiet:
                typer.echo(f"{'ok ' if turn.right else '-- '} {turn.seconds:6.1f} s  {turn.question}")
        if judge is None:
            return turns, None
        return turns, await try_judge(trial_sentences(folder / "sentences.jsonl", book, chunks), judge)
    finally:
        await drafter.close()


def _print(model: str, turns: Sequence[TrialTurn]) -> None:
    sentences, kept = sum(turn.sentences for turn in turns), sum(turn.kept for turn in turns)
    quoted, judged = sum(turn.quoted for turn in turns), sum(turn.judged for turn in turns)
    waits = sorted(turn.first_seconds for turn in turns if turn.first_seconds is not None)
    answerable = [turn for turn in turns if turn.answerable]
    others = [turn for turn in turns if not turn.answerable]
    typer.echo(f"\n{model}")
    typer.echo(
        f"  protocol    {_protocol(quoted, sentences)} ({quoted} of {sentences} sentences were the book's or named its words)"
    )
    typer.echo(f"  answered    {sum(turn.right for turn in answerable)} of {len(answerable)} questions that the passages answer")
    typer.echo(f"  refused     {sum(turn.right for turn in others)} of {len(others)} that they do not")
    typer.echo(f"  removed     {sentences - kept} of {sentences} sentences by the check; a judge decided {judged}")
    if waits:
        typer.echo(f"  first words {waits[len(waits) // 2]:.1f} s in the median, {waits[-1]:.1f} s at worst")
    typer.echo(f"  tokens      {sum(turn.tokens for turn in turns) // max(1, len(turns)):,} for one question")
    for reason in dict.fromkeys(reason for turn in turns for reason in turn.removed):
        typer.echo(f"  - removed because it {reason}")
    for error in dict.fromkeys(turn.error for turn in turns if turn.error):
        typer.echo(f"  - {error}")


def _print_judge(model: str, trial: JudgeTrial | None) -> None:
    if trial is None:
        typer.echo("  judge       not tried, because BYTHEBOOK_CHECK is 'words'")
        return
    typer.echo(f"\n{model} as a judge of {trial.true} true sentences and {trial.wrong} wrong ones, {trial.seconds:.1f} s")
    if trial.undecided == trial.true + trial.wrong:
        for note in trial.notes:
            typer.echo(f"  - {note}")
        typer.echo("  It gave no usable answer about any of them, so in an answer the words alone would decide.")
        typer.echo(f"  If it was reached, {INSTEAD}.")
        return
    typer.echo(
        f"  released    {trial.true_released} of {trial.true} true sentences; by words alone {trial.true_released_by_words}\n"
        f"  removed     {trial.wrong_removed} of {trial.wrong} wrong sentences; by words alone {trial.wrong_removed_by_words}\n"
        f"  undecided   {trial.undecided} sentences, for which the words decided"
    )
    for one in trial.errors:
        typer.echo(f"  - {'removed, though true' if one.true else 'released, though wrong'}: {one.sentence}")
    for note in trial.notes:
        typer.echo(f"  - {note}")
    if not trial.tells_apart:
        typer.echo(f"  This judge does not tell true sentences from wrong ones: {INSTEAD}.")
    elif not trial.is_better:
        typer.echo(f"  This judge is no better than the words alone: {INSTEAD}.")


def _protocol(quoted: int, sentences: int) -> str:
    share = quoted / sentences if sentences else 0.0
    return "followed" if share >= FOLLOWS else "mostly followed" if share >= MOSTLY else "not followed"
