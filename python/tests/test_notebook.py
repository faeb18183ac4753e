"""What a notebook shows, in a real kernel."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from conftest import Cluster
from test_client import CREATED, FAILED, HELLO

from lockstep import MPIClient, MPITrainer

CELLS = """
from lockstep import MPIClient, MPITrainer
client = MPIClient(namespace="{namespace}", config_file="{kubeconfig}")
---
client.get_job("demo")
---
import threading
at = {{"lastTransitionTime": "2026-03-01T12:00:00Z"}}
over = {{"status": {{"conditions": [at | c for c in {conditions}]}}}}
threading.Timer(0.5, client._api.patch, (client._paths.trainjobs + "/demo/status", over)).start()
client.show("demo", lines=0, timeout=30);
---
def train(lr):
    print(lr)

MPITrainer(func=train, func_args={{"lr": 0.1}}).command[:2]
"""


def executed(cells: str) -> list[list[Any]]:
    """The outputs of cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source.strip()) for source in cells.split("---")])
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    return [cell.outputs for cell in notebook.cells]


def test_a_notebook_shows_a_job_and_follows_it(cluster: Cluster, client: MPIClient) -> None:
    client.train(runtime="mpi", trainer=HELLO, name="demo")
    cluster.status("demo", CREATED)
    given = {"namespace": cluster.namespace, "kubeconfig": os.environ["LOCKSTEP_ADMIN"], "conditions": [CREATED, FAILED]}
    _, (once,), shown, (sent,) = executed(CELLS.format(**given))
    assert "<td>Scheduling</td>" in once.data["text/html"]
    (table,) = [o for o in shown if o.output_type == "display_data"]
    assert "Failed: OOMKilled" in table.data["text/html"], "one table, which is as the job is"
    assert "raise the memory limit" in table.data["text/plain"]
    assert sent.data["text/plain"] == "['mpirun', 'python3']", "a function of a cell can be sent"


@pytest.mark.parametrize("file", sorted((Path(__file__).parents[2] / "docs/guide/notebooks").glob("*.ipynb")), ids=lambda f: f.stem)
def test_functions_of_the_guide_run_as_ranks(file: Path, tmp_path: Path) -> None:
    """All of a notebook needs a cluster; its functions do not, but PyTorch's, which run in the suite of frameworks."""
    cells = [cell.source for cell in nbformat.read(file, as_version=4).cells if cell.cell_type == "code"]
    functions = [cell for cell in cells if cell.startswith("def ") and "client" not in cell and "torch" not in cell]
    arguments: dict[str, dict[str, Any]] = {"train": {"lr": 0.3, "steps": 50}}
    for cell in functions:
        name = cell[4 : cell.index("(")]
        (tmp_path / "cell.py").write_text(cell)
        trainer = MPITrainer(func=runpy.run_path(str(tmp_path / "cell.py"))[name], func_args=arguments[name])
        assert trainer.command is not None
        done = subprocess.run([sys.executable, *trainer.command[2:]], env={"PMI_RANK": "1"}, capture_output=True, text=True, check=True, timeout=60)
        assert done.stdout.startswith("rank 1 ")
    for cell in cells:
        compile(cell, file.name, "exec")
