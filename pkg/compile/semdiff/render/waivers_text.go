package render

import "lockstep.dev/lockstep/pkg/compile/semdiff/group"

// decidingText is a file that decides about reviews and differs.
func decidingText(file group.DecidingFile) string {
	return escapeControl(file.Path + " is " + file.How + ": it decides about reviews")
}

// waiverText is a waiver that differs: `added: LS7025 about lockstep-egress in cluster hpc until 2027-06-30`.
func waiverText(w *group.WaiverChange) string {
	text := string(w.How) + ": " + w.Code
	if w.About != "" {
		text += " about " + w.About
	}
	if w.How == group.WaiverWidened {
		text += ", no longer about " + w.Before.About + " only,"
	}
	text += " in " + w.Owner + " until " + w.Until
	if w.Before != nil && w.Before.Until != w.Until {
		text += ", before until " + w.Before.Until
	}
	return escapeControl(text)
}
