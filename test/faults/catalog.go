package main

import "slices"

// catalog lists all faults in the order of the table.
func catalog() []Fault {
	return slices.Concat(processFaults(), rankFaults(), launcherFaults(), launchFaults(), misleadingFaults(), commandFaults(), machineFaults(), diskFaults(), podFaults(), admissionFaults(), networkFaults(), lifecycleFaults())
}
