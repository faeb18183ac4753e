package main

import "slices"

// catalogue lists all faults in the order of the table.
func catalogue() []Fault {
	return slices.Concat(processFaults(), rankFaults(), launcherFaults(), launchFaults(), misleadingFaults(), commandFaults(), machineFaults(), diskFaults(), podFaults(), admissionFaults(), networkFaults(), lifeFaults())
}
