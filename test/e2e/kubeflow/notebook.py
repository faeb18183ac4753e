"""Runs notebooks in a real kernel, and prints what their cells have printed and shown, as text.

    notebook.py [--write] NOTEBOOK...

With --write the outputs are kept in the notebooks.
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
            nbformat.write(notebook, file)


if __name__ == "__main__":
    main([word for word in sys.argv[1:] if word != "--write"], "--write" in sys.argv)
