"""Runs notebooks in a real kernel, and prints what their cells have printed and shown, as text.

    notebook.py [--write] NOTEBOOK...

With --write the outputs are kept in the notebooks, without logs.
"""

import sys

import nbclient
import nbformat


def main(files, write):
    for file in files:
        notebook = nbformat.read(file, as_version=4)
        nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
        for cell in notebook.cells:
            for output in cell.get("outputs", []):
                print(output.get("text") or output.get("data", {}).get("text/plain"))
        if write:
            for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):  # what Kubeflow's SDK logs is of no use to a reader
                cell.outputs = [output for output in cell.get("outputs", []) if output.get("name") != "stderr"]
            nbformat.write(notebook, file)


if __name__ == "__main__":
    main([word for word in sys.argv[1:] if word != "--write"], "--write" in sys.argv)
