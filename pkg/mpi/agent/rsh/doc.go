// Package rsh is what an MPI launcher calls as its remote shell: it starts a command on a node and stays with it. What it notices of nodes
// and daemons it leaves in files, for the verdict (Losses) and for the watch of Hydra's launches. It knows no gate and no verdict's rule.
package rsh
