"""`burn-qed embeddings`: a look at what a value model is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import tables
from burnqed.cli.labels import labels_of
from burnqed.cli.options import JsonOption, configured
from burnqed.cli.watch import Watch
from burnqed.core.files import publish
from burnqed.prover.config import LookConfig
from burnqed.prover.embeddings import Encoded, look_at

PAGE = "report.html"

app = typer.Typer(no_args_is_help=True, help="Look at embeddings: what a value model is shown.")


@app.callback()
def options() -> None:
    """Look at embeddings: what a value model is shown."""


@app.command("report")
@configured(LookConfig)
def report_command(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Directories of `burn-qed search` and `negatives`."),
    ],
    model: Annotated[
        str, typer.Option("--model", metavar="DIR", help="The model that encodes states.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write.")],
    config: LookConfig,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="DIR", help="A second model, such as one trained further: the drift."
        ),
    ] = None,
    embeddings: Annotated[
        Path | None,
        typer.Option(
            "--embeddings", metavar="DIR", help="Where `embed` keeps them; by default with the report."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure and draw how a model's hidden states lie: those of proofs, and siblings given up.

    A value model cannot tell apart what its encoder puts in one place. The report has the distance
    between the means of both kinds (centroid_l2), a linear probe cross-validated by theorem, the gap
    of norms, the distance between siblings, the spectrum of the variance with its effective rank, how
    much of the variance belongs to the label, the depth and the theorem, and the figures by depth.
    Maps are drawn with PCA, and with t-SNE (pip install 'burn-qed[embeddings]') and UMAP (pip install
    umap-learn) where these are installed. `burn-qed web DIR` shows them with the state of each dot.

    With --against, a second model sees the same states: both are shown side by side, with the drift
    from the first to the second.

    DIR gets report.html (a single file that needs no network), embeddings.json, maps.json, the plots as
    PNG and SVG, and the embeddings, which are not computed again.

    Examples:

        burn-qed embeddings report runs/teacher runs/beside --model models/nano --out looks/nano

        burn-qed embeddings report runs/teacher runs/beside --model models/iter0 --against models/iter1
        --out looks/drift

    Exit codes: 0 written, 1 the runs have nothing to look at, 2 bad input, 3 the model failed, 130 or
    143 stopped by a signal (run it again to go on).
    """
    models = [model] if against is None else [model, against]
    labels = labels_of([Path(one) for one in models])
    with Watch(shown=not as_json) as watch:
        look = look_at(runs, list(zip(labels, models, strict=True)), config, out, watch, embeddings)
    if look is None:
        typer.echo("stopped; run the same command again to continue", err=True)
        raise typer.Exit(128 + watch.signal)
    from burnqed.report.embedding_plots import mapped_rows, save_embedding_plots
    from burnqed.report.embeddings import embeddings_page
    from burnqed.report.looks import save_maps
    from burnqed.report.maps import missing

    drawn = mapped_rows(look)
    save_embedding_plots(look, drawn, out)
    publish(out / PAGE, embeddings_page(look, drawn))
    save_maps(look, drawn, out)
    if as_json:
        typer.echo(json.dumps({**look.figures, "page": str(out / PAGE)}, ensure_ascii=False))
        return
    for name, package in missing().items():
        tables.warn(f"there is no {name} map: pip install '{package}' brings it")
    for one in look.encoders:
        tables.print_facts(one.label, _facts(one))
    if look.drift is not None:
        tables.print_facts("drift", look.figures["drift"])
    typer.echo(out / PAGE)


def _facts(one: Encoded) -> dict[str, object]:
    """The figures that say most."""
    g = one.geometry
    return {
        "states": g.states, "theorems": g.theorems, "positives": g.positives,
        "negatives": g.negatives, "centroid_l2": g.centroid_l2, "linear probe": g.probe,
        "norm gap": g.norm_gap, "sibling_l2": g.sibling_l2, "stranger_l2": g.stranger_l2,
        "effective rank": g.effective_rank, "states with both labels": g.both_labels,
    }  # fmt: skip
