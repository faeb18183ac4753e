"""What a notebook shows, in a real kernel."""

from __future__ import annotations

import os
from typing import Any

import nbclient
import nbformat
from conftest import Cluster
from test_client import CREATED, FAILED, HELLO

from lockstep import MPIClient

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
    assert "<td>Starting</td>" in once.data["text/html"]
    (table,) = [o for o in shown if o.output_type == "display_data"]
    assert "Failed: OOMKilled" in table.data["text/html"], "one table, which is as the job is"
    assert "what to do: raise the memory limit" in table.data["text/plain"]
    assert sent.data["text/plain"] == "['mpirun', 'python3']", "a function of a cell can be sent"
