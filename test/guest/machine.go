package main

// machine is all that QEMU, or a kernel in user mode, is told.
type machine struct {
	disk    disk
	console string
	// scratch is a folder that ends with the machine.
	scratch            string
	processors, memory int
	network            bool
	// task is the folder with the script; it has a tag of its own.
	task   string
	shares []share
}
